--- create_test.lua: contracts of new arrays (tests/lib/contracts.lua): of Lua's values, and of formulas.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "create"

local TAKES_NONE = "it takes no array"

--- f(o.args…, the other options).
local function call(f, o, ...)
    local arguments, given = { ... }, {}
    for _, value in ipairs(o.args or {}) do arguments[#arguments + 1] = value end
    for name, value in pairs(o) do given[name] = value end
    given.args = nil
    if next(given) then arguments[#arguments + 1] = given end
    return f(unpack(arguments))
end

--- A function that takes numbers and shapes alone.
local function made(name, usual, options, oracle, more)
    local contract = {
        args = {}, accepts = "f32", shapes = { {} }, special = false, options = options, oracle = oracle, call = call,
        gives = function(_, o) return o.dtype or usual end,
        without = { special = "it takes no array", strided = TAKES_NONE, numbers = TAKES_NONE, vmap = TAKES_NONE,
                    mesh = TAKES_NONE, derivatives = TAKES_NONE },
    }
    for field, value in pairs(more or {}) do contract[field] = value end
    if contract.integers then contract.without.integers, contract.integers = contract.integers, nil end
    of(name, contract)
end

local ASK = "64-bit integers ask for their dtype, which a test of its own has"

local DTYPES = { "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "i8", "i16", "u16", "u32", "u64", "bool", "c64",
                 "c128" }

--- The options, then one of each dtype beside `args`.
local function each_dtype(args, options, leave)
    local list = { { args = args } }
    for _, o in ipairs(options) do list[#list + 1] = o end
    for _, dtype in ipairs(DTYPES) do
        if not (leave or ""):find(dtype, 1, true) then list[#list + 1] = { args = args, dtype = dtype } end
    end
    list[#list + 1] = { args = args, device = "cpu:0" }
    return list
end

-- ---- Shapes filled with a value -------------------------------------------------------------------------------------

local FILLED = { { args = { {} } }, { args = { 2, 3 } }, { args = { { 0, 4 } } }, { args = { 5 } }, { args = {} } }
for name, value in pairs { zeros = 0, ones = 1, empty = 0 } do
    made("np." .. name, "f32", each_dtype({ { 2, 3 } }, FILLED), ("np.full(extents(o), %d)"):format(value), {
        within = "exact",
        refuses = { { "a shape is made of integers", function() np[name](-1) end },
                    { "a shape is made of integers", function() np[name] { 2, 0.5 } end },
                    { "at most", function() np[name](1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1) end },
                    { "elements", function() np[name] { 2 ^ 40, 2 ^ 40 } end },
                    { "dtype", function() np[name]({ 2 }, { dtype = "i33" }) end } },
        also = { ["64-bit extents"] = function() check.equal(np[name](2LL, 3LL).shape, { 2, 3 }) end },
    })
end

made("np.full", "f32", each_dtype({ { 2, 3 }, 1 }, {
    { args = { {}, 7 } }, { args = { 3, 0.1 }, dtype = "f64" }, { args = { { 2 }, 2 ^ 53 - 1 }, dtype = "i64" },
    { args = { { 0 }, 3 } }, { args = { { 2, 2 }, { 1, 2 } } }, { args = { { 2 }, 1e6 }, dtype = "f16" },
}), "np.broadcast_to(np.array(o['args'][1], float), extents({'args': o['args'][:1]}))", {
    integers = ASK,
    refuses = { { "does not fit into dtype u8", function() np.full({ 2 }, 300, { dtype = "u8" }) end },
                { "does not fit into dtype i32", function() np.full({ 2 }, 0.5, { dtype = "i32" }) end },
                { "np.full: .*does not fit into dtype u8", function() np.full({ 2 }, -1LL, { dtype = "u8" }) end },
                { "np.full: .*does not fit into dtype i32", function() np.full({ 2 }, 2LL ^ 40, { dtype = "i32" })
                    end },
                { "np.full: the complex", function() np.full({ 2 }, 1i, { dtype = "f32" }) end },
                { "does not fit into dtype i32", function() np.full({ 2 }, 0 / 0, { dtype = "i32" }) end },
                { "must be a number", function() np.full({ 2 }, "1") end } },
    also = { ["arrays, bools, complex numbers and 64-bit integers"] = function()
        check.equal(np.full({ 2 }, 2LL ^ 53 + 1):totable()[2], 2LL ^ 53 + 1)
        check.equal(np.full({ 2 }, -1ULL).dtype, "u64")
        check.equal({ np.full({ 2 }, true).dtype, np.full({ 2 }, 1i).dtype }, { "bool", "c64" })
        check.equal(np.full({ 2 }, 5LL, { dtype = "bool" }):totable(), { true, true })
        local x = np.full({ 2, 3 }, np.array({ 1, 2, 0.1 }, { dtype = "f64" }))
        check.equal({ x.dtype, x:totable()[2][3] }, { "f64", 0.1 })
        check.equal(np.full({ 2 }, np.array { 1.5, 2 }, { dtype = "i32" }):totable(), { 1, 2 })
    end },
})

for name, value in pairs { zeros_like = 0, ones_like = 1, empty_like = 0 } do
    of("np." .. name, {
        args = { "x" }, accepts = "floats ints bool complex", gives = function(dtype, o) return o.dtype or dtype end,
        within = "exact", options = { {}, { dtype = "i32" }, { dtype = "c64" }, { device = "cpu:0" } },
        oracle = ("np.full(np.shape(x), %d)"):format(value),
        without = { derivatives = "it is a constant" },
    })
end

of("np.full_like", {
    args = { { "x", number = false, table = false }, { "value", from = 0, to = 3 } }, accepts = "floats ints bool",
        gives = function(dtype, o)
        return o.dtype or dtype
    end,
    shapes = { { { 2, 3 }, {} }, { { 2, 3 }, { 3 } }, { { 0 }, {} }, { {}, {} }, { { 2, 3 }, { 2, 1 } } },
    options = { {}, { dtype = "f32" }, { device = "cpu:0" } },
    oracle = "np.broadcast_to(value, np.shape(x))", special = false,
    without = { special = "the value is moved, whatever it is" },
    refuses = { { "np.full_like: .*does not fit into dtype u8", function()
        np.full_like(np.zeros(2, { dtype = "u8" }), 300)
    end }, { "broadcast", function() np.full_like(np.zeros(2), np.zeros(3)) end } },
})

-- ---- From Lua values ------------------------------------------------------------------------------------------------

for _, name in ipairs { "np.array", "np.asarray" } do
    made(name, "f32", each_dtype({ { 1, 0, 1 } }, {
        { args = { 7 } }, { args = { {} } }, { args = { { {}, {} } } }, { args = { { { 1.5, 2 }, { 3, -0.1 } } } },
        { args = { { 0.1, 1e300 } }, dtype = "f64" }, { args = { { 65504, 65520, 1e-8 } }, dtype = "f16" },
        { args = { { 16777217, -16777217 } }, dtype = "i32" }, { args = { { 2 ^ 53 - 1 } }, dtype = "i64" },
        { args = { { 1e39, -1e39, 1e-46 } } }, { args = { 1 }, copy = true },
    }), "np.array(o['args'][0], float)", {
        gives = function(_, o) return o.dtype or "f32" end, integers = ASK,
        refuses = {
            { "does not fit into dtype u8", function() np.array({ 300 }, { dtype = "u8" }) end },
            { "does not fit into dtype u8", function() np.array({ 300LL }, { dtype = "u8" }) end },
            { "does not fit into dtype u32", function() np.array({ -1LL }, { dtype = "u32" }) end },
            { "does not fit into dtype u64", function() np.array(-1LL, { dtype = "u64" }) end },
            { "does not fit into dtype i64", function() np.array({ -1ULL, -1LL }) end },
            { "does not fit into dtype i32", function() np.array({ 2LL ^ 31 }, { dtype = "i32" }) end },
            { "not an integer", function() np.array({ 0.5 }, { dtype = "i32" }) end },
            { "NaN", function() np.array({ 0 / 0 }, { dtype = "i32" }) end },
            { "complex", function() np.array({ 1i }, { dtype = "f32" }) end },
            { "entries", function() np.array { { 1, 2 }, { 3 } } end }, { "table", function() np.array { 1,
                { 2 } } end },
            { "nil", function() np.array { 1, nil, 3 } end }, { "key", function() np.array { 1, a = 2 } end },
            { "string", function() np.array "1" end }, { "copy=false", function() np.array({ 1 }, { copy = false })
                end },
        },
        also = { ["what leaves ask for"] = function()
            check.equal(np.array({ true, false }).dtype, "bool")
            check.equal(np.array({ true, 1 }).dtype, "f32")
            check.equal(np.array({ 1, 2i }):totable()[2], 2i)
            check.equal(np.array({ 5LL, 2LL ^ 53 + 1 }):totable()[2], 2LL ^ 53 + 1)
            check.equal(np.array({ -1ULL }).dtype, "u64")
            check.equal(np.array({ 1LL, 2ULL }).dtype, "i64")
            check.equal(np.array({ 2LL ^ 62 }, { dtype = "f64" }):item(), 2 ^ 62)
            check.equal(np.array({ 0 / 0, math.huge }):totable(), { 0 / 0, math.huge })
            check.equal(np.array({ 0 / 0, 0 }, { dtype = "bool" }):totable(), { true, false })
            local x = np.array({ 1, 2 }, { dtype = "f64" })
            check.equal(np.array { x, x }.shape, { 2, 2 })
            check.equal(np.array({ x, x }, { dtype = "i32" }).dtype, "i32")
            check.ok(np.array(x) == x, "an array is returned as it is")
            check.ok(np.array(x, { copy = false }) == x, "without a copy too")
        end },
    })
end

-- ---- Ranges ---------------------------------------------------------------------------------------------------------

made("np.arange", "i32", each_dtype({ 5 }, {
    { args = { 1, 2, 0.25 }, dtype = "f64" }, { args = { 3, -4, -2 } }, { args = { 0 } }, { args = { 5, 1 } },
    { args = { 0, 1, 0.1 }, dtype = "f64" }, { args = { 2 ^ 53 - 4, 2 ^ 53 - 1 }, dtype = "i64" },
    { args = { 0, 3, 0.5 }, dtype = "f16" }, { args = { -1, 1, 0.3 }, dtype = "f32" },
}, "bool"), "np.arange(*o['args'])", {
    integers = ASK, within = { f64 = "ulp 2" },
    refuses = { { "step must not be 0", function() np.arange(0, 5, 0) end },
                { "does not fit into dtype u8", function() np.arange(0, 257, { dtype = "u8" }) end },
                { "np.arange: .*does not fit into dtype i32", function() np.arange(2LL ^ 60, 2LL ^ 60 + 2,
                    { dtype = "i32" }) end },
                { "needs integers", function() np.arange(0, 1, 0.5, { dtype = "i32" }) end },
                { "must be integers", function() np.arange(0, 2LL ^ 60, 0.5) end },
                { "cannot count", function() np.arange(0, math.huge) end },
                { "cannot count", function() np.arange(0, 2LL ^ 62) end },
                { "a number", function() np.arange("5") end }, { "numbers", function() np.arange() end },
                { "bool", function() np.arange(3, { dtype = "bool" }) end } },
    also = { ["64-bit integers, exact"] = function()
        check.equal({ np.arange(5LL).dtype, np.arange(5ULL).dtype }, { "i64", "u64" })
        check.equal(np.arange(0, 10LL ^ 16 + 1LL, 10LL ^ 14).size, 101)
        check.equal(np.arange(2LL ^ 60, 2LL ^ 60 + 3):totable(), { 2LL ^ 60, 2LL ^ 60 + 1, 2LL ^ 60 + 2 })
        check.equal(np.arange(2LL ^ 60, 2LL ^ 60 - 7, -3):totable(), { 2LL ^ 60, 2LL ^ 60 - 3, 2LL ^ 60 - 6 })
        check.equal(np.arange(-3ULL, -1ULL):totable(), { -3ULL, -2ULL })
        check.equal(np.arange(-2LL ^ 62, 2LL ^ 62, 2LL ^ 62):totable(), { -2LL ^ 62, 0 })
        check.equal(np.arange(2LL ^ 60, 2LL ^ 60).size, 0)
        check.equal(np.arange(-1LL ^ 1 - 2LL ^ 60, 0, 2LL ^ 60, { dtype = "f64" }).dtype, "f64")
    end },
})

local SPREAD = { { n = 5 }, { n = 4, endpoint = false }, { n = 1 }, { n = 0 }, {}, { n = 3, axis = -1 },
                 { n = 3, dtype = "f64" }, { n = 7, dtype = "i32" }, { n = 3, dtype = "f16" },
                 { n = 3, device = "cpu:0" }, { n = 1, endpoint = false } }

local function spread(f, o, start, stop)
    local given = {}
    for name, value in pairs(o) do given[name] = value end
    given.n = nil
    if o.n then return f(start, stop, o.n, next(given) and given or nil) end
    return f(start, stop, next(given) and given or nil)
end

local function of_spread(dtype, o)
    return o.dtype or np.result_type(dtype, 0.5)
end

of("np.linspace", {
    args = { { "start", from = -5, to = 0 }, { "stop", from = 1, to = 9 } }, accepts = "f64 f32 halves ints bool c128",
    shapes = { { { 3 }, { 3 } }, { {}, {} }, { { 2, 1 }, { 3 } }, { { 0 }, { 0 } }, { {}, { 2 } } },
    options = SPREAD, call = spread, gives = of_spread,
    within = { f64 = "scaled 1e-14", f32 = "scaled 1e-6", c128 = "scaled 1e-14", i32 = "abs 0" },
    oracle = "spaced(start, stop, o)", slope = 1e-6,
    refuses = { { "from 0 up", function() np.linspace(0, 1, -1) end }, { "integer", function() np.linspace(0, 1, 2.5)
        end },
                { "axis 3", function() np.linspace(0, 1, 5, { axis = 3 }) end },
                { "a number or an array", function() np.linspace("0", 1) end } },
    also = { ["numbers alone, 64-bit integers, complex numbers, gaps beyond the largest number"] = function()
        check.equal(np.linspace(0.5, -3, 8, { dtype = "i32" }):totable(), { 0, 0, -1, -1, -2, -2, -3, -3 })
        check.equal(np.linspace(0, 5LL, 3LL):totable(), { 0, 2.5, 5 })
        check.equal(np.linspace(0, 10LL ^ 16, 3, { dtype = "i64" }):totable()[2], 5e15)
        check.equal(np.linspace(0, 1i, 3):totable()[2], 0.5i)
        check.equal(np.linspace(-1e308, 1e308, 3, { dtype = "f64" }):totable(), { -1e308, 0, 1e308 })
        local low = np.array(-1e308, { dtype = "f64" })
        check.equal(np.linspace(low, 1e308, 3):totable(), { -1e308, 0, 1e308 })
        check.equal(np.linspace(np.array(0, { dtype = "f64" }), 0.1, 2):totable()[2], 0.1)
        check.equal(np.linspace({ 0, 10 }, 20, 3):totable()[2], { 10, 15 })
    end },
})

of("np.logspace", {
    args = { { "start", from = -2, to = 0 }, { "stop", from = 1, to = 3 } }, accepts = "f64 f32 halves i32 i64 bool",
    shapes = { { { 3 }, { 3 } }, { {}, {} }, { { 2, 1 }, { 3 } }, { { 0 }, { 0 } } }, call = spread, gives = of_spread,
    options = { { n = 5 }, { n = 4, endpoint = false }, { n = 1 }, {}, { n = 3, axis = -1 }, { n = 3, dtype = "f64" },
                { n = 3, base = 2 }, { n = 3, dtype = "i32" }, { n = 3, base = 0.5 } },
    within = { f64 = "rel 1e-13", f32 = "rel 3e-6", f16 = "ulp 1", bf16 = "ulp 1", i32 = "abs 1" },
    oracle = "spaced(start, stop, o, np.logspace, base=o.get('base', 10))",
    special = false, without = { special = "they are those of np.linspace and np.pow, of which it is made" },
    also = { ["numbers alone"] = function()
        check.equal(np.logspace(0, 3, 4):totable(), { 1, 10, 100, 1000 })
        check.equal(np.logspace(0, 3LL, 4LL, { base = 2 }):totable(), { 1, 2, 4, 8 })
        check.equal(np.logspace(0, 3, 4).dtype, "f32")
    end },
})

of("np.geomspace", {
    args = { { "start", from = 0.5, to = 2 }, { "stop", from = 3, to = 50 } }, accepts = "f64 f32 halves i32 u8 i64",
    shapes = { { { 3 }, { 3 } }, { {}, {} }, { { 2, 1 }, { 3 } }, { { 0 }, { 0 } } }, call = spread, gives = of_spread,
    options = { { n = 5 }, { n = 4, endpoint = false }, { n = 1 }, {}, { n = 3, axis = -1 }, { n = 3, dtype = "f64" } },
    within = { f64 = "rel 1e-13", f32 = "rel 3e-6", f16 = "ulp 1", bf16 = "ulp 1" },
    oracle = "spaced(start, stop, o, np.geomspace)",
    special = false, without = { special = "NumPy refuses what neap gives as NaN" },
    refuses = { { "one sign", function() np.geomspace(0, 3) end }, { "one sign", function() np.geomspace(-1, 3) end } },
    also = { ["numbers alone, and signs"] = function()
        check.equal(np.geomspace(1, 1000, 4):totable(), { 1, 10, 100, 1000 })
        check.equal(np.geomspace(-1, -16, 3):totable(), { -1, -4, -16 })
        check.close(np.geomspace(np.array { -1, 1 }, np.array { -16, 16 }, 3):totable(), { { -1, 1 }, { -4, 4 },
            { -16, 16 } })
        local x = np.geomspace(np.array { -1, 1, 0 }, np.array { 4, 4, 4 }, 3)
        check.equal(np.isnan(x[1]):totable(), { true, false, true })
    end },
})

-- ---- Matrices -------------------------------------------------------------------------------------------------------

made("np.eye", "f32", each_dtype({ 3 }, {
    { args = { 2, 4 } }, { args = { 3, 3, 1 } }, { args = { 3, 2, -1 } }, { args = { 0 } }, { args = { 3 }, k = 1 },
    { args = { 3 }, m = 2 }, { args = { 3, 3, -9 } },
}), "np.eye(o['args'][0], columns(o), diagonal(o))", { within = "exact", refuses = {
    { "from 0 up", function() np.eye(-1) end }, { "integer", function() np.eye(1.5) end },
    { "integer", function() np.eye(3, 3, 0.5) end } },
    also = { ["64-bit integers"] = function() check.equal(np.eye(2LL, 3LL, 1LL):totable(), np.eye(2, 3, 1):totable())
        end },
})

made("np.tri", "f32", each_dtype({ 3 }, {
    { args = { 2, 4 } }, { args = { 3, 3, 1 } }, { args = { 3, 2, -1 } }, { args = { 0 } }, { args = { 3 }, k = 1 },
    { args = { 3 }, m = 2 }, { args = { 3, 3, -9 } }, { args = { 3, 3, 9 } },
}), "np.tri(o['args'][0], columns(o), diagonal(o))", { within = "exact", refuses = {
    { "from 0 up", function() np.tri(-1) end }, { "integer", function() np.tri(1.5) end } } })

made("np.identity", "f32", { { args = { 3 } }, { args = { 0 } }, { args = { 2 }, dtype = "i32" },
                             { args = { 2 }, dtype = "c64" } },
     "np.identity(o['args'][0])", { within = "exact", refuses = {
    { "from 0 up", function() np.identity(-1) end }, { "integer", function() np.identity(1.5) end } },
    also = { ["64-bit integers"] = function() check.equal(np.identity(2LL):totable(), { { 1, 0 }, { 0, 1 } }) end },
})

made("np.delta", "f32", { { args = { { 2, 3, 2 } } }, { args = { { 2, 3, 2 } }, axes = { 0, 2 } }, { args = { 3 } },
                          { args = { { 2, 2 } }, dtype = "i32" }, { args = { { 2, 2 } }, dtype = "bool" },
                          { args = { { 3, 2, 2 } }, axes = { -1, 1 } }, { args = { {} } }, { args = { { 2, 0 } } } },
     "kronecker(o)", { within = "exact", refuses = {
    { "out of range", function() np.delta({ 2, 2 }, { axes = { 5 } }) end },
    { "given twice", function() np.delta({ 2, 2 }, { axes = { 0, 0 } }) end } } })

local MATRICES = { { { 3, 4 } }, { { 4 } }, { { 2, 3, 3 } }, { { 0, 3 } }, { { 1, 1 } } }
for _, name in ipairs { "tril", "triu" } do
    of("np." .. name, {
        args = { "x" }, accepts = "floats ints bool complex", gives = "same", within = "exact", shapes = MATRICES,
        options = { {}, { k = 1 }, { k = -1 }, { k = 9 }, { k = -9 } },
        oracle = ("np.%s(x, o.get('k', 0))"):format(name),
        refuses = { { "at least 1 axis", function() np[name](np.array(1)) end },
                    { "integer", function() np[name](np.eye(2), 0.5) end } },
        also = { ["k as an argument"] = function()
            check.equal(np[name](np.ones { 2, 2 }, 1LL):totable(), np[name](np.ones { 2, 2 }, { k = 1 }):totable())
        end },
    })
end

local function with_k(f, o, x) return f(x, o.k, o.nonsense and o) end
of("np.diag", {
    args = { "x" }, accepts = "floats ints bool complex", gives = "same", within = "exact",
    shapes = { { { 3, 4 } }, { { 3 } }, { { 0, 3 } }, { { 0 } }, { { 1, 1 } } }, call = with_k,
    options = { {}, { k = 1 }, { k = -1 }, { k = 9 }, { k = -9 } }, oracle = "np.diag(x, o.get('k', 0))",
    refuses = { { "1 or 2 axes", function() np.diag(np.array(1)) end }, { "integer", function() np.diag(np.eye(2),
        0.5) end } },
})
of("np.diagflat", {
    args = { "x" }, accepts = "floats ints bool complex", gives = "same", within = "exact",
    shapes = { { { 2, 2 } }, { { 3 } }, { { 0 } }, { {} } }, call = with_k,
    options = { {}, { k = 1 }, { k = -1 } }, oracle = "np.diagflat(x, o.get('k', 0))",
    refuses = { { "integer", function() np.diagflat(np.eye(2), 0.5) end } },
})
of("np.vander", {
    args = { { "x", special = { 0, 1, 2 } } }, accepts = "floats i32 i64 u8 bool c128", gives = function(dtype)
        return dtype == "bool" and "i32" or dtype
    end,
    shapes = { { { 3 } }, { { 0 } }, { { 1 } } },
    call = function(f, o, x) return f(x, o.n, next(o) and { increasing = o.increasing, nonsense = o.nonsense }) end,
    options = { {}, { increasing = true }, { n = 5 }, { n = 0 }, { n = 2, increasing = true } },
    oracle = "np.vander(x, o.get('n'), increasing=o.get('increasing', False))",
    within = { c128 = "scaled 1e-14" },
    refuses = { { "1 axis", function() np.vander(np.eye(2)) end }, { "from 0 up", function() np.vander(np.ones(2), -1)
        end } },
    points = { { { 0, 1, -2 } }, { { 0, 0 } } },
        derivative = "[x**k if k else jnp.ones_like(x) for k in range(len(x))]",
})

finish()
