"""neap as a namespace of the Python array API standard: a neap process behind a pipe, its arrays as handles.

Everything here is a call of the public Lua function of that name; SIGNATURES says how arguments get there. A module as
tests of the standard want it: ARRAY_API_TESTS_MODULE=neap_array_api. NEAP names the executable, else build/neap of this
checkout.

What this adapter adds, because Lua does not know it: Python's integers and floats differ, Lua's numbers do not, so
asarray, full, arange and result_type pass a dtype where Python's kind of number decides it. Arrays of neap do not
change: x[i] = v and x += v give the handle another array.
"""
import atexit
import builtins
import collections
import inspect
import math
import os
import subprocess
from types import SimpleNamespace

import numpy

__array_api_version__ = "2024.12"

HERE = os.path.dirname(os.path.abspath(__file__))


class NeapError(TypeError, ValueError, IndexError):
    """What neap says of a wrong call."""


class DType:
    """A dtype: its standard name, neap's name, and NumPy's dtype for values."""

    def __init__(self, name, short):
        self.name, self.short, self.numpy = name, short, numpy.dtype(name)

    def __repr__(self):
        return self.name


SHORT = {"bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
         "uint32": "u32", "uint64": "u64", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}
DTYPES = {short: DType(name, short) for name, short in SHORT.items()}
globals().update({dtype.name: dtype for dtype in DTYPES.values()})

e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi


class Process:
    """The process and the protocol of server.lua."""

    def __init__(self):
        executable = os.environ.get("NEAP") or os.path.join(HERE, "..", "..", "build", "neap")
        self.pipe = subprocess.Popen([executable, os.path.join(HERE, "server.lua")], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)
        self.dropped = []
        atexit.register(self.pipe.kill)

    def _values(self, line):
        kind, _, rest = line.partition(b" ")
        kind = kind.decode()
        if kind == "array":
            handle, dtype, *dims = rest.decode().split()
            return Array(int(handle), DTYPES[dtype], tuple(map(int, dims)))
        if kind == "number":
            value = float(rest)
            return int(value) if value.is_integer() else value
        if kind == "integer":
            return int(rest)
        if kind == "boolean":
            return rest == b"true"
        if kind == "nil":
            return None
        if kind in ("string", "error"):
            text = self.pipe.stdout.read(int(rest) + 1)[:-1]
            if kind == "error":
                raise NeapError(text.decode(errors="replace"))
            return text
        if kind == "table":
            return [self._values(self._line()) for _ in range(int(rest))]
        if kind == "record":
            pairs = [(self._values(self._line()), self._values(self._line())) for _ in range(int(rest))]
            return {k.decode() if isinstance(k, bytes) else k: v for k, v in pairs}
        raise NeapError(f"a result of type {kind}")

    def _line(self):
        line = self.pipe.stdout.readline()
        if not line:
            raise SystemError(f"neap ended with status {self.pipe.wait()}")
        return line[:-1]

    def run(self, code, data=b""):
        """The results of a chunk: None, one, or a tuple."""
        dropped, self.dropped = self.dropped, []
        code = ("".join(f"H[{handle}]=nil " for handle in dropped) + code).encode()
        self.pipe.stdin.write(b"%d %d\n" % (len(code), len(data)) + code + data)
        self.pipe.stdin.flush()
        results, failure = [], None
        while (line := self._line()) != b"end":
            try:
                results.append(self._values(line))
            except NeapError as error:
                failure = error
        if failure:
            failure.code = code.decode()
            raise failure
        return results[0] if len(results) == 1 else tuple(results) if results else None


PROCESS = Process()


def lua(value):
    """A Python value as Lua source."""
    if value is None:
        return "nil"
    if isinstance(value, Array):
        return f"H[{value.handle}]"
    if isinstance(value, (builtins.bool, numpy.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, numpy.integer)):
        value = int(value)
        return str(value) if builtins.abs(value) <= 2 ** 53 else f"{value}LL" if value < 2 ** 63 else f"{value}ULL"
    if isinstance(value, float):
        if value != value:
            return "np.nan"
        return repr(value) if math.isfinite(value) else "np.inf" if value > 0 else "-np.inf"
    if isinstance(value, DType):
        return f'"{value.short}"'
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (tuple, list)):
        return "{" + ",".join(map(lua, value)) + "}"
    raise NeapError(f"no such argument: {value!r}")


