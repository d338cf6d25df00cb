--- gpu.lua: neap on the first GPU, and its goals.
--
--      maps, reductions    at least 0.9 of the bytes that the driver's copy moves in the time
--      products            at least 0.98 of the speed of cuBLAS, called by itself (bench/cuda.lua)
--      first result        15 ms, for an expression that was never seen: code is made for it and loaded
--      a cached step       2 us for each of the KERNELS kernels of a jitted function, until all is done
--      loops               3 us for each turn of a scan that is one launch, 4 us for each of a fori_loop, whose two are
--                          in a graph, 40 us for each turn of a while_loop, which asks the host
--      training steps      1.2 times as fast as the faster of JAX and PyTorch on the same GPU (bench/steps.lua)
--
-- Where there is no GPU the group says so, with the reason. In tests the fake driver stands in for one. A case is one
-- of "memory", "products", "sorts", "first", "launches", "loops", "steps". NEAP_BENCH_PEERS="torch gpu" leaves the
-- others out.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local core = require "neap.core"
local cuda = require "bench.cuda"
local kernels = require "bench.kernels"
local measure = require "bench.measure"
local peers = require "bench.peer"
local steps = require "bench.steps"

do
    local ok, found = pcall(np.devices, "cuda")
    if not ok or #found == 0 then
        measure.skip(ok and "there is no GPU" or tostring(found):match "[^\n]*of the kind 'cuda': ([^\n]*)" or found)
        os.exit(0)
    end
    np.default_device(found[1])
    np.zeros(1):wait() -- neap opens the GPU, which then is there for others
end

local function wanted(case) return case:find(measure.case) ~= nil end

-- A GPU that has had nothing to do has a low clock, which it raises under load, within some tenths of a second: an H200
-- goes from 345 MHz to 1980. So slices are long, and each row begins with work that does not count.
measure.slice_ns = measure.quick and 4e6 or 4e7
local WARM_NS = measure.quick and 0 or 5e8

local warm_input
local function warm_up()
    local start = measure.now()
    warm_input = warm_input or np.random.uniform(np.random.key(1), { 2048, 2048 }):wait()
    while measure.now() - start < WARM_NS do np.wait(np.tanh(warm_input:matmul(warm_input))) end
end

local KERNELS = measure.quick and 8 or 64
local ELEMENTS = measure.quick and 4096 or 2 ^ 26

--- A contender: calls f so often, each time started and its results given back, and waits for the last one.
local function queued(name, f)
    return { name = name, timer = function(count)
        local start = measure.now()
        for k = 1, count do
            local results = { f() }
            np.force(unpack(results))
            if k == count then np.wait(unpack(results)) end
            for _, x in ipairs(results) do x:delete() end
        end
        return (measure.now() - start) / count
    end }
end

-- ---- Memory ---------------------------------------------------------------------------------------------------------

--- Bytes that a kernel of bench/kernels.lua has to move.
local function bytes_of(kernel, n)
    return 4 * n * ((kernel.inputs or 1) + (kernel.reduces and 0 or kernel.outputs or 1))
end

local function memory_row(kernel)
    local n, inputs = kernels.size(kernel, ELEMENTS), {}
    for k = 1, kernel.inputs or 1 do inputs[k] = kernels.input(k, n, kernel.columns) end
    local copies, bytes = cuda.copies(4 * n), bytes_of(kernel, n)
    local own = queued("neap", function() return kernel.lua(unpack(inputs)) end)
    warm_up()
    local ratio, times, of_copies = measure.pair(own, copies)
    cuda.free(copies)
    measure.row { name = kernel.name .. " on a GPU", value = bytes / measure.median(times),
                  best = bytes / measure.min(times), unit = "GB/s", reference = 8 * n / measure.median(of_copies),
                  ratio = bytes / (8 * n) / ratio, goal = 0.9, better = "more" }
    core.reclaim()
end

for _, kernel in ipairs(kernels) do
    if kernel.group ~= "small" and wanted "memory" then memory_row(kernel) end
end

-- ---- Products -------------------------------------------------------------------------------------------------------

local PRODUCTS = {
    { "f32", { m = 4096, n = 4096, k = 4096, batch = 1 } }, { "f32", { m = 512, n = 512, k = 512, batch = 64 } },
    { "f32", { m = 128, n = 4096, k = 1024, batch = 1 } }, { "f64", { m = 2048, n = 2048, k = 2048, batch = 1 } },
    { "f16", { m = 4096, n = 4096, k = 4096, batch = 1 } }, { "bf16", { m = 4096, n = 4096, k = 4096, batch = 1 } },
    { "bf16", { m = 512, n = 512, k = 512, batch = 64 } },
}

