--- distributions_test.lua: contracts of the distributions of np.random (tests/lib/contracts.lua), as random_test.lua.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local draws = require "tests.lib.draws"
local of, finish = require "tests.lib.contracts" "distributions"

local SPECIAL = draws.specials
local function plain(...) of(draws.plain(...)) end
local function parametric(...) of(draws.parametric(...)) end

plain "laplace"
plain "logistic"
plain "cauchy"
plain "maxwell"

local REJECTED = "differences follow one path of rejection; points hold the implicit derivatives to JAX's"
local COUNTS = "numbers that are counts have no derivative"

parametric("rayleigh", { { "scale", from = 0.5, to = 3 } })
parametric("weibull_min", { { "scale", from = 0.5, to = 3 }, { "concentration", from = 0.5, to = 3 } })
parametric("triangular", { { "left", from = 0, to = 1 }, { "mode", from = 1, to = 3 }, { "right", from = 3, to = 5 } })
parametric("pareto", { { "b", from = 0.5, to = 5 } })
parametric("lognormal", { { "sigma", from = 0.2, to = 3 } })
parametric("wald", { { "mean", from = 0.5, to = 3, special = SPECIAL } })
parametric("double_sided_maxwell", { { "loc" }, { "scale", from = 0.5, to = 2 } }, {
    oracle = "drawn('double_sided_maxwell', key, o, loc, scale, otherwise=())",
})
--- A distribution that is drawn by rejection.
local function rejected(name, parameters, points, more)
    local titles = {}
    for k, spec in ipairs(parameters) do titles[k] = spec[1] end
    local contract = {
        without = { derivatives = REJECTED }, first_only = true, points = points,
        derivative = ("jax.random.%s(words_key(key), %s, dtype=jnp.float64)"):format(name, table.concat(titles, ", ")),
    }
    for field, value in pairs(more or {}) do contract[field] = value end
    parametric(name, parameters, contract)
end

local WORDS = { 0, 7 }
local ONE = { { WORDS, 0.3 }, { WORDS, 2.5 }, { WORDS, { 0.05, 1, 40 } }, { WORDS, 1e4 } }
local TWO = { { WORDS, 2, 3 }, { WORDS, 0.1, 0.2 }, { WORDS, { 0.5, 1, 40 }, 4 } }
rejected("gamma", { { "a", from = 0.5, to = 5, special = SPECIAL } }, ONE)
rejected("loggamma", { { "a", from = 0.5, to = 5 } }, ONE)
rejected("chisquare", { { "df", from = 0.5, to = 5 } }, ONE)
rejected("t", { { "df", from = 0.5, to = 5 } }, ONE)
rejected("f", { { "dfnum", from = 1, to = 5, special = SPECIAL }, { "dfden", from = 1, to = 5, special = SPECIAL } },
    TWO, {
    oracle = "drawn('f', key, o, *spread(o, dfnum, dfden), otherwise=both(dfnum, dfden))",
})
rejected("beta", { { "a", from = 0.5, to = 5 }, { "b", from = 0.5, to = 5 } }, TWO)
rejected("generalized_normal", { { "p", from = 0.5, to = 4, special = { 0, 1 } } }, { { WORDS, 3 }, { WORDS, { 0.5, 1,
    2 } } }, {
    derivative = "jax.random.generalized_normal(words_key(key), p, jnp.shape(p), dtype=jnp.float64)",
})
rejected("dirichlet", { { "alpha", from = 0.5, to = 4, special = SPECIAL, axis = true } }, { { WORDS, { 0.5, 1, 2 } },
    { WORDS, { { 3, 0.1 }, { 1, 1 } } } }, {
    oracle = "drawn('dirichlet', key, o, alpha)",
    shapes = { { { 2 }, { 3 } }, { { 2 }, { 2, 3 } }, { { 2 }, { 1 } }, { { 2 }, { 0, 3 } } },
    options = { { dtype = "f64" }, { dtype = "f32" }, { dtype = "f16" }, { dtype = "bf16" }, {},
                { dtype = "f64", shape = { 2, 2 } } },
})

