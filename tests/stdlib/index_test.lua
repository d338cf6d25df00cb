--- index_test.lua (under tsan with --long): x[…], x"…", x:at{…}. Values of NumPy's indexing are in tests/golden; here
-- are the rest and errors.
local np = require "neap"
local check = require "tests.lib.check"

local x = np.arange(12):reshape(3, 4)

check.test("items", function()
    check.equal(x[0]:totable(), { 0, 1, 2, 3 })
    check.equal(x[-1]:totable(), { 8, 9, 10, 11 })
    check.equal(x[{ 1, 2 }]:item(), 6)
    check.equal(x[{ { 1, 3 }, {} }]:totable(), { { 4, 5, 6, 7 }, { 8, 9, 10, 11 } })
    check.equal(x[{ { 2 } }]:totable(), { { 8, 9, 10, 11 } })
    check.equal(x[{ {}, { nil, nil, -2 } }]:totable(), { { 3, 1 }, { 7, 5 }, { 11, 9 } })
    check.equal(x[{ {}, { false, -2 } }].shape, { 3, 2 })
    check.equal(x[{ np.newaxis, np.ellipsis, 0 }].shape, { 1, 3 })
    check.equal(x"1:3, ::-1":totable(), { { 7, 6, 5, 4 }, { 11, 10, 9, 8 } })
    check.equal(x"..., newaxis".shape, { 3, 4, 1 })
end)

check.test("a text means the same for each shape that it is read for, and each time", function()
    local long, deep = np.arange(5), np.arange(24):reshape(2, 3, 4)
    for _ = 1, 2 do
        check.equal(x"1:-1":totable(), { { 4, 5, 6, 7 } })
        check.equal(long"1:-1":totable(), { 1, 2, 3 })
        check.equal(deep"1:-1".shape, { 0, 3, 4 })
        check.equal(deep"..., -1":totable(), { { 3, 7, 11 }, { 15, 19, 23 } })
        check.equal(x"..., -1":totable(), { 3, 7, 11 })
        check.equal(long"[1, 0], newaxis":totable(), { { 1 }, { 0 } })
        check.equal(x"[2, 0], 1":totable(), { 9, 1 })
        check.equal(x"[True, False, True], 0":totable(), { 0, 8 })
        check.raises(function() return long"1:-1, 0" end, "2 indices")
    end
    for k = 1, 600 do -- more than are remembered
        local low = k % 3
        check.equal(x[("%d:%s%d"):format(low, (" "):rep(k), low + 1)][0][0]:item(), 4 * low)
    end
    check.equal(x"1:-1":totable(), { { 4, 5, 6, 7 } })
end)

check.test("index arrays", function()
    local rows, columns = np.array({ 0, 2 }, { dtype = "i32" }), np.array({ 3, -4 }, { dtype = "i32" })
    check.equal(x[rows]:totable(), { { 0, 1, 2, 3 }, { 8, 9, 10, 11 } })
    check.equal(x[{ {}, columns }]:totable(), { { 3, 0 }, { 7, 4 }, { 11, 8 } })
    check.equal(x[{ rows, columns }]:totable(), { 3, 8 })
    check.equal(x[{ rows:reshape(2, 1), columns }]:totable(), { { 3, 0 }, { 11, 8 } })
    local deep = np.arange(24):reshape(2, 3, 4)
    check.equal(deep[{ np.array({ 0, 1 }, { dtype = "i32" }), {}, rows }]:totable(),
                { { 0, 4, 8 }, { 14, 18, 22 } })
    check.equal(x[np.array(1, { dtype = "i32" })]:totable(), { 4, 5, 6, 7 })
end)

check.test("masks", function()
    check.equal(x[x:gt(8)]:totable(), { 9, 10, 11 })
    check.equal(x[np.array { true, false, true }]:totable(), { { 0, 1, 2, 3 }, { 8, 9, 10, 11 } })
    check.raises(function() return x[np.array { true, false }] end, "mask of shape %(2,%) does not fit axis 0")
    check.raises(function() return np.jit(function(y) return y[y:gt(1)] end)(x) end, "while tracing")
end)

check.test("changed copies", function()
    check.equal(x:at { 0 }:set(9):totable()[1], { 9, 9, 9, 9 })
    check.equal(x[0]:totable(), { 0, 1, 2, 3 }, "the original")
    check.equal(x:at { {}, { 0, 4, 3 } }:add(100)[0]:totable(), { 100, 1, 2, 103 })
    check.equal(x:at "1:, ::-1":set(np.array({ 1, 2, 3, 4 }, { dtype = "i32" })):totable(),
                { { 0, 1, 2, 3 }, { 4, 3, 2, 1 }, { 4, 3, 2, 1 } })
    check.equal(x:at { 1 }:mul(2)[1]:totable(), { 8, 10, 12, 14 })
    check.equal(x:at { 1 }:min(5)[1]:totable(), { 4, 5, 5, 5 })
    check.equal(x:at { 1 }:max(5)[1]:totable(), { 5, 5, 6, 7 })
    check.equal(x:at { 2, 1 }:get():item(), 9)
    check.equal(x:at { { 3 } }:set(1):totable(), x:totable(), "an empty part")
    local zeros = np.full({ 3 }, -0.0)
    check.equal(zeros:at { 0 }:set(-0.0):totable(), { -0.0, -0.0, -0.0 })
end)

