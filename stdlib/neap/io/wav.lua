--- wav.lua: np.io.load_wav and np.io.save_wav: sound in WAV files: PCM of 8, 16, 24 and 32 bits, and floats.
--
-- A file is a RIFF: "RIFF", its length, "WAVE", and chunks, each a name of four letters, a length and so many bytes, a
-- zero behind an odd number of them. "fmt " says what the elements are, "data" has them, channel by channel for each
-- moment; other chunks are passed over. Numbers are little-endian, as on all machines that neap runs on.
--
--     fmt :  kind u16 | channels u16 | elements per second u32 | bytes per second u32 | bytes per moment u16 | bits u16
--            and of kind 0xfffe, "extensible": bytes of what follows u16 | bits that count u16 | speakers u32 | GUID,
--            which begins with the kind itself
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"
local files = require "neap.files"

local raise, bad_argument = core.raise, core.bad_argument
local codes = core.dtype_codes
local wav = {}

local PCM, FLOAT, EXTENSIBLE = 1, 3, 0xfffe
local GUID = "\0\0\0\0\16\0\128\0\0\170\0\56\155\113" -- what stands behind the kind
local MOST = 2 ^ 32 - 256 -- bytes of elements

-- What elements become, by kind and bits.
local DTYPES = { [PCM] = { [8] = "u8", [16] = "i16", [24] = "i32", [32] = "i32" },
                 [FLOAT] = { [32] = "f32", [64] = "f64" } }

-- ---- Reading --------------------------------------------------------------------------------------------------------

--- The number of `bytes` bytes at a place.
local function number(data, at, bytes)
    local value = 0
    for k = bytes - 1, 0, -1 do value = value * 256 + data[at + k] end
    return value
end

--- What a "fmt " chunk of `size` bytes says: a table, or nil and what is wrong.
local function format_of(data, at, size)
    if size < 16 then return nil, ("its chunk 'fmt ' has %d bytes, of 16 at least"):format(size) end
    local f = { kind = number(data, at, 2), channels = number(data, at + 2, 2), rate = number(data, at + 4, 4),
                block = number(data, at + 12, 2), bits = number(data, at + 14, 2) }
    if f.kind == EXTENSIBLE then
        if size < 40 then return nil, "its extensible format ends early" end
        if ffi.string(data + at + 26, 14) ~= GUID then return nil, "its extensible format is of an unknown kind" end
        f.kind = number(data, at + 24, 2)
    end
    f.dtype = DTYPES[f.kind] and DTYPES[f.kind][f.bits]
    if not f.dtype then
        return nil, DTYPES[f.kind] and ("elements of %d bits are not read"):format(f.bits)
                    or ("it is compressed, or of another kind (%d) than PCM and floats"):format(f.kind)
    end
    if f.channels == 0 then return nil, "it has no channels" end
    if f.rate == 0 then return nil, "it has 0 elements per second" end
    if f.block ~= f.channels * f.bits / 8 then
        return nil, ("%d channels of %d bits do not take %d bytes"):format(f.channels, f.bits, f.block)
    end
    return f
end

--- The format, and where the elements lie: from, bytes; or nil and what is wrong.
local function parts_of(block)
    local data, size = block.data, block.size
    if size == 0 then return nil, "it is empty" end
    local magic = ffi.string(data, math.min(size, 4))
    if magic == "RIFX" or magic == "RF64" then return nil, ("it is a %s file, which is not read"):format(magic) end
    if size < 12 or magic ~= "RIFF" or ffi.string(data + 8, 4) ~= "WAVE" then return nil, "it is no WAV file" end
    local at, format = 12, nil
    while at + 8 <= size do
        local name, length = ffi.string(data + at, 4), number(data, at + 4, 4)
        at = at + 8
        if at + length > size then
            return nil, ("it ends early: %d bytes of its chunk '%s' are there, of %d"):format(size - at,
                   name:gsub("[^%w ]", "?"), length)
        end
        if name == "fmt " then
            local problem
            format, problem = format_of(data, at, length)
            if not format then return nil, problem end
        elseif name == "data" then
            if not format then return nil, "its elements stand before what they are" end
            if length % format.block ~= 0 then
                return nil, ("%d bytes of elements are no whole number of %d"):format(length, format.block)
            end
            return format, at, length
        end
        at = at + length + length % 2
    end
    return nil, "it has no elements"
end

--- Elements of 24 bits as i32, in the upper 24 bits.
local function widen(out, from, count)
    for k = 0, count - 1 do
        local at = 3 * k
        out[k] = bit.bor(bit.lshift(from[at], 8), bit.lshift(from[at + 1], 16), bit.lshift(from[at + 2], 24))
    end
end

