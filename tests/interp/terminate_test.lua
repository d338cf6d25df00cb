--- terminate_test.lua: SIGTERM ends a script within a second: the line is named, the status is 143, what has its value
-- is written, and nothing that catches errors goes on.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

if os.getenv "NEAP_TEST_BUILD" == "tsan" then
    check.skip("SIGTERM", "the thread sanitizer delivers signals only at calls that it knows")
    check.done()
end

--- Runs a program that does `before`, sends the signal to itself on its second line, and goes on there with `code`.
local function terminated(before, code)
    local declare = "local C = require 'ffi'.C require 'ffi'.cdef 'int getpid(void); int kill(int pid, int signal);' "
    return process.run_neap { process.file(declare .. before .. "\nC.kill(C.getpid(), 15) " .. code) }
end

local cases = {
    ["a loop"] = "while true do end",
    ["a loop that catches errors"] = "while true do pcall(function() while true do end end) end",
    ["a wait"] = "np.debug.sleep(np.ones(1), 600000):item()",
    ["a wait that is caught"] = "while true do pcall(function() np.debug.sleep(np.ones(1), 600000):item() end) end",
    ["a child"] = "os.execute 'sleep 60'",
}
for name, code in pairs(cases) do
    check.test(name, function()
        local status, out, err = terminated("print('before', np.arange(3))", code)
        check.equal({ status, out }, { 143, "before\t[0 1 2]\n" })
        check.ok(err:find "^neap: terminated %(SIGTERM%) at [^\n]*:2\n$", err)
    end)
end

check.test("what has its value comes out, what has none is told in its place", function()
    local status, out = terminated("print(np.debug.sleep(np.ones(1), 50)) "
                                   .. "print(np.debug.sleep(np.ones(1), 600000)) print 'last'", "while true do end")
    check.equal(status, 143)
    check.ok(out:find "^%[1%.%]\n<error: [^\n]*interrupted>\nlast\n$", out)
end)

check.test("a session that has nothing left to do but to print ends too", function()
    local code = "print 'ready' io.stdout:flush() print(np.debug.sleep(np.ones(1), 600000))"
    local line = [["$0" -e "$1" >"$2" & child=$!
        for k in $(seq 200); do grep -q ready "$2" && break; sleep 0.1; done
        sleep 0.2; kill -TERM $child; wait $child; echo $?; cat "$2"; rm "$2"]]
    local _, out, err = process.run { "sh", "-c", line, process.neap, code, os.tmpname() }
    check.ok(out:find "^143\nready\n<error: [^\n]*interrupted>\n$", out)
    check.equal(err, "neap: terminated (SIGTERM)\n")
end)

process.cleanup()
check.done()
