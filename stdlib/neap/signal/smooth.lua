--- smooth.lua: smooth signals, and envelopes: np.signal.savgol_filter, medfilt, hilbert.

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local ranked_element = require "neap.arrays.ranked"
local signals = require "neap.signal.signals"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument
local shape_of, cut, join = core.shape_of, shape.cut, shape.join

local smooth = {}

-- ---- Polynomials that fit a window ----------------------------------------------------------------------------------

-- The polynomial of degree d that fits the points y[0], …, y[n - 1] best is the sum over the orthonormal polynomials p
-- of these points (Gram's) of p (p · y). So a value of the polynomial, or of a derivative, is a sum of y's
-- elements with weights that do not depend on y. P. A. Gorry, Analytical Chemistry 62, 570 (1990).

--- Values and derivatives of Gram's polynomials at place t of a window of n points, centred: rows[degree][order]. With
-- g[k]² = k² (n² - k²) / (16 k² - 4), g[k] p[k] = t p[k - 1] - g[k - 1] p[k - 2].
local function gram(n, degree, order, t)
    local rows, before = {}, 0
    for k = 0, degree do
        local row, last, older = {}, rows[k - 1], rows[k - 2]
        local g = math.sqrt(k * k * (n * n - k * k) / (16 * k * k - 4))
        for s = 0, order do
            if k == 0 then
                row[s] = s == 0 and 1 / math.sqrt(n) or 0
            else
                local slope = s > 0 and s * last[s - 1] or 0
                row[s] = (t * last[s] + slope - (older and before * older[s] or 0)) / g
            end
        end
        rows[k], before = row, g
    end
    return rows
end

--- The weights of the points of a window for the derivative `order` of the polynomial at each place of a list: a list
-- of lists.
local function weights(n, degree, order, places, delta)
    local values, result = {}, {}
    for j = 0, n - 1 do values[j] = gram(n, degree, 0, j - (n - 1) / 2) end
    for i, place in ipairs(places) do
        local at, row = gram(n, degree, order, place - (n - 1) / 2), {}
        for j = 0, n - 1 do
            local sum = 0
            for k = 0, degree do sum = sum + values[j][k][0] * at[k][order] end
            row[j + 1] = sum / delta ^ order
        end
        result[i] = row
    end
    return result
end

local PADS = { mirror = "reflect", nearest = "edge", wrap = "wrap", constant = "constant" }

--- The ends of a signal (…, n) as polynomials fit them: `half` elements at each one.
local function fitted_ends(x, window, degree, order, delta)
    local half, n, last = math.floor(window / 2), shape_of(x)[core.ndim(x)], core.ndim(x) - 1
    local before, behind = {}, {}
    for k = 1, half do before[k], behind[k] = k - 1, window - half + k - 1 end
    local function fit(from, places)
        local factors = np.array(weights(window, degree, order, places, delta), { dtype = "f64" })
        return np.matmul(cut(x, last, from, from + window), np.astype(np.transpose(factors), x.dtype))
    end
    return fit(0, before), fit(n - window, behind)
end

--- np.signal.savgol_filter(x, window_length, polyorder, {deriv=0, delta=1, axis=-1, mode="interp", cval=0}): x
-- smoothed: each element becomes the value of the polynomial of degree polyorder which fits the window around best, or
-- of a derivative: the filter of A. Savitzky and M. J. E. Golay. window_length is odd, and above polyorder.
--- deriv: the order of the derivative; 0: the polynomial
--- delta: the distance of elements, for derivatives
--- axis: along which the signal runs
--- mode: the ends: "interp" the polynomials of the first and the last window; else the signal goes on as
-- "mirror", "nearest", "wrap" or "constant"
--- cval: the elements beyond the ends with "constant"
--- > np.round(np.signal.savgol_filter(np.array{1, 2, 5, 10, 17}, 3, 2), 4)
-- [ 1.  2.  5. 10. 17.]
--- > np.round(np.signal.savgol_filter(np.array{0, 0, 1, 0, 0}, 3, 1), 4)
-- [-0.1667  0.3333  0.3333  0.3333 -0.1667]
function smooth.savgol_filter(x, window_length, polyorder, given)
    local name = "savgol_filter"
    local o = core.options("signal.savgol_filter", given, { deriv = true, delta = true, axis = true, mode = true,
                                                            cval = true })
    local window = core.integer("signal.savgol_filter", 2, "window_length", window_length, 1, 2 ^ 16)
    local degree = core.integer("signal.savgol_filter", 3, "polyorder", polyorder, 0)
    if window % 2 == 0 then raise("signal.savgol_filter", "argument 2 (window_length) must be odd, got %d", window) end
    if degree >= window then
        raise("signal.savgol_filter", "a window of %d elements has no best polynomial of degree %d", window, degree)
    end
    local order = o.deriv == nil and 0 or signals.count(name, "deriv", o.deriv, 0)
    local delta, mode = signals.positive(name, "delta", o.delta, 1), o.mode == nil and "interp" or o.mode
    if mode ~= "interp" and not PADS[mode] then
        bad_argument("signal.savgol_filter", nil, "mode", '"interp", "mirror", "nearest", "wrap" or "constant"', mode)
    end
    local cval = core.plain(o.cval == nil and 0 or o.cval)
    if not core.is_number(cval) then bad_argument("signal.savgol_filter", nil, "cval", "a number", cval) end
    local half, axis
    x, half = operands.wide(core.coerce("signal.savgol_filter", 1, x))
    x, axis = signals.of(name, 1, x, o.axis)
    local side, n, last = math.floor(window / 2), shape_of(x)[core.ndim(x)], core.ndim(x) - 1
    if mode == "interp" and n < window then
        raise("signal.savgol_filter", "a signal of %s elements is shorter than the window, of %d; give option 'mode'",
              tostring(n), window)
    end
    local middle = np.array(weights(window, degree, order, { side }, delta)[1], { dtype = "f64" })
    middle = np.astype(middle, x.dtype)
    local y
    if side == 0 then
        y = signals.slid(x, middle, 0, 0)
    elseif mode == "interp" then
        local before, behind = fitted_ends(x, window, degree, order, delta)
        y = join({ before, signals.slid(x, middle, 0, 0), behind }, last)
    else
        local width = {}
        for k = 1, last do width[k] = { 0, 0 } end
        width[last + 1] = { side, side }
        x = np.pad(x, width, { mode = PADS[mode], value = mode == "constant" and cval or nil })
        y = signals.slid(x, middle, 0, 0)
    end
    return operands.narrow(np.moveaxis(y, -1, axis), half)
end

-- ---- Medians --------------------------------------------------------------------------------------------------------

--- np.signal.medfilt(x, kernel_size): each element becomes the median of the window around, zeros standing beyond
-- the ends. Keeps x's dtype. kernel_size is odd: a number, or a table of a number for each axis; 3 by default.
--- > np.signal.medfilt(np.array{1, 9, 2, 3, 3})
-- [1. 2. 3. 3. 3.]
function smooth.medfilt(x, kernel_size)
    x = core.coerce("signal.medfilt", 1, x)
    local dims, kernel = shape_of(x), core.plain(kernel_size == nil and 3 or kernel_size)
    local dtype = core.dtype_of(x)
    if dtype.kind == "c" then raise("signal.medfilt", "complex numbers have no order, got dtype %s", dtype.name) end
    if #dims == 0 then raise("signal.medfilt", "needs at least 1 axis, got a 0-d array") end
    if type(kernel) ~= "table" then
        local n = kernel
        kernel = {}
        for k = 1, #dims do kernel[k] = n end
    end
    kernel = core.integers("signal.medfilt", 2, "extents", kernel, 1)
    if #kernel ~= #dims then raise("signal.medfilt", "%d extents of a window for %d axes", #kernel, #dims) end
    local width, count = {}, 1
    for k, n in ipairs(kernel) do
        if n % 2 == 0 then raise("signal.medfilt", "argument 2 (kernel_size) must be odd, got %d", n) end
        width[k], count = { (n - 1) / 2, (n - 1) / 2 }, count * n
    end
    return ranked_element(np.pad(x, width), kernel, (count - 1) / 2)
end

-- ---- The analytic signal --------------------------------------------------------------------------------------------

--- np.signal.hilbert(x, {N=…, axis=-1}): the analytic signal: complex, x as the real part, and as the
-- imaginary part x with each frequency a quarter of a turn later: Hilbert's transform. The size is the envelope of x,
-- the angle the phase. From x's Fourier transform, without negative frequencies.
--- N: how many elements are transformed, as in np.fft.fft; all by default
--- axis: along which the signal runs
--- > np.signal.hilbert(np.array{1, 0, -1, 0})
-- [ 1.+0.j  0.+1.j -1.+0.j  0.-1.j]
function smooth.hilbert(x, given)
    local o = core.options("signal.hilbert", given, { N = true, axis = true })
    local axis
    x, axis = signals.of("hilbert", 1, x, o.axis)
    if core.dtype_of(x).kind == "c" then
        raise("signal.hilbert", "takes real numbers, got dtype %s; x.real is the real part", core.dtype_of(x).name)
    end
    local n = o.N == nil and shape_of(x)[core.ndim(x)] or signals.count("hilbert", "N", o.N, 1)
    local z = np.fft.fft(x, { n = n })
    local k = create.iota(n, core.dtype_codes.f64)
    local alone = np.logical_or(np.equal(k, 0), np.equal(k * 2, n))
    local factor = np.where(alone, 1, np.where(np.less(k * 2, n), 2, 0))
    return np.moveaxis(np.fft.ifft(z * np.astype(factor, core.dtype_of(z).part)), -1, axis)
end

return smooth
