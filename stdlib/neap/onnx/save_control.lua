--- save_control.lua: control flow as If, Loop and Scan of ONNX (save.lua).
--
-- Nodes of control flow have inputs for each program alone (lazy/ops/control.c). A graph inside of another one reads
-- names of the outer graph, which are no inputs. Values are { name=, dtype=, shape= }.
local numbers = require("neap.onnx.listing").numbers

local rows = {}

--- Operands `from` to `to` of a line, for the inputs of a program from `at` on, whose dtypes numbers take.
local function operands(w, line, from, to, program, at)
    local values = {}
    for k = from, to do
        local dtype = program.inputs[at + k - from].dtype
        values[#values + 1] = { name = w:operand(line, k, dtype), dtype = dtype or w:dtype(line, k),
                                shape = w:shape(line, k) }
    end
    return values
end

local function joined(...)
    local list = {}
    for _, part in ipairs { ... } do
        for _, value in ipairs(part) do list[#list + 1] = value end
    end
    return list
end

local function names_of(values)
    local names = {}
    for k, value in ipairs(values) do names[k] = value.name end
    return names
end

--- The dtypes of the results of a line that somebody reads.
local function dtypes_of(line)
    local dtypes = {}
    for k, result in ipairs(line.results) do dtypes[k] = result and result.dtype or "f32" end
    return dtypes
end

local function inputs_of(body, values)
    local ports = {}
    for k, value in ipairs(values) do ports[k] = body:input(value.dtype, value.shape) end
    return ports
end

-- ---- Calls and branches ---------------------------------------------------------------------------------------------

--- The outputs of a program whose results somebody reads.
local function read_ones(line, values)
    local list = {}
    for k, value in ipairs(values) do
        if line.results[k] then list[#list + 1] = value end
    end
    return list
end

function rows.call(w, line, outputs)
    local total = (tonumber(line.attrs.operands) or 0) + (numbers(line.attrs.own)[1] or 0)
    local program = line.programs[1]
    local values = w:run(program, operands(w, line, 1, total, program, 1), dtypes_of(line))
    for k, value in ipairs(values) do
        if outputs[k] then w:node("Identity", { value.name }, nil, outputs[k]) end
    end
end

--- A branch as a graph without inputs, and its results.
local function branch(w, line, place)
    local inner = w:inner()
    local values = read_ones(line, inner:run(place.program, place.values, dtypes_of(line)))
    return { graph = inner:graph({}, values) }, values
end

--- Writes the choice between the branch k and those behind it. names: of the results.
local function choose(w, line, branches, index, k, names)
    local this, values = branch(w, line, branches[k])
    local other
    if k + 1 == #branches then
        other = branch(w, line, branches[k + 1])
    else
        local rest, results = w:inner(), {}
        for j, value in ipairs(values) do
            results[j] = { name = w:unique "_branch", dtype = value.dtype, shape = value.shape }
        end
        choose(rest, line, branches, index, k + 1, names_of(results))
        other = { graph = rest:graph({}, results) }
    end
    w:node("If", { w:node("LessOrEqual", { index, w:number(k - 1, "i32") }) },
           { then_branch = this, else_branch = other }, names)
end

function rows.cond(w, line, outputs)
    local count, own, at = tonumber(line.attrs.operands) or 0, numbers(line.attrs.own), 0
    local branches, names = {}, {}
    for k, program in ipairs(line.programs) do
        local first = count + at + 2
        at = at + (own[k] or 0)
        branches[k] = { program = program,
                        values = joined(operands(w, line, 2, count + 1, program, 1),
                                        operands(w, line, first, count + at + 1, program, count + 1)) }
    end
    for k = 1, #line.results do
        if outputs[k] then names[#names + 1] = outputs[k] end
    end
    branches[2] = branches[2] or branches[1]
    choose(w, line, branches, w:operand(line, 1, "i32"), 1, names)
end

-- ---- Loops ----------------------------------------------------------------------------------------------------------

function rows.while_loop(w, line, outputs)
    local count, own = tonumber(line.attrs.carries) or 0, numbers(line.attrs.own)[1] or 0
    local test, step = line.programs[1], line.programs[2]
    local carries = operands(w, line, 1, count, step, 1)
    local test_own = operands(w, line, count + 1, count + own, test, count + 1)
    local step_own = operands(w, line, count + own + 1, #line.operands, step, count + 1)
    local start = w:run(test, joined(carries, test_own), { "bool" })[1].name
    local body = w:inner()
    local turn, was, states = body:input("i64", {}), body:input("bool", {}), inputs_of(body, carries)
    local results = body:run(step, joined(states, step_own), dtypes_of { results = carries })
    local more = body:run(test, joined(results, test_own), { "bool" })
    w:node("Loop", joined({ "", start }, names_of(carries)),
           { body = { graph = body:graph(joined({ turn, was }, states), joined(more, results)) } }, outputs)
end

function rows.scan(w, line, outputs)
    local count, nxs = tonumber(line.attrs.carries) or 0, tonumber(line.attrs.xs) or 0
    local reverse, program, body = tonumber(line.attrs.reverse) or 0, line.programs[1], w:inner()
    local carries, dtypes = operands(w, line, 1, count, program, 1), dtypes_of(line)
    local xs = operands(w, line, count + 1, count + nxs, program, count + 1)
    local own = operands(w, line, count + nxs + 1, #line.operands, program, count + nxs + 1)
    local ports = inputs_of(body, carries)
    for k = 1, nxs do ports[count + k] = body:input(xs[k].dtype, { unpack(xs[k].shape, 2) }) end
    for k = 1, count do dtypes[k] = carries[k].dtype end
    local results = body:run(program, joined(ports, own), dtypes)
    if nxs == 0 then -- the format has no scan of nothing
        xs[1] = { name = w:counter(tonumber(line.attrs.length)) }
        ports[count + 1] = body:input("i64", {})
    end
    local directions, behind = {}, {}
    for k = 1, #xs do directions[k] = reverse end
    for k = 1, #results - count do behind[k] = reverse end
    w:node("Scan", names_of(joined(carries, xs)),
           { body = { graph = body:graph(ports, results) }, num_scan_inputs = #xs,
             scan_input_directions = directions, scan_output_directions = behind }, outputs)
end

return rows
