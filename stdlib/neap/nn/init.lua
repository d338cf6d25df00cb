--- nn/init.lua: np.nn: neural networks: activations, losses, initializers, layers.
--
-- Functions are pure and parameters are trees. A layer is a block (block.lua), a description without parameters:
-- `layer:init(key)` makes them, `layer(params, x)` applies it:
--
--     local model = np.nn.Sequential{ np.nn.Dense(784, 128), np.nn.relu, np.nn.Dense(128, 10) }
--     local params = model:init(np.random.key(0))
--     local loss = np.nn.cross_entropy(model(params, images), labels)
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local weights = require "neap.nn.weights"

local np = core.np
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local floats, narrow = operands.floats, operands.narrow

local nn = {}

-- ---- Activations ----------------------------------------------------------------------------------------------------
-- Functions of elements. Integers count as f32, those of 64 bits as f64, but relu keeps them; halves are computed with
-- as f32, and the result is rounded once.

--- np.nn.tanh, np.nn.sigmoid, np.nn.softmax, np.nn.log_softmax, np.nn.logsumexp, np.nn.one_hot: np's functions of the
-- same names: `?np.tanh` and so on.
--- > np.nn.sigmoid(0), np.nn.tanh(0), np.nn.softmax(np.zeros(2)), np.nn.log_softmax(np.zeros(2))
-- 0.5
-- 0
-- [0.5 0.5]
-- [-0.6931472 -0.6931472]
--- > np.nn.logsumexp(np.zeros(2)), np.nn.one_hot(np.arange(2), 2)
-- 0.6931472
-- [[1. 0.]
--  [0. 1.]]
nn.tanh, nn.sigmoid = np.tanh, np.sigmoid
nn.softmax, nn.log_softmax, nn.logsumexp, nn.one_hot = np.softmax, np.log_softmax, np.logsumexp, np.one_hot

--- np.nn.relu(x): max(x, 0), NaN for NaN; the gradient at 0 is 0.
--- > np.nn.relu(np.array{-1, 2})
-- [0. 2.]
function nn.relu(x)
    x = coerce("nn.relu", 1, x)
    return np.where(np.less_equal(x, 0), 0, x)
end

--- np.nn.leaky_relu(x, slope): x above 0, slope * x (0.01 by default) below.
--- > np.nn.leaky_relu(np.array{-1, 2}, 0.1)
-- [-0.1  2. ]
function nn.leaky_relu(x, slope)
    if slope ~= nil and type(slope) ~= "number" then bad_argument("nn.leaky_relu", 2, "slope", "a number", slope) end
    x = operands.float(coerce("nn.leaky_relu", 1, x))
    return np.where(np.greater(x, 0), x, x * (slope or 0.01))
end

--- np.nn.silu(x): x * sigmoid(x).
--- > np.nn.silu(np.array{-1, 0, 1})
-- [-0.26894143  0.          0.7310586 ]
function nn.silu(x)
    local half
    x, half = floats("nn.silu", 1, x)
    return narrow(x * np.sigmoid(x), half)
end

--- np.nn.softplus(x): log(1 + exp(x)).
--- > np.nn.softplus(np.array{-100, 0, 100})
-- [3.783506e-44 6.931472e-01 1.000000e+02]
function nn.softplus(x)
    local half
    x, half = floats("nn.softplus", 1, x)
    return narrow(np.logaddexp(x, 0), half)
end

--- np.nn.gelu(x, {approximate=true}): x Φ(x), Φ the normal distribution function; approximately
-- x/2 (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) (Hendrycks and Gimpel, 2016), or by erfc with approximate=false.
--- approximate: false: by erfc, else by tanh
--- > np.nn.gelu(np.array{-1, 0, 1})
-- [-0.158808  0.        0.841192]
function nn.gelu(x, given)
    local approximate, half = options("nn.gelu", given, { approximate = true }).approximate
    x, half = floats("nn.gelu", 1, x)
    if approximate == false then return narrow(x * 0.5 * np.erfc(x * -math.sqrt(0.5)), half) end
    -- (1 + tanh(u)) / 2 is sigmoid(2u), which loses no digits at its lower end. Beyond 100 both are 0 and 1, and x³ may
    -- be no number any more.
    local near = np.clip(x, -100, 100)
    return narrow(x * np.sigmoid((near + near * near * near * 0.044715) * math.sqrt(8 / math.pi)), half)
end

-- ---- Losses ---------------------------------------------------------------------------------------------------------

--- {reduction}: "mean", "sum" or "none"

local reductions = {
    mean = function(x) return np.mean(x) end,
    sum = function(x) return np.sum(x) end,
    none = function(x) return x end,
}

--- The mean, the sum or all of x, by the option `reduction`, as the half that is named.
local function reduced_loss(name, x, given, known, half)
    local how = options(name, given, known or { reduction = true }).reduction or "mean"
    if not reductions[how] then raise(name, "reduction must be mean, sum or none, got %s", core.describe(how)) end
    return narrow(reductions[how](x), half)
end

--- operands.floats_all of x and y, whose elements np.name compares. Tells where each of them is repeated to meet the
-- other, as (n, 1) and (n,) are, which give n² differences.
local function compared(name, x, y)
    local half
    half, x, y = operands.floats_all(name, nil, 2, x, y)
    local a, b = core.shape_of(x), core.shape_of(y)
    if not core.sized() and not shape.same(a, b) then
        local size = shape.product(shape.broadcast(name, a, b))
        if size > math.max(shape.product(a), shape.product(b)) then
            core.warn(name, "shapes %s and %s broadcast to %d differences; x:reshape(y.shape) makes them one",
                      core.shape_text(a), core.shape_text(b), size)
        end
    end
    return half, x, y
