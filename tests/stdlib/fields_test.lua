--- fields_test.lua: what an array says of itself, and its elements as values of Lua, as bytes, as memory and as tensors
-- of DLPack: for every dtype, in several layouts, under np.jit and np.vmap, on a mesh.
local np = require "neap"
local check = require "tests.lib.check"
local core = require "neap.core"
local dtypes = require "tests.lib.dtypes"
local ffi = require "ffi"
require "tests.lib.devices" (4, "tests/stdlib/fields_test.lua")

local HIGHEST = { i64 = 0x7fffffffffffffffLL, u64 = -1ULL }
local LOWEST = { i64 = bit.lshift(1LL, 63), u64 = 0 }

--- Values of a dtype that its neighbours have not all.
local function values_of(name)
    local facts = dtypes.by_name[name]
    if facts.kind == "b" then return { true, false, true, false } end
    if facts.kind == "c" then return { 1 + 2i, -1i, 0.5 + 0i, 3 + 0i } end
    if facts.kind == "f" then return { 0.5, -0.0, math.huge, -1.25 } end
    return { HIGHEST[name] or facts.highest, LOWEST[name] or facts.lowest, 1, 7 }
end

local ALL = {}
for _, list in ipairs { dtypes.names, dtypes.complex } do
    for _, name in ipairs(list) do ALL[#ALL + 1] = name end
end

check.test("fields and extents", function()
    for _, name in ipairs(ALL) do
        local bytes = dtypes.by_name[name].bytes
        for _, dims in ipairs { {}, { 3 }, { 0 }, { 2, 3 }, { 1, 0, 4 }, { 1, 1, 1 } } do
            local size = 1
            for _, n in ipairs(dims) do size = size * n end
            local x = np.zeros(dims, { dtype = name })
            check.equal({ x.shape, x.static_shape, x.ndim, x.size }, { dims, dims, #dims, size })
            check.equal({ x.itemsize, x.nbytes, x.dtype, x.weak }, { bytes, bytes * size, name, false })
            check.equal({ x.device.kind, x.device.index }, { "cpu", 0 })
            for k = 1, #dims do
                check.equal({ x:dim(k - 1), x:dim(k - 1 - #dims), np.dim(x, k - 1) }, { dims[k], dims[k], dims[k] })
            end
            check.raises(function() return x:dim(#dims) end, "out of range")
        end
    end
    local x = np.arange(6):reshape(2, 3)
    check.equal({ x.T.shape, np.broadcast_to(x, { 4, 2, 3 }).nbytes, x:dim(1LL) }, { { 3, 2 }, 96, 3 })
    check.equal(np.where(np.array { true }, 1, 0).weak, true)
    check.raises(function() x.shape, x.size = { 6 }, 1 end, "cannot be set")
end)

check.test("fields inside of transforms and on a mesh", function()
    local x = np.ones { 4, 3 }
    np.jit(function(v) check.equal({ v.shape, v.ndim, v.size, v.dtype, v:dim(0) }, { { 4, 3 }, 2, 12, "f32", 4 })
        end)(x)
    np.vmap(function(v) check.equal({ v.shape, v.ndim, v.nbytes }, { { 3 }, 1, 12 }) end)(x)
    np.grad(function(v)
        check.equal({ v.shape, v.itemsize, v.weak }, { { 4, 3 }, 4, false })
        return v:sum()
    end)(x)
    local whole = np.device_put(x, np.mesh({ 4 }, { "i" }), np.P "i")
    check.equal({ whole.shape, whole.size, whole.nbytes, whole.device }, { { 4, 3 }, 12, 48, nil })
end)

check.test("elements as values of Lua", function()
    for _, name in ipairs(ALL) do
        local list = values_of(name)
        local x = np.array(list, { dtype = name })
        check.equal(x:totable(), list, name)
        for k = 1, 4 do
            check.equal(x[k - 1]:item(), list[k], name)
            check.equal(np.item(x[{ { k - 1, k } }]), list[k], name)
            check.equal(x[k - 1]:totable(), list[k], name)
        end
        local square = x:reshape(2, 2)
        check.equal(square.T:totable(), { { list[1], list[3] }, { list[2], list[4] } }, name)
        check.equal(np.totable(np.flip(x)), { list[4], list[3], list[2], list[1] }, name)
        check.equal(np.zeros({ 2, 0 }, { dtype = name }):totable(), { {}, {} })
        check.equal(x:tostring(), tostring(x))
        check.raises(function() return x:item() end, "one element")
    end
end)

check.test("elements as bytes, in files, as memory, as tensors", function()
    local path = os.tmpname()
    for _, name in ipairs(ALL) do
        local list, bytes = values_of(name), dtypes.by_name[name].bytes
        local x = np.array(list, { dtype = name })
        for _, array in ipairs { x, np.flip(np.flip(x)), np.array({ list, list }, { dtype = name })[1] } do
            array:tofile(path)
            check.equal(np.fromfile(path, { dtype = name }):totable(), list, name)
        end
        check.equal(np.fromfile(path, { dtype = name, offset = bytes, count = 2 }):totable(), { list[2], list[3] },
            name)
        local text = io.open(path, "rb"):read "*a"
        check.equal(np.frombuffer(text, { dtype = name }):totable(), list, name)
        check.equal(np.frombuffer(text, { dtype = name, offset = bytes, count = 1 }):totable(), { list[2] }, name)
        local pointer = x:pointer()
        check.equal(ffi.string(ffi.cast("const char *", pointer), 4 * bytes), text, name)
        check.equal(np.frombuffer(pointer, { dtype = name, count = 4 }):totable(), list, name)
        for _, copy in ipairs { true, false } do
            check.equal(np.from_dlpack(x:dlpack(), { copy = copy }):totable(), list, name)
        end
        check.equal(np.from_dlpack(x:reshape(2, 2).T:dlpack(), { device = "cpu:1" }):totable(),
                    { { list[1], list[3] }, { list[2], list[4] } }, name)
        check.equal(np.from_dlpack(np.zeros({ 2, 0 }, { dtype = name }):dlpack()).shape, { 2, 0 }, name)
    end
    os.remove(path)
    check.raises(function() np.frombuffer "abc" end, "option 'dtype' is needed")
    check.raises(function() np.frombuffer("abc", { dtype = "i16" }) end, "no whole number")
    check.raises(function() np.frombuffer("abcd", { dtype = "i16", count = 3 }) end, "more than the 4 bytes")
    check.raises(function() np.frombuffer("abcd", { dtype = "i16", offset = -1 }) end, "an integer from 0 up")
    check.equal(np.frombuffer("abcd", { dtype = "u8", count = 2LL, offset = 1LL }):totable(), { 98, 99 })
    check.raises(function() np.fromfile("no such file", { dtype = "u8" }) end, "no such file")
    check.raises(function() np.zeros(2):tofile "" end, "a file name")
end)

check.test("dtypes by other libraries' names", function()
    for name, of in pairs {
        float16 = "f16", bfloat16 = "bf16", float32 = "f32", float64 = "f64", complex64 = "c64", complex128 = "c128",
        int8 = "i8", int16 = "i16", int32 = "i32", int64 = "i64", uint8 = "u8", uint16 = "u16", uint32 = "u32",
        uint64 = "u64", bool = "bool", bool_ = "bool",
    } do
        check.equal(np[name], of)
        check.equal(np.zeros(1, { dtype = name }).dtype, of)
        check.equal(np.zeros(1, { dtype = np[name] }).dtype, of)
    end
    for _, name in ipairs { "integer", "signedinteger", "unsignedinteger", "floating", "inexact", "number",
        "generic" } do
        check.equal(np[name], name)
        check.equal({ np.issubdtype("i32", np[name]) }, { name ~= "unsignedinteger" and name ~= "floating"
                                                          and name ~= "inexact" })
    end
end)

check.test("what the array standard asks for", function()
    local info = np.__array_namespace_info__()
    check.equal(info.default_dtypes(), { ["real floating"] = np.zeros(1).dtype,
        ["complex floating"] = np.array { 1i }.dtype,
                                         integral = np.arange(1).dtype, indexing = np.argmax(np.zeros(1)).dtype })
    for _, name in ipairs(ALL) do check.equal(info.dtypes()[name], name) end
    check.equal(info.dtypes { kind = "real floating" }, { f16 = "f16", bf16 = "bf16", f32 = "f32", f64 = "f64" })
    check.equal(info.dtypes { kind = { "bool", "complex floating" } }, { bool = "bool", c64 = "c64", c128 = "c128" })
    check.equal(info.capabilities()["max dimensions"], core.MAX_DIMS)
    check.equal({ info.default_device(), info.devices()[1] }, { "cpu:0", "cpu:0" })
end)

check.test("devices, and when arrays are computed", function()
    check.equal({ np.process_index(), np.process_count() }, { 0, 1 })
    local own = np.local_devices()
    check.equal({ #own, #np.devices(), own[2].id, own[2].index, own[2].process, own[2].kind }, { 4, 4, 1, 1, 0, "cpu" })
    check.ok(np.devices()[2] == own[2] and np.devices("cpu")[2] == own[2] and np.device "cpu:1" == own[2])
    check.ok(np.device "cpu" == own[1] and np.default_device() == own[1])
    check.equal(np.default_device("cpu:1", function() return np.ones(2).device.index end), 1)
    local tree = { np.ones(3) + 1, { a = np.ones(2) * 2 } }
    check.equal(np.is_deferred(tree), true)
    check.ok(rawequal(np.force(tree), tree) and rawequal(np.wait(tree), tree))
    check.equal({ np.is_deferred(tree), tree[1]:is_deferred() }, { false, false })
    local x = np.array { 1, 2, 3 } * np.arange(3)
    np.wait_all()
    check.equal(x:is_deferred(), false)
    check.equal(x:is_deleted(), false)
    x:delete()
    check.equal(np.is_deleted(x), true)
    check.raises(function() return x + 1 end, "deleted")
    check.raises(function() np.delete(1) end, "an array")
end)

check.test("memory, and the clock", function()
    np.memory.trim()
    np.memory.reset_peak()
    np.memory.trim() -- what earlier tests have left must not go while memory is compared
    local before = np.memory()
    local x = np.wait(np.random.bits(np.random.key(0), { 2 ^ 18 }))
    local now = np.memory "cpu"
    check.ok(now.live >= before.live + 2 ^ 20 and now.peak >= now.live and now.reserved >= now.live, "a MiB is held")
    x:delete()
    check.ok(np.memory().live < now.live and np.memory().peak >= now.peak, "it is given back")
    np.memory.reset_peak()
    check.ok(np.memory().peak < now.peak and np.memory().allocations >= now.allocations)
    check.equal(np.memory(np.devices()[1]).device, "cpu")
    check.raises(function() np.memory "no device" end, "no device")
    local start = np.clock()
    check.ok(np.clock() >= start)
end)

check.done()
