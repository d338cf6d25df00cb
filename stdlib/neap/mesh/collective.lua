--- collective.lua: np.psum and its kin: what the examples of a named axis (np.vmap with axis_name), or the devices
-- along an axis of a mesh (inside np.shard_map), compute together. Both are *members* of the axis here.
--
-- Arguments are trees. An axis is named by its name, or a table of names: then it is all of them as one axis, the
-- last name counting fastest. Places of arrays and in axes count from 0. Axes of a mesh that are named together are one
-- axis for the op; those of np.vmap are taken one by one.

--- {tiled}: true: the axis stays, and is divided or grows; false: it is made or goes
--- {axis_index_groups}: tables of members, such as {{0, 1}, {2, 3}}, of which each is in one: each group by itself

local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"
local groups = require "neap.mesh.groups"
local axes = require "neap.tracing.axes"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local shardings = require "neap.mesh.sharding"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np, ids, attrs = core.np, core.ids, core.attrs
local raise, bad_argument, shape_of = core.raise, core.bad_argument, core.shape_of
local band, bor, lshift = bit.band, bit.bor, bit.lshift
local type = type

-- ---- One array, one axis --------------------------------------------------------------------------------------------

local function axis_number(axis)
    local number = core.C.neap_axis_name(core.ctx, axis.name)
    if number == 0 then raise(nil, "out of memory for the name of an axis") end
    return number
end

--- Records an op of x over an axis; the attributes after the first two are set already.
local function record_over(op, x, axis, nattrs)
    attrs[0], attrs[1] = axis_number(axis), core.put(1, axis.size)
    return core.record2(ids[op], x, axis.token, nattrs)
end

local function product_of_sizes(list)
    local size = 1
    for k = 1, #list do size = size * list[k].size end
    return size
end

--- The axes that argument `position` of np.name names, those of a mesh that stand side by side as one.
local function named_axes(name, position, axis_name)
    return axes.joined(axes.named(name, position, axis_name))
end

