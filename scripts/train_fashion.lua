--- train_fashion.lua: trains a multilayer perceptron on the 60,000 images of Fashion-MNIST.
--
--     neap scripts/train_fashion.lua [options]
--
-- The images are those of Debian's package dataset-fashion-mnist; `--data moons` trains on points that it makes itself.
-- The same seed gives the same final loss to the last bit, on any number of worker threads, and also when training was
-- interrupted and resumed.
local np = require "neap"
local ffi = require "ffi"

local USAGE = [[
usage: neap scripts/train_fashion.lua [options]
  --epochs N         passes over the training data (5)
  --batch N          examples of one step (64)
  --lr X             learning rate of Adam in the first epoch (0.001); each later one has 0.7 times the last
  --devices N        parts into which each batch is cut, worked on at the same time (1)
  --seed N           of parameters and order of examples (0)
  --data WHAT        fashion, moons, or a folder with the files of Fashion-MNIST (fashion)
  --checkpoint FILE  where parameters are saved after each epoch (nowhere)
  --resume [FILE]    continue from the checkpoint, and save there
  --help]]

local DECAY = 0.7 -- of the learning rate from epoch to epoch
local MEAN, DEVIATION = 0.2860, 0.3530 -- of the pixels of the training images, as parts of 255
local PACKAGE, FOLDER = "dataset-fashion-mnist", "/usr/share/datasets/fashion-mnist"

-- ---- Options --------------------------------------------------------------------------------------------------------

local function fail(...)
    io.stderr:write("train_fashion: ", string.format(...), "\n")
    os.exit(1)
end

local function usage_error(...)
    io.stderr:write("train_fashion: ", string.format(...), "\n", USAGE, "\n")
    os.exit(2)
end

--- The options of the command line. Numbers are checked by `low`, and to be whole unless `real`.
local function parse(arguments)
    local options = { epochs = 5, batch = 64, lr = 0.001, devices = 1, seed = 0, data = "fashion",
                      checkpoint = false }
    local numbers = { epochs = { low = 1 }, batch = { low = 1 }, lr = { low = 0, real = true }, devices = { low = 1 },
                      seed = { low = 0 } }
    local k = 1
    while k <= #arguments do
        local name, value = arguments[k]:match("^%-%-(%a+)=?(.*)$")
        if not name then usage_error("cannot understand '%s'", arguments[k]) end
        if name == "help" then
            print(USAGE)
            os.exit(0)
        end
        if options[name] == nil and name ~= "resume" then usage_error("unknown option '--%s'", name) end
        if value == "" and arguments[k + 1] and not arguments[k + 1]:find("^%-%-") then
            k = k + 1
            value = arguments[k]
        end
        if name == "resume" then
            options.resume = true
            if value ~= "" then options.checkpoint = value end
        elseif value == "" then
            usage_error("option '--%s' needs a value", name)
        elseif numbers[name] then
            local number, rule = tonumber(value), numbers[name]
            if not number or number < rule.low or number ~= number or (not rule.real and number % 1 ~= 0) then
                usage_error("option '--%s' must be %s from %g up, got '%s'", name, rule.real and "a number"
                            or "an integer", rule.low, value)
            end
            options[name] = number
        else
            options[name] = value
        end
        k = k + 1
    end
    if options.resume and not options.checkpoint then
        usage_error("option '--resume' needs a file, or --checkpoint FILE")
    end
    if options.batch % options.devices ~= 0 then
        usage_error("a batch of %d cannot be cut into %d equal parts", options.batch, options.devices)
    end
    return options
end

-- ---- Data -----------------------------------------------------------------------------------------------------------

