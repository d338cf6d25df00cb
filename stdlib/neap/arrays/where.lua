--- where.lua: elements by conditions, elements written at places, order by several keys.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local selects = require "neap.arrays.select"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, is_array, ids, operand = core.shape_of, core.is_array, core.ids, create.operand

-- ---- Places of elements ---------------------------------------------------------------------------------------------

--- np.argwhere(x, {size=…, fill_value=0}), np.flatnonzero(x, {size=…, fill_value=0}): where elements are not 0: a row
-- of coordinates (i32) for each; places in the flattened array. Waits for x, unless there is `size`.
--- size: how many there are to be, as in np.nonzero
--- fill_value: what stands behind the last one, with size
--- > np.argwhere(np.array{{0, 7}, {8, 0}}), np.flatnonzero(np.array{{0, 7}, {8, 0}})
-- [[0 1]
--  [1 0]]
-- [1 2]
define("argwhere", function(x, given, extra)
    if extra ~= nil then core.too_many("argwhere", 2, extra) end
    x = operand("argwhere", 1, x)
    local o = options("argwhere", given, { size = true, fill_value = true })
    if core.ndim(x) == 0 then
        local places = np.nonzero(shape.reshape(x, { 1 }), o)
        return np.zeros({ shape_of(places)[1], 0 }, { dtype = "i32" })
    end
    return np.stack({ np.nonzero(x, o) }, { axis = 1 })
end)
define("flatnonzero", function(x, given, extra)
    if extra ~= nil then core.too_many("flatnonzero", 2, extra) end
    local o = options("flatnonzero", given, { size = true, fill_value = true })
    return (np.nonzero(np.ravel(operand("flatnonzero", 1, x)), o))
end)

local function condition(name, value)
    value = operand(name, 1, value)
    return core.dtype_of(value).kind == "b" and value or np.not_equal(value, 0)
end

--- x where a 1-d condition is true along an axis, which may be shorter than the axis.
local function compress(name, cond, x, given)
    cond, x = condition(name, cond), operand(name, 2, x)
    local axis = options(name, given, { axis = true }).axis
    if core.ndim(cond) ~= 1 then raise(name, "the condition must have 1 axis, got shape %s", core.shape_text(cond)) end
    if axis == nil then x, axis = np.ravel(x), 0 end
    axis = core.axis(name, axis, core.ndim(x))
    local n = shape_of(x)[axis + 1]
    if cond.size > n then
        raise(name, "a condition of %d elements for an axis of %d", cond.size, n)
    end
    return selects.take(x, (selects.places(cond)), axis)
end

--- np.compress(condition, x, {axis=…}), x:compress(condition, {axis=…}): the parts of x along an axis where a 1-d
-- condition is true. Waits for the condition.
--- axis: along which parts are taken; the flattened array without it
--- > np.compress({false, true}, np.array{{1, 2}, {3, 4}}, {axis=0}), np.array{1, 2, 3}:compress{true, false, true}
-- [[3. 4.]]
-- [1. 3.]
np.compress = function(cond, x, given, extra)
    if extra ~= nil then core.too_many("compress", 3, extra) end
    return compress("compress", cond, x, given)
end
core.methods.compress = function(x, cond, given, extra)
    if extra ~= nil then core.too_many("compress", 3, extra) end
    return compress("compress", cond, x, given)
end

--- np.extract(condition, x): the elements of x where a condition of its size is true, 1-d. Waits for the condition.
--- > np.extract(np.array{true, false, true}, np.array{1, 2, 3})
-- [1. 3.]
function np.extract(cond, x, extra)
    if extra ~= nil then core.too_many("extract", 2, extra) end
    cond, x = condition("extract", cond), operand("extract", 2, x)
    if cond.size ~= x.size then
        raise("extract", "a condition of shape %s for an array of shape %s", core.shape_text(cond), core.shape_text(x))
    end
    return selects.take(np.ravel(x), (selects.places(np.ravel(cond))), 0)
end

-- ---- One of several values ------------------------------------------------------------------------------------------

