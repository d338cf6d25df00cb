--- resize.lua: images of other sizes, and images read at given places: Resize, Upsample, GridSample, AffineGrid.
--
-- Resize works axis by axis. Each place of the result reads some neighbours with some weights, which depend on extents
-- alone: both are computed in Lua, and np.take does the rest.
local core = require "neap.core"
local node = require "neap.onnx.node"

local np = core.np
local cast = node.cast
local ops = {}

local MOST_PLACES = 1000000 -- along an axis of a resized image

-- ---- Resize: coordinates --------------------------------------------------------------------------------------------

--- The place in `n` elements for place x of the result, by mode. `wide`: the width asked for, maybe with a fraction;
-- `places`: the number of places.
local coordinates = {
    half_pixel = function(x, scale) return (x + 0.5) / scale - 0.5 end,
    asymmetric = function(x, scale) return x / scale end,
    tf_half_pixel_for_nn = function(x, scale) return (x + 0.5) / scale end,
    pytorch_half_pixel = function(x, scale, _, wide) return wide == 1 and -0.5 or (x + 0.5) / scale - 0.5 end,
    align_corners = function(x, _, n, wide) return wide == 1 and 0 or x * (n - 1) / (wide - 1) end,
    half_pixel_symmetric = function(x, scale, n, wide, places)
        return n / 2 * (1 - places / wide) + (x + 0.5) / scale - 0.5
    end,
    tf_crop_and_resize = function(x, _, n, wide, _, from, to)
        local first = from * (n - 1)
        if wide == 1 then return first + (to - from) * (n - 1) / 2 end
        return first + x * (to - from) * (n - 1) / (wide - 1)
    end,
}

-- ---- Resize: weights ------------------------------------------------------------------------------------------------

local nearest = {
    round_prefer_floor = function(ratio) return ratio <= 0.5 end,
    round_prefer_ceil = function(ratio) return ratio < 0.5 end,
    floor = function() return true end,
    ceil = function() return false end,
}

local function cubic(x, a)
    x = math.abs(x)
    if x <= 1 then return ((a + 2) * x - (a + 3)) * x * x + 1 end
    return x < 2 and ((a * x - 5 * a) * x + 8 * a) * x - 4 * a or 0
end

