--- dynamic_test.lua (under tsan with --long): np.dynamic_slice and its kin under transformations, in loops and on a
-- mesh; costs; errors. Values and gradients are compared with JAX's in tests/golden/dynamic_test.lua, single rows in
-- tests/ops and tests/mesh/rows_test.lua.
require "tests.lib.devices" (4, "tests/stdlib/dynamic_test.lua")
local np = require "neap"
local check = require "tests.lib.check"

local P = np.P
local x = np.arange(40, { dtype = "f32" }):reshape(10, 4) / 8
local w = np.array { 0.5, -1, 2, 0.25 }

local function rows(from, n) return x[{ { from, from + n } }] end

check.test("minibatches of a jitted step: one program, one plan, whatever the step", function()
    local traces = 0
    local step = np.jit(function(data, k)
        traces = traces + 1
        return np.dynamic_slice_in_dim(data, 2 * k, 2):matmul(w):sum()
    end)
    local want = {}
    for k = 0, 4 do want[k] = rows(2 * k, 2):matmul(w):sum():item() end
    check.equal(step(x, 0):item(), want[0])
    local before = np.debug.counters().plans
    for k = 1, 4 do check.equal(step(x, k):item(), want[k]) end
    check.equal({ traces, np.debug.counters().plans }, { 1, before })
    check.raises(function() return step(x, 0.25) end, "np.dynamic_slice_in_dim: .* is an index, and may be no integer")
end)

check.test("eager: another start is no other plan", function()
    local function read(k) return np.dynamic_slice(x, { k, 1 }, { 2, 2 }):totable() end
    local want = {}
    for k = 0, 5 do want[k] = x[{ { k, k + 2 }, { 1, 3 } }]:totable() end
    check.equal(read(0), want[0])
    local before = np.debug.counters().plans
    for k = 1, 5 do check.equal(read(k), want[k]) end
    check.equal(np.debug.counters().plans, before)
end)

check.test("starts of numbers, of arrays, and of both", function()
    local want = x[{ { 3, 5 }, { 1, 4 } }]:totable()
    local one, three = np.array(1, { dtype = "i32" }), np.array(3, { dtype = "u8" })
    for _, starts in ipairs { { 3, 1 }, { three, 1 }, { 3, one }, { three, one },
                              np.array({ 3, 1 }, { dtype = "i64" }), np.array({ 3, 1 }, { dtype = "u16" }) } do
        check.equal(np.dynamic_slice(x, starts, { 2, 3 }):totable(), want)
        local changed = np.dynamic_update_slice(np.zeros { 10, 4 }, np.array(want), starts)
        check.equal(changed[{ { 3, 5 }, { 1, 4 } }]:totable(), want)
    end
    local jitted = np.jit(function(a, i, j) return np.dynamic_slice(a, { i, j }, { 2, 3 }) end)
    check.equal(jitted(x, three, 1):totable(), want)
    check.equal(jitted(x, 3, 1):totable(), want)
end)

check.test("of views, which are not copied", function()
    local y = x.T[{ {}, { nil, nil, -1 } }]
    check.equal(np.dynamic_slice(y, { 1, 2 }, { 2, 3 }):totable(), y[{ { 1, 3 }, { 2, 5 } }]:totable())
    local want = y:totable()
    for i = 2, 3 do
        for j = 3, 5 do want[i][j] = 7 end
    end
    check.equal(np.dynamic_update_slice(y, np.ones { 2, 3 } * 7, { 1, 2 }):totable(), want)
    local large = np.ones(1000, 1000):wait()
    np.memory.reset_peak()
    local live = np.memory().live
    np.dynamic_slice(large.T, { 5, 7 }, { 2, 3 }):wait()
    check.ok(np.memory().peak - live < 100000, "the slice of a transpose copies the whole array")
end)

check.test("vmap: starts, arrays, or both", function()
    local starts = np.array({ 0, 3, -2, 99 }, { dtype = "i32" })
    local cut = function(a, i) return np.dynamic_slice_in_dim(a, i, 3) end
    local batched = np.vmap(cut, { in_axes = { false, 0 } })
    check.equal(batched(x, starts).shape, { 4, 3, 4 })
    for k, from in ipairs { 0, 3, 7, 7 } do
        check.equal(batched(x, starts)[k - 1]:totable(), rows(from, 3):totable())
    end
    local both = np.vmap(function(row, i) return np.dynamic_slice_in_dim(row, i, 2) end)
    check.equal(both(x[{ { 0, 4 } }], starts):totable(),
                { x[{ 0, { 0, 2 } }]:totable(), x[{ 1, { 2, 4 } }]:totable(), x[{ 2, { 2, 4 } }]:totable(),
                  x[{ 3, { 2, 4 } }]:totable() })
    local gradient = np.grad(function(a) return (batched(a, starts) ^ 2):sum() end)(x)
    local want = np.zeros { 10, 4 }
    for _, from in ipairs { 0, 3, 7, 7 } do want = want:at { { from, from + 3 } }:add(2 * rows(from, 3)) end
    check.equal(gradient:totable(), want:totable())
end)

