--- convert.lua: sparse arrays in other formats, as dense arrays, transposed; rows of sparse arrays.
--
-- csr and csc exchange the order by the op sparse_transpose (lazy/ops/sparse_places.c), a stable sort, so elements of a
-- row stay in the order of columns, and the number of elements stays. An array made of coo has one element for each
-- place, the sum of the elements that stood there, in order: the number of places depends on values.
local core = require "neap.core"
local value = require "neap.sparse.value"

local np = core.np
local is_array, raise, shape_of, attrs = core.is_array, core.raise, core.shape_of, core.attrs
local methods, fields, operators = value.methods, value.fields, value.operators

local convert = {}

--- The line (row of csr, column of csc) of each stored element, i32.
local function lines_of(A)
    local numbers = np.arange(A.data.size)
    return np.searchsorted(A.indptr, numbers, { side = "right" }) - 1
end

--- The rows and columns of the stored elements.
local function places_of(A)
    local format = value.form(A)
    if format == "coo" then return A.row, A.col end
    if format == "csr" then return lines_of(A), A.indices end
    return A.indices, lines_of(A)
end
convert.places_of = places_of

--- Where lines 0 … count - 1 begin among sorted numbers of lines, and where the last line ends.
local function starts_of(sorted, count)
    return np.searchsorted(sorted, np.arange(count + 1))
end

--- The numbers of places, counted row by row, i64.
local function keys_of(first, second, width) return np.astype(first, "i64") * width + second end

--- Elements (first, second) in lines of `first`, one for each place: returns data, second, starts.
local function summed(data, first, second, lines, width)
    local n = data.size
    local keys = keys_of(first, second, width)
    if n < 2 or np.all(np.greater(keys[{ { 1 } }], keys[{ { 0, n - 1 } }])):item() then -- they are in order
        return data, second, starts_of(first, lines)
    end
    local order = np.argsort(keys)
    keys, data = np.take(keys, order), np.take(data, order)
    local changes = np.not_equal(keys[{ { 1 } }], keys[{ { 0, n - 1 } }])
    local labels = np.concatenate { np.zeros({ 1 }, { dtype = "i32" }), np.cumsum(np.astype(changes, "i32")) }
    local count = labels[-1]:item() + 1
    if count < n then
        local dtype = data.dtype
        data = np.astype(np.segment_sum(data, labels, count), dtype)
        keys = np.take(keys, np.searchsorted(labels, np.arange(count)))
    end
    local line = np.astype(np.floor_divide(keys, width), "i32")
    return data, np.astype(keys - np.astype(line, "i64") * width, "i32"), starts_of(line, lines)
end

--- A sparse array of elements at rows and columns, in a format; elements of one place are added up, but in coo.
function convert.assemble(format, rows, columns, data, row, col)
    if format == "coo" then return value.new("coo", rows, columns, data, row, col) end
    if format == "csr" then
        return value.new("csr", rows, columns, summed(data, row, col, rows, math.max(columns, 1)))
    end
    return value.new("csc", rows, columns, summed(data, col, row, columns, math.max(rows, 1)))
end

--- A sparse array without elements.
function convert.nothing(format, rows, columns, dtype)
    local none = np.zeros({ 0 }, { dtype = "i32" })
    return convert.assemble(format, rows, columns, np.zeros({ 0 }, { dtype = dtype }), none, none)
end

--- csr as csc, or the other way round: `lines` is how many there will be.
local function exchanged(A, lines)
    attrs[0] = lines
    local packed = core.recordn(core.ids.sparse_transpose, { A.indices, A.indptr }, 2, 1)
    local first, last = lines + 1, lines + 1 + A.data.size
    return np.take(A.data, packed[{ { last, nil } }]), packed[{ { first, last } }], packed[{ { 0, first } }]
end

