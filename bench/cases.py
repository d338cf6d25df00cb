"""cases.py: the calls of bench/cases.lua in other systems.

make(system, paths, text, threads) is a function that makes one call and returns when its result is on the host. The
text's form is told in bench/cases.lua.
"""

INPUTS = ["x", "y", "z", "w"]


def scope_of(system):
    import numpy as np

    if system in ("numpy", "scipy", "pandas"):
        names = dict(np=np)
        if system == "scipy":
            import scipy

            names["scipy"] = scipy
        if system == "pandas":
            import pandas

            names["pd"] = pandas
        return names, lambda x: x, lambda result: result
    if system == "torch":
        import torch

        return dict(np=np, torch=torch), torch.from_numpy, lambda result: result
    import jax
    import jax.numpy as jnp

    return dict(np=np, jax=jax, jnp=jnp), jnp.asarray, jax.block_until_ready


def make(system, paths, text, threads):
    import numpy as np

    scope, array, ready = scope_of(system)
    scope["threads"] = threads
    names = INPUTS[:len(paths)]
    for name, path in zip(names, paths):
        scope[name] = array(np.load(path))
    if "def once" in text:
        exec(text, scope)
        once = scope["once"]
    else:
        *statements, call = text.split(" :: ")
        exec("\n".join(statements), scope)
        eager = call.startswith("eager ")
        *first, result = call.removeprefix("eager ").split("; ")
        lines = ["def call(%s):" % ", ".join(names), *("    " + part for part in first), "    return " + result]
        exec("\n".join(lines), scope)
        call = scope["call"]
        if system == "jax jit" and not eager:
            call = scope["jax"].jit(call)
        arguments = [scope[name] for name in names]

        def once():
            return call(*arguments)

    def waited():
        result = once()
        return result if isinstance(result, list) else ready(result)  # a list is there, and is no tree to walk

    return waited
