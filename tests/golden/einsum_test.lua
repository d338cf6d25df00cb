--- einsum_test.lua (under tsan with --long): einsum with ellipses and diagonals, and its gradients, equal NumPy's and
-- JAX's (einsum.txt, made by make_einsum.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()

for _, record in ipairs(reader.records "einsum") do
    local spec, stop, list = record[2], reader.position(record, "="), {}
    local about = spec
    for k = 3, stop - 1 do
        list[#list + 1] = reader.build(record[k])
        about = about .. " | " .. reader.short(record[k], 20)
    end
    collector.add("einsum", function()
        return reader.difference(np.einsum(spec, unpack(list)), record[stop + 1], "exact")
    end, about)
    for k, want in ipairs { unpack(record, stop + 2) } do
        collector.add("gradients", function()
            local gradient = np.grad(function(...)
                local result = np.ravel(np.einsum(spec, ...))
                return (result * np.arange(result.size)):sum()
            end, { argnums = k })(unpack(list))
            return reader.difference(gradient, want, "zero")
        end, about)
    end
end
collector.finish(check)
