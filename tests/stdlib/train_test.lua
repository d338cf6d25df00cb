--- train_test.lua (not under tsan): scripts/train_fashion.lua, on the data that it makes itself: results, options,
-- checkpoints.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local checkpoint = os.tmpname()

local function train(...)
    return process.run_neap { "scripts/train_fashion.lua", "--data", "moons", "--checkpoint", checkpoint, ... }
end

local function final_loss(text)
    return text:match("final loss: (%S+)")
end

check.test("trains, prints plain lines, saves", function()
    local status, out, err = train("--epochs", "4")
    check.equal({ status, err }, { 0, "" })
    check.ok(out:find("training points: 2000\n", 1, true), out)
    check.ok(out:find("checksum: %x+ %x+\n"), out)
    check.ok(not out:find("\r", 1, true), "no bar in a pipe")
    check.ok(tonumber(out:match("test accuracy: (%S+)\n$")) > 0.8, out)
end)

check.test("the same seed gives the same bits, whatever the number of workers", function()
    local losses = {}
    for k, workers in ipairs { "1", "2", "3" } do
        local _, out = process.run_neap { "--workers", workers, "scripts/train_fashion.lua", "--data", "moons",
                                          "--epochs", "2", "--seed", "5", "--checkpoint", checkpoint }
        losses[k] = final_loss(out)
    end
    check.ok(losses[1], "a final loss")
    check.equal({ losses[2], losses[3] }, { losses[1], losses[1] })
    check.ok(final_loss((select(2, train("--epochs", "2", "--seed", "6")))) ~= losses[1], "another seed")
end)

check.test("resuming continues to the same bits", function()
    local _, whole = train("--epochs", "3")
    train("--epochs", "1")
    local status, out = train("--epochs", "3", "--resume")
    check.equal({ status, final_loss(out) }, { 0, final_loss(whole) })
    local wrong, _, err = train("--epochs", "4", "--resume", "--seed", "9")
    check.equal(wrong, 1)
    check.ok(err:find("was trained with --seed 0, not 9", 1, true), err)
end)

check.test("no file that nobody asked for", function()
    local function run(...) return process.run_neap { "scripts/train_fashion.lua", "--data", "moons", ... } end
    local status = run("--epochs", "1")
    check.equal({ status, (io.open "train_fashion.npz") }, { 0 })
    local wrong, _, err = run("--resume")
    check.equal(wrong, 2)
    check.ok(err:find("option '--resume' needs a file, or --checkpoint FILE", 1, true), err)
end)

check.test("a bar on a terminal", function()
    local terminal = process.terminal { "scripts/train_fashion.lua", "--data", "moons", "--epochs", "1", "--checkpoint",
                                        checkpoint }
    terminal:expect("epoch 1/1 [")
    terminal:expect("loss")
    terminal:expect("ETA")
    terminal:expect("test accuracy: ")
end)

check.test("cut batches", function()
    local status, out = train("--epochs", "2", "--devices", "4")
    check.equal(status, 0)
    check.ok(tonumber(out:match("test accuracy: (%S+)\n$")) > 0.7, out)
end)

check.test("bad input", function()
    local status, _, err = process.run_neap { "scripts/train_fashion.lua", "--data", "/no/such/folder" }
    check.equal(status, 1)
    check.ok(err:find("install the package dataset-fashion-mnist", 1, true), err)
    for _, words in ipairs { { "--bogus", "1" }, { "--epochs", "x" }, { "--epochs" }, { "--batch", "0" }, { "stray" },
                             { "--batch", "10", "--devices", "3" } } do
        status, _, err = train(unpack(words))
        check.equal(status, 2, table.concat(words, " "))
        check.ok(err:find("usage: neap scripts/train_fashion.lua", 1, true), err)
    end
    local file = io.open(checkpoint, "w")
    file:write("not a checkpoint")
    file:close()
    status, _, err = train("--resume")
    check.equal(status, 1)
    check.ok(err:find("no zip archive", 1, true), err)
end)

os.remove(checkpoint)
process.cleanup()
check.done()
