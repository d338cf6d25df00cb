--- globals_test.lua (release build only): no name of the user's reaches neap's own Lua, whatever value it has
-- (stdlib/neap/core/globals.lua).
--
-- The examples of help call all that is public, load all that is loaded late, and raise errors. They print what they
-- show where each of Lua's names has a wrong value (tests/lib/ruin.lua), and so do commands at the prompt, where one
-- name at a time has one, too. NEAP_TEST_SEED draws the values; NEAP_TEST_LONG=1 takes each kind of value for all
-- names, and all kinds for one name. tests/notebook/kernel.py does the same with cells.
package.path = "./tools/gen/lib/?.lua;" .. package.path
local check = require "tests.lib.check"
local examples = require "tests.lib.examples"
local methods = require "methods"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"
local help = require "neap.help_gen"
local ruin = require "tests.lib.ruin"

local long = os.getenv "NEAP_TEST_LONG"
local seed = tonumber(os.getenv "NEAP_TEST_SEED" or 1)
math.randomseed(seed)

local folder = io.popen "pwd":read "*l"
local build = process.neap:match "^(.*)/" or "."
build = build:find "^/" and build or folder .. "/" .. build
local tree = ("LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua'"):format(build, build)

-- ---- The library ----------------------------------------------------------------------------------------------------

-- In stock luajit the failed op's line is told in scripts alone.
local OTHER_IN_LUAJIT = { ["np.debug.fail"] = true }
-- Where there is neither a notebook nor a terminal, it says so on stderr.
local NEEDS_A_USER = { ["np.interact"] = true, ["np.plot.explore"] = true }

