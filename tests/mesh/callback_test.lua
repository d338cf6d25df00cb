-- np.callback with arrays that lie on a mesh, and values that a body reads where nothing is checked.
require "tests.lib.devices" (8, "tests/mesh/callback_test.lua")
local np = require "neap"
local check = require "tests.lib.check"

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local x = np.arange(144, { dtype = "f32" }):reshape(12, 12)
local y = np.device_put(x, mesh, P("i", "j"))

local function map(body, unchecked)
    return np.shard_map(body, { mesh = mesh, in_specs = P("i"), out_specs = P("i"), check_rep = not unchecked })
end

check.test("a callback gets an array of a mesh whole, and gives ordinary ones", function()
    local seen
    local sum = np.callback(function(a)
        seen = a
        return a:sum()
    end, { result = { dtype = "f32", shape = {} } })(y)
    check.equal(sum:item(), x:sum():item())
    check.equal(seen.sharding, nil)
    check.equal(tostring(seen), tostring(x))
end)

check.test("a jitted function calls with the arrays of each run", function()
    local sums = {}
    local f = np.jit(function(a)
        np.callback(function(b) sums[#sums + 1] = b:sum():item() end)(a)
        return a + 1
    end)
    f(y)
    f(y * 2)
    np.effects_barrier()
    check.equal(table.concat(sums, " "), "10296 20592")
end)

check.test("in a body it is called once, with what all devices have", function()
    for _, wrap in ipairs { function(f) return f end, np.jit } do
        local calls = {}
        wrap(map(function(a)
            np.callback(function(b) calls[#calls + 1] = b:item() end)(np.psum(a:sum(), "i"))
            return a
        end))(x)
        np.effects_barrier()
        check.equal(table.concat(calls, " "), "10296")
    end
end)

check.test("where nothing is checked, item compares the copies", function()
    local read
    map(function(a)
        read = (a * 0 + 3):sum():item()
        return a
    end, true)(x)
    check.equal(read, 108)
    check.raises(function()
        map(function(a)
            a:sum():item()
            return a
        end, true)(x)
    end, "np.item: the array has different values on different devices")
end)

check.done()
