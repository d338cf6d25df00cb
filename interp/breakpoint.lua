--- breakpoint.lua: the prompt of np.breakpoint: commands that see the local variables of a running function.
--
-- A command is one of the words below, or what the prompt understands (repl.lua), with names looked up in the chosen
-- function: local variables, then upvalues, then globals. Local variables are read before the command and written back
-- behind it, because while it runs they cannot be reached from everywhere; upvalues and globals are the variables
-- themselves. Compiled code takes variables that are never assigned for constants, so it is dropped when one is. Lines
-- are read by io.read, which waits as the interpreter does (input.lua).
--
-- A function on the stack is known by its *height*, counted from the bottom, which does not change; its level, as
-- debug.getlocal counts, is how far the top is above it.
local core = require "neap.core"
local axes = require "neap.tracing.axes"
local repl = require "neap.interp.repl"
local system = require "neap.interp.system"

local getinfo, getlocal, setlocal = debug.getinfo, debug.getlocal, debug.setlocal
local getupvalue, setupvalue = debug.getupvalue, debug.setupvalue

local breakpoint = {}

local HELP = [[
c, Ctrl-D   go on              q   stop the program with an error
u, d        to the caller, and back      w   where: the functions on the stack
l           the local variables here     h   this
anything else is run as at the prompt; =c shows a variable c]]

-- ---- The stack ------------------------------------------------------------------------------------------------------

--- How many levels there are, with that of the caller as the first.
local function height()
    local n = 2
    while getinfo(n, "l") do n = n + 1 end
    return n - 2
end

--- Where a function stands, as text. What the library calls it, if that is its caller, means nothing to the user.
local function place_text(info, caller)
    local where = ("%s:%d"):format(info.short_src, info.currentline)
    if info.what == "main" then return where .. ", in the main chunk" end
    local named = info.name and not (caller and caller.what ~= "C" and core.is_library(caller.func))
    if named then return ("%s, in function '%s'"):format(where, info.name) end
    return ("%s, in a function of line %d"):format(where, info.linedefined)
end

--- The user's functions on the stack, innermost first: { func, height, text }.
local function user_frames()
    local frames, total = {}, height()
    for level = 1, total do
        local info = getinfo(level, "Slnf")
        if info.what ~= "C" and not core.is_library(info.func) then
            frames[#frames + 1] = { func = info.func, height = total - level,
                                    text = place_text(info, getinfo(level + 1, "Sf")) }
        end
    end
    return frames
end

--- The local variables of a frame: { names = a list, at = their slots, values }.
local function read_locals(frame)
    local locals, level = { names = {}, at = {}, values = {} }, height() - frame.height
    local index = 1
    while true do
        local name, value = getlocal(level, index)
        if not name then return locals end
        if not name:find "^%(" then
            if not locals.at[name] then locals.names[#locals.names + 1] = name end
            locals.at[name], locals.values[name] = index, value -- a later one hides an earlier one of its name
        end
        index = index + 1
    end
end

local function write_locals(frame, locals, before)
    local level = height() - frame.height
    for name, index in pairs(locals.at) do
        if not rawequal(locals.values[name], before[name]) then
            setlocal(level, index, locals.values[name])
            jit.flush()
        end
    end
end

--- Where a command finds its names.
local function environment_of(frame, locals)
    local globals, upvalues = getfenv(frame.func), {}
    local index = 1
    while true do
        local name = getupvalue(frame.func, index)
        if not name then break end
        upvalues[name] = index
        index = index + 1
    end
    return setmetatable({}, {
        __index = function(_, name)
            if locals.at[name] then return locals.values[name] end
            if upvalues[name] then return (select(2, getupvalue(frame.func, upvalues[name]))) end
            return globals[name]
        end,
        __newindex = function(_, name, value)
            if locals.at[name] then
                locals.values[name] = value
            elseif upvalues[name] then
                setupvalue(frame.func, upvalues[name], value)
                jit.flush()
            else
                globals[name] = value
            end
        end,
    })
end

-- ---- Commands -------------------------------------------------------------------------------------------------------

local function say(...)
    print(...)
    np.effects_barrier()
end

local commands = {}

function commands.continue() return true end

function commands.quit()
    core.fail("stopped at a breakpoint")
end

local function move(state, by)
    if not state.frames[state.at + by] then return say(by > 0 and "no caller" or "no function further in") end
    state.at = state.at + by
    say(state.frames[state.at].text)
end

function commands.up(state) move(state, 1) end
function commands.down(state) move(state, -1) end

function commands.where(state)
    for k, frame in ipairs(state.frames) do say((k == state.at and "> " or "  ") .. frame.text) end
end

function commands.locals(state)
    local locals = read_locals(state.frames[state.at])
    for _, name in ipairs(locals.names) do say(name .. " =", locals.values[name]) end
end

function commands.help() say(HELP) end

for _, name in ipairs { "continue", "quit", "up", "down", "where", "locals", "help" } do
    commands[name:sub(1, 1)] = commands[name]
end

--- Reads a whole command; nil at the end of the input.
local function read_command()
    io.write "(breakpoint) "
    local command = io.read()
    while command and repl.incomplete(command) do
        io.write ">> "
        local line = io.read()
        if not line then return nil end
        command = command .. "\n" .. line
    end
    return command
end

--- Runs what is no word of ours.
local function run_text(state, text)
    local frame = state.frames[state.at]
    local locals, before = read_locals(frame), {}
    for name, value in pairs(locals.values) do before[name] = value end
    local ok, problem = pcall(repl.run, text, environment_of(frame, locals))
    write_locals(frame, locals, before)
    if not ok then error(problem, 0) end
end

--- Reads and runs one command. Returns whether the program goes on. What it raises is told, but by quit; Ctrl-C ends
-- the command.
local function run_command(state)
    local ok, command = pcall(read_command)
    if ok and command == nil then
        io.write "\n"
        return true
    end
    local word = ok and commands[command:match "^%s*(%a*)%s*$"]
    if word == commands.continue or word == commands.quit then return word(state) end
    local problem = command
    if ok then ok, problem = pcall(word or run_text, state, command) end
    if core.C.neap_interrupt_pending() ~= 0 then system.forget_interrupt() end
    if not ok then io.stderr:write(tostring(problem), "\n") end
    return false
end

--- What np.breakpoint does.
function breakpoint.open()
    local state = { frames = user_frames(), at = 1 }
    if not state.frames[1] then return end
    say("breakpoint at " .. state.frames[1].text)
    local mesh, manual = axes.mesh()
    if mesh then
        say(("inside np.shard_map over %s of the mesh %s: arrays are blocks, one for each device"):format(
            require("neap.mesh.sharding").names_text(mesh, manual), mesh:axes_text()))
    end
    repeat until run_command(state)
end

for _, f in pairs(commands) do jit.off(f) end
for _, f in ipairs { height, user_frames, read_locals, write_locals, environment_of, read_command, run_text,
                     run_command, move, breakpoint.open } do
    jit.off(f, true)
end

return breakpoint
