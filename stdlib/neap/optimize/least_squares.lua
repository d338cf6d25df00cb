--- least_squares.lua: np.optimize.least_squares: the least sum of squares of residuals, by Levenberg and Marquardt, or,
-- with bounds, as reflective.lua or dogleg.lua says.
--
-- A step h solves (J'J + mu D²) h = -J'r, where D are the largest norms of the columns of J so far, by a QR
-- factorization of J with the rows of sqrt(mu) D below. mu falls where the sum of squares falls as the linear model
-- says, and grows otherwise (K. Madsen, H. Nielsen and O. Tingleff, Methods for Non-Linear Least Squares Problems, 2nd
-- ed., 2004, section 3.2; J. Moré, The Levenberg-Marquardt algorithm, 1978, for D). Another loss scales rows of J and r
-- so that J'r is the gradient and J'J the Hessian without second derivatives of residuals (B. Triggs et al., Bundle
-- Adjustment, 1999).
local core = require "neap.core"
local dogleg = require "neap.optimize.dogleg"
local losses = require "neap.optimize.losses"
local problem = require "neap.optimize.problem"
local reflective = require "neap.optimize.reflective"
local roots = require "neap.transforms.custom_root"
local shared = require "neap.optimize.residuals"
local solvers = require "neap.tracing.solvers"

local np = core.np
local where, raise = np.where, core.raise

local MESSAGES = {
    [-1] = "the residuals or their derivatives are not finite",
    [0] = "the largest number of iterations is reached",
    [1] = "the gradient is as small as gtol",
    [2] = "the sum of squares falls by less than ftol",
    [3] = "the step is smaller than xtol",
}

local BOUNDED = { trf = reflective, dogbox = dogleg } -- methods that take bounds

local least = { MESSAGES = MESSAGES }

-- ---- Levenberg and Marquardt ----------------------------------------------------------------------------------------

local function gradient_of(_, r, jac) return r:matmul(jac) end

--- A turn: a step, taken if the cost falls.
local function turn(residuals, jacobian, s, o)
    local r, jac = shared.scaled(s.r, s.jac, o)
    local sizes = np.maximum(s.sizes, shared.norms(s.jac)) -- not of scaled rows, which may be nearly 0
    local weights = where(sizes:gt(0), sizes, 1)
    local h = shared.step(jac, r, weights * np.sqrt(s.damping))
    local x = s.x + h
    local expected = ((weights * weights * h * s.damping - r:matmul(jac)) * h):sum() / 2
    local after = shared.after(jacobian, s, o, h, x, residuals(x), expected, gradient_of)
    after.sizes = sizes
    return after
end

-- ---- The search -----------------------------------------------------------------------------------------------------

--- The root that np.custom_root differentiates: of the gradient of the cost; with bounds, two vectors, of x - clip(x -
-- gradient). x, and facts.
function least.find(name, residuals, start, o, bounds)
    local gradient = np.grad(function(v) return shared.cost(residuals(v), o) end)
    local function condition(v)
        local g = gradient(v)
        return bounds and v - np.clip(v - g, bounds[1], bounds[2]) or g
    end
    jit.off(condition)
    return roots.find(name, condition, start, function(_, x)
        if bounds then return BOUNDED[o.method].search(residuals, x, bounds, o) end
        return shared.search(residuals, x, o, turn, gradient_of)
    end)
end

--- The checked options of a call, for vectors of a dtype and n numbers.
function least.options(name, o, dtype, n)
    local usual = math.max(1e-8, core.eps(dtype))
    local scale = o.f_scale == nil and 1 or core.plain(o.f_scale)
    if type(scale) ~= "number" or not (scale > 0 and scale < math.huge) then
        core.bad_argument(name, nil, "f_scale", "a number above 0", scale)
    end
    return { loss = problem.choice(name, o, "loss", losses, "linear"), f_scale = scale,
             ftol = problem.tolerance(name, o, "ftol", usual), xtol = problem.tolerance(name, o, "xtol", usual),
             gtol = problem.tolerance(name, o, "gtol", usual),
             maxiter = problem.maxiter(name, o, core.is_size(n) and 10000 or 100 * n) }
end

--- Raises if there are fewer residuals than numbers in x.
function least.check_count(name, count, n)
    if count < n then
        raise(name, "there are %s residuals for %s numbers in x; at least as many are needed", tostring(count),
              tostring(n))
    end
end

-- ---- np.optimize.least_squares --------------------------------------------------------------------------------------

--- The solver (solvers.lua): residuals of a vector. arrays: where the search begins, then the bounds, if s.bounded.
-- Returns what a result has of vectors, and whether the first residuals are finite.
local function solve(residuals, arrays, s)
    local start, bounds = arrays[1], s.bounded and { arrays[2], arrays[3] } or nil
    local finite = np.isfinite(residuals(start)):all()
    local found, facts = least.find("optimize.least_squares", residuals, start, s, bounds)
    local r, jac = residuals(found), np.jacfwd(residuals)(found)
    local scaled_r, scaled_jac = shared.scaled(r, jac, s)
    local gradient = scaled_r:matmul(scaled_jac)
    local method = BOUNDED[s.method]
    local slopes = bounds and method.slopes(found, gradient, bounds) or gradient
    return { x = found, cost = shared.cost(r, s), fun = r, jac = jac, grad = gradient,
             optimality = shared.largest(slopes), nit = facts.nit, nfev = facts.nfev, status = facts.status,
             success = facts.status:gt(0), active_mask = bounds and method.active(found, bounds, s.xtol) }, finite
end

local solver = solvers.new(solve)

local OPTIONS = { method = true, bounds = true, loss = true, f_scale = true, ftol = true, xtol = true, gtol = true,
                  maxiter = true, args = true }

--- The option bounds as two vectors (problem.bounds), with room between them; infinite ones, if a method that takes
-- bounds gets none. nil for the method "lm". And the method.
function least.bounds(name, o, x, start)
    local known, usual = { lm = true, trf = true, dogbox = true }, o.bounds == nil and "lm" or "trf"
    local method = problem.choice(name, o, "method", known, usual)
    if method == "lm" then
        if o.bounds ~= nil then raise(name, 'method "lm" takes no bounds; "trf" and "dogbox" do') end
        return nil, method
    end
    local bounds = problem.bounds(name, { bounds = o.bounds or { -math.huge, math.huge } }, x)
    if not problem.tracing() then
        if not bounds[1]:lt(bounds[2]):all():item() then
            raise(name, "option 'bounds': a lower bound is not below the upper one")
        end
        if not np.logical_and(start:ge(bounds[1]), start:le(bounds[2])):all():item() then
            raise(name, "a number of %s is out of the bounds", x.what or "x0")
        end
    end
    return bounds, method
end

function least.define(optimize)
    --- np.optimize.least_squares(f, x0, {method=…, bounds={lower, upper}, loss="linear", f_scale=1, ftol=…, xtol=…,
    -- gtol=…, maxiter=…, args={}}) -> result: the x near x0, an array, a number or a tree of arrays, with the least
    -- cost: half the sum of the loss of the squares of f(x, …), an array of residuals; for "lm" at least as many as x
    -- has numbers. The result has x, in the form of x0; cost; fun, the residuals; jac, their derivatives, a row for
    -- each residual and a column for each number of x; grad, the gradient of the cost, in the form of x0, and
    -- optimality, its largest element (with "trf" each one counts times the distance from the bound to which x would
    -- go, with "dogbox" none of numbers that a bound holds); success, status and message; nit and nfev, the numbers of
    -- iterations and evaluations; with bounds active_mask, in the form of x0: -1 where x is at the lower bound, 1
    -- where at the upper one, 0 elsewhere. The status is 1, 2 or 3 if gtol, ftol or xtol was reached, 0 maxiter
    -- reached, -1 a residual or derivative is not finite. All is computed in the dtype of f and x0, f32 for halves.
    -- Raises if a residual is not finite at x0, or x0 is out of bounds. In a trace or np.shard_map success, status,
    -- nit and nfev are arrays, nothing is raised and there is no message. x is differentiable in all arrays that f
    -- reads, and in active bounds (np.custom_root). Names are as in scipy.optimize.least_squares; derivatives of f are
    -- np.jacfwd's.
    --- method: "lm", Levenberg and Marquardt's, or within bounds "trf", reflective steps, or "dogbox", steps in boxes,
    -- which come to bounds exactly; with bounds "trf", else "lm"
    --- bounds: the least and the greatest x: numbers, arrays or trees like x0; infinite where there is none
    --- loss: of the square z of a residual over f_scale: "linear" z, "soft_l1" 2 (sqrt(1 + z) - 1), "huber" z to 1 and
    -- then 2 sqrt(z) - 1, "cauchy" log(1 + z), "arctan" arctan(z)
    --- f_scale: the size of residuals from where another loss than "linear" counts less
    --- ftol: the relative fall of the cost that ends the search; 1e-8, or eps where larger
    --- xtol: the relative length of the last step; the same
    --- gtol: the largest element of the gradient; the same
    --- maxiter: the most iterations; by default 100 for each number of x
    --- args: the further arguments of f, as they are
    --- > y = np.array{1, 3, 5}
    --- > r = np.optimize.least_squares(function(p) return p[0] * np.arange(3) + p[1] - y end, np.zeros(2))
    --- > np.round(r.x, 4), r.success
    -- [2. 1.]
    -- true
    function optimize.least_squares(f, x0, given)
        local name = "optimize.least_squares"
        local o = core.options(name, given, OPTIONS)
        f = problem.with_args(name, f, o)
        local x = problem.vector(name, f, x0)
        local bounds, method = least.bounds(name, o, x, x.start)
        local checked, value = least.options(name, o, x.dtype, x.n), problem.of_vector(name, f, x)
        local count = 1
        for _, extent in ipairs(x.result.shape) do count = count * extent end
        if not bounds then least.check_count(name, count, x.n) end
        local function residuals(v) return value(v):reshape(-1) end
        jit.off(residuals)
        checked.bounded, checked.method = bounds ~= nil, method
        local arrays = { x.start, unpack(bounds or {}) }
        local result, finite = solver(name, residuals, { n = 1, x.start }, arrays, checked, f)
        if not problem.tracing() and not finite:item() then raise(name, "a residual is not finite at x0") end
        result.x, result.fun = x.tree_of(result.x, true), result.fun:reshape(x.result.shape)
        result.grad = x.tree_of(result.grad, true)
        if bounds then
            local active = x.tree_of(result.active_mask)
            result.active_mask = np.tree.map(function(leaf) return leaf:astype "i32" end, active)
        end
        return problem.result(result, { "nit", "nfev", "status", "success" }, MESSAGES)
    end
    jit.off(optimize.least_squares)
end

for _, f in ipairs { turn, least.find, solve } do jit.off(f) end

return least
