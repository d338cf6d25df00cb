--- constants_test.lua (under tsan with --long): what a traced function computes from constants alone is part of its
-- program: nothing of it runs while the function is traced, no result of it is kept, and the values are those of the
-- function itself. Runs itself again with four devices.
local np = require "neap"
local check = require "tests.lib.check"
require "tests.lib.devices"(4, "tests/stdlib/constants_test.lua")

local N = 300 -- an array of N × N takes 352 KiB
local KIB_OF_A_PROGRAM = 64

local function launches() return np.debug.counters().launches end

local function key() return np.random.key(7) end

-- Functions of no argument, each with a call that is no map and no view.
local constants = {
    normal = function() return np.random.normal(key(), { N, N }) end,
    uniform = function() return np.random.uniform(key(), { N, N }) end,
    randint = function() return np.random.randint(key(), { N, N }, 0, 100):astype("f32") end,
    permutation = function() return np.random.permutation(key(), N * N):reshape(N, N):astype("f32") end,
    matmul = function() return np.matmul(np.linspace(0, 1, N):reshape(N, 1), np.ones { 1, N }) end,
    einsum = function() return np.einsum("i,j->ij", np.linspace(0, 1, N), np.linspace(1, 2, N)) end,
    sort = function() return np.sort(np.random.uniform(key(), { N, N })) end,
    cumsum = function() return np.cumsum(np.ones { N, N }, { axis = 1 }) end,
    sum = function() return np.zeros { N, N } + np.sum(np.linspace(0, 1, N)) end,
    concatenate = function() return np.concatenate({ np.zeros { N, 100 }, np.ones { N, N - 100 } }, { axis = 1 }) end,
    take = function()
        return np.take(np.random.uniform(key(), { N, N }), np.arange(N):flip(0), { axis = 0 })
    end,
    solve = function() return np.linalg.solve(np.eye(N) * 2, np.ones { N, N }) end,
    scan = function()
        local _, ys = np.scan(function(c, x) return c + x, c * x end, np.ones(N), np.ones { N, N })
        return ys
    end,
    grad = function()
        return np.grad(function(w) return (w * w):sum() end)(np.random.uniform(key(), { N, N }))
    end,
    vmap = function()
        return np.vmap(function(k) return np.random.normal(k, N) end)(np.random.split(key(), N))
    end,
    long = function() -- more maps than a formula has
        local x = np.linspace(0, 1, N * N):reshape(N, N)
        for _ = 1, 12 do x = np.sin(x) end
        return x
    end,
}

local function same(a, b, what)
    check.equal(np.all(np.equal(a, b)):item(), true, what)
end

