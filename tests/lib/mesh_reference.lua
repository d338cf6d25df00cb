--- mesh_reference.lua: what np.shard_map means, by slicing ordinary arrays: what the tests of meshes compare with.
--
--     local P = reference.P
--     local f = reference.shard_map(function(np, a, b) return np.psum(a:matmul(b), "j") end,
--                                   { mesh = reference.mesh({ 4, 2 }, { "i", "j" }),
--                                     in_specs = { P("i", "j"), P("j", nil) }, out_specs = P("i", nil) })
--     f(a, b)    -- ordinary arrays, and their results are ordinary arrays
--
-- The body gets as its first argument a stand-in for np, so that the same function may be given to the real
-- np.shard_map with np itself. Arguments are cut into blocks, which are ordinary arrays. What the devices of a mesh
-- have, one value each, is an *Each*; an op on an Each is the ordinary op, done for every device; a collective is
-- written out here, over the values of all devices. Results are put together by concatenation; where one is not split
-- over an axis of the mesh, the block at coordinate 0 is taken. So derivatives are those of ordinary arrays: np.grad(f)
-- is the reference of the gradient.
--
-- An Each also knows, as a type, over which axes it `varies`, and over which its values may differ. Devices between
-- which it does not vary share one value, and that is one variable for the derivatives inside a body. With
-- check_rep=false every Each varies over all axes, hence every device computes everything for itself.
--
-- Sums combine by a balanced tree over the coordinates of the named axes in row-major order.
local dtypes = require "tests.lib.dtypes"
local np = require "neap"

local reference = {}

-- ---- Meshes and specs -----------------------------------------------------------------------------------------------

--- A mesh: devices count from 1, in row-major order; coords[d] has the coordinate of each axis by name, from 0.
function reference.mesh(sizes, names)
    local mesh = { sizes = sizes, names = names, shape = {}, size = 1, coords = {} }
    for k, name in ipairs(names) do
        mesh.shape[name] = sizes[k]
        mesh.size = mesh.size * sizes[k]
    end
    for d = 1, mesh.size do
        local rest, coords = d - 1, {}
        for k = #names, 1, -1 do
            coords[names[k]] = rest % sizes[k]
            rest = math.floor(rest / sizes[k])
        end
        mesh.coords[d] = coords
    end
    return mesh
end

local Spec = {}

--- A spec: for each axis of an array false (nil), a name, or a table of names.
function reference.P(...)
    local spec = { n = select("#", ...), ... }
    for k = 1, spec.n do spec[k] = spec[k] or false end
    return setmetatable(spec, Spec)
end

--- A spec, or a tree of them, as np.P.
function reference.real_specs(tree)
    if getmetatable(tree) == Spec then return np.P(unpack(tree, 1, tree.n)) end
    local out = {}
    for key, item in pairs(tree) do out[key] = reference.real_specs(item) end
    return out
end

local function names_of(entry)
    if not entry then return {} end
    return type(entry) == "string" and { entry } or entry
end

--- The names in a spec, as a set.
local function mentioned(spec)
    local set = {}
    for k = 1, spec.n do
        for _, name in ipairs(names_of(spec[k])) do set[name] = true end
    end
    return set
end

--- The device with these coordinates.
local function device_at(mesh, coords)
    local d = 0
    for k, name in ipairs(mesh.names) do d = d * mesh.sizes[k] + coords[name] end
    return d + 1
end

--- The devices that have the coordinates of device d over all axes but `names`, in row-major order of these; and which
-- of them d is, from 1.
local function members(mesh, names, d)
    local list, position, count = {}, 1, 1
    for _, name in ipairs(names) do
        position = (position - 1) * mesh.shape[name] + mesh.coords[d][name] + 1
        count = count * mesh.shape[name]
    end
    for index = 0, count - 1 do
        local coords, rest = setmetatable({}, { __index = mesh.coords[d] }), index
        for k = #names, 1, -1 do
            coords[names[k]] = rest % mesh.shape[names[k]]
            rest = math.floor(rest / mesh.shape[names[k]])
        end
        list[index + 1] = device_at(mesh, coords)
    end
    return list, position
end

