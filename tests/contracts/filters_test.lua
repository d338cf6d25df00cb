--- filters_test.lua: contracts of the filters of np.signal (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "filters"

local NO_ARRAY = { strided = "no array is given", special = "no array is given", vmap = "no array is given",
                   mesh = "no array is given", derivatives = "no array is given", jit = "no array is given",
                   programs = "no array is given" }
local ALL = "where one element is no number all later ones are none, or all, in another order of sums"
local NEAR = { f64 = "scaled 1e-12", f32 = "scaled 1e-5", f16 = "scaled 2e-3", bf16 = "scaled 1.5e-2",
               c128 = "scaled 1e-12", c64 = "scaled 1e-5" }

-- ---- Coefficients ---------------------------------------------------------------------------------------------------

local function options_of(o, ...)
    local kept = { nonsense = o.nonsense }
    for k = 1, select("#", ...) do kept[select(k, ...)] = o[select(k, ...)] end
    return kept
end

local function coefficients(name, options, call, oracle, refuses, within, also)
    of("np.signal." .. name, {
        args = {}, shapes = { {} }, accepts = "f64", options = options, call = call, oracle = oracle, any_dtype = true,
        within = { f64 = within or "scaled 1e-13", c128 = "scaled 1e-12" }, without = NO_ARRAY, refuses = refuses,
        also = also,
    })
end

local signal = np.signal
coefficients("butter", {
    { N = 3, Wn = 0.3 }, { N = 1, Wn = 0.7, btype = "highpass" }, { N = 4, Wn = { 0.2, 0.35 }, btype = "bandpass" },
    { N = 5, Wn = { 5, 15 }, fs = 100, btype = "bandstop", output = "sos" }, { N = 8, Wn = 0.1, output = "sos" },
    { N = 3, Wn = { 0.1, 0.7 }, btype = "band", output = "zpk" }, { N = 7, Wn = 0.4, btype = "high", output = "sos" },
    { N = 3, Wn = { 0.1, 0.8 }, btype = "band", output = "sos" },
}, function(f, o) return f(o.N, o.Wn, options_of(o, "btype", "output", "fs")) end,
"scipy.signal.butter(**o)", {
    { "must be above 0", function() signal.butter(2, 1) end },
    { "must be above 0", function() signal.butter(2, np.nan) end },
    { "must be above 0", function() signal.butter(2, { 0.4, 0.2 }, { btype = "band" }) end },
    { "half the sampling rate", function() signal.butter(2, 60, { fs = 100 }) end },
    { "two edges", function() signal.butter(2, 0.5, { btype = "bandpass" }) end },
    { "one edge", function() signal.butter(2, { 0.2, 0.5 }) end },
    { "btype", function() signal.butter(2, 0.5, { btype = "notch" }) end },
    { "output", function() signal.butter(2, 0.5, { output = "tf" }) end },
    { "N", function() signal.butter(0, 0.5) end },
    { "Wn", function() signal.butter(2, "low") end },
})
coefficients("cheby1", {
    { N = 4, rp = 1, Wn = 0.3 }, { N = 5, rp = 0.5, Wn = { 0.2, 0.45 }, btype = "bandpass", output = "sos" },
    { N = 2, rp = 3, Wn = 0.6, btype = "highpass", output = "zpk" }, { N = 8, rp = 0.05, Wn = 20, fs = 100 },
}, function(f, o) return f(o.N, o.rp, o.Wn, options_of(o, "btype", "output", "fs")) end,
"scipy.signal.cheby1(**o)", { { "rp", function() signal.cheby1(2, 0, 0.5) end } })
coefficients("cheby2", {
    { N = 4, rs = 40, Wn = 0.3 }, { N = 5, rs = 30, Wn = { 0.2, 0.45 }, btype = "bandstop", output = "sos" },
    { N = 3, rs = 20, Wn = 0.6, btype = "highpass", output = "zpk" }, { N = 6, rs = 60, Wn = 20, fs = 100 },
    { N = 4, rs = 30, Wn = { 0.2, 0.45 }, btype = "bandpass", output = "sos" },
}, function(f, o) return f(o.N, o.rs, o.Wn, options_of(o, "btype", "output", "fs")) end,
"scipy.signal.cheby2(**o)", { { "rs", function() signal.cheby2(2, np.inf, 0.5) end } })
coefficients("ellip", {
    { N = 4, rp = 1, rs = 40, Wn = 0.3 }, { N = 1, rp = 0.5, rs = 20, Wn = 0.4, output = "zpk" },
    { N = 5, rp = 0.01, rs = 80, Wn = { 0.2, 0.45 }, btype = "bandpass", output = "sos" },
    { N = 4, rp = 3, rs = 50, Wn = 0.6, btype = "highpass", output = "zpk" },
    { N = 7, rp = 1e-4, rs = 120, Wn = 0.5, output = "zpk" },
    { N = 3, rp = 0.5, rs = 30, Wn = { 5, 15 }, fs = 100, btype = "bandstop", output = "sos" },
    { N = 12, rp = 1, rs = 60, Wn = 0.25, output = "zpk" }, { N = 2, rp = 1, rs = 1.5, Wn = 0.5 },
}, function(f, o) return f(o.N, o.rp, o.rs, o.Wn, options_of(o, "btype", "output", "fs")) end,
"scipy.signal.ellip(**o)", {
    { "rp", function() signal.ellip(2, 0, 40, 0.5) end }, { "rs", function() signal.ellip(2, 1, "deep", 0.5) end },
    { "rs must be above rp", function() signal.ellip(2, 40, 40, 0.5) end },
    { "Wn", function() signal.ellip(2, 1, 40) end },
    { "two edges", function() signal.ellip(2, 1, 40, 0.5, { btype = "bandpass" }) end },
})
coefficients("bessel", {
    { N = 3, Wn = 0.3 }, { N = 1, Wn = 0.7, btype = "highpass", norm = "delay" },
    { N = 4, Wn = { 0.2, 0.35 }, btype = "bandpass", norm = "mag", output = "sos" },
    { N = 5, Wn = { 5, 15 }, fs = 100, btype = "bandstop", norm = "delay", output = "zpk" },
    { N = 12, Wn = 0.1, norm = "phase", output = "zpk" }, { N = 25, Wn = 0.4, norm = "mag", output = "zpk" },
}, function(f, o) return f(o.N, o.Wn, options_of(o, "btype", "output", "norm", "fs")) end,
"scipy.signal.bessel(**o)", {
    { "norm", function() signal.bessel(2, 0.5, { norm = "power" }) end },
    { "N", function() signal.bessel(26, 0.5) end },
    { "Wn", function() signal.bessel(2, 1) end },
})
coefficients("iirfilter", {
    { N = 2, Wn = { 0.2, 0.5 } }, { N = 3, Wn = 0.4, btype = "lowpass", ftype = "cheby1", rp = 1, output = "sos" },
    { N = 3, Wn = { 10, 20 }, fs = 60, btype = "bandstop", ftype = "cheby2", rs = 30, output = "sos" },
    { N = 3, Wn = { 0.2, 0.5 }, ftype = "ellip", rp = 1, rs = 30, output = "sos" },
    { N = 2, Wn = 0.3, btype = "low", ftype = "bessel" },
}, function(f, o) return f(o.N, o.Wn, options_of(o, "btype", "ftype", "rp", "rs", "output", "fs")) end,
"scipy.signal.iirfilter(**o)", {
    { "ftype", function() signal.iirfilter(2, { 0.2, 0.5 }, { ftype = "gauss" }) end },
    { "rs", function() signal.iirfilter(2, { 0.2, 0.5 }, { ftype = "cheby2" }) end },
    { "rs must be above rp", function() signal.iirfilter(2, { 0.2, 0.5 }, { ftype = "ellip", rp = 3, rs = 2 }) end },
})
coefficients("firwin", {
    { numtaps = 7, cutoff = 0.3 }, { numtaps = 9, cutoff = { 10, 20 }, fs = 60, pass_zero = false },
    { numtaps = 9, cutoff = { 0.2, 0.5 }, pass_zero = "bandstop", window = "hann" },
    { numtaps = 6, cutoff = { 0.2, 0.5 }, pass_zero = "bandpass", window = { "kaiser", 4 } },
    { numtaps = 5, cutoff = 0.4, pass_zero = "highpass", scale = false },
    { numtaps = 8, cutoff = { 0.1, 0.3, 0.5, 0.7 }, pass_zero = false },
}, function(f, o) return f(o.numtaps, o.cutoff, options_of(o, "window", "pass_zero", "scale", "fs")) end,
"scipy.signal.firwin(**o)", {
    { "even number of taps", function() signal.firwin(4, 0.5, { pass_zero = false }) end },
    { "must be above 0", function() signal.firwin(5, { 0.5, 0.5 }) end },
    { "pass_zero", function() signal.firwin(5, 0.5, { pass_zero = "bandpass" }) end },
    { "window of shape", function() signal.firwin(5, 0.5, { window = np.ones(4) }) end },
})

-- ---- Orders ---------------------------------------------------------------------------------------------------------

--- The numbers of a specification as arrays of f64: order and edges.
local function ordered(f, o)
    local N, Wn = f(o.wp, o.ws, o.gpass, o.gstop, options_of(o, "fs"))
    return np.array(N, { dtype = "f64" }), np.array(Wn, { dtype = "f64" })
end

local SPECIFIED = {
    { wp = 0.2, ws = 0.3, gpass = 3, gstop = 40 }, { wp = 0.3, ws = 0.2, gpass = 0.1, gstop = 60 },
    { wp = { 0.2, 0.5 }, ws = { 0.1, 0.6 }, gpass = 3, gstop = 40 },
    { wp = { 14, 30 }, ws = { 10, 31 }, gpass = 1, gstop = 25, fs = 100 },
    { wp = 1e-3, ws = 0.9, gpass = 3, gstop = 4 },
}
--- What SciPy finds for the bandstop of the test below.
local STOPPING = {
    buttord = { N = 8, Wn = { 0.15612251, 0.58215426 } }, cheb1ord = { N = 5, Wn = { 0.14758233, 0.59999871 } },
    cheb2ord = { N = 5, Wn = { 0.18862124, 0.51983846 } }, ellipord = { N = 4, Wn = { 0.14758235, 0.59999871 } },
}
for name, design in pairs {
    buttord = function(N, Wn, o) return signal.butter(N, Wn, o) end,
    cheb1ord = function(N, Wn, o) return signal.cheby1(N, 1, Wn, o) end,
    cheb2ord = function(N, Wn, o) return signal.cheby2(N, 30, Wn, o) end,
    ellipord = function(N, Wn, o) return signal.ellip(N, 1, 30, Wn, o) end,
} do
    local order = signal[name]
    coefficients(name, SPECIFIED, ordered, ("scipy.signal.%s(**o)"):format(name), {
        { "both one edge or both two", function() order(0.2, { 0.3, 0.4 }, 1, 30) end },
        { "both one edge or both two", function() order({ 0.1, 0.2, 0.3 }, { 0.2, 0.3, 0.4 }, 1, 30) end },
        { "within the other", function() order({ 0.1, 0.3 }, { 0.2, 0.4 }, 1, 30) end },
        { "are the same", function() order(0.2, 0.2, 1, 30) end },
        { "must be above 0", function() order(0.2, 1.3, 1, 30) end },
        { "gstop must be above gpass", function() order(0.2, 0.3, 30, 1) end },
        { "gpass", function() order(0.2, 0.3, 0, 1) end },
        { "gstop", function() order(0.2, 0.3, 1) end },
        { "an order of", function() order(0.2, 0.2 + 1e-15, 1e-9, 2900) end },
    }, "scaled 1e-13", {
        ["np.signal." .. name .. ": a bandstop keeps what was asked for"] = function()
            local pass, stop = { 0.1, 0.6 }, { 0.2, 0.5 }
            local N, Wn = order(pass, stop, 1, 30)
            local _, h = signal.sosfreqz(design(N, Wn, { btype = "bandstop", output = "sos" }),
                                         { fs = 2, worN = np.array({ 0.1, 0.6, 0.2, 0.5 }, { dtype = "f64" }) })
            local loss = (np.log10(np.abs(h)) * -20):totable()
            check.ok(loss[1] < 1 + 1e-9 and loss[2] < 1 + 1e-9 and loss[3] > 30 - 1e-9 and loss[4] > 30 - 1e-9)
            check.equal(N, STOPPING[name].N)
            check.close(Wn, STOPPING[name].Wn, 1e-4) -- SciPy's search for the edges ends near the best ones
        end,
    })
end

-- ---- Forth ----------------------------------------------------------------------------------------------------------

--- Coefficients of which the first one is the largest.
local function divisors(random, dims, dtype)
    local list = { 2 }
    for k = 2, dims[1] or 1 do list[k] = dtype:match "^i" and random(2) - 1 or (random(3) - 2) / 4 end
    return np.array(list, { dtype = dtype }):reshape(dims)
end

of("np.signal.lfilter", {
    args = { "b", { "a", make = divisors }, "x", "zi" },
    shapes = { { { 3 }, { 3 }, { 7 }, { 2 } }, { { 2 }, { 4 }, { 2, 5 }, { 3 } }, { { 3 }, { 1 }, { 3, 4 }, { 2 } },
               { { 1 }, { 1 }, { 3 }, { 0 } } },
    accepts = "floats i32 complex",
    options = { {}, { state = true }, { axis = 0 } },
    call = function(f, o, b, a, x, zi)
        if o.axis and x.ndim > 1 then x = x.T end
        local given = { axis = o.axis, nonsense = o.nonsense }
        if o.state then given.zi = x.ndim == 1 and zi or np.stack { zi, zi, x.shape[1] == 3 and zi or nil } end
        return f(b, a, x, given)
    end,
    oracle = "filtered(b, a, x.T if 'axis' in o else x, zi, o)",
    unseen = { zi = "the option `state` of these cases gives it" },
    within = NEAR,
    vmapped = "scaled 1e-5",
    divided = "scaled 1e-5",
    special = false,
    without = { special = ALL, numbers = "coefficients and signals are arrays" },
    refuses = {
        { "a%[0%] divides", function() signal.lfilter({ 1 }, { 0, 1 }, np.ones(3)) end },
        { "must be 1%-d", function() signal.lfilter(np.ones { 2, 2 }, { 1 }, np.ones(3)) end },
        { "no elements", function() signal.lfilter({ 1 }, { 1 }, np.zeros(0)) end },
        { "0%-d array", function() signal.lfilter({ 1 }, { 1 }, 3) end },
        { "the state zi has shape", function() signal.lfilter({ 1, 1 }, { 1 }, np.ones(3), { zi = { 1, 2 } }) end },
    },
    also = {
        ["np.signal.lfilter: parts of a signal, with the state between, are the whole"] = function()
            local x = np.sin(np.arange(20) * 1.3)
            for _, a in ipairs { { 1 }, { 1, -0.5, 0.25 } } do
                local first, state = signal.lfilter({ 0.5, 1, -1 }, a, x[{ { 0, 7 } }], { zi = { 0, 0 } })
                local second = signal.lfilter({ 0.5, 1, -1 }, a, x[{ { 7, 20 } }], { zi = state })
                local whole = signal.lfilter({ 0.5, 1, -1 }, a, x)
                check.ok(np.allclose(np.concatenate { first, second }, whole))
            end
        end,
        ["np.signal.lfilter: an f64 filter of an f32 signal gives f64"] = function()
            local b, a = signal.butter(2, 0.3)
            check.equal(signal.lfilter(b, a, np.ones(4)).dtype, "f64")
            check.equal(signal.lfilter({ 1 }, { 1, 0.5 }, np.ones(4)).dtype, "f32")
        end,
    },
})
of("np.signal.lfilter_zi", {
    args = { "b", { "a", make = divisors } },
    shapes = { { { 3 }, { 3 } }, { { 2 }, { 4 } }, { { 2 }, { 2 } } },
    accepts = "floats i32",
    oracle = "scipy.signal.lfilter_zi(b, a)",
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL, numbers = "coefficients are arrays" },
    refuses = { { "must be 1%-d", function() signal.lfilter_zi(np.ones { 2, 2 }, { 1 }) end } },
})

