--- small.lua: expressions of a few ops over few elements, as interactive work has them.
--
-- "read each": an expression is recorded, computed, and its result waited for, before the next one. "amortised": many
-- are recorded, computed by one flush, and then each result is waited for. Times are for one op. Goals: 1 us amortised,
-- 3 us for an op that is read, up to 1e3 elements; and not slower than NumPy and PyTorch from 100 elements on.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local kernels = require "bench.kernels"
local measure = require "bench.measure"
local peers = require "bench.peer"

local MANY = 1000 -- results of one flush
local MOST = { ["read each"] = 3000, amortised = 1000 }

local function rows_of(kernel, exponent, others)
    local n, inputs = 10 ^ exponent, {}
    for k = 1, kernel.inputs or 1 do inputs[k] = kernels.input(k, n) end
    local many = math.min(MANY, math.floor(1e7 / n / kernel.ops))
    local list = {
        { name = "read each", timer = measure.timer(function()
            for _ = 1, 100 do kernel.lua(unpack(inputs)):wait() end
        end, 100) },
        { name = "amortised", timer = measure.timer(function()
            local results = {}
            for k = 1, many do results[k] = kernel.lua(unpack(inputs)) end
            np.wait_all()
            for k = 1, many do results[k]:wait() end
        end, many) },
    }
    for _, peer in ipairs(others) do list[#list + 1] = peer:contender(kernel, n) end
    local times, peer_times = measure.rounds_of(list), {}
    for k = 3, #list do peer_times[list[k].name] = measure.min(times[k]) / kernel.ops end
    for k = 1, 2 do
        local checks, best = {}, measure.min(times[k]) / kernel.ops
        if exponent <= 3 and (k == 2 or kernel.ops == 1) then
            checks[1] = { name = list[k].name, ratio = best / MOST[list[k].name], goal = 1 }
        end
        for _, name in ipairs { "numpy", "torch" } do
            if peer_times[name] and n >= 100 then
                checks[#checks + 1] = { name = name, ratio = best / peer_times[name], goal = 1 }
            end
        end
        measure.row { name = ("%s, 1e%d, %s"):format(kernel.name, exponent, list[k].name),
                      value = measure.median(times[k]) / kernel.ops, best = best, unit = "ns/op",
                      checks = checks, peers = peer_times }
    end
end

local others = peers.start({ "numpy", "torch", "jax", "jax jit" }, 1)
for _, kernel in ipairs(kernels) do
    if kernel.group == "small" then
        for exponent = 1, 4 do rows_of(kernel, exponent, others) end
    end
end
os.exit(0)
