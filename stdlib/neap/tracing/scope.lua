--- scope.lua: np.named_scope: names for parts of a model, shown where ops are shown.
local core = require "neap.core"
local staging = require "neap.tracing.staging"

local np, C, ctx = core.np, core.C, core.ctx

local function close(outer, ok, ...)
    C.neap_scope_close(ctx, outer)
    if not ok then error((...), 0) end
    return ...
end
jit.off(close)

--- np.named_scope(name, f) -> function: a function that runs f in a named scope. What f records carries the name: the
-- text of programs, np.explain, timelines and errors show "name" behind the op or its line, "outer/inner" for one
-- scope in another. Derivatives, batches and jitted functions keep it. It changes no value and no plan.
--- > np.named_scope("double", function(x) return x * 2 end)(np.ones(2))
-- [2. 2.]
function np.named_scope(name, f)
    if type(name) ~= "string" or name == "" or name:find("%c") then
        core.bad_argument("named_scope", 1, "name", "a text without control characters", name)
    end
    f = staging.check_function("named_scope", f, 2, "f")
    local function scoped(...)
        return close(C.neap_scope_open(ctx, name), pcall(f, ...))
    end
    jit.off(scoped)
    return scoped
end
