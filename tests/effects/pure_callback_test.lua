--- pure_callback_test.lua: np.pure_callback: results, how often f is called and how it is batched, in jit, loops and
-- branches; derivatives; programs and files; bad input. What it shares with np.callback is in callback_test.lua; values
-- against JAX are in tests/contracts/transforms_test.lua.
-- (sanitized with --long)
local np = require "neap"
local callees = require "tests.lib.callees"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local calls = 0

--- A pure function that doubles, counts its calls and notes the shapes that it got.
local shapes = {}
local function counted(result, options)
    return np.pure_callback(function(x)
        calls = calls + 1
        shapes[#shapes + 1] = table.concat(x.shape, ",")
        return x * 2
    end, result, options)
end

--- What f gives, and how often pure functions were called for it.
local function counting(f)
    np.effects_barrier()
    calls, shapes = 0, {}
    local value = f():totable()
    np.effects_barrier()
    return value, calls
end

local VECTOR = { shape = { 2 } }

check.test("results, by specification, by example and in a tree", function()
    local sum = np.pure_callback(function(x, k, t) return { total = x:sum() * k, parts = { x, t.flag and 1 or 0 } } end,
                                 { total = { shape = {} }, parts = { np.ones(2), { shape = {}, dtype = "i32" } } })
    local r = sum(np.array { 1, 2 }, 3, { flag = true })
    check.equal({ r.total:item(), r.parts[1]:totable(), r.parts[2]:item() }, { 9, { 1, 2 }, 1 })
end)

check.test("a call in jit happens at each run; one that nobody needs does not", function()
    local f = counted(VECTOR)
    local used = np.jit(function(x) return f(x) + 1 end)
    local unused = np.jit(function(x) f(x) f(f(x)) return x + 1 end)
    local value, n = counting(function() used(np.ones(2)):wait() return used(np.ones(2)) end)
    check.equal({ value, n }, { { 3, 3 }, 2 })
    value, n = counting(function() return unused(np.ones(2)) end)
    check.equal({ value, n }, { { 2, 2 }, 0 })
    check.ok(not tostring(np.trace(unused)(np.ones(2))):find "callback")
end)

check.test("equal calls of a trace are one; others are not", function()
    local f = counted(VECTOR)
    local function twice(x) return f(x) + f(x) end
    check.equal({ counting(function() return np.jit(twice)(np.ones(2)) end) }, { { 4, 4 }, 1 })
    check.equal({ counting(function() return np.jit(function(x) return f(x) + f(x + 1) end)(np.ones(2)) end) },
                { { 6, 6 }, 2 })
    local calls_of = {}
    local g = np.pure_callback(function(x, k) calls_of[#calls_of + 1] = k return x * k end, VECTOR)
    local y = np.jit(function(x) return g(x, 2) + g(x, 2) + g(x, 3) + g(x, 3) end)(np.ones(2))
    check.equal(y:totable(), { 10, 10 })
    table.sort(calls_of)
    check.equal(calls_of, { 2, 3 })
    local outside = np.array { 5, 6 }
    check.equal({ counting(function()
        return np.jit(function(x) return f(outside) + f(outside) + x end)(np.ones(2))
    end) }, { { 21, 25 }, 1 })
end)

check.test("no order with prints, and no effect that a batch refuses", function()
    local f = counted { shape = {} }
    check.equal(np.vmap(f)(np.arange(3):astype "f32"):totable(), { 0, 2, 4 })
    check.equal(np.vmap(np.jit(f))(np.arange(3):astype "f32"):totable(), { 0, 2, 4 })
end)

check.test("vmap_method: how often f is called, and with which shapes", function()
    local x, w = np.arange(6):astype("f32"):reshape(3, 2), np.array { 10, 20 }
    local seen
    local function batched(method)
        local f = np.pure_callback(function(a, b, k)
            calls = calls + 1
            seen = { table.concat(a.shape, ","), table.concat(b.shape, ","), k }
            return a * k + b
        end, VECTOR, { vmap_method = method })
        return counting(function() return np.vmap(function(a) return f(a, w, 2) end)(x) end)
    end
    local expected = { { 10, 22 }, { 14, 26 }, { 18, 30 } }
    check.equal({ { batched "sequential" }, seen }, { { expected, 3 }, { "2", "2", 2 } })
    check.equal({ { batched "expand_dims" }, seen }, { { expected, 1 }, { "3,2", "1,2", 2 } })
    check.equal({ { batched "broadcast_all" }, seen }, { { expected, 1 }, { "3,2", "3,2", 2 } })
    check.equal({ { batched() }, seen }, { { expected, 3 }, { "2", "2", 2 } })
end)

check.test("several results, numbers of a trace, and batches in batches", function()
    for _, method in ipairs { "sequential", "expand_dims", "broadcast_all" } do
        local f = np.pure_callback(function(x, k)
            check.equal(type(k), "number")
            return { x + k, (x * k):astype "f64", np.zeros(x.shape, { dtype = "i32" }) }
        end, { { shape = {} }, { shape = {}, dtype = "f64" }, { shape = {}, dtype = "i32" } }, { vmap_method = method })
        local function both(x, k)
            local r = f(x, k)
            return r[1] + r[3], r[2]
        end
        local x = np.arange(6):astype("f32"):reshape(2, 3)
        local jitted = np.jit(both)
        local twice = np.vmap(np.vmap(function(v) return jitted(v, 3) end))
        local a, b = twice(x)
        check.equal({ a:totable(), b:totable() }, { (x + 3):totable(), (x * 3):totable() })
        a, b = np.jit(twice)(x)
        check.equal({ a:totable(), b:totable() }, { (x + 3):totable(), (x * 3):totable() })
    end
end)

check.test("in loops and branches, alone and batched", function()
    for _, method in ipairs { "sequential", "expand_dims", "broadcast_all" } do
        local f = counted({ shape = {} }, { vmap_method = method })
        local function scanned(x)
            return (np.scan(function(c, k) return f(c) + k, c end, x, np.ones(3)))
        end
        local function chosen(x) return np.cond(x:gt(1), f, function(v) return v - 1 end, x) end
        local function looped(x) return np.while_loop(function(v) return f(v):lt(20) end, f, x) end
        local xs = np.array { 0, 1, 2, 3 }
        for name, g in pairs { scanned = scanned, chosen = chosen, looped = np.jit(looped) } do
            local start = name == "looped" and xs + 1 or xs
            local expected = {}
            for k = 0, 3 do expected[k + 1] = g(start[k]):item() end
            check.equal(np.vmap(g)(start):totable(), expected, name .. " " .. method)
            check.equal(np.jit(np.vmap(g))(start):totable(), expected, name .. " in jit, " .. method)
        end
    end
end)

check.test("a loop whose results nobody needs is dropped with its calls", function()
    local f = counted { shape = {} }
    local g = np.jit(function(x)
        np.scan(function(c) return f(c) end, x, nil, { length = 3 })
        return x + 1
    end)
    check.equal({ counting(function() return g(np.ones {}):reshape(1) end) }, { { 2 }, 0 })
end)

check.test("derivatives: refused, but for a rule around it", function()
    local f = np.pure_callback(function(x) return np.sin(x) end, { shape = {} })
    local slope = np.pure_callback(function(x) return np.cos(x) end, { shape = {} })
    local expected = "pure_callback: the results of the function at tests/effects/pure_callback_test.lua:%d+, called "
        .. "at tests/effects/pure_callback_test.lua:%d+, cannot be differentiated"
    check.raises(function() np.grad(f)(np.ones {}) end, expected)
    check.raises(function() np.grad(np.jit(function(x) return f(x) end))(np.ones {}) end, expected)
    check.raises(function() np.jvp(function(x) return f(x) end, { np.ones {} }, { np.ones {} }) end, expected)
    local function looped(x) return (np.scan(function(c) return f(c) end, x, nil, { length = 2 })) end
    check.raises(function() np.grad(looped)(np.ones {}) end, expected)
    check.raises(function() np.jit(np.grad(looped))(np.ones {}) end, expected)
    local sine, cosine = np.custom_jvp(function(x) return f(x) end), np.custom_jvp(function(x) return slope(x) end)
    sine:defjvp(function(primals, tangents) return sine(primals[1]), cosine(primals[1]) * tangents[1] end)
    cosine:defjvp(function(primals, tangents) return cosine(primals[1]), -sine(primals[1]) * tangents[1] end)
    local x = np.array { 0.25, 1, 2 }
    for _, g in ipairs { np.vmap(np.grad(sine)), np.jit(np.vmap(np.grad(sine))), np.vmap(np.jit(np.grad(sine))) } do
        check.close(g(x):totable(), np.cos(x):totable(), 1e-6)
    end
    check.close(np.grad(np.grad(function(v) return sine(v) * v end))(np.array(1)):item(),
                2 * math.cos(1) - math.sin(1), 1e-5)
    local function twice(v) return (np.scan(function(c) return sine(c) end, v, nil, { length = 2 })) end
    check.close(np.grad(twice)(np.array(0.5)):item(), math.cos(math.sin(0.5)) * math.cos(0.5), 1e-6)
    local reverse = np.custom_vjp(function(v) return f(v) end):defvjp(
        function(v) return f(v), slope(v) end, function(saved, ct) return saved * ct end)
    check.close(np.jit(np.vmap(np.grad(reverse)))(x):totable(), np.cos(x):totable(), 1e-6)
    check.close(np.grad(np.checkpoint(sine))(np.array(1)):item(), math.cos(1), 1e-6)
end)

check.test("a program shows it, keeps it in a file, and asks for the function", function()
    local path = process.file ""
    for _, method in ipairs { "sequential", "expand_dims", "broadcast_all" } do
        local f = np.pure_callback(function(x, k) return x + k end, { shape = {} },
                                   { vmap_method = method, name = "plus" })
        local program = np.trace(np.jit(function(x, k) return f(x, k) * 2 end))(np.ones {}, 3)
        check.ok(tostring(program):find("callback[pure] plus", 1, true), tostring(program))
        program:save(path)
        local got = {}
        local loaded = np.load_program(path, { callbacks = { plus = function(x, k)
            got[#got + 1] = table.concat(x.shape, ",") .. type(k)
            return x + k
        end } })
        check.equal(loaded(np.ones {}, 3):item(), 8)
        check.equal(np.vmap(function(x) return loaded(x, 3) end)(np.ones(2)):totable(), { 8, 8 })
        check.equal(got[2], method == "sequential" and "number" or "2number")
    end
end)

check.test("failures name the line of the call", function()
    local path = process.file [[
local f = np.pure_callback(function(x) error "boom" end, {shape={2}})
local y = f(np.ones(2))
print(pcall(y.wait, y))
local g = np.pure_callback(function(x) return np.ones(3) end, {shape={2}}, {vmap_method="expand_dims"})
local z = np.vmap(g)(np.ones(4))
print(pcall(z.wait, z))
]]
    local pipe = assert(io.popen(("'%s' %s 2>&1"):format(process.neap, path)))
    local text = pipe:read "*a":gsub(path:gsub("%p", "%%%0"), "script.lua")
    pipe:close()
    check.ok(text:find("script.lua:2: pure_callback: script.lua:1: boom", 1, true), text)
    check.ok(text:find("script.lua:5: pure_callback: result: expected shape (4, 2) and dtype f32, got shape (3,)", 1,
                       true), text)
end)

check.test("bad input", function()
    local function f(x) return x end
    check.raises(function() np.pure_callback(3, VECTOR) end, "argument 1 %(f%) must be a function")
    check.raises(function() np.pure_callback(f) end, "argument 2 %(result%) must hold arrays or tables")
    check.raises(function() np.pure_callback(f, {}) end, "argument 2 %(result%) holds no array")
    check.raises(function() np.pure_callback(f, { a = "x" }) end, "argument 2 %(result%.a%) must hold arrays")
    check.raises(function() np.pure_callback(f, { shape = { -1 } }) end, "a shape is a table of integers")
    check.raises(function() np.pure_callback(f, VECTOR, { vmap_method = "all" }) end,
                 "vmap_method.*\"sequential\", \"expand_dims\" or \"broadcast_all\"")
    check.raises(function() np.pure_callback(f, VECTOR, { ordered = true }) end, "unknown option 'ordered'")
    check.raises(function() np.pure_callback(f, VECTOR, { name = 3 }) end, "name")
end)

check.test("functions are forgotten once nobody can call them", function()
    local before = callees(0)
    for k = 1, 20 do
        local f = np.pure_callback(function(x) return x + k end, { shape = {} }, { vmap_method = "broadcast_all" })
        local g = np.jit(np.vmap(function(x) f(x * 2) return f(x) + f(x) end))
        check.equal(g(np.ones(2)):totable(), { 2 + 2 * k, 2 + 2 * k })
    end
    np.clear_caches()
    check.equal(callees(before), before)
end)

process.cleanup()
check.done()
