--- select_test.lua: contracts of functions that choose, order and compare elements.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "select"
local moves = require "tests.lib.contract_moves"

local rest = moves.rest
local function moving(name, fields) of(name, moves.contract(fields)) end
local ALL = "floats complex ints bool"
local WAITS = { jit = "it waits for its arguments", programs = "it waits for its arguments",
                vmap = "it waits for its arguments" }
local function waiting(more)
    local without = {}
    for way, reason in pairs(WAITS) do without[way] = reason end
    for way, reason in pairs(more or {}) do without[way] = reason end
    return without
end

-- ---- Elements at indices --------------------------------------------------------------------------------------------

moving("np.take", {
    args = { "x", { "i", dtype = "i32", from = -3, to = 2 } },
    shapes = { { { 3, 4 }, { 2 } }, { { 3, 3 }, { 2, 2 } }, { { 5 }, {} }, { { 3 }, { 0 } } },
    options = { {}, { axis = 1 }, { axis = 0, mode = "clip" }, { axis = -1, mode = "wrap" }, { mode = "raise",
        axis = 0 },
                { mode = "fill", axis = 0, fill_value = 7 } },
    waits = function(o) return o.mode == "raise" end,
    oracle = "take(x, i, **o)",
    without = { numbers = "indices are no numbers that meet x" },
    also = {
        ["places out of range"] = function()
            local x, i = np.array { 1, 2, 3 }, np.array({ 5, -9, 1 }, { dtype = "i32" })
            check.equal(np.take(x, i, { mode = "wrap" }):totable(), { 3, 1, 2 })
            check.equal(np.take(x, i, { mode = "clip" }):totable(), { 3, 1, 2 })
            check.equal(np.take(x, i, { mode = "fill", fill_value = 0 }):totable(), { 0, 0, 2 })
            check.raises(function() np.take(x, i, { mode = "raise" }) end, "5 is out of range")
        end,
    },
})
moving("np.take_along_axis", {
    args = { "x", { "i", dtype = "i32", from = -3, to = 2 } },
    shapes = { { { 3, 4 }, { 2, 4 } }, { { 3, 3 }, { 3, 3 } }, { { 3, 2 }, { 3, 1 } }, { { 3, 2 }, { 0, 2 } } },
    options = { { axis = 0 }, { axis = -2, mode = "wrap" }, { axis = 0, mode = "raise" },
                { axis = 0, mode = "clip" }, { axis = 0, mode = "fill", fill_value = 3 } },
    waits = function(o) return o.mode == "raise" end,
    oracle = "np.take_along_axis(x, i, o['axis'])",
    without = { numbers = "indices are no numbers that meet x" },
})
of("np.where", {
    args = { { "c", dtype = "bool", number = false }, "x", "y" }, accepts = ALL, gives = "same", within = "exact",
    special = "together",
    shapes = { { { 10 }, { 10 }, { 10 } }, { { 2, 1 }, { 3 }, {} }, { {}, {}, { 3 } }, { { 3 }, {}, { 3 } },
               { { 0 }, { 0 }, {} }, { { 3 }, { 3 }, {} } },
    oracle = "np.where(c, x, y)",
    also = {
        ["numbers on both sides stay numbers"] = function()
            local c, x = np.array { true, false }, np.ones(2, { dtype = "u8" })
            check.equal((np.where(c, 1, 0) * x).dtype, "u8")
            check.equal(np.where(c, 0.5, 2):totable(), { 0.5, 2 })
            check.equal(np.where({ true, false }, { 1, 2 }, x).dtype, "u8")
            check.equal(np.where(true, 0.1, np.zeros(1, { dtype = "f64" })):item(), 0.1)
            check.equal(tostring(np.where(false, np.zeros(1, { dtype = "u64" }), -1ULL):item()), tostring(-1ULL))
        end,
    },
})
of("np.clip", {
    args = { "x", { "lo", from = -2, to = 0 }, { "hi", from = 0, to = 2 } }, accepts = "floats ints", gives = "same",
    within = "exact",
    shapes = { { { 5 }, { 5 }, { 5 } }, { { 2, 3 }, {}, {} }, { {}, {}, {} }, { { 0 }, {}, {} }, { { 2, 1 }, { 3 },
        {} } },
    options = { {}, { only = "min" }, { only = "max" } },
    unseen = { min = "it is what `only` makes", max = "it is what `only` makes" },
    call = function(f, o, x, lo, hi)
        if o.only == "min" then return f(x, { min = lo, nonsense = o.nonsense }) end
        if o.only == "max" then return f(x, { max = hi, nonsense = o.nonsense }) end
        return f(x, lo, hi, rest(o, ""))
    end,
    oracle = "np.clip(x, lo if o.get('only') != 'max' else None, hi if o.get('only') != 'min' else None)",
    derivative = "jnp.clip(x, lo, hi)",
    points = { { { -1, 0, 1 }, { -1, -1, -1 }, { 1, 1, 1 } }, { { 2, -2 }, { 2, 2 }, { 2, 2 } }, { { 2 }, { 1 },
        { 0 } } },
    also = {
        ["limits beyond a dtype limit nothing"] = function()
            local x = np.array({ 5, 200 }, { dtype = "u8" })
            check.equal(np.clip(x, -1, 300):totable(), { 5, 200 })
            check.equal(np.clip(x, -1, 100):totable(), { 5, 100 })
            check.equal({ np.clip(x, -1, 100).dtype, np.clip(x, { max = 300 }).dtype }, { "u8", "u8" })
            check.raises(function() np.clip(x, 300, 400) end, "300")
        end,
        ["numbers and tables keep their digits"] = function()
            local x = np.array({ 0, 1 }, { dtype = "f64" })
            check.equal(np.clip(x, 0.1, 0.3):totable(), { 0.1, 0.3 })
            check.equal(np.clip(x, { 0.1, 0 }, { 1, 0.3 }):totable(), { 0.1, 0.3 })
            check.equal(np.clip(np.zeros(1, { dtype = "i64" }), 2LL ^ 53 - 1, 2LL ^ 53 - 1):item(), 2 ^ 53 - 1)
            check.equal(np.clip(np.zeros(1, { dtype = "i32" }), 16777217):item(), 16777217)
            check.equal(np.clip(0.3, x, x):totable(), { 0, 1 })
        end,
    },
})
--- The gradient of a weighted sum of what f makes of an array of numbers.
local function gradient(f, list)
    local w = np.array({ 1, 2, 4 }, { dtype = "f64" })
    return np.grad(function(x) return (f(x) * w):sum() end)(np.array(list, { dtype = "f64" })):totable()
