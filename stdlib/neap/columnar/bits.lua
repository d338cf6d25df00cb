--- bits.lua: bitmaps, whose bit k, from the lowest of the first byte on, is the flag of row k, and bytes, 0 or 1, as
-- flags.
local ffi = require "ffi"
local bit = require "bit"

local bits = {}

-- The eight bytes of each value of a byte of a bitmap.
local spread = ffi.new "uint64_t[256]"
for value = 0, 255 do
    local eight = ffi.cast("uint8_t *", spread + value)
    for k = 0, 7 do eight[k] = bit.band(bit.rshift(value, k), 1) end
end

local wide = ffi.typeof "uint64_t *"

--- Bits [from, from + n) of a bitmap as bytes.
function bits.expand(bitmap, from, n, out)
    local k = 0
    while k < n and (from + k) % 8 ~= 0 do
        local at = from + k
        out[k] = bit.band(bit.rshift(bitmap[bit.rshift(at, 3)], bit.band(at, 7)), 1)
        k = k + 1
    end
    local words, bytes, whole = ffi.cast(wide, out + k), bitmap + (from + k) / 8, math.floor((n - k) / 8)
    for j = 0, whole - 1 do words[j] = spread[bytes[j]] end
    for j = k + 8 * whole, n - 1 do
        out[j] = bit.band(bit.rshift(bytes[whole], j - k - 8 * whole), 1)
    end
end

--- n bytes as a bitmap, the rest of whose last byte is 0; returns how many are 0. `out` has (n + 7) / 8 bytes.
function bits.pack(flags, n, out)
    local zeros = 0
    ffi.fill(out, math.floor((n + 7) / 8))
    for k = 0, n - 1 do
        if flags[k] ~= 0 then
            local at = bit.rshift(k, 3)
            out[at] = bit.bor(out[at], bit.lshift(1, bit.band(k, 7)))
        else
            zeros = zeros + 1
        end
    end
    return zeros
end

return bits
