--- kernels.lua: fused expressions against hand-written C (bench/reference.c, -O3 -march=native, non-temporal stores
-- above the cache), both on one thread, alternating in the same process.
--
-- neap's side is all that a script does: record the ops, flush, wait until the bytes are there, give the result back.
-- At 1e3 elements that is mostly the price of recording and of one push, which the C function does not pay. The goals
-- are those of the bare kernels (bench/bare.c), so the rows at 1e3 show how far dispatch is from nothing. Both sides'
-- results are compared before they are timed.
package.path = "./?.lua;" .. package.path
local ffi = require "ffi"
local np = require "neap"
local core = require "neap.core"
local measure = require "bench.measure"

ffi.cdef [[
double bench_axpb(int64_t n, float a, float b, const float *x, float *y, int64_t repeats);
double bench_polynomial(int64_t n, const float *x, float *y, int64_t repeats);
double bench_activation(int64_t n, float a, float b, const float *x, float *y, int64_t repeats);
double bench_square_distance(int64_t n, const float *x, const float *y, float *out, int64_t repeats);
double bench_softmax(int64_t n, int64_t row, const float *x, float *y, int64_t repeats);
int posix_memalign(void **out, size_t alignment, size_t bytes);
int madvise(void *memory, size_t bytes, int advice);
void free(void *memory);
]]
local reference = ffi.load("bench/results/libneap_bench_reference.so")

local HUGE_PAGE, ADVISE_HUGE = 2 * 1024 * 1024, 14
local COLUMNS = 512 -- of a row of softmax

--- n floats for the C side, as well placed as neap's: huge pages, touched before they are used.
local function floats(n)
    local box, bytes = ffi.new("void *[1]"), math.max(4 * n, 64)
    assert(ffi.C.posix_memalign(box, HUGE_PAGE, bytes) == 0, "out of memory")
    ffi.C.madvise(box[0], bytes, ADVISE_HUGE)
    ffi.fill(box[0], bytes)
    return ffi.gc(ffi.cast("float *", box[0]), ffi.C.free)
end

--- The elements of an array, copied for the C side.
local function copied(x)
    local data = floats(x.size)
    core.read(x, function(from, size) ffi.copy(data, from, 4 * size) end)
    return data
end

-- Each kernel: what neap evaluates, the C call (median ns of so many runs), the goals at 1e3, 1e5, 1e7; `rows`: the
-- arrays have rows of COLUMNS.
local KERNELS = {
    { name = "a*x+b", goals = { 1.3, 0.75, 1.0 },
      neap = function(x) return x * 1.5 + 0.25 end,
      c = function(n, x, _, out, runs) return reference.bench_axpb(n, 1.5, 0.25, x, out, runs) end },
    { name = "polynomial, 8 ops", goals = { 4.0, 3.3, 1.3 },
      neap = function(x) return (((x * 0.1 + 0.2) * x + 0.3) * x + 0.4) * x + 0.5 end,
      c = function(n, x, _, out, runs) return reference.bench_polynomial(n, x, out, runs) end },
    { name = "tanh(a*x+b)*exp(-x*x)", goals = { 0.93, 0.92, 1.2 },
      neap = function(x) return np.tanh(x * 1.5 + 0.25) * np.exp(-x * x) end,
      c = function(n, x, _, out, runs) return reference.bench_activation(n, 1.5, 0.25, x, out, runs) end },
    { name = "sum((x-y)^2)", goals = { 2.7, 1.6, 1.0 },
      neap = function(x, y) return ((x - y) ^ 2):sum() end,
      c = function(n, x, y, out, runs) return reference.bench_square_distance(n, x, y, out, runs) end },
    { name = "softmax of rows of 512", goals = { 1.2, 1.2, 1.2 }, rows = true,
      neap = function(x) return np.softmax(x, { axis = -1 }) end,
      c = function(n, x, _, out, runs) return reference.bench_softmax(n, COLUMNS, x, out, runs) end },
}

--- Inputs of n elements (rounded up to whole rows of softmax).
local function inputs(n, in_rows)
    if in_rows then n = math.ceil(n / COLUMNS) * COLUMNS end
    local x = (np.arange(n) % 2000):astype("f32") / 700 - 1.4
    local y = x + 0.25
    if in_rows then x = x:reshape(n / COLUMNS, COLUMNS) end
    np.force(x, y)
    return n, x, y
end

--- The results of both sides agree to single precision.
local function compare(name, result, out)
    core.read(result, function(data, size)
        for k = 0, size - 1, math.max(1, math.floor(size / 1000)) do
            local mine, theirs = data[k], out[k]
            assert(math.abs(mine - theirs) <= 1e-5 * math.max(1, math.abs(theirs)),
                   ("bench: %s: element %d is %.9g, the reference gives %.9g"):format(name, k, mine, theirs))
        end
    end)
end

for _, kernel in ipairs(KERNELS) do
    for k, exponent in ipairs { 3, 5, 7 } do
        local n, x, y = inputs(10 ^ exponent, kernel.rows)
        local cx, cy, out = copied(x), copied(y), floats(n)
        local name = ("%s, 1e%d"):format(kernel.name, exponent)
        kernel.c(n, cx, cy, out, 1)
        compare(name, kernel.neap(x, y), out)
        local ratio, mine, theirs = measure.pair(function()
            local result = kernel.neap(x, y)
            result:wait()
            result:delete()
        end, { timer = function(count) return kernel.c(n, cx, cy, out, count) end })
        measure.row { name = name, value = measure.median(mine) / 1e3, best = measure.min(mine) / 1e3, unit = "us",
                      reference = measure.median(theirs) / 1e3, ratio = ratio, goal = kernel.goals[k] }
    end
end
os.exit(0)
