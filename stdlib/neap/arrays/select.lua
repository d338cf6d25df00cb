--- select.lua: choosing elements: where, take, one_hot, sorting, and what is found by looking at values on the host.
--
-- Sizes in the graph are always known (no op's shape depends on values), so nonzero, unique and masks wait until it is
-- counted how many elements they give; while tracing they raise.
local ffi = require "ffi"
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local divided = require "neap.arrays.divided"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, axis_of, ids = core.shape_of, core.axis, core.ids
local is_array, operand = core.is_array, create.operand

local selects = {}

--- Index positions made ready for arithmetic: negative ones counted from the end, all clamped into [0, n); and before
-- they were clamped.
local function clamped(index, n)
    if core.dtype_of(index).bytes < 4 then index = np.astype(index, "i32") end -- which holds n
    if core.dtype_of(index).kind == "i" then
        index = np.where(np.less(index, 0), np.add(index, n), index)
    end
    return np.clip(index, 0, math.max(n - 1, 0)), index
end
selects.clamped = clamped

--- Index positions of which those out of range are n, where nothing is written.
function selects.dropped(index, n)
    local place, wanted = clamped(index, n)
    return (np.where(np.equal(place, wanted), place, n))
end

--- Whether index positions are in [-n, n): a bool array.
function selects.in_range(index, n)
    if core.dtype_of(index).bytes < 4 then index = np.astype(index, "i32") end
    local below = np.less(index, n)
    if core.dtype_of(index).kind == "u" then return below end
    return np.logical_and(below, np.greater_equal(index + n, 0))
end

--- Index positions of which negative ones do not count from the end: they are below all.
function selects.not_below(index)
    if core.dtype_of(index).kind ~= "i" then return index end
    if core.dtype_of(index).bytes < 4 then index = np.astype(index, "i32") end
    return np.maximum(index, 0)
end

--- Index positions by what is done with those out of range: "clip" and "fill" read at the nearest end, "wrap" counts
-- around, "raise" waits for them and raises.
function selects.by_mode(name, index, n, mode)
    if mode == "wrap" and n > 0 then
        if core.dtype_of(index).bytes < 4 then index = np.astype(index, "i32") end
        return np.remainder(index, n)
    end
    if mode == "raise" and index.size > 0 then
        local outside = np.ravel(np.logical_not(selects.in_range(index, n)))
        if np.any(outside):item() then
            local first = np.ravel(index)[np.argmax(outside):item()]
            raise(name, "index %s is out of range for extent %d", tostring(first), n)
        end
    end
    return (clamped(index, n))
end

local READS, WRITES = { clip = true, fill = true, wrap = true, raise = true },
                      { drop = true, clip = true, wrap = true, raise = true }

--- What an array of a dtype is filled with where nothing can be read.
local function fill_of(name, dtype, value)
    if value ~= nil then return create.value(name, value, dtype.code) end
    if dtype.kind == "b" then return core.number(1, dtype.code) end
    if dtype.inexact then return core.number(core.NAN, dtype.code) end
    if dtype.kind == "u" then return np.bitwise_invert(core.number(0, dtype.code)) end
    if dtype.kind ~= "i" then return core.number(0, dtype.code) end
    return np.bitwise_left_shift(core.number(1, dtype.code), core.number(dtype.bits - 1, dtype.code))
end

--- The mode among options, and what "fill" reads of an array of a dtype; without a dtype elements are written.
function selects.mode_of(name, o, default, dtype)
    local mode, known = o.mode, dtype and READS or WRITES
    if mode == nil then mode = o.fill_value ~= nil and "fill" or default end
    if mode ~= nil and not known[mode] then
        local one = dtype and "fill" or "drop"
        bad_argument(name, nil, "mode", ('%q, "clip", "wrap" or "raise"'):format(one), mode)
    end
    if o.fill_value ~= nil and mode ~= "fill" then raise(name, "'fill_value' goes with mode \"fill\"") end
    return mode, mode == "fill" and fill_of(name, dtype, o.fill_value)
end

local read_options, write_options = { mode = true, fill_value = true }, { mode = true }

--- The same of an options table that has nothing else.
function selects.mode_option(name, given, default, dtype)
    return selects.mode_of(name, options(name, given, dtype and read_options or write_options), default, dtype)
end

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
    if not is_array(index) then return core.plain(index) end
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
            core.not_integers(name, "indices", dtype)
        end
        return index
    end
    local dims = {}
    if type(index) == "number" or core.is_size(index) then
        index = { index }
    elseif type(index) == "table" then
        dims = { #core.list(name, "the list of indices", index) }
    else
        bad_argument(name, 2, "indices", "an integer array, an integer or a table of them", index)
    end
    for k = 1, #index do
        local i = core.integer(name, 2, "indices", core.plain(index[k]))
        if i < -extent or i >= extent then raise(name, "index %d is out of range for extent %d", i, extent) end
    end
    return create.integers(index, dims)
end

--- np.take(x, indices, {axis=…, mode="clip", fill_value=…}): elements along an axis, over the flattened array without
-- axis. Indices are an integer array, an integer or a Lua table; negative ones count from the end. Out of range: an
-- error for Lua numbers, unless there is `mode`; for arrays and for number arguments of jitted functions what `mode`
-- says.
--- axis: along which elements are taken; the flattened array without it
--- mode: what indices out of range read: "clip" the nearest end, which is the first one for all negative indices;
-- "fill" fill_value, "wrap" counts around, and "raise" raises, for which it waits for the indices
--- fill_value: what "fill" gives; without it NaN, the least signed or the greatest unsigned integer, true
--- > np.array{10, 20, 30}:take{2, 0, -1}
-- [30. 10. 30.]
--- > np.array{{1, 2}, {3, 4}}:take(np.arange(1), {axis=1})
-- [[1.]
--  [3.]]
--- > np.take(np.array{10, 20, 30}, {1, 5}, {mode="fill"})
-- [20. nan]
define("take", function(x, index, given, extra)
    if extra ~= nil then core.too_many("take", 3, extra) end
    x = coerce("take", 1, x)
    local o = options("take", given, { axis = true, mode = true, fill_value = true })
    local mode, fill
    if o.mode ~= nil or o.fill_value ~= nil then
        mode, fill = selects.mode_of("take", o, nil, core.dtype_of(x))
    end
    local axis = o.axis
    if axis == nil then x, axis = np.ravel(x), 0 end
    local dims = shape_of(x)
    axis = axis_of("take", axis, #dims)
    local n = dims[axis + 1]
    index = selects.index_array("take", index, mode and math.huge or n)
    if mode == "clip" then index = selects.not_below(index) end
    local result = take(x, mode and selects.by_mode("take", index, n, mode) or index, axis)
    if mode ~= "fill" then return result end
    local wide = shape_of(index)
    for k = axis + 2, #dims do wide[#wide + 1], dims[k] = 1, dims[k] end
    return np.where(shape.reshape(selects.in_range(index, n), wide), result, fill)
end)

--- Positions of elements of an array of shape `base`, flattened, that indices along an axis name; `wide` is the shape
-- that the indices broadcast to. mode: what is done with indices out of range, "drop" makes them one behind all.
function selects.positions_along(base, index, wide, axis, mode, about)
    local name, n, total = counter(shape.product(base) + 1), base[axis + 1], shape.product(base)
    local position, stride = nil, 1
    for k = #base, 1, -1 do
        local part
        if k == axis + 1 then
            part = np.astype(selects.by_mode(about, index, n, mode), name)
        else
            local narrow = {}
            for d = 1, #base do narrow[d] = d == k and base[d] or 1 end
            part = shape.reshape(np.arange(base[k], { dtype = name }), narrow)
        end
        if not core.is_same(stride, 1) then part = part * stride end
        position = position and position + part or part
        stride = stride * base[k]
    end
    if mode == "drop" then position = np.where(selects.in_range(index, n), position, total) end
    return (shape.broadcast_to(position, wide))
end

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
    return take(np.ravel(x), selects.positions_along(base, index, result, axis, "clip", "take_along_axis"), 0)
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

--- np.take_along_axis(x, indices, {axis=-1, mode="clip", fill_value=…}): indices have x's rank; element [i…] is x at i
-- with the axis' coordinate replaced by indices[i…]. Other axes broadcast.
--- mode: what indices out of range read, as in np.take; with "clip", too, negative ones count from the end
--- fill_value: what mode "fill" gives, as in np.take
--- > x = np.array{{3, 1, 2}, {4, 6, 5}}
--- > np.take_along_axis(x, np.argsort(x), {axis=-1})
-- [[1. 2. 3.]
--  [4. 5. 6.]]
define("take_along_axis", function(x, index, given, extra)
    if extra ~= nil then core.too_many("take_along_axis", 3, extra) end
    x = coerce("take_along_axis", 1, x)
    local o = core.axis_options("take_along_axis", given, { axis = true, mode = true, fill_value = true })
    local dims = shape_of(x)
    local axis = axis_of("take_along_axis", o.axis == nil and -1 or o.axis, #dims)
    local n, mode, fill = dims[axis + 1], nil, nil
    if o.mode ~= nil or o.fill_value ~= nil then
        mode, fill = selects.mode_of("take_along_axis", o, nil, core.dtype_of(x))
    end
    index = selects.index_array("take_along_axis", index, mode and math.huge or n)
    if core.ndim(index) ~= #dims then
        raise("take_along_axis", "indices must have the %d axes of the array, got shape %s", #dims,
              core.shape_text(index))
    end
    local there = mode == "fill" and selects.in_range(index, n)
    if mode then index = selects.by_mode("take_along_axis", index, n, mode) end
    local spec, names, mesh = divided_alike(x, index, axis)
    local result
    if spec then
        -- Flattened, the parts of other axes would not stay together: block by block they do.
        local divided_take = np.shard_map(function(part, places) return take_along(part, places, axis) end,
                                          { mesh = mesh, in_specs = { spec, spec }, out_specs = spec,
                                            axis_names = names })
        result = divided_take(x, index)
    else
        result = take_along(x, index, axis)
    end
    return there and np.where(there, result, fill) or result
end)

--- Whether a value is a table of numbers.
local function is_table(value)
    return type(value) == "table" and getmetatable(value) == nil
end

--- np.where(c, a, b): elements of a where c is true, of b elsewhere; all three broadcast. np.where(c) is np.nonzero(c).
--- > x = np.array{-1, 0, 2}
--- > np.where(x:gt(0), x, 0)
-- [0. 0. 2.]
local where = ids.where
define("where", function(c, a, b, extra)
    if a == nil and b == nil then return np.nonzero(c) end
    if extra ~= nil then core.too_many("where", 3, extra) end
    if a == nil or b == nil then raise("where", "takes a condition and two values, or a condition") end
    if is_table(c) or is_table(a) or is_table(b) then
        c = operand("where", 1, c)
        a, b = operands.meet("where", 2, a, b)
    end
    return core.recordn(where, core.coerce_all("where", { c, a, b }, 3), 3, 0)
end)

--- A limit of np.clip beside an array of integers of the dtype `dtype`: a number beyond them that limits nothing is
-- none.
local function limit_of(dtype, limit, upper)
    if type(limit) ~= "number" or not dtype.lowest then return limit end
    if upper and limit > dtype.highest or not upper and limit < dtype.lowest then return nil end
    return limit
end

--- np.clip(x, lo, hi), np.clip(x, {min=…, max=…}): x limited to [lo, hi]; nil is no limit, and so is a number that is
-- beyond all of x's dtype. Limits are numbers, tables or arrays that broadcast; NaN gives NaN.
--- min: the lower limit
--- max: the upper limit
--- > np.array{-2, 0.5, 2}:clip(-1, 1), np.array{-2, 2}:clip(nil, 0), np.array{-2, 2}:clip{min=0}
-- [-1.   0.5  1. ]
-- [-2.  0.]
-- [0. 2.]
define("clip", function(x, lo, hi, extra)
    if extra ~= nil then core.too_many("clip", 3, extra) end
    if is_table(lo) and lo[1] == nil then
        local limits = options("clip", lo, { min = true, max = true })
        if hi ~= nil then raise("clip", "takes two limits, or a table of them") end
        lo, hi = limits.min, limits.max
    end
    if not is_array(x) or is_table(lo) or is_table(hi) then
        local list = operands.meet_list("clip", 3, { x, lo == nil and 0 or lo, hi == nil and 0 or hi })
        x, lo, hi = list[1], lo ~= nil and list[2] or nil, hi ~= nil and list[3] or nil
    end
    local dtype = core.dtype_of(x)
    if dtype.lowest then lo, hi = limit_of(dtype, lo, false), limit_of(dtype, hi, true) end
    if lo == nil and hi == nil then return x end
    if lo == nil then return np.minimum(x, hi) end
    if hi == nil then return np.maximum(x, lo) end
    return core.recordn(ids.clip, core.coerce_all("clip", { x, lo, hi }, 3), 3, 0)
end)

--- np.one_hot(labels, n, {axis=-1, dtype="f32"}): a new axis of n elements, 1 at the label and 0 elsewhere; all 0 for
-- labels outside [0, n).
--- axis: the place of the new axis in the result
--- dtype: of the result
--- > np.one_hot(np.array({0, 2}, {dtype="i32"}), 3), np.one_hot(np.array({0, 2}, {dtype="i32"}), 3, {axis=0})
-- [[1. 0. 0.]
--  [0. 0. 1.]]
-- [[1. 0.]
--  [0. 0.]
--  [0. 1.]]
define("one_hot", function(labels, n, given, extra)
    if extra ~= nil then core.too_many("one_hot", 3, extra) end
    labels = selects.index_of("one_hot", labels)
    if type(labels) == "number" or is_table(labels) then labels = np.array(labels, { dtype = "i32" }) end
    labels = coerce("one_hot", 1, labels)
    local dtype = core.dtype_of(labels)
    if dtype.inexact or dtype.kind == "b" then
        core.not_integers("one_hot", "labels", dtype)
    end
    n = core.integer("one_hot", 2, "n", n, 0)
    local o = options("one_hot", given, { axis = true, dtype = true })
    local code = core.dtype("one_hot", o.dtype, core.dtype_codes.f32)
    local dims, wide = shape_of(labels), { n }
    local axis = axis_of("one_hot", o.axis == nil and -1 or o.axis, #dims + 1)
    for _ = axis + 1, #dims do wide[#wide + 1] = 1 end
    table.insert(dims, axis + 1, 1)
    local classes = shape.reshape(create.iota(n, core.dtype_codes.i32), wide)
    return np.astype(np.equal(shape.reshape(labels, dims), classes), core.dtypes[code].name)
end)

-- ---- Sorting --------------------------------------------------------------------------------------------------------

--- Whether the elements of x have no order of their own, but that by parts.
local function is_complex(x)
    return core.dtype_of(x).kind == "c"
end

--- The order of complex numbers: by their real parts, of equal ones by their imaginary parts; then those whose
-- imaginary part is NaN, then those whose real part is, then those of both.
local function order_of_complex(x, axis, descending)
    local re, im = np.real(x), np.imag(x)
    local order = np.argsort(im, { axis = axis, descending = descending })
    local function by(key, downwards)
        local within = np.argsort(np.take_along_axis(key, order, axis), { axis = axis, descending = downwards })
        order = np.take_along_axis(order, within, axis)
    end
    by(re, descending)
    by(np.astype(np.isnan(im), "u8") + np.astype(np.isnan(re), "u8") * 2, false)
    return order
end

local sort_options = { axis = true, descending = true, stable = true }

--- np.argsort(x, {axis=-1, descending=false, stable=true}): the indices (i32) that sort x along an axis. Stable: equal
-- elements keep their order. NaN comes last, in descending order too. Complex numbers are ordered by their real parts,
-- equal ones of these by their imaginary parts.
--- descending: true puts the greatest first
--- stable: equal elements keep their order whatever this says; NumPy's and JAX's name
--- > np.array{3, 1, 2}:argsort(), np.array{3, 1, 2}:argsort{descending=true}
-- [1 2 0]
-- [0 2 1]
define("argsort", function(x, given, extra)
    if extra ~= nil then core.too_many("argsort", 2, extra) end
    x = coerce("argsort", 1, x)
    given = options("argsort", given, sort_options)
    local axis = axis_of("argsort", given.axis == nil and -1 or given.axis, core.ndim(x))
    if is_complex(x) then return order_of_complex(x, axis, given.descending) end
    core.attrs[0], core.attrs[1] = axis, given.descending and 1 or 0
    return core.record1(ids.argsort, x, 2)
end)

--- np.sort(x, {axis=-1, descending=false, stable=true}): x in order along an axis; NaN last; complex numbers as in
-- np.argsort. Differentiable.
--- descending: true puts the greatest first
--- stable: equal elements keep their order whatever this says; NumPy's and JAX's name
--- > np.array{3, 1, 2}:sort(), np.array{3, 1, 2}:sort{descending=true}
-- [1. 2. 3.]
-- [3. 2. 1.]
define("sort", function(x, given, extra)
    if extra ~= nil then core.too_many("sort", 2, extra) end
    x = coerce("sort", 1, x)
    given = options("sort", given, sort_options)
    local axis = axis_of("sort", given.axis == nil and -1 or given.axis, core.ndim(x))
    if is_complex(x) then return np.take_along_axis(x, order_of_complex(x, axis, given.descending), axis) end
    core.attrs[0], core.attrs[1] = axis, given.descending and 1 or 0
    return core.record1(ids.sort, x, 2)
end)

--- x with the order of elements turned round; NaN stays.
local function reversed(x)
    local kind = core.dtype_of(x).kind
    if kind == "f" then return -x end
    return kind == "b" and np.logical_not(x) or np.bitwise_invert(x)
end

--- np.top_k(x, k, {axis=-1, largest=true}) -> values, indices: two results: the k largest elements along an axis,
-- descending, and their indices (i32). Of equal ones the first come first; NaN comes last.
--- largest: false gives the k smallest, ascending
--- > np.array{3, 1, 4, 1, 5}:top_k(2)
-- [5. 4.]
-- [4 2]
--- > np.array{3, 1, 4, 1, 5}:top_k(3, {largest=false})
-- [1. 1. 3.]
-- [1 3 0]
define("top_k", function(x, k, given, extra)
    if extra ~= nil then core.too_many("top_k", 3, extra) end
    x = coerce("top_k", 1, x)
    local o = options("top_k", given, { axis = true, largest = true })
    local axis, largest = o.axis, o.largest ~= false
    axis = axis_of("top_k", axis == nil and -1 or axis, core.ndim(x))
    local n = shape_of(x)[axis + 1]
    k = core.integer("top_k", 2, "k", k)
    if k < 0 or k > n then
        raise("top_k", "argument 2 (k) must be from 0 to the %d elements of axis %d, got %d", n, axis, k)
    end
    local order
    local few = not is_complex(x) and (core.is_size(n) or core.is_size(k) or 8 * k <= n)
    if not few then -- nearly all, or an order that the op has not
        order = shape.cut(np.argsort(x, { axis = axis, descending = largest }), axis, 0, k)
    else
        core.attrs[0], core.attrs[1] = axis, core.put(1, k)
        order = core.record1(ids.argtop, largest and x or reversed(x), 2)
    end
    return np.take_along_axis(x, order, { axis = axis }), order
end)

--- For each element of x, 1-d and complex, the number of its value among the different ones in the order of np.sort.
local function ranks_of_complex(x)
    local n = x.size
    local order = np.argsort(x)
    local sorted = take(x, order, 0)
    local function differs(key)
        local now, before = shape.cut(key, 0, 1, n), shape.cut(key, 0, 0, n - 1)
        local missing = np.logical_and(np.isnan(now), np.isnan(before))
        return np.logical_and(np.not_equal(now, before), np.logical_not(missing))
    end
    local steps = np.astype(np.logical_or(differs(np.real(sorted)), differs(np.imag(sorted))), "i32")
    local first = core.number(0, core.dtype_codes.i32)
    return take(np.cumsum(shape.pad(steps, first, { 1 }, { 0 }, { 0 })), np.argsort(order), 0)
end

--- Two arrays whose order is that of a, 1-d, and v: numbers of their values where these are complex.
local function ordered(a, v)
    if not is_complex(a) and not is_complex(v) or a.size + v.size == 0 then return a, v end
    local ranks = ranks_of_complex(shape.join({ a, np.ravel(v) }, 0))
    return shape.cut(ranks, 0, 0, a.size), shape.reshape(shape.cut(ranks, 0, a.size, a.size + v.size), shape_of(v))
end

--- np.searchsorted(a, v, {side="left", sorter=…}): for each element of v the index (i32) before which it would stand in
-- a, 1-d and ascending: before its equals, or, with side "right", behind them. NaN stands last; complex numbers as in
-- np.argsort.
--- side: "left" before equal elements, "right" behind them
--- sorter: indices that sort a, as np.argsort gives them, where a itself is not in order
--- > np.searchsorted(np.array{1, 3, 5}, np.array{3, 4})
-- [1 2]
define("searchsorted", function(a, v, given, extra)
    if extra ~= nil then core.too_many("searchsorted", 3, extra) end
    a, v = operands.compared("searchsorted", 2, a, v)
    local o = options("searchsorted", given, { side = true, sorter = true })
    local side = o.side or "left"
    if side ~= "left" and side ~= "right" then
        raise("searchsorted", "option 'side' must be \"left\" or \"right\", got %s", core.describe(side))
    end
    if core.ndim(a) ~= 1 then raise("searchsorted", "argument 1 must have 1 axis, got shape %s", core.shape_text(a)) end
    if o.sorter ~= nil then
        local sorter = selects.index_array("searchsorted", o.sorter, a.size)
        if core.ndim(sorter) ~= 1 or sorter.size ~= a.size then
            raise("searchsorted", "option 'sorter' must have shape %s, got %s", core.shape_text(a),
                  core.shape_text(sorter))
        end
        a = take(a, sorter, 0)
    end
    a, v = ordered(a, v)
    core.attrs[0] = side == "right" and 1 or 0
    return core.record2(ids.searchsorted, a, v, 1)
end)

--- x and the points (xp, fp), in order and with one more at each end, in a period.
local function in_period(x, xp, fp, period)
    xp = np.remainder(xp, period)
    local order, n = np.argsort(xp), shape_of(xp)[1]
    xp, fp = take(xp, order, 0), take(fp, order, 0)
    local function around(from, to) return shape.cut(xp, 0, from, to), shape.cut(fp, 0, from, to) end
    local first, first_value = around(0, 1)
    local last, last_value = around(n - 1, n)
    return np.remainder(x, period), shape.join({ last - period, xp, first + period }, 0),
           shape.join({ last_value, fp, first_value }, 0)
end

--- The line through the points beside each x, all of one dtype of floats. Infinite values give what NumPy gives: on a
-- point its value, beside an infinite one that.
local function between_points(x, xp, fp, left, right)
    local n = shape_of(xp)[1]
    local index = np.clip(np.searchsorted(xp, x, { side = "right" }), 1, math.max(n - 1, 1))
    local before = index - 1
    local x0, f0, x1, f1 = take(xp, before, 0), take(fp, before, 0), take(xp, index, 0), take(fp, index, 0)
    local run, rise, inner = x1 - x0, f1 - f0, np.where(np.isinf(x), x0, x)
    local straight, on_right = np.isfinite(rise), np.equal(x, x1)
    run, rise = np.where(np.equal(run, 0), 1, run), np.where(straight, rise, 0)
    -- From the point itself, since f0 + rise may not be all of f1.
    local y = np.where(on_right, f1 + (inner - x1) / run * rise, f0 + (inner - x0) / run * rise)
    local crooked = np.where(on_right, f1, np.where(np.isfinite(f0), f1 - f0, f0 + f1))
    crooked = np.where(np.equal(x, x0), f0, crooked)
    y = np.where(np.logical_or(straight, np.isnan(x)), y, crooked)
    y = np.where(np.less(x, xp[0]), left == nil and fp[0] or left, y)
    return np.where(np.greater(x, xp[-1]), right == nil and fp[-1] or right, y)
end

--- np.interp(x, xp, fp, {left=fp[0], right=fp[-1], period=…}): at each x the line through the neighbouring points (xp,
-- fp), which are 1-d, xp ascending; `left` and `right` stand outside of them. Numbers and tables take the dtype of the
-- arrays. Differentiable in all.
--- left: the value before xp begins; fp[0] without it
--- right: the value after xp ends; fp[-1] without it
--- period: how far apart x are that count as the same: xp may be in any order then, and nothing is outside
--- > np.interp(np.array{0, 0.5, 3}, np.array{0, 1, 2}, np.array{0, 10, 20})
-- [ 0.  5. 20.]
--- > np.interp(np.array{-10, 370}, {0, 180}, {0, 180}, {period=360})
-- [10. 10.]
define("interp", function(x, xp, fp, given, extra)
    if extra ~= nil then core.too_many("interp", 4, extra) end
    x, xp, fp = operands.meet("interp", 3, x, xp, fp)
    local o = options("interp", given, { left = true, right = true, period = true })
    local n = core.ndim(xp) == 1 and shape_of(xp)[1] or 0
    if n == 0 or not shape.same(shape_of(xp), shape_of(fp)) then
        raise("interp", "arguments 2 and 3 must be 1-d of one length above 0, got shapes %s and %s",
              core.shape_text(xp), core.shape_text(fp))
    end
    local period, left, right = core.plain(o.period), o.left, o.right
    if period ~= nil then
        if type(period) ~= "number" or period == 0 or period ~= period then
            bad_argument("interp", nil, "period", "a number other than 0", period)
        end
        left, right = nil, nil
    end
    local result = core.dtypes[core.dtype_codes[np.result_type(x, xp, fp, 0.5)]]
    -- Integers are counted in f64, which has all their differences, and halves in f32.
    local exact = core.dtype_of(x).inexact and core.dtype_of(xp).inexact and core.dtype_of(fp).inexact
    local counted = not exact and "f64" or result.half and "f32" or result.real
    if result.kind == "c" then
        local function part(of)
            local function side(value) return value ~= nil and of(coerce("interp", 4, value)) or nil end
            return np.interp(x, xp, of(fp), { left = side(left), right = side(right), period = period })
        end
        return np.complex(part(np.real), part(np.imag))
    end
    x, xp, fp = np.astype(x, counted), np.astype(xp, counted), np.astype(fp, counted)
    if period then x, xp, fp = in_period(x, xp, fp, math.abs(period)) end
    return np.astype(between_points(x, xp, fp, left, right), result.name)
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
    core.attrs[0], core.attrs[1] = core.put(0, count), core.put(1, core.size_of(x))
    return core.record1(ids.places, words, 2)
end

selects.marked = function(marks, x) return marked_places(marks, on_host(x)) end

--- Row-major places (i32) of the elements of x that are not 0. With `size` they are so many, nothing waits, and the
-- second result says which of them are places of elements.
function selects.places(x, size)
    if size == nil then return selects.marked(ids.marks_nonzero, x) end
    local set = np.ravel(core.dtype_of(x).kind == "b" and x or np.not_equal(x, 0))
    local n, code = set.size, core.dtype_codes.i32
    local ranks = np.where(set, np.cumsum(np.astype(set, "i32")) - 1, size)
    local zeros = shape.broadcast_to(core.number(0, code), { size })
    local places = create.iota(n, code)
    core.attrs[0] = 0
    return core.recordn(ids.put_set, { zeros, ranks, places }, 3, 1), np.less(create.iota(size, code), np.sum(set))
end

--- np.nonzero(x, {size=…, fill_value=0}) -> i, j, …: for each axis an i32 array with the coordinates of the elements
-- that are not 0; several results. Waits for x, and raises while tracing, since how many there are is not known then;
-- unless there is `size`.
--- size: how many there are to be: nothing waits, and it works in jitted functions; further ones are left out
--- fill_value: the coordinate that stands behind the last one, with size
--- > np.nonzero(np.array{{0, 7}, {8, 0}})
-- [0 1]
-- [1 0]
--- > np.nonzero(np.array{0, 7, 8}, {size=3, fill_value=-1})
-- [ 1  2 -1]
define("nonzero", function(x, given, extra)
    if extra ~= nil then core.too_many("nonzero", 2, extra) end
    x = coerce("nonzero", 1, x)
    local o = options("nonzero", given, { size = true, fill_value = true })
    local fill = o.fill_value == nil and 0 or core.integer("nonzero", nil, "fill_value", o.fill_value)
    local size = o.size
    if size ~= nil then size = core.integer("nonzero", nil, "size", size, 0, 2 ^ 31) end
    local dims = shape_of(x)
    if #dims == 0 then raise("nonzero", "needs at least 1 axis") end
    local places, there = selects.places(x, size)
    local results = {}
    for axis = #dims, 1, -1 do
        local n = dims[axis]
        results[axis] = np.astype(axis == 1 and places or np.remainder(places, n), "i32")
        if there then results[axis] = np.where(there, results[axis], fill) end
        if axis > 1 then places = np.floor_divide(places, n) end
    end
    return unpack(results)
end)

-- ---- Comparing whole arrays -----------------------------------------------------------------------------------------

local close_options = { rtol = true, atol = true, equal_nan = true }

local function isclose(name, a, b, given)
    a, b = operands.compared(name, 2, a, b)
    given = options(name, given, close_options)
    local rtol, atol = given.rtol or 1e-5, given.atol or 1e-8
    if not core.dtype_of(a).inexact then a = np.astype(a, "f64") end
    if not core.dtype_of(b).inexact then b = np.astype(b, "f64") end
    a, b = operands.wide(a), operands.wide(b)
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
define("isclose", function(a, b, given, extra)
    if extra ~= nil then core.too_many("isclose", 3, extra) end
    return isclose("isclose", a, b, given)
end)

--- np.allclose(a, b, {rtol=1e-5, atol=1e-8, equal_nan=false}) -> boolean: whether np.isclose holds for all elements: a
-- Lua boolean. Waits. Lua tables count as arrays.
--- rtol: how far apart two may be, relative to b
--- atol: how far apart two may be whatever b is
--- equal_nan: true makes NaN close to NaN
--- > np.allclose(np.array{1, 2}, {1, 2 + 1e-6})
-- true
define("allclose", function(a, b, given, extra)
    if extra ~= nil then core.too_many("allclose", 3, extra) end
    return np.item(np.all(isclose("allclose", a, b, given)))
end)

--- np.array_equal(a, b, {equal_nan=false}) -> boolean: whether shapes and all elements are equal: a Lua boolean. Waits.
-- Lua tables count as arrays.
--- equal_nan: true makes NaN equal to NaN
--- > np.array_equal(np.arange(3), {0, 1, 2}), np.array_equal({np.nan}, {np.nan}, {equal_nan=true})
-- true
-- true
define("array_equal", function(a, b, given, extra)
    if extra ~= nil then core.too_many("array_equal", 3, extra) end
    a, b = operands.compared("array_equal", 2, a, b)
    local o = options("array_equal", given, { equal_nan = true })
    if not shape.same(shape_of(a), shape_of(b)) then return false end
    local same = np.equal(a, b)
    if o.equal_nan then same = np.logical_or(same, np.logical_and(np.isnan(a), np.isnan(b))) end
    return np.item(np.all(same))
end)

--- np.array_equiv(a, b) -> boolean: whether all elements are equal after broadcasting: a Lua boolean, false where the
-- shapes do not broadcast. Waits. Lua tables count as arrays.
--- > np.array_equiv({1, 2}, {{1, 2}, {1, 2}}), np.array_equiv({1, 2}, {1, 2, 3})
-- true
-- false
define("array_equiv", function(a, b, extra)
    if extra ~= nil then core.too_many("array_equiv", 2, extra) end
    a, b = operands.compared("array_equiv", 2, a, b)
    local dims, own = shape_of(a), shape_of(b)
    for k = 1, math.min(#dims, #own) do
        local n, m = dims[#dims + 1 - k], own[#own + 1 - k]
        if n ~= m and n ~= 1 and m ~= 1 then return false end
    end
    return np.item(np.all(np.equal(a, b)))
end)

return selects
