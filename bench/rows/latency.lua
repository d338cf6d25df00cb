--- latency.lua: how long the first result of a new expression takes: recorded, planned, computed, read. Each measured
-- expression has a structure that was never seen before (20 ops drawn at random over two arrays of 1000 elements), so
-- nothing that is cached helps.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local measure = require "bench.measure"

local LENGTH, SAMPLES, WARM = 20, 20, 20

local BINARY = { np.add, np.subtract, np.multiply, np.maximum, np.minimum }
local UNARY = { np.abs, np.negative, np.tanh, np.exp, np.sin, np.square }

math.randomseed(20)
--- A random expression as a list of steps, drawn before the clock starts.
local function draw()
    local steps = {}
    for k = 1, LENGTH do
        if math.random() < 0.4 then
            steps[k] = { UNARY[math.random(#UNARY)], math.random(k + 1) }
        else
            steps[k] = { BINARY[math.random(#BINARY)], math.random(k + 1), k + 1 } -- always uses the newest value
        end
    end
    return steps
end

local a, b = np.linspace(0, 1, 1000), np.linspace(1, 2, 1000)
np.force(a, b)

local function evaluate(steps)
    local values = { a, b }
    for k, step in ipairs(steps) do
        local f, x, y = step[1], values[step[2]], step[3] and values[step[3]]
        values[k + 2] = y and f(x, y) or f(x)
    end
    return values[#values]:sum():item()
end

local times = {}
for k = 1, WARM + measure.rounds * SAMPLES do
    local steps = draw()
    local start = measure.now()
    evaluate(steps)
    if k > WARM then times[#times + 1] = measure.now() - start end
end
measure.row { name = "first result of a new expression of 20 ops", value = measure.median(times) / 1e3,
              best = measure.min(times) / 1e3, unit = "us", goal = 1000 }
os.exit(0)
