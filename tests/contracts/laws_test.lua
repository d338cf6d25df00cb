--- laws_test.lua: contracts of the distributions of np.stats (tests/lib/contracts.lua): all functions of one in one
-- contract, those of probabilities in that of ppf.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "laws"

local FILE = "tests/contracts/laws_test.lua"
local OPTIONS = { {}, { loc = 0.5, scale = 2 } }
local SHAPES = { { { { 5 } }, { {} }, { { 0 } } }, { { { 5 }, { 5 } }, { {}, {} }, { { 3, 1 }, { 2 } } },
                 { { { 5 }, { 5 }, { 5 } }, { { 2, 1 }, { 3 }, {} } } }
local WHOLE = { norm = "f16 i32", gamma = "f16 i32", beta = "" } -- those that are held in all ways, further dtypes
local NAN = 0 / 0

--- The calls of a law's functions with one list of arguments.
local function calls(law, names)
    return function(_, o, ...)
        local given, results = { ... }, {}
        if next(o) ~= nil then given[#given + 1] = o end
        for name in names:gmatch "%S+" do results[#results + 1] = law[name](unpack(given)) end
        return results
    end
end

--- Floats as they are; of integers only the ends.
local function of_floats(list)
    return function(dtype) return dtype ~= "i32" and list or nil end
end

local LIKE_GAMMA = {}
for way in ("programs sizes mesh strided numbers"):gmatch "%S+" do
    LIKE_GAMMA[way] = "the loop is that of np.stats.gamma.ppf, whose contract holds it"
end

--- Reasons of a contract that leaves ways to others.
local function without(name, more)
    local reasons = {}
    for way in (WHOLE[name] and "" or "programs sizes vmap mesh strided jit numbers"):gmatch "%S+" do
        reasons[way] = "one file makes all distributions in one way: the contracts of norm, gamma and beta hold it"
    end
    for way, reason in pairs(more or {}) do reasons[way] = reason end
    return reasons
end

local function titles(parameters)
    local list = {}
    for k, spec in ipairs(parameters) do list[k] = ", " .. spec[1] end
    return table.concat(list)
end

local TAILS = { norm = {}, t = {}, gamma = {}, beta = {} } -- those whose sf has a contract of its own
local OF_X, OF_P = "pdf logpdf cdf logcdf sf logsf", "ppf isf"

--- A continuous distribution: its parameters, { name, from, to }, what is drawn for x, the special values of x, fields
-- of the contract.
local function continuous(name, parameters, x, special, more)
    local law = np.stats[name]
    local oracle = "law('%s', '%s', %s" .. titles(parameters):gsub("%%", "%%%%") .. ", **o)"
    for _, spec in ipairs(parameters) do spec.special = of_floats { NAN, 0, -1 } end
    local quantiles = { "p", from = 0.01, to = 0.99, special = of_floats { NAN, 0, 1, -0.5, 2, 0.5 } }
    local contract = {
        args = { { "x", from = x[1], to = x[2], special = of_floats(special) }, unpack(parameters) },
        accepts = "f64 f32 " .. (WHOLE[name] or ""),
        shapes = SHAPES[#parameters + 1], options = OPTIONS, call = calls(law, OF_X),
        oracle = oracle:format(name, OF_X, "x"), without = without(name),
        within = { f64 = "rel 2e-13" }, slope = 1e-5, smooth = 1,
        also = {
            ["the ends"] = function()
                local ends = np.array({ -math.huge, math.huge }, { dtype = "f64" })
                local given = {}
                for k = 1, #parameters do given[k] = 2 end
                check.equal(law.pdf(ends, unpack(given)):totable(), { 0, 0 })
                check.equal(law.cdf(ends, unpack(given)):totable(), { 0, 1 })
                check.equal(law.logsf(ends, unpack(given)):totable(), { 0, -math.huge })
            end,
            ["what is no scale"] = function()
                local given = {}
                for k = 1, #parameters do given[k] = 2 end
                given[#given + 1] = { scale = np.array { 0, -1, NAN } }
                for _, value in ipairs(law.cdf(np.full({ 3 }, 1.5), unpack(given)):totable()) do
                    check.ok(value ~= value, value)
                end
            end,
        },
        refuses = { { "argument 1 %(x%)", function() law.pdf() end }, { "unknown option 'lok'", function()
            local given = { 1 }
            for k = 1, #parameters do given[k + 1] = 2 end
            given[#given + 1] = { lok = 1 }
            law.cdf(unpack(given))
        end } },
    }
    for field, value in pairs(more or {}) do contract[field] = value end
    of("np.stats." .. name, contract)
    local inverse = {
        args = { quantiles, unpack(parameters) }, accepts = name == "norm" and "f64 f16" or "f64",
        shapes = contract.shapes, options = OPTIONS,
        call = calls(law, OF_P), oracle = oracle:format(name, OF_P, "p"), within = contract.within, slope = 1e-4,
        smooth = 1, without = without(name, name == "beta" and LIKE_GAMMA), first_only = contract.first_only,
    }
    of("np.stats." .. name .. ".ppf", inverse)
    for other in (OF_X .. " isf"):gmatch "%S+" do
        local apart = other == "sf" and TAILS[name] or other == "logpdf" and (name == "beta" or name == "t")
        local reason = ("the contracts of np.stats.%s and its ppf call all of its functions"):format(name)
        if not apart then elsewhere("np.stats." .. name .. "." .. other, FILE, reason) end
    end
end

local ROUGHER = { within = { f64 = "rel 1e-11" } } -- logarithms of densities near 1 have few digits
local ONCE = { first_only = true } -- np.special.gammainc has no second derivative with respect to a

continuous("norm", {}, { -5, 5 }, { NAN, 0, -30, 40, 1e-300 })
continuous("uniform", {}, { 0.55, 0.95 }, { NAN, 0, 1, -1, 2 })
continuous("expon", {}, { 0.6, 5 }, { NAN, 0, -1, 1e-12, 700 })
continuous("laplace", {}, { -5, 5 }, { NAN, 0, -700, 700, 1e-12 })
continuous("logistic", {}, { -5, 5 }, { NAN, 0, -700, 700, 1e-12 })
continuous("cauchy", {}, { -5, 5 }, { NAN, 0, -1e10, 1e10, 1e-12 })
continuous("weibull_min", { { "c", from = 0.5, to = 3 } }, { 0.6, 3 }, { NAN, 0, -1, 1 }, ROUGHER)
continuous("pareto", { { "b", from = 0.5, to = 3 } }, { 2.75, 6 }, { NAN, 0, 1, 1e10 })
continuous("lognorm", { { "s", from = 0.25, to = 2 } }, { 0.6, 5 }, { NAN, 0, 1, -1, 1e10 })
continuous("gamma", { { "a", from = 0.25, to = 30 } }, { 0.6, 30 }, { NAN, 0, 1, -1, 200 }, ONCE)
continuous("chi2", { { "df", from = 0.5, to = 60 } }, { 0.6, 60 }, { NAN, 0, 1, -1, 400 }, ONCE)
continuous("beta", { { "a", from = 0.25, to = 30, grad = false }, { "b", from = 0.25, to = 30, grad = false } },
           { 0.55, 0.95 }, { NAN, 0, 1, -1 })
continuous("t", { { "df", from = 0.5, to = 60, grad = false } }, { -5, 5 }, { NAN, 0, 1, -50, 1e-12 })
continuous("f", { { "dfn", from = 0.5, to = 30, grad = false }, { "dfd", from = 0.5, to = 30, grad = false } },
           { 0.6, 6 }, { NAN, 0, 1, -1, 100 }, ROUGHER)

-- ---- Discrete ones --------------------------------------------------------------------------------------------------

local OF_K, COUNTED = "pmf logpmf cdf logcdf sf logsf", "counts are whole numbers, which have no derivative"

--- A discrete distribution: what is drawn for k, its parameters, fields of the contract.
local function discrete(name, k, parameters, more)
    local law = np.stats[name]
    local contract = {
        args = { { "k", dtype = "i32", from = k[1], to = k[2] }, unpack(parameters) }, accepts = "f64 f32",
        options = { {}, { loc = -1 } }, call = calls(law, OF_K), within = { f64 = "rel 1e-12" }, slope = 1e-5,
        oracle = ("law('%s', '%s', k" .. titles(parameters) .. ", **o)"):format(name, OF_K), smooth = 1,
        shapes = { {}, {} }, without = without(name),
        also = {
            ["what no count is"] = function()
                local given = {}
                for j = 1, #parameters do given[j] = parameters[j].dtype and 3 or 0.5 end
                check.equal(law.pmf(np.array({ 0.5, -3, math.huge }, { dtype = "f64" }), unpack(given)):totable(),
                            { 0, 0, 0 })
                for f in OF_K:gmatch "%S+" do
                    check.ok(np.isnan(law[f](np.array { NAN }, unpack(given))):item(), f)
                    check.ok(np.isnan(law[f](NAN, unpack(given))):item(), f)
                end
                for _, wrong in ipairs { NAN, -1, -0.5 } do
                    given[#parameters] = wrong
                    local value = law.cdf(np.array { -3, 1, 90 }, unpack(given)):totable()
                    check.ok(value[1] ~= value[1] and value[2] ~= value[2] and value[3] ~= value[3], wrong)
                end
            end,
        },
        refuses = { { "argument 2", function() law.pmf(1) end } },
    }
    for j = 1, #parameters + 1 do contract.shapes[1][j], contract.shapes[2][j] = { 12 }, {} end
    for field, value in pairs(more or {}) do contract[field] = value end
    of("np.stats." .. name, contract)
    local inverse = {
        args = { { "q", from = 0.01, to = 0.99, special = { NAN, 0, 1, -0.5, 2, 0.5 } }, unpack(parameters) },
        accepts = "f64 f32", shapes = contract.shapes, options = { {}, { loc = -1 } }, call = calls(law, OF_P),
        oracle = ("law('%s', '%s', q" .. titles(parameters) .. ", **o)"):format(name, OF_P),
        within = "exact", special = contract.special,
        without = without(name, { derivatives = COUNTED, special = contract.without.special
            or name == "geom" and "SciPy's quantiles are 0 where each trial succeeds; held below" or nil }),
    }
    if name == "geom" then
        inverse.special = false
        inverse.also = { ["no probabilities, and a sure one"] = function()
            check.equal(law.ppf(np.array { 0, 0.3, 1, 1 }, np.array { 0.5, 1, 0.5, 1 }):totable(),
                        { 0, 1, math.huge, math.huge })
            check.ok(np.isnan(law.isf(np.array { 2, 0.5, NAN }, np.array { 0.5, 0, 0.5 })):all():item(), "NaN")
        end }
    end
    of("np.stats." .. name .. ".ppf", inverse)
    for other in (OF_K .. " isf"):gmatch "%S+" do
        elsewhere("np.stats." .. name .. "." .. other, FILE, "the contract of np.stats." .. name
            .. " calls all of its functions")
    end
end

local P = { "p", from = 0.05, to = 0.95, special = { NAN, 0, 1 } }
discrete("bernoulli", { 0, 1 }, { P }, {
    options = { {}, { loc = 0 } },
    without = without("bernoulli", { derivatives = "of two values one has an infinite logarithm" }),
})
discrete("binom", { 0, 9 }, { { "n", dtype = "i32", from = 10, to = 60 }, P })
discrete("geom", { 1, 30 }, { { "p", from = 0.05, to = 0.95, special = { NAN, 1, -0.5, 2 } } })
discrete("nbinom", { 0, 40 }, { { "n", from = 0.5, to = 30, grad = false, special = { NAN, -1 } },
                                { "p", from = 0.05, to = 0.95, special = { NAN, 1 } } })
discrete("poisson", { 0, 40 }, { { "mu", from = 0.5, to = 30, special = { NAN, 0, -1, 800 } } })
local M, SMALL = { "M", dtype = "i32", from = 30, to = 60 }, { "n", dtype = "i32", from = 5, to = 30 }
discrete("hypergeom", { 0, 20 }, { M, SMALL, { "N", dtype = "i32", from = 5, to = 30 } }, {
    gives = "f32", accepts = "f64", without = without("hypergeom", { derivatives = COUNTED, special = COUNTED }),
    within = { f32 = "rel 1e-6" },
})

-- Far out, against many digits; around the degrees of freedom from which on another formula counts.
TAILS.t = { args = { { "x", from = 0, to = 40 }, { "df", from = 1, to = 20000, grad = false } },
            oracle = "exact(t_tail, x, df)" }
TAILS.gamma = { args = { { "x", from = 20, to = 600 }, { "a", from = 0.01, to = 40, grad = false } },
                oracle = "exact(lambda x, a: mp.gammainc(a, x, mp.inf, regularized=True), x, a)" }
TAILS.beta = { args = { { "x", from = 0.8, to = 0.9999 }, { "a", from = 0.1, to = 9, grad = false },
                        { "b", from = 5, to = 60, grad = false } },
               oracle = "exact(lambda x, a, b: mp.betainc(b, a, 0, 1 - x, regularized=True), x, a, b)" }
TAILS.norm = { args = { { "x", from = 0, to = 37 } }, oracle = "exact(lambda x: mp.erfc(x / mp.sqrt(2)) / 2, x)" }
for _, name in ipairs { "norm", "t", "gamma", "beta" } do
    local contract = TAILS[name]
    contract.accepts, contract.shapes, contract.within = "f64", { { {}, {}, {} } }, { f64 = "rel 1e-12" }
    for k = 1, #contract.args do contract.shapes[1][k] = { 24 } end
    contract.special, contract.without = false, {}
    for way in ("special strided numbers jit programs sizes vmap mesh derivatives options"):gmatch "%S+" do
        contract.without[way] = "the contract of np.stats." .. name .. " holds it; this is about far tails"
    end
    of("np.stats." .. name .. ".sf", contract)
end

--- Slopes of densities with respect to parameters, against JAX; distribution functions have none.
local function slopes_of(name, args, points)
    local words = name .. ".logpdf(" .. args[1][1] .. titles { unpack(args, 2) } .. ")"
    local contract = { args = args, accepts = "f64", points = points, special = false, without = {}, options = { {} },
                       oracle = "scipy.stats." .. words, derivative = "jax.scipy.stats." .. words,
                       shapes = { { {}, {}, {} } }, within = { f64 = "rel 1e-12" } }
    for way in ("special strided numbers jit programs sizes vmap mesh derivatives options"):gmatch "%S+" do
        contract.without[way] = "the contract of np.stats." .. name .. " holds it; this is about parameters"
    end
    of("np.stats." .. name .. ".logpdf", contract)
end
slopes_of("beta", { { "x", from = 0.1, to = 0.9 }, { "a", from = 1, to = 9 }, { "b", from = 1, to = 9 } },
          { { 0.3, 2, 3 }, { { 0.1, 0.9 }, { 0.5, 400 }, { 0.25, 44 } } })
check.test("np.stats.t of infinitely many degrees of freedom is normal", function()
    local x, law, normal = np.array({ -9, 0.3, 2 }, { dtype = "f64" }), np.stats.t, np.stats.norm
    for _, df in ipairs { 1e18, math.huge } do
        for name, value in pairs { logpdf = x, cdf = x, sf = x, ppf = normal.cdf(x) } do
            check.close(law[name](value, df):totable(), normal[name](value):totable(), 1e-12, name)
        end
    end
    local p = np.array({ 1e-12, 0.9 }, { dtype = "f64" }) -- both formulas of quantiles meet
    check.close((law.ppf(p, 0.999e8) / law.ppf(p, 1.001e8)):totable(), { 1, 1 }, 1e-9)
    check.raises(function() return law.pfd end, "np.stats.t has no 'pfd'")
end)

check.test("np.stats.t has its digits far out, where a square overflows, and slopes there and at 0", function()
    local law, cauchy = np.stats.t, np.stats.cauchy
    for _, row in ipairs { -- p, df and the quantile, of 60 digits of mpmath
        { 1e-5, 1, -31830.988607907089037 },
        { 1e-17, 0.1, -1.6044257056665336311e+166 },
        { 1e-25, 0.1, -1.6044257056665177552e+246 },
        { 1e-100, 0.5, -1.0284911563163399707e+199 },
        { 1e-200, 1, -3.1830988618379067724e+199 },
        { 1e-300, 1, -3.1830988618379066356e+299 },
        { 1e-300, 2, -7.0710678118654751554e+149 },
        { 1e-300, 30, -50178575360.505080714 },
    } do
        local p, x = np.array({ row[1] }, { dtype = "f64" }), np.array({ row[3] }, { dtype = "f64" })
        check.close((law.ppf(p, row[2]) / row[3]):item(), 1, 1e-12, row[1])
        check.close((law.isf(p, row[2]) / -row[3]):item(), 1, 1e-12, row[1])
        check.close((law.cdf(x, row[2]) / row[1]):item(), 1, 1e-12, row[1])
    end
    local p = np.array({ 1e-150, 1e-100, 1e-40, 0.3 }, { dtype = "f64" })
    local function slopes(f, x) return np.grad(function(y) return f(y):sum() end)(x) end
    local quotient = slopes(function(y) return law.ppf(y, 1) end, p) / slopes(cauchy.ppf, p)
    check.close(quotient:totable(), { 1, 1, 1, 1 }, 1e-12)
    local x = np.array({ -1e200, -1e20, -1e-12, 0, 0.1, 1e20 }, { dtype = "f64" })
    local slope = slopes(function(y) return law.cdf(y, 1) end, x)
    check.close((slope - cauchy.pdf(x)):totable(), { 0, 0, 0, 0, 0, 0 }, 1e-15)
    check.close((slope / cauchy.pdf(x))[1]:item(), 1, 1e-12)
end)

slopes_of("t", { { "x" }, { "df", from = 1, to = 9 } }, { { 0.5, 3 }, { -4, 0.75 }, { { 1, 9 }, { 30, 2000 } } })

of("np.stats.multivariate_normal", {
    args = { "x", "mean", "root" }, accepts = "f64 f32",
    shapes = { { { 2, 3 }, { 3 }, { 3, 3 } }, { { 3 }, {}, { 3, 3 } } },
    call = function(law, _, x, mean, root, extra)
        local cov = np.matmul(root, np.matrix_transpose(root)) + np.eye(3, { dtype = root.dtype })
        return law.logpdf(x, mean, cov, extra), law.pdf(x, mean, cov, extra)
    end,
    oracle = "normal_vectors(x, mean, root)", within = { f64 = "mixed 1e-12", f32 = "mixed 1e-4" }, special = false,
    divided = { f64 = "mixed 1e-12", f32 = "mixed 1e-4" }, vmapped = { f64 = "mixed 1e-12", f32 = "mixed 1e-4" },
    slope = 1e-5,
    without = { special = "np.linalg.cholesky says what it gives for those",
                refusals = "a test of its own refuses what it does not take",
                numbers = "a matrix is no number", sizes = "the sizes of the matrix are those of the test" },
    also = {
        ["covariances in a batch"] = function()
            local cov = np.array({ { { 2, 1 }, { 1, 2 } }, { { 1, 0 }, { 0, 3 } } }, { dtype = "f64" })
            local x = np.array({ { 1, 2 }, { 3, 1 } }, { dtype = "f64" })
            local all = np.stats.multivariate_normal.logpdf(x, 0, cov)
            for k = 0, 1 do
                check.close(np.stats.multivariate_normal.logpdf(x[k], 0, cov[k]):item(), all[k]:item(), 1e-14)
            end
        end,
        ["what does not fit"] = function()
            local law = np.stats.multivariate_normal
            check.raises(function() law.pdf(np.ones(2), 0, np.eye(3)) end, "expected x")
            check.raises(function() law.pdf(np.ones(3), np.ones(2), np.eye(3)) end, "expected x")
            check.raises(function() law.pdf(np.ones(3), 0, np.eye(3), {}) end, "takes 3 arguments")
            local value = law.pdf(np.ones(2), 0, np.array { { 1, 2 }, { 2, 1 } }):item()
            check.ok(value ~= value, value)
        end,
    },
})
elsewhere("np.stats.multivariate_normal.logpdf np.stats.multivariate_normal.pdf", FILE,
    "the contract of np.stats.multivariate_normal calls both")

finish()
