--- session_test.lua (not under tsan): what a prompt keeps from command to command: local variables, values, commands,
-- what the start-up file and scripts declare; and which names it knows.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"

local says = prompts.says

-- ---- Local variables ------------------------------------------------------------------------------------------------

check.test("local variables stay, as in a script", function()
    says({}, {
        { "local x = np.linspace(-2, 2, 5)", "" },
        { "print(np.tanh(x) * 2 + 1)", "[-0.92805517 -0.52318835  1.          2.5231884   2.9280553 ]" },
        { "local f = function(w) return ((w * x - 3 * x) ^ 2):mean() end", "" },
        { "np.grad(f)(np.array(0.5))", "-10.0  f32" },
        { "local a, b, _ = 1, { 2 }, 3; local c", "" },
        { "a, b[1], c", "1\n2\nnil" },
        { "local s = [[ local z = 1 ]] -- local q = 2", "" },
        { "s", '" local z = 1 "' },
        { "z", "[9]:1: the variable 'z' has no value" },
        { "do local within = 1 end", "" },
        { "within", "[11]:1: the variable 'within' has no value" },
        { "local t = { function() local y end, n = 1 } local u = -1 local v", "" },
        { "t.n, u, v", "1\n-1\nnil" },
    })
end)

check.test("an expression behind the end of a block is shown", function()
    says({}, {
        { "local s = 0 for i = 1, 3 do s = s + i end s", "6" },
        { "if s then s = s + 1 end s, -s;", "" },
        { "function double(x) return x * 2 end double(s)", "14" },
        { "double = function(x) return x * 2 end double(1.5)", "3" },
        { "do local s = 1 end for i = 1, 2 do print(i) end not s", "1\n2\nfalse" },
        { "local t = {} for k = 1, 2 do t[k] = function() return k end end t[2]()", "2" },
        { "s = { function() return 1 end, 2 }", "" },
        { "s[2]", "2" },
    })
end)

check.test("closures share a variable with later commands", function()
    says({}, {
        { "local n = 0", "" },
        { "local function count() n = n + 1 return n end", "" },
        { "count() count()", "" },
        { "n", "2" },
        { "n = 10", "" },
        { "count()", "11" },
        { "local n = 'another'", "" },
        { "count(), n", '12\n"another"' },
        { "local function fac(k) if k < 2 then return 1 end return k * fac(k - 1) end", "" },
        { "fac(5)", "120" },
        { "local fac = nil", "" },
        { "fac", "nil" },
    })
end)

check.test("compiled code sees a variable that a later command assigns", function()
    says({}, {
        { "local step = 1", "" },
        { "local function sum() local s = 0 for k = 1, 300 do s = s + step end return s end", "" },
        { "for k = 1, 100 do sum() end", "" },
        { "step = 2", "" },
        { "sum()", "600" },
    })
end)

check.test("what a command declared before its error stays", function()
    says({}, {
        { "local a = 1 error 'no'", "[1]:1: no" },
        { "a", "1" },
    })
end)

check.test("a dropped variable is the collector's", function()
    says({}, {
        { "local x = setmetatable({}, { __mode = 'v' }); x[1] = {}", "" },
        { "local big = {}; x[1] = big", "" },
        { "local big = 1", "" },
        { "collectgarbage() collectgarbage()", "" },
        { "x[1]", "nil" },
    })
end)

check.test("functions of an error are told by the command that defined them", function()
    says({}, {
        { "local y = 1", "" },
        { "local function f() error('bad ' .. y) end", "" },
        { "f()", "[2]:1: bad 1\n  at [2]:1: in function 'f'\n  called at [3]:1: in main chunk" },
    })
end)

check.test("-i keeps the local variables of scripts and of -e", function()
    local script = process.file "#!/usr/bin/env neap\nlocal given = ...\nlocal function twice(v) return 2 * v end\n"
    says({ "-i", "-e", "local early = 1", script, "7" }, {
        { "twice(given .. 1) + early", "143" },
    })
    script = process.file "local before = 1\nerror 'failed'\nlocal behind = 2"
    says({ "-i", script }, {
        { "before", "1" },
        { "behind", "[2]:1: the variable 'behind' has no value" },
    }, "neap: " .. script .. ":2: failed")
end)

-- ---- Values ---------------------------------------------------------------------------------------------------------

check.test("values are kept", function()
    says({}, {
        { "6 * 7", "42" },
        { "_ + 1", "43" },
        { "_1, _2, Out[1]", "42\n43\n42" },
        { "x = np.arange(3);", "" },
        { "np.arange(4);", "" },
        { "_", "[0 1 2 3]  i32[4]" },
        { "_4", "[7]:1: _4: command 4 gave no value, or it is not kept any more; Out tells which are" },
        { "Out[4]", "nil" },
        { "Out", "Out[1]  42\nOut[2]  43\nOut[3]  42\nOut[5]  i32[4]\nOut[6]  i32[4]" },
        { ":out clear", "" },
        { "Out", "no command has given a value yet" },
        { "local _ = 5", "" },
        { "3", "3" },
        { "_", "3" },
        { "Out.x = 1", "[15]:1: Out has the values of commands; give what you keep a name of its own" },
    })
end)

