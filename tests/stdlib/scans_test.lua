--- scans_test.lua (sanitized with --long): np.associative_scan and np.map: trees, what is called how often, bits on any
-- number of workers, derivatives, np.jit, np.vmap, programs in files, effects, mistakes. Values are held by
-- tests/contracts/transforms_test.lua, meshes by tests/mesh/control_test.lua.
local check = require "tests.lib.check"
local np = require "neap"
local process = require "tests.lib.process"

local function same(a, b, what) check.equal(a:totable(), b:totable(), what) end

--- The running combinations of the rows of x, one after the other.
local function in_order(fn, x, reverse)
    local rows, n = {}, x.shape[1]
    for k = 0, n - 1 do
        local at, before = reverse and n - 1 - k or k, reverse and n - k or k - 1
        rows[at + 1] = k == 0 and x[at] or fn(rows[before + 1], x[at])
    end
    return np.stack(rows)
end

-- ---- np.associative_scan --------------------------------------------------------------------------------------------

--- Pairs (from, to) of integers, combined where they fit; else both are -1: what is not associative would show.
local function span(a, b)
    local fits = np.logical_and((a.to + 1):eq(b.from), a.from:ge(0))
    return { from = np.where(fits, a.from, -1), to = np.where(fits, b.to, -1) }
end

check.test("each element combines those before it, in their order, for every number of elements", function()
    for n = 1, 33 do
        local k = np.arange(n)
        local got = np.associative_scan(span, { from = k, to = k })
        same(got.from, np.zeros(n, { dtype = "i32" }), n)
        same(got.to, k, n)
        -- from the last to the first, spans go down: (n - 1 - k) counts up
        got = np.associative_scan(span, { from = n - 1 - k, to = n - 1 - k }, { reverse = true })
        same(got.from, np.zeros(n, { dtype = "i32" }), n)
        same(got.to, n - 1 - k, n)
    end
end)

check.test("products of matrices, which do not commute", function()
    local m = np.random.normal(np.random.key(0), { 7, 3, 3 }, { dtype = "f64" })
    for _, reverse in ipairs { false, true } do
        local got = np.associative_scan(np.matmul, m, { reverse = reverse })
        check.close(got:totable(), in_order(np.matmul, m, reverse):totable(), 1e-12)
    end
    local turned = np.associative_scan(function(a, b)
        return np.moveaxis(np.matmul(np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)), 0, -1)
    end, np.moveaxis(m, 0, -1), { axis = -1 })
    same(np.moveaxis(turned, -1, 0), np.associative_scan(np.matmul, m))
end)

check.test("arrays of several ranks and dtypes in one tree; none are touched of one or no element", function()
    local tree = { a = np.arange(6), list = { np.ones { 6, 2 }, np.array { true, true, false, true, true, true } } }
    local got = np.associative_scan(function(p, q)
        return { a = p.a + q.a, list = { p.list[1] * q.list[1], np.logical_and(p.list[2], q.list[2]) } }
    end, tree)
    same(got.a, np.cumsum(tree.a))
    same(got.list[2], np.array { true, true, false, false, false, false })
    check.equal(got.list[1].shape, { 6, 2 })
    for n = 0, 1 do
        local x = np.ones { n, 2 }
        same(np.associative_scan(function() error "called" end, x), x)
    end
end)

check.test("fn is called 2 log2(n) times, on fewer than 2 n pairs", function()
    for _, n in ipairs { 2, 3, 100, 1000, 1024, 1025 } do
        local calls, pairs_of = 0, 0
        np.associative_scan(function(a, b)
            calls, pairs_of = calls + 1, pairs_of + a.shape[1]
            return a + b
        end, np.ones(n))
        check.equal(calls <= 2 * math.ceil(math.log(n) / math.log(2)), true, n)
        check.equal(pairs_of < 2 * n, true, n)
    end
end)

check.test("the same bits on any number of workers, and under np.jit", function()
    local code = [[
local np = require "neap"
np.debug.kernels{parallel_min=1, task_min=1}
local x = np.random.normal(np.random.key(3), {5000, 3})
local function f(v) return np.associative_scan(function(a, b) return a * 0.5 + b + a * b * 1e-3 end, v) end
local y = f(x)
print(np.jit(f)(x):eq(y):all())
local bits = y:view("u32"):astype("i64")
print((bits * np.arange(15000):reshape(5000, 3)):sum(), bits:max())]]
    local texts = {}
    for k, workers in ipairs { "1", "2", "7" } do
        local _, out, err = process.run_neap { "--workers", workers, "-e", code }
        check.equal(err, "")
        check.equal(out:match "^[^\n]+", "True")
        texts[k] = out
        check.equal(out, texts[1], workers)
    end
end)

