--- root.lua: np.optimize.root: a root of as many equations as unknowns, by Newton's method with a line search.
--
-- A step p solves J p = -f. The largest a = 1, 1/2, … is taken for which the length of f falls by a share of a/10^4
-- (J. Dennis and R. Schnabel, Numerical Methods for Unconstrained Optimization and Nonlinear Equations, section 6.3). A
-- step p shorter than the tolerance is taken whole and is the last: there rounding hides whether f falls.
local core = require "neap.core"
local problem = require "neap.optimize.problem"
local roots = require "neap.transforms.custom_root"
local solvers = require "neap.tracing.solvers"

local np = core.np
local where, both, negate, raise = np.where, np.logical_and, np.logical_not, core.raise

local MESSAGES = {
    [0] = "converged",
    [1] = "the largest number of iterations is reached",
    [2] = "no step along Newton's direction makes f shorter",
    [3] = "f or its derivative is not finite",
    [4] = "the derivative of f is singular",
}
local STATUS = { converged = 0, exhausted = 1, stuck = 2, undefined = 3, singular = 4, running = 5 }
local HALVINGS = 30

local function code(value) return core.number(value, core.dtype_codes.i32) end

local function length(x) return np.sqrt(x:dot(x)) end

--- The step along p by which f gets shorter: { a, x, f, k = evaluations, falls = whether there is one }. Not `regular`:
-- there is no p.
local function shorter(f, s, p, regular)
    local size = length(s.f)
    local function try(a)
        local x = s.x + p * a
        local y = f(x)
        return { a = a, x = x, f = y, falls = length(y):le(size * (1 - a * 1e-4)) }
    end
    local first = try(np.ones_like(size))
    first.k = code(1)
    return np.while_loop(function(t) return both(both(negate(t.falls), regular), t.k:lt(HALVINGS)) end, function(t)
        local next = try(t.a / 2)
        next.k = t.k + 1
        return next
    end, first)
end

--- Newton's method from x. Returns x and { nit, nfev, status }.
local function newton(f, x, o)
    local jacobian = np.jacfwd(f)
    local y = f(x)
    local first = where(np.isfinite(y):all(), where(y:eq(0):all(), code(STATUS.converged), code(STATUS.running)),
                        code(STATUS.undefined))
    local last = np.while_loop(function(s) return s.status:eq(STATUS.running) end, function(s)
        local jac, k = jacobian(s.x), s.k + 1
        local p = np.linalg.solve(jac, -s.f)
        local regular = np.isfinite(p):all()
        local found = shorter(f, s, where(regular, p, 0), regular)
        local near = length(p):le((length(s.x) + o.tol) * o.tol)
        local whole = s.x + p
        local next, value = where(near, whole, found.x), where(near, f(whole), found.f)
        local done = np.logical_or(near, value:eq(0):all())
        local status = where(done, code(STATUS.converged), where(negate(found.falls), code(STATUS.stuck),
                             where(k:ge(o.maxiter), code(STATUS.exhausted), code(STATUS.running))))
        local finite = np.isfinite(jac):all()
        status = where(regular, status, where(finite, code(STATUS.singular), code(STATUS.undefined)))
        local moves = both(regular, np.logical_or(near, found.falls))
        return { x = where(moves, next, s.x), f = where(moves, value, s.f), k = k, calls = s.calls + found.k + 1,
                 status = status }
    end, { x = x, f = y, k = code(0), calls = code(1), status = first })
    return last.x, { nit = last.k, nfev = last.calls, status = last.status }
end

--- The solver (solvers.lua): equations of a vector. arrays: where the search begins.
local function solve(equations, arrays, s)
    local finite = np.isfinite(equations(arrays[1])):all()
    local found, facts = roots.find("optimize.root", equations, arrays[1], function(g, x) return newton(g, x, s) end)
    return { x = found, fun = equations(found), nit = facts.nit, nfev = facts.nfev, status = facts.status,
             success = facts.status:eq(STATUS.converged) }, finite
end

local solver = solvers.new(solve)

for _, f in ipairs { shorter, newton, solve } do jit.off(f) end

local OPTIONS = { method = true, tol = true, maxiter = true, args = true }

return function(optimize)
    --- np.optimize.root(f, x0, {method="newton", tol=…, maxiter=…, args={}}) -> result: an x near x0, an array, a
    -- number or a tree of arrays, where f(x, …), an array of as many numbers, is 0. f gets x in the form of x0. The
    -- result has x in the same form; fun, f there; success, status and message; nit and nfev, the numbers of iterations
    -- and evaluations. The status is 0 converged, 1 maxiter reached, 2 no step makes f shorter, 3 f or a derivative is
    -- not finite, 4 the derivative is singular. All is computed in the dtype of f and x0, f32 for halves. Raises if f
    -- is not finite at x0. In a trace or np.shard_map success, status, nit and nfev are arrays, nothing is raised and
    -- there is no message. x is differentiable in all arrays that f reads (np.custom_root). Derivatives of f are
    -- np.jacfwd's.
    --- method: "newton": Newton's, with a line search
    --- tol: the relative length of the last step; by default 1.49e-8, or 4 eps where larger
    --- maxiter: the most iterations, by default 100
    --- args: the further arguments of f, as they are
    --- > r = np.optimize.root(function(x, c) return x * x + np.flip(x) - c end, np.ones(2), {args={np.array{5, 11}}})
    --- > np.round(r.x, 4), r.success
    -- [1.3777 3.102 ]
    -- true
    function optimize.root(f, x0, given)
        local name = "optimize.root"
        local o = core.options(name, given, OPTIONS)
        f = problem.with_args(name, f, o)
        problem.choice(name, o, "method", { newton = true }, "newton")
        local x = problem.vector(name, f, x0)
        local count = 1
        for _, extent in ipairs(x.result.shape) do count = count * extent end
        if not core.is_same(count, x.n) then
            raise(name, "f must return as many numbers as x has, %s, got shape %s", tostring(x.n), x.result.text)
        end
        local value = problem.of_vector(name, f, x)
        local function equations(v) return value(v):reshape(-1) end
        jit.off(equations)
        local checked = { tol = problem.tolerance(name, o, "tol", math.max(1.49e-8, 4 * core.eps(x.dtype))),
                          maxiter = problem.maxiter(name, o, 100) }
        local result, finite = solver(name, equations, { n = 1, x.start }, { x.start }, checked, f)
        if not problem.tracing() and not finite:item() then raise(name, "f is not finite at x0") end
        result.x, result.fun = x.tree_of(result.x, true), result.fun:reshape(x.result.shape)
        return problem.result(result, { "nit", "nfev", "status", "success" }, MESSAGES)
    end
    jit.off(optimize.root)
end
