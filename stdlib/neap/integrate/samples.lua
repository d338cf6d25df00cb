--- samples.lua: integrals of samples: local integrate = require "neap.integrate.samples", the table np.integrate.
--
-- All are slices and arithmetic of these, so gradients and batches come with them. The formulas are those of SciPy:
-- parabolas through three samples whose distances may differ (Cartwright, "Simpson's rule cumulative integration with
-- MS Excel and irregularly-spaced data", 2017).
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local differences = require "neap.arrays.differences"

local np = core.np
local raise, shape_of, is_array = core.raise, core.shape_of, core.is_array
local cut, join, samples = shape.cut, shape.join, differences.samples
local I32 = core.dtype_codes.i32

local integrate = {}

--- np.integrate.trapezoid(y, x): the integral of samples y along an axis, by straight lines between neighbours:
-- np.trapezoid, whose options it takes.
--- > np.integrate.trapezoid(np.array{1, 2, 3})
-- 4.0
integrate.trapezoid = np.trapezoid

--- The elements from, from + 2, … of an axis, `count` of them.
local function every_other(x, axis, from, count)
    local dims, start, step = shape_of(x), {}, {}
    for k = 1, #dims do start[k], step[k] = 0, 1 end
    start[axis + 1], step[axis + 1], dims[axis + 1] = from, 2, count
    return shape.slice(x, start, step, dims)
end

--- a / b, and 0 where b is 0: for neighbours that stand at one place.
local function quotient(a, b)
    local none = np.equal(b, 0)
    return np.where(none, 0, a / np.where(none, 1, b))
end

--- The integral of the first 2 * pairs + 1 samples by Simpson's rule.
local function simpson_pairs(y, width, even, axis, pairs)
    local y0, y1 = every_other(y, axis, 0, pairs), every_other(y, axis, 1, pairs)
    local y2 = every_other(y, axis, 2, pairs)
    if even then return np.sum(y0 + y1 * 4 + y2, { axis = axis }) * (width / 3) end
    local h0, h1 = every_other(width, axis, 0, pairs), every_other(width, axis, 1, pairs)
    local both, ratio = h0 + h1, quotient(h0, h1)
    local terms = y0 * (2 - quotient(1, ratio)) + y1 * (both * quotient(both, h0 * h1)) + y2 * (2 - ratio)
    return np.sum(both / 6 * terms, { axis = axis })
end

--- The integral of the last interval by the parabola through the last three samples.
local function last_interval(y, width, even, axis, n)
    local function sample(k) return np.sum(cut(y, axis, n - k, n - k + 1), { axis = axis }) end
    if even then return (sample(1) * 5 + sample(2) * 8 - sample(3)) * (width / 12) end
    local function distance(k) return np.sum(cut(width, axis, n - 1 - k, n - k), { axis = axis }) end
    local h0, h1 = distance(2), distance(1)
    local a = quotient(h1 * h1 * 2 + h0 * h1 * 3, (h0 + h1) * 6)
    local b, c = quotient(h1 * h1 + h0 * h1 * 3, h0 * 6), quotient(h1 * h1 * h1, h0 * (h0 + h1) * 6)
    return sample(1) * a + sample(2) * b - sample(3) * c
end

--- np.integrate.simpson(y, x, {dx=1, axis=-1}): the integral of samples y along an axis by Simpson's rule: parabolas
-- through three neighbours. x, if there is one, has their coordinates: 1-d, or of a shape that broadcasts with y's. Of
-- an even number of samples the last interval gets the parabola of the last three; two samples are joined by a line.
--- dx: the distance of neighbours, without x
--- > np.integrate.simpson(np.array{0, 1, 4, 9}), np.integrate.simpson(np.array{0, 1, 9}, np.array{0, 1, 3})
-- 9.0
-- 9.0
function integrate.simpson(y, x, given, extra)
    local axis, width, even, half
    y, axis, width, even, half = samples("integrate.simpson", { dx = true, axis = true }, y, x, given, extra)
    local n = shape_of(y)[axis + 1]
    if n < 3 then return operands.narrow(np.trapezoid(y, { dx = width, axis = axis }), half) end
    local odd = n % 2 > 0
    local sum = simpson_pairs(y, width, even, axis, odd and (n - 1) / 2 or (n - 2) / 2)
    if not odd then sum = sum + last_interval(y, width, even, axis, n) end
    return operands.narrow(sum, half)
end

--- Sums of the parts of an integral along an axis; {initial} in front of them and added to each.
local function accumulated(name, parts, axis, o, half)
    local sums = np.cumsum(parts, { axis = axis })
    local initial = core.plain(o.initial)
    if initial == nil then return operands.narrow(sums, half) end
    if not core.is_number(initial) and not is_array(initial) then
        core.bad_argument(name, nil, "initial", "a number or an array", initial)
    end
    local dims = shape_of(sums)
    dims[axis + 1] = 1
    local first = np.zeros(dims, { dtype = sums.dtype }) + initial
    return operands.narrow(join({ first, sums + initial }, axis), half)
end

local CUMULATIVE = { dx = true, axis = true, initial = true }

--- Refuses an axis without samples.
local function check_samples(name, y, axis)
    local n = shape_of(y)[axis + 1]
    if n < 1 then raise(name, "axis %d has no samples", axis) end
    return n
end

local function trapezoids(y, width, axis, n)
    return (cut(y, axis, 1, n) + cut(y, axis, 0, n - 1)) * width / 2
end

--- np.integrate.cumulative_trapezoid(y, x, {dx=1, axis=-1, initial=…}): the integrals of samples y along an axis from
-- the first one to each of the others, by straight lines between neighbours. x: as in np.trapezoid.
--- dx: the distance of neighbours, without x
--- initial: what is added to each, and stands in front, so that there are as many as samples: a number or a 0-d array
--- > np.integrate.cumulative_trapezoid(np.array{1, 2, 3})
-- [1.5 4. ]
--- > np.integrate.cumulative_trapezoid(np.array{1, 2, 3}, np.array{0, 1, 3}, {initial=0})
-- [0.  1.5 6.5]
function integrate.cumulative_trapezoid(y, x, given, extra)
    local name = "integrate.cumulative_trapezoid"
    local axis, width, half, o, _
    y, axis, width, _, half, o = samples(name, CUMULATIVE, y, x, given, extra)
    local n = check_samples(name, y, axis)
    return accumulated(name, trapezoids(y, width, axis, n), axis, o, half)
end

--- The integral of the first of two neighbouring intervals, of widths h0 and h1, by the parabola through three samples.
local function first_of_two(y0, y1, y2, h0, h1)
    local both = h0 + h1
    local a, b = h0 / both, h0 / h1
    return h0 / 6 * (y0 * (3 - a) + y1 * (3 + a * b + a) - y2 * (a * b))
end

--- np.integrate.cumulative_simpson(y, x, {dx=1, axis=-1, initial=…}): the integrals of samples y along an axis from the
-- first one to each of the others by parabolas: each interval by that through its two samples and the next one, every
-- second one, and the last, by that through the one before. x: as in np.trapezoid; its coordinates rise. Fewer than
-- three samples are joined by a line.
--- dx: the distance of neighbours, without x
--- initial: what is added to each, and stands in front, so that there are as many as samples: a number or a 0-d array
--- > np.integrate.cumulative_simpson(np.array{0, 1, 4, 9}, {initial=0})
-- [0.         0.33333334 2.6666667  9.        ]
function integrate.cumulative_simpson(y, x, given, extra)
    local name = "integrate.cumulative_simpson"
    local axis, width, even, half, o
    y, axis, width, even, half, o = samples(name, CUMULATIVE, y, x, given, extra)
    local n = check_samples(name, y, axis)
    if n < 3 then return accumulated(name, trapezoids(y, width, axis, n), axis, o, half) end
    local h0 = even and width or cut(width, axis, 0, n - 2)
    local h1 = even and width or cut(width, axis, 1, n - 1)
    local y0, y1, y2 = cut(y, axis, 0, n - 2), cut(y, axis, 1, n - 1), cut(y, axis, 2, n)
    local first, second = first_of_two(y0, y1, y2, h0, h1), first_of_two(y2, y1, y0, h1, h0)
    local dims = {}
    for k = 1, core.ndim(y) do dims[k] = k == axis + 1 and n - 1 or 1 end
    local place = create.iota(n - 1, I32)
    local ahead = np.logical_and(np.equal(place % 2, 0), np.less(place, n - 2))
    local parts = np.where(shape.reshape(ahead, dims), join({ first, cut(first, axis, 0, 1) }, axis),
                           join({ cut(second, axis, 0, 1), second }, axis))
    return accumulated(name, parts, axis, o, half)
end

return integrate