def call(name, positional, options=None):
    """np.NAME of arguments and a table of options; what is None is left out."""
    while positional and positional[-1] is None:
        positional = positional[:-1]
    arguments = [lua(value) for value in positional]
    options = {k: v for k, v in (options or {}).items() if v is not None}
    if options:
        arguments.append("{" + ",".join(f"{k}={lua(v)}" for k, v in options.items()) + "}")
    return PROCESS.run(f"return np.{name}({','.join(arguments)})")


def from_numpy(values):
    """An array of NumPy's, by its bytes."""
    values = numpy.asarray(values, order="C")
    dtype = DTYPES[SHORT[values.dtype.name]]
    return PROCESS.run(f'return np.reshape(np.frombuffer(P,{{dtype="{dtype.short}"}}),{lua(values.shape)})',
                       values.tobytes())


def to_numpy(x):
    """The values of an array."""
    raw = b""
    if x.size:
        raw = PROCESS.run(f'return require("ffi").string({lua(x)}:pointer(),{x.size * x.dtype.numpy.itemsize})')
    return numpy.frombuffer(raw, x.dtype.numpy).reshape(x.shape)


def lua_index(index):
    """What stands in x[…] as Lua source."""
    def item(part):
        if part is None:
            return "np.newaxis"
        if part is Ellipsis:
            return "np.ellipsis"
        if isinstance(part, slice):
            parts = [None if v is None else int(v) for v in (part.start, part.stop, part.step)]
            while parts and parts[-1] is None:
                parts.pop()
            return "{" + ",".join(map(lua, parts)) + "}"
        if isinstance(part, Array) or not isinstance(part, float) and hasattr(part, "__index__"):
            return lua(part if isinstance(part, Array) else int(part))
        raise NeapError(f"no index: {part!r}")
    return "{" + ",".join(item(part) for part in (index if isinstance(index, tuple) else (index,))) + "}"


class Array:
    """A handle of an array."""

    def __init__(self, handle, dtype, shape):
        self.handle, self.dtype, self.shape = handle, dtype, shape

    def __del__(self):
        PROCESS.dropped.append(self.handle)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    T = property(lambda self: PROCESS.run(f"return {lua(self)}.T"))
    mT = property(lambda self: PROCESS.run(f"return {lua(self)}.mT"))
    device = property(lambda self: PROCESS.run(f"return tostring({lua(self)}.device)").decode())

    def to_device(self, device, /, *, stream=None):
        if stream is not None:
            raise NeapError("no streams")
        return call("device_put", [self, device])

    def __array_namespace__(self, /, *, api_version=None):
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise NeapError(f"no version {api_version}")
        import neap_array_api
        return neap_array_api

    def __getitem__(self, key, /):
        return PROCESS.run(f"return {lua(self)}[{lua_index(key)}]")

    def __setitem__(self, key, value, /):
        _become(self, PROCESS.run(f"return {lua(self)}:at({lua_index(key)}):set({lua(value)})"))

    def _item(self, kinds):
        if self.size != 1 or self.shape != () or kinds and self.dtype.numpy.kind not in kinds:
            raise NeapError("not one number")
        return PROCESS.run(f"return {lua(self)}:item()")

    def __bool__(self):
        return builtins.bool(self._item(""))

    def __int__(self):
        return int(self._item(""))

    def __float__(self):
        return float(self._item(""))

    def __complex__(self):
        return complex(self._item(""))

    def __index__(self):
        return int(self._item("iu"))

    def __repr__(self):
        return PROCESS.run(f"return tostring({lua(self)})").decode()

    def __len__(self):
        return self.shape[0]

    def __dlpack_device__(self):
        return (1, 0)

    __hash__ = None


def _become(x, other):
    PROCESS.dropped.append(x.handle)
    x.handle, x.dtype, x.shape = other.handle, other.dtype, other.shape
    other.handle = 0


