--- grids.lua: new arrays of coordinates: grids over several axes, indices of triangles and diagonals, places as one
-- number, spacings by powers, and what a Lua function or iterator gives.
--
-- NumPy's tuples of arrays are several results here: `local x, y = np.meshgrid(a, b)`.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local dtype_codes, shape_of = core.dtype_codes, core.shape_of
local type, abs = type, math.abs

-- ---- Spacings by powers ---------------------------------------------------------------------------------------------

--- Arguments (start, stop, n, options) of a spacing; n and the options are optional.
local function spacing_arguments(name, n, given, known)
    if type(n) == "table" and given == nil then n, given = nil, n end
    return n, options(name, given, known)
end

local function cast(x, name, dtype, fallback)
    local code = core.dtype(name, dtype, fallback)
    return code and np.astype(x, core.dtypes[code].name) or x
end

--- The bounds of np.name as arrays of floats, halves as f32, in the dtype that is asked for if that is wider; whether
-- both were plain numbers, and the half.
local function power_bounds(name, start, stop, asked)
    start, stop = core.plain(start), core.plain(stop)
    local plain = type(start) == "number" and type(stop) == "number"
    if plain then
        return np.array(start, { dtype = "f64" }), np.array(stop, { dtype = "f64" }), true, nil
    end
    local half
    half, start, stop = operands.floats_all(name, nil, 2, start, stop)
    start, stop = np.broadcast_arrays(start, stop)
    local dtype, code = half or core.dtype_of(start).name, core.dtype(name, asked)
    if code and core.dtypes[code].kind == "f" then dtype = np.promote_types(dtype, core.dtypes[code].name) end
    half = core.dtypes[core.dtype_codes[dtype]].half and dtype or nil
    dtype = half and "f32" or dtype
    return np.astype(start, dtype), np.astype(stop, dtype), false, half
end

--- np.logspace(start, stop, n, {endpoint=true, base=10, dtype=…, axis=0}): n numbers (50 without n) from base ^ start
-- to base ^ stop whose logarithms are evenly spaced. start and stop may be arrays, as in np.linspace.
--- endpoint: false leaves base ^ stop out
--- base: what is raised to powers
--- axis: the axis of the result that counts the numbers, for arrays
--- > np.logspace(0, 3, 4), np.logspace(0, 3, 4, {base=2})
-- [   1.   10.  100. 1000.]
-- [1. 2. 4. 8.]
np.logspace = function(start, stop, n, given)
    n, given = spacing_arguments("logspace", n, given, { endpoint = true, base = true, dtype = true, axis = true })
    local base = given.base == nil and 10 or given.base
    local low, high, plain, half = power_bounds("logspace", start, stop, given.dtype)
    local exponents = np.linspace(low, high, n, { endpoint = given.endpoint, axis = given.axis })
    local x = np.pow(base, exponents)
    return cast(half and not given.dtype and np.astype(x, half) or x, "logspace", given.dtype,
                plain and dtype_codes.f32 or nil)
end

--- np.geomspace(start, stop, n, {endpoint=true, dtype=…, axis=0}): n numbers (50 without n) from start to stop, each
-- the one before times the same factor. Both have one sign, and are not 0; the first and the last are exactly these.
-- They may be arrays, as in np.linspace: where their signs differ, or one is 0, what is between them is NaN.
--- endpoint: false leaves stop out
--- axis: the axis of the result that counts the numbers, for arrays
--- > np.geomspace(1, 1000, 4), np.geomspace(-1, -16, 3)
-- [   1.   10.  100. 1000.]
-- [ -1.  -4. -16.]
np.geomspace = function(start, stop, n, given)
    n, given = spacing_arguments("geomspace", n, given, { endpoint = true, dtype = true, axis = true })
    start, stop = core.plain(start), core.plain(stop)
    if type(start) == "number" and type(stop) == "number" and not (start * stop ~= 0 and (start > 0) == (stop > 0)) then
        raise("geomspace", "start and stop must not be 0 and have one sign, got %.14g and %.14g", start, stop)
    end
    local plain, half
    start, stop, plain, half = power_bounds("geomspace", start, stop, given.dtype)
    local sign = np.where(np.logical_or(np.less(start * 0 + stop, 0), np.less(start, 0)), -1, 1)
    local low, high = np.log10(start * sign), np.log10(stop * sign)
    local exponents = np.linspace(low, high, n, { endpoint = given.endpoint, axis = given.axis })
    local axis = core.axis("geomspace", given.axis == nil and 0 or given.axis, core.ndim(exponents))
    local count, along = np.dim(exponents, axis), {}
    for k = 1, core.ndim(exponents) do along[k] = k == axis + 1 and count or 1 end
    local i = shape.reshape(create.iota(count, dtype_codes.i32), along)
    local x = np.pow(10, exponents) * np.expand_dims(sign, axis)
    x = np.where(np.equal(i, 0), np.expand_dims(start, axis), x)
    local sized = core.is_size(count)
    if given.endpoint ~= false and (sized or count > 1) then
        x = np.where(np.equal(i, sized and math.max(count - 1, 1) or count - 1), np.expand_dims(stop, axis), x)
    end
    return cast(half and not given.dtype and np.astype(x, half) or x, "geomspace", given.dtype,
                plain and dtype_codes.f32 or nil)
