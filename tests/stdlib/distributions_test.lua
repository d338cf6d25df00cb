--- distributions_test.lua (under tsan with --long): np.random's distributions against what they are: means and
-- variances of many numbers at a fixed key, whose error is within 5 standard deviations; the greatest distance from a
-- distribution function; shapes, dtypes, batches, programs, derivatives; streams. tests/golden/distributions_test.lua
-- compares with JAX.
local np = require "neap"
local check = require "tests.lib.check"

local random, special = np.random, np.special
local COUNT = 20000
local key = random.key(42)

--- The mean and the variance, within 5 standard deviations; `fourth`: the fourth central moment.
local function check_moments(what, x, mean, variance, fourth)
    x = x:astype "f64"
    check.ok(np.isfinite(x):all():item(), what .. ": all are finite")
    check.close(x:mean():item(), mean, 5 * math.sqrt(variance / COUNT), what .. ": mean")
    check.close(((x - mean) ^ 2):mean():item(), variance, 5 * math.sqrt((fourth - variance ^ 2) / COUNT),
                what .. ": variance")
end

--- The test of Kolmogorov and Smirnov: sqrt(n) times the distance is above 2.2 once in 10,000 times.
local function check_distribution(what, x, distribution)
    local sorted = np.sort(x:astype "f64")
    local levels = distribution(sorted)
    local steps = np.arange(COUNT, { dtype = "f64" }) / COUNT
    local distance = np.maximum(np.abs(levels - steps), np.abs(levels - steps - 1 / COUNT)):max():item()
    check.ok(distance * math.sqrt(COUNT) < 2.2, ("%s: the distance is %.5f"):format(what, distance))
end

local n = { COUNT }
local function f64(x) return np.array(x, { dtype = "f64" }) end
local CONTINUOUS = {
    { "laplace", {}, function(x) return np.where(np.less(x, 0), np.exp(x) / 2, 1 - np.exp(-x) / 2) end },
    { "logistic", {}, special.expit }, { "cauchy", {}, function(x) return np.atan(x) / math.pi + 0.5 end },
    { "rayleigh", { 2 }, function(x) return 1 - np.exp(-x * x / 8) end },
    { "weibull_min", { 1.5, 2 }, function(x) return 1 - np.exp(-(x / 1.5) ^ 2) end },
    { "triangular", { -1, 0.5, 2 }, function(x)
        return np.where(np.less(x, 0.5), (x + 1) ^ 2 / 4.5, 1 - (2 - x) ^ 2 / 4.5)
    end },
    { "pareto", { 3 }, function(x) return 1 - x ^ -3 end },
    { "lognormal", { 0.5 }, function(x) return special.ndtr(np.log(x) / 0.5) end },
    { "maxwell", {}, function(x) return special.gammainc(f64(1.5), x * x / 2) end },
    { "double_sided_maxwell", { 1, 2 }, function(x)
        local side = special.gammainc(f64(1.5), ((x - 1) / 2) ^ 2 / 2) / 2
        return np.where(np.less(x, 1), 0.5 - side, 0.5 + side)
    end },
    { "wald", { 2 }, function(x)
        local root = np.sqrt(1 / x)
        return special.ndtr(root * (x / 2 - 1)) + math.exp(1) * special.ndtr(-root * (x / 2 + 1))
    end },
    { "gamma", { 0.3 }, function(x) return special.gammainc(f64(0.3), x) end },
    { "gamma", { 2.5 }, function(x) return special.gammainc(f64(2.5), x) end },
    { "gamma", { 100 }, function(x) return special.gammainc(f64(100), x) end },
    { "loggamma", { 3 }, function(x) return special.gammainc(f64(3), np.exp(x)) end },
    { "chisquare", { 4 }, function(x) return special.gammainc(f64(2), x / 2) end },
    { "f", { 4, 6 }, function(x) return special.betainc(2, 3, 4 * x / (4 * x + 6)) end },
    { "t", { 5 }, function(x)
        local side = special.betainc(2.5, 0.5, 5 / (x * x + 5)) / 2
        return np.where(np.less(x, 0), side, 1 - side)
    end },
    { "beta", { 2, 3 }, function(x) return special.betainc(2, 3, x) end },
    { "generalized_normal", { 3 }, function(x)
        local side = special.gammainc(f64(1 / 3), np.abs(x) ^ 3) / 2
        return np.where(np.less(x, 0), 0.5 - side, 0.5 + side)
    end },
}

