--- reflective.lua: least squares within bounds: local reflective = require "neap.optimize.reflective".
--
-- Points are inside of the bounds. With d the root of v, the distance of each number from the bound to which -gradient
-- leads, or 1 where there is none, a minimum is where v times the gradient is 0. A step d p has the p of least
--
--     |J d p + r|² + p' C p + mu |W p|²
--
-- where C are the absolute gradients of numbers with such a bound, and W the norms of columns of J d and the root of C.
-- A step that leaves the bounds is cut, reflected at the first bound, or replaced by one along the gradient: that for
-- which the first two terms expect the least cost (M. Branch, T. Coleman and Y. Li, "A Subspace, Interior, and
-- Conjugate Gradient Method for Large-Scale Bound-Constrained Minimization Problems", 1999, as in SciPy's "trf"). mu is
-- the damping of residuals.lua in place of a radius; where a step is reflected, |W p| is the radius.
local core = require "neap.core"
local shared = require "neap.optimize.residuals"

local np = core.np
local where, both, either = np.where, np.logical_and, np.logical_or

local reflective = {}

--- v, and whether a bound lies where -gradient leads.
local function distances(x, gradient, bounds)
    local up, down = both(gradient:lt(0), np.isfinite(bounds[2])), both(gradient:gt(0), np.isfinite(bounds[1]))
    return where(up, bounds[2] - x, where(down, x - bounds[1], 1)), either(up, down)
end

--- v times the gradient.
function reflective.slopes(x, gradient, bounds)
    local v = distances(x, gradient, bounds)
    return gradient * v
end

--- -1 for numbers at their lower bound, 1 for those at the upper one, relatively to it as near as xtol; else 0.
function reflective.active(x, bounds, xtol)
    local function near(distance, other, bound)
        local room = np.maximum(np.abs(bound), 1) * xtol
        return both(np.isfinite(bound), distance:le(np.minimum(other, where(np.isfinite(bound), room, 0))))
    end
    local below, above = x - bounds[1], bounds[2] - x
    return where(near(below, above, bounds[1]), -1, where(near(above, below, bounds[2]), 1, np.zeros_like(x)))
end

--- x with numbers at or behind a bound moved inside, by a share of it, or to the next number.
local function inside(x, bounds, share)
    local lower, upper = bounds[1], bounds[2]
    local function moved(bound, other, sign)
        if not share then return np.nextafter(bound, other) end
        return bound + np.maximum(np.abs(bound), 1) * (sign * share)
    end
    local least, most = moved(lower, upper, 1), moved(upper, lower, -1)
    local none = least:ge(most) -- no such room
    least, most = where(none, (lower + upper) / 2, least), where(none, (lower + upper) / 2, most)
    return where(x:lt(least), least, where(x:gt(most), most, x))
end

--- How many steps s lead from x to the first bound; and which numbers are there.
local function reach(x, s, bounds)
    local still = s:eq(0)
    local steps = where(still, np.inf, (where(s:gt(0), bounds[2], bounds[1]) - x) / where(still, 1, s))
    local first = np.maximum(steps:min(), 0)
    return first, steps:le(first)
end

--- The change of the cost that the model expects of base + t p, as coefficients of 1, t, t².
local function parabola(model, base, p)
    local from, along = model.matrix:matmul(base), model.matrix:matmul(p)
    return { from:dot(from) / 2 + model.gradient:dot(base), from:dot(along) + model.gradient:dot(p),
             along:dot(along) / 2 }
end

local function value_at(c, t) return c[1] + (c[2] + c[3] * t) * t end

--- Where a parabola is least between two places, and its value; infinite if there is nothing between.
local function lowest(c, from, to)
    local flat = c[3]:le(0)
    local t = where(flat, to, np.clip(-c[2] / where(flat, 1, c[3] * 2), from, to))
    return t, where(from:le(to), value_at(c, t), np.inf)
end

--- The t from 0 up at which base + t p is as far from 0 as `radius`, in norms weighted by W.
local function to_radius(base, p, radius, weights)
    base, p = base * weights, p * weights
    local a, b, c = p:dot(p), base:dot(p), base:dot(base) - radius * radius
    local root = np.sqrt(np.maximum(b * b - a * c, 0))
    return (root - b) / where(a:eq(0), 1, a)
end

--- The best of three steps for a p that leaves the bounds; and the change of the cost that is expected of it.
local function bent(model, x, p, bounds, theta)
    local zero, radius = np.zeros_like(p), np.sqrt(((p * model.weights) ^ 2):sum())
    local share, hits = reach(x, model.d * p, bounds)
    local cut = p * (share * theta)
    local change = value_at(parabola(model, zero, p), share * theta)
    local edge, mirrored = p * share, where(hits, -p, p)
    local room = reach(x + model.d * edge, model.d * mirrored, bounds)
    local far = np.minimum(room * theta, to_radius(edge, mirrored, radius, model.weights))
    local t, reflected = lowest(parabola(model, edge, mirrored), share * (1 - theta), far)
    local down = -model.gradient
    local most = np.minimum(reach(x, model.d * down, bounds) * theta, to_radius(zero, down, radius, model.weights))
    local u, steepest = lowest(parabola(model, zero, down), np.zeros_like(most), most)
    local best = np.minimum(change, np.minimum(reflected, steepest))
    return where(change:eq(best), cut, where(reflected:eq(best), edge + mirrored * t, down * u)), best
end

--- A turn: a step, taken if the cost falls.
local function turn(residuals, jacobian, bounds, s, o)
    local r, jac = shared.scaled(s.r, s.jac, o)
    local gradient = r:matmul(jac)
    local v, bounded = distances(s.x, gradient, bounds)
    local d = np.sqrt(v)
    local rows = np.diag(np.sqrt(where(bounded, np.abs(gradient), 0)))
    local matrix = np.concatenate({ jac * d, rows }, 0)
    local sizes = shared.norms(np.concatenate({ s.jac * d, rows }, 0)) -- not of scaled rows, which may be nearly 0
    local model = { matrix = matrix, gradient = gradient * d, d = d, weights = where(sizes:gt(0), sizes, 1) }
    local right = np.concatenate { r, np.zeros_like(s.x) }
    local p = shared.step(matrix, right, model.weights * np.sqrt(s.damping))
    local theta = np.maximum(1 - shared.largest(gradient * v), 0.995)
    local step, change = bent(model, s.x, p, bounds, theta)
    local free = reach(s.x, d * p, bounds):gt(1)
    local whole = value_at(parabola(model, np.zeros_like(p), p), 1)
    local h = d * where(free, p, step)
    local x = inside(s.x + h, bounds)
    return shared.after(jacobian, s, o, x - s.x, x, residuals(x), -where(free, whole, change), function(...)
        return reflective.gradient(bounds, ...)
    end)
end

--- What gtol compares.
function reflective.gradient(bounds, x, r, jac) return reflective.slopes(x, r:matmul(jac), bounds) end

--- Searches from x within bounds, two vectors. Returns x and facts, as shared.search.
function reflective.search(residuals, x, bounds, o)
    local share = math.max(1e-10, 4 * core.eps(x.dtype))
    return shared.search(residuals, inside(x, bounds, share), o, function(f, jacobian, s)
        return turn(f, jacobian, bounds, s, o)
    end, function(...) return reflective.gradient(bounds, ...) end)
end

for _, f in ipairs { turn, reflective.search } do jit.off(f) end

return reflective
