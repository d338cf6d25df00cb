--- views_test.lua (under tsan with --long): the view language: what only rearranges elements launches nothing, plans
-- nothing, and reads right.
local check = require "tests.lib.check"
local np = require "neap"

local newaxis = np.newaxis
np.debug.limits { nodes = 0, bytes = 0 }

--- How many launches, plans and flushes f caused; then f's result.
local function cost(f)
    local before = np.debug.counters()
    local result = f()
    local after = np.debug.counters()
    return { launches = after.launches - before.launches, plans = after.plans - before.plans,
             flushes = after.flushes - before.flushes }, result
end

local nothing = { launches = 0, plans = 0, flushes = 0 }

--- A value that exists: 0, 1, … in this shape.
local function ready(...)
    local dims, size = { ... }, 1
    for _, n in ipairs(dims) do size = size * n end
    local x = np.arange(size):reshape(dims)
    np.force(x)
    x:wait()
    return x
end

-- Name, expression over x of shape (3, 4), and its rows.
local VIEWS = {
    { "reshape", function(x) return x:reshape(2, 6) end, { { 0, 1, 2, 3, 4, 5 }, { 6, 7, 8, 9, 10, 11 } } },
    { "transpose", function(x) return x.T end, { { 0, 4, 8 }, { 1, 5, 9 }, { 2, 6, 10 }, { 3, 7, 11 } } },
    { "slice", function(x) return x[{ { 1, 3 }, { 0, 4, 2 } }] end, { { 4, 6 }, { 8, 10 } } },
    { "index", function(x) return x[-1] end, { 8, 9, 10, 11 } },
    { "text index", function(x) return x "1, ::-1" end, { 7, 6, 5, 4 } },
    { "flip", function(x) return np.flip(x, { axis = 1 }) end, { { 3, 2, 1, 0 }, { 7, 6, 5, 4 }, { 11, 10, 9, 8 } } },
    { "new axis", function(x) return x[{ 0, newaxis, { 1, 3 } }] end, { { 1, 2 } } },
    { "squeeze", function(x) return np.squeeze(x[{ { 0, 1 }, {} }]) end, { 0, 1, 2, 3 } },
    { "broadcast", function(x) return np.broadcast_to(x[1], { 2, 4 }) end, { { 4, 5, 6, 7 }, { 4, 5, 6, 7 } } },
    { "all together", function(x) return x.T:reshape(2, 2, 3)[{ {}, 1 }] "::-1" end, { { 3, 7, 11 }, { 1, 5, 9 } } },
}

for _, case in ipairs(VIEWS) do
    local name, view, expected = case[1], case[2], case[3]
    check.test("a view launches nothing: " .. name, function()
        local x = ready(3, 4)
        local used, y = cost(function() return view(x) end)
        check.equal(used, nothing)
        check.equal(y:totable(), expected)
    end)
    check.test("a view of a pending array is read inside the kernel: " .. name, function()
        local x = ready(3, 4)
        local used, y = cost(function()
            local pending = view(x + 0) * 1
            np.force(pending)
            return pending
        end)
        check.equal(used.launches, 1)
        check.equal(y:totable(), expected)
    end)
end

check.test("forcing is the identity on what has a value", function()
    local x = ready(3, 4)
    check.equal(cost(function() np.force(x) end), nothing)
end)

check.test("a reshape of a computed array shares its memory", function()
    local x = ready(3, 4)
    local used, y = cost(function()
        local y = x:reshape(12)
        np.force(y)
        return y
    end)
    check.equal(used.launches, 0)
    check.equal(y:totable()[12], 11)
end)

check.test("forcing twice computes once", function()
    local y = ready(3, 4).T + 1
    local first = cost(function() np.force(y) end)
    check.equal(first.launches, 1)
    check.equal(cost(function() np.force(y) end), nothing)
    check.equal(cost(function() return y:totable() end).launches, 0)
end)

check.test("an outer product of views is one kernel", function()
    local x = ready(5)
    local used, y = cost(function()
        local y = x[{ {}, newaxis }] * x[{ newaxis, {} }]
        np.force(y)
        return y
    end)
    check.equal(used.launches, 1)
    check.equal(y[4]:totable(), { 0, 4, 8, 12, 16 })
end)

check.test("building expressions costs no launch and no plan", function()
    local x = ready(4, 4)
    local used, y = cost(function()
        local y = x
        for k = 1, 1000 do
            y = k % 3 == 0 and y.T or k % 3 == 1 and y + 1 or np.flip(y, { axis = 0 })
        end
        return y
    end)
    check.equal(used, nothing)
    check.equal(y:sum():item(), 120 + 334 * 16)
end)

check.test("constructors hold no memory until they are needed", function()
    local before = np.memory().live
    local wide = np.arange(1e9)
    local ones = np.ones({ 100000, 100000 })
    local corner = ones[{ { 0, 2 }, { 0, 3 } }]
    local tail = wide[{ { 999999997 } }]
    check.equal(tail:totable(), { 999999997, 999999998, 999999999 })
    check.equal(corner:totable(), { { 1, 1, 1 }, { 1, 1, 1 } })
    check.ok(np.memory().live - before < 1e6, "a constructor was materialised")
end)

check.test("a constructor that a jitted function closes over is staged, not embedded", function()
    local wide = np.arange(1e9)
    local f = np.jit(function(x) return x + wide[{ { 10, 13 } }] end)
    local before = np.memory().live
    check.equal(f(np.arange(3)):totable(), { 10, 12, 14 })
    check.ok(np.memory().live - before < 1e6, "the constructor was materialised")
end)

check.test("the layout of an argument is not part of a jitted function's key", function()
    local traces = 0
    local f = np.jit(function(x)
        traces = traces + 1
        return x * 2
    end)
    local row = np.arange(4):astype("f32")
    local broadcast = np.broadcast_to(row, { 3, 4 })
    check.equal(f(broadcast)[2]:totable(), { 0, 2, 4, 6 })
    local plans = np.debug.counters().plans
    check.equal(f(np.array { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 10, 11, 12 } })[1]:totable(), { 10, 12, 14, 16 })
    check.equal(f(np.ones({ 4, 3 }).T)[0]:totable(), { 2, 2, 2, 2 })
    check.equal(traces, 1)
    check.ok(np.debug.counters().plans - plans <= 3, "the program was planned again")
end)

check.test("views of views of empty and of single elements", function()
    local x = ready(3, 4)
    check.equal(x[{ { 1, 1 } }].shape, { 0, 4 })
    check.equal(x[{ { 1, 1 } }]:sum():item(), 0)
    check.equal(x[{ 1, 2 }]:item(), 6)
    check.equal(x[{ { 0, 1 } }].T:reshape(4):totable(), { 0, 1, 2, 3 })
end)

check.test("a deleted array is not a constant", function()
    local x = ready(3)
    x:delete()
    check.ok(x:is_deleted())
    check.raises(function() return x + 1 end, "deleted")
    check.raises(function() return x:totable() end, "deleted")
    local c = np.zeros({ 3 })
    check.ok(not c:is_deleted())
    check.equal(c:totable(), { 0, 0, 0 })
end)

check.done()
