--- stack.lua: arrays put together and taken apart, in the ways that NumPy has names for. All stand on np.concatenate,
-- slices and np.take.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local concatenate = require "neap.arrays.concatenate"
local create = require "neap.arrays.create"
local selects = require "neap.arrays.select"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, is_array, type, floor = core.shape_of, core.is_array, type, math.floor

-- ---- Stacking -------------------------------------------------------------------------------------------------------

--- The arrays of np.name{a, b, …}, each as `prepare` makes it.
local function prepared(name, list, prepare)
    list = concatenate.array_list(name, list)
    for k = 1, #list do list[k] = prepare(list[k]) end
    return list
end

--- Joins arrays along an axis; those of another shape are named by their place.
local function joined(name, list, axis)
    local first = shape_of(list[1])
    for k = 2, #list do
        local dims = shape_of(list[k])
        local fits = #dims == #first
        for d = 1, #first do fits = fits and (d == axis + 1 or dims[d] == first[d]) end
        if not fits then
            raise(name, "array %d has shape %s, array 1 has %s: all extents but that of axis %d must agree", k,
                  core.shape_text(dims), core.shape_text(first), axis)
        end
    end
    return shape.join(list, axis)
end

--- np.vstack({a, b, …}): joins arrays along their first axis; 1-d ones count as rows.
--- > np.vstack({np.array{1, 2}, np.array{3, 4}})
-- [[1. 2.]
--  [3. 4.]]
np.vstack = function(list)
    return joined("vstack", prepared("vstack", list, np.atleast_2d), 0)
end

--- np.hstack({a, b, …}): joins arrays along their second axis, 1-d ones along their only one.
--- > np.hstack({np.array{1, 2}, np.array{3}})
-- [1. 2. 3.]
np.hstack = function(list)
    list = prepared("hstack", list, np.atleast_1d)
    return joined("hstack", list, core.ndim(list[1]) == 1 and 0 or 1)
end

--- np.dstack({a, b, …}): joins arrays along their third axis, which is added where it is missing.
--- > np.dstack({np.array{1, 2}, np.array{3, 4}})
-- [[[1. 3.]
--   [2. 4.]]]
np.dstack = function(list)
    return joined("dstack", prepared("dstack", list, np.atleast_3d), 2)
end

--- np.column_stack({a, b, …}): joins 1-d arrays as columns, and 2-d ones as they are.
--- > np.column_stack({np.array{1, 2}, np.array{3, 4}})
-- [[1. 3.]
--  [2. 4.]]
np.column_stack = function(list)
    return joined("column_stack", prepared("column_stack", list, function(x)
        return core.ndim(x) < 2 and shape.reshape(x, { x.size, 1 }) or x
    end), 1)
end

