--- kolmogorov.lua: np.stats.kstest: the largest distance between distribution functions, of data and of a law, or of
-- two samples (A. Kolmogorov 1933, N. Smirnov 1939).
--
-- Exact laws of the distance d of n elements: of one side the sum of Z. Birnbaum and F. Tingey (1951), whose terms are
-- binomial probabilities; of both sides an element of a power of J. Durbin's matrix (G. Marsaglia, W. Tsang and
-- J. Wang, Evaluating Kolmogorov's distribution, 2003). Where n d² is above 6 both sides are never reached together,
-- but for one in 1e15, so the matrix has at most 2 sqrt(6 n) + 1 rows. Of two samples: which part of the paths from
-- (0, 0) to (m, n) goes as far out (J. Hodges, The significance probability of the Smirnov two-sample test, 1957).

--- {axis}: along which axis the data lie, an integer; 0 without it
--- {alternative}: which distances count: "two-sided", "greater": where x has more below, "less": where it has fewer

local core = require "neap.core"
local densities = require "neap.stats.densities"
local samples = require "neap.stats.samples"

local np, raise, bad_argument = core.np, core.raise, core.bad_argument

local stats = {}

local FAR = 6 -- n d² above which both sides are not reached together
local MOST = 10000 -- elements of which "auto" takes the exact law

--- The probability that the distance of n elements on one side is at least d.
local function one_sided(n, d)
    local j = np.arange(n, { dtype = "f64" })
    local p = np.expand_dims(d, -1) + j / n
    local inside = np.logical_and(np.less(p, 1), np.greater(np.expand_dims(d, -1), 0))
    p = np.where(inside, p, 0.5)
    local term = np.exp(densities.log_binomial(j, n - j, p, 1 - p)) / p
    local sum = np.sum(np.where(inside, term, 0), { axis = -1 })
    return np.where(np.less_equal(d, 0), 1, np.minimum(d * sum, 1))
end

--- n! e^n / n^n.
local function stirling(n)
    if n >= 32 then
        return math.sqrt(2 * math.pi * n) * math.exp(1 / (12 * n) - 1 / (360 * n ^ 3) + 1 / (1260 * n ^ 5))
    end
    local product = 1
    for i = 1, n do product = product * i * math.exp(1) / n end
    return product
end

--- The probability that the distance of n elements is below d, for n d² up to FAR and d below 1/2.
local function inside(n, d)
    local rows = math.min(2 * math.floor(math.sqrt(FAR * n)) + 1, n + 1)
    local i, j = np.arange(rows, { dtype = "f64" }):reshape(rows, 1), np.arange(rows, { dtype = "f64" })
    local inverse, factor = {}, 1
    for g = 0, rows do
        inverse[g + 1] = factor
        factor = factor / (g + 1)
    end
    local gap = i - j + 1
    local base = np.take(np.array(inverse, { dtype = "f64" }), np.astype(np.maximum(gap, 0), "i32"))
    local k = np.expand_dims(np.floor(n * d) + 1, { -1, -2 })
    local h = k - n * np.expand_dims(d, { -1, -2 })
    local m = 2 * k - 1
    local first, last = np.equal(j, 0), np.equal(i, m - 1)
    local share = 1 - np.where(first, h ^ (i + 1), 0) - np.where(last, h ^ np.maximum(m - j, 1), 0)
                  + np.where(np.logical_and(first, last), np.maximum(2 * h - 1, 0) ^ m, 0)
    local there = np.logical_and(np.logical_and(np.less(i, m), np.less(j, m)), np.greater_equal(gap, 0))
    local power = np.linalg.matrix_power(np.where(there, base * share, 0) / math.exp(1), n)
    local middle = np.logical_and(np.equal(i, k - 1), np.equal(j, k - 1))
    return np.sum(np.where(middle, power, 0), { axis = { -1, -2 } }) * stirling(n)
end

--- The probability that the distance of n elements is at least d.
local function two_sided(n, d)
    local far = np.logical_or(np.greater(n * d * d, FAR), np.greater_equal(d, 0.5))
    local near = 1 - inside(n, np.where(far, math.min(1 / n, 0.25), d))
    return np.clip(np.where(far, 2 * one_sided(n, d), near), 0, 1)
end

--- The same of d times sqrt(n), for n without end: Kolmogorov's series, and that of small numbers.
local function limit(x)
    local small = np.less(x, 1)
    local low, high = np.where(small, np.maximum(x, 0.05), 1), np.where(small, 1, x)
    local below, above = 0, 0
    for k = 1, 4 do below = below + np.exp(-((2 * k - 1) * math.pi) ^ 2 / (8 * low * low)) end
    for k = 1, 5 do above = above + (k % 2 == 1 and 2 or -2) * np.exp(-2 * k * k * high * high) end
    return np.where(small, 1 - math.sqrt(2 * math.pi) / low * below, above)
end

-- ---- Two samples ----------------------------------------------------------------------------------------------------

local OUTSIDE = {
    ["two-sided"] = function(off, h) return np.greater_equal(np.abs(off), h) end,
    greater = function(off, h) return np.greater_equal(off, h) end,
    less = function(off, h) return np.greater_equal(0 - off, h) end,
}

--- Which part of the paths from (0, 0) to (m, n) has a place (i, j) of which i n - j m is as far out as h. On the way
-- the part of the paths to each place of a diagonal i + j, by i; the last step to it was one of i in i of i + j cases.
local function paths(m, n, h, alternative)
    h = np.expand_dims(h, -1)
    local i = np.arange(m + 1, { dtype = "f64" })
    local none = np.where(np.less_equal(h, 0), 1, 0 * i + 0 * h)
    local last = np.fori_loop(1, m + n + 1, function(s, part)
        local j = s - i
        local value = (i * np.roll(part, 1, { axis = -1 }) + j * part) / s
        value = np.where(OUTSIDE[alternative](i * n - j * m, h), 1, value)
        return np.where(np.less(j, 0), 0, value)
    end, none)
    return np.take(last, m, { axis = -1 })
