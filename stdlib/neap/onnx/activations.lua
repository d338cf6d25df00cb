--- activations.lua: operators of elements that networks put between their layers.
local core = require "neap.core"
local node = require "neap.onnx.node"

local np, like = core.np, node.like
local nn = np.nn
local ops = {}

ops.Relu = { elements = true, run = function(_, x) return np.maximum(x, 0) end }
ops.Softsign = { elements = true, run = function(_, x) return nn.soft_sign(x) end }
ops.Softplus = { elements = true, run = function(_, x) return nn.softplus(x) end }
ops.Mish = { elements = true, run = function(_, x) return nn.mish(x) end }

ops.LeakyRelu = {
    attrs = "alpha", elements = true,
    run = function(n, x) return nn.leaky_relu(x, n.attr.alpha or 0.01) end,
}
ops.PRelu = { least = 2, elements = true, run = function(_, x, slope) return np.where(np.less(x, 0), x * slope, x) end }
ops.ThresholdedRelu = {
    attrs = "alpha", elements = true,
    run = function(n, x) return np.where(np.greater(x, n.attr.alpha or 1), x, like(x, 0)) end,
}

ops.Elu = { attrs = "alpha", elements = true, run = function(n, x) return nn.elu(x, n.attr.alpha or 1) end }
ops.Celu = { attrs = "alpha", elements = true, run = function(n, x) return nn.celu(x, n.attr.alpha or 1) end }
ops.Selu = {
    attrs = "alpha gamma", elements = true,
    run = function(n, x)
        local alpha, gamma = n.attr.alpha or 1.67326319217681884765625, n.attr.gamma or 1.05070102214813232421875
        return np.where(np.greater(x, 0), x, np.expm1(np.minimum(x, 0)) * alpha) * gamma
    end,
}

ops.HardSigmoid = {
    attrs = "alpha beta", elements = true,
    run = function(n, x)
        return np.maximum(np.minimum(x * (n.attr.alpha or 0.2) + (n.attr.beta or 0.5), 1), 0)
    end,
}
ops.HardSwish = { elements = true, run = function(_, x) return x * np.maximum(np.minimum(x / 6 + 0.5, 1), 0) end }
ops.Swish = {
    attrs = "alpha", elements = true,
    run = function(n, x) return x * np.sigmoid(x * (n.attr.alpha or 1)) end,
}

ops.Gelu = {
    attrs = "approximate", elements = true,
    run = function(n, x) return nn.gelu(x, { approximate = n.attr.approximate == "tanh" }) end,
}

ops.Shrink = {
    attrs = "lambd bias", elements = true,
    run = function(n, x)
        local lambda, bias = n.attr.lambd or 0.5, n.attr.bias or 0
        local above, below = np.greater(x, lambda), np.less(x, -lambda)
        return np.where(below, x + bias, np.where(above, x - bias, like(x, 0)))
    end,
}

-- ---- Along an axis --------------------------------------------------------------------------------------------------

--- Before opset 13 the axes from one on counted as one, and 1 was the default.
local function along(f)
    return function(n, x)
        if n.opset >= 13 then return f(x, { axis = n.attr.axis or -1 }) end
        local rank = core.ndim(x)
        local axis, over = n:axis(n.attr.axis or math.min(1, rank), rank, true), {}
        for k = axis, rank - 1 do over[#over + 1] = k end
        if #over == 1 then return f(x, { axis = axis }) end
        local dims, rows = x.shape, {}
        for k = 1, axis do rows[k] = dims[k] end
        rows[axis + 1] = -1
        return np.reshape(f(np.reshape(x, rows), { axis = -1 }), dims)
    end
end

ops.Softmax = { attrs = "axis", run = along(np.softmax) }
ops.LogSoftmax = { attrs = "axis", run = along(np.log_softmax) }
ops.Hardmax = {
    attrs = "axis",
    run = along(function(x, o)
        local best = np.argmax(x, { axis = o.axis, keepdims = true })
        return np.put_along_axis(np.zeros_like(x), best, 1, { axis = o.axis })
    end),
}

ops.Dropout = {
    attrs = "ratio seed is_test", host = { 2, 3 },
    run = function(n, x, ratio, training)
        if training and training[1] ~= 0 and n:number("ratio", ratio, 0.5) ~= 0 then
            n:fail("dropout while training draws random numbers: export the model for inference")
        end
        return x, np.ones(x.shape, { dtype = n.opset >= 10 and "bool" or x.dtype })
    end,
}

return ops
