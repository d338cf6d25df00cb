--- body_memory_test.lua (under tsan with --long): loops of bodies drawn at random, whose values share memory, in place
-- or not (plan/memory.c), give the bits of the same steps one by one; and so do their prints, which are made as the
-- body goes on.
--
--     NEAP_TEST_SEED=7 …        the first seed
package.path = "./?.lua;" .. package.path
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local seeds = require "tests.lib.seeds"

local N, TURNS = 40, 3

--- Each takes a generator, and the names of two values of N floats between -2 and 2; gives the text of another one.
local OPS = {
    function(_, a) return ("np.tanh(%s) * 2"):format(a) end,
    function(_, a, b) return ("(%s + %s) * 0.5"):format(a, b) end,
    function(_, a, b) return ("np.where(%s:gt(%s), %s, 1 - %s)"):format(a, b, b, a) end,
    function(_, a) return ("np.sort(%s)"):format(a) end,
    function(_, a) return ("np.sort(%s + 0.125):flip()"):format(a) end,
    function(_, a) return ("np.tanh(np.cumsum(%s))"):format(a) end,
    function(d, a) return ("%s:at { %d }:set(0.25)"):format(a, d(N) - 1) end,
    function(d, a, b) return ("np.sort(%s):at { { %d, %d } }:set(%s[0])"):format(a, d(9), 20 + d(9), b) end,
    function(_, a, b) return ("np.tanh(%s - %s:max())"):format(a, b) end,
    function(_, a, b) return ("(%s:astype 'f64' * 0.75):astype 'f32' - %s * 0.5"):format(a, b) end,
    function(_, a) return ("np.tanh(np.outer(%s, %s):sum({ axis = 1 }))"):format(a, a) end,
    function(_, a, b)
        return ("np.cond(%s:sum():gt(%s[1]), function(u, v) return np.sort(u) + v end, "
            .. "function(u, v) return np.tanh(v) * 0.5 - u end, %s, %s) * 0.5"):format(a, b, a, b)
    end,
}

--- The text of a function of c and x that gives the next c and two values; prints: it shows values, too.
local function draw(seed, prints)
    local d = seeds.generator(seed)
    local lines, n = { "local r = { c, x }" }, 2
    for _ = 1, 2 + d(10) do
        local a, b = ("r[%d]"):format(d(2) == 1 and n or d(n)), ("r[%d]"):format(d(n))
        n = n + 1
        lines[n - 1] = ("r[%d] = %s"):format(n, OPS[d(#OPS)](d, a, b))
        if prints and d(3) == 1 then
            local show = (" np.debug.print({ ordered = true }, '{} {}', r[%d], r[%d])"):format(n, d(n))
            lines[n - 1] = lines[n - 1] .. show
        end
    end
    lines[n] = ("return np.tanh(r[%d]), { r[%d], r[%d] }"):format(n, d(n), d(2) == 1 and n or d(n))
    return "return function(np, c, x) " .. table.concat(lines, "; ") .. " end"
end

local function inputs(np)
    return np.sin(np.arange(N):astype "f32"), np.cos(np.arange(TURNS * N):astype "f32"):reshape(TURNS, N)
end

local function in_loop(np, body)
    local c, x = inputs(np)
    local last, ys = np.scan(function(s, t) return body(np, s, t) end, c, x)
    return last, ys[1], ys[2]
end

local function one_by_one(np, body)
    local c, x = inputs(np)
    local first, second = {}, {}
    for k = 1, TURNS do
        local ys
        c, ys = body(np, c, x[k - 1])
        first[k], second[k] = ys[1], ys[2]
        np.wait_all()
    end
    return c, np.stack(first), np.stack(second)
end

-- By machine code, where there is some, the same memory is read and written otherwise.
for _, tier in ipairs { "vm", "native" } do
    check.test("values, tier " .. tier, function()
        local np = require "neap"
        np.debug.kernels { tier = tier }
        for seed in seeds.each(tier == "vm" and 60 or 20) do
            local text = draw(seed)
            local body = loadstring(text)()
            local loop, steps = { in_loop(np, body) }, { one_by_one(np, body) }
            for k = 1, 3 do
                check.ok(loop[k]:eq(steps[k]):all():item(), ("seed %d, value %d of %s"):format(seed, k, text))
            end
        end
    end)
end

check.test("prints", function()
    for seed in seeds.each(4) do
        local head = ("local N, TURNS = %d, %d "):format(N, TURNS) .. [[
            local np = require "neap"
            local c, x = np.sin(np.arange(N):astype "f32"), np.cos(np.arange(TURNS * N):astype "f32"):reshape(TURNS, N)
            local body = (function() ]] .. draw(seed, true) .. [[ end)()
        ]]
        local loop = process.output(head .. "np.scan(function(s, t) return body(np, s, t) end, c, x)")
        local steps = process.output(head .. "for k = 1, TURNS do c = body(np, c, x[k - 1]) np.wait_all() end")
        check.equal(loop, steps, "seed " .. seed)
    end
end)

check.done()
