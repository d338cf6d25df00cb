--- elementwise.lua: functions of elements that are made of op rows: parts of numbers, angles, rounding to decimals,
-- bits.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, is_array, type = core.shape_of, core.is_array, type

local real, floats_all = operands.real, operands.floats_all

-- ---- Quotients and parts --------------------------------------------------------------------------------------------

--- np.divmod(a, b) -> quotient, remainder: np.floor_divide and np.remainder: two results.
--- > np.divmod(np.array{7, -7}, 3)
-- [ 2. -3.]
-- [1. 2.]
define("divmod", function(a, b)
    return np.floor_divide(a, b), np.remainder(a, b)
end)

--- np.modf(x) -> fraction, whole: the fraction and the whole part of x, both with its sign: two results.
--- > np.modf(np.array{1.5, -2.25})
-- [ 0.5  -0.25]
-- [ 1. -2.]
define("modf", function(x)
    x = real("modf", 1, x)
    local whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0, x - whole), x), whole
end)

--- np.frexp(x) -> mantissa, exponent: x as mantissa * 2 ^ exponent with a mantissa in [0.5, 1), exactly, and an
-- exponent of dtype i32: two results. 0, infinities and NaN are their own mantissa, with the exponent 0.
--- > np.frexp(np.array{8, 0.75, 0})
-- [0.5  0.75 0.  ]
-- [4 0 0]
define("frexp", function(x)
    x = real("frexp", 1, x)
    local size = np.abs(x)
    local plain = np.logical_and(np.isfinite(x), np.greater(size, 0))
    -- The logarithm is rounded: the exponent may be off by one.
    local guess = np.floor(np.log2(np.stop_gradient(np.where(plain, size, 1)))) + 1
    local m = np.ldexp(np.where(plain, size, 0.5), -guess)
    guess = np.where(np.greater_equal(m, 1), guess + 1, np.where(np.less(m, 0.5), guess - 1, guess))
    local exponent = np.where(plain, guess, 0)
    return np.where(plain, np.ldexp(x, -exponent), x), np.astype(exponent, "i32")
end)

--- np.float_power(a, b): a to the power b as real numbers: integers are f32 (of 64 bits f64), as in JAX; NumPy computes
-- in f64.
--- > np.float_power(np.arange(1, 4), -1)
-- [1.         0.5        0.33333334]
define("float_power", function(a, b)
    local narrow
    narrow, a, b = floats_all("float_power", nil, 2, a, b)
    return operands.narrow(np.pow(a, b), narrow)
end)

local nextafter = np.nextafter

--- np.nextafter(a, b): … Of halves, in their dtype. The op knows the neighbours in f32, which round back to where they
-- came from; the bits of halves count magnitudes up, with the sign above.
define("nextafter", function(a, b, extra)
    if extra ~= nil then core.too_many("nextafter", 2, extra) end
    local halves = is_array(a) and core.dtype_of(a).half or is_array(b) and core.dtype_of(b).half
    if not halves then return nextafter(a, b) end
    a, b = operands.meet("nextafter", 2, a, b)
    local half = np.result_type(a, b)
    if not core.dtypes[core.dtype_codes[half]].half then return nextafter(a, b) end
    a, b = np.astype(a, half), np.astype(b, half)
    local bits = np.bitcast(a, "i16")
    local away = np.equal(np.less(a, b), np.greater_equal(bits, 0))
    local moved = np.where(np.equal(a, 0), np.where(np.less(b, 0), -32767, 1), bits + np.where(away, 1, -1))
    local stays = np.logical_or(np.equal(a, b), np.isnan(a + b))
    return np.where(stays, np.where(np.isnan(a), a, b), np.bitcast(np.astype(moved, "i16"), half))
end)

--- np.spacing(x): the distance from x to the next number away from 0, with x's sign; NaN for infinities.
--- > np.spacing(np.array{1, -2})
-- [ 1.1920929e-07 -2.3841858e-07]
define("spacing", function(x)
    x = np.stop_gradient(real("spacing", 1, x))
    local size = np.abs(x)
    local gap = np.where(np.isinf(x), np.nan, np.nextafter(size, np.inf) - size)
    return np.where(np.less(x, 0), -gap, gap)
end)

-- ---- Rounding -------------------------------------------------------------------------------------------------------