check.test("derivatives, np.jit, np.vmap and programs", function()
    local a = np.array({ 0.5, 2, -1, 0.25, 3 }, { dtype = "f64" })
    local b = np.array({ 1, -1, 2, 0.5, -2 }, { dtype = "f64" })
    local function by_tree(x, y) -- s = x s + y
        return np.associative_scan(function(p, q) return { p[1] * q[1], q[1] * p[2] + q[2] } end, { x, y })[2]
    end
    local function by_loop(x, y)
        return (select(2, np.scan(function(s, e)
            s = e[1] * s + e[2]
            return s, s
        end, np.zeros({}, { dtype = "f64" }), { x, y })))
    end
    local function total(f) return function(x, y) return (f(x, y) * b):sum() end end
    local both = { argnums = { 1, 2 } }
    check.close(by_tree(a, b):totable(), by_loop(a, b):totable(), 1e-14)
    for _, wrap in ipairs { function(f) return f end, np.jit } do
        local gx, gy = wrap(np.grad(total(by_tree), both))(a, b)
        local wx, wy = np.grad(total(by_loop), both)(a, b)
        check.close(gx:totable(), wx:totable(), 1e-12)
        check.close(gy:totable(), wy:totable(), 1e-12)
    end
    np.check_grads(by_tree, { a, b }, { order = 2 })
    local rows = np.stack { a, b, a - b }
    same(np.vmap(by_tree, { in_axes = { 0, false } })(rows, b),
         np.stack { by_tree(rows[0], b), by_tree(rows[1], b), by_tree(rows[2], b) })
    local path = os.tmpname()
    np.trace(by_tree)(a, b):save(path)
    same(np.load_program(path)(a, b), by_tree(a, b))
end)

check.test("inside of control flow, and around it", function()
    local x = np.arange(12, { dtype = "f64" }):reshape(3, 4)
    local _, rows = np.scan(function(c, row) return c, np.associative_scan(np.maximum, row * c) end,
                            np.array(-1, { dtype = "f64" }), x)
    same(rows, -np.broadcast_to(x[{ {}, { 0, 1 } }], { 3, 4 })) -- of numbers that fall the first is the greatest
    local capped = np.associative_scan(function(p, q)
        return np.cond(q:sum():gt(1e9), function() return p end, function() return p + q end)
    end, x)
    same(capped, np.cumsum(x, { axis = 0 }))
end)

check.test("mistakes are told", function()
    local x = np.ones(3)
    for pattern, f in pairs {
        ["argument 1 %(fn%) must be a function"] = function() np.associative_scan(1, x) end,
        ["argument 2 %(elems%) must be an array, got the number 3"] = function() np.associative_scan(np.add, 3) end,
        ["argument 2 %(elems%) must be an array or a tree of them"] = function() np.associative_scan(np.add, {}) end,
        ["one extent along axis 0, got shape %(3,%) at %[1%] and shape %(4,%) at %[2%]"] = function()
            np.associative_scan(np.add, { x, np.ones(4) })
        end,
        ["elems%) at %[2%] has no axis 1: its shape is %(3,%)"] = function()
            np.associative_scan(np.add, { np.ones { 3, 3 }, x }, { axis = 1 })
        end,
        ["axis 2 is out of range"] = function() np.associative_scan(np.add, x, { axis = 2 }) end,
        ["option 'reverse' must be a boolean"] = function() np.associative_scan(np.add, x, { reverse = 1 }) end,
        ["unknown option 'revers'"] = function() np.associative_scan(np.add, x, { revers = true }) end,
        ["got f32 of shape %(1,%), and returned f32 of shape %(%)"] = function()
            np.associative_scan(function(a) return a:sum() end, x)
        end,
        ["got f32 of shape %(1,%), and returned bool of shape %(1,%)"] = function() np.associative_scan(np.less, x) end,
        ["fn must return arrays, got the number 2"] = function()
            np.associative_scan(function() return 2 end, x)
        end,
        ["of the form of elems: a is missing"] = function()
            np.associative_scan(function(p) return { b = p.a } end, { a = x })
        end,
        ["of the form of elems: b is not in it"] = function()
            np.associative_scan(function(p) return { a = p.a, b = p.a } end, { a = x })
        end,
        ["one value %(a table holds several%), got 2"] = function()
            np.associative_scan(function(p, q) return p, q end, x)
        end,
        ["axis 0 is declared, as n %(now 3%)"] = function()
            np.trace(function(v) return np.associative_scan(np.add, v) end, { sizes = { { "n" } } })(x)
        end,
    } do
        check.raises(f, pattern)
    end
end)

