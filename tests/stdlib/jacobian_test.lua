--- jacobian_test.lua (under tsan with --long): np.jacobian, np.jacfwd, np.jacrev, np.hessian: values against single
-- vectors and closed forms, trees, options, nesting; and that their work does not grow with the number of vectors.
local ffi = require "ffi"
local check = require "tests.lib.check"
local core = require "neap.core"
local np = require "neap"

local function close(a, b, what)
    check.equal(a.shape, b.shape, what)
    check.close(a:totable(), b:totable(), 1e-5, what)
end

local x = np.array { 0.5, -1, 2 }
local w = np.array { { 1, 2 }, { -0.5, 0.25 }, { 3, -1 } }
local function f(a) return np.tanh(a:matmul(w)) * a:sum() end

check.test("both modes give the rows that vjp and jvp give", function()
    local forward, reverse, chosen = np.jacfwd(f)(x), np.jacrev(f)(x), np.jacobian(f)(x)
    check.equal(forward.shape, { 2, 3 })
    close(forward, reverse)
    close(chosen, reverse)
    local _, pull = np.vjp(f, x)
    for k = 0, 1 do close(reverse[k], (pull(np.eye(2)[k]))) end
    for k = 0, 2 do close(forward[{ {}, k }], (select(2, np.jvp(f, { x }, { np.eye(3)[k] })))) end
end)

check.test("shapes are those of the result, then of the argument", function()
    local function g(m) return m:reshape(2, 3, 1) * m:sum() end
    for _, mode in ipairs { "forward", "reverse" } do
        local j = np.jacobian(g, { mode = mode })(w)
        check.equal(j.shape, { 2, 3, 1, 3, 2 })
        local flat = j:reshape(6, 6)
        close(flat, np.eye(6) * w:sum() + np.outer(w:ravel(), np.ones(6)))
    end
    check.equal(np.jacobian(function(m) return m:sum() end)(w).shape, { 3, 2 })
    check.equal(np.jacobian(function(s) return s * x end)(2).shape, { 3 })
    check.equal(np.jacobian(function(s) return s * s end)(3):item(), 6)
    check.equal(np.jacobian(function(a) return a * 2 end)(np.zeros(0)).shape, { 0, 0 })
end)

check.test("trees inside and out, several arguments, and what else the function returns", function()
    local function g(p, s) return { sum = p.a * s + p.b:sum(), list = { p.b * p.b } }, "aux" end
    for _, derive in ipairs { np.jacfwd, np.jacrev, np.jacobian } do
        local by_p, by_s, aux = derive(g, { argnums = { 1, 2 }, has_aux = true })({ a = x, b = w }, 3)
        check.equal(aux, "aux")
        close(by_p.sum.a, np.eye(3) * 3)
        close(by_p.sum.b, np.ones(3, 3, 2))
        close(by_p.list[1].a, np.zeros(3, 2, 3))
        close(by_p.list[1].b:reshape(6, 6), np.diag(w:ravel() * 2))
        close(by_s.sum, x)
        close(by_s.list[1], np.zeros(3, 2))
    end
end)

check.test("hessian", function()
    local a = np.array { { 2, 1, 0 }, { 1, 3, -1 }, { 0, -1, 1 } }
    local function quadratic(v) return v:matmul(a):matmul(v) * 0.5 end
    close(np.hessian(quadratic)(x), a)
    local function g(v, s) return (v * v * v):sum() * s * s end
    close(np.hessian(g)(x, 2), np.diag(x * 24))
    local by_v, by_s = np.hessian(g, { argnums = { 1, 2 } })(x, 2)
    close(by_v[1], np.diag(x * 24))
    close(by_v[2], x * x * 12)
    close(by_s[1], x * x * 12)
    close(by_s[2], (x * x * x):sum() * 2)
    local function h(t) return (t.p * t.p * t.q):sum(), 7 end
    local tree, aux = np.hessian(h, { has_aux = true })({ p = x, q = x })
    check.equal(aux, 7)
    close(tree.p.p, np.diag(x * 2))
    close(tree.p.q, np.diag(x * 2))
    close(tree.q.q, np.zeros(3, 3))
end)

check.test("nested, inside and around other transformations", function()
    local want = np.jacrev(f)(x)
    close(np.jit(np.jacfwd(f))(x), want)
    close(np.jit(np.jacrev(f))(x), want)
    close(np.jacfwd(np.jit(f))(x), want)
    local third = np.jacfwd(np.jacrev(np.jacfwd(function(v) return (v * v * v * v):sum() end)))(x)
    check.equal(third.shape, { 3, 3, 3 })
    close(third[{ 1, 1, 1 }], x[1] * 24)
    close(third[{ 1, 1, 2 }], np.array(0))
    local trace = function(v) return (np.jacfwd(function(u) return u * u * u end)(v) * np.eye(3)):sum() end
    close(np.grad(trace)(x), x * 6)
    local rows = np.vmap(np.jacrev(function(v) return v * v end))(np.stack { x, x * 2 })
    close(rows[1], np.diag(x * 4))
    local captured = np.grad(function(s) return np.jacfwd(function(v) return v * v * s end)(x):sum() end)(np.array(2))
    close(captured, x:sum() * 2)
end)

check.test("the number of steps does not depend on the size", function()
    local counters = ffi.new("neap_counters")
    local function steps(n, derive)
        local v = (np.arange(n, { dtype = "f32" }) / n):wait()
        np.wait_all()
        core.C.neap_counters_get(core.ctx, counters)
        local launches, nodes = counters.launches, counters.nodes
        derive(function(u) return np.sin(u) * u:sum() end)(v):wait()
        core.C.neap_counters_get(core.ctx, counters)
        return { tonumber(counters.launches - launches), tonumber(counters.nodes - nodes) }
    end
    local function hessian_of_sum(g) return np.hessian(function(u) return g(u):sum() end) end
    for _, derive in ipairs { np.jacfwd, np.jacrev, hessian_of_sum } do
        check.equal(steps(100, derive), steps(3, derive))
    end
end)

check.test("errors", function()
    check.raises(function() np.jacobian(f, { mode = "backward" }) end, "mode")
    check.raises(function() np.jacobian(f, { argnums = 2 })(x) end, "argument 2 is missing")
    check.raises(function() np.jacobian(function(a) return a:gt(0) end)(x) end, "must return floats, got dtype bool")
    check.raises(function() np.jacfwd(function(a) return a, 1 end)(x) end, "has_aux=true")
    check.raises(function() np.jacrev(function() end)(x) end, "returned nothing")
    check.raises(function() np.hessian(f, { mode = "forward" }) end, "unknown option 'mode'")
    check.raises(function() np.jacrev(3) end, "argument 1")
end)

check.done()
