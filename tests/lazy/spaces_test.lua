--- spaces_test.lua (under tsan with --long): arrays in a memory that the host cannot touch: that of null devices, where
-- a stray read of the host is a crash. What is computed there has the bits of the CPU; what the host reads is copied.
local check = require "tests.lib.check"
local np = require "neap"

local FIRST, SECOND = "null:6", "null:7" -- not those that the session may compute on

local function there(x, device) return np.device_put(x, device or FIRST) end

--- f gives the same bits on arrays of another memory, and its results lie there.
local function same(name, f, ...)
    local given = { ... }
    check.test(name, function()
        local moved = {}
        for k, x in ipairs(given) do moved[k] = there(x) end
        local here, away = f(unpack(given)), f(unpack(moved))
        check.equal(tostring(away.device), FIRST)
        check.equal(away:totable(), here:totable())
    end)
end

local x = np.arange(12, { dtype = "f32" }):reshape(3, 4) / 7
local square = np.array { { 4, 1, 0 }, { 1, 5, 2 }, { 0, 2, 6 } }

same("maps", function(a) return np.exp(a) * 2 + 1 end, x)
same("reductions", function(a) return np.exp(a) / np.exp(a):sum { axis = 1, keepdims = true } end, x)
same("views", function(a) return a.T:reshape(2, 6)[1] + a "0, ::-1":sum() end, x)
same("a gather", function(a) return a[np.array({ 2, 0 }, { dtype = "i32" })] end, x)
same("a scatter", function(a) return a:at { 1 }:add(5) end, x)
same("a product", function(a) return a:matmul(a.T) end, x)
same("a solution", function(a) return np.linalg.solve(a, a[0]) end, square)
same("a sort", function(a) return np.sort(a, { axis = 0 }) end, x)
same("an assembly", function(a) return np.concatenate { a, a * 2 } end, x)
same("what is not committed meets it", function(a) return a + np.arange(4, { dtype = "f32" }) * x[0] end, x)
same("a gradient", function(a) return np.grad(function(b) return (np.tanh(b) * b):sum() end)(a) end, x)
same("a loop", function(a)
    return np.fori_loop(0, 5, function(k, c) return c * 2 - a + k end, a)
end, x)
same("a scan", function(a) return (select(2, np.scan(function(c, row) return c + row, c * row end, a[0], a))) end, x)
same("a branch", function(a)
    return np.cond(a:sum():gt(0), function(b) return b * 3 end, function(b) return b end, a)
end, x)
same("a compiled function", np.jit(function(a) return np.exp(a):sum(0) + x[1] end), x)
same("a vmapped function", function(a) return np.vmap(function(row) return row:sum() * row end)(a) end, x)
same("a callback", np.jit(function(a)
    return np.callback(function(b) return b * 2 end, { result = { shape = { 3, 4 }, dtype = "f32" } })(a) + a
end), x)

check.test("an array is copied there and back", function()
    local moved = there(x)
    check.equal(tostring(moved.device), FIRST)
    check.equal(tostring(moved), tostring(x))
    check.equal(moved[2][3]:item(), x[2][3]:item())
    local back = np.device_put(moved, "cpu:0")
    check.equal(tostring(back.device), "cpu:0")
    check.equal(back:totable(), x:totable())
end)

check.test("from one such memory to another", function()
    local moved = there(there(x * 2), SECOND)
    check.equal(tostring((moved + 1).device), SECOND)
    check.equal((moved + 1):totable(), (x * 2 + 1):totable())
    check.raises(function() return moved + there(x) end, "different devices, null:7 and null:6")
end)

check.test("only a part is copied of a view", function()
    check.equal(there(x "1:, 1:3"):totable(), x "1:, 1:3":totable())
    check.equal(there(x[2]):totable(), x[2]:totable())
    check.equal(there(there(x)[1], SECOND):totable(), x[1]:totable())
end)

check.test("constructors are made there", function()
    local before = np.memory(FIRST).allocations
    local zeros = there(np.zeros { 50, 50 }) + 1
    check.equal(zeros:sum():item(), 2500)
    check.ok(np.memory(FIRST).allocations > before)
end)

check.test("the memory of a device is its own", function()
    np.memory.trim() -- what earlier tests have left must not go while memory is compared
    local before = np.memory(FIRST).live
    local big = (there(np.ones { 1000 }) * 2):wait()
    check.ok(np.memory(FIRST).live >= before + 4000)
    check.equal(big:sum():item(), 2000)
end)

check.test("a gradient comes back to where its array is", function()
    local g = np.grad(function(a) return (there(a) * 3):sum() end)(np.device_put(x, "cpu:0"))
    check.equal(tostring(g.device), "cpu:0")
    check.equal(g:totable(), np.full({ 3, 4 }, 3):totable())
end)

check.test("np.explain shows what the host does", function()
    local function fails(a) return np.debug.fail(a) end
    local branch = np.jit(function(a) return np.cond(a:sum():gt(1e9), fails, function(b) return b * 2 end, a) end)
    check.equal(branch(there(x)):totable(), (x * 2):totable())
    local text = tostring(np.explain(branch))
    check.ok(text:find("cpu:0 (in its body, debug_fail: it may fail, which the host has to see)", 1, true), text)
end)

check.test("np.explain shows what a loop is there", function()
    local loop = np.jit(function(a) return np.fori_loop(0, 3, function(_, c) return c + 1 end, a) end)
    check.equal(loop(there(x)):totable(), (x + 1 + 1 + 1):totable())
    local text = tostring(np.explain(loop))
    check.ok(text:find("call, " .. tostring(there(x).device), 1, true), text)
    check.ok(text:find("a turn is 2 launches", 1, true), text)
end)

check.test("a failure on the device is that of its array alone", function()
    local failed = np.debug.fail(there(x))
    check.raises(function() failed:wait() end, "failed on purpose")
    check.equal((there(x) + 1):totable(), (x + 1):totable())
end)

check.test("a file holds what lies there", function()
    local path = os.tmpname()
    np.io.savez(path, { x = there(x) })
    check.equal(np.io.load(path).x:totable(), x:totable())
    os.remove(path)
end)

check.test("where nothing computes on a device, the host does it", function()
    local build = os.getenv "NEAP":match "^(.*)/"
    local C = require("neap.core").C
    check.equal(C.neap_plugin_load(build .. "/tests/engine/plugin/neap_sample.so"), 0)
    local a, b = there(x, "sample:0"), there(square, "sample:0")
    check.equal(tostring((a + 1).device), "sample:0")
    check.equal(tostring(np.exp(a) * 2 + x[0]), tostring(np.exp(x) * 2 + x[0]))
    check.equal(np.concatenate({ a, a * 2 }):totable(), np.concatenate({ x, x * 2 }):totable())
    check.equal(np.linalg.solve(b, b[0]):totable(), np.linalg.solve(square, square[0]):totable())
    local twice = np.jit(function(c) return c:sum(0) * 2 end)
    check.equal(twice(a):totable(), (x:sum(0) * 2):totable())
    local text = tostring(np.explain(twice))
    check.ok(text:find("cpu:0 (nothing computes on devices of its kind)", 1, true), text)
end)

check.test("a donated array", function()
    local f = np.jit(function(a) return a * 2 end, { donate = { 1 } })
    check.equal(f(there(x) + 0):totable(), (x * 2):totable())
end)

check.test("steps in a loop", function()
    local a, b = there(x), x
    for _ = 1, 20 do
        a, b = np.tanh(a) * 0.5 + x, np.tanh(b) * 0.5 + x
    end
    check.equal(a:totable(), b:totable())
end)

check.done()
