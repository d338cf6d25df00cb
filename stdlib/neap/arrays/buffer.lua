--- buffer.lua: arrays from memory and as memory: np.frombuffer, np.fromfile, x:tofile, x:pointer, DLPack, np.clock.
--
-- Arrays never change, so what could be changed behind their back is copied: strings, cdata and files are. Tensors of
-- other libraries (DLPack) are shared, by the rule of that interface that nobody writes to what was given away.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"

local np, define, C, ctx = core.np, core.define, core.C, core.ctx
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local dtypes, is_array = core.dtypes, core.is_array

ffi.cdef [[
typedef struct neap_time { long seconds, nanoseconds; } neap_time;
int neap_clock_gettime(int clock, neap_time *time) __asm__("clock_gettime"); // scripts declare that themselves
typedef struct DLManagedTensor { // https://dmlc.github.io/dlpack
    struct {
        void *data;
        struct { int32_t device_type, device_id; } device;
        int32_t ndim;
        struct { uint8_t code, bits; uint16_t lanes; } dtype;
        int64_t *shape, *strides;
        uint64_t byte_offset;
    } dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
]]

-- ---- Bytes as elements ----------------------------------------------------------------------------------------------

--- Options that are counts: an integer from 0 up; nil where it is not given, or is `all`.
local function count_of(name, what, value, all)
    value = core.plain(value)
    if value == nil or value == all then return nil end
    return core.integer(name, nil, what, value, 0)
end

--- The dtype, offset in bytes and count of elements that options ask for, of `bytes` bytes; nil: unknown.
local function asked(name, given, bytes)
    local o = options(name, given, { dtype = true, count = true, offset = true })
    if o.dtype == nil then
        raise(name, "option 'dtype' is needed: what the bytes are, as in np.%s(…, {dtype=\"u8\"})", name)
    end
    local dtype = dtypes[core.dtype(name, o.dtype)]
    local count, offset = count_of(name, "count", o.count, -1), count_of(name, "offset", o.offset) or 0
    if not bytes and not count then
        raise(name, "option 'count' is needed: a pointer does not say how much there is")
    end
    if bytes and offset > bytes then raise(name, "option 'offset' is %d, there are %d bytes", offset, bytes) end
    if not count then
        count = (bytes - offset) / dtype.bytes
        if count % 1 ~= 0 then
            raise(name, "%d bytes are no whole number of %s, which take %d each", bytes - offset, dtype.name,
                  dtype.bytes)
        end
    elseif bytes and offset + count * dtype.bytes > bytes then
        raise(name, "%d elements of %s from byte %d on are more than the %d bytes that there are", count, dtype.name,
              offset, bytes)
    end
    return dtype, offset, count
end

--- An array of `count` elements that `write(pointer, bytes)` fills; bools become 0 or 1.
local function filled(name, dtype, count, write)
    return core.fill(dtype.code, { count }, function(out)
        write(out, count * dtype.bytes)
        if dtype.kind == "b" then
            for k = 0, count - 1 do out[k] = out[k] ~= 0 and 1 or 0 end
        end
    end, "uint8_t *", name)
end

--- The bytes of a cdata: an address, and how many; nil for those of a pointer.
local function memory_of(name, value)
    local kind = tostring(ffi.typeof(value))
    if kind:find "%*>$" and not core.is_ctype(value) then
        if value == nil then raise(name, "argument 1 (data) is a null pointer") end
        return ffi.cast("const uint8_t *", value), nil
    end
    local whole = kind:find "%[" or kind:find "^ctype<struct " or kind:find "^ctype<union "
    if not whole or core.is_ctype(value) then
        bad_argument(name, 1, "data", "a string, an array or a pointer of the ffi, or an open file", value)
    end
    return ffi.cast("const uint8_t *", value), ffi.sizeof(value)
end

--- np.frombuffer(data, {dtype=…, count=…, offset=0}): bytes as the elements of a 1-d array, in the byte order of the
-- machine: those of a string, of an array, structure or pointer of LuaJIT's ffi, or of the rest of an open file. They
-- are copied (NumPy shares them; here no array can change).
--- dtype: what the elements are; it must be given
--- count: how many elements; all that there are without it. A pointer needs it, and is believed
--- offset: bytes before the first element
--- > np.frombuffer("abc", {dtype="u8"}), np.frombuffer("\1\0\2\0", {dtype="i16", offset=2})
-- [97 98 99]
-- [2]
function np.frombuffer(data, given)
    local name = "frombuffer"
    if io.type(data) == "file" then
        data = data:read "*a" or ""
    elseif io.type(data) then
        bad_argument(name, 1, "data", "an open file", data)
    end
    local memory, bytes
    if type(data) == "string" then
        memory, bytes = ffi.cast("const uint8_t *", data), #data
    elseif type(data) == "cdata" and not is_array(data) then
        memory, bytes = memory_of(name, data)
    else
        bad_argument(name, 1, "data", "a string, an array or a pointer of the ffi, or an open file", data)
    end
    local dtype, offset, count = asked(name, given, bytes)
    return filled(name, dtype, count, function(out, n) ffi.copy(out, memory + offset, n) end)
end

--- np.fromfile(path, {dtype=…, count=…, offset=0}): the bytes of a file as the elements of a 1-d array, in the byte
-- order of the machine. x:tofile writes them.
--- dtype: what the elements are; it must be given
--- count: how many elements; all that there are without it
--- offset: bytes before the first element
--- > np.arange(3):tofile("x.bin")
--- > np.fromfile("x.bin", {dtype="i32", count=2})
-- [0 1]
function np.fromfile(path, given)
    local name = "fromfile"
    local file, problem = files.open(core.check_path(name, path))
    if not file then raise(name, "%s", problem) end
    local ok, dtype, offset, count = pcall(asked, name, given, file.size)
    if not ok then
        file.close()
        error(dtype, 0)
    end
    local good
    local x = filled(name, dtype, count, function(out, n) good, problem = file.read(out, n, offset) end)
    file.close()
    if not good then raise(name, "%s", problem) end
    return x
end

--- x:tofile(path), np.tofile(x, path) -> nothing: writes the elements to a file as they are in memory, row-major.
-- Waits.
--- > np.array{1, 2}:tofile("x.bin")
--- > #io.open("x.bin"):read "*a"
-- 8
define("tofile", function(x, path)
    if not is_array(x) then bad_argument("tofile", 1, "x", "an array", x) end
    core.check_path("tofile", path, 2)
    local good, problem = files.write(path, { { data = core.data(x), size = x.size * core.dtype_of(x).bytes } })
    if not good then raise("tofile", "%s", problem) end
end)

--- x:pointer(), np.pointer(x) -> cdata: a pointer to the elements, row-major, for functions of the ffi: `const float *`
-- of an f32. Waits. They must not be written. The pointer keeps x alive, as long as it lives itself (one that is
-- computed from it does not); it is good until x is deleted or donated.
--- > p = np.array{1, 2, 3}:pointer()
--- > p[2]
-- 3
define("pointer", function(x)
    if not is_array(x) then bad_argument("pointer", 1, "x", "an array", x) end
    local pointer = ffi.cast(core.dtype_of(x).const_pointer, core.data(x))
    return ffi.gc(pointer, function() return x end) -- which keeps it
end)

-- ---- DLPack ---------------------------------------------------------------------------------------------------------

local tensor_box, id_box = ffi.new("struct DLManagedTensor *[1]"), ffi.new("int32_t[1]")

local delete_tensor = core.finalizer(function(tensor) tensor.deleter(tensor) end)

--- The array that a call has left in id_box, which is not to be called again.
local function adopted(rc, name)
    if rc < 0 then core.raise_status(rc, name) end
    local x = core.wrap(id_box[0])
    if rc == C.NEAP_SAFEPOINT then core.safepoint() end
    return x
end

--- x:dlpack(), np.dlpack(x) -> cdata: x as a tensor of DLPack, a `DLManagedTensor *` on the CPU that shares the memory
-- of x, which nobody may write. Waits. Whoever takes it calls its deleter once, and before that tells the collector,
-- which would do it, by ffi.gc(tensor, nil).
--- > t = np.ones{2, 3}:dlpack()
--- > t.dl_tensor.ndim
-- 2
define("dlpack", function(x)
    if not is_array(x) then bad_argument("dlpack", 1, "x", "an array", x) end
    core.wait(x)
    core.call("dlpack", function() return C.neap_array_to_dlpack(ctx, x._id, tensor_box) end)
    return ffi.gc(tensor_box[0], delete_tensor)
end)

local taken = setmetatable({}, { __mode = "k" }) -- pointers to tensors that may be gone

--- np.from_dlpack(tensor, {copy=…, device=…}): an array of a tensor of DLPack on the CPU, a `DLManagedTensor *`, which
-- is taken: its deleter is called after the last use, by any thread. Its memory is shared where the elements lie row
-- after row, and nobody may write there from then on; else they are copied. A tensor is taken once: raises for one that
-- was taken before.
--- copy: true copies always
--- > np.from_dlpack(np.arange(3):dlpack())
-- [0 1 2]
function np.from_dlpack(tensor, given)
    given = options("from_dlpack", given, { copy = true, device = true })
    if is_array(tensor) then return core.placed("from_dlpack", tensor, given.device) end
    if type(tensor) ~= "cdata" or core.is_ctype(tensor) or not ffi.istype("struct DLManagedTensor *", tensor)
        or tensor == nil then
        bad_argument("from_dlpack", 1, "tensor", "a pointer DLManagedTensor *", tensor)
    end
    if taken[tensor] then raise("from_dlpack", "the tensor was taken before; a tensor is taken once") end
    local rc = C.neap_array_from_dlpack(ctx, tensor, given.copy and 1 or 0, id_box)
    if rc >= 0 or rc == C.NEAP_E_MEMORY then
        taken[tensor] = true
        ffi.gc(tensor, nil)
    end
    return core.placed("from_dlpack", adopted(rc, "from_dlpack"), given.device)
end

-- ---- Memory-mapped files --------------------------------------------------------------------------------------------

local buffer_box, release_buffer = ffi.new("neap_buffer *[1]"), core.finalizer(C.neap_buffer_release)
local buffer = {}

--- A mapped file: { data, size, keep, own }, as files.block gives; nil and a message if there is none.
function buffer.map(path)
    local failure = core.failure(function() return C.neap_buffer_map(path, buffer_box) end)
    if failure then return nil, failure end
    local keep = ffi.gc(buffer_box[0], release_buffer)
    return { data = ffi.cast("uint8_t *", C.neap_buffer_data(keep)), size = tonumber(C.neap_buffer_bytes(keep)),
             keep = keep, own = true }
end

local release = ffi.cast("void (*)(void *)", C.neap_buffer_release)

--- An array over a part of a mapped file, from byte `offset` on, where elements are aligned.
function buffer.mapped(name, block, offset, dtype, dims)
    local list, n = core.shape_array(name, dims)
    return adopted(C.neap_array_borrow(ctx, dtype.code, n, list, block.data + offset, release,
                                       C.neap_buffer_retain(block.keep), id_box), name)
end

-- ---- Time -----------------------------------------------------------------------------------------------------------

local MONOTONIC = 1
local time_box = ffi.new "neap_time"

--- np.clock() -> number: seconds of a clock that only goes forward, from an unknown start: differences are wall time.
-- (os.clock counts the processor time of all threads.)
--- > start = np.clock()
--- > np.clock() >= start
-- true
function np.clock(extra)
    if extra ~= nil then raise("clock", "takes no argument, got %s", core.describe(extra)) end
    ffi.C.neap_clock_gettime(MONOTONIC, time_box)
    return tonumber(time_box.seconds) + tonumber(time_box.nanoseconds) * 1e-9
end

for _, f in ipairs { filled, adopted, np.pointer, np.dlpack, np.from_dlpack, buffer.map, buffer.mapped } do
    jit.off(f)
end

return buffer
