--- parquet_write.lua: tables as Parquet files (parquet_read.lua has the form), in a plain way that all readers know:
-- numbers and dates PLAIN, texts as numbers of a dictionary (RLE_DICTIONARY), a page of the older form for each
-- group of rows. NaN is no value, as in pandas.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"
local schema = require "neap.columnar.parquet_schema"
local thrift = require "neap.columnar.thrift"
local written = require "neap.columnar.written"

local parquet_write = {}

local BOOLEAN, INT32, INT64, FLOAT, DOUBLE, BYTES, FIXED = schema.BOOLEAN, schema.INT32, schema.INT64, schema.FLOAT,
    schema.DOUBLE, schema.BYTES, schema.FIXED
local PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
local DATA, DICTIONARY, OPTIONAL = 0, 2, 1
local CODECS = { snappy = 1, gzip = 2, zstd = 6 }
local MOST_PAGE = 2 ^ 30 -- bytes, so that packed pages stay below 2^31
local EMPTY = thrift.struct {}

-- ---- Columns --------------------------------------------------------------------------------------------------------

--- The logical type of integers of so many bits.
local function integer_type(bits, signed)
    local whole = thrift.struct { { 1, "i8", bits }, { 2, "bool", signed } }
    return thrift.struct { { 10, "struct", whole } }
end

--- A column as the file has it: physical type, older and logical types, elements.
local function described(w, name, values)
    local column = written.column(w, name, values)
    if column.kind == "text" then
        column.physical, column.converted = BYTES, 0
        column.logical = thrift.struct { { 1, "struct", EMPTY } }
        return column
    end
    if column.kind == "date" then
        local unit = thrift.struct { { 2, "struct", EMPTY } }
        column.physical, column.bytes = INT64, 8
        local timestamp = thrift.struct { { 1, "bool", false }, { 2, "struct", unit } }
        column.logical = thrift.struct { { 8, "struct", timestamp } }
        return column
    end
    local dtype = column.dtype
    if dtype.kind == "b" then
        column.physical = BOOLEAN
    elseif dtype.kind == "f" then
        column.physical = dtype.bytes == 8 and DOUBLE or dtype.bytes == 4 and FLOAT or FIXED
        column.bytes = dtype.bytes
        if dtype.bytes == 2 then column.logical = thrift.struct { { 15, "struct", EMPTY } } end
    else
        local signed = dtype.kind == "i"
        column.physical, column.bytes = dtype.bytes == 8 and INT64 or INT32, math.max(dtype.bytes, 4)
        if dtype.bytes < 4 then column.stored = column.stored:astype "i32" end
        if dtype.bytes < 4 or not signed then
            column.logical = integer_type(dtype.bytes * 8, signed)
            column.converted = (signed and 15 or 11) + ({ [1] = 0, [2] = 1, [4] = 2, [8] = 3 })[dtype.bytes]
        end
    end
    return column
end

