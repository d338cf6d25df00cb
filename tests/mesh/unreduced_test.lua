--- unreduced_test.lua (under tsan with --long): sums over axes of a mesh that are not done: specs that say so, what
-- makes and ends such arrays, which ops take them, derivatives, and the errors. What JAX has too is in tests/golden.
require "tests.lib.devices" (8, "tests/mesh/unreduced_test.lua")
local np = require "neap"
local check = require "tests.lib.check"

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" }, { explicit = true })
np.set_mesh(mesh)

local whole = np.arange(16, { dtype = "f32" }):reshape(4, 4) / 8 - 1
local UNREDUCED, REDUCED = P { unreduced = "j" }, P { reduced = "j" }
local a = np.device_put(whole, P())
local x, y = np.device_put(whole, P(nil, "j")), np.device_put(whole, P "j")
local u, r = np.matmul(x, y, { out_sharding = UNREDUCED }), np.reshard(a, REDUCED)
local product = whole:matmul(whole)

local function done(v) return np.reshard(v, P()):totable() end
local function same(v, want, what) check.close(done(v), want:totable(), 1e-5, what) end
local function spec(v) return tostring(v.sharding.spec) end
local function body(f, ins, out) return np.shard_map(f, { in_specs = ins, out_specs = out }) end
local function loss(w, b) return np.tanh(b:matmul(w)):sum() end

check.test("specs say which sums are not done, and compare", function()
    check.equal(tostring(P("i", { unreduced = "j" })), 'P("i", {unreduced={"j"}})')
    check.equal(tostring(P { unreduced = { "k", "j" }, reduced = "i" }), 'P({unreduced={"j", "k"}, reduced={"i"}})')
    check.equal(P("i", { unreduced = "j" }) == P("i", { unreduced = { "j" } }), true)
    check.equal(P("i", { unreduced = "j" }) == P "i", false)
    check.equal(P { unreduced = "j" } == P { reduced = "j" }, false)
    check.equal(P(nil, { unreduced = "j" }).unreduced[1], "j")
    check.raises(function() P("j", { unreduced = "j" }) end, "is unreduced, and stands a second time, for array axis 0")
    check.raises(function() P { unreduced = "j", reduced = "j" } end, "second time, as unreduced")
    check.raises(function() P { unreduced = "j", undone = "j" } end,
                 "unknown option 'undone' %(options: reduced, unreduced%)")
    check.raises(function() P { unreduced = 3 } end, "unreduced")
    check.raises(function() np.reshard(a, P { unreduced = "k" }) end, "names 'k' as unreduced, but the mesh has axes")
end)

