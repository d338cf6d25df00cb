--- packed.lua: texts as bytes behind each other, for work on all of them at once.
--
-- Packed texts are { bytes, starts, n, keep = … }: text k, from 1, is the bytes starts[k - 1] … starts[k] - 1; `keep`
-- is what the bytes belong to. They are made of a list and become one again; a column (text.lua) has its levels in one
-- of these forms, and makes the other when somebody asks for it. Columns share packed texts, so nothing changes them.
local ffi = require "ffi"
local core = require "neap.core"

ffi.cdef [[
int neap_packed_compare(const void *a, const void *b, size_t n) __asm__("memcmp");
const uint8_t *neap_packed_find(const void *all, size_t n, const char *part, size_t length) __asm__("memmem");
]]

local band, bor, bnot, bxor, rshift = bit.band, bit.bor, bit.bnot, bit.bxor, bit.rshift
local places, words, pointer = ffi.typeof "int32_t[?]", ffi.typeof "int32_t *", ffi.typeof "const uint8_t *"
local compare, find = ffi.C.neap_packed_compare, ffi.C.neap_packed_find

local packed = {}

local MOST = 2 ^ 30 -- bytes: starts are i32

--- Packed texts of n texts that begin at `starts`; write(memory) writes their bytes, and calls nothing of neap. The
-- memory is an array's: then it comes from a pool, and is counted.
local function written(starts, n, write)
    local keep = core.fill(core.dtype_codes.u8, { starts[n] + 1 }, write, "uint8_t *")
    return { bytes = ffi.cast(pointer, core.data(keep)), starts = starts, n = n, keep = keep }
end

--- Packed texts of a list of strings with n items; nil if they are too many bytes.
function packed.of_list(list, n)
    local starts, at = places(n + 1), 0
    for k = 1, n do
        at = at + #list[k]
        if at > MOST then return nil end
        starts[k] = at
    end
    local all = table.concat(list, "", 1, n)
    return { bytes = ffi.cast(pointer, all), starts = starts, n = n, keep = all }
end

--- Text k of packed ones, from 1.
local function one(p, k)
    return ffi.string(p.bytes + p.starts[k - 1], p.starts[k] - p.starts[k - 1])
end
packed.one = one

--- The list of packed texts.
function packed.list(p)
    local list = {}
    for k = 1, p.n do list[k] = one(p, k) end
    return list
end

--- The texts that have a byte above 127, a list of their numbers, which is kept.
function packed.beyond_ascii(p)
    if p.beyond then return p.beyond end
    local list, bytes, starts, seen = {}, p.bytes, p.starts, 0
    local size = starts[p.n]
    local four, rest = ffi.cast(words, bytes), size % 4
    for k = 0, (size - rest) / 4 - 1 do seen = bor(seen, four[k]) end
    for k = size - rest, size - 1 do seen = bor(seen, bytes[k]) end
    for k = 1, band(seen, 0x80808080) ~= 0 and p.n or 0 do
        local any = 0
        for at = starts[k - 1], starts[k] - 1 do any = bor(any, bytes[at]) end
        if any > 127 then list[#list + 1] = k end
    end
    p.beyond = list
    return list
end

--- Whether packed texts are in the order of the alphabet, and different.
function packed.is_ascending(p)
    local bytes, starts = p.bytes, p.starts
    for k = 1, p.n - 1 do
        local from, middle = starts[k - 1], starts[k]
        local first, second = middle - from, starts[k + 1] - middle
        local order = compare(bytes + from, bytes + middle, first < second and first or second)
        if order > 0 or order == 0 and first >= second then return false end
    end
    return true
end

--- Writes 1 to `out`, of p.n bytes, for each text that has a part, a string that is not empty; 0 for the others.
function packed.mark(p, part, out)
    local bytes, starts, length = p.bytes, p.starts, #part
    local size, k, at = starts[p.n], 0, 0
    ffi.fill(out, p.n)
    while size - at >= length do
        local found = find(bytes + at, size - at, part, length)
        if found == nil then return end
        local place = tonumber(found - bytes)
        while starts[k + 1] <= place do k = k + 1 end
        if place + length <= starts[k + 1] then
            out[k], at = 1, starts[k + 1]
        else
            at = place + 1 -- it begins in one text and ends in another
        end
    end
end

--- Letters of ASCII in the other case, of `size` bytes: those of `first`, a letter, and the 25 behind it.
local function turn(to, from, size, first)
    for k = 0, size - 1 do
        local c = from[k]
        to[k] = c >= first and c < first + 26 and bxor(c, 0x20) or c
    end
end

--- The same where no byte is above 127, four at a time: a byte at or above `first` carries into its highest bit when
-- 128 - first is added, one behind the last letter when 26 less is.
local function turn_ascii(to, from, size, first)
    local rest = size % 4
    local four_to, four = ffi.cast(words, to), ffi.cast(words, from)
    local at, behind = (128 - first) * 0x01010101, (128 - first - 26) * 0x01010101
    for k = 0, (size - rest) / 4 - 1 do
        local x = four[k]
        local letters = band(x + at, bnot(x + behind), 0x80808080)
        four_to[k] = bxor(x, rshift(letters, 2))
    end
    turn(to + (size - rest), from + (size - rest), rest, first)
end

--- Packed texts whose texts `changed`, a rising list of numbers, are those of the list `texts`; the others are p's.
local function replaced(p, changed, texts)
    local starts, moved, next_changed = places(p.n + 1), 0, 1
    for k = 1, p.n do
        if changed[next_changed] == k then
            moved = moved + #texts[next_changed] - (p.starts[k] - p.starts[k - 1])
            next_changed = next_changed + 1
        end
        starts[k] = p.starts[k] + moved
    end
    return written(starts, p.n, function(bytes)
        local done = 0
        for j = 1, #changed + 1 do
            local k = changed[j] or p.n + 1
            ffi.copy(bytes + starts[done], p.bytes + p.starts[done], p.starts[k - 1] - p.starts[done])
            if texts[j] then ffi.copy(bytes + starts[k - 1], texts[j], #texts[j]) end
            done = k
        end
    end)
end

--- Packed texts in lower or upper case: letters of ASCII here, texts with other ones by other(text), a string.
function packed.cased(p, upper, other)
    local first, beyond = upper and 0x61 or 0x41, packed.beyond_ascii(p)
    local loop = #beyond == 0 and turn_ascii or turn
    local turned = written(p.starts, p.n, function(bytes) loop(bytes, p.bytes, p.starts[p.n], first) end)
    if #beyond == 0 then
        turned.beyond = beyond
        return turned
    end
    local texts = {}
    for j, k in ipairs(beyond) do texts[j] = other(one(p, k)) end
    return replaced(turned, beyond, texts)
end

return packed
