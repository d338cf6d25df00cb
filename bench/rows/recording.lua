--- recording.lua: what one op costs, from the Lua operator to a node in the graph, and up to a value in memory.
--
-- "recorded": `c = a + b` on arrays of 10 elements, the result dropped, Lua's collector and the release of handles
-- included; pending work is flushed between the timed parts, not in them. Compiled: in a loop that LuaJIT compiles.
-- Interpreted: with the compiler off.
-- "evaluated": the same op and its computation on one worker. In a chain only the end is read; independent results come
-- from one flush and all are read; "read at once" waits for each result before the next op.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local measure = require "bench.measure"

local OPS = 1000         -- in one call of a measured function
local RECORDED = 20000   -- in one timed part
local WARM = 3

local a, b = np.ones({ 10 }), np.ones({ 10 })
np.force(a, b)

local function record(count)
    local c
    for _ = 1, count do c = a + b end
    return c
end

local function recorded_row(name, goal)
    local times = {}
    for round = 1, WARM + measure.rounds do
        local start = measure.now()
        record(RECORDED)
        local each = (measure.now() - start) / RECORDED
        if round > WARM then times[#times + 1] = each end
        np.wait_all()
    end
    measure.row { name = name, value = measure.median(times), best = measure.min(times), unit = "ns/op", goal = goal }
end

local function row(name, goal, f)
    local median, min = measure.one(f)
    measure.row { name = name, value = median / OPS, best = min / OPS, unit = "ns/op", goal = goal }
end

row("op evaluated, chain of 1000", 300, function()
    local x = a
    for _ = 1, OPS / 2 do x = x * 0.5 + b end
    x:wait()
end)

row("op evaluated, 1000 independent results", 2000, function()
    local results = {}
    for k = 1, OPS do results[k] = a + k end
    np.wait_all()
    for k = 1, OPS do results[k]:wait() end
end)

row("op evaluated, read at once", 10000, function()
    for k = 1, OPS do (a + k):wait() end
end)
np.debug.limits { nodes = 0, bytes = 0 }
recorded_row("op recorded, compiled", 100)
jit.flush()
jit.off()
recorded_row("op recorded, interpreted", 800)
os.exit(0)