--- The weights of neighbours first … 1 - first of a place that is `ratio`, over 0 up to 1, behind neighbour 0.
local function weights_of(o, ratio, scale)
    if o.mode == "nearest" then
        local left = ratio < 1 and o.nearest(ratio)
        return { left and 1 or 0, left and 0 or 1 }, 0
    end
    local reach, list, sum = o.mode == "cubic" and 2 or 1, {}, 0
    scale = o.antialias and math.min(scale, 1) or 1
    local first = math.floor(-reach / scale) + 1
    for k = first, 1 - first do
        local x = (k - ratio) * scale
        local w = reach == 2 and cubic(x, o.a) or math.max(1 - math.abs(x), 0)
        list[#list + 1], sum = w, sum + w
    end
    if o.antialias then
        for k = 1, #list do list[k] = list[k] / sum end
    end
    return list, first
end

--- For one axis: taps, a list of { indices, weights }, and where the result lies outside of the image.
local function taps_of(o, n, axis)
    local taps, outside, any = {}, {}, false
    for x = 0, axis.places - 1 do
        local at = o.coordinate(x, axis.scale, n, axis.scale * n, axis.places, axis.from, axis.to)
        outside[x + 1] = o.crops and (at < 0 or at > n - 1)
        any = any or outside[x + 1]
        local base = math.ceil(at) - 1
        local weights, first = weights_of(o, at - base, axis.scale)
        local sum = 0
        for k = 1, #weights do
            local place = base + first + k - 1
            if o.exclude and (place < 0 or place >= n) then weights[k] = 0 end
            sum = sum + weights[k]
            taps[k] = taps[k] or { {}, {} }
            taps[k][1][x + 1] = math.max(math.min(place, n - 1), 0)
        end
        for k = 1, #weights do taps[k][2][x + 1] = o.exclude and weights[k] / sum or weights[k] end
    end
    return taps, any and outside
end

local function along(list, dtype, axis, rank)
    local shape = {}
    for k = 1, rank do shape[k] = k == axis + 1 and #list or 1 end
    return np.reshape(np.array(list, { dtype = dtype }), shape)
end

--- x with another extent along an axis.
local function resized(o, x, axis, to)
    local rank, n = core.ndim(x), x.shape[axis + 1]
    local taps, outside = taps_of(o, n, to)
    local y
    if o.mode == "nearest" then
        local indices = {}
        for k = 1, to.places do indices[k] = taps[taps[1][2][k] == 1 and 1 or 2][1][k] end
        y = np.take(x, np.array(indices, { dtype = "i32" }), { axis = axis })
    else
        for _, tap in ipairs(taps) do
            local part = np.take(x, np.array(tap[1], { dtype = "i32" }), { axis = axis })
            part = part * along(tap[2], x.dtype, axis, rank)
            y = y and y + part or part
        end
    end
    return y, outside and along(outside, "bool", axis, rank)
end

-- ---- Resize: the operator -------------------------------------------------------------------------------------------

local POLICIES = { not_larger = math.min, not_smaller = math.max }

--- The scale and number of places of each of `axes`.
local function targets(n, dims, axes, scales, sizes)
    local list, policy = {}, POLICIES[n.attr.keep_aspect_ratio_policy]
    local given = sizes and #sizes > 0 and sizes or scales
    if not given or #given ~= #axes then n:fail("it needs a scale or a size for each of %d axes", #axes) end
    local common
    for k, axis in ipairs(axes) do
        local extent = dims[axis + 1]
        local same = given == sizes and given[k] == extent or given == scales and given[k] == 1
        if not same and (core.is_size(extent) or core.is_size(given[k])) then
            n:fail("axis %d has a declared size, which is not known here", axis)
        end
        local scale = same and 1 or given == sizes and given[k] / extent or given[k]
        local places = same and extent or given == sizes and given[k] or math.floor(extent * scale)
        list[k] = { scale = scale, places = places }
        common = common and policy and policy(common, scale) or scale
    end
    for k, axis in ipairs(policy and given == sizes and axes or {}) do
        list[k] = { scale = common, places = math.floor(common * dims[axis + 1] + 0.5) }
    end
    for _, to in ipairs(list) do
        local places = core.is_size(to.places) and 0 or to.places
        if places ~= places or places < 0 or places > MOST_PLACES then
            n:fail("%g places along an axis", places)
        end
    end
    return list
end

local function resize(n, x, roi, scales, sizes)
    local a, rank, dtype = n.attr, core.ndim(x), x.dtype
    local axes, mode = {}, a.coordinate_transformation_mode or n.opset < 11 and "asymmetric" or "half_pixel"
    for k = 1, rank do axes[k] = k - 1 end
    if a.axes then axes = n:axes(a.axes, rank) end
    local o = { mode = a.mode or "nearest", a = a.cubic_coeff_a or -0.75, antialias = a.antialias == 1,
                exclude = a.exclude_outside == 1, crops = mode == "tf_crop_and_resize",
                nearest = nearest[a.nearest_mode or n.opset < 11 and "floor" or "round_prefer_floor"],
                coordinate = coordinates[mode] or n:fail("the coordinates '%s'", mode) }
    if not o.nearest then n:fail("the nearest_mode '%s'", a.nearest_mode) end
    if o.mode ~= "nearest" and o.mode ~= "linear" and o.mode ~= "cubic" then n:fail("the mode '%s'", o.mode) end
    local list, outside = targets(n, x.shape, axes, scales, sizes), nil
    if o.mode ~= "nearest" and core.dtype_of(x).bytes < 4 then x = cast(x, "f32") end
    for k, axis in ipairs(axes) do
        local to = list[k]
        to.from, to.to = roi and roi[k] or 0, roi and roi[k + #axes] or 1
        if o.crops or to.scale ~= 1 or to.places ~= x.shape[axis + 1] then
            local out
            x, out = resized(o, x, axis, to)
            outside = outside and out and np.logical_or(outside, out) or outside or out
        end
    end
    if outside then x = np.where(outside, a.extrapolation_value or 0, x) end
    return cast(x, dtype)
end

ops.Resize = {
    attrs = "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
        .. "keep_aspect_ratio_policy mode nearest_mode", host = { 2, 3, 4 },
    run = function(n, x, roi, scales, sizes)
        if n.opset < 11 then return resize(n, x, nil, roi) end
        return resize(n, x, roi and #roi > 0 and roi or nil, scales, sizes)
    end,
}

ops.Upsample = {
    attrs = "mode scales width_scale height_scale", host = { 2 },
    run = function(n, x, scales) return resize(n, x, nil, scales or n.attr.scales) end,
}

-- ---- Grids ----------------------------------------------------------------------------------------------------------

--- Coordinates reflected at the ends of [low, high] as often as needed.
local function reflected(x, low, high)
    local range = high - low
    if range <= 0 then return x * 0 + low end
    local turn = np.fmod(np.abs(x - low), 2 * range)
    return low + np.where(np.greater(turn, range), 2 * range - turn, turn)
end

--- The neighbours of coordinates along an axis of `extent`: a list of { place, weight, inside }.
local function neighbours(o, x, extent)
    local low, high = o.align and 0 or -0.5, o.align and extent - 1 or extent - 0.5
    if o.mode == "nearest" then x = np.rint(x) end
    if o.padding == "border" then x = np.clip(x, 0, extent - 1) end
    if o.padding == "reflection" then
        x = np.where(np.logical_or(np.less(x, low), np.greater(x, high)), reflected(x, low, high), x)
    end
    local base, list = np.floor(x), {}
    local first, last = o.mode == "cubic" and -1 or 0, o.mode == "cubic" and 2 or o.mode == "linear" and 1 or 0
    if o.mode == "nearest" then base = np.rint(x) end
    local t = x - base
    local function far(d) return ((d * o.a - 5 * o.a) * d + 8 * o.a) * d - 4 * o.a end
    local function near(d) return (d * (o.a + 2) - (o.a + 3)) * d * d + 1 end
    local weights = o.mode == "cubic" and { far(t + 1), near(t), near(1 - t), far(2 - t) }
                    or o.mode == "linear" and { 1 - t, t } or { nil }
    for k = first, last do
        local place = base + k
        if o.padding == "reflection" then place = reflected(place, low, high) end
        local inside = np.logical_and(np.greater_equal(place, 0), np.less_equal(place, extent - 1))
        list[#list + 1] = { cast(np.clip(place, 0, extent - 1), "i32"), weights[k - first + 1],
                            o.padding == "zeros" and inside or nil }
    end
    return list
end

local MODES = { bilinear = "linear", linear = "linear", nearest = "nearest", bicubic = "cubic", cubic = "cubic" }

ops.GridSample = {
    attrs = "align_corners mode padding_mode", least = 2,
    run = function(n, x, grid)
        local o = { mode = MODES[n.attr.mode or "linear"] or n:fail("the mode '%s'", n.attr.mode), a = -0.75,
                    padding = n.attr.padding_mode or "zeros", align = n.attr.align_corners == 1 }
        local dims, out = x.shape, grid.shape
        local count = #dims - 2
        local lists = {}
        for k = 1, count do -- the last axis of a grid has the last spatial axis first
            local at, extent = grid[{ np.ellipsis, count - k }], dims[k + 2]
            at = o.align and (at + 1) / 2 * (extent - 1) or ((at + 1) * extent - 1) / 2
            lists[k] = neighbours(o, np.reshape(at, { dims[1], 1, -1 }), extent)
        end
        local flat = np.reshape(x, { dims[1], dims[2], -1 })
        local function sum(k, place, weight, inside)
            if k > count then
                local y = np.take_along_axis(flat, place, { axis = 2 })
                if inside then y = np.where(inside, y, node.like(y, 0)) end
                return weight and y * weight or y
            end
            local total
            for _, near in ipairs(lists[k]) do
                local part = sum(k + 1, place and place * dims[k + 2] + near[1] or near[1],
                                 weight and near[2] and weight * near[2] or weight or near[2],
                                 inside and near[3] and np.logical_and(inside, near[3]) or inside or near[3])
                total = total and total + part or part
            end
            return total
        end
        return cast(np.reshape(sum(1), { dims[1], dims[2], unpack(out, 2, count + 1) }), x.dtype)
    end,
}

ops.AffineGrid = {
    attrs = "align_corners", least = 2, host = { 2 },
    run = function(n, theta, size)
        local count, align = #size - 2, n.attr.align_corners == 1
        local parts, shape = {}, {}
        for k = 1, count do
            local extent, own = size[k + 2], {}
            shape[k] = extent
            local at = np.arange(extent, { dtype = theta.dtype })
            at = align and at * (2 / (extent - 1)) - 1 or (at * 2 + 1) / extent - 1
            for j = 1, count do own[j] = j == k and extent or 1 end
            parts[count + 1 - k] = np.reshape(at, own)
        end
        for k = 1, count do parts[k] = np.ravel(np.broadcast_to(parts[k], shape)) end
        parts[count + 1] = np.ones_like(parts[1])
        local y = np.matmul(np.stack(parts, { axis = 1 }), np.matrix_transpose(theta))
        shape[count + 1] = count
        return np.reshape(y, { size[1], unpack(shape) })
    end,
}
return ops
