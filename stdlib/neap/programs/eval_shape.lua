--- eval_shape.lua: np.eval_shape.
local core = require "neap.core"
local staging = require "neap.tracing.staging"

local np = core.np

--- What an array is and where it lies; a number that was computed from numbers is an array of f32, as where a program
-- returns it.
local function describe(x)
    local known = core.info(x)
    local on_mesh, committed = known.sharding ~= 0, known.committed ~= 0
    return { shape = core.shape_of(x), dtype = x.dtype,
             sharding = on_mesh and x.sharding or committed and x.device or nil }
end

--- np.eval_shape(f, …) -> results: what f(…) returns, with a table {shape={2, 3}, dtype="f32"} in place of each array:
-- f is run once on stand-ins, and nothing is computed, whatever the sizes. Arrays among the arguments, also in tables,
-- may be such tables themselves. What f reads on the host must not depend on its arguments; what it prints is not
-- shown. As jax.eval_shape, with jax.ShapeDtypeStruct(shape, dtype, sharding=…).
--
-- The field sharding is there for a result on a mesh, its x.sharding, and for one that is committed to a device, that
-- device. In arguments it may be a sharding, np.NamedSharding(mesh, spec), a spec for the mesh of np.set_mesh, or a
-- device, such as "cuda:0". Raises if it does not fit the shape.
--- > np.eval_shape(np.matmul, np.zeros{2, 3}, {shape={3, 4}, dtype="f32"}).shape[2]
-- 4
--- > rows = np.NamedSharding(np.mesh({1}, {"i"}), np.P("i"))
--- > np.eval_shape(np.transpose, {shape={8, 3}, sharding=rows}).sharding.spec
-- P(nil, "i")
function np.eval_shape(f, ...)
    local user_function = staging.check_function("eval_shape", f)
    local given = staging.with_specs("eval_shape", staging.pack(...))
    return staging.described("eval_shape", user_function, given, describe)
end

jit.off(np.eval_shape)

