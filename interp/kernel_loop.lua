--- kernel_loop.lua: the life of a kernel: takes requests from the channels, one at a time, and has them answered.
--
--     request ─▶ status busy ─▶ handler (kernel_execute, kernel_questions) ─▶ answer ─▶ its text ─▶ status idle
--
-- While there is none the loop waits as the prompt does: callbacks run, late text goes to the cell that has caused it,
-- and a second interrupt gives up what cells have left running.
local core = require "neap.core"
local channels = require "neap.interp.channels"
local drain = require "neap.interp.drain"
local input = require "neap.interp.input"
local json = require "neap.files.json"
local messages = require "neap.interp.kernel_messages"
local repl = require "neap.interp.repl"
local system = require "neap.interp.system"

local C = core.C
local loop = {}

local SLEEP_MS, HELP_NS = 1000, 200000
local QUIET, HELD_MOST = 0.1, 2 -- seconds: see loop.take_cells

local handlers = {} -- by type: f(request, content), which returns the content of the answer, if there is one
local put_back = {} -- requests that were taken and wait again
local stopped = false
local unanswered = false -- an interrupt came, and nothing has been done about it
local pressed = false -- one came since the last cell, and found none running

-- ---- Interrupts -----------------------------------------------------------------------------------------------------
-- An interrupt is the cell's while one runs. Any other is kept until the loop waits: what a cell has left running is
-- what it is for, also where it comes right behind the cell's end.

--- Keeps an interrupt for later.
local function keep_interrupt()
    if C.neap_interrupt_pending() == 0 then return end
    unanswered = true
    system.forget_interrupt()
end

--- Does what a kept interrupt asks for while no cell runs.
local function answer_interrupt()
    if not unanswered then return end
    unanswered = false
    pcall(drain.press, pressed)
    pressed = true
end

--- f(…), called again if an interrupt has stopped it: Lua's functions of texts raise one, but no code of the user's
-- runs here that it could be meant for.
local function undisturbed(f, ...)
    while true do
        local ok, first, second = pcall(f, ...)
        if ok then return first, second end
        if C.neap_interrupt_pending() == 0 then error(first, 0) end
        keep_interrupt()
    end
end

loop.undisturbed = undisturbed

-- ---- One request ----------------------------------------------------------------------------------------------------

--- A JSON object of a request as a table; complains about what is none.
local function read_object(text, what, channel)
    local ok, value = pcall(undisturbed, json.read, text)
    if ok and type(value) == "table" then return value end
    channels.complain(("%s: a message is ignored: its %s is no JSON object%s"):format(
        channel, what, ok and "" or " (" .. tostring(value) .. ")"))
end

--- The next request that has come, as { request, channel, id, type, content }; nil: none.
local function take_new()
    while true do
        local request, channel, header, _, content = channels.take(false)
        if not request then return nil end
        header = read_object(header, "header", channel)
        content = header and read_object(content, "content", channel)
        if content and type(header.msg_type) == "string" then
            local id = type(header.msg_id) == "string" and header.msg_id or ""
            return { request = request, channel = channel, id = id, type = header.msg_type, content = content }
        elseif content then
            channels.complain(channel .. ": a message is ignored: its header has no msg_type")
        end
    end
end

--- The next request to handle.
local function take()
    if put_back[1] then return table.remove(put_back, 1) end
    return take_new()
end

--- Whether the next request is here already, and is a message of a comm.
function loop.comm_follows()
    local taken = take()
    if not taken then return false end
    table.insert(put_back, 1, taken)
    return taken.type == "comm_msg"
end

local function answer_type(request_type)
    return (request_type:gsub("_request$", "")) .. "_reply"
end

local function handle(taken)
    local request, handler = taken.request, handlers[taken.type]
    local is_cell = taken.type == "execute_request"
    if is_cell then unanswered, pressed = false, false end
    messages.parent = taken.id
    undisturbed(messages.publish, request, "status", { execution_state = "busy" })
    if is_cell and unanswered then
        unanswered = false
        system.interrupt() -- the cell
    end
    if handler then
        local ok, content, interrupted = system.try(handler, request, taken.content, taken)
        if not ok then
            if not interrupted then channels.complain(("%s: %s"):format(taken.type, content)) end
            content = undisturbed(messages.error_parts, content, interrupted)
            content.status = "error"
        end
        if content then
            channels.flush()
            undisturbed(messages.answer, request, undisturbed(answer_type, taken.type), content)
        end
    elseif undisturbed(string.find, taken.type, "_request$") then
        channels.complain(("%s: there is no answer to a message of the type '%s'"):format(taken.channel,
                                                                                         taken.type:sub(1, 60)))
    end
    channels.flush()
    undisturbed(messages.publish, request, "status", { execution_state = "idle" })
    keep_interrupt()
end

