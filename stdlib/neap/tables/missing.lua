--- missing.lua: rows without a value: table:isna, dropna, fillna, ffill and bfill. Missing are NaN in columns of floats
-- and complex numbers, and no text or no date in columns of these; integers and bools are always there.
local core = require "neap.core"
local tables = require "neap.tables"
local columns = require "neap.tables.columns"
local group = require "neap.tables.group"
local dates = require "neap.tables.dates"
local text = require "neap.tables.text"

local np, methods = core.np, tables.methods
local raise = core.raise

--- Which rows of a column have no value.
local function absent(values)
    local there = columns.present(values)
    return there and np.logical_not(there) or np.zeros({ columns.length(values) }, { dtype = "bool" })
end

--- table:isna(name), table:isna(): which rows of a column have no value (NaN, no text), an array of bool; without a
-- name a table of such columns.
--- > t = np.table({{"city", {"Rome", false}}, {"price", {1, 0/0}}})
--- > t:isna("price")
-- [False  True]
--- > t:isna():to_array()
-- [[False False]
--  [ True  True]]
function methods.isna(t, name)
    if name ~= nil then return absent(tables.column(t, "table.isna", name)) end
    local found = {}
    for key, values in pairs(t._columns) do found[key] = absent(values) end
    return tables.new(t._names, found, t._rows)
end

--- table:dropna(names, {how="any"}) -> table: the rows that have a value in each of some columns, of all columns
-- without names. Waits.
--- how: "any" leaves out a row if one of the values is missing, "all" if all are
--- > t = np.table({{"city", {"Rome", false, false}}, {"price", {1, 2, 0/0}}})
--- > #t:dropna(), #t:dropna("price"), #t:dropna(nil, {how="all"})
-- 1
-- 2
-- 2
function methods.dropna(t, names, given)
    local name = "table.dropna"
    local how = core.options(name, given, { how = true }).how or "any"
    if how ~= "any" and how ~= "all" then core.bad_argument(name, nil, "how", '"any" or "all"', how) end
    names = names == nil and t._names or tables.names(t, name, names)
    local kept
    for _, key in ipairs(names) do
        local there = columns.present(t._columns[key])
        if not there and how == "all" then return t end
        if there and kept then
            kept = how == "any" and np.logical_and(kept, there) or np.logical_or(kept, there)
        else
            kept = there or kept
        end
    end
    return kept and methods.filter(t, kept) or t
end

-- ---- Filling --------------------------------------------------------------------------------------------------------

local function refuse_fill(key, values, value)
    raise("table.fillna", "column '%s' of %s cannot be filled with %s", key, values.dtype, core.describe(value))
end

--- A column of texts filled with a string, or with those of another column.
local function filled_texts(key, values, value)
    if type(value) == "string" then value = text.of_list("table.fillna", { value }, 1) end
    if not text.is_text(value) then refuse_fill(key, values, value) end
    local same = text.same_levels { values, value }
    local numbers = same[1].codes
    return columns.like(same[1], np.where(np.less(numbers, 0), same[2].codes, numbers):astype "i32")
end

