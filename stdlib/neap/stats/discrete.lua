--- discrete.lua: the discrete distributions of np.stats, each a row (stats/family.lua), under the names and with the
-- parameters of scipy.stats and jax.scipy.stats.
--
-- k and the parameters are arrays or numbers, which broadcast; k less loc is a whole number, else its probability is 0.
-- Probabilities keep their digits for large parameters (stats/densities.lua). Results are NaN for parameters that are
-- none. The quantiles ppf and isf are whole numbers, found in a loop, without a derivative.

--- {loc}: is taken from k, or added to a quantile; 0 without it. It may follow the parameters by position

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local densities = require "neap.stats.densities"
local family = require "neap.stats.family"
local incomplete = require "neap.stats.incomplete"

local np, special = core.np, core.np.special
local INF = math.huge

local stats = {}

local function define(name, row)
    stats[name] = family.discrete(name, row)
end

local function is_probability(p) return np.logical_and(np.greater_equal(p, 0), np.less_equal(p, 1)) end
local function is_count(n) return np.logical_and(np.greater_equal(n, 0), np.equal(np.floor(n), n)) end

--- The probabilities that at most k of n trials succeed, and that more do; k is below n.
local function binomial_parts(k, n, p)
    local more, most = incomplete.beta_parts(p, 1 - p, k + 1, np.maximum(n - k, 0.5))
    return most, more
end

--- np.stats.bernoulli, np.stats.bernoulli.pmf(k, p, {loc=0}), np.stats.bernoulli.logpmf(k, p, {loc=0}),
-- np.stats.bernoulli.cdf(k, p, {loc=0}), np.stats.bernoulli.logcdf(k, p, {loc=0}), np.stats.bernoulli.sf(k, p,
-- {loc=0}), np.stats.bernoulli.logsf(k, p, {loc=0}), np.stats.bernoulli.ppf(q, p, {loc=0}), np.stats.bernoulli.isf(q,
-- p, {loc=0}): the Bernoulli distribution: 1 with probability p, else 0.
--- > np.stats.bernoulli.pmf(np.array{0, 1, 2}, 0.25)
-- [0.75 0.25 0.  ]
define("bernoulli", {
    parameters = { "p" }, valid = is_probability,
    ends = function() return 0, 1 end,
    logpmf = function(k, p) return special.xlog1py(1 - k, 0 - p) + special.xlogy(k, p) end,
    cdf = function(_, p) return 1 - p end,
    sf = function(_, p) return p end,
})

--- np.stats.binom, np.stats.binom.pmf(k, n, p, {loc=0}), np.stats.binom.logpmf(k, n, p, {loc=0}),
-- np.stats.binom.cdf(k, n, p, {loc=0}), np.stats.binom.logcdf(k, n, p, {loc=0}), np.stats.binom.sf(k, n, p, {loc=0}),
-- np.stats.binom.logsf(k, n, p, {loc=0}), np.stats.binom.ppf(q, n, p, {loc=0}), np.stats.binom.isf(q, n, p, {loc=0}):
-- the binomial distribution: how many of n trials of probability p succeed.
--- > np.stats.binom.pmf(np.array{0, 1, 2}, 2, 0.25), np.stats.binom.sf(60, np.array(100), 0.5)
-- [0.5625 0.375  0.0625]
-- 0.0176001
define("binom", {
    parameters = { "n", "p" },
    valid = function(n, p) return np.logical_and(is_count(n), is_probability(p)) end,
    ends = function(n) return 0, n end,
    logpmf = function(k, n, p) return densities.log_binomial(k, n - k, p, 1 - p) end,
    cdf = function(k, n, p) return (binomial_parts(k, n, p)) end,
    sf = function(k, n, p) return (select(2, binomial_parts(k, n, p))) end,
})

