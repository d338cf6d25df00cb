--- library_test.lua (under tsan with --long): np.tree, np.nn, np.optim, np.data, np.random's arguments. Values of JAX
-- and NumPy are in tests/golden.
local np = require "neap"
local check = require "tests.lib.check"

check.test("tree order", function()
    local t = { "one", "two", b = { 3 }, a = "four" }
    check.equal(np.tree.leaves(t), { "one", "two", "four", 3 })
    check.equal(np.tree.paths(t)[4], { "b[1]", 3 })
    local leaves, structure = np.tree.flatten(t)
    check.equal(np.tree.unflatten(structure, leaves), t)
    check.raises(function() np.tree.unflatten(structure, { 1 }) end, "4 leaves, got 1")
end)

check.test("tree functions", function()
    local sum = np.tree.map(function(a, b) return a + b end, { 1, x = { 2 } }, { 10, x = { 20 } })
    check.equal(sum, { 11, x = { 22 } })
    check.equal(np.tree.reduce(function(a, b) return a + b end, { 1, { 2, 3 } }, 10), 16)
    check.equal(np.tree.size { np.ones(2, 3), 4 }, 7)
    check.raises(function() np.tree.map(tostring, { 1, x = {} }, { 1, x = 2 }) end, "a leaf at x")
    check.raises(function() np.tree.map(tostring, { x = 1 }, { y = 1 }) end, "no key x")
    check.raises(function() np.tree.map(tostring, { 1 }, { 1, 2 }) end, "2 keys")
    local cycle = {}
    cycle[1] = cycle
    check.raises(function() np.tree.leaves(cycle) end, "cycle")
end)

check.test("layers", function()
    local model = np.nn.Sequential { np.nn.Dense(3, 4, { init = np.nn.he_normal }), np.nn.relu,
                                     np.nn.Dense(4, 2, { bias = false }) }
    local params = model:init(np.random.key(0))
    check.equal({ params[1].w.shape, params[1].b.shape, params[3].w.shape }, { { 3, 4 }, { 4 }, { 4, 2 } })
    check.equal(params[3].b, nil)
    check.equal(model(params, np.ones(5, 3)).shape, { 5, 2 })
    check.raises(function() model({}, np.ones(5, 3)) end, "model:init")
    check.raises(function() np.nn.Sequential { 3 } end, "item 1 must be a layer")
end)

check.test("losses", function()
    local logits = np.array { { 2, 0, 0 }, { 0, 3, 0 } }
    local labels = np.array({ 0, 2 }, { dtype = "i32" })
    local each = np.nn.cross_entropy(logits, labels, { reduction = "none" })
    check.close(each:totable(), { 0.2395448, 3.0949229 }, 1e-6)
    check.close(np.nn.accuracy(logits, labels):item(), 0.5)
    check.raises(function() np.nn.cross_entropy(logits, np.ones(2)) end, "labels must be integers")
    check.raises(function() np.nn.cross_entropy(logits, np.arange(3)) end, "labels must have the shape")
    local infinite = np.array { { 0, -math.huge } }
    check.equal(np.nn.cross_entropy(infinite, np.array({ 0 }, { dtype = "i32" })):item(), 0)
end)

check.test("optimizers", function()
    local params = { w = np.array { 1, 2 } }
    local grads = { w = np.array { 0.5, -1 } }
    local opt = np.optim.sgd { lr = 0.1 }
    local new, state = opt:update(grads, opt:init(params), params)
    check.close(new.w:totable(), { 0.95, 2.1 }, 1e-6)
    check.equal(state.step:item(), 1)
    check.close(opt:update(grads, state, params, 1).w:totable(), { 0.5, 3 }, 1e-6)
    check.raises(function() np.optim.sgd {} end, "option 'lr'")
    check.raises(function() np.optim.adam { lr = 1, beta = 2 } end, "unknown option 'beta'")
    check.raises(function() np.optim.adam { lr = 1, b1 = 2 } end, "option 'b1'")
    check.raises(function() np.optim.adam { lr = 1 }.init {} end, "np%.optim: call it as opt:init%(params%)")
    check.raises(function() opt:update(grads, {}, params) end, "opt:init")
    local scheduled = np.optim.sgd { lr = np.optim.warmup(np.optim.cosine_decay(1, 10), 2) }
    check.close(scheduled:update(grads, scheduled:init(params), params).w:totable(), { 0.75, 2.5 }, 1e-6)
    local clipped = np.optim.clip_by_global_norm({ np.array { 3, 4 } }, 1)
    check.close(clipped[1]:totable(), { 0.6, 0.8 }, 1e-6)
    check.close(np.optim.clip_by_global_norm({ np.array { 0.3, 0.4 } }, 1)[1]:totable(), { 0.3, 0.4 }, 1e-6)
end)

