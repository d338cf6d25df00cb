--- join.lua: table:join: rows of two tables with equal keys.
--
-- Keys of both tables are numbered together (group.lua), so rows with equal numbers belong together; rows of the other
-- table are put into lists by number once, and walked through for each row of this one, in its order.
local ffi = require "ffi"
local core = require "neap.core"
local tables = require "neap.tables"
local text = require "neap.tables.text"
local group = require "neap.tables.group"

local np, methods = core.np, tables.methods
local raise = core.raise
local MOST = 2 ^ 31 - 1

--- An i32 array of C memory.
local function places_of(memory, n)
    return core.fill(core.dtype_codes.i32, { n }, function(out) ffi.copy(out, memory, 4 * n) end, "int32_t *")
end

--- Rows of the right table by number, as lists one behind the other: where each begins, and the rows.
local function listed(codes, n)
    local starts, rows
    core.read(codes, function(data, size)
        starts, rows = ffi.new("int32_t[?]", n + 2), ffi.new("int32_t[?]", size + 1)
        for k = 0, size - 1 do starts[data[k] + 2] = starts[data[k] + 2] + 1 end
        for k = 2, n + 1 do starts[k] = starts[k] + starts[k - 1] end
        for k = 0, size - 1 do
            local code = data[k] + 1
            rows[starts[code]] = k
            starts[code] = starts[code] + 1
        end
    end)
    return starts, rows
end

--- Which rows belong together: two arrays of places; -1 in the second where `outer` keeps a row that has no other.
local function matched(left, starts, rows, outer)
    local total, lefts, rights = 0, nil, nil
    core.read(left, function(data, size)
        for k = 0, size - 1 do
            local found = starts[data[k] + 1] - starts[data[k]]
            total = total + (found == 0 and outer and 1 or found)
        end
        if total > MOST then return end
        lefts, rights = ffi.new("int32_t[?]", total + 1), ffi.new("int32_t[?]", total + 1)
        local at = 0
        for k = 0, size - 1 do
            local first, last = starts[data[k]], starts[data[k] + 1]
            for j = first, last - 1 do
                lefts[at], rights[at] = k, rows[j]
                at = at + 1
            end
            if first == last and outer then
                lefts[at], rights[at] = k, -1
                at = at + 1
            end
        end
    end)
    if total > MOST then raise("table.join", "the result would have %.0f rows, more than 2^31", total) end
    return places_of(lefts, total), places_of(rights, total)
end

--- Columns of both tables' keys, one behind the other, in which keys are equal if they are as numbers: integers that
-- meet floats count as f64; u64 and signed ones, of which promotion makes f32, are 64 bits and whether they are above
-- i64.
local function key_columns(name, key, a, b)
    if text.is_text(a) or a.dtype == b.dtype then return { tables.joined_column(name, key, { a, b }) } end
    local da, db = core.dtype_of(a), core.dtype_of(b)
    if da.kind == "f" or db.kind == "f" then
        if da.kind ~= "c" and db.kind ~= "c" then a, b = a:astype "f64", b:astype "f64" end
    elseif np.promote_types(da.name, db.name) == "f32" then
        local bits, above = {}, {}
        for k, x in ipairs { a, b } do
            local unsigned = x.dtype == "u64"
            bits[k] = unsigned and np.bitcast(x, "i64") or x:astype "i64"
            above[k] = unsigned and bits[k]:lt(0) or np.zeros({ #x }, { dtype = "bool" })
        end
        return { np.concatenate(bits), np.concatenate(above) }
    end
    return { np.concatenate { a, b } }
end

--- Rows of a column that may be missing: integers and bools become f64, in which NaN says so.
local function taken(values, places, some_missing)
    if text.is_text(values) then
        if #values == 0 then return text.new(values.levels, np.full_like(places, -1)) end
        local codes = np.take(values.codes, np.maximum(places, 0))
        return text.new(values.levels, np.where(np.less(places, 0), -1, codes):astype "i32")
    end
    if not some_missing then return np.take(values, places) end
    local dtype = core.dtype_of(values)
    local x = dtype.kind == "f" and values or values:astype "f64"
    if #x == 0 then return np.full({ #places }, np.nan, { dtype = x.dtype }) end
    return np.where(np.less(places, 0), np.nan, np.take(x, np.maximum(places, 0))):astype(x.dtype)
end

--- table:join(other, {on=…, how="inner", suffix="_right"}) -> table: the rows of this table, each with the rows of
-- another one that have the same values in the columns `on`; in the order of this table, then of the other. With
-- how="left" rows that have no other are kept, their other columns missing: NaN, for which integers and bools become
-- f64, or no text. Waits.
--- on: the column, or a list of columns, that both have
--- how: "inner", or "left"
--- suffix: is added to names of the other's columns that this table has too
--- > t = np.table({{"city", {"Rome", "Bern", "Oslo"}}, {"price", {1, 2, 4}}})
--- > u = np.table({{"city", {"Bern", "Rome"}}, {"country", {"CH", "IT"}}})
--- > t:join(u, {on="city", how="left"})
-- city  price  country
-- text    i64  text
-- Rome      1  IT
-- Bern      2  CH
-- Oslo      4  -
-- [3 rows, 3 columns]
function methods.join(t, other, given)
    local name = "table.join"
    if not tables.is_table(other) then core.bad_argument(name, 1, "other", "a table", other) end
    local o = core.options(name, given, { on = true, how = true, suffix = true })
    local how, suffix = o.how or "inner", o.suffix or "_right"
    if how ~= "inner" and how ~= "left" then
        raise(name, "option 'how' must be \"inner\" or \"left\", got %s", core.describe(how))
    end
    if type(suffix) ~= "string" then core.bad_argument(name, nil, "suffix", "a string", suffix) end
    local on, keys, is_key = tables.names(t, name, o.on), {}, {}
    for _, key in ipairs(on) do
        local a, b = t._columns[key], tables.column(other, name, key)
        if text.is_text(a) ~= text.is_text(b) then raise(name, "column '%s' has texts in one table alone", key) end
        for _, column in ipairs(key_columns(name, key, a, b)) do keys[#keys + 1] = column end
        is_key[key] = true
    end
    local codes, n = group.numbers(keys)
    local starts, rows = listed(codes[{ { t._rows, t._rows + other._rows } }], n)
    local lefts, rights = matched(codes[{ { 0, t._rows } }], starts, rows, how == "left")
    local names, columns = {}, {}
    for _, key in ipairs(t._names) do names[#names + 1], columns[key] = key, taken(t._columns[key], lefts, false) end
    for _, key in ipairs(other._names) do
        if not is_key[key] then
            local own = columns[key] and key .. suffix or key
            if columns[own] then raise(name, "the result would have two columns '%s'", own) end
            names[#names + 1], columns[own] = own, taken(other._columns[key], rights, how == "left")
        end
    end
    return tables.new(names, columns, #lefts)
end

for _, f in ipairs { places_of } do jit.off(f) end

return methods