--- A in a format.
local function converted(name, A, format)
    local own, rows, columns = value.form(A)
    if own == format then return A end
    if format == "coo" then return value.new("coo", rows, columns, A.data, places_of(A)) end
    if own == "coo" then
        value.need_known(name, A, "how many elements there are, as those of one place are added up,")
        return convert.assemble(format, rows, columns, A.data, A.row, A.col)
    end
    return value.new(format, rows, columns, exchanged(A, format == "csr" and rows or columns))
end

--- Argument `position` of np.name as a sparse array in a format; of dense arrays and tables, too.
function convert.to(name, position, x, format)
    if value.is(x) then return format and converted(name, x, format) or x end
    return convert.of_dense(name, position, x, format or "csr")
end

--- sparse:tocsr(), sparse:tocsc(), sparse:tocoo() -> sparse array: the same array in another format. Elements of one
-- place of a coo_array are added up, after waiting for the places; csr and csc store as many elements as before.
--- > A = np.sparse.coo_array{data={1, 2, 3}, row={0, 2, 0}, col={1, 0, 1}}
--- > A:tocsr()
-- csr_array of shape (3, 2), f32, 2 stored elements
--   (0, 1)  4.0
--   (2, 0)  2.0
for format in pairs(value.PARTS) do
    methods["to" .. format] = function(A)
        value.check("sparse.to" .. format, 1, A)
        return converted("sparse.to" .. format, A, format)
    end
end

--- A sparse array of the elements of a dense matrix that are not 0.
function convert.of_dense(name, position, x, format, dtype)
    if type(x) == "table" and getmetatable(x) == nil then x = np.array(x, { dtype = dtype }) end
    if not is_array(x) then
        raise(name, "argument %d must be a 2-d array, a sparse array or a table, got %s", position, core.describe(x))
    end
    if core.ndim(x) ~= 2 then
        raise(name, "argument %d must have 2 axes, got shape %s", position, core.shape_text(x))
    end
    if core.info(x).traced ~= 0 then
        raise(name, "how many elements of argument %d are not 0 is not known while tracing; make the sparse array "
              .. "before, or of parts: {data=…, indices=…, indptr=…, shape=…}", position)
    end
    local dims = shape_of(x)
    if dtype then x = np.astype(x, dtype) end
    local row, col = np.nonzero(x)
    row, col = np.astype(row, "i32"), np.astype(col, "i32")
    local data = np.take(np.reshape(x, -1), np.astype(row, "i64") * dims[2] + col)
    if format == "coo" then return value.new("coo", dims[1], dims[2], data, row, col) end
    local A = value.new("csr", dims[1], dims[2], data, col, starts_of(row, dims[1]))
    return format == "csr" and A or converted(name, A, format)
end

--- sparse:toarray(), sparse:todense(): the dense array. Elements of one place are added up, in order.
--- > np.sparse.eye(2, 3):toarray()
-- [[1. 0. 0.]
--  [0. 1. 0.]]
function methods.toarray(A)
    local _, rows, columns = value.check("sparse.toarray", 1, A)
    local row, col = places_of(A)
    local data, dtype = A.data, A.data.dtype
    if rows * columns == 0 then return np.zeros({ rows, columns }, { dtype = dtype }) end
    if dtype == "bool" then data = np.astype(data, "i32") end
    local flat = np.zeros({ rows * columns }, { dtype = data.dtype }):at { keys_of(row, col, columns) }:add(data)
    return np.astype(np.reshape(flat, rows, columns), dtype)
end
methods.todense = methods.toarray

local TURNED = { csr = "csc", csc = "csr", coo = "coo" }

--- sparse.T, sparse:transpose() -> sparse array: rows and columns exchanged. The elements stay where they are stored:
-- a csr_array becomes a csc_array.
--- > np.sparse.csr_array{{0, 1, 0}, {2, 0, 0}}.T
-- csc_array of shape (3, 2), f32, 2 stored elements
--   (1, 0)  1.0
--   (0, 1)  2.0
function methods.transpose(A)
    local format, rows, columns = value.check("sparse.transpose", 1, A)
    if format == "coo" then return value.new("coo", columns, rows, A.data, A.col, A.row) end
    return value.new(TURNED[format], columns, rows, A.data, A.indices, A.indptr)
