--- smoothing_test.lua: contracts of what np.signal smooths, resamples and finds (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local of, finish = require "tests.lib.contracts" "smoothing"

local signal = np.signal
local ALL = "where one element is no number those near it are none, or all, as sums of products are"
local NEAR = { f64 = "scaled 1e-12", f32 = "scaled 1e-5", f16 = "scaled 2e-3", bf16 = "scaled 1e-2",
               c128 = "scaled 1e-12", c64 = "scaled 1e-5" }

-- ---- Smoothing ------------------------------------------------------------------------------------------------------

of("np.signal.savgol_filter", {
    args = { "x" },
    shapes = { { { 11 } }, { { 2, 9 } }, { { 7 } } },
    accepts = "floats i32 u8 complex",
    options = { { window = 5, degree = 2 }, { window = 7, degree = 3, deriv = 1, delta = 0.5 },
                { window = 5, degree = 2, mode = "mirror" }, { window = 3, degree = 1, mode = "wrap" },
                { window = 5, degree = 3, mode = "nearest", deriv = 2 }, { window = 1, degree = 0 },
                { window = 5, degree = 0, mode = "constant", cval = 2 }, { window = 5, degree = 2, axis = -1 } },
    call = function(f, o, x)
        return f(x, o.window, o.degree, { deriv = o.deriv, delta = o.delta, mode = o.mode, cval = o.cval,
                                          axis = o.axis, nonsense = o.nonsense })
    end,
    oracle = "smoothed(x, o)",
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL },
    refuses = {
        { "must be odd", function() signal.savgol_filter(np.ones(9), 4, 2) end },
        { "no best polynomial", function() signal.savgol_filter(np.ones(9), 3, 3) end },
        { "shorter than the window", function() signal.savgol_filter(np.ones(3), 5, 2) end },
        { "mode", function() signal.savgol_filter(np.ones(9), 5, 2, { mode = "edge" }) end },
        { "0%-d array", function() signal.savgol_filter(1, 5, 2) end },
    },
    also = {
        ["np.signal.savgol_filter: a long window of high degree keeps its digits"] = function()
            local t = np.linspace(-1, 1, 101, { dtype = "f64" })
            local y = signal.savgol_filter(t ^ 9, 61, 9)
            check.ok(np.max(np.abs(y - t ^ 9)):item() < 1e-10)
            y = signal.savgol_filter(t ^ 9, 101, 60)
            check.ok(np.max(np.abs(y - t ^ 9)):item() < 1e-4)
        end,
    },
})
of("np.signal.medfilt", {
    args = { "x" },
    shapes = { { { 7 } }, { { 4, 5 } }, { { 2 } } },
    accepts = "floats i32 u8",
    options = { {}, { kernel = 5 }, { kernel = 1 } },
    call = function(f, o, x)
        if o.nonsense then return f(x, o) end
        return f(x, o.kernel)
    end,
    oracle = "median_of(x, o.get('kernel', 3))",
    gives = "same",
    within = { f64 = "exact", f32 = "exact", f16 = "ulp 1", bf16 = "ulp 1" },
    special = false,
    without = { special = "medians of what has no order are another system's accident",
                sizes = "the window has a number for each axis" },
    refuses = {
        { "must be odd", function() signal.medfilt(np.ones(5), 2) end },
        { "2 extents of a window for 1", function() signal.medfilt(np.ones(5), { 3, 3 }) end },
        { "no order", function() signal.medfilt(np.complex(np.ones(5), 0)) end },
    },
})
of("np.signal.hilbert", {
    args = { "x" },
    shapes = { { { 8 } }, { { 2, 7 } }, { { 1 } } },
    accepts = "floats i32 u8",
    options = { {}, { N = 10 }, { N = 5 }, { axis = 0 } },
    oracle = "scipy.signal.hilbert(floats(x), **o)",
    gives = function(dtype) return np.result_type(dtype, 0.5) == "f64" and "c128" or "c64" end,
    within = { c128 = "scaled 1e-13", c64 = "scaled 4e-6" },
    vmapped = "scaled 4e-6", divided = "scaled 4e-6", special = false,
    without = { special = ALL },
    refuses = { { "takes real numbers", function() signal.hilbert(np.complex(np.ones(4), 1)) end } },
})

-- ---- Other rates ----------------------------------------------------------------------------------------------------

