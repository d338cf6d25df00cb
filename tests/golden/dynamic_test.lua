--- dynamic_test.lua (under tsan with --long): slices at places that are data, and their gradients, equal JAX's
-- (dynamic.txt, made by make_dynamic.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()
local calls = {}

function calls.dynamic_slice(o, x, starts) return np.dynamic_slice(x, starts, o.sizes) end
function calls.dynamic_slice_in_dim(o, x, start) return np.dynamic_slice_in_dim(x, start, o.size, { axis = o.axis }) end
function calls.dynamic_index_in_dim(o, x, index)
    return np.dynamic_index_in_dim(x, index, { axis = o.axis, keepdims = o.keepdims == 1 })
end
function calls.dynamic_update_slice(_, x, starts, update) return np.dynamic_update_slice(x, update, starts) end
function calls.dynamic_update_slice_in_dim(o, x, start, update)
    return np.dynamic_update_slice_in_dim(x, update, start, { axis = o.axis })
end
function calls.dynamic_update_index_in_dim(o, x, index, update)
    return np.dynamic_update_index_in_dim(x, update, index, { axis = o.axis })
end

for _, record in ipairs(reader.records "dynamic") do
    local name, stop = record[1], reader.position(record, "=")
    local o, list, about = reader.options(record[2]), {}, record[2]
    for k = 3, stop - 1 do
        list[#list + 1] = reader.build(record[k])
        about = about .. " | " .. reader.short(record[k], 30)
    end
    local function call(x, update) return calls[name](o, x, list[2], update) end
    collector.add(name, function()
        return reader.difference(call(list[1], list[3]), record[stop + 1], "exact")
    end, about)
    for k, want in ipairs { unpack(record, stop + 2) } do
        collector.add("gradient of " .. name, function()
            local gradient = np.grad(function(x, update)
                local result = np.ravel(call(x, update))
                return (result * np.arange(result.size)):sum()
            end, { argnums = k == 1 and 1 or 2 })(list[1], list[3])
            return reader.difference(gradient, want, "exact")
        end, about)
    end
end
collector.finish(check)
