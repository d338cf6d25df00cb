--- apply.lua: functions of Lua applied to parts of arrays: along an axis, over several, and to single elements.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"

local np = core.np
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, is_array, type, select = core.shape_of, core.is_array, type, select

local function check_function(name, f)
    if type(f) ~= "function" then bad_argument(name, 1, "f", "a function", f) end
end

--- np.apply_along_axis(f, axis, x, …): f of every 1-d part of x along an axis; further arguments are passed on. What f
-- gives, an array or a number, takes the place of the axis. f is called once for all parts, as by np.vmap.
--- > np.apply_along_axis(function(row) return row / row:sum() end, 1, np.array{{1, 3}, {2, 2}})
-- [[0.25 0.75]
--  [0.5  0.5 ]]
function np.apply_along_axis(f, axis, x, ...)
    check_function("apply_along_axis", f)
    x = coerce("apply_along_axis", 3, x)
    local dims = shape_of(x)
    axis = core.axis("apply_along_axis", axis, #dims)
    local n = table.remove(dims, axis + 1)
    local rows = shape.product(dims)
    local more, count = { ... }, select("#", ...)
    local parts = shape.reshape(np.moveaxis(x, axis, -1), { rows, n })
    local result = np.vmap(function(row)
        local value = f(row, unpack(more, 1, count))
        if not is_array(value) and type(value) ~= "number" and type(value) ~= "boolean" then
            raise("apply_along_axis", "the function must give an array or a number, got %s", core.describe(value))
        end
        return coerce("apply_along_axis", 1, value)
    end)(parts)
    local own = shape_of(result)
    local inner = { unpack(own, 2) }
    local wide = { unpack(dims) }
    for k = 1, #inner do wide[#dims + k] = inner[k] end
    result = shape.reshape(result, wide)
    local from, to = {}, {}
    for k = 1, #inner do from[k], to[k] = #dims + k - 1, axis + k - 1 end
    return #inner > 0 and np.moveaxis(result, from, to) or result
end

--- np.apply_over_axes(f, x, axes): f(x, {axis=k}) for one axis after the other. f is a function such as np.sum; where
-- its result has lost the axis, it comes back with extent 1.
--- > np.apply_over_axes(np.sum, np.ones{2, 3, 4}, {0, 2})
-- [[[8.]
--   [8.]
--   [8.]]]
np.apply_over_axes = function(f, x, axes)
    check_function("apply_over_axes", f)
    x = coerce("apply_over_axes", 2, x)
    local ndim = core.ndim(x)
    for _, axis in ipairs(shape.axes("apply_over_axes", axes, ndim)) do
        local result = coerce("apply_over_axes", 1, f(x, { axis = axis }))
        if core.ndim(result) == ndim - 1 then result = np.expand_dims(result, axis) end
        if core.ndim(result) ~= ndim then
            raise("apply_over_axes", "the function made shape %s of %s; expected %d or %d axes",
                  core.shape_text(result), core.shape_text(x), ndim, ndim - 1)
        end
        x = result
    end
    return x
end

--- The elements of an array in row-major order as Lua values.
local function values_of(x)
    return np.totable(shape.reshape(x, { x.size }))
end

--- np.vectorize(f, {dtype=…}) -> function: a function of arrays and numbers that calls f, a function of Lua numbers,
-- for each element; arguments broadcast. Its results are arrays of f's results, in the dtype of floats that the arrays
-- and a fraction have (bool where they are booleans). Convenient, not fast: it waits for its arguments, and raises
-- while tracing. For a function of arrays np.vmap is better.
--- dtype: of the results: a name, or a table of one for each result
--- > step = np.vectorize(function(a, b) if a > b then return a - b end return a + b end)
--- > step(np.array{1, 2, 3, 4}, 2)
-- [3. 4. 1. 2.]
np.vectorize = function(f, given)
    check_function("vectorize", f)
    local o = options("vectorize", given, { dtype = true })
    local wanted = type(o.dtype) == "table" and o.dtype or { o.dtype }
    for k = 1, #wanted do core.dtype("vectorize", wanted[k]) end
    return function(...)
        local n = select("#", ...)
        local arrays, columns, shapes = operands.meet_list("vectorize", n, { ... }), {}, {}
        for k = 1, n do shapes[k] = shape_of(arrays[k]) end
        local floats = core.dtypes[core.dtype_codes[np.result_type(0.5, unpack(arrays, 1, n))]].real
        local dims = n > 0 and shape.broadcast("vectorize", unpack(shapes)) or {}
        for k = 1, n do columns[k] = values_of(shape.broadcast_to(arrays[k], dims)) end
        local results, width = {}, 0
        local arguments = {}
        for i = 1, shape.product(dims) do
            for k = 1, n do arguments[k] = columns[k][i] end
            local list = { f(unpack(arguments, 1, n)) }
            if i == 1 then width = #list end
            for k = 1, width do
                if type(list[k]) ~= "number" and type(list[k]) ~= "boolean" and not core.integer64(list[k]) then
                    raise("vectorize", "result %d of the function must be a number or a boolean, got %s", k,
                          core.describe(list[k]))
                end
                results[k] = results[k] or {}
                results[k][i] = list[k]
            end
            if width == 0 then raise("vectorize", "the function gives no result") end
        end
        for k = 1, math.max(width, 1) do
            local dtype = wanted[k] or (not results[k] or type(results[k][1]) ~= "boolean") and floats or nil
            results[k] = results[k] and np.reshape(np.array(results[k], { dtype = dtype }), dims)
                or np.zeros(dims, { dtype = dtype })
        end
        return unpack(results)
    end
end
