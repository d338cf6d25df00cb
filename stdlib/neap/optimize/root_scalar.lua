--- root_scalar.lua: np.optimize.root_scalar: a root of a function of one number.
--
-- Each method is a np.while_loop with an evaluation of f in each turn: np.jit takes it, and np.vmap runs
-- many functions or brackets at once. np.custom_root differentiates the root: derivatives go through no loop.
--
-- A method is function(f, points, o) -> root, facts: points are the ends of the bracket or the starts, o the checked
-- options; facts = { iterations, function_calls, status }, and for brackets fa and fb, f at both ends.
local core = require "neap.core"
local problem = require "neap.optimize.problem"
local roots = require "neap.transforms.custom_root"
local solvers = require "neap.tracing.solvers"

local np = core.np
local where, raise = np.where, core.raise

local MESSAGES = {
    [0] = "converged",
    [1] = "f has the same sign at both ends of the bracket",
    [2] = "the largest number of iterations is reached",
    [3] = "f gives NaN",
    [4] = "the derivative or the difference of f is 0, so there is no step",
}
local CONVERGED, UNBRACKETED, EXHAUSTED, UNDEFINED, FLAT, RUNNING = 0, 1, 2, 3, 4, 5

local function code(value) return core.number(value, core.dtype_codes.i32) end

--- The status where a turn ends, from conditions; the first true condition counts.
local function status_of(converged, undefined, k, o)
    return where(converged, code(CONVERGED), where(undefined, code(UNDEFINED),
                 where(np.greater_equal(k, o.maxiter), code(EXHAUSTED), code(RUNNING))))
end

local function is_running(s) return s.status:eq(RUNNING) end

--- How near to x a root is taken for x.
local function nearness(x, o) return o.xtol + o.rtol * np.abs(x) end

-- ---- Brackets -------------------------------------------------------------------------------------------------------

local function differ(fa, fb) return np.not_equal(np.signbit(fa), np.signbit(fb)) end

--- The status before the first turn: an end is a root, or the signs at both ends differ.
local function bracket_status(fa, fb)
    local undefined = np.logical_or(np.isnan(fa), np.isnan(fb))
    local is_root = np.logical_or(fa:eq(0), fb:eq(0))
    return where(undefined, code(UNDEFINED), where(is_root, code(CONVERGED),
                 where(differ(fa, fb), code(RUNNING), code(UNBRACKETED))))
end

--- Bisection: half of the bracket in each turn.
local function bisect(f, points, o)
    local a, b = points[1], points[2]
    local fa, fb = f(a), f(b)
    local first = bracket_status(fa, fb)
    local last = np.while_loop(is_running, function(s)
        local width = s.width * 0.5
        local x = s.a + width
        local fx, k = f(x), s.k + 1
        local converged = np.logical_or(fx:eq(0), np.abs(width):lt(nearness(x, o)))
        return { a = where(differ(fx, fa), s.a, x), width = width, x = x, k = k,
                 status = status_of(converged, np.isnan(fx), k, o) }
    end, { a = a, width = b - a, x = where(fa:eq(0), a, b), k = code(0), status = first })
    return last.x, { iterations = last.k, function_calls = last.k + 2, status = last.status, fa = fa, fb = fb }
end

--- The state at the beginning of a turn of Brent's method: the root lies between x and `other`, and f is no larger
-- at x, the newer end; `step` and `before` are the last two steps.
local function ordered(s)
    local changes = np.logical_and(np.logical_and(s.fbefore:ne(0), s.fx:ne(0)), differ(s.fbefore, s.fx))
    local other, fother = where(changes, s.before, s.other), where(changes, s.fbefore, s.fother)
    local width = s.x - s.before
    local last, step = where(changes, width, s.last), where(changes, width, s.step)
    local swap = np.abs(fother):lt(np.abs(s.fx))
    return { before = where(swap, s.x, s.before), fbefore = where(swap, s.fx, s.fbefore),
             x = where(swap, other, s.x), fx = where(swap, fother, s.fx),
             other = where(swap, s.x, other), fother = where(swap, s.fx, fother), last = last, step = step, k = s.k }
