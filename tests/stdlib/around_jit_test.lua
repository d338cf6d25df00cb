--- around_jit_test.lua (under asan with --long): functions drawn at random that read numbers, booleans, strings,
-- functions, tables and arrays around them, which change between calls: jitted, in a block of np.staged, inside another
-- jitted function, under a gradient and a batch they give what the function itself gives.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local seeds = require "tests.lib.seeds"

-- ---- Variables that LuaJIT takes for constants ---------------------------------------------------------------------

check.test("code that LuaJIT compiles while a function is recorded keeps no stand-in of a variable", function()
    local ways = {
        function(f, y) return np.jit(f)(y) end,
        function(f, y) return np.jit(function(z) return np.jit(f)(z) end)(y) end,
        function(f, y) return np.staged(function() return f(y) end) end,
    }
    local x, y = np.array { 1, 2 }, np.array { 3, 4 }
    local function hot(f, n)
        for _ = 1, n do f(y) end
    end
    jit.off(hot) -- so that f is compiled, not the loop
    for w, way in ipairs(ways) do
        for n = 1, 140 do -- at one of these code of f is there as far as gsub, and what follows is compiled next
            local text = [[
                local x, gsub = ...
                return function(y)
                    local s = gsub("a", "a", "b")
                    local z = x + y
                    s = gsub("b", "b", "c")
                    return z
                end -- %d of %d
            ]]
            local f = assert(loadstring(text:format(n, w)))(x, string.gsub)
            hot(f, n)
            check.equal(way(f, y):totable(), { 4, 6 })
            check.equal(f(y):totable(), { 4, 6 }, ("after way %d, behind %d calls"):format(w, n))
        end
    end
end)

-- ---- Every kind of value, by hand -----------------------------------------------------------------------------------

