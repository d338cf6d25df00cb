--- kernel_execute.lua: running cells: results, errors, displays, questions to the user.
--
-- A cell is run as a command of the prompt (repl.lua), and is over when all its effects have happened. What it shows is
-- published in the order of effects: results behind all text that was printed before them. A cell that ends the process
-- is answered too.
local core = require "neap.core"
local channels = require "neap.interp.channels"
local drain = require "neap.interp.drain"
local history = require "neap.interp.kernel_history"
local json = require "neap.files.json"
local input = require "neap.interp.kernel_input"
local messages = require "neap.interp.kernel_messages"
local shared = require("neap.core.globals").shared
local questions = require "neap.interp.questions"
local repl = require "neap.interp.repl"
local results = require "neap.interp.results"
local rich = require "neap.interp.rich"
local stops = require "neap.interp.kernel_stops"
local system = require "neap.interp.system"

local execute = {}

-- The cell that runs: its request and code, the number of cells before it, whether it is silent, whether it is kept,
-- the text of its result, and what its answer asks of the front end. nil: none runs.
local cell

-- ---- What a cell shows ----------------------------------------------------------------------------------------------

--- Takes the place of the prompt's way to show values. A cell shows those of its last expression.
local function present(is_last, ...)
    if not is_last then return end
    core.np.effects_barrier()
    local count = select("#", ...)
    local bundle, metadata
    if count == 1 then
        bundle, metadata = rich.bundle((...))
    else
        local texts = {}
        for k = 1, count do texts[k] = rich.text((select(k, ...))) end
        bundle = { ["text/plain"] = table.concat(texts, "\n") }
    end
    core.np.effects_barrier()
    if cell.silent then return end
    cell.output = bundle["text/plain"]
    messages.publish(cell.request, "execute_result", {
        data = bundle, metadata = metadata or json.object, execution_count = results.count,
    })
end

--- What np.display does in a notebook. It may happen late, in a callback.
local function show_display(value, how)
    local bundle, metadata = rich.bundle(value)
    for mime, data in pairs(how.metadata or {}) do
        metadata = metadata or {}
        metadata[mime] = data
    end
    messages.wait_for_room()
    messages.publish(nil, how.update and "update_display_data" or "display_data", {
        data = bundle, metadata = metadata or json.object,
        transient = how.display_id and { display_id = how.display_id } or json.object,
    })
end

--- What np.plot.show does in a notebook.
local function show_figure(figure)
    core.np.display(figure:__display())
end

local live_figures = 0

--- Shows curves that grow, in the place where they were shown before; returns what they are known by there.
local function update_figure(figure, known)
    if known then
        core.np.update_display(figure:__display(), known)
        return known
    end
    live_figures = live_figures + 1
    known = ("neap-live-%d"):format(live_figures)
    core.np.display(figure:__display(), { display_id = known })
    return known
end

local function clear_output(wait)
    messages.publish(nil, "clear_output", { wait = wait })
end

--- Help goes to the front end's pager.
local function tell(text)
    if not cell then return print(text) end
    table.insert(cell.payload, { source = "page", start = 0, data = { ["text/plain"] = text } })
end

-- ---- Running --------------------------------------------------------------------------------------------------------

--- Shows the figures that the cell drew and did not show, if it is `wanted`. Returns whether there were any.
local function show_rest(wanted)
    local show = package.loaded["neap.plot.show"]
    return show and show.rest(wanted)
end

local function run_code(code)
    repl.run(code)
    show_rest(not cell.silent)
    core.np.effects_barrier()
end

local function show_drawn()
    if show_rest(true) then core.np.effects_barrier() end
end

--- Shows, as IPython does, what a cell drew before its error. That a figure cannot be shown is no second error. Behind
-- an interrupt none is shown: what takes so long may be its data.
local function show_before_error(interrupted)
    if interrupted or cell.silent or not system.try(show_drawn) then show_rest(false) end
end

--- The values of expressions that the client asks for besides.
local function evaluate(expressions)
    local found, any = {}, false
    for name, code in pairs(type(expressions) == "table" and expressions or {}) do
        local ok, answer = system.try(function()
            local _, value = repl.compile(tostring(code), repl.main)()
            return { status = "ok", data = rich.bundle(value), metadata = json.object }
        end)
        if not ok then
            answer = messages.error_parts(answer)
            answer.status = "error"
        end
        found[name], any = answer, true
    end
    return any and found or json.object