-- ---- np.map ---------------------------------------------------------------------------------------------------------

check.test("map: results of f for each part, several of them, trees, with and without batches", function()
    local xs = { a = np.arange(7), list = { np.ones { 7, 2 } } }
    for _, given in ipairs { {}, { batch_size = 0 }, { batch_size = 1 }, { batch_size = 3 }, { batch_size = 7 },
                             { batch_size = 100 } } do
        local sums, tree = np.map(function(x)
            check.equal(x.list[1].shape, { 2 })
            return x.list[1]:sum() + x.a, { square = x.a * x.a, kind = "text" }
        end, xs, given)
        same(sums, np.arange(7, { dtype = "f32" }) + 2)
        same(tree.square, np.arange(7) * np.arange(7))
        check.equal(tree.kind, "text")
        check.equal(np.map(function(x) return x * 2 end, np.zeros { 0, 3 }, given).shape, { 0, 3 })
    end
end)

check.test("map: f is traced once, or once a batch and once for what is left", function()
    for size, want in pairs { [0] = 1, [1] = 1, [2] = 2, [3] = 1, [4] = 2, [6] = 1, [9] = 1 } do
        local calls = 0
        np.map(function(x)
            calls = calls + 1
            return x
        end, np.arange(6 + (size == 2 and 1 or 0)), { batch_size = size })
        check.equal(calls, want, size)
    end
end)

check.test("map: effects happen part by part; in batches they must be unordered", function()
    local text = process.output [[local np = require "neap"
np.map(function(x) print("at", x) end, np.arange(3))]]
    check.equal(text, "at\t0\nat\t1\nat\t2\n")
    local lines = {}
    text = process.output [[local np = require "neap"
np.map(function(x) np.debug.print({ordered=false}, "{}", x) end, np.arange(3), {batch_size=2})]]
    for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
    table.sort(lines)
    check.equal(lines, { "0", "1", "2" })
    check.raises(function() np.map(function(x) print(x) end, np.arange(3), { batch_size = 2 }) end,
                 "ordered effect, which has no order among the examples")
end)

check.test("map: derivatives, np.jit, np.vmap, programs, declared sizes", function()
    local w = np.array({ 2, -1 }, { dtype = "f64" })
    local xs = np.random.normal(np.random.key(1), { 5, 2 }, { dtype = "f64" })
    local function loss(size)
        return function(v, x)
            return np.map(function(row) return np.tanh(row * v):sum() end, x, { batch_size = size })
        end
    end
    local want = np.tanh(xs * w):sum { axis = 1 }
    for _, size in ipairs { false, 2 } do
        local f = loss(size or nil)
        check.close(f(w, xs):totable(), want:totable(), 1e-15)
        same(np.jit(f)(w, xs), f(w, xs))
        np.check_grads(f, { w, xs }, { order = 2 })
        same(np.vmap(f, { in_axes = { 0, false } })(np.stack { w, -w }, xs), np.stack { f(w, xs), f(-w, xs) })
        local path = os.tmpname()
        np.trace(f)(w, xs):save(path)
        same(np.load_program(path)(w, xs), f(w, xs))
        local sized = np.trace(f, { sizes = { {}, { "n", 2 } } })(w, xs)
        for n = 1, 5 do same(sized(w, xs[{ { 0, n } }]), f(w, xs[{ { 0, n } }]), n) end
    end
end)

check.test("map: mistakes are told", function()
    local x = np.ones(3)
    for pattern, f in pairs {
        ["argument 1 %(f%) must be a function"] = function() np.map(x, x) end,
        ["argument 2 %(xs%) must be an array, got the number 3"] = function() np.map(np.sin, 3) end,
        ["argument 2 %(xs%) has no axis 0: its shape is %(%)"] = function() np.map(np.sin, np.array(1)) end,
        ["option 'batch_size' must be an integer from 0 up"] = function() np.map(np.sin, x, { batch_size = -1 }) end,
        ["unknown option 'batch'"] = function() np.map(np.sin, x, { batch = 2 }) end,
    } do
        check.raises(f, pattern)
    end
end)

check.done()
