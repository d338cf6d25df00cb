--- statistics_test.lua (not under tsan): statistics, histograms, sets and choices equal NumPy's and JAX's
-- (statistics.txt, made by make_statistics.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()

--- A function of np with options: all results in a table.
local function plain(name)
    return function(o, ...)
        local arguments = { ... }
        if next(o) then arguments[#arguments + 1] = o end
        return { np[name](unpack(arguments)) }
    end
end

-- Records whose arrays are no plain arguments: f(options, arrays…).
local forms = {}
for _, name in ipairs { "sum", "prod", "max", "min", "mean", "std", "var" } do
    forms[name .. "_where"] = function(o, x, mask)
        o.where = mask
        return { np[name](x, o) }
    end
end
for _, name in ipairs { "histogram", "bincount", "average" } do
    forms[name .. "_weights"] = function(o, x, weights)
        o.weights = weights
        return { np[name](x, o) }
    end
end
for _, how in ipairs { "set", "add", "mul", "min", "max" } do
    forms["at_" .. how] = function(_, x, index, values)
        local at = x:at { index }
        return { at[how](at, values) }
    end
    forms["at2_" .. how] = function(_, x, i, j, values)
        local at = x:at { i, j }
        return { at[how](at, values) }
    end
end
function forms.cov_weights(_, x, fweights, aweights)
    return { np.cov(x, { fweights = fweights, aweights = aweights }) }
end
function forms.gradient_at(o, x, coordinates) return { np.gradient(x, coordinates, o) } end
function forms.histogramdd(o, x) return { (np.histogramdd(x, o)) } end
function forms.choose(o, index, choices) return { np.choose(index, choices, o) } end
function forms.extract(_, mask, x) return { np.extract(mask, x) } end

local function grad(record)
    local name, o = record[3], reader.options(record[4])
    local gradient = np.grad(function(x)
        local result = np.ravel((np[name](x, o)))
        return (result * (np.arange(result.size) + 1)):sum()
    end)(reader.build(record[5]))
    return reader.difference(gradient, record[7], record[2])
end

for _, record in ipairs(reader.records "statistics") do
    local name, tolerance = record[1], record[2]
    if name == "grad" then
        collector.add("gradients", function() return grad(record) end, record[3])
    else
        local stop, arrays, about = reader.position(record, "="), {}, record[3]
        for k = 4, stop - 1 do
            arrays[#arrays + 1] = reader.build(record[k])
            about = about .. " | " .. reader.short(record[k], 40)
        end
        collector.add(name, function()
            local results = (forms[name] or plain(name))(reader.options(record[3]), unpack(arrays))
            if #results ~= #record - stop then return ("%d results, not %d"):format(#results, #record - stop) end
            for k, result in ipairs(results) do
                local problem = reader.difference(result, record[stop + k], tolerance)
                if problem then return ("result %d: %s"):format(k, problem) end
            end
        end, about)
    end
end
collector.finish(check)
