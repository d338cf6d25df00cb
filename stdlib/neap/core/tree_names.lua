--- tree_names.lua: np.tree.named, nest, rename and transpose: trees by names with dots, as other libraries have them.
--
-- A leaf's name is its keys joined by dots, where places of lists count from 0: {layers = {{w = 7}}} has "layers.0.w".
-- A key may hold dots itself: a flat table by name has the same names as the tree that nest makes of it.
local core = require "neap.core"
local trees = require "neap.core.trees"

local raise, bad_argument = core.raise, core.bad_argument
local is_node, keys_of = trees.is_node, trees.keys_of

local names = {}

local MAX_PARTS, MAX_PLACES = 100, 1000

--- A key as a part of a name.
local function part_of(name, key)
    if type(key) == "string" then return key end
    if key < 1 or key % 1 ~= 0 then
        raise(name, "places of a list are integers from 1, got the key %s", core.describe(key))
    end
    return ("%.0f"):format(key - 1)
end

--- Calls visit(leaf, name) for each leaf in order; nothing is said of empty tables.
local function visit_named(name, value, visit, path, depth)
    if not is_node(value) then return visit(value, path) end
    trees.check_depth(name, depth)
    for _, key in ipairs(keys_of(value, name)) do
        local part = part_of(name, key)
        visit_named(name, value[key], visit, path and path .. "." .. part or part, depth + 1)
    end
end

local function check_tree(name, position, t)
    if not is_node(t) then bad_argument(name, position, "t", "a table", t) end
end

--- Puts a leaf in its place.
local function put(name, tree, path, leaf)
    local node, count = tree, 0
    local parts = {}
    for part in (path .. "."):gmatch "([^.]*)%." do
        count = count + 1
        parts[count] = (part == "0" or part:find "^[1-9]%d*$") and #part < 16 and tonumber(part) + 1 or part
    end
    if count > MAX_PARTS then raise(name, "the name '%s…' has more than %d parts", path:sub(1, 40), MAX_PARTS) end
    for k = 1, count - 1 do
        local inner = node[parts[k]]
        if inner == nil then
            inner = {}
            node[parts[k]] = inner
        elseif not is_node(inner) then
            raise(name, "'%s' lies in what is a leaf by another name", path)
        end
        node = inner
    end
    if node[parts[count]] ~= nil then
        raise(name, "'%s' is there twice, or other names begin with it", path)
    end
    node[parts[count]] = leaf
end

--- Gives lists without some of their places empty tables there, so that they are lists.
local function fill_places(node)
    local last = 0
    for key, value in pairs(node) do
        if type(key) == "number" then last = math.max(last, key) end
        if is_node(value) then fill_places(value) end
    end
    if last > MAX_PLACES then return end
    for k = 1, last do
        if node[k] == nil then node[k] = {} end
    end
end

--- The tree of a list of { name, leaf }.
local function nested(name, list)
    table.sort(list, function(a, b) return a[1] < b[1] end)
    local tree = {}
    for _, item in ipairs(list) do put(name, tree, item[1], item[2]) end
    fill_places(tree)
    return tree
end

--- np.tree.named(t) -> table: the leaves of a tree by name: keys joined by dots, where lists count from 0, as in
-- PyTorch. np.tree.nest makes the tree of it again, but for empty tables.
--- > np.tree.named({layers = {{w = 7}, {w = 8}}})["layers.1.w"]
-- 8
function names.named(t)
    local name = "tree.named"
    check_tree(name, 1, t)
    local flat = {}
    visit_named(name, t, function(leaf, path)
        if flat[path] ~= nil then raise(name, "'%s' is there twice: keys may hold dots and digits, too", path) end
        flat[path] = leaf
    end, nil, 0)
    return flat
end

