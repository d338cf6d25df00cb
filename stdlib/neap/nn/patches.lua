--- patches.lua: images as the patches that windows see, and channels as places, for np.nn: unfold, fold, pixel_shuffle,
-- pixel_unshuffle, channel_shuffle.

--- {strides}: by how many places the window moves: an integer or one for each spatial axis
--- {padding}: "SAME", "VALID", an integer, or {before, after} for each spatial axis, filled with zeros
--- {dilation}: how many places lie between elements of a window, from 1: an integer or one for each spatial axis
--- {layout}: channels last, "NHWC" (1 axis: "NWC", 3: "NDHWC"), or first, "NCHW" ("NCW", "NCDHW")

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local spatial = require "neap.nn.spatial"

local np = core.np
local raise, options = core.raise, core.options
local shape_of, shape_text = core.shape_of, core.shape_text

local window_options = { strides = true, padding = true, dilation = true, layout = true }

--- How windows go over images of these extents: lists by spatial axis.
local function plan_of(name, n, extents, window, o)
    local p = { window = spatial.per_axis(name, "window", window, n, nil, 1), reach = {}, places = {} }
    p.strides = spatial.per_axis(name, "strides", o.strides, n, 1, 1)
    p.dilation = spatial.per_axis(name, "dilation", o.dilation, n, 1, 1)
    for k = 1, n do p.reach[k] = (p.window[k] - 1) * p.dilation[k] + 1 end
    p.low, p.high = spatial.paddings(name, o.padding == nil and 0 or o.padding, extents, p.reach, p.strides)
    for k = 1, n do
        p.places[k] = math.max(math.floor((extents[k] + p.low[k] + p.high[k] - p.reach[k]) / p.strides[k]) + 1, 0)
    end
    return p
end

