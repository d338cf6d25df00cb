--- lobpcg.lua: np.sparse.lobpcg: the largest or smallest eigenvalues of a symmetric operator, several at once.
--
-- A turn takes the best vectors in the space of the current ones, of their residuals, which the preconditioner turns
-- towards the solution, and of the last steps (A. Knyazev, Toward the optimal preconditioned eigensolver: locally
-- optimal block preconditioned conjugate gradient method, 2001). An orthonormal basis of that space comes of a QR
-- factorization by reflections, which gives one for vectors that depend on each other, too: those of a step that is 0
-- at first, or of residuals that have vanished. It is a loop of np.while_loop, so it runs inside of np.jit.
local core = require "neap.core"
local eigenpairs = require "neap.sparse.eigenpairs"
local operators = require "neap.sparse.operators"

local np = core.np
local raise = core.raise

local NAME = "sparse.lobpcg"

--- The transpose with conjugate elements.
local function adjoint(x)
    return np.matrix_transpose(core.dtype_of(x).kind == "c" and np.conj(x) or x)
end

--- A function of vectors as one of the columns of a matrix.
local function of_columns(f)
    return np.vmap(f, { in_axes = 1, out_axes = 1 })
end

--- The best eigenvalues, vectors and products in the space of an orthonormal basis, and how long what is missing to an
-- eigenvector is, in units of the largest eigenvalue there.
local function best_in(basis, A, o)
    local product = A(basis)
    local within = np.matmul(adjoint(basis), product)
    local values, vectors = np.linalg.eigh((within + adjoint(within)) * 0.5)
    local size = values.size
    local chosen = o.largest and size - 1 - np.arange(o.k) or np.arange(o.k)
    local scale = np.max(np.abs(values))
    values, vectors = np.take(values, chosen), np.take(vectors, chosen, { axis = 1 })
    local x = np.matmul(basis, vectors)
    local rest = np.matmul(product, vectors) - x * values
    local missing = np.sqrt(np.sum(np.square(np.abs(rest)), { axis = 0 }))
    return { values = values, x = x, rest = rest,
             near = np.all(np.less_equal(missing, np.maximum(scale * o.tol, np.finfo(scale.dtype).tiny))) }
end

--- Eigenvalues, eigenvectors as columns, and whether all are near enough.
local function found(A, start, M, o)
    A = of_columns(A)
    M = M and of_columns(M)
    local first = np.linalg.qr(start)
    local state = best_in(first, A, o)
    state.step, state.turns = np.zeros_like(start), core.number(0, core.dtype_codes.i32)
    local last = np.while_loop(function(s)
        return np.logical_and(np.logical_not(s.near), np.less(s.turns, o.maxiter))
    end, function(s)
        local basis = np.linalg.qr(np.concatenate({ s.x, M and M(s.rest) or s.rest, s.step }, 1))
        local now = best_in(basis, A, o)
        now.step = now.x - np.matmul(s.x, np.matmul(adjoint(s.x), now.x))
        now.turns = s.turns + 1
        return now
    end, state)
    return last.values, last.x, last.near
end

for _, f in ipairs { best_in, found } do jit.off(f) end

return function(sparse)
    --- np.sparse.lobpcg(A, X, {largest=true, M=…, tol=…, maxiter=200}) -> array, array: as many eigenvalues of a
    -- symmetric (complex: Hermitian) A as X has columns, from the largest one down, and eigenvectors of length 1, the
    -- columns of a matrix (n, k). A is a sparse array, a matrix, or a function from a vector to A times the vector. X
    -- has the vectors to begin with, such as random ones, and at least 3 times as many rows as columns. Raises if they
    -- are not near enough after maxiter turns, and gives NaN for them while tracing. Eigenvalues have derivatives of
    -- first order, by what A is made of, for eigenvalues that differ; all other derivatives are NaN. np.sparse.eigsh
    -- finds a few without a preconditioner; this one gains by a good M.
    --- largest: false: the smallest eigenvalues, from the smallest one up
    --- M: a preconditioner, near the inverse of A, symmetric and positive definite: a sparse array, a matrix or a
    -- function of vectors
    --- tol: how long |A v - w v| may be, relative to the largest |w|; the root of the dtype's precision without it
    --- maxiter: the largest number of turns
    --- > A = np.sparse.diags({-1, 2, -1}, {offsets={-1, 0, 1}, shape={50, 50}, dtype="f64"})
    --- > X = np.random.normal(np.random.key(0), {50, 2}, {dtype="f64"})
    --- > w, v = np.sparse.lobpcg(A, X)
    --- > w, np.abs(A:dot(v) - v * w):max():lt(1e-6)
    -- [3.99620666 3.98484102]
    -- True
    function sparse.lobpcg(A, X, given)
        local o = core.options(NAME, given, { largest = true, M = true, tol = true, maxiter = true })
        if type(X) == "table" and getmetatable(X) == nil then X = np.array(X) end
        if not core.is_array(X) or core.ndim(X) ~= 2 then core.bad_argument(NAME, 2, "X", "a matrix of vectors", X) end
        local n, k = X.shape[1], X.shape[2]
        if k < 1 or n < 3 * k then
            raise(NAME, "argument 2 (X) must have columns, and 3 times as many rows, got shape %s; np.linalg.eigh "
                  .. "takes small matrices", core.shape_text(X))
        end
        local apply, like = operators.of(NAME, 1, "A", A, n)
        local dtype = operators.dtype(like or X, like)
        if core.dtype_of(X).kind == "c" then dtype = np.result_type(dtype, X) end
        local precondition = o.M ~= nil and operators.between(operators.of(NAME, nil, "M", o.M, n), dtype) or nil
        if o.largest ~= nil and type(o.largest) ~= "boolean" then
            core.bad_argument(NAME, nil, "largest", "true or false", o.largest)
        end
        local eps = np.finfo(core.dtypes[core.dtype_codes[dtype]].part or dtype).eps
        local settings = { k = k, largest = o.largest ~= false, vectors = true,
                           tol = operators.tolerance(NAME, "tol", o.tol, math.sqrt(eps)),
                           maxiter = core.integer(NAME, nil, "maxiter", o.maxiter == nil and 200 or o.maxiter, 1) }
        local product, start = operators.between(apply, dtype), np.astype(X, dtype)
        if #core.frame().levels > 0 then
            local constant = np.stop_gradient(start)
            local w, v, done = eigenpairs.staged(NAME, product, constant[{ {}, 0 }], settings, function(f)
                return found(f, constant, precondition, settings)
            end)
            return np.where(done, w, core.NAN), np.where(done, v, core.NAN)
        end
        local w, v, done = found(product, start, precondition, settings)
        if not done:item() then
            raise(NAME, "the eigenvalues are not near enough after %d turns; a preconditioner M or a larger tol helps",
                  settings.maxiter)
        end
        return w, v
    end
    jit.off(sparse.lobpcg)
end
