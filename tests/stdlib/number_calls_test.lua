--- number_calls_test.lua (not under tsan): what a jitted function gives for a number depends on this call alone.
-- Random functions, made of the ways in which numbers reach arrays, are called with random numbers one after another,
-- and each call is compared with the same call of a new jitted function, which has no earlier calls, and with f itself.
local check = require "tests.lib.check"
local np = require "neap"

local NUMBERS = { 0, 1, -1, 0.5, 2.5, 300, math.huge, 0 / 0 }
local DTYPES = { "u8", "i32", "i64", "f32", "bool" }
local mask = np.array { true, false }

--- Ways from an array, a number and another one to an array of the same shape; `eager`: without jit they give the same.
-- In the others a loop, which is traced, may say no to what eager code does, or the dtype of constants is its own.
local WAYS = {
    { eager = true, f = function(x, n) return x * n end },
    { eager = true, f = function(x, n) return x - n end },
    { eager = true, f = function(x, n, m) return np.where(mask, n, m) * x end },
    { eager = true, f = function(x, n) return np.where(mask, n, 0) + x end },
    { eager = true, f = function(x, n) return np.where(mask, x, n) end },
    { eager = true, f = function(x, n, m) return np.select({ mask }, { n }, m) + x end },
    { eager = true, f = function(x, n) return np.vmap(function(a) return a * n end)(x) end },
    { eager = true, f = function(x, n)
        return np.vmap(function(a, b) return a + b end, { in_axes = { 0, false } })(x, n)
    end },
    { eager = true, f = function(x, n) return np.map(function(a) return a + n end, x) end },
    { eager = true, f = function(x, n) return np.jit(function(a, b) return a * b end)(x, n) end },
    { eager = true, f = function(x, n) return np.jit(function(b) return np.where(mask, b, 1) end)(n) * x end },
    { eager = true, f = function(x, n) return np.checkpoint(function(a, b) return a * b end)(x, n) end },
    { f = function(x, n) return x + (np.scan(function(c, k) return c + k, nil end, n, x)) end },
    { f = function(x, n) return x + (np.scan(function(c, k) return c + k * n, nil end, 0, x)) end },
    { f = function(x, n) return x * np.fori_loop(0, 2, function(_, c) return c * 2 end, n) end },
    { f = function(x, n) return np.fori_loop(0, 2, function(_, c) return c + n end, x) end },
    { f = function(x, n) return np.cond(mask[0], function(c) return c + n end, function(c) return c - n end, x) end },
    { f = function(x, n, m)
        return np.cond(mask[0], function(c, b) return c * b end, function(c, b) return c + b end, x, n) + m
    end },
    { f = function(x, n, m) return np.cond(mask[1], function() return n end, function() return m end) * x end },
}

local state = 20240611
local function random(n)
    state = (state * 16807) % 2147483647
    return state % n + 1
end

--- A function that applies some ways one after another; and whether eager code gives the same.
local function random_function()
    local ways, eager, text = {}, true, {}
    for k = 1, random(3) do
        text[k] = random(#WAYS)
        ways[k], eager = { WAYS[text[k]].f, random(2) == 1 }, eager and WAYS[text[k]].eager
    end
    local function f(x, n, m)
        for _, way in ipairs(ways) do
            if way[2] then x = way[1](x, n, m) else x = way[1](x, m, n) end
        end
        return x
    end
    return f, eager, table.concat(text, " ")
end

--- What a call gives, as text, "error" for an error: what is refused has to be refused whatever came before.
local function outcome(f, x, n, m)
    local ok, value = pcall(function()
        local value = f(x, n, m)
        return value.dtype .. " " .. tostring(value)
    end)
    return ok and value or "error"
end

check.test("each call is as the first of a new jitted function, and as eager code", function()
    local given, compared = 0, 0
    for _ = 1, 60 do
        local f, eager, text = random_function()
        local dtype = DTYPES[random(#DTYPES)]
        local x = np.array({ 1, 0 }, { dtype = dtype })
        local jitted = np.jit(f)
        for _ = 1, 8 do
            local n, m = NUMBERS[random(#NUMBERS)], NUMBERS[random(#NUMBERS)]
            local got, name = outcome(jitted, x, n, m), ("ways %s of %s, %s, %s"):format(text, dtype, n, m)
            check.equal(got, outcome(np.jit(f), x, n, m), name)
            given = given + (got == "error" and 0 or 1)
            local plain = eager and outcome(f, x, n, m) or "error"
            if got ~= "error" and plain ~= "error" then
                compared = compared + 1
                check.equal(got, plain, name)
            end
        end
    end
    check.ok(given > 150, given .. " calls gave something")
    check.ok(compared > 50, compared .. " calls were compared with eager code")
end)

check.done()
