"""make_expressions.py: 10,000 seeded random expressions and summaries of their values (expressions.npz).

A record is   program <tab> dtype[shape] <tab> tolerance <tab> values.

A program is a list of instructions separated by spaces; instruction k makes register k (from 0) and the last register
is the result. An instruction is `name:operand,operand,…`; operands are integers: registers first, then parameters.

    L? A? F?          leaves of dtype ? (f f32, d f64, i i32, b bool), exact on every side; floats are eighths:
                      L:seed,dims…       x ← x*16807 mod 2147483647 from seed on; x mod 65 - 32, bool x mod 2
                      A:step,start,dims… element i (row-major) is i*step + start
                      F:value,dims…      all elements are value
    add sub mul div max min lt gt eq     a,b          where  c,a,b
    neg abs exp tanh log1p sqrt          a            cast?  a        (? as for leaves)
    addn muln rsubn fdivn modn           a,k          a+n, a*n, n-a, floor a/n, a mod n; n is k, for floats k eighths
    sum mean amax amin                   a,keepdims,axes…             (no axes: all)
    reshape bcast a,dims…   perm a,axes…   flip newaxis squeeze a,axis
    slice a,items…                       Python's spelling: `1`, `1:4`, `::-2`, one per axis from the first
    matmul a,b    cat stack axis,a,b,…    take a,indices,axis

Values: all elements, row-major, when there are at most 8; else the elements 0, n//3, 2n//3, n-1, then the sum of
absolute values and the sum of (37 i mod 11 - 5) times element i. bools count as 0 and 1.

The tolerance (absolute, per element; 0: exact) is a running error bound: next to every float the maker carries a bound
of how far any implementation with correctly rounded arithmetic, functions good to 4 ulp and any sensible order of
summation may be from the true value, which itself is computed in long double. Comparisons are only made where no such
error can turn them.
"""

import numpy as np

from records import Writer, dtype, head

COUNT = 10000
SEED = 20240229
MAX_SIZE = 600
EPS = {"f": 2.0**-24, "d": 2.0**-53}
DTYPE = {"f": "f32", "d": "f64", "i": "i32", "b": "bool"}
REAL = np.longdouble
TWO_REGISTERS = {"add", "sub", "mul", "div", "max", "min", "lt", "gt", "eq", "matmul", "take"}


class Reject(Exception):
    """The step just tried does not suit its operands; another one is tried."""


class Value:
    """A register: exact integers, or long doubles `v` with the bound `e` of the error of a computed value."""

    def __init__(self, kind, v, e=None):
        self.kind, self.v = kind, np.asarray(v)
        self.e = np.zeros(self.v.shape) if e is None else np.asarray(np.broadcast_to(e, self.v.shape), float)
        self.shape = self.v.shape

    def real(self):
        return self.kind in EPS


def largest(x):
    return float(np.max(np.abs(x), initial=0))


def smallest(x):
    return float(np.min(x, initial=1e30))


def rounded(kind, v, e, ulps=1):
    """A float result with true value v, whose inputs' errors cause e, and which is itself rounded."""
    v = np.asarray(v, REAL)
    e = np.asarray(e, float) + 2 * ulps * EPS[kind] * (np.abs(v).astype(float) + np.asarray(e, float))
    if largest(v) > 1e5 or (v.size and largest(e) > 1e-3 * max(1.0, largest(v))):
        raise Reject
    return Value(kind, v, e)


def wrapped(v):
    return Value("i", np.asarray(v).astype(np.int64).astype(np.int32))


def promote(a, b):
    """Both operands in the dtype where they meet (bool < i32 < f32 < f64)."""
    kind = max(a.kind, b.kind, key="bifd".index)
    return cast(a, kind), cast(b, kind), kind


def cast(a, kind):
    if a.kind == kind:
        return a
    if kind == "d" or (kind == "f" and a.kind in "bi"):
        if a.kind == "i" and largest(a.v.astype(float)) > 2**23:
            raise Reject
        return Value(kind, a.v.astype(REAL), a.e)
    if kind == "f":
        return rounded("f", a.v, a.e)
    if kind == "i" and a.kind == "b":
        return Value("i", a.v.astype(np.int32))
    raise Reject


