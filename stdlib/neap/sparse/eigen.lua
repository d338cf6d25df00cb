--- eigen.lua: np.sparse.eigsh: some eigenvalues of a symmetric operator, by Lanczos' method with thick restarts.
--
-- A cycle extends an orthonormal basis to `size` vectors by Gram and Schmidt, twice, and takes the eigenvectors of the
-- operator in that space; the wanted ones and some more begin the next cycle, with the rest of the last product behind
-- (K. Wu and H. Simon, Thick-restart Lanczos method for large symmetric eigenvalue problems, 2000). Where a space is
-- exhausted, a random vector goes on. It is a loop of np.while_loop, so it runs inside of np.jit.
local core = require "neap.core"
local operators = require "neap.sparse.operators"
local eigenpairs = require "neap.sparse.eigenpairs"

local np = core.np
local raise = core.raise
local where = np.where

local NAME = "sparse.eigsh"

local function conj(x) return core.dtype_of(x).kind == "c" and np.conj(x) or x end

local function length(x)
    local square = np.sum(conj(x) * x)
    return np.sqrt(core.dtype_of(square).kind == "c" and np.real(square) or square)
end

--- w without its parts along the rows of a basis, whose other rows are 0; and these parts.
local function orthogonal(basis, w)
    local parts = np.matmul(conj(basis), w)
    w = w - np.matmul(np.matrix_transpose(basis), parts)
    local again = np.matmul(conj(basis), w)
    return w - np.matmul(np.matrix_transpose(basis), again), parts + again
end

--- A matrix with `line` as its row j.
local function with_row(matrix, j, line)
    return where(np.reshape(np.arange(matrix.shape[1]):eq(j), -1, 1), np.reshape(line, 1, -1), matrix)
end

--- Extends a basis of `from` rows and one more to o.size rows and one more. Returns it, the operator in that space, and
-- the length of the last rest.
local function extended(A, basis, within, from, o)
    local eps = np.finfo(core.dtype_of(basis).part).eps
    local state = np.fori_loop(from, o.size, function(j, s)
        local product = A(np.take(s.basis, j, { axis = 0 }))
        local w, parts = orthogonal(s.basis, product)
        local size = length(w)
        local alive = size:gt(length(product) * (eps * 10))
        -- Of a space that is all there is, nothing is left of the random vector either.
        local other = (orthogonal(s.basis, np.take(o.random, j, { axis = 0 })))
        local norm = length(other)
        local spare = where(norm:gt(eps * 1e3), other / where(norm:eq(0), 1, norm), 0)
        local next = where(alive, w / where(alive, size, 1), spare)
        return { basis = with_row(s.basis, j + 1, next), within = with_row(s.within, j, parts[{ { 0, o.size } }]),
                 rest = where(alive, size, 0) }
    end, { basis = basis, within = within, rest = np.zeros_like(np.real(length(basis[0]))) })
    -- Row j has the parts along the vectors up to j; the parts behind the diagonal are those of later rows.
    local whole = conj(np.tril(state.within)) + np.matrix_transpose(np.tril(state.within, -1))
    return state.basis, whole, state.rest
end

--- The order of eigenvalues, the wanted ones first.
local ORDER = {
    LM = function(w) return -np.abs(w) end,
    SM = function(w) return np.abs(w) end,
    LA = function(w) return -w end,
    SA = function(w) return w end,
}

--- Eigenvalues and eigenvectors, rows, that are kept of a space; the length of what is missing for each of them; and
-- the largest absolute value of all.
local function ritz(basis, whole, rest, count, o)
    local values, vectors = np.linalg.eigh(whole)
    local chosen = np.argsort(ORDER[o.which](values))[{ { 0, count } }]
    local scale = np.max(np.abs(values))
    values, vectors = np.take(values, chosen), np.take(vectors, chosen, { axis = 1 })
    return values, np.matmul(np.matrix_transpose(vectors), basis[{ { 0, o.size } }]),
        np.abs(vectors[o.size - 1]) * rest, scale
end

--- The eigenvalues of an operator, its eigenvectors as rows, and whether all are near enough.
local function lanczos(A, start, o)
    local dtype = start.dtype
    local first = start / length(start)
    local basis = with_row(np.zeros({ o.size + 1, o.n }, { dtype = dtype }), 0, first)
    local none = np.zeros({ o.size, o.size }, { dtype = dtype })
    local keep, eps = o.keep, np.finfo(core.dtype_of(start).part).eps
    local function near(values, missing, scale)
        return missing[{ { 0, o.k } }]:le(np.maximum(np.abs(values[{ { 0, o.k } }]) * o.tol, scale * (10 * eps))):all()
    end
    local function cycle(b, within, from)
        local whole, rest
        b, whole, rest = extended(A, b, within, from, o)
        local values, vectors, missing, scale = ritz(b, whole, rest, keep, o)
        return { values = values, vectors = vectors, next = b[o.size], done = near(values, missing, scale) }
    end
    local state = cycle(basis, none, 0)
    state.turns = core.number(1, core.dtype_codes.i32)
    local last = np.while_loop(function(s) return np.logical_and(np.logical_not(s.done), s.turns:lt(o.maxiter)) end,
                               function(s)
        local again = np.concatenate { s.vectors, np.reshape(s.next, 1, -1),
                                       np.zeros({ o.size - keep, o.n }, { dtype = dtype }) }
        local within = np.pad(np.diag(np.astype(s.values, dtype)), { { 0, o.size - keep }, { 0, o.size - keep } })
        local new = cycle(again, within, keep)
        new.turns = s.turns + 1
        return new
    end, state)
    return last.values[{ { 0, o.k } }], last.vectors[{ { 0, o.k } }], last.done
