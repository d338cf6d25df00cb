--- tour_test.lua (release build only): `:tour`: its steps, in order, done by what they show; left out, ended, begun
-- again.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

--- What the prompt prints for these lines, and what it says on stderr.
local function prints(lines)
    local _, out, err = process.run_neap({ "-i", "--no-startup" }, table.concat(lines, "\n") .. "\n")
    return out, err
end

check.test("each step is done by what it shows", function()
    require "neap.interp.commands"
    local steps = require("neap.interp.tour").steps
    local lines = { ":tour" }
    for k, step in ipairs(steps) do lines[k + 1] = step[2] end
    local out, err = prints(lines)
    check.equal(err, "")
    local from = 1
    for k, step in ipairs(steps) do
        local told = ("[%d of %d] %s\n    %s\n"):format(k, #steps, step[1], step[2])
        local first, last = out:find(told, from, true)
        check.ok(first, told)
        check.equal(select(2, out:gsub(("[%d of "):format(k):gsub("%p", "%%%0"), "")), 1, "told once")
        from = last + 1
    end
    check.ok(out:find("That was the tour.", from, true), "the end")
end)

check.test("other commands change nothing, and a step may be done in another way", function()
    local out, err = prints { ":tour", "1 + 1", "x = np.ones(3)", "local x = np.arange(1, 4)", "x + x + 1", ":tour" }
    check.equal(err, "")
    local numbers = {}
    for number in out:gmatch "%[(%d+) of" do numbers[#numbers + 1] = number end
    check.equal(table.concat(numbers, " "), "1 2 3 3")
end)

check.test("a step is left out; the tour ends, and begins again", function()
    local out, err = prints { ":tour", ":tour next", ":tour stop", "x = np.array{1, 2, 3}", ":tour", ":tour away" }
    check.equal(err, ":tour: there are next and stop; usage: :tour [next|stop]\n")
    local numbers = {}
    for number in out:gmatch "%[(%d+) of" do numbers[#numbers + 1] = number end
    check.equal(table.concat(numbers, " "), "1 2 1")
    check.ok(out:find("The tour has ended", 1, true), out)
end)

process.cleanup()
check.done()
