"""make_rules.py: derivatives, to the third order, of functions with rules of their own, by JAX in f64 (rules.txt).

Records:   function <tab> place <tab> way <tab> x <tab> value

A rule is used by one derivative, the innermost one that depends on the arguments; those around it differentiate what
fwd, or the rule of custom_jvp, has computed. So rules here are wrong on purpose, and some give other values than their
function does. A function stands in a *place*, inside a loop, say, and is derived in a *way*; the functions, places and
ways of a name are written twice, here for JAX and in rules_test.lua for neap. What JAX refuses has no record. The turns
of a scan are written out here: derivatives of lax.scan are others where a rule of custom_jvp calls its own function.
"""

import jax
import jax.numpy as jnp
from jax import lax

from records import Writer, text

X = 0.625


def vjp_rule(function, forward, backward):
    f = jax.custom_vjp(function)
    f.defvjp(forward, backward)
    return f


def jvp_rule(function, rule):
    f = jax.custom_jvp(function)
    f.defjvp(lambda primals, tangents: rule(primals[0], tangents[0]))
    return f


FUNCTIONS = {
    "cube_vjp": vjp_rule(lambda x: x**3, lambda x: (x**3, x), lambda r, ct: (ct * 3,)),
    "other_value_vjp": vjp_rule(lambda x: x, lambda x: (x * x * 0.5, None), lambda r, ct: (ct * 3,)),
    "saved_vjp": vjp_rule(jnp.sin, lambda x: (jnp.sin(x), jnp.cos(x)), lambda c, ct: (ct * c * 2,)),
    "cube_jvp": jvp_rule(lambda x: x**3, lambda x, t: (x**3, t * 3)),
    "other_value_jvp": jvp_rule(lambda x: x, lambda x, t: (x * x * 0.5, t * x * 3)),
}
FUNCTIONS["again_vjp"] = vjp_rule(lambda x: x * x, lambda x: (FUNCTIONS["again_vjp"](x), x),
                                  lambda x, ct: (ct * FUNCTIONS["again_vjp"](x) * 2,))
FUNCTIONS["again_jvp"] = jvp_rule(lambda x: x**3, lambda x, t: (FUNCTIONS["again_jvp"](x),
                                                                (FUNCTIONS["again_jvp"](x) + x) * t))
FUNCTIONS["nested"] = vjp_rule(lambda x: FUNCTIONS["cube_vjp"](x) * x,
                               lambda x: (FUNCTIONS["cube_vjp"](x) * x, x),
                               lambda x, ct: (ct * FUNCTIONS["cube_jvp"](x),))

PLACES = {
    "plain": lambda f: f,
    "jit": jax.jit,
    "checkpoint": jax.checkpoint,
    "vmap": lambda f: lambda x: jax.vmap(f)(jnp.stack([x, x * 0.5])).sum(),
    "scan": lambda f: lambda x: f(f(x) * 0.5) * 1.25,
    "cond": lambda f: lambda x: lax.cond(x > 0, lambda y: f(y) * 2, lambda y: y, x),
    "while": lambda f: lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1]) * 0.5), (0, x))[1],
    "scan of cond": lambda f: PLACES["scan"](PLACES["cond"](f)),
}

grad = jax.grad


def primal(f):
    """What the value of jvp is."""
    return lambda x: jax.jvp(f, (x,), (jnp.array(0.5),))[0]


def tangent(f):
    return lambda x: jax.jvp(f, (x,), (jnp.array(1.5),))[1]


def pulled(f):
    return lambda x: jax.vjp(f, x)[1](jnp.cos(x))[0]


def pushed(f):
    return lambda x: jax.linearize(f, x)[1](jnp.cos(x))


WAYS = {
    "value of grad": lambda f: lambda x: jax.value_and_grad(f)(x)[0],
    "grad": grad,
    "grad grad": lambda f: grad(grad(f)),
    "grad grad grad": lambda f: grad(grad(grad(f))),
    "jit grad grad": lambda f: jax.jit(grad(grad(f))),
    "grad jit grad": lambda f: grad(jax.jit(grad(f))),
    "grad jit grad jit grad": lambda f: grad(jax.jit(grad(jax.jit(grad(f))))),
    "tangent grad": lambda f: tangent(grad(f)),
    "tangent jit grad": lambda f: tangent(jax.jit(grad(f))),
    "grad checkpoint grad": lambda f: grad(jax.checkpoint(grad(f))),
    "grad pulled": lambda f: grad(pulled(f)),
    "pulled pulled": lambda f: pulled(pulled(f)),
    "hessian": jax.hessian,
    "grad of value of grad": lambda f: grad(lambda x: jax.value_and_grad(f)(x)[0]),
    "grad vmap grad": lambda f: grad(lambda x: jax.vmap(grad(f))(jnp.stack([x, x * 0.5])).sum()),
    "grad scan grad": lambda f: grad(PLACES["scan"](grad(f))),
    "value of tangent": primal,
    "tangent": tangent,
    "tangent tangent": lambda f: tangent(tangent(f)),
    "tangent of value of tangent": lambda f: tangent(primal(f)),
    "grad of value of tangent": lambda f: grad(primal(f)),
    "grad tangent": lambda f: grad(tangent(f)),
    "grad pushed": lambda f: grad(pushed(f)),
}


def make():
    with Writer("rules.txt", __doc__) as out:
        for name, function in FUNCTIONS.items():
            for place, put in PLACES.items():
                for way, derive in WAYS.items():
                    placed = put(function)
                    try:
                        value = derive(lambda x: jnp.sin(placed(x)) * x)(jnp.array(X))
                    except (TypeError, ValueError, NotImplementedError):
                        continue  # forward mode of custom_vjp, reverse mode of a while loop
                    out.record(name, place, way, text(jnp.array(X)), text(value))


if __name__ == "__main__":
    make()
