--- keyboard.lua: single keys of the terminal, for the library (core.keyboard): a key comes at once, and is not shown.
-- While a key is waited for callbacks run; Ctrl-C is the interrupt that it always is.
local console = require "neap.effects.console"
local core = require "neap.core"
local input = require "neap.interp.input"
local system = require "neap.interp.system"

local C = core.C
local keyboard = {}

local NAP_MS = 10 -- between looks for keys, where a wait has a limit
local last_size -- of the terminal, while it is taken over

--- Columns and rows of the terminal, as one value.
local function size()
    local columns, rows = console.window(1)
    return ("%dx%d"):format(columns, rows)
end

--- Takes the terminal over; false: there is none. `leave`: what the terminal is sent in the end, however that comes.
function keyboard.open(leave)
    last_size = size()
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
-- be none any more; whether the screen has to be drawn again; and whether the terminal has another size than at the
-- end of the last wait, or when it was taken over.
function keyboard.read(seconds)
    local limit = seconds and system.now() + seconds
    local keys, again, resized
    input.wait_until(function()
        core.check_interrupt()
        keys, again = system.read_keys()
        local now = size()
        resized, last_size = now ~= last_size, now
        return keys ~= "" or again or resized or limit and system.now() >= limit
    end, limit and function() C.neap_waker_sleep(core.waker, NAP_MS) end or system.wait_input)
    return keys, again, resized
end

--- Calls f(…), code of the user's: true, or false, the text of its error, and whether Ctrl-C was pressed. SIGTERM goes
-- on as an error.
function keyboard.try(f, ...)
    local ok, text, interrupted = system.try(f, ...)
    if system.terminated() then error(text, 0) end
    if not ok and interrupted then system.forget_interrupt() end
    return ok, text, interrupted
end

--- Whether Ctrl-C was pressed, and is dealt with by this. SIGTERM, which looks the same to a wait, is not.
function keyboard.take_press()
    if C.neap_interrupt_pending() == 0 or system.terminated() then return false end
    system.forget_interrupt()
    return true
end

for _, f in ipairs { keyboard.read, keyboard.try } do jit.off(f, true) end

return keyboard
