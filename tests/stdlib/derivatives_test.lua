--- derivatives_test.lua (under tsan with --long): np.vjp, np.jvp, np.linearize: conventions, trees, and how they
-- compose with each other, np.grad and np.jit. (Numbers: tests/ops/gradients_test.lua and
-- tests/golden/gradients_test.lua.)
local check = require "tests.lib.check"
local np = require "neap"

local function same(a, b, what) check.equal(a:totable(), b:totable(), what) end
local function close(a, b, what) check.close(a:totable(), b:totable(), 1e-6, what) end

local x, y = np.array { 0.5, -1, 2 }, np.array { 3, 0.25, -2 }
local w = np.array { { 1, 2 }, { -0.5, 0.25 }, { 3, -1 } }

check.test("jvp returns results, then tangents", function()
    local value, tangent = np.jvp(function(a, b) return a * b end, { x, y }, { np.ones(3), np.zeros(3) })
    same(value, x * y)
    same(tangent, y)
    local s, d, ts, td = np.jvp(function(a, b) return a + b, { of = a * 2 } end, { x, 1.5 }, { y, 2 })
    same(s, x + 1.5)
    same(d.of, x * 2)
    same(ts, y + 2)
    same(td.of, y * 2)
end)

check.test("vjp's function can be called many times, and later", function()
    local runs = 0
    local function f(a, m)
        runs = runs + 1
        return np.tanh(a:matmul(m)), (a * a):sum()
    end
    local out, norm, pull = np.vjp(f, x, w)
    same(out, np.tanh(x:matmul(w)))
    same(norm, (x * x):sum())
    for k = 1, 3 do
        local ct = np.array { k, -k }
        local da, dm = pull(ct, k)
        local want_a, want_m = np.grad(function(a, m)
            return (np.tanh(a:matmul(m)) * ct):sum() + (a * a):sum() * k
        end, { argnums = { 1, 2 } })(x, w)
        close(da, want_a)
        close(dm, want_m)
    end
    check.equal(runs, 1)
end)

check.test("linearize gives the derivative as a function", function()
    local runs = 0
    local value, push = np.linearize(function(t)
        runs = runs + 1
        return np.sin(t.a) * t.b
    end, { a = x, b = y })
    close(value, np.sin(x) * y)
    for k = 1, 3 do
        local tangent = { a = np.full(3, k), b = np.full(3, -1) }
        local _, want = np.jvp(function(t) return np.sin(t.a) * t.b end, { { a = x, b = y } }, { tangent })
        close(push(tangent), want)
    end
    check.equal(runs, 1)
end)

check.test("has_aux passes the other results on", function()
    local function f(a) return a * a, "name", { n = 3 } end
    local out, tangent, name, more = np.jvp(f, { x }, { y }, { has_aux = true })
    same(out, x * x)
    close(tangent, x * y * 2)
    check.equal({ name, more.n }, { "name", 3 })
    local pull
    out, pull, name, more = np.vjp(f, x, { has_aux = true })
    same(out, x * x)
    close(pull(y), x * y * 2)
    check.equal({ name, more.n }, { "name", 3 })
    check.raises(function() np.vjp(f, x) end, "result 2 has the string")
    check.raises(function() np.vjp(function(a) return a end, x, { has_aux = true }) end, "a value and more")
end)

check.test("arguments and cotangents are trees", function()
    local tree = { w = x, layers = { y, { s = 2 } } }
    local function f(t)
        return { out = t.w * t.layers[1] * t.layers[2].s, count = np.array({ 1, 2 }, { dtype = "i32" }) }
    end
    local out, pull = np.vjp(f, tree)
    same(out.out, x * y * 2)
    local got = pull { out = np.ones(3), count = false }
    same(got.w, y * 2)
    same(got.layers[1], x * 2)
    same(got.layers[2].s, (x * y):sum())
    local _, tangent = np.jvp(f, { tree }, { { w = y, layers = { x, { s = 0 } } } })
    same(tangent.out, (x * x + y * y) * 2)
    check.equal(tangent.count:totable(), { 0, 0 })
end)

