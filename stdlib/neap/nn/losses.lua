--- losses.lua: losses of np.nn that compare arrays element by element, or vectors; those of classes and labels are in
-- labels.lua. Names and formulas are PyTorch's, in lower case with _, but where logits are meant. Integers count as f32
-- (of 64 bits: f64), and halves as f32 up to the result, which is rounded once.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"

local np = core.np
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local narrow = operands.narrow
local shape_of = core.shape_of

--- reduced(name, x, options, known, half): the mean, the sum or all of x, by the option `reduction`. compared(name, x,
-- y): both as operands.floats_all gives them.
return function(nn, reduced, compared)
    local function define(name, f) nn[name] = f end

    local function number(name, what, value, default, least)
        value = core.plain(value)
        if value == nil then return default end
        if not core.is_number(value) or least and value < least then
            bad_argument("nn." .. name, nil, what, least and ("a number from %g up"):format(least) or "a number", value)
        end
        return value
    end

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
        local delta = number("huber_loss", "delta", options("nn.huber_loss", given, known).delta, 1)
        half, x, y = compared("nn.huber_loss", x, y)
        local off = x - y
        if core.dtype_of(off).kind == "c" then off = np.abs(off) end
        local near = np.clip(off, -delta, delta) -- with its sign: the square is smooth at 0, as |off| is not
        return reduced("nn.huber_loss", near * near * 0.5 + np.abs(off - near) * delta, given, known, half)
    end)

    --- An option that is an array of numbers which broadcast with x; nil without it.
    local function weights(name, what, value, x)
        if value == nil then return nil end
        if not core.is_number(value) and not core.is_array(value) and type(value) ~= "table" then
            bad_argument("nn." .. name, nil, what, "an array or a number", value)
        end
        return np.astype(operands.beside("nn." .. name, 2, value, core.dtype_of(x)), core.dtype_of(x).name)
    end

    --- np.nn.binary_cross_entropy(logits, labels, {weight=…, pos_weight=…, reduction="mean"}): logits and labels in [0,
    -- 1] of one shape: the mean of -(labels * log(sigmoid(logits)) + (1 - labels) * log(1 - sigmoid(logits))), without
    -- overflow: PyTorch's binary_cross_entropy_with_logits.
    --- weight: numbers that broadcast, by which the losses are multiplied
    --- pos_weight: numbers that broadcast, by which the terms of labels are multiplied: above 1 they count more
    --- > np.nn.binary_cross_entropy(np.array{0, 100}, np.array{1, 0}, {reduction="none"})
    -- [  0.6931472 100.       ]
    define("binary_cross_entropy", function(logits, labels, given)
        local known, half = { reduction = true, weight = true, pos_weight = true }
        local o = options("nn.binary_cross_entropy", given, known)
        half, logits, labels = compared("nn.binary_cross_entropy", logits, labels)
        local positive = labels * np.logaddexp(-logits, 0)
        local more = weights("binary_cross_entropy", "pos_weight", o.pos_weight, logits)
        local loss = (more and positive * more or positive) + (1 - labels) * np.logaddexp(logits, 0)
        local weight = weights("binary_cross_entropy", "weight", o.weight, logits)
        return reduced("nn.binary_cross_entropy", weight and loss * weight or loss, given, known, half)
    end)

    --- np.nn.focal_loss(logits, labels, {alpha=…, gamma=2, reduction="mean"}): np.nn.binary_cross_entropy times (1 -
    -- p)^gamma, p being the probability of the label (Lin et al., 2017), labels 0 or 1; with alpha, 1's count alpha
    -- times, 0's 1 - alpha times: torchvision's and optax's sigmoid_focal_loss.
    --- alpha: the weight of labels of 1, from 0 to 1
    --- gamma: how much what is well known counts less
    --- > np.nn.focal_loss(np.array{0, 100}, np.array{1, 0}, {reduction="none"})
    -- [  0.1732868 100.       ]
    define("focal_loss", function(logits, labels, given)
        local known, half = { reduction = true, alpha = true, gamma = true }
        local o = options("nn.focal_loss", given, known)
        local gamma, alpha = number("focal_loss", "gamma", o.gamma, 2, 0), number("focal_loss", "alpha", o.alpha)
        half, logits, labels = compared("nn.focal_loss", logits, labels)
        local loss = labels * np.logaddexp(-logits, 0) + (1 - labels) * np.logaddexp(logits, 0)
        -- 1 - p, with all digits where p is near 1
        local missed = labels * np.sigmoid(-logits) + (1 - labels) * np.sigmoid(logits)
        if gamma == 2 then loss = loss * missed * missed elseif gamma ~= 0 then loss = loss * missed ^ gamma end
        if alpha then loss = loss * (labels * alpha + (1 - labels) * (1 - alpha)) end
        return reduced("nn.focal_loss", loss, given, known, half)
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
        local least = number("cosine_similarity", "epsilon", o.epsilon, 1e-8) ^ 2
        local function shrink(v) return np.rsqrt(np.maximum(np.sum(v * v, along), least)) end
        return narrow(np.sum(x * y, along) * shrink(x) * shrink(y), half)
    end)

    -- ---- Margins ----------------------------------------------------------------------------------------------------

    --- Three arrays of one shape, floats.
    local function three(name, a, b, c) return operands.floats_all("nn." .. name, nil, 3, a, b, c) end

    --- np.nn.margin_ranking_loss(x, y, target, {margin=0, reduction="mean"}): max(0, -target * (x - y) + margin),
    -- target being 1 where x should be larger and -1 where y should.
    --- margin: by how much
    --- > np.nn.margin_ranking_loss(np.array{1, 2}, np.array{2, 1}, 1)
    -- 0.5
    define("margin_ranking_loss", function(x, y, target, given)
        local known, half = { reduction = true, margin = true }
        local o = options("nn.margin_ranking_loss", given, known)
        local margin = number("margin_ranking_loss", "margin", o.margin, 0)
        half, x, y, target = three("margin_ranking_loss", x, y, target)
        return reduced("nn.margin_ranking_loss", nn.relu(margin - target * (x - y)), given, known, half)
    end)

    --- np.nn.soft_margin_loss(x, target, {reduction="mean"}): log(1 + exp(-target * x)), without overflow, target being
    -- 1 or -1.
    --- > np.nn.soft_margin_loss(np.array{0, 100}, np.array{1, -1}, {reduction="none"})
    -- [  0.6931472 100.       ]
    define("soft_margin_loss", function(x, target, given)
        local half
        half, x, target = compared("nn.soft_margin_loss", x, target)
        return reduced("nn.soft_margin_loss", np.logaddexp(-(target * x), 0), given, nil, half)
    end)

    --- np.nn.hinge_embedding_loss(x, target, {margin=1, reduction="mean"}): x where target is 1, max(0, margin - x)
    -- where it is -1.
    --- margin: from where distances are large enough
    --- > np.nn.hinge_embedding_loss(np.array{0.5, 0.25}, np.array{1, -1}, {reduction="none"})
    -- [0.5  0.75]
    define("hinge_embedding_loss", function(x, target, given)
        local known, half = { reduction = true, margin = true }
        local o = options("nn.hinge_embedding_loss", given, known)
        local margin = number("hinge_embedding_loss", "margin", o.margin, 1)
        half, x, target = compared("nn.hinge_embedding_loss", x, target)
        local loss = np.where(np.equal(target, 1), x, nn.relu(margin - x))
        return reduced("nn.hinge_embedding_loss", loss, given, known, half)
    end)

    --- Distances of vectors along the last axis: the p-norm of x - y + epsilon, as PyTorch's pairwise_distance.
    local function distance(x, y, p, epsilon)
        local off = np.abs(x - y + epsilon)
        if p == 1 then return np.sum(off, { axis = -1 }) end
        if p == 2 then return np.sqrt(np.sum(off * off, { axis = -1 })) end
        return np.sum(off ^ p, { axis = -1 }) ^ (1 / p)
    end

    --- np.nn.triplet_margin_loss(anchor, positive, negative, {margin=1, p=2, epsilon=1e-6, swap=false,
    -- reduction="mean"}): max(0, d(anchor, positive) - d(anchor, negative) + margin) for vectors along the last axis, d
    -- being the p-norm of the difference plus epsilon (Balntas et al., 2016).
    --- margin: by how much the negative should be farther
    --- p: of the norm, from 1
    --- epsilon: added to differences
    --- swap: true: the negative's distance is the smaller one of those to the anchor and to the positive
    --- > np.nn.triplet_margin_loss(np.zeros{1, 2}, np.ones{1, 2}, np.array{{1, 0}})
    -- 1.4142132
    define("triplet_margin_loss", function(anchor, positive, negative, given)
        local name, half = "triplet_margin_loss"
        local known = { reduction = true, margin = true, p = true, epsilon = true, swap = true }
        local o = options("nn." .. name, given, known)
        local margin, p = number(name, "margin", o.margin, 1), number(name, "p", o.p, 2, 1)
        local epsilon = number(name, "epsilon", o.epsilon, 1e-6)
        half, anchor, positive, negative = three(name, anchor, positive, negative)
        if core.ndim(anchor) == 0 then raise("nn." .. name, "needs vectors along the last axis, got shape ()") end
        local far = distance(anchor, negative, p, epsilon)
        if o.swap then far = np.minimum(far, distance(positive, negative, p, epsilon)) end
        local loss = nn.relu(distance(anchor, positive, p, epsilon) - far + margin)
        return reduced("nn." .. name, loss, given, known, half)
    end)

    --- np.nn.cosine_embedding_loss(x, y, target, {margin=0, reduction="mean"}): 1 - cos of vectors along the last axis
    -- where target, of the shape without it, is 1; max(0, cos - margin) where it is -1.
    --- margin: which cosine is small enough
    --- > x, y = np.array{{1, 0}, {1, 0}}, np.array{{0, 1}, {2, 0}}
    --- > np.nn.cosine_embedding_loss(x, y, np.array{1, -1}, {reduction="none"})
    -- [1. 1.]
    define("cosine_embedding_loss", function(x, y, target, given)
        local name, half = "nn.cosine_embedding_loss"
        local known = { reduction = true, margin = true }
        local margin = number("cosine_embedding_loss", "margin", options(name, given, known).margin, 0)
        half, x, y, target = three("cosine_embedding_loss", x, y, target)
        local tiny = 1e-12 -- PyTorch's, added to squares
        local function square(a, b) return np.sum(a * b, { axis = -1 }) end
        local cosine = square(x, y) * np.rsqrt((square(x, x) + tiny) * (square(y, y) + tiny))
        local loss = np.where(np.equal(target, 1), 1 - cosine, nn.relu(cosine - margin))
        return reduced(name, loss, given, known, half)
    end)

    -- ---- Likelihoods ------------------------------------------------------------------------------------------------

    --- np.nn.poisson_nll_loss(x, target, {log_input=true, full=false, epsilon=1e-8, reduction="mean"}): the negative
    -- log likelihood of counts, up to log(target!): exp(x) - target * x, x being the logarithm of the rate; with
    -- log_input=false x is the rate, x - target * log(x + epsilon).
    --- log_input: false: x is the rate itself
    --- full: true: Stirling's target * log(target) - target + log(2 π target) / 2 is added where target is above 1
    --- epsilon: added to rates under the logarithm
    --- > np.nn.poisson_nll_loss(np.array{0, 1}, np.array{1, 1}, {reduction="none"})
    -- [1.        1.7182817]
    define("poisson_nll_loss", function(x, target, given)
        local name, half = "nn.poisson_nll_loss"
        local known = { reduction = true, log_input = true, full = true, epsilon = true }
        local o = options(name, given, known)
        local epsilon = number("poisson_nll_loss", "epsilon", o.epsilon, 1e-8)
        half, x, target = compared(name, x, target)
        local loss = o.log_input == false and x - target * np.log(x + epsilon) or np.exp(x) - target * x
        if o.full then
            local large = np.greater(target, 1)
            local t = np.where(large, target, 2)
            loss = loss + np.where(large, t * np.log(t) - t + np.log(t * (2 * math.pi)) * 0.5, 0)
        end
        return reduced(name, loss, given, known, half)
    end)

    --- np.nn.gaussian_nll_loss(x, target, variance, {full=false, epsilon=1e-6, reduction="mean"}): the negative log
    -- likelihood of normal distributions with means x and these variances: (log(variance) + (x - target)² / variance) /
    -- 2 (Nix and Weigend, 1994). Variances count as epsilon at least, with the gradient of themselves.
    --- full: true: log(2 π) / 2 is added
    --- epsilon: the least variance
    --- > np.nn.gaussian_nll_loss(np.array{0, 1}, np.array{1, 1}, 1, {reduction="none"})
    -- [0.5 0. ]
    define("gaussian_nll_loss", function(x, target, variance, given)
        local name, half = "nn.gaussian_nll_loss"
        local known = { reduction = true, full = true, epsilon = true }
        local o = options(name, given, known)
        local epsilon = number("gaussian_nll_loss", "epsilon", o.epsilon, 1e-6)
        half, x, target, variance = three("gaussian_nll_loss", x, target, variance)
        variance = variance + np.stop_gradient(np.maximum(variance, epsilon) - variance)
        local off = x - target
        local loss = (np.log(variance) + off * off / variance) * 0.5
        return reduced(name, o.full and loss + 0.5 * math.log(2 * math.pi) or loss, given, known, half)
    end)
end
