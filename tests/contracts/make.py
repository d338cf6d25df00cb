"""make.py: golden values of contracts (tests/lib/contracts.lua), by NumPy, SciPy, JAX, PyTorch and others.

    python tests/contracts/make.py [--seed N --into FOLDER] [MODULE…]

Asks neap for the cases of tests/contracts/MODULE_test.lua, evaluates each contract's oracle, and writes
golden/MODULE.txt: `id <tab> sum <tab> results…`, a result being `[shape] elements`; for derivatives two numbers, the
first and the second one along ones, or along 1, 2, 3, …. Floats come as f64, complex numbers as c128, whatever dtype
neap computes in: what a dtype rounds is the tolerance's. Needs the packages of tests/requirements.txt; NEAP names the
executable.
"""

import glob
import json
import os
import subprocess
import sys
import warnings

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

import jax.numpy as jnp  # noqa: E402  (JAX must be configured first)
import mpmath as mp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
import pandas as pd  # noqa: E402
import scipy  # noqa: E402
import scipy.fft, scipy.interpolate, scipy.linalg, scipy.signal, scipy.special, scipy.stats  # noqa: E401,E402,F401
import sklearn.metrics  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

HERE = os.path.dirname(os.path.abspath(__file__))
FULL = {"b": "bool", "u": "uint", "i": "int", "f": "float", "c": "complex"}


def dtype_of(name):
    if name == "bool":
        return np.dtype(bool)
    if name in ("f16", "bf16", "f32", "f64"):
        return np.dtype(np.float64)
    if name in ("c64", "c128"):
        return np.dtype(np.complex128)
    return np.dtype(FULL[name[0]] + name[1:])


def array(text, real):
    """A case's array: dtype[shape] elements; with `real`, integers as f64."""
    head, _, rest = text.partition("]")
    name, _, dims = head.partition("[")
    shape = tuple(int(n) for n in dims.split(",") if n)
    dtype = dtype_of(name)
    words = rest.split()
    if dtype.kind == "c":
        parts = np.array([float(w) for w in words], np.float64)
        return parts.view(np.complex128).reshape(shape)
    if dtype.kind == "f":
        return np.array([float(w) for w in words], np.float64).reshape(shape)
    values = np.array([int(w) for w in words], dtype).reshape(shape)
    return values.astype(np.float64) if real else values


def number(value):
    if value != value:
        return "nan"
    if value in (np.inf, -np.inf):
        return "inf" if value > 0 else "-inf"
    return "-0" if value == 0 and np.signbit(value) else "%.17g" % value


def text(result):
    """A result as [shape] elements."""
    if isinstance(result, str):
        return "str " + result.replace("\n", "\\n")
    if torch is not None and isinstance(result, torch.Tensor):
        result = result.resolve_conj().detach().numpy()
    result = np.asarray(result)
    if result.dtype == object:
        result = result.astype(np.float64)
    if result.dtype.kind == "c":
        words = [number(float(p)) for z in result.reshape(-1) for p in (z.real, z.imag)]
    elif result.dtype.kind == "f":
        words = [number(float(v)) for v in result.reshape(-1)]
    else:
        words = [str(int(v)) for v in result.reshape(-1)]
    return "[" + ",".join(str(n) for n in result.shape) + "] " + " ".join(words)


def plain(value):
    """Options as Python has them: lists as tuples."""
    if isinstance(value, list):
        return tuple(plain(v) for v in value)
    if isinstance(value, float) and value == int(value) and abs(value) < 2**53:
        return int(value)
    return value


def tensor(value):
    return torch.tensor(np.asarray(value))


