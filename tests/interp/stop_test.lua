--- stop_test.lua (starts first): one press of Ctrl-C at the prompt stops whatever runs, says "interrupted" once, and
-- the next command works; with line editing and without. Callbacks among it: those of a waiting command, those that
-- run while a line is typed, and those inside each other. Work in flight goes on if somebody wants it, and is given up
-- else, or at a second press.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

if os.getenv "NEAP_TEST_BUILD" == "tsan" then
    check.skip("interrupts", "the thread sanitizer delivers signals only at calls that it knows")
    check.done()
end

local readline = select(2, process.run_neap { "doctor" }):find("line editing +GNU readline") ~= nil
local hook_checks = process.has_hook_checks()

local state = process.file "" -- its name, as a folder, for the history
os.remove(state)

local ENVIRONMENT = { XDG_STATE_HOME = state, INPUTRC = "/dev/null", NO_COLOR = "1", NEAP_STARTUP = "" }

--- The ways in which a prompt comes by its lines: { name, start }.
local editors = { { "without editing", function() return process.piped_terminal({}, ENVIRONMENT, true) end } }
if readline then
    table.insert(editors, 1, { "with editing", function() return process.terminal({}, ENVIRONMENT) end })
end

--- What was shown, without the marks of bracketed paste.
local function plain(text)
    return (text:gsub("\27%[%?2004[lh]\r?", ""))
end

--- Types a command; returns what is shown between it and the next prompt.
local function command(terminal, text)
    terminal:send(text .. "\n")
    terminal:expect "\r\n"
    return plain(terminal:expect "> ")
end

local function count(text, word)
    return select(2, text:gsub(word, ""))
end

--- Presses Ctrl-C; returns what is shown up to the next prompt.
local function press(terminal)
    process.sleep(0.15) -- let loops be compiled
    terminal:send "\3"
    return plain(terminal:expect "> ")
end

-- The beginning of a command whose running can be seen. What is typed does not hold the word itself.
local READY = "print('rea' .. 'dy') "

--- Types a command that prints "ready", and presses Ctrl-C after that. Returns what is shown up to the next prompt.
local function stop(terminal, text)
    terminal:send(text .. "\n")
    terminal:expect "\r\n"
    terminal:expect "ready\r\n"
    return press(terminal)
end

local SLOW = "np.debug.sleep(np.ones(1), 600000)"
local CALL = "np.callback(function() " .. READY .. " while true do end end)() "

--- Commands without an end. `loop`: the packaged LuaJIT, without hook checks, cannot stop it.
local COMMANDS = {
    { "an empty loop", READY .. "while true do end", loop = true },
    { "a loop of numbers", READY .. "local x = 0; while true do x = x + 1 end", loop = true },
    { "a loop that catches errors", READY .. "while true do pcall(function() while true do end end) end", loop = true },
    { "a loop of arrays", READY .. "x = np.arange(10); while true do x = x + 1 end" },
    { "a loop that waits", READY .. "while true do np.arange(1000):sum():item() end" },
    { "a gradient", READY .. "np.grad(function(x) while true do x = x * 1 end end)(np.ones(3))" },
    { "item", READY .. SLOW .. ":item()" },
    { "the value of a command", READY .. "return " .. SLOW },
    { "wait_all", READY .. "do local x = " .. SLOW .. " np.wait_all() end" },
    { "a barrier", READY .. "np.callback(function() end)(" .. SLOW .. ") np.effects_barrier()" },
    { "running far ahead", READY .. "do local x = np.ones(4096, 4096) while true do x = np.debug.sleep(x + 1, 1000) " ..
      "end end" },
    { "products", READY .. "do local x = np.ones(2000, 2000) for _ = 1, 300 do x = x:matmul(x) end " ..
      "x:sum():item() end" },
    { "a callback", CALL .. "np.effects_barrier()", loop = true },
    { "a callback that waits", "np.callback(function() " .. READY .. SLOW .. ":item() end)() np.effects_barrier()" },
    { "a callback in a callback", "np.callback(function() " .. CALL .. "np.effects_barrier() end)() " ..
      "np.effects_barrier()", loop = true },
    { "a callback that a recording calls", CALL .. "while true do x = np.ones(3) + 1 end", loop = true },
    { "reading", READY .. "io.read()" },
    { "reading in a callback", "np.callback(function() " .. READY .. "io.read() end)() np.effects_barrier()" },
    { "a child", READY .. "os.execute 'sleep 60'" },
    { "a child's output", READY .. "io.popen('sleep 60'):read('*a')" },
    { "a handler of errors", READY .. "xpcall(function() while true do end end, function() while true do end end)",
      loop = true },
    { "a handler of an error", READY .. "xpcall(error, function() while true do end end)", loop = true },
    { "a text tool of the library", READY .. "require('neap.interp.mistakes').unfinished((\"''\"):rep(3e7))",
      loop = true },
    { "a comparator", READY .. "table.sort({ 1, 2, 3 }, function() while true do end end)", loop = true },
    { "a replacement", READY .. "while true do ('x'):rep(1e6):gsub('x', function() return 'y' end) end" },
}

