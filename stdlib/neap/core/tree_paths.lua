--- tree_paths.lua: the leaves of a tree by names, as they stand in files.
--
-- A leaf's name is its path: keys joined by "/", integer keys as "#1", and characters of keys that would confuse a path
-- as %XX; an empty key is "%" alone. An empty table is a name that ends in "/".
local core = require "neap.core"
local trees = require "neap.core.trees"

local raise = core.raise

local paths = {}

local MAX_DEPTH = 100

local function escape(key)
    if type(key) == "number" then return ("#%.17g"):format(key) end
    if key == "" then return "%" end
    return (key:gsub("[%%/#:%c]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local function unescape(text)
    if text:sub(1, 1) == "#" then return tonumber(text:sub(2)) end
    if text == "%" then return "" end
    return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function gather(name, list, path, value, depth)
    if not trees.is_node(value) then
        list[#list + 1] = { path, value }
        return
    end
    if depth > MAX_DEPTH then raise(name, "the tree is nested more than %d deep", MAX_DEPTH) end
    local keys = {}
    for key in pairs(value) do
        if type(key) ~= "string" and type(key) ~= "number" then
            raise(name, "keys are strings and numbers, got %s", core.describe(key))
        end
        keys[#keys + 1] = { escape(key), value[key] }
    end
    table.sort(keys, function(a, b) return a[1] < b[1] end)
    if #keys == 0 then list[#list + 1] = { path .. "/" } end
    for _, pair in ipairs(keys) do
        gather(name, list, path == "" and pair[1] or path .. "/" .. pair[1], pair[2], depth + 1)
    end
end

--- The leaves of a tree in the order of their names: a list of {path, leaf}, without a leaf for an empty table. `name`
-- is the public function that errors name.
function paths.leaves(name, tree)
    local list = {}
    gather(name, list, "", tree, 0)
    return list
end

--- The keys of a path, the last one "" for an empty table; or nil if it is none.
function paths.keys(path)
    local keys = {}
    for part in (path .. "/"):gmatch("([^/]*)/") do
        local key = unescape(part)
        if key == nil or key ~= key then return nil end
        keys[#keys + 1] = key
    end
    return keys
end

--- Puts a leaf into a tree of tables at a path. Returns whether it fits.
function paths.put(tree, path, leaf)
    if path == "/" then return leaf == nil end -- the tree itself is empty
    local keys, node = paths.keys(path), tree
    if not keys then return false end
    for k = 1, #keys do
        local key = keys[k]
        if type(node) ~= "table" or getmetatable(node) then return false end
        if k == #keys then
            if key == "" and leaf == nil then return true end -- an empty table
            if node[key] ~= nil then return false end
            node[key] = leaf
        else
            if node[key] == nil then node[key] = {} end
            node = node[key]
        end
    end
    return true
end

jit.off(gather) -- traces would pin arrays

return paths
