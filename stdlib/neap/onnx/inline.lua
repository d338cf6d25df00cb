--- inline.lua: puts the nodes of a model's own functions in the place of calls.
--
-- Names inside get a prefix of their own for each call, and attributes that refer to the function's their values.
local proto = require "neap.onnx.proto"

local wrong = proto.wrong
local inline = {}

local MOST_NODES, MOST_DEPTH = 200000, 50

local function key_of(domain, name, overload)
    return (domain or "") .. "\0" .. (name or "") .. "\0" .. (overload or "")
end

local expand

--- A graph of an attribute with other names.
local function renamed_graph(state, graph, names, prefix, values, depth)
    local own = setmetatable({}, { __index = names })
    local function rename(name)
        if name == nil or name == "" then return name end
        own[name] = own[name] or prefix .. name
        return own[name]
    end
    local function renamed(list)
        local result = {}
        for k, value in ipairs(list or {}) do
            result[k] = setmetatable({ name = rename(value.name) }, { __index = value })
        end
        return result
    end
    local result = { initializer = renamed(graph.initializer), input = renamed(graph.input), node = {} }
    expand(state, graph.node, result.node, rename, prefix, values, depth)
    result.output = renamed(graph.output)
    return result
end

--- An attribute with the values of a call.
local function attribute_of(state, attribute, rename, prefix, values, depth)
    if attribute.ref_attr_name then
        local value = values[attribute.ref_attr_name]
        return value and setmetatable({ name = attribute.name }, { __index = value })
    end
    if not attribute.g then return attribute end
    return setmetatable({ g = renamed_graph(state, attribute.g, rename and rename.names or {}, prefix, values, depth) },
                        { __index = attribute })
end

--- Appends the nodes of a list to `out`, with new names from `rename`, if not nil.
function expand(state, nodes, out, rename, prefix, values, depth)
    if depth > MOST_DEPTH then wrong("its functions call each other more than %d deep", MOST_DEPTH) end
    for _, n in ipairs(nodes or {}) do
        local inputs, outputs, attributes = {}, {}, {}
        for k, name in ipairs(n.input or {}) do inputs[k] = rename and rename(name) or name end
        for _, attribute in ipairs(n.attribute or {}) do
            attributes[#attributes + 1] = attribute_of(state, attribute, rename, prefix, values, depth + 1)
        end
        for k, name in ipairs(n.output or {}) do outputs[k] = rename and rename(name) or name end
        local f = state.functions[key_of(n.domain, n.op_type, n.overload)]
        if f then
            state.calls = state.calls + 1
            inline.call(state, f, inputs, outputs, attributes, out, depth)
        else
            out[#out + 1] = { op_type = n.op_type, domain = n.domain, input = inputs, output = outputs,
                              attribute = attributes, name = prefix .. (n.name or "") }
        end
        if #out > MOST_NODES then wrong("its functions become more than %d nodes", MOST_NODES) end
    end
end

--- The nodes of a function for one call.
function inline.call(state, f, inputs, outputs, attributes, out, depth)
    local prefix = ("%s#%d/"):format(f.name or "", state.calls)
    local names, values = {}, {}
    for k, name in ipairs(f.input or {}) do names[name] = inputs[k] or "" end
    for k, name in ipairs(f.output or {}) do
        if outputs[k] and outputs[k] ~= "" then names[name] = outputs[k] end
    end
    for _, attribute in ipairs(f.attribute_proto or {}) do values[attribute.name or ""] = attribute end
    for _, attribute in ipairs(attributes) do values[attribute.name or ""] = attribute end
    local rename = setmetatable({ names = names }, { __call = function(_, name)
        if name == "" then return name end
        if names[name] == nil then names[name] = prefix .. name end
        return names[name]
    end })
    expand(state, f.node, out, rename, prefix, values, depth + 1)
end

--- Puts the functions of a model in place. Functions and model must use the same versions of operators.
function inline.functions(message, opsets)
    if not message.functions then return end
    local state = { functions = {}, calls = 0 }
    for _, f in ipairs(message.functions) do
        state.functions[key_of(f.domain, f.name, f.overload)] = f
        for _, entry in ipairs(f.opset_import or {}) do
            local domain, version = entry.domain or "", tonumber(entry.version or 0)
            if opsets[domain] and opsets[domain] ~= version then
                wrong("its function '%s' uses opset %d of '%s', the model itself %d", f.name or "", version, domain,
                      opsets[domain])
            end
            opsets[domain] = version
        end
    end
    local out = {}
    expand(state, message.graph.node, out, nil, "", {}, 1)
    message.graph.node = out
end

return inline
