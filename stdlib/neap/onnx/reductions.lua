--- reductions.lua: operators that combine the elements along axes, and products of matrices.
local core = require "neap.core"
local node = require "neap.onnx.node"

local np = core.np
local cast = node.cast
local ops = {}

-- ---- Reductions -----------------------------------------------------------------------------------------------------

local function log_sum(x, o) return np.log(np.sum(x, o)) end
local function l1(x, o) return np.sum(np.abs(x), o) end
local function square_sum(x, o) return np.sum(x * x, o) end
local function l2(x, o) return cast(np.sqrt(square_sum(x, o)), x.dtype) end

--- What the greatest or smallest of no elements is; nil for other reductions.
local function initial_of(name, x)
    local kind = core.dtype_of(x).kind
    if name ~= "ReduceMax" and name ~= "ReduceMin" then return nil end
    if kind == "f" then return name == "ReduceMax" and -math.huge or math.huge end
    if kind == "b" then return name == "ReduceMin" end
    return np.iinfo(x.dtype)[name == "ReduceMax" and "min" or "max"]
end

for name, f in pairs {
    ReduceSum = np.sum, ReduceMean = np.mean, ReduceProd = np.prod, ReduceMax = np.max, ReduceMin = np.min,
    ReduceL1 = l1, ReduceL2 = l2, ReduceLogSum = log_sum, ReduceLogSumExp = np.logsumexp, ReduceSumSquare = square_sum,
} do
    ops[name] = {
        attrs = "axes keepdims noop_with_empty_axes", host = { 2 },
        run = function(n, x, axes)
            local list = n:integers("axes", axes)
            if list and #list == 0 then list = nil end
            if not list and n.attr.noop_with_empty_axes == 1 then list = {} end
            local o = { axis = list and n:axes(list, core.ndim(x)) or nil, keepdims = n.attr.keepdims ~= 0 }
            if x.size == 0 then o.initial = initial_of(name, x) end
            return f(x, o)
        end,
    }
end

for name, f in pairs { ArgMax = np.argmax, ArgMin = np.argmin } do
    ops[name] = {
        attrs = "axis keepdims select_last_index",
        run = function(n, x)
            return cast(f(x, { axis = n:axis(n.attr.axis or 0, core.ndim(x)), keepdims = n.attr.keepdims ~= 0,
                               last = n.attr.select_last_index == 1 }), "i64")
        end,
    }
end

--- A running sum or product: from the end where it is reversed, without the element itself where it is exclusive.
local function running(f, neutral)
    return {
        attrs = "exclusive reverse", least = 2, host = { 2 },
        run = function(n, x, axis)
            local at = n:axis(axis[1], core.ndim(x))
            if n.attr.reverse == 1 then x = np.flip(x, at) end
            if n.attr.exclusive == 1 then
                local width = {}
                for k = 1, core.ndim(x) do width[k] = { k == at + 1 and 1 or 0, 0 } end
                local count = x.shape[at + 1]
                x = np.take(np.pad(x, width, { value = neutral }), np.arange(count, { dtype = "i32" }), { axis = at })
            end
            local y = f(x, { axis = at, dtype = x.dtype })
            return n.attr.reverse == 1 and np.flip(y, at) or y
        end,
    }
end

ops.CumSum, ops.CumProd = running(np.cumsum, 0), running(np.cumprod, 1)

-- ---- Products -------------------------------------------------------------------------------------------------------

ops.MatMul = { least = 2, run = function(_, a, b) return np.matmul(a, b) end }

ops.Gemm = {
    attrs = "alpha beta transA transB", least = 2,
    run = function(n, a, b, c)
        local alpha, beta = n.attr.alpha or 1, n.attr.beta or 1
        if (n.attr.transA or 0) ~= 0 then a = np.transpose(a) end
        if (n.attr.transB or 0) ~= 0 then b = np.transpose(b) end
        local y = np.matmul(a, b)
        if alpha ~= 1 then y = cast(y * alpha, a.dtype) end
        if c == nil then return y end
        if beta ~= 1 then c = cast(c * beta, a.dtype) end
        return y + c
    end,
}

ops.Einsum = {
    attrs = "equation",
    run = function(n, ...)
        if not n.attr.equation then n:fail("it has no equation") end
        return np.einsum((n.attr.equation:gsub("%s", "")), ...)
    end,
}

return ops
