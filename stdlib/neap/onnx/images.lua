--- images.lua: what operators of images have in common: attributes by spatial axis, padding, the convolution itself.
-- Images are (batch, channels, spatial axes…), as np.nn has them with a layout "NC…"; or, where `last` is true, (batch,
-- spatial axes…, channels), as np.nn has them by default.
local core = require "neap.core"
local node = require "neap.onnx.node"

local np = core.np
local nn = np.nn
local images = {}

local FIRST, LAST = { "NCW", "NCHW", "NCDHW" }, { "NWC", "NHWC", "NDHWC" }

function images.layout_of(n, x, last)
    local layout = (last and LAST or FIRST)[core.ndim(x) - 2]
    if not layout then n:fail("images of shape %s: np.nn has 1 to 3 spatial axes", core.shape_text(x)) end
    return layout
end

--- An attribute with one number for each of `count` spatial axes.
function images.each(n, name, count, default)
    local list = n.attr[name]
    if list == nil then
        list = {}
        for k = 1, count do list[k] = default end
    end
    if #list ~= count then n:fail("%d %s for %d spatial axes", #list, name, count) end
    return list
end

function images.spatial(x, last)
    local dims, shape = {}, x.shape
    for k = 3, #shape do dims[k - 2] = shape[last and k - 1 or k] end
    return dims
end

--- What is put before and behind each spatial axis, for windows of `window` places (with dilation).
function images.pads_of(n, dims, window, strides)
    local auto, count, low, high = n.attr.auto_pad or "NOTSET", #dims, {}, {}
    local given = images.each(n, "pads", 2 * count, 0)
    for k = 1, count do
        low[k], high[k] = given[k], given[k + count]
        if auto == "VALID" then
            low[k], high[k] = 0, 0
        elseif auto == "SAME_UPPER" or auto == "SAME_LOWER" then
            local total = math.max((math.ceil(dims[k] / strides[k]) - 1) * strides[k] + window[k] - dims[k], 0)
            local half = auto == "SAME_UPPER" and math.floor(total / 2) or math.ceil(total / 2)
            low[k], high[k] = half, total - half
        end
    end
    return low, high
end

function images.pairs_of(low, high)
    local list = {}
    for k = 1, #low do list[k] = { low[k], high[k] } end
    return list
end

function images.dilated(kernel, dilations)
    local window = {}
    for k = 1, #kernel do window[k] = (kernel[k] - 1) * dilations[k] + 1 end
    return window
end

--- A bias of one number a channel, beside images.
function images.biased(y, b, last)
    if b == nil then return y end
    if last then return y + b end
    local shape = { 1, -1 }
    for k = 3, core.ndim(y) do shape[k] = 1 end
    return y + np.reshape(b, shape)
end

images.CONV = "auto_pad dilations group kernel_shape pads strides"

--- A kernel for images with their channels last: (spatial axes…, channels, features).
function images.kernel_last(w)
    return np.moveaxis(w, { 1, 0 }, { -2, -1 })
end

--- The convolution of a node's attributes, as ConvInteger and QLinearConv have it too.
function images.conv(n, x, w, convolve, more, last)
    local layout, count = images.layout_of(n, x, last), core.ndim(x) - 2
    if core.ndim(w) ~= count + 2 then
        n:fail("a kernel of shape %s for images of %d axes", core.shape_text(w), count)
    end
    local strides, dilations = images.each(n, "strides", count, 1), images.each(n, "dilations", count, 1)
    local low, high = images.pads_of(n, images.spatial(x, last), images.dilated(images.spatial(w), dilations), strides)
    local o = { strides = strides, kernel_dilation = dilations, padding = images.pairs_of(low, high),
                groups = n.attr.group or 1, layout = layout }
    for key, value in pairs(more or {}) do o[key] = value end
    return (convolve or nn.conv)(x, last and images.kernel_last(w) or w, o)
end

--- The p-norm along axes.
function images.norm(x, p, o)
    if p == 1 then return np.sum(np.abs(x), o) end
    if p == 2 then return node.cast(np.sqrt(np.sum(x * x, o)), x.dtype) end
    return np.pow(np.sum(np.pow(np.abs(x), p), o), 1 / p)
end

return images
