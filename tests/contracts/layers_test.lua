--- layers_test.lua: contracts of np.nn's layers, of the functions that they are made of, and of initializers
-- (tests/lib/contracts.lua). A layer is called with its parameters as arguments.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, same, elsewhere = require "tests.lib.contracts" "layers"

local nn = np.nn

-- Squares of f32 and f64 may leave the range, as in PyTorch and JAX; those of halves may not.
local function large(dtype)
    local value = ({ f16 = 65504, bf16 = 1e15, f32 = 1e15, f64 = 1e150 })[dtype]
    return value and { 0 / 0, math.huge, value }
end

--- One special value for parameters.
local function nan(dtype) return dtype:find "f" and { 0 / 0 } or { 1 } end
local SCALE, BIAS = { "scale", from = 0.5, to = 2, special = nan }, { "bias", special = nan }

--- Of integers that are computed with as f32 nothing large: the softmax of their products would tell roundings apart.
local function small(dtype) return large(dtype) or { 0, 1 } end

local NORMS = { f64 = "scaled 4e-15", f32 = "scaled 1e-6", f16 = "ulp 1", bf16 = "ulp 1" }
local SUMS = { f64 = "scaled 4e-15", f32 = "scaled 1e-6", f16 = "scaled 2e-3", bf16 = "scaled 2e-2" } -- two roundings

--- The first test of a layer's option dtype, which only init reads.
local function makes(build, ...)
    local inputs = { ... }
    return function()
        for _, dtype in ipairs { "f64", "f32", "bf16", "f16" } do
            local params = build { dtype = dtype }:init(np.random.key(0), unpack(inputs))
            for _, leaf in ipairs(np.tree.leaves(params)) do check.equal(leaf.dtype, dtype) end
        end
    end
end
local UNSEEN = { dtype = "it is for init: the test `dtype`", init = "it is for init: the test `init`",
                 bias_init = "it is for init: the test `init`" }

--- Statistics of halves and small integers are f32.
local function STATS(dtype) return (dtype:find "64" or dtype == "c128") and dtype ~= "c64" and "f64" or "f32" end

-- ---- Functions ------------------------------------------------------------------------------------------------------

of("np.nn.standardize", {
    args = { { "x", special = large } }, accepts = "floats ints bool complex",
    within = NORMS, divided = NORMS,
    shapes = { { { 2, 4 } }, { { 5 } }, { { 2, 3, 2 } }, { { 0, 3 } }, { { 1 } } },
    options = { {}, { axis = 0 }, { epsilon = 0.5 }, { axis = { 0, 1 } } },
    call = function(f, o, x)
        return f(x, x.ndim == 1 and type(o.axis) == "table" and { axis = 0 } or next(o) and o or nil)
    end,
    oracle = "standardized(real(x), o.get('axis', -1) if x.ndim > 1 else 0, o.get('epsilon', 1e-5))",
})
of("np.nn.rms_norm", {
    args = { { "x", special = large }, SCALE }, accepts = "floats ints bool complex",
    within = NORMS, divided = NORMS,
    shapes = { { { 2, 4 }, { 4 } }, { { 5 }, { 5 } }, { { 0, 3 }, { 3 } }, { { 3 }, {} } },
    options = { {}, { epsilon = 0.5 }, { axis = 0 }, { return_stats = true } },
    gives = { "real", STATS },
    oracle = "rms_norm(real(x), scale, o)",
})
of("np.nn.layer_norm", {
    args = { { "x", special = large }, SCALE, BIAS }, accepts = "floats ints bool",
    within = NORMS, divided = NORMS,
    shapes = { { { 2, 4 }, { 4 }, { 4 } }, { { 2, 3, 2 }, { 2 }, {} }, { { 5 }, { 5 }, { 5 } } },
    options = { {}, { epsilon = 0.5, axis = { 0, 1 } }, { return_stats = true } },
    call = function(f, o, x, scale, bias)
        local given = x.ndim == 1 and o.axis and { epsilon = 0.5, axis = 0 } or next(o) and o or nil
        return f(x, scale, bias, given)
    end,
    gives = { "real", STATS, STATS },
    oracle = "layer_norm(real(x), scale, bias, o)",
})
of("np.nn.instance_norm", {
    args = { { "x", special = large }, SCALE, BIAS }, accepts = "floats ints",
    within = NORMS, divided = NORMS,
    shapes = { { { 1, 3, 4 }, { 4 }, { 4 } }, { { 2, 3, 2, 2 }, { 2 }, { 2 } } },
    options = { {}, { epsilon = 0.5 }, { layout = "first" } },
    call = function(f, o, x, scale, bias)
        local given = next(o) and { epsilon = o.epsilon, nonsense = o.nonsense } or nil
        if not o.layout then return f(x, scale, bias, given) end
        given.layout = "NC" .. ("DHW"):sub(-(x.ndim - 2))
        return np.moveaxis(f(np.moveaxis(x, -1, 1), scale, bias, given), 1, -1)
    end,
    oracle = "standardized(real(x), tuple(range(1, x.ndim - 1)), o.get('epsilon', 1e-5)) * scale + bias",
    refuses = { { "images", function() nn.instance_norm(np.ones { 1, 3 }) end } },
})
of("np.nn.group_norm", {
    args = { { "x", special = large }, SCALE, BIAS }, accepts = "floats ints bool",
    within = NORMS, divided = NORMS,
    shapes = { { { 1, 3, 4 }, { 4 }, { 4 } }, { { 2, 6 }, { 6 }, { 6 } }, { { 1, 2, 4 }, {}, {} } },
    options = { {}, { epsilon = 0.5 }, { layout = "first" } },
    call = function(f, o, x, scale, bias)
        if not o.layout or x.ndim == 2 then
            return f(x, 2, scale, bias, (o.epsilon or o.nonsense) and o or nil)
        end
        local given = { layout = "NC" .. ("DHW"):sub(-(x.ndim - 2)) }
        return np.moveaxis(f(np.moveaxis(x, -1, 1), 2, scale, bias, given), 1, -1)
    end,
    oracle = "group_norm(x, 2, o.get('epsilon', 1e-6)) * scale + bias",
    refuses = { { "groups", function() nn.group_norm(np.ones { 1, 3 }, 2) end } },
})
of("np.nn.dense", {
    args = { "x", { "w", special = nan }, { "b", special = nan } }, accepts = "floats ints complex",
    gives = "same", within = SUMS,
    shapes = { { { 2, 3 }, { 3, 2 }, { 2 } }, { { 3 }, { 3, 2 }, {} }, { { 0, 3 }, { 3, 2 }, { 2 } } },
    oracle = "product(x, w) + b", vmapped = SUMS, divided = SUMS,
})
same("np.nn.linear", "np.nn.dense")
of("np.nn.flatten", {
    args = { "x" }, accepts = "floats ints bool complex", gives = "same", within = "exact",
    shapes = { { { 2, 3 } }, { { 2, 3, 2 } }, { { 4 } }, { { 0, 3 } } },
    oracle = "x.reshape(x.shape[0], int(np.prod(x.shape[1:])))",
    refuses = { { "at least 1 axis", function() nn.flatten(np.array(1)) end } },
})

