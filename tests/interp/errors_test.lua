--- errors_test.lua (not under tsan): what is told of an error that nobody catches: the message in one line, the source
-- line with a mark under what is at fault, the callers. The value that pcall gives is the message alone.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

--- What a script's failure writes on stderr, with the script's name as "S".
local function told(text, ...)
    local script = process.file(text)
    local status, _, err = process.run_neap { script, ... }
    check.equal(status, 1, err)
    return (err:gsub(script:gsub("%p", "%%%0"), "S"))
end

--- A script of one line that fails: the rows under its message.
local function marked(line)
    return (told(line):gsub("^[^\n]*\n", ""))
end

local function at(line, mark)
    return ("   1 | %s\n     | %s\n"):format(line, mark)
end

check.test("the call at fault is marked, and the callers follow", function()
    local expected = [[
neap: S:2: np.matmul: shapes (3,) and (7,) do not fit: 3 columns meet 7 rows
   2 |     local y = x:matmul(w) -- matmul
     |                 ^^^^^^
  at S:2: in function 'layer'
  called at S:6: in function 'model'
  called at S:8: in main chunk
]]
    check.equal(told [[
local function layer(x, w)
    local y = x:matmul(w) -- matmul
    return np.tanh(y)
end
local function model(x)
    local y = layer(x, np.ones{7}) return y
end
model(np.ones(3))]], expected)
end)

check.test("a function that the library calls has no name of the library's", function()
    local err = told "local g = {}\nlocal function shift(v)\n    return v - g\nend\nnp.tree.map(shift, {w = 1})"
    check.ok(err:find("\n  at S:3: in function <S:2>\n  called at S:5: in main chunk\n", 1, true), err)
end)