# Operators: those that Lua has as such, the others as functions.
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%", "pow": "^", "floordiv": "floor_divide",
             "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
             "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}
COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
               "ge": "greater_equal"}
UNARY = {"neg": "-", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}


def _binary(sign, flipped=False):
    def operator(self, other, /):
        if not isinstance(other, (Array, builtins.bool, int, float)):
            return NotImplemented
        a, b = (other, self) if flipped else (self, other)
        if sign.isidentifier():
            return PROCESS.run(f"return np.{sign}({lua(a)},{lua(b)})")
        return PROCESS.run(f"return ({lua(a)}){sign}({lua(b)})")
    return operator


def _in_place(sign):
    def operator(self, other, /):
        result = _binary(sign)(self, other)
        if result is NotImplemented:
            return result
        if result.shape != self.shape or result.dtype != self.dtype:
            raise NeapError(f"{self.dtype} {self.shape} cannot become {result.dtype} {result.shape}")
        _become(self, result)
        return self
    return operator


for _name, _sign in OPERATORS.items():
    setattr(Array, f"__{_name}__", _binary(_sign))
    setattr(Array, f"__r{_name}__", _binary(_sign, True))
    setattr(Array, f"__i{_name}__", _in_place(_sign))
for _name, _sign in COMPARISONS.items():
    setattr(Array, f"__{_name}__", _binary(_sign))
for _name, _sign in UNARY.items():
    setattr(Array, f"__{_name}__",
            (lambda s: lambda self: PROCESS.run(f"return -{lua(self)}" if s == "-" else f"return np.{s}({lua(self)})"))
            (_sign))

