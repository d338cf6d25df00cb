--- activations.lua: more activations and losses of np.nn, by JAX's and PyTorch's names. All are made of op rows, so
-- they fuse, and have derivatives and batches; integers count as f32 (of 64 bits: f64).
local core = require "neap.core"
local shape = require "neap.arrays.shape"

local np = core.np
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, type = core.shape_of, type

--- Argument `position` of np.nn.name as real numbers.
local function real(name, position, x)
    x = coerce("nn." .. name, position, x)
    local dtype = core.dtype_of(x)
    return dtype.inexact and x or np.astype(x, dtype.real)
end

-- The constants of selu, for which a mean of 0 and a variance of 1 stay (Klambauer et al., 2017).
local SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

--- reduced(name, x, options, known): the mean, the sum or all of x, by the option `reduction`.
return function(nn, reduced, labelled)
    local function define(name, f) nn[name] = f end

    local function number(name, position, what, value, default)
        if value == nil then return default end
        if type(value) ~= "number" then bad_argument("nn." .. name, position, what, "a number", value) end
        return value
    end

    -- ---- Activations ------------------------------------------------------------------------------------------------

    --- x above 0, below it alpha * (exp(x / beta) - 1); the exponent is 0 where it is not used, so no gradient is NaN.
    local function exponential(x, alpha, beta)
        local below = np.where(np.greater(x, 0), 0, x)
        return np.where(np.greater(x, 0), x, np.expm1(beta == 1 and below or below / beta) * alpha)
    end

    --- np.nn.elu(x, alpha): x above 0, alpha * (exp(x) - 1) below; alpha is 1 without it (Clevert et al., 2016).
    --- > np.nn.elu(np.array{-1, 2})
    -- [-0.63212055  2.        ]
    define("elu", function(x, alpha)
        return exponential(real("elu", 1, x), number("elu", 2, "alpha", alpha, 1), 1)
    end)

    --- np.nn.celu(x, alpha): x above 0, alpha * (exp(x / alpha) - 1) below; alpha is 1 without it (Barron, 2017).
    --- > np.nn.celu(np.array{-1, 2}, 2)
    -- [-0.78693867  2.        ]
    define("celu", function(x, alpha)
        alpha = number("celu", 2, "alpha", alpha, 1)
        return exponential(real("celu", 1, x), alpha, alpha)
    end)

    --- np.nn.selu(x): elu with the constants that keep a mean of 0 and a variance of 1 (Klambauer et al., 2017).
    --- > np.nn.selu(np.array{-1, 2})
    -- [-1.1113307  2.101402 ]
    define("selu", function(x) return exponential(real("selu", 1, x), SELU_ALPHA, 1) * SELU_SCALE end)

    --- np.nn.mish(x): x * tanh(softplus(x)) (Misra, 2019).
    --- > np.nn.mish(np.array{-1, 2})
    -- [-0.30340144  1.943959  ]
    define("mish", function(x)
        x = real("mish", 1, x)
        return x * np.tanh(np.logaddexp(x, 0))
    end)

    --- np.nn.soft_sign(x): x / (1 + |x|).
    --- > np.nn.soft_sign(np.array{-1, 3})
    -- [-0.5   0.75]
    define("soft_sign", function(x)
        x = real("soft_sign", 1, x)
        return x / (np.abs(x) + 1)
    end)

    --- np.nn.log_sigmoid(x): log(sigmoid(x)) without overflow.
    --- > np.nn.log_sigmoid(np.array{-100, 0})
    -- [-100.          -0.6931472]
    define("log_sigmoid", function(x) return -np.logaddexp(-real("log_sigmoid", 1, x), 0) end)

    --- np.nn.squareplus(x, b): (x + sqrt(x² + b)) / 2, a smooth relu; b is 4 without it.
    --- > np.nn.squareplus(np.array{-1.5, 0, 1.5})
    -- [0.5 1.  2. ]
    define("squareplus", function(x, b)
        x = real("squareplus", 1, x)
        return (x + np.sqrt(x * x + number("squareplus", 2, "b", b, 4))) / 2
    end)

    --- np.nn.sparse_plus(x): 0 up to -1, (x + 1)² / 4 up to 1, x from there: a smooth relu of finite reach.
    --- > np.nn.sparse_plus(np.array{-2, 0, 2})
    -- [0.   0.25 2.  ]
    define("sparse_plus", function(x)
        x = real("sparse_plus", 1, x)
        return np.where(np.less_equal(x, -1), 0, np.where(np.greater_equal(x, 1), x, (x + 1) ^ 2 / 4))
    end)

    --- np.nn.sparse_sigmoid(x): (x + 1) / 2 limited to [0, 1], the derivative of sparse_plus.
    --- > np.nn.sparse_sigmoid(np.array{-2, 0, 2})
    -- [0.  0.5 1. ]
    define("sparse_sigmoid", function(x) return np.clip((real("sparse_sigmoid", 1, x) + 1) / 2, 0, 1) end)

    --- np.nn.log1mexp(x): log(1 - exp(-x)) for x from 0 up, without cancellation (Mächler, 2012).
    --- > np.nn.log1mexp(np.array{0, 1})
    -- [       -inf -0.45867515]
    define("log1mexp", function(x)
        x = real("log1mexp", 1, x)
        local small = np.less(x, math.log(2)) -- each formula sees only what it is good for: so do its derivatives
        local near, far = np.where(small, x, 0.5), np.where(small, 1, x)
        return np.where(small, np.log(-np.expm1(-near)), np.log1p(-np.exp(-far)))
    end)

    --- np.nn.logmeanexp(x, {axis=…, keepdims=false}): the logarithm of the mean of exp(x), without overflow.
    --- axis: an axis or a table of them; all without it
    --- > np.nn.logmeanexp(np.array{1000, 1000})
    -- 1000.0
    define("logmeanexp", function(x, given)
        local o = options("nn.logmeanexp", given, { axis = true, keepdims = true })
        x = real("logmeanexp", 1, x)
        local count, dims = x.size, shape_of(x)
        if o.axis ~= nil then
            count = 1
            for _, axis in ipairs(shape.axes("nn.logmeanexp", o.axis, #dims)) do count = count * dims[axis + 1] end
        end
        return np.logsumexp(x, o) - math.log(count)
    end)

    --- np.nn.relu6(x): x limited to [0, 6]; the gradient at 0 and 6 is 0.
    --- > np.nn.relu6(np.array{-1, 3, 9})
    -- [0. 3. 6.]
    define("relu6", function(x)
        x = real("relu6", 1, x)
        return np.where(np.less_equal(x, 0), 0, np.where(np.greater_equal(x, 6), 6, x))
    end)

    --- np.nn.hard_tanh(x): x limited to [-1, 1]; the gradient at the limits is 0.
    --- > np.nn.hard_tanh(np.array{-3, 0.5, 3})
    -- [-1.   0.5  1. ]
    define("hard_tanh", function(x)
        x = real("hard_tanh", 1, x)
        return np.where(np.greater_equal(x, 1), 1, np.where(np.less_equal(x, -1), -1, x))
    end)

    --- np.nn.hard_sigmoid(x): relu6(x + 3) / 6: a sigmoid of straight lines.
    --- > np.nn.hard_sigmoid(np.array{-3, 0, 1.5})
    -- [0.   0.5  0.75]
    define("hard_sigmoid", function(x) return nn.relu6(real("hard_sigmoid", 1, x) + 3) / 6 end)

    --- np.nn.hard_swish(x), np.nn.hard_silu: x * hard_sigmoid(x) (Howard et al., 2019).
    --- > np.nn.hard_swish(np.array{-3, 1.5}), np.nn.hard_silu(3)
    -- [-0.     1.125]
    -- 3.0
    define("hard_swish", function(x)
        x = real("hard_swish", 1, x)
        return x * nn.hard_sigmoid(x)
    end)
    nn.hard_silu = nn.hard_swish

    --- np.nn.glu(x, {axis=-1}): the first half of an axis times the sigmoid of the second half (Dauphin et al., 2017).
    --- > np.nn.glu(np.array{1, 2, 0, 100})
    -- [0.5 2. ]
    define("glu", function(x, given)
        x = real("glu", 1, x)
        local axis = type(given) == "number" and given or options("nn.glu", given, { axis = true }).axis or -1
        axis = core.axis("nn.glu", axis, core.ndim(x))
        local n = shape_of(x)[axis + 1]
        if n % 2 ~= 0 then raise("nn.glu", "axis %d has an odd extent, %d", axis, n) end
        return shape.cut(x, axis, 0, n / 2) * np.sigmoid(shape.cut(x, axis, n / 2, n))
    end)

    -- ---- Normalizing ------------------------------------------------------------------------------------------------

    --- np.nn.standardize(x, {axis=-1, epsilon=1e-5}): x moved and scaled to mean 0 and variance 1 along an axis.
    --- axis: an axis or a table of them
    --- epsilon: what is added to the variance
    --- > np.nn.standardize(np.array{1, 3}):round()
    -- [-1.  1.]
    define("standardize", function(x, given)
        local o = options("nn.standardize", given, { axis = true, epsilon = true })
        x = real("standardize", 1, x)
        local along = { axis = o.axis == nil and -1 or o.axis, keepdims = true }
        local off = x - np.mean(x, along)
        return off * np.rsqrt(np.mean(off * off, along) + number("standardize", nil, "epsilon", o.epsilon, 1e-5))
    end)

    --- np.nn.rms_norm(x, scale, {epsilon=1e-6}): x divided by the root of the mean square over the last axis, times
    -- scale, (n,) or nothing (Zhang and Sennrich, 2019).
    --- epsilon: what is added to the mean square
    --- > np.nn.rms_norm(np.array{3, -3}, np.array{1, 2}):round()
    -- [ 1. -2.]
    define("rms_norm", function(x, scale, given)
        local epsilon = options("nn.rms_norm", given, { epsilon = true }).epsilon
        x = real("rms_norm", 1, x)
        local y = x * np.rsqrt(np.mean(x * x, { axis = -1, keepdims = true })
                               + number("rms_norm", nil, "epsilon", epsilon, 1e-6))
        return scale == nil and y or y * scale
    end)

    --- np.nn.group_norm(x, groups, scale, bias, {epsilon=1e-6}): x of shape (batch, …, n) with mean 0 and variance 1
    -- over each group of n / groups neighbouring features and all axes between; times scale plus bias, (n,) or nothing
    -- (Wu and He, 2018).
    --- epsilon: what is added to the variance
    --- > np.nn.group_norm(np.array{{1, 3, 10, 30}}, 2):round()
    -- [[-1.  1. -1.  1.]]
    define("group_norm", function(x, groups, scale, bias, given)
        local epsilon = options("nn.group_norm", given, { epsilon = true }).epsilon
        x = real("group_norm", 1, x)
        local dims = shape_of(x)
        local n = dims[#dims]
        core.integer("nn.group_norm", 2, "groups", groups)
        if #dims < 2 or groups < 1 or n % groups ~= 0 then
            raise("nn.group_norm", "needs shape (batch, …, n) with n a multiple of %d groups, got %s", groups,
                  core.shape_text(dims))
        end
        local wide, axes = { unpack(dims) }, {}
        wide[#dims], wide[#dims + 1] = groups, n / groups
        for k = 1, #dims - 2 do axes[k] = k end
        axes[#axes + 1] = #dims
        local y = nn.standardize(shape.reshape(x, wide), { axis = axes, epsilon = epsilon == nil and 1e-6 or epsilon })
        y = shape.reshape(y, dims)
        if scale ~= nil then y = y * scale end
        return bias == nil and y or y + bias
    end)

    -- ---- Losses -----------------------------------------------------------------------------------------------------

    --- {reduction}: "mean", "sum" or "none"

    --- np.nn.l1_loss(x, y, {reduction="mean"}): the mean magnitude of the difference.
    --- > np.nn.l1_loss(np.array{1, 2}, np.array{1, 4})
    -- 1.0
    define("l1_loss", function(x, y, given)
        return reduced("nn.l1_loss", np.abs(real("l1_loss", 1, x) - real("l1_loss", 2, y)), given)
    end)

    --- np.nn.huber_loss(x, y, {delta=1, reduction="mean"}): half the square of the difference d up to delta, and delta
    -- * (|d| - delta / 2) beyond (Huber, 1964).
    --- delta: where squares end and lines begin
    --- > np.nn.huber_loss(np.array{0, 0}, np.array{0.5, 3}, {reduction="none"})
    -- [0.125 2.5  ]
    define("huber_loss", function(x, y, given)
        local off = np.abs(real("huber_loss", 1, x) - real("huber_loss", 2, y))
        local known = { reduction = true, delta = true }
        local delta = number("huber_loss", nil, "delta", options("nn.huber_loss", given, known).delta, 1)
        local near = np.minimum(off, delta)
        return reduced("nn.huber_loss", near * near * 0.5 + (off - near) * delta, given, known)
    end)

    --- np.nn.binary_cross_entropy(logits, labels, {reduction="mean"}): logits and labels in [0, 1] of one shape:
    -- the mean of -(labels * log(sigmoid(logits)) + (1 - labels) * log(1 - sigmoid(logits))), without overflow.
    --- > np.nn.binary_cross_entropy(np.array{0, 100}, np.array{1, 0}, {reduction="none"})
    -- [  0.6931472 100.       ]
    define("binary_cross_entropy", function(logits, labels, given)
        logits, labels = real("binary_cross_entropy", 1, logits), real("binary_cross_entropy", 2, labels)
        return reduced("nn.binary_cross_entropy", np.logaddexp(logits, 0) - logits * labels, given)
    end)

    --- np.nn.kl_div(log_p, q, {reduction="mean"}): q * (log(q) - log_p), by element, for log probabilities log_p and
    -- probabilities q: PyTorch's kl_div; 0 where q is 0.
    --- > np.nn.kl_div(np.log(np.array{0.5, 0.5}), np.array{1, 0}, {reduction="sum"})
    -- 0.6931472
    define("kl_div", function(log_p, q, given)
        log_p, q = real("kl_div", 1, log_p), real("kl_div", 2, q)
        local there = np.greater(q, 0)
        return reduced("nn.kl_div", np.where(there, q * (np.log(np.where(there, q, 1)) - log_p), 0), given)
    end)

    --- np.nn.nll_loss(log_p, labels, {reduction="mean"}): log probabilities of shape (…, n), integer labels of shape
    -- (…): the mean of -log_p[label]. Of logits it is np.nn.cross_entropy.
    --- > np.nn.nll_loss(np.log(np.array{{0.25, 0.75}}), np.array({1}, {dtype="i32"}))
    -- 0.28768206
    define("nll_loss", function(log_p, labels, given)
        log_p, labels = real("nll_loss", 1, log_p), coerce("nn.nll_loss", 2, labels)
        return reduced("nn.nll_loss", -labelled("nn.nll_loss", log_p, labels, "log_p"), given)
    end)

    --- np.nn.cosine_similarity(x, y, {axis=-1, epsilon=1e-8}): the cosine of the angle between vectors along an axis;
    -- lengths count as epsilon at least.
    --- epsilon: the least length
    --- > np.nn.cosine_similarity(np.array{1, 0}, np.array{1, 1})
    -- 0.70710677
    define("cosine_similarity", function(x, y, given)
        local o = options("nn.cosine_similarity", given, { axis = true, epsilon = true })
        x, y = real("cosine_similarity", 1, x), real("cosine_similarity", 2, y)
        local along = { axis = o.axis == nil and -1 or o.axis }
        local least = number("cosine_similarity", nil, "epsilon", o.epsilon, 1e-8) ^ 2
        local squares = np.maximum(np.sum(x * x, along), least) * np.maximum(np.sum(y * y, along), least)
        return np.sum(x * y, along) * np.rsqrt(squares)
    end)
end