check.test("minibatches", function()
    local x, y = np.arange(10):reshape(10, 1), np.arange(10)
    local seen, sizes = {}, {}
    for bx, by in np.data.batches({ x, y }, 4, { key = np.random.key(3) }) do
        check.equal(bx:reshape(-1):totable(), by:totable())
        sizes[#sizes + 1] = #by
        for _, v in ipairs(by:totable()) do seen[#seen + 1] = v end
    end
    check.equal(sizes, { 4, 4, 2 })
    local again = {}
    for _, by in np.data.batches({ x, y }, 10, { key = np.random.key(3) }) do again = by:totable() end
    check.equal(again, seen)
    table.sort(seen)
    check.equal(seen, y:totable())
    local count = 0
    for _ in np.data.batches(y, 4, { drop_last = true }) do count = count + 1 end
    check.equal({ count, np.data.count(10, 4, { drop_last = true }), np.data.count(10, 4) }, { 2, 2, 3 })
    check.raises(function() np.data.batches({ x, np.ones(3) }, 4) end, "array 2 has 3 examples, array 1 has 10")
    check.raises(function() np.data.batches({ x }, 0) end, "argument 2 %(size%)")
end)

check.test("arguments of random functions", function()
    local key = np.random.key(1)
    local k1, k2 = np.random.split(key):unpack()
    check.ok(not np.array_equal(k1, k2))
    check.equal(np.random.normal(key).shape, {})
    check.equal(np.random.normal(key, 3).shape, { 3 })
    check.equal(np.random.uniform(key, { 2 }, { dtype = "f64" }).dtype, "f64")
    local bounded = np.random.uniform(key, { 1000 }, { minval = -2, maxval = np.array(-1) })
    check.ok(bounded:min():item() >= -2 and bounded:max():item() < -1)
    local u8 = np.random.randint(key, { 5000 }, 0, 256, { dtype = "u8" })
    check.equal({ u8.dtype, u8:min():item(), u8:max():item() }, { "u8", 0, 255 })
    local weighted = np.random.choice(key, 3, { 300 }, { p = { 0, 1, 0 } })
    check.equal({ weighted:min():item(), weighted:max():item() }, { 1, 1 })
    check.equal(np.unique(np.random.choice(key, 5, { 5 }, { replace = false })):totable(), { 0, 1, 2, 3, 4 })
    check.raises(function() np.random.normal(3) end, "argument 1 %(key%) must be a key")
    check.raises(function() np.random.normal(np.ones(2)) end, "u32 of shape %(2,%), got f32")
    check.raises(function() np.random.key(0.5) end, "must be an integer")
    check.raises(function() np.random.uniform(key, { 2 }, { dtype = "i32" }) end, "float dtype")
    check.raises(function() np.random.choice(key, 3, { 5 }, { replace = false }) end, "cannot draw 5 of 3")
end)

check.test("draws do not depend on how they are cut", function()
    local key = np.random.key(9)
    check.equal(np.random.bits(key, { 7 }):totable(), np.random.bits(key, { 20 })[{ { 0, 7 } }]:totable())
end)

check.test("sorting", function()
    local x = np.array { { 3, 0 / 0, -0.0 }, { 0, 2, 1 } }
    check.equal(np.argsort(x):totable(), { { 2, 0, 1 }, { 0, 2, 1 } })
    check.equal(np.sort(x, { descending = true })[1]:totable(), { 2, 1, 0 })
    check.equal(np.argsort(x, { axis = 0 }):totable(), { { 1, 1, 0 }, { 0, 0, 1 } })
    check.equal(np.argsort(np.array { 0, -0.0, 0 }):totable(), { 0, 1, 2 }, "stable")
    local long = np.random.randint(np.random.key(4), { 5000 }, -1000, 1000)
    local sorted = long:totable()
    table.sort(sorted)
    check.equal(np.sort(long):totable(), sorted)
    for _, dtype in ipairs { "u8", "u32", "i64", "f64", "bool" } do
        local y = np.abs(long):remainder(2):astype(dtype)
        local order = np.argsort(y, { descending = true })
        local expected = np.sort(y:astype("i32"), { descending = true })
        check.equal(np.take(y, order):astype("i32"):totable(), expected:totable())
    end
    local function weighted(v) return (np.sort(v) * np.array { 1, 2, 3 }):sum() end
    check.equal(np.grad(weighted)(np.array { 5, 1, 3 }):totable(), { 3, 1, 2 })
end)

check.test("host-side functions", function()
    check.equal(np.unique(np.array { 2, 1, 2, 0 / 0, 0 / 0 }):totable(), { 1, 2, 0 / 0 })
    local rows, columns = np.nonzero(np.eye(2))
    check.equal({ rows:totable(), columns:totable() }, { { 0, 1 }, { 0, 1 } })
    check.equal(np.array_equal({ 1, 2 }, np.array { 1, 2 }), true)
    check.equal(np.allclose(np.ones(2), { 1, 1.000001 }), true)
    check.equal(np.allclose(np.ones(2), { 1, 1.1 }), false)
end)

check.test("einsum and tensordot", function()
    local a, b = np.arange(6, { dtype = "f32" }):reshape(2, 3), np.arange(12, { dtype = "f32" }):reshape(3, 4)
    check.equal(np.einsum("ij,jk->ik", a, b):totable(), a:matmul(b):totable())
    check.equal(np.einsum("ij->j", a):totable(), a:sum { axis = 0 }:totable())
    check.equal(np.einsum("ij,ij->i", a, a):totable(), { 5, 50 })
    check.equal(np.einsum("ij,jk", a, b):totable(), a:matmul(b):totable())
    check.equal(np.tensordot(a, b, 1):totable(), a:matmul(b):totable())
    check.equal(np.tensordot(a, a, { { 0, 1 }, { 0, 1 } }):item(), 55)
    check.raises(function() np.einsum("ij,jk->ik", a, a) end, "label 'j' has extent 3 and 2")
    check.raises(function() np.einsum("ij,jk->ik", a) end, "names 2 arrays, got 1")
    check.raises(function() np.einsum("ii->i", a) end, "label 'i' has extent 2 and 3 in one array")
    check.raises(function() np.einsum("i", a) end, '"i" has 1 labels, array 1 has 2 axes')
    check.raises(function() np.einsum("...ijk->i", a) end, '"...ijk" has 3 labels, array 1 has 2 axes')
    check.equal(np.einsum("...i->i", a):totable(), a:sum { axis = 0 }:totable()) -- as in JAX
    check.raises(function() np.einsum("...i,...i->...", a, b) end, "axis %-1 of the ellipsis has extent 2 and 3")
    check.raises(function() np.einsum("i...j...->ij", a) end, "two ellipses")
    check.raises(function() np.einsum("i..j->ij", a) end, "cannot read")
    check.raises(function() np.einsum("ij->k", a) end, "label 'k' of the result stands in no array")
    check.raises(function() np.einsum("ij->ii", a) end, "label 'i' stands twice in the result")
    check.raises(function() np.einsum("ij>i", a) end, "cannot read")
end)

check.test("einsum: ellipses and diagonals under vmap and jit", function()
    local a, b = np.arange(24, { dtype = "f32" }):reshape(2, 4, 3), np.arange(12, { dtype = "f32" }):reshape(3, 4)
    local function f(x) return np.einsum("...j,jk->k...", x, b) end
    check.equal(np.vmap(f)(a):totable(), np.stack { f(a[0]), f(a[1]) }:totable())
    check.equal(np.jit(f)(a):totable(), f(a):totable())
    local function trace(x) return np.einsum("ii", x[{ { 0, 3 } }]) end
    check.equal(np.vmap(trace)(a):totable(), { 0 + 4 + 8, 12 + 16 + 20 })
    local x = np.ones(300, 300):wait() -- a diagonal is a view: nothing of the size of x is stored
    np.memory.reset_peak()
    local live = np.memory().live
    np.einsum("ii->i", x):wait()
    check.ok(np.memory().peak - live < 100000, "a diagonal copies its matrix")
end)

check.done()
