--- written_test.lua (sanitized with --long): tables and functions among the arguments of print: what is in them, in one
-- line, and never an address; arrays in them do not wait, and are no mistake while a function is traced.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

--- Checks what each line of code prints, given in turn.
local function prints(cases)
    local code, shown = {}, {}
    for k, case in ipairs(cases) do code[k], shown[k] = case[1], case[2] end
    check.equal(process.output(table.concat(code, "\n")), table.concat(shown, "\n") .. "\n")
end

check.test("lists and tables, as Lua writes them", function()
    prints {
        { "print({1, 2, 3}, {}, {{1}, {2}})", "{1, 2, 3}\t{}\t{{1}, {2}}" },
        { [[print({"a\n\"b\"", [2] = true, w = false, ["a b"] = 1.5, [7] = "x"})]],
          [[{"a\n\"b\"", true, [7] = "x", ["a b"] = 1.5, w = false}]] },
        { "t = {1} t.t = t print(t)", "{1, t = {…}}" },
        { "t = {} t[{}] = 1 print(t, {[false] = 2})", "{[table] = 1}\t{[false] = 2}" },
        { "print(setmetatable({x = 1}, {}), setmetatable({x = 1}, {__tostring = function() return 'me' end}))",
          "{x = 1}\tme" },
        { "print(np.ones{2, 3}.shape, {np.ones{2, 3}.shape}, {np.nn.Dense(2, 3)})",
          "(2, 3)\t{(2, 3)}\t{np.nn.Dense(2, 3)}" },
    }
end)

check.test("what is long or deep is cut, in time", function()
    prints {
        { "t = {} for k = 1, 2000 do t[k] = 0 end print(t)", "{" .. ("0, "):rep(1000) .. "…}" },
        { "t = {} for k = 1, 30 do t = {t} end print(t)", ("{"):rep(20) .. "{…}" .. ("}"):rep(20) },
    }
end)

check.test("arrays in tables: few numbers as they are, many by dtype and shape", function()
    prints {
        { "print({w = np.eye(2), b = np.zeros(2), loss = np.array(0.5)})", "{b = [0. 0.], loss = 0.5, w = f32[2,2]}" },
        { "print({np.arange(16), np.arange(17), np.zeros{0}})",
          "{[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15], i32[17], []}" },
        { "y = np.jit(function(p, n) print({p.w, n, m = p.m}) return p.w end)({w = np.ones(2), m = np.eye(3)}, 2.5)",
          "{[1. 1.], 2.5, m = f32[3,3]}" },
    }
end)

check.test("functions and parts of the library", function()
    prints {
        { "print(np.sum)", "np.sum(x, {axis=…, keepdims=false, dtype=…, where=…, initial=0, out_sharding=…})" },
        { "print(np.ones{3}.mean)", "np.mean(x, {axis=…, keepdims=false, dtype=…, where=…})" },
        { "print(math.sin, {f = math.sin})", "function(...)\t{f = function(...)}" },
        { "f = function(x, ...) end print((tostring(print) ~= nil))", "true" },
        { "print(np, np.random, {np.random})",
          'np: np.help "np" tells of it\tnp.random: np.help "np.random" tells of it\t{np.random}' },
    }
    check.ok(process.output "print(function(x, ...) end)":find "^function%(x, %.%.%.%) of [^\n]+:1\n$")
end)

check.test("tostring has the address still, by which tables are told apart", function()
    prints { { "t = {} print(tostring(t) == tostring(t), tostring(t) == tostring({}))", "true\tfalse" } }
end)

check.done()
