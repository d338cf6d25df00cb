--- debug_print_test.lua: np.debug.print: its format, its order or the lack of one; np.effects.order.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local output = process.output

check.test("fields", function()
    check.equal(output [[
        local x = np.array(2.5)
        np.debug.print("nothing")
        np.debug.print("{} {} {} {}", 1, "a", nil, true)
        np.debug.print("{} is {:.3f}, {:5d}|{:4s}|{:x}|{:}", x, x, np.array(3), "ab", 255, x)
        np.debug.print("{{}} {{{}}} 100%", np.arange(3))
        np.debug.print({ordered = true}, "{}", 0.1)
        np.debug.print({}, "{:g}", 0.5)
    ]], "nothing\n1 a nil true\n2.5 is 2.500,     3|ab  |ff|2.5\n{} {[0 1 2]} 100%\n0.1\n0.5\n")
end)

check.test("numbers and names of fields, and trees", function()
    check.equal(output [[
        local x = np.array(2.5)
        local function show(...) np.debug.print({ordered = true}, ...) end
        show("{1} {0} {1:.2f}", "a", x)
        show("{} {x} {y:d} {}", 1, {x = x, y = 3, 7})
        show("{x}{x}", {x = {}})
        local tree = {x, {1, "b"}, w = np.arange(2), [true] = 0, [7] = {f = x * 2}}
        tree.self = tree
        show("{}", tree)
        show("{}", {[10] = 1, [2] = 2, ["a b"] = 3})
        np.jit(function(t) show("{} {a}", t, {a = t.b}) end)({b = x})
    ]], "2.5 a 2.50\n1 2.5 3 {7, x = 2.5, y = 3}\n{}{}\n"
        .. "{2.5, {1, \"b\"}, [true] = 0, [7] = {f = 5.0}, self = {…}, w = [0 1]}\n"
        .. '{[2] = 2, [10] = 1, ["a b"] = 3}\n{b = 2.5} 2.5\n')
end)

check.test("formats that cannot be read", function()
    check.raises(function() np.debug.print("{", 1) end, "np%.debug%.print: cannot read the format at \"{\"")
    check.raises(function() np.debug.print("a } b") end, "cannot read the format at \"} b\"")
    check.raises(function() np.debug.print("{0x}", 1) end, "fields are {}, {0}, {x} and {:%.3f}")
    check.raises(function() np.debug.print("{1}", 1) end, "no argument for field {1}")
    check.raises(function() np.debug.print("{y}", { x = 1 }) end, "no argument for field {y}")
    check.raises(function() np.debug.print("{x}", 1) end, "no argument for field {x}")
    check.raises(function() np.debug.print("{x}", { x = 1, y = 2 }) end, "no field takes the argument 'y'")
    check.raises(function() np.debug.print("{x:>3", {x = 1}) end, "cannot read the format at \"{x:>3\"")
    check.raises(function() np.debug.print("{:{}}", 1, 2) end, "cannot read the format at \"{:{}}\"")
    check.raises(function() np.debug.print("ab {:3>>}", np.ones(1)) end,
                 "np%.debug%.print: argument 2 at byte 4 of the format: {:3>>} cannot be read: a field is {:%[%[fill%]")
    for _, spec in ipairs { ">100", ".100f", "5c", "n", "i", "-4s", "=4s", ",s", ".f", "x>y", "5.3d", ".2x", ",x" } do
        check.raises(function() np.debug.print("{:" .. spec .. "}", np.ones(1)) end, "argument 2 at byte 1")
        check.raises(function() np.debug.print("{:" .. spec .. "}", 3) end, "argument 2 at byte 1")
    end
    check.raises(function() np.debug.print("{:.2}", np.arange(1)) end, "{:%.2} has a precision, which integers")
    check.raises(function() np.debug.print("{:f}", np.array(np.complex(1, 2))) end, "{:f} expects a real number")
    check.raises(function() np.debug.print("{:d}", 1.5) end, "{:d} expects an integral value, got 1%.5")
    check.raises(function() np.debug.print("{:>9}", {1}) end, "{:>9} is for numbers and texts, got a table")
    check.raises(function() np.debug.print("{:>9}", np.ones(2)) end, "array of one element, got shape %(2,%)")
    check.raises(function() np.debug.print("{} {}", 1) end, "no argument for field 2")
    check.raises(function() np.debug.print("{}", 1, 2) end, "2 arguments for 1 fields")
    check.raises(function() np.debug.print("{:d}", "a") end, "argument 2 .*{:d} expects a number, got a text")
    check.raises(function() np.debug.print({}, "{:d}", np.ones(2)) end, "argument 3 at byte 1 .*array of one element")
    check.raises(function() np.debug.print(3) end, "argument 1 %(format%)")
    check.raises(function() np.debug.print({}) end, "argument 2 %(format%)")
    check.raises(function() np.debug.print({ order = true }, "x") end, "unknown option 'order'")
    check.raises(function() np.debug.print({ ordered = 1 }, "x") end, "option 'ordered' must be a boolean")
end)

