--- mpi_print_test.lua: what several processes print comes out once, in one order, as if it were one process: real runs
-- of mpirun with 2 and 4 processes, compared with one process that has all devices.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local missing = mpirun.missing()
if missing then
    check.skip("prints of several processes", missing)
    check.done()
end

local HEAD = [[
    local P, me = np.P, np.process_index()
    local mesh = np.mesh({ 4, 2 }, { "i", "j" })
    local x = np.device_put(np.arange(8 * 16):reshape(8, 16), mesh, P("i", "j"))
    local function sharded(f)
        return np.shard_map(f, { mesh = mesh, in_specs = { P("i", "j") }, out_specs = P("i", "j") })
    end
]]

--- What 8 devices print, in one process and in so many; the latter's stderr too.
local function both(count, code)
    local script = process.file(HEAD .. code)
    local status, one, err = process.run_neap { "--devices", "8", script }
    check.equal({ status, err }, { 0, "" })
    local status_of_all, all, all_err = mpirun.run(count, { "--devices", 8 / count, script })
    check.equal(status_of_all, 0, all_err)
    return one, all, all_err
end

local PROGRAM = [[
    print("text", 7, np.arange(3))
    print("whole", x)
    local function body(b)
        print("block", b[{ 0, { 0, 2 } }])
        np.printf("%d of %d\n", b[{ 0, 0 }], np.psum(b[{ 0, 0 }], { "i", "j" }))
        print("over j", np.psum(b[{ 0, 0 }], "j"))
        return b + 1
    end
    local y, jitted = sharded(body)(x), np.jit(sharded(body))
    for k = 1, 3 do y = jitted(y) end
    print("result", y)
    print("sum", y:sum(), y:sum():item())
    io.write("written ", y:max(), "\n")
    np.debug.print({ ordered = true }, "{} {}", "again", y[{ 0, { 0, 3 } }])
    np.effects_barrier()
    local log = np.effects.logger(arg[1] or "/dev/null")
    log("line %d", y:sum())
    log:close()
    np.jit(function(z) print("in a program", z) return z end)(y):wait()
    local big = np.random.normal(np.random.key(3), { 64, 96 })
    for _, spec in ipairs { P("i", "j"), P { "j", "i" }, P(nil, "i") } do print(np.device_put(big, mesh, spec)) end
    print(np.device_put(np.arange(4 * 2 * 600):reshape(4, 2, 600), mesh, P("i", "j")))
    sharded(function(b) print("big", b, b:reshape(-1)) return b end)(np.arange(256 * 128):reshape(256, 128)):wait()
]]

for _, count in ipairs { 2, 4 } do
    check.test(count .. " processes print what one prints, once and in order", function()
        local one, all, err = both(count, PROGRAM)
        check.equal(all, one)
        check.equal(err, "")
        check.equal(select(2, all:gsub("%[i=%d, j=%d%] block", "")), 4 * 8)
    end)
end

check.test("meshes of some devices, in another order", function()
    local one, all, err = both(4, [[
        local all = np.devices()
        local some = { all[7], all[3], all[4], all[5], all[8], all[6] }
        local six = np.mesh({ 3, 2 }, { "a", "b" }, { devices = some })
        local two = np.mesh({ 2 }, { "c" }, { devices = { all[1], all[2] } })
        local four = np.mesh({ 2, 2 }, { "r", "s" }, { devices = { all[7], all[3], all[1], all[5] } })
        local y = np.arange(36):reshape(6, 6)
        print("six", np.device_put(y, six, P("a", "b")), np.device_put(y[0], six, P()))
        print("two", np.device_put(y, two, P "c"), np.device_put(y:gt(7), six, P "b"))
        print("four", np.device_put(y, four, P("s", "r")), np.device_put(y, four, P "s"))
        print("empty", np.device_put(np.zeros { 0, 6 }, six, P(nil, "b")))
        local here = np.device_put(y, two, P())
        local ok, problem = pcall(function() return here:sum():item() end)
        assert(ok == (me == 0) and (ok or problem:find "on devices of other processes"), problem)
        np.shard_map(function(b) print("body", b[{ 0 }]) return b end,
                     { mesh = six, in_specs = P "a", out_specs = P "a" })(y):wait()
    ]])
    check.equal(all, one)
    check.equal(err, "")
end)

check.test("what need not be ordered, and what process 0 alone prints", function()
    local log = process.file ""
    local script = process.file(HEAD .. [[
        if me == 0 then np.printf("only %s %d\n", np.ones(4):sum(), np.process_count()) end
        np.debug.print("hello {}", np.arange(2))
        sharded(function(b) np.debug.print("{}", b[{ 0, 0 }]) return b end)(x):wait()
        io.stderr:write("from ", tostring(me), "\n")
        local log = np.effects.logger(arg[1])
        log("once %d", np.ones(4):sum())
        log:close()
        print(("%d %d %s %s"):format(#np.devices(), #np.local_devices(), np.local_devices()[1], np.devices()[8]))
        np.effects_barrier()
        assert(np.devices()[1 + 4 * me].process == me and np.devices()[1 + 4 * me].id == 4 * me)
        local ok, problem = pcall(tostring, x)
        assert(not ok and problem:find "only a print that all processes reach", problem)
        assert(not pcall(function() return x:totable() end))
        assert(not pcall(np.device_put, 1, np.devices()[1 + 4 * (1 - me)]))
        if me == 1 then print(np.ones(2)) end
    ]])
    local status, out, err = mpirun.run_apart(2, { "--devices", 4, script, log })
    check.equal(status, 0, err)
    local expected = { "8 4 0/cpu:0 1/cpu:3", "only 4.0 2" }
    for rank = 0, 1 do
        expected[#expected + 1] = ("[process %d] hello [0 1]"):format(rank)
        for i = 2 * rank, 2 * rank + 1 do
            for j = 0, 1 do
                expected[#expected + 1] = ("[process %d] [i=%d, j=%d] %d"):format(rank, i, j, 32 * i + 8 * j)
            end
        end
    end
    table.sort(expected)
    check.equal(mpirun.sorted(out), expected)
    check.equal(mpirun.sorted(err), { "from 0", "from 1" })
    check.equal(process.read(log), "once 4\n")
end)

check.test("a process in which an effect has failed ends with status 1, after all have come to their end", function()
    local script = process.file(HEAD .. [[
        np.callback(function() if me == 1 then error("no such file", 0) end end)()
        print(np.array(sharded(function(b) return np.psum(b, "j") end)(x)):sum())
    ]])
    local status, out, err = mpirun.run(2, { "--devices", 4, script })
    check.equal({ status, out }, { 1, "16256\n" })
    check.ok(err:find "%[process 1%] [^\n]*: callback: no such file\n", err)
    check.ok(not err:find "has failed" and not err:find "collective", err)
end)

process.cleanup()
check.done()
