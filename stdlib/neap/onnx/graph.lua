--- graph.lua: the graph of a model as a list of nodes that can run: graph.compile(model, message).
--
-- Here is checked all that can be known without running: each operator has a row (ops.lua) with the attributes that the
-- node has, nodes read only names written before, names are written once. Functions of the model have been put in the
-- place of calls (inline.lua).
local attributes = require "neap.onnx.attributes"
local core = require "neap.core"
local hosts = require "neap.onnx.hosts"
local node = require "neap.onnx.node"
local ops = require "neap.onnx.ops"
local proto = require "neap.onnx.proto"
local tensor = require "neap.onnx.tensor"

local wrong, value_of = proto.wrong, attributes.value
local graph = {}

local NEWEST = 28 -- the newest version of operators that the rows know
local DEFAULT = { [""] = true, ["ai.onnx"] = true }

-- ---- Compiling ------------------------------------------------------------------------------------------------------

--- Whether a name has a value in a scope or around.
local function is_known(scope, name)
    while scope do
        if scope.known[name] then return true end
        scope = scope.outer
    end
    return false
end

local function know(scope, name, what)
    if scope.known[name] then wrong("'%s' is written twice in it: by %s too", name, what) end
    scope.known[name] = true
end

local function opset_of(model, domain)
    local version = model.opsets[domain] or DEFAULT[domain] and (model.opsets[""] or model.opsets["ai.onnx"])
    if not version then wrong("it names no version of the operators of domain '%s'", domain) end
    return version
end

--- A node with row, inputs and attributes; raises if np cannot run such a node.
local function compile_node(scope, message)
    local model = scope.model
    local n = setmetatable({ op = message.op_type or "", name = message.name or "", domain = message.domain or "",
                             inputs = message.input or {}, outputs = message.output or {}, attr = {}, model = model,
                             inner = scope.outer ~= nil,
                             run = model.run }, node.meta)
    n.opset = opset_of(model, n.domain)
    n.row = ops.find(n.domain, n.op)
    if not n.row then n:fail("np.io.load_onnx does not know this operator%s", ops.hint(n.domain, n.op)) end
    if DEFAULT[n.domain] and n.opset > NEWEST then n:fail("operators are known up to opset %d", NEWEST) end
    local most = math.min(n.row.most, core.MAX_INPUTS)
    if #n.inputs > most then n:fail("%d inputs, at most %d are possible", #n.inputs, most) end
    for k = 1, n.row.least do
        if (n.inputs[k] or "") == "" then n:fail("it has no input %d", k - 1) end
    end
    for _, name in ipairs(n.inputs) do
        if name ~= "" and not is_known(scope, name) then
            n:fail("it reads '%s', which nothing before it writes", name)
        end
    end
    for _, attribute in ipairs(message.attribute or {}) do
        local name = attribute.name or ""
        if not n.row.known[name] then n:fail("its attribute '%s' is not one that is known", name) end
        n.attr[name] = value_of(scope, n, attribute, graph.compile)
    end
    for _, name in ipairs(n.outputs) do
        if name ~= "" then know(scope, name, n:title()) end
    end
    if n.row.check then n.row.check(n) end
    return n
end

--- The declared dtype and shape of an input or output: { name, dtype, shape }, where extents are numbers, names or
-- false.
local function value_info(message)
    local info = { name = message.name or "" }
    local kind = message.type or {}
    for _, other in ipairs { "sequence", "map", "sparse", "optional" } do
        if kind[other] then wrong("'%s' in it is of a kind that np does not have: %s", info.name, other) end
    end
    if not kind.tensor then return info end
    local absent
    info.dtype, absent = tensor.dtype(kind.tensor.elem_type)
    if not info.dtype then wrong("'%s' in it has the dtype %s, which np does not have", info.name, absent) end
    if kind.tensor.shape then
        info.shape = {}
        for k, dim in ipairs(kind.tensor.shape.dim or {}) do
            local extent = tonumber(dim.value or -1)
            info.shape[k] = extent >= 0 and extent or dim.param or false
        end
    end
    return info
end

local function add_initializers(scope, message)
    for _, t in ipairs(message.initializer or {}) do
        local name = t.name or ""
        know(scope, name, "an initializer")
        scope.model.initializers[name] = tensor.array(scope.model.source, t)
    end
    if message.sparse_initializer then wrong "it has sparse tensors, which np does not have" end
end

--- Whether the condition of a loop's body can only be true: the condition that came in, or a constant.
local function goes_on(compiled)
    local name, writers = compiled.outputs[1], {}
    for _, n in ipairs(compiled.nodes) do
        for _, output in ipairs(n.outputs) do writers[output] = n end
    end
    while writers[name] and writers[name].op == "Identity" do name = writers[name].inputs[1] end
    if name == compiled.inputs[2] then return true end
    local value = writers[name] and writers[name].op == "Constant" and writers[name].attr.value
    return hosts.is(value) and value[1] ~= 0
end

--- A graph that can run: { nodes, inputs, outputs (names), input_info, output_info }.
function graph.compile(model, message, outer)
    local scope = { model = model, known = {}, outer = outer }
    local compiled = { nodes = {}, inputs = {}, outputs = {}, input_info = {}, output_info = {} }
    add_initializers(scope, message)
    for _, value in ipairs(message.input or {}) do
        local name = value.name or ""
        if not scope.known[name] then -- older files list initializers among the inputs
            local info = outer and { name = name } or value_info(value)
            scope.known[name] = true
            table.insert(compiled.inputs, name)
            table.insert(compiled.input_info, info)
        end
    end
    for k, n in ipairs(message.node or {}) do compiled.nodes[k] = compile_node(scope, n) end
    for k, value in ipairs(message.output or {}) do
        local name = value.name or ""
        if not is_known(scope, name) then wrong("its output '%s' is written by nothing", name) end
        compiled.outputs[k], compiled.output_info[k] = name, outer and { name = name } or value_info(value)
    end
    if outer then compiled.goes_on = goes_on(compiled) end
    return compiled
end

return graph
