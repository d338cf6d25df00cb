--- concatenate.lua: arrays put together and cut apart: np.concatenate, np.split, np.repeat_ and their kin. All stand on
-- the op rows that shape.lua has functions for, so gradients come with them.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, bad_argument, coerce = core.raise, core.bad_argument, core.coerce
local shape_of, axis_of = core.shape_of, core.axis
local is_array, is_same, type = core.is_array, core.is_same, type
local reshape, broadcast_to, join, cut = shape.reshape, shape.broadcast_to, shape.join, shape.cut
local same, is_extent, ravel = shape.same, shape.is_extent, np.ravel

local shared = {} -- what other files of the library use

-- ---- Joining and splitting ------------------------------------------------------------------------------------------

--- The arrays of np.name{a, b, …}, checked; numbers and tables among them take the dtype of the arrays.
function shared.array_list(name, list)
    if type(list) ~= "table" then
        raise(name, "argument 1 (arrays) must be a table of arrays, as in np.%s{x, y}, got %s", name,
              core.describe(list))
    end
    if #list == 0 then raise(name, "argument 1 (arrays) is empty") end
    local n = #core.list(name, "the table of arrays", list)
    for k = 1, n do
        local kind = type(list[k])
        if kind ~= "cdata" and kind ~= "number" and kind ~= "table" and kind ~= "boolean" then
            raise(name, "item %d of argument 1 must be an array, got %s", k, core.describe(list[k]))
        end
    end
    local arrays, met = {}, operands.meet_list(name, n, list)
    for k = 1, n do arrays[k] = met[k] end
    return arrays
end
local array_list = shared.array_list

--- The axis of options given as {axis=n}, a number, or nothing.
local function axis_option(name, given, default)
    local axis = core.axis_options(name, given, { axis = true }).axis
    if axis == nil then return default end
    return axis
end

