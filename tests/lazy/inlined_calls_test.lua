--- inlined_calls_test.lua: calls of functions with rules in what is run: those of np.custom_jvp, np.custom_vjp,
-- np.custom_vmap and np.kernel with slopes are run as the ops of their function, fused with what stands around them,
-- and keep their rules for derivatives and batches. Chains of such functions are drawn at random, with loops, branches
-- and jitted functions around them: their values are those of the functions without rules, bit by bit, and their
-- gradients those that a walk back over the chain by the rules computes; inlined and not, they have the same bits.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local np = require "neap"

local function list(x) return x:totable() end
local function same(a, b, what) check.equal(list(a), list(b), what) end

--- How many steps the plan of a jitted function has for its last call: kernels, and calls.
local function steps(f)
    local text = tostring(np.explain(f))
    local kernels, calls = text:match "\n(%d+) kernels?:", nil
    if not kernels then kernels, calls = text:match "\n(%d+) kernels? and (%d+) calls?:" end
    check.ok(kernels, text)
    return { tonumber(kernels), tonumber(calls or 0) }
end

local function launches(f, ...)
    np.wait_all()
    local before = np.debug.counters().launches
    np.force(f(...))
    np.wait_all()
    return np.debug.counters().launches - before
end

local x = np.array { 0.5, -1, 2 }

local function softplus()
    local f = np.custom_jvp(function(a) return np.log1p(np.exp(a)) end)
    return f:defjvp(function(primals, tangents) return f(primals[1]), np.sigmoid(primals[1]) * tangents[1] end)
end

local function slope_of_ten()
    return np.custom_vjp(function(a) return np.sin(a) end):defvjp(
        function(a) return np.sin(a), np.cos(a) end, function(c, ct) return c * ct * 10 end)
end

-- ---- One kernel -----------------------------------------------------------------------------------------------------

check.test("what stands around a call is fused with its function", function()
    local soft = { args = { "x" }, real = "log1p(exp(-fabs(x))) + max(x, 0)" }
    local plain = np.kernel(soft)
    soft.grad = { "1 / (1 + exp(-x))" }
    local with_slopes = np.kernel(soft)
    local tenfold = slope_of_ten()
    local pairs_of = {
        { with_slopes, plain },
        { softplus(), function(a) return np.log1p(np.exp(a)) end },
        { tenfold, np.sin },
        { np.custom_vmap(np.sin):def_vmap(function(_, _, a) return np.cos(a), true end), np.sin },
    }
    for k, pair in ipairs(pairs_of) do
        local f = np.jit(function(a) return pair[1](a * 2) + 1 end)
        same(f(x), pair[2](x * 2) + 1, k)
        check.equal(steps(f), { 1, 0 }, k)
        check.equal(launches(f, x), 1, k)
    end
    local both = np.jit(function(a) return tenfold(with_slopes(a * 2)) * with_slopes(a) end)
    same(both(x), np.sin(plain(x * 2)) * plain(x))
    check.equal(steps(both), { 1, 0 })
end)

check.test("derivatives are one kernel too", function()
    for k, f in ipairs { softplus(), slope_of_ten(),
                         np.kernel { args = { "x" }, real = "x * x", grad = { "x * 3" } } } do
        local function g(a) return (f(a * 2) * 3):sum() end
        local jitted = np.jit(np.grad(g))
        same(jitted(x), np.grad(g)(x), k)
        same(np.grad(np.jit(g))(x), np.grad(g)(x), k)
        check.equal(steps(jitted), { 1, 0 }, k)
    end
end)

check.test("the program itself has the call, and its rule", function()
    local f = slope_of_ten()
    local program = np.trace(function(a) return f(a * 2):sum() end)(x)
    check.ok(tostring(program):find "call%[rule=1")
    check.close(program(x):item(), np.sin(x * 2):sum():item(), 1e-6)
    check.close(list(np.grad(program)(x)), list(np.cos(x * 2) * 20), 1e-5)
    check.equal(program:cost().kernels, 1)
    local path = os.tmpname()
    program:save(path)
    local loaded = np.load_program(path)
    same(loaded(x), program(x))
    same(np.grad(loaded)(x), np.grad(program)(x))
    os.remove(path)
end)

