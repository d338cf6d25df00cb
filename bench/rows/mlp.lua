--- mlp.lua: training steps of the network of scripts/train_mesh.lua (784-256-10, Adam), with batches of 128, in
-- images a second: forward, backward and update, on all cores, with data already in memory.
--
-- The first row reads the loss after every step; the second reads it every 50 steps, as a training script does, so that
-- recording runs ahead of the computation; the third is the first without np.jit.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local measure = require "bench.measure"

local PIXELS, HIDDEN, CLASSES, BATCH, STEPS = 784, 256, 10, 128, 50

local model = np.nn.Sequential { np.nn.Dense(PIXELS, HIDDEN), np.nn.relu, np.nn.Dense(HIDDEN, CLASSES) }
local optimizer = np.optim.adam { lr = 1e-3 }

local function loss_of(params, images, labels)
    return np.nn.cross_entropy(model(params, images), labels)
end

local function step(params, state, images, labels)
    local loss, gradients = np.value_and_grad(loss_of)(params, images, labels)
    params, state = optimizer:update(gradients, state, params)
    return params, state, loss
end

local keys = np.random.split(np.random.key(0), 3)
local images = np.random.uniform(keys[0], { BATCH, PIXELS })
local labels = np.random.randint(keys[1], { BATCH }, 0, CLASSES)
np.force(images, labels)

--- A function that makes `steps` steps with `one_step` and then reads the loss.
local function trainer(one_step, steps)
    local params = model:init(keys[2])
    local state = optimizer:init(params)
    return function()
        local loss
        for _ = 1, steps do params, state, loss = one_step(params, state, images, labels) end
        return loss:item()
    end
end

local function row(name, goal, one_step, steps)
    local median, min = measure.one(trainer(one_step, steps))
    local images_in = BATCH * steps * 1e9
    measure.row { name = name, value = images_in / median, best = images_in / min, unit = "images/s", goal = goal,
                  better = "more" }
end

row("training step, 784-256-10, batch 128", 50000, np.jit(step), 1)
row("training, the loss read every 50 steps", 50000, np.jit(step), STEPS)
row("training step without jit", 25000, step, 1)
os.exit(0)
