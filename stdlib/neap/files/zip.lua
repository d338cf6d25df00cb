--- zip.lua: what np.io needs of compression: gzip and raw deflate streams, checksums, and zip archives, through zlib
-- (libz.so.1, loaded on first use). Formats: RFC 1951, RFC 1952, PKWARE's APPNOTE.
--
-- Sizes that a file claims are checked before memory is taken for them: deflate grows data at most 1032 times. The
-- directory of an archive must say of each file what its own header says, and no two files may share bytes; so all of
-- them together are at most 1032 times as large as the archive.
local ffi = require "ffi"
local bit = require "bit"
local files = require "neap.files"

ffi.cdef [[
typedef struct neap_zlib_stream {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state, *zalloc, *zfree, *opaque;
    int data_type;
    unsigned long adler, reserved;
} neap_zlib_stream;
const char *zlibVersion(void);
int inflateInit2_(neap_zlib_stream *stream, int window_bits, const char *version, int stream_size);
int inflate(neap_zlib_stream *stream, int flush);
int inflateReset(neap_zlib_stream *stream);
int inflateEnd(neap_zlib_stream *stream);
int deflateInit2_(neap_zlib_stream *stream, int level, int method, int window_bits, int memory, int strategy,
                  const char *version, int stream_size);
int deflate(neap_zlib_stream *stream, int flush);
int deflateEnd(neap_zlib_stream *stream);
unsigned long deflateBound(neap_zlib_stream *stream, unsigned long size);
unsigned long crc32(unsigned long crc, const uint8_t *data, unsigned size);
]]

local Z_OK, Z_STREAM_END, Z_BUF_ERROR, Z_FINISH = 0, 1, -5, 4
local GZIP, RAW = 31, -15 -- window bits
local CHUNK = 2 ^ 30
local MOST_GROWTH = 1032

local zip = {}

local zlib
local function library()
    if zlib then return zlib end
    for _, name in ipairs { "libz.so.1", "z" } do
        local ok, found = pcall(ffi.load, name)
        if ok then
            zlib = found
            return zlib
        end
    end
    return nil, "zlib is missing (package zlib1g)"
end

--- The CRC-32 of memory; zlib must have been loaded.
local function crc_of(data, size)
    local crc, done = 0, 0
    while done < size do
        local n = math.min(size - done, CHUNK)
        crc = zlib.crc32(crc, data + done, n)
        done = done + n
    end
    return tonumber(crc)
end

-- ---- Inflating ------------------------------------------------------------------------------------------------------

--- A reader of a compressed block: { stream, left = input not yet given to zlib }.
local function open_inflate(data, size, window_bits)
    local z, problem = library()
    if not z then return nil, problem end
    local stream = ffi.new("neap_zlib_stream")
    if z.inflateInit2_(stream, window_bits, z.zlibVersion(), ffi.sizeof(stream)) ~= Z_OK then
        return nil, "zlib has no memory"
    end
    stream = ffi.gc(stream, z.inflateEnd)
    stream.next_in = data
    return { stream = stream, left = size, gzip = window_bits == GZIP }
end

--- Inflates up to `size` bytes into `out`. Returns how many there were, or nil and what is wrong.
local function inflate_some(reader, out, size)
    local stream, got = reader.stream, 0
    while got < size and not reader.ended do
        if stream.avail_in == 0 then
            local n = math.min(reader.left, CHUNK)
            stream.avail_in, reader.left = n, reader.left - n
        end
        local room = math.min(size - got, CHUNK)
        stream.next_out, stream.avail_out = out + got, room
        local rc = zlib.inflate(stream, 0)
        got = got + room - stream.avail_out
        if rc == Z_STREAM_END then
            reader.ended = true
            if reader.gzip and stream.avail_in > 0 and stream.next_in[0] == 0x1f then -- another member follows
                if zlib.inflateReset(stream) ~= Z_OK then return nil, "damaged compressed data" end
                reader.ended = false
            end
        elseif rc == Z_BUF_ERROR or (rc == Z_OK and stream.avail_in == 0 and reader.left == 0 and got < size) then
            return nil, "the compressed data ends early"
        elseif rc ~= Z_OK then
            return nil, "damaged compressed data" .. (stream.msg ~= nil and ": " .. ffi.string(stream.msg) or "")
        end
    end
    return got
