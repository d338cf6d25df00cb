--- special_test.lua: contracts of np.special (tests/lib/contracts.lua): what is made of several ops, and the rows that
-- have their names there.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, same, elsewhere = require "tests.lib.contracts" "special"

elsewhere("np.special", "tests/contracts/special_test.lua", "the table of the functions that this file holds")


--- NaN in either place gives NaN: infinities and the ends of domains, about which SciPy, JAX and PyTorch differ, have
-- no oracle.
local function keeps_nan(f)
    return function()
        for _, dtype in ipairs { "f64", "f32", "f16", "bf16" } do
            local x, nan = np.array({ 0, 1, 2.5, np.inf }, { dtype = dtype }), np.array(np.nan, { dtype = dtype })
            for _, y in ipairs { f(x, nan), f(nan, x) } do
                check.ok(np.all(np.isnan(y)):item(), "a NaN is hidden: " .. tostring(y))
            end
        end
    end
end

-- ---- Other names of np's functions ----------------------------------------------------------------------------------

same("np.special.erf", "np.erf")
same("np.special.erfc", "np.erfc")
same("np.special.erfinv", "np.erf_inv")
same("np.erfinv", "np.erf_inv")
same("np.special.lgamma", "np.lgamma")
same("np.special.gammaln", "np.lgamma")
same("np.special.digamma", "np.digamma")
same("np.special.psi", "np.digamma")
same("np.special.i0", "np.i0")
same("np.special.expit", "np.sigmoid")
same("np.special.logsumexp", "np.logsumexp")
same("np.special.softmax", "np.softmax")
same("np.special.log_softmax", "np.log_softmax")

-- ---- Rows -----------------------------------------------------------------------------------------------------------

