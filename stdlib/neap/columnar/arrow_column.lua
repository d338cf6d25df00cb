--- arrow_column.lua: columns of the parts noted by arrow_read.lua.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"
local buffer = require "neap.arrays.buffer"
local columns_of = require "neap.tables.columns"
local assemble = require "neap.columnar.assemble"
local bits = require "neap.columnar.bits"

local np, codes = core.np, core.dtype_codes
local arrow_column = {}

local INLINE = 12 -- bytes of a text inside a view

local function rows_of(parts)
    local n = 0
    for _, part in ipairs(parts) do n = n + part.rows end
    return n
end

--- An array of the elements of parts. A single part is taken without a copy where its elements are aligned, if it was
-- unpacked, or stays mapped.
local function elements(reader, dtype, parts, n, stays_mapped)
    local s, part = reader.source, parts[1]
    if #parts == 1 and n > 0 and (part.block or stays_mapped) then
        local block = part.block or s.block
        local offset = tonumber(part.data - block.data)
        if tonumber(ffi.cast("uintptr_t", part.data)) % dtype.bytes == 0 then
            return buffer.mapped(s.name, block, offset, dtype, { n })
        end
    end
    return core.fill(dtype.code, { n }, function(out)
        for _, one in ipairs(parts) do
            local bytes = one.rows * dtype.bytes
            ffi.copy(out, one.data, bytes)
            out = out + bytes
        end
    end, "uint8_t *", s.name)
end

local function bools(reader, parts, n)
    return core.fill(codes.bool, { n }, function(out)
        for _, part in ipairs(parts) do
            bits.expand(part.data, 0, part.rows, out)
            out = out + part.rows
        end
    end, "uint8_t *", reader.source.name)
end

-- ---- Texts ----------------------------------------------------------------------------------------------------------

local int32, int64 = ffi.typeof "const int32_t *", ffi.typeof "const int64_t *"

--- Whether offsets of rows + 1 places go up, from 0 on, and end within so many bytes.
local function are_ascending(offsets, rows, bytes)
    local before = tonumber(offsets[0])
    if before < 0 then return false end
    for k = 1, rows do
        local at = tonumber(offsets[k])
        if at < before then return false end
        before = at
    end
    return before <= bytes
end

--- Numbers of the texts of views, 16 bytes each: the length, then the text, or its beginning, a buffer and a
-- place there. Returns whether all are within their buffers.
local function number_views(levels, part, out)
    local views, valid = ffi.cast(int32, part.data), part.valid
    for k = 0, part.rows - 1 do
        if valid and bit.band(bit.rshift(valid[bit.rshift(k, 3)], bit.band(k, 7)), 1) == 0 then
            out[k] = -1
        else
            local length = views[4 * k]
            local data
            if length < 0 then return false end
            if length <= INLINE then
                data = part.data + 16 * k + 4
            else
                local block, at = part.texts[views[4 * k + 2] + 1], views[4 * k + 3]
                if not block or at < 0 or at + length > block.bytes then return false end
                data = block.data + at
            end
            out[k] = assemble.code_of(levels, ffi.string(data, length))
        end
    end
    return true
end

--- Puts the numbers of the texts of parts into an array of i32. Returns the array and the levels.
local function text_numbers(reader, field, parts, n)
    local s, levels, good = reader.source, assemble.levels(), true
    for _, part in ipairs(field.kind == "text" and parts or {}) do
        part.offsets = ffi.cast(field.offset == "i32" and int32 or int64, part.data)
        if part.rows > 0 and not are_ascending(part.offsets, part.rows, part.text_bytes) then
            s:fail("column '%s' has texts beyond its data", field.column)
        end
    end
    local numbers = core.fill(codes.i32, { n }, function(out)
        for _, part in ipairs(parts) do
            if field.kind == "view" then
                good = good and number_views(levels, part, out)
            else
                assemble.number_texts(levels, part.text, part.offsets, part.rows, part.valid, out)
            end
            out = out + part.rows
        end
    end, "int32_t *", s.name)
    if not good then s:fail("column '%s' has texts beyond its data", field.column) end
    return numbers, levels
end

