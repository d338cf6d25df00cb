--- spectra.lua: spectra of signals, and transforms of their parts, under the names and with the options of
-- scipy.signal.
--
-- A signal is cut into segments, which may overlap: a view. Each is detrended, multiplied by a window and transformed;
-- the rest is products and means. So spectra are lazy and differentiable. Windows and factors are computed in f64.

--- {fs}: elements per second; 1 by default
--- {window}: a window by name, as in np.signal.get_window, or an array of nperseg elements
--- {nperseg}: elements of a segment; by default 256, of shorter signals all
--- {noverlap}: elements that neighbouring segments share
--- {nfft}: elements that are transformed, zeros behind those of a segment; by default nperseg
--- {detrend}: what is taken from each segment: "constant" the mean, "linear" the best straight line, false nothing
--- {return_onesided}: false gives negative frequencies, too, as complex signals have them always
--- {scaling}: "density": power per hertz; "spectrum": power
--- {axis}: the axis along which the signal runs; by default the last

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local signals = require "neap.signal.signals"

local np, ids, attrs = core.np, core.ids, core.attrs
local raise, bad_argument = core.raise, core.bad_argument
local shape_of, type, floor = core.shape_of, type, math.floor
local F64, I32 = core.dtype_codes.f64, core.dtype_codes.i32

local signal = {}

-- ---- Windows --------------------------------------------------------------------------------------------------------

--- np.signal.get_window(window, n, {fftbins=true}): a window of n points (f64) by name: "boxcar", "hann", "hamming",
-- "blackman", "bartlett", {"tukey", alpha} or {"kaiser", beta}.
--- fftbins: true: periodic, as transforms want it; false: symmetric. may stand alone behind n
--- > np.signal.get_window("hann", 4), np.signal.get_window({"tukey", 0.5}, 5, false)
-- [0.  0.5 1.  0.5]
-- [0. 1. 1. 1. 0.]
function signal.get_window(window, n, given)
    n = core.integer("signal.get_window", 2, "n", n, 1)
    local fftbins = given
    if type(given) ~= "boolean" then
        fftbins = core.options("signal.get_window", given, { fftbins = true }).fftbins
        if fftbins ~= nil and type(fftbins) ~= "boolean" then
            bad_argument("signal.get_window", nil, "fftbins", "true or false", fftbins)
        end
    end
    return signals.window("get_window", window, n, fftbins ~= false)
end

-- ---- Trends ---------------------------------------------------------------------------------------------------------

--- x without its trend along the last axis.
local function without_trend(name, x, kind)
    if kind == false then return x end
    local level = x - np.mean(x, { axis = -1, keepdims = true })
    if kind == "constant" then return level end
    if kind ~= "linear" then
        bad_argument("signal." .. name, nil, name == "detrend" and "type" or "detrend", '"constant", "linear" or false',
                     kind)
    end
    local n = shape_of(x)[core.ndim(x)]
    local at = create.iota(n, F64) - (n - 1) / 2
    local weights = np.astype(at / math.max((n * n - 1) * n / 12, 1e-300), core.dtype_of(x).part)
    local slope = np.sum(level * weights, { axis = -1, keepdims = true })
    return level - slope * np.astype(at, core.dtype_of(x).part)
end

--- np.signal.detrend(x, {axis=-1, type="linear"}): x without its trend along an axis: without the best straight
-- line, or without the mean.
--- type: "linear", or "constant": the mean
--- > np.signal.detrend(np.array{1, 2, 4, 4}, {type="constant"})
-- [-1.75 -0.75  1.25  1.25]
function signal.detrend(x, given)
    local o = core.options("signal.detrend", given, { axis = true, type = true })
    local axis, half
    x, half = operands.wide(core.coerce("signal.detrend", 1, x))
    x, axis = signals.of("detrend", 1, x, o.axis)
    local rest = without_trend("detrend", x, o.type == nil and "linear" or o.type)
    return operands.narrow(np.moveaxis(rest, -1, axis), half)
end

-- ---- Segments and their transforms ----------------------------------------------------------------------------------

