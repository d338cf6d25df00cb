--- ahead.lua: what a loop of jitted steps takes that never waits, beside the same loop that waits for each step.
--
-- Steps of Lloyd's algorithm (k-means of 100,000 points of 8 numbers, 16 centres): each depends on the one before, so
-- running ahead can win nothing but the time of the script between two steps, and each step ahead holds arrays of its
-- own. Goals: no more time than with waits, and at most 100 MB more than they take.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local measure = require "bench.measure"

local POINTS, WIDTH, CENTRES, STEPS, MB = 100000, 8, 16, 60, 1e6

local points = np.random.normal(np.random.key(0), { POINTS, WIDTH }):wait()
local start = points[{ { 0, CENTRES } }]:wait()
local step = np.jit(function(centres)
    local off = np.square(points):sum { axis = 1, keepdims = true } - 2 * points:matmul(centres.T)
    local nearest = np.argmin(off + np.square(centres):sum { axis = 1 }, { axis = 1 })
    local counts = np.segment_sum(np.ones { POINTS }, nearest, CENTRES)
    return np.segment_sum(points, nearest, CENTRES) / np.maximum(counts, 1):reshape(CENTRES, 1)
end)

local function loop(waits)
    return function()
        local centres = start
        for _ = 1, STEPS do
            centres = step(centres)
            if waits then centres:wait() end
        end
        centres:wait()
    end
end

--- The peak of a loop in MB, above what is live before it.
local function peak(f)
    np.wait_all()
    collectgarbage()
    np.memory.reset_peak()
    local before = np.memory().live
    f()
    return (np.memory().peak - before) / MB
end

local waiting, running = loop(true), loop(false)
local ratio, ahead, apart = measure.pair(running, waiting)
local least, most = peak(waiting), peak(running)
measure.row { name = "60 steps not waited for beside 60 waited for", value = measure.median(ahead) / 1e6,
              best = measure.min(ahead) / 1e6, reference = measure.median(apart) / 1e6, ratio = ratio, unit = "ms",
              goal = 1.1 }
measure.row { name = "memory that 60 steps not waited for take above those waited for", value = most - least,
              unit = "MB", goal = 100 }
os.exit(0)
