--- design.lua: coefficients of filters: np.signal.iirfilter, butter, cheby1, cheby2, ellip, bessel and firwin.
--
-- A recursive filter begins as an analog lowpass of cutoff 1: zeros, poles and a gain (prototypes.lua). They are
-- moved to the band, with edges bent as the bilinear transform bends frequencies, and then transformed.
-- A. V. Oppenheim and R. W. Schafer, Discrete-Time Signal Processing, chapter 7. Filters are a few complex numbers of
-- Lua; coefficients come out in f64.
--
--     prototype → bands → bilinear → "zpk" | "ba": polynomials | "sos": sections.lua

--- {btype}: the band: "lowpass", "highpass", "bandpass" or "bandstop"; short: "low", "high", "band", "stop"
--- {output}: "ba": numerator b and denominator a; "zpk": zeros, poles and the gain; "sos": sections of second order
--- {fs}: elements per second, the unit of Wn; 2 by default, so that 1 is half the sampling rate

local core = require "neap.core"
local create = require "neap.arrays.create"
local prototypes = require "neap.signal.prototypes"
local sections = require "neap.signal.sections"
local signals = require "neap.signal.signals"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local complex = core.complex.new
local each, product, negative = prototypes.each, prototypes.product, prototypes.negative

local design = {}

-- ---- Zeros, poles and gains -----------------------------------------------------------------------------------------

--- A list of roots as a c128 array.
local function roots_of(list)
    local re, im = each(list, function(root) return root.re end), each(list, function(root) return root.im end)
    if #list == 0 then return np.zeros({ 0 }, { dtype = "c128" }) end
    return np.complex(np.array(re, { dtype = "f64" }), np.array(im, { dtype = "f64" }))
end

--- Adds as many of a root to the zeros as there are more poles.
local function fill(f, root)
    for _ = 1, #f.p - #f.z do f.z[#f.z + 1] = root end
end

-- ---- Bands ----------------------------------------------------------------------------------------------------------

local function root_of(x)
    local size = math.sqrt(x.re * x.re + x.im * x.im)
    local re, im = math.sqrt(math.max((size + x.re) / 2, 0)), math.sqrt(math.max((size - x.re) / 2, 0))
    if re >= im then -- the smaller part from the larger, which has all its digits
        im = re > 0 and math.abs(x.im) / (2 * re) or 0
    else
        re = math.abs(x.im) / (2 * im)
    end
    return complex(re, x.im < 0 and -im or im)
end

--- Both roots of s² - 2 half s + middle².
local function split(list, middle)
    local result, n = {}, #list
    for k, half in ipairs(list) do
        local root = root_of(half * half - middle * middle)
        result[k], result[n + k] = half + root, half - root
    end
    return result
end

local bands = {}

