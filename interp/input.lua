--- input.lua: reading from standard input and os.execute, so that waiting in them is the interpreter's own.
--
-- Reading waits until something is there before it calls Lua's function, running callbacks meanwhile; Ctrl-C stops it.
-- What is there may be less than a line: then Lua's function waits for the rest, and Ctrl-C stops that too, but the
-- part of the line that it had is lost. A child that os.execute runs gets Ctrl-C itself; the command is interrupted if
-- the child ended by it.
local core = require "neap.core"
local shared = require("neap.core.globals").shared
local system = require "neap.interp.system"

local C = core.C
local select = select
local input = {}

local HELP_NS, SLEEP_MS = 200000, 1000

--- Waits until `ready` returns true; `sleep` returns when it may have become so, and when the waker was woken.
-- Callbacks run meanwhile, but not while an interrupt is pending, which a child may be dealing with.
local function wait_until(ready, sleep)
    while true do
        C.neap_waker_clear(core.waker)
        if ready() then return end
        if core.callbacks_due(false) and C.neap_interrupt_pending() == 0 then
            core.run_callbacks()
        elseif C.neap_engine_help(HELP_NS) == 0 then
            sleep()
        end
    end
end

input.wait_until = wait_until

local function input_came()
    core.check_interrupt()
    return system.has_input()
end

local function sleep()
    C.neap_waker_sleep(core.waker, SLEEP_MS)
end

--- A reading function that waits first. `is_input` tells from its arguments whether it reads standard input. Lua's
-- function is called in its place, so errors name the user's line. Ctrl-C that stops that is raised by the next
-- instruction of the user.
local function waiting(read, is_input)
    return function(...)
        if is_input(...) then wait_until(input_came, system.wait_input) end
        return read(...)
    end
end

--- An iterator over standard input, as io.lines gives it.
local function lines(read, ...)
    local count, formats = select("#", ...), { ... }
    local function raise_failure(...)
        core.check_interrupt()
        local value, problem = ...
        if value == nil and problem then error(problem, 3) end
        return ...
    end
    return function() return raise_failure(read(io.stdin, unpack(formats, 1, count))) end
end

--- Replaces Lua's functions, once.
function input.install()
    local files, io, os = shared.files, shared.io, shared.os
    local files_lines, io_lines, execute = files.lines, io.lines, os.execute
    files.read = waiting(files.read, function(file) return file == io.stdin end)
    io.read = waiting(io.read, function() return io.input() == io.stdin end)
    function files.lines(file, ...)
        if file ~= io.stdin then return files_lines(file, ...) end
        return lines(files.read, ...)
    end
    function io.lines(name, ...)
        if name ~= nil or io.input() ~= io.stdin then return io_lines(name, ...) end
        return lines(files.read, ...)
    end
    function os.execute(command)
        if type(command) ~= "string" and type(command) ~= "number" then return execute(command) end
        np.effects_barrier()
        core.check_interrupt()
        if not system.spawn(command) then return execute(command) end
        local status, interrupted
        wait_until(function()
            status, interrupted = system.ended()
            return status ~= nil
        end, sleep)
        if not interrupted then system.forget_interrupt() end
        core.check_interrupt()
        return status
    end
    jit.off(os.execute)
    function core.keyboard() return require "neap.interp.keyboard" end
end

for _, f in ipairs { wait_until, waiting, lines } do jit.off(f, true) end

return input