check.test("changed copies at index arrays", function()
    local y = np.zeros(4)
    local at = y:at(np.array({ 1, 3, 1 }, { dtype = "i32" }))
    check.equal(at:set(np.array { 5, 6, 7 }):totable(), { 0, 7, 0, 6 })
    check.equal(at:add(np.array { 5, 6, 7 }):totable(), { 0, 12, 0, 6 })
    check.equal(at:max(np.array { 5, 6, -7 }):totable(), { 0, 5, 0, 6 })
    check.equal(at:min(np.array { 5, 6, -7 }):totable(), { 0, -7, 0, 0 })
    check.equal(y:at(np.array { true, false, false, true }):set(1):totable(), { 1, 0, 0, 1 })
    check.equal((y + 1):at(np.array({ 1, 3, 1 }, { dtype = "i32" })):mul(np.array { 2, 5, 7 }):totable(),
                { 1, 14, 1, 5 })
end)

check.test("gradients flow through updates", function()
    local function loss(a, v) return (a:at { { 1, 3 } }:set(v) * np.array { 1, 2, 3, 4 }):sum() end
    local ga, gv = np.grad(loss, { argnums = { 1, 2 } })(np.ones(4), np.ones(2))
    check.equal({ ga:totable(), gv:totable() }, { { 1, 0, 0, 4 }, { 2, 3 } })
    local function gather(a) return (a[np.array({ 0, 0, 2 }, { dtype = "i32" })] * np.array { 1, 2, 3 }):sum() end
    check.equal(np.grad(gather)(np.ones(3)):totable(), { 3, 0, 3 })
end)

check.test("errors", function()
    check.raises(function() return x[3] end, "index 3 is out of range for axis 0 of extent 3")
    check.raises(function() return x[{ 0, -5 }] end, "index %-5 is out of range for axis 1 of extent 4")
    check.raises(function() return x[{ 0, 0, 0 }] end, "3 indices for an array of 2 axes")
    check.raises(function() return x[{ { 0, 2, 0 } }] end, "step of a slice must not be 0")
    check.raises(function() return x[{ { 0.5 } }] end, "slices are made of integers")
    check.raises(function() return x[{ { from = 1 } }] end, "a slice is {from, to, step}")
    check.raises(function() return x[1.5] end, "must be an integer")
    check.raises(function() return x[np.ones(2)] end, "integers or bools, got dtype f32")
    check.raises(function() return x"1;2" end, "cannot read")
    check.raises(function() return x[{ np.ellipsis, np.ellipsis }] end, "only one ellipsis")
    check.raises(function() return x:at { 0 }:set(np.ones(3)) end, "does not broadcast")
    check.raises(function() return x:at { 0 }:set(0.5) end, "does not fit into dtype i32")
    check.raises(function() return np.take(x, { 7 }, { axis = 0 }) end, "index 7 is out of range")
end)

check.test("many places of every dtype count from the end, and are left out beyond it", function()
    local places = { 3, 0, 3, 7, 4 } -- of 4: the last two are out of range
    for _, dtype in ipairs { "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64" } do
        local i = np.array(places, { dtype = dtype })
        local add = function(to, at, v) return to:at{ at }:add(v) end
        for _, f in ipairs { add, np.jit(add) } do
            check.equal(f(np.zeros(4), i, np.array{ 1, 2, 4, 8, 16 }):totable(), { 2, 0, 0, 5 }, dtype)
        end
        local set = np.ones{ 2, 4 }:at{ {}, i }:set(np.array{ 1, 2, 3, 4, 5 })
        check.equal(set:totable(), { { 2, 1, 1, 3 }, { 2, 1, 1, 3 } }, dtype)
    end
    local ends = { i8 = -128, i16 = -32768, i32 = -2147483648, i64 = -9223372036854775807LL,
                   u32 = 4294967295, u64 = 18446744073709551615ULL }
    for dtype, far in pairs(ends) do
        local i = np.array({ far, 1 }, { dtype = dtype })
        check.equal(np.zeros(4):at{ i }:add(1):totable(), { 0, 1, 0, 0 }, dtype)
    end
    for _, dtype in ipairs { "i8", "i16", "i32", "i64" } do
        local i = np.array({ -1, -4, -5, 1 }, { dtype = dtype })
        check.equal(np.zeros(4):at{ i }:add(np.array{ 1, 2, 4, 8 }):totable(), { 2, 8, 0, 1 }, dtype)
        local gradient = np.grad(function(v) return (np.zeros(4):at{ i }:add(v) * np.array{ 1, 2, 3, 4 }):sum() end)
        check.equal(gradient(np.zeros(4)):totable(), { 4, 1, 0, 2 }, dtype)
        local each = np.vmap(function(at, v) return np.zeros(4):at{ at }:add(v) end)
        check.equal(each(np.stack{ i, i }, np.ones{ 2, 4 }):totable(), { { 1, 1, 0, 1 }, { 1, 1, 0, 1 } }, dtype)
    end
end)

check.test("a step past the end takes one element, however long it is", function()
    local pairs_of = np.arange(6):reshape(3, 2)
    for _, step in ipairs { 3, 2 ^ 40, 2 ^ 62, -2 ^ 62 } do
        local part = { { 1, step > 0 and 3 or nil, step } }
        check.equal(pairs_of[part]:totable(), { { 2, 3 } })
        local gradient = np.grad(function(v) return v[part]:sum() end)(np.ones { 3, 2 })
        check.equal(gradient:totable(), { { 0, 0 }, { 1, 1 }, { 0, 0 } })
    end
end)

check.done()
