--- arithmetic.lua: operators of elements that compute: Add, Pow, Cast, Clip, comparisons, bits.
local core = require "neap.core"
local node = require "neap.onnx.node"

local np = core.np
local cast, like = node.cast, node.like
local ops = {}

-- ---- One array ------------------------------------------------------------------------------------------------------

local function identity(_, x) return x end

for name, f in pairs {
    Abs = np.abs, Acos = np.acos, Acosh = np.acosh, Asin = np.asin, Asinh = np.asinh, Atan = np.atan,
    Atanh = np.atanh, Ceil = np.ceil, Cos = np.cos, Cosh = np.cosh, Erf = np.erf, Exp = np.exp, Floor = np.floor,
    Log = np.log, Neg = np.negative, Not = np.logical_not, Reciprocal = np.reciprocal, Sigmoid = np.sigmoid,
    Sign = np.sign, Sin = np.sin, Sinh = np.sinh, Sqrt = np.sqrt, Tan = np.tan, Tanh = np.tanh, IsNaN = np.isnan,
    BitwiseNot = np.bitwise_invert, Round = np.rint, Det = np.linalg.det,
} do
    ops[name] = { elements = name ~= "Det", run = function(_, x) return f(x) end }
end

ops.Identity = { elements = true, run = identity }

ops.IsInf = {
    attrs = "detect_negative detect_positive", elements = true,
    run = function(n, x)
        local above, below = n.attr.detect_positive ~= 0, n.attr.detect_negative ~= 0
        if above and below then return np.isinf(x) end
        if not above and not below then return np.zeros(x.shape, { dtype = "bool" }) end
        return above and np.isposinf(x) or np.isneginf(x)
    end,
}

-- ---- Two and more ---------------------------------------------------------------------------------------------------

local function is_whole(x)
    local kind = core.dtype_of(x).kind
    return kind == "i" or kind == "u"
end

for name, f in pairs {
    Add = np.add, Sub = np.subtract, Mul = np.multiply, Equal = np.equal, Less = np.less, LessOrEqual = np.less_equal,
    Greater = np.greater, GreaterOrEqual = np.greater_equal, And = np.logical_and, Or = np.logical_or,
    Xor = np.logical_xor, BitwiseAnd = np.bitwise_and, BitwiseOr = np.bitwise_or, BitwiseXor = np.bitwise_xor,
} do
    ops[name] = { least = 2, elements = true, run = function(_, a, b) return f(a, b) end }
end

ops.Div = {
    least = 2, elements = true,
    run = function(_, a, b)
        if is_whole(a) then return np.divide(a, b, { rounding_mode = "trunc" }) end
        return np.divide(a, b)
    end,
}

ops.Mod = {
    attrs = "fmod", least = 2, elements = true,
    run = function(n, a, b)
        if n.attr.fmod == 1 then return np.fmod(a, b) end
        return np.remainder(a, b)
    end,
    on_host = function(n, a, b)
        if n.attr.fmod == 1 then return nil end
        return require("neap.onnx.hosts").ops.Mod(n, a, b)
    end,
}

ops.Pow = { least = 2, elements = true, run = function(_, a, b) return np.pow(a, b, { keep_base = true }) end }

local function folded(f)
    return function(_, x, ...)
        for k = 1, select("#", ...) do x = f(x, (select(k, ...))) end
        return x
    end
end

for name, f in pairs { Max = np.maximum, Min = np.minimum, Sum = np.add } do
    ops[name] = { elements = true, run = folded(f) }
end
ops.Mean = { elements = true, run = function(n, ...) return ops.Sum.run(n, ...) / select("#", ...) end }

ops.BitShift = {
    attrs = "direction", least = 2, elements = true,
    run = function(n, a, b)
        return (n.attr.direction == "LEFT" and np.bitwise_left_shift or np.bitwise_right_shift)(a, b)
    end,
}

ops.Where = { least = 3, elements = true, run = function(_, condition, a, b) return np.where(condition, a, b) end }

ops.Clip = {
    attrs = "min max", elements = true,
    run = function(n, x, low, high)
        if low == nil and n.attr.min then low = like(x, n.attr.min) end
        if high == nil and n.attr.max then high = like(x, n.attr.max) end
        if low then x = np.maximum(x, low) end
        if high then x = np.minimum(x, high) end
        return x
    end,
}

-- ---- Dtypes ---------------------------------------------------------------------------------------------------------

ops.Cast = {
    attrs = "to saturate round_mode", elements = true,
    run = function(n, x) return cast(x, n:dtype_attribute "to") end,
    check = function(n) n:dtype_attribute "to" end,
}
ops.CastLike = { attrs = "saturate round_mode", least = 2, run = function(_, x, other) return cast(x, other.dtype) end }

ops.BitCast = {
    attrs = "to",
    run = function(n, x)
        local to = n:dtype_attribute "to"
        if x.dtype == "bool" then x = np.astype(x, "u8") end
        return np.bitcast(x, to)
    end,
}

return ops
