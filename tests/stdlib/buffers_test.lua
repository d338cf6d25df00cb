--- buffers_test.lua: arrays from memory and as memory: np.frombuffer, np.fromfile, x:tofile, x:pointer, DLPack, mapped
-- files. (DLPack in C: tests/lazy/dlpack.c.)
local ffi = require "ffi"
local np = require "neap"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"

local path = os.tmpname()

local function sample(dtype, ...)
    return (np.arange(24):remainder(2)):astype(dtype):reshape(...)
end

check.test("bytes of strings, cdata and files", function()
    check.equal(np.frombuffer("a\0b", { dtype = "u8" }):totable(), { 97, 0, 98 })
    check.equal(np.frombuffer("xx\1\0\2\0", { dtype = "i16", offset = 2, count = 1 }):totable(), { 1 })
    check.equal(np.frombuffer("", { dtype = "f64" }).shape, { 0 })
    check.equal(np.frombuffer("\0\2", { dtype = "bool" }):totable(), { false, true })
    check.equal(np.frombuffer(ffi.new("double[2]", 1.5, -2), { dtype = "f64" }):totable(), { 1.5, -2 })
    local memory = ffi.new("int32_t[3]", 1, 2, 3)
    local x = np.frombuffer(ffi.cast("int32_t *", memory), { dtype = "i32", count = 2, offset = 4 })
    memory[1] = 9
    check.equal(x:totable(), { 2, 3 })
    local file = io.tmpfile()
    file:write "head\1\2"
    file:seek("set", 4)
    check.equal(np.frombuffer(file, { dtype = "u8" }):totable(), { 1, 2 })
    file:close()
    check.raises(function() np.frombuffer "abc" end, "option 'dtype' is needed")
    check.raises(function() np.frombuffer("abc", { dtype = "f32" }) end, "no whole number of f32")
    check.raises(function() np.frombuffer("abc", { dtype = "u8", count = 4 }) end, "more than the 3 bytes")
    check.raises(function() np.frombuffer("abc", { dtype = "u8", offset = 4 }) end, "'offset' is 4")
    check.raises(function() np.frombuffer(ffi.new("int64_t", 3), { dtype = "u8" }) end, "argument 1")
    check.raises(function() np.frombuffer(ffi.cast("char *", memory), { dtype = "u8" }) end, "option 'count' is needed")
    check.raises(function() np.frombuffer(ffi.cast("char *", nil), { dtype = "u8", count = 1 }) end, "null")
    check.raises(function() np.frombuffer(np.ones(2), { dtype = "u8" }) end, "argument 1")
    check.raises(function() np.array "abc" end, "np.frombuffer")
end)

check.test("files of bytes", function()
    for _, dtype in ipairs(dtypes.names) do
        local x = sample(dtype, 4, 6)
        x.T:tofile(path)
        check.ok(np.array_equal(np.fromfile(path, { dtype = dtype }):reshape(6, 4), x.T), dtype)
    end
    np.arange(4):tofile(path)
    check.equal(np.fromfile(path, { dtype = "i32", offset = 8, count = 1 }):totable(), { 2 })
    check.raises(function() np.fromfile(path, { dtype = "i32", count = 5 }) end, "more than the 16 bytes")
    check.raises(function() np.fromfile(path .. "none", { dtype = "i32" }) end, "cannot open")
    check.raises(function() np.arange(4):tofile(path .. "\0x") end, "argument 2 %(path%) must be a file name")
end)

check.test("pointers", function()
    for _, dtype in ipairs(dtypes.names) do
        local row = dtypes.by_name[dtype]
        local x = sample(dtype, 2, 12).T
        local p = x:pointer()
        check.ok(ffi.istype("const " .. row.ctype .. " *", p))
        check.equal(ffi.string(p, x.size * row.bytes), ffi.string(np.copy(x):pointer(), x.size * row.bytes))
    end
    local p = (np.ones(1000) * 3):pointer()
    collectgarbage()
    collectgarbage()
    for _ = 1, 20 do np.zeros(1000):wait() end
    check.equal(p[999], 3)
end)

