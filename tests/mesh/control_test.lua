--- control_test.lua: loops, branches and calls on arrays that lie on a mesh, eager and jitted, with and without
-- collectives in their functions, and their derivatives. What they give is compared with plain Lua on the whole
-- arrays, or on the slices of each device. Runs itself again with four devices.
local check = require "tests.lib.check"
local np = require "neap"
require "tests.lib.devices"(4, "tests/mesh/control_test.lua")

local P = np.P
local mesh = np.mesh({ 4 }, { "i" })
local x = np.arange(8, { dtype = "f32" })

local function over(f, ins, out)
    return np.shard_map(f, { mesh = mesh, in_specs = ins, out_specs = out })
end

local function same(a, b) check.equal(a:totable(), b:totable()) end

--- f(x) and np.jit(f)(x) are `want`.
local function both(f, want, ...)
    same(f(...), want)
    same(np.jit(f)(...), want)
end

--- g of each device's slice of x, joined.
local function slices(g)
    local parts = {}
    for k = 0, 3 do parts[k + 1] = g(x[{ { 2 * k, 2 * k + 2 } }], k) end
    return np.concatenate(parts)
end

check.test("a scan without collectives runs for each device", function()
    local function turn(v) return function(c, s) return c * 0.5 + v * s, c:sum() end end
    local steps = np.array { 1, 2, 3 }
    local function body(v) return (np.scan(turn(v), np.zeros { 2 }, steps)) end
    both(over(body, { P "i" }, P "i"), slices(body), x)
    local function sums(v) return (select(2, np.scan(turn(v), np.zeros { 2 }, steps))) end
    both(over(sums, { P "i" }, P "i"), slices(sums), x)
end)

check.test("np.associative_scan and np.map in a body, alone and with what the devices before have", function()
    local function scan(v) return np.associative_scan(np.add, v) end
    both(over(scan, { P "i" }, P "i"), slices(scan), x)
    local function whole(v) -- the scan of all: each device adds the totals of those before it
        local own = scan(v)
        local totals = np.all_gather(own[1], "i")
        return own + np.where(np.arange(4):lt(np.axis_index "i"), totals, 0):sum()
    end
    both(over(whole, { P "i" }, P "i"), np.cumsum(x), x)
    same(np.grad(function(v) return (over(whole, { P "i" }, P "i")(v) * x):sum() end)(x),
         np.flip(np.cumsum(np.flip(x))))
    for _, size in ipairs { false, 1, 3 } do
        local function f(v) return np.map(function(a) return a * a end, v, { batch_size = size or nil }) end
        both(over(f, { P "i" }, P "i"), x * x, x)
    end
    local function with_psum(v) return np.map(function(a) return a + np.psum(a, "i") end, v) end
    both(over(with_psum, { P "i" }, P "i"), x + np.tile(x:reshape(4, 2):sum { axis = 0 }, { 4 }), x)
end)

check.test("a carry that comes to differ between devices begins as one that does not", function()
    local body = function(v) return np.fori_loop(0, 3, function(_, c) return c + v end, np.zeros { 2 }) end
    both(over(body, { P "i" }, P "i"), x * 3, x)
end)

check.test("a scan with collectives runs for all devices together", function()
    local want, total = {}, x:reshape(4, 2):sum { axis = 0 }
    for k = 0, 3 do want[k + 1] = x[{ { 2 * k, 2 * k + 2 } }] + total * 3 end
    both(over(function(v)
        return np.fori_loop(0, 3, function(_, c) return c + np.psum(v, "i") end, v)
    end, { P "i" }, P "i"), np.concatenate(want), x)
end)

check.test("blocks go around a ring", function()
    local ring = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 0 } }
    both(over(function(v)
        return np.fori_loop(0, 5, function(k, c) return np.ppermute(c, "i", ring) + k end, v)
    end, { P "i" }, P "i"), np.roll(x, 2) + 10, x)
end)

check.test("a branch is each device's own choice", function()
    local function body(place, v)
        return np.cond(place:ge(2), function(a) return a * 10 end, function(a) return a - 1 end, v)
    end
    both(over(function(v) return body(np.axis_index "i", v) end, { P "i" }, P "i"),
         slices(function(v, k) return k >= 2 and v * 10 or v - 1 end), x)
    both(over(function()
        return np.switch(np.axis_index "i" + 1, {
            function() return np.zeros { 1 } end, function() return np.ones { 1 } end,
            function() return np.full({ 1 }, 7) end,
        })
    end, {}, P "i"), np.array { 0, 1, 7, 7 })
end)