end

--- The next point of Brent's method: by the secant or inverse quadratic extrapolation where steps shrink,
-- else by bisection (R. P. Brent, Algorithms for Minimization Without Derivatives, 1973, chapter 4).
local function brent_step(s, o)
    local delta, half = nearness(s.x, o) / 2, (s.other - s.x) / 2
    local secant = -s.fx * (s.x - s.before) / (s.fx - s.fbefore)
    local slope, across = (s.fbefore - s.fx) / (s.before - s.x), (s.fother - s.fx) / (s.other - s.x)
    local quadratic = -s.fx * (s.fother * across - s.fbefore * slope) / (across * slope * (s.fother - s.fbefore))
    local try = where(s.before:eq(s.other), secant, quadratic)
    local short = (np.abs(try) * 2):lt(np.minimum(np.abs(s.last), np.abs(half) * 3 - delta))
    local may = np.logical_and(np.abs(s.last):gt(delta), np.abs(s.fx):lt(np.abs(s.fbefore)))
    local takes = np.logical_and(may, short)
    local step, last = where(takes, try, half), where(takes, s.step, half)
    local least = where(half:gt(0), delta, -delta)
    return s.x + where(np.abs(step):gt(delta), step, least), step, last
end

--- Whether Brent's method ends.
local function brent_done(s, o)
    return np.logical_or(s.fx:eq(0), (np.abs(s.other - s.x) / 2):lt(nearness(s.x, o) / 2))
end

local function brentq(f, points, o)
    local a, b = points[1], points[2]
    local fa, fb = f(a), f(b)
    local zero = np.zeros_like(a)
    local first, starts = bracket_status(fa, fb), ordered { before = a, fbefore = fa, x = b, fx = fb, other = zero,
                                                            fother = zero, last = zero, step = zero, k = code(0) }
    starts.x = where(fa:eq(0), a, starts.x)
    local is_near = np.logical_and(first:eq(RUNNING), brent_done(starts, o))
    starts.k = where(np.logical_or(first:eq(RUNNING), is_near), code(1), code(0))
    starts.status = where(is_near, code(CONVERGED), first)
    local last = np.while_loop(is_running, function(s)
        local x, step, before_last = brent_step(s, o)
        local next = ordered { before = s.x, fbefore = s.fx, x = x, fx = f(x), other = s.other, fother = s.fother,
                               last = before_last, step = step, k = s.k }
        local converged, undefined = brent_done(next, o), np.isnan(next.fx)
        local full = np.logical_and(np.logical_not(np.logical_or(converged, undefined)), s.k:ge(o.maxiter))
        next.k = where(full, s.k, s.k + 1)
        next.status = where(full, code(EXHAUSTED), status_of(converged, undefined, s.k, { maxiter = 2 ^ 31 - 1 }))
        return next
    end, starts)
    local calls = np.maximum(last.k + 1, 2) + where(last.status:eq(EXHAUSTED), code(1), code(0))
    return last.x, { iterations = last.k, function_calls = calls, status = last.status, fa = fa, fb = fb }
end

-- ---- Starts ---------------------------------------------------------------------------------------------------------

--- A function of x that returns f(x) and the first derivative, and with `second` the second.
local function with_slopes(f, second)
    local function slope(x)
        local y, d = np.jvp(f, { x }, { np.ones_like(x) })
        return y, d
    end
    jit.off(slope)
    if not second then return slope end
    local function slopes(x)
        local y, d, _, bend = np.jvp(slope, { x }, { np.ones_like(x) })
        return y, d, bend
    end
    jit.off(slopes)
    return slopes
end

