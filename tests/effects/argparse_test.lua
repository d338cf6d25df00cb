--- argparse_test.lua (release build only): np.argparse: what options become, help, and what ends a script.
local np = require "neap"
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local SPEC = {
    "Trains, and shows how well it did.",
    { "epochs", 5, "passes over the data", min = 1, max = 9 },
    { "weight_decay", 1, "share of a weight", type = "number", min = 0 },
    { "lr", 0.5, "rate" },
    { "kind", "cnn", "of network", choices = { "cnn", "mlp" } },
    { "size", 2, "pixels", choices = { 1, 2, 4 } },
    { "out", nil, "a file" },
    { "most", nil, "a number", type = "integer" },
    { "resume", false, "goes on" },
    { "flip", true, "leaves images as they are" },
}

local function parse(...) return np.argparse({ ... }, SPEC) end

check.test("defaults, and what is given", function()
    check.equal(parse(), { epochs = 5, weight_decay = 1, lr = 0.5, kind = "cnn", size = 2, resume = false,
                           flip = true })
    check.equal(parse("--epochs", "7", "--weight-decay=0.25", "--lr", "2", "--kind=mlp", "--size", "4", "--out", "-x",
                      "--most", "0x10", "--resume", "--no-flip"),
                { epochs = 7, weight_decay = 0.25, lr = 2, kind = "mlp", size = 4, out = "-x", most = 16, resume = true,
                  flip = false })
    check.equal(parse("--weight_decay", "1e-2", "--flip", "--no-resume", "--out=a=b", "--kind", "cnn").out, "a=b")
    check.equal(parse("--out", "").out, "")
    check.equal(parse("--out=").out, "")
    check.equal(parse("--epochs", "1", "--epochs", "2").epochs, 2)
end)

check.test("what is no option", function()
    local spec = { { "n", 1, "a number" }, { "...", nil, "files" } }
    check.equal(np.argparse({ "a", "--n", "2", "b", "--", "--n", "-" }, spec), { "a", "b", "--n", "-", n = 2 })
    check.equal(np.argparse({ "-", "-x", "--", "-h", "--help" }, spec), { "-", "-x", "-h", "--help", n = 1 })
end)

check.test("the script's own failures", function()
    local path = process.file [[local o, fail = np.argparse(arg, {}) print(1) fail("no %s: %d%%", "a", 7)]]
    os.rename(path, path .. ".lua")
    local status, out, err = process.run_neap { path .. ".lua" }
    check.equal({ status, out, err }, { 1, "1\n", path:match "[^/]*$" .. ": no a: 7%\n" })
    os.remove(path .. ".lua")
end)

-- Sets of words, and a part of the line that ends the script.
local WRONG = {
    { { "--epoch", "3" }, "unknown option '--epoch'; did you mean '--epochs'?" },
    { { "--nothing-like-it" }, "unknown option '--nothing-like-it'\n" },
    { { "--epochs" }, "option '--epochs' needs a value" },
    { { "--epochs", "0" }, "option '--epochs' must be an integer from 1 to 9, got '0'" },
    { { "--epochs", "10" }, "option '--epochs' must be an integer from 1 to 9, got '10'" },
    { { "--epochs=2.5" }, "option '--epochs' must be an integer from 1 to 9, got '2.5'" },
    { { "--epochs=" }, "option '--epochs' must be an integer from 1 to 9, got ''" },
    { { "--lr", "nan" }, "option '--lr' must be a number, got 'nan'" },
    { { "--weight-decay", "-1" }, "option '--weight-decay' must be a number from 0 up, got '-1'" },
    { { "--kind", "gpt" }, "option '--kind' must be one of cnn, mlp, got 'gpt'" },
    { { "--size", "3" }, "option '--size' must be one of 1, 2, 4, got '3'" },
    { { "--resume=yes" }, "option '--resume' takes no value, got 'yes'" },
    { { "--no-lr" }, "unknown option '--no-lr'" },
    { { "stray" }, "cannot understand 'stray'" },
    { { "-e" }, "cannot understand '-e'" },
    { { "--...", "x" }, "unknown option '--...'" },
    { { "--", "x" }, "cannot understand 'x'" },
}