--- np.rint(x): the nearest integer as a real number, halves to the even one; integers become real numbers.
--- > np.rint(np.array{0.5, 1.5, -2.4})
-- [ 0.  2. -2.]
define("rint", function(x)
    return np.round(real("rint", 1, x))
end)

--- np.fix(x): x without its fraction: np.trunc(x).
--- > np.fix(np.array{1.7, -1.7})
-- [ 1. -1.]
define("fix", function(x) return np.trunc(x) end)

local round = np.round

--- Integers rounded to `digits` digits before the point, halves to the even one, by whole arithmetic.
local function tens(x, dtype, digits)
    if digits > 19 or 10 ^ digits > dtype.highest * 2 then return np.zeros_like(x) end
    -- In twice the width: half a power may not fit. Of 64 bits the largest power that fits is more than half the range.
    local wide = dtype.bytes < 8 and np.astype(x, "i64") or x
    if 10 ^ digits > (dtype.bytes < 8 and 2 ^ 62 or dtype.highest) then return np.zeros_like(x) end
    local power = dtype.kind == "u" and 1ULL or 1LL
    for _ = 1, digits do power = power * 10 end
    power = np.array(power, { dtype = core.dtype_of(wide).name })
    local quotient = np.floor_divide(wide, power)
    local rest = wide - quotient * power
    local over = rest - (power - rest) -- below 0, 0 or above by the side of the middle; it fits, both being positive
    if dtype.kind == "u" and dtype.bytes == 8 then
        over = np.where(np.greater(rest, power - rest), 1, np.where(np.equal(rest, power - rest), 0, -1))
    end
    local odd = np.not_equal(np.bitwise_and(quotient, 1), 0)
    local up = np.logical_or(np.greater(over, 0), np.logical_and(np.equal(over, 0), odd))
    return np.astype((quotient + np.astype(up, core.dtype_of(wide).name)) * power, dtype.name)
end

--- np.round(x, decimals), np.around: x rounded to decimals, 0 without it; halves to the even one. Negative decimals
-- round tens, hundreds, … As in NumPy, x is multiplied by a power of 10, rounded and divided, each exactly rounded.
--- > np.round(np.array{0.5, 1.5, 2.4}), np.round(np.array{1.234, 5.678}, 2)
-- [0. 2. 2.]
-- [1.23 5.68]
--- > np.around(np.array({125, 175}, {dtype="i32"}), -1)
-- [120 180]
local around
function around(x, decimals, extra)
    if extra ~= nil then core.too_many("round", 2, extra) end
    x = coerce("round", 1, x)
    if type(decimals) == "table" then decimals = options("round", decimals, { decimals = true }).decimals end
    decimals = core.integer("round", 2, "decimals", decimals == nil and 0 or decimals)
    local dtype = core.dtype_of(x)
    if dtype.kind == "c" then return np.complex(around(np.real(x), decimals), around(np.imag(x), decimals)) end
    if decimals == 0 or dtype.kind ~= "f" and decimals > 0 then return round(x) end
    if dtype.name == "bool" then
        core.raise("round", "option 'decimals' must be 0 or more for an array of bools, got %d", decimals)
    end
    if dtype.kind ~= "f" then return tens(x, dtype, -decimals) end
    local half
    x, half = operands.wide(np.stop_gradient(x))
    local power = 10 ^ math.min(math.abs(decimals), 400)
    local moved = decimals > 0 and round(x * power) / power or round(x / power) * power
    return operands.narrow(np.where(np.isfinite(moved), moved, x), half)
end
define("round", around)
define("around", around)

-- ---- Choosing -------------------------------------------------------------------------------------------------------

for name, compare in pairs { isposinf = np.greater, isneginf = np.less } do
    --- np.isposinf(x), np.isneginf(x): whether elements are infinity, or minus infinity.
    --- > np.isposinf(np.array{np.inf, -np.inf, 1}), np.isneginf(np.array{np.inf, -np.inf, 1})
    -- [ True False False]
    -- [False  True False]
    define(name, function(x)
        x = coerce(name, 1, x)
        return np.logical_and(np.isinf(x), compare(x, 0))
    end)
end

