--- rules_test.lua (sanitized with --long): what a flush computes, numbers as operands, weak numbers and default
-- dtypes, depth, and levels, as a script sees them.
local check = require "tests.lib.check"
local np = require "neap"

local function launches(f)
    local before = np.debug.counters().launches
    f()
    return np.debug.counters().launches - before
end

local function plans(f)
    local before = np.debug.counters().plans
    f()
    return np.debug.counters().plans - before
end

local function ready(values)
    local x = np.array(values)
    np.force(x)
    x:wait()
    return x
end

-- ---- What a flush computes ------------------------------------------------------------------------------------------

check.test("a chain is one kernel, and a second demand computes its interior once", function()
    local x = ready { 1, 2, 3 }
    local inner = x + 1
    local outer = inner * 2
    check.equal(launches(function() np.force(outer) end), 1)
    check.equal(launches(function() check.equal(inner:totable(), { 2, 3, 4 }) end), 1)
    check.equal(launches(function() check.equal(inner:totable(), { 2, 3, 4 }) end), 0)
    check.equal(outer:totable(), { 4, 6, 8 })
end)

check.test("an expression over large arrays is not cut while its operands are pending", function()
    local x = np.full({ 2 ^ 23 }, 0.5):wait()
    local y = np.arange(2 ^ 23, { dtype = "f32" }):wait()
    check.equal(launches(function()
        np.where((x * y):gt(x - y), (x + y) * 2, x - 0.25):wait()
    end), 1)
end)

check.test("a node with two consumers is computed once", function()
    local x = ready { 1, 2, 3 }
    local shared = x + 1
    local a, b = shared * 2, shared * 3
    check.equal(launches(function() np.force(a, b) end), 1)
    check.equal(a:totable(), { 4, 6, 8 })
    check.equal(b:totable(), { 6, 9, 12 })
    check.equal(launches(function() check.equal(shared:totable(), { 2, 3, 4 }) end), 1) -- it stayed in the kernel
    check.equal(launches(function() check.equal(shared:totable(), { 2, 3, 4 }) end), 0)
end)

check.test("and it is stored if one of them does not run yet", function()
    local x = ready { 1, 2, 3 }
    local shared = x + 1
    local a, b = shared * 2, shared * 3
    check.equal(launches(function() np.force(a) end), 1)
    check.equal(launches(function() check.equal(shared:totable(), { 2, 3, 4 }) end), 0)
    check.equal(launches(function() check.equal(b:totable(), { 6, 9, 12 }) end), 1)
end)

check.test("what is computed does not depend on what the collector has freed", function()
    local x = ready { 1, 2, 3, 4 }
    local function step(collect)
        return launches(function()
            local y = x
            for _ = 1, 20 do
                local half = y * 0.5
                y = half + half:sum()
                if collect then
                    collectgarbage()
                    collectgarbage()
                end
            end
            y:wait()
            np.wait_all()
        end)
    end
    local kept = step(false)
    check.equal(step(true), kept)
    check.equal(step(false), kept)
end)

check.test("reading one array leaves unrelated work pending", function()
    np.wait_all()
    local x = ready { 1, 2, 3 }
    local other = x * 7
    check.equal(np.debug.counters().pending, 1)
    check.equal((x + 1):totable(), { 2, 3, 4 })
    check.equal(np.debug.counters().pending, 1)
    check.equal(other:totable(), { 7, 14, 21 })
end)

-- ---- Numbers are operands -------------------------------------------------------------------------------------------

check.test("a loop with a changing number plans its region once", function()
    local w, g = ready { 1, 2, 3 }, ready { 1, 1, 1 }
    local function loop()
        for k = 1, 50 do
            w = w - g * (1 / k)
            w:wait()
        end
    end
    check.equal(plans(loop), 1)
    check.equal(plans(loop), 0)
end)

check.test("a jitted function takes another number without another trace", function()
    local traces = 0
    local f = np.jit(function(x, rate)
        traces = traces + 1
        return x * rate
    end)
    local x = ready { 1, 2 }
    for k = 1, 100 do check.equal(f(x, k):totable(), { k, 2 * k }) end
    check.equal(traces, 1)
end)

check.test("constants differ in value, not in plan", function()
    local x = ready { 1, 2 }
    local function at(c) return (x + c) * c end
    at(2):wait()
    check.equal(plans(function() check.equal(at(3):totable(), { 12, 15 }) end), 0)
end)

-- ---- Weak numbers ---------------------------------------------------------------------------------------------------

check.test("a number takes the dtype of the array that it meets", function()
    for _, dtype in ipairs { "f32", "f64", "i32", "i64", "u8" } do
        local x = np.ones({ 2 }, { dtype = dtype })
        check.equal((x + 1).dtype, dtype)
        check.equal((2 * x).dtype, dtype)
    end
    check.equal((np.ones({ 2 }) * 0.5).dtype, "f32")
    check.equal((np.ones({ 2 }, { dtype = "f64" }) * 0.1):totable(), { 0.1, 0.1 })
end)

