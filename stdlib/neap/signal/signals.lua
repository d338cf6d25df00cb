--- signals.lua: shared by the functions of np.signal: signals along the last axis, windows by name, extended ends,
-- sums of products along an axis.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument
local shape_of, type, floor = core.shape_of, type, math.floor
local F64 = core.dtype_codes.f64

local signals = {}

-- ---- Windows --------------------------------------------------------------------------------------------------------

local function boxcar(n) return np.ones({ n }, { dtype = "f64" }) end

--- A window of np in f64.
local function of_np(f)
    return function(n, periodic, parameter)
        if parameter ~= nil then return f(n, parameter, { periodic = periodic, dtype = "f64" }) end
        return f(n, { periodic = periodic, dtype = "f64" })
    end
end

--- Flat, with a cosine at each end: of all points the part `alpha` is curved.
local function tukey(n, periodic, alpha)
    if alpha <= 0 or not core.is_size(n) and n <= 1 then return boxcar(n) end
    if alpha >= 1 then return np.hanning(n, { periodic = periodic, dtype = "f64" }) end
    local i, last = create.iota(n, F64), periodic and n or math.max(n - 1, 1)
    local width = floor(alpha * last / 2)
    local function curve(at) return (np.cos(at * math.pi) + 1) * 0.5 end
    local scaled = i * (2 / alpha / last)
    local window = np.where(np.less_equal(i, width), curve(scaled - 1),
                            np.where(np.greater_equal(i, last - width), curve(scaled - (2 / alpha - 1)), 1))
    return core.is_size(n) and np.where(np.less_equal(core.number(n), 1), 1, window) or window
end

local windows = {
    boxcar = boxcar, hann = of_np(np.hanning), hamming = of_np(np.hamming), blackman = of_np(np.blackman),
    bartlett = of_np(np.bartlett), kaiser = of_np(np.kaiser), tukey = tukey,
}
local PARAMETERS = { kaiser = "beta", tukey = "alpha" }

--- The window of np.signal.name: n points in f64.
function signals.window(name, window, n, periodic)
    local kind, parameter = window, nil
    if type(window) == "table" then
        kind, parameter = core.list("signal." .. name, "the table of a window", window)[1], core.plain(window[2])
    end
    local make = type(kind) == "string" and windows[kind]
    if not make then
        bad_argument("signal." .. name, nil, "window", '"boxcar", "hann", "hamming", "blackman", "bartlett", {"tukey", '
                     .. 'alpha}, {"kaiser", beta} or an array', window)
    end
    local what = PARAMETERS[kind]
    if what and type(parameter) ~= "number" or not what and parameter ~= nil then
        raise("signal." .. name, what and "the window %q needs a number %s: {%q, %s}"
              or "the window %q has no parameter", kind, what, kind, what)
    end
    return make(n, periodic, parameter)
end

-- ---- Signals --------------------------------------------------------------------------------------------------------

--- Argument `position` of np.signal.name as floats of at least one axis, which is moved to the end, and the axis.
function signals.of(name, position, x, axis)
    x = core.coerce("signal." .. name, position, x)
    if core.ndim(x) == 0 then raise("signal." .. name, "needs at least 1 axis, got a 0-d array") end
    local dtype = core.dtype_of(x)
    x = np.astype(x, dtype.half and "f32" or dtype.real)
    axis = core.axis("signal." .. name, axis == nil and -1 or axis, core.ndim(x))
    if shape_of(x)[axis + 1] == 0 then raise("signal." .. name, "the signal has no elements") end
    return np.moveaxis(x, axis, -1), axis
end

--- An integer option of np.signal.name.
function signals.count(name, what, value, least)
    return core.integer("signal." .. name, nil, what, value, least)
end

--- An option of np.signal.name, a number above 0.
function signals.positive(name, what, value, default)
    value = core.plain(value)
    if value == nil then return default end
    if not core.is_number(value) or not (value > 0 and value < math.huge) then
        bad_argument("signal." .. name, nil, what, "a number above 0", value)
    end
    return value
end

--- Frequencies, a number or a table of them, as parts of half the sampling rate: a list that rises.
function signals.frequencies(name, position, what, Wn, fs)
    local list = type(core.plain(Wn)) == "number" and { core.plain(Wn) } or Wn
    if type(list) ~= "table" or getmetatable(list) ~= nil or #list == 0 then
        bad_argument("signal." .. name, position, what, "a number or a table of numbers", Wn)
    end
    local result, last = {}, 0
    for k = 1, #core.list("signal." .. name, what, list) do
        local w = core.plain(list[k])
        if type(w) ~= "number" or not (w * 2 / fs > last and w * 2 / fs < 1) then
            raise("signal." .. name, "argument %d (%s) must be above 0, below half the sampling rate %.14g%s, got %s",
                  position, what, fs, #list > 1 and " and rise" or "",
                  type(w) == "number" and ("%.14g"):format(w) or core.describe(w))
        end
        result[k] = w * 2 / fs
        last = result[k]
    end
    return result
