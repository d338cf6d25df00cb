--- newton.lua: a Newton iteration inside of a step of an implicit method: local newton = require
-- "neap.integrate.newton".
--
-- Each turn improves z by the same linear system, so the rest shrinks by a rate, which two turns show.
-- Source: Hairer and Wanner, "Solving Ordinary Differential Equations II" (1996), section IV.8.
local core = require "neap.core"

local np = core.np

local newton = {}

local RUNNING, SOLVED, FAILED = 0, 1, 2

--- The root mean square.
function newton.norm(x) return np.sqrt(np.mean(x * x)) end

local norm = newton.norm

--- The largest rest, in terms of the tolerance of a step, and the change that counts as rounding.
function newton.small(rtol, dtype)
    local rounding = 10 * core.eps(dtype) / rtol
    return math.max(rounding, math.min(0.03, math.sqrt(rtol))), rounding
end

--- Turns z = improved(z) from `start` on, at most `o.most`. Returns z, the number of turns, and whether the rest is
-- below `o.small`, in terms of `scale`, an array that broadcasts to z's shape; changes up to `o.rounding` count as
-- nothing. With `o.hopeless` the iteration also ends where the turns up to `o.most` would not do.
function newton.solve(improved, start, scale, o)
    local count = np.zeros({}, { dtype = "i32" })
    local last = np.while_loop(function(s)
        return np.logical_and(np.equal(s.status, RUNNING), np.less(s.count, o.most))
    end, function(s)
        local z = improved(s.z)
        local size = np.stop_gradient(norm((z - s.z) / scale))
        local rate = size / np.where(np.equal(s.size, 0), 1, s.size)
        local falls, second = np.less(rate, 1), np.greater(s.count, 0)
        local quotient = size / np.where(falls, 1 - rate, 1)
        local good = np.logical_and(second, np.logical_and(falls, np.less(quotient * rate, o.small)))
        local slow = np.logical_not(falls)
        if o.hopeless then slow = np.logical_or(slow, np.greater(quotient * rate ^ (o.most - s.count), o.small)) end
        local bad = np.logical_or(np.logical_not(np.isfinite(size)), np.logical_and(second, slow))
        local status = np.where(np.logical_or(good, np.less_equal(size, o.rounding)), SOLVED,
                                np.where(bad, FAILED, RUNNING))
        return { z = z, size = size, count = s.count + 1, status = status:astype("i32") }
    end, { z = start, size = np.zeros({}, { dtype = scale.dtype }), count = count, status = count + RUNNING })
    return last.z, last.count, np.equal(last.status, SOLVED)
end

jit.off(newton.solve)

return newton
