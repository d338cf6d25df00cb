--- breakpoint.lua: the prompt inside of a function: that of np.breakpoint, and of `:debug` after an error.
--
-- It is the prompt (repl.lua), with names looked up in the chosen function (frames.lua): local variables, then
-- upvalues, then globals; and with some commands more, the words below. Lines come from the prompt's editor, in a
-- notebook from the front end. A breakpoint of a traced function is opened by a callback (recorded.lua).
local ffi = require "ffi"
local core = require "neap.core"
local axes = require "neap.tracing.axes"
local console = require "neap.effects.console"
local commands = require "neap.interp.commands"
local frames = require "neap.interp.frames"
local locals_of = require "neap.interp.locals"
local recorded = require "neap.interp.recorded"
local repl = require "neap.interp.repl"
local show = require "neap.interp.show"
local system = require "neap.interp.system"

ffi.cdef [[
    int neap_breakpoint_raise(int number) __asm__("raise");
]]
local libc, SIGINT = ffi.C, 2

local breakpoint = {}

local BREAKPOINT = "(breakpoint) " -- its prompt

local function say(...)
    print(...)
    np.effects_barrier()
end

-- ---- Commands -------------------------------------------------------------------------------------------------------

-- Rows as those of commands.lua; `run` gets the state of this prompt. The first letter is enough.
local words = {}

local function word(name, help, run)
    words[name] = { usage = ":" .. name, help = help, run = run }
    words[name:sub(1, 1)] = words[name]
end

word("continue", "go on, as Ctrl-D does", function(state) state.ended = "continue" end)
word("quit", "stop the program with an error; after an error, leave it", function(state) state.ended = "quit" end)

local function move(state, by)
    if not state.frames[state.at + by] then return say(by > 0 and "no caller" or "no function further in") end
    state.at = state.at + by
    say(state.frames[state.at].text)
end

word("up", "to the caller", function(state) move(state, 1) end)
word("down", "back", function(state) move(state, -1) end)

word("where", "the functions on the stack", function(state)
    for k, frame in ipairs(state.frames) do say((k == state.at and "> " or "  ") .. frame.text) end
end)

local function say_values(names, values)
    local mesh = axes.mesh()
    for _, name in ipairs(names) do
        local value = values[name]
        if core.is_array(value) and mesh then say(name .. " =", value) else say(name .. " = " .. show.text(value)) end
    end
end

word("locals", "the local variables here", function(state)
    local locals = frames.locals(state.frames[state.at])
    say_values(locals.names, locals.values)
end)

