--- mpi_surface_test.lua: what processes under mpirun see of meshes and of the arrays on them: names of devices,
-- their own shards, pictures, values that all of them have; and that np.breakpoint is refused.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local missing = mpirun.missing()

local function test(name, f)
    if missing then check.skip(name, missing) else check.test(name, f) end
end

--- What a program shows on two processes with two devices each.
local function shown(code)
    local status, out, err = mpirun.run(2, { "--devices", "2", process.file("local P = np.P\n" .. code) })
    check.equal({ status, err }, { 0, "" })
    return out
end

test("a mesh over the devices of all processes", function()
    check.equal(shown [[
local mesh = np.mesh({2, 2}, {"i", "j"})
print(mesh)
print(np.debug.visualize_sharding({4, 4}, np.NamedSharding(mesh, P("i", nil))))
]], [[
mesh {i=2, j=2} of 4 devices
     j=0      j=1
i=0  0/cpu:0  0/cpu:1
i=1  1/cpu:0  1/cpu:1
         0:4
    ┌───────────┐
0:2 │ 0/cpu:0,1 │
    ├───────────┤
2:4 │ 1/cpu:0,1 │
    └───────────┘
]])
end)

test("a mesh of the first devices is one if all processes have some", function()
    check.equal(shown [[
local some = np.mesh({3}, {"i"})
for _, device in ipairs(some.devices) do print(device.process, device.index) end
print(np.device_put(np.arange(6), some, P "i"))
local ok, problem = pcall(np.mesh, {2}, {"i"})
print(ok, problem:match "np.mesh: .*")
print(np.mesh({2}, {"i"}, {devices={np.devices()[2], np.devices()[3]}}).size)
]], [[
0	0
0	1
1	0
[0 1 2 3 4 5]
false	np.mesh: a mesh of shape (2,) has 2 places, and process 1 has none of the first 2 of 4 devices: ]]
.. [[choose devices of all processes in option 'devices'
2
]])
end)

test("each process has the shards of its own devices", function()
    check.equal(shown [[
local mesh = np.mesh({2, 2}, {"i", "j"})
local x = np.arange(16):reshape(4, 4)
local y = np.device_put(x, mesh, P(nil, "i"))
local s, all, good = y.sharding, np.device_put(y, mesh, P()), 0
for k, shard in ipairs(y:addressable_shards()) do
    local device = np.local_devices()[k]
    if shard.device == device and shard.replica == k - 1 and np.array_equal(shard.data, x[shard.index]) then
        good = good + 1
    end
end
local both = np.shard_map(function(n) return np.psum(n, "i") end, {mesh=mesh, in_specs=P "i", out_specs=P()})
print(both(np.arange(2) * 0 + good):item(), s.is_fully_addressable, s.is_fully_replicated)
print(all.sharding.is_fully_replicated, all:sum():item())
print(y:sum():item(), (select(2, pcall(y.totable, y)):match "gather it on all of them first") ~= nil)
]], "4\tfalse\tfalse\ntrue\t120\n120\ttrue\n")
end)

test("errors are the same on all, and breakpoints are refused", function()
    check.equal(shown [[
local mesh = np.mesh({4}, {"i"})
local function map(f) return np.shard_map(f, {mesh=mesh, in_specs=P "i", out_specs=P()}) end
print((select(2, pcall(map(function(a) return a end), np.ones(8))):match "may differ over mesh axis 'i'"))
print((select(2, pcall(map(function(a) return a end), np.ones(6))):match "4 does not divide 6 evenly"))
local function stop(a) np.breakpoint() return a end
print((select(2, pcall(map(stop), np.ones(8))):match "2 processes run this program"))
]], "may differ over mesh axis 'i'\n4 does not divide 6 evenly\n2 processes run this program\n")
end)

test("loops over names come to collectives in one order", function()
    check.equal(shown [==[
local mesh = np.mesh({4}, {"i"})
local t, names = {}, {}
for k = 1, 40 do
    names[k] = ("w%d"):format(k * 7 % 41)
    t[names[k]] = np.full({2}, k)
end
local out = np.shard_map(function(t)
    local sums = {}
    for name, w in pairs(t) do sums[name] = np.psum(w * (np.axis_index("i") + 1), "i") end
    return sums
end, {mesh=mesh, in_specs=P(), out_specs=P()})(t)
local right = 0
for k = 1, 40 do right = right + (out[names[k]][0]:item() == 10 * k and 1 or 0) end
local seen, left = {}, { 3, 2, b = 1, a = 2, [10] = 4 }
for key, value in pairs(left) do
    seen[#seen + 1] = ("%s=%s"):format(key, value)
    left[key], left.b = nil, nil
end
print(right, table.concat(seen, " "), next(left))
]==], "40\t1=3 2=2 10=4 a=2\tnil\n")
end)

process.cleanup()
test("files of programs: bodies run on the devices of all processes, arrays must be here whole", function()
    check.equal(shown [[
local mesh, path, x = np.mesh({4}, {"i"}), os.tmpname(), np.arange(8, {dtype="f32"})
local function save(f) return pcall(function() np.trace(f)(x):save(path) end) end
print(save(np.shard_map(function(v) return np.psum(v, "i") + v * np.axis_index "i" end,
                        {mesh=mesh, in_specs=P "i", out_specs=P "i"})))
print(np.load_program(path)(x))
local everywhere, divided = np.device_put(x, mesh, P()), np.device_put(x, mesh, P "i")
print(save(function(v) return v + everywhere end))
print(np.load_program(path)(x))
local ok, problem = save(function(v) return v + divided end)
print(ok, problem:match "save: the .*processes")
os.remove(path)
]], [[
true
[12. 16. 14. 19. 20. 26. 30. 37.]
true
[ 0.  2.  4.  6.  8. 10. 12. 14.]
false	save: the program holds an array that is divided among several processes
]])
end)

check.done()
