--- deferred_test.lua: np.deferred and np.export: deferred compute, line by line. The names of tests quote the lines of
-- the contract (docs/deferred.md, "The contract").
local check = require "tests.lib.check"
local core = require "neap.core"

local release = (os.getenv("NEAP_TEST_BUILD") or "release") == "release"
local x, w = np.array { 1, 2, 3 }, np.array { 0.5, 1, 2 }

--- The counters that work moves.
local function work()
    local now = np.debug.counters()
    return { now.launches, now.flushes, now.plans, now.pushed }
end

--- Runs f in deferred mode; nothing may have been started.
local function deferred(f)
    local before = work()
    local results = { np.deferred(f) }
    check.equal(work(), before, "work in deferred mode")
    return unpack(results)
end

local function live()
    np.memory.trim()
    np.wait_all()
    return np.memory().live
end

--- Products, gathers, scatters, sorts, random draws, reductions, views: one of each.
local function everything(a)
    local square = a:reshape(3, 1) * a
    local product = square:matmul(square) + np.eye(3)
    local taken = np.take(product, np.array({ 2, 0, 2 }, { dtype = "i32" }), { axis = 0 })
    local scattered = taken:at { { 0, 2 } }:add(a)
    local drawn = np.random.normal(np.random.fold_in(np.random.key(3), 4), { 3, 3 })
    return np.sort(scattered + drawn) - np.softmax(scattered) * np.where(a:gt(1), a, -a), drawn:sum { axis = 0 }
end

-- ---- 1. The mode, the query, the triggers ---------------------------------------------------------------------------

check.test("E1: results are lazy: no memory, no work until needed", function()
    local before = np.memory().allocations
    local y, z = deferred(function()
        local a = x * 2
        return a:matmul(np.ones { 3, 3 }), { inner = a + 1, 5, "text" }, nil
    end)
    check.equal({ y:is_deferred(), z.inner:is_deferred(), z[1], z[2] }, { true, true, 5, "text" })
    check.equal(np.memory().allocations, before)
    check.equal({ y:totable(), z.inner:totable() }, { { 12, 12, 12 }, { 3, 5, 7 } })
    check.equal({ y:is_deferred(), z.inner:is_deferred() }, { false, false })
end)

