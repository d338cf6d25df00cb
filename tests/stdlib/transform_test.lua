--- transform_test.lua (under tsan with --long): grad, value_and_grad and trace: trees, levels, errors.
local np = require "neap"
local check = require "tests.lib.check"

local function plans() return np.debug.counters().plans end

check.test("gradients of trees", function()
    local x = np.array { 1, 2, 3 }
    local function loss(p, y) return ((p.w * y + p.b) ^ 2):mean() end
    local value, g = np.value_and_grad(loss)({ w = x, b = np.array(0.5) }, x)
    check.close(value:item(), 37.5833333, 1e-6)
    check.close(g.w:totable(), { 1, 6, 19 }, 1e-6)
    check.close(g.b:item(), 10.3333333, 1e-6)
end)

check.test("argnums and has_aux", function()
    local function f(a, b) return (a * b):sum(), a + b, "text" end
    local a, b = np.array { 1, 2 }, np.array { 3, 4 }
    local ga, gb, sum, text = np.grad(f, { argnums = { 1, 2 }, has_aux = true })(a, b)
    check.equal({ ga:totable(), gb:totable(), sum:totable(), text }, { { 3, 4 }, { 1, 2 }, { 4, 6 }, "text" })
    local value, aux, _, g = np.value_and_grad(f, { argnums = { 2 }, has_aux = true })(a, b)
    check.equal({ value:item(), aux:totable(), g:totable() }, { 11, { 4, 6 }, { 1, 2 } })
end)

check.test("orders nest, and captured arrays are constants", function()
    check.equal(np.grad(np.grad(function(a) return a * a * a end))(2):item(), 12)
    local w0 = np.array { 3, 5 }
    check.equal(np.grad(function(w) return (w * w0):sum() end)(w0):totable(), { 3, 5 })
    local function outer(a) return np.grad(function(b) return a * b * b end)(3) * a end -- 6a²
    check.equal(np.grad(outer)(2):item(), 24)
end)

check.test("a result that does not depend on an argument", function()
    check.equal(np.grad(function(_) return np.ones(3):sum() end)(np.ones(2)):totable(), { 0, 0 })
    check.equal(np.grad(function(_) return 1 end)(2):item(), 0)
end)

check.test("errors of grad", function()
    check.raises(function() return np.grad(function(w) return w end)(np.ones(2)) end, "0%-d array")
    check.raises(function() return np.grad(function(w) return w:sum() end)(np.arange(2)) end, "floats")
    check.raises(function() return np.grad(function() return nil end)(np.ones(2)) end, "must return a 0%-d float array")
    check.raises(function() return np.grad(3) end, "argument 1 %(f%) must be a function")
    check.raises(function() return np.grad(print, { argnum = 1 }) end, "unknown option 'argnum'")
    check.raises(function() return np.grad(function(a) return a, 1 end)(1) end, "has_aux=true")
    check.raises(function() return np.grad(function(a) return a end, { argnums = 2 })(1) end, "argument 2 is missing")
    check.raises(function() return np.grad(function(w) error("my own " .. w.ndim) end)(1) end, "my own 0")
    check.equal(np.grad(function(a) return a * a end)(3):item(), 6, "levels are closed after errors")
end)

check.test("a changing number plans nothing new", function()
    local w, g = np.ones(100), np.full({ 100 }, 0.5)
    local function step(lr)
        w = (w - lr * g):wait()
    end
    step(0.1)
    step(0.2)
    local before = plans()
    for k = 1, 50 do step(0.001 * k) end
    check.equal(plans(), before)
end)

check.test("trace", function()
    local program = np.trace(function(t, k) return t.a * k, t.b:sum() end)({ a = np.ones(2), b = np.ones(3) }, 2)
    check.ok(tostring(program):find("f32%[2%]"), tostring(program))
    check.equal({ program:info().inputs, program:info().outputs }, { 3, 2 })
    local p, q = program({ a = np.array { 1, 2 }, b = np.ones(3) }, 5)
    check.equal({ p:totable(), q:item() }, { { 5, 10 }, 3 })
    check.raises(function() return program({ a = np.ones(2), b = 3 }, 5) end,
                 "t.b: expected f32%[3%], got the number 3")
    local g = np.grad(function(a) return (program({ a = a, b = np.ones(3) }, 5)):sum() end)(np.ones(2))
    check.equal(g:totable(), { 5, 5 })
end)

check.test("a coroutine cannot yield out of a level", function()
    local co = coroutine.create(function()
        return np.grad(function(w)
            coroutine.yield()
            return w
        end)(1)
    end)
    local ok, problem = coroutine.resume(co)
    check.equal(ok, false)
    check.ok(tostring(problem):find("cannot yield", 1, true), problem)
    local inside = coroutine.wrap(function() coroutine.yield(2) end)
    check.equal(np.grad(function(w) return w * inside() end)(1):item(), 2, "a coroutine within the level may")
end)

check.done()
