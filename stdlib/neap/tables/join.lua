--- join.lua: table:join: rows of two tables with equal keys.
--
-- Keys of both tables are numbered together (group.lua), so rows with equal numbers belong together; rows of the other
-- table are put into lists by number once, and walked through for each row of this one, in its order.
local ffi = require "ffi"
local core = require "neap.core"
local tables = require "neap.tables"
local columns = require "neap.tables.columns"
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
    if columns.storage(a) ~= a or a.dtype == b.dtype then return { tables.joined_column(name, key, { a, b }) } end
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

-- ---- Which rows stand beside which ----------------------------------------------------------------------------------

--- Of rows with numbers of keys: how many of `others` have the same one, as an i64 array.
local function partners(codes, others, n)
    local counts = np.zeros({ n }, { dtype = "i64" }):at { others }:add(np.ones({ #others }, { dtype = "i64" }))
    return np.take(counts, codes)
end

--- Places of rows of both tables, which stand beside each other in the result; -1: none.
local function places(how, left, right, n)
    if how == "right" then
        local starts, rows = listed(left, n)
        local rights, lefts = matched(right, starts, rows, true)
        return lefts, rights
    end
    local starts, rows = listed(right, n)
    local lefts, rights = matched(left, starts, rows, how ~= "inner")
    if how ~= "outer" then return lefts, rights end
    local alone = np.nonzero(np.equal(partners(right, left, n), 0)):astype "i32"
    return np.concatenate { lefts, np.full_like(alone, -1) }, np.concatenate { rights, alone }
end

-- Ways to join, and which of the tables has rows without a partner in the result.
local WAYS = { inner = {}, left = { right = true }, right = { left = true }, outer = { left = true, right = true },
               semi = {}, anti = {} }

--- The names of ways in order, for messages.
local function way_names()
    local list = {}
    for name in pairs(WAYS) do list[#list + 1] = ("%q"):format(name) end
    table.sort(list)
    return table.concat(list, ", ")
end

--- Numbers of the keys of the rows of both tables: those of the first, those of the second, how many there are.
local function numbered(t, other, name, on)
    local keys = {}
    for _, key in ipairs(on) do
        local a, b = t._columns[key], tables.column(other, name, key)
        if getmetatable(a) ~= getmetatable(b) then
            raise(name, "column '%s' has %s in one table and %s in the other", key, a.dtype, b.dtype)
        end
        for _, column in ipairs(key_columns(name, key, a, b)) do keys[#keys + 1] = column end
    end
    local codes, n = group.numbers(keys)
    return codes[{ { 0, t._rows } }], codes[{ { t._rows, t._rows + other._rows } }], n
end

--- The column of a key: this table's, or where a row has none of this table the other's.
local function key_of(name, key, t, other, lefts, rights)
    local both = tables.joined_column(name, key, { t._columns[key], other._columns[key] })
    local picks = np.where(np.less(lefts, 0), rights + t._rows, lefts)
    return columns.map(both, function(x) return np.take(x, picks) end)
end

local function suffixes_of(name, suffix)
    if suffix == nil then suffix = "_right" end
    if type(suffix) == "string" then return "", suffix end
    if type(suffix) ~= "table" or #suffix ~= 2 or type(suffix[1]) ~= "string" or type(suffix[2]) ~= "string" then
        core.bad_argument(name, nil, "suffix", "a string, or a list of one for each table", suffix)
    end
    return core.list(name, "option 'suffix'", suffix)[1], suffix[2]
end

--- table:join(other, {on=…, how="inner", suffix="_right"}) -> table: the rows of this table, each with the rows of
-- another one that have the same values in the columns `on`; in the order of this table, then of the other. Waits.
--- on: the column, or a list of columns, that both have
--- how: "inner"; "left" keeps rows of this table that have no partner, "right" those of the other, in whose order the
-- result then is, "outer" those of both, the other's at the end; "semi" gives the rows of this table that have a
-- partner, "anti" those that have none, each once and without the other's columns. Where a row has no partner, columns
-- are missing: NaN, for which integers and bools become f64, or no text
--- suffix: is added to names of the other's columns that this table has too; a list of two strings is for both tables
--- > t = np.table({{"city", {"Rome", "Bern", "Oslo"}}, {"price", {1, 2, 4}}})
--- > u = np.table({{"city", {"Bern", "Rome", "Paris"}}, {"country", {"CH", "IT", "FR"}}})
--- > t:join(u, {on="city", how="outer"})
-- city   price  country
-- text     f64  text
-- Rome     1.0  IT
-- Bern     2.0  CH
-- Oslo     4.0  -
-- Paris    nan  FR
-- [4 rows, 3 columns]
--- > t:join(u, {on="city", how="anti"}):totable().city[1]
-- Oslo
function methods.join(t, other, given)
    local name = "table.join"
    if not tables.is_table(other) then core.bad_argument(name, 1, "other", "a table", other) end
    local o = core.options(name, given, { on = true, how = true, suffix = true })
    local how = o.how or "inner"
    if not WAYS[how] then raise(name, "option 'how' must be one of %s, got %s", way_names(), core.describe(how)) end
    local own_suffix, suffix = suffixes_of(name, o.suffix)
    local on, is_key = tables.names(t, name, o.on, "on"), {}
    for _, key in ipairs(on) do is_key[key] = true end
    local left, right, n = numbered(t, other, name, on)
    if how == "semi" or how == "anti" then
        local count = partners(left, right, n)
        return methods.filter(t, how == "semi" and np.greater(count, 0) or np.equal(count, 0))
    end
    local lefts, rights = places(how, left, right, n)
    local names, found = {}, {}
    local function add(key, values, at, holes)
        if found[key] then raise(name, "the result would have two columns '%s'", key) end
        names[#names + 1] = key
        found[key] = holes and columns.take_or_none(values, at)
            or columns.map(values, function(x) return np.take(x, at) end)
    end
    for _, key in ipairs(t._names) do
        if is_key[key] and WAYS[how].left then
            names[#names + 1], found[key] = key, key_of(name, key, t, other, lefts, rights)
        else
            local twice = not is_key[key] and other._columns[key] ~= nil
            add(twice and key .. own_suffix or key, t._columns[key], lefts, WAYS[how].left)
        end
    end
    for _, key in ipairs(other._names) do
        if not is_key[key] then
            add(t._columns[key] and key .. suffix or key, other._columns[key], rights, WAYS[how].right)
        end
    end
    return tables.new(names, found, #lefts)
end

for _, f in ipairs { places_of } do jit.off(f) end

return methods
