--- steps.lua: whole steps: loops of 100,000 turns over one number and over ten elements, and some with a branch, draws,
-- a mean, a product, and an array that they fill; the training steps of a small network, of a transformer's block, of
-- an LSTM and of a small convolutional network (loss, gradients, Adam, f32). Each is one jitted function, whose result
-- is read; other systems do the same (bench/steps.py).
--
-- "first call" is the time from making a training step to its first result, once in the life of the process. Goals: a
-- turn of the scan takes at most a third of JAX's, one of another loop no longer than JAX's, a first call a twentieth,
-- and a training step no longer than JAX's.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local measure = require "bench.measure"
local peers = require "bench.peer"

local SCAN, CARRY = 100000, 10
local BATCH, PIXELS, HIDDEN, CLASSES = 128, 784, 256, 10
local EXAMPLES, LENGTH, WIDTH, HEADS = 8, 64, 128, 4
local ROWS, TURNS = 64, 32
local SIDE, FIRST, SECOND, FLAT = 28, 32, 64, 7 * 7 * 64

local key = np.random.key(0)
local drawn = 0

local function normal(scale, ...)
    drawn = drawn + 1
    return (np.random.normal(np.random.fold_in(key, drawn), { ... }) * scale):wait()
end

-- ---- Steps: functions that make a function, which makes a step and returns a number ---------------------------------

local makers = {}

function makers.scan()
    local c, xs = np.zeros(CARRY):wait(), np.full({ SCAN, CARRY }, 0.1):wait()
    local run = np.jit(function(first, all)
        return np.scan(function(carry, x)
            carry = np.tanh(carry * 0.9 + x)
            return carry, carry
        end, first, all)
    end)
    return function()
        local last, each = run(c, xs)
        each:wait()
        return last[0]:item()
    end
end

function makers.fori()
    local c = np.array(1.0)
    local run = np.jit(function(first)
        return np.fori_loop(0, SCAN, function(_, x) return x * 0.999 + 0.5 end, first)
    end)
    return function() return run(c):item() end
end

--- A loop of this turn, from an array of one value on.
local function loop(step, first, ...)
    local c = np.full({ ... }, first):wait()
    local run = np.jit(function(x) return np.fori_loop(0, SCAN, step, x) end)
    return function() return run(c):reshape(-1)[0]:item() end
end

function makers.branch()
    return loop(function(_, x)
        return np.cond(x:gt(1), function(y) return y * 0.25 end, function(y) return y * 1.5 + 0.125 end, x)
    end, 0.5)
end

function makers.draws()
    return loop(function(k, x) return x * 0.5 + np.random.normal(np.random.fold_in(key, k), { CARRY }) end, 0, CARRY)
end

function makers.mean()
    return loop(function(_, x) return x * 0.999 - x:mean() * 0.5 + 0.25 end, 1, 300)
end

function makers.product()
    local w = np.full({ 30, 30 }, 0.01):wait()
    return loop(function(_, x) return np.tanh(w:matmul(x) + 0.5) end, 0, 30)
end

function makers.fill()
    return loop(function(k, x) return x:at { k + 1 }:set(x[k] * 0.999 + 0.5) end, 1, SCAN + 1)
end

--- The training step of a loss(params, …) with these parameters.
local function training(loss, params, ...)
    local optimizer, data = np.optim.adam { lr = 1e-3 }, { ... }
    local gradient = np.value_and_grad(loss)
    local step = np.jit(function(p, s, a, b)
        local value, gradients = gradient(p, a, b)
        p, s = optimizer:update(gradients, s, p)
        return value, p, s
    end, { donate = { 1, 2 } })
    local state = optimizer:init(params)
    return function()
        local value
        value, params, state = step(params, state, data[1], data[2])
        return value:item()
    end
end

function makers.mlp()
    local params = { normal(0.05, PIXELS, HIDDEN), np.zeros(HIDDEN):wait(), normal(0.05, HIDDEN, CLASSES),
                     np.zeros(CLASSES):wait() }
    return training(function(p, x, labels)
        return np.nn.cross_entropy(np.nn.relu(x:matmul(p[1]) + p[2]):matmul(p[3]) + p[4], labels)
    end, params, normal(1, BATCH, PIXELS), np.random.randint(key, { BATCH }, 0, CLASSES):wait())
end

