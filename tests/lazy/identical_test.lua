--- identical_test.lua: results have the same bits however and wherever they are computed.
--
-- Random programs (tests/lib/programs.lua) and the kernels that are measured (bench/kernels.lua) are run by processes
-- with 1, 2 and 7 workers, chunks of 256 and 1024 elements and each instruction set that the CPU has; in each of them
-- in several ways: everything pending at once, every result by itself, with flushes at random places, and as a jitted
-- function. The limits from which work is split over workers and results go past the caches are lowered, so that small
-- arrays get there.
--
--     NEAP_TEST_PROGRAMS=20000 …              how many (220 in a release build)
--     NEAP_TEST_SEED=5000 …                   the first (1)
--     build/neap tests/lazy/identical_test.lua show 17            the script of a program
--     build/neap --workers 7 tests/lazy/identical_test.lua run 1 2000 chunk=256,isa=avx2     a process's share
package.path = "./?.lua;" .. package.path
local np = require "neap"
local kernels = require "bench.kernels"
local programs = require "tests.lib.programs"


local function unlimited()
    np.debug.limits { nodes = 0, bytes = 0 }
end

local function hashes(program, registers)
    local list = {}
    for k, n in ipairs(program.results) do list[k] = programs.hash(registers[n]) end
    return list
end

local ways = {} -- name, function(program) → hashes of its results

ways[1] = { "at once", function(program)
    np.wait_all()
    return hashes(program, program.drawn)
end }

ways[2] = { "jitted", function(program)
    local leaves = program.make()
    local results = { np.jit(function(...)
        local r, list = { ... }, {}
        program.run(r)
        for k, n in ipairs(program.results) do list[k] = r[n] end
        return unpack(list)
    end)(unpack(leaves)) }
    for k, x in ipairs(results) do results[k] = programs.hash(x) end
    return results
end }

ways[3] = { "one by one", function(program)
    local r, list = program.make(), {}
    program.run(r)
    for k = #program.results, 1, -1 do list[k] = programs.hash(r[program.results[k]]) end
    return list
end }

ways[4] = { "with flushes", function(program)
    local r, state = program.make(), program.seed
    np.debug.limits { nodes = state % 7, bytes = state % 3 * 10000 }
    program.run(r, function(x)
        state = (state * 16807 + 11) % 2147483647
        if state % 3 == 0 then np.force(x) end
        if state % 5 == 0 then np.wait_all() end
    end)
    unlimited()
    return hashes(program, r)
end }

--- What is neither a result nor a leaf has no handle any more when it runs, so most of it shares memory. Every few
-- programs, since collecting takes its time.
ways[5] = { "with nothing else kept", function(program, expected)
    if program.seed % 8 ~= 0 then return { expected } end
    local r, list = program.make(), {}
    program.run(r)
    for k, n in ipairs(program.results) do list[k] = r[n] end
    for n = #r, 1, -1 do r[n] = nil end
    np.memory.trim()
    np.wait_all()
    for k = 1, #list do list[k] = programs.hash(list[k]) end
    return list
end }

