--- family.lua: makes the functions of a distribution of a row, which has each fact of it once.
--
--     family.continuous("gamma", {
--         parameters = { "a" },                  -- of its shape, in order; each above 0
--         support = { 0, math.huge }, inside = 1 -- of the standard distribution, and a number in it
--         logpdf = function(z, a) … end,         -- of z in the support
--         cdf = …, sf = …, ppf = …, isf = …,     -- logcdf and logsf where there are better ones than their logarithms
--     })
--
-- What stands here and in no row: arguments and their dtypes, loc and scale, what lies outside of the support, and
-- parameters that are none. All is computed in f64 and rounded once. symmetric = true: sf, logsf and isf follow.
--
-- A discrete one has logpmf, cdf and sf of whole k, and `valid`, which parameters are some; ppf and isf follow.

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local fits = require "neap.stats.fits"

local np, raise = core.np, core.raise

local family = {}

-- The parameters that follow those of the shape, in order.
local PLACED = { "loc", "scale", allowed = { loc = true, scale = true } }
local SHIFTED = { "loc", allowed = { loc = true } }

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- Whether a value is a table of options, and no data.
local function is_options(value)
    return type(value) == "table" and getmetatable(value) == nil and value[1] == nil
end

--- The arguments of np.NAME: x, the parameters of `names`, then those of `known` by position or in a table of options.
-- Returns the dtype of the result where it is another one, x and the parameters in a list, and the others by name.
local function arguments(name, names, known, ...)
    local given, count, needed = { ... }, select("#", ...), #names
    local last = count > needed and is_options(given[count])
    local o = core.options(name, last and given[count] or nil, known.allowed)
    if last then count = count - 1 end
    if count > needed + #known then core.too_many(name, needed + #known, given[needed + #known + 1]) end
    local list, at = {}, {}
    for k, what in ipairs(names) do
        if given[k] == nil then core.bad_argument(name, k, what, "an array or a number", given[k]) end
        list[k] = given[k]
    end
    for k, what in ipairs(known) do
        local value = k + needed <= count and given[k + needed] or nil
        if value ~= nil and o[what] ~= nil then raise(name, "'%s' is given twice", what) end
        if value == nil then value = core.plain(o[what]) end
        if value ~= nil then
            list[#list + 1] = value
            at[what] = #list
        end
    end
    local narrow, values = operands.floats_list(name, "f64", #list, list)
    for k = 1, #list do
        if core.dtype_of(values[k]).kind == "c" then raise(name, "takes real numbers, got complex ones") end
    end
    local others = {}
    for what, k in pairs(at) do others[what] = values[k] end
    return narrow, { unpack(values, 1, needed) }, others
end

--- Whether all parameters of a list, from the second on, are above 0, and scale is; nil: there is none.
local function positive(list, scale)
    local valid
    for k = 2, #list + 1 do
        local value = list[k] or scale
        local above = value and np.greater(value, 0)
        valid = valid and above and np.logical_and(valid, above) or valid or above
    end
    return valid
end

local function where(mask, value, otherwise)
    return mask and np.where(mask, value, otherwise) or value
end

--- A distribution's table, of which reading another name is an error.
local function closed(name, functions)
    return setmetatable(functions, { __index = function(_, key)
        if type(key) ~= "string" then return nil end
        core.fail("%s", require("neap.core.hints").name("np.stats." .. name, key, { functions }))
    end })
end

-- ---- What follows of a row ------------------------------------------------------------------------------------------

--- log(part), by the other part where that is the smaller one.
local function log_of(part, other)
    local small = np.less(part, 0.5)
    return np.where(small, np.log(np.where(small, part, 1)), np.log1p(-np.where(small, 0, other)))
end

--- The functions of a row of standard numbers, with those that follow of others.
local function completed(row)
    local all = {}
    for key, value in pairs(row) do all[key] = value end
    if row.symmetric then
        function all.sf(z, ...) return row.cdf(0 - z, ...) end
        function all.isf(q, ...) return 0 - row.ppf(q, ...) end
        if row.logcdf then
            function all.logsf(z, ...) return row.logcdf(0 - z, ...) end
        end
    end
    all.logcdf = all.logcdf or function(z, ...) return log_of(all.cdf(z, ...), all.sf(z, ...)) end
    all.logsf = all.logsf or function(z, ...) return log_of(all.sf(z, ...), all.cdf(z, ...)) end
    return all
end

-- What the functions are below and above the support.
local BEYOND = { pdf = { 0, 0 }, logpdf = { -math.huge, -math.huge }, pmf = { 0, 0 },
                 logpmf = { -math.huge, -math.huge }, cdf = { 0, 1 }, logcdf = { -math.huge, 0 }, sf = { 1, 0 },
                 logsf = { 0, -math.huge } }

--- f(z, …) in the support, and outside of it what BEYOND says. NaN stays NaN.
local function bounded(what, row, f, z, list)
    local low, high = row.support[1], row.support[2]
    local under, over = np.less(z, low), np.greater(z, high)
    if low == -math.huge then under = np.equal(z, low) end -- formulas have no limits
    if high == math.huge then over = np.equal(z, high) end
    local outside = np.logical_or(under, over)
    local value = f(np.where(outside, row.inside, z), unpack(list, 2))
    return np.where(under, BEYOND[what][1], np.where(over, BEYOND[what][2], value))
end

local function density(full, row, name)
    local function pdf(...) return np.exp(row.logpdf(...)) end
    local f = name == "pdf" and pdf or row.logpdf
    return function(...)
        local narrow, list, o = arguments(full, row.names, PLACED, ...)
        local z = o.loc and list[1] - o.loc or list[1]
        z = o.scale and z / o.scale or z
        local value = bounded(name, row, f, z, list)
        if o.scale then value = name == "pdf" and value / o.scale or value - np.log(o.scale) end
        return operands.narrow(where(positive(list, o.scale), value, np.nan), narrow)
    end
end

local function distribution(full, row, name)
    return function(...)
        local narrow, list, o = arguments(full, row.names, PLACED, ...)
        local z = o.loc and list[1] - o.loc or list[1]
        z = o.scale and z / o.scale or z
        local value = bounded(name, row, row[name], z, list)
        return operands.narrow(where(positive(list, o.scale), value, np.nan), narrow)
    end
end

--- A quantile: at 0 and 1 the ends of the support, NaN outside.
local function quantile(full, row, name)
    local first, last = row.support[1], row.support[2]
    if name == "isf" then first, last = last, first end
    return function(...)
        local narrow, list, o = arguments(full, row.names, PLACED, ...)
        local p = list[1]
        local inside = np.logical_and(np.greater(p, 0), np.less(p, 1))
        local value = row[name](np.where(inside, p, 0.5), unpack(list, 2))
        local ends = np.where(np.equal(p, 0), first, np.where(np.equal(p, 1), last, np.nan))
        value = np.where(inside, value, ends)
        if o.scale then value = value * o.scale end
        if o.loc then value = value + o.loc end
        return operands.narrow(where(positive(list, o.scale), value, np.nan), narrow)
    end
end

local MAKERS = { pdf = density, logpdf = density, cdf = distribution, logcdf = distribution, sf = distribution,
                 logsf = distribution, ppf = quantile, isf = quantile }

--- The table of functions of a continuous distribution.
function family.continuous(name, row)
    row = completed(row)
    row.names = { "x", unpack(row.parameters) }
    local functions = {}
    for what, make in pairs(MAKERS) do functions[what] = make(("stats.%s.%s"):format(name, what), row, what) end
    functions.fit = fits.of(name, row, functions)
    return closed(name, functions)
end

-- ---- Discrete ones --------------------------------------------------------------------------------------------------

local function probability(full, row, name)
    return function(...)
        local narrow, list, o = arguments(full, row.names, SHIFTED, ...)
        local k = o.loc and list[1] - o.loc or list[1]
        local low, high = row.ends(unpack(list, 2))
        local outside = np.logical_or(np.less(k, low), np.logical_or(np.greater(k, high), np.isinf(k)))
        local whole = np.equal(np.floor(k), k)
        local none = np.logical_or(outside, np.logical_and(np.logical_not(whole), np.equal(k, k)))
        local value = row.logpmf(np.where(none, low, k), unpack(list, 2))
        value = np.where(none, BEYOND[name][1], name == "pmf" and np.exp(value) or value)
        return operands.narrow(where(row.valid and row.valid(unpack(list, 2)), value, np.nan), narrow)
    end
end

local function steps(full, row, name)
    return function(...)
        local narrow, list, o = arguments(full, row.names, SHIFTED, ...)
        local k = np.floor(o.loc and list[1] - o.loc or list[1])
        local low, high = row.ends(unpack(list, 2))
        local under, over = np.less(k, low), np.greater_equal(k, high)
        local value = row[name](np.where(np.logical_or(under, over), low, k), unpack(list, 2))
        value = np.where(under, BEYOND[name][1], np.where(over, BEYOND[name][2], value))
        value = np.where(np.isnan(k), k, value) -- also of formulas without k
        return operands.narrow(where(row.valid and row.valid(unpack(list, 2)), value, np.nan), narrow)
    end
end

--- The least k that a test reaches, which holds from there on, between arrays low - 1 and high: steps that double, then
-- halves of what is left.
local function least(reached, low, high)
    local function open(s) return np.any(np.logical_and(np.less(s.low, s.middle), np.less(s.middle, s.high))) end
    local function halved(s) return np.floor(0.5 * s.low + 0.5 * s.high) end
    local first = np.while_loop(function(s) return np.any(np.logical_not(s.done)) end, function(s)
        local next = np.where(s.done, s.high, np.minimum(s.high + s.step, high))
        local done = np.logical_or(reached(next), np.greater_equal(next, high))
        return { low = np.where(s.done, s.low, s.high), high = next, step = 2 * s.step, done = done }
    end, { low = low - 1, high = low - 1, step = np.ones_like(low), done = np.less(low, low) })
    local state = { low = first.low, high = first.high }
    state.middle = halved(state)
    return np.while_loop(open, function(s)
        local there = reached(s.middle)
        local next = { low = np.where(there, s.low, s.middle), high = np.where(there, s.middle, s.high) }
        next.middle = halved(next)
        return next
    end, state).high
end

--- A quantile of whole numbers: the least k of which cdf is q or more, or sf q or less; at the ends the one below the
-- least k, and the greatest k.
local function whole_quantile(full, row, name)
    local at_first, at_last = name == "ppf" and 0 or 1, name == "ppf" and 1 or 0
    local names = { "q", unpack(row.parameters) }
    return function(...)
        local narrow, list, o = arguments(full, names, SHIFTED, ...)
        local weak = true
        for i, value in ipairs(list) do
            weak = weak and core.info(value).weak ~= 0
            list[i] = np.astype(np.stop_gradient(value), "f64") -- of a loop numbers become f32
        end
        local q = list[1]
        local valid = np.logical_and(np.greater(q, 0), np.less(q, 1))
        list[1] = np.where(valid, q, 0.5)
        list = { np.broadcast_arrays(unpack(list)) }
        local low, high = row.ends(unpack(list, 2))
        low, high = low + 0 * list[1], high + 0 * list[1]
        local known = row.valid and row.valid(unpack(list, 2))
        local function reached(k)
            local within = np.logical_and(np.greater_equal(k, low), np.less(k, high))
            local f = name == "ppf" and row.cdf or row.sf
            local value = f(np.where(within, k, low), unpack(list, 2))
            local beyond = name == "ppf" and np.less(value, list[1]) or np.greater(value, list[1])
            return np.where(within, np.logical_not(beyond), np.greater_equal(k, high))
        end
        local k = least(function(k)
            return known and np.logical_or(reached(k), np.logical_not(known)) or reached(k)
        end, low, high)
        k = np.where(valid, k, np.where(np.equal(q, at_first), low - 1, np.where(np.equal(q, at_last), high, np.nan)))
        if o.loc then k = k + np.astype(o.loc, "f64") end
        return operands.narrow(where(known, k, np.nan), weak and "f32" or narrow)
    end
end

local STEPS = { pmf = probability, logpmf = probability, cdf = steps, logcdf = steps, sf = steps, logsf = steps,
                ppf = whole_quantile, isf = whole_quantile }

--- The table of functions of a discrete distribution. row.ends(…) gives the least and the greatest k.
function family.discrete(name, row)
    row = completed(row)
    row.names = { "k", unpack(row.parameters) }
    local functions = {}
    for what, make in pairs(STEPS) do functions[what] = make(("stats.%s.%s"):format(name, what), row, what) end
    return closed(name, functions)
end

return family