def binary(name, a, b):
    a, b, kind = promote(a, b)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise Reject
    if name in ("lt", "gt", "eq"):
        if kind == "b" or (kind in EPS and (np.abs(a.v - b.v) <= (a.e + b.e)).any() and (a.e.any() or b.e.any())):
            raise Reject
        return Value("b", {"lt": np.less, "gt": np.greater, "eq": np.equal}[name](a.v, b.v))
    if kind == "b":
        raise Reject
    if kind == "i":
        if name == "div":
            raise Reject
        if name in ("max", "min"):
            return Value("i", (np.maximum if name == "max" else np.minimum)(a.v, b.v))
        return wrapped({"add": np.add, "sub": np.subtract, "mul": np.multiply}[name](a.v.astype(np.int64), b.v))
    if name == "add":
        return rounded(kind, a.v + b.v, a.e + b.e)
    if name == "sub":
        return rounded(kind, a.v - b.v, a.e + b.e)
    if name == "mul":
        return rounded(kind, a.v * b.v, np.abs(a.v) * b.e + np.abs(b.v) * a.e + a.e * b.e)
    if name == "div":
        if smallest(np.abs(b.v)) < 0.1:
            raise Reject
        return rounded(kind, a.v / b.v, (a.e + np.abs(a.v / b.v) * b.e) / (np.abs(b.v) - b.e))
    return Value(kind, (np.maximum if name == "max" else np.minimum)(a.v, b.v), np.maximum(a.e, b.e))


def unary(name, a):
    if name == "neg" and a.kind == "i":
        return wrapped(-a.v.astype(np.int64))
    if name == "abs" and a.kind == "i":
        return wrapped(np.abs(a.v.astype(np.int64)))
    if not a.real():
        raise Reject
    if name == "neg":
        return Value(a.kind, -a.v, a.e)
    if name == "abs":
        return Value(a.kind, np.abs(a.v), a.e)
    if name == "exp":
        if smallest(-a.v) < -5:
            raise Reject
        return rounded(a.kind, np.exp(a.v), np.exp(a.v) * np.expm1(a.e), 4)
    if name == "tanh":
        return rounded(a.kind, np.tanh(a.v), a.e, 4)
    if name == "log1p":
        if smallest(a.v) < -0.75:
            raise Reject
        return rounded(a.kind, np.log1p(a.v), a.e / (1 + a.v - a.e), 4)
    if smallest(a.v) < 0.0625:
        raise Reject
    return rounded(a.kind, np.sqrt(a.v), a.e / (2 * np.sqrt(a.v - a.e)))


