--- train_mesh.lua: trains the network of Fashion-MNIST on a mesh of devices: each step's examples are divided by the
-- mesh's axis "data", the hidden layer by its axis "model".
--
--     neap --devices 8 scripts/train_mesh.lua --mesh 4x2
--     mpirun -n 4 neap --devices 2 scripts/train_mesh.lua --mesh 4x2
--
-- --mesh DxM has D·M devices: 8x1 is data-parallel training, 1x8 tensor-parallel, 4x2 both. Losses depend on the mesh,
-- the seed and the data alone: which processes hold the devices makes no difference to the last bit. Between meshes
-- sums are taken in another order, so losses agree as far as f32 goes. docs/mesh-training.md goes through it.
local np = require "neap"
local nn, P = np.nn, np.P

local MEAN, DEVIATION = 0.2860, 0.3530 -- of the pixels of the training images, as parts of 255

-- ---- Options --------------------------------------------------------------------------------------------------------

local options, fail = np.argparse(arg, {
    "Trains the network of Fashion-MNIST on a mesh of devices.",
    { "mesh", nil, "DxM: devices along the axes \"data\" and \"model\"; without it all devices along \"data\"" },
    { "data", "fashion", "fashion, moons, or a folder with the files of Fashion-MNIST" },
    { "epochs", 1, "passes over the training data", min = 1 },
    { "steps", nil, "at most so many steps", type = "integer", min = 0 },
    { "batch", 64, "examples of one step", min = 1 },
    { "hidden", 256, "width of the hidden layer", min = 1 },
    { "lr", 0.001, "learning rate of Adam", min = 0 },
    { "seed", 0, "of parameters and order of examples", min = 0 },
    { "log", 100, "steps between lines", min = 1 },
    { "save", nil, "folder of a checkpoint that is written after each epoch" },
    { "load", nil, "folder of a checkpoint that training goes on from, written on any mesh" },
})

-- ---- The mesh, and how arrays lie on it -----------------------------------------------------------------------------

local devices = #np.devices()
local rows, columns = (options.mesh or devices .. "x1"):match "^(%d+)x(%d+)$"
rows, columns = tonumber(rows), tonumber(columns)
if not rows or rows * columns ~= devices then
    fail("--mesh %s is no mesh of %d devices, such as %dx1", options.mesh, devices, devices)
end
if options.batch % rows ~= 0 or options.hidden % columns ~= 0 then
    fail("%d examples of a step and a hidden layer of %d cannot be divided by a mesh of %dx%d", options.batch,
         options.hidden, rows, columns)
end
local mesh = np.mesh({ rows, columns }, { "data", "model" })

local SPECS = { w1 = P(nil, "model"), b1 = P "model", w2 = P("model", nil), b2 = P() }

-- ---- Data -----------------------------------------------------------------------------------------------------------

--- Examples x and labels y of one part of Fashion-MNIST, "train" or "test".
local function load_part(part)
    local images, labels = np.data.fashion_mnist(part, options.data ~= "fashion" and { path = options.data } or nil)
    return { images:reshape(#images, -1), labels }
end

local function load_data()
    if options.data == "moons" then
        local keys = np.random.split(np.random.key(options.seed + 1), 2)
        return { train = { np.data.moons(keys[0], 2048) }, test = { np.data.moons(keys[1], 512) }, classes = 2,
                 scale = function(x) return x end }
    end
    return { train = load_part "train", test = load_part "test", classes = 10,
             scale = function(x) return (x:astype "f32" / 255 - MEAN) / DEVIATION end }
end

local data = load_data()

--- Every process has all examples, and puts the parts of its devices where they belong.
local function place(x)
    return np.device_put(x, mesh, P "data")
end

-- ---- The model ------------------------------------------------------------------------------------------------------

local function make_params()
    local keys, width = np.random.split(np.random.key(options.seed), 2), data.train[1].shape[2]
    return np.device_put({
        w1 = nn.he_normal(keys[0], { width, options.hidden }), b1 = np.zeros(options.hidden),
        w2 = nn.he_normal(keys[1], { options.hidden, data.classes }), b2 = np.zeros(data.classes),
    }, mesh, SPECS)
end

--- What each device computes: of its examples, with its part of the hidden layer. The sum over "model" makes the logits
-- whole.
local function logits_of(p, x)
    local hidden = nn.relu(data.scale(x):matmul(p.w1) + p.b1)
    return np.psum(hidden:matmul(p.w2), "model") + p.b2
end

local loss_of = np.shard_map(function(p, x, y)
    return np.pmean(nn.cross_entropy(logits_of(p, x), y), "data")
end, { mesh = mesh, in_specs = { SPECS, P "data", P "data" }, out_specs = P() })

local count_right = np.jit(np.shard_map(function(p, x, y)
    return np.psum(logits_of(p, x):argmax { axis = -1 }:eq(y):sum(), "data")
end, { mesh = mesh, in_specs = { SPECS, P "data", P "data" }, out_specs = P() }))

-- ---- Training -------------------------------------------------------------------------------------------------------

local optimizer = np.optim.adam { lr = options.lr }

--- One program. That the gradients are summed over "data" follows from how the parameters lie.
local step = np.jit(function(params, state, x, y)
    local loss, gradients = np.value_and_grad(loss_of)(params, x, y)
    params, state = optimizer:update(gradients, state, params)
    return params, state, loss
end, { donate = { 1, 2 } })

local function accuracy(params)
    local size = math.floor(1024 / rows) * rows
    local right, total = 0, 0
    for x, y in np.data.batches(data.test, size, { drop_last = #data.test[2] >= size }) do
        local fits = math.floor(#y / rows) * rows
        right = right + count_right(params, place(x[{ { 0, fits } }]), place(y[{ { 0, fits } }]))
        total = total + fits
    end
    return right:item() / total
end

local params, done = make_params(), 0
local state = optimizer:init(params)
local STATE = { m = SPECS, v = SPECS, step = P() }
if options.load then
    local saved = np.io.load_checkpoint(options.load, { mesh = mesh, specs = { params = SPECS, state = STATE } })
    params, state, done = saved.params, saved.state, saved.epoch
else
    state = np.device_put(state, mesh, STATE)
end

print(("mesh %dx%d, %d process%s, %d parameters"):format(rows, columns, np.process_count(),
                                                         np.process_count() == 1 and "" or "es", np.tree.size(params)))
local key, count = np.random.key(options.seed), 0
for epoch = done + 1, done + options.epochs do
    local order = { key = np.random.fold_in(key, epoch), drop_last = true }
    for x, y in np.data.batches(data.train, options.batch, order) do
        if count == options.steps then break end
        local loss
        params, state, loss = step(params, state, place(x), place(y))
        count = count + 1
        if count % options.log == 0 then np.printf("step %5d  loss %.9g\n", count, loss) end
    end
    print(("epoch %d  test accuracy %.4f"):format(epoch, accuracy(params)))
    if options.save then
        np.io.save_checkpoint(options.save, { params = params, state = state, epoch = epoch })
    end
end
