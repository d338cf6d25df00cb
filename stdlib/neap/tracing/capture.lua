--- capture.lua: the arrays that a function reads from its upvalues and globals.
--
-- np.jit makes them hidden inputs: while tracing, their places hold placeholders; at each call they are read anew. A
-- *place* is an upvalue of a closure or a global of its environment. They are found by walking closures: upvalues that
-- are functions, and global names in the bytecode (also of functions defined inside). Arrays in tables, and in anything
-- reached in another way, are not found: those are bound when tracing. What other values a recording holds good for is
-- guarded (guards.lua), by the paths of fields that the bytecode reads of a place: `cfg.optim.lr`.
local core = require "neap.core"
local util = require "jit.util"

local is_array = core.is_array
local band, rshift = bit.band, bit.rshift
local getupvalue, setupvalue = debug.getupvalue, debug.setupvalue
local upvalueid, upvaluejoin = debug.upvalueid, debug.upvaluejoin

local capture = {}

--- The opcode of an instruction of a function.
local function opcode_of(f, position)
    return band(util.funcbc(f, position), 0xff)
end
local GGET = opcode_of(loadstring "return x", 1)
local GSET = opcode_of(loadstring "x = 1", 2)
local FNEW = opcode_of(loadstring "return function() end", 1)
local UGET = opcode_of(loadstring "local a = ... return function() return a end"(), 1)
local TGETS = opcode_of(loadstring "local t = ... return t.x", 2)
local TGETB = opcode_of(loadstring "local t = ... return t[1]", 2)

--- The operands of an instruction: A, B, C; and D, which is B and C together.
local function operand_a(instruction) return band(rshift(instruction, 8), 0xff) end
local function operand_b(instruction) return rshift(instruction, 24) end
local function operand_c(instruction) return band(rshift(instruction, 16), 0xff) end
local function operand_d(instruction) return rshift(instruction, 16) end

