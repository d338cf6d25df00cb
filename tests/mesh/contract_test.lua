--- contract_test.lua (sanitized with --long): np.set_mesh, np.reshard, explicit axes, the options in_shardings and
-- out_shardings of np.jit; the bytes that np.explain says are moved. Runs itself again with eight devices.
local check = require "tests.lib.check"
local np = require "neap"

require "tests.lib.devices" (8, "tests/mesh/contract_test.lua")

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local explicit = np.mesh({ 4, 2 }, { "i", "j" }, { explicit = true })

local function numbers(...) return np.random.normal(np.random.key(3), { ... }) end
local function spec(x) return tostring(x.sharding.spec) end

--- The bytes that the notes of np.explain say were moved, by op.
local function moved(x)
    local list = {}
    for line in tostring(np.explain(x)):gmatch "[^\n]+" do
        local op = line:match "^  (%w+)"
        for bytes in line:gmatch ": ([%d.]+ %a?B) moved" do list[#list + 1] = op .. " " .. bytes end
    end
    return list
end

-- ---- np.set_mesh ----------------------------------------------------------------------------------------------------

check.test("specs mean the mesh that is set", function()
    check.equal(np.get_mesh(), nil)
    check.raises(function() np.device_put(np.ones(8), P "i") end, "P%(\"i\"%) is a spec without a mesh")
    check.raises(function() np.reshard(np.ones(8), P "i") end, "np.reshard: argument 2 %(spec%) is P%(\"i\"%), a spec "
                 .. "without a mesh: np.set_mesh")
    local function block(v) return v end
    check.raises(function() np.shard_map(block, { in_specs = P "i", out_specs = P "i" }) end, "'mesh'")
    check.equal(np.set_mesh(mesh), nil)
    check.equal(np.get_mesh(), mesh)
    local x = np.device_put(np.arange(8), P "i")
    check.equal({ x.sharding.mesh == mesh, spec(x) }, { true, 'P("i")' })
    check.equal(spec(np.with_sharding_constraint(x, P { "i", "j" })), 'P({"i", "j"})')
    check.equal(spec(np.reshard(np.ones { 8, 2 }, P("i", "j"))), 'P("i", "j")')
    check.equal(np.shard_map(function(v) return np.psum(v:sum(), "i") end, { in_specs = P "i", out_specs = P() })(x)
                :item(), 28)
    check.equal(np.set_mesh(nil), mesh)
    check.equal(np.get_mesh(), nil)
    check.raises(function() np.set_mesh(3) end, "np.set_mesh: argument 1 %(mesh%)")
    check.raises(function() np.jit(function() np.set_mesh(mesh) end)() end, "np.set_mesh: a gradient")
end)

check.test("a jitted function is recorded anew for another mesh", function()
    local f = np.jit(function(v) return np.with_sharding_constraint(v * 2, P "i") end)
    np.set_mesh(mesh)
    check.equal(f(np.ones(8)).sharding.mesh, mesh)
    local other = np.mesh({ 2 }, { "i" })
    np.set_mesh(other)
    check.equal(f(np.ones(8)).sharding.mesh, other)
    np.set_mesh(nil)
    check.raises(function() f(np.ones(8)) end, "a spec without a mesh")
end)

-- ---- np.reshard -----------------------------------------------------------------------------------------------------

check.test("reshard: values, trees, meshes, gradients, programs", function()
    local whole = numbers(8, 8)
    local x = np.device_put(whole, mesh, P("i", "j"))
    for _, to in ipairs { P(nil, "i"), P(), P("j", "i"), P({ "i", "j" }), P("i", "j") } do
        local y = np.reshard(x, to)
        check.equal(y.sharding.spec == to, true)
        check.equal(y:totable(), whole:totable())
        check.equal(np.jit(function(v) return np.reshard(v, to) end)(x):totable(), whole:totable())
    end
    local tree = np.reshard({ a = x, b = { x, x } }, { a = P("j"), b = P(nil, "i") })
    check.equal({ spec(tree.a), spec(tree.b[2]) }, { 'P("j", nil)', 'P(nil, "i")' })
    local elsewhere = np.reshard(x, np.NamedSharding(np.mesh({ 8 }, { "k" }), P "k"))
    check.equal({ elsewhere.sharding.mesh.shape.k, elsewhere:totable() }, { 8, whole:totable() })
    local g = np.grad(function(v) return (np.reshard(v, P(nil, "i")) ^ 2):sum() end)(x)
    check.equal({ spec(g), np.array_equal(np.device_put(g, "cpu:0"), whole * 2) }, { 'P("i", "j")', true })
    check.raises(function() np.reshard(x) end, "np.reshard: argument 2 %(spec%)")
    check.raises(function() np.reshard(x, "i") end, "must be a spec such as")
    check.raises(function() np.reshard(x, P "k") end, "names 'k' for array axis 0")
    check.raises(function() np.reshard(np.device_put(np.ones(6), mesh, P()), P "i") end, "does not divide 6 evenly")
end)

check.test("blocks of an ordinary array have memory of their own", function()
    local function live()
        np.wait_all()
        collectgarbage()
        np.memory.trim()
        return np.memory().live
    end
    local before = live()
    local x = numbers(256, 512):wait() -- 512 KiB
    for _, laid in ipairs { function() return np.device_put(x, mesh, P "i") end,
                            function() return np.reshard(x, np.NamedSharding(mesh, P(nil, "i"))) end } do
        local block = laid():wait():addressable_shards()[2].data:wait()
        collectgarbage()
        local bytes = live() - before
        check.equal(bytes <= 2 ^ 19 + 2 ^ 17 + 4096, true, ("x and a block of 128 KiB: %d bytes"):format(bytes))
        check.equal(block:sum():item() ~= 0, true)
    end
    local y = np.device_put(x, mesh, P "i"):wait()
    x:delete()
    check.equal(live() - before <= 2 ^ 19 + 4096, true, "x is gone")
    check.equal(y.shape, { 256, 512 })
end)

-- ---- Bytes ----------------------------------------------------------------------------------------------------------

check.test("bytes that move", function()
    local x = np.device_put(numbers(8, 8), mesh, P("i", "j"))
    local row = np.device_put(numbers(8), mesh, P "i")
    -- Each of 8 devices has (2, 4) and gets 8 numbers; has 2 of 8 and gets 6.
    check.equal(moved(np.reshard(x, P("i", nil))), { "reshard 256 B" })
    check.equal(moved(np.reshard(row, P())), { "reshard 192 B" })
    check.equal(moved(np.reshard(row, P { "i", "j" })), {}, "each device has its part")
    check.equal(moved(np.reshard(np.device_put(numbers(8), mesh, P()), P "i")), {})
    -- To (4, 2) of device (a, b): rows from 4b on, columns from 2a on; some of these are there.
    check.equal(moved(np.reshard(x, P("j", "i"))), { "reshard 192 B" })
    -- Four devices add blocks of 4 numbers: each gets 3 quarters of 16 bytes, twice; there are two groups of them.
    check.equal(moved(x:sum { axis = 0 }), { "sum 192 B" })
    local y = x:matmul(np.device_put(numbers(8, 4), mesh, P("j", nil)))
    check.equal(moved(y), { "matmul2 256 B" })
    local f = np.jit(function(v) return np.reshard(np.sort(v, { axis = 0 }), P "j") end)
    f(x)
    check.equal(moved(f), { "sort 768 B", "reshard 512 B" })
    check.equal(moved(np.device_put(np.ones { 8, 8 }, np.mesh({ 1 }, { "i" }), P "i"):sum { axis = 0 }), {})
end)

-- ---- Explicit axes --------------------------------------------------------------------------------------------------

check.test("what moves over explicit axes is refused: op, layouts, bytes, remedy", function()
    local x = np.device_put(numbers(8, 8), explicit, P("i", nil))
    local y = np.device_put(numbers(8, 8), explicit, P(nil, "i"))
    check.raises(function() return x + y end, 'np.add: input 2 lies as P%(nil, "i"%) and is wanted as P%("i", nil%): '
                 .. '384 B would move over \'i\', explicit in this mesh; write np.reshard%(x, np.P%("i", nil%)%) where')
    check.raises(function() return np.sort(x, { axis = 0 }) end, 'sort: input 1 lies as P%("i", nil%) and is wanted as '
                 .. 'P%(nil, nil%): 1.54 kB would move')
    check.equal(spec(x + np.reshard(y, P("i", nil))), 'P("i", nil)')
    check.raises(function() np.jit(function(a, b) return a + b end)(x, y) end, "add: input 2 lies as")
    check.raises(function() np.grad(function(a) return (a + y):sum() end)(x) end, "add: input 2 lies as")
    check.raises(function() np.vmap(function(a, b) return np.sort(a) + b end, { in_axes = { 1, 1 } })(x, y) end,
                 "input %d lies as")
    check.raises(function() np.trace(function(a, b) return a * b end)(x, y) end, "multiply: input 2 lies as")
end)

check.test("a refusal names what the line called, and its op", function()
    local x = np.device_put(numbers(8, 8), explicit, P("i", nil))
    local y = np.device_put(numbers(8, 8), explicit, P(nil, "i"))
    local z = np.device_put(numbers(8, 8, 8), explicit, P(nil, "i", nil))
    local fft, part, fields = np.fft.fft, np, { product = np.dot }
    local function median(v) return np.median(v, { axis = 0 }) end
    for message, f in pairs {
        ["np.matmul: input 2 of its op matmul2"] = function() return np.matmul(x, x) end,
        ["np.matmul: input 1 of its op reshape"] = function() return z:matmul(x) end,
        ["np.einsum: input 2 of its op matmul2"] = function() return (np.einsum("ij,jk->ik", x, x)) end,
        ["np.fft.fft: input 1 of its op dft"] = function() return fft(y) end,
        ["np.fft.irfft: input 1 of its op irdft"] = function() return part.fft.irfft(y) end,
        ["np.fft.fft2: input 1 of its op dft"] = function() return np.jit(function(v) return np.fft.fft2(v) end)(x) end,
        ["np.linalg.inv: input 1"] = function() return np.linalg.inv(x) end,
        ["np.linalg.solve: input 1 of its op lu"] = function() return np.linalg.solve(x, x) end,
        ["np.median: input 1 of its op sort"] = function() return median(x) end,
        ["np.subtract: input 2"] = function() return x - y end,
        [": the op matmul2: input 2"] = function() return fields.product(x, x) end, -- the call names no function of np
    } do
        check.raises(f, message .. " lies as P%(.* is wanted as P%(.*B would move over 'i', explicit in this mesh")
    end
end)

check.test("examples that are divided stay so; over explicit axes no example moves them", function()
    local rows, columns = numbers(8, 8), numbers(8, 8) * 2
    local function add(a, b) return a + b end
    local function by_j(a) return np.reshard(a, P "j") end
    for _, on in ipairs { explicit, mesh } do
        local x, y = np.device_put(rows, on, P("i", nil)), np.device_put(columns, on, P(nil, "i"))
        local before = np.set_mesh(on)
        check.equal(spec(np.vmap(by_j)(x)), 'P("i", "j")')
        check.equal(spec(np.jit(np.vmap(by_j))(x)), 'P("i", "j")')
        check.equal(np.vmap(by_j)(x):totable(), rows:totable())
        check.equal(spec(np.grad(function(v) return (np.vmap(by_j)(v) * v):sum() end)(x)), 'P("i", nil)')
        check.equal(spec(np.vmap(function(a) return np.reshard(a, P()) end)(y)), "P(nil, nil)")
        local sum = np.vmap(np.shard_map(function(a) return np.psum(a, "i") end, { in_specs = P "i", out_specs = P() }))
        if on == explicit then
            check.raises(function() np.vmap(add)(x, y) end, 'input 1 lies as P%("i", nil%) and is wanted as '
                         .. 'P%(nil, "i"%): 384 B would move over \'i\', explicit')
            check.raises(function() sum(x) end, 'input 1 lies as P%("i", nil%) and is wanted as P%(nil, "i"%)')
        else
            check.equal(np.vmap(add)(x, y):totable(), (rows + columns):totable())
            check.equal(sum(x).shape, { 8, 2 })
        end
        np.set_mesh(before)
    end
end)

check.test("what moves nothing goes on: maps, cuts, sums of parts, reading, what the script asks for", function()
    local whole = numbers(8, 8)
    local x = np.device_put(whole, explicit, P("i", "j"))
    check.equal(spec(np.tanh(x) * 2 + x), 'P("i", "j")')
    check.equal(spec(x + np.device_put(np.ones(8), explicit, P())), 'P("i", "j")')
    check.equal(np.allclose(np.device_put(x:sum { axis = 0 }, "cpu:0"), whole:sum { axis = 0 }), true)
    check.equal(x:totable(), whole:totable())
    check.equal(np.device_put(x, "cpu:1"):totable(), whole:totable())
    check.equal(spec(np.device_put(x, explicit, P(nil, "i"))), 'P(nil, "i")')
    local w = np.device_put(numbers(8, 4), explicit, P("j", nil))
    local g = np.grad(function(v) return np.tanh(x:matmul(v)):sum() end)
    check.equal(spec(g(w)), 'P("j", nil)')
    check.equal(np.jit(g)(w):totable(), g(w):totable())
    local step = np.shard_map(function(v) return np.psum(v, "i") end, { mesh = explicit, in_specs = P("i"),
                                                                       out_specs = P() })
    check.equal(step(np.device_put(whole, explicit, P "i")).shape, { 2, 8 })
end)

check.test("some axes are explicit", function()
    local half = np.mesh({ 4, 2 }, { "i", "j" }, { explicit = { "j" } })
    check.equal({ half == mesh, half == explicit, half.explicit }, { false, false, { j = true } })
    check.equal(np.mesh({ 4, 2 }, { "i", "j" }, { explicit = { "j" } }), half)
    check.equal(np.mesh({ 4, 2 }, { "i", "j" }, { explicit = {} }), mesh)
    local x = np.device_put(numbers(8, 8), half, P("i", "j"))
    check.equal(spec(np.sort(x, { axis = 0 })), 'P(nil, "j")')
    check.raises(function() return np.sort(x, { axis = 1 }) end, "over 'j', explicit")
    check.raises(function() return x + np.device_put(np.ones { 8, 8 }, mesh, P("i", "j")) end, "different meshes")
    check.raises(function() np.mesh({ 8 }, { "i" }, { explicit = { "k" } }) end, "'explicit' names the string \"k\"")
    check.raises(function() np.mesh({ 8 }, { "i" }, { explicit = "i" }) end, "explicit")
end)

-- ---- np.jit ---------------------------------------------------------------------------------------------------------

check.test("in_shardings and out_shardings have an entry for each argument and result", function()
    local x, i = np.ones { 8, 8 }, np.NamedSharding(mesh, P "i")
    local function refused(message, f, options, ...)
        local given = { ... }
        check.raises(function() np.jit(f, options)(unpack(given)) end, "np.jit: option '" .. message .. "$")
        check.raises(function() np.disable_jit(np.jit(f, options))(unpack(given)) end, message)
    end
    local function add(a, b) return a + (type(b) == "table" and b.w or b) end
    local function twice(a) return a, { w = a } end
    local nothing = ": write false where it says nothing"
    refused("in_shardings' has no entry for argument 2 of 2" .. nothing, add, { in_shardings = { i } }, x, x)
    refused("in_shardings' has no entry for argument 1 of 2" .. nothing, add, { in_shardings = {} }, x, 2)
    refused("in_shardings' has no entry for argument 1 of 2" .. nothing, add, { in_shardings = { nil, i } }, x, x)
    refused("in_shardings' has an entry 3, but there are 2 arguments", add, { in_shardings = { i, i, false } }, x, x)
    refused("in_shardings' has no entry for argument 2.b" .. nothing, add, { in_shardings = { i, { w = i } } }, x,
            { w = x, b = x })
    refused("out_shardings' has no entry for result 2 of 2" .. nothing, twice, { out_shardings = { i } }, x)
    refused("out_shardings' has no entry for result 2.w" .. nothing, twice, { out_shardings = { i, {} } }, x)
    refused("out_shardings' has an entry 2, but there is 1 result", add, { out_shardings = { i, i } }, x, x)
    local f = np.jit(add, { in_shardings = { i, { w = false } } }) -- a number and a string lie nowhere
    check.equal(spec(f(x, { w = x, k = 3, name = "bias" })), 'P("i", nil)')
end)

check.test("in_shardings and out_shardings", function()
    local whole, bias = numbers(8, 8), numbers(8)
    local f = np.jit(function(x, p, k) return x:matmul(p.w) * k + p.b, { loss = x:sum(), x = x } end,
                     { in_shardings = { np.NamedSharding(mesh, P "i"),
                                        { w = np.NamedSharding(mesh, P(nil, "j")), b = false }, false },
                       out_shardings = { np.NamedSharding(mesh, P("i", "j")),
                                         { x = np.NamedSharding(mesh, P()), loss = false } } })
    local y, more = f(whole, { w = whole, b = bias }, 2)
    check.equal({ spec(y), spec(more.x), spec(more.loss) }, { 'P("i", "j")', "P(nil, nil)", "P()" })
    check.equal(np.allclose(np.device_put(y, "cpu:0"), whole:matmul(whole) * 2 + bias), true)
    f(np.device_put(whole, mesh, P "i"), { w = np.device_put(whole, mesh, P(nil, "j")), b = bias }, 3)
    check.raises(function() f(np.device_put(whole, mesh, P "j"), { w = whole, b = bias }, 2) end,
                 'np.jit: argument 1.*lies on {i=4, j=2} as P%("j", nil%), and in_shardings wants P%("i"%)')
    check.raises(function() f(np.device_put(whole, np.mesh({ 8 }, { "i" }), P "i"), { w = whole, b = bias }, 2) end,
                 "np.jit: argument 1.*lies on {i=8}")
    np.set_mesh(mesh)
    local g = np.jit(function(a, b) return a + b, a * b end, { in_shardings = P "i", out_shardings = { false, P "j" } })
    local first, second = g(bias, bias)
    check.equal({ spec(first), spec(second) }, { 'P("i")', 'P("j")' })
    check.equal(second:totable(), (bias * bias):totable())
    local slope = np.grad(np.jit(function(a) return (a * a):sum() end, { in_shardings = { P "i" } }))(bias)
    check.equal(np.array_equal(np.device_put(slope, "cpu:0"), bias * 2), true)
    np.set_mesh(nil)
    check.raises(function() np.jit(function(a) return a end, { in_shardings = 3 }) end, "in_shardings")
    check.raises(function() np.jit(function(a) return a end, { out_shardings = { x = P "i" } }) end, "entry 'x'")
    check.raises(function() np.jit(function(a) return a end, { in_shardings = { "i" } }) end, "must be a spec")
    local same = np.jit(function(a) return a end, { in_shardings = P "i" })
    check.raises(function() same(bias) end, "a spec without a mesh")
    check.raises(function()
        np.jit(function(a) return a end, { in_shardings = np.NamedSharding(mesh, P "i") })(np.ones(6))
    end, "does not divide 6 evenly")
end)

check.done()
