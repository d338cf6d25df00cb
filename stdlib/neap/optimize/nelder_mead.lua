--- nelder_mead.lua: the simplex method of Nelder and Mead, without derivatives, with the constants and tests of SciPy
-- (J. Nelder and R. Mead, A simplex method for function minimization, 1965).
--
-- The simplex is n + 1 points, the rows of an array, the best first. A turn replaces the worst point by another on
-- the line through the mean of the others; if none is better all points move halfway to the best. f is
-- evaluated once or twice in a turn, and n times more where the simplex shrinks.
local core = require "neap.core"

local np = core.np
local where, both, either, negate = np.where, np.logical_and, np.logical_or, np.logical_not

local function count(value) return core.number(value, core.dtype_codes.i32) end

--- Points in the order of their values.
local function ordered(points, values)
    local order = np.argsort(values)
    return points[order], values[order]
end

--- f at each row.
local function values_of(f, points)
    local _, values = np.scan(function(none, x) return none, f(x) end, 0, points)
    return values
end

--- The first simplex: x, and points beside x along each axis.
local function first_simplex(x, n)
    local size = where(x:eq(0), 0.00025, x * 0.05)
    return np.concatenate({ x:reshape(1, n), x + np.eye(n, { dtype = x.dtype }) * size }, 0)
end

--- The simplex behind a turn, its values, and the number of evaluations.
local function turn(f, s, n)
    local best, worst, second = s.values[0], s.values[n], s.values[n - 1]
    local centre, last = s.points[{ { 0, n } }]:mean(0), s.points[n]
    local function along(factor) return centre + (centre - last) * factor end
    local reflected = along(1)
    local value = f(reflected)
    local expands, keeps = value:lt(best), value:lt(second)
    local outside = both(negate(keeps), value:lt(worst))
    local other = where(expands, along(2), where(outside, along(0.5), along(-0.5)))
    local tries = either(expands, negate(keeps))
    local other_value = np.cond(tries, function() return f(other) end, function() return value end)
    local takes = where(expands, other_value:lt(value),
                        where(keeps, false, where(outside, other_value:le(value), other_value:lt(worst))))
    local shrinks = both(negate(keeps), negate(takes))
    local new, new_value = where(takes, other, reflected), where(takes, other_value, value)
    local points, values = np.cond(shrinks, function()
        local moved = s.points[0] + (s.points - s.points[0]) * 0.5
        local rest = values_of(f, moved[{ { 1, n + 1 } }])
        return moved, np.concatenate({ s.values[{ { 0, 1 } }], rest }, 0)
    end, function()
        return np.concatenate({ s.points[{ { 0, n } }], new:reshape(1, n) }, 0),
               np.concatenate({ s.values[{ { 0, n } }], new_value:reshape(1) }, 0)
    end)
    local calls = where(tries, count(2), count(1)) + where(shrinks, count(n), count(0))
    points, values = ordered(points, values)
    return points, values, calls
end

--- nelder_mead(f, x, o) -> x, facts: f a function of a vector, o = { tol, maxiter, each =
-- function(x), called after each turn, status }; facts = { nit, nfev, status }.
local function nelder_mead(f, x, o)
    local n = x.size
    local points = first_simplex(x, n)
    local function status_of(rows, values, k)
        local near = both(np.abs(rows[{ { 1, n + 1 } }] - rows[0]):max():le(o.tol),
                          np.abs(values[{ { 1, n + 1 } }] - values[0]):max():le(o.tol))
        return where(np.isnan(values):any(), count(o.status.undefined), where(near, count(o.status.converged),
                     where(k:ge(o.maxiter), count(o.status.exhausted), count(o.status.running))))
    end
    local rows, values = ordered(points, values_of(f, points))
    local last = np.while_loop(function(s) return s.status:eq(o.status.running) end, function(s)
        local next_points, next_values, calls = turn(f, s, n)
        local k = s.k + 1
        o.each(next_points[0])
        return { points = next_points, values = next_values, k = k, calls = s.calls + calls,
                 status = status_of(next_points, next_values, k) }
    end, { points = rows, values = values, k = count(0), calls = count(n + 1),
           status = status_of(rows, values, count(0)) })
    return last.points[0], { nit = last.k, nfev = last.calls, status = last.status }
end

for _, f in ipairs { values_of, turn, nelder_mead } do jit.off(f) end

return nelder_mead