--- What options say of segments of n elements at most (nil: any): { fs, window (f64), size, step, nfft, scale }.
local function plan_of(name, o, n, window)
    local p = { fs = signals.positive(name, "fs", o.fs, 1) }
    window = o.window == nil and window or o.window
    local size = o.nperseg ~= nil and signals.count(name, "nperseg", o.nperseg, 1) or 256
    if core.is_array(window) then
        if core.ndim(window) ~= 1 or o.nperseg ~= nil and window.size ~= size or n and window.size > n then
            raise("signal." .. name, "a window of shape %s does not fit segments of %d elements",
                  core.shape_text(window), o.nperseg or n or window.size)
        end
        size, window = window.size, np.astype(window, "f64")
    else
        size = n and math.min(size, n) or size
        window = signals.window(name, window, size, true)
    end
    local share = name == "spectrogram" and 8 or 2
    local overlap = o.noverlap ~= nil and signals.count(name, "noverlap", o.noverlap, 0) or floor(size / share)
    if overlap >= size then
        raise("signal." .. name, "segments of %d elements cannot share %d", size, overlap)
    end
    p.window, p.size, p.step = window, size, size - overlap
    p.nfft = o.nfft ~= nil and signals.count(name, "nfft", o.nfft, size) or size
    return p
end

--- The factor of powers.
local function scale_of(name, p, scaling)
    local density = name:find "stft" and "psd" or "density"
    if scaling == density then return 1 / (np.sum(np.square(p.window)) * p.fs) end
    if scaling == "spectrum" then return 1 / np.square(np.sum(p.window)) end
    bad_argument("signal." .. name, nil, "scaling", ('"spectrum" or "%s"'):format(density), scaling)
end

--- How many segments a signal of n elements has.
local function segments_of(p, n)
    return floor((n - p.size) / p.step) + 1
end

--- The transforms (…, segments, frequencies) of the segments of x, and whether only those of frequencies from 0 up.
local function transforms(name, x, p, o, detrend)
    local n, last = shape_of(x)[core.ndim(x)], core.ndim(x) - 1
    if n < p.size then raise("signal." .. name, "%d elements are less than a segment, of %d", n, p.size) end
    segments_of(p, n) -- a size that is known before an axis is found to be the axis
    attrs[0], attrs[1], attrs[2], attrs[3] = last, core.put(1, p.size), core.put(2, p.step), 1
    local parts = without_trend(name, core.record1(ids.windows, x, 4), detrend)
    parts = parts * np.astype(p.window, core.dtype_of(x).part)
    local onesided = o.return_onesided ~= false and core.dtype_of(x).kind ~= "c"
    return np.fft[onesided and "rfft" or "fft"](parts, { n = p.nfft }), onesided
end

--- The frequencies of transforms, and the times of the middles of segments of a signal of n elements, both as the real
-- dtype of the result.
local function frequencies(p, onesided, result)
    return np.fft[onesided and "rfftfreq" or "fftfreq"](p.nfft, 1 / p.fs, { dtype = core.dtype_of(result).part })
end

local function times(p, n, first, result)
    local seconds = (create.iota(segments_of(p, n), F64) * p.step + first) / p.fs
    return np.astype(seconds, core.dtype_of(result).part)
end

--- Powers: the product of two transforms, one conjugated. Powers of one side stand for both.
local function powers(p, a, b, scale, onesided)
    local result = rawequal(a, b) and np.square(np.real(a)) + np.square(np.imag(a)) or np.conj(a) * b
    local part = core.dtype_of(result).part
    local factor = np.astype(scale, part)
    if onesided then
        local i = create.iota(floor(p.nfft / 2) + 1, core.dtype_codes.i32)
        local alone = np.equal(i, 0)
        if core.is_size(p.nfft) then -- no whole number is the half of an odd number
            alone = np.logical_or(alone, np.equal(2 * i, p.nfft))
        elseif p.nfft % 2 == 0 then
            alone = np.logical_or(alone, np.equal(i, p.nfft / 2))
        end
        factor = factor * np.astype(np.where(alone, 1, 2), part)
    end
    return result * factor
end

-- ---- Spectra --------------------------------------------------------------------------------------------------------

local WELCH = { fs = true, window = true, nperseg = true, noverlap = true, nfft = true, detrend = true,
                return_onesided = true, scaling = true, axis = true, average = true }

--- The factor by which the median of n powers of noise is below their mean.
local function median_bias(n)
    if core.is_size(n) then
        return np.fori_loop(0, floor((n - 1) / 2), function(i, bias)
            local k = 2 * np.astype(i, "f64") + 2
            return bias + 1 / (k + 1) - 1 / k
        end, np.ones({}, { dtype = "f64" }))
    end
    local bias = 1
    for k = 2, n - 1, 2 do bias = bias + 1 / (k + 1) - 1 / k end
    return bias
end

local function averaged(name, x, average)
    if average == nil or average == "mean" then return np.mean(x, { axis = -2 }) end
    if average ~= "median" then bad_argument("signal." .. name, nil, "average", '"mean" or "median"', average) end
    local n = shape_of(x)[core.ndim(x) - 1]
    local function median(part)
        local bias = median_bias(n)
        return np.median(part, { axis = -2 }) / (core.is_array(bias) and np.astype(bias, part.dtype) or bias)
    end
    if core.dtype_of(x).kind == "c" then return np.complex(median(np.real(x)), median(np.imag(x))) end
    return median(x)
