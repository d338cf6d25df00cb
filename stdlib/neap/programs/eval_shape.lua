--- eval_shape.lua: np.eval_shape.
local core = require "neap.core"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np = core.np

--- An argument with a Spec for each table {shape={…}, dtype="f32"} in it.
local function with_specs(value, path)
    if not trees.is_node(value) then return value end
    if trees.is_spec(value) then
        local dtype, shape = trees.spec("eval_shape", "argument " .. path, value)
        return staging.Spec { dtype = dtype, shape = shape }
    end
    local copy = {}
    for _, key in ipairs(trees.keys_of(value, "eval_shape")) do
        copy[key] = with_specs(value[key], path .. (type(key) == "number" and "[" .. key .. "]" or "." .. key))
    end
    return copy
end

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
    local given = staging.pack(...)
    for k = 1, given.n do given[k] = with_specs(given[k], tostring(k)) end
    return staging.described("eval_shape", user_function, given, describe)
end

jit.off(np.eval_shape)
jit.off(with_specs)
