--- contract.lua: how arrays have to lie: np.set_mesh, np.get_mesh, np.reshard, the options in_shardings and
-- out_shardings of np.jit, and what stands for arrays that are not there yet.
local core = require "neap.core"
local axes = require "neap.tracing.axes"
local meshes = require "neap.mesh.mesh"
local shardings = require "neap.mesh.sharding"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, bad_argument, describe = core.is_array, core.raise, core.bad_argument, core.describe

local contract = {}

-- ---- The mesh of specs ----------------------------------------------------------------------------------------------

--- np.set_mesh(mesh) -> mesh | nil: from now on specs without a mesh mean this one, in np.device_put(x, spec),
-- np.reshard, np.with_sharding_constraint, np.shard_map and np.jit; nil: none. Returns the mesh before. Jitted
-- functions are recorded anew for another mesh. As jax.set_mesh(mesh).
--- > before = np.set_mesh(np.mesh({1}, {"i"}))
--- > np.device_put(np.ones(4), np.P("i")).sharding.spec
-- P("i")
--- > np.set_mesh(before) == np.mesh({1}, {"i"})
-- true
function np.set_mesh(mesh)
    if mesh ~= nil and not meshes.is_mesh(mesh) then bad_argument("set_mesh", 1, "mesh", "a mesh of np.mesh", mesh) end
    if core.recording() then
        raise("set_mesh", "a gradient, a trace or a batch is open: what is recorded there would be for two meshes")
    end
    local before = meshes.current
    if before ~= mesh then
        meshes.current = mesh
        np.clear_caches()
    end
    return before
end

--- np.get_mesh() -> mesh | nil: the mesh that np.set_mesh has set.
--- > np.get_mesh()
-- nil
function np.get_mesh()
    return meshes.current
end

--- The mesh and the spec of an item: a sharding, or a spec for a mesh that the array lies on, or that is set. x: the
-- array, or nil.
local function resolve(name, what, item, x)
    if shardings.is_sharding(item) then return item.mesh, item.spec end
    if not shardings.is_spec(item) then
        raise(name, "%s must be a spec such as np.P(\"i\", nil), a sharding, or a tree of them, got %s", what,
              describe(item))
    end
    local lies = x and shardings.layout_of(x)
    local mesh = lies and lies.mesh or meshes.current
    if not mesh then
        raise(name, "%s is %s, a spec without a mesh: np.set_mesh(mesh) says which one specs mean; or write "
              .. "np.NamedSharding(mesh, spec)", what, tostring(item))
    end
    return mesh, item
end

contract.resolve = resolve

-- ---- np.reshard -----------------------------------------------------------------------------------------------------

--- np.reshard(x, spec) -> x: x, an array on a mesh or a tree of them, laid out as a spec says, or a prefix tree of
-- specs or shardings: the one op that moves data over axes that are explicit (np.mesh). An ordinary array goes to
-- the mesh of np.set_mesh. Values are the same; the gradient lies as x. As jax.sharding.reshard(x, spec).
--- > x = np.device_put(np.ones(4), np.mesh({1}, {"i"}), np.P("i"))
--- > np.reshard(x, np.P(nil)).sharding.spec
-- P(nil)
function np.reshard(x, spec)
    if spec == nil then bad_argument("reshard", 2, "spec", 'a spec such as np.P("i", nil), or a sharding', spec) end
    return trees.with_prefix("reshard", "argument 2 (spec)", x, spec, "argument 1 (x)", function(leaf, item, path)
        leaf = core.coerce("reshard", 1, leaf)
        local mesh, wanted = resolve("reshard", "argument 2 (spec)", item, leaf)
        return shardings.lay_out("reshard", leaf, mesh, wanted, path, "its spec")
    end)
end

-- ---- The option out_sharding ----------------------------------------------------------------------------------------

--- The result of f(…), an op of arrays, laid out as the option says. Sums over the axes that are unreduced there are
-- left undone.
function contract.out(name, item, arrays, f, ...)
    local lying
    for _, x in ipairs(arrays) do
        if is_array(x) and shardings.layout_of(x) then lying = lying or x end
    end
    local mesh, spec = resolve(name, "option 'out_sharding'", item, lying)
    local bits = shardings.undone_bits(name, "option 'out_sharding'", spec, mesh)
    if bits == 0 then return shardings.lay_out(name, f(...), mesh, spec, "the result", "option 'out_sharding'") end
    C.neap_mesh_leave_undone(ctx, bits)
    local result = core.during(function() C.neap_mesh_leave_undone(ctx, 0) end, f, ...)
    local lies = shardings.layout_of(result)
    if not lies or lies.mesh ~= mesh or lies.unreduced ~= bits then
        raise(name, "option 'out_sharding' is %s, but %s left to do over %s: the axes that are summed over have to be "
              .. "divided by %s, and by %s alone", tostring(spec), lies and lies.unreduced ~= 0
              and "not all sums are" or "no sum is", shardings.names_text(mesh, bits),
              shardings.names_text(mesh, bits), spec.unreduced[2] and "them" or "it")
    end
    return shardings.lay_out(name, result, mesh, spec, "the result", "option 'out_sharding'")
end

-- ---- Arrays that are not there yet ----------------------------------------------------------------------------------

