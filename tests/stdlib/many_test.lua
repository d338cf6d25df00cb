--- many_test.lua (sanitized with --long): lists of ten thousand: what takes a list of the user's takes a long one.
-- Lua's stack has room for some 8000 values, so a list that is passed on or copied by way of it is one too many.
local np = require "neap"
local check = require "tests.lib.check"

local N = 10000
local path = os.tmpname()

local arrays, named, numbers = {}, {}, {}
for k = 1, N do
    arrays[k], numbers[k] = np.array { k }, k
    named["k" .. k] = arrays[k]
end

local wide = np.table(named)

--- A sum of arrays.
local function total(list)
    return np.concatenate(list):sum()
end

local EXPECTED = N * (N + 1) / 2
local tests = {
    ["np.concatenate"] = function() return total(arrays):item() == EXPECTED end,
    ["np.stack"] = function() return np.stack(arrays).shape[1] == N end,
    ["np.hstack, np.column_stack"] = function()
        return np.hstack(arrays).size == N and np.column_stack(arrays).shape[2] == N
    end,
    ["np.block"] = function() return np.block { arrays }.shape[2] == N end,
    ["np.split"] = function() return #np.split(np.zeros { N }, N) == N end,
    ["np.select, np.lexsort"] = function()
        local conditions = {}
        for k = 1, N do conditions[k] = arrays[k]:eq(N) end
        return np.select(conditions, arrays):item() == N and np.lexsort(arrays):item() == 0
    end,
    ["np.quantile"] = function() return np.quantile(np.ones(3), np.linspace(0, 1, N):totable()).size == N end,
    ["np.tree"] = function()
        local twice = np.tree.map(function(a, b) return a + b end, arrays, arrays)
        local leaves, structure = np.tree.flatten(named)
        return twice[N]:item() == 2 * N and #leaves == N and np.tree.unflatten(structure, leaves).k9:item() == 9
    end,
    ["np.jit"] = function()
        return np.jit(total)(arrays):item() == EXPECTED and #np.jit(function(x)
            local list = {}
            for k = 1, N do list[k] = x + k end
            return list
        end)(np.zeros(1)) == N
    end,
    ["np.grad"] = function() return #np.grad(total)(arrays) == N end,
    ["np.jvp, np.vjp"] = function()
        local _, moved = np.jvp(total, { arrays }, { arrays })
        local _, pull = np.vjp(total, arrays)
        return moved:item() == EXPECTED and #pull(np.array(1)) == N
    end,
    ["np.vmap"] = function()
        return np.vmap(function(list) return list[1] + list[N] end)(arrays):item() == 1 + N
            and #np.vmap(function(list) return list end, { axis_name = "i" })(arrays) == N
    end,
    ["np.optim"] = function()
        local optimizer = np.optim.adam { lr = 0.1 }
        return #optimizer:update(arrays, optimizer:init(arrays), arrays) == N
    end,
    ["np.nn.Sequential"] = function()
        local layers = {}
        for k = 1, N do layers[k] = np.nn.relu end
        local model = np.nn.Sequential(layers)
        return #model:init(np.random.key(0)) == N
    end,
    ["the columns of a table"] = function()
        return #wide.columns == N and #wide:select(wide.columns).columns == N and wide:with { x = { 1 } }.x:item() == 1
            and tostring(wide):find "10000 columns" and wide:to_array().size == N
            and #wide:drop { "k1" }.columns == N - 1 and #wide:concat(wide) == 2
    end,
    ["the rows of a table"] = function()
        local long = np.table { a = numbers }
        return select(2, long:tostring { rows = N }:gsub("\n", "")) == N + 2 and #long:group("a", { a = "count" }) == N
    end,
    ["a text column"] = function()
        local texts = {}
        for k = 1, N do texts[k] = "t" .. k end
        return #np.table { t = texts }.t:totable() == N
    end,
    ["csv"] = function()
        np.io.write_csv(path, wide)
        return #np.io.read_csv(path).columns == N
    end,
    ["np.io.savetxt"] = function()
        local x, formats = np.arange(2 * N):reshape(2, N), {}
        for k = 1, N do formats[k] = "%d" end
        for _, fmt in ipairs { "%d", formats } do
            np.io.savetxt(path, x, { fmt = fmt, delimiter = "," })
            if np.io.loadtxt(path, { delimiter = "," }):sum():item() ~= x:sum():item() then return false end
        end
        return true
    end,
    ["archives"] = function()
        np.io.savez(path, named)
        if np.io.load(path).k7:item() ~= 7 then return false end
        np.io.save_tree(path, arrays)
        return #np.io.load_tree(path) == N
    end,
    ["np.isin"] = function() return np.isin(np.array { 5 }, numbers):item() end,
    ["np.progress"] = function()
        local count = 0
        for _ in np.progress(arrays, { disable = true }) do count = count + 1 end
        return count == N
    end,
    ["names of a chart"] = function()
        local names = {}
        for k = 1, N do names[k] = "n" .. k end
        return #np.plot.figure():bar(names, numbers).axes[1].layers == 1
    end,
}

local order = {}
for name in pairs(tests) do order[#order + 1] = name end
table.sort(order)
for _, name in ipairs(order) do
    check.test(name .. ": a list of 10000", function() check.ok(tests[name]()) end)
end

check.test("more results than Lua returns are refused by name", function()
    np.io.savetxt(path, np.zeros { 1, N }, { fmt = "%d" })
    for name, f in pairs {
        ["unpack"] = function() return np.zeros { N }:unpack() end,
        ["unstack"] = function() return np.unstack(np.zeros { N, 1 }) end,
        ["io.loadtxt"] = function() return np.io.loadtxt(path, { unpack = true }) end,
        ["data.batches"] = function() return np.data.batches(arrays, 1)() end,
    } do
        local ok, problem = pcall(f)
        check.ok(not ok and problem:find("np." .. name .. ": 10000 results are more than", 1, true), problem)
    end
end)

check.test("more inputs than a program takes are refused by name", function()
    local custom = np.custom_vjp(total)
    custom:defvjp(function(list) return total(list), list end, function(list) return list end)
    for name, f in pairs {
        ["custom_vjp"] = function() return np.grad(custom)(arrays) end,
        ["fori_loop"] = function() return np.fori_loop(0, 1, function(_, list) return list end, arrays) end,
        ["cond"] = function() return np.cond(np.array(true), total, total, arrays) end,
    } do
        local ok, problem = pcall(f)
        check.ok(not ok and problem:find("np." .. name .. ": .*at most 2047 inputs"), problem)
    end
end)

os.remove(path)
check.done()
