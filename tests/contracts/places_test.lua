--- places_test.lua: contracts of functions that give places, or write at the places of masks and diagonals.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "places"
local moves = require "tests.lib.contract_moves"

local rest = moves.rest
local function moving(name, fields) of(name, moves.contract(fields)) end
local NO_SLOPE = { derivatives = "places are no numbers to derive" }

of("np.ix_", {
    args = { { "x", dtype = "i32" }, { "y", dtype = "i32" } }, accepts = "i32", gives = "i32",
    shapes = { { { 3 }, { 2 } }, { { 1 }, { 4 } }, { { 0 }, { 2 } } }, oracle = "np.ix_(x, y)",
    without = { special = "indices are integers of i32", derivatives = NO_SLOPE.derivatives,
                numbers = "each argument stands alone" },
    also = {
        ["bools, tables and other integers"] = function()
            local i, j = np.ix_(np.array { true, false, true }, { 3, 1 })
            check.equal({ i:totable(), j:totable() }, { { { 0 }, { 2 } }, { { 3, 1 } } })
            local k = np.ix_(np.array({ 2LL ^ 53 + 1 }, { dtype = "i64" }))
            check.equal(tostring(k:item()), tostring(2LL ^ 53 + 1))
        end,
    },
})
for _, name in ipairs { "tril_indices_from", "triu_indices_from" } do
    of("np." .. name, {
        args = { "x" }, accepts = "f32 i32 bool", gives = "i32", shapes = { { { 3, 4 } }, { { 3, 2 } }, { { 0, 2 } } },
        options = { { k = 0 }, { k = 1 }, { k = -1 } },
        call = function(f, o, x) return f(x, o.k, rest(o, "k")) end,
        oracle = ("np.%s(x, o['k'])"):format(name),
        without = { special = "elements are not looked at", derivatives = NO_SLOPE.derivatives },
    })
end
of("np.diag_indices_from", {
    args = { "x" }, accepts = "f32 i32 bool", gives = "i32", shapes = { { { 3, 3 } }, { { 2, 2, 2 } }, { { 0, 0 } } },
    oracle = "np.diag_indices_from(x)",
    without = { special = "elements are not looked at", derivatives = NO_SLOPE.derivatives },
})
elsewhere("np.mask_indices np.ndindex np.ndenumerate", "tests/stdlib/places_test.lua",
          "they take a function of the user's, or are iterators for loops")

-- ---- Values at places -----------------------------------------------------------------------------------------------

local VALUES = {
    ["what does not fit raises"] = function()
        local m = np.array { true, false }
        for _, value in ipairs { 300, 2.5, -1, np.nan } do
            local text = value ~= value and "[Nn]a[Nn]" or tostring(value)
            check.raises(function() np.place(np.zeros(2, { dtype = "u8" }), m, value) end, text)
            check.raises(function() np.putmask(np.zeros(2, { dtype = "u8" }), m, { value, 1 }) end, text)
            check.raises(function() np.fill_diagonal(np.zeros({ 2, 2 }, { dtype = "u8" }), value) end, text)
        end
        check.raises(function() np.place(np.zeros(2), m, 1i) end, "complex number")
    end,
    ["64-bit integers"] = function()
        local x = np.fill_diagonal(np.zeros({ 1, 1 }, { dtype = "u64" }), -1ULL)
        check.equal(tostring(x:item()), tostring(-1ULL))
        x = np.putmask(np.zeros({ 1 }, { dtype = "i64" }), { true }, { 2LL ^ 53 + 1 })
        check.equal(tostring(x:item()), tostring(2LL ^ 53 + 1))
    end,
}
for _, name in ipairs { "place", "putmask" } do
    moving("np." .. name, {
        args = { "x", { "m", dtype = "bool" }, "v" },
        shapes = { { { 2, 5 }, { 2, 5 }, { 4 } }, { { 3, 2 }, { 3, 2 }, { 1 } }, { { 4 }, { 4 }, {} },
                   { { 2, 3 }, { 2, 3 }, { 7 } }, { {}, {}, { 2 } } },
        oracle = ("%s(x, m, v)"):format(name), also = VALUES,
    })
end
moving("np.fill_diagonal", {
    args = { "x", "v" }, shapes = { { { 5, 3 }, { 2 } }, { { 3, 4 }, {} }, { { 2, 2, 2 }, { 2 } }, { { 0, 2 }, {} } },
    options = { {}, { wrap = true } }, oracle = "fill_diagonal(x, v, **o)", also = VALUES,
})

finish()
