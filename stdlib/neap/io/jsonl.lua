--- jsonl.lua: np.io.read_jsonl, write_jsonl: tables as JSON lines: a JSON object (RFC 8259) in each line, a row.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local json = require "neap.files.json"
local csv = require "neap.io.csv"
local tables = require "neap.tables"
local columns_of = require "neap.tables.columns"
local dates = require "neap.tables.dates"
local text = require "neap.tables.text"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument
local jsonl = {}

-- ---- Reading --------------------------------------------------------------------------------------------------------

--- What a value of JSON is in a column: nothing (null), "text", "bool", "i64", "u64" or "f64", and it. Nested values
-- are texts of JSON.
local function kind_of(line, value, from, behind)
    if value == json.null then return nil end
    local kind = type(value)
    if kind == "string" then return "text", value end
    if kind == "boolean" then return "bool", value end
    if kind == "table" then return "text", line:sub(from, behind - 1) end
    if line:sub(from, behind - 1):find "[.eE]" then return "f64", value end
    if kind == "cdata" then return core.dtypes[core.integer64(value)].name, value end
    return math.abs(value) <= 2 ^ 53 and "i64" or "f64", value
end

--- The dtype of a column in which both are: integers among floats, and unsigned among signed ones that are not
-- negative.
local function joined(a, b)
    if a == b or not a then return b end
    if a == "text" or b == "text" or a == "bool" or b == "bool" then return nil end
    return (a == "f64" or b == "f64") and "f64" or "u64"
end

--- A column of values by row, of a kind, some of which are missing (nil).
local function column_of(name, path, key, column, rows)
    local values, kind, holes = column.values, column.kind, column.count < rows
    if kind == "text" then return text.of_list(name, values, rows) end
    if kind == "u64" then
        for _, value in pairs(values) do
            if value < 0 then
                raise(name, "column '%s' of %s has negative integers, and such as no i64 holds", key, path)
            end
        end
    end
    if not holes and kind then return np.array(values, { dtype = kind }) end
    for row = 1, rows do
        local value = values[row]
        if type(value) == "boolean" then value = value and 1 or 0 end
        values[row] = value ~= nil and tonumber(value) or core.NAN
    end
    return np.array(values, { dtype = "f64" })
end