-- ---- Dictionaries ---------------------------------------------------------------------------------------------------

--- Puts the indices of a dictionary of `count` values into `out`, `base` added: -1 where there is none. Returns whether
-- all are indices of the dictionary.
local function place_indices(indices, part, count, base, out)
    local valid, good = part.valid, true
    for k = 0, part.rows - 1 do
        if valid and bit.band(bit.rshift(valid[bit.rshift(k, 3)], bit.band(k, 7)), 1) == 0 then
            out[k] = -1
        else
            local at = tonumber(indices[k])
            good = good and at >= 0 and at < count
            out[k] = base + at
        end
    end
    return good
end

local column_of_parts

--- A column of places in dictionaries: all dictionaries, one behind the other, and the places.
local function of_dictionaries(reader, field, n, fill)
    local s, base, all, count = reader.source, {}, {}, 0
    for _, part in ipairs(field.parts) do
        local dictionary = part.dictionary
        if not base[dictionary] then
            base[dictionary], count = count, count + dictionary.rows
            for _, own in ipairs(dictionary.parts) do all[#all + 1] = own end
        end
    end
    if count >= 2 ^ 31 then s:fail("the dictionary of column '%s' is too large", field.column) end
    local pointer, good, holes = ffi.typeof(field.dtype.const_pointer), true, false
    local places = core.fill(codes.i32, { n }, function(out)
        for _, part in ipairs(field.parts) do
            local dictionary = part.dictionary
            good = place_indices(ffi.cast(pointer, part.data), part, dictionary.rows, base[dictionary], out) and good
            holes = holes or part.valid ~= nil
            out = out + part.rows
        end
    end, "int32_t *", s.name)
    if not good then s:fail("column '%s' has a value that is not in its dictionary", field.column) end
    local value = field.value
    value.column = field.column
    if value.kind == "text" or value.kind == "view" then
        local numbers, levels = text_numbers(reader, value, all, count)
        local absent = np.less(places, 0)
        numbers = np.concatenate { numbers, np.array({ -1 }, { dtype = "i32" }) } -- the last for rows without a value
        return assemble.texts(levels, np.take(numbers, np.where(absent, count, places)), field.ordered)
    end
    local values = column_of_parts(reader, value, all, count, fill)
    if not holes then return columns_of.map(values, function(x) return np.take(x, places) end) end
    if fill ~= nil and not columns_of.is_object(values) then
        local taken = count > 0 and np.take(values, np.maximum(places, 0)) or np.zeros({ n }, { dtype = values.dtype })
        return assemble.numbers(taken, np.greater_equal(places, 0), fill)
    end
    return columns_of.take_or_none(values, places)
end

-- ---- Columns --------------------------------------------------------------------------------------------------------

--- The column of parts. is_last: no further op reads the elements, so plain numbers can stay in a mapped file: what is
-- recorded and not computed yet never reads there, and the file may be replaced.
function column_of_parts(reader, field, parts, n, fill, is_last)
    local s = reader.source
    if field.kind == "text" or field.kind == "view" then
        local numbers, levels = text_numbers(reader, field, parts, n)
        return assemble.texts(levels, numbers)
    end
    if field.kind == "null" then return assemble.nothing(n, fill) end
    local mask = assemble.mask(s.name, n, parts)
    if field.kind == "bool" then return assemble.numbers(bools(reader, parts, n), mask, fill) end
    local x = elements(reader, field.dtype, parts, n,
                       reader.mapped and is_last and not mask and field.kind == "number")
    if field.kind == "date" then return assemble.dates(s, field.column, x, mask, field.unit) end
    return assemble.numbers(x, mask, fill)
end

--- The column of a name. fill: the value of rows without one, or nil.
function arrow_column.make(reader, name, fill)
    local field = reader.columns[name]
    local n = rows_of(field.parts)
    if field.dictionary then return of_dictionaries(reader, field, n, fill) end
    return column_of_parts(reader, field, field.parts, n, fill, true)
end

for _, f in ipairs { elements, bools, text_numbers, of_dictionaries, column_of_parts, arrow_column.make } do
    jit.off(f)
end

return arrow_column