check.test("an argument that the result does not depend on", function()
    local _, pull = np.vjp(function(a) return a * 2 end, x, w)
    local _, dw = pull(np.ones(3))
    same(dw, np.zeros(3, 2))
    local _, tangent = np.jvp(function() return y end, { x }, { x })
    same(tangent, np.zeros(3))
    local _, push = np.linearize(function() return y end, x)
    same(push(x), np.zeros(3))
end)

check.test("captured arrays are constants to the inner derivative and not to the outer", function()
    local function outer(b)
        local _, tangent = np.jvp(function(a) return a * a * b end, { x }, { np.ones(3) })
        return tangent:sum() -- 2 x b
    end
    close(np.grad(outer)(y), x * 2)
    local function pulled(b)
        local _, pull = np.vjp(function(a) return a * a * b end, x)
        return (pull(b)):sum() -- 2 x b²
    end
    close(np.grad(pulled)(y), x * y * 4)
    close(np.grad(function(a) return (np.grad(function(b) return (a * b):sum() end)(a) * a):sum() end)(x), x * 2)
end)

check.test("forward and reverse mode nest in any order", function()
    local function f(a) return (np.sin(a) * a * a):sum() end
    local one = np.ones(3)
    local function hvp_reverse(v) return np.grad(function(a) return (np.grad(f)(a) * v):sum() end)(x) end
    local function forward_over_reverse(v) return select(2, np.jvp(np.grad(f), { x }, { v })) end
    local function reverse_over_forward(v)
        return np.grad(function(a) return (select(2, np.jvp(f, { a }, { v }))) end)(x)
    end
    local want = hvp_reverse(y)
    close(forward_over_reverse(y), want)
    close(reverse_over_forward(y), want)
    close((select(2, np.linearize(np.grad(f), x)))(y), want)
    close((select(2, np.vjp(np.grad(f), x)))(y), want)
    local function along(g) return function(a) return (select(2, np.jvp(g, { a }, { one }))) end end
    local function slope(g) return function(a) return np.grad(g)(a):sum() end end
    local third = slope(slope(slope(f)))(x)
    close(along(along(along(f)))(x), third)
    close(along(slope(along(f)))(x), third)
    close(slope(along(slope(f)))(x), third)
end)

check.test("inside and outside of jit", function()
    local function f(a) return np.tanh(a) * a end
    local _, want = np.jvp(f, { x }, { y })
    local function push(a, t) return select(2, np.jvp(f, { a }, { t })) end
    local function pull(a, t) return (select(2, np.vjp(f, a)))(t) end
    same(np.jit(push)(x, y), want)
    close(np.jit(pull)(x, y), want)
    close(select(2, np.jvp(np.jit(f), { x }, { y })), want)
    local _, pull_jitted = np.vjp(np.jit(f), x)
    close(pull_jitted(y), want)
    local _, later = np.vjp(f, x)
    close(np.jit(later)(y), want, "a function from outside of the trace")
    close(np.grad(function(t) return (later(t) * x):sum() end)(y), select(2, np.jvp(f, { x }, { x })))
    local compiled = np.jit(function(a, t)
        local _, inner = np.vjp(f, a)
        return inner(t) + inner(t * 2)
    end)
    close(compiled(x, y), want * 3)
end)

check.test("plain Lua control flow on live values", function()
    local rounds
    local function f(a)
        rounds = 0
        while a:sum():item() < 40 do
            a = a * a + 1
            rounds = rounds + 1
        end
        return a
    end
    local out, tangent = np.jvp(f, { x }, { np.ones(3) })
    check.ok(rounds > 1)
    same(out, f(x))
    local _, pull = np.vjp(f, x)
    close(pull(np.ones(3)), tangent, "elementwise, so the Jacobian is diagonal")
end)