def flat(result):
    """The leaves of a result, which may be nested tuples and lists."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in flat(part)]
    return [result]


def checksum(line):
    total = 0
    for byte in line.encode():
        total = (total * 31 + byte) % 4294967291
    return "%08x" % total


SCOPE = {"np": np, "scipy": scipy, "sp": scipy.special, "jax": jax, "jnp": jnp, "jsp": jax.scipy.special, "mp": mp,
         "torch": torch, "F": torch.nn.functional if torch else None, "T": tensor, "nn": jax.nn, "optax": optax,
         "pd": pd, "metrics": sklearn.metrics}
LIBRARIES = dict(SCOPE)


def read_definitions(module):
    """Puts the definitions of oracles/common.py, and of the files that name the module, into SCOPE."""
    SCOPE.clear()
    SCOPE.update(LIBRARIES)
    for path in sorted(glob.glob(os.path.join(HERE, "oracles", "*.py"))):
        with open(path, encoding="utf-8") as file:
            code = file.read()
        named = code.partition('MODULES = """')[2].partition('"""')[0].split()
        if module in named or path.endswith("common.py"):
            exec(compile(code, path, "exec"), SCOPE)


def answer(line):
    """The golden fields of a line that neap wrote."""
    kind, name, oracle, options, *fields = line.split("\t")
    options = {k: plain(v) for k, v in json.loads(options).items() if k != "none"}
    given = dict(field.split("=", 1) for field in fields)
    values = {k: array(v, kind != "value") for k, v in given.items()}
    values["dtypes"] = {k: v.partition("[")[0] for k, v in given.items()}
    code = compile(oracle, name, "eval")
    if not kind.startswith("slope"):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return [text(r) for r in flat(eval(code, SCOPE | values | {"o": options}))]
    names = [n for n in kind.split(" ", 1)[1].split(",") if n]

    def f(*inputs):
        result = eval(code, SCOPE | values | dict(zip(names, inputs)) | {"o": options})
        return sum(jnp.sum(r) for r in flat(result))

    uneven = kind.startswith("slope-uneven")

    def along(v):
        return jnp.arange(1.0, v.size + 1).reshape(v.shape) if uneven else jnp.ones_like(v)

    def slope(*inputs):
        return jax.jvp(f, inputs, tuple(along(v) for v in inputs))[1]

    inputs = tuple(jnp.asarray(values[n]) for n in names)
    first = slope(*inputs)
    if "-first" in kind:
        return [number(float(first)), "nan"]
    second = jax.jvp(slope, inputs, tuple(along(v) for v in inputs))[1]
    return [number(float(first)), number(float(second))]


def make(module, seed, into):
    neap = os.environ.get("NEAP", os.path.join(HERE, "../../build/neap"))
    env = dict(os.environ, NEAP_CONTRACTS="cases", NEAP_CONTRACT_SEED=str(seed))
    output = subprocess.run([neap, f"tests/contracts/{module}_test.lua"], cwd=os.path.join(HERE, "../.."), env=env,
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    read_definitions(module)
    lines, problems = [], 0
    for line in output.splitlines():
        name = line.split("\t")[1]
        try:
            lines.append("\t".join([name, checksum(line)] + answer(line)))
        except Exception as problem:
            problems += 1
            print(f"{name}: {type(problem).__name__}: {problem}\n  {line[:1000]}", file=sys.stderr)
    if not lines:
        return problems
    os.makedirs(into, exist_ok=True)
    with open(os.path.join(into, module + ".txt"), "w", encoding="utf-8", newline="\n") as file:
        file.write("".join(line + "\n" for line in sorted(lines)))
    print("made", module, len(lines))
    return problems


def main(words):
    seed, into = 1, os.path.join(HERE, "golden")
    while words and words[0].startswith("--"):
        option, value, *words = words
        if option == "--seed":
            seed = int(value)
        elif option == "--into":
            into = value
        else:
            sys.exit(__doc__)
    found = sorted(os.path.basename(p)[:-9] for p in glob.glob(os.path.join(HERE, "*_test.lua")))
    if sum(make(module, seed, into) for module in words or found):
        sys.exit("an oracle fails where it is asked")


if __name__ == "__main__":
    main(sys.argv[1:])