--- Newton's method, or with `second` Halley's.
local function newton_like(second)
    return function(f, points, o)
        local derived = with_slopes(f, second)
        local last = np.while_loop(is_running, function(s)
            local y, d, dd = derived(s.x)
            local step, is_root = y / d, y:eq(0)
            if second then
                local bend = step * dd / d / 2
                step = where(np.abs(bend):lt(1), step / (1 - bend), step)
            end
            local x = where(is_root, s.x, s.x - step)
            local k = where(is_root, s.k, s.k + 1)
            local near = np.logical_or(is_root, np.abs(x - s.x):le(nearness(s.x, o)))
            local flat = np.logical_and(d:eq(0), np.logical_not(is_root))
            local status = where(flat, code(FLAT), status_of(near, np.isnan(x), k, o))
            return { x = where(flat, s.x, x), k = k, calls = s.calls + 1, status = status }
        end, { x = points[1], k = code(0), calls = code(0), status = code(RUNNING) })
        return last.x, { iterations = last.k, function_calls = last.calls, status = last.status }
    end
end

--- The secant method; without x1 the second point lies beside x0.
local function secant(f, points, o)
    local x0 = points[1]
    local x1 = points[2] or x0 * (1 + 1e-4) + where(x0:ge(0), 1e-4, -1e-4)
    local f0, f1 = f(x0), f(x1)
    local swap = np.abs(f1):lt(np.abs(f0))
    local last = np.while_loop(is_running, function(s)
        local k, flat = s.k + 1, s.fx:eq(s.fbefore)
        local steep = np.abs(s.fx):gt(np.abs(s.fbefore))
        local ratio = where(steep, s.fbefore / s.fx, s.fx / s.fbefore)
        local x = where(steep, (s.before - ratio * s.x) / (1 - ratio), (s.x - ratio * s.before) / (1 - ratio))
        local is_root = s.fx:eq(0)
        x = where(is_root, s.x, where(flat, (s.x + s.before) / 2, x))
        local near = np.logical_or(is_root, np.abs(x - s.x):le(nearness(s.x, o)))
        local stuck = np.logical_and(flat, np.logical_and(s.x:ne(s.before), np.logical_not(is_root)))
        local status = where(stuck, code(FLAT), status_of(near, np.isnan(x), k, o))
        return { before = s.x, fbefore = s.fx, x = x, fx = f(x), k = k, status = status }
    end, { before = where(swap, x1, x0), fbefore = where(swap, f1, f0), x = where(swap, x0, x1),
           fx = where(swap, f0, f1), k = code(0), status = code(RUNNING) })
    return last.x, { iterations = last.k, function_calls = last.k + 2, status = last.status }
end

-- ---- np.optimize.root_scalar ----------------------------------------------------------------------------------------

local METHODS = { brentq = brentq, bisect = bisect, newton = newton_like(false), halley = newton_like(true),
                  secant = secant }
local BRACKETED = { brentq = true, bisect = true }
local OPTIONS = { method = true, bracket = true, x0 = true, x1 = true, xtol = true, rtol = true, maxiter = true,
                  args = true }

--- The first points of a method, a list of { option, value }.
local function starts_of(name, method, o)
    if BRACKETED[method] then
        local bracket = o.bracket
        if type(bracket) ~= "table" or getmetatable(bracket) ~= nil or #bracket ~= 2 then
            core.bad_argument(name, nil, "bracket", "a table of two numbers, as method " .. method .. " needs", bracket)
        end
        core.list(name, "option 'bracket'", bracket)
        return { { "bracket", bracket[1] }, { "bracket", bracket[2] } }
    end
    if o.x0 == nil then core.bad_argument(name, nil, "x0", "a number, as method " .. method .. " needs", nil) end
    return { { "x0", o.x0 }, method == "secant" and o.x1 ~= nil and { "x1", o.x1 } or nil }
end

