--- reduce.lua: reductions over axes, and what is made of them: mean, variance, logsumexp, softmax, cumulative sums.
--
-- Options: axis (an integer or a table of them; all axes by default), keepdims (keep reduced axes with extent 1), where
-- (only these elements) and initial (one more element). The rows take the axes as a bit mask. The order of summation
-- depends on dtype and extents alone: elements that `where` leaves out are neutral ones at their places.

--- {axis}: an integer or a table of integers, negative ones counted from the end; all axes without it
--- {where}: a bool array that broadcasts to x: only elements where it is true count
--- {initial}: a number that is combined with the result as one more element

local bit = require "bit"
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, bad_argument, coerce = core.raise, core.bad_argument, core.coerce
local shape_of, ids, attrs = core.shape_of, core.ids, core.attrs

local floor = math.floor

local reduces = {}

local known_options = { axis = true, keepdims = true }
local dtype_options = { axis = true, keepdims = true, dtype = true, where = true }
local product_options = { axis = true, keepdims = true, dtype = true, where = true, initial = true }
local sum_options = { axis = true, keepdims = true, dtype = true, where = true, initial = true, out_sharding = true }
local extremum_options = { axis = true, keepdims = true, where = true, initial = true }
local any_options = { axis = true, keepdims = true, where = true }

--- The options table of a reduction, which may also be a bare axis: x:sum(0). `extra`: a further argument, an error.
local function reduction_options(name, given, known, extra)
    if extra ~= nil then core.too_many(name, 2, extra) end
    return (core.axis_options(name, given, known))
end
reduces.options = reduction_options

