--- proto.lua: messages in protobuf's wire format, in memory, as tables: proto.read(block, "Model").
--
-- A message is a row of fields: a varint with the field's number and way of storing, then a varint, 4 or 8 bytes, or a
-- length and as many bytes. The fields of a message stand in the table below; other fields are skipped. Every length is
-- compared with the bytes left before anything is read. Errors are raised as { problem = text }, for load_onnx.
--
-- Numbers of tensors may be millions, and are not copied: such a field is a list of pieces { at, bytes }.
local ffi = require "ffi"
local bit = require "bit"

local proto = {}

local MOST_DEPTH = 100 -- of messages in messages, as the format's own library has it

-- name = { number, kind, list = true }. Kinds: "int", "float", "text"; "bytes" and "pieces" stay in the file; else a
-- message's name.
local messages = {
    Model = { opset_import = { 8, "OperatorSet", list = true }, graph = { 7, "Graph" },
              functions = { 25, "Function", list = true }, ir_version = { 1, "int" } },
    OperatorSet = { domain = { 1, "text" }, version = { 2, "int" } },
    Graph = { node = { 1, "Node", list = true }, initializer = { 5, "Tensor", list = true },
              input = { 11, "Value", list = true }, output = { 12, "Value", list = true }, name = { 2, "text" },
              sparse_initializer = { 15, "Sparse", list = true } },
    Function = { name = { 1, "text" }, input = { 4, "text", list = true }, output = { 5, "text", list = true },
                 attribute = { 6, "text", list = true }, attribute_proto = { 11, "Attribute", list = true },
                 node = { 7, "Node", list = true }, opset_import = { 9, "OperatorSet", list = true },
                 domain = { 10, "text" }, overload = { 13, "text" } },
    Node = { input = { 1, "text", list = true }, output = { 2, "text", list = true }, name = { 3, "text" },
             op_type = { 4, "text" }, attribute = { 5, "Attribute", list = true }, domain = { 7, "text" },
             overload = { 8, "text" } },
    Attribute = { name = { 1, "text" }, f = { 2, "float" }, i = { 3, "int" }, s = { 4, "text" }, t = { 5, "Tensor" },
                  g = { 6, "Graph" }, floats = { 7, "float", list = true }, ints = { 8, "int", list = true },
                  strings = { 9, "text", list = true }, kind = { 20, "int" }, ref_attr_name = { 21, "text" } },
    Tensor = { dims = { 1, "int", list = true }, data_type = { 2, "int" }, segment = { 3, "Sparse" },
               float_data = { 4, "pieces" }, int32_data = { 5, "pieces" }, int64_data = { 7, "pieces" },
               name = { 8, "text" }, raw_data = { 9, "bytes" }, double_data = { 10, "pieces" },
               uint64_data = { 11, "pieces" }, external_data = { 13, "Entry", list = true },
               data_location = { 14, "int" } },
    Entry = { key = { 1, "text" }, value = { 2, "text" } },
    Sparse = {},
    Value = { name = { 1, "text" }, type = { 2, "Type" } },
    Type = { tensor = { 1, "TensorType" }, sequence = { 4, "Sparse" }, map = { 5, "Sparse" },
             sparse = { 8, "Sparse" }, optional = { 9, "Sparse" } },
    TensorType = { elem_type = { 1, "int" }, shape = { 2, "Shape" } },
    Shape = { dim = { 1, "Dim", list = true } },
    Dim = { value = { 1, "int" }, param = { 2, "text" } },
}

local by_number = {}
for message, fields in pairs(messages) do
    by_number[message] = {}
    for name, field in pairs(fields) do
        by_number[message][field[1]] = { name = name, kind = field[2], list = field.list }
    end
end

--- Raises an error of a file; caught where a public function began.
function proto.wrong(format, ...)
    error({ problem = select("#", ...) > 0 and format:format(...) or format }, 0)
end
local wrong = proto.wrong

-- ---- Numbers --------------------------------------------------------------------------------------------------------

--- The varint at `at`, as an integer of 64 bits without sign, and the place behind.
function proto.varint(data, at, last)
    local value, shift = 0ULL, 0
    repeat
        if at >= last or shift > 63 then wrong(at >= last and "it is truncated" or "a number in it has no end") end
        local byte = data[at]
        value = bit.bor(value, bit.lshift(bit.band(byte + 0ULL, 127ULL), shift))
        at, shift = at + 1, shift + 7
    until byte < 128
    return value, at
