--- rules_test.lua (under asan with --long): random functions of rules and control in the body of np.shard_map, compared
-- with the same function of each device's part: values, gradients from outside and inside the body, jitted, and mapped.
--
-- NEAP_TEST_SEED is the first seed, NEAP_TEST_PROGRAMS says how many functions are drawn.
local check = require "tests.lib.check"
local np = require "neap"
require "tests.lib.devices"(4, "tests/mesh/rules_test.lua")

local P = np.P
local specs = { mesh = np.mesh({ 4 }, { "i" }), in_specs = P "i", out_specs = P "i" }
local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"
local first = tonumber(os.getenv "NEAP_TEST_SEED") or 1
local count = tonumber(os.getenv "NEAP_TEST_PROGRAMS") or release and 24 or 4
local x = np.array({ 0.5, 0.75, 1, 1.25 }, { dtype = "f64" })

-- ---- Functions of an array of one element ---------------------------------------------------------------------------

--- Each makes a function of another one, `inner`, which a rule or control goes through.
local makers = {
    checkpoint = function(inner) return np.checkpoint(inner) end,
    fori_loop = function(inner)
        return function(q) return np.fori_loop(0, 2, function(_, c) return np.sin(c * q) + inner(q) end, q) end
    end,
    scan = function(inner)
        return function(q)
            return (np.scan(function(c, y) return np.cos(c) * y + inner(q), c end, q, np.stack { q, q * q }))
        end
    end,
    cond = function(inner) return function(q) return np.cond(true, inner, np.cos, q) end end,
    ["jvp that reads a loop"] = function(inner)
        local h = np.custom_jvp(function(q) return inner(q) end)
        return h:defjvp(function(p, t)
            return inner(p[1]), np.fori_loop(0, 2, function(_, c) return np.sin(c) * p[1] end, p[1]) * t[1]
        end)
    end,
    ["jvp that calls its function"] = function(inner)
        local h = np.custom_jvp(function(q) return inner(q) end)
        return h:defjvp(function(p, t) return h(p[1]), np.cos(h(p[1])) * t[1] end)
    end,
    ["jvp with a loop of tangents"] = function(inner)
        local h = np.custom_jvp(function(q) return inner(q) end)
        return h:defjvp(function(p, t)
            return inner(p[1]), np.fori_loop(0, 2, function(_, c) return c * np.sin(p[1]) end, t[1])
        end)
    end,
    ["jvp with a branch of tangents"] = function(inner)
        local h = np.custom_jvp(function(q) return inner(q) end)
        return h:defjvp(function(p, t)
            return inner(p[1]), np.cond(true, function(c) return c * p[1] end, function(c) return c end, t[1])
        end)
    end,
    vjp = function(inner)
        local h = np.custom_vjp(function(q) return inner(q) end)
        return h:defvjp(function(q) return inner(q), q end,
            function(q, ct) return np.checkpoint(np.sin)(q) * ct end)
    end,
    kernel = function(inner)
        local square = np.kernel { args = { "x" }, real = "x * x", grad = { "2 * x" } }
        return function(q) return square(inner(q)) end
    end,
    det = function(inner)
        local m = np.array({ { 2, 0.3 }, { 0.2, 1 } }, { dtype = "f64" })
        return function(q) return np.linalg.det(m * q[0]) * inner(q) end
    end,
    custom_root = function(inner)
        return function(q)
            return np.custom_root(function(y) return y * y - q * q - 1 end, q + inner(q) * 0, function(f, y)
                return np.fori_loop(0, 20, function(_, z) return z - f(z) / (2 * z) end, y + 1)
            end, function(g, y) return y / g(np.ones_like(y)) end)
        end
    end,
    cg = function(inner)
        return function(q)
            return (np.sparse.cg(function(v) return v * (inner(q) + 2) end, np.ones({ 1 }, { dtype = "f64" })))
        end
    end,
    ["custom_linear_solve of what all devices share"] = function(inner)
        local one = np.ones({ 1 }, { dtype = "f64" })
        local function solve(a, b) return b / a(one) end
        return function(q)
            return np.custom_linear_solve(function(v) return v * (inner(q) + 2) end, one, solve, solve)
        end
    end,
    custom_linear_solve = function(inner)
        return function(q)
            return np.custom_linear_solve(function(v) return v * (q + 1) end, inner(q),
                function(a, b) return b / a(np.ones_like(b)) end, nil, { symmetric = true })
        end
    end,
}

local names = {}
for name in pairs(makers) do names[#names + 1] = name end
table.sort(names)

--- The function of makers that stand one in another, the outermost first.
local function made(list)
    local f = np.sin
    for k = #list, 1, -1 do f = makers[list[k]](f) end
    return f
end

-- ---- Comparing ------------------------------------------------------------------------------------------------------

local function gradient(f) return np.grad(function(q) return f(q):sum() end) end

local function sharded(f) return np.shard_map(f, specs) end

--- f of each device's part.
local function by_part(f, a)
    local parts = {}
    for k = 0, 3 do parts[k + 1] = f(a[{ { k, k + 1 } }]) end
    return np.concatenate(parts)
end

local function near(got, want, what)
    local scale = 1 + np.abs(want):max():item()
    check.ok(np.abs(got - want):max():item() <= 1e-9 * scale, ("%s: %s, expected %s"):format(what, got, want))
end

local function compare(list)
    local f, what = made(list), table.concat(list, " of ")
    local value, slope = by_part(f, x), by_part(gradient(f), x)
    local inside, outside = sharded(gradient(f)), gradient(sharded(f))
    near(sharded(f)(x), value, what)
    near(inside(x), slope, what .. ", gradient inside")
    near(outside(x), slope, what .. ", gradient outside")
    near(np.jit(inside)(x), slope, what .. ", gradient inside, jitted")
    near(np.jit(outside)(x), slope, what .. ", gradient outside, jitted")
    near(np.vmap(outside)(np.stack { x, x })[1], slope, what .. ", gradient outside, mapped")
end

for _, name in ipairs(names) do
    check.test(name .. " in a body", function() compare { name } end)
end

check.test("functions that stand one in another", function()
    for seed = first, first + count - 1 do
        math.randomseed(seed)
        local list = {}
        for k = 1, math.random(2, 3) do list[k] = names[math.random(#names)] end
        compare(list)
    end
end)

check.done()
