--- indices.lua: places in arrays: indices of open grids, diagonals and triangles, loops over indices, and arrays with
-- other values at the places of a mask.
local core = require "neap.core"
local create = require "neap.arrays.create"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, is_array, type = core.shape_of, core.is_array, type

-- ---- Indices --------------------------------------------------------------------------------------------------------

--- np.ix_(rows, columns, …) -> i, j, …: index arrays for a part that crosses 1-d arrays of indices or bools (those
-- wait): x[{np.ix_(rows, columns)}] is what they cross in. Several results, the k-th along axis k.
--- > x = np.arange(12):reshape(3, 4)
--- > x[{np.ix_({0, 2}, {1, 3})}]
-- [[ 1  3]
--  [ 9 11]]
function np.ix_(...)
    local list, n = {}, select("#", ...)
    for k = 1, n do
        local x = select(k, ...)
        if type(x) == "table" and type(x[1]) == "number" then x = np.array(x, { dtype = "i32" }) end
        x = create.operand("ix_", k, x)
        if core.ndim(x) ~= 1 then raise("ix_", "argument %d must be 1-d, got shape %s", k, core.shape_text(x)) end
        if core.dtype_of(x).kind == "b" then x = np.nonzero(x) end
        local dims = {}
        for axis = 1, n do dims[axis] = axis == k and shape_of(x)[1] or 1 end
        list[k] = shape.reshape(x, dims)
    end
    return unpack(list, 1, n)
end

--- The extents of argument 1 of np.name, a 2-d array.
local function matrix(name, x)
    x = coerce(name, 1, x)
    local dims = shape_of(x)
    if #dims ~= 2 then raise(name, "needs 2 axes, got shape %s", core.shape_text(x)) end
    return dims[1], dims[2]
end

--- np.tril_indices_from(x, k), np.triu_indices_from(x, k) -> i, j: np.tril_indices, np.triu_indices for the shape of x,
-- which has two axes.
--- > np.tril_indices_from(np.ones{2, 2})
-- [0 1 1]
-- [0 0 1]
--- > np.triu_indices_from(np.ones{2, 2}, 1)
-- [0]
-- [1]
define("tril_indices_from", function(x, k)
    local n, m = matrix("tril_indices_from", x)
    return np.tril_indices(n, k, m)
end)
define("triu_indices_from", function(x, k)
    local n, m = matrix("triu_indices_from", x)
    return np.triu_indices(n, k, m)
end)

