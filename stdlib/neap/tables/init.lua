--- tables/init.lua: np.table: named columns of the same number of rows. A column is an array of one axis, or one of
-- texts (text.lua) or of dates (dates.lua). A table never changes: what adds or removes rows or columns gives a new
-- one, which shares the columns that stay.
--
-- Columns are arrays like others: what only rearranges rows is recorded and not waited for; what depends on values
-- (filter, group, join, describe, printing) waits. Methods that not every script needs are in other files, which are
-- loaded when one of them is named (`late`, below).
local core = require "neap.core"
local columns_of = require "neap.tables.columns"
local text = require "neap.tables.text"

local np = core.np
local is_array, raise, describe = core.is_array, core.raise, core.describe

local tables = {}
local methods = {}
tables.methods = methods

-- A table is a userdata, since Lua asks no metatable for the length of its own tables; this is what is in each.
local prototype, states = newproxy(true), setmetatable({}, { __mode = "k" })
local Table = getmetatable(prototype)

local function is_table(value)
    return getmetatable(value) == Table
end
tables.is_table = is_table

--- A table of names, columns by name, and the number of rows. by: the columns that its rows are groups of, if they are
-- and nothing was asked of them.
local function new(names, columns, rows, by)
    local numbers = {}
    for k, name in ipairs(names) do numbers[name] = k end
    local t = newproxy(prototype)
    states[t] = { _names = names, _columns = columns, _rows = rows, _numbers = numbers, _by = by }
    return t
end
tables.new = new

-- ---- Making tables --------------------------------------------------------------------------------------------------

--- Whether all of a list are whole numbers, which i64 holds exactly.
local function is_whole(list)
    for k = 1, #list do
        local value = list[k]
        if type(value) ~= "number" or value % 1 ~= 0 or math.abs(value) > 2 ^ 53 or value == 0 and 1 / value < 0 then
            return false
        end
    end
    return #list > 0
end

--- What a user gives as a column, as an array of one axis or a column of texts.
local function column_of(name, key, value)
    if columns_of.is_object(value) then return value end
    if type(value) == "table" and getmetatable(value) == nil then
        local n, strings = 0, false
        for k, item in pairs(value) do
            if type(k) ~= "number" then
                raise(name, "column '%s' must be an array or a list, got a table with the key %s", key, describe(k))
            end
            n, strings = math.max(n, k), strings or type(item) == "string"
        end
        if strings then return text.of_list(name, value, n) end
        value = np.array(value, { dtype = is_whole(value) and "i64" or nil })
    end
    if not is_array(value) then
        raise(name, "column '%s' must be an array, a list of numbers or a list of strings, got %s", key,
              describe(value))
    end
    if core.ndim(value) ~= 1 then
        raise(name, "column '%s' must have 1 axis, got shape %s", key, core.shape_text(value))
    end
    return value
end

local function check_name(name, key)
    if type(key) ~= "string" or key == "" then raise(name, "names of columns are strings, got %s", describe(key)) end
    return key
end

local length = columns_of.length

