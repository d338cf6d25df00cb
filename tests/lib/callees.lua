--- callees.lua: how many functions callbacks may still call.
local np = require "neap"

local SECONDS = 10

--- Their number once all work is done. A worker lets go of a function a moment after what waited for its call goes on,
--- so a number above `most` is asked for again, for some seconds.
return function(most)
    local limit, n = os.time() + SECONDS
    repeat
        np.effects_barrier()
        for _ = 1, 3 do
            np.memory.trim()
            np.ones(1):item()
        end
        np.callback(function() end)()
        np.effects_barrier()
        np.ones(1):item()
        n = np.debug.counters().callees
    until n <= most or os.time() > limit
    return n
end