end

-- ---- Matrices -------------------------------------------------------------------------------------------------------

--- np.identity(n, {dtype="f32"}): the n by n matrix of ones on the diagonal and zeros elsewhere: np.eye(n).
--- > np.identity(2)
-- [[1. 0.]
--  [0. 1.]]
np.identity = function(n, given)
    given = options("identity", given, { dtype = true })
    n = core.integer("identity", 1, "n", n)
    if n < 0 then bad_argument("identity", 1, "n", "an integer from 0 up", n) end
    return np.eye(n, { dtype = given.dtype })
end

--- np.diagflat(x, k): a matrix with all elements of x, in row-major order, on its k-th diagonal (0, the main one,
-- without k).
--- > np.diagflat(np.array{{1, 2}}, 1)
-- [[0. 1. 0.]
--  [0. 0. 2.]
--  [0. 0. 0.]]
define("diagflat", function(x, k)
    return np.diag(np.ravel(coerce("diagflat", 1, x)), core.integer("diagflat", 2, "k", k == nil and 0 or k))
end)

--- np.vander(x, n, {increasing=false}): the matrix whose columns are powers of the 1-d x: x^(n-1), …, x, 1. n is the
-- number of elements without it.
--- increasing: true: 1, x, …, x^(n-1)
--- > np.vander(np.array{1, 2, 3})
-- [[1. 1. 1.]
--  [4. 2. 1.]
--  [9. 3. 1.]]
define("vander", function(x, n, given)
    x = coerce("vander", 1, x)
    if type(n) == "table" and given == nil then n, given = nil, n end
    given = options("vander", given, { increasing = true })
    local dims = shape_of(x)
    if #dims ~= 1 then raise("vander", "argument 1 must have 1 axis, got shape %s", core.shape_text(x)) end
    n = core.integer("vander", 2, "n", n == nil and dims[1] or n)
    if n < 0 then bad_argument("vander", 2, "n", "an integer from 0 up", n) end
    local dtype = core.dtype_of(x)
    if dtype.kind == "b" then x, dtype = np.astype(x, "i32"), core.dtypes[dtype_codes.i32] end
    local first = np.equal(create.iota(n, dtype_codes.i32), 0)
    local factors = np.where(first, core.number(1, dtype.code), shape.reshape(x, { dims[1], 1 }))
    local powers = np.astype(np.cumprod(factors, { axis = 1 }), dtype.name)
    return given.increasing and powers or np.flip(powers, { axis = 1 })
end)

-- ---- Grids ----------------------------------------------------------------------------------------------------------

--- x, 1-d, along axis k (from 1) of an array of `ndim` axes: a view.
local function along(x, k, ndim)
    local dims = {}
    for d = 1, ndim do dims[d] = d == k and x.size or 1 end
    return shape.reshape(x, dims)
end

