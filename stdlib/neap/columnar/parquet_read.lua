--- parquet_read.lua: the pages of a Parquet file's columns.
--
--     file ──▶ "PAR1", chunks, metadata (thrift.lua), length of the metadata, "PAR1"
--     chunk ─▶ pages of a column in a group of rows: perhaps a dictionary, then values
--     page ──▶ a head (thrift), then, compressed: flags of rows with a value, in runs, and values (parquet_values.lua)
--
-- The sizes of the metadata are compared with the file before memory is taken: chunks of a column lie apart, and a byte
-- stands for 65536 rows at most; no writer comes near.
local ffi = require "ffi"
local codecs = require "neap.columnar.codecs"
local packed = require "neap.columnar.packed_integers"
local schema = require "neap.columnar.parquet_schema"
local source = require "neap.columnar.source"
local thrift = require "neap.columnar.thrift"
local values = require "neap.columnar.parquet_values"
local assemble = require "neap.columnar.assemble"

local number = source.number
local parquet_read = {}

local MAGIC = "PAR1"
local DATA, DICTIONARY, DATA2 = 0, 2, 3 -- kinds of pages
local PLAIN, PLAIN_DICTIONARY, RLE = 0, 2, 3
local CODECS = { "snappy", "gzip", [6] = "zstd", [7] = "lz4_raw" }
local OTHER_CODECS = { [3] = "LZO", [4] = "Brotli", [5] = "LZ4 in Hadoop's frames" }
local ENCODINGS = { [4] = "BIT_PACKED" }
local MOST_ROWS, ROWS_PER_BYTE, MOST_BYTES = 2 ^ 20, 2 ^ 16, 2 ^ 31 - 1

-- The wanted metadata, for thrift.read: fields by the numbers of parquet.thrift.
local UNIT = { {}, {}, {} }
local LOGICAL = { {}, {}, {}, {}, {}, {}, {}, { [2] = UNIT }, [10] = { "integer", "bool" }, [11] = {}, [14] = {},
                  [15] = {} }
local ELEMENT = { "integer", "integer", "integer", "text", "integer", "integer", "integer", "integer",
                  [10] = LOGICAL }
local CHUNK = { "text", [3] = { "integer", [4] = "integer", [5] = "integer", [7] = "integer", [9] = "integer",
                                [11] = "integer" } }
local METADATA = { [2] = { list = ELEMENT }, [4] = { list = { { list = CHUNK }, [3] = "integer" } } }
local PAGE = { "integer", "integer", "integer", [5] = { "integer", "integer", "integer" },
               [7] = { "integer", "integer" },
               [8] = { "integer", [4] = "integer", [5] = "integer", [6] = "integer", [7] = "bool" } }

-- ---- Metadata -------------------------------------------------------------------------------------------------------

--- The metadata of a file, a structure.
local function metadata_of(s)
    local tail = s.size - 8
    local function text(at) return ffi.string(s.data + at, 4) end
    if tail < 4 or text(0) ~= MAGIC then
        if s.size >= 6 and ffi.string(s.data, 6) == "ARROW1" then
            s:fail("it is an Arrow file, which np.io.read_feather reads")
        end
        s:fail(s.size >= 4 and text(0) == "PARE" and "it is encrypted" or "it is no Parquet file")
    end
    if text(tail + 4) == "PARE" then s:fail("it is encrypted") end
    if text(tail + 4) ~= MAGIC then s:fail("it is truncated") end
    local bytes = number("u32", s.data + tail)
    if bytes > tail - 4 then s:fail("its metadata is damaged") end
    return (thrift.read(s, tail - bytes, tail, METADATA))
end

--- A count of the metadata.
local function count(s, value)
    if not value or value < 0 or value >= 2 ^ 53 then s:fail("its metadata is damaged") end
    return value
end

