--- unique_rows_test.lua (under tsan with --long): np.unique along an axis: rows in the order of words, each with its
-- first place, its inverse and its count.
local check = require "tests.lib.check"
local np = require "neap"

local key = np.random.key(11)

local function less(a, b)
    for k = 1, #a do
        if a[k] ~= b[k] then return a[k] < b[k] end
    end
    return false
end

local function number(x) return type(x) == "boolean" and (x and 1 or 0) or x end

local function words(x)
    local list = x:totable()
    for _, row in ipairs(list) do
        for k = 1, #row do row[k] = number(row[k]) end
    end
    return list
end

check.test("all dtypes, few and many columns, with runs and without", function()
    for _, dtype in ipairs { "bool", "u8", "i16", "i32", "i64", "f16", "f32", "f64" } do
        for _, dims in ipairs { { 60, 3 }, { 7, 1 }, { 200, 8 }, { 1, 4 } } do
            local x = np.random.randint(np.random.fold_in(key, dims[1]), dims, 0, 2):astype(dtype)
            local values, index, inverse, counts = np.unique(x, { axis = 0, return_index = true, return_inverse = true,
                                                                  return_counts = true })
            check.equal(values.dtype, dtype)
            local rows, found = words(x), words(values)
            index, inverse, counts = index:totable(), inverse:totable(), counts:totable()
            local first, count = {}, {}
            for k, row in ipairs(rows) do
                local at = inverse[k] + 1
                check.equal(found[at], row)
                first[at], count[at] = first[at] or k - 1, (count[at] or 0) + 1
            end
            check.equal(index, first)
            check.equal(counts, count)
            for k = 2, #found do check.ok(less(found[k - 1], found[k]), "order") end
        end
    end
end)

check.test("NaN last, zeros of both signs are equal", function()
    local nan = np.nan
    local x = np.array { { 1, nan }, { nan, 0 }, { 1, -5 }, { -0.0, 2 }, { 0.0, 1 }, { 1, nan } }
    local found = np.unique(x, { axis = 0 })
    check.equal(found.shape, { 5, 2 })
    check.equal(np.where(np.isnan(found), 9, found):totable(), { { 0, 1 }, { -0, 2 }, { 1, -5 }, { 1, 9 }, { 9, 0 } })
    check.equal(np.unique(np.zeros { 3, 0 }, { axis = 0 }).shape, { 1, 0 })
    check.equal(np.unique(np.zeros { 0, 2 }, { axis = 0 }).shape, { 0, 2 })
end)

check.done()