check.test("a sharding tells, and no one value is there", function()
    check.equal(spec(u), "P(nil, nil, {unreduced={\"j\"}})")
    check.equal(u.sharding.is_fully_replicated, false)
    check.equal(r.sharding.is_fully_replicated, true)
    local shards = u:addressable_shards()
    check.equal(#shards, 8)
    check.close((shards[1].data + shards[2].data):totable(), product:totable(), 1e-5)
    check.equal(shards[3].replica, 1)
    check.raises(function() return u:totable() end, "a sum over 'j' of the mesh that is not done")
    check.raises(function() return tostring(u) end, "np.reshard")
    check.raises(function() body(function(v) return v:sum():item() end, UNREDUCED, P())(u) end, "np.psum does the sum")
    check.close(np.device_put(u, "cpu:0"):totable(), product:totable(), 1e-5)
end)

check.test("np.dot and np.tensordot leave sums undone, and lay results out", function()
    local cube = np.device_put(whole:reshape(2, 2, 4), P(nil, nil, "j"))
    for what, made in pairs {
        dot = np.dot(x, y, { out_sharding = UNREDUCED }),
        ["axes and options"] = np.tensordot(x, y, 1, { out_sharding = UNREDUCED }),
        options = np.tensordot(x, y, { axes = { { 1 }, { 0 } }, out_sharding = UNREDUCED }),
        ["3 axes"] = np.dot(cube, y, { out_sharding = UNREDUCED }):reshape(4, 4),
    } do
        check.equal(spec(made), "P(nil, nil, {unreduced={\"j\"}})", what)
        same(made, product, what)
    end
    check.equal(spec(np.dot(x, y, { out_sharding = P "i" })), 'P("i", nil)')
    check.equal(spec(np.tensordot(x, y, 1, { out_sharding = P(nil, "j") })), 'P(nil, "j")')
    same(np.tensordot(x, y, 1, { out_sharding = P(nil, "j") }), product)
end)

check.test("resharding does sums, and makes terms", function()
    for _, to in ipairs { P(), P "j", P(nil, "j"), P("i", "j"), P("j", "i"), REDUCED } do
        check.close(np.reshard(u, to):totable(), product:totable(), 1e-5, tostring(to))
    end
    for _, from in ipairs { a, r, x, y, np.device_put(whole, P("i", "j")), np.device_put(whole, P("j", "i")) } do
        local made = np.reshard(from, UNREDUCED)
        check.equal(spec(made), "P(nil, nil, {unreduced={\"j\"}})")
        check.equal(done(made), whole:totable())
    end
    same(np.reshard(u, P { unreduced = { "i", "j" } }), product)
    local integers = np.device_put(np.arange(4), P "j")
    check.equal(done(np.reshard(integers, UNREDUCED)), { 0, 1, 2, 3 })
end)

check.test("what is linear, and products, take them", function()
    same(u + u, product * 2)
    same(u - np.reshard(a, UNREDUCED), product - whole)
    same(-u, -product)
    same(u * 3, product * 3)
    same(u / 4, product / 4)
    same(u * a, product * whole)
    same(a * u, product * whole)
    same(u / (a + 3), product / (whole + 3))
    same(u:matmul(a), product:matmul(whole))
    same(u.T[{ { 1, 3 } }], product.T[{ { 1, 3 } }])
    same(u:reshape(2, 8):sum { axis = 0 }, product:reshape(2, 8):sum { axis = 0 })
    same(np.where(a:gt(0), u, u * 2), np.where(whole:gt(0), product, product * 2))
    same(np.cumsum(u, { axis = 0 }), np.cumsum(product, { axis = 0 }))
    local rows = np.array({ 2, 0 }, { dtype = "i32" })
    same(np.take(u, rows, { axis = 0 }), product[rows])
    check.equal(spec(r * a), "P(nil, nil, {reduced={\"j\"}})")
end)

check.test("all else is refused, with what to do", function()
    local text = check.raises(function() return np.exp(u) end, "exp needs the value")
    check.ok(text:find('lies as P(nil, nil, {unreduced={"j"}})', 1, true), text)
    check.ok(text:find("np.reshard(x, np.P(nil, nil)) does the sum", 1, true), text)
    text = check.raises(function() return u + a end, "np.add: input 1")
    check.ok(text:find("beside input 2, which lies as P(nil, nil)", 1, true), text)
    for _, f in ipairs { function() return a + u end, function() return u + 1 end, function() return u * u end,
                         function() return u:matmul(u) end, function() return 1 / u end, function() return u:max() end,
                         function() return u * x end, function() return u:astype "i32" end,
                         function() return np.sort(u) end, function() return u:gt(0) end } do
        check.raises(f, "is not done")
    end
    check.raises(function() return np.matmul(a, a, { out_sharding = UNREDUCED }) end, "no sum is left to do over 'j'")
    check.raises(function() return np.matmul(a, a, { out_sharding = 3 }) end, "must be a spec")
    check.raises(function() return np.matmul(a, a, 3) end, "takes 2 arguments")
    check.raises(function() return np.dot(a, a, 3) end, "np.dot: takes 2 arguments")
    check.raises(function() return np.tensordot(a, a, 1, 3) end, "np.tensordot: takes 3 arguments")
    check.raises(function() return np.dot(a, a, { out_sharding = UNREDUCED }) end, "np.dot: .*no sum is left to do")
end)

check.test("gradients: reduced and unreduced are each other's", function()
    local want = np.grad(loss)(whole, whole)
    for _, grad in ipairs { np.grad(loss), np.jit(np.grad(loss)) } do
        local g = grad(r, y)
        check.equal(spec(g), "P(nil, nil, {unreduced={\"j\"}})")
        same(g, want)
    end
    local function square(v) return np.reshard(v * v, P()):sum() end
    same(np.grad(square)(r), whole * 2)
    check.equal(spec(np.grad(square)(r)), "P(nil, nil, {unreduced={\"j\"}})")
    local function of_unreduced(v) return np.reshard(v * a, P()):sum() end
    check.equal(spec(np.grad(of_unreduced)(u)), "P(nil, nil, {reduced={\"j\"}})")
    same(np.grad(of_unreduced)(u), whole)
    -- x and y as they are; the product is left undone in between, and meets a, which is the same everywhere
    local function f(v, w, c)
        return np.tanh(np.reshard(np.matmul(v, w, { out_sharding = UNREDUCED }) * c, P())):sum()
    end
    local function plain(v, w, c) return np.tanh(v:matmul(w) * c):sum() end
    local got = { np.grad(f, { argnums = { 1, 2, 3 } })(x, y, a) }
    local known = { np.grad(plain, { argnums = { 1, 2, 3 } })(whole, whole, whole) }
    for k = 1, #known do same(got[k], known[k], "argument " .. k) end
    same(np.grad(function(w) return np.reshard(np.grad(loss)(w, y) * r, P()):sum() end)(r),
         np.grad(function(w) return (np.grad(loss)(w, whole) * whole):sum() end)(whole))
    local _, tangent = np.jvp(function(v) return np.reshard(np.matmul(v, y, { out_sharding = UNREDUCED }), P()) end,
                              { x }, { x })
    same(tangent, product)
end)

check.test("a bias that is reduced meets rows that are divided", function()
    local bias = np.arange(4, { dtype = "f32" })
    local function f(b, v) return np.tanh(v + b):sum() end
    local g = np.grad(f)(np.device_put(bias, REDUCED), y)
    check.equal(spec(g), "P(nil, {unreduced={\"j\"}})")
    same(g, np.grad(f)(bias, whole))
    local scaled = np.grad(function(w, v) return np.tanh(w * v):sum() end)
    same(scaled(r, y), scaled(whole, whole))
end)

check.test("loops add up on each device, and once between them", function()
    local batches = np.arange(48, { dtype = "f32" }):reshape(3, 4, 4) / 48
    local function total(w, list)
        local zero = np.reshard(np.device_put(np.zeros { 4, 4 }, P()), UNREDUCED)
        return (np.scan(function(sum, b) return sum + np.grad(loss)(w, b), 0 end, zero, list))
    end
    local want = np.grad(loss)(whole, batches[0]) + np.grad(loss)(whole, batches[1]) + np.grad(loss)(whole, batches[2])
    for _, f in ipairs { total, np.jit(total) } do
        local sum = f(r, np.device_put(batches, P(nil, "j")))
        check.equal(spec(sum), "P(nil, nil, {unreduced={\"j\"}})")
        same(sum, want)
    end
end)

check.test("np.jit: in_shardings, out_shardings, np.explain", function()
    local f = np.jit(function(v) return v * 2 end, { in_shardings = P(nil, nil, { unreduced = "j" }) })
    same(f(u), product * 2)
    check.raises(function() f(a) end, "in_shardings wants")
    local g = np.jit(function(v) return v * 2 end, { out_shardings = P(nil, nil, { unreduced = "j" }) })
    check.equal(spec(g(a)), "P(nil, nil, {unreduced={\"j\"}})")
    same(g(a), whole * 2)
    local text = tostring(np.explain(np.reshard(u, P())))
    check.ok(text:find("added up over 'j': 512 B moved", 1, true), text) -- 4 pairs, each 2 blocks of 64 B
end)

check.test("programs in files, batches, controls and callbacks", function()
    local path = os.tmpname()
    np.trace(np.grad(loss))(r, y):save(path)
    same(np.load_program(path, { mesh = mesh })(r, y), np.grad(loss)(whole, whole))
    os.remove(path)
    local batch = np.vmap(function(v) return np.grad(loss)(r, v) end)(np.device_put(np.stack { whole, whole * 2 },
                                                                                   P(nil, "j")))
    check.equal(spec(batch), 'P(nil, nil, nil, {unreduced={"j"}})')
    same(batch, np.stack { np.grad(loss)(whole, whole), np.grad(loss)(whole, whole * 2) })
    same(np.cond(np.array(true), function(v) return v * 2 end, function(v) return v end, u), product * 2)
    same(np.grad(np.checkpoint(loss))(r, y), np.grad(loss)(whole, whole))
    local function same_callback(v) return np.pure_callback(function(t) return t end, { shape = { 4, 4 } })(v) end
    check.raises(function() np.jit(same_callback)(u) end, "is not done")
    check.raises(function() np.jit(function(v) print(v) end)(u) end, "is not done")
    check.raises(function()
        np.make_array_from_callback({ 4, 4 }, np.NamedSharding(mesh, UNREDUCED), function() return np.ones { 4, 4 } end)
    end, "np.reshard makes one")
end)

check.test("bodies: specs, np.pcast, collectives", function()
    local out = body(function(v, w)
        local part = np.pcast(v:matmul(w), "j", { to = "unreduced" })
        check.equal(part.sharding.spec.unreduced[1], "j")
        return part + part
    end, { P(nil, "j"), P "j" }, UNREDUCED)(x, y)
    same(out, product * 2)
    same(body(function(v, w) return v:matmul(w) end, { P(nil, "j"), P "j" }, UNREDUCED)(x, y), product)
    same(body(function(v) return np.psum(v, "j") end, UNREDUCED, P())(u), product)
    same(body(function(v) return np.psum_scatter(v, "j", { tiled = true }) end, UNREDUCED, P "j")(u), product)
    same(body(function(v) return np.pcast(v, "j", { to = "varying" }) end, REDUCED, P "j")(r),
         np.concatenate { whole, whole })
    check.raises(function() body(np.exp, UNREDUCED, UNREDUCED)(u) end, "np.psum does the sum")
    check.raises(function() body(function(v) return v end, UNREDUCED, P())(u) end, "does not say so")
    check.raises(function() body(function(v) return v end, P(), UNREDUCED)(a) end, "says that it is unreduced")
    check.raises(function() body(function(v) return np.pcast(v, "j", { to = "unreduced" }) end, P(), P())(a) end,
                 "cannot become unreduced")
    check.raises(function() body(function(v) return np.pcast(v, "j", { to = "done" }) end, P(), P())(a) end, "'to'")
    check.raises(function()
        np.shard_map(function(v) return v end, { in_specs = UNREDUCED, out_specs = UNREDUCED, check_rep = false })(u)
    end, "check_rep is false")
end)

check.done()
