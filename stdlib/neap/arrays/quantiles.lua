--- quantiles.lua: quantiles, percentiles, medians and modes: what is found by putting elements in order.
--
-- Elements are sorted along an axis that all reduced axes are merged to; a quantile is then between two of its places.
-- NaN comes last in the order: an array with one gives NaN, and the functions with "nan" count only what comes before.

--- {axis}: an integer or a table of integers, negative ones counted from the end; all axes without it

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local reduces = require "neap.arrays.reduce"
local nans = require "neap.arrays.nans"

local np, define = core.np, core.define
local raise, bad_argument, coerce = core.raise, core.bad_argument, core.coerce
local shape_of, is_array = core.shape_of, core.is_array

--- x in order, with the reduced axes as one at the end, of how many elements; and the shape with these axes of extent
-- 1. In place of no elements there is a NaN, or an error where a NaN does not stand for them.
local function ordered(name, x, axis, empty)
    local dims = shape_of(x)
    local ndim, gone, order, rest, kept, count = #dims, {}, {}, {}, {}, 1
    local axes = axis == nil and {} or shape.axes(name, axis, ndim)
    for k = 1, axis == nil and ndim or #axes do gone[axis == nil and k - 1 or axes[k]] = true end
    for k = 0, ndim - 1 do
        kept[k + 1] = gone[k] and 1 or dims[k + 1]
        if not gone[k] then
            order[#order + 1] = k
            rest[#rest + 1] = dims[k + 1]
        end
    end
    for k = 0, ndim - 1 do
        if gone[k] then
            order[#order + 1] = k
            count = count * dims[k + 1]
        end
    end
    if count == 0 and empty ~= "NaN" then raise(name, "nothing to take it of: shape %s", core.shape_text(x)) end
    rest[#rest + 1] = math.max(count, 1)
    if count == 0 then return np.full(rest, core.NAN, { dtype = core.dtype_of(x).name }), 1, kept end
    return np.sort(shape.reshape(shape.permute(x, order), rest)), count, kept
end

-- Where the quantile q of n elements lies: place = n q + a + q (1 - a - b) - 1, as in Hyndman and Fan, Sample Quantiles
-- in Statistical Packages, 1996; and what is taken between two places.
local METHODS = {
    linear = { 1, 1 }, lower = { 1, 1, "lower" }, higher = { 1, 1, "higher" }, midpoint = { 1, 1, "midpoint" },
    nearest = { 1, 1, "nearest" }, hazen = { 0.5, 0.5 }, weibull = { 0, 0 }, median_unbiased = { 1 / 3, 1 / 3 },
    normal_unbiased = { 0.375, 0.375 }, interpolated_inverted_cdf = { 0, 1 }, inverted_cdf = { 0, 1, "higher" },
    averaged_inverted_cdf = { 0, 1, "averaged" }, closest_observation = { -0.5, 1.5, "closest" },
}

-- The weight of the upper one of two places, by the rule of a method: of the part of the place behind the lower one,
-- and that.
local RULES = {
    lower = function(part) return np.zeros_like(part) end,
    higher = function(part) return np.ceil(part) end,
    midpoint = function(part) return np.ceil(part) * 0.5 end,
    nearest = function(part, low) return np.round(low + part) - low end,
    averaged = function(part) return np.where(np.equal(part, 0), 0.5, 1) end,
    closest = function(part, low)
        local stays = np.logical_and(np.equal(part, 0), np.equal(np.remainder(low, 2), 1))
        return np.where(stays, np.zeros_like(part), np.ones_like(part))
    end,
}

--- Between two elements, by a weight from 0 to 1: weights of 0 and 1 give an element itself, and so do two of one
-- infinity. All others, equal ones too, are mixed: so each gets its share of the derivative.
local function between(low, high, weight)
    local gap = high - low
    local mixed = np.where(np.less(weight, 0.5), low + gap * weight, high - gap * (1 - weight))
    local far = np.where(np.equal(low, high), low, low * (1 - weight) + high * weight)
    mixed = np.where(np.isfinite(gap), mixed, far)
    return np.where(np.equal(weight, 0), low, np.where(np.equal(weight, 1), high, mixed))
end

--- The quantiles q (f64, 1-d) of lines in order, of `count` elements each, a number or an array of extent 1 along the
-- last axis. They are the last axis of the result.
local function at_quantiles(sorted, count, q, method)
    local dims, dtype = shape_of(sorted), core.dtype_of(sorted)
    local a, b, rule = unpack(METHODS[method])
    local last = count - 1
    local place = a == 1 and b == 1 and q * last or q * count + q * (1 - a - b) + (a - 1)
    local inside = np.greater_equal(place, 0)
    place = np.maximum(np.minimum(place, last), 0)
    local low = np.floor(place)
    local weight = place - low
    if rule then weight = np.where(inside, RULES[rule](weight, low), 0) end
    low = np.astype(low, "i64")
    local high = np.minimum(low + 1, is_array(last) and np.astype(last, "i64") or last)
    weight = np.astype(weight, dtype.half and "f32" or dtype.name)
    local function at(index)
        if core.ndim(index) == 1 then return np.take(sorted, index, { axis = -1 }) end
        return np.take_along_axis(sorted, index, { axis = #dims - 1 })
    end
    local below, half = operands.wide(at(low))
    return operands.narrow(between(below, operands.wide(at(high)), weight), half)
end

--- q as an f64 array of one axis, and the shape in which it came.
local function fractions(name, q, whole)
    for _, part in ipairs(type(q) == "table" and q or { q }) do
        if (type(part) == "number" or core.is_size(part)) and not (part >= 0 and part <= whole) then
            bad_argument(name, 2, "q", ("from 0 to %d"):format(whole), part)
        end
    end
    if type(q) == "table" and getmetatable(q) == nil then q = np.array(q, { dtype = "f64" }) end
    if type(q) == "number" or core.is_size(q) then q = core.number(q, core.dtype_codes.f64) end
    if not is_array(q) then bad_argument(name, 2, "q", "a number, a table of them or an array", q) end
    local dims = shape_of(q)
    q = shape.reshape(np.astype(q, "f64"), { q.size })
    return whole == 1 and q or q / whole, dims
end

local quantile_options = { axis = true, method = true, keepdims = true }

local function quantile(name, x, q, o, whole, ignore)
    local method = o.method == nil and "linear" or o.method
    if not METHODS[method] then
        local list = {}
        for known in pairs(METHODS) do list[#list + 1] = known end
        table.sort(list)
        bad_argument(name, nil, "method", "one of " .. table.concat(list, ", "), method)
    end
    local narrow
    if is_array(q) then
        local values
        narrow, values = operands.floats_list(name, nil, 2, { x, q })
        x = values[1]
    else
        x = reduces.real(coerce(name, 1, x))
    end
    if core.dtype_of(x).kind == "c" then
        raise(name, "argument 1 is complex (%s): such numbers have no order", core.dtype_of(x).name)
    end
    local places, asked = fractions(name, q, whole)
    local sorted, count, kept = ordered(name, x, o.axis, "NaN")
    local axis = core.ndim(sorted) - 1
    local none -- where nothing is left
    if ignore then
        local there = np.sum(np.logical_not(np.isnan(sorted)), { axis = axis, keepdims = true })
        none = np.equal(there, 0)
        count = np.astype(there, "f64")
    else
        none = np.isnan(shape.cut(sorted, axis, count - 1, count))
    end
    local result = at_quantiles(sorted, count, places, method)
    result = np.where(none, core.number(core.NAN, core.dtype_of(x).code), result)
    result = np.moveaxis(result, -1, 0)
    local dims, rest = { unpack(asked) }, shape_of(result)
    if o.keepdims then rest = { 0, unpack(kept) } end
    for k = 2, #rest do dims[#dims + 1] = rest[k] end
    return operands.narrow(shape.reshape(result, dims), narrow)
end

local function define_quantile(name, whole, ignore)
    define(name, function(x, q, given, extra)
        if extra ~= nil then core.too_many(name, 3, extra) end
        return quantile(name, x, q, core.options(name, given, quantile_options), whole, ignore)
    end)
end
--- np.quantile(x, q, {axis=…, method="linear", keepdims=false}), np.nanquantile(x, q, {axis=…, method="linear",
-- keepdims=false}): the value below which the part q, from 0 to 1, of the elements lies; a table or an array of q gives
-- as many results, along new first axes. With NaN among the elements it is NaN; np.nanquantile leaves NaN out. Of no
-- elements it is NaN.
--- method: what is taken between two elements: "linear", "lower", "higher", "midpoint", "nearest", or one of "hazen",
-- "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf", "inverted_cdf",
-- "averaged_inverted_cdf", "closest_observation", which see other places (NumPy has them)
--- > np.quantile(np.array{1, 2, 4, 8}, 0.5), np.quantile(np.array{1, 2, 4, 8}, {0, 0.25, 1})
-- 3.0
-- [1.   1.75 8.  ]
--- > np.nanquantile(np.array{1, np.nan, 4}, 0.5, {method="lower"})
-- 1.0
define_quantile("quantile", 1, false)
define_quantile("nanquantile", 1, true)
--- np.percentile(x, q, {axis=…, method="linear", keepdims=false}), np.nanpercentile(x, q, {axis=…, method="linear",
-- keepdims=false}): np.quantile and np.nanquantile with q from 0 to 100.
--- method: as in np.quantile
--- > np.percentile(np.array{1, 2, 4, 8}, 50), np.nanpercentile(np.array{1, np.nan, 4}, 50)
-- 3.0
-- 2.5
define_quantile("percentile", 100, false)
define_quantile("nanpercentile", 100, true)

local function define_median(name, ignore)
    define(name, function(x, given, extra)
        local o = reduces.options(name, given, { axis = true, keepdims = true }, extra)
        return quantile(name, x, 0.5, o, 1, ignore)
    end)
end
--- np.median(x, {axis=…, keepdims=false}), np.nanmedian(x, {axis=…, keepdims=false}): the element in the middle of the
-- order, or the mean of two; NaN if there is a NaN, which np.nanmedian leaves out.
--- > np.median(np.array{1, 2, 4, 8}), np.nanmedian(np.array{1, np.nan, 4, 8})
-- 3.0
-- 4.0
define_median("median", false)
define_median("nanmedian", true)

--- np.mode(x, {axis=…, keepdims=false}) -> values, counts: two results: the element that is there most often, the
-- smallest one of several, and how often (i32). NaNs are all different, and a NaN is found only where nothing else is.
--- > np.mode(np.array{3, 1, 3, 1, 3})
-- 3.0
-- 3
define("mode", function(x, given, extra)
    x = coerce("mode", 1, x)
    local o = reduces.options("mode", given, { axis = true, keepdims = true }, extra)
    local sorted, n, kept = ordered("mode", x, o.axis)
    local axis = core.ndim(sorted) - 1
    local changes = np.not_equal(shape.cut(sorted, axis, 1, n), shape.cut(sorted, axis, 0, n - 1))
    local place = np.arange(n)
    local one = shape_of(sorted)
    one[axis + 1] = 1
    changes = shape.join({ shape.broadcast_to(core.number(1, core.dtype_codes.bool), one), changes }, axis)
    local first = np.cummax(np.where(changes, place, core.number(0, core.dtype_codes.i32)), { axis = axis })
    local lengths = place - first + 1 -- of runs up to each element: the longest one ends where it is greatest
    if nans.possible(x) then lengths = np.where(np.isnan(sorted), 1, lengths) end
    local at = np.argmax(lengths, { axis = axis, keepdims = true })
    local value, count = np.take_along_axis(sorted, at, { axis = axis }), np.max(lengths, { axis = axis })
    local dims = shape_of(count)
    if o.keepdims then dims = kept end
    return shape.reshape(value, dims), shape.reshape(count, dims)
end)