--- np.io.load_wav(path) -> x, rate: the sound of a WAV file, and how many elements per second it has: shape (n), or (n,
-- channels). Elements are as they stand there: u8 of 8 bits (128 is silence), i16, i32 of 24 and 32 bits (24 are the
-- upper ones), f32 or f64. Raises if the file is damaged, ends early or is compressed.
--- > np.io.save_wav("x.wav", np.array({0, 1000, -1000}, {dtype="i16"}), 8000)
--- > np.io.load_wav("x.wav")
-- [    0  1000 -1000]
-- 8000
function wav.load_wav(path)
    local name = "io.load_wav"
    local block, problem = files.read(core.check_path(name, path))
    if not block then raise(name, "%s", problem) end
    local format, at, bytes = parts_of(block)
    if not format then
        files.release(block)
        raise(name, "cannot read '%s': %s", path, at)
    end
    local n, from = bytes / format.block, block.data + at
    local dims = format.channels > 1 and { n, format.channels } or { n }
    local x = core.fill(codes[format.dtype], dims, function(out)
        if format.bits == 24 then
            widen(ffi.cast("int32_t *", out), from, n * format.channels)
        else
            ffi.copy(out, from, bytes)
        end
    end, "uint8_t *", name)
    files.release(block)
    return x, format.rate
end

-- ---- Writing --------------------------------------------------------------------------------------------------------

local function u16(value) return string.char(value % 256, math.floor(value / 256)) end

local function u32(value) return u16(value % 65536) .. u16(math.floor(value / 65536)) end

--- The kind and the bits of elements of a dtype; nil: it has none.
local function kind_of(dtype, bits)
    if dtype == "i32" then return PCM, bits or 32 end
    for kind, known in pairs(DTYPES) do
        for width, name in pairs(known) do
            if name == dtype then return kind, width end
        end
    end
end

--- The upper 24 bits of i32 elements: a block.
local function narrowed(from, count)
    local data = ffi.new("uint8_t[?]", 3 * count)
    for k = 0, count - 1 do
        local value, at = from[k], 3 * k
        data[at], data[at + 1] = bit.band(bit.rshift(value, 8), 255), bit.band(bit.rshift(value, 16), 255)
        data[at + 2] = bit.rshift(value, 24)
    end
    return { data = data, size = 3 * count, keep = data }
end

--- np.io.save_wav(path, x, rate, {bits=…}) -> nothing: writes a sound of the shape (n) or (n, channels) with `rate`
-- elements per second: u8, i16, i32, f32 or f64, of which floats go from -1 to 1. Other dtypes are refused: cast and
-- scale them, as in (x * 32767):round():astype "i16". Waits.
--- bits: of i32: 24 writes the upper 24 bits; else 32
--- > np.io.save_wav("x.wav", np.sin(np.arange(8)) / 2, 8000)
--- > np.io.load_wav("x.wav").dtype
-- f32
function wav.save_wav(path, x, rate, given)
    local name = "io.save_wav"
    core.check_path(name, path)
    if not core.is_array(x) then bad_argument(name, 2, "x", "an array of elements", x) end
    rate = core.integer(name, 3, "rate", rate, 1, 2 ^ 32 - 1)
    local bits = core.plain(core.options(name, given, { bits = true }).bits)
    local dims, dtype = x.shape, x.dtype
    local kind, width = kind_of(dtype, bits)
    if not kind then
        raise(name, "elements are u8, i16, i32, f32 or f64, got %s; of numbers from -1 to 1: (x * 32767):round()"
              .. ":astype \"i16\"", dtype)
    end
    if bits ~= nil and (bits ~= width or width ~= 24 and width ~= 32 and dtype == "i32") then
        bad_argument(name, nil, "bits", dtype == "i32" and "24 or 32" or ("%d, of %s"):format(width, dtype), bits)
    end
    local channels = #dims == 2 and dims[2] or 1
    if #dims ~= 1 and #dims ~= 2 or channels < 1 or channels > 65535 or channels * width / 8 > 65535 then
        raise(name, "a sound has the shape (n), or (n, channels) with 1 to %d channels, got %s", 65535 / (width / 8),
              core.shape_text(x))
    end
    local bytes = x.size * width / 8
    if bytes > MOST then raise(name, "%.0f bytes of elements are more than a WAV file can have", bytes) end
    local block = channels * width / 8
    if rate * block >= 2 ^ 32 then
        raise(name, "%.0f bytes per second are more than a WAV file can have", rate * block)
    end
    local format = u16(kind) .. u16(channels) .. u32(rate) .. u32(rate * block) .. u16(block) .. u16(width)
    local more = kind == FLOAT and "fact" .. u32(4) .. u32(dims[1]) or ""
    if kind == FLOAT then format = format .. u16(0) end
    local head = "WAVEfmt " .. u32(#format) .. format .. more .. "data" .. u32(bytes)
    local pieces = { "RIFF" .. u32(#head + bytes + bytes % 2) .. head }
    if x.size > 0 then
        local data = core.data(x)
        pieces[2] = width == 24 and narrowed(ffi.cast("const int32_t *", data), x.size)
                    or { data = data, size = bytes, keep = x }
        if bytes % 2 == 1 then pieces[3] = "\0" end
    end
    local good, problem = files.write(path, pieces)
    if not good then raise(name, "%s", problem) end
end

for _, f in ipairs { wav.load_wav, wav.save_wav } do jit.off(f) end

return wav