--- Sections with poles within the unit circle.
local function sections(random, dims, dtype)
    local list = {}
    for k = 1, dims[1] do
        local a0 = random(2)
        list[k] = { random(3), random(3) - 2, random(3) - 2, a0, a0 * (random(3) - 2) / 2, a0 * random(2) / 4 }
    end
    return np.array(list, { dtype = dtype })
end

of("np.signal.sosfilt", {
    args = { { "sos", make = sections }, "x", "zi" },
    shapes = { { { 2, 6 }, { 7 }, { 2, 2 } }, { { 1, 6 }, { 2, 5 }, { 1, 2 } } },
    accepts = "floats complex",
    options = { {}, { state = true }, { axis = 0 } },
    call = function(f, o, sos, x, zi)
        if o.axis and x.ndim > 1 then x = x.T end
        local given = { axis = o.axis, nonsense = o.nonsense }
        if o.state then given.zi = x.ndim == 1 and zi or np.stack({ zi, zi }, { axis = 1 }) end
        return f(sos, x, given)
    end,
    oracle = "in_sections(sos, x.T if 'axis' in o else x, zi, o)",
    unseen = { zi = "the option `state` of these cases gives it" },
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL, numbers = "sections and signals are arrays", sizes = "the second extent of sos is 6" },
    refuses = {
        { "of shape {n, 6}", function() signal.sosfilt(np.ones { 2, 5 }, np.ones(3)) end },
        { "an a0 divides", function() signal.sosfilt(np.zeros { 2, 6 }, np.ones(3)) end },
        { "zi", function() signal.sosfilt(np.ones { 1, 6 }, np.ones(3), { zi = "rest" }) end },
        { "for 1 sections", function() signal.sosfilt(np.ones { 1, 6 }, np.ones(3), { zi = np.ones { 2, 2 } }) end },
        { "the state zi has shape", function()
            signal.sosfilt(np.ones { 1, 6 }, np.ones(3), { zi = np.ones { 1, 3 } })
        end },
    },
})
of("np.signal.sosfilt_zi", {
    args = { { "sos", make = sections } },
    shapes = { { { 2, 6 } }, { { 1, 6 } } },
    accepts = "floats",
    oracle = "scipy.signal.sosfilt_zi(sos / sos[:, 3:4])",
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL, numbers = "sections are an array", sizes = "the second extent of sos is 6" },
    refuses = { { "of shape {n, 6}", function() signal.sosfilt_zi(np.ones(6)) end } },
})

