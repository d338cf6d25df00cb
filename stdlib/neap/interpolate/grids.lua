--- grids.lua: np.interpolate.interpn, np.interpolate.map_coordinates: values between the points of a grid.
--
-- Along each axis a place has two neighbours with weights; the value is the sum over all of their corners, each a
-- gather from the flattened grid. So values are differentiable in places and in those of the grid. A spline of degree d
-- is the same with d + 1 neighbours, and its coefficients (prefilter.lua) in place of values.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local prefilter = require "neap.interpolate.prefilter"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local shape_of, reshape = core.shape_of, shape.reshape

--- The sum over the corners around places: axes is a list of { { index, weight, valid }, … }, one entry for each
-- neighbour, of arrays of one shape; values are the grid, of which further axes stay, behind those of the places. Where
-- a neighbour is not valid its value is `constant`; nil: all are.
local function corners(values, axes, constant)
    local dims, n = shape_of(values), #axes
    local rest, size = {}, shape.product(dims, 1, n)
    for k = n + 1, #dims do rest[#rest + 1] = dims[k] end
    local front = shape_of(axes[1][1][1])
    local flat = reshape(values, { size, unpack(rest) })
    local wide = core.copy_list(front)
    for _ = 1, #rest do wide[#wide + 1] = 1 end
    local function visit(k, place, weight, valid)
        if k > n then
            local found = np.take(flat, place, { axis = 0 })
            if valid then found = np.where(reshape(valid, wide), found, constant) end
            return found * reshape(weight, wide)
        end
        local sum
        for _, side in ipairs(axes[k]) do
            local factor, holds = weight and weight * side[2] or side[2], side[3]
            if valid and holds then holds = np.logical_and(valid, holds) end
            local term = visit(k + 1, place and place * dims[k] + side[1] or side[1], factor, holds)
            sum = sum and sum + term or term
        end
        return sum
    end
    return visit(1)
end

-- ---- np.interpolate.interpn -----------------------------------------------------------------------------------------

--- The neighbours of places t along an axis with points, 1-d and rising.
local function neighbours(points, t, method)
    local last = shape_of(points)[1] - 2
    local place = np.clip(np.searchsorted(points, t, { side = "right" }) - 1, 0, last)
    local left = np.take(points, place)
    local share = (t - left) / (np.take(points, place + 1) - left)
    if method == "nearest" then
        return { { np.where(np.greater(share, 0.5), place + 1, place), np.where(np.isnan(t), core.NAN, 1) } }
    end
    return { { place, 1 - share }, { place + 1, share } }
end

--- The points of each axis of a grid as arrays of the dtype of `like`, and whether all rise, a bool array.
local function grid_of(name, points, values, like)
    local list, rising = {}, nil
    for k = 1, #core.list(name, "the table of points", points) do
        local x = np.astype(operands.beside(name, 1, points[k], core.dtype_of(like)), like.dtype)
        if core.ndim(x) ~= 1 then raise(name, "points[%d] must be 1-d, got shape %s", k, core.shape_text(x)) end
        local n = shape_of(x)[1]
        if n < 2 or k > core.ndim(values) or not shape.same({ n }, { shape_of(values)[k] }) then
            raise(name, "points[%d] of shape %s, at least 2 of them, do not fit axis %d of values of shape %s", k,
                  core.shape_text(x), k - 1, core.shape_text(values))
        end
        local rises = np.all(np.greater(np.diff(x), 0))
        list[k], rising = x, rising and np.logical_and(rising, rises) or rises
    end
    if #list == 0 then bad_argument(name, 1, "points", "a table of points for each axis", points) end
    return list, rising
end

-- ---- np.interpolate.map_coordinates ---------------------------------------------------------------------------------

--- Numbers to the nearest integers, halves away from 0.
local function rounded(x) return np.sign(x) * np.floor(np.abs(x) + 0.5) end

--- i mirrored at the first and the last of n elements, which are not repeated.
local function mirrored(i, n)
    if n <= 1 then return i * 0 end
    return np.abs((i + (n - 1)) % (2 * (n - 1)) - (n - 1))
end

-- Which of n elements stands at index i, an i32 array, for each mode.
local MODES = {
    constant = function(i, n) return np.clip(i, 0, n - 1) end,
    nearest = function(i, n) return np.clip(i, 0, n - 1) end,
    wrap = function(i, n) return i % n end,
    mirror = mirrored,
    reflect = function(i, n) return np.floor_divide(mirrored(i * 2 + 1, 2 * n + 1) - 1, 2) end,
}

