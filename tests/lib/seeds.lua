--- seeds.lua: numbers for random tests: the same ones from one seed in every run, whatever else draws.
local seeds = {}

--- A generator of integers from 1 to n (Park and Miller's).
function seeds.generator(seed)
    local state = seed % 2147483646 + 1
    return function(n)
        for _ = 1, 3 do state = state * 16807 % 2147483647 end
        return state % n + 1
    end
end

return seeds
