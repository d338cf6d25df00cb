--- data_test.lua: np.data: batches started ahead, and folders of images.
-- (sanitized with --long)
package.path = "./?.lua;" .. package.path
local np = require "neap"
local check = require "tests.lib.check"

check.test("what is prefetched comes in order, once, and ends", function()
    for count = 1, 4 do
        local asked, seen = 0, {}
        local function numbers()
            asked = asked + 1
            if asked <= 5 then return np.array(asked) * 2, asked end
        end
        for x, k in np.data.prefetch(numbers, count) do
            seen[#seen + 1] = x:item()
            check.equal(k * 2, x:item())
            check.ok(asked <= #seen + count + 1, "asked for more than it should")
        end
        check.equal(seen, { 2, 4, 6, 8, 10 })
        check.equal(asked, 6)
    end
    check.raises(function() np.data.prefetch(3) end, "an iterator")
    check.raises(function() np.data.prefetch(print, 0) end, "count")
end)

check.test("an iterator that is prefetched may fail: what came before is still given", function()
    local k, seen = 0, {}
    local function fails()
        k = k + 1
        if k == 3 then error "no more" end
        return k
    end
    local problem = check.raises(function()
        for x in np.data.prefetch(fails, 1) do seen[#seen + 1] = x end
    end, "no more")
    check.ok(problem)
    check.ok(#seen >= 1)
end)

local folder = os.tmpname()
os.remove(folder)
local function shell(format, ...) assert(os.execute(format:format(...)) == 0) end

check.test("a folder of images", function()
    shell("mkdir -p %s/dog %s/cat %s/empty", folder, folder, folder)
    local red = np.concatenate({ np.full({ 2, 3, 1 }, 200), np.zeros { 2, 3, 2 } }, { axis = -1 }):astype "u8"
    np.io.save_image(folder .. "/dog/b.png", red)
    np.io.save_image(folder .. "/dog/a.png", np.full({ 2, 3 }, 7, { dtype = "u8" }))
    np.io.save_image(folder .. "/cat/a.PNG", np.full({ 2, 3, 4 }, 9, { dtype = "u8" }))
    shell("echo no image > %s/cat/notes.txt", folder)
    local images, labels, names = np.data.image_folder(folder)
    check.equal({ images.shape, images.dtype, labels.dtype }, { { 3, 2, 3, 3 }, "u8", "i32" })
    check.equal(names, { "cat", "dog" })
    check.equal(labels:totable(), { 0, 1, 1 })
    check.equal(images[{ {}, 0, 0 }]:totable(), { { 9, 9, 9 }, { 7, 7, 7 }, { 200, 0, 0 } })
    local small = np.data.image_folder(folder, { size = { 1, 2 } })
    check.equal(small.shape, { 3, 1, 2, 3 })
    check.equal(small[{ {}, 0, 0 }]:totable(), { { 9, 9, 9 }, { 7, 7, 7 }, { 200, 0, 0 } })
end)

check.test("what is wrong in a folder of images", function()
    np.io.save_image(folder .. "/dog/c.png", np.zeros({ 4, 4 }, { dtype = "u8" }))
    check.raises(function() np.data.image_folder(folder) end, "'.*c%.png' has 4 x 4 pixels, '.*a%.PNG' has others")
    check.raises(function() np.data.image_folder(folder, { channels = 1 }) end, "has 3 channels")
    check.raises(function() np.data.image_folder(folder, { size = { 3 } }) end, "{height, width}")
    check.raises(function() np.data.image_folder(folder .. "/dog") end, "has no folders with PNG or JPEG files")
    shell("echo broken > %s/cat/z.png", folder)
    check.raises(function() np.data.image_folder(folder, { size = { 2, 2 } }) end, "z%.png")
end)

check.test("Fashion-MNIST of a folder", function()
    local path = os.tmpname()
    os.remove(path)
    shell("mkdir %s", path)
    local function idx(name, text)
        local file = assert(io.open(("%s/%s-ubyte"):format(path, name), "wb"))
        file:write(text)
        file:close()
        shell("gzip %s/%s-ubyte", path, name)
    end
    idx("t10k-images-idx3", "\0\0\8\3\0\0\0\2\0\0\0\1\0\0\0\3" .. "\1\2\3\4\5\6")
    idx("t10k-labels-idx1", "\0\0\8\1\0\0\0\2" .. "\9\0")
    local images, labels, names = np.data.fashion_mnist("test", { path = path })
    check.equal({ images.shape, images.dtype, labels.dtype }, { { 2, 1, 3, 1 }, "u8", "i32" })
    check.equal({ images:ravel():totable(), labels:totable() }, { { 1, 2, 3, 4, 5, 6 }, { 9, 0 } })
    check.equal({ #names, names[10] }, { 10, "boot" })
    check.raises(function() np.data.fashion_mnist("train", { path = path }) end,
                 "there is no file '.*train%-images.*'; the package dataset%-fashion%-mnist has it")
    check.raises(function() np.data.fashion_mnist "valid" end, '"train" or "test"')
    check.raises(function() np.data.fashion_mnist("test", { path = 3 }) end, "path")
    os.remove(path .. "/t10k-labels-idx1-ubyte.gz")
    idx("t10k-labels-idx1", "\0\0\8\1\0\0\0\1" .. "\9")
    check.raises(function() np.data.fashion_mnist("test", { path = path }) end, "a label for each")
    shell("rm -r %s", path)
end)

check.done()