--- A column with a value in place of what is missing: a number, a string, or a column of as many rows.
local function filled(t, key, values, value)
    local other = columns.storage(value)
    if core.is_array(other) and not (core.ndim(other) == 0 or core.ndim(other) == 1 and #other == t._rows) then
        raise("table.fillna", "column '%s' has %d rows, and what fills it the shape %s", key, t._rows,
              core.shape_text(other))
    end
    if text.is_text(values) then return filled_texts(key, values, value) end
    if dates.is_dates(values) then
        local ticks = dates.operand("table.fillna", nil, "value", value, t._rows)
        return columns.map(values, function(x) return np.where(np.equal(x, dates.NONE), ticks, x) end)
    end
    local kind = core.dtype_of(values).kind
    local plain = core.is_array(value) and core.dtype_of(value).kind or type(value) == "number" and "f"
        or core.integer64(value) and "i" or core.complex.is(value) and "c" or type(value) == "boolean" and "b"
    if not plain or (plain == "b") ~= (kind == "b") or plain == "c" and kind ~= "c" then
        refuse_fill(key, values, value)
    end
    if not core.dtype_of(values).inexact then return values end
    return np.where(np.isnan(values), value, values):astype(values.dtype)
end

--- table:fillna(value), table:fillna{name = value, …} -> table: with a value in place of what is missing: a number in
-- all columns of numbers, a string in all columns of texts, or a value for each column that is named, which may be a
-- column, whose rows are then taken. A column keeps its dtype.
--- > t = np.table({{"city", {"Rome", false}}, {"price", {1, 0/0}}})
--- > t:fillna{city = "?", price = 0}
-- city  price
-- text    f32
-- Rome    1.0
-- ?       0.0
-- [2 rows, 2 columns]
--- > t:fillna(t.price:nanmax()).price
-- [1. 1.]
function methods.fillna(t, value)
    local found = {}
    for key, values in pairs(t._columns) do found[key] = values end
    if type(value) == "table" and getmetatable(value) == nil then
        for key, own in pairs(value) do
            found[key] = filled(t, key, tables.column(t, "table.fillna", key), own)
        end
        return tables.new(t._names, found, t._rows)
    end
    local strings, single = type(value) == "string", core.is_array(value) and core.ndim(value) == 0
    if not (strings or single or type(value) == "number" or core.integer64(value) or core.complex.is(value)) then
        core.bad_argument("table.fillna", 1, "value", "a number, a string or a table of values by column", value)
    end
    for _, key in ipairs(t._names) do
        local values = t._columns[key]
        local suits = strings and text.is_text(values)
            or not strings and not columns.is_object(values) and columns.none(values) ~= nil
        if suits then
            found[key] = filled(t, key, values, value)
        end
    end
    return tables.new(t._names, found, t._rows)
end

--- A column with the values of another one where it has none itself.
local function kept(values, instead)
    local there, other = columns.present(values), columns.storage(instead)
    return columns.map(values, function(x) return np.where(there, x, other):astype(x.dtype) end)
end

--- A table whose columns take the value of the row before, or behind, where they have none.
local function carried(name, t, names, given, from_behind)
    local laid = group.laid(t, name, core.options(name, given, { by = true }).by)
    local first, last = group.ends(laid.codes)
    local n, found = #laid.order, {}
    local place = np.arange(n, { dtype = "i64" })
    for key, values in pairs(t._columns) do found[key] = values end
    for _, key in ipairs(names == nil and t._names or tables.names(t, name, names)) do
        local values = columns.map(t._columns[key], function(x) return np.take(x, laid.order) end)
        local there = columns.present(values)
        if there and n > 0 then
            local source
            if from_behind then
                source = np.flip(np.cummin(np.flip(np.where(there, place, n))))
                source = np.where(np.greater(source, last), -1, source)
            else
                source = np.cummax(np.where(there, place, -1))
                source = np.where(np.less(source, first), -1, source)
            end
            found[key] = kept(t._columns[key], group.back(laid, columns.take_or_none(values, source)))
        end
    end
    return tables.new(t._names, found, t._rows)
end

--- table:ffill(names, {by=…}), table:bfill(names, {by=…}) -> table: what is missing takes the last value before it, or
-- the first one behind it; in some columns, in all without names.
--- by: the column, or a list of columns, by whose values rows are grouped: a value stays in its group
--- > t = np.table({{"day", {1, 2, 3}}, {"price", {0/0, 2, 0/0}}})
--- > t:ffill().price, t:bfill("price").price
-- [nan  2.  2.]
-- [ 2.  2. nan]
function methods.ffill(t, names, given) return carried("table.ffill", t, names, given, false) end

function methods.bfill(t, names, given) return carried("table.bfill", t, names, given, true) end

return methods
