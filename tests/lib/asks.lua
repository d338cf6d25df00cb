--- asks.lua: seeded random programs whose callbacks ask for arrays that do not wait for them.
--
--     asks.run(17)                -- runs the program of this seed; raises where an array is not what it should be
--
-- All elements of an array are one number, which plain Lua knows. An array waits for the last effect that it is
-- computed of. What is computed of none before a callback can be had inside of that, whoever reads it or takes its
-- memory meanwhile: it may have been recorded long after the callback, which starts late.
local seeds = require "tests.lib.seeds"
local np = require "neap"

local asks = {}

local SIZES = { 4, 2 ^ 14, 2 ^ 16, 2 ^ 18 } -- elements: from the third on memory is shared
local STEPS, MOST = 25, 10 -- of a program; arrays that it has at once

local more = np.jit(function(x) return x + 3 end, { donate = { 1 } })
local both = np.jit(function(x, y) return (x * 2):cumsum() * 0 + np.maximum(x, y), y + 1 end, { donate = { 1, 2 } })
local turned = np.jit(function(x) return np.fori_loop(0, 3, function(_, c) return c + 1 end, x) end)

--- A program is { random = …, shape = …, arrays = { { x = …, value = …, waits = an effect }, … }, effects = a count }.
local function any(p) return p.arrays[p.random(#p.arrays)] end

--- Takes an array that is in the list once, if there is one, out of it.
local function take(p)
    local at = p.random(#p.arrays)
    for k, other in ipairs(p.arrays) do
        if #p.arrays < 4 or (k ~= at and rawequal(other.x, p.arrays[at].x)) then return nil end
    end
    return table.remove(p.arrays, at)
end

local function add(p, x, value, ...)
    p.arrays[#p.arrays + 1] = { x = x, value = value, waits = math.max(0, ...) }
end

local function compare(p, a)
    local got = a.x[p.shape[1] - 1]:item()
    if got ~= a.value then error(("an array is %g and not %g"):format(got, a.value)) end
end

--- The function of a callback, the effect of this number.
local function asking(p, number)
    return function(x)
        local there = {}
        for _, a in ipairs(p.arrays) do
            if a.waits < number then there[#there + 1] = a end
        end
        if #there > 0 then compare(p, there[p.random(#there)]) end
        return x + 0
    end
end

local function next_effect(p)
    p.effects = p.effects + 1
    return p.effects
end

local function late(p, x) return np.debug.sleep(x, p.random(4)) end

local steps = {
    function(p) local a = any(p) add(p, a.x + 2, a.value + 2, a.waits) end,
    function(p)
        local a, b = any(p), any(p)
        add(p, np.maximum(a.x, b.x), math.max(a.value, b.value), a.waits, b.waits)
    end,
    function(p) local a = any(p) add(p, a.x:sort(), a.value, a.waits) end,
    function(p) local a = any(p) add(p, a.x:at { 0 }:set(a.value), a.value, a.waits) end,
    function(p) local a = any(p) add(p, turned(a.x), a.value + 3, a.waits) end,
    function(p)
        local a = take(p)
        if a then add(p, more(a.x), a.value + 3, a.waits) end
    end,
    function(p)
        local a = take(p)
        local b = a and take(p)
        if not b then
            p.arrays[#p.arrays + 1] = a
            return
        end
        local x, y = both(a.x, b.x)
        add(p, x, math.max(a.value, b.value), a.waits, b.waits)
        add(p, y, b.value + 1, a.waits, b.waits)
    end,
    function(p)
        local a, number = any(p), next_effect(p)
        local call = np.callback(asking(p, number), { result = { shape = p.shape } })
        add(p, call(late(p, a.x)), a.value, a.waits, number)
    end,
    function(p) np.callback(asking(p, next_effect(p)))(late(p, any(p).x)) end,
    function(p)
        local a, number = any(p), next_effect(p)
        local call = np.callback(asking(p, number))
        add(p, np.fori_loop(0, 2, function(_, c) call(c) return c + 1 end, a.x), a.value + 2, a.waits, number)
    end,
    function(p)
        local a, number = any(p), next_effect(p)
        add(p, np.fori_loop(0, 2, function(i, c) print("turn", i, c[0]) return c + 1 end, a.x), a.value + 2, a.waits,
            number)
    end,
    function(p) next_effect(p) print("element", any(p).x[0]) end,
    function(p) np.force(any(p).x) end,
    function(p)
        local all = {}
        for k, a in ipairs(p.arrays) do all[k] = a.x end
        np.force(all)
    end,
    function(p) if p.random(4) == 1 then compare(p, any(p)) end end,
    function(p)
        local a, b, c = any(p), any(p), any(p)
        local x, y = np.deferred(function()
            return np.maximum(a.x, b.x):sort() + (c.x * 0):sum(), (c.x * 2):sort() * 0.5
        end)
        add(p, x, math.max(a.value, b.value), a.waits, b.waits, c.waits)
        add(p, y, c.value, c.waits)
        np.force { x, y }
    end,
}

function asks.run(seed)
    local p = { random = seeds.generator(seed), arrays = {}, effects = 0 }
    p.shape = { SIZES[p.random(#SIZES)] }
    for k = 1, 3 do add(p, np.full(p.shape, k, { dtype = "f32" }) + 0, k) end
    for _ = 1, STEPS do
        while #p.arrays > MOST do table.remove(p.arrays, p.random(#p.arrays)) end
        steps[p.random(#steps)](p)
    end
    for _, a in ipairs(p.arrays) do compare(p, a) end
    np.effects_barrier()
    print("seed", seed)
end

return asks
