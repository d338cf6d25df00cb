--- conv.lua: convolutions and pools.
local core = require "neap.core"
local images = require "neap.onnx.images"

local np = core.np
local nn = np.nn
local layout_of, each, spatial, pads_of, pairs_of = images.layout_of, images.each, images.spatial, images.pads_of,
                                                    images.pairs_of
local dilated, biased, norm = images.dilated, images.biased, images.norm
local ops = {}

-- ---- Convolutions ---------------------------------------------------------------------------------------------------

ops.Conv = {
    attrs = images.CONV, least = 2, begins = true,
    run = function(n, x, w, b) return biased(images.conv(n, x, w), b) end,
    last = function(n, x, w, b) return biased(images.conv(n, x, w, nil, nil, true), b, true) end,
}

--- The paddings that the convolution's transpose takes away, and its padding behind.
local function transposed_pads(n, dims, window, strides)
    local count, auto = #dims, n.attr.auto_pad or "NOTSET"
    local low, high = pads_of(n, dims, window, strides)
    local more, wanted = each(n, "output_padding", count, 0), n.attr.output_shape
    if not wanted and (auto == "SAME_UPPER" or auto == "SAME_LOWER") then
        wanted = {}
        for k = 1, count do wanted[k] = dims[k] * strides[k] end
    end
    for k = 1, wanted and count or 0 do
        local total = strides[k] * (dims[k] - 1) + more[k] + window[k] - wanted[#wanted - count + k]
        local half = math.floor(total / 2)
        low[k] = auto == "SAME_UPPER" and half or total - half
        high[k] = total - low[k]
    end
    return low, high, more
end

--- The transpose of the convolution whose kernel w is; output_padding that its strides cannot have is less padding.
local function transposed_conv(n, x, w, b, last)
    local count = core.ndim(x) - 2
    local strides, dilations = each(n, "strides", count, 1), each(n, "dilations", count, 1)
    local low, high, more = transposed_pads(n, spatial(x, last), dilated(spatial(w), dilations), strides)
    for k = 1, count do
        if more[k] >= strides[k] then high[k], more[k] = high[k] - more[k], 0 end
    end
    return biased(nn.conv_transpose(x, last and images.kernel_last(w) or w, {
        transpose_kernel = true, strides = strides, kernel_dilation = dilations, groups = n.attr.group or 1,
        padding = pairs_of(low, high), output_padding = more, layout = layout_of(n, x, last),
    }), b, last)
end

ops.ConvTranspose = {
    attrs = images.CONV .. " output_padding output_shape", least = 2, begins = true,
    run = function(n, x, w, b) return transposed_conv(n, x, w, b) end,
    last = function(n, x, w, b) return transposed_conv(n, x, w, b, true) end,
}

-- ---- Windows --------------------------------------------------------------------------------------------------------

local POOL = "auto_pad ceil_mode dilations kernel_shape pads storage_order strides count_include_pad p"

--- The facts of a pool: { kernel, strides, dilations, low, high }; `extra`: places behind the padding that the last
-- window, with ceil_mode, reads.
local function pool_of(n, x, last)
    local dims = spatial(x, last)
    local count = #dims
    local kernel = each(n, "kernel_shape", count)
    if not n.attr.kernel_shape then n:fail("it needs kernel_shape") end
    local p = { kernel = kernel, strides = each(n, "strides", count, 1), dilations = each(n, "dilations", count, 1),
                extra = {}, dims = dims, count = count, layout = layout_of(n, x, last) }
    local window = dilated(kernel, p.dilations)
    p.low, p.high = pads_of(n, dims, window, p.strides)
    for k = 1, count do
        p.extra[k] = 0
        local total = dims[k] + p.low[k] + p.high[k] - window[k]
        if n.attr.ceil_mode == 1 then
            local places = math.ceil(total / p.strides[k]) + 1
            if (places - 1) * p.strides[k] >= dims[k] + p.low[k] then places = places - 1 end
            p.extra[k] = math.max((places - 1) * p.strides[k] - total, 0)
        end
    end
    return p
end

local function is_plain(p)
    for k = 1, p.count do
        if p.dilations[k] ~= 1 then return false end
    end
    return true
end

--- All windows of x with padding of a value: the last axes are the places in a window.
local function windows(x, p, value, low, high)
    local width, index, axes, size = { { 0, 0 }, { 0, 0 } }, { {}, {} }, {}, dilated(p.kernel, p.dilations)
    for k = 1, p.count do
        width[k + 2], axes[k] = { low[k], high[k] }, k + 1
    end
    x = np.sliding_window_view(np.pad(x, width, { value = value }), size, { axis = axes })
    for k = 1, p.count do
        index[k + 2] = { 0, x.shape[k + 2], p.strides[k] }
        index[k + 2 + p.count] = { 0, size[k], p.dilations[k] }
    end
    return x[index]
end

local function behind(p)
    local list = {}
    for k = 1, p.count do list[k] = p.high[k] + p.extra[k] end
    return list
end

local function last_axes(count)
    local axes = {}
    for k = 1, count do axes[k] = -k end
    return axes
end

--- The least value of x's dtype.
local function least(x)
    local dtype = core.dtype_of(x)
    return dtype.kind == "f" and -math.huge or np.iinfo(dtype.name).min
end

--- Where in x, row-major, the greatest of each window stands. columns: the first spatial axis counts fastest.
local function places_of(x, p, columns)
    local all = windows(x, p, least(x), p.low, behind(p))
    local shape = core.copy_list(all.shape)
    local flat = { unpack(shape, 1, p.count + 2) }
    flat[#flat + 1] = -1
    local best = np.astype(np.argmax(np.reshape(all, flat), { axis = -1 }), "i64")
    local at, step = {}, 1
    for k = p.count, 1, -1 do -- the place inside of the window, by axis
        local own = { 1, 1 }
        for j = 1, p.count do own[j + 2] = j == k and shape[k + 2] or 1 end
        local inside = np.remainder(best, p.kernel[k])
        best = np.floor_divide(best, p.kernel[k])
        local first = np.reshape(np.arange(shape[k + 2], { dtype = "i64" }), own) * p.strides[k] - p.low[k]
        at[k] = first + inside * p.dilations[k]
    end
    local place = 0
    for j = 1, p.count do
        local k = columns and j or p.count + 1 - j
        place, step = place + at[k] * step, step * p.dims[k]
    end
    local ones = {}
    for k = 1, p.count do ones[k] = 1 end
    local channels = np.reshape(np.arange(shape[1] * shape[2], { dtype = "i64" }), { shape[1], shape[2], unpack(ones) })
    return channels * step + place
end

local function plain_max(x, p)
    return nn.max_pool(x, p.kernel, { strides = p.strides, padding = pairs_of(p.low, behind(p)), layout = p.layout })
end

ops.MaxPool = {
    attrs = POOL,
    last = function(n, x)
        local p = pool_of(n, x, true)
        return is_plain(p) and not n:wants(2) and plain_max(x, p) or nil
    end,
    run = function(n, x)
        local p = pool_of(n, x)
        local y
        if is_plain(p) then
            y = plain_max(x, p)
        else
            y = np.max(windows(x, p, least(x), p.low, behind(p)), { axis = last_axes(p.count) })
        end
        if not n:wants(2) then return y end
        return y, places_of(x, p, n.attr.storage_order == 1)
    end,
}

local function plain_average(x, p, low, high)
    return nn.avg_pool(x, p.kernel, { strides = p.strides, padding = pairs_of(low, high), layout = p.layout,
                                      count_include_pad = false })
end

ops.AveragePool = {
    attrs = POOL,
    last = function(n, x)
        local p = pool_of(n, x, true)
        return is_plain(p) and n.attr.count_include_pad ~= 1 and plain_average(x, p, p.low, behind(p)) or nil
    end,
    run = function(n, x)
        local p = pool_of(n, x)
        local low, high, counts = p.low, behind(p), np.ones_like(x)
        if n.attr.count_include_pad == 1 then
            local width = { { 0, 0 }, { 0, 0 } }
            for k = 1, p.count do width[k + 2] = { p.low[k], p.high[k] } end
            x, counts = np.pad(x, width), np.ones_like(np.pad(x, width))
            low, high = {}, p.extra
            for k = 1, p.count do low[k] = 0 end
        end
        if is_plain(p) then return plain_average(x, p, low, high) end
        local over = { axis = last_axes(p.count) }
        return np.sum(windows(x, p, 0, low, high), over) / np.sum(windows(counts, p, 0, low, high), over)
    end,
}

ops.LpPool = {
    attrs = POOL,
    run = function(n, x)
        local p = pool_of(n, x)
        return norm(windows(x, p, 0, p.low, behind(p)), n.attr.p or 2, { axis = last_axes(p.count) })
    end,
}

local function spatial_axes(x, last)
    local axes = {}
    for k = 2, core.ndim(x) - 1 do axes[#axes + 1] = last and k - 1 or k end
    return { axis = axes, keepdims = true }
end

for name, f in pairs { GlobalAveragePool = np.mean, GlobalMaxPool = np.max } do
    ops[name] = { run = function(_, x) return f(x, spatial_axes(x)) end,
                  last = function(_, x) return f(x, spatial_axes(x, true)) end }
end
ops.GlobalLpPool = { attrs = "p", run = function(n, x) return norm(x, n.attr.p or 2, spatial_axes(x)) end }

ops.MaxUnpool = {
    attrs = "kernel_shape pads strides", least = 2, host = { 3 },
    run = function(n, x, places, shape)
        local count, dims = core.ndim(x) - 2, { x.shape[1], x.shape[2] }
        local kernel, strides, pads = each(n, "kernel_shape", count), each(n, "strides", count, 1),
                                      each(n, "pads", 2 * count, 0)
        for k = 1, count do
            dims[k + 2] = (x.shape[k + 2] - 1) * strides[k] + kernel[k] - pads[k] - pads[k + count]
        end
        local wanted, inner, outer = n:integers("output_shape", shape), 1, 1
        for k = 3, #dims do
            inner, outer = inner * dims[k], outer * (wanted and wanted[k] or dims[k])
        end
        if wanted and inner ~= outer then -- places count in the smaller one
            places = ops.MaxUnpool.moved(places, dims, wanted)
        end
        dims = wanted or dims
        local size = 1
        for k = 1, #dims do size = size * dims[k] end
        return np.reshape(np.zeros({ size }, { dtype = x.dtype }):at(np.ravel(places)):set(np.ravel(x)), dims)
    end,
}

--- Row-major places in an array of extents `from`, as places in an array of extents `to`.
function ops.MaxUnpool.moved(places, from, to)
    local result, step = 0, 1
    for k = #from, 1, -1 do
        result = result + np.remainder(places, from[k]) * step
        places, step = np.floor_divide(places, from[k]), step * to[k]
    end
    return result
end

ops.Col2Im = {
    attrs = "dilations pads strides", least = 3, host = { 2, 3 },
    run = function(n, x, image, block)
        local count = #image
        if #block ~= count then n:fail("%d extents of an image and %d of a block", count, #block) end
        local strides, dilations, pads = each(n, "strides", count, 1), each(n, "dilations", count, 1),
                                         each(n, "pads", 2 * count, 0)
        local size, dims, crop, place = 1, { x.shape[1], x.shape[2] }, { {}, {} }, 0
        for k = 1, count do
            local padded, inside, moved = image[k] + pads[k] + pads[k + count], {}, {}
            local places = math.floor((padded - (block[k] - 1) * dilations[k] - 1) / strides[k]) + 1
            for j = 1, 2 * count do inside[j], moved[j] = 1, 1 end
            inside[k], moved[k + count] = block[k], places
            place = place * padded + np.reshape(np.arange(block[k], { dtype = "i64" }) * dilations[k], inside)
                    + np.reshape(np.arange(places, { dtype = "i64" }) * strides[k], moved)
            dims[2], dims[k + 2], size = dims[2] / block[k], padded, size * padded
            crop[k + 2] = { pads[k], padded - pads[k + count] }
        end
        local rows = np.reshape(x, { dims[1] * dims[2], -1 })
        local sums = np.zeros({ dims[1] * dims[2], size }, { dtype = x.dtype }):at({ {}, np.ravel(place) }):add(rows)
        return np.reshape(sums, dims)[crop]
    end,
}

return ops
