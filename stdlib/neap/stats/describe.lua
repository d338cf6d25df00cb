--- describe.lua: numbers that describe data: moments, ranges, ranks, entropies, under the names and with the options of
-- scipy.stats, whose axis is 0 where none is said.

--- {axis}: along which axis the data lie, an integer; 0 without it
--- {bias}: false corrects for the bias of small samples
--- {ddof}: what is taken from the number of elements where squares are averaged

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local ranks = require "neap.stats.ranks"
local samples = require "neap.stats.samples"

local np = core.np

local stats = {}

--- np.stats.sem(x, {axis=0, ddof=1}): the standard error of the mean: the standard deviation over sqrt(n).
--- > np.stats.sem(np.array{1, 2, 3, 4})
-- 0.6454972
function stats.sem(x, given, extra)
    local o = samples.options("stats.sem", given, { axis = true, ddof = true }, extra, 2)
    local narrow, list = samples.read("stats.sem", o.axis, { x })
    local variance = np.var(list[1], { axis = o.axis, correction = o.ddof == nil and 1 or o.ddof })
    return operands.narrow(np.sqrt(variance / samples.count(list[1], o.axis)), narrow)
end

--- np.stats.zscore(x, {axis=0, ddof=0}): the differences from the mean in standard deviations; NaN where all elements
-- are equal.
--- > np.stats.zscore(np.array{1, 2, 3})
-- [-1.2247449  0.         1.2247449]
function stats.zscore(x, given, extra)
    local o = samples.options("stats.zscore", given, { axis = true, ddof = true }, extra, 2)
    local narrow, list = samples.read("stats.zscore", o.axis, { x })
    x = list[1]
    local along = { axis = o.axis, keepdims = true }
    local constant = np.equal(np.max(x, along), np.min(x, along))
    local deviation = np.std(x, { axis = o.axis, keepdims = true, correction = o.ddof or 0 })
    local score = (x - np.mean(x, along)) / np.where(constant, 1, deviation)
    return operands.narrow(np.where(constant, np.nan, score), narrow)
end

--- The second central moment, a higher one over its power, and the number of elements; NaN where the elements differ by
-- less than their rounding.
local function moment(x, axis, power)
    local mean, off = samples.centered(x, axis)
    local squares = off * off
    local second = np.mean(squares, { axis = axis })
    local least = np.square(2 ^ -52 * np.squeeze(mean, axis))
    local flat = np.less_equal(second, least)
    local higher = np.mean(power == 3 and squares * off or squares * squares, { axis = axis })
    local scale = np.where(flat, 1, second)
    local value = higher / (power == 3 and scale * np.sqrt(scale) or scale * scale)
    return np.where(flat, np.nan, value), samples.count(x, axis)
end

--- Skewness and kurtosis above 3, with or without bias, of an array of f64.
local function skewness(x, axis, bias)
    local value, n = moment(x, axis, 3)
    if bias == false and n > 2 then return value * (math.sqrt(n * (n - 1)) / (n - 2)) end
    return value
end

local function excess(x, axis, bias)
    local value, n = moment(x, axis, 4)
    if bias == false and n > 3 then
        return ((n * n - 1) * value - 3 * (n - 1) ^ 2) * (1 / ((n - 2) * (n - 3)))
    end
    return value - 3
end

--- np.stats.skew(x, {axis=0, bias=true}): the skewness: the third central moment over the power 1.5 of the second; NaN
-- where all elements are equal.
--- > np.stats.skew(np.array{1, 2, 3, 10})
-- 1.0182338
function stats.skew(x, given, extra)
    local o = samples.options("stats.skew", given, { axis = true, bias = true }, extra, 2)
    local narrow, list = samples.read("stats.skew", o.axis, { x })
    return operands.narrow(skewness(list[1], o.axis, o.bias), narrow)
end

--- np.stats.kurtosis(x, {axis=0, fisher=true, bias=true}): the fourth central moment over the square of the second,
-- less 3; NaN where all elements are equal.
--- fisher: false takes no 3, of normal numbers
--- > np.stats.kurtosis(np.array{1, 2, 3, 10})
-- -0.7696
function stats.kurtosis(x, given, extra)
    local o = samples.options("stats.kurtosis", given, { axis = true, fisher = true, bias = true }, extra, 2)
    local narrow, list = samples.read("stats.kurtosis", o.axis, { x })
    local value = excess(list[1], o.axis, o.bias)
    return operands.narrow(o.fisher == false and value + 3 or value, narrow)
end

--- np.stats.iqr(x, {axis=…, rng={25, 75}}): the distance between two percentiles, quartiles without rng.
--- axis: an integer; all elements without it
--- rng: two percents, in order
--- > np.stats.iqr(np.array{1, 2, 3, 4, 5})
-- 2.0
function stats.iqr(x, given, extra)
    local name = "stats.iqr"
    if extra ~= nil then core.too_many(name, 2, extra) end
    local o = core.options(name, given, { axis = true, rng = true })
    local rng = o.rng == nil and { 25, 75 } or o.rng
    local low, high = type(rng) == "table" and core.plain(rng[1]), type(rng) == "table" and core.plain(rng[2])
    if type(low) ~= "number" or type(high) ~= "number" or not (0 <= low and low <= high and high <= 100) then
        core.bad_argument(name, nil, "rng", "a table of two percents in order", rng)
    end
    local axis = o.axis ~= nil and core.integer(name, nil, "axis", o.axis) or nil
    local narrow, list = samples.read(name, axis or 0, { x })
    local function part(percent) return np.quantile(list[1], percent / 100, { axis = axis }) end
    return operands.narrow(part(high) - part(low), narrow)
