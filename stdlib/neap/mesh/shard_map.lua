--- shard_map.lua: np.shard_map: a function of the blocks that each device of a mesh holds.
--
-- The function, the *body*, runs once, in Lua; what it records is for all devices (lazy/graph/sharding.h). Here stands
-- what surrounds that. An argument is first laid out as its spec says (`reshard`: nothing if it lies so), then
-- *enters*: the same blocks, of which the body sees one shape. A result *leaves*: its blocks are those of an array
-- that lies as its spec says. The axes of the mesh are open meanwhile as names for collectives (tracing/axes.lua). All
-- of this is recording, so gradients, traces and batches around a shard_map, and inside its body, need nothing of
-- their own.
--
-- Inside another body the mesh is the same: its manual axes stay, and further ones become manual. `c`, the context of a
-- call, is { mesh, outer, new, all = bits of axes: manual around, made manual by this call, both; check = check_rep,
-- unchecked = those of all for which nothing is checked, body = the function in words, axes = of all, for axes.lua,
-- facts = what is known of specs }. It is kept for later calls in the same surroundings.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"
local axes = require "neap.tracing.axes"
local meshes = require "neap.mesh.mesh"
local shardings = require "neap.mesh.sharding"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, bad_argument, describe = core.is_array, core.raise, core.bad_argument, core.describe
local band, bor, bnot, lshift = bit.band, bit.bor, bit.bnot, bit.lshift
local layout_of, names_text, ORDINARY = shardings.layout_of, shardings.names_text, shardings.ORDINARY
local type, unpack = type, unpack

local NAME = "shard_map"
local id_box = ffi.new("int32_t[1]")

-- ---- Specs ----------------------------------------------------------------------------------------------------------

local SPECS = { in_specs = "a spec such as np.P(\"i\", nil), or a table with an entry for each argument: a spec, or a "
                           .. "tree of them",
                out_specs = "a spec such as np.P(\"i\", nil), or a table with an entry for each result: a spec, or a "
                            .. "tree of them" }
local EACH = { in_specs = "argument", out_specs = "result" }

--- Raises unless an option is a spec or a table of trees of specs that name axes of the mesh.
local function check_specs(option, specs, mesh)
    if not trees.is_node(specs) and not shardings.is_spec(specs) then
        bad_argument(NAME, nil, option, SPECS[option], specs)
    end
    for _, key in ipairs(trees.is_node(specs) and trees.keys_of(specs, NAME) or {}) do
        if type(key) ~= "number" then
            raise(NAME, "option '%s' has an entry '%s', but a table has an entry for each %s; for one %s that is a "
                  .. "table write {{%s=…}}", option, key, EACH[option], EACH[option], key)
        end
    end
    trees.walk(NAME, specs, function(spec, path)
        if not shardings.is_spec(spec) then
            raise(NAME, "%s%s must be a spec such as np.P(\"i\", nil), got %s", option, path, describe(spec))
        end
        shardings.axes_of(NAME, option .. path, spec, mesh)
    end, "")
end

--- Raises unless the specs name axes that become manual in this call.
local function check_new(option, specs, c)
    trees.walk(NAME, specs, function(spec, path)
        local _, bits, unreduced, reduced = shardings.axes_of(NAME, option .. path, spec, c.mesh)
        local undone = bor(unreduced, reduced)
        if undone ~= 0 and not c.check then
            raise(NAME, "%s%s is %s, and check_rep is false: what is unreduced or reduced is a type that has to be "
                  .. "checked", option, path, tostring(spec))
        end
        local stays = band(bor(bits, undone), bnot(c.new))
        if stays == 0 then return end
        if band(stays, c.outer) ~= 0 then
            raise(NAME, "%s%s is %s, but mesh axes %s are manual already, by a np.shard_map around this one", option,
                  path, tostring(spec), names_text(c.mesh, band(stays, c.outer)))
        end
        raise(NAME, "%s%s is %s, but axis_names does not have %s", option, path, tostring(spec),
              names_text(c.mesh, stays))
    end, "")
end

--- The spec or tree of specs of argument or result k.
local function specs_of(specs, k)
    if trees.is_node(specs) then return specs[k] end
    return specs
end

--- The name in messages of the spec of the leaf at `path`; raises if there is none.
local function spec_name(option, specs, spec, path)
    if not shardings.is_spec(spec) then raise(NAME, "option '%s' has no entry for %s", option, path) end
    if not trees.is_node(specs) then return option end
    local place = path:gsub("^%a+ (%d+)", "[%1]"):gsub(" %b()", "", 1)
    return option .. place
