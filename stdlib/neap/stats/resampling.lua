--- resampling.lua: np.stats.mannwhitneyu, by ranks, and np.stats.bootstrap, by samples that are drawn anew.

--- {axis}: along which axis the data lie, an integer; 0 without it
--- {alternative}: which deviations count: "two-sided", "less" or "greater"

local core = require "neap.core"
local laws = require "neap.stats.continuous"
local operands = require "neap.arrays.operands"
local samples = require "neap.stats.samples"
local ranks = require "neap.stats.ranks"

local np, raise, bad_argument = core.np, core.raise, core.bad_argument

local stats = {}

-- ---- mannwhitneyu ---------------------------------------------------------------------------------------------------

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
    local method = o.method == nil and "auto" or o.method
    if method ~= "auto" and method ~= "exact" and method ~= "asymptotic" then
        bad_argument(name, nil, "method", '"auto", "exact" or "asymptotic"', method)
    end
    if y == nil then bad_argument(name, 2, "y", "an array", nil) end
    local narrow, list = samples.read(name, o.axis, { x, y })
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

-- ---- bootstrap ------------------------------------------------------------------------------------------------------

local METHODS = { percentile = true, basic = true, BCa = true }

--- Quantiles of a distribution along axis 0, each element's own.
local function own_quantile(sorted, p)
    local last = samples.count(sorted, 0) - 1
    local at = np.clip(p, 0, 1) * last
    local below = np.clip(np.floor(at), 0, math.max(last - 1, 0))
    local function there(place)
        place = np.astype(np.where(np.isnan(place), 0, place), "i32")
        return np.squeeze(np.take_along_axis(sorted, np.expand_dims(place, 0), { axis = 0 }), 0)
    end
    local low = there(below)
    return low + (there(np.minimum(below + 1, last)) - low) * (at - below)
end

--- The acceleration of BCa: a skewness of what the statistic becomes where one element is left out.
local function acceleration(data, compute)
    local cubes, squares = 0, 0
    for k, x in ipairs(data) do
        local n = samples.count(x, 0)
        local place = np.arange(n - 1)
        local without = np.vmap(function(left)
            local others = {}
            for j, other in ipairs(data) do others[j] = other end
            others[k] = np.take(x, place + np.astype(np.greater_equal(place, left), "i32"), { axis = 0 })
            return compute(unpack(others))
        end)(np.arange(n))
        local off = (np.mean(without, { axis = 0, keepdims = true }) - without) * ((n - 1) / n)
        cubes, squares = cubes + np.sum(off ^ 3, { axis = 0 }), squares + np.sum(off * off, { axis = 0 })
    end
    return cubes / (6 * squares * np.sqrt(squares))
end

--- The probabilities of the distribution at which the interval of BCa ends (B. Efron, Better bootstrap confidence
-- intervals, 1987).
local function corrected(level, drawn, value, data, compute)
    local below = np.mean(np.astype(np.less(drawn, value), "f64") + np.astype(np.less_equal(drawn, value), "f64"),
                          { axis = 0 })
    local bias = np.special.ndtri(0.5 * below)
    local a = acceleration(data, compute)
    local function moved(p)
        local z = bias + np.special.ndtri(p)
        return np.special.ndtr(bias + z / (1 - a * z))
    end
    local tail = np.array((1 - level) / 2, { dtype = "f64" })
    return moved(tail), moved(1 - tail)
end

--- The data of np.stats.bootstrap as a list of arrays of at least two elements.
local function read_data(name, data)
    local list = type(data) == "table" and getmetatable(data) == nil and { unpack(data) } or { data }
    if #list == 0 then bad_argument(name, 2, "data", "an array or a table of arrays", data) end
    for k, x in ipairs(list) do
        if not core.is_array(x) or core.ndim(x) == 0 or samples.count(x, 0) < 2 then
            bad_argument(name, 2, "data", "an array of two elements or more, or a table of such", x)
        end
        list[k] = operands.float(x)
    end
    return list
end

--- np.stats.bootstrap(key, data, statistic, {n_resamples=9999, confidence_level=0.95, method="BCa"}) -> low, high,
-- standard_error, distribution: an interval that holds the value of a statistic with a probability, its standard error,
-- and the values that it has for samples that are drawn anew from the data along axis 0, each element as often as it
-- comes. statistic(x) gives an array; it is batched with np.vmap. Of a table of several arrays each is drawn from by
-- itself, and statistic takes as many.
--- n_resamples: how many samples are drawn
--- confidence_level: the probability, between 0 and 1
--- method: how the interval is made of the distribution: "percentile", "basic", or "BCa", corrected for bias and
-- acceleration
--- > low, high = np.stats.bootstrap(np.random.key(0), np.array{3, 5, 4, 8, 6, 5}, np.mean)
--- > np.round(low, 1), np.round(high, 1)
-- 4.0
-- 6.7
function stats.bootstrap(key, data, statistic, given, extra)
    local name = "stats.bootstrap"
    local known = { n_resamples = true, confidence_level = true, method = true }
    local o = samples.options(name, given, known, extra, 4)
    local list = read_data(name, data)
    if type(statistic) ~= "function" then bad_argument(name, 3, "statistic", "a function", statistic) end
    local count = core.integer(name, nil, "n_resamples", o.n_resamples == nil and 9999 or o.n_resamples, 2)
    local level = o.confidence_level == nil and 0.95 or o.confidence_level
    local method = o.method == nil and "BCa" or o.method
    if type(level) ~= "number" or not (level > 0 and level < 1) then
        bad_argument(name, nil, "confidence_level", "a number between 0 and 1", level)
    end
    if not METHODS[method] then bad_argument(name, nil, "method", '"percentile", "basic" or "BCa"', method) end
    local keys, places = np.random.split(key, #list), {}
    for k, x in ipairs(list) do
        places[k] = np.random.randint(keys[k - 1], { count, samples.count(x, 0) }, 0, samples.count(x, 0))
    end
    local narrow
    local function compute(...)
        local value = core.coerce(name, 3, statistic(...))
        narrow = core.dtype_of(value).inexact and core.dtype_of(value).name or "f32"
        return np.astype(value, "f64")
    end
    local drawn = np.vmap(function(...)
        local chosen = {}
        for k, place in ipairs { ... } do chosen[k] = np.take(list[k], place, { axis = 0 }) end
        return compute(unpack(chosen))
    end)(unpack(places))
    local value = compute(unpack(list))
    local low, high = (1 - level) / 2, (1 + level) / 2
    if method == "BCa" then low, high = corrected(level, drawn, value, list, compute) end
    local sorted, shape = np.sort(drawn, { axis = 0 }), core.shape_of(value)
    low = own_quantile(sorted, np.broadcast_to(core.coerce(name, 4, low), shape))
    high = own_quantile(sorted, np.broadcast_to(core.coerce(name, 4, high), shape))
    if method == "basic" then low, high = 2 * value - high, 2 * value - low end
    return samples.results(narrow, low, high, np.std(drawn, { axis = 0, correction = 1 }), drawn)
end

return stats
