--- quick_test.lua: the short ways of small ops: recording, reading and running at once give what the long ways give.
local ffi = require "ffi"
local check = require "tests.lib.check"
local np = require "neap"
local core = require "neap.core"

local function ready(t, dtype) return np.array(t, dtype and { dtype = dtype }):wait() end

local counts = ffi.new("neap_engine_counts[1]")
--- How many ops a function pushes, and how many of them run at their push.
local function pushed(f)
    core.C.neap_engine_count(counts)
    local all, inlined = tonumber(counts[0].pushed), tonumber(counts[0].inlined)
    f()
    core.C.neap_engine_count(counts)
    return tonumber(counts[0].pushed) - all, tonumber(counts[0].inlined) - inlined
end

--- Results of f with LuaJIT's compiler on, long enough for it to compile, and off.
local function both(f)
    local compiled
    for _ = 1, 300 do compiled = f() end
    jit.off(f, true)
    return compiled, f()
end

check.test("item gives numbers, booleans and NaN, of values, views and pending work", function()
    check.equal(ready({ 7 }):item(), 7)
    check.equal((ready({ 7 }) + 1):item(), 8)
    check.equal(ready({ 1, 2, 3 })[1]:item(), 2)
    check.equal((ready({ 1, 2, 3 }) * 2)[-1]:item(), 6)
    check.equal(ready({ 3 }):gt(ready { 2 }):item(), true)
    check.equal(ready({ 3 }):lt(ready { 2 }):item(), false)
    local nan = (ready({ 0 }) / ready { 0 }):item()
    check.ok(type(nan) == "number" and nan ~= nan)
    check.equal(ready({ 2 ^ 40 }, "i64"):item(), 2 ^ 40)
    check.equal(np.item(5), 5)
    check.raises(function() ready({ 1, 2 }):item() end, "one element")
    check.raises(function() np.item("5") end, "np.item: argument 1 must be an array or a number, got the string")
    local gone = ready { 1 }
    gone:delete()
    check.raises(function() gone:item() end, "deleted")
    check.raises(function() np.debug.fail(ready { 1 }):item() end, "quick_test.lua:%d+: debug_fail")
    pcall(np.wait_all)
end)

check.test("a loop of unknown length begins where it is pushed, and goes on elsewhere if it is long", function()
    local function turns(n, x)
        return np.while_loop(function(s) return s.k:lt(n) end, function(s)
            return { x = s.x * 0.999 + 1, k = s.k + 1 }
        end, { x = x, k = ready(0, "i32") })
    end
    local x, fewest = ready({ 1, 2 }, "f64"), math.huge
    for _ = 1, 100 do
        local all, inlined = pushed(function() np.wait(turns(3, x)) end)
        fewest = math.min(fewest, all - inlined)
    end
    if os.getenv "NEAP_TEST_BUILD" ~= "null" then check.equal(fewest, 0) end -- others enqueue what turns do
    local long
    local all, inlined = pushed(function() long = np.wait(turns(1e6, x)) end)
    check.ok(all - inlined >= 1)
    check.equal(long.k:item(), 1e6)
    local a = 1
    for _ = 1, 1e6 do a = a * 0.999 + 1 end
    check.equal(long.x[0]:item(), a)
    check.equal(turns(1e3, turns(1e6, x).x).x[0]:item(), turns(1e6 + 1e3, x).x[0]:item()) -- what it reads comes late
    check.raises(function() turns(3, np.debug.fail(x)).x:wait() end, "debug_fail")
    pcall(np.wait_all)
end)

check.test("a number as an index is that part of the first axis", function()
    local x = ready { { 1, 2, 3 }, { 4, 5, 6 } }
    for k = -2, 1 do
        check.equal(x[k]:totable(), x[{ k }]:totable())
        check.equal((x + 1)[k]:totable(), (x + 1)[{ k, {} }]:totable())
    end
    check.equal(x[1][0].shape, {})
    check.raises(function() return x[2] end, "array index: index 2 is out of range for axis 0 of extent 2")
    check.raises(function() return x[-3] end, "array index: index %-3 is out of range")
    check.raises(function() return x[0.5] end, "array index: an item must be an integer")
    check.raises(function() return x[0][0][0] end, "array index: 1 indices for an array of 0 axes")
    check.equal(np.grad(function(y) return (y[1] * y[1]):sum() end)(x):totable(), { { 0, 0, 0 }, { 8, 10, 12 } })
    check.equal(np.jit(function(y) return y[-1] end)(x):totable(), { 4, 5, 6 })
end)

