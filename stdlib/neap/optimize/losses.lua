--- losses.lua: the losses of np.optimize.least_squares, under SciPy's names: functions of z, the square of a residual
-- over its scale, as a triple: the value and the first two derivatives by z.
local core = require "neap.core"

local np = core.np
local where = np.where

local losses = {}

function losses.linear(z) return z, np.ones_like(z), np.zeros_like(z) end

function losses.soft_l1(z)
    local t = 1 + z
    return (np.sqrt(t) - 1) * 2, t ^ -0.5, t ^ -1.5 * -0.5
end

function losses.huber(z)
    local near, safe = z:le(1), np.maximum(z, 1)
    return where(near, z, np.sqrt(safe) * 2 - 1), where(near, 1, safe ^ -0.5), where(near, 0, safe ^ -1.5 * -0.5)
end

function losses.cauchy(z)
    local t = 1 + z
    return np.log1p(z), 1 / t, -1 / (t * t)
end

function losses.arctan(z)
    local t = 1 + z * z
    return np.atan(z), 1 / t, z * -2 / (t * t)
end

return losses