local names = {}
for name in pairs(constants) do names[#names + 1] = name end
table.sort(names)

for _, name in ipairs(names) do
    check.test("traced, not run: " .. name, function()
        local constant = constants[name]
        local function f(x) return x + constant() end
        local x = np.array(1.5)
        local plain = f(x):wait()
        local before = launches()
        local program = np.trace(f)(x)
        check.equal(launches(), before, "launches while tracing")
        check.equal(program:cost().memory.captured < 4096, true, "bytes that the program holds")
        same(program(x), plain, "trace")

        local jitted = np.jit(f)
        same(jitted(x), plain, "jit")
        same(jitted(x), plain, "jit again")
        check.equal(np.jit_cache(jitted).bytes < 1024 * KIB_OF_A_PROGRAM, true, "bytes of the jitted program")
        same(np.staged(function() return x + constant() end), plain, "staged")
        same(np.deferred(function() return f(x) end), plain, "deferred")
        same(np.jit(function(y) return jitted(y) * 1 end)(x), plain, "jit in jit")
        same(np.vmap(jitted)(np.full({ 2 }, 1.5))[1], plain, "vmap of jit")
        local value, slope = np.value_and_grad(function(y) return jitted(y):sum() end)(x)
        local expected, expected_slope = np.value_and_grad(function(y) return f(y):sum() end)(x)
        check.equal({ value:item(), slope:item() }, { expected:item(), expected_slope:item() })
        check.equal(np.jit_cache(jitted).bytes < 1024 * KIB_OF_A_PROGRAM, true, "bytes after a gradient")
        np.debug.verify(program)
    end)
end

check.test("constants of any size are traced without memory", function()
    collectgarbage()
    local live = np.memory().live
    local large = np.zeros { 100000, 100000 }
    local program = np.trace(function(x)
        local r = np.random.normal(key(), { 100000, 100000 })
        return (x + np.matmul(r, np.cumsum(r)[{ {}, np.newaxis }] * np.ones { 1, 1 }[{ 0, 0 }])[{ 0 }]):sum()
    end)
    check.raises(function() return program(large) end, "matmul") -- shapes are still looked at
    program = np.trace(function(x)
        local r = np.random.normal(key(), { 100000, 100000 })
        return (x + np.matmul(r, np.sort(r))):sum()
    end)(large)
    np.wait_all()
    collectgarbage()
    np.wait_all()
    check.equal(np.memory().live - live < 65536, true, "bytes")
    check.equal(program:outputs()[1].shape, {})
end)

check.test("a trace that fails leaves nothing to compute", function()
    np.wait_all()
    local before = launches()
    check.raises(function()
        np.jit(function()
            local _ = np.random.normal(key(), { 100000, 100000 }) + 1
            error("no")
        end)(np.ones(2))
    end, "no")
    np.wait_all()
    check.equal(launches(), before)
end)

check.test("the host may read what depends on no argument", function()
    local turns = 0
    local f = np.jit(function(x)
        local n = np.sum(np.arange(4))
        for _ = 1, n:item() do
            x = x + 1
            turns = turns + 1
        end
        if np.all(np.sort(np.array { 3, 1, 2 }):equal(np.array { 1, 2, 3 })):item() then x = x * 2 end
        local r = np.random.uniform(key(), { 3 })
        check.equal(r:totable(), np.random.uniform(np.random.key(7), { 3 }):totable())
        check.equal(tostring(np.cumsum(np.arange(3))), "[0 1 3]")
        return x + r[0] + np.max(r):item() * 0 + n
    end)
    local r = np.random.uniform(key(), { 3 })
    check.equal(f(np.array(1)):item(), (np.array(14) + r[0] + 0 + 6):item())
    check.equal(f(np.array(2)):item(), (np.array(16) + r[0] + 0 + 6):item())
    check.equal(turns, 6)
    check.raises(function() return np.jit(function(x) return x + (x + np.sum(np.arange(4))):item() end)(np.ones {}) end,
                 "not known while tracing")
end)

check.test("what was read is data, and what stands around it is still staged", function()
    local f = np.jit(function(x)
        local r = np.random.normal(key(), { N, N })
        local scale = np.sum(np.arange(5)):item()
        return x + r * scale
    end)
    same(f(np.ones {}), np.ones {} + np.random.normal(key(), { N, N }) * 10)
    check.equal(np.jit_cache(f).bytes < 1024 * KIB_OF_A_PROGRAM, true)
    local g = np.jit(function(x)
        local r = np.random.normal(key(), { N, N })
        return x + r * np.max(r):item()
    end)
    local r = np.random.normal(key(), { N, N })
    same(g(np.ones {}), np.ones {} + r * np.max(r):item())
end)

check.test("an array that a trace has computed from constants outlives it", function()
    local tables = {}
    local function ramp(n)
        tables[n] = tables[n] or np.cumsum(np.ones(n)) * 2
        return tables[n]
    end
    local f, g = np.jit(function(x) return x + ramp(3) end), np.jit(function(x) return x * ramp(3) end)
    check.equal(f(np.ones(3)):totable(), { 3, 5, 7 })
    check.equal(g(np.ones(3)):totable(), { 2, 4, 6 })
    check.equal((ramp(3) + 1):totable(), { 3, 5, 7 })
    check.equal(f(np.zeros(3)):totable(), { 2, 4, 6 })
end)

check.test("np.explain tells that an array waits in a trace", function()
    local kept = {}
    np.trace(function(x)
        kept.sums = np.cumsum(np.ones(3))
        return x + kept.sums
    end)(np.ones(3))
    local text = tostring(np.explain(kept.sums))
    check.equal(text:find("was recorded in a trace, and is computed when it is asked for", 1, true) ~= nil, true, text)
    check.equal(kept.sums:totable(), { 1, 2, 3 })
end)

check.test("the body of a loop has its constants computed once, a branch where it runs", function()
    local function f(x)
        local y = np.fori_loop(0, 4, function(_, s) return s + np.sort(np.array { 3, 1, 2 }) end, x)
        local function drawn() return np.tanh(y) * np.random.uniform(key(), { 3 }) end
        return np.cond(np.sum(y):gt(0), drawn, function() return y end)
    end
    local text = tostring(np.trace(f)(np.zeros(3)))
    local sorted, loop = text:find("sort[", 1, true), text:find("scan[", 1, true)
    check.equal(sorted and loop and sorted < loop, true, text)
    local branch = text:find("cond[", 1, true)
    check.equal(text:find("random_floats", 1, true) > branch, true)
    check.equal(text:find("tanh", 1, true) > branch, true)
    for _, start in ipairs { 0, -100 } do
        local x = np.full({ 3 }, start)
        same(np.jit(f)(x), f(x))
        local function loss(z) return (f(z) * f(z)):sum() end
        same(np.jit(np.grad(loss))(x), np.grad(loss)(x))
        same(np.jit(np.vmap(f))(np.stack { x, x + 1 }), np.vmap(f)(np.stack { x, x + 1 }))
    end
end)

check.test("constants are results, and are printed and called back with", function()
    local got = {}
    local tell = np.callback(function(a, b) got[#got + 1] = { a:totable(), b:item() } end)
    local function body(x)
        local s = np.cumsum(np.ones(3))
        tell(s, x)
        return s, x, np.sort(np.array { 2, 1 }), np.random.key(1)
    end
    local f = np.jit(body)
    for k = 1, 2 do
        local s, x, sorted, random_key = f(np.array(k))
        check.equal({ s:totable(), x:item(), sorted:totable() }, { { 1, 2, 3 }, k, { 1, 2 } })
        check.equal(random_key:totable(), np.random.key(1):totable())
    end
    np.effects_barrier()
    check.equal(got, { { { 1, 2, 3 }, 1 }, { { 1, 2, 3 }, 2 } })
    local text = tostring(np.trace(function(x)
        print("sum", np.sum(np.arange(4)))
        return x
    end)(np.ones(2)))
    check.equal(text:find("sum%[") ~= nil and text:find("print") ~= nil, true, text)
end)

global_scale = (np.ones(3) * 2):wait() -- luacheck: ignore 111

check.test("what is computed of captured arrays is computed of what the variables hold", function()
    local w = (np.ones(3) * 3):wait()
    local count = 0
    local f = np.jit(function(x)
        count = count + 1
        return x + np.sum(w) + np.cumsum(global_scale) -- luacheck: ignore 113
    end)
    check.equal(f(np.zeros(3)):totable(), { 11, 13, 15 })
    w = (np.ones(3) * 4):wait()
    check.equal(f(np.zeros(3)):totable(), { 14, 16, 18 })
    global_scale = (np.ones(3) * 10):wait() -- luacheck: ignore 111
    check.equal(f(np.zeros(3)):totable(), { 22, 32, 42 })
    check.equal(count, 1)
end)

check.test("what is computed of arrays in tables is computed by the program", function()
    local t = { w = np.random.normal(key(), { N, N }):wait() }
    local before = launches()
    local program = np.trace(function(x) return x + np.matmul(t.w, t.w) end)(np.ones {})
    check.equal(launches(), before)
    same(program(np.ones {}), np.ones {} + np.matmul(t.w, t.w))
end)

check.test("a jitted function called on constants inside another one is part of it", function()
    local inner = np.jit(function(n) return np.sort(np.random.uniform(key(), { 100 })) * n end)
    inner(2):wait()
    local before = launches()
    local program = np.trace(function(x) return x + inner(2) + inner(3) end)(np.ones(100))
    check.equal(launches(), before)
    same(program(np.ones(100)), np.ones(100) + inner(2) + inner(3))
end)

check.test("constants in control flow and in functions with rules of their own", function()
    local function f(x)
        local c = np.cumsum(np.ones(3))
        local y = np.fori_loop(0, 3, function(_, s) return s * np.sort(np.array { 2, 1, 3 }) + c end, x)
        y = y + np.cond(np.sum(y):gt(0), function() return np.cumsum(np.arange(3, { dtype = "f32" })) end,
                        function() return c end)
        y = np.checkpoint(function(z) return np.sin(z) * np.random.uniform(key(), { 3 }) end)(y)
        local own = np.custom_vjp(function(z) return z * np.sum(np.arange(3)) end)
        own:defvjp(function(z) return z * np.sum(np.arange(3)), z end,
                   function(_, ct) return ct * np.cumsum(np.ones(3)) end)
        return own(y)
    end
    local x = np.array { 0.25, 0.5, 1 }
    local function slope(g) return np.grad(function(z) return (g(z) * g(z)):sum() end)(x):totable() end
    local jitted = np.jit(f)
    check.equal(jitted(x):totable(), f(x):totable())
    check.equal(np.deferred(function() return f(x) end):totable(), f(x):totable())
    check.equal(slope(jitted), slope(f))
    local slope_in_jit = np.jit(function() return np.grad(function(z) return (f(z) * f(z)):sum() end)(x) end)
    check.equal(slope_in_jit():totable(), slope(f))
    local xs = np.stack { x, x * 2 }
    check.equal(np.vmap(jitted)(xs):totable(), np.vmap(f)(xs):totable())
    check.equal(np.jit(np.vmap(f))(xs):totable(), np.vmap(f)(xs):totable())
end)

check.test("constants of each device of a mesh", function()
    local function body(x)
        local r = np.random.normal(np.random.fold_in(key(), np.axis_index("i")), { N, N })
        local steps = np.cumsum(np.ones(N)) * np.axis_index("i")
        check.equal(np.sum(np.arange(3)):item(), 3)
        return x + r + steps + np.psum(np.sort(r), "i")
    end
    local f = np.shard_map(body, { mesh = np.mesh({ 4 }, { "i" }), in_specs = { np.P("i") }, out_specs = np.P("i") })
    local x = np.zeros { 4 * N, N }
    local plain = f(x):wait()
    local before = launches()
    local program = np.trace(f)(x)
    check.equal(launches() - before <= 1, true, "launches while tracing") -- for item
    check.equal(program:cost().memory.captured < 4096, true)
    same(program(x), plain)
    local jitted = np.jit(f)
    same(jitted(x), plain)
    same(jitted(x), plain)
    check.equal(np.jit_cache(jitted).bytes < 1024 * 256, true)
    same(np.grad(function(y) return (jitted(y) * jitted(y)):sum() end)(x), plain * 2)
end)

check.test("jit in deferred mode: constants are part of the export", function()
    local jitted = np.jit(function(x) return x + np.random.normal(key(), { N, N }) end)
    local x = np.ones {}
    local program = np.deferred(function()
        local y = jitted(x) * 2
        return np.export { inputs = { x = x }, outputs = { y = y } }
    end)
    check.equal(program:cost().memory.captured < 4096, true)
    check.equal(tostring(program):find("random_floats") ~= nil, true)
    same(program(np.ones {}), (np.ones {} + np.random.normal(key(), { N, N })) * 2)
end)

check.test("a program with constants is saved by its ops", function()
    local path = os.tmpname()
    local program = np.trace(function(x) return x + np.random.normal(key(), { N, N }) end)(np.ones {})
    program:save(path)
    local file = assert(io.open(path, "rb"))
    local bytes = file:seek("end")
    file:close()
    check.equal(bytes < 8192, true, "bytes of the file")
    same(np.load_program(path)(np.ones {}), np.ones {} + np.random.normal(key(), { N, N }))
    os.remove(path)
end)

check.test("a view of an array around the function is data of its program, as its elements", function()
    local path, rows = os.tmpname(), np.arange(4000):reshape(1000, 4):wait()
    local f = function(x) return x + rows[998] + rows[{ {}, 0 }][{ { 5, 9 } }]:sum() end
    local program = np.trace(f)(np.ones(4))
    program:save(path)
    check.equal(#io.open(path, "rb"):read "*a" < 1024, true, "bytes of the file")
    same(np.load_program(path)(np.ones(4)), f(np.ones(4)))
    same(program(np.ones(4)), f(np.ones(4)))
    os.remove(path)
end)

check.test("constants meet an array of the loop around the function", function()
    local c = np.array { 0.5, 1, 2 }
    local function loop(f)
        return (np.scan(function(y, h) return f(h)(y), nil end, np.array { 1, 2 }, np.array { 3, 4 }))
    end
    local function added(h) return function(y) return y + (np.stack { c, c } * h):sum() end end
    local want = { 50, 51 }
    check.equal(loop(added):totable(), want)
    check.equal(loop(function(h) return np.checkpoint(added(h)) end):totable(), want)
    check.equal(loop(function(h)
        return function(y) return np.cond(y[0]:gt(0), added(h), function(z) return z end, y) end
    end):totable(), want)
    local function batch(h) return np.checkpoint(added(h))(np.array { 1, 2 }) end
    same(np.vmap(batch)(np.array { 3, 4 }), np.array { { 22, 23 }, { 29, 30 } })
end)

check.done()
