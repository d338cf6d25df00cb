--- densities.lua: the logarithms of Poisson and binomial probabilities and of what is made of them, where the factors
-- of the usual formulas are so large that nothing is left of their differences: by the errors of Stirling's formula and
-- by deviances, which do not cancel (C. Loader, Fast and accurate computation of binomial probabilities, 2000).
--
-- All take arrays of f64, or numbers, and are differentiable.

local core = require "neap.core"

local np, special = core.np, core.np.special

local densities = {}

local LEAST = 10 -- from here on the series of stirling_error have all digits
local HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)

--- log(k!) less Stirling's formula, for k from LEAST up: the sum of B[2j] / (2j (2j - 1) k^(2j - 1)).
local function stirling_error(k)
    local inverse = 1 / k
    local w = inverse * inverse
    local sum = 1 / 1188 - w * (691 / 360360)
    for _, term in ipairs { -1 / 1680, 1 / 1260, -1 / 360, 1 / 12 } do sum = sum * w + term end
    return sum * inverse
end

local TERMS = 9 -- of the series of deviance, in squares of at most 0.01

--- k log(k / m) + m - k for k above 0: the deviance of k from its mean m.
local function deviance(k, m)
    local gap, sum = k - m, k + m
    local near = np.less(np.abs(gap), 0.1 * sum)
    local v = np.where(near, gap, 0) / np.where(near, sum, 1)
    local w = v * v
    local series = 1 / (2 * TERMS + 1)
    for j = TERMS - 1, 1, -1 do series = series * w + 1 / (2 * j + 1) end
    local close = v * np.where(near, gap, 0) + 2 * k * v * w * series
    local far = np.where(near, 1, m)
    return np.where(near, close, k * np.log(k / far) - np.where(near, 0, gap))
end

--- log(m^k exp(-m) / gamma(k + 1)): a Poisson probability, of real k above -1 too; `next` is k + 1.
function densities.log_poisson(k, m, next)
    local large = np.greater_equal(k, LEAST)
    local low, high = np.where(large, 1, k), np.where(large, k, LEAST)
    local direct = special.xlogy(low, m) - m - np.lgamma(np.where(large, 2, next))
    local exact = -deviance(high, np.where(large, m, LEAST)) - stirling_error(high) - 0.5 * np.log(high) - HALF_LOG_2PI
    return np.where(large, exact, direct)
end

--- log(x^(a - 1) y^(b - 1) / beta(a, b)) for x + y = 1: the density of a beta distribution.
function densities.log_beta(a, b, x, y)
    local k, rest = a - 1, b - 1
    local large = np.logical_and(np.greater_equal(k, LEAST), np.greater_equal(rest, LEAST))
    local c, d = np.where(large, k, LEAST), np.where(large, rest, LEAST)
    local n, p, q = c + d, np.where(large, x, 0.5), np.where(large, y, 0.5)
    local errors = stirling_error(n) - stirling_error(c) - stirling_error(d)
    local binomial = errors - deviance(c, n * p) - deviance(d, n * q) + 0.5 * (np.log(n / c) - np.log(d)) - HALF_LOG_2PI
    local e, f = np.where(large, 1, a), np.where(large, 1, b)
    local near_1 = np.less(x, 0.5)
    local other = np.where(near_1, special.xlog1py(f - 1, -np.where(near_1, x, 0)), special.xlogy(f - 1, y))
    return np.where(large, binomial + np.log(n + 1), special.xlogy(e - 1, x) + other - special.betaln(e, f))
end

--- log(n! / (k! (n - k)!) p^k q^(n - k)) for n = k + rest and p + q = 1: a binomial probability, of real k and rest.
function densities.log_binomial(k, rest, p, q)
    return densities.log_beta(k + 1, rest + 1, p, q) - np.log(k + rest + 1)
end

return densities
