--- measure.lua: timing for the rows, and the lines in which they are handed to run.lua.
--
-- A measurement is a number of rounds. In each round every contender runs for a few milliseconds, one after the other,
-- with a rest between two, so that a busy moment of the machine hits all of them, and none is in another's way. It runs
-- for a few milliseconds more before, which do not count: its threads are awake then, and its data in the caches. What
-- is compared is the median over the rounds, and a ratio is the median of the rounds' ratios.
local ffi = require "ffi"

ffi.cdef [[
typedef struct neap_bench_clock { long seconds, nanoseconds; } neap_bench_clock;
int clock_gettime(int clock, neap_bench_clock *out);
int usleep(unsigned microseconds);
]]

local measure = {}
measure.rounds = tonumber(arg and arg[1]) or 15
measure.neap = arg and arg[2] or "build/neap"
measure.quick = arg and arg[3] == "quick"
measure.case = arg and arg[4] or "" -- a Lua pattern: which cases of bench/cases.lua
measure.workers = tonumber(arg and arg[5]) or 1

measure.cpu = arg and arg[6] == "cpu" -- times are CPU times of all threads

do
    local pipe = assert(io.popen "nproc")
    measure.cores = measure.cpu and 1 or tonumber(pipe:read "*l") or 1
    pipe:close()
end

local MONOTONIC, PROCESS_CPU = 1, 2
measure.slice_ns = 4e6 -- of one contender in one round, about; a group may take longer ones
local WARM = 0.5 -- of a slice, before it
local REST_US = 2000 -- between two contenders
local clock = ffi.new("neap_bench_clock")

--- Nanoseconds since some fixed moment, or of CPU time.
function measure.now()
    ffi.C.clock_gettime(measure.cpu and PROCESS_CPU or MONOTONIC, clock)
    return tonumber(clock.seconds) * 1e9 + tonumber(clock.nanoseconds)
end
local now = measure.now

--- The timer of a contender (see below) whose f does the work of `each` calls.
function measure.timer(f, each)
    return function(count)
        local calls = math.max(1, math.floor(count / (each or 1) + 0.5))
        local start = now()
        for _ = 1, calls do f() end
        return (now() - start) / calls / (each or 1)
    end
end

--- ns a call of a contender: a function, or a table whose field `timer` is a function that makes `count` calls and
-- returns their time itself.
local function run(f, count)
    if type(f) == "table" then return f.timer(count) end
    local start = now()
    for _ = 1, count do f() end
    return (now() - start) / count
end

--- How many calls of f fill a slice. The first call, which may load libraries and make plans, does not count, and of
-- two runs the longer one, in which the machine, or a collector, may have been busy with something else.
local function calibrate(f)
    local count = 1
    run(f, 1)
    while true do
        local each = math.min(run(f, count), run(f, count))
        if each * count >= measure.slice_ns / 2 or count >= 1e7 then
            return math.max(1, math.floor(measure.slice_ns / math.max(each, 1)))
        end
        count = count * 2
    end
end

function measure.median(list)
    local sorted = { unpack(list) }
    table.sort(sorted)
    local middle = math.floor((#sorted + 1) / 2)
    if #sorted % 2 == 1 then return sorted[middle] end
    return (sorted[middle] + sorted[middle + 1]) / 2
end

function measure.min(list)
    return math.min(unpack(list))
end

--- Measures contenders in interleaved rounds. Returns a list of lists: ns a call, of each contender in each round.
function measure.rounds_of(contenders)
    local counts, times = {}, {}
    for k, f in ipairs(contenders) do
        counts[k], times[k] = calibrate(f), {}
    end
    for round = 1, measure.rounds do
        for k, f in ipairs(contenders) do
            if #contenders > 1 then
                ffi.C.usleep(REST_US)
                run(f, math.ceil(counts[k] * WARM))
            end
            times[k][round] = run(f, counts[k])
        end
    end
    return times
end

--- Median and minimum ns a call of one contender.
function measure.one(f)
    local times = measure.rounds_of { f }[1]
    return measure.median(times), measure.min(times)
end

--- Compares two contenders. Returns the median ratio of the first's time to the second's, and both lists of times.
function measure.pair(f, g)
    local times = measure.rounds_of { f, g }
    local ratios = {}
    for k, time in ipairs(times[1]) do ratios[k] = time / times[2][k] end
    return measure.median(ratios), times[1], times[2]
end

--- A value as Lua text.
local function literal(value)
    if type(value) == "string" then return ("%q"):format(value) end
    if type(value) ~= "table" then return ("%.9g"):format(value) end
    local parts = {}
    for key, item in pairs(value) do parts[#parts + 1] = ("[%s]=%s"):format(literal(key), literal(item)) end
    return "{" .. table.concat(parts, ",") .. "}"
end

--- Hands a row to run.lua: name, value, unit; goal and better ("less" by default, or "more"); best; and for comparisons
-- `reference` (the other side's median, in the row's unit) and `ratio`. The goal is for the ratio where there is one;
-- `most` bounds the value besides. `peers`: other systems' values. `checks` takes the place of the goal where there are
-- several: a list of {name, ratio, goal}, each met if the ratio is at most its goal.
function measure.row(row)
    io.write(literal(row), "\n")
    io.flush()
end

--- Tells run.lua why the group has no rows here.
function measure.skip(reason)
    measure.row { skipped = reason }
end

return measure
