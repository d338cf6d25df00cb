--- continuous.lua: the continuous distributions of np.stats, each a row (stats/family.lua), under the names and with
-- the parameters of scipy.stats and jax.scipy.stats.
--
-- x and the parameters are arrays or numbers, which broadcast. Results are those of f64, rounded once. They are NaN for
-- a scale or a parameter of the shape that is not above 0. Differentiable by x and by parameters, but for those that
-- only np.special.betainc is asked for.

--- {loc}: is taken from x; 0 without it. It may follow the parameters by position
--- {scale}: x less loc is divided by it; 1 without it. It may follow loc by position

local core = require "neap.core"
local densities = require "neap.stats.densities"
local family = require "neap.stats.family"
local incomplete = require "neap.stats.incomplete"

local np, special = core.np, core.np.special
local INF, LOG_PI = math.huge, math.log(math.pi)
local HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
local REAL, POSITIVE, UNIT = { -INF, INF }, { 0, INF }, { 0, 1 }

local stats = {}

local function define(name, row)
    stats[name] = family.continuous(name, row)
end

-- ---- Of elementary functions ----------------------------------------------------------------------------------------

--- np.stats.uniform, np.stats.uniform.pdf(x, {loc=0, scale=1}), np.stats.uniform.logpdf(x, {loc=0, scale=1}),
-- np.stats.uniform.cdf(x, {loc=0, scale=1}), np.stats.uniform.logcdf(x, {loc=0, scale=1}),
-- np.stats.uniform.sf(x, {loc=0, scale=1}), np.stats.uniform.logsf(x, {loc=0, scale=1}),
-- np.stats.uniform.ppf(p, {loc=0, scale=1}), np.stats.uniform.isf(q, {loc=0, scale=1}): the uniform distribution from
-- loc to loc + scale.
--- > np.stats.uniform.cdf(np.array{-1, 0.5, 3}, {scale=2})
-- [0.   0.25 1.  ]
define("uniform", {
    parameters = {}, support = UNIT, inside = 0.5,
    logpdf = function(z) return z * 0 end,
    cdf = function(z) return z end,
    sf = function(z) return 1 - z end,
    ppf = function(p) return p end,
    isf = function(q) return 1 - q end,
})

--- np.stats.expon, np.stats.expon.pdf(x, {loc=0, scale=1}), np.stats.expon.logpdf(x, {loc=0, scale=1}),
-- np.stats.expon.cdf(x, {loc=0, scale=1}), np.stats.expon.logcdf(x, {loc=0, scale=1}),
-- np.stats.expon.sf(x, {loc=0, scale=1}), np.stats.expon.logsf(x, {loc=0, scale=1}),
-- np.stats.expon.ppf(p, {loc=0, scale=1}), np.stats.expon.isf(q, {loc=0, scale=1}): the exponential distribution, of
-- density exp(-x); its mean is scale.
--- > np.stats.expon.sf(np.array{0, 1, 700})
-- [1.         0.36787945 0.        ]
define("expon", {
    parameters = {}, support = POSITIVE, inside = 1,
    logpdf = function(z) return 0 - z end,
    cdf = function(z) return 0 - np.expm1(0 - z) end,
    sf = function(z) return np.exp(0 - z) end,
    logsf = function(z) return 0 - z end,
    ppf = function(p) return 0 - np.log1p(0 - p) end,
    isf = function(q) return 0 - np.log(q) end,
})

--- np.stats.laplace, np.stats.laplace.pdf(x, {loc=0, scale=1}), np.stats.laplace.logpdf(x, {loc=0, scale=1}),
-- np.stats.laplace.cdf(x, {loc=0, scale=1}), np.stats.laplace.logcdf(x, {loc=0, scale=1}),
-- np.stats.laplace.sf(x, {loc=0, scale=1}), np.stats.laplace.logsf(x, {loc=0, scale=1}),
-- np.stats.laplace.ppf(p, {loc=0, scale=1}), np.stats.laplace.isf(q, {loc=0, scale=1}): the Laplace distribution, of
-- density exp(-|x|) / 2.
--- > np.stats.laplace.cdf(np.array{-1, 0, 1})
-- [0.18393973 0.5        0.8160603 ]
define("laplace", {
    parameters = {}, support = REAL, inside = 0, symmetric = true,
    logpdf = function(z) return -math.log(2) - np.abs(z) end,
    cdf = function(z)
        local tail = 0.5 * np.exp(0 - np.abs(z))
        return np.where(np.less(z, 0), tail, 1 - tail)
    end,
    logcdf = function(z)
        local size = np.abs(z)
        return np.where(np.less(z, 0), -math.log(2) - size, np.log1p(-0.5 * np.exp(0 - size)))
    end,
    ppf = function(p)
        local low = np.less(p, 0.5)
        local tail = np.log(2 * np.where(low, p, 1 - p))
        return np.where(low, tail, 0 - tail)
    end,
})

