--- save.lua: a program as an ONNX file: save.bytes(text, ports, weights) → pieces of a file.
--
-- A program is read in the printed form (listing.lua). Each op has a row, a function of a writer and of the node. A row
-- writes nodes of operators with the same value under the name of the result; a program with another op is refused:
--
--     rows.square = function(w, line, output)
--         local x = w:operand(line, 1)
--         w:node("Mul", { x, x }, nil, output)
--     end
--
-- line: a node of listing.lua, with the `dtype` and `shape` of its first result. Rows of control flow get a list of
-- names, with false for results that nobody reads. A writer writes one graph: that of the file, or one inside of it.
-- Constants are those of the file. Numbers become tensors of the dtype of the array beside.
local core = require "neap.core"
local complex = require "neap.onnx.save_complex"
local listing = require "neap.onnx.listing"
local message = require "neap.onnx.message"
local proto = require "neap.onnx.proto"

local np, wrong = core.np, proto.wrong
local save = {}

local OPSET, IR = 20, 9

local rows = {}
for part in ("elements views places random matrices control"):gmatch "%S+" do
    local of_part = require("neap.onnx.save_" .. part)
    for op, row in pairs(of_part.rows or of_part) do
        assert(not rows[op], op)
        rows[op] = row
    end
end

-- Why there is no row for an op, where more can be said than that.
local REASONS = {
    ["it takes steps until the result stays: compute it before, and pass what it gives"] =
        "eig eigh svd lstsq pinv matrix_function",
    ["the format has no function of this kind"] = "betainc betaln digamma erfcinv erfcx gamma gammainc gammainc_da "
        .. "gammaincc i0 i0e i1 i1e j0 j1 lgamma zeta",
    ["it draws again until a number is accepted"] = "random_gamma random_poisson random_binomial",
    ["the bits of floats are no integers in opset 20"] = "bitcast nextafter",
    ["it belongs to a mesh"] = "all_gather all_to_all axis_index device_put enter exchange join leave part pcast pmax "
        .. "pmin ppermute psum psum_scatter pvary reshard transfer",
}
local reasons = {}
for reason, ops in pairs(REASONS) do
    for op in ops:gmatch "%S+" do reasons[op] = ": " .. reason end
end

-- ---- The writer -----------------------------------------------------------------------------------------------------

local writer = {}
local meta = { __index = writer }

--- A writer of a graph. file: { initializers, taken = names, numbers = constants by what they are }.
local function new_writer(file)
    return setmetatable({ file = file, nodes = {}, known = {} }, meta)
end

function writer:inner() return new_writer(self.file) end

--- A name that nothing else has.
function writer:unique(base)
    local taken, name = self.file.taken, base
    while taken[name] do
        taken[base] = (taken[base] == true and 1 or taken[base]) + 1
        name = base .. "_" .. taken[base]
    end
    taken[name] = true
    return name
end

--- Adds a constant: an array. Returns the name.
function writer:constant(x)
    local name = self:unique "_constant"
    table.insert(self.file.initializers, message.tensor(name, x))
    return name
end

--- A number of a dtype as a constant.
function writer:number(value, dtype)
    local key = ("%s %s %s"):format(dtype, tostring(value), value == 0 and tostring(1 / tonumber(value)) or "")
    local name = self.file.numbers[key] or self:constant(np.array(value, { dtype = dtype }))
    self.file.numbers[key] = name
    return name
end

function writer:integers(...)
    local key = "integers " .. table.concat({ ... }, " ")
    self.file.numbers[key] = self.file.numbers[key] or self:constant(np.array({ ... }, { dtype = "i64" }))
    return self.file.numbers[key]
end

--- 0, 1, … n - 1 as a constant.
function writer:counter(n)
    local key = "counter " .. n
    self.file.numbers[key] = self.file.numbers[key] or self:constant(np.arange(n, { dtype = "i64" }))
    return self.file.numbers[key]
end

--- Adds a node. attributes: as in message.node. output: the name of the result, or a list of names, with false for
-- those that need none. Returns the names of its results.
function writer:node(op, inputs, attributes, output)
    local outputs = type(output) == "table" and { unpack(output) } or { output }
    if output == nil then outputs[1] = false end
    for k, name in ipairs(outputs) do outputs[k] = name or self:unique "_t" end
    table.insert(self.nodes, message.node(op, inputs, outputs, attributes))
    return unpack(outputs)
end

function writer:reshaped(x, shape, output)
    return self:node("Reshape", { x, self:integers(unpack(shape)) }, { allowzero = 1 }, output)
end

function writer.bytes(dtype) return core.dtypes[core.dtype_codes[dtype]].bytes end

--- The dtype of operand k of a line; of a number that of the arrays beside.
function writer:dtype(line, k)
    local dtype = self.known[line.operands[k]] and self.known[line.operands[k]].dtype
    if dtype then return dtype end
    for at, other in ipairs(line.operands) do
        local known = self.known[other]
        if known and not (line.op == "where" and at == 1) then dtype = known.dtype end
    end
    return dtype or line.dtype
end

function writer:shape(line, k)
    local known = self.known[line.operands[k]]
    return known and known.shape or {}
end

local WORDS = { inf = math.huge, ["-inf"] = -math.huge, nan = np.nan, ["-nan"] = np.nan }

--- The name of operand k. dtype: of numbers, in place of that of the arrays beside.
function writer:operand(line, k, dtype)
    local word = line.operands[k]
    local known = self.known[word]
    if known and known.is_unwritten then
        wrong("the line '%s' reads the factors of a matrix, which the format has no place for", line.text)
    end
    if known and known.parts then
        wrong("'%s' is complex where the format has no place for it: np.real and np.imag give its parts", word)
    end
    if known then return known.name end
    local value = tonumber(word) or WORDS[word]
    if not value then wrong("the line '%s' has an operand '%s' that the format has no place for", line.text, word) end
    return self:number(value, dtype or self:dtype(line, k))
