--- codecs.lua: compressed memory: zstd, LZ4 (frames, and blocks alone), Snappy, gzip, each by a library,
-- loaded on first use.
--
-- A file claims how large data will be. Before memory is taken, the claim is compared with the most that a codec can
-- grow data, afterwards with the size of the result.
local ffi = require "ffi"
local zip = require "neap.files.zip"

ffi.cdef [[
size_t ZSTD_decompress(void *out, size_t capacity, const void *data, size_t bytes);
size_t ZSTD_compress(void *out, size_t capacity, const void *data, size_t bytes, int level);
size_t ZSTD_compressBound(size_t bytes);
unsigned ZSTD_isError(size_t code);
size_t LZ4F_createDecompressionContext(void **context, unsigned version);
size_t LZ4F_freeDecompressionContext(void *context);
size_t LZ4F_decompress(void *context, void *out, size_t *capacity, const void *data, size_t *bytes,
                       const void *options);
size_t LZ4F_compressFrame(void *out, size_t capacity, const void *data, size_t bytes, const void *preferences);
size_t LZ4F_compressFrameBound(size_t bytes, const void *preferences);
unsigned LZ4F_isError(size_t code);
int LZ4_decompress_safe(const char *data, char *out, int bytes, int capacity);
int snappy_compress(const char *data, size_t bytes, char *out, size_t *capacity);
int snappy_uncompress(const char *data, size_t bytes, char *out, size_t *capacity);
size_t snappy_max_compressed_length(size_t bytes);
]]

local codecs = {}

local LIBRARIES = {
    zstd = { file = "libzstd.so.1", package = "libzstd1" }, lz4 = { file = "liblz4.so.1", package = "liblz4-1" },
    snappy = { file = "libsnappy.so.1", package = "libsnappy1v5" },
}
LIBRARIES.lz4_raw = LIBRARIES.lz4
codecs.libraries = LIBRARIES
local LZ4F_VERSION, ZSTD_LEVEL = 100, 1

-- How many bytes a byte can become at most, and how many more. A zstd block of 128 KiB may be 4 bytes.
local GROWTH = { zstd = { 2 ^ 15, 2 ^ 17 }, lz4 = { 255, 64 }, lz4_raw = { 255, 64 }, snappy = { 64, 64 },
                 gzip = { 1032, 64 } }

local loaded = {}

--- The library of a codec, or nil and the package to install.
local function library(codec)
    local facts = LIBRARIES[codec]
    if loaded[facts.file] then return loaded[facts.file] end
    local found, lib = pcall(ffi.load, facts.file)
    if not found then
        return nil, ("it needs %s, which is not installed (package %s)"):format(facts.file, facts.package)
    end
    loaded[facts.file] = lib
    return lib
end

--- Whether a codec can be used here.
function codecs.is_there(codec) return LIBRARIES[codec] == nil or library(codec) ~= nil end

local size_box, used_box, context_box = ffi.new "size_t[1]", ffi.new "size_t[1]", ffi.new "void *[1]"
local unpack_with, pack_with = {}, {}

--- How many bytes unpack_with[codec] has written, or nil.
function unpack_with.zstd(lib, data, bytes, out, size)
    local got = lib.ZSTD_decompress(out, size, data, bytes)
    return lib.ZSTD_isError(got) == 0 and tonumber(got) or nil
end

function unpack_with.lz4(lib, data, bytes, out, size)
    if lib.LZ4F_isError(lib.LZ4F_createDecompressionContext(context_box, LZ4F_VERSION)) ~= 0 then return nil end
    local context, done, at = context_box[0], 0, 0
    local hint
    repeat
        size_box[0], used_box[0] = size - done, bytes - at
        hint = lib.LZ4F_decompress(context, out + done, size_box, data + at, used_box, nil)
        local got, used = tonumber(size_box[0]), tonumber(used_box[0])
        done, at = done + got, at + used
        local failed = lib.LZ4F_isError(hint) ~= 0
    until failed or hint == 0 or got == 0 and used == 0
    lib.LZ4F_freeDecompressionContext(context)
    return hint == 0 and done or nil
end

function unpack_with.lz4_raw(lib, data, bytes, out, size)
    if bytes >= 2 ^ 31 or size >= 2 ^ 31 then return nil end
    local got = lib.LZ4_decompress_safe(ffi.cast("const char *", data), ffi.cast("char *", out), bytes, size)
    return got >= 0 and got or nil
end

function unpack_with.snappy(lib, data, bytes, out, size)
    size_box[0] = size
    if lib.snappy_uncompress(ffi.cast("const char *", data), bytes, ffi.cast("char *", out), size_box) ~= 0 then
        return nil
    end
    return tonumber(size_box[0])
end

function unpack_with.gzip(_, data, bytes, out, size)
    local stream, problem = zip.open_gzip { data = data, size = bytes }
    if not stream then return nil, problem end
    local got = stream.read(out, size)
    return got and stream.finish() and got or nil
end

--- Unpacks memory, to `size` bytes, as a source (source.lua) claims: a block. Raises for a damaged file, or for a
-- missing package.
function codecs.unpack(s, codec, data, bytes, size)
    local growth = GROWTH[codec]
    local lib, problem
    if LIBRARIES[codec] then
        lib, problem = library(codec)
        if not lib then s:fail("it is compressed by %s: %s", codec, problem) end
    end
    if size > bytes * growth[1] + growth[2] then s:fail("compressed data of it claims an impossible size") end
    local block = s:memory(size)
    local got
    got, problem = unpack_with[codec](lib, data, bytes, block.data, size)
    if got ~= size then s:fail(problem or "compressed data of it is damaged") end
    return block
end

function pack_with.zstd(lib, data, bytes, memory)
    local block = memory(tonumber(lib.ZSTD_compressBound(bytes)))
    local size = lib.ZSTD_compress(block.data, block.size, data, bytes, ZSTD_LEVEL)
    return block, lib.ZSTD_isError(size) == 0 and tonumber(size) or nil
end

function pack_with.lz4(lib, data, bytes, memory)
    local block = memory(tonumber(lib.LZ4F_compressFrameBound(bytes, nil)))
    local size = lib.LZ4F_compressFrame(block.data, block.size, data, bytes, nil)
    return block, lib.LZ4F_isError(size) == 0 and tonumber(size) or nil
end

function pack_with.snappy(lib, data, bytes, memory)
    local block = memory(tonumber(lib.snappy_max_compressed_length(bytes)))
    size_box[0] = block.size
    local rc = lib.snappy_compress(ffi.cast("const char *", data), bytes, ffi.cast("char *", block.data), size_box)
    return block, rc == 0 and tonumber(size_box[0]) or nil
end

function pack_with.gzip(_, data, bytes)
    local pieces, problem = zip.gzip_pieces { ffi.string(data, bytes) }
    if not pieces then return nil, nil, problem end
    return pieces[1], pieces[1].size
end

--- Packs memory: a block, or nil and a message. memory(bytes) gives blocks.
function codecs.pack(codec, data, bytes, memory)
    local lib, problem
    if LIBRARIES[codec] then
        lib, problem = library(codec)
        if not lib then return nil, problem end
    end
    local block, size
    block, size, problem = pack_with[codec](lib, data, bytes, memory)
    if not size then return nil, problem or codec .. " failed" end
    block.size = size
    return block
end

return codecs
