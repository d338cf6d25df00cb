--- abandon_test.lua: neap_abandon gives up what is in flight if nobody can see its results, and only then: not when a
-- handle, an array made from it, an effect, a program or an open gradient wants some of it.
local np = require "neap"
local ffi = require "ffi"
local core = require "neap.core"
local check = require "tests.lib.check"

local C = core.C
local OK, PENDING = C.NEAP_OK, C.NEAP_PENDING

--- An array of one number that is there after so many milliseconds.
local function slow(ms)
    local x = np.debug.sleep(np.ones(1), ms)
    core.call(nil, function() return C.neap_array_start(core.ctx, 1, ffi.new("int32_t[1]", x._id), 0) end)
    return x
end

--- Lets handles that died go, and tells what neap_abandon does then.
local function abandon()
    core.reclaim()
    return C.neap_abandon(core.ctx)
end

--- Waits for everything in flight; its failure is no news.
local function settle()
    pcall(np.wait_all)
end

check.test("work that nobody wants is given up", function()
    settle()
    local before = np.debug.sleep(np.arange(3), 1)
    before:wait()
    slow(600000)
    check.equal(abandon(), OK)
    settle()
    check.equal(before:totable(), { 0, 1, 2 })
    check.equal((before + 1):sum():item(), 6)
end)

check.test("nothing in flight", function()
    check.equal(abandon(), OK)
    check.equal(np.ones(3):sum():item(), 3)
end)

check.test("a handle keeps its work, and that of others with it", function()
    local kept = slow(300)
    slow(400)
    check.equal(abandon(), PENDING)
    check.equal(kept:item(), 1)
    np.wait_all() -- without a failure
end)

check.test("so does an array that is made from it", function()
    local kept = slow(300) + 1
    check.equal(abandon(), PENDING)
    check.equal(kept:item(), 2)
end)

check.test("so does an effect", function()
    local lines = {}
    np.effects.logger(lines)("%g", slow(300))
    check.equal(abandon(), PENDING)
    np.effects_barrier()
    check.equal(lines, { "1" })
    local called
    np.callback(function(x) called = x:item() end, { ordered = false })(slow(300))
    check.equal(abandon(), PENDING)
    np.effects_barrier()
    check.equal(called, 1)
    settle()
    check.equal(abandon(), OK)
end)

check.test("so does a program that has captured it", function()
    local function trace()
        local captured = slow(300)
        return np.trace(function(x) return x + captured end)(np.ones(1))
    end
    local program = trace()
    check.equal(abandon(), PENDING)
    check.equal(program(np.ones(1)):item(), 2)
end)

check.test("so does an open gradient", function()
    local status
    np.grad(function(x)
        slow(300)
        status = abandon()
        return x
    end)(np.ones {})
    check.equal(status, PENDING)
    settle()
end)

check.done()
