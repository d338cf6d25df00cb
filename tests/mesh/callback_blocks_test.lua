--- callback_blocks_test.lua: callbacks and table loggers of arrays that differ between devices, in the body of a
-- np.shard_map: a call for each device, in the order of prints; results that differ; loops, branches, batches.
require "tests.lib.devices" (8, "tests/mesh/callback_blocks_test.lua")
local np = require "neap"
local callees = require "tests.lib.callees"
local check = require "tests.lib.check"

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local x = np.arange(128, { dtype = "f32" }):reshape(8, 16) -- blocks (2, 8)
local ways = { eager = function(f) return f end, jitted = np.jit }

local function map(body, more)
    local options = { mesh = mesh, in_specs = P("i", "j"), out_specs = P("i", "j") }
    for key, value in pairs(more or {}) do options[key] = value end
    return np.shard_map(body, options)
end

--- What `line(i, j)` gives for each device, row-major.
local function by_device(line)
    local all = {}
    for i = 0, 3 do
        for j = 0, 1 do all[#all + 1] = line(i, j) end
    end
    return all
end

--- The first element of a block.
local function corner(i, j) return 32 * i + 8 * j end

--- A test of eager and of jitted bodies: f(wrap) gets the way. A program runs twice, and has to do the same again.
local function test(name, f)
    for way, wrap in pairs(ways) do check.test(name .. ", " .. way, function() f(wrap) end) end
end

test("a call for each device, with its block, in the order of prints", function(wrap)
    local seen = {}
    local f = wrap(map(function(a)
        np.callback(function(i, j, b, text)
            seen[#seen + 1] = ("%d %d %g %s %s"):format(i:item(), j:item(), b[{ 0, 0 }]:item(), text,
                                                        tostring(b.sharding))
        end)(np.axis_index "i", np.axis_index "j", a, "text")
        return a
    end))
    for _ = 1, 2 do
        seen = {}
        f(x):wait()
        np.effects_barrier()
        check.equal(seen, by_device(function(i, j) return ("%d %d %g text nil"):format(i, j, corner(i, j)) end))
    end
end)

test("calls with results are in that order, wherever recorded work starts by itself", function(wrap)
    local calls = {}
    local f = wrap(map(function(a)
        for round = 1, 2 do
            a = np.ppermute(a * 2 + 1, "j", { { 0, 1 }, { 1, 0 } })
            a = a * 0.5 + np.callback(function(at, b)
                calls[#calls + 1] = ("%d %d %d"):format(round, at.i, at.j)
                return b
            end, { coordinates = true, result = { shape = { 2, 8 } } })(a)
        end
        return a
    end))
    local rounds = {}
    for round = 1, 2 do
        for _, line in ipairs(by_device(function(i, j) return ("%d %d %d"):format(round, i, j) end)) do
            rounds[#rounds + 1] = line
        end
    end
    for most = 1, 160 do
        calls = {}
        np.debug.limits { nodes = most, bytes = 2 ^ 26 }
        f(x):wait()
        np.effects_barrier()
        np.debug.limits { nodes = 1024, bytes = 2 ^ 26 }
        check.equal({ most, calls }, { most, rounds })
    end
end)

test("coordinates come as a table", function(wrap)
    local seen = {}
    local function see(at, b)
        seen[#seen + 1] = ("%d %d %s"):format(at.i, at.j, b == nil and "" or b:item())
    end
    local see_at = np.callback(see, { coordinates = true })
    wrap(map(function(a)
        see_at(a[{ 0, 0 }]) -- differs
        see_at(np.psum(a:sum(), { "i", "j" })) -- does not
        see_at()
        return a
    end))(x):wait()
    np.effects_barrier()
    local expected = by_device(function(i, j) return ("%d %d %d"):format(i, j, corner(i, j)) end)
    for _, what in ipairs { "8128", "" } do
        for _, line in ipairs(by_device(function(i, j) return ("%d %d %s"):format(i, j, what) end)) do
            expected[#expected + 1] = line
        end
    end
    check.equal(seen, expected)
    local outside
    np.callback(function(at, v) outside = { at, v } end, { coordinates = true })(7)
    np.effects_barrier()
    check.equal(outside, { {}, 7 })
end)

test("ordered with prints and other effects, program point first", function(wrap)
    local log = {}
    local logger = np.effects.logger(log)
    wrap(map(function(a)
        np.callback(function(b) log[#log + 1] = "first " .. b[{ 0, 0 }]:item() end)(a)
        logger("between %d", 7)
        np.callback(function(b) log[#log + 1] = "second " .. b[{ 0, 0 }]:item() end)(a + 1)
        np.callback(function(b) log[#log + 1] = "once " .. b:item() end)(np.psum(a[{ 0, 0 }], { "i", "j" }))
        return a
    end))(x):wait()
    np.effects_barrier()
    local expected = by_device(function(i, j) return "first " .. corner(i, j) end)
    expected[#expected + 1] = "between 7"
    for _, line in ipairs(by_device(function(i, j) return "second " .. corner(i, j) + 1 end)) do
        expected[#expected + 1] = line
    end
    expected[#expected + 1] = "once 416"
    check.equal(log, expected)
end)

test("unordered calls happen for each device too", function(wrap)
    local seen = {}
    wrap(map(function(a)
        np.callback(function(b) seen[#seen + 1] = b[{ 0, 0 }]:item() end, { ordered = false })(a)
        return a
    end))(x):wait()
    np.effects_barrier()
    table.sort(seen)
    check.equal(seen, by_device(corner))
end)

test("a table logger appends a line for each device, with its coordinates", function(wrap)
    local lines = {}
    local log = np.effects.logger(lines)
    wrap(map(function(a)
        log("corner %d of %d", a[{ 0, 0 }], np.psum(a:sum(), { "i", "j" }))
        log("sum %d", np.psum(a:sum(), { "i", "j" }))
        return a
    end))(x):wait()
    log:close()
    local expected = by_device(function(i, j) return ("[i=%d, j=%d] corner %d of 8128"):format(i, j, corner(i, j)) end)
    expected[#expected + 1] = "sum 8128"
    check.equal(lines, expected)
end)

test("in a body in a body, lines and prints have the same coordinates", function(wrap)
    local lines = {}
    local log = np.effects.logger(lines)
    wrap(map(function(a)
        local corners = a[{ 0, 0 }]
        return np.shard_map(function(b)
            log("outer %d", corners)
            log("inner %d", b[{ 0, 0 }])
            return b
        end, { mesh = mesh, in_specs = P(nil, "j"), out_specs = P(nil, "j"), axis_names = { "j" } })(a)
    end, { axis_names = { "i" }, in_specs = P "i", out_specs = P "i" }))(x):wait()
    log:close()
    local expected = {}
    for i = 0, 3 do expected[#expected + 1] = ("[i=%d] outer %d"):format(i, corner(i, 0)) end
    for _, line in ipairs(by_device(function(i, j) return ("[i=%d, j=%d] inner %d"):format(i, j, corner(i, j)) end)) do
        expected[#expected + 1] = line
    end
    check.equal(lines, expected)
end)

test("results are the blocks of arrays that differ", function(wrap)
    local split = np.callback(function(b, n)
        return { halves = { b / 2, n }, first = b[{ 0, 0 }] }
    end, { result = { halves = { { shape = { 2, 8 } }, { shape = {}, dtype = "i32" } }, first = { shape = {} } } })
    local halves, sum, of_n = wrap(map(function(a)
        local r = split(a, 3)
        return r.halves[1], np.psum(r.first, { "i", "j" }), np.pmax(r.halves[2], { "i", "j" })
    end, { out_specs = { P("i", "j"), P(), P() } }))(x)
    check.equal(halves:totable(), (x / 2):totable())
    check.equal({ sum:item(), of_n:item() }, { 416, 3 })
    check.equal(tostring(halves.sharding), 'NamedSharding(mesh {i=4, j=2}, P("i", "j"))')
    -- What is called for each device may differ over all axes.
    check.raises(function()
        local one = np.callback(function() return 1 end, { result = { shape = {} } })
        wrap(map(function(a) return one(np.psum(a, "j")) end, { out_specs = P() }))(x)
    end, "may differ over mesh axes 'i', 'j'")
end)

test("loops and branches", function(wrap)
    local double = np.callback(function(b) return b * 2 end, { result = { shape = { 2, 8 } } })
    local function twice(a)
        return (np.scan(function(c) return double(c), c:sum() end, a, nil, { length = 2 }))
    end
    check.equal(wrap(map(twice))(x):totable(), (x * 4):totable())
    -- A carry that differs only since a callback was called for each device.
    local function promoted(a)
        local add = np.callback(function(b, d) return b:item() + d[{ 0, 0 }]:item() end, { result = { shape = {} } })
        local c = np.scan(function(c) return add(c, a) end, np.array(0, { dtype = "f32" }), nil, { length = 3 })
        return c:reshape(1, 1)
    end
    check.equal(np.reshape(wrap(map(promoted))(x), -1):totable(), by_device(function(i, j) return 3 * corner(i, j) end))
    local function branch(a)
        return np.cond(np.psum(a:sum(), { "i", "j" }):gt(0), double, function(b) return b end, a)
    end
    check.equal(wrap(map(branch))(x):totable(), (x * 2):totable())
    check.raises(function() -- of each device its own
        wrap(map(function(a)
            return np.cond(a[{ 0, 0 }]:gt(50), double, function(b) return b end, a)
        end))(x)
    end, "the functions have effects, whose order is one for all devices")
end)

test("batches around and inside", function(wrap)
    local seen = {}
    local function see(shape)
        return np.callback(function(b)
            seen[#seen + 1] = b:reshape(-1)[0]:item()
            return b + 1
        end, { result = { shape = shape }, ordered = false })
    end
    local around = wrap(np.vmap(map(see { 2, 8 })))(np.stack { x, x + 1000 })
    check.equal(around:totable(), (np.stack { x, x + 1000 } + 1):totable())
    check.equal(#seen, 16)
    check.equal(wrap(map(np.vmap(see { 8 })))(x):totable(), (x + 1):totable())
    check.equal(#seen, 32)
end)

test("gradients: a callback without results is there once, results are constants", function(wrap)
    local calls = 0
    local double = np.callback(function(b) return b * 2 end, { result = { shape = { 2, 8 } } })
    local function loss(y)
        return map(function(a)
            np.callback(function() calls = calls + 1 end)(a)
            return a * a + double(np.stop_gradient(a))
        end)(y):sum()
    end
    check.equal(wrap(np.grad(loss))(x):totable(), (x * 2):totable())
    np.effects_barrier()
    check.equal(calls, 8)
    check.raises(function()
        wrap(np.grad(function(y) return map(double)(y):sum() end))(x)
    end, "cannot be differentiated")
end)

test("over some axes of the mesh, a block is whole along the others", function(wrap)
    local seen = {}
    wrap(map(function(a)
        np.callback(function(at, b)
            seen[#seen + 1] = ("%d %s (%d, %d) %g"):format(at.i, tostring(at.j), b.shape[1], b.shape[2],
                                                           b[{ 1, 15 }]:item())
        end, { coordinates = true })(a)
        return a
    end, { axis_names = { "i" }, in_specs = P "i", out_specs = P "i" }))(np.device_put(x, mesh, P("i", "j"))):wait()
    np.effects_barrier()
    check.equal(seen, { "0 nil (2, 16) 31", "1 nil (2, 16) 63", "2 nil (2, 16) 95", "3 nil (2, 16) 127" })
end)

test("the failure of one device's call is that device's", function(wrap)
    local picky = np.callback(function(b)
        if b[{ 0, 0 }]:item() == 40 then error "not 40" end
        return b
    end, { result = { shape = { 2, 8 } } })
    local y = wrap(map(picky))(x)
    check.raises(function() y:wait() end, "not 40")
    local shards = y:addressable_shards()
    check.equal(shards[1].data:totable(), x[{ { 0, 2 }, { 0, 8 } }]:totable())
    check.raises(function() shards[4].data:totable() end, "not 40")
end)

test("arrays of several calls may be combined", function(wrap)
    local sum = 0
    wrap(map(function(a)
        np.callback(function(b) sum = sum + b end)(a)
        return a
    end))(x):wait()
    np.effects_barrier()
    check.equal(sum:sum():item(), x:sum():item())
end)

check.test("nothing is kept of functions that were called for each device", function()
    local before = callees(0)
    for _ = 1, 3 do
        map(function(a)
            np.callback(function() end)(a)
            return np.callback(function(b) return b end, { result = { shape = { 2, 8 } } })(a)
        end)(x):wait()
    end
    check.equal(callees(before), before)
end)

check.done()