of("np.special.erfcx", {
    args = { { "x", from = -2, to = 6 } },
    accepts = "floats ints bool",
    oracle = "sp.erfcx(x)",
    derivative = "smooth(lambda x: mp.exp(x * x) * mp.erfc(x))(x)",
    points = { { -1 }, { 0 }, { 3 }, { 7 }, { 30 }, { 1e4 }, { 1e9 } },
})
of("np.special.erfcinv", {
    args = { { "x", from = 0.1, to = 1.9 } },
    accepts = "floats ints bool",
    oracle = "known(sp.erfcinv(x), (x == 5e-324, 27.213293210812949))", -- where SciPy overflows
    derivative = "smooth(lambda x: mp.erfinv(1 - x))(x)",
    points = { { 1 }, { 1e-5 }, { 1.9 } },
})
of("np.special.gamma", {
    args = { { "x", from = 0.2, to = 6 } },
    accepts = "floats ints bool",
    oracle = "sp.gamma(x)",
    derivative = "smooth(mp.gamma)(x)",
    points = { { -0.5 }, { -3.25 }, { 1 }, { 40 } },
})
of("np.special.betaln", {
    args = { { "a", from = 0.2, to = 6 }, { "b", from = 0.2, to = 6 } },
    accepts = "floats ints",
    oracle = "sp.betaln(a, b)",
    special = false,
    without = { special = "SciPy, JAX and PyTorch differ about zeros and infinities; a test of its own holds NaN" },
    also = { ["np.special.betaln: NaN"] = keeps_nan(np.special.betaln) },
    within = { f64 = "mixed 1e-14", f32 = "mixed 1e-6", f16 = "mixed 6e-4", bf16 = "mixed 5e-3" },
    derivative = "jsp.betaln(a, b)",
    points = { { 1, 1 }, { 0.5, 300 } },
})
of("np.special.gammainc", {
    args = { { "a", from = 0.5, to = 4 }, { "x", from = 0, to = 6 } },
    accepts = "floats ints bool",
    oracle = "known(sp.gammainc(a, x), ((0 < a) & (a < 1e-300) & (x > 0), 1))",
    within = { f64 = "rel 2e-14" },
    first_only = true,
})
of("np.special.gammaincc", {
    args = { { "a", from = 0.5, to = 4 }, { "x", from = 0, to = 6 } },
    accepts = "floats ints bool",
    oracle = "sp.gammaincc(a, x)",
    within = { f64 = "rel 4e-14" },
    first_only = true,
})
of("np.special.betainc", {
    args = { { "a", from = 0.5, to = 4, grad = false }, { "b", from = 0.5, to = 4, grad = false },
             { "x", from = 0.05, to = 0.95 } },
    accepts = "floats",
    special = false,
    without = { special = "the help says up to where it is exact; tests/golden/special_test.lua goes there" },
    oracle = "sp.betainc(a, b, x)",
    within = { f64 = "rel 1e-13" },
    derivative = "jsp.betainc(a, b, x)",
    points = { { 2, 3, 0.5 }, { 1, 1, 0.25 }, { 2.5, 0.5, 0.01 } },
})
of("np.special.i0e", {
    args = { { "x", from = -8, to = 8 } },
    accepts = "floats ints bool",
    oracle = "sp.i0e(x)",
    derivative = "smooth(lambda x: mp.exp(-abs(x)) * mp.besseli(0, x))(x)",
    points = { { 3 }, { -0.5 }, { 40 } },
})
of("np.special.i1", {
    args = { { "x", from = -8, to = 8 } },
    accepts = "floats ints bool",
    oracle = "known(sp.i1(x), (np.abs(x) > 800, np.sign(x) * np.inf))", -- where SciPy has NaN
    derivative = "smooth(lambda x: mp.besseli(1, x))(x)",
    points = { { 0 }, { 3 }, { -0.5 }, { 1e-6 } },
    also = {
        ["np.special.i0: infinite where it is too large"] = function()
            for _, value in ipairs { 719, 721, 1e5, -2147483648, 1e300 } do
                check.equal(np.i0(np.array(value, { dtype = "f64" })):item(), math.huge)
            end
            check.ok(np.isnan(np.i0(np.array(np.nan))):item(), "a NaN is hidden")
        end,
    },
})
of("np.special.i1e", {
    args = { { "x", from = -8, to = 8 } },
    accepts = "floats ints bool",
    oracle = "sp.i1e(x)",
    derivative = "smooth(lambda x: mp.exp(-abs(x)) * mp.besseli(1, x))(x)",
    points = { { 3 }, { -0.5 }, { 40 } },
})
of("np.special.j0", {
    args = { { "x", from = -8, to = 8 } },
    accepts = "floats u8 i8 i16 u16 bool",
    oracle = "known(sp.j0(x), (np.isinf(x), 0))", -- where SciPy has NaN
    within = { f64 = "abs 2e-15", f32 = "abs 6e-8", f16 = "abs 5e-4", bf16 = "abs 4e-3" },
    derivative = "smooth(lambda x: mp.besselj(0, x))(x)",
    points = { { 0 }, { 3 }, { 40 } },
})
of("np.special.j1", {
    args = { { "x", from = -8, to = 8 } },
    accepts = "floats u8 i8 i16 u16 bool",
    oracle = "known(sp.j1(x), (np.isinf(x), 0))",
    within = { f64 = "abs 2e-15", f32 = "abs 6e-8", f16 = "abs 5e-4", bf16 = "abs 4e-3" },
    derivative = "smooth(lambda x: mp.besselj(1, x))(x)",
    points = { { 0 }, { 3 }, { 40 }, { 1e-6 } },
})
of("np.special.zeta", {
    args = { { "s", from = 1.25, to = 6, grad = false }, { "q", from = 0.25, to = 6 } },
    accepts = "floats ints",
    -- SciPy hides a NaN for s = 1, finds a whole number in -inf, and has a NaN where all terms vanish.
    oracle = "known(sp.zeta(s, q), (np.isposinf(s) & (q > 1), 0), "
        .. "(np.isnan(s) | np.isnan(q) | np.isneginf(q) & (s != 1), np.nan))",
    derivative = "jsp.zeta(s, q)",
    points = { { 2, 1 }, { 3.5, 20 } },
})

