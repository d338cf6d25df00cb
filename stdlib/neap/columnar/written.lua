--- written.lua: common parts of the writers of Arrow and Parquet: columns of a table as elements and as bitmaps of
-- rows with a value, texts behind each other, packed memory.
--
-- A writer is { name = the function, for errors }.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local json = require "neap.files.json"
local columns_of = require "neap.tables.columns"
local dates = require "neap.tables.dates"
local text = require "neap.tables.text"
local bits = require "neap.columnar.bits"
local codecs = require "neap.columnar.codecs"

local raise = core.raise
local written = { pack = bits.pack }

--- Memory as a block.
function written.memory(w, bytes)
    local block, problem = files.block(bytes)
    if not block then raise(w.name, "%s", problem) end
    return block
end

--- Memory packed by a codec, as a block.
function written.packed(w, codec, data, bytes)
    local block, problem = codecs.pack(codec, data, bytes, function(n) return written.memory(w, n) end)
    if not block then raise(w.name, "option 'compression' is %q: %s", codec, problem) end
    return block
end

--- An array of bool of `rows` rows as a bitmap, a block; nil: all true. And how many are false.
function written.bitmap(w, flags, rows)
    if not flags then return nil, 0 end
    local block = written.memory(w, math.floor((rows + 7) / 8))
    local zeros = core.read(flags, function(data) return bits.pack(data, rows, block.data) end)
    return block, zeros
end

--- A column of a table to write: { name, kind = "text", "date" or "number", dtype, levels, stored = elements,
-- present = flags of rows with a value, an array of bool, or nil: all }.
function written.column(w, name, values)
    if not json.is_utf8(name) then raise(w.name, "the name of column '%s' is not UTF-8", name) end
    if text.is_text(values) then
        for _, level in ipairs(values.levels) do
            if not json.is_utf8(level) then raise(w.name, "column '%s' has a text that is not UTF-8", name) end
        end
        return { name = name, kind = "text", levels = values.levels, stored = values.codes,
                 present = columns_of.present(values) }
    end
    if dates.is_dates(values) then
        return { name = name, kind = "date", stored = values.ticks, present = columns_of.present(values) }
    end
    local dtype = core.dtype_of(values)
    if dtype.kind == "c" then raise(w.name, "column '%s' has complex numbers, which the format does not have", name) end
    if dtype.name == "bf16" then values = values:astype "f32" end
    return { name = name, kind = "number", dtype = core.dtype_of(values), stored = values,
             present = columns_of.present(values) }
end

--- How many bytes the texts of all rows have together.
function written.text_bytes(column)
    local levels, bytes = column.levels, 0
    return core.read(column.stored, function(numbers, n)
        for k = 0, n - 1 do
            local level = numbers[k] >= 0 and levels[numbers[k] + 1]
            if level then bytes = bytes + #level end
        end
        return bytes
    end)
end

--- Texts as blocks: the begin of each (i32, or i64 if large), and all bytes. numbers[k] is the level of row k, from
-- 0, or -1.
function written.texts(w, levels, numbers, rows, large)
    local total = 0
    for k = 0, rows - 1 do
        if numbers[k] >= 0 then total = total + #levels[numbers[k] + 1] end
    end
    if not large and total >= 2 ^ 31 then raise(w.name, "texts of 2 GiB and more are too many") end
    local offsets = written.memory(w, (rows + 1) * (large and 8 or 4))
    local data, at = written.memory(w, total), 0
    local out = ffi.cast(large and "int64_t *" or "int32_t *", offsets.data)
    out[0] = 0
    for k = 0, rows - 1 do
        if numbers[k] >= 0 then
            local level = levels[numbers[k] + 1]
            ffi.copy(data.data + at, level, #level)
            at = at + #level
        end
        out[k + 1] = at
    end
    return offsets, data
end

for _, f in ipairs { written.bitmap, written.column } do jit.off(f) end

return written
