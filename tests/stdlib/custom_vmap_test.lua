--- custom_vmap_test.lua (sanitized with --long): np.custom_vmap: when the rule is asked, with what; what is refused;
-- nests of transforms, drawn at random, around a function whose rule takes another path to the same values.
local check = require "tests.lib.check"
local np = require "neap"
local seeds = require "tests.lib.seeds"

local function same(a, b, what) check.equal(a:totable(), b:totable(), what) end
local function close(a, b, what) check.close(a:totable(), b:totable(), 1e-5, what) end

local x, y = np.array { 0.5, 1, 2 }, np.array { 3, 0.25, -2 }

--- A sine whose batches are cosines, and a list of what its rule was asked with.
local function loud()
    local asked = {}
    local f = np.custom_vmap(function(a, b) return np.sin(a) * b end):def_vmap(function(n, batched, a, b)
        asked[#asked + 1] = ("%s %s %s"):format(n, batched[1], batched[2])
        return np.cos(a) * b, true
    end)
    return f, asked
end

local loud_values, plain_values = np.cos(x) * y, np.sin(x) * y

check.test("the rule is asked for batches alone, once for each combination of flags", function()
    local f, asked = loud()
    same(f(x, y), plain_values)
    same(np.jit(f)(x, y), plain_values)
    check.equal(#asked, 0)
    same(np.vmap(f)(x, y), loud_values)
    same(np.vmap(f, { in_axes = { 0, false } })(x, 2), np.cos(x) * 2)
    same(np.vmap(f, { in_axes = { false, 0 } })(0, y), y)
    check.equal(asked, { "3 true true", "3 true false", "3 false true" })
    same(np.vmap(function(a, b) return f(f(a, b), b) + f(a, 1) + f(1, 1) end)(x, y),
         np.cos(np.cos(x) * y) * y + np.cos(x) + math.sin(1))
end)

check.test("jit, programs, trees of arguments and results", function()
    local f = loud()
    same(np.jit(np.vmap(f))(x, y), loud_values)
    same(np.vmap(np.jit(f))(x, y), loud_values)
    same(np.jit(np.vmap(np.jit(f)))(x, y), loud_values)
    same(np.vmap(np.trace(f)(np.array(1), np.array(1)))(x, y), loud_values)
    local g = np.custom_vmap(function(t, k) return { t.a * k, n = "text" }, t.list[1] end)
    g:def_vmap(function(n, batched, t, k)
        check.equal(n, 3)
        check.equal(batched, { { a = true, list = { false } }, false })
        check.equal(k, 2)
        return { t.a + k, n = "text" }, t.list[1], { true }, false
    end)
    local p, q = np.vmap(function(a) return g({ a = a, list = { np.ones(2) } }, 2) end, { out_axes = { 0, false } })(x)
    same(p[1], x + 2)
    check.equal(p.n, "text")
    same(q, np.ones(2))
end)

check.test("nested batches ask the rule for the innermost, and batch what it does", function()
    local f, asked = loud()
    local a = x + y:reshape(3, 1)
    same(np.vmap(np.vmap(f))(a, a), np.cos(a) * a)
    same(np.vmap(np.vmap(f, { in_axes = { 0, false } }), { in_axes = { false, 0 } })(x, y), np.cos(x) * y:reshape(3, 1))
    check.equal(asked, { "3 true true", "3 true false" })
    local shapes = {}
    local inner = np.custom_vmap(function(v) return v + 1 end):def_vmap(function(n, _, v)
        shapes[#shapes + 1] = n
        return v + 2, true
    end)
    local outer = np.custom_vmap(function(v) return inner(v) end):def_vmap(function(_, _, v)
        return np.vmap(inner)(v) + inner(np.zeros {}) * 10, true
    end)
    same(np.vmap(outer)(x), x + 12)
    same(np.vmap(np.vmap(outer))(np.zeros { 2, 3 }), np.full({ 2, 3 }, 12))
    check.equal(shapes, { 3, 3 })
    local looped
    looped = np.custom_vmap(function(v) return v * 2 end):def_vmap(function(_, _, v) return np.map(looped, v), true end)
    same(np.vmap(np.vmap(looped))(a), a * 2)
end)

check.test("control flow: scan, fori_loop, while_loop, cond, checkpoint", function()
    local f = loud()
    local function turned(n)
        local c = x
        for _ = 1, n do c = np.cos(c) * x end
        return c
    end
    close(np.vmap(function(a) return (np.scan(function(c) return f(c, a), nil end, a, np.zeros(3))) end)(x), turned(3))
    close(np.vmap(function(a) return np.fori_loop(0, 2, function(_, c) return f(c, a) end, a) end)(x), turned(2))
    close(np.vmap(np.checkpoint(function(a) return f(a, a) end))(x), turned(1))
    local function chosen(a)
        return np.cond(a:gt(0.75), function(b) return f(b, b) end, function(b) return -b end, a)
    end
    close(np.vmap(chosen)(x), np.where(x:gt(0.75), turned(1), -x))
    local function counted(a)
        return np.while_loop(function(c) return c.k:less(a * 2) end,
                             function(c) return { k = c.k + 1, s = f(c.s, a) } end, { k = np.array(0.0), s = a }).s
    end
    local want = {}
    for k = 0, 2 do want[k + 1] = turned(math.ceil(x[k]:item() * 2))[k]:item() end
    close(np.jit(np.vmap(counted))(x), np.array(want))
end)

check.test("derivatives around a batch are those of the rule, inside of it those of the function", function()
    local f, asked = loud()
    local function total(a) return np.vmap(f)(a, a):sum() end
    close(np.grad(total)(x), np.cos(x) - np.sin(x) * x)
    close(np.jit(np.grad(total))(x), np.cos(x) - np.sin(x) * x)
    close(np.hessian(total)(x), np.diag(-2 * np.sin(x) - np.cos(x) * x))
    close(select(2, np.jvp(np.vmap(f), { x, x }, { np.ones(3), np.zeros(3) })), -np.sin(x) * x)
    check.equal(#asked, 4)
    close(np.vmap(np.grad(function(a) return f(a, a) end))(x), np.sin(x) + np.cos(x) * x)
    close(np.vmap(function(a) return (select(2, np.jvp(f, { a, a }, { np.array(1.0), np.array(0.0) }))) end)(x),
          np.cos(x) * x)
    check.equal(#asked, 4)
    local function constant(w) return np.vmap(function(a) return w * f(a, a) end)(x):sum() end
    close(np.grad(constant)(np.array(1.0)), (np.cos(x) * x):sum())
    close(np.vmap(np.grad(function(w, a) return w * f(a, 1) end))(x, x), np.cos(x))
end)

check.test("a rule for derivatives around one for batches, and inside of it", function()
    local f = np.custom_vmap(np.sin):def_vmap(function(_, _, a) return np.cos(a), true end)
    local g = np.custom_vjp(function(a) return f(a) end)
    g:defvjp(function(a) return f(a), a end, function(a, ct) return f(a) * ct end)
    close(np.vmap(np.grad(g))(x), np.cos(x))
    close(np.grad(function(a) return np.vmap(g)(a):sum() end)(x), np.cos(x))
    close(np.vmap(g)(x), np.cos(x))
    local inside = np.custom_vmap(function(a)
        return np.custom_vjp(np.sin):defvjp(function(b) return np.sin(b), {} end, function(_, ct) return ct * 10 end)(a)
    end):def_vmap(function(_, _, a) return np.cos(a), true end)
    close(np.vmap(np.grad(inside))(x), np.full(3, 10))
    close(np.vmap(inside)(x), np.cos(x))
end)

check.test("effects of the rule happen in its order, in place of those of the function", function()
    local told = {}
    local function tell(what) np.callback(function() told[#told + 1] = what end)() end
    local f = np.custom_vmap(function(a)
        tell "function"
        return a
    end)
    f:def_vmap(function(_, _, a)
        tell "first"
        tell "second"
        return a, true
    end)
    np.vmap(f)(x)
    np.wait_all()
    check.equal(told, { "first", "second" })
    told = {}
    local jitted = np.jit(np.vmap(function(a) return f(f(a)) end))
    jitted(x)
    jitted(x)
    np.wait_all()
    check.equal(table.concat(told, " "), ("first second "):rep(4):sub(1, -2))
    told = {}
    np.jit(f)(x)
    np.wait_all()
    check.equal(told, { "function" })
    check.raises(function() np.vmap(np.vmap(f))(np.ones { 2, 2 }) end, "ordered effect")
    check.raises(function() np.vmap(function(a) return a + f(np.ones(1)) end)(x) end, "ordered effect")
    local g = np.custom_vmap(function(a) return a end):def_vmap(function(_, _, a)
        tell "rule"
        return a, true
    end)
    local function chosen(a) return np.cond(a:gt(1), g, np.sin, a) end
    check.raises(function() np.vmap(chosen)(x) end, "custom_vmap_test.lua:%d+ is reached by some examples only")
end)

check.test("callbacks in functions and rules", function()
    local function answered(a)
        local like = { shape = a.shape, dtype = a.dtype }
        return np.callback(function(v) return v + 1 end, { result = like })(np.stop_gradient(a))
    end
    local f = np.custom_vmap(function(a) return a * answered(a) end)
    f:def_vmap(function(_, _, a) return a * answered(a) * 2, true end)
    close(np.vmap(f)(x), x * (x + 1) * 2)
    close(np.grad(function(a) return np.vmap(f)(a):sum() end)(x), (x + 1) * 2)
    close(np.jit(np.grad(f))(np.array(2.0)), np.array(3))
end)

check.test("programs in files hold the function alone, and batches in them the rule", function()
    local f = loud()
    local function through_file(program)
        local path = os.tmpname()
        program:save(path)
        local loaded = np.load_program(path)
        os.remove(path)
        return loaded
    end
    same(np.vmap(through_file(np.trace(f)(np.array(1), np.array(1))))(x, y), plain_values)
    same(through_file(np.trace(np.vmap(f))(x, y))(x, y), loud_values)
    local sized = np.trace(np.vmap(f), { sizes = { { "n" }, { "n" } } })(x, y)
    local a = np.arange(5, { dtype = "f32" })
    same(sized(a, a), np.cos(a) * a)
    same(through_file(sized)(a, a), np.cos(a) * a)
    local jitted = np.jit(np.vmap(f), { sizes = { { "n" }, { "n" } } })
    same(jitted(x, y), loud_values)
    same(jitted(a, a), np.cos(a) * a)
end)

check.test("what does not fit is refused with the line", function()
    local function ruled(rule)
        return function() np.vmap(np.custom_vmap(function(a) return a + 1 end):def_vmap(rule))(x) end
    end
    local function refused(rule, pattern) check.raises(ruled(rule), "custom_vmap_test.lua:%d+: .*" .. pattern) end
    refused(function(_, _, a) return a end, "the rule returned 1 values; expected the 1 of the function, and for each")
    refused(function(_, _, a) return a, 1 end, "result 1 of the rule: expected true or false .* got the number 1")
    refused(function(_, _, a) return a, { true } end, "expected true or false .* got a table")
    refused(function(_, _, a) return a, false end, "result 1 of the rule: expected dtype f32 and shape %(%), got f32")
    refused(function(_, _, a) return a:sum(), true end, "which is batched: expected dtype f32 and shape %(3,%)")
    refused(function(_, _, a) return a:gt(1), true end, "expected dtype f32 and shape %(3,%), got bool")
    refused(function(_, _, a) return { a }, true end, "expected an array, got a table")
    refused(function() error "oops" end, "oops")
    check.raises(function() np.vmap(np.custom_vmap(np.sin))(x) end, "no rule yet: call :def_vmap%(rule%)")
    check.raises(function() np.custom_vmap(2) end, "argument 1 %(f%)")
    check.raises(function() np.custom_vmap(np.sin):def_vmap(2) end, "def_vmap: argument 1")
    local pair = np.custom_vmap(function(a) return { a, b = a } end)
    local function paired(rule) return function() np.vmap(pair:def_vmap(rule))(x) end end
    check.raises(paired(function(_, _, a) return { a, b = a }, true end), "expected a table of booleans")
    check.raises(paired(function(_, _, a) return { a }, { true, b = true } end), "result 1.b .*expected an array")
    check.raises(paired(function(_, _, a) return { a, b = a, c = a }, { true, b = true } end), "result 1.c of the rule")
    check.raises(function()
        np.vmap(function(a)
            return np.custom_vmap(function(b) return a + b end):def_vmap(function(_, _, b) return b, true end)(a)
        end)(x)
    end, "called at .*custom_vmap_test.lua:%d+ reads an array that is batched from around it")
    local endless
    endless = np.custom_vmap(np.sin):def_vmap(function(_, _, a) return np.vmap(endless)(a), true end)
    check.raises(function() np.vmap(endless)(x) end, "inside each other")
end)

check.test("rules are let go of with their programs", function()
    local kept = setmetatable({}, { __mode = "v" })
    for k = 1, 60 do
        local f = np.custom_vmap(np.sin):def_vmap(function(_, _, a) return a + k, true end)
        same(np.vmap(f)(x), x + k)
        kept[k] = f.rule
        if k % 5 == 0 then collectgarbage() end
    end
    local n = 0
    for _ in pairs(kept) do n = n + 1 end
    check.ok(n <= 30, ("%d rules are held"):format(n))
end)

-- ---- Random nests ---------------------------------------------------------------------------------------------------

--- A smooth function of two arrays alike, by a rule of its own that takes the parts in another order: the same values,
--- but for rounding.
local function path(a, b) return np.sin(a) * np.cos(b) end
local function other_path()
    return np.custom_vmap(path):def_vmap(function(n, batched, a, b)
        if not batched[1] then a = np.broadcast_to(a, { n, unpack(a.shape) }) end
        local last = batched[2] and b or np.broadcast_to(b, { n, unpack(b.shape) })
        return np.cos(last) * np.cos(a - math.pi / 2), true
    end)
end

--- Functions of one array that wrap one of two; f is the one with or without a rule.
local wraps = {
    function(g, f) return function(a) return f(g(a), a) end end,
    function(g, f) return function(a) return f(a, g(a) * 0.5) end end,
    function(g) return np.jit(g) end,
    function(g) return np.checkpoint(g) end,
    function(g) return np.vmap(g) end,
    function(g, f) return np.vmap(function(a) return f(a, g(a)) end) end,
    function(g, f)
        return function(a)
            return (np.scan(function(c, t) return f(g(c) * 0.25, c) * t, nil end, a, np.array { 1, 0.5 }))
        end
    end,
    function(g, f)
        return function(a)
            return np.cond(a:sum():gt(0.3), function(b) return f(g(b), b) end, function(b) return g(b) * 2 end, a)
        end
    end,
    function(g) return np.grad(function(a) return (g(a) * a):sum() end) end,
    function(g) return function(a) return (select(2, np.jvp(g, { a }, { np.cos(a) }))) end end,
}

check.test("random nests agree with those around the function without a rule", function()
    for seed in seeds.each(40) do
        local draw, plan = seeds.generator(seed), {}
        for k = 1, draw(4) + 1 do plan[k] = draw(#wraps) end
        local function built(f)
            local g, vmaps, derivatives = function(a) return f(a, a) end, 0, 0
            for _, k in ipairs(plan) do
                if k == 5 or k == 6 then vmaps = vmaps + 1 end
                if k > 8 then derivatives = derivatives + 1 end
                if vmaps <= 3 and derivatives <= 2 then g = wraps[k](g, f) end
            end
            return np.vmap(g)
        end
        local a = (np.arange(81, { dtype = "f64" }) * 0.77 % 2 - 1):reshape(3, 3, 3, 3)
        check.close(built(other_path())(a):totable(), built(path)(a):totable(), 1e-9,
                    ("seed %d: %s"):format(seed, table.concat(plan, " ")))
    end
end)

check.done()
