--- kernel_stops.lua: stopping a cell between two lines, for the debugger: at breakpoints, and step by step.
--
-- Lua calls a hook in front of each line. Compiled code does not, so as long as a debugger is attached nothing is
-- compiled. A stop happens inside of the hook: the functions of the cell are on the stack, and nothing else of Lua's
-- hooks can run. So a stop waits by itself (loop.attend) and calls no function of the user's: Ctrl-C, which is a hook
-- too, could not end it. An interrupt takes the hook's place; the cell is without breakpoints then, until it ends.
--
--     cell ──line──▶ hook ──▶ breakpoint here? step over? ──▶ stops.wait(reason) ──▶ cell goes on
local core = require "neap.core"
local repl = require "neap.interp.repl"

local getinfo, gethook, sethook = debug.getinfo, debug.gethook, debug.sethook
local running, status = coroutine.running, coroutine.status

local stops = {}

local POLL = 500 -- lines from one look at the debugger's requests to the next, while a cell runs

local points = {} -- by the source of a cell's text, by line: true, or f(), which tells whether this time it is a stop
local any_point = {} -- the lines of all these
local step -- how far to go: { kind = "in", "over" or "out", depth, thread }; nil: to the next breakpoint
local is_armed = false -- whether a cell runs that can be stopped
local was_compiling -- whether code was compiled before a debugger was attached; nil: none is
local lines = 0
local back = {} -- behind a return, until the next line: the function that goes on, and its line

--- What the debugger does: wait(reason, depth, problem) while a cell is stopped, so many functions deep; poll() while
-- one runs; source(name): by what the text of a chunk is known to `stops.set`.
stops.wait, stops.poll, stops.source = nil, nil, nil

--- The functions on the stack of the function in front of which the hook is called.
local function depth()
    local n = 4
    while getinfo(n, "l") do n = n + 1 end
    return n - 4
end

--- Whether the step ends here, `here` functions deep.
local function is_far_enough(here)
    if step.kind == "in" then return true end
    local thread = running()
    if thread ~= step.thread then -- a coroutine that has ended, or waits, has been left
        return step.thread ~= nil and (status(step.thread) == "dead" or status(step.thread) == "suspended")
    end
    return here < step.depth or step.kind == "over" and here == step.depth
end

--- Whether a line is not the user's, but of what locals.lua puts around a command: what runs before it, and its end.
local function is_around(info, line)
    local caller = getinfo(5, "f")
    local runner = caller and caller.func
    return runner == repl.main.scope.compile
        or runner == repl.run_code and info.what ~= "main" and line == info.lastlinedefined
end

--- A function returns to another one in the middle of a line, which Lua tells as a line once more.
local function on_return()
    local level = 4
    local caller = getinfo(level, "lf")
    while caller and caller.currentline < 0 do -- pcall and its kin
        level = level + 1
        caller = getinfo(level, "lf")
    end
    back.func, back.line = caller and caller.func, caller and caller.currentline
end

local function on_line(line)
    local last = back.line
    back.line = nil
    lines = lines + 1
    local is_due = lines % POLL == 0
    if not step and not any_point[line] and not is_due then return end
    local info = getinfo(3, "Sf")
    if info.what == "C" or core.is_library(info.func) or is_around(info, line) then return end
    if is_due then stops.poll() end
    if last == line and back.func == info.func then return end
    local here = step and depth()
    local reason = step and is_far_enough(here) and "step"
    local point = any_point[line] and (points[stops.source(info.source)] or {})[line]
    local is_stop, problem = point == true, nil
    if point and not is_stop then is_stop, problem = point() end
    if is_stop then reason = "breakpoint" end
    if not reason then return end
    step = nil
    stops.wait(reason, here or depth(), problem)
end

local function on_event(event, line)
    if event == "line" then
        on_line(line)
    else
        on_return()
    end
end

-- ---- For the debugger -----------------------------------------------------------------------------------------------

--- A debugger is attached: from the next cell on there are stops.
function stops.attach()
    if was_compiling ~= nil then return end
    was_compiling = jit.status()
    jit.off()
    jit.flush()
end

--- None is any more; a cell that runs goes on.
function stops.detach()
    if was_compiling == nil then return end
    points, any_point, step = {}, {}, nil
    stops.disarm()
    if was_compiling then jit.on() end
    was_compiling = nil
end

function stops.is_attached() return was_compiling ~= nil end

--- The lines before which a text stops, in place of those before: true by line, or f(), which returns whether this time
-- it is a stop, and what has to be told of that.
function stops.set(source, by_line)
    points[source] = by_line
    any_point = {}
    for _, set in pairs(points) do
        for number in pairs(set) do any_point[number] = true end
    end
end

--- The cell that is stopped, or runs, stops again: in front of the next line ("in"), of the next one of this function
-- or one that has called it ("over"), of one of those alone ("out").
function stops.step(kind, height)
    step = { kind = kind, depth = height, thread = running() }
end

--- A cell begins.
function stops.arm()
    if was_compiling == nil then return end
    step, is_armed = nil, true
    sethook(on_event, "lr")
end

--- Whether an error that nobody catches is one of the cell that runs, which is not interrupted.
function stops.sees_error() return is_armed and core.C.neap_interrupt_pending() == 0 end

--- It has ended.
function stops.disarm()
    step, is_armed = nil, false
    if was_compiling ~= nil and gethook() == on_event then sethook() end
end

for _, f in ipairs { depth, is_far_enough, is_around, on_return, on_line, on_event } do jit.off(f) end

return stops
