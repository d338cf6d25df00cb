--- random_test.lua: contracts of the first part of np.random (tests/lib/contracts.lua). The oracle is the number that
-- JAX draws for the same key (oracles.py: drawn); tests/golden/draws_test.lua holds the distributions to SciPy's.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local draws = require "tests.lib.draws"
local of, finish, _, elsewhere = require "tests.lib.contracts" "random"

local random = np.random
local KEY, call, NO_FLOATS = draws.KEY, draws.call, draws.NO_FLOATS

-- ---- Keys and bits --------------------------------------------------------------------------------------------------


of("np.random.key", {
    args = {}, accepts = "u32", shapes = { {} }, gives = "u32", special = false,
    options = { { seed = 0 }, { seed = 42 }, { seed = 2 ^ 32 }, { seed = -1 }, { seed = 2 ^ 53 }, { seed = -2 ^ 62 } },
    call = function(f, o) return f(o.seed, o.nonsense and o) end,
    oracle = "np.array([int(o['seed']) >> 32 & 0xffffffff, int(o['seed']) & 0xffffffff], np.uint32)",
    without = { special = "a seed is a number", strided = "it takes no array", numbers = "it takes a number alone",
                vmap = "it takes no array", mesh = "it takes no array", derivatives = NO_FLOATS },
    refuses = { { "an integer", function() random.key(0.5) end }, { "an integer", function() random.key "1" end },
                { "an integer", function() random.key() end }, { "an integer", function() random.key(0 / 0) end },
                { "an integer", function() random.key(math.huge) end } },
    also = {
        ["64-bit seeds keep all their bits"] = function()
            check.equal(random.key(2LL ^ 53 + 1):totable(), { 2 ^ 21, 1 })
            check.equal(random.key(-1ULL):totable(), { 2 ^ 32 - 1, 2 ^ 32 - 1 })
            check.equal(random.key(-2LL):totable(), { 2 ^ 32 - 1, 2 ^ 32 - 2 })
        end,
    },
})

of("np.random.bits", {
    args = { KEY }, accepts = "u32", shapes = { { { 2 } } }, gives = "u32", special = false,
    options = { { shape = { 5 } }, { shape = {} }, { shape = { 2, 3 } }, { shape = { 0 } }, {}, { shape = 4 } },
    call = call,
    oracle = "drawn('bits', key, o, dtype=jnp.uint32, otherwise=())",
    without = draws.key_alone(),
})

of("np.random.split", {
    args = { KEY }, accepts = "u32", shapes = { { { 2 } } }, gives = "u32", special = false,
    options = { {}, { shape = 3 }, { shape = { 2, 2 } }, { shape = 0 } },
    call = call,
    oracle = "jax.random.key_data(jax.random.split(words_key(key), o.get('shape', 2)))",
    without = draws.key_alone(),
    also = { ["a 64-bit count"] = function()
        check.equal(random.split(random.key(1), 3LL):totable(), random.split(random.key(1), 3):totable())
    end },
})

of("np.random.fold_in", {
    args = { KEY, { "data", from = 0, to = 1000 } }, accepts = "i32 u8 i64 u32 i8 bool", shapes = { { { 2 }, {} } },
    gives = "u32",
    call = call,
    oracle = "jax.random.key_data(jax.random.fold_in(words_key(key), jnp.asarray(data).astype(jnp.uint32)))",
    without = { derivatives = NO_FLOATS },
    also = { ["64-bit integers are their low words, numbers too"] = function()
        local key = random.key(3)
        check.equal(random.fold_in(key, 7LL):totable(), random.fold_in(key, 7):totable())
        check.equal(random.fold_in(key, 2LL ^ 40 + 7):totable(), random.fold_in(key, 7):totable())
        check.equal(random.fold_in(key, -1):totable(), random.fold_in(key, 2 ^ 32 - 1):totable())
    end },
    refuses = { { "integer", function() random.fold_in(random.key(0), 0.5) end },
                { "0%-d", function() random.fold_in(random.key(0), np.arange(2)) end },
                { "integer", function() random.fold_in(random.key(0), np.array(0.5)) end } },
})

-- ---- Numbers without parameters -------------------------------------------------------------------------------------

of(draws.plain("exponential", { oracle = "drawn('exponential', key, o, otherwise=(), halves=True)" }))
of(draws.plain("gumbel", { oracle = "drawn('gumbel', key, o, otherwise=(), halves=True)" }))

