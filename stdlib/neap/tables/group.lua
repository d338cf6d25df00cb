--- group.lua: rows of a table by their values: table:group, table:agg and table:describe, and numbers for rows of equal
-- keys, which joins use too. What is taken of each group is in aggregates.lua.
local core = require "neap.core"
local tables = require "neap.tables"
local aggregates = require "neap.tables.aggregates"
local columns = require "neap.tables.columns"
local text = require "neap.tables.text"
local shape = require "neap.arrays.shape"

local np, methods = core.np, tables.methods
local raise = core.raise
local group = {}

--- How far integers that lie near together are above the least of them, as an i32 array; the greatest of these numbers;
-- and the least integer. nil: they are no such integers.
local function above_least(values)
    local dtype = core.dtype_of(values)
    if dtype.inexact or #values == 0 or #values >= 2 ^ 31 then return nil end
    local least, most = np.min(values), np.max(values)
    if dtype.bits < 64 then least, most = least:astype "i64", most:astype "i64" end
    local range = (most - least):item() -- below 0: more than 2^63
    if range < 0 or range >= #values or range >= 2 ^ 30 then return nil end
    local whole = dtype.bits < 32 and values:astype "i32" or values -- which have the difference
    return (whole - least:astype(whole.dtype)):astype "i32", tonumber(range), least:astype(values.dtype)
end

--- The same as numbered gives, of integers that lie near together, without an order; else nil.
local function counted(values)
    local places, range = above_least(values)
    if not places then return nil end
    local rank = np.cumsum(np.greater(np.bincount(places, { length = range + 1 }), 0):astype "i32")
    return np.take(rank, places) - 1, rank[-1]:item()
end