--- The options of attention by name: arrays that JSON has no word for.
local function attention_options(o, q, k)
    local n, m = q:dim(-3), k:dim(-3)
    local given = {}
    for key, value in pairs(o) do given[key] = value end
    given.mask, given.bias = nil, nil
    if o.lengths then given.key_value_seq_lengths, given.query_seq_lengths, given.lengths = { 3 }, { 1 }, nil end
    if o.mask then
        given.mask = np.array((np.arange(n):reshape(n, 1) + np.arange(m)) % 2):eq(0):logical_and(
            np.arange(n):reshape(n, 1):gt(0))
    end
    if o.bias then given.bias = (np.arange(n):reshape(n, 1) - np.arange(m)):astype(q.dtype) * 0.25 end
    return given
end

local ONES = np.ones { 2, 1, 2 }

of("np.nn.dot_product_attention", {
    args = { { "q", special = small, table = false }, { "k", special = small, table = false }, { "v", special = nan } },
    accepts = "floats ints", within = NORMS,
    shapes = { { { 3, 2, 4 }, { 5, 2, 4 }, { 5, 2, 3 } }, { { 3, 2, 4 }, { 5, 1, 4 }, { 5, 1, 3 } },
               { { 1, 2, 2, 3 }, { 1, 4, 2, 3 }, { 1, 4, 2, 2 } } },
    options = { {}, { is_causal = true }, { scale = 0.5 }, { mask = true }, { bias = true },
                { mask = true, is_causal = true }, { softcap = 1.5, bias = true }, { local_window_size = 1 },
                { local_window_size = { 0, 2 }, offset = 1 }, { is_causal = true, offset = 2 }, { lengths = true },
                { scores = "products" }, { scores = "capped", softcap = 2 }, { scores = "weights" } },
    call = function(f, o, q, k, v)
        if o.lengths and q.ndim == 3 then -- lengths are of a batch
            local y = f(q[np.newaxis], k[np.newaxis], v[np.newaxis], attention_options(o, q, k))
            return y[0]
        end
        return f(q, k, v, attention_options(o, q, k))
    end,
    unseen = { key_value_seq_lengths = "the case `lengths`", query_seq_lengths = "the case `lengths`" },
    oracle = "attention(q, k, v, o)", vmapped = SUMS, divided = SUMS,
    refuses = {
        { "bools", function() nn.dot_product_attention(ONES, ONES, ONES, { mask = np.zeros { 2, 2 } }) end },
        { "do not fit", function() nn.dot_product_attention(ONES, np.ones { 2, 1, 3 }, ONES) end },
        { "mask", function() nn.dot_product_attention(ONES, ONES, ONES, { mask = "causal" }) end },
        { "softcap", function() nn.dot_product_attention(ONES, ONES, ONES, { softcap = 0 }) end },
        { "scores", function() nn.dot_product_attention(ONES, ONES, ONES, { scores = "all" }) end },
        { "query_seq_lengths", function()
            nn.dot_product_attention(ONES, ONES, ONES, { query_seq_lengths = { 1, 2 } })
        end },
    },
    also = { ["np.nn.dot_product_attention: bias and mask of other kinds"] = function()
        local f, mask = nn.dot_product_attention, { { true, false }, { true, true } }
        local x = np.random.normal(np.random.key(0), { 2, 1, 2 }, { dtype = "bf16" })
        local want = f(x, x, x, { mask = np.array(mask) }):totable()
        check.equal(f(x, x, x, { mask = mask }):totable(), want)
        check.equal(f(x, x, x, { mask = np.array({ { 1, 0 }, { 1, 1 } }, { dtype = "u8" }) }):totable(), want)
        check.equal(f(x, x, x, { bias = np.zeros({ 2, 2 }, { dtype = "f64" }) }).dtype, "bf16")
        check.equal(f(x, x, x, { bias = { { 0, -math.huge }, { 0, 0 } } }):totable(), want)
    end },
})

