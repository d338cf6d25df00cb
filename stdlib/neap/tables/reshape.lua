--- reshape.lua: values of a column as names of columns, and back: table:pivot, pivot_table and melt.
local core = require "neap.core"
local tables = require "neap.tables"
local aggregates = require "neap.tables.aggregates"
local columns = require "neap.tables.columns"
local group = require "neap.tables.group"
local text = require "neap.tables.text"
local shape = require "neap.arrays.shape"

local np, methods = core.np, tables.methods
local raise = core.raise
local MOST_CELLS, MOST_COLUMNS = 2 ^ 27, 2 ^ 16

--- The names that a column's different values give to columns, a list of as many as it has rows.
local function names_of(values)
    local list = values:totable()
    for k = 1, #list do
        local value = list[k]
        list[k] = type(value) == "number" and ("%.14g"):format(value) or tostring(value):gsub("U?LL$", "")
    end
    return list
end

--- Cells, a column with a row for each place (in an i64 array) that has a value, as `n` columns of `rows` rows.
local function spread(values, places, rows, n, fill)
    local full = rows * n == #places
    if not full and fill == nil then values = columns.with_holes(values) end
    local instead = columns.none(values)
    if fill ~= nil then instead = fill end
    local parts = {}
    local whole = columns.map(values, function(x)
        return np.full({ rows * n }, full and 0 or instead, { dtype = x.dtype }):at { places }:set(x)
    end)
    for k = 1, n do
        parts[k] = columns.map(whole, function(x) return shape.cut(x, 0, (k - 1) * rows, k * rows) end)
    end
    return parts
end

local function check_fill(name, key, values, fill)
    if fill == nil then return end
    if not (type(fill) == "number" or core.integer64(fill)) or columns.storage(values) ~= values then
        raise(name, "option 'fill_value' must be a number, for columns of numbers; got %s for column '%s' of %s",
              core.describe(fill), key, values.dtype)
    end
end

--- Rows and columns of the result: by groups of `index` and `head`, { rows = a table of the index, places, names }.
local function laid_out(groups, name, index, head)
    local list = {}
    for k, key in ipairs(index) do list[k] = groups.keys[key] end
    local row, rows = group.numbers(list)
    local column, n = group.numbers { groups.keys[head] }
    if groups.n == 0 then rows, n = 0, 0 end
    if n > MOST_COLUMNS or rows * n > MOST_CELLS then
        raise(name, "the result would have %d rows and %d columns", rows, n)
    end
    local keys = tables.new(index, groups.keys, groups.n):drop_duplicates()
    local heads = tables.new({ head }, groups.keys, groups.n):drop_duplicates()
    -- rows of the groups are in the order of the index already, the names of columns are not
    return { index = keys, rows = rows, n = n, places = column:astype "i64" * rows + row,
             names = names_of(methods.sort(heads, head)._columns[head]) }
end