--- For each row the number of its value among the different ones in order, how many there are, and whether each of
-- these has a row. Waits.
local function numbered(values)
    if text.is_text(values) then return columns.sortable(values), #values.levels + 1, false end
    values = columns.storage(values)
    if values.dtype == "bool" then return values:astype "i32", 2, false end
    local codes, n = counted(values)
    if codes then return codes, n, true end
    local levels = np.unique(values)
    return np.searchsorted(levels, values), math.max(#levels, 1), #levels > 0
end

--- For each row of columns the number of its values, together, in their order: an i32 array; and how many different
-- ones there are. Waits.
function group.numbers(list)
    local codes, n, all
    for k, values in ipairs(list) do
        local more, m, each = numbered(values)
        if k == 1 then
            codes, n, all = more, m, each
        else -- few enough to be counted: there are at most as many as rows
            codes = codes:astype "i64" * m + more
            local levels = np.unique(codes)
            codes, n, all = np.searchsorted(levels, codes), #levels, true
        end
    end
    local used = not all and np.unique(codes)
    if used and #used < n then codes, n = np.searchsorted(used, codes), #used end
    return codes:astype "i32", n
end

-- ---- Groups ---------------------------------------------------------------------------------------------------------

--- Rows whose keys are there, by the columns that `by` names: { table = these rows, codes = the number of each one's
-- group, n, counts, keys = by name a column of the groups, rows = their places in t, nil: all }.
function group.of(t, name, by)
    local whole
    for _, key in ipairs(by) do
        local there = columns.present(t._columns[key])
        whole = whole and there and np.logical_and(whole, there) or there or whole
    end
    local rows
    if whole then
        rows = np.nonzero(whole)
        t = tables.rows(t, function(x) return np.take(x, rows) end, #rows)
    end
    local list = {}
    for k, key in ipairs(by) do list[k] = t._columns[key] end
    local codes, n = group.numbers(list)
    if t._rows == 0 then codes, n = np.zeros({ 0 }, { dtype = "i32" }), 0 end
    local counts = aggregates.counts(codes, n)
    local first = np.segment_min(np.arange(t._rows, { dtype = "i64" }), codes, n)
    local keys = {}
    for k, key in ipairs(by) do
        keys[key] = columns.map(list[k], function(x) return n > 0 and np.take(x, first) or x end)
    end
    return { table = t, name = name, codes = codes, n = n, counts = counts, keys = keys, rows = rows }
end

--- The groups of `of` by one column of integers that lie near together, without what only rows need: codes and rows.
-- nil: there is no such column.
function group.tally(t, name, by)
    local values = t._columns[by[1]]
    if #by > 1 or not core.is_array(values) or core.dtype_of(values).kind == "b" then return nil end
    local places, range, least = above_least(values)
    if not places then return nil end
    local counts = np.bincount(places, { length = range + 1 })
    local used = np.flatnonzero(counts)
    return { table = t, name = name, n = #used, counts = np.take(counts, used):astype "i64",
             keys = { [by[1]] = used:astype(values.dtype) + least } }
end

--- For columns that follow the rows of each group: { order = the rows' places (i64) group by group, each in the order
-- of the table, codes = the numbers of their groups, rows }. Without `by` all rows are one group; rows whose key is
-- missing are not there.
function group.laid(t, name, by)
    if by == nil then
        return { order = np.arange(t._rows, { dtype = "i64" }), codes = np.zeros({ t._rows }, { dtype = "i32" }),
                 rows = t._rows }
    end
    local groups = group.of(t, name, tables.names(t, name, by, "by"))
    local order = np.argsort(groups.codes)
    local codes = np.take(groups.codes, order)
    if groups.rows then order = np.take(groups.rows, order) end
    return { order = order:astype "i64", codes = codes, rows = t._rows, by = true }
end

--- A column of the table's rows of one whose rows are in the order of groups; others have no value.
function group.back(laid, values)
    if not laid.by then return values end
    if #laid.order < laid.rows then values = columns.with_holes(values) end
    local none = columns.none(values)
    return columns.map(values, function(x)
        return np.full({ laid.rows }, none or 0, { dtype = x.dtype }):at { laid.order }:set(x)
    end)
end

--- Where the group of each of rows in the order of groups begins and ends: places of its first and last row.
function group.ends(codes)
    local n = #codes
    local place = np.arange(n, { dtype = "i64" })
    if n == 0 then return place, place end
    local before, behind = np.cummax(np.where(group.changes(codes), place, 0)), n - 1 - place
    local ends = np.flip(group.changes(np.flip(codes)))
    return before, n - 1 - np.flip(np.cummax(np.flip(np.where(ends, behind, 0))))
end

--- Which elements differ from the one before; the first one does. Takes one array or several, of which one has to.
function group.changes(...)
    local new
    for _, x in ipairs { ... } do
        local n = #x
        local own = np.not_equal(shape.cut(x, 0, 1, n), shape.cut(x, 0, 0, n - 1))
        new = new and np.logical_or(new, own) or own
    end
    return np.concatenate { np.ones({ 1 }, { dtype = "bool" }), new }
end

--- A table of the groups' keys and further columns, a list of { name, column }. is_plain: nothing was asked of them.
function group.result(groups, by, list, is_plain)
    local names, found = {}, {}
    local function add(key, values)
        if found[key] then raise(groups.name, "the result would have two columns '%s'", key) end
        names[#names + 1], found[key] = key, values
    end
    for _, key in ipairs(by) do add(key, groups.keys[key]) end
    for _, pair in ipairs(list) do add(pair[1], pair[2]) end
    return tables.new(names, found, groups.n, is_plain and by or nil)
end

--- Adds to a list what is asked of a table's columns, whose rows are in n groups, each with rows if `full`.
function group.add_asked(list, name, t, asked, codes, n, full)
    for key in pairs(asked) do tables.column(t, name, key) end
    for _, key in ipairs(t._names) do
        if asked[key] ~= nil then
            for _, pair in ipairs(aggregates.of(name, key, t._columns[key], asked[key], codes, n, full)) do
                list[#list + 1] = pair
            end
        end
    end
    return list
end

function group.check_asked(name, position, asked)
    if type(asked) ~= "table" or getmetatable(asked) ~= nil then
        core.bad_argument(name, position, "aggregates", "a table {column = \"mean\", …}", asked)
    end
end

--- table:group(by, {name = "mean", other = {"min", "max"}, …}) -> table: a row for each different value of a column, or
-- of several, in their order. It has these values, `count`, the number of rows (i64), and of each column that is named
-- what is asked of it, as `name_mean`: sum, mean, median, min, max, first, last, count (of values that are there),
-- nunique (of different ones), std and var (by n - 1), and quantiles such as "90%", on the line between neighbours. Of
-- texts there are count, nunique, first, last, min and max.
-- A function is called with the values of each group, an array or a column of texts, and returns a number (f64), an
-- array of one element, a boolean or a string; it is not called where there is no value, and what it gives is missing
-- there. {name = f} gives the column `name`, {name = {"mean", range = f}} the columns `name_mean` and `name_range`.
-- Complex numbers are in the order of np.sort.
-- What is missing (NaN, no text) counts in none; rows whose key is missing are left out, as in pandas. Waits.
--- > t = np.table({{"city", {"Rome", "Bern", "Rome"}}, {"price", {1, 2, 4}}})
--- > t:group("city", {price = {"mean", "max"}})
-- city  count  price_mean  price_max
-- text    i64         f64        i64
-- Bern      1         2.0          2
-- Rome      2         2.5          4
-- [2 rows, 4 columns]
--- > t:group("city", {price = {"90%", range = function(x) return x:max() - x:min() end}})
-- city  count  price_90%  price_range
-- text    i64        f64          i64
-- Bern      1        2.0            0
-- Rome      2        3.7            3
-- [2 rows, 4 columns]
function methods.group(t, by, asked)
    local name = "table.group"
    by = tables.names(t, name, by)
    if asked ~= nil then group.check_asked(name, 2, asked) end
    local groups = group.of(t, name, by)
    local list = { { "count", groups.counts } }
    group.add_asked(list, name, groups.table, asked or {}, groups.codes, groups.n, true)
    return group.result(groups, by, list, asked == nil)
end

--- table:agg{name = "mean", other = {"min", "max"}, …} -> table: what is asked of columns, as table:group takes it, of
-- all rows: a table of one row. Of a table without rows integers and bools are missing as NaN, in f64. Waits.
--- > t = np.table({{"city", {"Rome", "Bern", "Rome"}}, {"price", {1, 2, 4}}})
--- > t:agg{price = {"median", "std"}, city = "nunique"}
-- city_nunique  price_median  price_std
--          i64           f64        f64
--            2           2.0   1.527525
-- [1 row, 3 columns]
function methods.agg(t, asked)
    group.check_asked("table.agg", 1, asked)
    if next(asked) == nil then raise("table.agg", "nothing is asked for: t:agg{column = \"mean\"}") end
    local codes = np.zeros({ t._rows }, { dtype = "i32" })
    local list = group.add_asked({}, "table.agg", t, asked, codes, 1, t._rows > 0)
    return group.result({ name = "table.agg", keys = {}, n = 1 }, {}, list)
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
    local names, found = { "statistic" }, {}
    found.statistic = text.of_list("table.describe", STATISTICS, #STATISTICS)
    for _, key in ipairs(t._names) do
        local values = t._columns[key]
        if columns.storage(values) == values and values.dtype ~= "bool" then
            if core.dtype_of(values).kind == "c" then
                raise("table.describe", "column '%s' has complex numbers (%s), of which there is no least one and no "
                          .. "quartile; t:drop{\"%s\"}:describe() leaves it out", key, values.dtype, key)
            end
            if key == "statistic" then raise("table.describe", "a column is called 'statistic'; rename it first") end
            names[#names + 1], found[key] = key, np.array(statistics_of(values), { dtype = "f64" })
        end
    end
    return tables.new(names, found, #STATISTICS)
end

return group