--- np.stats.logistic, np.stats.logistic.pdf(x, {loc=0, scale=1}), np.stats.logistic.logpdf(x, {loc=0, scale=1}),
-- np.stats.logistic.cdf(x, {loc=0, scale=1}), np.stats.logistic.logcdf(x, {loc=0, scale=1}),
-- np.stats.logistic.sf(x, {loc=0, scale=1}), np.stats.logistic.logsf(x, {loc=0, scale=1}),
-- np.stats.logistic.ppf(p, {loc=0, scale=1}), np.stats.logistic.isf(q, {loc=0, scale=1}): the logistic distribution,
-- whose distribution function is np.sigmoid.
--- > np.stats.logistic.logcdf(np.array{-1000, 0})
-- [-1.000000e+03 -6.931472e-01]
define("logistic", {
    parameters = {}, support = REAL, inside = 0, symmetric = true,
    logpdf = function(z)
        local size = np.abs(z)
        return 0 - size - 2 * np.log1p(np.exp(0 - size))
    end,
    cdf = function(z) return np.sigmoid(z) end,
    logcdf = function(z) return np.minimum(z, 0) - np.log1p(np.exp(0 - np.abs(z))) end,
    ppf = function(p) return special.logit(p) end,
})

--- np.stats.cauchy, np.stats.cauchy.pdf(x, {loc=0, scale=1}), np.stats.cauchy.logpdf(x, {loc=0, scale=1}),
-- np.stats.cauchy.cdf(x, {loc=0, scale=1}), np.stats.cauchy.logcdf(x, {loc=0, scale=1}),
-- np.stats.cauchy.sf(x, {loc=0, scale=1}), np.stats.cauchy.logsf(x, {loc=0, scale=1}),
-- np.stats.cauchy.ppf(p, {loc=0, scale=1}), np.stats.cauchy.isf(q, {loc=0, scale=1}): the Cauchy distribution, of
-- density 1 / (pi (1 + x²)).
--- > np.stats.cauchy.sf(np.array{0, 1, 1e6})
-- [5.0000000e-01 2.5000000e-01 3.1830987e-07]
define("cauchy", {
    parameters = {}, support = REAL, inside = 0, symmetric = true,
    logpdf = function(z) -- the square may overflow
        local size = np.abs(z)
        local large = np.greater(size, 1e8)
        local moderate = np.where(large, 1, z)
        return -LOG_PI - np.where(large, 2 * np.log(np.where(large, size, 1)), np.log1p(moderate * moderate))
    end,
    cdf = function(z) return np.atan2(1, 0 - z) / math.pi end,
    ppf = function(p)
        local low = np.less_equal(p, 0.5)
        local tail = np.where(low, p, 1 - p)
        local middle = np.greater(tail, 0.25)
        local near = np.tan((np.where(middle, tail, 0.5) - 0.5) * math.pi)
        return np.where(low, 1, -1) * np.where(middle, near, -1 / np.tan(np.where(middle, 0.1, tail) * math.pi))
    end,
})

