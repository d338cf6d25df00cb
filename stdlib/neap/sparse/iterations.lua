--- iterations.lua: np.sparse.cg, bicgstab, gmres: linear systems by iterations in which the matrix is only multiplied.
--
-- The iterations are those of R. Barrett and others, Templates for the Solution of Linear Systems (1994), figures 2.5,
-- 2.6 and 2.10: cg and bicgstab in SciPy's form. gmres builds an orthonormal basis of `restart` vectors by Gram and
-- Schmidt, twice, multiplies by the preconditioner on the right, so that residuals are those of the system itself, and
-- solves for the shortest residual by a QR factorization. All are loops of np.while_loop: they run inside of np.jit and
-- np.vmap, and wait for nothing.
local core = require "neap.core"
local implicit = require "neap.sparse.implicit"
local operators = require "neap.sparse.operators"
local value = require "neap.sparse.value"

local np = core.np
local raise = core.raise
local where, both = np.where, np.logical_and

local BREAKDOWN_RHO, BREAKDOWN_OMEGA = -10, -11 -- SciPy's numbers

local function code(number) return core.number(number, core.dtype_codes.i32) end

--- ⟨x, y⟩
local function inner(x, y)
    return np.sum((core.dtype_of(x).kind == "c" and np.conj(x) or x) * y)
end

--- The length of x, a real number.
local function length(x)
    local square = inner(x, x)
    return np.sqrt(core.dtype_of(square).kind == "c" and np.real(square) or square)
end

local function same(x) return x end

--- 0 if the residual is short enough, else the number of turns, at least 1.
local function info_of(short, turns) return where(short, code(0), np.maximum(turns, 1)) end

-- ---- The iterations -------------------------------------------------------------------------------------------------

local function cg(A, M, b, start, o)
    local r = b - A(start)
    local limit = np.maximum(length(b) * o.rtol, o.atol)
    local last = np.while_loop(function(s) return both(s.size:gt(limit), s.k:lt(o.maxiter)) end, function(s)
        local z = M(s.r)
        local rho = inner(s.r, z)
        local p = z + s.p * where(s.k:eq(0), 0, rho / s.rho)
        local q = A(p)
        local step = rho / inner(p, q)
        local rest = s.r - q * step
        return { x = s.x + p * step, r = rest, p = p, rho = rho, size = length(rest), k = s.k + 1 }
    end, { x = start, r = r, p = np.zeros_like(r), rho = np.ones_like(inner(r, r)), size = length(r), k = code(0) })
    return last.x, info_of(last.size:le(limit), last.k)
end

local function bicgstab(A, M, b, start, o)
    local first = b - A(start)
    local limit, eps = np.maximum(length(b) * o.rtol, o.atol), np.finfo(core.dtype_of(b).part).eps
    local one = np.ones_like(inner(b, b))
    local last = np.while_loop(function(s)
        return both(both(s.size:gt(limit), s.status:eq(0)), s.k:lt(o.maxiter))
    end, function(s)
        local rho = inner(first, s.r)
        local p = s.r + (s.p - s.v * s.omega) * where(s.k:eq(0), 0, (rho / s.rho) * (s.alpha / s.omega))
        local near = M(p)
        local v = A(near)
        local slope = inner(first, v)
        local alpha = rho / slope
        local rest = s.r - v * alpha
        local done = length(rest):le(limit)
        local next = M(rest)
        local t = A(next)
        local omega = where(done, 0, inner(t, rest) / inner(t, t))
        local status = where(np.abs(rho):lt(eps * eps), code(BREAKDOWN_RHO),
                             where(np.logical_or(slope:eq(0), both(np.logical_not(done), omega:eq(0))),
                                   code(BREAKDOWN_OMEGA), code(0)))
        local goes = status:eq(0)
        local r = where(goes, rest - t * omega, s.r)
        return { x = where(goes, s.x + near * alpha + next * omega, s.x), r = r, p = p, v = v, rho = rho, alpha = alpha,
                 omega = omega, size = length(r), status = status, k = s.k + 1 }
    end, { x = start, r = first, p = np.zeros_like(b), v = np.zeros_like(b), rho = one, alpha = one, omega = one,
           size = length(first), status = code(0), k = code(0) })
    return last.x, where(last.status:ne(0), last.status, info_of(last.size:le(limit), last.k))