--- np.heaviside(x, h): 0 below 0, h at 0, 1 above; NaN for NaN.
--- > np.heaviside(np.array{-1, 0, 2}, 0.5)
-- [0.  0.5 1. ]
define("heaviside", function(x, h, extra)
    if extra ~= nil then core.too_many("heaviside", 2, extra) end
    local narrow
    narrow, x, h = floats_all("heaviside", nil, 2, x, h)
    local step = np.where(np.equal(x, 0), h, np.astype(np.greater(x, 0), core.dtype_of(x).name))
    return operands.narrow(np.where(np.isnan(x), x, step), narrow)
end)

--- np.lerp(a, b, t): a + t * (b - a): from a at t = 0 to b at t = 1, which are exactly reached, as in PyTorch. Of
-- complex numbers |t| says which end is near.
--- > np.lerp(np.array{0, 10}, np.array{10, 20}, 0.25)
-- [ 2.5 12.5]
define("lerp", function(a, b, t)
    local narrow
    narrow, a, b, t = floats_all("lerp", nil, 3, a, b, t)
    local rise, size = b - a, core.dtype_of(t).kind == "c" and np.abs(t) or t
    local value = np.where(np.less(size, 0.5), a + t * rise, b - (1 - t) * rise)
    return operands.narrow(value, narrow)
end)

--- np.logaddexp2(a, b): the logarithm to base 2 of 2^a + 2^b without overflow.
--- > np.logaddexp2(np.array{0, 1000}, np.array{0, 1000})
-- [1.000e+00 1.001e+03]
define("logaddexp2", function(a, b)
    local narrow
    narrow, a, b = floats_all("logaddexp2", nil, 2, a, b)
    -- Either order is right at ties, and has all derivatives; the same infinity has no gap.
    local first, ends = np.greater_equal(a, b), np.logical_and(np.equal(a, b), np.isinf(a))
    local high = np.where(ends, a * 0.5 + b * 0.5, np.where(first, a, b))
    local gap = np.where(ends, 0, np.where(first, b - a, a - b))
    return operands.narrow(high + np.log1p(np.exp2(gap)) * (1 / math.log(2)), narrow)
end)

-- ---- Angles ---------------------------------------------------------------------------------------------------------

for name, factor in pairs { degrees = 180 / math.pi, radians = math.pi / 180 } do
    --- np.degrees(x), np.rad2deg(x), np.radians(x), np.deg2rad(x): radians as degrees (the first two), or degrees as
    -- radians.
    --- > np.degrees(np.array{np.pi, 1}), np.rad2deg(np.array(0))
    -- [180.       57.29578]
    -- 0.0
    --- > np.radians(np.array{180, 90}), np.deg2rad(np.array(0))
    -- [3.1415927 1.5707964]
    -- 0.0
    local function convert(x) return real(name, 1, x) * factor end
    define(name, convert)
    define(name == "degrees" and "rad2deg" or "deg2rad", convert)
end

--- What np.unwrap gives behind the first one of integers along an axis. Sizes of jumps are numbers of u64 and what is
-- left of them after whole periods of i64, so nothing is lost of any dtype.
local function unwrapped(x, first, behind, before, period, discont, axis)
    local dtype = core.dtype_of(x)
    local a, b, half = before(x), behind(x), math.floor(period / 2)
    local rises = np.greater(b, a)
    local size = np.where(rises, np.astype(b, "u64") - np.astype(a, "u64"), np.astype(a, "u64") - np.astype(b, "u64"))
    local rest = np.astype(np.remainder(size, np.array(period, { dtype = "u64" })), "i64")
    rest = np.where(rises, rest, -rest)
    local near = np.remainder(rest + half, period) - half
    if period % 2 == 0 then near = np.where(np.logical_and(np.equal(near, -half), rises), half, near) end
    local change = np.where(np.less(size, discont), np.where(rises, 1, -1) * np.astype(size, "i64"), near)
    local sums = np.cumsum(change, { axis = axis })
    return np.astype(np.astype(first, "i64") + sums, dtype.name)
end

