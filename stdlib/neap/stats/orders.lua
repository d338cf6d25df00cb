--- orders.lua: the tests of np.stats that look at orders alone, mannwhitneyu and kendalltau: of few elements all orders
-- are counted.

--- {axis}: along which axis the data lie, an integer; 0 without it
--- {alternative}: which deviations count: "two-sided", "less" or "greater"

local core = require "neap.core"
local laws = require "neap.stats.continuous"
local samples = require "neap.stats.samples"
local ranks = require "neap.stats.ranks"

local np, raise, bad_argument = core.np, core.raise, core.bad_argument

local stats = {}

--- The option `method` of np.NAME.
local function check_method(name, method)
    if method == nil then return "auto" end
    if method ~= "auto" and method ~= "exact" and method ~= "asymptotic" then
        bad_argument(name, nil, "method", '"auto", "exact" or "asymptotic"', method)
    end
    return method
end

--- The p-value of a normal number for an alternative.
local function p_value(alternative, z)
    if alternative == "less" then return laws.norm.cdf(z) end
    return alternative == "greater" and laws.norm.sf(z) or 2 * laws.norm.sf(np.abs(z))
end

local MOST_PAIRS = 1e6 -- of which the exact distribution is counted

--- The probabilities that U of samples of m and n elements is at least 0, 1, …, m n, if all orders are equally likely:
-- a list. How many orders have a U are the coefficients of the Gaussian binomial, the product of (1 - q^(n + i)) / (1 -
-- q^i) for i from 1 to m; low ones, which the tails are made of, are exact.
local function exact_tails(m, n)
    if m > n then m, n = n, m end
    local count, most = { [0] = 1 }, m * n
    for u = 1, most do count[u] = 0 end
    for i = 1, m do
        for u = most, n + i, -1 do count[u] = count[u] - count[u - n - i] end
        for u = i, most do count[u] = count[u] + count[u - i] end
    end
    local half, total = math.floor(most / 2), 0
    for u = half + 1, most do count[u] = count[most - u] end -- symmetric
    for u = 0, most do total = total + count[u] end
    local tails, sum = {}, 0
    for u = 0, most do
        sum = sum + count[u]
        tails[most - u + 1] = sum / total
    end
    return tails
end

--- np.stats.mannwhitneyu(x, y, {axis=0, alternative="two-sided", use_continuity=true, method="auto"}) -> statistic,
-- pvalue: whether numbers of x tend to be greater or less than those of y: U, in how many pairs x is greater (equal
-- ones count half).
--- use_continuity: false leaves out the 1/2 that a normal number is corrected by
--- method: "exact" counts orders, "asymptotic" takes U as normal, "auto" counts where a sample has at most 8 elements
-- and none are equal
--- > np.stats.mannwhitneyu(np.array{19, 22, 16, 29, 24}, np.array{20, 11, 17, 12})
-- 17.0
-- 0.11111111
function stats.mannwhitneyu(x, y, given, extra)
    local name = "stats.mannwhitneyu"
    local known = { axis = true, alternative = true, use_continuity = true, method = true }
    local o = samples.options(name, given, known, extra, 3)
    local method = check_method(name, o.method)
    if y == nil then bad_argument(name, 2, "y", "an array", nil) end
    local narrow, list = samples.ordered(name, o.axis, { x, y }, true)
    x, y = np.moveaxis(list[1], o.axis, -1), np.moveaxis(list[2], o.axis, -1)
    local m, n = samples.count(x, -1), samples.count(y, -1)
    if m < 1 or n < 1 then raise(name, "expected two samples of one element or more, got %d and %d", m, n) end
    local order, ties = ranks.of(np.concatenate({ x, y }, { axis = -1 }), "average")
    local first = np.take(order, np.arange(m), { axis = -1 })
    local u = np.sum(first, { axis = -1 }) - m * (m + 1) / 2
    local least = m * n - u
    local one, factor = o.alternative == "less" and least or u, 1
    if o.alternative == "two-sided" then one, factor = np.maximum(u, least), 2 end
    local p
    if method ~= "exact" then
        local variance = m * n / 12 * ((m + n + 1) - ties / ((m + n) * (m + n - 1)))
        local off = one - m * n / 2 - (o.use_continuity == false and 0 or 0.5)
        p = laws.norm.sf(off / np.sqrt(variance))
    end
    if method == "exact" or method == "auto" and math.min(m, n) <= 8 and m * n <= MOST_PAIRS then
        if m * n > MOST_PAIRS then raise(name, "%d pairs are too many to be counted: method=\"asymptotic\"", m * n) end
        local tails = np.array(exact_tails(m, n), { dtype = "f64" })
        local hidden = np.isnan(one)
        local exact = np.take(tails, np.astype(np.floor(np.where(hidden, 0, one)), "i32"))
        exact = np.where(hidden, np.nan, exact)
        p = p and np.where(np.greater(ties, 0), p, exact) or exact
    end
    return samples.results(narrow, u, np.clip(factor * p, 0, 1))
