--- mpi_systematic_test.lua (sanitized with --long): random programs under np.shard_map over the devices of several
-- processes, compared bit for bit with the slicing reference (tests/lib/mesh_reference.lua), which each process
-- computes for itself; and their gradients, which have the same bits on any number of processes.
--
-- The file runs itself under mpirun: `mpirun -n 2 neap --devices 4 mpi_systematic_test.lua child FIRST COUNT`. Every
-- process looks at the whole of every result, gathered on all.
local np = require "neap"
local check = require "tests.lib.check"

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"

-- ---- One of the processes -------------------------------------------------------------------------------------------

local kinds = {
    { dtype = "f64", exact = true, derivatives = true },
    { dtype = "f32", derivatives = true },
    { dtype = "i32", exact = true },
}

--- All devices, the first of each process before the second ones: so every mesh has devices of as many processes as it
-- can.
local function dealt_devices()
    local list = { unpack(np.devices()) }
    table.sort(list, function(a, b)
        if a.index ~= b.index then return a.index < b.index end
        return a.process < b.process
    end)
    return list
end

local function run_child(first, count)
    local programs = require "tests.lib.mesh_programs"
    local devices, problems, compared = dealt_devices(), {}, 0

    --- Notes what differs between arrays on a mesh and ordinary ones. All processes come here with the same arrays.
    local function compare(about, mesh, got, want, tolerance)
        for k = 1, #want do
            local whole = np.device_put(got[k], mesh, np.P())
            local same = tolerance and np.allclose(whole, want[k], { rtol = tolerance, atol = tolerance })
                or np.array_equal(whole, want[k])
            compared = compared + 1
            if not same or whole.dtype ~= want[k].dtype then
                problems[#problems + 1] = ("%s, array %d: %s, expected %s"):format(about, k, tostring(whole),
                                                                                  tostring(want[k]))
            end
        end
    end

    --- Prints the bits of arrays on a mesh of 8 devices: these do not depend on the processes.
    local function show(seed, mesh, arrays)
        for k, x in ipairs(arrays) do
            local numbers = {}
            for _, value in ipairs(np.device_put(x, mesh, np.P()):flatten():totable()) do
                numbers[#numbers + 1] = ("%a"):format(value)
            end
            print(seed, k, table.concat(numbers, " "))
        end
    end

    for _, kind in ipairs(kinds) do
        for seed = first, first + count - 1 do
            local texts = programs.sample(seed, kind, {})
            local case = programs.parse(texts)
            if case.mesh.size >= np.process_count() then
                local about = programs.show(texts)
                local mesh = programs.mesh(case, devices)
                local f, reference = programs.by_mesh(case, nil, mesh), programs.by_slices(case)
                local want = { reference(unpack(case.inputs)) }
                compare("eager: " .. about, mesh, { f(unpack(case.inputs)) }, want)
                compare("jitted: " .. about, mesh, { np.jit(f)(unpack(case.inputs)) }, want)
                if kind.derivatives then
                    local function gradients(g)
                        return np.grad(function(list) return programs.weigh { g(unpack(list)) } end)
                    end
                    local tolerance = kind.exact and 1e-12 or 1e-3
                    local expected, got = gradients(reference)(case.inputs), gradients(f)(case.inputs)
                    compare("gradient: " .. about, mesh, got, expected, tolerance)
                    compare("jitted gradient: " .. about, mesh, np.jit(gradients(f))(case.inputs), expected, tolerance)
                    if case.mesh.size == 8 then show(seed, mesh, got) end
                end
            end
        end
    end
    for k = 1, math.min(#problems, 5) do
        io.stderr:write(("process %d: %s\n"):format(np.process_index(), problems[k]))
    end
    if compared == 0 then error "nothing was compared" end
    if #problems > 0 then error(("process %d: %d arrays differ"):format(np.process_index(), #problems)) end
end

if (...) == "child" then
    local _, first, count = ...
    require("neap.core").warn = function() end -- random programs add up what is the same on all devices
    return run_child(tonumber(first), tonumber(count))
end

-- ---- The test -------------------------------------------------------------------------------------------------------

local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local missing = mpirun.missing()
local count = release and 10 or 3

for _, way in ipairs { { 2, 4, 1 }, { 4, 2, 1 }, { 3, 3, 313 } } do
    local processes, devices, first = unpack(way)
    local name = ("random programs on %d processes of %d devices"):format(processes, devices)
    if missing then
        check.skip(name, missing)
    else
        check.test(name, function()
            local words = { "tests/mesh/mpi_systematic_test.lua", "child", tostring(first), tostring(count) }
            local status, out, err = mpirun.run(processes, { "--devices", devices, unpack(words) })
            check.equal({ status, err }, { 0, "" })
            check.equal({ process.run_neap { "--devices", "8", unpack(words) } }, { 0, out, "" })
        end)
    end
end
check.done()
