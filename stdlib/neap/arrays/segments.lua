--- segments.lua: what is added up, or otherwise combined, by a label of each element; counts of labels; places in
-- edges.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local histogram = require "neap.arrays.histogram"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, coerce, options = core.raise, core.coerce, core.options
local shape_of, operand = core.shape_of, create.operand

--- An array of integers, an argument that may also be a Lua table of them.
local function integers(name, position, value)
    if type(value) == "table" and getmetatable(value) == nil then value = np.array(value, { dtype = "i32" }) end
    value = coerce(name, position, value)
    local kind = core.dtype_of(value).kind
    if kind == "b" then return np.astype(value, "i32") end
    if kind ~= "i" and kind ~= "u" then
        core.not_integers(name, "argument " .. position, core.dtype_of(value))
    end
    return value
end

--- A number of elements from an option; nil without it.
local function length_option(name, option, value)
    return value ~= nil and core.integer(name, nil, option, value, 0, 2 ^ 31) or nil
end

--- One more than the greatest label, which is waited for; 0 if there is none. greatest: np.max(labels), if that is
-- recorded.
local function labels_of(name, labels, greatest)
    if labels.size == 0 then return 0 end
    greatest = greatest or np.max(labels)
    local n = tonumber(greatest:item()) + 1
    if n > 2 ^ 31 then
        raise(name, "%s are at most 2147483647, got %s", name == "bincount" and "elements" or "labels",
              tostring(greatest))
    end
    return math.max(n, 0)
end

--- Labels of a dtype that the ops can leave negative ones out of.
local function wide_labels(labels)
    local dtype = core.dtype_of(labels)
    return dtype.kind == "i" and dtype.bytes < 4 and np.astype(labels, "i32") or labels
end

--- Labels as places in 0 … n - 1: negative ones become n, where nothing is written.
local function places_of(labels, n)
    if core.dtype_of(labels).kind ~= "i" then return labels end
    labels = wide_labels(labels)
    return np.where(np.less(labels, 0), n, labels)
end

local METHOD = { sum = "add", prod = "mul", max = "max", min = "min" }

local FEW_LABELS = 4 -- for which loops make machine code of writes, which count negative ones from the end

--- Rows of x combined with those of `result` that labels name; negative ones name none.
local function combine_rows(result, labels, x, how)
    if not core.sized() and labels.size <= FEW_LABELS then labels = places_of(labels, shape_of(result)[1]) end
    local forward = core.dtype_of(labels).kind == "i"
    labels = wide_labels(labels)
    core.attrs[0], core.attrs[1] = 0, 1
    return core.recordn(core.ids["put_" .. METHOD[how]], { result, labels, x }, 3, forward and 2 or 1)
end

--- np.bincount(x, {weights=…, minlength=0, length=…}): how often each of 0, 1, 2, … is in x, an array of integers
-- (i32), or the sum of the weights of these elements. Without `length` it waits for the greatest one, and negative ones
-- raise.
--- weights: what each element counts, of x's shape
--- minlength: the least length of the result
--- length: the length of the result; elements outside are not counted, and nothing waits
--- > np.bincount(np.array({1, 3, 1}, {dtype="i32"})), np.bincount({0, 2, 2}, {weights={0.5, 1, 2}, length=4})
-- [0 2 0 1]
-- [0.5 0.  3.  0. ]
define("bincount", function(x, given, extra)
    if extra ~= nil then core.too_many("bincount", 2, extra) end
    x = np.ravel(integers("bincount", 1, x))
    local o = options("bincount", given, { weights = true, minlength = true, length = true })
    local n, least = length_option("bincount", "length", o.length), length_option("bincount", "minlength", o.minlength)
    local places, greatest
    if n == nil then
        places = x -- none are negative
        if x.size > 0 and core.dtype_of(x).kind == "i" then
            local low = np.min(x)
            greatest = np.max(x)
            np.wait(low, greatest) -- in one pass
            if low:item() < 0 then raise("bincount", "elements must be from 0 up, got %s", tostring(low)) end
        end
        n = math.max(labels_of("bincount", x, greatest), least or 0)
    elseif least ~= nil then
        raise("bincount", "takes 'minlength' or 'length', not both")
    end
    local weights
    if o.weights ~= nil then
        weights = np.ravel(operand("bincount", 2, o.weights))
        if weights.size ~= x.size then
            raise("bincount", "%d weights for %d elements", weights.size, x.size)
        end
        if core.dtype_of(weights).kind == "b" then weights = np.astype(weights, "i32") end
    end
    return histogram.counts(weights and (places or places_of(x, n)) or x, n, weights)
end)

