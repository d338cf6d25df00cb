--- shard_map_test.lua (under tsan with --long): np.shard_map: specs as prefixes of trees, what arguments and results
-- may be, tuples of axes, axes that stay whole, bodies in bodies, control flow, collectives against slices; eager, and
-- under np.jit.
require "tests.lib.devices" (8, "tests/mesh/shard_map_test.lua")
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local np = require "neap"

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local x = np.arange(128, { dtype = "f32" }):reshape(8, 16)

local function map(f, in_specs, out_specs, options)
    local o = { mesh = mesh, in_specs = in_specs, out_specs = out_specs }
    for key, value in pairs(options or {}) do o[key] = value end
    return np.shard_map(f, o)
end

--- f(…) is `expected`, a table or an array, eager and jitted.
local function is(expected, f, ...)
    if np.is_array(expected) then expected = expected:totable() end
    check.equal(f(...):totable(), expected, "eager")
    check.equal(np.jit(f)(...):totable(), expected, "jitted")
end

-- ---- Arguments and results ------------------------------------------------------------------------------------------

check.test("the body sees blocks, and runs once", function()
    local runs = 0
    local f = map(function(a, b)
        runs = runs + 1
        check.equal({ a.shape, b.shape, a.sharding.manual }, { { 2, 8 }, { 16 }, { "i", "j" } })
        return a * 2
    end, { P("i", "j"), P() }, P("i", "j"))
    local y = f(x, x[0])
    check.equal(runs, 1)
    check.ok(np.array_equal(y, x * 2))
    check.equal(tostring(y.sharding.spec), 'P("i", "j")')
end)

check.test("specs are prefixes of trees", function()
    local shapes
    local f = map(function(params, data)
        shapes = { params.w.shape, params.layers[1].b.shape, params.layers[2].b.shape, data.shape }
        return { sum = params.w:sum { axis = 0 }, list = { data, data * 2 } }, params.layers[2].b
    end, { { w = P "j", layers = P "i" }, P { "i", "j" } }, { { sum = P "j", list = P { "i", "j" } }, P "i" })
    local params = { w = np.ones(4, 3), layers = { { b = np.arange(4) }, { b = np.arange(8) } } }
    local result, b = f(params, np.arange(16))
    check.equal(shapes, { { 2, 3 }, { 1 }, { 2 }, { 2 } })
    check.equal(result.sum:totable(), { 2, 2, 2, 2, 2, 2 })
    check.equal(result.list[2]:totable(), (np.arange(16) * 2):totable())
    check.equal(b:totable(), np.arange(8):totable())
end)

check.test("one spec holds for all arguments, and for all results", function()
    local f = map(function(a, t) return a + t[1], { t.x } end, P("i", "j"), P("i", "j"))
    local sum, rest = f(x, { x, x = x * 3 })
    check.ok(np.array_equal(sum, x * 2) and np.array_equal(rest[1], x * 3))
    check.ok(sum.sharding.spec == P("i", "j") and rest[1].sharding.spec == P("i", "j"))
end)

check.test("what is no array passes as it is", function()
    local seen
    local f = map(function(a, n, name, options, absent)
        seen = { n, name, options.on, absent }
        return a * n, n + 1, name, true
    end, { P "i", P(), P(), P() }, { P "i", P(), P(), P() })
    local y, n, name, on = f(x, 3, "mean", { on = false })
    check.equal({ seen, n, name, on }, { { 3, "mean", false, nil }, 4, "mean", true })
    check.ok(np.array_equal(y, x * 3))
    check.equal(select("#", map(function() end, {}, {})()), 0)
    is(x * 3, function(a, k) return map(function(b, m) return b * m end, { P "i", P() }, P "i")(a, k) end, x, 3)
end)

check.test("arrays around the body count as the same everywhere", function()
    local w, laid = np.arange(16, { dtype = "f32" }), np.device_put(np.arange(16, { dtype = "f32" }), mesh, P "i")
    is(x + w, map(function(a) return a + w end, P "i", P "i"), x)
    is(x + w, map(function(a) return a + laid end, P "i", P "i"), x)
    is(w, map(function() return laid end, {}, P()))
    is(w, map(function() return w end, {}, P()))
    is(np.concatenate { w, w }, map(function() return laid end, {}, P "j"))
end)

