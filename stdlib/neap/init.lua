--- init.lua: the module "neap", `local np = require "neap"`.
--
-- The array functions are loaded at once; parts that not every script needs (np.random, np.nn, …) when they are first
-- named. Loading replaces print and Lua's functions that write to stdout by ordered ones (effects/output.lua), and,
-- where there are several processes, `pairs` by one of the same order in all of them (core/pairs.lua).
--
-- The folders, each of which requires only itself and those above it here (tools/check_layers):
--
--     core        the library libneap, handles, errors, recording, waiting; trees: nested tables of arrays
--     files       whole files, zip, JSON and drawings
--     arrays      np's functions of arrays, np.linalg, np.special, np.random; devices and their memory
--     effects     print and its kin, np.callback, np.progress, np.argparse
--     tracing     running a Lua function on stand-ins for its arguments, which all that follows is built on
--     transforms  derivatives, np.vmap, control flow
--     optimize    np.optimize: roots, minima, fits, linear programs
--     sparse      np.sparse: sparse arrays, and systems of equations of them
--     programs    np.trace, np.jit, np.staged, np.deferred; programs in files
--     integrate   np.integrate: integrals, ordinary differential equations
--     interpolate np.interpolate: splines, grids
--     mesh        np.mesh, shardings, np.shard_map, collectives
--     nn          np.nn, np.optim, np.data
--     signal      np.signal: filters, spectra, peaks
--     image       np.image: filters, morphology, regions, warps, colors
--     stats       np.stats: distributions and tests; np.metrics; np.cluster
--     text        characters, regular expressions and tokenizers
--     tables      np.table: named columns
--     onnx        networks in ONNX files: the format, and np.io.load_onnx's operators
--     io          np.io: arrays, tables and checkpoints in files
--     plot        np.plot: charts, drawn by gnuplot
--     inspect     np.explain, np.profile, np.breakpoint, np.debug, np.help, np.check, pictures of shardings
--     interact    np.interact and its controls, np.widgets
local globals = require "neap.core.globals"
setfenv(1, globals.own)
local core = require "neap.core"
require "neap.core.arity"
require "neap.arrays.array"
require "neap.arrays.complex"
require "neap.arrays.shape"
require "neap.arrays.concatenate"
require "neap.arrays.views"
require "neap.arrays.create"
require "neap.arrays.grids"
require "neap.arrays.select"
require "neap.arrays.stack"
require "neap.arrays.pads"
require "neap.arrays.index"
require "neap.arrays.dynamic"
require "neap.arrays.reduce"
require "neap.arrays.elementwise"
require "neap.arrays.nans"
require "neap.arrays.quantiles"
require "neap.arrays.statistics"
require "neap.arrays.differences"
require "neap.arrays.histogram"
require "neap.arrays.segments"
require "neap.arrays.sets"
require "neap.arrays.where"
require "neap.arrays.indices"
require "neap.arrays.product"
require "neap.arrays.einsum"
require "neap.arrays.windows"
require "neap.arrays.polynomials"
require "neap.arrays.apply"
require "neap.arrays.dtypes"
require "neap.arrays.special"
require "neap.arrays.devices"
require "neap.arrays.buffer"
local output = require "neap.effects.output"
require "neap.mesh.device_put"
require "neap.inspect.debug"

local np = core.np
--- np._VERSION -> string: the version of neap.
--- > type(np._VERSION)
-- string

--- np.is_array(value) -> boolean: whether a value is an array.
--- > np.is_array(np.ones(2)), np.is_array(2)
-- true
-- false

--- np.isscalar(value) -> boolean: whether a value is a number (a complex or a 64-bit one too) or a boolean, not an
-- array.
--- > np.isscalar(2.5), np.isscalar(np.array(2.5))
-- true
-- false
function np.isscalar(value)
    local kind = type(value)
    return kind == "number" or kind == "boolean" or core.integer64(value) ~= nil or core.complex.is(value)
end

--- np.pi, np.e, np.euler_gamma, np.inf, np.nan -> number: π, the base of natural logarithms, Euler's constant, infinity
-- and NaN, as Lua numbers.
--- > np.pi, np.e, np.euler_gamma, np.inf, np.nan
-- 3.1415926535898
-- 2.718281828459
-- 0.57721566490153
-- inf
-- nan
np._VERSION = core.version
np.is_array = core.is_array
np.pi, np.e, np.inf, np.nan = math.pi, math.exp(1), math.huge, core.NAN
np.euler_gamma = 0.57721566490153286061

