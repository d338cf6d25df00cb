--- minimize.lua: np.optimize.minimize: a local minimum of a function of many numbers.
--
-- All methods with gradients share a loop: a direction (directions.lua), a step (line_search.lua), a test whether
-- the step was the last. The minimum is a root of the gradient, or, with bounds l and u, of x - clip(x - gradient, l,
-- u), where elements are 0 if the gradient is 0 or points out of the bounds. So np.custom_root differentiates minima.
-- The method "slsqp", for constraints, is a library's (slsqp.lua).
local core = require "neap.core"
local constraints = require "neap.optimize.constraints"
local directions = require "neap.optimize.directions"
local line_search = require "neap.optimize.line_search"
local nelder_mead = require "neap.optimize.nelder_mead"
local problem = require "neap.optimize.problem"
local roots = require "neap.transforms.custom_root"
local slsqp = require "neap.optimize.slsqp"
local solvers = require "neap.tracing.solvers"
local staging = require "neap.tracing.staging"

local np = core.np
local where, both, either, raise = np.where, np.logical_and, np.logical_or, core.raise

local MESSAGES = {
    [0] = "converged",
    [1] = "the largest number of iterations is reached",
    [2] = "no step along the direction lowers f: the precision of the dtype is reached, or the gradient is wrong",
    [3] = "f is not finite",
    [4] = "no x was found that satisfies the constraints",
}
local STATUS = { converged = 0, exhausted = 1, stuck = 2, undefined = 3, infeasible = 4, running = 5 }

local function code(value) return core.number(value, core.dtype_codes.i32) end

-- ---- The loop -------------------------------------------------------------------------------------------------------

--- How far x is from a stationary point: the largest element of the gradient, or of a step along -gradient within
-- the bounds.
local function distance(x, g, bounds)
    if bounds then g = x - np.clip(x - g, bounds[1], bounds[2]) end
    return np.abs(g):max()
end

--- 1 for numbers free to move along -g, 0 for numbers held at a bound.
local function free_of(x, g, bounds)
    local held = either(both(x:le(bounds[1]), g:gt(0)), both(x:ge(bounds[2]), g:lt(0)))
    return where(held, np.zeros_like(x), np.ones_like(x))
end

--- along(a), as line_search takes it, from x in direction p.
local function line_from(value_and_grad, x, p, g, bounds)
    local function along(a)
        local moved = x + p * a
        local place = bounds and np.clip(moved, bounds[1], bounds[2]) or moved
        local f, gradient = value_and_grad(place)
        local free = bounds and where(place:eq(moved), p, 0) or p
        return { f = f, gradient = gradient, slope = gradient:dot(free), fall = g:dot(place - x) }
    end
    jit.off(along)
    return along
end

--- A direction in which f falls: the strategy's, or -g, where the memory begins anew.
local function descent(strategy, s, bounds)
    local free = bounds and free_of(s.x, s.g, bounds)
    local p, calls = strategy.direction(s.memory, s.x, s.g, free)
    local steepest = free and -s.g * free or -s.g
    local falls = s.g:dot(p):lt(0)
    local memory, anew = {}, strategy.memory(s.x)
    for key, kept in pairs(s.memory) do memory[key] = where(falls, kept, anew[key]) end
    return where(falls, p, steepest), memory, calls
end

--- The status behind a step from s to x, where f and g are given.
local function status_after(s, x, f, g, a, o, bounds)
    local done = distance(x, g, bounds):le(o.gtol)
    if o.ftol then
        local scale = np.maximum(np.maximum(np.abs(s.f), np.abs(f)), 1)
        done = either(done, both(a:gt(0), (s.f - f):le(scale * o.ftol)))
    end
    local finite, far = both(np.isfinite(f), np.isfinite(g):all()), distance(x, g, bounds)
    local stalls = either(a:eq(0), both(f:ge(s.f), far:ge(distance(s.x, s.g, bounds))))
    return where(np.logical_not(finite), code(STATUS.undefined), where(done, code(STATUS.converged),
                 where(stalls, code(STATUS.stuck),
                       where(s.k:ge(o.maxiter - 1), code(STATUS.exhausted), code(STATUS.running)))))