check.test("np.checkpoint and np.optimization_barrier stay calls, with calls inlined inside", function()
    local f = softplus()
    for _, border in ipairs { np.checkpoint(function(a) return f(a * 2) + 1 end),
                              function(a) return np.optimization_barrier(f(a * 2) + 1) end } do
        local jitted = np.jit(function(a) return border(a + 1) * 2 end)
        same(jitted(x), (np.log1p(np.exp((x + 1) * 2)) + 1) * 2)
        check.equal(steps(jitted)[2] > 0, true)
    end
    local checkpoint = np.checkpoint(function(a) return f(a * 2) + 1 end)
    check.equal(np.trace(checkpoint)(x):cost().kernels, 1)
end)

-- ---- Where a call may stand -----------------------------------------------------------------------------------------

check.test("in loops and branches", function()
    local f = softplus()
    local function turn(c) return f(c * 2) + 1 end
    local function plain(c) return np.log1p(np.exp(c * 2)) + 1 end
    local loops = {
        function(g, a) return np.fori_loop(0, 3, function(_, c) return g(c) end, a) end,
        function(g, a) return (np.scan(function(c) return g(c), nil end, a, nil, { length = 2 })) end,
        function(g, a)
            return np.while_loop(function(c) return g(c):sum():lt(1e3) end, function(c) return g(c * 10) end, a)
        end,
        function(g, a) return np.cond(a:sum():gt(0), g, function(c) return c end, a) end,
        function(g, a) return np.map(g, a) end,
    }
    for k, loop in ipairs(loops) do
        local function of(g) return function(a) return loop(g, a) end end
        local want = of(plain)(x)
        same(of(turn)(x), want, k)
        same(np.jit(of(turn))(x), want, k)
        local cost, want_cost = np.trace(of(turn))(x):cost(), np.trace(of(plain))(x):cost()
        check.equal({ cost.kernels, cost.written }, { want_cost.kernels, want_cost.written }, k)
        check.equal(cost.calls, want_cost.calls, k)
    end
end)

check.test("with several results, results that are arguments or constants, and such that nobody reads", function()
    local function both(a, b) return a * b, b, np.ones(3) * 2, { a - b } end
    local f = np.custom_jvp(both):defjvp(function(p, t)
        local product, second, third, difference = both(p[1], p[2])
        return product, second, third, difference, t[1] * p[2] * 5, nil, nil, { t[2] }
    end)
    local function g(call)
        return function(a)
            local product, second, third = call(a * 2, a + 1)
            return product + second * third, second, third
        end
    end
    local program = np.jit(g(f))
    for k, result in ipairs { program(x) } do same(result, (select(k, g(both)(x))), k) end
    check.equal(steps(program)[2], 0)
    local only = np.jit(function(a) return (f(np.ones(3), np.ones(3) * 3)) + a end)
    same(only(x), x + 3)
    check.equal(steps(only), { 1, 0 })
    local unread = np.jit(function(a) return a, f(a, a) and nil end)
    same(unread(x), x)
    local back = np.jit(np.grad(function(a) return (g(f)(a)):sum() end))
    check.close(list(back(x)), list((x + 1) * 10), 1e-5)
end)

check.test("with numbers, which take the dtypes that they meet", function()
    local f = np.custom_jvp(function(a, n) return a * n end)
    f:defjvp(function(p, t) return f(p[1], p[2]), t[1] * p[2] end)
    for _, dtype in ipairs { "f16", "f32", "f64", "i32" } do
        local a = np.array({ 1, 2, 3 }, { dtype = dtype })
        for _, n in ipairs { 2, dtype == "i32" and 4 or 1.5 } do
            for _, g in ipairs { np.jit(function(v, m) return f(v, m) + m end),
                                 np.jit(function(v, m) return f(np.jit(f)(v, 1), m) + m end) } do
                local result = g(a, n)
                check.equal(result.dtype, a.dtype)
                same(result, a * n + n, dtype)
            end
        end
    end
    local weak = np.custom_jvp(function(mask) return np.where(mask, 1, 0) end)
    weak:defjvp(function(p) return weak(p[1]), nil end)
    local half = np.array({ 0.5, 1, 2 }, { dtype = "f64" })
    local function g(a) return weak(a:gt(0.7)) * a end
    local traced = np.trace(g)(half)
    check.equal(np.jit(g)(half).dtype, traced(half).dtype)
    same(np.jit(g)(half), half * half:gt(0.7))
end)