end

local MOST_COUNTED = 33 -- elements, of which the orders of kendalltau are counted, as in SciPy

--- The probabilities that an order of n elements has at least 0, 1, …, n (n - 1) / 2 pairs in order, if all are equally
-- likely: a list.
local function order_tails(n)
    local share, most = { [0] = 1 }, 0
    for i = 2, n do -- one more element stands in 0 to i - 1 new pairs
        local new = {}
        for c = 0, most + i - 1 do
            local sum = 0
            for k = math.max(0, c - most), math.min(i - 1, c) do sum = sum + share[c - k] end
            new[c] = sum / i
        end
        share, most = new, most + i - 1
    end
    local tails, sum = {}, 0
    for c = most, 0, -1 do
        sum = sum + share[c]
        tails[c + 1] = math.min(sum, 1)
    end
    return tails
end

--- Of each pair of elements of x along its last axis 1 where the first is greater, -1 where less, NaN where one is NaN,
-- (…, n, n); how many pairs are equal, and two sums over groups of t equal ones: of t (t - 1) (t - 2) and t (t - 1)
-- (2 t + 5).
local function pair_signs(x)
    local a, b = np.expand_dims(x, -1), np.expand_dims(x, -2)
    local sign = np.where(np.greater(a, b), 1, np.where(np.less(a, b), -1, np.zeros_like(a, { dtype = "f64" })))
    sign = np.where(np.logical_or(np.isnan(a), np.isnan(b)), np.nan, sign)
    local t = np.sum(np.astype(np.equal(sign, 0), "f64"), { axis = -1 })
    local function total(y) return np.sum(y, { axis = -1 }) end
    return sign, total(t - 1) * 0.5, total((t - 1) * (t - 2)), total((t - 1) * (2 * t + 5))
end

--- np.stats.kendalltau(x, y, {axis=0, alternative="two-sided", method="auto"}) -> statistic, pvalue: Kendall's tau-b,
-- how many more pairs of x and y have one order than the opposite one, and whether x and y are independent. All pairs
-- are looked at together: n² numbers. Without a derivative.
--- method: "exact" counts orders of up to 33 elements, "asymptotic" takes the number of pairs as normal, "auto" counts
-- where it can and no elements are equal
--- > np.stats.kendalltau(np.array{1, 2, 3, 4, 5}, np.array{1, 3, 2, 5, 4})
-- 0.6
-- 0.23333333
function stats.kendalltau(x, y, given, extra)
    local name = "stats.kendalltau"
    local o = samples.options(name, given, { axis = true, alternative = true, method = true }, extra, 3)
    local method = check_method(name, o.method)
    if y == nil then bad_argument(name, 2, "y", "an array", nil) end
    local narrow, list = samples.ordered(name, o.axis, { x, y })
    samples.alike(name, list[1], list[2])
    x, y = np.moveaxis(list[1], o.axis, -1), np.moveaxis(list[2], o.axis, -1)
    local n = samples.count(x, -1)
    if n < 2 then raise(name, "expected two pairs or more, got %d", n) end
    local sign_x, equal_x, x0, x1 = pair_signs(x)
    local sign_y, equal_y, y0, y1 = pair_signs(y)
    local more = np.sum(sign_x * sign_y, { axis = { -1, -2 } }) * 0.5 -- pairs in one order less those in the other
    local total = n * (n - 1) / 2
    local tau = np.clip(more / np.sqrt(total - equal_x) / np.sqrt(total - equal_y), -1, 1)
    local p
    if method ~= "exact" then
        local m = n * (n - 1)
        local variance = (m * (2 * n + 5) - x1 - y1) / 18 + 2 * equal_x * equal_y / m
        if n > 2 then variance = variance + x0 * y0 / (9 * m * (n - 2)) end
        p = p_value(o.alternative, more / np.sqrt(variance))
    end
    if method == "exact" and n > MOST_COUNTED then raise(name, "%d elements are too many to be counted", n) end
    if method ~= "asymptotic" and n <= MOST_COUNTED then
        local tails = np.array(order_tails(n), { dtype = "f64" })
        local function at_least(pairs_count)
            return np.take(tails, np.astype(np.where(np.isnan(tau), 0, pairs_count), "i32"))
        end
        local one = (total + more) * 0.5
        if o.alternative == "two-sided" then one = np.maximum(one, total - one) end
        local exact = at_least(o.alternative == "less" and total - one or one)
        exact = np.where(np.isnan(tau), np.nan, o.alternative == "two-sided" and np.minimum(2 * exact, 1) or exact)
        p = p and np.where(np.greater(equal_x + equal_y, 0), p, exact) or exact
    end
    return samples.results(narrow, tau, np.where(np.isnan(tau), np.nan, p))
end

return stats
