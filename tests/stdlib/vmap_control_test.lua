--- vmap_control_test.lua (under tsan with --long): control flow under np.vmap, against a Lua loop over the examples,
-- bit for bit: every choice of what is batched, derivatives, nesting, effects, and the number of steps.
local check = require "tests.lib.check"
local np = require "neap"

local N = 3

local function values(tree)
    return np.tree.map(function(leaf) return np.is_array(leaf) and leaf:totable() or leaf end, tree)
end

local function take(argument, axis, e)
    return axis == 0 and argument[e] or argument
end

--- np.vmap(f) on arguments that are batched where in_axes is 0 is the stacked f of each example.
local function compare(f, in_axes, arguments, what)
    local given = { np.vmap(f, { in_axes = in_axes })(unpack(arguments)) }
    for e = 0, N - 1 do
        local one = {}
        for k = 1, #arguments do one[k] = take(arguments[k], in_axes[k], e) end
        local expected = { f(unpack(one)) }
        check.equal(#given, #expected, what)
        for k = 1, #expected do
            check.equal(given[k][e]:totable(), expected[k]:totable(), ("%s, result %d, example %d"):format(what, k, e))
        end
    end
end

--- The same for every choice of batched arguments. `make` gives argument k for one example.
local function compare_choices(f, n, make)
    for bits = 1, 2 ^ n - 1 do
        local in_axes, arguments, what = {}, {}, {}
        for k = 1, n do
            in_axes[k] = math.floor(bits / 2 ^ (k - 1)) % 2 == 1 and 0 or false
            if in_axes[k] then
                local list = {}
                for e = 1, N do list[e] = make(k, e) end
                arguments[k] = np.stack(list)
            else
                arguments[k] = make(k, 2)
            end
            what[k] = tostring(in_axes[k])
        end
        compare(f, in_axes, arguments, "batched " .. table.concat(what, " "))
    end
end

local function counts(f, n)
    local given = np.stack { np.ones { 4 }, np.ones { 4 } }
    given = np.broadcast_to(given[0], { n, 4 }) * 1
    np.force(given)
    np.wait_all()
    local before = np.debug.counters()
    np.force(np.vmap(f)(given))
    np.wait_all()
    local after = np.debug.counters()
    return { after.nodes - before.nodes, after.launches - before.launches }
end

-- ---- scan -----------------------------------------------------------------------------------------------------------

local function accumulate(init, xs, w)
    local last, all = np.scan(function(carry, x)
        local total = carry * w + x
        return total, np.tanh(total):sum()
    end, init, xs)
    return last, all
end

local function scan_argument(k, e)
    if k == 1 then return np.array { 1, 2 } * e end
    if k == 2 then return np.arange(10, { dtype = "f32" }):reshape(5, 2) / 10 * e end
    return np.array { 0.5, -0.25 } * e
end

check.test("scan, whatever is batched", function()
    compare_choices(accumulate, 3, scan_argument)
end)

check.test("scan: a carry that the body makes batched", function()
    compare(function(a)
        local pair, ys = np.scan(function(c, x) return { c[2], c[1] + a * x }, c[1] end, { np.array(0), np.array(1) },
                                 np.arange(4, { dtype = "f32" }))
        return pair[1], pair[2], ys
    end, { 0 }, { np.array { 1, 2, 3 } }, "two carries")
end)

check.test("scan: reverse, unrolled, without xs", function()
    compare(function(a)
        local c, ys = np.scan(function(c, x) return c + x, c * x end, a, np.arange(5, { dtype = "f32" }),
                              { reverse = true, unroll = 2 })
        return c, ys
    end, { 0 }, { np.array { 1, 2, 3 } }, "reverse")
    compare(function(a) return np.fori_loop(0, 4, function(k, c) return c * a + k end, np.array(1)) end, { 0 },
            { np.array { 1, 2, 3 } }, "fori_loop")
end)

check.test("derivatives of batched scans", function()
    local function loss(init, xs, w)
        local last, all = accumulate(init, xs, w)
        return (last * last):sum() + all:sum()
    end
    local function each(init, xs, w) return np.grad(loss, { argnums = { 1, 2, 3 } })(init, xs, w) end
    local init, xs, w = scan_argument(1, 1), scan_argument(2, 2), scan_argument(3, 1)
    local inits = np.stack { init, init * 2, init - 1 }
    local gi, gx, gw = np.vmap(each, { in_axes = { 0, false, false } })(inits, xs, w)
    local total = np.grad(function(v) return np.vmap(function(i) return loss(i, xs, v) end)(inits):sum() end)(w)
    for e = 0, N - 1 do
        local a, b, c = each(inits[e], xs, w)
        check.close(values { gi[e], gx[e], gw[e] }, values { a, b, c }, 1e-5)
    end
    check.close(values(gw:sum { axis = 0 }), values(total), 1e-4)
end)

-- ---- cond -----------------------------------------------------------------------------------------------------------

local function choose(p, a, b)
    return np.cond(p:gt(0), function(x, y) return x * 2, y end, function(x, y) return np.sin(x), x + y:sum() end, a, b)
end

check.test("cond, whatever is batched", function()
    compare_choices(choose, 3, function(k, e)
        if k == 1 then return np.array(e - 2 + 0.5) end
        return np.array { 1, 2 } * e + k
    end)
end)

check.test("switch takes the branch of each example, and clamps", function()
    local function f(index, a)
        return np.switch(index, { function(x) return x end, function(x) return x * x end,
                                  function() return a - 1 end }, a)
    end
    compare(f, { 0, 0 }, { np.array({ -4, 1, 9 }, { dtype = "i32" }), np.array { 3, 4, 5 } }, "index")
    compare(f, { false, 0 }, { np.array(1, { dtype = "i32" }), np.array { 3, 4, 5 } }, "shared index")
end)

check.test("gradients of batched branches", function()
    local function loss(p, a) return (choose(p, a, a)):sum() end
    local p, a = np.array { -1, 1, 2 }, np.arange(6, { dtype = "f32" }):reshape(3, 2)
    local g = np.vmap(np.grad(loss, { argnums = 2 }))(p, a)
    for e = 0, N - 1 do check.close(values(g[e]), values(np.grad(loss, { argnums = 2 })(p[e], a[e]))) end
end)

-- ---- while_loop -----------------------------------------------------------------------------------------------------

local function grow(x, limit, factor)
    local c = np.while_loop(function(c) return c.x:sum():lt(limit) end,
                            function(c) return { x = c.x * factor, n = c.n + 1 } end, { x = x, n = np.array(0) })
    return c.x, c.n
end

check.test("while_loop, whatever is batched", function()
    compare_choices(grow, 3, function(k, e)
        if k == 1 then return np.array { 1, 1.5 } * e end
        return k == 2 and np.array(20 * e) or np.array(1 + 0.5 * e)
    end)
end)

check.test("while_loop: examples that are done stay as they are", function()
    local n = np.vmap(function(x)
        return np.while_loop(function(c) return c:gt(1) end, function(c) return c / 2 end, x)
    end)(np.array { 0.25, 8, 3 })
    check.equal(values(n), { 0.25, 1, 0.75 })
end)

-- ---- Calls ----------------------------------------------------------------------------------------------------------

local function plain(a, w)
    local y = np.tanh(a * w)
    return y * y, (a + w):sum()
end

local own_vjp = np.custom_vjp(plain)
own_vjp:defvjp(function(a, w)
    local y = np.tanh(a * w)
    return y * y, (a + w):sum(), { y, w, a }
end, function(kept, first, second)
    local y, w, a = kept[1], kept[2], kept[3]
    local inner = first * y * 2 * (1 - y * y)
    return inner * w + second, inner * a + second
end)

local own_jvp = np.custom_jvp(plain)
own_jvp:defjvp(function(primals, tangents)
    local a, w, da, dw = primals[1], primals[2], tangents[1], tangents[2]
    local y = np.tanh(a * w)
    local dy = (da * w + dw * a) * (1 - y * y)
    return y * y, (a + w):sum(), 2 * y * dy, (da + dw):sum()
end)

local CALLS = { checkpoint = np.checkpoint(plain), custom_vjp = own_vjp, custom_jvp = own_jvp }

for name, f in pairs(CALLS) do
    check.test(name .. " keeps its derivatives under vmap", function()
        local as, ws = np.arange(6, { dtype = "f32" }):reshape(3, 2) / 5, np.arange(1, 7):reshape(3, 2) / 4
        local function loss(a, w)
            local y, t = f(a, w)
            return y:sum() + t * t
        end
        local each = np.grad(loss, { argnums = { 1, 2 } })
        for _, in_axes in ipairs { { 0, 0 }, { 0, false }, { false, 0 } } do
            local a, w = in_axes[1] and as or as[1], in_axes[2] and ws or ws[1]
            local ga, gw = np.vmap(each, { in_axes = in_axes })(a, w)
            for e = 0, N - 1 do
                local one, other = each(take(a, in_axes[1], e), take(w, in_axes[2], e))
                check.close(values { ga[e], gw[e] }, values { one, other }, 1e-6, "of each example")
            end
            local ta, tw = np.grad(function(b, v) return np.vmap(loss, { in_axes = in_axes })(b, v):sum() end,
                                   { argnums = { 1, 2 } })(a, w)
            check.close(values { ta, tw }, values { in_axes[1] and ga or ga:sum { axis = 0 },
                                                    in_axes[2] and gw or gw:sum { axis = 0 } }, 1e-5, "of all")
        end
        check.equal(values { np.jit(np.vmap(each))(as, ws) }, values { np.vmap(each)(as, ws) }, "inside jit")
    end)
end

check.test("the rule of a function is what a batch of it is differentiated by", function()
    local f = np.custom_vjp(function(a) return a * 2 end)
    f:defvjp(function(a) return a * 2, a end, function(_, ct) return ct * 100 end)
    local g = np.grad(function(a) return np.vmap(f)(a):sum() end)(np.ones { 3 })
    check.equal(values(g), { 100, 100, 100 })
    local h = np.custom_jvp(function(a) return a * 2 end)
    h:defjvp(function(p, t) return p[1] * 2, t[1] * 50 end)
    check.equal(values(np.grad(function(a) return np.vmap(h)(a):sum() end)(np.ones { 3 })), { 50, 50, 50 })
    check.equal(values(select(2, np.jvp(np.vmap(h), { np.ones { 3 } }, { np.ones { 3 } }))), { 50, 50, 50 })
end)

-- ---- Composition ----------------------------------------------------------------------------------------------------

check.test("nested: batches of batches, loops in loops and branches", function()
    local function f(a)
        return np.fori_loop(0, 3, function(k, c)
            return np.cond(c:sum():gt(4), function(x) return x - k end, function(x)
                return np.while_loop(function(y) return y:sum():lt(5) end, function(y) return y * 2 end, x)
            end, c)
        end, a)
    end
    local given = np.arange(12, { dtype = "f32" }):reshape(3, 2, 2) / 3 + 1
    local both = np.vmap(np.vmap(f))(given)
    for i = 0, 2 do
        for j = 0, 1 do check.equal(values(both[i][j]), values(f(given[i][j]))) end
    end
    check.equal(values(np.jit(np.vmap(np.vmap(f)))(given)), values(both))
    check.equal(values(np.vmap(np.jit(np.vmap(f)))(given)), values(both))
end)

check.test("named axes inside control flow", function()
    local f = np.vmap(function(a)
        return np.scan(function(c, x) return np.psum(c * x, "i") / 3, np.axis_index "i" end, a,
                       np.arange(3, { dtype = "f32" }))
    end, { axis_name = "i" })
    local c, index = f(np.array { 1, 2, 3 })
    check.equal(values(c), { 0, 0, 0 })
    check.equal(values(index), { { 0, 0, 0 }, { 1, 1, 1 }, { 2, 2, 2 } })
end)

check.test("as many steps for two examples as for a thousand", function()
    local fs = {
        scan = function(a) return (np.scan(function(c, x) return c * x, c end, a, np.ones { 5, 4 })) end,
        cond = function(a) return np.cond(a[0]:gt(0), function(x) return x * 2 end, function(x) return x end, a) end,
        while_loop = function(a)
            return np.while_loop(function(c) return c:sum():lt(9) end, function(c) return c * 2 end, a)
        end,
        gradient = np.grad(function(a)
            return np.scan(function(c, x) return c * x, c end, a, np.ones { 5, 4 }):sum()
        end),
    }
    for name, f in pairs(fs) do check.equal(counts(f, 1000), counts(f, 2), name) end
end)

-- ---- Effects --------------------------------------------------------------------------------------------------------

check.test("effects in control flow: ordered ones are refused, unordered ones happen for each example", function()
    local xs = np.array { 1, 2, 3 }
    check.raises(function()
        np.vmap(function(a) return np.fori_loop(0, 2, function(_, c)
            print(c)
            return c
        end, a) end)(xs)
    end, "is an ordered effect")
    local seen = {}
    local see = np.callback(function(v) seen[#seen + 1] = v:item() end, { ordered = false })
    np.vmap(function(a) return np.fori_loop(0, 2, function(_, c)
        see(c)
        return c + 10
    end, a) end)(xs)
    np.effects_barrier()
    check.equal(seen, { 1, 2, 3, 11, 12, 13 })
end)

--- The lines of a text, sorted: unordered effects come in any order.
local function sorted(text)
    local lines = {}
    for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
    table.sort(lines)
    return table.concat(lines, "\n")
end

--- Runs a script that prints, with some examples to print.
local function printed(text, expected, ...)
    local output = require("tests.lib.process").output([[
        local xs = np.array { 1, 2, 3, 4 }
        local function same(v) return v end
        local function show(...) np.effects_barrier() print(...) end
    ]] .. text)
    check.equal(sorted(output), sorted(expected), ...)
end

check.test("prints in a branch: of the examples that take it", function()
    for _, how in ipairs { "np.vmap(f)", "np.jit(np.vmap(f))", "np.vmap(np.jit(f))" } do
        printed(([[
            local function f(x)
                return np.cond(x:gt(2), function(v) np.debug.print("yes {}", v) return v * 10 end,
                               function(v) np.debug.print("no {} of {}", v, x) np.debug.print("either") return v end,
                               x)
            end
            show(HOW(xs))
        ]]):gsub("HOW", how), "no 1.0 of 1.0\nno 2.0 of 2.0\neither\neither\nyes 3.0\nyes 4.0\n[ 1.  2. 30. 40.]\n",
                how)
    end
end)

check.test("prints in a loop: of the examples that still run", function()
    for _, how in ipairs { "np.vmap(f)", "np.jit(np.vmap(f))", "np.vmap(np.jit(f))" } do
        printed(([[
            local function f(x)
                return np.while_loop(function(c) return c:lt(3) end,
                                     function(c) np.debug.print("turn {}", c) return c + 1 end, x)
            end
            show(HOW(xs))
        ]]):gsub("HOW", how), "turn 1.0\nturn 2.0\nturn 2.0\n[3. 3. 3. 4.]\n", how)
    end
end)

check.test("prints in branches and loops inside each other", function()
    printed([[
        show(np.vmap(function(x) return np.cond(x:gt(3), function(v)
            return np.fori_loop(0, 2, function(i, c) np.debug.print("turn {}", i) return c + 1 end, np.array(0.0)) + v
        end, same, x) end)(xs))
        show(np.vmap(function(x) return np.while_loop(function(c) return c:lt(4) end, function(c)
            return np.cond(c:gt(1), function(v) np.debug.print("big {}", v) return v + 1 end,
                           function(v) np.debug.print("small {} of {}", v, x) return v + 1 end, c)
        end, x) end)(xs))
        show(np.vmap(function(x) return np.cond(x:gt(2), np.jit(function(v)
            return (np.scan(function(c, e) np.debug.print("{} {}", c, e) return c + e end, v, np.array { 1, 2 }))
        end), same, x) end)(xs))
    ]], "turn 0\nturn 1\n[1. 2. 3. 6.]\nsmall 1.0 of 1.0\nbig 2.0\nbig 3.0\nbig 2.0\nbig 3.0\nbig 3.0\n[4. 4. 4. 4.]\n"
        .. "3.0 1.0\n4.0 1.0\n4.0 2.0\n5.0 2.0\n[1. 2. 6. 7.]\n")
end)

check.test("prints of batches of batches, of further branches, of other axes, of none", function()
    printed([[
        local function yes(x)
            return np.cond(x:sum():gt(2), function(v) np.debug.print("yes {} {:.1f}", v, v:sum()) return v end, same, x)
        end
        show(np.vmap(np.vmap(yes))(xs:reshape(2, 2)))
        show(np.vmap(yes, { in_axes = 1, out_axes = 1 })(xs:reshape(2, 2)))
        show(np.vmap(yes)(xs "0:0"))
        local function say(k) return function() np.debug.print("{}", k) return k end end
        show(np.vmap(function(i) return np.switch(i, { say(0), say(1), say(2) }) end)(
            np.array({ -1, 0, 1, 2, 3 }, { dtype = "i32" })))
    ]], "yes 3.0 3.0\nyes 4.0 4.0\n[[1. 2.]\n [3. 4.]]\nyes [1. 3.] 4.0\nyes [2. 4.] 6.0\n[[1. 2.]\n [3. 4.]]\n[]\n"
        .. "0\n0\n0\n1\n2\n[0. 0. 0. 1. 2.]\n")
end)

check.test("callbacks in a branch: called for the examples that take it", function()
    printed([[
        local host = np.callback(function(v) io.write("host ", tostring(v), "\n") return v * 100 end,
                                 { ordered = false, result = { shape = {}, dtype = "f32" } })
        local see = np.callback(function(t) io.write(t.name, " ", tostring(t.x), "\n") end, { ordered = false })
        local function f(x)
            return np.cond(x:gt(2), function(v) see { name = "seen", x = v } return host(v) + 1 end, same, x)
        end
        show(np.vmap(f)(xs))
        show(np.jit(np.vmap(f))(xs))
    ]], ("seen 3.0\nseen 4.0\nhost 3.0\nhost 4.0\n[  1.   2. 301. 401.]\n"):rep(2))
end)

check.test("derivatives of branches and loops with prints", function()
    printed([[
        show(np.grad(function(a) return np.vmap(function(x) return np.cond(x:gt(2), function(v)
            np.debug.print("{}", v)
            return v * v
        end, same, x) end)(a):sum() end)(xs))
        show(np.jvp(function(a) return np.vmap(function(x) return np.while_loop(function(c) return c:lt(4) end,
            function(c) np.debug.print("{}", c) return c * 2 end, x) end)(a) end, { xs }, { np.ones(4) }))
    ]], "3.0\n4.0\n[1. 1. 6. 8.]\n1.0\n2.0\n3.0\n2.0\n[4. 4. 6. 4.]\t[4. 2. 2. 1.]\n")
end)

check.test("effects of some examples that have no place among them are refused", function()
    local xs = np.array { 1, 2, 3 }
    check.raises(function()
        np.vmap(function(x) return np.cond(x:gt(1), function(v) print(v) return v end, function(v) return v end,
                                                  x) end)(xs)
    end, "vmap_control_test.lua:%d+: np.vmap: the cond at .-vmap_control_test.lua:%d+ is an ordered effect")
    check.raises(function()
        np.vmap(function(x) return np.while_loop(function(c)
            np.debug.print("{}", c)
            return c:lt(5)
        end, function(c) return c + 1 end, x) end)(xs)
    end, "the while_loop at .- depends on the example and has effects in its condition")
end)

check.done()
