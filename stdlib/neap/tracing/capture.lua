--- capture.lua: the arrays that a function reads from its upvalues and globals.
--
-- np.jit makes them hidden inputs: while tracing, their places hold placeholders; at each call they are read anew. A
-- *place* is an upvalue of a closure or a global of its environment. They are found by walking closures: upvalues that
-- are functions, and global names in the bytecode (also of functions defined inside). Arrays in tables, and in anything
-- reached in another way, are not found: those are bound when tracing.
local core = require "neap.core"
local util = require "jit.util"

local is_array = core.is_array
local band, rshift = bit.band, bit.rshift
local getupvalue, setupvalue, upvalueid = debug.getupvalue, debug.setupvalue, debug.upvalueid

local capture = {}

--- The opcode of an instruction of a sample chunk.
local function opcode_of(code, position)
    return band(util.funcbc(loadstring(code), position), 0xff)
end
local GGET = opcode_of("return x", 1)
local GSET = opcode_of("x = 1", 2)
local FNEW = opcode_of("return function() end", 1)

--- Enters the names of globals that a function or prototype mentions into `names`.
local function global_names(f, names)
    local pc = 1
    while true do
        local instruction = util.funcbc(f, pc)
        if not instruction then return end
        local opcode = band(instruction, 0xff)
        if opcode == GGET or opcode == GSET then
            names[util.funck(f, -rshift(instruction, 16) - 1)] = true
        elseif opcode == FNEW then
            global_names(util.funck(f, -rshift(instruction, 16) - 1), names)
        end
        pc = pc + 1
    end
end

--- The value of a place now.
local function read(place)
    if place.index then return select(2, getupvalue(place.f, place.index)) end
    return rawget(place.environment, place.name)
end
capture.read = read

--- Whether two places are one variable.
function capture.same(a, b)
    if a.index and b.index then return upvalueid(a.f, a.index) == upvalueid(b.f, b.index) end
    return a.name == b.name and a.environment ~= nil and a.environment == b.environment
end

--- Puts a value into a place.
function capture.write(place, value)
    if place.index then setupvalue(place.f, place.index, value) else rawset(place.environment, place.name, value) end
end

--- All places that f can reach: a list of { name, value, f and index of an upvalue or environment of a global }.
function capture.places(f)
    local places, seen_functions, seen_cells, seen_globals = {}, {}, {}, {}
    local visit

    local function add(place, value)
        place.value = value
        places[#places + 1] = place
        if type(value) == "function" then visit(value) end
    end

    local function visit_globals(g)
        local names, environment = {}, getfenv(g)
        global_names(g, names)
        local seen = seen_globals[environment] or {}
        seen_globals[environment] = seen
        for name in pairs(names) do
            if not seen[name] then
                seen[name] = true
                add({ name = name, environment = environment }, rawget(environment, name))
            end
        end
    end

    --- A function of this library that wraps one of the user has it in an upvalue of this name, or in a table `state`.
    local function visit_wrapped(g)
        for index = 1, 60 do
            local name, value = getupvalue(g, index)
            if not name then return end
            if name == "user_function" then visit(value) end
            if name == "state" then visit(value.user_function) end
        end
    end

    function visit(g)
        if seen_functions[g] then return end
        seen_functions[g] = true
        local facts = debug.getinfo(g, "S")
        if facts.what == "C" then return end
        if core.is_library(g) then return visit_wrapped(g) end
        for index = 1, 60 do
            local name, value = getupvalue(g, index)
            if not name then break end
            local cell = upvalueid(g, index)
            if not seen_cells[cell] then
                seen_cells[cell] = true
                add({ name = name, f = g, index = index }, value)
            end
        end
        visit_globals(g)
    end

    visit(f)
    return places
end

--- What a callback that runs while a function is traced needs. `places` are those that the function can reach, `inputs`
-- those that hold placeholders; these are among them, unless a block of np.staged puts values of its own there.
-- suspend() gives all the values that they have outside of the trace; resume() undoes that, but what was assigned in
-- between is their value outside from then on; finish() ends it.
function capture.swap(places, inputs)
    local swap, is_input = {}, {}
    for _, place in ipairs(inputs) do is_input[place] = true end
    local function outside(place)
        if place.assigned ~= nil then return place.assigned end
        return place.value
    end
    function swap.suspend()
        for _, place in ipairs(places) do
            place.held = read(place)
            if is_input[place] or place.assigned ~= nil then capture.write(place, outside(place)) end
            place.before = read(place)
        end
    end
    function swap.resume()
        for _, place in ipairs(places) do
            local now = read(place)
            if not rawequal(now, place.before) then place.assigned = now end
            capture.write(place, place.held)
            place.held, place.before = nil, nil
        end
    end
    function swap.finish()
        for _, place in ipairs(inputs) do capture.write(place, outside(place)) end
        for _, place in ipairs(places) do
            if place.assigned ~= nil then capture.write(place, place.assigned) end
            place.assigned = nil
        end
    end
    return swap
end

--- Of a list of places, those whose value is an array.
function capture.arrays(places)
    local list = {}
    for _, place in ipairs(places) do
        if is_array(place.value) then list[#list + 1] = place end
    end
    return list
end

--- After the body of f has run: the name of a place to which it assigned an array, or nil. `expected(place)` is what
-- the place should hold if it held an array. Such a place gets its old value back.
function capture.assigned(places, expected)
    local name
    for _, place in ipairs(places) do
        local now = read(place)
        if is_array(now) and not rawequal(now, expected(place)) then
            name = place.name
            capture.write(place, place.value)
        end
    end
    return name
end

--- After the body of f has run: the name of a global to which it assigned another number, or nil.
function capture.counted(places)
    for _, place in ipairs(places) do
        if place.environment and type(place.value) == "number" then
            local now = read(place)
            if type(now) == "number" and now ~= place.value then return place.name end
        end
    end
end

for _, f in ipairs { global_names, capture.places, capture.assigned, capture.counted } do jit.off(f) end

return capture
