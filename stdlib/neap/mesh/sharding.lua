--- sharding.lua: how arrays lie on meshes: np.P, x.sharding, np.device_put on a mesh, np.with_sharding_constraint.
--
-- A *spec* says for each axis of an array by which axes of a mesh it is divided. A *sharding* is a mesh and a spec; in
-- the core it has a number, the same for equal ones, from which `layout_of` reads it:
--
--      layout { mesh, manual, varies, differs, unchecked, unreduced, reduced = bits by axis of the mesh,
--               split = by axis of the array a list of axes of the mesh }     axes count from 0, lists of Lua from 1
--
-- Layouts are shared: what changes one copies it first. lazy/graph/sharding.h tells what manual axes are and what
-- varies.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"
local meshes = require "neap.mesh.mesh"
local trees = require "neap.core.trees"

local np, C, ctx = core.np, core.C, core.ctx
local raise, bad_argument, describe = core.raise, core.bad_argument, core.describe
local band, bnot, bor, lshift = bit.band, bit.bnot, bit.bor, bit.lshift
local select, tostring, type = select, tostring, type

local shardings = {}

local number_box = ffi.new("int32_t[1]")
local C_sharding = ffi.typeof("neap_sharding")

-- ---- Specs ----------------------------------------------------------------------------------------------------------

--- What np.P returns: by axis of the array false, a name, or a list of names; n: how many entries; unreduced, reduced:
-- lists of names, in order, or nil. For the library: `names`, by axis a list of names.
local Spec = {}
Spec.__index = Spec
Spec.__newindex = meshes.refuse_change

function shardings.is_spec(value)
    return getmetatable(value) == Spec
end

local function entry_text(names)
    if #names == 0 then return "nil" end
    if #names == 1 then return ("%q"):format(names[1]) end
    local quoted = {}
    for k, name in ipairs(names) do quoted[k] = ("%q"):format(name) end
    return "{" .. table.concat(quoted, ", ") .. "}"
end

-- What a spec says of sums over axes of the mesh, besides how an array is divided.
local UNDONE = { "unreduced", "reduced" }

