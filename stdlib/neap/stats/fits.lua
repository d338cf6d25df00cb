--- fits.lua: `fit` of the continuous distributions of np.stats: the parameters that make data most likely.
--
-- A law has its closed form in CLOSED, where there is one, and else a first guess in GUESSES, from which
-- np.optimize.minimize descends. The search is for numbers without bounds: logarithms of scales and shapes, and for loc
-- the logarithm of the distance between the least of the data and the end of the support. So the search never leaves
-- where the density is positive, and np.custom_root differentiates what the search finds.

--- {floc}: the loc that the law has; without it loc is fitted
--- {fscale}: the scale that the law has; without it scale is fitted

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local problem = require "neap.optimize.problem"

local np, raise = core.np, core.raise

local fits = {}

local TOLERANCE = 1e-9 -- of the slope of the likelihood of an element, at which the search ends
local ENOUGH = 1e-5 -- the slope that counts as none where rounding ends the search before
local MARGINS = { 0.02, 0.2, 1, 5 } -- beyond the data, in widths of the data, at which an end of the support is tried

-- ---- Closed forms ---------------------------------------------------------------------------------------------------

local function root_mean_square(x) return np.sqrt(np.mean(np.square(x))) end

-- Of data x, 1-d, and the parameters that are fixed, by their names: all parameters; nil: this case has none.
local CLOSED = {}

function CLOSED.uniform(x, at)
    local low, high = np.min(x), np.max(x)
    local loc = at.loc or at.scale and low - 0.5 * (at.scale - (high - low)) or low
    return { loc = loc, scale = at.scale or high - loc }
end

function CLOSED.expon(x, at)
    local loc = at.loc or np.min(x)
    return { loc = loc, scale = at.scale or np.mean(x - loc) }
end

function CLOSED.norm(x, at)
    local loc = at.loc or np.mean(x)
    return { loc = loc, scale = at.scale or root_mean_square(x - loc) }
end

function CLOSED.laplace(x, at)
    local loc = at.loc or np.median(x)
    return { loc = loc, scale = at.scale or np.mean(np.abs(x - loc)) }
end

function CLOSED.lognorm(x, at)
    if not at.loc then return nil end
    local log = np.log(x - at.loc)
    local mean = at.scale and np.log(at.scale) or np.mean(log)
    return { loc = at.loc, scale = at.scale or np.exp(mean), s = at.s or root_mean_square(log - mean) }
end

--- The end of the support is the least of the data.
function CLOSED.pareto(x, at)
    local low = np.min(x)
    local loc = at.loc or low - at.scale
    local scale = at.scale or low - loc
    return { loc = loc, scale = scale, b = at.b or 1 / np.mean(np.log((x - loc) / scale)) }
end

local TO_THE_END = { uniform = true, expon = true, pareto = true } -- whose density is positive at ends of the support

-- ---- First guesses --------------------------------------------------------------------------------------------------

--- The shape of a gamma law (T. Minka, Estimating a Gamma distribution, 2002), of y above 0.
local function gamma_shape(y)
    local s = np.log(np.mean(y)) - np.mean(np.log(y))
    return (3 - s + np.sqrt(np.square(s - 3) + 24 * s)) / (12 * s)
end

-- Of x - loc, and of `width`, the distance between the quartiles: shapes and scale. at: what is fixed, by name.
local GUESSES = {}

function GUESSES.gamma(y)
    local a = gamma_shape(y)
    return { a = a, scale = np.mean(y) / a }
end

function GUESSES.chi2(y)
    local df = 2 * gamma_shape(y)
    return { df = df, scale = np.mean(y) / df }
end

function GUESSES.lognorm(y)
    local log = np.log(y)
    return { s = root_mean_square(log - np.mean(log)), scale = np.exp(np.mean(log)) }
end

--- The logarithm of a Weibull number is one of Gumbel's: mean and deviation give both parameters.
function GUESSES.weibull_min(y)
    local log = np.log(y)
    local c = math.pi / math.sqrt(6) / root_mean_square(log - np.mean(log))
    return { c = c, scale = np.exp(np.mean(log) + np.euler_gamma / c) }
end

function GUESSES.f(y)
    return { dfn = 6, dfd = 8, scale = np.median(y) }
end