end

--- Descends from x, along the directions of a strategy. Returns x and { nit, nfev, status }.
local function descend(value_and_grad, x, strategy, o, bounds)
    local eps = core.eps(x.dtype)
    if bounds then x = np.clip(x, bounds[1], bounds[2]) end
    local f, g = value_and_grad(x)
    local finite, near = both(np.isfinite(f), np.isfinite(g):all()), distance(x, g, bounds):le(o.gtol)
    local first = where(finite, where(near, code(STATUS.converged), code(STATUS.running)), code(STATUS.undefined))
    local last = np.while_loop(function(s) return s.status:eq(STATUS.running) end, function(s)
        local p, memory, calls = descent(strategy, s, bounds)
        local size = np.sqrt(p:dot(p))
        local begin = o.scaled and where(s.k:eq(0), np.minimum(1, 1 / size), 1) or np.ones_like(size)
        local start = { f = s.f, slope = s.g:dot(p), gradient = s.g }
        local found = line_search(line_from(value_and_grad, s.x, p, s.g, bounds), start, begin, not bounds, eps)
        local moved = s.x + p * found.a
        if bounds then moved = np.clip(moved, bounds[1], bounds[2]) end
        o.each(moved)
        return { x = moved, f = found.f, g = found.gradient, k = s.k + 1, calls = s.calls + calls + found.calls,
                 memory = strategy.update(memory, moved - s.x, found.gradient - s.g),
                 status = status_after(s, moved, found.f, found.gradient, found.a, o, bounds) }
    end, { x = x, f = f, g = g, memory = strategy.memory(x), k = code(0), calls = code(1), status = first })
    return last.x, { nit = last.k, nfev = last.calls, status = last.status }
end

-- ---- Options --------------------------------------------------------------------------------------------------------

local OPTIONS = { method = true, bounds = true, constraints = true, tol = true, maxiter = true, args = true,
                  callback = true }

-- Of each method strategy(eps, gradient), tolerances, and the most iterations for each number of x.
local METHODS = {
    bfgs = { strategy = directions.bfgs, scaled = true, maxiter = 200, tol = 1e-5 },
    ["l-bfgs"] = { strategy = directions.lbfgs, scaled = true, tol = 1e-5, ftol = 2.2e-9, bounded = true },
    ["newton-cg"] = { strategy = directions.newton_cg, maxiter = 200, tol = 1e-5 },
    ["nelder-mead"] = { maxiter = 200, tol = 1e-4 },
    slsqp = { most = 100, tol = 1e-6, coarse = 1e-3, bounded = true },
}

--- The option bounds as two vectors; nil: there is none.
local function bounds_of(name, o, x, method)
    if o.bounds == nil then return nil end
    if not METHODS[method].bounded then
        raise(name, 'method "%s" takes no bounds; "l-bfgs" and "slsqp" do', method)
    end
    local list = problem.bounds(name, o, x)
    if not problem.tracing() and not list[1]:le(list[2]):all():item() then
        raise(name, "option 'bounds': a lower bound is above the upper one, or not a number")
    end
    return list
end

--- The function to call with x, in the form of x0, after each turn; nil: there is none.
local function each_of(name, o, x)
    if o.callback == nil then return nil end
    local called = np.callback(staging.check_function(name, o.callback, nil, "callback"))
    local function each(v) called(x.tree_of(v, true)) end
    jit.off(each)
    return each
end

--- The checked options of a call, with defaults by x0 and method.
local function checked_options(name, o, x, method, bounds)
    local facts = METHODS[method]
    local tol = problem.tolerance(name, o, "tol", x.dtype == "f32" and facts.coarse or facts.tol)
    local most = facts.most or (core.is_size(x.n) or not facts.maxiter) and 15000 or facts.maxiter * x.n
    return { method = method, bounded = bounds ~= nil, gtol = tol, tol = tol,
             ftol = facts.ftol and (o.tol and tol or facts.ftol), scaled = facts.scaled,
             maxiter = problem.maxiter(name, o, most) }
