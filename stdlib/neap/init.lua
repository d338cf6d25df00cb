--- init.lua: the module "neap", `local np = require "neap"`.
--
-- The array functions are loaded at once; parts that not every script needs (np.random, np.nn, …) when they are first
-- named. Loading replaces print and Lua's functions that write to stdout by ordered ones (output.lua), and, where there
-- are several processes, `pairs` by one of the same order in all of them (pairs.lua).
local core = require "neap.core"
require "neap.array"
require "neap.shape"
require "neap.create"
require "neap.select"
require "neap.index"
require "neap.reduce"
require "neap.product"
require "neap.runtime"
local output = require "neap.output"

local np = core.np
np._VERSION = core.version
np.is_array = core.is_array
np.pi, np.e, np.inf, np.nan = math.pi, math.exp(1), math.huge, core.NAN

-- Functions that live in parts, and the parts themselves: name → module.
local functions = { vmap = "vmap", psum = "collective", pmean = "collective", pmax = "collective",
                    pmin = "collective", all_gather = "collective", psum_scatter = "collective",
                    all_to_all = "collective", ppermute = "collective", pshuffle = "collective",
                    axis_index = "collective", axis_size = "collective",
                    mesh = "mesh", P = "sharding", NamedSharding = "sharding", with_sharding_constraint = "sharding",
                    shard_map = "shard_map", breakpoint = "breakpoint",
                    grad = "grad", value_and_grad = "grad", vjp = "derive", jvp = "derive",
                    linearize = "derive", cond = "control", switch = "control", while_loop = "control",
                    fori_loop = "control", scan = "control", jit = "jit", jit_cache = "jit", clear_caches = "jit",
                    staged = "staged",
                    trace = "program", callback = "effects",
                    jacobian = "jacobian", jacfwd = "jacobian", jacrev = "jacobian", hessian = "jacobian",
                    checkpoint = "custom", custom_vjp = "custom", custom_jvp = "custom",
                    explain = "explain", load_program = "program_file", deferred = "deferred", export = "deferred" }
local parts = { random = true, tree = true, nn = true, linalg = true, optim = true, data = true, io = true,
                effects = true, memory = true }

setmetatable(np, {
    __index = function(_, name)
        if parts[name] then
            np[name] = require("neap." .. name)
        elseif functions[name] then
            require("neap." .. functions[name])
        end
        return rawget(np, name)
    end,
    __late = { functions, parts }, -- names that are there, though not loaded: for completions
})

output.install()
if core.C.neap_process_count() > 1 then rawset(_G, "pairs", require "neap.pairs") end

return np