local function schema_of(columns)
    local root = { { 4, "text", "schema" }, { 5, "i32", #columns } }
    local elements = { thrift.struct(root) }
    for k, column in ipairs(columns) do
        local fields = { { 1, "i32", column.physical } }
        if column.physical == FIXED then fields[#fields + 1] = { 2, "i32", column.bytes } end
        fields[#fields + 1] = { 3, "i32", OPTIONAL }
        fields[#fields + 1] = { 4, "text", column.name }
        if column.converted then fields[#fields + 1] = { 6, "i32", column.converted } end
        if column.logical then fields[#fields + 1] = { 10, "struct", column.logical } end
        elements[k + 1] = thrift.struct(fields)
    end
    return elements
end

-- ---- Pages ----------------------------------------------------------------------------------------------------------

local function little_endian(value) return ffi.string(ffi.new("uint32_t[1]", value), 4) end

--- Adds a page to the pieces of a file. parts: strings and blocks; head: for a page of this kind.
local function add_page(w, chunk, kind, field, head, parts)
    local size = 0
    for _, part in ipairs(parts) do size = size + (type(part) == "string" and #part or part.size) end
    if size > MOST_PAGE then
        core.raise(w.name, "column '%s' has too many bytes for a page; {row_group_size=…} makes smaller ones",
                   chunk.name)
    end
    local packed = size
    if w.compression and size > 0 then
        local whole, at = written.memory(w, size), 0
        for _, part in ipairs(parts) do
            local bytes = type(part) == "string" and #part or part.size
            ffi.copy(whole.data + at, type(part) == "string" and part or part.data, bytes)
            at = at + bytes
        end
        parts = { written.packed(w, w.compression, whole.data, size) }
        packed = parts[1].size
    end
    local header = thrift.struct { { 1, "i32", kind }, { 2, "i32", size }, { 3, "i32", packed },
                                   { field, "struct", head } }
    w.pieces[#w.pieces + 1] = header
    for _, part in ipairs(parts) do w.pieces[#w.pieces + 1] = part end
    w.bytes = w.bytes + #header + packed
    chunk.bytes, chunk.packed = chunk.bytes + #header + size, chunk.packed + #header + packed
end

--- Flags of n rows as runs: a single run for all, or a bitmap. flags: bytes, or nil: all rows have a value.
local function presence(w, flags, n)
    local runs
    if flags then
        local block = written.memory(w, math.floor((n + 7) / 8))
        written.pack(flags, n, block.data)
        runs = thrift.varint(block.size * 2 + 1) .. ffi.string(block.data, block.size)
    else
        runs = thrift.varint(n * 2) .. "\1"
    end
    return little_endian(#runs) .. runs
end

--- The levels of n rows as they come, a list, and the rows' numbers in the list, a block; -1 stays. So a group of rows
-- has a dictionary of its own levels alone.
local function own_levels(w, levels, numbers, n)
    local places, own = written.memory(w, #levels * 4), written.memory(w, n * 4)
    local place, out = ffi.cast("int32_t *", places.data), ffi.cast("int32_t *", own.data)
    local list, count = {}, 0
    ffi.fill(place, #levels * 4, 255) -- -1: no row yet
    for k = 0, n - 1 do
        local level = numbers[k]
        if level >= 0 and place[level] < 0 then
            place[level], count = count, count + 1
            list[count] = levels[level + 1]
        end
        out[k] = level >= 0 and place[level] or -1
    end
    return list, own
end

--- The texts of levels behind each other, each after the length.
local function dictionary_of(w, levels)
    local size, at = 0, 0
    for _, level in ipairs(levels) do size = size + 4 + #level end
    local block = written.memory(w, size)
    for _, level in ipairs(levels) do
        ffi.cast("uint32_t *", block.data + at)[0] = #level
        ffi.copy(block.data + at + 4, level, #level)
        at = at + 4 + #level
    end
    return block
end

--- n numbers, each of `width` bits, in eights, as a single run; numbers below 0 are left out.
local function numbers_of(w, numbers, n, width)
    local kept = 0
    for k = 0, n - 1 do
        if numbers[k] >= 0 then kept = kept + 1 end
    end
    local groups = math.floor((kept + 7) / 8)
    local block, at, held, value = written.memory(w, groups * width), 0, 0, 0
    local head = string.char(width) .. thrift.varint(groups * 2 + 1)
    ffi.fill(block.data, block.size)
    for k = 0, n - 1 do
        if numbers[k] >= 0 then
            value, held = value + numbers[k] * 2 ^ held, held + width
            while held >= 8 do
                block.data[at] = bit.band(value % 256, 255)
                value, held, at = math.floor(value / 256), held - 8, at + 1
            end
        end
    end
    if held > 0 then block.data[at] = value end
    return head, block
end

local POINTERS = { [1] = ffi.typeof "uint8_t *", [2] = ffi.typeof "uint16_t *", [4] = ffi.typeof "int32_t *",
                   [8] = ffi.typeof "int64_t *" }

--- The elements, of so many bytes, of rows [from, from + n) of a column with a value, as a block, and how many.
-- flags: of these rows, bytes; nil: all have a value.
local function elements_of(w, column, flags, from, n, bytes)
    local first = ffi.cast("const uint8_t *", column.data) + from * bytes
    if not flags then return { data = first, size = n * bytes, keep = column.stored }, n end
    local kept = 0
    for k = 0, n - 1 do kept = kept + (flags[k] ~= 0 and 1 or 0) end
    local block = written.memory(w, kept * bytes)
    local out, ins, at = ffi.cast(POINTERS[bytes], block.data), ffi.cast(POINTERS[bytes], first), 0
    for k = 0, n - 1 do
        if flags[k] ~= 0 then
            out[at] = ins[k]
            at = at + 1
        end
    end
    return block, kept
end

local function has_holes(flags, n)
    for k = 0, n - 1 do
        if flags[k] == 0 then return true end
    end
    return false
end

--- Adds the rows [from, from + n) of a column, a chunk; returns the metadata.
local function add_chunk(w, column, from, n)
    local chunk = { name = column.name, bytes = 0, packed = 0 }
    local flags = column.flags and column.flags + from
    if flags and not has_holes(flags, n) then flags = nil end
    local first, first_dictionary, encoding, parts = w.bytes, nil, PLAIN, { presence(w, flags, n) }
    if column.kind == "text" then
        local levels, numbers = own_levels(w, column.levels, ffi.cast("const int32_t *", column.data) + from, n)
        local head = thrift.struct { { 1, "i32", #levels }, { 2, "i32", PLAIN } }
        add_page(w, chunk, DICTIONARY, 7, head, { dictionary_of(w, levels) })
        first_dictionary, first, encoding = first, w.bytes, RLE_DICTIONARY
        local width = 0
        while 2 ^ width < #levels do width = width + 1 end
        parts[2], parts[3] = numbers_of(w, ffi.cast("const int32_t *", numbers.data), n, width)
    elseif column.physical == BOOLEAN then
        local block, kept = elements_of(w, column, flags, from, n, 1)
        local bitmap = written.memory(w, math.floor((kept + 7) / 8))
        written.pack(block.data, kept, bitmap.data)
        parts[2] = bitmap
    else
        parts[2] = elements_of(w, column, flags, from, n, column.bytes)
    end
    local head = thrift.struct { { 1, "i32", n }, { 2, "i32", encoding }, { 3, "i32", RLE }, { 4, "i32", RLE } }
    add_page(w, chunk, DATA, 5, head, parts)
    local fields = { { 1, "i32", column.physical }, { 2, "list", { "i32", { encoding, RLE } } },
                     { 3, "list", { "text", { column.name } } }, { 4, "i32", CODECS[w.compression] or 0 },
                     { 5, "i64", n }, { 6, "i64", chunk.bytes }, { 7, "i64", chunk.packed }, { 9, "i64", first } }
    if first_dictionary then fields[#fields + 1] = { 11, "i64", first_dictionary } end
    local meta = thrift.struct(fields)
    return thrift.struct { { 2, "i64", first_dictionary or first }, { 3, "struct", meta } }, chunk.bytes
end

--- The pieces of the file of a table, for files.write. compression: nil, "snappy", "gzip" or "zstd"; size: rows of a
-- group.
function parquet_write.pieces(name, t, compression, size)
    local w = { name = name, pieces = { "PAR1" }, bytes = 4, compression = compression }
    local columns, groups = {}, {}
    for k, key in ipairs(t._names) do
        local column = described(w, key, t._columns[key])
        column.data, column.flags = core.data(column.stored), column.present and core.data(column.present)
        column.flags = column.flags and ffi.cast("const uint8_t *", column.flags)
        columns[k] = column
    end
    for from = 0, t._rows - 1, size do
        local n, chunks, bytes = math.min(size, t._rows - from), {}, 0
        for k, column in ipairs(columns) do
            local some
            chunks[k], some = add_chunk(w, column, from, n)
            bytes = bytes + some
        end
        groups[#groups + 1] = thrift.struct { { 1, "list", { "struct", chunks } }, { 2, "i64", bytes },
                                              { 3, "i64", n } }
    end
    local footer = thrift.struct { { 1, "i32", 2 }, { 2, "list", { "struct", schema_of(columns) } },
                                   { 3, "i64", t._rows }, { 4, "list", { "struct", groups } },
                                   { 6, "text", "neap" } }
    w.pieces[#w.pieces + 1] = footer .. little_endian(#footer) .. "PAR1"
    return w.pieces
end

return parquet_write
