--- output_test.lua: print, np.printf, io.write: formats, order, no waiting, what happens at the end of a program.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local output = process.output

check.test("print as in Lua", function()
    check.equal(output "print() print(1, 'a', nil, true, 1.5)", "\n1\ta\tnil\ttrue\t1.5\n")
    check.equal(output "print(np.arange(6):reshape(2,3):sum{axis=0})", "[3 5 7]\n")
    check.equal(output "print('x', np.arange(3), 2)", "x\t[0 1 2]\t2\n")
    check.equal(output "print(setmetatable({}, {__tostring = function() return 'own' end}))", "own\n")
end)

check.test("one order for everything", function()
    local text = output [[
        local slow = np.debug.sleep(np.ones(1), 50)
        io.write("a", 1, " ")
        print(slow)
        io.stdout:write("b "):write("c\n")
        np.printf("%d%%\n", slow)
        os.execute("echo from a child")
        print "end"
    ]]
    check.equal(text, "a1 [1.]\nb c\n1%\nfrom a child\nend\n")
end)

check.test("print does not wait", function()
    local text = output [[
        local held, go = np.debug.hold(np.ones(2))
        print(held)
        print("next")
        go()
    ]]
    check.equal(text, "[1. 1.]\nnext\n")
end)

check.test("a failed array prints its error in place", function()
    local text = output("print('<', np.debug.fail(np.ones(1)), '>') print 'on'", 1)
    check.ok(text:find("^<\t<error: .*failed on purpose.*>\t>\non\n$"), text)
end)

check.test("printf", function()
    check.equal(output [[np.printf("%d %5.2f %s|\n", np.array(3), np.array(2.5), np.arange(2))]], "3  2.50 [0 1]|\n")
    check.equal(output [[np.printf("%-4s|%x %g\n", "ab", 255, 0.1)]], "ab  |ff 0.1\n")
    check.raises(function() np.printf("%d", np.ones(2)) end, "array of one element, argument 2 has shape %(2,%)")
    check.raises(function() np.printf("%d") end, "no argument for conversion 1")
    check.raises(function() np.printf("x", 1) end, "1 arguments for 0 conversions")
    check.raises(function() np.printf("%y", 1) end, "cannot read the conversion")
    check.raises(function() np.printf("%999d", np.array(1)) end, "printf: width and precision")
    check.raises(function() np.printf("%.999f", 1) end, "printf: width and precision")
    check.raises(function() np.printf("%d", "a") end, "does not fit %%d")
    check.raises(function() np.printf("%5s", np.ones(1)) end, "plain %%s")
    check.raises(function() np.printf(3) end, "argument 1 %(format%)")
end)

check.test("prints inside a jitted function", function()
    check.equal(output [[
        local f = np.jit(function(x) print("x is", x) np.printf("%.1f\n", x:sum()) return x * 2 end)
        f(np.ones(2)) print("between") f(np.zeros(2))
    ]], "x is\t[1. 1.]\n2.0\nbetween\nx is\t[0. 0.]\n0.0\n")
end)

check.test("numbers inside a jitted function print as numbers", function()
    check.equal(output [[
        local f = np.jit(function(x, k) print("k", k, k / 2) return x * k end)
        f(np.ones(1), 3) f(np.ones(1), 0.1)
    ]], "k\t3\t1.5\nk\t0.1\t0.05\n")
end)

check.test("nothing is lost at the end", function()
    check.equal(output "print(np.debug.sleep(np.ones(1), 100)) os.exit(0)", "[1.]\n")
    check.equal(output "io.write('no newline')", "no newline")
end)

check.test("other files are Lua's own", function()
    local path = process.file ""
    local file = assert(io.open(path, "w"))
    check.ok(file:write("one ", 2))
    file:close()
    io.output(path)
    io.write("three")
    io.close()
    io.output(io.stdout)
    check.equal(io.open(path):read("*a"), "three")
    check.raises(function() io.write({}) end, "string expected, got table")
end)

check.test("files of io.open take arrays: at once, once these have their values", function()
    local path = process.file ""
    local file = assert(io.open(path, "w+"))
    check.ok(file:write("a ", np.debug.sleep(np.arange(3), 100), " ", 1.5, "\n"))
    file:seek("set", 0)
    check.equal(file:read "*l", "a [0 1 2] 1.5")
    file:seek("end", 0)
    check.raises(function() file:write("x", np.debug.fail(np.ones(1))) end, "failed on purpose")
    check.raises(function() np.jit(function(x) file:write(x) return x end)(np.ones(1)) end,
                 "output_test.lua:%d+: bad argument #1 to 'write': .- not known while tracing; use np%.effects%.logger")
    file:close()
    io.output(path)
    io.write(np.arange(2), "\n")
    io.close()
    io.output(io.stdout)
    check.equal(process.read(path), "[0 1]\n")
end)

process.cleanup()
check.done()