--- Bit mask of the axes, and the number of elements that are reduced to one.
local function mask_of(name, x, axis)
    local known = core.info(x)
    if axis == nil then return bit.lshift(1, known.ndim) - 1, core.size_of(x, known) end
    if type(axis) == "number" then -- most often: no tables
        local k = axis < 0 and axis + known.ndim or axis
        if k >= 0 and k < known.ndim and k == floor(k) then return bit.lshift(1, k), core.extent(x, k, known) end
    end
    local dims, mask, count = shape_of(x), 0, 1
    for _, k in ipairs(shape.axes(name, axis, #dims)) do
        mask = bit.bor(mask, bit.lshift(1, k))
        count = count * dims[k + 1]
    end
    return mask, count
end
reduces.mask_of = mask_of

local function reduce(op, x, mask, keepdims)
    attrs[0], attrs[1] = mask, keepdims and 1 or 0
    return core.record1(op, x, 2)
end

--- The op `name` over the axes of a mask.
function reduces.over(name, x, mask, keepdims)
    return reduce(ids[name], x, mask, keepdims)
end

--- A mask of elements, option `where`, checked against x.
local function mask_array(name, x, mask)
    if type(mask) == "boolean" then mask = coerce(name, 2, mask) end
    if not core.is_array(mask) or core.dtype_of(mask).kind ~= "b" then
        bad_argument(name, nil, "where", "a bool array", mask)
    end
    if not shape.broadcasts_to(shape_of(mask), shape_of(x)) then
        raise(name, "option 'where' of shape %s does not broadcast to the array's %s%s", core.shape_text(mask),
              core.shape_text(x), shape.remedy(shape_of(mask), shape_of(x)))
    end
    return mask
end
reduces.mask_array = mask_array

--- An option of np.name that is a number, a boolean or an array of no axes, as an array that meets x: 64-bit integers
-- keep their digits.
local function scalar_option(name, option, value, x)
    local wide = core.integer64(value) or core.complex.is(value)
    local is_scalar = wide or type(value) == "number" or type(value) == "boolean" or core.is_size(value)
    if not is_scalar and not (core.is_array(value) and core.ndim(value) == 0) then
        bad_argument(name, nil, option, "a number or an array of no axes", value)
    end
    return wide and operands.beside(name, 2, value, core.dtype_of(x)) or coerce(name, 2, value)
end
reduces.scalar_option = scalar_option

--- The elements of x where the mask is true, a number of x's dtype elsewhere.
local function only(x, mask, neutral)
    return np.where(mask, x, core.number(neutral, core.dtype_of(x).code))
end

local NEUTRAL = { sum = 0, prod = 1, any = 0, all = 1 }
local COMBINE = { sum = "add", prod = "multiply", max = "maximum", min = "minimum" }

local reduce_some

--- The same of a half whose result is one: what is added at the end is so before the result is rounded.
local function reduce_half(name, x, o)
    local wide, half = operands.wide(x)
    return operands.narrow(reduce_some(name, wide, o), half)
end

--- A reduction with `where` and `initial`.
function reduce_some(name, x, o)
    local dtype = core.dtype_of(x)
    if dtype.half and o.initial ~= nil and np.result_type(x, o.initial) == dtype.name then
        return reduce_half(name, x, o)
    end
    local mask, count = mask_of(name, x, o.axis)
    local initial = o.initial ~= nil and scalar_option(name, "initial", o.initial, x)
    local neutral = NEUTRAL[name]
    if o.where ~= nil then
        local chosen = mask_array(name, x, o.where)
        if neutral then
            if name == "any" or name == "all" then x = np.astype(x, "bool") end
            x = only(x, chosen, neutral)
        else
            if not initial then raise(name, "needs the option 'initial' beside 'where': it may be all there is") end
            x = np.where(chosen, x, initial)
        end
    end
    if not neutral and count == 0 then -- initial is all there is
        local result = shape.broadcast_to(initial, shape_of(reduce(ids.sum, x, mask, o.keepdims)))
        return np.astype(result, np.where(true, x, initial).dtype)
    end
    local result = reduce(ids[name], x, mask, o.keepdims)
    return initial and np[COMBINE[name]](result, initial) or result
end

--- A sum in the dtype that was asked for: sums of narrow integers and of bools are wider.
local function asked(result, dtype)
    return dtype ~= nil and np.astype(result, dtype) or result
end

local function define_reduction(name, known)
    local op = ids[name]
    define(name, function(x, given, extra)
        x = coerce(name, 1, x)
        local whole = given == nil and extra == nil and core.reduce_all(op, x)
        if whole then return whole end
        local o = reduction_options(name, given, known, extra)
        core.dtype(name, o.dtype)
        if o.dtype ~= nil then x = np.astype(x, o.dtype) end
        local mask, count = mask_of(name, x, o.axis)
        if (name == "max" or name == "min") and o.initial == nil and count == 0 then
            raise(name, "nothing to take it of: shape %s", core.shape_text(x))
        end
        local some = o.where ~= nil or o.initial ~= nil
        if o.out_sharding ~= nil then
            local rest = { axis = o.axis, keepdims = o.keepdims, where = o.where, initial = o.initial }
            return core.out_sharding(name, o.out_sharding, { x }, np[name], x, rest)
        end
        return asked(some and reduce_some(name, x, o) or reduce(op, x, mask, o.keepdims), o.dtype)
    end)
end

--- np.sum(x, {axis=…, keepdims=false, dtype=…, where=…, initial=0, out_sharding=…}): … an axis may stand alone:
-- x:sum(0).
--- dtype: that of the result: x is cast to it before the sum
--- out_sharding: a spec or a sharding: how the result lies on a mesh; sums over axes that are unreduced there are left
-- undone
--- > np.array{{1, 2}, {3, 4}}:sum()
-- 10.0
--- > np.sum(np.array{{1, 2}, {3, 4}}, {axis=0})
-- [4. 6.]
--- > np.array{{1, 2}, {3, 4}}:sum{axis=1, keepdims=true}
-- [[3.]
--  [7.]]
--- > x = np.array{1, -2, 3}
--- > x:sum{where=x:gt(0)}, x:sum{initial=10}
-- 4.0
-- 12.0
define_reduction("sum", sum_options)
--- np.prod(x, {axis=…, keepdims=false, dtype=…, where=…, initial=1})
--- dtype: that of the result: x is cast to it before the product
--- > np.array{1, 2, 3, 4}:prod(), np.array{{1, 2}, {3, 4}}:prod{axis=0}
-- 24.0
-- [3. 8.]
define_reduction("prod", product_options)
--- np.max(x, {axis=…, keepdims=false, where=…, initial=…}), np.min(x, {axis=…, keepdims=false, where=…, initial=…}),
-- np.amax, np.amin: the greatest or the smallest element; NaN if there is one. Raises if there is nothing to take
-- it of and no `initial`, which `where` needs.
--- > np.array{3, 1, 2}:max(), np.array{{3, 1}, {2, 4}}:min{axis=0}
-- 3.0
-- [2. 1.]
--- > np.amax(np.zeros(0), {initial=-np.inf}), np.amin(np.array{3, 1}, {where=np.array{true, false}, initial=9})
-- -inf
-- 3.0
define_reduction("max", extremum_options)
define_reduction("min", extremum_options)
define("amax", np.max)
define("amin", np.min)
--- np.any(x, {axis=…, keepdims=false, where=…}), np.all(x, {axis=…, keepdims=false, where=…}): whether some element, or
-- every element, is true: bool. Numbers count as true unless 0. `if` needs a Lua boolean: x:any():item().
--- > np.array{0, 2, 0}:any(), np.array{0, 2, 0}:all()
-- True
-- False
--- > np.array{{true, false}, {true, true}}:all{axis=0}
-- [ True False]
define_reduction("any", any_options)
define_reduction("all", any_options)

local index_options = { axis = true, keepdims = true, last = true }
reduces.index_options = index_options

--- The place along the axes of a mask where `op`, argmax or argmin, finds an element of x; with `last` the last of
-- equal ones, which is the first from behind.
function reduces.place_of(op, x, mask, count, o)
    if not o.last then return reduce(ids[op], x, mask, o.keepdims) end
    local axes = {}
    for k = 0, core.ndim(x) - 1 do
        if bit.band(mask, bit.lshift(1, k)) ~= 0 then axes[#axes + 1] = k end
    end
    return (count - 1) - reduce(ids[op], np.flip(x, axes), mask, o.keepdims)
end

local function define_index(name)
    define(name, function(x, given, extra)
        x = coerce(name, 1, x)
        local o = reduction_options(name, given, index_options, extra)
        local mask, count = mask_of(name, x, o.axis)
        if count == 0 then raise(name, "nothing to take it of: shape %s", core.shape_text(x)) end
        return reduces.place_of(name, x, mask, count, o)
    end)
end
--- np.argmax(x, {axis=…, keepdims=false, last=false}), np.argmin(x, {axis=…, keepdims=false, last=false}): the index
-- (i32, from 0) of the first greatest or smallest element; along several axes, in row-major order of these. A NaN wins.
-- Raises if there is nothing to take it of.
--- axis: an axis or a table of them, negative ones counted from the end; the flattened array without it
--- last: true takes the last one of equal elements
--- > np.array{3, 1, 3}:argmax(), np.array{{3, 1}, {2, 4}}:argmin{axis=1}
-- 0
-- [1 0]
--- > np.argmax(np.array{3, 1, 3}, {last=true})
-- 2
define_index("argmax")
define_index("argmin")

--- Integers and bools as the dtype that real functions of them compute in: f32, those of 64 bits as f64.
local function real(x)
    local dtype = core.dtype_of(x)
    return dtype.inexact and x or np.astype(x, dtype.real)
end
reduces.real = real

local function mean(x, mask, count, keepdims)
    return core.per_element(reduce(ids.sum, x, mask, keepdims), count)
end

--- How many elements a mask leaves of each that are reduced to one, as an array of x's dtype.
local function count_of(x, chosen, mask, keepdims)
    local ones = np.astype(shape.broadcast_to(chosen, shape_of(x)), core.dtype_of(x).name)
    return reduce(ids.sum, ones, mask, keepdims)
end

--- The mean of the elements where `chosen` is true, and how many these are.
function reduces.mean_of(x, chosen, mask, keepdims)
    local count = count_of(x, chosen, mask, keepdims)
    return reduce(ids.sum, only(x, chosen, 0), mask, keepdims) / count, count
end

--- np.mean(x, {axis=…, keepdims=false, dtype=…, where=…}): the sum divided by the number of elements. Integers are
-- averaged as f32, i64 and u64 as f64. Of nothing: NaN.
--- dtype: what x is cast to before the mean
--- > np.array{{1, 2}, {3, 4}}:mean(), np.array{{1, 2}, {3, 4}}:mean{axis=0}
-- 2.5
-- [2. 3.]
define("mean", function(x, given, extra)
    x = coerce("mean", 1, x)
    local o = reduction_options("mean", given, dtype_options, extra)
    local half
    x, half = operands.wide(o.dtype ~= nil and np.astype(x, o.dtype) or real(x))
    local mask, count = mask_of("mean", x, o.axis)
    local result
    if o.where ~= nil then
        result = reduces.mean_of(x, mask_array("mean", x, o.where), mask, o.keepdims)
    else
        result = mean(x, mask, count, o.keepdims)
    end
    return operands.narrow(result, half)
end)

local variance_options = { axis = true, keepdims = true, correction = true, ddof = true, where = true }

--- The squares of numbers, of complex ones those of their magnitudes, which are real.
local function squared(x)
    if core.dtype_of(x).kind ~= "c" then return x * x end
    local re, im = np.real(x), np.imag(x)
    return re * re + im * im
end
reduces.squared = squared

--- The squared distances to the mean of the elements where `chosen` is true, added up and divided; of no more elements
-- than `correction`: NaN.
function reduces.variance_of(x, chosen, mask, keepdims, correction)
    local center = reduces.mean_of(x, chosen, mask, true)
    local off = only(x - center, chosen, 0)
    local square = squared(off)
    local left = np.maximum(count_of(square, chosen, mask, keepdims) - correction, 0)
    return reduce(ids.sum, square, mask, keepdims) / left
end

--- The correction among the options of a variance.
function reduces.correction(name, o)
    local correction = core.plain(o.correction or o.ddof or 0)
    if not core.is_number(correction) then bad_argument(name, nil, "correction", "a number", correction) end
    return correction
end

local function variance(name, x, given, extra)
    x = real(coerce(name, 1, x))
    local o = reduction_options(name, given, variance_options, extra)
    local mask, count = mask_of(name, x, o.axis)
    local correction = reduces.correction(name, o)
    if o.where ~= nil then
        return reduces.variance_of(x, mask_array(name, x, o.where), mask, o.keepdims, correction)
    end
    local off = x - mean(x, mask, count, true)
    local left = math.max(count - correction, 0)
    local sum = reduce(ids.sum, squared(off), mask, o.keepdims)
    return core.per_element(sum, left)
end

--- np.var(x, {axis=…, keepdims=false, correction=0, ddof=0, where=…}), np.std(x, {axis=…, keepdims=false,
-- correction=0, ddof=0, where=…}): the mean of the squared distances to the mean, and its square root. The sum is
-- divided by n - correction.
--- correction: what is taken from the number of elements; 1 gives the unbiased estimate of a variance
--- ddof: NumPy's name of the same
--- > np.array{1, 2, 3, 4}:var(), np.array{1, 2, 3, 4}:var{correction=1}, np.array{0, 4}:std()
-- 1.25
-- 1.6666666
-- 2.0
define("var", function(x, given, extra)
    return variance("var", x, given, extra)
end)
define("std", function(x, given, extra)
    return np.sqrt(variance("std", x, given, extra))
end)

--- The maximum along axes for shifting exponents: constant for gradients (it cancels), 0 where infinite.
local function shift_of(x, mask)
    local top = np.stop_gradient(reduce(ids.max, x, mask, true))
    return np.where(np.isfinite(top), top, core.number(0, core.dtype_of(x).code))
end

--- np.logsumexp(x, {axis=…, keepdims=false}): log(sum(exp(x))) without overflow: the maximum is subtracted first.
--- > np.logsumexp(np.array{1000, 1000})
-- 1000.6932
define("logsumexp", function(x, given, extra)
    x = real(coerce("logsumexp", 1, x))
    local o = reduction_options("logsumexp", given, known_options, extra)
    local mask, count = mask_of("logsumexp", x, o.axis)
    if count == 0 then return np.log(reduce(ids.sum, x, mask, o.keepdims)) end
    local shift = shift_of(x, mask)
    local result = np.log(reduce(ids.sum, np.exp(x - shift), mask, o.keepdims))
    if not o.keepdims then
        shift = shape.reshape(shift, shape_of(result))
    end
    return result + shift
end)

local axis_option = { axis = true }

--- The axis of softmax and its kin: a number or {axis=…}, the last by default.
local function last_axis(name, given, extra)
    local axis = reduction_options(name, given, axis_option, extra).axis
    if axis == nil then return -1 end
    return axis
end

--- np.softmax(x, {axis=-1}): exp(x) / sum(exp(x)) along an axis.
--- axis: along which the results add up to 1; the last one without it
--- > np.softmax(np.array{0, 0, 1e3})
-- [0. 0. 1.]
define("softmax", function(x, given, extra)
    x = real(coerce("softmax", 1, x))
    local mask, count = mask_of("softmax", x, last_axis("softmax", given, extra))
    if count == 0 then return x end
    local e = np.exp(x - np.stop_gradient(reduce(ids.max, x, mask, true)))
    return e / reduce(ids.sum, e, mask, true)
end)

--- np.log_softmax(x, {axis=-1}): the logarithm of softmax, without computing softmax.
--- axis: along which it is computed; the last one without it
--- > np.log_softmax(np.array{0, 0})
-- [-0.6931472 -0.6931472]
define("log_softmax", function(x, given, extra)
    x = real(coerce("log_softmax", 1, x))
    local mask, count = mask_of("log_softmax", x, last_axis("log_softmax", given, extra))
    if count == 0 then return x end
    local shifted = x - np.stop_gradient(reduce(ids.max, x, mask, true))
    return shifted - np.log(reduce(ids.sum, np.exp(shifted), mask, true))
end)

--- Products of complex numbers, h[i] = x[i] * h[i - 1] from h[0] = x[0]: where the factor is 0, the row `recurrence`
-- begins anew.
local function complex_products(x, axis)
    local own = shape_of(x)
    for k = 1, #own do own[k] = k == axis + 1 and own[k] or 1 end
    local first = np.equal(shape.reshape(np.arange(own[axis + 1]), own), 0)
    local factors, begins = np.where(first, 0, x), np.where(first, x, 0)
    attrs[0], attrs[1] = axis, 0
    return core.record2(ids.recurrence, factors, begins, 2)
end

local scan
function scan(op, x, axis)
    if core.dtype_of(x).kind == "c" and op == ids.cumsum then
        return np.complex(scan(op, np.real(x), axis), scan(op, np.imag(x), axis))
    elseif core.dtype_of(x).kind == "c" and op == ids.cumprod then
        return complex_products(x, axis)
    end
    attrs[0], attrs[1] = axis, 0
    return core.record1(op, x, 2)
end

--- x and the axis of a cumulative function: without axis x is flattened.
local function line_of(name, x, axis)
    if axis ~= nil then return x, core.axis(name, axis, core.ndim(x)) end
    return core.ndim(x) == 1 and x or np.ravel(x), 0
end
reduces.line_of = line_of

local function define_cumulative(name, known)
    local op = ids[name]
    define(name, function(x, given, extra)
        x = coerce(name, 1, x)
        local o = reduction_options(name, given, known, extra)
        if o.dtype ~= nil then x = np.astype(x, o.dtype) end
        return asked(scan(op, line_of(name, x, o.axis)), o.dtype)
    end)
end
--- np.cumsum(x, {axis=…, dtype=…}), np.cumprod(x, {axis=…, dtype=…}): sums or products of all elements up to each one;
-- of the flattened array without axis. Dtypes as in np.sum. The order of additions depends on the extent alone.
--- axis: along which it runs; the flattened array without it
--- dtype: that of the result: x is cast to it before
--- > np.array{1, 2, 3}:cumsum(), np.array{1, 2, 3}:cumprod()
-- [1. 3. 6.]
-- [1. 2. 6.]
define_cumulative("cumsum", { axis = true, dtype = true })
define_cumulative("cumprod", { axis = true, dtype = true })
--- np.cummax(x, {axis=…}), np.cummin(x, {axis=…}): the largest or smallest of all elements up to each one, NaN from the
-- first NaN on; of the flattened array without axis. The gradient goes to where an extremum is reached first.
--- axis: along which it runs; the flattened array without it
--- > np.array{1, 3, 2, 5}:cummax(), np.array{3, 4, 1, 2}:cummin()
-- [1. 3. 3. 5.]
-- [3. 3. 1. 1.]
define_cumulative("cummax", { axis = true })
define_cumulative("cummin", { axis = true })

local function define_standard(name, op, neutral)
    define(name, function(x, given, extra)
        x = coerce(name, 1, x)
        local o = reduction_options(name, given, { axis = true, dtype = true, include_initial = true }, extra)
        local ndim = core.ndim(x)
        if o.axis == nil and ndim ~= 1 then raise(name, "needs the option 'axis' for an array of %d axes", ndim) end
        if o.dtype ~= nil then x = np.astype(x, o.dtype) end
        local result, axis = line_of(name, x, o.axis)
        result = asked(scan(op, result, axis), o.dtype)
        if not o.include_initial then return result end
        local lo, none = {}, {}
        for k = 1, ndim do lo[k], none[k] = k == axis + 1 and 1 or 0, 0 end
        return shape.pad(result, core.number(neutral, core.dtype_of(result).code), lo, none, none)
    end)
end
--- np.cumulative_sum(x, {axis=…, dtype=…, include_initial=false}), np.cumulative_prod(x, {axis=…, dtype=…,
-- include_initial=false}): np.cumsum and np.cumprod by the names and options of the Python array standard.
--- axis: along which it runs; only an array of one axis needs none
--- dtype: that of the result: x is cast to it before
--- include_initial: true puts the sum (0) or the product (1) of nothing in front
--- > np.cumulative_sum(np.array{1, 2, 3}, {include_initial=true}), np.cumulative_prod(np.array{1, 2, 3})
-- [0. 1. 3. 6.]
-- [1. 2. 6.]
define_standard("cumulative_sum", ids.cumsum, 0)
define_standard("cumulative_prod", ids.cumprod, 1)

--- np.logcumsumexp(x, {axis=…}): log(cumsum(exp(x))) without overflow: each sum is shifted by the greatest element up
-- to there.
--- axis: along which it runs; the flattened array without it
--- > np.logcumsumexp(np.array{1000, 1000})
-- [1000.     1000.6932]
define("logcumsumexp", function(x, given, extra)
    x = real(coerce("logcumsumexp", 1, x))
    local axis
    x, axis = line_of("logcumsumexp", x, reduction_options("logcumsumexp", given, { axis = true }, extra).axis)
    local n = shape_of(x)[axis + 1]
    if n == 0 then return x end
    local greatest = scan(ids.cummax, x, axis)
    local top = np.stop_gradient(greatest)
    local finite = np.isfinite(top)
    local shift = np.where(finite, top, core.number(0, core.dtype_of(x).code))
    -- h[i] = h[i - 1] exp(shift[i - 1] - shift[i]) + exp(x[i] - shift[i]); before the first finite maximum h is 0.
    local before = shape.cut(shift, axis, 0, n - 1) - shape.cut(shift, axis, 1, n)
    local factor = np.where(shape.cut(finite, axis, 0, n - 1), np.exp(before), 1)
    local lo, none = {}, {}
    for k = 1, core.ndim(x) do lo[k], none[k] = k == axis + 1 and 1 or 0, 0 end
    factor = shape.pad(factor, core.number(0, core.dtype_of(x).code), lo, none, none)
    local e = np.exp(x - shift)
    attrs[0], attrs[1] = axis, 0
    local sums = core.record2(ids.recurrence, factor, e, 2)
    local empty = np.equal(top, -math.huge) -- whose logarithm has no slope
    return np.where(empty, greatest, np.log(np.where(empty, 1, sums)) + shift)
end)

-- What is made of several ops computes f16 and bf16 as f32, and rounds once.
for _, name in ipairs { "var", "std", "logsumexp", "softmax", "log_softmax", "logcumsumexp" } do
    local of_others = np[name]
    define(name, function(x, given)
        local dtype = core.is_array(x) and core.dtype_of(x)
        if not dtype or not dtype.half then return of_others(x, given) end
        return np.astype(of_others(np.astype(x, "f32"), given), dtype.name)
    end)
end

return reduces
