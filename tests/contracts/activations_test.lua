--- activations_test.lua: contracts of np.nn's functions of elements (tests/lib/contracts.lua): activations, and the
-- functions of one axis that belong to them.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local CLOSE = { f64 = "scaled 1e-14", f32 = "scaled 1e-6", f16 = "ulp 1", bf16 = "ulp 1" }
local of, finish, same = require "tests.lib.contracts" "activations"

for name in ("tanh sigmoid softmax log_softmax logsumexp one_hot"):gmatch "%S+" do
    same("np.nn." .. name, "np." .. name)
end

--- Slopes of halves are those of f32, rounded: also where squares and cubes leave the range of f16.
local function half_slopes(name)
    local function slope(dtype, half)
        local x = np.array({ -300, -3, -0.5, 0.5, 3, 300 }, { dtype = half }):astype(dtype)
        return np.grad(function(v) return np.nn[name](v):astype "f32":sum() end)(x):astype(half)
    end
    return { ["np.nn." .. name .. ": slopes of halves"] = function()
        for _, half in ipairs { "f16", "bf16" } do
            check.equal(slope(half, half):totable(), slope("f32", half):totable(), half)
        end
    end }
end

--- A function of elements of floats, whose oracle is `text`, with derivatives at the points given.
local function activation(name, text, points, more)
    local contract = { args = { "x" }, accepts = "floats ints bool", oracle = text, derivative = text, points = points,
                       also = half_slopes(name) }
    for key, value in pairs(more or {}) do contract[key] = value end
    of("np.nn." .. name, contract)
end

activation("relu", "np.maximum(x, 0)", { { 0 }, { { -2, 1 } } }, {
    gives = function(dtype) return dtype == "bool" and "i32" or dtype end,
    derivative = "jnp.where(x > 0, x, 0)", within = "exact",
})
of("np.nn.leaky_relu", {
    args = { "x" }, accepts = "floats ints bool",
    options = { {}, { slope = 0.125 } }, call = function(f, o, x) return f(x, o.slope, o.nonsense) end,
    oracle = "np.where(x > 0, x, x * o.get('slope', 0.01))",
    derivative = "jnp.where(x > 0, x, x * o.get('slope', 0.01))", points = { { 0 }, { { -2, 1 } } },
})
activation("silu", "nn.silu(x)", { { 0 }, { -30 }, { 30 } })
activation("softplus", "nn.softplus(x)", { { 0 }, { 40 }, { -40 }, { 1e200 }, { -1e200 } })
of("np.nn.gelu", {
    args = { "x" }, accepts = "floats ints bool",
    options = { {}, { approximate = false } },
    oracle = "exact(lambda v: gelu(v, o.get('approximate', True)), x)", within = { f32 = "ulp 8" },
    derivative = "nn.gelu(x, approximate=o.get('approximate', True))",
    also = half_slopes "gelu",
    points = { { 0 }, { { -2, 1 } }, { 6 }, { 300 }, { { -2, 0 }, o = { approximate = false } },
               { 300, o = { approximate = false } } },
})

