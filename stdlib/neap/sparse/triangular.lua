--- triangular.lua: np.sparse.spsolve_triangular: systems of triangular sparse arrays, by substitution.
local core = require "neap.core"
local convert = require "neap.sparse.convert"
local operands = require "neap.arrays.operands"
local value = require "neap.sparse.value"

local np = core.np
local raise, attrs = core.raise, core.attrs

--- An option that is true or false.
local function flag(name, option, given, default)
    if given == nil then return default end
    if type(given) ~= "boolean" then core.bad_argument(name, nil, option, "true or false", given) end
    return given
end

return function(sparse)
    --- np.sparse.spsolve_triangular(A, b, {lower=true, unit_diagonal=false}): x with A x = b for a triangular sparse
    -- array A, by substitution, row by row; b is a vector or a matrix of right sides. Elements of the other triangle
    -- are not read. A zero on the diagonal gives infinities or NaN. Derivatives are by the elements of A and by b.
    --- lower: false reads the upper triangle
    --- unit_diagonal: true takes ones for the diagonal, which is not read
    --- > A = np.sparse.csr_array{{2, 0}, {1, 4}}
    --- > np.sparse.spsolve_triangular(A, np.array{2, 9})
    -- [1. 2.]
    --- > np.sparse.spsolve_triangular(A.T, np.array{4, 8}, {lower=false})
    -- [1. 2.]
    function sparse.spsolve_triangular(A, b, given)
        local name = "sparse.spsolve_triangular"
        local o = core.options(name, given, { lower = true, unit_diagonal = true })
        local format, rows, columns = value.check(name, 1, A)
        if rows ~= columns then raise(name, "argument 1 (A) must be square, got shape (%d, %d)", rows, columns) end
        if type(b) == "table" and getmetatable(b) == nil then
            b = operands.beside(name, 2, b, core.dtype_of(A.data))
        end
        if not core.is_array(b) then core.bad_argument(name, 2, "b", "an array", b) end
        local dims = core.shape_of(b)
        if #dims < 1 or #dims > 2 or dims[1] ~= rows then
            raise(name, "argument 2 (b) must have %d rows, as A, got shape %s", rows, core.shape_text(b))
        end
        local lower = flag(name, "lower", o.lower, true)
        local unit = flag(name, "unit_diagonal", o.unit_diagonal, false)
        if format == "coo" then
            A = convert.to(name, 1, A, "csr")
            format = "csr"
        end
        local dtype = np.result_type(A.data, b)
        local facts = core.dtypes[core.dtype_codes[dtype]]
        if not facts.inexact then dtype = facts.real end
        local row, col = convert.places_of(A)
        local reads = lower and (unit and row:gt(col) or row:ge(col)) or (unit and row:lt(col) or row:le(col))
        local data = np.where(reads, np.astype(A.data, dtype), 0)
        local turned = format == "csc" -- what is stored by columns is, read as rows, the transpose
        local right = np.reshape(np.astype(b, dtype), rows, #dims == 2 and dims[2] or 1)
        attrs[0], attrs[1], attrs[2] = lower ~= turned and 1 or 0, turned and 1 or 0, unit and 1 or 0
        local x = core.recordn(core.ids.sparse_triangular, { data, right, A.indices, A.indptr }, 4, 3)
        return np.reshape(x, dims)
    end
end
