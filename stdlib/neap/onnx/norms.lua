--- norms.lua: normalizations. Halves are computed in f32 and rounded once, as the standard asks for.
local core = require "neap.core"
local images = require "neap.onnx.images"
local node = require "neap.onnx.node"

local np = core.np
local cast, like = node.cast, node.like
local ops = {}

--- x as f32, where it is a half.
local function wide(x)
    return core.dtype_of(x).bytes == 2 and cast(x, "f32") or x
end

--- The shape of one number a channel beside x, which has its channels first.
local function by_channel(x, values)
    local shape = { 1, -1 }
    for k = 3, core.ndim(x) do shape[k] = 1 end
    return np.reshape(values, shape)
end

--- x minus its mean, by its deviation, along axes; also both of these.
local function standard(x, axes, epsilon)
    local o = { axis = axes, keepdims = true }
    local mean = np.mean(x, o)
    local apart = x - mean
    local inverse = 1 / np.sqrt(np.mean(apart * apart, o) + epsilon)
    return apart * inverse, mean, inverse
end

local function from_axis(axis, rank)
    local axes = {}
    for k = axis, rank - 1 do axes[#axes + 1] = k end
    return axes
end

local function identity(_, values) return values end

--- x normalized with a mean and a variance: x * factor + rest, of which each has one element a channel, put beside x by
-- `beside`.
local function normalized(n, beside, x, scale, bias, mean, var)
    local factor = wide(scale) / np.sqrt(wide(var) + (n.attr.epsilon or 1e-5))
    local rest = wide(bias) - wide(mean) * factor
    return cast(wide(x) * beside(x, factor) + beside(x, rest), x.dtype)
end

ops.BatchNormalization = {
    attrs = "epsilon momentum spatial training_mode is_test consumed_inputs", least = 5,
    last = function(n, ...)
        if n.attr.spatial == 0 or n.attr.training_mode == 1 or #n.outputs > 1 then return nil end
        return normalized(n, identity, ...)
    end,
    run = function(n, x, scale, bias, mean, var)
        if n.attr.spatial == 0 then n:fail("the form of opset 7 that is not spatial") end
        if n.attr.training_mode ~= 1 and #n.outputs > 1 then n:fail("the form that trains, of before opset 14") end
        local new_mean, new_var
        if n.attr.training_mode == 1 then
            local o, momentum = { axis = { 0, unpack(from_axis(2, core.ndim(x))) } }, n.attr.momentum or 0.9
            local own_mean, own_var = np.mean(wide(x), o), np.var(wide(x), o)
            new_mean = cast(mean * momentum + own_mean * (1 - momentum), mean.dtype)
            new_var = cast(var * momentum + own_var * (1 - momentum), var.dtype)
            mean, var = own_mean, own_var
        end
        return normalized(n, by_channel, x, scale, bias, mean, var), new_mean, new_var
    end,
}

ops.InstanceNormalization = {
    attrs = "epsilon", least = 3,
    run = function(n, x, scale, bias)
        local y = standard(wide(x), from_axis(2, core.ndim(x)), n.attr.epsilon or 1e-5)
        return cast(y * by_channel(x, wide(scale)) + by_channel(x, wide(bias)), x.dtype)
    end,
}

ops.LayerNormalization = {
    attrs = "axis epsilon stash_type", least = 2,
    run = function(n, x, scale, bias)
        local rank = core.ndim(x)
        local axes = from_axis(n:axis(n.attr.axis or -1, rank), rank)
        local y, mean, inverse = standard(wide(x), axes, n.attr.epsilon or 1e-5)
        y = y * wide(scale)
        if bias then y = y + wide(bias) end
        return cast(y, x.dtype), mean, inverse
    end,
}

ops.RMSNormalization = {
    attrs = "axis epsilon stash_type", least = 2,
    run = function(n, x, scale)
        local rank, v = core.ndim(x), wide(x)
        local o = { axis = from_axis(n:axis(n.attr.axis or -1, rank), rank), keepdims = true }
        local y = v / np.sqrt(np.mean(v * v, o) + (n.attr.epsilon or 1e-5))
        return cast(y * wide(scale), x.dtype)
    end,
}

ops.GroupNormalization = {
    attrs = "epsilon num_groups stash_type", least = 3,
    run = function(n, x, scale, bias)
        local dims, groups = x.shape, n.attr.num_groups
        if not groups or dims[2] % groups ~= 0 then n:fail("%d channels in its groups", dims[2]) end
        local v = np.reshape(wide(x), { dims[1], groups, -1 })
        v = standard(v, { -1 }, n.attr.epsilon or 1e-5)
        if n.opset < 21 then
            v = v * np.reshape(wide(scale), { 1, groups, 1 }) + np.reshape(wide(bias), { 1, groups, 1 })
            return cast(np.reshape(v, dims), x.dtype)
        end
        v = np.reshape(v, dims)
        return cast(v * by_channel(v, wide(scale)) + by_channel(v, wide(bias)), x.dtype)
    end,
}

ops.MeanVarianceNormalization = {
    attrs = "axes",
    run = function(n, x)
        local o = { axis = n:axes(n.attr.axes or { 0, 2, 3 }, core.ndim(x)), keepdims = true }
        local mean = np.mean(x, o)
        return (x - mean) / (np.sqrt(np.mean(x * x, o) - mean * mean) + 1e-9)
    end,
}

ops.LpNormalization = {
    attrs = "axis p",
    run = function(n, x)
        local size = images.norm(x, n.attr.p or 2, { axis = { n.attr.axis or -1 }, keepdims = true })
        return np.where(np.equal(size, 0), like(x, 0), x / size)
    end,
}

ops.LRN = {
    attrs = "alpha beta bias size",
    run = function(n, x)
        local size, width = n.attr.size, {}
        for k = 1, core.ndim(x) do width[k] = { 0, 0 } end
        width[2] = { math.floor((size - 1) / 2), math.ceil((size - 1) / 2) }
        local squares = np.sliding_window_view(np.pad(x * x, width), { size }, { axis = { 1 } })
        local sum = np.sum(squares, { axis = -1 })
        return x / np.pow(sum * ((n.attr.alpha or 1e-4) / size) + (n.attr.bias or 1), n.attr.beta or 0.75)
    end,
}

return ops