end

of("np.one_hot", {
    args = { { "x", from = -1, to = 3 } }, accepts = "ints", gives = function(_, o) return o.dtype or "f32" end,
    within = "exact",
    shapes = { { { 4 } }, { { 2, 3 } }, { {} }, { { 0 } } },
    options = { { n = 3 }, { n = 3, axis = 0 }, { n = 3, axis = -1, dtype = "f64" }, { n = 2, axis = -2,
        dtype = "i32" },
                { n = 3, axis = 0, dtype = "bool" } },
    call = function(f, o, x) return f(x, o.n, rest(o, "n")) end,
    oracle = "np.moveaxis((x[..., None] == np.arange(o['n'])).astype(int), -1, o.get('axis', -1))",
    without = { derivatives = "labels are no numbers to derive by" },
    also = {
        ["numbers and tables"] = function()
            check.equal(np.one_hot(1, 3):totable(), { 0, 1, 0 })
            check.equal(np.one_hot({ 2, 0 }, 3):totable(), { { 0, 0, 1 }, { 1, 0, 0 } })
            check.raises(function() np.one_hot({ 0.5 }, 3) end, "0.5")
        end,
    },
})

-- ---- Order ----------------------------------------------------------------------------------------------------------

for name, gives in pairs { argsort = "i32", sort = "same" } do
    local without = name == "argsort" and { derivatives = "places are no numbers to derive" } or nil
    moving("np." .. name, {
        args = { "x" }, shapes = { { { 3, 5 } }, { { 2, 3 } }, { {} }, { { 7 } }, { { 0 } } }, gives = gives,
        also = name == "sort" and {
            ["derivatives at ties are those of a stable order"] = function()
                check.equal(gradient(np.sort, { 1, 1, 0 }), { 2, 4, 1 })
                check.equal(gradient(function(x) return np.sort(x, { descending = true }) end, { 1, 1, 0 }), { 1, 2,
                    4 })
            end,
        } or nil,
        options = { { axis = -1 }, { axis = 0, stable = true }, { axis = 1, descending = true } },
        call = function(f, o, x)
            if x.ndim == 0 then return f(x:reshape(1), rest(o, "")) end
            return f(x, o.axis and x.ndim <= o.axis and { axis = -1 } or rest(o, ""))
        end,
        oracle = ("order(x, %q, **o)"):format(name),
        without = without,
    })
