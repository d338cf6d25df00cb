--- orders.lua: the least order of a filter that keeps within losses: np.signal.buttord, cheb1ord, cheb2ord, ellipord.
--
-- Edges are bent as the bilinear transform bends frequencies; the analog filter of any band is a lowpass of cutoff 1,
-- whose order follows from `steepness`, how far beyond it the nearest edge of a stopped band lies. Source: A. V.
-- Oppenheim and R. W. Schafer, Discrete-Time Signal Processing, chapter 7 and appendix B.

--- {fs}: elements per second, the unit of wp and ws; 2 by default, so that 1 is half the sampling rate

local core = require "neap.core"
local elliptic = require "neap.signal.elliptic"
local prototypes = require "neap.signal.prototypes"
local signals = require "neap.signal.signals"

local raise = core.raise
local sqrt, abs = math.sqrt, math.abs

local orders = {}

local function acosh(x) return math.log(x + sqrt((x - 1) * (x + 1))) end

--- The edge at `at` of a lowpass of cutoff 1 that has become a filter of the band whose edges are `pass`.
local function beyond(pass, at)
    if #pass == 1 then return at / pass[1] end
    return abs((at * at - pass[1] * pass[2]) / (at * (pass[1] - pass[2])))
end

local bands = {}

function bands.lowpass(pass, stop) return pass, stop[1] / pass[1] end

function bands.highpass(pass, stop) return pass, pass[1] / stop[1] end

function bands.bandpass(pass, stop)
    return pass, math.min(beyond(pass, stop[1]), beyond(pass, stop[2]))
end

--- A bandstop of which one edge may move inward: the order is least where the product of the edges, on which the
-- filter is symmetric, is that of the stopped band.
function bands.bandstop(pass, stop)
    local low, high = math.max(pass[1], stop[1] * stop[2] / pass[2]), pass[2]
    high = math.min(high, stop[1] * stop[2] / low)
    pass = { low, high }
    return pass, math.min(1 / beyond(pass, stop[1]), 1 / beyond(pass, stop[2]))
end

--- Where a band begins or ends whose lowpass of cutoff 1 does so at `at`: a list that rises.
local function edges_at(band, pass, at)
    if band == "lowpass" then return { pass[1] * at } end
    if band == "highpass" then return { pass[1] / at } end
    local half = (pass[2] - pass[1]) / 2 * (band == "bandpass" and at or 1 / at)
    local root = sqrt(half * half + pass[1] * pass[2])
    return { root - half, root + half }
end

