--- make.lua: sparse arrays of parts, of dense arrays, of diagonals, at random, and of others.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local value = require "neap.sparse.value"
local convert = require "neap.sparse.convert"

local np = core.np
local is_array, raise = core.is_array, core.raise

--- An option 'dtype': its name, or nil.
local function dtype_of(name, o)
    if o.dtype ~= nil and not core.dtype_codes[o.dtype] then
        core.bad_argument(name, nil, "dtype", "the name of a dtype", o.dtype)
    end
    return o.dtype
end

--- An option 'format', "csr" without it.
local function format_of(name, o)
    local format = o.format == nil and "csr" or o.format
    if not value.PARTS[format] then core.bad_argument(name, nil, "format", '"csr", "csc" or "coo"', o.format) end
    return format
end

--- A sparse array of new elements and places, in a format.
local function finished(format, rows, columns, data, row, col)
    return convert.assemble(format, rows, columns, data, np.astype(row, "i32"), np.astype(col, "i32"))
end

--- The elements of several arrays in one, with rows and columns moved by `down` and `right` of each array.
local function joined(name, format, rows, columns, list, down, right)
    local data, row, col = {}, {}, {}
    local types = {}
    for k, A in ipairs(list) do
        value.need_known(name, A, "how the parts lie in the result")
        local r, c = convert.places_of(A)
        data[k], row[k], col[k], types[k] = A.data, r + down[k], c + right[k], A.data
    end
    local dtype = np.result_type(unpack(types))
    for k = 1, #data do data[k] = np.astype(data[k], dtype) end
    return finished(format, rows, columns, np.concatenate(data), np.concatenate(row), np.concatenate(col))
end

--- The sparse arrays of a table, an argument.
local function list_of(name, blocks)
    if type(blocks) ~= "table" or getmetatable(blocks) ~= nil or #blocks == 0 then
        core.bad_argument(name, 1, "blocks", "a table of sparse or dense arrays", blocks)
    end
    local list = {}
    for k = 1, #core.list(name, "the table of blocks", blocks) do list[k] = convert.to(name, k, blocks[k], nil) end
    return list
end

--- `count` different integers of 0 … size - 1 at random, in any order.
local function distinct(key, count, size)
    if count * 3 >= size then return np.random.permutation(key, size)[{ { 0, count } }] end
    local drawn
    repeat
        local now
        key, now = np.random.split(key, 2):unpack()
        drawn = np.unique(np.random.randint(now, { 2 * count }, 0, size, { dtype = "i64" }))
    until drawn.size >= count
    return np.random.permutation(key, drawn)[{ { 0, count } }]
end

