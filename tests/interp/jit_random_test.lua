--- jit_random_test.lua (release build only): random functions, drawn at random, compiled against interpreted.
--
-- A function walks over tables by pairs, appends to tables that two variables share, calls what LuaJIT does not compile
-- (table.sort) and functions with frames of very different sizes. It runs with many values of hotloop and hotexit, then
-- in coroutines, each begun one frame deeper than the last: so compiled code meets a stack that must grow wherever it
-- lies. Patches 16 and 17 of tools/luajit-patches come from here: without them 10 of 1,500 functions, and 95 of 30,000,
-- gave another number.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local seeds = require "tests.lib.seeds"

local DEPTHS = 120

-- Tables have no holes, and no loop adds to what it walks over: their results are not defined.
local NUMBERS = { "i", "n", "#a", "#b", "#c", "(a[1] or 0)", "rest(i)", "(c.x or 1)", "n % 7", "i * 2 + 1" }
local TABLES = { "a", "b", "c", "e" }
local KEYS = { "p", "q", "r", "s" }

local draw -- a generator of integers

local function one_of(list) return list[draw(#list)] end
local function number() return one_of(NUMBERS) end

local statement
local SIMPLE = {
    function() return ("n = (n + %s) %% 10007"):format(number()) end,
    function()
        local t = one_of(TABLES)
        return ("%s[#%s + 1] = %s"):format(t, t, number())
    end,
    function() return ("%s.%s = %s"):format(one_of(TABLES), one_of(KEYS), number()) end,
    function() return ("%s = { %s, %s, x = %s }"):format(one_of(TABLES), number(), number(), number()) end,
    function()
        local t, u = one_of(TABLES), one_of(TABLES)
        return ("local m = #%s %s[#%s + 1] = %s n = n + 3 * #%s - m"):format(t, u, u, number(), t)
    end,
    function() return "sort(none)" end,
    function() return ("n = (n + other(%s, %s)) %% 10007"):format(one_of(TABLES), number()) end,
    function() return "n = n + #(text .. n)" end,
}
local NESTED = {
    function()
        local t = one_of(TABLES)
        return ("for k, v in pairs(%s) do if type(v) == 'number' then n = (n + v) %% 10007 end %s end"):format(
            t, t == "a" and "" or "a = { k and 1, n }")
    end,
    function(depth) return ("for j = 1, %d do %s end"):format(draw(4), statement(depth)) end,
    function(depth)
        return ("if %s %% 3 == 0 then %s else %s end"):format(number(), statement(depth), statement(depth))
    end,
    function(depth)
        local t = one_of(TABLES)
        return ("for j = 1, min(#%s, 9) do local v = %s[j] n = n + j %s end"):format(t, t, statement(depth))
    end,
    function() return ("do local k = { n, %s } n = n + result(function() return k[1] end) end"):format(number()) end,
}

--- A statement with at most 3 levels of others inside.
function statement(depth)
    local k = draw(#SIMPLE + (depth < 3 and #NESTED or 0))
    if k <= #SIMPLE then return SIMPLE[k]() end
    return NESTED[k - #SIMPLE](depth + 1)
end

local function statements(count)
    local list = {}
    for k = 1, count do list[k] = "do " .. statement(1) .. " end" end
    return table.concat(list, "\n    ")
end

--- Half of the frames have up to 120 slots more than their code needs.
local function slots()
    if draw(2) == 1 then return "" end
    local list = {}
    for k = 1, draw(120) do list[k] = "l" .. k end
    return ("do local %s end"):format(table.concat(list, ", "))
end

local function source()
    local inner = statements(draw(4)):gsub("other%(", "leaf(")
    return ([[
local sort, type, pairs, min, rest = table.sort, type, pairs, math.min, function(i) return i %% 5 end
local none, text = {}, "text"
local function result(f) return f() end
local function leaf(a, i) return #a + i %% 11 end
local function other(a, i)
    %s
    local n, b, c, e = 0, { 1, x = 2 }, { y = i }, a
    %s
    return n
end
return function(i)
    %s
    local n, a, b, c = 0, { i, 2, p = 3 }, { 1, 2, 3 }, { x = 1 }
    local e = c
    %s
    n = (n + other(a, i)) %% 10007
    %s
    return n .. ":" .. #a .. #b .. #c .. #e
end]]):format(slots(), inner, slots(), statements(draw(5)), statements(draw(3)))
end

--- f(i), called by `depth` frames.
local function deep(depth, f, i)
    if depth == 0 then return f(i) end
    local result = deep(depth - 1, f, i)
    return result
end

local function in_coroutine(depth, f, i)
    local _, result = coroutine.resume(coroutine.create(deep), depth, f, i)
    return result
end
jit.off(deep)
jit.off(in_coroutine)

local function compare(seed)
    draw = seeds.generator(seed)
    local text = source()
    local compiled, interpreted = assert(loadstring(text))(), assert(loadstring(text))()
    jit.off(interpreted, true)
    local expected = {}
    for i = 0, 9 do expected[i] = interpreted(i) end
    local hotloop, hotexit = draw(12), draw(4)
    jit.flush()
    jit.opt.start("hotloop=" .. hotloop, "hotexit=" .. hotexit)
    local function same(result, i, where)
        if result ~= expected[i] then
            check.equal(result, expected[i], ("seed %d, hotloop=%d, hotexit=%d, %s, i = %d\n%s"):format(
                seed, hotloop, hotexit, where, i, text))
        end
    end
    for k = 1, 60 do same(compiled(k % 10), k % 10, "call " .. k) end
    for depth = 0, DEPTHS do same(in_coroutine(depth, compiled, depth % 10), depth % 10, "depth " .. depth) end
end

local NAME = "compiled functions equal interpreted ones, at each depth of the stack"
if process.has_hook_checks() then
    check.test(NAME, function()
        for seed in seeds.each(1000) do compare(seed) end
        jit.opt.start("hotloop=56", "hotexit=10")
    end)
else
    check.skip(NAME, "the packaged LuaJIT compiles some wrongly")
end

check.done()
