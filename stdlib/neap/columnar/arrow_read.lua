--- arrow_read.lua: tables of Arrow IPC, files and streams (https://arrow.apache.org/docs/format/Columnar.html).
--
--     stream ──▶ messages: FFFFFFFF, bytes of metadata, metadata (flatbuffers), body; a schema, then dictionaries and
--                batches of rows
--     file ────▶ "ARROW1", a stream, a footer with the places of all messages, the length of the footer, "ARROW1"
--
-- A batch has for each column, depth first, how many rows there are and how many lack a value, and buffers: a bitmap of
-- rows with a value, and elements. The parts of wanted columns are noted, batch by batch; columns are made at the end
-- (arrow_column.lua).
local ffi = require "ffi"
local arrow_schema = require "neap.columnar.arrow_schema"
local codecs = require "neap.columnar.codecs"
local flatbuffers = require "neap.columnar.flatbuffers"
local source = require "neap.columnar.source"

local number = source.number
local arrow_read = {}

local MAGIC, NO_LENGTH = "ARROW1", -1
local SCHEMA, DICTIONARY, RECORDS = 1, 2, 3 -- kinds of messages
local CODECS = { [0] = "lz4", "zstd" }
local CONTINUED = 0xffffffff

-- ---- Messages -------------------------------------------------------------------------------------------------------

--- The message at `at`: { kind, header, body, bytes = of the body, behind = the place of the next message };
-- nil: the stream ends there. Older files lack the first four bytes.
local function message_at(s, at)
    if at + 4 > s.size then
        if at == s.size then return nil end
        s:fail("it is truncated")
    end
    local length = number("u32", s.data + at)
    at = at + 4
    if length == CONTINUED then
        if at + 4 > s.size then s:fail("it is truncated") end
        length = number("u32", s.data + at)
        at = at + 4
    end
    if length == 0 then return nil end
    if at + length > s.size then s:fail("it is truncated") end
    local t = flatbuffers.root(s, s.data + at, length)
    local bytes, body = t:count(3), at + length
    if body + bytes > s.size then s:fail("it is truncated") end
    return { kind = t:number(1, "u8", 0), header = t:table(2), body = s.data + body, bytes = bytes,
             behind = body + bytes }
end

--- The footer of a file, a table; the places of dictionaries and batches as lists.
local function footer_of(s)
    local tail = s.size - 10
    if tail < 8 or ffi.string(s.data + tail + 4, 6) ~= MAGIC then s:fail("it is truncated") end
    local bytes = number("u32", s.data + tail)
    if bytes > tail - 8 then s:fail("its footer is damaged") end
    local t = flatbuffers.root(s, s.data + tail - bytes, bytes)
    local function places(id)
        local data, n = t:vector(id, 24)
        local list = {}
        for k = 0, n - 1 do
            local at = source.count(number("i64", data + 24 * k))
            if not at or at > s.size then s:fail("its footer is damaged") end
            list[k + 1] = at
        end
        return list
    end
    return t, places(2), places(3)
end

-- ---- Batches --------------------------------------------------------------------------------------------------------

--- A batch of rows in a message: take() reads one node or buffer after the other.
local function open_batch(s, message, t)
    if not t then s:fail("its metadata is damaged") end
    local nodes, nnodes = t:vector(1, 16)
    local places, nbuffers = t:vector(2, 16)
    local views, nviews = t:vector(4, 8)
    local compression, codec = t:table(3), nil
    if compression then
        codec = CODECS[compression:number(0, "u8", 0)]
        if not codec then s:fail("it is compressed in an unknown way") end
    end
    return { source = s, message = message, rows = t:count(0), nodes = nodes, nnodes = nnodes, node = 0,
             places = places, nbuffers = nbuffers, buffer = 0, views = views, nviews = nviews, view = 0,
             codec = codec, taken = 0 }
end

--- The bytes of the next buffer: a pointer, how many, and the owner of unpacked memory.
local function take_buffer(batch)
    local s, k = batch.source, batch.buffer
    if k >= batch.nbuffers then s:fail("its metadata is damaged") end
    batch.buffer = k + 1
    local from = source.count(number("i64", batch.places + 16 * k))
    local bytes = source.count(number("i64", batch.places + 16 * k + 8))
    if not from or not bytes or from + bytes > batch.message.bytes then s:fail("its metadata is damaged") end
    batch.taken = batch.taken + bytes
    if batch.taken > batch.message.bytes then s:fail("buffers of it overlap") end
    local data = batch.message.body + from
    if not batch.codec or bytes == 0 then return data, bytes end
    if bytes < 8 then s:fail("compressed data of it is damaged") end
    local size = number("i64", data)
    if size == NO_LENGTH then return data + 8, bytes - 8 end
    size = source.count(size)
    if not size then s:fail("compressed data of it is damaged") end
    local block = codecs.unpack(s, batch.codec, data + 8, bytes - 8, size)
    return block.data, size, block
end

local function skip_buffers(batch, n)
    batch.buffer = batch.buffer + n
    if batch.buffer > batch.nbuffers then batch.source:fail("its metadata is damaged") end
end

--- How many buffers a view's texts are in.
local function take_views(batch)
    local k = batch.view
    local n = k < batch.nviews and source.count(number("i64", batch.views + 8 * k))
    if not n or n > batch.nbuffers then batch.source:fail("its metadata is damaged") end
    batch.view = k + 1
    return n
end

--- Goes past a column.
local function skip(batch, field)
    batch.node = batch.node + 1
    skip_buffers(batch, field.buffers)
    if field.views then skip_buffers(batch, take_views(batch)) end
    for _, child in ipairs(field.children) do skip(batch, child) end
end

--- The next column of a batch: { rows, valid = a bitmap or nil, data, bytes, keep, … }. Raises unless the buffers have
-- enough for the rows.
local function take(batch, field)
    local s = batch.source
    if batch.node >= batch.nnodes then s:fail("its metadata is damaged") end
    local node = batch.nodes + 16 * batch.node
    batch.node = batch.node + 1
    local rows, nulls = source.count(number("i64", node)), number("i64", node + 8)
    local part = { rows = rows, batch = batch, keep = {} }
    if rows ~= batch.rows then s:fail("column '%s' has not as many rows as its batch", field.column) end
    if field.buffers == 0 then return part end
    local function buffer()
        local data, bytes, keep = take_buffer(batch)
        part.keep[#part.keep + 1] = keep
        return data, bytes, keep
    end
    local function short() s:fail("column '%s' has less data than rows", field.column) end
    local valid, valid_bytes = buffer()
    if nulls ~= 0 and (valid_bytes > 0 or nulls > 0) then
        if valid_bytes * 8 < rows then short() end
        part.valid = valid
    end
    part.data, part.bytes, part.block = buffer()
    if field.kind == "text" then
        part.text, part.text_bytes = buffer()
        local width = field.offset == "i32" and 4 or 8
        if rows > 0 and part.bytes < (rows + 1) * width then short() end
    elseif field.kind == "view" then
        part.texts = {}
        for k = 1, take_views(batch) do
            local data, bytes = buffer()
            part.texts[k] = { data = data, bytes = bytes }
        end
        if part.bytes < rows * 16 then short() end
    elseif field.kind == "bool" then
        if part.bytes * 8 < rows then short() end
    elseif part.bytes < rows * field.dtype.bytes then
        short()
    end
    return part
end

-- ---- Files ----------------------------------------------------------------------------------------------------------

--- Notes a message of a dictionary: a new dictionary, or more of a known one; nothing if no wanted column has
-- the dictionary.
local function read_dictionary(reader, message)
    local s, t = reader.source, message.header
    local id = tostring(t:number(0, "i64", 0))
    local field = reader.values[id]
    if not field then s:fail("it has a dictionary that no column has") end
    if not reader.needed[id] then return end
    local part = take(open_batch(s, message, t:table(1)), field)
    local known = reader.dictionaries[id]
    if t:number(2, "u8", 0) == 0 or not known then
        known = { field = field, parts = {}, rows = 0 }
        reader.dictionaries[id] = known
    end
    known.parts[#known.parts + 1], known.rows = part, known.rows + part.rows
end

local function read_records(reader, message)
    local s, batch = reader.source, open_batch(reader.source, message, message.header)
    for _, field in ipairs(reader.fields) do
        if field.parts then
            local part = take(batch, field)
            if field.dictionary then
                part.dictionary = reader.dictionaries[field.dictionary]
                if not part.dictionary then s:fail("the dictionary of column '%s' is missing", field.column) end
            end
            field.parts[#field.parts + 1] = part
        else
            skip(batch, field)
        end
    end
    reader.rows = reader.rows + batch.rows
    if reader.rows >= 2 ^ 53 then s:fail("it is damaged") end
end

local function read_message(reader, message)
    if not message then return end
    if not message.header then reader.source:fail("its metadata is damaged") end
    if message.kind == DICTIONARY then return read_dictionary(reader, message) end
    if message.kind == RECORDS then return read_records(reader, message) end
    reader.source:fail("it has a message of an unknown kind")
end

--- Begins to read a file of a schema, for the wanted columns: { source, fields, names = of wanted columns,
-- dictionaries, rows }. The fields of wanted columns have parts.
local function open_reader(s, schema, wanted)
    local fields, values = arrow_schema.read(s, schema)
    local names, by_name = {}, {}
    for k, field in ipairs(fields) do
        names[k], by_name[field.column] = field.column, by_name[field.column] or field
    end
    local reader = { source = s, fields = fields, values = values, needed = {}, dictionaries = {}, rows = 0,
                     names = s:wanted(wanted, names), columns = {} }
    for _, name in ipairs(reader.names) do
        local field = by_name[name]
        if not field.kind then s:refuse(name, field.name) end
        field.parts, reader.columns[name] = {}, field
        if field.dictionary then reader.needed[field.dictionary] = true end
    end
    return reader
end

--- Reads a source: the reader, whose columns[name].parts are the parts of the wanted columns.
function arrow_read.read(s, wanted)
    if s.size >= 8 and ffi.string(s.data, 6) == MAGIC then
        local footer, dictionaries, records = footer_of(s)
        local reader = open_reader(s, footer:table(1), wanted)
        local taken = 0 -- bytes of messages, which share none
        for _, list in ipairs { dictionaries, records } do
            for _, at in ipairs(list) do
                local message = message_at(s, at)
                taken = taken + (message and message.behind - at or 0)
                if taken > s.size then s:fail("messages of it overlap") end
                read_message(reader, message)
            end
        end
        return reader
    end
    if s.size >= 4 and ffi.string(s.data, 4) == "PAR1" then s:fail("it is Parquet, which np.io.read_parquet reads") end
    if s.size >= 4 and ffi.string(s.data, 4) == "FEA1" then s:fail("it is of Feather's first version") end
    local first = s.size >= 8 and number("u32", s.data) == CONTINUED and message_at(s, 0)
    if not first or first.kind ~= SCHEMA then s:fail("it is neither an Arrow file nor an Arrow stream") end
    local reader, message = open_reader(s, first.header, wanted), first
    while true do
        message = message_at(s, message.behind)
        if not message then return reader end
        read_message(reader, message)
    end
end

return arrow_read