end

--- Raises if f was not finite where the search began.
local function check_first(name, first)
    if problem.tracing() then return end
    first = first:item()
    if first ~= first or first == math.huge or first == -math.huge then
        raise(name, "f is %s at x0", first ~= first and "NaN" or "infinite")
    end
end

-- ---- np.optimize.minimize -------------------------------------------------------------------------------------------

--- The solver (solvers.lua): f of a vector. arrays: where the search begins, then the bounds, if s.bounded; each: what
-- is called after a turn; nil: nothing. Returns what a result has of vectors, and f where the search begins.
local function solve(f, arrays, s, each)
    local start, bounds = arrays[1], s.bounded and { arrays[2], arrays[3] } or nil
    local value_and_grad, gradient = np.value_and_grad(f), np.grad(f)
    local o = setmetatable({ each = each or function() end, status = STATUS }, { __index = s })
    local function condition(v)
        local g = gradient(v)
        return bounds and v - np.clip(v - g, bounds[1], bounds[2]) or g
    end
    jit.off(condition)
    local first = f(bounds and np.clip(start, bounds[1], bounds[2]) or start)
    local found, facts = roots.find("optimize.minimize", condition, start, function(_, x)
        if s.method == "nelder-mead" then return nelder_mead(f, x, o) end
        local strategy = METHODS[s.method].strategy(core.eps(x.dtype), gradient)
        return descend(value_and_grad, x, strategy, o, bounds)
    end)
    local fun, jac = value_and_grad(found)
    return { x = found, fun = fun, jac = jac, nit = facts.nit, nfev = facts.nfev, status = facts.status,
             success = facts.status:eq(STATUS.converged) }, first
end
jit.off(solve)

local solver = solvers.new(solve)

--- The result of method "slsqp", with x and jac as vectors.
local function solve_constrained(name, value, x, bounds, checked, o)
    if problem.tracing() then
        raise(name, 'method "slsqp" waits for values, which are unknown in a trace (np.jit, np.vmap, np.shard_map)')
    end
    local callback = o.callback
    if callback ~= nil then callback = staging.check_function(name, callback, nil, "callback") end
    local list = constraints.list(name, o.constraints, x)
    local result, first = slsqp.minimize(name, value, x, list, bounds,
                                         { tol = checked.tol, maxiter = checked.maxiter, STATUS = STATUS }, callback)
    if not result then raise(name, "f is %s at x0", first ~= first and "NaN" or "infinite") end
    return result
end
jit.off(solve_constrained)

--- The method of a call: the option, else one that takes what is given.
local function method_of(name, o)
    local default = o.constraints ~= nil and "slsqp" or o.bounds ~= nil and "l-bfgs" or "bfgs"
    local method = problem.choice(name, o, "method", METHODS, default)
    if o.constraints ~= nil and method ~= "slsqp" then
        raise(name, 'method "%s" takes no constraints; "slsqp" does', method)
    end
    return method
end

