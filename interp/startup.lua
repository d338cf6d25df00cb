--- startup.lua: the start-up file, which runs before the first command of a prompt, and before a script or code that
-- the prompt follows: $NEAP_STARTUP if that is set (empty: none), else neap/startup.lua in $XDG_CONFIG_HOME or
-- ~/.config. Its variables, local ones too, are there at the prompt.
local repl = require "neap.interp.repl"

local startup = {}

--- The path; and whether the user has named it.
local function path_of()
    local named = os.getenv "NEAP_STARTUP"
    if named then return named ~= "" and named or nil, true end
    local config, home = os.getenv "XDG_CONFIG_HOME", os.getenv "HOME"
    if config and config:find "^/" then return config .. "/neap/startup.lua" end
    return home and home:find "^/" and home .. "/.config/neap/startup.lua" or nil
end

--- Runs it, if there is one. Raises its errors, and says that a file that the user has named is not there.
function startup.run()
    local path, named = path_of()
    local file = path and io.open(path, "rb")
    if not file then
        if named and path then error("NEAP_STARTUP: cannot read " .. path, 0) end
        return
    end
    file:close()
    repl.run_file(path)
end

return startup
