--- handles_test.lua (under tsan with --long): handles and the collector: dead arrays are given back, native bytes drive
-- collections, failures of memory are errors that leave everything usable.
local np = require "neap"
local check = require "tests.lib.check"

local function live() return np.debug.counters().live_handles end

--- Runs two full collections and lets the library sweep.
local function collect()
    collectgarbage()
    collectgarbage()
    local _ = np.zeros(1) + 1
    _ = np.zeros(1) + 1
end

check.test("dropped arrays are given back", function()
    local x = np.ones(10)
    for _ = 1, 20000 do local _ = x + 1 end
    np.wait_all()
    collect()
    check.ok(live() < 100, "live handles: " .. live())
end)

check.test("a handle is canonical and survives collections", function()
    local list = {}
    for k = 1, 3000 do list[k] = np.full({ 2 }, k) end
    collect()
    local sum = 0
    for k = 1, 3000 do sum = sum + list[k][1]:item() end
    check.equal(sum, 3000 * 3001 / 2)
end)

check.test("native bytes drive the collector", function()
    local x = np.ones(512, 512):wait() -- 1 MiB
    for k = 1, 1500 do local _ = (x + k):wait() end
    check.ok(np.memory().peak < 700e6, "peak: " .. np.memory().peak)
end)

check.test("a stale id is an error", function()
    local ffi = require "ffi"
    local stale = ffi.new("struct neap_handle", 12345678)
    check.raises(function() return stale + 1 end, "handle")
    check.raises(function() return ffi.new("struct neap_handle", -1):item() end, "handle")
end)

check.test("out of memory is an error, then work goes on", function()
    local x = np.ones(1000, 1000):wait()
    collect()
    np.debug.memory_limit(np.memory().live + 40e6)
    check.raises(function()
        local kept = {}
        for k = 1, 40 do kept[k] = (x + k):wait() end
        return kept
    end, "out of memory")
    for k = 1, 40 do local _ = (x * k):wait() end
    check.equal((x + 1):sum():item(), 2e6)
    np.debug.memory_limit(0)
end)

check.test("deleted arrays refuse use", function()
    local x = np.ones(3):wait()
    check.equal(x:is_deleted(), false)
    x:delete()
    check.equal(x:is_deleted(), true)
    check.raises(function() return x + 1 end, "deleted")
    check.raises(function() return x:totable() end, "deleted")
end)

check.test("deferred until it is needed", function()
    local x = np.ones(3) + 1
    check.equal(x:is_deferred(), true)
    check.equal(x:wait():is_deferred(), false)
    local y, z = np.force(x + 1, x + 2)
    check.equal({ y:totable(), z:totable() }, { { 3, 3, 3 }, { 4, 4, 4 } })
end)

check.test("a failure names itself, permanently, and spreads", function()
    local bad = np.debug.fail(np.ones(2))
    check.raises(function() bad:wait() end, "failed on purpose")
    check.raises(function() bad:totable() end, "failed on purpose")
    check.raises(function() return (bad + 1):sum():item() end, "failed on purpose")
    check.equal((np.ones(2) + 1):totable(), { 2, 2 })
end)

check.test("np.wait_all raises what nobody has seen, once", function()
    for _, read in ipairs { "wait", "totable", "tostring" } do
        local seen = np.debug.fail(np.ones(2))
        check.raises(function() return (seen * 2)[read](seen * 2) end, "failed on purpose")
        np.wait_all()
        check.raises(function() return seen:wait() end, "failed on purpose", "for good")
        np.wait_all()
    end
    for _ = 1, 300 do pcall(np.wait, np.debug.fail(np.ones(2))) end -- more than are remembered
    local unseen = np.debug.fail(np.ones(2))
    np.force(np.zeros(2), unseen + 1)
    check.raises(np.wait_all, "failed on purpose")
    np.wait_all()
    check.raises(function() return unseen:wait() end, "failed on purpose")
end)

check.done()
