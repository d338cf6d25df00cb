--- unlikely_test.lua (release build only): what is told of code that runs, and hardly does what is meant; and that
-- nothing is told of code like it, nor of the library and the tests.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local BEFORE = "local a, x, t, k = 5, np.array{3, 1, 2}, {1, 2}, nil\n"

-- Code, and what is told of it.
local PHRASES = {
    { "if a == 1 or 2 then end", "or 2 is always true; a == 1 or a == 2 compares with both" },
    { "while a == 'x' or 'y' do break end", "or 'y' is always true; a == 'x' or a == 'y' compares with both" },
    { "if not a == 1 then end", "not belongs to a alone, so this is never equal; a ~= 1 is meant" },
    { "print(x.shape == {3})", "a new table is unlike every other value; np.array_equal(x, y) compares arrays, a loop "
      .. "lists" },
    { "print(x.shape == 3)", "a shape is a table, and unlike every number; x:dim(0) and x.size are numbers" },
    { "x:at{0}:set(5)", "the result is not used, and x stays as it is; x = x:at{…}:set(…) takes it" },
    { "x:sort() print(x)", "the result is not used, and x stays as it is; x = x:sort(…) takes it" },
    { "if a then x:reshape(3, 1) end", "the result is not used, and x stays as it is; x = x:reshape(…) takes it" },
    { "for v in ipairs(t) do end", "ipairs gives positions first, so v is 1, 2, …; for k, v in ipairs(t) do has the "
      .. "values" },
    { "if k then x = t:update(a, k, x) end", "an optimizer gives its state too, which is lost here: x, state = "
      .. "t:update(grads, state, x)" },
    { "k = np.ones({2}, {dtype=f64})", "the variable 'f64' has no value; a dtype is a text: dtype=\"f64\"" },
    { "local p, q = np.random.split(np.random.key(0), 2)", "one value for several variables, of which the others get "
      .. "nil; np.random.split(…):unpack() gives the keys" },
    { "local p, q = np.array{1, 2}", "one value for several variables, of which the others get nil; "
      .. "np.array{…}:unpack() gives its elements" },
    { "p, q = np.arange(2)", "one value for several variables, of which the others get nil; np.arange(…):unpack() "
      .. "gives its elements" },
    { "local pair = np.array{1, 2} p, q = pair", "one value for several variables, of which the others get nil; "
      .. "pair:unpack() gives its elements" },
    { "if k then local p, q, r = pair end", "one value for several variables, of which the others get nil; "
      .. "pair:unpack() gives its elements" },
    { "local p, q, r = x.shape", "one value for several variables, of which the others get nil; unpack(x.shape) gives "
      .. "the extents" },
    { "local p, q = np.split(x, 3) print(p)", "one value for several variables, of which the others get nil; "
      .. "unpack(np.split(…)) gives the parts" },
    { "local h = np.random.key(0) local u = np.random.normal(h, {2}) v = np.random.normal(h, {2})", "v is drawn with "
      .. "the key of u, and gets the same numbers; local k1, k2 = np.random.split(h):unpack() gives two keys" },
    { "x:sort() print(x)", "the result is not used, and x stays as it is; x = x:sort(…) takes it" },
    { "local list = {'a', 'b'} print(list[-1])", "list[-1] is nil: the last item of a table is list[#list]" },
    { "print(list[0])", "list[0] is nil: tables count from 1" },
    { "print(list.length)", "list.length is nil: #list is its length" },
    { "print(list[x:argmax()])", "a table knows nothing of the values of arrays, and counts from 1: "
      .. "list[x:argmax():item() + 1]" },
    { "print(list[np.argmin(x):item()])", "positions in arrays count from 0, in tables from 1: "
      .. "list[np.argmin(x):item() + 1]" },
    { "for i = 0, #list - 1 do print(list[i]) end", "list[0] is nil: tables count from 1, for i = 1, #list do" },
    { "local word = 'abc' print(word[1])", "word[1] of a text is nil: word:sub(1, 1) is a part of it" },
    { "print(word.length)", "word.length is nil: #word is its length" },
    { "local function first(...) return #... end", "#... is the length of the first argument; select(\"#\", ...) "
      .. "counts them" },
    { "print(word[0])", "word[0] of a text is nil: characters count from 1, word:sub(1, 1) is the first" },
    { "p, q = x.shape", "one value for several variables, of which the others get nil; unpack(x.shape) gives the "
      .. "extents" },
    { "print(pcall(np.ones{3}))", "pcall gets what the function gives, and calls that; pcall(np.ones, …) calls the "
      .. "function" },
    { "print(pcall(x:sum()))", "pcall gets what the method gives, and calls that; pcall(x.sum, x) calls the method" },
    { "local w = np.ones{2, 2} print(w[[0,1]])", "w[[0,1]] is w\"0,1\", an index for each axis; the rows 0,1 are "
      .. "w\"[0,1]\"" },
    { "np.plot.title = 'x'", "np.plot.title is a function, which is gone then; np.plot.title('x') calls it" },
    { "np.sum = {}", "np.sum is a function, which is gone then; np.sum(…) calls it" },
    { "k = None", "the variable 'None' has no value; Lua writes nil" },
    { "print(True)", "the variable 'True' has no value; Lua writes true" },
    { "print(nan)", "the variable 'nan' has no value; np.nan, or 0 / 0" },
}