--- The specification of np.signal.name as { band, pass, stop, steepness, gpass, gstop, unbent = function of edges }.
local function specified(name, wp, ws, gpass, gstop, given)
    local o = core.options("signal." .. name, given, { fs = true })
    local fs = signals.positive(name, "fs", o.fs, 2)
    local pass, stop = signals.frequencies(name, 1, "wp", wp, fs), signals.frequencies(name, 2, "ws", ws, fs)
    gpass, gstop = signals.decibels(name, 3, "gpass", gpass), signals.decibels(name, 4, "gstop", gstop)
    if #pass ~= #stop or #pass > 2 then
        raise("signal." .. name, "wp and ws have both one edge or both two, got %d and %d", #pass, #stop)
    end
    if gstop <= gpass then
        raise("signal." .. name, "gstop must be above gpass, got gstop = %.14g and gpass = %.14g", gstop, gpass)
    end
    local one = #pass == 1
    local inside, outside = pass, stop
    if pass[1] < stop[1] and not one then inside, outside = stop, pass end
    if one and pass[1] == stop[1] or not one and not (outside[1] < inside[1] and inside[2] < outside[2]) then
        raise("signal." .. name, one and "wp and ws are the same" or "of wp and ws one must lie within the other")
    end
    local band = one and (pass[1] < stop[1] and "lowpass" or "highpass") or inside == pass and "bandpass" or "bandstop"
    local function bent(edge) return math.tan(math.pi * edge / 2) end
    local steepness
    pass, stop = prototypes.each(pass, bent), prototypes.each(stop, bent)
    pass, steepness = bands[band](pass, stop)
    if steepness <= 1 then raise("signal." .. name, "wp and ws are too near each other") end
    local function unbent(edges)
        local list = prototypes.each(edges, function(edge) return math.atan(edge) / math.pi * fs end)
        return one and list[1] or list
    end
    return { band = band, pass = pass, steepness = steepness, gpass = prototypes.excess(gpass),
             gstop = prototypes.excess(gstop), unbent = unbent }
end

--- The whole number from an order up.
local function whole(name, order)
    if order > 500 then raise("signal." .. name, "needs an order of %.14g; filters have up to 500", order) end
    return math.max(math.ceil(order), 1)
end

--- np.signal.buttord(wp, ws, gpass, gstop, {fs=2}) -> N, Wn: the least order of a Butterworth filter, and its edges, as
-- np.signal.butter takes them: it loses at most gpass decibels where it passes, from or up to wp, and at least gstop
-- where it stops, from or up to ws. One edge each for a lowpass (wp < ws) or a highpass; two, {low, high}, for a
-- bandpass, where wp lies within ws, or a bandstop. N is a Lua number, Wn one or a table of two, in the unit of fs.
--- > N, Wn = np.signal.buttord(0.2, 0.3, 3, 40)
--- > N, ("%.4f"):format(Wn)
-- 11
-- 0.2000
function orders.buttord(wp, ws, gpass, gstop, given)
    local s = specified("buttord", wp, ws, gpass, gstop, given)
    local N = whole("buttord", math.log(s.gstop / s.gpass) / (2 * math.log(s.steepness)))
    return N, s.unbent(edges_at(s.band, s.pass, s.gpass ^ (-1 / (2 * N))))
end

--- np.signal.cheb1ord(wp, ws, gpass, gstop, {fs=2}) -> N, Wn: the least order of a Chebyshev filter of type 1, and its
-- edges, as np.signal.cheby1 takes them; otherwise as np.signal.buttord.
--- > N, Wn = np.signal.cheb1ord(0.2, 0.3, 3, 40)
--- > N, ("%.4f"):format(Wn)
-- 6
-- 0.2000
function orders.cheb1ord(wp, ws, gpass, gstop, given)
    local s = specified("cheb1ord", wp, ws, gpass, gstop, given)
    return whole("cheb1ord", acosh(sqrt(s.gstop / s.gpass)) / acosh(s.steepness)), s.unbent(s.pass)
end

--- np.signal.cheb2ord(wp, ws, gpass, gstop, {fs=2}) -> N, Wn: the least order of a Chebyshev filter of type 2, and its
-- edges, as np.signal.cheby2 takes them; otherwise as np.signal.buttord.
--- > N, Wn = np.signal.cheb2ord(0.2, 0.3, 3, 40)
--- > N, ("%.4f"):format(Wn)
-- 6
-- 0.2746
function orders.cheb2ord(wp, ws, gpass, gstop, given)
    local s = specified("cheb2ord", wp, ws, gpass, gstop, given)
    local reached = acosh(sqrt(s.gstop / s.gpass))
    local N = whole("cheb2ord", reached / acosh(s.steepness))
    return N, s.unbent(edges_at(s.band, s.pass, math.cosh(reached / N)))
end

--- np.signal.ellipord(wp, ws, gpass, gstop, {fs=2}) -> N, Wn: the least order of an elliptic filter, and its edges, as
-- np.signal.ellip takes them; otherwise as np.signal.buttord.
--- > N, Wn = np.signal.ellipord(0.2, 0.3, 3, 40)
--- > N, ("%.4f"):format(Wn)
-- 4
-- 0.2000
function orders.ellipord(wp, ws, gpass, gstop, given)
    local s = specified("ellipord", wp, ws, gpass, gstop, given)
    local k, k1 = 1 / s.steepness, sqrt(s.gpass) / sqrt(s.gstop)
    local order = elliptic.ratio(k, elliptic.complement(k)) / elliptic.ratio(k1, elliptic.complement(k1))
    return whole("ellipord", order), s.unbent(s.pass)
end

return orders
