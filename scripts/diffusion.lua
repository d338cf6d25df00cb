--- diffusion.lua: trains a network to take noise away from images, and so to draw new ones.
--
--     neap scripts/diffusion.lua [options]                  --help lists them
--     neap --devices 2 scripts/diffusion.lua [options]      each batch divided over two devices
--     mpirun -n 2 neap scripts/diffusion.lua [options]      the same over two processes
--
-- An image x becomes z = a x + s noise, with a = cos(π t / 2) and s = sin(π t / 2) for a time t from 0, the image, to
-- 1, noise alone. The network sees z, t and what the image shows, and says v = a noise - s x (Salimans and Ho, 2022),
-- from which the image follows: x = a z - s v. Drawing goes from noise back in some steps (Song, Meng and Ermon, 2021),
-- led away from what the network says without a label (Ho and Salimans, 2022). The same seed gives the same bits.
-- docs/training-diffusion.md goes through it.
local np = require "neap"
local nn, P = np.nn, np.P

local options, fail = np.argparse(arg, {
    "Trains a network to take noise away from images, and draws new images with it.",
    { "data", "fashion", "fashion; shapes, drawn by the script; or a folder with the files of Fashion-MNIST" },
    { "steps", 3000, "training steps", min = 0 },
    { "batch", 64, "images of one step", min = 1 },
    { "width", 32, "features of the outermost layers, a multiple of 8", min = 8 },
    { "lr", 0.002, "highest learning rate; it rises over 5 % of the steps, then falls as a cosine", min = 0 },
    { "every", 500, "steps between a look at the loss of test images, a checkpoint, and new pictures", min = 1 },
    { "turns", 40, "steps from noise to an image", min = 1 },
    { "guidance", 1.5, "how far an image is led to its label; 1 is not at all", min = 0 },
    { "seed", 0, "of parameters, order and noise", min = 0 },
    { "checkpoint", nil, "folder in which parameters are saved" },
    { "resume", false, "goes on from the checkpoint" },
    { "plot", nil, "file of a picture (.svg, .png) of the loss" },
    { "draw", nil, "file (.png) of the images that the network draws: a column for each class" },
})

if options.resume and not options.checkpoint then fail "--resume needs --checkpoint FOLDER" end
if options.width % 8 ~= 0 then fail("--width must be a multiple of 8, got %d", options.width) end

local devices = #np.devices()
local mesh = np.mesh({ devices }, { "data" })
if options.batch % devices ~= 0 then fail("a batch of %d cannot be divided by %d devices", options.batch, devices) end

-- ---- Data -----------------------------------------------------------------------------------------------------------

local images, labels, names, test_images, test_labels
if options.data == "shapes" then
    local keys = np.random.split(np.random.key(options.seed + 1), 2)
    images, labels, names = np.data.shapes(keys[0], 2000)
    test_images, test_labels = np.data.shapes(keys[1], 200)
else
    local where = options.data ~= "fashion" and { path = options.data } or nil
    images, labels, names = np.data.fashion_mnist("train", where)
    test_images, test_labels = np.data.fashion_mnist("test", where)
end
local COUNT, HEIGHT, WIDTH = unpack(images.shape)
local CLASSES = #names
local NOTHING = CLASSES -- stands for a label that is not told
if COUNT < options.batch then fail("a batch of %d is more than the %d images", options.batch, COUNT) end

--- Pixels from -1 to 1.
local function scale(x) return x:astype "f32" / 127.5 - 1 end

-- ---- The network ----------------------------------------------------------------------------------------------------

-- A U: halves of the resolution on the way down, back on the way up, where what was seen on the way down joins in
-- (Ronneberger, Fischer and Brox, 2015). Time and label scale and shift the features of each layer.
local W = options.width
local GROUPS, ABOUT = 8, 64