check.test("a reduction without options is one over all axes", function()
    local x = ready { { 1, 2 }, { 3, 5 } }
    for _, name in ipairs { "sum", "prod", "max", "min" } do
        check.equal(np[name](x):item(), np[name](x, { axis = { 0, 1 } }):item(), name)
        check.equal(np[name](x).shape, {})
    end
    check.equal(x:gt(0):all():item(), true)
    check.equal(x:gt(4):any():item(), true)
    check.equal(np.sum(3):item(), 3)
    check.equal(np.zeros({ 0 }):sum():item(), 0)
    check.raises(function() return np.zeros({ 0 }):max() end, "np.max: nothing to take it of: shape %(0,%)")
    check.raises(function() return np.sum("x") end, "np.sum: argument 1 must be")
end)

check.test("operators take arrays, numbers and 64-bit integers on either side", function()
    local x = ready { 1, 2 }
    check.equal((x + 1):totable(), { 2, 3 })
    check.equal((1 - x):totable(), { 0, -1 })
    check.equal((x * x):totable(), { 1, 4 })
    check.equal((ready({ 1, 2 }, "i64") + 5LL):totable(), { 6, 7 })
    check.equal((5LL - ready({ 1, 2 }, "i64")):totable(), { 4, 3 })
    check.equal(np.add(1, 2):item(), 3)
    check.raises(function() return x + "1" end, "np.add: argument 2 must be an array or a number")
    check.raises(function() return {} * x end, "np.multiply: argument 1 must be an array or a number")
    check.raises(function() return np.add(x, x, x) end, "np.add: takes 2 arguments")
end)

check.test("compiled loops and interpreted ones give the same", function()
    local x, y = ready { 1, 2, 3 }, ready { 4, 5, 6 }
    local cases = {
        function() return ((x + y) * 2 - 1):totable() end,
        function() return (x * y):sum():item() end,
        function() return (x + 0.5)[1]:item() end,
        function() return (x / y):wait():totable() end,
        function() return x:lt(y):all():item() end,
    }
    for k, f in ipairs(cases) do
        local compiled, interpreted = both(f)
        check.equal(compiled, interpreted, "case " .. k)
    end
end)

check.test("a small region whose inputs are there is one op that runs where it is pushed", function()
    local x = ready { 1, 2, 3 }
    local one, inlined = pushed(function() ((x + 1) * x - 2):wait() end)
    check.equal({ one, inlined }, { 1, 1 })
    check.equal((pushed(function() x[1]:item() end)), 0, "an element of a value is read where it lies")
end)

check.test("a region of one kernel that somebody waits for runs where it is pushed, unless it is large", function()
    local x, large = np.ones(1e5):wait(), np.ones(4e6):wait()
    local function counted(f) return { pushed(f) } end
    check.equal(counted(function() (x * 2 - 1):wait() end), { 1, 1 })
    check.equal(counted(function() core.data(x * 2 - 3) end), { 1, 1 })
    check.equal(counted(function()
        local more = x + 4
        np.wait(more, more * 2)
    end), { 1, 1 })
    check.equal(counted(function() (large * 2 - 1):wait() end), { 1, 0 })
end)

check.test("what waits for a callback waits in a queue, and has its value after", function()
    local twice = np.callback(function(v) return v * 2 end, { result = { shape = { 3 }, dtype = "f32" } })
    local held = twice(ready { 1, 2, 3 })
    local later = held + 1
    np.force(later)
    local near = ready { 1 } + 1
    check.equal(near:item(), 2, "others do not wait")
    check.equal(later:totable(), { 3, 5, 7 })
end)

check.done()
