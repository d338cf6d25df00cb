--- custom_test.lua (sanitized with --long): np.custom_vjp, np.custom_jvp, np.checkpoint, np.stop_gradient: whose
-- derivatives are taken, in which modes, orders and surroundings; what is refused.
local check = require "tests.lib.check"
local np = require "neap"

local function same(a, b, what) check.equal(a:totable(), b:totable(), what) end
local function close(a, b, what) check.close(a:totable(), b:totable(), 1e-5, what) end

local x, y = np.array { 0.5, -1, 2 }, np.array { 3, 0.25, -2 }

--- A sine whose derivative in reverse mode is 10 cos.
local function loud_sine()
    return np.custom_vjp(function(a) return np.sin(a) end):defvjp(
        function(a) return np.sin(a), { c = np.cos(a) } end,
        function(saved, ct) return saved.c * ct * 10 end)
end

--- The same by forward mode.
local function loud_sine_jvp()
    return np.custom_jvp(function(a) return np.sin(a) end):defjvp(function(primals, tangents)
        return np.sin(primals[1]), np.cos(primals[1]) * tangents[1] * 10
    end)
end

local function total(f) return function(...) return f(...):sum() end end

check.test("custom_vjp: the rule is the derivative", function()
    local f = loud_sine()
    same(f(x), np.sin(x), "outside of derivatives")
    close(np.grad(total(f))(x), np.cos(x) * 10)
    local out, pull = np.vjp(f, x)
    same(out, np.sin(x))
    close(pull(y), np.cos(x) * y * 10)
    close(pull(x), np.cos(x) * x * 10)
    close(np.grad(function(a) return (f(a * 2) * a):sum() end)(x), np.sin(x * 2) + np.cos(x * 2) * x * 20)
    local value, gradient = np.value_and_grad(total(f))(x)
    close(value, np.sin(x):sum())
    close(gradient, np.cos(x) * 10)
end)

check.test("custom_vjp: under jit, and in programs that are differentiated later", function()
    local f, want = loud_sine(), np.cos(x) * 10
    close(np.jit(f)(x), np.sin(x))
    close(np.jit(np.grad(total(f)))(x), want)
    close(np.grad(np.jit(total(f)))(x), want)
    local program = np.trace(f)(x)
    close(program(x), np.sin(x))
    close(np.grad(function(a) return (program(a) * y):sum() end)(x), want * y)
    close(np.jit(np.grad(np.jit(total(np.jit(f)))))(x), want)
end)

check.test("custom_vjp: several arguments and results, trees", function()
    local f = np.custom_vjp(function(t, b) return { t.a * b, n = "text" }, t.list[1] + 1 end)
    f:defvjp(function(t, b)
        local product, sum = { t.a * b, n = "text" }, t.list[1] + 1
        return product, sum, { t.a, b }
    end, function(saved, of_product, of_sum)
        check.equal(of_product.n, false)
        return { a = of_product[1] * saved[2] * 2, list = { of_sum * 3 } }, (of_product[1] * saved[1]):sum() * 5
    end)
    local function scalar(t, b)
        local product, sum = f(t, b)
        return product[1]:sum() + (sum * y):sum()
    end
    local by_t, by_b = np.grad(scalar, { argnums = { 1, 2 } })({ a = x, list = { y } }, np.array(4))
    close(by_t.a, np.full(3, 8))
    close(by_t.list[1], y * 3)
    close(by_b, np.array(x:sum():item() * 5))
end)

check.test("custom_vjp: missing cotangents are zeros, unused results have zero cotangents", function()
    local f = np.custom_vjp(function(a, b) return a * b, a + b end):defvjp(
        function(a, b) return a * b, a + b end,
        function(_, _, of_sum) return of_sum * 7 end)
    local by_a, by_b = np.grad(function(a, b) return (select(2, f(a, b))):sum() end, { argnums = { 1, 2 } })(x, y)
    same(by_a, np.full(3, 7))
    same(by_b, np.zeros(3))
    same(np.grad(function(a, b) return (f(a, b)):sum() end)(x, y), np.zeros(3))
end)