activation("elu", "F.elu(T(x))", { { 0 }, { { -2, 1 } }, { 800 }, { -800 } }, {
    options = { {}, { alpha = 0.5 } }, call = function(f, o, x) return f(x, o.alpha, o.nonsense) end,
    oracle = "F.elu(T(x), alpha=o.get('alpha', 1.0))", derivative = "nn.elu(x, o.get('alpha', 1.0))",
})
activation("celu", "", { { 0 }, { { -2, 1 } }, { 800 }, { -800 } }, {
    options = { {}, { alpha = 0.5 } }, call = function(f, o, x) return f(x, o.alpha, o.nonsense) end,
    oracle = "F.celu(T(x), alpha=o.get('alpha', 1.0))", derivative = "nn.elu(x, 1.0)",
})
activation("selu", "nn.selu(x)", { { 0 }, { { -2, 1 } }, { 800 }, { -800 } })
activation("mish", "nn.mish(x)", { { 0 }, { { -2, 1 } }, { -30 }, { 30 } })
activation("soft_sign", "x / (abs(x) + 1)", { { { -2, 1 } } }, { accepts = "floats ints bool complex" })
activation("log_sigmoid", "nn.log_sigmoid(x)", { { 0 }, { 40 }, { -40 }, { 1e200 }, { -1e200 } })
of("np.nn.squareplus", {
    args = { "x" }, accepts = "floats ints bool",
    options = { {}, { b = 1 }, { b = 0 } }, call = function(f, o, x) return f(x, o.b, o.nonsense) end,
    oracle = "exact(lambda v: squareplus(v, o.get('b', 4)), x)",
    also = half_slopes "squareplus", derivative = "nn.squareplus(x, o.get('b', 4))",
    points = { { 0 }, { { -2, 1 } }, { 300 } },
})
activation("sparse_plus", "nn.sparse_plus(x)", { { { -2, 1.5 } }, { 0 } })
activation("sparse_sigmoid", "nn.sparse_sigmoid(x)", { { { -2, 1.5 } }, { 0 } })
-- Without subnormal numbers, of which np.expm1 keeps few digits: of the smallest one it gives 0.
local function positive(dtype)
    return dtype:find "f" and { 0 / 0, math.huge, -math.huge, 0, -0.0, 1, -1, 65504 } or nil
end

of("np.nn.log1mexp", {
    args = { { "x", from = 0.01, to = 6, special = positive } }, accepts = "floats ints bool",
    oracle = "exact(log1mexp, x)",
    derivative = "nn.log1mexp(x)", points = { { 0.6931471805599453 }, { 40 }, { 1e-5 } },
})
activation("relu6", "np.clip(x, 0, 6)", { { 0 }, { 6 }, { 0 / 0 }, { { -1, 3, 7 } } }, {
    args = { { "x", from = -4, to = 9 } },
    derivative = "jnp.where((x > 0) & (x < 6), x, jax.lax.stop_gradient(jnp.clip(x, 0, 6)))",
})
activation("hard_tanh", "np.clip(x, -1, 1)", { { -1 }, { 1 }, { 0 / 0 }, { { -1.5, 0.5, 7 } } }, {
    derivative = "jnp.where((x > -1) & (x < 1), x, jax.lax.stop_gradient(jnp.clip(x, -1, 1)))",
})
activation("hard_sigmoid", "hard_sigmoid(x, o)", { { -3 }, { 3 }, { 0 / 0 }, { { -1.5, 0.5, 7 } } }, {
    args = { { "x", from = -5, to = 5 } }, options = { {}, { slope = 0.2, offset = 0.4 } },
    derivative = "jnp.where((x > -3) & (x < 3), (x + 3) / 6, jax.lax.stop_gradient(jnp.clip((x + 3) / 6, 0, 1)))",
})
activation("hard_swish", "x * (np.clip(x + 3, 0, 6) / 6)", { { -3 }, { 3 }, { { -1.5, 0.5, 7 } } }, {
    args = { { "x", from = -5, to = 5 } },
    derivative = "x * jnp.where((x > -3) & (x < 3), (x + 3) / 6, jax.lax.stop_gradient(jnp.clip((x + 3) / 6, 0, 1)))",
})
same("np.nn.hard_silu", "np.nn.hard_swish")

-- ---- Of one axis ----------------------------------------------------------------------------------------------------

