--- sites.lua: tells the core that a chunk of the user's starts, so that it asks for script lines anew, and warns anew.
local core = require "neap.core"
local conditions = require "neap.interp.conditions"
local sites = {}

--- Called before each script, -e text and command. `chunk` is its name in messages, `f` its code, where nothing else has
-- looked at that yet.
function sites.enter(chunk, f)
    if f then conditions.check(f) end
    core.C.neap_site_reset(core.ctx, chunk)
    core.forget_warnings()
end

return sites
