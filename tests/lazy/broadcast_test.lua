--- broadcast_test.lua: what is said of shapes that do not broadcast: the axis at which they differ, and a remedy where
-- one is sure to fit; and that each remedy fits.
local check = require "tests.lib.check"

local ones = np.ones

local function add(x, y) return x + y end

--- What an error of these shapes says behind "do not broadcast"; nil: they do.
local function said(left, right)
    local ok, message = pcall(add, ones(left), ones(right))
    return not ok and message:match "do not broadcast(.*)$" or nil
end

check.test("shapes of two operands", function()
    for _, row in ipairs {
        { { 4 }, { 4, 3 }, ": 4 meets 3 at axis -1; (4,) fits as x:reshape(4, 1)" },
        { { 4, 3 }, { 4 }, ": 3 meets 4 at axis -1; (4,) fits as x:reshape(4, 1)" },
        { { 8 }, { 2, 8, 5, 6 }, ": 8 meets 6 at axis -1; (8,) fits as x:reshape(8, 1, 1)" },
        { { 2, 3 }, { 2, 3, 5 }, ": 3 meets 5 at axis -1; (2, 3) fits as x:reshape(2, 3, 1)" },
        { { 2, 5 }, { 2, 3, 5 }, ": 2 meets 3 at axis -2; (2, 5) fits as x:reshape(2, 1, 5)" },
        { { 3, 1 }, { 4, 3 }, ": 3 meets 4 at axis -2; (3, 1) fits as x:reshape(1, 3)" },
        { { 3, 4 }, { 4, 3 }, ": 4 meets 3 at axis -1; (3, 4) fits as x.T" },
        { { 4 }, { 4, 4, 3 }, ": 4 meets 3 at axis -1" }, -- it may be either axis
        { { 2, 2 }, { 3, 3 }, ": 2 meets 3 at axis -1" },
        { { 5 }, { 4, 3 }, ": 5 meets 3 at axis -1" },
        { { 3 }, { 4 }, "" },
    } do
        check.equal(said(row[1], row[2]), row[3])
    end
end)

check.test("of three operands the two that differ are told, and no remedy that a third one refuses", function()
    local mask = ones(4):gt(0)
    check.raises(function() return np.where(mask, ones(4, 3), 0) end, "%(4,%) fits as x:reshape%(4, 1%)$")
    check.raises(function() return np.where(mask, ones(4, 3), ones(2)) end, "4 meets 3 at axis %-1$")
    check.raises(function() return np.where(ones(1):gt(0), ones(3), ones(4)) end, "shapes %(3,%) and %(4,%) do not")
end)

check.test("shapes that are to become a certain one", function()
    local remedy = "; %(4,%) fits as x:reshape%(4, 1%)$"
    check.raises(function() return np.broadcast_to(ones(4), { 4, 3 }) end, "broadcast to %(4, 3%)" .. remedy)
    check.raises(function() return ones(4, 3):at {}:set(ones(4)) end, "the part of shape %(4, 3%)" .. remedy)
    check.raises(function() return ones(4, 3):sum { where = ones(4):gt(0) } end, "the array's %(4, 3%)" .. remedy)
    check.raises(function() return np.broadcast_shapes({ 4 }, { 4, 3 }) end, "do not broadcast" .. remedy)
    check.raises(function() return np.broadcast_shapes({ 4, 3 }, { 4 }) end, "do not broadcast" .. remedy)
    check.raises(function() return np.broadcast_shapes({ 4, 3 }, { 4 }, { 1 }) end, "do not broadcast$")
    check.raises(function() return np.broadcast_to(ones(3), { 4 }) end, "broadcast to %(4,%)$")
end)

check.test("each remedy fits", function()
    local random, told = math.random, 0
    math.randomseed(11)
    local function drawn()
        local shape = {}
        for axis = 1, random(1, 4) do shape[axis] = random(1, 4) end
        return shape
    end
    for _ = 1, 3000 do
        local one, two = drawn(), drawn()
        local text = said(one, two)
        local of, remedy = (text or ""):match "; (%b()) fits as (x.*)$"
        if of then
            told = told + 1
            local mend = assert(load("local x = ... return " .. remedy))
            local function is_told(shape)
                return of == "(" .. table.concat(shape, ", ") .. (#shape == 1 and ",)" or ")")
            end
            local fits = is_told(one) and pcall(add, mend(ones(one)), ones(two))
                or is_told(two) and pcall(add, ones(one), mend(ones(two)))
            check.ok(fits, text)
        end
    end
    check.ok(told > 100, told)
end)

check.done()
