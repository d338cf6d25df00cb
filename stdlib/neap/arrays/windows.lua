--- windows.lua: windows for spectra and filters. They are formulas over 0 … n-1, computed in f64 and rounded once.
local core = require "neap.core"
local create = require "neap.arrays.create"

local np = core.np
local bad_argument, options = core.bad_argument, core.options
local F64 = core.dtype_codes.f64

local known = { periodic = true, dtype = true }

--- Makes np.name(n, …, options) of value(i, last): a window of n points is symmetric, 0 … last = n - 1; a periodic one
-- is the first n points of that of n + 1, which repeats without a double point.
local function window(name, n, given, value)
    given = options(name, given, known)
    n = core.integer(name, 1, "n", n, 0)
    local dtype = core.dtypes[core.dtype(name, given.dtype, core.dtype_codes.f32)].name
    if core.is_size(n) then
        local last = given.periodic and n or math.max(n - 1, 1)
        return np.astype(np.where(np.less_equal(core.number(n), 1), 1, value(create.iota(n, F64), last)), dtype)
    end
    if n <= 1 then return np.ones({ n }, { dtype = dtype }) end
    return np.astype(value(create.iota(n, F64), given.periodic and n or n - 1), dtype)
end

--- {periodic}: true leaves out the last point of a window of n + 1, as a Fourier transform wants it; NumPy's are
-- symmetric

--- The sum of terms[k] * cos(2 pi (k - 1) i / last).
local function cosines(...)
    local terms = { ... }
    return function(i, last)
        local sum = terms[1]
        for k = 2, #terms do sum = np.cos(i * (2 * math.pi * (k - 1) / last)) * terms[k] + sum end
        return sum
    end
end

local hann = cosines(0.5, -0.5)

--- np.hanning(n, {periodic=false, dtype="f32"}), np.hann: the Hann window, 0.5 - 0.5 cos(2 pi i / (n - 1)).
--- > np.hanning(5), np.hann(4, {periodic=true})
-- [0.  0.5 1.  0.5 0. ]
-- [0.  0.5 1.  0.5]
np.hanning = function(n, given) return window("hanning", n, given, hann) end
np.hann = function(n, given) return window("hann", n, given, hann) end

local hamming = cosines(0.54, -0.46)

--- np.hamming(n, {periodic=false, dtype="f32"}): the Hamming window, 0.54 - 0.46 cos(2 pi i / (n - 1)).
--- > np.hamming(5)
-- [0.08 0.54 1.   0.54 0.08]
np.hamming = function(n, given) return window("hamming", n, given, hamming) end

local blackman = cosines(0.42, -0.5, 0.08)

--- np.blackman(n, {periodic=false, dtype="f32"}): the Blackman window, 0.42 - 0.5 cos(2 pi i / (n - 1)) + 0.08 cos(4 pi
-- i / (n - 1)).
--- > np.round(np.blackman(5), 3)
-- [-0.    0.34  1.    0.34 -0.  ]
np.blackman = function(n, given) return window("blackman", n, given, blackman) end

--- np.bartlett(n, {periodic=false, dtype="f32"}): the triangle from 0 over 1 to 0.
--- > np.bartlett(5)
-- [0.  0.5 1.  0.5 0. ]
np.bartlett = function(n, given)
    return window("bartlett", n, given, function(i, last) return 1 - np.abs(i * (2 / last) - 1) end)
end

local MOST_POINTS = 2 ^ 20 -- of a Kaiser window, which are computed one by one

--- The modified Bessel function I0 of Lua numbers: the series of (x / 2)^2k / k!^2, whose terms are positive.
local function bessel_i0(x)
    local sum, term, quarter, k = 1, 1, x * x / 4, 0
    repeat
        k = k + 1
        term = term * quarter / (k * k)
        sum = sum + term
    until term < sum * 1e-17 or sum == math.huge
    return sum
end

--- The same of an array of numbers, which may have any number of elements.
local function bessel_i0_of(x)
    local quarter = x * x / 4
    local ones, zeros = np.ones_like(x), np.zeros_like(x)
    return np.while_loop(function(state)
        return np.any(state.open)
    end, function(state)
        local k = state.k + 1
        local term = state.term * quarter / (k * k)
        local sum = np.where(state.open, state.sum + term, state.sum)
        local done = np.logical_or(np.less(term, sum * 1e-17), np.equal(sum, math.huge))
        return { k = k, sum = sum, term = term, open = np.logical_and(state.open, np.logical_not(done)) }
    end, { k = np.zeros({}, { dtype = "f64" }), sum = ones, term = ones, open = np.equal(zeros, 0) }).sum
end

--- np.kaiser(n, beta, {periodic=false, dtype="f32"}): the Kaiser window, I0(beta sqrt(1 - (2 i / (n - 1) - 1)^2)) /
-- I0(beta) with the modified Bessel function I0. beta is a number up to 700: the larger, the narrower; n is at most
-- 2^20, which is a condition of a program where n is a size value.
--- > np.kaiser(3, 5)
-- [0.03671089 1.         0.03671089]
np.kaiser = function(n, beta, given)
    n, beta = core.integer("kaiser", 1, "n", n, 0, MOST_POINTS), core.plain(beta)
    if type(beta) ~= "number" or beta ~= beta or math.abs(beta) > 700 then
        bad_argument("kaiser", 2, "beta", "a number from -700 to 700", beta)
    end
    return window("kaiser", n, given, function(i, last)
        local whole = bessel_i0(beta)
        if core.is_size(n) then
            local at = 2 * i / last - 1
            return bessel_i0_of(beta * np.sqrt(np.maximum(1 - at * at, 0))) / whole
        end
        return create.literal(core.fill(F64, { n }, function(data)
            for k = 0, n - 1 do
                local at = 2 * k / last - 1
                data[k] = bessel_i0(beta * math.sqrt(math.max(0, 1 - at * at))) / whole
            end
        end, "double *"))
    end)
end
