--- draws_test.lua (sanitized with --long): many numbers of np.random have the distributions that SciPy says
-- (draws.txt, made by make_draws.py): at each point, tails included, as many are below it as should be, within 5
-- standard deviations. The keys are fixed.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local COUNT = 40000
-- Halves of these are drawn as JAX draws them, of 7 or 10 random bits, which have no far tails.
local FEW_BITS = { uniform = true, normal = true, exponential = true, gumbel = true }
local FLOATS = { "f64", "f32", "f16", "bf16" }
local collector = reader.collector()

--- How many numbers are below each point, and up to it, against what is expected; a text about the first that is wrong.
-- A point is rounded as numbers are, which may make equal what was apart.
local function difference(x, points, levels, counts)
    local sorted, at = np.sort(x:astype "f64"), np.array(points, { dtype = "f64" }):astype(x.dtype):astype "f64"
    if np.isnan(sorted[-1]):item() then return "NaN was drawn" end
    local up_to = np.searchsorted(sorted, at, { side = "right" }):totable()
    local below = counts and up_to or np.searchsorted(sorted, at):totable()
    for k, level in ipairs(levels) do
        local allowed = 5 * math.sqrt(COUNT * level * (1 - level)) + 3
        if up_to[k] < COUNT * level - allowed or below[k] > COUNT * level + allowed then
            return ("%d of %d are at most %.6g, expected %.6g"):format(up_to[k], COUNT, points[k], COUNT * level)
        end
    end
end

for at, record in ipairs(reader.records "draws") do
    local name, equals = record[1], reader.position(record, "=")
    local parameters = {}
    for k = 2, equals - 1 do parameters[k - 1] = reader.number(record[k]) end
    local points, levels = reader.array(record[equals + 1]).values, reader.array(record[equals + 2]).values
    local counts, whole = name == "poisson" or name == "geometric", name == "binomial"
    local short = whole or FEW_BITS[name]
    for _, dtype in ipairs(counts and { "i32", "i64" } or short and { "f64", "f32" } or FLOATS) do
        collector.add(name, function()
            local arguments = { np.random.key(1000 + at), unpack(parameters) }
            arguments[#arguments + 1], arguments[#arguments + 2] = { COUNT }, { dtype = dtype }
            return difference(np.random[name](unpack(arguments)), points, levels, counts or whole)
        end, dtype .. " " .. table.concat(parameters, " "))
    end
end
collector.finish(check)