of("np.nn.glu", {
    args = { "x" }, accepts = "floats ints bool",
    shapes = { { { 2, 4 } }, { { 6 } }, { { 2, 2, 2 } }, { { 0, 2 } }, { { 2 } } },
    options = { {}, { axis = 0 }, { axis = 1 } },
    call = function(f, o, x) -- only the first shape has an axis 1
        if o.axis == 1 and x.ndim == 1 then o = { axis = 0 } end
        return f(x, next(o) and o or nil)
    end,
    oracle = "nn.glu(x, axis=min(o.get('axis', -1), np.ndim(x) - 1))",
    refuses = { { "odd extent", function() np.nn.glu(np.ones(3)) end } },
})
of("np.nn.logmeanexp", {
    args = { "x" }, accepts = "floats ints bool",
    shapes = { { { 2, 3 } }, { { 5 } }, { {} }, { { 2, 3, 4 } }, { { 1 } }, { { 0 } } },
    options = { {}, { axis = 0 }, { keepdims = true }, { axis = -1, keepdims = true } },
    within = { f64 = "rel 1e-14", f32 = "rel 4e-6" },
    divided = { f64 = "rel 1e-14", f32 = "rel 4e-6", f16 = "ulp 1", bf16 = "ulp 1" },
    oracle = "nn.logmeanexp(x, axis=o.get('axis'), keepdims=o.get('keepdims', False))",
    derivative = "nn.logmeanexp(x)", points = { { { 3, 3, 3 } }, { { 1000, -1000 } }, { { 5, -math.huge, 1 } } },
})

-- ---- Further ones of PyTorch and ONNX
-- ---------------------------------------------------------------------------------

of("np.nn.swish", {
    args = { { "x", special = false }, { "y", special = false } }, accepts = "floats ints", options = { {} },
    oracle = "x * sp.expit(x * y)", within = CLOSE,
    without = { special = "products with infinities are those of np.nn.silu" },
    also = { ["np.nn.swish: without beta"] = function()
        local x = np.array { -1, 0, 3 }
        check.equal(np.nn.swish(x):totable(), np.nn.silu(x):totable())
    end },
})
of("np.nn.prelu", {
    args = { "x", { "y", special = false } }, accepts = "floats ints", oracle = "np.where(x > 0, x, x * y)",
    smooth = 2,
    without = { special = "special values are those of np.nn.leaky_relu" },
})
of("np.nn.hard_shrink", {
    args = { "x" }, accepts = "floats ints", options = { {}, { lambda = 1.25 } },
    call = function(f, o, x) return f(x, o.nonsense and o or o.lambda) end,
    oracle = "np.where(np.isnan(x), x, np.where(np.abs(x) > o.get('lambda', 0.5), x, 0))",
    refuses = { { "lambda", function() np.nn.hard_shrink(1, "x") end } },
    without = { refusals = "its second argument is a number, not a table of options" },
})
of("np.nn.soft_shrink", {
    args = { "x" }, accepts = "floats ints", options = { {}, { lambda = 1.25 } },
    call = function(f, o, x) return f(x, o.lambda) end,
    oracle = "F.softshrink(T(real(x)), o.get('lambda', 0.5))",
    without = { refusals = "its second argument is a number, not a table of options" },
})
of("np.nn.tanh_shrink", {
    args = { "x" }, accepts = "floats ints", oracle = "x - np.tanh(x)",
    within = { f64 = "scaled 1e-15", f32 = "scaled 1e-6", f16 = "scaled 1e-3", bf16 = "scaled 1e-2" },
})
of("np.nn.threshold", {
    args = { "x" }, accepts = "floats ints", options = { { limit = 0.5, value = -2 }, { limit = 1 } },
    call = function(f, o, x) return f(x, o.limit, o.value) end,
    oracle = "np.where(x <= o['limit'], o.get('value', 0), x)",
    without = { refusals = "its arguments are numbers, not a table of options",
                integers = "the limit and the value are numbers" },
    also = { ["np.nn.threshold: without a limit"] = function()
        check.raises(function() np.nn.threshold(np.ones(2)) end, "limit")
    end },
})
of("np.nn.softmin", {
    args = { { "x", special = false } }, accepts = "floats ints", shapes = { { { 2, 3 } }, { { 4 } } },
    options = { {}, { axis = 0 } }, oracle = "scipy.special.softmax(-x, o.get('axis', -1))",
    within = CLOSE, divided = CLOSE, without = { special = "they are those of np.softmax" },
})

finish()