end

--- Frequencies and mean powers of x with y.
local function spectrum(name, x, y, o, window)
    local axis, other
    x, axis = signals.of(name, 1, x, o.axis)
    local n = shape_of(x)[core.ndim(x)]
    local p = plan_of(name, o, n, window)
    local scale = scale_of(name, p, o.scaling == nil and "density" or o.scaling)
    local detrend = o.detrend == nil and "constant" or o.detrend
    if y ~= nil then
        y = signals.of(name, 2, y, o.axis)
        if shape_of(y)[core.ndim(y)] ~= n then
            raise("signal." .. name, "signals of %d and %d elements", n, shape_of(y)[core.ndim(y)])
        end
        local both = np.result_type(x, y)
        x, y = np.astype(x, both), np.astype(y, both)
        other = transforms(name, y, p, o, detrend)
    end
    local a, onesided = transforms(name, x, p, o, detrend)
    local result = averaged(name, powers(p, a, other or a, scale, onesided), o.average)
    return frequencies(p, onesided, result), np.moveaxis(result, -1, axis)
end

--- np.signal.welch(x, {fs=1, window="hann", nperseg=256, noverlap=…, nfft=…, detrend="constant", return_onesided=true,
-- scaling="density", axis=-1, average="mean"}) -> f, power: the power of a signal by frequency, the mean over segments
-- of which each shares half of its elements with the next: Welch's method.
--- noverlap: elements that neighbouring segments share; by default half
--- average: "median" of the segments, or "mean"
--- > f, power = np.signal.welch(np.sin(np.arange(64) * (np.pi / 4)), {nperseg=16})
--- > f[np.argmax(power):item()]
-- 0.125
function signal.welch(x, given)
    return spectrum("welch", x, nil, core.options("signal.welch", given, WELCH), "hann")
end

--- np.signal.csd(x, y, {fs=1, window="hann", nperseg=256, noverlap=…, nfft=…, detrend="constant",
-- return_onesided=true, scaling="density", axis=-1, average="mean"}) -> f, power: the cross power of two signals, as
-- np.signal.welch: complex, x's transforms conjugated.
--- noverlap: elements that neighbouring segments share; by default half
--- average: "median" of the segments, or "mean"
--- > f, power = np.signal.csd(np.arange(8), np.arange(8), {nperseg=4})
--- > power.dtype
-- c64
function signal.csd(x, y, given)
    local o = core.options("signal.csd", given, WELCH)
    local f, power = spectrum("csd", x, core.coerce("signal.csd", 2, y), o, "hann")
    return f, power
end

local PERIODOGRAM = { fs = true, window = true, nfft = true, detrend = true, return_onesided = true, scaling = true,
                      axis = true }

--- np.signal.periodogram(x, {fs=1, window="boxcar", nfft=…, detrend="constant", return_onesided=true,
-- scaling="density", axis=-1}) -> f, power: the power of a signal by frequency, from a transform of the whole.
--- nfft: elements that are transformed, zeros behind the signal, or less than it has; all by default
--- > np.signal.periodogram(np.array{1, -1, 1, -1})
-- [0.   0.25 0.5 ]
-- [0. 0. 4.]
function signal.periodogram(x, given)
    local o = core.options("signal.periodogram", given, PERIODOGRAM)
    local all, axis = {}
    for key, value in pairs(o) do all[key] = value end
    x, axis = signals.of("periodogram", 1, x, o.axis)
    local n = shape_of(x)[core.ndim(x)]
    local nfft = o.nfft ~= nil and signals.count("periodogram", "nfft", o.nfft, 1) or nil
    if nfft and (core.is_size(n) or core.is_size(nfft)) then
        n = math.min(n, nfft)
        x = shape.cut(x, core.ndim(x) - 1, 0, n)
    elseif nfft and nfft < n then
        n, all.nfft = nfft, nil
        x = shape.cut(x, core.ndim(x) - 1, 0, n)
    end
    all.nperseg, all.noverlap, all.axis = n, 0, -1
    local f, power = spectrum("periodogram", x, nil, all, "boxcar")
    return f, np.moveaxis(power, -1, axis)
end

local SPECTROGRAM = { fs = true, window = true, nperseg = true, noverlap = true, nfft = true, detrend = true,
                      return_onesided = true, scaling = true, axis = true, mode = true }

