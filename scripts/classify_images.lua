--- classify_images.lua: trains a network to tell what is on images.
--
--     neap scripts/classify_images.lua [options]                  --help lists them
--     neap --devices 2 scripts/classify_images.lua [options]      each batch divided over two devices
--     mpirun -n 2 neap scripts/classify_images.lua [options]      the same over two processes
--
-- The images are those of Fashion-MNIST (Debian's package dataset-fashion-mnist), shapes that the script draws itself,
-- or those of a folder. The same seed gives the same final loss to the last bit, on any number of worker threads, and
-- also when training was interrupted and resumed. docs/training-images.md goes through it.
local np = require "neap"
local nn, P = np.nn, np.P

local TEST_BATCH = 1000

local options, fail = np.argparse(arg, {
    "Trains a network to tell what is on images, and says how many of the test images it gets right.",
    { "data", "fashion", "fashion; shapes, drawn by the script; a folder with the files of Fashion-MNIST; or one with "
      .. "folders train and test, in which each class has a folder of PNG or JPEG files" },
    { "model", "cnn", "a network of convolutions, or of dense layers alone", choices = { "cnn", "mlp" } },
    { "epochs", 5, "passes over the training images", min = 1 },
    { "batch", 64, "images of one step", min = 1 },
    { "lr", 0.002, "highest learning rate of AdamW; it rises over 5 % of the steps, then falls as a cosine", min = 0 },
    { "smoothing", 0.1, "share of a label that all classes have", min = 0, max = 1 },
    { "move", true, "moves no images while training" },
    { "flip", true, "mirrors no images while training" },
    { "seed", 0, "of parameters, order and changes of images", min = 0 },
    { "checkpoint", nil, "folder in which parameters are saved after each epoch" },
    { "resume", false, "goes on from the checkpoint" },
    { "plot", nil, "file of a picture (.svg, .png): loss, accuracy, and which classes are taken for which" },
})

if options.resume and not options.checkpoint then fail "--resume needs --checkpoint FOLDER" end

-- ---- Devices --------------------------------------------------------------------------------------------------------

-- All parameters lie on every device, and the images of a batch are divided. What follows for gradients follows from
-- that alone: nothing below says it.
local devices = #np.devices()
local mesh = np.mesh({ devices }, { "data" })
if options.batch % devices ~= 0 then fail("a batch of %d cannot be divided by %d devices", options.batch, devices) end

local function divide(...)
    return unpack(np.device_put({ ... }, mesh, (...).shape[1] % devices == 0 and P "data" or P()))
end

-- ---- Data -----------------------------------------------------------------------------------------------------------

--- { train = { images, labels }, test = …, names = of the classes }; images are u8, (n, height, width, channels).
local function load_data()
    if options.data == "shapes" then
        local keys = np.random.split(np.random.key(options.seed + 1), 2)
        local images, labels, names = np.data.shapes(keys[0], 2000)
        local test, test_labels = np.data.shapes(keys[1], 500)
        return { train = { images, labels }, test = { test, test_labels }, names = names }
    end
    local folder = io.open(options.data .. "/train")
    if folder then
        folder:close()
        local images, labels, names = np.data.image_folder(options.data .. "/train")
        local _, height, width, channels = unpack(images.shape)
        local like = { size = { height, width }, channels = channels }
        local test, test_labels, test_names = np.data.image_folder(options.data .. "/test", like)
        if table.concat(test_names, "/") ~= table.concat(names, "/") then
            fail("%s: the folders in train and in test differ", options.data)
        end
        return { train = { images, labels }, test = { test, test_labels }, names = names }
    end
    local where = options.data ~= "fashion" and { path = options.data } or nil
    local images, labels, names = np.data.fashion_mnist("train", where)
    local test, test_labels = np.data.fashion_mnist("test", where)
    return { train = { images, labels }, test = { test, test_labels }, names = names }
end

local data = load_data()
local images, labels = unpack(data.train)
local count, height, width, channels = unpack(images.shape)
if count < options.batch then fail("a batch of %d is more than the %d training images", options.batch, count) end

-- Mean and deviation of the pixels of each channel.
local mean = images:astype("f32"):mean { axis = { 0, 1, 2 } }
local deviation = images:astype("f32"):std { axis = { 0, 1, 2 } } + 1e-3

-- ---- The model ------------------------------------------------------------------------------------------------------

local function make_model()
    local classes = #data.names
    if options.model == "mlp" then
        return nn.Sequential {
            nn.flatten,
            nn.Dense(height * width * channels, 256, { init = nn.he_normal }), nn.relu,
            nn.Dense(256, classes),
        }
    end
    local rows, columns = math.floor(math.floor(height / 2) / 2), math.floor(math.floor(width / 2) / 2)
    return nn.Sequential {
        nn.Conv(channels, 16, { 3, 3 }, { init = nn.he_normal }), nn.relu, nn.MaxPool { 2, 2 },
        nn.Conv(16, 32, { 3, 3 }, { init = nn.he_normal }), nn.relu, nn.MaxPool { 2, 2 },
        nn.flatten, nn.Dropout(0.25),
        nn.Dense(rows * columns * 32, 128, { init = nn.he_normal }), nn.relu,
        nn.Dense(128, classes),
    }
end

local model = make_model()

local function scores_of(params, x, key)
    return model(params, (x:astype "f32" - mean) / deviation, key)
end

--- Each image moved by up to two pixels, and mirrored or not.
local function augment(x, key)
    local keys = np.random.split(key, 2)
    if options.flip then x = np.data.random_flip(keys[0], x) end
    if options.move then x = np.data.random_crop(keys[1], x, { height, width }, { padding = 2 }) end
    return x
end

-- ---- Training -------------------------------------------------------------------------------------------------------

local per_epoch = np.data.count(count, options.batch, { drop_last = true })
local steps = per_epoch * options.epochs
local rate = np.optim.warmup(np.optim.cosine_decay(options.lr, steps), math.ceil(steps / 20))
local optimizer = np.optim.adamw { lr = rate, weight_decay = 0.01 }

local step = np.jit(function(params, state, x, y, key)
    local keys = np.random.split(key, 2)
    local loss, gradients = np.value_and_grad(function(p)
        return nn.cross_entropy(scores_of(p, augment(x, keys[0]), keys[1]), y, { label_smoothing = options.smoothing })
    end)(params)
    params, state = optimizer:update(gradients, state, params)
    return params, state, loss
end, { donate = { 1, 2 } })

local classify = np.jit(function(params, x) return scores_of(params, x):argmax { axis = -1 } end)

--- counts (classes, classes) of the test images: row: what they show, column: what they are taken for.
local function confusion(params)
    local classes = #data.names
    local counts = np.zeros({ classes * classes }, { dtype = "i32" })
    for x, y in np.data.batches(data.test, TEST_BATCH) do
        counts = counts + np.bincount(y * classes + classify(params, (divide(x))), { length = classes * classes })
    end
    return counts:reshape(classes, classes)
end

--- Loss and accuracy by epoch, and the confusion after the last one.
local function draw(losses, accuracies, counts)
    local figure, axes = np.plot.subplots(1, 3, { figsize = { 12, 3.6 } })
    axes[1]:line(np.arange(1, #losses + 1), losses, { marker = "o" }):title "training loss":xlabel "epoch"
    axes[2]:line(np.arange(1, #accuracies + 1), accuracies, { marker = "o" }):title "test accuracy":xlabel "epoch"
    axes[3]:heatmap(counts):title "is (rows), taken for":xticks(np.arange(#data.names), data.names)
    axes[3]:yticks(np.arange(#data.names), data.names)
    figure:save(options.plot)
end

local key = np.random.key(options.seed)
local params = np.device_put(model:init(key), mesh, P())
local state = np.device_put(optimizer:init(params), mesh, P())
local saved = { epoch = 0, losses = {}, accuracies = {} }
if options.resume then
    saved = np.io.load_checkpoint(options.checkpoint, { like = { params = params, state = state,
                                                                 seed = options.seed } })
    params, state = saved.params, saved.state
    print(("resuming after epoch %d of %s"):format(saved.epoch, options.checkpoint))
end
local losses, accuracies = saved.losses, saved.accuracies
print(("%d images of %dx%d for training, %d for testing; %d classes; %d parameters"):format(
    count, height, width, #data.test[2], #data.names, np.tree.size(params)))

local loss
for epoch = saved.epoch + 1, options.epochs do
    local epoch_key, sum = np.random.fold_in(key, epoch), 0
    local batches = np.data.batches({ images, labels }, options.batch, { key = epoch_key, drop_last = true })
    local bar = np.progress(np.data.prefetch(batches), { total = per_epoch, desc = "epoch " .. epoch, leave = false })
    local k = 0
    for x, y in bar do
        k = k + 1
        x, y = divide(x, y)
        params, state, loss = step(params, state, x, y, np.random.fold_in(epoch_key, k))
        sum = sum + loss
        if k % 16 == 0 then bar:set_postfix { loss = np.wait(loss) } end -- waits, so as not to run far ahead
    end
    local counts = confusion(params)
    losses[epoch] = (sum / per_epoch):item()
    accuracies[epoch] = (np.linalg.trace(counts) / #data.test[2]):item()
    print(("epoch %d/%d  loss %.6f  test accuracy %.4f"):format(epoch, options.epochs, losses[epoch],
                                                                accuracies[epoch]))
    if options.checkpoint then
        np.io.save_checkpoint(options.checkpoint, { params = params, state = state, epoch = epoch, losses = losses,
                                                    accuracies = accuracies, seed = options.seed })
    end
    if options.plot and np.process_index() == 0 then draw(losses, accuracies, counts) end
end
if loss then print(("final loss: %.17g"):format(loss:item())) end
print(("test accuracy: %.4f"):format(accuracies[#accuracies]))
