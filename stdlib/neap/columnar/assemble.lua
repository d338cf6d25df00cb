--- assemble.lua: columns of tables from elements and from flags of rows with a value.
--
-- Floats without a value are NaN, texts and dates missing; integers and bools have no such element and become f64, as
-- in CSV and in pandas, unless the user gives a number in their place.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"
local calendar = require "neap.tables.calendar"
local dates = require "neap.tables.dates"
local text = require "neap.tables.text"
local bits = require "neap.columnar.bits"

local np, codes = core.np, core.dtype_codes
local assemble = {}

--- An array of bool of n rows in parts { rows, valid }: the rows with a value; nil: all rows. `valid` is a bitmap, or
-- nil for a part without holes.
function assemble.mask(name, n, parts)
    local holes = false
    for _, part in ipairs(parts) do holes = holes or part.valid ~= nil end
    if not holes then return nil end
    return core.fill(codes.bool, { n }, function(out)
        for _, part in ipairs(parts) do
            if part.valid then
                bits.expand(part.valid, 0, part.rows, out)
            else
                ffi.fill(out, part.rows, 1)
            end
            out = out + part.rows
        end
    end, "uint8_t *", name)
end

--- A column of numbers or bools. mask: the rows with a value; nil: all. fill: the value of the others, or nil.
function assemble.numbers(x, mask, fill)
    if not mask then return x end
    if fill ~= nil then
        if type(fill) == "boolean" and x.dtype ~= "bool" then fill = fill and 1 or 0 end
        if type(fill) == "number" and x.dtype == "bool" then fill = fill ~= 0 end
        return np.where(mask, x, np.array(fill, { dtype = x.dtype }))
    end
    if core.dtype_of(x).kind == "f" then return np.where(mask, x, core.NAN) end
    return np.where(mask, x:astype "f64", core.NAN)
end

--- A column of n rows without values.
function assemble.nothing(n, fill)
    return np.full({ n }, fill ~= nil and tonumber(fill) or core.NAN, { dtype = "f64" })
end

--- A column of dates of integers of a unit ("D", "s", "ms", "us", "ns") since 1970, of column `key` of a source. Parts
-- of a microsecond are cut off.
function assemble.dates(s, key, x, mask, unit)
    x = x:astype "i64"
    if mask then x = np.where(mask, x, 0) end
    if unit == "ns" then
        x = np.floor_divide(x, 1000)
    elseif unit ~= "us" then
        local length = calendar.LENGTHS[unit]
        local first, last = -719162 * calendar.DAY / length, 2932897 * calendar.DAY / length -- 0001-01-01, 10000-01-01
        if #x > 0 and np.any(np.logical_or(np.less(x, first), np.greater_equal(x, last))):item() then
            s:fail("column '%s' has a date that is not in the years 1 to 9999", key)
        end
        x = x * length
    end
    if mask then x = np.where(mask, x, dates.NONE) end
    return dates.checked(s.name, x)
end

-- ---- Texts ----------------------------------------------------------------------------------------------------------

--- The different texts of a column, numbered as they come.
function assemble.levels() return { list = {}, known = {}, n = 0 } end

--- The number of a text.
local function code_of(levels, value)
    local code = levels.known[value]
    if code then return code end
    code = levels.n
    levels.n = code + 1
    levels.known[value], levels.list[code + 1] = code, value
    return code
end
assemble.code_of = code_of

--- Puts the numbers of `rows` texts into `out`, -1 for none. offsets[k] … offsets[k + 1] is text k in
-- memory; both were checked. valid: a bitmap, or nil.
function assemble.number_texts(levels, data, offsets, rows, valid, out)
    for k = 0, rows - 1 do
        if valid and bit.band(bit.rshift(valid[bit.rshift(k, 3)], bit.band(k, 7)), 1) == 0 then
            out[k] = -1
        else
            local from = tonumber(offsets[k])
            out[k] = code_of(levels, ffi.string(data + from, tonumber(offsets[k + 1]) - from))
        end
    end
end

--- A column of texts of levels and an i32 array of their numbers. own: the levels stay in their order.
function assemble.texts(levels, numbers, own)
    if own then return text.new(levels.list, numbers, true) end
    return text.sorted(levels.list, numbers)
end

for _, f in ipairs { assemble.mask, assemble.numbers, assemble.dates } do jit.off(f) end

return assemble