word("help", "this; :help NAME tells of a command", function(state, rest)
    if rest ~= "" then return commands.rows.help.run(rest, state.session) end
    local rows = {}
    for _, name in ipairs { "continue", "quit", "up", "down", "where", "locals", "help" } do
        rows[#rows + 1] = { ":" .. name:sub(1, 1), ":" .. name, words[name].help }
    end
    say(show.columns(rows) .. "\nanything else is run as at the prompt")
end)

-- ---- The prompt -----------------------------------------------------------------------------------------------------

local numbered, number -- the command with breakpoints (core.command), and the last number of a command that they read

--- Runs a command with the names of the chosen function. Its values are text in a notebook, too: they are no results of
-- the cell.
local function run_text(state, text)
    local frame, session = state.frames[state.at], state.session
    local locals, before = frames.locals(frame), {}
    for name, value in pairs(locals.values) do before[name] = value end
    session.environment = frames.environment(frame, locals)
    local present, inner = repl.present, repl.inner
    if numbered ~= core.command or not number then numbered, number = core.command, 0 end
    number = number + 1
    repl.present, repl.inner = repl.present_text, number
    local ok, problem = pcall(repl.run, text, session)
    repl.present, repl.inner = present, inner
    frames.write(frame, locals, before)
    session.scope:settle()
    if not ok then error(problem, 0) end
end

-- In which command nobody has answered (core.command; false: the script), so its further breakpoints are passed; nil:
-- there was none.
local unanswered

local function is_passed()
    return unanswered == (core.command or false)
end

--- Nobody answers: that is told, and breakpoints are passed from here on.
local function pass(state, why)
    state.ended, unanswered = "continue", core.command or false
    io.stderr:write("neap: breakpoints are passed from here on: ", why, "\n")
end

--- A command that the front end of a notebook asks for; nil, and why: it does not.
local function ask(prompt)
    local ok, text = pcall(core.ask, prompt, false)
    while ok and repl.incomplete(text) do
        local good, more = pcall(core.ask, ">> ", false)
        ok, text = good, good and text .. "\n" .. more or more
    end
    core.check_interrupt()
    if ok then return text end
    return nil, text
end

--- Reads a command; nil: the input has ended, false: Ctrl-C has ended the line.
local function read_command(state)
    local text, problem
    if core.ask then
        text, problem = ask(state.prompt)
    else
        local reader = repl.reader
        repl.reader = state.session
        text = system.read_command(state.prompt)
        repl.reader = reader
        if text == nil and not console.is_terminal(0) then problem = "standard input has ended" end
    end
    if problem and state.passes then
        pass(state, problem)
    elseif text == nil then
        state.ended = "continue"
    end
    return text
end

--- Reads and runs one command. What it raises is told; Ctrl-C ends the command, in a notebook the cell.
local function run_command(state)
    local text = read_command(state)
    if text == nil then return end
    core.check_interrupt() -- by SIGTERM: others have been forgotten
    if not text then return end
    local ok, problem = pcall(run_text, state, text)
    if core.ask then core.check_interrupt() end
    if core.C.neap_interrupt_pending() ~= 0 then system.forget_interrupt() end
    if not ok then io.stderr:write(tostring(problem), "\n") end
end

--- Opens the prompt for frames. `given`: the names of values that are shown first.
local function open(list, prompt, hint, given)
    local state = { frames = list, at = 1, prompt = prompt, passes = prompt == BREAKPOINT,
                    session = { scope = locals_of.scope(), words = words } }
    state.session.state = state
    function state.variables() return frames.variables(state.frames[state.at]) end
    say(hint)
    local mesh, manual = axes.mesh()
    if mesh then
        say(("inside np.shard_map over %s of the mesh %s: arrays are blocks, one for each device"):format(
            require("neap.mesh.sharding").names_text(mesh, manual), mesh:axes_text()))
    end
    if given then say_values(given, frames.locals(list[1]).values) end
    repeat run_command(state) until state.ended
    return state.ended
end

local function hint_at(frame, where)
    return "breakpoint at " .. frame.text .. where .. show.faint "  (:c goes on, :h tells more)"
end

--- What np.breakpoint does. given: values by name, and their names in order, or nil.
function breakpoint.open(given, names)
    local list = frames.here()
    if not list[1] or is_passed() then return end
    list[1].given, list[1].given_names = given, names
    local ended = open(list, BREAKPOINT, hint_at(list[1], ""), names)
    if ended == "quit" then core.fail("stopped at a breakpoint") end
end

--- "; device i=0, j=1", of coordinates by name.
local function device_text(coordinates)
    local parts = {}
    for name, at in pairs(coordinates or {}) do parts[#parts + 1] = ("%s=%d"):format(name, at) end
    table.sort(parts)
    return parts[1] and "; device " .. table.concat(parts, ", ") or ""
end

--- What it does in a function that is traced. Leaving the prompt by `:q` is Ctrl-C: where the script stands by then, no
-- line of its own could raise an error.
function breakpoint.record(given, names, ordered)
    recorded.push(function(list, coordinates)
        if not list[1] or is_passed() then return end
        local ended = open(list, BREAKPOINT, hint_at(list[1], device_text(coordinates)), names)
        if ended == "quit" then
            libc.neap_breakpoint_raise(SIGINT)
            error("stopped at a breakpoint", 0)
        end
    end, given, names, ordered)
end

--- What `:debug` does.
function breakpoint.examine(failed)
    open(failed, "(debug) ", failed.message .. "\nat " .. failed[1].text .. show.faint "  (:q leaves, :h tells more)")
end

for _, row in pairs(words) do jit.off(row.run) end
for _, f in ipairs { run_text, ask, read_command, run_command, open, move, breakpoint.open, breakpoint.record,
                      breakpoint.examine } do
    jit.off(f, true)
end

return breakpoint