--- Raises, where values are known, unless f has different signs at the ends of the bracket.
local function check_bracket(name, points, facts)
    if problem.tracing() then return end
    local status = facts.status:item()
    if status ~= UNBRACKETED and status ~= UNDEFINED then return end
    local fa, fb = facts.fa:item(), facts.fb:item()
    if status == UNBRACKETED or fa ~= fa or fb ~= fb then
        raise(name, "f must have different signs at the ends of the bracket, got f(%.9g) = %.9g and f(%.9g) = %.9g",
              points[1]:item(), fa, points[2]:item(), fb)
    end
end

--- The solver (solvers.lua): f of a 0-d array. arrays: the points where the method begins.
local function solve(f, arrays, s)
    return roots.find("optimize.root_scalar", f, arrays[1], function(g) return METHODS[s.method](g, arrays, s) end,
                      function(g, y) return y / g(np.ones_like(y)) end)
end
jit.off(solve)

local solver = solvers.new(solve)

return function(optimize)
    --- np.optimize.root_scalar(f, {method=…, bracket={a, b}, x0=…, x1=…, xtol=…, rtol=…, maxiter=…, args={}}) ->
    -- result: a root of f(x, …), a function of a 0-d array. The result has root, a 0-d array; converged, iterations,
    -- function_calls (derivatives not counted), status and message: 0 converged, 1 no change of sign in the bracket, 2
    -- maxiter reached, 3 f gives NaN, 4 no step, for f is flat. It is of the dtype of f and the points, f32 for numbers
    -- alone; halves are solved in f32. Raises if f has the same sign at both ends of the bracket. In a trace or
    -- np.shard_map converged, iterations, function_calls and status are arrays, nothing is raised and there is no
    -- message. The root is differentiable in all that f reads (np.custom_root). Names and iterates are as in
    -- scipy.optimize.root_scalar; derivatives are np.jvp's.
    --- method: "brentq" or "bisect", for a bracket; "newton", "halley" or "secant", for x0. By default
    -- "brentq" for a bracket, "secant" for x0 and x1, "newton" for x0
    --- bracket: two numbers or 0-d arrays, where f has different signs
    --- x0: where the search begins, a number or a 0-d array
    --- x1: the second point of "secant"; by default beside x0
    --- xtol: how near to the root is enough: 2e-12 for brackets, 1.48e-8 for others
    --- rtol: the same as a share of the root, added to xtol; by default 4 eps of the dtype
    --- maxiter: the most iterations: 100 for brackets, 50 for others
    --- args: the further arguments of f, as they are
    --- > r = np.optimize.root_scalar(function(x, c) return x ^ 3 - c end, {bracket={0, 3}, args={np.array(2)}})
    --- > r.root, r.converged, r.iterations
    -- 1.2599211
    -- true
    -- 8
    function optimize.root_scalar(f, given)
        local name = "optimize.root_scalar"
        local o = core.options(name, given, OPTIONS)
        local told
        f, told = problem.with_args(name, f, o)
        local usual = o.bracket ~= nil and "brentq" or o.x1 ~= nil and "secant" or "newton"
        local method = problem.choice(name, o, "method", METHODS, usual)
        local points, value, half = problem.scalar(name, f, starts_of(name, method, o), told)
        local closed = BRACKETED[method]
        local eps = core.eps(core.dtype_of(points[1]).name)
        local checked = { method = method, xtol = problem.tolerance(name, o, "xtol", closed and 2e-12 or 1.48e-8),
                          rtol = problem.tolerance(name, o, "rtol", 4 * eps),
                          maxiter = problem.maxiter(name, o, closed and 100 or 50) }
        local root, facts = solver(name, value, { n = 1, points[1] }, points, checked, f, told)
        if closed then check_bracket(name, points, facts) end
        return problem.result({ root = half and np.astype(root, half) or root, status = facts.status,
                                converged = problem.has_status(facts.status, CONVERGED), iterations = facts.iterations,
                                function_calls = facts.function_calls },
                              { "converged", "iterations", "function_calls", "status" }, MESSAGES)
    end
    jit.off(optimize.root_scalar)
end
