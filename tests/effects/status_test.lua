--- status_test.lua (sanitized with --long): a program whose callbacks or prints have failed ends with status 1,
-- wherever it was told; a failure that the program has dealt with, or that nobody has asked for, is none.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

--- The status of a program, given as -e code, as a script and on standard input: it must be the same.
local function status_of(code)
    local as_code = process.run_neap { "-e", code }
    local as_script = process.run_neap { process.file(code) }
    local as_input = process.run_neap({}, code)
    check.equal({ as_script, as_input }, { as_code, as_code }, code)
    return as_code
end

check.test("failures that are told", function()
    for _, code in ipairs {
        "np.callback(function() error 'no' end)()",
        "np.callback(function(x) x.y.z = 1 end, {ordered = false})(np.ones(2))",
        "np.callback(print)(np.debug.fail(np.ones(1)))",
        "print(np.debug.fail(np.ones(1)))",
        "np.printf('%.3f\\n', np.debug.fail(np.ones(1)))",
        "io.write(np.debug.fail(np.ones(1)), '\\n')",
        "np.debug.print('{}', np.debug.fail(np.ones(1)))",
        "np.effects.logger({})('%s', np.debug.fail(np.ones(1)))",
        "np.jit(function(x) print(np.debug.fail(x)) end)(np.ones(1))",
        "np.fori_loop(0, 2, function(i, c) print(np.debug.fail(c)) return c end, np.ones(1))",
        "np.fori_loop(0, 2, function(i, c) np.callback(function() error 'no' end)() return c end, np.ones(1))",
        "np.callback(function() np.callback(function() error 'no' end)() end)()",
        "np.callback(function() error 'no' end)() np.effects_barrier() print 'later'",
        "np.callback(function() error 'no' end)() os.exit()",
    } do
        check.equal(status_of(code), 1, code)
    end
end)

check.test("failures that are not", function()
    for _, code in ipairs {
        "np.callback(print)(np.ones(1))",
        "local y = np.debug.fail(np.ones(1)) print(pcall(y.item, y))",
        "np.debug.fail(np.ones(1))",
        "np.callback(function() error 'no' end, {result = {shape = {}}})()",
        "np.callback(function() pcall(error, 'no') end)()",
        "print '<error: no>'",
    } do
        check.equal(status_of(code), 0, code)
    end
end)

check.test("a status of the program's own stays", function()
    check.equal(status_of "np.callback(function() error 'no' end)() os.exit(7)", 7)
    check.equal(status_of "np.callback(function() error 'no' end)() os.exit(0)", 0)
    check.equal(status_of "np.callback(function() error 'no' end)() os.exit(true)", 0)
end)

check.test("the code behind it runs", function()
    local status, out = process.run_neap { "-e", "np.callback(function() error 'no' end)()", "-e", "print 'next'" }
    check.equal({ status, out }, { 1, "next\n" })
end)

check.test("the prompt ends as ever", function()
    local commands = "np.callback(function() error 'no' end)()\nprint(np.debug.fail(np.ones(1)))\n"
    local status, out = process.run_neap({ "-i" }, commands)
    check.equal(status, 0, out)
end)

process.cleanup()
check.done()
