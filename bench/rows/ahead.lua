--- ahead.lua: what loops take that never wait, beside the same loops that wait in each turn.
--
-- Steps of Lloyd's algorithm (k-means of 100,000 points of 8 numbers, 16 centres), the training steps of
-- bench/steps.lua, whose parameters are donated, chains over 4 MB, of eager ops, of one jitted map, of cumulative sums,
-- of sorts, and of products. Each turn depends on the one before, so running ahead can win nothing but the time of the
-- script between two turns. Goals: no more time than with waits, and 1.3 times the memory, from some MB on.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local measure = require "bench.measure"
local steps = require "bench.steps"

local POINTS, WIDTH, CENTRES, MB = 100000, 8, 16, 1e6

-- ---- Loops: functions that make the first value, and a function from a turn's value to the next turn's --------------

local function lloyd()
    local points = np.random.normal(np.random.key(0), { POINTS, WIDTH }):wait()
    return points[{ { 0, CENTRES } }]:wait(), np.jit(function(centres)
        local off = np.square(points):sum { axis = 1, keepdims = true } - 2 * points:matmul(centres.T)
        local nearest = np.argmin(off + np.square(centres):sum { axis = 1 }, { axis = 1 })
        local counts = np.segment_sum(np.ones { POINTS }, nearest, CENTRES)
        return np.segment_sum(points, nearest, CENTRES) / np.maximum(counts, 1):reshape(CENTRES, 1)
    end)
end

local function eager()
    return np.random.normal(np.random.key(0), { 1000000 }):wait(), function(x)
        x = np.tanh(x) * 0.5 + x:sum()
        return x - x:mean()
    end
end

local function training(name)
    return function()
        local step = steps.unread(name)
        return step():wait(), step
    end
end

--- A chain of calls of a jitted function of an array of a million numbers.
local function chain(f)
    return function()
        return np.random.uniform(np.random.key(1), { 1000, 1000 }):wait(), np.jit(f)
    end
end

local LOOPS = {
    { name = "30 training steps, 784-256-10, batch 128", turns = 30, make = training "mlp" },
    { name = "60 steps of k-means", turns = 60, make = lloyd },
    { name = "60 turns of 7 eager ops over 4 MB", turns = 60, make = eager },
    { name = "200 maps of 4 MB", turns = 200, make = chain(function(x) return np.tanh(x) * 0.5 end) },
    { name = "30 cumulative sums of 4 MB", turns = 30,
      make = chain(function(x) return np.cumsum(x, { axis = 1 }) / 2 end) },
    { name = "10 sorts of 4 MB", turns = 10, make = chain(function(x) return np.sort(1 - x) end) },
    { name = "10 training steps, transformer 8x64x128", turns = 10, make = training "transformer" },
    { name = "3 training steps, LSTM by scan", turns = 3, make = training "lstm" },
    { name = "3 training steps, 2 convolutions", turns = 3, make = training "cnn" },
    { name = "10 products of 1000x1000", turns = 10, make = chain(function(x) return x:matmul(x) / 500 end) },
}

local function runs(first, turn, turns, waits)
    return function()
        local x = first
        for _ = 1, turns do
            x = turn(x)
            if waits then x:wait() end
        end
        x:wait()
    end
end

--- Live bytes once all dead arrays have gone, also those that compiled code holds.
local function live()
    local least, before = np.memory().live, math.huge
    jit.flush()
    while least < before do
        before = least
        for _ = 1, 3 do
            np.wait_all()
            collectgarbage()
        end
        least = np.memory().live
    end
    return least
end

local function peak(f)
    live()
    np.memory.reset_peak()
    f()
    return np.memory().peak
end

local function show(loop)
    np.clear_caches() -- programs of the loop before
    local before = live()
    local first, turn = loop.make()
    local waiting, running = runs(first, turn, loop.turns, true), runs(first, turn, loop.turns)
    local ratio, ahead, apart = measure.pair(running, waiting)
    local least, most = (peak(waiting) - before) / MB, (peak(running) - before) / MB
    measure.row { name = loop.name .. ", not waited for beside waited for", value = measure.median(ahead) / 1e6,
                  best = measure.min(ahead) / 1e6, reference = measure.median(apart) / 1e6, ratio = ratio, unit = "ms",
                  goal = 1.1 }
    measure.row { name = loop.name .. ": memory, not waited for beside waited for", value = most, reference = least,
                  ratio = most / least, unit = "MB", goal = 1.3 }
end

for _, loop in ipairs(LOOPS) do show(loop) end
os.exit(0)
