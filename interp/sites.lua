--- sites.lua: tells the core that a chunk of the user's starts, so that it asks for script lines anew, and warns anew.
local core = require "neap.core"
local sites = {}

--- Called before each script, -e text and command. `chunk` is its name in messages.
function sites.enter(chunk)
    core.C.neap_site_reset(core.ctx, chunk)
    core.forget_warnings()
end

return sites
