--- filters.lua: np.image's filters: sums of products, gaussian and uniform ones, derivatives, and ranks in windows.

--- {mode}: how the image goes on: "reflect" (the edge twice), "mirror" (the edge once), "nearest", "wrap", "constant"
--- {cval}: the elements beyond the ends with "constant"

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local ranked_element = require "neap.arrays.ranked"
local windows = require "neap.image.windows"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument
local shape_of = core.shape_of

local filters = {}

--- Argument 1 as an image of floats, and the half.
local function floats(name, x)
    return operands.wide(operands.float(windows.image(name, x)))
end

-- ---- Sums of products -----------------------------------------------------------------------------------------------

--- The sums of products of weights with the windows of x, which is extended.
local function summed(x, weights)
    if core.dtype_of(x).kind == "c" then
        local re, im, by_re, by_im = np.real(x), np.imag(x), np.real(weights), np.imag(weights)
        return np.complex(summed(re, by_re) - summed(im, by_im), summed(re, by_im) + summed(im, by_re))
    end
    local dims, kernel = shape_of(x), shape_of(weights)
    local y = np.nn.conv(shape.reshape(x, { 1, dims[1], dims[2] or 1, dims[3] or 1, 1 }),
                         shape.reshape(weights, { kernel[1], kernel[2] or 1, kernel[3] or 1, 1, 1 }),
                         { padding = "VALID" })
    for k = 1, #dims do dims[k] = shape_of(y)[k + 1] end
    return shape.reshape(y, dims)
end

local function weighted(name, x, weights, given, turned)
    local ends = windows.ends(name, core.options("image." .. name, given, { mode = true, cval = true }))
    local half
    half, x, weights = operands.floats_all("image." .. name, nil, 2, x, weights)
    x = windows.image(name, x)
    local n = core.ndim(x)
    if n > 3 or core.ndim(weights) ~= n then
        raise("image." .. name, "an image of 1 to 3 axes and weights of as many are needed, got shapes %s and %s",
              core.shape_text(x), core.shape_text(weights))
    end
    for _, size in ipairs(shape_of(weights)) do
        if size == 0 then raise("image." .. name, "the weights have no elements") end
    end
    x = windows.extended(x, shape_of(weights), ends, turned)
    return operands.narrow(summed(x, turned and np.flip(weights) or np.conj(weights)), half)
end

--- np.image.correlate(x, weights, {mode="reflect", cval=0}), np.image.convolve(x, weights, {mode="reflect", cval=0}):
-- the sum of products of weights with the elements around each place, of an image of 1 to 3 axes; np.image.convolve
-- turns the weights around, np.image.correlate takes conj(weights). The result has x's shape, and the dtype in which x
-- and weights meet; integers give floats.
--- > np.image.correlate(np.array{0, 0, 1, 0, 0}, {1, 2, 3}), np.image.convolve(np.array{0, 0, 1, 0, 0}, {1, 2, 3})
-- [0. 3. 2. 1. 0.]
-- [0. 1. 2. 3. 0.]
function filters.correlate(x, weights, given) return weighted("correlate", x, weights, given, false) end

function filters.convolve(x, weights, given) return weighted("convolve", x, weights, given, true) end

local MOST_SUMMED = 32 -- elements of a window that is summed; larger ones take no longer as convolutions

--- np.image.uniform_filter(x, size, {mode="reflect", cval=0}): the mean of the window around each place. Integers give
-- floats. size is an integer, or a table of one for each axis; 3 by default.
--- > np.image.uniform_filter(np.array{0, 0, 3, 0, 0}, 3)
-- [0. 1. 1. 1. 0.]
function filters.uniform_filter(x, size, given)
    local name = "uniform_filter"
    local ends = windows.ends(name, core.options("image.uniform_filter", given, { mode = true, cval = true }))
    local half
    x, half = floats(name, x)
    for k, n in ipairs(windows.sizes(name, 2, size, core.ndim(x))) do
        if n > 1 and n <= MOST_SUMMED then
            x = windows.extended(x, windows.only(core.ndim(x), k - 1, n), ends)
            x = np.mean(np.sliding_window_view(x, n, { axis = k - 1 }), { axis = -1 })
        elseif n > 1 then
            x = windows.along(x, k - 1, np.full({ n }, 1 / n, { dtype = "f64" }), ends)
        end
    end
    return operands.narrow(x, half)
end

