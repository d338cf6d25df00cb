--- jit_test.lua: np.jit: keys, captures, static and donated arguments, the cache, levels around and inside, errors.
local np = require "neap"
local check = require "tests.lib.check"

local LARGE = 65536 -- elements of arrays that are large enough to share memory

local function counters() return np.debug.counters() end

--- A function that counts how often f is recorded, jitted, and the count.
local function counted(f, options)
    local count = { n = 0 }
    return np.jit(function(...)
        count.n = count.n + 1
        return f(...)
    end, options), count
end

local function reason(f) return np.jit_cache(f).reason end

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

check.test("numbers that meet integers are whole or fractions in a program", function()
    local f = np.jit(function(x, k) return x + k end)
    check.equal(f(np.arange(2), 3):totable(), { 3, 4 })
    check.equal(f(np.arange(2), 0.5):totable(), { 0.5, 1.5 })
    check.raises(function() return f(np.arange(2), 2 ^ 40) end, "1099511627776 meets an array of integers")
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
    check.raises(function() return np.jit(print, { donated = { 1 } }) end, "unknown option 'donated'")
    check.raises(function() return np.jit(print, { donate = "x" }) end, "has no names: give positions")
    local function step(w, x) return w + x end
    check.raises(function() return np.jit(step, { donate = "v" }) end, 'no parameter of the function; it has: w, x')
    check.raises(function() return np.jit(step, { donate = "w", keep = { "w" } }) end, "argument 1 is donated, so no")
    local w = np.ones(3):wait() + 0
    local stepped = np.jit(step, { donate = { "w" }, keep = "x" })
    check.equal({ stepped(w, np.ones(3)):totable(), w:is_deleted() }, { { 2, 2, 2 }, true })
    check.raises(function() return np.jit(print, { static = 1, donate = 1 }) end, "argument 1 is static, so it cannot")
    local few = np.jit(np.sin, { donate = { 1, 2 } })
    check.raises(function() return few(np.ones(2)) end, "option 'donate' names argument 2, but the call has 1")
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
    check.ok(text:find("jit_test.lua", 1, true) and text:find("np.where", 1, true), text)
    check.raises(function() return np.jit(function(x) return tostring(x) end)(np.ones(2)) end, "tracing")
    check.raises(function() return np.jit(function(x) return x:nonzero() end)(np.ones(2)) end, "tracing")
end)

