--- select.lua: choosing elements: where, take, one_hot, sorting, and what is found by looking at values on the host.
--
-- Sizes in the graph are always known (no op's shape depends on values), so nonzero, unique and masks wait until it is
-- counted how many elements they give; while tracing they raise.
local ffi = require "ffi"
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local divided = require "neap.arrays.divided"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, axis_of, ids = core.shape_of, core.axis, core.ids
local is_array = core.is_array

local selects = {}

--- Index positions made ready for arithmetic: negative ones counted from the end, all clamped into [0, n).
local function clamped(index, n)
    if core.dtype_of(index).bytes < 4 then index = np.astype(index, "i32") end -- which holds n
    if core.dtype_of(index).kind == "i" then
        index = np.where(np.less(index, 0), np.add(index, core.count(n)), index)
    end
    return np.clip(index, 0, core.count(math.max(n - 1, 0), 1))
end
selects.clamped = clamped

--- A dtype that can count to n.
local function counter(n)
    return n < 2 ^ 31 and "i32" or "i64"
end
selects.counter = counter

local function take_whole(x, index, axis)
    core.attrs[0] = axis
    return core.record2(ids.take, x, index, 1)
end

selects.is_apart = divided.is_apart

--- x at indices in 0 … n-1 of an axis that is divided over a mesh, where few are wanted; else nil.
function selects.take_divided(x, index, axis)
    return divided.take(x, index, axis, take_whole)
end

--- Elements of x at integer indices along one axis: shape x.shape[:axis] + index.shape + x.shape[axis+1:]. Negative
-- indices count from the end; out of range ones are clamped to the ends. Of an axis that is divided over a mesh only
-- the elements that are wanted move.
function selects.take(x, index, axis)
    local found
    if divided.by(x, axis) then
        local n = shape_of(x)[axis + 1]
        found = selects.take_divided(x, np.astype(clamped(index, n), counter(n)), axis)
    end
    return found or take_whole(x, index, axis)
end
local take = selects.take

--- An index array of a user: a number argument of a traced function, or a number computed of such, becomes an i64,
-- which it has to be at each call; a number that is known, a Lua number.
function selects.index_of(name, index)
    if not is_array(index) then return index end
    local known = core.info(index)
    if known.weak == 0 then return index end
    if known.traced == 0 then return index:item() end
    if known.weak == 2 then
        raise(name, "a number argument, or what is computed of it, is an index, and may be no integer; make it one, as "
              .. "in np.astype(n / 2, \"i32\")")
    end
    return core.record2(ids.add, index, core.number(0, core.dtype_codes.i64), 0)
end

--- An integer index array of a user: a Lua number or table is checked against the extent, an array cannot be (its
-- values are not known yet).
function selects.index_array(name, index, extent)
    index = selects.index_of(name, index)
    if is_array(index) then
        local dtype = core.dtype_of(index)
        if dtype.kind ~= "i" and dtype.kind ~= "u" then
            raise(name, "indices must be integers, got dtype %s", dtype.name)
        end
        return index
    end
    local dims = {}
    if type(index) == "number" then
        index = { index }
    elseif type(index) == "table" then
        dims = { #index }
    else
        bad_argument(name, 2, "indices", "an integer array, an integer or a table of them", index)
    end
    for k = 1, #index do
        local i = core.integer(name, 2, "indices", index[k])
        if i < -extent or i >= extent then raise(name, "index %d is out of range for extent %d", i, extent) end
    end
    return create.integers(index, dims)
end

--- np.take(x, indices, {axis=…}): elements along an axis, over the flattened array without axis. Indices are an integer
-- array, an integer or a Lua table; negative ones count from the end. Out of range: an error for Lua numbers, the
-- nearest end for arrays and for number arguments of jitted functions.
--- axis: along which elements are taken; the flattened array without it
--- > np.array{10, 20, 30}:take{2, 0, -1}
-- [30. 10. 30.]
--- > np.array{{1, 2}, {3, 4}}:take(np.arange(1), {axis=1})
-- [[1.]
--  [3.]]
define("take", function(x, index, given)
    x = coerce("take", 1, x)
    local axis = options("take", given, { axis = true }).axis
    if axis == nil then x, axis = np.ravel(x), 0 end
    local dims = shape_of(x)
    axis = axis_of("take", axis, #dims)
    return take(x, selects.index_array("take", index, dims[axis + 1]), axis)
end)

--- x at indices of its rank, along an axis: one `take` of the flattened array.
local function take_along(x, index, axis)
    local dims, own = shape_of(x), shape_of(index)
    local n = dims[axis + 1]
    dims[axis + 1] = 1
    local result = shape.broadcast("take_along_axis", dims, own)
    dims[axis + 1] = n
    local base = {}
    for k = 1, #dims do base[k] = k == axis + 1 and n or result[k] end
    x = shape.broadcast_to(x, base)
    local name = counter(shape.product(base))
    local position, stride = nil, 1
    for k = #base, 1, -1 do
        local part
        if k == axis + 1 then
            part = np.astype(clamped(index, n), name)
        else
            local narrow = {}
            for d = 1, #base do narrow[d] = d == k and base[k] or 1 end
            part = shape.reshape(np.arange(base[k], { dtype = name }), narrow)
        end
        if stride ~= 1 then part = part * core.count(stride) end
        position = position and position + part or part
        stride = stride * base[k]
    end
    return take(np.ravel(x), shape.broadcast_to(position, result), 0)
end

--- By which axes of a mesh x and the indices can be divided together: the spec, its names and the mesh; nil if by none.
local function divided_alike(x, index, axis)
    local sharding = x.sharding or index.sharding
    if not sharding then return nil end
    local dims, own, entries, names = shape_of(x), shape_of(index), {}, {}
    for k = 1, #dims do
        local entry = k ~= axis + 1 and dims[k] == own[k] and sharding.spec[k]
        entries[k] = entry or false
        for _, name in ipairs(type(entry) == "table" and entry or { entry or nil }) do names[#names + 1] = name end
    end
    if #names == 0 then return nil end
    return np.P(unpack(entries, 1, #dims)), names, sharding.mesh
end

--- np.take_along_axis(x, indices, {axis=-1}): indices have x's rank; element [i…] is x at i with the axis' coordinate
-- replaced by indices[i…]. Other axes broadcast.
--- > x = np.array{{3, 1, 2}, {4, 6, 5}}
--- > np.take_along_axis(x, np.argsort(x), {axis=-1})
-- [[1. 2. 3.]
--  [4. 5. 6.]]
define("take_along_axis", function(x, index, given)
    x = coerce("take_along_axis", 1, x)
    local axis = type(given) == "number" and given or options("take_along_axis", given, { axis = true }).axis or -1
    local dims = shape_of(x)
    axis = axis_of("take_along_axis", axis, #dims)
    index = selects.index_array("take_along_axis", index, dims[axis + 1])
    if core.ndim(index) ~= #dims then
        raise("take_along_axis", "indices must have the %d axes of the array, got shape %s", #dims,
              core.shape_text(index))
    end
    local spec, names, mesh = divided_alike(x, index, axis)
    if not spec then return take_along(x, index, axis) end
    -- Flattened, the parts of other axes would not stay together: block by block they do.
    return np.shard_map(function(part, places) return take_along(part, places, axis) end,
                        { mesh = mesh, in_specs = { spec, spec }, out_specs = spec, axis_names = names })(x, index)
end)

--- np.where(c, a, b): elements of a where c is true, of b elsewhere; all three broadcast. np.where(c) is np.nonzero(c).
--- > x = np.array{-1, 0, 2}
--- > np.where(x:gt(0), x, 0)
-- [0. 0. 2.]
local where = ids.where
define("where", function(c, a, b, extra)
    if a == nil and b == nil then return np.nonzero(c) end
    if a == nil or b == nil or extra ~= nil then raise("where", "takes a condition and two values, or a condition") end
    return core.recordn(where, core.coerce_all("where", { c, a, b }, 3), 3, 0)
end)

--- np.clip(x, lo, hi): x limited to [lo, hi]; nil is no limit. Limits are numbers or arrays that broadcast.
--- > np.array{-2, 0.5, 2}:clip(-1, 1), np.array{-2, 2}:clip(nil, 0)
-- [-1.   0.5  1. ]
-- [-2.  0.]
define("clip", function(x, lo, hi, extra)
    if extra ~= nil then raise("clip", "takes an array and two limits") end
    if lo == nil and hi == nil then return coerce("clip", 1, x) end
    if lo == nil then return np.minimum(x, type(hi) == "number" and hi or coerce("clip", 3, hi)) end
    if hi == nil then return np.maximum(x, type(lo) == "number" and lo or coerce("clip", 2, lo)) end
    return core.recordn(ids.clip, core.coerce_all("clip", { x, lo, hi }, 3), 3, 0)
end)

--- np.one_hot(labels, n, {dtype="f32"}): a new last axis of n elements, 1 at the label and 0 elsewhere; all 0 for
-- labels outside [0, n).
--- > np.one_hot(np.array({0, 2}, {dtype="i32"}), 3)
-- [[1. 0. 0.]
--  [0. 0. 1.]]
define("one_hot", function(labels, n, given)
    labels = coerce("one_hot", 1, selects.index_of("one_hot", labels))
    local dtype = core.dtype_of(labels)
    if dtype.kind == "f" or dtype.kind == "b" then
        raise("one_hot", "labels must be integers, got dtype %s", dtype.name)
    end
    if core.integer("one_hot", 2, "n", n) < 0 then bad_argument("one_hot", 2, "n", "an integer from 0 up", n) end
    local code = core.dtype("one_hot", options("one_hot", given, { dtype = true }).dtype, core.dtype_codes.f32)
    local dims = shape_of(labels)
    dims[#dims + 1] = 1
    local classes = create.iota(n, core.dtype_codes.i32)
    return np.astype(np.equal(shape.reshape(labels, dims), classes), core.dtypes[code].name)
end)

-- ---- Sorting --------------------------------------------------------------------------------------------------------

local sort_options = { axis = true, descending = true, stable = true }

--- np.argsort(x, {axis=-1, descending=false, stable=true}): the indices (i32) that sort x along an axis. Stable: equal
-- elements keep their order. NaN comes last, in descending order too.
--- descending: true puts the greatest first
--- stable: equal elements keep their order whatever this says; NumPy's and JAX's name
--- > np.array{3, 1, 2}:argsort(), np.array{3, 1, 2}:argsort{descending=true}
-- [1 2 0]
-- [0 2 1]
define("argsort", function(x, given)
    x = coerce("argsort", 1, x)
    given = options("argsort", given, sort_options)
    local axis = axis_of("argsort", given.axis == nil and -1 or given.axis, core.ndim(x))
    core.attrs[0], core.attrs[1] = axis, given.descending and 1 or 0
    return core.record1(ids.argsort, x, 2)
end)

--- np.sort(x, {axis=-1, descending=false, stable=true}): x in order along an axis; NaN last. Differentiable.
--- descending: true puts the greatest first
--- stable: equal elements keep their order whatever this says; NumPy's and JAX's name
--- > np.array{3, 1, 2}:sort(), np.array{3, 1, 2}:sort{descending=true}
-- [1. 2. 3.]
-- [3. 2. 1.]
define("sort", function(x, given)
    x = coerce("sort", 1, x)
    given = options("sort", given, sort_options)
    local axis = axis_of("sort", given.axis == nil and -1 or given.axis, core.ndim(x))
    core.attrs[0], core.attrs[1] = axis, given.descending and 1 or 0
    return core.record1(ids.sort, x, 2)
end)

--- np.top_k(x, k, {axis=-1}) -> values, indices: two results: the k largest elements along an axis, descending, and
-- their indices (i32). Of equal ones the first come first; NaN comes last.
--- > np.array{3, 1, 4, 1, 5}:top_k(2)
-- [5. 4.]
-- [4 2]
define("top_k", function(x, k, given)
    x = coerce("top_k", 1, x)
    local axis = options("top_k", given, { axis = true }).axis
    axis = axis_of("top_k", axis == nil and -1 or axis, core.ndim(x))
    local n = shape_of(x)[axis + 1]
    if core.integer("top_k", 2, "k", k) < 0 or k > n then
        raise("top_k", "argument 2 (k) must be from 0 to the %d elements of axis %d, got %d", n, axis, k)
    end
    local order
    if 8 * k > n then -- nearly all
        order = shape.cut(np.argsort(x, { axis = axis, descending = true }), axis, 0, k)
    else
        core.attrs[0], core.attrs[1] = axis, k
        order = core.record1(ids.argtop, x, 2)
    end
    return np.take_along_axis(x, order, { axis = axis }), order
end)

--- np.searchsorted(a, v, {side="left"}): for each element of v the index (i32) before which it would stand in a, 1-d
-- and ascending: before its equals, or, with side "right", behind them. NaN stands last.
--- side: "left" before equal elements, "right" behind them
--- > np.searchsorted(np.array{1, 3, 5}, np.array{3, 4})
-- [1 2]
define("searchsorted", function(a, v, given)
    a, v = coerce("searchsorted", 1, a), coerce("searchsorted", 2, v)
    local side = options("searchsorted", given, { side = true }).side or "left"
    if side ~= "left" and side ~= "right" then
        raise("searchsorted", "option 'side' must be \"left\" or \"right\", got %s", core.describe(side))
    end
    if core.ndim(a) ~= 1 then raise("searchsorted", "argument 1 must have 1 axis, got shape %s", core.shape_text(a)) end
    core.attrs[0] = side == "right" and 1 or 0
    return core.record2(ids.searchsorted, a, v, 1)
end)

--- np.interp(x, xp, fp, {left=fp[0], right=fp[-1]}): at each x the line through the neighbouring points (xp, fp), which
-- are 1-d, xp ascending; `left` and `right` stand outside of them. Differentiable in all.
--- left: the value before xp begins; fp[0] without it
--- right: the value after xp ends; fp[-1] without it
--- > np.interp(np.array{0, 0.5, 3}, np.array{0, 1, 2}, np.array{0, 10, 20})
-- [ 0.  5. 20.]
define("interp", function(x, xp, fp, given)
    x, xp, fp = coerce("interp", 1, x), coerce("interp", 2, xp), coerce("interp", 3, fp)
    local o = options("interp", given, { left = true, right = true })
    local n = core.ndim(xp) == 1 and shape_of(xp)[1] or 0
    if n == 0 or not shape.same(shape_of(xp), shape_of(fp)) then
        raise("interp", "arguments 2 and 3 must be 1-d of one length above 0, got shapes %s and %s",
              core.shape_text(xp), core.shape_text(fp))
    end
    local index = np.clip(np.searchsorted(xp, x, { side = "right" }), 1, core.count(math.max(n - 1, 1), 1))
    local x0, f0 = take(xp, index - 1, 0), take(fp, index - 1, 0)
    local run, rise = take(xp, index, 0) - x0, take(fp, index, 0) - f0
    local level = np.equal(run, 0)
    local y = np.where(level, f0, f0 + (x - x0) / np.where(level, 1, run) * rise)
    y = np.where(np.less(x, xp[0]), o.left == nil and fp[0] or o.left, y)
    return np.where(np.greater(x, xp[-1]), o.right == nil and fp[-1] or o.right, y)
end)

-- ---- By looking at values -------------------------------------------------------------------------------------------

--- x as an array of the host that has no device of its own: what is found by looking at values is such.
local function on_host(x)
    local known = core.info(x)
    if known.sharding == 0 and known.committed == 0 then return x end
    local dtype = core.dtype_of(x)
    local bytes = x.size * dtype.bytes
    local values = core.read(x, function(data)
        local copy = ffi.new("char[?]", bytes)
        ffi.copy(copy, data, bytes)
        return copy
    end)
    return core.fill(dtype.code, shape_of(x), function(to) ffi.copy(to, values, bytes) end, "char *")
end

--- Row-major places (i32, or i64 where that cannot count them) of the elements that an op marks of x, which is of the
-- host. Waits until they are counted.
local function marked_places(marks, x)
    local words = core.record1(marks, x, 0)
    local count = core.read(words, function(data, size) return tonumber(data[size - 1]) end)
    core.attrs[0], core.attrs[1] = count, core.info(x).size
    return core.record1(ids.places, words, 2)
end

--- np.nonzero(x) -> i, j, …: for each axis an i32 array with the coordinates of the elements that are not 0; several
-- results. Waits for x; raises while tracing, since how many there are is not known then.
--- > np.nonzero(np.array{{0, 7}, {8, 0}})
-- [0 1]
-- [1 0]
define("nonzero", function(x)
    x = coerce("nonzero", 1, x)
    local dims = shape_of(x)
    if #dims == 0 then raise("nonzero", "needs at least 1 axis") end
    local places = marked_places(ids.marks_nonzero, on_host(x))
    local results = {}
    for axis = #dims, 1, -1 do
        local n = core.count(dims[axis])
        results[axis] = np.astype(axis == 1 and places or np.remainder(places, n), "i32")
        if axis > 1 then places = np.floor_divide(places, n) end
    end
    return unpack(results)
end)

--- np.unique(x): the different values of x in order, 1-d; NaNs count as equal. Waits for x; raises while tracing.
--- > np.unique(np.array{3, 1, 3, 2})
-- [1. 2. 3.]
define("unique", function(x)
    x = np.ravel(coerce("unique", 1, x))
    if x.size == 0 then return x end
    local sorted = on_host(np.sort(x))
    return take(sorted, marked_places(ids.marks_changes, sorted), 0)
end)

-- ---- Comparing whole arrays -----------------------------------------------------------------------------------------

local close_options = { rtol = true, atol = true, equal_nan = true }

local function operand(name, position, value)
    if type(value) == "table" then return np.array(value) end
    return coerce(name, position, value)
end

local function isclose(name, a, b, given)
    a, b = operand(name, 1, a), operand(name, 2, b)
    given = options(name, given, close_options)
    local rtol, atol = given.rtol or 1e-5, given.atol or 1e-8
    if core.dtype_of(a).kind ~= "f" then a = np.astype(a, "f64") end
    if core.dtype_of(b).kind ~= "f" then b = np.astype(b, "f64") end
    local near = np.less_equal(np.abs(a - b), np.abs(b) * rtol + atol)
    local result = np.logical_or(np.logical_and(near, np.isfinite(b)), np.equal(a, b))
    if given.equal_nan then result = np.logical_or(result, np.logical_and(np.isnan(a), np.isnan(b))) end
    return result
end

--- np.isclose(a, b, {rtol=1e-5, atol=1e-8, equal_nan=false}): |a - b| <= atol + rtol * |b|, by element.
--- rtol: how far apart two may be, relative to b
--- atol: how far apart two may be whatever b is
--- equal_nan: true makes NaN close to NaN
--- > np.isclose(np.array{1, 2}, np.array{1 + 1e-7, 2.1})
-- [ True False]
define("isclose", function(a, b, given)
    return isclose("isclose", a, b, given)
end)

--- np.allclose(a, b, {rtol=1e-5, atol=1e-8, equal_nan=false}) -> boolean: whether np.isclose holds for all elements: a
-- Lua boolean. Waits. Lua tables count as arrays.
--- rtol: how far apart two may be, relative to b
--- atol: how far apart two may be whatever b is
--- equal_nan: true makes NaN close to NaN
--- > np.allclose(np.array{1, 2}, {1, 2 + 1e-6})
-- true
define("allclose", function(a, b, given)
    return np.item(np.all(isclose("allclose", a, b, given)))
end)

--- np.array_equal(a, b) -> boolean: whether shapes and all elements are equal: a Lua boolean. Waits. Lua tables count
-- as arrays.
--- > np.array_equal(np.arange(3), {0, 1, 2})
-- true
define("array_equal", function(a, b)
    a, b = operand("array_equal", 1, a), operand("array_equal", 2, b)
    if not shape.same(shape_of(a), shape_of(b)) then return false end
    return np.item(np.all(np.equal(a, b)))
end)

return selects