of("np.signal.upfirdn", {
    args = { "h", "x" },
    shapes = { { { 5 }, { 7 } }, { { 4 }, { 2, 6 } }, { { 1 }, { 3 } } },
    accepts = "floats i32 complex",
    options = { {}, { up = 3 }, { down = 2 }, { up = 2, down = 3 }, { axis = 0, up = 2 } },
    oracle = "scipy.signal.upfirdn(floats(h), floats(x), **o)",
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL },
    refuses = {
        { "must be 1%-d", function() signal.upfirdn(np.ones { 2, 2 }, np.ones(4)) end },
        { "up", function() signal.upfirdn({ 1 }, np.ones(4), { up = 0 }) end },
    },
    also = {
        ["np.signal.upfirdn: rates drawn at random give the sums that the definition has"] = function()
            local draw = seeds.generator(11)
            for round = 1, 60 do
                local n, taps, up, down = draw(20), draw(30), draw(12), draw(9)
                if round == 60 then up, down = 1200, 1000 end -- too many filters for a bank
                local x, h, expected = {}, {}, {}
                for k = 1, n do x[k] = draw(19) - 10 end
                for k = 1, taps do h[k] = draw(19) - 10 end
                for at = 0, (n - 1) * up + taps - 1, down do
                    local sum = 0
                    for k = 1, n do sum = sum + x[k] * (h[at - (k - 1) * up + 1] or 0) end
                    expected[#expected + 1] = sum
                end
                check.equal(signal.upfirdn(np.array(h), np.array(x), { up = up, down = down }):totable(), expected)
            end
        end,
    },
})
of("np.signal.resample_poly", {
    args = { "x" },
    shapes = { { { 12 } }, { { 2, 9 } }, { { 5 } } },
    accepts = "floats i32 complex",
    options = { { up = 3, down = 2 }, { up = 1, down = 3, padtype = "line" }, { up = 4, down = 2, padtype = "mean" },
                { up = 2, down = 3, window = "hann" }, { up = 3, down = 1, padtype = "minimum", axis = 0 } },
    call = function(f, o, x)
        return f(x, o.up, o.down, { padtype = o.padtype, window = o.window, axis = o.axis, nonsense = o.nonsense })
    end,
    oracle = "resampled_poly(x, o)",
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL },
    refuses = {
        { "up", function() signal.resample_poly(np.ones(5), 0, 1) end },
        { "padtype", function() signal.resample_poly(np.ones(5), 2, 1, { padtype = "odd" }) end },
        { "an odd number", function() signal.resample_poly(np.ones(5), 2, 1, { window = np.ones(4) }) end },
    },
    also = {
        ["np.signal.resample_poly: coefficients in place of a window"] = function()
            local h = signal.firwin(41, 1 / 3)
            local x = np.cos(np.arange(20) * 0.4)
            local y = signal.resample_poly(x, 3, 1, { window = h })
            check.ok(np.allclose(y[{ { nil, nil, 3 } }], x, { atol = 2e-3 }) and y.size == 60)
            check.equal(signal.resample_poly(x, 5, 5):totable(), x:totable())
        end,
        ["np.signal.resample_poly: the median and the maximum"] = function()
            local x = np.full({ 12 }, 3, { dtype = "f64" })
            for _, padtype in ipairs { "median", "maximum" } do
                check.ok(np.allclose(signal.resample_poly(x, 2, 3, { padtype = padtype }), 3))
            end
        end,
    },
})
of("np.signal.resample", {
    args = { "x" },
    shapes = { { { 8 } }, { { 2, 7 } }, { { 1 } } },
    accepts = "floats i32 complex",
    options = { { num = 6 }, { num = 11 }, { num = 12 }, { num = 5 }, { num = 8 }, { num = 4, axis = 0 } },
    call = function(f, o, x)
        if o.axis or o.nonsense then return f(x, o.num, { axis = o.axis, nonsense = o.nonsense }) end
        return f(x, o.num)
    end,
    oracle = "scipy.signal.resample(floats(x), o['num'], axis=o.get('axis', -1))",
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL },
    refuses = { { "num", function() signal.resample(np.ones(4), 0) end } },
})
of("np.signal.decimate", {
    args = { "x" },
    shapes = { { { 40 } }, { { 2, 33 } } },
    accepts = "f64 f32 f16 i32 complex",
    options = { { q = 3 }, { q = 2, n = 4, zero_phase = false }, { q = 2, ftype = "fir", n = 6 },
                { q = 4, ftype = "fir", n = 6, zero_phase = false }, { q = 2, ftype = "fir", axis = 0 } },
    call = function(f, o, x)
        return f(x, o.q, { n = o.n, ftype = o.ftype, zero_phase = o.zero_phase, axis = o.axis,
                           nonsense = o.nonsense })
    end,
    oracle = "decimated(x, o)",
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL },
    refuses = {
        { "ftype", function() signal.decimate(np.ones(40), 2, { ftype = "butter" }) end },
        { "q", function() signal.decimate(np.ones(40), 0) end },
        { "zero_phase", function() signal.decimate(np.ones(40), 2, { zero_phase = 1 }) end },
        { "longer than", function() signal.decimate(np.ones(20), 2) end },
    },
})

