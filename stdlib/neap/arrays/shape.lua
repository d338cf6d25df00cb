--- shape.lua: functions that rearrange elements. Most are views: they launch nothing and copy nothing.
--
-- All stand on six op rows: reshape, transpose, broadcast_to, slice (views), concatenate and pad (copies of pieces,
-- concatenate.lua), so gradients come with them. Axes count from 0 and may be negative.
local ffi = require "ffi"
local core = require "neap.core"
local operands = require "neap.arrays.operands"

local np, define, C = core.np, core.define, core.C
local raise, coerce, options = core.raise, core.coerce, core.options
local shape_of, axis_of = core.shape_of, core.axis
local record1, recordn, attrs, ids = core.record1, core.recordn, core.attrs, core.ids
local put_list, put_lists, is_size, is_same = core.put_list, core.put_lists, core.is_size, core.is_same
local type, select, floor, floor_of_number = type, select, math.floor, core.floor_of_number

local shape = {} -- what other files of the library use

-- ---- Small helpers over shapes --------------------------------------------------------------------------------------

--- The product of a list of extents.
function shape.product(list, from, to)
    local product = 1
    for k = from or 1, to or #list do product = product * list[k] end
    return product
end

--- Whether two shape tables are the same.
function shape.same(a, b)
    if #a ~= #b then return false end
    for k = 1, #a do
        if a[k] ~= b[k] then return false end
    end
    return true
end

--- Whether two shape tables are surely the same, whatever the sizes in them are: without a condition.
function shape.identical(a, b)
    if #a ~= #b then return false end
    for k = 1, #a do
        if not is_same(a[k], b[k]) then return false end
    end
    return true
end

--- What two extents broadcast to, one of them a size value. It is the larger one, without a decision: where they do
-- not broadcast, one is not broadcast to that.
local function wider(a, b)
    if is_same(a, b) or is_same(b, 1) then return a end
    return is_same(a, 1) and b or math.max(a, b)
end

local REMEDY = 600 -- bytes of the longest one

