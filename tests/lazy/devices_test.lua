--- devices_test.lua: on which device arrays are, where they are computed, what may meet, and that moving between CPU
-- devices copies nothing. Runs itself again with eight devices, under each scheduler.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local np = require "neap"

if #np.devices() < 8 then
    local worst = 0
    for _, scheduler in ipairs { "pool", "device", "naive" } do
        local status, out, err = process.run_neap { "--devices", "8", "--scheduler", scheduler,
                                                    "tests/lazy/devices_test.lua" }
        io.stdout:write(out)
        io.stderr:write(err)
        worst = math.max(worst, status)
    end
    process.cleanup()
    os.exit(worst)
end

local function put(values, device)
    return np.device_put(np.array(values), device)
end

--- The device on which an operation on x runs.
local function runs_on(x)
    return np.debug.device(x):max():item()
end

--- How much a counter grows while f runs and everything that it started ends.
local function growth(counter, f)
    np.wait_all()
    local before = np.debug.counters()[counter]
    f()
    np.wait_all()
    return np.debug.counters()[counter] - before
end

local function names(...)
    local list = {}
    for k = 1, select("#", ...) do list[k] = tostring((select(k, ...)).device) end
    return table.concat(list, " ")
end

-- ---- Names ----------------------------------------------------------------------------------------------------------

