"""tables.py: definitions for tables, files, collectives and loops."""

MODULES = """around collectives files page tables transforms tree"""


def argnums(o):
    """The option argnums, from 1, a number or several, as JAX has it."""
    numbers = o.get("argnums", 1)
    return tuple(n - 1 for n in (numbers if isinstance(numbers, tuple) else (numbers,)))


def printed(x, o):
    """An array as NumPy's str with the options of np.array2string."""
    with np.printoptions(**o):
        return str(x)
