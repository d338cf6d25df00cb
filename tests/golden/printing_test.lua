--- printing_test.lua (under tsan with --long): tostring(x) is NumPy's str() (printing.txt, made by make_printing.py).
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()

for _, record in ipairs(reader.records "printing") do
    local dtype = reader.head(record[1])
    local want = record[2]:gsub("\\n", "\n")
    collector.add("text of " .. dtype, function()
        local got = tostring(reader.build(record[1]))
        if got == want then return nil end
        return "got\n" .. reader.short(got, 600) .. "\nexpected\n" .. reader.short(want, 600)
    end, reader.short(record[1], 60))
end
collector.finish(check)