local script = process.file [[
local options = np.argparse(arg, {
    "Trains, and shows how well it did, which is told in a text that is so long that it does not fit into one line.",
    { "epochs", 5, "passes over the data", min = 1, max = 9 },
    { "weight_decay", 1, "share of a weight", type = "number", min = 0 },
    { "lr", 0.5, "rate" }, { "kind", "cnn", "of network", choices = { "cnn", "mlp" } },
    { "size", 2, "pixels", choices = { 1, 2, 4 } }, { "out", nil, "a file" },
    { "resume", false, "goes on" }, { "flip", true, "leaves images as they are" },
})
print("ran")
]]

check.test("wrong words end the script with status 2 and one line", function()
    for _, case in ipairs(WRONG) do
        local status, out, err = process.run_neap { script, unpack(case[1]) }
        check.equal({ status, out }, { 2, "" }, table.concat(case[1], " "))
        check.ok(err:find(": " .. case[2], 1, true), err)
        check.ok(err:find(("\nusage: %s [options]; --help lists them\n"):format(script), 1, true), err)
    end
end)

check.test("help", function()
    local status, out, err = process.run_neap { script, "--epochs", "2", "--help", "--nonsense" }
    check.equal({ status, err }, { 0, "" })
    check.equal(out, "usage: " .. script .. [[ [options]

Trains, and shows how well it did, which is told in a text that is so long that it does not fit into
one line.

  --epochs N        passes over the data (5)
  --weight-decay X  share of a weight (1)
  --lr X            rate (0.5)
  --kind TEXT       of network: cnn, mlp (cnn)
  --size N          pixels: 1, 2, 4 (2)
  --out TEXT        a file
  --resume          goes on
  --no-flip         leaves images as they are
  --help            this text
]])
end)

check.test("-h is --help", function()
    local _, long = process.run_neap { script, "--help" }
    local status, short = process.run_neap { script, "-h" }
    check.equal({ status, short }, { 0, long })
end)

local missing = mpirun.missing()
if missing then
    check.skip("of several processes one tells", missing)
else
    check.test("of several processes one tells", function()
        local status, out, err = mpirun.run(2, { script, "--nonsense" })
        local _, count = err:gsub("unknown option '%-%-nonsense'", "")
        check.equal({ status, out, count }, { 2, "", 1 })
        local _, help = mpirun.run(2, { script, "--help" })
        check.equal(select(2, help:gsub("usage: ", "")), 1)
    end)
end

check.test("descriptions that make no sense", function()
    local function raises(message, ...)
        local given = { ... }
        check.raises(function() np.argparse(unpack(given)) end, (message:gsub("%p", "%%%0")))
    end
    local function refuses(message, ...) raises(message, {}, { ... }) end
    raises("argument 1 (arg) must be a table of texts", "x", {})
    raises("argument 2 (options) must be a table of options", {}, 3)
    raises("lr", {}, { lr = 1 })
    raises("argument 1 (arg) is a list of texts, got also 'lr'", { lr = 1 }, {})
    refuses("item 1 of argument 2 must be a table such as", 3)
    refuses("must be a table such as", "about", "again")
    refuses("must begin with a name of letters", { "two words", 1, "x" })
    refuses("must begin with a name of letters", { 7, 1, "x" })
    refuses("('n') must have what it is as a text in third place", { "n", 1 })
    refuses("('n') has nothing for 'low'", { "n", 1, "x", low = 1 })
    refuses("('n') has a type or default that a command line cannot give: a table", { "n", {}, "x" })
    refuses("('n') has a type or default that a command line cannot give: the string \"int\"", { "n", 1, "x",
                                                                                                  type = "int" })
    refuses("('n') has min = the number 1; only numbers have it", { "n", "a", "x", min = 1 })
    refuses("('n') is of type integer, and its default is the string \"a\"", { "n", "a", "x", type = "integer" })
    refuses("('n') must have its choices in a table", { "n", "a", "x", choices = "a" })
    refuses("('n') is a boolean, which has no choices", { "n", true, "x", choices = { true } })
    refuses("there are two items \"...\"", { "...", nil, "x" }, { "...", nil, "y" })
    refuses("there are two options '--n'", { "n", 1, "x" }, { "n", 1, "x" })
    refuses("there are two options '--a-b'", { "a_b", 1, "x" }, { "a-b", 1, "x" })
    refuses("there are two options '--help' (each script has that one)", { "help", 1, "x" })
end)

process.cleanup()
check.done()