--- A test on a fresh prompt of each editor.
local function on_prompts(name, needs_checks, f)
    for _, editor in ipairs(editors) do
        local title = name .. ", " .. editor[1]
        if needs_checks and not hook_checks then
            check.skip(title, "LuaJIT without hook checks")
        else
            check.test(title, function()
                local terminal = editor[2]()
                terminal:expect "> "
                f(terminal)
                terminal:send "\4"
                check.equal(terminal:finish(), 0)
            end)
        end
    end
end

on_prompts("one press stops every command", false, function(terminal)
    local stopped = 0
    for _, case in ipairs(COMMANDS) do
        local name, text = unpack(case)
        if hook_checks or not case.loop then
            local shown = stop(terminal, text)
            check.equal(count(shown, "interrupted"), 1, name .. ": " .. shown)
            check.equal(command(terminal, "'alive'"), '"alive"\r\n', name)
            stopped = stopped + 1
        end
    end
    check.equal(count(terminal.seen, "interrupted"), stopped, "one of them was told again later")
    check.equal(command(terminal, "np.debug.counters().live_handles < 10"), "true\r\n")
end)

-- In a chunk of the library's, since in the user's code the press is raised at once.
on_prompts("a press while os.execute waits for what was printed starts no child", false, function(terminal)
    local shown = command(terminal, "do local system = require 'neap.interp.system' " ..
        "np.effects_barrier = loadstring('local system, barrier = ... return function() barrier() " ..
        "np.effects_barrier = barrier system.interrupt() end', '@neap/press.lua')(system, np.effects_barrier) " ..
        "os.execute 'sleep 60' end")
    check.equal(count(shown, ": interrupted"), 1, shown)
    check.equal(command(terminal, "'alive'"), '"alive"\r\n')
end)

on_prompts("a print that is waited for shows the interrupt in its place", false, function(terminal)
    local shown = stop(terminal, READY .. "print('slow', " .. SLOW .. ") print 'on' np.effects_barrier()")
    check.ok(shown:find("slow\t<error: [^\r]*interrupted>\r\non\r\n%[%d+%]:1: interrupted\r\n$"), shown)
    check.equal(command(terminal, "'alive'"), '"alive"\r\n')
end)

-- ---- Callbacks ------------------------------------------------------------------------------------------------------

on_prompts("a callback's results fail, and so does the wait for them", true, function(terminal)
    command(terminal, "function forever() " .. READY .. " while true do end end")
    local late = "np.debug.sleep(np.ones(1), 200)" -- so that the wait calls it, not the recording
    local shown = stop(terminal, "r = np.callback(forever, { result = np.ones(1) })(" .. late .. ") r:item()")
    check.equal(count(shown, "interrupted"), 1, shown)
    shown = command(terminal, "(r + 1):item()")
    check.ok(shown:find "^%[%d+%]:1: [^\n]*callback: %[%d+%]:1: interrupted\r\n$", shown)
    check.equal(command(terminal, "np.callback(function(x) return x end, { result = np.ones(1) })(np.ones(1)):item()"),
                "1\r\n")
end)

