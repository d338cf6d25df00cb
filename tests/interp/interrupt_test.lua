--- interrupt_test.lua (under asan with --long, starts first): Ctrl-C in a script: every loop stops, the line is named,
-- the status is 130, output is kept.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

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
    ["lines of input"] = "for _ in io.lines() do end",
    ["a file's reading"] = "io.stdin:read('*a')",
    ["a file's lines"] = "for _ in io.stdin:lines() do end",
    ["reading numbers"] = "while true do io.read('*n', 5) end",
    ["a child"] = "while true do os.execute 'sleep 60' end",
    ["a child's output"] = "io.popen('sleep 60'):read('*a')",
    ["a comparator"] = "while true do table.sort({ 1, 2, 3 }, function(a, b) while true do end end) end",
    ["a replacement"] = "while true do ('x'):rep(1e6):gsub('x', function() return 'y' end) end",
    ["a handler of errors"] = "xpcall(function() while true do end end, function() while true do end end)",
    ["a handler of an error"] = "xpcall(error, function() while true do end end)",
    ["a text tool of the library"] = "require('neap.interp.mistakes').unfinished((\"''\"):rep(3e7))",
    ["a slow value"] = "np.debug.sleep(np.ones(1), 600000):item()",
    ["waiting for everything"] = "x = np.debug.sleep(np.ones(1), 600000)\nnp.wait_all()",
    ["text of a slow value"] = "local s = tostring(np.debug.sleep(np.ones(1), 600000))",
    ["running far ahead"] = "x = np.ones(4096, 4096)\nwhile true do x = np.debug.sleep(x + 1, 1000) end",
    ["a gradient"] = "np.grad(function(x) while true do x = x * 1 end end)(np.ones(3))",
    ["a trace"] = "np.jit(function(x) while true do x = x * 1 end end)(np.ones(3))",
    ["a callback"] = "np.callback(function() while true do end end)()\nnp.effects_barrier()",
    ["a callback that waits"] = "np.callback(function(x) x = np.debug.sleep(x, 600000) x:wait() end)(np.ones(1))\n" ..
                                "np.effects_barrier()",
    ["callbacks inside each other"] = "local call = np.callback\ncall(function() call(function() while true do end " ..
                                      "end)() np.effects_barrier() end)()\nnp.effects_barrier()",
    ["reading in a callback"] = "np.callback(function() io.read() end)()\nnp.effects_barrier()",
    ["products"] = "x = np.ones(1500, 1500)\nwhile true do x:matmul(x):wait() end",
}

if os.getenv "NEAP_TEST_BUILD" == "tsan" then
    check.skip("interrupts", "the thread sanitizer delivers signals only at calls that it knows")
    check.done()
end

-- What the packaged LuaJIT, without hook checks, can stop too.
local STOPS_ANYWAY = { ["array ops"] = true, ["array ops that are awaited"] = true, printing = true,
                       ["a slow value"] = true, ["waiting for everything"] = true, ["text of a slow value"] = true,
                       ["running far ahead"] = true, ["a callback that waits"] = true,
                       ["lines of input"] = true, ["a file's lines"] = true }

local STOPPED = 30 -- seconds: of those that sleep each would take 600, of the others each for ever

for name, loop in pairs(LOOPS) do
    local stops = process.has_hook_checks() or STOPS_ANYWAY[name]
    local test = stops and check.test or function(title) check.skip(title, "LuaJIT without hook checks") end
    test(name .. " stops", function()
        local status, text, seconds = interrupt("print 'ready'\n" .. loop .. "\n")
        check.equal(status, 130, text)
        check.ok(text:find "interrupted", text)
        check.ok(seconds < STOPPED, "took " .. seconds .. " s")
    end)
end

-- Control flow without end that the thread of the script runs itself, since there are no others, or since a callback is
-- in it.
local FOREVER = "np.while_loop(function(c) return c:lt(1e9) end, function(c) %s return c * 1 end, np.array(0.0))"
for name, case in pairs {
    ["a loop"] = { FOREVER:format "", "naive" },
    ["a loop that is jitted"] = { "np.jit(function() return " .. FOREVER:format "" .. " end)()", "naive" },
    ["a loop that prints"] = { FOREVER:format "print(c)", "naive" },
    ["a loop of loops"] = { ("np.fori_loop(0, 9, function(i, x) return x + %s end, 0)"):format(FOREVER:format ""),
                            "naive" },
    ["a value that is slow"] = { "np.debug.sleep(np.ones(1), 600000):wait()", "naive" },
    ["a loop beside a callback"] = { ("local call = np.callback(print) np.fori_loop(0, 9, function(i, x) call(i) "
                                      .. "return x + %s end, 0) np.effects_barrier()"):format(FOREVER:format ""),
                                     "pool" },
} do
    check.test(("control flow: %s stops (%s)"):format(name, case[2]), function()
        local script = process.file("print 'ready'\n" .. case[1] .. "\nprint 'went on'\n")
        local terminal = process.terminal({ "--scheduler", case[2], script }, {})
        terminal:expect "ready"
        process.sleep(0.3)
        terminal:send "\3"
        local pressed = process.now()
        check.equal(terminal:finish(), 130, terminal.seen)
        check.ok(terminal.seen:find(":[23]: [^\n]*interrupted") and not terminal.seen:find "went on", terminal.seen)
        check.ok(process.now() - pressed < 20, "took " .. process.now() - pressed .. " s") -- it must not go on for ever
    end)