local function product_row(dtype, p)
    if measure.quick then p = { m = 32, n = 16, k = 24, batch = math.min(p.batch, 3) } end
    local key = np.random.key(3)
    local a = np.random.uniform(key, { p.batch, p.m, p.k }):astype(dtype):wait()
    local b = np.random.uniform(np.random.fold_in(key, 1), { p.batch, p.k, p.n }):astype(dtype):wait()
    -- In a program the product of halves is rounded by cuBLAS; what a script records by itself is rounded by a kernel.
    local function multiply(x, y) return x:matmul(y) end
    if dtype:find "16" then multiply = np.jit(multiply) end
    multiply(a, b):wait() -- neap finds cuBLAS, which then is there for others
    local direct = cuda.products(dtype, p)
    local name = ("product %s, %d of %dx%d by %dx%d"):format(dtype, p.batch, p.m, p.k, p.k, p.n)
    local own = queued("neap", function() return multiply(a, b) end)
    warm_up()
    if not direct then -- where neap has no cuBLAS, either
        local median, best = measure.one(own)
        measure.row { name = name, value = median / 1e3, best = best / 1e3, unit = "us" }
        return
    end
    local ratio, times, of_blas = measure.pair(own, direct)
    cuda.free(direct)
    measure.row { name = name, value = measure.median(times) / 1e3, best = measure.min(times) / 1e3, unit = "us",
                  reference = measure.median(of_blas) / 1e3, ratio = 1 / ratio, goal = 0.98, better = "more" }
end

for _, product in ipairs(wanted "products" and PRODUCTS or {}) do product_row(unpack(product)) end

-- ---- Sorts ----------------------------------------------------------------------------------------------------------

-- Lines, elements of each, dtype, and launches of the plan at most.
local SORTS = {
    { 1, 2000, "f32", 1 }, { 1, 4000, "f32", 1 }, { 1000, 10000, "f32", 2 }, { 1, 1e5, "f32", 4 },
    { 1, 1e6, "f32", 5 }, { 1, 1e6, "f64", 6 }, { 1, 2 ^ 26, "f32", 8 },
}

local function sort_row(lines, n, dtype, most)
    if measure.quick and lines * n > 1e6 then return end
    local x = np.random.uniform(np.random.key(4), { lines, n }):astype(dtype):wait()
    local plan = tostring(np.explain(np.sort(x, { axis = 1 })))
    local launches = tonumber(plan:match ", code for cuda, (%d+) launches" or 1)
    local own = queued("neap", function() return np.sort(x, { axis = 1 }) end)
    warm_up()
    local median, best = measure.one(own)
    measure.row { name = ("sort of %d lines of %d, %s, %d launches"):format(lines, n, dtype, launches),
                  value = median / 1e3, best = best / 1e3, unit = "us",
                  checks = { { name = "launches", ratio = launches / most, goal = 1 } } }
    core.reclaim()
end

for _, sort in ipairs(wanted "sorts" and SORTS or {}) do sort_row(unpack(sort)) end

-- ---- First results --------------------------------------------------------------------------------------------------

local OPS, WARM = 10, 2
local BINARY = { np.add, np.subtract, np.multiply, np.maximum, np.minimum }
local UNARY = { np.abs, np.negative, np.tanh, np.exp, np.sin, np.square }

-- Neither neap's files of code nor those of the driver have met the expressions.
math.randomseed(os.time())