--- np.nn.unfold(x, window, {strides=1, padding=0, dilation=1, layout="NHWC"}): the patches that windows of images see:
-- (batch, places, window * channels), where the channels of a place in the window stand together, as in kernels of
-- conv; with channels first (batch, channels * window, places), as in PyTorch. np.nn.fold puts them back.
--- > np.nn.unfold(np.arange(4):reshape(1, 4, 1), 2)
-- [[[0 1]
--   [1 2]
--   [2 3]]]
local function unfold(x, window, given)
    local name = "nn.unfold"
    local o = options(name, given, window_options)
    local n, first
    x, n, first = spatial.images(name, x, o.layout)
    local p, dims = plan_of(name, n, spatial.extents(shape_of(x), n, 2), window, o), shape_of(x)
    local all, order = spatial.windows(spatial.surround(x, 0, p.low, p.high), n, p.window, p.strides, p.dilation), { 0 }
    local places, size, channels = shape.product(p.places), shape.product(p.window), dims[n + 2]
    if first then order[2] = n + 1 end -- (batch, places…, channels, window…), the axes in another order
    for k = 1, n do order[#order + 1] = first and n + 1 + k or k end
    for k = 1, n do order[#order + 1] = first and k or n + 1 + k end
    if not first then order[#order + 1] = n + 1 end
    return shape.reshape(shape.permute(all, order), first and { dims[1], channels * size, places }
                                                    or { dims[1], places, size * channels })
end

--- np.nn.fold(patches, extents, window, {strides=1, padding=0, dilation=1, layout="NHWC"}): images of these extents,
-- the sums of what patches, as np.nn.unfold gives them, have at each place (col2im): the transpose of unfold.
--- > np.nn.fold(np.ones{1, 3, 2}, {4}, 2):ravel()
-- [1. 2. 2. 1.]
local function fold(patches, extents, window, given)
    local name = "nn.fold"
    local o = options(name, given, window_options)
    patches = core.coerce(name, 1, patches)
    if type(extents) ~= "table" or #extents < 1 or #extents > 3 then
        core.bad_argument(name, 2, "extents", "a table of 1 to 3 extents", extents)
    end
    local n, dims = #extents, shape_of(patches)
    extents = core.integers(name, 2, "extents", extents, 0)
    local letters = ("DHW"):sub(-n)
    local first = o.layout == "NC" .. letters
    if o.layout ~= nil and not first and o.layout ~= "N" .. letters .. "C" then
        raise(name, "option 'layout' must be \"N%sC\" or \"NC%s\" for %d extents, got %s", letters, letters, n,
              core.describe(o.layout))
    end
    local p = plan_of(name, n, extents, window, o)
    local places, size = shape.product(p.places), shape.product(p.window)
    if #dims ~= 3 or dims[first and 3 or 2] ~= places or dims[first and 2 or 3] % size ~= 0 then
        raise(name, "patches must have shape %s with %d places and windows of %d elements, got %s",
              first and "(batch, channels * window, places)" or "(batch, places, window * channels)", places, size,
              shape_text(dims))
    end
    local channels = math.floor(dims[first and 2 or 3] / size)
    local half
    patches, half = operands.wide(patches)
    local x = shape.reshape(patches, first and { dims[1], channels, size, places }
                                          or { dims[1], places, size, channels })
    x = shape.permute(x, first and { 2, 0, 3, 1 } or { 2, 0, 1, 3 }) -- (window, batch, places, channels)
    local around, sum = { dims[1], unpack(p.places) }, nil
    around[n + 2] = channels
    for at = 0, size - 1 do -- each element of the windows lies on a grid of its own
        local low, high, gaps, rest = {}, {}, {}, at
        for k = n, 1, -1 do
            low[k] = rest % p.window[k] * p.dilation[k] - p.low[k]
            high[k] = extents[k] - low[k] - ((p.places[k] - 1) * p.strides[k] + 1)
            gaps[k], rest = p.strides[k] - 1, math.floor(rest / p.window[k])
        end
        local part = spatial.surround(shape.reshape(shape.cut(x, 0, at, at + 1), around), 0, low, high, gaps)
        sum = sum and sum + part or part
    end
    sum = operands.narrow(sum, half)
    return first and np.moveaxis(sum, -1, 1) or sum
end

--- Two-dimensional images, a factor, and whether channels came first.
local function scaled_images(name, x, factor, given)
    local o = options(name, given, { layout = true })
    local n, first
    x, n, first = spatial.images(name, x, o.layout)
    if n ~= 2 then raise(name, "needs images of 2 spatial axes, got shape %s", shape_text(x)) end
    return x, core.integer(name, 2, "factor", factor, 1), first, shape_of(x)
end

--- np.nn.pixel_shuffle(x, factor, {layout="NHWC"}): images factor times as high and as wide, with factor² times fewer
-- channels (Shi et al., 2016): channel c * factor² + i * factor + j of a pixel is channel c at row i, column j of its
-- square, as in PyTorch.
--- > np.nn.pixel_shuffle(np.arange(4):reshape(1, 1, 1, 4), 2):reshape(2, 2)
-- [[0 1]
--  [2 3]]
local function pixel_shuffle(x, factor, given)
    local r, first, dims
    x, r, first, dims = scaled_images("nn.pixel_shuffle", x, factor, given)
    if dims[4] % (r * r) ~= 0 then
        raise("nn.pixel_shuffle", "%d channels are no multiple of %d", dims[4], r * r)
    end
    local c = math.floor(dims[4] / (r * r))
    x = shape.permute(shape.reshape(x, { dims[1], dims[2], dims[3], c, r, r }), { 0, 1, 4, 2, 5, 3 })
    x = shape.reshape(x, { dims[1], dims[2] * r, dims[3] * r, c })
    return first and np.moveaxis(x, -1, 1) or x
end

--- np.nn.pixel_unshuffle(x, factor, {layout="NHWC"}): squares of factor² pixels as channels of one: undoes
-- np.nn.pixel_shuffle.
--- > np.nn.pixel_unshuffle(np.arange(4):reshape(1, 2, 2, 1), 2):ravel()
-- [0 1 2 3]
local function pixel_unshuffle(x, factor, given)
    local r, first, dims
    x, r, first, dims = scaled_images("nn.pixel_unshuffle", x, factor, given)
    if dims[2] % r ~= 0 or dims[3] % r ~= 0 then
        raise("nn.pixel_unshuffle", "height and width must be multiples of %d, got shape %s", r, shape_text(x))
    end
    local h, w = math.floor(dims[2] / r), math.floor(dims[3] / r)
    x = shape.permute(shape.reshape(x, { dims[1], h, r, w, r, dims[4] }), { 0, 1, 3, 5, 2, 4 })
    x = shape.reshape(x, { dims[1], h, w, dims[4] * r * r })
    return first and np.moveaxis(x, -1, 1) or x
end

--- np.nn.channel_shuffle(x, groups, {layout="NHWC"}): channels in another order (Zhang et al., 2018): of `groups`
-- groups the first of each, then the second of each, and so on.
--- > np.nn.channel_shuffle(np.arange(6):reshape(1, 1, 6), 2):ravel()
-- [0 3 1 4 2 5]
local function channel_shuffle(x, groups, given)
    local name, n, first = "nn.channel_shuffle"
    x, n, first = spatial.images(name, x, options(name, given, { layout = true }).layout)
    groups = core.integer(name, 2, "groups", groups, 1)
    local dims = shape_of(x)
    if dims[n + 2] % groups ~= 0 then raise(name, "%d channels are no multiple of %d groups", dims[n + 2], groups) end
    local apart = { unpack(dims, 1, n + 1) }
    apart[n + 2], apart[n + 3] = groups, math.floor(dims[n + 2] / groups)
    x = shape.reshape(np.swapaxes(shape.reshape(x, apart), -1, -2), dims)
    return first and np.moveaxis(x, -1, 1) or x
end

return function(nn)
    nn.unfold, nn.fold = unfold, fold
    nn.pixel_shuffle, nn.pixel_unshuffle, nn.channel_shuffle = pixel_shuffle, pixel_unshuffle, channel_shuffle
end
