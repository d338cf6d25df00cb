--- handlers.lua: xpcall, whose message handlers do not run for Ctrl-C: what ends a call then is the interrupt as it is.
--
-- The interrupt is raised by a hook, and no other hook runs before the handler has returned: one that does not end
-- could not be stopped.
local C = require("neap.core").C
local globals = require "neap.core.globals"
local handlers = {}

local quick = setmetatable({}, { __mode = "kv" }) -- by handler: the function in front of it

local function in_front(handler)
    local front = quick[handler]
    if not front then
        front = function(problem)
            if C.neap_interrupt_pending() ~= 0 then return problem end
            return handler(problem)
        end
        quick[handler] = front
    end
    return front
end

--- Replaces Lua's function for the user, once.
function handlers.install()
    local raw = xpcall
    function globals.shared._G.xpcall(f, handler, ...)
        return raw(f, type(handler) == "function" and in_front(handler) or handler, ...)
    end
end

return handlers
