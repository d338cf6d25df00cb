--- drain.lua: brings to its end what a program has shown: before an error is told, after Ctrl-C, at the end.
--
-- Everything printed so far is waited for, however long, unless Ctrl-C is pressed. Then a script, and a command that
-- was waiting for its output, still wait while something gets done. After PATIENCE seconds in which nothing did, or at
-- the second press, all work is cancelled: what has not started fails, what runs stops at its next chunk, and prints
-- that wait for it show that in their place. Any other command at the prompt leaves its prints behind: they appear when
-- their values come, above the line that is being typed. After SIGTERM there is less time (HURRY).
--
-- Loops that print go on for AFTERWARDS bytes and no more. At the prompt a press after another one, with no command
-- between them, cancels what still runs, wanted or not.
local ffi = require "ffi"
local core = require "neap.core"
local system = require "neap.interp.system"

local C, pump, waker = core.C, core.pump, core.waker
local OK, PENDING = C.NEAP_OK, C.NEAP_PENDING
local GIVEN_UP = -1000 -- no status of the core
local drain = {}

local PATIENCE = 2
local HURRY = 0.15
local ORDERLY = 0.2 -- what a prompt waits so that "interrupted" comes after output that is about to come
local STOPPING = 0.3 -- seconds that cancelled work has for stopping
local AFTERWARDS = 128 * 1024 -- bytes that loops may print after Ctrl-C, besides those that wait for their reader

--- A function that tells whether nothing has got done for `seconds`: no op ended, and no less text is left to be
-- written than ever before. So a loop without end that prints gets nothing done.
local function watch_progress(seconds)
    local counts = ffi.new("neap_engine_counts")
    local ended, least, since = nil, math.huge, nil
    return function()
        C.neap_engine_count(counts)
        local waiting = tonumber(C.neap_out_waiting())
        if counts.completed ~= ended or waiting < least then
            ended, least, since = counts.completed, math.min(waiting, least), system.now()
        end
        return system.now() - since > seconds
    end
end

--- Pumps until `poll` is done; at most until nothing has got done for `seconds` (nil: however long) or Ctrl-C is
-- pressed. Returns whether it is done.
local function wait(poll, seconds)
    local stuck = seconds and watch_progress(seconds)
    local ok, status = pcall(pump, function()
        local status = poll()
        if status == PENDING and stuck and stuck() then return GIVEN_UP end
        return status
    end)
    return ok and status ~= GIVEN_UP
end

local function poll_effects()
    return C.neap_effects_poll(C.neap_ctx_effects(core.ctx), waker)
end

local function stopping()
    return system.terminated() and HURRY or STOPPING
end

--- Lets what was given up come to its end. Its failures are no news.
local function forget()
    wait(function()
        local status = C.neap_poll_all(waker)
        return status == PENDING and PENDING or OK
    end, stopping())
end

--- Gives up all work that was pushed, and lets it end.
local function cancel()
    C.neap_engine_cancel()
    system.clear_interrupt()
    forget()
    wait(poll_effects, stopping())
end

--- Ends the bars of np.progress whose loops were left. What cannot be shown of them any more is not.
function drain.end_bars()
    if core.leave_bars then pcall(core.leave_bars) end
end

--- Waits until all effects have happened and their text is written, as told above. `presses`: of Ctrl-C so far, which
-- have been cleared. `prompt`: the session goes on. Returns whether all of it came out.
function drain.finish(presses, prompt)
    drain.end_bars()
    if presses == 0 then
        if wait(poll_effects) then return true end
        system.clear_interrupt()
    elseif presses == 1 and prompt and not core.in_barrier then
        return wait(poll_effects, ORDERLY)
    end
    core.in_barrier = nil
    C.neap_out_allow(AFTERWARDS)
    local complete = presses < 2 and wait(poll_effects, system.terminated() and HURRY or PATIENCE)
    if not complete then cancel() end
    C.neap_out_allow(-1)
    return complete
end

--- After a press of Ctrl-C at the prompt, which found no command running. `again`: another press came before it, and
-- no command since.
function drain.press(again)
    local counts = ffi.new("neap_engine_counts")
    C.neap_engine_count(counts)
    if counts.completed == counts.pushed then return end
    if again then cancel() end
    local text = again and "interrupted: what still ran is given up\n"
                 or "(work goes on in the background; Ctrl-C once more gives it up)\n"
    C.neap_out_write(C.NEAP_STDERR, text, #text) -- at once: prints of what runs would have to come first
end

--- After an interrupted command: gives up work in flight that nobody wants any more.
function drain.abandon()
    core.reclaim()
    if C.neap_abandon(core.ctx) == OK then forget() end
end

for _, f in ipairs { watch_progress, wait, forget, cancel, drain.end_bars, drain.finish, drain.press,
                     drain.abandon } do
    jit.off(f, true)
end

return drain