check.test("a result of a shard_map goes into the next one without a copy", function()
    local f = map(function(a) return a + 1 end, P("i", "j"), P("i", "j"))
    local y = f(np.device_put(np.array(x:totable()), mesh, P("i", "j")))
    y:wait()
    local before = np.debug.counters().launches
    local z = map(function(a) return a end, P("i", "j"), P("i", "j"))(y)
    np.force(z)
    np.wait_all()
    check.equal(np.debug.counters().launches, before)
    check.ok(np.array_equal(z, x + 1))
end)

check.test("tuples of axes: the first one is outermost", function()
    local function places(tuple, spec)
        return map(function() return np.axis_index(tuple):reshape(1) end, {}, spec)():totable()
    end
    check.equal(places({ "i", "j" }, P { "i", "j" }), { 0, 1, 2, 3, 4, 5, 6, 7 })
    check.equal(places({ "j", "i" }, P { "j", "i" }), { 0, 1, 2, 3, 4, 5, 6, 7 })
    check.equal(places({ "j", "i" }, P { "i", "j" }), { 0, 4, 1, 5, 2, 6, 3, 7 })
    is(x, map(function(a) return a end, P({ "j", "i" }, nil), P({ "j", "i" }, nil)), x)
    is(np.arange(8), map(function(a) return np.all_gather(a, { "j", "i" }, { tiled = true }) end, P { "j", "i" }, P()),
       np.arange(8))
end)

-- ---- Collectives ----------------------------------------------------------------------------------------------------

-- Each is a body over blocks of 16 numbers along i and j, and what the block at place k (from 0) of the tuple {i, j}
-- gets if all[m] is the block at place m.
local BLOCKS = 16
local function block_rows() return np.sin(np.arange(8 * BLOCKS, { dtype = "f32" })):reshape(8, BLOCKS) end

local function tree_sum(all, places)
    if #places == 1 then return all[places[1]] end
    local half, left, right = 1, {}, {}
    while 2 * half < #places do half = 2 * half end
    for k, place in ipairs(places) do table.insert(k <= half and left or right, place) end
    return tree_sum(all, left) + tree_sum(all, right)
end

--- The places that agree with place k on the axes that are not named.
local function group(axis, k)
    if axis == "i" then return { k % 2, 2 + k % 2, 4 + k % 2, 6 + k % 2 } end
    if axis == "j" then return { k - k % 2, k - k % 2 + 1 } end
    return { 0, 1, 2, 3, 4, 5, 6, 7 }
end

--- Where place k stands in its group.
local function rank(axis, k)
    for at, place in ipairs(group(axis, k)) do
        if place == k then return at - 1 end
    end
end

local function part(array, n, k)
    local size = array.size / n
    return array[{ { k * size, (k + 1) * size } }]
end

local function of_group(all, axis, k, f)
    local list = {}
    for at, place in ipairs(group(axis, k)) do list[at] = f and f(all[place]) or all[place] end
    return list
end