--- A chain of ops over x and y that ends in f.
local function expression(x, y, f)
    for _ = 1, OPS do
        x = math.random() < 0.4 and UNARY[math.random(#UNARY)](x) or BINARY[math.random(#BINARY)](x, y)
        x = x * (math.random(1000) / 1000) -- a number, which is none of the code
    end
    return f(x)
end

local function first_row(name, f)
    local x, y, times = np.linspace(0, 1, 10000):wait(), np.linspace(1, 2, 10000):wait(), {}
    warm_up()
    for k = 1, WARM + measure.rounds do
        local start = measure.now()
        expression(x, y, f):wait()
        if k > WARM then times[k - WARM] = (measure.now() - start) / 1e6 end
    end
    measure.row { name = "first result of a new " .. name, value = measure.median(times), best = measure.min(times),
                  unit = "ms", goal = 15 }
end

if wanted "first" then
    first_row("map", function(x) return x + 1 end)
    first_row("reduction", function(x) return x:sum() end)
    first_row("softmax", function(x) return np.softmax(x:reshape(100, 100), { axis = 1 }) end)
end

-- ---- Launches -------------------------------------------------------------------------------------------------------

--- A jitted function of KERNELS kernels, since its arrays have different lengths; and its arguments.
local function many_kernels()
    local list = {}
    for k = 1, KERNELS do list[k] = np.ones(100 + k):wait() end
    return np.jit(function(all)
        local out = {}
        for k, x in ipairs(all) do out[k] = x * 0.5 + 0.25 end
        return out
    end), list
end

if wanted "launches" then
    local step, list = many_kernels()
    local function steps_in_a_row(count)
        local start, turns = measure.now(), math.ceil(count / KERNELS)
        local now = list
        for _ = 1, turns do now = step(now) end
        np.wait(now)
        return (measure.now() - start) / turns / KERNELS
    end
    warm_up()
    local median, best = measure.one { timer = steps_in_a_row }
    measure.row { name = ("a kernel of a cached step of %d"):format(KERNELS), value = median / 1e3, best = best / 1e3,
                  unit = "us", goal = 2 }
end

-- ---- Loops ----------------------------------------------------------------------------------------------------------

local TURNS = measure.quick and 50 or 5000

--- A jitted loop of TURNS turns, by turn.
local function loop_row(name, goal, f, ...)
    local loop, given = np.jit(f), { ... }
    warm_up()
    local median, best = measure.one { timer = measure.timer(function() np.wait((loop(unpack(given)))) end, TURNS) }
    measure.row { name = name, value = median / 1e3, best = best / 1e3, unit = "us", goal = goal }
end

if wanted "loops" then
    loop_row("a turn of a scan", 3, function(c, xs)
        return (np.scan(function(a, x) return a * 0.5 + x, nil end, c, xs))
    end, np.ones(4096):wait(), np.ones({ TURNS, 4096 }):wait())
    loop_row("a turn of a fori_loop", 4, function(c)
        return np.fori_loop(0, TURNS, function(i, a) return a * 0.5 + i end, c)
    end, np.ones(4096):wait())
    loop_row("a turn of a while_loop", 40, function(c)
        return np.while_loop(function(a) return a[0]:lt(TURNS) end, function(a) return a + 1 end, c)
    end, np.zeros(2 ^ 16):wait())
end

-- ---- Training steps -------------------------------------------------------------------------------------------------

local TINY = { BATCH = 4, PIXELS = 8, HIDDEN = 8, EXAMPLES = 2, LENGTH = 4, WIDTH = 8, HEADS = 2, SIDE = 8, FIRST = 2,
               SECOND = 4 }
local LARGE = { BATCH = 1024, PIXELS = 1024, HIDDEN = 4096, EXAMPLES = 32, LENGTH = 512, WIDTH = 1024, HEADS = 16,
                SIDE = 32, FIRST = 64, SECOND = 128 }
local SETS = measure.quick and { { "tiny", TINY } } or { { "small", {} }, { "large", LARGE } }
local NETWORKS = { mlp = "MLP", transformer = "transformer", cnn = "CNN" }

local function training_row(name, which, sizes, others)
    local list, peer_times, checks, fastest = { steps.make(name, sizes) }, {}, {}, nil
    list[1]()
    for _, peer in ipairs(others) do list[#list + 1] = peer:step(name, steps.sizes_text(sizes)) or nil end
    warm_up()
    local times = measure.rounds_of(list)
    local best = measure.min(times[1])
    for k = 2, #list do
        peer_times[list[k].name] = measure.min(times[k]) / 1e3
        if not fastest or measure.min(times[k]) < measure.min(times[fastest]) then fastest = k end
    end
    if fastest then
        checks[1] = { name = "the faster", ratio = best / measure.min(times[fastest]), goal = 1 / 1.2 }
    end
    measure.row { name = ("training step, %s, %s"):format(NETWORKS[name], which),
                  value = measure.median(times[1]) / 1e3, best = best / 1e3, unit = "us", checks = checks,
                  peers = peer_times }
    core.reclaim()
end

local names = {}
for name in (os.getenv "NEAP_BENCH_PEERS" or "jax gpu,torch gpu,torch compile gpu"):gmatch "[^,]+" do
    names[#names + 1] = name
end
local others = wanted "steps" and peers.start(names, 1) or {}
for _, set in ipairs(wanted "steps" and SETS or {}) do
    for _, name in ipairs { "mlp", "transformer", "cnn" } do training_row(name, set[1], set[2], others) end
end
os.exit(0)
