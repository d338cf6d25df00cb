--- vmap_test.lua (under tsan with --long): np.vmap: trees and axes of arguments and results, nesting with itself and
-- the other transformations, what functions read from around them, effects, errors. That each op batches as a loop
-- computes it: tests/ops/batch_test.lua.
local check = require "tests.lib.check"
local np = require "neap"

local x = np.arange(6, { dtype = "f32" }):reshape(3, 2)
local w = np.array { { 1, 2 }, { 3, 4 } }

local function values(array)
    return array:totable()
end

-- ---- Axes -----------------------------------------------------------------------------------------------------------

check.test("examples lie along axis 0 unless in_axes says otherwise", function()
    check.equal(values(np.vmap(function(a) return a:sum() end)(x)), { 1, 5, 9 })
    check.equal(values(np.vmap(function(a) return a:sum() end, { in_axes = 1 })(x)), { 6, 9 })
    check.equal(values(np.vmap(function(a) return a:sum() end, { in_axes = -1 })(x)), { 6, 9 })
    check.equal(values(np.vmap(function(a, b) return a + b end, { in_axes = { 1, 0 } })(x, np.array { 10, 20 })),
                { { 10, 12, 14 }, { 21, 23, 25 } })
end)

check.test("what has no axis is shared", function()
    local f = np.vmap(function(a, b) return a * b end, { in_axes = { 0, false } })
    check.equal(values(f(x, np.array { 1, 10 })), { { 0, 10 }, { 2, 30 }, { 4, 50 } })
    check.equal(values(f(x, 3)), { { 0, 3 }, { 6, 9 }, { 12, 15 } }, "a number")
    check.equal(values(np.vmap(function(a, b) return a * b end, { in_axes = { 0 } })(x, 3)),
                { { 0, 3 }, { 6, 9 }, { 12, 15 } }, "nil is false")
    local seen
    np.vmap(function(a, b, c, d)
        seen = { b, c, d }
        return a
    end, { in_axes = { 0, false, false, 0 } })(x, 3, true, "text")
    check.equal(seen, { 3, true, "text" }, "as they are")
end)

check.test("in_axes and out_axes are prefixes of trees", function()
    local function f(p, b) return { sum = p.w:sum() + b, both = { p.w, p.v } }, p.v end
    local p = { w = x, v = np.array { 7, 8 } }
    local r, v = np.vmap(f, { in_axes = { { w = 0 }, 0 }, out_axes = { { sum = 0, both = { -1, false } }, false } })(
        p, np.array { 100, 200, 300 })
    check.equal(values(r.sum), { 101, 205, 309 })
    check.equal(values(r.both[1]), { { 0, 2, 4 }, { 1, 3, 5 } })
    check.equal(values(r.both[2]), { 7, 8 })
    check.equal(values(v), { 7, 8 })
    local q = np.vmap(function(t) return t[1] + t[2].y end, { in_axes = { 1 } })({ x, { y = x } })
    check.equal(values(q), { { 0, 4, 8 }, { 2, 6, 10 } })
end)

check.test("results get their axis, whether they depend on the example or not", function()
    local a, b, c, d = np.vmap(function(e) return e, w, 5, true end, { out_axes = { 1, 2, 0, 0 } })(x)
    check.equal(values(a), values(x.T))
    check.equal(b.shape, { 2, 2, 3 })
    check.equal(values(b)[1], { { 1, 1, 1 }, { 2, 2, 2 } })
    check.equal(values(c), { 5, 5, 5 })
    check.equal(values(d), { true, true, true })
    local e, number, text = np.vmap(function(y) return y, 5, "text" end, { out_axes = { 0, false, 0 } })(x)
    check.equal({ values(e), number, text }, { values(x), 5, "text" })
    check.equal(select("#", np.vmap(function() end)(x)), 0)
end)

check.test("axis_size stands in for an axis, and batches may be empty", function()
    local same = np.vmap(function() return w[0] end, { in_axes = false, axis_size = 2 })
    check.equal(values(same()), { { 1, 2 }, { 1, 2 } })
    local none = np.vmap(function(a) return a * 2, a:sum() end)
    local a, s = none(np.zeros { 0, 4 })
    check.equal({ a.shape, s.shape }, { { 0, 4 }, { 0 } })
end)

-- ---- Composition ----------------------------------------------------------------------------------------------------