check.test("numbers, booleans, strings, nil and functions around a jitted function", function()
    local value
    local f = np.jit(function(x)
        if type(value) == "number" then return x * value end
        if type(value) == "function" then return value(x) end
        return x + (value == nil and 10 or value == true and 20 or value == false and 30 or #value)
    end)
    local x = np.array { 1, 2 }
    local function is(expected) check.equal(f(x):totable(), expected) end
    is { 11, 12 }
    value = 2 is { 2, 4 }
    value = 3 is { 3, 6 }
    value = true is { 21, 22 }
    value = false is { 31, 32 }
    value = "four" is { 5, 6 }
    value = np.negative is { -1, -2 }
    value = function(y) return y end is { 1, 2 }
    value = nil is { 11, 12 }
    local traces = np.jit_cache(f).traces
    for _, again in ipairs { 2, 3, true, false, "four" } do
        value = again
        f(x)
    end
    check.equal(np.jit_cache(f).traces, traces)
end)

check.test("zeros of both signs, and what is no number", function()
    local c = 0
    local f = np.jit(function(x) return x + 1 / c end)
    check.equal(f(1):item(), math.huge)
    c = -0.0
    check.equal(f(1):item(), -math.huge)
    c = 0 / 0
    local y = f(1):item()
    check.ok(y ~= y)
    local traces = np.jit_cache(f).traces
    f(1)
    check.equal(np.jit_cache(f).traces, traces)
end)

check.test("fields that are read by name, of tables around a jitted function", function()
    local cfg = { optim = { lr = 0.5 }, 4 }
    local params = { w = np.array { 1, 2 } }
    local f = np.jit(function(x) return x * cfg.optim.lr + cfg[1] + params.w end)
    local function is(expected) check.equal(f(2):totable(), expected) end
    is { 6, 7 }
    cfg.optim.lr = 1 is { 7, 8 }
    cfg.optim = { lr = 2 } is { 9, 10 }
    cfg[1] = 0 is { 5, 6 }
    cfg = { 1, optim = { lr = 0 } } is { 2, 3 }
    params.w = np.array { 5, 6 } is { 6, 7 }
    params = { w = np.array { 0, 0 } } is { 1, 1 }
    local traces = np.jit_cache(f).traces
    cfg = { 1, optim = { lr = 0 } } -- the same values
    is { 1, 1 }
    check.equal(np.jit_cache(f).traces, traces)
end)

check.test("what the reason says", function()
    local lr, act, cfg = 0.4, np.tanh, { name = "a" }
    local f = np.jit(function(x) return act(x) * lr + #cfg.name end)
    local function reason()
        f(1)
        return np.jit_cache(f).reason
    end
    f(1)
    lr = 0.2
    check.equal(reason(), "the variable 'lr' was 0.4 and is 0.2")
    act = np.exp
    check.equal(reason(), "the variable 'act' holds another function")
    cfg.name = "bc"
    check.equal(reason(), "the field 'cfg.name' was \"a\" and is \"bc\"")
    lr = nil
    check.raises(function() f(1) end, "nil")
    lr = 0.1
    check.equal(reason(), "the variable 'lr' was nil and is 0.1")
    check.ok(tostring(np.jit_cache(f)):find('(number; cfg.name = "bc", lr = 0.1)', 1, true), tostring(np.jit_cache(f)))
    check.ok(tostring(np.explain(f)):find('for arguments (number; cfg.name = "a", lr = 0.2)', 1, true))
end)

check.test("a variable that the function assigns itself is no reason to record", function()
    local count = 0
    local f = np.jit(function(x)
        count = count + 1
        return x + count
    end)
    for _ = 1, 3 do check.equal(f(1):item(), 2) end
    check.equal(np.jit_cache(f).traces, 1)
end)

check.test("what callbacks read and assign is no reason to record", function()
    local traces, calls, outside, factor = 0, 0, 0, 2
    local function log() outside = outside + 1 end
    local f = np.jit(function(x)
        traces = traces + 1
        np.callback(function() calls = calls + 1 end)()
        np.callback(log)()
        return x * factor
    end)
    for k = 1, 6 do
        if k == 4 then factor = 3 end
        check.equal(f(2):item(), 2 * factor)
    end
    np.effects_barrier()
    check.equal({ traces, calls, outside }, { 2, 6, 6 })
end)

check.test("no object is kept alive for a comparison", function()
    local big = setmetatable({}, { __mode = "v" })
    local held = { 1 }
    big[1] = held
    local f = np.jit(function(x) return x + #held end)
    check.equal(f(1):item(), 2)
    held = { 1, 2 }
    collectgarbage()
    collectgarbage()
    check.equal(big[1], nil)
    check.equal(f(1):item(), 3)
end)

check.test("more variables than a function can have", function()
    local code = { "local np = ... " }
    for k = 1, 130 do code[#code + 1] = ("local v%d = %d"):format(k, k) end
    for k = 0, 2 do
        code[#code + 1] = ("local function f%d(x) return x"):format(k)
        for i = 1, 40 do code[#code + 1] = (" + v%d"):format(40 * k + i) end
        code[#code + 1] = " end"
    end
    code[#code + 1] = "return function(x) return f0(x) + f1(x) + f2(x) end, function(a, b) v7, v119 = a, b end"
    local f, set = assert(loadstring(table.concat(code, "\n")))(np)
    local g = np.jit(f)
    for k = 1, 4 do
        check.equal(g(1):item(), f(1))
        set(k, -k)
    end
end)

check.test("the programs of sixteen sets of values are kept, the last ones", function()
    local c = 0
    local f = np.jit(function(x) return x + c end)
    for k = 1, 40 do
        c = k
        check.equal(f(1):item(), 1 + k)
    end
    check.equal(#np.jit_cache(f).entries, 16)
    c = 30
    check.equal({ f(1):item(), np.jit_cache(f).traces }, { 31, 40 })
    c = 2
    check.equal({ f(1):item(), np.jit_cache(f).traces }, { 3, 41 })
end)

check.test("a value that changes at each call is told once", function()
    local _, out, told = process.run_neap { "-e", [[
        local lr = 1
        local step = np.jit(function(w) return w - lr * w end)
        local w = np.array(1)
        for k = 2, 40 do
            w = step(w)
            lr = 1 / k
        end
        print(w, np.jit_cache(step).traces)
    ]] }
    check.equal(out, "0.0\t39\n")
    check.ok(told:find("'lr' had another value at each of the last calls", 1, true), told)
    check.equal(select(2, told:gsub("warning", "")), 1)
end)

-- ---- Drawn at random ------------------------------------------------------------------------------------------------

local NUMBERS = { "0", "-0.0", "1", "2", "0.5", "-3", "1e30", "0/0", "1/0" }
local STRINGS = { "''", "'a'", "'b\\n'", "'\\0'", "'\\\\'" }
local ARRAYS = { "np.ones(3)", "np.arange(3)", "np.array{1,2,3}:wait()", "np.array(4)", "np.ones{2,3}:sum(0)" }
local FUNCTIONS = { "np.tanh", "np.abs", "function(y) return y * 2 end", "function(y) return y - 1 end", "np.negative" }

--- A value of a kind, as text.
local function draw_value(d, kind)
    local function any(list) return list[d(#list)] end
    if kind == "number" then return d(6) == 1 and any(ARRAYS) or any(NUMBERS) end
    if kind == "boolean" then return any { "true", "false", "nil" } end
    if kind == "string" then return any(STRINGS) end
    if kind == "array" then return d(6) == 1 and any { "1", "2" } or any(ARRAYS) end
    if kind == "function" then return any(FUNCTIONS) end
    return ("{ a = %s, b = { c = %s, on = %s }, w = %s, %s, f = %s }"):format(
        draw_value(d, "number"), draw_value(d, "number"), draw_value(d, "boolean"), draw_value(d, "array"),
        draw_value(d, "number"), draw_value(d, "function"))
end

local KINDS = { "number", "number", "boolean", "string", "array", "function", "table", "table" }

--- An expression of an array x that reads variable v of a kind.
local function draw_read(d, v, kind)
    local function any(list) return list[d(#list)]:gsub("V", v) end
    if kind == "number" or kind == "array" then return any { "(x * V)", "(V + x)", "np.maximum(x, V)" } end
    if kind == "boolean" then return any { "(V and x or -x)", "(V == nil and x or x + 1)" } end
    if kind == "string" then return any { "(x + #V)", "(V == 'a' and x * 2 or x)" } end
    if kind == "function" then return any { "V(x)", "(V(x) + x)" } end
    return any { "(x * V.a)", "(x + V.b.c)", "(V.b.on and x or x + 3)", "(x * V.w)", "(x - V[1])", "V.f(x)",
                 "(x + (V.none or 1))" }
end

--- The text of a chunk: it returns the function, a list of functions that change variables, and their texts.
local function draw(seed)
    local d = seeds.generator(seed)
    local lines, changes, n = { "local np = ..." }, {}, 3 + d(5)
    local kinds = {}
    for k = 1, n do
        kinds[k] = KINDS[d(#KINDS)]
        lines[#lines + 1] = (k % 2 == 0 and "local v%d = %s" or "v%d = %s"):format(k, draw_value(d, kinds[k]))
    end
    local function read()
        local k = d(n)
        return (draw_read(d, "v" .. k, kinds[k]))
    end
    lines[#lines + 1] = ("local function h(x) return %s end"):format(read())
    lines[#lines + 1] = ("local j = np.jit(function(x) return %s end)"):format(read())
    lines[#lines + 1] = "local function f(x)"
    for _ = 1, 1 + d(4) do
        local how = d(5)
        lines[#lines + 1] = how == 1 and "x = h(x)" or how == 2 and "x = j(x)"
            or how == 3 and ("x = (function(y) local x = y return %s end)(x)"):format(read())
            or ("x = %s"):format(read())
    end
    lines[#lines + 1] = "return x end"
    for _ = 1, 6 do
        local k = d(n)
        local place, kind = "v" .. k, kinds[k]
        if kind == "table" and d(3) > 1 then
            local field = ({ "a", "b.c", "b.on", "w", "f", "none" })[d(6)]
            place = place .. "." .. field
            kind = ({ a = "number", ["b.c"] = "number", ["b.on"] = "boolean", w = "array", f = "function",
                      none = "number" })[field]
        end
        changes[#changes + 1] = ("function() %s = %s end"):format(place, draw_value(d, kind))
    end
    lines[#lines + 1] = "return f, {" .. table.concat(changes, ", ") .. "}"
    return table.concat(lines, "\n")
end

--- The ways of calling f that must agree with f itself.
local function ways_of(f)
    local jitted, outer = np.jit(f), np.jit(function(x) return np.jit(f)(x) end)
    local batched = np.vmap(jitted)
    return {
        jitted = function(x) return jitted(x) end,
        outer = function(x) return outer(x) end,
        staged = function(x) return np.staged(function() return f(x) end) end,
        batched = function(x) return batched(x:reshape(1, 3))[0] end,
    }
end

local function slope(f, x) return np.grad(function(y) return f(y):sum() end)(x) end

check.test("drawn at random", function()
    local x = np.array { 1, -2, 3 }
    for seed in seeds.each(40) do
        local text = draw(seed)
        local env = setmetatable({}, { __index = _G })
        local f, changes = setfenv(assert(loadstring(text, "drawn")), env)(np)
        local d, ways = seeds.generator(seed + 7), ways_of(f)
        ways.slope = function(y) return slope(np.jit(f), y) end
        for turn = 1, 12 do
            local expected = { slope = slope(f, x) }
            for name, way in pairs(ways) do
                local same = np.array_equal(way(x), expected[name] or f(x), { equal_nan = true })
                check.ok(same, ("%s, turn %d of seed %d:\n%s"):format(name, turn, seed, text))
            end
            if d(3) > 1 then changes[d(#changes)]() end
        end
    end
end)

check.done()
