--- show_test.lua (not under tsan): how the prompt shows values, where a command ends, and what of pasted text runs.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"

local says = prompts.says

check.test("arrays say their dtype and shape", function()
    says({}, {
        { "np.ones{2}", "[1. 1.]  f32[2]" },
        { "np.arange(6):reshape(2, 3)", "[[0 1 2]\n [3 4 5]]  i32[2,3]" },
        { "np.arange(3):sum()", "3  i32" },
        { "np.array{true}", "[ True]  bool[1]" },
        { "np.ones{2,0,3}", "[]  f32[2,0,3]" },
        { "np.ones{2}, np.zeros{1}, 3", "[1. 1.]  f32[2]\n[0.]  f32[1]\n3" },
        { "np.debug.fail(np.ones{2})", nil },
    })
end)

check.test("tables of columns", function()
    local wide = "t = np.table({ { 'first', { 'a', 'b' } }, { 'second', np.arange(2) }, { 'third', { 1, 2 } } })"
    says({}, {
        { wide, "" },
        { "t", "first  second  third\ntext      i32    i64\na           0      1\nb           1      2\n"
               .. "[2 rows, 3 columns]" },
        { "{ t }", "{a table of 2 rows and the columns first, second, third}" },
        { "t.first", '{"a", "b"}' },
        { "t.frist", "[5]:1: np.table: there is no column 'frist' (is it 'first'?); there are first, second, third" },
        { "np.table(np.ones{1, 17}):select{'c0', 'c16'}", " c0  c16\nf32  f32\n1.0  1.0\n[1 row, 2 columns]" },
        { "np.table(np.ones{1, 18})", -- wider than print would show it: the terminal is
          (" c0   c1   c2   c3   c4   c5   c6   c7   c8   c9  c10  c11  c12  c13  c14  c15  c16  c17\n"
           .. ("f32  "):rep(17) .. "f32\n" .. ("1.0  "):rep(17) .. "1.0\n[1 row, 18 columns]") },
    })
end)

check.test("strings, functions, tables, modules", function()
    says({}, {
        { [["a\n\"b\"\\"]], [["a\n\"b\"\\"]] },
        { "'\\27[31m'", [["\027[31m"]] },
        { "('x'):rep(3000)", '"' .. ("x"):rep(1998) .. ' …"  3000 bytes' },
        { "function f(x, y, ...) end", "" },
        { "f", "function(x, y, ...)  [4]:1" },
        { "os.getenv", "function(...)  built in" },
        { "{}", "{}" },
        { "{ 1, 'a', { b = { c = { d = 1 } } }, n = f }", '{1, "a", {b = {c = {...}}}, n = function(x, y, ...)}' },
        { "string", "byte  char  dump  find  format  gmatch  gsub  len  lower  match  rep  reverse  sub  upper\n"
                    .. "?NAME tells of one" },
        { "setmetatable({}, { __tostring = function() return 'me' end })", "me" },
        { "io.write 'no newline'", "no newline" },
        { "io.write 'no newline'; 3", "no newline\n3" },
    }, nil, { COLUMNS = "120" })
    local _, out = process.run_neap({ "-i", "--no-startup" }, "np\n")
    local parts = "cluster  data  debug  effects  fft  image  integrate  interpolate  io  linalg  memory  metrics  nn  "
        .. "optim  optimize  plot  profile  random  signal  sparse  special  stats  tree  widgets"
    check.equal(out:match "^> parts: ([^\n]*)", parts)
    check.ok(out:find "\nand %d+ more; Tab lists them, %?NAME tells of one\n> $", out)
    check.ok(select(2, out:gsub("\n", "")) < 10, out)
end)

check.test("a long table is shown by its beginning", function()
    local numbers = {}
    for k = 1, 12 do numbers[k] = ("%d,"):format(1000 + k) end
    local function lines_of(code)
        local _, out = process.run_neap({ "-i", "--no-startup" }, code .. "\n")
        return out:match "^> (.-)\n> $"
    end
    local text = lines_of "local t = {} for k = 1, 1000 do t[k] = 1000 + k end return t"
    check.ok(text:find("^{\n  " .. table.concat(numbers, " ") .. "\n  1013, ") and
             text:find "\n  … %(800 more%)\n}$" and select(2, text:gsub("\n", "")) < 22, text)
    text = lines_of "local s = {} for k = 1, 30 do s[k] = ('x'):rep(k) end return s"
    check.ok(text:find '^{\n  "x",\n  "xx",\n' and text:find "\n  … %(10 more%)\n}$", text)
    text = lines_of "local n = {} for k = 1, 45 do n['name' .. 10 + k] = k end return n"
    check.ok(text:find "^{\n  name11 = 1,\n  name12 = 2,\n" and text:find "\n  … %(25 more%)\n}$", text)
end)

check.test("an array of many lines is shown by its first and last ones", function()
    local _, out = process.run_neap({ "-i", "--no-startup" }, "np.arange(900):reshape(300, 3)\n")
    check.ok(out:find("^> %[%[  0   1   2%]\n.-\n %[ 33  34  35%]\n … %(282 lines more; print shows all%)\n"
                      .. " %[882 883 884%]\n.-\n %[897 898 899%]%]  i32%[300,3%]\n> $"), out)
    check.equal(select(2, process.output("print(np.arange(900):reshape(300, 3))"):gsub("\n", "")), 300)
end)

