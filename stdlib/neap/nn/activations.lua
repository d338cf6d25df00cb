--- activations.lua: more activations and losses of np.nn, by JAX's and PyTorch's names. All are made of op rows, so
-- they fuse, and have derivatives and batches; integers count as f32 (of 64 bits: f64), and halves as f32 up to the
-- result, which is rounded once.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"

local np = core.np
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local narrow, squares = operands.narrow, operands.squares
local shape_of = core.shape_of

-- The constants of selu, for which a mean of 0 and a variance of 1 stay (Klambauer et al., 2017).
local SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

--- reduced(name, x, options, known): the mean, the sum or all of x, by the option `reduction`. compared(name, x, y):
-- both as operands.floats_all gives them.
return function(nn, reduced, compared)
    local function define(name, f) nn[name] = f end

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

    --- np.nn.hard_sigmoid(x): relu6(x + 3) / 6: a sigmoid of straight lines.
    --- > np.nn.hard_sigmoid(np.array{-3, 0, 1.5})
    -- [0.   0.5  0.75]
    define_map("hard_sigmoid", function(x) return limited(x + 3, 0, 6) / 6 end)

    --- np.nn.hard_swish(x), np.nn.hard_silu: x * hard_sigmoid(x) (Howard et al., 2019).
    --- > np.nn.hard_swish(np.array{-3, 1.5}), np.nn.hard_silu(3)
    -- [-0.     1.125]
    -- 3.0
    define_map("hard_swish", function(x) return x * (limited(x + 3, 0, 6) / 6) end)
    nn.hard_silu = nn.hard_swish

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

    -- ---- Normalizing ------------------------------------------------------------------------------------------------

    --- x, floats, with mean 0 and variance 1 along axes.
    local function standardized(x, axis, epsilon)
        local along = { axis = axis, keepdims = true }
        local off = x - np.mean(x, along)
        return off * np.rsqrt(np.mean(squares(off), along) + epsilon)
    end

    --- np.nn.standardize(x, {axis=-1, epsilon=1e-5}): x moved and scaled to mean 0 and variance 1 along an axis.
    --- axis: an axis or a table of them
    --- epsilon: what is added to the variance
    --- > np.nn.standardize(np.array{1, 3}):round()
    -- [-1.  1.]
    define_real("standardize", function(x, given)
        local o = options("nn.standardize", given, { axis = true, epsilon = true })
        return standardized(x, o.axis == nil and -1 or o.axis, number("standardize", nil, "epsilon", o.epsilon, 1e-5))
    end)

    --- The half that x, scale and bias of np.nn.name meet in, and these as operands.floats_all gives them; scale and
    -- bias may be nil, but scale is 1 where bias is not.
    local function normal_operands(name, x, scale, bias)
        if bias ~= nil then return operands.floats_all("nn." .. name, nil, 3, x, scale == nil and 1 or scale, bias) end
        if scale ~= nil then return operands.floats_all("nn." .. name, nil, 2, x, scale) end
        return operands.floats_all("nn." .. name, nil, 1, coerce("nn." .. name, 1, x))
    end

    --- np.nn.rms_norm(x, scale, {epsilon=1e-6}): x divided by the root of the mean square over the last axis, times
    -- scale, (n,) or nothing (Zhang and Sennrich, 2019).
    --- epsilon: what is added to the mean square
    --- > np.nn.rms_norm(np.array{3, -3}, np.array{1, 2}):round()
    -- [ 1. -2.]
    define("rms_norm", function(x, scale, given)
        local epsilon, half = options("nn.rms_norm", given, { epsilon = true }).epsilon
        half, x, scale = normal_operands("rms_norm", x, scale)
        local y = x * np.rsqrt(np.mean(squares(x), { axis = -1, keepdims = true })
                               + number("rms_norm", nil, "epsilon", epsilon, 1e-6))
        return narrow(scale == nil and y or y * scale, half)
    end)

    --- np.nn.group_norm(x, groups, scale, bias, {epsilon=1e-6}): x of shape (batch, …, n) with mean 0 and variance 1
    -- over each group of n / groups neighbouring features and all axes between; times scale plus bias, (n,) or nothing
    -- (Wu and He, 2018).
    --- epsilon: what is added to the variance
    --- > np.nn.group_norm(np.array{{1, 3, 10, 30}}, 2):round()
    -- [[-1.  1. -1.  1.]]
    define("group_norm", function(x, groups, scale, bias, given)
        local epsilon, half = options("nn.group_norm", given, { epsilon = true }).epsilon
        half, x, scale, bias = normal_operands("group_norm", x, scale, bias)
        local dims = shape_of(x)
        local n = dims[#dims]
        groups = core.integer("nn.group_norm", 2, "groups", groups)
        if #dims < 2 or groups < 1 or n % groups ~= 0 then
            raise("nn.group_norm", "needs shape (batch, …, n) with n a multiple of %d groups, got %s", groups,
                  core.shape_text(dims))
        end
        local wide, axes = { unpack(dims) }, {}
        wide[#dims], wide[#dims + 1] = groups, math.floor(n / groups)
        for k = 1, #dims - 2 do axes[k] = k end
        axes[#axes + 1] = #dims
        local y = standardized(shape.reshape(x, wide), axes, number("group_norm", nil, "epsilon", epsilon, 1e-6))
        y = shape.reshape(y, dims)
        if scale ~= nil then y = y * scale end
        return narrow(bias == nil and y or y + bias, half)
    end)

    -- ---- Losses -----------------------------------------------------------------------------------------------------

    --- {reduction}: "mean", "sum" or "none"

    --- np.nn.l1_loss(x, y, {reduction="mean"}): the mean magnitude of the difference.
    --- > np.nn.l1_loss(np.array{1, 2}, np.array{1, 4})
    -- 1.0
    define("l1_loss", function(x, y, given)
        local half
        half, x, y = compared("nn.l1_loss", x, y)
        return reduced("nn.l1_loss", np.abs(x - y), given, nil, half)
    end)

    --- np.nn.huber_loss(x, y, {delta=1, reduction="mean"}): half the square of the difference d up to delta, and delta
    -- * (|d| - delta / 2) beyond (Huber, 1964).
    --- delta: where squares end and lines begin
    --- > np.nn.huber_loss(np.array{0, 0}, np.array{0.5, 3}, {reduction="none"})
    -- [0.125 2.5  ]
    define("huber_loss", function(x, y, given)
        local known, half = { reduction = true, delta = true }
        local delta = number("huber_loss", nil, "delta", options("nn.huber_loss", given, known).delta, 1)
        half, x, y = compared("nn.huber_loss", x, y)
        local off = x - y
        if core.dtype_of(off).kind == "c" then off = np.abs(off) end
        local near = np.clip(off, -delta, delta) -- with its sign: the square is smooth at 0, as |off| is not
        return reduced("nn.huber_loss", near * near * 0.5 + np.abs(off - near) * delta, given, known, half)
    end)

    --- np.nn.binary_cross_entropy(logits, labels, {reduction="mean"}): logits and labels in [0, 1] of one shape:
    -- the mean of -(labels * log(sigmoid(logits)) + (1 - labels) * log(1 - sigmoid(logits))), without overflow.
    --- > np.nn.binary_cross_entropy(np.array{0, 100}, np.array{1, 0}, {reduction="none"})
    -- [  0.6931472 100.       ]
    define("binary_cross_entropy", function(logits, labels, given)
        local half
        half, logits, labels = compared("nn.binary_cross_entropy", logits, labels)
        local loss = labels * np.logaddexp(-logits, 0) + (1 - labels) * np.logaddexp(logits, 0)
        return reduced("nn.binary_cross_entropy", loss, given, nil, half)
    end)

    --- np.nn.kl_div(log_p, q, {reduction="mean"}): q * (log(q) - log_p), by element, for log probabilities log_p and
    -- probabilities q: PyTorch's kl_div; 0 where q is 0.
    --- > np.nn.kl_div(np.log(np.array{0.5, 0.5}), np.array{1, 0}, {reduction="sum"})
    -- 0.6931472
    define("kl_div", function(log_p, q, given)
        local half
        half, log_p, q = compared("nn.kl_div", log_p, q)
        local nothing = np.equal(q, 0)
        local some = np.where(nothing, 1, q)
        local loss = np.where(nothing, 0, some * (np.log(some) - np.where(nothing, 0, log_p)))
        return reduced("nn.kl_div", loss, given, nil, half)
    end)

    --- np.nn.cosine_similarity(x, y, {axis=-1, epsilon=1e-8}): the cosine of the angle between vectors along an axis;
    -- lengths count as epsilon at least.
    --- epsilon: the least length
    --- > np.nn.cosine_similarity(np.array{1, 0}, np.array{1, 1})
    -- 0.70710677
    define("cosine_similarity", function(x, y, given)
        local o = options("nn.cosine_similarity", given, { axis = true, epsilon = true })
        local half
        half, x, y = operands.floats_all("nn.cosine_similarity", nil, 2, x, y)
        if core.sized() or not shape.same(shape_of(x), shape_of(y)) then
            local dims = shape.broadcast("nn.cosine_similarity", shape_of(x), shape_of(y))
            x, y = shape.broadcast_to(x, dims), shape.broadcast_to(y, dims)
        end
        local along = { axis = o.axis == nil and -1 or o.axis }
        local least = number("cosine_similarity", nil, "epsilon", o.epsilon, 1e-8) ^ 2
        local function shrink(v) return np.rsqrt(np.maximum(np.sum(v * v, along), least)) end
        return narrow(np.sum(x * y, along) * shrink(x) * shrink(y), half)
    end)
end
