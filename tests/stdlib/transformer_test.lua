--- transformer_test.lua (not under tsan, sanitized with --long): scripts/transformer.lua: its loss falls, it writes
-- letters of its text, equal seeds give equal bits, and what it refuses.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local function run(...)
    return process.run_neap { "scripts/transformer.lua", ... }
end

check.test("the loss falls", function()
    local status, out, err = run("--steps", "20", "--batch", "4", "--write", "0")
    check.equal({ status, err }, { 0, "" })
    local first, last = out:match "step    1  loss (%d+%.%d+)\nstep   20  loss (%d+%.%d+)\n$"
    check.ok(first and tonumber(first) > 3 and tonumber(last) < 0.8 * tonumber(first), out)
    local _, again = process.run_neap { "--workers", "3", "scripts/transformer.lua", "--steps", "20", "--batch", "4",
                                        "--write", "0" }
    check.equal(again, out, "with 3 workers")
end)

check.test("writes on from the beginning of a text", function()
    local text = ("abba "):rep(20)
    local path = process.file(text)
    local status, out, err = run("--text", path, "--steps", "1", "--batch", "1", "--write", "5")
    check.equal({ status, err }, { 0, "" })
    check.ok(out:find("100 letters, 3 different;", 1, true), out)
    check.ok(out:match("\n\n" .. text:sub(1, 32) .. "[ab ][ab ][ab ][ab ][ab ]\n$"), out)
end)

check.test("what it refuses", function()
    for _, words in ipairs { { "--steps" }, { "--steps", "x" }, { "--batch", "1.5" }, { "--bogus", "1" }, { "no" } } do
        local status, _, err = run(unpack(words))
        check.equal(status, 2)
        check.ok(err:find("usage: neap scripts/transformer.lua", 1, true), err)
    end
    local status, _, err = run("--text", process.file "too short")
    check.equal(status, 1)
    check.ok(err:find("the text must have at least 34 letters, got 9", 1, true), err)
    status, _, err = run("--text", "/no/such/file")
    check.equal(status, 1)
    check.ok(err:find("transformer: /no/such/file", 1, true), err)
end)

process.cleanup()
check.done()