end

--- Whether the stream ends here, with its checksum right: true, or nil and what is wrong.
local function inflate_end(reader)
    if reader.ended then return true end
    local one = ffi.new("uint8_t[1]")
    local got, problem = inflate_some(reader, one, 1)
    if not got then return nil, problem end
    if got > 0 then return nil, "there is more data than expected" end
    return true
end

--- A gzip file in memory: { read(out, size) → bytes, finish() → true }, both nil and a message on failure; `most` is
-- how many bytes it can hold at most.
function zip.open_gzip(block)
    local reader, problem = open_inflate(block.data, block.size, GZIP)
    if not reader then return nil, problem end
    return {
        most = block.size * MOST_GROWTH, keep = block,
        read = function(out, size) return inflate_some(reader, out, size) end,
        finish = function() return inflate_end(reader) end,
    }
end

-- ---- Archives -------------------------------------------------------------------------------------------------------

local function u16(data, at) return data[at] + 256 * data[at + 1] end
local function u32(data, at) return u16(data, at) + 65536 * u16(data, at + 2) end
local function u64(data, at) return u32(data, at) + 2 ^ 32 * u32(data, at + 4) end

local DAMAGED = "its directory is damaged"
local NO_SIZE = 2 ^ 32 - 1 -- in place of a size: it is elsewhere
local LOCAL, CENTRAL, FINAL = 0x04034b50, 0x02014b50, 0x06054b50
local LOCATOR, WIDE_FINAL = 0x07064b50, 0x06064b50 -- of archives of more than 4 GiB

--- The sizes (packed, unpacked) in the header of a file of an archive: of an archive larger than 4 GiB, or of one that
-- could have grown to that, they are behind the name, in a field of kind 1. Nil if that is missing.
local function sizes_in_header(data, at)
    local packed, size = u32(data, at + 18), u32(data, at + 22)
    if packed < NO_SIZE and size < NO_SIZE then return packed, size end
    local field = at + 30 + u16(data, at + 26)
    local last = field + u16(data, at + 28)
    while field + 4 <= last do
        if u16(data, field) == 1 and u16(data, field + 2) >= 16 and field + 20 <= last then
            return u64(data, field + 12), u64(data, field + 4)
        end
        field = field + 4 + u16(data, field + 2)
    end
end

--- Checks the header of a file of an archive, whose directory begins at `directory`, and notes where its bytes are.
-- Returns true, or nil and what is wrong.
local function check_header(data, directory, entry)
    local at = entry.offset
    if at + 30 > directory or u32(data, at) ~= LOCAL then return nil, "its header is damaged" end
    entry.start = at + 30 + u16(data, at + 26) + u16(data, at + 28)
    entry.stop = entry.start + entry.packed
    if entry.stop > directory then return nil, "it is truncated" end
    local streamed = bit.band(u16(data, at + 6), 8) ~= 0 -- written before its sizes were known: they come behind it
    local packed, size = sizes_in_header(data, at)
    local same = packed == entry.packed and size == entry.size and u32(data, at + 14) == entry.crc
    local unknown = streamed and packed == 0 and size == 0
    if u16(data, at + 8) ~= entry.method or not (same or unknown) then
        return nil, "its header and the directory disagree"
    end
    return true
end

--- Whether no two files of an archive share bytes: true, or nil and what is wrong.
local function check_apart(list)
    local sorted = {}
    for k, entry in ipairs(list) do sorted[k] = entry end
    table.sort(sorted, function(a, b) return a.offset < b.offset end)
    for k = 2, #sorted do
        if sorted[k].offset < sorted[k - 1].stop then
            return nil, ("'%s' and '%s' in it overlap"):format(sorted[k - 1].name, sorted[k].name)
        end
    end
    return true
