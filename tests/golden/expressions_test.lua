--- expressions_test.lua (sanitized with --long): 10,000 seeded random expressions (expressions.npz; make_expressions.py
-- defines the language).
--
-- All expressions are built first, with the flush limits off, and building launches and compiles nothing. Then each is
-- evaluated and its dtype, shape and summary are compared with the golden ones.
local np = require "neap"
local check = require "tests.lib.check"
local expressions = require "tests.lib.expressions"
local reader = require "tests.lib.golden_reader"

-- ---- Comparing ------------------------------------------------------------------------------------------------------

--- The values that a golden summary gives of a result.
local function summary(values)
    local n = #values
    if n <= 8 then return values end
    local total, weighted = 0, 0
    for i = 0, n - 1 do
        total = total + math.abs(values[i + 1])
        weighted = weighted + (37 * i % 11 - 5) * values[i + 1]
    end
    return { values[1], values[math.floor(n / 3) + 1], values[math.floor(2 * n / 3) + 1], values[n], total, weighted }
end

--- What is wrong with the result of a record, or nil. The sums at the end of a long summary may be off by the sum of
-- what their elements may be, and by what adding them up here rounds; rounding the golden values to text costs another
-- tenth.
local function wrong(x, record)
    local dtype, shape, size = reader.head(record[2])
    local tolerance = tonumber(record[3]) * 1.1
    if x.dtype ~= dtype then return ("dtype is %s, expected %s"):format(x.dtype, dtype) end
    local got_shape = "(" .. table.concat(x.shape, ",") .. ")"
    local want_shape = "(" .. table.concat(shape, ",") .. ")"
    if got_shape ~= want_shape then return ("shape is %s, expected %s"):format(got_shape, want_shape) end
    local got, k = summary(reader.flat(x)), 0
    for text in record[4]:gmatch("%S+") do
        k = k + 1
        local allowed = tolerance
        if size > 8 and k >= 5 then
            allowed = (k == 5 and 1 or 5) * size * (tolerance + 2 ^ -52 * math.abs(got[5]))
        end
        local close = math.abs(got[k] - tonumber(text)) <= allowed -- false for NaN
        if not close then
            return ("value %d is %.17g, expected %s within %g"):format(k, got[k], text, allowed)
        end
    end
end

-- ---- The test -------------------------------------------------------------------------------------------------------

local records = reader.records "expressions"
local results, problems = {}, {}

local function problem(k, text)
    problems[#problems + 1] = ("expression %d: %s\n      %s -> %s"):format(k, text, records[k][1], records[k][2])
end

np.debug.limits { nodes = 0, bytes = 0 }
local before = np.debug.counters()
for k, record in ipairs(records) do
    local ok, result = pcall(expressions.run, record[1])
    if ok then results[k] = result else problem(k, tostring(result)) end
end
local after = np.debug.counters()

check.test("there are 10,000 expressions", function() check.equal(#records, 10000) end)
check.test("building launches nothing", function()
    check.equal(tonumber(after.launches) - tonumber(before.launches), 0, "launches")
    check.equal(tonumber(after.plans) - tonumber(before.plans), 0, "plans")
end)
check.test("every expression builds", function()
    check.ok(#problems == 0, ("%d do not\n    %s"):format(#problems, table.concat(problems, "\n    ", 1,
                                                                                 math.min(#problems, 10))))
end)
problems = {}
for k = 1, #records do
    if results[k] then
        local ok, text = pcall(wrong, results[k], records[k])
        if not ok or text then problem(k, tostring(text)) end
    end
end
check.test("every expression has its golden value", function()
    check.ok(#problems == 0, ("%d do not\n    %s"):format(#problems, table.concat(problems, "\n    ", 1,
                                                                                 math.min(#problems, 10))))
end)
check.done()