--- np.signal.spectrogram(x, {fs=1, window={"tukey", 0.25}, nperseg=256, noverlap=…, nfft=…, detrend="constant",
-- return_onesided=true, scaling="density", axis=-1, mode="psd"}) -> f, t, power: the power of a signal by frequency and
-- time: frequencies lie along the axis, times along a new last axis.
--- noverlap: elements that neighbouring segments share; by default an eighth
--- mode: "complex" gives the transforms, "magnitude" the size, "angle" the angle, "phase" the angle without jumps
--- > f, t, power = np.signal.spectrogram(np.arange(64), {nperseg=16, fs=2})
--- > #power, t
-- 9
-- [ 4. 11. 18. 25.]
function signal.spectrogram(x, given)
    local name = "spectrogram"
    local o = core.options("signal.spectrogram", given, SPECTROGRAM)
    local axis
    x, axis = signals.of(name, 1, x, o.axis)
    local n = shape_of(x)[core.ndim(x)]
    local p = plan_of(name, o, n, { "tukey", 0.25 })
    local scale = scale_of(name, p, o.scaling == nil and "density" or o.scaling)
    local a, onesided = transforms(name, x, p, o, o.detrend == nil and "constant" or o.detrend)
    local mode, result = o.mode == nil and "psd" or o.mode
    if mode == "psd" then
        result = powers(p, a, a, scale, onesided)
    else
        result = a * np.astype(np.sqrt(scale), core.dtype_of(a).part)
        if mode == "magnitude" then
            result = np.abs(result)
        elseif mode == "angle" then
            result = np.angle(result)
        elseif mode == "phase" then
            result = np.unwrap(np.angle(result), { axis = -2 })
        elseif mode ~= "complex" then
            bad_argument("signal." .. name, nil, "mode", '"psd", "complex", "magnitude", "angle" or "phase"', mode)
        end
    end
    return frequencies(p, onesided, result), times(p, n, p.size / 2, result), np.moveaxis(result, -1, axis)
end

-- ---- Transforms of parts, and back ----------------------------------------------------------------------------------

local STFT = { fs = true, window = true, nperseg = true, noverlap = true, nfft = true, detrend = true,
               return_onesided = true, boundary = true, padded = true, scaling = true, axis = true }