check.test("vmap inside vmap", function()
    local outer = np.vmap(function(a)
        return np.vmap(function(b) return (a * b):sum() end)(w)
    end)
    check.equal(values(outer(x)), values(np.matmul(x, w.T)))
    local twice = np.vmap(np.vmap(function(a, b) return a - b end, { in_axes = { 0, false } }),
                          { in_axes = { false, 0 } })
    check.equal(values(twice(np.array { 1, 2, 3 }, np.array { 10, 20 })), { { -9, -8, -7 }, { -19, -18, -17 } })
end)

check.test("gradients of batches, and of each example", function()
    local function loss(weights, a) return (np.matmul(weights, a) ^ 2):sum() end
    local each = np.vmap(np.grad(loss), { in_axes = { false, 0 } })(w, x)
    check.equal(each.shape, { 3, 2, 2 })
    local total = np.grad(function(weights)
        return np.vmap(function(a) return loss(weights, a) end)(x):sum()
    end)(w)
    for k = 0, 2 do check.close(values(each[k]), values(np.grad(loss)(w, x[k]))) end
    check.close(values(each:sum { axis = 0 }), values(total))
    local second = np.vmap(np.grad(function(s) return np.grad(function(t) return t ^ 3 end)(s) end))
    check.close(values(second(np.array { 1, 2, 3 })), { 6, 12, 18 })
end)

check.test("gradients reach what the function reads from around it", function()
    local g = np.grad(function(v)
        return np.vmap(function(a) return (a * v):sum() end)(x):sum()
    end)(np.array { 1, 1 })
    check.equal(values(g), { 6, 9 })
end)

check.test("jit inside and outside", function()
    local function f(a) return np.tanh(np.matmul(w, a)):sum() end
    local expected = values(np.vmap(f)(x))
    check.equal(values(np.jit(np.vmap(f))(x)), expected)
    check.equal(values(np.vmap(np.jit(f))(x)), expected)
    check.equal(values(np.jit(np.vmap(np.jit(np.grad(f))))(x)), values(np.vmap(np.grad(f))(x)))
    local program = np.trace(np.vmap(f))(x)
    check.equal(values(program(x)), expected)
end)

check.test("numbers of a jitted function stay numbers inside a batch", function()
    local f = np.jit(function(a, n)
        return np.vmap(function(e, m) return e * m + n end, { in_axes = { 0, false } })(a, n)
    end)
    local i = np.arange(4)
    check.equal({ values(f(i, 2)), f(i, 2).dtype }, { { 2, 4, 6, 8 }, "i32" })
    check.equal(values(f(i:astype "f32", 0.5)), { 0.5, 1, 1.5, 2 })
    check.equal(values(f(i, 0.5)), { 0.5, 1, 1.5, 2 })
end)

check.test("deferred mode goes through batches", function()
    local y = np.deferred(function() return np.vmap(function(a) return np.matmul(w, a) end)(x) end)
    check.ok(y:is_deferred(), "not started")
    local program = np.export { inputs = { x = x, w = w }, outputs = { y = y } }
    check.equal(values(program { x = x + 1, w = w }), values(np.matmul(x + 1, w.T)))
end)

check.test("results are lazy and follow later values", function()
    local y = np.vmap(function(a) return a + 1 end)(x * 2)
    check.ok(y:is_deferred(), "not started")
    check.equal(values(y), { { 1, 3 }, { 5, 7 }, { 9, 11 } })
end)

check.test("random numbers of each key are those of the key alone", function()
    local keys = np.random.split(np.random.key(3), 5)
    local function draw(key)
        local one, two = np.random.split(key):unpack()
        return np.random.normal(one, { 3 }), np.random.randint(two, { 2 }, 0, 100), np.random.permutation(one, 6)
    end
    local a, b, c = np.vmap(draw)(keys)
    for k = 0, 4 do
        local one, two, three = draw(keys[k])
        check.equal({ values(a[k]), values(b[k]), values(c[k]) }, { values(one), values(two), values(three) })
    end
end)

check.test("as many nodes for two examples as for a thousand", function()
    local function layer(weights, a) return np.tanh(np.matmul(weights, a)) end
    local function loss(weights, a) return (layer(weights, layer(weights, a)) ^ 2):mean() end
    local function counts(n)
        local before = np.debug.counters()
        np.wait_all()
        local g = np.vmap(np.grad(loss), { in_axes = { false, 0 } })(w, np.ones { n, 2 })
        np.force(g)
        np.wait_all()
        local after = np.debug.counters()
        return after.nodes - before.nodes, after.launches - before.launches
    end
    counts(2)
    local nodes, launches = counts(2)
    local more_nodes, more_launches = counts(1000)
    check.equal({ more_nodes, more_launches }, { nodes, launches })
end)

