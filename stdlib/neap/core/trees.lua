--- trees.lua: walking nested Lua tables, for np.tree and for the parts of the library that take trees.
--
-- A table without a metatable is an inner node; everything else is a leaf. Leaves come in the order integer keys, then
-- sorted string keys. `name` is the public function that errors name.
--
-- A table of a *class* is an inner node too: its metatable has a text `__tree`, which says all that is no leaf, such as
-- "csr_array(3, 4)"; equal texts are one metatable. What is made like such a node gets its metatable.
local core = require "neap.core"

local raise = core.raise
local type, pairs, ipairs, tostring = type, pairs, ipairs, tostring

local trees = {}

local MAX_DEPTH = 200

--- The class of a value, its metatable; nil: it has none.
local function class_of(value)
    local meta = type(value) == "table" and getmetatable(value)
    return type(meta) == "table" and rawget(meta, "__tree") and meta or nil
end
trees.class_of = class_of

--- Whether a value is an inner node.
local function is_node(value)
    return type(value) == "table" and (getmetatable(value) == nil or class_of(value) ~= nil)
end
trees.is_node = is_node

--- `copy`, a new table, as a node of the class of another one, if that has one.
local function alike(copy, node)
    return setmetatable(copy, class_of(node))
end
trees.alike = alike

