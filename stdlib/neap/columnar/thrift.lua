--- thrift.lua: the compact protocol of Apache Thrift, the form of Parquet's metadata
-- (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md): structures as Lua tables by the
-- number of each field.
--
--     structure ──▶ fields: a byte, type and distance from the number of the field before; the value; then a 0
--     list ───────▶ a byte, the type of items and how many; the items
--     integer ────▶ a varint: 7 bits a byte, the lowest first; the sign is the lowest bit
local ffi = require "ffi"
local bit = require "bit"

local thrift = {}

local TRUE, FALSE, I8, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 1, 2, 3, 6, 7, 8, 9, 10, 11, 12
local MOST_DEPTH = 32

-- ---- Reading --------------------------------------------------------------------------------------------------------

local function damaged(m) m.source:fail("its metadata is damaged") end

local function byte(m)
    if m.at >= m.last then damaged(m) end
    m.at = m.at + 1
    return m.data[m.at - 1]
end

--- A varint without a sign; only near beyond 2^53.
local function varint(m)
    local value, scale = 0, 1
    for _ = 1, 10 do
        local b = byte(m)
        value, scale = value + bit.band(b, 127) * scale, scale * 128
        if b < 128 then return value end
    end
    damaged(m)
end

local function integer(m)
    local value = varint(m)
    return value % 2 == 0 and value / 2 or -(value + 1) / 2
end

local read_value

--- Whether a kind of value is expected: "integer", "text", "bool", { list = … }, or fields by number.
local function is_expected(kind, wanted)
    if wanted == "integer" then return kind >= I8 and kind <= I64 end
    if wanted == "text" then return kind == BINARY end
    if wanted == "bool" then return kind == TRUE or kind == FALSE end
    return kind == (wanted.list and LIST or STRUCT)
end

local function read_struct(m, depth, wanted)
    if depth > MOST_DEPTH then damaged(m) end
    local fields, id = {}, 0
    while true do
        local head = byte(m)
        if head == 0 then return fields end
        local step = bit.rshift(head, 4)
        id = step > 0 and id + step or integer(m)
        local kind, own = bit.band(head, 15), wanted and wanted[id]
        local value
        if own and not is_expected(kind, own) then damaged(m) end
        if kind == TRUE or kind == FALSE then
            value = kind == TRUE
        else
            value = read_value(m, kind, depth, own)
        end
        if own then fields[id] = value end
    end
end

local function read_list(m, depth, wanted)
    local head = byte(m)
    local n, kind = bit.rshift(head, 4), bit.band(head, 15)
    if n == 15 then n = varint(m) end
    if n > m.last - m.at or depth > MOST_DEPTH then damaged(m) end -- an item has a byte at least
    local list, own = {}, wanted and wanted.list
    if own and n > 0 and not is_expected(kind, own) then damaged(m) end
    for k = 1, n do
        local value
        if kind == TRUE or kind == FALSE then
            value = byte(m) == TRUE
        else
            value = read_value(m, kind, depth, own)
        end
        if own then list[k] = value end
    end
    return list
end

--- Goes past a map; nothing here needs maps.
local function skip_map(m, depth)
    local n = varint(m)
    if n > m.last - m.at or depth > MOST_DEPTH then damaged(m) end
    if n == 0 then return end
    local kinds = byte(m)
    for _ = 1, n do
        for _, kind in ipairs { bit.rshift(kinds, 4), bit.band(kinds, 15) } do
            if kind == TRUE or kind == FALSE then byte(m) else read_value(m, kind, depth) end
        end
    end
end

function read_value(m, kind, depth, wanted)
    if kind == I8 then
        local b = byte(m)
        return b < 128 and b or b - 256
    elseif kind > I8 and kind <= I64 then
        return integer(m)
    elseif kind == DOUBLE then
        if m.at + 8 > m.last then damaged(m) end
        m.at = m.at + 8
        return 0
    elseif kind == BINARY then
        local n = varint(m)
        if n > m.last - m.at then damaged(m) end
        m.at = m.at + n
        return wanted and ffi.string(m.data + m.at - n, n)
    elseif kind == LIST or kind == SET then
        return read_list(m, depth + 1, wanted)
    elseif kind == MAP then
        return skip_map(m, depth + 1)
    elseif kind == STRUCT then
        return read_struct(m, depth + 1, wanted)
    end
    damaged(m)
end

--- The structure at byte `at` of a source, ended by `last`: the wanted fields by number, and the place
-- behind. wanted: by number "integer", "text", "bool", { list = of such }, or a table like `wanted` for a structure.
-- Fields of other kinds are damage.
function thrift.read(s, at, last, wanted)
    local m = { source = s, data = s.data, at = at, last = last }
    local fields = read_struct(m, 0, wanted)
    return fields, m.at
end

-- ---- Writing --------------------------------------------------------------------------------------------------------

local function varint_text(value)
    local bytes = {}
    while value >= 128 do
        bytes[#bytes + 1] = string.char(value % 128 + 128)
        value = math.floor(value / 128)
    end
    bytes[#bytes + 1] = string.char(value)
    return table.concat(bytes)
end
thrift.varint = varint_text

local function integer_text(value) return varint_text(value < 0 and -2 * value - 1 or 2 * value) end

local KINDS = { i8 = I8, i32 = 5, i64 = I64, text = BINARY, struct = STRUCT }

--- The bytes of a value of a kind: "i8", "i32", "i64", "text", "struct" (from thrift.struct).
local function value_text(kind, value)
    if kind == "i8" then return string.char(value % 256) end
    if kind == "text" then return varint_text(#value) .. value end
    return kind == "struct" and value or integer_text(value)
end

--- The bytes of a structure of fields { number, kind, value } in the order of their numbers; kinds are those of values,
-- "bool", and "list", whose value is { kind, items }.
function thrift.struct(fields)
    local parts, before = {}, 0
    for _, field in ipairs(fields) do
        local id, kind, value = field[1], field[2], field[3]
        local number = kind == "bool" and (value and TRUE or FALSE) or kind == "list" and LIST or KINDS[kind]
        parts[#parts + 1] = string.char((id - before) * 16 + number)
        before = id
        if kind == "list" then
            local n, items = #value[2], {}
            for k, item in ipairs(value[2]) do items[k] = value_text(value[1], item) end
            parts[#parts + 1] = n < 15 and string.char(n * 16 + KINDS[value[1]])
                or string.char(240 + KINDS[value[1]]) .. varint_text(n)
            parts[#parts + 1] = table.concat(items)
        elseif kind ~= "bool" then
            parts[#parts + 1] = value_text(kind, value)
        end
    end
    parts[#parts + 1] = "\0"
    return table.concat(parts)
end

return thrift