--- np.unwrap(x, {discont=…, axis=-1, period=2*np.pi}): x with whole periods added, so that neighbours along an axis
-- differ by at most half a period: a phase without jumps.
--- discont: jumps up to this stay as they are; half the period without it, and never less
--- period: 2 pi without it
--- > np.unwrap(np.array{0, 3, 6, 2}, {period=4})
-- [ 0. -1. -2. -2.]
define("unwrap", function(x, given)
    local half_dtype
    x, half_dtype = operands.wide(coerce("unwrap", 1, x))
    local o = options("unwrap", given, { discont = true, axis = true, period = true })
    local period = o.period == nil and 2 * math.pi or core.plain(o.period)
    if type(period) ~= "number" then bad_argument("unwrap", nil, "period", "a number", period) end
    local discont = o.discont == nil and period / 2 or core.plain(o.discont)
    if type(discont) ~= "number" then bad_argument("unwrap", nil, "discont", "a number", discont) end
    local axis = core.axis("unwrap", o.axis == nil and -1 or o.axis, core.ndim(x))
    if core.dtype_of(x).kind ~= "f" and period % 1 ~= 0 then x = real("unwrap", 1, x) end
    local n = shape_of(x)[axis + 1]
    if not core.is_size(n) and n < 2 then return operands.narrow(x, half_dtype) end
    local function behind(y) return shape.cut(y, axis, 1, n) end
    local function before(y) return shape.cut(y, axis, 0, n - 1) end
    local first = shape.cut(x, axis, 0, 1)
    local result
    if core.dtype_of(x).kind == "f" then
        local jump, half = behind(x) - before(x), period / 2
        local near = np.remainder(jump + half, period) - half
        near = np.where(np.logical_and(np.equal(near, -half), np.greater(jump, 0)), half, near)
        local step = np.where(np.less(np.abs(jump), discont), 0, near - jump)
        result = behind(x) + np.cumsum(step, { axis = axis })
    else
        result = unwrapped(x, first, behind, before, period, discont, axis)
    end
    return operands.narrow(shape.join({ first, result }, axis), half_dtype)
end)

-- ---- Bits -----------------------------------------------------------------------------------------------------------

local bitwise_count = np.bitwise_count

--- np.bitwise_count(x): how many bits of the magnitude of x are set, as u8.
--- > np.bitwise_count(np.array({0, 7, -7, 255}, {dtype="i32"}))
-- [0 3 3 8]
define("bitwise_count", function(x, extra)
    if extra ~= nil then core.too_many("bitwise_count", 1, extra) end
    x = coerce("bitwise_count", 1, x)
    return np.astype(core.dtype_of(x).kind == "b" and x or bitwise_count(x), "u8")
end)

--- 0, …, 7 or 7, …, 0: by which each bit of a byte is shifted.
local function bit_places(name, order)
    if order ~= nil and order ~= "big" and order ~= "little" then
        bad_argument(name, nil, "bitorder", '"big" or "little"', order)
    end
    local places = np.arange(8, { dtype = "u8" })
    return order == "little" and places or np.flip(places)
end

--- x and the axis (from 0) of its bits or bytes, moved to the end.
local function bits_last(name, x, axis)
    if axis == nil then return np.ravel(x), 0 end
    axis = core.axis(name, axis, core.ndim(x))
    return np.moveaxis(x, axis, -1), axis
end

--- np.packbits(x, {axis=…, bitorder="big"}): eight elements of x, each a bit (whether it is not 0), in one byte (u8);
-- zeros fill the last one.
--- axis: along which elements are packed; the flattened array without it
--- bitorder: "big": the first element is the bit of 128; "little": of 1
--- > np.packbits(np.array{true, false, true}), np.packbits(np.array({1, 0, 1}, {dtype="u8"}), {bitorder="little"})
-- [160]
-- [5]
define("packbits", function(x, given)
    local o = options("packbits", given, { axis = true, bitorder = true })
    x = coerce("packbits", 1, x)
    local places = bit_places("packbits", o.bitorder)
    if core.dtype_of(x).inexact then
        raise("packbits", "takes bools or integers, got dtype %s", core.dtype_of(x).name)
    end
    local bits, axis = bits_last("packbits", np.not_equal(x, 0), o.axis)
    local dims = shape_of(bits)
    local ndim, n = #dims, dims[#dims]
    local bytes, lo, hi, interior = math.ceil(n / 8), {}, {}, {}
    for k = 1, ndim do lo[k], hi[k], interior[k] = 0, k == ndim and bytes * 8 - n or 0, 0 end
    bits = np.astype(shape.pad(bits, core.number(0, core.dtype_codes.bool), lo, hi, interior), "u8")
    dims[ndim], dims[ndim + 1] = bytes, 8
    local packed = np.sum(np.bitwise_left_shift(shape.reshape(bits, dims), places), { axis = -1 })
    return np.moveaxis(np.astype(packed, "u8"), -1, axis)
end)