--- Adds a column to lists of names and columns; all have the same number of rows, which is returned.
local function add(name, names, columns, rows, key, value)
    if columns[check_name(name, key)] ~= nil then raise(name, "there are two columns '%s'", key) end
    local column = column_of(name, key, value)
    local n = length(column)
    if rows and n ~= rows then
        raise(name, "column '%s' has %s rows, '%s' has %s", key, tostring(n), names[1], tostring(rows))
    end
    names[#names + 1], columns[key] = key, column
    return n
end

local function names_given(name, value)
    if type(value) ~= "table" then
        core.bad_argument(name, nil, "columns", "a list of names", value)
    end
    for k = 1, #core.list(name, "option 'columns'", value) do check_name(name, value[k]) end
    return value
end

--- A table of a 2-d array, whose columns become those of the table.
local function of_array(name, x, given)
    local shape = core.shape_of(x)
    if #shape ~= 2 then raise(name, "an array must have 2 axes, rows and columns, got shape %s", core.shape_text(x)) end
    local names, columns = {}, {}
    if given and #given ~= shape[2] then
        raise(name, "option 'columns' has %d names for %d columns", #given, shape[2])
    end
    for k = 1, shape[2] do
        add(name, names, columns, shape[1], given and given[k] or "c" .. k - 1, x[{ {}, k - 1 }])
    end
    return new(names, columns, shape[1])
end

--- np.table{name = column, …}, np.table({{name, column}, …}), np.table(x, {columns=…}) -> table: named columns of the
-- same number of rows: arrays of one axis, lists of numbers (i64 where all are whole, else f32) or booleans, lists of
-- strings (false where there is none). Names in a Lua table have no order: they are sorted, unless `columns` lists
-- them; a list of pairs keeps its own. Of a 2-d array each column becomes one. `t.name` is a column, t:column(name) too
-- where a method has that name; `t.columns` lists the names, `#t` is the number of rows. A table never changes:
-- t:with{…} is a new one with more columns.
--- columns: the order of the columns by name; of an array their names, "c0", "c1", … without it
--- > t = np.table({{"city", {"Bern", "Rome", "Bern"}}, {"price", {3, 1.5, 2}}})
--- > t
-- city  price
-- text    f32
-- Bern    3.0
-- Rome    1.5
-- Bern    2.0
-- [3 rows, 2 columns]
--- > #t, t.price:mean()
-- 3
-- 2.1666667
--- > t:filter(t.city:eq "Bern").price
-- [3. 2.]
--- > np.table(np.eye(2), {columns={"a", "b"}}).b
-- [0. 1.]
function np.table(columns, given)
    local order = core.options("table", given, { columns = true }).columns
    if order ~= nil then names_given("table", order) end
    if is_array(columns) then return of_array("table", columns, order) end
    if type(columns) ~= "table" or getmetatable(columns) ~= nil then
        core.bad_argument("table", 1, "columns", "a table of columns by name, a list of pairs or a 2-d array", columns)
    end
    local names, found, rows = {}, {}, nil
    if columns[1] ~= nil then
        for k, pair in ipairs(core.list("table", "the list of columns", columns)) do
            if type(pair) ~= "table" or getmetatable(pair) ~= nil or pair[2] == nil then
                raise("table", "item %d must be a pair {name, column}, got %s", k, describe(pair))
            end
            core.list("table", ("item %d"):format(k), pair)
            rows = add("table", names, found, rows, pair[1], pair[2])
        end
        return order and new(names, found, rows):select(order) or new(names, found, rows or 0)
    end
    local keys = {}
    for key in pairs(columns) do keys[#keys + 1] = check_name("table", key) end
    table.sort(keys)
    for _, key in ipairs(order or keys) do
        if columns[key] == nil then raise("table", "option 'columns' names '%s', which is not there", key) end
        rows = add("table", names, found, rows, key, columns[key])
    end
    return new(names, found, rows or 0)
end

-- ---- Columns --------------------------------------------------------------------------------------------------------

--- What to say where a table of groups lacks a column: that what is asked of each group stands in the call of group.
local function asked_late(t, name, key)
    local by = #t._by == 1 and ("%q"):format(t._by[1]) or ('{"%s"}'):format(table.concat(t._by, '", "'))
    local column = name == "table.agg" and key or "column"
    return ('; what is asked of each group stands in the call: t:group(%s, {%s = "mean"})'):format(by, column)
end

--- Raises that there is no such column; names the near one.
local function no_column(t, name, key)
    local is_late = t._by and name == "table.agg"
    local close = not is_late and require("neap.core.suggest").name(key, { t._numbers })
    local shown = type(key) == "string" and "'" .. key .. "'" or describe(key):gsub("^the number ", "")
    raise(name, "there is no column %s%s; there are %s%s", shown,
          close and (" (is it '%s'?)"):format(close) or "", table.concat(t._names, ", "),
          type(key) == "number" and ("; a row is t:row(%.14g)"):format(key)
          or type(key) == "table" and "; t:select{…} takes a list of names" or close and ""
          or t._by and asked_late(t, name, key)
          or require("neap.core.hints").table_member(key))
end

--- A column by name, which must be there.
local function column(t, name, key)
    local found = type(key) == "string" and t._columns[key]
    return found or no_column(t, name, key)
end
tables.column = column

--- Names that a user gives: a name or a list of them, all there, none twice; as the first argument, or an option.
function tables.names(t, name, list, option)
    if type(list) == "string" then list = { list } end
    if type(list) ~= "table" or getmetatable(list) ~= nil or #list == 0 then
        core.bad_argument(name, not option and 1 or nil, option or "names", "the name of a column or a list of names",
                          list)
    end
    local seen = {}
    for _, key in ipairs(core.list(name, "the list of names", list)) do
        column(t, name, key)
        if seen[key] then raise(name, "the column '%s' is named twice", key) end
        seen[key] = true
    end
    return list
end

--- table:column(name): a column by its name, also one that a method has: an array, or a column of texts.
--- > np.table{select = {1, 2}}:column "select"
-- [1 2]
function methods.column(t, name)
    return column(t, "table.column", name)
end

--- table:select{name, …}, table:drop{name, …}, table:rename{old = new, …}: tables of some columns in the order of their
-- names, without some, or with other names.
--- > t = np.table{a = {1}, b = {2}, c = {3}}
--- > table.concat(t:select{"c", "a"}.columns, " "), table.concat(t:drop{"a"}.columns, " ")
-- c a
-- b c
--- > table.concat(t:rename{a = "z"}.columns, " ")
-- z b c
function methods.select(t, list)
    local names = core.copy_list(tables.names(t, "table.select", list))
    local columns = {}
    for _, key in ipairs(names) do columns[key] = t._columns[key] end
    return new(names, columns, t._rows)
end

function methods.drop(t, list)
    local gone, names, columns = {}, {}, {}
    for _, key in ipairs(tables.names(t, "table.drop", list)) do gone[key] = true end
    for _, key in ipairs(t._names) do
        if not gone[key] then names[#names + 1], columns[key] = key, t._columns[key] end
    end
    return new(names, columns, t._rows)
end

function methods.rename(t, map)
    if type(map) ~= "table" then core.bad_argument("table.rename", 1, "names", "a table {old = new}", map) end
    for key in pairs(map) do column(t, "table.rename", key) end
    local names, columns = {}, {}
    for _, key in ipairs(t._names) do add("table.rename", names, columns, nil, map[key] or key, t._columns[key]) end
    return new(names, columns, t._rows)
end

--- table:with{name = column, …}: a table with more columns, in the order of their names, or with others in the place of
-- columns that it has.
--- > t = np.table{a = {1, 2}}
--- > t:with{b = t.a * 10}.b
-- [10 20]
function methods.with(t, given)
    if type(given) ~= "table" or getmetatable(given) ~= nil then
        core.bad_argument("table.with", 1, "columns", "a table of columns by name", given)
    end
    local names, columns, keys = core.copy_list(t._names), {}, {}
    for key, old in pairs(t._columns) do columns[key] = old end
    for key in pairs(given) do keys[#keys + 1] = check_name("table.with", key) end
    table.sort(keys)
    local rows = #t._names > 0 and t._rows or nil
    for _, key in ipairs(keys) do
        local added = column_of("table.with", key, given[key])
        local n = length(added)
        if rows and n ~= rows then
            raise("table.with", "column '%s' has %s rows, not %s", key, tostring(n), tostring(rows))
        end
        if not columns[key] then names[#names + 1] = key end
        columns[key], rows = added, n
    end
    return new(names, columns, rows or 0)
end

-- ---- Rows -----------------------------------------------------------------------------------------------------------

--- A table of what `pick` takes of each column as an array.
function tables.rows(t, pick, rows)
    local columns = {}
    for key, old in pairs(t._columns) do
        columns[key] = columns_of.map(old, pick)
        rows = rows or length(columns[key])
    end
    return new(t._names, columns, rows or 0)
end

--- table:filter(mask): the rows where an array of bool is true, as t[mask] has them, too. Waits for it.
--- > t = np.table{a = {1, 2, 3}}
--- > t:filter(t.a:gt(1)).a, t[t.a:lt(3)].a
-- [2 3]
-- [1 2]
function methods.filter(t, mask)
    if not is_array(mask) or mask.dtype ~= "bool" then
        local wanted = type(mask) == "boolean" and "an array of bool, as t.price:eq(3) gives (t.price == 3 is no array)"
            or "an array of bool, as t.price:gt(3) gives"
        core.bad_argument("table.filter", 1, "mask", wanted, mask)
    end
    if core.ndim(mask) ~= 1 or #mask ~= t._rows then
        raise("table.filter", "a mask of shape %s does not fit %d rows", core.shape_text(mask), t._rows)
    end
    local places = np.nonzero(mask)
    return tables.rows(t, function(x) return np.take(x, places) end, #places)
end

--- table:take(indices): rows by number, from 0, negative ones from the end: an integer array, an integer or a list.
-- t[indices] is the same for an array.
--- > np.table{a = {1, 2, 3}}:take{2, 0}.a
-- [3 1]
function methods.take(t, indices)
    if type(core.plain(indices)) == "number" then indices = { indices } end
    local picks = require("neap.arrays.select").index_array("table.take", indices, t._rows)
    if core.ndim(picks) ~= 1 then
        raise("table.take", "indices must have 1 axis, got shape %s", core.shape_text(picks))
    end
    return tables.rows(t, function(x) return np.take(x, picks) end, length(picks))
end

local function count_given(name, n)
    if n == nil then return 5 end
    return core.integer(name, 1, "n", n, 0)
end

local function part(t, from, to)
    local shape = require "neap.arrays.shape"
    return tables.rows(t, function(x) return shape.cut(x, 0, from, to) end, to - from)
end

--- table:head(n), table:tail(n): the first n rows, the last n; 5 without n.
--- > t = np.table{a = {1, 2, 3}}
--- > t:head(2).a, t:tail(1).a
-- [1 2]
-- [3]
function methods.head(t, n)
    return part(t, 0, math.min(count_given("table.head", n), t._rows))
end

function methods.tail(t, n)
    return part(t, t._rows - math.min(count_given("table.tail", n), t._rows), t._rows)
end

--- table:row(k) -> table: row k, from 0 or from the end if negative: a Lua table of numbers, booleans and strings by
-- name (without those that are missing). Waits.
--- > np.table({{"city", {"Bern", "Rome"}}, {"n", {1, 2}}}):row(-1).city
-- Rome
function methods.row(t, k)
    k = core.integer("table.row", 1, "k", k)
    if k < -t._rows or k >= t._rows then raise("table.row", "row %d is out of range for %d rows", k, t._rows) end
    local row = {}
    for key, values in pairs(t._columns) do
        local value = values[k]
        if is_array(value) then value = value:item() end
        row[key] = value
    end
    return row
end

--- table:sort(by, {descending=false}): the rows in the order of a column, or of several, the first counting most; equal
-- ones keep their order, and what is missing (NaN, no text) comes last.
--- descending: true puts the greatest first; a list of booleans, one for each column that is sorted by
--- > t = np.table({{"city", {"Rome", "Bern", "Bern"}}, {"n", {1, 2, 3}}})
--- > t:sort("city").n, t:sort({"city", "n"}, {descending={false, true}}).n
-- [2 3 1]
-- [3 2 1]
function methods.sort(t, by, given)
    local descending = core.options("table.sort", given, { descending = true }).descending
    by = tables.names(t, "table.sort", by)
    if type(descending) == "table" and #descending ~= #by then
        raise("table.sort", "option 'descending' has %d values for %d columns", #descending, #by)
    end
    if type(descending) == "table" then core.list("table.sort", "option 'descending'", descending) end
    local order
    for k = #by, 1, -1 do
        local down = descending
        if type(down) == "table" then down = down[k] end
        local values = columns_of.sortable(t._columns[by[k]], down)
        local next_order = np.argsort(order and np.take(values, order) or values, { descending = down or false })
        order = order and np.take(order, next_order) or next_order
    end
    return tables.rows(t, function(x) return np.take(x, order) end, t._rows)
end

--- The columns of several tables under one name, put together.
local function joined_column(name, key, parts)
    local kind = getmetatable(parts[1])
    for _, values in ipairs(parts) do
        if getmetatable(values) ~= kind then
            raise(name, "column '%s' would have %s and %s", key, parts[1].dtype, values.dtype)
        end
    end
    if text.is_text(parts[1]) then parts = text.same_levels(parts) end
    local arrays = {}
    for k, values in ipairs(parts) do arrays[k] = columns_of.storage(values) end
    return columns_of.like(parts[1], np.concatenate(arrays))
end
tables.joined_column = joined_column

--- The tables and the option `join` that table:concat gets.
local function concat_arguments(t, ...)
    local all, n = { t, ... }, 1 + select("#", ...)
    local last, join = all[n], nil
    if n > 1 and type(last) == "table" and getmetatable(last) == nil then
        join = core.options("table.concat", last, { join = true }).join
        if join ~= nil and join ~= "inner" and join ~= "outer" then
            core.bad_argument("table.concat", nil, "join", '"inner" or "outer"', join)
        end
        all[n], n = nil, n - 1
    end
    for k = 1, n do
        if not is_table(all[k]) then core.bad_argument("table.concat", k - 1, "other", "a table", all[k]) end
    end
    return all, join
end

--- The names of columns of tables that are put together: those of all, or with join="outer" those of any. Without
-- `join` all have the same.
local function concat_names(all, join)
    local names, count = {}, {}
    for _, t in ipairs(all) do
        for _, key in ipairs(t._names) do
            if not count[key] then names[#names + 1] = key end
            count[key] = (count[key] or 0) + 1
        end
    end
    if join == "outer" then return names end
    local common = {}
    for _, key in ipairs(names) do
        if count[key] == #all then
            common[#common + 1] = key
        elseif not join then
            for _, t in ipairs(all) do column(t, "table.concat", key) end
        end
    end
    return common
end

--- A column of n rows without values, of the kind of another one.
local function without_values(values, n)
    return columns_of.take_or_none(values, np.full({ n }, -1, { dtype = "i32" }))
end

--- table:concat(other, …, {join=…}): the rows of this table and of others with the same columns, in any order.
--- join: "outer" takes the columns of any table, which are missing in the rows of others (integers and bools then
-- become f64), "inner" those that all have; without it a column that is not everywhere raises
--- > t = np.table{a = {1, 2}}
--- > t:concat(t:head(1)).a
-- [1 2 1]
--- > t:concat(np.table{a = {3}, b = {4}}, {join="outer"})
--   a    b
-- i64  f64
--   1  nan
--   2  nan
--   3  4.0
-- [3 rows, 2 columns]
function methods.concat(t, ...)
    local all, join = concat_arguments(t, ...)
    local names, columns, rows = concat_names(all, join), {}, 0
    for _, other in ipairs(all) do rows = rows + other._rows end
    for _, key in ipairs(names) do
        local parts, some = {}, nil
        for k, other in ipairs(all) do
            parts[k] = other._columns[key]
            some = some or parts[k]
        end
        for k, other in ipairs(all) do parts[k] = parts[k] or without_values(some, other._rows) end
        columns[key] = joined_column("table.concat", key, parts)
    end
    return new(names, columns, rows)
end

--- table:to_array{name, …}: the columns, or those that are named, side by side: a 2-d array of the dtype that they
-- have together.
--- > np.table{a = {1, 2}, b = {3, 4}}:to_array()
-- [[1 3]
--  [2 4]]
function methods.to_array(t, list)
    list = list == nil and t._names or tables.names(t, "table.to_array", list)
    if #list == 0 then return np.zeros { t._rows, 0 } end
    local parts = {}
    for k, key in ipairs(list) do
        if columns_of.is_object(t._columns[key]) then
            raise("table.to_array", "column '%s' has %ss; name the columns that are wanted, or use its %s", key,
                  t._columns[key].dtype, text.is_text(t._columns[key]) and "codes" or "ticks")
        end
        parts[k] = t._columns[key]
    end
    return np.stack(parts, { axis = 1 })
end

--- table:totable() -> table: the columns by name as Lua tables. Waits.
--- > np.table{a = {1, 2}}:totable().a[2]
-- 2
function methods.totable(t)
    local result = {}
    for key, values in pairs(t._columns) do result[key] = values:totable() end
    return result
end

-- ---- The metatable --------------------------------------------------------------------------------------------------

-- Methods that not every script needs are loaded when they are first named.
local late = {}
for module, names in pairs {
    group = "group agg describe", join = "join", show = "tostring", missing = "isna dropna fillna ffill bfill",
    counts = "value_counts drop_duplicates sample", ranks = "rank cut qcut",
    reshape = "pivot pivot_table melt", windows = "rolling expanding",
    resample = "resample", follow = "shift diff pct_change cumsum cumprod cummax cummin",
} do
    for name in names:gmatch "%S+" do late[name] = "neap.tables." .. module end
end

-- Methods that say so when they are called with a dot.
local called = {}

local function method(key)
    if called[key] then return called[key] end
    if late[key] and not methods[key] then require(late[key]) end
    called[key] = methods[key] and text.strict("table." .. key, methods[key], is_table)
    return called[key]
end

local fields = {}
function fields.columns(t) return core.copy_list(t._names) end
function fields.shape(t) return { t._rows, #t._names } end

local own = { _names = true, _columns = true, _rows = true, _numbers = true, _by = true }

function Table.__index(t, key)
    if own[key] then return states[t][key] end
    local found = type(key) == "string" and method(key)
    if found then return found end
    if fields[key] then return fields[key](t) end
    if is_array(key) then return key.dtype == "bool" and methods.filter(t, key) or methods.take(t, key) end
    return column(t, "table", key)
end

function Table.__newindex(_, key)
    core.fail("a table cannot be changed; t:with{%s = …} returns one with that column", tostring(key))
end

function Table.__len(t)
    return t._rows
end

function Table.__tostring(t)
    return t:tostring()
end

function Table.__text(t, width)
    return t:tostring { width = width }
end

function Table.__cells(t)
    return tables.cells(t)
end

function Table.__describe(t)
    return ("a table of %d rows and the columns %s"):format(t._rows, table.concat(t._names, ", "))
end

--- What Tab offers behind t. and t:, by name: fields with their values, methods; and the part of help that has these.
function Table.__members(t)
    local own_fields, own_methods = { columns = fields.columns(t), shape = fields.shape(t) }, {}
    for name, values in pairs(t._columns) do own_fields[name] = values end
    for _, list in ipairs { late, methods } do
        for name in pairs(list) do own_methods[name] = true end
    end
    return own_fields, own_methods, "table."
end

return tables