-- ---- Each -----------------------------------------------------------------------------------------------------------
-- { mesh, parts, varies, differs }, read with rawget, since indexing an Each indexes what the devices have.
local Each = {}

local function is_each(value)
    return type(value) == "table" and getmetatable(value) == Each
end

local function is_node(value)
    return type(value) == "table" and getmetatable(value) == nil
end

local function parts_of(each) return rawget(each, "parts") end
function reference.varies(each) return is_each(each) and rawget(each, "varies") or {} end
function reference.differs(each) return is_each(each) and rawget(each, "differs") or {} end

local function union(a, b)
    local set = {}
    for name in pairs(a) do set[name] = true end
    for name in pairs(b) do set[name] = true end
    return set
end

local function without(a, names)
    local set = union(a, {})
    for _, name in ipairs(names) do set[name] = nil end
    return set
end

local function set_of(names)
    local set = {}
    for _, name in ipairs(names) do set[name] = true end
    return set
end

local function new_each(mesh, varies, differs, parts)
    return setmetatable({ mesh = mesh, parts = parts, varies = mesh.separate and set_of(mesh.names) or varies,
                          differs = differs }, Each)
end

--- The first device of those that share what device d has, for a set of axes over which that varies.
local function owner(mesh, varies, d)
    if mesh.separate then return d end
    local coords = {}
    for _, name in ipairs(mesh.names) do coords[name] = varies[name] and mesh.coords[d][name] or 0 end
    return device_at(mesh, coords)
end

--- One value of each device as one: an Each of arrays (or of objects), tables item by item; anything else is the same
-- for all devices, and is itself.
local function join(mesh, varies, differs, parts)
    local first = parts[1]
    if type(first) == "cdata" or type(first) == "table" and getmetatable(first) ~= nil then
        return new_each(mesh, varies, differs, parts)
    end
    if is_node(first) then
        local out = {}
        for key in pairs(first) do
            local items = {}
            for d = 1, mesh.size do items[d] = parts[d][key] end
            out[key] = join(mesh, varies, differs, items)
        end
        return out
    end
    for d = 2, mesh.size do
        if parts[d] ~= first and first == first then
            error(("the devices have different values: %s and %s"):format(tostring(first), tostring(parts[d])), 0)
        end
    end
    return first
end

--- What device d has of a value, or of a tree of values.
local function at_device(value, d)
    if is_each(value) then return parts_of(value)[d] end
    if not is_node(value) then return value end
    local out = {}
    for key, item in pairs(value) do out[key] = at_device(item, d) end
    return out
end

--- The unions of varies and differs in a tree, and how many Eachs there are.
local function types_of(value, varies, differs)
    local count = 0
    if is_each(value) then
        return union(varies, reference.varies(value)), union(differs, reference.differs(value)), 1
    end
    if is_node(value) then
        for _, item in pairs(value) do
            local more
            varies, differs, more = types_of(item, varies, differs)
            count = count + more
        end
    end
    return varies, differs, count
end

--- f(…) for every device.
local function lift(mesh, f, ...)
    local arguments = { n = select("#", ...), ... }
    local varies, differs, count = {}, {}, 0
    for k = 1, arguments.n do
        local more
        varies, differs, more = types_of(arguments[k], varies, differs)
        count = count + more
    end
    if count == 0 then return f(...) end
    local results, n = {}, 0
    for d = 1, mesh.size do
        local first = owner(mesh, varies, d)
        if first < d then
            results[d] = results[first]
        else
            local own = {}
            for k = 1, arguments.n do own[k] = at_device(arguments[k], d) end
            local function keep(...)
                n = select("#", ...)
                results[d] = { ... }
            end
            keep(f(unpack(own, 1, arguments.n)))
        end
    end
    local out = {}
    for k = 1, n do
        local parts = {}
        for d = 1, mesh.size do parts[d] = results[d][k] end
        out[k] = join(mesh, varies, differs, parts)
    end
    return unpack(out, 1, n)
end

function Each.__index(self, key)
    local mesh = rawget(self, "mesh")
    if type(key) == "string" and type(parts_of(self)[1][key]) == "function" then
        return function(...) return lift(mesh, function(x, ...) return x[key](x, ...) end, ...) end
    end
    return (lift(mesh, function(x, at) return x[at] end, self, key))
