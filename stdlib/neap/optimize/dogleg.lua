--- dogleg.lua: least squares within bounds, in boxes: local dogleg = require "neap.optimize.dogleg".
--
-- Numbers at a bound to which -gradient leads are held; the others are free. A step is sought in a box: of points
-- within the bounds of which no number is farther from x than the radius. It is the step of Gauss and Newton among
-- the free numbers, if that is in the box, else the last point in the box on a path of two legs, to the least point
-- along -gradient and on to the step of Gauss and Newton (C. Voglis and I. Lagaris, "A Rectangular Trust Region
-- Dogleg Approach for Unconstrained and Bound Constrained Nonlinear Optimization", 2004, as in SciPy's "dogbox"). A
-- number that the step takes to its bound is there exactly. The radius stands where residuals.lua has the damping.
local core = require "neap.core"
local shared = require "neap.optimize.residuals"

local np = core.np
local where, both, either, negate = np.where, np.logical_and, np.logical_or, np.logical_not

local dogleg = {}

--- -1 for numbers at their lower bound, 1 for those at the upper one, else 0.
function dogleg.active(x, bounds)
    return where(x:eq(bounds[1]), -1, where(x:eq(bounds[2]), 1, np.zeros_like(x)))
end

local function is_held(x, gradient, bounds) return (dogleg.active(x, bounds) * gradient):lt(0) end

--- The gradient, 0 for numbers that are held.
function dogleg.slopes(x, gradient, bounds) return where(is_held(x, gradient, bounds), 0, gradient) end

--- How many steps h lead from p to the first side of a box; -1 for numbers at their lower side there, 1 at the upper.
local function reach(p, h, box)
    local still = h:eq(0)
    local steps = where(still, np.inf, (where(h:gt(0), box[2], box[1]) - p) / where(still, 1, h))
    local first = steps:min()
    return first, where(both(steps:eq(first), negate(still)), np.sign(h), 0)
end

--- The point of a path in a box: the step; which numbers are at which bound then; whether a side by the radius ends it.
-- jac and slopes: of free numbers, else 0; whole: the step of Gauss and Newton.
local function path(x, jac, slopes, whole, radius, bounds)
    local low, high = bounds[1] - x, bounds[2] - x
    local box = { np.maximum(low, -radius), np.minimum(high, radius) }
    local inside = both(whole:ge(box[1]), whole:le(box[2])):all()
    local along = jac:matmul(slopes)
    local curve, fall = along:dot(along), slopes:dot(slopes)
    local least = np.minimum(where(curve:gt(0), fall / where(curve:gt(0), curve, 1), np.inf),
                             (reach(np.zeros_like(x), -slopes, box)))
    local corner = -slopes * where(np.isfinite(least), least, 0)
    local leg = whole - corner
    local share, sides = reach(corner, leg, box)
    local ends = corner + leg * where(np.isfinite(share), share, 0)
    local lower, upper = both(sides:lt(0), box[1]:eq(low)), both(sides:gt(0), box[2]:eq(high))
    local by_radius = either(both(sides:lt(0), box[1]:eq(-radius)), both(sides:gt(0), box[2]:eq(radius))):any()
    local hits = where(lower, -1, where(upper, 1, np.zeros_like(x)))
    return where(inside, whole, ends), where(inside, 0, hits), both(by_radius, negate(inside))
end

--- A turn: a step, taken if the cost falls.
local function turn(residuals, jacobian, bounds, s, o)
    local r, jac = shared.scaled(s.r, s.jac, o)
    local gradient = r:matmul(jac)
    local held = is_held(s.x, gradient, bounds)
    local slopes, free = where(held, 0, gradient), where(held, 0, jac)
    local whole = -np.linalg.pinv(free):matmul(r)
    local h, hits, by_radius = path(s.x, free, slopes, whole, s.damping, bounds)
    local x = where(hits:lt(0), bounds[1], where(hits:gt(0), bounds[2], np.clip(s.x + h, bounds[1], bounds[2])))
    local model = free:matmul(h)
    local expected = -(model:dot(model) / 2 + slopes:dot(h))
    local function radius_after(_, gain)
        local good, better = gain:ge(0.25), both(gain:gt(0.75), by_radius)
        return where(good, where(better, s.damping * 2, s.damping), shared.largest(h) / 4), s.growth
    end
    return shared.after(jacobian, s, o, h, x, residuals(x), expected, function(...)
        return dogleg.gradient(bounds, ...)
    end, radius_after)
end

--- What gtol compares.
function dogleg.gradient(bounds, x, r, jac) return dogleg.slopes(x, r:matmul(jac), bounds) end

--- Searches from x within bounds, two vectors. Returns x and facts, as shared.search.
function dogleg.search(residuals, x, bounds, o)
    local size = shared.largest(x)
    return shared.search(residuals, x, o, function(f, jacobian, s)
        return turn(f, jacobian, bounds, s, o)
    end, function(...) return dogleg.gradient(bounds, ...) end, where(size:eq(0), 1, size))
end

for _, f in ipairs { turn, dogleg.search } do jit.off(f) end

return dogleg
