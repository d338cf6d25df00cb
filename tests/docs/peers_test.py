"""peers_test.py: holds tools/gen/names.txt against the packages whose names it has. See peers_test.sh."""
import fnmatch
import functools
import importlib
import inspect
import os
import sys

# The versions whose names the lines are of: another one has other names.
VERSIONS = {"numpy": "2.4", "jax": "0.10", "torch": "2."}
BEHIND_JAX = ("lax", "nn", "ops", "random", "scipy", "tree")
# Modules whose public names all have a line, and what these stand behind.
WHOLE = {
    "numpy": {name: name for name in ("numpy", "numpy.linalg", "numpy.fft")},
    "jax": {name: name for name in ("jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.lax", "jax.nn",
                                    "jax.random")},
    "torch": {"torch._C._VariableFunctions": "torch"},
}


def whole_name(package, name):
    """The name as Python has it; tools/gen/names.txt says how."""
    if package == "jax":
        head = name.split(".")[0]
        return name if head == "jax" else ("jax." if head in BEHIND_JAX and "." in name else "jax.numpy.") + name
    return package + "." + ("nn.functional" + name[1:] if name.startswith("F.") else name)


def read(path):
    """The names of each package that have a line, and patterns of those that are absent."""
    lines = []
    for line in open(path, encoding="utf-8").read().splitlines():
        if line.startswith(" "):
            lines[-1] += " " + line.strip()
        elif line and not line.startswith("#"):
            lines.append(line)
    named, absent = {p: set() for p in VERSIONS}, {p: [] for p in VERSIONS}
    for line in lines:
        cells = [cell.strip() for cell in line.split(" | ")]
        if cells[0].startswith("absent "):
            package = cells[0].split()[1]
            absent[package] += [whole_name(package, pattern) for pattern in cells[1].split()]
        elif cells[0] != "own":
            own = cells[0].split(".", 1)[1]
            for package, cell in zip(VERSIONS, cells[1:4]):
                named[package] |= {whole_name(package, own if word == "=" else word)
                                   for word in cell.split() if word != "-"}
    return named, absent


def is_there(name):
    """Whether Python has what a name says: a module, or an attribute of one."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:k]))
        except ImportError:
            continue
        if parts[:3] == ["jax", "Array"] + parts[2:3]:  # its class has no more than what is abstract
            value, k = value.numpy.zeros((1, 1)), k + 1
        for part in parts[k:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


def public(module):
    """The names of what a module offers."""
    space = functools.reduce(getattr, module.split(".")[2:], importlib.import_module(".".join(module.split(".")[:2])))
    if module.startswith("numpy"):
        return list(space.__all__)
    return [name for name in dir(space) if not name.startswith("_") and not name.endswith(("_", "_p"))
            and not inspect.ismodule(getattr(space, name))]


def main():
    named, absent = read(os.path.join(os.path.dirname(__file__), "..", "..", "tools", "gen", "names.txt"))
    passed = failed = skipped = 0
    for package, version in VERSIONS.items():
        try:
            found = importlib.import_module(package).__version__
        except ImportError:
            found = "none"
        if not found.startswith(version):
            print(f"skipped: names of {package}: {found}, and the lines are of {version}")
            skipped += 1
            continue
        wrong = [f"{name} is not there" for name in sorted(named[package]) if not is_there(name)]
        for module, prefix in WHOLE[package].items():
            for name in sorted(f"{prefix}.{name}" for name in public(module)):
                if name not in named[package] and not any(fnmatch.fnmatchcase(name, p) for p in absent[package]):
                    wrong.append(f"{name} has no line")
        print("\n".join(wrong))
        passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
