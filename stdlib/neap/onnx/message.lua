--- message.lua: the messages of a file of ONNX, written: texts in protobuf's wire format (proto.lua reads them).
local ffi = require "ffi"
local core = require "neap.core"

local message = {}

--- The format's numbers of dtypes, by name.
message.CODES = { f32 = 1, u8 = 2, i8 = 3, u16 = 4, i16 = 5, i32 = 6, i64 = 7, bool = 9, f16 = 10, f64 = 11, u32 = 12,
                  u64 = 13, bf16 = 16 }

local INT, TEXT, GRAPH, INTS = 2, 3, 5, 7 -- kinds of attributes

local function varint(value)
    local bytes = {}
    local rest = ffi.cast("uint64_t", ffi.cast("int64_t", value))
    repeat
        local low = tonumber(rest % 128)
        rest = rest / 128
        bytes[#bytes + 1] = string.char(rest > 0 and low + 128 or low)
    until rest == 0
    return table.concat(bytes)
end

--- A field of a number.
local function int(number, value) return varint(number * 8) .. varint(value) end

--- A field of a text or of a message.
local function text(number, value) return varint(number * 8 + 2) .. varint(#value) .. value end

--- A tensor with the elements of an array.
function message.tensor(name, x)
    local parts = {}
    for k, n in ipairs(x.shape) do parts[k] = int(1, n) end
    local data = core.read(x, function(data, _) return ffi.string(data, x.size * core.dtype_of(x).bytes) end)
    return table.concat(parts) .. int(2, message.CODES[x.dtype]) .. text(8, name) .. text(9, data)
end

--- The declaration of an input or output.
function message.value_info(name, dtype, shape)
    local dims = {}
    for k, n in ipairs(shape) do dims[k] = text(1, int(1, n)) end
    return text(1, name) .. text(2, text(1, int(1, message.CODES[dtype]) .. text(2, table.concat(dims))))
end

local function attribute(name, value)
    local kind = type(value)
    if kind == "number" then return text(1, name) .. int(3, value) .. int(20, INT) end
    if kind == "string" then return text(1, name) .. text(4, value) .. int(20, TEXT) end
    if value.graph then return text(1, name) .. text(6, value.graph) .. int(20, GRAPH) end
    local list = {}
    for k, n in ipairs(value) do list[k] = int(8, n) end
    return text(1, name) .. table.concat(list) .. int(20, INTS)
end

--- A node. attributes: by name, a number, a text, a list of integers or { graph = message }.
function message.node(op, inputs, outputs, attributes)
    local parts, names = {}, {}
    for _, name in ipairs(inputs) do parts[#parts + 1] = text(1, name) end
    for _, name in ipairs(outputs) do parts[#parts + 1] = text(2, name) end
    parts[#parts + 1] = text(4, op)
    for name in pairs(attributes or {}) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do parts[#parts + 1] = text(5, attribute(name, attributes[name])) end
    return table.concat(parts)
end

--- A graph of lists of messages.
function message.graph(name, nodes, initializers, inputs, outputs)
    local parts = {}
    local function add(number, list)
        for _, part in ipairs(list) do parts[#parts + 1] = text(number, part) end
    end
    add(1, nodes)
    parts[#parts + 1] = text(2, name)
    add(5, initializers)
    add(11, inputs)
    add(12, outputs)
    return table.concat(parts)
end

--- A model, as pieces of a file.
function message.model(ir, opset, graph)
    return { int(1, ir) .. text(2, "neap") .. text(8, int(2, opset)) .. text(7, graph) }
end

return message