end
local varint = proto.varint

local EXACT = 2 ^ 53

--- An integer of 64 bits with sign, as a number if a number has all digits.
local function integer(value)
    local signed = ffi.cast("int64_t", value)
    if signed <= EXACT and signed >= -EXACT then return tonumber(signed) end
    return signed
end

local word = ffi.new("union { uint8_t bytes[4]; uint32_t bits; float value; }")

--- The float in 4 bytes. LuaJIT keeps types in the bits of NaNs, so any NaN becomes the usual NaN.
local function float_at(data, at)
    ffi.copy(word.bytes, data + at, 4)
    if bit.band(word.bits, 0x7fffffff) > 0x7f800000 then return 0 / 0 end
    return tonumber(word.value)
end

-- ---- Messages -------------------------------------------------------------------------------------------------------

local read

local function add(message, field, value)
    if not field.list then
        message[field.name] = value
        return
    end
    local list = message[field.name]
    if not list then
        list = {}
        message[field.name] = list
    end
    list[#list + 1] = value
end

--- Many numbers in a field.
local function add_packed(block, message, field, at, last)
    while at < last do
        local value
        if field.kind == "float" then
            if last - at < 4 then wrong "a list of numbers in it is truncated" end
            value, at = float_at(block.data, at), at + 4
        else
            value, at = varint(block.data, at, last)
            value = integer(value)
        end
        add(message, field, value)
    end
end

--- A field of `bytes` bytes with a length before it.
local function add_bytes(block, message, field, at, bytes, depth)
    local kind = field.kind
    if kind == "text" then
        add(message, field, ffi.string(block.data + at, bytes))
    elseif kind == "bytes" then
        message[field.name] = { at = at, bytes = bytes }
    elseif kind == "pieces" then
        local list = message[field.name] or {}
        list[#list + 1] = { at = at, bytes = bytes }
        message[field.name] = list
    elseif kind == "int" or kind == "float" then
        if not field.list then wrong("the field '%s' in it is stored as no number", field.name) end
        add_packed(block, message, field, at, at + bytes)
    else
        add(message, field, read(block, kind, at, at + bytes, depth + 1))
    end
end

--- A field with a number, from `from` to `to`.
local function add_number(block, message, field, wire, from, to)
    local kind = field.kind
    if kind == "pieces" then
        local list = message[field.name] or {}
        list[#list + 1] = { at = from, bytes = to - from }
        message[field.name] = list
    elseif kind == "int" and wire == 0 then
        add(message, field, integer((varint(block.data, from, to))))
    elseif kind == "float" and wire == 5 then
        add(message, field, float_at(block.data, from))
    else
        wrong("the field '%s' in it is stored as a number of another kind", field.name)
    end
end

--- The end of a number that is stored in way `wire`.
local function end_of_number(data, wire, at, last)
    if wire == 0 then return (select(2, varint(data, at, last))) end
    local bytes = wire == 1 and 8 or wire == 5 and 4 or nil
    if not bytes then wrong("it is no ONNX model, or damaged: it has a field of kind %d", wire) end
    if last - at < bytes then wrong "it is truncated" end
    return at + bytes
end

function read(block, name, at, last, depth)
    if depth > MOST_DEPTH then wrong("messages in it are nested more than %d deep", MOST_DEPTH) end
    local data, fields, message = block.data, by_number[name], {}
    while at < last do
        local tag, length
        tag, at = varint(data, at, last)
        if tag < 8 or tag >= 2 ^ 32 then wrong "it is no ONNX model, or damaged: it has a field of no number" end
        local number, wire = tonumber(bit.rshift(tag, 3)), tonumber(bit.band(tag, 7))
        local field = fields[number]
        if wire == 2 then
            length, at = varint(data, at, last)
            if length > last - at then wrong "it is truncated: a field is longer than what is left of it" end
            length = tonumber(length)
            if field then add_bytes(block, message, field, at, length, depth) end
            at = at + length
        else
            local to = end_of_number(data, wire, at, last)
            if field then add_number(block, message, field, wire, at, to) end
            at = to
        end
    end
    return message
end

--- The message of a kind in a block { data, size }: a table of fields; lists that are not empty are tables.
function proto.read(block, name)
    return read(block, name, 0, block.size, 1)
end

return proto