check.test("DLPack", function()
    for _, dtype in ipairs(dtypes.names) do
        for _, x in ipairs { sample(dtype, 2, 3, 4), sample(dtype, 4, 6).T, sample(dtype, 24)[0], np.zeros({ 0, 2 },
                             { dtype = dtype }) } do
            local y = np.from_dlpack(x:dlpack())
            check.equal({ y.dtype, y.shape, y:totable() }, { dtype, x.shape, x:totable() })
        end
    end
    local x = np.copy(np.arange(1000))
    check.ok(np.from_dlpack(x:dlpack()):pointer() == x:pointer())
    check.ok(np.from_dlpack(x:dlpack(), { copy = true }):pointer() ~= x:pointer())
    -- Neither updates nor donation write over what was given away.
    local t = x:dlpack()
    local y = x:at { 0 }:set(7)
    check.equal({ y[0]:item(), ffi.cast("int32_t *", t.dl_tensor.data)[0] }, { 7, 0 })
    np.jit(function(a) return a + 1 end, { donate = { 1 } })(x):wait()
    check.equal(ffi.cast("int32_t *", t.dl_tensor.data)[999], 999)
    for _, options in ipairs { {}, { copy = true } } do -- taken once, whether an array has its memory or not
        local tensor = np.arange(4):dlpack()
        local first = np.from_dlpack(tensor, options)
        check.raises(function() np.from_dlpack(tensor, options) end, "the tensor was taken before")
        if not options.copy then
            check.raises(function() np.from_dlpack(ffi.cast("DLManagedTensor *", tensor)) end, "was taken before")
        end
        check.equal(first:totable(), { 0, 1, 2, 3 })
    end
    check.raises(function() np.from_dlpack(3) end, "DLManagedTensor")
    check.raises(function() np.from_dlpack(ffi.cast("DLManagedTensor *", nil)) end, "DLManagedTensor")
    t.dl_tensor.device.device_type = 2
    check.raises(function() np.from_dlpack(t) end, "np.from_dlpack: the tensor lies on a device")
    check.raises(function() np.jit(function(a) return a:dlpack() end)(np.ones(2)) end, "trac")
end)

check.test("mapped npy files", function()
    for _, dtype in ipairs(dtypes.names) do
        local x = sample(dtype, 4, 6)
        np.io.save(path, x)
        local y = np.io.load(path, { mmap_mode = "r" })
        check.equal({ y.dtype, y.shape }, { dtype, { 4, 6 } })
        check.ok(np.array_equal(y, x) and np.array_equal(y[2], x[2]), dtype)
        check.ok(np.array_equal((y:astype "f32" + 1).T, (x:astype "f32" + 1).T), dtype)
    end
    np.io.save(path, np.ones { 300, 1000 })
    np.memory.reset_peak()
    local before = np.memory().peak
    local y = np.io.load(path, { mmap_mode = "r" })
    check.ok(np.memory().peak - before < 100000, "the file was read")
    np.io.save(path, np.zeros(2)) -- another file of the same name
    check.equal(y:sum():item(), 300000)
    check.equal(y:at { 0 }:set(0):sum():item(), 299000)
    check.equal(np.jit(function(a) return a * 2 end, { donate = { 1 } })(y)[{ 5, 5 }]:item(), 2)
    local file = assert(io.open(path, "wb"))
    file:write "\147NUMPY\1\0"
    file:close()
    check.raises(function() np.io.load(path, { mmap_mode = "r" }) end, "truncated")
    check.raises(function() np.io.load(path, { mmap_mode = "w" }) end, "'mmap_mode'")
    check.raises(function() np.io.load("tests", { mmap_mode = "r" }) end, "no regular file")
    for name, problem in pairs { ["f32_big_endian.npy"] = "big%-endian", ["bad_data.npy"] = "truncated" } do
        check.raises(function() np.io.load("tests/golden/io/" .. name, { mmap_mode = "r" }) end, problem)
    end
    check.ok(np.array_equal(np.io.load("tests/golden/io/fortran3.npy", { mmap_mode = "r" }),
                            np.io.load "tests/golden/io/fortran3.npy"))
end)

check.test("the clock", function()
    local first = np.clock()
    local again = np.clock()
    check.ok(again >= first and again - first < 100)
    check.raises(function() np.clock(1) end, "takes no argument")
end)

os.remove(path)
check.done()
