--- keyboard.lua: single keys of the terminal, for the library (core.keyboard): a key comes at once, and is not shown.
-- While a key is waited for callbacks run; Ctrl-C is the interrupt that it always is.
local core = require "neap.core"
local input = require "neap.interp.input"
local system = require "neap.interp.system"

local C = core.C
local keyboard = {}

local NAP_MS = 10 -- between looks for keys, where a wait has a limit

--- Takes the terminal over; false: there is none. `leave`: what the terminal is sent in the end, however that comes.
function keyboard.open(leave)
    return system.keys_begin(leave)
end

function keyboard.close()
    system.keys_end()
end

--- Writes to the terminal at once. Text of effects must be out.
function keyboard.write(text)
    system.keys_write(text)
end

--- Waits for keys, at most so many seconds (nil: however long). The bytes of keys, "" without any, nil when there will
-- be none any more; and whether the screen has to be drawn again.
function keyboard.read(seconds)
    local limit = seconds and system.now() + seconds
    local keys, again
    input.wait_until(function()
        core.check_interrupt()
        keys, again = system.read_keys()
        return keys ~= "" or again or limit and system.now() >= limit
    end, limit and function() C.neap_waker_sleep(core.waker, NAP_MS) end or system.wait_input)
    return keys, again
end

--- Calls f(…), code of the user's: true, or false, the text of its error, and whether Ctrl-C was pressed. SIGTERM goes
-- on as an error.
function keyboard.try(f, ...)
    local ok, text, interrupted = system.try(f, ...)
    if system.terminated() then error(text, 0) end
    if not ok and interrupted then system.forget_interrupt() end
    return ok, text, interrupted
end

for _, f in ipairs { keyboard.read, keyboard.try } do jit.off(f, true) end

return keyboard