of("np.nn.rotary_tables", {
    args = { "x" }, accepts = "f64 f32 i32", gives = function(dtype) return dtype == "f64" and "f64" or "f32" end,
    shapes = { { { 3 } }, { { 2, 3 } }, { {} } }, options = { {}, { base = 500 } },
    call = function(f, o, x) return f(x, 6, next(o) and o or nil) end, special = false,
    oracle = "[f(x[..., None] * o.get('base', 10000.0) ** (-np.arange(3) / 3)) for f in (np.cos, np.sin)]",
    within = { f64 = "scaled 1e-15", f32 = "scaled 1e-6" },
    without = { special = "angles that are not finite", integers = "the base is a number" },
    refuses = { { "even", function() nn.rotary_tables(np.arange(2), 3) end },
                { "out of memory", function() nn.rotary_tables(np.arange(2), 2 ^ 44) end } },
})
of("np.nn.rotary_embedding", {
    args = { { "x", special = false }, { "c", special = false }, { "s", special = false } },
    accepts = "floats", gives = "same", within = NORMS, divided = NORMS, vmapped = NORMS,
    shapes = { { { 3, 2, 4 }, { 3, 2 }, { 3, 2 } }, { { 2, 3, 1, 6 }, { 2, 3, 2 }, { 2, 3, 2 } } },
    options = { {}, { interleaved = true } }, oracle = "rotary(x, c, s, o)",
    without = { special = "sums of products", numbers = "tables of np.nn.rotary_tables" },
    refuses = { { "do not fit", function()
        nn.rotary_embedding(np.ones { 3, 1, 2 }, np.ones { 3, 2 }, np.ones { 3, 2 })
    end } },
})
of("np.nn.kv_append", {
    args = { "a", "b" }, accepts = "floats", gives = { "same", "same", "i32" }, within = "exact", special = "together",
    shapes = { { { 2, 2, 1, 3 }, { 2, 2, 1, 3 } }, { { 2, 1, 3 }, { 2, 1, 3 } } },
    call = function(f, o, a, b)
        local dims = a.shape
        dims[#dims - 2] = 5
        local cache = f(nn.kv_cache(dims, { dtype = a.dtype, nonsense = next(o) }), a, b)
        cache = f(cache, b, a)
        return cache.key, cache.value, cache.length
    end,
    oracle = "cached(a, b)", without = { numbers = "keys and values are arrays" },
    refuses = { { "do not fit", function()
        nn.kv_append(nn.kv_cache { 2, 1, 1 }, np.ones { 3, 1, 1 }, np.ones(1))
    end } },
    also = { ["np.nn.kv_append: decoding by turns is attention to all"] = function()
        local key = np.random.key
        local q, k, v = np.random.normal(key(0), { 1, 6, 4, 8 }), np.random.normal(key(1), { 1, 6, 2, 8 }),
                        np.random.normal(key(2), { 1, 6, 2, 8 })
        local want = nn.dot_product_attention(q, k, v, { is_causal = true })
        local step = np.jit(function(cache, a, b, c)
            cache = nn.kv_append(cache, b, c)
            local o = { is_causal = true, offset = cache.length - 1, key_value_seq_lengths = cache.length }
            return cache, nn.dot_product_attention(a, cache.key, cache.value, o)
        end)
        local cache = nn.kv_cache { 1, 9, 2, 8 }
        local y
        for t = 0, 5 do
            local at = { {}, { t, t + 1 } }
            cache, y = step(cache, q[at], k[at], v[at])
            check.ok(np.allclose(y, want[at], { rtol = 1e-5, atol = 1e-6 }), "turn " .. t)
        end
    end },
})
elsewhere("np.nn.kv_cache", "tests/contracts/layers_test.lua", "np.nn.kv_append's contract begins with it")

-- ---- Layers ---------------------------------------------------------------------------------------------------------

--- A layer with the options o, without those that the case is for.
local function layer(f, o, ...)
    local given = {}
    for key, value in pairs(o) do given[key] = value end
    for _, key in ipairs { ... } do given[key] = nil end
    return f(next(given) and given or nil)
end

of("np.nn.Dense", {
    args = { "x", { "w", special = nan }, { "b", special = nan } }, accepts = "floats complex",
    gives = "same", within = SUMS,
    shapes = { { { 2, 3 }, { 3, 2 }, { 2 } }, { { 3 }, { 3, 2 }, { 2 } } }, options = { {}, { bias = false } },
    call = function(f, o, x, w, b)
        return f(3, 2, next(o) and o or nil)({ w = w, b = o.bias ~= false and b or nil }, x)
    end,
    oracle = "product(x, w) + (b if o.get('bias', True) else 0 * b)", unseen = UNSEEN,
    vmapped = SUMS, divided = SUMS,
    without = { numbers = "parameters are arrays" },
    also = {
        ["np.nn.Dense: dtype"] = makes(function(o) return nn.Dense(2, 3, o) end),
        ["np.nn.Dense: init"] = function()
            local params = nn.Dense(2, 3, { init = nn.ones, bias_init = nn.ones }):init(np.random.key(0))
            check.equal({ params.w:sum():item(), params.b:totable() }, { 6, { 1, 1, 1 } })
            check.equal(nn.Dense(2, 3, { bias = false }):init(np.random.key(0)).b, nil)
        end,
        ["np.nn.Dense: errors name it"] = function()
            local layer_, w, b = nn.Dense(3, 2), np.ones { 3, 2 }, np.ones(2)
            for pattern, f in pairs {
                ["np.nn.Dense: argument 2 must be an array"] = function() layer_({ w = w, b = b }, "x") end,
                ["np.nn.Dense: needs an input of at least 1 axis"] = function() layer_({ w = w, b = b }, 3) end,
                ["np.nn.Dense: its parameter w of shape %(3, 2%) is for 3 features, got x of shape %(4,%)"] = function()
                    layer_({ w = w, b = b }, np.ones(4))
                end,
                ["np.nn.Dense: its parameter w of shape %(3, 2%) gives 2 features, got b of shape %(7,%)"] = function()
                    layer_({ w = w, b = np.ones(7) }, np.ones(3))
                end,
                ["np.nn.dense: w of shape %(3, 2%) is for 3 features, got x of shape %(1, 2%)"] = function()
                    nn.dense(np.ones { 1, 2 }, w)
                end,
                ["np.nn.dense: argument 1 must be an array"] = function() nn.dense(print, w) end,
                ["np.nn.Embedding: argument 2 %(ids%) must be integers, got dtype f32"] = function()
                    nn.Embedding(3, 2)({ table = w }, np.ones(2))
                end,
            } do
                check.raises(f, pattern)
            end
        end,
    },
})
of("np.nn.Dropout", {
    args = { "x", { "key", dtype = "u32", make = function(random) return np.random.key(random(1000)) end } },
    accepts = "floats ints", gives = function(dtype) return dtype:find "f" and dtype or np.result_type(dtype, 0.5) end,
    shapes = { { { 2, 5 }, { 2 } }, { { 7 }, { 2 } }, { { 0 }, { 2 } }, { {}, { 2 } } },
    options = { { rate = 0.5 }, { rate = 0.25 }, { rate = 0 } },
    call = function(f, o, x, key) return f(o.rate, o.nonsense and { nonsense = o.nonsense })({}, x, key) end,
    oracle = "real(x) if o['rate'] == 0 else np.where(jax.random.bernoulli(jax.random.wrap_key_data("
             .. "key.astype(np.uint32)), np.float32(1 - o['rate']), x.shape), real(x) / (1 - o['rate']), 0)",
    without = { numbers = "a layer takes arrays" },
})
of("np.nn.Embedding", {
    args = { "table", { "ids", dtype = "i32", from = 0, to = 3 } }, accepts = "floats ints", gives = "same",
    within = "exact",
    shapes = { { { 4, 3 }, { 5 } }, { { 4, 3 }, { 2, 2 } }, { { 4, 1 }, {} }, { { 4, 2 }, { 0 } } },
    call = function(f, o, rows, ids) return f(4, rows:dim(1), next(o) and o or nil)({ table = rows }, ids) end,
    oracle = "table[ids]", unseen = UNSEEN, without = { numbers = "parameters are arrays" },
    also = {
        ["np.nn.Embedding: dtype"] = makes(function(o) return nn.Embedding(2, 3, o) end),
        ["np.nn.Embedding: ids that the table does not have"] = function()
            local embed = nn.Embedding(3, 2)
            local params = embed:init(np.random.key(0))
            local ids = np.array({ 2, 3, -3, -4 }, { dtype = "i32" })
            for _, f in ipairs { embed, np.jit(function(p, v) return embed(p, v) end) } do
                check.equal(np.isnan(f(params, ids)[{ {}, 0 }]):totable(), { false, true, false, true })
            end
        end,
        ["np.nn.Embedding: init"] = function()
            local params = nn.Embedding(2, 3, { init = nn.ones }):init(np.random.key(0))
            check.equal(params.table:sum():item(), 6)
        end,
    },
})
of("np.nn.LayerNorm", {
    args = { { "x", special = large }, SCALE, BIAS }, accepts = "floats",
    within = NORMS, divided = NORMS,
    shapes = { { { 2, 4 }, { 4 }, { 4 } }, { { 5 }, { 5 }, { 5 } }, { { 0, 3 }, { 3 }, { 3 } } },
    options = { {}, { epsilon = 0.5 } },
    call = function(f, o, x, scale, bias) return layer(f, o)({ scale = scale, bias = bias }, x) end,
    oracle = "standardized(x, -1, o.get('epsilon', 1e-6)) * scale + bias", unseen = UNSEEN,
    without = { numbers = "parameters are arrays" },
    also = {
        ["np.nn.LayerNorm: dtype"] = makes(nn.LayerNorm, np.ones(4)),
        ["np.nn.LayerNorm: halves with f32 parameters"] = function()
            local x = np.array({ { 1000, -1000, 600, 0 }, { 0, 0, 0, 0 } }, { dtype = "f16" })
            local block = nn.LayerNorm { epsilon = 1e-12 }
            local params = block:init(np.random.key(0), x)
            local got, want = block(params, x), block(params, x:astype "f32")
            check.equal({ got.dtype, got:totable() }, { "f32", want:totable() })
            local halves = np.tree.map(function(p) return p:astype "f16" end, params)
            check.equal(block(halves, x):totable(), want:astype "f16":totable())
        end,
    },
})
local MOMENTS = { { { 3, 4 }, { 4 }, { 4 }, { 4 }, { 4 } }, { { 2, 3, 2 }, { 2 }, { 2 }, { 2 }, { 2 } } }
of("np.nn.BatchNorm", {
    args = { { "x", special = large }, SCALE, BIAS, { "mean", special = nan },
             { "var", from = 0.1, to = 2, special = nan } },
    accepts = "floats", within = NORMS, divided = NORMS, shapes = MOMENTS, gives = "same",
    options = { {}, { training = false }, { epsilon = 0.5 }, { momentum = 0.75 } },
    call = function(f, o, x, scale, bias, mean, var)
        local params, moments = { scale = scale, bias = bias }, { mean = mean, var = var }
        local y, state = layer(f, o, "training")(params, x, moments, o.training)
        return y, state.mean, state.var
    end,
    oracle = "batch_norm(x, scale, bias, mean, var, o)", unseen = UNSEEN,
    without = { numbers = "parameters are arrays" },
    also = {
        ["np.nn.BatchNorm: dtype"] = makes(nn.BatchNorm, np.ones { 2, 3 }),
        ["np.nn.BatchNorm: halves with f32 parameters"] = function()
            local block, x = nn.BatchNorm(), np.array({ { 1000 }, { -1000 } }, { dtype = "f16" })
            local params = block:init(np.random.key(0), x)
            local y, state = block(params, x, block:state(x))
            local want, wanted = block(params, x:astype "f32", block:state(x))
            check.equal({ y:totable(), state.var:totable() }, { want:totable(), wanted.var:totable() })
            check.ok(state.var[0]:item() < 2e4, "the variance of 1000 and -1000 is 1e6")
        end,
    },
})

local SQUARE = { 4, 4 }
local LAYERS = { f64 = "scaled 1e-13", f32 = "scaled 2e-6", f16 = "scaled 4e-3", bf16 = "scaled 3e-2" } -- each rounds
of("np.nn.MultiHeadAttention", {
    args = { "x", "c", "q", "k", "v", "w", "b" }, accepts = "floats", gives = "same",
    shapes = { { { 3, 4 }, { 2, 4 }, SQUARE, SQUARE, SQUARE, SQUARE, { 4 } },
               { { 2, 3, 4 }, { 2, 3, 4 }, SQUARE, SQUARE, SQUARE, SQUARE, { 4 } } },
    options = { {}, { context = true }, { mask = true }, { bias = false }, { features = 4 }, { is_causal = true },
                { kv_heads = 1 }, { is_causal = true, kv_heads = 1, mask = true },
                { return_weights = true, context = true } },
    call = function(f, o, x, c, q, k, v, w, b)
        local block = layer(function(given) return f(2, given) end, o, "context", "mask")
        local bias, mask = o.bias ~= false and b or nil, nil
        if o.mask then
            local n = x:dim(-2)
            mask = np.tri(n, n, { dtype = "bool" }):logical_and(np.arange(n):reshape(n, 1):gt(0)) -- the first sees none
        end
        local function dense(matrix) return { w = matrix, b = bias } end
        local function half(matrix) -- of the one head that keys and values have
            if not o.kv_heads then return dense(matrix) end
            return { w = matrix[{ {}, { 0, 2 } }], b = bias and bias[{ { 0, 2 } }] }
        end
        local params = { query = dense(q), key = half(k), value = half(v), out = dense(w) }
        return block(params, x, o.context and c or nil, mask)
    end,
    oracle = "multi_head(x, c, q, k, v, w, b, o)",
    unseen = { dtype = UNSEEN.dtype, dropout = "it is random: the test `dropout`" },
    within = LAYERS, vmapped = LAYERS, divided = LAYERS,
    without = { numbers = "parameters are arrays", special = "one element that is not finite makes all so" },
    refuses = { { "option 'kv_heads' must divide the 4 heads, got 3", function()
        nn.MultiHeadAttention(4, { kv_heads = 3 })
    end }, { "bools", function()
        local block, x = nn.MultiHeadAttention(1), np.ones { 2, 2 }
        block(block:init(np.random.key(0), x), x, nil, np.array { { 0, -math.huge }, { 0, 0 } })
    end } },
    also = {
        ["np.nn.MultiHeadAttention: dtype"] = makes(function(o) return nn.MultiHeadAttention(2, o) end,
                                                    np.ones { 3, 4 }),
        ["np.nn.MultiHeadAttention: shapes of shared heads"] = function()
            local params = nn.MultiHeadAttention(4, { kv_heads = 2 }):init(np.random.key(0), np.ones { 3, 8 })
            check.equal({ params.query.w.shape, params.key.w.shape, params.value.b.shape, params.out.w.shape },
                        { { 8, 8 }, { 8, 4 }, { 4 }, { 8, 8 } })
        end,
        ["np.nn.MultiHeadAttention: dropout"] = function()
            local options = { dropout = 0.25, return_weights = true }
            local block, plain = nn.MultiHeadAttention(2, options), nn.MultiHeadAttention(2, { return_weights = true })
            local x, key = np.random.normal(np.random.key(1), { 3, 20, 8 }), np.random.key(2)
            local params = block:init(np.random.key(0), x)
            local y, weights = plain(params, x)
            local z, full = block(params, x)
            check.equal({ z:totable(), full:totable() }, { y:totable(), weights:totable() }, "nothing without a key")
            local _, thin = block(params, x, nil, nil, key)
            local kept = thin:gt(0)
            check.ok(np.allclose(thin, np.where(kept, weights / 0.75, 0), { rtol = 1e-6 }))
            check.close(np.mean(kept):item(), 0.75, 0.05)
            local jitted = np.jit(function(p, v, k) return (block(p, v, nil, nil, k)) end)
            check.ok(np.allclose(jitted(params, x, key), (block(params, x, nil, nil, key)), { atol = 1e-6 }))
            local model = nn.Sequential { block, nn.Dense(3) }
            local own = model:init(np.random.key(3), x)
            check.ok(not np.array_equal(model(own, x, key), model(own, x)), "np.nn.Sequential gives it a key")
            check.raises(function() block(params, x, nil, nil, 3) end, "argument 5 %(key%) must be a key")
            check.raises(function() nn.MultiHeadAttention(2, { dropout = 1 }) end, "must be a number in %[0, 1%)")
        end,
        ["np.nn.MultiHeadAttention: errors name the layer"] = function()
            local block, x = nn.MultiHeadAttention(2), np.ones { 3, 4 }
            local params = block:init(np.random.key(0), x)
            local function fails(pattern, ...)
                local given = { ... }
                check.raises(function() block(params, unpack(given, 1, 2)) end, "np.nn.MultiHeadAttention: " .. pattern)
            end
            fails("its parameter query.w of shape %(4, 4%) is for 4 features, got x of shape %(3, 6%)",
                  np.ones { 3, 6 })
            fails("its parameter key.w of shape %(4, 4%) is for 4 features, got x of shape %(2, 5%)", x,
                  np.ones { 2, 5 })
            fails("argument 2 must be an array", "x")
        end,
        ["np.nn.MultiHeadAttention: a row that sees no key has gradients"] = function()
            local block, x = nn.MultiHeadAttention(1), np.random.normal(np.random.key(3), { 3, 4 })
            local params = block:init(np.random.key(0), x)
            local mask = np.array { { true, false, false }, { false, false, false }, { true, true, true } }
            local g = np.grad(function(p) return block(p, x, nil, mask):sum() end)(params)
            for _, leaf in ipairs(np.tree.leaves(g)) do check.ok(np.all(np.isfinite(leaf)):item(), tostring(leaf)) end
        end,
    },
})
elsewhere("np.nn.Block np.nn.Sequential block.apply block.hybridize block.init block.initialize",
          "tests/stdlib/block_test.lua", "they run the functions of others")
elsewhere("np.nn", "tests/contracts/layers_test.lua", "a table of functions")

of("np.nn.lora", {
    args = { { "w" }, { "a" }, { "b" } }, accepts = "f32 f64", gives = "same",
    shapes = { { { 3, 4 }, { 3, 2 }, { 2, 4 } }, { { 1, 1 }, { 1, 2 }, { 2, 1 } }, { { 5, 2 }, { 5, 2 }, { 2, 2 } } },
    options = { { rank = 2, alpha = 3 }, { rank = 2, which = "kernel$" } },
    within = { f64 = "scaled 4e-15", f32 = "scaled 1e-6" }, divided = { f64 = "scaled 4e-15", f32 = "scaled 1e-6" },
    call = function(f, o, w, a, b)
        return f(o):merge({ { kernel = w } }, { ["[1].kernel"] = { a = a, b = b } })[1].kernel
    end,
    oracle = "w + o.get('alpha', 16) / 2 * (a @ b)", without = { numbers = "trees have arrays" },
    unseen = { dtype = "the case of quantized weights" },
    also = {
        ["np.nn.lora: a few parameters learn what all would"] = function()
            local dense = nn.Dense(6, 5)
            local params = dense:init(np.random.key(1))
            local x = np.random.normal(np.random.key(2), { 40, 6 })
            local want = x:matmul(params.w + np.outer(np.arange(6) / 6, np.arange(5) - 2)) + params.b
            local lora = nn.lora { rank = 1, alpha = 1, which = "w$" }
            local adapters = lora:init(np.random.key(3), params)
            check.equal(dense(lora:merge(params, adapters), x):totable(), dense(params, x):totable())
            local opt = np.optim.adam { lr = 0.1 }
            local step = np.jit(function(a, state)
                local loss, g = np.value_and_grad(function(v)
                    return nn.mse(dense(lora:merge(params, v), x), want)
                end)(a)
                a, state = opt:update(g, state, a)
                return a, state, loss
            end)
            local state, first, last = opt:init(adapters), nil, nil
            for _ = 1, 300 do
                adapters, state, last = step(adapters, state)
                first = first or last
            end
            check.ok(last:item() < first:item() / 1000, tostring(last))
        end,
        ["np.nn.lora: what is adapted, and what cannot be"] = function()
            local params = { a = np.ones { 2, 3 }, b = { np.ones(3), np.ones { 3, 3 } } }
            local function paths(options)
                local found = {}
                for path in pairs(nn.lora(options):init(np.random.key(0), params)) do found[#found + 1] = path end
                table.sort(found)
                return table.concat(found, " ")
            end
            check.equal(paths(), "a b[2]")
            check.equal(paths { which = "^b%[2" }, "b[2]")
            check.equal(paths { which = function(path) return path == "a" end }, "a")
            check.raises(function() paths { which = "^b" } end, "only matrices of floats can be adapted, and 'b%[1%]'")
            check.raises(function() paths { which = "none" } end, "no parameter is adapted")
            check.raises(function() paths { which = function() end } end, "true or false, got nothing")
            check.raises(function() paths { rank = 0 } end, "rank")
            local lora = nn.lora {}
            local adapters = lora:init(np.random.key(0), params)
            check.raises(function() lora:merge({ a = params.a }, adapters) end, "adapters are of other parameters: 1")
            check.raises(function() nn.lora { dtype = "i32" } end, "'dtype' must be one of floats, got i32")
        end,
        ["np.nn.lora: quantized weights stay, and a model of them is tuned"] = function()
            local model = nn.Sequential { nn.Dense(32, 16), nn.tanh, nn.Dense(16, 4) }
            local x = np.random.normal(np.random.key(2), { 24, 32 })
            for bits, dtype in pairs { [8] = "f32", [4] = "bf16" } do
                local base = nn.quantize_weights(model:init(np.random.key(1)), { bits = bits, block = 16 })
                local before = np.tree.map(function(leaf) return leaf:totable() end, base)
                local change = np.array { 1, -1, 0.5, 0 } * np.tanh(x[{ {}, { 0, 1 } }])
                local want = model(nn.dequantize_weights(base), x) + change
                local lora = nn.lora { rank = 2, alpha = 2, dtype = dtype }
                local adapters = lora:init(np.random.key(3), base)
                check.equal({ adapters["[1].w"].a.dtype, adapters["[3].w"].b.shape }, { dtype, { 2, 4 } })
                check.equal(model(lora:attach(base, adapters), x):totable(), model(base, x):totable())
                local function loss_of(method)
                    return function(v) return nn.mse(model(lora[method](lora, base, v), x), want) end
                end
                local opt = np.optim.adam { lr = 0.03 }
                local step = np.jit(function(a, state)
                    local loss, g = np.value_and_grad(loss_of "attach")(a)
                    a, state = opt:update(g, state, a)
                    return a, state, loss
                end)
                local state, first, last = opt:init(adapters), nil, nil
                for _ = 1, 120 do
                    adapters, state, last = step(adapters, state)
                    first = first or last
                end
                check.ok(last:item() < first:item() / 5, tostring(last))
                check.equal(np.tree.map(function(leaf) return leaf:totable() end, base), before)
                local near = bits == 8 and 1e-5 or 0.05 -- adapters of halves round between both products
                local merged = lora:merge(base, adapters)
                check.equal({ merged[1].w.dtype, merged[1].w.shape }, { "f32", { 32, 16 } })
                check.ok(np.allclose(model(merged, x), model(lora:attach(base, adapters), x), { atol = near }))
                local one, other = np.grad(loss_of "attach")(adapters), np.grad(loss_of "merge")(adapters)
                for _, path in ipairs { "[1].w", "[3].w" } do
                    check.ok(np.allclose(one[path].a, other[path].a, { atol = near }), path)
                    check.ok(np.allclose(one[path].b, other[path].b, { atol = near }), path)
                end
                check.raises(function() lora:attach({ base[1] }, adapters) end, "other parameters: 1 have no matrix")
            end
        end,
    },
})
-- ---- Quantized numbers ----------------------------------------------------------------------------------------------

-- Powers of two: a quotient that is rounded lies on the same side of a half in f32 and f64.
local STEP = { "scale", grad = false, make = function(random, dims, dtype)
    local size, list = 1, {}
    for k = 1, #dims do size = size * dims[k] end
    for k = 1, size do list[k] = 2 ^ -random(5) end
    return np.reshape(np.array(list, { dtype = dtype:find "f" and dtype or "f32" }), dims)
end }
local QUANTIZED = { { { 4, 3 }, { 3 } }, { { 5 }, {} }, { { 2, 3, 2 }, { 2 } } }

of("np.nn.quantize", {
    args = { { "x", special = function(dtype)
        return dtype:find "f" and { 0 / 0, math.huge, -math.huge, 1e9, 0.5, 1.5, -0.5 } or { 0, 1, 127 }
    end }, STEP },
    accepts = "f32 f64 ints", shapes = QUANTIZED, within = "exact",
    options = { {}, { dtype = "u8", zero = 100 }, { dtype = "i16", zero = -7, axis = 0 }, { dtype = "u16" },
                { dtype = "i32" }, { dtype = "u32" } },
    gives = function(_, o) return o.dtype or "i8" end,
    call = function(f, o, x, scale)
        local given = { dtype = o.dtype, axis = o.axis, nonsense = o.nonsense }
        if not o.axis or x.ndim < 2 then
            if o.axis then scale, given.axis = np.reshape(scale, {}), nil end
            return f(x, scale, o.zero, next(given) and given or nil)
        end
        return np.moveaxis(f(np.moveaxis(x, -1, 0), scale, o.zero, given), 0, -1)
    end,
    oracle = "quantized(x, scale, o)",
    without = { numbers = "scales are made", derivatives = "the results are integers" },
    refuses = { { "an integer dtype of up to 32 bits, got f32", function()
                    nn.quantize(np.ones(2), 1, 0, { dtype = "f32" })
                end },
                { "argument 2 %(scale%) must have one element for each place of axis 1", function()
                    nn.quantize(np.ones { 2, 3 }, np.ones(2), nil, { axis = 1 })
                end } },
})
of("np.nn.dequantize", {
    args = { { "q", from = 0, to = 100 }, STEP }, accepts = "ints", shapes = QUANTIZED,
    within = { f32 = "rel 1e-6" }, gives = "f32", special = false,
    options = { {}, { zero = 3 }, { zero = 100, axis = 0 } },
    call = function(f, o, q, scale)
        if not o.axis or q.ndim < 2 then
            if o.axis then scale = np.reshape(scale, {}) end
            return f(q, scale, o.zero, o.nonsense and { nonsense = o.nonsense })
        end
        return np.moveaxis(f(np.moveaxis(q, -1, 0), scale, o.zero, { axis = 0, nonsense = o.nonsense }), 0, -1)
    end,
    oracle = "(q.astype(np.int64) - o.get('zero', 0)) * scale",
    without = { numbers = "scales are made", special = "integers have none", derivatives = "the argument is integers" },
})
of("np.nn.choose_qparams", {
    args = { { "x", special = false } }, accepts = "f32 f64", shapes = { { { 4, 3 } }, { { 5 } }, { { 2, 1 } } },
    within = { f64 = "rel 4e-15", f32 = "rel 1e-6" },
    options = { {}, { symmetric = false }, { dtype = "u8", symmetric = false, axis = -1 },
                { axis = 0, dtype = "i16" }, { dtype = "u8" }, { axis = 0, dtype = "u16" } },
    gives = { "same", "i32" },
    call = function(f, o, x)
        local scale, zero = f(x, next(o) and o or nil)
        return scale, zero:astype "i32"
    end,
    oracle = "qparams(x, o)",
    without = { special = "a range with NaN or infinity is none", derivatives = "rounded, and the zero is an integer" },
    also = { ["np.nn.choose_qparams: what is quantized comes back within half a step"] = function()
        local w = np.random.normal(np.random.key(0), { 16, 8 })
        for _, o in ipairs { {}, { axis = 1 }, { axis = 0, dtype = "u8", symmetric = false }, { dtype = "i16" },
                             { dtype = "u8" }, { dtype = "u16", axis = 1 } } do
            local scale, zero = nn.choose_qparams(w, o)
            local q = nn.quantize(w, scale, zero, { axis = o.axis, dtype = o.dtype })
            check.equal({ zero.dtype, q.dtype }, { o.dtype or "i8", o.dtype or "i8" })
            local off = np.abs(nn.dequantize(q, scale, zero, { axis = o.axis }) - w):max():item()
            check.ok(off <= scale:max():item() * 0.5001, off)
        end
        local scale, zero = nn.choose_qparams(np.zeros(3), { symmetric = false })
        check.equal({ scale:item(), nn.quantize(np.zeros(3), scale, zero):totable() },
                    { 1, { zero:item(), zero:item(), zero:item() } })
    end, ["np.nn.choose_qparams: a range beyond the dtype"] = function()
        for dtype, most in pairs { f32 = 3e38, f64 = 1.5e308, f16 = 6e4 } do
            local x = np.array({ -most, most / 2, most }, { dtype = dtype })
            local scale, zero = nn.choose_qparams(x, { symmetric = false })
            check.close(scale:item() / (most / 127.5), 1, 1e-3, dtype)
            local back = nn.dequantize(nn.quantize(x, scale, zero), scale, zero)
            check.ok((np.abs(back / most - x / most):max()):item() < 0.005, dtype)
        end
    end },
})

of("np.nn.matmul_integer", {
    args = { { "a" }, { "b" } }, accepts = "i8 u8", gives = "i32", within = "exact", special = false,
    shapes = { { { 2, 5 }, { 5, 3 } }, { { 3 }, { 3 } }, { { 2, 2, 4 }, { 4, 2 } }, { { 3, 0 }, { 0, 2 } } },
    options = { {}, { a_zero = 3 }, { a_zero = 1, b_zero = 100 } },
    call = function(f, o, a, b) return f(a, b, next(o) and o or nil) end,
    oracle = "integer_product(a, b, o)",
    without = { special = "bytes have none", derivatives = "the arguments are integers",
                numbers = "bytes are said by their dtype" },
    refuses = { { "argument 2 %(b%) must be of dtype i8 or u8, got i32", function()
                    nn.matmul_integer(np.ones({ 2, 2 }, { dtype = "i8" }), np.ones({ 2, 2 }, { dtype = "i32" }))
                end },
                { "option 'a_zero' must be of dtype i8 or u8, got f32", function()
                    local x = np.ones({ 2, 2 }, { dtype = "i8" })
                    nn.matmul_integer(x, x, { a_zero = np.ones(2) })
                end },
                { "a_zero", function()
                    local x = np.ones({ 2, 2 }, { dtype = "u8" })
                    nn.matmul_integer(x, x, { a_zero = 256 })
                end } },
    also = { ["np.nn.matmul_integer: long sums are exact"] = function()
        local key, drawn = np.random.key(0), 0
        local function bytes(dims, dtype, extreme)
            drawn = drawn + 1
            local range = np.iinfo(dtype)
            local x = np.random.randint(np.random.fold_in(key, drawn), dims, range.min, range.max + 1)
            return (extreme and np.full(dims, extreme) or x):astype(dtype)
        end
        for _, k in ipairs { 257, 258, 259, 515, 1024, 1025, 2049, 33000, 70000 } do
            for _, dtypes in ipairs { { "u8", "u8" }, { "u8", "i8" }, { "i8", "i8" } } do
                for _, extreme in ipairs { false, true } do
                    local a = bytes({ 2, k }, dtypes[1], extreme and np.iinfo(dtypes[1]).min)
                    local b = bytes({ k, 3 }, dtypes[2], extreme and np.iinfo(dtypes[2]).min)
                    local zero = dtypes[1] == "u8" and extreme and 255 or nil
                    local expected = (a:astype "i32" - (zero or 0)):matmul(b:astype "i32")
                    check.ok(np.array_equal(nn.matmul_integer(a, b, { a_zero = zero }), expected),
                             k .. table.concat(dtypes, " "))
                end
            end
        end
        local a, zeros = bytes({ 3, 40 }, "u8"), np.array({ { 1 }, { 0 }, { 200 } }, { dtype = "u8" })
        check.ok(np.array_equal(nn.matmul_integer(a, a.T, { a_zero = zeros }),
                                (a:astype "i32" - zeros:astype "i32"):matmul(a.T:astype "i32")))
        -- With declared sizes the axis that is summed over has no slices.
        local f = np.jit(function(x, y) return nn.matmul_integer(x, y) end, { sizes = { { "m", "k" }, { "k", "n" } } })
        for _, k in ipairs { 3, 2000 } do
            local x, y = bytes({ 2, k }, "u8"), bytes({ k, 2 }, "u8")
            check.ok(np.array_equal(f(x, y), x:astype "i32":matmul(y:astype "i32")))
        end
    end },
})
of("np.nn.conv_integer", {
    args = { { "x" }, { "w" } }, accepts = "i8 u8", gives = "i32", within = "exact", special = false,
    shapes = { { { 2, 5, 3 }, { 2, 3, 4 } }, { { 1, 4, 4, 2 }, { 3, 2, 2, 1 } }, { { 1, 3, 1 }, { 1, 1, 2 } } },
    options = { {}, { padding = "VALID" }, { x_zero = 3, strides = 2 }, { x_zero = 1, w_zero = 100 } },
    call = function(f, o, x, w) return f(x, w, next(o) and o or nil) end,
    oracle = "integer_conv(x, w, o)",
    unseen = { input_dilation = "those of np.nn.conv", kernel_dilation = "those of np.nn.conv",
               groups = "those of np.nn.conv", layout = "those of np.nn.conv" },
    without = { special = "bytes have none", derivatives = "the arguments are integers",
                numbers = "bytes are said by their dtype" },
    refuses = { { "argument 1 %(x%) must be of dtype i8 or u8, got f32", function()
        nn.conv_integer(np.ones { 1, 3, 1 }, np.ones({ 1, 1, 1 }, { dtype = "i8" }))
    end } },
    also = { ["np.nn.conv_integer: many channels, and groups"] = function()
        local x = np.random.randint(np.random.key(0), { 1, 6, 6, 600 }, 0, 256):astype "u8"
        local w = np.random.randint(np.random.key(1), { 3, 3, 300, 2 }, -128, 128):astype "i8"
        local o = { groups = 2, x_zero = 128 }
        check.ok(np.array_equal(nn.conv_integer(x, w, o),
                                nn.conv(x:astype "i32" - 128, w:astype "i32", { groups = 2 })))
    end },
})
of("np.nn.quantize_weights", {
    args = { { "x", special = false } }, accepts = "floats",
    gives = { function(_, o) return o.bits == 4 and "u8" or "i8" end, "f16" },
    shapes = { { { 64, 3 } }, { { 32, 1 } } }, within = "exact",
    options = { {}, { bits = 4 }, { block = 16 }, { bits = 4, block = 8 } },
    call = function(f, o, x)
        local given = next(o) and { bits = o.bits, block = o.block, nonsense = o.nonsense } or nil
        local w = f({ w = x }, given).w
        return w.codes, w.scale
    end,
    oracle = "quantized_weights(x, o)", unseen = { which = "the case below" },
    without = { derivatives = "the results are integers", sizes = "how many blocks there are decides what is made",
                vmap = "matrices have two axes", mesh = "blocks are cut out of an axis",
                numbers = "a number is no matrix", special = "NaN and infinity have no code" },
    refuses = { { "'w' must be floats with a multiple of 32 inputs, got f32 of shape %(33, 2%)", function()
                    nn.quantize_weights { w = np.ones { 33, 2 } }
                end },
                { "8 or 4", function() nn.quantize_weights({ w = np.ones { 32, 2 } }, { bits = 3 }) end },
                { "an even integer", function() nn.quantize_weights({ w = np.ones { 9, 2 } }, { block = 3 }) end },
                { "no matrix of params is chosen", function() nn.quantize_weights { b = np.ones { 32, 2 } } end },
                { "'w' is quantized already", function()
                    nn.quantize_weights(nn.quantize_weights { w = np.ones { 32, 2 } })
                end },
                { "a tree of parameters", function() nn.quantize_weights(np.ones { 32, 2 }) end } },
    also = { ["np.nn.quantize_weights: layers, choice, and what comes back"] = function()
        local model = nn.Sequential { nn.Dense(64, 32), nn.relu, nn.Dense(32, 4) }
        local params, x = model:init(np.random.key(0)), np.random.normal(np.random.key(1), { 5, 64 })
        for bits, off in pairs { [8] = 0.004, [4] = 0.08 } do
            local q = nn.quantize_weights(params, { bits = bits })
            local plain = nn.dequantize_weights(q)
            check.equal(model(q, x):totable(), model(plain, x):totable())
            local jitted = np.jit(function(p, v) return model(p, v) end)
            check.ok(np.allclose(jitted(q, x), model(plain, x), { rtol = 1e-5, atol = 1e-6 }))
            local w, scale = params[1].w, q[1].w.scale:astype "f32"
            local most = np.abs(scale:expand_dims(1)) * (bits == 4 and 1.01 or 0.57) -- scales are rounded
            check.ok(np.abs(w - plain[1].w):reshape(2, 32, 32):le(most):all():item())
            check.ok(np.linalg.norm(w - plain[1].w):item() < off * np.linalg.norm(w):item(), bits)
        end
        local some = nn.quantize_weights(params, { which = "^%[3%]" })
        check.ok(np.is_array(some[1].w) and some[3].w.codes ~= nil)
        local by_function = nn.quantize_weights(params, { which = function(path, leaf)
            return path == "[3].w" and leaf.ndim == 2
        end })
        check.equal(by_function[3].w.codes:totable(), some[3].w.codes:totable())
        local attention = nn.MultiHeadAttention(2)
        local v = np.random.normal(np.random.key(2), { 3, 32 })
        local own = nn.quantize_weights(attention:init(np.random.key(3), v))
        check.equal(attention(own, v):totable(), attention(nn.dequantize_weights(own), v):totable())
        check.raises(function()
            nn.dense(x, { codes = np.ones({ 64, 2 }, { dtype = "i8" }), scale = np.ones { 3, 2 } })
        end, "no quantized weights: codes of dtype i8 and shape %(64, 2%) with scale of shape %(3, 2%)")
        check.raises(function() nn.Dense(2)(nn.quantize_weights(params)[3], np.ones { 1, 5 }) end, "32 features")
    end, ["np.nn.quantize_weights: gradients of what is not frozen, and files"] = function()
        local model = nn.Sequential { nn.Dense(64, 32), nn.relu, nn.Dense(32, 4) }
        local x, path = np.random.normal(np.random.key(1), { 5, 64 }), os.tmpname() .. ".npz"
        local q = nn.quantize_weights(model:init(np.random.key(0)), { bits = 4 })
        local plain = nn.dequantize_weights(q)
        local function loss_of(all)
            return function(v, b) return np.square(model({ { w = all[1].w, b = b }, {}, all[3] }, v)):sum() end
        end
        for position = 1, 2 do
            local got = np.grad(loss_of(q), { argnums = position })(x, q[1].b)
            local want = np.grad(loss_of(plain), { argnums = position })(x, q[1].b)
            check.ok(np.allclose(got, want, { atol = 1e-5 }))
        end
        check.raises(function() np.grad(function(p) return model(p, x):sum() end)(q) end,
                     "must hold floats to be differentiated, got dtype u8 at '%[1%].w.codes'")
        np.io.save_tree(path, q)
        local read = np.io.load_tree(path)
        check.equal(read[1].w.codes.dtype, "u8")
        check.equal(model(read, x):totable(), model(q, x):totable())
        local program = np.trace(function(p, v) return model(p, v) end)(q, x)
        np.io.save_onnx(program, path, { initializers = { p = q } })
        local f, params = np.io.load_onnx(path)
        check.ok(np.allclose(f(params, x), model(q, x), { atol = 1e-5 }))
        os.remove(path)
    end },
})
of("np.nn.dequantize_weights", {
    args = { { "x", special = false } }, accepts = "floats", gives = "f32", shapes = { { { 64, 3 } }, { { 32, 1 } } },
    within = "exact", options = { {}, { bits = 4 }, { bits = 4, block = 8 } },
    call = function(f, o, x)
        local given = o.bits and { bits = o.bits, block = o.block } or nil
        return f(nn.quantize_weights({ w = x }, given), o.nonsense and { nonsense = o.nonsense }).w
    end,
    oracle = "weights_back(x, o)",
    without = { derivatives = "the argument has integers", sizes = "how many blocks there are decides what is made",
                vmap = "matrices have two axes", mesh = "blocks are cut out of an axis", options = "it has none",
                numbers = "a number is no matrix", special = "NaN and infinity have no code" },
    refuses = { { "a tree of parameters", function() nn.dequantize_weights(np.ones { 32, 2 }) end } },
})

elsewhere("np.nn.summary", "tests/stdlib/block_test.lua", "it tells of blocks")

-- ---- Initializers ---------------------------------------------------------------------------------------------------

local KEY = { "key", dtype = "u32", make = function(random) return np.random.key(random(1000)) end }

--- An array of the shape and dtype to draw, of which the oracle reads the extents and the bits.
local LIKE = { "like", special = false, text = function(x)
    local dims = {}
    for k, n in ipairs(x.shape) do dims[k] = ("%d"):format(n) end
    return ("i32[%d] %s %d"):format(x.ndim + 1, table.concat(dims, " "), x.dtype:match "%d+")
end }

for name in ("glorot_uniform glorot_normal he_uniform he_normal lecun_uniform lecun_normal"):gmatch "%S+" do
    of("np.nn." .. name, {
        args = { KEY, LIKE }, accepts = "f64 f32", gives = "same", options = { {}, { dtype = true } },
        shapes = { { { 2 }, { 3, 4 } }, { { 2 }, { 2, 3, 2 } }, { { 2 }, { 1, 3 } } },
        call = function(f, o, key, like)
            return f(key, like.shape, { dtype = like.dtype, nonsense = o.nonsense })
        end,
        oracle = ("jax.nn.initializers.%s()(jax.random.wrap_key_data(key.astype(np.uint32)), tuple(like[:-1]), "
                  .. "'float%%d' %% like[-1])"):format(name),
        within = { f64 = "scaled 4e-15", f32 = "scaled 1e-6" },
        without = { special = "it reads no values", strided = "it reads no values", numbers = "it reads no values",
                    mesh = "it reads no values", derivatives = "it reads no values" },
        also = { [name .. " of halves"] = function()
            for _, half in ipairs { "f16", "bf16" } do
                local x = np.nn[name](np.random.key(1), { 30, 20 }, { dtype = half })
                check.equal(x.dtype, half)
                check.ok(math.abs(x:astype "f32":mean():item()) < 0.05, "the mean of what is drawn")
            end
        end },
    })
end
of("np.nn.zeros", {
    args = { { "like", special = false } }, accepts = "floats ints bool complex", gives = "same", within = "exact",
    shapes = { { { 2, 3 } }, { {} }, { { 0 } } }, oracle = "np.zeros(like.shape, like.dtype)",
    call = function(f, o, like) return f(nil, like.shape, { dtype = like.dtype, nonsense = o.nonsense }) end,
    without = { special = "it reads no values", derivatives = "it is constant" },
})
of("np.nn.ones", {
    args = { { "like", special = false } }, accepts = "floats ints bool complex", gives = "same", within = "exact",
    shapes = { { { 2, 3 } }, { {} }, { { 0 } } }, oracle = "np.ones(like.shape, like.dtype)",
    call = function(f, o, like) return f(nil, like.shape, { dtype = like.dtype, nonsense = o.nonsense }) end,
    without = { special = "it reads no values", derivatives = "it is constant" },
})

finish()