--- np.stats.geom, np.stats.geom.pmf(k, p, {loc=0}), np.stats.geom.logpmf(k, p, {loc=0}), np.stats.geom.cdf(k, p,
-- {loc=0}), np.stats.geom.logcdf(k, p, {loc=0}), np.stats.geom.sf(k, p, {loc=0}), np.stats.geom.logsf(k, p, {loc=0}),
-- np.stats.geom.ppf(q, p, {loc=0}), np.stats.geom.isf(q, p, {loc=0}): the geometric distribution: how many trials of
-- probability p come to the first that succeeds, from 1 on.
--- > np.stats.geom.pmf(np.array{1, 2, 3}, 0.5)
-- [0.5   0.25  0.125]
define("geom", {
    parameters = { "p" },
    valid = function(p) return np.logical_and(np.greater(p, 0), np.less_equal(p, 1)) end,
    ends = function() return 1, INF end,
    logpmf = function(k, p) return special.xlog1py(k - 1, 0 - p) + np.log(p) end,
    cdf = function(k, p) return 0 - np.expm1(k * np.log1p(0 - p)) end,
    sf = function(k, p) return np.exp(k * np.log1p(0 - p)) end,
    logsf = function(k, p) return k * np.log1p(0 - p) end,
})

--- np.stats.nbinom, np.stats.nbinom.pmf(k, n, p, {loc=0}), np.stats.nbinom.logpmf(k, n, p, {loc=0}),
-- np.stats.nbinom.cdf(k, n, p, {loc=0}), np.stats.nbinom.logcdf(k, n, p, {loc=0}), np.stats.nbinom.sf(k, n, p,
-- {loc=0}), np.stats.nbinom.logsf(k, n, p, {loc=0}), np.stats.nbinom.ppf(q, n, p, {loc=0}), np.stats.nbinom.isf(q, n,
-- p, {loc=0}): the negative binomial distribution: how many trials of probability p fail before the n-th that
-- succeeds. n may be any number above 0.
--- > np.stats.nbinom.pmf(np.array{0, 1, 2}, 2, 0.5)
-- [0.25   0.25   0.1875]
define("nbinom", {
    parameters = { "n", "p" },
    valid = function(n, p)
        return np.logical_and(np.greater(n, 0), np.logical_and(np.greater(p, 0), np.less_equal(p, 1)))
    end,
    ends = function() return 0, INF end,
    logpmf = function(k, n, p)
        return densities.log_binomial(n, k, p, 1 - p) + np.log(n / (n + k))
    end,
    cdf = function(k, n, p) return (incomplete.beta_parts(p, 1 - p, n, k + 1)) end,
    sf = function(k, n, p) return (select(2, incomplete.beta_parts(p, 1 - p, n, k + 1))) end,
})

--- np.stats.poisson, np.stats.poisson.pmf(k, mu, {loc=0}), np.stats.poisson.logpmf(k, mu, {loc=0}),
-- np.stats.poisson.cdf(k, mu, {loc=0}), np.stats.poisson.logcdf(k, mu, {loc=0}), np.stats.poisson.sf(k, mu, {loc=0}),
-- np.stats.poisson.logsf(k, mu, {loc=0}), np.stats.poisson.ppf(q, mu, {loc=0}), np.stats.poisson.isf(q, mu, {loc=0}):
-- the Poisson distribution of mean mu.
--- > np.stats.poisson.pmf(np.array{0, 1, 2}, 2), np.stats.poisson.sf(20, np.array(2))
-- [0.13533528 0.27067056 0.27067056]
-- 6.108072e-15
define("poisson", {
    parameters = { "mu" }, valid = function(mu) return np.greater_equal(mu, 0) end,
    ends = function() return 0, INF end,
    logpmf = function(k, mu) return densities.log_poisson(k, mu, k + 1) end,
    cdf = function(k, mu) return special.gammaincc(k + 1, mu) end,
    sf = function(k, mu) return special.gammainc(k + 1, mu) end,
})

-- ---- hypergeom ------------------------------------------------------------------------------------------------------

local MOST_TERMS = 1e6

