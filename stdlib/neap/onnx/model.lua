--- model.lua: a model file as a function: model.load(path), model.as_function(m) → f, params; calls of f.
--
--     file ─▶ messages (proto) ─▶ functions put in place (inline) ─▶ nodes (graph) ─▶ np.jit of run.graph
--
-- Initializers of floats on which no shape depends are weights: a caller passes a table of weights by name. All other
-- initializers are constants of the function, for which a caller's table may have other values.
--
-- The graph is jitted once. Inputs whose values decide about shapes are read before; each value is a jitted function
-- of its own.
local core = require "neap.core"
local files = require "neap.files"
local buffer = require "neap.arrays.buffer"
local attributes = require "neap.onnx.attributes"
local graph = require "neap.onnx.graph"
local hosts = require "neap.onnx.hosts"
local inline = require "neap.onnx.inline"
local proto = require "neap.onnx.proto"
local run = require "neap.onnx.run"
local static = require "neap.onnx.static"
local tensor = require "neap.onnx.tensor"

local np, is_array = core.np, core.is_array
local model = {}

local MOST_STATIC = 1000 -- functions for values of inputs that are kept

-- ---- Reading --------------------------------------------------------------------------------------------------------

--- Returns read(source) of an open file, or nil and a message; closes the file, whatever happens.
local function with_source(path, read)
    local block, problem = buffer.map(path)
    if not block then return nil, problem end
    local file
    file, problem = files.open(path)
    if not file then return nil, problem end
    local source = { block = block, file = file, folder = path:match "^(.*/)" or "", opened = {} }
    local ok, result = pcall(read, source)
    file.close()
    for _, other in pairs(source.opened) do other.close() end
    files.release(block)
    if ok then return result end
    if type(result) == "table" and result.problem then
        return nil, ("cannot read '%s': %s"):format(path, result.problem)
    end
    error(result, 0)
end

--- The array in a file with one tensor: the standard's tests have such files.
function model.read_tensor(path)
    return with_source(path, function(source) return tensor.array(source, proto.read(source.block, "Tensor")) end)
end

local function opsets_of(list)
    local opsets = {}
    for _, entry in ipairs(list or {}) do opsets[entry.domain or ""] = tonumber(entry.version or 0) end
    return opsets
end

--- Divides a model's initializers into weights, of which only the shapes stay here, and constants. Returns the weights.
local function divide(m)
    local need, params = static.needed(m.graph, m.initializers), {}
    m.weights, m.constants, m.env, m.static = {}, {}, {}, {}
    for name, x in pairs(m.initializers) do
        local kind = core.dtype_of(x).kind
        if (kind == "f" or kind == "c") and core.ndim(x) > 0 and not need[name] then
            params[name], m.weights[name] = x, core.copy_list(x.shape)
        else
            m.constants[name] = x
            m.env[name] = (need[name] or x.size <= 64) and attributes.constant(x) or x
        end
    end
    m.initializers = nil
    local choosing = static.choosing(m.graph, m.constants)
    for k, info in ipairs(m.graph.input_info) do
        m.static[k] = need[info.name] and "always" or choosing[info.name] and "if known"
        if need[info.name] and info.shape and #info.shape > 1 then m.eager = m.eager or info.name end
    end
    return params
end

--- Reads a model: a table { model, weights }; or nil and a message. key: of random numbers, or nil.
function model.load(path, key)
    return with_source(path, function(source)
        if source.block.size == 0 then proto.wrong "it is empty" end
        local message = proto.read(source.block, "Model")
        if not message.graph then proto.wrong "it has no graph: it is no ONNX model" end
        local m = { path = path, source = source, opsets = opsets_of(message.opset_import), initializers = {},
                    run = run.graph, key = key }
        if not next(m.opsets) then proto.wrong "it names no version of operators: it is no ONNX model" end
        inline.functions(message, m.opsets)
        m.graph = graph.compile(m, message.graph)
        m.source = nil
        return { m, divide(m) }
    end)
end

-- ---- Calling --------------------------------------------------------------------------------------------------------

local function names_of(list)
    local names = {}
    for k, info in ipairs(list) do names[k] = "'" .. info.name .. "'" end
    return table.concat(names, ", ")
end

