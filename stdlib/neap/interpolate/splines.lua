--- splines.lua: np.interpolate.cubic_spline, pchip, akima: cubic polynomials between points (piecewise.lua), by their
-- slopes at the points.
--
-- Slopes of a spline are solutions of a tridiagonal system, which is solved by elimination without exchanges (Thomas's
-- algorithm, two scans): its pivots are above 0 for all ascending points. So it is differentiable and batches.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local piecewise = require "neap.interpolate.piecewise"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local shape_of, cut, reshape, join = core.shape_of, shape.cut, shape.reshape, shape.join

-- ---- Polynomials ----------------------------------------------------------------------------------------------------

--- The cubic polynomials with the slopes s at the points.
local function cubic(points, s)
    local n, width, slope = points.n, points.width, points.slope
    local first, last = cut(s, 0, 0, n - 1), cut(s, 0, 1, n)
    local t = (first + last - slope * 2) / width
    local coefficients = { t / width, (slope - first) / width - t, first, cut(points.y, 0, 0, n - 1) }
    return piecewise.new(points.x, coefficients, points)
end

-- ---- Tridiagonal systems --------------------------------------------------------------------------------------------

--- The solution of a tridiagonal system: lower, middle and upper of (n, 1), of which the first lower and the last upper
-- do not count; right of (n, elements).
local function solved(lower, middle, upper, right)
    local zero = np.zeros_like(cut(right, 0, 0, 1)):reshape { shape_of(right)[2] }
    local _, rows = np.scan(function(above, row)
        local pivot = row.middle - row.lower * above.factor
        local now = { factor = row.upper / pivot, value = (row.right - row.lower * above.value) / pivot }
        return now, now
    end, { factor = np.zeros_like(cut(lower, 0, 0, 1)):reshape { 1 }, value = zero },
       { lower = join({ cut(lower, 0, 0, 1) * 0, cut(lower, 0, 1, shape_of(lower)[1]) }, 0), middle = middle,
         upper = upper, right = right })
    local _, x = np.scan(function(below, row)
        local now = row.value - row.factor * below
        return now, now
    end, zero, rows, { reverse = true })
    return x
end

-- ---- np.interpolate.cubic_spline ------------------------------------------------------------------------------------

--- The condition at one end: "not-a-knot", or { order, value of the derivative of that order }.
local function condition(name, given, points)
    if given == "natural" then return { 2, 0 } end
    if given == "clamped" then return { 1, 0 } end
    if given == "not-a-knot" then return given end
    local order = type(given) == "table" and given[1]
    if order ~= 1 and order ~= 2 or given[2] == nil then
        bad_argument(name, nil, "bc_type", '"not-a-knot", "natural", "clamped", "periodic", or a pair of conditions, '
                     .. 'names or {order, derivative}', given)
    end
    local value = operands.beside(name, "the derivative in option 'bc_type'", given[2], core.dtype_of(points.y))
    if not shape.same(shape_of(value), points.dims) and core.ndim(value) > 0 then
        raise(name, "the derivative in option 'bc_type' has shape %s, the values have %s", core.shape_text(value),
              core.shape_text(reshape(cut(points.y, 0, 0, 1), points.dims)))
    end
    return { order, core.ndim(value) == 0 and value or reshape(value, { 1, shape_of(points.y)[2] }) }
end

--- Elements k of the widths or the slopes, from the end on with `back`: of (1, elements).
local function row_of(x, k, back)
    local n = shape_of(x)[1]
    if back then k = n - 1 - k end
    return cut(x, 0, k, k + 1)
end

--- The first row of the system, or the last one with `back`: the factors of the slope at the end and beside it, and the
-- right side.
local function end_row(points, at, back)
    local h0, m0 = row_of(points.width, 0, back), row_of(points.slope, 0, back)
    if at == "not-a-knot" then
        local h1, m1 = row_of(points.width, 1, back), row_of(points.slope, 1, back)
        local both = h0 + h1
        return h1, both, ((h0 + both * 2) * h1 * m0 + h0 * h0 * m1) / both
    elseif at[1] == 1 then
        return h0 * 0 + 1, h0 * 0, m0 * 0 + at[2]
    end
    return h0 * 2, h0, m0 * h0 * 3 + h0 * h0 * at[2] * (back and 0.5 or -0.5)
end

--- The rows of the system in between: that the second derivative is one and the same on both sides.
local function inner_rows(points)
    local n, h, m = points.n, points.width, points.slope
    local h0, h1 = cut(h, 0, 0, n - 2), cut(h, 0, 1, n - 1)
    return h1, (h0 + h1) * 2, h0, (h1 * cut(m, 0, 0, n - 2) + h0 * cut(m, 0, 1, n - 1)) * 3
end