check.test("a program of many ops, one after the other", function()
    local n = os.getenv("NEAP_TEST_BUILD") == "release" and 100000 or 5000
    local function f(a)
        for _ = 1, n do a = a * 0.99999 + 0.00001 end
        return a
    end
    local want = 0.99999 ^ n
    check.close(np.grad(function(a) return f(a):sum() end)(x):totable(), { want, want, want }, 1e-2)
    local _, tangent = np.jvp(f, { x }, { np.ones(3) })
    check.close(tangent:totable(), { want, want, want }, 1e-2)
    local _, pull = np.vjp(f, x)
    check.close(pull(np.ones(3)):totable(), { want, want, want }, 1e-2)
    local value, gradient = np.jit(np.value_and_grad(function(a) return f(a):sum() end))(x)
    check.close(value:item(), 3 + (x:sum():item() - 3) * want, 1e-2)
    check.close(gradient:totable(), { want, want, want }, 1e-2)
end)

check.test("errors name the argument and what was expected", function()
    local function f(a) return a * 2 end
    local text = check.raises(function() np.jvp(f, { x }, { np.ones(2) }) end, "tangent 1: expected dtype f32")
    check.ok(text:find("derivatives_test.lua", 1, true), text)
    check.raises(function() np.jvp(f, { x }, { np.ones(3, { dtype = "f64" }) }) end, "got f64")
    check.raises(function() np.jvp(f, { x }, { x, x }) end, "expected 1 tangents, got 2")
    check.raises(function() np.jvp(f, x, { x }) end, "primals")
    check.raises(function() np.jvp(f, { { a = x } }, { { b = x } }) end, "tangent 1.a")
    check.raises(function() np.jvp(f, { { x } }, { { x, x } }) end, "tangent 1%[2%]: there is nothing")
    local _, pull = np.vjp(f, x)
    check.raises(function() pull(np.ones(4)) end, "cotangent 1: .* shape %(3,%), got f32 and %(4,%)")
    check.raises(function() pull() end, "expected 1 cotangents, got 0")
    check.raises(function() np.vjp(f) end, "expected an argument")
    check.raises(function() np.vjp(f, np.arange(3)) end, "must hold floats")
    check.raises(function() np.vjp(f, x, "three") end, "argument 2 must hold arrays or numbers")
    check.raises(function() np.linearize(function() end, x) end, "returned nothing")
    check.raises(function() np.jvp(nil, { x }, { x }) end, "argument 1")
end)

check.test("what a loop returns for no ys may be returned on", function()
    local function sum(a) return np.scan(function(c, v) return c + v end, np.zeros {}, a) end
    local total, pull = np.vjp(sum, x:reshape(-1))
    check.equal(total:item(), x:sum():item())
    check.equal(pull(np.ones {}):totable(), np.ones_like(x):reshape(-1):totable())
end)

check.test("an error leaves no level open", function()
    for _ = 1, 40 do -- more than there can be levels
        pcall(np.vjp, function(a) return a:matmul(a, a) end, x)
        pcall(np.jvp, function(a) return a:reshape(7) end, { x }, { x })
        pcall(np.linearize, function() error("stop") end, x)
    end
    same(np.grad(function(a) return (a * a):sum() end)(x), x * 2)
end)

check.test("both parts of logaddexp share ties, of infinities and of huge numbers, too", function()
    local inf = math.huge
    for _, row in ipairs { { -inf, -inf, 0.5, 0.5 }, { inf, inf, 0.5, 0.5 }, { 1e10, 1e10, 0.5, 0.5 },
                           { 0, 0, 0.5, 0.5 }, { inf, 0, 1, 0 }, { 0, -inf, 1, 0 }, { 1e10, -1e10, 1, 0 },
                           { 0 / 0, 1, 0 / 0, 0 / 0 } } do
        local point = np.array({ row[1], row[2] }, { dtype = "f64" })
        local function f(v) return np.logaddexp(v[0], v[1]) end
        check.equal(np.grad(f)(point):totable(), { row[3], row[4] })
        check.equal(np.jacfwd(f)(point):totable(), { row[3], row[4] })
    end
    local second = np.hessian(function(v) return np.logaddexp(v[0], v[1]) end)(np.zeros({ 2 }, { dtype = "f64" }))
    check.equal(second:totable(), { { 0.25, -0.25 }, { -0.25, 0.25 } })
end)

check.done()