check.test("devices that choose differently may not exchange data", function()
    local f = over(function(v)
        return np.cond(np.axis_index("i"):ge(2), function(a) return np.psum(a, "i") end, function(a) return a end, v)
    end, { P "i" }, P "i")
    check.raises(function() f(x) end, "np.cond: the index differs between devices along 'i'")
    local g = over(function(v)
        return np.while_loop(function(c) return c:sum():lt(100) end, function(c) return c + np.psum(c, "i") end, v)
    end, { P "i" }, P "i")
    check.raises(function() g(x + 1) end, "np.while_loop: the condition differs between devices along 'i'")
end)

check.test("a while loop stops for each device when its condition fails, or for all at once", function()
    local function body(v)
        return np.while_loop(function(c) return c:sum():lt(100) end, function(c) return c * 2 + 1 end, v)
    end
    both(over(body, { P "i" }, P "i"), slices(body), x)
    both(over(function(v)
        return np.while_loop(function(c) return np.psum(c:sum(), "i"):lt(1000) end,
                             function(c) return c * 2 + 1 end, v)
    end, { P "i" }, P "i"), (x + 1) * 32 - 1, x)
end)

check.test("loops inside each other, with a collective in the inner one", function()
    local function body(sum, v)
        return np.fori_loop(0, 2, function(_, c)
            return np.fori_loop(0, 2, function(_, d) return d * 0.5 + sum(d) end, c) + v
        end, v)
    end
    local function whole(v) -- of all devices: rows
        return body(function(d) return d:sum { axis = 0, keepdims = true } end, v)
    end
    both(over(function(v) return body(function(d) return np.psum(d, "i") end, v) end, { P "i" }, P "i"),
         whole(x:reshape(4, 2)):reshape(8), x)
end)

check.test("shard_map inside loops and branches", function()
    local g = over(function(v) return np.psum(v, "i") + v end, { P "i" }, P "i")
    local function plain(v)
        local rows = v:reshape(4, 2)
        return (rows + rows:sum { axis = 0 }):reshape(8)
    end
    both(function(v) return np.fori_loop(0, 3, function(_, c) return g(c) * 0.5 end, v) end,
         plain(plain(plain(x) * 0.5) * 0.5) * 0.5, x)
    both(function(v) return np.cond(v:sum():gt(0), g, function(c) return c end, v) end, plain(x), x)
end)

check.test("loops over divided arrays outside of shard_map", function()
    local xs = np.arange(32, { dtype = "f32" }):reshape(4, 8)
    local function f(v)
        local c, s = np.scan(function(c, row) return c * 0.5 + row, (c * row):sum() end, np.zeros { 8 }, v)
        return np.concatenate { c, s }
    end
    for _, spec in ipairs { P(nil, "i"), P("i", nil), P() } do both(f, f(xs), np.device_put(xs, mesh, spec)) end
end)

check.test("gradients of loops and branches", function()
    local w = np.array(0.15)
    local function plain(v, s)
        local c, rows = np.zeros { 2 }, v:reshape(4, 2)
        for k = 1, 3 do c = np.tanh(c * s) + (rows * s * k):sum { axis = 0 } / 4 end
        return c:sum()
    end
    local f = over(function(v, s)
        return (np.scan(function(c, k) return np.tanh(c * s) + np.psum(v * s * k, "i") / 4 end, np.zeros { 2 },
                        np.array { 1, 2, 3 }))
    end, { P "i", P() }, P())
    local function loss(v, s) return f(v, s):sum() end
    local dv, ds = np.grad(plain, { argnums = { 1, 2 } })(x, w)
    for _, g in ipairs { np.grad(loss, { argnums = { 1, 2 } }), np.jit(np.grad(loss, { argnums = { 1, 2 } })),
                         np.grad(np.jit(loss), { argnums = { 1, 2 } }) } do
        local gv, gs = g(x, w)
        check.close(gv:totable(), dv:totable(), 1e-5)
        check.close(gs:item(), ds:item(), 1e-4)
    end
    local branch = over(function(v, s)
        return np.cond(np.axis_index("i"):ge(2), function(a) return a * s end, function(a) return a * a end, v)
    end, { P "i", P() }, P "i")
    local gv, gs = np.grad(function(v, s) return branch(v, s):sum() end, { argnums = { 1, 2 } })(x, w)
    same(gv, np.concatenate { 2 * x[{ { 0, 4 } }], np.full({ 4 }, w) })
    check.equal(gs:item(), 22)
end)

