--- born_test.lua (sanitized with --long): arrays that are born on a mesh: from callbacks, from what a process has, from
-- files read by block. Runs itself again with eight devices, and as two processes of four.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"
local np = require "neap"

local P = np.P

-- ---- What each of two processes does --------------------------------------------------------------------------------

local function of_two(path)
    local mesh, own = np.mesh({ 4, 2 }, { "i", "j" }), np.process_index()
    local whole, asked = np.arange(64, { dtype = "f32" }):reshape(8, 8), 0
    local x = np.make_array_from_callback({ 8, 8 }, np.NamedSharding(mesh, P("i", "j")), function(index, device)
        asked = asked + 1
        assert(device.process == own)
        return whole[index]
    end)
    local function all(y) return np.device_put(y, mesh, P()):totable() end
    local want = whole:totable()
    check.equal({ asked, all(x) }, { 4, want })
    local half = whole[{ { own * 4, own * 4 + 4 } }]
    local rows = np.make_array_from_process_local_data(np.NamedSharding(mesh, P "i"), half)
    check.equal({ rows.shape, all(rows) }, { { 8, 8 }, want })
    local columns = np.make_array_from_process_local_data(np.NamedSharding(mesh, P(nil, "j")), whole)
    check.equal(all(columns), want)
    check.raises(function()
        np.make_array_from_process_local_data(np.NamedSharding(mesh, P "i"), whole, { 8, 8 })
    end, "all of an array of shape %(16, 8%)")
    check.equal(all(np.io.load(path, { sharding = np.NamedSharding(mesh, P("j", "i")) })), want)
    print("each process has what it needs")
end

local folder = arg and arg[1]
if np.process_count() > 1 then
    of_two(folder)
    return
end

require "tests.lib.devices" (8, "tests/mesh/born_test.lua")

local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local whole = np.random.normal(np.random.key(1), { 8, 16 })
local SPECS = { P("i", "j"), P("j"), P(nil, { "j", "i" }), P(), P({ "i", "j" }, nil) }

local function same(x, spec)
    local want = np.device_put(whole, mesh, spec)
    check.equal({ x.sharding == want.sharding, x.dtype, x.shape }, { true, "f32", { 8, 16 } })
    check.equal(x:totable(), whole:totable())
    check.equal(np.jit(function(v) return (v * v):sum { axis = 0 } end)(x):totable(),
                np.jit(function(v) return (v * v):sum { axis = 0 } end)(want):totable())
    local got, blocks = x:addressable_shards(), want:addressable_shards()
    for k, shard in ipairs(got) do check.equal(shard.data:totable(), blocks[k].data:totable()) end
end

check.test("from callbacks: each block is asked for once", function()
    for _, spec in ipairs(SPECS) do
        local sharding, asked, blocks = np.NamedSharding(mesh, spec), 0, {}
        local x = np.make_array_from_callback({ 8, 16 }, sharding, function(index, device)
            asked = asked + 1
            blocks[tostring(device)] = index
            return whole[index]
        end)
        same(x, spec)
        local distinct = 1
        for k = 1, 2 do distinct = distinct * ({ 8, 16 })[k] / sharding:shard_shape { 8, 16 } [k] end
        check.equal(asked, distinct)
        for _, part in ipairs(sharding:devices_indices_map { 8, 16 }) do
            local index = blocks[tostring(part.device)]
            if index then check.equal(index, part.index) end
        end
    end
end)

check.test("from callbacks: tables, numbers, dtypes, specs", function()
    local sharding = np.NamedSharding(mesh, P "i")
    local x = np.make_array_from_callback({ 8 }, sharding, function(index) return { index[1][1], index[1][2] - 1 } end)
    check.equal({ x.dtype, x:totable() }, { "f32", { 0, 1, 2, 3, 4, 5, 6, 7 } })
    local number = np.make_array_from_callback({}, np.NamedSharding(mesh, P()), function() return 3 end,
                                               { dtype = "i32" })
    check.equal({ number.dtype, number:item() }, { "i32", 3 })
    np.set_mesh(mesh)
    check.equal(np.make_array_from_callback({ 8 }, P "j", function(index) return np.arange(unpack(index[1])) end)
                :totable(), np.arange(8):totable())
    np.set_mesh(nil)
end)

check.test("from what a process has: with one it is all", function()
    for _, spec in ipairs(SPECS) do
        same(np.make_array_from_process_local_data(np.NamedSharding(mesh, spec), whole), spec)
        same(np.make_array_from_process_local_data(np.NamedSharding(mesh, spec), whole, { 8, 16 }), spec)
    end
end)

