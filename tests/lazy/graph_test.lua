--- graph_test.lua: the life of arrays as a script sees it: deep graphs, late output, failures, deleted and leaked
-- arrays, levels that end in every way, memory that runs out.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local core = require "neap.core"
local np = require "neap"

local function ready(values, options)
    return np.array(values, options):wait()
end

local function collect()
    np.wait_all()
    core.reclaim()
end

local DEPTH = os.getenv "NEAP_TEST_BUILD" == "release" and 1000000 or 30000

-- ---- Recipes --------------------------------------------------------------------------------------------------------

check.test("an interior that was fused away runs a second time, and no third", function()
    local x = ready { 1, 2, 3 }
    local first = np.debug.counters().launches
    local root = x + 1
    local inner = root * 3
    local outer = (inner - 2):wait()
    check.equal(np.debug.counters().launches - first, 1)
    check.equal(inner:totable(), { 6, 9, 12 }) -- asks for root and inner again: one kernel, and both are kept now
    check.equal(np.debug.counters().launches - first, 2)
    check.equal((inner + outer - root):totable(), { 8, 13, 18 })
    check.equal(np.debug.counters().launches - first, 3)
end)

-- ---- Output ---------------------------------------------------------------------------------------------------------

check.test("prints come in program order, however late their values are", function()
    local script = process.file [[
        local np = require "neap"
        local x = np.debug.sleep(np.array { 1, 2 }, 100)
        print("slow", x)
        print("fast", np.array(3))
        io.write("text ")
        np.printf("%g %s\n", np.debug.sleep(np.array(4), 30), "end")
        print(np.debug.fail(np.array(1)))
        io.stdout:write("last\n")
    ]]
    local status, out, err = process.run_neap { script }
    check.equal({ status, err }, { 1, "" }) -- 1: a print has failed
    local head, failed, last = out:match("^(slow.-\n.-\n.-\n)(.-)\n(.-)\n$")
    check.equal(head, "slow\t[1. 2.]\nfast\t3.0\ntext 4 end\n")
    check.ok(failed:find("debug_fail", 1, true) and failed:find(script .. ":7", 1, true), failed)
    check.equal(last, "last")
end)

check.test("a print of pending work records and returns", function()
    local x = np.debug.sleep(ready { 1 }, 100)
    local before = np.debug.counters().completed
    io.stderr:write("waiting for ", x, "\n")
    check.equal(np.debug.counters().completed, before, "nothing was waited for")
    np.effects_barrier()
end)

-- ---- Programs -------------------------------------------------------------------------------------------------------

check.test("a jitted body runs once in 100 calls", function()
    local count = 0
    local f = np.jit(function(x, rate)
        count = count + 1
        return x - rate * x
    end)
    local x = ready { 1, 2 }
    local plans
    for k = 1, 100 do
        x = f(x, 1 / (k + 1)):wait()
        if k == 1 then plans = np.debug.counters().plans end
    end
    check.equal(count, 1)
    check.equal(np.debug.counters().plans, plans)
    check.close(x:totable(), { 1 / 101, 2 / 101 }, 1e-5)
end)

check.test("a replayed program reads each captured array where it was captured", function()
    local held = { w = ready { { 1, 2 }, { 3, 4 } }, u = ready { { 10, 20 }, { 30, 40 } } }
    local function f(x) return ((x:matmul(held.u) + held.u):matmul(held.w) * held.w):sum() end
    local x = ready { { 1, 2 }, { 3, 5 } }
    local value, gradient = np.value_and_grad(np.jit(f))(x)
    check.equal(value:item(), f(x):item())
    check.equal(gradient:totable(), np.grad(f)(x):totable())
end)

check.test("prints of a replayed program keep their order and their values", function()
    local script = process.file [[
        local np = require "neap"
        local w = { np.array { 1, 2 } }
        local f = np.jit(function(x)
            local y = (x * w[1]):sum()
            print("y", y, "w", w[1])
            print("x", x)
            return y * y
        end)
        print(np.grad(f)(np.array { 3, 4 }))
    ]]
    local status, out, err = process.run_neap { script }
    check.equal(status, 0, err)
    check.equal(out, "y\t11.0\tw\t[1. 2.]\nx\t[3. 4.]\n[22. 44.]\n")
end)

-- ---- Deleted, stale and leaked arrays -------------------------------------------------------------------------------

check.test("a deleted array raises when it is named; what reads it keeps its value", function()
    local x = (ready { 1, 2, 3 } * 2):wait()
    local view, recipe = x "1:", x + 1
    local double = (recipe * 2):wait()
    local late = np.debug.sleep(x, 20) + x
    x:delete()
    check.ok(x:is_deleted())
    check.raises(function() return x + 1 end, "deleted")
    check.raises(function() return x:totable() end, "deleted")
    check.raises(function() print(x) end, "deleted")
    check.raises(function() return np.grad(function(y) return y:sum() end)(x) end, "deleted")
    check.raises(function() return np.jit(function(y) return y end)(x) end, "deleted")
    check.raises(function() x:delete() end, "deleted")
    check.equal(double:totable(), { 6, 10, 14 })
    check.equal(view:totable(), { 4, 6 })
    check.equal((recipe + 1):totable(), { 4, 6, 8 })
    check.equal(late:totable(), { 4, 8, 12 })
    np.wait_all()
end)

