"""make_random.py: golden values of JAX's threefry random numbers (random.txt).

neap's bits, uniform, randint, split, fold_in and permutation equal JAX's for the same key, bit by bit; normal and what
follows from it agree within a tolerance (the inverse error function is a polynomial on both sides).

Made with JAX's defaults for this version: implementation threefry2x32 with jax_threefry_partitionable=True (asserted
below), under which element i of a draw is threefry of the 64-bit counter i, split into two 32-bit halves; bits of 32
are the exclusive or of the two output words, bits of 64 are the first word above the second. 64-bit seeds are on
(jax_enable_x64), so key(s) is the pair (s >> 32, s mod 2^32). Draws do not depend on that switch but for their default
dtype: records name their dtype, and functions that draw in a default dtype inside (choice) are made with the switch
off, since neap's defaults have 32 bits.

A key is made again by key(first word * 2^32 + second word).

Records:   what <tab> key data (u32[2]) <tab> options <tab> tolerance <tab> = <tab> result
Long results are given by their first and last elements: `head` and `tail` in the options count them.
"""

import jax
import jax.numpy as jnp
import numpy as np

from records import Writer, dtype, number, options, text

SEEDS = {"0": 0, "42": 42, "2^40+5": 2**40 + 5}
SHAPES = [(), (1,), (7,), (3, 4), (1001,)]


def data(key):
    return np.asarray(jax.random.key_data(key))


def make():
    assert jax.config.jax_threefry_partitionable and jax.config.jax_default_prng_impl == "threefry2x32"
    with Writer("random.txt", __doc__) as out:
        for seed in SEEDS.values():
            keys(out, seed)
        for seed in (0, 2**40 + 5):
            draws(out, jax.random.key(seed))
        permutations(out, jax.random.key(42))
        initializers(out, jax.random.key(42))
        with jax.enable_x64(False):
            others(out, jax.random.key(7))


def keys(out, seed):
    key = jax.random.key(seed)
    out.record("key", text(data(key)), options(seed=seed), "exact", "=", text(data(key)))
    out.record("split", text(data(key)), options(num=2), "exact", "=", text(data(jax.random.split(key))))
    out.record("split", text(data(key)), options(num=5), "exact", "=", text(data(jax.random.split(key, 5))))
    for value in (0, 7, 2**31 + 3):
        out.record("fold_in", text(data(key)), options(data=value), "exact", "=",
                   text(data(jax.random.fold_in(key, np.uint32(value)))))
    nested = jax.random.split(jax.random.fold_in(jax.random.split(key, 3)[1], 7))[0]
    out.record("nested", text(data(key)), "-", "exact", "=", text(data(nested)))


def draw(out, what, key, values, tolerance="exact", count=None, **option):
    """A record of a draw; only `count` elements at each end when it is given."""
    values = np.asarray(values)
    if count is not None and values.size > 2 * count:
        flat = values.reshape(-1)
        option.update(head=count, tail=count)
        values = np.concatenate([flat[:count], flat[-count:]])
    out.record(what, text(data(key)), options(**option), tolerance, "=", text(values))


def draws(out, key):
    for shape in SHAPES:
        draw(out, "bits", key, jax.random.bits(key, shape, dtype=jnp.uint32), count=20, shape=shape)
        for name in ("f32", "f64"):
            if name == "f64" and shape == (1001,):
                continue
            draw(out, "uniform", key, jax.random.uniform(key, shape, dtype(name)), count=20, shape=shape, dtype=name)
            near = "abs 2e-06" if name == "f32" else "abs 1e-12"
            draw(out, "normal", key, jax.random.normal(key, shape, dtype(name)), near, count=20, shape=shape,
                 dtype=name)
        for low, high in ((0, 10), (-5, 17), (0, 256), (-2**31, 2**31 - 1), (100, 101), (-1000000, 1000000)):
            draw(out, "randint", key, jax.random.randint(key, shape, low, high, dtype=jnp.int32), count=8, shape=shape,
                 minval=low, maxval=high, dtype="i32")
    draw(out, "randint", key, jax.random.randint(key, (7,), -10, 2**40, dtype=jnp.int64), shape=(7,), minval=-10,
         maxval=2**40, dtype="i64")
    for low, high in ((-1.0, 1.0), (0.25, 3.0), (-1e-3, 1e3)):
        # XLA may contract the scaling to one rounding, so this is not to the bit.
        draw(out, "uniform", key, jax.random.uniform(key, (9,), jnp.float32, low, high),
             "abs " + number(2.0**-23 * max(-low, high)), shape=(9,), dtype="f32", minval=low, maxval=high)
    big = jax.random.bits(key, (3, 70001), dtype=jnp.uint32)
    draw(out, "bits", key, big, count=12, shape=(3, 70001))


def permutations(out, key):
    for n in (1, 2, 10, 1000, 70000):
        draw(out, "permutation", key, jax.random.permutation(key, jnp.arange(n, dtype=jnp.int32)), count=40, n=n)
    other = jax.random.key(2**40 + 5)
    images = jnp.arange(60000, dtype=jnp.int32)
    draw(out, "permutation", other, jax.random.permutation(other, images), count=40, n=60000)
    rows = jnp.arange(12, dtype=jnp.int32).reshape(6, 2)
    draw(out, "permutation_rows", key, jax.random.permutation(key, rows), n=6)


def others(out, key):
    draw(out, "bernoulli", key, jax.random.bernoulli(key, np.float32(0.3), (40,)), shape=(40,), p=0.3)
    draw(out, "bernoulli", key, jax.random.bernoulli(key, np.float32(0.5), (3, 4)), shape=(3, 4), p=0.5)
    draw(out, "choice", key, jax.random.choice(key, jnp.arange(10, dtype=jnp.int32), (8,)), shape=(8,), n=10)
    draw(out, "choice", key, jax.random.choice(key, jnp.arange(10, dtype=jnp.int32), (6,), replace=False), shape=(6,),
         n=10, replace=False)
    low, high = np.float32(-2), np.float32(2)
    draw(out, "truncated_normal", key, jax.random.truncated_normal(key, low, high, (9,), jnp.float32), "abs 2e-06",
         shape=(9,), lower=-2.0, upper=2.0, dtype="f32")
    draw(out, "exponential", key, jax.random.exponential(key, (9,), jnp.float32), "ulp 8", shape=(9,), dtype="f32")
    logits = jnp.log(jnp.asarray([0.1, 0.2, 0.3, 0.4], jnp.float32))
    draw(out, "categorical", key, jax.random.categorical(key, logits, shape=(16,)).astype(jnp.int32), shape=(16,))


def initializers(out, key):
    for name in ("glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform", "lecun_normal"):
        for shape in ((30, 50), (3, 3, 8, 16)):
            for kind in ("f32", "f64"):
                draw(out, name, key, getattr(jax.nn.initializers, name)()(key, shape, dtype(kind)),
                     "abs 2e-06" if kind == "f32" else "abs 1e-12", count=12, shape=shape, dtype=kind)


if __name__ == "__main__":
    make()