check.test("a whole number that an integer array cannot hold is refused when recorded", function()
    local x = np.arange(3)
    check.equal((x + 1.5):totable(), { 1.5, 2.5, 3.5 })
    check.raises(function() return x * 2 ^ 40 end, "i32")
    check.raises(function() return np.array({ 1, 2 }, { dtype = "u8" }) - 256 end, "u8")
    check.equal((x:astype("f32") + 1.5):totable(), { 1.5, 2.5, 3.5 })
end)

check.test("a jitted function checks such a number at each call", function()
    local f = np.jit(function(x, n) return x + n end)
    local x = np.arange(3)
    check.equal(f(x, 2):totable(), { 2, 3, 4 })
    check.raises(function() f(x, 2 ^ 33) end, "cast")
    check.equal(f(x, 2.5):totable(), { 2.5, 3.5, 4.5 })
    check.equal(f(x, 3):totable(), { 3, 4, 5 })
end)

check.test("default dtypes", function()
    check.equal(np.array({ 1, 2 }).dtype, "f32")
    check.equal(np.array({ true, false }).dtype, "bool")
    check.equal(np.zeros({ 2 }).dtype, "f32")
    check.equal(np.ones({ 2 }).dtype, "f32")
    check.equal(np.full({ 2 }, 3).dtype, "f32")
    check.equal(np.linspace(0, 1, 3).dtype, "f32")
    check.equal(np.arange(3).dtype, "i32")
    check.equal(np.arange(0, 1, 0.5).dtype, "f32")
    check.equal(np.random.uniform(np.random.key(0), { 2 }).dtype, "f32")
end)

-- ---- Levels ---------------------------------------------------------------------------------------------------------

check.test("a captured array is not the argument, even if it is the same array", function()
    local w0 = ready { 1, 2, 3 }
    check.equal(np.grad(function(w) return (w * w0):sum() end)(w0):totable(), { 1, 2, 3 })
    check.equal(np.grad(function(w) return (w * w):sum() end)(w0):totable(), { 2, 4, 6 })
end)

check.test("gradients nest, and confuse no levels", function()
    local function square(x) return (x * x):sum() end
    local x = np.array(3)
    check.equal(np.grad(np.grad(function(y) return y * y * y end))(x):item(), 18)
    local inner = np.grad(function(y) return y * np.grad(function(z) return z * y end)(np.array(1)) end)
    check.equal(inner(x):item(), 6)
    check.equal(np.jit(np.grad(square))(np.array { 1, 2 }):totable(), { 2, 4 })
    check.equal(np.grad(np.jit(square))(np.array { 1, 2 }):totable(), { 2, 4 })
end)

check.test("a level closes after an error in its body", function()
    check.raises(function() np.grad(function() error("mine") end)(np.array(1)) end, "mine")
    check.raises(function() np.jit(function() error("mine") end)(np.array(1)) end, "mine")
    check.equal(np.grad(function(x) return x * x end)(np.array(2)):item(), 4)
end)

check.test("a coroutine cannot yield across an open level", function()
    local thread = coroutine.wrap(function()
        return np.grad(function(x)
            coroutine.yield(1)
            return x * x
        end)(np.array(2))
    end)
    check.raises(function()
        thread()
        np.grad(function(x) return x end)(np.array(1))
        thread()
    end, ".")
    check.equal(np.grad(function(x) return x * x end)(np.array(2)):item(), 4)
end)

check.test("a value is not known while tracing", function()
    local text = check.raises(function()
        np.jit(function(x)
            if x:item() > 0 then return x end
            return -x
        end)(np.array(1))
    end, "tracing")
    check.ok(text:find("rules_test.lua:%d+"), "the error names the script's line")
end)

-- ---- Depth ----------------------------------------------------------------------------------------------------------

np.debug.limits { nodes = 0, bytes = 0 }

local DEPTH = os.getenv "NEAP_TEST_BUILD" == "release" and 1000000 or 100000

check.test("a million pending nodes evaluate and are dropped", function()
    np.wait_all()
    local x = ready { 0, 1 }
    local y = x
    for _ = 1, DEPTH do y = y + 1 end
    check.ok(np.debug.counters().pending >= DEPTH)
    check.equal(y:totable(), { DEPTH, DEPTH + 1 })
    do
        local z = x
        for _ = 1, DEPTH do z = z + 1 end
        check.ok(z:is_deferred())
    end
    collectgarbage()
    np.wait_all()
    check.equal(np.debug.counters().pending, 0)
end)

check.test("a long chain differentiates", function()
    local gradient = np.grad(function(x)
        local y = x
        for _ = 1, DEPTH / 10 do y = y * 1 end
        return y:sum()
    end)(ready { 1, 2 })
    check.equal(gradient:totable(), { 1, 1 })
end)

check.done()