check.test("unordered: as soon as the values are there", function()
    check.equal(output [[
        local slow = np.debug.sleep(np.ones(1), 2000)
        np.debug.print("{}", slow)
        np.debug.print("at once")
        np.effects_barrier()
    ]], "at once\n[1.]\n")
end)

check.test("ordered: with prints", function()
    check.equal(output [[
        np.debug.print({ordered = true}, "{}", np.debug.sleep(np.ones(1), 100))
        print "next"
    ]], "[1.]\nnext\n")
end)

check.test("unordered prints are not lost at the end, nor after an error", function()
    check.equal(output [[np.debug.print("{}", np.debug.sleep(np.ones(1), 100))]], "[1.]\n")
    local status, out = process.run_neap { "-e", [[
        np.debug.print("{}", np.debug.sleep(np.ones(1), 100)) error "stop"]] }
    check.equal(status, 1)
    check.equal(out, "[1.]\n")
end)

check.test("a failed array", function()
    local text = output([[np.debug.print("< {} >", np.debug.fail(np.ones(1)))]], 1)
    check.ok(text:find("^< <error: .*failed on purpose.*> >\n$"), text)
end)

check.test("inside a jitted function", function()
    check.equal(output [[
        local f = np.jit(function(x, k)
            np.debug.print({ordered = true}, "x {} k {} {:.2f}", x, k, x:sum())
            return x * k
        end)
        f(np.ones(2), 3)
        print "between"
        f(np.zeros(2), 0.5)
    ]], "x [1. 1.] k 3 2.00\nbetween\nx [0. 0.] k 0.5 0.00\n")
    check.equal(output [[
        local f = np.jit(function(x) np.debug.print("slow {}", np.debug.sleep(x, 2000)) return x end)
        f(np.ones(1))
        print "past it"
        np.effects_barrier()
    ]], "past it\nslow [1.]\n")
end)

check.test("widths and types in programs, saved ones too", function()
    check.equal(output [[
        local function f(x, k)
            local format = "|{:>6}|{:^7.2f}|{:x>4}|{n:<5,}|{:06}|"
            np.debug.print({ordered = true}, format, k, x:sum(), x[0], x[1], {n = 1234LL})
            return x
        end
        np.jit(f)(np.array{1.5, 2}, 0.5)
        local path = os.tmpname()
        np.trace(function(x) return f(x, 7) end)(np.ones(2)):save(path)
        np.load_program(path)(np.array{-1, 3}):wait()
        os.remove(path)
    ]], "|   0.5| 3.50  |x1.5|1,234|0002.0|\n|     7| 2.00  |-1.0|1,234|0003.0|\n")
end)

check.test("a program says how it prints", function()
    local text = tostring(np.trace(function(x)
        print(x)
        np.debug.print("{}", x)
        io.write(x, "\n")
        return x
    end)(np.ones(2)))
    check.equal(text, [[
program(x: f32[2]) -> (out: f32[2]) {
  #1: token = print[ordered] #0 x "\n"
  print[unordered] x "\n"
  #2: token = write[ordered] #1 x "\n"
  return x
}]])
end)

-- ---- Kinds with an order of their own -------------------------------------------------------------------------------

check.test("a kind of its own does not wait for others", function()
    check.equal(output [[
        np.effects.order("write", "own")
        local held, go = np.debug.hold(np.ones(1))
        print(held)
        io.write("written\n")
        io.write(np.debug.sleep(np.arange(1), 100), "\n")
        io.write("written last\n")
        np.callback(go, { kind = "write" })()
        np.effects_barrier()
    ]], "written\n[0]\nwritten last\n[1.]\n")
end)

check.test("and waits again when it is global again", function()
    check.equal(output [[
        np.effects.order("write", "own")
        io.write(np.debug.sleep(np.ones(1), 200), "\n")
        print "first"
        np.effects.order("write", "global")
        io.write("third\n")
        print "fourth"
    ]], "first\n[1.]\nthird\nfourth\n")
end)

check.test("kinds and orders by name", function()
    check.raises(function() np.effects.order("prints", "own") end, "print, write, callback, log")
    check.raises(function() np.effects.order("print", "alone") end, '"own" or "global"')
    check.raises(function() np.effects.order(nil, "own") end, "argument 1 %(kind%)")
end)

process.cleanup()
check.done()