local function slopes_of_spline(points, left, right)
    local lower, middle, upper, given = inner_rows(points)
    local h0, last = row_of(points.width, 0), row_of(points.width, 0, true)
    if points.n <= 3 and left == "not-a-knot" and right == "not-a-knot" then -- a line, or a parabola
        local m0, m1 = row_of(points.slope, 0), row_of(points.slope, 0, true)
        if points.n <= 2 then return join({ m0, m1 }, 0) end
        local one = h0 * 0 + 1
        return solved(join({ one, lower, one }, 0), join({ one, middle, one }, 0), join({ one, upper, one }, 0),
                      join({ m0 * 2, given, m1 * 2 }, 0))
    end
    if points.n <= 2 then -- the line's slope stands for what is not known of such an end
        local m = row_of(points.slope, 0)
        if left == "not-a-knot" then left = { 1, m } end
        if right == "not-a-knot" then right = { 1, m } end
    end
    local a0, a1, b0 = end_row(points, left, false)
    local z0, z1, c0 = end_row(points, right, true)
    return solved(join({ last * 0, lower, z1 }, 0), join({ a0, middle, z0 }, 0), join({ a1, upper, last * 0 }, 0),
                  join({ b0, given, c0 }, 0))
end

--- The slopes of a periodic spline: the last but one is known in terms of the others, which are a tridiagonal system.
local function slopes_of_period(points)
    local n, h, m = points.n, points.width, points.slope
    if n <= 2 then return join({ m, m }, 0) * 0 end
    if n <= 3 then
        local s = np.sum(m / h, { axis = 0, keepdims = true }) / np.sum(1 / h, { axis = 0, keepdims = true })
        return join({ s, s, s }, 0)
    end
    local lower, middle, upper, given = inner_rows(points)
    local h0, last, before = row_of(h, 0), row_of(h, 0, true), row_of(h, 1, true)
    local first = (h0 * row_of(m, 0, true) + last * row_of(m, 0)) * 3
    local function rows(top, list) return join({ top, cut(list, 0, 0, n - 3) }, 0) end
    lower, middle, upper = rows(h0, lower), rows((last + h0) * 2, middle), rows(last, upper)
    local ones = join({ h0, np.zeros({ n - 4, 1 }, { dtype = h.dtype }), row_of(h, 2, true) }, 0)
    local one = solved(lower, middle, upper, rows(first, given))
    local two = solved(lower, middle, upper, -ones)
    local final = (cut(given, 0, n - 3, n - 2) - before * cut(one, 0, 0, 1) - last * cut(one, 0, n - 3, n - 2))
        / ((last + before) * 2 + before * cut(two, 0, 0, 1) + last * cut(two, 0, n - 3, n - 2))
    local s = one + two * final
    return join({ s, final, cut(s, 0, 0, 1) }, 0)
end

--- Sign of a difference of which both sides are the same, where that counts.
local function check_period(name, points)
    local y, n = points.y, points.n
    local gap = np.abs(cut(y, 0, 0, 1) - cut(y, 0, n - 1, n))
    local closed = np.all(np.less_equal(gap, np.abs(cut(y, 0, n - 1, n)) * 1e-15 + 1e-15))
    if not core.recording() and not closed:item() then
        raise(name, "of a periodic spline the first and the last value must be the same")
    end
    points.y = np.where(closed, y, core.NAN)
end

