--- beside.lua: the rows of a group of bench/cases.lua: neap and other systems on the same inputs, in the same rounds,
-- all with as many threads as the machine has cores.
--
-- neap's side is all that a script does: record the ops, flush, wait until the bytes are there; results are dropped, as
-- scripts drop them, and the collector finds them. A row is met if neap's best time is at most 1.1 of the best time of
-- the fastest of the others.
local np = require "neap"
local cases = require "bench.cases"
local measure = require "bench.measure"
local peers = require "bench.peer"

local GOAL = 1.1
local TOLERANCE = 0.02 -- of sums of magnitudes

local beside = {}

--- The sum of magnitudes of the first result, as peers.py takes it.
local function magnitude(x)
    return x:astype(x.dtype:find "^c" and "c128" or "f64"):abs():sum():item()
end

--- The files from which the others read inputs.
local function write_inputs(arrays)
    local paths = {}
    for k, x in ipairs(arrays) do
        paths[k] = ("bench/results/input_%d.npy"):format(k)
        np.io.save(paths[k], x)
    end
    return table.concat(paths, " ")
end

local function contenders_of(case, others)
    local arrays = case.inputs()
    local paths, expected = write_inputs(arrays), nil
    local call
    if case.once then
        call = case.once(unpack(arrays))
    else
        call = function() case.lua(unpack(arrays)):wait() end
        if not case.drawn then expected = magnitude((case.lua(unpack(arrays)))) end
    end
    local list = { { name = "neap", timer = measure.timer(call) } }
    for _, peer in ipairs(others) do
        local contender, sum = peer:case(case, paths)
        if contender then
            list[#list + 1] = contender
            if expected and math.abs(sum - expected) > TOLERANCE * math.max(1, math.abs(expected)) then
                error(("bench: %s: neap gives %.9g, %s %.9g"):format(case.name, expected, peer.name, sum))
            end
        end
    end
    return list
end

--- The row of times in nanoseconds: those of neap first, then those of the others by name.
function beside.row(name, list, times, each)
    local scale, fastest, peer_times = 1e3 * (each or 1), nil, {}
    for k = 2, #list do
        local best = measure.min(times[k]) / scale
        peer_times[list[k].name] = best
        if not fastest or best < peer_times[fastest] then fastest = list[k].name end
    end
    local best, checks = measure.min(times[1]) / scale, {}
    if fastest then checks[1] = { name = "fastest", ratio = best / peer_times[fastest], goal = GOAL } end
    measure.row { name = name, value = measure.median(times[1]) / scale, best = best, unit = "us", checks = checks,
                  peers = peer_times }
end

--- Measures all cases of a group.
function beside.group(group)
    local others = peers.start({ "numpy", "scipy", "pandas", "torch", "jax jit" }, measure.cores)
    for _, case in ipairs(cases) do
        if case.group == group and case.name:find(measure.case) then
            local list = contenders_of(case, others)
            beside.row(case.name, list, measure.rounds_of(list), case.each)
            collectgarbage()
        end
    end
end

return beside