--- The weights of a gaussian with deviation sigma, or of a derivative: f64. A derivative is the gaussian times a
-- polynomial q in t, and q becomes q' - q t / sigma².
local function gaussian(sigma, order, radius)
    local t = create.iota(2 * radius + 1, core.dtype_codes.f64) - radius
    local weights = np.exp(np.square(t / sigma) * -0.5)
    weights = weights / np.sum(weights)
    local q = { 1 }
    for _ = 1, order do
        local new = {}
        for k = 1, #q + 1 do new[k] = (q[k + 1] or 0) * k - (q[k - 1] or 0) / (sigma * sigma) end
        q = new
    end
    local factor = q[#q]
    for k = #q - 1, 1, -1 do factor = factor * t + q[k] end
    return weights * factor
end

--- x filtered along each axis by the gaussian, or its derivative of the order of that axis.
local function blurred(x, sigmas, orders, truncate, ends)
    for k, sigma in ipairs(sigmas) do
        if sigma > 1e-15 then
            local weights = gaussian(sigma, orders[k], math.floor(truncate * sigma + 0.5))
            x = windows.along(x, k - 1, np.flip(weights), ends)
        end
    end
    return x
end

local function from_zero(value) return value >= 0 and value < 2 ^ 20 end

local function gaussian_options(name, x, sigma, o)
    local n = core.ndim(x)
    local truncate = core.plain(o.truncate == nil and 4 or o.truncate)
    if type(truncate) ~= "number" or not (truncate > 0 and truncate < 2 ^ 20) then
        bad_argument("image." .. name, nil, "truncate", "a number above 0", truncate)
    end
    return windows.per_axis(name, 2, "sigma", sigma, n, "a number from 0", from_zero), truncate, windows.ends(name, o)
end

--- np.image.gaussian_filter(x, sigma, {order=0, truncate=4, mode="reflect", cval=0}): x smoothed by a gaussian with the
-- standard deviation sigma, a number or a table of one for each axis, 0 leaving an axis as it is. Integers give floats.
--- order: of the derivative that is taken of the gaussian, an integer or a table of one for each axis
--- truncate: at how many deviations the gaussian ends
--- > np.round(np.image.gaussian_filter(np.array{0, 0, 1, 0, 0}, 1), 3)
-- [0.058 0.242 0.399 0.242 0.058]
function filters.gaussian_filter(x, sigma, given)
    local name = "gaussian_filter"
    local o = core.options("image.gaussian_filter", given, { order = true, truncate = true, mode = true, cval = true })
    local half
    x, half = floats(name, x)
    local sigmas, truncate, ends = gaussian_options(name, x, sigma, o)
    local orders = windows.per_axis(name, nil, "order", o.order == nil and 0 or o.order, core.ndim(x),
                                    "an integer from 0", function(order) return order % 1 == 0 and order >= 0 end)
    return operands.narrow(blurred(x, sigmas, orders, truncate, ends), half)
end

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

local function f64(list) return np.array(list, { dtype = "f64" }) end

local function define_slope(name, across)
    filters[name] = function(x, given)
        local o = core.options("image." .. name, given, { axis = true, mode = true, cval = true })
        local ends = windows.ends(name, o)
        local half
        x, half = floats(name, x)
        local axis = core.axis("image." .. name, o.axis == nil and -1 or o.axis, core.ndim(x))
        x = windows.along(x, axis, f64 { -1, 0, 1 }, ends)
        for k = 0, core.ndim(x) - 1 do
            if k ~= axis then x = windows.along(x, k, f64(across), ends) end
        end
        return operands.narrow(x, half)
    end
end
--- np.image.sobel(x, {axis=-1, mode="reflect", cval=0}), np.image.prewitt(x, {axis=-1, mode="reflect", cval=0}): how
-- much an image rises along an axis: the difference of both neighbours, summed over the other axes with the weights
-- {1, 2, 1}, of np.image.prewitt {1, 1, 1}. Integers give floats.
--- axis: the axis of the differences; by default the last
--- > np.image.sobel(np.array{{0, 1, 2}, {0, 1, 2}})
-- [[4. 8. 4.]
--  [4. 8. 4.]]
--- > np.image.prewitt(np.array{0, 1, 2})
-- [1. 2. 1.]
define_slope("sobel", { 1, 2, 1 })
define_slope("prewitt", { 1, 1, 1 })

--- np.image.laplace(x, {mode="reflect", cval=0}): the sum of the second differences along all axes. Integers give
-- floats.
--- > np.image.laplace(np.array{0, 0, 1, 0, 0})
-- [ 0.  1. -2.  1.  0.]
function filters.laplace(x, given)
    local ends = windows.ends("laplace", core.options("image.laplace", given, { mode = true, cval = true }))
    local half, sum
    x, half = floats("laplace", x)
    for k = 0, core.ndim(x) - 1 do
        local part = windows.along(x, k, f64 { 1, -2, 1 }, ends)
        sum = sum and sum + part or part
    end
    return operands.narrow(sum, half)
end

--- The derivatives of order `order` of smoothed x along each axis, a list.
local function derivatives(name, x, sigma, order, given)
    local o = core.options("image." .. name, given, { truncate = true, mode = true, cval = true })
    local half
    x, half = floats(name, x)
    local sigmas, truncate, ends = gaussian_options(name, x, sigma, o)
    local list, n = {}, core.ndim(x)
    for k = 1, n do
        local orders = {}
        for j = 1, n do orders[j] = j == k and order or 0 end
        list[k] = blurred(x, sigmas, orders, truncate, ends)
    end
    return list, half
end

--- np.image.gaussian_laplace(x, sigma, {truncate=4, mode="reflect", cval=0}),
-- np.image.gaussian_gradient_magnitude(x, sigma, {truncate=4, mode="reflect", cval=0}): the sum of the second
-- derivatives of x smoothed by a gaussian; and the length of its slope, the root of the sum of squares of the first
-- derivatives. sigma as in np.image.gaussian_filter.
--- truncate: at how many deviations the gaussian ends
--- > np.round(np.image.gaussian_laplace(np.array{0, 0, 1, 0, 0}, 1), 4)
-- [ 0.1974  0.002  -0.3989  0.002   0.1974]
--- > np.round(np.image.gaussian_gradient_magnitude(np.array{0, 0, 1, 0, 0}, 1), 4)
-- [0.0947 0.2414 0.     0.2414 0.0947]
function filters.gaussian_laplace(x, sigma, given)
    local list, half = derivatives("gaussian_laplace", x, sigma, 2, given)
    local sum = list[1]
    for k = 2, #list do sum = sum + list[k] end
    return operands.narrow(sum, half)
end

function filters.gaussian_gradient_magnitude(x, sigma, given)
    local list, half = derivatives("gaussian_gradient_magnitude", x, sigma, 1, given)
    local sum
    for _, part in ipairs(list) do
        local square = operands.squares(part)
        sum = sum and sum + square or square
    end
    local flat = np.equal(sum, 0) -- where the root has no derivative
    return operands.narrow(np.where(flat, 0, np.sqrt(np.where(flat, 1, sum))), half)
end

-- ---- Ranks ----------------------------------------------------------------------------------------------------------

--- np.image.minimum_filter(x, size, {mode="reflect", cval=0}), np.image.maximum_filter(x, size, {mode="reflect",
-- cval=0}): the least or the greatest element of the window around each place. Keeps x's dtype. size is an integer, or
-- a table of one for each axis; 3 by default.
--- > np.image.minimum_filter(np.array{3, 1, 2, 5, 4}, 3), np.image.maximum_filter(np.array{3, 1, 2, 5, 4}, 3)
-- [1. 1. 1. 2. 4.]
-- [3. 3. 5. 5. 5.]
function filters.minimum_filter(x, size, given) return windows.extreme("minimum_filter", x, size, given, "min") end

function filters.maximum_filter(x, size, given) return windows.extreme("maximum_filter", x, size, given, "max") end

--- Element `rank`(count) of the sorted elements of each window.
local function ranked(name, x, size, given, rank)
    local ends = windows.ends(name, core.options("image." .. name, given, { mode = true, cval = true }))
    x = windows.ordered(name, x)
    local sizes = windows.sizes(name, nil, size, core.ndim(x))
    return ranked_element(windows.extended(x, sizes, ends), sizes, rank(shape.product(sizes)))
end

--- np.image.median_filter(x, size, {mode="reflect", cval=0}): the median of the window around each place: of an even
-- number of elements the upper one. Keeps x's dtype. size is an integer, or a table of one for each axis; 3 by default.
--- > np.image.median_filter(np.array{1, 9, 2, 3, 3}, 3)
-- [1. 2. 3. 3. 3.]
function filters.median_filter(x, size, given)
    return ranked("median_filter", x, size, given, function(count) return math.floor(count / 2) end)
end

--- np.image.percentile_filter(x, percentile, size, {mode="reflect", cval=0}): the element of the window around each
-- place below which percentile hundredths of the window lie, from 0, the least, to 100, the greatest. Keeps x's dtype.
-- size is an integer, or a table of one for each axis; 3 by default.
--- > np.image.percentile_filter(np.array{1, 9, 2, 3, 3}, 25, 5)
-- [1. 1. 2. 3. 3.]
function filters.percentile_filter(x, percentile, size, given)
    percentile = core.plain(percentile)
    if type(percentile) ~= "number" or not (percentile >= 0 and percentile <= 100) then
        bad_argument("image.percentile_filter", 2, "percentile", "a number from 0 to 100", percentile)
    end
    return ranked("percentile_filter", x, size, given, function(count)
        return percentile == 100 and count - 1 or math.floor(count * percentile / 100)
    end)
end

return filters