--- Enters the path of names and small integers by which the instructions after `pc`, where a variable is read, go on:
-- { "optim", "lr" } of `cfg.optim.lr`; {} where the variable is read as a whole.
local function add_path(f, pc, paths)
    local path, register = {}, operand_a(util.funcbc(f, pc))
    while true do
        pc = pc + 1
        local instruction = util.funcbc(f, pc)
        local opcode = instruction and band(instruction, 0xff)
        if (opcode ~= TGETS and opcode ~= TGETB) or operand_b(instruction) ~= register then break end
        local c = operand_c(instruction)
        path[#path + 1] = opcode == TGETS and util.funck(f, -c - 1) or c
        register = operand_a(instruction)
    end
    paths[table.concat(path, "\0")] = path
end

--- Enters the variables that a function or prototype mentions into `reads`: paths (add_path) by name of a global, and
-- by name of an upvalue; a global that is only assigned has none. Functions defined inside reach upvalues of f by name.
-- A function that runs `later` has no paths: nothing of a recording depends on values that a callback will read.
local function add_reads(f, reads, later)
    later = later or core.callbacks[util.funcinfo(f).proto]
    local pc = 1
    while true do
        local instruction = util.funcbc(f, pc)
        if not instruction then return end
        local opcode = band(instruction, 0xff)
        if opcode == GGET or opcode == GSET then
            local name = util.funck(f, -operand_d(instruction) - 1)
            reads.globals[name] = reads.globals[name] or {}
            if opcode == GGET and not later then add_path(f, pc, reads.globals[name]) end
        elseif opcode == UGET and not later then
            local name = util.funcuvname(f, operand_d(instruction)) or ""
            reads.upvalues[name] = reads.upvalues[name] or {}
            add_path(f, pc, reads.upvalues[name])
        elseif opcode == FNEW then
            add_reads(util.funck(f, -operand_d(instruction) - 1), reads, later)
        end
        pc = pc + 1
    end
end

--- The value of a place now: of a cell of a block of np.staged (state.cells), of an upvalue, of a global.
local function read(place)
    if place.state then return place.state.cells[place.number] end
    if place.index then return select(2, getupvalue(place.f, place.index)) end
    return rawget(place.environment, place.name)
end
capture.read = read

--- Whether two places are one variable.
function capture.same(a, b)
    if a.index and b.index then return upvalueid(a.f, a.index) == upvalueid(b.f, b.index) end
    if a.state or b.state then return a.state == b.state and a.number == b.number end
    return a.name == b.name and a.environment ~= nil and a.environment == b.environment
end

--- Puts a value into a place.
function capture.write(place, value)
    if place.index then setupvalue(place.f, place.index, value) else rawset(place.environment, place.name, value) end
end

--- The value at the end of a path of fields; nil where a step is missing.
function capture.follow(value, path)
    for k = 1, #path do
        if type(value) ~= "table" then return nil end
        value = rawget(value, path[k])
    end
    return value
end

--- Makes the variables c1, c2, … of a generated function those of places; what is no upvalue is left out.
function capture.join(f, places)
    for index = 1, 60 do
        local name = getupvalue(f, index)
        if not name then return end
        local k = tonumber(name:match "^c(%d+)$")
        if k then upvaluejoin(f, index, places[k].f, places[k].index) end
    end
end

--- All places that f can reach: a list of { name, value, f and index of an upvalue or environment of a global, paths =
-- how it is read (add_path) }. Functions that stand in tables are reached where they are read by a path.
function capture.places(f)
    local places, seen_functions, seen_cells, seen_globals = {}, {}, {}, {}
    local visit

    --- Adds a place, or to one that is known other paths by which it is read.
    local function add(place, paths)
        if not place.paths then
            place.value, place.paths = capture.read(place), {}
            places[#places + 1] = place
            if type(place.value) == "function" then visit(place.value) end
        end
        for text, path in pairs(paths) do
            if not place.paths[text] then
                place.paths[text] = path
                local value = type(place.value) == "table" and capture.follow(place.value, path)
                if type(value) == "function" then visit(value) end
            end
        end
        return place
    end

    local function visit_globals(g, globals)
        local environment = getfenv(g)
        local seen = seen_globals[environment] or {}
        seen_globals[environment] = seen
        for name, paths in pairs(globals) do
            seen[name] = seen[name] or { name = name, environment = environment }
            add(seen[name], paths)
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
        local reads = { globals = {}, upvalues = {} }
        add_reads(g, reads, false)
        for index = 1, 60 do
            local name = getupvalue(g, index)
            if not name then break end
            local cell = upvalueid(g, index)
            seen_cells[cell] = seen_cells[cell] or { name = name, f = g, index = index }
            add(seen_cells[cell], reads.upvalues[name] or {})
        end
        visit_globals(g, reads.globals)
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

--- The numbers in tables that places lead to: by place a table by path. For `counted`.
function capture.numbers(places)
    local found = {}
    for _, place in ipairs(places) do
        for _, path in pairs(type(place.value) == "table" and place.paths or {}) do
            local value = path[1] and capture.follow(place.value, path)
            if type(value) == "number" then
                found[place] = found[place] or {}
                found[place][path] = value
            end
        end
    end
    return found
end

local function is_other_number(now, before)
    return type(now) == "number" and now ~= before and now == now
end

--- Whether the function of an upvalue was typed at the prompt or in a notebook. In a script a counter around a function
-- is a way to tell how often that was recorded.
local function is_typed(place)
    return place.index and debug.getinfo(place.f, "S").source:find "^=%[[%d%.]+%]$" ~= nil
end

--- After the body of f has run: what it assigned another number to, a variable or a field; nil: nothing. `before` is
-- what capture.numbers gave.
function capture.counted(places, before)
    for _, place in ipairs(places) do
        local watched = place.environment or is_typed(place)
        if watched and type(place.value) == "number" and is_other_number(read(place), place.value) then
            return ("the %s '%s'"):format(place.environment and "global" or "variable", place.name)
        end
        for path, number in pairs(before[place] or {}) do
            if is_other_number(capture.follow(place.value, path), number) then
                return ("the field '%s.%s'"):format(place.name, table.concat(path, "."))
            end
        end
    end
end

-- Functions of Lua's that give another number each time.
local CHANGING = { [math.random] = "math.random", [os.time] = "os.time", [os.clock] = "os.clock" }

--- The name of such a function that is read in one of the places; nil: none is.
function capture.changing(places)
    for _, place in ipairs(places) do
        for _, path in pairs(place.paths) do
            local name = CHANGING[capture.follow(place.value, path) or 0]
            if name then return name end
        end
    end
end

for _, f in ipairs { add_reads, add_path, capture.places, capture.assigned, capture.numbers,
                     capture.counted } do jit.off(f) end

return capture