check.test("what is marked", function()
    local cases = {
        { "local x = np.sum(np.ones(3), 1)", "          ^^^^^^" },
        { "local x = np.ones(3) + np.ones(4)", "                     ^" },
        { "local t = {} print(t.x.y)", "                     ^" },
        { "local t = {} t:go()", "               ^^" },
        { "local s = 'é' .. missing(1)", "                 ^^^^^^^" },
        { "error('no')", "^^^^^" },
        { "error('no', 0)", "^^^^^" },
        { "\tstring.rep()", "\t       ^^^" },
        { "local x = np.random.rand(3, 4)", "                    ^^^^" },
        { "local x = np.ones(3) x.data = 3", "                       ^^^^" },
        { "local x = np.ones(3) print(x > 2)", "                             ^" },
        { "local x = np.ones(3) x[0] = 1", "                      ^^^" },
        { "local s = 'abc' s[1] = 'j'", "                ^" },
        { "local f = 3 f()", "            ^" },
        { "local s = 'abc' for c in s do end", "                         ^" },
        { "for x in np.arange(3) do end", "         ^^^^^^^^^^^^" },
    }
    for _, case in ipairs(cases) do
        local rows = marked(case[1])
        check.equal(rows:sub(1, #at(unpack(case))), at(unpack(case)), case[1])
    end
    for _, line in ipairs { "x = = 1", "x = 3 +", "local if = 2", "x = {1, 2" } do
        check.ok(marked(line):find("^   1 | [^\n]+\n     | +%^+\n$"), line)
    end
end)

check.test("no mark where the message fits several parts, and none in strings and comments", function()
    check.equal(marked "local f = {} f = f + 1 + f", "   1 | local f = {} f = f + 1 + f\n")
    check.equal(marked "local s = 'x:sum' .. np.ones(3):sum(1) -- sum",
                at("local s = 'x:sum' .. np.ones(3):sum(1) -- sum", (" "):rep(32) .. "^^^"))
end)

check.test("a quote that is not closed, or that closes too early, is marked", function()
    local cases = {
        { "local s = 'don't'", "              ^" },
        { "local a, b = 'it's', 2", "                ^" },
        { "local s = a'", "           ^" },
        { 'local t = {a = "', "               ^" },
        { "local s = 'x' .. \"abc", "                 ^" },
    }
    for _, case in ipairs(cases) do check.equal(marked(case[1]), at(unpack(case)), case[1]) end
    check.equal(marked "local x = np.ones{2} + np.ones{3}, '\\\n'", at("local x = np.ones{2} + np.ones{3}, '\\",
                                                                    "                     ^"))
    local text = told("local s = '" .. ("x"):rep(1e5))
    check.ok(#text < 400 and text:find("the ' here is never closed", 1, true), text)
end)

check.test("a source line shows no end of its own", function()
    check.equal(told "x = 1\r\nundefinedname()\r\n", "neap: S:2: attempt to call global 'undefinedname' (a nil value)\n"
                .. "   2 | undefinedname()\n     | ^^^^^^^^^^^^^\n")
end)

check.test("a script that comes through a pipe is not read again", function()
    local pipe = process.file ""
    os.remove(pipe)
    local line = 'mkfifo "$1"; printf "x = = 1" > "$1" & timeout 300 "$0" "$1"; status=$?; rm "$1"; exit $status'
    local status, _, err = process.run { "sh", "-c", line, process.neap, pipe }
    check.equal({ status, err }, { 1, ("neap: %s:1: unexpected symbol near '='\n"):format(pipe) })
end)

check.test("functions of Lua's that have others in their place name the line of their call, and themselves", function()
    for call, name in pairs { ["io.read('*x')"] = "read", ["io.stdin:read('*q')"] = "read",
                              ["os.execute({})"] = "execute",
                              ["loadstring(nil)"] = "loadstring", ["load({})"] = "load", ["loadfile({})"] = "loadfile",
                              ["dofile({})"] = "dofile" } do
        local text = told(call)
        check.ok(text:find("^neap: S:1: bad argument #1 to '" .. name .. "' "), text)
    end
end)

check.test("an error that is a table is shown", function()
    check.equal(told "error({code = 1, text = 'no'})", "neap: error value of type table: {code = 1, text = \"no\"}\n"
                .. at("error({code = 1, text = 'no'})", "^^^^^") .. "  at S:1: in main chunk\n")
    local text = told "error(setmetatable({}, {__tostring = function() error 'no' end}))"
    check.ok(text:find "^neap: error value of type table", text)
end)

check.test("names of other languages and misspelt ones have a remedy in scripts, too", function()
    check.ok(told 'print(f"{x}")':find("puts values into a text", 1, true))
    check.ok(told "print(#prnt)":find("did you mean print?", 1, true))
    check.ok(told "whos()":find "global 'whos' %(a nil value%)\n", "a command of the prompt is none")
end)

check.test("a long line is shown around what is at fault", function()
    local rows = marked(("local x = 1 "):rep(20) .. "undefinedname()" .. (" local y = 1"):rep(20))
    local line, mark = rows:match "^   1 | (…[^\n]+…)\n     | ( +%^+)\n$"
    check.ok(line and #line < 130, rows)
    check.equal(line:gsub("…", "."):sub(#mark:match "^ +" + 1, #mark), "undefinedname")
end)

check.test("an error that comes later shows the line of its call", function()
    local text = told [[
local late = np.debug.fail(np.ones(3))
local sum = late:sum()
print(sum:item())]]
    local expected = "neap: S:3: S:1: debug_fail: failed on purpose\n  at S:1\n"
        .. "   1 | local late = np.debug.fail(np.ones(3))\n"
    check.equal(text:sub(1, #expected), expected)
    text = told [[
local f = np.callback(function() error "boom" end, { result = np.ones(1) })
local r = f()
r:item()]]
    expected = "^neap: S:3: S:2: callback: S:1: boom\n  at S:1\n   1 | local f = [^\n]*\n     | +^^^^^\n"
    check.ok(text:find(expected), text)
end)

check.test("no place is told twice", function()
    local text = told 'np.callback(function() error "boom" end, { result = np.ones(1) })():item()'
    check.ok(text:find "^neap: S:1: callback: boom\n   1 | ", text)
end)

check.test("chunks that are no files: -e, standard input, the prompt, loadstring", function()
    local function rows(arguments, input)
        return (select(3, process.run_neap(arguments, input)):gsub("^[^\n]*\n", ""))
    end
    check.equal(rows { "-e", "undefinedname()" }, at("undefinedname()", "^^^^^^^^^^^^^"))
    check.equal(rows({}, "undefinedname()"), at("undefinedname()", "^^^^^^^^^^^^^"))
    check.equal(rows({ "-i" }, "undefinedname()"), at("undefinedname()", "^^^^^^^^^^^^^"))
    check.equal(rows { "-e", "loadstring('undefinedname()')() x = 1" },
                at("undefinedname()", "^^^^^^^^^^^^^") .. "  at [string \"undefinedname()\"]:1: in main chunk\n"
                    .. "  called at (command line):1: in main chunk\n")
end)

check.test("commands at the prompt have numbers, and each its own line", function()
    local _, out, err = process.run_neap({ "-i" }, "function f(x)\n  return x.y.z\nend\n1 + 1\nf({})\nx = = 1\n")
    check.ok(out:find "2\n", out)
    check.ok(err:find("[1]:2: attempt to index field 'y' (a nil value)\n   2 |   return x.y.z\n     |            ^\n"
                      .. "  at [1]:2: in function 'f'\n  called at [3]:1: in main chunk\n", 1, true), err)
    check.ok(err:find("[4]:1: unexpected symbol near '='\n", 1, true), err)
end)

check.test("a file that is gone or has changed shows no line", function()
    for _, change in ipairs { "os.remove(arg[0])", "local f = io.open(arg[0], 'a') f:write('\\n-- more') f:close()" } do
        local text = told(change .. "\nundefinedname()")
        check.ok(text:find "^neap: S:2: attempt to call global 'undefinedname' %(a nil value%)\n$", text)
    end
end)

check.test("a file that is loaded anew shows its new lines", function()
    local path = process.file ""
    local text = told(([[
        local function write(text)
            os.execute "sleep 0.05"
            local file = io.open(%q, "w")
            file:write(text)
            file:close()
        end
        write "first = 1"
        dofile(%q)
        write "\nundefinedname()"
        dofile(%q)]]):format(path, path, path))
    check.ok(text:find("\n   2 | undefinedname()\n     | ^^^^^^^^^^^^^\n", 1, true), text)
end)

check.test("an error in a module that is no Lua shows the module's line", function()
    local module = process.file "local x = 1\nlocal y = 2 local z = x +* 2"
    for _, before in ipairs { "", "\n" } do -- the call may stand on a line of the same number
        local text = told(("%spackage.path = %q require 'any'"):format(before, module))
        check.ok(text:find(":2: unexpected symbol near '*'", 1, true), text)
        check.ok(text:find("\n   2 | local y = 2 local z = x +* 2\n     |                          ^\n", 1, true), text)
    end
end)

check.test("pcall's value is the message, in one line", function()
    local script = process.file "print(pcall(function() local x = np.ones(3):sum(1) end))"
    local _, out = process.run_neap { script }
    check.ok(out:find "^false\t[^\n]+:1: np%.sum: axis 1 is out of range[^\n]*\n$", out)
end)

check.test("messages fit the terminal: they break at blanks, and source lines are cut", function()
    local code = "local x = 1 np.sum(np.ones{2, 2}, {axes=0}) local y = " .. ("1 + "):rep(90) .. "1"
    local terminal = process.terminal({ "-e", code }, { NO_COLOR = "1" })
    check.equal(terminal:finish(), 1)
    local rows = {}
    for row in terminal.seen:gmatch "[^\r\n]+" do
        check.ok(#row:gsub("[\128-\191]", "") < 120, row)
        rows[#rows + 1] = row
    end
    check.equal(table.concat(rows, " ", 1, 2), "neap: (command line):1: np.sum: unknown option 'axes' (options: axis, "
                .. "dtype, initial, keepdims, out_sharding, where); did you mean axis?")
end)

check.test("colours only on a terminal, and not with NO_COLOR", function()
    local script = process.file "undefinedname()"
    for _, case in ipairs { { {}, true }, { { NO_COLOR = "1" }, false }, { { TERM = "dumb" }, false } } do
        local terminal = process.terminal({ script }, case[1])
        check.equal(terminal:finish(), 1)
        check.equal(terminal.seen:find("\27[", 1, true) ~= nil, case[2])
        check.ok(terminal.seen:find "^neap: [^\27\n]*:1: ", "the place has no weight: editors and tests read it")
    end
    local _, _, err = process.run_neap { script }
    check.ok(not err:find "\27", err)
end)

process.cleanup()
check.done()
