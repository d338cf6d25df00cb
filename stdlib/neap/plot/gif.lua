--- gif.lua: pictures in a row as a file of GIF89a (CompuServe, Graphics Interchange Format, version 89a, 1990).
--
--     head │ size │ palette │ "NETSCAPE2.0": loop │ for each picture: delay, place, size, codes │ ";"
--
-- All pictures share a palette (palette.lua), with a further, transparent entry. The first picture is whole; of a later
-- picture only the rectangle of changes is written, in which unchanged pixels are transparent: runs of the same index
-- have short codes. The same pictures give the same bytes.
local ffi = require "ffi"
local bit = require "bit"
local palette = require "neap.plot.palette"

local band, bor, lshift, rshift, bxor = bit.band, bit.bor, bit.lshift, bit.rshift, bit.bxor
local char = string.char
local gif = {}

local MOST_COLORS = 255 -- beside the transparent one
local MOST_CODE, HASHES = 4096, 8192

--- A number of 16 bits.
local function word(n)
    return char(n % 256, math.floor(n / 256))
end

-- ---- LZW ------------------------------------------------------------------------------------------------------------

local keys, codes = ffi.new("int32_t[?]", HASHES), ffi.new("int16_t[?]", HASHES)

--- The code of the string of code `prefix` and a byte behind; without a code yet: -1 - the free place in the table.
local function find(prefix, byte)
    local key = bor(lshift(prefix, 8), byte) + 1 -- 0 is empty
    local at = band(bxor(key, rshift(key, 7) * 31), HASHES - 1)
    while keys[at] ~= 0 do
        if keys[at] == key then return codes[at] end
        at = band(at + 1, HASHES - 1)
    end
    return -1 - at
end

--- n indices of `bits` bits as LZW codes, at most bytes 2 n + 16 of `out`; returns how many bytes.
local function compress(indices, n, bits, out)
    local clear = lshift(1, bits)
    local size, most, free = bits + 1, lshift(1, bits + 1) - 1, clear + 2
    local held, held_bits, at = 0, 0, 0
    local function put(code)
        held, held_bits = bor(held, lshift(code, held_bits)), held_bits + size
        while held_bits >= 8 do
            out[at] = band(held, 255)
            held, held_bits, at = rshift(held, 8), held_bits - 8, at + 1
        end
    end
    ffi.fill(keys, 4 * HASHES)
    put(clear)
    local prefix = indices[0]
    for k = 1, n - 1 do
        local byte = indices[k]
        local code = find(prefix, byte)
        if code >= 0 then
            prefix = code
        else
            put(prefix)
            if free > most and size < 12 then
                size = size + 1
                most = lshift(1, size) - 1
            end
            if free < MOST_CODE then
                keys[-1 - code], codes[-1 - code] = bor(lshift(prefix, 8), byte) + 1, free
                free = free + 1
            else
                put(clear)
                ffi.fill(keys, 4 * HASHES)
                size, most, free = bits + 1, lshift(1, bits + 1) - 1, clear + 2
            end
            prefix = byte
        end
    end
    put(prefix)
    if free > most and size < 12 then size = size + 1 end
    put(clear + 1)
    if held_bits > 0 then
        out[at] = held
        at = at + 1
    end
    return at
end

--- Bytes as GIF's blocks of at most 255.
local function blocks(bytes, n)
    local parts = {}
    for from = 0, n - 1, 255 do
        local size = math.min(255, n - from)
        parts[#parts + 1] = char(size) .. ffi.string(bytes + from, size)
    end
    parts[#parts + 1] = "\0"
    return table.concat(parts)
end

-- ---- Pictures -------------------------------------------------------------------------------------------------------

--- Indices of the colours of n pixels.
local function index(rgb, n, place_of, indices)
    local last, place = -1, 0
    for k = 0, n - 1 do
        local color = bor(lshift(rgb[3 * k], 16), lshift(rgb[3 * k + 1], 8), rgb[3 * k + 2])
        if color ~= last then last, place = color, place_of(color) end
        indices[k] = place
    end
end

--- The rectangle of the changes between two pictures, {left, top, width, height}; without changes a single pixel.
local function difference(now, before, width, height)
    local left, right, top, bottom = width, -1, nil, 0
    for y = 0, height - 1 do
        for x = 0, width - 1 do
            local at = y * width + x
            if now[at] ~= before[at] then
                top, bottom = top or y, y
                if x < left then left = x end
                if x > right then right = x end
            end
        end
    end
    if not top then return { 0, 0, 1, 1 } end
    return { left, top, right - left + 1, bottom - top + 1 }
end

--- The pixels of a rectangle, transparent where equal to the pixels of `before`.
local function cut(now, before, width, box, transparent, out)
    local at = 0
    for y = box[2], box[2] + box[4] - 1 do
        for x = box[1], box[1] + box[3] - 1 do
            local from = y * width + x
            out[at] = before and now[from] == before[from] and transparent or now[from]
            at = at + 1
        end
    end
    return at
end

--- Hundredths of a second of picture k, from 0; the sum over pictures has no drift.
local function delay(k, fps)
    return math.floor(100 * (k + 1) / fps + 0.5) - math.floor(100 * k / fps + 0.5)
end

local function head(width, height, colors, bits, loop)
    local parts = { "GIF89a", word(width), word(height), char(0xF0 + bits - 1), "\0\0" }
    for k = 1, lshift(1, bits) do
        local color = colors[k] or 0
        parts[#parts + 1] = char(band(rshift(color, 16), 255), band(rshift(color, 8), 255), band(color, 255))
    end
    if loop then parts[#parts + 1] = "\33\255\11NETSCAPE2.0\3\1\0\0\0" end
    return table.concat(parts)
end

--- The bytes of a file. pictures(k) gives the pixels of picture k, from 0, three bytes each; called twice for each k.
-- fps: pictures a second; loop: begin again at the end.
function gif.bytes(pictures, count, width, height, fps, loop)
    local n, counter = width * height, palette.counter(MOST_COLORS)
    for k = 0, count - 1 do counter:add(pictures(k), n) end
    local colors, place_of = counter:finish()
    local transparent, bits = #colors, 2
    while lshift(1, bits) < #colors + 1 do bits = bits + 1 end
    local parts = { head(width, height, colors, bits, loop) }
    local now, before = ffi.new("uint8_t[?]", n), nil
    local spare, cell, out = ffi.new("uint8_t[?]", n), ffi.new("uint8_t[?]", n), ffi.new("uint8_t[?]", 2 * n + 16)
    for k = 0, count - 1 do
        index(pictures(k), n, place_of, now)
        local box = before and difference(now, before, width, height) or { 0, 0, width, height }
        local pixels = cut(now, before, width, box, transparent, cell)
        parts[#parts + 1] = "\33\249\4" .. char(before and 5 or 4) .. word(delay(k, fps)) .. char(transparent) .. "\0"
        parts[#parts + 1] = "," .. word(box[1]) .. word(box[2]) .. word(box[3]) .. word(box[4]) .. "\0" .. char(bits)
        parts[#parts + 1] = blocks(out, compress(cell, pixels, bits, out))
        now, before, spare = spare, now, before or ffi.new("uint8_t[?]", n)
    end
    parts[#parts + 1] = ";"
    return table.concat(parts)
end

jit.off(gif.bytes)

return gif
