--- arrow_write.lua: tables as Arrow IPC, files and streams, of one batch (arrow_read.lua has the form).
--
-- Numbers keep their dtypes, texts are strings (levels with an order of their own: ordered dictionaries), dates
-- timestamps in microseconds. NaN is no value, as in pandas.
local ffi = require "ffi"
local core = require "neap.core"
local text = require "neap.tables.text"
local flatbuffers = require "neap.columnar.flatbuffers"
local written = require "neap.columnar.written"

local arrow_write = {}

local VERSION, RECORDS, DICTIONARY, SCHEMA = 4, 3, 2, 1 -- of metadata: V5; kinds of messages
local CODECS = { lz4 = 0, zstd = 1 }
local INT, FLOAT, UTF8, BOOL, TIMESTAMP, LARGE_UTF8 = 2, 3, 5, 6, 10, 20
local PRECISION = { [2] = 0, [4] = 1, [8] = 2 }
local MICROSECONDS = 2
local INDEX = { { 0, "i32", 32 }, { 1, "u8", 1 } }

--- The number and the table of a column's type.
local function type_of(column)
    if column.kind == "text" then return column.large and LARGE_UTF8 or UTF8, flatbuffers.table {} end
    if column.kind == "date" then return TIMESTAMP, flatbuffers.table { { 0, "i16", MICROSECONDS } } end
    local dtype = column.dtype
    if dtype.kind == "b" then return BOOL, flatbuffers.table {} end
    if dtype.kind == "f" then return FLOAT, flatbuffers.table { { 0, "i16", PRECISION[dtype.bytes] } } end
    return INT, flatbuffers.table { { 0, "i32", dtype.bytes * 8 }, { 1, "u8", dtype.kind == "i" and 1 or 0 } }
end

local function schema_of(columns)
    local fields = {}
    for k, column in ipairs(columns) do
        local number, details = type_of(column)
        local field = { { 0, "ref", flatbuffers.string(column.name) }, { 1, "u8", 1 }, { 2, "u8", number },
                        { 3, "ref", details }, { 5, "ref", flatbuffers.references {} } }
        if column.ordered then
            field[#field + 1] = { 4, "ref", flatbuffers.table {
                { 0, "i64", column.number }, { 1, "ref", flatbuffers.table(INDEX) }, { 2, "u8", 1 } } }
        end
        fields[k] = flatbuffers.table(field)
    end
    return flatbuffers.table { { 0, "i16", 0 }, { 1, "ref", flatbuffers.references(fields) } }
end

-- ---- Batches --------------------------------------------------------------------------------------------------------

--- A new body: pieces of a file, places of buffers, nodes.
local function new_body(w, rows)
    return { pieces = {}, bytes = 0, places = {}, nodes = {}, writer = w, rows = rows }
end

