--- breakpoint.lua: np.breakpoint: a prompt in the middle of a program. What it does is the interpreter's
-- (neap.interp.breakpoint); here stands when it may be.
local core = require "neap.core"
local staging = require "neap.tracing.staging"

local np, C, raise = core.np, core.C, core.raise

--- np.breakpoint() -> nothing: stops here and opens a prompt that sees the local variables around it, until `:c` or
-- Ctrl-D; `:h` tells its commands. Assigning to a local variable changes it. Inside np.shard_map arrays are blocks,
-- shown for each device. Under np.jit, and whatever else traces its function, there are no values to look at, so it is
-- an error there; with several processes too, because each of them would stop. It needs the executable neap.
function np.breakpoint()
    if staging.tracing() then
        raise("breakpoint", "the function is being traced (by np.jit, np.vmap, np.scan or the like): its arrays have "
              .. "no values yet; call it without them to look at it")
    end
    local processes = C.neap_process_count()
    if processes > 1 then
        raise("breakpoint", "%d processes run this program, and each would stop here: look at it in one process, with "
              .. "as many devices (neap --devices N)", processes)
    end
    if not core.embedded then raise("breakpoint", "only the executable neap has a prompt") end
    return require("neap.interp.breakpoint").open()
end
jit.off(np.breakpoint) -- so all functions around it run in the interpreter, and their variables are where it looks