--- np.stats.weibull_min, np.stats.weibull_min.pdf(x, c, {loc=0, scale=1}),
-- np.stats.weibull_min.logpdf(x, c, {loc=0, scale=1}), np.stats.weibull_min.cdf(x, c, {loc=0, scale=1}),
-- np.stats.weibull_min.logcdf(x, c, {loc=0, scale=1}), np.stats.weibull_min.sf(x, c, {loc=0, scale=1}),
-- np.stats.weibull_min.logsf(x, c, {loc=0, scale=1}), np.stats.weibull_min.ppf(p, c, {loc=0, scale=1}),
-- np.stats.weibull_min.isf(q, c, {loc=0, scale=1}): the Weibull distribution: x exceeds z with probability exp(-z^c).
--- > np.stats.weibull_min.sf(np.array{0, 1, 2}, 2)
-- [1.         0.36787945 0.01831564]
define("weibull_min", {
    parameters = { "c" }, support = POSITIVE, inside = 1,
    logpdf = function(z, c) return np.log(c) + special.xlogy(c - 1, z) - z ^ c end,
    cdf = function(z, c) return 0 - np.expm1(0 - z ^ c) end,
    sf = function(z, c) return np.exp(0 - z ^ c) end,
    logsf = function(z, c) return 0 - z ^ c end,
    ppf = function(p, c) return (0 - np.log1p(0 - p)) ^ (1 / c) end,
    isf = function(q, c) return (0 - np.log(q)) ^ (1 / c) end,
})

--- np.stats.pareto, np.stats.pareto.pdf(x, b, {loc=0, scale=1}), np.stats.pareto.logpdf(x, b, {loc=0, scale=1}),
-- np.stats.pareto.cdf(x, b, {loc=0, scale=1}), np.stats.pareto.logcdf(x, b, {loc=0, scale=1}),
-- np.stats.pareto.sf(x, b, {loc=0, scale=1}), np.stats.pareto.logsf(x, b, {loc=0, scale=1}),
-- np.stats.pareto.ppf(p, b, {loc=0, scale=1}), np.stats.pareto.isf(q, b, {loc=0, scale=1}): the Pareto distribution,
-- from 1 on: x exceeds z with probability z^-b.
--- > np.stats.pareto.sf(np.array{1, 10}, 3)
-- [1.    0.001]
define("pareto", {
    parameters = { "b" }, support = { 1, INF }, inside = 2,
    logpdf = function(z, b) return np.log(b) - (b + 1) * np.log(z) end,
    cdf = function(z, b) return 0 - np.expm1(0 - b * np.log(z)) end,
    sf = function(z, b) return np.exp(0 - b * np.log(z)) end,
    logsf = function(z, b) return 0 - b * np.log(z) end,
    ppf = function(p, b) return np.exp(0 - np.log1p(0 - p) / b) end,
    isf = function(q, b) return np.exp(0 - np.log(q) / b) end,
})

-- ---- Of the normal distribution -------------------------------------------------------------------------------------

--- np.stats.norm, np.stats.norm.pdf(x, {loc=0, scale=1}), np.stats.norm.logpdf(x, {loc=0, scale=1}),
-- np.stats.norm.cdf(x, {loc=0, scale=1}), np.stats.norm.logcdf(x, {loc=0, scale=1}),
-- np.stats.norm.sf(x, {loc=0, scale=1}), np.stats.norm.logsf(x, {loc=0, scale=1}),
-- np.stats.norm.ppf(p, {loc=0, scale=1}), np.stats.norm.isf(q, {loc=0, scale=1}): the normal distribution of mean loc
-- and standard deviation scale: density and its logarithm, the probability to stay below x, its logarithm, that to
-- exceed x, its logarithm, and the x of a probability p to stay below it, or q to exceed it.
--- > np.stats.norm.cdf(np.array{-10, 0, 1}), np.stats.norm.ppf(0.975)
-- [7.619853e-24 5.000000e-01 8.413448e-01]
-- 1.9599643
--- > np.stats.norm.logpdf(np.array{1, 2}, {loc=1, scale=2}), np.stats.norm.logpdf(np.array{1, 2}, 1, 2)
-- [-1.6120857 -1.7370857]
-- [-1.6120857 -1.7370857]
define("norm", {
    parameters = {}, support = REAL, inside = 0, symmetric = true,
    logpdf = function(z) return -0.5 * z * z - HALF_LOG_2PI end,
    cdf = function(z) return special.ndtr(z) end,
    logcdf = function(z) return special.log_ndtr(z) end,
    ppf = function(p) return special.ndtri(p) end,
})

