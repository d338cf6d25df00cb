--- resampling.lua: signals at other sampling rates: np.signal.upfirdn, resample_poly, resample, decimate.

--- {axis}: the axis along which the signal runs; by default the last

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local design = require "neap.signal.design"
local filters = require "neap.signal.filters"
local signals = require "neap.signal.signals"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument
local shape_of, cut, join = core.shape_of, shape.cut, shape.join

local resampling = {}

--- Filter h and signal x as floats that meet, x's axis moved to the end, and the half.
local function meeting(name, h, x, axis)
    local half
    half, h, x = operands.floats_all("signal." .. name, nil, 2, h, x)
    if core.ndim(h) ~= 1 or shape_of(h)[1] == 0 then
        raise("signal." .. name, "the filter must be 1-d, with elements; got shape %s", core.shape_text(h))
    end
    x, axis = signals.of(name, 2, x, axis)
    return h, x, axis, half
end

--- np.signal.upfirdn(h, x, {up=1, down=1, axis=-1}): x with up - 1 zeros between its elements, filtered by the
-- coefficients h, of which every element `down` is kept and computed: n elements and m coefficients give ((n - 1) up +
-- m) / down elements, rounded up.
--- up: how many elements an element becomes
--- down: how many elements become an element
--- > np.signal.upfirdn({1, 1}, np.array{1, 2, 3}, {up=2})
-- [1. 1. 2. 2. 3. 3.]
function resampling.upfirdn(h, x, given)
    local o = core.options("signal.upfirdn", given, { up = true, down = true, axis = true })
    local up = o.up == nil and 1 or signals.count("upfirdn", "up", o.up, 1)
    local down = o.down == nil and 1 or signals.count("upfirdn", "down", o.down, 1)
    local axis, half
    h, x, axis, half = meeting("upfirdn", h, x, o.axis)
    local taps = shape_of(h)[1]
    local y = signals.slid(x, np.flip(h), taps - 1, taps - 1, down, up)
    return operands.narrow(np.moveaxis(y, -1, axis), half)
end

local function divisor(a, b)
    while b ~= 0 do a, b = b, a % b end
    return a
end

--- The level that is taken from a signal (…, n) before filtering and added afterwards, of n elements: a function of the
-- positions, in elements.
local LEVELS = {
    mean = function(x) return np.mean(x, { axis = -1, keepdims = true }) end,
    median = function(x) return np.median(x, { axis = -1, keepdims = true }) end,
    minimum = function(x) return np.min(x, { axis = -1, keepdims = true }) end,
    maximum = function(x) return np.max(x, { axis = -1, keepdims = true }) end,
    line = function(x, at)
        local n, last = shape_of(x)[core.ndim(x)], core.ndim(x) - 1
        local first = cut(x, last, 0, 1)
        return first + (cut(x, last, n - 1, n) - first) / math.max(n - 1, 1) * np.astype(at, core.dtype_of(x).part)
    end,
}

--- The lowpass of resampling, as many coefficients as up and down ask for, or the given coefficients.
local function lowpass(window, up, down)
    if core.is_array(window) then return window end
    local most = math.max(up, down)
    return design.firwin(2 * 10 * most + 1, 1 / most, { window = window == nil and { "kaiser", 5 } or window })
end

--- np.signal.resample_poly(x, up, down, {axis=-1, window={"kaiser", 5}, padtype="constant"}): x at up / down times its
-- sampling rate: n up / down elements, rounded up, in x's dtype. Between are zeros at first, which a lowpass of finite
-- length fills, as np.signal.upfirdn; the first element stays in place. up and down
-- are divided by their greatest common divisor. SciPy's axis is 0 by default.
--- window: the window of the lowpass, np.signal.firwin of 20 times the larger of up and down; or an array: the
-- coefficients, an odd number
--- padtype: beyond the ends the signal is 0 with "constant"; or the "mean", "median", "minimum" or "maximum" of all, or
-- the "line" from the first element to the last
--- > np.round(np.signal.resample_poly(np.array{1, 1, 1, 1}, 2, 1, {padtype="line"}), 4)
-- [1. 1. 1. 1. 1. 1. 1. 1.]
--- > #np.signal.resample_poly(np.arange(10), 1, 4)
-- 3
function resampling.resample_poly(x, up, down, given)
    local name, full = "resample_poly", "signal.resample_poly"
    local o = core.options(full, given, { axis = true, window = true, padtype = true })
    up, down = core.integer(full, 2, "up", up, 1, 2 ^ 20), core.integer(full, 3, "down", down, 1, 2 ^ 20)
    local padtype = o.padtype == nil and "constant" or o.padtype
    if padtype ~= "constant" and not LEVELS[padtype] then
        bad_argument(full, nil, "padtype", '"constant", "mean", "median", "minimum", "maximum" or "line"', padtype)
    end
    local common = divisor(up, down)
    up, down = up / common, down / common
    x = core.coerce(full, 1, x)
    if up == 1 and down == 1 then return x end
    local axis, half
    x, half = operands.wide(x)
    x, axis = signals.of(name, 1, x, o.axis)
    local h = lowpass(o.window, up, down)
    if core.ndim(h) ~= 1 or h.size % 2 == 0 then
        raise(full, "the coefficients of a lowpass are an odd number, got shape %s", core.shape_text(h))
    end
    h = np.astype(h, core.dtype_of(x).part) * up
    local n, last, side = shape_of(x)[core.ndim(x)], core.ndim(x) - 1, (h.size - 1) / 2
    local level, whole, code = LEVELS[padtype], x, core.dtype_codes.f64
    if level then x = x - level(x, create.iota(n, code)) end
    -- element 0 of the result stands in the middle of the filter
    local kept = math.ceil(n * up / down)
    local reach = (kept - 1) * down + side - (n - 1) * up -- how far behind the last element the filter reaches
    local y = signals.slid(x, np.flip(h), side, math.max(reach, 0), down, up)
    y = cut(y, last, 0, kept)
    if level then y = y + level(whole, create.iota(kept, code) * (down / up)) end
    return operands.narrow(np.moveaxis(y, -1, axis), half)