-- Code of which nothing is told.
local FINE = [==[
local a, x, t = 5, np.array{3, 1, 2}, {1, 2}
local b = a == 1 or 2
np.own_constant = 5
local own = { np = { plot = {} } }
own.np.plot.title = "x"
local is_same = np.pi == 3, np.plot.title == "x"
if a == 1 or a == 2 or (b == 2 or nil) then a = 6 end
if not (a == 1) and not t == false then a = 7 end
print(#x.shape == 1, #x[1].shape == 2, x.shape[1] == 3, t == x.shape, x.size == 3)
x = x:at{0}:set(5)
x = x:sort()
local y = x
    :reshape(3, 1)
print(y:sort(), x:reshape(3, 1))
t[1] = x:astype("f64")
for k in ipairs(t) do t[k] = k end
for k, v in ipairs(t) do t[k] = v end
local f64, nan = "f64", 0 / 0
local k1, k2 = np.random.split(np.random.key(0)):unpack()
local u = np.random.normal(k1, {2}) local v = np.random.normal(k2, {2})
if b then k1 = np.random.normal(k1, {2}) else k2 = np.random.normal(k1, {2}) end
local p, q = x.shape, y.shape
local first, rest = unpack(x.shape)
local pair, triple, one, row = np.array{1, 2}, {1, 2}, np.array(5), np.ones{2}
local single = np.array(5)
local m, n = row, one
m, n = triple m, n = single
row = row + 1
m, n = row
pair = np.arange(2)
m, n = pair:unpack()
m, n = pair, 2
local entries = { m = 1; m, n = triple, p, q = pair }
local list, zero, named, word = {1, 2}, {[0] = 1, 2}, {1, n = 2, length = 3}, "abc"
local filled, proxy = {1, 2}, setmetatable({1}, {})
filled[0] = 3
print(list[1], zero[0], named.length, #word, filled[0], proxy[-1], list[x:argmax():item() + 1])
local function last(list, word) return list[-1], word[1] end
for i = 0, #list - 1 do print(list[i + 1], i) end
print(np.ones({2}, {dtype=f64}), nan, ({None = 1}).None)
local function inf(True) return True end
local s = "if a == 1 or 2 then x == {} x:sort()" -- if a == 1 or 2 then x == {} x:sort()
local opt = np.optim.adam{lr=0.1}
local state = opt:init(y)
y, state = opt:update(y, state, y)
local fields = {a, b = x.shape}
fields = {
    a, b = x.shape
}
print(pcall(np.grad(function(v) return v end), 3), pcall(np.ones, {3}), pcall(load "return 1"), fields)
print(pcall(np.disable_jit(function() return 1 end)), pcall(np.callback(function() end)), pcall(np.custom_jvp(inf)))
print [[1, 2]]
print(x[ [[0]] ])
return inf(s), state
]==]

check.test("each phrase", function()
    local lines, expected = { BEFORE:sub(1, -2) }, {}
    for k, row in ipairs(PHRASES) do lines[k + 1] = row[1] end
    local script = process.file(table.concat(lines, "\n") .. "\n")
    local status, _, err = process.run_neap { script }
    for k, row in ipairs(PHRASES) do
        expected[k] = ("%s:%d: warning: %s"):format(script, k + 1, row[2])
        check.ok(err:find(expected[k], 1, true), ("%s\nsays %s"):format(row[1], err))
    end
    check.equal({ status, select(2, err:gsub("\n", "\n")) }, { 0, #PHRASES })
end)

check.test("code that is like these", function()
    local status, _, err = process.run_neap { process.file(FINE) }
    check.equal({ status, err }, { 0, "" })
end)

check.test("modules are looked at when they are loaded; code at the prompt is not", function()
    local module = process.file("local x = np.ones(2)\nx:sort()\nreturn 3\n")
    local _, out, err = process.run_neap { "-e", ("print(dofile(%q))"):format(module) }
    check.equal({ out, err:match "^[^\n]*" }, { "3\n", module .. ":2: warning: the result is not used, and x "
        .. "stays as it is; x = x:sort(…) takes it" })
    _, _, err = process.run_neap({ "-i", "--no-startup" }, "x = np.ones(2)\nx:sort()\n")
    check.equal(err, "")
end)

check.test("what a command is unlikely to mean, by the values of its variables", function()
    local commands = {
        { 'list, word, zero, x = {"a", "b"}, "abc", {[0] = 1, 2}, np.array{3, 1}' },
        { "list[0]", "list[0] is nil: tables count from 1" },
        { "list[-1]", "list[-1] is nil: the last item of a table is list[#list]" },
        { "list.length", "list.length is nil: #list is its length" },
        { "list[x:argmax()]", "a table knows nothing of the values of arrays, and counts from 1: "
          .. "list[x:argmax():item() + 1]" },
        { "word[1]", "word[1] of a text is nil: word:sub(1, 1) is a part of it" },
        { "zero[0], list[1], x[0], x[-1]" },
        { "a, b = x", "one value for several variables, of which the others get nil; x:unpack() gives its elements" },
        { "local a, b, c = x", "one value for several variables, of which the others get nil; x:unpack() gives its "
          .. "elements" },
        { "y = np.ones{3}; a, b = y", "one value for several variables, of which the others get nil; y:unpack() gives "
          .. "its elements" },
        { "a, b = list", "one value for several variables, of which the others get nil; unpack(list) gives its items" },
        { "a, b, c = list; a, b = x:unpack(); a, b = x, 1; a, b = x[0]; n = np.array(5); a, b = n" },
        { "f = {g = 1; a, b = x}" },
        { "np.array{1,2;3,4}", "a semicolon separates items as a comma does; rows are tables: np.array{{1,2}, {3,4}}" },
        { 'np.asarray({1, x[0]; (2 + 3) * 2, -4;}, {dtype="f64"})', "a semicolon separates items as a comma does; rows "
          .. "are tables: np.asarray{{1, x[0]}, {(2 + 3) * 2, -4}}" },
        { "np.array{1; 2}, np.array{1, 2; 3}, np.array{1, 2, 3;}, np.array{{1, 2}; {3, 4}}, #{1, 2; 3, 4}" },
        { "np.array{{1, 2}, {3, 4}; {5, 6}, {7, 8}}" },
        { "x = np.array{1, 2}; y = {3, 4; 5, 6}; np.array{math.max(1, 2); math.max(3, 4)}" },
        { "x.shape == {2}", "a new table is unlike every other value; np.array_equal(x, y) compares arrays, a loop "
          .. "lists" },
        { "rows, columns = x.shape", "one value for several variables, of which the others get nil; unpack(x.shape) "
          .. "gives the extents" },
        { "local count = 0; f = np.jit(function(v) count = count + 1 return v end); f(x)", "np.jit: the function "
          .. "assigns a number to the variable 'count', which happens while it is traced, not at each call: make it "
          .. "local, return it, or pass it in as an array" },
    }
    local lines, told = {}, {}
    for k, command in ipairs(commands) do
        lines[k] = command[1]
        if command[2] then told[#told + 1] = ("[%d]:1: warning: %s\n"):format(k, command[2]) end
    end
    local _, _, err = process.run_neap({ "-i", "--no-startup" }, table.concat(lines, "\n") .. "\n")
    check.equal(err, table.concat(told))
end)

check.test("nothing is told of the library, the examples and the tests", function()
    local unlikely, core = require "neap.interp.unlikely", require "neap.core"
    local told, warn_at = {}, core.warn_at
    core.warn_at = function(site, text) told[#told + 1] = site .. ": " .. text end
    local list = io.popen "ls stdlib/neap/*/*.lua interp/*.lua examples/*/*.lua tests/*/*.lua"
    for path in list:lines() do unlikely.tell(process.read(path), path) end
    list:close()
    core.warn_at = warn_at
    check.equal(told, {})
end)

--- Calls visit(part) for each row of tokens in a text.
local function visit_parts(text, visit)
    local lexer = require "neap.core.lexer"
    local ends, at = { 0 }, 1
    while at <= #text do
        ends[#ends + 1] = lexer.next(text, at)
        at = ends[#ends] + 1
    end
    for from = 1, #ends - 1 do
        for to = from + 1, #ends do visit(text:sub(ends[from] + 1, ends[to])) end
    end
end

check.test("texts may begin and end with any token", function()
    local unlikely, core = require "neap.interp.unlikely", require "neap.core"
    local warn_at, told = core.warn_at, 0
    core.warn_at = function() told = told + 1 end
    local kinds = { function() return "list" end, function() return "text" end, false }
    for _, phrase in ipairs(PHRASES) do
        visit_parts(phrase[1], function(part)
            for _, kind_of in ipairs(kinds) do
                local ok, problem = pcall(unlikely.tell, part .. " -- None", "part", kind_of or nil) -- is always read
                check.ok(ok, ("%q: %s"):format(part, problem))
            end
        end)
    end
    core.warn_at = warn_at
    check.ok(told > #PHRASES, told)
end)

check.test("an assignment at the end of a command is no error", function()
    local _, out, err = process.run_neap({ "-i", "--no-startup" }, "inf = np\n1\n")
    check.equal({ out:find("attempt", 1, true), err }, { nil, "" })
end)

-- What begins as something that is looked for, many times over, with and without what has all of it read as tokens.
local PIECES = {
    "do local a, b = 1, 2 end", "do local a, b = x end", "t = {} t[1] = 1", "w = 'a' t[1] = w", "if not x then end",
    "x = np.random", "x = {1, 2}", "f(function(x) return x end)", "t = {1} x = t[1]", "x = x or y", "x = t.size",
    "for k = 0, 1 do x = t[k] end", "x = np.random.normal(k)", "x = {{{{1}, {2}}}}", "x = t[t[t[1]]]", "x:at{0}",
}

check.test("long texts are read in no time that grows faster than they do", function()
    for _, piece in ipairs(PIECES) do
        for _, last in ipairs { "", "do local p, q = x, y end print(({}).shape == nil)" } do
            local text = "local function never() " .. (piece .. "\n"):rep(4000) .. "end\n" .. last
            local status, out, err = process.run { "timeout", "300", process.neap, process.file(text) }
            check.equal({ status, out:sub(1, 5) }, { 0, last == "" and "" or "true\n" }, piece .. err:sub(1, 200))
        end
    end
end)

process.cleanup()
check.done()