--- "{unreduced={"j"}}"; nil: the spec says nothing of that.
local function undone_text(spec)
    local parts = {}
    for _, option in ipairs(UNDONE) do
        local quoted = {}
        for k, name in ipairs(spec[option] or {}) do quoted[k] = ("%q"):format(name) end
        if quoted[1] then parts[#parts + 1] = ("%s={%s}"):format(option, table.concat(quoted, ", ")) end
    end
    return parts[1] and "{" .. table.concat(parts, ", ") .. "}"
end

function Spec:__tostring()
    local parts = {}
    for k = 1, self.n do parts[k] = entry_text(self.names[k]) end
    local undone = undone_text(self)
    if undone then parts[#parts + 1] = undone end
    return "P(" .. table.concat(parts, ", ") .. ")"
end

--- Entries of nil at the end say nothing.
function Spec.__eq(a, b)
    for k = 1, math.max(a.n, b.n) do
        if entry_text(a.names[k] or {}) ~= entry_text(b.names[k] or {}) then return false end
    end
    return undone_text(a) == undone_text(b)
end

--- The names of an entry.
local function entry_names(position, entry)
    if entry == nil or entry == false then return {} end
    if type(entry) == "string" and entry ~= "" then return { entry } end
    local good, n = trees.is_node(entry), 0
    for _, name in pairs(good and entry or {}) do
        good, n = good and type(name) == "string" and name ~= "", n + 1
    end
    good = good and n == #entry
    if not good then
        raise("P", "entry %d must be the name of a mesh axis, a table of names, or nil, got %s", position,
              describe(entry))
    end
    return { unpack(entry) }
end

--- Whether the last argument of np.P is options, and no entry.
local function is_options(value)
    return trees.is_node(value) and type(next(value)) == "string"
end

--- Puts the names of the options of np.P into a spec, in order. used: what divides an axis of the array already.
local function take_undone(spec, given, used)
    given = core.options("P", given, { unreduced = true, reduced = true })
    for _, option in ipairs(UNDONE) do
        local names, value = {}, given[option]
        if type(value) == "string" then value = { value } end
        if value ~= nil and type(value) ~= "table" then
            bad_argument("P", nil, option, "the name of a mesh axis, or a table of names", value)
        end
        for k, name in ipairs(value == nil and {} or core.list("P", ("option '%s'"):format(option), value)) do
            if type(name) ~= "string" or name == "" then
                bad_argument("P", nil, option, "the name of a mesh axis, or a table of names", name)
            end
            if used[name] then
                raise("P", "mesh axis '%s' is %s, and stands a second time, %s", name, option, used[name])
            end
            names[k], used[name] = name, "as " .. option
        end
        table.sort(names)
        spec[option] = names[1] and names or nil
    end
end

--- np.P(entry, …, {unreduced=…, reduced=…}) -> spec: how an array is divided, by its axes: the name of an axis of a
-- mesh; a table of names, the first one outermost; or nil (in tables false), for an axis that is not divided. Axes
-- without an entry are not divided. Specs compare with ==, and print as they are written.
--- unreduced: names of axes over which a sum is not done: the value is the sum of what the devices along these have
--- reduced: names of axes over which the cotangent of the array is unreduced: devices along them have the same
--- > np.P("i", nil, "j"), np.P("i") == np.P("i")
-- P("i", nil, "j")
-- true
--- > np.P("i", {unreduced="j"})
-- P("i", {unreduced={"j"}})
function np.P(...)
    local spec, used, places = { n = select("#", ...), names = {} }, {}, {}
    local undone = spec.n > 0 and is_options((select(spec.n, ...))) and select(spec.n, ...) or nil
    if undone then spec.n = spec.n - 1 end
    for k = 1, spec.n do
        local entry = select(k, ...)
        local names = entry_names(k, entry)
        for _, name in ipairs(names) do
            if used[name] then
                raise("P", "mesh axis '%s' stands twice, for array axes %d and %d", name, used[name], k - 1)
            end
            used[name], places[name] = k - 1, ("for array axis %d"):format(k - 1)
        end
        spec.names[k] = names
        spec[k] = #names > 1 and names or names[1] or false
    end
    if undone then take_undone(spec, undone, places) end
    return setmetatable(spec, Spec)
end

--- The names of the axes whose bits are set; nil: none is.
local function names_of(mesh, bits)
    local names = {}
    for k, name in ipairs(mesh.axis_names) do
        if band(bits, lshift(1, k - 1)) ~= 0 then names[#names + 1] = name end
    end
    return names[1] and names
end

--- The spec of a layout, for an array of ndim axes.
local function spec_of(layout, ndim)
    local entries = {}
    for k = 1, ndim do
        local names = {}
        for place, axis in ipairs(layout.split[k] or {}) do names[place] = layout.mesh.axis_names[axis + 1] end
        entries[k] = #names > 0 and names
    end
    if bor(layout.unreduced, layout.reduced) == 0 then return np.P(unpack(entries, 1, ndim)) end
    entries[ndim + 1] = { unreduced = names_of(layout.mesh, layout.unreduced),
                          reduced = names_of(layout.mesh, layout.reduced) }
    return np.P(unpack(entries, 1, ndim + 1))
end

-- ---- Layouts --------------------------------------------------------------------------------------------------------

local layouts = {} -- by number: shardings live as long as the process

--- The number of a layout.
function shardings.number_of(name, layout)
    local c, n = C_sharding(), 0
    c.mesh, c.manual, c.varies, c.differs = layout.mesh.number, layout.manual, layout.varies, layout.differs
    c.unchecked, c.unreduced, c.reduced = layout.unchecked, layout.unreduced, layout.reduced
    for k = 1, C.NEAP_MAX_DIMS do
        for _, axis in ipairs(layout.split[k] or {}) do
            c.split[2 * n], c.split[2 * n + 1] = k - 1, axis
            n = n + 1
        end
    end
    c.nsplit = n
    core.call(name, function() return C.neap_sharding_new(c, number_box) end)
    return number_box[0]
end

local function read_layout(number)
    local c = C_sharding()
    core.call(nil, function() return C.neap_sharding_get(number, c) end)
    local layout = { number = number, mesh = meshes.get(c.mesh), manual = c.manual, varies = c.varies,
                     differs = c.differs, unchecked = c.unchecked, unreduced = c.unreduced, reduced = c.reduced,
                     split = {} }
    for k = 0, c.nsplit - 1 do
        local axis = c.split[2 * k] + 1
        layout.split[axis] = layout.split[axis] or {}
        table.insert(layout.split[axis], c.split[2 * k + 1])
    end
    layouts[number] = layout
    return layout
end

--- What stands for the layout of an array that has none.
shardings.ORDINARY = { number = 0, manual = 0, varies = 0, differs = 0, unchecked = 0, unreduced = 0, reduced = 0,
                       split = {} }

--- The layout of an array; nil for an ordinary one.
local function layout_of(x)
    local number = core.info(x).sharding
    if number == 0 then return nil end
    return layouts[number] or read_layout(number)
end
shardings.layout_of = layout_of

--- Raises unless an array may be used here: it may have been deleted, or be a block of a body that has ended.
function shardings.check(name, x)
    core.call(name, function() return C.neap_array_sharding(ctx, x._id, number_box) end)
end

--- The axes of a mesh whose bits are set, as names in quotes: "'i', 'j'".
function shardings.names_text(mesh, bits)
    local list = {}
    for k, name in ipairs(mesh.axis_names) do
        if band(bits, lshift(1, k - 1)) ~= 0 then list[#list + 1] = ("'%s'"):format(name) end
    end
    return table.concat(list, ", ")
end

--- The axes of a mesh that a spec has as unreduced, and as reduced: their bits. Raises unless the mesh has them.
function shardings.undone_bits(name, what, spec, mesh)
    local bits = { unreduced = 0, reduced = 0 }
    for _, option in ipairs(UNDONE) do
        for _, axis in ipairs(spec[option] or {}) do
            local at = mesh.axis_of[axis]
            if not at then
                raise(name, "%s is %s, which names '%s' as %s, but the mesh has axes %s", what, tostring(spec), axis,
                      option, mesh:axes_text())
            end
            bits[option] = bor(bits[option], lshift(1, at))
        end
    end
    return bits.unreduced, bits.reduced
end

--- The axes of a spec on a mesh: by axis of the array a list, the bits of all of them, of those that are unreduced, and
-- of those that are reduced. Raises unless they are axes of the mesh. `what` is the spec in messages.
function shardings.axes_of(name, what, spec, mesh)
    local split, bits = {}, 0
    for k = 1, spec.n do
        split[k] = {}
        for place, axis in ipairs(spec.names[k]) do
            local at = mesh.axis_of[axis]
            if not at then
                raise(name, "%s is %s, which names '%s' for array axis %d, but the mesh has axes %s", what,
                      tostring(spec), axis, k - 1, mesh:axes_text())
            end
            split[k][place], bits = at, bor(bits, lshift(1, at))
        end
    end
    return split, bits, shardings.undone_bits(name, what, spec, mesh)
end

--- Whether an array of these sizes, called `owner`, can lie as a spec called `what` says: nil, or what is wrong.
-- `counts` is false for a result, whose axes need not be multiples.
function shardings.misfit(owner, dims, what, spec, mesh, counts)
    if spec.n > #dims then
        return ("%s has shape %s, which has %d ax%s, but %s is %s, which has %d entr%s"):format(
            owner, core.shape_text(dims), #dims, #dims == 1 and "is" or "es", what, tostring(spec), spec.n,
            spec.n == 1 and "y" or "ies")
    end
    for k = 1, counts and spec.n or 0 do
        local parts, named = 1, {}
        for place, axis in ipairs(spec.names[k]) do
            local size = mesh.sizes[mesh.axis_of[axis] + 1]
            parts = parts * size
            named[place] = ("'%s' (of size %d)"):format(axis, size)
        end
        if dims[k] % parts ~= 0 then
            return ("%s has shape %s, and %s is %s, which divides array axis %d (of size %s) by mesh ax%s %s, but %d "
                    .. "does not divide %s evenly"):format(
                owner, core.shape_text(dims), what, tostring(spec), k - 1, tostring(dims[k]),
                #named == 1 and "is" or "es", table.concat(named, " and "), parts, tostring(dims[k]))
        end
    end
    return nil
end

--- Raises if an option, a table of entries for each argument, or each of something else, has more than n of them.
function shardings.check_count(name, option, each, entries, n)
    if not trees.is_node(entries) then return end
    for _, key in ipairs(trees.keys_of(entries, name)) do
        if key < 1 or key > n or key % 1 ~= 0 then
            raise(name, "option '%s' has an entry %s, but there %s %d %s%s", option, tostring(key),
                  n == 1 and "is" or "are", n, each, n == 1 and "" or "s")
        end
    end
end

-- ---- Laying out -----------------------------------------------------------------------------------------------------

local id_box = ffi.new("int32_t[1]")

--- x as the layout of a number says.
function shardings.reshard(name, x, number)
    return core.call_ids(name, id_box, 1, function() return C.neap_mesh_reshard(ctx, x._id, number, id_box) end)[1]
end

--- x, an array of the body that runs now or from around it, as one that may vary along further axes of the mesh (bits).
-- `manual`, `unchecked`: of the body.
function shardings.vary(name, x, bits, mesh, manual, unchecked)
    local lies, split = layout_of(x) or shardings.ORDINARY, {}
    if lies.mesh and lies.mesh ~= mesh then
        raise(name, "the array lies on another mesh, %s, than that of the body, %s; move it with np.device_put",
              lies.mesh:axes_text(), mesh:axes_text())
    end
    for k, axes in pairs(lies.split) do
        split[k] = {}
        for _, axis in ipairs(axes) do
            if band(manual, lshift(1, axis)) == 0 then table.insert(split[k], axis) end
        end
    end
    local number = shardings.number_of(name, {
        mesh = mesh, manual = manual, varies = bor(lies.varies, bits, unchecked), differs = lies.differs,
        unchecked = unchecked, unreduced = lies.unreduced, reduced = lies.reduced, split = split })
    return core.call_ids(name, id_box, 1, function() return C.neap_mesh_fit(ctx, x._id, number, id_box) end)[1]
end

--- x, an array of the body that runs now or from around it, as one that is of a kind along axes of the mesh (bits):
-- "varying", "unreduced" or "reduced". The rest as `vary`.
function shardings.retype(name, x, bits, kind, mesh, manual, unchecked)
    x = shardings.vary(name, x, 0, mesh, manual, unchecked)
    local lies, rest = layout_of(x), bnot(bits)
    local to = { mesh = mesh, manual = manual, unchecked = unchecked, split = lies.split,
                 varies = band(lies.varies, rest), differs = band(lies.differs, rest),
                 unreduced = band(lies.unreduced, rest), reduced = band(lies.reduced, rest) }
    local field = kind == "varying" and "varies" or kind
    to[field] = bor(to[field], bits)
    local number = shardings.number_of(name, to)
    return core.call_ids(name, id_box, 1, function() return C.neap_mesh_fit(ctx, x._id, number, id_box) end)[1]
end

local specs_of_undone = {} -- by number of a layout

--- The spec that says of a layout over which axes sums are undone, and nothing else.
function shardings.undone_spec(layout)
    local spec = specs_of_undone[layout.number]
    if not spec then
        spec = np.P { unreduced = names_of(layout.mesh, layout.unreduced),
                      reduced = names_of(layout.mesh, layout.reduced) }
        specs_of_undone[layout.number] = spec
    end
    return spec
end

--- An array on a mesh as a spec says. Inside shard_map over some of its axes, the others may be named.
local function lay_out(name, x, mesh, spec, owner, what)
    shardings.check(name, x)
    local lies = layout_of(x)
    local split, bits, unreduced, reduced = shardings.axes_of(name, what, spec, mesh)
    local problem = shardings.misfit(owner, core.shape_of(x), what, spec, mesh, true)
    if problem then raise(name, "%s", problem) end
    local manual = lies and lies.manual or 0
    if manual ~= 0 and (lies.mesh ~= mesh or band(bor(bits, unreduced, reduced), manual) ~= 0) then
        raise(name, "%s is a block: it is seen by device over mesh axes %s here, inside np.shard_map, and can be laid "
              .. "out over the other axes of that mesh only", owner, shardings.names_text(lies.mesh, manual))
    end
    local now = manual ~= 0 and lies or shardings.ORDINARY
    return shardings.reshard(name, x, shardings.number_of(name, {
        mesh = mesh, manual = manual, varies = now.varies, differs = now.differs, unchecked = now.unchecked,
        unreduced = bor(unreduced, band(now.unreduced, manual)), reduced = bor(reduced, band(now.reduced, manual)),
        split = split }))
end

shardings.lay_out = lay_out

--- What np.NAME(x, mesh, spec) does: a tree x laid out as a spec says, or a prefix tree of specs; or np.name(x,
-- sharding).
function shardings.put(name, x, mesh, specs)
    if shardings.is_sharding(mesh) then
        if specs ~= nil then raise(name, "a sharding says where x lies: a spec besides it is too much") end
        mesh, specs = mesh.mesh, mesh.spec
    elseif shardings.is_spec(mesh) and specs == nil then
        if not meshes.current then
            raise(name, "%s is a spec without a mesh: give the mesh too, or say with np.set_mesh(mesh) which one specs "
                  .. "mean", tostring(mesh))
        end
        mesh, specs = meshes.current, mesh
    end
    if not meshes.is_mesh(mesh) then
        bad_argument(name, 2, name == "device_put" and "device" or "mesh", name == "device_put"
                     and 'a device such as np.device("cpu:0"), its name, a mesh or a sharding'
                     or "a mesh or a sharding", mesh)
    end
    return trees.with_prefix(name, "argument 3 (spec)", x, specs, "argument 1 (x)", function(leaf, spec, path)
        if not shardings.is_spec(spec) then
            raise(name, "argument 3 (spec) must be a spec such as np.P(%q, nil), or a tree of them, got %s for %s",
                  mesh.axis_names[1], describe(spec), path)
        end
        return lay_out(name, core.coerce(name, 1, leaf), mesh, spec, path, "its spec")
    end)
end

--- np.with_sharding_constraint(x, mesh, spec): x, a tree, laid out as a spec says, or a prefix tree of specs; inside
-- np.jit this is where the program has it so. np.with_sharding_constraint(x, y.sharding) lays it out as y;
-- np.with_sharding_constraint(x, spec) means the mesh of np.set_mesh.
--- > mesh = np.mesh({1}, {"i"})
--- > np.with_sharding_constraint(np.ones(4), mesh, np.P("i"))
-- [1. 1. 1. 1.]
function np.with_sharding_constraint(x, mesh, spec)
    return shardings.put("with_sharding_constraint", x, mesh, spec)
end

-- ---- x.sharding -----------------------------------------------------------------------------------------------------

--- How an array lies. Fields: mesh; spec; manual: the names of the axes over which it is seen by block (inside
-- np.shard_map), or nil; varies: those of them over which its blocks may differ; is_fully_replicated: whether all
-- devices have all of it; is_fully_addressable: whether all devices are of this process.
local Sharding = {}
Sharding.__index = Sharding
Sharding.__newindex = meshes.refuse_change

function shardings.is_sharding(value)
    return getmetatable(value) == Sharding
end

function Sharding.__eq(a, b)
    return a.number == b.number
end

function Sharding:__tostring()
    local body = self.manual and ", a block over " .. table.concat(self.manual, ", ") or ""
    if self.manual and #self.varies < #self.manual and self.layout.unreduced == 0 then
        body = body .. (self.varies[1] and ", which varies over " .. table.concat(self.varies, ", ")
                        or ", which is the same on all devices")
    end
    return ("NamedSharding(mesh %s, %s%s)"):format(self.mesh:axes_text(), tostring(self.spec), body)
end

--- sharding:devices(): the devices of its mesh, in row-major order.
function Sharding:devices()
    return { unpack(self.mesh.devices) }
end

--- The sizes, or of an array its sizes, which must fit.
local function fitting_sizes(name, sharding, dims)
    if core.is_array(dims) then dims = core.shape_of(dims) end
    if type(dims) ~= "table" then bad_argument(name, 1, "shape", "a table of sizes such as {8, 16}", dims) end
    dims = core.integers(name, 1, "shape", core.list(name, "the shape", dims), 0)
    local problem = shardings.misfit("the array", dims, "the spec", sharding.spec, sharding.mesh, true)
    if problem then raise(name, "%s", problem) end
    return dims
end

--- In how many parts axis k (from 1) is divided, and which of them the device at these coordinates has.
local function part_of(layout, k, coordinates)
    local parts, at = 1, 0
    for _, axis in ipairs(layout.split[k] or {}) do
        local size = layout.mesh.sizes[axis + 1]
        parts, at = parts * size, at * size + coordinates[axis + 1]
    end
    return parts, at
end

--- The part of an array of these sizes that the device at place `position` of the mesh has, as an index.
local function index_at(layout, dims, position)
    local coordinates, index = layout.mesh:coordinates(position), {}
    for k = 1, #dims do
        local parts, at = part_of(layout, k, coordinates)
        local size = dims[k] / parts
        index[k] = { at * size, (at + 1) * size }
    end
    return index
end

shardings.fitting_sizes, shardings.part_of = fitting_sizes, part_of

--- sharding:shard_shape(shape): the shape of each device's block of an array of this shape.
function Sharding:shard_shape(dims)
    dims = fitting_sizes("sharding:shard_shape", self, dims)
    local block, origin = {}, self.mesh:coordinates(0)
    for k = 1, #dims do block[k] = dims[k] / part_of(self.layout, k, origin) end
    return block
end

--- sharding:devices_indices_map(shape): for each device of the mesh, in row-major order, { device, index }: index says
-- which part of an array of this shape it has: x[index].
function Sharding:devices_indices_map(dims)
    dims = fitting_sizes("sharding:devices_indices_map", self, dims)
    local list = {}
    for k, device in ipairs(self.mesh.devices) do
        list[k] = { device = device, index = index_at(self.layout, dims, k - 1) }
    end
    return list
end

local objects = {} -- by number and axes of the array

local function is_addressable(mesh)
    local own = C.neap_process_index()
    for _, process in ipairs(mesh.processes) do
        if process ~= own then return false end
    end
    return true
end

--- What x.sharding is for arrays of ndim axes with this sharding.
function shardings.of_number(number, ndim)
    local layout = layouts[number] or read_layout(number)
    local key = layout.number * 64 + ndim
    if objects[key] then return objects[key] end
    local manual, spec = names_of(layout.mesh, layout.manual), spec_of(layout, ndim)
    objects[key] = setmetatable({ mesh = layout.mesh, spec = spec, manual = manual,
                                  varies = manual and (names_of(layout.mesh, layout.varies) or {}),
                                  is_fully_replicated = layout.differs == 0 and layout.unreduced == 0
                                                        and next(layout.split) == nil,
                                  is_fully_addressable = is_addressable(layout.mesh), layout = layout,
                                  number = layout.number }, Sharding)
    return objects[key]
end

--- What x.sharding is: how x lies on a mesh; nil for an ordinary array.
function shardings.of_array(x)
    local number = core.info(x).sharding
    return number ~= 0 and shardings.of_number(number, core.ndim(x)) or nil
end

--- np.NamedSharding(mesh, spec) -> sharding: how an array lies on a mesh as a spec says: what x.sharding is then.
--- > np.NamedSharding(np.mesh({1}, {"i"}), np.P("i")):shard_shape({4})[1]
-- 4
function np.NamedSharding(mesh, spec)
    local name = "NamedSharding"
    if not meshes.is_mesh(mesh) then bad_argument(name, 1, "mesh", "a mesh of np.mesh", mesh) end
    if not shardings.is_spec(spec) then bad_argument(name, 2, "spec", 'a spec such as np.P("i", nil)', spec) end
    local split, bits, unreduced, reduced = shardings.axes_of(name, "the spec", spec, mesh)
    local layout = { mesh = mesh, manual = 0, varies = 0, differs = 0, unchecked = 0, unreduced = unreduced,
                     reduced = reduced, split = split }
    layout.number = shardings.number_of(name, layout)
    return setmetatable({ mesh = mesh, spec = spec, layout = layout, number = layout.number,
                          is_fully_replicated = bor(bits, unreduced) == 0,
                          is_fully_addressable = is_addressable(mesh) }, Sharding)
end

-- ---- Shards ---------------------------------------------------------------------------------------------------------

local position_box = ffi.new("int32_t[1]")

--- The places of the mesh that have the same block have one key.
local function block_key(layout, ndim, position)
    local coordinates, parts = layout.mesh:coordinates(position), {}
    for k = 1, ndim do
        local _, at = part_of(layout, k, coordinates)
        parts[k] = at
    end
    for axis = 0, #layout.mesh.sizes - 1 do -- of what is not added up each device has its own
        if band(layout.unreduced, lshift(1, axis)) ~= 0 then parts[#parts + 1] = coordinates[axis + 1] end
    end
    return table.concat(parts, ",")
end

--- What x:addressable_shards() gives (device_put.lua).
function shardings.addressable_shards(x)
    local name = "addressable_shards"
    local layout = layout_of(core.coerce(name, 1, x))
    if not layout then raise(name, "the array lies on no mesh: np.device_put(x, mesh, spec) lays it out on one") end
    if layout.manual ~= 0 then
        raise(name, "the array is a block: inside np.shard_map it is itself what each device holds")
    end
    if core.info(x).taped ~= 0 then
        raise(name, "a gradient, a trace or a batch is open that depends on the array: its parts cannot be had "
              .. "there; np.shard_map computes with them")
    end
    local dims, blocks, list, replicas = core.shape_of(x), {}, {}, {}
    local n, own = C.neap_array_blocks(ctx, x._id), C.neap_process_index()
    if n < 0 then core.raise_status(n, name) end
    for k = 0, n - 1 do
        local block = core.call_ids(name, id_box, 1, function()
            return C.neap_array_block(ctx, x._id, k, id_box, position_box)
        end)[1]
        blocks[block_key(layout, #dims, position_box[0])] = block
    end
    for k, device in ipairs(layout.mesh.devices) do
        local key = block_key(layout, #dims, k - 1)
        if blocks[key] and layout.mesh.processes[k] == own then
            list[#list + 1] = { device = device, index = index_at(layout, dims, k - 1), data = blocks[key],
                                replica = replicas[key] or 0 }
        end
        replicas[key] = (replicas[key] or 0) + 1
    end
    return list
end

for _, f in ipairs { read_layout, layout_of, shardings.number_of, shardings.reshard, lay_out, shardings.put,
                     shardings.addressable_shards } do
    jit.off(f)
end

return shardings