--- np.digitize(x, bins, {right=false}): for each element of x the index (i32) of the bin that it lies in: how many
-- edges are not above it. Edges are 1-d, ascending or descending.
--- right: true takes the upper edge of a bin as part of it, instead of the lower one
--- > np.digitize(np.array{0.5, 1, 9}, {0, 1, 2}), np.digitize(np.array{0.5, 1, 9}, {0, 1, 2}, {right=true})
-- [1 2 3]
-- [1 1 3]
define("digitize", function(x, bins, given, extra)
    if type(given) == "boolean" then given = { right = given } end
    if extra ~= nil then core.too_many("digitize", 3, extra) end
    x, bins = operands.meet("digitize", 2, x, bins)
    local right = options("digitize", given, { right = true }).right
    if core.ndim(bins) ~= 1 then
        raise("digitize", "argument 2 must have 1 axis, got shape %s", core.shape_text(bins))
    end
    for k, array in ipairs { x, bins } do
        if core.dtype_of(array).kind == "c" then
            raise("digitize", "argument %d is complex (%s): bins are of numbers on a line", k, array.dtype)
        end
    end
    local n = bins.size
    if n == 0 then return np.zeros_like(x, { dtype = "i32" }) end
    local up = np.searchsorted(bins, x, { side = right and "left" or "right" })
    local down = n - np.searchsorted(np.flip(bins), x, { side = right and "left" or "right" })
    return np.where(np.greater_equal(bins[-1], bins[0]), up, down)
end)

--- What nothing is combined to, by the dtype.
local NEUTRAL = {
    sum = function() return 0 end,
    prod = function() return 1 end,
    max = function(dtype) return dtype.lowest or dtype.kind == "b" and 0 or -math.huge end,
    min = function(dtype) return dtype.highest or dtype.kind == "b" and 1 or math.huge end,
}

--- The number `value` of a dtype in an array of no axes: also the ends of 64-bit integers, which no Lua number is.
local function neutral_of(dtype, how)
    local value = NEUTRAL[how](dtype)
    if dtype.bytes < 8 or value == 0 or value == 1 or dtype.inexact then return core.number(value, dtype.code) end
    if dtype.kind == "u" then return np.bitwise_invert(core.number(0, dtype.code)) end
    local lowest = np.bitwise_left_shift(core.number(1, dtype.code), core.number(63, dtype.code))
    return how == "max" and lowest or np.bitwise_invert(lowest)
end

local function define_segment(how)
    local name = "segment_" .. how
    define(name, function(x, labels, count, given, extra)
        if type(count) == "table" then count, given, extra = nil, count, given or extra end
        if extra ~= nil then core.too_many(name, 4, extra) end
        local o = options(name, given, { num_segments = true })
        x, labels = operand(name, 1, x), integers(name, 2, labels)
        local dims = shape_of(x)
        if core.ndim(labels) ~= 1 or #dims == 0 or labels.size ~= dims[1] then
            raise(name, "labels must be 1-d, one for each row: the arrays have shapes %s and %s", core.shape_text(x),
                  core.shape_text(labels))
        end
        if count == nil then count = o.num_segments end
        local n = length_option(name, "num_segments", count) or labels_of(name, labels)
        if how ~= "max" and how ~= "min" then
            local dtype = core.dtype_of(x)
            if dtype.name ~= dtype.sum then x = np.astype(x, dtype.sum) end
        end
        dims[1] = n
        local result = shape.broadcast_to(neutral_of(core.dtype_of(x), how), dims)
        if n == 0 or x.size == 0 then return result end
        return combine_rows(result, labels, x, how)
    end)
end
--- np.segment_sum(x, labels, num_segments, {num_segments=…}), np.segment_prod(x, labels, num_segments,
-- {num_segments=…}), np.segment_max(x, labels, num_segments, {num_segments=…}), np.segment_min(x, labels, num_segments,
-- {num_segments=…}): element k is the sum, the product, the greatest or the smallest of the rows x[i] whose label (an
-- integer) is k; of no rows 0, 1, or the end of the dtype. Rows with labels outside are left out.
--- num_segments: how many results there are; without it one more than the greatest label, which is waited for
--- > x, labels = np.array{1, 2, 3, 4}, np.array({0, 1, 0, 2}, {dtype="i32"})
--- > np.segment_sum(x, labels), np.segment_prod(x, labels, 3)
-- [4. 2. 4.]
-- [3. 2. 4.]
--- > np.segment_max(x, labels, {num_segments=4}), np.segment_min(x, labels, {num_segments=3})
-- [  3.   2.   4. -inf]
-- [1. 2. 4.]
for how in pairs(NEUTRAL) do define_segment(how) end

