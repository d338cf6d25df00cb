--- collector_test.lua (sanitized with --long): dead results are found early, so that a loop that drops a large result
-- in each turn maps two or three blocks in all, whatever data the script has; and what is stored into the library, once
-- it is loaded and looked at no more by Lua's collector, lives on.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

-- What decides is counted here, not measured.
np.debug.collector { cycle_ns = 15000 }

local function size_of(n)
    return ("%.0f MB"):format(4 * n * n / 1e6)
end

--- How many blocks are mapped by so many calls of a function that drops its result. Nothing is counted in between: the
-- calls of that would clear what is left of earlier calls on Lua's stack.
local function mapped(call, calls)
    np.wait_all()
    np.memory.trim()
    local made = np.memory().made
    for _ = 1, calls do call() end
    made = np.memory().made - made
    np.wait_all()
    return made
end

local global -- luacheck: ignore 231
local loops = {
    ["waited for"] = function(a, b)
        return function()
            local r = a + b
            r:wait()
        end
    end,
    ["held by one variable"] = function(a, b)
        return function()
            global = a + b
            global:wait()
        end
    end,
    ["of a jitted function"] = function(a, b)
        local f = np.jit(function(x, y) return x * y + x end)
        return function()
            local r = f(a, b)
            r:wait()
        end
    end,
    ["started only"] = function(a, b)
        return function()
            local r = a + b
            np.force(r)
        end
    end,
    ["of a jitted function, started only"] = function(a, b)
        local f = np.jit(function(x, y) return x * y + x end)
        return function() f(a, b) end
    end,
}

-- Compiled code, when it comes, holds a result or two of the call that it was recorded in.
local HELD_BY_TRACES = 3

for name, loop in pairs(loops) do
    for _, n in ipairs { 1024, 3200 } do
        local calls = n == 1024 and 150 or 12
        check.test(("%d results of %s, %s, are in three blocks at most"):format(calls, size_of(n), name), function()
            local a, b = (np.ones { n, n } * 1):wait(), (np.ones { n, n } * 2):wait()
            local call = loop(a, b)
            local compiled = mapped(call, calls)
            jit.off()
            jit.flush()
            local interpreted = mapped(call, calls)
            jit.on()
            check.ok(interpreted <= 3, "without compiled code: " .. interpreted)
            check.ok(compiled <= 3 + HELD_BY_TRACES, "with compiled code: " .. compiled)
            global = nil
            a:delete()
            b:delete()
        end)
    end
end

check.test("arrays that were given back, but that recipes of dead handles read, are found early", function()
    local a = (np.ones { 1000, 300 } * 1):wait()
    np.debug.collector { cycle_ns = 100000 } -- worth it for 8 MB, which are seven arrays
    local blocks = mapped(function()
        local read = a + 1
        local r = read * 3 - 1 -- the product is fused away, and goes on to read what it is made of
        np.wait(read, r)
        read:delete()
        r:delete()
    end, 80)
    np.debug.collector { cycle_ns = 15000 }
    check.ok(blocks <= 10 + HELD_BY_TRACES, "blocks: " .. blocks)
    a:delete()
end)

