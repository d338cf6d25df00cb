--- deferred_test.lua: deferred mode on a mesh: arrays on it are recorded as any other, also inside of np.shard_map;
-- computed when asked for, once, by no more launches than outside of the mode; exported; their data is let go.
local np = require "neap"
local check = require "tests.lib.check"

require "tests.lib.devices" (4, "tests/mesh/deferred_test.lua")

local P = np.P
local mesh = np.mesh({ 4 }, { "i" })
local x = np.device_put(np.arange(8, { dtype = "f32" }):wait(), mesh, P "i"):wait()
local w = np.device_put((np.arange(16, { dtype = "f32" }) - 7):reshape(8, 2):wait(), mesh, P "i"):wait()
local plain = (np.arange(8, { dtype = "f32" }) + 1):wait()
local inputs = { plain = plain, w = w, x = x }

local function launches() return tonumber(np.debug.counters().launches) end

local programs = {
    { "maps", { "x" }, function(t) return np.exp(t.x) * 2 end },
    { "an ordinary array beside", { "plain", "x" }, function(t) return t.x * t.plain end },
    { "a sum over the mesh", { "x" }, function(t) return t.x:sum() end },
    { "a product, whose parts are combined", { "w", "x" }, function(t) return t.x:matmul(t.w) end },
    { "a sort, which gathers", { "x" }, function(t) return np.sort(-t.x) end },
    { "a slice over blocks", { "x" }, function(t) return np.exp(t.x)[{ { 1, 3 } }] end },
    { "another sharding", { "w" }, function(t) return np.device_put(t.w + 1, mesh, P()) end },
    { "onto the mesh", { "plain" }, function(t) return np.device_put(t.plain * 2, mesh, P "i") + 1 end },
    { "a gradient", { "x" }, function(t)
        return (np.grad(function(v) return (np.sin(v) * v):sum() end)(t.x))
    end },
    { "a jitted function", { "x" }, function(t) return np.jit(function(v) return np.exp(v) * 2 end)(t.x) end },
    { "a loop", { "x" }, function(t) return (np.fori_loop(0, 3, function(_, c) return c * 2 end, t.x)) end },
    { "np.shard_map", { "x" }, function(t)
        return np.shard_map(function(block)
            return np.psum(block, "i") + np.axis_index "i" + np.ppermute(block, "i", { { 0, 1 }, { 1, 2 } })
        end, { mesh = mesh, in_specs = P "i", out_specs = P "i" })(t.x)
    end },
    { "np.shard_map with a captured array", { "w", "x" }, function(t)
        return np.shard_map(function(a, b) return np.psum(a:matmul(b), "i") end,
                            { mesh = mesh, in_specs = { P "i", P "i" }, out_specs = P() })(t.x, t.w)
    end },
}

for _, row in ipairs(programs) do
    local name, names, f = unpack(row)
    local function run() return f(inputs) end
    local start = launches()
    local now = run():wait()
    local cost = launches() - start

    check.test(name .. ": nothing runs until it is asked for, and then what runs outside", function()
        start = launches()
        local y = np.deferred(run)
        check.equal({ launches(), y:is_deferred() }, { start, true })
        check.equal(tostring(y.sharding), tostring(now.sharding))
        check.equal({ launches() - start, y:wait():is_deferred() }, { 0, false })
        check.ok(launches() - start <= cost) -- less where what is equal on several devices is planned together
        check.equal(y:wait():totable(), now:totable())
        local again = launches()
        np.force(y)
        check.equal(launches(), again, "it is computed once")
    end)

    check.test(name .. ": np.wait_all and np.force compute it", function()
        for k, ask in ipairs { function() np.wait_all() end, np.force } do
            local y = np.deferred(run)
            start = launches()
            ask(y)
            check.ok(launches() > start)
            check.ok(k == 1 or not y:is_deferred()) -- a view may be left to its readers by np.wait_all
            check.equal(y:totable(), now:totable())
        end
    end)

    check.test(name .. ": its program can be exported, before it is computed and after", function()
        local y = np.deferred(run)
        local listed, arguments = {}, {}
        for k, input in ipairs(names) do listed[input], arguments[k] = inputs[input], inputs[input] end
        for _ = 1, 2 do
            local program = np.export { inputs = listed, outputs = { y = y } }
            check.equal(program(unpack(arguments)):totable(), now:totable())
            y:wait()
        end
    end)
end

check.test("what is asked for twice is computed once, also by what follows", function()
    local y, z = np.deferred(function()
        local y = np.exp(x)
        return y, y + 1
    end)
    local start = launches()
    z:wait()
    y:wait()
    check.equal(launches() - start, 4, "one kernel for each device stores both")
end)

check.test("data goes when it was used, and structure stays", function()
    np.memory.trim()
    local before = np.memory().live
    local given = np.device_put((np.arange(400000, { dtype = "f32" }) * 2):wait(), mesh, P "i"):wait()
    local listed = np.device_put(np.zeros(400000), mesh, P "i")
    local y = np.deferred(function() return (given + listed):sum() end)
    y:wait()
    given = nil -- luacheck: ignore 311
    np.memory.trim()
    check.ok(np.memory().live - before < 100000, np.memory().live - before)
    check.raises(function() np.export { inputs = { x = listed }, outputs = { y = y } } end,
                 "output 'y' needs an input that is not listed: an array of dtype f32 and shape %(400000,%)")
end)

check.test("a listed lazy constant that a loop in np.shard_map reads is an input", function()
    local around, divided = np.zeros { 1 }, np.zeros { 8 }
    local function f(block, own)
        return (np.scan(function(c) return c + around * own + np.psum(own, "i"), nil end, block, nil, { length = 2 }))
    end
    local function run(v, own)
        return np.shard_map(f, { mesh = mesh, in_specs = { P "i", P "i" }, out_specs = P "i" })(v, own)
    end
    local y = np.deferred(function() return run(plain, divided) end)
    local program = np.export { inputs = { around = around, divided = divided, plain = plain }, outputs = { y = y } }
    local own = np.arange(8) / 1
    local got = program { around = np.full({ 1 }, 3), divided = own, plain = plain }
    around = np.full({ 1 }, 3)
    check.equal(got:totable(), run(plain, own):totable())
end)

check.done()