end

--- By how much more, times m n, x has below some place than y, and y than x, along the last axis.
local function distances(x, y)
    local m, n = samples.count(x, -1), samples.count(y, -1)
    local function count(sorted, all) return np.astype(np.searchsorted(sorted, all, { side = "right" }), "f64") end
    local function of(a, b)
        a, b = np.sort(a), np.sort(b)
        local all = np.concatenate({ a, b })
        local off = count(a, all) * n - count(b, all) * m
        return np.maximum(np.max(off), 0), np.maximum(np.max(0 - off), 0)
    end
    for _ = 2, core.ndim(x) do of = np.vmap(of) end
    return of(x, y)
end

--- Statistic and p-value of two samples along the last axis.
local function two_samples(name, x, y, o)
    local m, n = samples.count(x, -1), samples.count(y, -1)
    if m < 1 or n < 1 then raise(name, "expected two samples of one element or more, got %d and %d", m, n) end
    for k = 1, math.max(core.ndim(x), core.ndim(y)) - 1 do
        if core.shape_of(x)[k] ~= core.shape_of(y)[k] then
            raise(name, "expected samples of one shape but for their axis, got %s and %s", core.shape_text(x),
                  core.shape_text(y))
        end
    end
    local more, fewer = distances(np.stop_gradient(x), np.stop_gradient(y))
    local h = o.alternative == "greater" and more or o.alternative == "less" and fewer or np.maximum(more, fewer)
    local d, size = h / (m * n), m * n / (m + n)
    local p
    if o.method == "exact" or o.method == "auto" and math.max(m, n) <= MOST then
        p = paths(m, n, h, o.alternative)
    elseif o.alternative ~= "two-sided" then -- J. Hodges' correction
        local large, small = math.max(m, n), math.min(m, n)
        p = np.exp(-2 * size * d * d - 2 * math.sqrt(size) * d * (large + 2 * small)
                   / (3 * math.sqrt(m * n * (m + n))))
    else
        local whole = math.floor(size + 0.5)
        p = size <= MOST and whole > 0 and two_sided(whole, d) or limit(math.sqrt(size) * d)
    end
    return d, p
end

--- Statistic and p-value of data along the last axis against a distribution function.
local function one_sample(name, x, cdf, o)
    local n = samples.count(x, -1)
    if n < 1 then raise(name, "there are no data") end
    local below = np.astype(core.coerce(name, 2, cdf(np.sort(x, { axis = -1 }))), "f64")
    samples.alike(name, x, below)
    local place = np.arange(n, { dtype = "f64" })
    local more = np.max((place + 1) / n - below, { axis = -1 })
    local fewer = np.max(below - place / n, { axis = -1 })
    if o.alternative == "greater" then return more, one_sided(n, more) end
    if o.alternative == "less" then return fewer, one_sided(n, fewer) end
    local d = np.maximum(more, fewer)
    local exact = o.method == "exact" or o.method == "auto" and n <= MOST
    return d, exact and two_sided(n, d) or limit(math.sqrt(n) * d)
end

--- np.stats.kstest(x, cdf, {axis=0, alternative="two-sided", method="auto"}) -> statistic, pvalue: the test of
-- Kolmogorov and Smirnov, whether x is of a law, by the largest distance of the distribution functions. cdf is that of
-- the law, a function of an array, as np.stats.norm.cdf; or an array, another sample: whether both are of one law.
-- Against a law both results have derivatives, of two samples none.
--- method: "exact": the law for as many elements; "asymptotic": for ever more; "auto": exact for up to 10000; against
-- a law one side is always exact
--- > np.stats.kstest(np.array{-0.7, 0.1, 0.4, 1.9}, np.stats.norm.cdf)
-- 0.28982782
-- 0.8016187
--- > np.stats.kstest(np.array{1, 2, 3, 4}, np.array{3, 4, 5, 6, 7})
-- 0.6
-- 0.2857143
function stats.kstest(x, cdf, given, extra)
    local name = "stats.kstest"
    local o = samples.options(name, given, { axis = true, alternative = true, method = true }, extra, 3)
    o.method = o.method == nil and "auto" or o.method
    if o.method ~= "auto" and o.method ~= "exact" and o.method ~= "asymptotic" then
        bad_argument(name, nil, "method", '"auto", "exact" or "asymptotic"', o.method)
    end
    if cdf == nil or type(cdf) == "string" then
        bad_argument(name, 2, "cdf", "a function, as np.stats.norm.cdf, or an array", cdf)
    end
    local law = type(cdf) == "function"
    local narrow, list
    if law then
        narrow, list = samples.read(name, o.axis, { x })
    else
        narrow, list = samples.ordered(name, o.axis, { x, cdf }, true)
    end
    for k, data in ipairs(list) do list[k] = np.moveaxis(data, o.axis, -1) end
    local d, p
    if law then
        d, p = one_sample(name, list[1], cdf, o)
    else
        d, p = two_samples(name, list[1], list[2], o)
    end
    local hidden
    for _, data in ipairs(list) do
        local bad = np.any(np.isnan(data), { axis = -1 })
        hidden = hidden and np.logical_or(hidden, bad) or bad
    end
    return samples.results(narrow, np.where(hidden, np.nan, d), np.where(hidden, np.nan, p))
end
jit.off(stats.kstest)
jit.off(one_sample)

return stats
