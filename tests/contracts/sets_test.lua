--- sets_test.lua: contracts of functions that find the different elements of arrays.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "sets"

local ALL = "floats ints bool complex"
local function sized(o) return not o.size end

--- Few different numbers.
local function few(random, dims, dtype)
    local x = np.zeros(dims, { dtype = dtype }):ravel()
    for k = 0, x.size - 1 do x = x:at { k }:set(dtype == "bool" and random(2) == 1 or random(3)) end
    return x:reshape(dims)
end
local TIES = "where elements become different their number jumps; where they are, a test of its own has derivatives"
local FEW = "numbers are few, so that some are equal; NaN and zeros are in tests of their own"

of("np.unique", {
    args = { { "x", make = few } }, accepts = ALL,
    gives = function(dtype) return dtype end, any_dtype = true,
    shapes = { { { 2, 4 } }, { { 3, 2 } }, { { 6 } }, { { 0 } } },
    options = { { size = 3 }, {}, { return_index = true, return_inverse = true, return_counts = true },
                { size = 2, fill_value = 7 }, { axis = 0 }, { axis = -1, return_counts = true },
                    { return_counts = true },
                { size = 5, return_index = true, return_inverse = true, return_counts = true }, { equal_nan = false } },
    waits = sized, within = "exact",
    oracle = "unique(x, **o)",
    without = { special = FEW, derivatives = TIES },
    also = {
        ["derivatives where elements are different"] = function()
            local x, w = np.array({ 3, 1, 2 }, { dtype = "f64" }), np.array({ 1, 2, 4 }, { dtype = "f64" })
            local function f(z) return (np.unique(z, { size = 3 }) ^ 2 * w):sum() end
            check.equal(np.grad(f)(x):totable(), { 24, 2, 8 })
            check.equal(np.hessian(f)(x):diagonal():totable(), { 8, 2, 4 })
            check.equal(np.grad(function(z) return (np.unique(z) * w):sum() end)(x):totable(), { 4, 1, 2 })
        end,
        ["NaN"] = function()
            local x = np.array { np.nan, 1, np.nan }
            check.equal(np.unique(x).size, 2)
            check.equal(np.unique(x, { equal_nan = false }).size, 3)
        end,
        ["both zeros are one element, the one that is first"] = function()
            for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
                local x = np.array({ 0.0, -0.0, 0.0 }, { dtype = dtype })
                check.equal(1 / np.unique(x):item(), math.huge)
                check.equal(np.unique(x).size, 1)
                local v, i = np.unique(-x, { return_index = true })
                check.equal({ 1 / v:item(), i:item() }, { -math.huge, 0 })
            end
        end,
        ["dtypes of results"] = function()
            for _, dtype in ipairs { "f16", "f64", "i64", "u8", "bool", "c64" } do
                local v, i, n, c = np.unique(np.ones(2, { dtype = dtype }),
                                             { return_index = true, return_inverse = true, return_counts = true })
                check.equal({ v.dtype, i.dtype, n.dtype, c.dtype }, { dtype, "i32", "i32", "i32" })
            end
        end,
    },
})
for name, row in pairs {
    unique_values = { "same" }, unique_counts = { "same", "i32" }, unique_inverse = { "same", "i32" },
    unique_all = { "same", "i32", "i32", "i32" },
} do
    of("np." .. name, {
        args = { { "x", make = few } }, accepts = ALL, gives = row, within = "exact",
        shapes = { { { 2, 4 } }, { { 3, 2 } }, { { 6 } }, { { 0 } } },
        options = { { size = 3 }, {}, { size = 2, fill_value = 7 } }, waits = sized,
        oracle = ("unique_kin(x, %q, **o)"):format(name), without = { special = FEW, derivatives = TIES },
        also = { ["all NaNs are different"] = function()
            check.equal((np[name](np.array { np.nan, 1, np.nan })).size, 3)
        end },
    })
end

-- ---- Membership and sets --------------------------------------------------------------------------------------------

