--- radau.lua: a step of the method "Radau" (steps.lua): local radau = require "neap.integrate.radau".
--
-- Radau IIA of order 5: three stages z, by which the solution differs from y, solve z = h A f(t + c h, y + z). Newton's
-- iteration (newton.lua) solves them with the Jacobian at (t, y), from 0, until what it leaves is small beside the
-- tolerance of the step; where it does not, the estimate of the error is NaN, and the step is tried again with a
-- smaller h. Source: Hairer and Wanner, "Solving Ordinary Differential Equations II" (1996), section IV.8, and their
-- code RADAU5, whose estimate of the error this is. Unlike there, the three systems of n equations are one of 3 n.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local newton = require "neap.integrate.newton"

local np, shape_of, norm = core.np, core.shape_of, newton.norm

local ROOT = math.sqrt(6)
local NODES = { (4 - ROOT) / 10, (4 + ROOT) / 10, 1 }
local ROWS = {
    { (88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225 },
    { (296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225 },
    { (16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9 },
}
local REAL = 3 + 3 ^ (2 / 3) - 3 ^ (1 / 3) -- the real eigenvalue of the inverse of A
local ERRORS = { (-13 - 7 * ROOT) / 3, (-13 + 7 * ROOT) / 3, -1 / 3 }
local BETWEEN = { -- of each power of s the factors of the stages
    { (13 + 7 * ROOT) / 3, (13 - 7 * ROOT) / 3, 1 / 3 },
    { (-23 - 22 * ROOT) / 3, (-23 + 22 * ROOT) / 3, -8 / 3 },
    { (10 + 15 * ROOT) / 3, (10 - 15 * ROOT) / 3, 10 / 3 },
}

local MOST = 10 -- turns of Newton's iteration

--- The sum of factors times the stages.
local function combination(z, factors) return z[0] * factors[1] + z[1] * factors[2] + z[2] * factors[3] end

--- A step, as steps.lua has it. how: rtol, atol and jacobian(field, t, y). The estimate of the error is a pair: that of
-- RADAU5, and where this is too large the one that is evaluated once more.
local function step(field, t, y, f, h, how)
    local n, like = shape_of(y)[1], { dtype = y.dtype }
    local jacobian, rows = how.jacobian(field, t, y), np.array(ROWS, like)
    local inverse = np.linalg.inv(np.eye(3 * n, like) - np.kron(rows, jacobian) * h)
    local function improved(z)
        local slopes = {}
        for k = 1, 3 do slopes[k] = field(t + h * NODES[k], y + z[k - 1]) end
        local left = z - np.matmul(rows, np.stack(slopes)) * h
        return z - shape.reshape(np.matmul(inverse, shape.reshape(left, { 3 * n })), { 3, n })
    end
    jit.off(improved)
    local small, rounding = newton.small(how.rtol, y.dtype)
    local scale = how.atol + np.abs(y) * how.rtol
    local z, count, good = newton.solve(improved, np.zeros({ 3, n }, like), scale,
                                        { most = MOST, small = small, rounding = rounding })
    local matrix, change = np.eye(n, like) * (REAL / h) - jacobian, combination(z, ERRORS) / h
    local first = np.linalg.solve(matrix, f + change)
    local second = np.linalg.solve(matrix, field(t, y + first) + change)
    local new, terms = y + z[2], {}
    for k, factors in ipairs(BETWEEN) do terms[k] = combination(z, factors) end
    return new, field(t + h, new), { np.where(good, first, core.NAN), np.where(good, second, core.NAN) }, terms,
        count * 3 + 2
end

--- The error of a step, of its two estimates.
local function size(wrong, scale)
    local first = norm(wrong[1] / scale)
    return np.where(np.less(first, 1), first, norm(wrong[2] / scale))
end

jit.off(step)

return { order = 3, terms = 3, implicit = true, size = size, step = step }