--- The cells that a client has sent before it can know of an error: those that wait, and those that come until none has
-- come for QUIET seconds. A front end that runs all cells sends them one after the other; the first of them may have
-- failed before the last one is here. They are not held for longer than HELD_MOST.
function loop.take_cells()
    local cells, clock = {}, core.np.clock
    local limit = clock() + HELD_MOST
    local quiet = clock() + QUIET
    input.wait_until(function()
        keep_interrupt()
        for taken in take_new do
            local is_cell = taken.type == "execute_request"
            table.insert(is_cell and cells or put_back, taken)
            if is_cell then quiet = clock() + QUIET end
        end
        return clock() >= math.min(quiet, limit)
    end, function() C.neap_waker_sleep(core.waker, 1 + 1000 * math.max(math.min(quiet, limit) - clock(), 0)) end)
    return cells
end

--- Answers cells that another one's error has kept from running.
function loop.abort(cells)
    for _, taken in ipairs(cells) do
        messages.publish(taken.request, "status", { execution_state = "busy" })
        messages.answer(taken.request, "execute_reply", { status = "aborted" })
        messages.publish(taken.request, "status", { execution_state = "idle" })
    end
end

-- ---- Control --------------------------------------------------------------------------------------------------------

function handlers.shutdown_request(request, content)
    stopped = true
    local reply = { status = "ok", restart = content.restart == true }
    messages.publish(request, "shutdown_reply", reply)
    return reply
end

--- The interrupt itself was raised when the message came.
function handlers.interrupt_request()
    answer_interrupt()
    return { status = "ok" }
end

function handlers.kernel_info_request()
    return {
        status = "ok", protocol_version = "5.4", implementation = "neap", implementation_version = core.version,
        banner = "neap " .. core.version .. ", arrays in np; ?NAME tells of a name, :help of commands",
        language_info = {
            name = "lua", version = jit.version, mimetype = "text/x-lua", file_extension = ".lua",
            pygments_lexer = "lua", codemirror_mode = "lua", nbconvert_exporter = "script",
        },
        help_links = { { text = "Lua 5.1 manual", url = "https://www.lua.org/manual/5.1/" } },
        debugger = true, supported_features = { "debugger" },
    }
end

-- ---- The debugger ---------------------------------------------------------------------------------------------------

local ATTENDED = { debug_request = true, kernel_info_request = true }

--- Answers what a debugger asks, and lets all else wait, while a cell is stopped: until `ended()` is true, or an
-- interrupt comes, which is the cell's; or, without `ended`, what has come by now. No callback runs meanwhile.
function loop.attend(ended)
    local parent, orphaned = messages.parent, false
    local function may_go_on()
        orphaned = channels.orphaned()
        return not orphaned and not unanswered and C.neap_interrupt_pending() == 0 and not (ended and ended())
    end
    while may_go_on() do
        C.neap_waker_clear(core.waker)
        local taken = take_new()
        if taken and ATTENDED[taken.type] then
            handle(taken)
        elseif taken then
            put_back[#put_back + 1] = taken
        elseif not ended then
            break
        elseif C.neap_engine_help(HELP_NS) == 0 then
            C.neap_waker_sleep(core.waker, SLEEP_MS)
        end
    end
    messages.parent = parent
    if not unanswered and not orphaned then return end
    unanswered = false
    system.interrupt() -- the cell
end

-- ---- The loop -------------------------------------------------------------------------------------------------------

--- Waits for the next request; nil when who has started the kernel is gone.
local function wait()
    local taken, orphaned
    undisturbed(input.wait_until, function()
        if taken then return true end
        keep_interrupt()
        orphaned = channels.orphaned()
        taken = not orphaned and take() or nil
        if not taken then answer_interrupt() end -- a shutdown sends interrupts, too
        return taken ~= nil or orphaned
    end, function() C.neap_waker_sleep(core.waker, SLEEP_MS) end)
    return taken
end

--- Answers requests until it is time to end.
local function serve()
    repl.open()
    require("neap.interp.kernel_execute").install(handlers, loop)
    require("neap.interp.kernel_questions").install(handlers)
    require("neap.interp.kernel_comms").install(handlers, loop)
    require("neap.interp.kernel_debugger").install(handlers, loop)
    messages.publish(nil, "status", { execution_state = "starting" })
    while not stopped do
        local taken = wait()
        if not taken then break end
        handle(taken)
    end
end

--- Runs a kernel: opens its channels, and closes them whatever happens.
function loop.run(endpoints, key)
    local watched = (os.getenv "JPY_PARENT_PID" or "") ~= "" -- set by who wants the kernel to end with it
    local problem = channels.open(endpoints, key, messages.new_id(), watched)
    if problem then error("kernel: " .. problem, 0) end
    local ok, failure = pcall(serve)
    channels.close()
    system.forget_interrupt() -- which a shutdown sends until the channels are closed
    if not ok then error(failure, 0) end -- who has started the kernel sees it, now that stderr is the process's again
end

for _, f in ipairs { keep_interrupt, answer_interrupt, undisturbed, take_new, take, handle, wait, serve, loop.run,
                     loop.take_cells, loop.abort, loop.comm_follows, loop.attend } do
    jit.off(f, true)
end

return loop
