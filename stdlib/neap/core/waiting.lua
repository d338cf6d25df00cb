--- waiting.lua: what Lua does besides recording: it calls callbacks, waits, and attends to what C asks for. Adds to
-- binding.lua; the others see it as neap.core.
--
--   * C never waits: NEAP_PENDING means "pump, then call again" (see `pump`), and nothing has changed meanwhile.
--   * NEAP_SAFEPOINT means that a call was done, and that C asks for something: a script line, a step of the collector,
--     a sweep, a callback (see `safepoint`).
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core.binding"
local sizes = require "neap.core.sizes"

local band = bit.band
local type = type
local C, ctx, waker, effects = core.C, core.ctx, core.waker, core.effects
local fail, raise_status, user_site, wrap = core.fail, core.raise_status, core.user_site, core.wrap
local reclaim, sweep, check_interrupt, info_box = core.reclaim, core.sweep, core.check_interrupt, core.info_box

local OK, PENDING, SAFEPOINT = C.NEAP_OK, C.NEAP_PENDING, C.NEAP_SAFEPOINT
local E_MEMORY, E_FAILED, E_INTERRUPT = C.NEAP_E_MEMORY, C.NEAP_E_FAILED, C.NEAP_E_INTERRUPT
local SWEEP, COLLECT = C.NEAP_SAFEPOINT_SWEEP, C.NEAP_SAFEPOINT_COLLECT
local SITE, INTERRUPT = C.NEAP_SAFEPOINT_SITE, C.NEAP_SAFEPOINT_INTERRUPT
local STEP, THROTTLE = C.NEAP_SAFEPOINT_STEP, C.NEAP_SAFEPOINT_THROTTLE
local CALLBACK = C.NEAP_SAFEPOINT_CALLBACK
local INSIDE = C.NEAP_REQUESTED_INSIDE
local COLLECT_NOTHING, COLLECT_STEP = C.NEAP_COLLECT_NOTHING, C.NEAP_COLLECT_STEP
local COLLECT_CYCLE, COLLECT_KEEP = C.NEAP_COLLECT_CYCLE, C.NEAP_COLLECT_KEEP
local STEP_SIZE = 200 -- about the garbage, in KiB, that a step deals with
local BATCH = 256

-- ---- Callbacks ------------------------------------------------------------------------------------------------------

-- A callback is known to C by a number. Its *callee* here is a function that takes the arrays of its arguments. Callees
-- are called while Lua waits (`pump`) and after a recording (`safepoint`), so everything of this file that such a call
-- could change under its caller is put back: the boxes below, and what stands in `frame`.
local callees, last_callee = {}, 0
local dropped = ffi.new("int32_t[?]", BATCH)
local taken = ffi.new("neap_taken[1]")
local Kept = ffi.typeof("struct { neap_info info; int64_t attrs[64]; }")
local attrs = ffi.new("int64_t[?]", 64)
core.attrs = attrs -- callers of record1, record2 and recordn fill it from 0

--- Where the code that runs now stands. depth: open callbacks; coroutine: the one ("main" outside of all) in which the
-- innermost of them began; levels: the same for the gradients, traces and deferred modes that were opened since,
-- outermost first; traces: how many of them are traces; brackets: for each call of staging.inside that is open the name
-- of the function that traces, as "jit", or false where none does; swaps: of the traces, { suspend, resume }: they put
-- variables back to what they are outside of the trace, and undo that; axes: named axes that are open, bodies: the
-- coroutines in which the functions run that they are open for (tracing/axes.lua); in_bodies: how many of the traces
-- are of bodies (staging.closed_body).
local frame = { depth = 0, levels = {}, traces = 0, brackets = {}, swaps = {}, bodies = {}, in_bodies = 0 }

--- The frame of the code that runs now.
function core.frame()
    return frame
end

