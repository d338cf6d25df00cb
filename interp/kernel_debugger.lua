--- kernel_debugger.lua: the debugger of notebooks: Jupyter's debug_request on the control channel, whose content is a
-- request of the Debug Adapter Protocol, with some of Jupyter's own.
--
--     front end ─ debug_request ─▶ a command below ─▶ debug_reply;  stops ─▶ debug_event ("stopped", "continued")
--
-- It lists the variables of the session also where nobody is attached. A cell is known by the file that it would be in:
-- the hash of its text (Murmur2, which the front end computes too) between a prefix and a suffix; no such file is made.
-- Cells are what can be stopped. There is one thread, number 1.
local ffi = require "ffi"
local bit = require "bit"
local channels = require "neap.interp.channels"
local breakpoints = require "neap.interp.kernel_breakpoints"
local expressions = require "neap.interp.kernel_expressions"
local frames = require "neap.interp.frames"
local json = require "neap.files.json"
local messages = require "neap.interp.kernel_messages"
local repl = require "neap.interp.repl"
local source = require "neap.core.source"
local stops = require "neap.interp.kernel_stops"
local variables = require "neap.interp.kernel_variables"

ffi.cdef "int getpid(void);"

local debugger = {}

local THREAD, SUFFIX = 1, ".lua"
local UNCAUGHT = "uncaught" -- the filter of exceptions
local SEED = 0xc70f6907 -- of the hash, as other kernels have it
local PREFIX = ("/tmp/neap_%d/"):format(tonumber(ffi.C.getpid()))

local attend -- of kernel_loop.lua
local stopped -- what is stopped: { frames, depth, ended = whether it goes on }; nil: nothing is
local dumped = {} -- texts of cells, by their files
local points = {} -- breakpoints as they were answered, by file
local sequence = 0 -- of what was sent
local stops_at_errors = false

--- Refuses a request, with the message of its reply.
local function refuse(text, ...)
    error({ refused = text:format(...) }, 0)
end

-- ---- Cells ----------------------------------------------------------------------------------------------------------

local function times(a, b)
    return tonumber(bit.band(ffi.cast("int64_t", bit.tobit(a)) * b, 0xffffffffLL))
end

local FACTOR = 0x5bd1e995