--- np.unpackbits(x, {axis=…, count=…, bitorder="big"}): the bits of bytes (u8), each as an element 0 or 1 (u8).
--- axis: along which bytes are taken apart; the flattened array without it
--- count: how many bits to give; a negative number leaves out so many at the end
--- bitorder: "big": the bit of 128 comes first; "little": that of 1
--- > np.unpackbits(np.array({160}, {dtype="u8"}))
-- [1 0 1 0 0 0 0 0]
--- > np.unpackbits(np.array({5}, {dtype="u8"}), {bitorder="little", count=3})
-- [1 0 1]
define("unpackbits", function(x, given)
    local o = options("unpackbits", given, { axis = true, count = true, bitorder = true })
    x = coerce("unpackbits", 1, x)
    local places = bit_places("unpackbits", o.bitorder)
    if core.dtype_of(x).name ~= "u8" then raise("unpackbits", "takes u8, got dtype %s", core.dtype_of(x).name) end
    local axis
    x, axis = bits_last("unpackbits", x, o.axis)
    local dims = shape_of(x)
    local ndim = #dims
    local n = dims[ndim] * 8
    dims[ndim + 1] = 1
    x = np.bitwise_and(np.bitwise_right_shift(shape.reshape(x, dims), places), 1)
    dims[ndim], dims[ndim + 1] = n, nil
    x = shape.reshape(x, dims)
    if o.count ~= nil then
        local count = core.integer("unpackbits", nil, "count", o.count)
        if count < 0 then count = n + count end
        if count < 0 then raise("unpackbits", "count leaves out more than the %d bits", n) end
        local unknown = core.is_size(n) -- which one is greater
        if unknown or count > n then
            local lo, hi, interior = {}, {}, {}
            for k = 1, ndim do lo[k], hi[k], interior[k] = 0, k == ndim and math.max(count - n, 0) or 0, 0 end
            x = shape.pad(x, core.number(0, core.dtype_codes.u8), lo, hi, interior)
        end
        if unknown or count <= n then x = shape.cut(x, ndim - 1, 0, count) end
    end
    return np.moveaxis(x, -1, axis)
end)

-- ---- Digits ---------------------------------------------------------------------------------------------------------

local DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

--- An integer from 0 up in a base.
local function digits(n, base)
    local text = ""
    repeat
        local digit = n % base
        text, n = DIGITS:sub(digit + 1, digit + 1) .. text, (n - digit) / base
    until n == 0
    return text
end

--- np.base_repr(n, base, padding) -> string: the digits of an integer in a base from 2 (the one without it) to 36, with
-- so many zeros in front.
--- > np.base_repr(10), np.base_repr(-255, 16), np.base_repr(3, 2, 2)
-- 1010
-- -FF
-- 0011
function np.base_repr(n, base, padding)
    n = core.integer("base_repr", 1, "n", n)
    base = core.integer("base_repr", 2, "base", base == nil and 2 or base, 2, 36)
    padding = core.integer("base_repr", 3, "padding", padding == nil and 0 or padding, 0, 10000)
    local text = ("0"):rep(padding) .. (n == 0 and padding > 0 and "" or digits(math.abs(n), base))
    return n < 0 and "-" .. text or text
end

--- np.binary_repr(n, width) -> string: the bits of an integer; with a width so many, and those of the two's complement
-- of one below 0.
--- > np.binary_repr(5), np.binary_repr(-3), np.binary_repr(-3, 5)
-- 101
-- -11
-- 11101
function np.binary_repr(n, width)
    n = core.integer("binary_repr", 1, "n", n)
    if width == nil then return np.base_repr(n) end
    width = core.integer("binary_repr", 2, "width", width, 0, 10000)
    -- Of a number below 0 the bits of -n - 1, exchanged, behind ones: a difference from a power of two may not fit.
    local bits = digits(n < 0 and -n - 1 or n, 2)
    if n < 0 and -n - 1 == 0 then bits = "" end
    if #bits + (n < 0 and 1 or 0) > width then
        raise("binary_repr", "%d does not fit into %d bits", n, width)
    end
    if n >= 0 then return ("0"):rep(width - #bits) .. bits end
    return ("1"):rep(width - #bits) .. bits:gsub("[01]", { ["0"] = "1", ["1"] = "0" })
end
