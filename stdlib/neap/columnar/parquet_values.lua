--- parquet_values.lua: the values of a page of a Parquet column, in each of the encodings, one behind the other,
-- missing ones left out (parquet_read.lua puts values into rows).
--
-- A function takes a leaf (parquet_schema.lua), the bytes [at, last) of memory, the number of values, and memory
-- for them; it returns whether all values were there. Texts become the numbers of leaf.levels.
local ffi = require "ffi"
local assemble = require "neap.columnar.assemble"
local bits = require "neap.columnar.bits"
local packed = require "neap.columnar.packed_integers"
local schema = require "neap.columnar.parquet_schema"

local parquet_values = {}

local BOOLEAN, INT32, INT64, INT96, BYTES, FIXED = schema.BOOLEAN, schema.INT32, schema.INT64, schema.INT96,
    schema.BYTES, schema.FIXED
local EPOCH_DAY = 2440588 -- the Julian day of 1970-01-01
local DAY = 86400000000

local u32, i32, i64 = ffi.typeof "const uint32_t *", ffi.typeof "const int32_t *", ffi.typeof "const int64_t *"
local POINTERS = { [1] = ffi.typeof "uint8_t *", [2] = ffi.typeof "uint16_t *", [4] = ffi.typeof "int32_t *",
                   [8] = ffi.typeof "int64_t *" }
parquet_values.POINTERS = POINTERS
local doubles = ffi.typeof "double *"

--- The bytes of a value of fixed length in a file; nil: of texts and bools.
local function stride_of(leaf)
    if leaf.physical == INT96 then return 12 end
    if leaf.physical == FIXED then return leaf.bytes end
    return leaf.physical ~= BYTES and leaf.physical ~= BOOLEAN and leaf.width or nil
end

--- A number of bytes, the highest first, in two's complement.
local function big_endian(data, bytes)
    if bytes == 0 then return 0 end
    local negative, value = data[0] >= 128, 0
    for k = 0, bytes - 1 do value = value * 256 + (negative and 255 - data[k] or data[k]) end
    return negative and -value - 1 or value
end

--- Values of fixed length as elements.
local function convert(leaf, data, n, out)
    if leaf.physical == INT96 then -- nanoseconds of the day, and the day
        out = ffi.cast(POINTERS[8], out)
        for k = 0, n - 1 do
            local nanoseconds, day = ffi.cast(i64, data + 12 * k)[0], ffi.cast(i32, data + 12 * k + 8)[0]
            out[k] = (day - EPOCH_DAY) * 1LL * DAY + nanoseconds / 1000
        end
    elseif leaf.physical == FIXED and leaf.kind == "decimal" then
        out = ffi.cast(doubles, out)
        for k = 0, n - 1 do out[k] = big_endian(data + leaf.bytes * k, leaf.bytes) end
    else
        ffi.copy(out, data, n * leaf.width)
    end
    return true
end

--- A text, or a decimal of any length, from bytes.
local function put_bytes(leaf, data, bytes, out, k)
    if leaf.kind == "decimal" then
        out[k] = big_endian(data, bytes)
    else
        out[k] = assemble.code_of(leaf.levels, ffi.string(data, bytes))
    end
end

local function bytes_pointer(leaf, out)
    return ffi.cast(leaf.kind == "decimal" and doubles or POINTERS[4], out)
end

local function plain(leaf, data, at, last, n, out)
    local stride = stride_of(leaf)
    if stride then return n * stride <= last - at and convert(leaf, data + at, n, out) end
    if leaf.physical == BOOLEAN then
        if n > (last - at) * 8 then return false end
        bits.expand(data + at, 0, n, out)
        return true
    end
    out = bytes_pointer(leaf, out)
    for k = 0, n - 1 do
        if at + 4 > last then return false end
        local bytes = ffi.cast(u32, data + at)[0]
        at = at + 4
        if bytes > last - at then return false end
        put_bytes(leaf, data + at, bytes, out, k)
        at = at + bytes
    end
    return true
end