--- Reads the metadata of a source: { source, columns = leaves by name, names = of wanted columns, rows }. The
-- leaves of wanted columns have a chunk of each group of rows.
function parquet_read.open(s, wanted)
    local meta = metadata_of(s)
    local all, names, by_name = schema.read(s, meta[2]), {}, {}
    for k, column in ipairs(all) do
        names[k], by_name[column.column] = column.column, by_name[column.column] or column
    end
    local reader = { source = s, names = s:wanted(wanted, names), columns = {}, rows = 0, meta = meta }
    for _, name in ipairs(reader.names) do
        local leaf = by_name[name]
        if not leaf.kind then s:refuse(name, leaf.name) end
        leaf.chunks, reader.columns[name] = {}, leaf
    end
    for _, group in ipairs(meta[4] or {}) do
        local chunks, rows, at = group[1] or {}, count(s, group[3]), 1
        for _, column in ipairs(all) do
            local facts = chunks[at] and chunks[at][3]
            if column.chunks and rows > 0 then
                if not facts then s:fail("column '%s' of it is missing", column.column) end
                if chunks[at][1] then s:fail("column '%s' of it is in another file", column.column) end
                column.chunks[#column.chunks + 1] = { rows = rows, facts = facts }
            end
            at = at + column.leaves
        end
        reader.rows = reader.rows + rows
    end
    return reader
end

-- ---- Pages ----------------------------------------------------------------------------------------------------------

--- The begin and the end of a chunk, and its codec, all checked.
local function bounds_of(s, leaf, chunk)
    local facts = chunk.facts
    local first, dictionary = count(s, facts[9]), facts[11]
    if dictionary and dictionary > 0 and dictionary < first then first = count(s, dictionary) end
    local bytes = count(s, facts[7])
    if facts[1] ~= leaf.physical or count(s, facts[5]) ~= chunk.rows or first < 4 or first + bytes > s.size - 8 then
        s:fail("column '%s' of it is damaged", leaf.column)
    end
    if chunk.rows > MOST_ROWS + ROWS_PER_BYTE * bytes then
        s:fail("column '%s' has more rows than its data can stand for", leaf.column)
    end
    local codec = count(s, facts[4])
    if codec ~= 0 and not CODECS[codec] then
        s:fail("column '%s' is compressed by %s, which is not read", leaf.column, OTHER_CODECS[codec] or "?")
    end
    return first, first + bytes, CODECS[codec]
end

--- A head of a page, and where the page begins: { kind, size, packed, head = of data or of a dictionary }.
local function page_at(s, leaf, at, last)
    local head, behind = thrift.read(s, at, last, PAGE)
    local page = { kind = head[1], size = count(s, head[2]), packed = count(s, head[3]), at = behind,
                   head = head[1] == DATA and head[5] or head[1] == DICTIONARY and head[7] or head[8] or {} }
    if behind + page.packed > last or page.size > MOST_BYTES then
        s:fail("column '%s' of it is damaged", leaf.column)
    end
    return page
end

--- The bytes of a page from byte `from` on, unpacked: memory, how many, and the owner.
local function unpacked(s, page, codec, from)
    local data, bytes, size = s.data + page.at + from, page.packed - from, page.size - from
    if not codec then return data, bytes end
    if size <= 0 then return data, 0 end
    local block = codecs.unpack(s, codec, data, bytes, size)
    return block.data, size, block
end

local function damaged(s, leaf) s:fail("column '%s' of it is damaged", leaf.column) end

local function read_dictionary(s, leaf, page, codec)
    local encoding = page.head[2]
    if encoding ~= PLAIN and encoding ~= PLAIN_DICTIONARY then damaged(s, leaf) end
    local data, bytes = unpacked(s, page, codec, 0)
    local n = count(s, page.head[1])
    if leaf.physical ~= schema.BYTES and n * leaf.width > bytes * 8 or n > bytes then damaged(s, leaf) end
    leaf.dictionary, leaf.known = s:memory(n * leaf.width), n
    if not values.plain(leaf, data, 0, bytes, n, leaf.dictionary.data) then damaged(s, leaf) end
end

--- The flags of a page's rows, from the runs at `at` … `last`: bytes in scratch memory, and how many rows have a value;
-- nil, n: all n.
local function presence(s, leaf, data, at, last, n)
    local flags = leaf.scratch(n, "present")
    if not packed.runs(data, at, last, 1, n, flags, 1) then damaged(s, leaf) end
    local there = 0
    for k = 0, n - 1 do there = there + flags[k] end
    if there == n then return nil, n end
    return flags, there
end

--- The values of a page of the older or newer form: data, where values begin and end, flags and how many there are.
local function open_page(s, leaf, page, codec, n)
    if page.kind == DATA then
        local data, bytes, keep = unpacked(s, page, codec, 0)
        if not leaf.optional then return data, 0, bytes, nil, n, keep end
        if page.head[3] ~= RLE then
            s:fail("column '%s' has levels in the encoding %s, which is not read", leaf.column,
                   ENCODINGS[page.head[3]] or "?")
        end
        local length = bytes >= 4 and number("u32", data)
        if not length or length > bytes - 4 then damaged(s, leaf) end
        local flags, there = presence(s, leaf, data, 4, 4 + length, n)
        return data, 4 + length, bytes, flags, there, keep
    end
    local levels, repeats = count(s, page.head[5]), count(s, page.head[6] or 0)
    if levels + repeats > page.packed or levels + repeats > page.size then damaged(s, leaf) end
    local flags, there = nil, n
    if leaf.optional then
        flags, there = presence(s, leaf, s.data + page.at, repeats, repeats + levels, n)
    end
    local data, bytes, keep = unpacked(s, page, page.head[7] ~= false and codec or nil, levels + repeats)
    return data, 0, bytes, flags, there, keep
end

--- Reads a page of values into the rows of a column from leaf.row on.
local function read_page(s, leaf, page, codec)
    local head = page.head
    local n, encoding = count(s, head[1]), page.kind == DATA and head[2] or head[4]
    if n > leaf.last_row - leaf.row then damaged(s, leaf) end
    local data, at, last, flags, there, keep = open_page(s, leaf, page, codec, n)
    local read = values.read[encoding]
    if not read then s:fail("column '%s' has an encoding that is not known", leaf.column) end
    local out = leaf.out.data + leaf.row * leaf.width
    local dense = flags and leaf.scratch(there * leaf.width, "values") or out
    if not read(leaf, data, at, last, there, dense) then damaged(s, leaf) end
    if flags then
        values.spread(leaf.width, dense, flags, n, out, leaf.kind == "text" and -1 or 0)
        if not leaf.present then
            leaf.present = s:memory(leaf.rows)
            ffi.fill(leaf.present.data, leaf.rows, 1)
        end
        ffi.copy(leaf.present.data + leaf.row, flags, n)
    end
    leaf.row = leaf.row + n
    return keep -- until here
end

local function read_chunk(s, leaf, chunk)
    local at, last, codec = bounds_of(s, leaf, chunk)
    leaf.bytes_read = leaf.bytes_read + last - at
    if leaf.bytes_read > s.size then s:fail("column '%s' has parts that overlap", leaf.column) end
    leaf.dictionary, leaf.last_row = nil, leaf.row + chunk.rows
    while leaf.row < leaf.last_row do
        if at >= last then damaged(s, leaf) end
        local page = page_at(s, leaf, at, last)
        if page.kind == DICTIONARY then
            read_dictionary(s, leaf, page, codec)
        elseif page.kind == DATA or page.kind == DATA2 then
            read_page(s, leaf, page, codec)
        end
        at = page.at + page.packed
    end
end

--- Memory for repeated use, by purpose: a function of a size.
local function scratch_of(s)
    local blocks = {}
    return function(bytes, what)
        local block = blocks[what]
        if not block or block.size < bytes then
            block = s:memory(math.max(bytes, 4096))
            blocks[what] = block
        end
        return block.data
    end
end

--- Reads a column: leaf.out, a block with an element for each row, leaf.present, a block with a flag for each row, or
-- nil: all have a value, and leaf.levels of texts.
function parquet_read.column(reader, leaf)
    local s = reader.source
    for _, chunk in ipairs(leaf.chunks) do bounds_of(s, leaf, chunk) end
    leaf.rows, leaf.row, leaf.bytes_read, leaf.most_bytes = reader.rows, 0, 0, 64 * s.size
    leaf.scratch, leaf.levels = scratch_of(s), assemble.levels()
    leaf.out, leaf.present = s:memory(reader.rows * leaf.width), nil
    for _, chunk in ipairs(leaf.chunks) do read_chunk(s, leaf, chunk) end
    leaf.scratch = nil
end

return parquet_read
