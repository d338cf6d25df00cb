--- control_test.lua: np.cond, np.switch, np.while_loop, np.fori_loop, np.scan: values against loops in Lua, carries,
-- nesting, errors, derivatives, batches, and what they cost.
local check = require "tests.lib.check"
local np = require "neap"
local core = require "neap.core"
local ffi = require "ffi"

local C, ctx = core.C, core.ctx
local test, equal, raises = check.test, check.equal, check.raises

--- Same bits: text tells -0 from 0 and every digit apart.
local function same(a, b, what)
    local function bits(x)
        local list = {}
        for k, v in ipairs(x:reshape(x.size):totable()) do list[k] = ("%.17g"):format(v) end
        return x.dtype .. "[" .. table.concat(x.shape, ",") .. "] " .. table.concat(list, " ")
    end
    equal(bits(a), bits(b), what)
end

local function counters()
    local c = ffi.new("neap_counters")
    C.neap_counters_get(ctx, c)
    return c
end

-- ---- Values ---------------------------------------------------------------------------------------------------------

--- Runs f eagerly and jitted; both must give the arrays that `expected` returns.
local function both(f, expected, ...)
    local want = { expected(...) }
    for _, how in ipairs { { "eager", f }, { "jit", np.jit(f) } } do
        local got = { how[2](...) }
        equal(#got, #want, how[1])
        for k = 1, #want do same(got[k], want[k], how[1] .. " " .. k) end
    end
end

local xs = np.sin(np.arange(12):astype("f32")):reshape(4, 3)

test("scan is the loop", function()
    local w = np.cos(np.arange(3):astype("f32"))
    local function turn(c, x)
        local d = np.tanh(c * w + x)
        return d, d * 2 + x
    end
    local function loop(order)
        return function(c, x)
            local ys = {}
            for k = order[1], order[2], order[3] do
                local y
                c, y = turn(c, x[k])
                ys[k + 1] = y
            end
            return c, np.stack(ys)
        end
    end
    local c = np.ones { 3 }
    both(function(a, b) return np.scan(turn, a, b) end, loop { 0, 3, 1 }, c, xs)
    both(function(a, b) return np.scan(turn, a, b, { reverse = true }) end, loop { 3, 0, -1 }, c, xs)
    for _, unroll in ipairs { 2, 3, 4, 9 } do
        both(function(a, b) return np.scan(turn, a, b, { unroll = unroll }) end, loop { 0, 3, 1 }, c, xs)
    end
end)

test("scan of trees, without xs, without ys, of nothing", function()
    local carry, ys = np.scan(function(c, x)
        return { a = c.a + x.u, n = c.n + 1 }, { x.v, { s = c.a:sum() } }
    end, { a = np.zeros { 3 }, n = np.array(0, { dtype = "i32" }) }, { u = xs, v = np.arange(4) })
    same(carry.a, np.zeros { 3 } + xs[0] + xs[1] + xs[2] + xs[3])
    equal(carry.n:item(), 4)
    equal(carry.n.dtype, "i32")
    same(ys[1], np.arange(4))
    equal(ys[2].s.shape, { 4 })
    local last, none = np.scan(function(c) return c * 2 end, np.array { 1, 3 }, nil, { length = 5 })
    same(last, np.array { 32, 96 })
    equal(none, nil)
    local c0, y0 = np.scan(function(c, x) return c + x, c * x end, np.array { 7 }, np.zeros { 0, 1 })
    same(c0, np.array { 7 })
    equal(y0.shape, { 0, 1 })
end)

test("fori_loop and while_loop are the loops", function()
    both(function(a) return np.fori_loop(2, 7, function(i, c) return c * 2 + i end, a) end, function(a)
        for i = 2, 6 do a = a * 2 + i end
        return a
    end, np.array { 1, -1 })
    both(function(a, lo, hi) return np.fori_loop(lo, hi, function(i, c) return c * 2 + i end, a) end, function(a)
        for i = 2, 6 do a = a * 2 + i end
        return a
    end, np.array { 1, -1 }, np.array(2, { dtype = "i32" }), np.array(7, { dtype = "i32" }))
    both(function(a)
        return np.while_loop(function(c) return c:sum():lt(1000) end, function(c) return c * 3 + 1 end, a)
    end, function(a)
        while a:sum():item() < 1000 do a = a * 3 + 1 end
        return a
    end, np.array { 1, 2 })
    same(np.while_loop(function(c) return c:gt(5) end, function(c) return c + 1 end, np.array(1)), np.array(1))
    for n = 0, 5 do -- the last turn writes in either place
        same(np.while_loop(function(c) return c.i:lt(n) end, function(c) return { i = c.i + 1, x = c.x * 2 } end,
                           { i = np.array(0, { dtype = "i32" }), x = np.ones { 2 } }).x, np.ones { 2 } * 2 ^ n)
    end
    same(np.fori_loop(3, 1, function(_, c) return c + 1 end, np.ones { 2 }), np.ones { 2 })
end)

test("carries that swap, stay and meet", function()
    local out = np.fori_loop(0, 9, function(_, c) return { c[2], c[1] + c[2], c[3], c[3] } end,
                             { np.array(0), np.array(1), np.array { 4, 5 }, np.zeros { 2 } })
    equal({ out[1]:item(), out[2]:item() }, { 34, 55 })
    same(out[3], np.array { 4, 5 })
    same(out[4], np.array { 4, 5 })
    local _, ys = np.scan(function(c, x) return x, { c, x, x + c } end, np.array(0), np.arange(4, { dtype = "f32" }))
    equal(ys[1]:totable(), { 0, 0, 1, 2 })
    equal(ys[2]:totable(), { 0, 1, 2, 3 })
    equal(ys[3]:totable(), { 0, 1, 3, 5 })
end)

test("cond and switch run one branch", function()
    local function f(p, x)
        return np.cond(p, function(a) return a + 1, a:sum() end, function(a) return a * 2, a:max() end, x)
    end
    for _, value in ipairs { true, false } do
        both(f, function(p, x)
            if p:item() then return x + 1, x:sum() end
            return x * 2, x:max()
        end, np.array(value), xs)
        both(function(x) return f(value, x) end, function(x)
            if value then return x + 1, x:sum() end
            return x * 2, x:max()
        end, xs)
    end
    local list = { function(x) return x end, function(x) return x * 10 end, function(x) return -x end }
    for k, want in pairs { [-3] = 1, [1] = 1, [2] = 10, [3] = -1, [7] = -1 } do
        same(np.switch(k, list, np.array { 2 }), np.array { 2 * want })
        same(np.jit(function(i) return np.switch(i, list, np.array { 2 }) end)(np.array(k, { dtype = "i32" })),
             np.array { 2 * want })
    end
end)

test("numbers take the dtype that they meet", function()
    local i32 = np.arange(5)
    equal(np.scan(function(c, x) return c + x, nil end, 0, i32).dtype, "i32")
    equal(np.scan(function(c, x) return c + x, nil end, 0, i32):item(), 10)
    equal(np.fori_loop(0, 3, function(i, c) return c + i end, 0).dtype, "i32")
    equal(np.fori_loop(0, 3, function(_, c) return c + 0.5 end, 0).dtype, "f32")
    equal(np.cond(true, function() return 1 end, function() return i32[3] end).dtype, "i32")
    equal(np.cond(false, function() return 1 end, function() return i32[3] end):item(), 3)
    equal(np.cond(true, function(n) return i32 * n end, function() return i32 end, 3):totable(), { 0, 3, 6, 9, 12 })
    equal(np.jit(function(n) return np.fori_loop(0, 3, function(_, c) return c * n end, i32) end)(2):totable(),
          { 0, 8, 16, 24, 32 })
    equal(np.scan(function(c, x) return c + x, nil end, 0.5, i32):item(), 10.5)
end)

test("a number in the carry meets an array that is differentiated", function()
    local function power(a) return (np.scan(function(c) return c * a end, 1, nil, { length = 3 })) end
    equal((np.ones(1) * 2):totable(), { 2 }, "the product of an array and a number has been recorded before")
    equal(np.grad(power)(2):item(), 12)
    equal(np.grad(power)(np.array(2)):item(), 12)
    equal(np.grad(function(a) return (np.scan(function(c) return c + a:sum() end, 0, nil, { length = 3 })) end)(
        np.ones(2)):totable(), { 3, 3 })
end)

test("functions with rules and programs are branches and bodies", function()
    local x = np.array { 1, 2 }
    local double = np.custom_jvp(function(a) return a * 2 end)
    double:defjvp(function(primals, tangents) return double(primals[1]), tangents[1] * 5 end)
    local program = np.trace(function(a) return a * 2 end)(x)
    for _, f in ipairs { double, program } do
        equal(np.cond(true, f, f, x):totable(), { 2, 4 })
        equal(np.switch(2, { program, f }, x):totable(), { 2, 4 })
        equal(np.while_loop(function(c) return c:sum():lt(10) end, f, x):totable(), { 4, 8 })
    end
    equal(np.grad(function(a) return np.cond(true, double, double, a):sum() end)(x):totable(), { 5, 5 })
end)

test("nested in each other", function()
    local function f(x)
        return np.fori_loop(0, 3, function(i, c)
            local inner = np.scan(function(a, v)
                return np.cond(v:gt(0), function(u) return u + v end, function(u)
                    return np.while_loop(function(t) return t:gt(1) end, function(t) return t / 2 end, u)
                end, a), nil
            end, c:sum(), x)
            return c * 0.5 + inner + i
        end, np.ones { 2 })
    end
    both(f, function(x)
        local c = np.ones { 2 }
        for i = 0, 2 do
            local a = c:sum()
            for k = 0, 4 do
                if x[k]:item() > 0 then
                    a = a + x[k]
                else
                    while a:item() > 1 do a = a / 2 end
                end
            end
            c = c * 0.5 + a + i
        end
        return c
    end, np.array { 1, -1, 2, 3, -2 })
end)

test("memory of a body that is large, and shared", function()
    local n = check.build == "release" and 200000 or 20000
    local x = np.arange(n):astype("f32") / n
    both(function(a) return np.fori_loop(0, 3, function(_, c)
        local s = (np.sin(c) * c):sum()
        local m = np.matmul(c:reshape(n / 100, 100):transpose(), c:reshape(n / 100, 100))
        return c * 0.5 + s / n + m:sum() / n / n
    end, a) end, function(c)
        for _ = 1, 3 do
            local s = (np.sin(c) * c):sum()
            local m = np.matmul(c:reshape(n / 100, 100):transpose(), c:reshape(n / 100, 100))
            c = c * 0.5 + s / n + m:sum() / n / n
        end
        return c
    end, x)
end)

-- ---- Errors ---------------------------------------------------------------------------------------------------------

test("errors name the leaf", function()
    raises(function() np.while_loop(function() return true end, function() return { a = print } end, { a = xs }) end,
           "must return arrays, numbers or tables of them, got a function for the carry at a")
    raises(function() np.cond(true, print, 3) end, "argument 3 %(g%) must be a function")
    local x = np.ones { 2 }
    raises(function() np.scan(function(c) return { a = { c.a[1]:sum() } }, nil end, { a = { x } }, np.arange(2)) end,
           "scan: the carry must keep", "at a%[1%] is f32%[2%]", "returns f32%[%]")
    raises(function() np.scan(function(c) return { c, c } end, x, np.arange(2)) end, "the form of the initial one")
    raises(function() np.fori_loop(0, 3, function(_, c) return { b = c.a } end, { a = x }) end,
           "the form of the initial one, {a=%*}, got {b=%*}")
    raises(function() np.fori_loop(0, 3, function(_, c) return { a = c.a:sum() } end, { a = x }) end,
           "the carry at a is f32%[2%]")
    raises(function() np.while_loop(function(c) return c end, function(c) return c end, x) end,
           "the condition must return one bool, got f32%[2%]")
    raises(function() np.cond(true, function() return x end, function() return np.ones { 3 } end) end,
           "equal shapes and dtypes", "f32%[3%] from g and f32%[2%] from f")
    raises(function() np.cond(true, function() return x, x end, function() return x end) end,
           "equally many values, got 1 from g and 2 from f")
    raises(function() np.cond(true, function() return { x } end, function() return { a = x } end) end,
           "the same form; result 1 is {a=%*} from g and {%*} from f")
    raises(function() np.cond(x, function() end, function() end) end, "argument 1 %(pred%) must be a scalar, got shape")
    raises(function() np.scan(function(c) return c end, x) end, "'length' is needed")
    raises(function() np.scan(function(c) return c end, x, { np.ones { 2 }, np.ones { 3 } }) end, "first axis")
    raises(function() np.scan(function(c) return c end, x, np.array(1)) end, "scalar")
    raises(function() np.fori_loop(0, 1.5, function(_, c) return c end, x) end, "%(upper%)", "integer")
    local counted = np.jit(function(n) return np.fori_loop(0, n, function(_, c) return c + 1 end, x) end)
    equal(counted(3):totable(), { 4, 4 })
    raises(function() return counted(3.5) end, "np.fori_loop: a bound is a number argument")
    raises(function() np.scan(1, x, x) end, "%(f%)", "a function")
    raises(function() np.switch(1, {}, x) end, "%(branches%)")
    raises(function() np.switch(1.5, { np.sin }, x) end, "argument 1 %(index%) must be an integer, got the number 1.5")
    raises(function() np.switch(1, { np.sin, function() return 1, 2 end }, x) end,
           "got 1 from branch 1 and 2 from branch 2")
    check.equal(np.switch(-9, { np.sin, np.cos }, 0):item(), 0)
    check.equal(np.switch(9, { np.sin, np.cos }, 0):item(), 1)
    check.equal(np.cond(0.5, np.sin, np.cos, 0):item(), 0)
    raises(function() np.while_loop(np.isnan, np.sin) end, "argument 3 %(init%)")
    raises(function() np.scan(function(c) return c:item() end, np.array(1), x) end, "traced")
end)

test("an op that fails inside is named with its line", function()
    local y = np.fori_loop(0, 3, function(_, c) return np.debug.fail(c) end, np.ones { 2 })
    raises(function() y:totable() end, "control_test.lua:%d+: debug_fail: failed on purpose")
    pcall(np.wait_all)
end)

-- ---- Costs ----------------------------------------------------------------------------------------------------------

test("a loop is one node and one op, whatever its length", function()
    local function costs(n)
        np.wait_all()
        local before = counters()
        local y = np.fori_loop(0, n, function(i, c) return c * 0.5 + i end, np.array(0.0))
        y:item()
        local after = counters()
        return { nodes = tonumber(after.nodes - before.nodes), launches = tonumber(after.launches - before.launches) }
    end
    costs(10)
    equal(costs(10), costs(100000))
    local function size(n)
        return np.trace(function(x)
            return np.scan(function(c, v) return c + v, c end, x, np.zeros { n })
        end)(np.array(0.0)):info()
    end
    equal(size(10), size(100000))
    local function plans()
        local before = counters().plans
        np.fori_loop(0, 4, function(i, c) return c * 3 + i end, np.ones { 5 }):totable()
        return tonumber(counters().plans - before)
    end
    plans()
    equal(plans(), 0, "a fresh closure finds its plans")
end)

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

local function near(a, b, what)
    equal(a.shape, b.shape, what)
    local left, right = a:reshape(a.size):totable(), b:reshape(b.size):totable()
    for k = 1, #left do check.close(left[k], right[k], 2e-5 * (1 + math.abs(right[k])), what) end
end

local w0, c0 = np.array { 0.5, -0.3, 0.8 }, np.ones { 3 }

local function scanned(c, x, w, how)
    local last, ys = np.scan(function(a, v)
        local b = np.tanh(a * w + v)
        return b, b * v
    end, c, x, how)
    return (last * last):sum() + (ys * ys):sum()
end

local function looped(c, x, w)
    local sum = np.array(0.0)
    for k = 0, 3 do
        c = np.tanh(c * w + x[k])
        sum = sum + (c * x[k] * c * x[k]):sum()
    end
    return (c * c):sum() + sum
end

test("derivatives of a scan are those of the loop", function()
    local by = { argnums = { 1, 2, 3 } }
    local want = { np.grad(looped, by)(c0, xs, w0) }
    for name, f in pairs { eager = np.grad(scanned, by), jit = np.jit(np.grad(scanned, by)),
                           inside = np.grad(np.jit(scanned), by) } do
        local got = { f(c0, xs, w0) }
        for k = 1, 3 do near(got[k], want[k], name) end
    end
    near(np.grad(function(w) return scanned(c0, xs, w) end)(w0), want[3], "a captured array of an open gradient")
    local function second(f)
        return np.grad(function(w) return (np.grad(f, { argnums = 3 })(c0, xs, w) * w):sum() end)(w0)
    end
    near(second(scanned), second(looped), "twice")
    local _, dot = np.jvp(scanned, { c0, xs, w0 }, { c0, xs, w0 })
    local _, want_dot = np.jvp(looped, { c0, xs, w0 }, { c0, xs, w0 })
    near(dot, want_dot, "forward")
    near(np.grad(function(x) return scanned(c0, x, w0, { reverse = true }) end)(xs),
         np.flip(np.grad(function(x) return looped(c0, x, w0) end)(np.flip(xs, 0)), 0), "reverse")
end)

test("derivatives of branches, of counted loops, and of while loops", function()
    local x = np.array { 0.5, 2 }
    local function f(p)
        return function(a)
            return np.cond(p, function(v) return np.sin(v):sum() * x[1] end, function(v) return (v * v):sum() end, a)
        end
    end
    near(np.grad(f(true))(x), np.cos(x) * 2)
    near(np.grad(f(false))(x), x * 2)
    near(np.grad(np.jit(f(true)))(x), np.cos(x) * 2)
    near(select(2, np.jvp(f(false), { x }, { np.ones { 2 } })), np.array(5))
    local function power(a) return np.fori_loop(0, 3, function(_, c) return c * a end, a) end
    equal(np.grad(power)(np.array(2.0)):item(), 32)
    local function squares(a)
        return np.while_loop(function(s) return s.x:sum():lt(100) end, function(s)
            return { x = s.x * s.x + 1, n = s.n + 1 }
        end, { x = a, n = 0 }).x:sum()
    end
    local value, dot = np.jvp(squares, { np.array { 1.5 } }, { np.array { 1 } })
    check.close(value:item(), 134.6914, 1e-3)
    check.close(dot:item(), 450.9375, 1e-3)
    raises(function() np.grad(squares)(np.array { 1.5 }) end, "while_loop has no reverse", "fori_loop", "np.scan")
end)

test("a loop with a gradient costs the same whatever its length", function()
    local function costs(n)
        local x = np.ones { n }
        x:wait()
        local before = counters()
        np.grad(function(a) return (np.scan(function(c, v) return c * a + v, nil end, a, x)) end)(np.array(0.5)):item()
        local after = counters()
        return { nodes = tonumber(after.nodes - before.nodes), launches = tonumber(after.launches - before.launches) }
    end
    costs(10)
    equal(costs(10), costs(10000))
end)

check.test("what a node is recorded of outlives a collection", function()
    local plain, junk = core.call_ids, {}
    core.call_ids = function(...)
        collectgarbage()
        collectgarbage()
        for k = 1, 3000 do junk[k] = ffi.new("uint8_t[?]", 8 * (k % 8) + 8, 0xff) end
        return plain(...)
    end
    local ok, sum = pcall(function()
        return np.scan(function(c, x) return c + x end, 0, np.arange(5)):item()
    end)
    core.call_ids = plain
    check.equal({ ok, sum, #junk }, { true, 10, 3000 })
end)

check.done()