check.test("a gradient in a loop is summed for a carry that is the same everywhere, else each device's own", function()
    local function descend(v, start, rate)
        return (np.scan(function(c)
            return c - rate * np.grad(function(p) return ((p - v) * (p - v)):sum() end)(c)
        end, start, nil, { length = 3 }))
    end
    local function together(v) return descend(v, np.zeros { 2 }, 1 / 32) end
    local total, c = x:reshape(4, 2), np.zeros { 2 }
    for _ = 1, 3 do c = c - (c - total):sum { axis = 0 } / 16 end
    both(over(together, { P "i" }, P()), c, x)
    both(over(function(v) return descend(v, v * 0, 0.25) end, { P "i" }, P "i"),
         descend(x, np.zeros { 8 }, 0.25), x)
    local alone = np.shard_map(function(v) return descend(v, np.zeros { 2 }, 0.25) end,
                               { mesh = mesh, in_specs = { P "i" }, out_specs = P "i", check_rep = false })
    both(alone, descend(x, np.zeros { 8 }, 0.25), x)
end)

check.test("a gradient of a carry that comes to vary is that of one that varies", function()
    local function body(zero)
        return function(v)
            return (np.scan(function(c)
                return np.grad(function(p) return (np.sin(p) * v):sum() end)(c) + v
            end, zero(v), nil, { length = 2 }))
        end
    end
    same(over(body(function() return np.zeros { 2 } end), { P "i" }, P "i")(x),
         over(body(function(v) return v * 0 end), { P "i" }, P "i")(x))
end)

check.test("checkpoint, and functions with rules of their own", function()
    local w = np.array(0.3)
    local function total(v, s) return np.psum(np.sin(v * s), "i"):sum() end
    local want_v, want_s = np.grad(function(v, s) return np.sin(v * s):sum() end, { argnums = { 1, 2 } })(x, w)
    local clipped = np.custom_vjp(function(v) return np.sin(v) end)
    clipped:defvjp(function(v) return np.sin(v), v end, function(v, ct) return ct * np.cos(v) end)
    for _, body in ipairs { np.checkpoint(total), function(v, s) return np.psum(clipped(v * s), "i"):sum() end } do
        local f = over(body, { P "i", P() }, P())
        for _, g in ipairs { np.grad(f, { argnums = { 1, 2 } }), np.jit(np.grad(f, { argnums = { 1, 2 } })) } do
            local gv, gs = g(x, w)
            check.close(gv:totable(), want_v:totable(), 1e-5)
            check.close(gs:item(), want_s:item(), 1e-4)
        end
    end
end)

check.test("a function with a rule is run as its ops on the blocks", function()
    local f = np.custom_vjp(function(v) return np.sin(v) end)
    f:defvjp(function(v) return np.sin(v), np.cos(v) end, function(c, ct) return c * ct * 10 end)
    local body = over(function(v) return f(v * 2) * np.psum(f(v), "i"):sum() end, { P "i" }, P "i")
    local jitted, total = np.jit(function(v) return body(v) + 1 end), function(v) return body(v):sum() end
    same(jitted(x), body(x) + 1)
    check.equal(tostring(np.explain(jitted)):find "call%[", nil)
    local gradient = np.jit(np.grad(total))
    same(gradient(x), np.grad(total)(x))
    check.equal(tostring(np.explain(gradient)):find "call%[", nil)
end)

check.test("forward derivatives of loops", function()
    local f = over(function(v)
        return np.while_loop(function(c) return np.psum(c:sum(), "i"):lt(1000) end,
                             function(c) return c * 2 + np.psum(c, "i") end, v)
    end, { P "i" }, P "i")
    local function plain(v)
        local rows = v:reshape(4, 2)
        for _ = 1, 2 do rows = rows * 2 + rows:sum { axis = 0 } end
        return rows:reshape(8)
    end
    local y, dy = np.jvp(f, { x + 1 }, { x })
    same(y, plain(x + 1))
    same(dy, plain(x))
end)

--- Blocks are on no tape, also where an ordinary array that is on one comes onto the mesh.
check.test("forward derivatives of ordinary arrays are those of arrays on a mesh, and cost what they do", function()
    local function body(v)
        local turned = v * np.axis_index "i"
        for _ = 1, 10 do turned = np.sin(turned) end
        return turned + np.psum(turned, "i")
    end
    local f = over(body, { P "i" }, P "i")
    local y = np.device_put(x, mesh, P "i")
    local _, want = np.jvp(f, { y }, { y })
    for _, g in ipairs { f, np.checkpoint(f) } do same(select(2, np.jvp(g, { x }, { x })), want) end
    local function recorded(a)
        local before = np.debug.counters().nodes
        np.jvp(f, { a }, { a })
        return np.debug.counters().nodes - before
    end
    check.equal(recorded(x) < recorded(y) + 10 * 4, true) -- a further derivative of each block would be more
end)

check.done()
