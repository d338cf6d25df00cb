--- mpi_callback_test.lua (under asan with --long): callbacks and table loggers of arrays that differ between devices,
-- where these are of several processes: each process calls its own function, for its own devices, in their order; the
-- results go on as one array.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local missing = mpirun.missing()
if missing then
    check.skip("callbacks of several processes", missing)
    check.done()
end

local SCRIPT = process.file [[
    local P = np.P
    local mesh = np.mesh({ 4, 2 }, { "i", "j" })
    local x = np.arange(128, { dtype = "f32" }):reshape(8, 16)
    for _, wrap in ipairs { function(f) return f end, np.jit } do
        local seen, lines = {}, {}
        local log = np.effects.logger(lines)
        local double = np.callback(function(at, b)
            seen[#seen + 1] = ("%d%d:%d"):format(at.i, at.j, b[{ 0, 0 }]:item())
            return b * 2
        end, { coordinates = true, result = { shape = { 2, 8 } } })
        local f = wrap(np.shard_map(function(a)
            local d = double(a)
            log("%d", d[{ 0, 0 }])
            print("corner", d[{ 0, 0 }])
            return d + np.psum(d[{ 0, 0 }], { "i", "j" }), np.psum(d:sum(), { "i", "j" })
        end, { mesh = mesh, in_specs = P("i", "j"), out_specs = { P("i", "j"), P() } }))
        local y, sum = f(x)
        print(y, sum)
        log:close()
        io.stderr:write(("%d %s | %s\n"):format(np.process_index(), table.concat(seen, " "), table.concat(lines, " ")))
    end
]]

local status, one, one_err = process.run_neap { "--devices", "8", SCRIPT }
check.equal(status, 0, one_err)

for _, count in ipairs { 2, 4 } do
    check.test(("%d processes call for their own devices"):format(count), function()
        local of_all, all, err = mpirun.run(count, { "--devices", 8 / count, SCRIPT })
        check.equal(of_all, 0, err)
        check.equal(all, one)
        local expected = {}
        for rank = 0, count - 1 do
            local calls, lines = {}, {}
            for device = rank * 8 / count, (rank + 1) * 8 / count - 1 do
                local i, j = math.floor(device / 2), device % 2
                calls[#calls + 1] = ("%d%d:%d"):format(i, j, 32 * i + 8 * j)
                lines[#lines + 1] = ("[i=%d, j=%d] %d"):format(i, j, 2 * (32 * i + 8 * j))
            end
            local line = ("%d %s | %s"):format(rank, table.concat(calls, " "), table.concat(lines, " "))
            expected[#expected + 1], expected[#expected + 2] = line, line -- eager, jitted
        end
        check.equal(mpirun.sorted(err), expected)
    end)
end

check.test("a block whose callback has failed is the only one that is not shown", function()
    local script = process.file [[
        local P, mesh = np.P, np.mesh({ 4 }, { "i" })
        local double = np.callback(function(at, b)
            if at.i == 2 then error("no such file", 0) end
            return b * 2
        end, { coordinates = true, result = { shape = { 2 } } })
        local function body(b)
            local d = double(b)
            print("block", d)
            return d
        end
        for _, wrap in ipairs { function(f) return f end, np.jit } do
            local f = wrap(np.shard_map(body, { mesh = mesh, in_specs = P "i", out_specs = P "i" }))
            print("all", f(np.arange(8) / 1))
        end
    ]]
    local failed, alone, told = process.run_neap { "--devices", "4", script }
    check.equal({ failed, told }, { 1, "" })
    check.equal(select(2, alone:gsub("%[i=[013]%] block%s%[", "")), 6)
    check.equal(select(2, alone:gsub("%[i=2%] block%s<error: [^\n]*no such file>\n", "")), 2)
    for _, count in ipairs { 2, 4 } do
        local of_all, all = mpirun.run(count, { "--devices", 4 / count, script })
        check.equal({ of_all, (all:gsub("[^ ]*: print: process %d: ", "")) }, { 1, alone })
    end
end)

check.test("a callback may end all processes", function()
    local script = process.file "np.callback(function() print 'called' os.exit(0) end)() np.effects_barrier()"
    check.equal({ mpirun.run(2, { script }) }, { 0, "called\n", "" })
end)

process.cleanup()
check.done()
