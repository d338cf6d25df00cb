--- resize.lua: arrays with other extents, for np.nn: resize as jax.image.resize, interpolate as PyTorch's.
--
-- Each axis is resampled on its own: place k of the result lies at a coordinate between elements, and is the sum of
-- those around it, times weights. The indices and weights of an axis are made once, in Lua's doubles: of few elements
-- their products are added up; of many, as when an image becomes much smaller, it is a product with a matrix.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local spatial = require "neap.nn.spatial"

local np = core.np
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local shape_of = core.shape_of
local floor, ceil, max, min, abs = math.floor, math.ceil, math.max, math.min, math.abs

local FEW = 6 -- so many elements are added up one by one

-- ---- Weights --------------------------------------------------------------------------------------------------------

--- Keys' cubic with the parameter a (Keys, 1981).
local function cubic(a)
    return function(t)
        if t < 1 then return ((a + 2) * t - (a + 3)) * t * t + 1 end
        return t < 2 and ((a * t - 5 * a) * t + 8 * a) * t - 4 * a or 0
    end
end

local function lanczos(radius)
    return function(t)
        if t > radius then return 0 end
        if t < 1e-8 then return 1 end
        return radius * math.sin(math.pi * t) * math.sin(math.pi * t / radius) / (math.pi * math.pi * t * t)
    end
end

--- By method: the weight at a distance, up to `radius`.
local kernels = {
    linear = { radius = 1, of = function() return function(t) return max(1 - t, 0) end end },
    cubic = { radius = 2, of = function(a) return cubic(a or -0.5) end },
    lanczos3 = { radius = 3, of = function() return lanczos(3) end },
    lanczos5 = { radius = 5, of = function() return lanczos(5) end },
}

--- coordinate(k, extent, n, step): where place k of n lies among `extent` elements; step: the elements of a place.
local coordinates = {
    half_pixel = function(k, _, _, step) return (k + 0.5) * step - 0.5 end,
    asymmetric = function(k, _, _, step) return k * step end,
    align_corners = function(k, extent, n) return n > 1 and k * (extent - 1) / (n - 1) or 0 end,
    pytorch_half_pixel = function(k, _, n, step) return n > 1 and (k + 0.5) * step - 0.5 or 0 end,
}

local roundings = {
    round_prefer_ceil = function(t) return floor(t + 0.5) end,
    round_prefer_floor = function(t) return ceil(t - 0.5) end,
    floor = floor,
    ceil = ceil,
}

--- Which element of `extent` each of n places takes: i32.
local function nearest_of(extent, n, step, o)
    local list = {}
    for k = 0, n - 1 do
        list[k + 1] = max(min(o.rounding(o.coordinate(k, extent, n, step)), extent - 1), 0)
    end
    return np.array(list, { dtype = "i32" })
end

--- The elements and weights of n places: lists of `taps` lists of n. Elements outside of the axis are left out, and the
-- others' weights are 1 together; or, with o.edge, the first and the last one stand for them.
local function weights_of(extent, n, step, o)
    local kernel = kernels[o.method]
    local weight, wide = kernel.of(o.cubic_coeff), o.antialias and max(step, 1) or 1
    local reach = kernel.radius * wide
    local taps = min(ceil(2 * reach), extent + (o.edge and 2 * kernel.radius or 0))
    local at, by = {}, {}
    for j = 1, taps do at[j], by[j] = {}, {} end
    for k = 0, n - 1 do
        local centre = o.coordinate(k, extent, n, step)
        local from, sum = floor(centre - reach) + 1, 0
        if not o.edge then from = max(min(from, extent - taps), 0) end
        for j = 1, taps do
            local place = from + j - 1
            local w = weight(abs(centre - place) / wide)
            if place < 0 or place >= extent then
                if not o.edge then w = 0 end
                place = max(min(place, extent - 1), 0)
            end
            at[j][k + 1], by[j][k + 1], sum = place, w, sum + w
        end
        for j = 1, taps do by[j][k + 1] = abs(sum) > 1e-9 and by[j][k + 1] / sum or 0 end
    end
    return at, by
end

-- ---- One axis -------------------------------------------------------------------------------------------------------

