--- methods_test.lua (not under tsan): tools/gen/lib/methods.lua, which makes calls of functions of calls of methods:
-- random expressions mean the same before and behind it, and their lines stay.
package.path = "./tools/gen/lib/?.lua;" .. package.path
local check = require "tests.lib.check"
local methods = require "methods"

math.randomseed(tonumber(os.getenv "NEAP_TEST_SEED" or 1))

local function pick(list) return list[math.random(#list)] end

--- White space or a comment, as it may stand between two tokens.
local function space()
    return pick { "", "", "", " ", "\n", " --[[ s:find(1) ]] ", " -- (s:find\n", "--[==[ ]] ]==]" }
end

--- The same before a parenthesis, which stands on the line of the function.
local function gap()
    return pick { "", " ", "--[==[ ]] ]==]" }
end

local expression

-- What gives a text and can be called or indexed, and calls of methods: of strings, but for `own`, one of t.
local LEAVES = { "s", "t.x", "t[1]", "t['a:b']", "f 's'", "f [[s:find(2)]]", "f { s = 's:lower()' }", "('S:t')",
                 "([=[ ]] ]=])", 'g.f("\\"x\\\\")', "t:own(s)" }
local CALLS = { ":upper()", ":lower%g()", ":sub%g(1, -2)", ":rep(%s2%s)", ":gsub('s', 'q')", ":gsub%g('s', E)",
                ":match %s'.*'", ":match %s[[.*]]", ":format%g(E)", ":format %s{}" }

local function prefix(depth)
    if depth == 0 then return pick(LEAVES) end
    local receiver = prefix(depth - 1)
    if math.random(6) == 1 then return ("t:own%s(%s)"):format(gap(), receiver) end
    if math.random(4) == 1 then receiver = "(" .. space() .. receiver .. ")" end
    local call = pick(CALLS):gsub("%%s", space):gsub("%%g", gap):gsub("E", function() return expression(depth - 1) end)
    return receiver .. gap() .. call
end

function expression(depth)
    local kind = depth == 0 and 1 or math.random(6)
    if kind <= 3 then return prefix(depth) end
    if kind == 4 then return prefix(depth - 1) .. " .." .. space() .. prefix(depth - 1) end
    if kind == 5 then return ("tostring(#%s)"):format(prefix(depth - 1)) end
    return ("(function(a) (f)(a) return %s a:lower() end)(%s)"):format(space(), prefix(depth - 1))
end

--- What code gives; a function for each name of a method stands among its globals.
local function result(code)
    local function f(x) return type(x) == "table" and x.s or x end
    local environment = { s = "a:s", t = { x = "Xs", "one", ["a:b"] = "ss", own = function(_, x) return x end }, f = f,
                          g = { f = f }, tostring = tostring }
    for name, function_of in pairs(string) do environment["string_" .. name] = function_of end
    local chunk = assert(loadstring(code))
    return { pcall(setfenv(chunk, environment)) }
end

local function lines(text) return select(2, text:gsub("\n", "")) end

check.test("random expressions", function()
    local changed, good = 0, 0
    for _ = 1, os.getenv "NEAP_TEST_LONG" and 50000 or 1000 do
        local code = "local a = 1 --\nreturn " .. expression(math.random(0, 4))
        local rewritten = methods.rewrite(code)
        local expected = result(code)
        good = good + (expected[1] and 1 or 0)
        if expected[1] then check.equal(result(rewritten), expected, code .. "\nbecomes\n" .. rewritten) end
        check.equal(lines(rewritten), lines(code), code)
        changed = changed + (rewritten ~= code and 1 or 0)
    end
    check.ok(changed > 500 and good > 500, changed .. " " .. good)
end)

check.test("definitions stay; a call's first result alone is an argument", function()
    check.equal(methods.rewrite "function o:find(x) return x:find(y), x:at(0) end",
                "function o:find(x) return string_find(x, y), x:at(0) end")
    check.equal(methods.rewrite "x = f(a):lower() for l in file:lines() do end",
                "x = string_lower((f(a))) for l in file_lines(file) do end")
    check.equal(methods.rewrite "local f = function() (f):lower() end ::on:: t = { a:sub(1) }",
                "local f = function() string_lower(((f))) end ::on:: t = { string_sub(a, 1) }")
    check.raises(function() methods.rewrite "local string_find = 1" end, "a variable is called string_find")
end)

check.done()