--- How deep tables of arrays are nested, and the greatest number of axes; all leaves must be equally deep. They are
-- added to the list `leaves`.
local function depth_of(list, path, leaves)
    if type(list) == "cdata" or type(list) == "number" or type(list) == "boolean" then
        leaves[#leaves + 1] = list
        return 0, is_array(list) and core.ndim(list) or 0
    end
    if type(list) ~= "table" then
        raise("block", "item%s must be an array, a number or a table of them, got %s", path, core.describe(list))
    end
    if #core.list("block", path == "" and "the table" or "item" .. path, list) == 0 then
        raise("block", "item%s is an empty table", path)
    end
    local depth, ndim
    for k = 1, #list do
        local inner, axes = depth_of(list[k], ("%s[%d]"):format(path, k), leaves)
        if depth and inner ~= depth then
            raise("block", "item%s[%d] is nested to another depth than item%s[1]", path, k, path)
        end
        depth, ndim = inner, math.max(ndim or 0, axes)
    end
    if depth + 1 > core.MAX_DIMS then raise("block", "tables are nested deeper than %d axes", core.MAX_DIMS) end
    return depth + 1, ndim
end

--- np.block({{a, b}, {c, d}}): an array put together of blocks: innermost tables are joined along the last axis, those
-- around them along the one before, and so on. Missing leading axes are added.
--- > np.block({{np.eye(2), np.zeros{2, 1}}, {np.ones{1, 3}}})
-- [[1. 0. 0.]
--  [0. 1. 0.]
--  [1. 1. 1.]]
np.block = function(list)
    local leaves, at = {}, 0
    local depth, axes = depth_of(list, "", leaves)
    local ndim = math.max(depth, axes)
    leaves = operands.meet_list("block", #leaves, leaves)
    local function build(part, level)
        if level == 0 then
            at = at + 1
            local x = leaves[at]
            local dims = shape_of(x)
            while #dims < ndim do table.insert(dims, 1, 1) end
            return shape.reshape(x, dims)
        end
        local parts = {}
        for k = 1, #part do parts[k] = build(part[k], level - 1) end
        return joined("block", parts, ndim - level)
    end
    return build(list, depth)
end

-- ---- Splitting ------------------------------------------------------------------------------------------------------

--- np.array_split(x, n, {axis=0}) -> table: n parts, of which the first ones have an element more where the axis does
-- not divide evenly; np.array_split(x, {2, 5}): as np.split. A Lua table of views.
--- axis: the axis that is divided
--- > np.array_split(np.arange(5), 2)[1], np.array_split(np.arange(5), 2)[2]
-- [0 1 2]
-- [3 4]
define("array_split", function(x, where, given)
    x = coerce("array_split", 1, x)
    local axis = core.axis_options("array_split", given, { axis = true }).axis or 0
    where = core.plain(where)
    if type(where) ~= "number" then return np.split(x, where, { axis = axis }) end
    local n = shape_of(x)[core.axis("array_split", axis, core.ndim(x)) + 1]
    local most = concatenate.MOST_SECTIONS
    if where < 1 or where > most or where ~= floor(where) then
        local wanted = ("an integer from 1 to %d or a table of indices"):format(most)
        bad_argument("array_split", 2, "sections", wanted, where)
    end
    local cuts, at = {}, 0
    for k = 1, where - 1 do
        at = at + floor(n / where) + math.max(0, math.min(1, n % where - k + 1))
        cuts[k] = at
    end
    return np.split(x, cuts, { axis = axis })
end)

for name, row in pairs { vsplit = { 0, 2 }, hsplit = { 1, 1 }, dsplit = { 2, 3 } } do
    --- np.vsplit(x, n), np.hsplit(x, n), np.dsplit(x, n) -> table: np.split along the first, the second (of 1-d x the
    -- only) or the third axis.
    --- > np.vsplit(np.eye(2), 2)[1], np.hsplit(np.arange(4), 2)[2], #np.dsplit(np.ones{1, 1, 2}, 2)
    -- [[1. 0.]]
    -- [2 3]
    -- 2
    define(name, function(x, where)
        x = coerce(name, 1, x)
        local ndim = core.ndim(x)
        if ndim < row[2] then raise(name, "needs at least %d axes, got shape %s", row[2], core.shape_text(x)) end
        return np.split(x, where, { axis = math.min(row[1], ndim - 1) })
    end)
end

-- ---- Elements added and taken out -----------------------------------------------------------------------------------

--- np.append(x, values, {axis=…}): x with the values behind it: both flattened, or joined along an axis. Numbers and
-- tables of them take x's dtype, as they do in x + 7.
--- axis: along which they are joined; both are flattened without it
--- > np.append(np.arange(2), np.array{7, 8}), np.append(np.arange(2), 7), np.append(np.arange(2), {7, 8})
-- [0. 1. 7. 8.]
-- [0 1 7]
-- [0 1 7 8]
define("append", function(x, values, given)
    local axis = core.axis_options("append", given, { axis = true }).axis
    x, values = operands.meet("append", 2, x, values)
    if axis == nil then return np.concatenate({ np.ravel(x), np.ravel(values) }) end
    return np.concatenate({ x, values }, { axis = axis })
end)

--- x and the axis (from 0) along which np.name changes it: flattened without one.
local function axis_or_flat(name, x, given)
    local axis = core.axis_options(name, given, { axis = true }).axis
    if axis == nil then return np.ravel(x), 0 end
    return x, core.axis(name, axis, core.ndim(x))
end

--- Places along an axis of extent n, which a user gives as a number, a list, or an array, whose values are read: a list
-- from 0 up, and whether it was a number. A place `most` may be given too.
local function places_of(name, where, n, most)
    if is_array(where) then
        local dtype = core.dtype_of(where)
        if dtype.kind == "b" then where = np.nonzero(where) end
        if dtype.inexact then core.not_integers(name, "argument 2 (places)", dtype) end
        where = np.totable(where)
    end
    where = core.plain(where)
    local single = core.is_number(where)
    if not single and type(where) ~= "table" then
        bad_argument(name, 2, "places", "an integer, a list of them or an integer array", where)
    end
    local list = {}
    for k, at in ipairs(single and { where } or core.list(name, "the list of places", where)) do
        at = core.integer(name, 2, "places", at)
        if at < -n or at > most then raise(name, "place %d is out of range for an axis of extent %d", at, n) end
        list[k] = at < 0 and at + n or at
    end
    return list, single
end

--- The numbers of a list of places in the order of these.
local function in_order(places)
    local order = {}
    for k = 1, #places do
        local at = k
        while at > 1 and places[order[at - 1]] > places[k] do
            order[at] = order[at - 1]
            at = at - 1
        end
        order[at] = k
    end
    return order
end

--- What np.insert gives where extents are sizes: the parts of x between the places, and the values between these.
-- `own` is the shape of the values, which have x's rank.
local function inserted(x, places, values, own, axis)
    local dims = shape_of(x)
    local n, from, parts = dims[axis + 1], 0, {}
    dims[axis + 1] = #places == 1 and own[axis + 1] or #places
    values = shape.broadcast_to(values, dims)
    for _, k in ipairs(in_order(places)) do
        parts[#parts + 1] = shape.cut(x, axis, from, places[k])
        parts[#parts + 1] = #places == 1 and values or shape.cut(values, axis, k - 1, k)
        from = places[k]
    end
    parts[#parts + 1] = shape.cut(x, axis, from, n)
    return shape.join(parts, axis)
end

--- What np.delete_at gives where the extent is a size.
local function without(x, places, n, axis)
    local from, parts = 0, {}
    for _, k in ipairs(in_order(places)) do
        parts[#parts + 1] = shape.cut(x, axis, from, math.max(from, places[k])) -- a place may stand twice
        from = places[k] + 1
    end
    parts[#parts + 1] = shape.cut(x, axis, from, n)
    return shape.join(parts, axis)
end

--- np.insert(x, places, values, {axis=…}): x with values before the elements at these places, which count in x as it
-- is: an integer from 0 to the extent, a list or an array. values broadcast; arrays are cast to x's dtype, which has
-- to have numbers. Before one place any number of them can come.
--- axis: along which they are inserted; the flattened array without it
--- > np.insert(np.arange(4), 1, 9), np.insert(np.arange(3), {0, 3}, np.array{7, 8})
-- [0 9 1 2 3]
-- [7 0 1 2 8]
define("insert", function(x, where, values, given)
    if not is_array(x) then x = operands.meet("insert", 2, x, values) end
    local code = core.dtype_of(x).code
    local axis
    x, axis = axis_or_flat("insert", x, given)
    local dims = shape_of(x)
    local n = dims[axis + 1]
    if n == nil then raise("insert", "a 0-d array has no places") end
    local places, single = places_of("insert", where, n, n)
    values = create.value("insert", values, code)
    local own = shape_of(values)
    if #own > #dims then
        raise("insert", "values of shape %s have more axes than the array of shape %s", core.shape_text(own),
              core.shape_text(dims))
    end
    while #own < #dims do table.insert(own, 1, 1) end
    values = shape.reshape(values, own)
    if single then
        values = np.moveaxis(values, 0, axis)
        own = shape_of(values)
    end
    if core.is_size(n) or core.is_size(own[axis + 1]) then return inserted(x, places, values, own, axis) end
    if #places == 1 then
        for k = 2, own[axis + 1] do places[k] = places[1] end
        if own[axis + 1] == 0 then places = {} end
    end
    local part = { unpack(dims) }
    part[axis + 1] = #places
    if not shape.broadcasts_to(own, part) then
        raise("insert", "values of shape %s do not broadcast to the new elements, of shape %s", core.shape_text(own),
              core.shape_text(part))
    end
    -- Which element of x followed by the values stands where.
    local before, order = {}, {}
    for k, at in ipairs(places) do
        before[at] = before[at] or {}
        table.insert(before[at], n + k - 1)
    end
    for at = 0, n do
        for _, k in ipairs(before[at] or {}) do order[#order + 1] = k end
        if at < n then order[#order + 1] = at end
    end
    return selects.take(shape.join({ x, shape.broadcast_to(values, part) }, axis), create.integers(order), axis)
end)

--- np.delete_at(x, places, {axis=…}): x without the elements at these places: an integer, a list, or an array of
-- integers or bools, whose values are read. NumPy's np.delete; in neap np.delete(x) frees an array.
--- axis: along which elements go; the flattened array without it
--- > np.delete_at(np.arange(5), 1), np.delete_at(np.arange(6):reshape(2, 3), {0, -1}, {axis=1})
-- [0 2 3 4]
-- [[1]
--  [4]]
define("delete_at", function(x, where, given)
    x = coerce("delete_at", 1, x)
    local axis
    x, axis = axis_or_flat("delete_at", x, given)
    local n = shape_of(x)[axis + 1]
    if is_array(where) and core.dtype_of(where).kind == "b" and not shape.same(shape_of(where), { n }) then
        raise("delete_at", "a mask must have shape (%d,), got %s", n, core.shape_text(where))
    end
    local gone, order, places = {}, {}, places_of("delete_at", where, n, n - 1)
    if core.is_size(n) then return without(x, places, n, axis) end
    for _, at in ipairs(places) do gone[at] = true end
    for at = 0, n - 1 do
        if not gone[at] then order[#order + 1] = at end
    end
    return selects.take(x, create.integers(order), axis)
end)

--- np.resize(x, {2, 3}): an array of that shape with the elements of x in row-major order, again from the first when
-- they end.
--- > np.resize(np.arange(3), {2, 4})
-- [[0 1 2 0]
--  [1 2 0 1]]
define("resize", function(x, ...)
    x = np.ravel(coerce("resize", 1, x))
    local dims, given = shape.arguments("resize", ...)
    options("resize", given, {})
    local size, n = shape.product(dims), x.size
    if size == 0 or n == 0 then return np.zeros(dims, { dtype = core.dtype_of(x).name }) end
    local times = floor((size + n - 1) / n)
    if core.is_size(times) or times > 1 then
        x = shape.reshape(shape.broadcast_to(shape.reshape(x, { 1, n }), { times, n }), { times * n })
    end
    return shape.reshape(shape.cut(x, 0, 0, size), dims)
end)

--- np.trim_zeros(x, {trim="fb", axis=…}): x without its outermost zeros along every axis. Waits for x; raises while
-- tracing.
--- trim: "f" in front, "b" behind, "fb" both
--- axis: an axis or a table of them; all without it
--- > np.trim_zeros(np.array{0, 0, 1, 0, 2, 0})
-- [1. 0. 2.]
define("trim_zeros", function(x, given)
    if type(given) == "string" then given = { trim = given } end
    given = options("trim_zeros", given, { trim = true, axis = true })
    x = type(x) == "table" and np.array(x) or coerce("trim_zeros", 1, x)
    local trim = given.trim == nil and "fb" or given.trim
    local way = type(trim) == "string" and trim:lower() or trim
    if way ~= "f" and way ~= "b" and way ~= "fb" and way ~= "bf" then
        bad_argument("trim_zeros", nil, "trim", '"f", "b" or "fb"', trim)
    end
    local dims = shape_of(x)
    if #dims == 0 then return x end
    local places, wanted = { np.nonzero(x) }, {}
    for _, axis in ipairs(given.axis ~= nil and shape.axes("trim_zeros", given.axis, #dims) or {}) do
        wanted[axis] = true
    end
    for axis = 0, #dims - 1 do
        if given.axis == nil or wanted[axis] then
            local found, from, to = places[axis + 1], 0, 0
            if found.size > 0 then
                from = way:find "f" and np.item(np.min(found)) or 0
                to = way:find "b" and np.item(np.max(found)) + 1 or dims[axis + 1]
            end
            x = shape.cut(x, axis, from, to)
        end
    end
    return x
end)