--- x with n places along an axis. o: { method, coordinate, antialias, edge, rounding, cubic_coeff }; step: the elements
-- of a place.
local function resampled(x, axis, n, step, o)
    local dims = shape_of(x)
    local extent = dims[axis + 1]
    if o.method == "nearest" then return np.take(x, nearest_of(extent, n, step, o), { axis = axis }) end
    local at, by = weights_of(extent, n, step, o)
    local dtype, along = core.dtype_of(x).name, {}
    for k = 1, #dims do along[k] = k == axis + 1 and n or 1 end
    if #at <= FEW then
        local sum
        for j = 1, #at do
            local part = np.take(x, np.array(at[j], { dtype = "i32" }), { axis = axis })
                         * shape.reshape(np.array(by[j], { dtype = dtype }), along)
            sum = sum and sum + part or part
        end
        return sum
    end
    local matrix = {}
    for e = 1, extent do
        matrix[e] = {}
        for k = 1, n do matrix[e][k] = 0 end
    end
    for j = 1, #at do
        for k = 1, n do
            local row = matrix[at[j][k] + 1]
            row[k] = row[k] + by[j][k]
        end
    end
    return np.moveaxis(np.matmul(np.moveaxis(x, axis, -1), np.array(matrix, { dtype = dtype })), -1, axis)
end

-- ---- Functions ------------------------------------------------------------------------------------------------------

local resize_options = { antialias = true, coordinates = true, rounding = true, exclude_outside = true,
                         cubic_coeff = true, scales = true }

