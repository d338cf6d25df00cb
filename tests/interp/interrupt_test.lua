--- interrupt_test.lua: Ctrl-C in a script: every loop stops, the line is named, the status is 130, output is kept.
local check = require "tests.check"
local process = require "tests.interp.process"

--- Runs a script under a terminal, presses Ctrl-C once it has printed "ready", and returns its exit status, what it
-- showed after that, and the seconds it took to end.
local function interrupt(source)
    local script = process.file(source)
    local terminal = process.terminal({ script }, {})
    terminal:expect "ready"
    process.sleep(0.3) -- let loops be compiled
    terminal:send "\3"
    local pressed = process.now()
    local status = terminal:finish()
    return status, terminal.seen:sub(terminal.taken), process.now() - pressed, script
end

local LOOPS = {
    ["an empty loop"] = "while true do end",
    ["a compiled loop"] = "local x = 0\nwhile true do x = x + 1 end",
    ["a numeric for"] = "for i = 1, 1e18 do end",
    ["nested loops"] = "while true do for i = 1, 10 do for j = 1, 10 do end end end",
    ["a loop that catches errors"] = "while true do pcall(function() while true do end end) end",
    ["a loop in a function"] = "local function f(n) return n < 1 and 0 or f(n - 1) end\nwhile true do f(100) end",
    ["a coroutine"] = "coroutine.wrap(function() while true do end end)()",
    ["string building"] = "while true do local s = ('x'):rep(100) .. 'y' end",
    ["array ops"] = "local x = np.arange(1000)\nwhile true do x = x + 1 end",
    ["array ops that are awaited"] = "while true do np.arange(1000):sum():item() end",
    ["printing"] = "while true do print('') end",
    ["reading input"] = "io.read()\nwhile true do end",
}

if os.getenv "NEAP_TEST_BUILD" == "tsan" then
    check.skip("interrupts", "the thread sanitizer delivers signals only at calls that it knows")
    check.done()
end

-- What the packaged LuaJIT, without hook checks, can stop too.
local STOPS_ANYWAY = { ["array ops"] = true, ["array ops that are awaited"] = true, printing = true }

for name, loop in pairs(LOOPS) do
    local stops = process.has_hook_checks() or STOPS_ANYWAY[name]
    local test = stops and check.test or function(title) check.skip(title, "LuaJIT without hook checks") end
    test(name .. " stops", function()
        local status, text, seconds = interrupt("print 'ready'\n" .. loop .. "\n")
        check.equal(status, 130, text)
        check.ok(text:find "interrupted", text)
        check.ok(seconds < 3, "took " .. seconds .. " s")
    end)
end

check.test("the line is named, and output before it is kept", function()
    local source = "print 'ready'\nprint(np.arange(3))\n\nwhile true do x = np.arange(3) + 1 end\n"
    local status, text, _, script = interrupt(source)
    check.equal(status, 130)
    check.ok(text:find("[0 1 2]", 1, true), text)
    check.ok(text:find(script .. ":4: interrupted", 1, true), text)
end)

check.test("waiting for late output at the end of a script stops", function()
    local status, text, seconds = interrupt("print 'ready'\nprint(np.debug.sleep(np.arange(3), 60000))\n")
    check.equal(status, 130, text)
    check.ok(seconds < 3, "took " .. seconds .. " s")
end)

check.test("waiting for a value stops", function()
    local source = "print 'ready'\nlocal x = np.debug.sleep(np.arange(3), 60000)\nx:wait()\n"
    local status, text, seconds, script = interrupt(source)
    check.equal(status, 130, text)
    check.ok(seconds < 3, "took " .. seconds .. " s")
    check.ok(text:find(script .. ":3: ", 1, true), text)
end)

check.test("a script cannot turn an interrupt into success", function()
    local caught = "pcall(function() while true do x = np.arange(3) + 1 end end)"
    local status = interrupt("print 'ready'\n" .. caught .. "\nprint 'went on'\n")
    check.equal(status, 130)
end)

process.cleanup()
check.done()