check.test("custom_vjp: arguments that are not differentiated", function()
    local f = np.custom_vjp(function(op, a, n) return op(a) * n end, { nondiff_argnums = { 1, 3 } }):defvjp(
        function(op, a, n) return op(a) * n, a end,
        function(op, n, a, ct)
            check.equal(type(op), "function")
            return ct * a * n
        end)
    same(f(np.exp, x, 2), np.exp(x) * 2)
    close(np.grad(function(a) return f(np.exp, a, 3):sum() end)(x), x * 3)
    local k = np.custom_vjp(function(a, indices) return np.take(a, indices) end):defvjp(
        function(a, indices) return np.take(a, indices), a end,
        function(a, ct) return a * ct:sum() end)
    same(np.grad(function(a) return k(a, np.array({ 0, 0 }, { dtype = "i32" })):sum() end)(x), x * 2)
end)

check.test("custom_jvp: both modes follow the rule", function()
    local f, want = loud_sine_jvp(), np.cos(x) * 10
    same(f(x), np.sin(x))
    close(select(2, np.jvp(f, { x }, { y })), want * y)
    close(np.grad(total(f))(x), want)
    close((select(2, np.vjp(f, x)))(y), want * y)
    close((select(2, np.linearize(f, x)))(y), want * y)
    close(np.jacfwd(f)(x), np.diag(want))
    close(np.jacrev(f)(x), np.diag(want))
    close(np.jit(np.grad(total(f)))(x), want)
    close(np.grad(np.jit(total(f)))(x), want)
    close(select(2, np.jvp(np.jit(f), { x }, { y })), want * y)
end)

check.test("custom_jvp: several arguments; zeros for what is missing", function()
    local f = np.custom_jvp(function(a, t) return a * t.b, a end):defjvp(function(primals, tangents)
        local a, t = primals[1], primals[2]
        return a * t.b, a, tangents[1] * t.b * 2 + tangents[2].b * a * 3, nil
    end)
    local function g(a, b)
        local product, same_a = f(a, { b = b })
        return product:sum() + same_a:sum()
    end
    local by_a, by_b = np.grad(g, { argnums = { 1, 2 } })(x, y)
    close(by_a, y * 2)
    close(by_b, x * 3)
    close(select(2, np.jvp(g, { x, y }, { np.ones(3), np.zeros(3) })), (y * 2):sum())
end)

check.test("higher orders: a rule that calls its function is used again", function()
    local f = np.custom_jvp(function(a) return a * a * a end)
    f:defjvp(function(primals, tangents)
        local a = primals[1]
        return f(a), (f(a) + a) * tangents[1] -- as if f' = f + a
    end)
    -- f'' = f' + 1 = f + a + 1
    local cube = x * x * x
    close(np.grad(total(f))(x), cube + x)
    close(np.grad(total(np.grad(total(f))))(x), cube + x + 1)
    close(select(2, np.jvp(np.grad(total(f)), { x }, { np.ones(3) })), cube + x + 1)
    local v = loud_sine()
    close(np.grad(total(np.grad(total(v))))(x), np.sin(x) * -10, "through the residuals of fwd")
    close(np.grad(total(np.jit(np.grad(total(v)))))(x), np.sin(x) * -10)
    close(np.hessian(total(v))(x), np.diag(np.sin(x) * -10), "forward over reverse")
    local again = np.custom_vjp(function(a) return a * a end)
    again:defvjp(function(a) return again(a), a end, function(a, ct) return ct * again(a) end) -- as if f' = f
    close(np.grad(total(np.grad(total(again))))(x), x * x)
end)