end

--- The eigenvalues in ascending order, the eigenvectors as columns, and whether all are near enough.
local function found(A, start, o)
    local values, vectors, done = lanczos(A, start, o)
    local order = np.argsort(values)
    return np.take(values, order), np.matrix_transpose(np.take(vectors, order, { axis = 0 })), done
end

for _, f in ipairs { extended, ritz, lanczos, found } do jit.off(f) end

return function(sparse)
    --- np.sparse.eigsh(A, k, {which="LM", n=…, v0=…, ncv=…, maxiter=…, tol=0, return_eigenvectors=true}) -> array,
    -- array: k eigenvalues of a symmetric (complex: Hermitian) A in ascending order, and eigenvectors of length 1,
    -- columns of a matrix (n, k). A is a sparse array, a matrix, or a function from a vector to A times the vector. k
    -- is less than n. Raises if they are not near enough after maxiter cycles, and gives NaN for them while tracing.
    -- Eigenvalues have derivatives of first order, by what A is made of, for eigenvalues that differ; all other
    -- derivatives are NaN.
    --- which: "LM" and "SM": those of the largest and smallest absolute values; "LA" and "SA": the largest and smallest
    --- n: the size of the vectors, where A is a function and v0 is not given
    --- v0: the vector to begin with; a random one without it
    --- ncv: the number of vectors of a cycle, more than k; the larger one of 20 and 2 k + 1 without it
    --- maxiter: the largest number of cycles, 10 n without it
    --- tol: the tolerance relative to each eigenvalue; 0 is that of rounding
    --- return_eigenvectors: false returns the eigenvalues alone
    --- > A = np.sparse.diags({-1, 2, -1}, {offsets={-1, 0, 1}, shape={50, 50}, dtype="f64"})
    --- > w, v = np.sparse.eigsh(A, 2)
    --- > w, np.abs(A:dot(v) - v * w):max():lt(1e-9)
    -- [3.98484102 3.99620666]
    -- True
    function sparse.eigsh(A, k, given)
        local o = core.options(NAME, given, { which = true, n = true, v0 = true, ncv = true, maxiter = true, tol = true,
                                              return_eigenvectors = true })
        local start = o.v0 ~= nil and operators.vector(NAME, nil, "v0", o.v0) or nil
        local n = start and start.size or o.n ~= nil and core.integer(NAME, nil, "n", o.n, 1) or nil
        local apply, like, rows = operators.of(NAME, 1, "A", A, n)
        n = n or rows
        if not n then raise(NAME, "of a function A the option 'n' says the size of vectors") end
        k = core.integer(NAME, 2, "k", k, 1, n - 1)
        local which = o.which == nil and "LM" or o.which
        if not ORDER[which] then
            core.bad_argument(NAME, nil, "which", '"LM", "SM", "LA" or "SA"', o.which)
        end
        if o.return_eigenvectors ~= nil and type(o.return_eigenvectors) ~= "boolean" then
            core.bad_argument(NAME, nil, "return_eigenvectors", "true or false", o.return_eigenvectors)
        end
        local size = math.min(n, o.ncv ~= nil and core.integer(NAME, nil, "ncv", o.ncv, k + 1, n)
                              or math.max(20, 2 * k + 1))
        local random = np.random.normal(np.random.key(0), { size + 1, n }, { dtype = "f32" })
        start = start or random[size]
        local dtype = operators.dtype(like or start, like)
        local settings = { n = n, k = k, which = which, size = size, keep = k + math.floor((size - k) / 2),
                           tol = operators.tolerance(NAME, "tol", o.tol, 0),
                           maxiter = core.integer(NAME, nil, "maxiter", o.maxiter == nil and 10 * n or o.maxiter, 1),
                           random = np.astype(random, dtype), vectors = o.return_eigenvectors ~= false }
        settings.keep = math.min(settings.keep, size - 1)
        local open = #core.frame().levels > 0
        local product, first = operators.between(apply, dtype), np.astype(start, dtype)
        local w, v, done
        if open then
            local constant = np.stop_gradient(first)
            w, v, done = eigenpairs.staged(NAME, product, first, settings, function(f)
                return found(f, constant, settings)
            end)
        else
            w, v, done = found(product, first, settings)
        end
        if not open and not done:item() then
            raise(NAME, "the eigenvalues are not near enough after %d cycles; a larger ncv or tol helps",
                  settings.maxiter)
        end
        if open then w = where(done, w, core.NAN) end
        if settings.vectors then return w, v end
        return w
    end
    jit.off(sparse.eigsh)
end