-- ---- Forth and back -------------------------------------------------------------------------------------------------

local ENDS = { { padlen = 3 }, { padtype = "even", padlen = 4 }, { padtype = "constant" , padlen = 2 },
               { padtype = false }, {}, { axis = 0, padlen = 3 } }

of("np.signal.filtfilt", {
    args = { "b", { "a", make = divisors }, "x" },
    shapes = { { { 3 }, { 3 }, { 12 } }, { { 2 }, { 2 }, { 2, 9 } }, { { 2 }, { 1 }, { 8 } } },
    accepts = "floats i32 complex",
    options = ENDS,
    call = function(f, o, b, a, x) return f(b, a, o.axis and x.T or x, o) end,
    oracle = "scipy.signal.filtfilt(b, a, x.T if 'axis' in o else x, **({'axis': -1} | given(o, 'axis', 'padtype', "
             .. "'padlen')))",
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL, numbers = "coefficients and signals are arrays" },
    refuses = {
        { "padlen", function() signal.filtfilt({ 1, 1 }, { 1, 0.5 }, np.ones(5)) end },
        { "padtype", function() signal.filtfilt({ 1, 1 }, { 1, 0.5 }, np.ones(9), { padtype = "zeros" }) end },
        { "padtype", function() signal.filtfilt({ 1, 1 }, { 1, 0.5 }, np.ones(9), { padtype = "line" }) end },
    },
})
of("np.signal.sosfiltfilt", {
    args = { { "sos", make = sections }, "x" },
    shapes = { { { 1, 6 }, { 13 } }, { { 2, 6 }, { 2, 17 } } },
    accepts = "floats complex",
    options = ENDS,
    waits = function(o) return o.padlen == nil and o.padtype ~= false end,
    call = function(f, o, sos, x) return f(sos, o.axis and x.T or x, o) end,
    oracle = "scipy.signal.sosfiltfilt(sos / sos[:, 3:4], x.T if 'axis' in o else x, **({'axis': -1} | given(o, "
             .. "'axis', 'padtype', 'padlen')))",
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL, numbers = "sections and signals are arrays", sizes = "the second extent of sos is 6" },
    refuses = { { "padlen", function() signal.sosfiltfilt(np.ones { 1, 6 }, np.ones(5)) end } },
    also = {
        ["np.signal.sosfiltfilt: sections of first order extend the signal less"] = function()
            local x = np.cos(np.arange(12))
            local b, a = signal.butter(1, 0.3)
            local y = signal.sosfiltfilt(signal.butter(1, 0.3, { output = "sos" }), x)
            check.ok(np.allclose(y, signal.filtfilt(b, a, x)))
        end,
    },
})

