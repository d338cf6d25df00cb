--- train_gpt_test.lua (release build only): scripts/train_gpt.lua, on the rhyme and on texts.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local training = require "tests.lib.training"

local SMALL = { "--batch", "4", "--context", "16", "--width", "32", "--layers", "2", "--heads", "2" }

training.check("train_gpt", { "--text", "rhyme", "--steps", "24", "--every", "8", "--write", "20", "--lr", "0.01",
                              unpack(SMALL) },
               { value = "training (%S+), held out", less = true, close = 0.05 })

check.test("writes on from the beginning of the held-out part of a text", function()
    local text = ("abba "):rep(20)
    local path = process.file(text)
    local status, out, err = process.run_neap { "scripts/train_gpt.lua", "--text", path, "--steps", "1", "--write", "5",
                                                unpack(SMALL) }
    check.equal({ status, err }, { 0, "" })
    check.ok(out:find("100 letters, 3 different;", 1, true), out)
    check.ok(out:match("\n\n" .. text:sub(-17, -2) .. "[ab ][ab ][ab ][ab ][ab ]\n$"), out)
end)

check.test("texts that it refuses", function()
    local function refuses(message, ...)
        local status, _, err = process.run_neap { "scripts/train_gpt.lua", ... }
        check.equal(status, 1)
        check.ok(err:find(message, 1, true), err)
    end
    refuses("the text must have at least 258 letters, got 9", "--text", process.file "too short")
    refuses("train_gpt: /no/such/file", "--text", "/no/such/file")
    refuses("a width of 30 cannot be divided into 4 heads", "--text", "rhyme", "--width", "30")
end)

process.cleanup()
check.done()
