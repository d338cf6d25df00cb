--- summary.lua: np.nn.summary: what a block is made of, and what it takes.
--
-- The block is traced once on its inputs, while block.lua tells of each call of a block; then each block that was
-- called is traced alone, for its cost. Nothing is computed.
local core = require "neap.core"
local block = require "neap.nn.block"
local trees = require "neap.core.trees"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument
local is_array = core.is_array

local NAME = "nn.summary"

local Summary = {}
Summary.__index = Summary

local function parameters_of(tree)
    local count = 0
    for _, leaf in ipairs(np.tree.leaves(tree)) do count = count + leaf.size end
    return count
end

--- A tree with zeros of the same shapes and dtypes in place of arrays: they take no memory.
local function zeros_like(tree)
    return np.tree.map(function(x) return is_array(x) and np.zeros(x.shape, { dtype = x.dtype }) or x end, tree)
end

--- The shapes of the arrays of a result as text.
local function shapes_of(value)
    local parts = {}
    for _, leaf in ipairs(is_array(value) and { value } or trees.is_node(value) and np.tree.leaves(value) or {}) do
        if is_array(leaf) then parts[#parts + 1] = core.shape_text(leaf) end
    end
    return table.concat(parts, " ")
end

--- Under which key a block has a child.
local function key_of(parent, child)
    for _, key in ipairs(parent and block.child_keys(parent) or {}) do
        if parent[key] == child then return tostring(key) end
    end
    return ""
end

--- Traces model on inputs; a row for each block that is called: { block, key, depth, params, inputs, outputs }.
local function rows_of(model, params, inputs)
    local rows, around = {}, {}
    local function watch(called, own, ...)
        local row = { block = called, key = key_of(around[#around], called), depth = #around, params = own,
                      inputs = { n = select("#", ...) } }
        for k = 1, row.inputs.n do
            local input = select(k, ...)
            row.inputs[k] = (is_array(input) or trees.is_node(input)) and zeros_like(input) or input
        end
        rows[#rows + 1], around[#around + 1] = row, called
        local results = { called:forward(own, ...) }
        around[#around], row.outputs = nil, shapes_of(results[1])
        return unpack(results)
    end
    block.watched(watch, function()
        np.trace(function(...) return (model:apply(params, ...)) end)(unpack(inputs, 1, inputs.n))
    end)
    return rows
end

--- What a call of a row's block costs.
local function flops_of(row)
    local arrays, places = {}, {}
    for k = 1, row.inputs.n do
        if is_array(row.inputs[k]) or trees.is_node(row.inputs[k]) then
            arrays[#arrays + 1], places[#places + 1] = row.inputs[k], k
        end
    end
    local program = np.trace(function(...)
        local given = { unpack(row.inputs, 1, row.inputs.n) }
        for j, k in ipairs(places) do given[k] = select(j, ...) end
        return (row.block:apply(row.params, unpack(given, 1, row.inputs.n)))
    end)(unpack(arrays))
    return program:cost().flops
end

--- 1234567 as "1,234,567".
local function grouped(n)
    local text = ("%.0f"):format(n)
    while true do
        local more, count = text:gsub("^(%d+)(%d%d%d)", "%1,%2")
        text = more
        if count == 0 then return text end
    end
end

function Summary:__tostring()
    local lines, widths = { { "block", "result", "parameters", "flops" } }, { 0, 0, 0, 0 }
    for k, row in ipairs(self.rows) do
        lines[k + 1] = { ("  "):rep(row.depth) .. (row.key ~= "" and row.key .. ": " or "") .. row.name, row.result,
                         grouped(row.parameters), grouped(row.flops) }
    end
    for _, line in ipairs(lines) do
        for k = 1, 4 do widths[k] = math.max(widths[k], #line[k]) end
    end
    local texts = {}
    for k, line in ipairs(lines) do
        texts[k] = ("%-" .. widths[1] .. "s  %-" .. widths[2] .. "s  %" .. widths[3] .. "s  %" .. widths[4] .. "s")
                   :format(line[1], line[2], line[3], line[4])
    end
    return table.concat(texts, "\n")
end

for _, f in ipairs { rows_of, flops_of, zeros_like } do jit.off(f) end

return function(nn)
    --- np.nn.summary(block, x, …) -> table: what a block and those in it, as they are called, give and take for inputs
    -- of these shapes: print shows a line for each, with the shape of its first result, its parameters (those of its
    -- children are among them) and the operations on elements of a call, as program:cost counts them. Inputs are
    -- arrays, of which only shapes and dtypes count, or shapes, {32, 784}, of f32. Functions in np.nn.Sequential have
    -- no line. A layer with a state, such as np.nn.BatchNorm, is called as in evaluation, with its first state. The
    -- table has `parameters`, `flops` and `rows`, a list of {name, key, depth, result, parameters, flops}.
    -- Nothing is computed.
    --- > print(np.nn.summary(np.nn.Sequential{np.nn.Dense(3), np.nn.relu, np.nn.Dense(1)}, {8, 2}))
    -- block       result  parameters  flops
    -- Sequential  (8, 1)          13    224
    --   1: Dense  (8, 3)           9    120
    --   3: Dense  (8, 1)           4     56
    function nn.summary(model, ...)
        if not block.is_block(model) then bad_argument(NAME, 1, "block", "a layer or a block", model) end
        local inputs = { n = select("#", ...), ... }
        if inputs.n == 0 then raise(NAME, "needs the inputs of the block, or their shapes, behind it") end
        for k = 1, inputs.n do
            local x = inputs[k]
            if type(x) == "table" and type(x[1]) == "number" then inputs[k] = np.zeros(x) end
        end
        local params = model.params
        if not params then
            np.deferred(function() params = model:init(np.random.key(0), unpack(inputs, 1, inputs.n)) end)
        end
        local place = model.takes_state and (model.takes_key and 3 or 2) -- of a state
        if place and inputs.n < place then
            inputs[place], inputs[place + 1], inputs.n = model:state(params), false, place + 1
        end
        local rows = {}
        for k, row in ipairs(rows_of(model, params, inputs)) do
            rows[k] = { name = (row.block.name:gsub("^nn%.", "")), key = row.key, depth = row.depth,
                        result = row.outputs, parameters = parameters_of(row.params), flops = flops_of(row) }
        end
        local all = rows[1]
        return setmetatable({ rows = rows, parameters = all.parameters, flops = all.flops }, Summary)
    end
    jit.off(nn.summary)
end
