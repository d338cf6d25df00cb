--- effects.lua: np.effects: the order of effects.
local core = require "neap.core"

local C, ctx = core.C, core.ctx

local effects = {}

local handle = C.neap_ctx_effects(ctx)

--- The number of a kind of effect: "print", "write", "callback" or "log".
local function kind_of(name, position, what, kind)
    if type(kind) ~= "string" then core.bad_argument(name, position, what, "a kind of effect", kind) end
    local code = C.neap_effect_parse(kind)
    if code < 0 then core.raise_status(code, name) end
    return code
end

--- np.effects.order(kind, "own" | "global"): from here on effects of a kind ("print", "write": io.write, "callback",
-- "log") are ordered among themselves only, or in the order of the program with all others, as at the start.
function effects.order(kind, how)
    local code = kind_of("effects.order", 1, "kind", kind)
    if how ~= "own" and how ~= "global" then
        core.bad_argument("effects.order", 2, "how", '"own" or "global"', how)
    end
    core.call("effects.order", function() return C.neap_effects_order(handle, code, how == "own" and 1 or 0) end)
end

return effects
