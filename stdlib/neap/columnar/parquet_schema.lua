--- parquet_schema.lua: the columns of a Parquet file (https://github.com/apache/parquet-format, parquet.thrift): the
-- kind of column of each leaf of the schema, or a name for the error of refusal.
--
-- A leaf has { column = the name, physical = the number of the type, kind = "number", "bool", "date", "decimal", "text"
-- or "null"; nil: refused; width = bytes of an element here, dtype = of elements here, optional = values may be
-- missing }.
local core = require "neap.core"

local dtypes, codes = core.dtypes, core.dtype_codes
local parquet_schema = {}

local BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTES, FIXED = 0, 1, 2, 3, 4, 5, 6, 7
parquet_schema.BOOLEAN, parquet_schema.INT32, parquet_schema.INT64, parquet_schema.INT96 = BOOLEAN, INT32, INT64, INT96
parquet_schema.FLOAT, parquet_schema.DOUBLE, parquet_schema.BYTES, parquet_schema.FIXED = FLOAT, DOUBLE, BYTES, FIXED

local OPTIONAL, REPEATED = 1, 2
local UNITS = { "ms", "us", "ns" } -- by the field of the union of units
local MOST_ELEMENTS, MOST_DEPTH = 1e5, 64

-- The meaning of older names of types, by number.
local CONVERTED = {
    [5] = "decimal", [6] = { date = "D" }, [7] = "time", [8] = "time", [9] = { date = "ms" }, [10] = { date = "us" },
    [11] = { bits = 8 }, [12] = { bits = 16 }, [13] = { bits = 32 }, [14] = { bits = 64 },
    [15] = { bits = 8, signed = true }, [16] = { bits = 16, signed = true }, [17] = { bits = 32, signed = true },
    [18] = { bits = 64, signed = true }, [21] = "interval",
}

--- The meaning of an element: { date = unit }, { bits, signed }, "decimal", "time", "null", "f16", …; nil: the physical
-- type says all.
local function meaning_of(element)
    local logical = element[10] or {}
    if logical[5] then return "decimal" end
    if logical[6] then return { date = "D" } end
    if logical[7] then return "time" end
    if logical[8] then
        for k, unit in ipairs(UNITS) do
            if logical[8][2] and logical[8][2][k] then return { date = unit } end
        end
    end
    if logical[10] then return { bits = logical[10][1], signed = logical[10][2] == true } end
    if logical[11] then return "null" end
    if logical[14] then return "uuid" end
    if logical[15] then return "f16" end
    return CONVERTED[element[6]]
end

local function decimal_of(leaf, element)
    local precision, scale = element[8] or 0, element[7] or 0
    leaf.kind, leaf.scale = "decimal", scale
    if scale < 0 or scale > 76 then leaf.kind = nil end
    leaf.name = ("decimal(%d, %d)"):format(precision, scale)
    return leaf
end

local PHYSICAL = {
    [BOOLEAN] = { kind = "bool", width = 1, stored = "u8" }, [INT32] = { kind = "number", width = 4, stored = "i32" },
    [INT64] = { kind = "number", width = 8, stored = "i64" }, [FLOAT] = { kind = "number", width = 4, stored = "f32" },
    [DOUBLE] = { kind = "number", width = 8, stored = "f64" }, [BYTES] = { kind = "text", width = 4, stored = "i32" },
    [INT96] = { kind = "date", unit = "us", width = 8, stored = "i64" }, [FIXED] = { width = 8, stored = "f64" },
}

--- The leaf of an element without children.
local function leaf_of(s, element)
    local physical, meaning = element[1], meaning_of(element)
    local facts = PHYSICAL[physical]
    if not facts then s:fail("its schema has a type that is not known") end
    local leaf = { column = element[4], physical = physical, kind = facts.kind, width = facts.width, unit = facts.unit,
                   stored = dtypes[codes[facts.stored]], optional = element[3] == OPTIONAL, bytes = element[2] }
    leaf.dtype = leaf.stored
    local whole = physical == INT32 or physical == INT64
    if physical == FIXED then
        leaf.name = ("fixed_len_byte_array(%d)"):format(leaf.bytes or 0)
        if not leaf.bytes or leaf.bytes < 1 or leaf.bytes >= 2 ^ 31 then s:fail("its metadata is damaged") end
    end
    if meaning == "null" then
        leaf.kind = "null"
    elseif meaning == "decimal" then
        decimal_of(leaf, element)
        if physical == BYTES then leaf.width, leaf.stored = 8, dtypes[codes.f64] end
    elseif meaning == "f16" and physical == FIXED and leaf.bytes == 2 then
        leaf.kind, leaf.width, leaf.stored = "number", 2, dtypes[codes.f16]
        leaf.dtype = leaf.stored
    elseif type(meaning) == "string" then
        leaf.kind, leaf.name = nil, meaning
    elseif whole and meaning and meaning.date then
        leaf.kind, leaf.unit = "date", meaning.date
    elseif whole and meaning and meaning.bits then
        local name = (meaning.signed and "i" or "u") .. meaning.bits
        leaf.dtype = codes[name] and dtypes[codes[name]] or s:fail("its schema has a type that is not known")
        if leaf.dtype.bytes == leaf.width then leaf.stored = leaf.dtype end
    end
    return leaf
end

--- The columns of a schema, a list of elements, depth first: leaves, and for an element with children { column,
-- leaves = how many, name = of the type }.
function parquet_schema.read(s, elements)
    if not elements or #elements < 1 or #elements > MOST_ELEMENTS then s:fail("its schema is damaged") end
    local at = 1
    local function next_element()
        at = at + 1
        local element = elements[at]
        if not element or not element[4] then s:fail("its schema is damaged") end
        return element, element[5] or 0
    end
    local function leaves_below(children, depth)
        if depth > MOST_DEPTH then s:fail("its schema is damaged") end
        local leaves = 0
        for _ = 1, children do
            local _, n = next_element()
            leaves = leaves + (n > 0 and leaves_below(n, depth + 1) or 1)
        end
        return leaves
    end
    local columns = {}
    for k = 1, elements[1][5] or 0 do
        local element, n = next_element()
        local kind = element[6] == 3 and "list" or (element[6] == 1 or element[6] == 2) and "map" or "struct"
        if n > 0 then
            columns[k] = { column = element[4], name = kind, leaves = leaves_below(n, 1) }
        elseif element[3] == REPEATED then
            columns[k] = { column = element[4], name = "list", leaves = 1 }
        else
            columns[k] = leaf_of(s, element)
            columns[k].leaves = 1
        end
    end
    return columns
end

return parquet_schema