check.test("devices have names and are what x.device gives", function()
    check.equal(#np.devices(), 8)
    local x = put({ 1, 2 }, np.device("cpu:3"))
    check.ok(x.device == np.device("cpu:3") and x.device == np.devices()[4])
    check.equal(tostring(x.device), "cpu:3")
    check.equal({ x.device.kind, x.device.index }, { "cpu", 3 })
    check.equal(names(put({ 1 }, "cpu:7"), put({ 1 }, "cpu"), np.array { 1 }, x:device_put("cpu:2")),
                "cpu:7 cpu:0 cpu:0 cpu:2")
    check.equal(tostring(x), "[1. 2.]")
end)

check.test("bad arguments of device_put", function()
    check.raises(function() return np.device_put(np.ones(2), "cpu:8") end,
                 "np%.device_put: there is no device 'cpu:8' %(devices: cpu:0, .*cpu:7%)")
    check.raises(function() return np.device_put(np.ones(2), "gpu") end, "no device 'gpu'")
    check.raises(function() return np.device_put(np.ones(2)) end, "argument 2 %(device%) must be a device such as")
    check.raises(function() return np.device_put(np.ones(2), 1) end, "got the number 1")
    check.raises(function() return np.device_put({ np.ones(2), print }, "cpu:1") end, "argument 1 must be an array")
end)

check.test("trees, numbers and booleans", function()
    local tree = np.device_put({ w = np.ones(2), list = { 3, true } }, "cpu:5")
    check.equal(names(tree.w, tree.list[1], tree.list[2]), "cpu:5 cpu:5 cpu:5")
    check.equal({ tree.list[1].dtype, tree.list[1]:item(), tree.list[2]:item() }, { "f32", 3, true })
end)

-- ---- What is committed, and what follows ----------------------------------------------------------------------------

check.test("results are committed if an input is; all else follows", function()
    local x = put({ 1, 2, 3 }, "cpu:2")
    local plain = np.array { 10, 20, 30 }
    check.equal(names(x + 1, 2 * x, x:sum(), x[0], x:reshape(3, 1), x:astype("i32"), np.concatenate { plain, x },
                      np.where(x:gt(1), plain, 0), x:at { 0 }:set(5), np.matmul(plain, x), np.take(x, np.array(
                          { 0, 1 }, { dtype = "i32" })), np.zeros(3) + x, plain + np.arange(3) + x),
                ("cpu:2 "):rep(12) .. "cpu:2")
    check.equal(names(plain, plain * 2, np.ones(3), np.zeros_like(x)), "cpu:0 cpu:0 cpu:0 cpu:0")
    check.equal((plain + np.arange(3) + x):totable(), { 11, 23, 35 })
end)

check.test("being put on the device where it already lies commits an array", function()
    local x = np.ones(2)
    local placed = np.device_put(x, "cpu:0")
    check.raises(function() return placed + put({ 1, 2 }, "cpu:1") end, "different devices")
    check.equal((x + put({ 1, 2 }, "cpu:1")):totable(), { 2, 3 })
    check.ok(rawequal(np.device_put(placed, "cpu:0"), placed))
end)

check.test("computation runs where the data is", function()
    local a, b = put({ 1, 2 }, "cpu:1"), put({ 1, 2 }, "cpu:6")
    check.equal({ runs_on(a), runs_on(b * 2 + 1), runs_on(b:reshape(2, 1)), runs_on(np.array { 1 }) }, { 1, 6, 6, 0 })
    check.equal(runs_on(np.device_put(b + 1, "cpu:4")), 4)
    check.equal(np.device_put(np.debug.device(b), "cpu:4"):totable(), { 6, 6 })
end)

check.test("arrays of different devices do not meet, and the error says what to do", function()
    local a, b = put({ 1, 2 }, "cpu:1"), put({ 1, 2 }, "cpu:2")
    local y
    local text = check.raises(function() y = a + b end, "devices_test%.lua:%d+: np%.add: ")
    check.equal(text:match("np%.add: (.*)"), "the arrays are on different devices, cpu:1 and cpu:2; move one of them, "
                .. 'as in np.device_put(x, "cpu:1")')
    check.equal(y, nil)
    check.raises(function() return np.where(a:gt(1), 0, b) end, "np%.where: the arrays are on different devices")
    check.raises(function() return np.concatenate { a, np.ones(2), b } end, "np%.concatenate: the arrays are on diff")
    check.raises(function() return np.matmul(a, b) end, "the arrays are on different devices, cpu:1 and cpu:2")
    check.raises(function() return a:at { 0 }:set(b[0]) end, "the arrays are on different devices")
    check.equal((np.device_put(a, "cpu:2") + b):totable(), { 2, 4 })
end)

-- ---- Views, constants, memory ---------------------------------------------------------------------------------------

check.test("what is on its way to a device may be donated there", function()
    local double = np.jit(function(x) return x * 2 end, { donate = { 1 } })
    for k = 1, 3 do
        local x = np.force(np.device_put(np.debug.sleep(np.ones(2 ^ 14), 20) + k, "cpu:1"))
        check.equal(double(x)[3]:item(), 2 * k + 2)
        check.equal(np.jit_cache(double).entries[1].used_up, k, np.jit_cache(double).entries[1].kept)
    end
end)

check.test("a device_put copies nothing and launches nothing", function()
    local x = np.array { 1, 2, 3, 4 }
    local strided = x:reshape(2, 2):transpose()
    np.wait_all()
    local allocations = np.memory().allocations
    local moved, through
    check.equal(growth("launches", function()
        moved = np.device_put(x, "cpu:1")
        through = np.device_put(np.device_put(moved:reshape(2, 2), "cpu:2"), "cpu:3"):reshape(4)
        moved:wait()
        check.equal(through:totable(), { 1, 2, 3, 4 })
    end), 0)
    check.equal(np.memory().allocations, allocations)
    check.equal(names(moved, through), "cpu:1 cpu:3")
    local y = np.device_put(strided, "cpu:1")
    check.equal(growth("launches", function() y = (y + 1):wait() end), 1)
    check.equal(y:totable(), { { 2, 4 }, { 3, 5 } })
end)

check.test("lazy constants stay lazy on any device", function()
    local huge = np.device_put(np.device_put(np.arange(1e9), "cpu:1"), "cpu:2")
    local rows = np.device_put(np.zeros(1e9), "cpu:2")
    local peak = np.memory().peak
    check.equal(growth("launches", function()
        check.equal((huge[{ { 5, 8 } }] + rows[{ { 5, 8 } }]):totable(), { 5, 6, 7 })
    end), 1)
    check.ok(np.memory().peak < peak + 1e6)
    check.equal(runs_on(huge[{ { 0, 2 } }]), 2)
    check.raises(function() return huge[0] + put({ 1 }, "cpu:1") end, "different devices")
end)

check.test("what was forced through a view is the same memory", function()
    local x = np.debug.sleep(put({ 1, 2, 3 }, "cpu:1"), 1)
    local moved = np.device_put(x, "cpu:2")
    local allocations = np.memory().allocations
    check.equal(moved:totable(), { 1, 2, 3 })
    check.equal(np.memory().allocations, allocations)
    check.equal(growth("launches", function() check.equal(x:totable(), { 1, 2, 3 }) end), 0)
end)

check.test("deleting the one leaves the other", function()
    local x = put({ 1, 2 }, "cpu:1")
    local moved = np.device_put(x, "cpu:2")
    x:delete()
    check.ok(x:is_deleted() and not moved:is_deleted())
    check.equal(tostring(x.device), "cpu:1")
    check.equal(moved:totable(), { 1, 2 })
end)

check.test("a long chain of moves holds no memory", function()
    local x = put({ 1, 2 }, "cpu:0")
    for k = 1, 3000 do x = np.device_put(x + 1, "cpu:" .. k % 8) end
    check.equal(x:totable(), { 3001, 3002 })
    x = np.device_put(x, "cpu:1")
    local nodes = collectgarbage("count")
    for k = 1, 3000 do x = np.device_put(x, "cpu:" .. k % 8) end
    check.equal(x:totable(), { 3001, 3002 })
    check.ok(collectgarbage("count") < nodes + 4096)
end)

-- ---- Steps ----------------------------------------------------------------------------------------------------------

check.test("devices that share a memory share kernels, and no engine op holds several for two devices", function()
    local x, plain = put({ 1, 2 }, "cpu:1"), np.array { 5, 6 }
    local function chain(first, second)
        return function()
            local y = np.device_put(x * 2, first) + 1
            check.equal((np.device_put(y, second) * 3):totable(), { 9, 15 })
        end
    end
    check.equal({ growth("launches", chain("cpu:1", "cpu:1")), growth("launches", chain("cpu:1", "cpu:2")),
                  growth("launches", chain("cpu:3", "cpu:2")) }, { 1, 1, 1 })
    -- Small kernels whose inputs are there are one engine op on one device, and at least one for each of two.
    local function pair(device)
        return function()
            local a, b = x + 1, np.device_put(plain, device) + 1
            a = np.concatenate { a:sum():reshape(1), np.device_put(b:sum(), "cpu:1"):reshape(1) }
            check.equal(a:totable(), { 5, 13 })
        end
    end
    check.equal(growth("pushed", pair("cpu:1")), 1)
    check.ok(growth("pushed", pair("cpu:2")) >= 2)
end)

check.test("uncommitted work is computed where it is read", function()
    local x, plain = put({ 1, 2 }, "cpu:1"), np.array { 5, 6 }
    check.equal(growth("launches", function() check.equal((plain * 2 + x):totable(), { 11, 14 }) end), 1)
    check.equal(growth("launches", function() np.device_put(plain * 2, "cpu:3"):wait() end), 1)
    local a, b
    check.equal(growth("launches", function()
        local shared = plain * 2
        a, b = np.device_put(shared, "cpu:3") + 1, np.device_put(shared, "cpu:4") + 1
    end), 1)
    check.equal({ tostring(a.device), tostring(b.device) }, { "cpu:3", "cpu:4" })
    check.equal({ a:totable(), b:totable() }, { { 11, 13 }, { 11, 13 } })
end)

-- ---- Programs -------------------------------------------------------------------------------------------------------

check.test("a jitted function has a program for each placement, which runs there", function()
    local f = np.jit(function(x, y) return np.debug.device(x * y), x + y end)
    local function call(x, y)
        local where, sum = f(x, y)
        return { where:max():item(), tostring(sum.device), tostring(where.device) }
    end
    local plain = np.ones(2)
    local programs = growth("programs", function()
        for _ = 1, 2 do
            check.equal(call(put({ 1, 2 }, "cpu:1"), plain), { 1, "cpu:1", "cpu:1" })
            check.equal(call(put({ 1, 2 }, "cpu:2"), plain), { 2, "cpu:2", "cpu:2" })
            check.equal(call(plain, plain), { 0, "cpu:0", "cpu:0" })
            check.equal(call(plain, put({ 1, 2 }, "cpu:2")), { 2, "cpu:2", "cpu:2" })
        end
    end)
    check.equal(programs, 4)
    check.raises(function() return f(put({ 1, 2 }, "cpu:1"), put({ 1, 2 }, "cpu:2")) end, "np%.multiply: .*devices")
end)

check.test("what a program returns is uncommitted, if nothing committed it", function()
    local f = np.jit(function(x) return x + 1 end)
    check.equal((f(np.ones(2)) + put({ 1, 2 }, "cpu:4")):totable(), { 3, 4 })
    check.raises(function() return f(put({ 1, 2 }, "cpu:0")) + put({ 1, 2 }, "cpu:4") end, "different devices")
end)

check.test("device_put inside a program, and outputs that share memory", function()
    local f = np.jit(function(x)
        local there = np.device_put(x * 2, "cpu:3")
        return there, np.debug.device(there), np.device_put(x, "cpu:5"), x:reshape(1, 2)
    end)
    local x = put({ 1, 2 }, "cpu:1")
    f(x)
    np.wait_all()
    local allocations, there, where, same, reshaped = np.memory().allocations
    check.equal(growth("launches", function() there, where, same, reshaped = f(x) end), 2)
    check.equal(np.memory().allocations - allocations, 2)
    check.equal(names(there, where, same, reshaped), "cpu:3 cpu:3 cpu:5 cpu:1")
    check.equal({ there:totable(), where:totable(), same:totable(), reshaped:totable() },
                { { 2, 4 }, { 3, 3 }, { 1, 2 }, { { 1, 2 } } })
    local program = np.trace(function(y) return np.device_put(y, "cpu:3") end)(x)
    check.ok(tostring(program):find("device_put[device=3] y", 1, true))
end)

check.test("a traced program runs where its arguments are", function()
    local program = np.trace(function(x) return x * 2 end)(put({ 1, 2 }, "cpu:1"))
    check.equal(names((program(put({ 3, 4 }, "cpu:1")))), "cpu:1")
    check.equal(names((program(put({ 1, 2 }, "cpu:2")))), "cpu:2")
    check.equal(names(np.device_put(program(np.ones(2)), "cpu:3")), "cpu:3") -- it is committed to none
end)

local captured
check.test("captured arrays are read anew, with their placement", function()
    local f = np.jit(function(x) return x + captured end)
    captured = put({ 1, 2 }, "cpu:1")
    check.equal(names(f(np.ones(2))), "cpu:1")
    captured = put({ 5, 6 }, "cpu:2")
    local y = f(np.ones(2))
    check.equal({ names(y), y:totable() }, { "cpu:2", { 6, 7 } })
    captured = np.device_put(np.arange(2), "cpu:3") -- a constructor: made where it is read
    y = f(np.ones(2))
    check.equal({ names(y), y:totable() }, { "cpu:3", { 1, 2 } })
    captured = nil
end)

check.test("prints inside a program show arrays of all devices", function()
    local _, out, err = process.run_neap { "--devices", "2", "-e", [[
        local f = np.jit(function(x, y)
            print("first", x, np.device_put(y, "cpu:0") + x)
            return np.device_put(x, "cpu:1") + y
        end)
        print(f(np.device_put(np.ones(2), "cpu:0"), np.device_put(np.ones(2) * 3, "cpu:1")))
    ]] }
    process.cleanup()
    check.equal({ out, err }, { "first\t[1. 1.]\t[4. 4.]\n[4. 4.]\n", "" })
end)

-- ---- Gradients ------------------------------------------------------------------------------------------------------

check.test("a gradient lies where its argument does", function()
    local x, y = put({ 1, 2 }, "cpu:1"), put({ 3, 4 }, "cpu:2")
    local function f(a, b) return (np.device_put(a * a, "cpu:2") * b):sum() end
    for _, loss in ipairs { f, np.jit(f) } do
        local da, db = np.grad(loss, { argnums = { 1, 2 } })(x, y)
        check.equal({ names(da, db), da:totable(), db:totable() }, { "cpu:1 cpu:2", { 6, 16 }, { 1, 4 } })
    end
    local value, da = np.jit(np.value_and_grad(f))(x, y)
    check.equal({ names(value, da), value:item(), da:totable() }, { "cpu:2 cpu:1", 19, { 6, 16 } })
    -- An argument that met nothing, and one that only meets constants.
    local d1, d2 = np.grad(function(a) return a:sum() end, { argnums = { 1, 2 } })(x, y)
    check.equal({ names(d1, d2), d1:totable(), d2:totable() }, { "cpu:1 cpu:2", { 1, 1 }, { 0, 0 } })
end)

check.test("an uncommitted argument that was used on two devices", function()
    local a, b = put({ 1, 2 }, "cpu:1"), put({ 3, 4 }, "cpu:2")
    local function f(w) return np.device_put((w * a):sum(), "cpu:2") + (w * w * b):sum() end
    for _, gradient in ipairs { np.grad(f), np.jit(np.grad(f)) } do
        local dw = gradient(np.array { 1, 2 })
        check.equal(dw:totable(), { 7, 18 })
        check.equal((dw + put({ 0, 0 }, "cpu:5")):totable(), { 7, 18 })
    end
    -- Put there explicitly, its gradient comes back uncommitted; else it stays where it was computed.
    local back = np.grad(function(w) return (np.device_put(w, "cpu:1") * a):sum() end)(np.ones(2))
    check.equal({ names(back, np.grad(function(w) return (w * a):sum() end)(np.ones(2))), back:totable() },
                { "cpu:0 cpu:1", { 1, 2 } })
end)

check.test("second order, across devices", function()
    local function cube(x) return np.device_put(np.device_put(x, "cpu:3") ^ 3, "cpu:1"):sum() end
    local second = np.grad(function(x) return np.grad(cube)(x):sum() end)
    local x = put({ 1, 2 }, "cpu:2")
    local d = second(x)
    check.equal(names(d), "cpu:2")
    check.close(d:totable(), { 6, 12 })
end)

-- ---- Told where -----------------------------------------------------------------------------------------------------

check.test("jit with a device computes there, with inputs and without", function()
    local f = np.jit(function() return np.ones(3) * 2 end, { device = "cpu:1" })
    local y = f()
    check.equal({ names(y), runs_on(y) }, { "cpu:1", 1 })
    local where = np.jit(function(x, t, n)
        local there = np.debug.device(x + t.y)
        return there, { n = n, sum = np.debug.device(np.debug.sleep(np.arange(3), 0) + np.zeros(3)) }
    end, { device = np.devices()[3], static = "how" })
    for _ = 1, 2 do
        local there, t = where(put({ 1, 2, 3 }, "cpu:4"), { y = np.ones(3), how = "so" }, 7)
        check.equal({ there:max():item(), t.sum:max():item(), t.n:item() }, { 2, 2, 7 })
        check.equal(names(there, t.sum, t.n), "cpu:2 cpu:2 cpu:2")
    end
    check.equal(np.jit_cache(where).traces, 1)
    local outer = np.jit(function(x) return np.debug.device(f() * x) end)
    check.equal(outer(np.arange(3)):max():item(), 1)
    local g = np.jit(np.grad(function(w) return (w * w):sum() end), { device = "cpu:5" })
    check.equal({ g(np.array { 1, 2 }):totable(), names(g(np.array { 1, 2 })) }, { { 2, 4 }, "cpu:5" })
end)

check.test("of two jitted functions on two devices the slow first one prints first", function()
    local script = process.file [[
        local f = np.jit(function() print(np.debug.sleep(np.ones(2), 300)) end, { device = "cpu:0" })
        local g = np.jit(function() print(np.zeros(2)) end, { device = "cpu:1" })
        f() g()
    ]]
    check.equal({ process.run_neap { "--devices", "8", script } }, { 0, "[1. 1.]\n[0. 0.]\n", "" })
end)

check.test("the default device is where uncommitted work runs", function()
    check.equal(tostring(np.default_device()), "cpu:0")
    local before = np.arange(3) + 1 -- recorded here, so it runs here
    local f = np.jit(function(x) return np.debug.device(x) end)
    check.equal(f(np.ones(2)):max():item(), 0)
    check.equal(np.default_device("cpu:3"), nil)
    local x = np.ones(2) + 1
    check.equal({ runs_on(x), names(np.ones(2)), f(x):max():item() }, { 3, "cpu:3", 3 })
    check.equal(np.jit_cache(f).reason, "the default device was cpu:0 and is cpu:3")
    check.equal(runs_on(put({ 1, 2 }, "cpu:5")), 5) -- committed
    check.equal((x + put({ 1, 2 }, "cpu:5")):totable(), { 3, 4 }) -- x is not
    check.equal((before + x:sum()):totable(), { 5, 6, 7 })
    local inner, more = np.default_device(np.device "cpu:6", function(a, b)
        return runs_on(np.zeros(2)), a + b
    end, 1, 2)
    check.equal({ inner, more, tostring(np.default_device()) }, { 6, 3, "cpu:3" })
    check.raises(function() np.default_device("cpu:6", error, "mine") end, "mine")
    check.equal({ tostring(np.default_device()), runs_on(np.ones(2)) }, { "cpu:3", 3 })
    np.default_device(np.devices()[1])
    check.equal({ runs_on(np.ones(2)), f(np.ones(2)):max():item(), np.jit_cache(f).traces }, { 0, 0, 2 })
    check.equal((x:sum() + before):totable(), { 5, 6, 7 }) -- x is of another default device
end)

check.test("bad devices, and default devices in a trace", function()
    np.default_device "cpu:0"
    check.raises(function() np.default_device "cpu:8" end, "np%.default_device: there is no device 'cpu:8'")
    check.raises(function() np.default_device(3) end, "argument 1 %(device%) must be a device such as")
    check.raises(function() np.default_device("cpu:1", 3) end, "argument 2 %(f%) must be a function")
    check.raises(function() np.jit(print, { device = {} }) end, "np%.jit: option 'device' must be a device such as")
    check.raises(function() np.jit(function() np.default_device "cpu:1" end)() end, "while a function is traced")
    local co = coroutine.wrap(function() np.default_device("cpu:1", coroutine.yield) end)
    check.raises(co, "a coroutine cannot yield while .* another default device, .* is open")
    local mesh = np.mesh({ 2 }, { "i" })
    local f = np.jit(function(x) return x * 2 end, { device = "cpu:2" })
    check.raises(function() f(np.device_put(np.ones(2), mesh, np.P "i")) end,
                 "np%.jit: option 'device' names one device, cpu:2, and the function has an array that lies on a mesh")
    check.equal(tostring(np.default_device()), "cpu:0")
end)

-- ---- The same numbers -----------------------------------------------------------------------------------------------

check.test("random programs give the same numbers on one device and on many", function()
    local seed = 12345
    local function random(n)
        seed = (seed * 16807) % 2147483647
        return seed % n
    end
    for _ = 1, 40 do
        local plan = {}
        for k = 1, 25 do plan[k] = { random(4), random(8), random(1000), random(1000) } end
        local function run(spread)
            local list = { np.arange(6):reshape(2, 3) * np.ones(3), put({ { 1, 2, 3 }, { 4, 5, 6 } }, "cpu:0") }
            for _, step in ipairs(plan) do
                local device = spread and "cpu:" .. step[2] or "cpu:0"
                local a = np.device_put(list[step[3] % #list + 1], device)
                local b = np.device_put(list[step[4] % #list + 1], device)
                local y = step[1] == 0 and a + b or step[1] == 1 and a * b * 0.01
                    or step[1] == 2 and a - b:sum { axis = 0 } or np.matmul(a, b:transpose())[{ {}, { 0, 1 } }] + a
                list[#list + 1] = y
            end
            local text = {}
            for k, y in ipairs(list) do text[k] = tostring(y) end
            return table.concat(text, "\n")
        end
        check.equal(run(true), run(false))
    end
end)

process.cleanup()
check.done()
