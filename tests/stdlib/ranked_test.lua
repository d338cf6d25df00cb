--- ranked_test.lua (release build only): the element of each rank of a window (stdlib/neap/arrays/ranked.lua) is that
-- of np.sort, by a network and beyond its size, with ties, NaN and in all kinds of dtypes.
local check = require "tests.lib.check"
local np = require "neap"
local ranked_element = require "neap.arrays.ranked"

local function values(n, dtype)
    local x = np.random.randint(np.random.key(n), { 60 }, -3, 4)
    if dtype == "bool" then return np.greater(x, 0) end
    if dtype == "u8" then return np.astype(np.abs(x), dtype) end
    if dtype == "i64" then return np.astype(x, dtype) end
    return np.astype(np.where(np.equal(x, 3), np.nan, x), dtype)
end

check.test("each rank is that of np.sort", function()
    for k, n in ipairs { 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 25, 26 } do
        local x = values(n, ({ "f32", "i64", "f64", "u8", "f16", "bool" })[k % 6 + 1])
        local sorted = np.sort(np.sliding_window_view(x, n), { axis = -1 })
        for at = 0, n - 1 do
            local equal = np.array_equal(ranked_element(x, { n }, at), sorted[{ {}, at }], { equal_nan = true })
            check.ok(equal, ("rank %d of %d, %s"):format(at, n, x.dtype))
        end
    end
end)

check.test("windows of several axes", function()
    local x = np.random.normal(np.random.key(1), { 6, 7, 3 })
    local flat = np.reshape(np.sliding_window_view(x, { 2, 3, 1 }), { 5, 5, 3, 6 })
    local sorted = np.sort(flat, { axis = -1 })
    for at = 0, 5 do
        check.ok(np.array_equal(ranked_element(x, { 2, 3, 1 }, at), sorted[{ {}, {}, {}, at }]), at)
    end
end)

check.done()