# ---- Functions -------------------------------------------------------------------------------------------------------
# A line each: its signature in the standard. Parameters before "*" are passed by place, the others as options.
SIGNATURES = """
abs(x, /)
acos(x, /)
acosh(x, /)
add(x1, x2, /)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
argsort(x, /, *, axis=-1, descending=False, stable=True)
asin(x, /)
asinh(x, /)
atan(x, /)
atan2(x1, x2, /)
atanh(x, /)
bitwise_and(x1, x2, /)
bitwise_invert(x, /)
bitwise_left_shift(x1, x2, /)
bitwise_or(x1, x2, /)
bitwise_right_shift(x1, x2, /)
bitwise_xor(x1, x2, /)
broadcast_to(x, /, shape)
ceil(x, /)
clip(x, /, min=None, max=None)
copysign(x1, x2, /)
conj(x, /)
cos(x, /)
cosh(x, /)
count_nonzero(x, /, *, axis=None, keepdims=False)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
divide(x1, x2, /)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
equal(x1, x2, /)
exp(x, /)
expand_dims(x, /, axis)
expm1(x, /)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
flip(x, /, *, axis=None)
floor(x, /)
floor_divide(x1, x2, /)
greater(x1, x2, /)
greater_equal(x1, x2, /)
hypot(x1, x2, /)
imag(x, /)
isfinite(x, /)
isinf(x, /)
isnan(x, /)
less(x1, x2, /)
less_equal(x1, x2, /)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
log(x, /)
log10(x, /)
log1p(x, /)
log2(x, /)
logaddexp(x1, x2, /)
logical_and(x1, x2, /)
logical_not(x, /)
logical_or(x1, x2, /)
logical_xor(x1, x2, /)
matmul(x1, x2, /)
matrix_transpose(x, /)
max(x, /, *, axis=None, keepdims=False)
maximum(x1, x2, /)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
minimum(x1, x2, /)
moveaxis(x, source, destination, /)
multiply(x1, x2, /)
negative(x, /)
nextafter(x1, x2, /)
not_equal(x1, x2, /)
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
permute_dims(x, /, axes)
positive(x, /)
pow(x1, x2, /)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
real(x, /)
reciprocal(x, /)
remainder(x1, x2, /)
roll(x, /, shift, *, axis=None)
round(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
sign(x, /)
signbit(x, /)
sin(x, /)
sinh(x, /)
sort(x, /, *, axis=-1, descending=False, stable=True)
sqrt(x, /)
square(x, /)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
subtract(x1, x2, /)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
tan(x, /)
tanh(x, /)
tensordot(x1, x2, /, *, axes=2)
tile(x, repetitions, /)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
trunc(x, /)
unique_values(x, /)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
vecdot(x1, x2, /, *, axis=-1)
where(condition, x1, x2, /)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
fft.fft(x, /, *, n=None, axis=-1, norm='backward')
fft.ifft(x, /, *, n=None, axis=-1, norm='backward')
fft.rfft(x, /, *, n=None, axis=-1, norm='backward')
fft.irfft(x, /, *, n=None, axis=-1, norm='backward')
fft.hfft(x, /, *, n=None, axis=-1, norm='backward')
fft.ihfft(x, /, *, n=None, axis=-1, norm='backward')
fft.fftn(x, /, *, s=None, axes=None, norm='backward')
fft.ifftn(x, /, *, s=None, axes=None, norm='backward')
fft.rfftn(x, /, *, s=None, axes=None, norm='backward')
fft.irfftn(x, /, *, s=None, axes=None, norm='backward')
fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.fftshift(x, /, *, axes=None)
fft.ifftshift(x, /, *, axes=None)
linalg.cholesky(x, /, *, upper=False)
linalg.cross(x1, x2, /, *, axis=-1)
linalg.det(x, /)
linalg.diagonal(x, /, *, offset=0)
linalg.eigvalsh(x, /)
linalg.inv(x, /)
linalg.matmul(x1, x2, /)
linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')
linalg.matrix_power(x, n, /)
linalg.matrix_rank(x, /, *, rtol=None)
linalg.matrix_transpose(x, /)
linalg.outer(x1, x2, /)
linalg.pinv(x, /, *, rtol=None)
linalg.solve(x1, x2, /)
linalg.svdvals(x, /)
linalg.tensordot(x1, x2, /, *, axes=2)
linalg.trace(x, /, *, offset=0, dtype=None)
linalg.vecdot(x1, x2, /, *, axis=-1)
linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""

linalg = SimpleNamespace()
fft = SimpleNamespace()


def _place(name, function):
    function.__name__ = name
    part, _, last = name.rpartition(".")
    if part:
        setattr(globals()[part], last, function)
    else:
        globals()[name] = function


def _function(line):
    name, text = line[:line.index("(")], line[line.index("("):]
    signature = inspect.signature(eval(f"lambda {text[1:-1]}: None"))

    def function(*args, **options):
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        by_name = {p.name for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY}
        if name.endswith("tensordot"):
            by_name = set()
        return call(name, [v for k, v in bound.arguments.items() if k not in by_name],
                    {k: v for k, v in bound.arguments.items() if k in by_name})
    function.__signature__ = signature
    _place(name, function)


for _line in SIGNATURES.split("\n"):
    if _line:
        _function(_line)


def _several(name, fields, line):
    """A function with several results, by their names in the standard."""
    signature = inspect.signature(eval(f"lambda {line}: None"))
    kind = collections.namedtuple(name.split(".")[-1] + "_result", fields)

    def function(*args, **options):
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        by_name = {p.name for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY}
        return kind(*call(name, [v for k, v in bound.arguments.items() if k not in by_name],
                          {k: v for k, v in bound.arguments.items() if k in by_name}))
    function.__signature__ = signature
    _place(name, function)


_several("unique_all", "values indices inverse_indices counts", "x, /")
_several("unique_counts", "values counts", "x, /")
_several("unique_inverse", "values inverse_indices", "x, /")
_several("linalg.eigh", "eigenvalues eigenvectors", "x, /")
_several("linalg.qr", "Q R", "x, /, *, mode='reduced'")
_several("linalg.slogdet", "sign logabsdet", "x, /")
_several("linalg.svd", "U S Vh", "x, /, *, full_matrices=True")


def _tuple(results):
    return results if isinstance(results, tuple) else () if results is None else (results,)


def broadcast_arrays(*arrays):
    return list(_tuple(call("broadcast_arrays", list(arrays))))


def broadcast_shapes(*shapes):
    return tuple(call("broadcast_shapes", list(shapes)))


def meshgrid(*arrays, indexing="xy"):
    return list(_tuple(call("meshgrid", list(arrays), {"indexing": indexing})))


def nonzero(x, /):
    return _tuple(call("nonzero", [x]))


def unstack(x, /, *, axis=0):
    return _tuple(call("unstack", [x], {"axis": axis}))


def repeat(x, repeats, /, *, axis=None):
    return call("repeat_", [x, repeats], {"axis": axis})


def reshape(x, /, shape, *, copy=None):
    return call("reshape", [x, shape], {"copy": copy})


def concat(arrays, /, *, axis=0):
    return call("concat", [arrays], {"axis": "none" if axis is None else axis})


def astype(x, dtype, /, *, copy=True, device=None):
    return call("astype", [x, dtype], {"copy": copy, "device": device})


def isin(x1, x2, /, *, invert=False):
    return call("isin", [x1, x2], {"invert": invert})


def _dtype_of_numbers(values):
    """The dtype that Python's numbers have where none is named: of nested lists of one kind."""
    kinds = set()

    def visit(value):
        if isinstance(value, (list, tuple)):
            for part in value:
                visit(part)
        else:
            kinds.add(type(value))
    visit(values)
    if kinds == {builtins.bool}:
        return None
    if kinds and kinds <= {builtins.bool, int}:
        return int32
    return None


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    if isinstance(obj, numpy.ndarray):
        obj = from_numpy(obj)
    if not isinstance(obj, Array) and dtype is None:
        dtype = _dtype_of_numbers(obj)
    return call("asarray", [obj], {"dtype": dtype, "device": device, "copy": copy})