def with_number(name, a, k):
    if a.kind == "b":
        raise Reject
    if a.kind == "i":
        wide = a.v.astype(np.int64)
        return wrapped({"addn": lambda: wide + k, "muln": lambda: wide * k, "rsubn": lambda: k - wide,
                        "fdivn": lambda: wide // k, "modn": lambda: wide % k}[name]())
    n = Value(a.kind, np.asarray(k / 8, REAL))
    if name == "rsubn":
        return binary("sub", n, a)
    if name not in ("addn", "muln"):
        raise Reject
    return binary(name[:3], a, n)


def where(c, a, b):
    if c.kind != "b":
        raise Reject
    a, b, kind = promote(a, b)
    try:
        np.broadcast_shapes(a.shape, b.shape, c.shape)
    except ValueError:
        raise Reject
    return Value(kind, np.where(c.v, a.v, b.v), np.where(c.v, a.e, b.e))


def reduce(name, a, keep, axes):
    axis = tuple(axes) or None
    if name == "sum" and not a.real():
        return wrapped(np.sum(a.v.astype(np.int64), axis=axis, keepdims=keep))
    if a.kind == "b" or (name == "mean" and not a.real()):
        raise Reject
    extent = a.v.size if axis is None else int(np.prod([a.shape[k] for k in axis]))
    if name in ("amax", "amin"):
        if extent == 0:
            raise Reject
        function = np.max if name == "amax" else np.min
        return Value(a.kind, function(a.v, axis=axis, keepdims=keep),
                     np.max(a.e, axis=axis, keepdims=keep, initial=0))
    if name == "mean" and extent == 0:
        raise Reject
    total = np.sum(a.v, axis=axis, keepdims=keep)
    weight = np.sum(np.abs(a.v) + a.e, axis=axis, keepdims=keep).astype(float)
    error = np.sum(a.e, axis=axis, keepdims=keep) + min(extent, 32) * EPS[a.kind] * weight
    if name == "mean":
        return rounded(a.kind, total / extent, error / extent, 2)
    return rounded(a.kind, total, error)


def view(a, function):
    """The same rearrangement of values and errors."""
    try:
        return Value(a.kind, function(a.v), function(a.e))
    except (ValueError, IndexError):
        raise Reject


def matmul(a, b):
    if a.kind != b.kind or not a.real() or not a.shape or not b.shape:
        raise Reject
    try:
        product = np.matmul(a.v, b.v)
        weight = np.matmul(np.abs(a.v) + a.e, np.abs(b.v) + b.e) - np.matmul(np.abs(a.v), np.abs(b.v))
        size = np.matmul(np.abs(a.v), np.abs(b.v)).astype(float)
    except ValueError:
        raise Reject
    return rounded(a.kind, product, weight.astype(float) + a.shape[-1] * EPS[a.kind] * size)


def joined(name, axis, parts):
    if len({p.kind for p in parts}) != 1:
        raise Reject
    function = np.concatenate if name == "cat" else np.stack
    try:
        return Value(parts[0].kind, function([p.v for p in parts], axis=axis),
                     function([p.e for p in parts], axis=axis))
    except (ValueError, IndexError):
        raise Reject


def item(text):
    """An index of Python's spelling."""
    if ":" not in text:
        return int(text)
    return slice(*(int(part) if part else None for part in text.split(":")))


def leaf(name, params):
    form, kind = name[0], name[1]
    at = {"L": 1, "A": 2, "F": 1}[form]
    shape = tuple(params[at:])
    size = int(np.prod(shape, dtype=np.int64))
    if form == "L":
        state, values = params[0], []
        for _ in range(size):
            state = state * 16807 % 2147483647
            values.append(state % 2 if kind == "b" else state % 65 - 32)
        values = np.array(values, np.int64)
    elif form == "A":
        values = np.arange(size) * params[0] + params[1]
    else:
        values = np.full(size, params[0])
    values = values.reshape(shape)
    if kind in EPS:
        return Value(kind, values.astype(REAL) / 8)
    return Value(kind, values.astype(bool if kind == "b" else np.int32))


class Program:
    """A growing random program: its text and its registers' values."""

    def __init__(self, rng):
        self.rng = rng
        self.text, self.values = [], []
        mix = rng.random()
        self.kinds = "f" if mix < 0.5 else "d" if mix < 0.65 else "i" if mix < 0.85 else "fdi"

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def push(self, name, params, value):
        if value.v.size > MAX_SIZE or len(value.shape) > 5:
            raise Reject
        self.text.append(name + ":" + ",".join(str(p) for p in params))
        self.values.append(value)
        return len(self.values) - 1

    def leaf(self, shape=None, kind=None):
        rng = self.rng
        if shape is None:
            shape = tuple(int(n) for n in rng.choice([1, 2, 3, 4, 5, 7, 9, 16], int(self.pick(0, 1, 2, 2, 2, 3, 3))))
            if rng.random() < 0.015 and shape:
                shape = shape[:-1] + (0,)
        kind = kind or self.pick(*self.kinds)
        form = self.pick("L", "L", "L", "A", "A", "F") if kind != "b" else "L"
        size = int(np.prod(shape, dtype=np.int64))
        if form == "L":
            params = [int(rng.integers(1, 10000))]
        elif form == "A":
            params = [self.pick(1, 1, 2, -1), int(rng.integers(-size // 2, 9))]
        else:
            params = [int(rng.integers(-12, 13))]
        params += list(shape)
        return self.push(form + kind, params, leaf(form + kind, params))

    def operand(self):
        """Mostly the newest register, so that programs grow deep."""
        if self.rng.random() < 0.75:
            return len(self.values) - 1
        return int(self.rng.integers(len(self.values)))

    def partner(self, a):
        """A register to combine with register a: one that there is, or a leaf whose shape broadcasts with a's."""
        if self.rng.random() < 0.4:
            return int(self.rng.integers(len(self.values)))
        shape = [1 if self.rng.random() < 0.3 else n for n in self.values[a].shape]
        return self.leaf(tuple(shape[int(self.rng.integers(0, len(shape) + 1)):] if self.rng.random() < 0.4 else shape))

    def step(self):
        family = self.pick("binary", "binary", "binary", "unary", "unary", "number", "view", "view", "view", "view",
                           "reduce", "where", "cast", "join", "take", "matmul")
        getattr(self, "step_" + family)(self.operand())

    def step_binary(self, a):
        b = self.partner(a)
        name = self.pick("add", "sub", "mul", "div", "max", "min")
        if self.rng.random() < 0.3:
            a, b = b, a
        self.push(name, [a, b], binary(name, self.values[a], self.values[b]))

    def step_unary(self, a):
        name = self.pick("neg", "abs", "exp", "tanh", "log1p", "sqrt")
        if name in ("log1p", "sqrt") and self.rng.random() < 0.7:  # into the domain first
            a = self.push("abs", [a], unary("abs", self.values[a]))
            if name == "sqrt":
                a = self.push("addn", [a, 1], with_number("addn", self.values[a], 1))
        self.push(name, [a], unary(name, self.values[a]))

    def step_number(self, a):
        name = self.pick("addn", "muln", "rsubn", "fdivn", "modn")
        k = self.pick(-7, -3, 2, 3, 5, 12)
        self.push(name, [a, k], with_number(name, self.values[a], k))

    def step_where(self, a):
        b = self.partner(a)
        if self.rng.random() < 0.6:
            name = self.pick("lt", "gt", "eq")
            c = self.push(name, [a, b], binary(name, self.values[a], self.values[b]))
        else:
            c = self.leaf(self.values[a].shape, "b")
        d = self.partner(a)
        self.push("where", [c, a, d], where(self.values[c], self.values[a], self.values[d]))

    def step_cast(self, a):
        kind = self.pick(*"fdi")
        if kind == self.values[a].kind or (kind == "i" and self.values[a].kind != "b"):
            raise Reject
        self.push("cast" + kind, [a], cast(self.values[a], kind))

    def step_reduce(self, a):
        shape = self.values[a].shape
        name = self.pick("sum", "sum", "amax", "amin", "mean")
        count = int(self.rng.integers(0, len(shape) + 1))
        axes = sorted(int(k) for k in self.rng.choice(len(shape), count, replace=False)) if count else []
        axes = [k - len(shape) if self.rng.random() < 0.2 else k for k in axes]
        keep = int(self.rng.integers(2))
        self.push(name, [a, keep] + axes, reduce(name, self.values[a], bool(keep), axes))

    def step_view(self, a):
        value = self.values[a]
        shape = value.shape
        name = self.pick("reshape", "perm", "bcast", "flip", "newaxis", "squeeze", "slice", "slice")
        rank = len(shape)
        if name == "reshape":
            params = self.factor(value.v.size)
            function = lambda x: x.reshape(params)
        elif name == "perm":
            if rank < 2:
                raise Reject
            params = [int(k) for k in self.rng.permutation(rank)]
            function = lambda x: x.transpose(params)
        elif name == "bcast":
            params = [self.pick(2, 3, 4) if n == 1 else n for n in shape]
            params = ([self.pick(1, 2, 3)] if self.rng.random() < 0.4 else []) + params
            function = lambda x: np.broadcast_to(x, params)
        elif name == "flip":
            if not rank:
                raise Reject
            params = [int(self.rng.integers(rank))]
            function = lambda x: np.flip(x, params[0])
        elif name == "newaxis":
            params = [int(self.rng.integers(rank + 1))]
            function = lambda x: np.expand_dims(x, params[0])
        elif name == "squeeze":
            ones = [k for k in range(rank) if shape[k] == 1]
            if not ones:
                raise Reject
            params = [self.pick(*ones)]
            function = lambda x: np.squeeze(x, params[0])
        else:
            if not rank:
                raise Reject
            params = [self.index(n) for n in shape[:int(self.rng.integers(1, rank + 1))]]
            index = tuple(item(p) for p in params)
            function = lambda x: x[index]
        self.push(name, [a] + params, view(value, function))

    def factor(self, size):
        """A random shape of this size."""
        if size == 0:
            return self.pick([0], [3, 0], [0, 2])
        shape, left = [], size
        while left > 1 and len(shape) < 3:
            divisors = [d for d in range(1, left + 1) if left % d == 0]
            shape.append(self.pick(*divisors))
            left //= shape[-1]
        return shape + ([left] if left > 1 or self.rng.random() < 0.1 else [])

    def index(self, n):
        if n and self.rng.random() < 0.2:
            return str(int(self.rng.integers(-n, n)))
        step = self.pick(1, 1, 1, 2, -1, -1, -2, 3)
        text = ["", "", "" if step == 1 else str(step)]
        low, high = sorted(int(k) for k in self.rng.integers(0, n + 1, 2))
        if self.rng.random() < 0.6:
            text[0 if step > 0 else 1] = str(low - (n + 1 if self.rng.random() < 0.3 and low else 0))
        if self.rng.random() < 0.6:
            text[1 if step > 0 else 0] = str(high)
        return ":".join(text if text[2] else text[:2])

    def step_join(self, a):
        value = self.values[a]
        name = self.pick("cat", "cat", "stack")
        if name == "cat" and not value.shape:
            raise Reject
        axis = int(self.rng.integers(len(value.shape) + (name == "stack")))
        parts = [a]
        for _ in range(self.pick(1, 1, 2)):
            shape = list(value.shape)
            if name == "cat":
                shape[axis] = int(self.rng.integers(1, 4))
            parts.append(a if self.rng.random() < 0.2 else self.leaf(tuple(shape), value.kind))
        self.push(name, [axis] + parts, joined(name, axis, [self.values[p] for p in parts]))

    def step_take(self, a):
        value = self.values[a]
        if not value.v.size or not value.shape:
            raise Reject
        axis = int(self.rng.integers(len(value.shape)))
        n = value.shape[axis]
        count = int(self.rng.integers(1, 6))
        at = self.push("Ai", [1, 0, count], leaf("Ai", [1, 0, count]))
        stride = self.pick(1, 2, 3)
        at = self.push("muln", [at, stride], with_number("muln", self.values[at], stride))
        at = self.push("modn", [at, n], with_number("modn", self.values[at], n))
        self.push("take", [a, at, axis], view(value, lambda x: np.take(x, self.values[at].v, axis=axis)))

    def step_matmul(self, a):
        value = self.values[a]
        if not value.real() or not value.shape:
            raise Reject
        inner = value.shape[-1]
        shape = self.pick((inner,), (inner, 3), (inner, 2), value.shape[:-2] + (inner, 2))
        b = self.leaf(shape, value.kind)
        self.push("matmul", [a, b], matmul(value, self.values[b]))


def generate(rng):
    """One program: a leaf and 3 to 12 steps."""
    while True:
        program = Program(rng)
        steps, tries = int(rng.integers(4, 14)), 0
        while steps and tries < 60:
            tries += 1
            mark = len(program.values)
            try:
                if mark:
                    program.step()
                else:
                    program.leaf()
                steps -= 1
            except Reject:  # forget the leaves that the step had added
                del program.values[mark:], program.text[mark:]
        if not steps:
            return program


def prune(program):
    """The text of the program without the instructions that its result does not need."""
    parsed = [text.partition(":") for text in program.text]
    operands = [[] if name[0].isupper() else registers(name, params.split(",")) for name, _, params in parsed]
    needed = [False] * len(parsed)
    needed[-1] = True
    for k in reversed(range(len(parsed))):
        if needed[k]:
            for at, register in operands[k]:
                needed[register] = True
    renamed, texts = {}, []
    for k, (name, _, params) in enumerate(parsed):
        if needed[k]:
            renamed[k] = len(texts)
            params = params.split(",")
            for at, register in operands[k]:
                params[at] = str(renamed[register])
            texts.append(name + ":" + ",".join(params))
    return " ".join(texts)


def registers(name, params):
    """[(position, register)] of an instruction's operands that are registers."""
    if name in ("cat", "stack"):
        positions = range(1, len(params))
    else:
        positions = range(3 if name == "where" else 2 if name in TWO_REGISTERS else 1)
    return [(at, int(params[at])) for at in positions]


def digits(value, tolerance):
    """The shortest decimal text that is right within a tenth of the tolerance."""
    value = float(value)
    if value == int(value) and abs(value) < 2**53:
        return str(int(value))
    for precision in range(2, 18):
        text = "%.*g" % (precision, value)
        if abs(float(text) - value) <= 0.1 * tolerance:
            return text
    return repr(value)


def summary(value):
    """(head, tolerance, values) as texts."""
    array = np.zeros(value.shape, dtype(DTYPE[value.kind]))
    flat = value.v.reshape(-1).astype(REAL if value.real() else np.int64)
    size = flat.size
    tolerance = 0.0
    if value.real():
        tolerance = float("%.1e" % (1.5 * largest(value.e) + 4 * EPS["d"] * largest(flat) + 1e-30))
    if size <= 8:
        return head(array), "%g" % tolerance, " ".join(digits(v, tolerance) for v in flat)
    weights = 37 * np.arange(size) % 11 - 5
    values = [digits(flat[k], tolerance) for k in (0, size // 3, 2 * size // 3, size - 1)]
    values += [digits(np.abs(flat).sum(), tolerance), digits((flat * weights).sum(), tolerance)]
    return head(array), "%g" % tolerance, " ".join(values)


def make():
    rng = np.random.default_rng(SEED)
    with Writer("expressions.npz", __doc__) as out:
        for _ in range(COUNT):
            program = generate(rng)
            out.record(prune(program), *summary(program.values[-1]))


if __name__ == "__main__":
    make()
