--- nans.lua: reductions and cumulative functions that leave NaN out: nansum, nanmean, nanmax and their kin.
--
-- A NaN becomes the neutral element of the operation, and what is counted are the other elements: so these cost what
-- the functions without "nan" cost. Arrays of a dtype without NaN go to those.

--- {axis}: an integer or a table of integers, negative ones counted from the end; all axes without it
--- {where}: a bool array that broadcasts to x: only elements where it is true count
--- {initial}: a number that is combined with the result as one more element
--- {correction}: what is taken from the number of elements; 1 gives the unbiased estimate of a variance
--- {ddof}: NumPy's name of the same

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local reduces = require "neap.arrays.reduce"

local np, define, coerce, raise = core.np, core.define, core.coerce, core.raise

local nans = {}

--- Whether elements of x can be NaN.
local function has_nan(x)
    local kind = core.dtype_of(x).kind
    return kind == "f" or kind == "c"
end
nans.possible = has_nan

--- x with a number where it is NaN.
local function without(x, number)
    if not has_nan(x) then return x end
    return np.where(np.isnan(x), core.number(number, core.dtype_of(x).code), x)
end

local function named(set)
    local known = {}
    for option in set:gmatch "%S+" do known[option] = true end
    return known
end

--- Defines np.NAME: np.PLAIN of x with `neutral` where it is NaN.
local function define_sum(name, plain, neutral)
    local known = named "axis keepdims dtype where initial"
    define(name, function(x, given, extra)
        x = coerce(name, 1, x)
        return np[plain](without(x, neutral), reduces.options(name, given, known, extra))
    end)
end
--- np.nansum(x, {axis=…, keepdims=false, dtype=…, where=…, initial=0}), np.nanprod(x, {axis=…, keepdims=false, dtype=…,
-- where=…, initial=1}): np.sum and np.prod of the elements that are not NaN; of none: 0, 1.
--- dtype: that of the result: x is cast to it before
--- > x = np.array{1, np.nan, 3}
--- > np.nansum(x), np.nanprod(x)
-- 4.0
-- 3.0
define_sum("nansum", "sum", 0)
define_sum("nanprod", "prod", 1)

local function define_cumulative(name, plain, neutral)
    define(name, function(x, given, extra)
        x = coerce(name, 1, x)
        return np[plain](without(x, neutral), reduces.options(name, given, named "axis dtype", extra))
    end)
end
--- np.nancumsum(x, {axis=…, dtype=…}), np.nancumprod(x, {axis=…, dtype=…}): np.cumsum and np.cumprod that take NaN for
-- 0 and for 1.
--- axis: along which it runs; the flattened array without it
--- dtype: that of the result: x is cast to it before
--- > np.nancumsum(np.array{1, np.nan, 3}), np.nancumprod(np.array{2, np.nan, 3})
-- [1. 1. 4.]
-- [2. 2. 6.]
define_cumulative("nancumsum", "cumsum", 0)
define_cumulative("nancumprod", "cumprod", 1)

--- Which elements count: no NaN, and what `where` says.
local function counted(name, x, where)
    local there = np.logical_not(np.isnan(x))
    if where == nil then return there end
    return np.logical_and(there, reduces.mask_array(name, x, where))
end

--- np.nanmean(x, {axis=…, keepdims=false, dtype=…, where=…}): the mean of the elements that are not NaN; of none: NaN.
--- dtype: what x is cast to before the mean
--- > np.nanmean(np.array{1, np.nan, 3})
-- 2.0
define("nanmean", function(x, given, extra)
    x = coerce("nanmean", 1, x)
    local o = reduces.options("nanmean", given, named "axis keepdims dtype where", extra)
    local half
    x, half = operands.wide(o.dtype ~= nil and np.astype(x, o.dtype) or reduces.real(x))
    local mask = reduces.mask_of("nanmean", x, o.axis)
    local result = reduces.mean_of(x, counted("nanmean", x, o.where), mask, o.keepdims)
    return operands.narrow(result, half)
end)

--- The variance, or its root where `root` says so.
local function variance(name, root, x, given, extra)
    local half
    x, half = operands.wide(reduces.real(coerce(name, 1, x)))
    local o = reduces.options(name, given, named "axis keepdims correction ddof where", extra)
    local mask = reduces.mask_of(name, x, o.axis)
    local result = reduces.variance_of(x, counted(name, x, o.where), mask, o.keepdims, reduces.correction(name, o))
    return operands.narrow(root and np.sqrt(result) or result, half)
end
--- np.nanvar(x, {axis=…, keepdims=false, correction=0, ddof=0, where=…}), np.nanstd(x, {axis=…, keepdims=false,
-- correction=0, ddof=0, where=…}): np.var and np.std of the elements that are not NaN; of none: NaN.
--- > np.nanvar(np.array{1, np.nan, 3}), np.nanstd(np.array{1, np.nan, 3}, {correction=1})
-- 1.0
-- 1.4142135
define("nanvar", function(x, given, extra) return variance("nanvar", false, x, given, extra) end)
define("nanstd", function(x, given, extra) return variance("nanstd", true, x, given, extra) end)

