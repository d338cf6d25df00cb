--- commands_test.lua (not under tsan): the prompt's own commands, and the prompts of np.breakpoint and `:debug`.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"

local says = prompts.says

local folder = process.file "" -- its name, as a folder
os.remove(folder)
os.execute("mkdir " .. folder)

--- Runs commands on an input without a terminal. Returns what is shown for each, and the errors.
local function run(commands, arguments)
    local words = { "-i", "--no-startup", unpack(arguments or {}) }
    local status, out, err = process.run_neap(words, table.concat(commands, "\n") .. "\n")
    check.equal(status, 0)
    return out, prompts.without_source(err)
end

local function matches(text, ...)
    for _, pattern in ipairs { ... } do check.ok(text:find(pattern), text .. "\n-- lacks " .. pattern) end
end

-- ---- Measuring ------------------------------------------------------------------------------------------------------

local MILLISECONDS = { ns = 1e-6, us = 1e-3, ["µs"] = 1e-3, ms = 1, s = 1e3, min = 6e4 }

--- The time that a pattern finds, a number and its unit, is no shorter than the sleep that it has to contain, but for
--- what rounding takes from it.
local function takes(text, least, pattern)
    local time, unit = text:match(pattern)
    check.ok(time and tonumber(time) * MILLISECONDS[unit] >= 0.99 * least, text .. "\n-- lacks " .. pattern)
end

check.test(":time waits for what the code gives and assigns", function()
    local TIME = "%S+ %S+ %(%S+ %S+ running, %S+ %S+ waiting%); memory %S+ k?B, at most %S+ k?B; "
    local out, err = run { "x = np.ones{1000}", "x:wait();", ":time x + 1;", ":time np.ones{2}",
                           ":time y = np.debug.sleep(x * 2, 30)",
                           "np.debug.counters().pending", ":time local z = x * 3", ":time 1 + 1", ":time",
                           ":time x +", ")", ":time for k = 1, 2 do", "end" }
    check.equal(err, ":time: what code?; usage: :time CODE\n"
                     .. "[10]:1: unexpected end of the line; a value is missing behind the +\n")
    matches(out, "^> > > " .. TIME .. "1 kernel\n> %[1%. 1%.%]  f32%[2%]\n" .. TIME .. "%d kernels?\n> ",
            "\n> " .. TIME .. "2 kernels\n> 0\n> ", "\n> 2\n" .. TIME .. "0 kernels\n")
    takes(out, 30, "\n> (%S+) (%a+) %(%S+ %S+ running, [^;]+; [^;]+; 2 kernels\n> 0\n")
end)

check.test(":time and :bench wait for what the code puts into tables", function()
    local out, err = run { "x = np.ones{1000}", "x:wait();", "t = { inner = {} }", "local rows = {}",
                           ":time t.inner.y, rows[1] = np.debug.sleep(x * 2, 30), np.debug.sleep(x, 30)",
                           ":bench rows[#rows + 1] = np.debug.sleep(x, 20)" }
    check.equal(err, "")
    takes(out, 30, "> (%S+) (%a+) %(%S+ %S+ running, %S+ %S+ waiting")
    takes(out, 20, "\n> best (%S+) (%a+), median %S+ %S+ of %d+ runs")
end)

check.test(":bench", function()
    local out, err = run { "x = np.ones{10}", "n = 0", ":bench n = n + 1", "n > 3", ":bench np.debug.sleep(x, 20)",
                           ":bench error 'no'", ":bench" }
    check.equal(err, "[6]:1: no\n:bench: what code?; usage: :bench CODE\n")
    matches(out, "best %S+ %S+, median %S+ %S+ of %d+ runs; the first run took %S+ %S+\n> true\n")
    takes(out, 20, "> true\n> best (%S+) (%a+), median %S+ %S+ of %d+ runs")
end)

-- ---- Looking --------------------------------------------------------------------------------------------------------

check.test(":who", function()
    local w = process.run { process.neap, "-e", "" } -- warms the disk
    check.equal(w, 0)
    says({}, {
        { ":who", "no variables yet" },
        { "local w = np.ones{10, 10}", "" },
        { "h = np.arange(3) + 1; h:wait();", "" },
        { "local t, f = { np.ones{3}, 'a' }, function(x) end", "" },
        { ":who", "f  function                     function(x)\n" ..
                  "h  i32[3]      12 B   computed  cpu:0\n" ..
                  "t  table       13 B             {f32[3], \"a\"}\n" ..
                  "w  f32[10,10]  400 B  pending   cpu:0" },
        { ":who ^w", "w  f32[10,10]  400 B  pending  cpu:0" },
        { ":who zz", "no variable matches zz" },
        { ":who %", ":who: '%' is no pattern of Lua's; usage: :who [PATTERN]" },
        { "w:delete()", nil },
        { ":who w", "w  f32[10,10]  400 B  deleted" },
    })
end)