def full(shape, fill_value, *, dtype=None, device=None):
    return call("full", [shape, fill_value], {"dtype": dtype or _dtype_of_numbers(fill_value), "device": device})


def full_like(x, /, fill_value, *, dtype=None, device=None):
    return call("full_like", [x, fill_value], {"dtype": dtype, "device": device})


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    if stop is None:
        start, stop = 0, start
    if dtype is None and builtins.any(isinstance(value, float) for value in (start, stop, step)):
        dtype = float32
    return call("arange", [start, stop, step], {"dtype": dtype, "device": device})


def from_dlpack(x, /, *, device=None, copy=None):
    if not isinstance(x, Array):  # another process' memory cannot be shared
        x = from_numpy(numpy.from_dlpack(x))
    options = "".join(f"{k}={lua(v)}," for k, v in (("device", device), ("copy", copy)) if v is not None)
    return PROCESS.run(f"return np.from_dlpack({lua(x)}:dlpack(),{{{options}}})")


def can_cast(from_, to, /):
    return call("can_cast", [from_, to])


def isdtype(dtype, kind):
    return call("isdtype", [dtype, kind])


def result_type(*arrays_and_dtypes):
    return DTYPES[call("result_type", list(arrays_and_dtypes)).decode()]


def finfo(type, /):
    record = call("finfo", [type])
    return SimpleNamespace(**{k: record[k] for k in ("bits", "eps", "max", "min", "smallest_normal")},
                           dtype=DTYPES[record["dtype"].decode()])


def iinfo(type, /):
    record = call("iinfo", [type])
    return SimpleNamespace(**{k: record[k] for k in ("bits", "max", "min")}, dtype=DTYPES[record["dtype"].decode()])


class __array_namespace_info__:
    """The functions of np.__array_namespace_info__(), with dtypes as objects."""

    @staticmethod
    def _ask(what):
        return PROCESS.run(f"return np.__array_namespace_info__().{what}")

    def capabilities(self):
        return self._ask("capabilities()")

    def default_device(self):
        return self._ask("default_device()").decode()

    def devices(self):
        return [name.decode() for name in self._ask("devices()")]

    def default_dtypes(self, *, device=None):
        return {k: DTYPES[v.decode()] for k, v in self._ask("default_dtypes()").items()}

    def dtypes(self, *, device=None, kind=None):
        record = self._ask(f"dtypes({{kind={lua(kind)}}})" if kind else "dtypes()")
        return {DTYPES[v.decode()].name: DTYPES[v.decode()] for v in record.values() if v.decode() in DTYPES}