--- Murmur2 of 32 bits (Austin Appleby, public domain), of the bytes of a text.
local function hash(text)
    local h, n = bit.bxor(SEED, #text), #text
    for at = 1, n - 3, 4 do
        local a, b, c, d = text:byte(at, at + 3)
        local k = times(bit.bor(a, bit.lshift(b, 8), bit.lshift(c, 16), bit.lshift(d, 24)), FACTOR)
        k = times(bit.bxor(k, bit.rshift(k, 24)), FACTOR)
        h = bit.bxor(times(h, FACTOR), k)
    end
    local rest = n % 4
    if rest > 0 then
        for k = rest, 1, -1 do h = bit.bxor(h, bit.lshift(text:byte(n - rest + k), 8 * (k - 1))) end
        h = times(h, FACTOR)
    end
    h = times(bit.bxor(h, bit.rshift(h, 13)), FACTOR)
    return bit.band(bit.bxor(h, bit.rshift(h, 15)), 0xffffffff) % 2 ^ 32
end

--- The file of a text.
local function file_of(text)
    return ("%s%.0f%s"):format(PREFIX, hash(text), SUFFIX)
end

local known = {} -- the last text of each chunk, with its file

--- The file that a chunk is in: that of its cell.
local function file_of_chunk(name)
    if name:sub(1, 1) == "@" then return name:sub(2) end
    local text = source.text(name)
    if not text then return name:sub(2) end
    local last = known[name]
    if not last or last.text ~= text then
        last = { text = text, file = file_of(text) }
        known[name] = last
    end
    return last.file
end

--- The set of lines of a text before which the code can stop, also in the functions in it.
local function lines_of(text)
    local found, util = {}, require "jit.util"
    local function add(prototype)
        local about = util.funcinfo(prototype)
        for pc = 1, about.bytecodes - 1 do found[util.funcinfo(prototype, pc).currentline] = true end
        for k = -1, -about.gcconsts, -1 do
            local constant = util.funck(prototype, k)
            if type(constant) == "proto" then add(constant) end
        end
    end
    for _, chunk in ipairs(repl.chunks(text)) do add(chunk) end
    return found
end

-- ---- Events ---------------------------------------------------------------------------------------------------------

local function next_sequence()
    sequence = sequence + 1
    return sequence
end

local function tell(event, body)
    messages.publish(nil, "debug_event", { type = "event", seq = next_sequence(), event = event,
                                           body = body or json.object })
end

-- ---- Names ----------------------------------------------------------------------------------------------------------

--- What gives the value of each name in a frame; without one, in the innermost function of the user's.
local function value_named(frame)
    frame = frame or frames.here()[1]
    local own, names = {}, {}
    if frame then own, names = frames.variables(frame) end
    local others
    return function(name)
        if names[name] then return own[name] end
        others = others or repl.variables()
        return others[name]
    end
end

-- ---- Commands -------------------------------------------------------------------------------------------------------

local commands = {} -- by name: f(arguments), which returns the body of the reply
local always = {} -- names of those that need no attached debugger

function commands.debugInfo()
    local list = {}
    for file, found in pairs(points) do list[#list + 1] = { source = file, breakpoints = found } end
    return { isStarted = stops.is_attached(), hashMethod = "Murmur2", hashSeed = SEED, tmpFilePrefix = PREFIX,
             tmpFileSuffix = SUFFIX, breakpoints = list, stoppedThreads = stopped and { THREAD } or {},
             richRendering = true, exceptionPaths = {}, copyToGlobals = false }
end

function commands.initialize()
    stops.attach()
    return { supportsConfigurationDoneRequest = true, supportsEvaluateForHovers = true,
             supportsConditionalBreakpoints = true, supportsHitConditionalBreakpoints = true, supportsLogPoints = true,
             exceptionBreakpointFilters = {
                 { filter = UNCAUGHT, label = "Errors", default = false,
                   description = "stop where an error is raised that no pcall catches" } } }
end

function commands.attach()
    tell("initialized")
end

function commands.configurationDone() end

--- Of the filters, of which there is one, the client names those that are on.
function commands.setExceptionBreakpoints(arguments)
    local filters = type(arguments.filters) == "table" and arguments.filters or {}
    stops_at_errors = false
    for _, filter in ipairs(filters) do stops_at_errors = stops_at_errors or filter == UNCAUGHT end
    return { breakpoints = {} }
end

function commands.modules() return { modules = {}, totalModules = 0 } end
function commands.threads() return { threads = { { id = THREAD, name = "cells" } } } end

function commands.disconnect()
    stops.detach()
    points, stops_at_errors = {}, false
    if stopped then stopped.ended = true end
end

function commands.dumpCell(arguments)
    if type(arguments.code) ~= "string" then refuse "code must be a text" end
    local file = file_of(arguments.code)
    dumped[file] = arguments.code
    return { sourcePath = file }
end

local function path_of(arguments)
    local path = type(arguments.source) == "table" and arguments.source.path
    if type(path) ~= "string" then refuse "source.path must be a text" end
    return path
end

--- A breakpoint stands on the first line from the wanted one on that has code. One whose condition does not read is
-- none, and says why.
function commands.setBreakpoints(arguments)
    local file, list, lines = path_of(arguments), {}, {}
    local wanted = type(arguments.breakpoints) == "table" and arguments.breakpoints or {}
    local text = dumped[file]
    local has_code = text and lines_of(text) or {}
    local last = select(2, (text or ""):gsub("\n", "")) + 1
    for k, one in ipairs(wanted) do
        one = type(one) == "table" and one or {}
        local line = tonumber(one.line) or 0
        while line < last and not has_code[line] do line = line + 1 end
        local has_line = has_code[line] == true
        local stop, problem = nil, text and "no code from this line on" or "no cell has this text"
        if has_line then stop, problem = breakpoints.new(one, value_named) end
        list[k] = { verified = problem == nil, line = has_line and line or one.line, source = { path = file },
                    condition = one.condition, hitCondition = one.hitCondition, logMessage = one.logMessage,
                    message = problem }
        if stop then lines[line] = breakpoints.both(lines[line], stop) end
    end
    points[file] = list[1] and list or nil
    stops.set(file, lines)
    return { breakpoints = list }
end

function commands.source(arguments)
    local text = dumped[path_of(arguments)]
    if not text then refuse "no cell has this text" end
    return { content = text }
end

-- ---- While a cell is stopped ----------------------------------------------------------------------------------------

local function the_stop()
    return stopped or refuse "no cell is stopped"
end

local function frame_at(id)
    return the_stop().frames[id] or refuse("there is no frame %s", tostring(id))
end

function commands.stackTrace()
    local list = {}
    for k, frame in ipairs(the_stop().frames) do
        local file = file_of_chunk(frame.source)
        list[k] = { id = k, name = frame.text:match ", in (.*)$" or frame.text, line = frame.line, column = 1,
                    source = { path = file, name = file:match "[^/]*$" } }
    end
    return { stackFrames = list, totalFrames = #list }
end

--- The user's globals, and what earlier cells have declared.
function commands.scopes(arguments)
    local frame = frame_at(arguments.frameId)
    local own = frames.variables(frame)
    local list = {}
    for name, values in pairs { Locals = own, Globals = repl.variables() } do
        list[#list + 1] = { name = name, variablesReference = variables.hold(values, true), expensive = false }
    end
    table.sort(list, function(a, b) return a.name > b.name end) -- "Locals" first
    return { scopes = list }
end

--- A command by which a stopped cell goes on: to where `kind` says, or to the next breakpoint.
local function going(kind)
    return function()
        local stop = the_stop()
        stop.kind, stop.ended = kind, true
        return { allThreadsContinued = true }
    end
end

commands["continue"], commands.next = going(nil), going "over"
commands.stepIn, commands.stepOut = going "in", going "out"

--- Stops the cell that runs in front of the next line of its code.
function commands.pause()
    if not stopped then stops.step "in" end
end

-- ---- Variables ------------------------------------------------------------------------------------------------------

function commands.inspectVariables()
    if not stopped then variables.forget() end
    return { variables = variables.by_name(repl.variables()) }
end

function commands.variables(arguments)
    local list = variables.inside(arguments.variablesReference, arguments.start, arguments.count)
    return { variables = list or refuse("there is no variable behind the reference %s",
                                        tostring(arguments.variablesReference)) }
end

function commands.richInspectVariables(arguments)
    local name, value = arguments.variableName, nil
    local own = stopped and stopped.frames[arguments.frameId]
    if own then value = frames.variables(own)[name] end
    if value == nil then value = repl.variables()[name] end
    if value == nil then return { data = json.object, metadata = json.object } end
    local data, metadata = variables.rich(value, stopped ~= nil)
    return { data = data, metadata = metadata or json.object }
end

--- What is wanted to be known of a stopped cell. Nothing of the user's runs there, since nothing could end it.
function commands.evaluate(arguments)
    local stop, text = the_stop(), arguments.expression
    if type(text) ~= "string" then refuse "expression must be a text" end
    local frame = stop.frames[arguments.frameId] or stop.frames[1]
    local read, problem = expressions.read(text)
    if not read then refuse("%s", problem) end
    local ok, value = expressions.value(read, value_named(frame))
    return ok and variables.evaluated(value) or refuse("%s", value)
end

for _, name in ipairs { "debugInfo", "initialize", "inspectVariables", "variables", "richInspectVariables", "modules",
                        "disconnect" } do
    always[name] = true
end

-- ---- Requests -------------------------------------------------------------------------------------------------------

--- The body of the reply to a command.
local function perform(name, arguments)
    local command = commands[name]
    if not command then refuse("there is no command '%s'", tostring(name):sub(1, 60)) end
    if not always[name] and not stops.is_attached() then refuse "no debugger is attached" end
    return command(type(arguments) == "table" and arguments or {})
end

--- Answers a debug_request.
local function answer(_, content)
    local ok, body = pcall(perform, content.command, content.arguments)
    local reply = { type = "response", seq = next_sequence(), request_seq = content.seq, success = ok,
                    command = content.command, body = ok and body or json.object }
    if not ok then reply.message = type(body) == "table" and body.refused or tostring(body):match "^[^\n]*" end
    return reply
end

--- Waits while a cell is stopped. message: of the error that has stopped it, or of a breakpoint.
local function wait(reason, depth, message)
    channels.flush()
    variables.forget()
    stopped = { frames = frames.here(), ended = false }
    if not stopped.frames[1] then
        stopped = nil
        return
    end
    tell("stopped", { reason = reason, threadId = THREAD, allThreadsStopped = true, text = message,
                      description = message and (reason == "exception" and "Error: " or "") .. message or nil })
    attend(function() return stopped.ended end)
    local kind = stopped.ended and stopped.kind
    stopped = nil
    variables.forget()
    tell("continued", { threadId = THREAD, allThreadsContinued = true })
    if kind and depth and stops.is_attached() then stops.step(kind, depth) end
end

--- Stops where an error was raised, if that is wanted; behind it the cell ends.
local function stop_at_error(message)
    if stops_at_errors and not stopped and stops.sees_error() then
        wait("exception", nil, message:match "^[^\n]*")
    end
end

--- Adds the handler.
function debugger.install(handlers, loop)
    attend = loop.attend
    stops.wait, stops.source = wait, file_of_chunk
    function stops.poll() attend() end
    frames.stop = stop_at_error
    handlers.debug_request = answer
end

for _, f in pairs(commands) do jit.off(f, true) end
for _, f in ipairs { hash, lines_of, perform, answer, wait, value_named, stop_at_error } do jit.off(f, true) end

return debugger