parametric("geometric", { { "p", from = 0.1, to = 0.9 } }, {
    gives = function(_, o) return o.dtype or "i32" end, within = "exact",
    accepts = "f32 bool", options = { {}, { dtype = "i64" }, { dtype = "f32" }, { dtype = "f16" }, { dtype = "u8" },
                                      { shape = { 2, 3 } } },
    oracle = "drawn('geometric', key, {'shape': o.get('shape', both(p))}, p, dtype=jnp.int32)",
    without = { derivatives = COUNTS },
    also = { ["halves count as f32"] = function()
        local p = np.array({ 0.25, 0.5, 0.9 }, { dtype = "f16" })
        check.equal(np.random.geometric(np.random.key(1), p):totable(),
                    np.random.geometric(np.random.key(1), p:astype "f32"):totable())
    end },
})
parametric("poisson", { { "lam", from = 0, to = 9, special = { 0, 1 } } }, {
    gives = function(_, o) return o.dtype or "i32" end, within = "exact",
    accepts = "f32 i32 u8 bool", options = { {}, { dtype = "i64" }, { dtype = "f32" }, { dtype = "f16" },
                                             { dtype = "u8" }, { shape = { 2, 3 } } },
    oracle = "drawn('poisson', key, {'shape': o.get('shape', both(lam))}, lam, dtype=jnp.int32)",
    without = { derivatives = COUNTS },
})
parametric("binomial", { { "n", from = 0, to = 10 }, { "p", from = 0, to = 1 } }, {
    within = "exact", without = { derivatives = COUNTS },
})

parametric("multinomial", { { "n", from = 0, to = 10 }, { "p", from = 0, to = 1, axis = true } }, {
    within = "exact", without = { derivatives = COUNTS, special = "they are those of np.random.binomial",
                                  numbers = "probabilities are a vector" }, accepts = "f64",
    shapes = { { { 2 }, { 2 }, { 2, 3 } }, { { 2 }, {}, { 3 } }, { { 2 }, {}, { 0, 3 } } },
    options = { { dtype = "f64" }, { dtype = "f32" }, { dtype = "f16" }, { dtype = "bf16" }, {} },
    oracle = "drawn('multinomial', key, o, n, p)",
    also = {},
})

of("np.random.multivariate_normal", {
    args = { draws.KEY, "mean", { "root" } }, accepts = "f64",
    shapes = { { { 2 }, { 3 }, { 3, 3 } }, { { 2 }, { 2, 2 }, { 2, 2 } }, { { 2 }, { 2 }, { 3, 2, 2 } },
               { { 2 }, { 1 }, { 1, 1 } } },
    options = { { dtype = "f64" }, { dtype = "f32" }, { dtype = "f16" }, { dtype = "bf16" }, {},
                { dtype = "f64", shape = { 3 } } },
    unseen = { method = "the signs of eigenvectors are LAPACK's own: a test by covariances holds it" },
    also = {
        ["the methods draw of one distribution"] = function()
            local cov = np.array({ { 2, 0.6, -0.3 }, { 0.6, 1, 0.2 }, { -0.3, 0.2, 0.5 } }, { dtype = "f64" })
            for _, method in ipairs { "cholesky", "eigh", "svd" } do
                local x = np.random.multivariate_normal(np.random.key(1), np.array({ 1, 2, 3 }, { dtype = "f64" }), cov,
                                                        { 40000 }, { dtype = "f64", method = method })
                check.close(np.cov(x, { rowvar = false }):totable(), cov:totable(), 0.03, method)
                check.close(x:mean({ axis = 0 }):totable(), { 1, 2, 3 }, 0.03, method)
            end
        end,
    },
    gives = function(_, o) return o.dtype or "f32" end,
    call = function(f, o, key, mean, root)
        local cov = np.matmul(root, np.matrix_transpose(root)) + np.eye(root:dim(-1), { dtype = "f64" })
        if o.shape and mean.ndim + root.ndim > 3 then o = { dtype = o.dtype } end
        return draws.call(f, o, key, mean, cov)
    end,
    oracle = "normal_vectors(key, mean, root, o)", special = false,
    within = { f64 = "abs 1e-11", f32 = "abs 2e-5", f16 = "abs 4e-3", bf16 = "abs 4e-2" },
    vmapped = { f64 = "scaled 1e-12", f32 = "scaled 1e-5", f16 = "ulp 2", bf16 = "ulp 2" },
    divided = { f64 = "scaled 1e-12", f32 = "scaled 1e-5", f16 = "ulp 2", bf16 = "ulp 2" },
    without = { special = "np.linalg.cholesky says what it gives for those", numbers = "vectors and matrices" },
    refuses = { { "mean", function() np.random.multivariate_normal(np.random.key(0), np.zeros(2), np.eye(3)) end },
                { '"svd"', function()
                    np.random.multivariate_normal(np.random.key(0), np.zeros(2), np.eye(2), { method = "x" })
                end } },
})