--- Calls f(…) while something is set, and undo() behind it, also where f raises; passes on results and errors. No
-- coroutine may yield out of f: the script would go on with what is set.
function core.during(undo, f, ...)
    local bodies = frame.bodies
    bodies[#bodies + 1] = coroutine.running() or "main"
    local function close(ok, ...)
        bodies[#bodies] = nil
        undo()
        if not ok then error((...), 0) end
        return ...
    end
    jit.off(close)
    return close(pcall(f, ...))
end
jit.off(core.during)

--- Whether what is recorded now may become part of a program.
function core.recording()
    return #frame.levels > 0
end

--- Yielding out of a gradient, a trace, a callback, the body of np.shard_map or deferred mode would leave it open, so
-- that is an error.
function core.check_yield()
    local innermost, running = frame.levels[#frame.levels] or frame.coroutine, coroutine.running()
    if running and (innermost == running or frame.bodies[#frame.bodies] == running) then
        fail("a coroutine cannot yield while a gradient, a trace or a callback, another default device, the body of "
             .. "np.shard_map, or deferred mode, is open that it began")
    end
end

--- Gives a callee a number.
function core.add_callee(callee)
    repeat last_callee = last_callee % 0x7fffffff + 1 until not callees[last_callee]
    callees[last_callee] = callee
    return last_callee
end

--- The callee of a number.
function core.callee(number)
    return callees[number]
end

function core.remove_callee(number)
    callees[number] = nil
end

--- Forgets callees that will not be called any more.
local function forget_callees()
    repeat
        local n = C.neap_callback_dropped(ctx, BATCH, dropped)
        for k = 0, n - 1 do callees[dropped[k]] = nil end
    until n < BATCH
end

--- Calls a callee in a frame of its own.
local function call_callee(callee, arrays)
    local outer, kept = frame, Kept()
    ffi.copy(kept.info, info_box, ffi.sizeof(kept.info))
    ffi.copy(kept.attrs, attrs, ffi.sizeof(kept.attrs))
    for k = #outer.swaps, 1, -1 do outer.swaps[k].suspend() end
    frame = { depth = outer.depth + 1, coroutine = coroutine.running() or "main", levels = {}, traces = 0,
              brackets = {}, swaps = {}, bodies = {}, in_bodies = 0 }
    local sized = sizes.open(false)
    local ok, problem = pcall(callee, arrays)
    sizes.open(sized)
    frame = outer
    for k = 1, #outer.swaps do outer.swaps[k].resume() end
    ffi.copy(info_box, kept.info, ffi.sizeof(kept.info))
    ffi.copy(attrs, kept.attrs, ffi.sizeof(kept.attrs))
    return ok, problem
end

-- Callbacks inside each other, from which on a wait takes an earlier one only when nothing else happens, and looks
-- whether Lua's stack has room for a further one: an overflow between take and end would leave that open.
local DEEP, ROOM = 50, 4000
local nothing = {}

local function check_room()
    if not pcall(unpack, nothing, 1, ROOM) then
        fail("callbacks are nested too deep: there are %d inside each other, and no room on Lua's stack", frame.depth)
    end
end

local LONGEST, KEPT = 900, 200 -- bytes of a failure

--- The text of a failure. Of a long one, which callbacks inside each other have made by turns, the beginning and the
-- end, where the reason is.
local function failure_text(problem)
    local ok, text = pcall(tostring, problem)
    if not ok or type(text) ~= "string" then return "an error without a text" end
    if #text <= LONGEST then return text end
    return text:sub(1, KEPT) .. " … " .. text:sub(-KEPT)
end

--- Calls the next callback whose turn has come. False if there was no memory even to look; and whether it was one of a
-- loop whose next one has to be called now.
local function call_next()
    if frame.depth >= DEEP then check_room() end
    local rc = C.neap_callback_take(ctx, taken)
    if rc == E_MEMORY then
        reclaim()
        rc = C.neap_callback_take(ctx, taken)
    end
    if rc < 0 then return false end
    local number, arrays = taken[0].callee, {}
    if number == 0 then return true end
    for k = 1, taken[0].n do arrays[k] = wrap(taken[0].args[k - 1]) end
    local ok, problem = call_callee(callees[number], arrays)
    local status, text = OK, nil
    if not ok then
        status = C.neap_interrupt_pending() ~= 0 and E_INTERRUPT or E_FAILED
        text = failure_text(problem)
    end
    return true, C.neap_callback_end(ctx, status, text) == PENDING
end

--- Calls the next callback whose turn has come; of a loop, all of them. False if there was no memory even to look.
local function run_callback()
    repeat
        local good, again = call_next()
        if not good then return false end
    until not again
    return true
end

local MOST_CALLBACKS = 100 -- at once: whoever calls this has work of its own

--- Calls the callbacks whose turn has come, in order; returns whether some are left. Their errors go to their results,
-- or to stderr. Not while an interrupt is pending.
function core.run_callbacks()
    local count = 0
    while C.neap_effects_requested(effects) ~= 0 and C.neap_interrupt_pending() == 0 and count < MOST_CALLBACKS do
        if not run_callback() then break end
        count = count + 1
    end
    forget_callees()
    return C.neap_effects_requested(effects) ~= 0
end
local run_callbacks = core.run_callbacks

-- ---- Waiting --------------------------------------------------------------------------------------------------------

local HELP_NS, SLEEP_MS = 200000, 50

--- Whether callbacks wait that the code which waits here may call. `idle`: nothing else happens.
function core.callbacks_due(idle)
    local requested = C.neap_effects_requested(effects)
    return requested == INSIDE or requested ~= 0 and (frame.depth < DEEP or idle)
end
local callbacks_due = core.callbacks_due

-- A whole cycle of Lua's collector; and one after which later ones do not look at what is alive. The interpreter puts
-- its own here, where its LuaJIT has them (session.c).
core.collect, core.keep = collectgarbage, collectgarbage

--- A whole cycle of Lua's collector, and the release of what it has found.
local function cycle(collect)
    C.neap_cycle_begin(ctx)
    collect()
    sweep()
    C.neap_cycle_end(ctx)
end

--- Lets Lua's collector look for dead arrays, if C finds that they are worth its time; returns whether it did.
local function collect_some()
    local due = C.neap_collector_due(ctx)
    if due == COLLECT_CYCLE or due == COLLECT_KEEP then
        cycle(due == COLLECT_KEEP and core.keep or core.collect)
    elseif due == COLLECT_STEP then
        collectgarbage("step", STEP_SIZE)
    end
    return due ~= COLLECT_NOTHING
end

--- The one place where Lua waits, but for input and children (neap.interp.input): calls callbacks, runs small ready
-- work, collects, else sleeps until something has finished, and tries again. `try` makes a C call that may return
-- NEAP_PENDING; the first other status is returned.
local function pump(try)
    local rc, idle = try(), false
    while rc == PENDING do
        check_interrupt()
        if callbacks_due(idle) then
            run_callbacks()
            idle = false
        elseif C.neap_engine_help(HELP_NS) == 0 and not collect_some() then
            C.neap_waker_clear(waker)
            rc = try()
            if rc ~= PENDING then break end
            if not callbacks_due(false) then
                if C.neap_effects_requested(effects) ~= 0 then
                    C.neap_waker_clear(waker) -- `try` may have woken it for the callback that waits, and nothing else
                end
                idle = C.neap_waker_sleep(waker, SLEEP_MS) == 0
            end
        end
        rc = try()
    end
    return rc
end
core.pump = pump

--- Waits for what work in flight holds. Not inside a callback: that work may be what waits for the callback.
local function await_work(try)
    if frame.depth == 0 then pump(try) end
end

--- NEAP_PENDING while the script is too far ahead of the workers.
local function throttle() return C.neap_throttle(ctx) end

local stdout_told = false

--- Raises if stdout cannot be written any more: its reader has gone, or the disk is full.
local function check_stdout()
    local rc = C.neap_out_failure(C.NEAP_STDOUT)
    if rc ~= OK then
        stdout_told = true
        raise_status(rc, "print")
    end
end
core.check_stdout = check_stdout

--- The program has been told of that: only what writes to stdout raises it again.
function core.note_stdout_told() stdout_told = true end

--- What NEAP_SAFEPOINT asked for. New ids must have been wrapped.
local function safepoint()
    local what = C.neap_safepoint(ctx)
    if band(what, SITE) ~= 0 then
        local file, line = user_site()
        if file then C.neap_site(ctx, file, line) end
    end
    core.tell_refused()
    if band(what, COLLECT) ~= 0 then
        reclaim()
    elseif band(what, SWEEP) ~= 0 then
        sweep()
    elseif band(what, STEP) ~= 0 then
        collect_some()
    end
    if band(what, INTERRUPT) ~= 0 then check_interrupt() end
    if band(what, CALLBACK) ~= 0 then
        -- A wait inside a callback, a gradient or a trace has to call others; a recording there can leave them.
        if frame.depth == 0 and #frame.levels == 0 then run_callbacks() else forget_callees() end
    end
    if band(what, THROTTLE) ~= 0 then await_work(throttle) end
    if not stdout_told then check_stdout() end -- a loop of programs that print does not come by `emit`
end

--- NEAP_PENDING while unfinished work holds memory.
local function in_flight() return C.neap_ahead_bytes() > 0 and PENDING or OK end

--- Brings a call that did not return NEAP_OK to its end: waits while it is pending; when memory is short, collects and
-- waits for work in flight, once. Returns NEAP_OK, a failure, or NEAP_SAFEPOINT; after that the caller wraps its ids,
-- then calls safepoint().
local function attempt(rc, try)
    local collected = false
    while true do
        if rc == PENDING then
            rc = pump(try)
        elseif rc == E_MEMORY and not collected then
            collected = true
            C.neap_kept_forget(ctx)
            reclaim()
            await_work(in_flight)
            rc = try()
        else
            return rc
        end
    end
end

--- The same, but raises a failure: of np.name, or of the row of that name.
local function settle(rc, name, try, is_row)
    rc = attempt(rc, try)
    if rc < 0 then raise_status(rc, name, is_row) end
    return rc
end

--- Calls `try`, which returns no ids and is no recording, until it is done; returns nil, or the text of its failure.
function core.failure(try)
    local rc = attempt(try(), try)
    return rc < 0 and ffi.string(C.neap_error_text()) or nil
end

--- Calls `try` until it is done; for calls that return no ids.
function core.call(name, try)
    local rc = try()
    if rc ~= OK and settle(rc, name, try) == SAFEPOINT then safepoint() end
end

--- Calls `try`, which leaves n ids in the int32 array `box`, until it is done; returns their handles in a table.
function core.call_ids(name, box, n, try)
    local rc = try()
    if rc ~= OK then rc = settle(rc, name, try) end
    local handles = {}
    for k = 1, n do handles[k] = wrap(box[k - 1]) end
    if rc == SAFEPOINT then safepoint() end
    return handles
end

core.safepoint, core.settle = safepoint, settle

-- All of this walks the stack, calls back or waits: nothing in it is worth a trace, and a trace would pin handles.
for _, f in ipairs { safepoint, pump, await_work, cycle, collect_some, attempt, settle, forget_callees, check_room,
                     failure_text, call_next, call_callee, run_callback, run_callbacks, core.failure, core.call,
                     core.call_ids } do
    jit.off(f)
end

return core
