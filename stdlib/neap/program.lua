--- program.lua: np.trace, and programs as users hold them.
local ffi = require "ffi"
local core = require "neap.core"
local capture = require "neap.capture"
local staging = require "neap.staging"

local np, C = core.np, core.C
local raise = core.raise
local pack, check_function, flatten = staging.pack, staging.check_function, staging.flatten
local trace, run = staging.trace, staging.run
local type = type

local Program = {}
Program.__index = Program

--- Runs the program on arguments of the form with which it was traced.
function Program:__call(...)
    local given, parts, leaves = pack(...), {}, {}
    for k = 1, given.n do
        flatten("program", given[k], parts, leaves, k, 0)
        parts[#parts + 1] = ";"
    end
    local form = table.concat(parts)
    if form ~= self.form then
        raise("program", "arguments of the form %s do not fit the program, which was traced for %s", form, self.form)
    end
    return run("program", self.entry, leaves)
end

function Program:__tostring()
    return core.text("program", function(text, capacity, bytes)
        return C.neap_program_text(self.entry.program, text, capacity, bytes)
    end)
end

--- program:info(): a table of counts: inputs, outputs, nodes, captures, effects, steps.
function Program:info()
    local facts, result = ffi.new("neap_program_info"), {}
    C.neap_program_info_get(self.entry.program, facts)
    for _, name in ipairs { "inputs", "outputs", "nodes", "captures", "effects", "steps" } do
        result[name] = facts[name]
    end
    return result
end

--- np.trace(f)(args…): the program of f for arguments of that form: printable, and callable with such arguments. Arrays
-- around f are bound to it.
function np.trace(f)
    local user_function = check_function("trace", f)
    local function tracer(...)
        local given, parts, leaves = pack(...), {}, {}
        for k = 1, given.n do
            flatten("trace", given[k], parts, leaves, k, 0)
            parts[#parts + 1] = ";"
        end
        local entry = trace("trace", user_function, given, {}, capture.places(user_function), {})
        return setmetatable({ entry = entry, form = table.concat(parts) }, Program)
    end
    jit.off(tracer)
    return tracer
end

--- The programs behind a value, for np.explain: a list of { form, entry }, sorted by their forms, of a function that
-- np.jit made or of a traced program; nil for all else.
local function programs_of(value)
    if getmetatable(value) == Program then return { { form = value.form, entry = value.entry } } end
    if type(value) ~= "function" or not core.is_library(value) then return nil end
    local position, name, cache = 0
    repeat
        position = position + 1
        name, cache = debug.getupvalue(value, position)
        if not name then return nil end
    until name == "cache"
    local list = {}
    for form, entries in pairs(cache) do
        for k = 1, #entries do list[#list + 1] = { form = form, entry = entries[k], place = k } end
    end
    table.sort(list, function(a, b) return a.form < b.form or a.form == b.form and a.place < b.place end)
    return list
end

jit.off(Program.__call)

return { programs_of = programs_of }