--- np.concatenate({a, b, …}, {axis=0}), np.concat: joins arrays along an existing axis; their other extents must be the
-- same.
--- axis: along which they are joined; "none" flattens them first, as axis=None does in NumPy
--- > np.concatenate({np.array{1, 2}, np.array{3}})
-- [1. 2. 3.]
--- > np.concat({np.ones{2, 1}, np.zeros{2, 1}}, {axis=1})
-- [[1. 0.]
--  [1. 0.]]
--- > np.concat({np.eye(2), np.array(7)}, {axis="none"})
-- [1. 0. 0. 1. 7.]
local function concatenate(list, given)
    local arrays = array_list("concatenate", list)
    local axis = axis_option("concatenate", given, 0)
    if axis == "none" then
        for k = 1, #arrays do arrays[k] = ravel(arrays[k]) end
        axis = 0
    end
    local first = shape_of(arrays[1])
    if #first == 0 then
        raise("concatenate", "0-d arrays cannot be concatenated; use np.stack, or {axis=\"none\"}, which flattens")
    end
    axis = axis_of("concatenate", axis, #first)
    for k = 2, #arrays do
        local dims = shape_of(arrays[k])
        local fits = #dims == #first
        for d = 1, #first do fits = fits and (d == axis + 1 or dims[d] == first[d]) end
        if not fits then
            raise("concatenate", "array %d has shape %s, array 1 has %s: all extents but that of axis %d must agree", k,
                  core.shape_text(dims), core.shape_text(first), axis)
        end
    end
    return join(arrays, axis)
end
np.concatenate, np.concat = concatenate, concatenate

--- np.stack({a, b, …}, {axis=0}): joins arrays of one shape along a new axis.
--- > np.stack({np.array{1, 2}, np.array{3, 4}})
-- [[1. 2.]
--  [3. 4.]]
function np.stack(list, given)
    local arrays = array_list("stack", list)
    local first = shape_of(arrays[1])
    local axis = axis_of("stack", axis_option("stack", given, 0), #first + 1)
    local dims = shape_of(arrays[1])
    table.insert(dims, axis + 1, 1)
    for k = 1, #arrays do
        local own = shape_of(arrays[k])
        if not same(own, first) then
            raise("stack", "array %d has shape %s, array 1 has %s", k, core.shape_text(own), core.shape_text(first))
        end
        arrays[k] = reshape(arrays[k], dims)
    end
    return join(arrays, axis)
end

shared.MOST_SECTIONS = 2 ^ 16

--- np.split(x, n, {axis=0}) -> table: n equal parts; np.split(x, {2, 5}): cut before these indices. Returns a Lua table
-- of views.
--- > np.split(np.arange(6), 3)[2], np.split(np.arange(6), {4})[1]
-- [2 3]
-- [0 1 2 3]
define("split", function(x, where, given)
    x = coerce("split", 1, x)
    local dims = shape_of(x)
    local axis = axis_of("split", axis_option("split", given, 0), #dims)
    local n, cuts = dims[axis + 1], {}
    where = core.plain(where)
    if type(where) == "number" then -- how many parts there are is no size
        if where > shared.MOST_SECTIONS then
            bad_argument("split", 2, "sections", ("an integer up to %d"):format(shared.MOST_SECTIONS), where)
        elseif not is_extent(where) or where == 0 or n % where ~= 0 then
            raise("split", "axis %d of extent %d cannot be split into %s equal parts", axis, n, tostring(where))
        end
        for k = 1, where - 1 do cuts[k] = k * n / where end
    elseif type(where) == "table" then
        cuts = core.integers("split", 2, "indices", where)
    else
        bad_argument("split", 2, "sections", "an integer or a table of indices", where)
    end
    local parts, from = {}, 0
    cuts[#cuts + 1] = n
    for k = 1, #cuts do
        local to = cuts[k] < 0 and cuts[k] + n or cuts[k]
        to = math.max(0, math.min(to, n))
        parts[k] = cut(x, axis, from, math.max(from, to))
        from = to
    end
    return parts
end)

--- np.unstack(x, {axis=0}), np.unpack(x, {axis=0}), x:unpack() -> first, second, …: the parts along an axis, which goes
-- away, as several results (np.split gives a table): `local k1, k2 = np.random.split(key):unpack()`.
--- axis: the axis that is taken apart
--- > np.array{{1, 2}, {3, 4}}:unpack()
-- [1. 2.]
-- [3. 4.]
--- > np.unstack(np.array{{1, 2}, {3, 4}}, {axis=1})
-- [1. 3.]
-- [2. 4.]
local function define_unpack(name)
    define(name, function(x, given)
        x = coerce(name, 1, x)
        local axis, dims = axis_option(name, given, 0), shape_of(x)
        if #dims == 0 then raise(name, "a 0-d array cannot be unpacked") end
        axis = axis_of(name, axis, #dims)
        local n, parts = table.remove(dims, axis + 1), {}
        for k = 1, n do parts[k] = reshape(cut(x, axis, k - 1, k), dims) end
        return core.results(name, parts, "for k = 0, #x - 1 do … x[k] … end walks along the first axis")
    end)
end
define_unpack "unpack"
define_unpack "unstack"

-- ---- Repeating ------------------------------------------------------------------------------------------------------

--- x with element k of an axis of n elements repeated as often as counts, an array, say.
local function repeat_by(x, counts, axis, n, length)
    local kind = core.dtype_of(counts).kind
    if kind ~= "i" and kind ~= "u" or core.ndim(counts) > 1 or counts.size ~= 1 and counts.size ~= n then
        raise("repeat_", "counts must be %d integers, one for each element of axis %d, got shape %s of dtype %s", n,
              axis, core.shape_text(counts), core.dtype_of(counts).name)
    end
    local ends = np.cumsum(broadcast_to(reshape(np.maximum(counts, 0), { counts.size }), { n }))
    if length == nil then
        if n > 0 and kind == "i" and np.min(counts):item() < 0 then
            raise("repeat_", "counts must be from 0 up, got %s", tostring(np.min(counts)))
        end
        length = n > 0 and tonumber(ends[-1]:item()) or 0
    end
    if n == 0 and length > 0 then raise("repeat_", "axis %d has no elements to repeat", axis) end
    return np.take(x, np.searchsorted(ends, np.arange(length, { dtype = "i32" }), { side = "right" }), { axis = axis })
end

--- np.repeat_(x, n, {axis=…, total_repeat_length=…}): each element n times in place; without axis over the flattened
-- array. A table or an array of counts gives one count an element; an array is waited for, unless the length of the
-- result is given.
--- axis: along which elements are repeated; the flattened array without it
--- total_repeat_length: the length of the result where counts are an array: what is missing is the last element
--- > np.arange(3):repeat_(2), np.arange(2):repeat_({3, 1})
-- [0 0 1 1 2 2]
-- [0 0 0 1]
--- > np.array{{1, 2}}:repeat_(2, {axis=0}), np.repeat_(np.arange(3), np.array({1, 0, 2}, {dtype="i32"}))
-- [[1. 2.]
--  [1. 2.]]
-- [0 2 2]
define("repeat_", function(x, count, given, extra)
    if extra ~= nil then core.too_many("repeat_", 3, extra) end
    x = coerce("repeat_", 1, x)
    local o = core.axis_options("repeat_", given, { axis = true, total_repeat_length = true })
    local axis, length = o.axis, o.total_repeat_length
    if axis == nil then x, axis = ravel(x), 0 end
    local dims = shape_of(x)
    axis = axis_of("repeat_", axis, #dims)
    if length ~= nil then length = core.integer("repeat_", nil, "total_repeat_length", length, 0) end
    if is_array(count) then return repeat_by(x, count, axis, dims[axis + 1], length) end
    if length ~= nil then raise("repeat_", "'total_repeat_length' goes with an array of counts") end
    if type(count) == "table" then
        if #count ~= dims[axis + 1] then
            raise("repeat_", "%d counts for axis %d of extent %d", #count, axis, dims[axis + 1])
        end
        local picks, total = {}, 0
        for k, times in ipairs(core.integers("repeat_", 2, "counts", count, 0)) do
            total = total + times
            if total > 2 ^ 26 then raise("repeat_", "counts add up to more than 2^26") end
            for _ = 1, times do picks[#picks + 1] = k - 1 end
        end
        return np.take(x, picks, { axis = axis })
    end
    count = core.integer("repeat_", 2, "count", count, 0)
    local wide, result = { unpack(dims) }, { unpack(dims) }
    table.insert(wide, axis + 2, 1)
    x = reshape(x, wide)
    wide[axis + 2] = count
    result[axis + 1] = dims[axis + 1] * count
    return reshape(broadcast_to(x, wide), result)
end)

--- np.tile(x, {2, 3}): the whole array repeated along its axes; missing leading axes are added.
--- > np.arange(2):tile(3)
-- [0 1 0 1 0 1]
define("tile", function(x, counts, ...)
    x = coerce("tile", 1, x)
    counts = core.integers("tile", 2, "counts", type(counts) == "table" and counts or { counts, ... }, 0)
    local dims = shape_of(x)
    while #dims < #counts do table.insert(dims, 1, 1) end
    x = reshape(x, dims)
    for k = 1, #dims do
        local count = counts[#counts - #dims + k] or 1
        if not is_same(count, 1) then
            table.insert(dims, k, 1)
            x = reshape(x, dims)
            dims[k] = count
            x = broadcast_to(x, dims)
            table.remove(dims, k)
            dims[k] = dims[k] * count
            x = reshape(x, dims)
        end
    end
    return x
end)

--- np.roll(x, shift, {axis=…}): elements move by shift places, those that fall off come back at the other end. A table
-- of shifts goes with a table of axes; one shift goes for all axes, and all shifts for one axis.
--- axis: along which elements move: an axis or a table of them; the flattened array without it
--- > np.arange(4):roll(1)
-- [3 0 1 2]
--- > np.roll(np.eye(2), 1, {axis=1}), np.roll(np.eye(2), {1, 1}, {axis={0, 1}})
-- [[0. 1.]
--  [1. 0.]]
-- [[1. 0.]
--  [0. 1.]]
define("roll", function(x, shift, given)
    x = coerce("roll", 1, x)
    if shift == nil then raise("roll", "argument 2 (shift) is missing") end
    local axis = core.axis_options("roll", given, { axis = true }).axis
    local dims = shape_of(x)
    if axis == nil then return reshape(np.roll(ravel(x), shift, { axis = 0 }), dims) end
    local axes = type(axis) == "table" and core.list("roll", "option 'axis'", axis) or { axis }
    local shifts = core.integers("roll", 2, "shifts", type(shift) == "table" and shift or { shift })
    if #axes ~= #shifts and #axes ~= 1 and #shifts ~= 1 then
        raise("roll", "%d shifts for %d axes", #shifts, #axes)
    end
    local by = {} -- by axis: how far
    for k = 1, math.max(#axes, #shifts) do
        if #axes == 0 or #shifts == 0 then break end
        local at = axis_of("roll", axes[#axes == 1 and 1 or k], #dims)
        by[at] = (by[at] or 0) + shifts[#shifts == 1 and 1 or k]
    end
    for at = 0, #dims - 1 do
        local n, amount = dims[at + 1], by[at] or 0
        local moved = n > 0 and amount % n or 0
        if not is_same(moved, 0) then
            local from = n - moved
            x = join({ cut(x, at, from, n), cut(x, at, 0, from) }, at)
        end
    end
    return x
end)

return shared
