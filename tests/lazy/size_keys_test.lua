--- size_keys_test.lua: Lua takes no size value for nothing: as the key of a table, read or written in every way, of
-- tables of every kind, interpreted and in code that was compiled before for other keys; and as the argument of Lua's
-- own functions.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local np = require "neap"

local KEY, ARGUMENT = "size_keys_test.lua:%d+: a table of Lua has nothing", "size_keys_test.lua:%d+: "

--- Records f(n), where n is the size 4, and returns what it returns.
local function recorded(f)
    local result
    np.trace(function(x)
        result = f(x.shape[1])
        return x
    end, { sizes = { { "n" } } })(np.arange(4))
    return result
end

-- Functions are loaded anew for each case, so that none meets what was compiled for another.
local WAYS = {
    ["t[n]"] = "return t[k]",
    ["t[n] or d"] = "return t[k] or 1",
    ["t.a[n]"] = "return ({ a = t }).a[k]",
    ["{ t[n], 1 }"] = "return { t[k], 1 }",
    ["t[n] = v"] = "t[k] = 1",
    ["t[n] = nil"] = "t[k] = nil",
    ["{[n]=v}"] = "return { [k] = t }",
    ["rawget"] = "return rawget(t, k)",
    ["rawset"] = "rawset(t, k, 1)",
    ["through a function"] = "local function of(a, b) return a[b] end return of(t, k)",
    ["tail call"] = "local function get(a, b) return rawget(a, b) end return get(t, k)",
    method = "local o = { get = function(o, b) return o[b] end, __index = t } return setmetatable(o, o):get(k)",
    ["coroutine"] = "return coroutine.wrap(function() return t[k] end)()",
}
local RAW = { ["{[n]=v}"] = true, rawget = true, rawset = true, ["tail call"] = true } -- no metatable is asked

local TABLES = {
    empty = function() return {} end,
    list = function() return { 1, 2, 3, 4, 5 } end,
    hash = function() return { [4] = "four", n = "n" } end,
    ["metatable without fields"] = function() return setmetatable({ 1 }, {}) end,
    ["__index a table"] = function() return setmetatable({}, { __index = { [4] = "four" } }) end,
    ["chain of both"] = function()
        local last = setmetatable({}, {})
        return setmetatable({}, { __index = setmetatable({}, { __index = last }), __newindex = last })
    end,
    weak = function() return setmetatable({}, { __mode = "k" }) end,
}

-- What a function is called with before, so that LuaJIT has compiled it.
local other = np.arange(3)
local HEATS = {
    interpreted = {},
    ["compiled for numbers"] = { 4 },
    ["compiled for texts"] = { "n" },
    ["compiled for arrays"] = { other },
    ["compiled for 64-bit literals"] = { 7LL },
    ["compiled for several"] = { 4, other, "n", 7LL },
}

local function heated(body, tables, keys)
    local f = assert(loadstring("local t, k = ... " .. body, "=size_keys_test.lua"))
    for _ = 1, #keys > 0 and 200 or 0 do
        for j = 1, #keys do f(tables(), keys[j]) end
    end
    return f
end

local function count(t)
    local n = 0
    for _ in pairs(t) do n = n + 1 end
    return n
end

local function refused(what, f, t, pattern)
    local before = count(t)
    local ok, problem = pcall(recorded, function(n) return f(t, n) end)
    check.ok(not ok and tostring(problem):find(pattern), what .. ": " .. tostring(problem))
    check.equal(count(t), before, what .. ": what is in the table")
end

