--- tree.lua: np.tree: nested Lua tables of arrays, numbers and other leaves.
--
-- A table without a metatable is an inner node, and so is a sparse array; everything else is a leaf. Leaves come in the
-- order integer keys, then sorted string keys. Functions over several trees need them to have the same keys.
local core = require "neap.core"
local trees = require "neap.core.trees"
local names = require "neap.core.tree_names"

local is_array, raise = core.is_array, core.raise
local is_node, keys_of, walk, rebuild = trees.is_node, trees.keys_of, trees.walk, trees.rebuild
local type, pairs, tostring = type, pairs, tostring

local tree = {}
for name, f in pairs(names) do tree[name] = f end

--- np.tree.leaves(t) -> table: the leaves in order, in a Lua table.
--- > t = {w = np.ones(2), b = np.zeros(1)}
--- > np.tree.leaves(t)[1], #np.tree.leaves(t)
-- [0.]
-- 2
function tree.leaves(t)
    local list = {}
    walk("tree.leaves", t, function(leaf) list[#list + 1] = leaf end)
    return list
end

local LEAF = setmetatable({}, { __tostring = function() return "*" end })

--- np.tree.structure(t): the tree with every leaf replaced by one marker.
--- > np.tree.structure({w = np.ones(2)}).w ~= nil
-- true
function tree.structure(t)
    return rebuild("tree.structure", t, function() return LEAF end)
end

--- np.tree.flatten(t) -> leaves, structure: the leaves in order, and the structure, from which unflatten makes the tree
-- again.
--- > leaves, structure = np.tree.flatten({1, {2}})
--- > #leaves, np.tree.unflatten(structure, {5, 6})[2][1]
-- 2
-- 6
function tree.flatten(t)
    return tree.leaves(t), tree.structure(t)
end

--- np.tree.unflatten(structure, leaves) -> tree: the tree of a structure (or of any tree of the same form) with new
-- leaves.
--- > np.tree.unflatten({a = 0, b = {0}}, {7, 8}).b[1]
-- 8
function tree.unflatten(structure, leaves)
    if type(leaves) ~= "table" then core.bad_argument("tree.unflatten", 2, "leaves", "a table", leaves) end
    local n = 0
    local t = rebuild("tree.unflatten", structure, function()
        n = n + 1
        return leaves[n]
    end)
    if n ~= #leaves then raise("tree.unflatten", "the structure has %d leaves, got %d", n, #leaves) end
    return t
end

local function place_text(path)
    return path == "" and "the top" or path
end

local function map_trees(f, path, first, others, depth)
    if not is_node(first) then
        for k = 1, #others do
            if is_node(others[k]) then
                raise("tree.map", "tree %d has a table at %s, tree 1 a leaf", k + 1, place_text(path))
            end
        end
        return f(first, unpack(others, 1, others.n))
    end
    trees.check_depth("tree.map", depth)
    local copy, keys = {}, keys_of(first, "tree.map")
    local inner = {}
    for k = 1, others.n do
        if not is_node(others[k]) then
            raise("tree.map", "tree %d has a leaf at %s, tree 1 a table", k + 1, place_text(path))
        end
        local count = 0
        for _ in pairs(others[k]) do count = count + 1 end
        if count ~= #keys then
            raise("tree.map", "tree %d has %d keys at %s, tree 1 has %d", k + 1, count, place_text(path), #keys)
        end
    end
    for _, key in ipairs(keys) do
        inner.n = others.n
        for k = 1, others.n do
            inner[k] = rawget(others[k], key)
            if inner[k] == nil then
                raise("tree.map", "tree %d has no key %s at %s", k + 1, tostring(key), place_text(path))
            end
        end
        copy[key] = map_trees(f, path == "" and tostring(key) or path .. "." .. tostring(key), first[key], inner,
                              depth + 1)
    end
    return trees.alike(copy, first)
end

--- np.tree.map(f, t, …) -> tree: the tree of f(leaf, …) over the leaves of one or more trees of the same form.
--- > np.tree.map(function(x, y) return x + y end, {a = 1}, {a = 2}).a
-- 3
function tree.map(f, t, ...)
    if type(f) ~= "function" then core.bad_argument("tree.map", 1, "f", "a function", f) end
    return map_trees(f, "", t, { n = select("#", ...), ... }, 0)
end

--- np.tree.reduce(f, t, initial) -> value: f(… f(f(initial, leaf1), leaf2) …); without initial it starts with the first
-- leaf.
--- > np.tree.reduce(math.max, {3, {5, 4}})
-- 5
function tree.reduce(f, t, initial)
    if type(f) ~= "function" then core.bad_argument("tree.reduce", 1, "f", "a function", f) end
    local result = initial
    walk("tree.reduce", t, function(leaf)
        if result == nil then result = leaf else result = f(result, leaf) end
    end)
    return result
end

--- np.tree.paths(t) -> table: the leaves with their places: a Lua table of {path, leaf}, such as {"layers[1].w", w}.
--- > np.tree.paths({layers = {{w = 7}}})[1][1]
-- layers[1].w
function tree.paths(t)
    local list = {}
    walk("tree.paths", t, function(leaf, path) list[#list + 1] = { path, leaf } end, "")
    return list
end

--- np.tree.size(t) -> integer: the number of elements of all arrays and numbers.
--- > np.tree.size({np.ones{2, 3}, 1})
-- 7
function tree.size(t)
    local size = 0
    walk("tree.size", t, function(leaf)
        size = size + (is_array(leaf) and leaf.size or type(leaf) == "number" and 1 or 0)
    end)
    return size
end

-- They call functions of the user in loops: traces of them would pin what those capture.
for _, f in ipairs { map_trees, tree.reduce, tree.map } do jit.off(f) end

return tree
