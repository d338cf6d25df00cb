--- latency.lua: how long a result takes.
--
-- "first result of a new expression": recorded, planned, computed, read. Each measured expression has a structure that
-- was never seen before (20 ops drawn at random over two arrays of 1000 elements), so nothing that is cached helps.
-- "item()": a small op on an array that is there is recorded, and its value asked for at once, which runs it: the time
-- from the Lua operator to the Lua number, again and again with the same structure and other numbers. Compiled: in a
-- loop that LuaJIT compiles. Interpreted: with the compiler off.
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

local ITEMS = 1000 -- in one call of a measured function
local one, few = np.ones({}) + 0, np.ones({ 10 })
np.force(one, few)

local function read_sums()
    local total = 0
    for k = 1, ITEMS do total = total + (one + k):item() end
    return total
end

local function read_reductions()
    local total = 0
    for _ = 1, ITEMS do total = total + few:sum():item() end
    return total
end

local function item_rows(mode)
    for _, case in ipairs { { "x + k, 0-d", read_sums }, { "x:sum() over 10", read_reductions } } do
        local median, best = measure.one(case[2])
        measure.row { name = ("item() of %s, %s"):format(case[1], mode), value = median / ITEMS, best = best / ITEMS,
                      unit = "ns/op", goal = 3000 }
    end
end

item_rows "compiled"
jit.flush()
jit.off()
item_rows "interpreted"
os.exit(0)
