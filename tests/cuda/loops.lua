--- loops.lua: loops, for loops_test.lua: each line that this prints is a case with the hashes of its results. With an
-- argument, what it was told of where they ran goes to stderr.
local np = require "neap"
local hash = require "tests.lib.programs".hash
local told = arg and arg[1]

local key = np.random.key(5)
local x = np.random.normal(key, { 6, 3000 })
local v = np.random.normal(np.random.fold_in(key, 1), { 3000 })
local m = np.random.normal(np.random.fold_in(key, 2), { 60, 60 }) * 0.1
local small = np.random.normal(np.random.fold_in(key, 3), { 4, 60 })
local places = np.array { 5, 0, 3, 3, 1, 2 }:astype "i32"
local one_of = np.array { 0, 2, 1, 2, 0, 1 }:astype "i32"

local cases = {}
local function case(name, f, ...) cases[#cases + 1] = { name = name, f = f, given = { ... } } end

-- ---- Turns ----------------------------------------------------------------------------------------------------------

for turns = 0, 3 do
    case("maps, turns of " .. turns, function(x, v)
        return np.scan(function(c, r) c = (c + r):sin() return c, c * 2 end, v, x[{ { 0, turns } }])
    end, x, v)
end
case("reverse", function(x, v)
    return np.scan(function(c, r) return c * 0.5 + r, c end, v, x, { reverse = true })
end, x, v)
case("reductions", function(x, v)
    return np.scan(function(c, r)
        local s = np.softmax(r + c)
        return c + s * (r * c):sum(), { s:max(), r:mean() }
    end, v, x)
end, x, v)
case("carries that stay, and that change places", function(x, v)
    return np.scan(function(c, r) return { a = c.b + 1, b = c.a, still = c.still }, c.a + c.still end,
                   { a = v, b = v * 2, still = v + 3 }, x)
end, x, v)
case("products", function(x, m)
    return np.scan(function(c, r) c = np.tanh(c:matmul(m) + r) return c, c:sum() end, np.zeros { 60 }, x)
end, small, m)
case("a counter and rows at places", function(x, v)
    return np.fori_loop(0, 6, function(i, c) return c:at{ i }:set(c[i] + v):at{ 5 - i }:add(v) end, x)
end, x, v)
case("rows at places that are data", function(x, v, places)
    return np.scan(function(c, p)
        c = np.dynamic_update_index_in_dim(c, np.dynamic_index_in_dim(c, p) * 0.5 + v, 5 - p)
        return c, np.take(c, p, { axis = 0 })
    end, x, places)
end, x, v, places)
case("draws, sorts and sums along an axis", function(x, v)
    return np.scan(function(c, i)
        local n = np.random.normal(np.random.fold_in(np.random.key(1), i), { 3000 })
        return np.sort(c + n), (c * n):cumsum()
    end, v, np.arange(4))
end, x, v)
case("whole numbers and bools", function(x)
    local function turn(c, r) return { n = c.n * 3 + r:gt(0):astype "i32", b = np.logical_xor(c.b, r:gt(0)) }, c.b end
    return np.scan(turn, { n = np.zeros({ 3000 }, { dtype = "i32" }), b = np.zeros({ 3000 }, { dtype = "bool" }) }, x)
end, x)
case("constants", function(x)
    local table = np.array { 1, 2, 3 }
    return np.scan(function(c, r) return c + r * table[1] + np.arange(3000), c end, np.ones { 3000 }, x)
end, x)
case("numbers that are arguments", function(x, v, rate)
    return np.scan(function(c, r)
        local inside = np.fori_loop(0, 3, function(i, a) return a - a * rate end, c)
        return inside + r * (rate * 2), c
    end, v, x)
end, x, v, 0.125)

-- ---- Inside each other ----------------------------------------------------------------------------------------------

case("loops in loops", function(x, v)
    return np.scan(function(c, r)
        local inner, all = np.scan(function(a, q) a = a * 0.5 + q + r return a, a:sum() end, c, x[{ { 0, 3 } }])
        return inner, all
    end, v, x)
end, x, v)
case("branches", function(x, v, one_of)
    return np.scan(function(c, t)
        local r, i = t[1], t[2]
        c = np.cond(r:sum():gt(0), function(c) return c + r end, function(c) return c * 0.9 end, c)
        return np.switch(i + 1, {
            function(c) return c end, function(c) return c:sin() end,
            function(c) return np.fori_loop(0, 2, function(_, c) return c * 1.5 end, c) end,
        }, c), c:max()
    end, v, { x, one_of })
end, x, v, one_of)
case("a branch by itself", function(x, v)
    return np.cond(x:sum():lt(1e9), function(v) return v + 1, v end, function(v) return v, v * 2 end, v)
end, x, v)
case("functions with rules", function(x, v)
    local f = np.custom_vjp(function(a) return a:sin() end)
    f:defvjp(function(a) return a:sin(), a end, function(a, ct) return ct * 2 end)
    return np.scan(function(c, r)
        return np.checkpoint(function(c) return (c * r):cos() end)(c) + f(c), c:sum()
    end, v, x)
end, x, v)

-- ---- Transforms -----------------------------------------------------------------------------------------------------

local function run(v, x)
    local c, ys = np.scan(function(c, r) c = (c * 0.5 + r):tanh() * v return c, (c * c):sum() end, v, x)
    return c:sum() + ys:sum()
end
case("gradients", np.grad(run, { argnums = { 1, 2 } }), v, x)
case("second derivatives", np.grad(function(v, x) return (np.grad(run)(v, x) ^ 2):sum() end), v, x)
case("tangents", function(v, x) return np.jvp(run, { v, x }, { v * 2, x }) end, v, x)
case("batches", np.vmap(function(v) return np.scan(function(c, r) return c * v + r, c:sum() end, v, x) end), x)
case("gradients of products", np.grad(function(m)
    local c = np.scan(function(c, r) return np.tanh(c:matmul(m) + r) end, np.zeros { 60 }, small)
    return c:sum()
end), m)
case("training", function(m, x, rate)
    local y = x:sum { axis = 1 }
    local function loss(w) return ((np.tanh(x:matmul(w.a)):matmul(w.b) - y) ^ 2):mean() end
    local both = np.value_and_grad(loss)
    return np.scan(function(w)
        local value, g = both(w)
        return { a = w.a - rate * g.a, b = w.b - rate * g.b }, value
    end, { a = m, b = m[0] }, nil, { length = 5 })
end, m, small, 0.05)

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