end
moving("np.top_k", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 2, 3 } }, { { 20 } } }, gives = { "same", "i32" },
    options = { { k = 2 }, { k = 1, axis = 0 }, { k = 2, axis = -1, largest = false }, { k = 0 } },
    call = function(f, o, x) return f(x, o.k, rest(o, "k")) end,
    oracle = "top_k(x, **o)",
    also = {
        ["derivatives at ties go to the first ones"] = function()
            check.equal(gradient(function(x) return (np.top_k(x, 3)) end, { 1, 1, 1 }), { 1, 2, 4 })
            check.equal(gradient(function(x) return (np.top_k(x, 1)) end, { 0, 1, 1 }), { 0, 7, 0 })
        end,
        ["few of many are the first ones in order, of all dtypes and at their ends"] = function()
            for k, dtype in ipairs { "bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "bf16", "f32",
                                     "f64" } do
                local x, kind = np.random.randint(np.random.key(k), { 3, 40 }, -5, 6), dtype:match "^b?%a"
                if dtype == "bool" then x = np.greater(x, 0) elseif kind == "u" then x = np.abs(x) end
                x = np.astype(x, dtype)
                if kind == "i" then
                    local bits = tonumber(dtype:match "%d+")
                    x = np.where(np.equal(x, -5), np.array(-2 ^ (bits - 1), { dtype = dtype }), x)
                elseif dtype:find "f" then
                    x = np.where(np.equal(x, -5), -np.inf, np.where(np.equal(x, 2), -0.0, x))
                    x = np.where(np.equal(x, 3), np.nan, x):astype(dtype)
                end
                for _, largest in ipairs { true, false } do
                    local _, places = np.top_k(x, 3, { largest = largest })
                    local order = np.argsort(x, { axis = 1, descending = largest })
                    check.equal(places:totable(), order[{ {}, { 0, 3 } }]:totable(), dtype)
                end
            end
        end,
        ["NaN is last, of the largest and of the smallest"] = function()
            for _, n in ipairs { 4, 40 } do
                local x = np.astype(np.arange(n), "f32")
                x = x:at { 1 }:set(np.nan)
                check.equal((np.top_k(x, 2)):totable(), { n - 1, n - 2 })
                check.equal((np.top_k(x, 2, { largest = false })):totable(), { 0, 2 })
            end
        end,
    },
})
of("np.searchsorted", {
    args = { { "x", sorted = true, number = false, special = false }, "v" }, accepts = ALL:gsub("complex ", ""),
        gives = "i32",
    shapes = { { { 6 }, { 5 } }, { { 5 }, { 2, 3 } }, { { 4 }, {} }, { { 0 }, { 2 } }, { { 3 }, { 0 } } },
    options = { {}, { side = "right" }, { sorter = true, side = "left" } },
    call = function(f, o, x, v)
        if o.sorter then return f(np.flip(x), v, { side = o.side, sorter = np.argsort(np.flip(x)) }) end
        return f(x, v, rest(o, ""))
    end,
    oracle = "np.searchsorted(x, v, o.get('side', 'left'))",
    without = { derivatives = "places are no numbers to derive" },
    also = {
        ["numbers that the array's dtype has not count as mathematics has them"] = function()
            local x = np.array({ 1, 5, 255 }, { dtype = "u8" })
            check.equal(np.searchsorted(x, { -1, 300, 4.5 }):totable(), { 0, 3, 1 })
            check.equal(np.searchsorted(x, 300):item(), 3)
            local i = np.array({ 16777216, 16777217 }, { dtype = "i32" })
            check.equal(np.searchsorted(i, { 16777216.5 }):totable(), { 1 })
            check.equal(np.searchsorted(i, { 16777217LL }):totable(), { 1 })
        end,
    },
})
of("np.interp", {
    args = { { "x", from = -1, to = 6 },
             { "xp", sorted = true, from = 0, to = 5, number = false, special = false,
               make = function(random, dims, dtype)
                   local list = {}
                   for k = 1, dims[1] do list[k] = k - 1 + (dtype:find "[iu]" and 0 or (random(256) - 1) / 512) end
                   return np.array(list, { dtype = dtype })
               end },
             "fp" },
    accepts = "floats ints", shapes = { { { 6 }, { 5 }, { 5 } }, { { 2, 3 }, { 4 }, { 4 } }, { {}, { 1 }, { 1 } },
                                        { { 0 }, { 3 }, { 3 } } },
    options = { {}, { left = -7, right = 9 }, { period = 3 } },
    oracle = "np.interp(x, xp, fp, **o)",
    within = { f64 = "scaled 1e-15", f32 = "scaled 3e-7", f16 = "ulp 1", bf16 = "ulp 1" },
    also = {
        ["integers do not wrap"] = function()
            local function at(x, xp, fp, dtype)
                return np.interp(np.array(x, { dtype = "f64" }), np.array(xp, { dtype = dtype }),
                                 np.array(fp, { dtype = dtype })):totable()
            end
            check.equal(at({ 1.5 }, { 1, 2 }, { 2, 1 }, "u8"), { 1.5 })
            check.close(at({ 0.5 }, { -100, 100 }, { -127, 127 }, "i8")[1], 0.635, 1e-13)
            check.equal(at({ 0.5 }, { 0, 1 }, { 2 ^ 31 - 1, -2 ^ 31 }, "i32"), { -0.5 })
            check.equal(at({ 16777216.5 }, { 16777216, 16777217 }, { 0, 1 }, "i32"), { 0.5 })
        end,
        ["tables and numbers keep their digits"] = function()
            check.equal(np.interp(np.array({ 0.1 }, { dtype = "f64" }), { 0, 0.1, 1 }, { 1, 0.3, 5 }):totable(),
                { 0.3 })
            check.equal(np.interp(0.1, np.array({ 0, 0.1, 1 }, { dtype = "f64" }), { 1, 0.3, 5 }):item(), 0.3)
        end,
        ["infinite values"] = function()
            local inf, nan = math.huge, 0 / 0
            for _, row in ipairs { -- fp at 1, 2, 3, 4 and what NumPy gives at 1, 2, 2.5, 3, 3.5, 4, 5
                { { 1, 2, inf, 4 }, "1 2 inf inf inf 4 4" }, { { inf, inf, -inf, nan },
                    "inf inf nan -inf nan nan nan" },
                { { -inf, -inf, -inf, 1 }, "-inf -inf -inf -inf -inf 1 1" },
                { { 1, -2, 3, nan }, "1 -2 0.5 3 nan nan nan" },
            } do
                local y = np.interp(np.array({ 1, 2, 2.5, 3, 3.5, 4, 5 }, { dtype = "f64" }), { 1, 2, 3, 4 },
                                    np.array(row[1], { dtype = "f64" })):totable()
                for k = 1, #y do y[k] = y[k] ~= y[k] and "nan" or y[k] end
                check.equal(table.concat(y, " "), row[2])
            end
            check.equal(np.interp(np.array { nan, 1 }, { 0, 2 }, { inf, inf }):totable()[2], inf)
            check.ok(np.isnan(np.interp(np.array { nan, 1 }, { 0, 2 }, { inf, inf }))[0]:item())
        end,
        ["derivatives on points, as JAX has them"] = function()
            local function d(list) return np.array(list, { dtype = "f64" }) end
            local xp, fp = d { 0, 1, 2 }, d { 0, 1, 3 }
            local function at(x, p, f, o, w) return (np.interp(d(x), p, f, o) * d(w)):sum() end
            check.equal(np.grad(function(x) return np.interp(x, xp, fp):sum() end)(xp):totable(), { 1, 2, 2 })
            check.equal(np.grad(function(f) return at({ 0, 1, 2, -1, 5 }, xp, f, nil, { 1, 2, 4, 8,
                16 }) end)(fp):totable(),
                        { 9, 2, 20 })
            check.equal(np.grad(function(p) return at({ 0.5, 1, 1.5 }, p, fp, nil, { 1, 2, 4 }) end)(xp):totable(),
                        { -0.5, -8.5, -4 })
            check.equal(np.grad(function(x) return (np.interp(x, xp, fp, { period = 3 }) * d { 1, 2, 4 }):sum() end)(
                d { -0.5, 1.5, 2.5 }):totable(), { -3, 4, -12 })
        end,
        ["points that stand twice, and one alone"] = function()
            local x = np.array { -1, 0, 0.5, 1, 2 }
            check.equal(np.interp(x, { 0, 1, 1 }, { 5, 6, 7 }):totable(), { 5, 5, 5.5, 7, 7 })
            check.equal(np.interp(x, { 0, 0, 1 }, { 5, 6, 7 }):totable(), { 5, 6, 6.5, 7, 7 })
            check.equal(np.interp(x, { 0 }, { 5 }, { left = 1, right = 2 }):totable(), { 1, 5, 2, 2, 2 })
        end,
        ["derivatives beside infinite values, and outside"] = function()
            local xp = np.array({ 0, 1, 2 }, { dtype = "f64" })
            local function f(x, fp) return np.interp(x, xp, fp):sum() end
            local x = np.array({ math.huge, -math.huge, 0.25 }, { dtype = "f64" })
            local gx, gf = np.grad(f, { argnums = { 1, 2 } })(x, np.array({ 1, 3, math.huge }, { dtype = "f64" }))
            check.equal(gx:totable(), { 0, 0, 2 })
            check.equal(gf:totable(), { 1.75, 0.25, 1 })
        end,
        ["complex values"] = function()
            local y = np.interp(np.array { 0.5, 3 }, np.array { 0, 1 }, np.array { 1i, 1 }, { right = 2i })
            check.equal(y.real:totable(), { 0.5, 0 })
            check.equal(y.imag:totable(), { 0.5, 2 })
        end,
    },
    refuses = { { "period", function() np.interp(np.ones(2), { 0, 1 }, { 0, 1 }, { period = 0 }) end } },
})

