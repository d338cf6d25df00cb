--- derivatives_test.lua (under tsan with --long): pullbacks and linearized functions take (co)tangents wherever those
-- lie, as np.jvp does. Runs itself again with two devices.
local check = require "tests.lib.check"
local np = require "neap"
require "tests.lib.devices"(2, "tests/mesh/derivatives_test.lua")

local P = np.P
local mesh = np.mesh({ 2 }, { "i" })
local x, v = np.array { 0.5, -1, 2, 3 }, np.array { 1, -2, 0.5, 4 }

local function f(a) return np.sin(a) * a end

--- Places of a (co)tangent: what lies there, by name.
local places = {
    replicated = np.device_put(v, mesh, P()),
    divided = np.device_put(v, mesh, P "i"),
    ["on the second device"] = np.device_put(v, "cpu:1"),
}

local function same(a, b, what) check.equal(a:totable(), b:totable(), what) end

check.test("of an array that lies on no mesh", function()
    local want = select(2, np.jvp(f, { x }, { v }))
    local _, pull = np.vjp(f, x)
    local _, push = np.linearize(f, x)
    for place, given in pairs(places) do
        for _, map in ipairs { pull, push, np.jit(pull), np.jit(push) } do
            same(map(given), want, place)
            check.equal(tostring(map(given).sharding), tostring(select(2, np.jvp(f, { x }, { given })).sharding), place)
        end
        same(np.grad(function(ct) return (pull(ct) * x):sum() end)(given), pull(x), place)
        same(np.vmap(pull)(np.stack { given, given }), np.stack { want, want }, place)
    end
    same(pull(v), want, "an ordinary one, afterwards")
end)

check.test("of several results, of which some lie on the mesh", function()
    local function both(a, b) return np.sin(a), b * b end
    local on = np.device_put(x, mesh, P "i")
    local _, _, pull = np.vjp(both, x, on)
    for place, given in pairs(places) do
        if place ~= "on the second device" then
            local by_a, by_b = pull(given, given)
            same(by_a, np.cos(x) * v, place)
            same(by_b, x * v * 2, place)
            check.equal(tostring(by_b.sharding), tostring(on.sharding), place)
        end
    end
end)

check.test("of a function whose result does not depend on what lies on the mesh", function()
    local on = np.device_put(x, mesh, P "i")
    local _, pull = np.vjp(function() return np.zeros(4) end, on)
    for place, given in pairs(places) do
        same(pull(given), np.zeros(4), place)
        same(np.jit(pull)(given), np.zeros(4), place)
    end
end)

check.test("of checkpoints that keep values: divided arrays, bodies, arrays around them", function()
    local on, w = np.device_put(x, mesh, P "i"), np.device_put(v, mesh, P "i")
    local function g(a) return (np.checkpoint_name(np.sin(a), "s") * a):sum() end
    local function around(a) return (np.checkpoint_name(a * w, "s") * a):sum() end
    local function body(h) return np.shard_map(h, { mesh = mesh, in_specs = P "i", out_specs = P "i" }) end
    local function summed(h)
        return np.shard_map(function(a) return np.psum(h(a), "i") end,
                            { mesh = mesh, in_specs = P "i", out_specs = P() })
    end
    for _, policy in ipairs { { save = "s" }, { most = 100 } } do
        local function kept(h) return np.checkpoint(h, policy) end
        for _, wrap in ipairs { function(h) return h end, np.jit } do
            same(wrap(np.grad(kept(g)))(on), np.grad(g)(x), "divided")
            same(wrap(np.grad(kept(around)))(on), np.grad(around)(x), "divided, with one around it")
            same(wrap(body(np.grad(kept(g))))(x), np.grad(g)(x), "in a body")
            same(wrap(np.grad(summed(kept(g))))(x), np.grad(g)(x), "in a body, from around it")
            same(wrap(np.grad(kept(summed(g))))(x), np.grad(g)(x), "around a body, where names mean nothing")
        end
    end
    local function both(a) return np.psum(np.sin(a), "i"):sum() * np.checkpoint_name(a:sum(), "s") end
    same(body(np.grad(np.checkpoint(both, { save = "s" })))(x), body(np.grad(both))(x), "with a collective inside")
end)

check.test("errors name the cotangent or tangent", function()
    local at = np.device_put(x, "cpu:0")
    local _, pull = np.vjp(f, at)
    local _, push = np.linearize(f, at)
    local there = places["on the second device"]
    check.raises(function() pull(there) end, "cotangent 1: expected an array on cpu:0, got one on cpu:1")
    check.raises(function() push(there) end, "tangent 1: expected an array on cpu:0, got one on cpu:1")
    check.raises(function() np.jvp(f, { at }, { there }) end, "tangent 1: expected an array on cpu:0")
    check.raises(function() np.linear_transpose(np.cumsum, { shape = { 4 } })(np.ones(3)) end,
                 "np.linear_transpose: cotangent 1: expected dtype f32 and shape %(4,%)")
    check.raises(function() pull(np.device_put(np.ones(3), mesh, P())) end, "cotangent 1: expected dtype f32 and shape")
    same(pull(places.divided), select(2, np.jvp(f, { at }, { places.divided })))
end)

check.done()
