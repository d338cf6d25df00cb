--- vmap_test.lua (under tsan with --long): np.vmap of shard_map and inside of its body, against a loop over the
-- examples; named axes of both kinds together. Runs itself again with four devices.
local check = require "tests.lib.check"
local np = require "neap"
require "tests.lib.devices"(4, "tests/mesh/vmap_test.lua")

local P = np.P
local mesh = np.mesh({ 2, 2 }, { "i", "j" })
local x = np.arange(24, { dtype = "f32" }):reshape(3, 8)

local function over(f, ins, out)
    return np.shard_map(f, { mesh = mesh, in_specs = ins, out_specs = out })
end

local function same(a, b) check.equal(a:totable(), b:totable()) end

local function loop(f, xs)
    local rows = {}
    for k = 0, xs.shape[1] - 1 do rows[k + 1] = f(xs[k]) end
    return np.stack(rows)
end

check.test("vmap of shard_map, with jit on any side of it", function()
    local f = over(function(v) return np.psum(v * v, "i") + np.axis_index "j" end, { P { "i", "j" } }, P "j")
    for _, g in ipairs { np.vmap(f), np.jit(np.vmap(f)), np.vmap(np.jit(f)) } do same(g(x), loop(f, x)) end
    same(np.vmap(f, { in_axes = 1, out_axes = 1 })(x:transpose()), loop(f, x):transpose())
end)

check.test("the axis of examples may itself be divided among devices", function()
    local xs = np.arange(32, { dtype = "f32" }):reshape(4, 8)
    local f = over(function(v) return np.psum(v * v, "i") end, { P "i" }, P())
    same(np.vmap(f)(np.device_put(xs, mesh, P("j", "i"))), loop(f, xs))
    same(np.vmap(function(v) return np.tanh(v):sum() end)(np.device_put(xs, mesh, P({ "i", "j" }, nil))),
         np.tanh(xs):sum { axis = 1 })
end)

check.test("examples stay divided over axes of the mesh that a body does not have", function()
    local explicit = np.mesh({ 2, 2 }, { "i", "j" }, { explicit = true })
    local xs = np.arange(32, { dtype = "f32" }):reshape(4, 8)
    local f = np.shard_map(function(v) return np.tanh(np.psum(v * v, "i")) end,
                           { mesh = explicit, in_specs = P "i", out_specs = P(), axis_names = { "i" } })
    local whole = np.shard_map(function(v) return np.tanh(np.psum(v * v, "i")) end,
                               { mesh = mesh, in_specs = P "i", out_specs = P() })
    local placed = np.device_put(xs, explicit, P("j", "i"))
    for _, g in ipairs { np.vmap(f), np.jit(np.vmap(f)), np.vmap(np.jit(f)) } do
        same(g(placed), loop(whole, xs))
        check.equal(tostring(g(placed).sharding.spec), 'P("j", nil)')
    end
    local function total(g) return function(v) return (g(v) * g(v)):sum() end end
    local gradient = np.grad(total(np.vmap(f)))(placed)
    same(gradient, np.grad(total(function(v) return loop(whole, v) end))(xs))
    check.equal(tostring(gradient.sharding.spec), 'P("j", "i")')
    check.raises(function() np.vmap(f)(np.device_put(xs, explicit, P("i", "j"))) end, "explicit in this mesh")
end)

check.test("vmap inside a body", function()
    local function g(v) return (v * v):sum() + np.psum(v, "i"):sum() end
    local f = over(function(v) return np.psum(np.vmap(g)(v), { "i", "j" }) end, { P(nil, { "i", "j" }) }, P(nil))
    local want = (x * x):sum { axis = 1 } + x:sum { axis = 1 } * 2
    same(f(x), want)
    same(np.jit(f)(x), want)
end)

check.test("names of vmap and of the mesh in one function", function()
    local f = over(function(v)
        return np.vmap(function(w) return np.psum(w, "b") + np.psum(w, "i") end, { axis_name = "b" })(v)
    end, { P(nil, "i") }, P(nil, "i"))
    local parts = x:reshape(3, 2, 4)
    local want = (parts:sum { axis = 0, keepdims = true } + parts:sum { axis = 1, keepdims = true }):reshape(3, 8)
    same(f(x), want)
    same(np.jit(f)(x), want)
end)

check.test("every collective, and its gradient", function()
    local collectives = {
        all_gather = function(v) return np.all_gather(v, "i", { tiled = true }):sum { keepdims = true } end,
        psum_scatter = function(v) return np.psum_scatter(v, "i", { tiled = true }) end,
        all_to_all = function(v) return np.all_to_all(v:reshape(2, 2), "i", 0, 0, { tiled = true }):reshape(4) end,
        ppermute = function(v) return np.ppermute(v, "i", { { 0, 1 } }) * v end,
        psum = function(v) return np.psum(v * v, "i") * v end,
    }
    for _, g in pairs(collectives) do
        local f = over(g, { P "i" }, P "i")
        same(np.vmap(f)(x), loop(f, x))
        same(np.grad(function(v) return (np.vmap(f)(v) * v:sum()):sum() end)(x),
             np.grad(function(v) return (loop(f, v) * v:sum()):sum() end)(x))
    end
    for _, name in ipairs { "pmax", "pmin" } do
        local f = over(function(v) return np[name](v * (-1) ^ np.axis_index "i", "i") end, { P "i" }, P())
        same(np.vmap(f)(x), loop(f, x))
    end
end)

check.test("vmap of a gradient, and the gradient of vmap", function()
    local f = over(function(v) return np.psum((v * v):sum(), "i") end, { P "i" }, P())
    same(np.vmap(np.grad(f))(x), 2 * x)
    same(np.grad(function(v) return np.vmap(f)(v):sum() end)(x), 2 * x)
end)

check.test("loops", function()
    local sums = over(function(v)
        return (np.scan(function(c, e) return c + np.psum(e, "i"), c end, np.zeros {}, v))
    end, { P "i" }, P())
    same(np.vmap(sums)(x), loop(sums, x))
    local grow = over(function(v)
        return np.while_loop(function(c) return c:sum():lt(100) end, function(c) return c * 2 + 1 end, v)
    end, { P "i" }, P "i")
    same(np.vmap(grow)(x), loop(grow, x))
end)

check.done()