-- ---- By looking at values -------------------------------------------------------------------------------------------

local function with_zeros(random, dims, dtype)
    local x = np.zeros(dims, { dtype = dtype }):ravel()
    if x.size > 0 then x = x:at { np.array({ 0, random(x.size) - 1 }, { dtype = "i32" }) }:set(1) end
    return x:reshape(dims)
end

of("np.nonzero", {
    args = { { "x", make = with_zeros } }, accepts = ALL, gives = "i32",
    shapes = { { { 3, 4 } }, { { 5 } }, { { 2, 0 } }, { { 2, 1, 2 } } },
    options = { { size = 3 }, {}, { size = 1 }, { size = 5, fill_value = -1 } },
    waits = function(o) return not o.size end,
    oracle = "jnp.nonzero(x, size=o.get('size'), fill_value=o.get('fill_value', 0))",
    without = { special = "an argument is made of zeros and other numbers",
                derivatives = "places are no numbers to derive" },
    also = {
        ["special values are not 0"] = function()
            check.equal((np.nonzero(np.array { np.nan, 0, -0.0, np.inf, 1e-45 })):totable(), { 0, 3, 4 })
        end,
    },
})

-- ---- Comparing whole arrays -----------------------------------------------------------------------------------------

of("np.isclose", {
    args = { "x", "y" }, accepts = ALL, gives = "bool",
    options = { {}, { rtol = 0.5 }, { atol = 1.5, rtol = 0 }, { equal_nan = true } },
    oracle = "np.isclose(x, y, **o)",
    without = { derivatives = "bools are no numbers to derive" },
    also = {
        ["what is near"] = function()
            check.equal(np.isclose(np.array({ 1, 1 }, { dtype = "f64" }), { 1 + 1e-9, 1.1 }):totable(), { true, false })
            check.equal(np.isclose(np.array({ 3 }, { dtype = "i32" }), 3.000001):totable(), { true })
            local h = np.array({ 60000, 1 }, { dtype = "f16" })
            check.equal(np.isclose(h, -h, { rtol = 3 }):totable(), { true, true })
            check.equal(np.isclose(np.array({ 0 }, { dtype = "f16" }), 1e-8):totable(), { true })
        end,
    },
})

