--- staging_size_test.lua (not under tsan, sanitized with --long): staging has no hidden loops and no hidden depth: what
-- a transformation records does not depend on the number of examples or turns, functions are traced once for each form
-- of their arguments, and a program of 100,000 operations passes through everything on a small C stack.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"

--- How much counters grow while f runs and all of it is computed: those named, in a list.
local function growth(f, ...)
    np.wait_all()
    local before = np.debug.counters()
    local results = { f() }
    np.wait_all()
    local after, list = np.debug.counters(), {}
    for k, name in ipairs { ... } do list[k] = after[name] - before[name] end
    return list, results
end

local function normal(seed, ...)
    return np.random.normal(np.random.key(seed), { ... }):wait()
end

-- ---- Examples -------------------------------------------------------------------------------------------------------

--- A loss of a small network for one example.
local function loss(params, x, label)
    local logits = np.tanh(x:matmul(params.w1) + params.b1):matmul(params.w2)
    return np.nn.cross_entropy(logits, label)
end

local params = { w1 = normal(1, 4, 8), b1 = np.zeros(8):wait(), w2 = normal(2, 8, 3) }

check.test("a batch of 1000 takes as many nodes and steps as one of 2", function()
    local functions = {
        loss = loss, gradient = np.grad(loss),
        sorted = function(_, x) return np.sort(np.take(x, np.array({ 2, 0 }, { dtype = "i32" }))) end,
        nested = function(p, x) return np.vmap(function(row) return np.softmax(row * x) end)(p.w1.T) end,
    }
    for name, f in pairs(functions) do
        local counts = {}
        for k, n in ipairs { 2, 1000 } do
            local x, labels = normal(3, n, 4), np.random.randint(np.random.key(4), { n }, 0, 3):wait()
            local over = np.vmap(f, { in_axes = { false, 0, 0 } })
            counts[k] = growth(function() return over(params, x, labels) end, "nodes", "launches")
        end
        check.equal(counts[2], counts[1], name)
        check.ok(counts[1][1] > 0 and counts[1][2] > 0, name)
    end
end)

check.test("a scan of 100,000 turns takes as many nodes and steps as one of 10", function()
    local function run(n)
        local function f(x)
            return np.scan(function(c, y)
                c = np.sin(c + y)
                return c, c:sum()
            end, x, np.arange(n, { dtype = "f32" }))
        end
        local x, counts = np.zeros(3):wait(), {}
        counts[1] = np.trace(f)(x):info()
        counts[2] = growth(function() return f(x) end, "nodes", "launches", "programs")
        counts[3] = growth(function() return np.jit(f)(x) end, "nodes", "programs")
        counts[4] = growth(function() return np.vmap(f)(np.stack { x, x }) end, "nodes", "launches", "programs")
        local function last(y) return (f(y)):sum() end
        counts[5] = np.trace(np.grad(last))(x):info()
        counts[6] = growth(function() return np.grad(last)(x) end, "nodes", "launches", "programs")
        return counts
    end
    check.equal(run(release and 100000 or 1000), run(10))
end)

-- ---- Tracing --------------------------------------------------------------------------------------------------------

check.test("a jitted function is traced once for each form of its arguments", function()
    local runs = 0
    local f = np.jit(function(x, options)
        runs = runs + 1
        return x * options.scale + 1
    end)
    local x = normal(5, 3)
    local function programs(...)
        local given = { ... }
        return growth(function() return f(unpack(given)) end, "programs")[1]
    end
    check.equal({ programs(x, { scale = 2 }), runs }, { 1, 1 })
    check.equal({ programs(x + 1, { scale = 3.5 }), runs }, { 0, 1 }, "other values")
    check.equal({ programs(np.zeros(3), { scale = 2 }), runs }, { 0, 1 }, "a lazy constant")
    check.equal({ programs(np.broadcast_to(x[0], { 3 }), { scale = 2 }), runs }, { 0, 1 }, "a view")
    check.equal({ programs(normal(6, 4), { scale = 2 }), runs }, { 1, 2 }, "another shape")
    check.equal({ programs(x:astype "f64", { scale = 2 }), runs }, { 1, 3 }, "another dtype")
    check.equal({ programs(x, { scale = np.array(2) }), runs }, { 1, 4 }, "an array for a number")
    check.equal({ programs(x, { scale = 2, more = 1 }), runs }, { 1, 5 }, "another key")
    check.equal({ programs(x, { scale = 2 }), runs }, { 0, 5 }, "the first form again")
end)

check.test("equal programs share a plan, and operations on other numbers too", function()
    local x = normal(7, 5)
    local function fresh(k) return np.jit(function(y) return np.tanh(y) * k + y:sum() end) end
    fresh(1)(x):wait()
    check.equal(growth(function() return fresh(2)(x), fresh(3)(x) end, "plans", "programs"), { 0, 2 })
end)