end

--- x of column j of a matrix, `column`, which takes the place of it.
local function with_column(matrix, j, column)
    local numbers = np.arange(matrix.shape[2])
    return where(np.reshape(numbers:eq(j), 1, -1), np.reshape(column, -1, 1), matrix)
end

--- One cycle: the step from x with the residual r, whose length is `size`, by m vectors.
local function gmres_step(A, M, r, size, m)
    local dtype, eps = r.dtype, np.finfo(core.dtype_of(r).part).eps
    local rows = np.arange(m + 1)
    local basis = where(np.reshape(rows:eq(0), -1, 1), np.reshape(r / where(size:eq(0), 1, size), 1, -1), 0)
    local state = np.fori_loop(0, m, function(j, s)
        local v = np.take(s.basis, j, { axis = 0 })
        local w = A(M(v))
        local before = length(w)
        local conjugate = core.dtype_of(w).kind == "c" and np.conj(s.basis) or s.basis
        local h = np.matmul(conjugate, w)
        w = w - np.matmul(np.matrix_transpose(s.basis), h)
        local again = np.matmul(conjugate, w)
        w = w - np.matmul(np.matrix_transpose(s.basis), again)
        local size_now = length(w)
        -- The space is exhausted where nothing is left of w. Further vectors are 0, with a 1 below the diagonal.
        local alive = size_now:gt(before * (eps * 10))
        local below = where(alive, np.astype(size_now, dtype), where(before:eq(0), 1, 0))
        local column = where(rows:eq(j + 1), below, h + again)
        local next = where(alive, w / where(alive, size_now, 1), 0)
        return { basis = where(np.reshape(rows:eq(j + 1), -1, 1), np.reshape(next, 1, -1), s.basis),
                 h = with_column(s.h, j, column) }
    end, { basis = np.astype(basis, dtype), h = np.zeros({ m + 1, m }, { dtype = dtype }) })
    local q, upper = np.linalg.qr(state.h)
    local right = np.reshape(q[0], -1)
    right = (core.dtype_of(q).kind == "c" and np.conj(right) or right) * size
    local weights = np.linalg.solve_triangular(upper, np.reshape(right, -1, 1))
    return M(np.reshape(np.matmul(np.matrix_transpose(state.basis[{ { 0, m } }]), weights), -1))
end

local function gmres(A, M, b, start, o)
    local limit, r = np.maximum(length(b) * o.rtol, o.atol), b - A(start)
    local last = np.while_loop(function(s) return both(s.size:gt(limit), s.k:lt(o.maxiter)) end, function(s)
        local x = s.x + gmres_step(A, M, s.r, s.size, o.restart)
        local rest = b - A(x)
        return { x = x, r = rest, size = length(rest), k = s.k + 1 }
    end, { x = start, r = r, size = length(r), k = code(0) })
    return last.x, info_of(last.size:le(limit), last.k)
end

-- ---- The public functions -------------------------------------------------------------------------------------------

