--- steps.lua: whole steps: loops over small arrays, and training steps of small networks; each is one jitted function.
-- Other systems do the same (bench/steps.py), with the sizes that are told here.
--
--     local step = steps.make("mlp", { BATCH = 1024 })   -- other sizes are those of steps.sizes
--     print(step())                                      -- a number: it waits for the result
--     steps.unread("mlp")():wait()                       -- a training step: the loss, as an array
local np = require "neap"

local steps = {}

steps.sizes = {
    SCAN = 100000, CARRY = 10, -- loops: turns, elements
    BATCH = 128, PIXELS = 784, HIDDEN = 256, CLASSES = 10, -- mlp; the others have CLASSES too, cnn has BATCH
    EXAMPLES = 8, LENGTH = 64, WIDTH = 128, HEADS = 4, -- transformer; lstm has WIDTH
    ROWS = 64, TURNS = 32, -- lstm
    SIDE = 28, FIRST = 32, SECOND = 64, -- cnn: of images, features of its convolutions
}

local size = steps.sizes -- those of the step that is made
local key = np.random.key(0)
local drawn = 0

local function normal(scale, ...)
    drawn = drawn + 1
    return (np.random.normal(np.random.fold_in(key, drawn), { ... }) * scale):wait()
end

-- ---- Steps: functions that make a function, which makes a step and returns a number, or an array of one -------------

local makers = {}

function makers.scan()
    local c, xs = np.zeros(size.CARRY):wait(), np.full({ size.SCAN, size.CARRY }, 0.1):wait()
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
        return np.fori_loop(0, size.SCAN, function(_, x) return x * 0.999 + 0.5 end, first)
    end)
    return function() return run(c):item() end
end

--- A loop of this turn, from an array of one value on.
local function loop(step, first, ...)
    local c = np.full({ ... }, first):wait()
    local run = np.jit(function(x) return np.fori_loop(0, size.SCAN, step, x) end)
    return function() return run(c):reshape(-1)[0]:item() end
end

function makers.branch()
    return loop(function(_, x)
        return np.cond(x:gt(1), function(y) return y * 0.25 end, function(y) return y * 1.5 + 0.125 end, x)
    end, 0.5)
end

function makers.draws()
    return loop(function(k, x)
        return x * 0.5 + np.random.normal(np.random.fold_in(key, k), { size.CARRY })
    end, 0, size.CARRY)
end

function makers.mean()
    return loop(function(_, x) return x * 0.999 - x:mean() * 0.5 + 0.25 end, 1, 300)
end

function makers.product()
    local w = np.full({ 30, 30 }, 0.01):wait()
    return loop(function(_, x) return np.tanh(w:matmul(x) + 0.5) end, 0, 30)
end

function makers.fill()
    return loop(function(k, x) return x:at { k + 1 }:set(x[k] * 0.999 + 0.5) end, 1, size.SCAN + 1)
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
        return value
    end
end

function makers.mlp()
    local pixels, hidden, classes = size.PIXELS, size.HIDDEN, size.CLASSES
    local params = { normal(0.05, pixels, hidden), np.zeros(hidden):wait(), normal(0.05, hidden, classes),
                     np.zeros(classes):wait() }
    return training(function(p, x, labels)
        return np.nn.cross_entropy(np.nn.relu(x:matmul(p[1]) + p[2]):matmul(p[3]) + p[4], labels)
    end, params, normal(1, size.BATCH, pixels), np.random.randint(key, { size.BATCH }, 0, classes):wait())
end

function makers.transformer()
    local examples, length, width, heads = size.EXAMPLES, size.LENGTH, size.WIDTH, size.HEADS
    local function norm(x, scale, shift)
        local c = x - x:mean { axis = -1, keepdims = true }
        return c * np.rsqrt((c * c):mean { axis = -1, keepdims = true } + 1e-5) * (scale + 1) + shift
    end
    local params = {
        normal(0.05, width), normal(0.05, width), normal(0.05, width, 3 * width), normal(0.05, width, width),
        normal(0.05, width), normal(0.05, width), normal(0.05, width, 4 * width), normal(0.05, 4 * width),
        normal(0.05, 4 * width, width), normal(0.05, width),
    }
    return training(function(p, x, wanted)
        local qkv = norm(x, p[1], p[2]):matmul(p[3]):reshape(examples, length, 3, heads, width / heads)
        qkv = np.permute_dims(qkv, { 2, 0, 3, 1, 4 })
        local scores = qkv[0]:matmul(np.swapaxes(qkv[1], -1, -2)) / math.sqrt(width / heads)
        scores = np.where(np.tri(length):gt(0), scores, -1e9)
        local y = np.swapaxes(np.softmax(scores):matmul(qkv[2]), 1, 2)
        x = x + y:reshape(examples, length, width):matmul(p[4])
        x = x + np.nn.gelu(norm(x, p[5], p[6]):matmul(p[7]) + p[8]):matmul(p[9]) + p[10]
        return np.square(x - wanted):mean()
    end, params, normal(1, examples, length, width), normal(1, examples, length, width))
end

function makers.lstm()
    local rows, turns, width, classes = size.ROWS, size.TURNS, size.WIDTH, size.CLASSES
    local params = { normal(0.05, width, 4 * width), normal(0.05, width, 4 * width), np.zeros(4 * width):wait(),
                     normal(0.05, width, classes), np.zeros(classes):wait() }
    return training(function(p, xs, labels)
        local zeros = np.zeros(rows, width)
        local last = np.scan(function(carry, x)
            local gates = x:matmul(p[1]) + carry.h:matmul(p[2]) + p[3]
            local i, f, g, o = unpack(np.split(gates, 4, { axis = -1 }))
            local c = np.sigmoid(f) * carry.c + np.sigmoid(i) * np.tanh(g)
            return { h = np.sigmoid(o) * np.tanh(c), c = c }
        end, { h = zeros, c = zeros }, xs)
        return np.nn.cross_entropy(last.h:matmul(p[4]) + p[5], labels)
    end, params, normal(1, turns, rows, width), np.random.randint(key, { rows }, 0, classes):wait())
end

function makers.cnn()
    local batch, side, first, second, classes = size.BATCH, size.SIDE, size.FIRST, size.SECOND, size.CLASSES
    local flat = math.floor(side / 4) ^ 2 * second
    local params = { normal(0.05, 3, 3, 1, first), np.zeros(first):wait(), normal(0.05, 3, 3, first, second),
                     np.zeros(second):wait(), normal(0.05, flat, classes), np.zeros(classes):wait() }
    return training(function(p, x, labels)
        for k = 1, 3, 2 do x = np.nn.max_pool(np.nn.relu(np.nn.conv(x, p[k]) + p[k + 1]), 2) end
        return np.nn.cross_entropy(x:reshape(batch, flat):matmul(p[5]) + p[6], labels)
    end, params, normal(1, batch, side, side, 1), np.random.randint(key, { batch }, 0, classes):wait())
end

--- A step that returns what its maker does; `sizes`: those that are not as in steps.sizes.
function steps.unread(name, sizes)
    size = setmetatable(sizes or {}, { __index = steps.sizes })
    return makers[name]()
end

--- A step that returns a number.
function steps.make(name, sizes)
    local step = steps.unread(name, sizes)
    return function()
        local value = step()
        return type(value) == "number" and value or value:item()
    end
end

--- The sizes as text for bench/steps.py.
function steps.sizes_text(sizes)
    local parts = {}
    for word, value in pairs(steps.sizes) do
        parts[#parts + 1] = ("%s=%d"):format(word, sizes and sizes[word] or value)
    end
    return table.concat(parts, " ")
end

return steps