--- The number of the sharding that the table {shape={…}, sharding=item} says, and a function of the shape that raises
-- where it does not fit. The table is called `where` in messages, its field `what`.
function contract.place(name, where, what, item)
    if not shardings.is_sharding(item) and not shardings.is_spec(item) then
        raise(name, "%s must be a sharding such as np.NamedSharding(mesh, np.P(\"i\")), a spec, or a device such as "
              .. "\"cpu:0\", got %s", what, describe(item))
    end
    local mesh, spec = resolve(name, what, item)
    if shardings.is_spec(item) then item = np.NamedSharding(mesh, spec) end
    if item.manual then
        local open, manual = axes.mesh()
        if open ~= mesh or manual ~= item.layout.manual then
            raise(name, "%s is %s: there are such blocks only in the body of a np.shard_map over these axes", what,
                  tostring(item))
        end
    end
    return item.number, function(shape)
        local problem = shardings.misfit(where, shape, "its sharding", spec, mesh, true)
        if problem then raise(name, "%s", problem) end
    end
end

-- ---- np.jit ---------------------------------------------------------------------------------------------------------

local EACH = { in_shardings = "argument", out_shardings = "result" }

--- Raises unless an option of np.jit is a spec, a sharding, or a table with one entry for each argument or result.
function contract.check(option, items)
    local each = EACH[option]
    local form = "a spec such as np.P(\"i\", nil), a sharding, or a table with an entry for each %s"
    if not trees.is_node(items) and not shardings.is_spec(items) and not shardings.is_sharding(items) then
        bad_argument("jit", nil, option, form:format(each), items)
    end
    for _, key in ipairs(trees.is_node(items) and trees.keys_of(items, "jit") or {}) do
        if type(key) ~= "number" or key < 1 or key % 1 ~= 0 then
            raise("jit", "option '%s' has an entry '%s', but a table has an entry for each %s; for one %s that is a "
                  .. "table write {{%s=…}}", option, tostring(key), each, each, tostring(key))
        end
    end
    trees.walk("jit", items, function(item, path)
        if item ~= false and not shardings.is_spec(item) and not shardings.is_sharding(item) then
            raise("jit", "option '%s'%s must be a spec, a sharding, or false, got %s", option, path, describe(item))
        end
    end, "")
end

--- What option says of argument or result k; nil: nothing.
local function item_of(items, k)
    if trees.is_node(items) then return items[k] end
    return items
end

--- An array that has to lie as an item says: one that lies otherwise on a mesh is refused, an ordinary one is laid out.
local function take(leaf, item, path)
    local mesh, spec = resolve("jit", "its entry of in_shardings", item, leaf)
    local now = shardings.of_array(leaf)
    if now and (now.mesh ~= mesh or now.spec ~= spec) then
        raise("jit", "%s lies on %s as %s, and in_shardings wants %s on %s: np.reshard moves it there, before the call",
              path, now.mesh:axes_text(), tostring(now.spec), tostring(spec), mesh:axes_text())
    end
    if now then return leaf end
    return shardings.lay_out("jit", leaf, mesh, spec, path, "its entry of in_shardings")
end

local function give(leaf, item, path)
    local mesh, spec = resolve("jit", "its entry of out_shardings", item, leaf)
    return shardings.lay_out("jit", leaf, mesh, spec, path, "its entry of out_shardings")
end

--- Raises unless a table has an entry for each of n arguments or results.
local function check_count(option, items, n)
    if not trees.is_node(items) then return end
    local each = EACH[option]
    shardings.check_count("jit", option, each, items, n)
    for k = 1, n do
        if items[k] == nil then
            raise("jit", "option '%s' has no entry for %s %d of %d: write false where it says nothing", option, each, k,
                  n)
        end
    end
end

--- The values of a list, each array treated as the items say; what is no array, and what has the item false, stays.
local function each(option, values, items, treat)
    check_count(option, items, values.n)
    for k = 1, values.n do
        local item = item_of(items, k)
        if item then
            values[k] = trees.with_prefix("jit", option, values[k], item, EACH[option] .. " " .. k,
                                          function(leaf, inner, path)
                if inner == false or not is_array(leaf) or core.info(leaf).weak ~= 0 then return leaf end
                if inner == nil then
                    raise("jit", "option '%s' has no entry for %s: write false where it says nothing", option, path)
                end
                return treat(leaf, inner, path)
            end)
        end
    end
    return values
end

--- user_function as a function whose arguments and results lie as the options of np.jit say.
function contract.wrap(user_function, ins, outs)
    if ins ~= nil then contract.check("in_shardings", ins) end
    if outs ~= nil then contract.check("out_shardings", outs) end
    local function contracted(...)
        local given = staging.pack(...)
        if ins ~= nil then given = each("in_shardings", given, ins, take) end
        local results = staging.pack(user_function(unpack(given, 1, given.n)))
        if outs ~= nil then results = each("out_shardings", results, outs, give) end
        return unpack(results, 1, results.n)
    end
    jit.off(contracted)
    return contracted
end

for _, f in ipairs { np.set_mesh, np.reshard, resolve, take, give, check_count, each, contract.out } do jit.off(f) end

return contract
