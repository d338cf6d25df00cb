--- varies_test.lua (sanitized with --long): x.sharding.varies in the body of np.shard_map, and the errors that refuse
-- what varies: they name the op that made it vary, and its line.
require "tests.lib.devices" (8, "tests/mesh/varies_test.lua")
local np = require "neap"
local check = require "tests.lib.check"

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local x = np.arange(16, { dtype = "f32" })

--- f on blocks of x over i, and its result as it is said to lie.
local function map(f, out, options)
    local o = { mesh = mesh, in_specs = P "i", out_specs = out or P "i" }
    for key, value in pairs(options or {}) do o[key] = value end
    return np.shard_map(f, o)
end

local function varies(a) return a.sharding and table.concat(a.sharding.varies, " ") end

for way, wrap in pairs { eager = function(f) return f end, jitted = np.jit } do
    check.test("over which axes arrays vary, " .. way, function()
        local w, seen = np.ones(4), {}
        wrap(np.shard_map(function(a, b, c)
            local place = np.axis_index "j"
            seen = {
                varies(a), varies(b), varies(c), varies(a * 2), varies(a + b), varies(a + place), varies(a:sum()),
                varies(np.psum(a, "i")), varies(np.psum(a + place, "i")), varies(np.psum(c, { "i", "j" })),
                varies(np.all_gather(a, "i")), varies(np.ppermute(a, "i", { { 0, 1 } })), varies(np.pvary(b, "j")),
            }
            return a
        end, { mesh = mesh, in_specs = { P "i", P(), P { "i", "j" } }, out_specs = P "i" }))(x, w, x)
        check.equal(seen, { "i", "", "i j", "i", "i", "i j", "i", "", "j", "", "i", "i", "j" })
    end)
end

check.test("outside of bodies nothing varies", function()
    check.equal(varies(x), nil)
    check.equal(np.device_put(x, mesh, P "i").sharding.varies, nil)
    map(function(a)
        check.equal(x.sharding, nil)
        return a
    end)(x)
end)

--- Runs chunk as the script "script.lua"; the error that it ends in.
local function error_of(chunk)
    local f = assert(loadstring("local np, map, P, x = ...\n" .. chunk, "@script.lua"))
    local ok, problem = pcall(f, np, map, P, x)
    check.ok(not ok, "no error was raised")
    return tostring(problem)
end

local function names(chunk, clause)
    local text = error_of(chunk)
    check.ok(text:find(clause, 1, true), text .. "\nlacks: " .. clause)
end

check.test("a result that varies is refused with what made it vary", function()
    names([[map(function(a)
        return a * 2 + 1
    end, P())(x)]], "; it does so by an argument that in_specs divide")
    names([[map(function(a)
        local b = np.psum(a, "i")
        local c = b + np.axis_index "j"
        return np.exp(c) * 2
    end, P())(x)]], "; it does so by np.axis_index, script.lua:4")
    names([[map(function(a)
        local total = np.psum(a, "i")
        local moved = np.ppermute(total, "j", { { 0, 1 } })
        return (moved * 2):sum()
    end, P())(x)]], "; it does so by np.ppermute, script.lua:4")
    names([[map(function(a)
        local total = np.psum(a, "i")
        return np.psum_scatter(np.pvary(total, "j"), "j", { tiled = true })
    end, P())(x)]], "; it does so by np.psum_scatter, script.lua:4")
end)

check.test("in jitted bodies too", function()
    names([[np.jit(map(function(a)
        local total = np.psum(a, "i")
        local moved = np.ppermute(total, "j", { { 0, 1 } })
        return moved * 2
    end, P()))(x)]], "; it does so by np.ppermute, script.lua:4")
end)

check.test("so is a value that is asked for", function()
    names([[map(function(a)
        local c = np.psum(a, "i") + np.axis_index "j"
        local d = c * 2
        if d:sum():item() > 3 then return a end
        return a
    end)(x)]], "; it does so by np.axis_index, script.lua:3")
end)

check.test("so is the choice of a branch that exchanges data", function()
    names([[map(function(a)
        local low = np.axis_index("i"):ge(2)
        return np.cond(low, function(b) return np.psum(b, "i") end, function(b) return b end, a)
    end)(x)]], "np.cond: the index differs between devices along 'i'")
    names([[map(function(a)
        local low = np.axis_index("i"):ge(2)
        return np.cond(low, function(b) return np.psum(b, "i") end, function(b) return b end, a)
    end)(x)]], "; it does so by np.axis_index, script.lua:3")
end)

check.test("what is combined is not refused", function()
    local out = map(function(a) return np.pmax(np.psum(a:sum(), "i") + np.axis_index "j", "j") end, P())(x)
    check.equal(out:item(), 121)
end)

check.done()
