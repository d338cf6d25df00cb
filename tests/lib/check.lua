--- check.lua: the helper of the Lua tests, `local check = require "tests.lib.check"` (tests run in the root folder).
--
--     check.test("adds", function()
--         check.equal(1 + 1, 2)
--         check.close(math.exp(1), 2.718281828, 1e-9)
--         check.raises(function() error("no such axis") end, "no such axis")
--     end)
--     check.skip("on a GPU", "no GPU here")
--     check.done()
--
-- A failed check ends its test; the next one runs. check.done prints "N passed, N failed, N skipped" and ends the
-- process, with status 1 if a test failed. It removes what lies at names that os.tmpname gave, and at longer ones that
-- begin with them.
local check = {}

local given = {}
local tmpname = os.tmpname
function os.tmpname() -- luacheck: ignore
    given[#given + 1] = tmpname()
    return given[#given]
end

local passed, failed, skipped = 0, 0, 0

local function fail(level, format, ...)
    error(string.format(format, ...), level + 1)
end

local function text_of(value)
    if type(value) == "string" then return string.format("%q", value) end
    if type(value) ~= "table" then return tostring(value) end
    local parts = {}
    for key, item in pairs(value) do
        parts[#parts + 1] = (type(key) == "number" and "" or tostring(key) .. " = ") .. text_of(item)
    end
    return "{" .. table.concat(parts, ", ") .. "}"
end

--- The path of the first difference between a and b, which may be nested tables, or nil if they are the same.
-- `same(x, y)` compares leaves.
local function difference(a, b, same, path)
    if type(a) ~= "table" or type(b) ~= "table" then
        if same(a, b) then return nil end
        return path
    end
    for key, item in pairs(a) do
        local found = difference(item, b[key], same, path .. "[" .. tostring(key) .. "]")
        if found then return found end
    end
    for key in pairs(b) do
        if a[key] == nil then return path .. "[" .. tostring(key) .. "]" end
    end
    return nil
end

local function compare(actual, expected, same, what)
    local path = difference(actual, expected, same, "")
    if path then
        fail(3, "%s%s: got %s, expected %s", what or "values differ", path == "" and "" or " at " .. path,
             text_of(actual), text_of(expected))
    end
end

--- Both are equal: leaves of tables too. NaN equals NaN; 0 and -0 differ.
function check.equal(actual, expected, what)
    compare(actual, expected, function(x, y)
        if type(x) == "number" and type(y) == "number" then
            if x ~= x then return y ~= y end
            return x == y and 1 / x == 1 / y
        end
        return rawequal(x, y) or type(x) == type(y) and x == y
    end, what)
end

--- Numbers, or tables of them, differ by at most tolerance * max(1, |expected|). The default tolerance is 1e-6.
function check.close(actual, expected, tolerance, what)
    tolerance = tolerance or 1e-6
    compare(actual, expected, function(x, y)
        if type(x) ~= "number" or type(y) ~= "number" then return rawequal(x, y) end
        if x ~= x or y ~= y then return x ~= x and y ~= y end
        return x == y or math.abs(x - y) <= tolerance * math.max(1, math.abs(y))
    end, what)
end

--- f() raises an error whose text matches the Lua pattern. Returns the text.
function check.raises(f, pattern)
    local ok, problem = pcall(f)
    if ok then fail(2, "no error was raised; expected one matching %q", pattern) end
    local text = tostring(problem)
    if not text:find(pattern) then fail(2, "the error %q does not match %q", text, pattern) end
    return text
end

--- A condition that has no better check.
function check.ok(condition, what)
    if not condition then fail(2, "%s", what or "condition is false") end
    return condition
end

--- Runs a test. One that raises a table {missing = REASON} cannot run here, for want of what it needs.
function check.test(name, f)
    local ok, problem = xpcall(f, function(value)
        if type(value) == "table" and value.missing then return value end
        return debug.traceback(tostring(value), 2)
    end)
    if ok then
        passed = passed + 1
    elseif type(problem) == "table" then
        check.skip(name, problem.missing)
    else
        failed = failed + 1
        io.stderr:write("FAILED ", name, ": ", problem, "\n")
    end
end

--- Counts a test that cannot run here.
function check.skip(name, reason)
    skipped = skipped + 1
    io.stderr:write("skipped ", name, ": ", reason, "\n")
end

--- Prints the counts and ends the process.
function check.done()
    if #given > 0 then os.execute("rm -rf " .. table.concat(given, "* ") .. "*") end
    print(string.format("%d passed, %d failed, %d skipped", passed, failed, skipped))
    os.exit(failed == 0 and passed + skipped > 0 and 0 or 1)
end

return check