function bands.lowpass(f, w)
    local function scaled(root) return root * w[1] end
    return { z = each(f.z, scaled), p = each(f.p, scaled), k = f.k * w[1] ^ (#f.p - #f.z) }
end

function bands.highpass(f, w)
    local function inverse(root) return complex(w[1], 0) / root end
    local result = { z = each(f.z, inverse), p = each(f.p, inverse),
                     k = f.k * product(f.z, negative) / product(f.p, negative) }
    fill(result, complex(0, 0))
    return result
end

function bands.bandpass(f, w)
    local width, middle = w[2] - w[1], math.sqrt(w[1] * w[2])
    local function scaled(root) return root * (width / 2) end
    local result = { z = split(each(f.z, scaled), middle), p = split(each(f.p, scaled), middle),
                     k = f.k * width ^ (#f.p - #f.z) }
    for _ = 1, #f.p - #f.z do result.z[#result.z + 1] = complex(0, 0) end
    return result
end

function bands.bandstop(f, w)
    local width, middle = w[2] - w[1], math.sqrt(w[1] * w[2])
    local function inverse(root) return complex(width / 2, 0) / root end
    local result = { z = split(each(f.z, inverse), middle), p = split(each(f.p, inverse), middle),
                     k = f.k * product(f.z, negative) / product(f.p, negative) }
    for _, side in ipairs { middle, -middle } do
        for _ = 1, #f.p - #f.z do result.z[#result.z + 1] = complex(0, side) end
    end
    return result
end

--- An analog filter as a filter of elements, 4 of them in a unit of time.
local function bilinear(f)
    local function moved(root) return (root + 4) / (4 - root) end
    local function bent(root) return 4 - root end
    local result = { z = each(f.z, moved), p = each(f.p, moved), k = f.k * product(f.z, bent) / product(f.p, bent) }
    fill(result, complex(-1, 0))
    return result
end

-- ---- Options --------------------------------------------------------------------------------------------------------

local BTYPES = { low = "lowpass", high = "highpass", band = "bandpass", stop = "bandstop", lowpass = "lowpass",
                 highpass = "highpass", bandpass = "bandpass", bandstop = "bandstop" }
local PAIRS = { bandpass = true, bandstop = true }

local outputs = {}

function outputs.zpk(f)
    return roots_of(f.z), roots_of(f.p), np.array(f.k, { dtype = "f64" })
end

function outputs.ba(f)
    local b, a = sections.polynomial(f.z), sections.polynomial(f.p)
    return np.array(b, { dtype = "f64" }) * f.k, np.array(a, { dtype = "f64" })
end

function outputs.sos(f)
    return np.array(sections.of(f), { dtype = "f64" })
end

--- The filter of np.signal.name, of order N with the edges Wn, argument `at`.
local function designed(name, N, Wn, at, o, ftype)
    N = core.integer("signal." .. name, 1, "N", N, 1, ftype == "bessel" and 25 or 500)
    local btype = BTYPES[o.btype == nil and (name == "iirfilter" and "bandpass" or "lowpass") or o.btype]
    if not btype then
        bad_argument("signal." .. name, nil, "btype", '"lowpass", "highpass", "bandpass" or "bandstop"', o.btype)
    end
    local output = outputs[o.output == nil and "ba" or o.output]
    if not output then bad_argument("signal." .. name, nil, "output", '"ba", "zpk" or "sos"', o.output) end
    local w = signals.frequencies(name, at, "Wn", Wn, signals.positive(name, "fs", o.fs, 2))
    if #w ~= (PAIRS[btype] and 2 or 1) then
        raise("signal." .. name, "a %s has %s, got %d", btype, PAIRS[btype] and "two edges: {low, high}" or "one edge",
              #w)
    end
    local warped = each(w, function(edge) return 4 * math.tan(math.pi * edge / 2) end)
    return output(bilinear(bands[btype](prototypes[ftype](N, o), warped)))
end

-- ---- Recursive filters ----------------------------------------------------------------------------------------------

local FORM = { btype = true, output = true, fs = true }

--- The options of a filter, with its losses in decibels.
local function with(name, given, losses)
    for key, option in pairs(core.options("signal." .. name, given, FORM)) do losses[key] = option end
    return losses
end

--- Refuses an elliptic filter that loses no more where it stops than where it passes.
local function check_losses(name, rp, rs)
    if rs <= rp then raise("signal." .. name, "rs must be above rp, got rs = %.14g and rp = %.14g", rs, rp) end
end

--- np.signal.butter(N, Wn, {btype="lowpass", output="ba", fs=2}) -> b, a: the Butterworth filter of order N, whose
-- response is as flat as can be where it passes. Wn is the edge, where half the power passes; for bands two edges,
-- {low, high}, and the order is twice N. Coefficients are f64. Use output="sos" above order 4 or so: the digits of
-- polynomials of high degree do not place their roots. "sos" gives an array (sections, 6), rows {b0, b1, b2, 1, a1,
-- a2}, "zpk" zeros, poles and the gain.
--- > b, a = np.signal.butter(2, 0.3)
--- > np.round(b, 4), np.round(a, 4)
-- [0.1311 0.2622 0.1311]
-- [ 1.     -0.7478  0.2722]
--- > #np.signal.butter(4, {5, 15}, {btype="bandpass", fs=100, output="sos"})
-- 4
function design.butter(N, Wn, given)
    return designed("butter", N, Wn, 2, core.options("signal.butter", given, FORM), "butter")
end

--- np.signal.cheby1(N, rp, Wn, {btype="lowpass", output="ba", fs=2}) -> b, a: the Chebyshev filter of type 1 and order
-- N, which falls steeply, and whose response where it passes ripples by rp decibels. Wn is the edge, where the response
-- is last at -rp; otherwise as np.signal.butter.
--- > b, a = np.signal.cheby1(2, 1, 0.5)
--- > np.round(b, 4), np.round(a, 4)
-- [0.307  0.6141 0.307 ]
-- [1.     0.0641 0.314 ]
function design.cheby1(N, rp, Wn, given)
    rp = signals.decibels("cheby1", 2, "rp", rp)
    return designed("cheby1", N, Wn, 3, with("cheby1", given, { rp = rp }), "cheby1")
end

--- np.signal.cheby2(N, rs, Wn, {btype="lowpass", output="ba", fs=2}) -> b, a: the Chebyshev filter of type 2 and order
-- N: flat where it passes, and below -rs decibels where it does not. Wn is the edge, where the response first is at
-- -rs; otherwise as np.signal.butter.
--- > b, a = np.signal.cheby2(2, 40, 0.5)
--- > np.round(b, 4), np.round(a, 4)
-- [0.0246 0.0164 0.0246]
-- [ 1.     -1.6079  0.6735]
function design.cheby2(N, rs, Wn, given)
    rs = signals.decibels("cheby2", 2, "rs", rs)
    return designed("cheby2", N, Wn, 3, with("cheby2", given, { rs = rs }), "cheby2")
end

--- np.signal.ellip(N, rp, rs, Wn, {btype="lowpass", output="ba", fs=2}) -> b, a: the elliptic filter of order N, the
-- steepest one of its order: its response ripples by rp decibels where it passes, and below -rs decibels where it does
-- not. Wn is the edge, where the response is last at -rp; otherwise as np.signal.butter. S. J. Orfanidis, Lecture Notes
-- on Elliptic Filter Design (2006).
--- > b, a = np.signal.ellip(2, 1, 40, 0.5)
--- > np.round(b, 4), np.round(a, 4)
-- [0.3118 0.6111 0.3118]
-- [1.     0.0675 0.3177]
function design.ellip(N, rp, rs, Wn, given)
    rp, rs = signals.decibels("ellip", 2, "rp", rp), signals.decibels("ellip", 3, "rs", rs)
    check_losses("ellip", rp, rs)
    return designed("ellip", N, Wn, 4, with("ellip", given, { rp = rp, rs = rs }), "ellip")
end

local NORMS = { phase = true, delay = true, mag = true }

--- np.signal.bessel(N, Wn, {btype="lowpass", output="ba", norm="phase", fs=2}) -> b, a: the Bessel filter of order N, 1
-- to 25. All that passes comes nearly equally late, so steps keep their form, as long as Wn is far below half the
-- sampling rate, towards which the bilinear transform bends delays. Otherwise as np.signal.butter.
--- norm: what is at Wn: "phase": half of the whole phase; "mag": half the power; "delay": a phase of 1
--- > b, a = np.signal.bessel(2, 0.3)
--- > np.round(b, 4), np.round(a, 4)
-- [0.1212 0.2424 0.1212]
-- [ 1.     -0.6913  0.176 ]
function design.bessel(N, Wn, given)
    local o = core.options("signal.bessel", given, { btype = true, output = true, norm = true, fs = true })
    if not NORMS[o.norm == nil and "phase" or o.norm] then
        bad_argument("signal.bessel", nil, "norm", '"phase", "delay" or "mag"', o.norm)
    end
    return designed("bessel", N, Wn, 2, o, "bessel")
end

local LOSSES = { butter = {}, cheby1 = { "rp" }, cheby2 = { "rs" }, ellip = { "rp", "rs" }, bessel = {} }

--- np.signal.iirfilter(N, Wn, {btype="bandpass", ftype="butter", rp=…, rs=…, output="ba", fs=2}) -> b, a: a recursive
-- filter of order N with the edges Wn, as np.signal.butter, cheby1, cheby2, ellip and bessel make them.
--- ftype: "butter", "cheby1" with rp, "cheby2" with rs, "ellip" with both, or "bessel"
--- rp: the greatest loss where the filter passes, in decibels
--- rs: the least loss elsewhere, in decibels
--- > b, a = np.signal.iirfilter(1, {0.25, 0.5})
--- > np.round(b, 4), np.round(a, 4)
-- [ 0.2929  0.     -0.2929]
-- [ 1.     -0.5858  0.4142]
function design.iirfilter(N, Wn, given)
    local o = core.options("signal.iirfilter", given, { btype = true, ftype = true, rp = true, rs = true,
                                                        output = true, fs = true })
    local ftype, all = o.ftype == nil and "butter" or o.ftype, {}
    if not LOSSES[ftype] then
        bad_argument("signal.iirfilter", nil, "ftype", '"butter", "cheby1", "cheby2", "ellip" or "bessel"', ftype)
    end
    for key, option in pairs(o) do all[key] = option end
    for _, what in ipairs(LOSSES[ftype]) do all[what] = signals.decibels("iirfilter", nil, what, o[what]) end
    if ftype == "ellip" then check_losses("iirfilter", all.rp, all.rs) end
    return designed("iirfilter", N, Wn, 2, all, ftype)
end

-- ---- Filters of finite length ---------------------------------------------------------------------------------------

--- The passing bands, {low, high} as parts of half the sampling rate, between the cutoffs.
local function passing(name, cutoff, pass_zero, taps)
    if type(pass_zero) == "string" then
        local kind, few = BTYPES[pass_zero], #cutoff == 1
        if not kind or PAIRS[kind] and few or not PAIRS[kind] and not few then
            raise("signal." .. name, "option 'pass_zero' is %q, with %d cutoff frequenc%s", pass_zero, #cutoff,
                  few and "y" or "ies")
        end
        pass_zero = kind == "lowpass" or kind == "bandstop"
    elseif pass_zero == nil then
        pass_zero = true
    elseif type(pass_zero) ~= "boolean" then
        bad_argument("signal." .. name, nil, "pass_zero", 'true, false or a band such as "bandpass"', pass_zero)
    end
    local edges, list = { unpack(cutoff) }, {}
    if pass_zero then table.insert(edges, 1, 0) end
    if #edges % 2 == 1 then
        if taps % 2 == 0 then
            raise("signal." .. name, "an even number of taps, %d, passes nothing at half the sampling rate; take one "
                  .. "more", taps)
        end
        edges[#edges + 1] = 1
    end
    for k = 1, #edges, 2 do list[#list + 1] = { edges[k], edges[k + 1] } end
    return list
end

--- np.signal.firwin(numtaps, cutoff, {window="hamming", pass_zero=true, scale=true, fs=2}): a filter of finite length:
-- numtaps coefficients (f64), symmetric, so that all frequencies come equally late. cutoff is a frequency or a rising
-- table of frequencies, between which bands pass and are stopped in turn. The ideal filter's coefficients, sums of
-- sin(π f t) / (π t), are multiplied by a window.
--- window: a window by name, as in np.signal.get_window, or an array of numtaps elements
--- pass_zero: whether frequency 0 passes; or the band: "lowpass", "highpass", "bandpass", "bandstop"
--- scale: false: the middle of the first band does not pass by exactly 1
--- fs: elements per second, the unit of cutoff; 2 by default
--- > np.round(np.signal.firwin(5, 0.5), 4)
-- [0.     0.2037 0.5926 0.2037 0.    ]
function design.firwin(numtaps, cutoff, given)
    local name = "firwin"
    local o = core.options("signal.firwin", given, { window = true, pass_zero = true, scale = true, fs = true })
    local taps = core.integer("signal.firwin", 1, "numtaps", numtaps, 1, 2 ^ 24)
    local edges = signals.frequencies(name, 2, "cutoff", cutoff, signals.positive(name, "fs", o.fs, 2))
    local list = passing(name, edges, o.pass_zero, taps)
    local t = create.iota(taps, core.dtype_codes.f64) - (taps - 1) / 2
    local h
    for _, band in ipairs(list) do
        local part = np.sinc(t * band[2]) * band[2] - np.sinc(t * band[1]) * band[1]
        h = h and h + part or part
    end
    local window = o.window == nil and "hamming" or o.window
    if core.is_array(window) then
        if core.ndim(window) ~= 1 or window.size ~= taps then
            raise("signal.firwin", "a window of shape %s for %d taps", core.shape_text(window), taps)
        end
        h = h * np.astype(window, "f64")
    else
        h = h * signals.window(name, window, taps, false)
    end
    if o.scale == false then return h end
    local low, high = unpack(list[1])
    local middle = low == 0 and 0 or high == 1 and 1 or (low + high) / 2
    return h / np.sum(h * np.cos(t * (math.pi * middle)))
end

return design