--- The keys of a node in order. Keys that are neither numbers nor strings are refused.
local function keys_of(node, name)
    local n = #node
    local others
    for key in pairs(node) do
        if not (type(key) == "number" and key >= 1 and key <= n and key % 1 == 0) then
            if type(key) ~= "number" and type(key) ~= "string" then
                raise(name, "keys of a tree are integers and strings, got %s", core.describe(key))
            end
            others = others or {}
            others[#others + 1] = key
        end
    end
    local keys = {}
    for k = 1, n do
        if node[k] ~= nil then keys[#keys + 1] = k end -- a list may have holes
    end
    if others then
        for _, key in pairs(others) do keys[#keys + 1] = key end
        table.sort(keys, function(a, b)
            if type(a) ~= type(b) then return type(a) == "number" end
            return a < b
        end)
    end
    return keys
end

local function too_deep(name)
    raise(name, "tables are nested more than %d deep: is there a cycle?", MAX_DEPTH)
end

--- The path of a key of the value at `path`, as np.tree.paths has it: "layers[1].w"; that of the tree itself is "".
local function inner_path(path, key)
    if type(key) == "number" then return path .. "[" .. key .. "]" end
    return path == "" and key or path .. "." .. key
end
trees.inner_path = inner_path

--- Calls visit(leaf, path) for every leaf in order. A path is like "layers[1].w"; with nil for `path` there are none.
local function walk(name, value, visit, path, depth)
    if not is_node(value) then return visit(value, path) end
    if depth > MAX_DEPTH then too_deep(name) end
    for _, key in ipairs(keys_of(value, name)) do
        walk(name, value[key], visit, path and inner_path(path, key), depth + 1)
    end
end

--- A tree of the same keys whose leaves are f(leaf, class of the node that has it), called in order.
local function rebuild(name, value, f, depth, class)
    if not is_node(value) then return f(value, class) end
    if depth > MAX_DEPTH then too_deep(name) end
    local copy = {}
    class = class_of(value)
    for _, key in ipairs(keys_of(value, name)) do copy[key] = rebuild(name, value[key], f, depth + 1, class) end
    return setmetatable(copy, class)
end

trees.keys_of = keys_of

--- The order in which keys of any type are shown: those of one type together, numbers and texts by what they are.
function trees.key_less(a, b)
    local ta, tb = type(a), type(b)
    if ta == tb and (ta == "number" or ta == "string") then return a < b end
    return ta < tb
end

--- A key as Lua writes it in a table.
function trees.key_text(key)
    if type(key) ~= "string" then return "[" .. tostring(key) .. "]" end
    return key:find "^[%a_][%w_]*$" and key or ("[%q]"):format(key)
end

--- Raises if a table lies that deep in a tree.
function trees.check_depth(name, depth)
    if depth > MAX_DEPTH then too_deep(name) end
end

function trees.walk(name, value, visit, path)
    walk(name, value, visit, path, 0)
end

function trees.rebuild(name, value, f)
    return rebuild(name, value, f, 0)
end

--- Whether a value says what an array is, and is none: {shape={2, 3}, dtype="f32"}.
function trees.is_spec(value)
    return is_node(value) and type(rawget(value, "shape")) == "table"
end

--- The code of the dtype and a copy of the shape that such a table says; without a dtype it is f32. `where` is what the
-- table is called in messages. texts: extents may be texts, too; placed: it may have a field `sharding`.
function trees.spec(name, where, spec, texts, placed)
    local dtype = core.dtype_codes[spec.dtype or "f32"]
    if not dtype then raise(name, "%s: there is no dtype %s", where, core.describe(spec.dtype)) end
    local shape = {}
    for k = 1, #core.list(name, where .. ", field 'shape'", spec.shape) do
        shape[k] = spec.shape[k]
        local fits = texts and type(shape[k]) == "string"
        if not fits and (type(shape[k]) ~= "number" or shape[k] < 0 or shape[k] % 1 ~= 0) then
            raise(name, "%s: a shape is a table of integers from 0 up, got %s", where, core.describe(shape[k]))
        end
    end
    for key in pairs(spec) do
        if key ~= "shape" and key ~= "dtype" and not (placed and key == "sharding") then
            raise(name, "%s: {shape=…, dtype=…%s} has also '%s'%s", where, placed and ", sharding=…" or "",
                  tostring(key), placed and key == "device" and ": field 'sharding' takes a device, too" or "")
        end
    end
    return dtype, shape
end

local function with_prefix(name, option, tree, prefix, path, visit, depth)
    if depth > MAX_DEPTH then too_deep(name) end
    local divided = is_node(prefix)
    if not is_node(tree) then
        if divided then raise(name, "%s has a table for %s, which is %s", option, path, core.describe(tree)) end
        return visit(tree, prefix, path)
    end
    for _, key in ipairs(divided and keys_of(prefix, name) or {}) do
        if rawget(tree, key) == nil then
            raise(name, "%s names %s, which is not there", option, inner_path(path, key))
        end
    end
    local copy = {}
    for _, key in ipairs(keys_of(tree, name)) do
        local inner = prefix
        if divided then inner = prefix[key] end
        copy[key] = with_prefix(name, option, tree[key], inner, inner_path(path, key), visit, depth + 1)
    end
    return alike(copy, tree)
end

--- A tree of the same keys whose leaves are visit(leaf, item, path), called in order. `prefix` is a prefix of the tree:
-- an item where it ends holds for all leaves below, nil where it has no key. `option` is the prefix in messages.
function trees.with_prefix(name, option, tree, prefix, path, visit)
    return with_prefix(name, option, tree, prefix, path, visit, 0)
end

--- What an argument, or an option where there is no position, chooses of a tree's leaves: a function of path and leaf
-- (np.tree.paths) that returns true or false; given is one, or a Lua pattern of paths.
function trees.chooser(name, position, what, given)
    local choose = given
    if type(given) == "string" then
        choose = function(path) return path:find(given) ~= nil end
    elseif type(given) ~= "function" then
        core.bad_argument(name, position, what, "a function of path and leaf, or a pattern of paths", given)
    end
    return function(path, leaf)
        local chosen = choose(path, leaf)
        if type(chosen) ~= "boolean" then
            raise(name, "%s must return true or false, got %s for '%s'",
                  position and "argument " .. position or ("option '%s'"):format(what), core.describe(chosen), path)
        end
        return chosen
    end
end

jit.off(with_prefix)
jit.off(walk) -- they call functions of the user in loops: traces of them would pin what those capture
jit.off(rebuild)

return trees