end

--- Whether a leaf is a number: of Lua, or an argument of a jitted function.
local function is_number(leaf)
    return type(leaf) == "number" or is_array(leaf) and core.info(leaf).weak ~= 0 and core.ndim(leaf) == 0
end

--- What is no array passes as it is, if its spec divides nothing.
local function check_plain(leaf, spec, what, path)
    if spec.unreduced or spec.reduced then
        raise(NAME, "%s is %s, of which no sum is left to do, but %s is %s: use np.P()", path,
              is_number(leaf) and "a number" or describe(leaf), what, tostring(spec))
    end
    if spec.n > 0 then
        raise(NAME, "%s is %s, which has no axes, but %s is %s: use np.P()", path,
              is_number(leaf) and "a number" or describe(leaf), what, tostring(spec))
    end
    return leaf
end

-- ---- In and out -----------------------------------------------------------------------------------------------------

--- For each axis of an array of ndim axes: those of `first`, then those of `then_` that are not among `bits`.
local function joined_split(ndim, first, then_, bits)
    local split = {}
    for k = 1, ndim do
        split[k] = { unpack(first[k] or {}) }
        for _, axis in ipairs(then_[k] or {}) do
            if band(bits, lshift(1, axis)) == 0 then table.insert(split[k], axis) end
        end
    end
    return split
end

