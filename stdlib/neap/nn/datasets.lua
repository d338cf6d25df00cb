--- datasets.lua: np.data: data to try things with: drawn by a key, or of a package.
local core = require "neap.core"
local files = require "neap.files"

local np = core.np
local raise, options = core.raise, core.options

local FASHION = { package = "dataset-fashion-mnist", folder = "/usr/share/datasets/fashion-mnist",
                  parts = { train = "train", test = "t10k" } }
local CLOTHES = { "T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot" }
local KINDS = { "square", "disc", "cross", "diamond" }
local SMALLEST = 12 -- pixels of an image with a shape

return function(data)
    --- np.data.moons(key, n, {noise=0.1}) -> x, labels: n points of two interleaved half circles: x of shape (n, 2),
    -- f32, and labels 0 and 1, i32, of shape (n,).
    --- noise: the standard deviation of what is added to the points
    --- > x, labels = np.data.moons(np.random.key(0), 4)
    --- > labels
    -- [0 1 0 1]
    function data.moons(key, n, given)
        n = core.integer("data.moons", 2, "n", n, 1)
        local noise = options("data.moons", given, { noise = true }).noise or 0.1
        local keys = np.random.split(key, 2)
        local labels = np.astype(np.remainder(np.arange(n), 2), "i32")
        local angle = np.random.uniform(keys[0], { n }) * math.pi
        local upper = np.equal(labels, 0)
        local x = np.where(upper, np.cos(angle), 1 - np.cos(angle))
        local y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
        return np.stack({ x, y }, { axis = 1 }) + np.random.normal(keys[1], { n, 2 }) * noise, labels
    end

    --- np.data.shapes(key, n, {size=16, noise=0.4}) -> images, labels, names: n pictures, each of a square, a disc, a
    -- cross or a diamond somewhere: u8 of shape (n, size, size, 1); labels from 0, i32, of shape (n,); and the names of
    -- the four kinds.
    --- size: pixels of a side, from 12
    --- noise: the share of what is random in a pixel, from 0 to 1
    --- > images, labels, names = np.data.shapes(np.random.key(0), 5)
    --- > images.shape[2], labels, names[1]
    -- 16
    -- [0 1 2 3 0]
    -- square
    function data.shapes(key, n, given)
        local name = "data.shapes"
        n = core.integer(name, 2, "n", n, 1)
        local o = options(name, given, { size = true, noise = true })
        local size = core.integer(name, nil, "size", o.size == nil and 16 or o.size, SMALLEST)
        local noise = o.noise == nil and 0.4 or core.plain(o.noise)
        if type(noise) ~= "number" or not (noise >= 0 and noise <= 1) then
            core.bad_argument(name, nil, "noise", "a number from 0 to 1", noise)
        end
        local keys = np.random.split(key, 3)
        local centre = (np.random.uniform(keys[0], { 2, n, 1, 1 }) + 1.5) * (size / 4)
        local radius = (np.random.uniform(keys[1], { n, 1, 1 }) + 1.4) * (size / 6)
        local x, y = np.abs(np.arange(size) - centre[0]), np.abs(np.expand_dims(np.arange(size), 1) - centre[1])
        local far, near = np.maximum(x, y), np.minimum(x, y)
        local shapes = { np.less(far, radius), np.less(np.hypot(x, y), radius),
                         np.logical_and(np.less(far, radius), np.less(near, radius / 3)), np.less(x + y, radius) }
        local labels = np.astype(np.remainder(np.arange(n), #KINDS), "i32")
        local kind, inside = np.reshape(labels, n, 1, 1), shapes[1]
        for k = 2, #KINDS do inside = np.where(np.equal(kind, k - 1), shapes[k], inside) end
        local grain = np.random.uniform(keys[2], { n, size, size })
        local pixels = np.floor((inside * (1 - noise) + grain * noise) * 255)
        return np.expand_dims(np.astype(pixels, "u8"), -1), labels, core.copy_list(KINDS)
    end

    --- np.data.fashion_mnist(part, {path=…}) -> images, labels, names: the images of clothes of Fashion-MNIST (Xiao,
    -- Rasul and Vollgraf, 2017), 60,000 of part "train" or 10,000 of part "test": u8 of shape (n, 28, 28, 1); labels
    -- from 0, i32, of shape (n,); and the names of the ten classes. Debian has them as the package
    -- dataset-fashion-mnist.
    --- path: the folder with the files train-images-idx3-ubyte.gz and so on; that of the package without it
    --- > (pcall(np.data.fashion_mnist, "train", {path="/nowhere"}))
    -- false
    function data.fashion_mnist(part, given)
        local name = "data.fashion_mnist"
        local prefix = FASHION.parts[part]
        if not prefix then core.bad_argument(name, 1, "part", '"train" or "test"', part) end
        local o = options(name, given, { path = true })
        local folder = o.path == nil and FASHION.folder or core.check_path(name, o.path, false)
        local function load(kind)
            local path = ("%s/%s-%s-ubyte.gz"):format(folder, prefix, kind)
            if not files.size(path) then
                raise(name, "there is no file '%s'; the package %s has it", path, FASHION.package)
            end
            return np.io.load_idx(path), path
        end
        local images, path = load "images-idx3"
        local labels = load "labels-idx1"
        if core.ndim(images) ~= 3 or core.ndim(labels) ~= 1 or #images ~= #labels then
            raise(name, "'%s' has an array of shape %s, and the labels one of shape %s; images and a label for each "
                  .. "are expected", path, core.shape_text(images), core.shape_text(labels))
        end
        return np.expand_dims(images, -1), np.astype(labels, "i32"), core.copy_list(CLOTHES)
    end
end