for _, case in ipairs(CONTINUOUS) do
    local name, parameters, distribution = unpack(case)
    check.test(name .. " has its distribution", function()
        for _, dtype in ipairs { "f32", "f64" } do
            local arguments = { unpack(parameters) }
            arguments[#arguments + 1], arguments[#arguments + 2] = n, { dtype = dtype }
            local x = random[name](key, unpack(arguments))
            check.equal({ x.shape, x.dtype }, { n, dtype })
            check_distribution(name .. " of " .. dtype, x, distribution)
        end
    end)
end

check.test("counts have their moments", function()
    for _, mean in ipairs { 0.5, 4, 9.5, 11, 300 } do
        check_moments("poisson", random.poisson(key, mean, n), mean, mean, mean + 3 * mean ^ 2)
    end
    for _, case in ipairs { { 10, 0.5 }, { 40, 0.02 }, { 100, 0.3 }, { 1000, 0.95 } } do
        local count, p = unpack(case)
        local variance = count * p * (1 - p)
        check_moments("binomial", random.binomial(key, count, p, n), count * p, variance,
                      variance * (1 + 3 * (count - 2) * p * (1 - p)))
    end
    local p = 0.25
    check_moments("geometric", random.geometric(key, p, n), 1 / p, (1 - p) / p ^ 2,
                  (1 - p) * (9 - 9 * p + p ^ 2) / p ^ 4)
    check_moments("rademacher", random.rademacher(key, n), 0, 1, 1.5)
end)

check.test("vectors have their means and covariances", function()
    local mean, cov = np.array { 1, -2 }, np.array { { 2, 0.5 }, { 0.5, 1 } }
    for _, method in ipairs { "cholesky", "eigh", "svd" } do
        local x = random.multivariate_normal(key, mean, cov, n, { method = method })
        check.equal(x.shape, { COUNT, 2 })
        local off = x - mean
        check.close(x:mean { axis = 0 }:totable(), { 1, -2 }, 0.06)
        check.close((np.matmul(off.T, off) / COUNT):totable(), { { 2, 0.5 }, { 0.5, 1 } }, 0.12)
    end
    local parts = random.dirichlet(key, np.array { 1, 2, 3 }, n)
    check.close(parts:sum { axis = 1 }:totable()[1], 1, 1e-6)
    check.close(parts:mean { axis = 0 }:totable(), { 1 / 6, 2 / 6, 3 / 6 }, 0.01)
    local counts = random.multinomial(key, 10, np.broadcast_to(np.array { 0.2, 0.3, 0.5 }, { 2000, 3 }))
    check.equal(counts:sum { axis = 1 }:eq(10):all():item(), true)
    check.close(counts:mean { axis = 0 }:totable(), { 2, 3, 5 }, 0.2)
    local q = random.orthogonal(key, 3, { 5 })
    check.close(np.matmul(q, np.matrix_transpose(q)):totable()[3], np.eye(3):totable(), 1e-6)
    local points = random.ball(key, 2, { 2000 })
    local radius = np.sqrt((points ^ 2):sum { axis = 1 })
    check.ok(radius:max():item() <= 1 and math.abs(radius:mean():item() - 2 / 3) < 0.03, "points of the disk")
end)

check.test("parameters broadcast, and shapes are refused that they do not fit", function()
    local a = np.array { { 1 }, { 2 } }
    check.equal(random.beta(key, a, np.ones { 3 }).shape, { 2, 3 })
    check.equal(random.gamma(key, a, { 4, 2, 5 }).shape, { 4, 2, 5 })
    check.equal(random.poisson(key, 3).shape, {})
    check.equal(random.gamma(key, 1, { 0 }).shape, { 0 })
    check.equal(random.double_sided_maxwell(key, np.zeros { 2 }, 1, { 3 }).shape, { 3, 2 })
    check.raises(function() random.gamma(key, a, { 3 }) end, "of shape %(2, 1%) do not fit into shape %(3,%)")
    check.raises(function() random.gamma(key, "a") end, "random.gamma: argument 2 %(a%) must be a number or an array")
    check.raises(function() random.gamma(1, 1) end, "random.gamma: argument 1 %(key%)")
    check.raises(function() random.laplace(key, 2, { size = 3 }) end, "unknown option 'size'")
    check.raises(function() random.gamma(key, 1, 2, { dtype = "i32" }) end, "needs a float dtype")
end)

check.test("batches, programs and derivatives of gamma numbers", function()
    local keys, a = random.split(key, 3), np.array { 0.5, 2, 30 }
    local each = np.vmap(function(k, alpha) return random.gamma(k, alpha, { 4 }) end)(keys, a)
    local counts = np.vmap(function(k) return random.poisson(k, 5, { 4 }) end)(keys)
    for k = 0, 2 do
        check.equal(each[k]:totable(), random.gamma(keys[k], a[k], { 4 }):totable())
        check.equal(counts[k]:totable(), random.poisson(keys[k], 5, { 4 }):totable())
    end
    check.equal(np.jit(function(k) return random.binomial(k, 9, 0.5, { 8 }) end)(key):totable(),
                random.binomial(key, 9, 0.5, { 8 }):totable())
    -- Numbers of one key move along with alpha: differences, in f64, where no comparison changes.
    local alphas, step = np.array({ 1.5, 3, 40 }, { dtype = "f64" }), 1e-6
    for _, name in ipairs { "gamma", "loggamma" } do
        local function draw(x) return random[name](key, x, { 3 }, { dtype = "f64" }) end
        local slope = np.grad(function(x) return draw(x):sum() end)(alphas)
        local _, tangent = np.jvp(draw, { alphas }, { np.ones_like(alphas) })
        check.close(tangent:totable(), slope:totable(), 1e-12, name)
        check.ok(slope:min():item() > 0, name .. " grows with alpha")
        local x = draw(alphas)
        local along = name == "gamma" and x or np.exp(x)
        local function level(alpha) return special.gammainc(alpha, along) end
        local density = np.exp((alphas - 1) * np.log(along) - along - np.lgamma(alphas))
        local want = -(level(alphas + step) - level(alphas - step)) / (2 * step) / density
        check.close(slope:totable(), (name == "gamma" and want or want / along):totable(), 1e-6, name)
    end
end)

check.test("a stream splits its key for each draw", function()
    local rng, again = random.stream(3), random.default_rng(3)
    local first, second = rng:normal { 3 }, rng:normal { 3 }
    check.ok(first:totable()[1] ~= second:totable()[1], "two draws differ")
    check.equal(again:normal({ 3 }):totable(), first:totable())
    check.equal(again:normal({ 3 }):totable(), second:totable())
    local keys = random.split(random.key(3))
    check.equal(first:totable(), random.normal(keys[1], { 3 }):totable())
    check.equal(rng:key().shape, { 2 })
    check.equal(rng:gamma(2, { 4 }).shape, { 4 })
    check.raises(function() rng:nomral { 3 } end, "there is no rng:nomral")
    check.raises(function() rng.normal { 3 } end, "with a colon")
    check.raises(function() np.jit(function(x) return x + rng:normal { 3 } end)(np.ones(3)) end, "inside of np.jit")
    check.raises(function() np.grad(function(x) return (x * rng:normal { 3 }):sum() end)(np.ones(3)) end, "pass a key")
end)

check.test("of 16 bits: all distributions; those that are computed in f32 are rounded once", function()
    local with = { -- parameters, and whether f32 is what they are computed in
        laplace = { {}, true }, logistic = { {}, true }, cauchy = { {}, true }, gamma = { { 2.5 }, true },
        loggamma = { { 0.5 }, true }, chisquare = { { 4 }, true }, f = { { 4, 6 }, true }, t = { { 5 }, true },
        beta = { { 2, 3 }, true }, dirichlet = { { np.array { 1, 2, 3 } }, true },
        generalized_normal = { { 3 }, true }, ball = { { 2 }, true }, binomial = { { 10, 0.5 }, true },
        multinomial = { { 10, np.array { 0.25, 0.25, 0.5 } }, true }, rayleigh = { { 2 } }, weibull_min = { { 1, 2 } },
        triangular = { { 0, 1, 2 } }, pareto = { { 3 } }, lognormal = { { 0.5 } }, maxwell = { {} }, wald = { { 2 } },
        double_sided_maxwell = { { 0, 1 } }, uniform = { {} }, normal = { {} }, exponential = { {} }, gumbel = { {} },
        truncated_normal = { { -1, 1 } }, multivariate_normal = { { np.zeros(2), np.eye(2) } },
    }
    for name, case in pairs(with) do
        local function draw(dtype)
            local arguments = { unpack(case[1]) }
            arguments[#arguments + 1], arguments[#arguments + 2] = { 3 }, { dtype = dtype }
            return random[name](key, unpack(arguments))
        end
        for _, dtype in ipairs { "f16", "bf16" } do
            local x = draw(dtype)
            check.equal({ x.dtype, x:dim(0) }, { dtype, 3 }, name)
            if case[2] then check.equal(x:totable(), draw("f32"):astype(dtype):totable(), name) end
        end
    end
    check.equal(random.laplace(key, { dtype = "bf16" }).dtype, "bf16", "without a shape")
end)

check.test("randint: bounds in order, and all arguments", function()
    check.raises(function() random.randint(key, { 3 }, 10, 5) end, "minval 10 is not below maxval 5")
    check.raises(function() random.randint(key, { 3 }, 5, 5) end, "minval 5 is not below maxval 5")
    check.raises(function() random.randint(key, 0, 10) end, "randint%(key, shape, minval, maxval%)")
    check.raises(function() random.randint(key, 0, 10, { 3 }) end, "maxval%): the shape {3} stands last")
    check.equal(random.randint(key, { 0 }, 5, 5).shape, { 0 })
end)

check.done()
