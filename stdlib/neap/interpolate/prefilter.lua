--- prefilter.lua: splines through equidistant elements: local prefilter = require "neap.interpolate.prefilter".
--
-- A spline of degree d is a sum of B-splines, one around each element, and d + 1 of them cover a place. Their
-- coefficients follow from the elements by a recursive filter along each axis, forward and back once for each pole z:
--
--     y[k] = x[k] + z y[k - 1]        c[k] = z (c[k + 1] - y[k])
--
-- Where the filter begins depends on how elements go on beyond the ends. These sums are without end, but fold up to one
-- turn, by the sums of powers of z.
--
-- Source: M. Unser, "Splines: a perfect fit for signal and image processing", IEEE Signal Processing Magazine 16, 22
-- (1999), box 2, and for the ends scipy.ndimage's conventions.
local core = require "neap.core"
local shape = require "neap.arrays.shape"

local np, shape_of = core.np, core.shape_of
local sqrt = math.sqrt

local prefilter = {}

--- The poles by degree.
local POLES = {
    [2] = { sqrt(8) - 3 },
    [3] = { sqrt(3) - 2 },
    [4] = { sqrt(664 - sqrt(438976)) + sqrt(304) - 19, sqrt(664 + sqrt(438976)) - sqrt(304) - 19 },
    [5] = { sqrt(67.5 - sqrt(4436.25)) + sqrt(26.25) - 6.5, sqrt(67.5 + sqrt(4436.25)) - sqrt(26.25) - 6.5 },
}

--- The factors of n elements in y[0], for each way to go on beyond the ends.
local FIRST = {}

function FIRST.mirror(z, n)
    local list, whole = {}, 1 - z ^ (2 * n - 2)
    for i = 0, n - 1 do
        local twice = i > 0 and i < n - 1
        list[i + 1] = (z ^ i + (twice and z ^ (2 * n - 2 - i) or 0)) / whole
    end
    return list
end

function FIRST.reflect(z, n)
    local list, whole = {}, 1 - z ^ (2 * n)
    for i = 0, n - 1 do list[i + 1] = (i == 0 and 1 or 0) + (z ^ (i + 1) + z ^ (2 * n - i)) / whole end
    return list
end

function FIRST.wrap(z, n)
    local list, whole = {}, 1 - z ^ n
    for i = 0, n - 1 do list[i + 1] = z ^ ((n - i) % n) / whole end
    return list
end

--- The factors of y in c[n - 1].
local LAST = {}

function LAST.mirror(z, n)
    local list, by = {}, z / (z * z - 1)
    for i = 1, n do list[i] = i == n and by or i == n - 1 and z * by or 0 end
    return list
end

function LAST.reflect(z, n)
    local list = {}
    for i = 1, n do list[i] = i == n and z / (z - 1) or 0 end
    return list
end

function LAST.wrap(z, n)
    local list, by = {}, -z / (1 - z ^ n)
    for i = 1, n do list[i] = (i == n and 1 or z ^ i) * by end
    return list
end

--- The sum of rows of x, each times a factor.
local function weighted(x, factors)
    local alone = { #factors }
    for k = 2, core.ndim(x) do alone[k] = 1 end
    local dtype = core.dtype_of(x)
    local column = np.array(factors, { dtype = dtype.kind == "c" and dtype.part or dtype.name })
    return np.sum(x * shape.reshape(column, alone), { axis = 0 })
end

--- The coefficients of rows of x, along its first axis of n elements.
local function along_first(x, n, degree, ends)
    local gain, more = 1, {}
    for _, z in ipairs(POLES[degree]) do gain = gain * (1 - z) * (1 - 1 / z) end
    for k, size in ipairs(shape_of(x)) do more[k] = k == 1 and 1 or size end
    x = x * gain
    for _, z in ipairs(POLES[degree]) do
        local first = weighted(x, FIRST[ends](z, n))
        local _, later = np.scan(function(y, row)
            y = row + y * z
            return y, y
        end, first, shape.cut(x, 0, 1, n))
        local y = shape.join({ shape.reshape(first, more), later }, 0)
        local last = weighted(y, LAST[ends](z, n))
        local _, before = np.scan(function(c, row)
            c = (c - row) * z
            return c, c
        end, last, shape.cut(y, 0, 0, n - 1), { reverse = true })
        x = shape.join({ before, shape.reshape(last, more) }, 0)
    end
    return x
end

--- The coefficients of the spline of a degree, 2 to 5, through x, an array of floats of at least one axis. ends:
-- "mirror", "reflect" or "wrap". An axis of one element stays as it is.
function prefilter.coefficients(x, degree, ends)
    for k, n in ipairs(shape_of(x)) do
        if n > 1 then x = np.moveaxis(along_first(np.moveaxis(x, k - 1, 0), n, degree, ends), 0, k - 1) end
    end
    return x
end

--- The B-splines of a degree that cover places t: a list of { index, weight }, arrays of floats like t. A B-spline of
-- degree k over [0, k + 1] follows from those of degree k - 1: k M(u) = u M'(u) + (k + 1 - u) M'(u - 1).
function prefilter.weights(t, degree)
    local base = np.floor(degree % 2 == 1 and t or t + 0.5)
    local part = t - base
    if degree % 2 == 0 then part = part + 0.5 end
    local weights = { part * 0 + 1 } -- weights[i + 1] is M at part + i
    for k = 1, degree do
        local new = {}
        for i = 0, k do
            local left = i < k and weights[i + 1] * (part + i)
            local right = i > 0 and weights[i] * (k + 1 - i - part)
            new[i + 1] = (left and right and left + right or left or right) / k
        end
        weights = new
    end
    local list, ahead = {}, math.floor((degree + 1) / 2)
    for i = 0, degree do list[i + 1] = { base + (ahead - i), weights[i + 1] } end
    return list
end

for _, f in pairs(prefilter) do jit.off(f) end
jit.off(along_first)

return prefilter