function makers.transformer()
    local function norm(x, scale, shift)
        local c = x - x:mean { axis = -1, keepdims = true }
        return c * np.rsqrt((c * c):mean { axis = -1, keepdims = true } + 1e-5) * (scale + 1) + shift
    end
    local params = {
        normal(0.05, WIDTH), normal(0.05, WIDTH), normal(0.05, WIDTH, 3 * WIDTH), normal(0.05, WIDTH, WIDTH),
        normal(0.05, WIDTH), normal(0.05, WIDTH), normal(0.05, WIDTH, 4 * WIDTH), normal(0.05, 4 * WIDTH),
        normal(0.05, 4 * WIDTH, WIDTH), normal(0.05, WIDTH),
    }
    return training(function(p, x, wanted)
        local qkv = norm(x, p[1], p[2]):matmul(p[3]):reshape(EXAMPLES, LENGTH, 3, HEADS, WIDTH / HEADS)
        qkv = np.permute_dims(qkv, { 2, 0, 3, 1, 4 })
        local scores = qkv[0]:matmul(np.swapaxes(qkv[1], -1, -2)) / math.sqrt(WIDTH / HEADS)
        scores = np.where(np.tri(LENGTH):gt(0), scores, -1e9)
        local y = np.swapaxes(np.softmax(scores):matmul(qkv[2]), 1, 2)
        x = x + y:reshape(EXAMPLES, LENGTH, WIDTH):matmul(p[4])
        x = x + np.nn.gelu(norm(x, p[5], p[6]):matmul(p[7]) + p[8]):matmul(p[9]) + p[10]
        return np.square(x - wanted):mean()
    end, params, normal(1, EXAMPLES, LENGTH, WIDTH), normal(1, EXAMPLES, LENGTH, WIDTH))
end

function makers.lstm()
    local params = { normal(0.05, WIDTH, 4 * WIDTH), normal(0.05, WIDTH, 4 * WIDTH), np.zeros(4 * WIDTH):wait(),
                     normal(0.05, WIDTH, CLASSES), np.zeros(CLASSES):wait() }
    return training(function(p, xs, labels)
        local zeros = np.zeros(ROWS, WIDTH)
        local last = np.scan(function(carry, x)
            local gates = x:matmul(p[1]) + carry.h:matmul(p[2]) + p[3]
            local i, f, g, o = unpack(np.split(gates, 4, { axis = -1 }))
            local c = np.sigmoid(f) * carry.c + np.sigmoid(i) * np.tanh(g)
            return { h = np.sigmoid(o) * np.tanh(c), c = c }
        end, { h = zeros, c = zeros }, xs)
        return np.nn.cross_entropy(last.h:matmul(p[4]) + p[5], labels)
    end, params, normal(1, TURNS, ROWS, WIDTH), np.random.randint(key, { ROWS }, 0, CLASSES):wait())
end

function makers.cnn()
    local params = { normal(0.05, 3, 3, 1, FIRST), np.zeros(FIRST):wait(), normal(0.05, 3, 3, FIRST, SECOND),
                     np.zeros(SECOND):wait(), normal(0.05, FLAT, CLASSES), np.zeros(CLASSES):wait() }
    return training(function(p, x, labels)
        for k = 1, 3, 2 do x = np.nn.max_pool(np.nn.relu(np.nn.conv(x, p[k]) + p[k + 1]), 2) end
        return np.nn.cross_entropy(x:reshape(BATCH, FLAT):matmul(p[5]) + p[6], labels)
    end, params, normal(1, BATCH, SIDE, SIDE, 1), np.random.randint(key, { BATCH }, 0, CLASSES):wait())
end

-- ---- Rows -----------------------------------------------------------------------------------------------------------

local ALL = {
    { step = "fori", name = "fori_loop of 1e5 turns, a number", each = SCAN, unit = "ns/turn", goal = 1, loop = true },
    { step = "scan", name = "scan of 1e5 turns, 10 elements", each = SCAN, unit = "ns/turn", goal = 1 / 3,
      loop = true },
    { step = "branch", name = "fori_loop of 1e5 turns, a branch", each = SCAN, unit = "ns/turn", goal = 1,
      loop = true },
    { step = "draws", name = "fori_loop of 1e5 turns, 10 draws", each = SCAN, unit = "ns/turn", goal = 1, loop = true },
    { step = "mean", name = "fori_loop of 1e5 turns, a mean of 300", each = SCAN, unit = "ns/turn", goal = 1,
      loop = true },
    { step = "product", name = "fori_loop of 1e5 turns, tanh of 30x30 by 30", each = SCAN, unit = "ns/turn",
      goal = 1, loop = true },
    { step = "fill", name = "fori_loop of 1e5 turns, which fill an array", each = SCAN, unit = "ns/turn", goal = 1,
      loop = true },
    { step = "mlp", name = "training step, 784-256-10, batch 128", each = 1e3, unit = "us", goal = 1 },
    { step = "transformer", name = "training step, transformer 8x64x128, 4 heads", each = 1e3, unit = "us", goal = 1 },
    { step = "lstm", name = "training step, LSTM by scan, 32 turns of 64x128", each = 1e3, unit = "us", goal = 1 },
    { step = "cnn", name = "training step, 2 convolutions, 128x28x28", each = 1e3, unit = "us", goal = 1 },
}

local others = peers.start({ "jax jit", "torch", "torch compile" }, measure.workers)
for _, row in ipairs(ALL) do
    local start = measure.now()
    local list = { makers[row.step]() }
    list[1]()
    local first, peer_first, checks = measure.now() - start, {}, {}
    for _, peer in ipairs(others) do
        local contender, ns = peer:step(row.step)
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