end

--- np.stats.entropy(pk, qk, {base=…, axis=0}): the entropy of probabilities pk, which are divided by their sum; with qk
-- the Kullback-Leibler divergence of pk from qk, infinite where qk is 0 and pk is not.
--- base: of the logarithm; e without it
--- > np.stats.entropy(np.array{1, 1}, {base=2}), np.stats.entropy(np.array{1, 3}, np.array{1, 1})
-- 1.0
-- 0.13081203
function stats.entropy(pk, qk, given, extra)
    local name = "stats.entropy"
    if type(qk) == "table" and getmetatable(qk) == nil and qk[1] == nil then
        if extra == nil then extra = given end
        qk, given = nil, qk
    end
    local o = samples.options(name, given, { axis = true, base = true }, extra, 3)
    if o.base ~= nil and not (type(o.base) == "number" and o.base > 0 and o.base ~= 1) then
        core.bad_argument(name, nil, "base", "a number above 0 that is not 1", o.base)
    end
    local narrow, list = samples.read(name, o.axis, { pk, qk })
    local function share(x) return x / np.sum(x, { axis = o.axis, keepdims = true }) end
    local terms = list[2] and np.special.rel_entr(share(list[1]), share(list[2])) or np.special.entr(share(list[1]))
    local value = np.sum(terms, { axis = o.axis })
    return operands.narrow(o.base and value / math.log(o.base) or value, narrow)
end

--- np.stats.describe(x, {axis=0, ddof=1, bias=true}) -> table: what describes data: { nobs, min, max, mean, variance,
-- skewness, kurtosis }, the number of elements as a number.
--- > d = np.stats.describe(np.array{1, 2, 3, 10})
--- > d.nobs, d.min, d.max, d.mean, d.variance
-- 4
-- 1.0
-- 10.0
-- 4.0
-- 16.666666
function stats.describe(x, given, extra)
    local o = samples.options("stats.describe", given, { axis = true, ddof = true, bias = true }, extra, 2)
    local narrow, list = samples.read("stats.describe", o.axis, { x })
    x = list[1]
    local found = {
        min = np.min(x, { axis = o.axis }), max = np.max(x, { axis = o.axis }), mean = np.mean(x, { axis = o.axis }),
        variance = np.var(x, { axis = o.axis, correction = o.ddof == nil and 1 or o.ddof }),
        skewness = skewness(x, o.axis, o.bias), kurtosis = excess(x, o.axis, o.bias),
    }
    for what, value in pairs(found) do found[what] = operands.narrow(value, narrow) end
    found.nobs = samples.count(x, o.axis)
    return found
end

-- ---- Ranks ----------------------------------------------------------------------------------------------------------

--- np.stats.rankdata(x, {method="average", axis=…}): the ranks of elements, from 1, as f64; NaN where one of them is.
--- method: ranks of equal elements: "average", "min", "max", "dense" (the next rank follows) or "ordinal" (in order)
--- axis: along which elements are ranked; without it all, as one row
--- > np.stats.rankdata(np.array{10, 30, 20, 20}), np.stats.rankdata(np.array{10, 30, 20, 20}, {method="min"})
-- [1.  4.  2.5 2.5]
-- [1. 4. 2. 2.]
function stats.rankdata(x, given, extra)
    local name = "stats.rankdata"
    if extra ~= nil then core.too_many(name, 2, extra) end
    local o = core.options(name, given, { method = true, axis = true })
    local method = o.method == nil and "average" or o.method
    if not ranks.methods[method] then
        core.bad_argument(name, nil, "method", '"average", "min", "max", "dense" or "ordinal"', method)
    end
    local axis = o.axis ~= nil and core.integer(name, nil, "axis", o.axis) or nil
    samples.read(name, axis or 0, { x })
    x = type(x) == "table" and np.array(x) or x -- 64-bit integers keep their digits
    if not axis then return (ranks.of(np.ravel(x), method)) end
    return np.moveaxis(ranks.of(np.moveaxis(x, axis, -1), method), -1, axis)
end

--- np.stats.mode(x, {axis=0}) -> mode, count: the most frequent element along an axis, of several the least, and how
-- often it is there (i32). Where an element is NaN the mode is, and NaNs are counted.
--- > np.stats.mode(np.array{3, 1, 2, 1, 3})
-- 1.0
-- 2
function stats.mode(x, given, extra)
    local name = "stats.mode"
    local o = samples.options(name, given, { axis = true }, extra, 2)
    samples.read(name, o.axis, { x })
    x = np.moveaxis(type(x) == "table" and np.array(x) or x, o.axis, -1)
    if samples.count(x, -1) == 0 then core.raise(name, "nothing to count: shape %s", core.shape_text(x)) end
    local sorted = np.sort(x, { axis = -1 })
    local _, first, last = ranks.groups(sorted)
    local size = last - first + 1
    local at = np.argmax(size, { axis = -1, keepdims = true })
    local function there(values) return np.squeeze(np.take_along_axis(values, at, { axis = -1 }), -1) end
    if not core.dtype_of(x).inexact then return there(sorted), there(size) end
    local hidden = np.count_nonzero(np.isnan(x), { axis = -1 })
    local any = np.greater(hidden, 0)
    return np.where(any, np.nan, there(sorted)), np.where(any, hidden, there(size))
end

return stats