--- Adds a line's members to columns by name; `names` has them in the order in which they came.
local function add_row(name, place, line, row, names, columns)
    local ok, problem = pcall(json.read_members, line, function(key, value, from, behind)
        local column = columns[key]
        if not column then
            if key == "" then error("a column needs a name", 0) end
            column = { values = {}, count = 0 }
            names[#names + 1], columns[key] = key, column
        end
        local kind, own = kind_of(line, value, from, behind)
        if not kind then return end
        local both = joined(column.kind, kind)
        if not both then
            error(("column '%s' has %s here, and %s before"):format(key, kind, column.kind), 0)
        end
        column.kind, column.values[row], column.count = both, own, column.count + 1
    end)
    if not ok then raise(name, "%s: %s", place, (tostring(problem):gsub("^.-%.lua:%d+: ", ""))) end
end

--- np.io.read_jsonl(path, {usecols=…, nrows=…, parse_dates=…}) -> table: a table (np.table) of a file with a JSON
-- object in each line, a row, plain or gzip. Columns are in the order in which their names come first; one that an
-- object does not have, or has as null, is missing: NaN, for which integers and bools become f64, or no text. Numbers
-- without a point and an exponent are i64 (u64 above that), others f64; arrays and objects are texts of JSON. Empty
-- lines are skipped. What is no JSON, and a column with values of two kinds, raises with file:line.
--- usecols: only these columns, a list of names, in this order
--- nrows: at most so many rows are read
--- parse_dates: a list of names of columns that have dates as ISO 8601 has them, or a table of formats by name, as
-- np.to_datetime takes them
--- > np.io.write_jsonl("prices.jsonl", np.table({{"city", {"Bern", "Rome"}}, {"price", {3.5, 0/0}}, {"n", {1, 2}}}))
--- > np.io.read_jsonl("prices.jsonl")
-- city  price    n
-- text    f64  i64
-- Bern    3.5    1
-- Rome    nan    2
-- [2 rows, 3 columns]
function jsonl.read_jsonl(path, given)
    local name = "io.read_jsonl"
    local o = core.options(name, given, { usecols = true, nrows = true, parse_dates = true })
    local most = o.nrows == nil and math.huge or core.integer(name, nil, "nrows", o.nrows, 0)
    local formats = csv.date_formats(name, o.parse_dates) or {}
    local block = csv.text_block(name, path)
    local whole = ffi.string(block.data, block.size)
    if block.own then files.release(block) end
    local names, columns, rows, number = {}, {}, 0, 0
    for line in (whole .. "\n"):gmatch "([^\n]*)\n" do
        number = number + 1
        if number == 1 then line = line:gsub("^\239\187\191", "") end
        if rows < most and line:find "%S" then
            rows = rows + 1
            add_row(name, ("%s:%d"):format(path, number), line, rows, names, columns)
        end
    end
    local found = {}
    for key, column in pairs(columns) do
        found[key] = column_of(name, path, key, column, rows)
        if formats[key] ~= nil then
            local values = column.count == 0 and text.of_list(name, {}, rows) or found[key]
            if not text.is_text(values) then
                raise(name, "column '%s' of %s has numbers; np.to_datetime makes dates of them", key, path)
            end
            found[key] = dates.of_texts(name, values, { format = formats[key] or nil },
                                        (" in column '%s' of %s"):format(key, path))
        end
    end
    local t = tables.new(names, found, rows)
    for key in pairs(formats) do tables.column(t, name, key) end
    if o.usecols == nil then return t end
    return t:select(core.copy_list(tables.names(t, name, o.usecols, "usecols")))
end

-- ---- Writing --------------------------------------------------------------------------------------------------------

local single = ffi.new("float[1]")

--- A real number with the fewest digits that give it back, of f32 or of f64.
local function real_text(value, is_single)
    local shown
    for digits = is_single and 6 or 15, 17 do
        shown = ("%." .. digits .. "g"):format(value)
        single[0] = tonumber(shown)
        if (is_single and tonumber(single[0]) or tonumber(shown)) == value then break end
    end
    return shown:find "[.e]" and shown or shown .. ".0"
end

--- The rows of a column as texts of JSON.
local function written(name, key, values)
    local list = {}
    if columns_of.is_object(values) then
        for k, value in ipairs(columns_of.texts(values)) do
            local ok, shown = true, "null"
            if value then ok, shown = pcall(json.write, value, { strict = true }) end
            if not ok then raise(name, "row %d of column '%s' has a text that is not UTF-8", k - 1, key) end
            list[k] = shown
        end
        return list
    end
    local dtype = core.dtype_of(values)
    if dtype.kind == "c" then raise(name, "column '%s' has complex numbers, which JSON does not have", key) end
    for k, value in ipairs(values:totable()) do
        if dtype.kind ~= "f" then
            list[k] = type(value) == "number" and ("%d"):format(value) or (tostring(value):gsub("U?LL$", ""))
        elseif value ~= value then
            list[k] = "null"
        elseif value == math.huge or value == -math.huge then
            raise(name, "row %d of column '%s' is %s, which JSON does not have", k - 1, key, tostring(value))
        else
            list[k] = real_text(value, dtype.bytes <= 4)
        end
    end
    return list
end

--- np.io.write_jsonl(path, t) -> nothing: writes a table as JSON lines, which np.io.read_jsonl reads: an object in each
-- line, a row, with the columns in their order. Numbers have the fewest digits that give them back, dates are texts as
-- ISO 8601 has them, what is missing is null. Raises for infinities, complex numbers and texts that are not UTF-8,
-- which JSON does not have. A path that ends in .gz is that of a gzip file. Waits.
--- > np.io.write_jsonl("t.jsonl", np.table({{"city", {"Bern", false}}, {"n", {1, 2}}}))
--- > io.open("t.jsonl"):read "*a"
-- {"city":"Bern","n":1}
-- {"city":null,"n":2}
--
function jsonl.write_jsonl(path, t)
    local name = "io.write_jsonl"
    core.check_path(name, path)
    if not tables.is_table(t) then bad_argument(name, 2, "t", "a table", t) end
    local lists, heads = {}, {}
    for k, key in ipairs(t._names) do
        local ok, shown = pcall(json.write, key, { strict = true })
        if not ok then raise(name, "the name of column %d is not UTF-8", k) end
        lists[k], heads[k] = written(name, key, t._columns[key]), shown .. ":"
    end
    local lines = {}
    for row = 1, t._rows do
        local parts = {}
        for k, list in ipairs(lists) do parts[k] = heads[k] .. list[row] end
        lines[row] = "{" .. table.concat(parts, ",") .. "}\n"
    end
    csv.write(name, path, lines)
end

for _, f in ipairs { jsonl.read_jsonl, jsonl.write_jsonl, add_row, written, column_of } do jit.off(f) end

return jsonl
