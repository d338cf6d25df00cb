--- draws.lua: how much a random test draws: the same seeds in every run, so that a failure can be run again.
--
--     NEAP_TEST_SEED   the first seed (1)
--     NEAP_TEST_LONG   hours: the test goes on for so long, from seed to seed (tools/test --random)
--
-- A test that uses this says "drawn at random" in its first 20 lines, by which tools/test --random finds it.
local draws = {}

local hours = tonumber(os.getenv "NEAP_TEST_LONG" or "0") or 0

draws.first = tonumber(os.getenv "NEAP_TEST_SEED" or "1")
draws.is_long = hours > 0

--- How many seconds a test draws that usually takes so many.
function draws.seconds(usual) return draws.is_long and math.ceil(hours * 3600) or usual end

--- The seeds of a test: usually so many, from the first one on; `step` apart (1).
function draws.seeds(usual, step)
    step = step or 1
    local seed, last, limit = draws.first - step, draws.first + usual - 1, os.time() + draws.seconds(0)
    return function()
        seed = seed + step
        local goes_on = seed <= last
        if draws.is_long then goes_on = os.time() < limit end
        return goes_on and seed or nil
    end
end

return draws