--- A table of conditions, as bools.
local function conditions(name, list)
    if is_array(list) then list = { list:unpack() } end
    if type(list) ~= "table" or #list == 0 then
        raise(name, "the conditions must be a table of at least one array, got %s", core.describe(list))
    end
    local result = {}
    for k = 1, #core.list(name, "the table of conditions", list) do result[k] = condition(name, list[k]) end
    return result
end

--- np.select(conditions, choices, default): by element the choice whose condition is the first one that is true, and
-- `default` (0 without it) where none is. Tables of arrays, which broadcast; numbers and tables among the choices take
-- the dtype of the arrays.
--- > x = np.arange(5)
--- > np.select({x:lt(2), x:lt(4)}, {x, x * 10}, -1)
-- [ 0  1 20 30 -1]
function np.select(conds, choices, default, extra)
    if extra ~= nil then core.too_many("select", 3, extra) end
    conds = conditions("select", conds)
    if is_array(choices) then choices = { choices:unpack() } end
    if type(choices) ~= "table" or #choices ~= #conds then
        raise("select", "%d conditions need a table of as many choices, got %s", #conds,
              type(choices) == "table" and #choices or core.describe(choices))
    end
    local n = #core.list("select", "the table of choices", choices)
    local values = core.copy_list(choices)
    values[n + 1] = default == nil and 0 or default
    values = operands.meet_list("select", n + 1, values)
    local result = values[n + 1]
    for k = n, 1, -1 do result = np.where(conds[k], values[k], result) end
    return result
end

--- np.piecewise(x, conditions, functions, …): by element what the function of the last condition that is true gives of
-- x, in x's dtype. Functions may be numbers and tables; one more than there are conditions is for where none is true, 0
-- without it. Further arguments go to the functions. Each function is called with all of x.
--- > x = np.array{-2, 0, 3}
--- > np.piecewise(x, {x:lt(0), x:ge(0)}, {-1, function(x) return x * 2 end})
-- [-1.  0.  6.]
define("piecewise", function(x, conds, functions, ...)
    x = operand("piecewise", 1, x)
    conds = conditions("piecewise", conds)
    if type(functions) ~= "table" or #functions ~= #conds and #functions ~= #conds + 1 then
        raise("piecewise", "%d conditions need a table of as many functions or one more, got %s", #conds,
              type(functions) == "table" and #functions or core.describe(functions))
    end
    core.list("piecewise", "the table of functions", functions)
    local code = core.dtype_of(x).code
    local function value(f, ...)
        local result = f
        if type(f) == "function" then result = f(x, ...) end
        if type(result) == "string" or type(result) == "function" or result == nil then
            bad_argument("piecewise", 3, "functions", "functions that give arrays, or numbers", result)
        end
        return create.value("piecewise", result, code)
    end
    local result = np.zeros_like(x)
    if functions[#conds + 1] ~= nil then result = value(functions[#conds + 1], ...) end
    for k = 1, #conds do result = np.where(conds[k], value(functions[k], ...), result) end
    return shape.broadcast_to(result, shape.broadcast("piecewise", shape_of(result), shape_of(x)))
end)

--- np.choose(a, choices, {mode="clip"}): by element the choice that an integer of a names, counted from 0; all
-- broadcast.
--- mode: what integers out of range take: "clip" the first or the last choice, "wrap" counts around, and "raise"
-- raises, for which it waits
--- > np.choose(np.array({0, 1, 0}, {dtype="i32"}), {np.array{1, 2, 3}, np.array{10, 20, 30}})
-- [ 1. 20.  3.]
define("choose", function(index, choices, given, extra)
    if extra ~= nil then core.too_many("choose", 3, extra) end
    local mode = options("choose", given, { mode = true }).mode
    if mode ~= nil and mode ~= "clip" and mode ~= "wrap" and mode ~= "raise" then
        bad_argument("choose", nil, "mode", '"clip", "wrap" or "raise"', mode)
    end
    if type(index) == "table" and getmetatable(index) == nil then index = np.array(index, { dtype = "i32" }) end
    index = coerce("choose", 1, index)
    local kind = core.dtype_of(index).kind
    if kind == "b" then index, kind = np.astype(index, "i32"), "i" end
    if kind ~= "i" and kind ~= "u" then
        core.not_integers("choose", "argument 1", core.dtype_of(index))
    end
    if is_array(choices) then choices = { choices:unpack() } end
    if type(choices) ~= "table" or #choices == 0 then
        raise("choose", "argument 2 must be a table of at least one array, got %s", core.describe(choices))
    end
    local n = #core.list("choose", "the table of choices", choices)
    if kind == "i" and mode ~= "wrap" then -- no counting from the end here
        if mode == "raise" and index.size > 0 and np.min(index):item() < 0 then
            raise("choose", "index %s is out of range for %d choices", tostring(np.min(index)), n)
        end
        index = selects.not_below(index)
    end
    index = selects.by_mode("choose", index, n, mode or "clip")
    local values = operands.meet_list("choose", n, choices)
    local result = values[n]
    for k = n - 1, 1, -1 do result = np.where(np.equal(index, k - 1), values[k], result) end
    return shape.broadcast_to(result, shape.broadcast("choose", shape_of(result), shape_of(index)))
end)

-- ---- Writing at places ----------------------------------------------------------------------------------------------

--- np.put(x, indices, values, {mode="drop"}): a copy of x with values written at places of the flattened array. Of
-- fewer values than places they are repeated. Arrays are cast to x's dtype, which has to have numbers.
--- mode: what indices out of range do, as in x:at{…}:set; with "clip" negative ones write to the first element
--- > np.put(np.arange(5), {0, -1}, {7, 8}), np.put(np.arange(5), {0, 6}, 9, {mode="clip"})
-- [7 1 2 3 8]
-- [9 1 2 3 9]
define("put", function(x, index, values, given, extra)
    if extra ~= nil then core.too_many("put", 4, extra) end
    local mode = selects.mode_option("put", given, "drop")
    if not is_array(x) then x = operands.meet("put", 2, x, values) end
    values = np.ravel(create.value("put", values, core.dtype_of(x).code))
    index = np.ravel(selects.index_array("put", index, given and math.huge or x.size))
    local n, m = index.size, values.size
    if n == 0 then return x end
    if mode == "clip" then index = selects.not_below(index) end
    if m == 0 then raise("put", "needs at least one value for %d places", n) end
    local unknown = not core.is_same(n, m) and (core.is_size(n) or core.is_size(m)) -- which one is greater
    if not unknown and m > n then values = shape.cut(values, 0, 0, n) end
    if (unknown or m < n) and not core.is_same(m, 1) then
        values = selects.take(values, np.remainder(create.iota(n, core.dtype_codes.i32), m), 0)
    end
    if core.is_same(m, 1) then values = shape.reshape(values, {}) end
    local flat = np.ravel(x):at { index }
    return shape.reshape(flat:set(values, { mode = mode }), shape_of(x))
end)

local REDUCTIONS = { set = true, add = true, mul = true, min = true, max = true }

--- np.put_along_axis(x, indices, values, {axis=-1, mode="drop", reduce="set"}): a copy of x with values written where
-- np.take_along_axis with the same indices reads, or combined with what is there. Values are cast to x's dtype.
--- mode: what indices out of range do, as in x:at{…}:set
--- reduce: "set" (of several values at one place the last one is taken), "add", "mul", "min" or "max", of all of them,
-- as in x:at{…}:add
--- > x = np.array{{10, 30, 20}, {60, 40, 50}}
--- > np.put_along_axis(x, np.argmax(x, {axis=1, keepdims=true}), 99, {axis=1, mode="clip"})
-- [[10. 99. 20.]
--  [99. 40. 50.]]
--- > np.put_along_axis(np.zeros{1, 3}, np.array({{2, 0, 2}}, {dtype="i32"}), 1, {axis=1, reduce="add"})
-- [[1. 0. 2.]]
define("put_along_axis", function(x, index, values, given, extra)
    if extra ~= nil then core.too_many("put_along_axis", 4, extra) end
    if not is_array(x) then x = operands.meet("put_along_axis", 2, x, values) end
    local o = core.axis_options("put_along_axis", given, { axis = true, mode = true, reduce = true })
    local how = o.reduce == nil and "set" or o.reduce
    if not REDUCTIONS[how] then
        bad_argument("put_along_axis", nil, "reduce", '"set", "add", "mul", "min" or "max"', how)
    end
    local dims = shape_of(x)
    local axis = core.axis("put_along_axis", o.axis == nil and -1 or o.axis, #dims)
    index = selects.index_array("put_along_axis", index, dims[axis + 1])
    local own, wide = shape_of(index), shape_of(x)
    wide[axis + 1] = own[axis + 1]
    if #own ~= #dims or not shape.broadcasts_to(own, wide) then
        raise("put_along_axis", "indices of shape %s do not fit axis %d of shape %s", core.shape_text(own), axis,
              core.shape_text(dims))
    end
    local mode = selects.mode_of("put_along_axis", o, "drop")
    values = create.value("put_along_axis", values, core.dtype_of(x).code)
    if not shape.broadcasts_to(shape_of(values), wide) then
        raise("put_along_axis", "values of shape %s do not broadcast to %s", core.shape_text(values),
              core.shape_text(wide))
    end
    local places = selects.positions_along(dims, index, wide, axis, mode, "put_along_axis")
    local flat, new = np.ravel(x), np.ravel(shape.broadcast_to(values, wide))
    places = np.ravel(places)
    core.attrs[0] = 0
    return shape.reshape(core.recordn(ids["put_" .. how], { flat, places, new }, 3, 1), dims)
end)

-- ---- Order ----------------------------------------------------------------------------------------------------------

--- np.lexsort(keys, {axis=-1}): the indices (i32) that sort by the last key, equal ones by the key before it, and so
-- on. Keys are a table of arrays of one shape, or the parts of an array along its first axis.
--- > np.lexsort{np.array{2, 1, 3}, np.array{5, 5, 4}}
-- [2 1 0]
function np.lexsort(keys, given, extra)
    if extra ~= nil then core.too_many("lexsort", 2, extra) end
    if is_array(keys) then keys = { keys:unpack() } end
    if type(keys) ~= "table" or #keys == 0 then
        raise("lexsort", "argument 1 must be a table of at least one array, got %s", core.describe(keys))
    end
    core.list("lexsort", "the table of keys", keys)
    local axis = options("lexsort", given, { axis = true }).axis
    local order, first
    for k = 1, #keys do
        local key = operand("lexsort", 1, keys[k])
        first = first or shape_of(key)
        if not shape.same(first, shape_of(key)) then
            raise("lexsort", "key %d has shape %s, key 1 has %s", k, core.shape_text(key), core.shape_text(first))
        end
        local along = { axis = core.axis("lexsort", axis == nil and -1 or axis, #first) }
        if order then
            order = np.take_along_axis(order, np.argsort(np.take_along_axis(key, order, along), along), along)
        else
            order = np.argsort(key, along)
        end
    end
    return order
end

--- Checks where np.partition is to divide: integers in range.
local function check_places(name, kth, n)
    for _, k in ipairs(type(kth) == "table" and core.list(name, "the table of places", kth) or { kth or false }) do
        core.integer(name, 2, "kth", k or nil, -n, n - 1)
    end
end

for name, plain in pairs { partition = "sort", argpartition = "argsort" } do
    --- np.partition(x, kth, {axis=-1}), np.argpartition(x, kth, {axis=-1}): x so ordered that what stands before place
    -- kth is not greater than what stands there, and what stands behind is not smaller; the indices that do it. Here
    -- all is sorted, which is one of the ways to do it.
    --- > np.partition(np.array{3, 1, 2}, 1), np.argpartition(np.array{3, 1, 2}, 1)
    -- [1. 2. 3.]
    -- [1 2 0]
    define(name, function(x, kth, given, extra)
        if extra ~= nil then core.too_many(name, 3, extra) end
        x = operand(name, 1, x)
        local axis = core.axis_options(name, given, { axis = true }).axis
        axis = core.axis(name, axis == nil and -1 or axis, core.ndim(x))
        check_places(name, kth, shape_of(x)[axis + 1])
        return np[plain](x, { axis = axis })
    end)
end