--- The images (n, 784) and labels (n,) of one part ("train" or "t10k") of Fashion-MNIST.
local function load_part(folder, part)
    local function path(kind) return ("%s/%s-%s-ubyte.gz"):format(folder, part, kind) end
    for _, kind in ipairs { "images-idx3", "labels-idx1" } do
        local file = io.open(path(kind), "rb")
        if not file then
            fail("there is no %s; install the package %s (apt install %s), or try --data moons", path(kind), PACKAGE,
                 PACKAGE)
        end
        file:close()
    end
    local images, labels = np.io.load_idx(path("images-idx3")), np.io.load_idx(path("labels-idx1"))
    if images.ndim ~= 3 or labels.ndim ~= 1 or #images ~= #labels then
        fail("%s does not hold images and their labels", folder)
    end
    return images:reshape(#images, -1), labels
end

--- { train = { x, y }, test = { x, y }, classes, widths of the hidden layers, scale(x) = what the network sees }.
local function load_data(options)
    if options.data == "moons" then
        local keys = np.random.split(np.random.key(options.seed + 1), 2)
        local function as_is(x) return x end
        return { train = { np.data.moons(keys[0], 2000) }, test = { np.data.moons(keys[1], 500) }, classes = 2,
                 widths = { 32, 32 }, scale = as_is, what = "points" }
    end
    local folder = options.data == "fashion" and FOLDER or options.data
    local function scale(x) return (x:astype("f32") / 255 - MEAN) / DEVIATION end
    return { train = { load_part(folder, "train") }, test = { load_part(folder, "t10k") }, classes = 10,
             widths = { 256 }, scale = scale, what = "images" }
end

-- ---- The model ------------------------------------------------------------------------------------------------------

local function make_model(data)
    local layers, width = {}, data.train[1].shape[2]
    for _, next_width in ipairs(data.widths) do
        layers[#layers + 1] = np.nn.Dense(width, next_width, { init = np.nn.he_normal })
        layers[#layers + 1] = np.nn.relu
        width = next_width
    end
    layers[#layers + 1] = np.nn.Dense(width, data.classes)
    return np.nn.Sequential(layers)
end

--- One step of training, as one program: (params, state, x, y, lr) → params, state, loss. Each of `parts` parts of the
-- batch has its own gradient; they are added in order.
local function make_step(model, data, optimizer, parts)
    local gradient = np.value_and_grad(function(params, x, y)
        return np.nn.cross_entropy(model(params, data.scale(x)), y)
    end)
    return np.jit(function(params, state, x, y, lr)
        local size = #x
        local cuts = math.min(parts, size)
        local loss, grads
        for k = 1, cuts do
            local from, to = math.floor((k - 1) * size / cuts), math.floor(k * size / cuts)
            local rows, share = { { from, to } }, (to - from) / size
            local part_loss, part_grads = gradient(params, x[rows], y[rows])
            part_loss, part_grads = part_loss * share, np.tree.map(function(g) return g * share end, part_grads)
            loss = loss and loss + part_loss or part_loss
            grads = grads and np.tree.map(function(a, b) return a + b end, grads, part_grads) or part_grads
        end
        params, state = optimizer:update(grads, state, params, lr)
        return params, state, loss
    end)
end

--- The fraction of the examples that the model classifies rightly.
local function make_accuracy(model, data)
    local count = np.jit(function(params, x, y)
        return model(params, data.scale(x)):argmax { axis = -1 }:eq(y):sum()
    end)
    return function(params, examples)
        local right = 0
        for x, y in np.data.batches(examples, 1000) do right = right + count(params, x, y) end
        return right:item() / #examples[2]
    end
end

-- ---- Progress -------------------------------------------------------------------------------------------------------

ffi.cdef "int isatty(int fd); typedef struct { long s, ns; } train_time; int clock_gettime(int clock, train_time *out);"
local on_terminal = ffi.C.isatty(1) == 1
local time_box = ffi.new("train_time")

local function now()
    ffi.C.clock_gettime(1, time_box)
    return tonumber(time_box.s) + tonumber(time_box.ns) * 1e-9
end

local BAR = 24
local REPORT_EVERY = 0.1 -- seconds between changes of the bar

--- What is shown of one epoch: a bar on a terminal, plain lines otherwise. Looking at the loss waits for it, which also
-- keeps the script from running far ahead.
local function make_progress(epoch, epochs, batches, batch)
    local start, shown = now(), 0
    local progress, sum = {}, 0

    function progress.step(k, loss)
        sum = sum + loss
        local time = now()
        if k % 16 ~= 0 and k < batches and time - shown < REPORT_EVERY then return end
        local value = loss:item()
        time = now()
        if not on_terminal or (k < batches and time - shown < REPORT_EVERY) then return end
        shown = time
        local rate = k * batch / (time - start)
        local filled = math.floor(BAR * k / batches)
        io.write(("\repoch %d/%d [%s%s] %3d%%  %6.0f/s  loss %.4f  ETA %ds \27[K"):format(
            epoch, epochs, ("#"):rep(filled), ("."):rep(BAR - filled), math.floor(100 * k / batches), rate, value,
            math.ceil((batches - k) * batch / rate)))
    end

    --- Ends the epoch's line: mean loss over the batches, accuracy on the test data.
    function progress.finish(accuracy)
        local seconds = now() - start
        local mean = (sum / batches):item()
        io.write(("%sepoch %d/%d  loss %.6f  test accuracy %.4f  %.1f s  %.0f/s\n"):format(
            on_terminal and "\r\27[K" or "", epoch, epochs, mean, accuracy, seconds, batches * batch / seconds))
        return mean
    end

    return progress
end

-- ---- Training -------------------------------------------------------------------------------------------------------

--- Parameters, optimizer state and the number of finished epochs of a checkpoint, which must belong to this training.
local function resume(options, params)
    local saved = np.io.load_tree(options.checkpoint)
    local fits = type(saved.params) == "table" and type(saved.state) == "table" and type(saved.epoch) == "number"
        and pcall(np.tree.map, function(a, b) assert(np.array_equal(np.array(a.shape), np.array(b.shape))) end, params,
                  saved.params)
    if not fits then fail("'%s' is no checkpoint of this model", options.checkpoint) end
    if saved.seed ~= options.seed then
        fail("'%s' was trained with --seed %d, not %d", options.checkpoint, saved.seed, options.seed)
    end
    print(("resuming after epoch %d of %s"):format(saved.epoch, options.checkpoint))
    return saved.params, saved.state, saved.epoch
end

local function main(options)
    local data = load_data(options)
    local n = #data.train[2]
    print(("training %s: %d"):format(data.what, n))
    print(("test %s: %d"):format(data.what, #data.test[2]))
    print(("checksum: %s %s"):format(np.io.checksum(data.train[1]), np.io.checksum(data.train[2])))

    local model, optimizer = make_model(data), np.optim.adam { lr = options.lr }
    local key = np.random.key(options.seed)
    local params = model:init(key)
    local state, done = optimizer:init(params), 0
    if options.resume then params, state, done = resume(options, params) end
    print(("parameters: %d"):format(np.tree.size(params)))

    local step, accuracy_of = make_step(model, data, optimizer, options.devices), make_accuracy(model, data)
    local batches = np.data.count(n, options.batch)
    local loss, accuracy
    for epoch = done + 1, options.epochs do
        local progress, k = make_progress(epoch, options.epochs, batches, options.batch), 0
        local lr = options.lr * DECAY ^ (epoch - 1)
        for x, y in np.data.batches(data.train, options.batch, { key = np.random.fold_in(key, epoch) }) do
            params, state, loss = step(params, state, x, y, lr)
            k = k + 1
            progress.step(k, loss)
        end
        accuracy = accuracy_of(params, data.test)
        progress.finish(accuracy)
        if options.checkpoint then
            np.io.save_tree(options.checkpoint, { params = params, state = state, epoch = epoch, seed = options.seed })
        end
    end
    if loss then print(("final loss: %.17g"):format(loss:item())) end
    print(("test accuracy: %.4f"):format(accuracy or accuracy_of(params, data.test)))
end

main(parse(arg))
