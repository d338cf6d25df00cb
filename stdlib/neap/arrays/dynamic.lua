--- dynamic.lua: boxes of arrays at places that are data: np.dynamic_slice and its kin, with JAX's names.
--
-- The sizes of a box are part of a program, its starts are not: integers, number arguments of jitted functions, or
-- integer arrays. Negative starts count from the end; then they are clamped, so that the box lies inside of the array.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local selects = require "neap.arrays.select"

local np, define = core.np, core.define
local raise, coerce, shape_of, is_array = core.raise, core.coerce, core.shape_of, core.is_array

--- One start as a 0-d integer array, or a Lua number.
local function start_of(name, what, value)
    value = selects.index_of(name, value)
    if is_array(value) then
        local kind = core.dtype_of(value).kind
        if core.ndim(value) ~= 0 or (kind ~= "i" and kind ~= "u") then
            raise(name, "%s must be an integer or an integer array of no axes, got %s of dtype %s", what,
                  core.describe(value), core.dtype_of(value).name)
        end
        return value
    end
    if not core.is_integer(value) then
        raise(name, "%s must be an integer, got %s", what, core.describe(value))
    end
    return value
end

--- The starts, one for each of ndim axes, as a vector of i64.
local function starts_of(name, position, starts, ndim)
    if is_array(starts) and core.ndim(starts) == 1 then
        local kind = core.dtype_of(starts).kind
        if shape_of(starts)[1] ~= ndim or (kind ~= "i" and kind ~= "u") then
            raise(name, "argument %d (starts) must be %d integers, got an array of shape %s and dtype %s", position,
                  ndim, core.shape_text(starts), core.dtype_of(starts).name)
        end
        return np.astype(starts, "i64")
    end
    if type(starts) ~= "table" or #starts ~= ndim then
        raise(name, "argument %d (starts) must be a table of %d integers, one for each axis, got %s", position, ndim,
              type(starts) == "table" and #starts or core.describe(starts))
    end
    local list, known = {}, true
    core.list(name, "the table of starts", starts)
    for k = 1, ndim do
        list[k] = start_of(name, ("argument %d (starts), item %d,"):format(position, k), starts[k])
        known = known and type(list[k]) == "number"
    end
    if known then return create.integers(list, nil, true) end
    for k = 1, ndim do list[k] = np.astype(list[k], "i64") end
    return np.stack(list)
end

local function slice(x, starts, sizes)
    core.put_list(0, sizes)
    return core.record2(core.ids.dynamic_slice, x, starts, #sizes)
end

--- np.dynamic_slice(x, starts, sizes): the box of x with these sizes, Lua integers, that begins at `starts`: a table of
-- one for each axis (integers, number arguments, 0-d integer arrays), or an integer array of them.
--- > np.arange(6):dynamic_slice({2}, {3})
-- [2 3 4]
define("dynamic_slice", function(x, starts, sizes)
    x = coerce("dynamic_slice", 1, x)
    local dims = shape_of(x)
    if type(sizes) ~= "table" or #sizes ~= #dims then
        raise("dynamic_slice", "argument 3 (sizes) must be a table of %d integers, one for each axis, got %s", #dims,
              type(sizes) == "table" and #sizes or core.describe(sizes))
    end
    sizes = core.integers("dynamic_slice", 3, "sizes", sizes)
    for k = 1, #dims do
        if sizes[k] < 0 or sizes[k] > dims[k] then
            raise("dynamic_slice", "size %d does not fit axis %d of shape %s", sizes[k], k - 1, core.shape_text(dims))
        end
    end
    return slice(x, starts_of("dynamic_slice", 2, starts, #dims), sizes)
end)

--- The update, of x's dtype.
local function update_of(name, x, update)
    return create.value(name, update, core.dtype_of(x).code)
end

local function check_fits(name, x, update)
    local dims, own = shape_of(x), shape_of(update)
    local fits = #own == #dims
    for k = 1, #dims do fits = fits and own[k] <= dims[k] end
    if not fits then
        raise(name, "argument 2 (update) must have %d axes and fit into shape %s, got shape %s", #dims,
              core.shape_text(dims), core.shape_text(own))
    end
end

--- np.dynamic_update_slice(x, update, starts): x with `update`, which has x's number of axes and is cast to its dtype,
-- written over the box that begins at `starts`, as in np.dynamic_slice.
--- > np.zeros(5):dynamic_update_slice(np.ones(2), {1})
-- [0. 1. 1. 0. 0.]
define("dynamic_update_slice", function(x, update, starts)
    x = coerce("dynamic_update_slice", 1, x)
    update = update_of("dynamic_update_slice", x, update)
    check_fits("dynamic_update_slice", x, update)
    starts = starts_of("dynamic_update_slice", 3, starts, core.ndim(x))
    return core.recordn(core.ids.dynamic_update_slice, { x, update, starts }, 3, 0)
end)

-- ---- Along one axis -------------------------------------------------------------------------------------------------

--- The option `axis`, 0 without it, which may also stand by itself; and the other options.
local function axis_of(name, given, known, ndim)
    if type(given) == "number" then given = { axis = given } end
    known.axis = true
    given = core.options(name, given, known)
    return core.axis(name, given.axis or 0, ndim), given
end

--- Starts of 0 but along one axis.
local function starts_along(name, position, start, axis, ndim)
    local starts = {}
    for k = 1, ndim do starts[k] = 0 end
    starts[axis + 1] = start_of(name, ("argument %d (start)"):format(position), start)
    return starts_of(name, position, starts, ndim)
end

local function slice_along(name, x, start, size, axis)
    local sizes = shape_of(x)
    local n = sizes[axis + 1]
    sizes[axis + 1] = size
    if size > n then raise(name, "size %d does not fit axis %d of extent %d", size, axis, n) end
    return slice(x, starts_along(name, 2, start, axis, #sizes), sizes)
end

--- np.dynamic_slice_in_dim(x, start, size, {axis=0}): `size` neighbours along an axis, from `start`.
--- > np.eye(3):dynamic_slice_in_dim(1, 2)
-- [[0. 1. 0.]
--  [0. 0. 1.]]
--- > np.eye(3):dynamic_slice_in_dim(1, 2, {axis=1})
-- [[0. 0.]
--  [1. 0.]
--  [0. 1.]]
define("dynamic_slice_in_dim", function(x, start, size, given)
    x = coerce("dynamic_slice_in_dim", 1, x)
    local axis = axis_of("dynamic_slice_in_dim", given, {}, core.ndim(x))
    size = core.integer("dynamic_slice_in_dim", 3, "size", size, 0)
    return slice_along("dynamic_slice_in_dim", x, start, size, axis)
end)

--- np.dynamic_index_in_dim(x, index, {axis=0, keepdims=true}): the part at one index of an axis, which stays as one of
-- extent 1 unless keepdims is false.
--- keepdims: false drops the axis
--- > np.eye(3):dynamic_index_in_dim(1), np.eye(3):dynamic_index_in_dim(1, {keepdims=false})
-- [[0. 1. 0.]]
-- [0. 1. 0.]
define("dynamic_index_in_dim", function(x, index, given)
    x = coerce("dynamic_index_in_dim", 1, x)
    local axis, options = axis_of("dynamic_index_in_dim", given, { keepdims = true }, core.ndim(x))
    local part = slice_along("dynamic_index_in_dim", x, index, 1, axis)
    if options.keepdims ~= false then return part end
    local dims = shape_of(part)
    table.remove(dims, axis + 1)
    return shape.reshape(part, dims)
end)

local function update_along(name, x, update, start, axis)
    check_fits(name, x, update)
    local starts = starts_along(name, 3, start, axis, core.ndim(x))
    return core.recordn(core.ids.dynamic_update_slice, { x, update, starts }, 3, 0)
end

--- np.dynamic_update_slice_in_dim(x, update, start, {axis=0}): x with `update` written over neighbours along an axis.
--- > np.zeros(4):dynamic_update_slice_in_dim(np.ones(2), 2, {axis=0})
-- [0. 0. 1. 1.]
define("dynamic_update_slice_in_dim", function(x, update, start, given)
    x = coerce("dynamic_update_slice_in_dim", 1, x)
    local axis = axis_of("dynamic_update_slice_in_dim", given, {}, core.ndim(x))
    return update_along("dynamic_update_slice_in_dim", x, update_of("dynamic_update_slice_in_dim", x, update), start,
                        axis)
end)

--- np.dynamic_update_index_in_dim(x, update, index, {axis=0}): x with `update`, which may lack the axis, written at one
-- index of it.
--- > np.zeros{2, 2}:dynamic_update_index_in_dim(np.ones(2), 1, {axis=1})
-- [[0. 1.]
--  [0. 1.]]
define("dynamic_update_index_in_dim", function(x, update, index, given)
    x = coerce("dynamic_update_index_in_dim", 1, x)
    local axis = axis_of("dynamic_update_index_in_dim", given, {}, core.ndim(x))
    update = update_of("dynamic_update_index_in_dim", x, update)
    if core.ndim(update) ~= core.ndim(x) then
        local dims = shape_of(update)
        table.insert(dims, math.min(axis, #dims) + 1, 1)
        update = shape.reshape(update, dims)
    end
    return update_along("dynamic_update_index_in_dim", x, update, index, axis)
end)
