--- startup_test.lua: a cold start is quick: less than 6 times that of stock luajit. For the release build only.
local check = require "tests.check"
local process = require "tests.interp.process"

local ROUNDS, LIMIT = 20, 6

--- The median wall time in seconds of `program -e 'print(1)'`, measured in turns with the other program.
local function medians(programs)
    local times = {}
    for round = 0, ROUNDS do
        for k, program in ipairs(programs) do
            local started = process.now()
            os.execute("'" .. program .. "' -e 'print(1)' >/dev/null")
            times[k] = times[k] or {}
            if round > 0 then times[k][round] = process.now() - started end
        end
    end
    for k = 1, #programs do
        table.sort(times[k])
        times[k] = (times[k][ROUNDS / 2] + times[k][ROUNDS / 2 + 1]) / 2
    end
    return unpack(times)
end

if os.execute("command -v luajit >/dev/null") == 0 then
    check.test("start-up", function()
        local neap, luajit = medians { process.neap, "luajit" }
        print(string.format("neap %.2f ms, luajit %.2f ms: %.1f times", 1e3 * neap, 1e3 * luajit, neap / luajit))
        check.ok(neap < LIMIT * luajit, "start-up takes longer than the goal")
    end)
else
    check.skip("start-up", "no luajit to compare with")
end

check.done()