check.test("files read by block", function()
    local path = process.file ""
    np.io.save(path, whole)
    for _, spec in ipairs(SPECS) do same(np.io.load(path, { sharding = np.NamedSharding(mesh, spec) }), spec) end
    same(np.io.load(path, { sharding = np.NamedSharding(mesh, P "i"), mmap_mode = "r" }), P "i")
    np.io.save(path, np.arange(5))
    local rows = np.NamedSharding(mesh, P "i")
    check.raises(function() np.io.load(path, { sharding = rows }) end, "np.io.load: .*does not divide 5 evenly")
    check.raises(function() np.io.load(path, { sharding = 3 }) end, "option 'sharding' must be a spec")
    check.raises(function() np.io.load("/no/file", { sharding = rows }) end, "cannot open")
    local flags = np.array { true, false, true, true }
    np.io.save_safetensors(path, { w = whole, b = np.arange(3), flags = flags })
    local mapped = { w = np.NamedSharding(mesh, P("i", "j")), flags = np.NamedSharding(mesh, P "i") }
    local t = np.io.load_safetensors(path, { shardings = mapped })
    same(t.w, P("i", "j"))
    check.equal({ t.b.sharding, t.b:totable(), t.flags.dtype, t.flags:totable() },
                { nil, { 0, 1, 2 }, "bool", flags:totable() })
    np.set_mesh(mesh)
    check.equal(tostring(np.io.load_safetensors(path, { shardings = { w = P "j" } }).w.sharding.spec), 'P("j", nil)')
    check.equal(np.io.load_safetensors(path, { shardings = P() }).b:totable(), { 0, 1, 2 })
    np.set_mesh(nil)
    check.raises(function() np.io.load_safetensors(path, { shardings = { x = mapped.w } }) end, "has 'x', which")
    check.raises(function() np.io.load_safetensors(path, { shardings = 3 }) end, "option 'shardings' must be a spec")
end)

check.test("what is refused", function()
    local sharding = np.NamedSharding(mesh, P "i")
    local function make(f, given) return np.make_array_from_callback({ 8 }, sharding, f, given) end
    check.raises(function() make(function() return np.ones(3) end) end,
                 "block on %w+:0 has shape %(2,%), but the function returned one of shape %(3,%)")
    check.raises(function() make(function() return np.ones(2) end, { dtype = "i32" }) end,
                 "has dtype f32, but the array has i32")
    check.raises(function() make(function() return nil end) end, "must return an array for each block, got nothing")
    local meshed = np.device_put(np.ones(2), mesh, P())
    check.raises(function() make(function() return meshed end) end, "lies on a mesh itself")
    check.raises(function() make(function() error("mine", 0) end) end, "^mine$")
    check.raises(function() make(3) end, "np.make_array_from_callback: argument 3 %(f%)")
    check.raises(function() np.make_array_from_callback({ 6 }, sharding, print) end, "does not divide 6 evenly")
    check.raises(function() np.make_array_from_callback(8, sharding, print) end, "a table of sizes")
    check.raises(function() np.make_array_from_callback({ 8 }, P "i", print) end, "a spec without a mesh")
    check.raises(function() np.make_array_from_callback({ 8 }, 3, print) end, "must be a spec")
    local jitted = np.jit(function(x) return x + make(function() return np.ones(2) end) end)
    check.raises(function() jitted(np.ones(8)) end, "a gradient, a trace or a batch is open")
    check.raises(function() np.make_array_from_process_local_data(sharding, np.ones(6)) end, "does not divide 6 evenly")
    check.raises(function() np.make_array_from_process_local_data(sharding, np.ones(8), { 16 }) end,
                 "all of an array of shape %(8,%), but argument 3 %(shape%) is %(16,%)")
end)

local missing = mpirun.missing()
if missing then
    check.skip("two processes have their own blocks, and read their own of a file", missing)
else
    check.test("two processes have their own blocks, and read their own of a file", function()
        local path = process.file ""
        np.io.save(path, np.arange(64, { dtype = "f32" }):reshape(8, 8))
        local status, out, problem = mpirun.run(2, { "--devices", "4", "tests/mesh/born_test.lua", path })
        check.equal(status, 0, problem)
        check.equal(select(2, out:gsub("has what it needs", "")), 1, out) -- the second print is the same
    end)
end

process.cleanup()
check.done()
