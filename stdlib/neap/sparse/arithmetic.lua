--- arithmetic.lua: products, sums, reductions and operators of sparse arrays.
--
-- The product with a dense array is the op sparse_product (lazy/ops/sparse.c), for csr_array by the matrix, for
-- csc_array by the transpose of the same arrays read as rows. Sums and products of two sparse arrays are ops of
-- lazy/ops/sparse_places.c, which find out where they have elements, and of sparse_pairs.c, which compute these. Terms
-- are added in the order in which elements are stored.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local value = require "neap.sparse.value"
local convert = require "neap.sparse.convert"

local np = core.np
local is_array, raise, attrs = core.is_array, core.raise, core.attrs
local methods, operators = value.methods, value.operators

-- ---- Products -------------------------------------------------------------------------------------------------------

--- Two arrays of the common dtype; bools count as i32.
local function promoted(a, b)
    local dtype = np.result_type(a, b)
    if dtype == "bool" then dtype = "i32" end
    return np.astype(a, dtype), np.astype(b, dtype)
end

--- A table as an array of a dtype that meets A's.
local function beside(name, A, x)
    if type(x) ~= "table" or getmetatable(x) ~= nil then return x end
    return operands.beside(name, 2, x, core.dtype_of(A.data))
end

--- The product of the matrix whose rows the arrays of A are, or its transpose, and x of shape (n, k).
local function product(A, x, columns, transposed)
    local data, dense = promoted(A.data, x)
    attrs[0], attrs[1] = columns, transposed and 1 or 0
    return core.recordn(core.ids.sparse_product, { data, dense, A.indices, A.indptr }, 4, 2)
end

--- A times x of shape (n, k).
local function times_dense(A, x)
    local format, rows, columns = value.form(A)
    if format == "csr" then return product(A, x, columns, false) end
    if format == "csc" then return product(A, x, rows, true) end
    local data, dense = promoted(A.data, x)
    if A.data.size == 0 then return np.zeros({ rows, x.shape[2] }, { dtype = data.dtype }) end
    return np.segment_sum(np.reshape(data, -1, 1) * np.take(dense, A.col, { axis = 0 }), A.row, rows)
end

local MANY = 2 ^ 22 -- columns

--- The indices of A and B, which are stored by rows, and how many columns the sum or the product has: columns that are
-- far more than elements are numbered anew, as scratch is in proportion to them; then also their old numbers.
local function numbered(A, B, columns, is_product)
    if columns <= MANY or columns < 16 * (A.nnz + B.nnz) or B.nnz == 0 then return A.indices, B.indices, columns end
    local all = is_product and B.indices or np.concatenate { A.indices, B.indices }
    local used, numbers = np.unique(all, { return_inverse = true })
    numbers = np.astype(numbers, "i32")
    if is_product then return A.indices, numbers, used.size, used end
    return numbers[{ { 0, A.nnz } }], numbers[{ { A.nnz, nil } }], used.size, used
end

--- A + B, or A times B, stored by rows, with elements `data` and `other`: elements, indices and indptr. Waits for the
-- number of elements.
local function joined(name, A, B, columns, is_product, data, other)
    local a, b, width, used = numbered(A, B, columns, is_product)
    local places = { a, A.indptr, b, B.indptr }
    attrs[0], attrs[1] = width, is_product and 1 or 0
    local starts = core.recordn(core.ids.sparse_starts, places, 4, 2)
    local count = tonumber(starts[-1]:item())
    if count > value.MOST then raise(name, "the result has %.0f elements, more than %d", count, value.MOST) end
    starts = np.astype(starts, "i32")
    places[5] = starts
    attrs[0], attrs[1], attrs[2] = width, is_product and 1 or 0, count
    local indices = core.recordn(core.ids.sparse_columns, places, 5, 3)
    if is_product then
        attrs[0], attrs[1] = width, 2 -- by the third matrix, which is the product
        data = core.recordn(core.ids.sparse_matmul, { data, other, a, A.indptr, b, B.indptr, indices, starts }, 8, 2)
    else
        attrs[0] = width
        data = core.recordn(core.ids.sparse_collect, { data, a, A.indptr, other, b, B.indptr, indices, starts }, 8, 1)
    end
    return data, used and np.take(used, indices) or indices, starts
end

--- A times B, both sparse, as a csr_array.
local function times_sparse(name, A, B)
    value.need_known(name, A, "how many elements a product of sparse arrays has")
    value.need_known(name, B, "how many elements a product of sparse arrays has")
    A, B = convert.to(name, 1, A, "csr"), convert.to(name, 2, B, "csr")
    local _, rows = value.form(A)
    local _, _, columns = value.form(B)
    return value.new("csr", rows, columns, joined(name, A, B, columns, true, promoted(A.data, B.data)))
end