-- ---- What is made of rows -------------------------------------------------------------------------------------------

of("np.special.beta", {
    args = { { "a", from = 0.2, to = 30 }, { "b", from = 0.2, to = 30 } },
    accepts = "floats ints",
    oracle = "sp.beta(a, b)",
    special = false,
    without = { special = "SciPy, JAX and PyTorch differ about zeros and infinities; a test of its own holds NaN" },
    also = { ["np.special.beta: NaN"] = keeps_nan(np.special.beta) },
    within = { f64 = "rel 1e-13", f32 = "ulp 4" },
    derivative = "jsp.beta(a, b)",
    points = { { 1, 1 }, { 0.5, 3 }, { 200, 300 } },
})
of("np.special.gammasgn", {
    args = { "x" },
    accepts = "floats ints bool",
    oracle = "sp.gammasgn(x)",
    derivative = "0 * x",
    points = { { 0 }, { -0.5 }, { 2 } },
})
of("np.special.polygamma", {
    args = { { "n", from = 0, to = 4, grad = false, special = { 0, 1, 2 }, make = function(random, dims, dtype)
        local list = {}
        for k = 1, np.prod(np.array(dims)):item() do list[k] = random(5) - 1 end
        return require "tests.lib.contract_cases".array(list, dims, dtype)
    end }, { "x", from = 0.25, to = 6 } },
    accepts = "floats ints",
    options = { {}, { n = 0 }, { n = 1 }, { n = 2 }, { n = 3 } },
    call = function(f, o, n, x) return f(o.n or n, x, o.nonsense and o) end,
    oracle = "known(sp.polygamma(np.asarray(o['n']) if 'n' in o else n, x) + 0 * n, "
        .. "(np.isneginf(x), np.nan), ((x > 1e300) & (x < np.inf) & (n > 0), 0))",
    within = { f64 = "rel 1e-14" },
    derivative = "jsp.polygamma(o.get('n', n), x)",
    points = { { 0, 2, o = { n = 1 } }, { 0, 3, o = { n = 0 } } },
})
same("np.polygamma", "np.special.polygamma")
of("np.special.multigammaln", {
    args = { { "x", from = 2.25, to = 9 } },
    accepts = "floats ints",
    options = { { d = 1 }, { d = 2 }, { d = 5 } },
    call = function(f, o, x) return f(x, o.d, o.nonsense and o) end,
    oracle = "known(multigammaln(x, o['d']), ((x == 5e-324) & (o['d'] == 1), 744.44007192138127))",
    derivative = "jsp.multigammaln(x, o['d'])",
    points = { { 3, o = { d = 2 } } },
})
same("np.mvlgamma", "np.special.multigammaln")
of("np.special.factorial", {
    args = { { "n", from = 0, to = 12 } },
    accepts = "floats ints bool",
    oracle = "np.where(n < 0, 0, sp.gamma(np.maximum(n, 0) + 1))",
    derivative = "jsp.factorial(n)",
    points = { { 3 }, { 0.5 } },
})
of("np.special.comb", {
    args = { { "n", from = 4, to = 12 }, { "k", from = 0, to = 4 } },
    accepts = "floats ints",
    oracle = "sp.comb(n, k)",
    special = false,
    without = { special = "SciPy, JAX and PyTorch differ about infinities; a test of its own holds NaN" },
    also = { ["np.special.comb: NaN"] = keeps_nan(np.special.comb) },
    within = { f64 = "rel 1e-13" },
    derivative = "jnp.exp(jsp.gammaln(n + 1) - jsp.gammaln(k + 1) - jsp.gammaln(n - k + 1))",
    points = { { 5, 2 }, { 7.5, 1.25 } },
})
of("np.special.xlogy", {
    args = { "x", { "y", from = 0.1, to = 4 } },
    accepts = "floats ints bool",
    oracle = "sp.xlogy(x, y)",
    derivative = "x * jnp.log(y)",
    points = { { 0, 2 }, { 0, 0.5 }, { { 0, 1 }, { 2, 3 } }, { 1e-300, 2 } },
    also = {
        ["np.special.xlogy: derivatives at the origin"] = function()
            local x, y = np.grad(np.special.xlogy, { argnums = { 1, 2 } })(np.array(0), np.array(0))
            check.equal({ x:item(), y:item() }, { -math.huge, 0 })
        end,
    },
})
same("np.xlogy", "np.special.xlogy")
of("np.special.xlog1py", {
    args = { "x", { "y", from = -0.9, to = 4 } },
    accepts = "floats ints bool",
    oracle = "sp.xlog1py(x, y)",
    derivative = "x * jnp.log1p(y)",
    points = { { 0, 2 }, { 0, -0.5 }, { { 0, 1 }, { 2, 3 } }, { 2, 1e-9 } },
})
of("np.special.entr", {
    args = { { "x", from = 0.05, to = 3 } },
    accepts = "floats ints bool",
    oracle = "sp.entr(x)",
    derivative = "jsp.entr(x)",
    points = { { 0.5 }, { 1 }, { 1e-300 }, { 0 } },
})
of("np.special.rel_entr", {
    args = { { "p", from = 0.1, to = 4 }, { "q", from = 0.1, to = 4 } },
    accepts = "floats ints bool",
    oracle = "sp.rel_entr(p, q)",
    derivative = "jsp.rel_entr(p, q)",
    points = { { 0.5, 0.25 }, { 1, 1 } },
})
of("np.special.kl_div", {
    args = { { "p", from = 0.1, to = 4 }, { "q", from = 0.1, to = 4 } },
    accepts = "floats ints bool",
    oracle = "kl_div(p, q)",
    within = { f64 = "mixed 1e-15", f32 = "mixed 5e-7" },
    derivative = "jsp.kl_div(p, q)",
    points = { { 0.5, 0.25 }, { 1, 1 } },
})
of("np.special.logit", {
    args = { { "x", from = 0.1, to = 0.9 } },
    accepts = "floats ints bool",
    oracle = "sp.logit(x)",
    derivative = "jsp.logit(x)",
    points = { { 0.25 }, { 0.5 }, { 0.75 }, { 1e-100 } },
})
same("np.logit", "np.special.logit")
of("np.special.ndtr", {
    args = { { "x", from = -6, to = 6 } },
    accepts = "floats ints bool",
    oracle = "sp.ndtr(x)",
    within = { f64 = "rel 1e-14" },
    derivative = "smooth(mp.ncdf)(x)",
    points = { { 0 }, { 1 }, { -9 } },
})
of("np.special.ndtri", {
    args = { { "p", from = 0.1, to = 0.9 } },
    accepts = "floats ints bool",
    oracle = "sp.ndtri(p)",
    within = { f64 = "abs 1e-14", f32 = "abs 1e-7" },
    derivative = "jsp.ndtri(p)",
    points = { { 0.5 }, { 0.25 }, { 1e-4 } },
})
of("np.special.log_ndtr", {
    args = { { "x", from = -9, to = 5 } },
    accepts = "floats ints bool",
    oracle = "sp.log_ndtr(x)",
    derivative = "smooth(lambda x: mp.log(mp.ncdf(x)))(x)",
    points = { { 0 }, { -1 }, { -0.5 }, { -30 }, { -1e4 }, { 6 } },
})
of("np.special.sinc", {
    args = { "x" },
    accepts = "floats u8 i8 i16 u16 bool complex",
    oracle = "known(sinc(x), (overflows(x * np.pi, dtypes['x']), np.nan))", -- as NumPy's
    within = { f64 = "abs 4e-16", f32 = "abs 1e-7", f16 = "ulp 1" },
    derivative = "smooth(lambda x: mp.sincpi(x))(x)",
    points = { { 0 }, { 1e-9 }, { 1e-5 }, { 1e-4 }, { 1e-3 }, { 0.1 }, { 0.25 }, { 0.5 }, { 1 }, { 3.25 } },
})
same("np.sinc", "np.special.sinc")

finish()