-- ---- Effects --------------------------------------------------------------------------------------------------------

check.test("ordered effects are refused by name and line", function()
    check.raises(function() np.vmap(function(a)
        print(a)
        return a
    end)(x) end, "vmap_test.lua:%d+: np.vmap: the print at .-vmap_test.lua:%d+ is an ordered effect")
    check.raises(function() np.vmap(function(a)
        np.callback(function() end)(a)
        return a
    end)(x) end, "the callback at .-vmap_test.lua:%d+ is an ordered effect")
end)

check.test("unordered callbacks are called for each example, in order", function()
    local seen = {}
    local f = np.vmap(function(a)
        return np.callback(function(v)
            seen[#seen + 1] = v:totable()
            return v:sum()
        end, { ordered = false, result = { shape = {}, dtype = "f32" } })(a)
    end)
    check.equal(values(f(x)), { 1, 5, 9 })
    check.equal(seen, values(x))
    seen = {}
    check.equal(values(np.jit(f)(x)), { 1, 5, 9 })
    check.equal(seen, values(x))
end)

-- ---- Errors ---------------------------------------------------------------------------------------------------------

check.test("errors name argument, leaf, axis and shape", function()
    local function id(a) return a end
    local y = np.ones { 4, 2 }
    check.raises(function() np.vmap(id)(x, x, { y = y }) end,
                 "the axes of examples must have one size, got 3 %(axis 0 of argument 1, shape %(3, 2%), and 1 more%), "
                 .. "4 %(axis 0 of argument 3.y, shape %(4, 2%)%)")
    check.raises(function() np.vmap(id, { in_axes = 2 })({ x }) end,
                 "in_axes: axis 2 of argument 1%[1%] is out of range for shape %(3, 2%)")
    check.raises(function() np.vmap(id)(np.array(1)) end, "argument 1 is an array without axes")
    check.raises(function() np.vmap(id)(x, 2) end, "argument 2 is a number")
    check.raises(function() np.vmap(id, { in_axes = false })(x) end, "no argument has an axis of examples")
    check.raises(function() np.vmap(id, { axis_size = 5 })(x) end, "axis_size is 5, but .- 3 %(axis 0 of argument 1")
    check.raises(function() np.vmap(id, { in_axes = { 0, 0 } })(x) end,
                 "'in_axes' has an entry 2, but there is 1 argument")
    check.raises(function() np.vmap(id, { in_axes = { { a = 0 } } })(x) end,
                 "has a table for argument 1, which is an array")
    check.raises(function() np.vmap(id, { in_axes = { { a = 0 } } })({ b = x }) end, "names argument 1.a, which is not")
    check.raises(function() np.vmap(id, { in_axes = "0" }) end, "in_axes.-axes: integers, false")
    check.raises(function() np.vmap(id, { axis_size = -1 }) end, "axis_size.-an integer from 0 up")
    local cycle = {}
    cycle[1] = cycle
    check.raises(function() np.vmap(id)(cycle) end, "nested more than 200 deep")
    check.raises(function() np.vmap(id, { in_axes = { cycle } }) end, "in_axes.-axes: integers, false")
    check.raises(function() np.vmap(3) end, "argument 1 .-a function")
    check.raises(function() np.vmap(id, { out_axes = false })(x) end, "result 1 depends on the example")
    check.raises(function() np.vmap(id, { out_axes = 2 })(x) end,
                 "out_axes: axis 2 of result 1 is out of range for shape %(3, 2%)")
    check.raises(function() np.vmap(id, { out_axes = { 0, 0 } })(x) end,
                 "'out_axes' has an entry 2, but there is 1 result")
    check.raises(function() np.vmap(function() return print end)(x) end, "must return arrays, numbers")
    check.raises(function() np.vmap(function(a) return a:item() end)(x) end, "vmap_test.lua:%d+")
    check.raises(function() np.vmap(function(a) return a:reshape(5) end)(x) end, "reshape")
end)

check.test("an error in the function leaves nothing open", function()
    check.raises(function() np.vmap(function() error "on purpose" end)(x) end, "on purpose")
    check.equal(values(np.vmap(function(a) return a:sum() end)(x)), { 1, 5, 9 })
    local kept
    np.vmap(function(a)
        kept = a
        return a
    end)(x)
    check.raises(function() return kept + 1 end, "belongs to a trace that has ended")
end)

check.done()
