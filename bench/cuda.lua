--- cuda.lua: CUDA's driver and cuBLAS, called by themselves: what the group "gpu" compares neap with. They work on the
-- first GPU, in the context that neap uses there, on a stream and in memory of their own.
--
--     local copies = cuda.copies(1e8)                                   -- contenders (bench/measure.lua)
--     local products = cuda.products("f32", { m = 512, n = 512, k = 512, batch = 8 })
--     print(copies.timer(10), products.timer(10))                       -- ns each
--     cuda.free(copies)
local ffi = require "ffi"
local measure = require "bench.measure"

ffi.cdef [[
int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuMemAllocAsync(uint64_t *memory, size_t bytes, void *stream);
int cuMemFreeAsync(uint64_t memory, void *stream);
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags);
int cuMemFreeHost(void *memory);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream);
int cublasCreate_v2(void **handle);
int cublasSetStream_v2(void *handle, void *stream);
int cublasSetMathMode(void *handle, int mode);
int cublasGemmStridedBatchedEx_64(void *handle, int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
    const void *alpha, uint64_t a, int a_type, int64_t lda, long long stride_a, uint64_t b, int b_type, int64_t ldb,
    long long stride_b, const void *beta, uint64_t c, int c_type, int64_t ldc, long long stride_c, int64_t batch,
    int compute, int algorithm);
]]

local NON_BLOCKING, ALGORITHM, SUMS_IN_F32 = 1, -1, 16
-- bits: of a number between 0.5 and 1 whose last digits are random ones, of what LuaJIT has no type for.
local TYPES = {
    f16 = { ctype = "uint16_t", bytes = 2, number = 2, compute = 68, bits = { 0x3800, 0x400 } },
    bf16 = { ctype = "uint16_t", bytes = 2, number = 14, compute = 68, bits = { 0x3f00, 0x80 } },
    f32 = { ctype = "float", bytes = 4, number = 0, compute = os.getenv "NEAP_TF32" == "1" and 77 or 68 },
    f64 = { ctype = "double", bytes = 8, number = 1, compute = 70 },
}

local cuda = {}
local driver, context, stream

local function check(name, result)
    if result ~= 0 then error(("bench: %s gives %d"):format(name, result), 0) end
end

local function call(name, ...)
    check(name, driver[name](...))
end

local function open()
    if driver then return end
    driver = ffi.load "libcuda.so.1"
    local device, pointer = ffi.new "int[1]", ffi.new "void *[1]"
    call("cuInit", 0)
    call("cuDeviceGet", device, 0)
    call("cuDevicePrimaryCtxRetain", pointer, device[0])
    context = pointer[0]
    call("cuCtxPushCurrent_v2", context)
    call("cuStreamCreate", pointer, NON_BLOCKING)
    call("cuCtxPopCurrent_v2", ffi.new "void *[1]")
    stream = pointer[0]
end

--- f(…) in the context; it fails as f does.
local function within(f, ...)
    call("cuCtxPushCurrent_v2", context)
    local ok, result = pcall(f, ...)
    call("cuCtxPopCurrent_v2", ffi.new "void *[1]")
    if not ok then error(result, 0) end
    return result
end

--- A contender that calls `enqueue` and waits for the last call. It holds blocks of memory until cuda.free.
local function contender(name, enqueue, blocks)
    return { name = name, blocks = blocks, timer = function(count)
        return within(function()
            local start = measure.now()
            for _ = 1, count do enqueue() end
            call("cuStreamSynchronize", stream)
            return (measure.now() - start) / count
        end)
    end }
end

local function alloc(bytes)
    local memory = ffi.new "uint64_t[1]"
    call("cuMemAllocAsync", memory, bytes, stream)
    return memory[0]
end

--- Gives back the memory of a contender.
function cuda.free(from)
    within(function()
        for _, block in ipairs(from.blocks) do call("cuMemFreeAsync", block, stream) end
        call("cuStreamSynchronize", stream)
    end)
end

--- A contender: the driver's copy of so many bytes, within the GPU.
function cuda.copies(bytes)
    open()
    return within(function()
        local from, to = alloc(bytes), alloc(bytes)
        return contender("copy", function() call("cuMemcpyDtoDAsync_v2", to, from, bytes, stream) end, { from, to })
    end)
end

-- ---- cuBLAS ---------------------------------------------------------------------------------------------------------

--- cuBLAS: that which neap uses, in the folder of the one that stands in for it (tests/cuda/fake).
local function load_blas()
    local folder = os.getenv "NEAP_CUDA_LIBRARIES"
    local ok, library
    for _, name in ipairs { "libcublas.so.13", "libcublas.so.12" } do
        ok, library = pcall(ffi.load, folder and folder .. "/" .. name or name)
        if ok then return library end
    end
    error(library, 0)
end

local blas, handle

local function open_blas()
    if handle then return end
    blas = load_blas()
    local made = ffi.new "void *[1]"
    check("cublasCreate", blas.cublasCreate_v2(made))
    handle = made[0]
    check("cublasSetStream", blas.cublasSetStream_v2(handle, stream))
    check("cublasSetMathMode", blas.cublasSetMathMode(handle, SUMS_IN_F32))
end

--- Memory of the GPU with so many numbers in -1..1: what is multiplied takes power, and time, as data do.
local function numbers(of, count)
    local bytes, host, seed = count * of.bytes, ffi.new "void *[1]", 1
    call("cuMemHostAlloc", host, bytes, 0)
    local to = ffi.cast(of.ctype .. " *", host[0])
    for k = 0, count - 1 do
        seed = (seed * 16807) % 2147483647
        if of.bits then
            to[k] = of.bits[1] + math.floor(seed / 8) % of.bits[2] + seed % 2 * 0x8000
        else
            to[k] = seed / 1073741823.5 - 1
        end
    end
    local memory = alloc(bytes)
    call("cuMemcpyHtoDAsync_v2", memory, host[0], bytes, stream)
    call("cuStreamSynchronize", stream)
    call("cuMemFreeHost", host[0])
    return memory
end

--- A contender: cuBLAS's products c = a b of a batch of matrices by rows, a of m × k and b of k × n; nil: no cuBLAS.
function cuda.products(dtype, p)
    open()
    return within(function()
        if not pcall(open_blas) then return nil end
        local of = TYPES[dtype]
        local a, b = numbers(of, p.batch * p.m * p.k), numbers(of, p.batch * p.k * p.n)
        local c = alloc(p.batch * p.m * p.n * of.bytes)
        local scale = of.bits and "float[1]" or of.ctype .. "[1]"
        local one, zero = ffi.new(scale, 1), ffi.new(scale, 0)
        return contender("cuBLAS", function()
            check("cublasGemmStridedBatchedEx", blas.cublasGemmStridedBatchedEx_64(
                handle, 0, 0, p.n, p.m, p.k, one, b, of.number, p.n, p.k * p.n, a, of.number, p.k, p.m * p.k, zero, c,
                of.number, p.n, p.m * p.n, p.batch, of.compute, ALGORITHM))
        end, { a, b, c })
    end)
end

return cuda