end

function Each.__call(self, text)
    return (lift(rawget(self, "mesh"), function(x) return x(text) end, self))
end

function Each.__newindex() error("arrays are immutable", 2) end

local operators = {
    __add = function(a, b) return a + b end, __sub = function(a, b) return a - b end,
    __mul = function(a, b) return a * b end, __div = function(a, b) return a / b end,
    __mod = function(a, b) return a % b end, __pow = function(a, b) return a ^ b end,
}
for name, f in pairs(operators) do
    Each[name] = function(a, b) return (lift(rawget(is_each(a) and a or b, "mesh"), f, a, b)) end
end
function Each.__unm(a) return (lift(rawget(a, "mesh"), function(x) return -x end, a)) end

-- ---- Trees ----------------------------------------------------------------------------------------------------------

local function map_tree(tree, f)
    if not is_node(tree) then return f(tree) end
    local out = {}
    for key, item in pairs(tree) do out[key] = map_tree(item, f) end
    return out
end

--- f(leaf of a, leaf of b, …) for trees of one form.
local function zip_trees(f, first, ...)
    if not is_node(first) then return f(first, ...) end
    local others, n, out = { ... }, select("#", ...), {}
    for key in pairs(first) do
        local items = {}
        for k = 1, n do items[k] = others[k][key] end
        out[key] = zip_trees(f, first[key], unpack(items, 1, n))
    end
    return out
end

local function first_leaf(tree)
    while is_node(tree) do
        local _, item = next(tree)
        tree = item
    end
    return tree
end

-- ---- Collectives ----------------------------------------------------------------------------------------------------

--- The balanced tree: the left part has the largest power of two below n.
local function combine(list, f, from, n)
    from, n = from or 1, n or #list
    if n == 1 then return list[from] end
    local left = 1
    while 2 * left < n do left = 2 * left end
    return f(combine(list, f, from, left), combine(list, f, from + left, n - left))
end

--- An Each of x: of a value that all devices have it is that.
local function every(mesh, x)
    if is_each(x) then return x end
    local parts = {}
    for d = 1, mesh.size do parts[d] = x end
    return new_each(mesh, {}, {}, parts)
end

--- A new Each: device d gets f(list of what the members of its group have, its position among them, from 1). With
-- `shared` this is one value for the group.
local function exchange(mesh, x, names, how, f)
    x = every(mesh, x)
    local varies, differs = reference.varies(x), reference.differs(x)
    if how == "shared" then
        varies, differs = without(varies, names), without(differs, names)
    elseif how == "gathered" then
        varies, differs = union(varies, set_of(names)), without(differs, names)
    else
        varies, differs = union(varies, set_of(names)), union(differs, set_of(names))
    end
    local parts = {}
    for d = 1, mesh.size do
        local group, position = members(mesh, names, d)
        if how ~= "own" and position > 1 then
            parts[d] = parts[group[1]]
        else
            local list = {}
            for k, other in ipairs(group) do list[k] = parts_of(x)[other] end
            parts[d] = f(list, position)
        end
    end
    return new_each(mesh, varies, differs, parts)
end

local function add(a, b) return a + b end

--- Part k, from 1, of n of x along an axis; with `drop` x has n elements there, and part k is one without the axis.
local function part(x, axis, k, n, drop)
    local key = {}
    for at = 1, #x.shape do key[at] = {} end
    local size = x.shape[axis + 1] / n
    if size % 1 ~= 0 or drop and size ~= 1 then error("an axis does not divide", 0) end
    key[axis + 1] = drop and k - 1 or { (k - 1) * size, k * size }
    return x[key]
end