local function shape_text(shape)
    local parts = {}
    for k, n in ipairs(shape) do parts[k] = n and tostring(n) or "?" end
    return "(" .. table.concat(parts, ", ") .. (#parts == 1 and ",)" or ")")
end

--- Raises an error of a call of a model.
local function refuse(m, format, ...)
    core.fail("the model '%s': %s", m.path, format:format(...))
end

--- An input as an array that the graph takes: of the declared rank, fixed extents and dtype. A float may be any float,
-- and an integer any integer with fewer digits.
local function checked_input(m, info, value)
    if type(value) == "number" or type(value) == "boolean" or type(value) == "table" and not getmetatable(value) then
        value = np.array(value, { dtype = info.dtype })
    end
    if not is_array(value) then
        refuse(m, "the input '%s' must be an array, got %s", info.name, core.describe(value))
    end
    local shape, fits = value.shape, true
    if info.shape then
        fits = #shape == #info.shape
        for k, n in ipairs(info.shape) do
            if fits and type(n) == "number" and shape[k] ~= n then fits = false end
        end
    end
    if not fits then
        refuse(m, "the input '%s' must have the shape %s, got %s", info.name, shape_text(info.shape),
               core.shape_text(value))
    end
    if not info.dtype or value.dtype == info.dtype then return value end
    if core.info(value).weak == 1 then return np.astype(value, info.dtype) end -- a number of a jitted function
    local is, wanted = core.dtype_of(value).kind, core.dtypes[core.dtype_codes[info.dtype]].kind
    if is == "f" and wanted == "f" then return value end
    if is ~= "b" and is ~= "f" and np.can_cast(value.dtype, info.dtype) then return np.astype(value, info.dtype) end
    refuse(m, "the input '%s' must be %s, got %s", info.name, info.dtype, value.dtype)
end

--- The inputs of a call in the graph's order: given as arrays, or as a table of arrays by name.
local function inputs_of(m, count, first, ...)
    local infos, values = m.graph.input_info, { first, ... }
    local by_name = count == 1 and type(first) == "table" and not is_array(first) and next(first) ~= nil
                    and type(next(first)) == "string"
    if by_name then
        local known = {}
        for k, info in ipairs(infos) do values[k], known[info.name] = first[info.name], true end
        for name in pairs(first) do
            if not known[name] then
                refuse(m, "it has no input '%s'; its inputs: %s", tostring(name), names_of(infos))
            end
        end
    elseif count ~= #infos and not (#infos == 0 and count == 1 and type(first) == "table") then
        refuse(m, "it takes %d input%s (%s), got %d", #infos, #infos == 1 and "" or "s", names_of(infos), count)
    end
    for k, info in ipairs(infos) do
        if values[k] == nil then refuse(m, "the input '%s' is missing", info.name) end
        values[k] = checked_input(m, info, values[k])
    end
    return values
end

--- The values of weights and constants in a call, by name.
local function bound(m, params)
    for name, own in pairs(m.weights) do
        local value = params[name]
        if not is_array(value) then
            refuse(m, "argument 1 (params) must have an array for the weight '%s', got %s", name, core.describe(value))
        end
        local fits = #own == #value.shape
        for k, n in ipairs(value.shape) do fits = fits and n == own[k] end
        if not fits then
            refuse(m, "the weight '%s' must have the shape %s, got %s", name, shape_text(own), core.shape_text(value))
        end
    end
    local env = setmetatable({}, { __index = m.env })
    for name, value in pairs(params) do
        if m.weights[name] == nil and m.constants[name] == nil then
            refuse(m, "argument 1 (params) has '%s', which is no weight of it", tostring(name))
        end
        env[name] = value
    end
    return env
end

--- Runs the graph: an array for a single output, else a table by name.
local function compute(m, params, values)
    local ok, outputs = pcall(run.graph, m.graph, values, bound(m, params))
    if not ok then
        if type(outputs) == "table" and outputs.problem then refuse(m, "%s", outputs.problem) end
        error(outputs, 0)
    end
    if #outputs == 1 then return run.array(outputs[1]) end
    local results = {}
    for k, name in ipairs(m.graph.outputs) do results[name] = run.array(outputs[k]) end
    return results
end

--- The inputs that a call reads before: host tensors by place, and the key of their values.
local function read_before(m, values)
    local fixed, parts = {}, {}
    for k, how in pairs(m.static) do
        local known = core.info(values[k]).traced == 0
        if how == "always" and not known then
            refuse(m, "the input '%s' decides about shapes, and is not known while tracing: bind it, as in "
                   .. "function(params, x) return f(params, x, value) end", m.graph.inputs[k])
        end
        if known then fixed[k] = hosts.read(values[k]) end
    end
    for k = 1, #values do
        if fixed[k] then parts[#parts + 1] = k .. ":" .. table.concat(fixed[k], ",") .. core.shape_text(values[k]) end
    end
    return fixed, table.concat(parts, ";")
end

--- The jitted function of all inputs but those read before.
local function jitted_for(m, fixed, key)
    local f = m.jitted[key]
    if f then return f end
    if m.jitted_count >= MOST_STATIC then m.jitted, m.jitted_count = {}, 0 end
    f = np.jit(function(params, inputs)
        local all, at = {}, 0
        for k = 1, #m.graph.inputs do
            if not fixed[k] then at = at + 1 end
            all[k] = fixed[k] or inputs[at]
        end
        return compute(m, params, all)
    end)
    m.jitted[key], m.jitted_count = f, m.jitted_count + 1
    return f
end

local function call(m, params, count, ...)
    if type(params) ~= "table" or is_array(params) then
        refuse(m, "argument 1 (params) must be the table of weights that np.io.load_onnx returned, got %s",
               core.describe(params))
    end
    local values = inputs_of(m, count, ...)
    if m.eager then return compute(m, params, values) end
    local fixed, key = {}, ""
    if next(m.static) then fixed, key = read_before(m, values) end
    local traced = {}
    for k, value in ipairs(values) do
        if not fixed[k] then traced[#traced + 1] = value end
    end
    return jitted_for(m, fixed, key)(params, traced)
end

local function copied(list)
    local copy = {}
    for k, info in ipairs(list) do
        copy[k] = { name = info.name, dtype = info.dtype, shape = info.shape and core.copy_list(info.shape) }
    end
    return copy
end

--- A model as a function.
function model.as_function(m)
    m.jitted, m.jitted_count = {}, 0
    local f = { inputs = copied(m.graph.input_info), outputs = copied(m.graph.output_info), constants = m.constants }
    return setmetatable(f, {
        __call = function(_, given, ...) return call(m, given, select("#", ...), ...) end,
        __tostring = function() return ("model '%s'"):format(m.path) end,
    })
end

for _, f in ipairs { model.load, with_source, call } do jit.off(f) end

return model
