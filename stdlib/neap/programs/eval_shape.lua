--- eval_shape.lua: np.eval_shape.
local core = require "neap.core"
local staging = require "neap.tracing.staging"

local np = core.np

--- What an array is; a number that was computed from numbers is an array of f32, as where a program returns it.
local function describe(x)
    return { shape = core.shape_of(x), dtype = x.dtype }
end

--- np.eval_shape(f, …) -> results: what f(…) returns, with a table {shape={2, 3}, dtype="f32"} in place of each array:
-- f is run once on stand-ins, and nothing is computed, whatever the sizes. Arrays among the arguments, also in tables,
-- may be such tables themselves. What f reads on the host must not depend on its arguments; what it prints is not
-- shown.
--- > np.eval_shape(np.matmul, np.zeros{2, 3}, {shape={3, 4}, dtype="f32"}).shape[2]
-- 4
function np.eval_shape(f, ...)
    local user_function = staging.check_function("eval_shape", f)
    local given = staging.with_specs("eval_shape", staging.pack(...))
    return staging.described("eval_shape", user_function, given, describe)
end

jit.off(np.eval_shape)

