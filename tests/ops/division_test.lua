-- division_test.lua (under tsan with --long): quotients and remainders of integers against exact ones: all pairs of 8
-- bits; of more bits all pairs of the numbers around powers of two, around the ends, and of random ones of every
-- length. C's fmod is exact, and so is the quotient of what it leaves.
package.path = "./?.lua;" .. package.path
local check = require "tests.lib.check"

local BITS = { i8 = 7, u8 = 8, i16 = 15, u16 = 16, i32 = 31, u32 = 32 }
local RANDOM = 2 -- of each length
math.randomseed(tonumber(os.getenv "NEAP_TEST_SEED") or 11)

--- The numbers that an integer dtype is tried with.
local function numbers(dtype)
    local bits, signed = BITS[dtype], dtype:sub(1, 1) == "i"
    local low, high = signed and -2 ^ bits or 0, 2 ^ bits - 1
    local list, seen = {}, {}
    local function add(value)
        if value < low or value > high or seen[value] then return end
        seen[value] = true
        list[#list + 1] = value
    end
    for k = 0, bits do
        local around = bits <= 8 and 2 ^ k or 1
        for off = -around, around do
            add(2 ^ k + off)
            add(-2 ^ k + off)
        end
        for _ = 1, RANDOM do
            local value = math.random(0, 2 ^ k - 1)
            add(value)
            add(-value)
        end
    end
    return list
end

--- The number that a dtype keeps of one: MIN // -1 wraps around.
local function wrapped(value, dtype)
    return value > 2 ^ BITS[dtype] - 1 and value - 2 ^ (BITS[dtype] + 1) or value
end

--- floor_divide, remainder and fmod of two numbers, exactly.
local function exact(a, b, dtype)
    if b == 0 then return 0, 0, 0 end
    local rest = math.fmod(a, b)
    local floored = rest ~= 0 and (rest < 0) ~= (b < 0) and rest + b or rest
    return wrapped((a - floored) / b, dtype), floored, rest
end

for dtype in pairs(BITS) do
    check.test("integers of " .. dtype, function()
        local list = numbers(dtype)
        local all = np.array(list, { dtype = dtype })
        local a, b = all:reshape(#list, 1), all:reshape(1, #list)
        local results = { np.floor_divide(a, b):totable(), np.remainder(a, b):totable(), np.fmod(a, b):totable() }
        local wrong = 0
        for i, x in ipairs(list) do
            for j, y in ipairs(list) do
                local expected = { exact(x, y, dtype) }
                for k = 1, 3 do
                    if results[k][i][j] ~= expected[k] then
                        wrong = wrong + 1
                        if wrong < 4 then print(dtype, k, x, y, results[k][i][j], expected[k]) end
                    end
                end
            end
        end
        check.equal(wrong, 0)
        local scalar = list[math.floor(#list / 2)]
        check.equal(np.array_equal(np.floor_divide(all, scalar),
            np.floor_divide(all, np.full({ #list }, scalar, { dtype = dtype }))), true)
    end)
end
check.done()