end

--- One file of an archive as a block, or nil and what is wrong.
local function extract(block, entry)
    local data, start = block.data, entry.start
    local result, problem
    if entry.method == 0 then
        if entry.packed ~= entry.size then return nil, "its sizes disagree" end
        result = { data = data + start, size = entry.size, keep = block.keep }
    elseif entry.method == 8 then
        if entry.size > entry.packed * MOST_GROWTH + 64 then return nil, "it cannot be that large" end
        result, problem = files.block(entry.size)
        if not result then return nil, problem end
        local reader, got
        reader, problem = open_inflate(data + start, entry.packed, RAW)
        if not reader then return nil, problem end
        got, problem = inflate_some(reader, result.data, entry.size)
        if not got then return nil, problem end
        if got < entry.size then return nil, "it is truncated" end
        got, problem = inflate_end(reader)
        if not got then return nil, problem end
    else
        return nil, ("its compression method %d is unknown"):format(entry.method)
    end
    if crc_of(result.data, result.size) ~= entry.crc then return nil, "its checksum is wrong" end
    return result
end

--- A file of an archive as a block, which may be part of the archive's; or nil and what is wrong.
function zip.extract(block, entry)
    local result, problem = extract(block, entry)
    if result then return result end
    return nil, ("'%s' in it: %s"):format(entry.name, problem)
end

--- The place of the archive's final record.
local function find_final(block)
    for at = block.size - 22, math.max(0, block.size - 22 - 65535), -1 do
        if u32(block.data, at) == FINAL then return at end
    end
end

--- How many files the directory has, and where it begins and ends; of an archive larger than 4 GiB a second record in
-- front of the final one says it, and a third one where that is. Nil if they are damaged.
local function directory_of(block)
    local final = find_final(block)
    if not final then return nil, "it is no zip archive, or truncated" end
    local data = block.data
    local count, directory = u16(data, final + 10), u32(data, final + 16)
    if (count == 65535 or directory == NO_SIZE) and final >= 20 and u32(data, final - 20) == LOCATOR then
        local at = u64(data, final - 12)
        if at + 56 > final - 20 or u32(data, at) ~= WIDE_FINAL then return nil, DAMAGED end
        count, directory, final = u64(data, at + 32), u64(data, at + 48), at
    end
    return count, directory, final
end

--- Fills in what of an entry of the directory did not fit 32 bits, from a field of kind 1 at [at, last).
local function widen(data, at, last, entry)
    while at + 4 <= last do
        local stop = at + 4 + u16(data, at + 2)
        if u16(data, at) == 1 and stop <= last then
            at = at + 4
            for _, name in ipairs { "size", "packed", "offset" } do
                if entry[name] == NO_SIZE and at + 8 <= stop then
                    entry[name], at = u64(data, at), at + 8
                end
            end
            return
        end
        at = stop
    end
end