check.test("where cycles are long, blocks that are taken from the system ask for one", function()
    np.debug.collector { cycle_ns = 1000000 } -- worth it for 80 MB, or for a block that is taken
    local a = (np.ones { 1000, 1000 } * 1):wait()
    local few, more
    jit.off()
    few = mapped(function() (a + 1):wait() end, 9)
    more = mapped(function() (a + 1):wait() end, 18)
    local kept = {}
    collectgarbage()
    collectgarbage "stop"
    local cycles, counted = 0, nil
    counted = function()
        cycles = cycles + 1
        getmetatable(newproxy(true)).__gc = counted
    end
    getmetatable(newproxy(true)).__gc = counted
    local made = mapped(function() kept[#kept + 1] = (a + 1):wait() end, 60)
    collectgarbage "restart"
    jit.on()
    check.ok(few <= 6, few .. " of 9 results")
    check.ok(more <= 8, more .. " of 18 results")
    check.equal(made, 60)
    check.ok(cycles < 30, cycles .. " cycles for 60 results that are kept")
    np.debug.collector { cycle_ns = 15000 }
end)

check.test("what waits to be asked for does not keep results of later calls", function()
    local a, waiting = (np.ones { 1000, 1000 } * 1):wait(), {}
    for k = 1, 30 do waiting[k] = a[k] + k end -- recorded, not asked for
    local pending, before = np.debug.counters().pending, np.memory().live
    check.ok(pending >= 30, pending)
    for _ = 1, 20 do (a + 1):wait() end
    collectgarbage()
    collectgarbage()
    np.zeros(1):wait()
    check.equal(np.debug.counters().pending, pending)
    check.ok(np.memory().live < before + 8e6, np.memory().live - before)
    check.equal(#waiting, 30)
end)

check.test("np.unique keeps nothing for values that nobody asks for", function()
    local x = np.random.randint(np.random.key(1), { 1e6 }, 0, 100):wait()
    local _, counts = np.unique(x, { return_inverse = true })
    counts:wait()
    local before = np.memory().live
    for _ = 1, 5 do
        _, counts = np.unique(x, { return_inverse = true })
        counts:wait()
    end
    _ = nil
    collectgarbage()
    collectgarbage()
    np.zeros(1):wait()
    check.ok(np.memory().live < before + 4e6, np.memory().live - before)
end)

check.test("what a long flush need not keep is found dead before", function()
    local x = (np.ones { 2 ^ 18 } * 2):wait() -- 1 MiB: each turn writes two of these
    for _, turns in ipairs { 200, 700 } do -- one flush, and more than one
        np.wait_all()
        collectgarbage()
        np.memory.reset_peak()
        local before, y = np.memory().live, x
        for _ = 1, turns do
            y = np.tanh(y) * 0.5 + y:sum()
            y = y - y:mean()
        end
        y:wait()
        local taken = (np.memory().peak - before) / 2 ^ 20
        check.ok(taken < 140, ("%d turns take %.0f MiB"):format(turns, taken)) -- 64 recorded, 64 run ahead
    end
end)

check.test("results that are given back by hand ask for no cycle", function()
    local a, found = (np.ones { 1000, 1000 } * 1):wait(), false
    local function cycles(call)
        for _ = 1, 40 do call() end -- what was counted before is seen to
        collectgarbage()
        collectgarbage "stop" -- but for those that the library asks for
        found = false
        getmetatable(newproxy(true)).__gc = function() found = true end
        for _ = 1, 40 do call() end
        collectgarbage "restart"
        return found
    end
    np.debug.collector { cycle_ns = 500000 } -- worth it for 40 MB
    check.ok(cycles(function() (a + 1):wait() end), "dropped results do")
    local asked, tries = true, 0
    while asked and tries < 12 do -- other reasons for a cycle come now and then
        asked = cycles(function()
            local r = a + 1
            r:wait()
            r:delete()
        end)
        tries = tries + 1
    end
    check.ok(not asked, "those that are given back do not")
    np.debug.collector { cycle_ns = 15000 }
end)

-- ---- The library is kept --------------------------------------------------------------------------------------------

--- How many of the smallest steps a cycle of the collector takes.
check.test("what is stored into the library after it was loaded lives on, and is let go again", function()
    local seen = setmetatable({}, { __mode = "v" })
    local function fresh(k)
        local value = { k }
        seen[k] = value
        return value
    end
    local places = {
        { set = function(v) np.an_own_name = v end, get = function() return rawget(np, "an_own_name") end },
        { set = function(v) package.loaded["an.own.module"] = v end,
          get = function() return package.loaded["an.own.module"] end },
        { set = function(v) rawset(string, "an_own_name", v) end,
          get = function() return rawget(string, "an_own_name") end },
        { set = function(v) _G.an_own_name = v end, get = function() return rawget(_G, "an_own_name") end },
        { set = function(v) setmetatable(np.memory, v and { __call = getmetatable(np.memory).__call, v }
              or { __call = getmetatable(np.memory).__call }) end,
          get = function() return getmetatable(np.memory)[1] end },
    }
    for round = 1, 40 do
        for k, place in ipairs(places) do place.set(fresh(100 * round + k)) end
        for _ = 1, round % 4 do collectgarbage("step", round % 7 * 40) end
        if round % 5 == 0 then collectgarbage() end
        for k, place in ipairs(places) do check.equal(place.get()[1], 100 * round + k) end
    end
    for _, place in ipairs(places) do place.set(nil) end
    collectgarbage()
    collectgarbage()
    check.equal(next(seen), nil)
end)

check.test("strings come and go between steps and whole cycles, and are let go", function()
    local before
    for round = 1, 12 do
        local strings, tables = {}, {}
        for k = 1, 4000 do
            local text = ("a string %d of %d"):format(k % 1500, round % 3)
            strings[k % 700 + 1] = text
            tables[text] = k
            if k % 11 == 0 then tables[strings[k % 300 + 1] or text] = nil end
            if k % 97 == 0 then collectgarbage("step", k % 5 * 30) end
            if k % 1301 == 0 then collectgarbage() end
        end
        for _, text in pairs(strings) do
            local again = text:sub(1, 4) .. text:sub(5)
            check.ok(rawequal(again, text) and rawget(tables, again) == tables[text])
        end
        strings, tables = {}, nil -- luacheck: ignore 311
        for k = 1, 20000 do strings[k] = "one of many: " .. k + round end -- the table of strings grows, and shrinks
        check.equal(#strings, 20000)
        strings = nil -- luacheck: ignore 311
        collectgarbage()
        collectgarbage()
        before = before or collectgarbage "count"
    end
    check.ok(collectgarbage "count" < before + 64, collectgarbage "count" .. " KB; " .. before)
end)

if process.has_hook_checks() then
    check.test("cycles that take longer and longer make one that leaves out what is alive", function()
        local core = require "neap.core"
        local keep, kept = core.keep, 0
        function core.keep()
            kept = kept + 1
            keep()
        end
        local x = np.ones(1e6):wait()
        local function turns(n)
            for _ = 1, n do (x + 1):wait() end
        end
        np.debug.collector { cycle_ns = 300000 }
        turns(100)
        check.ok(kept > 0, "until then, all that cycles take counts")
        kept = 0
        np.debug.collector { cycle_ns = 10000 }
        turns(100)
        check.equal(kept, 0)
        np.debug.collector { cycle_ns = 40000 } -- 30 us too much, until four times 300 us are
        turns(30)
        check.equal(kept, 0)
        turns(150)
        check.equal(kept, 1)
        turns(200) -- nothing is left out that could be
        check.equal(kept, 1)
        core.keep = keep
    end)

    check.test("a large array that is waited for takes the memory of a dead one, where cycles are short", function()
        local x = np.ones(1e6):wait()
        local function most(n)
            collectgarbage()
            np.memory.reset_peak()
            local before = np.memory().live
            for _ = 1, n do (x + 1):wait() end
            return (np.memory().peak - before) / 2 ^ 20
        end
        np.debug.collector { cycle_ns = 3000 }
        most(100)
        local peak = most(50)
        check.ok(peak < 4.5, peak .. " MB")
        np.debug.collector { cycle_ns = 40000 } -- too long for the work to wait for them
        peak = most(50)
        check.ok(peak > 7 and peak < 13, peak .. " MB")
    end)

    check.test("what a script has loaded before its first cycle is left out soon", function()
        local text = process.output [[
            local np, core = require "neap", require "neap.core"
            local keep, kept = core.keep, 0
            function core.keep()
                kept = kept + 1
                keep()
            end
            np.debug.collector { cycle_ns = 300000 } -- from the first one on
            local x = np.ones(1e6):wait()
            local function turns(n)
                for _ = 1, n do (x + 1):wait() end
                io.write(kept, " ")
            end
            turns(5) -- of 4 MB, with a cycle in six
            turns(60)
            turns(200)
        ]]
        check.equal(text, "0 1 1 ")
    end)
else
    check.skip("cycles that take longer", "a packaged LuaJIT, which keeps nothing")
end

check.done()
