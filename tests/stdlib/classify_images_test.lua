--- classify_images_test.lua (release build only): scripts/classify_images.lua, on shapes and on folders of images.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local training = require "tests.lib.training"

training.check("classify_images", { "--data", "shapes", "--epochs", "2", "--batch", "50", "--lr", "0.005" },
               { value = "epoch %d/%d  loss %S+  test accuracy (%S+)", close = 0.2 })

check.test("folders of images", function()
    local folder = os.tmpname()
    os.remove(folder)
    for part, number in pairs { train = 12, test = 4 } do
        local images, labels, names = np.data.shapes(np.random.key(number), number)
        for k = 0, number - 1 do
            local class = ("%s/%s/%s"):format(folder, part, names[labels[k]:item() + 1])
            os.execute(("mkdir -p '%s'"):format(class))
            np.io.save_image(("%s/%d.png"):format(class, k), images[k])
        end
    end
    local picture = folder .. "/curves.png"
    local status, out, err = process.run_neap { "scripts/classify_images.lua", "--data", folder, "--batch", "4",
                                                "--epochs", "1", "--model", "mlp", "--no-flip", "--no-move", "--plot",
                                                picture }
    check.equal({ status, err }, { 0, "" })
    check.ok(out:find("12 images of 16x16 for training, 4 for testing; 4 classes;", 1, true), out)
    check.ok(np.io.load_image(picture).shape[1] > 100, "a picture")
    process.write(folder .. "/train/disc/broken.png", "no picture")
    local broken, _, message = process.run_neap { "scripts/classify_images.lua", "--data", folder }
    check.equal(broken, 1)
    check.ok(message:find("broken.png", 1, true), message)
    os.execute(("rm -rf '%s'"):format(folder))
end)

check.test("a bar at a terminal, and no data", function()
    local terminal = process.terminal { "scripts/classify_images.lua", "--data", "shapes", "--epochs", "1" }
    terminal:expect("epoch 1: ")
    terminal:expect("loss=")
    terminal:expect("test accuracy: ")
    local status, _, err = process.run_neap { "scripts/classify_images.lua", "--data", "/no/such/folder" }
    check.equal(status, 1)
    check.ok(err:find("'/no/such/folder/train-images-idx3-ubyte.gz'; the package dataset-fashion-mnist has it", 1,
                      true), err)
end)

process.cleanup()
check.done()
