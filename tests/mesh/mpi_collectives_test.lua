-- mpi_collectives_test.lua: all collectives, in one process and in several, print the same, digit for digit; also where
-- each process does its work in another order.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local SCRIPT = "tests/mesh/mpi_collectives.lua"
local missing = mpirun.missing()
if missing then
    check.skip("collectives of several processes", missing)
    check.done()
end

local status, one, err = process.run_neap { "--devices", "8", SCRIPT }
check.equal({ status, err }, { 0, "" })

for _, count in ipairs { 2, 4, 8 } do
    check.test(("collectives of %d processes"):format(count), function()
        local of_all, all, all_err = mpirun.run(count, { "--devices", 8 / count, SCRIPT })
        check.equal({ of_all, all_err }, { 0, "" })
        check.equal(all, one)
    end)
end

check.test("collectives of processes whose work is done in random order", function()
    local of_all, all, all_err = mpirun.run(2, { "--devices", "4", "--shuffle", "5", SCRIPT })
    check.equal({ of_all, all_err }, { 0, "" })
    check.equal(all, one)
end)

check.test("what a process of several starts is alone", function()
    local script = process.file(([[
        local child = io.popen(%q .. " -e 'print(np.process_index(), np.process_count())'")
        assert(child:read "*a" == "0\t1\n")
        print "all alone"
    ]]):format(process.neap))
    local of_all, out, all_err = mpirun.run(2, { script })
    check.equal({ of_all, out, all_err }, { 0, "all alone\n", "" })
end)

check.done()
