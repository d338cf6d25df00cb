--- logger_test.lua: np.effects.logger: lines in files and tables, their format and order, inside jit, closing.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

--- What a program prints; `path` is the global PATH in it.
local function output(code, path)
    return process.output(("PATH = %q "):format(path or "") .. code)
end

check.test("a file that cannot be written", function()
    local log = np.effects.logger("/dev/full")
    log("lost")
    np.effects_barrier()
    check.raises(function() log("more") end, "test%.lua:%d+: np%.effects%.logger: /dev/full: No space left")
    check.raises(function() log:close() end, "test%.lua:%d+: np%.effects%.logger: /dev/full: No space left")
    log:close()
end)

check.test("a file that cannot be written is told of at the end, if nobody met that", function()
    local code = 'np.effects.logger("/dev/full")("lost")'
    local status, out, err = process.run_neap { "-e", code }
    check.equal({ status, out, err }, { 1, "", "neap: /dev/full: No space left on device\n" })
    code = [[local log = np.effects.logger("/dev/full")
             log("lost")
             np.effects_barrier()
             print((pcall(log.close, log)))]]
    status, out, err = process.run_neap { "-e", code }
    check.equal({ status, out, err }, { 0, "false\n", "" })
end)

check.test("lines in a file, formatted as by np.printf", function()
    local path = process.file "old\n"
    local log = np.effects.logger(path)
    log("plain")
    log("%d %.2f %s %s|%5s|%%", np.array(3), 0.5, np.arange(3), "text", "ab")
    log("%s", np.debug.sleep(np.ones(1), 50))
    log:close()
    check.equal(process.read(path), "plain\n3 0.50 [0 1 2] text|   ab|%\n[1.]\n")
    log:close()
    check.raises(function() log("more") end, "np%.effects%.logger: the log is closed")
    check.raises(function() log.close() end, "test%.lua:%d+: np%.effects%.logger: .*log:close%(%), got nothing")
end)

check.test("mode: emptied first or appended to", function()
    local path = process.file "old\n"
    local log = np.effects.logger(path, { mode = "a" })
    log("new")
    log:close()
    check.equal(process.read(path), "old\nnew\n")
    log = np.effects.logger(path, { mode = "w" })
    log:close()
    check.equal(process.read(path), "")
end)

check.test("lines in a table", function()
    local lines = { "before" }
    local log = np.effects.logger(lines)
    local slow = np.debug.sleep(np.ones(1), 50)
    log("%d %s %.1f", slow, slow, 2)
    log("%s and %s", np.debug.fail(np.ones(1)), "text")
    log("plain")
    log:close()
    check.equal({ lines[1], lines[2], lines[4] }, { "before", "1 [1.] 2.0", "plain" })
    check.ok(lines[3]:find "^<error: .*debug_fail: failed on purpose> and text$", lines[3])
end)

check.test("files and tables hold the same lines", function()
    local path, lines = process.file "", {}
    local logs = { np.effects.logger(path), np.effects.logger(lines) }
    for _, log in ipairs(logs) do
        log("%5.1f|%-8d|%x|%s", np.array(2.25), np.array(7), np.array(255), np.linspace(0, 1, 3))
        np.jit(function(x, k) log("%s %s %g %d", x, k, k, k) return x end)(np.ones(2), 3)
        log:close()
    end
    check.equal(process.read(path), table.concat(lines, "\n") .. "\n")
    check.equal(lines[2], "[1. 1.] 3 3 3")
end)

check.test("inside a jitted function, at each run", function()
    local lines = {}
    local log = np.effects.logger(lines)
    local f = np.jit(function(x) log("%.1f", x:sum()) return x end)
    for k = 1, 3 do f(np.ones(2) * k) end
    np.effects_barrier()
    check.equal(lines, { "2.0", "4.0", "6.0" })
    check.equal(tostring(np.trace(function(x) log("%s", x) return x end)(np.ones(1))):match "callback%b[]",
                "callback[log ordered]")
end)

check.test("a log has its place among prints, and needs none", function()
    check.equal(output [[
        local lines = setmetatable({}, {__newindex = function(_, _, line) print("logged " .. line) end})
        local log = np.effects.logger(lines)
        print("a", np.debug.sleep(np.ones(1), 100))
        log("b")
        print "c"
        np.effects.order("log", "own")
        local held, go = np.debug.hold(np.ones(1))
        print("d", held)
        log("e")
        np.callback(go, { kind = "log" })()
        np.effects_barrier()
    ]], "a\t[1.]\nlogged b\nc\nlogged e\nd\t[1.]\n")
end)

check.test("everything is in the file at the end, without a close and after an error", function()
    local path = process.file ""
    output([[
        local log = np.effects.logger(PATH)
        for k = 1, 300 do log("%d %s", k, np.debug.sleep(np.arange(1), k % 100 == 0 and 20 or 0)) end
    ]], path)
    local expected = {}
    for k = 1, 300 do expected[k] = k .. " [0]\n" end
    check.equal(process.read(path), table.concat(expected))
    local status = process.run_neap { "-e", ([[
        np.effects.logger(%q)("%%s", np.debug.sleep(np.arange(2), 100)) error "stop"]]):format(path) }
    check.equal(status, 1)
    check.equal(process.read(path), "[0 1]\n")
end)

check.test("a program that logs after the close is told off on stderr", function()
    local path = process.file ""
    local _, out, err = process.run_neap { "-e", ([[
        local log = np.effects.logger(%q)
        local f = np.jit(function(x) log("%%s", x) return x end)
        f(np.ones(1))
        log:close()
        f(np.ones(1))
        print "on"
    ]]):format(path) }
    check.equal(out, "on\n")
    check.equal(process.read(path), "[1.]\n")
    check.ok(err:find "^%(command line%):%d: log: no stream", err)
end)

check.test("refusals", function()
    check.raises(function() np.effects.logger(3) end, "argument 1 %(target%) must be a path or a table")
    check.raises(function() np.effects.logger("x", { mode = "r" }) end, "option 'mode' must be \"w\" or \"a\"")
    check.raises(function() np.effects.logger({}, { mode = "a" }) end, "a table takes no option 'mode'")
    check.raises(function() np.effects.logger("/no/such/folder/x") end, "np%.effects%.logger: .*No such file")
    check.raises(function() np.effects.logger({})("%d") end, "np%.effects%.logger: no argument for conversion 1")
    check.raises(function() np.effects.logger({})("%d", np.ones(2)) end, "array of one element")
end)

process.cleanup()
check.done()
