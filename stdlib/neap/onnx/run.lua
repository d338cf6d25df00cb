--- run.lua: running a compiled graph: run.graph(compiled, values, env) with a value for each input.
local core = require "neap.core"
local hosts = require "neap.onnx.hosts"
local layouts = require "neap.onnx.layouts"

local np = core.np
local run = {}

local MOST_INPUTS = core.MAX_INPUTS

--- The inputs of a node for the row: inputs that decide about shapes as host tensors, others as arrays, or as images
-- with their channels last.
local function prepared(n, values, count)
    local row = n.row
    local as_host = row.at_host
    for k = 1, count do
        local value = values[k]
        if as_host[k] or row.any then value = layouts.array(value) end
        if row.any then
            values[k] = value
        elseif value ~= nil and as_host[k] then
            values[k] = n:host(value, ("input %d ('%s')"):format(k - 1, n.inputs[k]))
        elseif hosts.is(value) then
            values[k] = hosts.array(value)
        end
    end
    return values
end

--- Whether all inputs present are host tensors.
local function all_hosts(values, count)
    local any = false
    for k = 1, count do
        if values[k] ~= nil and not hosts.is(values[k]) then return false end
        any = any or values[k] ~= nil
    end
    return any
end

local function run_node(n, env)
    local values, count = {}, #n.inputs
    for k = 1, count do
        if n.inputs[k] ~= "" then values[k] = env[n.inputs[k]] end
    end
    if n.row.on_host and all_hosts(values, count) then
        local results = { n.row.on_host(n, unpack(values, 1, count)) }
        if results[1] ~= nil then return results end
    end
    if n.row.graphs then n.run = function(graph, inputs) return run.graph(graph, inputs, env) end end
    count = math.min(count, MOST_INPUTS)
    local results = layouts.run(n, prepared(n, values, count), count)
    if results then return results end
    for k = 1, count do values[k] = layouts.array(values[k]) end
    return { n.row.run(n, unpack(values, 1, count)) }
end

--- Raises an error of a node with the node's name, once.
local function explained(n, problem)
    local own = type(problem) == "string" and problem:match "^neap/onnx/[%w_]+%.lua:%d+: (.*)"
    if own then
        problem = { problem = ("%s: its inputs and attributes do not fit (%s)"):format(n:title(), own) }
    elseif type(problem) == "string" and not problem:find("\n  in ", 1, true) then
        problem = ("%s\n  in %s of '%s'"):format(problem, n:title(), n.model.path)
    end
    error(problem, 0)
end

--- Runs a graph; `around`: the values of names around. Returns a list of outputs.
function run.graph(compiled, values, around)
    local env = setmetatable({}, { __index = around })
    for k, name in ipairs(compiled.inputs) do env[name] = values[k] end
    for _, n in ipairs(compiled.nodes) do
        local ok, results = pcall(run_node, n, env)
        if not ok then explained(n, results) end
        for k, name in ipairs(n.outputs) do
            if name ~= "" then
                if results[k] == nil then
                    error({ problem = ("%s: it gives no output %d ('%s') here"):format(n:title(), k - 1, name) }, 0)
                end
                env[name] = results[k]
            end
        end
    end
    local outputs = {}
    for k, name in ipairs(compiled.outputs) do outputs[k] = layouts.array(env[name]) end
    return outputs
end

--- A result as an array.
function run.array(value)
    if hosts.is(value) then return hosts.array(value) end
    return np.asarray(value)
end

jit.off(run.graph, true)

return run
