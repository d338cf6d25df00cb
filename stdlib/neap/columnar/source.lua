--- source.lua: a file of columns, mapped into memory, and numbers in memory. The places, lengths and counts
-- of a file are checked, here or by the caller, before anything is read or taken: damage is a single error.
local ffi = require "ffi"
local core = require "neap.core"
local buffer = require "neap.arrays.buffer"
local files = require "neap.files"
local tables = require "neap.tables"

local source, methods = {}, {}
methods.__index = methods

local MOST = 2 ^ 53

--- A file for the function `name`: { name, path, data, size, block }. The mapping goes with the garbage, or with
-- close(); arrays that share the memory survive.
function source.open(name, path)
    local block, problem = buffer.map(core.check_path(name, path))
    if not block then core.raise(name, "%s", problem) end
    return setmetatable({ name = name, path = path, data = block.data, size = block.size, block = block }, methods)
end

function methods.close(s)
    files.release(s.block)
    s.data, s.size = nil, 0
end

--- Raises that the file cannot be read, and why.
function methods.fail(s, format, ...)
    core.raise(s.name, "cannot read '%s': %s", s.path, select("#", ...) > 0 and format:format(...) or format)
end

--- Raises that no column of a table can have the type of a column.
function methods.refuse(s, column, type)
    core.raise(s.name, "column '%s' of '%s' has the type %s, which is not read; {columns={…}} names the others",
               column, s.path, type)
end

--- A 64-bit integer as a count, or nil: negative, or beyond 2^53.
function source.count(value)
    value = tonumber(value)
    return value >= 0 and value < MOST and value or nil
end

local pointers = {}
for name, ctype in pairs { u8 = "uint8_t", u16 = "uint16_t", i16 = "int16_t", u32 = "uint32_t", i32 = "int32_t",
                           i64 = "int64_t" } do
    pointers[name] = ffi.typeof(ctype == "uint8_t" and "const uint8_t *" or "const " .. ctype .. " *")
end

--- The number of a kind ("u16") at an address with so many bytes.
function source.number(kind, at)
    return ffi.cast(pointers[kind], at)[0]
end

--- Memory as a block, or an error of the function.
function methods.memory(s, bytes)
    local block, problem = files.block(bytes)
    if not block then core.raise(s.name, "%s", problem) end
    return block
end

--- The names of wanted columns, in order: from the option, or all. `names`: of the file.
function methods.wanted(s, list, names)
    local number = {}
    for k, name in ipairs(names) do number[name] = number[name] or k end
    if list == nil then
        for k, name in ipairs(names) do
            if name == "" then s:fail("column %d has no name; {columns={…}} names the others", k - 1) end
            if number[name] ~= k then s:fail("it has two columns '%s'; {columns={…}} names the others", name) end
        end
        return names
    end
    if type(list) == "string" then list = { list } end
    if type(list) ~= "table" or getmetatable(list) ~= nil or #list == 0 then
        core.bad_argument(s.name, nil, "columns", "a list of names", list)
    end
    local picked, seen = {}, {}
    for k, name in ipairs(core.list(s.name, "option 'columns'", list)) do
        if type(name) ~= "string" or not number[name] then
            local shown = type(name) == "string" and "'" .. name .. "'" or core.describe(name)
            core.raise(s.name, "option 'columns' names the column %s; there are %s", shown, table.concat(names, ", "))
        end
        if seen[name] then core.raise(s.name, "option 'columns' names the column '%s' twice", name) end
        picked[k], seen[name] = name, true
    end
    return picked
end

--- The option `fill`: a number or boolean for all columns, or a table of such by name: what each of the wanted columns
-- (`names`) has, by name.
function source.fills(name, value, names)
    local fills, by_name = {}, type(value) == "table" and getmetatable(value) == nil
    for _, column in ipairs(names) do
        if by_name then fills[column] = value[column] else fills[column] = value end
        if fills[column] ~= nil and type(fills[column]) ~= "number" and type(fills[column]) ~= "boolean" then
            core.bad_argument(name, nil, "fill", "a number, or a table of numbers by column", fills[column])
        end
    end
    for column in pairs(by_name and value or {}) do
        if fills[column] == nil then
            core.raise(name, "option 'fill' names the column %s; there are %s",
                       type(column) == "string" and "'" .. column .. "'" or core.describe(column),
                       table.concat(names, ", "))
        end
    end
    return fills
end

--- The table of a file, which is closed. reader: { names, rows }; make(reader, name, fill): a column.
function methods.table(s, reader, fill, make)
    local columns, fills = {}, source.fills(s.name, fill, reader.names)
    for _, key in ipairs(reader.names) do columns[key] = make(reader, key, fills[key]) end
    s:close()
    return tables.new(core.copy_list(reader.names), columns, reader.rows)
end

return source
