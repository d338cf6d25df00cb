--- native_loops_test.lua (not under tsan): loops whose turns are machine code give what the VM gives: every control op,
-- dtypes, sizes, several carries, xs and ys, gradients, batches, and random bodies; with the code there from the first
-- turn, and with changes to it at any turn. Ctrl-C ends such a loop. Skipped without a generator.
--
--     build/neap tests/lazy/native_loops_test.lua run tier=native,isa=avx2       a process's share
package.path = "./?.lua;" .. package.path
local ffi = require "ffi"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local programs = require "tests.lib.programs"
local values = require "tests.lib.values"
local np = require "neap"
local core = require "neap.core"

local release = os.getenv "NEAP_TEST_BUILD" == "release"

-- ---- Loops ----------------------------------------------------------------------------------------------------------
-- { name, function, arguments…; native: whether its turns are machine code, if that is known }

local loops = {}

local function add(name, native, f, ...)
    loops[#loops + 1] = { name = name, native = native, f = f, n = select("#", ...), ... }
end

local function some(n, dtype)
    return programs.leaf(dtype or "f32", n * 31 + 7, type(n) == "table" and n or { n })
end

add("fori of one number", true, function(c)
    return np.fori_loop(0, 1000, function(_, x) return x * 0.999 + 0.5 end, c)
end, np.array(0.25))

add("fori that counts", true, function(c)
    return np.fori_loop(3, 500, function(k, x) return x * 0.5 + k:astype "f32" * 3 end, c)
end, some(5))

local function step(c, x)
    local d = np.tanh(c * 0.9 + x)
    return d, d * 2 + x
end

for _, n in ipairs { 1, 2, 10, 16, 33, 64, 65, 127, 300 } do
    local xs = programs.leaf("f32", n, { 70, n })
    add("scan of " .. n, true, function(c, x) return np.scan(step, c, x) end, some(n), xs)
end
for _, turns in ipairs { 1, 2, 64, 65 } do
    local xs = programs.leaf("f32", turns, { turns, 10 })
    for _, reverse in ipairs { false, true } do
        add(turns .. (reverse and " turns backwards" or " turns"), true, function(c, x)
            return np.scan(step, c, x, { reverse = reverse })
        end, some(10), xs)
    end
end
add("no turns", nil, function(c, x) return np.scan(step, c, x) end, some(10), np.zeros { 0, 10 })

for _, dtype in ipairs { "bool", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "bf16", "f32", "f64" } do
    local xs, c = programs.leaf(dtype, 5, { 80, 19 }), programs.leaf(dtype, 3, { 19 })
    add("scan of " .. dtype, true, function(a, x)
        return np.scan(function(p, q)
            local r = np.where(p:gt(q), np.maximum(p, q), np.minimum(p, q)):astype(dtype)
            return r, { r, (p:eq(q)), q:astype "f32" * 3 + p }
        end, a, x)
    end, c, xs)
end

add("several carries change places", true, function(a, b, n)
    return np.scan(function(c, x)
        return { b = c.a + x, a = c.b * 0.5, n = c.n + 1, last = x, same = c.same, first = c.n:eq(3) },
            { c.n, c.a, x, c.same }
    end, { a = a, b = b, n = n, last = np.zeros { 21 }, same = np.ones { 1, 1 }, first = np.array(false) },
        programs.leaf("f32", 9, { 90, 21 }))
end, some(21), some(21), np.array(0, { dtype = "i32" }))

add("numbers and arrays", true, function(c, x, w)
    local table_of = np.arange(21):astype "f32" * 0.25
    return np.scan(function(s, t)
        local scale = s.k * 0.5 + t + np.arange(5):astype "f32"[3]
        return { k = np.sin(scale), v = s.v * scale + w + table_of },
            { np.broadcast_to(scale, { 21 }), s.k + 1, table_of }
    end, { k = np.array(0.5), v = c }, x)
end, some(21), some(77), some(21))

add("shapes with axes of one", true, function(c, x)
    return np.scan(function(s, t)
        return np.exp(-s * s) + t:reshape(3, 1, 5) * 2, s:reshape(5, 3)
    end, c, x)
end, programs.leaf("f32", 4, { 3, 1, 5 }), programs.leaf("f32", 4, { 70, 3, 5 }))

add("copies alone", true, function(c, x)
    return np.scan(function(s, t) return { a = s.b, b = s.a, same = s.same }, { t, s.a } end,
                   { a = c, b = c + 1, same = c }, x)
end, some(5), programs.leaf("f32", 4, { 70, 5 }))

-- Some lanes need the slow functions, some never.
add("rare arguments", true, function(c)
    return np.fori_loop(0, 300, function(_, s)
        return { x = np.sin(s.x) * 1e7 + s.x, y = np.exp(s.y * 1.01), z = np.log(np.abs(s.z) - 1) }
    end, { x = c, y = c, z = c })
end, some(37))

add("f64 functions", true, function(c)
    return np.fori_loop(0, 130, function(_, x) return np.cos(x) * np.sqrt(np.abs(x) + 1) - np.log1p(np.exp(-x)) end, c)
end, some(23, "f64"))

-- ---- While loops ----------------------------------------------------------------------------------------------------

add("while: Newton", true, function(a)
    return np.while_loop(function(s) return np.abs(s.x * s.x - a):gt(1e-6) end,
                         function(s) return { x = (s.x + a / s.x) * 0.5, n = s.n + 1 } end,
                         { x = a, n = np.array(0, { dtype = "i32" }) })
end, np.array(1234.5, { dtype = "f64" }))

add("while: Collatz", true, function(n)
    return np.while_loop(function(s) return s.n:gt(1) end, function(s)
        return { n = np.where((s.n % 2):eq(0), s.n:floor_divide(2), s.n * 3 + 1), turns = s.turns + 1 }
    end, { n = n, turns = np.array(0, { dtype = "i64" }) })
end, np.array(837799, { dtype = "i64" }))

for _, n in ipairs { 1, 7, 200 } do
    for _, turns in ipairs { 0, 1, 64, 100 } do
        add(("while: %d turns of %d"):format(turns, n), turns > 0 or nil, function(x, most)
            return np.while_loop(function(s) return s.k:lt(most) end,
                                 function(s) return { k = s.k + 1, x = s.x * 0.75 + s.k:astype "f32" } end,
                                 { k = np.array(0, { dtype = "i32" }), x = x })
        end, some(n), np.array(turns, { dtype = "i32" }))
    end
end

add("while: the carry is the condition", true, function(n)
    return np.while_loop(function(s) return s.go end,
                         function(s) return { go = s.n:gt(0), n = s.n - 1 } end, { go = np.array(true), n = n })
end, np.array(200, { dtype = "i32" }))

-- ---- What is derived, and what is in each other ---------------------------------------------------------------------

local function total(c, xs)
    local last, ys = np.scan(step, c, xs)
    return last:sum() + (ys * ys):sum()
end
add("gradients", nil, function(c, xs) return np.grad(total, { argnums = { 1, 2 } })(c, xs) end, some(12),
    programs.leaf("f32", 2, { 75, 12 }))
add("second derivatives", nil, function(c, xs)
    return np.grad(function(a) return np.grad(total)(a, xs):sum() end)(c)
end, some(12), programs.leaf("f32", 2, { 75, 12 }))
add("a batch of scans", nil, function(c, xs) return np.vmap(function(a, x) return np.scan(step, a, x) end)(c, xs) end,
    programs.leaf("f32", 6, { 3, 12 }), programs.leaf("f32", 2, { 3, 75, 12 }))
add("a batch of whiles", nil, function(a)
    return np.vmap(function(x)
        return np.while_loop(function(s) return s:lt(100) end, function(s) return s * 1.01 + 0.1 end, x)
    end)(a)
end, some(9))
add("a loop in a loop", nil, function(c, xs)
    return np.scan(function(s, x)
        local inner = np.fori_loop(0, 100, function(k, v) return v * 0.9 + k:astype "f32" * x end, s)
        return inner, inner:sum()
    end, c, xs)
end, some(11), some(70))

-- ---- Small arrays that are taken apart ------------------------------------------------------------------------------

add("Lorenz", true, function(c)
    return np.scan(function(p)
        local x, y, z = p[0], p[1], p[2]
        local d = np.stack { (y - x) * 10, x * (28 - z) - y, x * y - z * (8 / 3) }
        p = p + d * 0.01
        return p, p
    end, c, nil, { length = 150 })
end, np.array { 1, 1, 1.05 })
add("neighbours", true, function(c)
    return np.fori_loop(0, 100, function(_, x) return (x + np.roll(x, 1)) * 0.5 end, c)
end, some(12))
add("across", true, function(c)
    return np.fori_loop(0, 70, function(_, x) return x.T * 0.5 + x end, c)
end, programs.leaf("f32", 3, { 5, 5 }))
add("arrays of two sizes", true, function(c)
    return np.fori_loop(0, 70, function(_, s) return { s[1] * 0.5, s[2] + s[1][0], s[3] + np.arange(4) } end,
                        { c, np.ones { 3 }, np.zeros { 4 } })
end, some(12))
for _, n in ipairs { 2, 5, 16, 17, 37 } do
    add("sums of " .. n, true, function(c)
        return np.fori_loop(0, 90, function(_, x) return x - x:mean() * 0.5 + x:max() * 0.25 end, c)
    end, some(n))
end
for _, dtype in ipairs { "bool", "u8", "i16", "u32", "i64", "f16", "f32", "f64" } do
    add("reductions of rows of " .. dtype, dtype ~= "f16" or nil, function(c, xs)
        return np.scan(function(s, x)
            local y = np.where(s:gt(x), s, x)
            return y, { y:max { axis = 1 }, y:min { axis = 0 }, y:sum { axis = 1 }, y:ne(x):any(), y:eq(x):all() }
        end, c, xs)
    end, programs.leaf(dtype, 3, { 2, 3 }), programs.leaf(dtype, 8, { 70, 2, 3 }))
end
add("while: until a sum is small", true, function(x)
    return np.while_loop(function(s) return (s.x * s.x):sum():gt(1e-4) end,
                         function(s) return { x = s.x * 0.97 - np.flip(s.x) * 0.01, k = s.k + 1 } end,
                         { x = x, k = np.array(0, { dtype = "i32" }) })
end, some(7))

-- ---- Turns that go through memory -----------------------------------------------------------------------------------

local function double(x) return x * 2 end
local function shrink(x) return np.tanh(x) * 0.5 end

add("a branch", true, function(c, xs)
    return np.scan(function(s, x)
        local y = np.cond(x:gt(0), double, function(v) return v - x end, s * 0.75)
        return y, y + 1
    end, c, xs)
end, np.array(0.5), some(150))
add("branches of arrays", true, function(c, xs, weight)
    return np.scan(function(s, x)
        local y, z = np.cond(x:sum():gt(0), function(a, b) return np.sin(a) + b * 3, b end,
                             function(a, b) return a - weight, np.exp(-b * b) end, s, x)
        return y + z, { y, z }
    end, c, xs)
end, some(70), programs.leaf("f32", 6, { 80, 70 }), some(70))
add("one of four branches", true, function(c, turns)
    return np.fori_loop(-2, turns, function(k, x)
        local third = function(v) return v[0] + v * 0.25 end
        return np.switch(k - 20, { double, shrink, third, function(v) return -v end }, x)
    end, c)
end, some(20), np.array(90, { dtype = "i32" }))
add("a branch in a branch", true, function(c, xs)
    return np.scan(function(s, x)
        return np.cond(x:gt(0), function(v)
            return np.cond(v[0]:gt(1), shrink, function(u) return u + x end, v)
        end, np.jit(function(v) return v * 0.5 + x end), s), s[1]
    end, c, xs)
end, some(100), some(130))
-- Few cheap maps: all branches are done, and one is selected.
for _, dtype in ipairs { "bool", "u8", "i32", "f16", "f32", "f64" } do
    add("branches that are selected, " .. dtype, true, function(c, xs, w)
        return np.scan(function(s, x)
            local a, b = np.cond(x:gt(0), function(v, u) return u, np.maximum(v, w) end,
                                 function(v, u) return v, np.minimum(u, w) end, s[1], s[2])
            return { a, b }, { a, np.cond(x:lt(3), function(v) return v end, function() return w end, b) }
        end, { c, np.flip(c) }, xs)
    end, some(20, dtype), some(130) - 40, programs.leaf(dtype, 8, { 20 }))
end
for branches = 1, 9 do
    add("selected of " .. branches, branches < 9 or nil, function(c, turns)
        local list = {}
        for b = 1, branches do list[b] = function(v) return v * 0.5 + b end end
        return np.fori_loop(-2, turns, function(k, x) return np.switch(k, list, x) + x * 0.25 end, c)
    end, some(3), np.array(90, { dtype = "i32" }))
end
add("selected in each other, and calls", true, function(c, xs, n)
    return np.scan(function(s, x)
        local more = np.jit(function(v) return v * n + x end)
        return np.cond(x:gt(0), function(v)
            return np.cond(v:gt(1), more, function(u) return u + x end, v)
        end, function(v) return more(v) - 1 end, s), s
    end, c, xs)
end, np.array(0.5), some(130) - 60, 0.25)
add("selected among small arrays", true, function(c, xs)
    return np.scan(function(s, x)
        local v = np.cond(x:gt(0), function(u) return np.stack { u[1], u[0] * 0.5, u[2] + x } end, np.flip, s)
        return v, v:sum()
    end, c, xs)
end, some(3), some(130) - 60)
add("while: selected", true, function(c)
    return np.while_loop(function(s)
        return np.cond(s.k:lt(40), function(k) return k:ge(0) end, function(k) return k:lt(90) end, s.k)
    end, function(s)
        return { k = s.k + 1, x = np.cond((s.k % 3):eq(0), double, function(v) return v * 0.375 end, s.x) }
    end, { k = np.array(0, { dtype = "i32" }), x = c })
end, some(10))
add("gradients of what is selected", nil, function(c, xs)
    return np.grad(function(a, b)
        local last, ys = np.scan(function(s, x)
            local y = np.cond(x:gt(0), function(v) return v * 0.5 + x end, function(v) return v * v - x end, s)
            return y, y
        end, a, b)
        return last + (ys * ys):sum()
    end, { argnums = { 1, 2 } })(c, xs)
end, np.array(0.5), np.sin(some(80)))
add("while: a branch, Collatz", true, function(n)
    return np.while_loop(function(s) return s[1]:gt(1) end, function(s)
        return { np.cond((s[1] % 2):eq(0), function(v) return v:floor_divide(2) end, function(v) return v * 3 + 1 end,
                         s[1]), s[2] + 1 }
    end, { n, np.array(0, { dtype = "i64" }) })
end, np.array(837799, { dtype = "i64" }))
add("draws", true, function(key, c)
    return np.scan(function(s, _)
        local now, later = np.random.split(s.key):unpack()
        local x = s.x * 0.9 + np.random.normal(now, { 10 })
        return { key = later, x = x }, { x[0], np.random.uniform(later), np.random.randint(now, { 3 }, 0, 100) }
    end, { key = key, x = c }, nil, { length = 90 })
end, np.random.key(7), some(10))
add("a walk", true, function(key)
    return np.fori_loop(0, 200, function(k, x)
        return x + np.random.normal(np.random.fold_in(key, k), x.shape)
    end, np.zeros { 4 })
end, np.random.key(3))
for _, n in ipairs { 65, 256, 300, 1000 } do
    add("reductions of " .. n, true, function(c, w)
        return np.fori_loop(0, 80, function(_, x)
            return x * 0.9 - (x * w):sum() / n + x:max() * 0.25 + (x - x:mean()):abs():min()
        end, c)
    end, some(n), some(n))
end
for _, dtype in ipairs { "u8", "i32", "f16", "f64" } do
    add("reductions of many of " .. dtype, nil, function(c, xs)
        return np.scan(function(s, x)
            local y = np.where(s:gt(x), s, x)
            return y, { y:max { axis = 1 }, y:sum { axis = 1 }, y:ne(x):any(), y:min(), y:sum() }
        end, c, xs)
    end, programs.leaf(dtype, 3, { 3, 100 }), programs.leaf(dtype, 8, { 70, 3, 100 }))
end
add("rows: softmax and a norm", true, function(c, w)
    return np.fori_loop(0, 70, function(_, x)
        local y = np.softmax(x, { axis = -1 }) * w
        local d = y - y:mean { axis = -1, keepdims = true }
        return d * np.rsqrt((d * d):mean { axis = -1, keepdims = true } + 1e-5) + x * 0.5
    end, c)
end, programs.leaf("f32", 3, { 5, 77 }), some(77))
add("rows: rare arguments", true, function(c)
    return np.fori_loop(0, 70, function(_, x)
        return np.sin(x) * 1e7 + x:sum { axis = 1, keepdims = true } * 0.01
    end, c)
end, programs.leaf("f32", 3, { 3, 90 }))
add("columns and rows", true, function(a, b)
    return np.fori_loop(0, 70, function(_, s)
        local m = s.a:reshape(-1, 1) * s.b + 1
        return { a = m:sum { axis = 1 } * 0.01, b = s.b * 0.5 + s.a[0] }
    end, { a = a, b = b })
end, some(9), some(70))
add("products", true, function(c, w)
    return np.fori_loop(0, 80, function(_, x) return np.tanh(w:matmul(x)) end, c)
end, some(30), programs.leaf("f32", 3, { 30, 30 }))
add("an LSTM", nil, function(c, xs, w, u)
    return np.scan(function(s, x)
        local gates = x:matmul(w) + s.h:matmul(u)
        local i, f, g, o = unpack(np.split(gates, 4, { axis = -1 }))
        local now = np.sigmoid(f) * s.c + np.sigmoid(i) * np.tanh(g)
        return { c = now, h = np.sigmoid(o) * np.tanh(now) }, now
    end, { c = c, h = c * 0.5 }, xs)
end, programs.leaf("f32", 3, { 3, 8 }), programs.leaf("f32", 5, { 70, 3, 6 }), programs.leaf("f32", 7, { 6, 32 }),
    programs.leaf("f32", 9, { 8, 32 }))
add("parts written over", true, function(c)
    return np.fori_loop(1, 90, function(k, x) return x:at { k }:set(x[k - 1] * 0.5 + 1) end, c)
end, some(100))
add("rows written over, and added to", true, function(c, w)
    return np.fori_loop(-3, 70, function(k, x)
        return x:at { k }:set(np.tanh(x[k - 1] + w)):at { 0 }:add(x[-k])
    end, c)
end, programs.leaf("f32", 3, { 60, 20 }), some(20))
for _, dtype in ipairs { "bool", "u8", "i32", "i64", "f16", "f32", "f64" } do
    for _, index in ipairs { "i32", "i64", "u8", "u64" } do
        add(("written at places, %s by %s"):format(dtype, index), true, function(c, rows)
            return np.scan(function(s, k)
                local at = (k - 5):astype(index) -- some are out of range, from both ends
                local one = s.one:at { at }:set(s.one[at - 1])
                return { one = one, rows = s.rows:at { at }:set(s.rows[k - 9]) }, one[3]
            end, { one = c, rows = rows }, np.arange(80))
        end, some(40, dtype), programs.leaf(dtype, 3, { 60, 19 }))
    end
end
for _, how in ipairs { "add", "mul", "max", "min" } do
    for _, dtype in ipairs { "u8", "i16", "i32", "f32", "f64" } do
        add(("joined at places by %s, %s"):format(how, dtype), true, function(c, rows)
            return np.scan(function(s, k)
                local one = s.one:at { k - 5 }
                one = one[how](one, s.one[k - 7] + s.one[-k])
                local twice = s.rows:at { np.stack { k % 7, k % 3 } }
                return { one = one, rows = twice[how](twice, s.rows[{ { 0, 2 } }]) }, one[3]
            end, { one = c, rows = rows }, np.arange(70))
        end, some(40, dtype), programs.leaf(dtype, 3, { 8, 19 }))
    end
end
add("many places at once", nil, function(c)
    return np.fori_loop(0, 70, function(k, x)
        return np.sin(x:at { (np.arange(6) + k) % 9 }:set(x[{ { 0, 6 } }]))
    end, c)
end, some(100))
-- What a stage has made is not read from memory again, unless something has been written over it.
add("elements that are written and read", true, function(c)
    return np.fori_loop(0, 200, function(k, x)
        local a = x:at { 3 }:set(x[k % 90] * 0.5)
        local b = a:at { k % 7 }:set(a[3] + 1)
        local d = b:at { 3 }:add(b[k % 5])
        return d:at { 5 }:set(np.cond((k % 3):eq(0), function(v) return v[3] end, function(v) return v[k % 4] end, d))
    end, c)
end, some(100))
add("elements that a branch writes", true, function(c, xs)
    return np.scan(function(s, x)
        local n = s.n + 1
        local a, m = np.cond(x:gt(0), function(v, k) return v:at { k % 70 }:set(x), k * 2 end,
                             function(v, k) return v + v:max() * 0.25, k end, s.a, n)
        return { a = a, n = n }, { a[n % 70], m, n }
    end, { a = c, n = np.array(0, { dtype = "i32" }) }, xs)
end, some(70), some(130))
add("numbers that stages carry", true, function(c, t)
    return np.fori_loop(-1, 200, function(k, s)
        local x = s.x:at { s.n % 90 }:set(s.a)
        return { a = s.b, b = s.a * 0.5 + s.x[k % 70] + t, n = s.n + 1, x = x, same = s.same }
    end, { a = np.array(1), b = np.array(2), n = np.array(-9, { dtype = "i64" }), x = c, same = np.array(3) })
end, some(70), np.array(0.125))
add("while: numbers that stages carry", true, function(c)
    return np.while_loop(function(s) return s.n:lt(130) end, function(s)
        return { n = s.n + 1, last = s.n, x = s.x:at { s.last }:add(s.x[s.n % 70] * 0.5) }
    end, { n = np.array(-5, { dtype = "i32" }), last = np.array(7, { dtype = "i32" }), x = c })
end, some(70))
add("gradients of what is written at places", nil, function(c)
    return np.grad(function(a)
        return np.fori_loop(0, 70, function(k, x)
            return x:at { k + 1 }:set(x[k] * 0.999 + np.sin(x[k])):at { 2 }:add(x[k])
        end, a):sum()
    end)(c)
end, some(80))
for _, dtype in ipairs { "f32", "f64" } do
    for _, k in ipairs { 2, 3, 16, 30, 65, 300 } do
        local w, v = programs.leaf(dtype, k, { 13, k }), programs.leaf(dtype, k + 1, { k, 13 })
        add(("products by vectors of %d, %s"):format(k, dtype), true, function(c, a, b)
            return np.fori_loop(0, 70, function(_, x)
                local y = b:matmul(np.tanh(a:matmul(x)))
                return y * 0.25 + x:matmul(a.T):matmul(b.T) * 0.125 + x * 0.5
            end, c)
        end, some(k, dtype), w, v)
    end
end
add("products that are 0", true, function(c, w)
    return np.fori_loop(0, 70, function(k, x)
        return np.where(np.signbit(w:matmul(x * 0)), 1, -1) * k:astype "f32" + x * 0.5
    end, c)
end, some(30) - 9, -np.abs(programs.leaf("f32", 3, { 30, 30 })))
for _, dtype in ipairs { "f32", "f64" } do
    for _, k in ipairs { 2, 15, 16, 31, 70, 256, 257 } do
        local w, v = programs.leaf(dtype, k, { k, 13 }), programs.leaf(dtype, k + 1, { 13, k })
        add(("vectors of %d by products, %s"):format(k, dtype), true, function(c, a, b)
            return np.fori_loop(0, 70, function(_, x)
                return np.tanh(x:matmul(a)):matmul(b) * 0.25 + a:matmul(a.T:matmul(x)) * 0.125 + x * 0.5
            end, c)
        end, some(k, dtype), w, v)
    end
end
add("vectors by products that are 0", true, function(c, w)
    return np.fori_loop(0, 70, function(k, x)
        return np.where(np.signbit((x * 0):matmul(w)), 1, -1) * k:astype "f32" + x * 0.5
    end, c)
end, some(30) - 9, -np.abs(programs.leaf("f32", 3, { 30, 30 })))
add("a row of a product of vectors", nil, function(c, w)
    return np.fori_loop(0, 70, function(_, x) return np.tanh(x:matmul(w)) end, c)
end, some(30), programs.leaf("f32", 3, { 30, 30 }))
add("gradients of products by vectors", nil, function(c, w)
    return np.grad(function(a, u)
        return np.fori_loop(0, 70, function(_, x) return np.tanh(u:matmul(x)) end, a):sum()
    end, { argnums = { 1, 2 } })(c, w)
end, some(30), programs.leaf("f32", 3, { 30, 30 }))
add("taken from a table", true, function(c, t)
    return np.fori_loop(-9, 90, function(k, x) return x * 0.5 + np.take(t, k * 3, { axis = 0 }) end, c)
end, some(20, "f64"), programs.leaf("f64", 3, { 60, 20 }))
add("sizes that differ", true, function(c)
    return np.fori_loop(0, 70, function(_, s)
        return { np.sin(s[1]) + s[2][0], np.cos(s[2]) + s[1][5] * s[3]:astype "f32", s[3] + 1 }
    end, { c, np.ones { 130 }, np.array(0, { dtype = "f64" }) })
end, some(700))
add("loops in a loop", true, function(c, xs)
    return np.scan(function(s, x)
        local inner = np.fori_loop(0, 70, function(_, v) return v * 0.9 + x end, np.sin(s))
        local n = np.while_loop(function(v) return v:lt(9) end, function(v) return v * 1.5 + 1 end, np.abs(inner[0]))
        return inner + s:mean(), n
    end, c, xs)
end, some(75), some(40))
add("gradients of turns in memory", nil, function(c, xs)
    return np.grad(function(a, b)
        return np.scan(function(s, x)
            return np.cond(x:sum():gt(0), shrink, function(v) return v - x * v:mean() end, s), s:sum()
        end, a, b):sum()
    end, { argnums = { 1, 2 } })(c, xs)
end, some(80), programs.leaf("f32", 2, { 66, 80 }))

-- ---- What has no code -----------------------------------------------------------------------------------------------

add("long arrays", false, function(c)
    return np.scan(function(x) return x:sum() + x * 0.5, x end, c, nil, { length = 3 })
end, some(8200))
add("nothing but calls", false, function(c)
    return np.scan(function(x) return np.sort(x), x end, c, nil, { length = 70 })
end, some(50))

-- ---- Random bodies --------------------------------------------------------------------------------------------------

local UNARY = { "sin", "exp", "tanh", "abs", "negative", "sqrt", "square", "sign", "floor", "log1p" }
local BINARY = { "add", "subtract", "multiply", "maximum", "minimum", "divide", "remainder", "atan2" }

--- A loop whose body is drawn: carries of arrays and numbers, each the result of some maps of all that there is.
local function draw(seed)
    local state = seed * 7919 % 2147483647 + 1
    local function random(n)
        state = state * 16807 % 2147483647
        return math.floor(state / 8) % n + 1
    end
    local n, length = random(90), random(150)
    local dtype = ({ "f32", "f32", "f64", "f16", "i32" })[random(5)]
    local count, reverse = random(4), random(2) == 1
    local first, xs = {}, { programs.leaf(dtype, seed, { length, n }), programs.leaf(dtype, seed + 1, { length }) }
    for k = 1, count do first[k] = programs.leaf(dtype, seed + k, random(3) == 1 and {} or { n }) end
    local begin = state
    local integer = values.dtypes[dtype].kind == "int"
    local function body(carry, x)
        state = begin
        local have, ys, out = {}, {}, {}
        for k = 1, count do have[k] = carry[k] end
        have[#have + 1], have[#have + 2] = x[1], x[2]
        for _ = 1, random(9) do
            local a, b = have[random(#have)], have[random(#have)]
            local made
            if random(3) == 1 then
                made = np[integer and "abs" or UNARY[random(#UNARY)]](a)
            elseif random(5) == 1 then
                made = np.where(a:gt(b), a, have[random(#have)])
            else
                made = np[BINARY[random(integer and 5 or #BINARY)]](a, b)
            end
            have[#have + 1] = (random(4) == 1 and made * 0.5 + a or made):astype(dtype)
        end
        for k = 1, count do
            local pick = have[random(#have)]
            if pick.ndim > #first[k].shape then pick = have[k] end
            if pick.ndim < #first[k].shape then pick = np.broadcast_to(pick, { n }) end
            out[k] = pick
        end
        for k = 1, random(3) do ys[k] = have[random(#have)] end
        return out, ys
    end
    add("random body " .. seed, true, function(...)
        local given = { ... }
        return np.scan(body, given, xs, { reverse = reverse })
    end, unpack(first))
end
for seed = 1, tonumber(os.getenv "NEAP_TEST_LOOPS" or (release and 6 or 2)) do draw(seed) end

-- ---- A process's share ----------------------------------------------------------------------------------------------

local function hash(tree, list)
    if core.is_array(tree) then
        list[#list + 1] = programs.hash(tree)
        return
    end
    local keys = {}
    for key in pairs(tree) do keys[#keys + 1] = key end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for _, key in ipairs(keys) do hash(tree[key], list) end
end

--- A line for each loop, or for every so many: its name and the bits of its results. With tier=native it tells if a
-- loop that should be machine code is not, or the other way round; with times=… each loop is run so often, and must not
-- change its mind.
local function run(settings)
    local times, every = settings.times or 1, settings.every or 1
    settings.times, settings.every = nil, nil
    np.debug.kernels(settings)
    for k = 1, #loops, every do
        local loop = loops[k]
        local f, line = np.jit(loop.f), nil
        for _ = 1, times do
            local list = {}
            hash({ f(unpack(loop, 1, loop.n)) }, list)
            local now = loop.name .. ": " .. table.concat(list, ", ")
            if line and now ~= line then print("it changed from " .. line) end
            line = now
        end
        print(line)
        local how = settings.tier == "native" and loop.native ~= nil and tostring(np.explain(f))
        if how and (how:find "call, native" ~= nil) ~= loop.native then print(how) end
    end
end

if arg[1] == "run" then
    local settings = {}
    for name, value in (arg[2] or ""):gmatch "(%w+)=(%w+)" do settings[name] = tonumber(value) or value end
    run(settings)
    os.exit(0)
end

-- ---- Comparing ------------------------------------------------------------------------------------------------------

local text = ffi.new("char[256]")
local generator = ffi.string(core.C.neap_tier_generator(text, 256))
if not generator:find "^LLVM" then
    check.skip("native loops", generator)
    check.done()
end

local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir -p " .. folder) == 0)

local function command(arguments)
    return ("env XDG_CACHE_HOME='%s' '%s' %s 2>&1"):format(folder, process.neap, arguments)
end

local function lines(workers, settings)
    local list = {}
    local pipe = io.popen(command(("--workers %d tests/lazy/native_loops_test.lua run %s"):format(workers, settings)))
    for line in pipe:lines() do list[#list + 1] = line end
    pipe:close()
    return list
end

local function compare(workers, settings, expected, every)
    local list = lines(workers, ("%s,every=%d"):format(settings, every))
    for k = 1, math.max(#list, math.ceil(#expected / every)) do
        local line = expected[(k - 1) * every + 1]
        if list[k] ~= line then
            error(("%s: %s, expected %s"):format(settings, tostring(list[k]), tostring(line)))
        end
    end
end

local expected = lines(1, "tier=vm")
check.test("loops ran", function() check.equal(#expected, #loops) end)

-- Code of wider vectors is made sooner.
for isa, every in pairs { baseline = 10, avx2 = 5, avx512 = 1 } do
    local name = "loops as native code, " .. isa
    if not pcall(np.debug.kernels, { isa = isa }) then
        check.skip(name, "this CPU has no " .. isa)
    else
        check.test(name, function()
            compare(2, "tier=native,isa=" .. isa, expected, every)
            compare(3, "hot=1,times=3,isa=" .. isa, expected, every) -- from the cache, at any turn
        end)
    end
end
np.debug.kernels {}

check.test("a loop changes while it runs", function()
    local pipe = io.popen(command(process.file [[
np.debug.kernels { hot = 1 }
local f = np.jit(function(c, w)
    return np.fori_loop(0, 3000, function(k, x) return np.tanh(x * w) + k:astype "f32" * 1.25 end, c)
end)
local c, w = np.arange(30):astype "f32", np.cos(np.arange(30):astype "f32")
local first, runs = np.sum(f(c, w)):item(), 0
repeat
    assert(np.sum(f(c, w)):item() == first)
    runs = runs + 1
until tostring(np.explain(f)):find "call, native" or runs > 1e5
assert(np.sum(f(c, w)):item() == first)
print(runs <= 1e5)
]]))
    check.equal(pipe:read "*a", "true\n")
    pipe:close()
end)

check.test("a call that fails in a turn says which, and ends the loop", function()
    local first
    for _, tier in ipairs { "vm", "native" } do
        local pipe = io.popen(command("--tier " .. tier .. " " .. process.file([[
local f = np.jit(function(c)
    return np.fori_loop(0, 90, function(k, x)
        return np.cond(k:eq(40), function(v) return np.debug.fail(v) end, function(v) return v + v:sum() end, x)
    end, c)
end)
local ok, message = pcall(function() return np.sum(f(np.ones(90))):item() end)
print(ok, (tostring(message):gsub("[^ ]*/lua_%w+", "script")), (tostring(np.explain(f)):find "call, native"))
]])))
        local said = pipe:read "*a"
        pipe:close()
        check.ok(said:find "false.*debug_fail: failed on purpose", said)
        check.equal(said:find "nil%s*$" == nil, tier == "native")
        first = first or said:match "^[^\n]*purpose"
        check.equal(said:match "^[^\n]*purpose", first)
    end
end)

check.test("a loop in stages changes while it runs", function()
    local pipe = io.popen(command(process.file [[
np.debug.kernels { hot = 1 }
local f = np.jit(function(c)
    return np.fori_loop(0, 3001, function(k, x)
        local y = np.cond((k % 3):eq(0), function(v) return v - v:mean() end, np.sin, x)
        return y:at { k % 70 }:set(x[-k] * 0.5 + 1)
    end, c)
end)
local c = np.arange(70):astype "f32"
local first, runs = np.sum(f(c)):item(), 0
repeat
    assert(np.sum(f(c)):item() == first)
    runs = runs + 1
until tostring(np.explain(f)):find "call, native" or runs > 1e5
assert(np.sum(f(c)):item() == first)
print(runs <= 1e5)
]]))
    check.equal(pipe:read "*a", "true\n")
    pipe:close()
end)

check.test("np.explain tells why a loop has no code", function()
    local pipe = io.popen(command("--tier native " .. process.file [[
local f = np.jit(function(c) return np.scan(function(x) return np.sort(x), x end, c, nil, { length = 9 }) end)
f(np.ones(500)):wait()
print(np.explain(f))
]]))
    local said = pipe:read "*a"
    pipe:close()
    check.ok(said:find "no native code of its own: its turns do more than maps", said)
end)

for name, body in pairs {
    registers = "function(x) return (x + 1) % 1000 end",
    stages = "function(x) return np.cond(x:gt(9), function(v) return v - 9 end, function(v) return v + 7 end, x) end",
} do
    check.test("Ctrl-C ends a loop of machine code in " .. name, function()
        local terminal = process.terminal({ "--tier", "native", process.file([[
print "ready"
io.flush()
print(np.while_loop(function(x) return x:ge(0) end, ]] .. body .. [[, np.array(0)):item())
]]) }, { XDG_CACHE_HOME = folder })
        terminal:expect "ready"
        process.sleep(0.5)
        terminal:send "\3"
        check.equal(terminal:finish(), 130)
    end)
end

os.execute("rm -r '" .. folder .. "'")
process.cleanup()
check.done()