end

--- Argument `position`, or an option, of np.signal.name: decibels.
function signals.decibels(name, position, what, value)
    value = core.plain(value)
    if type(value) ~= "number" or not (value >= 1e-100 and value < 3000) then -- others give no finite coefficients
        bad_argument("signal." .. name, position, what, "a number of decibels from 1e-100 to 3000", value)
    end
    return value
end

--- An option of np.NAME that is an array, or stands for one, as an array of a dtype.
function signals.array(name, what, value, dtype)
    if not core.is_array(value) and type(value) ~= "table" and not core.is_number(core.plain(value)) then
        bad_argument(name, nil, what, "an array, a number or a table of numbers", value)
    end
    local met = core.dtypes[core.dtype_codes[dtype]]
    return np.astype(operands.beside(name, ("option '%s'"):format(what), value, met), dtype)
end

--- x with `more` elements at both ends of the last axis, as the option `what` of np.signal.name says.
function signals.extended(name, what, x, more, boundary)
    if boundary == false or core.is_same(more, 0) then return x end
    local dims = shape_of(x)
    local last, n = #dims - 1, dims[#dims]
    if boundary == "zeros" then
        dims[#dims] = more
        local zeros = np.zeros(dims, { dtype = core.dtype_of(x).name })
        return shape.join({ zeros, x, zeros }, last)
    end
    local first, final = shape.cut(x, last, 0, 1), shape.cut(x, last, n - 1, n)
    dims[#dims] = more
    if boundary == "constant" then
        return shape.join({ shape.broadcast_to(first, dims), x, shape.broadcast_to(final, dims) }, last)
    end
    if boundary ~= "even" and boundary ~= "odd" then
        bad_argument("signal." .. name, nil, what, '"zeros", "even", "odd", "constant" or false', boundary)
    end
    if more >= n then raise("signal." .. name, "%d elements cannot be extended by %d", n, more) end
    local front = np.flip(shape.cut(x, last, 1, more + 1), last)
    local behind = np.flip(shape.cut(x, last, n - more - 1, n - 1), last)
    if boundary == "odd" then front, behind = first * 2 - front, final * 2 - behind end
    return shape.join({ front, x, behind }, last)
end

local MOST_BANK = 2 ^ 20 -- elements of a bank of filters

--- The same as `slid` of x (lines, n, 1) whose elements lie apart, without products with what is between them: result
-- q * apart + k is result q of filter k of a bank, whose taps are those of h that meet elements of x there. Zeros stand
-- in for the other places of a filter. nil: the bank would be large.
local function slid_by_bank(x, h, before, behind, step, apart)
    local n, taps = shape_of(x)[2], shape_of(h)[1]
    local first = -math.floor(before / apart) -- the first element of x that filters see, of turn 0
    local reach = math.floor(((apart - 1) * step + taps - 1 - before) / apart) - first + 1
    if reach * apart > MOST_BANK then return nil end
    local count = math.floor((before + (n - 1) * apart + 1 + behind - taps) / step) + 1
    local turns = math.ceil(count / apart)
    local element, filter = np.arange(first, first + reach), np.arange(apart)
    local tap = shape.reshape(element * apart + before, { reach, 1, 1 }) - filter * step
    local bank = np.where(np.logical_and(np.greater_equal(tap, 0), np.less(tap, taps)),
                          np.take(h, np.clip(tap, 0, taps - 1)), 0)
    local behind_all = math.max(0, (turns - 1) * step + first + reach - n)
    local y = np.nn.conv(x, bank, { padding = { { -first, behind_all } }, strides = step })
    local lines, found = shape_of(y)[1], shape_of(y)[2]
    return shape.cut(shape.reshape(y, { lines, found * apart, 1 }), 1, 0, count)
end

--- The sums of products of h (taps) with each of its places along the last axis of x, at every `step`; `before` and
-- `behind` zeros stand around x, whose elements lie `apart` places apart.
function signals.slid(x, h, before, behind, step, apart)
    if core.dtype_of(x).kind == "c" then
        local function part(of_x, of_h) return signals.slid(of_x, of_h, before, behind, step, apart) end
        local re, im, by_re, by_im = np.real(x), np.imag(x), np.real(h), np.imag(h)
        return np.complex(part(re, by_re) - part(im, by_im), part(re, by_im) + part(im, by_re))
    end
    local dims, last = shape_of(x), core.ndim(x)
    x = shape.reshape(x, { shape.product(dims, 1, last - 1), dims[last], 1 })
    step, apart = step or 1, apart or 1
    local y = apart > 1 and slid_by_bank(x, h, before, behind, step, apart)
        or np.nn.conv(x, shape.reshape(h, { shape_of(h)[1], 1, 1 }),
                      { padding = { { before, behind } }, strides = step, input_dilation = apart })
    dims[last] = shape_of(y)[2]
    return shape.reshape(y, dims)
end

return signals
