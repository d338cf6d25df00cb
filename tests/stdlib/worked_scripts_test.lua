--- worked_scripts_test.lua (release build only): the short scripts that solve a problem each, on data of their own:
-- scripts/fit_equation.lua, deblur.lua and search_texts.lua.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

--- Runs a script, which must succeed, and returns its output.
local function output(script, ...)
    local status, out, err = process.run_neap { "scripts/" .. script .. ".lua", ... }
    check.equal({ status, err }, { 0, "" }, out)
    return out
end

check.test("fit_equation finds the parameters within four standard errors", function()
    for seed = 0, 2 do
        local out, rows = output("fit_equation", "--seed", tostring(seed)), 0
        for name, truth, found, wrong in out:gmatch "\n(%a) +(%S+) +(%S+) +(%S+)" do
            rows, wrong = rows + 1, tonumber(wrong)
            check.ok(math.abs(found - truth) <= 4 * wrong, name .. out)
            check.ok(wrong > 0 and wrong < 0.02 * truth, name .. out)
        end
        check.equal(rows, 4, out)
    end
end)

check.test("fit_equation: without noise the parameters are exact", function()
    local out, rows = output("fit_equation", "--noise", "0", "--times", "10"), 0
    for truth, found, wrong in out:gmatch "\n%a +(%S+) +(%S+) +(%S+)" do
        rows = rows + 1
        check.equal({ tonumber(found), tonumber(wrong) }, { tonumber(truth), 0 }, out)
    end
    check.equal(rows, 4, out)
end)

check.test("deblur: total variation is nearer to the image than Tikhonov's solution", function()
    local out = output "deblur"
    local blurred = tonumber(out:match "blurred +off by (%S+)\n")
    local tikhonov = tonumber(out:match "Tikhonov +off by (%S+)\n")
    local variation = tonumber(out:match "total variation +off by (%S+)\n")
    check.ok(tikhonov < 0.85 * blurred and variation < 0.5 * blurred, out)
end)

for _, script in ipairs { "fit_equation", "deblur" } do
    check.test(script .. " draws a picture", function()
        local path = process.file "" .. ".svg"
        output(script, "--plot", path)
        check.ok(process.read(path):find("<svg", 1, true), "a picture")
        os.remove(path)
    end)
end

for _, script in ipairs { "fit_equation", "deblur", "search_texts" } do
    check.test(script .. ": --help, and what it refuses", function()
        local help = output(script, "--help")
        check.ok(help:find("usage: scripts/" .. script .. ".lua [options]", 1, true), help)
        local status, _, err = process.run_neap { "scripts/" .. script .. ".lua", "--sed", "1" }
        check.equal(status, 2)
        check.ok(err:find("unknown option '--sed'", 1, true) and not err:find "traceback", err)
    end)
end

-- Of scikit-learn 1.9.1: the cosines of TfidfVectorizer(token_pattern=r"[^\W_]+").
local NEAREST = {
    ["bread and cheese for hungry sailors"] = {
        { 0.5920, "The sailors ate bread" }, { 0.2970, "Sailors fear the wind" }, { 0.2967, "Hungry cats drink milk." },
        { 0.2587, "The baker sells bread" }, { 0.2379, "Bread is made of flour" },
    },
    ["The wind, at sea!"] = {
        { 0.6835, "Sailors fear the wind" }, { 0.4622, "The wind turns the mill." },
        { 0.4561, "The sea is salt water." }, { 0.2583, "A ship sails when" }, { 0.0918, "Grain grows in the" },
    },
}

for query, nearest in pairs(NEAREST) do
    check.test("search_texts finds the sentences nearest to: " .. query, function()
        local out, rows = output("search_texts", "--query", query), 0
        for cosine, text in out:gmatch "\n(%d%.%d+)  (%u[^\n]+)" do
            rows = rows + 1
            check.ok(math.abs(cosine - nearest[rows][1]) < 1.5e-4, out)
            check.equal(text:sub(1, #nearest[rows][2]), nearest[rows][2], out)
        end
        check.equal(rows, 5, out)
    end)
end

check.test("search_texts: a file of texts, and files that do not serve", function()
    local path = process.file "\nÄpfel und Birnen\n...\nKäse, ÄPFEL\nMilch\n"
    local out = output("search_texts", "--file", path, "--query", "äpfel", "--count", "2")
    check.ok(out:find "\n0%.%d+  Käse, ÄPFEL\n0%.%d+  Äpfel und Birnen\n%[2 rows", out)
    out = output("search_texts", "--query", "zebra", "--count", "1")
    check.ok(out:find("0.0  The sailors", 1, true), "no word is known")
    for message, words in pairs { ["/nowhere: No such file"] = { "--file", "/nowhere" },
                                  ["there is no word in it"] = { "--file", process.file "...\n\n" },
                                  ["--query has no word"] = { "--query", "?" } } do
        local status, _, err = process.run_neap { "scripts/search_texts.lua", unpack(words) }
        check.equal(status, 1, err)
        check.ok(err:find(message, 1, true) and not err:find "traceback", err)
    end
end)

process.cleanup()
check.done()