return function(sparse)
    local function of_format(format)
        local name = "sparse." .. format .. "_array"
        sparse[format .. "_array"] = function(x, given)
            local dtype = dtype_of(name, core.options(name, given, { dtype = true }))
            if value.is(x) then
                local A = convert.to(name, 1, x, format)
                return dtype and A:astype(dtype) or A
            end
            local plain = type(x) == "table" and getmetatable(x) == nil
            if plain and x[1] == nil and next(x) ~= nil then
                if x.data == nil and x.shape ~= nil and next(x, next(x)) == nil then
                    local rows, columns = value.check_shape(name, x.shape)
                    return convert.nothing(format, rows, columns, dtype)
                end
                return value.of_parts(name, format, x, dtype)
            end
            return convert.of_dense(name, 1, x, format, dtype)
        end
        jit.off(sparse[format .. "_array"])
    end

    --- np.sparse.csr_array(x, {dtype=…}), np.sparse.csc_array(x, {dtype=…}), np.sparse.coo_array(x, {dtype=…}) ->
    -- sparse array: a matrix that stores some elements; all others are 0. x is a dense array or table, whose elements
    -- are stored unless they are 0; another sparse array; {shape={m, n}}, nothing but zeros; or a table of parts. The
    -- parts of a csr_array are {data=…, indices=…, indptr=…, shape={m, n}}: the elements, row by row, the column of
    -- each, and the m + 1 places in data where rows begin and the last row ends; of a csc_array the same by columns; of
    -- a coo_array {data=…, row=…, col=…, shape={m, n}}. Places become i32. The default shape is as large as the places
    -- need. A sparse array never changes; np.jit, np.grad, np.vmap and np.tree take a sparse array as the tree of its
    -- parts, and the shape as fixed. Checking the places waits; places that a trace does not know are not checked, and
    -- elements out of range are left out.
    --- dtype: the dtype of the elements; by default the dtype of data, or of np.array(x)
    --- > A = np.sparse.csr_array{{5, 0, 6}, {0, 0, 0}, {0, 7, 0}}
    --- > A.data, A.indices, A.indptr
    -- [5. 6. 7.]
    -- [0 2 1]
    -- [0 2 2 3]
    --- > A:dot(np.array{1, 1, 1})
    -- [11.  0.  7.]
    --- > np.sparse.coo_array({data={1, 2}, row={0, 1}, col={1, 1}, shape={2, 2}}, {dtype="i32"}):toarray()
    -- [[0 1]
    --  [0 2]]
    --- > np.sparse.csc_array{shape={2, 2}}.nnz
    -- 0
    for format in pairs(value.PARTS) do of_format(format) end

    --- np.sparse.issparse(x) -> boolean: whether x is a sparse array.
    --- > np.sparse.issparse(np.sparse.eye(2)), np.sparse.issparse(np.eye(2))
    -- true
    -- false
    function sparse.issparse(x) return value.is(x) end

    --- np.sparse.eye(m, n, {k=0, dtype="f32", format="csr"}) -> sparse array: ones on a diagonal of m rows and n
    -- columns (m if n is nil).
    --- k: the diagonal: 0 the main diagonal, 1 above, -1 below the main diagonal
    --- dtype: the dtype of the ones
    --- format: "csr", "csc" or "coo"
    --- > np.sparse.eye(2, 3, {k=1}):toarray()
    -- [[0. 1. 0.]
    --  [0. 0. 1.]]
    function sparse.eye(m, n, given)
        local name = "sparse.eye"
        if type(n) == "table" then n, given = nil, n end
        local o = core.options(name, given, { k = true, dtype = true, format = true })
        m = core.integer(name, 1, "m", m, 0, 2 ^ 31 - 1)
        n = n == nil and m or core.integer(name, 2, "n", n, 0, 2 ^ 31 - 1)
        local k = o.k == nil and 0 or core.integer(name, nil, "k", o.k)
        local first, last = math.max(0, -k), math.min(m, n - k)
        local row = np.arange(first, math.max(first, last))
        return finished(format_of(name, o), m, n, np.ones({ row.size }, { dtype = dtype_of(name, o) }), row, row + k)
    end

    --- np.sparse.diags(diagonals, {offsets=0, shape=…, dtype=…, format="csr"}) -> sparse array: a matrix of diagonals:
    -- a table of 1-d arrays, tables or numbers, which fill a diagonal; or a 1-d array. Diagonal k begins at (0, k), or
    -- at (-k, 0) for k < 0.
    --- offsets: an integer, or a table of an integer for each diagonal: 0 is the main diagonal, 1 the diagonal above
    --- shape: rows and columns; by default a square matrix in which the first diagonal fits
    --- dtype: the dtype of the elements
    --- format: "csr", "csc" or "coo"
    --- > np.sparse.diags({1, -2, 1}, {offsets={-1, 0, 1}, shape={3, 3}}):toarray()
    -- [[-2.  1.  0.]
    --  [ 1. -2.  1.]
    --  [ 0.  1. -2.]]
    --- > np.sparse.diags(np.array{1, 2}, {offsets=1}):toarray()
    -- [[0. 1. 0.]
    --  [0. 0. 2.]
    --  [0. 0. 0.]]
    function sparse.diags(diagonals, given)
        local name = "sparse.diags"
        local o = core.options(name, given, { offsets = true, shape = true, dtype = true, format = true })
        local dtype, offsets = dtype_of(name, o), o.offsets == nil and 0 or o.offsets
        if is_array(diagonals) then diagonals = { diagonals } end
        if type(diagonals) ~= "table" or #diagonals == 0 then
            core.bad_argument(name, 1, "diagonals", "a 1-d array, or a table of diagonals", diagonals)
        end
        if type(offsets) ~= "table" then offsets = { offsets } end
        offsets = core.integers(name, nil, "offsets", offsets)
        if #offsets ~= #diagonals then
            raise(name, "%d diagonals with %d offsets", #diagonals, #offsets)
        end
        core.list(name, "the table of diagonals", diagonals)
        local list, seen = {}, {}
        for k, diagonal in ipairs(diagonals) do
            if seen[offsets[k]] then raise(name, "there are two diagonals with the offset %d", offsets[k]) end
            seen[offsets[k]] = true
            local is_table = type(diagonal) == "table" and getmetatable(diagonal) == nil
            local is_line = is_array(diagonal) and core.ndim(diagonal) == 1
            if not is_table and not is_line and type(diagonal) ~= "number" then
                raise(name, "diagonal %d must be a 1-d array, a table or a number, got %s", k, core.describe(diagonal))
            end
            list[k] = type(diagonal) == "number" and { diagonal } or diagonal
        end
        list = { operands.meet(name, #list, unpack(list)) }
        local n = list[1].size + math.abs(offsets[1])
        local rows, columns = n, n
        if o.shape ~= nil then rows, columns = value.check_shape(name, o.shape) end
        local data, row, col = {}, {}, {}
        local common = dtype or np.result_type(unpack(list))
        for k, diagonal in ipairs(list) do
            local first = math.max(0, -offsets[k])
            local length = math.max(0, math.min(rows, columns - offsets[k]) - first)
            if diagonal.size ~= length and diagonal.size ~= 1 then
                raise(name, "diagonal %d with the offset %d has %d elements, and %d places in shape (%d, %d)", k,
                      offsets[k], diagonal.size, length, rows, columns)
            end
            row[k] = np.arange(first, first + length)
            data[k], col[k] = np.broadcast_to(np.astype(diagonal, common), length), row[k] + offsets[k]
        end
        return finished(format_of(name, o), rows, columns, np.concatenate(data), np.concatenate(row),
                        np.concatenate(col))
    end

    --- np.sparse.random(key, m, n, {density=0.01, dtype="f32", format="csr"}) -> sparse array: a share of the places of
    -- an m × n matrix, drawn without repeats, with elements uniform in 0 … 1. The key is a key of np.random.
    --- density: the share, from 0 to 1; the number of places is rounded to an integer
    --- dtype: f32 or f64
    --- format: "csr", "csc" or "coo"
    --- > A = np.sparse.random(np.random.key(1), 4, 5, {density=0.2})
    --- > A.nnz, A.shape[2]
    -- 4
    -- 5
    function sparse.random(key, m, n, given)
        local name = "sparse.random"
        local o = core.options(name, given, { density = true, dtype = true, format = true })
        m, n = core.integer(name, 2, "m", m, 0, 2 ^ 31 - 1), core.integer(name, 3, "n", n, 0, 2 ^ 31 - 1)
        local density = o.density == nil and 0.01 or core.plain(o.density)
        if type(density) ~= "number" or not (density >= 0 and density <= 1) then
            core.bad_argument(name, nil, "density", "a number from 0 to 1", o.density)
        end
        local dtype = dtype_of(name, o) or "f32"
        if not core.dtypes[core.dtype_codes[dtype]].inexact or core.dtypes[core.dtype_codes[dtype]].kind == "c" then
            core.bad_argument(name, nil, "dtype", "that of floats", o.dtype)
        end
        local count, for_places, for_values = math.floor(density * m * n + 0.5), np.random.split(key, 2):unpack()
        local places = np.sort(np.astype(distinct(for_places, count, m * n), "i64"))
        local row = np.floor_divide(places, math.max(n, 1))
        local data = np.random.uniform(for_values, { count }, { dtype = dtype })
        return finished(format_of(name, o), m, n, data, row, places - row * n)
    end

    --- np.sparse.vstack(blocks, {format="csr"}), np.sparse.hstack(blocks, {format="csr"}) -> sparse array: arrays
    -- below, or beside each other. blocks is a table of sparse or dense ones.
    --- format: "csr", "csc" or "coo"
    --- > np.sparse.vstack({np.sparse.eye(2), {{0, 3}}}):toarray()
    -- [[1. 0.]
    --  [0. 1.]
    --  [0. 3.]]
    --- > np.sparse.hstack({np.sparse.eye(2), np.sparse.eye(2, 1)}):toarray()
    -- [[1. 0. 1.]
    --  [0. 1. 0.]]
    local function stacker(which, below)
        local name = "sparse." .. which
        sparse[which] = function(blocks, given)
            local format = format_of(name, core.options(name, given, { format = true }))
            local list, down, right, rows, columns = list_of(name, blocks), {}, {}, 0, 0
            for k, A in ipairs(list) do
                local _, m, n = value.form(A)
                local _, first_m, first_n = value.form(list[1])
                if below and n ~= first_n or not below and m ~= first_m then
                    raise(name, "block %d of shape (%d, %d) does not fit block 1 of shape (%d, %d)", k, m, n, first_m,
                          first_n)
                end
                down[k], right[k] = below and rows or 0, below and 0 or columns
                rows, columns = below and rows + m or m, below and n or columns + n
            end
            return joined(name, format, rows, columns, list, down, right)
        end
        jit.off(sparse[which])
    end
    stacker("vstack", true)
    stacker("hstack", false)

    --- np.sparse.block_diag(blocks, {format="csr"}) -> sparse array: sparse or dense matrices, one below and beside the
    -- other, zeros elsewhere.
    --- format: "csr", "csc" or "coo"
    --- > np.sparse.block_diag({np.sparse.eye(1), {{2, 3}}}):toarray()
    -- [[1. 0. 0.]
    --  [0. 2. 3.]]
    function sparse.block_diag(blocks, given)
        local name = "sparse.block_diag"
        local format = format_of(name, core.options(name, given, { format = true }))
        local list, down, right, rows, columns = list_of(name, blocks), {}, {}, 0, 0
        for k, A in ipairs(list) do
            local _, m, n = value.form(A)
            down[k], right[k] = rows, columns
            rows, columns = rows + m, columns + n
        end
        return joined(name, format, rows, columns, list, down, right)
    end

    --- np.sparse.kron(A, B, {format="csr"}) -> sparse array: the Kronecker product of two matrices, sparse or dense: B
    -- times each element of A, at the place of the element.
    --- format: "csr", "csc" or "coo"
    --- > np.sparse.kron(np.sparse.eye(2), {{1, 2}}):toarray()
    -- [[1. 2. 0. 0.]
    --  [0. 0. 1. 2.]]
    function sparse.kron(A, B, given)
        local name = "sparse.kron"
        local format = format_of(name, core.options(name, given, { format = true }))
        A, B = convert.to(name, 1, A), convert.to(name, 2, B)
        value.need_known(name, A, "the result")
        value.need_known(name, B, "the result")
        local _, m, n = value.form(A)
        local _, p, q = value.form(B)
        if m * p > 2 ^ 31 - 1 or n * q > 2 ^ 31 - 1 then
            raise(name, "the result would have shape (%d, %d); extents are at most 2147483647", m * p, n * q)
        end
        local ar, ac = convert.places_of(A)
        local br, bc = convert.places_of(B)
        local function each(a, b) return np.reshape(np.reshape(a, -1, 1) + np.reshape(b, 1, -1), -1) end
        local data = np.reshape(np.reshape(A.data, -1, 1) * np.reshape(B.data, 1, -1), -1)
        return finished(format, m * p, n * q, data, each(ar * p, br), each(ac * q, bc))
    end
    for _, f in ipairs { sparse.eye, sparse.diags, sparse.random, sparse.block_diag, sparse.kron } do jit.off(f) end
end
