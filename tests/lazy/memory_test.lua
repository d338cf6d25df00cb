--- memory_test.lua (under tsan with --long): what happens when memory is short: the collector and the work in flight
-- give back what they can, and only a real shortage is an error, after which the session goes on.
local check = require "tests.lib.check"

local MIB = 2 ^ 20

--- Runs f with a limit of so many MiB above what is live.
local function limited(mib, f)
    np.wait_all()
    collectgarbage()
    collectgarbage()
    np.debug.memory_limit(np.memory().live + mib * MIB)
    local ok, problem = pcall(f)
    np.debug.memory_limit(0)
    np.wait_all()
    if not ok then error(problem, 0) end
end

check.test("work in flight gives its memory back before there is too little", function()
    limited(24, function()
        local x = np.arange(MIB, { dtype = "f32" }) -- 4 MiB
        x:wait()
        local last
        for step = 1, 40 do
            last = np.debug.sleep(x + step, 2)
            np.force(last)
        end
        check.equal(last[3]:item(), 43)
    end)
end)

check.test("a real shortage is one clear error, and the session goes on", function()
    local kept = np.ones({ 1024 }):wait()
    limited(24, function()
        local list = {}
        local ok, problem = pcall(function()
            for step = 1, 40 do
                list[step] = np.debug.sleep(np.arange(MIB, { dtype = "f32" }) + step, 1)
                np.force(list[step])
            end
        end)
        check.ok(not ok and problem:find("memory_test.lua:%d+: .*out of memory: %d+ bytes wanted"), problem)
        check.ok(#list >= 2, "the first of them had room")
        for step = 1, #list - 1 do check.equal(list[step][1]:item(), 1 + step) end
        for step = #list, 1, -1 do list[step] = nil end
        check.equal((kept + 1):sum():item(), 2048)
        check.equal((np.arange(MIB, { dtype = "f32" }) + 1)[2]:item(), 3)
    end)
end)

check.test("inside a callback a shortage is an error of that callback", function()
    limited(24, function()
        local seen
        np.callback(function()
            local list = {}
            local ok, problem = pcall(function()
                for step = 1, 40 do list[step] = (np.arange(MIB, { dtype = "f32" }) + step):wait() end
            end)
            check.ok(#list > 2, "the first of them had room")
            seen = not ok and problem
        end)()
        np.effects_barrier()
        check.ok(seen and seen:find("out of memory", 1, true), tostring(seen))
    end)
end)

check.done()