end

-- More loops without end than there are workers: the thread of the script runs none of them, however short a loop of
-- such turns mostly is. The last one prints, and a callback, after which it begins, has kept the workers busy.
local SHORT = "np.while_loop(function(c) return c[2] end, function(c) return c end, { np.array(%d.0), np.array(true) })"
for name, code in pairs {
    ["short ones"] = "a, b, c = " .. ("%s, %s, %s"):format(SHORT, SHORT, SHORT),
    ["one that prints, behind a callback"] = "np.callback(function(v) a, b = " .. SHORT .. ", " .. SHORT .. [[
        np.debug.sleep(v, 100):wait() end)(np.debug.sleep(np.ones(1), 300)) c = ]] .. FOREVER:format "print(c)",
} do
    check.test("loops without end, and no worker is left: " .. name, function()
        local script = process.file("print 'ready'\n" .. code:gsub("%%d", "1")
                                    .. "\nnp.debug.sleep(np.ones(1), 600000):wait()\n")
        local terminal = process.terminal({ "--workers", "2", script }, {})
        terminal:expect "ready"
        process.sleep(1)
        terminal:send "\3"
        local pressed = process.now()
        check.equal(terminal:finish(), 130, terminal.seen:sub(-500))
        check.ok(process.now() - pressed < 20, "took " .. process.now() - pressed .. " s")
    end)
end