local function check_inner(name, columns, dims)
    if dims[1] ~= columns then
        raise(name, "%d columns times %d rows", columns, dims[1])
    end
end

--- sparse:dot(x), sparse:matmul(x): the product with a dense vector or matrix, a dense array; with a sparse array a
-- csr_array. Terms are added in the order in which the elements are stored, on any number of workers; halves are
-- added in f32. Derivatives are by the elements and by x. The product of two sparse arrays waits for the places.
--- > A = np.sparse.csr_array{{1, 2}, {0, 3}}
--- > A:dot(np.array{1, 10}), A:dot(np.eye(2))
-- [21. 30.]
-- [[1. 2.]
--  [0. 3.]]
--- > A:dot(A):toarray()
-- [[1. 8.]
--  [0. 9.]]
function methods.dot(A, x)
    local name = "sparse.dot"
    local _, _, columns = value.check(name, 1, A)
    if value.is(x) then
        check_inner(name, columns, x.shape)
        return times_sparse(name, A, x)
    end
    x = beside(name, A, x)
    if not is_array(x) then
        core.bad_argument(name, 2, "x", "an array or a sparse array (A * 2 multiplies elements)", x)
    end
    local dims = core.shape_of(x)
    if #dims ~= 1 and #dims ~= 2 then
        raise(name, "argument 2 (x) must have 1 or 2 axes, got shape %s", core.shape_text(x))
    end
    check_inner(name, columns, dims)
    if #dims == 2 then return times_dense(A, x) end
    return np.reshape(times_dense(A, np.reshape(x, -1, 1)), -1)
end
methods.matmul = methods.dot

-- ---- Element by element ---------------------------------------------------------------------------------------------

local function check_same(name, A, B)
    local _, rows, columns = value.form(A)
    local _, other_rows, other_columns = value.form(B)
    if rows ~= other_rows or columns ~= other_columns then
        raise(name, "shapes (%d, %d) and (%d, %d) differ", rows, columns, other_rows, other_columns)
    end
end

--- A + B, or A - B, in A's format.
local function added(name, A, B, sign)
    if not value.is(A) or not value.is(B) then
        raise(name, "a sparse array is added to sparse arrays, got %s; A:toarray() makes a dense one",
              core.describe(value.is(A) and B or A))
    end
    check_same(name, A, B)
    value.need_known(name, A, "how many elements a sum has")
    value.need_known(name, B, "how many elements a sum has")
    local format, rows, columns = value.form(A)
    local is_coo = format == "coo" or value.form(B) == "coo"
    if not is_coo then B = convert.to(name, 2, B, format) end
    local data, other = promoted(A.data, B.data)
    if sign < 0 then other = -other end
    if not is_coo then
        return value.new(format, rows, columns,
                         joined(name, A, B, format == "csr" and columns or rows, false, data, other))
    end
    local row, col = convert.places_of(A)
    local other_row, other_col = convert.places_of(B)
    return convert.assemble(format, rows, columns, np.concatenate { data, other }, np.concatenate { row, other_row },
                            np.concatenate { col, other_col })
end

function operators.__add(A, B) return added("sparse.add", A, B, 1) end
function operators.__sub(A, B) return added("sparse.subtract", A, B, -1) end

--- The elements of a dense array that broadcasts to A's shape, at A's places.
local function at_places(name, A, x)
    local _, rows, columns = value.form(A)
    local dims = core.shape_of(x)
    local m, n = #dims == 2 and dims[1] or 1, dims[#dims] or 1
    if #dims > 2 or m ~= 1 and m ~= rows or n ~= 1 and n ~= columns then
        raise(name, "an array of shape %s does not broadcast to (%d, %d)", core.shape_text(x), rows, columns)
    end
    local row, col = convert.places_of(A)
    local flat = np.reshape(x, -1)
    if m == 1 then return np.take(flat, n == 1 and col * 0 or col) end
    if n == 1 then return np.take(flat, row) end
    return np.take(flat, np.astype(row, "i64") * columns + col)
end

--- The product of elements of two sparse arrays, at the places of both.
local function met(name, A, B)
    check_same(name, A, B)
    value.need_known(name, A, "how many elements both have")
    value.need_known(name, B, "how many elements both have")
    local format, rows, columns = value.form(A)
    A, B = convert.to(name, 1, convert.to(name, 1, A, "coo"), "csr"),
        convert.to(name, 2, convert.to(name, 2, B, "coo"), "csr")
    local function keys(C)
        local row, col = convert.places_of(C)
        return np.astype(row, "i64") * math.max(columns, 1) + col
    end
    local of_a, of_b = keys(A), keys(B)
    local data, other = promoted(A.data, B.data)
    if A.nnz == 0 or B.nnz == 0 then return convert.nothing(format, rows, columns, data.dtype) end
    local place = np.minimum(np.searchsorted(of_b, of_a), B.nnz - 1)
    local both = np.nonzero(np.equal(np.take(of_b, place), of_a))
    local row, col = convert.places_of(A)
    return convert.assemble(format, rows, columns, np.take(data, both) * np.take(other, np.take(place, both)),
                            np.take(row, both), np.take(col, both))
