--- lowered_test.lua: loops of bodies drawn at random, and their gradients, give the same bits by machine code
-- (control/lower.c) and going through their steps.
--
--     NEAP_TEST_SEED=7 …        the first seed
package.path = "./?.lua;" .. package.path
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"

local SIZES = { 1, 2, 3, 5, 16, 17, 63, 64, 65, 100, 257, 300 }
local DTYPES = { "f32", "f32", "f32", "f64", "f16", "bf16", "i32", "i64", "u8" }

--- Each takes a generator and three expressions: two of arrays of N elements and the carries' dtype, and a number, i32;
--- gives one of N elements or of one.
local OPS = {
    function(_, a, b) return ("%s + %s"):format(a, b) end,
    function(_, a, b) return ("%s * %s - %s"):format(a, b, a) end,
    function(_, a, b) return ("np.where(%s:gt(%s), %s, %s)"):format(a, b, b, a) end,
    function(_, a, b) return ("np.maximum(%s, %s)"):format(a, b) end,
    function(_, a) return ("F(np.tanh(R(%s)))"):format(a) end,
    function(_, a) return ("%s + %s:sum()"):format(a, a) end,
    function(_, a, b) return ("%s - F(%s:max())"):format(a, b) end,
    function(_, a) return ("F(np.exp(R(%s) - R(%s):max()) / np.exp(R(%s) - R(%s):max()):sum())"):format(a, a, a, a) end,
    function(_, a, _, i) return ("%s[%s]"):format(a, i) end,
    function(_, _, _, i) return ("T[%s]"):format(i) end,
    function(_, a, b, i) return ("%s:at{%s}:set(%s[0])"):format(a, i, b) end,
    function(_, a, b, i) return ("%s:at{%s}:add(%s[-1])"):format(a, i, b) end,
    function(_, a, _, i) return ("%s:at{%s}:max(1)"):format(a, i) end,
    function(d, a) return ("%s:at{0}:set(F(np.arange(%d)[%d] * %d))"):format(a, d(3) == 1 and 1 or d(9), 0, d(5)) end,
    function(d, a) return ("%s + F(np.arange(N) * %d)"):format(a, d(3)) end,
    function(_, a) return ("F(W:matmul(R(%s):astype 'f32'))"):format(a) end,
    function(_, a) return ("F(R(%s):astype 'f32':matmul(W))"):format(a) end,
    function(_, a, b) return ("np.flip(%s) + %s"):format(a, b) end,
    function(_, a, b, i)
        return ("np.cond(%s:gt(0), function(u, v) return u + v end, function(u, v) return u:at{0}:set(v[0]) end, "
            .. "%s, %s)"):format(i, a, b)
    end,
    function(_, a, b, i)
        return ("np.switch(%s, {function(u, v) return u - v end, function(u) return u * 2 end, "
            .. "function(u, v) return u:at{-1}:add(v[0]) end}, %s, %s)"):format(i, a, b)
    end,
}

--- The text of a function of carries a and b of N elements, a number i and an element x: the next ones, and a value.
local function draw(seed)
    local d = seeds.generator(seed)
    local lines, n = { "local r = { a, b, x }" }, 3
    for _ = 1, 1 + d(6) do
        local function any() return ("r[%d]"):format(d(2) == 1 and n or d(n)) end
        local index = d(4) == 1 and "(i + 1)" or d(3) == 1 and "I(" .. any() .. "[0])" or "i"
        local text = OPS[d(#OPS)](d, any(), any(), index)
        n = n + 1
        lines[#lines + 1] = ("r[%d] = S(%s)"):format(n, text)
    end
    local swaps = d(4) == 1
    lines[#lines + 1] = ("return %s, %s, %s, r[%d]"):format(
        swaps and "b" or ("r[%d]"):format(n), swaps and "a" or d(3) == 1 and "b" or ("r[%d]"):format(d(n)),
        d(2) == 1 and "i + 1" or "I(" .. ("r[%d]"):format(n) .. ":sum())", d(n))
    return table.concat(lines, "\n")
end

--- Results of the loop of a seed, as one list of arrays.
local function run(np, seed, derive)
    local d = seeds.generator(seed * 31 + 7)
    local size, dtype, turns = SIZES[d(#SIZES)], derive and "f32" or DTYPES[d(#DTYPES)], ({ 0, 1, 2, 3, 7, 12 })[d(6)]
    local real = dtype:find "f" and dtype or "f32"
    local env = setmetatable({ N = size }, { __index = { np = np } })
    local zero = np.zeros(size, { dtype = dtype })
    local function data(n, shift)
        return ((np.arange(n) * 7 + shift) % 11 - 5):astype(dtype) * (dtype:find "f" and 0.25 or 1)
    end
    function env.R(v) return v:astype(real) end
    function env.F(v) return v:astype(dtype) end
    function env.I(v) return np.clip(v:astype "f32", -3, 3):astype "i32" end
    --- Bounded, and of the carries' form.
    function env.S(v)
        if dtype:find "f" then v = np.clip(np.where(np.isfinite(v), v, 0), -4, 4) end
        return v:astype(dtype) + zero
    end
    env.T = data(9, 2)
    env.W = (np.arange(size * size) % 13 - 6):astype "f32":reshape(size, size) / size
    local text = "return function(a, b, i, x) " .. draw(seed) .. " end"
    local body = setfenv(assert(loadstring(text, "body"), text), env)()
    local xs = data(turns * size, 3):reshape(turns, size)
    local function loop(a, b)
        local last, ys = np.scan(function(c, x)
            local a2, b2, i2, y = body(c[1], c[2], c[3], x)
            return { a2, b2, i2 }, y
        end, { a, b, np.array(1, { dtype = "i32" }) }, xs)
        return last[1], last[2], last[3], ys
    end
    local a, b = data(size, 0), data(size, 5)
    if not derive then return { np.jit(loop)(a, b) }, text end
    local g, h = np.jit(np.grad(function(u, v)
        local p, q, _, ys = loop(u, v)
        return p:sum() + (q * 0.5):sum() + ys:sum() * 0.25
    end, { argnums = { 1, 2 } }))(a, b)
    return { g, h }, text
end

for what, most in pairs { values = 60, gradients = 15 } do
    check.test(what, function()
        local np = require "neap"
        local derive = what == "gradients"
        for seed in seeds.each(most) do
            np.debug.kernels { tier = "vm" }
            local steps, text = run(np, seed, derive)
            for k = 1, #steps do steps[k] = steps[k]:wait() end
            np.debug.kernels { tier = "native" }
            local code = run(np, seed, derive)
            for k = 1, #steps do
                local same = np.array_equal(code[k], steps[k], { equal_nan = not steps[k].dtype:find "[iu]" })
                check.ok(same, ("seed %d, value %d of %s"):format(seed, k, text))
            end
        end
    end)
end

check.done()