-- Functions that live in parts, and the parts themselves, by the module that has them.
local functions, parts = {}, {}
for module, names in pairs {
    ["tracing.scope"] = "named_scope",
    ["transforms.vmap"] = "vmap",
    ["transforms.derive"] = "vjp jvp linearize linear_transpose",
    ["transforms.grad"] = "grad value_and_grad",
    ["transforms.jacobian"] = "jacobian jacfwd jacrev hessian",
    ["transforms.custom_linear_solve"] = "custom_linear_solve",
    ["transforms.custom_root"] = "custom_root",
    ["transforms.custom_vmap"] = "custom_vmap",
    ["transforms.custom"] = "checkpoint optimization_barrier custom_vjp custom_jvp",
    ["transforms.policies"] = "checkpoint_name",
    ["transforms.control"] = "cond switch while_loop fori_loop scan",
    ["transforms.scans"] = "associative_scan map",
    ["transforms.check_grads"] = "check_grads",
    ["transforms.kernel"] = "kernel",
    ["programs.program"] = "trace",
    ["programs.eval_shape"] = "eval_shape",
    ["programs.program_file"] = "load_program",
    ["programs.jit"] = "jit clear_caches",
    ["programs.jit_facts"] = "jit_cache",
    ["programs.disable_jit"] = "disable_jit",
    ["programs.staged"] = "staged",
    ["programs.deferred"] = "deferred export",
    ["effects"] = "callback pure_callback",
    ["effects.progress"] = "progress",
    ["effects.argparse"] = "argparse",
    ["effects.printing"] = "set_printoptions get_printoptions printoptions array2string pprint",
    ["mesh.mesh"] = "mesh",
    ["mesh.contract"] = "set_mesh get_mesh reshard",
    ["mesh.born"] = "make_array_from_callback make_array_from_process_local_data",
    ["mesh.sharding"] = "P NamedSharding with_sharding_constraint",
    ["mesh.shard_map"] = "shard_map",
    ["mesh.ragged"] = "ragged_all_to_all",
    ["mesh.collective"] = "psum pmean pmax pmin pvary pcast all_gather psum_scatter all_to_all ppermute pshuffle "
        .. "axis_index axis_size",
    ["tables"] = "table",
    ["tables.dates"] = "to_datetime date_range",
    ["inspect.check"] = "check",
    ["inspect.display"] = "display update_display clear_output input",
    ["inspect.explain"] = "explain",
    ["inspect.breakpoint"] = "breakpoint",
    ["inspect.transfer_guard"] = "transfer_guard",
    ["inspect.help"] = "help",
    ["interact"] = "interact",
} do
    for name in names:gmatch "%S+" do functions[name] = "neap." .. module end
end
for name, module in pairs {
    random = "arrays.random_stream", linalg = "arrays.linalg", fft = "arrays.fft", signal = "signal", image = "image",
    memory = "arrays.memory", optimize = "optimize", integrate = "integrate", interpolate = "interpolate",
    sparse = "sparse", tree = "core.tree", effects = "effects", nn = "nn", optim = "nn.optim", data = "nn.data",
    stats = "stats", metrics = "stats.metrics", cluster = "stats.cluster", io = "io", plot = "plot",
    profile = "inspect.profile", widgets = "interact.widgets",
} do
    parts[name] = "neap." .. module
end

--- Reading a name that a part of the library does not have is an error. `holders`: tables with the names that it has.
local function refuse_name(path, holders)
    return function(_, name)
        if type(name) ~= "string" then return nil end
        core.fail("%s", require("neap.core.hints").name(path, name, holders))
    end
end

--- A part of the library, with that behind what it has.
local function guarded(name, part)
    local meta = getmetatable(part) or {}
    local own, late = meta.__index, meta.__late and meta.__late[1]
    local refuse = refuse_name("np." .. name, { part, late })
    core.refuse_surplus("np." .. name .. ".", part, meta)
    function meta.__index(t, key)
        local value = own and own(t, key)
        if value == nil then return refuse(t, key) end
        return rawget(part, key) or value
    end
    if core.on_part then core.on_part(part) end
    return setmetatable(part, meta)
end

local unknown = refuse_name("np", { np, functions, parts })
local meta = {
    __index = function(_, name)
        if parts[name] then
            np[name] = guarded(name, require(parts[name]))
        elseif functions[name] then
            require(functions[name])
        else
            return unknown(nil, name)
        end
        return rawget(np, name)
    end,
    __late = { functions, parts }, -- names that are there, though not loaded: for completions
}
guarded("debug", np.debug)
core.refuse_surplus("np.", np, meta, core.methods)
setmetatable(np, meta)
guarded("special", np.special)
output.install()
if core.C.neap_process_count() > 1 then globals.shared._G.pairs = require "neap.core.pairs" end
globals.finish(np)

return np