if process.has_hook_checks() then
    for way, body in pairs(WAYS) do
        check.test("a size is no key: " .. way, function()
            for heat, keys in pairs(HEATS) do
                for kind, tables in pairs(TABLES) do
                    refused(("%s, %s"):format(kind, heat), heated(body, tables, keys), tables(), KEY)
                end
            end
        end)
        if not RAW[way] then
            check.test("a size is what a function __index or __newindex gets: " .. way, function()
                for heat, keys in pairs(HEATS) do
                    local got
                    local function seen(_, k) got = k end
                    local function tables() return setmetatable({}, { __index = seen, __newindex = seen }) end
                    local f = heated(body, tables, keys)
                    check.ok(recorded(function(n) f(tables(), n) return rawequal(got, n) end), heat)
                end
            end)
        end
    end
    check.test("a size is no key in a loop that is compiled while it is recorded", function()
        local f = heated("for j = 1, 300 do local key = j < 250 and 7LL or k if t[key] then return j end end", nil, {})
        refused("loop", function(t, n)
            jit.on()
            return f(t, n)
        end, {}, KEY)
    end)
    check.test("tonumber(n) is not nil", function()
        for heat, keys in pairs(HEATS) do
            local f = heated("return tonumber(k) or 1", TABLES.empty, keys)
            refused(heat, f, {}, ARGUMENT .. "a size is a number only")
        end
    end)
else
    check.skip("a size as the key of a table", "a packaged LuaJIT, which finds nothing there")
end

check.test("a size is in no table by next", function()
    local ok, problem = pcall(recorded, function(n) return next({ 1, 2 }, n) end)
    check.ok(not ok and problem:find "invalid key to 'next'", problem)
end)

-- ---- Functions of Lua -----------------------------------------------------------------------------------------------

local SIZED = { floor = true, ceil = true, sqrt = true, min = true, max = true } -- of math: they give size values
local OTHERS = { deg = true, rad = true } -- so do these, which are arithmetic
local CALLS = {
    ["string.rep"] = function(n) return ("x"):rep(n) end,
    ["string.sub"] = function(n) return ("x"):sub(n) end,
    ["string.byte"] = function(n) return ("x"):byte(n) end,
    ["string.char"] = function(n) return string.char(n) end,
    ["string.find"] = function(n) return ("x"):find("x", n) end,
    ["string.gsub"] = function(n) return ("xx"):gsub("x", "y", n) end,
    ["%d"] = function(n) return ("%d"):format(n) end,
    ["%g"] = function(n) return ("%5.1g"):format(n) end,
    ["%x"] = function(n) return ("%x"):format(n) end,
    select = function(n) return select(n, 1, 2) end,
    ["unpack from"] = function(n) return unpack({}, n) end,
    ["unpack to"] = function(n) return unpack({}, 1, n) end,
    ["table.concat"] = function(n) return table.concat({ n, n }, ",") end,
    ["table.concat to"] = function(n) return table.concat({}, "", 1, n) end,
    ["table.insert"] = function(n) table.insert({}, n, 1) end,
    ["table.remove"] = function(n) return table.remove({ 1, 2, 3, 4 }, n) end,
    ["bit.band"] = function(n) return bit.band(n, 1) end,
    ["bit.lshift"] = function(n) return bit.lshift(1, n) end,
    ["base of tonumber"] = function(n) return tonumber("10", n) end,
    ["level of error"] = function(n) error("no number", n) end,
    ["os.date"] = function(n) return os.date("%c", n) end,
    ["io.write"] = function(n) return io.write(n) end,
    length = function(n) return #n end,
    field = function(n) return n.shape end,
    element = function(n) return n[1] end,
    ["loop to"] = function(n) local k = 0 for _ = 1, n do k = k + 1 end return k end,
    ["loop from"] = function(n) local k = 0 for _ = n, 9 do k = k + 1 end return k end,
    ["loop by"] = function(n) local k = 0 for _ = 1, 9, n do k = k + 1 end return k end,
}
for name, f in pairs(math) do
    if type(f) == "function" and name ~= "randomseed" and not SIZED[name] and not OTHERS[name] then
        CALLS["math." .. name] = function(n) return f(n, 2) end
    end
end

check.test("functions of Lua that want numbers get none", function()
    for name, f in pairs(CALLS) do
        local ok, result = pcall(recorded, f)
        check.ok(not ok, name .. " gives " .. tostring(result))
        check.ok(not tostring(result):find "no number", name .. ": " .. tostring(result))
    end
end)

check.test("the text of a size is its expression", function()
    for _, f in ipairs {
        function(n) return tostring(n * 2) end,
        function(n) return "" .. n * 2 end,
        function(n) return ("%s"):format(n * 2) end,
    } do
        check.equal(recorded(f), "2*n")
    end
end)

check.done()