--- By mean and variance.
function GUESSES.beta(y, _, at)
    local z = y / at.scale
    local mean = np.mean(z)
    local sum = np.maximum(mean * (1 - mean) / np.mean(np.square(z - mean)) - 1, 0.1)
    return { a = mean * sum, b = (1 - mean) * sum }
end

function GUESSES.t(_, width) return { df = 5, scale = 0.7 * width } end
function GUESSES.cauchy(_, width) return { scale = 0.5 * width } end
function GUESSES.logistic(_, width) return { scale = 0.45 * width } end

-- ---- Places of the support ------------------------------------------------------------------------------------------

--- What data say of places: the ends, their distance, the middle and the distance between the quartiles; constants.
local function places_of(x)
    x = np.stop_gradient(x)
    local low, high = np.min(x), np.max(x)
    local width = np.quantile(x, 0.75) - np.quantile(x, 0.25)
    return { low = low, high = high, range = high - low, middle = np.median(x),
             width = np.where(np.greater(width, 0), width, high - low) }
end

local function copied(values)
    local copy = {}
    for key, value in pairs(values) do copy[key] = value end
    return copy
end

-- Of each kind of support: how many numbers without bounds say where the support lies, which numbers are tried at
-- first, and set(values, p, next), which sets loc, and the scale of a support that has two ends; next() is a number.
local REAL = {
    count = function(at) return at.loc and 0 or 1 end,
    first = { 0 },
    set = function(values, p, next)
        values.loc = values.loc or p.middle + p.width * next()
    end,
}
local HALF_LINE = {
    count = REAL.count, first = {},
    set = function(values, p, next)
        values.loc = values.loc or p.low - p.range * np.exp(next())
    end,
}
local INTERVAL = {
    count = function(at) return (at.loc and 0 or 1) + (at.scale and 0 or 1) end,
    first = {},
    set = function(values, p, next)
        if values.scale and not values.loc then -- between the places where the ends are those of the data
            values.loc = p.high - values.scale + (values.scale - p.range) * np.sigmoid(next())
            return
        end
        values.loc = values.loc or p.low - p.range * np.exp(next())
        values.scale = values.scale or p.high + p.range * np.exp(next()) - values.loc
    end,
}
for k, margin in ipairs(MARGINS) do HALF_LINE.first[k], INTERVAL.first[k] = math.log(margin), math.log(margin) end

local function support_of(row)
    return row.support[1] == -math.huge and REAL or row.support[2] == math.huge and HALF_LINE or INTERVAL
end

--- Whether all data lie where the parameters that are fixed let the density be positive; with `inner` not at an end.
local function within(row, x, at, inner)
    local less = inner and np.less or np.less_equal
    local low, high, valid = np.min(x), np.max(x), np.isfinite(np.sum(x))
    local function and_also(holds) valid = np.logical_and(valid, holds) end
    if at.loc and row.support[1] > -math.huge then
        and_also(less(row.support[1] == 0 and at.loc or at.loc + (at.scale or 0), low))
    end
    if at.scale and row.support[2] < math.huge then
        and_also(at.loc and less(high, at.loc + at.scale) or less(high - low, at.scale))
    end
    return valid
end

-- ---- The search -----------------------------------------------------------------------------------------------------