local function add_padding(body)
    local n = -body.bytes % 8
    if n > 0 then body.pieces[#body.pieces + 1] = ("\0"):rep(n) end
    body.bytes = body.bytes + n
end

--- Adds a buffer: memory kept by `keep`.
local function add_buffer(body, data, bytes, keep)
    local w, size = body.writer, bytes
    if w.compression and bytes > 0 then
        local packed = written.packed(w, w.compression, data, bytes)
        local head = ffi.new("int64_t[1]", bytes)
        body.pieces[#body.pieces + 1] = ffi.string(head, 8)
        data, keep, size = packed.data, packed, packed.size
        body.bytes = body.bytes + 8
        bytes = size + 8
    end
    body.places[#body.places + 1] = { { "i64", body.bytes - (bytes - size) }, { "i64", bytes } }
    if size > 0 then body.pieces[#body.pieces + 1] = { data = data, size = size, keep = keep } end
    body.bytes = body.bytes + size
    add_padding(body)
end

--- Adds the bitmap of rows with a value; nothing where all rows have a value. present: an array of bool, or nil.
local function add_node(body, rows, present)
    local bitmap, missing = written.bitmap(body.writer, present, rows)
    body.nodes[#body.nodes + 1] = { { "i64", rows }, { "i64", missing } }
    if missing == 0 then bitmap = nil end
    add_buffer(body, bitmap and bitmap.data, bitmap and bitmap.size or 0, bitmap)
end

local function add_array(body, x)
    add_buffer(body, ffi.cast("const uint8_t *", core.data(x)), x.size * core.dtype_of(x).bytes, x)
end

--- Adds the texts of `rows` rows: numbers[k] is the level of row k, from 0; -1: none.
local function add_texts(body, column, numbers, rows)
    local offsets, data = written.texts(body.writer, column.levels, numbers, rows, column.large)
    add_buffer(body, offsets.data, offsets.size, offsets)
    add_buffer(body, data.data, data.size, data)
end

local function add_column(body, column)
    add_node(body, body.rows, column.present)
    if column.kind == "text" and not column.ordered then
        return core.read(column.stored, function(numbers) add_texts(body, column, numbers, body.rows) end)
    end
    if column.dtype and column.dtype.kind == "b" then
        local bitmap = written.bitmap(body.writer, column.stored, body.rows)
        return add_buffer(body, bitmap.data, bitmap.size, bitmap)
    end
    add_array(body, column.stored)
end

--- The table of a batch's message.
local function batch_of(body)
    local fields = { { 0, "i64", body.rows }, { 1, "ref", flatbuffers.structures(body.nodes) },
                     { 2, "ref", flatbuffers.structures(body.places) } }
    local codec = body.writer.compression
    if codec then fields[4] = { 3, "ref", flatbuffers.table { { 0, "u8", CODECS[codec] }, { 1, "u8", 0 } } } end
    return flatbuffers.table(fields)
end

-- ---- Messages -------------------------------------------------------------------------------------------------------

local function little_endian(value)
    return ffi.string(ffi.new("uint32_t[1]", value), 4)
end

--- Adds a message to the pieces of a file; notes the place in `places`.
local function add_message(w, kind, header, body, places)
    local bytes = body and body.bytes or 0
    local metadata = flatbuffers.bytes(flatbuffers.table { { 0, "i16", VERSION }, { 1, "u8", kind },
                                                           { 2, "ref", header }, { 3, "i64", bytes } })
    if places then
        places[#places + 1] = { { "i64", w.bytes }, { "i32", #metadata + 8 }, { "i32", 0 }, { "i64", bytes } }
    end
    w.pieces[#w.pieces + 1] = "\255\255\255\255" .. little_endian(#metadata) .. metadata
    for _, piece in ipairs(body and body.pieces or {}) do w.pieces[#w.pieces + 1] = piece end
    w.bytes = w.bytes + 8 + #metadata + bytes
end

local function add_dictionary(w, column, places)
    local body, n = new_body(w, #column.levels), #column.levels
    local numbers = ffi.new("int32_t[?]", n)
    for k = 0, n - 1 do numbers[k] = k end
    add_node(body, n)
    add_texts(body, column, numbers, n)
    local header = flatbuffers.table { { 0, "i64", column.number }, { 1, "ref", batch_of(body) } }
    add_message(w, DICTIONARY, header, body, places)
end

--- A column to write: { name, kind, stored, present, … }.
local function column_of(w, name, values, number)
    local column = written.column(w, name, values)
    column.number = number
    if column.kind == "text" then
        column.ordered = text.has_own_order(values)
        column.large = not column.ordered and written.text_bytes(column) >= 2 ^ 31
    end
    return column
end

--- The pieces of the file of a table, for files.write. compression: nil, "lz4" or "zstd"; stream: no file, but a
-- stream.
function arrow_write.pieces(name, t, compression, stream)
    local w = { name = name, pieces = {}, bytes = 0, compression = compression }
    local columns, dictionaries, records = {}, {}, {}
    for k, key in ipairs(t._names) do columns[k] = column_of(w, key, t._columns[key], k - 1) end
    if not stream then
        w.pieces[1], w.bytes = "ARROW1\0\0", 8
    end
    local schema = schema_of(columns)
    add_message(w, SCHEMA, schema)
    for _, column in ipairs(columns) do
        if column.ordered then add_dictionary(w, column, dictionaries) end
    end
    local body = new_body(w, t._rows)
    for _, column in ipairs(columns) do add_column(body, column) end
    add_message(w, RECORDS, batch_of(body), body, records)
    w.pieces[#w.pieces + 1] = "\255\255\255\255\0\0\0\0"
    if stream then return w.pieces end
    local footer = flatbuffers.bytes(flatbuffers.table {
        { 0, "i16", VERSION }, { 1, "ref", schema }, { 2, "ref", flatbuffers.structures(dictionaries) },
        { 3, "ref", flatbuffers.structures(records) },
    })
    w.pieces[#w.pieces + 1] = footer .. little_endian(#footer) .. "ARROW1"
    return w.pieces
end

jit.off(add_array)

return arrow_write