check.test("a tree of arrays is shown by its leaves", function()
    says({}, {
        { "{ w = np.ones{4,3}, b = np.zeros{3}, lr = 0.1, layers = { { w = np.ones{2} }, { w = np.ones{100, 100} } } }",
          "b            f32[3]        [0. 0. 0.]\n" ..
          "layers[1].w  f32[2]        [1. 1.]\n" ..
          "layers[2].w  f32[100,100]  [[1. 1. 1. ... 1. 1. 1.] [1. 1. 1. ... 1. 1. 1.] [1. 1. 1. ... 1. 1. 1.]" ..
          " ... [1. 1. 1. ... …\n" ..
          "lr           number        0.1\n" ..
          "w            f32[4,3]      [[1. 1. 1.] [1. 1. 1.] [1. 1. 1.] [1. 1. 1.]]" },
        { "{ np.ones{1}, ['a b'] = np.ones{1} }", '[1]      f32[1]  [1.]\n["a b"]  f32[1]  [1.]' },
        { "local t = { x = np.ones{1} } t.self = t", "" },
        { "t", "self          {...}\nx     f32[1]  [1.]" },
    })
end)

check.test("types are faint on a terminal, unless NO_COLOR says no", function()
    local terminal = prompts.start({}, { NO_COLOR = false })
    terminal:expect "> "
    check.equal(prompts.command(terminal, "np.ones{2}"), "[1. 1.]  \27[2mf32[2]\27[0m\n")
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

check.test("a semicolon at the end shows nothing", function()
    says({}, {
        { "1 + 1;", "" },
        { "np.ones{2};  -- quiet", "" },
        { "';'", '";"' },
        { "print 'shown';", "shown" },
    })
end)

check.test("several commands on a line or in a paste", function()
    says({}, {
        { "print 'a'; 1 + 1", "a\n2" },
        { "x = 2; x * 2; x + 1", "3" },
        { "print 'b'; math.abs(-3)", "b\n3" },
        { "print 'b'; math.abs(-3);", "b" },
        { "local y = 5; y", "5" },
        { "x = 1; y = = 2; x", "[6]:1: unexpected symbol near '='" },
        { "x", "2" },
    })
    local terminal = prompts.start({})
    local function paste(text)
        terminal:send("\27[200~" .. text .. "\27[201~\n")
        terminal:expect "\r\n\27[?2004l\r"
        return prompts.plain(terminal:expect "\27[?2004h")
    end
    terminal:expect "\27[?2004h> "
    check.equal(paste "x = 1\nx + 1\nlocal y = {\n  x,\n}\ny\nif x then\n  print(x)\nend", "2\n{1}\n1\n")
    check.equal(paste "> x = 7\n> for k = 1, 2 do\n>> print(k)\n>> end\n1\n2\n> x\n7\nand text", "1\n2\n7\n")
    terminal:expect "> "
    terminal:send "> x + 1\n"
    terminal:expect "8\r\n"
    terminal:expect "> "
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

check.test("functions of the library are shown with their signature and what they are for", function()
    says({}, {
        { "np.sum", "np.sum(x, {axis=…, keepdims=false, dtype=…, where=…, initial=0, out_sharding=…})\n"
          .. "The sum over axes." },
        { "function(a, ...) end", "function(a, ...)  [2]:1" },
    })
end)

check.test("only what can go on goes on", function()
    says({}, {
        { "x = np.ones{2}", "" },
        { "x:sum", "[2]:1: function arguments expected near '<eof>'; a method is called: x:sum()" },
        { "x.", "[3]:1: '<name>' expected near '<eof>'" },
        { 's = "abc', "[4]:1: unfinished string near '<eof>'; the \" here is never closed" },
        { 's = "abc\\\ndef"', "" },
        { "s", '"abc\\ndef"' },
        { "x = [[\na]]", "" },
        { "y = 1 +\n2", "" },
        { "y *\n2", "6" },
        { "local t = {\n1,\n2 }", "" },
        { "print(\ny)", "3" },
        { "y == 3 and\ny", "3" },
        { "y; for k = 1, 2 do\nprint(k) end", "1\n2" },
        { "if y then\nprint(y)\nend", "3" },
        { "y )", "[15]:1: '=' expected near ')'; this ) closes nothing: one is too many" },
        { "--[[ a\nb ]]", "" },
        { ":time for k = 1, 2 do\nend", nil },
        { "-- a note", "" },
    })
end)

check.test("Lua's own tables and types of C are shown", function()
    says({}, {
        { "#tostring(_G) > 0 and rawget(_G, '_VERSION')", '"Lua 5.1"' },
        { "ct = require('ffi').typeof(np.ones(1))", "" },
        { "ct", "ctype<struct neap_handle>" },
        { "{ ct }", "{ctype<struct neap_handle>}" },
    })
    for _, name in ipairs { "_G", "package.loaded", "debug.getregistry()", "setmetatable(_G, { __index = next })" } do
        local status, out, err = process.run_neap({ "-i", "--no-startup" }, name .. "\n40 + 2\n")
        check.equal({ status, err }, { 0, "" }, name)
        check.ok(out:find("{\n.*}\n") and out:find "42\n", name .. ": " .. out)
    end
end)

process.cleanup()
check.done()
