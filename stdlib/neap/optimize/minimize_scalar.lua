--- minimize_scalar.lua: np.optimize.minimize_scalar: a minimum of a function of a number, by Brent's method.
--
-- The minimum lies between a and b; x is the best point so far, w the second best, v the one before. The next point is
-- the minimum of the parabola through these three, or, where that is no good step, the golden section of the larger
-- part (R. P. Brent, Algorithms for Minimization Without Derivatives, 1973, chapter 5).
local core = require "neap.core"
local problem = require "neap.optimize.problem"
local roots = require "neap.transforms.custom_root"
local solvers = require "neap.tracing.solvers"

local np = core.np
local where, both, either, negate, raise = np.where, np.logical_and, np.logical_or, np.logical_not, core.raise

local GOLDEN = (3 - math.sqrt(5)) / 2
local GROWTH, MOST_GROWTHS = 1 / GOLDEN - 1, 100

local MESSAGES = {
    [0] = "converged",
    [1] = "the largest number of iterations is reached",
    [2] = "no bracket of a minimum is found",
    [3] = "f gives NaN",
}
local STATUS = { converged = 0, exhausted = 1, unbracketed = 2, undefined = 3, running = 4 }

local function code(value) return core.number(value, core.dtype_codes.i32) end

--- The next point of Brent's method, and the step before the last for the turn after.
local function next_point(s, tol)
    local middle = (s.a + s.b) / 2
    local r, q = (s.x - s.w) * (s.fx - s.fv), (s.x - s.v) * (s.fx - s.fw)
    local p = (s.x - s.v) * q - (s.x - s.w) * r
    local divisor = (q - r) * 2
    p, divisor = where(divisor:gt(0), -p, p), np.abs(divisor)
    local step = p / divisor
    local inside = both(step:gt(s.a - s.x), step:lt(s.b - s.x))
    local parabola = both(both(np.abs(s.before):gt(tol), inside), np.abs(step):lt(np.abs(s.before) / 2))
    local larger = where(s.x:lt(middle), s.b - s.x, s.a - s.x)
    local x = s.x + step
    local close = either((x - s.a):lt(tol * 2), (s.b - x):lt(tol * 2))
    step = where(parabola, where(close, where(s.x:lt(middle), tol, -tol), step), larger * GOLDEN)
    local least = where(step:lt(0), -tol, tol)
    return s.x + where(np.abs(step):ge(tol), step, least), step, where(parabola, s.step, larger)
end

--- The state with a new point u.
local function with_point(s, u, fu)
    local better, right = fu:le(s.fx), u:ge(s.x)
    local a = where(better, where(right, s.x, s.a), where(right, s.a, u))
    local b = where(better, where(right, s.b, s.x), where(right, u, s.b))
    local second = both(negate(better), either(fu:le(s.fw), s.w:eq(s.x)))
    local third = both(both(negate(better), negate(second)), either(fu:le(s.fv), either(s.v:eq(s.x), s.v:eq(s.w))))
    local shifts = either(better, second)
    return { a = a, b = b, x = where(better, u, s.x), fx = where(better, fu, s.fx),
             w = where(better, s.x, where(second, u, s.w)), fw = where(better, s.fx, where(second, fu, s.fw)),
             v = where(shifts, s.w, where(third, u, s.v)), fv = where(shifts, s.fw, where(third, fu, s.fv)) }
end

--- Brent's method between a and b, from x. `status` is that of the bracket. Returns x and { nit, nfev, status }.
local function brent(f, a, b, x, fx, o, calls, status)
    local eps = core.eps(x.dtype)
    local function near(s)
        local tol = np.abs(s.x) * o.tol + eps
        return tol, np.abs(s.x - (s.a + s.b) / 2):le(tol * 2 - (s.b - s.a) / 2)
    end
    local last = np.while_loop(function(s) return s.status:eq(STATUS.running) end, function(s)
        local tol = near(s)
        local u, step, before = next_point(s, tol)
        local fu, k = f(u), s.k + 1
        local next = with_point(s, u, fu)
        local _, done = near(next)
        next.step, next.before, next.k = step, before, k
        next.status = where(np.isnan(fu), code(STATUS.undefined), where(done, code(STATUS.converged),
                            where(k:ge(o.maxiter), code(STATUS.exhausted), code(STATUS.running))))
        return next
    end, { a = a, b = b, x = x, fx = fx, w = x, fw = fx, v = x, fv = fx, step = np.zeros_like(x),
           before = np.zeros_like(x), k = code(0), status = where(np.isnan(fx), code(STATUS.undefined), status) })
    return last.x, { nit = last.k, nfev = calls + last.k, status = last.status }
end

