--- library_test.lua (under tsan with --long): functions by NumPy's names equal NumPy's and SciPy's (library.txt, made
-- by make_library.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()
local inputs = setmetatable({ np = np, unpack = unpack }, {
    __index = function(_, name) error("no input " .. name) end,
})

for _, record in ipairs(reader.records "library") do
    if record[1] == "input" then
        inputs[record[2]] = reader.build(record[3])
    else
        local stop = reader.position(record, "=")
        collector.add(record[1], function()
            local results = { setfenv(assert(loadstring("return " .. record[2])), inputs)() }
            if #results ~= #record - stop then return ("%d results, not %d"):format(#results, #record - stop) end
            for k, result in ipairs(results) do
                local problem = reader.difference(result, record[stop + k], record[3])
                if problem then return ("result %d: %s"):format(k, problem) end
            end
        end, record[2])
    end
end
collector.finish(check)