--- A layer that keeps the resolution: two convolutions, added to what comes in.
local function residual(inputs, outputs)
    return nn.Block {
        conv1 = nn.Conv(inputs, outputs, { 3, 3 }), conv2 = nn.Conv(outputs, outputs, { 3, 3 }, { init = nn.zeros }),
        factors = nn.Dense(ABOUT, 2 * outputs, { init = nn.zeros }),
        skip = inputs ~= outputs and nn.Dense(inputs, outputs) or nil,
        forward = function(self, p, x, about)
            local factors = self.factors(p.factors, about):reshape(#x, 1, 1, 2, outputs)
            local y = self.conv1(p.conv1, nn.silu(nn.group_norm(x, GROUPS)))
            y = nn.group_norm(y, GROUPS) * (1 + factors[{ {}, {}, {}, 0 }]) + factors[{ {}, {}, {}, 1 }]
            return self.conv2(p.conv2, nn.silu(y)) + (self.skip and self.skip(p.skip, x) or x)
        end,
    }
end

local function half(x) return nn.avg_pool(x, { 2, 2 }) end

local function double(x)
    local n, height, width, features = unpack(x.shape)
    return np.broadcast_to(x:reshape(n, height, 1, width, 1, features), { n, height, 2, width, 2, features }):reshape(
        n, 2 * height, 2 * width, features)
end

local network = nn.Block {
    time = nn.Dense(ABOUT, ABOUT), label = nn.Embedding(CLASSES + 1, ABOUT), mix = nn.Dense(ABOUT, ABOUT),
    first = nn.Conv(4, W, { 3, 3 }), last = nn.Conv(W, 4, { 3, 3 }, { init = nn.zeros }),
    down1 = residual(W, W), down2 = residual(W, 2 * W), middle = residual(2 * W, 2 * W),
    up2 = residual(4 * W, 2 * W), up1 = residual(3 * W, W),
    forward = function(self, p, z, t, label)
        local cos, sin = nn.rotary_tables(t * 1000, ABOUT) -- waves of many lengths
        local about = self.time(p.time, np.concatenate({ cos, sin }, { axis = -1 }))
        about = nn.silu(self.mix(p.mix, nn.silu(about + self.label(p.label, label))))
        local x = self.first(p.first, nn.pixel_unshuffle(z, 2)) -- four pixels are four features
        local wide = self.down1(p.down1, x, about)
        local deep = self.down2(p.down2, half(wide), about)
        x = self.middle(p.middle, deep, about)
        x = self.up2(p.up2, np.concatenate({ x, deep }, { axis = -1 }), about)
        x = self.up1(p.up1, np.concatenate({ double(x), wide }, { axis = -1 }), about)
        return nn.pixel_shuffle(self.last(p.last, nn.silu(nn.group_norm(x, GROUPS))), 2)
    end,
}

-- ---- Training -------------------------------------------------------------------------------------------------------

local rate = np.optim.warmup(np.optim.cosine_decay(options.lr, math.max(options.steps, 1)),
                             math.ceil(options.steps / 20) + 1)
local optimizer, average = np.optim.adam { lr = rate }, np.optim.ema { decay = 0.99 }

--- a and s of times (n,), which broadcast to images.
local function amounts(t)
    local angle = t:reshape(-1, 1, 1, 1) * (math.pi / 2)
    return np.cos(angle), np.sin(angle)
end

--- The mean square of what v is said wrongly; one label in ten is not told.
local function loss_of(params, x, label, key)
    local keys = np.random.split(key, 3)
    local n = #x
    x = scale(x)
    local t = (np.random.uniform(keys[0], { 1 }) + np.arange(n) / n) % 1 -- spread evenly
    local a, s = amounts(t)
    local noise = np.random.normal(keys[1], x.shape)
    label = np.where(np.random.uniform(keys[2], { n }):lt(0.1), NOTHING, label)
    return np.square(network(params, a * x + s * noise, t, label) - (a * noise - s * x)):mean()
end

local step = np.jit(function(params, state, averaged, x, label, key)
    local loss, gradients = np.value_and_grad(loss_of)(params, x, label, key)
    params, state = optimizer:update(np.optim.clip_by_global_norm(gradients, 1), state, params)
    local mean
    mean, averaged = average:update(params, averaged)
    return params, state, averaged, mean, loss
end, { donate = { 1, 2, 3 } })

local evaluate = np.jit(loss_of)

local function divide(...)
    return unpack(np.device_put({ ... }, mesh, (...).shape[1] % devices == 0 and P "data" or P()))
end

--- The loss of the test images, with the same noise each time.
local function test_loss(params)
    local sum, batches = 0, 0
    for x, label in np.data.batches({ test_images, test_labels }, 100) do
        if batches == 20 then break end
        x, label = divide(x, label)
        sum, batches = sum + evaluate(params, x, label, np.random.key(batches)), batches + 1
    end
    return (sum / batches):item()
end

-- ---- Drawing --------------------------------------------------------------------------------------------------------

--- Images of labels, from noise.
local draw = np.jit(function(params, label, key)
    local n, turns = #label, options.turns
    local function v_at(z, t)
        local times = np.broadcast_to(t, { n })
        local nothing = np.full({ n }, NOTHING, { dtype = "i32" })
        local led, free = network(params, z, times, label), network(params, z, times, nothing)
        return free + options.guidance * (led - free)
    end
    local z = np.scan(function(z, k)
        local a, s = amounts(1 - k / turns)
        local next_a, next_s = amounts(1 - (k + 1) / turns)
        local v = v_at(z, 1 - k / turns)
        local x, noise = (a * z - s * v):clip(-1, 1), s * z + a * v
        return next_a * x + next_s * noise
    end, np.random.normal(key, { n, HEIGHT, WIDTH, 1 }), np.arange(turns) / 1)
    return np.round((z + 1) * 127.5):clip(0, 255):astype "u8"
end)

--- Saves a picture of eight images of each class, a column for a class.
local function save_drawn(params, key)
    local ROWS = 8
    local drawn = draw(params, np.arange(ROWS * CLASSES) % CLASSES, key):reshape(ROWS, CLASSES, HEIGHT, WIDTH)
    np.io.save_image(options.draw, np.permute_dims(drawn, { 0, 2, 1, 3 }):reshape(ROWS * HEIGHT, CLASSES * WIDTH))
end

-- ---- The run --------------------------------------------------------------------------------------------------------

local keys = np.random.split(np.random.key(options.seed), 4) -- of parameters, order, noise, drawn images
local params = np.device_put(network:init(keys[0]), mesh, P())
local state = np.device_put(optimizer:init(params), mesh, P())
local averaged = np.device_put(average:init(params), mesh, P())
local saved = { step = 0, steps = {}, losses = {}, test = {} }
if options.resume then
    saved = np.io.load_checkpoint(options.checkpoint, { like = { params = params, state = state, averaged = averaged,
                                                                 seed = options.seed } })
    params, state, averaged = saved.params, saved.state, saved.averaged
    print(("resuming after step %d of %s"):format(saved.step, options.checkpoint))
end
print(("%d images of %dx%d, %d classes; %d parameters"):format(COUNT, HEIGHT, WIDTH, CLASSES, np.tree.size(params)))

--- Batches without end, from a step on; each pass has an order of its own.
local function batches_from(first)
    local per_pass = math.floor(COUNT / options.batch)
    local number, order = first - 1, nil
    return function()
        number = number + 1
        local pass, place = math.floor((number - 1) / per_pass), (number - 1) % per_pass
        if not order or place == 0 then order = np.random.permutation(np.random.fold_in(keys[1], pass), COUNT) end
        local picks = order[{ { place * options.batch, (place + 1) * options.batch } }]
        return number, images:take(picks, { axis = 0 }), labels:take(picks)
    end
end

local steps, losses, test = saved.steps, saved.losses, saved.test
local next_batch = np.data.prefetch(batches_from(saved.step + 1))
local bar = np.progress(options.steps - saved.step, { desc = "training", leave = false })
local sum, since = 0, 0
for _ in bar do
    local number, x, label = next_batch()
    x, label = divide(x, label)
    local mean, loss
    params, state, averaged, mean, loss = step(params, state, averaged, x, label, np.random.fold_in(keys[2], number))
    sum, since = sum + loss, since + 1
    if number % 8 == 0 then bar:set_postfix { loss = np.wait(loss) } end -- waits, so as not to run far ahead
    if number % options.every == 0 or number == options.steps then
        local place = #steps + 1
        steps[place], losses[place], test[place] = number, (sum / since):item(), test_loss(mean)
        print(("step %5d  loss: training %.5f, test %.5f"):format(number, losses[place], test[place]))
        sum, since = 0, 0
        if options.checkpoint then
            np.io.save_checkpoint(options.checkpoint, { params = params, state = state, averaged = averaged,
                                                        step = number, steps = steps, losses = losses, test = test,
                                                        seed = options.seed })
        end
        if options.plot and np.process_index() == 0 then
            np.plot.figure():line(steps, losses, { label = "training" }):line(steps, test, { label = "test" }):xlabel(
                "step"):ylabel("loss"):legend():save(options.plot)
        end
        if options.draw then save_drawn(mean, keys[3]) end
    end
end