check.test("the ring of values is bounded, in number and in bytes", function()
    local commands = { { "weak = setmetatable({}, { __mode = 'v' })", "" } }
    for k = 2, 30 do commands[k] = { ("weak[%d] = {} return weak[%d]"):format(k, k), "{}" } end
    commands[31] = { "collectgarbage() collectgarbage()", "" }
    commands[32] = { "local n = 0 for _ in pairs(weak) do n = n + 1 end return n", "20" }
    says({}, commands)
    says({}, {
        { "np.zeros{1000, 1000, 10};", "" },
        { "np.zeros{1000, 1000, 10};", "" },
        { "type(Out[1]), type(Out[2])", '"cdata"\n"cdata"' },
        { "np.zeros{1000, 1000, 10};", "" },
        { "Out[1], Out[2].shape", "nil\n{1000, 1000, 10}" },
    })
end)

-- ---- Names ----------------------------------------------------------------------------------------------------------

check.test("a variable without a value is an error, which suggests a near name", function()
    says({}, {
        { "heigth = 3", "" },
        { "print(height)", "[2]:1: the variable 'height' has no value; did you mean heigth?" },
        { "local weights = 1", "" },
        { "wieghts + 1", "[4]:1: the variable 'wieghts' has no value; did you mean weights?" },
        { "rawget(_G, 'length')", "nil" },
        { "function late() return later end", "" },
        { "late()", "[6]:1: the variable 'later' has no value; did you mean late?\n"
                    .. "  at [6]:1: in function 'late'\n  called at [7]:1: in main chunk" },
        { "later = 1", "" },
        { "late()", "1" },
    })
    local module = process.file "return nothing == nil"
    says({}, { { ("dofile '%s'"):format(module), "true" } })
end)

check.test("--strict in scripts", function()
    local script = process.file "local t = 1\nif rawget(_G, 'answer') == nil then print 'none' end\nprint(answr)\n"
    local status, out, err = process.run_neap { script }
    check.equal({ status, out, err }, { 0, "none\nnil\n", "" })
    status, out, err = process.run_neap { "--strict", script }
    check.equal({ status, out }, { 1, "none\n" })
    check.equal(err, "neap: " .. script .. ":3: the variable 'answr' has no value\n   3 | print(answr)\n"
        .. "     |       ^^^^^\n")
    status, out, err = process.run_neap { "--strict", "-e", "pritn(1)" }
    check.equal({ status, out, err },
                { 1, "", "neap: (command line):1: the variable 'pritn' has no value; did you mean print?\n"
                             .. "   1 | pritn(1)\n     | ^^^^^\n" })
    check.equal(process.run_neap { "--strict", "-e", "print(np.sin(np.linspace(0, 1, 3)), np.linalg, np.nn)" }, 0)
end)

check.test("exit and quit leave, with and without a call, unless they are variables", function()
    for _, text in ipairs { "exit", "quit", "exit()", "quit()", " exit ; ", "os.exit()" } do
        local status, out = process.run_neap({ "-i", "--no-startup" }, text .. "\nprint 'still here'\n")
        check.equal({ status, out }, { 0, "> " }, text)
    end
    check.equal(process.run_neap({ "-i", "--no-startup" }, "exit(3)\n"), 3)
    says({}, { { "local quit, n = 4", "" }, { "quit", "4" }, { "exit = 5", "" }, { "exit", "5" } })
end)

-- ---- The start-up file ----------------------------------------------------------------------------------------------

check.test("the start-up file", function()
    local folder = process.file ""
    os.remove(folder)
    os.execute("mkdir -p " .. folder .. "/neap")
    local file = assert(io.open(folder .. "/neap/startup.lua", "w"))
    file:write "local mine = 3\nyours = 4\n"
    file:close()
    local environment = { XDG_CONFIG_HOME = folder, NEAP_STARTUP = false }
    says({}, { { "mine + yours", "7" } }, "", environment)
    says({ "-e", "print(yours)", "-i" }, { { "mine", "3" } }, "4", environment)
    says({ "--no-startup" }, { { "yours", "[1]:1: the variable 'yours' has no value" } }, "", environment)
    local own = process.file "mine = 5 error('in it', 0)"
    says({}, { { "mine", "5" } }, "neap: in it\n  at " .. own .. ":1: in main chunk",
         { NEAP_STARTUP = own })
    says({}, { { "1", "1" } }, "neap: NEAP_STARTUP: cannot read /no/such/file", { NEAP_STARTUP = "/no/such/file" })
    local _, out = process.run { "env", "XDG_CONFIG_HOME=" .. folder, process.neap, "-e", "print(yours)" }
    check.equal(out, "nil\n", "without a prompt")
    os.execute("rm -r " .. folder)
end)

process.cleanup()
check.done()
