--- samples.lua: what functions of data along an axis do with their arguments: data are arrays with an axis, which count
-- in f64; results are rounded once.

local core = require "neap.core"
local operands = require "neap.arrays.operands"

local np, raise = core.np, core.raise

local samples = {}

--- The options of np.NAME, checked; `axis` becomes 0 where it is not there, and an integer.
function samples.options(name, given, known, extra, takes)
    if extra ~= nil then core.too_many(name, takes, extra) end
    local o = {}
    for key, value in pairs(core.options(name, given, known)) do o[key] = core.plain(value) end
    if known.axis then o.axis = core.integer(name, nil, "axis", o.axis == nil and 0 or o.axis) end
    if known.alternative then
        local one = o.alternative
        if one == nil then o.alternative = "two-sided" end
        if one ~= nil and one ~= "two-sided" and one ~= "less" and one ~= "greater" then
            core.bad_argument(name, nil, "alternative", '"two-sided", "less" or "greater"', one)
        end
    end
    return o
end

--- Data of np.NAME, a list, as arrays of f64 that have an axis, behind the dtype of results where it is another one.
function samples.read(name, axis, list)
    local given = {}
    for k = 1, math.max(#list, 1) do
        given[k] = list[k]
        if given[k] == nil then core.bad_argument(name, k, "data", "an array", nil) end
    end
    local narrow, arrays = operands.floats_list(name, "f64", #given, given)
    for k, x in ipairs(arrays) do
        if core.dtype_of(x).kind == "c" then raise(name, "takes real numbers, got complex ones") end
        local ndim = core.ndim(x)
        if ndim == 0 then raise(name, "argument %d must have an axis, got a number", k) end
        if axis < -ndim or axis >= ndim then
            raise(name, "axis %d of argument %d, whose shape is %s", axis, k, core.shape_text(x))
        end
    end
    return narrow, arrays
end

--- samples.read for data of which only the order counts: integers stay such, for those of 64 bits have more digits than
-- f64. together: the arrays are compared with each other, and so have one dtype.
function samples.ordered(name, axis, list, together)
    local narrow, arrays = samples.read(name, axis, list)
    local met = operands.meet_list(name, #arrays, list)
    local common = together and core.dtypes[core.dtype_codes[np.result_type(unpack(met))]]
    for k = 1, #arrays do
        local dtype = common or core.dtype_of(met[k])
        if not dtype.inexact then arrays[k] = np.astype(met[k], dtype.name) end
    end
    return narrow, arrays
end

--- How many elements x has along an axis.
function samples.count(x, axis)
    return core.extent(x, axis % core.ndim(x))
end

--- Raises unless x and y have one shape.
function samples.alike(name, x, y)
    for k = 1, math.max(core.ndim(x), core.ndim(y)) do
        if not core.is_same(core.shape_of(x)[k], core.shape_of(y)[k]) then
            raise(name, "expected two arrays of one shape, got %s and %s", core.shape_text(x), core.shape_text(y))
        end
    end
end

--- The mean of x along an axis, which stays, and the differences from it.
function samples.centered(x, axis)
    local mean = np.mean(x, { axis = axis, keepdims = true })
    return mean, x - mean
end

--- The variance along an axis, divided by n - ddof; NaN where that is nothing.
function samples.variance(x, axis, ddof)
    local _, off = samples.centered(x, axis)
    local left = np.maximum(samples.count(x, axis) - ddof, 0)
    return np.sum(off * off, { axis = axis }) / np.astype(left, "f64")
end

--- Results as they are given to the user: each as the dtype, if there is one.
function samples.results(narrow, ...)
    local list = { ... }
    for k = 1, #list do list[k] = operands.narrow(list[k], narrow) end
    return unpack(list)
end

return samples
