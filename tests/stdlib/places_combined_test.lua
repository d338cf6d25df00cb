--- places_combined_test.lua (under tsan with --long): x:at{i}:mul, max, min and segment_prod where places are named
-- several times, against a loop over the updates; their derivatives; np.bincount against a loop.
local check = require "tests.lib.check"
local np = require "neap"

local key = np.random.key(5)
local function i32(list) return np.array(list, { dtype = "i32" }) end

local COMBINE = {
    add = function(a, b) return a + b end, mul = function(a, b) return a * b end,
    max = math.max, min = math.min, set = function(_, b) return b end,
}

--- Rows of x, a table of tables, combined with rows of values at places; those out of range are left out.
local function by_loop(x, places, values, how)
    for k, place in ipairs(places) do
        local row = x[(place < 0 and place + #x or place) + 1]
        for i = 1, row and #row or 0 do row[i] = COMBINE[how](row[i], values[k][i]) end
    end
    return x
end

check.test("updates of repeated places come in order", function()
    for _, dtype in ipairs { "f32", "f64", "i32", "u8", "i64", "f16" } do
        local x = np.random.randint(key, { 7, 3 }, 1, 5):astype(dtype)
        local places = np.random.randint(np.random.fold_in(key, 1), { 40 }, -9, 9)
        local values = np.random.randint(np.random.fold_in(key, 2), { 40, 3 }, 1, 3):astype(dtype)
        for how in pairs(COMBINE) do
            local at = x:at { places }
            local got = at[how](at, values)
            check.equal(got.dtype, dtype)
            if how ~= "mul" or dtype ~= "u8" and dtype ~= "f16" then -- where products fit
                local wanted = by_loop(x:totable(), places:totable(), values:totable(), how)
                check.equal(got:totable(), wanted, how .. " of " .. dtype)
            end
        end
    end
    local x = np.array { { true, false }, { true, true } }
    local more = np.array { { true, true }, { false, true }, { true, false } }
    check.equal(x:at { i32 { 0, 1, 1 } }:mul(more):totable(), { { true, false }, { false, false } })
    check.equal(x:at { i32 { 0, 1, 1 } }:max(more):totable(), { { true, true }, { true, true } })
end)

check.test("NaN wins, and of zeros the positive one is greater", function()
    local x = np.array { 1, -0.0, 5 }
    local got = x:at { i32 { 0, 0, 1, 1 } }:max(np.array { np.nan, 7, 0.0, -0.0 })
    check.equal(tostring(got), "[nan  0.  5.]")
    check.equal(1 / got[1]:item(), math.huge)
    check.equal(1 / np.zeros(1):at { i32 { 0, 0 } }:min(np.array { 0.0, -0.0 })[0]:item(), -math.huge)
end)

check.test("several index arrays, a slice, and an axis that is not the first", function()
    local x = np.ones { 2, 3 } * 2
    local i, j = i32 { 0, 1, 0, 0 }, i32 { 2, 0, 2, -1 }
    check.equal(x:at { i, j }:mul(np.array { 2, 3, 4, 5 }):totable(), { { 2, 2, 80 }, { 6, 2, 2 } })
    check.equal(x:at { i, j }:max(np.array { 1, 3, 4, 3 }):totable(), { { 2, 2, 4 }, { 3, 2, 2 } })
    local columns = x:at { {}, i32 { 1, 1, 5 } }:mul(np.array { { 1, 2, 3 }, { 4, 5, 6 } })
    check.equal(columns:totable(), { { 2, 4, 2 }, { 2, 40, 2 } })
    check.equal(x:at { i, { 0, 2 } }:min(np.arange(8):reshape(4, 2)):totable(), { { 0, 1, 2 }, { 2, 2, 2 } })
end)

check.test("derivatives: zeros, places out of range, equal ones", function()
    local places = i32 { 0, 7, 0, -9, 2 }
    local v = np.array { 2, 3, 0, 4, 5 }
    local x = np.array { 3, 1, 10 }
    local function weighed(how)
        return function(a, b)
            local at = a:at { places }
            return (at[how](at, b) * np.array { 1, 10, 100 }):sum()
        end
    end
    local gx, gv = np.grad(weighed "mul", { argnums = { 1, 2 } })(x, v)
    check.equal(gx:totable(), { 0, 10, 500 })
    check.equal(gv:totable(), { 0, 0, 6, 0, 1000 })
    gx, gv = np.grad(weighed "add", { argnums = { 1, 2 } })(x, v)
    check.equal(gx:totable(), { 1, 10, 100 })
    check.equal(gv:totable(), { 1, 0, 1, 0, 100 })
    gx, gv = np.grad(weighed "max", { argnums = { 1, 2 } })(np.array { 2, 1, 10 }, v)
    check.equal(gx:totable(), { 0.5, 10, 100 })
    check.equal(gv:totable(), { 0.5, 0, 0, 0, 0 })
    -- d² (x v0 v2) / dv0 dv2 = x, though v2 is 0.
    local second = np.hessian(function(b) return weighed "mul"(x, b) end)(v)
    check.equal(second[0][2]:item(), 3)
    local _, tangent = np.jvp(weighed "mul", { x, v }, { np.ones(3), np.ones(5) })
    check.equal(tangent:item(), 0 + 10 + 500 + 0 + 6 + 1000)
end)

check.test("segment_prod", function()
    local x = np.array { { 1, 2 }, { 3, 0 }, { 5, 6 }, { 7, 8 } }
    check.equal(np.segment_prod(x, { 1, 0, 1, -1 }, 3):totable(), { { 3, 0 }, { 5, 12 }, { 1, 1 } })
    local many = np.random.uniform(key, { 5000 }, { minval = 0.9, maxval = 1.1, dtype = "f64" })
    local labels = np.random.randint(np.random.fold_in(key, 3), { 5000 }, 0, 7)
    local logs = np.segment_sum(np.log(many), labels, 7)
    check.close(np.segment_prod(many, labels, 7):totable(), np.exp(logs):totable(), 1e-12)
    check.equal(np.jit(function(a) return np.segment_prod(a, labels, 7) end)(many):totable(),
                np.segment_prod(many, labels, 7):totable())
    local batch = np.vmap(function(a) return np.segment_prod(a, { 0, 1, 0, 2 }, 3) end)(x.T)
    check.equal(batch:totable(), { { 5, 3, 7 }, { 12, 0, 8 } })
end)

local SEGMENTS = { sum = { "add", 0 }, prod = { "mul", 1 }, max = { "max", -100 }, min = { "min", 100 } }

--- Rows of x by label, from the neutral rows on, without the library's indices.
local function segments_by_loop(x, labels, n, how)
    local method, neutral = unpack(SEGMENTS[how])
    local kept, places, rows = {}, {}, {}
    for k = 1, n do rows[k] = { neutral, neutral } end
    for k, label in ipairs(labels) do
        if label >= 0 and label < n then kept[#kept + 1], places[#places + 1] = x[k], label end
    end
    return by_loop(rows, places, kept, method)
end

check.test("labels outside are left out: all dtypes, many and few, long and short rows", function()
    for _, dtype in ipairs { "i8", "i16", "i32", "i64", "u8", "u32", "u64" } do
        for _, n in ipairs { 3, 300 } do
            for _, count in ipairs { 3, 4, 5, 90, 5000 } do
                local low = dtype:find "^u" and 0 or -100
                local labels = np.random.randint(key, { count }, low, 100):astype(dtype)
                local x = np.random.randint(np.random.fold_in(key, count), { count, 2 }, -1, 2):astype "f64"
                for how, of in pairs(SEGMENTS) do
                    local wanted = segments_by_loop(x:totable(), labels:totable(), n, how)
                    local got = np["segment_" .. how](x, labels, n)
                    got = np.clip(got, -100, 100) -- where there was none
                    check.equal(got:totable(), wanted, ("%s %s into %d, %d"):format(of[1], dtype, n, count))
                end
            end
        end
    end
    local ends = np.array({ 0, -2147483647 - 1, 2147483647, -1, 1, -2 }, { dtype = "i32" })
    check.equal(np.segment_sum(np.ones(6), ends, 2):totable(), { 1, 1 })
    check.equal(np.segment_sum(np.ones(6), np.bitwise_left_shift(ends:astype "i64", 32), 2):totable(), { 1, 0 })
end)

check.test("labels outside are left out: derivatives, batches, jit", function()
    local labels = np.array({ 1, -1, 0, 2, -3, 1 }, { dtype = "i32" })
    local x, weights = np.array { 1, 2, 3, 4, 5, 6 }, np.array { 10, 100 }
    for how, wanted in pairs {
        sum = { 100, 0, 10, 0, 0, 100 }, prod = { 600, 0, 10, 0, 0, 100 }, max = { 0, 0, 10, 0, 0, 100 },
        min = { 100, 0, 10, 0, 0, 0 },
    } do
        local segment = np["segment_" .. how]
        local function f(a) return (segment(a, labels, 2) * weights):sum() end
        check.equal(np.grad(f)(x):totable(), wanted, how)
        local _, tangent = np.jvp(f, { x }, { np.ones(6) })
        check.equal(tangent:item(), np.array(wanted):sum():item(), how)
        check.equal(np.jit(np.grad(f))(x):totable(), wanted, how)
        local many, shifted = np.stack { x, x * 2 }, np.stack { labels, labels - 1 }
        local both = np.vmap(function(a, l) return segment(a, l, 2) end)(many, shifted)
        local one = np.vmap(function(a) return segment(a, labels, 2) end)(many)
        for k = 0, 1 do
            check.equal(both[k]:totable(), segment(many[k], shifted[k], 2):totable(), how)
            check.equal(one[k]:totable(), segment(many[k], labels, 2):totable(), how)
        end
    end
end)

check.test("counts: all dtypes, long lines in parts, many bins, none", function()
    for _, dtype in ipairs { "u8", "i8", "i16", "u16", "i32", "u32", "i64", "u64" } do
        local x = np.random.randint(key, { 3000 }, 0, 100):astype(dtype)
        for _, n in ipairs { 100, 20, 5000 } do
            local wanted = {}
            for k = 1, n do wanted[k] = 0 end
            for _, value in ipairs(x:totable()) do
                if value < n then wanted[value + 1] = wanted[value + 1] + 1 end
            end
            check.equal(np.bincount(x, { length = n }):totable(), wanted, dtype)
        end
    end
    check.equal(np.bincount({ -1, 0, 2, -300, 2 }, { length = 3 }):totable(), { 1, 0, 2 })
    check.equal(np.bincount(i32 {}, { minlength = 2 }):totable(), { 0, 0 })
    local long = np.random.randint(key, { 3e5 }, 0, 50)
    local counts = np.bincount(long)
    check.equal(counts.dtype, "i32")
    check.equal(counts:totable(), np.bincount(long, { weights = np.ones { 3e5 } }):totable())
    check.equal(np.bincount(long * 70000):sum():item(), 3e5)
    local counted = np.vmap(function(a) return np.bincount(a, { length = 2 }) end)(i32 { { 0, 1, 1 }, { 5, 0, 0 } })
    check.equal(counted:totable(), { { 1, 2 }, { 2, 0 } })
end)

check.done()
