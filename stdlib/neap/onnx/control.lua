--- control.lua: the operators that run graphs: If, Loop, Scan. `n.attr.body` is a compiled graph; n.run(graph, values)
-- runs a graph on inputs and returns a list of outputs.
--
-- A condition known while the graph is recorded decides at once: an If takes a branch. A Loop whose body needs the
-- number of the turn is unrolled. All else becomes np.cond, np.while_loop and np.scan, whose carries keep their shapes.
local core = require "neap.core"
local hosts = require "neap.onnx.hosts"

local np = core.np
local ops = {}

local MOST_TURNS = 10000 -- of a loop that is unrolled

local function arrays(list, count)
    local result = {}
    for k = 1, count or #list do
        result[k] = hosts.is(list[k]) and hosts.array(list[k]) or list[k]
    end
    return result
end

local function scalar(n, x)
    if x.size ~= 1 then n:fail("a condition of shape %s", core.shape_text(x)) end
    return np.reshape(x, {})
end

--- Whether the value of an array can be read now.
local function is_known(x)
    return hosts.is(x) or core.info(x).traced == 0
end

-- ---- If -------------------------------------------------------------------------------------------------------------

local function if_(n, condition)
    local yes, no = n.attr.then_branch, n.attr.else_branch
    if not yes or not no then n:fail("it needs two branches") end
    if is_known(condition) then
        condition = n:host(condition)
        if #condition ~= 1 then n:fail("a condition of %d elements", #condition) end
        return unpack(n.run(condition[1] ~= 0 and yes or no, {}), 1, #n.outputs)
    end
    local function branch(graph)
        return function() return arrays(n.run(graph, {}), #n.outputs) end
    end
    local ok, results = pcall(np.cond, scalar(n, condition), branch(yes), branch(no))
    if ok then return unpack(results, 1, #n.outputs) end
    local hint = ("\n  (%s has a condition that is not known while it is recorded, so both of its branches are. Where "
        .. "an input decides, np.jit(f, {static={…}}) with that input's place takes one branch)"):format(n:title())
    if type(results) == "table" and results.problem then
        results.problem = results.problem .. hint
    else
        results = tostring(results) .. hint
    end
    error(results, 0)
end

ops.If = { attrs = "then_branch else_branch", any = true, run = if_ }

-- ---- Loop -----------------------------------------------------------------------------------------------------------

--- A loop in Lua: one turn after the other is recorded. Values are read where conditions need them.
local function unrolled(n, body, most, condition, states)
    local scans, count, turn = {}, #states, 0
    while turn < most and (condition == nil or n:host(condition, "its condition")[1] ~= 0) do
        if turn >= MOST_TURNS then n:fail("more than %d turns", MOST_TURNS) end
        local inputs = { hosts.new("i64", {}, { turn }), condition or hosts.new("bool", {}, { 1 }),
                         unpack(states, 1, count) }
        local results = n.run(body, inputs)
        if condition ~= nil then condition = results[1] end
        for k = 1, count do states[k] = results[k + 1] end
        for k = count + 2, #body.outputs do
            scans[k] = scans[k] or {}
            table.insert(scans[k], hosts.is(results[k]) and hosts.array(results[k]) or results[k])
        end
        turn = turn + 1
    end
    for k = count + 2, #body.outputs do
        if not scans[k] then n:fail("no turn, so nobody knows the shape of '%s'", n.outputs[k - 1] or "?") end
        states[k - 1] = np.stack(scans[k])
    end
    return unpack(states, 1, #body.outputs - 1)
end

--- A loop whose number of turns is known: np.scan.
local function counted(n, body, turns, states)
    local count = #states
    local carry, ys = np.scan(function(carry, turn)
        local results = arrays(n.run(body, { turn, hosts.new("bool", {}, { 1 }), unpack(carry, 1, count) }))
        return { unpack(results, 2, count + 1) }, { unpack(results, count + 2, #body.outputs) }
    end, arrays(states), np.arange(turns, { dtype = "i64" }))
    local all = { unpack(carry, 1, count) }
    for k = count + 2, #body.outputs do all[k - 1] = ys[k - count - 1] end
    return unpack(all, 1, #body.outputs - 1)
end

--- A loop that ends when its condition says so: np.while_loop.
local function conditional(n, body, most, condition, states)
    local count = #states
    local carry = { np.array(0, { dtype = "i64" }), scalar(n, condition), unpack(arrays(states), 1, count) }
    carry = np.while_loop(function(c)
        return most and np.logical_and(c[2], np.less(c[1], most)) or c[2]
    end, function(c)
        local results = arrays(n.run(body, { unpack(c, 1, count + 2) }), count + 1)
        return { c[1] + 1, scalar(n, results[1]), unpack(results, 2, count + 1) }
    end, carry)
    return unpack(carry, 3, count + 2)
end

local function loop(n, most, condition, ...)
    local body, states = n.attr.body, { ... }
    if not body then n:fail("it needs a body") end
    local count = #n.inputs - 2
    if #body.inputs ~= count + 2 or #body.outputs < count + 1 then
        n:fail("a body of %d inputs and %d outputs for %d values", #body.inputs, #body.outputs, count)
    end
    condition = condition or hosts.new("bool", {}, { 1 })
    local turns, always = most and is_known(most) and n:host(most)[1], false
    if is_known(condition) then
        always = body.goes_on
        if n:host(condition)[1] == 0 then turns, always = 0, true end
    end
    if n.model.eager or body.unrolled then
        return unrolled(n, body, turns or math.huge, not always and condition or nil, states)
    end
    if always and turns then return counted(n, body, turns, states) end
    if #body.outputs > count + 1 then
        n:fail("it collects results over a number of turns that is not known while the graph is recorded")
    end
    most = arrays { most }[1]
    return conditional(n, body, most and np.reshape(most, {}), arrays { condition }[1], states)
end

ops.Loop = { attrs = "body", any = true, least = 0, run = loop }

-- ---- Scan -----------------------------------------------------------------------------------------------------------

--- The form of opset 9 and later.
local function scan(n, ...)
    local body, count, inputs = n.attr.body, n.attr.num_scan_inputs, { ... }
    if not body or not count or count < 1 or count > #inputs or #body.inputs ~= #inputs then
        n:fail("a body that does not fit its inputs")
    end
    local kept = #inputs - count
    local carry, xs = { unpack(inputs, 1, kept) }, {}
    local axes, backward = n.attr.scan_input_axes or {}, n.attr.scan_input_directions or n.attr.directions or {}
    for k = 1, count do
        local x = inputs[kept + k]
        xs[k] = np.moveaxis(x, n:axis(axes[k] or 0, core.ndim(x)), 0)
        if backward[k] == 1 then xs[k] = np.flip(xs[k], 0) end
    end
    local ys
    carry, ys = np.scan(function(state, parts)
        local values = { unpack(state, 1, kept) }
        for k = 1, count do values[kept + k] = parts[k] end
        local results = arrays(n.run(body, values))
        return { unpack(results, 1, kept) }, { unpack(results, kept + 1, #body.outputs) }
    end, carry, xs)
    local results = { unpack(carry, 1, kept) }
    axes, backward = n.attr.scan_output_axes or {}, n.attr.scan_output_directions or {}
    for k = 1, #body.outputs - kept do
        local y = ys[k]
        if backward[k] == 1 then y = np.flip(y, 0) end
        results[kept + k] = np.moveaxis(y, 0, n:axis(axes[k] or 0, core.ndim(y)))
    end
    return unpack(results, 1, #body.outputs)
end

--- The form of opset 8: the same for each example of a batch.
local function batched_scan(n, lengths, ...)
    if lengths ~= nil then n:fail("sequences of different lengths") end
    return unpack(np.vmap(function(inputs) return { scan(n, unpack(inputs, 1, #n.inputs - 1)) } end)(arrays { ... }))
end

ops.Scan = {
    attrs = "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions "
        .. "directions", least = 0,
    run = function(n, ...) return (n.opset < 9 and batched_scan or scan)(n, ...) end,
}

return ops