--- Drops of the axes behind the first kept[k] of split[k] those that do not divide an array evenly.
local function drop_uneven(split, kept, dims, mesh)
    for k = 1, #dims do
        local rest, list = dims[k], {}
        for place, axis in ipairs(split[k]) do
            local size = mesh.sizes[axis + 1]
            if place <= #(kept[k] or {}) or rest % size == 0 then
                rest = rest / size
                list[#list + 1] = axis
            end
        end
        split[k] = list
    end
    return split
end

--- What is known of a spec in a context: its axes { split, bits, unreduced, reduced }, and by layout and number of axes
-- of an array the numbers of the layouts that it gets, { into, out }.
local function facts_of(spec, what, c)
    local facts = c.facts[spec]
    if not facts then
        local split, bits, unreduced, reduced = shardings.axes_of(NAME, what, spec, c.mesh)
        facts = { split = split, bits = bits, unreduced = unreduced, reduced = reduced, into = {}, out = {} }
        c.facts[spec] = facts
    end
    return facts
end

--- The layouts, as numbers, of an array with sizes `dims` that is to enter: whole, and as a block. They depend on the
-- sizes only where it is divided already by axes that stay.
local function layouts_inside(lies, dims, facts, c)
    local key = lies.number * 16 + #dims
    local known = facts.into[key]
    if known then return known.whole, known.inner end
    local own = lies.mesh == c.mesh and lies.split or {}
    local split = joined_split(#dims, facts.split, own, c.all)
    local unreduced = bor(band(lies.unreduced, bnot(c.new)), facts.unreduced)
    local reduced = bor(band(lies.reduced, bnot(c.new)), facts.reduced)
    local whole = shardings.number_of(NAME, {
        mesh = c.mesh, manual = lies.manual, varies = lies.varies, differs = lies.differs, unchecked = lies.unchecked,
        unreduced = unreduced, reduced = reduced,
        split = drop_uneven(split, facts.split, dims, c.mesh) })
    local rest = joined_split(#dims, {}, split, facts.bits)
    local inner = shardings.number_of(NAME, {
        mesh = c.mesh, manual = c.all, varies = bor(lies.varies, c.check and facts.bits or c.new),
        differs = bor(lies.differs, facts.bits), unchecked = c.unchecked, unreduced = unreduced, reduced = reduced,
        split = rest })
    for k = 1, #dims do
        if own[k] and joined_split(#dims, {}, own, c.all)[k][1] then return whole, inner end
    end
    facts.into[key] = { whole = whole, inner = inner }
    return whole, inner
end

--- Tells the extents of what an array with sizes `dims` becomes: parts of it, or made of parts.
local function put_extents(dims, split, mesh, parts)
    if not core.sized() then return end
    for k = 1, #dims do
        local count = 1
        for _, axis in ipairs(split[k] or {}) do count = count * mesh.sizes[axis + 1] end
        core.put(k - 1, parts and math.floor(dims[k] / count) or dims[k] * count)
    end
end

--- An array as the blocks that the body sees.
local function enter(x, facts, c)
    local dims = core.shape_of(x)
    local whole, inner = layouts_inside(layout_of(x) or ORDINARY, dims, facts, c)
    x = shardings.reshard(NAME, x, whole)
    put_extents(dims, facts.split, c.mesh, true)
    return core.call_ids(NAME, id_box, 1, function() return C.neap_mesh_enter(ctx, x._id, inner, id_box) end)[1]
end

local cause_room = ffi.new("char[?]", 512)

--- What made an array differ along axes (bits), as a clause.
local function cause_of(x, bits)
    core.call(NAME, function() return C.neap_mesh_cause(ctx, x._id, bits, cause_room, ffi.sizeof(cause_room)) end)
    return ffi.string(cause_room)
end

--- Raises if an array that lies so may differ where its spec says that it does not.
local function check_same(x, lies, facts, c, path, what, spec)
    local unsaid = band(lies.differs, c.new, bnot(facts.bits))
    if not c.check or unsaid == 0 then return end
    local one = band(unsaid, unsaid - 1) == 0
    raise(NAME, "%s of %s may differ over mesh %s %s, but %s is %s, which does not name %s, and so says that it is the "
          .. "same all along: combine it (np.psum, np.pmean, np.pmax, np.all_gather), or name the %s in out_specs; "
          .. "with check_rep=false you promise that it is the same%s", path, c.body, one and "axis" or "axes",
          names_text(c.mesh, unsaid), what, tostring(spec), one and "it" or "them", one and "axis" or "axes",
          cause_of(x, unsaid))
end

local EVERYWHERE = np.P()

--- A result, of the context's axes, as one whose sums are left undone as its spec says.
local function retype(x, facts, c, path, what, spec)
    local lies = layout_of(x) or ORDINARY
    for _, kind in ipairs { "unreduced", "reduced" } do
        local unsaid = band(lies[kind], c.new, bnot(facts[kind]))
        if unsaid ~= 0 then
            raise(NAME, "%s of %s is %s over %s, but %s is %s, which does not say so: %s", path, c.body, kind,
                  names_text(c.mesh, unsaid), what, tostring(spec), kind == "unreduced"
                  and "np.psum does the sum, or name the axis there as unreduced" or "name the axis there as reduced")
        end
        local more = band(facts[kind], bnot(lies[kind]))
        local fit = band(more, kind == "unreduced" and bnot(lies.varies) or bor(lies.varies, lies.unreduced))
        if fit ~= 0 then
            raise(NAME, "%s of %s is %s over %s, but %s is %s, which says that it is %s", path, c.body,
                  kind == "unreduced" and "the same on all devices, or reduced," or "no one value on all devices",
                  names_text(c.mesh, fit), what, tostring(spec), kind)
        end
        if more ~= 0 then x = shardings.retype(NAME, x, more, kind, c.mesh, c.all, c.unchecked) end
    end
    return x
end

--- A result of the body, which may be an array from around it, as the array of its blocks.
local function leave(x, facts, c, path, what, spec)
    local lies = layout_of(x)
    if lies and lies.manual ~= c.all then
        local undone = bor(lies.unreduced, lies.reduced) ~= 0
        x = enter(x, facts_of(undone and shardings.undone_spec(lies) or EVERYWHERE, what, c), c)
        lies = layout_of(x)
    end
    lies = lies or ORDINARY
    if bor(lies.unreduced, lies.reduced, facts.unreduced, facts.reduced) ~= 0 then
        x = retype(x, facts, c, path, what, spec)
        lies = layout_of(x) or ORDINARY
    end
    check_same(x, lies, facts, c, path, what, spec)
    local key = lies.number * 16 + core.ndim(x)
    local number = facts.out[key]
    if not number then
        number = shardings.number_of(NAME, {
            mesh = c.mesh, manual = c.outer, varies = band(lies.varies, c.outer),
            differs = band(lies.differs, c.outer), unchecked = band(c.unchecked, c.outer),
            unreduced = lies.unreduced, reduced = lies.reduced,
            split = joined_split(core.ndim(x), facts.split, lies.split, 0) })
        facts.out[key] = number
    end
    put_extents(core.shape_of(x), facts.split, c.mesh, false)
    return core.call_ids(NAME, id_box, 1, function()
        return C.neap_mesh_leave(ctx, x._id, number, c.all, c.check and 0 or 1, id_box)
    end)[1]
end

-- ---- A call ---------------------------------------------------------------------------------------------------------

--- "argument 1 (x)", with the name that the body gives it.
local function argument_name(user_function, k, c)
    if not c.names[k] then
        local parameter = debug.getlocal(user_function, k)
        c.names[k] = parameter and ("argument %d (%s)"):format(k, parameter) or "argument " .. k
    end
    return c.names[k]
end

--- The arguments as the body sees them. What does not fit is told of all of them at once.
local function enter_arguments(user_function, specs, given, c)
    shardings.check_count(NAME, "in_specs", EACH.in_specs, specs, given.n)
    local problems, entering = {}, {} -- by leaf what is known of its spec, or false: it passes as it is
    for k = 1, given.n do
        trees.with_prefix(NAME, "in_specs", given[k], specs_of(specs, k), argument_name(user_function, k, c),
                          function(leaf, spec, path)
            entering[#entering + 1] = false
            if leaf == nil and spec == nil then return end
            local what = spec_name("in_specs", specs, spec, path)
            if is_array(leaf) then shardings.check(NAME, leaf) end
            if not is_array(leaf) or is_number(leaf) and spec.n == 0 then return check_plain(leaf, spec, what, path) end
            problems[#problems + 1] = shardings.misfit(path, core.shape_of(leaf), what, spec, c.mesh, true)
            entering[#entering] = facts_of(spec, what, c)
        end)
    end
    if problems[1] then
        raise(NAME, "%s%s", #problems > 1 and "arguments do not fit:\n  " or "", table.concat(problems, "\n  "))
    end
    local arguments, at = { n = given.n }, 0
    for k = 1, given.n do
        arguments[k] = trees.rebuild(NAME, given[k], function(leaf)
            at = at + 1
            return entering[at] and enter(leaf, entering[at], c) or leaf
        end)
    end
    return arguments
end

--- The results of the body as the caller sees them.
local function leave_results(specs, results, c)
    shardings.check_count(NAME, "out_specs", EACH.out_specs, specs, results.n)
    for k = 1, results.n do
        results[k] = trees.with_prefix(NAME, "out_specs", results[k], specs_of(specs, k), "result " .. k,
                                       function(leaf, spec, path)
            if leaf == nil and spec == nil then return nil end
            local what = spec_name("out_specs", specs, spec, path)
            if not is_array(leaf) or is_number(leaf) and spec.n == 0 then
                return check_plain(leaf, spec, what, path .. " of " .. c.body)
            end
            local owner = path .. " of " .. c.body
            shardings.check(NAME, leaf)
            local problem = shardings.misfit(owner, core.shape_of(leaf), what, spec, c.mesh, false)
            if problem then raise(NAME, "%s", problem) end
            return leave(leaf, facts_of(spec, what, c), c, path, what, spec)
        end)
    end
    return results
end

--- The axes of the mesh that are manual in the body, for collectives. An axis's token is made when it is first used.
local function open_axes(c)
    local list = {}
    for k, name in ipairs(c.mesh.axis_names) do
        if band(c.all, lshift(1, k - 1)) ~= 0 then
            local axis = { name = name, size = c.mesh.sizes[k], mesh = c.mesh, manual = c.all,
                           unchecked = c.unchecked, at = k - 1 }
            list[#list + 1] = setmetatable(axis, { __index = function(_, key)
                if key ~= "token" then return nil end
                axis.token = core.call_ids(NAME, id_box, 1, function()
                    return C.neap_mesh_index(ctx, c.mesh.number, c.all, c.unchecked, k - 1, id_box)
                end)[1]
                return axis.token
            end })
        end
    end
    return list
end

--- The context of a call.
local function context_of(user_function, o)
    local mesh, outer, unchecked = axes.mesh()
    outer, unchecked = outer or 0, unchecked or 0
    if mesh and mesh ~= o.mesh then
        raise(NAME, "the mesh is %s, but the np.shard_map around this one has %s: inside its body the mesh must be the "
              .. "same", o.mesh:axes_text(), mesh:axes_text())
    end
    local new = o.new
    if new and band(new, outer) ~= 0 then
        raise(NAME, "axis_names has %s, manual already by a np.shard_map around this one",
              names_text(o.mesh, band(new, outer)))
    end
    new = new or band(lshift(1, #o.mesh.sizes) - 1, bnot(outer))
    if new == 0 then raise(NAME, "all axes of the mesh are manual already by a np.shard_map around this one") end
    local made = debug.getinfo(user_function, "S")
    local c = { mesh = o.mesh, outer = outer, new = new, all = bor(outer, new), check = o.check,
                unchecked = o.check and unchecked or bor(unchecked, new), facts = {}, names = {},
                body = ("the function at %s:%d"):format(made.short_src, made.linedefined) }
    check_new("in_specs", o.in_specs, c)
    check_new("out_specs", o.out_specs, c)
    c.axes = open_axes(c)
    return c
end

--- Runs user_function on the blocks of its arguments.
local function map_blocks(user_function, o, ...)
    local mesh, outer, unchecked = axes.mesh()
    local key = mesh and mesh.number * 65536 + outer * 256 + unchecked or 0
    local c = o.contexts[key] or context_of(user_function, o)
    o.contexts[key] = c
    local arguments = enter_arguments(user_function, o.in_specs, staging.pack(...), c)
    local results = axes.with(c.axes, function()
        return leave_results(o.out_specs, staging.pack(user_function(unpack(arguments, 1, arguments.n))), c)
    end)
    return unpack(results, 1, results.n)
end

-- ---- shard_map ------------------------------------------------------------------------------------------------------

--- The bits of the axes that an option names; nil without it.
local function bits_of(names, mesh)
    if names == nil then return nil end
    if type(names) ~= "table" or #names == 0 then
        bad_argument(NAME, nil, "axis_names", 'a table of names such as {"i"}', names)
    end
    local bits = 0
    for k = 1, #names do
        local at = mesh.axis_of[names[k]]
        if not at then
            raise(NAME, "axis_names has %s, but the mesh has axes %s", describe(names[k]), mesh:axes_text())
        end
        bits = bor(bits, lshift(1, at))
    end
    return bits
end

local options = { mesh = true, in_specs = true, out_specs = true, check_rep = true, axis_names = true }

--- np.shard_map(f, {mesh=…, in_specs=…, out_specs=…, check_rep=true, axis_names=…}) -> function: a function that runs f
-- on blocks: f is applied, logically, once on each device of the mesh, to the part of each argument that the device
-- holds. f runs once, in Lua; each op in it is recorded once, for all devices.
--
-- Inside f, np.psum and its kin compute over axes of the mesh, by their names. Printing an array shows each device's
-- block; Lua's control flow may look at values that are the same on all devices. docs/mesh.md tells more.
--- mesh: the mesh of devices; without it that of np.set_mesh
--- in_specs: a spec for all arguments, or a table with an entry for each argument: a spec, or a tree of specs that is
-- a prefix of the argument's tree. An axis of an argument is divided by the axes of the mesh that its spec names,
-- evenly; devices along axes of the mesh that it does not name get the same. Arguments that do not lie so are
-- moved first. Numbers, and all else that is no array, need np.P(), and stay what they are. Arrays that f reads from
-- around it count as np.P() too.
--- out_specs: the same of the results: the blocks are put side by side along axes that name axes of the mesh; along
-- those that no axis names, all devices must have the same. That is checked: a result must have come from a collective,
-- or from what is the same everywhere.
--- check_rep: false takes your word that results are the same where out_specs say so
--- axis_names: names of axes: only over these f sees blocks, over the others arrays are whole, and lie as they lay; a
-- further np.shard_map over these may stand in f
--- > mesh = np.mesh({1}, {"i"})
--- > f = np.shard_map(function(x) return np.psum(x:sum(), "i") end, {mesh=mesh, in_specs=np.P("i"), out_specs=np.P()})
--- > f(np.arange(4)):item()
-- 6
function np.shard_map(f, given)
    local user_function = staging.check_function(NAME, f)
    if meshes.is_mesh(given) then
        bad_argument(NAME, 2, "options", "a table {mesh=…, in_specs=…, out_specs=…}", given)
    end
    local o = core.options(NAME, given, options)
    o.mesh = o.mesh or meshes.current
    if not meshes.is_mesh(o.mesh) then bad_argument(NAME, nil, "mesh", "a mesh of np.mesh", o.mesh) end
    if o.check_rep ~= nil and type(o.check_rep) ~= "boolean" then
        bad_argument(NAME, nil, "check_rep", "a boolean", o.check_rep)
    end
    check_specs("in_specs", o.in_specs, o.mesh)
    check_specs("out_specs", o.out_specs, o.mesh)
    local settings = { mesh = o.mesh, in_specs = o.in_specs, out_specs = o.out_specs, check = o.check_rep ~= false,
                       new = bits_of(o.axis_names, o.mesh), contexts = {} }
    local function mapped(...)
        return map_blocks(user_function, settings, ...)
    end
    jit.off(mapped)
    return mapped
end

-- They run the user's function, or call the core through boxes.
for _, f in ipairs { enter, retype, leave, enter_arguments, leave_results, open_axes, context_of, map_blocks } do
    jit.off(f)
end