--- Runs the examples where each name has a value of a kind. The script that does it finds its own names where the
-- library has them, as methods of strings are rewritten for it.
local function run_ruined(kind, program)
    local entries = {}
    for _, entry in ipairs(help.entries) do
        local name = entry.names[1]
        -- Methods of columns of texts have the names of those of strings, for which the examples are rewritten.
        local left_out = program and OTHER_IN_LUAJIT[name] or NEEDS_A_USER[name] or name:find "^text%."
        if not left_out then entries[#entries + 1] = entry end
    end
    local around = [[
        np = np or require "neap"
        local ruin = dofile "%s/tests/lib/ruin.lua"
        math.randomseed(%d)
        setfenv(1, require("neap.core.globals").own)
        ruin.all "%s"
    ]]
    local results, status, err = examples.run(entries, around:format(folder, seed, kind),
                                              { program = program, rewrite = methods.rewrite })
    check.equal({ status, err }, { 0, "" }, kind)
    local problems = examples.problems(entries, results)
    check.ok(#problems == 0, ("values: %s; %d examples differ: %s"):format(kind, #problems, problems[1] or ""))
end

local kinds = long and { "any", unpack(ruin.kinds) } or { "any" }
local has_luajit = os.execute "command -v luajit >/dev/null" == 0
for _, kind in ipairs(kinds) do
    check.test("the library, " .. kind, function() run_ruined(kind) end)
    if has_luajit then
        check.test("the library in stock luajit, " .. kind, function()
            run_ruined(kind, "env " .. tree .. " luajit")
        end)
    else
        check.skip("the library in stock luajit, " .. kind, "no luajit")
    end
end

-- ---- The prompt -----------------------------------------------------------------------------------------------------

local BEFORE = ([[
local ruin, lib, x = dofile "%s/tests/lib/ruin.lua", np, np.arange(3)
math.randomseed(%d)
]]):format(folder, seed)

-- What is typed, and needs none of the names.
local COMMANDS = [[
1 + 1
{1, {2, "a"}, b = x}
x
lib.table { a = { 1, 2 } }
local y = x * 2; y:sum()
_
x:reshape(2, 2)
lib.sum(x, {axes = 0})
lib.nosuch
nosuchvariable
x = = 1
x = lib.ones(
    2, "nosuch")
for k = 1, 2 do
    x[k]:item()
end
lib.grad(function(v) return (v * v):sum() end)(x:astype "f32")
lib.jit(function(v) return v * 2 end)(x)
:help
!echo shell
?np.arange
]]

--- What one session shows for COMMANDS behind each of these lines, of which the first is nil for none. Numbers of
-- commands are left out.
local function session(lines)
    local text, mark = { BEFORE }, '"-- mark"\n'
    for _, line in ipairs(lines) do text[#text + 1] = line .. "\n" .. mark .. COMMANDS .. mark .. "ruin.restore()\n" end
    local _, out = process.run({ "sh", "-c", process.neap .. " -i --no-startup 2>&1" }, table.concat(text))
    local shown, from = {}, 1
    for k = 1, #lines do
        local _, first = out:find('"-- mark"\n', from, true)
        local last, behind = out:find('"-- mark"\n', first or from, true)
        if not last then break end
        shown[k] = out:sub(first + 1, last - 1):gsub("%[%d+%]:", "[N]:")
        from = behind + 1
    end
    return shown, out
end

--- Runs a session, whose first commands run with the names as they are.
local function compare(lines)
    table.insert(lines, 1, "ruin.restore()")
    local shown, all = session(lines)
    check.ok(shown[1] and shown[1]:find("[0 1 2]", 1, true), all:sub(-1000))
    for k = 2, #lines do
        local got = (shown[k] or all:sub(-1000)):gmatch "[^\n]*"
        for line in shown[1]:gmatch "[^\n]*" do check.equal(got(), line, lines[k]) end
    end
end

check.test("the prompt, all names", function()
    local lines = {}
    for _, kind in ipairs { "any", unpack(ruin.kinds) } do lines[#lines + 1] = ("ruin.all %q"):format(kind) end
    compare(lines)
end)

local TEXTS = { ["nil"] = "nil", number = "7", string = '"cnn"', table = "{}", array = "lib.arange(3)",
                ["function"] = "function() error 'a user\'s function was called' end",
                ["np.table"] = "lib.table { a = { 1, 2 } }" }

check.test("the prompt, one name", function()
    local lines = {}
    for k, place in ipairs(ruin.places) do
        for _, kind in ipairs(ruin.kinds) do
            local text = place[3]:find "^[%a_]+$" and ("%s = %s"):format(place[3], TEXTS[kind])
                or ("ruin.one(%d, %q)"):format(k, kind)
            lines[#lines + 1] = text
        end
    end
    local drawn = {}
    for k = 1, long and #lines or 40 do drawn[k] = table.remove(lines, math.random(#lines)) end
    for from = 1, #drawn, 100 do compare { unpack(drawn, from, math.min(from + 99, #drawn)) } end
end)

check.test("a terminal, all names", function()
    local terminal = prompts.start({}, {})
    terminal:expect "> "
    prompts.command(terminal, ("local ruin, lib, x = dofile '%s/tests/lib/ruin.lua', np, np.arange(3)"):format(folder))
    prompts.command(terminal, "ruin.all 'any'")
    check.equal(prompts.command(terminal, "x + 1"), "[1 2 3]  i32[3]\n")
    check.equal(prompts.command(terminal, "for k = 1, 1 do\nlib.jit(lib.sum)(x):item()\nend"):match "^[^\n]*", "")
    terminal:send "lib.arang\t"
    terminal:expect "e"
    terminal:send "\3"
    terminal:expect "> "
    check.equal(prompts.command(terminal, "type = 'cat'"), "")
    check.equal(prompts.command(terminal, "{x}"), "[1]  i32[3]  [0 1 2]\n")
    terminal:send "exit\n"
    check.equal(terminal:finish(), 0)
end)

-- ---- What is the user's stays the user's ---------------------------------------------------------------------------

--- Runs code as a script of neap, and of stock luajit behind `local np = require "neap"`; both print this.
local function both(title, code, expected)
    local programs = { { "neap", process.neap }, { "luajit", "env " .. tree .. " luajit" } }
    for k = 1, has_luajit and 2 or 1 do
        check.test(title .. ", " .. programs[k][1], function()
            local script = process.file('local np = require "neap"\n' .. code)
            local status, out, err = process.run { "sh", "-c", programs[k][2] .. " " .. script }
            check.equal({ status, out, err }, { 0, expected, "" })
        end)
    end
end

both("methods and functions of the user's", [[
function string.trim(s) return (s:gsub("^%s+", "")) end
print((" x"):trim(), np.arange(2))
function string.rep(s, n) return s .. n end
print(("x"):rep(3), np.array { { 1 }, { 2 } })
getmetatable("").__index = function(s, k) return type(k) == "number" and string.sub(s, k, k) or string[k] end
print(("xyz")[2], ("x"):rep(2), np.io ~= nil)
local write, raw = io.write, print
function io.write(...) write("<", ...) end
function print(...) raw("printed", ...) end
io.write("a\n") print(np.ones(1))
tostring = function() return "t" end
print(5, np.table { a = { 1 } })
]], "x\t[0 1]\nx3\t[[1.]\n [2.]]\ny\tx2\ttrue\n<a\nprinted\t[1.]\nprinted\t5\t  a\ni64\n  1\n[1 row, 1 column]\n")

both("environments", [[
local print, setfenv, require = print, setfenv, require
local function boxed() return np.jit(function(x) return x * factor + np.sum(x) end)(np.arange(3)) end
print(setfenv(boxed, { np = np, factor = 2 })())
local inner = { np = np }
inner._G = inner
setfenv(1, inner)
shown = np.grad(function(w) return (w * w):sum() end)(np.array { 1, 2 })
print(shown, np.tree.map(function(x) return x + 1 end, { a = np.ones(1) }).a, np.nn ~= nil, np.io.load ~= nil)
]], "[3 5 7]\n[2. 4.]\t[2.]\ttrue\ttrue\n")

both("modules", [[
local path = os.tmpname()
os.remove(path)
local file = io.open(path .. ".lua", "w")
file:write 'module("mine", package.seeall) function f(x) return np_of_mine.sum(x) end np_of_mine = require "neap"'
file:close()
package.path = path:match "^(.*)/" .. "/?.lua;" .. package.path
print(require(path:match "[^/]*$") ~= nil, mine.f(np.arange(3)))
os.remove(path .. ".lua")
local late = require "neap.plot"
print(late == np.plot, package.loaded["neap.plot"] == late, (pcall(require, "neap.nosuch")))
table.insert(package.loaders, function(name) if name == "drawn" then return function() return "found" end end end)
print(require "drawn")
package.path, package.loaders, package.preload = "", {}, nil
for name in pairs(package.loaded) do package.loaded[name] = nil end
print(np.linalg.norm(np.array { 3, 4 }), np.random.key(1).shape[1])
]], "true\t3\ntrue\ttrue\tfalse\nfound\n5.0\t2\n")

check.done()