end

-- ---- By Fourier transforms ------------------------------------------------------------------------------------------

--- The transform of `num` elements with the frequencies of n real elements, as far as both have frequencies.
-- The highest of an even number of elements stands for two frequencies, k and -k.
local function real_spectrum(x, n, num)
    local few, last = math.min(n, num), core.ndim(x) - 1
    local z = np.fft.rfft(x)
    local half = math.floor(few / 2)
    if few % 2 == 1 or n == num then return cut(z, last, 0, half + 1) end
    return join({ cut(z, last, 0, half), cut(z, last, half, half + 1) * (num < n and 2 or 0.5) }, last)
end

--- The same of complex elements, all `num` of them.
local function complex_spectrum(x, n, num)
    local few, last = math.min(n, num), core.ndim(x) - 1
    local z = np.fft.fft(x)
    if n == num then return z end
    local half = math.floor(few / 2)
    local dims = shape_of(z)
    local function zeros(count)
        dims[last + 1] = count
        return np.zeros(dims, { dtype = z.dtype })
    end
    local low, high = cut(z, last, 0, math.ceil(few / 2)), cut(z, last, n - math.ceil(few / 2) + 1, n)
    if few % 2 == 1 then return join({ low, zeros(num - few), high }, last) end
    if num < n then
        return join({ low, cut(z, last, half, half + 1) + cut(z, last, n - half, n - half + 1), high }, last)
    end
    local middle = cut(z, last, half, half + 1) * 0.5
    return join({ low, middle, zeros(num - few - 1), middle, high }, last)
end

--- np.signal.resample(x, num, {axis=-1}): a signal of num elements over the same time, with x's frequencies: exact for
-- a periodic signal; otherwise np.signal.resample_poly has better ends. SciPy's axis is 0 by default.
--- > np.round(np.signal.resample(np.array{1, 0, -1, 0}, 8), 4)
-- [ 1.      0.7071  0.     -0.7071 -1.     -0.7071  0.      0.7071]
function resampling.resample(x, num, given)
    local o = core.options("signal.resample", given, { axis = true })
    num = core.integer("signal.resample", 2, "num", num, 1)
    local axis, half
    x, half = operands.wide(core.coerce("signal.resample", 1, x))
    x, axis = signals.of("resample", 1, x, o.axis)
    local n, y = shape_of(x)[core.ndim(x)]
    if core.dtype_of(x).kind == "c" then
        y = np.fft.ifft(complex_spectrum(x, n, num))
    else
        y = np.fft.irfft(real_spectrum(x, n, num), { n = num })
    end
    return operands.narrow(np.moveaxis(y * (num / n), -1, axis), half)
end

-- ---- Fewer elements -------------------------------------------------------------------------------------------------

--- np.signal.decimate(x, q, {n=…, ftype="iir", axis=-1, zero_phase=true}): every q-th element of x, after a lowpass has
-- taken the frequencies that are too high. Computed in f64; the result has x's dtype.
--- n: the order of the lowpass; by default 8, of "fir" 20 q
--- ftype: "iir": np.signal.cheby1 with a ripple of 0.05 decibels; "fir": np.signal.firwin
--- zero_phase: false: the lowpass runs forth only, and so makes the signal come late
--- > #np.signal.decimate(np.ones(40), 4)
-- 10
function resampling.decimate(x, q, given)
    local name = "decimate"
    local o = core.options("signal.decimate", given, { n = true, ftype = true, axis = true, zero_phase = true })
    q = core.integer("signal.decimate", 2, "q", q, 1, 2 ^ 20)
    local ftype, zero = o.ftype == nil and "iir" or o.ftype, o.zero_phase ~= false
    if ftype ~= "iir" and ftype ~= "fir" then
        bad_argument("signal.decimate", nil, "ftype", '"iir" or "fir"', ftype)
    end
    if o.zero_phase ~= nil and type(o.zero_phase) ~= "boolean" then
        bad_argument("signal.decimate", nil, "zero_phase", "a boolean", o.zero_phase)
    end
    local order = o.n == nil and (ftype == "iir" and 8 or 20 * q) or signals.count(name, "n", o.n, 1)
    x = core.coerce("signal.decimate", 1, x)
    local dtype = core.dtype_of(x)
    local result, axis = dtype.inexact and dtype.name or dtype.real
    x, axis = signals.of(name, 1, np.astype(x, dtype.kind == "c" and "c128" or "f64"), o.axis)
    local n, last = shape_of(x)[core.ndim(x)], core.ndim(x) - 1
    local y
    if ftype == "iir" then
        local sos = design.cheby1(order, 0.05, 0.8 / q, { output = "sos" })
        local padlen = 3 * (order + 1)
        y = zero and filters.sosfiltfilt(sos, x, { padlen = padlen }) or filters.sosfilt(sos, x)
        y = core.index(y, { np.ellipsis, { 0, n, q } })
    else
        local h = design.firwin(order + 1, 1 / q)
        if zero then
            y = resampling.resample_poly(x, 1, q, { window = h })
        else
            y = cut(resampling.upfirdn(h, x, { down = q }), last, 0, math.ceil(n / q))
        end
    end
    return np.astype(np.moveaxis(y, -1, axis), result)
end

return resampling
