--- line_search.lua: how far to go along a direction, by the strong Wolfe conditions
--
--     f(a) <= f(0) + C1 a f'(0)        |f'(a)| <= C2 |f'(0)|
--
-- (J. Nocedal and S. Wright, Numerical Optimization, 2nd ed., algorithms 3.5 and 3.6). `low` is the best step so far of
-- those with the first condition, `high` the other end of an interval with a step for both conditions. Until there is
-- such an interval `high` is infinite and steps double. Inside of an interval the next step is the minimum of the cubic
-- through both ends.
--
-- Near a minimum differences of f are lost in rounding; there a step also counts as low enough where f has not risen by
-- more than some eps and the slope is as on a parabola with enough fall (W. Hager and H. Zhang, A new conjugate
-- gradient method with guaranteed descent and an efficient line search, 2005).
local core = require "neap.core"

local np = core.np
local where, both, either, negate = np.where, np.logical_and, np.logical_or, np.logical_not

local C1, C2 = 1e-4, 0.9
local MOST = 30 -- evaluations

--- The minimum of the cubic through the ends of an interval, or the middle where the cubic has no inner minimum.
local function inner_step(low, high)
    local a, b = low.a, high.a
    local chord = low.slope + high.slope - (low.f - high.f) * 3 / (a - b)
    local root = np.sqrt(chord * chord - low.slope * high.slope) * np.sign(b - a)
    local cubic = b - (b - a) * (high.slope + root - chord) / (high.slope - low.slope + root * 2)
    local margin = np.abs(b - a) * 0.1
    local inside = both(cubic:ge(np.minimum(a, b) + margin), cubic:le(np.maximum(a, b) - margin))
    return where(inside, cubic, (a + b) / 2)
end

--- Whether a trial is low enough, and whether the trial satisfies both conditions.
local function judge(trial, start, curvature, eps)
    local low = trial.f:le(start.f + trial.fall * C1)
    local noise = trial.f:le(start.f + np.abs(start.f) * (8 * eps))
    low = either(low, both(noise, trial.slope:le(start.slope * (2 * C1 - 1))))
    if not curvature then return low, low end
    return low, both(low, np.abs(trial.slope):le(start.slope * -C2))
end

--- Searches from `start` = { f, slope, gradient } at 0 with the first step `first`. along(a) -> { f, slope, gradient,
-- fall = a f'(0) or an equivalent }. Without `curvature` the first condition is enough. Returns { a, f, gradient,
-- calls }; a = 0 where no step was found.
local function line_search(along, start, first, curvature, eps)
    local zero = np.zeros_like(start.f)
    local last = np.while_loop(function(s) return s.going end, function(s)
        local trial = along(s.a)
        trial.a = s.a
        local low_enough, good = judge(trial, start, curvature, eps)
        local open = np.isinf(s.high.a)
        local worse = negate(either(good, both(low_enough, either(trial.f:lt(s.low.f), s.low.a:eq(0)))))
        local turned = both(negate(worse), (trial.slope * (s.high.a - s.low.a)):ge(0))
        local low, high = {}, {}
        for _, key in ipairs { "a", "f", "slope", "gradient" } do
            low[key] = where(worse, s.low[key], trial[key])
            if key ~= "gradient" then
                high[key] = where(worse, trial[key], where(turned, s.low[key], s.high[key]))
            end
        end
        local still_open = both(open, np.isinf(high.a))
        local a, k = where(still_open, s.a * 2, inner_step(low, high)), s.k + 1
        local tiny = both(negate(still_open), np.abs(high.a - low.a):le(np.maximum(high.a, low.a) * eps))
        return { a = a, low = low, high = high, k = k, going = both(both(negate(good), negate(tiny)), k:lt(MOST)) }
    end, {
        a = first, k = core.number(0, core.dtype_codes.i32), going = np.isfinite(first),
        low = { a = zero, f = start.f, slope = start.slope, gradient = start.gradient },
        high = { a = zero + np.inf, f = zero, slope = zero },
    })
    return { a = last.low.a, f = last.low.f, gradient = last.low.gradient, calls = last.k }
end

jit.off(line_search)

return line_search
