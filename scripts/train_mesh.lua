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

local PACKAGE, FOLDER = "dataset-fashion-mnist", "/usr/share/datasets/fashion-mnist"
local MEAN, DEVIATION = 0.2860, 0.3530 -- of the pixels of the training images, as parts of 255

-- ---- Options --------------------------------------------------------------------------------------------------------

local options = { mesh = "", data = "fashion", epochs = 1, steps = math.huge, batch = 64, hidden = 256, lr = 1e-3,
                  seed = 0, log = 100, save = "", load = "" }
local USAGE = [[
usage: neap --devices N scripts/train_mesh.lua [options]
  --mesh DxM      devices along the axes "data" and "model" (all devices along "data")
  --data WHAT     fashion, moons, or a folder with the files of Fashion-MNIST (fashion)
  --epochs N      passes over the training data (1)
  --steps N       at most so many steps
  --batch N       examples of one step (64)
  --hidden N      width of the hidden layer (256)
  --lr X          learning rate of Adam (0.001)
  --seed N        of parameters and order of examples (0)
  --log N         steps between lines (100)
  --save FOLDER   checkpoint that is written after each epoch
  --load FOLDER   checkpoint that training goes on from, written on any mesh]]

local function fail(status, ...)
    if np.process_index() == 0 then io.stderr:write("train_mesh: ", string.format(...), "\n") end
    os.exit(status)
end

for k = 1, #arg, 2 do
    local name, value = arg[k]:match "^%-%-(%a+)$", arg[k + 1]
    local number = type(options[name]) == "number"
    if number then value = tonumber(value) end
    if not name or options[name] == nil or not value or (number and name ~= "lr" and (value < 0 or value % 1 ~= 0)) then
        fail(2, "cannot understand '%s'\n%s", arg[k], USAGE)
    end
    options[name] = value
end

-- ---- The mesh, and how arrays lie on it -----------------------------------------------------------------------------

local devices = #np.devices()
local rows, columns = options.mesh:match "^(%d+)x(%d+)$"
rows, columns = tonumber(rows or devices), tonumber(columns or 1)
if rows * columns ~= devices or (options.mesh ~= "" and not options.mesh:find "^%d+x%d+$") then
    fail(2, "--mesh %s is no mesh of %d devices, such as %dx1", options.mesh, devices, devices)
end
if options.batch % rows ~= 0 or options.hidden % columns ~= 0 then
    fail(2, "%d examples of a step and a hidden layer of %d cannot be divided by a mesh of %dx%d", options.batch,
         options.hidden, rows, columns)
end
local mesh = np.mesh({ rows, columns }, { "data", "model" })

local SPECS = { w1 = P(nil, "model"), b1 = P "model", w2 = P("model", nil), b2 = P() }

-- ---- Data -----------------------------------------------------------------------------------------------------------

--- Examples x and labels y of one part ("train" or "t10k") of Fashion-MNIST.
local function load_part(folder, part)
    local function path(kind) return ("%s/%s-%s-ubyte.gz"):format(folder, part, kind) end
    local file = io.open(path "images-idx3", "rb")
    if not file then
        fail(1, "there is no %s; install the package %s, or try --data moons", path "images-idx3", PACKAGE)
    end
    file:close()
    local images = np.io.load_idx(path "images-idx3")
    return { images:reshape(#images, -1), np.io.load_idx(path "labels-idx1") }
end

local function load_data()
    if options.data == "moons" then
        local keys = np.random.split(np.random.key(options.seed + 1), 2)
        return { train = { np.data.moons(keys[0], 2048) }, test = { np.data.moons(keys[1], 512) }, classes = 2,
                 scale = function(x) return x end }
    end
    local folder = options.data == "fashion" and FOLDER or options.data
    return { train = load_part(folder, "train"), test = load_part(folder, "t10k"), classes = 10,
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
if options.load ~= "" then
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
    if options.save ~= "" then
        np.io.save_checkpoint(options.save, { params = params, state = state, epoch = epoch })
    end
end
