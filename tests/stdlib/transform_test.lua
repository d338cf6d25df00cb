--- transform_test.lua: grad, value_and_grad, jit and trace: trees, levels, captures, caches, errors.
local np = require "neap"
local check = require "tests.check"

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

check.test("jit runs the body once", function()
    local count = 0
    local f = np.jit(function(x, k)
        count = count + 1
        return x * k, { double = x * 2, name = "n" }
    end)
    local x = np.array { 1, 2 }
    for k = 1, 100 do
        local y, t = f(x, k)
        check.equal({ y:totable(), t.double:totable(), t.name }, { { k, 2 * k }, { 2, 4 }, "n" })
    end
    check.equal(count, 1)
    f(np.array { 1, 2, 3 }, 1)
    f(x:astype("f64"), 1)
    check.equal(count, 3)
end)

check.test("layout is not part of the key", function()
    local count = 0
    local f = np.jit(function(x) count = count + 1 return x:sum() end)
    check.equal(f(np.ones(4, 4)):item(), 16)
    check.equal(f(np.ones(4, 4):wait()):item(), 16)
    check.equal(f(np.arange(16, { dtype = "f32" }):reshape(4, 4).T):item(), 120)
    check.equal(count, 1)
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

check.test("numbers that meet integers must be integral at each call", function()
    local f = np.jit(function(x, k) return x + k end)
    check.equal(f(np.arange(2), 3):totable(), { 3, 4 })
    check.raises(function() return f(np.arange(2), 0.5) end, "0.5 meets an array of integers")
    check.equal(f(np.arange(2), 4):totable(), { 4, 5 })
end)

check.test("static arguments", function()
    local count = 0
    local f = np.jit(function(x, how)
        count = count + 1
        return how == "sum" and x:sum() or x:max()
    end, { static = { 2 } })
    check.equal({ f(np.ones(3), "sum"):item(), f(np.ones(3), "max"):item(), f(np.ones(3), "sum"):item() }, { 3, 1, 3 })
    check.equal(count, 2)
    check.raises(function() return np.jit(print, { donate = { 1 } }) end, "unknown option 'donate'")
    check.raises(function() return np.jit(print, { static = { 0 } }) end, "counts arguments from 1")
    check.raises(function() return np.jit(function(g) return g end)(print) end, "static=")
end)

global_weight = np.ones(2) -- luacheck: ignore 111

check.test("captures are read anew at each call", function()
    local count, w = 0, np.ones(2)
    local function helper(x) return x * w end
    local f = np.jit(function(x)
        count = count + 1
        return helper(x) + global_weight -- luacheck: ignore 113
    end)
    local x = np.array { 1, 2 }
    w, global_weight = (w + 0):wait(), (w + 0):wait() -- luacheck: ignore 111
    check.equal(f(x):totable(), { 2, 3 })
    w = (w * 10):wait()
    global_weight = (w * 10):wait() -- luacheck: ignore 111
    check.equal(f(x):totable(), { 110, 120 })
    check.equal(count, 1)
    w = np.ones(1):wait()
    check.equal(f(x):totable(), { 101, 102 })
    check.equal(count, 2)
    check.equal(np.grad(function(y) return f(y):sum() end)(x):totable(), { 1, 1 })
end)

check.test("constructed captures are not materialised", function()
    local big = np.arange(1e9)
    local f = np.jit(function(x) return x + big[{ { 5, 8 } }] end)
    local before = np.memory().peak
    check.equal(f(np.ones(3)):totable(), { 6, 7, 8 })
    check.ok(np.memory().peak - before < 1e6)
end)

check.test("assigning an array outside is an error", function()
    local kept = np.ones(2):wait()
    local f = np.jit(function(x)
        kept = x * 2
        return x
    end)
    check.raises(function() return f(np.ones(2)) end, "assigned an array to 'kept'")
    check.equal(kept:totable(), { 1, 1 })
    local empty
    check.raises(function() return np.jit(function(x) empty = x + 1 return x end)(np.ones(1)) end, "'empty'")
    check.equal(empty, nil)
end)

check.test("values are not known while tracing", function()
    local f = np.jit(function(x)
        if x:sum():item() > 0 then return x end
        return -x
    end)
    local text = check.raises(function() return f(np.ones(2)) end, "while tracing")
    check.ok(text:find("transform_test.lua", 1, true) and text:find("np.where", 1, true), text)
    check.raises(function() return np.jit(function(x) return tostring(x) end)(np.ones(2)) end, "tracing")
    check.raises(function() return np.jit(function(x) return x:nonzero() end)(np.ones(2)) end, "tracing")
end)

check.test("jit and grad compose", function()
    local x = np.array { 0.5, 1 }
    local f = function(w) return np.tanh(w * w):sum() end
    local want = np.grad(f)(x):totable()
    check.equal(np.jit(np.grad(f))(x):totable(), want)
    check.equal(np.grad(np.jit(f))(x):totable(), want)
    local inner = np.jit(f)
    check.equal(np.jit(function(w) return inner(w) * 2 end)(x):item(), 2 * f(x):item())
end)

check.test("a training step as one program", function()
    local model = np.nn.Sequential { np.nn.Dense(2, 8), np.nn.tanh, np.nn.Dense(8, 2) }
    local params = model:init(np.random.key(0))
    local opt = np.optim.adam { lr = 0.05 }
    local state, count = opt:init(params), 0
    local x, y = np.data.moons(np.random.key(1), 200)
    local vg = np.value_and_grad(function(p) return np.nn.cross_entropy(model(p, x), y) end)
    local step = np.jit(function(p, s, lr)
        count = count + 1
        local loss, g = vg(p)
        p, s = opt:update(g, s, p, lr)
        return p, s, loss
    end)
    local loss
    for k = 1, 100 do params, state, loss = step(params, state, 0.05 / (1 + k / 50)) end
    check.ok(loss:item() < 0.3, "loss " .. loss:item())
    check.equal({ count, state.step:item() }, { 1, 100 })
end)

check.test("trace", function()
    local program = np.trace(function(t, k) return t.a * k, t.b:sum() end)({ a = np.ones(2), b = np.ones(3) }, 2)
    check.ok(tostring(program):find("f32%[2%]"), tostring(program))
    check.equal({ program:info().inputs, program:info().outputs }, { 3, 2 })
    local p, q = program({ a = np.array { 1, 2 }, b = np.ones(3) }, 5)
    check.equal({ p:totable(), q:item() }, { { 5, 10 }, 3 })
    check.raises(function() return program({ a = np.ones(3), b = np.ones(3) }, 5) end, "do not fit the program")
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
