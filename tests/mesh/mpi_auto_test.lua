--- mpi_auto_test.lua (sanitized with --long): automatic ops over several processes: random programs, gradients, eager
-- and jitted, and moving arrays from any layout to any other, give the same bits on one process of eight devices as on
-- several processes that have as many together. Runs itself under mpirun.
local check = require "tests.lib.check"
local np = require "neap"

local PROGRAMS = (os.getenv "NEAP_TEST_BUILD" or "release") == "release" and 20 or 3

-- ---- What each process does: a line for each program --------------------------------------------------------------

local function everything()
    local program = require "tests.lib.auto_programs"
    local P = np.P
    local mesh = np.mesh({ 4, 2 }, { "i", "j" })
    local function bits(x) return ("%.9g"):format(np.device_put(x, mesh, P()):item()) end
    local function numbers(k)
        return np.sin(np.arange(64, { dtype = "f32" }) * (2 * k + 5)):reshape(8, 8) * 3
    end
    for seed = 1, PROGRAMS do
        local f, arguments, text = program(seed * 7919, numbers, mesh)
        local both = np.value_and_grad(f, { argnums = { 1, 2, 3 } })
        local list = {}
        for _, function_ in ipairs { both, np.jit(both) } do
            for _, result in ipairs { function_(unpack(arguments)) } do
                list[#list + 1] = bits((result * result):sum())
            end
        end
        print(seed, text, table.concat(list, " "))
    end
    local x = np.arange(8 * 8 * 6, { dtype = "f32" }):reshape(8, 8, 6)
    local reversed = {}
    for k, device in ipairs(np.devices()) do reversed[9 - k] = device end
    local other = np.mesh({ 2, 4 }, { "a", "b" }, { devices = reversed })
    local layouts = {
        { mesh, P() }, { mesh, P("i", "j") }, { mesh, P { "j", "i" } }, { mesh, P(nil, "i") }, { mesh, P("j", "i") },
        { mesh, P(nil, "i", "j") }, { other, P("a", "b") }, { other, P { "b", "a" } }, { other, P(nil, "b", "a") },
    }
    for _, from in ipairs(layouts) do
        for _, to in ipairs(layouts) do
            local y = np.device_put(np.device_put(x, from[1], from[2]), to[1], to[2])
            local off = np.abs(y - np.device_put(x, to[1], to[2])):max()
            print(tostring(from[2]), tostring(to[2]), np.device_put(off, to[1], P()):item())
        end
    end
end

if arg and arg[1] == "run" then
    everything()
    return
end

-- ---- Comparing ----------------------------------------------------------------------------------------------------

local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local TEST = "tests/mesh/mpi_auto_test.lua"
local _, expected = process.run_neap { "--devices", "8", TEST, "run" }

check.test("what is moved is the same", function()
    local moves = 0
    for off in expected:gmatch "P%b()%s+P%b()%s+(%S+)\n" do
        moves = moves + 1
        check.equal(off, "0")
    end
    check.equal(moves, 81)
end)

local missing = mpirun.missing()
for _, way in ipairs { { 4, 2 }, { 2, 4 } } do
    local name = ("%d processes of %d devices"):format(way[1], way[2])
    if missing then
        check.skip(name, missing)
    else
        check.test(name, function()
            local status, text, errors = mpirun.run(way[1], { "--devices", way[2], TEST, "run" })
            check.equal(text, expected, errors)
            check.equal(status, 0, errors)
        end)
    end
end

process.cleanup()
check.done()