--- np.diag_indices_from(x) -> i, j, …: np.diag_indices for x, which has at least two axes, all of one extent.
--- > np.diag_indices_from(np.ones{2, 2})
-- [0 1]
-- [0 1]
define("diag_indices_from", function(x)
    x = coerce("diag_indices_from", 1, x)
    local dims = shape_of(x)
    if #dims < 2 then raise("diag_indices_from", "needs at least 2 axes, got shape %s", core.shape_text(x)) end
    for k = 2, #dims do
        if dims[k] ~= dims[1] then
            raise("diag_indices_from", "all axes must have one extent, got shape %s", core.shape_text(x))
        end
    end
    return np.diag_indices(dims[1], #dims)
end)

--- np.mask_indices(n, f, k) -> i, j: rows and columns of what f(m, k) leaves of an n by n matrix of ones m; f is
-- np.triu or its kin, k 0 without it. Waits.
--- > np.mask_indices(2, np.triu)
-- [0 0 1]
-- [0 1 1]
function np.mask_indices(n, f, k)
    n = core.integer("mask_indices", 1, "n", n, 0)
    if type(f) ~= "function" then bad_argument("mask_indices", 2, "f", "a function such as np.triu", f) end
    return np.nonzero(f(np.ones({ n, n }, { dtype = "i32" }), k == nil and 0 or k))
end

-- ---- Loops ----------------------------------------------------------------------------------------------------------

--- The index after `index` in row-major order, in a table of its own; nil behind the last one.
local function following(index, dims)
    local result = {}
    for k = 1, #dims do result[k] = index[k] end
    for k = #dims, 1, -1 do
        result[k] = result[k] + 1
        if result[k] < dims[k] then return result end
        result[k] = 0
    end
end

--- A function that gives the indices of a shape in turn, and with `values` a value beside each.
local function indices_of(dims, values)
    local index, at = {}, 0
    for k = 1, #dims do index[k] = 0 end
    local upcoming = shape.product(dims) > 0 and index or nil
    return function()
        local now = upcoming
        if not now then return nil end
        upcoming, at = following(now, dims), at + 1
        return now, values and values[at]
    end
end

--- np.ndindex({2, 3}), np.ndindex(2, 3) -> iterator: for a loop over all indices of a shape in row-major order, each a
-- table of integers from 0.
--- > for i in np.ndindex(2, 2) do print(i[1], i[2]) end
-- 0	0
-- 0	1
-- 1	0
-- 1	1
function np.ndindex(...)
    local dims, given = shape.arguments("ndindex", ...)
    if given ~= nil then core.options("ndindex", given, {}) end
    return indices_of(dims)
end

--- np.ndenumerate(x) -> iterator: for a loop over the elements of x in row-major order: index and value. Waits.
--- > for i, value in np.ndenumerate(np.array{{1, 2}}) do print(i[1], i[2], value) end
-- 0	0	1
-- 0	1	2
define("ndenumerate", function(x)
    x = create.operand("ndenumerate", 1, x)
    return indices_of(shape_of(x), np.ravel(x):totable())
end)

-- ---- Values at places -----------------------------------------------------------------------------------------------

--- Arguments (x, mask, values) of np.name: as arrays, the mask of x's shape, values 1-d and of x's dtype, at least one.
local function masked_arguments(name, x, mask, values)
    if not is_array(x) then x = operands.meet(name, 2, x, values) end
    mask = np.astype(create.operand(name, 2, mask), "bool")
    if mask.size ~= x.size then
        raise(name, "argument 2 must have as many elements as x, %d, got shape %s", x.size, core.shape_text(mask))
    end
    values = np.ravel(create.value(name, values, core.dtype_of(x).code))
    if values.size == 0 then raise(name, "argument 3 (values) has no elements") end
    return x, np.reshape(mask, shape_of(x)), values
end

--- np.place(x, mask, values): x with the values in turn at the places where the mask is true, from the first one again
-- when they end. Arrays are cast to x's dtype, which has to have numbers. (NumPy's changes x.)
--- > np.place(np.arange(5), np.arange(5):gt(1), {7, 8})
-- [0 1 7 8 7]
define("place", function(x, mask, values)
    x, mask, values = masked_arguments("place", x, mask, values)
    local rank = np.reshape(np.cumsum(np.astype(np.ravel(mask), "i32")) - 1, shape_of(x))
    return np.where(mask, np.take(values, np.maximum(rank, 0) % values.size), x)
end)

--- np.putmask(x, mask, values): x with the element of values at its own place, counted in row-major order and from the
-- first one again when they end, where the mask is true. (NumPy's changes x.)
--- > np.putmask(np.arange(5), np.arange(5):gt(1), {7, 8})
-- [0 1 7 8 7]
define("putmask", function(x, mask, values)
    x, mask, values = masked_arguments("putmask", x, mask, values)
    return np.where(mask, np.resize(values, shape_of(x)), x)
end)

--- np.fill_diagonal(x, value, {wrap=false}): x with other values along its main diagonal: a number, which x's dtype
-- has, or an array whose elements are taken in turn. x has two axes, or more that are all of one extent. (NumPy's
-- changes x.)
--- wrap: true goes on below the square part of matrices of more rows than columns, a row apart
--- > np.fill_diagonal(np.zeros{3, 3}, np.array{1, 2, 3})
-- [[1. 0. 0.]
--  [0. 2. 0.]
--  [0. 0. 3.]]
define("fill_diagonal", function(x, value, given)
    local wrap = options("fill_diagonal", given, { wrap = true }).wrap
    if not is_array(x) then x = operands.meet("fill_diagonal", 2, x, value) end
    local dims, step, every = shape_of(x), 1, 1
    if #dims < 2 then raise("fill_diagonal", "needs at least 2 axes, got shape %s", core.shape_text(x)) end
    for k = #dims, 2, -1 do
        if #dims > 2 and dims[k] ~= dims[1] then
            raise("fill_diagonal", "all axes must have one extent, got shape %s", core.shape_text(x))
        end
        every = every * dims[k]
        step = step + every
    end
    value = np.ravel(create.value("fill_diagonal", value, core.dtype_of(x).code))
    if value.size == 0 then raise("fill_diagonal", "argument 2 (value) has no elements") end
    if x.size == 0 then return x end
    local i = np.reshape(np.arange(x.size), dims)
    local on = np.equal(i % step, 0)
    if #dims == 2 and not wrap then on = np.logical_and(on, np.less(i, dims[2] * dims[2])) end
    return np.where(on, np.take(value, np.floor_divide(i, step) % value.size), x)
end)
