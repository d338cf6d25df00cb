--- bootstrap.lua: np.stats.bootstrap: intervals of statistics, by samples that are drawn anew (B. Efron, Better
-- bootstrap confidence intervals, 1987).

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local samples = require "neap.stats.samples"

local np, bad_argument = core.np, core.bad_argument

local stats = {}

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

--- The probabilities of the distribution at which the interval of BCa ends.
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
    local low, high
    if method == "BCa" then
        low, high = corrected(level, drawn, value, list, compute)
    else
        low, high = np.full_like(value, (1 - level) / 2), np.full_like(value, (1 + level) / 2)
    end
    local sorted = np.sort(drawn, { axis = 0 })
    low, high = own_quantile(sorted, low), own_quantile(sorted, high)
    if method == "basic" then low, high = 2 * value - high, 2 * value - low end
    return samples.results(narrow, low, high, np.std(drawn, { axis = 0, correction = 1 }), drawn)
end

return stats