local function define(sparse, which, iteration, restarts)
    local name = "sparse." .. which
    local known = { x0 = true, rtol = true, atol = true, maxiter = true, M = true, restart = restarts }
    sparse[which] = function(A, b, given)
        local o = core.options(name, given, known)
        b = operators.vector(name, 2, "b", b, value.is(A) and A.data or core.is_array(A) and A or nil)
        local n = b.size
        if n == 0 then raise(name, "argument 2 (b) has no elements") end
        local apply, like = operators.of(name, 1, "A", A, n)
        local dtype, half = operators.dtype(b, like)
        local precondition = o.M ~= nil and operators.of(name, nil, "M", o.M, n) or nil
        local start = np.zeros({ n }, { dtype = dtype })
        if o.x0 ~= nil then
            start = operators.vector(name, nil, "x0", o.x0, b)
            if start.size ~= n then raise(name, "option 'x0' has %d elements, b has %d", start.size, n) end
        end
        local settings = { rtol = operators.tolerance(name, "rtol", o.rtol, 1e-5),
                           atol = operators.tolerance(name, "atol", o.atol, 0),
                           maxiter = core.integer(name, nil, "maxiter", o.maxiter == nil and 10 * n or o.maxiter, 1) }
        if restarts then
            settings.restart = math.min(n, core.integer(name, nil, "restart", o.restart == nil and 20 or o.restart, 1))
        end
        local x, info = implicit.solve(name, operators.between(apply, dtype),
                                       precondition and operators.between(precondition, dtype),
                                       np.astype(b, dtype), np.astype(start, dtype), function(operator, M, side, guess)
            return iteration(operator, M or same, side, guess, settings)
        end)
        if #core.frame().levels == 0 and core.info(info).sharding == 0 then info = info:item() end
        return half and np.astype(x, half) or x, info
    end
    jit.off(sparse[which])
end

for _, f in ipairs { cg, bicgstab, gmres, gmres_step, define } do jit.off(f) end

return function(sparse)
    --- np.sparse.cg(A, b, {x0=…, rtol=1e-5, atol=0, maxiter=…, M=…}), np.sparse.bicgstab(A, b, {x0=…, rtol=1e-5,
    -- atol=0, maxiter=…, M=…}) -> array, integer: x with A x = b by conjugate gradients, for A symmetric (complex:
    -- Hermitian) and positive definite, or by stabilized biconjugate gradients, for any A. A is a sparse array, a
    -- matrix, or a function from a vector to A times the vector; b has one axis. The second result is 0 where |b - A x|
    -- ≤ max(rtol |b|, atol), else the number of iterations, or as in SciPy -10 or -11 where bicgstab cannot go on; an
    -- array while tracing, and in the body of np.shard_map. Derivatives by b and by what A is made of are those of the
    -- exact solution: of first order in both modes, of higher orders in reverse mode. Halves are computed as f32.
    --- x0: the vector to begin with; zeros without it
    --- rtol: the tolerance relative to the length of b
    --- atol: the tolerance itself
    --- maxiter: the largest number of iterations, 10 times the size of b without it
    --- M: a preconditioner, near the inverse of A: a sparse array, a matrix or a function; for cg symmetric and
    -- positive definite
    --- > A = np.sparse.diags({-1, 2.5, -1}, {offsets={-1, 0, 1}, shape={3, 3}})
    --- > np.sparse.cg(A, np.array{1, 0, 1})
    -- [0.5882353 0.4705883 0.5882353]
    -- 0
    --- > d = np.array{1, 2, 4}
    --- > np.sparse.bicgstab(function(x) return x * d end, np.ones(3), {M=function(r) return r / d end})
    -- [1.   0.5  0.25]
    -- 0
    define(sparse, "cg", cg)
    define(sparse, "bicgstab", bicgstab)

    --- np.sparse.gmres(A, b, {x0=…, rtol=1e-5, atol=0, restart=20, maxiter=…, M=…}) -> array, integer: x with A x = b
    -- by generalized minimal residuals, for any A. All else as np.sparse.cg.
    --- x0: the vector to begin with; zeros without it
    --- rtol: the tolerance relative to the length of b
    --- atol: the tolerance itself
    --- restart: the number of iterations of a cycle, which keeps as many vectors
    --- maxiter: the largest number of cycles, 10 times the size of b without it
    --- M: a preconditioner, near the inverse of A: a sparse array, a matrix or a function
    --- > np.sparse.gmres(np.sparse.csr_array{{2, 1}, {0, 4}}, np.array{4, 8})
    -- [1. 2.]
    -- 0
    define(sparse, "gmres", gmres, true)
end