return function(interpolate)
    --- np.interpolate.cubic_spline(x, y, {bc_type="not-a-knot", axis=0, extrapolate=true}) -> p: the cubic spline
    -- through the points (x, y), whose second derivative has no jumps: SciPy's CubicSpline. x is 1-d and rises; y has
    -- as many values along an axis. p(t) are values at t, an array or a number, p:derivative(n) is the n-th derivative,
    -- again such a function, p:integrate(a, b) the integral. At the ends the two outer polynomials are one
    -- ("not-a-knot"), the second derivative is 0 ("natural"), the first one is ("clamped"), or both ends agree
    -- ("periodic"). Differentiable in x, y and t. A value of y that is not finite makes all NaN.
    --- bc_type: at the ends: "not-a-knot", "natural", "clamped", "periodic", or a pair of those or {order, derivative}
    --- axis: the axis of y along which the points are
    --- extrapolate: beyond the ends: true: the outer polynomials; false: NaN; "periodic"
    --- > p = np.interpolate.cubic_spline({0, 1, 2, 3}, np.array({0, 1, 8, 27}, {dtype="f64"}))
    --- > p(np.array{0.5, 2.5}), p:derivative()(2), p:integrate(0, 2)
    -- [ 0.125 15.625]
    -- 12.000000000000004
    -- 4.0
    function interpolate.cubic_spline(x, y, given)
        local name = "interpolate.cubic_spline"
        local o = core.options(name, given, { bc_type = true, axis = true, extrapolate = true })
        local kind = o.bc_type == nil and "not-a-knot" or o.bc_type
        local extrapolate = o.extrapolate
        if extrapolate == nil then extrapolate = kind == "periodic" and "periodic" or true end
        local points = piecewise.points_of(name, x, y, o.axis, extrapolate)
        if kind == "periodic" then
            check_period(name, points)
            return cubic(points, slopes_of_period(points))
        end
        local pair = { kind, kind }
        if type(kind) == "table" then pair = core.list(name, "option 'bc_type'", kind) end
        return cubic(points, slopes_of_spline(points, condition(name, pair[1], points),
                                              condition(name, pair[2], points)))
    end

    local SHAPE = { axis = true, extrapolate = true }

    --- np.interpolate.pchip(x, y, {axis=0, extrapolate=true}) -> p: cubic polynomials through the points (x, y) that
    -- rise and fall where the points do, and nowhere else: SciPy's PchipInterpolator (Fritsch and Butland, "A method
    -- for constructing local monotone piecewise cubic interpolants", 1984). All else as np.interpolate.cubic_spline has
    -- it.
    --- axis: the axis of y along which the points are
    --- extrapolate: beyond the ends: true: the outer polynomials; false: NaN; "periodic"
    --- > np.interpolate.pchip(np.array{0, 1, 2, 3}, np.array{0, 0, 1, 1})(np.array{0.5, 1.5, 2.5})
    -- [0.  0.5 1. ]
    function interpolate.pchip(x, y, given)
        local name = "interpolate.pchip"
        local o = core.options(name, given, SHAPE)
        local extrapolate = o.extrapolate == nil or o.extrapolate
        local points = piecewise.points_of(name, x, y, o.axis, extrapolate)
        if core.dtype_of(points.y).kind == "c" then raise(name, "is of real values, got dtype %s", y.dtype) end
        local n, h, m = points.n, points.width, points.slope
        if n <= 2 then return cubic(points, join({ m, m }, 0)) end
        local function at_end(back)
            local h0, h1, m0, m1 = row_of(h, 0, back), row_of(h, 1, back), row_of(m, 0, back), row_of(m, 1, back)
            local s = ((h0 * 2 + h1) * m0 - h0 * m1) / (h0 + h1)
            local steep = np.logical_and(np.not_equal(np.sign(m0), np.sign(m1)),
                                         np.greater(np.abs(s), np.abs(m0) * 3))
            return np.where(np.not_equal(np.sign(s), np.sign(m0)), 0, np.where(steep, m0 * 3, s))
        end
        local h0, h1, m0, m1 = cut(h, 0, 0, n - 2), cut(h, 0, 1, n - 1), cut(m, 0, 0, n - 2), cut(m, 0, 1, n - 1)
        local turns = np.less_equal(np.sign(m0) * np.sign(m1), 0)
        local w0, w1 = h1 * 2 + h0, h1 + h0 * 2
        local function safe(slope) return np.where(turns, 1, slope) end
        local inner = np.where(turns, 0, (w0 + w1) / (w0 / safe(m0) + w1 / safe(m1)))
        return cubic(points, join({ at_end(false), inner, at_end(true) }, 0))
    end

    --- np.interpolate.akima(x, y, {method="akima", axis=0, extrapolate=false}) -> p: cubic polynomials through the
    -- points (x, y) whose slopes follow the lines that change less: SciPy's Akima1DInterpolator (Akima, "A new method
    -- of interpolation and smooth curve fitting based on local procedures", 1970). All else as
    -- np.interpolate.cubic_spline has it.
    --- method: "akima", or "makima": modified so that it does not overshoot beside flat parts
    --- axis: the axis of y along which the points are
    --- extrapolate: beyond the ends: false: NaN; true: the outer polynomials; "periodic"
    --- > np.interpolate.akima(np.array{0, 1, 2, 3, 4}, np.array{0, 0, 0, 1, 2})(np.array{0.5, 2.5, 5})
    -- [0.     0.4375    nan]
    function interpolate.akima(x, y, given)
        local name = "interpolate.akima"
        local o = core.options(name, given, { method = true, axis = true, extrapolate = true })
        local method = o.method == nil and "akima" or o.method
        if method ~= "akima" and method ~= "makima" then
            bad_argument(name, nil, "method", '"akima" or "makima"', method)
        end
        local points = piecewise.points_of(name, x, y, o.axis, o.extrapolate == nil and false or o.extrapolate)
        if core.dtype_of(points.y).kind == "c" then raise(name, "is of real values, got dtype %s", y.dtype) end
        local n, m = points.n, points.slope
        if n <= 2 then return cubic(points, join({ m, m }, 0)) end
        local function beyond(back)
            local a, b = row_of(m, 0, back), row_of(m, 1, back)
            local near = a * 2 - b
            return near, near * 2 - a
        end
        local left, far_left = beyond(false)
        local right, far_right = beyond(true)
        m = join({ far_left, left, m, right, far_right }, 0)
        local changes = np.abs(np.diff(m, { axis = 0 }))
        if method == "makima" then changes = changes + np.abs(cut(m, 0, 1, n + 3) + cut(m, 0, 0, n + 2)) * 0.5 end
        local after, before = cut(changes, 0, 2, n + 2), cut(changes, 0, 0, n)
        local both = after + before
        local defined = np.greater(both, np.max(both) * 1e-9)
        local share = before / np.where(defined, both, 1)
        local lines = cut(m, 0, 1, n + 1)
        local s = np.where(defined, lines + share * (cut(m, 0, 2, n + 2) - lines),
                           (cut(m, 0, 3, n + 3) + cut(m, 0, 0, n)) * 0.5)
        return cubic(points, s)
    end
end