check.test("what a trace cannot know is told with the line and a way out", function()
    local function fails(f, pattern)
        local text = check.raises(function() np.jit(f)(np.ones(3), 2) end, pattern)
        check.ok(text:find "^tests/stdlib/jit_test.lua:%d+: " or text:find "jit_test.lua:%d+: ", text)
    end
    fails(function(x)
        if x:sum() > 0 then return x end
        return -x
    end, "'>' compares an array whose value is not known while tracing; use x:gt%(0%), which gives")
    fails(function(x, k) return k == 2 and x or -x end, "'==' compares an array whose value is not known")
    fails(function(x) return x:totable()[1] end, "np.cond or np.where")
    fails(function(x)
        local text = "sum: " .. x:sum()
        return text
    end, "not known while tracing")
    fails(function(x, k)
        for _ = 1, k do x = x + 1 end
        return x
    end, "'for' limit must be a number: .*np.fori_loop")
    fails(function(x, k) return x + math.floor(k) end, "number expected, got cdata.*static=")
    fails(function(_, k)
        local zeros = np.zeros(k)
        return zeros
    end, "np.zeros: .*not known while tracing.*static=")
    fails(function(x, k)
        local shaped = x:reshape(k, 2)
        return shaped
    end, "not known while tracing")
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

-- ---- Calls ----------------------------------------------------------------------------------------------------------

check.test("any number of arguments, compiled and not", function()
    local function sum(...)
        local total = ...
        for k = 2, select("#", ...) do total = total + select(k, ...) end
        return total
    end
    local function sum_of(t) return sum(unpack(t)) end
    for _, n in ipairs { 1, 2, 10, 23, 24, 25, 60, 61, 64, 65, 100, 240 } do
        local f, count = counted(sum)
        local g, count_of = counted(sum_of)
        local arguments = {}
        for k = 1, n do arguments[k] = np.array { k, 1 } end
        local want = { n * (n + 1) / 2, n }
        for _ = 1, 60 do f(unpack(arguments)) end
        for _ = 1, 60 do g(arguments) end
        check.equal(f(unpack(arguments)):totable(), want, n .. " arguments")
        check.equal(g(arguments):totable(), want, "a list of " .. n)
        check.equal({ count.n, count_of.n }, { 1, 1 })
    end
    local f = np.jit(function() return np.arange(3) end)
    check.equal({ f():totable(), f():totable() }, { { 0, 1, 2 }, { 0, 1, 2 } })
end)

check.test("trees of arguments and results", function()
    local f, count = counted(function(t, k, name)
        return { t.layers[1].w * k, second = { t.layers[2].w + t.b } }, name, nil, k * 2, t.b
    end)
    local function call(k)
        local t = { layers = { { w = np.array { 1, 2 } }, { w = np.array { 3, 4 } } }, b = np.array { 10, 10 } }
        return f(t, k, "name")
    end
    for k = 1, 70 do
        local r, name, nothing, number, b = call(k)
        check.equal({ r[1]:totable(), r.second[1]:totable(), name, nothing == nil, number:item(), b:totable() },
                    { { k, 2 * k }, { 13, 14 }, "name", true, 2 * k, { 10, 10 } })
    end
    check.equal(count.n, 1)
    check.equal(select("#", call(1)), 5)
end)

check.test("what another call differs in", function()
    local f, count = counted(function(t, k)
        local total = np.zeros {}
        for _, x in pairs(np.is_array(t) and { t } or t) do total = total + (np.is_array(x) and x:sum() or 0) end
        return total + (type(k) ~= "string" and k or 0)
    end)
    local function expect(n, text, ...)
        f(...)
        check.equal(count.n, n)
        if text then check.ok(reason(f):find(text, 1, true), reason(f)) end
    end
    local x = np.ones(2):wait()
    expect(1, nil, { w = x }, 1)
    check.equal(reason(f), nil)
    expect(1, nil, { w = x }, 2.5)
    expect(2, "argument 1.w was f32[2] and is f32[3]", { w = np.ones(3) }, 1)
    expect(3, "argument 1.w was f32[2] and is i32[2]", { w = np.arange(2) }, 1)
    expect(4, "argument 1 has the key \"b\", which it had not", { w = x, b = x }, 1)
    expect(5, "argument 2 was a number and is an array", { w = x, b = x }, np.array(1))
    expect(6, "argument 1 has no key \"b\" any more", { w = x }, np.array(1))
    expect(7, "argument 2 was an array and is \"text\"", { w = x }, "text")
    expect(8, "argument 2 was \"text\" and is \"other\"", { w = x }, "other")
    expect(9, "there were 2 arguments and are 1", { w = x })
    expect(10, "argument 1 was a table and is an array", x:sum())
    expect(10, nil, { w = x }, "text")
    expect(10, nil, { w = np.ones(3) }, 7)
    expect(11, "argument 1.w was f32[2] and is number", { w = np.add(1, 2) }, 7)
    check.equal(f({ w = np.add(1, 2) }, 7):item(), 10)
end)

check.test("a table may not be what it seems", function()
    local f, count = counted(function(t) return t.a + 1 end)
    local x = np.ones(2)
    for _ = 1, 3 do f { a = x } end
    check.raises(function() f(setmetatable({ a = x }, {})) end, "argument 1 must hold arrays")
    check.raises(function() f { a = x, [1.5] = x } end, "neither a string nor in 1..0")
    check.raises(function() f { a = print } end, "got a function; list it in {static")
    check.raises(function() f { a = 1LL } end, "must hold arrays")
    local deep = {}
    for _ = 1, 120 do deep = { deep } end
    check.raises(function() f(deep) end, "nested more than 100 deep")
    check.equal(count.n, 1)
end)

check.test("devices and weakness are part of the key", function()
    local f, count = counted(function(x, y) return x * 2 + y end)
    local x = np.ones(2):wait()
    f(x, 1)
    f(np.device_put(x, "cpu:0"), 1)
    check.equal(count.n, 2)
    check.ok(reason(f):find("was f32[2] and is f32@0[2]", 1, true), reason(f))
end)

check.test("no layout and no value causes a plan or a trace", function()
    local f, count = counted(function(x, k) return (x * k):sum{ axis = 0 } end)
    local shaped = np.arange(12, { dtype = "f32" }):reshape(3, 4)
    f(np.ones(4, 3):wait(), 1):wait()
    local before = counters()
    check.equal(f(np.broadcast_to(np.arange(3, { dtype = "f32" }), { 4, 3 }), 2):totable(), { 0, 8, 16 })
    check.equal(f(shaped.T, 1):totable(), { 6, 22, 38 })
    check.equal(f(np.full({ 4, 3 }, 0.5), 3):totable(), { 6, 6, 6 })
    check.equal({ count.n, counters().programs }, { 1, before.programs })
end)

check.test("static arguments by value and identity, and by name", function()
    local f, count = counted(function(x, how, t)
        return how.sum and x:sum() * t.n or x:reshape(t.n, -1), t.scale
    end, { static = { 2, "n" } })
    local by_sum, by_shape, x = { sum = true }, {}, np.ones(6)
    for _ = 1, 3 do
        check.equal((f(x, by_sum, { n = 3, scale = 2 })):item(), 18)
        check.equal((f(x, by_shape, { n = 3, scale = 4 })).shape, { 3, 2 })
    end
    check.equal(count.n, 2)
    check.equal((f(x, by_shape, { n = 2, scale = 4 })).shape, { 2, 3 })
    check.ok(reason(f):find("static argument 3.n was 3 and is 2", 1, true), reason(f))
    check.equal(select(2, f(x, by_shape, { n = 2, scale = 5 })):item(), 5)
    check.equal(count.n, 3)
    check.equal((f(x, {}, { n = 2, scale = 4 })).shape, { 2, 3 })
    check.equal(count.n, 4)
end)

-- ---- Captures -------------------------------------------------------------------------------------------------------

check.test("captures: retraced when they differ, constructors at most twice", function()
    local w = np.zeros(2)
    local f, count = counted(function(x) return x + w end)
    for k = 1, 5 do
        w = np.full({ 2 }, k)
        check.equal(f(np.ones(2)):totable(), { k + 1, k + 1 })
    end
    check.equal(count.n, 2)
    check.ok(reason(f):find("the variable 'w' holds another array", 1, true), reason(f))
    w = np.array { 1, 2, 3 }
    check.equal(f(np.ones(1)):totable(), { 2, 3, 4 })
    w = np.array { 4, 5 }
    f(np.ones(2))
    check.equal(count.n, 3)
    w = 7
    check.equal(f(np.ones(2)):totable(), { 8, 8 })
    check.equal(count.n, 4)
    check.equal(np.jit_cache(f).entries[1].captures, { "w" })
end)

check.test("a variable may come to hold an array later", function()
    local w
    local f, count = counted(function(x) return w and x * w or x end)
    check.equal(f(np.ones(2)):totable(), { 1, 1 })
    w = np.array { 2, 3 }
    f(np.ones(1))
    check.equal(f(np.ones(2)):totable(), { 2, 3 })
    w = np.array { 5, 6 }
    check.equal(f(np.ones(2)):totable(), { 5, 6 })
    check.equal(count.n, 3)
end)

check.test("variables that are never assigned, in loops that were compiled", function()
    local w = np.array { 1, 2 }:wait()
    local function body(x)
        for _ = 1, 200 do x = x + w end
        return x
    end
    local f = np.jit(body)
    for _ = 1, 3 do
        check.equal({ f(np.zeros(2)):totable(), body(np.zeros(2)):totable() }, { { 200, 400 }, { 200, 400 } })
    end
    check.equal(jit.status(), true)
    check.raises(function() np.jit(function() error("mine") end)() end, "mine")
    check.equal(jit.status(), true)
end)

check.test("a function that calls itself while it is recorded", function()
    local f, count, by = nil, 0, np.array { 10 }:wait()
    f = np.jit(function(x, depth)
        count = count + 1
        return depth == 0 and x or f(x * 2, depth - 1) + by
    end, { static = 2 })
    for _ = 1, 3 do check.equal(f(np.array { 1 }, 2):totable(), { 24 }) end
    check.equal(f(np.array { 2 }, 1):totable(), { 14 })
    check.equal(count, 3)
end)

--- As many arrays in a row as generated code passes by a loop, beside other leaves, which end the row.
check.test("tables with many names", function()
    local f, count = counted(function(t) return t.a100 - 2 * t.a101 + 3 * t.z + t[1], t.flag end)
    local t = { np.array(1000), flag = "on", z = 7 }
    for k = 100, 180 do t["a" .. k] = np.array(k) end
    local function result() return { (f(t)):item(), count.n } end
    check.equal(result(), { 100 - 202 + 21 + 1000, 1 })
    t.a100, t.z = np.array(5), 2
    check.equal(result(), { 5 - 202 + 6 + 1000, 1 })
    t.a140 = 3
    check.equal(result(), { 5 - 202 + 6 + 1000, 2 })
    t.a140 = nil
    check.equal(result(), { 5 - 202 + 6 + 1000, 3 })
    t.a140 = np.array(3)
    t.a101 = np.array(1)
    check.equal(result(), { 5 - 2 + 6 + 1000, 3 })
    check.equal(select(2, f(t)), "on")
end)

check.test("many captures", function()
    local code = { "local np = ... " }
    for k = 1, 50 do code[#code + 1] = ("local w%d = np.array{%d}:wait()"):format(k, k) end
    code[#code + 1] = "return function(x) return x"
    for k = 1, 50 do code[#code + 1] = (" + w%d"):format(k) end
    code[#code + 1] = " end, function(v) w50 = v end"
    local body, set = loadstring(table.concat(code, " "))(np)
    local f, count = counted(body)
    for _ = 1, 3 do check.equal(f(np.zeros(1)):totable(), { 1275 }) end
    set(np.array { 100 })
    check.equal(f(np.zeros(1)):totable(), { 1325 })
    check.equal(count.n, 1)
end)

-- ---- Levels ---------------------------------------------------------------------------------------------------------

check.test("jit inside of transformations, and around them", function()
    local f, count = counted(function(x, k) return (x * x * k):sum() end)
    local x = np.array { 1, 2 }
    for _ = 1, 3 do check.equal(np.grad(f)(x, 3):totable(), { 6, 12 }) end
    check.equal(np.grad(function(y) return np.grad(function(z) return f(z * y, 3) end)(x):sum() end)(x):totable(),
                { 12, 48 })
    check.equal(count.n, 1)
    check.equal(np.jit(np.grad(f))(x, 3):totable(), { 6, 12 })
    check.equal(count.n, 2, "the number argument of a trace is an array there")
    check.equal(np.vmap(function(y) return f(y, 2) end)(np.array { { 1, 2 }, { 3, 4 } }):totable(), { 10, 50 })
    local outer, outer_count = counted(function(y) return f(y, 2) * 2 end)
    check.equal({ outer(x):item(), outer(x):item(), outer_count.n }, { 20, 20, 1 })
    check.equal(count.n, 2)
end)

check.test("an array of an open level that is reached through a table", function()
    local held = {}
    local f, count = counted(function(y) return (y * held.w):sum() end)
    local function loss(w)
        held.w = w * 2
        return f(np.array { 1, 2 })
    end
    check.equal(np.grad(loss)(np.array { 3, 4 }):totable(), { 2, 4 })
    check.equal(np.grad(loss)(np.array { 5, 6 }):totable(), { 2, 4 })
    check.equal(np.jit(loss)(np.array { 3, 4 }):item(), 22)
    check.equal(count.n, 3, "what reads such an array is good for one call")
    held.w = np.array { 1, 1 }
    check.equal(f(np.array { 1, 2 }):item(), 3)
    held.w = np.array { 2, 2 }
    check.equal(f(np.array { 1, 2 }):item(), 6, "another one in the field is a reason to record")
    check.equal(count.n, 5)
    check.equal(f(np.array { 2, 2 }):item(), 8)
    check.equal(count.n, 5)
end)

check.test("effects are those of the program", function()
    local seen, count = {}, 0
    local note = np.callback(function(x) seen[#seen + 1] = x:item() end, { ordered = true })
    local f = np.jit(function(x)
        count = count + 1
        note(x:sum())
        return x + 1
    end)
    for k = 1, 3 do f(np.array { k }) end
    np.jit(function(x) return f(x) * 2 end)(np.array { 10 })
    np.effects_barrier()
    check.equal({ seen, count }, { { 1, 2, 3, 10 }, 1 })
end)

-- ---- Donation -------------------------------------------------------------------------------------------------------

local function large(value) return (np.zeros(LARGE) + value):wait() end

check.test("each call that donates is told by its own line", function()
    local f = np.jit(function(x) return x + 1 end, { donate = { 1 } })
    local function here() return debug.getinfo(2, "l").currentline end
    local function first(x)
        return f(x), here()
    end
    local function second(x)
        return f(x), here()
    end
    for turn = 1, 5 do
        for _, call in ipairs { first, second, first, first, second } do
            local given = np.zeros({ 4 })
            local _, line = call(given)
            check.raises(function() return given + 1 end, ("called at .*jit_test.lua:%d"):format(line))
            local text = check.raises(function() return given + 1 end, "donated")
            check.ok(text:find((":%d$"):format(line)), ("turn %d: %s"):format(turn, text))
        end
    end
    local pending = np.zeros({ 4 })
    local ok = pcall(f, pending) -- a call with no line of its own: that of the call around it
    check.ok(ok)
    check.raises(function() return pending + 1 end, ("called at .*jit_test.lua:%d"):format(here() - 2))
end)

check.test("a donated array gives its memory and is deleted", function()
    local f = np.jit(function(x) return x + 1 end, { donate = { 1 } })
    local x = large(1)
    f(x):wait()
    local y = large(2)
    np.wait_all()
    np.memory.trim() -- the first result is garbage, and must not go while memory is compared
    np.memory.reset_peak()
    local live = np.memory().live
    local z = f(y):wait()
    check.equal({ z[0]:item(), np.memory().live, np.memory().peak }, { 3, live, live })
    check.ok(y:is_deleted())
    local text = check.raises(function() return y + 1 end, "np.add: the array was donated to the jitted function")
    check.ok(text:find "jit_test.lua:%d+: .*called at .*jit_test.lua:%d+", text)
    check.raises(function() return f(y) end, "donated")
    check.equal(np.jit_cache(f).entries[1].used_up, 2)
    local keeps = np.jit(function(v) return v + 1 end)
    keeps(z):wait()
    np.memory.trim()
    np.memory.reset_peak()
    live = np.memory().live
    local kept = keeps(z):wait()
    check.equal(np.memory().peak, live + 4 * LARGE, "without donation it takes as much again")
    check.equal(kept[0]:item() - z[0]:item(), 1)
end)

check.test("what was recorded before a donation reads the old value", function()
    local f = np.jit(function(x) return x * 0 end, { donate = 1 })
    local x = large(5)
    local late = x:sum()
    local fused = (x + 1):max()
    local y = f(x)
    check.equal({ late:item(), fused:item(), y[0]:item() }, { 5 * LARGE, 6, 0 })
end)

check.test("what refers to a donated array turns donation into a copy", function()
    local f = np.jit(function(x) return x * 2 end, { donate = 1 })
    local function kept(text)
        local entry = np.jit_cache(f).entries[1]
        check.ok(entry.kept and entry.kept:find(text, 1, true), tostring(entry.kept))
        check.ok(tostring(np.explain(f)):find(text, 1, true))
    end
    local x = large(3)
    local view = x[{ { 0, 2 } }]
    check.equal(f(x)[0]:item(), 6)
    kept "a view of it"
    check.equal({ view:totable(), x:is_deleted() }, { { 3, 3 }, true })
    local base = large(4)
    local same = base:reshape(256, 256):wait()
    check.equal(f(base)[0]:item(), 8)
    check.equal(same[0][0]:item(), 4)
    local bound = { large(5) }
    local g = np.jit(function() return bound[1] + 1 end)
    g()
    f(bound[1])
    kept "a program refers to it"
    check.equal(g()[0]:item(), 6)
    local two = np.jit(function(a, b) return a + b end, { donate = 1 })
    local y = large(7)
    check.equal(two(y, y)[0]:item(), 14)
    check.ok(y:is_deleted())
    check.ok(np.jit_cache(two).entries[1].kept:find("argument 1: it was among the arguments twice", 1, true))
end)

check.test("donated constants, and arrays that are results themselves", function()
    local f = np.jit(function(x) return x + 1 end, { donate = 1 })
    local zeros = np.zeros(LARGE)
    check.equal({ f(zeros)[0]:item(), zeros:is_deleted() }, { 1, true })
    local same = np.jit(function(x, y) return x, y + x:sum() end, { donate = { 1, 2 } })
    local x, y = large(1), large(2)
    local a, b = same(x, y)
    check.equal({ a[0]:item(), b[0]:item(), x:is_deleted(), y:is_deleted() }, { 1, 2 + LARGE, true, true })
    local unused = np.jit(function(v, _) return v * 2 end, { donate = 2 })
    local u = large(3)
    np.memory.trim()
    local live = np.memory().live
    unused(np.ones(2), u):wait()
    check.ok(np.memory().live < live, "what nobody reads is freed")
    local tells = np.jit(function(v)
        np.printf("")
        local w = v * 2
        return w, v:max()
    end, { donate = 1 })
    local w, most = tells(large(4))
    check.equal({ w[0]:item(), most:item() }, { 8, 4 })
    local seen
    local note = np.callback(function(v) seen = v[0]:item() end, { ordered = true })
    local notes = np.jit(function(v)
        note(v)
        return v * 2
    end, { donate = 1 })
    local twice = notes(large(6)):wait()
    np.effects_barrier()
    check.equal({ seen, twice[0]:item() }, { 6, 12 })
end)

check.test("under an open level nothing is donated", function()
    local f = np.jit(function(x) return (x * x):sum() end, { donate = 1 })
    local x = np.array { 1, 2 }
    check.equal(np.grad(f)(x):totable(), { 2, 4 })
    check.ok(not x:is_deleted())
    np.grad(function(w) return f(x) * w end)(2)
    check.ok(not x:is_deleted())
    check.ok(np.jit_cache(f).entries[1].kept:find("a gradient or a trace was open", 1, true))
end)

check.test("a donated array is as it was if there is no memory for the call", function()
    local f = np.jit(function(x) return np.concatenate { x, x, x, x, x, x, x, x } * 2, x + 1 end, { donate = 1 })
    f(large(1))
    np.wait_all()
    local x = large(2)
    np.memory.trim()
    np.debug.memory_limit(np.memory().live + 4 * LARGE)
    check.raises(function() return f(x) end, "out of memory")
    np.debug.memory_limit(0)
    check.ok(not x:is_deleted())
    check.equal({ x[0]:item(), (select(2, f(x)))[0]:item() }, { 2, 3 })
end)

check.test("a training step with donated state allocates no new state", function()
    local params = { w = (np.random.normal(np.random.key(0), { 256, 256 })):wait(), b = large(0) }
    local opt = np.optim.adam { lr = 0.05 }
    local state = opt:init(params)
    local function update(p, s)
        local function loss(q) return np.sum(q.w * q.w) + np.sum(q.b * q.b + q.b) end
        local value, g = np.value_and_grad(loss)(p)
        p, s = opt:update(g, s, p)
        return p, s, value
    end
    local plain, step = np.jit(update), np.jit(update, { donate = { 1, 2 } })
    local want, want_state, want_loss = params, state, nil
    for _ = 1, 4 do want, want_state, want_loss = plain(want, want_state) end
    want_loss = want_loss:item()
    local copy = np.tree.map(function(x) return (x * 1):wait() end, params)
    local copy_state, loss = np.tree.map(function(x) return (x * 1):wait() end, state), nil
    copy, copy_state = step(copy, copy_state)
    np.wait_all()
    np.memory.trim()
    local live = np.memory().live
    np.memory.reset_peak()
    for _ = 1, 3 do
        copy, copy_state, loss = step(copy, copy_state)
        np.wait_all()
    end
    check.equal(loss:item(), want_loss)
    check.equal(copy.w:totable(), want.w:totable())
    check.equal(copy_state.m.w:totable(), want_state.m.w:totable())
    check.ok(np.memory().peak - live < 2 * 4 * LARGE, "peak " .. np.memory().peak - live)
    for _, entry in ipairs(np.jit_cache(step).entries) do check.equal(entry.used_up, entry.donated, entry.kept) end
end)

-- ---- The cache ------------------------------------------------------------------------------------------------------

check.test("the cache is bounded by bytes, and the oldest goes first", function()
    np.clear_caches()
    local f, count = counted(function(x) return x * 2 end)
    for n = 1, 4 do f(np.ones(n)) end
    local bytes = np.jit_cache(f).bytes
    check.ok(bytes > 0)
    f(np.ones(1))
    np.debug.jit_limit(np.debug.jit_bytes() - bytes / 4)
    check.ok(#np.jit_cache(f).entries < 4)
    f(np.ones(1))
    check.equal(count.n, 4)
    f(np.ones(2))
    check.equal(count.n, 5)
    check.ok(reason(f):find("dropped from the cache", 1, true) or reason(f):find("was f32", 1, true), reason(f))
    np.debug.jit_limit(0)
end)

--- Neither finding one of many programs nor recording another may look at all of them.
check.test("calls do not slow down with the number of shapes", function()
    local f, count = counted(function(x) return x * 2 + 1 end)
    local function compared() return np.debug.counters().compared end
    local function call(n)
        local x = np.ones(n)
        collectgarbage()
        collectgarbage "stop"
        local programs, bytes = compared(), collectgarbage "count"
        f(x)
        programs, bytes = compared() - programs, (collectgarbage "count" - bytes) * 1024
        collectgarbage "restart"
        return programs, bytes
    end
    --- The least of some calls with other shapes: programs looked at, and bytes of garbage.
    local function least(first)
        local programs, bytes = math.huge, math.huge
        for n = first, first + 9 do
            local more, garbage = call(n)
            programs, bytes = math.min(programs, more), math.min(bytes, garbage)
        end
        return programs, bytes
    end
    for n = 1, 20 do f(np.ones(n)) end
    local few_programs, few_bytes = least(21)
    for n = 31, 400 do f(np.ones(n)) end
    local many_programs, many_bytes = least(401)
    check.equal(count.n, 410)
    check.ok(many_programs <= few_programs, ("%d programs, then %d"):format(few_programs, many_programs))
    check.ok(many_bytes < 1.5 * few_bytes, ("%d bytes, then %d"):format(few_bytes, many_bytes))
    local before = compared()
    for n = 1, 410 do f(np.ones(n)) end
    check.ok(compared() - before <= 2 * 410, ("%d programs looked at by 410 calls"):format(compared() - before))
    check.equal(count.n, 410)
    local bytes = np.debug.jit_bytes()
    np.debug.jit_limit(bytes)
    for n = 411, 430 do f(np.ones(n)) end -- each makes place by dropping the oldest
    check.ok(np.debug.jit_bytes() <= bytes)
    local traces = count.n
    f(np.ones(400))
    check.equal(count.n, traces)
    f(np.ones(1))
    check.equal(count.n, traces + 1)
    np.debug.jit_limit(0)
end)

check.test("np.jit_cache and np.clear_caches", function()
    local w, held = np.array { 1 }, { np.array { 2 } }
    local f, count = counted(function(x) return x * w + held[1] end)
    for _ = 1, 5 do f(np.ones(1)) end
    local facts = np.jit_cache(f)
    local entry = facts.entries[1]
    check.equal({ facts.traces, #facts.entries, entry.hits, entry.captures, entry.bound, entry.arguments },
                { 1, 1, 5, { "w" }, 1, "f32[1]" })
    check.ok(tostring(np.explain(f)):find("recorded 1 time, 1 program", 1, true), tostring(np.explain(f)))
    f(np.ones(2))
    check.equal(tostring(np.jit_cache(f)):gsub("%d+ KiB", "K"),
                "recorded 2 times, 2 programs of K kept, run by 6 calls\n"
                    .. "  (f32[1]): K, run by 5 calls\n  (f32[2]): K, run by 1 call")
    np.clear_caches()
    check.equal(#np.jit_cache(f).entries, 0)
    check.equal(f(np.ones(1)):totable(), { 3 })
    check.equal(f(np.ones(1)):totable(), { 3 })
    check.equal(count.n, 3)
    check.raises(function() np.jit_cache(print) end, "must be a function that np.jit made")
end)

check.test("what a variable held is not kept alive", function()
    local w = large(1)
    local f = np.jit(function(x) return x + w[0] end)
    f(np.ones(1)):wait()
    w = np.ones(1):wait()
    np.memory.trim()
    local live = np.memory().live
    w = large(2)
    f(np.ones(1)):wait()
    w = np.ones(1):wait()
    np.memory.trim()
    check.equal(np.memory().live, live)
    check.equal(f(np.ones(1)):totable(), { 2 })
end)

check.test("jitted functions are freed with their programs", function()
    local function make() return np.jit(function(x) return x * 2 end) end
    make()(np.ones(2))
    np.memory.trim()
    local before = np.debug.jit_bytes()
    for _ = 1, 20 do make()(np.ones(2)) end
    np.memory.trim()
    check.ok(np.debug.jit_bytes() <= before, "they take " .. np.debug.jit_bytes() - before .. " bytes")
end)

check.done()