-- After how many elements each mode begins anew.
local PERIODS = {
    wrap = function(n) return n end,
    mirror = function(n) return n > 1 and 2 * (n - 1) or 1 end,
    reflect = function(n) return 2 * n end,
}
local FAR = 2 ^ 29 -- from here on whole periods are taken off an index first, so that twice the rest is an i32

--- The neighbours of coordinates t along an axis of n elements.
local function elements_at(t, n, order, mode)
    local function side(index, weight)
        if PERIODS[mode] then index = np.where(np.less(np.abs(index), FAR), index, index % PERIODS[mode](n)) end
        index = np.astype(index, "i32")
        local valid = mode == "constant" and np.logical_and(np.greater_equal(index, 0), np.less(index, n)) or nil
        return { MODES[mode](index, n), weight, valid }
    end
    if order == 0 then return { side(rounded(t), np.where(np.isnan(t), core.NAN, 1)) } end
    if order > 1 then
        local list = {}
        for k, pair in ipairs(prefilter.weights(t, order)) do list[k] = side(pair[1], pair[2]) end
        return list
    end
    local low = np.floor(t)
    return { side(low, 1 - (t - low)), side(low + 1, t - low) }
end

local MARGIN = 12 -- behind so many elements a spline is the same to rounding, however it goes on; as in scipy.ndimage

-- How the spline goes on beyond the ends of what it passes through.
local ENDS = { constant = "mirror", nearest = "reflect", wrap = "wrap", mirror = "mirror", reflect = "reflect" }

--- The coefficients of the spline of a degree through x, and by how much indices of elements grew: where no symmetry
-- tells what stands beyond the ends, a margin does.
local function spline_of(x, degree, mode, cval)
    local margin = (mode == "constant" or mode == "nearest") and MARGIN or 0
    if margin > 0 then
        local widths = {}
        for k = 1, core.ndim(x) do widths[k] = { margin, margin } end
        local how = mode == "nearest" and { mode = "edge" } or { value = np.astype(core.number(cval), x.dtype) }
        x = np.pad(x, widths, how)
    end
    return prefilter.coefficients(x, degree, ENDS[mode]), margin
end

