--- jit_test.lua: programs with values on a mesh: np.jit of shard_map and the other way round, what the cache tells
-- apart, captured arrays, donation, derivatives, printed form. Runs itself again with four devices.
local check = require "tests.lib.check"
local np = require "neap"
require "tests.lib.devices"(4, "tests/mesh/jit_test.lua")

local P = np.P
local mesh = np.mesh({ 4 }, { "i" })
local pair = np.mesh({ 2 }, { "i" }, { devices = { np.devices()[1], np.devices()[2] } })
local x = np.arange(8, { dtype = "f32" })

local function over(f, ins, out, on)
    return np.shard_map(f, { mesh = on or mesh, in_specs = ins, out_specs = out })
end

local function same(a, b) check.equal(a:totable(), b:totable()) end

local function sums(v) return np.psum(v * 2, "i") + v * np.axis_index("i") end

check.test("jit of shard_map, and shard_map of jit, give what shard_map gives", function()
    local f = over(sums, { P "i" }, P "i")
    same(np.jit(f)(x), f(x))
    same(over(np.jit(sums), { P "i" }, P "i")(x), f(x))
    same(np.jit(over(np.jit(sums), { P "i" }, P "i"))(x), f(x))
end)

check.test("a body is run once for each form of the arguments", function()
    local runs = 0
    local f = np.jit(over(function(v) runs = runs + 1 return np.psum(v, "i") end, { P "i" }, P()))
    for k = 1, 3 do same(f(x * k), x:reshape(4, 2):sum { axis = 0 } * k) end
    check.equal(runs, 1)
    f(np.device_put(x, mesh, P "i"))
    check.equal(runs, 2)
    check.equal(np.jit_cache(f).reason, "argument 1 was f32[8] and is f32[8]{i}")
    f(np.device_put(x * 2, mesh, P "i"))
    f(x)
    check.equal(runs, 2)
end)

