--- group.lua: rows of a table by their values: table:group and table:describe, and numbers for rows of equal keys,
-- which joins use too.
--
-- Sums are taken in f64 (of integers in their 64 bits) in the order of the rows, and rounded once. What is missing
-- (NaN, no text) counts in none of them.
local core = require "neap.core"
local tables = require "neap.tables"
local text = require "neap.tables.text"

local np, methods = core.np, tables.methods
local raise = core.raise
local group = {}

--- Which rows of a column have a value: an array of bool; nil: all.
local function present(values)
    if text.is_text(values) then return np.greater_equal(values.codes, 0) end
    if core.dtype_of(values).inexact then return np.logical_not(np.isnan(values)) end
    return nil
end

local function is_complex(values)
    return core.dtype_of(values).kind == "c"
end

--- For each row the number of its value among the different ones in order, and how many there are. Waits.
local function numbered(values)
    if text.is_text(values) then return tables.sortable(values), #values.levels + 1 end
    if values.dtype == "bool" then return values:astype "i32", 2 end
    local levels = np.unique(values)
    return np.searchsorted(levels, values), math.max(#levels, 1)
end

--- For each row of columns the number of its values, together, in their order: an i32 array; and how many different
-- ones there are. Waits.
function group.numbers(columns)
    local codes, n
    for k, values in ipairs(columns) do
        local more, m = numbered(values)
        if k == 1 then
            codes, n = more, m
        else -- few enough to be counted: there are at most as many as rows
            codes = codes:astype "i64" * m + more
            local levels = np.unique(codes)
            codes, n = np.searchsorted(levels, codes), #levels
        end
    end
    local used = np.unique(codes)
    if #used < n then codes, n = np.searchsorted(used, codes), #used end
    return codes:astype "i32", n
end

-- ---- Aggregates -----------------------------------------------------------------------------------------------------
-- Each takes a column, the number of each row's group, the number of groups; of rows that have a value.

local function sum_dtype(values)
    local dtype = core.dtype_of(values)
    return dtype.kind == "f" and "f64" or dtype.kind == "c" and "c128" or dtype.kind == "u" and "u64" or "i64"
end

local function summed(values, codes, n, dtype)
    return np.zeros({ n }, { dtype = dtype }):at { codes }:add(values:astype(dtype))
end

local function counted(codes, n)
    return np.zeros({ n }, { dtype = "i64" }):at { codes }:add(np.ones({ #codes }, { dtype = "i64" }))
end

local function result_dtype(values)
    return (values.dtype == "f32" or values.dtype == "c64") and "f32" or "f64"
end

--- The value at one end of each group: `place` tells which, from where the group begins and how many values it has.
-- Groups without a value have a missing one.
local function at_end(values, codes, n, counts, place)
    local pick = text.is_text(values) and values.codes or values
    local order = np.argsort(pick)
    order = np.take(order, np.argsort(np.take(codes, order)))
    local ends = np.cumsum(counts)
    local found = place(ends - counts, ends)
    if #codes == 0 then found = nil end
    local function choose(x)
        local chosen = found and np.take(np.take(x, order), np.clip(found, 0, #codes - 1))
            or np.zeros({ n }, { dtype = x.dtype })
        return chosen
    end
    local empty = np.equal(counts, 0)
    if text.is_text(values) then
        return text.new(values.levels, np.where(empty, -1, choose(values.codes)):astype "i32")
    end
    local result = choose(values)
    return core.dtype_of(values).inexact and np.where(empty, np.nan, result):astype(values.dtype) or result
end

local aggregates = {}

function aggregates.count(_, _, _, counts)
    return counts
end

function aggregates.sum(values, codes, n)
    local total = summed(values, codes, n, sum_dtype(values))
    return core.dtype_of(values).inexact and total:astype(values.dtype) or total
end

function aggregates.mean(values, codes, n, counts)
    if is_complex(values) then
        return (summed(values, codes, n, "c128") / counts:astype "f64"):astype(values.dtype)
    end
    return (summed(values, codes, n, "f64") / counts:astype "f64"):astype(result_dtype(values))
end

--- The sum of squares of distances from the mean over n - 1.
local function variance(values, codes, n, counts)
    local wide = is_complex(values) and "c128" or "f64"
    local x, c = values:astype(wide), counts:astype "f64"
    local mean = summed(x, codes, n, wide) / c
    local away = x - np.take(mean, codes)
    local squares = is_complex(values) and np.square(np.real(away)) + np.square(np.imag(away)) or np.square(away)
    return np.where(np.less(c, 2), np.nan, summed(squares, codes, n, "f64") / np.maximum(c - 1, 1))
end

function aggregates.var(values, codes, n, counts)
    return variance(values, codes, n, counts):astype(result_dtype(values))
end

function aggregates.std(values, codes, n, counts)
    return np.sqrt(variance(values, codes, n, counts)):astype(result_dtype(values))
end

function aggregates.min(values, codes, n, counts)
    return at_end(values, codes, n, counts, function(first) return first end)
end

function aggregates.max(values, codes, n, counts)
    return at_end(values, codes, n, counts, function(_, last) return last - 1 end)
end

local OF_TEXTS = { count = true, min = true, max = true }

local function aggregate_names()
    local list = {}
    for name in pairs(aggregates) do list[#list + 1] = name end
    table.sort(list)
    return table.concat(list, ", ")
end

--- The columns of one aggregated column: a list of { name, column }.
local function aggregated(key, values, how, codes, n)
    if type(how) == "string" then how = { how } end
    if type(how) ~= "table" or #how == 0 then
        raise("table.group", "what is asked of column '%s' must be one of %s, or a list of them, got %s", key,
              aggregate_names(), core.describe(how))
    end
    core.list("table.group", ("the list for column '%s'"):format(key), how)
    local there = present(values)
    if there then
        local places = np.nonzero(there)
        if #places < #codes then
            local function pick(x) return np.take(x, places) end
            values, codes = text.is_text(values) and text.map(values, pick) or pick(values), pick(codes)
        end
    end
    local counts, list = counted(codes, n), {}
    for _, name in ipairs(how) do
        local f = type(name) == "string" and aggregates[name]
        if not f then
            raise("table.group", "there is no aggregate %s; there are %s", core.describe(name), aggregate_names())
        end
        if text.is_text(values) and not OF_TEXTS[name] then
            raise("table.group", "column '%s' has texts, of which there is no %s", key, name)
        end
        list[#list + 1] = { key .. "_" .. name, f(values, codes, n, counts) }
    end
    return list
end

--- table:group(by, {name = "mean", other = {"min", "max"}, …}) -> table: a row for each different value of a column, or
-- of several, in their order. It has these values, `count`, the number of rows (i64), and of each column that is named
-- what is asked of it, as `name_mean`: sum, mean, min, max, count (of values that are there), std and var (by n - 1).
-- Complex numbers are in the order of np.sort.
-- What is missing (NaN, no text) counts in none; rows whose key is missing are left out, as in pandas. Waits.
--- > t = np.table({{"city", {"Rome", "Bern", "Rome"}}, {"price", {1, 2, 4}}})
--- > t:group("city", {price = {"mean", "max"}})
-- city  count  price_mean  price_max
-- text    i64         f64        i64
-- Bern      1         2.0          2
-- Rome      2         2.5          4
-- [2 rows, 4 columns]
function methods.group(t, by, asked)
    by = tables.names(t, "table.group", by)
    if asked ~= nil and (type(asked) ~= "table" or getmetatable(asked) ~= nil) then
        core.bad_argument("table.group", 2, "aggregates", "a table {column = \"mean\", …}", asked)
    end
    local whole
    for _, key in ipairs(by) do
        local there = present(t._columns[key])
        whole = whole and there and np.logical_and(whole, there) or there or whole
    end
    if whole then t = methods.filter(t, whole) end
    local keys, names = {}, {}
    for k, key in ipairs(by) do keys[k] = t._columns[key] end
    local codes, n = group.numbers(keys)
    if t._rows == 0 then codes, n = np.zeros({ 0 }, { dtype = "i32" }), 0 end
    local counts = counted(codes, n)
    local first = np.take(np.argsort(codes), (np.cumsum(counts) - counts):astype "i32")
    local columns = {}
    local function add(key, values)
        if columns[key] then raise("table.group", "the result would have two columns '%s'", key) end
        names[#names + 1], columns[key] = key, values
    end
    for k, key in ipairs(by) do
        local function pick(x) return n > 0 and np.take(x, first) or x end
        add(key, text.is_text(keys[k]) and text.map(keys[k], pick) or pick(keys[k]))
    end
    add("count", counts)
    for key in pairs(asked or {}) do tables.column(t, "table.group", key) end
    for _, key in ipairs(t._names) do
        if asked and asked[key] ~= nil then
            for _, pair in ipairs(aggregated(key, t._columns[key], asked[key], codes, n)) do add(pair[1], pair[2]) end
        end
    end
    return tables.new(names, columns, n)
end

-- ---- Describing -----------------------------------------------------------------------------------------------------

local STATISTICS = { "count", "mean", "std", "min", "25%", "50%", "75%", "max" }

--- The value at a part of the way through numbers in order, on the line between its neighbours.
local function quantile(sorted, n, q)
    local place = (n - 1) * q
    local low = math.floor(place)
    local a, b = sorted[low]:item(), sorted[math.min(low + 1, n - 1)]:item()
    if a == b or place == low then return a end -- also between two infinities
    return a + (b - a) * (place - low)
end

local function statistics_of(values)
    local x = values:astype "f64"
    x = np.sort(np.take(x, np.nonzero(np.logical_not(np.isnan(x)))))
    local n = #x
    if n == 0 then return { 0, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan } end
    local mean = x:mean()
    local std = n > 1 and np.sqrt(np.square(x - mean):sum() / (n - 1)):item() or np.nan
    return { n, mean:item(), std, x[0]:item(), quantile(x, n, 0.25), quantile(x, n, 0.5), quantile(x, n, 0.75),
             x[n - 1]:item() }
end

--- table:describe() -> table: of each column of numbers how many there are (without NaN), their mean, standard
-- deviation (by n - 1), least and greatest, and quartiles (on the line between neighbours), in f64. Waits.
--- > np.table{price = {1, 2, 4}}:describe()
-- statistic     price
-- text            f64
-- count      3.000000
-- mean       2.333333
-- std        1.527525
-- min        1.000000
-- 25%        1.500000
-- 50%        2.000000
-- 75%        3.000000
-- max        4.000000
-- [8 rows, 2 columns]
function methods.describe(t)
    local names, columns = { "statistic" }, {}
    columns.statistic = text.of_list("table.describe", STATISTICS, #STATISTICS)
    for _, key in ipairs(t._names) do
        local values = t._columns[key]
        if not text.is_text(values) and values.dtype ~= "bool" then
            if is_complex(values) then
                raise("table.describe", "column '%s' has complex numbers (%s), of which there is no least one and no "
                          .. "quartile; t:drop{\"%s\"}:describe() leaves it out", key, values.dtype, key)
            end
            if key == "statistic" then raise("table.describe", "a column is called 'statistic'; rename it first") end
            names[#names + 1], columns[key] = key, np.array(statistics_of(values), { dtype = "f64" })
        end
    end
    return tables.new(names, columns, #STATISTICS)
end

return group