--- An option that is one of the keys of `known`.
local function choice(name, what, value, known)
    if known[value] ~= nil then return known[value] end
    local names = {}
    for key in pairs(known) do names[#names + 1] = ("%q"):format(key) end
    table.sort(names)
    bad_argument(name, nil, what, "one of " .. table.concat(names, ", "), value)
end

local synonyms = { nearest = "nearest", linear = "linear", bilinear = "linear", trilinear = "linear",
                   cubic = "cubic", bicubic = "cubic", lanczos3 = "lanczos3", lanczos5 = "lanczos5" }

--- x, floats as f32 at least, of extents `dims` along all axes; steps: the elements of a place, by axis.
local function resample(name, x, dims, steps, o)
    local half
    if o.method ~= "nearest" then x, half = operands.floats(name, 1, x) end
    local own = shape_of(x)
    for k = 1, #dims do
        if core.is_size(own[k]) and not core.is_same(own[k], dims[k]) then
            raise(name, "the extents of axes that change must be known")
        end
        if not core.is_same(own[k], dims[k]) or steps[k] then
            if own[k] == 0 and dims[k] > 0 then
                raise(name, "axis %d has no elements to make %d of", k - 1, dims[k])
            end
            x = resampled(x, k - 1, dims[k], steps[k] or own[k] / dims[k], o)
        end
    end
    return operands.narrow(x, half)
end

--- np.nn.resize(x, shape, method, {antialias=true, coordinates="half_pixel", rounding="round_prefer_ceil",
-- exclude_outside=true, cubic_coeff=-0.5, scales=…}): x, of any number of axes, with another shape, as
-- jax.image.resize; method is "nearest", "linear", "cubic" (Keys, 1981), "lanczos3" or "lanczos5". Axes whose extent
-- stays are left as they are. Nearest keeps the dtype; else integers count as f32. The other options are those of
-- ONNX's Resize.
--- antialias: false: where an axis becomes shorter, elements between are passed over
--- coordinates: where places lie among elements: "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"
--- rounding: of nearest: "round_prefer_ceil", "round_prefer_floor", "floor", "ceil"
--- exclude_outside: false: the first and the last element stand for those outside, which have no weight else
--- cubic_coeff: the parameter of the cubic: -0.75 in PyTorch and ONNX
--- scales: a table of the ratio of new to old extents, by axis, where that is not the ratio of the extents
--- > np.nn.resize(np.array{0, 1}, {4}, "linear"), np.nn.resize(np.arange(3), {6}, "nearest")
-- [0.   0.25 0.75 1.  ]
-- [0 0 1 1 2 2]
local function resize(x, dims, method, given)
    local name = "nn.resize"
    local o = options(name, given, resize_options)
    x = core.coerce(name, 1, x)
    dims = shape.argument(name, dims)
    if #dims ~= core.ndim(x) then
        raise(name, "the shape must have an extent for each of the %d axes, got %s", core.ndim(x),
              core.shape_text(dims))
    end
    if synonyms[method] == nil then
        bad_argument(name, 3, "method", '"nearest", "linear", "cubic", "lanczos3" or "lanczos5"', method)
    end
    local steps = {}
    if o.scales ~= nil then
        if type(o.scales) ~= "table" or #o.scales ~= #dims then
            bad_argument(name, nil, "scales", ("a table of %d numbers"):format(#dims), o.scales)
        end
        for k, scale in ipairs(core.list(name, "option 'scales'", o.scales)) do
            if type(scale) ~= "number" or scale <= 0 or scale ~= scale then
                bad_argument(name, nil, "scales", "a table of numbers above 0", scale)
            end
            steps[k] = scale ~= 1 and 1 / scale or nil
        end
    end
    return resample(name, x, dims, steps, {
        method = synonyms[method], antialias = o.antialias ~= false, edge = o.exclude_outside == false,
        cubic_coeff = o.cubic_coeff,
        coordinate = choice(name, "coordinates", o.coordinates or "half_pixel", coordinates),
        rounding = choice(name, "rounding", o.rounding or "round_prefer_ceil", roundings),
    })
end

local modes = { nearest = "nearest", ["nearest-exact"] = "nearest", linear = "linear", bilinear = "linear",
                trilinear = "linear", cubic = "cubic", bicubic = "cubic", area = "area" }

--- np.nn.interpolate(x, extents, {scale=…, mode="nearest", align_corners=false, antialias=false, layout="NHWC"}):
-- images with other spatial extents, as PyTorch's interpolate. `extents` is an integer or one for each spatial axis, or
-- nil with the option `scale`. mode: "nearest" (the element at or before), "nearest-exact", "linear" ("bilinear",
-- "trilinear"), "cubic" ("bicubic") or "area" (np.nn.adaptive_avg_pool). Nearest keeps the dtype; else integers count
-- as f32.
--- scale: in place of extents: a number or one for each spatial axis; the extents are rounded down
--- mode: how: see above
--- align_corners: true: the first and the last element of axes stay where they are
--- antialias: true: of linear and cubic: all elements count where an axis becomes shorter
--- layout: channels last, "NHWC" (1 axis: "NWC", 3: "NDHWC"), or first, "NCHW" ("NCW", "NCDHW")
--- > np.nn.interpolate(np.array{0, 1}:reshape(1, 2, 1), 3, {mode="linear", align_corners=true}):ravel()
-- [0.  0.5 1. ]
local function interpolate(x, extents, given)
    local name = "nn.interpolate"
    local o = options(name, given, { scale = true, mode = true, align_corners = true, antialias = true, layout = true })
    local mode = choice(name, "mode", o.mode or "nearest", modes)
    local n, first
    x, n, first = spatial.images(name, x, o.layout)
    local dims, steps = shape_of(x), {}
    if (extents == nil) == (o.scale == nil) then raise(name, "needs either extents or the option 'scale'") end
    if extents ~= nil then extents = spatial.per_axis(name, "extents", extents, n, nil, 1) end
    for k = 1, n do
        if not extents then
            local scale = type(o.scale) == "table" and o.scale[k] or o.scale
            if type(scale) ~= "number" or scale <= 0 or scale ~= scale then
                bad_argument(name, nil, "scale", ("a number above 0, or %d of them"):format(n), o.scale)
            end
            dims[k + 1], steps[k + 1] = floor(dims[k + 1] * scale), 1 / scale
        else
            dims[k + 1] = extents[k]
        end
    end
    local y
    if mode == "area" then
        y = np.nn.adaptive_avg_pool(x, spatial.extents(dims, n, 2))
    else
        local exact = o.mode == "nearest-exact"
        y = resample(name, x, dims, steps, {
            method = mode, antialias = o.antialias, edge = not o.antialias,
            cubic_coeff = o.antialias and -0.5 or -0.75,
            rounding = exact and roundings.round_prefer_ceil or floor,
            coordinate = mode == "nearest" and not exact and coordinates.asymmetric
                         or o.align_corners and coordinates.align_corners or coordinates.half_pixel,
        })
    end
    return first and np.moveaxis(y, -1, 1) or y
end

return function(nn) nn.resize, nn.interpolate = resize, interpolate end