end

--- sparse:multiply(x), sparse:power(p) -> sparse array: elements times those of x, a number, an array that broadcasts
-- to the shape, or a sparse array; elements to a power above 0. A * x is the same as A:multiply(x), A / x divides by a
-- number or an array; A + B, A - B and -A are there, too. Only the stored elements count: 0 / 0 is 0.
-- Operators of two sparse arrays wait for the places, and keep elements that become 0.
--- > A = np.sparse.csr_array{{1, 2}, {0, 3}}
--- > (A * np.array{{10}, {100}}):toarray(), (A + A * 2 - A:power(2)):toarray()
-- [[ 10.  20.]
--  [  0. 300.]]
-- [[2. 2.]
--  [0. 0.]]
function methods.multiply(A, x)
    local name = "sparse.multiply"
    value.check(name, 1, A)
    if value.is(x) then return met(name, A, x) end
    x = beside(name, A, x)
    if is_array(x) and core.ndim(x) > 0 then return value.with_data(A, A.data * at_places(name, A, x)) end
    return value.with_data(A, A.data * x)
end

function methods.power(A, p)
    value.check("sparse.power", 1, A)
    p = core.plain(p)
    if type(p) ~= "number" or p <= 0 or p ~= p then
        core.bad_argument("sparse.power", 2, "p", "a number above 0, as the elements that are not stored are 0", p)
    end
    return value.with_data(A, A.data ^ p)
end

function operators.__mul(A, x)
    if not value.is(A) then A, x = x, A end
    return methods.multiply(A, x)
end

function operators.__div(A, x)
    local name = "sparse.divide"
    if not value.is(A) or value.is(x) then
        raise(name, "a sparse array is divided by numbers and dense arrays, got %s",
              core.describe(value.is(A) and x or A))
    end
    if is_array(x) and core.ndim(x) > 0 then return value.with_data(A, A.data / at_places(name, A, x)) end
    return value.with_data(A, A.data / x)
end

-- ---- Reductions -----------------------------------------------------------------------------------------------------

--- The sums over an axis (0, 1 or nil), in the order in which elements are stored.
local function sums(name, A, given)
    local _, rows, columns = value.check(name, 1, A)
    local axis = core.axis_options(name, given, { axis = true }).axis
    if axis ~= nil then axis = core.integer(name, nil, "axis", axis, -2, 1) % 2 end
    if axis == nil then return np.sum(A.data), rows * columns end
    local dtype = core.dtype_of(A.data).sum
    local data = np.astype(A.data, dtype)
    local of = value.with_data(A, data)
    if axis == 0 then of = of.T end
    local ones = np.ones({ axis == 0 and rows or columns }, { dtype = dtype })
    return methods.dot(of, ones), axis == 0 and rows or columns
end

--- sparse:sum({axis=…}), sparse:mean({axis=…}): the sum or the mean of all elements, or over rows (axis 0) or columns
-- (axis 1): a dense array. Elements that are not stored count as 0.
--- axis: 0 or 1; nil is both
--- > A = np.sparse.csr_array{{1, 2}, {0, 3}}
--- > A:sum(), A:sum{axis=0}, A:mean(1)
-- 6.0
-- [1. 5.]
-- [1.5 1.5]
function methods.sum(A, given) return (sums("sparse.sum", A, given)) end

function methods.mean(A, given)
    local sum, count = sums("sparse.mean", A, given)
    return sum / count
end

--- sparse:diagonal(), sparse:trace(): the main diagonal as a dense array, and the sum of the diagonal.
--- > A = np.sparse.csr_array{{1, 2, 0}, {0, 3, 4}}
--- > A:diagonal(), A:trace()
-- [1. 3.]
-- 4.0
function methods.diagonal(A)
    local _, rows, columns = value.check("sparse.diagonal", 1, A)
    local row, col = convert.places_of(A)
    local n, dtype = math.min(rows, columns), A.data.dtype
    local data = dtype == "bool" and np.astype(A.data, "i32") or A.data
    if n == 0 or data.size == 0 then return np.zeros({ n }, { dtype = dtype }) end
    local on = np.where(np.equal(row, col), row, n)
    return np.astype(np.segment_sum(data, on, n), dtype)
end

function methods.trace(A)
    value.check("sparse.trace", 1, A)
    return np.sum(methods.diagonal(A))
end

for _, f in ipairs { joined, times_sparse, added, met, methods.dot, methods.multiply } do jit.off(f) end