check.test("E1: nothing starts, whatever the ops and the size of the graph", function()
    np.debug.limits { nodes = 4, bytes = 64 }
    local index = np.array({ 2, 0, 2 }, { dtype = "i32" })
    np.wait_all()
    local y = deferred(function()
        local a = x
        for _ = 1, 40 do
            a = np.take(a, index):matmul(np.ones { 3, 3 }) * 0.125 + np.random.uniform(np.random.key(1), { 3 })
            a = np.sort(a:at { 1 }:set(2)):cumsum()
        end
        return a
    end)
    np.debug.limits { nodes = 1024, bytes = 2 ^ 26 }
    check.ok(y:is_deferred())
    check.equal(#y:totable(), 3)
end)

check.test("E1: the triggers: reading on the host", function()
    for _, read in ipairs { "totable", "tostring" } do
        local y = deferred(function() return x + 1 end)
        y[read](y)
        check.equal({ y:is_deferred(), y:totable() }, { false, { 2, 3, 4 } })
    end
    local y = deferred(function() return (x + 1):sum() end)
    check.equal({ y:item(), y:is_deferred() }, { 9, false })
end)

check.test("E1: the triggers: use by code outside the mode, once its value is asked for; computed once", function()
    local y = deferred(function() return x:exp() end)
    local before = work()
    local z, v = y * 2, y + 1
    check.equal(work(), before)
    check.ok(y:is_deferred())
    z:wait()
    check.ok(not y:is_deferred())
    local launches = np.debug.counters().launches
    y:wait()
    check.equal(np.debug.counters().launches, launches)
    v:wait()
    check.equal(np.debug.counters().launches, launches + 1)
end)

check.test("E1: a call outside the mode that reads a result starts it with the call", function()
    local y = deferred(function() return x + 1 end)
    local z = y:reshape(1, 3):matmul(np.eye(3))
    check.ok(not y:is_deferred() and not z:is_deferred())
end)

check.test("E1: the triggers: np.force, x:wait, np.wait_all", function()
    local a, b, c, d = deferred(function() return x + 1, x + 2, x + 3, x + 4 end)
    check.ok(rawequal(np.force(a, b), a))
    check.equal({ a:is_deferred(), b:is_deferred(), c:is_deferred() }, { false, false, true })
    check.ok(rawequal(c:wait(), c))
    check.equal({ c:is_deferred(), d:is_deferred() }, { false, true })
    np.wait_all()
    check.ok(not d:is_deferred())
end)

check.test("np.force, np.wait and np.is_deferred take trees, and several arguments", function()
    local a, b, c, d = deferred(function() return x + 1, x + 2, x + 3, x + 4 end)
    local tree = { b, { c = c, "text", 5, print } }
    check.ok(np.is_deferred(a, tree) and np.is_deferred(tree) and np.is_deferred({}, { { d } }))
    local launches = np.debug.counters().launches
    check.equal({ select("#", np.force(a, tree)), rawequal(select(2, np.force(a, tree)), tree) }, { 2, true })
    check.equal(np.debug.counters().launches - launches, 1, "together")
    check.equal({ np.is_deferred(a, tree), np.is_deferred(tree, d), np.is_deferred {} }, { false, true, false })
    local more = deferred(function() return { x + 5, { x + 6 } } end)
    launches = np.debug.counters().launches
    check.ok(rawequal(np.wait(more), more) and rawequal(select(3, np.wait(d, more, tree)), tree))
    check.equal({ np.is_deferred(more, d), more[2][1]:totable() }, { false, { 7, 8, 9 } })
    check.equal(np.debug.counters().launches - launches, 2, "those of a call together")
    check.raises(function() np.wait { a, { np.debug.fail(b) } } end, "failed on purpose")
    np.wait_all() -- that failure is known
    for _, f in ipairs { "wait", "is_deferred" } do
        check.raises(function() np[f] "x" end, "np%." .. f .. ": argument 1 must be an array or a number, got the str")
        check.raises(function() np[f]() end, "np%." .. f .. ": argument 1 must be an array or a number, got nothing")
    end
    check.raises(function() np.force(a, print) end, "np%.force: argument 2 must be an array or a number")
end)

check.test("E1: np.explain tells it, and starts nothing", function()
    local y = deferred(function() return x + 1 end)
    check.ok(tostring(np.explain(y)):find("is deferred until it is asked for", 1, true))
    check.ok(y:is_deferred())
end)

check.test("E1: other work that is flushed leaves results alone", function()
    local y = deferred(function() return x + 1 end)
    np.debug.limits { nodes = 1, bytes = 0 }
    local _ = x * 5
    np.debug.limits { nodes = 1024, bytes = 2 ^ 26 }
    check.ok(y:is_deferred())
end)

check.test("E1: shape and static_shape never trigger", function()
    local y = deferred(function() return np.concatenate { x, w }:reshape(2, 3) end)
    local before = work()
    check.equal({ y.shape, y.static_shape, y.ndim, y.size, y.dtype }, { { 2, 3 }, { 2, 3 }, 2, 6, "f32" })
    check.equal(work(), before)
    check.ok(y:is_deferred())
end)

check.test("E1: in the mode too a value may be looked at: it is computed then, with what it needs alone", function()
    local inner, other
    local y = np.deferred(function()
        inner, other = x * 2, x * 3
        if inner:sum():item() > 5 then return inner + other end
        return other
    end)
    check.equal({ y:is_deferred(), other:is_deferred() }, { true, true })
    check.equal(y:totable(), { 5, 10, 15 })
end)

-- ---- 2. Writing, copies ---------------------------------------------------------------------------------------------

check.test("E2: writing in place to a lazy array is an error", function()
    local y = deferred(function() return x + 1 end)
    check.raises(function() y[0] = 1 end, "deferred_test.lua:%d+: arrays are immutable")
    check.raises(function() return np.deferred(function() x[0] = 1 end) end, "deferred_test.lua:%d+: arrays are immut")
    local z = deferred(function() return y:at { 0 }:set(7) end)
    check.equal({ y:totable(), z:totable() }, { { 2, 3, 4 }, { 7, 3, 4 } })
end)

check.test("E2: a deleted result raises; what was recorded from it is computed", function()
    local y = deferred(function() return x + 1 end)
    local z = y * 2
    y:delete()
    check.raises(function() return y + 1 end, "the array was deleted")
    check.raises(function() return np.export { inputs = { x = x }, outputs = { y = y } } end, "the array was deleted")
    check.equal(z:totable(), { 4, 6, 8 })
end)

check.test("E2: a lazy array is not donated", function()
    local f = np.jit(function(a) return a + 1 end, { donate = { 1 } })
    local y = deferred(function() return x * 2 end)
    check.raises(function() return f(y) end, "deferred and has no memory to give; np.force it first")
    check.equal(y:totable(), { 2, 4, 6 })
    check.equal(f(y):totable(), { 3, 5, 7 })
    check.raises(function() return y + 1 end, "donated")
    local z, t = np.deferred(function()
        local t = x * 5
        return f(t), t
    end)
    check.equal({ z:totable(), t:totable() }, { { 6, 11, 16 }, { 5, 10, 15 } })
end)

check.test("E2: a cross-device copy is an op like any other", function()
    local y = deferred(function() return np.device_put(x * 2, "cpu:0") + 1 end)
    local program = np.export { inputs = { x = x }, outputs = { y = y } }
    check.ok(tostring(program):find("device_put", 1, true), tostring(program))
    check.equal({ y:totable(), program(w):totable() }, { { 3, 5, 7 }, { 2, 3, 5 } })
end)

-- ---- 3. Release of data ---------------------------------------------------------------------------------------------

check.test("E3: after computing, an array releases the data it kept for computing; the structure stays", function()
    local before = live()
    local big = np.ones { 250000 }:copy()
    local program
    do
        local input = big:wait()
        local y = deferred(function() return (input * 2 + input):sum() end)
        check.ok(live() >= before + 1000000)
        y:wait()
        program = np.export { inputs = { input = input }, outputs = { y = y } }
        big, input = nil, nil -- luacheck: ignore 311
        check.ok(live() < before + 100000, "the input's data is held by structure alone")
        local z = deferred(function() return y + 1 end)
        check.equal({ y:item(), z:item() }, { 750000, 750001 })
        check.raises(function() return np.export { inputs = {}, outputs = { z = z } } end, "needs an input that is not")
    end
    check.equal(program(np.zeros { 250000 }):item(), 0)
end)

check.test("E3: inner results give their memory back as well, and stay part of what is exported", function()
    local before = live()
    local inner
    local y = deferred(function()
        inner = (x:reshape(3, 1) + np.zeros { 100000 }):exp()
        return inner:matmul(np.ones { 100000 }), inner:sum()
    end)
    inner:wait()
    check.ok(live() >= before + 1200000)
    y:wait()
    inner = nil
    check.ok(live() < before + 100000)
    local program = np.export { inputs = { x = x }, outputs = { y = y } }
    check.equal(program(x):totable(), y:totable())
end)

check.test("E3: the inputs are kept while somebody may still ask for what needs them", function()
    local inner
    local y = deferred(function()
        local data = x * 1
        inner = data + 1
        return inner * 2
    end)
    y:wait() -- inner was computed inside a kernel
    collectgarbage()
    collectgarbage()
    check.equal({ inner:totable(), y:totable() }, { { 2, 3, 4 }, { 4, 6, 8 } })
end)

check.test("E3: dropping all handles frees the structure", function()
    local before = np.debug.counters().live_handles
    local y = deferred(function() return x:exp():sum() end)
    y:wait()
    y = deferred(function() return x:exp() + y end)
    y = nil -- luacheck: ignore 311
    np.memory.trim()
    check.ok(np.debug.counters().live_handles <= before)
end)

-- ---- 4. Export ------------------------------------------------------------------------------------------------------

check.test("E4: named inputs, named outputs, in the order of trees", function()
    local y, z = deferred(function() return x * w, w + 1 end)
    local program = np.export { inputs = { x = x, params = { w = w } }, outputs = { z = z, a = y } }
    check.equal({ program:list_inputs(), program:list_outputs() }, { { "params.w", "x" }, { "a", "z" } })
    local a, b = program(w, x)
    check.equal({ a:totable(), b:totable() }, { { 0.5, 2, 6 }, { 1.5, 2, 3 } })
    a, b = program { x = w, params = { w = x } }
    check.equal({ a:totable(), b:totable() }, { { 0.5, 2, 6 }, { 2, 3, 4 } })
    program = np.export { inputs = { x, w }, outputs = { y } }
    check.equal({ program:list_inputs(), program:list_outputs() }, { { "in1", "in2" }, { "out1" } })
    check.equal(program(x, x):totable(), { 1, 4, 9 })
end)

check.test("E4: calls that do not fit the names", function()
    local y = deferred(function() return x * w end)
    local program = np.export { inputs = { x = x, w = w }, outputs = { y = y } }
    check.raises(function() return program { x = x } end, "'w'")
    check.raises(function() return program { x = x, w = w, v = w } end, "'v'")
    check.raises(function() return program(x) end, "expected")
    check.raises(function() return program(x, np.ones { 4 }) end, "f32%[3%]")
end)

check.test("E4: error when an output needs an input that was not listed: the op and the line that reads it", function()
    local line
    local y, z = deferred(function()
        line = debug.getinfo(1, "l").currentline + 1
        return np.maximum(x, 2) * 3 + w, x
    end)
    local text = check.raises(function() return np.export { inputs = { w = w }, outputs = { y = y } } end,
                              "np.export: output 'y' needs an input that is not listed")
    check.ok(text:find("an array of dtype f32 and shape (3,), which maximum reads at ", 1, true), text)
    check.ok(text:find("deferred_test.lua:" .. line, 1, true), text)
    check.raises(function() return np.export { inputs = { w = w }, outputs = { y = y, z = z } } end, "output 'y' needs")
    y:wait()
    check.raises(function() return np.export { inputs = { w = w }, outputs = { y = y } } end, "maximum reads")
end)

check.test("E4: error when a listed input reaches no output", function()
    local y = deferred(function() return x * 2 end)
    check.raises(function() return np.export { inputs = { x = x, w = w }, outputs = { y = y } } end,
                 "no output depends on the input 'w'")
end)

check.test("E4: what else is refused", function()
    local y = deferred(function() return x * 2 end)
    local function refused(given, pattern)
        check.raises(function() return np.export(given) end, pattern)
    end
    refused({ inputs = { x = x, same = x }, outputs = { y = y } }, "'same' and 'x' are the same array")
    refused({ inputs = { x = x }, outputs = { y = x * 2 } }, "output 'y' .* was not recorded in deferred mode")
    refused({ inputs = { x = 1 }, outputs = { y = y } }, "inputs: 'x' must be an array, got the number 1")
    refused({ inputs = { x = x }, outputs = {} }, "'outputs' has no array")
    refused({ inputs = x, outputs = { y = y } }, "option 'inputs' must be a table")
    refused({ input = { x = x }, outputs = { y = y } }, "unknown option 'input'")
    np.jit(function(a)
        local inner = np.deferred(function() return a + 1 end)
        refused({ inputs = { x = x }, outputs = { y = inner } }, "an open trace")
        return a
    end)(x)
end)

check.test("E4: arrays made outside and used inside are data, whether they are computed or not", function()
    local outside = x * 2
    local y = deferred(function() return outside + 1 end)
    check.raises(function() return np.export { inputs = { x = x }, outputs = { y = y } } end, "not listed")
    local program = np.export { inputs = { outside = outside }, outputs = { y = y } }
    check.equal(program(x):totable(), { 2, 3, 4 })
    y:wait()
    check.raises(function() return np.export { inputs = { x = x }, outputs = { y = y } } end, "not listed")
end)

check.test("E4: listed inputs keep their identity even if they are lazy constants; unlisted ones are staged", function()
    for _, make in ipairs { function() return np.zeros { 3 } end, function() return np.arange(3, { dtype = "f32" }) end,
                            function() return np.full({ 3 }, 4) end, function() return np.eye(3)[0] end } do
        for _, forced in ipairs { false, true } do
            local constant = make()
            local y = deferred(function() return constant + x end)
            if forced then constant:wait() end
            local listed = np.export { inputs = { c = constant, x = x }, outputs = { y = y } }
            check.equal(listed:list_inputs(), { "c", "x" })
            check.equal(listed(w, x):totable(), { 1.5, 3, 5 })
            local staged = np.export { inputs = { x = x }, outputs = { y = y } }
            check.equal(staged(x):totable(), y:totable())
            check.equal(make():totable(), constant:totable())
        end
    end
end)

check.test("E4: what is computed from constructors is staged, not bound: an export does no work", function()
    local y = deferred(function()
        return np.ones { 2000, 2000 }:matmul(np.ones { 2000 }):sum() + np.random.normal(np.random.key(0), { 3 }) + x
    end)
    local before, memory = work(), np.memory().allocations
    local program = np.export { inputs = { x = x }, outputs = { y = y } }
    check.equal({ work(), np.memory().allocations }, { before, memory })
    check.ok(tostring(program):find("random_floats", 1, true) and tostring(program):find("matmul", 1, true))
    check.equal(program(x):totable(), y:totable())
end)

check.test("E4: what the body spells out is part of the program, what it loads is data", function()
    local y = deferred(function()
        local picked = (x * 2)[{ np.array({ 2, 0 }, { dtype = "i32" }) }]
        return picked + np.take(x, { 0, 1 }) + np.array { 0.5, 0.25 }
    end)
    y:wait()
    np.memory.trim()
    local program = np.export { inputs = { x = x }, outputs = { y = y } }
    check.equal(program(w):totable(), { 5, 2.25 })
    check.equal(y:totable(), { 7.5, 4.25 })
    local path = os.tmpname() .. ".npy"
    np.io.save(path, w)
    local z = np.deferred(function() return np.io.load(path) + x end)
    os.remove(path)
    check.raises(function() return np.export { inputs = { x = x }, outputs = { z = z } } end, "not listed")
end)

check.test("E4: an input in the middle of the graph cuts it", function()
    local y, h = deferred(function()
        local h = x:exp()
        return h * 2 + h, h
    end)
    local program = np.export { inputs = { h = h }, outputs = { y = y } }
    check.equal(program(x):totable(), { 3, 6, 9 })
    program = np.export { inputs = { x = x }, outputs = { x = x } }
    check.equal(program(w):totable(), w:totable())
end)

check.test("E4: it does not matter what has been computed when", function()
    local y, z = deferred(function()
        local h = (x * w):sum { keepdims = true }
        return h + x, h:matmul(np.ones { 1, 2 })
    end)
    local function export()
        return tostring(np.export { inputs = { x = x, w = w }, outputs = { y = y, z = z } })
    end
    local first = export()
    z:wait()
    local second = export()
    y:wait()
    np.memory.trim()
    check.equal({ second, export() }, { first, first })
end)

-- ---- 5. Programs ----------------------------------------------------------------------------------------------------

check.test("E5: an exported program can be printed, called and differentiated", function()
    local y = deferred(function() return (x * w):sin():sum() end)
    local program = np.export { inputs = { x = x, w = w }, outputs = { y = y } }
    check.ok(tostring(program):find("sin", 1, true))
    check.equal(program(w, x):item(), y:item())
    local call = function(a, b) return program(a, b) end
    check.equal(np.grad(call)(w, x):totable(), np.grad(function(a) return (x * a):sin():sum() end)(w):totable())
    check.equal(np.jit(call)(w, x):item(), y:item())
    check.equal(np.vmap(call)(np.stack { w, x }, np.stack { x, x })[0]:item(), y:item())
end)

check.test("E5: an exported program can be saved and loaded", function()
    local function loss(a)
        local drawn = np.random.normal(np.random.key(0), { 3 })
        return ((x * a):sin() + drawn + np.ones { 1, 3 }:matmul(np.ones { 3, 3 })[0]):sum() + np.take(x, { 2, 0 }):sum()
    end
    local y, g = deferred(function() return loss(w), np.grad(loss)(w) end)
    local program = np.export { inputs = { x = x, params = { w = w } }, outputs = { y = y, g = g } }
    local path = os.tmpname()
    program:save(path)
    local loaded = np.load_program(path)
    os.remove(path)
    check.equal({ loaded:list_inputs(), loaded:list_outputs() }, { { "params.w", "x" }, { "g", "y" } })
    local a, b = loaded { x = x, params = { w = w } }
    check.equal({ a:totable(), b:item() }, { g:totable(), y:item() })
    a, b = loaded(x, w)
    check.equal({ a:totable(), b:item() }, { (program(x, w)):totable(), (select(2, program(x, w))):item() })
end)

-- ---- 7. Differentiation inside --------------------------------------------------------------------------------------

check.test("E7: differentiation works inside deferred mode, and is exported", function()
    local function loss(a) return (x * a):sin():sum() end
    local function second(a) return (np.grad(loss)(a) * a):sum() end
    local value, g, gg, tangent = deferred(function()
        local value, g = np.value_and_grad(loss)(w)
        local _, tangent = np.jvp(loss, { w }, { x })
        return value, g, np.grad(second)(w), tangent
    end)
    local program = np.export { inputs = { w = w, x = x }, outputs = { value, g, gg, tangent } }
    local outside = { loss(w), np.grad(loss)(w), np.grad(second)(w), (select(2, np.jvp(loss, { w }, { x }))) }
    local again = { program(w, x) }
    for k, array in ipairs { value, g, gg, tangent } do
        check.equal({ array:totable(), again[k]:totable() }, { outside[k]:totable(), outside[k]:totable() })
    end
end)

check.test("E7: through control flow and checkpoints as well", function()
    local function looped(a)
        return (np.scan(function(c, part) return c * part, c end, a:sum(), a))
    end
    local kept = np.checkpoint(function(a) return a:sin():sum() end)
    local before = np.debug.counters().launches
    local g, h = np.deferred(function() return np.grad(looped)(x), np.grad(kept)(x) end)
    check.equal(np.debug.counters().launches, before)
    local program = np.export { inputs = { x = x }, outputs = { g, h } }
    local again = { program(x) }
    check.equal({ g:totable(), h:totable() }, { np.grad(looped)(x):totable(), np.cos(x):totable() })
    check.equal({ again[1]:totable(), again[2]:totable() }, { g:totable(), h:totable() })
end)

check.test("E7: deferred mode works inside differentiation, traces and batches", function()
    local function loss(a)
        return np.deferred(function() return (x * a):sin():sum() end) * 2
    end
    local expected = np.grad(function(a) return (x * a):sin():sum() * 2 end)(w):totable()
    check.equal({ np.grad(loss)(w):totable(), np.jit(np.grad(loss))(w):totable() }, { expected, expected })
    check.equal(np.vmap(loss)(np.stack { w, x })[0]:item(), loss(w):item())
    local nested = deferred(function()
        return np.deferred(function() return loss(w) end) + 1
    end)
    check.equal(nested:item(), loss(w):item() + 1)
end)

check.test("control flow is deferred and exported, in one step each", function()
    local function body(a)
        local total, sums = np.scan(function(c, part) return c + part, c * part end, a:sum(), a)
        local chosen = np.cond(a[0]:gt(0), function(v) return v * 2 end, function(v) return v end, a)
        local grown = np.while_loop(function(v) return v:sum():lt(100) end, function(v) return v * 2 end, a)
        return total, sums, chosen, grown, np.fori_loop(0, 5, function(k, v) return v + k end, a)
    end
    local now, before = { body(x) }, np.debug.counters().launches
    local later = { np.deferred(function() return body(x) end) }
    check.equal(np.debug.counters().launches, before)
    for _, y in ipairs(later) do check.ok(y:is_deferred()) end
    local program = np.export { inputs = { x = x }, outputs = later }
    np.wait_all()
    for _, y in ipairs(later) do check.ok(not y:is_deferred()) end
    local again = { program(x) }
    for k, y in ipairs(later) do
        check.equal({ y:totable(), again[k]:totable() }, { now[k]:totable(), now[k]:totable() })
    end
end)

check.test("effects of control flow happen at once, and in each run of the program, as recorded", function()
    local seen = {}
    local note = np.callback(function(v) seen[#seen + 1] = v:item() end)
    local double = np.callback(function(v)
        seen[#seen + 1] = "double"
        return v * 2
    end, { result = { shape = { 3 }, dtype = "f32" } })
    local a, b = np.deferred(function()
        local looped = np.fori_loop(0, 2, function(k, v)
            note(k)
            return v + 1
        end, x)
        return double(w), looped * 2
    end)
    np.effects_barrier()
    check.equal({ seen, a:totable(), b:totable() }, { { 0, 1, "double" }, { 1, 2, 4 }, { 6, 8, 10 } })
    seen = {}
    local program = np.export { inputs = { w = w, x = x }, outputs = { a, b } }
    check.equal(#seen, 0)
    check.equal((select(2, program(w, w))):totable(), { 5, 6, 8 })
    np.effects_barrier()
    check.equal(seen, { 0, 1, "double" })
end)

-- ---- 8. Traps -------------------------------------------------------------------------------------------------------

check.test("E8: deep chains: recorded, exported, computed, freed", function()
    local n = release and 1000000 or 20000
    local y = deferred(function()
        local a = x
        for _ = 1, n do a = a + 1 end
        return a
    end)
    local program = np.export { inputs = { x = x }, outputs = { y = y } }
    check.equal(program(x):totable(), { n + 1, n + 2, n + 3 })
    y:wait()
    check.equal(program:info().nodes, 2 * n + 1)
    program = nil -- luacheck: ignore 311
    local last = deferred(function()
        local a = y
        for _ = 1, n do a = a * w end
        return a
    end)
    check.ok(last:is_deferred())
    y, last = nil, nil -- luacheck: ignore 311
    np.memory.trim()
end)

check.test("E8: the same code gives the same result deferred, jitted or immediate", function()
    local now = { everything(x) }
    local later = { deferred(function() return everything(x) end) }
    local jitted = { np.jit(everything)(x) }
    local inside = { deferred(function() return np.jit(everything)(x) end) }
    local index = np.array({ 2, 0, 2 }, { dtype = "i32" })
    local listed = { np.deferred(function()
        local square = x:reshape(3, 1) * x
        return np.take(square:matmul(square), index, { axis = 0 }):sum()
    end) }
    local program = np.export { inputs = { x = x, index = index }, outputs = listed }
    check.equal(program(index, x):item(), listed[1]:item())
    for k = 1, #now do
        local expected = now[k]:totable()
        check.equal({ later[k]:totable(), jitted[k]:totable(), inside[k]:totable() }, { expected, expected, expected })
    end
end)

check.test("E8: a result that is a view runs the kernels and takes the memory that it would outside", function()
    local big = np.ones { 1000, 1000 }:wait()
    local views = {
        function() return np.exp(big)[{ 0, 0 }] end,
        function() return np.exp(big)[{ { 0, 900 }, {} }] end,
        function() return np.exp(big):transpose() end,
        function() return np.exp(big):reshape(1000000) end,
        function() return np.broadcast_to(np.exp(big)[{ { 0, 1 } }], { 10, 1000 }) end,
        function() return np.sin(np.exp(big)[{ {}, { -1, nil, -1 } }])[{ 3, {} }] end,
    }
    --- The launches and the bytes that computing f() takes.
    local function cost(f)
        np.memory.trim()
        np.memory.reset_peak()
        local launches, before = np.debug.counters().launches, np.memory().live
        local y = f():wait()
        return { tonumber(np.debug.counters().launches - launches), tonumber(np.memory().peak - before), y:totable() }
    end
    for k, f in ipairs(views) do
        check.equal(cost(function() return (deferred(f)) end), cost(f), "view " .. k)
    end
    local element = deferred(views[1])
    check.ok(not tostring(np.explain(element)):find("reads it", 1, true), "no call reads what it is a view of")
    local y, more = deferred(function()
        local y = np.exp(big)
        return y, y + 1
    end)
    check.ok(tostring(np.explain(more)):find("or deferred mode returned it", 1, true))
    check.equal(y:is_deferred(), true)
end)

check.test("E8: errors carry the line where the op was recorded", function()
    local line
    local y = deferred(function()
        local a = x * 2
        line = debug.getinfo(1, "l").currentline + 1
        a = np.debug.fail(a)
        return a + 1
    end)
    local text = check.raises(function() return y:totable() end, "failed on purpose")
    check.ok(text:find("deferred_test.lua:" .. line .. ": debug_fail", 1, true), text)
    check.raises(function() return y + 1, y:totable() end, "failed on purpose")
    local program = np.export { inputs = { x = x }, outputs = { y = y } }
    text = check.raises(function() return program(w):totable() end, "failed on purpose")
    check.ok(text:find("deferred_test.lua:" .. line .. ": debug_fail", 1, true), text)
    text = check.raises(function()
        np.deferred(function()
            local a = x:matmul(np.ones { 4, 4 })
            return a
        end)
    end, "matmul")
    check.ok(text:find("^[^:]*deferred_test.lua:%d+: np.matmul"), text)
end)

-- ---- The bracket ----------------------------------------------------------------------------------------------------

--- Is the mode open? Then a call does not start.
local function is_open()
    return x:reshape(1, 3):matmul(np.eye(3)):is_deferred()
end

check.test("the mode is left after an error, with the error as it was", function()
    local problem = { "a table" }
    local ok, caught = pcall(np.deferred, function()
        check.ok(is_open())
        np.deferred(function() check.ok(is_open()) end)
        check.ok(is_open(), "an inner one ends only itself")
        error(problem)
    end)
    check.ok(not ok and rawequal(caught, problem) and not is_open())
    check.raises(function() return np.deferred(1) end, "argument 1 %(f%) must be a function")
    check.raises(function() return np.deferred(is_open, 1) end, "takes one argument")
    check.equal({ np.deferred(function() return 1, nil, nil end) }, { 1 })
    check.equal(select("#", np.deferred(function() return 1, nil, nil end)), 3)
end)

check.test("the mode is left after an interrupt", function()
    local text = check.raises(function()
        return np.deferred(function()
            core.C.neap_interrupt_raise()
            local y = x
            for _ = 1, 10 do y = y + 1 end
        end)
    end, "interrupted")
    core.C.neap_interrupt_clear()
    check.ok(text:find("deferred_test.lua:%d+: interrupted"), text)
    check.ok(not is_open())
end)

check.test("a coroutine cannot yield out of it, and may live inside", function()
    local ok, problem = coroutine.resume(coroutine.create(function()
        return np.deferred(function() coroutine.yield() end)
    end))
    check.ok(not ok and problem:find("a coroutine cannot yield while .* deferred mode, is open"), problem)
    check.ok(not is_open())
    local y = deferred(function()
        local next_value = coroutine.wrap(function() coroutine.yield(x + 1) end)
        return next_value() * 2
    end)
    check.equal(y:totable(), { 4, 6, 8 })
end)

-- ---- Effects --------------------------------------------------------------------------------------------------------

check.test("a print in the mode happens where it stands, with what it needs alone", function()
    local name = os.tmpname()
    local script = io.open(name, "w")
    script:write([[
        local x, other = np.array { 1, 2, 3 }
        local y = np.deferred(function()
            local a = x * 2
            other = x * 3
            print("a", a)
            return a + 1
        end)
        print("outside", y:is_deferred(), other:is_deferred())
        print(y)
        local program = np.export { inputs = { x = x }, outputs = { y = y } }
        print(program(y), program:info().effects)
    ]])
    script:close()
    local process = require "tests.lib.process"
    local _, out = process.run_neap { name }
    os.remove(name)
    check.equal(out, "a\t[2. 4. 6.]\noutside\ttrue\ttrue\n[3. 5. 7.]\n[ 7. 11. 15.]\t0\n")
end)

check.test("callbacks happen at once in their order, and again in each run of the program", function()
    local seen = {}
    local call = np.callback(function(tag, a)
        seen[#seen + 1] = tag .. tostring(a)
        return a * 2
    end, { result = { shape = { 3 }, dtype = "f32" } })
    local y = np.deferred(function()
        local first = call("first", x * 2)
        local second = call("second", w)
        return second - first
    end)
    np.effects_barrier()
    check.equal(seen, { "first[2. 4. 6.]", "second[0.5 1.  2. ]" })
    check.equal(y:totable(), { -3, -6, -8 })
    seen = {}
    local program = np.export { inputs = { x = x, w = w }, outputs = { y = y } }
    check.equal(seen, {})
    check.equal(program(x, w):totable(), { 0, 0, -2 })
    check.equal(seen, { "first[1. 2. 4.]", "second[1. 2. 3.]" })
end)

check.test("a callback that runs while the mode is open is outside of it", function()
    local inside
    local call = np.callback(function(a)
        inside = is_open()
        return a
    end, { result = { shape = { 3 }, dtype = "f32" } })
    np.deferred(function()
        call(x):wait()
        check.ok(is_open())
    end)
    check.equal(inside, false)
end)

check.test("an effect of a jitted function in the mode happens; its arithmetic is deferred", function()
    local seen = {}
    local f = np.jit(function(a)
        np.callback(function(v) seen[#seen + 1] = v:item() end)(a:sum())
        return a * 2
    end)
    local y = np.deferred(function() return f(x) end)
    check.ok(y:is_deferred())
    np.effects_barrier()
    check.equal({ seen, y:totable() }, { { 6 }, { 2, 4, 6 } })
end)

check.done()