local COLLECTIVES = {
    psum = { function(a, axis) return np.psum(a, axis) end,
             function(all, axis, k) return tree_sum(all, group(axis, k)) end },
    pmean = { function(a, axis) return np.pmean(a, axis) end,
              function(all, axis, k) return tree_sum(all, group(axis, k)) / #group(axis, k) end },
    pmax = { function(a, axis) return np.pmax(a, axis) end,
             function(all, axis, k) return np.stack(of_group(all, axis, k)):max { axis = 0 } end },
    pmin = { function(a, axis) return np.pmin(a, axis) end,
             function(all, axis, k) return np.stack(of_group(all, axis, k)):min { axis = 0 } end },
    all_gather = { function(a, axis) return np.all_gather(a, axis, { axis = 1 }):reshape(-1) end,
                   function(all, axis, k) return np.stack(of_group(all, axis, k), { axis = 1 }):reshape(-1) end },
    all_gather_tiled = { function(a, axis) return np.all_gather(a, axis, { tiled = true }) end,
                         function(all, axis, k) return np.concatenate(of_group(all, axis, k)) end },
    psum_scatter = { function(a, axis) return np.psum_scatter(a, axis, { tiled = true }) end,
                     function(all, axis, k)
                         local n = #group(axis, k)
                         return part(tree_sum(all, group(axis, k)), n, rank(axis, k))
                     end },
    all_to_all = { function(a, axis) return np.all_to_all(a, axis, 0, 0, { tiled = true }) end,
                   function(all, axis, k)
                       local n, at = #group(axis, k), rank(axis, k)
                       return np.concatenate(of_group(all, axis, k, function(a) return part(a, n, at) end))
                   end },
    ppermute = { function(a, axis)
                     local perm, n = {}, np.axis_size(axis)
                     for k = 0, n - 2 do perm[k + 1] = { k, k + 1 } end
                     return np.ppermute(a, axis, perm)
                 end,
                 function(all, axis, k)
                     local at = rank(axis, k)
                     return at == 0 and np.zeros(BLOCKS) or all[group(axis, k)[at]]
                 end },
    pshuffle = { function(a, axis)
                     local perm, n = {}, np.axis_size(axis)
                     for k = 0, n - 1 do perm[k + 1] = n - 1 - k end
                     return np.pshuffle(a, axis, perm)
                 end,
                 function(all, axis, k)
                     local members = group(axis, k)
                     return all[members[#members - rank(axis, k)]]
                 end },
}

for name, both in pairs(COLLECTIVES) do
    check.test(name .. " is what slices give", function()
        local rows = block_rows()
        for _, axis in ipairs { "i", "j", { "i", "j" } } do
            local expected, all = {}, {}
            for k = 0, 7 do all[k] = rows[k] end
            for k = 0, 7 do expected[k + 1] = both[2](all, axis, k) end
            is(np.concatenate(expected), map(function(a) return both[1](a:reshape(-1), axis) end, P { "i", "j" },
                                             P { "i", "j" }), rows)
        end
    end)
end

check.test("numbers, bools and trees in collectives", function()
    local f = map(function(a)
        check.equal({ np.psum(1, "i"), np.psum(1, { "i", "j" }), np.pmean(2, "j"), np.axis_size { "i", "j" } },
                    { 4, 8, 2, 8 })
        return np.psum({ a:gt(3), { a } }, { "i", "j" })
    end, P { "i", "j" }, P())
    local tree = f(np.arange(8))
    check.equal({ tree[1]:totable(), tree[1].dtype, tree[2][1]:totable() }, { { 4 }, "i32", { 28 } })
end)

check.test("names of np.vmap and of the mesh together", function()
    local given = np.arange(24, { dtype = "f32" }):reshape(8, 3) -- 8 devices, 3 examples each
    local function both(f)
        local function body(a)
            return np.vmap(f, { axis_name = "v" })(a:reshape(3)):reshape { 1, 3, -1 }
        end
        return map(body, P { "i", "j" }, P { "i", "j" })(given)
    end
    local function first(array) return array[0][0]:totable() end
    check.equal(first(both(function(a) return np.psum(a, { "i", "v", "j" }) end)), { 276 })
    check.equal(first(both(function(a) return np.pmean(a, { "v", "i" }) end)), { 10 })
    check.equal(first(both(function(a) return np.all_gather(a, { "v", "i", "j" }) end)),
                given.T:reshape(-1):totable())
    check.equal(first(both(function(a) return np.all_gather(a, { "i", "v", "j" }) end)),
                np.transpose(given:reshape(4, 2, 3), { 0, 2, 1 }):reshape(-1):totable())
    check.equal(both(function() return np.axis_index { "v", "i", "j" } end):reshape(-1):totable(),
                np.arange(24):reshape(3, 8).T:reshape(-1):totable())
    local parts = both(function(a) return np.psum_scatter(a * np.arange(24), { "v", "i", "j" }) end)
    check.equal(parts:reshape(-1):totable(), (np.arange(24):reshape(3, 8).T * 276):reshape(-1):totable())
    check.raises(function() both(function(a) return np.ppermute(a, { "v", "i" }, { { 0, 1 } }) end) end,
                 "np.ppermute: takes one axis of np.vmap, or axes of a mesh, got 2 names")
end)

-- ---- Axes that stay whole, bodies in bodies -------------------------------------------------------------------------

check.test("axis_names: over the other axes arrays stay whole", function()
    local f = map(function(a)
        check.equal({ a.shape, a.sharding.manual }, { { 2, 16 }, { "i" } })
        return np.psum(a, "i")
    end, P "i", P(), { axis_names = { "i" } })
    local expected = x[{ { 0, 2 } }] + x[{ { 2, 4 } }] + (x[{ { 4, 6 } }] + x[{ { 6, 8 } }])
    check.equal(f(x):totable(), expected:totable())
    check.equal(f(np.device_put(x, mesh, P(nil, "j"))):totable(), expected:totable())
end)

check.test("a shard_map in the body of another", function()
    local f = map(function(a)
        local rows = map(function(b)
            check.equal({ b.shape, b.sharding.manual }, { { 2, 8 }, { "i", "j" } })
            return np.psum(b, "j")
        end, P(nil, "j"), P(), { axis_names = { "j" } })(a)
        check.equal({ rows.shape, rows.sharding.manual }, { { 2, 8 }, { "i" } })
        return np.psum(rows, "i")
    end, P "i", P(), { axis_names = { "i" } })
    local rows = x[{ {}, { 0, 8 } }] + x[{ {}, { 8, 16 } }]
    check.equal(f(x):totable(),
                (rows[{ { 0, 2 } }] + rows[{ { 2, 4 } }] + (rows[{ { 4, 6 } }] + rows[{ { 6, 8 } }])):totable())
end)

check.test("the inner body reads blocks of the outer one, and names its axes", function()
    local f = map(function(a)
        local double = a * 2
        return map(function(b) return np.psum(b + double, { "i", "j" }) end, P(), P(), { axis_names = { "j" } })(a)
    end, P "i", P(), { axis_names = { "i" } })
    local parts = (x * 3):reshape(4, 2, 16)
    local sum = (parts[0] + parts[0]) + (parts[1] + parts[1]) + ((parts[2] + parts[2]) + (parts[3] + parts[3]))
    check.equal(f(x):totable(), sum:totable())
end)

check.test("a callback with a shard_map of its own, while a body waits", function()
    local inner = map(function(a) return np.psum(a, "i") end, P "i", P())
    local answer = np.callback(function(a) return inner(a):sum() end, { result = { shape = {}, dtype = "f32" } })
    local f = map(function(a)
        local total = answer(np.ones(8)):item()
        return a * total
    end, P "i", P "i")
    check.equal(f(x):totable(), (x * 8):totable())
end)

-- ---- Replication ----------------------------------------------------------------------------------------------------

check.test("Lua may look at what is the same on all devices", function()
    local function body(a)
        local total = np.psum(a:sum(), { "i", "j" })
        if total:item() > 100 then return a / total:item() end
        return a
    end
    local f = map(body, P("i", "j"), P("i", "j"))
    check.equal(f(x):totable(), (x / x:sum():item()):totable())
    check.equal(f(x * 0):totable(), (x * 0):totable())
    check.raises(function()
        map(function(a) return a:sum():item() end, P "i", P())(x)
    end, "np.item: .-differs.-'i'")
    check.equal(map(function(a) return np.all_gather(a, "i", { tiled = true }):sum():item() end, P "i", P())(x),
                x:sum():item())
end)

check.test("check_rep = false takes the word of the caller", function()
    local f = map(function(a) return a - a + 3 end, P("i", "j"), P(), { check_rep = false })
    is(np.full({ 2, 8 }, 3), f, x)
    local g = map(function(a) return np.psum(a, "j") end, P(nil, "j"), P(), { check_rep = false })
    is(x[{ {}, { 0, 8 } }] + x[{ {}, { 8, 16 } }], g, x)
end)

-- ---- Under np.jit ---------------------------------------------------------------------------------------------------

check.test("a jitted function follows the mesh in whose body it is called", function()
    local six = { devices = { "cpu:0", "cpu:1", "cpu:2", "cpu:3", "cpu:4", "cpu:5" } }
    local other = np.mesh({ 2, 3 }, { "j", "i" }, six)
    local traces = 0
    local f = np.jit(function(a)
        traces = traces + 1
        return np.psum(a, "i") + np.axis_size "j" * 100
    end)
    local function on(m) return np.shard_map(f, { mesh = m, in_specs = P(), out_specs = P() })(np.ones(2)):totable() end
    for _ = 1, 4 do check.equal({ on(mesh), on(other) }, { { 204, 204 }, { 203, 203 } }) end
    check.ok(traces < 4, traces) -- that it asks for the mesh is not known before it was recorded once
    check.raises(function() f(np.ones(2)) end, "np.psum: unbound axis name 'i'")
end)

check.test("a jitted function is recorded anew for arrays that lie otherwise", function()
    local f = np.jit(function(a) return a * 2, a.sharding and tostring(a.sharding.spec) or "none" end)
    for _ = 1, 2 do
        for _, spec in ipairs { P(), P "i", P(nil, "j") } do
            local y, text = f(np.device_put(x, mesh, spec))
            check.ok(np.array_equal(y, x * 2) and y.sharding.spec == spec)
            check.ok(loadstring("return np." .. text)() == spec, text)
        end
        local y, text = f(x)
        check.equal({ y.sharding, text }, { nil, "none" })
    end
    check.equal(np.jit_cache(f).traces, 4)
end)

check.test("errors of the body are the same under np.jit", function()
    check.raises(function() np.jit(map(function(a) return np.psum(a, "i") end, P("i", "j"), P()))(x) end,
                 "result 1 of the function at .- may differ over mesh axis 'j'")
    check.raises(function() np.jit(map(function(a) return a end, P { "i", "j" }, P { "i", "j" }))(np.ones(12)) end,
                 "argument 1 %(a%) has shape %(12,%).-but 8 does not divide 12 evenly")
    check.raises(function()
        np.jit(map(function(a) return a * np.psum(a:sum(), { "i", "j" }):item() end, P "i", P "i"))(x)
    end, "item: .-while tracing")
end)

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

check.test("gradients around and inside", function()
    local w = np.sin(x)
    local function loss(check_rep)
        return map(function(a, b) return np.psum((a * a * b):sum(), { "i", "j" }) end,
                   { P("i", "j"), P("i", "j") }, P(), { check_rep = check_rep })
    end
    for _, check_rep in ipairs { true, false } do
        is(2 * x * w, np.grad(loss(check_rep)), x, w)
        check.close(np.grad(function(a) return (np.grad(loss(check_rep))(a, w) * a):sum() end)(x):totable(),
                    (4 * x * w):totable(), 1e-5)
    end
    local inside = map(np.grad(function(b) return (b ^ 3):sum() end), P("i", "j"), P("i", "j"))
    is(3 * x ^ 2, inside, x)
end)

check.test("the gradient of what all devices share is summed over them", function()
    local function loss(scale)
        return map(function(a, s) return np.psum((a * s):sum(), { "i", "j" }) end, { P("i", "j"), P() }, P())(x, scale)
    end
    is(x:sum():item(), np.grad(loss), np.array(2))
    local function captured(scale)
        return map(function(a) return np.psum((a * scale):sum(), { "i", "j" }) end, P("i", "j"), P())(x)
    end
    is(x:sum():item(), np.grad(captured), np.array(2))
end)

-- ---- Shows ----------------------------------------------------------------------------------------------------------

check.test("texts print once, arrays for each device", function()
    local status, out, err = process.run_neap { "--devices", "4", "-e", [[
local mesh = np.mesh({2, 2}, {"i", "j"})
local f = np.shard_map(function(a)
    print("body", a.shape[1])
    print("block", a)
    print("sum", np.psum(a, {"i", "j"}))
end, {mesh=mesh, in_specs=np.P("i", "j"), out_specs={}})
f(np.arange(4):reshape(2, 2))
np.jit(f)(np.arange(4):reshape(2, 2))
]] }
    check.equal({ status, err }, { 0, "" })
    check.equal(out, ([[
body	1
[i=0, j=0] block	[ [0] ]
[i=0, j=1] block	[ [1] ]
[i=1, j=0] block	[ [2] ]
[i=1, j=1] block	[ [3] ]
sum	[ [6] ]
]]):gsub("%[ ", "["):gsub(" %]", "]"):rep(2))
end)

process.cleanup()
check.done()
