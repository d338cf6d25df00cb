--- tree_test.lua: contracts of np.tree against jax.tree: trees of two arrays, whose keys come in the same order there.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere, held = require "tests.lib.contracts" "tree"

local TREE = "{'w': [x, {'b': y, 'a': x}], 'b': y}" -- of the oracle
local function tree(x, y) return { w = { x, { b = y, a = x } }, b = y } end

--- A contract of f(name's function, x, y): what is the same for all.
local function of_tree(name, f, contract)
    contract.args, contract.accepts, contract.gives = { "x", "y" }, "f64 f32 bf16 i64 u8 bool c64", "same"
    contract.shapes = { { { 3 }, { 3 } }, { { 2, 2 }, { 2, 2 } }, { {}, {} }, { { 0 }, { 0 } } }
    contract.call = function(g, o, x, y)
        if next(o) then return f(function(...) return g(..., o) end, x, y) end
        return f(g, x, y)
    end
    contract.special = false
    contract.without = { special = "a leaf is not looked at", numbers = "numbers are leaves, and stay numbers",
                         refusals = "a table behind the tree is a tree" }
    of(name, contract)
end

of_tree("np.tree.leaves", function(leaves, x, y) return leaves(tree(x, y)) end, {
    oracle = "jax.tree.leaves(" .. TREE .. ")",
})
of_tree("np.tree.flatten", function(flatten, x, y)
    local leaves, structure = flatten(tree(x, y))
    return leaves, np.tree.unflatten(structure, { y, x, y, x }).w[2].a
end, { oracle = "[*jax.tree.flatten(" .. TREE .. ")[0], jax.tree.unflatten(jax.tree.flatten(" .. TREE
    .. ")[1], [y, x, y, x])['w'][1]['a']]" })
of_tree("np.tree.structure", function(structure, x, y)
    local t = np.tree.unflatten(structure(tree(x, y)), { y, y, x, x })
    return t.w[1], t.w[2], t.b
end, { oracle = "(lambda t: [t['w'][0], t['w'][1]['a'], t['w'][1]['b'], t['b']])"
    .. "(jax.tree.unflatten(jax.tree.structure(" .. TREE .. "), [y, y, x, x]))" })
of_tree("np.tree.unflatten", function(unflatten, x, y)
    local t = unflatten(tree(0, 0), { y, y, x, x })
    return t.b, t.w[1], t.w[2].a, t.w[2].b
end, { oracle = "jax.tree.leaves(jax.tree.unflatten(jax.tree.structure(" .. TREE .. "), [y, y, x, x]))" })
of_tree("np.tree.map", function(map, x, y)
    return map(function(a, b, c) return np.where(np.isfinite(c), a, b) end, tree(x, y), tree(y, x), tree(y, y))
end, { oracle = "jax.tree.leaves(jax.tree.map(lambda a, b, c: np.where(np.isfinite(c), a, b), " .. TREE .. ", "
    .. TREE:gsub("x", "z"):gsub("y", "x"):gsub("z", "y") .. ", " .. TREE:gsub("x", "y") .. "))" })
of_tree("np.tree.reduce", function(reduce, x, y)
    return reduce(function(a, b) return np.where(np.isfinite(b), b, a) end, tree(x, y)),
           reduce(function(a, b) return np.where(np.isfinite(b), a, b) end, tree(x, y), y)
end, { oracle = "[jax.tree.reduce(lambda a, b: np.where(np.isfinite(b), b, a), " .. TREE
    .. "), jax.tree.reduce(lambda a, b: np.where(np.isfinite(b), a, b), " .. TREE .. ", y)]" })

held("np.tree.paths np.tree.size", "jax.tree.leaves_with_path, by hand", {
    values = function()
        local t = { w = { 7, { ["b c"] = 8, a = np.zeros { 2, 3 } } }, b = true, [2] = "x", ["1"] = np.zeros { 0 } }
        local paths, leaves = np.tree.paths(t), np.tree.leaves(t)
        check.equal(#paths, #leaves)
        local names = {}
        for k, pair in ipairs(paths) do
            names[k] = pair[1]
            check.ok(rawequal(pair[2], leaves[k]), pair[1])
        end
        check.equal(names, { "[2]", "1", "b", "w[1]", "w[2].a", "w[2].b c" })
        check.equal({ np.tree.size(t), np.tree.size {}, np.tree.size(3) }, { 8, 0, 1 })
        check.equal(np.tree.size(np.ones { 2, 3 }), 6)
        check.equal(np.tree.paths {}, {})
    end,
    refusals = function()
        check.raises(function() np.tree.size({}, {}) end, "np.tree.size: takes 1 argument")
        check.raises(function() np.tree.paths({}, {}) end, "np.tree.paths: takes 1 argument")
        check.raises(function() np.tree.map(print, { a = 1 }, { b = 1 }) end, "tree 2 has no key a")
        check.raises(function() np.tree.unflatten({ a = 1 }, { 1, 2 }) end, "1 leaves, got 2")
        local loop = {}
        loop[1] = loop
        check.raises(function() np.tree.leaves(loop) end, "deep")
    end,
})
held("np.tree.named np.tree.nest np.tree.rename np.tree.transpose", "names by hand", {
    values = function()
        local t = { layers = { { w = 7, b = np.zeros { 2, 3 } }, { w = 8 } }, ["x.y"] = { ["01"] = 9 }, none = {} }
        local flat = np.tree.named(t)
        check.equal({ flat["layers.0.w"], flat["layers.1.w"], flat["x.y.01"] }, { 7, 8, 9 })
        check.ok(rawequal(flat["layers.0.b"], t.layers[1].b))
        local back = np.tree.nest(flat)
        check.equal({ back.layers[1].w, back.layers[2].w, back.x.y["01"], #back.layers, back.none }, { 7, 8, 9, 2 })
        check.equal(np.tree.named(np.tree.nest(flat)), flat)
        check.equal(np.tree.nest { ["0.w"] = 1, ["2.w"] = 3 }, { { w = 1 }, {}, { w = 3 } })
        check.equal(np.tree.nest { ["2000.w"] = 3 }, { [2001] = { w = 3 } })
        local renamed = np.tree.rename(t, { { "^layers%.(%d)", "l%1" }, { "l1", "second" }, { "%.b$", false } })
        check.equal(renamed, { l0 = { w = 7 }, second = { w = 8 }, x = { y = { ["01"] = 9 } } })
        renamed = np.tree.rename(t, function(name) return name == "layers.1.w" and name .. ".z" or nil end)
        check.equal(renamed, { layers = { {}, { w = { z = 8 } } } })
        local moved = np.tree.transpose(t, { { "0%.b$", { 1, 0 } }, })
        check.equal({ moved.layers[1].b.shape, moved.layers[2].w }, { { 3, 2 }, 8 })
        check.equal(np.tree.transpose({ { np.ones { 2, 3, 4 } } }, { { "^0.0$", true } })[1][1].shape, { 4, 3, 2 })
    end,
    refusals = function()
        local function refused(pattern, f, ...)
            local arguments = { ... }
            check.raises(function() np.tree[f](unpack(arguments)) end, "np.tree." .. f .. ": .*" .. pattern)
        end
        refused("argument 1 %(t%)", "nest", np.ones(2))
        refused("'a.b' lies in what is a leaf", "nest", { a = 1, ["a.b"] = 2 })
        refused("'a.b' is there twice", "nest", { a = { b = 1 }, ["a.b"] = 2 })
        refused("'a.b' is there twice", "named", { a = { b = 1 }, ["a.b"] = 2 })
        refused("from 1, got the key", "named", { [0] = 1 })
        refused("more than 100 parts", "nest", { [("a."):rep(200)] = 1 })
        refused("argument 2 %(rules%)", "rename", {}, { a = "b" })
        refused("rules%[1%]", "rename", {}, { { "a" } })
        refused("the pattern '%(' is none", "rename", {}, { { "(", "" } })
        refused("rules%[1%] for 'a'", "rename", { a = 1 }, { { "a", "%9" } })
        refused("'b' is there twice", "rename", { a = 1, c = 2 }, { { ".", "b" } })
        refused("new name of 'a' is", "rename", { a = 1 }, function() return 3 end)
        refused("'a' must be an array", "transpose", { a = 1 }, { { "a", true } })
        refused("shape %(2, 3%), and its rule 3 axes", "transpose", { a = np.ones { 2, 3 } }, { { "a", { 0, 1, 2 } } })
        refused("no name has a match of 'x'", "transpose", { a = 1 }, { { "x", true } })
    end,
})
elsewhere("np.tree", "tests/docs/help_test.lua", "a table of functions, which have help")

finish()