-- ---- Peaks ----------------------------------------------------------------------------------------------------------

local NEEDS = { vmap = "it looks at the numbers", jit = "it looks at the numbers", programs = "it looks at the numbers",
                sizes = "it looks at the numbers", derivatives = "places are whole numbers",
                special = "numbers without an order are no peaks" }

--- A signal with flat places.
local function bumps(random, dims, dtype)
    local list = {}
    for k = 1, dims[1] do list[k] = random(5) - 1 end
    return np.array(list, { dtype = dtype })
end

local function sorted_leaves(places, properties)
    local names, list = {}, { places }
    for name in pairs(properties) do names[#names + 1] = name end
    table.sort(names)
    for k, name in ipairs(names) do list[k + 1] = properties[name] end
    return unpack(list)
end

of("np.signal.find_peaks", {
    args = { { "x", make = bumps } },
    shapes = { { { 40 } }, { { 41 } }, { { 2 } }, { { 0 } } },
    accepts = "floats i32 u8",
    options = { {}, { height = 2 }, { height = { 1, 3 }, threshold = 1 }, { distance = 4 }, { prominence = 2 },
                { width = { 1.5, 6 }, rel_height = 0.7 }, { plateau_size = { 2, 3 }, width = 0 },
                { prominence = { 1, 3 }, wlen = 6, distance = 2.5 }, { threshold = { 0, 2 }, width = 1 } },
    call = function(f, o, x)
        if o.distance then x = np.astype(x, "f64") + np.arange(x.size) / 128 end -- of equal ones SciPy takes any
        if next(o) then return sorted_leaves(f(x, o)) end
        return sorted_leaves(f(x))
    end,
    oracle = "found(x + np.arange(len(x)) / 128 if 'distance' in o else x, o)",
    any_dtype = true,
    within = { f64 = "abs 1e-13", f32 = "abs 1e-5", f16 = "abs 3e-2", bf16 = "abs 3e-1" },
    special = false,
    without = NEEDS,
    refuses = {
        { "1%-d", function() signal.find_peaks(np.ones { 2, 2 }) end },
        { "distance", function() signal.find_peaks(np.ones(4), { distance = 0.5 }) end },
        { "height", function() signal.find_peaks(np.ones(4), { height = "2" }) end },
        { "wlen", function() signal.find_peaks(np.ones(4), { prominence = 1, wlen = 1 }) end },
        { "rel_height", function() signal.find_peaks(np.ones(4), { width = 1, rel_height = -1 }) end },
        { "not known while tracing", function() np.jit(signal.find_peaks)(np.ones(4)) end },
    },
})
local PEAKS = { 3, 7, 12 }
of("np.signal.peak_prominences", {
    args = { { "x", make = bumps } },
    shapes = { { { 20 } } },
    accepts = "f64 f32 i32",
    options = { {}, { wlen = 6 } },
    call = function(f, o, x)
        if next(o) then return f(x, PEAKS, o) end
        return f(x, PEAKS)
    end,
    oracle = "scipy.signal.peak_prominences(floats(x), [3, 7, 12], **o)",
    any_dtype = true,
    special = false,
    without = NEEDS,
    refuses = {
        { "the place 20", function() signal.peak_prominences(np.ones(20), { 20 }) end },
        { "the place 0.5", function() signal.peak_prominences(np.ones(20), { 0.5 }) end },
    },
})
of("np.signal.peak_widths", {
    args = { { "x", make = bumps } },
    shapes = { { { 20 } } },
    accepts = "f64 f32 i32",
    options = { {}, { wlen = 6, rel_height = 0.8 } },
    call = function(f, o, x)
        if next(o) then return f(x, PEAKS, o) end
        return f(x, PEAKS)
    end,
    oracle = "scipy.signal.peak_widths(floats(x), [3, 7, 12], **o)",
    any_dtype = true,
    within = { f64 = "abs 1e-13", f32 = "abs 1e-5" },
    special = false,
    without = NEEDS,
    refuses = { { "must be 1%-d", function() signal.peak_widths(np.ones(20), np.ones { 1, 1 }) end } },
})

finish()
