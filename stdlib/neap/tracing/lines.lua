--- lines.lua: a program as the core lists it (neap_program_steps): a line for each input, op and effect, and one for
-- what it returns.
local core = require "neap.core"

local C = core.C

local lines = {}

local FIELDS = { "text", "site", "values", "reads", "place", "kind", "why", "length", "reverse", "operands", "xs",
                 "inputs" }
local NUMBERS = { values = true, reads = true, place = true, length = true, reverse = true, operands = true, xs = true }

--- The lists of numbers in a text such as "0,1;0,2".
local function lists_of(text)
    local lists = {}
    for part in (text .. ";"):gmatch "([^;]*);" do
        local list = {}
        for number in part:gmatch "%d+" do list[#list + 1] = tonumber(number) end
        lists[#lists + 1] = list
    end
    return lists
end

--- What the core tells of a program's steps: a list, with the count of all values. name: who asks.
function lines.of(name, program)
    local text = core.text(name, function(to, capacity, bytes)
        return C.neap_program_steps(program, to, capacity, bytes)
    end)
    local list, count = {}, 0
    for row in text:gmatch "([^\n]*)\n" do
        local line, at = {}, 0
        for field in (row .. "\t"):gmatch "([^\t]*)\t" do
            at = at + 1
            line[FIELDS[at]] = NUMBERS[FIELDS[at]] and tonumber(field) or field
        end
        if line.inputs then line.inputs = lists_of(line.inputs) end
        count = count + line.values + line.reads
        list[#list + 1] = line
    end
    return list, count
end

--- "f32[2,3]", as a line has it, as { dtype, shape }; nil: it is none.
local function type_of(text)
    local dtype, dims = text:match "^(%w+)%[([^%]]*)%]"
    if not dtype then return nil end
    local shape = {}
    for part in dims:gmatch "[^,]+" do shape[#shape + 1] = tonumber(part:match "%d+") end
    return { dtype = dtype, shape = shape }
end

--- What a line says of an op of one value: { variable, op, dtype, shape, inputs = { dtype, shape } of each array among
-- its operands, numbers as they are }; nil: it is no such line. known: types by variable, which gets that of the line.
function lines.read(line, known)
    local variable, type, rest = line.text:match "^%s*([%w_]+): (%S+)(.*)$"
    if not variable then return nil end
    known[variable] = type_of(type)
    local op, operands = rest:match "^%s*= ([%w_]+)(.*)$"
    if not op or not known[variable] then return nil end
    local inputs = {}
    for word in operands:gsub("^%[[^%]]*%]", ""):gmatch "%S+" do inputs[#inputs + 1] = known[word] or tonumber(word) end
    return { variable = variable, op = op, dtype = known[variable].dtype, shape = known[variable].shape,
             inputs = inputs }
end

jit.off(lines.of)
jit.off(lines.read)

return lines
