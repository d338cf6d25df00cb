--- sizes_random_test.lua (under tsan with --long): functions drawn at random (tests/lib/sized_programs.lua), recorded
-- once with declared sizes, at ten sizes each: bit for bit what the function gives when it is run directly, or a
-- refusal; an error where that raises. The same with programs inside of programs.
--
-- NEAP_TEST_LONG=h in hours draws that long; NEAP_TEST_SEEDS=from,to draws these. Sanitized builds draw a third.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local sized_programs = require "tests.lib.sized_programs"
local np = require "neap"

local LONG = tonumber(os.getenv "NEAP_TEST_LONG" or "0") or 0
local COUNT = os.getenv "NEAP_TEST_BUILD" == "release" and 120 or 40
local USUAL = ("%d,%d"):format(seeds.first, seeds.first + COUNT - 1)
local FROM, TO = (os.getenv "NEAP_TEST_SEEDS" or USUAL):match "(%d+),(%d+)"
local PLACES = { { 5, 4 }, { 1, 1 }, { 2, 3 }, { 3, 2 }, { 7, 7 }, { 4, 9 }, { 12, 1 }, { 1, 6 }, { 6, 6 }, { 17, 5 } }

-- Some functions are drawn with products of products of extents: one of millions wanted 25 GiB.
np.debug.memory_limit(2 ^ 30)

--- Dtype, shape and elements, as a text; NaN as one.
local function bits(x)
    local parts = { x.dtype, table.concat(x.shape, ",") }
    for _, value in ipairs(x:ravel():totable()) do
        parts[#parts + 1] = value ~= value and "nan" or ("%.17g"):format(tonumber(value) or (value and 1 or 0))
    end
    return table.concat(parts, " ")
end

local counts

--- What a program or function gives, as texts; nil and an error.
local function outcome(f, arguments)
    local results = { pcall(f, unpack(arguments)) }
    if not results[1] then return nil, tostring(results[2]) end
    local ok, text = pcall(function() return bits(results[2]) .. "; " .. bits(results[3]) end)
    return ok and text or nil, ok or text
end

local function try(seed, levels)
    local f, text, direct = sized_programs.draw(seed, levels)
    local ok, program = pcall(function()
        return np.trace(f, { sizes = sized_programs.SIZES })(unpack(sized_programs.arguments(seed, 5, 4)))
    end)
    if not ok then
        counts.unrecorded = counts.unrecorded + 1
        return
    end
    for _, place in ipairs(PLACES) do
        local arguments = sized_programs.arguments(seed, place[1], place[2])
        local got = outcome(program, arguments)
        local want, problem = outcome(direct, arguments)
        if got == nil or tostring(problem):find("out of memory", 1, true) then
            counts.refused = counts.refused + 1
        elseif got ~= want then
            error(("seed %d at n = %d, m = %d: %s\n  got  %s\n  want %s"):format(seed, place[1], place[2], text, got,
                                                                                want or problem), 0)
        else
            counts.same = counts.same + 1
        end
    end
end

local function try_seeds(from, to, levels)
    local seed, until_time = tonumber(from), os.time() + LONG * 1800
    counts = { same = 0, refused = 0, unrecorded = 0 }
    while seed <= tonumber(to) or os.time() < until_time do
        try(seed, levels)
        seed = seed + 1
    end
    print(("%d the same, %d refused, %d not recorded"):format(counts.same, counts.refused, counts.unrecorded))
    check.ok(counts.same > 2 * counts.refused, "most of them follow")
end

check.test("random functions at ten sizes are what they are directly, or refused", function()
    try_seeds(FROM, TO, 0)
end)

check.test("with recorded programs inside, and others inside of these", function()
    try_seeds(FROM, FROM + (TO - FROM) / 2, 2)
end)

check.done()
