--- ordered_test.lua (drawn at random): runs whose arrays get the memory of arrays that work in flight still uses. A
-- loop that never waits takes about as much memory as one that does, and random programs give the same bits as those
-- that wait for each result.
--
-- What is to be in flight stands behind a product that takes milliseconds.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local seeds = require "tests.lib.seeds"

local MIB = 2 ^ 20
local SLOW, FEW, TURNS = 600, 32, 60
local _, cores = process.run { "nproc" }
local MOST = 24 + 2 * tonumber(cores) -- MiB: what is taken over is as many ops behind as there are workers, and more

local slow = (np.ones { SLOW, SLOW } / SLOW):wait()

--- 0, a while later: the sum of a product by a matrix of zeros.
local function later()
    return (slow:matmul(slow):matmul(slow) - 1):sum() * 0
end

-- ---- Memory ---------------------------------------------------------------------------------------------------------

local function peak(step, x)
    np.wait_all()
    collectgarbage()
    np.wait_all()
    np.memory.reset_peak()
    local before = np.memory().live
    x = x + later()
    for _ = 1, TURNS do x = step(x) end
    x:wait()
    return (np.memory().peak - before) / MIB
end

local loops = {
    ["a jitted map"] = np.jit(function(x) return np.tanh(x) * 0.5 end),
    ["jitted steps of several kernels"] = np.jit(function(x)
        local y = np.cumsum(x:reshape(512, 512), { axis = 1 }) / 512
        return (np.sort(y, { axis = 0 }) - y:mean { axis = 1, keepdims = true }):reshape(512 * 512)
    end),
    ["a jitted loop"] = np.jit(function(x)
        return np.fori_loop(0, 3, function(_, v) return np.cumsum(v) / 3 end, x)
    end),
}
for name, step in pairs(loops) do
    check.test(("%d turns of %s, of 1 MiB, that never wait take a few MiB"):format(TURNS, name), function()
        local x = (np.ones { 512 * 512 } * 1):wait()
        step(step(x)):wait()
        local highest = peak(step, x)
        check.ok(highest <= MOST, ("%.1f MiB"):format(highest))
    end)
end

check.test("arrays that wait for a callback lend no memory to what the callback asks for", function()
    local asked = 0
    local twice = np.jit(function(x) return x * 2 + 1 end)
    np.debug.reuse(1)
    local x = np.ones { FEW } + later()
    for k = 1, 12 do
        local ask = np.callback(function(v)
            asked = asked + 1
            return (twice(twice(v)) + np.ones { FEW } * k):wait()
        end, { result = x })
        x = twice(ask(x)) * 0.1
    end
    x:wait()
    np.debug.reuse(0)
    check.equal(asked, 12)
end)

-- ---- Random programs ------------------------------------------------------------------------------------------------

local ops = {
    function(a, b) return a * 0.5 + b end,
    function(a, b) return np.sin(a) - b:sum() / FEW end,
    function(a, b) return np.sort(a - b) end,
    function(a, b) return np.concat { a:reshape(4, 8):matmul(b:reshape(8, 4)):reshape(16), a[{ { 0, 16 } }] } / 4 end,
    function(a, b) return np.cumsum(a) / FEW + b end,
    function(a, b) return a:at { { 3, 9 } }:set(b[{ { 1, 7 } }]) end,
    function(a, b) return a:at { np.array({ 1, 5, 1 }, { dtype = "i32" }) }:add(b[{ { 0, 3 } }]) end,
    function(a, b) return np.where(np.greater(a, 0), a, b) end,
    function(a, b) return np.fori_loop(0, 3, function(_, v) return np.cumsum(v) / FEW + a end, b) end,
    function(a, b) return np.take(a, np.argsort(b)) end,
}
local jitted = {}
for k, f in ipairs(ops) do jitted[k] = np.jit(f) end
local two = np.jit(function(a, b) return np.cos(a) + b, np.cumsum(b) / FEW end)
local donated = np.jit(function(a, b) return a * 0.25 - b:mean() end, { donate = { 1 } })

--- The arrays that a program leaves, as texts of their bits.
local function run(seed, waits)
    local draw = seeds.generator(seed)
    local live = {}
    for k = 1, 6 do live[k] = np.sin(np.arange(FEW) * k + seed) + later() end
    for _ = 1, 80 do
        local a, b, to, kind = draw(6), draw(6), draw(6), draw(12)
        if kind == 1 then
            live[to], live[a] = two(live[a], live[b])
        elseif kind == 2 and a ~= b then
            live[a] = donated(live[a], live[b])
        elseif kind == 3 then
            live[to] = live[a] + later()
        else
            live[to] = (kind > 6 and jitted or ops)[draw(#ops)](live[a], live[b])
        end
        if draw(5) == 1 then collectgarbage "step" end
        if waits then
            for k = 1, 6 do live[k]:wait() end
        end
    end
    local texts = {}
    for k = 1, 6 do texts[k] = table.concat(live[k]:view("i32"):totable(), " ") end
    return texts
end

check.test("random programs that never wait give the same bits", function()
    for seed in seeds.each(12) do
        np.debug.reuse(0)
        local expected = run(seed, true)
        np.debug.reuse(1)
        local given = run(seed)
        np.debug.reuse(0)
        for k = 1, 6 do
            if given[k] ~= expected[k] then error(("seed %d: array %d differs"):format(seed, k)) end
        end
    end
end)

check.done()