--- np.stats.lognorm, np.stats.lognorm.pdf(x, s, {loc=0, scale=1}), np.stats.lognorm.logpdf(x, s, {loc=0, scale=1}),
-- np.stats.lognorm.cdf(x, s, {loc=0, scale=1}), np.stats.lognorm.logcdf(x, s, {loc=0, scale=1}),
-- np.stats.lognorm.sf(x, s, {loc=0, scale=1}), np.stats.lognorm.logsf(x, s, {loc=0, scale=1}),
-- np.stats.lognorm.ppf(p, s, {loc=0, scale=1}), np.stats.lognorm.isf(q, s, {loc=0, scale=1}): the log-normal
-- distribution: of exp(s n), n normal; its median is scale.
--- > np.stats.lognorm.cdf(np.array{0, 1, 2}, 0.5)
-- [0.        0.5       0.9171715]
define("lognorm", {
    parameters = { "s" }, support = POSITIVE, inside = 1,
    logpdf = function(z, s)
        local zero = np.equal(z, 0)
        local log = np.log(np.where(zero, 1, z))
        local value = -0.5 * np.square(log / s) - log - np.log(s) - HALF_LOG_2PI
        return np.where(zero, -INF, value)
    end,
    cdf = function(z, s) return special.ndtr(np.log(z) / s) end,
    sf = function(z, s) return special.ndtr(0 - np.log(z) / s) end,
    logcdf = function(z, s) return special.log_ndtr(np.log(z) / s) end,
    logsf = function(z, s) return special.log_ndtr(0 - np.log(z) / s) end,
    ppf = function(p, s) return np.exp(s * special.ndtri(p)) end,
    isf = function(q, s) return np.exp(0 - s * special.ndtri(q)) end,
})

-- ---- Of incomplete gamma and beta functions -------------------------------------------------------------------------

local gamma = {
    parameters = { "a" }, support = POSITIVE, inside = 1,
    logpdf = function(z, a) return densities.log_poisson(a - 1, z, a) end,
    cdf = function(z, a) return special.gammainc(a, z) end,
    sf = function(z, a) return special.gammaincc(a, z) end,
    ppf = incomplete.gamma, isf = incomplete.gamma_upper,
}
--- np.stats.gamma, np.stats.gamma.pdf(x, a, {loc=0, scale=1}), np.stats.gamma.logpdf(x, a, {loc=0, scale=1}),
-- np.stats.gamma.cdf(x, a, {loc=0, scale=1}), np.stats.gamma.logcdf(x, a, {loc=0, scale=1}),
-- np.stats.gamma.sf(x, a, {loc=0, scale=1}), np.stats.gamma.logsf(x, a, {loc=0, scale=1}),
-- np.stats.gamma.ppf(p, a, {loc=0, scale=1}), np.stats.gamma.isf(q, a, {loc=0, scale=1}): the gamma distribution of
-- shape a, of density x^(a - 1) exp(-x) / gamma(a); its rate is 1 / scale. logcdf and logsf are logarithms of cdf and
-- sf, so infinite where those are 0 (below 1e-308), as in SciPy.
--- > np.stats.gamma.pdf(np.array{1, 2}, 2, {scale=2}), np.stats.gamma.ppf(np.array{0.5, 0.99}, 2)
-- [0.15163267 0.18393973]
-- [1.678347  6.6383533]
define("gamma", gamma)

--- np.stats.chi2, np.stats.chi2.pdf(x, df, {loc=0, scale=1}), np.stats.chi2.logpdf(x, df, {loc=0, scale=1}),
-- np.stats.chi2.cdf(x, df, {loc=0, scale=1}), np.stats.chi2.logcdf(x, df, {loc=0, scale=1}),
-- np.stats.chi2.sf(x, df, {loc=0, scale=1}), np.stats.chi2.logsf(x, df, {loc=0, scale=1}),
-- np.stats.chi2.ppf(p, df, {loc=0, scale=1}), np.stats.chi2.isf(q, df, {loc=0, scale=1}): the chi-squared distribution
-- of df degrees of freedom: twice a gamma number of shape df / 2.
--- > np.stats.chi2.sf(np.array{3.84, 1000}, 1), np.stats.chi2.isf(0.05, 1)
-- [0.05004352 0.        ]
-- 3.8414588
define("chi2", {
    parameters = { "df" }, support = POSITIVE, inside = 1,
    logpdf = function(z, df) return gamma.logpdf(0.5 * z, 0.5 * df) - math.log(2) end,
    cdf = function(z, df) return gamma.cdf(0.5 * z, 0.5 * df) end,
    sf = function(z, df) return gamma.sf(0.5 * z, 0.5 * df) end,
    ppf = function(p, df) return 2 * gamma.ppf(p, 0.5 * df) end,
    isf = function(q, df) return 2 * gamma.isf(q, 0.5 * df) end,
})

