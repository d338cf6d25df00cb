--- residuals.lua: what the methods of np.optimize.least_squares share: costs, the rows that a loss scales, damped
-- steps, the loop of steps, and when it ends: local residuals = require "neap.optimize.residuals".
local core = require "neap.core"
local losses = require "neap.optimize.losses"

local np = core.np
local where, both = np.where, np.logical_and

local residuals = { RUNNING = 9 }

local function code(value) return core.number(value, core.dtype_codes.i32) end

--- The largest absolute value.
function residuals.largest(x) return np.abs(x):max() end

--- The cost of residuals: half the sum of the loss of their squares.
function residuals.cost(r, o)
    local scale = o.f_scale * o.f_scale
    local value = losses[o.loss](r * r / scale)
    return value:sum() * (scale / 2)
end

--- Rows of J and r scaled for the loss: J'r is the gradient of the cost.
function residuals.scaled(r, jac, o)
    if o.loss == "linear" then return r, jac end
    local z = r * r / (o.f_scale * o.f_scale)
    local _, first, second = losses[o.loss](z)
    local size = np.sqrt(np.maximum(first + second * z * 2, core.eps(r.dtype)))
    return r * first / size, jac * size:reshape(size.size, 1)
end

--- The step h with the least |jac h + r|² + |damping h|².
function residuals.step(jac, r, damping)
    local n = jac.shape[2]
    local q, upper = np.linalg.qr(np.concatenate({ jac, np.diag(damping) }, 0))
    local right = np.concatenate { -r, np.zeros({ n }, { dtype = r.dtype }) }
    return np.linalg.solve_triangular(upper, q.T:matmul(right), { lower = false })
end

--- The norms of columns.
function residuals.norms(jac) return np.sqrt((jac * jac):sum(0)) end

--- The status behind a step: s before, `cost` and the gradient behind the step h.
local function status_after(s, h, cost, gain, taken, gradient, o)
    local falls = both(both(taken, gain:gt(0.25)), (s.cost - cost):le(s.cost * o.ftol))
    local short = np.sqrt(h:dot(h)):le((np.sqrt(s.x:dot(s.x)) + o.xtol) * o.xtol)
    local status = where(short, code(3), where(s.k:ge(o.maxiter - 1), code(0), code(residuals.RUNNING)))
    status = where(falls, code(2), where(residuals.largest(gradient):le(o.gtol), code(1), status))
    return where(np.isfinite(gradient):all(), status, code(-1))
end

--- The damping and its growth behind a step: it falls where the cost fell as the linear model says.
local function damping_after(s, gain, taken)
    return where(taken, s.damping * np.maximum(1 / 3, 1 - (gain * 2 - 1) ^ 3), s.damping * s.growth),
        where(taken, 2, s.growth * 2)
end

--- Searches from x by turn(f, jacobian, s, o), steps from a state to the next one:
--
--     x, r, jac, cost  the point, residuals, their derivatives, and the cost there
--     sizes            the largest norms of columns of jac so far
--     damping, growth  of the next step; at first `damping` and 2
--     k, status        how many turns there were; a key of MESSAGES (least_squares.lua), or RUNNING
--
-- gradient(x, r, jac): what gtol compares, of r and jac scaled for the loss. damping: a 0-d array; nil: 0.001. Returns
-- x and { nit, nfev, status }.
function residuals.search(f, x, o, turn, gradient, damping)
    local jacobian = np.jacfwd(f)
    local r, jac = f(x), jacobian(x)
    local slopes = gradient(x, residuals.scaled(r, jac, o))
    local first = where(residuals.largest(slopes):le(o.gtol), code(1), code(residuals.RUNNING))
    local last = np.while_loop(function(s) return s.status:eq(residuals.RUNNING) end, function(s)
        return turn(f, jacobian, s, o)
    end, { x = x, r = r, jac = jac, cost = residuals.cost(r, o), sizes = np.zeros_like(x),
           damping = damping or np.ones_like(x[0]) * 1e-3, growth = np.ones_like(x[0]) * 2, k = code(0),
           status = where(np.isfinite(slopes):all(), first, code(-1)) })
    return last.x, { nit = last.k, nfev = last.k + 1, status = last.status }
end

--- The state behind a step h from s to x, where residuals are `moved`: taken if the cost falls, which the model expects
-- it to do by `expected`. gradient: as in search. rule(s, gain, taken): the damping and the growth then, where gain is
-- the fall of the cost over that which is expected; nil: those of Levenberg and Marquardt's method.
function residuals.after(jacobian, s, o, h, x, moved, expected, gradient, rule)
    local cost = residuals.cost(moved, o)
    local gain = (s.cost - cost) / expected
    local taken = both(np.isfinite(cost), gain:gt(0))
    local jac = np.cond(taken, function() return jacobian(x) end, function() return s.jac end)
    local r, place = where(taken, moved, s.r), where(taken, x, s.x)
    local damping, growth = (rule or damping_after)(s, gain, taken)
    cost = where(taken, cost, s.cost)
    local slopes = gradient(place, residuals.scaled(r, jac, o))
    local status = status_after(s, h, cost, gain, taken, slopes, o)
    return { x = place, r = r, jac = jac, cost = cost, sizes = s.sizes, damping = damping, growth = growth, k = s.k + 1,
             status = where(both(np.isfinite(h):all(), np.isfinite(damping)), status, code(-1)) }
end

for _, f in ipairs { residuals.search, residuals.after } do jit.off(f) end

return residuals