local COMPLEX = { unpack(draws.SHAPES) }
COMPLEX[#COMPLEX + 1] = { shape = { 4 }, dtype = "c64" }
COMPLEX[#COMPLEX + 1] = { shape = { 4 }, dtype = "c128" }
local NORMAL = "drawn('normal', key, o, otherwise=(), halves=True, dtype=complex_of(o))"
of(draws.plain("normal", { options = COMPLEX, oracle = NORMAL,
                  within = { f64 = "abs 1e-12", f32 = "abs 2e-6", f16 = "ulp 2", bf16 = "ulp 2", c64 = "abs 2e-6",
                             c128 = "abs 1e-12" } }))


of(draws.parametric("uniform", { { "minval", from = 0, to = 1 }, { "maxval", from = 1, to = 4 } }, {
    call = function(f, o, key, low, high)
        local given = { minval = low, maxval = high }
        for name, value in pairs(o) do given[name] = value end
        given.shape = nil
        return f(key, o.shape, given)
    end,
    oracle = "drawn('uniform', key, o, minval=minval, maxval=maxval, halves=True, otherwise=both(minval, maxval))",
    unseen = { minval = "it is an argument of each case", maxval = "it is an argument of each case" },
}))

of("np.random.randint", {
    args = { KEY, { "minval", from = 0, to = 5 }, { "maxval", from = 6, to = 100 } }, accepts = "i32 u8 i64 i8 u64",
    shapes = { { { 2 }, {}, {} }, { { 2 }, { 3 }, { 3 } }, { { 2 }, { 3 }, {} }, { { 2 }, { 1, 3 }, { 2, 1 } } },
    options = { { shape = { 2, 3 } }, { shape = { 2, 3 }, dtype = "u8" }, { shape = { 2, 3 }, dtype = "i64" },
                { shape = { 2, 3 }, dtype = "u32" }, { shape = { 2, 3 }, dtype = "i16" },
                { shape = { 2, 3 }, dtype = "u64" } },
    gives = function(_, o) return o.dtype or "i32" end,
    call = function(f, o, key, low, high)
        local given = { dtype = o.dtype, nonsense = o.nonsense }
        return f(key, o.shape, low, high, next(given) and given or nil)
    end,
    oracle = "integers_drawn(key, minval, maxval, o)",
    without = { derivatives = NO_FLOATS },
    refuses = { { "integers", function() random.randint(random.key(0), { 2 }, np.array { 0.5 }, 3) end },
                { "an integer", function() random.randint(random.key(0), { 2 }, 0.5, 3) end },
                { "not below", function() random.randint(random.key(0), { 2 }, 3, 3) end },
                { "integer dtype", function() random.randint(random.key(0), { 2 }, 0, 3, { dtype = "f32" }) end } },
    also = { ["all of a dtype, and 64-bit bounds"] = function()
        local key = random.key(5)
        local all = random.randint(key, { 4000 }, -128, 128, { dtype = "i8" })
        check.equal({ all:min():item(), all:max():item() }, { -128, 127 })
        check.equal(random.randint(key, { 9 }, -5LL, 5LL):totable(), random.randint(key, { 9 }, -5, 5):totable())
        local high = random.randint(key, { 9 }, 2LL ^ 60, 2LL ^ 60 + 3, { dtype = "i64" })
        for _, value in ipairs(high:totable()) do check.ok(value >= 2LL ^ 60 and value < 2LL ^ 60 + 3) end
        check.equal(random.randint(key, { 9 }, 0, -1ULL, { dtype = "u64" }).dtype, "u64")
    end },
})

of("np.random.permutation", {
    args = { KEY, "x" }, accepts = "f64 i32 u8 bool c64 bf16", gives = "same", within = "exact",
    shapes = { { { 2 }, { 4, 3 } }, { { 2 }, { 5 } }, { { 2 }, { 1 } }, { { 2 }, { 0 } }, { { 2 }, { 2, 3, 2 } } },
    options = { {}, { axis = 1 }, { axis = -1 }, { independent = true }, { axis = 1, independent = true } },
    call = function(f, o, key, x)
        if o.axis and x.ndim < 2 then o = {} end
        return f(key, x, next(o) and o or nil)
    end,
    oracle = "jax.random.permutation(words_key(key), jnp.asarray(x), axis=o.get('axis', 0) if np.ndim(x) > 1 else 0, "
        .. "independent=o.get('independent', False))",
    without = { special = "elements are moved, whatever they are", numbers = "a number is a count of elements" },
    also = { ["a count"] = function()
        local key = random.key(3)
        check.equal(random.permutation(key, 5LL):totable(), random.permutation(key, np.arange(5)):totable())
        check.equal(random.permutation(key, 0).shape, { 0 })
        check.equal(random.permutation(key, 5).dtype, "i32")
    end },
    refuses = { { "axis", function() random.permutation(random.key(0), np.array(1)) end },
                { "an integer", function() random.permutation(random.key(0), 2.5) end },
                { "from 0 up", function() random.permutation(random.key(0), -1) end } },
})

of("np.random.choice", {
    args = { KEY, "x" }, accepts = "f64 i32 bool c64", gives = "same", within = "exact",
    shapes = { { { 2 }, { 4, 4 } }, { { 2 }, { 4 } } },
    options = { { shape = { 3 } }, { shape = { 2, 2 } }, {}, { shape = { 3 }, replace = false },
                { shape = { 3 }, p = { 0.1, 0.2, 0, 0.7 } }, { shape = { 3 }, p = { 0.1, 0.2, 0.3, 0.4 },
                    replace = false },
                { shape = { 3 }, axis = 1 }, { shape = { 2 }, axis = -1, replace = false }, { shape = { 0 } } },
    call = function(f, o, key, x)
        local given = {}
        for name, value in pairs(o) do given[name] = value end
        given.shape = nil
        if x.ndim == 1 then given.axis = nil end
        return f(key, x, o.shape or {}, given)
    end,
    oracle = "chosen(key, x, o)",
    without = { special = "elements are chosen, whatever they are", numbers = "a number is a count of elements" },
    refuses = { { "nothing to choose", function() random.choice(random.key(0), 0, { 2 }) end },
                { "nothing to choose", function() random.choice(random.key(0), np.zeros { 0 }, { 2 }) end },
                { "without replacement", function() random.choice(random.key(0), 3, { 4 }, { replace = false }) end },
                { "probabilities", function() random.choice(random.key(0), 3, { 4 }, { p = { 0.5, 0.5 } }) end } },
    also = { ["a count, a 64-bit one, and what has probability 0"] = function()
        local key = random.key(3)
        check.equal(random.choice(key, 5LL, { 4 }):totable(), random.choice(key, np.arange(5), { 4 }):totable())
        for _, replace in ipairs { true, false } do
            local p, seen = np.array({ 0, 0.5, 0, 0.5, 0 }, { dtype = "f64" }), {}
            for seed = 0, 99 do
                local picks = random.choice(random.key(seed), 5, { replace and 20 or 2 }, { p = p, replace = replace })
                for _, pick in ipairs(picks:totable()) do seen[pick] = true end
            end
            check.equal({ seen[0], seen[2], seen[4], seen[1], seen[3] }, { nil, nil, nil, true, true })
        end
        check.equal(random.choice(key, 3, { 4 }, { p = np.array({ 1, 2, 1 }) }).dtype, "i32")
        check.equal(random.choice(key, 3, { 0 }).shape, { 0 })
    end },
})

-- Near 3 the density is 1/225: an ulp of the probability, 6e-8, is 1.3e-5 of the draw there.
of(draws.parametric("truncated_normal", { { "lower", from = -3, to = 0 }, { "upper", from = 1, to = 3 } }, {
    within = { f64 = "abs 1e-12", f32 = "abs 3e-5", f16 = "ulp 2", bf16 = "ulp 2" },
}))

of("np.random.bernoulli", {
    args = { KEY, { "p", from = 0, to = 1 } }, accepts = "f64", gives = "bool",
    shapes = { { { 2 }, { 5 } }, { { 2 }, {} }, { { 2 }, { 2, 3 } }, { { 2 }, { 0 } } },
    options = { {}, { shape = { 2, 5 } } },
    call = call,
    oracle = "jax.random.bernoulli(words_key(key), jnp.asarray(p), o.get('shape'))",
    without = { derivatives = NO_FLOATS, numbers = "a number alone is f32, whose draws are others than those of f64" },
    refuses = { { "floats", function() random.bernoulli(random.key(0), np.arange(3)) end },
                { "do not broadcast", function() random.bernoulli(random.key(0), np.full({ 3 }, 0.5), { 2 }) end } },
    also = { ["it is uniform below p"] = function()
        local key = random.key(9)
        for _, dtype in ipairs { "f64", "f32", "f16", "bf16" } do
            local p = np.array({ 0, 0.25, 0.5, 1, np.nan, 2, -1 }, { dtype = dtype })
            local below = random.uniform(key, { 7 }, { dtype = dtype }):lt(p)
            check.equal(random.bernoulli(key, p):totable(), below:totable(), dtype)
        end
        check.equal(random.bernoulli(key, { 0.25, 0.5 }, { 3, 2 }):totable(),
                    random.bernoulli(key, np.array { 0.25, 0.5 }, { 3, 2 }):totable())
        check.equal({ random.bernoulli(key, 0, { 1000 }):any():item(), random.bernoulli(key, 1,
            { 1000 }):all():item() },
                    { false, true })
    end },
})

of("np.random.categorical", {
    args = { KEY, { "logits" } }, accepts = "f64", gives = "i32",
    shapes = { { { 2 }, { 2, 3 } }, { { 2 }, { 4 } }, { { 2 }, { 2, 1, 3 } }, { { 2 }, { 0, 3 } }, { { 2 }, { 1 } } },
    options = { {}, { axis = 0 }, { axis = -2 }, { shape = { 4, 2 } }, { shape = { 5, 4, 2 } },
                { shape = { 2, 2 }, replace = false } },
    call = function(f, o, key, logits)
        if logits.ndim ~= 2 then o = { nonsense = o.nonsense } end
        return f(key, logits, next(o) and o or nil)
    end,
    oracle = "categories(key, logits, o if np.ndim(logits) == 2 else {})",
    without = { derivatives = NO_FLOATS, numbers = "a number has no axis" },
    refuses = { { "must end in", function() random.categorical(random.key(0), np.zeros { 2, 3 }, { shape = { 3 } })
        end },
                { "nothing to choose", function() random.categorical(random.key(0), np.zeros { 2, 0 }) end },
                { "axis", function() random.categorical(random.key(0), np.array(1)) end } },
    also = { ["a shape to which that of logits broadcasts: draws of their own"] = function()
        local key, logits = random.key(4), np.array { { { 0, 1, 2 } }, { { 2, 0, 0 } } }
        local x = random.categorical(key, logits, { shape = { 2, 400 } })
        check.equal(x.shape, { 2, 400 })
        local own = random.categorical(key, np.broadcast_to(logits, { 2, 400, 3 }))
        check.equal(x:totable(), own:totable())
        check.ok(x[0]:mean():item() > 1.3 and x[1]:mean():item() < 0.6, "each row has its logits")
    end, ["logits of integers and bools count as real numbers"] = function()
        local key, logits = random.key(4), np.array({ { 0, 1, 2 }, { 3, 1, 1 } }, { dtype = "i32" })
        local function draw(dtype) return random.categorical(key, logits:astype(dtype), { shape = { 9,
            2 } }):totable() end
        check.equal(draw "i32", draw "f32")
        check.equal(draw "u8", draw "f32")
        check.equal(draw "i64", draw "f64")
        check.equal(draw "bool", random.categorical(key, logits:ne(0):astype "f32", { shape = { 9, 2 } }):totable())
    end, ["what has probability 0 is never drawn"] = function()
        local x = random.categorical(random.key(1), np.log(np.array { 0, 0.5, 0, 0.5 }), { shape = { 20000 } })
        check.equal(np.bincount(x, { length = 4 }):totable()[1], 0)
        check.equal(np.bincount(x, { length = 4 }):totable()[3], 0)
    end },
})

for _, name in ipairs { "np.random.stream", "np.random.default_rng" } do of(name, {
    args = {}, accepts = "f32", shapes = { {} }, any_dtype = true, special = false,
    options = { { seed = 0 }, { seed = 7 } },
    call = function(f, o)
        local rng = f(o.seed, o.nonsense and o)
        return rng:normal { 3 }, rng:uniform({ 2 }, { dtype = "f64" }), rng:key()
    end,
    oracle = "streamed(int(o['seed']))", within = { f32 = "abs 2e-6" },
    without = { special = "a seed is a number", strided = "it takes no array", numbers = "it takes a number alone",
                jit = "it raises inside of transforms", programs = "it raises inside of transforms",
                vmap = "it takes no array", mesh = "it takes no array", derivatives = NO_FLOATS },
    also = { ["all functions, and no draw comes twice"] = function()
        local rng, seen = random.stream(1), {}
        for _ = 1, 200 do
            local text = table.concat(rng:bits({ 2 }):totable(), " ")
            check.ok(not seen[text], "a draw came twice")
            seen[text] = true
        end
        local more = { gamma = { 2 }, permutation = { 4 }, choice = { 5 }, categorical = { np.zeros(3) },
                       randint = { {}, 0, 3 }, orthogonal = { 2 }, ball = { 2 }, multinomial = { 5, np.full(2, 0.5) } }
        for method, arguments in pairs(more) do
            check.ok(np.is_array(rng[method](rng, unpack(arguments))), method)
        end
    end, ["64-bit seeds"] = function()
        check.equal(random.stream(7LL):bits({ 2 }):totable(), random.stream(7):bits({ 2 }):totable())
    end },
    refuses = { { "an integer", function() random.stream "a" end } },
}) end
elsewhere("np.random", "tests/contracts/random_test.lua", "the table of the functions that stand here")

finish()
