--- stats_test.lua: contracts of the tests and descriptions of np.stats (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, _, held = require "tests.lib.contracts" "stats"

local NAN = 0 / 0
local ALL = "where one element is no number the results are none"
local NEAR = { f64 = "mixed 1e-12" }
local RANKED = "ranks and counts have no slope"

--- The options with an axis, with which data of two axes are tried.
local ONE = { { { 7 } }, { { 3, 4 } } }
local TWO = { { { 7 }, { 7 } }, { { 5, 2 }, { 5, 2 } } }
local NOT_ONE = { { { 7 }, { 5 } }, { { 4, 2 }, { 3, 2 } } }
local AXES, SIDES = { {}, { axis = -1 } }, { {}, { axis = -1, alternative = "less" }, { alternative = "greater" } }

--- A contract of data along an axis.
local function data(name, contract)
    local defaults = {
        args = { "x" }, accepts = "f64 f32 f16 i32", shapes = ONE, options = AXES, within = NEAR, slope = 1e-4,
        special = false, divided = { f64 = "mixed 1e-12", f32 = "mixed 1e-6", f16 = "ulp 1" },
        oracle = "scipy." .. name:sub(4) .. "(x, **o)",
    }
    for key, value in pairs(contract or {}) do defaults[key] = value end
    defaults.without = { special = ALL }
    for way, reason in pairs(contract and contract.without or {}) do defaults.without[way] = reason end
    of(name, defaults)
end

--- Raises unless a value is NaN.
local function is_nan(x) check.ok(x:item() ~= x:item(), x:item()) end

-- ---- What describes data --------------------------------------------------------------------------------------------

data("np.stats.sem", { options = { {}, { axis = -1 }, { ddof = 0 } } })
data("np.stats.zscore", {
    options = { {}, { axis = -1 }, { ddof = 1 } },
    also = { ["of equal elements"] = function() is_nan(np.stats.zscore(np.full({ 3 }, 0.1)):max()) end },
})
data("np.stats.skew", {
    options = { {}, { axis = -1, bias = false } },
    also = { ["of equal elements"] = function() is_nan(np.stats.skew(np.full({ 7 }, 0.1))) end },
})
data("np.stats.kurtosis", {
    options = { {}, { axis = -1, bias = false }, { fisher = false } },
    also = { ["of equal elements"] = function() is_nan(np.stats.kurtosis(np.full({ 7 }, 0.1))) end },
})
data("np.stats.iqr", {
    options = { {}, { axis = 0 }, { axis = -1, rng = { 10, 80 } } },
    refuses = { { "percents in order", function() np.stats.iqr(np.ones(3), { rng = { 75, 25 } }) end },
                { "percents in order", function() np.stats.iqr(np.ones(3), { rng = 25 }) end } },
})
data("np.stats.entropy", {
    args = { { "pk", from = 0.1, to = 4 }, { "qk", from = 0.1, to = 4 } }, shapes = TWO,
    options = { {}, { base = 2 }, { axis = -1 }, { alone = true } },
    call = function(f, o, pk, qk)
        local given = {}
        for key, value in pairs(o) do given[key] = key ~= "alone" and value or nil end
        if o.alone then return f(pk, given) end
        return f(pk, qk, given)
    end,
    oracle = "scipy.stats.entropy(pk, None if 'alone' in o else qk, **{k: v for k, v in o.items() if k != 'alone'})",
    unseen = {}, without = { numbers = "a number has no axis" },
    refuses = { { "above 0", function() np.stats.entropy(np.ones(3), { base = 1 }) end },
                { "must have an axis", function() np.stats.entropy(np.array(1)) end } },
})
data("np.stats.describe", {
    options = { {}, { axis = -1, bias = false, ddof = 0 } },
    call = function(f, o, x)
        local d = f(x, next(o) and o)
        return d.min, d.max, d.mean, d.variance, d.skewness, d.kurtosis
    end,
    oracle = "described(x, o)", divided = { f64 = "mixed 1e-11", f32 = "mixed 1e-5", f16 = "ulp 1" },
    also = { ["the number of elements"] = function()
        check.equal(np.stats.describe(np.ones { 3, 4 }).nobs, 3)
        check.equal(np.stats.describe(np.ones { 3, 4 }, { axis = 1 }).nobs, 4)
    end },
})

--- Integers from 0 to 3, among which some are equal, in a dtype.
local function tied(random, dims, dtype)
    local size = 1
    for _, n in ipairs(dims) do size = size * n end
    local list = {}
    for k = 1, size do list[k] = random(4) - 1 end
    return np.array(list, { dtype = dtype }):reshape(dims)
end

data("np.stats.rankdata", {
    args = { { "x", make = tied } }, accepts = "f64 f32 i32 u8", gives = "f64",
    options = { {}, { axis = -1, method = "min" }, { axis = 0, method = "max" }, { method = "dense" },
                { axis = -1, method = "ordinal" } },
    without = { derivatives = RANKED }, refuses = { { '"ordinal"', function()
        np.stats.rankdata(np.ones(3), { method = "first" })
    end } },
    also = { ["NaN"] = function()
        local x = np.array { { 1, NAN, 2 }, { 3, 1, 2 } }
        is_nan(np.stats.rankdata(x):min())
        check.equal(np.stats.rankdata(x, { axis = 1 })[1]:totable(), { 3, 1, 2 })
        local wide = np.array({ 2LL ^ 53, 2LL ^ 53 + 1 }, { dtype = "i64" })
        check.equal(np.stats.rankdata(wide):totable(), { 1, 2 })
    end },
})
data("np.stats.mode", {
    args = { { "x", make = tied } }, accepts = "f64 f32 i32 u8", gives = { "same", "i32" },
    oracle = "tuple(scipy.stats.mode(x, **o))", without = { derivatives = RANKED },
    also = { ["NaN"] = function()
        local mode, count = np.stats.mode(np.array { NAN, 1, 1, NAN, NAN })
        is_nan(mode)
        check.equal(count:item(), 3)
    end },
})

-- ---- Tests ----------------------------------------------------------------------------------------------------------

local TESTED = "tuple(scipy.stats.%s(%s, **o))[:2]"
--- Derivatives of p-values by a law whose parameters are fixed.
local function tested(name, words, contract)
    contract.oracle = contract.oracle or TESTED:format(name, words)
    data("np.stats." .. name, contract)
end

tested("ttest_1samp", "x, 0.5", {
    options = SIDES, call = function(f, o, x) return f(x, 0.5, next(o) and o) end,
    also = {
        ["means of an array"] = function()
            local x = np.array { { 1, 2 }, { 3, 5 }, { 4, 4 } }
            local t = np.stats.ttest_1samp(x, np.array { 1, 2 })
            check.close(t[1]:item(), (np.stats.ttest_1samp(x:transpose()[1], 2)):item(), 1e-6)
        end,
        ["too little"] = function()
            local t, p = np.stats.ttest_1samp(np.ones(1), 0)
            is_nan(t)
            is_nan(p)
        end,
    },
    refuses = { { "popmean", function() np.stats.ttest_1samp(np.ones(3)) end },
                { '"greater"', function() np.stats.ttest_1samp(np.ones(3), 0, { alternative = "more" }) end },
                { "axis 1", function() np.stats.ttest_1samp(np.ones(3), 0, { axis = 1 }) end },
                { "complex", function() np.stats.ttest_1samp(np.ones(3, { dtype = "c64" }), 0) end } },
})
tested("ttest_rel", "x, y", {
    args = { "x", "y" }, shapes = TWO, options = SIDES, without = { numbers = "a number has no axis" },
    refuses = { { "one shape", function() np.stats.ttest_rel(np.ones(3), np.ones(4)) end },
                { "argument 2", function() np.stats.ttest_rel(np.ones(3)) end } },
})
tested("ttest_ind", "x, y", {
    args = { "x", "y" }, shapes = NOT_ONE, options = { {}, { alternative = "less" }, { alternative = "greater" },
                                                       { axis = 0 } },
    refuses = { { "argument 2", function() np.stats.ttest_ind(np.ones(3)) end } }, unseen = { equal_var = "below" },
    also = {
        ["Welch"] = function() -- of R's t.test(c(1, 2, 3, 10), c(2, 2, 1, 5))
            local x, y = np.array({ 1, 2, 3, 10 }, { dtype = "f64" }), np.array({ 2, 2, 1, 5 }, { dtype = "f64" })
            local t, p = np.stats.ttest_ind(x, y, { equal_var = false })
            check.close(t:item(), 0.676481425202546, 1e-12)
            check.close(p:item(), 0.535435822079816, 1e-12)
        end,
        ["one number"] = function()
            local t, p = np.stats.ttest_ind(np.array({ 1, 2, 3, 10 }, { dtype = "f64" }), np.array { 2 })
            check.close(t:item(), 0.4381780460041329, 1e-12)
            check.close(p:item(), 0.6908900883636657, 1e-12)
        end,
    },
})
tested("f_oneway", "x, y, z", {
    args = { "x", "y", "z" }, shapes = { { { 4 }, { 5 }, { 6 } }, { { 3, 2 }, { 4, 2 }, { 3, 2 } } },
    options = { {}, { axis = 0 } }, without = { numbers = "a number has no axis" },
    refuses = { { "two samples", function() np.stats.f_oneway(np.ones(3)) end } },
})
tested("chisquare", "x, y * x.sum(o.get('axis', 0), keepdims=True) / y.sum(o.get('axis', 0), keepdims=True)", {
    args = { { "x", from = 5, to = 30 }, { "y", from = 5, to = 30 } }, shapes = TWO,
    options = { {}, { axis = -1 }, { ddof = 2 } }, accepts = "f64 f32",
    call = function(f, o, x, y)
        local over = { axis = o.axis or 0, keepdims = true }
        return f(x, y * x:sum(over) / y:sum(over), next(o) and o)
    end,
    within = { f64 = "mixed 1e-12", f32 = "mixed 1e-4" }, divided = { f64 = "mixed 1e-12", f32 = "mixed 1e-4" },
    unseen = { sum_check = "below" }, without = { numbers = "a number has no axis" },
    also = { ["sums that are not equal"] = function()
        local x, y = np.array { 10, 20 }, np.array { 10, 21 }
        is_nan((np.stats.chisquare(x, y)))
        check.close((np.stats.chisquare(x, y, { sum_check = false })):item(), 1 / 21, 1e-6)
        check.close((np.stats.chisquare(x)):item(), 100 / 30, 1e-6)
    end },
})
tested("chi2_contingency", "x", {
    args = { { "x", from = 5, to = 30 } }, shapes = { { { 2, 3, 2 } }, { { 2, 2 } }, { { 3, 1 } } },
    options = { {}, { correction = false } },
    call = function(f, o, x)
        local statistic, p, _, expected = f(x, next(o) and o)
        return statistic, p, expected
    end,
    oracle = "[scipy.stats.chi2_contingency(x, **o)[k] for k in (0, 1, 3)]", smooth = 1,
    also = { ["degrees of freedom"] = function()
        check.equal((select(3, np.stats.chi2_contingency(np.ones { 3, 4 }))), 6)
    end },
})
tested("pearsonr", "x, y", {
    args = { "x", "y" }, shapes = TWO, options = SIDES, without = { numbers = "a number has no axis" },
    oracle = "tuple(scipy.stats.pearsonr(x, y, **o))",
    also = { ["two pairs, and equal numbers"] = function()
        local r, p = np.stats.pearsonr(np.array { 1, 2 }, np.array { 5, 3 })
        check.equal({ r:item(), p:item() }, { -1, 1 })
        r, p = np.stats.pearsonr(np.full({ 3 }, 0.1), np.array { 5, 3, 4 })
        is_nan(r)
        is_nan(p)
    end },
    refuses = { { "two pairs", function() np.stats.pearsonr(np.ones(1), np.ones(1)) end } },
})
tested("spearmanr", "x, y", {
    args = { "x", "y" }, shapes = { { { 7 }, { 7 } } }, options = { {}, { alternative = "less" },
                                                                  { axis = 0, alternative = "greater" } },
    without = { numbers = "a number has no axis", derivatives = RANKED },
    also = { ["integers beyond 2^53"] = function()
        for _, dtype in ipairs { "i64", "u64" } do
            local x = np.array({ 2 ^ 53 + 2, 9007199254740993LL, 9007199254740992LL, 5 }, { dtype = dtype })
            for _, test in ipairs { np.stats.spearmanr, np.stats.kendalltau } do
                check.equal(test(x, np.array { 4, 3, 2, 1 }):item(), 1, dtype)
                check.equal(test(np.array { 4, 3, 2, 1 }, x):item(), 1, dtype)
            end
        end
    end },
})
tested("linregress", "x, y", {
    args = { "x", "y" }, shapes = TWO, options = SIDES, without = { numbers = "a number has no axis" },
    oracle = "regressed(x, y, o)",
    also = { ["two points, and a level line"] = function()
        local slope, _, r, p = np.stats.linregress(np.array { 1, 2 }, np.array { 3, 3 })
        check.equal({ slope:item(), p:item() }, { 0, 1 })
        is_nan(r)
        slope, _, r, p = np.stats.linregress(np.array { 1, 2, 4 }, np.array { 3, 3, 3 })
        check.equal(slope:item(), 0)
        is_nan(r)
        is_nan(p)
    end },
})

-- ---- Ranks and resampling -------------------------------------------------------------------------------------------

data("np.stats.mannwhitneyu", {
    args = { { "x", make = tied }, "y" }, accepts = "f64 f32",
    shapes = { { { 12 }, { 9 } }, { { 4, 1 }, { 5, 1 } } }, -- of several columns SciPy takes one method for all
    options = { {}, { alternative = "less" }, { alternative = "greater", use_continuity = false }, { axis = 0 },
                { method = "asymptotic" }, { method = "exact" } },
    oracle = "tuple(scipy.stats.mannwhitneyu(x, y, **o))", within = { f64 = "mixed 1e-12", f32 = "mixed 1e-6" },
    without = { numbers = "a number has no axis", derivatives = RANKED },
    also = { ["the exact law"] = function() -- of 15 pairs: each U in 1, 1, 2, 2, 3, 3, 2, 2, 1, 1 … of 21 orders
        local _, p = np.stats.mannwhitneyu(np.array({ 1, 2 }, { dtype = "f64" }), np.arange(3, 8),
                                           { alternative = "less" })
        check.close(p:item(), 1 / 21, 1e-14)
    end, ["integers beyond 2^53"] = function()
        for _, dtype in ipairs { "i64", "u64" } do
            local x = np.array({ 9007199254740993LL, 7 }, { dtype = dtype })
            local y = np.array({ 9007199254740992LL, 8 }, { dtype = dtype })
            check.equal(np.stats.mannwhitneyu(x, y):item(), 2, dtype)
            check.equal(np.stats.kstest(x:take { 0 }, y:take { 0 }):item(), 1, dtype)
        end
        check.equal(np.stats.mannwhitneyu(np.array({ 3, 5 }, { dtype = "i64" }), np.array { 2.5, 3.5 }):item(), 3)
    end },
    refuses = { { '"asymptotic"', function() np.stats.mannwhitneyu(np.ones(3), np.ones(3), { method = "fast" }) end },
                { "too many", function()
                    np.stats.mannwhitneyu(np.ones(2000), np.ones(2000), { method = "exact" })
                end } },
})

data("np.stats.kendalltau", {
    args = { { "x", make = tied }, "y" }, accepts = "f64 f32", shapes = { { { 9 }, { 9 } }, { { 4, 2 }, { 4, 2 } } },
    options = { {}, { alternative = "less" }, { alternative = "greater" }, { axis = 0, method = "asymptotic" },
                { method = "exact", free = true }, { method = "exact", alternative = "less", free = true },
                { alternative = "greater", free = true } },
    call = function(f, o, x, y)
        local options = {}
        for key, value in pairs(o) do options[key] = key ~= "free" and value or nil end
        return f(o.free and y * np.sin(y * 9) or x, y, next(options) and options)
    end,
    oracle = "kendall(y * np.sin(y * 9) if 'free' in o else x, y, o)",
    within = { f64 = "mixed 1e-12", f32 = "mixed 1e-6" }, unseen = {},
    without = { numbers = "a number has no axis", derivatives = RANKED },
    also = { ["equal numbers, and many"] = function()
        local tau, p = np.stats.kendalltau(np.ones(4), np.arange(4))
        is_nan(tau)
        is_nan(p)
        tau, p = np.stats.kendalltau(np.arange(40), np.arange(40))
        check.equal(tau:item(), 1)
        check.ok(p:item() < 1e-15, p:item())
    end, ["infinities, which are ordered, and NaN, which is not"] = function()
        local inf = math.huge
        local tau, p = np.stats.kendalltau(np.array { 1, 2, inf }, np.array { 1, 2, 3 })
        check.equal(tau:item(), 1)
        check.close(p:item(), 1 / 3, 1e-6)
        check.equal(np.stats.kendalltau(np.array { -inf, 2, inf }, np.array { 3, 2, -inf }):item(), -1)
        tau, p = np.stats.kendalltau(np.array { inf, inf, 1 }, np.array { 5, 5, -inf })
        check.equal(tau:item(), 1)
        check.close(p:item(), 0.15729920705028502, 1e-6) -- SciPy's, of equal pairs
        is_nan((np.stats.kendalltau(np.array { 1, 0 / 0, inf }, np.array { 1, 2, 3 })))
    end },
    refuses = { { "too many", function()
        np.stats.kendalltau(np.arange(40), np.arange(40), { method = "exact" })
    end }, { "two pairs", function() np.stats.kendalltau(np.ones(1), np.ones(1)) end } },
})

--- np.stats.kstest against the law of normal numbers, or of two samples.
local function kolmogorov(f, o, x, y)
    local given = {}
    for key, value in pairs(o) do given[key] = key ~= "two" and value or nil end
    return f(x, o.two and y or np.stats.norm.cdf, next(given) and given)
end

data("np.stats.kstest", {
    args = { "x", { "y", grad = false } }, accepts = "f64 f32", shapes = { { { 7 }, { 5 } }, { { 24, 2 }, { 19, 2 } } },
    options = { {}, { axis = 0, alternative = "less" }, { alternative = "greater" }, { method = "exact" },
                { method = "asymptotic" }, { two = true }, { two = true, alternative = "less" },
                { two = true, alternative = "greater" }, { two = true, method = "asymptotic" },
                { two = true, method = "asymptotic", alternative = "less" } },
    call = kolmogorov, oracle = "kolmogorov(x, y, o)", unseen = {}, first_only = true, smooth = 1,
    within = { f64 = "mixed 1e-12", f32 = "mixed 1e-6" }, without = { numbers = "a number has no axis" },
    refuses = {
        { '"asymptotic"', function() np.stats.kstest(np.ones(3), np.ones(3), { method = "fast" }) end },
        { "argument 2", function() np.stats.kstest(np.ones(3)) end },
        { "np.stats.norm.cdf", function() np.stats.kstest(np.ones(3), "norm") end },
        { "no data", function() np.stats.kstest(np.ones(0), np.stats.norm.cdf) end },
        { "one element", function() np.stats.kstest(np.ones(3), np.ones(0)) end },
        { "one shape", function() np.stats.kstest(np.ones { 3, 2 }, np.ones { 3, 4 }) end },
        { "one shape", function() np.stats.kstest(np.ones(3), np.mean) end },
    },
    also = {
        ["NaN, and equal samples"] = function()
            local d, p = np.stats.kstest(np.array { 1, NAN }, np.stats.norm.cdf)
            is_nan(d)
            is_nan(p)
            d, p = np.stats.kstest(np.arange(4), np.arange(4))
            check.equal({ d:item(), p:item() }, { 0, 1 })
        end,
        ["many elements"] = function() -- Durbin's matrix in 64 bits of a mantissa; twice SciPy's ksone.sf(0.08, 1500)
            local x = (np.arange(1500, { dtype = "f64" }) + 0.5) / 1500
            for d, expected in pairs { [0.02] = 0.5788956885936888, [0.08] = 8.48609981595134e-09 } do
                local _, p = np.stats.kstest(x, function(y) return y - (d - 0.5 / 1500) end)
                check.close(p:item(), expected, expected * 1e-9)
            end
        end,
    },
})

local COUNT = 200
of("np.stats.bootstrap", {
    args = { { "key", make = function(random)
        return np.array({ random(2 ^ 20), random(2 ^ 20) }, { dtype = "u32" })
    end }, "x", "y" },
    accepts = "f64", shapes = { { { 2 }, { 8 }, { 5 } } },
    options = { { method = "percentile" }, { method = "basic" }, { method = "BCa" },
                { method = "BCa", confidence_level = 0.8 } },
    call = function(f, o, key, x, y)
        local given = { n_resamples = COUNT }
        for name, value in pairs(o) do given[name] = value end
        local low, high, deviation = f(key, { x, y }, function(a, b) return a:mean() - 2 * b:mean() end, given)
        return low, high, deviation
    end,
    oracle = "bootstrapped(key, x, y, o)", special = false, unseen = { n_resamples = "200 in all" },
    within = { f64 = "abs 1e-12" }, vmapped = { f64 = "abs 1e-12" },
    without = { special = ALL, numbers = "samples have an axis", derivatives = "ends of intervals are chosen by rank",
                mesh = "keys and samples are drawn whole", strided = "a key is two words in order",
                sizes = "how many samples are drawn is a number" },
    refuses = {
        { "key", function() np.stats.bootstrap(1, np.ones(3), np.mean) end },
        { "a function", function() np.stats.bootstrap(np.random.key(0), np.ones(3), 1) end },
        { "two elements", function() np.stats.bootstrap(np.random.key(0), np.ones(1), np.mean) end },
        { '"BCa"', function() np.stats.bootstrap(np.random.key(0), np.ones(3), np.mean, { method = "t" }) end },
        { "between 0 and 1", function()
            np.stats.bootstrap(np.random.key(0), np.ones(3), np.mean, { confidence_level = 95 })
        end },
    },
})

held("np.stats", "each of its functions has a contract", {
    help = function() check.ok(require "neap.stats") end,
})

finish()