for _, name in ipairs { "isin", "in1d" } do
    of("np." .. name, {
        args = { { "x", make = few }, { "y", make = few } }, accepts = ALL, gives = "bool",
        shapes = { { { 2, 4 }, { 2 } }, { { 5 }, { 20 } }, { {}, { 2 } }, { { 3 }, {} }, { { 0 }, { 2 } }, { { 3 },
            { 0 } } },
        options = { {}, { invert = true }, { assume_unique = false } },
        oracle = name == "isin" and "np.isin(x, y, **o)" or "np.ravel(np.isin(x, y, **o))",
        without = { special = FEW, derivatives = "bools are no numbers to derive",
                    numbers = "a test of its own has them beside each dtype" },
        also = {
            ["numbers and tables"] = function()
                local f = np[name]
                check.equal(f(np.array({ 0.1, 0.2 }, { dtype = "f64" }), { 0.1 }):totable(), { true, false })
                check.equal(f(np.array({ 0.1, 0.2 }, { dtype = "f64" }), 0.2):totable(), { false, true })
                check.equal(f({ 0.1, 0.3 }, np.array({ 0.1, 0.2 }, { dtype = "f64" })):totable(), { true, false })
                local i = np.array({ 16777217, 5 }, { dtype = "i32" })
                check.equal(f(i, { 16777216, 5 }):totable(), { false, true })
                check.equal(f(i, { 5.5, 16777216 }):totable(), { false, false })
                check.equal(f(np.array({ 44, 1 }, { dtype = "u8" }), { 300, -255, 1 }):totable(), { false, true })
                check.equal(f(np.array({ 2LL ^ 53 + 1, 1 }, { dtype = "i64" }), { 2LL ^ 53 + 1 }):totable(), { true,
                    false })
                check.equal(f(np.array({ true, false }), { 1, 2 }):totable(), { true, false })
                local many = {}
                for k = 1, 40 do many[k] = 16777216 - 40 + k end
                check.equal(f(i, many):totable(), { false, false })
            end,
            ["NaN is nowhere, both zeros are one"] = function()
                local x = np.array { np.nan, -0.0, np.inf }
                check.equal(np[name](x, { np.nan, 0, np.inf }):totable(), { false, true, true })
                local many = {}
                for k = 1, 40 do many[k] = k == 7 and np.nan or k == 8 and np.inf or k - 1 end
                check.equal(np[name](x, many):totable(), { false, true, true })
            end,
        },
    })
end
for name, oracle in pairs { intersect1d = "np.intersect1d(x, y, **o)", union1d = "np.union1d(x, y)",
                            setdiff1d = "np.setdiff1d(x, y)", setxor1d = "np.setxor1d(x, y)" } do
    local options = { {}, { assume_unique = false } }
    if name == "union1d" then options = nil end
    if name == "intersect1d" then options[3] = { return_indices = true } end
    of("np." .. name, {
        args = { { "x", make = few }, { "y", make = few } }, accepts = ALL, any_dtype = true,
            gives = function(t) return t end,
        within = "exact", shapes = { { { 2, 2 }, { 3 } }, { { 2 }, { 2 } }, { {}, { 2 } }, { { 0 }, { 2 } } },
        options = options, unseen = { assume_unique = "it is an option of the others",
                                      return_indices = "it is np.intersect1d's" },
        waits = function() return true end, oracle = oracle,
        without = { special = FEW, derivatives = TIES, numbers = "a test of its own has them",
            jit = "it waits for its arguments",
                    programs = "it waits for its arguments", vmap = "it waits for its arguments" },
        also = {
            ["derivatives where elements are different"] = function()
                local x = np.array({ 3, 1, 2 }, { dtype = "f64" })
                local g = np.grad(function(z)
                    local y = np[name](z, np.array({ 5, 2.5, 1 }, { dtype = "f64" }))
                    return (y * (np.arange(y.size) + 1)):sum()
                end)(x)
                -- 1; 1 2 2.5 3 5; 2 3; 2 2.5 3 5
                check.equal(g[0]:item(), ({ intersect1d = 0, union1d = 4, setdiff1d = 2, setxor1d = 3 })[name])
                check.equal(g[2]:item(), ({ intersect1d = 0, union1d = 2, setdiff1d = 1, setxor1d = 1 })[name])
            end,
            ["tables keep their digits, and results the dtype"] = function()
                local f = np[name]
                local i = f(np.array({ 16777217, 5 }, { dtype = "i32" }), { 16777216, 5 })
                check.equal(i.dtype, "i32")
                check.equal(i:totable(), ({ intersect1d = { 5 }, union1d = { 5, 16777216, 16777217 },
                                            setdiff1d = { 16777217 }, setxor1d = { 16777216, 16777217 } })[name])
                local d = f({ 0.1, 0.5 }, np.array({ 0.1 }, { dtype = "f64" }))
                check.equal(d.dtype, "f64")
                check.equal(d:totable(), ({ intersect1d = { 0.1 }, union1d = { 0.1, 0.5 }, setdiff1d = { 0.5 },
                                            setxor1d = { 0.5 } })[name])
            end,
        },
    })
end

finish()
