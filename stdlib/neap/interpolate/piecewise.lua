--- piecewise.lua: polynomials between points, one on each interval: local piecewise = require
-- "neap.interpolate.piecewise"; piecewise.new(x, coefficients, how).
--
-- On interval i the polynomial is the sum of coefficients[k][i] (t - x[i])^(d - k), the highest power first, as in
-- SciPy's PPoly. Such a value has
--
--     x             the points, 1-d and ascending
--     coefficients  a list of arrays of (intervals, elements of a value)
--     dims          the shape of a value, which has the axis of t at `axis`
--     extrapolate   beyond the ends: true the outer polynomials go on, false NaN, "periodic"
--     half          the half of results
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local shape_of, cut, reshape, join = core.shape_of, shape.cut, shape.reshape, shape.join

local Piecewise = {}
Piecewise.__index = Piecewise
Piecewise.__tostring = function(self)
    return ("a piecewise polynomial of degree %d: p(t)"):format(#self.coefficients - 1)
end

local function new(x, coefficients, how)
    return setmetatable({ x = x, coefficients = coefficients, axis = how.axis, dims = how.dims, half = how.half,
                          extrapolate = how.extrapolate }, Piecewise)
end

--- The first and the last point.
local function ends(self)
    local n = shape_of(self.x)[1]
    return reshape(cut(self.x, 0, 0, 1), {}), reshape(cut(self.x, 0, n - 1, n), {})
end

--- The polynomials at t, 1-d: an array of (places, elements), whatever lies outside.
local function at_places(self, t)
    local last = shape_of(self.x)[1] - 2
    local place = np.clip(np.searchsorted(self.x, t, { side = "right" }) - 1, 0, last)
    local distance = reshape(t - np.take(self.x, place), { core.size_of(t), 1 })
    local sum
    for _, c in ipairs(self.coefficients) do
        local term = np.take(c, place, { axis = 0 })
        sum = sum and sum * distance + term or term + distance * 0 -- NaN stays
    end
    return sum
end

--- t between the ends, as a periodic function takes it.
local function in_period(self, t)
    local first, last = ends(self)
    return (t - first) % (last - first) + first
end

--- Values at t, 1-d, of a function whose periods add up to `more`, if it is no periodic one: an integral.
local function values(self, t, more)
    if self.extrapolate == "periodic" then
        local first, last = ends(self)
        local inside = at_places(self, in_period(self, t))
        if not more then return inside end
        return inside + more * reshape(np.floor((t - first) / (last - first)), { core.size_of(t), 1 })
    end
    local sum = at_places(self, t)
    if self.extrapolate then return sum end
    local first, last = ends(self)
    local outside = np.logical_or(np.less(t, first), np.greater(t, last))
    return np.where(reshape(outside, { core.size_of(t), 1 }), core.NAN, sum)
end

--- Rows of elements as an array with the axes `front` of t in the place of the axis.
local function arranged(self, rows, front)
    local whole = core.copy_list(front)
    for _, n in ipairs(self.dims) do whole[#whole + 1] = n end
    local from, to = {}, {}
    for k = 1, #front do from[k], to[k] = k - 1, self.axis + k - 1 end
    local result = operands.narrow(reshape(rows, whole), self.half)
    return (#front == 0 or self.axis == 0) and result or np.moveaxis(result, from, to)
end

--- An argument of a method, as an array of the dtype of points x.
local function place_of(x, name, position, t)
    t = operands.beside(name, position, t, core.dtype_of(x))
    if core.dtype_of(t).kind == "c" then raise(name, "takes real places, got dtype %s", core.dtype_of(t).name) end
    return np.astype(t, x.dtype)
end

--- The ends of an integral, as 0-d arrays.
local function bounds_of(x, name, a, b)
    a, b = place_of(x, name, 1, a), place_of(x, name, 2, b)
    if core.ndim(a) > 0 or core.ndim(b) > 0 then
        raise(name, "the ends of an integral are numbers or 0-d arrays, got shapes %s and %s", core.shape_text(a),
                   core.shape_text(b))
    end
    return a, b
end

--- p(t): the values at t, an array or a number; where t has axes they stand in the place of the axis of the points.
function Piecewise:__call(t)
    t = place_of(self.x, "interpolate", 1, t)
    return arranged(self, values(self, reshape(t, { core.size_of(t) })), shape_of(t))
end

--- p:derivative(n): the n-th derivative, the first one without n: again such a function.
function Piecewise:derivative(n)
    n = core.integer("interpolate", 1, "n", n == nil and 1 or n, 0, 100)
    local list = self.coefficients
    for _ = 1, n do
        local lower, degree = {}, #list - 1
        for k = 1, degree do lower[k] = list[k] * (degree - k + 1) end
        list = degree > 0 and lower or { list[1] * 0 }
    end
    return new(self.x, list, self)
end

--- The antiderivative that is 0 at the first point.
local function antiderivative(self)
    local list, degree = {}, #self.coefficients
    local width = reshape(np.diff(self.x), { shape_of(self.x)[1] - 1, 1 })
    local whole
    for k, c in ipairs(self.coefficients) do
        list[k] = c / (degree - k + 1)
        whole = (whole and whole * width or 0) + list[k]
    end
    whole = np.cumsum(whole * width, { axis = 0 })
    local n = shape_of(whole)[1]
    list[degree + 1] = join({ cut(whole, 0, 0, 1) * 0, cut(whole, 0, 0, n - 1) }, 0)
    return new(self.x, list, self), cut(whole, 0, n - 1, n)
end

--- p:integrate(a, b): the integral from a to b, numbers or 0-d arrays.
function Piecewise:integrate(a, b)
    a, b = bounds_of(self.x, "interpolate", a, b)
    local whole, period = antiderivative(self)
    local both = values(whole, np.stack { a, b }, period)
    return arranged(self, cut(both, 0, 1, 2) - cut(both, 0, 0, 1), {})
end

-- ---- Points ---------------------------------------------------------------------------------------------------------

--- Points and values: a table with x (n), y (n, elements), width (n - 1, 1), slope (n - 1, elements) of the lines
-- between them, n, and what piecewise.new takes: axis, dims, half.
local function points_of(name, x, y, axis, extrapolate)
    local half
    half, x, y = operands.floats_all(name, nil, 2, x, y)
    if core.dtype_of(x).kind == "c" then x = np.real(x) end
    axis = core.axis(name, axis == nil and 0 or axis, core.ndim(y))
    if core.ndim(x) ~= 1 then raise(name, "argument 1 (x) must be 1-d, got shape %s", core.shape_text(x)) end
    local n = shape_of(x)[1]
    if n < 2 then raise(name, "needs at least 2 points, got %d", n) end
    if not shape.same({ shape_of(y)[axis + 1] }, { n }) then
        raise(name, "%d points do not fit axis %d of values of shape %s", n, axis, core.shape_text(y))
    end
    if extrapolate ~= nil and type(extrapolate) ~= "boolean" and extrapolate ~= "periodic" then
        bad_argument(name, nil, "extrapolate", 'true, false or "periodic"', extrapolate)
    end
    local rising = np.all(np.greater(np.diff(x), 0))
    if not core.recording() and not rising:item() then
        raise(name, "argument 1 (x) must rise from point to point")
    end
    y = np.moveaxis(y, axis, 0)
    local dims = shape_of(y)
    table.remove(dims, 1)
    y = np.where(rising, reshape(y, { n, shape.product(dims) }), core.NAN)
    local width = reshape(np.diff(x), { n - 1, 1 })
    return { x = x, y = y, n = n, width = width, slope = np.diff(y, { axis = 0 }) / width, axis = axis, dims = dims,
             half = half, extrapolate = extrapolate }
end

return { new = new, points_of = points_of, arranged = arranged, place_of = place_of, bounds_of = bounds_of }