end
fields.T = methods.transpose

--- sparse:astype(dtype) -> sparse array: the elements in another dtype.
--- > np.sparse.eye(2):astype("f64").dtype
-- f64
function methods.astype(A, dtype)
    value.check("sparse.astype", 1, A)
    return value.with_data(A, np.astype(A.data, dtype))
end

-- ---- Rows -----------------------------------------------------------------------------------------------------------

--- The numbers of the rows that an index names, a 1-d array.
local function numbers_of(key, rows)
    local name = "sparse.index"
    if type(core.plain(key)) == "number" then
        local row = core.integer(name, nil, "row", core.plain(key), -rows, rows - 1)
        return np.array({ row % rows }, { dtype = "i32" })
    end
    if type(key) == "table" and getmetatable(key) == nil and #key == 1 and type(key[1]) == "table" then
        return np.arange(rows)[key] -- a range of rows, as that of elements of an array
    end
    if not is_array(key) or core.ndim(key) ~= 1 then
        raise(name, "an index of a sparse array is a row, A[2], a range of rows, A[{ {1, 3} }], or a 1-d array of "
              .. "rows; got %s", core.describe(key))
    end
    local kind = core.dtype_of(key).kind
    if kind == "b" then return np.astype(np.arange(rows)[key], "i32") end
    if kind ~= "i" and kind ~= "u" then core.not_integers(name, "the array of rows", core.dtype_of(key)) end
    if key.size == 0 then return np.astype(key, "i32") end
    local least, most = np.min(key):item(), np.max(key):item()
    if least < -rows or most >= rows then
        raise(name, "row %d is out of range for %d rows", least < -rows and least or most, rows)
    end
    return np.astype(np.where(np.less(key, 0), key + rows, key), "i32")
end

--- Places in the stored elements of lines that begin at `starts` and have `lengths` elements, line after line, and for
-- each place the number of the line in the list. total: the sum of the lengths.
local function spread(starts, lengths, total)
    local ends = np.cumsum(lengths)
    local numbers = np.arange(total)
    local line = np.searchsorted(ends, numbers, { side = "right" })
    return np.take(starts - (ends - lengths), line) + numbers, line
end

--- sparse[i], sparse[{ {from, to} }], sparse[rows] -> sparse array: one row, a range of rows, or those that an array
-- names, as a csr_array with as many rows. Waits for the places.
--- > A = np.sparse.csr_array{{0, 1, 0}, {2, 0, 0}, {0, 0, 3}}
--- > A[1]:toarray(), A[{ {1, 3} }].nnz, A[np.array({2, 0}, {dtype="i32"})]:toarray()
-- [[2. 0. 0.]]
-- 2
-- [[0. 0. 3.]
--  [0. 1. 0.]]
function value.rows(A, key)
    local _, rows, columns = value.form(A)
    value.need_known("sparse.index", A, "how many elements rows have")
    local csr = converted("sparse.index", A, "csr")
    local numbers = numbers_of(key, rows)
    local count = numbers.size
    local starts = np.take(csr.indptr, numbers)
    local lengths = np.take(csr.indptr, numbers + 1) - starts
    local ends = np.concatenate { np.zeros({ 1 }, { dtype = "i32" }), np.cumsum(lengths) }
    local total = count > 0 and ends[-1]:item() or 0
    if total == 0 then
        return value.new("csr", count, columns, csr.data[{ { 0, 0 } }], csr.indices[{ { 0, 0 } }], ends)
    end
    local places = spread(starts, lengths, total)
    return value.new("csr", count, columns, np.take(csr.data, places), np.take(csr.indices, places), ends)
end

for _, f in ipairs { value.rows, converted, convert.assemble } do jit.off(f) end
operators.__unm = function(A) return value.with_data(A, -A.data) end

return convert
