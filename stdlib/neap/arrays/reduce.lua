--- reduce.lua: reductions over axes, and what is made of them: mean, variance, logsumexp, softmax, cumulative sums.
--
-- Options: axis (an integer or a table of them; all axes by default) and keepdims (keep reduced axes with extent 1).
-- The rows take the axes as a bit mask. The order of summation depends on dtype and extents alone.

--- {axis}: an integer or a table of integers, negative ones counted from the end; all axes without it

local bit = require "bit"
local core = require "neap.core"
local shape = require "neap.arrays.shape"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, ids, attrs = core.shape_of, core.ids, core.attrs

local known_options = { axis = true, keepdims = true }
local dtype_options = { axis = true, keepdims = true, dtype = true }

--- The options table of a reduction, which may also be a bare axis: x:sum(0).
local function reduction_options(name, given, known)
    if type(given) == "number" then return { axis = given } end
    return options(name, given, known)
end

--- Bit mask of the axes, and the number of elements that are reduced to one.
local function mask_of(name, x, axis)
    if axis == nil then
        local known = core.info(x)
        return bit.lshift(1, known.ndim) - 1, tonumber(known.size)
    end
    local dims, mask, count = shape_of(x), 0, 1
    for _, k in ipairs(shape.axes(name, axis, #dims)) do
        mask = bit.bor(mask, bit.lshift(1, k))
        count = count * dims[k + 1]
    end
    return mask, count
end

local function reduce(op, x, mask, keepdims)
    attrs[0], attrs[1] = mask, keepdims and 1 or 0
    return core.record1(op, x, 2)
end

local function define_reduction(name, known)
    local op = ids[name]
    define(name, function(x, given)
        x = coerce(name, 1, x)
        local whole = given == nil and core.reduce_all(op, x)
        if whole then return whole end
        local o = reduction_options(name, given, known)
        if o.dtype ~= nil then x = np.astype(x, o.dtype) end
        local mask, count = mask_of(name, x, o.axis)
        if count == 0 and (name == "max" or name == "min") then
            raise(name, "nothing to take it of: shape %s", core.shape_text(x))
        end
        return reduce(op, x, mask, o.keepdims)
    end)
end

--- np.sum(x, {axis=…, keepdims=false, dtype=…}): … an axis may stand alone: x:sum(0).
--- dtype: what x is cast to before the sum
--- > np.array{{1, 2}, {3, 4}}:sum()
-- 10.0
--- > np.sum(np.array{{1, 2}, {3, 4}}, {axis=0})
-- [4. 6.]
--- > np.array{{1, 2}, {3, 4}}:sum{axis=1, keepdims=true}
-- [[3.]
--  [7.]]
define_reduction("sum", dtype_options)
--- np.prod(x, {axis=…, keepdims=false, dtype=…})
--- dtype: what x is cast to before the product
--- > np.array{1, 2, 3, 4}:prod(), np.array{{1, 2}, {3, 4}}:prod{axis=0}
-- 24.0
-- [3. 8.]
define_reduction("prod", dtype_options)
--- np.max(x, {axis=…, keepdims=false}), np.min(x, {axis=…, keepdims=false}): the greatest or the smallest element; NaN
-- if there is one. Raises if there is nothing to take it of.
--- > np.array{3, 1, 2}:max(), np.array{{3, 1}, {2, 4}}:min{axis=0}
-- 3.0
-- [2. 1.]
define_reduction("max", known_options)
define_reduction("min", known_options)
--- np.any(x, {axis=…, keepdims=false}), np.all(x, {axis=…, keepdims=false}): whether some element, or every element, is
-- true: bool. Numbers count as true unless 0. `if` needs a Lua boolean: x:any():item().
--- > np.array{0, 2, 0}:any(), np.array{0, 2, 0}:all()
-- True
-- False
--- > np.array{{true, false}, {true, true}}:all{axis=0}
-- [ True False]
define_reduction("any", known_options)
define_reduction("all", known_options)

local function define_index(name)
    local op = ids[name]
    define(name, function(x, given)
        x = coerce(name, 1, x)
        local o = reduction_options(name, given, known_options)
        if o.axis ~= nil and type(o.axis) ~= "number" then raise(name, "axis must be one integer") end
        local mask, count = mask_of(name, x, o.axis)
        if count == 0 then raise(name, "nothing to take it of: shape %s", core.shape_text(x)) end
        return reduce(op, x, mask, o.keepdims)
    end)
end
--- np.argmax(x, {axis=…, keepdims=false}), np.argmin(x, {axis=…, keepdims=false}): the index (i32, from 0) of the first
-- greatest or smallest element, in the flattened array without axis. A NaN wins. Raises if there is nothing to take it
-- of.
--- axis: one axis, negative ones counted from the end; the flattened array without it
--- > np.array{3, 1, 3}:argmax(), np.array{{3, 1}, {2, 4}}:argmin{axis=1}
-- 0
-- [1 0]
define_index("argmax")
define_index("argmin")

--- Integers and bools as the dtype that real functions of them compute in: f32, those of 64 bits as f64.
local function real(x)
    local dtype = core.dtype_of(x)
    return dtype.kind == "f" and x or np.astype(x, dtype.real)
end

--- x divided by a number of elements, less `less`: equal means of one array are then computed once.
local function per_element(x, count, less)
    if core.recording() then return x / core.count(count, less) end
    core.C.neap_op_follows(core.ctx, core.C.NEAP_FOLLOWS_COUNT + less)
    return x / count
end

local function mean(x, mask, count, keepdims)
    return per_element(reduce(ids.sum, x, mask, keepdims), count, 0)
end

--- np.mean(x, {axis=…, keepdims=false, dtype=…}): the sum divided by the number of elements. Integers are averaged as
-- f32, i64 and u64 as f64. Of nothing: NaN.
--- dtype: what x is cast to before the mean
--- > np.array{{1, 2}, {3, 4}}:mean(), np.array{{1, 2}, {3, 4}}:mean{axis=0}
-- 2.5
-- [2. 3.]
define("mean", function(x, given)
    x = coerce("mean", 1, x)
    local o = reduction_options("mean", given, dtype_options)
    x = o.dtype ~= nil and np.astype(x, o.dtype) or real(x)
    local mask, count = mask_of("mean", x, o.axis)
    return mean(x, mask, count, o.keepdims)
end)

local variance_options = { axis = true, keepdims = true, correction = true, ddof = true }

local function variance(name, x, given)
    x = real(coerce(name, 1, x))
    local o = reduction_options(name, given, variance_options)
    local mask, count = mask_of(name, x, o.axis)
    local correction = o.correction or o.ddof or 0
    if type(correction) ~= "number" then bad_argument(name, nil, "correction", "a number", correction) end
    local off = x - mean(x, mask, count, true)
    local left = math.max(count - correction, 0)
    local sum = reduce(ids.sum, off * off, mask, o.keepdims)
    if correction % 1 ~= 0 or correction < 0 or correction > 1000 then return sum / left end
    return per_element(sum, left, correction)
end

--- np.var(x, {axis=…, keepdims=false, correction=0, ddof=0}), np.std(x, {axis=…, keepdims=false, correction=0,
-- ddof=0}): the mean of the squared distances to the mean, and its square root. The sum is divided by n - correction.
--- correction: what is taken from the number of elements; 1 gives the unbiased estimate of a variance
--- ddof: NumPy's name of the same
--- > np.array{1, 2, 3, 4}:var(), np.array{1, 2, 3, 4}:var{correction=1}, np.array{0, 4}:std()
-- 1.25
-- 1.6666666
-- 2.0
define("var", function(x, given)
    return variance("var", x, given)
end)
define("std", function(x, given)
    return np.sqrt(variance("std", x, given))
end)

--- The maximum along axes for shifting exponents: constant for gradients (it cancels), 0 where infinite.
local function shift_of(x, mask)
    local top = np.stop_gradient(reduce(ids.max, x, mask, true))
    return np.where(np.isfinite(top), top, core.number(0, core.dtype_of(x).code))
end

--- np.logsumexp(x, {axis=…, keepdims=false}): log(sum(exp(x))) without overflow: the maximum is subtracted first.
--- > np.logsumexp(np.array{1000, 1000})
-- 1000.6932
define("logsumexp", function(x, given)
    x = real(coerce("logsumexp", 1, x))
    local o = reduction_options("logsumexp", given, known_options)
    local mask, count = mask_of("logsumexp", x, o.axis)
    if count == 0 then return np.log(reduce(ids.sum, x, mask, o.keepdims)) end
    local shift = shift_of(x, mask)
    local result = np.log(reduce(ids.sum, np.exp(x - shift), mask, o.keepdims))
    if not o.keepdims then
        shift = shape.reshape(shift, shape_of(result))
    end
    return result + shift
end)

--- The axis of softmax and its kin: a number or {axis=…}, the last by default.
local function last_axis(name, given)
    local axis = reduction_options(name, given, { axis = true }).axis
    if axis == nil then return -1 end
    return axis
end

--- np.softmax(x, {axis=-1}): exp(x) / sum(exp(x)) along an axis.
--- axis: along which the results add up to 1; the last one without it
--- > np.softmax(np.array{0, 0, 1e3})
-- [0. 0. 1.]
define("softmax", function(x, given)
    x = real(coerce("softmax", 1, x))
    local mask, count = mask_of("softmax", x, last_axis("softmax", given))
    if count == 0 then return x end
    local e = np.exp(x - np.stop_gradient(reduce(ids.max, x, mask, true)))
    return e / reduce(ids.sum, e, mask, true)
end)

--- np.log_softmax(x, {axis=-1}): the logarithm of softmax, without computing softmax.
--- axis: along which it is computed; the last one without it
--- > np.log_softmax(np.array{0, 0})
-- [-0.6931472 -0.6931472]
define("log_softmax", function(x, given)
    x = real(coerce("log_softmax", 1, x))
    local mask, count = mask_of("log_softmax", x, last_axis("log_softmax", given))
    if count == 0 then return x end
    local shifted = x - np.stop_gradient(reduce(ids.max, x, mask, true))
    return shifted - np.log(reduce(ids.sum, np.exp(shifted), mask, true))
end)

local function define_cumulative(name)
    local op = ids[name]
    define(name, function(x, given)
        x = coerce(name, 1, x)
        local axis = reduction_options(name, given, { axis = true }).axis
        if axis == nil then
            if core.ndim(x) ~= 1 then x = np.ravel(x) end
            axis = 0
        end
        attrs[0], attrs[1] = core.axis(name, axis, core.ndim(x)), 0
        return core.record1(op, x, 2)
    end)
end
--- np.cumsum(x, {axis=…}), np.cumprod(x, {axis=…}): sums or products of all elements up to each one; of the flattened
-- array without axis. Dtypes as in np.sum. The order of additions depends on the extent alone.
--- axis: along which it runs; the flattened array without it
--- > np.array{1, 2, 3}:cumsum(), np.array{1, 2, 3}:cumprod()
-- [1. 3. 6.]
-- [1. 2. 6.]
define_cumulative("cumsum")
define_cumulative("cumprod")
--- np.cummax(x, {axis=…}), np.cummin(x, {axis=…}): the largest or smallest of all elements up to each one, NaN from the
-- first NaN on; of the flattened array without axis. The gradient goes to where an extremum is reached first.
--- axis: along which it runs; the flattened array without it
--- > np.array{1, 3, 2, 5}:cummax(), np.array{3, 4, 1, 2}:cummin()
-- [1. 3. 3. 5.]
-- [3. 3. 1. 1.]
define_cumulative("cummax")
define_cumulative("cummin")

--- np.diff(x, {n=1, axis=-1}): each element but the first minus the one before it, n times. Of bools: where they
-- change.
--- n: how many times
--- > np.array{1, 4, 9, 16}:diff(), np.array{1, 4, 9, 16}:diff{n=2}
-- [3. 5. 7.]
-- [2. 2.]
define("diff", function(x, given)
    x = coerce("diff", 1, x)
    local o = options("diff", given, { n = true, axis = true })
    local axis = core.axis("diff", o.axis == nil and -1 or o.axis, core.ndim(x))
    local times = o.n == nil and 1 or o.n
    if type(times) ~= "number" or times < 0 or times ~= math.floor(times) then
        bad_argument("diff", nil, "n", "an integer from 0 up", times)
    end
    local minus = core.dtype_of(x).kind == "b" and np.not_equal or np.subtract
    local n = shape_of(x)[axis + 1]
    for _ = 1, math.min(times, n) do
        local from = math.min(1, n)
        x = minus(shape.cut(x, axis, from, n, true), shape.cut(x, axis, 0, n - from, true))
        n = n - from
    end
    return x
end)

-- What is made of several ops computes f16 and bf16 as f32, and rounds once.
for _, name in ipairs { "mean", "var", "std", "logsumexp", "softmax", "log_softmax" } do
    local of_others = np[name]
    define(name, function(x, given)
        local dtype = core.is_array(x) and core.dtype_of(x)
        if not dtype or not dtype.half then return of_others(x, given) end
        local y = of_others(np.astype(x, "f32"), given)
        if type(given) == "table" and given.dtype ~= nil then return y end
        return np.astype(y, dtype.name)
    end)
end
