--- seeds.lua: random tests: what they draw, and how much: the same in every run, so that a failure can be run again.
--
--     NEAP_TEST_SEED   the first seed (1)
--     NEAP_TEST_LONG   hours: a test goes on for so long, from seed to seed (tools/test --random)
--
-- A test that uses these says "drawn at random" in its first 20 lines, by which tools/test --random finds it.
local seeds = {}

local hours = tonumber(os.getenv "NEAP_TEST_LONG" or "0") or 0

seeds.first = tonumber(os.getenv "NEAP_TEST_SEED" or "1")
seeds.is_long = hours > 0

--- How many seconds a test draws that usually takes so many.
function seeds.seconds(usual) return seeds.is_long and math.ceil(hours * 3600) or usual end

--- The seeds of a test, for a loop: usually so many, from the first one on; `step` apart (1). Where a test has several
-- such loops, `loops` says how many: the hours are divided among them.
function seeds.each(usual, step, loops)
    step = step or 1
    local seed, last = seeds.first - step, seeds.first + usual - 1
    local limit = os.time() + math.ceil(seeds.seconds(0) / (loops or 1))
    return function()
        seed = seed + step
        local goes_on = seed <= last
        if seeds.is_long then goes_on = os.time() < limit end
        return goes_on and seed or nil
    end
end

--- A generator of integers from 1 to n (Park and Miller's).
function seeds.generator(seed)
    local state = seed % 2147483646 + 1
    return function(n)
        for _ = 1, 3 do state = state * 16807 % 2147483647 end
        return state % n + 1
    end
end

return seeds