--- A measured kernel at about n elements, in the form of a program.
local function program_of(kernel, n)
    local inputs, program = {}, { seed = n, results = {} }
    n = kernels.size(kernel, n)
    for k = 1, kernel.inputs or 1 do inputs[k] = kernels.input(k, n, kernel.columns) end
    for k = 1, kernel.outputs or 1 do program.results[k] = #inputs + k end
    function program.make() return { unpack(inputs) } end
    function program.run(r, visit)
        local results = { kernel.lua(unpack(r, 1, #inputs)) }
        for k, x in ipairs(results) do
            r[#inputs + k] = x
            if visit then visit(x) end
        end
    end
    program.drawn = program.make()
    program.run(program.drawn)
    return program
end

--- Prints a line for a program: its name and a hash of its results; or what differs.
local function try(name, program)
    local expected
    for _, way in ipairs(ways) do
        local found = table.concat(way[2](program, expected), "; ")
        expected = expected or found
        if found ~= expected then
            io.write(("%s differs %s: %s, but %s: %s\n"):format(name, way[1], found, ways[1][1], expected))
        end
    end
    io.write(name, "\t", expected, "\n")
end

local function run(first, count, settings)
    np.debug.reuse(settings.reuse)
    settings.reuse = nil
    np.debug.kernels(settings)
    unlimited()
    for _, kernel in ipairs(kernels) do
        for _, n in ipairs { 1000, 20000 } do try(kernel.name .. ", " .. n, program_of(kernel, n)) end
    end
    for seed = first, first + count - 1 do try(tostring(seed), programs.draw(seed)) end
end

if arg[1] == "show" then
    unlimited()
    io.write(programs.draw(tonumber(arg[2])).text)
    os.exit(0)
elseif arg[1] == "run" then
    local settings = { stream_min = 4096, parallel_min = 1, task_min = 1, reuse = 0 }
    for name, value in (arg[4] or ""):gmatch "(%w+)=(%w+)" do settings[name] = tonumber(value) or value end
    run(tonumber(arg[2]), tonumber(arg[3]), settings)
    os.exit(0)
end


local check = require "tests.lib.check"
local neap = require("tests.lib.process").neap

local release = os.getenv "NEAP_TEST_BUILD" == "release"
local first = tonumber(os.getenv "NEAP_TEST_SEED" or 1)
local count = tonumber(os.getenv "NEAP_TEST_PROGRAMS" or (release and 220 or 20))

-- Each two of workers, instruction set and size of a chunk meet. All but the first let arrays of any size share memory.
local PROCESSES = {
    { workers = 1, isa = "baseline", chunk = 1024 }, { workers = 7, isa = "avx2", chunk = 256 },
    { workers = 2, isa = "avx512", chunk = 256 }, { workers = 2, isa = "baseline", chunk = 256 },
    { workers = 7, isa = "avx512", chunk = 1024 }, { workers = 1, isa = "avx2", chunk = 256 },
    { workers = 7, isa = "baseline", chunk = 1024 }, { workers = 2, isa = "avx2", chunk = 1024 },
    { workers = 1, isa = "avx512", chunk = 1024 },
}

local function has_isa(isa)
    local ok = pcall(np.debug.kernels, { isa = isa })
    np.debug.kernels {}
    return ok
end

local function start(process)
    return io.popen(("'%s' --workers %d tests/lazy/identical_test.lua run %d %d isa=%s,chunk=%d,reuse=%d 2>&1"):format(
        neap, process.workers, first, count, process.isa, process.chunk, process == PROCESSES[1] and 0 or 1))
end

--- What a process printed: program → hashes, how many there are, and lines that are not of that form.
local function output_of(pipe)
    local found, n, odd = {}, 0, {}
    for text in pipe:lines() do
        local name, hash = text:match "^([^\t]+)\t(.*)$"
        if name then found[name], n = hash, n + 1 else odd[#odd + 1] = text end
    end
    pipe:close()
    return found, n, odd
end

local function compare(found, n, odd, expected)
    check.equal(n, count + 2 * #kernels, "programs that ran: " .. table.concat(odd, "\n"):sub(-1000))
    for name, hash in pairs(expected) do
        if found[name] ~= hash then odd[#odd + 1] = ("%s: %s, expected %s"):format(name, found[name], hash) end
    end
    for k = 1, #odd do odd[k] = odd[k]:sub(1, 300) end
    check.ok(#odd == 0, ("%d differ (see 'show SEED'):\n  %s"):format(#odd, table.concat(odd, "\n  ", 1,
                                                                                          math.min(#odd, 3))))
end

local expected, running = nil, {}
for k, process in ipairs(PROCESSES) do
    local name = ("%d workers, %s, chunks of %d"):format(process.workers, process.isa, process.chunk)
    if not has_isa(process.isa) then
        check.skip(name, "this CPU has no " .. process.isa)
    else
        running[#running + 1] = { name = name, pipe = start(process) }
    end
    if #running == 2 or k == #PROCESSES then -- two at a time
        for _, one in ipairs(running) do
            local found, n, odd = output_of(one.pipe)
            expected = expected or found
            check.test(one.name, function() compare(found, n, odd, expected) end)
        end
        running = {}
    end
end
check.done()
