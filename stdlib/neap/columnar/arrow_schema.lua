--- arrow_schema.lua: the types of Arrow's columns, read from a schema (Schema.fbs of the Arrow columnar format): the
-- kind of column of each, or a name for the error of refusal, and the number of buffers, behind which others are found.
local core = require "neap.core"

local dtypes, codes = core.dtypes, core.dtype_codes
local arrow_schema = {}

local MOST_FIELDS, MOST_DEPTH = 1e5, 64
local UNITS = { [0] = "s", "ms", "us", "ns" }

local function numeric(name)
    local dtype = dtypes[codes[name]]
    return { kind = "number", dtype = dtype, buffers = 2, name = name }
end

local function integer(t)
    local width, signed = t:number(0, "i32", 0), t:number(1, "u8", 0) ~= 0
    local name = (signed and "i" or "u") .. width
    if width ~= 8 and width ~= 16 and width ~= 32 and width ~= 64 then return { name = "int" .. width, buffers = 2 } end
    return numeric(name)
end

local FLOATS = { [0] = "f16", "f32", "f64" }

-- By the number of a type: f(table of the type) → { kind, name, buffers, … }; without `kind` the type is refused. Names
-- are pyarrow's. `views`: further buffers, whose number each batch says.
local TYPES = {
    [1] = function() return { kind = "null", name = "null", buffers = 0 } end,
    [2] = integer,
    [3] = function(t)
        local name = FLOATS[t:number(0, "i16", 0)]
        return name and numeric(name) or { name = "an unknown float", buffers = 2 }
    end,
    [4] = function() return { kind = "text", offset = "i32", name = "binary", buffers = 3 } end,
    [5] = function() return { kind = "text", offset = "i32", name = "string", buffers = 3 } end,
    [6] = function() return { kind = "bool", name = "bool", buffers = 2 } end,
    [7] = function(t)
        return { name = ("decimal%d(%d, %d)"):format(t:number(2, "i32", 128), t:number(0, "i32", 0),
                                                     t:number(1, "i32", 0)), buffers = 2 }
    end,
    [8] = function(t)
        local days = t:number(0, "i16", 1) == 0
        return { kind = "date", unit = days and "D" or "ms", dtype = dtypes[codes[days and "i32" or "i64"]],
                 name = days and "date32[day]" or "date64[ms]", buffers = 2 }
    end,
    [9] = function(t)
        return { name = ("time%d[%s]"):format(t:number(1, "i32", 32), UNITS[t:number(0, "i16", 1)] or "?"),
                 buffers = 2 }
    end,
    [10] = function(t)
        local unit = UNITS[t:number(0, "i16", 0)]
        return { kind = unit and "date", unit = unit, dtype = dtypes[codes.i64],
                 name = ("timestamp[%s]"):format(unit or "?"), buffers = 2 }
    end,
    [11] = function() return { name = "interval", buffers = 2 } end,
    [12] = function() return { name = "list", buffers = 2 } end,
    [13] = function() return { name = "struct", buffers = 1 } end,
    [14] = function(t)
        local dense = t:number(0, "i16", 0) ~= 0
        return { name = dense and "dense_union" or "sparse_union", buffers = dense and 2 or 1 }
    end,
    [15] = function(t) return { name = ("fixed_size_binary[%d]"):format(t:number(0, "i32", 0)), buffers = 2 } end,
    [16] = function(t) return { name = ("fixed_size_list[%d]"):format(t:number(0, "i32", 0)), buffers = 1 } end,
    [17] = function() return { name = "map", buffers = 2 } end,
    [18] = function(t) return { name = ("duration[%s]"):format(UNITS[t:number(0, "i16", 1)] or "?"), buffers = 2 } end,
    [19] = function() return { kind = "text", offset = "i64", name = "large_binary", buffers = 3 } end,
    [20] = function() return { kind = "text", offset = "i64", name = "large_string", buffers = 3 } end,
    [21] = function() return { name = "large_list", buffers = 2 } end,
    [22] = function() return { name = "run_end_encoded", buffers = 0 } end,
    [23] = function() return { kind = "view", name = "binary_view", buffers = 2, views = true } end,
    [24] = function() return { kind = "view", name = "string_view", buffers = 2, views = true } end,
    [25] = function() return { name = "list_view", buffers = 3 } end,
    [26] = function() return { name = "large_list_view", buffers = 3 } end,
}

--- A field of a schema: a row of TYPES with column = the name, children, and for a dictionary its number, ordered,
-- dtype = of indices, value = the field of the dictionary.
local function field_of(s, t, budget, depth)
    budget.left = budget.left - 1
    if budget.left < 0 or depth > MOST_DEPTH then s:fail("its schema is too large") end
    local make, details = TYPES[t:number(2, "u8", 0)], t:table(3)
    if not make or not details then s:fail("its schema has a type that is not known") end
    local field = make(details)
    field.children = {}
    for k, child in ipairs(t:tables(5)) do field.children[k] = field_of(s, child, budget, depth + 1) end
    local encoding = t:table(4)
    if encoding then
        local index = encoding:table(1)
        index = index and integer(index) or numeric "i32"
        if not index.dtype then s:fail("its schema has a type that is not known") end
        field = { kind = "dictionary", dictionary = tostring(encoding:number(0, "i64", 0)), value = field,
                  ordered = encoding:number(2, "u8", 0) ~= 0, dtype = index.dtype, buffers = 2, children = {},
                  name = ("dictionary of %s"):format(field.name) }
        if not field.value.kind or field.value.kind == "dictionary" then field.kind = nil end
    end
    field.column = t:string(0) or ""
    return field
end

--- The fields of a schema, a table of flatbuffers.lua, the columns; and the values of dictionaries by
-- number.
function arrow_schema.read(s, t)
    if not t then s:fail("it has no schema") end
    if t:number(0, "i16", 0) ~= 0 then s:fail("its numbers are big-endian") end
    local fields, budget, values = {}, { left = MOST_FIELDS }, {}
    for k, field in ipairs(t:tables(1)) do fields[k] = field_of(s, field, budget, 0) end
    local function note(list)
        for _, field in ipairs(list) do
            if field.dictionary then values[field.dictionary] = field.value end
            note(field.children)
            if field.value then note(field.value.children) end
        end
    end
    note(fields)
    return fields, values
end

return arrow_schema
