--- save.lua: a program as an ONNX file: save.bytes(program, initializers) → pieces of a file.
--
-- A program is read in the printed form (docs/programs.md), one node a line:
--
--     c: f32[2,4] = add[…] a 1
--
-- Each op has a row that writes nodes of the standard's operators with the same value; a program with another op is
-- refused. Numbers become tensors of the dtype of the array beside.
local ffi = require "ffi"
local core = require "neap.core"
local proto = require "neap.onnx.proto"

local np, wrong = core.np, proto.wrong
local save = {}

local OPSET, IR = 20, 9
local CODES = { f32 = 1, u8 = 2, i8 = 3, u16 = 4, i16 = 5, i32 = 6, i64 = 7, bool = 9, f16 = 10, f64 = 11, u32 = 12,
                u64 = 13, bf16 = 16 }
local MOST_LINES = 10000000

-- ---- Messages -------------------------------------------------------------------------------------------------------

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

local function int(number, value) return varint(number * 8) .. varint(value) end
local function text(number, value) return varint(number * 8 + 2) .. varint(#value) .. value end

--- A tensor message. data: the elements as bytes.
local function tensor(name, dtype, shape, data)
    local parts = {}
    for k, n in ipairs(shape) do parts[k] = int(1, n) end
    return table.concat(parts) .. int(2, CODES[dtype]) .. text(8, name) .. text(9, data)
end

local function bytes_of(x)
    return core.read(x, function(data, _) return ffi.string(data, x.size * core.dtype_of(x).bytes) end)
end

--- The declaration of an input or output.
local function value_info(name, dtype, shape)
    local dims = {}
    for k, n in ipairs(shape) do dims[k] = text(1, int(1, n)) end
    return text(1, name) .. text(2, text(1, int(1, CODES[dtype]) .. text(2, table.concat(dims))))
end

-- ---- The writer -----------------------------------------------------------------------------------------------------

local writer = {}
local meta = { __index = writer }

--- Adds a constant: an array. Returns the name.
function writer:constant(x)
    local name = "_constant" .. #self.initializers
    table.insert(self.initializers, text(5, tensor(name, x.dtype, x.shape, bytes_of(x))))
    return name
end

function writer:integers(...)
    return self:constant(np.array({ ... }, { dtype = "i64" }))
end

--- Adds a node; attributes: integers and lists of integers by name. Returns the name of the output.
function writer:node(op, inputs, attributes, output)
    output = output or "_t" .. #self.nodes
    local parts = {}
    for _, name in ipairs(inputs) do parts[#parts + 1] = text(1, name) end
    parts[#parts + 1] = text(2, output) .. text(4, op)
    for name, value in pairs(attributes or {}) do
        local list = ""
        for _, n in ipairs(type(value) == "table" and value or {}) do list = list .. int(8, n) end
        parts[#parts + 1] = text(5, text(1, name) .. (type(value) == "table" and list .. int(20, 7)
                                                      or int(3, value) .. int(20, 2)))
    end
    table.insert(self.nodes, text(1, table.concat(parts)))
    return output
end

--- An operand as a name: a number becomes a constant of the dtype of the arrays beside.
function writer:operand(line, k)
    local word = line.operands[k]
    if self.known[word] then return word end
    local dtype = line.dtype
    for _, other in ipairs(line.operands) do
        if self.known[other] and not (line.op == "where" and other == line.operands[1]) then
            dtype = self.known[other].dtype
        end
    end
    local value = tonumber(word) or word == "inf" and math.huge or word == "-inf" and -math.huge
                  or word == "nan" and np.nan
    if not value then wrong("the line '%s' has an operand '%s' that the format has no place for", line.text, word) end
    return self:constant(np.array(value, { dtype = dtype }))
end

-- ---- Rows -----------------------------------------------------------------------------------------------------------

local rows = {}

local function list_of(words)
    local list = {}
    for n in (words or ""):gmatch "[^,]+" do list[#list + 1] = tonumber(n) end
    return list
end

--- An op that is an operator of the same operands.
local function same(op)
    return function(w, line, output)
        local inputs = {}
        for k = 1, #line.operands do inputs[k] = w:operand(line, k) end
        w:node(op, inputs, nil, output)
    end
end

for name, op in pairs {
    add = "Add", subtract = "Sub", multiply = "Mul", pow = "Pow", maximum = "Max", minimum = "Min", where = "Where",
    equal = "Equal", less = "Less", less_equal = "LessOrEqual", greater = "Greater", greater_equal = "GreaterOrEqual",
    logical_and = "And", logical_or = "Or", logical_xor = "Xor", logical_not = "Not", negative = "Neg", abs = "Abs",
    exp = "Exp", log = "Log", sin = "Sin", cos = "Cos", tan = "Tan", asin = "Asin", acos = "Acos", atan = "Atan",
    sinh = "Sinh", cosh = "Cosh", tanh = "Tanh", asinh = "Asinh", acosh = "Acosh", atanh = "Atanh",
    sigmoid = "Sigmoid", sqrt = "Sqrt", erf = "Erf", floor = "Floor", ceil = "Ceil", round = "Round", sign = "Sign",
    reciprocal = "Reciprocal", isnan = "IsNaN", isinf = "IsInf", copy = "Identity", alias = "Identity",
    stop_gradient = "Identity", matmul2 = "MatMul",
} do rows[name] = same(op) end

function rows.divide(w, line, output)
    if not line.dtype:find "^b?f" then wrong("'%s' divides integers in another way than the format", line.text) end
    same "Div"(w, line, output)
end

function rows.not_equal(w, line, output)
    w:node("Not", { w:node("Equal", { w:operand(line, 1), w:operand(line, 2) }) }, nil, output)
end

function rows.square(w, line, output)
    local x = w:operand(line, 1)
    w:node("Mul", { x, x }, nil, output)
end

function rows.rsqrt(w, line, output)
    w:node("Reciprocal", { w:node("Sqrt", { w:operand(line, 1) }) }, nil, output)
end

function rows.cumsum(w, line, output)
    local axis = w:constant(np.array(tonumber(line.attrs.axis), { dtype = "i64" }))
    w:node("CumSum", { w:operand(line, 1), axis }, { reverse = tonumber(line.attrs.reverse) }, output)
end

function rows.captured(_, line)
    wrong("it captures an array, %s[%s]: make it an argument, and give its value in `initializers`", line.dtype,
          table.concat(line.shape, ","))
end

function rows.clip(w, line, output)
    w:node("Min", { w:node("Max", { w:operand(line, 1), w:operand(line, 2) }), w:operand(line, 3) }, nil, output)
end

function rows.astype(w, line, output)
    w:node("Cast", { w:operand(line, 1) }, { to = CODES[line.dtype] }, output)
end

function rows.iota(w, line, output)
    w:node("Identity", { w:constant(np.arange(list_of(line.attrs.n)[1], { dtype = line.dtype })) }, nil, output)
end

function rows.broadcast_to(w, line, output)
    w:node("Expand", { w:operand(line, 1), w:integers(unpack(line.shape)) }, nil, output)
end

function rows.reshape(w, line, output)
    w:node("Reshape", { w:operand(line, 1), w:integers(unpack(line.shape)) }, { allowzero = 1 }, output)
end

function rows.transpose(w, line, output)
    w:node("Transpose", { w:operand(line, 1) }, { perm = list_of(line.attrs.axes) }, output)
end

function rows.slice(w, line, output)
    local starts, steps, counts = list_of(line.attrs.start), list_of(line.attrs.step), list_of(line.attrs.count)
    local ends, axes = {}, {}
    for k, from in ipairs(starts) do
        local to = from + steps[k] * counts[k]
        ends[k], axes[k] = steps[k] < 0 and to < 0 and -2 ^ 31 or to, k - 1
        if counts[k] == 0 then ends[k] = from end
    end
    w:node("Slice", { w:operand(line, 1), w:integers(unpack(starts)), w:integers(unpack(ends)),
                      w:integers(unpack(axes)), w:integers(unpack(steps)) }, nil, output)
end

function rows.concatenate(w, line, output)
    local inputs = {}
    for k = 1, #line.operands do inputs[k] = w:operand(line, k) end
    w:node("Concat", inputs, { axis = tonumber(line.attrs.axis) }, output)
end

function rows.pad(w, line, output)
    local pads = list_of(line.attrs.low)
    for _, n in ipairs(list_of(line.attrs.high)) do pads[#pads + 1] = n end
    for _, n in ipairs(list_of(line.attrs.interior)) do
        if n ~= 0 then wrong("'%s' puts values between elements", line.text) end
    end
    w:node("Pad", { w:operand(line, 1), w:integers(unpack(pads)), w:operand(line, 2) }, nil, output)
end

for name, op in pairs { sum = "ReduceSum", max = "ReduceMax", min = "ReduceMin", prod = "ReduceProd" } do
    rows[name] = function(w, line, output)
        w:node(op, { w:operand(line, 1), w:integers(unpack(list_of(line.attrs.axes))) },
               { keepdims = line.attrs.keepdims and 1 or 0 }, output)
    end
end

for name, op in pairs { argmax = "ArgMax", argmin = "ArgMin" } do
    rows[name] = function(w, line, output)
        local axes = list_of(line.attrs.axes)
        if #axes ~= 1 then wrong("'%s' has several axes", line.text) end
        local best = w:node(op, { w:operand(line, 1) },
                            { axis = axes[1], keepdims = line.attrs.keepdims and 1 or 0,
                              select_last_index = line.attrs.last and 1 or 0 })
        w:node("Cast", { best }, { to = CODES[line.dtype] }, output)
    end
end

function rows.take(w, line, output)
    w:node("Gather", { w:operand(line, 1), w:operand(line, 2) }, { axis = tonumber(line.attrs.axis) }, output)
end

--- All windows along an axis, the places in a window along a new last axis: rows of indices.
function rows.windows(w, line, output)
    local a, axis, rank = line.attrs, tonumber(line.attrs.axis), #line.shape
    local first = np.arange(line.shape[axis + 1], { dtype = "i64" }):reshape(-1, 1) * tonumber(a.stride)
    local places = first + np.arange(tonumber(a.size), { dtype = "i64" }) * tonumber(a.dilation)
    local perm = {}
    for k = 0, rank - 1 do
        if k ~= axis + 1 then perm[#perm + 1] = k end
    end
    perm[rank] = axis + 1
    local all = w:node("Gather", { w:operand(line, 1), w:constant(places) }, { axis = axis })
    w:node("Transpose", { all }, { perm = perm }, output)
end

--- The attributes of a convolution stand in the text as stride, low, high and dilation of the first axis; the last has
-- those of the other axes behind.
local function conv_attributes(a, count)
    local all = { tonumber(a.stride), tonumber(a.low), tonumber(a.high), unpack(list_of(a.dilation)) }
    local o = { group = tonumber(a.groups), strides = {}, pads = {}, dilations = {} }
    for k = 1, count do
        local at = 4 * k - 3
        o.strides[k], o.pads[k], o.pads[k + count], o.dilations[k] = all[at], all[at + 1], all[at + 2], all[at + 3]
    end
    return o
end

function rows.conv(w, line, output)
    local count = #line.shape - 2
    local before, kernel, behind = { 0, count + 1 }, { count + 1, count }, { 0 }
    for k = 1, count do before[k + 2], kernel[k + 2], behind[k + 1] = k, k - 1, k + 1 end
    behind[count + 2] = 1
    local x = w:node("Transpose", { w:operand(line, 1) }, { perm = before })
    local k = w:node("Transpose", { w:operand(line, 2) }, { perm = kernel })
    local y = w:node("Conv", { x, k }, conv_attributes(line.attrs, count))
    w:node("Transpose", { y }, { perm = behind }, output)
end

-- ---- Programs -------------------------------------------------------------------------------------------------------

local function shape_of(dims)
    local shape = {}
    for n in dims:gmatch "[^,]+" do
        shape[#shape + 1] = tonumber(n) or wrong("the program is for every size '%s': trace one for fixed sizes", n)
    end
    return shape
end

--- A line of the printed form: { text, name, dtype, shape, op, attrs, operands }.
local function parse(source)
    source = source:gsub("  %-%- .*$", "")
    local name, dtype, dims, op, rest = source:match "^  (%w+): (%w+)%[([^%]]*)%] = ([%w_]+)(.*)$"
    if not name then wrong("the line '%s' is nothing that the format has", (source:gsub("^ +", ""))) end
    local line = { text = source:gsub("^ +", ""), name = name, dtype = dtype, shape = shape_of(dims), op = op,
                   attrs = {}, operands = {} }
    local attrs, operands = rest:match "^%[([^%]]*)%](.*)$"
    for word in (attrs or ""):gmatch "%S+" do
        local key, value = word:match "^([^=]+)=?(.*)$"
        line.attrs[key] = value
    end
    for word in (operands or rest):gmatch "%S+" do table.insert(line.operands, word) end
    return line
end

--- The message of a program, as pieces of a file. initializers: arrays by the names of inputs.
function save.bytes(program, initializers)
    local w = setmetatable({ nodes = {}, initializers = {}, known = {} }, meta)
    local inputs, outputs, used = {}, {}, {}
    for _, port in ipairs(program:inputs()) do
        w.known[port.name] = port
        if not CODES[port.dtype] then wrong("the input '%s' is %s", port.name, port.dtype) end
        local x = initializers[port.name]
        used[port.name] = x ~= nil
        if x then
            table.insert(w.initializers, text(5, tensor(port.name, port.dtype, port.shape, bytes_of(x))))
        else
            inputs[#inputs + 1] = text(11, value_info(port.name, port.dtype, port.shape))
        end
    end
    for name in pairs(initializers) do
        if not used[name] then wrong("the program has no input '%s'", name) end
    end
    local results
    for source in program:text { lines = MOST_LINES }:gmatch "[^\n]+" do
        if source:find "^  return" then
            results = source:match "^  return ?(.*)$"
        elseif source:find "^  " then
            local line = parse(source)
            local row = rows[line.op]
            if not row then wrong("its op '%s' has no counterpart in the format", line.op) end
            if not CODES[line.dtype] then wrong("'%s' is %s, which no file holds here", line.text, line.dtype) end
            row(w, line, line.name)
            w.known[line.name] = line
        end
    end
    local at = 0
    for word in (results or ""):gmatch "[^, ]+" do
        at = at + 1
        local port = program:outputs()[at]
        local name = w.known[port.name] and port.name .. "_out" or port.name
        local from = w:operand({ text = "return", operands = { word }, dtype = port.dtype }, 1)
        w:node("Identity", { from }, nil, name)
        outputs[at] = text(12, value_info(name, port.dtype, port.shape))
    end
    local graph = table.concat(w.nodes) .. text(2, "program") .. table.concat(w.initializers) .. table.concat(inputs)
                  .. table.concat(outputs)
    return { int(1, IR) .. text(2, "neap") .. text(8, int(2, OPSET)) .. text(7, graph) }
end

jit.off(save.bytes, true)

return save