check.test("a program keeps what it captured", function()
    local held = { ready { 1, 2 } }
    local program = np.trace(function(x) return x + held[1] end)(ready { 1, 1 })
    held[1]:delete()
    check.equal(program(ready { 1, 1 }):totable(), { 2, 3 })
end)

check.test("a jitted function raises when a variable that it reads holds a deleted array", function()
    local w = ready { 1, 2 }
    local f = np.jit(function(x) return x + w end)
    check.equal(f(ready { 1, 1 }):totable(), { 2, 3 })
    w:delete()
    check.raises(function() f(ready { 1, 1 }) end, "deleted")
    w = ready { 2, 2 }
    check.equal(f(ready { 1, 1 }):totable(), { 3, 3 })
end)

check.test("ids of released arrays, and ids that never were, are errors", function()
    local ffi = require "ffi"
    local C, ctx, ins, out = core.C, core.ctx, ffi.new("int32_t[1]"), ffi.new("int32_t[1]")
    local id = ready({ 1 })._id
    collect()
    for _, bad in ipairs { id, 0, -1, 2 ^ 31 - 1, 12345678 } do
        ins[0] = bad
        check.equal(C.neap_op(ctx, core.ids.negative, 1, ins, 0, nil, out), C.NEAP_E_HANDLE)
        check.equal(C.neap_quick_op1(ctx, core.ids.negative, core.Handle(bad)), 0)
        check.equal(C.neap_quick_outcome(ctx, out), C.NEAP_E_HANDLE)
        check.equal(C.neap_array_poll(ctx, bad), C.NEAP_E_HANDLE)
    end
end)

check.test("a traced array that leaves its function raises when it is used", function()
    local kept = {}
    np.jit(function(x)
        kept.x, kept.y = x, x * 2
        return x
    end)(ready { 1 })
    for _, x in pairs(kept) do
        check.raises(function() return x + 1 end, "trace")
        check.raises(function() return x:item() end, "trac")
        check.raises(function() print(x) end, "trac")
        check.raises(function() return np.jit(function(y) return y + 1 end)(x) end, "trac")
        check.raises(function() return np.jit(function() return x end)(1) end, "trac")
    end
    local gradient = np.grad(function(x)
        kept.z = x * 3
        return x:sum()
    end)(ready { 1 })
    check.equal((kept.z + gradient):item(), 4, "what leaves a gradient has a value")
end)

-- ---- Failures -------------------------------------------------------------------------------------------------------

check.test("a failure is permanent, names operation and line, and hurts nothing else", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local x = np.debug.fail(ready { 1, 2 })
    local y, z = x * 2 + 1, ready { 1 } * 3
    for _ = 1, 3 do
        for _, bad in ipairs { x, y, (x + y) } do
            local text = check.raises(function() bad:totable() end, "debug_fail")
            check.ok(text:find("graph_test.lua:" .. line, 1, true), text)
        end
    end
    check.equal(z:item(), 3)
    check.equal(np.grad(function(w) return (w * w):sum() end)(ready { 2 }):item(), 4)
    pcall(np.wait_all)
    np.wait_all()
    check.raises(function() x:totable() end, "debug_fail")
end)

check.test("a failure after a long loop names its line", function()
    local x, y = ready { 1, 2 }, nil
    local function named(line)
        local text = check.raises(function() y:wait() end, "debug_fail")
        check.ok(text:find("graph_test.lua:" .. line .. ":", 1, true), text)
    end
    for _ = 1, 5000 do x = x * 0.5 + 1 end
    x:wait()
    y = np.debug.fail(x)
    named(debug.getinfo(1, "l").currentline - 1)
    for _ = 1, 3000 do y = np.debug.fail(x) end
    for _ = 1, 1024 do y = np.debug.fail(x + 1) end -- the line that comes next is found after a while
    named(debug.getinfo(1, "l").currentline - 1)
    pcall(np.wait_all)
    np.wait_all()
end)

check.test("a failure inside a gradient or a program is one of its results only", function()
    local x = ready { 1, 2 }
    local gradient = np.grad(function(w) return np.debug.fail(w * w):sum() end)(x)
    check.equal(gradient:totable(), { 2, 4 }, "the gradient of a failing identity needs no value of it")
    local f = np.jit(function(w) return np.debug.fail(w), w + 1 end)
    for _ = 1, 2 do
        local bad, good = f(x)
        check.raises(function() bad:totable() end, "debug_fail")
        check.equal(good:totable(), { 2, 3 })
    end
    pcall(np.wait_all)
end)

-- ---- Levels ---------------------------------------------------------------------------------------------------------