end

--- np.nn.mse(x, y, {reduction="mean"}): the mean squared difference; of complex numbers the square of its size.
--- reduction: "mean", "sum" or "none"
--- > np.nn.mse(np.array{1, 2}, np.array{1, 4})
-- 2.0
function nn.mse(x, y, given)
    local half
    half, x, y = compared("nn.mse", x, y)
    return reduced_loss("nn.mse", operands.squares(x - y), given, nil, half)
end

-- ---- Initializers ---------------------------------------------------------------------------------------------------

--- Fan in and fan out of a weight's shape: the last two axes, times the extents of the others (Flax's layout of
-- convolutions: height, width, in, out).
local function fans(name, dims)
    if #dims < 2 then raise("nn." .. name, "needs a shape of at least 2 axes, got %s", core.shape_text(dims)) end
    local field = shape.product(dims, 1, #dims - 2)
    return dims[#dims - 1] * field, dims[#dims] * field
end

--- An initializer of variance scale / n, n being the fan in or the mean of both fans.
local function define_scaled(name, scale, mean_of_fans, draw)
    nn[name] = function(key, dims, given)
        if type(dims) ~= "table" then bad_argument("nn." .. name, 2, "shape", "a table", dims) end
        dims = shape.arguments("nn." .. name, dims)
        local fan_in, fan_out = fans(name, dims)
        local n = mean_of_fans and (fan_in + fan_out) / 2 or fan_in
        return draw(key, dims, scale / n, options("nn." .. name, given, { dtype = true }).dtype)
    end
end

local function uniform(key, dims, variance, dtype)
    local bound = math.sqrt(3 * variance)
    return np.random.uniform(key, dims, { minval = -bound, maxval = bound, dtype = dtype })
end

local CUT_DEVIATION = 0.87962566103423978 -- of the standard normal distribution within (-2, 2)

local function normal(key, dims, variance, dtype)
    return np.random.truncated_normal(key, -2, 2, dims, { dtype = dtype }) * (math.sqrt(variance) / CUT_DEVIATION)
end

--- np.nn.glorot_uniform(key, shape, {dtype="f32"}), np.nn.glorot_normal, np.nn.he_uniform, np.nn.he_normal,
-- np.nn.lecun_uniform, np.nn.lecun_normal: random parameters of variance 2 / (fan in + fan out) (glorot: Glorot and
-- Bengio, 2010), 2 / fan in (he: He et al., 2015) or 1 / fan in (lecun: LeCun et al., 1998). The normal ones are cut
-- at two deviations of what is drawn, then scaled to that variance, as in jax.nn.initializers.
--- > np.nn.glorot_uniform(np.random.key(0), {2, 2})
-- [[ 1.0965558   1.1722766 ]
--  [-0.41080028 -0.07674634]]
--- > np.nn.glorot_normal(np.random.key(0), {9, 2}):dim(0), np.nn.he_uniform(np.random.key(0), {9, 2}):dim(0)
-- 9
-- 9
--- > np.nn.he_normal(np.random.key(0), {9, 2}):dim(0), np.nn.lecun_uniform(np.random.key(0), {9, 2}):dim(0)
-- 9
-- 9
--- > np.nn.lecun_normal(np.random.key(0), {9, 2}):dim(0)
-- 9
define_scaled("glorot_uniform", 1, true, uniform)
define_scaled("glorot_normal", 1, true, normal)
define_scaled("he_uniform", 2, false, uniform)
define_scaled("he_normal", 2, false, normal)
define_scaled("lecun_uniform", 1, false, uniform)
define_scaled("lecun_normal", 1, false, normal)

--- np.nn.zeros(key, shape, {…}), np.nn.ones(key, shape, {…}): constant initializers; the key is not used. The options
-- are those of np.zeros.
--- > np.nn.zeros(nil, {2}), np.nn.ones(nil, {2})
-- [0. 0.]
-- [1. 1.]
function nn.zeros(_, dims, given) return np.zeros(dims, given) end
function nn.ones(_, dims, given) return np.ones(dims, given) end

-- ---- Layers ---------------------------------------------------------------------------------------------------------

--- np.nn.dense(x, w, b), np.nn.linear: x:matmul(w) + b; b may be nil, and w quantized (?np.nn.quantize_weights).
--- > np.nn.dense(np.ones(2), np.eye(2), np.array{1, 2}), np.nn.linear(np.ones(2), np.eye(2))
-- [2. 3.]
-- [1. 1.]
function nn.dense(x, w, b)
    if type(w) == "number" then
        core.raise("nn.dense", "argument 2 (w) must be an array of weights, got the number %g; "
                   .. "np.nn.Dense(inputs, outputs) is a layer", w)
    end
    return weights.product("nn.dense", 1, x, w, b, "w")
end
nn.linear = nn.dense

require "neap.nn.activations" (nn)
require "neap.nn.norms" (nn)
require "neap.nn.losses" (nn, reduced_loss, compared)
require "neap.nn.labels" (nn, reduced_loss)
require "neap.nn.ctc" (nn, reduced_loss)
require "neap.nn.lora" (nn)
require "neap.nn.quantized" (nn)
require "neap.nn.bytes" (nn)
weights.define(nn)
require("neap.nn.attention").define(nn)
require "neap.nn.recurrent" (nn)
require "neap.nn.layers" (nn)
require "neap.nn.recurrent_layers" (nn)
require "neap.nn.summary" (nn)
require "neap.nn.conv" (nn)
require "neap.nn.pools" (nn)
require "neap.nn.patches" (nn)
require "neap.nn.resize" (nn)
require "neap.nn.sample" (nn)

return nn
