--- packed_integers.lua: how Parquet packs integers (https://parquet.apache.org/docs/file-format/data-pages/encodings):
-- runs of a repeated value and of bits, and differences of few bits.
--
-- Each function reads from data[at] up to `last`, gives n numbers to out[0] …, and returns the place behind; nil:
-- damaged bytes. Nothing beyond `last` is read.
local ffi = require "ffi"
local bit = require "bit"

local packed = {}

local words = ffi.typeof "const uint32_t *"
local MOST_FAST = 25 -- bits of a number in four bytes, from any bit on
local MOST_BLOCK = 2 ^ 16

--- A varint of at most `limit`, and the place behind.
local function varint(data, at, last, limit)
    local value, scale = 0, 1
    while at < last and scale < 2 ^ 56 do
        local b = data[at]
        at = at + 1
        value, scale = value + bit.band(b, 127) * scale, scale * 128
        if b < 128 then
            if value > limit then return nil end
            return value, at
        end
    end
    return nil
end

--- n numbers of `width` bits, at most 32, from the lowest bit of data[at] on.
local function unpack_bits(data, at, last, width, n, out)
    local k = 0
    if width <= MOST_FAST then
        local mask = bit.lshift(1, width) - 1
        local fast = math.min(n, math.floor(((last - at - 4) * 8 + 7) / math.max(width, 1)))
        while k < fast do
            local from = k * width
            local word = ffi.cast(words, data + at + math.floor(from / 8))[0]
            out[k] = bit.band(bit.rshift(word, bit.band(from, 7)), mask)
            k = k + 1
        end
    end
    while k < n do
        local from, value, scale, got = k * width, 0, 1, 0
        local byte, skip = math.floor(from / 8), from % 8
        while got < width do
            local part = math.min(8 - skip, width - got)
            value = value + bit.band(bit.rshift(data[at + byte], skip), bit.lshift(1, part) - 1) * scale
            scale, got, byte, skip = scale * 2 ^ part, got + part, byte + 1, 0
        end
        out[k] = value
        k = k + 1
    end
end

--- Runs: a varint, whose lowest bit says whether eights of numbers of `width` bits follow, or a repeated number.
-- Numbers above `most` are damage.
function packed.runs(data, at, last, width, n, out, most)
    local bytes = math.floor((width + 7) / 8)
    while n > 0 do
        local head
        head, at = varint(data, at, last, 2 ^ 33)
        if not head then return nil end
        local count = math.floor(head / 2)
        if head % 2 == 1 then
            local size = count * width
            if size > last - at then
                size = last - at -- a writer may leave out the end of the last eight
                if size * 8 < math.min(count * 8, n) * width then return nil end
            end
            count = math.min(count * 8, n)
            if count == 0 then return nil end
            unpack_bits(data, at, at + size, width, count, out)
            for k = 0, count - 1 do
                if out[k] < 0 or out[k] > most then return nil end
            end
            at = at + size
        else
            if bytes > last - at or count == 0 then return nil end
            local value = 0
            for k = bytes - 1, 0, -1 do value = value * 256 + data[at + k] end
            if value > most then return nil end
            count, at = math.min(count, n), at + bytes
            for k = 0, count - 1 do out[k] = value end
        end
        out, n = out + count, n - count
    end
    return at
end

local zero, one = 0ULL, 1ULL

--- The unsigned 64-bit varint at data[at], and the place behind; nil: there is none.
local function wide_varint(data, at, last)
    local value, shift = zero, 0
    while at < last and shift < 64 do
        local b = data[at]
        at = at + 1
        value = bit.bor(value, bit.lshift(one * bit.band(b, 127), shift))
        if b < 128 then return value, at end
        shift = shift + 7
    end
    return nil
end

local function signed(value)
    return ffi.cast("int64_t", bit.bxor(bit.rshift(value, 1), -bit.band(value, one)))
end

--- A number of up to 64 bits from bit `from` of data on.
local function wide_bits(data, from, width)
    local value, got, byte, skip = zero, 0, math.floor(from / 8), from % 8
    while got < width do
        local part = math.min(8 - skip, width - got)
        local some = bit.band(bit.rshift(data[byte], skip), bit.lshift(1, part) - 1)
        value = bit.bor(value, bit.lshift(one * some, got))
        got, byte, skip = got + part, byte + 1, 0
    end
    return value
end

--- Differences (DELTA_BINARY_PACKED): how many numbers a block has and how many parts, how many numbers there are, the
-- first; then blocks: the least difference, bits of a number of each part, and the parts. There must be n.
function packed.differences(data, at, last, n, out)
    local block, parts, total
    block, at = varint(data, at, last, MOST_BLOCK)
    if not block then return nil end
    parts, at = varint(data, at, last, block)
    if not parts then return nil end
    total, at = varint(data, at, last, 2 ^ 31)
    if total ~= n or parts == 0 or block % (parts * 8) ~= 0 then return nil end
    local first
    first, at = wide_varint(data, at, last)
    if not first then return nil end
    if n == 0 then return at end
    local value, k, each = signed(first), 1, block / parts
    if each == 0 then return nil end
    local steps = ffi.new("int64_t[?]", each)
    out[0] = value
    while k < n do
        local least
        least, at = wide_varint(data, at, last)
        if not least or parts > last - at then return nil end
        least = signed(least)
        local widths = at
        at = at + parts
        for part = 0, parts - 1 do
            if k >= n then break end
            local width, count = data[widths + part], math.min(each, n - k)
            local size = each * width / 8
            if width > 64 or size > last - at then return nil end
            if width <= 32 then
                unpack_bits(data, at, last, width, count, steps)
            else
                for j = 0, count - 1 do steps[j] = wide_bits(data + at, j * width, width) end
            end
            for j = 0, count - 1 do
                value = value + least + steps[j]
                out[k + j] = value
            end
            k, at = k + count, at + size
        end
    end
    return at
end

return packed
