--- data_test.lua: contracts of np.data (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "data"

--- np.data.count says how many batches np.data.batches gives.
local function counts()
    for n = 0, 7 do
        for size = 1, 4 do
            for _, drop in ipairs { false, true } do
                local count = 0
                for _ in np.data.batches({ np.zeros { n } }, size, { drop_last = drop }) do count = count + 1 end
                check.equal(np.data.count(n, size, { drop_last = drop }), count)
            end
        end
    end
    check.raises(function() np.data.count(5, 2, { nonsense = 1 }) end, "nonsense")
end

of("np.data.batches", {
    args = { "x", "y" }, accepts = "floats i32 u8 i64 bool c64", gives = "same", within = "exact",
    special = false, shapes = { { { 7, 2 }, { 7 } }, { { 6 }, { 6, 1 } }, { { 2 }, { 2 } } },
    options = { {}, { drop_last = true }, { key = 3 }, { key = 5, drop_last = true } },
    call = function(f, o, x, y)
        local given, results = { drop_last = o.drop_last, nonsense = o.nonsense }, {}
        if o.key then given.key = np.random.key(o.key) end
        for a, b in f({ x, y }, 3, next(given) and given or nil) do
            results[#results + 1], results[#results + 2] = a, b
        end
        return results
    end,
    oracle = "batches((x, y), 3, o)",
    without = { numbers = "batches are parts of arrays", special = "elements are copied: `values` tells",
                mesh = "an axis is cut anywhere: parts lie whole" },
    refuses = { { "examples", function() np.data.batches({ np.ones(3), np.ones(4) }, 2) end } },
    also = { ["np.data.batches: an epoch has each example once"] = function()
        local seen = {}
        for x in np.data.batches({ np.arange(10) }, 3, { key = np.random.key(1) }) do
            for _, value in ipairs(x:totable()) do seen[#seen + 1] = value end
        end
        table.sort(seen)
        check.equal(seen, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 })
    end, ["np.data.count is the number of batches"] = counts },
})
of("np.data.moons", {
    args = { { "key", dtype = "u32", make = function(random) return np.random.key(random(1000)) end } },
    accepts = "f32", shapes = { { { 2 } } }, options = { {}, { noise = 0 }, { noise = 0.5 } }, any_dtype = true,
    within = { f32 = "abs 1e-6" },
    call = function(f, o, key) return f(key, 6, next(o) and o or nil) end,
    oracle = "moons(key.astype(np.uint32), 6, o)",
    without = { special = "a key is no number", strided = "a key is no number", mesh = "a key is not divided",
                derivatives = "a key is no number" },
    also = { ["np.data.moons: dtypes"] = function()
        local x, labels = np.data.moons(np.random.key(0), 4)
        check.equal({ x.dtype, labels.dtype }, { "f32", "i32" })
    end },
})
elsewhere("np.data np.data.count", "tests/contracts/data_test.lua",
          "a table of functions, and one of numbers: the test of it above")

finish()
