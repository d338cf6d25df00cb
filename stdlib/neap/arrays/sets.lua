--- sets.lua: the different elements of arrays: unique in all its forms, membership, sets as sorted 1-d arrays.
--
-- Elements are sorted; where one differs from the one before it begins a run. How many runs there are is counted, which
-- waits, unless the option `size` says how long the results are to be.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local selects = require "neap.arrays.select"
local nans = require "neap.arrays.nans"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, options = core.raise, core.options
local shape_of, is_array, operand, ids = core.shape_of, core.is_array, create.operand, core.ids

--- Rows (n, m) put in order by their first column, then by the second, and so on: the order, as indices.
local function order_of_rows(rows, n, m)
    if n > 0 and m > 0 and core.dtype_of(rows).kind ~= "c" then return core.record1(ids.argsort_rows, rows, 0) end
    local order = create.iota(n, core.dtype_codes.i32)
    for k = m - 1, 0, -1 do
        local column = shape.reshape(shape.cut(rows, 1, k, k + 1), { n })
        order = selects.take(order, np.argsort(selects.take(column, order, 0)), 0)
    end
    return order
end

--- Which of n sorted elements or rows differ from the one before: n bools, the first one true.
local function starts_of(sorted, n, equal_nan)
    local now, before = shape.cut(sorted, 0, 1, n), shape.cut(sorted, 0, 0, n - 1)
    local differs = np.not_equal(now, before)
    if equal_nan and nans.possible(sorted) then
        differs = np.logical_and(differs, np.logical_not(np.logical_and(np.isnan(now), np.isnan(before))))
    end
    if core.ndim(differs) == 2 then differs = np.any(differs, { axis = 1 }) end
    return shape.pad(differs, core.number(1, core.dtype_codes.bool), { 1 }, { 0 }, { 0 })
end

--- x flattened, or with the axis in front as rows (n, m), and its shape then.
local function lines_of(name, x, axis)
    if axis == nil then return np.ravel(x), nil end
    x = np.moveaxis(x, core.axis(name, axis, core.ndim(x)), 0)
    local dims = shape_of(x)
    return shape.reshape(x, { dims[1], shape.product(dims, 2) }), dims
end

--- The parts of what `want` (a table of index, inverse, counts) asks for: values, and a table of the others.
local function unique(name, x, o, want)
    local lines, dims = lines_of(name, x, o.axis)
    local n, found = shape_of(lines)[1], {}
    local nothing = n == 0 and o.size ~= nil -- then a line of zeros stands there, which is none of those
    if nothing then
        local lo, hi = { 0, dims and 0 or nil }, { 1, dims and 0 or nil }
        lines, n = shape.pad(lines, core.number(0, core.dtype_of(x).code), lo, hi, lo), 1
    end
    local order, sorted
    if dims then
        order = order_of_rows(lines, n, shape_of(lines)[2])
        sorted = selects.take(lines, order, 0)
    elseif want.index or want.inverse then
        order = np.argsort(lines)
        sorted = selects.take(lines, order, 0)
    else
        sorted = np.sort(lines)
    end
    local places, valid, starts
    local ordered = core.dtype_of(x).kind ~= "c"
    if n > 0 and ordered and o.size == nil and o.equal_nan ~= false and not dims and not want.inverse then
        places = selects.marked(ids.marks_changes, sorted)
    else
        starts = not nothing and n > 0 and starts_of(sorted, n, o.equal_nan ~= false)
            or np.zeros({ n }, { dtype = "bool" })
        places, valid = selects.places(starts, o.size)
    end
    local values = selects.take(sorted, places, 0)
    -- Values that nobody asks for would keep what they are taken from, as long as they are not computed.
    if next(want) and not o.size and not core.recording() then np.force(values) end
    if valid then
        local fill = o.fill_value
        if fill == nil then fill = shape.cut(values, 0, 0, 1) end
        values, fill = operands.meet(name, 2, values, fill)
        values = np.where(dims and np.expand_dims(valid, 1) or valid, values, fill)
    end
    if want.index then found.index = selects.take(order, places, 0) end
    if want.inverse then
        local groups = np.cumsum(np.astype(starts, "i32")) - 1
        local zeros = shape.broadcast_to(core.number(0, core.dtype_codes.i32), { n })
        core.attrs[0] = 0
        found.inverse = core.recordn(ids.put_set, { zeros, order, groups }, 3, 1)
        if nothing then found.inverse = shape.cut(found.inverse, 0, 0, 0) end
        if not dims then found.inverse = shape.reshape(found.inverse, shape_of(x)) end
    end
    if want.counts then
        local ends = places -- of runs: where the next ones begin
        if valid then ends, valid = selects.places(starts, o.size + 1) end
        found.counts = np.diff(valid and np.where(valid, ends, n) or ends,
                               { append = not valid and n or nil })
    end
    if dims then
        dims[1] = shape_of(values)[1]
        values = np.moveaxis(shape.reshape(values, dims), 0, o.axis)
    end
    return values, found
