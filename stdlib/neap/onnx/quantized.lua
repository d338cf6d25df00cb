--- quantized.lua: operators of quantized numbers: bytes with a scale and a zero point.
local core = require "neap.core"
local images = require "neap.onnx.images"
local node = require "neap.onnx.node"

local np = core.np
local cast = node.cast
local ops = {}

--- A scale or zero point beside x: one number, one for each place of an axis, or one for each block of that axis.
local function beside(n, x, values, block)
    local rank = core.ndim(values)
    if rank == 0 or values.size == 1 and rank <= 1 then return np.reshape(values, {}) end
    local axis = n:axis(n.attr.axis or 1, core.ndim(x))
    if rank == 1 then
        local shape = {}
        for k = 1, core.ndim(x) do shape[k] = k == axis + 1 and -1 or 1 end
        return np.reshape(values, shape)
    end
    if block == 0 then return values end
    values = np.repeat_(values, block, { axis = axis })
    return np.take(values, np.arange(x.shape[axis + 1], { dtype = "i32" }), { axis = axis })
end

--- Rounds and cuts to the range of an integer dtype.
local function saturated(x, dtype)
    local range = np.iinfo(dtype)
    return cast(np.clip(np.rint(x), range.min, range.max), dtype)
end

ops.QuantizeLinear = {
    attrs = "axis block_size output_dtype precision saturate", least = 2,
    run = function(n, x, scale, zero)
        local block = n.attr.block_size or 0
        local dtype = zero and zero.dtype or "u8"
        if not zero and (n.attr.output_dtype or 0) ~= 0 then dtype = n:dtype_attribute "output_dtype" end
        return np.nn.quantize(x, beside(n, x, scale, block), zero and beside(n, x, zero, block), { dtype = dtype })
    end,
}

ops.DequantizeLinear = {
    attrs = "axis block_size output_dtype", least = 2,
    run = function(n, x, scale, zero)
        local block = n.attr.block_size or 0
        return np.nn.dequantize(x, beside(n, x, scale, block), zero and beside(n, x, zero, block))
    end,
}

ops.DynamicQuantizeLinear = {
    run = function(_, x)
        local low, high = np.minimum(np.min(x), 0), np.maximum(np.max(x), 0)
        local scale = (high - low) / 255
        local zero = np.clip(np.rint(-low / scale), 0, 255)
        return saturated(np.rint(x / scale) + zero, "u8"), scale, cast(zero, "u8")
    end,
}

--- A zero point beside bytes: one number, or `dims` with -1 where each place has one of its own.
local function zero_of(zero, dims)
    if zero == nil then return nil end
    if zero.size == 1 then return np.reshape(zero, {}) end
    return core.ndim(zero) == 1 and dims and np.reshape(zero, dims) or zero
end

local function matmul_integer(_, a, b, a_zero, b_zero)
    return np.nn.matmul_integer(a, b, { a_zero = zero_of(a_zero, { -1, 1 }), b_zero = zero_of(b_zero) })
end

ops.MatMulInteger = { least = 2, run = matmul_integer }

--- A convolution of bytes; the kernel's zero point may be one for each feature.
local function conv_integer(n, x, w, x_zero, w_zero)
    local dims = { -1 }
    for k = 2, core.ndim(w) do dims[k] = 1 end
    return images.conv(n, x, w, np.nn.conv_integer, { x_zero = zero_of(x_zero), w_zero = zero_of(w_zero, dims) })
end

ops.ConvInteger = { attrs = images.CONV, least = 2, run = conv_integer }

--- What an exact sum of products becomes: scaled, rounded and shifted.
local function requantized(sum, factor, zero)
    return saturated(np.rint(cast(sum, "f32") * factor) + cast(zero, "f32"), zero.dtype)
end

local function single(scale)
    return core.ndim(scale) == 1 and scale.size == 1 and np.reshape(scale, {}) or scale
end

ops.QLinearMatMul = {
    least = 8,
    run = function(n, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)
        a_scale = single(a_scale)
        if core.ndim(a_scale) == 1 then a_scale = np.expand_dims(a_scale, -1) end
        local sum = matmul_integer(n, a, b, a_zero, b_zero)
        return requantized(sum, cast(a_scale * single(b_scale) / single(y_scale), "f32"), y_zero)
    end,
}

ops.QLinearConv = {
    attrs = images.CONV, least = 8,
    run = function(n, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b)
        local shape = { -1 }
        for k = 3, core.ndim(w) do shape[k - 1] = 1 end
        local sum = conv_integer(n, x, w, x_zero, w_zero)
        if b then sum = sum + np.reshape(b, shape) end
        local factor = single(x_scale) * single(w_scale) / single(y_scale)
        if core.ndim(factor) == 1 then factor = np.reshape(factor, shape) end
        return requantized(sum, factor, single(y_zero))
    end,
}

return ops
