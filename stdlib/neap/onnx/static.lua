--- static.lua: which values of a graph must be known while the graph is recorded.
--
-- A value of a running graph is an array or a host tensor (hosts.lua). Which values must be host tensors is found from
-- the end to the front: an operator's row has the inputs that decide about shapes (`host`), the inputs of nodes that
-- compute these must be known too, and so on up to Shape, which needs no values. A graph that computes shapes of the
-- values of inputs is run op by op (`model.eager`).
local static = {}

local need_in

--- Adds the inputs of a node that must be known, if the outputs must be (`wanted`) or not.
local function need_of(n, need, wanted)
    for _, k in ipairs(n.row.host or {}) do
        if n.inputs[k] and n.inputs[k] ~= "" then need[n.inputs[k]] = true end
    end
    for _, value in pairs(n.attr) do
        if type(value) == "table" and value.nodes then
            if wanted then
                for _, name in ipairs(value.outputs) do need[name] = true end
            end
            need_in(value, need)
        end
    end
    local body = n.attr.body
    if n.op == "Loop" and body then
        for k, name in ipairs(body.inputs) do
            if need[name] then
                body.unrolled = true
                if k > 2 and n.inputs[k] then need[n.inputs[k]] = true end
            end
        end
        local collects = #body.outputs > #n.inputs - 1
        if collects and not body.goes_on then n.model.eager = n.model.eager or n:title() end
        if body.unrolled or collects then need[n.inputs[1] or ""] = true end
        if body.unrolled then need[n.inputs[2] or ""] = true end
    end
    if not wanted or n.op == "Shape" or n.op == "Size" or n.op == "Constant" then return end
    if n.op == "If" then need[n.inputs[1]] = true end
    if n.op == "If" or n.op == "Loop" and body and body.unrolled then return end
    if not n.row.on_host or n.row.reads and not n.on_host then
        n.model.eager = n.model.eager or n:title()
        return
    end
    for _, name in ipairs(n.inputs) do need[name] = true end
end

--- Adds to `need` the names in a graph, and around, whose values decide about shapes.
function need_in(compiled, need)
    for k = #compiled.nodes, 1, -1 do
        local n, wanted = compiled.nodes[k], false
        for _, name in ipairs(n.outputs) do wanted = wanted or need[name] end
        if n.row.reads and not n.on_host then n.model.eager = n.model.eager or n:title() end
        need_of(n, need, wanted)
    end
end

--- Marks nodes that need nothing but shapes and constants. `known`: names of such values.
local function mark_known(compiled, known)
    for _, n in ipairs(compiled.nodes) do
        n.on_host = n.row.on_host ~= nil
        for _, name in ipairs(n.inputs) do n.on_host = n.on_host and known[name] == true end
        if n.on_host or n.op == "Shape" or n.op == "Size" or n.op == "Constant" then
            for _, name in ipairs(n.outputs) do known[name] = true end
        end
        for _, value in pairs(n.attr) do
            if type(value) == "table" and value.nodes then mark_known(value, setmetatable({}, { __index = known })) end
        end
    end
end

--- The names whose values decide about shapes: a set. `constants`: names that have values already.
function static.needed(compiled, constants)
    local need, known = {}, {}
    for name in pairs(constants) do known[name] = true end
    mark_known(compiled, known)
    need_in(compiled, need)
    need[""] = nil
    return need
end

-- ---- Values that choose a branch ------------------------------------------------------------------------------------

--- Appends all nodes of a graph to `list`, those of inner graphs before the node that has these.
local function flatten(compiled, list)
    for _, n in ipairs(compiled.nodes) do
        for _, value in pairs(n.attr) do
            if type(value) == "table" and value.nodes then flatten(value, list) end
        end
        list[#list + 1] = n
    end
    return list
end

--- Whether an input may be read before a call: a few integers or bools.
local function is_small(info)
    return info.dtype ~= nil and info.dtype:find "^[iub]" ~= nil and info.dtype ~= "bf16" and info.shape ~= nil
        and #info.shape <= 1
end

--- The inputs on which alone conditions of Ifs depend, besides constants and shapes: a set of names. If they have a
-- value when the function is called, a branch is taken at once, and the other branch need not fit.
function static.choosing(compiled, constants)
    local nodes, computed, wanted, chosen = flatten(compiled, {}), { [""] = true }, {}, {}
    for name in pairs(constants) do computed[name] = true end
    for _, info in ipairs(compiled.input_info) do computed[info.name] = is_small(info) end
    for _, n in ipairs(nodes) do
        local good = n.op == "Shape" or n.op == "Size"
        if not good then
            good = n.row.on_host ~= nil or n.op == "Constant"
            for _, name in ipairs(n.inputs) do good = good and computed[name] == true end
        end
        for _, name in ipairs(n.outputs) do computed[name] = good end
        if n.op == "If" then wanted[n.inputs[1]] = computed[n.inputs[1]] end
    end
    for k = #nodes, 1, -1 do
        local n, asked = nodes[k], false
        for _, name in ipairs(n.outputs) do asked = asked or wanted[name] end
        if asked and n.op ~= "Shape" and n.op ~= "Size" then
            for _, name in ipairs(n.inputs) do wanted[name] = true end
        end
    end
    for _, info in ipairs(compiled.input_info) do chosen[info.name] = wanted[info.name] end
    return chosen
end

return static