end

local unique_options = { axis = true, return_index = true, return_inverse = true, return_counts = true,
                         equal_nan = true, size = true, fill_value = true }

--- The options, among which `size` is checked, and as core.integer gives it.
local function with_size(name, o)
    if o.size == nil then
        if o.fill_value ~= nil then raise(name, "'fill_value' goes with 'size'") end
        return o
    end
    local all = {}
    for key, value in pairs(o) do all[key] = value end
    all.size = core.integer(name, nil, "size", o.size, 0, 2 ^ 31)
    return all
end

--- np.unique(x, {axis=…, return_index=false, return_inverse=false, return_counts=false, equal_nan=true, size=…,
-- fill_value=…}) -> values, …: the different elements in order, 1-d, or the different parts along an axis; behind them
-- what else is asked for, in this order (i32). Waits, and raises while tracing, unless there is `size`.
--- axis: along which parts are compared; the elements of the flattened array without it
--- return_index: true gives where each value is first
--- return_inverse: true gives for each element the index of its value, in x's shape
--- return_counts: true gives how often each value is there
--- equal_nan: false keeps all NaNs
--- size: how many values there are to be: nothing waits, and it works in jitted functions; further ones are left out
--- fill_value: what stands behind the last value, with size; the first value without it
--- > np.unique(np.array{3, 1, 3, 2})
-- [1. 2. 3.]
--- > np.unique(np.array{3, 1, 3}, {return_index=true, return_inverse=true, return_counts=true})
-- [1. 3.]
-- [1 0]
-- [1 0 1]
-- [1 2]
--- > np.unique(np.array{{1, 0}, {0, 1}, {1, 0}}, {axis=0})
-- [[0. 1.]
--  [1. 0.]]
define("unique", function(x, given, extra)
    if extra ~= nil then core.too_many("unique", 2, extra) end
    x = operand("unique", 1, x)
    local o = with_size("unique", options("unique", given, unique_options))
    local want = { index = o.return_index, inverse = o.return_inverse, counts = o.return_counts }
    local values, found = unique("unique", x, o, want)
    local results = { values }
    for _, part in ipairs { "index", "inverse", "counts" } do
        if want[part] then results[#results + 1] = found[part] end
    end
    return unpack(results)
end)

local function define_standard(name, want, list)
    define(name, function(x, given, extra)
        if extra ~= nil then core.too_many(name, 2, extra) end
        local o = with_size(name, options(name, given, { size = true, fill_value = true }))
        local values, found = unique(name, operand(name, 1, x), { size = o.size, fill_value = o.fill_value,
                                                                   equal_nan = false }, want)
        local results = { values }
        for _, part in ipairs(list) do results[#results + 1] = found[part] end
        return unpack(results)
    end)
end
--- np.unique_values(x, {size=…, fill_value=…}): the different elements in order: np.unique of the Python array
-- standard, to which all NaNs are different.
--- size: as in np.unique
--- fill_value: as in np.unique
--- > np.unique_values(np.array{3, 1, 3})
-- [1. 3.]
define_standard("unique_values", {}, {})
--- np.unique_counts(x, {size=…, fill_value=…}) -> values, counts: the different elements in order, and how often each
-- is there (i32). All NaNs are different.
--- size: as in np.unique
--- fill_value: as in np.unique
--- > np.unique_counts(np.array{3, 1, 3})
-- [1. 3.]
-- [1 2]
define_standard("unique_counts", { counts = true }, { "counts" })
--- np.unique_inverse(x, {size=…, fill_value=…}) -> values, inverse: the different elements in order, and for each
-- element of x the index of its value, in x's shape (i32). All NaNs are different.
--- size: as in np.unique
--- fill_value: as in np.unique
--- > np.unique_inverse(np.array{3, 1, 3})
-- [1. 3.]
-- [1 0 1]
define_standard("unique_inverse", { inverse = true }, { "inverse" })
--- np.unique_all(x, {size=…, fill_value=…}) -> values, indices, inverse, counts: the different elements in order, where
-- each is first in the flattened array, for each element of x the index of its value, in x's shape, and how often each
-- is there (i32). All NaNs are different.
--- size: as in np.unique
--- fill_value: as in np.unique
--- > np.unique_all(np.array{3, 1, 3})
-- [1. 3.]
-- [1 0]
-- [1 0 1]
-- [1 2]
define_standard("unique_all", { index = true, inverse = true, counts = true }, { "index", "inverse", "counts" })

-- ---- Membership and sets --------------------------------------------------------------------------------------------

--- Two arguments of np.name in the dtype that they have in common.
local function alike(name, a, b)
    a, b = operands.compared(name, 2, a, b) -- what no array has as an element is in no set
    local function none(x) return shape.cut(np.ravel(x), 0, 0, 0) end
    local dtype = np.where(true, none(a), none(b)).dtype
    return np.astype(a, dtype), np.astype(b, dtype)
end

local FEW = 16 -- values that are sooner compared than looked up

local function is_in(name, x, values, o)
    x, values = alike(name, x, values)
    local result
    if values.size == 0 then
        result = shape.broadcast_to(core.number(0, core.dtype_codes.bool), shape_of(x))
    elseif not core.is_size(values.size) and values.size <= FEW then
        values = np.ravel(values)
        for k = 0, values.size - 1 do
            local same = np.equal(x, core.index(values, k))
            result = result and np.logical_or(result, same) or same
        end
    else
        if core.dtype_of(x).kind == "b" then x, values = np.astype(x, "u8"), np.astype(values, "u8") end
        local sorted = np.sort(np.ravel(values))
        result = np.equal(selects.take(sorted, np.searchsorted(sorted, x), 0), x)
    end
    return o.invert and np.logical_not(result) or result
end

--- np.isin(x, values, {invert=false, assume_unique=false}), np.in1d(x, values, {invert=false, assume_unique=false}):
-- which elements of x are among the values: bools of x's shape; of np.in1d 1-d. NaN is nowhere. Lazy.
--- invert: true tells which elements are not among them
--- assume_unique: nothing is gained by it here; NumPy's and JAX's name
--- > np.isin(np.array{1, 2, 3}, {2, 5}), np.in1d(np.array{1, 2, 3}, {2, 5}, {invert=true})
-- [False  True False]
-- [ True False  True]
for _, name in ipairs { "isin", "in1d" } do
    define(name, function(x, values, given, extra)
        if extra ~= nil then core.too_many(name, 3, extra) end
        local result = is_in(name, x, values, options(name, given, { invert = true, assume_unique = true }))
        return name == "in1d" and np.ravel(result) or result
    end)
end

--- Arguments of which what the result has stands in a: an array beside numbers or a table keeps its dtype.
local function from_first(name, a, b)
    if not is_array(a) or is_array(b) then return alike(name, a, b) end
    return operands.compared(name, 2, a, b)
end

--- Arguments of both of which elements stand in the result.
local function from_both(name, a, b)
    return alike(name, operands.meet(name, 2, a, b))
end

--- Defines np.intersect1d's kin: f(name, a, b) of 1-d arrays with different elements in order, which `prepare` made.
local function define_set(name, prepare, f)
    define(name, function(a, b, given, extra)
        if extra ~= nil then core.too_many(name, 3, extra) end
        options(name, given, { assume_unique = true })
        a, b = prepare(name, a, b)
        return f(name, np.unique(a), np.unique(b))
    end)
end

--- The elements of a, 1-d, that are among those of b, or are not.
local function filtered(name, a, b, invert)
    return selects.take(a, (selects.places(is_in(name, a, b, { invert = invert }))), 0)
end

--- np.intersect1d(a, b, {assume_unique=false, return_indices=false}), np.union1d(a, b), np.setdiff1d(a, b,
-- {assume_unique=false}), np.setxor1d(a, b, {assume_unique=false}): the different elements, in order, that both arrays
-- have, that any of them has, that a has and b does not, that one of them has and not both. 1-d. Waits. Numbers and
-- tables take the dtype of the array beside them.
--- assume_unique: nothing is gained by it here; NumPy's and JAX's name
--- return_indices: true gives two further results: where each is first in a, and in b, flattened
--- > np.intersect1d(np.array{3, 1, 2}, {2, 3, 4}), np.union1d(np.array{3, 1}, {2, 3})
-- [2. 3.]
-- [1. 2. 3.]
--- > np.setdiff1d(np.array{3, 1, 2}, {2, 3, 4}), np.setxor1d(np.array{3, 1, 2}, {2, 3, 4})
-- [1.]
-- [1. 4.]
define("intersect1d", function(a, b, given, extra)
    if extra ~= nil then core.too_many("intersect1d", 3, extra) end
    local o = options("intersect1d", given, { assume_unique = true, return_indices = true })
    a, b = from_first("intersect1d", a, b)
    local in_a, first_a = np.unique(a, { return_index = true })
    local in_b, first_b = np.unique(b, { return_index = true })
    local places = selects.places(is_in("intersect1d", in_a, in_b, {}))
    local values = selects.take(in_a, places, 0)
    if not o.return_indices then return values end
    local there = np.searchsorted(in_b, values)
    if in_b.size > 0 then there = selects.take(first_b, there, 0) end
    return values, selects.take(first_a, places, 0), there
end)
define("union1d", function(a, b, extra)
    if extra ~= nil then core.too_many("union1d", 2, extra) end
    a, b = from_both("union1d", a, b)
    return np.unique(shape.join({ np.ravel(a), np.ravel(b) }, 0))
end)
define_set("setdiff1d", from_first, function(name, a, b) return filtered(name, a, b, true) end)
define_set("setxor1d", from_both, function(name, a, b)
    return np.sort(shape.join({ filtered(name, a, b, true), filtered(name, b, a, true) }, 0))
end)