return function(interpolate)
    --- np.interpolate.map_coordinates(x, coordinates, order, {mode="constant", cval=0}): values of x between its
    -- elements, as jax.scipy.ndimage has it: the first axis of coordinates has as many as x has axes, positions counted
    -- from 0. order 0 is the nearest element, order 1 linear, 2 to 5 a spline of this degree through the elements, as
    -- in scipy.ndimage (whose "grid-constant" and "grid-wrap" are "constant" and "wrap"). The result has the dtype of
    -- x; integers are rounded, halves away from 0, to the nearest that the dtype has. Differentiable in x, and in
    -- coordinates with order 1 and more.
    --- mode: beyond the ends: "constant" cval, "nearest" the last element, "wrap", "mirror" or "reflect"
    --- cval: what stands beyond the ends with "constant"
    --- > np.interpolate.map_coordinates(np.array{0, 10, 20}, {{0.5, 1.25, 3}}, 1)
    -- [ 5.  12.5  0. ]
    --- > np.interpolate.map_coordinates(np.array{0, 10, 20}, {{-1, 3, 4}}, 0, {mode="mirror"})
    -- [10. 10.  0.]
    --- > np.interpolate.map_coordinates(np.array{0, 1, 4, 9, 16}, {{1.5, 2.5}}, 2, {mode="reflect"})
    -- [2.255677  6.1581163]
    function interpolate.map_coordinates(x, coordinates, order, given)
        local name = "interpolate.map_coordinates"
        local o = core.options(name, given, { mode = true, cval = true })
        local mode = o.mode == nil and "constant" or o.mode
        if not MODES[mode] then
            bad_argument(name, nil, "mode", '"constant", "nearest", "wrap", "mirror" or "reflect"', mode)
        end
        order = core.integer(name, 3, "order", order, 0, 5)
        local cval = core.plain(o.cval == nil and 0 or o.cval)
        if not core.is_number(cval) then bad_argument(name, nil, "cval", "a number", cval) end
        x, coordinates = operands.meet(name, 2, x, coordinates)
        local own, given_dims, dims = core.dtype_of(x), shape_of(coordinates), shape_of(x)
        local least, most = own.lowest or 0, own.highest or 1
        if not own.inexact and (cval % 1 ~= 0 or cval < least or cval > most) then
            raise(name, "option 'cval', %.14g, is not a value of the array's dtype %s", cval, own.name)
        end
        if #dims == 0 or not shape.same({ given_dims[1] }, { #dims }) then
            raise(name, "the first axis of argument 2 (coordinates) must have %d of them, got shape %s", #dims,
                  core.shape_text(coordinates))
        end
        local _, values, t = operands.floats_all(name, nil, 2, x, coordinates)
        if core.dtype_of(t).kind == "c" then t = np.real(t) end
        local axes, front, margin = {}, { unpack(given_dims, 2) }, 0
        for k, n in ipairs(dims) do
            if n < 1 then raise(name, "axis %d has no elements", k - 1) end
        end
        if order > 1 then values, margin = spline_of(values, order, mode, cval) end
        for k, n in ipairs(dims) do
            local place, whole = reshape(shape.cut(t, 0, k - 1, k), front) + margin, n + 2 * margin
            local beyond = mode
            if order > 1 and mode == "nearest" then -- the margin's ends, where the spline goes on as ENDS has it
                place, beyond = np.clip(place, 0, whole - 1), ENDS.nearest
            end
            axes[k] = elements_at(place, whole, order, beyond)
        end
        local result = corners(values, axes, cval)
        if own.inexact then return np.astype(result, own.name) end
        result = rounded(result)
        if order > 1 then result = np.clip(result, least, most) end -- a spline goes beyond what it passes through
        return np.astype(result, own.name)
    end

    local known = { method = true, bounds_error = true, fill_value = true }

    --- np.interpolate.interpn(points, values, xi, {method="linear", bounds_error=true, fill_value=nan}): values of a
    -- grid at the places xi. points is a table of 1-d arrays that rise, the coordinates along each axis; values has as
    -- many elements along its first axes. The last axis of xi has the coordinates of a place. A place outside is an
    -- error where values can be read; while tracing it gives fill_value, as without bounds_error. Differentiable in
    -- values, and in places and points with "linear".
    --- method: "linear", or "nearest": the value of the nearest point, in the middle of two the lower one
    --- bounds_error: false: places outside give fill_value
    --- fill_value: a number for places outside; nil is NaN, false goes on beyond the ends
    --- > np.interpolate.interpn({{0, 1}, {0, 2}}, np.array{{0, 2}, {10, 12}}, {{0.5, 1}, {0, 0.5}})
    -- [6.  0.5]
    function interpolate.interpn(points, values, xi, given)
        local name = "interpolate.interpn"
        local o = core.options(name, given, known)
        if type(points) ~= "table" then bad_argument(name, 1, "points", "a table of points for each axis", points) end
        local half
        half, values, xi = operands.floats_all(name, nil, 2, values, xi)
        if core.dtype_of(xi).kind == "c" then xi = np.real(xi) end
        local list, rising = grid_of(name, points, values, xi)
        local n, dims = #list, shape_of(xi)
        if #dims == 0 or not shape.same({ dims[#dims] }, { n }) then
            raise(name, "the last axis of argument 3 (xi) must have %d coordinates, got shape %s", n,
                  core.shape_text(xi))
        end
        local method = o.method == nil and "linear" or o.method
        if method ~= "linear" and method ~= "nearest" then
            bad_argument(name, nil, "method", '"linear" or "nearest"', method)
        end
        local fill = core.plain(o.fill_value == nil and core.NAN or o.fill_value)
        if fill ~= false and not core.is_number(fill) then
            bad_argument(name, nil, "fill_value", "a number or false", fill)
        end
        local axes, outside = {}, nil
        for k, x in ipairs(list) do
            local t = reshape(shape.cut(xi, #dims - 1, k - 1, k), { unpack(dims, 1, #dims - 1) })
            axes[k] = neighbours(x, t, method)
            local off = np.logical_or(np.less(t, x[0]), np.greater(t, x[-1]))
            outside = outside and np.logical_or(outside, off) or off
        end
        if not core.recording() then
            if not rising:item() then raise(name, "the points of each axis must rise") end
            if o.bounds_error ~= false and np.any(outside):item() then
                raise(name, "a place lies outside of the points; with {bounds_error=false} it gets fill_value")
            end
        end
        local result = corners(values, axes)
        local wide = { unpack(dims, 1, #dims - 1) }
        for _ = n + 1, core.ndim(values) do wide[#wide + 1] = 1 end
        if fill ~= false then result = np.where(reshape(outside, wide), fill, result) end
        return operands.narrow(np.where(rising, result, core.NAN), half)
    end
end
