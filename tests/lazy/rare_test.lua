--- rare_test.lua (under tsan with --long): functions whose loops look for rare arguments block by block
-- (lazy/vm/simd/kernels.c): an element is the same wherever it stands, beside which others, and in place.
local np = require "neap"
local check = require "tests.lib.check"

local N = 5003
local RARE = { 0, 1, -1, 1e30, -1e30, 1e-42, math.huge, -math.huge, 0 / 0, -0.0, 300, -300 }
local PLACES = { 0, 1, 2047, 2048, 2049, 4095, 4096, 5000, 5002 }

--- Common arguments, with one rare one at a place, and at the last of all.
local function arguments(at, rare, dtype)
    local x = np.random.uniform(np.random.key(at + 1), { N }, { minval = 1.25, maxval = 1.75, dtype = dtype })
    return x:at { at }:set(rare):at { N - 1 }:set(rare):wait()
end

--- What f gives of single elements.
local function alone(f, x, ...)
    local places = np.array({ ... }, { dtype = "i32" })
    local parts = {}
    for k = 1, select("#", ...) do parts[k] = f(np.copy(np.take(x, places[k - 1]):reshape(1)):wait()):wait() end
    return np.take(f(x):wait(), places), np.concatenate(parts)
end

local function same(a, b, what) check.ok(np.array_equal(a, b, { equal_nan = true }), what) end

for _, name in ipairs { "exp", "expm1", "sinh", "log", "log1p", "log10", "asinh", "acosh", "tan", "sin", "erf", "cbrt",
                        "rsqrt", "sigmoid" } do
    check.test(name .. " of a rare argument, and of those beside it", function()
        for k, at in ipairs(PLACES) do
            for _, dtype in ipairs { "f32", "f64" } do
                local rare = RARE[k % #RARE + 1]
                local x = arguments(at, rare, dtype)
                local together, single = alone(np[name], x, 0, 3, at, math.min(at + 1, N - 1), 2047, 2048, 4099, N - 2,
                                               N - 1)
                same(together, single, ("%s %s at %d"):format(dtype, rare, at))
            end
        end
    end)
end

check.test("pairs, and an array beside a number, in place of the array", function()
    for _, name in ipairs { "pow", "remainder", "logaddexp" } do
        local f = np[name]
        local into = np.jit(function(x, y) return f(x, y) end, { donate = { 1 } })
        for k, at in ipairs(PLACES) do
            local rare = RARE[(k + 4) % #RARE + 1]
            local x, y = arguments(at, rare, "f32"), arguments((at + 77) % N, 1.5, "f32")
            local pairs_of, single = f(x, y), f(np.copy(x[at]):wait(), np.copy(y[at]):wait())
            local what = ("%s of %s at %d"):format(name, rare, at)
            same(pairs_of[at], single, what)
            same(f(x, 1.5)[at], f(np.copy(x[at]):wait(), 1.5), what .. " and 1.5")
            same(f(1.5, x)[at], f(1.5, np.copy(x[at]):wait()), what .. " behind 1.5")
            same(into(np.copy(x):wait(), y), pairs_of, what .. ", in place")
        end
    end
end)

check.done()
