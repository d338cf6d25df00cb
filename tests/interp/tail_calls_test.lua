--- tail_calls_test.lua (sanitized with --long): a call in tail position keeps its line for errors, and tail recursion
-- is unbounded all the same.
--
-- Everything runs with the compiler and without: both take frames out of the stack, each in its own place.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local COUNT = 300000 -- far more frames than the stack has room for

--- Runs a program that prints, compiled and interpreted.
local function prints(code, expected)
    code = ("local COUNT = %d\n"):format(COUNT) .. code
    for _, mode in ipairs { "jit.on()", "jit.off()" } do
        check.equal(process.output(mode .. " " .. code), expected .. "\n", mode)
    end
end

check.test("a function that calls itself", function()
    prints([[local function loop(n, sum) if n == 0 then return sum end return loop(n - 1, sum + n) end
        print(loop(COUNT, 0))]], ("%.14g"):format(COUNT * (COUNT + 1) / 2))
end)

check.test("functions that call each other, and a table of states", function()
    prints([[local even, odd
        function even(n) if n == 0 then return "even" end return odd(n - 1) end
        function odd(n) if n == 0 then return "odd" end return even(n - 1) end
        local states, count = {}, 0
        function states.a() count = count + 1 if count > COUNT then return count end return states[count % 2] () end
        states[0] = function() return states.a() end
        states[1] = function(...) return states[0](...) end
        print(even(COUNT), states.a())]], ("even\t%d"):format(COUNT + 1))
end)

check.test("variables that closures share keep their values when a frame goes", function()
    prints([[local kept = {}
        local function go(n, sum)
            local mine = n
            kept[n % 10 + 1] = function() mine = mine + 1 return mine end
            if n == 0 then return sum end
            return go(n - 1, sum + kept[n % 10 + 1]())
        end
        local sum = go(COUNT, 0)
        for k = 1, 10 do assert(kept[k]() == k + (k == 1 and 0 or 1)) end
        print(sum)]], ("%.14g"):format(COUNT * (COUNT + 1) / 2 + COUNT))
    prints([[local function count(n, k)
            if n == 0 then return k(0) end
            local m = n
            return count(n - 1, function(s) return k(s + (m > 0 and 1 or 0)) end)
        end
        print(count(COUNT, function(s) return s end))]], tostring(COUNT))
end)

check.test("open variables of frames that stay are still shared", function()
    prints([[local function loop(n) if n == 0 then return "end" end return loop(n - 1) end
        local function outer(depth)
            local x = depth
            local function add() x = x + 1 end
            local text = loop(COUNT / 30)
            add()
            if depth > 0 then local inner = outer(depth - 1) add() assert(x == depth + 2 and inner == "end") end
            return text
        end
        print((outer(30)))]], "end")
end)

check.test("variable arguments, several results, errors, coroutines, metamethods", function()
    prints([[local function va(n, ...) if n == 0 then return select("#", ...), ... end return va(n - 1, ...) end
        print(va(COUNT, 1, nil, 3))]], "3\t1\tnil\t3")
    prints([[local function fails(n) if n == 0 then error("at the end", 0) end return fails(n - 1) end
        print(pcall(fails, COUNT))]], "false\tat the end")
    prints([[local function loop(n) if n % (COUNT / 3) == 0 then coroutine.yield(n) end return loop(n + 1) end
        local co = coroutine.wrap(function() return loop(1) end)
        print(co(), co(), co())]], ("%d\t%d\t%d"):format(COUNT / 3, 2 * COUNT / 3, COUNT))
    prints([[local t
        local function loop(n, k) if n == 0 then return t[k - 1] end return loop(n - 1, k) end
        t = setmetatable({}, { __index = function(_, k) if k == 0 then return "x" end return loop(COUNT / 60, k) end })
        print(t[60])]], "x")
end)

check.test("what is no tail recursion overflows the stack, and the session goes on", function()
    prints([[local function deep(n) return 1 + deep(n + 1) end
        local ok, message = pcall(deep, 1)
        print(ok, (message:gsub("^.*: ", "")))]], "false\tstack overflow")
end)

if process.has_hook_checks() then
    check.test("each caller's line is told", function()
        local script = process.file [[
local function f(a)
    return a:sum(1)
end
local function g(a)
    return f(a)
end
local r = g(np.ones{3})
]]
        local status, _, err = process.run_neap { script }
        check.equal(status, 1)
        check.ok(err:find(script .. ":2: np.sum: axis 1 is out of range", 1, true), err)
        for _, line in ipairs { 5, 7 } do check.ok(err:find(script .. ":" .. line, 1, true), err) end
    end)

    check.test("after much tail recursion too: the newest frames stay", function()
        local status, _, err = process.run_neap { "-e", ([[
local function last(n)
    return n.x.y
end
local function loop(n)
    if n == 0 then
        return last({})
    end
    return loop(n - 1)
end
loop(%d)]]):format(COUNT) }
        check.equal(status, 1)
        check.ok(err:find "line%):2: attempt to index field 'x'", err)
        for _, line in ipairs { 6, 8, 10 } do check.ok(err:find("(command line):" .. line .. ":", 1, true), err) end
    end)
else
    check.skip("each caller's line is told", "the packaged LuaJIT drops frames of tail calls")
end

process.cleanup()
check.done()
