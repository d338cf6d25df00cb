--- activations.lua: more activations of np.nn, by JAX's and PyTorch's names. All are made of op rows, so
-- they fuse, and have derivatives and batches; integers count as f32 (of 64 bits: f64), and halves as f32 up to the
-- result, which is rounded once.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"

local np = core.np
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local narrow = operands.narrow
local shape_of = core.shape_of

-- The constants of selu, for which a mean of 0 and a variance of 1 stay (Klambauer et al., 2017).
local SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

return function(nn)
    --- Defines a function of an array and perhaps one argument more: f gets floats, of halves f32.
    local function define_real(name, f)
        local full = "nn." .. name
        nn[name] = function(x, given)
            local half
            x, half = operands.floats(full, 1, x)
            return narrow(f(x, given), half)
        end
    end

    --- The same of one argument alone.
    local function define_map(name, f)
        local full = "nn." .. name
        nn[name] = function(x)
            local half
            x, half = operands.floats(full, 1, x)
            return narrow(f(x), half)
        end
    end

    local function number(name, position, what, value, default)
        value = core.plain(value)
        if value == nil then return default end
        if not core.is_number(value) then bad_argument("nn." .. name, position, what, "a number", value) end
        return value
    end

    -- ---- Activations ------------------------------------------------------------------------------------------------

    --- x in (low, high), and the end that is nearer outside, where the gradient is 0, and that of NaN.
    local function limited(x, low, high)
        local inside = np.logical_and(np.greater(x, low), np.less(x, high))
        return np.where(inside, x, np.stop_gradient(np.clip(x, low, high)))
    end

    --- x above 0, below it alpha * (exp(x / beta) - 1); the exponent is 0 where it is not used, so no gradient is NaN.
    local function exponential(x, alpha, beta)
        local below = np.where(np.greater(x, 0), 0, x)
        return np.where(np.greater(x, 0), x, np.expm1(beta == 1 and below or below / beta) * alpha)
    end

    --- np.nn.elu(x, alpha): x above 0, alpha * (exp(x) - 1) below; alpha is 1 without it (Clevert et al., 2016).
    --- > np.nn.elu(np.array{-1, 2})
    -- [-0.63212055  2.        ]
    define_real("elu", function(x, alpha) return exponential(x, number("elu", 2, "alpha", alpha, 1), 1) end)

    --- np.nn.celu(x, alpha): x above 0, alpha * (exp(x / alpha) - 1) below; alpha is 1 without it (Barron, 2017).
    --- > np.nn.celu(np.array{-1, 2}, 2)
    -- [-0.78693867  2.        ]
    define_real("celu", function(x, alpha)
        alpha = number("celu", 2, "alpha", alpha, 1)
        return exponential(x, alpha, alpha)
    end)

    --- np.nn.selu(x): elu with the constants that keep a mean of 0 and a variance of 1 (Klambauer et al., 2017).
    --- > np.nn.selu(np.array{-1, 2})
    -- [-1.1113307  2.101402 ]
    define_map("selu", function(x) return exponential(x, SELU_ALPHA, 1) * SELU_SCALE end)

    --- np.nn.mish(x): x * tanh(softplus(x)) (Misra, 2019).
    --- > np.nn.mish(np.array{-1, 2})
    -- [-0.30340144  1.943959  ]
    define_map("mish", function(x) return x * np.tanh(np.logaddexp(x, 0)) end)

    --- np.nn.soft_sign(x): x / (1 + |x|).
    --- > np.nn.soft_sign(np.array{-1, 3})
    -- [-0.5   0.75]
    define_map("soft_sign", function(x) return x / (np.abs(x) + 1) end)

    --- np.nn.log_sigmoid(x): log(sigmoid(x)) without overflow.
    --- > np.nn.log_sigmoid(np.array{-100, 0})
    -- [-100.          -0.6931472]
    define_map("log_sigmoid", function(x) return -np.logaddexp(-x, 0) end)

    --- np.nn.squareplus(x, b): (x + sqrt(x² + b)) / 2, a smooth relu; b, from 0 up, is 4 without it.
    --- > np.nn.squareplus(np.array{-1.5, 0, 1.5})
    -- [0.5 1.  2. ]
    define_real("squareplus", function(x, b)
        b = number("squareplus", 2, "b", b, 4)
        if b < 0 then bad_argument("nn.squareplus", 2, "b", "a number from 0 up", b) end
        if b == 0 then return np.where(np.less(x, 0), 0, x) end
        -- b / (sqrt - x) / 2 is the same, and loses no digits below 0.
        local root, below = np.hypot(x, math.sqrt(b)), np.less(x, 0)
        return np.where(below, (b / 2) / (root - np.where(below, x, 0)), x / 2 + root / 2)
    end)

    --- np.nn.sparse_plus(x): 0 up to -1, (x + 1)² / 4 up to 1, x from there: a smooth relu of finite reach.
    --- > np.nn.sparse_plus(np.array{-2, 0, 2})
    -- [0.   0.25 2.  ]
    define_map("sparse_plus", function(x)
        return np.where(np.less_equal(x, -1), 0, np.where(np.greater_equal(x, 1), x, (x + 1) ^ 2 / 4))
    end)

    --- np.nn.sparse_sigmoid(x): (x + 1) / 2 limited to [0, 1], the derivative of sparse_plus.
    --- > np.nn.sparse_sigmoid(np.array{-2, 0, 2})
    -- [0.  0.5 1. ]
    define_map("sparse_sigmoid", function(x) return np.clip((x + 1) / 2, 0, 1) end)

    --- np.nn.log1mexp(x): log(1 - exp(-x)) for x from 0 up, without cancellation (Mächler, 2012).
    --- > np.nn.log1mexp(np.array{0, 1})
    -- [       -inf -0.45867515]
    define_map("log1mexp", function(x)
        local small = np.less(x, math.log(2)) -- each formula sees only what it is good for: so do its derivatives
        local near, far = np.where(small, x, 0.5), np.where(small, 1, x)
        return np.where(small, np.log(-np.expm1(-near)), np.log1p(-np.exp(-far)))
    end)

    --- np.nn.logmeanexp(x, {axis=…, keepdims=false}): the logarithm of the mean of exp(x), without overflow.
    --- axis: an axis or a table of them; all without it
    --- > np.nn.logmeanexp(np.array{1000, 1000})
    -- 1000.0
    define_real("logmeanexp", function(x, given)
        local o = options("nn.logmeanexp", given, { axis = true, keepdims = true })
        if x.size == 0 then return np.log(np.mean(x, o)) end
        local top = np.stop_gradient(np.max(x, { axis = o.axis, keepdims = true }))
        local shift = np.where(np.isfinite(top), top, 0)
        local result = np.log(np.mean(np.exp(x - shift), o))
        return result + (o.keepdims and shift or shape.reshape(shift, shape_of(result)))
    end)

    --- np.nn.relu6(x): x limited to [0, 6]; the gradient at 0 and 6 is 0.
    --- > np.nn.relu6(np.array{-1, 3, 9})
    -- [0. 3. 6.]
    define_map("relu6", function(x) return limited(x, 0, 6) end)

    --- np.nn.hard_tanh(x): x limited to [-1, 1]; the gradient at the limits is 0.
    --- > np.nn.hard_tanh(np.array{-3, 0.5, 3})
    -- [-1.   0.5  1. ]
    define_map("hard_tanh", function(x) return limited(x, -1, 1) end)

    --- np.nn.hard_sigmoid(x, {slope=1/6, offset=0.5}): relu6(x + 3) / 6, a sigmoid of straight lines; with other
    -- options slope * x + offset limited to [0, 1]. ONNX's are 0.2 and 0.5.
    --- slope: of the line
    --- offset: its value at 0
    --- > np.nn.hard_sigmoid(np.array{-3, 0, 1.5}), np.nn.hard_sigmoid(1, {slope=0.2})
    -- [0.   0.5  0.75]
    -- 0.7
    define_real("hard_sigmoid", function(x, given)
        if given == nil then return limited(x + 3, 0, 6) / 6 end
        local o = options("nn.hard_sigmoid", given, { slope = true, offset = true })
        return limited(x * number("hard_sigmoid", nil, "slope", o.slope, 1 / 6)
                       + number("hard_sigmoid", nil, "offset", o.offset, 0.5), 0, 1)
    end)

    --- np.nn.hard_swish(x), np.nn.hard_silu: x * hard_sigmoid(x) (Howard et al., 2019).
    --- > np.nn.hard_swish(np.array{-3, 1.5}), np.nn.hard_silu(3)
    -- [-0.     1.125]
    -- 3.0
    define_map("hard_swish", function(x) return x * (limited(x + 3, 0, 6) / 6) end)
    nn.hard_silu = nn.hard_swish

    --- np.nn.swish(x, beta): x * sigmoid(beta * x) (Ramachandran et al., 2017); beta, a number or an array, is 1
    -- without it, as in np.nn.silu.
    --- > np.nn.swish(np.array{-1, 1}, 2)
    -- [-0.11920292  0.880797  ]
    function nn.swish(x, beta)
        local half
        if beta == nil then
            x, half = operands.floats("nn.swish", 1, x)
            return narrow(x * np.sigmoid(x), half)
        end
        half, x, beta = operands.floats_all("nn.swish", nil, 2, x, beta)
        return narrow(x * np.sigmoid(x * beta), half)
    end

    --- np.nn.prelu(x, slope): x above 0, slope * x below, where slope is an array that broadcasts, as one number for
    -- each feature of the last axis (He et al., 2015). PyTorch's features are along axis 1.
    --- > np.nn.prelu(np.array{{-1, -1}, {2, 2}}, np.array{0.1, 0.5})
    -- [[-0.1 -0.5]
    --  [ 2.   2. ]]
    function nn.prelu(x, slope)
        local half
        half, x, slope = operands.floats_all("nn.prelu", nil, 2, x, slope)
        return narrow(np.where(np.greater(x, 0), x, x * slope), half)
    end

    --- np.nn.hard_shrink(x, lambda): x where |x| is above lambda, 0.5 without it, else 0.
    --- > np.nn.hard_shrink(np.array{-1, 0.2, 1})
    -- [-1.  0.  1.]
    define_real("hard_shrink", function(x, lambda)
        lambda = number("hard_shrink", 2, "lambda", lambda, 0.5)
        return np.where(np.less_equal(np.abs(x), lambda), 0, x)
    end)

    --- np.nn.soft_shrink(x, lambda): x moved by lambda, 0.5 without it, towards 0, and 0 where |x| is below.
    --- > np.nn.soft_shrink(np.array{-1, 0.2, 1})
    -- [-0.5  0.   0.5]
    define_real("soft_shrink", function(x, lambda)
        lambda = number("soft_shrink", 2, "lambda", lambda, 0.5)
        if lambda < 0 then bad_argument("nn.soft_shrink", 2, "lambda", "a number from 0 up", lambda) end
        local off = np.where(np.greater(x, 0), x - lambda, x + lambda)
        return np.where(np.less_equal(np.abs(x), lambda), 0, off)
    end)

    --- np.nn.tanh_shrink(x): x - tanh(x).
    --- > np.nn.tanh_shrink(np.array{0, 2})
    -- [0.        1.0359724]
    define_map("tanh_shrink", function(x) return x - np.tanh(x) end)

    --- np.nn.threshold(x, limit, value): x above the limit, else value, 0 without it. ONNX's ThresholdedRelu.
    --- > np.nn.threshold(np.array{0.5, 2}, 1, -3)
    -- [-3.  2.]
    function nn.threshold(x, limit, value)
        limit = number("threshold", 2, "limit", limit, nil)
        if limit == nil then bad_argument("nn.threshold", 2, "limit", "a number", limit) end
        value = number("threshold", 3, "value", value, 0)
        local half
        x, half = operands.floats("nn.threshold", 1, x)
        return narrow(np.where(np.less_equal(x, limit), value, x), half)
    end

    --- np.nn.softmin(x, {axis=-1}): softmax of -x along an axis.
    --- axis: an axis or a table of them
    --- > np.nn.softmin(np.array{0, 0})
    -- [0.5 0.5]
    define_real("softmin", function(x, given)
        local axis = core.axis_options("nn.softmin", given, { axis = true }).axis
        return np.softmax(-x, { axis = axis == nil and -1 or axis })
    end)

    --- np.nn.glu(x, {axis=-1}): the first half of an axis times the sigmoid of the second half (Dauphin et al., 2017).
    --- > np.nn.glu(np.array{1, 2, 0, 100})
    -- [0.5 2. ]
    define_real("glu", function(x, given)
        local axis = core.axis_options("nn.glu", given, { axis = true }).axis or -1
        axis = core.axis("nn.glu", axis, core.ndim(x))
        local n = shape_of(x)[axis + 1]
        if n % 2 ~= 0 then raise("nn.glu", "axis %d has an odd extent, %d", axis, n) end
        local half = math.floor(n / 2)
        return shape.cut(x, axis, 0, half) * np.sigmoid(shape.cut(x, axis, half, n))
    end)
end
