--- responses.lua: the responses of filters to frequencies: np.signal.freqz, sosfreqz.

--- {worN}: how many frequencies, or an array of frequencies; 512 by default
--- {whole}: true: up to the sampling rate; else up to the half
--- {fs}: elements per second; 2 pi by default, so that frequencies are angles
--- {include_nyquist}: true: half the sampling rate is the last frequency, unless `whole` is true

local core = require "neap.core"
local create = require "neap.arrays.create"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local signals = require "neap.signal.signals"

local np = core.np
local bad_argument, type = core.bad_argument, type
local shape_of = core.shape_of

local responses = {}

local function flag(name, o, what)
    local value = o[what]
    if value ~= nil and type(value) ~= "boolean" then bad_argument("signal." .. name, nil, what, "a boolean", value) end
    return value == true
end

--- The frequencies that options ask for, in options' units and as angles, of the real dtype `part`.
local function frequencies(name, o, part)
    local fs = signals.positive(name, "fs", o.fs, 2 * math.pi)
    local whole, last = flag(name, o, "whole"), flag(name, o, "include_nyquist")
    local wanted = core.plain(o.worN == nil and 512 or o.worN)
    local w
    if core.is_number(wanted) then
        local n = signals.count(name, "worN", wanted, 1)
        local steps = last and not whole and math.max(n - 1, 1) or n
        w = create.iota(n, core.dtype_codes.f64) * ((whole and fs or fs / 2) / steps)
    else
        w = signals.array("signal." .. name, "worN", wanted, "f64")
    end
    return np.astype(w, part), np.astype(w * (2 * math.pi / fs), part)
end

--- The polynomial with coefficients c, the lowest power first, at z, by Horner's rule.
local function value_at(c, z)
    return np.polyval(np.flip(c), z)
end

--- np.signal.freqz(b, a, {worN=512, whole=false, fs=2*pi, include_nyquist=false}) -> w, h: the frequencies w and the
-- response h of a filter: complex numbers, whose size is the factor and whose angle the phase of a sine.
--- > b, a = np.signal.butter(2, 0.5)
--- > w, h = np.signal.freqz(b, a, {worN=4, fs=2})
--- > w, np.round(np.abs(h), 4)
-- [0.   0.25 0.5  0.75]
-- [1.     0.9856 0.7071 0.1691]
function responses.freqz(b, a, given)
    local o = core.options("signal.freqz", given, { worN = true, whole = true, fs = true, include_nyquist = true })
    local half
    half, b, a = operands.floats_all("signal.freqz", nil, 2, b, a)
    if core.ndim(b) == 0 then b = np.reshape(b, { 1 }) end
    if core.ndim(a) == 0 then a = np.reshape(a, { 1 }) end
    local part = core.dtype_of(b).part
    local w, angle = frequencies("freqz", o, part)
    local z = np.complex(np.cos(angle), -np.sin(angle))
    return operands.narrow(w, half), value_at(b, z) / value_at(a, z)
end

--- np.signal.sosfreqz(sos, {worN=512, whole=false, fs=2*pi}) -> w, h: the same of a filter in
-- sections of second order, the product of their responses.
--- > sos = np.signal.butter(2, 0.5, {output="sos"})
--- > w, h = np.signal.sosfreqz(sos, {worN={0.5}, fs=2})
--- > np.round(np.abs(h), 4)
-- [0.7071]
function responses.sosfreqz(sos, given)
    local o = core.options("signal.sosfreqz", given, { worN = true, whole = true, fs = true })
    local half
    half, sos = operands.floats_all("signal.sosfreqz", nil, 1, sos)
    local dims = shape_of(sos)
    if #dims ~= 2 or dims[2] ~= 6 or dims[1] < 1 then
        core.raise("signal.sosfreqz", "argument 1 (sos) must be sections, of shape {n, 6}; got shape %s",
                   core.shape_text(sos))
    end
    local w, angle = frequencies("sosfreqz", o, core.dtype_of(sos).part)
    local z, h = np.complex(np.cos(angle), -np.sin(angle)), nil
    for k = 0, dims[1] - 1 do
        local part = value_at(shape.cut(sos[k], 0, 0, 3), z) / value_at(shape.cut(sos[k], 0, 3, 6), z)
        h = h and h * part or part
    end
    return operands.narrow(w, half), h
end

return responses
