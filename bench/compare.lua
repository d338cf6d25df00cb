--- compare.lua: the rows of the groups "fused" and "reduce": kernels of bench/kernels.lua in neap, in C and in other
-- systems, which take turns in the same rounds.
--
-- neap's side is all that a script does: record the ops, flush, wait until the bytes are there, give the results back.
-- A row's reference is the hand-written C; where the arrays do not fit into the caches and the kernel is no more than
-- loads, stores and arithmetic, it is what C needs to move so many bytes (triad; read, for reductions). A row is met if
-- all of these hold:
--
--      memory      at least 0.9 of the bandwidth of triad or read, above the caches
--      C           at least 0.5 of the speed of C in the caches; 0.9 where functions take the time
--      numpy       not slower, from 100 elements on
--      torch       not slower, from 100 elements on
--      jax jit     ahead, above the caches
--
-- Ratios are those of the best times: what is in the way of one contender for a moment says nothing of it. "first
-- call": the first result of the kernel on a shape that was not seen before, at 1e3 elements.
local ffi = require "ffi"
local np = require "neap"
local core = require "neap.core"
local kernels = require "bench.kernels"
local measure = require "bench.measure"
local peers = require "bench.peer"

ffi.cdef [[
double bench_reference(const char *name, int threads, int64_t n, int64_t columns, int64_t bytes, const float *const *in,
                       float *const *out, int64_t count);
int posix_memalign(void **out, size_t alignment, size_t bytes);
int madvise(void *memory, size_t bytes, int advice);
void free(void *memory);
long sysconf(int name);
]]
local library = ffi.load("bench/results/libneap_bench_reference.so")

local CACHE = tonumber(ffi.C.sysconf(194)) -- _SC_LEVEL3_CACHE_SIZE
local HUGE_PAGE, ADVISE_HUGE, MEMORY = 2 * 1024 * 1024, 14, 1.5e9
local TOLERANCE = 0.02 -- of sums: some systems add up many f32 one by one

local compare = {}


--- n floats as well placed as neap's: huge pages, touched before they are used.
local function floats(n)
    local box, bytes = ffi.new("void *[1]"), math.max(4 * n, 64)
    assert(ffi.C.posix_memalign(box, HUGE_PAGE, bytes) == 0, "out of memory")
    ffi.C.madvise(box[0], bytes, ADVISE_HUGE)
    ffi.fill(box[0], bytes)
    return ffi.gc(ffi.cast("float *", box[0]), ffi.C.free)
end