--- The same where their order does not matter: all those of a mesh as one.
local function named_axes_unordered(name, axis_name)
    local list, sorted = axes.named(name, 2, axis_name), {}
    for _, of_mesh in ipairs { true, false } do
        for _, axis in ipairs(list) do
            if (axis.mesh ~= nil) == of_mesh then sorted[#sorted + 1] = axis end
        end
    end
    return axes.joined(sorted)
end

--- f of every leaf of a tree, as an array.
local function map_leaves(name, tree, f)
    return trees.rebuild(name, tree, function(leaf) return f(core.coerce(name, 1, leaf)) end)
end

local function reduce_over(name, x, list)
    for k = 1, #list do x = record_over(name, x, list[k], 2) end
    return x
end

--- x in the dtype that sums of it have, as np.sum does.
local function to_sum(x)
    local dtype = core.dtype_of(x)
    return dtype.sum ~= dtype.name and x:astype(dtype.sum) or x
end

--- The only axis that is named; several of a mesh are one.
local function one_axis(name, axis_name)
    local list = named_axes(name, 2, axis_name)
    if #list > 1 then raise(name, "takes one axis of np.vmap, or axes of a mesh, got %d names", #axis_name) end
    return list[1]
end

--- Sends x along an axis: sources[k], or nil for zeros, is the member (from 0) whose array member k gets.
local function send_along(name, x, axis, sources)
    local n = axis.size + 2
    local own, out = ffi.new("int64_t[?]", n, axis_number(axis), axis.size), ffi.new("int32_t[1]")
    for k = 0, axis.size - 1 do own[2 + k] = sources[k] or -1 end
    return map_leaves(name, x, function(leaf)
        local inputs = staging.ids_of({ leaf, axis.token }, 2)
        return core.call_ids(name, out, 1, function()
            return core.C.neap_op(core.ctx, ids.ppermute, 2, inputs, n, own, out)
        end)[1]
    end)
end

-- ---- Groups ---------------------------------------------------------------------------------------------------------

--- The groups along an axis that the options of a collective name; nil where these name none. alike: all of one size.
local function groups_of(name, axis_name, o, alike)
    if o.axis_index_groups == nil then return nil end
    local axis = one_axis(name, axis_name)
    local list = groups.new(name, o.axis_index_groups, axis, np.axis_index(axis_name), function(x, sources)
        return send_along(name, x, axis, sources)
    end)
    if alike and not list.even then raise(name, "option 'axis_index_groups' must have groups of one size") end
    return list
end

--- The groups of a reduction over an axis.
local function groups_to_reduce(name, axis_name, given)
    return groups_of(name, axis_name, core.options(name, given, { axis_index_groups = true }))
end

--- How many members an axis or a group has, for the size of an axis of an array.
local function axis_of_groups(list)
    return { name = list.axis.name, size = list.size, groups = true }
end


-- ---- What is the same on all devices --------------------------------------------------------------------------------

--- Warns if x, an array of a body, does not vary along an axis of a mesh: then its sum is so many times the array. Most
-- often it is a gradient with respect to what devices share, and their sum already. `what(times)` says what is given.
local function warn_of_same(name, x, axis_name, what)
    local lies = shardings.layout_of(x)
    if not lies or lies.manual == 0 then return end
    local names, times = {}, 1
    for _, axis in ipairs(axes.named(name, 2, axis_name)) do
        local here = axis.mesh and lshift(1, axis.at)
        if here and axis.size > 1 and band(bor(lies.varies, axis.unchecked), here) == 0 then
            names[#names + 1], times = ("'%s'"):format(axis.name), times * axis.size
        end
    end
    if #names == 0 then return end
    core.warn(name, "the array is known to be the same on all devices along %s of the mesh, so this gives %s; if it is "
              .. "a gradient with respect to what these devices share, it is summed over them already: for the "
              .. "gradient of each device take np.pvary(w, %s) before np.grad; else leave out np.%s",
              table.concat(names, ", "), what:format(times), #names == 1 and names[1]:gsub("'", '"')
              or "{" .. table.concat(names, ", "):gsub("'", '"') .. "}", name)
end

--- np.pvary(x, axis_name): the same values, as an array that may vary along axes of a mesh, inside np.shard_map: what
-- is computed of it belongs to each device. Moves nothing. Its gradient is the sum over the devices along the axes; so
-- the gradient with respect to np.pvary(w, "i") is each device's own, where that with respect to w, which the devices
-- share, is their sum. Along an axis of np.vmap it gives x.
--- > np.vmap(function(x) return np.pvary(x, "i") end, {axis_name="i"})(np.arange(3))
-- [0 1 2]
function np.pvary(x, axis_name)
    local bits = 0
    for _, axis in ipairs(axes.named("pvary", 2, axis_name)) do
        if axis.mesh then bits = bor(bits, lshift(1, axis.at)) end
    end
    local mesh, manual, unchecked = axes.mesh()
    return trees.rebuild("pvary", x, function(leaf)
        leaf = core.coerce("pvary", 1, leaf)
        if bits == 0 then return leaf end
        return shardings.vary("pvary", leaf, bits, mesh, manual, unchecked)
    end)
end

local KINDS = { varying = true, unreduced = true, reduced = true }

-- What an array may be made of: by what it is to be.
local CASTS = { varying = { same = true, reduced = true, varying = true }, unreduced = { varying = true },
                reduced = { same = true } }

--- What an array of a body is along axes of a mesh (bits): "varying", "unreduced", "reduced" or "same"; nil: it is not
-- the same along all of them.
local function kind_along(x, bits)
    local lies = shardings.layout_of(x)
    if not lies or bits == 0 then return "same" end
    for _, kind in ipairs { "unreduced", "reduced" } do
        if band(lies[kind], bits) == bits then return kind end
    end
    local others = bor(lies.unreduced, lies.reduced)
    if band(lies.varies, bits) == bits then return "varying" end
    return band(bor(others, lies.varies), bits) == 0 and "same" or nil
end

--- The bits of the axes of a mesh that argument 2 names.
local function mesh_bits(name, axis_name)
    local bits = 0
    for _, axis in ipairs(axes.named(name, 2, axis_name)) do
        if axis.mesh then bits = bor(bits, lshift(1, axis.at)) end
    end
    return bits
end

--- np.pcast(x, axis_name, {to=…}): the same values, as an array of another type along axes of a mesh, inside
-- np.shard_map. Moves nothing, and adds nothing. As jax.lax.pcast(x, axis_name, to=…).
--- to: "varying": of what is the same on all devices (np.pvary), or reduced, an array that may vary; "unreduced": of
-- what varies an array whose value is the sum over the devices, which is not done; "reduced": of what is the same an
-- array whose gradient is unreduced
--- > np.vmap(function(x) return np.pcast(x, "i", {to="varying"}) end, {axis_name="i"})(np.arange(3))
-- [0 1 2]
function np.pcast(x, axis_name, given)
    local bits = mesh_bits("pcast", axis_name)
    local to = core.options("pcast", given, { to = true }).to
    if not KINDS[to] then bad_argument("pcast", nil, "to", '"varying", "unreduced" or "reduced"', to) end
    if bits == 0 and to ~= "varying" then
        raise("pcast", "a type %q is one of arrays along axes of a mesh, and the axis is one of np.vmap", to)
    end
    if to == "varying" and bits == 0 then return np.pvary(x, axis_name) end
    local mesh, manual, unchecked = axes.mesh()
    if band(unchecked, bits) ~= 0 then
        raise("pcast", "in the body of a np.shard_map with check_rep=false types are not checked")
    end
    return trees.rebuild("pcast", x, function(leaf)
        leaf = core.coerce("pcast", 1, leaf)
        local from = kind_along(leaf, bits)
        if not from then
            raise("pcast", "the array is of several types along %s of the mesh: cast it axis by axis",
                  shardings.names_text(mesh, bits))
        end
        if not CASTS[to][from] then
            raise("pcast", "the array is %s along %s of the mesh, and cannot become %s by a cast: %s",
                  from == "same" and "the same" or from, shardings.names_text(mesh, bits), to,
                  from == "unreduced" and "np.psum does its sum" or from == "same" and "np.pvary makes it vary first"
                  or "there is none from that to this")
        end
        if from == "same" and to == "varying" then return np.pvary(leaf, axis_name) end
        if from == to then return leaf end
        return shardings.retype("pcast", leaf, bits, to, mesh, manual, unchecked)
    end)
end

--- A leaf as the collectives take it that sum: of one that is unreduced along all their axes the terms.
local function terms_of(name, leaf, axis_name)
    local lies = shardings.layout_of(leaf)
    if not lies or lies.unreduced == 0 then return leaf, false end
    local bits = mesh_bits(name, axis_name)
    if bits == 0 or band(lies.unreduced, bits) ~= bits then return leaf, false end
    local mesh, manual, unchecked = axes.mesh()
    return shardings.retype(name, leaf, bits, "varying", mesh, manual, unchecked), true
end

-- ---- Sums and extrema -----------------------------------------------------------------------------------------------

--- np.psum(x, axis_name, {axis_index_groups=…}): the sum over the members of an axis. Of a number: the number times the
-- axis's size. Of groups a balanced tree over the members of each, in the order of its table.
--- > np.vmap(function(x) return x / np.psum(x, "i") end, {axis_name="i"})(np.array{1, 3})
-- [0.25 0.75]
--- > np.vmap(function(x) return np.psum(x, "i", {axis_index_groups={{0, 1}, {2}}}) end, {axis_name="i"})(np.arange(3))
-- [1 1 2]
function np.psum(x, axis_name, given)
    local among = groups_to_reduce("psum", axis_name, given)
    local list = named_axes_unordered("psum", axis_name)
    return trees.rebuild("psum", x, function(leaf)
        if type(leaf) == "number" then
            return leaf * (not among and product_of_sizes(list) or among.even and among.size or among:sizes())
        end
        leaf = terms_of("psum", core.coerce("psum", 1, leaf), axis_name)
        if among then return among:combined(among:gathered(to_sum(leaf)), np.add) end
        warn_of_same("psum", leaf, axis_name, "%d times the array")
        return reduce_over("psum", to_sum(leaf), list)
    end)
end

--- np.pmean(x, axis_name, {axis_index_groups=…}): the mean over the members of an axis: integers count as floats, and
-- halves are added in f32.
--- > np.vmap(function(x) return x - np.pmean(x, "i") end, {axis_name="i"})(np.array{1, 3})
-- [-1.  1.]
function np.pmean(x, axis_name, given)
    local among = groups_to_reduce("pmean", axis_name, given)
    local list = named_axes_unordered("pmean", axis_name)
    return trees.rebuild("pmean", x, function(leaf)
        if type(leaf) == "number" then return leaf end
        leaf = core.coerce("pmean", 1, leaf)
        local wide, half = operands.wide(operands.float(leaf))
        if among then
            return operands.narrow(among:combined(among:gathered(wide), np.add) / among:sizes(), half)
        end
        warn_of_same("pmean", leaf, axis_name, "the array itself")
        return operands.narrow(reduce_over("psum", wide, list) / product_of_sizes(list), half)
    end)
end

local function extremum(name, x, axis_name, given, combine)
    local among = groups_to_reduce(name, axis_name, given)
    local list = named_axes_unordered(name, axis_name)
    return map_leaves(name, x, function(leaf)
        if among then return among:combined(among:gathered(np.stop_gradient(leaf)), combine) end
        return reduce_over(name, leaf, list)
    end)
end

--- np.pmax(x, axis_name, {axis_index_groups=…}): the greatest over the members of an axis. It has no gradient.
--- > np.vmap(function(x) return np.pmax(x, "i") end, {axis_name="i"})(np.array{1, 3})
-- [3. 3.]
function np.pmax(x, axis_name, given)
    return extremum("pmax", x, axis_name, given, np.maximum)
end

--- np.pmin(x, axis_name, {axis_index_groups=…}): the smallest over the members of an axis. It has no gradient.
--- > np.vmap(function(x) return np.pmin(x, "i") end, {axis_name="i"})(np.array{1, 3})
-- [1. 1.]
function np.pmin(x, axis_name, given)
    return extremum("pmin", x, axis_name, given, np.minimum)
end

-- ---- Gathering and scattering ---------------------------------------------------------------------------------------

--- Replaces axes `at` and at + 1 of x by one.
local function merge_axes(x, at)
    local dims = shape_of(x)
    dims[at + 1] = dims[at + 1] * table.remove(dims, at + 2)
    return shape.reshape(x, dims)
end

--- Axes in a message: "axis 'i' (of size 4)". Several of a mesh have one name, "i,j".
local function axes_text(list)
    local parts = {}
    for k, axis in ipairs(list) do
        parts[k] = ("'%s' (of size %s)"):format((axis.name:gsub(",", "', '")), axis.size)
    end
    local what = #list == 1 and not list[1].name:find "," and "axis " or "axes "
    return (list[1].groups and "the groups of " or "") .. what .. table.concat(parts, ", ")
end

--- Replaces axis `at` of x by two, the first of the size of an axis.
local function divide(name, x, at, axis)
    local dims, size = shape_of(x), axis.size
    if dims[at + 1] % size ~= 0 then
        raise(name, "axis %d (of size %d) of an array of shape %s cannot be split into equal parts over %s", at,
              dims[at + 1], core.shape_text(dims), axes_text { axis })
    end
    table.insert(dims, at + 2, math.floor(dims[at + 1] / size))
    dims[at + 1] = size
    return shape.reshape(x, dims)
end

--- An axis of x of exactly the size of these.
local function check_size(name, x, at, list)
    local dims = shape_of(x)
    if dims[at + 1] ~= product_of_sizes(list) then
        raise(name, "axis %d of an array of shape %s must have size %d, as it is dealt out over %s (or give "
              .. "{tiled=true})", at, core.shape_text(dims), product_of_sizes(list), axes_text(list))
    end
end

local function flag(name, option, value)
    if value ~= nil and type(value) ~= "boolean" then bad_argument(name, nil, option, "a boolean", value) end
    return value
end

local gather_options = { axis = true, tiled = true, axis_index_groups = true, to = true }

--- What all members of axes of a mesh have, after a gather, as one that is reduced along these axes.
local function gathered_as(leaf, to, axis_name)
    if to ~= "reduced" then return leaf end
    local mesh, manual, unchecked = axes.mesh()
    return shardings.retype("all_gather", leaf, mesh_bits("all_gather", axis_name), "reduced", mesh, manual, unchecked)
end

--- np.all_gather(x, axis_name, {axis=0, tiled=false, axis_index_groups=…, to="varying"}): the arrays of all members,
-- along a new axis; with tiled joined along one that is there.
--- axis: where the new axis is, or which one grows
--- to: "reduced": along axes of a mesh the result is reduced, so the gradient of x is a part of an unreduced one's sum
--- > np.vmap(function(x) return np.all_gather(x, "i") end, {axis_name="i"})(np.array{1, 3})
-- [[1. 3.]
--  [1. 3.]]
function np.all_gather(x, axis_name, given)
    local list = named_axes("all_gather", 2, axis_name)
    local o = core.options("all_gather", given, gather_options)
    local tiled = flag("all_gather", "tiled", o.tiled)
    local among = groups_of("all_gather", axis_name, o, true)
    if o.to ~= nil and o.to ~= "varying" and o.to ~= "reduced" then
        bad_argument("all_gather", nil, "to", '"varying" or "reduced"', o.to)
    end
    if o.to == "reduced" and (among or mesh_bits("all_gather", axis_name) == 0) then
        raise("all_gather", "option 'to' is \"reduced\", which is for whole axes of a mesh")
    end
    return map_leaves("all_gather", x, function(leaf)
        local ndim = core.ndim(leaf) + (tiled and 0 or 1)
        local at = core.axis("all_gather", o.axis or 0, ndim)
        if among then
            leaf = np.moveaxis(among:gathered(leaf), 0, at)
        else
            for k = #list, 1, -1 do
                attrs[2] = at
                leaf = record_over("all_gather", leaf, list[k], 3)
                if k < #list then leaf = merge_axes(leaf, at) end
            end
        end
        return gathered_as(tiled and merge_axes(leaf, at) or leaf, o.to, axis_name)
    end)
end

local scatter_options = { scatter_dimension = true, tiled = true, axis_index_groups = true }

--- np.psum_scatter(x, axis_name, {scatter_dimension=0, tiled=false, axis_index_groups=…}): np.psum, of which each
-- member keeps one part along an axis: the part of its index, without the axis, which has the named one's size; with
-- tiled an equal share of any axis.
--- scatter_dimension: the axis of which each member keeps a part
--- > np.vmap(function(x) return np.psum_scatter(x, "i") end, {axis_name="i"})(np.array{{1, 2}, {3, 4}})
-- [4. 6.]
function np.psum_scatter(x, axis_name, given)
    local list = named_axes("psum_scatter", 2, axis_name)
    local o = core.options("psum_scatter", given, scatter_options)
    local tiled = flag("psum_scatter", "tiled", o.tiled)
    local among = groups_of("psum_scatter", axis_name, o, true)
    if among then list = { axis_of_groups(among) } end
    return map_leaves("psum_scatter", x, function(leaf)
        local at = core.axis("psum_scatter", o.scatter_dimension or 0, core.ndim(leaf))
        leaf = terms_of("psum_scatter", leaf, axis_name)
        if not among then warn_of_same("psum_scatter", leaf, axis_name, "parts of %d times the array") end
        if not tiled then check_size("psum_scatter", leaf, at, list) end
        leaf = to_sum(leaf)
        if among then
            if tiled then leaf = divide("psum_scatter", leaf, at, list[1]) end
            return among:combined(among:exchanged(np.moveaxis(leaf, at, 0)), np.add)
        end
        for k = 1, #list do
            if tiled or k < #list then leaf = divide("psum_scatter", leaf, at, list[k]) end
            attrs[2] = at
            leaf = record_over("psum_scatter", leaf, list[k], 3)
        end
        return leaf
    end)
end

local exchange_options = { tiled = true, axis_index_groups = true }

--- What np.all_to_all does, for np.name.
local function all_to_all(name, x, axis_name, split_axis, concat_axis, o)
    local axis = one_axis(name, axis_name)
    local tiled = flag(name, "tiled", o.tiled)
    local among = groups_of(name, axis_name, o, true)
    if among then axis = axis_of_groups(among) end
    return map_leaves(name, x, function(leaf)
        local ndim = core.ndim(leaf)
        local split, concat = core.axis(name, split_axis, ndim), core.axis(name, concat_axis, ndim)
        if tiled then
            leaf = divide(name, leaf, split, axis)
        else
            check_size(name, leaf, split, { axis })
        end
        if among then
            leaf = np.moveaxis(among:exchanged(np.moveaxis(leaf, split, 0)), 0, concat)
        else
            attrs[2], attrs[3] = split, concat
            leaf = record_over("all_to_all", leaf, axis, 4)
        end
        return tiled and merge_axes(leaf, concat) or leaf
    end)
end

--- np.all_to_all(x, axis_name, split_axis, concat_axis, {tiled=false, axis_index_groups=…}): axis split_axis, of the
-- named axis's size, is dealt out to its members, and what each gets from all of them lies along a new axis at place
-- concat_axis of the result. With tiled both are axes that stay: one is divided by the size, the other grows by it.
--- > np.vmap(function(x) return np.all_to_all(x, "i", 0, 0) end, {axis_name="i"})(np.array{{1, 2}, {3, 4}})
-- [[1. 3.]
--  [2. 4.]]
function np.all_to_all(x, axis_name, split_axis, concat_axis, given)
    local o = core.options("all_to_all", given, exchange_options)
    return all_to_all("all_to_all", x, axis_name, split_axis, concat_axis, o)
end

-- ---- Permutations ---------------------------------------------------------------------------------------------------

local function check_member(name, value, size)
    value = core.plain(value)
    if not core.is_integer(value) or value < 0 or value >= size then
        raise(name, "expected members in 0..%d, got %s", size - 1, core.describe(value))
    end
    return value
end

--- np.ppermute(x, axis_name, perm): perm is a table of pairs {source, destination} of members, counted from 0: each
-- destination gets the array of its source, and those that are none get zeros.
--- > np.vmap(function(x) return np.ppermute(x, "i", {{0, 1}}) end, {axis_name="i"})(np.array{1, 3})
-- [0. 1.]
function np.ppermute(x, axis_name, perm)
    local axis, sources, used = one_axis("ppermute", axis_name), {}, {}
    if type(perm) ~= "table" then
        bad_argument("ppermute", 3, "perm", "a table of pairs {source, destination}", perm)
    end
    for k = 1, #core.list("ppermute", "the table of pairs", perm) do
        if type(perm[k]) ~= "table" or #perm[k] ~= 2 then
            bad_argument("ppermute", 3, "perm", "pairs {source, destination}", perm[k])
        end
        core.list("ppermute", "a pair", perm[k])
        local from = check_member("ppermute", perm[k][1], axis.size)
        local to = check_member("ppermute", perm[k][2], axis.size)
        if used[from] then raise("ppermute", "member %d is a source twice", from) end
        if sources[to] then raise("ppermute", "member %d is a destination twice", to) end
        used[from], sources[to] = true, from
    end
    return send_along("ppermute", x, axis, sources)
end

--- np.pshuffle(x, axis_name, perm): member k gets the array of member perm[k + 1]; perm has every member, from 0,
-- once.
--- > np.vmap(function(x) return np.pshuffle(x, "i", {1, 0}) end, {axis_name="i"})(np.array{1, 3})
-- [3. 1.]
function np.pshuffle(x, axis_name, perm)
    local axis, sources, used = one_axis("pshuffle", axis_name), {}, {}
    if type(perm) ~= "table" or #perm ~= axis.size then
        bad_argument("pshuffle", 3, "perm", ("a table of %d members"):format(axis.size), perm)
    end
    for k = 1, #core.list("pshuffle", "the table of members", perm) do
        local from = check_member("pshuffle", perm[k], axis.size)
        if used[from] then raise("pshuffle", "member %d is a source twice", from) end
        used[from], sources[k - 1] = true, from
    end
    return send_along("pshuffle", x, axis, sources)
end

-- ---- Facts ----------------------------------------------------------------------------------------------------------

--- np.axis_index(axis_name): the index of the member in an axis: an i32 array, 0-d.
--- > np.vmap(function(x) return x + np.axis_index("i") end, {axis_name="i"})(np.array{10, 10})
-- [10. 11.]
function np.axis_index(axis_name)
    local list = axes.named("axis_index", 1, axis_name)
    local index = list[1].token
    for k = 2, #list do index = index * list[k].size + list[k].token end
    return index
end

--- np.axis_size(axis_name) -> integer: how many members an axis has: a Lua number.
--- > np.vmap(function(x) return x * np.axis_size("i") end, {axis_name="i"})(np.array{1, 3})
-- [2. 6.]
function np.axis_size(axis_name)
    return product_of_sizes(axes.named("axis_size", 1, axis_name))
end

return { all_to_all = all_to_all }