--- All parameters of greatest likelihood of data x, by name, and whether they are some. law: its functions.
local function searched(name, law, row, x, at)
    local support, p = support_of(row), places_of(x)
    local logs = {} -- the parameters whose logarithms follow what the support takes
    for _, what in ipairs { "scale", unpack(row.parameters) } do
        if not at[what] and (what ~= "scale" or support ~= INTERVAL) then logs[#logs + 1] = what end
    end
    local function values_of(v)
        local values, k = copied(at), -1
        local function next()
            k = k + 1
            return v[k]
        end
        support.set(values, p, next)
        for _, what in ipairs(logs) do values[what] = np.exp(next()) end
        return values
    end
    local function unlikely(v)
        local values, shapes = values_of(v), {}
        for k, what in ipairs(row.parameters) do shapes[k] = values[what] end
        shapes[#shapes + 1] = { loc = values.loc, scale = values.scale }
        return -np.mean(law.logpdf(x, unpack(shapes)))
    end
    local function start(margin)
        local list, values, count = {}, copied(at), 0
        support.set(values, p, function()
            count = count + 1
            list[count] = np.full({}, margin, { dtype = "f64" })
            return margin
        end)
        local guess = GUESSES[name](np.stop_gradient(x) - values.loc, p.width, values)
        for _, what in ipairs(logs) do list[#list + 1] = np.log(guess[what] + 0 * p.low) end
        return np.stop_gradient(np.stack(list))
    end
    local starts, heights = {}, {}
    for k, margin in ipairs(support.count(at) == 0 and { 0 } or support.first) do
        starts[k] = start(margin)
        local height = np.stop_gradient(unlikely(starts[k]))
        heights[k] = np.where(np.isfinite(height), height, math.huge)
    end
    local best = np.stack(heights):argmin()
    local first, valid = np.stack(starts)[best], np.isfinite(np.min(np.stack(heights)))
    if not problem.tracing() and not valid:item() then return values_of(first), valid end
    local found = np.optimize.minimize(unlikely, first, { tol = TOLERANCE, method = "bfgs" })
    local flat = np.less_equal(np.max(np.abs(found.jac)), ENOUGH)
    return values_of(found.x), np.logical_and(valid, flat)
end

-- ---- law.fit --------------------------------------------------------------------------------------------------------

--- The checked arguments of a call: the dtype of results where it is another one than f64, data as a vector, and the
-- fixed parameters by their names.
local function arguments(full, names, x, given)
    local known = {}
    for _, what in ipairs(names) do known["f" .. what] = true end
    local o, list, at = core.options(full, given, known), { x }, {}
    for _, what in ipairs(names) do
        local value = core.plain(o["f" .. what])
        if value ~= nil then
            if not core.is_number(value) and not (core.is_array(value) and core.ndim(value) == 0) then
                core.bad_argument(full, nil, "f" .. what, "a number or a 0-d array", value)
            end
            list[#list + 1], at[what] = value, #list + 1
        end
    end
    if x == nil then core.bad_argument(full, 1, "x", "an array of data", nil) end
    if #list == 1 + #names then raise(full, "all parameters are fixed: nothing is left to fit") end
    local narrow, values = operands.floats_list(full, "f64", #list, list)
    for k = 1, #list do
        if core.dtype_of(values[k]).kind == "c" then raise(full, "takes real numbers, got complex ones") end
    end
    if core.is_same(values[1].size, 0) then raise(full, "argument 1 (x) has no elements") end
    for what, k in pairs(at) do at[what] = values[k] end
    return narrow, np.reshape(values[1], -1), at
end

--- Raises where values show that there is nothing to find: of data, and of the fixed parameters.
local function check_values(full, x, at, inside)
    if not np.all(np.isfinite(x)):item() then raise(full, "argument 1 (x) has elements that are NaN or infinite") end
    for what, value in pairs(at) do
        local number = value:item()
        if not (number > (what == "loc" and -math.huge or 0) and number < math.huge) then
            core.bad_argument(full, nil, "f" .. what, what == "loc" and "a finite number" or "a number above 0", number)
        end
    end
    if not inside:item() then
        raise(full, "elements of x lie outside of where the fixed parameters let the density be positive and finite")
    end
end

--- np.stats.norm.fit(x, {floc=…, fscale=…}), np.stats.uniform.fit(x, {floc=…, fscale=…}),
-- np.stats.expon.fit(x, {floc=…, fscale=…}), np.stats.laplace.fit(x, {floc=…, fscale=…}),
-- np.stats.logistic.fit(x, {floc=…, fscale=…}), np.stats.cauchy.fit(x, {floc=…, fscale=…}) -> loc, scale: the
-- parameters with which data x, an array or a table of any shape, are most likely, 0-d arrays: the maximum-likelihood
-- estimate. Options fix parameters. Where there is no closed form np.optimize.minimize descends from a guess, and finds
-- a local maximum. All is computed in f64 and rounded once. Raises if a number of x is not finite, if the density there
-- is 0 whatever the free parameters are, if all parameters are fixed, and if no largest likelihood is found, as of
-- equal numbers; in a trace results are NaN then. Differentiable in x and in fixed parameters. Names are those of
-- scipy.stats, but for fixed shapes, which are named alone: fa.
--- > x = np.array({2, 3, 7}, {dtype="f64"})
--- > np.stats.norm.fit(x)
-- 4.0
-- 2.160246899469287
--- > np.stats.expon.fit(x, {floc=0})
-- 0.0
-- 4.0

--- np.stats.weibull_min.fit(x, {fc=…, floc=…, fscale=…}), np.stats.pareto.fit(x, {fb=…, floc=…, fscale=…}),
-- np.stats.lognorm.fit(x, {fs=…, floc=…, fscale=…}), np.stats.gamma.fit(x, {fa=…, floc=…, fscale=…}),
-- np.stats.chi2.fit(x, {fdf=…, floc=…, fscale=…}), np.stats.t.fit(x, {fdf=…, floc=…, fscale=…}) -> shape, loc,
-- scale: the parameters with which data x are most likely, as np.stats.norm.fit has it. Where loc is free the
-- likelihood of a law above loc also grows without end towards the least of x; what is found is the largest one beside
-- that. Where likelihood grows slower and slower towards infinite parameters, results are large ones at which its slope
-- is below 1e-5. np.stats.pareto.fit asks for a fixed loc or scale.
--- fc: the c that the law has
--- fb: the b that the law has
--- fs: the s that the law has
--- fa: the a that the law has
--- fdf: the df that the law has
--- > x = np.array({1, 2, 4}, {dtype="f64"})
--- > np.stats.lognorm.fit(x, {floc=0})
-- 0.5659523030068885
-- 0.0
-- 2.0
--- > c, b = np.stats.weibull_min.fit(x, {floc=0}), np.stats.pareto.fit(x, {floc=0})
--- > a, df = np.stats.gamma.fit(x, {floc=0}), np.stats.chi2.fit(x, {floc=0})
--- > np.round(np.stack{c, b, a, df, (np.stats.t.fit(x, {floc=0, fscale=1}))}, 4)
-- [2.0125 1.4427 3.4012 6.8024 1.2407]

--- np.stats.beta.fit(x, {fa=…, fb=…, floc=…, fscale=…}), np.stats.f.fit(x, {fdfn=…, fdfd=…, floc=…, fscale=…}) ->
-- first shape, second shape, loc, scale: the parameters with which data x are most likely, as np.stats.norm.fit and
-- np.stats.gamma.fit have it.
--- fa: the a that the law has
--- fb: the b that the law has
--- fdfn: the dfn that the law has
--- fdfd: the dfd that the law has
--- > x = np.array({0.2, 0.4, 0.5, 0.7}, {dtype="f64"})
--- > a, b, loc, scale = np.stats.beta.fit(x, {floc=0, fscale=1})
--- > dfn = np.stats.f.fit(x, {fdfd=8, floc=0, fscale=0.5})
--- > np.round(np.stack{a, b, dfn}, 4)
-- [ 3.1708  3.8892 17.9025]

--- The function `fit` of a law: its name, its row (stats/family.lua) and the table of its functions.
function fits.of(name, row, law)
    local full = ("stats.%s.fit"):format(name)
    local names = { unpack(row.parameters) }
    names[#names + 1], names[#names + 2] = "loc", "scale"
    return function(x, given, extra)
        if extra ~= nil then core.too_many(full, 2, extra) end
        local narrow, data, at = arguments(full, names, x, given)
        local inside = within(row, data, at, not TO_THE_END[name])
        if not problem.tracing() then check_values(full, data, at, inside) end
        if name == "pareto" and not at.loc and not at.scale then
            raise(full, "the likelihood has no largest value where loc and scale are free; fix one, as in {floc=0}")
        end
        local found, valid = CLOSED[name] and CLOSED[name](data, at), inside
        if not found then
            local reached
            found, reached = searched(name, law, row, data, at)
            valid = np.logical_and(valid, reached)
        end
        for _, what in ipairs(names) do
            local holds = np.isfinite(found[what])
            if what ~= "loc" then holds = np.logical_and(holds, np.greater(found[what], 0)) end
            valid = np.logical_and(valid, holds)
        end
        if not problem.tracing() and not valid:item() then
            raise(full, "no parameters with the largest likelihood are found: the likelihood grows without end, as of "
                  .. "equal elements, or where too many parameters are free")
        end
        local results = {}
        for k, what in ipairs(names) do
            results[k] = operands.narrow(np.where(valid, found[what], core.NAN), narrow)
        end
        return unpack(results)
    end
end

return fits
