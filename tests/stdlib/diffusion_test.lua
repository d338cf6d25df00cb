--- diffusion_test.lua (release build only): scripts/diffusion.lua, on shapes.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local training = require "tests.lib.training"

local SMALL = { "--data", "shapes", "--batch", "8", "--width", "8" }

training.check("diffusion", { "--steps", "20", "--every", "10", "--lr", "0.01", unpack(SMALL) },
               { value = "test (%S+)", less = true, close = 0.05 })

check.test("draws a column of images for each class", function()
    local picture = process.file "" .. ".png"
    local status, out, err = process.run_neap { "scripts/diffusion.lua", "--steps", "1", "--turns", "2", "--draw",
                                                picture, unpack(SMALL) }
    check.equal({ status, err }, { 0, "" }, out)
    check.equal(np.io.load_image(picture).shape, { 8 * 16, 4 * 16 })
    os.remove(picture)
    local refused, _, message = process.run_neap { "scripts/diffusion.lua", "--width", "12" }
    check.equal(refused, 1)
    check.ok(message:find("--width must be a multiple of 8, got 12", 1, true), message)
end)

process.cleanup()
check.done()
