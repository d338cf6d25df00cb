--- fits_test.lua: contracts of the fits of the distributions of np.stats (tests/lib/contracts.lua): parameters, and
-- the size of the likelihood there, which two searches share that end apart.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "fits"

local WHOLE = { norm = true, gamma = true } -- those that are held in all ways
local DRAWN = 2 ^ 24

--- Data of a law with these shapes, loc 0 and scale 2, in random order.
local function data(name, shapes)
    return function(random, dims, dtype)
        local p, size = {}, 1
        for _, n in ipairs(dims) do size = size * n end
        for k = 1, size do p[k] = (random(DRAWN) - 0.5) / DRAWN end
        local given = { np.array(p, { dtype = "f64" }), unpack(shapes) }
        given[#given + 1] = { scale = 2 }
        return np.astype(np.stats[name].ppf(unpack(given)):reshape(dims), dtype)
    end
end

local function fit(name, shapes, options, more)
    local law = np.stats[name]
    local contract = {
        args = { { "x", make = data(name, shapes) } }, accepts = WHOLE[name] and "f64 f32" or "f64",
        shapes = { { { 2, 12 } } }, options = options, first_only = more.searched,
        special = false, smooth = 1, slope = 1e-4,
        call = function(f, o, x)
            local found = { f(x, next(o) and o) }
            local at = { unpack(found, 1, #shapes) }
            at[#at + 1] = { loc = found[#shapes + 1], scale = found[#shapes + 2] }
            found[#found + 1] = np.mean(law.logpdf(x, unpack(at)))
            return unpack(found)
        end,
        oracle = ("fitted('%s', x, o)"):format(name), within = { f64 = "mixed 1e-6", f32 = "mixed 1e-4" },
        vmapped = { f64 = "mixed 1e-6", f32 = "mixed 1e-4" }, divided = { f64 = "mixed 1e-6", f32 = "mixed 1e-4" },
        without = { special = "numbers that are not finite are refused" }, unseen = {},
        refuses = {
            { "are NaN or infinite", function() law.fit(np.array { 1, 0 / 0 }) end },
            { "has no elements", function() law.fit(np.zeros(0)) end },
            { "complex", function() law.fit(np.array { np.complex(1, 1) }) end },
            { "'fscale' must be a number above 0", function() law.fit(np.array { 1, 2 }, { fscale = 0 }) end },
            { "'floc' must be a finite number", function() law.fit(np.array { 1, 2 }, { floc = 0 / 0 }) end },
            { "all parameters are fixed", function()
                local all = { floc = 0, fscale = 1 }
                for _, what in ipairs(more.parameters) do all["f" .. what] = 1 end
                law.fit(np.array { 1, 2 }, all)
            end },
            { "unknown option 'loc'", function() law.fit(np.array { 1, 2 }, { loc = 0 }) end },
            { "argument 1 %(x%)", function() law.fit() end },
        },
    }
    for way in (WHOLE[name] and "" or "programs sizes vmap mesh strided jit"):gmatch "%S+" do
        contract.without[way] = "one file makes all fits in one way: the contracts of norm and gamma hold it"
    end
    for _, other in ipairs { "fa", "fb", "fc", "fs", "fdf", "fdfn", "fdfd" } do
        contract.unseen[other] = "a parameter that this law does not have"
    end
    for _, what in ipairs(more.parameters) do contract.unseen["f" .. what] = nil end
    for _, case in ipairs(more.refuses or {}) do table.insert(contract.refuses, case) end
    of("np.stats." .. name .. ".fit", contract)
end

--- What a law above loc refuses.
local function above(name)
    return { "outside of where the fixed parameters", function()
        np.stats[name].fit(np.array { 1, 2, 3 }, { floc = 1.5, fscale = 1 })
    end }
end
local PLACES = { {}, { floc = 0.25 }, { fscale = 1.5 } }

fit("norm", {}, PLACES, { parameters = {} })
fit("laplace", {}, PLACES, { parameters = {} })
fit("logistic", {}, PLACES, { parameters = {}, searched = true })
fit("cauchy", {}, PLACES, { parameters = {}, searched = true })
fit("uniform", {}, { {}, { floc = -0.5 }, { fscale = 3 } }, { parameters = {}, refuses = {
    { "outside of where", function() np.stats.uniform.fit(np.array { 0, 2 }, { fscale = 1 }) end },
} })
fit("expon", {}, { {}, { floc = -0.5 }, { fscale = 3 } }, { parameters = {}, refuses = {
    { "outside of where", function() np.stats.expon.fit(np.array { 1, 2 }, { floc = 1.5 }) end },
} })
fit("t", { 0.8 }, { {}, { floc = 0 }, { fscale = 1.5, fdf = 3 } }, { searched = true, parameters = { "df" } })
fit("weibull_min", { 1.7 }, { { floc = 0 }, { floc = 0, fc = 1.5 }, { floc = -1, fscale = 2 } },
    { searched = true, parameters = { "c" }, refuses = { above "weibull_min" } })
fit("pareto", { 2.5 }, { { floc = 0 }, { fscale = 2 }, { floc = 0, fb = 2 } }, { parameters = { "b" }, refuses = {
    { "fix one, as in {floc=0}", function() np.stats.pareto.fit(np.array { 1, 2 }) end }, above "pareto",
} })
fit("lognorm", { 0.6 }, { { floc = 0 }, { fs = 0.5 }, { floc = 0, fscale = 2 } },
    { searched = true, parameters = { "s" }, refuses = { above "lognorm" } })
fit("gamma", { 5 }, { { floc = 0 }, { fa = 4 }, { floc = -0.5, fscale = 1.5 } },
    { searched = true, parameters = { "a" }, refuses = { above "gamma",
        { "grows without end", function() np.stats.gamma.fit(np.array { 2, 2, 2 }, { floc = 0 }) end } } })
fit("chi2", { 9 }, { { floc = 0 }, { fdf = 8, fscale = 2 } },
    { searched = true, parameters = { "df" }, refuses = { above "chi2" } })
fit("beta", { 2, 3 }, { { floc = 0, fscale = 2 }, { floc = -0.25, fscale = 2.5, fb = 2 },
    { floc = -0.25, fa = 2, fb = 3 } },
    { searched = true, parameters = { "a", "b" }, refuses = { { "outside of where", function()
        np.stats.beta.fit(np.array { 0.5, 1 }, { floc = 0, fscale = 1 })
    end } } })
fit("f", { 6, 2.5 }, { { floc = 0, fscale = 2 }, { floc = 0, fdfn = 6, fdfd = 3 } },
    { searched = true, parameters = { "dfn", "dfd" }, refuses = { above "f" } })

check.test("fits with free loc find the largest likelihood beside the end of the support", function()
    local p = (np.arange(80, { dtype = "f64" }) + 0.5) / 80
    local laws = { gamma = { 4 }, weibull_min = { 2.5 }, lognorm = { 0.5 }, chi2 = { 8 }, beta = { 3, 3 } }
    for name, shapes in pairs(laws) do
        local law, given = np.stats[name], { p, unpack(shapes) }
        given[#given + 1] = { loc = 1, scale = 2 }
        local x = law.ppf(unpack(given))
        local found = { law.fit(x) }
        local function height(values)
            local at = { unpack(values, 1, #shapes) }
            at[#at + 1] = { loc = values[#shapes + 1], scale = values[#shapes + 2] }
            return np.mean(law.logpdf(x, unpack(at))):item()
        end
        local truth = { unpack(shapes) }
        truth[#truth + 1], truth[#truth + 2] = 1, 2
        check.ok(height(found) >= height(truth), name)
        for k = 1, #found do
            for _, factor in ipairs { 1 - 1e-3, 1 + 1e-3 } do
                local beside = { unpack(found) }
                beside[k] = beside[k] * factor
                check.ok(height(beside) < height(found), name .. ": parameter " .. k)
            end
        end
    end
end)

check.test("in a trace what has no fit is NaN", function()
    for _, list in ipairs { { 1, 0 / 0, 2 }, { 2, 2, 2 }, { -1, 1, 2 } } do
        local a, loc, scale = np.jit(function(x) return np.stats.gamma.fit(x, { floc = 0 }) end)(np.array(list))
        check.ok(np.isnan(np.stack { a, loc, scale }):all():item(), list[1])
    end
end)

finish()
