--- flatbuffers.lua: reading and writing the tables of FlatBuffers (https://flatbuffers.dev/internals), the form
-- of Arrow's metadata.
--
--     table ──▶ distance back to the vtable (i32), then fields at the places of the vtable
--     vtable ─▶ bytes of the vtable (u16) and of the table, then for each field its distance from the table; 0: none
--     string, vector ──▶ number of items (u32), items; a field has the distance from the field to the number
local ffi = require "ffi"
local source = require "neap.columnar.source"

local number = source.number
local flatbuffers, Table = {}, {}
Table.__index = Table

local BYTES = { u8 = 1, u16 = 2, i16 = 2, u32 = 4, i32 = 4, i64 = 8 }

-- ---- Reading --------------------------------------------------------------------------------------------------------

--- Fails unless `bytes` bytes from `at` on are part of the metadata.
local function need(m, at, bytes)
    if at < 0 or at + bytes > m.size then m.source:fail("its metadata is damaged") end
end

local function get(m, kind, at)
    need(m, at, BYTES[kind])
    return number(kind, m.data + at)
end

local function table_at(m, at)
    local vtable = at - get(m, "i32", at)
    local size, own = get(m, "u16", vtable), get(m, "u16", vtable + 2)
    need(m, vtable, size)
    need(m, at, own)
    return setmetatable({ memory = m, at = at, vtable = vtable, slots = size }, Table)
end

--- The root table of metadata in memory of a source.
function flatbuffers.root(s, data, size)
    local m = { source = s, data = data, size = size }
    return table_at(m, get(m, "u32", 0))
end

--- The place of field `id`; nil: there is none.
local function place(t, id)
    local slot = 4 + 2 * id
    if slot + 2 > t.slots then return nil end
    local offset = number("u16", t.memory.data + t.vtable + slot)
    return offset > 0 and t.at + offset or nil
end

--- A number of a kind ("i16"), or its default. 64-bit integers are cdata.
function Table.number(t, id, kind, default)
    local at = place(t, id)
    if not at then return default end
    return get(t.memory, kind, at)
end

--- A count of 64 bits.
function Table.count(t, id, kind)
    local value = source.count(Table.number(t, id, kind or "i64", 0))
    if not value then t.memory.source:fail("its metadata is damaged") end
    return value
end

local function referred(t, id)
    local at = place(t, id)
    return at and at + get(t.memory, "u32", at)
end

function Table.table(t, id)
    local at = referred(t, id)
    return at and table_at(t.memory, at)
end

--- Where the items of a vector begin, and how many of so many bytes there are; nil, 0 without a vector.
function Table.vector(t, id, bytes)
    local at = referred(t, id)
    if not at then return nil, 0 end
    local n = get(t.memory, "u32", at)
    need(t.memory, at + 4, n * bytes)
    return t.memory.data + at + 4, n
end

function Table.string(t, id)
    local data, n = t:vector(id, 1)
    return data and ffi.string(data, n)
end

--- The tables of a vector of tables.
function Table.tables(t, id)
    local data, n = t:vector(id, 4)
    local list = {}
    for k = 0, n - 1 do
        local at = tonumber(data + 4 * k - t.memory.data)
        list[k + 1] = table_at(t.memory, at + number("u32", data + 4 * k))
    end
    return list
end

-- ---- Writing --------------------------------------------------------------------------------------------------------
-- Everything is written once, from the front: a table, then its referents, whose places are put in when known. A
-- reference is a function: writes the referent, and returns the place.

local function grow(b, n)
    local before = b.n
    if before + n > b.capacity then
        b.capacity = math.max(2 * b.capacity, before + n)
        local data = ffi.new("uint8_t[?]", b.capacity)
        ffi.copy(data, b.data, before)
        b.data = data
    end
    b.n = before + n
    return before
end

local function align(b, bytes, behind)
    grow(b, -(b.n + (behind or 0)) % bytes)
end

local STORE = { u8 = "uint8_t *", u16 = "uint16_t *", i16 = "int16_t *", u32 = "uint32_t *", i32 = "int32_t *",
                i64 = "int64_t *" }

local function put(b, kind, at, value)
    ffi.cast(STORE[kind], b.data + at)[0] = value
end

--- A table of fields { id, kind or "ref", value }.
function flatbuffers.table(fields)
    return function(b)
        local last = -1
        for _, field in ipairs(fields) do last = math.max(last, field[1]) end
        local vtable_bytes = 4 + 2 * (last + 1)
        align(b, 8, vtable_bytes)
        local vtable = grow(b, vtable_bytes)
        local at = grow(b, 4)
        put(b, "i32", at, at - vtable)
        local places = {}
        for k, field in ipairs(fields) do
            local kind = field[2] == "ref" and "u32" or field[2]
            align(b, BYTES[kind])
            places[k] = grow(b, BYTES[kind])
            put(b, "u16", vtable + 4 + 2 * field[1], places[k] - at)
            if field[2] ~= "ref" then put(b, kind, places[k], field[3]) end
        end
        put(b, "u16", vtable, vtable_bytes)
        put(b, "u16", vtable + 2, b.n - at)
        for k, field in ipairs(fields) do
            if field[2] == "ref" then put(b, "u32", places[k], field[3](b) - places[k]) end
        end
        return at
    end
end

function flatbuffers.string(text)
    return function(b)
        align(b, 4)
        local at = grow(b, 4 + #text + 1)
        put(b, "u32", at, #text)
        ffi.copy(b.data + at + 4, text, #text)
        return at
    end
end

--- A vector of references.
function flatbuffers.references(list)
    return function(b)
        align(b, 4)
        local at = grow(b, 4 + 4 * #list)
        put(b, "u32", at, #list)
        for k, write in ipairs(list) do
            local place_of = at + 4 * k
            put(b, "u32", place_of, write(b) - place_of)
        end
        return at
    end
end

--- A vector of structures, lists of { kind, value }.
function flatbuffers.structures(list)
    return function(b)
        align(b, 8, 4)
        local at = grow(b, 4)
        put(b, "u32", at, #list)
        for _, structure in ipairs(list) do
            for _, field in ipairs(structure) do
                local place_of = grow(b, BYTES[field[1]])
                put(b, field[1], place_of, field[2])
            end
        end
        return at
    end
end

--- The bytes of a root table, as many as a multiple of eight.
function flatbuffers.bytes(root)
    local b = { data = ffi.new("uint8_t[?]", 1024), n = 0, capacity = 1024 }
    grow(b, 4)
    put(b, "u32", 0, root(b))
    align(b, 8)
    return ffi.string(b.data, b.n)
end

return flatbuffers
