--- augment.lua: np.data: images from folders, and what changes them at random.
local core = require "neap.core"
local files = require "neap.files"

local np = core.np
local raise = core.raise

local SUFFIXES = { png = true, jpg = true, jpeg = true }

return function(data)
    -- ---- Folders ----------------------------------------------------------------------------------------------------

    local function sorted_names(folder)
        local names = files.names(folder)
        table.sort(names)
        return names
    end

    --- The images in a folder whose folders are classes: a list of { path, class, from 0 }, and the names of classes.
    local function images_in(name, folder)
        local list, classes = {}, {}
        for _, class in ipairs(sorted_names(folder)) do
            local number = #classes
            for _, file in ipairs(sorted_names(folder .. "/" .. class)) do
                if SUFFIXES[(file:match "%.(%w+)$" or ""):lower()] then
                    classes[number + 1] = class
                    list[#list + 1] = { folder .. "/" .. class .. "/" .. file, number }
                end
            end
        end
        if #list == 0 then
            raise(name, "'%s' has no folders with PNG or JPEG files: the images of a class are in a folder of its name",
                  folder)
        end
        return list, classes
    end

    --- Pixels (height, width, channels) with so many channels: gray ones are repeated, opacity is left out.
    local function with_channels(name, path, pixels, channels)
        if core.ndim(pixels) == 2 then pixels = np.expand_dims(pixels, -1) end
        local has = core.shape_of(pixels)[3]
        if has == 2 or has == 4 then
            has = has - 1
            pixels = np.take(pixels, np.arange(has), { axis = -1 })
        end
        if has == channels then return pixels end
        if has == 1 then return np.repeat_(pixels, channels, { axis = -1 }) end
        raise(name, "'%s' has %d channels, option 'channels' asks for %d", path, has, channels)
    end

    --- np.data.image_folder(path, {size=…, channels=3}) -> images, labels, names: the PNG and JPEG files in the folders
    -- of a folder, each of which is a class: images of shape (n, height, width, channels), u8, in the order of the
    -- names of folders and files; labels i32 from 0, of shape (n,); and a table of the folders' names. A bar shows
    -- progress.
    --- size: {height, width} of all images, which are resized (linear); nil: that of the files, which is the same
    --- channels: 3, or 1 if all files are gray; opacity is left out
    --- > os.execute "mkdir -p shapes/bar shapes/dot"
    -- 0
    --- > np.io.save_image("shapes/dot/1.png", np.ones({2, 2}, {dtype="u8"}))
    --- > np.io.save_image("shapes/bar/1.png", np.zeros({2, 2}, {dtype="u8"}))
    --- > images, labels, names = np.data.image_folder("shapes", {channels=1})
    --- > images[{{}, 0, 0, 0}], labels, names[2]
    -- [0 1]
    -- [0 1]
    -- dot
    function data.image_folder(folder, given)
        local name = "data.image_folder"
        if type(folder) ~= "string" then core.bad_argument(name, 1, "path", "a path", folder) end
        local options = core.options(name, given, { size = true, channels = true })
        local channels = core.integer(name, nil, "channels", options.channels == nil and 3 or options.channels, 1)
        local size = options.size
        if size ~= nil and type(size) ~= "table" then core.bad_argument(name, nil, "size", "{height, width}", size) end
        size = size and core.integers(name, nil, "size", size, 1)
        if size and #size ~= 2 then raise(name, "option 'size' must be {height, width}, got %d sizes", #size) end
        local list, classes = images_in(name, folder)
        local images, labels = {}, {}
        for k, pair in np.progress(list, { desc = "images", leave = false }) do
            local path = pair[1]
            local pixels = with_channels(name, path, np.io.load_image(path), channels)
            if core.dtype_of(pixels).name == "u16" then pixels = np.astype(pixels / 257, "u8") end
            local dims = core.shape_of(pixels)
            if size and (dims[1] ~= size[1] or dims[2] ~= size[2]) then
                local resized = np.nn.resize(pixels, { size[1], size[2], channels }, "linear")
                pixels = np.astype(np.clip(np.round(resized), 0, 255), "u8")
            elseif not size and k > 1 and (dims[1] ~= #images[1] or dims[2] ~= core.shape_of(images[1])[2]) then
                raise(name, "'%s' has %d x %d pixels, '%s' has others; give option 'size'", path, dims[1], dims[2],
                      list[1][1])
            end
            images[k], labels[k] = pixels, pair[2]
        end
        return np.stack(images, { axis = 0 }), np.array(labels, { dtype = "i32" }), classes
    end

    -- ---- Changes at random ------------------------------------------------------------------------------------------

    --- Images (n, height, width, channels) or (n, height, width).
    local function images_of(name, x)
        x = core.coerce(name, 2, x)
        if core.ndim(x) ~= 3 and core.ndim(x) ~= 4 then
            core.bad_argument(name, 2, "x", "images of shape (n, height, width) or (n, height, width, channels)", x)
        end
        return x, core.shape_of(x)
    end

    --- np.data.random_flip(key, x, {p=0.5, vertical=false}) -> array: images (n, height, width, channels), or without
    -- channels, each mirrored from left to right with probability p.
    --- p: the probability of an image to be mirrored
    --- vertical: true: from top to bottom
    --- > np.data.random_flip(np.random.key(0), np.arange(4):reshape(1, 2, 2), {p=1})
    -- [[[1 0]
    --   [3 2]]]
    function data.random_flip(key, x, given)
        local name = "data.random_flip"
        local dims
        x, dims = images_of(name, x)
        local options = core.options(name, given, { p = true, vertical = true })
        local p = options.p == nil and 0.5 or core.plain(options.p)
        if type(p) ~= "number" or p < 0 or p > 1 then core.bad_argument(name, nil, "p", "a number from 0 to 1", p) end
        local flips, ones = np.random.bernoulli(key, p, { dims[1] }), { dims[1] }
        for k = 2, #dims do ones[k] = 1 end
        return np.where(np.reshape(flips, ones), np.flip(x, { axis = options.vertical and 1 or 2 }), x)
    end

    --- np.data.random_crop(key, x, {height, width}, {padding=0}) -> array: of each image (n, height, width, channels),
    -- or without channels, a part of this size at a random place, of the image with so many zeros around it.
    --- padding: zeros around an image
    --- > np.data.random_crop(np.random.key(0), np.ones{1, 2, 2}, {2, 2}, {padding=1}).shape[2]
    -- 2
    function data.random_crop(key, x, size, given)
        local name = "data.random_crop"
        local dims
        x, dims = images_of(name, x)
        if type(size) ~= "table" then core.bad_argument(name, 3, "size", "{height, width}", size) end
        size = core.integers(name, 3, "size", size, 1)
        if #size ~= 2 then raise(name, "argument 3 (size) must be {height, width}, got %d sizes", #size) end
        local options = core.options(name, given, { padding = true })
        local padding = core.integer(name, nil, "padding", options.padding == nil and 0 or options.padding, 0)
        local widths, index = { { 0, 0 }, { padding, padding }, { padding, padding }, { 0, 0 } }, {}
        widths[#dims + 1] = nil
        local keys = np.random.split(key, 2)
        for k = 1, 2 do
            local most = dims[k + 1] + 2 * padding - size[k]
            if most < 0 then
                raise(name, "a part of %d pixels does not fit into %d", size[k], dims[k + 1] + 2 * padding)
            end
            local first = np.random.randint(keys[k - 1], { dims[1] }, 0, most + 1)
            index[k] = np.expand_dims(first, 1) + np.arange(size[k], { dtype = "i32" })
        end
        local example = np.reshape(np.arange(dims[1], { dtype = "i32" }), { -1, 1, 1 })
        return np.pad(x, widths)[{ example, np.expand_dims(index[1], 2), np.expand_dims(index[2], 1) }]
    end
end
