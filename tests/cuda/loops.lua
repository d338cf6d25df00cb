--- loops.lua: loops, for loops_test.lua: each line that this prints is a case with the hashes of its results. With an
-- argument, what it was told of where they ran goes to stderr.
local np = require "neap"
local hash = require "tests.lib.programs".hash
local told = arg and arg[1]

local key = np.random.key(5)
local rows = np.random.normal(key, { 6, 3000 })
local line = np.random.normal(np.random.fold_in(key, 1), { 3000 })
local weights = np.random.normal(np.random.fold_in(key, 2), { 60, 60 }) * 0.1
local few = np.random.normal(np.random.fold_in(key, 3), { 4, 60 })
local places = np.array { 5, 0, 3, 3, 1, 2 }:astype "i32"
local one_of = np.array { 0, 2, 1, 2, 0, 1 }:astype "i32"

local cases = {}
local function case(name, f, ...) cases[#cases + 1] = { name = name, f = f, given = { ... } } end

-- ---- Turns ----------------------------------------------------------------------------------------------------------

for turns = 0, 3 do
    case("maps, turns of " .. turns, function(x, v)
        return np.scan(function(c, r) c = (c + r):sin() return c, c * 2 end, v, x[{ { 0, turns } }])
    end, rows, line)
end
case("reverse", function(x, v)
    return np.scan(function(c, r) return c * 0.5 + r, c end, v, x, { reverse = true })
end, rows, line)
case("reductions", function(x, v)
    return np.scan(function(c, r)
        local s = np.softmax(r + c)
        return c + s * (r * c):sum(), { s:max(), r:mean() }
    end, v, x)
end, rows, line)
case("carries that stay, and that change places", function(x, v)
    return np.scan(function(c) return { a = c.b + 1, b = c.a, still = c.still }, c.a + c.still end,
                   { a = v, b = v * 2, still = v + 3 }, x)
end, rows, line)
case("products", function(x, m)
    return np.scan(function(c, r) c = np.tanh(c:matmul(m) + r) return c, c:sum() end, np.zeros { 60 }, x)
end, few, weights)
case("a counter and rows at places", function(x, v)
    return np.fori_loop(0, 6, function(i, c) return c:at{ i }:set(c[i] + v):at{ 5 - i }:add(v) end, x)
end, rows, line)
case("rows at places that are data", function(x, v, at)
    return np.scan(function(c, p)
        c = np.dynamic_update_index_in_dim(c, np.dynamic_index_in_dim(c, p) * 0.5 + v, 5 - p)
        return c, np.take(c, p, { axis = 0 })
    end, x, at)
end, rows, line, places)
case("draws, sorts and sums along an axis", function(v)
    return np.scan(function(c, i)
        local n = np.random.normal(np.random.fold_in(np.random.key(1), i), { 3000 })
        return np.sort(c + n), (c * n):cumsum()
    end, v, np.arange(4))
end, line)
case("whole numbers and bools", function(x)
    local function turn(c, r) return { n = c.n * 3 + r:gt(0):astype "i32", b = np.logical_xor(c.b, r:gt(0)) }, c.b end
    return np.scan(turn, { n = np.zeros({ 3000 }, { dtype = "i32" }), b = np.zeros({ 3000 }, { dtype = "bool" }) }, x)
end, rows)
case("constants", function(x)
    local table = np.array { 1, 2, 3 }
    return np.scan(function(c, r) return c + r * table[1] + np.arange(3000), c end, np.ones { 3000 }, x)
end, rows)
case("numbers that are arguments", function(x, v, rate)
    return np.scan(function(c, r)
        local inside = np.fori_loop(0, 3, function(_, a) return a - a * rate end, c)
        return inside + r * (rate * 2), c
    end, v, x)
end, rows, line, 0.125)

-- ---- Inside each other ----------------------------------------------------------------------------------------------

case("loops in loops", function(x, v)
    return np.scan(function(c, r)
        local inner, all = np.scan(function(a, q) a = a * 0.5 + q + r return a, a:sum() end, c, x[{ { 0, 3 } }])
        return inner, all
    end, v, x)
end, rows, line)
case("branches", function(x, v, which)
    return np.scan(function(c, t)
        local r, i = t[1], t[2]
        c = np.cond(r:sum():gt(0), function(a) return a + r end, function(a) return a * 0.9 end, c)
        return np.switch(i + 1, {
            function(a) return a end, function(a) return a:sin() end,
            function(a) return np.fori_loop(0, 2, function(_, b) return b * 1.5 end, a) end,
        }, c), c:max()
    end, v, { x, which })
end, rows, line, one_of)
case("branches that take long, with loops inside", function(x, v)
    return np.scan(function(c, r)
        return np.cond(r:sum():gt(0), function(a)
            return np.fori_loop(0, 40, function(i, b) return (b * r):sin() + i end, a)
        end, function(a) return np.fori_loop(0, 30, function(_, b) return b * 0.9 + r end, a) end, c), c:max()
    end, v, x)
end, rows, line)
case("a branch that takes long by itself", function(x, v)
    local function long(a) return np.fori_loop(0, 40, function(i, b) return b:sin() + i end, a), a end
    return np.cond(x:sum():lt(1e9), long, function(a) return a, a + 1 end, v)
end, rows, line)
for limit = 0, 3000000, 1500000 do
    case("a while loop up to " .. limit, function(x)
        return np.while_loop(function(s) return s.total:lt(limit) end,
                             function(s) return { x = s.x + 1, total = (s.x * 2):sum(), n = s.n + 1 } end,
                             { x = x:abs(), total = np.zeros {}, n = np.array(0) })
    end, rows)
end
case("while loops in loops and branches in while loops", function(x, v)
    return np.scan(function(c, r)
        local w = np.while_loop(function(w) return w.n:lt(w.c:max()) end, function(w)
            local next = np.cond(w.c[0]:gt(w.n), function(a) return a * 0.7 end,
                                 function(a) return a * 0.8 + r * 0.1 end, w.c)
            return { n = w.n + 0.5, c = next }
        end, { n = np.zeros {}, c = c })
        return w.c, w.n
    end, v, x)
end, rows, line)
case("a branch by itself", function(x, v)
    return np.cond(x:sum():lt(1e9), function(a) return a + 1, a end, function(a) return a, a * 2 end, v)
end, rows, line)
case("functions with rules", function(x, v)
    local f = np.custom_vjp(function(a) return a:sin() end)
    f:defvjp(function(a) return a:sin(), a end, function(_, ct) return ct * 2 end)
    return np.scan(function(c, r)
        return np.checkpoint(function(a) return (a * r):cos() end)(c) + f(c), c:sum()
    end, v, x)
end, rows, line)

-- ---- Transforms -----------------------------------------------------------------------------------------------------

local function run(v, x)
    local c, ys = np.scan(function(c, r) c = (c * 0.5 + r):tanh() * v return c, (c * c):sum() end, v, x)
    return c:sum() + ys:sum()
end
case("gradients", np.grad(run, { argnums = { 1, 2 } }), line, rows)
case("second derivatives", np.grad(function(v, x) return (np.grad(run)(v, x) ^ 2):sum() end), line, rows)
case("tangents", function(v, x) return np.jvp(run, { v, x }, { v * 2, x }) end, line, rows)
case("batches", np.vmap(function(v) return np.scan(function(c, r) return c * v + r, c:sum() end, v, rows) end), rows)
case("gradients of products", np.grad(function(m)
    local c = np.scan(function(c, r) return np.tanh(c:matmul(m) + r) end, np.zeros { 60 }, few)
    return c:sum()
end), weights)
case("training", function(m, x, rate)
    local y = x:sum { axis = 1 }
    local function loss(w) return ((np.tanh(x:matmul(w.a)):matmul(w.b) - y) ^ 2):mean() end
    local both = np.value_and_grad(loss)
    return np.scan(function(w)
        local value, g = both(w)
        return { a = w.a - rate * g.a, b = w.b - rate * g.b }, value
    end, { a = m, b = m[0] }, nil, { length = 5 })
end, weights, few, 0.05)

-- ---- All of them ----------------------------------------------------------------------------------------------------

local function leaves(value, into)
    if type(value) == "table" then
        local names = {}
        for name in pairs(value) do names[#names + 1] = name end
        table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
        for _, name in ipairs(names) do leaves(value[name], into) end
    elseif value ~= nil then
        into[#into + 1] = value
    end
    return into
end

for _, c in ipairs(cases) do
    local f = np.jit(c.f)
    for _, made in ipairs { { c.f(unpack(c.given)) }, { f(unpack(c.given)) } } do
        local hashes = {}
        for _, y in ipairs(leaves(made, {})) do hashes[#hashes + 1] = tostring(hash(y)) end
        print(c.name, unpack(hashes))
    end
    local why = tostring(np.explain(f)):match "cpu:0[^\n]*"
    if told and why then io.stderr:write(c.name, ": ", why, "\n") end
end