check.test(":mem, :explain, :trace", function()
    local out, err = run { "x = np.ones{3}", ":mem", ":mem x", ":explain x * 2", ":explain y = 2", ":explain",
                           (":trace %s/t.json (x * 2):sum()"):format(folder), ":trace t.json",
                           ":trace /no/such/t.json x", ":trace " .. folder .. "/u.json error 'no'",
                           (":trace %s/t.json x"):format(folder), (":trace %s/t.json x * 5;"):format(folder) }
    matches(out, "memory +live", "multiply", "> 6%.0  f32\nthe timeline is in " .. folder .. "/t.json; https",
            "> %[1%. 1%. 1%.%]  f32%[3%]\nthe timeline[^\n]*\n> the timeline")
    check.ok(process.read(folder .. "/t.json"):find '"traceEvents"')
    matches(err, ":mem: nothing follows it; usage: :mem\n", ":explain: that is a statement, not an expression",
            ":explain: what expression%?", ":trace: what code%?; usage: :trace FILE CODE\n",
            ":trace: [^\n]*/no/such/t.json[^\n]*No such file", "%[10%]:1: no\n")
end)

check.test(":timeline draws what ran, in characters", function()
    local out, err = run { "x = np.ones{300, 300}:wait()", ":timeline (x * 2):sum():item()",
                           ":timeline y = x:matmul(x);", ":timeline 1 + 1", ":timeline", ":timeline error 'no'",
                           ":timeline x +)" }
    matches(out, "> 180000\nmain  +[█░▏·]+\n", "[%d.]+ [mµ]*s in all; █ ran, ░ waited\n",
            " %d+ ×  multiply%+sum\n", " 1 ×  matmul2\n", "\n> 2\nnothing ran that takes time\n")
    matches(err, ":timeline: what code%?; usage: :timeline CODE\n", "%[6%]:1: no\n", "%[7%]:1: ")
end)

-- ---- Files ----------------------------------------------------------------------------------------------------------

check.test(":run keeps the variables of a script", function()
    local script = process.file("local given, n = ..., arg[0]\nshown = given\n"
                                .. "local function f() return x.y end\nlocal g = f")
    local out, err = run { ":run " .. script .. " 'two words'", "given, shown, n == '" .. script .. "', #arg", "x = 1",
                           "g()", ":run", ":run /no/such/file", ":run " .. process.file "x = = 1" }
    check.equal(out:match "> > (.-)> ", '"two words"\n"two words"\ntrue\n1\n')
    matches(err, script:gsub("%p", "%%%0") .. ":3: attempt to index global 'x' %(a number value%)\n",
            ":run: which file%?; usage: :run FILE %[ARGUMENTS%]", ":run: cannot read /no/such/file: No such file",
            "/tmp/%S+:1: unexpected symbol near '='\n")
end)

check.test(":edit", function()
    local editor = folder .. "/editor"
    local file = assert(io.open(editor, "w"))
    file:write "#!/bin/sh\nsed -i 's/6/7/' \"$1\"\n"
    file:close()
    os.execute("chmod +x " .. editor)
    local script = process.file "local edited = 6"
    local environment = { VISUAL = editor }
    says({}, {
        { ":edit", "(nothing is changed, so nothing is run)" },
        { "for k = 1, 2 do\nprint(6 * k)\nend", "6\n12" },
        { ":edit", "for k = 1, 2 do\n" .. prompts.indent .. "print(7 * k)\nend\n7\n14" },
        { ":edit " .. script, "" },
        { "edited", "7" },
        { ":edit a b", ":edit: one file at a time; usage: :edit [FILE]" },
    }, nil, environment)
    for _, none in ipairs { "", " " } do
        says({}, { { ":edit", ":edit: 'false' ended with status 1; $VISUAL or $EDITOR says which editor" } }, nil,
             { VISUAL = none, EDITOR = "false" })
    end
    says({}, { { ":edit", ":edit: 'false' ended with status 1; $VISUAL or $EDITOR says which editor" } }, nil,
         { VISUAL = "false" })
end)