check.test("custom_vjp: fwd gives the value, with its effects, also without residuals", function()
    local calls = {}
    local function note(v) calls[#calls + 1] = v:item() end
    local f = np.custom_vjp(function(a) return a end):defvjp(function(a)
        np.callback(note)(a)
        return a * 3, nil
    end, function(_, ct) return ct * 5 end)
    local at = np.array(2)
    local function value_of(g) return (np.value_and_grad(g)(at)):item() end
    check.equal(f(at):item(), 2, "the function itself, where nothing is differentiated")
    check.equal(np.jit(f)(at):item(), 2)
    np.wait_all()
    check.equal(calls, {})
    check.equal(value_of(f), 6)
    check.equal(value_of(np.jit(f)), 6)
    check.equal((np.jit(np.value_and_grad(f))(at)):item(), 6)
    np.wait_all()
    check.equal(calls, { 2, 2, 2 })
    calls = {}
    check.equal(value_of(function(a)
        return (np.scan(function(c) return f(c) end, a, nil, { length = 2 }))
    end), 18)
    check.equal(value_of(function(a)
        return np.cond(a:gt(0), function(b) return f(b) end, function(b) return b end, a)
    end), 6)
    np.wait_all()
    check.equal(calls, { 2, 6, 2 })
    calls = {}
    check.equal(np.grad(np.grad(function(a) return f(a) * a end))(at):item(), 8, "fwd once, whatever the order")
    np.wait_all()
    check.equal(calls, { 2 })
end)

check.test("forward over reverse, where the function is not on the path of the gradient", function()
    local g = np.custom_vjp(function(a) return a * a end):defvjp(
        function(a) return a * a, a end, function(r, ct) return ct * r * 2 end)
    local at = np.array { 1, 2 }
    local function chosen(a) return np.where(g(a):gt(2), a * a * a, a * a):sum() end
    local function unused(a)
        g(a)
        return (a * a):sum()
    end
    local function stopped(a) return (a * a * np.stop_gradient(g(a))):sum() end
    local function passed_by(a) return (a * a * np.checkpoint(function(b) return b, g(b) end)(a)):sum() end
    local want = { [chosen] = { { 2, 0 }, { 0, 12 } }, [unused] = { { 2, 0 }, { 0, 2 } } }
    for f, hessian in pairs(want) do
        check.equal(np.hessian(f)(at):totable(), hessian)
        check.equal(np.jit(np.hessian(f))(at):totable(), hessian)
        check.equal(np.hessian(np.jit(f))(at):totable(), hessian)
    end
    local ones = np.ones(2)
    for _, f in ipairs { chosen, unused, stopped, passed_by } do
        local by_reverse = np.grad(function(a) return np.grad(f)(a):sum() end)(at):totable()
        check.equal(select(2, np.jvp(np.grad(f), { at }, { ones })):totable(), by_reverse)
        check.equal(select(2, np.jvp(np.jit(np.grad(f)), { at }, { ones })):totable(), by_reverse)
    end
end)

check.test("vmap", function()
    local rows = np.stack { x, y }
    for _, f in ipairs { loud_sine(), loud_sine_jvp() } do
        close(np.vmap(f)(rows), np.sin(rows))
        close(np.vmap(np.grad(total(f)))(rows), np.cos(rows) * 10)
        close(np.grad(function(m) return np.vmap(f)(m):sum() end)(rows), np.cos(rows) * 10)
    end
    local function f(a) return np.tanh(a * a) end
    close(np.vmap(np.grad(total(np.checkpoint(f))))(rows), np.vmap(np.grad(total(f)))(rows))
end)

check.test("inside loops and branches", function()
    for _, f in ipairs { loud_sine(), loud_sine_jvp(), np.checkpoint(np.sin) } do
        local function by_scan(a)
            return (np.scan(function(c, e) return f(c) * e, c end, a, np.ones(3))):sum()
        end
        local function by_loop(a)
            for _ = 1, 3 do a = f(a) end
            return a:sum()
        end
        local function by_cond(a)
            return np.cond(a[0]:gt(0), function(b) return f(b):sum() end, function(b) return b:sum() end, a)
        end
        local want = np.grad(by_loop)(x)
        close(np.grad(by_scan)(x), want)
        close(np.jit(np.grad(by_scan))(x), want)
        close(np.grad(by_cond)(x), np.grad(total(f))(x))
        close(np.grad(by_cond)(-x), np.ones(3))
    end
end)

check.test("jit finds the arrays that a function with a rule captures", function()
    local scale = np.array(2)
    local f = np.custom_vjp(function(a) return a * scale end):defvjp(
        function(a) return a * scale, scale end,
        function(saved, ct) return ct * saved end)
    local jitted = np.jit(f)
    close(jitted(x), x * 2)
    scale = np.array(3)
    close(jitted(x), x * 3)
end)

check.test("what is refused", function()
    local f = np.custom_vjp(function(a) return a * 2 end)
    same(f(x), x * 2)
    check.raises(function() np.grad(total(f))(x) end, "no rule yet: call :defvjp")
    check.raises(function() np.custom_vjp(3) end, "argument 1")
    check.raises(function() f:defvjp(nil) end, "argument 1")
    check.raises(function() np.jvp(loud_sine(), { x }, { y }) end, "np.custom_vjp has no forward derivative")
    f:defvjp(function(a) return a:sum(), a end, function(_, ct) return ct end)
    check.raises(function() np.grad(total(f))(x) end, "result 1 of fwd: expected dtype f32 and shape %(3,%)")
    f:defvjp(function(a) return a * 2, a end, function(_, ct) return ct:sum() end)
    check.raises(function() np.grad(total(f))(x) end, "cotangent 1 of bwd: expected dtype f32 and shape %(3,%)")
    f:defvjp(function(a) return a * 2, a end, function(_, ct) return ct, ct end)
    check.raises(function() np.grad(total(f))(x) end, "bwd returned 2 cotangents for 1 arguments")
    f:defvjp(function(a) return a * 2, a, a end, function(_, ct) return ct end)
    check.raises(function() np.grad(total(f))(x) end, "fwd returned 3 values")
    local g = np.custom_jvp(function(a) return a * 2 end):defjvp(function(p) return p[1] * 2 end)
    check.raises(function() np.jvp(g, { x }, { y }) end, "the rule returned 1 values")
    g:defjvp(function(p, t) return p[1] * 2, t[1] * t[1] end)
    check.raises(function() np.grad(total(g))(x) end, "not linear in its tangents")
    local function closes_over(b)
        local h = loud_sine()
        h.user_function = function(a) return np.sin(a) * b end
        h:defvjp(function(a) return np.sin(a) * b, b end, function(_, ct) return ct end)
        return h(x):sum()
    end
    check.raises(function() np.grad(closes_over)(y) end, "pass it as an argument")
end)

check.test("checkpoint: same values and derivatives, in every mode and order", function()
    local w = np.array { { 1, 2, 0 }, { -0.5, 0.25, 1 }, { 3, -1, 2 } }
    local function f(a, m) return np.tanh(a:matmul(m)) * a, { (a * a):sum() } end
    local g = np.checkpoint(f)
    local function scalar(h) return function(a, m)
        local first, second = h(a, m)
        return (first * y):sum() + second[1]
    end end
    same((g(x, w)), (f(x, w)))
    local both = { argnums = { 1, 2 } }
    local want_a, want_m = np.grad(scalar(f), both)(x, w)
    local by_a, by_m = np.grad(scalar(g), both)(x, w)
    close(by_a, want_a)
    close(by_m, want_m)
    by_a, by_m = np.jit(np.grad(scalar(g), both))(x, w)
    close(by_a, want_a)
    close(by_m, want_m)
    close((np.grad(np.jit(scalar(g)))(x, w)), want_a)
    local _, tangent = np.jvp(scalar(g), { x, w }, { y, w })
    close(tangent, select(2, np.jvp(scalar(f), { x, w }, { y, w })))
    close(np.hessian(scalar(g))(x, w), np.hessian(scalar(f))(x, w))
    local function captured(h) return function(m) return h(function(a) return np.tanh(a:matmul(m)) end)(x):sum() end end
    close(np.grad(captured(np.checkpoint))(w), np.grad(captured(function(h) return h end))(w))
end)

check.test("checkpoint lowers the peak of memory of the gradient of a deep network", function()
    local layers, width, rows = 16, 128, 256
    local weights = {}
    for k = 1, layers do
        local key = np.random.key(k)
        weights[k] = { up = (np.random.normal(key, { width, 4 * width }) * 0.1):wait(),
                       down = (np.random.normal(np.random.fold_in(key, 1), { 4 * width, width }) * 0.1):wait() }
    end
    local function layer(h, w)
        local a = np.tanh(h:matmul(w.up))
        return h + np.sigmoid(a * a + a):matmul(w.down) * 0.5
    end
    local function loss(apply)
        return function(h)
            for k = 1, layers do h = apply(h, weights[k]) end
            return (h * h):mean()
        end
    end
    local input = np.random.normal(np.random.key(0), { rows, width }):wait()
    local function peak(f)
        local gradient = np.jit(np.grad(f))
        gradient(input):wait() -- what is made once
        collectgarbage()
        collectgarbage()
        np.wait_all()
        np.memory.reset_peak()
        local before, g = np.memory().live, gradient(input):wait()
        np.wait_all()
        return np.memory().peak - before, g
    end
    local whole, expected = peak(loss(layer))
    local lowered, got = peak(loss(np.checkpoint(layer)))
    same(got, expected, "the same bits")
    check.ok(lowered * 2 <= whole, ("%d bytes instead of %d"):format(lowered, whole))
end)

check.test("a checkpointed function with ordered effects is refused where it is differentiated", function()
    local f = np.checkpoint(function(a)
        print(a)
        return a * 2
    end)
    local text = check.raises(function() np.grad(total(f))(x) end, "checkpoint: .* ordered effect, print at ")
    check.ok(text:find("custom_test.lua:%d+, which would happen twice"), text)
    local jitted = np.jit(f)
    check.raises(function() np.jvp(jitted, { x }, { y }) end, "ordered effect, print")
    local called = np.checkpoint(np.callback(function(v) return v end, { result = x }))
    check.raises(function() np.grad(total(called))(x) end, "ordered effect")
end)

check.test("stop_gradient", function()
    close(np.grad(function(a) return (a * np.stop_gradient(a)):sum() end)(x), x)
    close(select(2, np.jvp(function(a) return a * np.stop_gradient { k = a }.k end, { x }, { y })), x * y)
    check.equal(np.stop_gradient { 1, "a", { x } }[2], "a")
end)

check.test("a rule with branches and loops in it is transposed", function()
    local at = np.array { 0.5, -1, 2 }
    local function with(tangent)
        local f = np.custom_jvp(function(a) return a * 1 end)
        return f:defjvp(function(p, t) return f(p[1]), tangent(p[1], t[1]) end)
    end
    local branch = with(function(a, t)
        return np.cond(a:sum():gt(0), function(s) return s * a end, function(s) return s * 7 end, t)
    end)
    local loop = with(function(a, t) return (np.scan(function(c) return c * a + t end, t, nil, { length = 2 })) end)
    local again = with(function(a, t) return np.checkpoint(function(s) return s * a end)(t) end)
    for k, f in ipairs { branch, loop, again } do
        local want = ({ at, at * at + at + 1, at })[k]:totable()
        local function sum(a) return f(a):sum() end
        check.close(select(2, np.jvp(f, { at }, { np.ones(3) })):totable(), want, 1e-6)
        check.close(np.grad(sum)(at):totable(), want, 1e-6, "reverse")
        check.close(np.jit(np.grad(sum))(at):totable(), want, 1e-6, "reverse, jitted")
        check.close(np.grad(np.jit(sum))(at):totable(), want, 1e-6, "reverse of a program")
        check.close(np.grad(function(a) return np.vmap(f)(np.stack { a, a }):sum() end)(at):totable(),
                    (({ at, at * at + at + 1, at })[k] * 2):totable(), 1e-6, "batched")
    end
end)

check.test("a rule in loops around which constants meet", function()
    local function inner(a, b)
        return np.vmap(function(c, d) return np.tanh(c) * d end)(np.stack { a, b }, np.stack { b, a })[0]
    end
    local function moved(a, b) return (select(2, np.jvp(inner, { a, b }, { b, np.ones(3) }))) end
    local ruled = np.custom_jvp(moved)
    ruled:defjvp(function(p, t) return np.jvp(moved, p, t) end)
    local at, by = np.array { 0.5, -0.4, 1.1 }, np.array { 0.2, 0.8, -0.3 }
    local function looped(g)
        return function(a)
            return (np.scan(function(c)
                return np.fori_loop(0, 1, function(_, d) return g(d, by) end, c)
            end, a, nil, { length = 1 }))
        end
    end
    local want = np.jacfwd(function(a) return moved(a, by) end)(at):totable()
    check.close(np.jacfwd(looped(ruled))(at):totable(), want, 1e-6)
    check.close(np.jit(np.jacfwd(looped(ruled)))(at):totable(), want, 1e-6)
end)

check.test("numbers that a trace does not know may be arguments of functions with rules", function()
    local vjp = np.custom_vjp(function(c, v) return c * v end)
    vjp:defvjp(function(c, v) return c * v, { c, v } end, function(r, ct) return ct * r[2], ct * r[1] end)
    local jvp = np.custom_jvp(function(c, v) return c * v end)
    jvp:defjvp(function(p, t) return p[1] * p[2], t[1] * p[2] + t[2] * p[1] end)
    for _, f in ipairs { vjp, jvp } do
        for _, dtype in ipairs { "f32", "f64" } do
            local row = np.array({ 1, 2, 3 }, { dtype = dtype })
            check.equal(np.jit(np.grad(function(v, n) return f(n, v):sum() end))(row, 2):totable(), { 2, 2, 2 })
            local function product(v) return (np.scan(function(c, w) return f(c, w) end, 1, v)) end
            check.equal(np.grad(product)(row):totable(), { 6, 3, 2 })
        end
    end
end)

check.test("optimization_barrier: no kernel reaches across, and nothing is taken from the other side", function()
    local big = np.random.normal(np.random.key(0), { 1000 })
    local function launches(f)
        np.force(f(big))
        np.wait_all()
        local before = np.debug.counters().launches
        np.force(f(big))
        np.wait_all()
        return np.debug.counters().launches - before
    end
    local function through(f) return function(v) return f(np.exp(v + 1)) * 2 end end
    local function same_value(v) return v end
    check.equal(launches(through(same_value)), 1)
    check.equal(launches(through(np.optimization_barrier)) > 2, true)
    check.equal(launches(np.jit(through(np.optimization_barrier))) > 2, true)
    same(through(np.optimization_barrier)(big), through(same_value)(big))
end)

check.test("optimization_barrier: trees, what is no array, and every transformation", function()
    local tree = np.optimization_barrier { a = x, list = { y, 2, "text", true } }
    same(tree.a, x)
    same(tree.list[1], y)
    check.equal({ tree.list[2], tree.list[3], tree.list[4] }, { 2, "text", true })
    check.equal(np.optimization_barrier(3), 3)
    local function f(a, b)
        local both = np.optimization_barrier { a * b, b }
        return (both[1] * both[2]):sum()
    end
    local function plain(a, b) return (a * b * b):sum() end
    local want = np.grad(plain, { argnums = 2 })(x, y)
    same(np.grad(f, { argnums = 2 })(x, y), want)
    same(np.jit(np.grad(f, { argnums = 2 }))(x, y), want)
    np.check_grads(f, { x:astype "f64", y:astype "f64" }, { order = 2 })
    same(np.vmap(f)(np.stack { x, y }, np.stack { y, x }), np.stack { plain(x, y), plain(y, x) })
    local path = os.tmpname()
    np.trace(f)(x, y):save(path)
    same(np.load_program(path)(x, y), plain(x, y))
    local mesh = np.mesh({ 1 }, { "i" })
    same(np.shard_map(function(a) return np.optimization_barrier(a + 1) end,
                      { mesh = mesh, in_specs = { np.P "i" }, out_specs = np.P "i" })(x), x + 1)
end)

-- ---- Derivatives inside each other ----------------------------------------------------------------------------------

-- Where a rule that reads only x may stand, in what is differentiated with respect to c.
local PLACES = {
    function(_, f) return f() end,
    function(c, f) return np.cond(c:gt(0), function() return f() end, function(q) return q end, c) end,
    function(c, f) return np.cond(np.array(true), function() return f() end, function() return c * 0 end) end,
    function(c, f)
        return np.cond(c:gt(0), function(q)
            return np.cond(q:gt(0), function(r) return f() + r * 0 end, function(r) return r end, q)
        end, function(q) return q end, c)
    end,
    function(c, f)
        return np.switch(c:gt(0):astype "i32" + 1, { function(q) return q end, function() return f() end }, c)
    end,
    function(c, f) return np.fori_loop(0, 2, function(_, q) return f() + q * 0 end, c) end,
    function(c, f) return (np.scan(function(q) return f() + q * 0, nil end, c, nil, { length = 2 })) end,
    function(c, f) return np.checkpoint(function(q) return f() + q * 0 end)(c) end,
    function(c, f) return np.jit(function(q) return f() + q * 0 end)(c) end,
}

check.test("a rule in a branch or loop serves the innermost derivative that depends on its arguments", function()
    local one = np.array(1.0)
    local function tangent(f, v) return (select(2, np.jvp(f, { v }, { one }))) end
    local function slope(f, v) return np.grad(f)(v) end
    local forward = np.custom_jvp(np.sin):defjvp(function(p, t) return np.sin(p[1]), t[1] * 100 end)
    local reverse = np.custom_vjp(np.sin):defvjp(function(v) return np.sin(v), v end,
                                                 function(_, ct) return ct * 100 end)
    local want = 2 * math.sin(0.5) + 2 * 0.5 * 100 -- of 2 x sin(x), where the slope of the sine is 100
    for place, at in ipairs(PLACES) do
        for r, rule in ipairs { forward, reverse } do
            for i, inner in ipairs { tangent, slope } do
                local function f(v)
                    return inner(function(c) return c * c * at(c, function() return rule(v) end) end, v)
                end
                local at_half = np.array(0.5)
                for o, outer in ipairs(r == 1 and { slope, tangent } or { slope }) do
                    local what = ("place %d, rule %d, %d in %d"):format(place, r, i, o)
                    check.close(outer(f, at_half):item(), want, 1e-4, what)
                    check.close(np.jit(function(v) return outer(f, v) end)(at_half):item(), want, 1e-4, what .. ", jit")
                    check.close(outer(np.jit(f), at_half):item(), want, 1e-4, what .. ", of jit")
                end
            end
        end
    end
end)

check.done()
