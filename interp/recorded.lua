--- recorded.lua: breakpoints in functions that are traced: an effect of the program, a callback that opens the prompt.
--
-- When the breakpoint is recorded, the functions that are traced are on the stack, and their variables hold arrays
-- without values. What they hold is copied then, with a slot in place of each such array, and the arrays are the
-- callback's arguments; when a run comes by, slots get what these are in this run.
--
--     local x = a + 1      recorded: { x = slot 1 }, arguments { a + 1 }      a run: { x = [2 3] }
--
-- A function further out than the innermost trace shows its place and what has a value. Its arrays stay out: they would
-- become inputs of this trace, which may be that of a loop, a batch, or a rule that must not read them.
local core = require "neap.core"
local capture = require "neap.tracing.capture"
local trees = require "neap.core.trees"
local frames = require "neap.interp.frames"
local repl = require "neap.interp.repl"
local staging = require "neap.tracing.staging"
require "neap.effects" -- np.callback, and core.call_parts

local C, np, is_array = core.C, core.np, core.is_array
local recorded = {}

local MOST = core.MAX_INPUTS - C.NEAP_MESH_AXES -- arrays that are kept: coordinates of a device need room, too

-- ---- Copies ---------------------------------------------------------------------------------------------------------

--- Stands for an array of the callback's: { its place }.
local Slot = {}

--- Stands for an array whose value nobody will know.
local Lost = {}

function Lost:__tostring()
    return self[1]
end

local OUTSIDE = setmetatable({ "(an array of a function around this trace, which has no part in it)" }, Lost)
local ENDED = setmetatable({ "(an array of a trace that has ended)" }, Lost)
local TOO_MANY = setmetatable({ ("(not kept: a breakpoint keeps %d arrays)"):format(MOST) }, Lost)

--- A copy of a value: leaf(v) in place of what is no plain table. Tables that are met again are one, also in later
-- calls with the same `copies`.
local function copied(value, leaf, copies)
    local queue = {}
    local function copy_of(item)
        if not trees.is_node(item) then return leaf(item) end
        if not copies[item] then
            copies[item] = trees.alike({}, item)
            queue[#queue + 1] = item
        end
        return copies[item]
    end
    local copy, at = copy_of(value), 1
    while queue[at] do
        local to = copies[queue[at]]
        for key, item in next, queue[at] do rawset(to, key, copy_of(item)) end
        at = at + 1
    end
    return copy
end

--- The arrays of a breakpoint, as they are met: { list, at = their places by id }.
local function new_arrays()
    return { list = {}, at = {} }
end

--- A slot for an array.
local function slot_of(arrays, x)
    if not arrays.at[x._id] then
        if #arrays.list == MOST then return TOO_MANY end
        arrays.list[#arrays.list + 1] = x
        arrays.at[x._id] = #arrays.list
    end
    return setmetatable({ arrays.at[x._id] }, Slot)
end

--- What is kept of a value that is no table; `outside`: of a function further out than the innermost trace.
local function kept_of(arrays, leaf, outside)
    if core.is_size(leaf) then return slot_of(arrays, np.multiply(leaf, 1)) end -- of a run: a number
    local facts = is_array(leaf) and core.info(leaf)
    if not facts or facts.traced == 0 then return leaf end
    if outside then return OUTSIDE end
    return facts.taped == 0 and ENDED or slot_of(arrays, leaf)
end

-- ---- Recording ------------------------------------------------------------------------------------------------------

--- Adds to the local variables of a frame what its function reads around it: upvalues, and global arrays and tables. A
-- function that stands there is looked up when its turn comes.
local function add_surroundings(frame)
    local locals = frame.locals
    local function add(name, value)
        if not locals.at[name] and type(value) ~= "function" then locals.at[name], locals.values[name] = true, value end
    end
    local index = 1
    while true do
        local name, value = debug.getupvalue(frame.func, index)
        if not name then break end
        add(name, value)
        index = index + 1
    end
    for _, place in ipairs(capture.places(frame.func)) do
        local value = place.environment and not repl.first_globals[place.name] and capture.read(place)
        if is_array(value) or trees.is_node(value) then add(place.name, value) end
    end
end

--- The names of a frame that hold something, local ones first.
local function names_of(locals)
    local names, others = {}, {}
    for k, name in ipairs(locals.names) do names[k] = name end
    for name, index in next, locals.at do
        if index == true then others[#others + 1] = name end
    end
    table.sort(others)
    for _, name in ipairs(others) do names[#names + 1] = name end
    return names
end

--- Puts slots into frames; returns their arrays.
local function keep(list)
    local arrays, copies = new_arrays(), {}
    for _, frame in ipairs(list) do
        local outside = frame.outside
        if not frame.given_names then add_surroundings(frame) end
        local values = {}
        for _, name in ipairs(names_of(frame.locals)) do
            values[name] = copied(frame.locals.values[name], function(leaf)
                return kept_of(arrays, leaf, outside)
            end, copies)
        end
        frame.locals.values = values
    end
    return arrays.list
end

--- The same frames with the arrays of a run in the slots.
local function filled(list, arrays)
    local copies, run = {}, {}
    local function leaf(value)
        if getmetatable(value) == Slot then return arrays[value[1]] end
        return value
    end
    for k, frame in ipairs(list) do
        local values = {}
        for name, value in next, frame.locals.values do values[name] = copied(value, leaf, copies) end
        run[k] = setmetatable({ locals = { names = frame.locals.names, at = frame.locals.at, values = values } },
                              { __index = frame })
    end
    return run
end

--- The functions that are traced now, with the values that the breakpoint was given, or all that they hold.
local function functions(given, names)
    local list = frames.traced(staging.inside, core.frame().brackets)
    if not given then return list end
    for k, frame in ipairs(list) do
        frame.given_names = k == 1 and names or {}
        frame.locals = { names = frame.given_names, at = {}, values = k == 1 and given or {} }
        for _, name in ipairs(frame.given_names) do frame.locals.at[name] = 1 end
    end
    return list
end

--- Records a breakpoint: `open` gets the frames of each run that comes by, and the coordinates of the device where
-- arrays differ between devices, else nil. given: values by name, and their names in order; nil: all variables are
-- kept. ordered: nil: unless an np.vmap is open, whose examples have no order.
function recorded.push(open, given, names, ordered)
    local list = functions(given, names)
    local arrays = keep(list)
    if ordered == nil then
        ordered = true
        for _, name in ipairs(core.frame().brackets) do ordered = ordered and name ~= "vmap" end
    end
    local function stop(ready) return open(filled(list, ready)) end
    local function stop_at(coordinates, ready) return open(filled(list, ready), coordinates) end
    local divided = core.call_parts.axes_to_show(arrays) ~= 0
    local how = { ordered = ordered, coordinates = divided, name = "np.breakpoint" }
    np.callback(divided and stop_at or stop, how)(arrays)
end

for _, f in ipairs { copied, add_surroundings, keep, filled, recorded.push } do jit.off(f, true) end

return recorded
