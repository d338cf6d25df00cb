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
local KEY = { "key", dtype = "u32", make = function(random) return np.random.key(random(1000)) end }
local IMAGES = { { { 2 }, { 3, 4, 5, 2 } }, { { 2 }, { 2, 4, 4 } }, { { 2 }, { 1, 3, 3, 1 } } }
local ABOUT_KEYS = { special = "elements are copied: `values` tells", numbers = "the arguments are arrays",
                     mesh = "a key is not divided" }

of("np.data.windows", {
    args = { { "x" } }, accepts = "floats i32 u8 i64 bool c64", gives = "same", within = "exact", special = false,
    shapes = { { { 7 } }, { { 6, 2 } }, { { 3 } }, { { 1, 2 } }, { { 0 } } },
    options = { {}, { step = 1 }, { step = 2 }, { step = 5 } },
    call = function(f, o, x) return f(x, 3, next(o) and o or nil) end,
    oracle = "windows(x, 3, o.get('step', 3))",
    without = { special = "elements are copied: `values` tells", numbers = "a number is no sequence",
                mesh = "an axis is cut anywhere: pieces lie whole" },
    refuses = { { "an array with at least 1 axis", function() np.data.windows(3, 2) end },
                { "size", function() np.data.windows(np.ones(3), 0) end },
                { "step", function() np.data.windows(np.ones(3), 1, { step = 0 }) end } },
})
of("np.data.pack", {
    args = { { "a" }, { "b" }, { "c" } }, accepts = "i32 u8 i64 f32", gives = { "same", "i32", "i32" },
    within = "exact", special = false,
    shapes = { { { 3 }, { 4 }, { 2 } }, { { 5 }, { 5 }, { 5 } }, { { 1 }, { 2 }, { 1 } }, { { 2 }, { 0 }, { 3 } } },
    options = { {}, { pad = 7 } },
    call = function(f, o, a, b, c) return f({ a, b, c }, 5, next(o) and o or nil) end,
    oracle = "packed((a, b, c), 5, o.get('pad', 0))",
    without = { special = "elements are copied: `values` tells", numbers = "sequences are arrays",
                mesh = "an axis is cut anywhere: rows lie whole",
                sizes = "rows follow from lengths, which are numbers" },
    refuses = { { "a list of arrays", function() np.data.pack(np.ones(3), 5) end },
                { "at least one sequence", function() np.data.pack({}, 5) end },
                { "sequence 2 has 6 elements, a row has 5", function() np.data.pack({ { 1 }, np.ones(6) }, 5) end },
                { "sequence 1 must have one axis", function() np.data.pack({ np.ones { 2, 2 } }, 5) end } },
})
of("np.data.random_flip", {
    args = { KEY, { "x" } }, accepts = "floats u8 i32", gives = "same", within = "exact", special = false,
    shapes = IMAGES,
    options = { {}, { p = 0.25 }, { p = 1, vertical = true } },
    call = function(f, o, key, x) return f(key, x, next(o) and o or nil) end,
    oracle = "random_flip(key, x, o)", without = ABOUT_KEYS,
    refuses = { { "a number from 0 to 1", function()
                    np.data.random_flip(np.random.key(0), np.ones { 1, 2, 2 }, { p = 2 })
                end },
                { "images of shape", function() np.data.random_flip(np.random.key(0), np.ones(3)) end } },
})
of("np.data.random_crop", {
    args = { KEY, { "x" } }, accepts = "floats u8 i32", gives = "same", within = "exact", special = false,
    shapes = IMAGES,
    options = { {}, { padding = 1 }, { padding = 3 } },
    call = function(f, o, key, x) return f(key, x, { 2, 3 }, next(o) and o or nil) end,
    oracle = "random_crop(key, x, (2, 3), o.get('padding', 0))", without = ABOUT_KEYS,
    refuses = { { "a part of 5 pixels does not fit into 3", function()
                    np.data.random_crop(np.random.key(0), np.ones { 1, 3, 3 }, { 3, 5 })
                end },
                { "{height, width}", function()
                    np.data.random_crop(np.random.key(0), np.ones { 1, 3, 3 }, { 3 })
                end } },
})
of("np.data.moons", {
    args = { KEY },
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
of("np.data.shapes", {
    args = { KEY },
    accepts = "u8", gives = { "u8", "i32" }, shapes = { { { 2 } } }, any_dtype = true,
    options = { {}, { noise = 0 }, { noise = 1, size = 12 }, { size = 21 } },
    within = { u8 = "abs 1" },
    call = function(f, o, key)
        local images, labels = f(key, 6, next(o) and o or nil)
        return images, labels
    end,
    oracle = "shapes(key.astype(np.uint32), 6, o)",
    without = { special = "a key is no number", strided = "a key is no number", mesh = "a key is not divided",
                derivatives = "a key is no number" },
    refuses = { { "from 12", function() np.data.shapes(np.random.key(0), 4, { size = 11 }) end },
                { "a number from 0 to 1", function() np.data.shapes(np.random.key(0), 4, { noise = 2 }) end } },
    also = { ["np.data.shapes: names are a table of one's own"] = function()
        local _, _, names = np.data.shapes(np.random.key(0), 1)
        check.equal(names, { "square", "disc", "cross", "diamond" })
        names[1] = nil
        check.equal(#select(3, np.data.shapes(np.random.key(0), 1)), 4)
    end },
})
elsewhere("np.data.prefetch np.data.image_folder np.data.fashion_mnist", "tests/stdlib/data_test.lua",
          "iterators and files")
elsewhere("np.data np.data.count", "tests/contracts/data_test.lua",
          "a table of functions, and one of numbers: the test of it above")

finish()
