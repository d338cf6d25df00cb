--- breakpoint.lua: the prompt inside of a function: that of np.breakpoint, and of `:debug` after an error.
--
-- It is the prompt (repl.lua), with names looked up in the chosen function (frames.lua): local variables, then
-- upvalues, then globals; and with some commands more, the words below. Lines come from the prompt's editor.
local core = require "neap.core"
local axes = require "neap.tracing.axes"
local commands = require "neap.interp.commands"
local frames = require "neap.interp.frames"
local locals_of = require "neap.interp.locals"
local repl = require "neap.interp.repl"
local show = require "neap.interp.show"
local system = require "neap.interp.system"

local breakpoint = {}

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

word("locals", "the local variables here", function(state)
    local locals, mesh = frames.locals(state.frames[state.at]), axes.mesh()
    for _, name in ipairs(locals.names) do
        local value = locals.values[name]
        if core.is_array(value) and mesh then say(name .. " =", value) else say(name .. " = " .. show.text(value)) end
    end
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

--- Runs a command with the names of the chosen function.
local function run_text(state, text)
    local frame, session = state.frames[state.at], state.session
    local locals, before = frames.locals(frame), {}
    for name, value in pairs(locals.values) do before[name] = value end
    session.environment = frames.environment(frame, locals)
    local ok, problem = pcall(repl.run, text, session)
    frames.write(frame, locals, before)
    session.scope:settle()
    if not ok then error(problem, 0) end
end

--- Reads and runs one command. What it raises is told; Ctrl-C ends the command.
local function run_command(state)
    local reader = repl.reader
    repl.reader = state.session
    local text = system.read_command(state.prompt)
    repl.reader = reader
    if text == nil then
        state.ended = "continue"
        return
    end
    core.check_interrupt() -- by SIGTERM: others have been forgotten
    if not text then return end
    local ok, problem = pcall(run_text, state, text)
    if core.C.neap_interrupt_pending() ~= 0 then system.forget_interrupt() end
    if not ok then io.stderr:write(tostring(problem), "\n") end
end

local function open(list, prompt, hint)
    local state = { frames = list, at = 1, prompt = prompt, session = { scope = locals_of.scope(), words = words } }
    state.session.state = state
    function state.variables() return frames.variables(state.frames[state.at]) end
    say(hint)
    local mesh, manual = axes.mesh()
    if mesh then
        say(("inside np.shard_map over %s of the mesh %s: arrays are blocks, one for each device"):format(
            require("neap.mesh.sharding").names_text(mesh, manual), mesh:axes_text()))
    end
    repeat run_command(state) until state.ended
    return state.ended
end

--- What np.breakpoint does.
function breakpoint.open()
    local list = frames.here()
    if not list[1] then return end
    local hint = show.faint "  (:c goes on, :h tells more)"
    local ended = open(list, "(breakpoint) ", "breakpoint at " .. list[1].text .. hint)
    if ended == "quit" then core.fail("stopped at a breakpoint") end
end

--- What `:debug` does.
function breakpoint.examine(failed)
    open(failed, "(debug) ", failed.message .. "\nat " .. failed[1].text .. show.faint "  (:q leaves, :h tells more)")
end

for _, row in pairs(words) do jit.off(row.run) end
for _, f in ipairs { run_text, run_command, open, move, breakpoint.open, breakpoint.examine } do jit.off(f, true) end

return breakpoint
