--- grids_test.lua: contracts of arrays of coordinates (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "grids"

local TAKES_NONE = "it takes no array"
local NO_FLOATS = "nothing in it has a derivative"

local function given_of(o, ...)
    local given = {}
    for name, value in pairs(o) do given[name] = value end
    for _, name in ipairs { "args", ... } do given[name] = nil end
    return next(given) and given or nil
end

local function call(f, o)
    local arguments = { unpack(o.args) }
    arguments[#arguments + 1] = given_of(o)
    return f(unpack(arguments))
end

--- A function that takes numbers, shapes and texts alone.
local function made(name, options, oracle, more)
    local contract = {
        args = {}, accepts = "f32", shapes = { {} }, special = false, options = options, oracle = oracle, call = call,
        any_dtype = true, within = { f64 = "ulp 2", f32 = "ulp 2" },
        without = { special = TAKES_NONE, strided = TAKES_NONE, numbers = TAKES_NONE, vmap = TAKES_NONE,
                    mesh = TAKES_NONE, derivatives = TAKES_NONE },
    }
    for field, value in pairs(more or {}) do contract[field] = value end
    if contract.integers then contract.without.integers, contract.integers = contract.integers, nil end
    of(name, contract)
end

of("np.meshgrid", {
    args = { { "x", number = false, table = false }, { "y", number = false, table = false } },
    accepts = "floats ints bool complex", gives = "same", within = "exact",
    shapes = { { { 3 }, { 2 } }, { { 2, 2 }, {} }, { { 0 }, { 3 } }, { { 1 }, { 1 } } },
    options = { {}, { indexing = "ij" }, { sparse = true }, { indexing = "ij", sparse = true } },
    oracle = "np.meshgrid(x, y, indexing=o.get('indexing', 'xy'), sparse=o.get('sparse', False))",
    special = false,
    without = { special = "elements are moved, whatever they are", numbers = "each array keeps its own dtype" },
    refuses = { { "indexing", function() np.meshgrid(np.ones(2), { indexing = "yx" }) end } },
    also = { ["one, three, and tables"] = function()
        check.equal(np.meshgrid(np.arange(3)):totable(), { 0, 1, 2 })
        local x, y, z = np.meshgrid(np.arange(2), np.arange(3), np.arange(4))
        check.equal({ x.shape, y.shape, z.shape }, { { 3, 2, 4 }, { 3, 2, 4 }, { 3, 2, 4 } })
        local a, b = np.meshgrid({ 1, 2 }, { 3, 4, 5 })
        check.equal({ a:totable()[3], b:totable()[3] }, { { 1, 2 }, { 5, 5 } })
        check.equal(np.meshgrid({ 1, 2 }, 3, { sparse = true }):totable(), { { 1, 2 } })
    end },
})

made("np.indices", { { args = { { 2, 3 } } }, { args = { 3 } }, { args = { { 2, 3 } }, sparse = true },
                     { args = { { 2, 2 } }, dtype = "f64" }, { args = { { 0, 2 } } }, { args = { {} } },
                     { args = { { 2, 2 } }, dtype = "i64" } },
     "np.indices(extents(o), sparse=o.get('sparse', False))", {
    refuses = { { "integers", function() np.indices { 0.5 } end }, { "dtype", function() np.indices({ 2 },
        { dtype = "x" }) end } },
    also = { ["dtypes"] = function()
        check.equal({ np.indices({ 2 }).dtype, np.indices({ 2 }, { dtype = "u8" }).dtype }, { "i32", "u8" })
        check.equal(np.indices({ 2LL, 3LL }).shape, { 2, 2, 3 })
    end },
})

local RANGES = { { args = { { 0, 2 }, { 1, 4, 2 } } }, { args = { "0:2, 0:3" } }, { args = { "0:1:5j" } },
    { args = { 3 } },
                 { args = { "0:1:0.25, :2" } }, { args = { { 3, 0, -1 } } }, { args = { "-1:1:3j, 0:2" } } }
for _, name in ipairs { "mgrid", "ogrid" } do
    made("np." .. name, RANGES, ("ranges(np.%s, o)"):format(name), {
        refuses = { { "range", function() np[name]() end }, { "read the range", function() np[name] "a" end },
                    { "must be made of numbers", function() np[name] "0:x" end },
                    { "a number, a table or a text", function() np[name](true) end } },
        also = { ["64-bit integers"] = function()
            check.equal(np[name](3LL):totable(), np[name](3):totable())
            check.equal(np[name]({ 1LL, 3LL }):totable(), np[name]({ 1, 3 }):totable())
        end },
    })
end

made("np.fromfunction", { { args = { { 2, 3 } } }, { args = { { 2, 3 } }, dtype = "i32" }, { args = { { 0, 2 } } },
                          { args = { { 4 } }, dtype = "f64" }, { args = { { 2, 2 } }, dtype = "f16" } },
     "np.fromfunction(lambda *at: sum(10**k * a for k, a in enumerate(at)) + 0, extents(o))", {
    call = function(f, o)
        return f(function(...)
            local sum = 0
            for k = 1, select("#", ...) do sum = sum + (select(k, ...)) * 10 ^ (k - 1) end
            return sum
        end, o.args[1], given_of(o))
    end,
    refuses = { { "a function", function() np.fromfunction(3, { 2 }) end },
                { "a table or an integer", function() np.fromfunction(print, "a") end } },
})

made("np.fromiter", { { args = { { 1, 2, 3.5 } } }, { args = { { 1, 2, 3 } }, dtype = "i32" },
                      { args = { { 1, 2, 3, 4 } }, count = 2 }, { args = { {} } }, { args = { { 0, 1 } },
                          dtype = "bool" } },
     "np.array(o['args'][0] if isinstance(o['args'][0], tuple) else (), float)[:o.get('count')]", {
    integers = "64-bit integers ask for their dtype, which the test below has",
    refuses = { { "ended after", function() np.fromiter({ 1 }, { count = 2 }) end },
                { "item 1", function() np.fromiter { "a" } end },
                { "a function or a list", function() np.fromiter(3) end },
                { "does not fit", function() np.fromiter({ 300 }, { dtype = "u8" }) end } },
    also = { ["functions, bools, 64-bit integers and complex numbers"] = function()
        local n = 0
        check.equal(np.fromiter(function() n = n + 1 return n <= 3 and n or nil end):totable(), { 1, 2, 3 })
        check.equal(np.fromiter({ true, false }).dtype, "bool")
        check.equal(np.fromiter({ 2LL ^ 53 + 1 }):totable()[1], 2LL ^ 53 + 1)
        check.equal(np.fromiter({ 1, 2i }).dtype, "c64")
    end },
})

-- ---- Indices --------------------------------------------------------------------------------------------------------

local TRIANGLES = { { args = { 3 } }, { args = { 3, 1 } }, { args = { 3, -1 } }, { args = { 3, 0, 5 } }, { args = { 4,
    1, 2 } },
                    { args = { 0 } }, { args = { 3, 9 } }, { args = { 3, -9 } } }
for _, name in ipairs { "tril_indices", "triu_indices" } do
    made("np." .. name, TRIANGLES, ("np.%s(*o['args'])"):format(name), {
        gives = "i32", any_dtype = false,
        refuses = { { "from 0", function() np[name](-1) end }, { "integer", function() np[name](1.5) end },
                    { "integer", function() np[name](3, 0.5) end } },
        also = { ["64-bit integers"] = function()
            check.equal(np[name](3LL, 1LL, 4LL):totable(), np[name](3, 1, 4):totable())
        end },
    })
end
made("np.diag_indices", { { args = { 3 } }, { args = { 2, 3 } }, { args = { 0 } }, { args = { 2, 1 } } },
     "np.diag_indices(*o['args'])", {
    gives = "i32", any_dtype = false,
    refuses = { { "from 0", function() np.diag_indices(-1) end }, { "at most", function() np.diag_indices(2, 17)
        end } },
})

of("np.unravel_index", {
    args = { { "places", from = 0, to = 5, special = function(dtype)
        return dtype == "u64" and { 0, 5 } or { 0, 5, dtype:sub(1, 1) == "i" and -6 or 1 }
    end } },
    accepts = "i32 u8 i64 i8 i16 u16 u32 u64", gives = function(dtype)
        return (dtype == "u8" or dtype == "u16" or dtype == "i8" or dtype == "i16") and "i32" or dtype
    end,
    options = { { args = { { 2, 3 } } }, { args = { { 6 } } }, { args = { { 1, 2, 3 } } } },
    call = function(f, o, places) return f(places, o.args[1], given_of(o)) end,
    oracle = "np.unravel_index(np.where(places < 0, places + 6, places).astype(np.int64), extents(o))",
    without = { derivatives = NO_FLOATS },
    refuses = { { "out of range", function() np.unravel_index(6, { 2, 3 }) end },
                { "out of range", function() np.unravel_index(-7, { 2, 3 }) end },
                { "np.unravel_index: .*integers", function() np.unravel_index(np.array { 0.5 }, { 2, 3 }) end },
                { "np.unravel_index: .*an integer", function() np.unravel_index(0.5, { 2, 3 }) end } },
    also = { ["large shapes, every dtype, numbers, tables and 64-bit integers"] = function()
        for _, dtype in ipairs { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64" } do
            local i, j = np.unravel_index(np.array({ 5, 100 }, { dtype = dtype }), { 2 ^ 20, 2 ^ 20 })
            check.equal({ i:totable(), j:totable() }, { { 0, 0 }, { 5, 100 } }, dtype)
            i, j = np.unravel_index(np.array({ 5, 100 }, { dtype = dtype }), { 200, 300 })
            check.equal({ i:totable(), j:totable() }, { { 0, 0 }, { 5, 100 } }, dtype)
        end
        local i, j = np.unravel_index(np.array({ 2 ^ 40 - 1, -1 }, { dtype = "i64" }), { 2 ^ 20, 2 ^ 20 })
        check.equal({ i:totable(), j:totable() }, { { 2 ^ 20 - 1, 2 ^ 20 - 1 }, { 2 ^ 20 - 1, 2 ^ 20 - 1 } })
        i, j = np.unravel_index(5LL, { 2, 3 })
        check.equal({ i:item(), j:item() }, { 1, 2 })
        i, j = np.unravel_index(-1, { 2 ^ 26, 2 ^ 26 })
        check.equal({ i:item(), j:item() }, { 2 ^ 26 - 1, 2 ^ 26 - 1 })
        i, j = np.unravel_index({ 0, 5 }, { 2, 3 })
        check.equal({ i:totable(), j:totable() }, { { 0, 1 }, { 0, 2 } })
        check.equal(np.unravel_index(np.array({ 9, -9 }, { dtype = "i32" }), { 6 }):totable(), { 5, 0 })
    end },
})

of("np.ravel_multi_index", {
    args = { { "i", from = 0, to = 1, special = { 0, 1 } }, { "j", from = 0, to = 2, special = { 0, 2 } } },
    accepts = "i32 u8 i64 i8 i16 u16 u32 u64", gives = "i32",
    options = { { args = { { 2, 3 } } }, { args = { { 2, 3 } }, mode = "wrap" }, { args = { { 2, 3 } },
        mode = "clip" } },
    call = function(f, o, i, j) return f({ i, j }, o.args[1], given_of(o)) end,
    oracle = "np.ravel_multi_index((i.astype(np.int64), j.astype(np.int64)), (2, 3))",
    without = { derivatives = NO_FLOATS },
    refuses = { { "out of range", function() np.ravel_multi_index({ 2, 0 }, { 2, 3 }) end },
                { "mode", function() np.ravel_multi_index({ 0, 0 }, { 2, 3 }, { mode = "raise" }) end },
                { "a table of 2", function() np.ravel_multi_index({ 0 }, { 2, 3 }) end },
                { "integers", function() np.ravel_multi_index({ np.array(0.5), 0 }, { 2, 3 }) end } },
    also = { ["extents beyond the dtype of the coordinates, and what lies outside"] = function()
        for _, dtype in ipairs { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64" } do
            local i, j = np.array({ 5, 100 }, { dtype = dtype }), np.array({ 7, 120 }, { dtype = dtype })
            check.equal(np.ravel_multi_index({ i, j }, { 200, 300 }):totable(), { 1507, 30120 }, dtype)
            check.equal(np.ravel_multi_index({ i, j }, { 2 ^ 20, 2 ^ 20 }):totable(),
                        { 5 * 2 ^ 20 + 7, 100 * 2 ^ 20 + 120 }, dtype)
        end
        local far = np.array({ -1, 3, 5 }, { dtype = "i32" })
        check.equal(np.ravel_multi_index({ far, 0 }, { 2, 3 }):totable(), { 0, 3, 3 })
        check.equal(np.ravel_multi_index({ far, 0 }, { 2, 3 }, { mode = "wrap" }):totable(), { 3, 3, 3 })
        check.equal(np.ravel_multi_index({ 1LL, 2LL }, { 2, 3 }):item(), 5)
    end },
})

finish()