end

-- ---- Graphs inside of graphs ----------------------------------------------------------------------------------------

--- A new input of a graph.
function writer:input(dtype, shape)
    return { name = self:unique "_in", dtype = dtype, shape = shape }
end

local function declarations(values)
    local list = {}
    for k, value in ipairs(values) do list[k] = message.value_info(value.name, value.dtype, value.shape) end
    return list
end

--- The message of a graph with these inputs and outputs.
function writer:graph(inputs, outputs)
    local own = {}
    for k, value in ipairs(outputs) do -- an output is a result of a node of this graph, and no other output
        own[k] = { name = self:node("Identity", { value.name }), dtype = value.dtype, shape = value.shape }
    end
    return message.graph("body", self.nodes, {}, declarations(inputs), declarations(own))
end

local function write_node(w, line)
    local row = rows[line.op]
    local first = line.results[1]
    w.file.line = line
    line.dtype, line.shape = first and first.dtype, first and first.shape
    if complex.is_in(w, line) then return complex.write(w, line, rows) end
    if not row then wrong("its op '%s' has no counterpart in the format%s", line.op, reasons[line.op] or "") end
    local names = {}
    for k, result in ipairs(line.results) do
        if result and not message.CODES[result.dtype] then
            wrong("'%s' is %s, which no file holds here", line.text, tostring(result.dtype))
        end
        names[k] = result and w:unique(result.name)
    end
    row(w, line, line.programs and names or names[1])
    for k, result in ipairs(line.results) do
        if result then
            w.known[result.name] = { name = names[k], dtype = result.dtype, shape = result.shape,
                                     is_unwritten = line.is_unwritten }
        end
    end
end

--- Writes the nodes of a program on these values. dtypes: of outputs that are numbers. Returns its outputs as values.
function writer:run(program, values, dtypes)
    local outer, results = self.known, {}
    self.known = {}
    for k, port in ipairs(program.inputs) do
        local value = values[k]
        self.known[port.name] = { name = value.name, dtype = port.dtype or value.dtype, shape = port.shape,
                                  parts = value.parts }
    end
    for _, line in ipairs(program.nodes) do write_node(self, line) end
    for k, word in ipairs(program.outputs) do
        local known = self.known[word]
        local name = self:operand({ text = "return", operands = { word } }, 1, dtypes[k])
        results[k] = { name = name, dtype = known and known.dtype or dtypes[k], shape = known and known.shape or {} }
    end
    self.known = outer
    return results
end

-- ---- Files ----------------------------------------------------------------------------------------------------------

--- Names inputs, weights and outputs, which have the names of the program; what it captured is "captured".
local function name_ports(w, ports, count)
    for _, port in ipairs(ports.inputs) do w.file.taken[port.name] = true end
    for _, port in ipairs(ports.outputs) do
        port.file_name = w.file.taken[port.name] and w:unique(port.name .. "_out") or w:unique(port.name)
    end
    local names = {}
    for k = 1, count do names[k] = w:unique "captured" end
    return names
end

local function write(w, program, ports, weights, captured)
    local values, inputs, outputs, dtypes = {}, {}, {}, {}
    local names = name_ports(w, ports, #captured)
    for k, port in ipairs(ports.inputs) do
        if not message.CODES[port.dtype] then
            wrong("the input '%s' is %s, which hardly an operator takes", port.name, port.dtype)
        end
        local x = weights[port.name]
        if x then table.insert(w.file.initializers, message.tensor(port.name, x)) end
        if not x then table.insert(inputs, message.value_info(port.name, port.dtype, port.shape)) end
        values[k] = { name = port.name, dtype = port.dtype }
    end
    for k, x in ipairs(captured) do
        local value = { name = names[k], dtype = x.dtype }
        if complex.is(x.dtype) then
            value = { dtype = x.dtype, parts = {} }
            for at, part in ipairs(complex.parts(x)) do value.parts[at] = w:constant(part) end
        else
            table.insert(w.file.initializers, message.tensor(names[k], x))
        end
        values[#values + 1] = value
    end
    for k, port in ipairs(ports.outputs) do dtypes[k] = port.dtype end
    local results = w:run(program, values, dtypes)
    for k, port in ipairs(ports.outputs) do
        w:node("Identity", { results[k].name }, nil, port.file_name)
        outputs[k] = message.value_info(port.file_name, port.dtype, port.shape)
    end
    local graph = message.graph("program", w.nodes, w.file.initializers, inputs, outputs)
    return message.model(IR, OPSET, graph)
end

--- The message of a program, as pieces of a file. text: its printed form, whose inputs are those of `ports` and then
-- the captured arrays. ports: { inputs=, outputs= }. weights: arrays by the names of inputs.
function save.bytes(text, ports, weights, captured)
    local known = {}
    for _, port in ipairs(ports.inputs) do known[port.name] = true end
    for name in pairs(weights) do
        if not known[name] then wrong("the program has no input '%s'", name) end
    end
    local w = new_writer { initializers = {}, taken = {}, numbers = {} }
    local ok, result = pcall(write, w, listing.read(text), ports, weights, captured)
    if ok then return result end
    local line = w.file.line
    if type(result) == "table" and result.problem and line and line.site then
        result.problem = ("%s (%s)"):format(result.problem, line.site)
    end
    error(result, 0)
end

jit.off(save.bytes, true)

return save