check.test(":save and :load", function()
    local path = folder .. "/session"
    says({}, {
        { (":save %s.lua"):format(path), ":save: no command has run yet" },
        { (":save %s.npz"):format(path), ":save: no variable is an array" },
        { "local a = np.arange(3)", "" },
        { "for k = 1, 2 do\nb = np.ones{k}\nend", "" },
        { "no()", nil },
        { "a + 1", nil },
        { (":save %s.lua"):format(path), ("3 commands in %s.lua"):format(path) },
        { (":save %s.npz"):format(path), ("2 arrays in %s.npz"):format(path) },
        { (":save %s.one.npz a"):format(path), ("1 array in %s.one.npz"):format(path) },
        { (":save %s.npz nobody"):format(path), ":save: nobody is nothing (nil), not an array" },
        { ":save", ":save: which file?; usage: :save FILE [NAMES]" },
        { ":save x.txt", ":save: the file's name ends in .lua or .npz; usage: :save FILE [NAMES]" },
        { ":save /no/such/file.lua", ":save: cannot write /no/such/file.lua: No such file or directory" },
    })
    says({}, {
        { (":load %s.lua"):format(path), "[1 2 3]  i32[3]" },
        { "a, b", "[0 1 2]  i32[3]\n[1. 1.]  f32[2]" },
    })
    says({}, {
        { "local a = 5", "" },
        { (":load %s.npz"):format(path), "2 arrays: a, b" },
        { "a, b", "[0 1 2]  i32[3]\n[1. 1.]  f32[2]" },
        { ":load", ":load: which file?; usage: :load FILE" },
        { ":load /no/file.lua", ":load: cannot read /no/file.lua: No such file or directory" },
    })
end)

check.test("the shell", function()
    local out, err = run { "!echo one; echo two", "! exit 3", "!", "1" }
    check.equal({ out, err }, { "> one\ntwo\n> (status 3)\n> > 1\n> ",
                                "!: what command of the shell? usage: !COMMAND\n" })
end)

check.test(":cd", function()
    os.execute(("mkdir '%s/inner' '%s/a b'"):format(folder, folder))
    local lines = { ":cd -", ":cd " .. folder .. "/inner", "!pwd", "io.open('file', 'w'):close();", ":cd",
                    "io.open('inner/file') ~= nil", ":cd -", ':cd "../a b"', ":cd ../a b/", ":cd nowhere",
                    ":cd ~/inner", "!cd ..", "! cd", "!cd .. && pwd", ":pwd" }
    local status, out, err = process.run({ "env", "HOME=" .. folder, process.neap, "-i", "--no-startup" },
                                         table.concat(lines, "\n") .. "\n")
    local expected = "F/inner\nF/inner\nF\ntrue\nF/inner\nF/a b\nF/a b\nF/inner\nF\n"
    check.equal({ status, (out:gsub("> ", "")) }, { 0, (expected:gsub("F", folder)) })
    check.equal(err, ":cd: there is no folder to go back to yet\n:cd: nowhere: No such file or directory\n"
                     .. "!cd: a child cannot change where neap works; :cd .. does\n"
                     .. "!cd: a child cannot change where neap works; :cd PATH does\n"
                     .. "there is no command :pwd; !pwd tells the folder\n")
    status, out, err = process.run({ "env", "-u", "HOME", process.neap, "-i", "--no-startup" }, ":cd\n:cd .\n")
    local _, here = process.run { "pwd", "-P" }
    check.equal({ status, (out:gsub("> ", "")), err }, { 0, here, ":cd: there is no home folder: HOME is not set\n" })
end)

-- ---- Help -----------------------------------------------------------------------------------------------------------

check.test(":help lists the commands; mistakes are told", function()
    local out, err = run { ":help", ":help bench", ":help :who", ":tim 1", ":", ":xyzzy", "x::y", "?", ":who",
                           ":q", "help", "help = 3", "help" }
    matches(out, "^> %?np +what np has, by subject; [^\n]*\n%?NAME")
    for _, name in ipairs { "%?%?NAME", ":time CODE", ":bench CODE", ":who %[PATTERN%]", ":mem", ":out %[clear%]",
                            ":explain EXPRESSION", ":trace FILE CODE", ":timeline CODE", ":run FILE %[ARGUMENTS%]",
                            ":edit %[FILE%]", ":save FILE %[NAMES%]", ":load FILE", ":debug", "!COMMAND",
                            ":help %[NAME%]",
                            "exit, quit, Ctrl%-D" } do
        matches(out, "\n" .. name .. "  ")
    end
    matches(out, ":bench CODE\nrun code many times", ":who %[PATTERN%]\nthe variables\nOf an array")
    check.equal(err, "there is no command :tim; did you mean :time? (:help lists them)\n"
                     .. "a command is a word behind the colon, as in :help\n"
                     .. "there is no command :xyzzy (:help lists them)\n"
                     .. "[7]:1: '=' expected near '::'; a dot leads to a field: x.y\n"
                     .. "there is no command :q; exit, quit or Ctrl-D leaves\n")
    check.equal(select(2, out:gsub("%?NAME  ", "")), 6, "three lists")
    check.ok(out:find "\n> > 3\n> $", out)
    out, err = run { "?:who", ":history", "t = { x = np.memory() }", "np.memory();", ":out" }
    matches(out, "^> :who %[PATTERN%]\nthe variables\nOf an array", "Out%[4%]  memory [^\n]+\n> $")
    check.equal(err, "there is no command :history; the arrows and Ctrl-R find what was typed\n")
end)