check.test("a loop that prints waits for its reader, and stops while it does", function()
    for scheduler, seconds in pairs { naive = 0.5, pool = 3 } do -- at the end of a script what gets done has its time
        local line = '{ timeout --preserve-status -s INT "$4" "$0" --scheduler "$1" "$2"; echo status $?; } | '
                     .. '{ sleep "$3"; cat; }'
        local script = process.file(FOREVER:format "print(c)")
        local text
        for _, runs in ipairs { 1, 5, 25 } do -- a slow machine needs some of that to come to the first print
            local waits = tostring(runs + seconds)
            local _
            _, text = process.run { "/bin/sh", "-c", line, process.neap, scheduler, script, waits, tostring(runs) }
            check.ok(text:find "status 130\n$", text:sub(-200))
            check.ok(#text < 1.5e6, #text .. " bytes were printed ahead")
            if #text > 1e3 then break end
        end
        check.ok(#text > 1e3, #text .. " bytes were printed")
    end
end)

check.test("little text follows Ctrl-C", function()
    for _, prints in ipairs { "print(c)", "np.debug.print('{}', c)", "np.debug.print({ ordered = true }, '{}', c)" } do
        local terminal = process.terminal({ "-e", "x = " .. FOREVER:format(prints):gsub("c %* 1", "c + 1") }, {})
        terminal:expect "1000.0"
        terminal:send "\3"
        local from = #terminal.seen
        check.equal(terminal:finish(), 130)
        check.ok(#terminal.seen - from < 2 ^ 20, #terminal.seen - from .. " bytes came after the press: " .. prints)
    end
end)

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
    check.ok(seconds < STOPPED, "took " .. seconds .. " s")
end)

check.test("waiting for a value stops", function()
    local source = "print 'ready'\nlocal x = np.debug.sleep(np.arange(3), 60000)\nx:wait()\n"
    local status, text, seconds, script = interrupt(source)
    check.equal(status, 130, text)
    check.ok(seconds < STOPPED, "took " .. seconds .. " s")
    check.ok(text:find(script .. ":3: ", 1, true), text)
end)

check.test("a callback at the end of a script stops, and what it was to give fails", function()
    local call = "r = np.callback(function(v) print 'ready' v = np.debug.sleep(v, 600000) v:wait() end, " ..
                 "{ result = np.ones(1) })(np.debug.sleep(np.ones(1), 200))"
    local status, text = interrupt(call .. "\n")
    check.equal(status, 130, text)
    status, text = interrupt(call .. "\nprint('got', r)\n")
    check.equal(status, 130, text)
    check.ok(text:find "got\t<error: [^\n]*interrupted", text)
    local terminal = process.terminal({ "-e", call .. " r:item()" }, {})
    terminal:expect "ready"
    terminal:send "\3"
    check.equal(terminal:finish(), 130)
    check.ok(terminal.seen:find "neap: %(command line%):1: [^\n]*interrupted\r\n$", terminal.seen)
end)

check.test("in a function of Lua's own that is written in Lua the line is its caller's", function()
    local source = "local t = {} for i = 1, 1e5 do t[i] = i end\nprint 'ready'\n"
        .. "while true do t[#t + 1] = table.remove(t, 1) end\n"
    local status, text, _, script = interrupt(source)
    check.equal(status, 130)
    check.ok(text:find(script .. ":3: interrupted", 1, true), text)
end)

check.test("a script cannot turn an interrupt into success", function()
    local caught = "pcall(function() while true do x = np.arange(3) + 1 end end)"
    local status = interrupt("print 'ready'\n" .. caught .. "\nprint 'went on'\n")
    check.equal(status, 130)
end)

check.test("what was printed comes out before the interrupt is told", function()
    local mark = process.file "" -- what is printed waits, so the loop tells by a file that it runs
    os.remove(mark)
    local source = "print(np.debug.sleep(np.arange(3), 700))\nio.stderr:write('err\\n')\nprint 'ready'\n"
        .. ("while true do told = told or io.open(%q, 'w') x = np.ones(3) + 1 end\n"):format(mark)
    local terminal = process.terminal({ process.file(source) }, {})
    while not os.rename(mark, mark) and terminal:fill(0.01) do end
    terminal:send "\3"
    check.equal(terminal:finish(), 130)
    check.ok(terminal.seen:gsub("^%^C", ""):find "^%[0 1 2%]\r\nerr\r\nready\r\nneap: [^\n]*:4: interrupted\r\n$",
             terminal.seen)
end)

check.test("output that does not come is given up, and says so in its place", function()
    local waits = { "np.effects_barrier()", "x:wait()", "while true do y = np.ones(3) + 1 end" }
    for _, wait in ipairs(waits) do
        local source = "x = np.debug.sleep(np.ones(1), 600000)\nprint 'ready'\nprint('x', x)\nprint 'z'\n" .. wait
        local status, text = interrupt(source)
        check.equal(status, 130, text)
        check.ok(text:find("x\t<error: .*interrupted.*>\r\nz\r\nneap: .*:5: .*interrupted"), text)
    end
end)

check.test("a second press does not wait", function()
    local source = "x = np.debug.sleep(np.ones(1), 600000) print 'ready' print(x) x:wait()"
    local terminal = process.terminal({ "-e", source }, {})
    terminal:expect "ready"
    process.sleep(0.1)
    terminal:send "\3"
    process.sleep(0.1)
    local pressed = process.now()
    terminal:send "\3"
    check.equal(terminal:finish(), 130)
    check.ok(process.now() - pressed < 60, "took long") -- of 600 s
end)

-- ---- Signals without a terminal -------------------------------------------------------------------------------------

local SIGNALLED = [[
    input=/dev/null
    if [ -n "$3" ]; then input=$2.in; mkfifo "$input"; fi
    env --default-signal=INT "$0" "$1" <"$input" >"$2" & pid=$!
    if [ -n "$3" ]; then exec 3>"$input"; printf %s "$3" >&3; fi
    for k in $(seq 200); do grep -q ready "$2" && break; sleep 0.1; done
    sleep 0.3
    kill -INT $pid
    wait $pid; status=$?
    cat "$2"
    rm -f "$2" "$2.in"
    exit $status]]

local READY = "print 'ready' io.stdout:flush()\n" -- seen at once, although the output is a file

--- Runs a script whose input is a pipe with this text in it, to which nothing more comes (nil: it is empty, and ends).
-- Once it has written "ready" SIGINT is sent to it alone. Returns status, stdout, stderr.
local function signalled(source, input)
    return process.run { "sh", "-c", SIGNALLED, process.neap, process.file(source), os.tmpname(), input or "" }
end

check.test("a pipe in which nothing comes", function()
    for _, read in ipairs { "io.read()", "io.read('*a')", "for _ in io.lines() do end", "io.stdin:read(100)" } do
        local status, out, err = signalled(READY .. read, "part of a li")
        check.equal({ status, out }, { 130, "ready\n" }, read)
        check.ok(err:find("^neap: [^\n]*:2: interrupted\n$"), err)
    end
end)

check.test("a child that the signal did not reach", function()
    local status, out, err = signalled(READY .. "os.execute 'exec sleep 60'\nprint 'on'")
    check.equal({ status, out }, { 130, "ready\n" })
    check.ok(err:find(":2: interrupted", 1, true), err)
end)

check.test("a child that deals with Ctrl-C keeps the program going", function()
    local child = "trap \"echo caught; exit 3\" INT; echo ready; for i in $(seq 300); do sleep 0.2; done"
    check.equal({ signalled(("print(os.execute [[%s]])"):format(child)) }, { 0, "ready\ncaught\n768\n", "" })
end)

check.test("a reader that does not read", function()
    local script, pid = process.file "print 'ready' for i = 1, 1e9 do print('line', i) end", process.file ""
    local line = [[
        { env --default-signal=INT sh -c 'echo $$ >"$2"; exec "$0" "$1"' "$0" "$1" "$2"; echo $? >&2; } |
        { read first; sleep 0.5; kill -INT $(cat "$2"); sleep 4; }]]
    local _, _, err = process.run { "sh", "-c", line, process.neap, script, pid }
    check.ok(err:find "interrupted" and err:find "\n130\n$", err)
end)

process.cleanup()
check.done()