--- Three arrays: the second is near the first one, or is it, as chance has it.
for name, oracle in pairs {
    allclose = "np.allclose(x, y, **o)", array_equal = "np.array_equal(x, y, **o)",
        array_equiv = "np.array_equiv(x, y)",
} do
    of("np." .. name, {
        args = { { "x", from = 0, to = 1 }, { "y", from = 0, to = 1 } }, accepts = ALL, gives = "f64",
        shapes = { { { 2 }, { 2 } }, { {}, {} }, { { 2 }, {} }, { { 0 }, { 0 } } },
        options = name == "allclose" and { {}, { rtol = 2, equal_nan = false }, { atol = 1 } }
            or name == "array_equal" and { {}, { equal_nan = true } } or nil,
        oracle = oracle, without = waiting { derivatives = "a boolean is no number to derive" },
        also = {
            ["of numbers and tables"] = function()
                local f, x = np[name], np.array({ 0.1, 16777217 }, { dtype = "f64" })
                check.equal(f(x, { 0.1, 16777217 }), true)
                check.equal(f({ 0.1, 16777217 }, x), true)
                check.equal(f(np.array({ 16777217 }, { dtype = "i32" }), { 16777216 }), name == "allclose")
                check.equal(f(np.array({ 44 }, { dtype = "u8" }), { 300 }), false)
                check.equal(f(np.array({ 44 }, { dtype = "u8" }), { 44.5 }), false)
            end,
            ["NaN"] = function()
                local x = np.array { np.nan, 1 }
                check.equal(np[name](x, x), false)
                if name ~= "array_equiv" then check.equal(np[name](x, x, { equal_nan = true }), true) end
            end,
        },
    })
end

finish()