check.test("an error of the prompt's own does not take :debug's functions away", function()
    local out, err = run { "local function f(n) return n + nil end", "f(1)", ":xyzzy", "x = = 1", ":debug", "n", ":q" }
    matches(out, "%(debug%) 1\n")
    check.ok(not err:find "there was no error", err)
end)

-- ---- Inside of functions --------------------------------------------------------------------------------------------

check.test(":debug looks at the functions of the last error", function()
    says({}, {
        { ":debug", ":debug: there was no error whose functions could be looked at" },
        { "local shared = 5", "" },
        { "local function inner(w, h) local y = w .. h return y.z.z + shared end", "" },
        { "local function outer(k) return 1 + inner(k, 'x') end", "" },
        { "outer(3)", nil },
    })
    local out, err = run { "local shared = 5", "local function inner(w, h) local y = w .. h return y.z.z + shared end",
                           "local function outer(k) return 1 + inner(k, 'x') end", "outer(3)", "1", ":debug", "w, h",
                           "shared", ":w", ":u", "k", ":who k", ":l", ":d", "y = 7", "y", "local own = y + 1", "own",
                           "nowhere", ":nothing", ":q", "own" }
    matches(err, "%[2%]:1: attempt to index field 'z'", "%[6%.13%]:1: the variable 'nowhere'",
            "there is no command :nothing",
            "the variable 'own' has no value\n$")
    check.equal(out:match "> 1\n(.*)$", [[
> [2]:1: attempt to index field 'z' (a nil value)
at [2]:1, in function 'inner'  (:q leaves, :h tells more)
(debug) 3
"x"
(debug) 5
(debug) > [2]:1, in function 'inner'
  [3]:1, in function 'outer'
  [4]:1, in the main chunk
(debug) [3]:1, in function 'outer'
(debug) 3
(debug) k  number      3
(debug) k = 3
(debug) [2]:1, in function 'inner'
(debug) (debug) 7
(debug) (debug) 8
(debug) (debug) (debug) > > ]])
end)

check.test("an error keeps no work alive that Ctrl-C or a shortage of memory has stopped", function()
    local out, err = run { "local function f() local x = np.ones{10} error('out of memory: told') end",
                           "f()", ":debug" }
    matches(err, "out of memory: told", ":debug: there was no error")
    check.equal(out, "> > > > ")
end)

check.test("a breakpoint has the prompt's editing, and hides no variable", function()
    local terminal = prompts.start { "-e", "local function f(w, h, c) np.breakpoint() return w end print(f(1, 2, 3))" }
    local function typed(text) return prompts.command(terminal, text, "(breakpoint) ") end
    matches(terminal:expect "(breakpoint) ", "breakpoint at %(command line%):1, in function 'f'")
    check.equal(typed "w, h, c", "1\n2\n3\n")
    check.equal(typed "local mine = h * 10", "")
    check.equal(typed "mine", "20\n")
    check.equal(typed "misspelt", "[4]:1: the variable 'misspelt' has no value\n")
    check.equal(typed "w = 6", "")
    terminal:send "\27[A\27[A\27[A\n" -- up: the third last command
    terminal:expect "20\r\n"
    terminal:expect "(breakpoint) "
    terminal:send "for k = 1, 2 do\n"
    terminal:expect ">> "
    terminal:send "\3"
    terminal:expect "^C"
    terminal:expect "(breakpoint) "
    check.equal(typed "np.ones{2}", "[1. 1.]  f32[2]\n")
    matches(typed ":time mine", "^20\n.* 0 kernels\n$")
    terminal:send ":continue\n"
    terminal:expect "6\r\n"
    check.equal(terminal:finish(), 0)
end)

check.test("a breakpoint in a coroutine and in a function of the prompt", function()
    local out, err = run { "local function f(a) np.breakpoint() return a end",
                           "coroutine.wrap(function(b) f(b) end)(4)", "a", ":u", "b = 5", ":c", "f(1)", ":w",
                           ":q", "2" }
    matches(out, "in function 'f'  %(:c goes on, :h tells more%)\n%(breakpoint%) 4\n",
            "> %[1%]:1, in function 'f'\n  %[%d+%]:1, in the main chunk\n%(breakpoint%) > 2\n")
    matches(err, "stopped at a breakpoint")
end)

os.execute("rm -r " .. folder)
process.cleanup()
check.done()