--- The functions of np that a body sees otherwise: for a mesh, a table.
local function collectives(mesh)
    local own = {}

    local function count(names)
        local n = 1
        for _, name in ipairs(names) do n = n * mesh.shape[name] end
        return n
    end

    --- own.name(tree, axis names, …) with f(leaf, list of names, …).
    local function define(name, f)
        own[name] = function(tree, axes, ...)
            local rest, n = { ... }, select("#", ...)
            return map_tree(tree, function(leaf) return f(leaf, names_of(axes), unpack(rest, 1, n)) end)
        end
    end

    local function sum(x, names)
        x = x:astype(dtypes.by_name[x.dtype].sum)
        return exchange(mesh, x, names, "shared", function(list) return combine(list, add) end)
    end
    define("psum", function(x, names)
        if type(x) == "number" then return x * count(names) end
        return sum(x, names)
    end)
    define("pmean", function(x, names)
        if type(x) == "number" then return x end
        return sum(x, names) / count(names)
    end)
    for name, f in pairs { pmax = np.maximum, pmin = np.minimum } do
        define(name, function(x, names)
            return exchange(mesh, x, names, "shared", function(list) return combine(list, f) end)
        end)
    end
    define("all_gather", function(x, names, options)
        local axis, tiled = options and options.axis or 0, options and options.tiled
        return exchange(mesh, x, names, "gathered", function(list)
            return (tiled and np.concatenate or np.stack)(list, { axis = axis })
        end)
    end)
    define("psum_scatter", function(x, names, options)
        local axis, tiled = options and options.scatter_dimension or 0, options and options.tiled
        x = x:astype(dtypes.by_name[x.dtype].sum)
        return exchange(mesh, x, names, "own", function(list, position)
            return part(combine(list, add), axis, position, #list, not tiled)
        end)
    end)
    define("all_to_all", function(x, names, split, concat, options)
        local tiled = options and options.tiled
        return exchange(mesh, x, names, "own", function(list, position)
            local pieces = {}
            for k, one in ipairs(list) do pieces[k] = part(one, split, position, #list, not tiled) end
            return (tiled and np.concatenate or np.stack)(pieces, { axis = concat })
        end)
    end)
    define("ppermute", function(x, names, pairs_of)
        for _, pair in ipairs(pairs_of) do
            if pair[1] >= count(names) or pair[2] >= count(names) then error("there is no such member", 0) end
        end
        return exchange(mesh, x, names, "own", function(list, position)
            for _, pair in ipairs(pairs_of) do
                if pair[2] == position - 1 then return list[pair[1] + 1] end
            end
            return np.zeros(list[1].shape, { dtype = list[1].dtype })
        end)
    end)
    define("pshuffle", function(x, names, perm)
        return exchange(mesh, x, names, "own", function(list, position) return list[perm[position] + 1] end)
    end)
    function own.axis_index(axes)
        local parts, names = {}, names_of(axes)
        for d = 1, mesh.size do
            local _, position = members(mesh, names, d)
            parts[d] = np.array(position - 1, { dtype = "i32" })
        end
        return new_each(mesh, set_of(names), set_of(names), parts)
    end
    function own.axis_size(axes) return count(names_of(axes)) end
    return own
end

-- ---- Control flow and transformations inside a body -----------------------------------------------------------------

--- Is the predicate the same for all devices? Then its value.
local function truth(p)
    if type(p) == "boolean" or type(p) == "number" then return p ~= 0 and p end
    local value = p:item()
    return value == true or type(value) == "number" and value ~= 0
end

local function varying(p)
    return is_each(p) and next(reference.differs(p)) ~= nil
end

--- The trees a and b, chosen by each device by its p.
local function chosen(mesh, p, a, b)
    return zip_trees(function(x, y) return (lift(mesh, np.where, p, x, y)) end, a, b)
end

local function control(mesh, own)
    function own.cond(p, f, g, ...)
        local yes, no = { f(...) }, { g(...) }
        zip_trees(function(x, y)
            if x.dtype ~= y.dtype then error("the branches have different dtypes", 0) end
        end, yes, no)
        if varying(p) then return unpack(chosen(mesh, p, yes, no)) end
        return unpack(truth(p) and yes or no)
    end

    function own.while_loop(cond, body, init)
        local carry = init
        while true do
            local going = cond(carry)
            if not varying(going) then
                if not truth(going) then return carry end
                carry = body(carry)
            else
                local any = false
                for d = 1, mesh.size do any = any or truth(parts_of(going)[d]) end
                if not any then return carry end
                carry = chosen(mesh, going, body(carry), carry)
            end
        end
    end

    function own.fori_loop(from, to, body, init)
        local carry = init
        for k = from, to - 1 do carry = body(np.array(k, { dtype = "i32" }), carry) end
        return carry
    end

    function own.scan(f, init, xs, options)
        options = options or {}
        local length = options.length or first_leaf(xs).shape[1]
        local carry, ys = init, {}
        for turn = 1, length do
            local at = options.reverse and length + 1 - turn or turn
            local x = xs and map_tree(xs, function(leaf) return leaf[at - 1] end)
            carry, ys[at] = f(carry, x)
        end
        if ys[1] == nil then return carry end
        return carry, zip_trees(function(...) return (lift(mesh, np.stack, { ... })) end, unpack(ys))
    end

    function own.vmap(f, options)
        local axes = options and options.in_axes or 0
        return function(...)
            local arguments, n, size = { ... }, select("#", ...), nil
            local function axis_of(k) return type(axes) == "table" and axes[k] or type(axes) ~= "table" and axes end
            for k = 1, n do
                if axis_of(k) then size = first_leaf(arguments[k]).shape[axis_of(k) + 1] end
            end
            local results = {}
            for at = 1, size do
                local examples = {}
                for k = 1, n do
                    local axis = axis_of(k)
                    examples[k] = axis and map_tree(arguments[k], function(leaf)
                        return (lift(mesh, part, leaf, axis, at, size, true))
                    end) or arguments[k]
                end
                results[at] = { f(unpack(examples, 1, n)) }
            end
            return unpack(zip_trees(function(...) return (lift(mesh, np.stack, { ... })) end, unpack(results)))
        end
    end

    for _, name in ipairs { "jit", "checkpoint" } do
        own[name] = function(f) return f end
    end
    function own.named_scope(_, f) return f end
    function own.staged(f) return f() end
end

local Place = {}

--- np.value_and_grad inside a body: the derivative of the sum over devices of the value (of one where they share it)
-- by what each of them has (by that which they share, if they do). argnums: {1} or a table of positions.
local function derivatives(mesh, own)
    --- A tree in which the Eachs are replaced by places in `list`, to which what they have is added.
    local function places(tree, list)
        return map_tree(tree, function(leaf)
            leaf = every(mesh, leaf)
            local at, varies = {}, reference.varies(leaf)
            for d = 1, mesh.size do
                local first = owner(mesh, varies, d)
                if first == d then list[#list + 1] = parts_of(leaf)[d] end
                at[d] = first == d and #list or at[first]
            end
            return setmetatable({ at = at, varies = varies, differs = reference.differs(leaf) }, Place)
        end)
    end

    --- The tree of Eachs again, of what a list has in these places.
    local function filled(tree, list)
        return map_tree(tree, function(place)
            local parts = {}
            for d = 1, mesh.size do parts[d] = list[place.at[d]] end
            return new_each(mesh, place.varies, place.differs, parts)
        end)
    end

    --- The sum of a value over those that it has.
    local function total(value)
        local sum
        for d = 1, mesh.size do
            if owner(mesh, reference.varies(value), d) == d then
                local one = parts_of(value)[d]
                sum = sum and sum + one or one
            end
        end
        return sum
    end

    local function value_and_grad(f, options)
        local positions = options and options.argnums or { 1 }
        return function(...)
            local arguments, n, variables, forms, kept = { ... }, select("#", ...), {}, {}, nil
            for k, position in ipairs(positions) do forms[k] = places(arguments[position], variables) end
            local gradients, values = np.grad(function(list)
                local own_arguments, results = { unpack(arguments, 1, n) }, {}
                for k, position in ipairs(positions) do own_arguments[position] = filled(forms[k], list) end
                kept = places({ f(unpack(own_arguments, 1, n)) }, results)
                return total(filled(kept[1], results)), results
            end, { has_aux = true })(variables)
            local out = filled(kept, values)
            for k = 1, #positions do out[#out + 1] = filled(forms[k], gradients) end
            return unpack(out)
        end
    end
    own.value_and_grad = value_and_grad
    function own.grad(f, options)
        local both = value_and_grad(f, options)
        return function(...) return select(2, both(...)) end
    end
end

-- ---- shard_map ------------------------------------------------------------------------------------------------------

--- The part of x that is cut out for device d.
local function cut(mesh, x, spec, d)
    for k = 1, spec.n do
        local names = names_of(spec[k])
        if #names > 0 then
            local group, position = members(mesh, names, d)
            x = part(x, k - 1, position, #group)
        end
    end
    return x
end

--- Puts together what the devices have, seen from device d: over the axes in the spec all, over others that of d.
local function assemble(mesh, x, spec, d, axis)
    axis = axis or 1
    while axis <= spec.n and not spec[axis] do axis = axis + 1 end
    if axis > spec.n then return parts_of(x)[d] end
    local pieces = {}
    for k, other in ipairs((members(mesh, names_of(spec[axis]), d))) do
        pieces[k] = assemble(mesh, x, spec, other, axis + 1)
    end
    return #pieces == 1 and pieces[1] or np.concatenate(pieces, { axis = axis - 1 })
end

--- f(leaf, spec) over a tree of values with a prefix tree of specs.
local function with_specs(tree, specs, f)
    if getmetatable(specs) == Spec then
        return map_tree(tree, function(leaf) return f(leaf, specs) end)
    end
    local out = {}
    for key, item in pairs(tree) do out[key] = with_specs(item, specs[key], f) end
    return out
end

--- The specs of arguments or results by position.
local function by_position(specs, k)
    return getmetatable(specs) == Spec and specs or specs[k]
end

local stand_in

--- Device d, with the coordinate 0 over these axes.
local function at_origin(mesh, axes, d)
    local coords = setmetatable({}, { __index = mesh.coords[d] })
    for _, name in ipairs(axes) do coords[name] = 0 end
    return device_at(mesh, coords)
end

--- np.shard_map of a body that takes np first: over all axes of the mesh, or axis_names; inside of another one over
-- further axes, all by default (`manual`: those of that one).
function reference.shard_map(body, options)
    local mesh = options.mesh
    if options.check_rep == false and not mesh.separate then
        mesh = setmetatable({ separate = true }, { __index = mesh })
    end
    local axes, manual = options.axis_names, union(options.manual or {}, {})
    if not axes then
        axes = {}
        for _, name in ipairs(mesh.names) do axes[#axes + 1] = not manual[name] and name or nil end
    end
    manual = union(manual, set_of(axes))
    return function(...)
        local blocks, inside = {}, false
        for k = 1, select("#", ...) do
            blocks[k] = with_specs((select(k, ...)), by_position(options.in_specs, k), function(leaf, spec)
                inside = inside or is_each(leaf)
                local parts, names = {}, mentioned(spec)
                local varies, differs = union(reference.varies(leaf), names), union(reference.differs(leaf), names)
                for d = 1, mesh.size do parts[d] = cut(mesh, at_device(leaf, d), spec, d) end
                return new_each(mesh, varies, differs, parts)
            end)
        end
        local results = { body(stand_in(mesh, manual), unpack(blocks, 1, select("#", ...))) }
        for k = 1, #results do
            results[k] = with_specs(results[k], by_position(options.out_specs, k), function(leaf, spec)
                local x, parts = every(mesh, leaf), {}
                for d = 1, mesh.size do parts[d] = assemble(mesh, x, spec, at_origin(mesh, axes, d)) end
                if not inside then return parts[1] end
                return new_each(mesh, without(reference.varies(x), axes), without(reference.differs(x), axes), parts)
            end)
        end
        return unpack(results)
    end
end

--- np as a body sees it, in which a set of axes is manual.
function stand_in(mesh, manual)
    local own = collectives(mesh)
    control(mesh, own)
    derivatives(mesh, own)
    function own.shard_map(body, options)
        local inner = setmetatable({ mesh = mesh, manual = manual }, { __index = options })
        return reference.shard_map(function(_, ...) return body(...) end, inner)
    end
    local function lifted(value)
        if type(value) == "function" then return function(...) return lift(mesh, value, ...) end end
        if type(value) ~= "table" then return value end
        return setmetatable({}, {
            __index = function(_, key) return lifted(value[key]) end,
            __call = function(_, ...) return lift(mesh, value, ...) end,
        })
    end
    return setmetatable(own, { __index = function(_, key) return lifted(np[key]) end })
end

return reference