local function define_extremum(name, plain, combine)
    define(name, function(x, given, extra)
        x = coerce(name, 1, x)
        local o = reduces.options(name, given, named "axis keepdims where initial", extra)
        local mask, count = reduces.mask_of(name, x, o.axis)
        if count == 0 or core.dtype_of(x).kind ~= "f" then return np[plain](x, o) end
        if o.where ~= nil then
            if o.initial == nil then
                raise(name, "needs the option 'initial' beside 'where': it may be all there is")
            end
            x = np.where(reduces.mask_array(name, x, o.where), x, core.number(core.NAN, core.dtype_of(x).code))
        end
        local result = reduces.over(name, x, mask, o.keepdims)
        return o.initial == nil and result or combine(result, reduces.scalar_option(name, "initial", o.initial, x))
    end)
end
--- np.nanmax(x, {axis=…, keepdims=false, where=…, initial=…}), np.nanmin(x, {axis=…, keepdims=false, where=…,
-- initial=…}): the greatest or the smallest element that is not NaN; NaN if all are.
--- > np.nanmax(np.array{1, np.nan, 3}), np.nanmin(np.array{1, np.nan, 3})
-- 3.0
-- 1.0
define_extremum("nanmax", "max", np.fmax)
define_extremum("nanmin", "min", np.fmin)

local function define_index(name, plain, extremum)
    define(name, function(x, given, extra)
        x = coerce(name, 1, x)
        local o = reduces.options(name, given, reduces.index_options, extra)
        if not has_nan(x) then return np[plain](x, o) end
        local mask, count = reduces.mask_of(name, x, o.axis)
        if count == 0 then raise(name, "nothing to take it of: shape %s", core.shape_text(x)) end
        local is_top = np.equal(x, np[extremum](x, { axis = o.axis, keepdims = true }))
        local found = reduces.over("any", is_top, mask, o.keepdims)
        return np.where(found, reduces.place_of("argmax", is_top, mask, count, o),
                        core.number(-1, core.dtype_codes.i32))
    end)
end
--- np.nanargmax(x, {axis=…, keepdims=false, last=false}), np.nanargmin(x, {axis=…, keepdims=false, last=false}): the
-- index (i32, from 0) of the first greatest or smallest element that is not NaN; -1 if all are, as in JAX, where NumPy
-- raises.
--- axis: an axis or a table of them, negative ones counted from the end; the flattened array without it
--- last: true takes the last one of equal elements
--- > np.nanargmax(np.array{1, np.nan, 3}), np.nanargmin(np.array{np.nan, 2, 1})
-- 2
-- 2
define_index("nanargmax", "argmax", "nanmax")
define_index("nanargmin", "argmin", "nanmin")

--- np.nan_to_num(x, {nan=0, posinf=…, neginf=…}): x with numbers for NaN and the infinities; of complex numbers in both
-- parts.
--- nan: what stands for NaN
--- posinf: what stands for infinity; the greatest number of the dtype without it
--- neginf: what stands for minus infinity; the smallest number of the dtype without it
--- > np.nan_to_num(np.array{1, np.nan, np.inf}, {posinf=9})
-- [1. 0. 9.]
local nan_to_num
function nan_to_num(x, given, extra)
    if extra ~= nil then core.too_many("nan_to_num", 2, extra) end
    x = coerce("nan_to_num", 1, x)
    local o = core.options("nan_to_num", given, { nan = true, posinf = true, neginf = true })
    local values = {}
    for option, default in pairs { nan = 0, posinf = math.huge, neginf = -math.huge } do
        local value = o[option] == nil and default or core.plain(o[option])
        if type(value) ~= "number" and not core.is_array(value) then
            core.bad_argument("nan_to_num", nil, option, "a number or an array", value)
        end
        if core.is_array(value) and not shape.broadcasts_to(core.shape_of(value), core.shape_of(x)) then
            raise("nan_to_num", "option '%s' of shape %s does not broadcast to the array's %s", option,
                  core.shape_text(value), core.shape_text(x))
        end
        values[option] = value
    end
    local dtype = core.dtype_of(x)
    if dtype.kind == "c" then return np.complex(nan_to_num(np.real(x), given), nan_to_num(np.imag(x), given)) end
    if dtype.kind ~= "f" then return x end
    if o.posinf == nil or o.neginf == nil then
        local largest = np.finfo(dtype.name).max
        if o.posinf == nil then values.posinf = largest end
        if o.neginf == nil then values.neginf = -largest end
    end
    local function chosen(value) return np.astype(coerce("nan_to_num", 2, value), dtype.name) end
    local result = np.where(np.isnan(x), chosen(values.nan), x)
    result = np.where(np.equal(x, math.huge), chosen(values.posinf), result)
    return np.where(np.equal(x, -math.huge), chosen(values.neginf), result)
end
define("nan_to_num", nan_to_num)

return nans