--- np.stats.beta, np.stats.beta.pdf(x, a, b, {loc=0, scale=1}), np.stats.beta.logpdf(x, a, b, {loc=0, scale=1}),
-- np.stats.beta.cdf(x, a, b, {loc=0, scale=1}), np.stats.beta.logcdf(x, a, b, {loc=0, scale=1}),
-- np.stats.beta.sf(x, a, b, {loc=0, scale=1}), np.stats.beta.logsf(x, a, b, {loc=0, scale=1}),
-- np.stats.beta.ppf(p, a, b, {loc=0, scale=1}), np.stats.beta.isf(q, a, b, {loc=0, scale=1}): the beta distribution, of
-- density x^(a - 1) (1 - x)^(b - 1) / beta(a, b) from 0 to 1. Only densities have derivatives with respect to a and b.
-- Tails have the relative error of np.special.betainc, and some 1e-16 (a + b), as 1 - x is rounded.
--- > np.stats.beta.cdf(np.array{0.25, 0.5}, 2, 3), np.stats.beta.ppf(0.5, 2, 3)
-- [0.26171875 0.6875    ]
-- 0.38572758
define("beta", {
    parameters = { "a", "b" }, support = UNIT, inside = 0.5,
    logpdf = function(z, a, b) return densities.log_beta(a, b, z, 1 - z) end,
    cdf = function(z, a, b) return (incomplete.beta_parts(z, 1 - z, a, b)) end,
    sf = function(z, a, b) return (select(2, incomplete.beta_parts(z, 1 - z, a, b))) end,
    ppf = function(p, a, b) return np.sigmoid(incomplete.beta(p, a, b)) end,
    isf = function(q, a, b) return np.sigmoid(0 - incomplete.beta(q, b, a)) end,
})

--- np.stats.f, np.stats.f.pdf(x, dfn, dfd, {loc=0, scale=1}), np.stats.f.logpdf(x, dfn, dfd, {loc=0, scale=1}),
-- np.stats.f.cdf(x, dfn, dfd, {loc=0, scale=1}), np.stats.f.logcdf(x, dfn, dfd, {loc=0, scale=1}),
-- np.stats.f.sf(x, dfn, dfd, {loc=0, scale=1}), np.stats.f.logsf(x, dfn, dfd, {loc=0, scale=1}),
-- np.stats.f.ppf(p, dfn, dfd, {loc=0, scale=1}), np.stats.f.isf(q, dfn, dfd, {loc=0, scale=1}): the F distribution of
-- dfn and dfd degrees of freedom. Only densities have derivatives with respect to these.
--- > np.stats.f.sf(np.array{1, 4}, 2, 10)
-- [0.40187758 0.05292215]
define("f", {
    parameters = { "dfn", "dfd" }, support = POSITIVE, inside = 1,
    logpdf = function(z, m, n)
        local odds = m / n * z
        return densities.log_beta(0.5 * m, 0.5 * n, odds / (1 + odds), 1 / (1 + odds)) + np.log(m / n)
               - 2 * np.log1p(odds)
    end,
    cdf = function(z, m, n)
        local odds = m / n * z
        return (incomplete.beta_parts(odds / (1 + odds), 1 / (1 + odds), 0.5 * m, 0.5 * n))
    end,
    sf = function(z, m, n)
        local odds = m / n * z
        return (select(2, incomplete.beta_parts(odds / (1 + odds), 1 / (1 + odds), 0.5 * m, 0.5 * n)))
    end,
    ppf = function(p, m, n) return n / m * np.exp(incomplete.beta(p, 0.5 * m, 0.5 * n)) end,
    isf = function(q, m, n) return n / m * np.exp(0 - incomplete.beta(q, 0.5 * n, 0.5 * m)) end,
})

local MOST = 1e18 -- degrees of freedom from which on the t distribution is the normal one, in all digits
local LARGE = 1e8 -- from which on its quantiles are normal ones and two terms of a correction
local MANY = 1e4 -- degrees of freedom from which on Hill's normal number has all digits