end

--- The number of the cell, which is kept for later sessions, or forgotten. One of blanks has not counted.
local function count_cell()
    local number = math.max(results.count, 1)
    if cell.keep then
        if results.count > cell.before then history.keep(results.count, cell.code, cell.output) end
    else
        results.count = cell.before
    end
    return number
end

--- Tells of the cell, and runs it: an interrupt that stops the telling is the cell's, too.
local function tell_and_run(code)
    if not cell.silent then
        messages.publish(cell.request, "execute_input", { code = code, execution_count = cell.before + 1 })
    end
    return run_code(code)
end

local function run_cell(request, content, loop)
    local code, silent = content.code, content.silent == true
    if type(code) ~= "string" then error("execute_request: its code is no text", 0) end
    channels.begin(request)
    cell = { request = request, code = code, before = results.count, silent = silent, payload = {},
             keep = not silent and content.store_history ~= false }
    input.open(request, content.allow_stdin ~= false)
    stops.arm()
    local ok, text, interrupted = system.try(tell_and_run, code)
    stops.disarm()
    local reply = { status = "ok", payload = cell.payload, user_expressions = json.object }
    if ok then
        reply.user_expressions = evaluate(content.user_expressions)
        channels.flush()
    else
        reply = messages.error_parts(text, interrupted)
        drain.end_bars()
        show_before_error(interrupted)
        channels.flush()
        if not silent then
            messages.publish(request, "error",
                             { ename = reply.ename, evalue = reply.evalue, traceback = reply.traceback })
        end
        reply.status, reply.user_expressions, reply.payload = "error", json.object, {}
    end
    reply.execution_count = count_cell()
    input.close()
    cell = nil
    if ok or silent or content.stop_on_error == false then return reply end
    local cells = loop.take_cells() -- before the answer, so that a cell that is sent because of it runs
    messages.answer(request, "execute_reply", reply)
    loop.abort(cells)
end

--- The cell that runs ends the process: it has gone well, and its client is told to leave, as by IPython's `exit`.
local function answer_last()
    table.insert(cell.payload, { source = "ask_exit", keepkernel = false })
    messages.answer(cell.request, "execute_reply", {
        status = "ok", payload = cell.payload, user_expressions = json.object, execution_count = count_cell(),
    })
    messages.publish(cell.request, "status", { execution_state = "idle" })
end

--- Lets os.exit, which is `exit` and `quit` too, send what there is to send. It may be called late, in a callback, when
-- no cell runs. What is no exit status is an error, behind which the kernel lives.
local function finish_before_exit()
    local os = shared.os
    local exit = os.exit
    function os.exit(status, close)
        if status ~= nil and type(status) ~= "boolean" and type(status) ~= "number" then return exit(status) end
        drain.finish(0, true)
        channels.flush()
        if cell then answer_last() end
        channels.close()
        return exit(status, close)
    end
    jit.off(os.exit)
end

local function collected(...)
    channels.flush()
    return ...
end

--- What a child writes comes before what is written behind its end: closing a file of io.popen waits for that.
local function collect_children()
    local files, io, os = shared.files, shared.io, shared.os
    local run, close, io_close = os.execute, files.close, io.close
    function os.execute(...) return collected(run(...)) end
    function files.close(...) return collected(close(...)) end
    function io.close(...) return collected(io_close(...)) end
    for _, f in ipairs { os.execute, files.close, io.close } do jit.off(f) end
end

--- Adds the handler, and lets neap show things to the notebook.
function execute.install(handlers, loop)
    function handlers.execute_request(request, content) return run_cell(request, content, loop) end
    jit.off(handlers.execute_request)
    repl.present = present
    questions.tell = tell
    core.display = { show = show_display, clear = clear_output, bars = true } -- bars: of np.progress, too
    core.show_figure, core.update_figure = show_figure, update_figure
    input.install()
    collect_children()
    finish_before_exit()
end

local unjitted = { present, show_display, show_figure, update_figure, run_code, show_drawn, show_before_error,
                   tell_and_run, evaluate, run_cell, answer_last }
for _, f in ipairs(unjitted) do jit.off(f, true) end

return execute