-- ---- Memory ---------------------------------------------------------------------------------------------------------

local MIB = 2 ^ 20

--- The bytes that f takes at its peak beyond what was live before.
local function peak_of(f)
    np.wait_all()
    collectgarbage()
    collectgarbage()
    np.ones(1):item() -- gives back what was collected
    np.memory.reset_peak()
    local before = np.memory().live
    f():wait()
    np.wait_all()
    return np.memory().peak - before
end

check.test("a donated array lends its memory to the result", function()
    local function f(x) return x * 2 + 1 end
    local kept, donated = np.jit(f), np.jit(f, { donate = 1 })
    local function fresh() return np.full({ MIB }, 3):wait() * 1 end -- 4 MiB
    kept(fresh())
    donated(fresh())
    local x, y = fresh():wait(), fresh():wait()
    local more = peak_of(function() return kept(x) end)
    check.ok(more >= 4 * MIB, more)
    local z
    local less = peak_of(function()
        z = donated(y)
        return z
    end)
    check.equal(more - less, 4 * MIB)
    check.equal({ z[0]:item(), x[0]:item(), y:is_deleted() }, { 7, 3, true })
    check.raises(function() return y + 1 end, "donated")
end)

check.test("checkpoints lower the peak of a deep network", function()
    local LAYERS, SIZE, EACH = 64, MIB / 16, 8 -- MIB / 4 for an activation
    local w = normal(8, 256, 256) * 0.05
    local function layers(x)
        for _ = 1, EACH do x = np.tanh(x:matmul(w)) end
        return x
    end
    local function network(part)
        return np.jit(np.grad(function(x)
            for _ = 1, LAYERS / EACH do x = part(x) end
            return x:sum()
        end))
    end
    local x = normal(9, SIZE / 256, 256)
    local plain, spared = network(layers), network(np.checkpoint(layers))
    check.equal(plain(x):totable(), spared(x):totable())
    local much, little = peak_of(function() return plain(x) end), peak_of(function() return spared(x) end)
    check.ok(much >= LAYERS * SIZE * 4, much)
    check.ok(little < much / 3, ("%d bytes, %d without checkpoints"):format(little, much))
end)

-- ---- Depth ----------------------------------------------------------------------------------------------------------

local LONG = [[
    local N = %d
    local function f(x)
        for k = 1, N / 2 do x = (x + 0.001 * (k %% 7)) * 0.9999 end
        return x:sum()
    end
    local function near(a, b) assert(math.abs(a - b) < 1e-3, a .. " is not near " .. b) end
    local function pass()
        local x = np.array { 1, 2 }
        local value = f(x):item()
        local program = np.trace(f)(x)
        assert(program:info().nodes >= N and #program:text { lines = 10 } < 2000 and #tostring(program) > 20 * N)
        assert(program(x):item() == value and np.jit(f)(x):item() == value)
        local slope = 0.9999 ^ (N / 2)
        near(np.grad(f)(x)[1]:item(), slope)
        near(np.jit(np.grad(f))(x)[1]:item(), slope)
        near(np.grad(program)(x)[1]:item(), slope)
        local y, dy = np.jvp(f, { x }, { np.ones(2) })
        assert(y:item() == value)
        near(dy:item(), 2 * slope)
        local _, pull = np.vjp(f, x)
        near(pull(1)[1]:item(), slope)
        local each = np.vmap(f)(np.stack { x, x * 2 })
        assert(each[0]:item() == value and each[1]:item() ~= value)
        local z = np.deferred(function() return f(x) end)
        local exported = np.export { inputs = { x = x }, outputs = { z = z } }
        assert(exported(x):item() == value)
        assert(#tostring(np.explain(f(x))) < 20000)
    end
    local function live()
        np.wait_all()
        jit.flush() -- compiled code of the library may hold a function of this script, which holds x
        for _ = 1, 3 do
            collectgarbage()
            np.ones(1):item() -- gives back what was collected
        end
        return np.memory().live, np.debug.counters().live_handles
    end
    np.debug.limits { nodes = 0, bytes = 0 }
    pass()
    local bytes, handles = live()
    pass()
    local bytes_again, handles_again = live()
    assert(bytes_again <= bytes and handles_again <= handles, "something was kept")
    print "done"
]]

check.test("a program of 100,000 operations is traced, derived, run, printed and freed on a small stack", function()
    local script = process.file(LONG:format(release and 100000 or 10000))
    local status, out, err = process.run { "bash", "-c", "ulimit -s 1024 && exec \"$0\" \"$1\"", process.neap, script }
    check.equal({ status, out, err }, { 0, "done\n", "" })
end)

process.cleanup()
check.done()
