--- ops_test.lua (under tsan with --long): elementwise ops, comparisons, promotion, casts, reductions and products equal
-- NumPy's and JAX's (ops.txt, made by make_ops.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()

--- The inputs of a record, which stand between the field `from` and the "=".
local function inputs(record, from)
    local list, stop = {}, reader.position(record, "=")
    for k = from, stop - 1 do list[#list + 1] = reader.build(record[k]) end
    return list, record[stop + 1]
end

local function about(record, from)
    local parts = {}
    for k = from, reader.position(record, "=") - 1 do parts[#parts + 1] = reader.short(record[k], 40) end
    return table.concat(parts, " | ")
end

local kinds = {}

--- op <tab> name <tab> options <tab> tolerance <tab> inputs
function kinds.op(record)
    local name, tolerance = record[2], record[4]
    local f = np[name]
    if not f then return collector.skip(name, "neap has no np." .. name) end
    collector.add(name, function()
        local list, want = inputs(record, 5)
        if record[3] ~= "-" then list[#list + 1] = reader.options(record[3]) end
        return reader.difference(f(unpack(list)), want, tolerance)
    end, about(record, 3))
end

--- number <tab> name <tab> the Lua number <tab> input: an array with a number on its right
function kinds.number(record)
    local name = record[2]
    collector.add("number " .. name, function()
        local list, want = inputs(record, 4)
        return reader.difference(np[name](list[1], tonumber(record[3])), want, "exact")
    end, about(record, 3))
end

--- astype <tab> dtype <tab> input
function kinds.astype(record)
    collector.add("astype", function()
        local list, want = inputs(record, 3)
        return reader.difference(list[1]:astype(record[2]), want, "exact")
    end, about(record, 2))
end

for _, record in ipairs(reader.records "ops") do kinds[record[1]](record) end
collector.finish(check)