check.test("levels close after errors, any number of times", function()
    local x = ready { 1, 2 }
    local bodies = {
        function() error "mine" end, function() error({ "mine" }) end, function() return nil end,
        function(w) return w end, function(w) return w:reshape(7) end, function() return coroutine.yield() end,
        function(w) return np.jit(function(v) return v:item() end)(w) end,
        function(w) return np.grad(function() error "mine" end)(w) end,
    }
    for _ = 1, 20 do
        for k, body in ipairs(bodies) do
            check.equal(pcall(np.grad(body), x), false, "grad of body " .. k)
            if k < 3 then check.equal(pcall(np.jit(body), x), false, "jit of body " .. k) end
        end
    end
    check.equal(#core.frame().levels, 0)
    check.equal(core.info(x * 2).taped, 0)
    check.equal(np.grad(function(w) return (w * w):sum() end)(x):totable(), { 2, 4 })
end)

check.test("an interrupt inside a gradient or a trace closes it", function()
    local x = ready { 1, 2 }
    for _, transform in ipairs { np.grad, np.jit } do
        for _ = 1, 50 do
            check.raises(function()
                transform(function(w)
                    core.C.neap_interrupt_raise()
                    for _ = 1, 1000 do w = w * 1 end
                    return w:sum()
                end)(x)
            end, "interrupted")
            core.C.neap_interrupt_clear()
        end
    end
    check.equal(#core.frame().levels, 0)
    check.equal(np.grad(function(w) return (w * w):sum() end)(x):totable(), { 2, 4 })
end)

check.test("too many levels inside each other are an error", function()
    local function nest(x) return np.grad(nest)(x) end
    check.raises(function() nest(ready(1)) end, "inside each other")
    check.equal(np.grad(function(w) return w * w end)(ready(3)):item(), 6)
end)

check.test("a yield out of an open level is an error, one inside a coroutine of the body is none", function()
    local x = ready { 1, 2 }
    for _, transform in ipairs { np.grad, np.jit } do
        local thread = coroutine.create(function()
            return transform(function(w)
                coroutine.yield(1)
                return (w * w):sum()
            end)(x)
        end)
        local ok, problem = coroutine.resume(thread)
        check.equal(ok, false)
        check.ok(tostring(problem):find "yield", problem)
        check.equal(coroutine.status(thread), "dead")
    end
    check.equal(np.grad(function(w)
        local squares = coroutine.wrap(function()
            for _ = 1, 2 do coroutine.yield((w * w):sum()) end
        end)
        return squares() + squares()
    end)(x):totable(), { 4, 8 })
end)

check.test("the level of an inner argument is not that of the outer one", function()
    local x = ready(1)
    local d = np.grad(function(outer)
        return outer * np.grad(function(inner) return inner + outer end)(ready(1))
    end)(x)
    check.equal(d:item(), 1)
end)

-- ---- Memory ---------------------------------------------------------------------------------------------------------

check.test("what finds no memory is an error when asked for, and stops nothing else", function()
    collect()
    np.debug.memory_limit(64e6)
    local huge = np.linspace(0, 1, 2 ^ 40)
    local small = ready { 1, 2 } * 2
    pcall(np.wait_all)
    pcall(np.wait_all)
    np.wait_all()
    check.equal(small:totable(), { 2, 4 })
    check.raises(function() huge:wait() end, "out of memory")
    check.equal(huge[0]:item(), 0)
    small:delete()
    check.raises(function() return np.zeros({ 2 ^ 30 }):matmul(np.zeros { 2 ^ 30, 1 }):item() end, "out of memory")
    huge = nil -- luacheck: ignore 311
    pcall(np.wait_all)
    pcall(np.wait_all)
    collect()
    np.debug.memory_limit(0)
    check.equal(np.debug.counters().pending, 0)
end)

-- ---- Deep graphs ----------------------------------------------------------------------------------------------------

check.test("a chain of many pending nodes evaluates, differentiates and is dropped", function()
    collect()
    np.debug.limits { nodes = 0, bytes = 0 }
    local before = np.debug.counters()
    local x = ready { 0.5, 2 }
    local function chain(y)
        for k = 1, DEPTH do y = k % 2 == 0 and y * 2 or y * 0.5 end
        return y
    end
    do
        local y = chain(x)
        check.ok(np.debug.counters().pending >= before.pending + DEPTH)
        check.equal(y:totable(), { 0.5, 2 })
        check.equal(np.grad(function(z)
            local end_of_chain = chain(z)
            check.ok(np.debug.counters().pending >= DEPTH)
            return end_of_chain:sum()
        end)(x):totable(), { 1, 1 })
        local dropped = chain(x)
        check.ok(dropped:is_deferred())
    end
    x = nil -- luacheck: ignore 311
    collect()
    local after = np.debug.counters()
    check.equal(after.pending, 0)
    check.ok(after.live_handles <= before.live_handles + 8, "handles: " .. after.live_handles)
    check.ok(np.memory().live < 1e6, "live bytes: " .. np.memory().live)
    np.debug.limits { nodes = 1024, bytes = 64 * 2 ^ 20 }
end)

check.done()