return function(optimize)
    --- np.optimize.minimize(f, x0, {method=…, bounds={lower, upper}, constraints={…}, tol=…, maxiter=…, args={},
    -- callback=…}) -> result:
    -- a local minimum of f(x, …), a number, near x0, an array, a number or a tree of arrays. f gets x in the form
    -- of x0. The result has x in the same form; fun and jac, f and its gradient there; success, status and message;
    -- nit, how many iterations, and nfev, how many evaluations of f, with the gradient where needed. The status
    -- is 0 converged, 1 maxiter reached, 2 no step lowers f any more, 3 f or the gradient is not finite, 4 no x was
    -- found that satisfies the constraints. All is
    -- computed in the dtype of f and x0, f32 for halves. Raises if f is not finite at x0. In a trace or np.shard_map
    -- success, status, nit and nfev are arrays, nothing is raised and there is no message. x is differentiable in all
    -- arrays that f reads, and in active bounds (np.custom_root). Methods are scipy.optimize.minimize's in small
    -- letters; gradients are np.grad's, the line search asks for the strong Wolfe conditions, and with bounds for
    -- sufficient decrease on a path bent at the bounds. "slsqp" is NLopt's (package libnlopt0): Kraft's sequential
    -- quadratic programs. It waits for values, and raises in a trace. Its result has multipliers, an array for each
    -- constraint in the order given: the gradient of f is the sum of multipliers times the gradients of constraints,
    -- and of what bounds hold; and maxcv, how much the constraints are missed at most. Its x and multipliers have
    -- derivatives by what f, constraints and limits read, where what holds with equality goes on to do so.
    --- method: "bfgs", "l-bfgs", "newton-cg", "nelder-mead" or "slsqp"; by default "bfgs", with bounds "l-bfgs", with
    -- constraints "slsqp"
    --- bounds: the least and the greatest x: numbers, arrays or trees like x0; for "l-bfgs" and "slsqp". Where x0 is
    -- out of bounds the search begins at them, as SciPy's L-BFGS-B does
    --- constraints: for "slsqp": a table, or a table of tables, {type="eq", fun=g} for g(x) == 0, {type="ineq", fun=g}
    -- for g(x) >= 0, {fun=g, lb=…, ub=…} for lb <= g(x) <= ub, or {A=…, lb=…, ub=…} for lb <= A x <= ub, where x is all
    -- numbers of x0 in a row. g returns an array of any shape; args has further arguments of g, and jac a function that
    -- returns the derivatives of g by x, in the place of np.jacobian's. x0 need not satisfy the constraints
    --- tol: how large the largest element of the gradient may be, by default 1e-5; for "l-bfgs" the fall of f relative
    -- to f, too (2.2e-9); for "nelder-mead" the size of the simplex and the spread of its values (1e-4); for "slsqp"
    -- how much constraints may be missed, and how large, relative to the gradient, what multipliers leave of it may be
    -- (1e-6, f32 1e-3)
    --- maxiter: the most iterations; by default 200 for each number of x, for "l-bfgs" 15000, for "slsqp" 100
    --- args: the further arguments of f, as they are
    --- callback: a function to call with x after each iteration
    --- > r = np.optimize.minimize(function(x) return ((x - 1) ^ 2):sum() + x[0] ^ 4 end, np.zeros(2))
    --- > np.round(r.x, 4), r.success, r.status
    -- [0.5898 1.    ]
    -- true
    -- 0
    function optimize.minimize(f, x0, given)
        local name = "optimize.minimize"
        local o = core.options(name, given, OPTIONS)
        local user_function = problem.with_args(name, f, o)
        local method = method_of(name, o)
        local x = problem.vector(name, user_function, x0)
        if #x.result.shape ~= 0 then
            raise(name, "f must return a number or a 0-d array (reduce it, as with :sum()), got shape %s",
                  x.result.text)
        end
        local value = problem.of_vector(name, user_function, x)
        local bounds = bounds_of(name, o, x, method)
        local checked = checked_options(name, o, x, method, bounds)
        local arrays = { x.start, unpack(bounds or {}) }
        local each = method ~= "slsqp" and each_of(name, o, x) or nil
        local result, first
        if method == "slsqp" then
            result = solve_constrained(name, value, x, bounds, checked, o)
        elseif each then
            result, first = solve(value, arrays, checked, each)
        else
            result, first = solver(name, value, { n = 1, x.start }, arrays, checked, f)
        end
        if first then check_first(name, first) end
        result.x, result.jac = x.tree_of(result.x, true), x.tree_of(result.jac, true)
        return problem.result(result, { "nit", "nfev", "status", "success" }, MESSAGES)
    end
    jit.off(optimize.minimize)
end