--- Values of leaf.dictionary, a block of leaf.known values, by number.
local function from_dictionary(leaf, data, at, last, n, out)
    if n == 0 then return true end
    if not leaf.dictionary or at >= last then return false end
    local width = data[at]
    local numbers = leaf.scratch(n * 4, "numbers")
    local places = ffi.cast(POINTERS[4], numbers)
    if width > 32 or not packed.runs(data, at + 1, last, width, n, places, leaf.known - 1) then return false end
    local values = ffi.cast(POINTERS[leaf.width], leaf.dictionary.data)
    out = ffi.cast(POINTERS[leaf.width], out)
    for k = 0, n - 1 do out[k] = values[places[k]] end
    return true
end

local function runs(leaf, data, at, last, n, out)
    if leaf.physical ~= BOOLEAN or at + 4 > last then return false end
    return packed.runs(data, at + 4, last, 1, n, ffi.cast(POINTERS[1], out), 1) ~= nil
end

local function differences(leaf, data, at, last, n, out)
    if leaf.physical ~= INT32 and leaf.physical ~= INT64 then return false end
    return packed.differences(data, at, last, n, ffi.cast(POINTERS[leaf.width], out)) ~= nil
end

--- n lengths, written as differences, and the place behind.
local function lengths_of(leaf, data, at, last, n, what)
    local lengths = ffi.cast(POINTERS[4], leaf.scratch(n * 4, what))
    return lengths, packed.differences(data, at, last, n, lengths)
end

local function lengths_and_bytes(leaf, data, at, last, n, out)
    if leaf.physical ~= BYTES then return false end
    local lengths
    lengths, at = lengths_of(leaf, data, at, last, n, "lengths")
    if not at then return false end
    out = bytes_pointer(leaf, out)
    for k = 0, n - 1 do
        local bytes = lengths[k]
        if bytes < 0 or bytes > last - at then return false end
        put_bytes(leaf, data + at, bytes, out, k)
        at = at + bytes
    end
    return true
end

--- Texts that share a beginning with the text before: lengths of beginnings, lengths of rests, then all rests.
local function beginnings(leaf, data, at, last, n, out)
    if leaf.physical ~= BYTES then return false end
    local shared, lengths
    shared, at = lengths_of(leaf, data, at, last, n, "shared")
    if not at then return false end
    lengths, at = lengths_of(leaf, data, at, last, n, "lengths")
    if not at then return false end
    out = bytes_pointer(leaf, out)
    local before, total = "", 0
    for k = 0, n - 1 do
        local same, bytes = shared[k], lengths[k]
        if same < 0 or same > #before or bytes < 0 or bytes > last - at then return false end
        total = total + same
        if total > leaf.most_bytes then return false end
        before = before:sub(1, same) .. ffi.string(data + at, bytes)
        at = at + bytes
        put_bytes(leaf, ffi.cast("const uint8_t *", before), #before, out, k)
    end
    return true
end

--- The first bytes of all values, then the second bytes, and so on.
local function split_bytes(leaf, data, at, last, n, out)
    local stride = stride_of(leaf)
    if not stride or leaf.physical == INT96 or n * stride > last - at then return false end
    local whole = leaf.scratch(n * stride, "whole")
    for k = 0, stride - 1 do
        local from = data + at + k * n
        for j = 0, n - 1 do whole[j * stride + k] = from[j] end
    end
    return convert(leaf, whole, n, out)
end

--- By the number of an encoding. PLAIN_DICTIONARY (2) is the older name of RLE_DICTIONARY (8).
parquet_values.read = { [0] = plain, [2] = from_dictionary, [3] = runs, [5] = differences, [6] = lengths_and_bytes,
                        [7] = beginnings, [8] = from_dictionary, [9] = split_bytes }

--- Puts values, in order, into the rows where present[k] ~= 0; `none` into the others.
function parquet_values.spread(width, values, present, rows, out, none)
    values, out = ffi.cast(POINTERS[width], values), ffi.cast(POINTERS[width], out)
    local at = 0
    for k = 0, rows - 1 do
        if present[k] ~= 0 then
            out[k] = values[at]
            at = at + 1
        else
            out[k] = none
        end
    end
end

parquet_values.plain = plain

return parquet_values