check.test("effects keep their order, and happen once", function()
    local told = {}
    local function tell(text) return np.callback(function(v) told[#told + 1] = text .. v:item() end) end
    local f = np.custom_jvp(function(a)
        tell "f" (a)
        return np.callback(function(v) return v * 2 end, { result = { shape = {}, dtype = "f32" } })(a)
    end)
    f:defjvp(function(p, t)
        tell "rule" (p[1])
        return p[1] * 2, t[1] * 7
    end)
    local function g(a)
        tell "before" (a)
        local b = f(a)
        tell "between" (b)
        local c = f(b)
        tell "behind" (c)
        return c
    end
    local a = np.array(1)
    local jitted = np.jit(g)
    for _ = 1, 2 do
        told = {}
        check.equal(jitted(a):item(), 4)
        np.effects_barrier()
        check.equal(told, { "before1", "f1", "between2", "f2", "behind4" })
    end
    told = {}
    check.equal(np.jit(np.grad(g))(a):item(), 49)
    np.effects_barrier()
    check.equal(told, { "before1", "rule1", "between2", "rule2", "behind4" })
    told = {}
    check.equal(np.jit(function(v) return (np.scan(function(c) return f(c), nil end, v, nil, { length = 2 })) end)(a)
                :item(), 4)
    np.effects_barrier()
    check.equal(told, { "f1", "f2" })
end)

check.test("an error names the line in the function", function()
    local line
    local f = np.custom_jvp(function(a)
        line = debug.getinfo(1, "l").currentline + 1
        return np.debug.fail(a)
    end)
    f:defjvp(function(p, t) return f(p[1]), t[1] end)
    local jitted = np.jit(function(a) return f(a * 2) + 1 end)
    local _, problem = pcall(function() return list(jitted(x)) end)
    check.ok(tostring(problem):find("inlined_calls_test.lua:" .. line, 1, true), tostring(problem))
end)

check.test("donated arguments, kept ones, slices, and arguments that are there but as views", function()
    local f = softplus()
    local function g(a) return f(a) + 1 end
    local give = np.jit(g, { donate = 1 })
    local big = np.ones(1000)
    np.wait_all()
    same(give(big), np.jit(g)(np.ones(1000)))
    check.raises(function() return big:totable() end, "donated")
    check.ok(tostring(np.explain(give)):find "used up", tostring(np.explain(give)))
    local wide = np.broadcast_to(np.arange(600, { dtype = "f32" }), { 600, 600 })
    local sum = np.jit(function(a) return g(a):sum() end)
    check.close(sum(wide):item(), sum(wide + 0):item(), 1e-6)
    same(np.jit(g)(np.arange(10, { dtype = "f32" })[{ { 2, 5 } }]), g(np.array { 2, 3, 4 }))
end)

check.test("on a mesh", function()
    local f = slope_of_ten()
    local mesh = np.mesh({ 1 }, { "i" })
    local over = np.shard_map(function(a) return np.psum(f(a * 2), "i") end,
                              { mesh = mesh, in_specs = { np.P "i" }, out_specs = np.P() })
    local jitted = np.jit(function(a) return over(a) + 1 end)
    same(jitted(x), np.sin(x * 2) + 1)
    check.equal(tostring(np.explain(jitted)):find "call%[", nil)
    check.close(list(np.jit(np.grad(function(a) return over(a):sum() end))(x)), list(np.cos(x * 2) * 20), 1e-5)
end)

-- ---- Drawn chains ---------------------------------------------------------------------------------------------------

-- A piece of a chain of arrays of one shape: f, what it is without rule (plain), and its cotangent by the rule:
-- back(x, y, ct). Rules tell another slope than that of the function, so that whoever misses one is found.
local KINDS = {
    function(draw) -- no rule
        local a, b = draw(3) / 2, draw(5) - 3
        local function f(v) return v * a + b end
        return f, f, function(_, _, ct) return ct * a end
    end,
    function() return np.tanh, np.tanh, function(_, y, ct) return ct * (1 - y * y) end end,
    function() -- what reads all of an array
        local function f(v) return v - v:mean { axis = -1, keepdims = true } end
        return f, f, function(_, _, ct) return ct - ct:mean { axis = -1, keepdims = true } end
    end,
    function(draw)
        local n = draw(3)
        local function plain(v) return np.log1p(np.exp(-np.abs(v))) * n end
        local f = np.custom_jvp(plain)
        f:defjvp(function(p, t) return f(p[1]), np.sigmoid(p[1]) * t[1] * n end)
        return f, plain, function(v, _, ct) return np.sigmoid(v) * ct * n end
    end,
    function(draw)
        local n = draw(4)
        local function plain(v) return np.clip(v, -n, n), np.sin(v) end
        local f = np.custom_vjp(plain)
        f:defvjp(function(v)
            local clipped, sine = plain(v)
            return clipped, sine, { np.cos(v), clipped }
        end, function(saved, one, two) return np.clip(one, -1, 1) * n + two * saved[1] + saved[2] * 0.25 end)
        local function sum(g)
            return function(v)
                local clipped, sine = g(v)
                return clipped + sine
            end
        end
        return sum(f), sum(plain), function(v, _, ct)
            return np.clip(ct, -1, 1) * n + ct * np.cos(v) + np.clip(v, -n, n) * 0.25
        end
    end,
    function(draw)
        local how = { args = { "a", "b" }, real = "t = a * b; t > 1 ? t : t * t - 1" }
        local plain = np.kernel(how)
        how.grad = { "a < 0 ? b : y + 2", "a" }
        local f, w = np.kernel(how), draw(5) / 4
        return function(v) return f(v, w) end, function(v) return plain(v, w) end,
               function(v, y, ct) return np.where(v:lt(0), w, y + 2) * ct end
    end,
    function() -- a rule that calls another function with a rule, and so does the function
        local inner = slope_of_ten()
        local f = np.custom_vjp(function(v) return inner(v) * v end)
        f:defvjp(function(v) return inner(v) * v, v end, function(v, ct) return inner(v) * ct end)
        return f, function(v) return np.sin(v) * v end, function(v, _, ct) return np.sin(v) * ct end
    end,
}

--- What the pieces may stand in: record(f), and how often f runs there.
local NESTS = {
    { function(f) return f end, 1 }, { function(f) return f end, 1 }, { function(f) return f end, 1 },
    { np.jit, 1 },
    { np.checkpoint, 1 },
    { function(f) return function(v) return np.fori_loop(0, 2, function(_, c) return f(c) end, v) end end, 2 },
    { function(f)
        return function(v) return (np.scan(function(c) return f(c), nil end, v, nil, { length = 2 })) end
    end, 2 },
    { function(f) return function(v) return np.cond(v:sum():lt(1e9), f, function(c) return c * 3 end, v) end end, 1 },
}

local function chain_of(seed)
    local draw = seeds.generator(seed)
    local pieces = {}
    for k = 1, 2 + draw(4) do
        local f, plain, back = KINDS[draw(#KINDS)](draw)
        local nest = NESTS[draw(#NESTS)]
        pieces[k] = { f = nest[1](f), plain = plain, back = back, times = nest[2] }
    end
    local dtype = ({ "f32", "f64" })[draw(2)]
    local key = np.random.key(seed)
    local shape = { draw(3), 2 + draw(6) }
    return pieces, np.random.normal(key, shape, { dtype = dtype }), np.random.normal(np.random.fold_in(key, 1), shape,
                                                                                    { dtype = dtype })
end

--- The chain without rules, and its gradient by the rules.
local function by_hand(pieces, start, weights)
    local values, v = {}, start
    for _, piece in ipairs(pieces) do
        for _ = 1, piece.times do
            local y = piece.plain(v)
            values[#values + 1] = { piece.back, v, y }
            v = y
        end
    end
    local ct = weights
    for k = #values, 1, -1 do ct = values[k][1](values[k][2], values[k][3], ct) end
    return v, ct
end

local COUNT = ({ release = 40 })[os.getenv "NEAP_TEST_BUILD" or "release"] or 6

check.test("drawn at random: values and gradients, inlined and not", function()
    for seed in seeds.each(COUNT) do
        local pieces, start, weights = chain_of(seed)
        local function f(v)
            for _, piece in ipairs(pieces) do v = piece.f(v) end
            return v
        end
        local function loss(v) return (f(v) * weights):sum() end
        local want, gradient = by_hand(pieces, start, weights)
        local what = "seed " .. seed
        same(np.jit(f)(start), want, what)
        same(f(start), want, what)
        local opaque = np.grad(loss)(start) -- each call is a step, since the derivative is open around it
        same(np.jit(np.grad(loss))(start), opaque, what)
        same(np.grad(np.jit(loss))(start), opaque, what)
        same(np.vmap(np.jit(np.grad(loss)))(np.stack { start, start })[1], opaque, what)
        check.close(list(opaque), list(gradient), 1e-3, what)
    end
end)

check.done()