--- The logarithm of the probability that N of M, among which n are marked, hold k marked ones: two binomial
-- probabilities over a third, for p = N / M.
local function log_hypergeom(k, M, n, N)
    local p, q = N / M, (M - N) / M
    return densities.log_binomial(k, n - k, p, q) + densities.log_binomial(N - k, M - n - (N - k), p, q)
           - densities.log_binomial(N, M - N, p, q)
end

--- The probability of k and of all numbers beyond it, those below where `down` is true: each term is the one before
-- times a quotient of neighbours.
local function hypergeom_tail(k, M, n, N, down)
    local way = np.where(down, -1, 1)
    local function goes_on(c) return np.logical_and(c.grows, np.less(c.turn, MOST_TERMS)) end
    local function turn(c)
        local j, rest = c.at, M - n - N + c.at
        local lower, upper = j / (n - j + 1) * (rest / (N - j + 1)), (n - j) / (j + 1) * ((N - j) / (rest + 1))
        local term = c.term * np.maximum(np.where(down, lower, upper), 0)
        local sum = c.sum + term
        local grows = np.any(np.greater(term, 1e-17 * sum))
        return { term = term, sum = sum, at = j + way, turn = c.turn + 1, grows = grows }
    end
    local one = np.ones_like(k)
    local first = { term = one, sum = one, at = k, turn = 0, grows = np.array(true) }
    return np.exp(log_hypergeom(k, M, n, N)) * np.while_loop(goes_on, turn, first).sum
end

--- The probability to be at most k, or, for `upper`, to exceed it: of both the smaller one is a sum.
local function hypergeom_part(upper)
    return function(...)
        local weak, list = true, { ... }
        for i = 1, 4 do weak = weak and core.info(list[i]).weak ~= 0 end
        for i = 1, weak and 4 or 0 do list[i] = np.astype(list[i], "f64") end -- of a loop numbers become f32
        local k, M, n, N = np.broadcast_arrays(unpack(list))
        local down = np.less(k, n / M * N)
        local sum = hypergeom_tail(np.where(down, k, k + 1), M, n, N, down)
        local part = np.where(upper and np.logical_not(down) or not upper and down, sum, 1 - sum)
        return operands.narrow(part, weak and "f32")
    end
end

--- np.stats.hypergeom, np.stats.hypergeom.pmf(k, M, n, N, {loc=0}), np.stats.hypergeom.logpmf(k, M, n, N, {loc=0}),
-- np.stats.hypergeom.cdf(k, M, n, N, {loc=0}), np.stats.hypergeom.logcdf(k, M, n, N, {loc=0}),
-- np.stats.hypergeom.sf(k, M, n, N, {loc=0}), np.stats.hypergeom.logsf(k, M, n, N, {loc=0}),
-- np.stats.hypergeom.ppf(q, M, n, N, {loc=0}), np.stats.hypergeom.isf(q, M, n, N, {loc=0}): the hypergeometric
-- distribution: how many of N things that are drawn of M are among the n marked ones. cdf and sf are sums, term by
-- term, in a loop, so they have derivatives in forward mode alone.
--- > np.stats.hypergeom.pmf(np.array{0, 1, 2}, 20, 7, 12), np.stats.hypergeom.cdf(np.array{3}, 20, 7, 12)
-- [0.0001032  0.00433437 0.04767802]
-- [0.250774]
define("hypergeom", {
    parameters = { "M", "n", "N" },
    valid = function(M, n, N)
        local within = np.logical_and(np.less_equal(n, M), np.less_equal(N, M))
        return np.logical_and(np.logical_and(is_count(M), np.greater(M, 0)),
                              np.logical_and(within, np.logical_and(is_count(n), is_count(N))))
    end,
    ends = function(M, n, N) return np.maximum(0, n + N - M), np.minimum(n, N) end,
    logpmf = log_hypergeom, cdf = hypergeom_part(false), sf = hypergeom_part(true),
})

return stats
