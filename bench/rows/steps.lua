--- steps.lua: whole steps: loops of 100,000 turns over one number and over ten elements, and some with a branch, draws,
-- a mean, a product, and an array that they fill; the training steps of a small network, of a transformer's block, of
-- an LSTM and of a small convolutional network (loss, gradients, Adam, f32). Each is one jitted function, whose result
-- is read (bench/steps.lua); other systems do the same (bench/steps.py).
--
-- "first call" is the time from making a training step to its first result, once in the life of the process. Goals: a
-- turn of the scan takes at most a third of JAX's, one of another loop no longer than JAX's, a first call a twentieth,
-- and a training step no longer than JAX's.
package.path = "./?.lua;" .. package.path
local measure = require "bench.measure"
local peers = require "bench.peer"
local steps = require "bench.steps"

local TURNS = steps.sizes.SCAN

local ALL = {
    { step = "fori", name = "fori_loop of 1e5 turns, a number", each = TURNS, unit = "ns/turn", goal = 1, loop = true },
    { step = "scan", name = "scan of 1e5 turns, 10 elements", each = TURNS, unit = "ns/turn", goal = 1 / 3,
      loop = true },
    { step = "branch", name = "fori_loop of 1e5 turns, a branch", each = TURNS, unit = "ns/turn", goal = 1,
      loop = true },
    { step = "draws", name = "fori_loop of 1e5 turns, 10 draws", each = TURNS, unit = "ns/turn", goal = 1,
      loop = true },
    { step = "mean", name = "fori_loop of 1e5 turns, a mean of 300", each = TURNS, unit = "ns/turn", goal = 1,
      loop = true },
    { step = "product", name = "fori_loop of 1e5 turns, tanh of 30x30 by 30", each = TURNS, unit = "ns/turn",
      goal = 1, loop = true },
    { step = "fill", name = "fori_loop of 1e5 turns, which fill an array", each = TURNS, unit = "ns/turn", goal = 1,
      loop = true },
    { step = "mlp", name = "training step, 784-256-10, batch 128", each = 1e3, unit = "us", goal = 1 },
    { step = "transformer", name = "training step, transformer 8x64x128, 4 heads", each = 1e3, unit = "us", goal = 1 },
    { step = "lstm", name = "training step, LSTM by scan, 32 turns of 64x128", each = 1e3, unit = "us", goal = 1 },
    { step = "cnn", name = "training step, 2 convolutions, 128x28x28", each = 1e3, unit = "us", goal = 1 },
}

local others = peers.start({ "jax jit", "torch", "torch compile" }, measure.workers)
for _, row in ipairs(ALL) do
    local start = measure.now()
    local list = { steps.make(row.step) }
    list[1]()
    local first, peer_first, checks = measure.now() - start, {}, {}
    for _, peer in ipairs(others) do
        local contender, ns = peer:step(row.step, steps.sizes_text())
        if contender then
            list[#list + 1], peer_first[peer.name] = contender, ns / 1e6
            if peer.name == "jax jit" then checks[1] = { name = peer.name, ratio = first / ns, goal = 1 / 20 } end
        end
    end
    if not row.loop then
        measure.row { name = row.name .. ", first call", value = first / 1e6, best = first / 1e6, unit = "ms",
                      checks = checks, peers = peer_first }
    end
    local times, peer_times = measure.rounds_of(list), {}
    checks = {}
    local best = measure.min(times[1]) / row.each
    for k = 2, #list do
        peer_times[list[k].name] = measure.min(times[k]) / row.each
        if list[k].name == "jax jit" then
            checks[1] = { name = "jax jit", ratio = best / peer_times["jax jit"], goal = row.goal }
        end
    end
    measure.row { name = row.name, value = measure.median(times[1]) / row.each, best = best, unit = row.unit,
                  checks = checks, peers = peer_times }
end
os.exit(0)