--- A normal number that is as probable to be exceeded as z is by the t distribution of df degrees of freedom (G. W.
-- Hill, Student's t-distribution, Algorithm 395, 1970).
local function normal_of(z, df)
    local a = df - 0.5
    local b = 48 * a * a
    local zero = np.equal(z, 0)
    local size = np.where(zero, 1, z)
    local y = a * np.log1p(size / df * size)
    local series = ((((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b) + y + 3) / b + 1
    return np.where(zero, z, np.sign(size) * np.sqrt(y) * series)
end

local TINY = 1e-10 -- the size over the root of df below which the t distribution's density is that at 0
local FAR = 1e15 -- that from which on the leading term of the t distribution's tail has all digits

--- The probability of the t distribution to stay below z: the tail is half of I(df / (df + z²); df / 2, 1/2), far out
-- by the first term of its series, as the square may overflow.
local function t_cdf(z, df)
    df = np.minimum(df, MOST)
    local many = np.greater(df, MANY)
    local n = np.where(many, 1, df)
    local size = np.abs(z) / np.sqrt(n)
    local far, tiny = np.greater(size, FAR), np.less(size, TINY)
    local ratio = np.square(np.where(np.logical_or(many, np.logical_or(far, tiny)), 1, size))
    local near = np.less(np.abs(z), 0.7)
    local middle = 0.5 * special.betainc(0.5, 0.5 * n, np.where(near, ratio / (1 + ratio), 0))
    local tail = 0.5 * special.betainc(0.5 * n, 0.5, np.where(near, 1, 1 / (1 + ratio)))
    local whole = np.exp(special.betaln(0.5 * n, 0.5))
    tail = np.where(far, np.where(far, size, 1) ^ (0 - n) / (n * whole), tail)
    local below = np.less(z, 0)
    local few = np.where(near, np.where(below, 0.5 - middle, 0.5 + middle), np.where(below, tail, 1 - tail))
    few = np.where(tiny, 0.5 + np.where(tiny, z, 0) / (np.sqrt(n) * whole), few)
    return np.where(many, special.ndtr(normal_of(np.where(many, z, 0), np.where(many, df, MANY))), few)
end

--- np.stats.t, np.stats.t.pdf(x, df, {loc=0, scale=1}), np.stats.t.logpdf(x, df, {loc=0, scale=1}),
-- np.stats.t.cdf(x, df, {loc=0, scale=1}), np.stats.t.logcdf(x, df, {loc=0, scale=1}),
-- np.stats.t.sf(x, df, {loc=0, scale=1}), np.stats.t.logsf(x, df, {loc=0, scale=1}),
-- np.stats.t.ppf(p, df, {loc=0, scale=1}), np.stats.t.isf(q, df, {loc=0, scale=1}): Student's t distribution of df
-- degrees of freedom. Only densities have derivatives with respect to df.
--- > np.stats.t.sf(np.array{0, 2, 40}, 5), np.stats.t.ppf(0.975, 5)
-- [5.0000000e-01 5.0969739e-02 9.2059814e-08]
-- 2.5705829
define("t", {
    parameters = { "df" }, support = REAL, inside = 0, symmetric = true,
    logpdf = function(z, df)
        df = np.minimum(df, MOST)
        local size, root = np.abs(z), np.sqrt(df)
        local large = np.greater(size / root, 1e8)
        local ratio = np.where(large, 1, size / root)
        local log = np.where(large, 2 * (np.log(np.where(large, size, 1)) - np.log(root)), np.log1p(ratio * ratio))
        return -0.5 * (df + 1) * log - special.betaln(0.5 * df, 0.5) - 0.5 * np.log(df)
    end,
    cdf = t_cdf,
    ppf = function(p, df)
        local lower = np.less_equal(p, 0.5)
        local tail = np.where(lower, p, 1 - p)
        local large = np.greater(df, LARGE)
        local n, m = np.where(large, 1, df), np.where(large, df, LARGE)
        local few = np.sqrt(n) * np.exp(-0.5 * incomplete.beta(2 * tail, 0.5 * n, np.full_like(n, 0.5)))
        local z = 0 - special.ndtri(tail) -- the expansion of Cornish and Fisher
        local w = z * z
        local size = np.where(large, z + z * (w + 1) / (4 * m) + z * ((5 * w + 16) * w + 3) / (96 * m * m), few)
        return np.where(lower, 0 - size, size)
    end,
})

return stats
