--- sizes_algebra_test.lua: size expressions against the numbers that they stand for: random ones have their values for
-- all sizes, equal ones are found equal, and what is decided of them is so for all sizes.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local np = require "neap"
local core = require "neap.core"
local declared = require "neap.tracing.declared"

local LONG = tonumber(os.getenv "NEAP_TEST_LONG" or "0") or 0
local COUNT = LONG > 0 and math.floor(200000 * LONG) or 1500
local SIZES = {}
for n = 1, 9 do
    for m = 1, 9 do SIZES[#SIZES + 1] = { n = n, m = m } end
end
SIZES[#SIZES + 1] = { n = 1000, m = 7 }
SIZES[#SIZES + 1] = { n = 31, m = 4096 }

--- A random expression as a function of a table of sizes, which are numbers or size values.
local function draw(random, depth)
    local kind = random(depth > 0 and 11 or 3)
    if kind == 1 then return function(s) return s.n end end
    if kind == 2 then return function(s) return s.m end end
    if kind == 3 then
        local value = random(7) - 3
        return function() return value end
    end
    local a, b, k = draw(random, depth - 1), draw(random, depth - 1), random(4)
    if kind <= 5 then return function(s) return a(s) + b(s) end end
    if kind == 6 then return function(s) return a(s) - b(s) end end
    if kind == 7 then return function(s) return a(s) * k end end
    if kind == 8 then return function(s) return math.floor(a(s) / k) end end
    if kind == 9 then return function(s) return a(s) % k end end
    local name, count = kind == 10 and "min" or "max", random(3)
    if count == 1 then return function(s) return math[name](a(s)) end end
    if count == 2 then return function(s) return math[name](a(s), b(s)) end end
    return function(s) return math[name](k, a(s), b(s)) end
end

local function conditions_of(transcript)
    return select(2, declared.conditions(transcript):gsub("\n", ""))
end

--- Runs body(n and m as size values) while they are declared; returns the transcript.
local function with_sizes(body)
    return (declared.record("trace", { "n", "m" }, { n = 5, m = 3 }, body))
end

local COMPARISONS = {
    { "==", function(a, b) return a == b end }, { "<", function(a, b) return a < b end },
    { "<=", function(a, b) return a <= b end },
}

check.test("values, decisions and conditions of random expressions are those of numbers", function()
    local decided, asked = 0, 0
    for seed = 1, COUNT do
        local random = seeds.generator(seed)
        local f, g = draw(random, 3), draw(random, 3)
        local compare = COMPARISONS[random(3)]
        local answer, x
        local transcript = with_sizes(function(s)
            x = f(s)
            answer = compare[2](x, g(s))
        end)
        local conditions = conditions_of(transcript)
        local always, at_now = true, compare[2](f { n = 5, m = 3 }, g { n = 5, m = 3 })
        check.equal(answer, at_now, ("seed %d: the answer of now"):format(seed))
        for _, s in ipairs(SIZES) do
            always = always and compare[2](f(s), g(s)) == answer
            if core.is_size(x) then
                local value = declared.value(transcript, x, { "n", "m" }, s)
                if value ~= f(s) then
                    check.equal(value, f(s), ("seed %d: n = %d, m = %d"):format(seed, s.n, s.m))
                end
            end
        end
        check.ok(conditions > 0 or always, ("seed %d: %s was decided, and depends"):format(seed, compare[1]))
        decided, asked = decided + (conditions == 0 and 1 or 0), asked + conditions
    end
    check.ok(decided > COUNT / 4, "enough is decided")
    check.ok(asked > 0, "not all of it")
end)

check.test("equal expressions are found equal", function()
    with_sizes(function(s)
        local n, m = s.n, s.m
        for k, pair in ipairs {
            { (n + m) * (n - m), n * n - m * m }, { n + n, 2 * n }, { math.floor((4 * n + 3) / 2), 2 * n + 1 },
            { (4 * n + 3) % 2, 1 }, { math.min(n, 2 * n), n }, { math.max(n, 1), n }, { n - n, 0 },
            { math.floor(n / 1), n }, { math.ceil(n), n }, { math.min(n, math.floor(n / 2)), math.floor(n / 2) },
            { math.max(0, n - 1), n - 1 }, { math.min(m, math.max(1, m - 1)), math.max(1, m - 1) },
            { math.max(0, n % 3), n % 3 }, { math.floor((n * m) / n) * 1, math.floor((n * m) / n) },
        } do
            check.ok(core.is_same(pair[1], pair[2]), ("pair %d: %s and %s"):format(k, tostring(pair[1]),
                                                                                   tostring(pair[2])))
        end
    end)
end)

check.test("reals of sizes are Lua's numbers", function()
    local half, root, power
    local transcript = with_sizes(function(s)
        half, root, power = s.n / 7 * s.m, math.sqrt(s.n), (s.n + 1) ^ 0.5
    end)
    for _, s in ipairs(SIZES) do
        check.equal(declared.value(transcript, half, { "n", "m" }, s), s.n / 7 * s.m)
        check.equal(declared.value(transcript, root, { "n", "m" }, s), math.sqrt(s.n))
        check.equal(declared.value(transcript, power, { "n", "m" }, s), (s.n + 1) ^ 0.5)
    end
end)

check.test("what is no number raises", function()
    with_sizes(function(s)
        check.raises(function() return s.n + {} end, "size")
        check.raises(function() return s.n < "a" end, "size")
        check.equal(s.n == nil, false)
        check.equal(tostring(2 * s.n + 1), "2*n + 1")
    end)
end)

check.test("a size is none of another recording", function()
    local kept
    with_sizes(function(s) kept = s.n end)
    check.raises(function() return kept + 1 end, "a size that belongs to a trace that has ended")
end)

check.test("too large", function()
    with_sizes(function(s)
        check.raises(function() return (s.n * 2 ^ 40) * (s.m * 2 ^ 40) end, "too large")
    end)
    check.equal(np.ones(2).shape[1], 2)
end)

check.done()