--- Three points around a minimum, downhill from two, with f in the middle, the number of evaluations and a status.
local function bracketed(f, a, b)
    local fa, fb = f(a), f(b)
    local swap = fa:lt(fb)
    a, b, fb = where(swap, b, a), where(swap, a, b), where(swap, fa, fb)
    local c = b + (b - a) * (1 + GROWTH)
    local last = np.while_loop(function(s) return both(s.fc:lt(s.fb), s.k:lt(MOST_GROWTHS)) end, function(s)
        local next = s.c + (s.c - s.b) * (1 + GROWTH)
        return { a = s.b, b = s.c, c = next, fb = s.fc, fc = f(next), k = s.k + 1 }
    end, { a = a, b = b, c = c, fb = fb, fc = f(c), k = code(0) })
    local found = both(last.fc:ge(last.fb), np.isfinite(last.c))
    local status = where(found, code(STATUS.running), where(np.isnan(last.fc + last.fb), code(STATUS.undefined),
                         code(STATUS.unbracketed)))
    return np.minimum(last.a, last.c), np.maximum(last.a, last.c), last.b, last.fb, last.k + 3, status
end

--- The solver (solvers.lua): f of a 0-d array. arrays: the ends of a bracket, or, if s.bounded, the bounds.
local function solve(f, arrays, s)
    local a, b, slope = arrays[1], arrays[2], np.grad(f)
    local function condition(x) return s.bounded and x - np.clip(x - slope(x), a, b) or slope(x) end
    jit.off(condition)
    local x, facts = roots.find("optimize.minimize_scalar", condition, a, function()
        if not s.bounded then
            local low, high, middle, f_middle, calls, status = bracketed(f, a, b)
            return brent(f, low, high, middle, f_middle, s, calls, status)
        end
        local middle = a + (b - a) * GOLDEN
        return brent(f, a, b, middle, f(middle), s, code(1), code(STATUS.running))
    end, function(g, y) return y / g(np.ones_like(y)) end)
    return x, f(x), facts
end

local solver = solvers.new(solve)

for _, f in ipairs { brent, bracketed, solve } do jit.off(f) end

local OPTIONS = { method = true, bracket = true, bounds = true, tol = true, maxiter = true, args = true }

--- The two points of an option.
local function two_points(name, o, option, usual)
    local value = o[option]
    if value == nil and usual then return usual end
    if type(value) ~= "table" or getmetatable(value) ~= nil or #value ~= 2 then
        core.bad_argument(name, nil, option, "a table of two numbers", value)
    end
    core.list(name, ("option '%s'"):format(option), value)
    return { { option, value[1] }, { option, value[2] } }
end

return function(optimize)
    --- np.optimize.minimize_scalar(f, {method=…, bounds={a, b}, bracket={0, 1}, tol=…, maxiter=500, args={}}) ->
    -- result: a local minimum of f(x, …), a function of a 0-d array. The result has x, a 0-d array; fun, f there;
    -- success, status and message; nit and nfev, the numbers of iterations and evaluations. The status is 0 converged,
    -- 1 maxiter reached, 2 f has no minimum downhill from the bracket, 3 f gives NaN. The dtype is that of f and the
    -- points, f32 for numbers alone; halves are solved in f32. In a trace or np.shard_map success, status, nit and nfev
    -- are arrays and there is no message. x is differentiable in all arrays that f reads, and in a bound that holds x
    -- (np.custom_root). Names are as in scipy.optimize.minimize_scalar.
    --- method: "bounded", between bounds, or "brent", downhill from a bracket; by default "bounded" if there are bounds
    --- bounds: the least and the greatest x
    --- bracket: two points, from which "brent" goes downhill
    --- tol: how near x is to the minimum, relative to x; by default the square root of eps
    --- maxiter: the most iterations
    --- args: the further arguments of f, as they are
    --- > r = np.optimize.minimize_scalar(function(x) return (x - 2) ^ 2 + 1 end)
    --- > np.round(r.x, 4), r.fun, r.success
    -- 2.0
    -- 1.0
    -- true
    function optimize.minimize_scalar(f, given)
        local name = "optimize.minimize_scalar"
        local o = core.options(name, given, OPTIONS)
        local told
        f, told = problem.with_args(name, f, o)
        local method = problem.choice(name, o, "method", { bounded = true, brent = true },
                                      o.bounds ~= nil and "bounded" or "brent")
        local bounded = method == "bounded"
        local ends = bounded and two_points(name, o, "bounds")
            or two_points(name, o, "bracket", { { "bracket", 0 }, { "bracket", 1 } })
        local points, value, half = problem.scalar(name, f, ends, told)
        local a, b = points[1], points[2]
        if not problem.tracing() and not (bounded and a:le(b) or a:ne(b)):item() then
            raise(name, "option '%s': %s", ends[1][1], bounded and "the lower bound is above the upper one"
                  or "both points are the same")
        end
        local checked = { bounded = bounded,
                          tol = problem.tolerance(name, o, "tol", math.sqrt(core.eps(core.dtype_of(a).name))),
                          maxiter = problem.maxiter(name, o, 500) }
        local x, fun, facts = solver(name, value, { n = 1, a }, points, checked, f, told)
        return problem.result({ x = half and np.astype(x, half) or x, fun = fun, nit = facts.nit,
                                nfev = facts.nfev, status = facts.status,
                                success = problem.has_status(facts.status, STATUS.converged) },
                              { "nit", "nfev", "status", "success" }, MESSAGES)
    end
    jit.off(optimize.minimize_scalar)
end
