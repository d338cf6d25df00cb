--- ending.lua: how a program ends whose Lua state belongs to somebody else: stock luajit, a program in C. (The
-- executable sees to its end itself: interp/session.c.)
--
-- Nobody calls the library before lua_close, which calls finalizers: those of cdata, then those of userdata, the newest
-- one first, then again those of userdata that these have made. So the *last*, a userdata that is newer than all that
-- callbacks know of, has one that brings effects to their end; the finalizer of files does so too, so that a callback
-- finds its file open. What finalizers of older userdata have shown comes out in the next round, and so on.
local ffi = require "ffi"
local core = require "neap.core"
local shared = require("neap.core.globals").shared

local C, ctx = core.C, core.ctx
local getinfo, newproxy, getmetatable, rawequal, pcall = debug.getinfo, newproxy, getmetatable, rawequal, pcall

ffi.cdef [[long neap_ending_readlink(const char *path, char *text, size_t bytes) __asm__("readlink");]]

local ending = {}

local LAST = 5 -- the round that ends the library's work: LuaJIT comes to ten where each makes userdata

local last
local rounds = 0     -- of finalizers, since the state is being closed
local chosen = false -- the program has said with which status it ends

--- Brings effects to their end, callbacks too.
local function finish()
    local effects = C.neap_ctx_effects(ctx)
    pcall(core.pump, function() return C.neap_effects_poll(effects, core.waker) end)
    C.neap_effects_drain(effects) -- after an interrupt, without callbacks
end

--- Ends together with the other processes, if there are any; what was recorded is done first.
local function end_processes(status)
    if C.neap_process_count() == 1 then return end
    local function wait(poll)
        while poll() == C.NEAP_PENDING do
            C.neap_waker_sleep(core.waker, 1000)
            C.neap_waker_clear(core.waker)
        end
    end
    wait(function() return C.neap_poll_everything(ctx) end)
    wait(function() return C.neap_processes_end(status, "its script has ended with a failure", core.waker) end)
end

--- Tells of files that could not be written, where the program has not met that; who closes a pipe knows. Returns
-- whether there are any, or stdout has failed, or effects have.
local function failed()
    while C.neap_out_status() == C.NEAP_E_IO do
        local text = ffi.string(C.neap_error_text())
        if not text:find "^stdout: Broken pipe" then
            text = ("neap: %s\n"):format(text)
            C.neap_effects_failed()
            C.neap_out_write(C.NEAP_STDERR, text, #text)
        end
    end
    C.neap_out_drain()
    return C.neap_effects_failures() > 0 or C.neap_out_errno(C.NEAP_STDOUT) ~= 0
end

--- Whether the process is the program luajit, which after closing its state ends with the status 0 or 1.
local function is_luajit()
    local text = ffi.new("char[?]", 4096)
    local bytes = tonumber(ffi.C.neap_ending_readlink("/proc/self/exe", text, 4096))
    return bytes > 0 and ffi.string(text, bytes):find "/luajit[^/]*$" ~= nil
end

--- Whether the finalizer that calls this runs because the state is closed: then no function is below it.
local function closing()
    return not getinfo(3, "S")
end

--- Makes the userdata whose finalizer is called first. `exit`: Lua's os.exit.
local function arm(exit)
    last = newproxy(true)
    getmetatable(last).__gc = function(userdata)
        if not rawequal(userdata, last) then return end
        if closing() then
            rounds = rounds + 1
            finish()
        end
        if rounds == LAST then
            end_processes(0)
            if failed() and not chosen and is_luajit() then exit(1) end
        end
        arm(exit)
    end
end

--- Has finalizers of what is there now called behind the end of effects.
function ending.renew()
    if last then last = newproxy(last) end
end

--- Replaces os.exit, and looks after the end of the state. `exit`: Lua's os.exit, `barrier`: np.effects_barrier.
function ending.install(exit, barrier)
    function shared.os.exit(code, ...)
        local status = type(code) == "boolean" and (code and 0 or 1) or tonumber(code or 0)
        if not status then return exit(code) end -- which is an error
        barrier()
        chosen = code ~= nil
        if not chosen and failed() then status = 1 end
        end_processes(status)
        return exit(status, ...)
    end
    local meta = getmetatable(io.stdout)
    local close = meta.__gc
    function meta.__gc(file)
        if closing() then finish() end
        return close(file)
    end
    arm(exit)
end

for _, f in ipairs { finish, end_processes, failed, arm, ending.renew, ending.install } do jit.off(f, true) end

return ending
