--- cuts.lua: the program of a function, cut at the ops that a policy of np.checkpoint keeps, where that is a function.
--
-- The function is traced once. Of the program the core lists the ops, the policy is asked for each, and a piece
-- (policies.lua) is the program recorded again, with what is kept in place of the ops that made it (neap_program_cut).
local ffi = require "ffi"
local axes = require "neap.tracing.axes"
local core = require "neap.core"
local lines = require "neap.tracing.lines"
local staging = require "neap.tracing.staging"

local C, ctx = core.C, core.ctx
local raise = core.raise
local pack, closed_body = staging.pack, staging.closed_body

local NAME = "checkpoint"

local cuts = {}

--- Traces the function as a program that returns its results, then what it gives names. Returns the entry, what the
-- program has lifted, and the names, in order. with_naming(naming, f, …): calls f while naming(x, name) is asked.
local function trace_whole(call, with_naming)
    local names, named = {}, {}
    local entry, lifted = closed_body(NAME, function(list)
        local frame, arguments = core.frame(), call.with_arrays(list)
        local depth, axes_open = #frame.levels, #axes.open()
        return with_naming(function(x, name)
            if core.frame() == frame and #frame.levels == depth and #axes.open() == axes_open then
                names[#names + 1], named[#named + 1] = name, x
            end
            return x
        end, call.f, unpack(arguments, 1, arguments.n))
    end, pack(call.operands), function(results)
        results.n = results.n + 1
        results[results.n] = named
        return results
    end, true)
    return entry, lifted, names
end

--- Names by variable: the last variables that the program returns have them, in order.
local function names_by_variable(list, names)
    local returned, by_variable = {}, {}
    for variable in list[#list].text:gsub("^%s*return ", ""):gmatch "[^%s,]+" do returned[#returned + 1] = variable end
    for k, name in ipairs(names) do by_variable[returned[#returned - #names + k]] = name end
    return by_variable
end

--- What the policy says of an op: "here", "offloaded" or nil.
local function answer_of(policy, op)
    local answer = policy(op)
    if answer == "offload" then return "offloaded" end
    if answer ~= nil and type(answer) ~= "boolean" then
        raise(NAME, 'option \'policy\': the function must return true, false or "offload", got %s for %s',
              core.describe(answer), op.op)
    end
    return answer and "here" or nil
end

--- Asks the policy about all ops. Notes in the call the places of those that are kept, and how they are.
local function ask(call, entry, names)
    local list, known = lines.of(NAME, entry.program), {}
    local named = names_by_variable(list, names)
    call.places = {}
    for _, line in ipairs(list) do
        local op = lines.read(line, known)
        if op and line.place >= 0 then
            op.name, op.line = named[op.variable], line.site ~= "" and line.site or nil
            op.variable = nil
            local how = answer_of(call.policy.asks, op)
            if how then
                call.places[#call.places + 1] = line.place
                call.how[#call.places] = how
            end
        end
    end
end

--- Records the program on operands and what is kept: returns the values of `places`, and the function's packed results.
local function record(call, places, list, kept)
    local entry, inputs, n = call.whole, core.copy_list(list), #places
    for _, x in ipairs(call.lifted) do inputs[#inputs + 1] = x end
    local ids, out = staging.ids_of(inputs, #inputs), ffi.new("int32_t[?]", n + entry.outputs + 1)
    local at, given = ffi.new("int32_t[?]", n + 1), ffi.new("int32_t[?]", n + 1)
    for k, place in ipairs(places) do at[k - 1], given[k - 1] = place, kept[k] and kept[k]._id or 0 end
    local arrays = core.call_ids(NAME, out, n + entry.outputs, function()
        return C.neap_program_cut(ctx, entry.program, #inputs, ids, n, at, given, out)
    end)
    local results = pack(staging.fill_results(NAME, entry.template, { unpack(arrays, n + 1, n + entry.outputs) }))
    results.n = results.n - 1 -- the last one is the list of what has names
    return { unpack(arrays, 1, n) }, results
end

--- A piece, as trace_piece of policies.lua makes it.
local function piece(call, at, specs, finish)
    local places = {}
    for k, place in ipairs(call.places) do
        local chosen = not at and k or at[k]
        if chosen then places[chosen] = place end
    end
    local entry, lifted = closed_body(NAME, function(list, kept)
        return finish(record(call, places, list, kept))
    end, pack(call.operands, specs), nil, true)
    return { entry = entry, lifted = lifted, kept = #specs }
end

--- Traces the function of a call and asks the policy; returns what makes its pieces. with_naming: of policies.lua.
function cuts.open(call, with_naming)
    local names
    call.whole, call.lifted, names = trace_whole(call, with_naming)
    ask(call, call.whole, names)
    return piece
end

for _, f in ipairs { trace_whole, names_by_variable, answer_of, ask, record, piece, cuts.open } do jit.off(f) end

return cuts