--- The table of a pivot: `of(key, values, groups)` gives the values of groups of a column.
local function pivot(t, name, o, of)
    local index = tables.names(t, name, o.index, "index")
    local head, wanted = o.columns, tables.names(t, name, o.values, "values")
    tables.column(t, name, head)
    local by = core.copy_list(index)
    by[#by + 1] = head
    local taken = {}
    for _, list in ipairs { by, wanted } do
        for _, key in ipairs(list) do
            if taken[key] then raise(name, "the column '%s' is named twice", key) end
            taken[key] = true
        end
    end
    local groups = group.of(t, name, by)
    local laid = laid_out(groups, name, index, head)
    local result = { keys = laid.index._columns, name = name, n = laid.rows }
    local list = {}
    for _, key in ipairs(wanted) do
        local values = of(key, groups.table._columns[key], groups)
        check_fill(name, key, values, o.fill_value)
        for k, part in ipairs(spread(values, laid.places, laid.rows, laid.n, o.fill_value)) do
            list[#list + 1] = { #wanted > 1 and key .. "_" .. laid.names[k] or laid.names[k], part }
        end
    end
    return group.result(result, index, list)
end

--- table:pivot{index=…, columns=…, values=…} -> table: the different values of one column as names of columns, below
-- which the values of another one stand; a row for each different value of `index`. All are in the order of their
-- values. What is nowhere is missing: NaN, for which integers and bools become f64, or no text. Raises where two rows
-- have the same place; table:pivot_table takes a mean of them. Waits.
--- index: the column, or a list of columns, that rows are named by
--- columns: the column whose values become names of columns
--- values: the column whose values stand below them; of several the names are name_value
--- > t = np.table({{"day", {1, 1, 2}}, {"city", {"Rome", "Bern", "Rome"}}, {"price", {1, 2, 4}}})
--- > t:pivot{index="day", columns="city", values="price"}
-- day  Bern  Rome
-- i64   f64   f64
--   1   2.0   1.0
--   2   nan   4.0
-- [2 rows, 3 columns]
function methods.pivot(t, given)
    local name = "table.pivot"
    if given == nil then raise(name, "takes {index=…, columns=…, values=…}") end
    local o = core.options(name, given, { index = true, columns = true, values = true })
    return pivot(t, name, o, function(_, values, groups)
        if groups.n > 0 and groups.counts:max():item() > 1 then
            raise(name, "two rows have the same values in the columns of 'index' and '%s'; t:pivot_table takes a mean, "
                      .. "or what 'aggfunc' names", o.columns)
        end
        local order = np.argsort(groups.codes)
        return columns.map(values, function(x) return np.take(x, order) end)
    end)
end

--- table:pivot_table{index=…, columns=…, values=…, aggfunc="mean", fill_value=…} -> table: as table:pivot, and of rows
-- that have the same place an aggregate, as table:group has them. Waits.
--- index: the column, or a list of columns, that rows are named by
--- columns: the column whose values become names of columns
--- values: the column whose values are aggregated; of several the names of columns are name_value
--- aggfunc: the name of an aggregate, or a function of the values
--- fill_value: a number where no row has a place
--- > t = np.table({{"day", {1, 1, 2}}, {"city", {"Rome", "Rome", "Bern"}}, {"price", {1, 2, 4}}})
--- > t:pivot_table{index="day", columns="city", values="price", aggfunc="sum", fill_value=0}
-- day  Bern  Rome
-- i64   i64   i64
--   1     0     3
--   2     4     0
-- [2 rows, 3 columns]
function methods.pivot_table(t, given)
    local name = "table.pivot_table"
    if given == nil then raise(name, "takes {index=…, columns=…, values=…}") end
    local o = core.options(name, given, { index = true, columns = true, values = true, aggfunc = true,
                                          fill_value = true })
    local how = o.aggfunc == nil and "mean" or o.aggfunc
    return pivot(t, name, o, function(key, values, groups)
        return aggregates.one(name, key, values, how, groups.codes, groups.n, true)
    end)
end

--- table:melt{id_vars=…, value_vars=…, var_name="variable", value_name="value"} -> table: columns below each other: a
-- row for each row of each of them, with the column's name and the value, and the columns `id_vars` beside it.
--- id_vars: the columns that stay: a name, or a list of names; none without it
--- value_vars: the columns that are put below each other; all others without it
--- var_name: the name of the column of names
--- value_name: the name of the column of values
--- > t = np.table({{"day", {1, 2}}, {"Bern", {2, 3}}, {"Rome", {1, 4}}})
--- > t:melt{id_vars="day", var_name="city", value_name="price"}
-- day  city  price
-- i64  text    i64
--   1  Bern      2
--   2  Bern      3
--   1  Rome      1
--   2  Rome      4
-- [4 rows, 3 columns]
function methods.melt(t, given)
    local name = "table.melt"
    local o = core.options(name, given, { id_vars = true, value_vars = true, var_name = true, value_name = true })
    local ids = o.id_vars == nil and {} or core.copy_list(tables.names(t, name, o.id_vars, "id_vars"))
    local kept, wanted = {}, o.value_vars
    for _, key in ipairs(ids) do kept[key] = true end
    if wanted == nil then
        wanted = {}
        for _, key in ipairs(t._names) do
            if not kept[key] then wanted[#wanted + 1] = key end
        end
        if #wanted == 0 then
            raise(name, "option 'id_vars' names all columns of the table: none is left to be put below others")
        end
    end
    wanted = tables.names(t, name, wanted, "value_vars")
    local parts, places = {}, {}
    for k, key in ipairs(wanted) do
        parts[k], places[k] = t._columns[key], np.full({ t._rows }, k - 1, { dtype = "i32" })
    end
    local list, n = {}, #wanted
    for _, key in ipairs(ids) do
        list[#list + 1] = { key, columns.map(t._columns[key], function(x) return np.tile(x, { n }) end) }
    end
    local labels = { o.var_name or "variable", o.value_name or "value" }
    for k, option in ipairs { "var_name", "value_name" } do
        if type(labels[k]) ~= "string" or labels[k] == "" then
            core.bad_argument(name, nil, option, "a string", labels[k])
        end
    end
    list[#list + 1] = { labels[1], text.sorted(wanted, np.concatenate(places)) }
    list[#list + 1] = { labels[2], tables.joined_column(name, wanted[1], parts) }
    return group.result({ name = name, n = t._rows * n, keys = {} }, {}, list)
end

return methods