of("np.random.orthogonal", {
    args = { draws.KEY }, accepts = "f64", shapes = { { { 2 } } }, special = false,
    options = { { n = 3, dtype = "f64" }, { n = 3 }, { n = 2, m = 4, dtype = "f64" }, { n = 4, m = 2, dtype = "f64" },
                { n = 2, shape = { 2 }, dtype = "f64" }, { n = 2, dtype = "f16" }, { n = 2, dtype = "bf16" },
                { n = 1, dtype = "f64" } },
    gives = function(_, o) return o.dtype or "f32" end,
    call = function(f, o, key)
        local given = {}
        for name, value in pairs(o) do given[name] = value end
        given.n = nil
        return draws.call(f, given, key, o.n)
    end,
    oracle = "np.asarray(drawn('orthogonal', key, o, otherwise=(), n=o['n'], m=o.get('m', o['n'])))",
    within = { f64 = "abs 1e-12", f32 = "abs 2e-6", f16 = "abs 1e-3", bf16 = "abs 8e-3" },
    without = draws.key_alone(),
    refuses = { { "from 0 up", function() np.random.orthogonal(np.random.key(0), -1) end },
                { "integer", function() np.random.orthogonal(np.random.key(0), 1.5) end } },
})

of("np.random.ball", {
    args = { draws.KEY }, accepts = "f64", shapes = { { { 2 } } }, special = false,
    options = { { d = 3, dtype = "f64" }, { d = 3 }, { d = 2, p = 1, dtype = "f64" }, { d = 2, p = 3.5, dtype = "f64" },
                { d = 2, shape = { 2, 2 }, dtype = "f64" }, { d = 2, dtype = "f16" }, { d = 2, dtype = "bf16" },
                { d = 1, dtype = "f64" } },
    gives = function(_, o) return o.dtype or "f32" end,
    call = function(f, o, key)
        local given = {}
        for name, value in pairs(o) do given[name] = value end
        given.d = nil
        return draws.call(f, given, key, o.d)
    end,
    oracle = "drawn('ball', key, o, otherwise=(), d=o['d'], p=float(o.get('p', 2)))",
    within = draws.NEAR, without = draws.key_alone(),
    refuses = { { "from 0 up", function() np.random.ball(np.random.key(0), -1) end },
                { "integer", function() np.random.ball(np.random.key(0), 1.5) end } },
})

of("np.random.rademacher", {
    args = { draws.KEY }, accepts = "f64", shapes = { { { 2 } } }, special = false,
    options = { { shape = { 9 } }, { shape = { 9 }, dtype = "f32" }, { shape = { 9 }, dtype = "i8" },
                { shape = { 9 }, dtype = "f16" }, {}, { shape = { 0 } } },
    gives = function(_, o) return o.dtype or "i32" end, call = draws.call,
    oracle = "drawn('rademacher', key, {'shape': o.get('shape', ())}, dtype=jnp.int32)",
    without = draws.key_alone(),
})

finish()