--- What is said of a shape that does not broadcast to another one, behind the error: "; (4,) fits as x:reshape(4, 1)",
-- if that is sure to fit, else "". Knows nothing of size values.
function shape.remedy(from, to)
    if #from > core.MAX_DIMS or #to > core.MAX_DIMS then return "" end
    local extents, text = ffi.new("int64_t[?]", #from + #to + 1), ffi.new("char[?]", REMEDY)
    for k = 1, #from + #to do
        local extent = k <= #from and from[k] or to[k - #from]
        if is_size(extent) then return "" end
        extents[k - 1] = extent
    end
    return ffi.string(C.neap_broadcast_remedy(#from, extents, #to, extents + #from, text, REMEDY))
end

--- The shape that several shapes broadcast to.
function shape.broadcast(name, ...)
    local result = {}
    local ndim = 0
    for k = 1, select("#", ...) do ndim = math.max(ndim, #select(k, ...)) end
    for axis = 1, ndim do
        local extent = 1
        for k = 1, select("#", ...) do
            local other = select(k, ...)
            local n = other[#other - ndim + axis] or 1
            if is_size(n) or is_size(extent) then
                extent = wider(extent, n)
            elseif n ~= 1 then
                if extent ~= 1 and extent ~= n then
                    local texts = {}
                    for i = 1, select("#", ...) do texts[i] = core.shape_text((select(i, ...))) end
                    local one, two = ...
                    local remedy = #texts > 2 and "" or shape.remedy(one, two)
                    if #texts == 2 and remedy == "" then remedy = shape.remedy(two, one) end
                    raise(name, "shapes %s do not broadcast%s", table.concat(texts, " and "), remedy)
                end
                extent = n
            end
        end
        result[axis] = extent
    end
    return result
end

--- Whether a shape broadcasts to exactly another one.
function shape.broadcasts_to(from, to)
    local lead = #to - #from
    if lead < 0 then return false end
    for k = 1, #from do
        local n = from[k]
        if not is_same(n, 1) and n ~= to[lead + k] and n ~= 1 then return false end -- 1 and equal sizes: no condition
    end
    return true
end

local MAX_EXTENT = 2 ^ 53 -- up to here a Lua number counts exactly

--- Whether n is a number that an extent can be.
function shape.is_extent(n)
    if type(n) ~= "number" then return is_size(n) end
    return n >= 0 and n <= MAX_EXTENT and n == floor_of_number(n)
end
local is_extent = shape.is_extent

--- The list, or a copy of it with numbers in place of 64-bit integers.
local function plain_extents(list)
    for k = 1, #list do
        if type(list[k]) == "cdata" and not is_size(list[k]) then
            local copy = {}
            for j = 1, #list do copy[j] = core.plain(list[j]) end
            return copy
        end
    end
    return list
end

--- A shape from arguments: f(2, 3), f{2, 3} or f(6), with an optional table of options at the end. Returns the shape
-- and the options.
function shape.arguments(name, ...)
    local first = ...
    local result, given
    if type(first) == "table" then
        result, given = plain_extents(core.list(name, "the shape", first)), select(2, ...)
        if select("#", ...) > 2 then raise(name, "expected a shape and options, got %d arguments", select("#", ...)) end
    else
        result = {}
        for k = 1, select("#", ...) do
            local value = select(k, ...)
            if type(value) == "table" and k == select("#", ...) then
                given = value
            else
                result[k] = core.plain(value)
            end
        end
    end
    local n = type(first) == "table" and #result or select("#", ...) - (given and 1 or 0)
    while n > #result and result[n] == nil do n = n - 1 end
    for k = 1, n do
        if not is_extent(result[k]) then
            raise(name, "a shape is made of integers from 0 to 2^53, got %s at axis %d", core.describe(result[k]),
                  k - 1)
        end
    end
    return result, given
end

--- A shape that is one argument, a table or an integer.
function shape.argument(name, dims)
    dims = core.plain(dims)
    if core.is_number(dims) then dims = { dims } end
    if type(dims) ~= "table" then
        raise(name, "the shape must be a table or an integer, got %s", core.describe(dims))
    end
    return (shape.arguments(name, dims))
end

--- A list of distinct axes from a number or a table.
function shape.axes(name, value, ndim)
    value = core.plain(value)
    if type(value) == "number" then return { axis_of(name, value, ndim) } end
    if type(value) ~= "table" then
        raise(name, "axis must be an integer or a list of them, got %s", core.describe(value))
    end
    local list, seen = {}, {}
    for k = 1, #core.list(name, "the list of axes", value) do
        local axis = axis_of(name, value[k], ndim)
        if seen[axis] then raise(name, "axis %d is given twice", axis) end
        seen[axis], list[k] = true, axis
    end
    return list
end
local axes_of = shape.axes

-- ---- The rows -------------------------------------------------------------------------------------------------------

--- x seen with another shape of the same size; no checks beyond the core's.
function shape.reshape(x, dims)
    put_list(0, dims)
    return (record1(ids.reshape, x, #dims))
end
local reshape = shape.reshape

local function permute(x, order)
    for k = 1, #order do attrs[k - 1] = order[k] end
    return (record1(ids.transpose, x, #order))
end
shape.permute = permute

--- x broadcast to a shape.
function shape.broadcast_to(x, dims)
    put_list(0, dims)
    return (record1(ids.broadcast_to, x, #dims))
end
local broadcast_to = shape.broadcast_to

--- A slice: per axis k, element start[k] + i * step[k] for i in [0, count[k]).
function shape.slice(x, start, step, count)
    put_lists(start, step, count)
    return (record1(ids.slice, x, 3 * #start))
end
local slice = shape.slice

--- The elements [from, to) of one axis.
function shape.cut(x, axis, from, to)
    local dims = shape_of(x)
    local start, step, count = {}, {}, {}
    for k = 1, #dims do start[k], step[k], count[k] = 0, 1, dims[k] end
    start[axis + 1], count[axis + 1] = from, to - from
    return (slice(x, start, step, count))
end

--- Per axis: lo elements of `value` in front, hi behind, interior between neighbours. Lists of one number an axis.
function shape.pad(x, value, lo, hi, interior)
    put_lists(lo, hi, interior)
    return (core.record2(ids.pad, x, value, 3 * #lo))
end

--- Joins a list of arrays of one rank along an axis; any number of them.
function shape.join(list, axis)
    local most = core.MAX_INPUTS
    while #list > most do
        local joined = {}
        for from = 1, #list, most do
            joined[#joined + 1] = shape.join({ unpack(list, from, math.min(from + most - 1, #list)) }, axis)
        end
        list = joined
    end
    attrs[0] = axis
    return recordn(ids.concatenate, list, #list, 1)
end

-- ---- Views ----------------------------------------------------------------------------------------------------------

--- np.reshape(x, {2, 3}, {copy=…}), x:reshape(2, 3): the same elements in row-major order. One extent may be -1: what
-- is left. A view where x lies in one piece.
--- copy: makes no difference: arrays do not change
--- > np.arange(6):reshape(2, -1), np.reshape(np.arange(2), {2, 1}, {copy=true})
-- [[0 1 2]
--  [3 4 5]]
-- [[0]
--  [1]]
define("reshape", function(x, ...)
    x = coerce("reshape", 1, x)
    local given, more = ...
    if type(given) ~= "table" then
        given = { ... }
    else
        core.list("reshape", "the shape", given)
        core.options("reshape", more, { copy = true })
    end
    if select("#", ...) == 0 then raise("reshape", "argument 2 (shape) is missing") end
    given = plain_extents(given)
    local dims, known, free = {}, 1, nil
    for k = 1, #given do
        local n = given[k]
        if type(n) == "number" and n == -1 then
            if free then raise("reshape", "only one extent may be -1, got %s", core.shape_text(given)) end
            free = k
        elseif not is_extent(n) then
            raise("reshape", "a shape is made of integers from 0 to 2^53 and at most one -1, got %s", core.describe(n))
        else
            known = known * n
        end
        dims[k] = n
    end
    local size = x.size
    if free then
        if known == 0 or size % known ~= 0 then
            raise("reshape", "cannot make shape %s of %d elements (shape %s)", core.shape_text(given), size,
                  core.shape_text(x))
        end
        dims[free] = floor(size / known)
    elseif known ~= size then
        raise("reshape", "shape %s has %d elements, the array of shape %s has %d", core.shape_text(given), known,
              core.shape_text(x), size)
    end
    return reshape(x, dims)
end)

--- np.ravel(x), np.flatten(x): all elements along one axis, in row-major order.
--- > np.ones{2, 2}:ravel(), np.eye(2):flatten()
-- [1. 1. 1. 1.]
-- [1. 0. 0. 1.]
local function ravel(x)
    x = coerce("ravel", 1, x)
    return reshape(x, { x.size })
end
define("ravel", ravel)
define("flatten", ravel)

--- np.permute_dims(x, {1, 0}), np.transpose(x, {1, 0}), x:transpose(1, 0), x.T: axis k of the result is axis order[k]
-- of x. Without an order, and by x.T, the axes are reversed. A view.
--- > np.array{{1, 2, 3}, {4, 5, 6}}:transpose()
-- [[1. 4.]
--  [2. 5.]
--  [3. 6.]]
--- > np.permute_dims(np.zeros{2, 3, 4}, {2, 0, 1}).shape[1], np.eye(2).T.shape[1]
-- 4
-- 2
local function transpose(x, ...)
    x = coerce("transpose", 1, x)
    local ndim = core.ndim(x)
    local order, extra = ...
    if type(order) ~= "number" and extra ~= nil then core.too_many("transpose", 2, extra) end
    if order == nil then
        order = {}
        for k = 1, ndim do order[k] = ndim - k end
    elseif type(order) ~= "table" then
        order = { ... }
    end
    if #order ~= ndim then
        raise("transpose", "the order must name all %d axes once, got %s", ndim, core.shape_text(order))
    end
    return permute(x, axes_of("transpose", order, ndim))
end
define("transpose", transpose)
define("permute_dims", transpose)
core.fields.T = function(x) return transpose(x) end

local function swapaxes(x, a, b)
    x = coerce("swapaxes", 1, x)
    local ndim = core.ndim(x)
    a, b = axis_of("swapaxes", a, ndim), axis_of("swapaxes", b, ndim)
    local order = {}
    for k = 1, ndim do order[k] = k - 1 end
    order[a + 1], order[b + 1] = b, a
    return permute(x, order)
end
--- np.swapaxes(x, a, b): exchanges two axes. A view.
--- > np.zeros{2, 3, 4}:swapaxes(0, 2):dim(0)
-- 4
define("swapaxes", swapaxes)

--- np.matrix_transpose(x): the last two axes exchanged.
--- > np.matrix_transpose(np.array{{1, 2}, {3, 4}})
-- [[1. 3.]
--  [2. 4.]]
define("matrix_transpose", function(x)
    x = coerce("matrix_transpose", 1, x)
    if core.ndim(x) < 2 then raise("matrix_transpose", "needs at least 2 axes, got shape %s", core.shape_text(x)) end
    return swapaxes(x, -1, -2)
end)

--- x.mT: the last two axes exchanged.
--- > np.array{{1, 2}, {3, 4}}.mT
-- [[1. 3.]
--  [2. 4.]]
core.fields.mT = function(x)
    if core.ndim(x) < 2 then raise("array", "mT needs at least 2 axes, got shape %s", core.shape_text(x)) end
    return swapaxes(x, -2, -1)
end

--- np.moveaxis(x, source, destination): axes move to new places, the others keep their order. Both are an axis or
-- tables of as many.
--- > np.zeros{2, 3, 4}:moveaxis(0, -1):dim(0)
-- 3
define("moveaxis", function(x, source, destination)
    x = coerce("moveaxis", 1, x)
    local ndim = core.ndim(x)
    local from, to = axes_of("moveaxis", source, ndim), axes_of("moveaxis", destination, ndim)
    if #from ~= #to then raise("moveaxis", "%d source axes but %d destination axes", #from, #to) end
    local order, moved = {}, {}
    for k = 1, #from do
        order[to[k] + 1] = from[k]
        moved[from[k]] = true
    end
    local place = 1
    for axis = 0, ndim - 1 do
        if not moved[axis] then
            while order[place] do place = place + 1 end
            order[place] = axis
        end
    end
    return permute(x, order)
end)

--- np.diagonal(x, {offset=0, axis1=0, axis2=1}): the elements i, i + offset of two axes, as a new last axis.
--- offset: which diagonal: above the main one if positive
--- axis1: the first of the two axes
--- axis2: the second of the two axes
--- > np.array{{1, 2}, {3, 4}}:diagonal()
-- [1. 4.]
define("diagonal", function(x, given)
    x = coerce("diagonal", 1, x)
    local o = core.options("diagonal", given, { offset = true, axis1 = true, axis2 = true })
    local offset = core.integer("diagonal", nil, "offset", o.offset == nil and 0 or o.offset)
    local rank = core.ndim(x)
    local first = axis_of("diagonal", o.axis1 == nil and 0 or o.axis1, rank)
    local second = axis_of("diagonal", o.axis2 == nil and 1 or o.axis2, rank)
    if first == second then raise("diagonal", "axis1 and axis2 are both %d", first) end
    x = np.moveaxis(x, { first, second }, { -2, -1 })
    local dims = shape_of(x)
    local rows, columns = dims[rank - 1], dims[rank]
    local count = math.max(0, math.min(rows + math.min(offset, 0), columns - math.max(offset, 0)))
    local from = offset >= 0 and offset or -offset * columns
    dims[rank - 1], dims[rank] = rows * columns, nil
    local start, step = {}, {}
    for k = 1, rank - 1 do start[k], step[k] = 0, 1 end
    start[rank - 1], step[rank - 1] = math.min(from, rows * columns), columns + 1 -- of none it is too large
    x = reshape(x, dims)
    dims[rank - 1] = count
    return slice(x, start, step, dims)
end)

--- np.expand_dims(x, axis): new axes of extent 1 at these places of the result: an integer or a table of them.
--- > np.arange(3):expand_dims(1)
-- [[0]
--  [1]
--  [2]]
define("expand_dims", function(x, axis)
    x = coerce("expand_dims", 1, x)
    local dims = shape_of(x)
    local count = type(axis) == "table" and #axis or 1
    local new, result = {}, {}
    for _, k in ipairs(axes_of("expand_dims", axis, #dims + count)) do new[k + 1] = true end
    local next_dim = 1
    for k = 1, #dims + count do
        if new[k] then
            result[k] = 1
        else
            result[k] = dims[next_dim]
            next_dim = next_dim + 1
        end
    end
    return reshape(x, result)
end)

--- np.squeeze(x, {axis=…}), np.squeeze(x, axis): drops axes of extent 1, all of them by default. Raises if an axis that
-- is named has another extent.
--- axis: an axis or a table of them; all of extent 1 without it
--- > np.ones{1, 3, 1}:squeeze()
-- [1. 1. 1.]
--- > np.squeeze(np.ones{1, 3, 1}, {axis=0}).ndim
-- 2
define("squeeze", function(x, axis)
    x = coerce("squeeze", 1, x)
    if type(axis) == "table" and (axis.axis ~= nil or #axis == 0) then
        axis = options("squeeze", axis, { axis = true }).axis
    end
    local dims = shape_of(x)
    local drop, result = {}, {}
    if axis ~= nil then
        for _, k in ipairs(axes_of("squeeze", axis, #dims)) do
            if dims[k + 1] ~= 1 then
                raise("squeeze", "axis %d has extent %d, not 1 (shape %s)", k, dims[k + 1], core.shape_text(dims))
            end
            drop[k + 1] = true
        end
    end
    for k = 1, #dims do
        if not (axis == nil and dims[k] == 1 or drop[k]) then result[#result + 1] = dims[k] end
    end
    return reshape(x, result)
end)

--- np.broadcast_to(x, {3, 4}): x repeated along axes of extent 1 and along new leading axes, without copying.
--- > np.arange(2):broadcast_to(2, 2)
-- [[0 1]
--  [0 1]]
define("broadcast_to", function(x, ...)
    x = coerce("broadcast_to", 1, x)
    local dims, extra = shape.arguments("broadcast_to", ...)
    if extra ~= nil then core.too_many("broadcast_to", 2, extra) end
    if not core.sized() and not shape.broadcasts_to(shape_of(x), dims) then -- the op refuses, too
        raise("broadcast_to", "shape %s does not broadcast to %s%s", core.shape_text(x), core.shape_text(dims),
              shape.remedy(shape_of(x), dims))
    end
    return broadcast_to(x, dims)
end)

--- np.broadcast_arrays(…) -> a, b, …: all of them with the shape that they broadcast to; several results. Views.
--- > np.broadcast_arrays(np.arange(2), np.array{{1}, {2}})
-- [[0 1]
--  [0 1]]
-- [[1. 1.]
--  [2. 2.]]
function np.broadcast_arrays(...)
    local n, shapes, wide = select("#", ...), {}, {}
    local arrays = operands.meet_list("broadcast_arrays", n, { ... })
    for k = 1, n do shapes[k] = shape_of(arrays[k]) end
    local dims = shape.broadcast("broadcast_arrays", unpack(shapes))
    for k = 1, n do wide[k] = broadcast_to(arrays[k], dims) end
    return unpack(wide, 1, n)
end

--- np.flip(x, {axis=…}), np.flip(x, axis): reverses the order along axes. A view.
--- axis: an axis or a table of them; all without it
--- > np.arange(3):flip(), np.flip(np.array{{1, 2}, {3, 4}}, {axis=1})
-- [2 1 0]
-- [[2. 1.]
--  [4. 3.]]
define("flip", function(x, axis)
    x = coerce("flip", 1, x)
    if type(axis) == "table" and (axis.axis ~= nil or #axis == 0) then
        axis = options("flip", axis, { axis = true }).axis
    end
    local dims = shape_of(x)
    local start, step = {}, {}
    for k = 1, #dims do start[k], step[k] = 0, 1 end
    local list = axis ~= nil and axes_of("flip", axis, #dims)
    for k = 1, list and #list or #dims do
        local at = (list and list[k] or k - 1) + 1
        start[at], step[at] = math.max(dims[at] - 1, 0), -1
    end
    return slice(x, start, step, dims)
end)

--- Defines np.name(x, …), which gives each argument with the axes that `widened` adds to a shape of fewer.
function shape.at_least(name, ndim, widened)
    local function one(x)
        local dims = shape_of(x)
        return #dims >= ndim and x or reshape(x, widened(dims))
    end
    define(name, function(x, ...)
        local n = select("#", ...)
        if n == 0 and core.is_array(x) then return one(x) end
        local list, results = operands.meet_list(name, n + 1, { x, ... }), {}
        for k = 1, n + 1 do results[k] = one(list[k]) end
        return unpack(results, 1, n + 1)
    end)
end

local function in_front(ndim)
    return function(dims)
        while #dims < ndim do table.insert(dims, 1, 1) end
        return dims
    end
end
--- np.atleast_1d(x, …), np.atleast_2d(x, …): leading axes of extent 1 until there are that many. Several arguments give
-- as many results.
--- > np.atleast_1d(np.array(7)), np.atleast_2d(np.arange(2))
-- [7.]
-- [[0 1]]
shape.at_least("atleast_1d", 1, in_front(1))
shape.at_least("atleast_2d", 2, in_front(2))

return shape
