--- kinds_test.lua: kinds of effects that the program makes: their names, their orders, and their tokens in programs.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local output = process.output

check.test("a kind has to be made before it is used", function()
    check.raises(function() np.callback(print, { kind = "kinds-a" }) end,
                 "no kind of effects is called 'kinds%-a': there are print, write, callback, log.*np%.effects%.kind")
    check.raises(function() np.effects.order("kinds-a", "own") end, "no kind of effects is called 'kinds%-a'")
    check.raises(function() np.debug.print({ kind = "kinds-a" }, "x") end, "no kind of effects is called 'kinds%-a'")
    check.raises(function() np.effects.logger({}, { kind = "kinds-a" }) end, "no kind of effects is called 'kinds%-a'")
    check.equal(np.effects.kind "kinds-a", "kinds-a")
    check.equal(np.effects.kind "kinds-a", "kinds-a")
    np.callback(print, { kind = "kinds-a" })
    check.raises(function() np.effects.order("kinds-b", "own") end, "there are print, write, callback, log, kinds%-a")
end)

check.test("names and orders that are none", function()
    check.raises(function() np.effects.kind(3) end, "np%.effects%.kind: argument 1 %(name%)")
    check.raises(function() np.effects.kind "" end, "is called by 1 to 31 letters")
    check.raises(function() np.effects.kind "two words" end, "'two words'")
    check.raises(function() np.effects.kind(("x"):rep(32)) end, "is called by 1 to 31 letters")
    check.raises(function() np.effects.kind("kinds-a", { order = "mine" }) end, 'option \'order\' must be "own" or "gl')
    check.raises(function() np.effects.kind("kinds-a", { ordered = true }) end, "unknown option 'ordered'")
    check.raises(function() np.debug.print({ kind = 3 }, "x") end, "option 'kind' must be a kind of effect")
end)

check.test("no more kinds than there is room for", function()
    check.equal(output [[
        local made = 0
        for k = 1, 30 do if pcall(np.effects.kind, "k" .. k) then made = made + 1 end end
        print(made, np.effects.kind "k1")
        print((select(2, pcall(np.effects.kind, "another")):gsub("^.-: ", "")))
    ]], "20\tk1\nnp.effects.kind: no room for a kind of effects 'another': there are 24 already\n")
end)

check.test("in the order of the program, unless it has an order of its own", function()
    local text = [[
        local kind = np.effects.kind("db", { order = HOW })
        local slow = np.debug.sleep(np.ones(1), 2000)
        local store = np.callback(function(x) print("store", x) end, { kind = kind })
        print("slow", slow)
        store(1)
        store(2)
    ]]
    check.equal(output((text:gsub("HOW", '"global"'))), "slow\t[1.]\nstore\t1\nstore\t2\n")
    check.equal(output((text:gsub("HOW", '"own"'))), "store\t1\nstore\t2\nslow\t[1.]\n")
end)

check.test("effects of one kind stay in order over prints, callbacks and logs", function()
    check.equal(output [[
        local kind = np.effects.kind("db", { order = "own" })
        local slow, lines = np.debug.sleep(np.ones(1), 2000), {}
        local log = np.effects.logger(lines, { kind = kind })
        np.debug.print({ ordered = true, kind = kind }, "first {}", slow)
        np.callback(function() io.write("second\n") end, { kind = kind })()
        log("third")
        np.callback(function() io.write(lines[1], "\n") end, { kind = kind })()
        print "at once"
    ]], "at once\nfirst [1.]\nsecond\nthird\n")
end)

check.test("a loop with callbacks stands in the orders of all kinds of its effects", function()
    check.equal(output [[
        local kind = np.effects.kind("db", { order = "own" })
        local slow = np.debug.sleep(np.ones(1), 2000)
        np.callback(function(x) io.write("before ", tostring(x), "\n") end, { kind = kind })(slow)
        local store = np.callback(function(x) io.write("store ", tostring(x), "\n") end, { kind = kind })
        np.fori_loop(0, 2, function(i, c) store(i) return c end, np.ones(1))
        print "at once"
    ]], "at once\nbefore [1.]\nstore 0\nstore 1\n")
end)

check.test("programs show a chain of tokens for each order", function()
    check.equal(output [[
        local kind = np.effects.kind("db")
        local store = np.callback(function() end, { kind = kind, name = "store" })
        local p = np.trace(function(x)
            print(x)
            store(x)
            io.write(x)
            np.fori_loop(0, 2, function(i, c) print(i) store(c) return c end, x)
            store(x)
            print(x)
        end)(np.ones(2))
        local function lines()
            for line in (tostring(p):gsub(" {\n    .-\n  }", "")):gmatch "[^\n]+" do
                if line:find "#" then io.write(line, "\n") end
            end
        end
        lines()
        np.effects.order("db", "own")
        lines()
        np.effects.order("print", "own")
        lines()
        io.write(p:dot():match 'label="db#1"')
    ]], [[
  #1: token = print[ordered] #0 x "\n"
  #2, a: u8[1] = callback[db ordered] store #1 x
  #3: token = write[ordered] #2 x
  #4, _*2 = scan[length=2 carries=2 xs=0] #3 x 0
  #5, b: u8[1] = callback[db ordered] store #4 x
  #6: token = print[ordered] #5 x "\n"
  #1: token = print[ordered] #0 x "\n"
  db#1, a: u8[1] = callback[db ordered] store db#0 x
  #2: token = write[ordered] #1 x
  #3, db#2, _*2 = scan[length=2 carries=2 xs=0] #2 db#1 x 0
  db#3, b: u8[1] = callback[db ordered] store db#2 x
  #4: token = print[ordered] #3 x "\n"
  print#1: token = print[ordered] print#0 x "\n"
  db#1, a: u8[1] = callback[db ordered] store db#0 x
  #1: token = write[ordered] #0 x
  print#2, db#2, _*2 = scan[length=2 carries=2 xs=0] print#1 db#1 x 0
  db#3, b: u8[1] = callback[db ordered] store db#2 x
  print#3: token = print[ordered] print#2 x "\n"
label="db#1"]])
end)

check.test("a saved program brings its kinds along", function()
    local path = process.file ""
    local use = ("local path = %q\n"):format(path)
    output(use .. [[
        local store = np.callback(function() end, { kind = np.effects.kind "db", name = "store" })
        np.trace(function(x) print(x) store(x) store(2 * x) return x end)(np.ones(1)):save(path)
    ]])
    check.equal(output(use .. [[
        local p = np.load_program(path, { callbacks = { store = function(x) io.write("store ", x, "\n") end } })
        np.effects.order("db", "own")
        print(tostring(p):match "db#2[^\n]*")
        np.effects.order("db", "global")
        p(np.array { 3 })
    ]]), "db#2, c: u8[1] = callback[db ordered] store db#1 b\n[3.]\nstore [3.]\nstore [6.]\n")
end)

process.cleanup()
check.done()
