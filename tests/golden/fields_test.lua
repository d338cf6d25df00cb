--- fields_test.lua (under tsan with --long): fields of np.debug.print write what Python's format() does (fields.txt,
-- made by make_fields.py); numbers are written as arrays of f64 are.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local reader = require "tests.lib.golden_reader"

-- Of each record a line for its value, and one for the number that an array of f64 with a type holds.
local script = process.file [[
    local reader = require "tests.lib.golden_reader"
    local function show(spec, value)
        local ok = pcall(np.debug.print, { ordered = true }, "|{:" .. spec .. "}|", value)
        if not ok then print "error" end
    end
    for _, record in ipairs(reader.records "fields") do
        local spec, text = record[2], record[3]:match '^"(.*)"$'
        show(spec, text or reader.build(record[3]))
        if record[3]:find "^f64" and spec:find "[%a%%]$" then show(spec, reader.array(record[3]).values[1]) end
    end
]]

local collector = reader.collector()
local status, out, err = process.run_neap { script }
local lines = {}
for line in out:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
local at = 0
for _, record in ipairs(reader.records "fields") do
    local spec, want = record[2], record[4]
    local twice = record[3]:find "^f64" and spec:find "[%a%%]$"
    for _ = 1, twice and 2 or 1 do
        at = at + 1
        local got = lines[at]
        collector.add("field of " .. record[3]:match "^%w*", function()
            return got ~= want and ("got " .. tostring(got) .. ", expected " .. want) or nil
        end, "{:" .. spec .. "} of " .. record[3])
    end
end
check.test("all were written", function() check.equal({ status, err, #lines }, { 0, "", at }) end)
process.cleanup()
collector.finish(check)
