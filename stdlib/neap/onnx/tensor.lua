--- tensor.lua: tensors of model files as arrays. Elements stand in the file as bytes, as numbers, or in a file beside.
--
-- The number of bytes that dtype and shape ask for is compared with the bytes present before memory is taken. Bytes are
-- read from the file into the array, without a copy between.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"
local files = require "neap.files"
local proto = require "neap.onnx.proto"

local dtypes, codes, wrong = core.dtypes, core.dtype_codes, proto.wrong
local tensor = {}

-- The format's numbers of dtypes; for dtypes that np does not have the standard's names.
local NAMES = { "f32", "u8", "i8", "u16", "i16", "i32", "i64", nil, "bool", "f16", "f64", "u32", "u64", "c64", "c128",
                "bf16" }
local ABSENT = { [0] = "UNDEFINED", [8] = "STRING", [17] = "FLOAT8E4M3FN", [18] = "FLOAT8E4M3FNUZ",
                 [19] = "FLOAT8E5M2", [20] = "FLOAT8E5M2FNUZ", [21] = "UINT4", [22] = "INT4", [23] = "FLOAT4E2M1",
                 [24] = "FLOAT8E8M0", [25] = "UINT2", [26] = "INT2" }

--- The name of the dtype of a number of the format; nil and the standard's name for dtypes that np does not have.
function tensor.dtype(number)
    number = tonumber(number or 0)
    if NAMES[number] then return NAMES[number] end
    return nil, ABSENT[number] or ("of number %d"):format(number)
end

--- The extents of a tensor, and the number of elements.
local function dims_of(t, what)
    local dims, count = {}, 1
    for k, n in ipairs(t.dims or {}) do
        if type(n) ~= "number" or n < 0 then wrong("%s has a negative or too large extent", what) end
        dims[k], count = n, count * n
    end
    if #dims > core.MAX_DIMS then wrong("%s has %d axes, at most %d are possible", what, #dims, core.MAX_DIMS) end
    if count >= 2 ^ 53 then wrong("%s has more elements than can be", what) end
    return dims, count
end

-- ---- Elements as numbers --------------------------------------------------------------------------------------------

--- The field with the elements of a dtype, and whether as in memory, else as varints.
local function field_of(dtype)
    local name = dtype.name
    if name == "f32" or name == "c64" then return "float_data", true end
    if name == "f64" or name == "c128" then return "double_data", true end
    if name == "i64" then return "int64_data" end
    if name == "u64" or name == "u32" then return "uint64_data" end
    return "int32_data"
end

--- The number of varints in a piece; raises if a varint has no end.
local function varints_in(data, piece)
    local count, at, last = 0, piece.at, piece.at + piece.bytes
    while at < last do
        local _
        _, at = proto.varint(data, at, last)
        count = count + 1
    end
    return count
end

--- Fills `out`, which has room for `count` elements of a dtype, with the varints of pieces.
local function copy_varints(block, pieces, out, dtype)
    local bits = { "uint8_t *", "uint16_t *", [4] = "uint32_t *", [8] = "uint64_t *" }
    out = ffi.cast(bits[dtype.bytes], out)
    local k = 0
    for _, piece in ipairs(pieces) do
        local at, last = piece.at, piece.at + piece.bytes
        while at < last do
            local value
            value, at = proto.varint(block.data, at, last)
            if dtype.bytes < 8 then value = bit.band(value, 0xffffffffULL) end
            if dtype.kind == "b" then value = value ~= 0 and 1 or 0 end
            out[k] = value
            k = k + 1
        end
    end
end

--- A function that fills the array of a tensor whose elements are numbers of a field.
local function from_numbers(block, t, dtype, count, what)
    local field, plain = field_of(dtype)
    local pieces, found = t[field] or {}, 0
    for _, piece in ipairs(pieces) do
        found = found + (plain and piece.bytes / dtype.bytes or varints_in(block.data, piece))
    end
    if found ~= count then wrong("%s has %.14g elements in '%s', its shape needs %.0f", what, found, field, count) end
    if plain then
        return function(out)
            local at = 0
            for _, piece in ipairs(pieces) do
                ffi.copy(out + at, block.data + piece.at, piece.bytes)
                at = at + piece.bytes
            end
        end
    end
    return function(out) copy_varints(block, pieces, out, dtype) end
end

-- ---- Elements as bytes ----------------------------------------------------------------------------------------------

--- A count in the text of an entry of external data.
local function count_in(text, what)
    local n = text and text:match "^%d+$" and tonumber(text)
    if text and (not n or n >= 2 ^ 53) then wrong("%s has external data at %q, which is no count", what, text) end
    return n
end

--- The path of a file of external data, which must be in the model's folder or below.
local function external_path(folder, location, what)
    if not location or location == "" or location:find "^/" or location:find "%z" then
        wrong("%s has external data in no file beside the model: %q", what, location or "")
    end
    for part in location:gmatch "[^/]+" do
        if part == ".." then wrong("%s has external data outside of the model's folder: %q", what, location) end
    end
    return folder .. location
end

--- Opens the file of external data, and keeps the file open in `source.opened` until the model is read.
local function open_external(source, path)
    local file, problem = source.opened[path]
    if not file then
        file, problem = files.open(path)
        if not file then wrong("%s", problem) end
        source.opened[path] = file
    end
    return file
end

--- The file, offset and number of bytes of a tensor's elements.
local function bytes_of(source, t, what)
    if tonumber(t.data_location or 0) ~= 1 then
        local raw = t.raw_data
        return source.file, raw.at, raw.bytes
    end
    local entries = {}
    for _, entry in ipairs(t.external_data or {}) do entries[entry.key or ""] = entry.value end
    local file = open_external(source, external_path(source.folder, entries.location, what))
    local offset = count_in(entries.offset, what) or 0
    return file, offset, count_in(entries.length, what) or file.size - offset
end

--- A function that fills the array of a tensor whose elements are bytes, little-endian.
local function from_bytes(source, t, dtype, count, what)
    local file, at, bytes = bytes_of(source, t, what)
    if bytes ~= count * dtype.bytes then
        wrong("%s has %.0f bytes, its shape and dtype %s need %.0f", what, bytes, dtype.name, count * dtype.bytes)
    end
    if at + bytes > file.size or at < 0 then wrong("%s lies behind the end of its file", what) end
    return function(out)
        local good, problem = file.read(out, bytes, at)
        if good and dtype.kind == "b" then
            for k = 0, bytes - 1 do out[k] = out[k] ~= 0 and 1 or 0 end
        end
        return good, problem
    end
end

--- The array of a tensor of an open model: source = { block, file, folder, opened }.
function tensor.array(source, t)
    local what = t.name and t.name ~= "" and ("the tensor '%s' in it"):format(t.name) or "a tensor in it"
    local name, absent = tensor.dtype(t.data_type)
    if not name then wrong("%s has the dtype %s, which np does not have", what, absent) end
    if t.segment then wrong("%s comes in segments, which nobody writes", what) end
    local dims, count = dims_of(t, what)
    local dtype, fill = dtypes[codes[name]]
    if tonumber(t.data_location or 0) == 1 or t.raw_data then
        fill = from_bytes(source, t, dtype, count, what)
    else
        fill = from_numbers(source.block, t, dtype, count, what)
    end
    local good, problem
    local x = core.fill(dtype.code, dims, function(out) good, problem = fill(out) end, "uint8_t *", "io.load_onnx")
    if good == nil and problem then wrong("%s", problem) end
    return x
end

jit.off(tensor.array, true)

return tensor