--- np.meshgrid(first, second, …, {indexing="xy", sparse=false}) -> X, Y, …: for each of the 1-d arrays the array of its
-- coordinate over the grid of all; several results. By "xy" they have a row for each element of the second array and a
-- column for each of the first, as pictures have; by "ij" axis k belongs to argument k.
--- indexing: "xy" or "ij": whether the first two axes are exchanged
--- sparse: true leaves the other axes with extent 1
--- > np.meshgrid(np.arange(3), np.arange(2))
-- [[0 1 2]
--  [0 1 2]]
-- [[0 0 0]
--  [1 1 1]]
function np.meshgrid(...)
    local n, given = select("#", ...), nil
    local arrays = { ... }
    local last = arrays[n]
    if n > 0 and type(last) == "table" and not (last[1] ~= nil and next(last, #last) == nil) then -- no list of numbers
        given, arrays[n], n = arrays[n], nil, n - 1
    end
    given = options("meshgrid", given, { indexing = true, sparse = true })
    local indexing = given.indexing == nil and "xy" or given.indexing
    if indexing ~= "xy" and indexing ~= "ij" then
        bad_argument("meshgrid", nil, "indexing", '"xy" or "ij"', indexing)
    end
    local dims = {}
    for k = 1, n do
        local x = create.operand("meshgrid", k, arrays[k])
        if type(arrays[k]) == "table" and #x.shape > 1 then
            bad_argument("meshgrid", k, "array", "1-d, each array an argument of its own", arrays[k])
        end
        arrays[k] = np.ravel(x)
        dims[k] = arrays[k].size
    end
    local swap = indexing == "xy" and n > 1
    if swap then dims[1], dims[2] = dims[2], dims[1] end
    for k = 1, n do
        arrays[k] = along(arrays[k], swap and k < 3 and 3 - k or k, n)
        if not given.sparse then arrays[k] = shape.broadcast_to(arrays[k], dims) end
    end
    return unpack(arrays, 1, n)
end

--- np.indices({2, 3}, {dtype="i32", sparse=false}): the coordinates of every element of an array of that shape: shape
-- (2, 2, 3), of which [k] has the index along axis k.
--- sparse: true gives a result for each axis, with extent 1 along the other axes
--- > np.indices{2, 2}
-- [[[0 0]
--   [1 1]]
--
--  [[0 1]
--   [0 1]]]
function np.indices(...)
    local dims, given = shape.arguments("indices", ...)
    given = options("indices", given, { dtype = true, sparse = true })
    local code, list = core.dtype("indices", given.dtype, dtype_codes.i32), {}
    for k = 1, #dims do
        list[k] = along(np.arange(dims[k], { dtype = core.dtypes[code].name }), k, #dims)
        if not given.sparse then list[k] = shape.broadcast_to(list[k], dims) end
    end
    if given.sparse then return unpack(list) end
    if #list == 0 then return np.zeros({ 0 }, { dtype = core.dtypes[code].name }) end
    return np.stack(list)
end

--- One range of np.mgrid, a number n, {from, to, step} or the text "from:to:step", as numbers; a step "5j" in the text
-- is a count, with `to` among the numbers.
local function range_of(name, item, place)
    item = core.plain(item)
    if type(item) == "number" or core.is_size(item) then item = { 0, item } end
    if type(item) == "table" and getmetatable(item) == nil then core.list(name, ("range %d"):format(place), item) end
    if type(item) == "string" then
        local from, to, step = item:match "^%s*([^:]*):([^:]*):?([^:]*)$"
        local count = step and step:match "^%s*(%d+)j%s*$"
        if not from then raise(name, "cannot read the range %q; ranges are like 0:5, 0:1:0.25 or 0:1:5j", item) end
        item = { from:match "%S" and tonumber(from) or from:match "%S" or 0, tonumber(to) or to,
                 step:match "%S" and (count and 1 or tonumber(step) or step) or 1, count = tonumber(count) }
    end
    if type(item) ~= "table" then bad_argument(name, place, "range", "a number, a table or a text", item) end
    local from, to, step = item[1] or 0, item[2], item[3] or 1
    from, to, step = core.plain(from), core.plain(to), core.plain(step)
    for _, value in ipairs { from, to == nil and "nothing" or to, step } do
        if type(value) ~= "number" and not core.is_size(value) then
            raise(name, "range %d must be made of numbers, {from, to, step}; got %s", place, core.describe(value))
        end
    end
    return from, to, step, item.count
end

--- The ranges of np.mgrid as 1-d arrays.
local function ranges_of(name, ...)
    local list = { ... }
    if select("#", ...) == 1 and type(list[1]) == "string" then
        local given = list[1]
        list = {}
        for text in (given .. ","):gmatch "([^,]*)," do list[#list + 1] = text end
    end
    if #list == 0 then raise(name, "needs a range, as in np.%s(\"0:3, 0:2\")", name) end
    for k = 1, #list do
        local from, to, step, count = range_of(name, list[k], k)
        list[k] = count and np.linspace(from, to, count) or np.arange(from, to, step)
    end
    return list
end

--- np.mgrid("0:2, 0:3"), np.mgrid({0, 2}, {0, 3}): a grid over ranges, as NumPy's mgrid[0:2, 0:3]: shape (2, 2, 3), of
-- which [k] has the coordinate along axis k. A range is a text "from:to:step", a table {from, to, step} or a number n;
-- a step like "5j" in the text asks for so many numbers, `to` being the last.
--- > np.mgrid("0:2, 0:3")
-- [[[0 0 0]
--   [1 1 1]]
--
--  [[0 1 2]
--   [0 1 2]]]
--- > np.mgrid "0:1:5j"
-- [[0.   0.25 0.5  0.75 1.  ]]
function np.mgrid(...)
    local list = ranges_of("mgrid", ...)
    list[#list + 1] = { indexing = "ij" }
    return np.stack { np.meshgrid(unpack(list)) }
end

--- np.ogrid("0:2, 0:3"), np.ogrid({0, 2}, {0, 3}) -> i, j, …: as np.mgrid, but a result for each range, with extent 1
-- along the other axes: what broadcasts to the grid.
--- > np.ogrid("0:2, 0:3")
-- [[0]
--  [1]]
-- [[0 1 2]]
function np.ogrid(...)
    local list = ranges_of("ogrid", ...)
    list[#list + 1] = { indexing = "ij", sparse = true }
    return np.meshgrid(unpack(list))
end

--- np.fromfunction(f, {2, 3}, {dtype="f32"}): what f gives for the coordinates of all elements of an array of that
-- shape: f is called once, with an array for each axis.
--- > np.fromfunction(function(i, j) return i * 10 + j end, {2, 3}, {dtype="i32"})
-- [[ 0  1  2]
--  [10 11 12]]
np.fromfunction = function(f, dims, given)
    if type(f) ~= "function" then bad_argument("fromfunction", 1, "f", "a function", f) end
    local code = core.dtype("fromfunction", options("fromfunction", given, { dtype = true }).dtype, dtype_codes.f32)
    dims = shape.argument("fromfunction", dims)
    local list = {}
    for k = 1, #dims do
        list[k] = shape.broadcast_to(along(np.arange(dims[k], { dtype = core.dtypes[code].name }), k, #dims), dims)
    end
    return f(unpack(list))
end

--- np.fromiter(next, {dtype=…, count=-1}): a 1-d array of what an iterator gives: a function that is called until it
-- returns nil, such as coroutine.wrap(…), or a list. f32 without a dtype; of booleans alone, bool.
--- count: stop after so many
--- > local n = 0
--- >> print(np.fromiter(function() n = n + 1 return n end, {count=3}))
-- [1. 2. 3.]
np.fromiter = function(iterator, given)
    given = options("fromiter", given, { dtype = true, count = true })
    local count, list = given.count == nil and -1 or core.integer("fromiter", nil, "count", given.count), {}
    local next_one = iterator
    if type(iterator) == "table" then
        local k = 0
        next_one = function()
            k = k + 1
            return iterator[k]
        end
    elseif type(iterator) ~= "function" then
        bad_argument("fromiter", 1, "iterator", "a function or a list", iterator)
    end
    while count < 0 or #list < count do
        local value = next_one()
        if value == nil then break end
        if type(value) ~= "number" and type(value) ~= "boolean" and not core.integer64(value)
            and not core.complex.is(value) then
            raise("fromiter", "item %d must be a number or a boolean, got %s", #list + 1, core.describe(value))
        end
        list[#list + 1] = value
    end
    if #list < count then raise("fromiter", "the iterator ended after %d of %d items", #list, count) end
    if #list == 0 then return np.zeros({ 0 }, { dtype = given.dtype }) end
    return np.array(list, { dtype = given.dtype })
end

-- ---- Indices --------------------------------------------------------------------------------------------------------

local MOST_ROWS = 2 ^ 24 -- whose indices are listed one by one

local function count_argument(name, position, what, n)
    n = core.integer(name, position, what, n)
    if n < 0 or n > MOST_ROWS then
        bad_argument(name, position, what, ("an integer from 0 to %d"):format(MOST_ROWS), n)
    end
    return n
end

--- The sum of 1, 2, … up to n, of which none counts more than `most`.
local function sum_up_to(n, most)
    local whole = math.max(0, math.min(n, most))
    return math.floor((whole * whole + whole) / 2) + math.max(0, n - most) * most
end

--- Rows and columns of a triangle of an n by m matrix where extents are sizes: what is not 0 in ones of that form.
local function sized_triangle(n, m, k, upper)
    if upper then k = k - 1 end
    local below, mask = sum_up_to(n + k, m) - sum_up_to(k, m), np.tri(n, m, k, { dtype = "bool" })
    if upper then return np.nonzero(np.logical_not(mask), { size = n * m - below }) end
    return np.nonzero(mask, { size = below })
end

--- Rows and columns of the elements of an n by m matrix that stand in columns first(i) … last(i) of row i.
local function triangle(name, n, m, k, first, last)
    n = count_argument(name, 1, "n", n)
    k = core.integer(name, 2, "k", k == nil and 0 or k)
    m = count_argument(name, 3, "m", m == nil and n or m)
    if core.is_size(n) or core.is_size(m) or core.is_size(k) then
        return sized_triangle(n, m, k, name == "triu_indices")
    end
    local total, from, to = 0, {}, {}
    for i = 0, n - 1 do
        from[i], to[i] = math.max(0, first(i, k)), math.min(m - 1, last(i, k, m))
        total = total + math.max(0, to[i] - from[i] + 1)
    end
    if total > 2 ^ 30 then raise(name, "%.0f elements are too many", total) end
    local function indices(of_row)
        return create.literal(core.fill(dtype_codes.i32, { total }, function(data)
            local at = 0
            for i = 0, n - 1 do
                for j = from[i], to[i] do
                    data[at] = of_row and i or j
                    at = at + 1
                end
            end
        end, "int32_t *"))
    end
    return indices(true), indices(false)
end

--- np.tril_indices(n, k, m) -> i, j: rows and columns (i32) of the elements on and below the k-th diagonal of an n by m
-- matrix; k is 0 and m is n without them.
--- > np.tril_indices(2)
-- [0 1 1]
-- [0 0 1]
np.tril_indices = function(n, k, m)
    return triangle("tril_indices", n, m, k, function() return 0 end, function(i, d) return i + d end)
end

--- np.triu_indices(n, k, m) -> i, j: rows and columns (i32) of the elements on and above the k-th diagonal of an n by m
-- matrix; k is 0 and m is n without them.
--- > np.triu_indices(2)
-- [0 0 1]
-- [0 1 1]
np.triu_indices = function(n, k, m)
    return triangle("triu_indices", n, m, k, function(i, d) return i + d end,
                    function(_, _, width) return width - 1 end)
end

--- np.diag_indices(n, ndim) -> i, j, …: the indices of the diagonal of an array of ndim axes (2 without it) of extent
-- n: ndim times 0 … n-1; several results.
--- > np.diag_indices(3)
-- [0 1 2]
-- [0 1 2]
np.diag_indices = function(n, ndim)
    n = count_argument("diag_indices", 1, "n", n)
    ndim = count_argument("diag_indices", 2, "ndim", ndim == nil and 2 or ndim)
    if ndim > core.MAX_DIMS then raise("diag_indices", "at most %d axes, got %d", core.MAX_DIMS, ndim) end
    local list = {}
    for k = 1, ndim do list[k] = create.iota(n, dtype_codes.i32) end
    return unpack(list)
end

local function whole(name, position, x)
    local code = core.dtype_of(x)
    if not code.lowest then
        core.not_integers(name, "argument " .. position, code)
    end
    return x
end

--- Integers of a user: an array, a Lua number or nested tables of them.
local function integers(name, position, value)
    value = core.plain(value)
    if type(value) == "number" then
        value = core.integer(name, position, "indices", value)
        return create.integers({ value }, {}, abs(value) >= 2 ^ 31), true
    elseif type(value) == "table" then
        return np.array(value, { dtype = "i64" }), true
    end
    return whole(name, position, coerce(name, position, value)), false
end

--- The dtype of places in an array of so many elements.
local function place_dtype(size)
    return size < 2 ^ 31 and "i32" or "i64"
end

--- Integers in a dtype that has at least as many bytes as places have: bounds of axes can meet them then.
local function widened(index, size)
    local dtype = place_dtype(size)
    return core.dtype_of(index).bytes < (dtype == "i32" and 4 or 8) and np.astype(index, dtype) or index
end

--- np.unravel_index(places, {2, 3}) -> i, j, …: the coordinates, in an array of that shape, of elements counted in
-- row-major order; a result for each axis. Negative places count from the end; those of an array that are out of range
-- become the nearest end, for a Lua number that is an error.
--- > np.unravel_index(np.array({0, 5}, {dtype="i32"}), {2, 3})
-- [0 1]
-- [0 2]
np.unravel_index = function(places, dims)
    dims = shape.argument("unravel_index", dims)
    local size = shape.product(dims)
    places = core.plain(places)
    if type(places) == "number" and (places < -size or places >= size) then
        raise("unravel_index", "index %.14g is out of range for shape %s of %d elements", places, core.shape_text(dims),
              size)
    end
    places = integers("unravel_index", 1, places)
    places = widened(places, size)
    if core.dtype_of(places).kind == "i" then places = np.where(np.less(places, 0), places + size, places) end
    places = np.clip(places, 0, math.max(size - 1, 0))
    local results = {}
    for axis = #dims, 1, -1 do
        results[axis] = axis == 1 and places or np.remainder(places, dims[axis])
        if axis > 1 then places = np.floor_divide(places, dims[axis]) end
    end
    return unpack(results)
end

local modes = { clip = true, wrap = true }

--- np.ravel_multi_index({i, j}, {2, 3}, {mode="clip"}): the places in row-major order, of an array of that shape, of
-- elements given by their coordinates: an array or a number for each axis. Coordinates out of range become the nearest
-- end, or are wrapped around; for Lua numbers without a mode that is an error.
--- mode: "clip" or "wrap"
--- > np.ravel_multi_index({np.array({0, 1}, {dtype="i32"}), np.array({0, 2}, {dtype="i32"})}, {2, 3})
-- [0 5]
np.ravel_multi_index = function(list, dims, given)
    dims = shape.argument("ravel_multi_index", dims)
    local mode = options("ravel_multi_index", given, { mode = true }).mode
    if mode ~= nil and not modes[mode] then
        bad_argument("ravel_multi_index", nil, "mode", '"clip" or "wrap"', mode)
    end
    if type(list) ~= "table" or #list ~= #dims or #dims == 0 then
        raise("ravel_multi_index", "argument 1 must be a table of %d arrays, one for each axis of shape %s; got %s",
              #dims, core.shape_text(dims),
              type(list) == "table" and ("a table of %d"):format(#list) or core.describe(list))
    end
    core.list("ravel_multi_index", "the table of arrays", list)
    local dtype = place_dtype(shape.product(dims))
    local place
    for k = 1, #dims do
        local index, n = core.plain(list[k]), dims[k]
        if mode == nil and type(index) == "number" and (index < 0 or index >= n) then
            raise("ravel_multi_index", "index %.14g is out of range for axis %d of extent %d", index, k - 1, n)
        end
        index = integers("ravel_multi_index", 1, index)
        index = widened(index, shape.product(dims))
        index = mode == "wrap" and np.remainder(index, n) or np.clip(index, 0, math.max(n - 1, 0))
        index = np.astype(index, dtype)
        place = place and place * n + index or index
    end
    return place
end


