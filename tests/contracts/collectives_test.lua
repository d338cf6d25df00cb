--- collectives_test.lua: contracts of collectives against their definition: over the examples of np.vmap, and over the
-- devices of a mesh, whose blocks are the examples.
-- (sanitized with --long)
local np = require "neap"
local dtypes = require "tests.lib.dtypes"
local of, finish, _, elsewhere = require "tests.lib.contracts" "collectives"

local N = 4
local mesh
local function over_devices(f)
    mesh = mesh or np.mesh({ N }, { "i" })
    local g = np.shard_map(function(block) return np.expand_dims(f(np.squeeze(block, 0)), 0) end,
                           { mesh = mesh, in_specs = np.P "i", out_specs = np.P "i" })
    return g
end

--- A contract of f(collective, x, o) for the array of one member; `oracle` gives what all members get, of those of all.
local function collective(name, f, contract)
    contract.args = { "x" }
    contract.accepts = contract.accepts or "f64 f32 bf16 u64 i8 c64" -- what only moves elements
    contract.shapes = contract.shapes or { { { N, 2 } }, { { N, 1, 2 } }, { { N } }, { { N, 0 } } }
    contract.gives = contract.gives or "same"
    contract.call = function(g, o, x)
        local function one(a)
            if next(o) then return f(g, a, o) end
            return f(g, a)
        end
        return np.vmap(one, { axis_name = "i" })(x), over_devices(one)(x)
    end
    contract.oracle = ("[%s] * 2"):format(contract.oracle)
    contract.sized = function(o) return not o.axis_index_groups end -- which are tables of numbers
    contract.without = contract.without or {}
    contract.without.mesh = "it is of a mesh itself: the second of its results is that of devices"
    of(name, contract)
end

-- Halves are added in f32 and rounded once along examples; over devices each sum of two is rounded.
local SUMS = { f64 = "scaled 1e-15", f32 = "scaled 1e-6", f16 = "scaled 2e-3", bf16 = "scaled 2e-2",
               c64 = "scaled 1e-6", c128 = "scaled 1e-15" }
local ALL = "floats ints complex"
local NONE = "it has none, as its help says"
local function sum_dtype(dtype) return dtypes.by_name[dtype].sum end
local CARRIED = "np.stack([%s for k in range(4)])"

-- Groups along the axis, and the members of that of member k, in their order.
local PAIRS, UNEVEN = { { 0, 3 }, { 2, 1 } }, { { 1 }, { 3, 0, 2 } }
local REDUCED = { {}, { axis_index_groups = PAIRS }, { axis_index_groups = UNEVEN } }
local OWN = "[m for g in o.get('axis_index_groups', [[0, 1, 2, 3]]) if k in g for m in g]"
local function among(text) return CARRIED:format(text:gsub("OWN", OWN)) end