--- np.signal.stft(x, {fs=1, window="hann", nperseg=256, noverlap=…, nfft=…, detrend=false, return_onesided=true,
-- boundary="zeros", padded=true, axis=-1, scaling="spectrum"}) -> f, t, z: the transforms of windowed segments:
-- frequencies lie along the axis, times along a new last axis. np.signal.istft gives the signal back.
--- noverlap: elements that neighbouring segments share; by default half
--- boundary: half a segment at both ends: "zeros", "even", "odd" or "constant"; false: nothing
--- padded: false leaves out elements that fill no segment; else zeros fill the segment
--- scaling: "spectrum", or "psd": power per hertz
--- > f, t, z = np.signal.stft(np.arange(16), {nperseg=8})
--- > #z, t
-- 5
-- [ 0.  4.  8. 12. 16.]
function signal.stft(x, given)
    local o = core.options("signal.stft", given, STFT)
    local axis
    x, axis = signals.of("stft", 1, x, o.axis)
    local p = plan_of("stft", o, shape_of(x)[core.ndim(x)], "hann")
    local boundary = o.boundary == nil and "zeros" or o.boundary
    x = signals.extended("stft", "boundary", x, floor(p.size / 2), boundary)
    local dims = shape_of(x)
    local rest = (p.size - dims[#dims]) % p.step % p.size
    if o.padded ~= false and (core.is_size(rest) or rest > 0) then
        dims[#dims] = rest
        x = shape.join({ x, np.zeros(dims, { dtype = core.dtype_of(x).name }) }, #dims - 1)
    end
    local n = shape_of(x)[#dims]
    local scale = scale_of("stft", p, o.scaling == nil and "spectrum" or o.scaling)
    local z, onesided = transforms("stft", x, p, o, o.detrend ~= nil and o.detrend)
    z = z * np.astype(np.sqrt(scale), core.dtype_of(z).part)
    local first = boundary == false and p.size / 2 or 0
    return frequencies(p, onesided, z), times(p, n, first, z), np.moveaxis(z, -1, axis)
end

local ISTFT = { fs = true, window = true, nperseg = true, noverlap = true, nfft = true, input_onesided = true,
                boundary = true, time_axis = true, freq_axis = true, scaling = true }

--- z with times and frequencies as the last two axes; where times lie among the axes without frequencies.
local function by_times(z, o)
    local ndim, order = core.ndim(z), {}
    local time = core.axis("signal.istft", o.time_axis == nil and -1 or o.time_axis, ndim)
    local frequency = core.axis("signal.istft", o.freq_axis == nil and -2 or o.freq_axis, ndim)
    if time == frequency then raise("signal.istft", "time_axis and freq_axis are both axis %d", time) end
    for k = 0, ndim - 1 do
        if k ~= time and k ~= frequency then order[#order + 1] = k end
    end
    order[#order + 1], order[#order + 2] = time, frequency
    return np.transpose(z, order), frequency < time and time - 1 or time
end

--- Rows (…, segments, size) added where they overlap.
local function overlapped(rows, step)
    local dims = shape_of(rows)
    local size = table.remove(dims)
    local segments = table.remove(dims)
    local places = np.ravel(np.expand_dims(create.iota(segments, I32) * step, 1) + create.iota(size, I32))
    dims[#dims + 1] = segments * size
    rows = shape.reshape(rows, dims)
    dims[#dims] = size + (segments - 1) * step
    local zeros = np.zeros(dims, { dtype = core.dtype_of(rows).name })
    return zeros:at { np.ellipsis, places }:add(rows)
end

--- np.signal.istft(z, {fs=1, window="hann", nperseg=…, noverlap=…, nfft=…, input_onesided=true, boundary=true,
-- time_axis=-1, freq_axis=-2, scaling="spectrum"}) -> t, x: the signal of which np.signal.stft with the same options
-- gives z.
--- nperseg: elements of a segment; by default as many as z's frequencies say
--- noverlap: elements that neighbouring segments share; by default half
--- input_onesided: false: z has negative frequencies, too, and the signal is complex
--- boundary: false: the signal was not extended at its ends
--- time_axis: the axis of times
--- freq_axis: the axis of frequencies
--- scaling: "spectrum", or "psd": power per hertz
--- > f, t, z = np.signal.stft(np.arange(6), {nperseg=4})
--- > t, x = np.signal.istft(z)
--- > np.round(x, 4)
-- [0. 1. 2. 3. 4. 5.]
function signal.istft(z, given)
    local o = core.options("signal.istft", given, ISTFT)
    z = core.coerce("signal.istft", 1, z)
    if core.ndim(z) < 2 then raise("signal.istft", "needs axes of frequencies and times, got shape %s",
                                   core.shape_text(z)) end
    local dtype = core.dtype_of(z)
    local time
    z, time = by_times(z, o)
    local onesided, have = o.input_onesided ~= false, shape_of(z)[core.ndim(z)]
    local most = onesided and 2 * (have - 1) or have
    local all = {}
    for key, value in pairs(o) do all[key] = value end
    if o.nperseg == nil then all.nperseg = math.max(most, 1) end
    if o.nfft == nil then all.nfft = onesided and all.nperseg == most + 1 and all.nperseg or most end
    if o.nfft == nil and core.is_number(all.nperseg) and all.nperseg > all.nfft then
        raise("signal.istft", "%d frequencies do not come from segments of %d elements", have, all.nperseg)
    end
    local p = plan_of("istft", all, nil, "hann")
    if p.nfft < 1 or (onesided and floor(p.nfft / 2) + 1 or p.nfft) ~= have then
        raise("signal.istft", "%d frequencies do not come from transforms of %d elements", have, p.nfft)
    end
    local rows = np.fft[onesided and "irfft" or "ifft"](z, { n = p.nfft })
    rows = shape.cut(rows, core.ndim(rows) - 1, 0, p.size)
    local part = dtype.half and "f32" or core.dtypes[core.dtype_codes[dtype.real]].part
    local scale = scale_of("istft", p, o.scaling == nil and "spectrum" or o.scaling)
    local window = np.astype(p.window / np.sqrt(scale), part)
    local x = overlapped(rows * window, p.step)
    local norm = overlapped(shape.broadcast_to(np.square(p.window), { shape_of(rows)[core.ndim(rows) - 1], p.size }),
                            p.step)
    local last, n = core.ndim(x) - 1, shape_of(x)[core.ndim(x)]
    if o.boundary ~= false then
        local half = floor(p.size / 2)
        if n <= 2 * half then raise("signal.istft", "too few segments for a signal that was extended at its ends") end
        x, norm, n = shape.cut(x, last, half, n - half), shape.cut(norm, 0, half, n - half), n - 2 * half
    end
    x = x / np.astype(np.where(np.greater(norm, 1e-10), norm, 1), part)
    return np.astype(create.iota(n, F64) / p.fs, part), np.moveaxis(x, -1, time)
end

return signal