-- ---- Responses ------------------------------------------------------------------------------------------------------

local function complex_of(dtype) return np.result_type(dtype, 0.5) == "f64" and "c128" or "c64" end
local function real_of(dtype) return np.result_type(dtype, 0.5) end

local ASKED = { { worN = 8, fs = 2 }, { worN = 5, whole = true }, { worN = 5, include_nyquist = true },
                { worN = { 0.5, 1, 2.5 } }, {} }

of("np.signal.freqz", {
    args = { "b", { "a", make = divisors } },
    shapes = { { { 3 }, { 3 } }, { { 4 }, { 1 } }, { {}, { 2 } } },
    accepts = "floats i32",
    options = ASKED,
    oracle = "response(b, a, o)",
    gives = { real_of, complex_of },
    within = { f64 = "scaled 1e-12", f32 = "scaled 1e-5", f16 = "scaled 1e-3", bf16 = "scaled 4e-3",
               c128 = "scaled 1e-12", c64 = "scaled 1e-5" },
    vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL, numbers = "coefficients are arrays" },
    refuses = {
        { "worN", function() signal.freqz({ 1 }, { 1 }, { worN = 0 }) end },
        { "whole", function() signal.freqz({ 1 }, { 1 }, { whole = 1 }) end },
        { "fs", function() signal.freqz({ 1 }, { 1 }, { fs = -1 }) end },
    },
})
of("np.signal.sosfreqz", {
    args = { { "sos", make = sections } },
    shapes = { { { 2, 6 } }, { { 1, 6 } } },
    accepts = "f64 f32",
    options = { ASKED[1], ASKED[2], ASKED[4], {} },
    oracle = "scipy.signal.freqz_sos(sos / sos[:, 3:4], **o)",
    gives = { real_of, complex_of },
    within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-5", special = false,
    without = { special = ALL, numbers = "sections are an array", sizes = "the second extent of sos is 6" },
    refuses = { { "of shape {n, 6}", function() signal.sosfreqz(np.ones { 2, 5 }) end } },
})

finish()