--- Arrays of C: copies of neap's inputs, and room for results.
local function arrays_of(inputs, n)
    local held = { inputs = ffi.new("const float *[4]"), outputs = ffi.new("float *[3]") }
    for k = 1, 4 do
        held[k] = floats(k <= #inputs and n or 1)
        if inputs[k] then core.read(inputs[k], function(from, size) ffi.copy(held[k], from, 4 * size) end) end
        held.inputs[k - 1] = held[k]
    end
    for k = 1, 3 do
        held[4 + k] = floats(n)
        held.outputs[k - 1] = held[4 + k]
    end
    return held
end

--- ns a run of a function of reference.c.
local function run_c(name, held, n, columns, bytes, threads, count)
    return library.bench_reference(name, threads, n, columns, bytes, held.inputs, held.outputs, count)
end


--- Evaluates and waits; all results of a kernel are asked for together, and nothing else that is pending.
local function wait_for(...)
    np.wait(...)
    for k = 1, select("#", ...) do (select(k, ...)):delete() end
end

local function magnitude(x)
    return x:abs():sum({ dtype = "f64" }):item()
end

local function bytes_of(kernel, n)
    return 4 * n * ((kernel.inputs or 1) + (kernel.reduces and 0 or kernel.outputs or 1))
end

local function close(kernel, what, got, expected)
    if math.abs(got - expected) > TOLERANCE * math.max(1, math.abs(expected)) then
        error(("bench: %s: neap gives %.9g, %s %.9g"):format(kernel.name, expected, what, got))
    end
end

--- The contenders for a kernel at n elements: neap first, then C, the bound, neap's jit, and the others.
local function contenders_of(kernel, n, threads, others)
    local inputs, columns, bytes = {}, kernel.columns or 1, bytes_of(kernel, n)
    for k = 1, kernel.inputs or 1 do inputs[k] = kernels.input(k, n, kernel.columns) end
    local held, jitted = arrays_of(inputs, n), np.jit(kernel.lua)
    local expected = magnitude((kernel.lua(unpack(inputs))))
    local bound, moved = kernel.reduces and "read" or "triad", kernel.reduces and 4 * n or 12 * n
    local list = {
        { name = "neap", timer = measure.timer(function() wait_for(kernel.lua(unpack(inputs))) end) },
        { name = "C", timer = function(count)
            return run_c(kernel.c, held, n, columns, bytes, threads, count)
        end },
        { name = "bound", timer = function(count)
            return run_c(bound, held, n, 1, bytes, threads, count) * bytes / moved
        end },
        { name = "neap jit", timer = measure.timer(function() wait_for(jitted(unpack(inputs))) end) },
    }
    list[2].timer(1)
    if not kernel.reduces then
        local sum = 0
        for k = 0, n - 1 do sum = sum + math.abs(held.outputs[0][k]) end
        close(kernel, "C", sum, expected)
    end
    if kernel.inputs ~= 2 then held.inputs[1] = held.inputs[0] end -- triad reads two arrays
    for _, peer in ipairs(others) do
        local contender, sum = peer:contender(kernel, n)
        if contender then
            close(kernel, peer.name, sum, expected)
            list[#list + 1] = contender
        end
    end
    return list
end

--- What a row is judged by: {goal, ratio, the largest that is met}.
local function checks_of(kernel, n, ratio_to, bytes)
    local checks, above = {}, bytes > CACHE
    local function check(name, against, most)
        if ratio_to[against] then checks[#checks + 1] = { name = name, ratio = ratio_to[against], goal = most } end
    end
    if above and kernel.class == "cheap" then
        check("memory", "bound", 1 / 0.9)
    elseif n >= 1e5 then
        check("C", "C", kernel.class == "cheap" and 2 or 1 / 0.9)
    end
    if n >= 100 then
        check("numpy", "numpy", 1)
        check("torch", "torch", 1)
    end
    if above then check("jax jit", "jax jit", 1) end
    return checks
end

local function row_of(kernel, n, name, threads, others)
    local list = contenders_of(kernel, n, threads, others)
    local times, best, ratio_to = measure.rounds_of(list), {}, {}
    local mine = measure.min(times[1]) / 1e3
    for k = 2, #list do
        best[list[k].name] = measure.min(times[k]) / 1e3
        ratio_to[list[k].name] = mine / best[list[k].name]
    end
    local checks = checks_of(kernel, n, ratio_to, bytes_of(kernel, n))
    local reference = checks[1] and checks[1].name == "memory" and "bound" or "C"
    measure.row { name = name, value = measure.median(times[1]) / 1e3, best = mine, unit = "us",
                  reference = best[reference], ratio = ratio_to[reference], checks = checks, peers = best }
end


local function first_call(kernel, others)
    local times, columns = {}, kernel.columns or 1
    for round = 1, math.max(3, measure.rounds) do
        local n, inputs = kernels.size(kernel, 1000) + round * columns, {}
        for k = 1, kernel.inputs or 1 do inputs[k] = kernels.input(k, n, kernel.columns) end
        local start = measure.now()
        wait_for(kernel.lua(unpack(inputs)))
        times[round] = measure.now() - start
    end
    local cold = {}
    for _, peer in ipairs(others) do
        local time = peer:cold(kernel, kernels.size(kernel, 1000) + columns)
        if time then cold[peer.name] = time / 1e3 end
    end
    local value = measure.median(times) / 1e3
    measure.row { name = kernel.name .. ", first call", value = value, best = measure.min(times) / 1e3, unit = "us",
                  checks = { { name = "first call", ratio = value / 1000, goal = 1 } }, peers = cold }
end


--- Prints the rows of a group.
function compare.group(name)
    local systems = { "numpy", "numexpr", "torch", "jax jit" }
    if not measure.quick then -- one is slow, the other compiles for seconds
        systems[#systems + 1], systems[#systems + 2] = "jax", "torch compile"
    end
    local others, threads = peers.start(systems, measure.workers), measure.workers
    local sizes = { 1, 2, 3, 4, 5, 6, 7, 8 }
    if measure.quick then sizes = threads == 1 and { 2, 3, 5, 7 } or { 7 } end
    for _, kernel in ipairs(kernels) do
        if kernel.group == name then
            for _, exponent in ipairs(sizes) do
                local n = kernels.size(kernel, 10 ^ exponent)
                if (exponent > 1 or not kernel.columns) and 2 * bytes_of(kernel, n) < MEMORY then
                    local label = ("%s, 1e%d%s"):format(kernel.name, exponent, threads > 1 and ", 2 threads" or "")
                    row_of(kernel, n, label, threads, others)
                    core.reclaim()
                end
            end
            if threads == 1 then first_call(kernel, others) end
        end
    end
end

return compare