--- The files of an archive in memory, in its order: a list of entries with a name, for zip.extract; or nil and what is
-- wrong.
function zip.entries(block)
    local ok, problem = library()
    if not ok then return nil, problem end
    local count, directory, final = directory_of(block)
    if not count then return nil, directory end
    local data, list, at = block.data, {}, directory
    for _ = 1, count do
        if at + 46 > final or u32(data, at) ~= CENTRAL then return nil, DAMAGED end
        local name_bytes = u16(data, at + 28)
        local next_at = at + 46 + name_bytes + u16(data, at + 30) + u16(data, at + 32)
        if next_at > final then return nil, DAMAGED end
        local name = ffi.string(data + at + 46, name_bytes)
        local entry = { name = name, method = u16(data, at + 10), crc = u32(data, at + 16), packed = u32(data, at + 20),
                        size = u32(data, at + 24), offset = u32(data, at + 42) }
        widen(data, at + 46 + name_bytes, next_at - u16(data, at + 32), entry)
        ok, problem = check_header(data, directory, entry)
        if not ok then return nil, ("'%s' in it: %s"):format(name, problem) end
        list[#list + 1] = entry
        at = next_at
    end
    ok, problem = check_apart(list)
    if not ok then return nil, problem end
    return list
end

local function little_endian(format, ...)
    local bytes = {}
    for k = 1, #format do
        local value = select(k, ...)
        for _ = 1, tonumber(format:sub(k, k)) do
            bytes[#bytes + 1] = string.char(value % 256)
            value = math.floor(value / 256)
        end
    end
    return table.concat(bytes)
end

--- A block deflated, as a gzip file with the window bits of that, or nil and what is wrong.
local function deflate(block, window_bits)
    local stream = ffi.new("neap_zlib_stream")
    local rc = zlib.deflateInit2_(stream, 6, 8, window_bits or RAW, 8, 0, zlib.zlibVersion(), ffi.sizeof(stream))
    if rc ~= Z_OK then return nil, "zlib has no memory" end
    stream = ffi.gc(stream, zlib.deflateEnd)
    local result, problem = files.block(tonumber(zlib.deflateBound(stream, block.size)))
    if not result then return nil, problem end
    stream.next_in, stream.avail_in = ffi.cast("const uint8_t *", block.data), block.size
    stream.next_out, stream.avail_out = result.data, result.size
    if zlib.deflate(stream, Z_FINISH) ~= Z_STREAM_END then return nil, "zlib failed" end
    result.size = tonumber(stream.total_out)
    return result
end

--- Texts, one behind the other, as the pieces (blocks) of a gzip file; or nil and what is wrong.
function zip.gzip_pieces(list)
    local ok, problem = library()
    if not ok then return nil, problem end
    local text, pieces = table.concat(list), {}
    for from = 0, math.max(#text - 1, 0), CHUNK do -- a member of the file each
        local size = math.min(#text - from, CHUNK)
        pieces[#pieces + 1], problem = deflate({ data = ffi.cast("const char *", text) + from, size = size }, GZIP)
        if not pieces[#pieces] then return nil, problem end
    end
    return pieces
end

--- The pieces (strings and blocks) of an archive of { name, block } entries, deflated if `compress`; or nil and what
-- is wrong. Every file and the archive must be smaller than 4 GiB.
function zip.pieces(list, compress)
    local ok, problem = library()
    if not ok then return nil, problem end
    local pieces, directory, offset = {}, {}, 0
    for _, item in ipairs(list) do
        local size = item.block.size
        if size >= 2 ^ 32 - 1 then return nil, ("'%s' is too large for a zip archive"):format(item.name) end
        local content, method = item.block, 0
        local crc = crc_of(ffi.cast("const uint8_t *", item.block.data), size)
        if compress then
            content, problem = deflate(item.block)
            if not content then return nil, problem end
            method = 8
        end
        -- version, flags (bit 11: UTF-8), method, time, date (1980-01-01), checksum, sizes, lengths of name and extra
        local facts = little_endian("2222244422", 20, 2048, method, 0, 33, crc, content.size, size, #item.name, 0)
        local head = little_endian("4", LOCAL) .. facts .. item.name
        pieces[#pieces + 1], pieces[#pieces + 2] = head, content
        directory[#directory + 1] = little_endian("42", CENTRAL, 20) .. facts
            .. little_endian("22244", 0, 0, 0, 0, offset) .. item.name
        offset = offset + #head + content.size
        if offset >= 2 ^ 32 - 1 then return nil, "the archive would be larger than 4 GiB" end
    end
    local central = table.concat(directory)
    pieces[#pieces + 1] = central
    pieces[#pieces + 1] = little_endian("42222442", FINAL, 0, 0, #list, #list, #central, offset, 0)
    return pieces
end

--- The CRC-32 of memory, or nil and what is wrong.
function zip.crc32(data, size)
    local ok, problem = library()
    if not ok then return nil, problem end
    return crc_of(data, size)
end

zip.u32 = u32
--- Whether a block starts as gzip files do.
zip.is_gzip = function(block) return block.size >= 2 and bit.bor(block.data[0], block.data[1] * 256) == 0x8b1f end

return zip
