--- auto_test.lua: ops on sharded arrays outside of np.shard_map: where results lie, which collectives the rules insert,
-- and that np.explain tells them; moving from any layout to any other; gradients; random programs against whole arrays.
-- Values are whole numbers, so that sums are exact in any order. Runs itself again with eight devices.
local check = require "tests.lib.check"
local core = require "neap.core"
local shardings = require "neap.mesh.sharding"
local np = require "neap"

require "tests.lib.devices" (8, "tests/mesh/auto_test.lua")

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" })

local function numbers(...)
    local dims, size = { ... }, 1
    for _, n in ipairs(dims) do size = size * n end
    return (np.arange(size, { dtype = "f32" }) * 7 % 11 - 5):reshape(dims)
end

local function put(x, ...)
    return np.device_put(x, mesh, P(...))
end

--- "P("i", nil)" of a sharded array; "ordinary" of others.
local function spec(x)
    local sharding = shardings.of_array(x)
    return sharding and tostring(sharding.spec) or "ordinary"
end

local function same(actual, expected, what)
    check.equal(core.shape_of(actual), core.shape_of(expected), what)
    check.equal(actual:totable(), expected:totable(), what)
end

--- What np.explain says of where data was moved or combined: a list of "op: note".
local function notes(x)
    local list = {}
    for line in tostring(np.explain(x)):gmatch "[^\n]+" do
        local op, note = line:match "^  (%w+)%s%s+(.-)%s%s+auto_test.lua:%d+$"
        if not op then op, note = line:match "^  (%w+)%s%s+(.*)$" end
        if op and (note:find "gathered" or note:find "dealt out" or note:find "combined") then
            list[#list + 1] = op .. ": " .. note:gsub(": [%d.]+ %a?B moved", "") -- contract_test.lua has the bytes
        end
    end
    return list
end

-- ---- Rules ----------------------------------------------------------------------------------------------------------

local x, v, t = numbers(8, 6), numbers(8), numbers(8, 3, 4)
local sx, sv, st = put(x, "i", "j"), put(v, "i"), put(t, "i", nil, "j")
local w = numbers(6, 4)

-- Of { f, arguments, how the result lies, what is told }: f on sharded arguments and on whole ones.
local function rule(name, f, whole, sharded, expected, told)
    check.test(name, function()
        local result = f(unpack(sharded))
        check.equal(spec(result), expected)
        check.equal(notes(result), told or {})
        same(result, f(unpack(whole)))
    end)
end

rule("maps stay where their inputs are", function(a) return np.where(a:gt(0), np.tanh(a) * 2 + 1, a) end,
     { x }, { sx }, 'P("i", "j")')
rule("maps of arrays of other ranks", function(a, b) return a + b:reshape(8, 1) end, { x, v }, { sx, sv },
     'P("i", "j")')
rule("maps move the smaller input", function(a, b) return a + b end, { x, numbers(6) },
     { put(x, "i"), put(numbers(6), "j") }, 'P("i", "j")')
rule("maps of conflicting layouts", function(a, b) return a + b end, { x, x }, { put(x, "i"), put(x, "j") },
     'P("i", nil)', { 'add: input 2 from P("j", nil) to P("i", nil), gathered over \'j\'' })
rule("casts", function(a) return a:astype "i32" end, { x }, { sx }, 'P("i", "j")')

rule("a sum over a divided axis", function(a) return a:sum { axis = 0 } end, { x }, { sx }, 'P("j")',
     { "sum: parts combined by add over 'i'" })
rule("a sum over all", function(a) return a:sum() end, { x }, { sx }, "P()",
     { "sum: parts combined by add over 'i', 'j'" })
rule("a sum over an axis that is whole", function(a) return a:sum { axis = 1 } end, { t }, { st }, 'P("i", "j")')
rule("the greatest", function(a) return a:max { axis = 1, keepdims = true } end, { x }, { sx }, 'P("i", nil)',
     { "max: parts combined by maximum over 'j'" })
rule("any", function(a) return np.any(a:gt(4), { axis = 0 }) end, { x }, { sx }, 'P("j")',
     { "any: parts combined by maximum over 'i'" })
rule("a product needs its axis whole", function(a) return np.prod(a, { axis = 1 }) end, { x }, { sx }, 'P("i")',
     { 'prod: input 1 from P("i", "j") to P("i", nil), gathered over \'j\'' })
rule("argmax too", function(a) return np.argmax(a, { axis = 1 }) end, { x }, { put(x, "i") }, 'P("i")')
rule("means and variances", function(a) return np.var(a, { axis = 1 }) end, { t }, { st }, 'P("i", "j")')

rule("matmul over rows and columns", function(a, b) return a:matmul(b) end, { x, w }, { put(x, "i"), put(w, nil, "j") },
     'P("i", "j")')
rule("matmul over k", function(a, b) return a:matmul(b) end, { x, w }, { sx, put(w, "j") }, 'P("i", nil)',
     { "matmul2: parts combined by add over 'j'" })
rule("matmul cuts what is whole", function(a, b) return a:matmul(b) end, { x, w }, { sx, w }, 'P("i", nil)',
     { "matmul2: parts combined by add over 'j'" })
rule("a batch of matrices", function(a) return a:matmul(np.swapaxes(a, -1, -2)) end, { t }, { put(t, "i") },
     'P("i", nil, nil)')
rule("einsum over an ellipsis", function(a, b) return np.einsum("...ij,kj->...ik", a, b) end, { t, w },
     { put(t, "i"), w }, 'P("i", nil, nil)')
rule("einsum of diagonals", function(a) return np.einsum("...ii->...i", a) end,
     { np.arange(128, { dtype = "f32" }):reshape(8, 4, 4) },
     { put(np.arange(128, { dtype = "f32" }):reshape(8, 4, 4), "i") }, 'P("i", nil)')
rule("einsum", function(a, b) return np.einsum("ij,kj->ik", a, b) end, { x, x }, { put(x, "i"), x }, 'P("i", nil)')

rule("transpose", function(a) return np.transpose(a) end, { x }, { sx }, 'P("j", "i")')
rule("reshape that splits", function(a) return a:reshape(4, 2, 6) end, { x }, { sx }, 'P("i", nil, "j")')
rule("reshape that merges", function(a) return a:reshape(24, 4) end, { t }, { st }, 'P("i", "j")')
rule("reshape of what would not lie together", function(a) return a:reshape(48) end, { x }, { sx }, 'P("i")',
     { 'reshape: input 1 from P("i", "j") to P("i", nil), gathered over \'j\'' })
rule("slices of whole axes", function(a) return a[{ {}, { 1, 3 } }] end, { t }, { st }, 'P("i", nil, "j")')
rule("take from a divided axis", function(a) return np.take(a, np.array({ 7, 0 }, { dtype = "i32" }), { axis = 0 }) end,
     { x }, { sx }, 'P(nil, "j")')
rule("slices of divided axes", function(a) return a[{ { 1, 3 } }] end, { x }, { sx }, 'P(nil, "j")',
     { 'slice: input 1 from P("i", "j") to P(nil, "j"), gathered over \'i\'' })
rule("new axes and broadcasts", function(a) return np.broadcast_to(a[{ np.newaxis }], { 3, 8, 6 }) end, { x }, { sx },
     'P(nil, "i", "j")')

rule("concatenate", function(a) return np.concatenate({ a, a * 2 }, { axis = 1 }) end, { x }, { put(x, "i") },
     'P("i", nil)')
rule("stack", function(a) return np.stack { a, a } end, { x }, { sx }, 'P(nil, "i", "j")')
rule("pad", function(a) return np.pad(a, { { 0, 0 }, { 1, 1 } }) end, { x }, { put(x, "i") }, 'P("i", nil)')
rule("take at divided places", function(a, k) return np.take(a, k, { axis = 0 }) end,
     { w, np.arange(8) % 6 }, { w, put(np.arange(8) % 6, "i") }, 'P("i", nil)')
rule("one_hot", function(k) return np.one_hot(k, 4) end, { np.arange(8) % 4 }, { put(np.arange(8) % 4, "i") },
     'P("i", nil)')
rule("cumsum along a whole axis", function(a) return np.cumsum(a, { axis = 1 }) end, { x }, { put(x, "i") },
     'P("i", nil)')
rule("sort along a whole axis", function(a) return np.argsort(a, { axis = 1 }) end, { x }, { put(x, "i") },
     'P("i", nil)')
rule("sorting itself, which takes along an axis", function(a) return np.sort(a, { axis = 0 }) end, { x },
     { put(x, nil, "j") }, 'P(nil, "j")')
rule("take_along_axis of places that are divided", function(a, k) return np.take_along_axis(a, k, { axis = 1 }) end,
     { x, np.arange(16):reshape(8, 2) % 6 }, { x, put(np.arange(16):reshape(8, 2) % 6, "i") }, 'P("i", nil)')
rule("x:at", function(a) return a:at { {}, { 1, 3 } }:add(5) end, { x }, { put(x, "i") }, 'P("i", nil)')
rule("linear algebra on a batch", function(a)
    return np.linalg.cholesky(np.matmul(a, np.swapaxes(a, -1, -2)) + 50 * np.eye(3))
end, { t }, { put(t, "i") }, 'P("i", nil, nil)')
rule("convolution of a batch", function(a, b) return np.nn.conv(a, b) end, { numbers(8, 6, 2), numbers(3, 2, 4) },
     { put(numbers(8, 6, 2), "i"), numbers(3, 2, 4) }, 'P("i", nil, nil)')

check.test("softmax-like functions communicate only what they have to", function()
    local y = np.softmax(sx, { axis = 1 })
    check.equal(spec(y), 'P("i", "j")')
    check.equal(#notes(y), 2) -- the greatest and the sum of each row
    check.equal(notes(np.softmax(put(x, "i"), { axis = 1 })), {})
end)

check.test("notes are told of arrays that were computed long ago, and name the line", function()
    local y = sx:sum { axis = 0 }
    local z = np.tanh(y) * 2
    z:wait()
    for _ = 1, 40 do z = z + 1 end
    check.equal(notes(z), { "sum: parts combined by add over 'i'" })
    local text = tostring(np.explain(z))
    check.ok(text:find "auto_test.lua:%d", text)
    check.ok(text:find('f32(6,) lies on the mesh {i=4, j=2} as P("j"): 2 blocks', 1, true), text)
end)

-- ---- Moving ---------------------------------------------------------------------------------------------------------

local SPECS = {
    P(), P "i", P "j", P(nil, "j"), P("i", "j"), P { "i", "j" }, P { "j", "i" }, P(nil, nil, "i"), P("j", nil, "i"),
    P(nil, nil, { "i", "j" }), P(nil, { "j" }, "i"),
}

check.test("from any layout to any other", function()
    local a = numbers(8, 2, 8)
    for _, from in ipairs(SPECS) do
        local y = np.device_put(a, mesh, from)
        check.equal(shardings.of_array(y).spec == from, true)
        for _, to in ipairs(SPECS) do
            local z = np.device_put(y, mesh, to)
            check.equal(shardings.of_array(z).spec == to, true)
            same(z, a, tostring(from) .. " to " .. tostring(to))
        end
    end
end)

check.test("to another mesh, of devices in another order", function()
    local reversed = {}
    for k, device in ipairs(np.devices()) do reversed[9 - k] = device end
    local other = np.mesh({ 2, 2 }, { "a", "b" }, { devices = { unpack(reversed, 1, 4) } })
    for _, to in ipairs { P(), P("a", "b"), P { "b", "a" } } do
        local z = np.device_put(sx, other, to)
        same(z, x)
        same(np.device_put(z * 2, mesh, P("i", "j")), x * 2)
    end
end)

--- What a counter grows by while f runs and what it started ends.
local function growth(counter, f)
    np.wait_all()
    local before = np.debug.counters()[counter]
    f()
    np.wait_all()
    return np.debug.counters()[counter] - before
end

check.test("what lies so already is not moved", function()
    local y
    check.equal(growth("nodes", function() y = put(sx, "i", "j") end), 0)
    check.equal(y == sx, true)
    check.equal(growth("launches", function() put(put(x, "i"), "i"):wait() end) > 0, true)
end)

check.test("long work on sharded arrays starts by itself, as that on others", function()
    local y = sx
    np.wait_all()
    for _ = 1, 1500 do y = y * 1 end
    check.ok(np.debug.counters().pending < 6000, "of 12000 nodes, most have been started")
    same(y, x)
end)

check.test("blocks of an array have memory of their own, those of constructors none", function()
    local big = np.ones { 64, 1024 } + 0
    big:wait()
    local function live() -- without what earlier tests left to the collector
        np.wait_all()
        np.memory.trim()
        return np.memory().live
    end
    local before = live()
    local y = put(big, "i")
    np.force(y)
    check.equal(live() - before, 64 * 1024 * 4)
    local zeros
    check.equal(growth("launches", function() zeros = put(np.zeros { 1024, 1024 }, "i", "j") end), 0)
    same(zeros:sum { axis = 0 }, np.zeros { 1024 })
end)

check.test("to one device", function()
    local y = np.device_put(sx, "cpu:3")
    check.equal(spec(y), "ordinary")
    check.equal(tostring(y.device), "cpu:3")
    same(y, x)
    check.raises(function()
        np.shard_map(function(b) return np.device_put(b, "cpu:1") end,
                     { mesh = mesh, in_specs = { P "i" }, out_specs = P "i" })(x)
    end, "device_put: inside np.shard_map an array is seen by block")
end)

check.test("axes of 0 elements, and of as many as there are devices", function()
    same(put(np.zeros { 0, 6 }, "i", "j") + 1, np.zeros { 0, 6 })
    same(put(np.zeros { 0, 6 }, "i", "j"):sum { axis = 0 }, np.zeros { 6 })
    same(np.device_put(put(numbers(4, 2), "i", "j"), mesh, P(nil, "j")) * 2, numbers(4, 2) * 2)
end)

check.test("a failure in one part is that of the array, told with its line", function()
    local bad = np.debug.fail(sx)
    check.raises(function() bad:item() end, "")
    check.raises(function() (bad:sum() + 1):item() end, "failed on purpose")
    same(sx + 1, x + 1)
end)

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

local function loss(model, a)
    local h = np.maximum(a:matmul(model.w) + model.b, 0)
    return (h * h):sum() + h:max { axis = 0 }:sum()
end

check.test("gradients of automatic code lie as what they are of", function()
    local model = { w = numbers(6, 4), b = numbers(4) }
    local expected = np.grad(loss)(model, x)
    for _, ways in ipairs { { P(), P() }, { P "j", P() }, { P(nil, "j"), P "j" }, { P("j", "i"), P "i" } } do
        for _, way in ipairs { P "i", P("i", "j"), P { "i", "j" }, P() } do
            local placed = { w = np.device_put(model.w, mesh, ways[1]), b = np.device_put(model.b, mesh, ways[2]) }
            local ok, grads = pcall(np.grad(loss), placed, np.device_put(x, mesh, way))
            if not ok then error(tostring(way) .. ": " .. tostring(grads)) end
            for name, g in pairs(grads) do
                same(g, expected[name], ("%s, data %s"):format(name, tostring(way)))
                check.equal(spec(g), spec(placed[name]), "where the gradient lies")
            end
            for _, g in pairs(np.grad(loss)(model, np.device_put(x, mesh, way))) do
                check.ok(not spec(g):find '"', "that of an ordinary array is the same on all devices")
            end
        end
    end
end)

check.test("the cotangent of what was moved comes back to where that was", function()
    local g = np.grad(function(a) return (put(a * 2, "j") * put(x, "j")):sum() end)(sx)
    check.equal(spec(g), 'P("i", "j")')
    same(g, x * 2)
    g = np.grad(function(a) return (np.with_sharding_constraint(a, mesh, P(nil, "i")) ^ 2):sum() end)(put(w, "j"))
    check.equal(spec(g), 'P("j", nil)')
    same(g, w * 2)
end)

check.test("second derivatives", function()
    local function f(a) return (a * a * a):sum() end
    same(np.grad(function(a) return (np.grad(f)(a) * x):sum() end)(sx), np.grad(function(a)
        return (np.grad(f)(a) * x):sum()
    end)(x))
end)

check.test("Jacobians, and batches of gradients", function()
    local u = numbers(6)
    local function f(a) return function(b) return (a:matmul(b) * a:matmul(b)) end end
    local function total(a) return function(b) return f(a)(b):sum() end end
    for _, way in ipairs { P "i", P("i", "j") } do
        local placed = np.device_put(x, mesh, way)
        same(np.jacrev(f(placed))(u), np.jacrev(f(x))(u))
        same(np.jacfwd(f(placed))(u), np.jacfwd(f(x))(u))
        same(np.hessian(total(placed))(u), np.hessian(total(x))(u))
        same(np.vmap(np.grad(total(placed)))(np.stack { u, u * 2 }), np.vmap(np.grad(total(x)))(np.stack { u, u * 2 }))
        same(np.jacrev(function(a) return a:sum { axis = 0 } end)(placed),
             np.jacrev(function(a) return a:sum { axis = 0 } end)(x))
        local _, tangent = np.jvp(f(placed), { u }, { u })
        local _, expected = np.jvp(f(x), { u }, { u })
        same(tangent, expected)
    end
end)

-- ---- Programs -------------------------------------------------------------------------------------------------------

check.test("np.jit of automatic code: values, layouts, gradients, and what is told of it", function()
    local model = { w = put(numbers(6, 4), nil, "j"), b = put(numbers(4), "j") }
    local whole = { w = numbers(6, 4), b = numbers(4) }
    local f = np.jit(function(m, a) return np.maximum(a:matmul(m.w) + m.b, 0) end)
    check.equal(spec(f(model, put(x, "i"))), 'P("i", "j")')
    same(f(model, put(x, "i")), f(whole, x))
    for _, way in ipairs { P "i", P("i", "j"), P() } do
        local placed = np.device_put(x, mesh, way)
        local grads, expected = np.jit(np.grad(loss))(model, placed), np.grad(loss)(whole, x)
        for name, g in pairs(grads) do
            same(g, expected[name], name)
            check.equal(spec(g), spec(model[name]))
        end
        same(np.grad(np.jit(loss))(model, placed).w, expected.w)
    end
    local text = tostring(np.explain(f))
    check.ok(not text:find "gathered", text)
    local g = np.jit(function(a) return a:sum { axis = 0 } end)
    g(sx)
    check.ok(tostring(np.explain(g)):find("sum  parts combined by add over 'i'", 1, true), tostring(np.explain(g)))
end)

check.test("np.with_sharding_constraint inside np.jit", function()
    local f = np.jit(function(a) return np.with_sharding_constraint(a * 2, mesh, P(nil, "j")) + 1 end)
    check.equal(spec(f(x)), 'P(nil, "j")')
    same(f(x), x * 2 + 1)
    check.equal(spec(f(sx)), 'P(nil, "j")')
    same(f(sx), x * 2 + 1)
    same(np.jit(np.grad(function(a) return (f(a) * a):sum() end))(sx), x * 4 + 1)
end)

check.test("control flow over sharded arrays", function()
    local c = np.scan(function(c, row) return c + row, nil end, put(np.zeros { 6 }, "j"), sx)
    check.equal(spec(c), 'P("j")')
    same(c, x:sum { axis = 0 })
    same(np.cond(sx:sum():lt(0), function(a) return a * 2 end, function(a) return a end, sx),
         x:sum():item() < 0 and x * 2 or x)
    same(np.while_loop(function(a) return a:max():lt(100) end, function(a) return a * 2 end, sx), x * 32)
    same(np.grad(function(a) return np.checkpoint(function(b) return (b * b):sum() end)(a) end)(sx), x * 2)
end)

-- ---- Inside np.shard_map over some of the axes ----------------------------------------------------------------------

check.test("axes that are not manual stay automatic", function()
    local function body(b, m) return np.psum(b:matmul(m):sum { axis = 0 }, "i") end
    local f = np.shard_map(body, { mesh = mesh, in_specs = { P "i", P() }, out_specs = P(), axis_names = { "i" } })
    same(f(sx, put(w, "j")), x:matmul(w):sum { axis = 0 })
    local g = np.grad(function(m) return (f(sx, m) * numbers(4)):sum() end)(put(w, "j"))
    check.equal(spec(g), 'P("j", nil)')
    same(g, np.grad(function(m) return (x:matmul(m):sum { axis = 0 } * numbers(4)):sum() end)(w))
end)

check.test("automatic code in such a body: closures, constraints, bodies inside, loops, batches, gradients", function()
    local options = { mesh = mesh, in_specs = P "i", out_specs = P "i", axis_names = { "i" } }
    local function over_i(body) return np.shard_map(body, options)(sx) end
    same(over_i(function(b) return b:matmul(w) end), x:matmul(w))
    same(over_i(function(b)
        return np.with_sharding_constraint(b * 2, mesh, P(nil, "j")):sum { axis = 1, keepdims = true }
    end), (x * 2):sum { axis = 1, keepdims = true })
    same(over_i(function(b)
        return np.shard_map(function(c) return np.psum(c:sum { axis = 1, keepdims = true }, "j") end,
                            { mesh = mesh, in_specs = P(nil, "j"), out_specs = P(), axis_names = { "j" } })(b)
    end), x:sum { axis = 1, keepdims = true })
    same(over_i(function(b)
        return (np.scan(function(c, row) return c + row, c end, np.zeros { 6 }, b)) + 0 * b
    end):reshape(4, 2, 6):max { axis = 1 }, x:reshape(4, 2, 6):sum { axis = 1 })
    same(over_i(function(b) return np.vmap(function(row) return row - row:max() end)(b) end),
         x - x:max { axis = 1, keepdims = true })
    for _, wrap in ipairs { function(f) return f end, np.jit } do
        same(wrap(np.grad(function(m)
            return (np.shard_map(function(b) return b:matmul(m) end, options)(sx) ^ 2):sum()
        end))(w), np.grad(function(m) return (x:matmul(m) ^ 2):sum() end)(w))
    end
end)

-- ---- Random programs ------------------------------------------------------------------------------------------------

check.test("random programs and their gradients, eager and jitted, give what they give on whole arrays", function()
    local program = require "tests.lib.auto_programs"
    local function small(k) return (np.arange(64, { dtype = "f32" }) * (2 * k + 5) % 7 - 3):reshape(8, 8) end
    local function both(f) return np.value_and_grad(f, { argnums = { 1, 2, 3 } }) end
    for seed = 1, (os.getenv "NEAP_TEST_BUILD" or "release") == "release" and 40 or 4 do
        local whole, whole_arguments = program(seed * 7919, small)
        local f, arguments, text = program(seed * 7919, small, mesh)
        local expected = { both(whole)(unpack(whole_arguments)) }
        for _, way in ipairs { both(f), np.jit(both(f)) } do
            local actual = { way(unpack(arguments)) }
            for k = 1, 4 do same(actual[k], expected[k], text) end
        end
    end
end)

check.done()
