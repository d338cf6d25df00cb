--- settings_test.lua: np.debug.kernels and np.debug.reuse, drawn at random while kernels run, change no bit of what is
-- under way or comes after; under tsan no kernel reads a setting unguarded.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"

local isas = {}
for _, isa in ipairs { "baseline", "avx2", "avx512" } do
    if pcall(np.debug.kernels, { isa = isa }) then isas[#isas + 1] = isa end
end
np.debug.kernels {}

local X = np.random.normal(np.random.key(3), { 300, 70 }):wait()
local LONG = np.random.normal(np.random.key(4), { 140000 }):wait()
local ROWS = (np.arange(900) * 7 % 300):astype "i32":wait()

--- Each of maps, folds, products, draws, gathers, puts and loops, in the forms of nests that there are.
local WORK = {
    function(x) return np.tanh(x) * 2 + x end,
    function(x) return (x * x):sum(1) end,
    function(x) return (x * x):sum(0) end,
    function(x) return np.softmax(x, -1) end,
    function(x) return x:transpose() + 1 end,
    function(x) return np.cumsum(x, 0) end,
    function(x) return np.take(x, ROWS, { axis = 0 }) * 0.5 end,
    function(x) return np.zeros { 300, 70 }:at(ROWS):add(np.take(x, ROWS, { axis = 0 })) end,
    --- As few multiplications as have the same bits without fused multiply-adds (docs/numbers.md).
    function(x) return x[{ { 0, 20 } }]:matmul(x[{ { 20, 40 } }]:transpose()) end,
    function(x) return np.sort(x, { axis = 0 }) end,
    function(x) return np.sort(LONG + x[{ 0, 0 }]) end,
    function(x) return np.argsort(LONG + x[{ 0, 0 }]) end,
    function(x) return np.random.normal(np.random.key(5), { 100, 70 }) + x[{ { 0, 100 } }] end,
    function(x)
        return (np.scan(function(c, row)
            local next = np.tanh(c + row * 0.5)
            return next, next:sum()
        end, np.zeros(70), x))
    end,
}
local JITTED = {}
for k, f in ipairs(WORK) do JITTED[k] = np.jit(f) end

local function draw(d)
    local function any(list) return list[d(#list)] end
    np.debug.kernels { isa = any(isas), tier = any { "auto", "vm", "native" }, hot = any { 1, 1e5, 2e7 },
                       chunk = any { 256, 512, 1024 }, stream_min = any { 1, 4096, 1e9 },
                       parallel_min = any { 1, 1e4, 1e8 }, task_min = any { 1, 1e3, 1e5 } }
    np.debug.reuse(any { 0, 1, 4096 })
end

check.test("settings that change while kernels run change no bit", function()
    local expected = {}
    for k, f in ipairs(WORK) do expected[k] = f(X):wait() end
    for seed in seeds.each(20) do
        local d, made = seeds.generator(seed), {}
        for _ = 1, 12 do
            local k = d(#WORK)
            made[#made + 1] = { k = k, y = (d(2) == 1 and WORK or JITTED)[k](X) }
            if d(2) == 1 then np.force(made[#made].y) end
            draw(d)
        end
        for _, one in ipairs(made) do
            check.ok(np.array_equal(one.y, expected[one.k]), ("seed %d, work %d"):format(seed, one.k))
        end
    end
    np.debug.kernels {}
    np.debug.reuse(0)
end)

check.done()