check.test("scan over a buffer that is written at each turn, and its gradient", function()
    local function fill(first)
        return np.fori_loop(1, 6, function(i, buffer)
            local last = np.dynamic_index_in_dim(buffer, i - 1, { keepdims = false })
            return np.dynamic_update_index_in_dim(buffer, last * w, i)
        end, np.zeros({ 6, 4 }):at(0):set(first))
    end
    local function unrolled(first)
        local list = { first }
        for k = 2, 6 do list[k] = list[k - 1] * w end
        return np.stack(list)
    end
    local first = np.array { 1, 2, 3, 4 }
    check.equal(fill(first):totable(), unrolled(first):totable())
    local function loss(f) return function(a) return (f(a) ^ 2):sum() end end
    check.equal(np.grad(loss(fill))(first):totable(), np.grad(loss(unrolled))(first):totable())
    check.equal(np.jit(np.grad(loss(fill)))(first):totable(), np.grad(loss(unrolled))(first):totable())
end)

check.test("forward mode and second derivatives", function()
    local function f(a) return (np.dynamic_slice(a, { 2, 1 }, { 3, 2 }) ^ 3):sum() end
    local function g(a) return (a[{ { 2, 5 }, { 1, 3 } }] ^ 3):sum() end
    local _, got = np.jvp(f, { x }, { x + 1 })
    local _, want = np.jvp(g, { x }, { x + 1 })
    check.equal(got:totable(), want:totable())
    local function second(h) return np.grad(function(a) return (np.grad(h)(a) * (x + 1)):sum() end)(x) end
    check.equal(second(f):totable(), second(g):totable())
end)

check.test("on a mesh: axes taken whole stay divided; in a body each device slices its block", function()
    local mesh = np.mesh({ 4 }, { "i" })
    local columns = np.device_put(x, mesh, P(nil, "i"))
    local some = np.dynamic_slice_in_dim(columns, 3, 5)
    check.equal({ some:totable(), some.sharding.spec[2] }, { rows(3, 5):totable(), "i" })
    local changed = np.dynamic_update_slice_in_dim(columns, some * 2, 1)
    check.equal({ changed:totable(), changed.sharding.spec[2] },
                { x:at { { 1, 6 } }:set(rows(3, 5) * 2):totable(), "i" })
    local body = np.shard_map(function(block, k) return np.dynamic_slice_in_dim(block, k, 1) end,
                              { mesh = mesh, in_specs = { P("i"), P() }, out_specs = P("i") })
    local y = np.arange(8)
    check.equal(body(y, np.array(1, { dtype = "i32" })):totable(), { 1, 3, 5, 7 })
    local own = np.shard_map(function(block) return np.dynamic_slice_in_dim(block, np.axis_index("i"), 1) end,
                             { mesh = mesh, in_specs = { P(nil) }, out_specs = P("i") })
    check.equal(own(np.arange(4) * 10):totable(), { 0, 10, 20, 30 })
end)

check.test("errors name the function and the argument", function()
    local function raises(pattern, f, ...)
        local arguments = { ... }
        check.raises(function() return f(unpack(arguments)) end, pattern)
    end
    raises("np.dynamic_slice: argument 2 %(starts%) must be a table of 2 integers", np.dynamic_slice, x, { 1 },
           { 1, 1 })
    raises("np.dynamic_slice: argument 2 %(starts%), item 2, must be an integer", np.dynamic_slice, x, { 1, 0.5 },
           { 1, 1 })
    raises("np.dynamic_slice: argument 2 %(starts%), item 1, must be an integer", np.dynamic_slice, x, { w, 0 },
           { 1, 1 })
    raises("np.dynamic_slice: argument 3 %(sizes%) must be a table of 2 integers", np.dynamic_slice, x, { 0, 0 }, 3)
    raises("np.dynamic_slice: size 5 does not fit axis 1", np.dynamic_slice, x, { 0, 0 }, { 1, 5 })
    raises("np.dynamic_slice: argument 3", np.dynamic_slice, x, { 0, 0 }, { 1, 0.5 })
    raises("np.dynamic_update_slice: argument 2 %(update%) must have 2 axes", np.dynamic_update_slice, x, w, { 0, 0 })
    raises("np.dynamic_update_slice: argument 2", np.dynamic_update_slice, x, np.zeros { 11, 1 }, { 0, 0 })
    raises("np.dynamic_slice_in_dim: size 11 does not fit axis 0", np.dynamic_slice_in_dim, x, 0, 11)
    raises("np.dynamic_slice_in_dim: axis 2 is out of range", np.dynamic_slice_in_dim, x, 0, 1, { axis = 2 })
    raises("np.dynamic_index_in_dim: argument 2 %(start%) must be an integer", np.dynamic_index_in_dim, x, "1")
    raises("use np.dynamic_slice", function(i) return x[{ { i, i + 2 } }] end, np.array(1, { dtype = "i32" }))
    raises("sizes", np.jit(function(n) return np.dynamic_slice(x, { 0, 0 }, { n, 1 }) end), 2)
end)

check.done()