check.test("the result of one program is the argument of the next one, with nothing moved", function()
    local f = np.jit(over(function(v) return v + 1 end, { P "i" }, P "i"))
    local y = f(f(f(x)))
    same(y, x + 3)
    check.equal(#np.jit_cache(f).entries, 2)
end)

check.test("captured arrays are read anew at each call, also those on a mesh", function()
    local w = np.device_put(x, mesh, P "i")
    local f = np.jit(function(v) return (v * w):sum() end)
    check.equal(f(x):item(), 140)
    w = np.device_put(x * 2, mesh, P "i")
    check.equal(f(x):item(), 280)
    w = np.device_put(x * 3, mesh, P())
    check.equal(f(x):item(), 420)
    check.equal(np.jit_cache(f).reason, "the variable 'w' was f32[8]{i} and is f32[8]{}")
end)

check.test("a function that names axes is recorded for the mesh in whose body it is called", function()
    local ones, runs = np.ones { 2 }, 0
    local f = np.jit(function(v) runs = runs + 1 return np.psum(v, "i") end)
    local four, two = over(function() return f(ones) end, {}, P()), over(function() return f(ones) end, {}, P(), pair)
    for _ = 1, 3 do
        same(four(), ones * 4)
        same(two(), ones * 2)
    end
    check.equal(runs, 3) -- once to find out that it names axes, then once for each mesh
    check.raises(function() f(ones) end, "unbound axis name 'i'")
    local place = np.jit(function() return np.axis_index("i"):reshape(1) end)
    check.equal(over(function() return place() end, {}, P "i")():totable(), { 0, 1, 2, 3 })
    check.equal(over(function() return place() end, {}, P "i", pair)():totable(), { 0, 1 })
end)

check.test("np.staged in a body", function()
    local function body(v)
        local y = np.staged(function() return np.psum(v * 2, "i") end)
        return y + v
    end
    same(over(body, { P "i" }, P "i")(x), over(function(v) return np.psum(v * 2, "i") + v end, { P "i" }, P "i")(x))
    same(over(body, { P "i" }, P "i", pair)(x),
         over(function(v) return np.psum(v * 2, "i") + v end, { P "i" }, P "i", pair)(x))
end)

check.test("donated arrays give their blocks", function()
    local step = np.jit(function(w, d) return w * 0.5 + d, d:sum() end, { donate = { 1 } })
    local w, d = np.device_put(x * 1, mesh, P "i"), np.device_put(np.ones { 8 }, mesh, P "i")
    np.force(w)
    for _ = 1, 3 do
        local old = w
        w = step(w, d)
        check.equal(old:is_deleted(), true)
        check.raises(function() return old + 1 end, "donated")
    end
    same(w, x / 8 + 1.75)
    local entry = np.jit_cache(step).entries[1]
    check.equal({ entry.donated, entry.used_up }, { 3, 3 })
    local view = w[{ { 0, 4 } }]
    local next_w = step(w, d)
    same(view, (x / 8 + 1.75)[{ { 0, 4 } }])
    same(next_w, x / 16 + 1.875)
end)

check.test("derivatives go through programs, in both nestings", function()
    local w = np.array(0.3)
    local function total(v, s) return np.psum(np.sin(v * s):sum(), "i") end
    local f, want = over(total, { P "i", P() }, P()), np.grad(function(s) return np.sin(x * s):sum() end)(w):item()
    local second = np.grad(np.grad(function(s) return np.sin(x * s):sum() end))(w):item()
    local function of(g) return function(s) return g(x, s) end end
    check.close(np.jit(np.grad(of(f)))(w):item(), want, 1e-4)
    check.close(np.grad(of(np.jit(f)))(w):item(), want, 1e-4)
    check.close(np.grad(of(over(np.jit(total), { P "i", P() }, P())))(w):item(), want, 1e-4)
    check.close(np.jit(np.grad(np.grad(of(f))))(w):item(), second, 1e-3)
    local _, tangent = np.jvp(np.jit(of(f)), { w }, { np.array(1.0) })
    check.close(tangent:item(), want, 1e-4)
end)

check.test("vjp, jacobians and hessians", function()
    local w, ones = np.array(0.3), np.ones { 2 }
    local function body(v, s) return np.psum(np.sin(v * s) * v, "i") end
    local function plain(v, s) return (np.sin(v * s) * v):reshape(4, 2):sum { axis = 0 } end
    local f = over(body, { P "i", P() }, P())
    local _, want = np.vjp(plain, x, w)
    local dv, ds = want(ones)
    for _, g in ipairs { f, np.jit(f) } do
        local _, back = np.vjp(g, x, w)
        for _, pull in ipairs { back, np.jit(back) } do
            local gv, gs = pull(ones)
            check.close(gv:totable(), dv:totable(), 1e-5)
            check.close(gs:item(), ds:item(), 1e-4)
        end
    end
    for _, name in ipairs { "jacfwd", "jacrev" } do
        check.close(np[name](function(v) return f(v, w) end)(x):totable(),
                    np[name](function(v) return plain(v, w) end)(x):totable(), 1e-5)
    end
    check.close(np.hessian(function(v) return f(v, w):sum() end)(x):totable(),
                np.hessian(function(v) return plain(v, w):sum() end)(x):totable(), 1e-5)
    local inside = over(function(v, s)
        local _, back = np.vjp(body, v, s)
        return (back(np.ones { 2 }))
    end, { P "i", P() }, P "i")
    check.close(inside(x, w):totable(), dv:totable(), 1e-5)
end)

check.test("arrays that are divided keep their layout through a program without shard_map", function()
    local f = np.jit(function(v) return np.tanh(v) + 1, v:sum() end)
    local y, s = f(np.device_put(x, mesh, P "i"))
    same(y, np.tanh(x) + 1)
    check.equal(s:item(), 28)
    same(over(function(v) return v end, { P "i" }, P "i")(y), y)
end)

check.test("in deferred mode", function()
    local f = over(sums, { P "i" }, P "i")
    same(np.deferred(function() return f(x) end), f(x))
    same(np.deferred(function() return np.jit(f)(x) end), f(x))
end)

check.test("the printed form shows how values lie, the explanation what is run for it", function()
    local program = np.trace(over(function(v) return np.psum(v, "i") + v end, { P "i" }, P "i"))(x)
    local text = tostring(program)
    for _, part in ipairs { "f32[8]{i} = reshard", "f32[2]{V:i} = enter", "f32[2]{} = psum", "f32[8]{i} = leave" } do
        check.equal(text:find(part, 1, true) ~= nil, true)
    end
    same(program(x), over(function(v) return np.psum(v, "i") + v end, { P "i" }, P "i")(x))
    check.equal(tostring(np.explain(program)):find("cpu:3", 1, true) ~= nil, true)
    check.equal(program:cost().flops > 0, true)
end)

check.test("a program of arrays on a mesh is saved, and loaded onto a mesh of the same axes", function()
    local path = os.tmpname()
    local f = function(v, w) return np.tanh(np.device_put(v, mesh, P()):matmul(w)), np.mean(v, { axis = 0 }) end
    local v, w = np.arange(24):astype("f32"):reshape(8, 3), np.ones { 3, 2 }
    local laid = np.device_put(v, mesh, P "i")
    local program = np.trace(f)(laid, w)
    program:save(path)
    local loaded = np.load_program(path)
    check.equal(tostring(loaded), tostring(program))
    for _, given in ipairs { laid, v } do
        local y, mean = loaded(given, w)
        local wanted_y, wanted_mean = f(given, w)
        same(y, wanted_y)
        same(mean, wanted_mean)
    end
    local again = os.tmpname()
    loaded:save(again)
    check.equal(io.open(path, "rb"):read "*a", io.open(again, "rb"):read "*a")
    local half = np.mesh({ 2 }, { "i" }, { devices = { np.devices()[1], np.devices()[2] } })
    local onto = np.load_program(path, { mesh = half })
    local y = onto(np.device_put(v, half, P "i"), w)
    check.equal(y.sharding.mesh, half)
    check.equal(y:totable(), (f(v, w)):totable())
    local other = np.mesh({ 2 }, { "k" }, { devices = half.devices })
    check.raises(function() return np.load_program(path, { mesh = other }) end,
                 "it needs a mesh with the axes {i=4}, got {k=2}")
    check.raises(function() return np.load_program(path, { mesh = 3 }) end, "mesh")
    os.remove(path)
    os.remove(again)
end)

check.test("exports record what lies on a mesh", function()
    local a = x * 1
    local y = np.deferred(function() return over(function(v) return v * 2 end, { P "i" }, P "i")(a) end)
    same(np.export { inputs = { a = a }, outputs = { y = y } }(a), y)
end)

check.test("a program runs on arrays that lie otherwise", function()
    local f = function(v, w) return np.mean(v:matmul(w), { axis = 0 }), v + 1 end
    local v, w = np.arange(24):astype("f32"):reshape(8, 3), np.ones { 3, 2 }
    local laid = np.device_put(v, mesh, P "i")
    local function runs(program, given)
        local mean, more = program(given, w)
        local wanted_mean, wanted = f(given, w)
        same(mean, wanted_mean)
        same(more, wanted)
        check.equal(more.sharding, wanted.sharding)
        check.equal((np.jit(program)(given, w)):totable(), wanted_mean:totable())
    end
    local few = v[{ { 0, 4 } }]
    for _, recorded in ipairs { v, laid } do
        local program, sized = np.trace(f)(recorded, w), np.trace(f, { sizes = { { "n", 3 } } })(recorded, w)
        for _, given in ipairs { v, laid } do runs(program, given) end
        for _, given in ipairs { v, laid, few, np.device_put(few, mesh, P "i") } do runs(sized, given) end
    end
end)

check.test("what fails in a jitted body names its line there", function()
    local f = np.jit(np.shard_map(function(b)
        local bad = np.debug.fail(b) -- this line
        return bad
    end, { mesh = np.mesh({ #np.devices() }, { "d" }), in_specs = np.P "d", out_specs = np.P "d" }))
    local line = debug.getinfo(1, "l").currentline - 3
    local _, message = pcall(function() return f(np.ones { #np.devices() }):totable() end)
    check.ok(tostring(message):find(("jit_test.lua:%d: debug_fail"):format(line), 1, true), message)
end)

check.done()