--- np.tree.nest(t) -> tree: the tree of leaves by names with dots, such as a state dict of PyTorch: "layers.0.w"
-- becomes layers[1].w. Places below 1000 that a list lacks get empty tables, as np.nn.Sequential has for functions.
-- Keys of tables in t are parts of names, too. Raises if a leaf lies in another one.
--- > np.tree.nest({["layers.0.w"] = 7, ["layers.1.w"] = 8}).layers[2].w
-- 8
function names.nest(t)
    local name, list = "tree.nest", {}
    check_tree(name, 1, t)
    visit_named(name, t, function(leaf, path) list[#list + 1] = { path, leaf } end, nil, 0)
    return nested(name, list)
end

local function is_list(value)
    return is_node(value) and next(value, #value > 0 and #value or nil) == nil
end

--- Raises unless `rules` is a list of { pattern, value } whose values are as `accepts` says.
local function check_rules(name, rules, what, accepts)
    if not is_list(rules) then bad_argument(name, 2, "rules", "a list of {pattern, " .. what .. "}", rules) end
    for k, rule in ipairs(rules) do
        if not is_node(rule) or type(rule[1]) ~= "string" or not accepts(rule[2]) or rule[3] ~= nil then
            bad_argument(name, nil, ("rules[%d]"):format(k), "{pattern, " .. what .. "}", rule)
        end
        local ok, problem = pcall(string.find, "", rule[1])
        if not ok then raise(name, "rules[%d]: the pattern '%s' is none: %s", k, rule[1], problem) end
    end
end

--- The function of a name that rules make, one after the other.
local function renamer(name, rules)
    check_rules(name, rules, "replacement", function(value)
        return type(value) == "string" or type(value) == "function" or value == false
    end)
    return function(path)
        for k, rule in ipairs(rules) do
            if rule[2] == false then
                if path:find(rule[1]) then return nil end
            else
                local ok, replaced = pcall(string.gsub, path, rule[1], rule[2])
                if not ok then raise(name, "rules[%d] for '%s': %s", k, path, tostring(replaced)) end
                path = replaced
            end
        end
        return path
    end
end

--- np.tree.rename(t, rules) -> tree: the tree of the same leaves by other names (see np.tree.named). `rules` is a list
-- of {pattern, replacement}, which string.gsub is given one after the other; false in place of a replacement leaves out
-- what has a match. Or a function of a name and its leaf, which gives the new name, or nil for none.
--- > t = {["net.0.weight"] = 7, ["net.0.steps"] = 1}
--- > np.tree.rename(t, {{"^net%.", ""}, {"weight$", "w"}, {"steps$", false}})[1].w
-- 7
--- > np.tree.rename({a = {b = 7}}, string.upper).A.B
-- 7
function names.rename(t, rules)
    local name, list = "tree.rename", {}
    check_tree(name, 1, t)
    local f = type(rules) == "function" and rules or renamer(name, rules)
    visit_named(name, t, function(leaf, path)
        local new = f(path, leaf)
        if new ~= nil and new ~= false then
            if type(new) ~= "string" then raise(name, "the new name of '%s' is %s", path, core.describe(new)) end
            list[#list + 1] = { new, leaf }
        end
    end, nil, 0)
    return nested(name, list)
end

local function transposed(name, t, rules, used, path, depth)
    if not is_node(t) then
        for k, rule in ipairs(rules) do
            if path and path:find(rule[1]) then
                used[k] = true
                if not core.is_array(t) then raise(name, "'%s' must be an array, got %s", path, core.describe(t)) end
                local axes = rule[2]
                if axes == true then return core.np.transpose(t) end
                if #axes ~= core.ndim(t) then
                    raise(name, "'%s' has the shape %s, and its rule %d axes", path, core.shape_text(t), #axes)
                end
                return core.np.transpose(t, axes)
            end
        end
        return t
    end
    trees.check_depth(name, depth)
    local copy = {}
    for _, key in ipairs(keys_of(t, name)) do
        local part = part_of(name, key)
        copy[key] = transposed(name, t[key], rules, used, path and path .. "." .. part or part, depth + 1)
    end
    return copy
end

--- np.tree.transpose(t, rules) -> tree: the tree with some of its arrays transposed: `rules` is a list of
-- {pattern, axes}, of which the first that has a match in an array's name (see np.tree.named) counts; true in place of
-- axes reverses them. Raises for a rule that no name matches.
--- > np.tree.transpose({conv = {w = np.ones{8, 3, 5, 5}}}, {{"w$", {2, 3, 1, 0}}}).conv.w:dim(3)
-- 8
function names.transpose(t, rules)
    local name, used = "tree.transpose", {}
    check_tree(name, 1, t)
    check_rules(name, rules, "axes", function(value) return value == true or is_list(value) end)
    local result = transposed(name, t, rules, used, nil, 0)
    for k, rule in ipairs(rules) do
        if not used[k] then
            raise(name, "rules[%d]: no name has a match of '%s' that no rule before it has", k, rule[1])
        end
    end
    return result
end

-- They call functions of the user in loops: traces of them would pin what those capture.
for _, f in ipairs { visit_named, names.rename } do jit.off(f) end

return names
