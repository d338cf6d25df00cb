--- disable_jit.lua: np.disable_jit: running jitted functions as they were written.
local core = require "neap.core"
local staging = require "neap.tracing.staging"
local switch = staging.switch

local np = core.np

local function close(before, ok, ...)
    switch.off = before
    if not ok then error((...), 0) end
    return ...
end
jit.off(close)

--- np.disable_jit(f) -> function: a function that runs f while np.jit is off: each call of a jitted function inside
-- runs what np.jit was given, line by line. So it may look at values, an error in it names its line, and np.breakpoint
-- stops there. Results have the same bits. Numbers are arrays inside, as ever; donated arguments are kept. Nothing is
-- recorded, and what was recorded before is there afterwards. Loops and branches (np.scan, np.cond, …) stay what they
-- are. np.debug.jit(false) is the same for the rest of a script.
--- > double = np.jit(function(x) return x:item() * 2 end)
--- > np.disable_jit(double)(np.array(3))
-- 6
function np.disable_jit(f)
    f = staging.check_function("disable_jit", f)
    local function disabled(...)
        local before = switch.off
        switch.off = true
        return close(before, pcall(f, ...))
    end
    jit.off(disabled)
    return disabled
end
