--- directions.lua: where np.optimize.minimize goes next: BFGS, L-BFGS and Newton's method by conjugate gradients.
--
-- A strategy is a table of
--
--     memory(x)                          a tree of arrays, kept from turn to turn
--     direction(memory, x, g, free)      the direction at x, where the gradient is g, and the number of gradients
--                                        that the search took.
-- `free`,
--                                        1 for numbers free to move, 0 for others; nil: all are free
--     update(memory, step, change)       the memory after a step, over which the gradient changed
--
-- (J. Nocedal and S. Wright, Numerical Optimization, 2nd ed., algorithms 6.1, 7.4 and 7.1.)
local core = require "neap.core"

local np = core.np
local where, both, negate = np.where, np.logical_and, np.logical_not

local directions = {}

local function none() return core.number(0, core.dtype_codes.i32) end

--- Whether the function curves upwards along a step, by the change of the gradient over the step.
local function curves(product, change, eps)
    return product:gt(change:dot(change) * eps)
end

-- ---- BFGS -----------------------------------------------------------------------------------------------------------

--- Keeps an estimate of the inverse Hessian.
function directions.bfgs(eps)
    local strategy = {}

    function strategy.memory(x) return { inverse = np.eye(x.size, { dtype = x.dtype }) } end

    function strategy.direction(memory, _, g) return -memory.inverse:matmul(g), none() end

    function strategy.update(memory, step, change)
        local product, h = step:dot(change), memory.inverse
        local moved, rho = h:matmul(change), 1 / product
        local outer = np.outer(step, moved)
        local new = h - (outer + outer.T) * rho + np.outer(step, step) * ((1 + rho * change:dot(moved)) * rho)
        return { inverse = where(curves(product, change, eps), new, h) }
    end

    return strategy
end

-- ---- L-BFGS ---------------------------------------------------------------------------------------------------------

local PAIRS = 10

--- Keeps the last steps and changes of the gradient, the newest last.
function directions.lbfgs(eps)
    local strategy = {}

    function strategy.memory(x)
        local zeros = np.zeros({ PAIRS, x.size }, { dtype = x.dtype })
        return { steps = zeros, changes = zeros }
    end

    function strategy.direction(memory, _, g, free)
        local steps, changes = memory.steps, memory.changes
        if free then g, steps, changes = g * free, steps * free, changes * free end
        local products, squares = (steps * changes):sum(1), (changes * changes):sum(1)
        local known = products:gt(squares * eps)
        local rho = where(known, 1 / where(known, products, 1), 0)
        local q, shares = np.scan(function(q, pair)
            local share = pair.rho * pair.step:dot(q)
            return q - pair.change * share, share
        end, g, { step = steps, change = changes, rho = rho }, { reverse = true })
        local scale = np.scan(function(scale, pair) -- of the newest known pair
            return where(pair.known, pair.product / where(pair.known, pair.square, 1), scale), nil
        end, np.ones_like(rho[0]), { known = known, product = products, square = squares })
        local r = np.scan(function(r, pair)
            return r + pair.step * (pair.share - pair.rho * pair.change:dot(r)), nil
        end, q * scale, { step = steps, change = changes, rho = rho, share = shares })
        return free and -r * free or -r, none()
    end

    function strategy.update(memory, step, change)
        local function with(rows, row)
            return np.concatenate({ rows[{ { 1, PAIRS } }], row:reshape(1, row.size) }, 0)
        end
        return { steps = with(memory.steps, step), changes = with(memory.changes, change) }
    end

    return strategy
end

-- ---- Newton's method ------------------------------------------------------------------------------------------------

--- Solves for the Newton step by conjugate gradients, until the residual is small beside the gradient or the function
-- curves downwards. `gradient` is the gradient of the function.
function directions.newton_cg(eps, gradient)
    local strategy = {}

    function strategy.memory() return {} end

    function strategy.direction(_, x, g)
        local size = np.abs(g):sum()
        local enough, most = np.minimum(0.5, np.sqrt(size)) * size, 20 * x.size
        local last = np.while_loop(function(s) return s.going end, function(s)
            local _, bent = np.jvp(gradient, { x }, { s.d })
            local curvature, square = s.d:dot(bent), s.r:dot(s.r)
            local flat, down = curvature:lt(s.d:dot(s.d) * (3 * eps)), curvature:le(0)
            local first = s.k:eq(0)
            local step = where(flat, where(first, where(down, square / where(down, -curvature, 1), 1), 0),
                               square / where(flat, 1, curvature))
            step = where(both(both(flat, first), curvature:eq(0)), 1, step)
            local r = s.r + bent * step
            local d, k = s.d * (r:dot(r) / square) - r, s.k + 1
            local going = both(both(negate(flat), np.abs(r):sum():gt(enough)), k:lt(most))
            return { p = s.p + s.d * step, r = r, d = d, k = k, going = going }
        end, { p = np.zeros_like(g), r = g, d = -g, k = none(), going = size:gt(0) })
        return last.p, last.k
    end

    function strategy.update(memory) return memory end

    return strategy
end

for _, f in pairs(directions) do jit.off(f) end

return directions