on_prompts("callbacks inside each other all end", true, function(terminal)
    command(terminal, "function nest(n) if n == 0 then " .. READY .. " while true do end end " ..
                      "local x = np.debug.sleep(np.ones(1), 50) " ..
                      "local r = np.callback(nest, { result = np.ones(1) })(n - 1, x) kept[n] = r return r:item() end")
    local shown = stop(terminal, "kept = {} nest(5)")
    check.equal(count(shown, "interrupted"), 1, shown)
    for k = 1, 5 do
        check.ok(command(terminal, ("kept[%d]:item()"):format(k)):find "interrupted", "result " .. k)
    end
    check.equal(command(terminal, "'alive'"), '"alive"\r\n')
end)

on_prompts("a callback that runs while a line is typed", true, function(terminal)
    command(terminal, "function forever() " .. READY .. " while true do end end")
    command(terminal, "r = np.callback(forever, { result = np.ones(1) })(np.debug.sleep(np.ones(1), 600))")
    terminal:send "1 + "
    terminal:expect "ready\r\n"
    local shown = press(terminal)
    check.ok(shown:find "^[%^C\r\n]*interrupted\r\n$", shown)
    check.ok(command(terminal, "2"):find "^[23]\r\n", "the line, of which a terminal without editing drops what it had")
    check.ok(command(terminal, "r:item()"):find "interrupted")
    check.equal(command(terminal, "'alive'"), '"alive"\r\n')
end)

-- ---- Work that is given up, and work that is not --------------------------------------------------------------------

on_prompts("work that nobody wants is given up", false, function(terminal)
    stop(terminal, READY .. "do local x = " .. SLOW .. " x:item() end")
    check.equal(command(terminal, "np.wait_all() return 'nothing runs'"), '"nothing runs"\r\n')
end)

on_prompts("work that an array or an effect wants goes on", false, function(terminal)
    local wanted = READY .. "kept = np.debug.sleep(np.arange(3), 1500) " ..
                   "np.callback(function(v) called = v * 2 end)(kept) print('printed', kept + 1) "
    stop(terminal, wanted .. "kept:wait()")
    terminal:expect "printed\t[1 2 3]\r\n"
    terminal:expect "> "
    check.equal(command(terminal, "kept"), "[0 1 2]  i32[3]\r\n")
    check.equal(command(terminal, "called"), "[0 2 4]  i32[3]\r\n")
end)

local FOREVER = "np.jit(function() return np.while_loop(function(c) return c:lt(1e9) end, " ..
                "function(c) %s return c + 1 end, np.array(0.0)) end)() "

on_prompts("a second press gives up what runs in the background", false, function(terminal)
    for _, prints in ipairs { "print('at', c)", "np.debug.print('at {}', c)", "" } do
        local loop = FOREVER:format(prints)
        for _, waits in ipairs { "", "np.wait_all()" } do -- at the prompt, or while a command waits
            terminal:send("kept = np.arange(3):wait() y = " .. loop .. waits .. "\n")
            terminal:expect "\r\n"
            if prints ~= "" then terminal:expect "at" end
            process.sleep(0.3)
            terminal:send "\3"
            terminal:expect(waits == "" and "(work goes on in the background; Ctrl-C once more gives it up)\r\n"
                            or ":1: interrupted\r\n")
            terminal:expect "> "
            local from = #terminal.seen
            terminal:send "\3"
            terminal:expect "interrupted: what still ran is given up\r\n"
            check.ok(#terminal.seen - from < 2 ^ 20, #terminal.seen - from .. " bytes came after the press")
            terminal:expect "> "
            check.equal(command(terminal, "kept"), "[0 1 2]  i32[3]\r\n", loop)
            check.ok(command(terminal, "y:item()"):find "while_loop: interrupted", loop)
            local shown = press(terminal) .. press(terminal) -- nothing runs that could be given up
            check.ok(not shown:find "back" and not shown:find "given", shown)
            check.equal(command(terminal, "np.wait_all()"), "", loop)
        end
    end
end)

on_prompts("a command between two presses makes two first ones", false, function(terminal)
    command(terminal, "x = np.debug.sleep(np.arange(3), 2500)")
    check.ok(press(terminal):find "once more gives it up")
    check.equal(command(terminal, "'on'"), '"on"\r\n')
    check.ok(press(terminal):find "once more gives it up")
    check.equal(command(terminal, "x"), "[0 1 2]  i32[3]\r\n")
end)

os.execute("rm -rf '" .. state .. "'")
process.cleanup()
check.done()