collective("np.psum", function(psum, x, ...) return psum(x, "i", ...) end, {
    oracle = among "x[OWN].sum(0, dtype=x.dtype if x.dtype.itemsize >= 4 else None)", within = SUMS, options = REDUCED,
    gives = { sum_dtype, sum_dtype }, accepts = ALL,
})
collective("np.pmean", function(pmean, x, ...) return pmean(x, "i", ...) end, {
    oracle = among "x[OWN].mean(0)", within = SUMS, gives = "real", accepts = ALL, options = REDUCED,
})
collective("np.pmax", function(pmax, x, ...) return pmax(x, "i", ...) end, {
    oracle = among "x[OWN].max(0)", options = REDUCED, accepts = "floats i32 u8 i64 u64",
    without = { derivatives = NONE },
})
collective("np.pmin", function(pmin, x, ...) return pmin(x, "i", ...) end, {
    oracle = among "x[OWN].min(0)", options = REDUCED, accepts = "floats i32 u8 i64 u64",
    without = { derivatives = NONE },
})
collective("np.pvary", function(pvary, x, ...) return pvary(x, "i", ...) end, { oracle = "x" })
collective("np.pcast", function(pcast, x, ...) return pcast(x, "i", ...) end, {
    options = { { to = "varying" } }, oracle = "x",
})
collective("np.all_gather", function(gather, x, ...) return gather(x, "i", ...) end, {
    shapes = { { { N, 2 } }, { { N, 1, 2 } }, { { N, 1 } }, { { N, 0 } } },
    options = { {}, { axis = 1 }, { axis = -1 }, { tiled = true }, { tiled = true, axis = -1 }, { to = "varying" },
                { axis_index_groups = PAIRS, axis = 1 }, { axis_index_groups = PAIRS, axis = -1, tiled = true } },
    oracle = among "(np.concatenate if o.get('tiled') else np.stack)(list(x[OWN]), o.get('axis', 0))",
})
collective("np.psum_scatter", function(scatter, x, ...) return scatter(x, "i", ...) end, {
    shapes = { { { N, 4, 1 } }, { { N, 4, 2 } }, { { N, 4, 0 } } },
    options = { {}, { scatter_dimension = 0, tiled = true },
                { scatter_dimension = 0, tiled = true, axis_index_groups = PAIRS } },
    within = SUMS, gives = { sum_dtype, sum_dtype },
    oracle = among "np.split(x[OWN].sum(0), len(OWN))[OWN.index(k)][0 if not o.get('tiled') else slice(None)]",
})
collective("np.all_to_all", function(to_all, x, ...) return to_all(x, "i", 1, 0, ...) end, {
    shapes = { { { N, 1, 4 } }, { { N, 2, 4 } }, { { N, 0, 4 } } },
    options = { {}, { tiled = true }, { tiled = true, axis_index_groups = PAIRS } },
    oracle = among("np.concatenate([np.split(x[j], len(OWN), 1)[OWN.index(k)] for j in OWN], 0) if o.get('tiled') "
                   .. "else x[:, :, k]"),
})
collective("np.ppermute", function(permute, x, ...) return permute(x, "i", { { 0, 2 }, { 2, 1 }, { 1, 0 } }, ...) end, {
    oracle = "np.stack([x[1], x[2], x[0], 0 * x[3] if x.dtype.kind in 'iu' else np.zeros_like(x[3])])",
})
collective("np.pshuffle", function(shuffle, x, ...) return shuffle(x, "i", { 3, 1, 0, 2 }, ...) end, {
    oracle = "x[[3, 1, 0, 2]]",
})
collective("np.axis_index", function(index, x, ...) return x * 0 + index("i", ...) end, {
    oracle = "np.broadcast_to(np.arange(4).astype(x.dtype).reshape((4,) + (1,) * (x.ndim - 1)), x.shape)",
    accepts = "f32 f64 i32", special = false,
    without = { special = "it looks at no value", derivatives = "it looks at no value" },
})
collective("np.axis_size", function(size, x, ...) return x * 0 + size("i", ...) end, {
    oracle = "np.full_like(x, 4)", accepts = "f32 f64 i32", special = false,
    without = { special = "it looks at no value", derivatives = "it looks at no value" },
})

elsewhere("np.ragged_all_to_all", "tests/mesh/ragged_test.lua", "sizes and places fit each other; a loop sends them")
elsewhere("np.shard_map", "tests/mesh/shard_map_test.lua",
          "bodies over blocks against slices; the contracts above call it")
elsewhere([[np.mesh np.P np.NamedSharding sharding.devices sharding.shard_shape sharding.devices_indices_map
    np.device_put x.device_put x.sharding x.addressable_shards np.debug.visualize_array_sharding
    np.debug.visualize_sharding]],
          "tests/mesh/surface_test.lua", "where arrays lie; the way `mesh` of all contracts uses them, too")
elsewhere("np.set_mesh np.get_mesh np.reshard", "tests/mesh/contract_test.lua", "how arrays have to lie")
elsewhere("np.make_array_from_callback np.make_array_from_process_local_data", "tests/mesh/born_test.lua",
          "blocks that each process makes; whole arrays are compared with")
elsewhere("np.with_sharding_constraint", "tests/mesh/auto_test.lua", "where results lie, by random programs")

finish()
