--- least_squares.lua: np.optimize.least_squares: the least sum of squares of residuals, by Levenberg and Marquardt.
--
-- A step h solves (J'J + mu D²) h = -J'r, where D are the largest norms of the columns of J so far, by a QR
-- factorization of J with the rows of sqrt(mu) D below. mu falls where the sum of squares falls as the linear model
-- says, and grows otherwise (K. Madsen, H. Nielsen and O. Tingleff, Methods for Non-Linear Least Squares Problems, 2nd
-- ed., 2004, section 3.2; J. Moré, The Levenberg-Marquardt algorithm, 1978, for D). Another loss scales rows of J and r
-- so that J'r is the gradient and J'J the Hessian without second derivatives of residuals (B. Triggs et al., Bundle
-- Adjustment, 1999).
local core = require "neap.core"
local losses = require "neap.optimize.losses"
local problem = require "neap.optimize.problem"
local roots = require "neap.transforms.custom_root"

local np = core.np
local where, both, raise = np.where, np.logical_and, core.raise

local MESSAGES = {
    [-1] = "the residuals or their derivatives are not finite",
    [0] = "the largest number of iterations is reached",
    [1] = "the gradient is as small as gtol",
    [2] = "the sum of squares falls by less than ftol",
    [3] = "the step is smaller than xtol",
}
local RUNNING = 9

local function code(value) return core.number(value, core.dtype_codes.i32) end

local function largest(x) return np.abs(x):max() end

local function length(x) return np.sqrt(x:dot(x)) end

local least = { MESSAGES = MESSAGES }

-- ---- Residuals under a loss -----------------------------------------------------------------------------------------

--- The cost of residuals: half the sum of the loss of their squares.
function least.cost(r, o)
    local scale = o.f_scale * o.f_scale
    local value = o.loss(r * r / scale)
    return value:sum() * (scale / 2)
end

--- Rows of J and r scaled for the loss: J'r is the gradient of the cost.
local function scaled(r, jac, o)
    if o.loss == losses.linear then return r, jac end
    local z = r * r / (o.f_scale * o.f_scale)
    local _, first, second = o.loss(z)
    local size = np.sqrt(np.maximum(first + second * z * 2, np.finfo(r.dtype).eps))
    return r * first / size, jac * size:reshape(size.size, 1)
end

-- ---- Levenberg and Marquardt ----------------------------------------------------------------------------------------

--- The step for a damping.
local function step_of(jac, r, damping)
    local n = jac.shape[2]
    local q, upper = np.linalg.qr(np.concatenate({ jac, np.diag(damping) }, 0))
    local right = np.concatenate { -r, np.zeros({ n }, { dtype = r.dtype }) }
    return np.linalg.solve_triangular(upper, q.T:matmul(right), { lower = false })
end

local function norms(jac) return np.sqrt((jac * jac):sum(0)) end

--- The status behind a step: s before, `cost` and the gradient behind the step h.
local function status_after(s, h, cost, gain, taken, gradient, o)
    local falls = both(both(taken, gain:gt(0.25)), (s.cost - cost):le(s.cost * o.ftol))
    local short = length(h):le((length(s.x) + o.xtol) * o.xtol)
    local status = where(short, code(3), where(s.k:ge(o.maxiter - 1), code(0), code(RUNNING)))
    status = where(falls, code(2), where(largest(gradient):le(o.gtol), code(1), status))
    return where(np.isfinite(gradient):all(), status, code(-1))
end

--- A turn: a step, taken if the cost falls.
local function turn(residuals, jacobian, s, o)
    local r, jac = scaled(s.r, s.jac, o)
    local sizes = np.maximum(s.sizes, norms(s.jac)) -- not of scaled rows, which may be nearly 0
    local weights = where(sizes:gt(0), sizes, 1)
    local h = step_of(jac, r, weights * np.sqrt(s.damping))
    local x = s.x + h
    local moved = residuals(x)
    local cost, gradient = least.cost(moved, o), r:matmul(jac)
    local expected = ((weights * weights * h * s.damping - gradient) * h):sum() / 2
    local gain = (s.cost - cost) / expected
    local taken = both(np.isfinite(cost), gain:gt(0))
    local next_jac = np.cond(taken, function() return jacobian(x) end, function() return s.jac end)
    local after, after_jac = where(taken, moved, s.r), next_jac
    local after_r, scaled_jac = scaled(after, after_jac, o)
    local damping = where(taken, s.damping * np.maximum(1 / 3, 1 - (gain * 2 - 1) ^ 3), s.damping * s.growth)
    local status = status_after(s, h, where(taken, cost, s.cost), gain, taken, after_r:matmul(scaled_jac), o)
    return { x = where(taken, x, s.x), r = after, jac = after_jac, cost = where(taken, cost, s.cost), sizes = sizes,
             damping = damping, growth = where(taken, 2, s.growth * 2), k = s.k + 1,
             status = where(both(np.isfinite(h):all(), np.isfinite(damping)), status, code(-1)) }
end

--- Solves from x. residuals(x) is a vector of at least as many numbers as x. Returns x and { nit, nfev, status }.
function least.solve(residuals, x, o)
    local jacobian = np.jacfwd(residuals)
    local r, jac = residuals(x), jacobian(x)
    local first_r, first_jac = scaled(r, jac, o)
    local gradient = first_r:matmul(first_jac)
    local first = where(largest(gradient):le(o.gtol), code(1), code(RUNNING))
    local last = np.while_loop(function(s) return s.status:eq(RUNNING) end, function(s)
        return turn(residuals, jacobian, s, o)
    end, { x = x, r = r, jac = jac, cost = least.cost(r, o), sizes = np.zeros_like(x),
           damping = np.ones_like(x[0]) * 1e-3, growth = np.ones_like(x[0]) * 2, k = code(0),
           status = where(np.isfinite(gradient):all(), first, code(-1)) })
    return last.x, { nit = last.k, nfev = last.k + 1, status = last.status }
end

--- The root of the gradient of the cost, as np.custom_root differentiates it: x, and facts.
function least.find(name, residuals, start, o)
    local gradient = np.grad(function(v) return least.cost(residuals(v), o) end)
    return roots.find(name, gradient, start, function(_, x) return least.solve(residuals, x, o) end)
end

--- The checked options of a call, for vectors of a dtype and n numbers.
function least.options(name, o, dtype, n)
    local usual = math.max(1e-8, np.finfo(dtype).eps)
    local scale = o.f_scale == nil and 1 or core.plain(o.f_scale)
    if type(scale) ~= "number" or not (scale > 0 and scale < math.huge) then
        core.bad_argument(name, nil, "f_scale", "a number above 0", scale)
    end
    return { loss = losses[problem.choice(name, o, "loss", losses, "linear")], f_scale = scale,
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

local OPTIONS = { method = true, loss = true, f_scale = true, ftol = true, xtol = true, gtol = true, maxiter = true,
                  args = true }

function least.define(optimize)
    --- np.optimize.least_squares(f, x0, {method="lm", loss="linear", f_scale=1, ftol=…, xtol=…, gtol=…, maxiter=…,
    -- args={}}) -> result: the x near x0, an array, a number or a tree of arrays, with the least cost: half the sum of
    -- the loss of the squares of f(x, …), an array of at least as many residuals as x has numbers. The result has x, in
    -- the form of x0; cost; fun, the residuals; jac, their derivatives, a row for each residual and a column for each
    -- number of x; grad, the gradient of the cost, in the form of x0, and optimality, its largest element; success,
    -- status and message; nit and nfev, the numbers of iterations and evaluations. The status is 1, 2 or 3 if gtol,
    -- ftol or xtol was reached, 0 maxiter reached, -1 a residual or derivative is not finite. All is computed in the
    -- dtype of f and x0, f32 for halves. Raises if a residual is not finite at x0. In a trace or np.shard_map success,
    -- status, nit and nfev are arrays, nothing is raised and there is no message. x is differentiable in all arrays
    -- that f reads (np.custom_root). Names are as in scipy.optimize.least_squares; derivatives of f are np.jacfwd's.
    --- method: "lm": Levenberg and Marquardt's
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
        problem.choice(name, o, "method", { lm = true }, "lm")
        local x = problem.vector(name, f, x0)
        local checked, value = least.options(name, o, x.dtype, x.n), problem.of_vector(name, f, x)
        local count = 1
        for _, extent in ipairs(x.result.shape) do count = count * extent end
        least.check_count(name, count, x.n)
        local function residuals(v) return value(v):reshape(-1) end
        jit.off(residuals)
        if not problem.tracing() and not np.isfinite(residuals(x.start)):all():item() then
            raise(name, "a residual is not finite at x0")
        end
        local found, facts = least.find(name, residuals, x.start, checked)
        local r, jac = residuals(found), np.jacfwd(residuals)(found)
        local scaled_r, scaled_jac = scaled(r, jac, checked)
        local gradient = scaled_r:matmul(scaled_jac)
        return problem.result({ x = x.tree_of(found, true), cost = least.cost(r, checked), fun = value(found),
                                jac = jac, grad = x.tree_of(gradient, true), optimality = largest(gradient),
                                nit = facts.nit, nfev = facts.nfev, status = facts.status,
                                success = facts.status:gt(0) },
                              { "nit", "nfev", "status", "success" }, MESSAGES)
    end
    jit.off(optimize.least_squares)
end

for _, f in ipairs { turn, least.solve, least.find } do jit.off(f) end

return least
