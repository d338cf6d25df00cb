--- print_order_test.lua (sanitized with --long): what a program over several devices shows comes in one order: first by
-- place in the program, then by device, row-major in the mesh, whatever the devices do. In each round a jitted function
-- prints a value that a gate holds back on all devices, then values that are there at once; the gate is opened only
-- after these were seen to be there. The transcript is compared with one that plain Lua makes. So is that of several
-- processes, without gates.
--
-- The file runs itself: `neap … print_order_test.lua child ROUNDS held` is the program whose output is looked at.
local ffi = require "ffi"

local ROWS, COLUMNS = 4, 2

--- What round k of the program does besides calling the sharded function.
local function plan(rounds)
    local seed, list = 20261122, {}
    for k = 1, rounds do
        seed = (seed * 16807) % 2147483647
        list[k] = { eager = seed % 3 == 0, before = seed % 5, after = seed % 7, x = seed % 100 }
    end
    return list
end

-- ---- The program ----------------------------------------------------------------------------------------------------

local function run_program(rounds, held)
    local core = require "neap.core"
    local np = require "neap"
    local P = np.P
    local mesh = np.mesh({ ROWS, COLUMNS }, { "i", "j" })

    local function body(x, gate, k)
        local fast = x * 2
        local slow = held and core.record2(core.ids.debug_hold, x, gate, 0) or np.debug.sleep(x, 0)
        print("slow", slow + k)
        print("total", np.psum(x, { "i", "j" }))
        io.write("fast ", fast, "\n")
        return slow, fast
    end
    local function sharded(x, gate, k)
        return np.shard_map(function(block) return body(block, gate, k) end,
                            { mesh = mesh, in_specs = P { "i", "j" }, out_specs = P { "i", "j" } })(x)
    end
    local jitted = np.jit(sharded)

    --- A gate, and the memory whose first element opens it.
    local function new_gate()
        local gate = core.fill(core.dtype_codes.i32, {}, function(data) data[0] = 0 end, "int32_t *")
        return gate, ffi.cast("volatile int32_t *", core.data(gate))
    end

    local PENDING, overtaken = core.C.NEAP_PENDING, 0
    for k, step in ipairs(plan(rounds)) do
        local gate, memory = new_gate()
        local x = np.device_put(np.arange(ROWS * COLUMNS) + step.x, mesh, P { "i", "j" })
        if step.before == 0 then print("round", k) end
        if step.before == 1 then print("whole", x) end
        local slow, fast = (step.eager and sharded or jitted)(x, gate, k)
        if held then
            fast:wait()
            if core.C.neap_array_poll(core.ctx, slow._id) == PENDING then overtaken = overtaken + 1 end
        end
        if step.after == 0 then print("sum", (slow + fast):sum()) end
        memory[0] = 1
        if step.after == 1 then io.write("waited for ", np.device_put(slow, mesh, P())[0]:item(), "\n") end
        if step.after == 2 then np.effects_barrier() end
        core.info(gate) -- keeps it alive until here
    end
    io.stderr:write(overtaken, " overtaken\n")
end

if (...) == "child" then
    local _, rounds, held = ...
    return run_program(tonumber(rounds), held == "held")
end

-- ---- The test -------------------------------------------------------------------------------------------------------

local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

--- The transcript, made without arrays.
local function expected(rounds)
    local lines, n = {}, ROWS * COLUMNS
    local function line(format, ...) lines[#lines + 1] = format:format(...) end
    local function by_device(format, value)
        for d = 0, n - 1 do
            line("[i=%d, j=%d] " .. format, math.floor(d / COLUMNS), d % COLUMNS, value(d))
        end
    end
    for k, step in ipairs(plan(rounds)) do
        local x = step.x
        local total = n * x + n * (n - 1) / 2
        if step.before == 0 then line("round\t%d", k) end
        if step.before == 1 then
            local values, width = {}, #tostring(x + n - 1)
            for d = 0, n - 1 do values[d + 1] = ("%" .. width .. "d"):format(x + d) end
            line("whole\t[%s]", table.concat(values, " "))
        end
        by_device("slow\t[%d]", function(d) return x + d + k end)
        line("total\t[%d]", total)
        by_device("fast [%d]", function(d) return 2 * (x + d) end)
        if step.after == 0 then line("sum\t%d", 3 * total) end
        if step.after == 1 then line("waited for %d", x) end
    end
    return lines
end

local rounds = (os.getenv "NEAP_TEST_BUILD" or "release") == "release" and 400 or 20

-- The gate holds back one worker for each device. Where a device has one thread, or none, nothing runs meanwhile: then
-- only the transcript is looked at.
local schedulers = {
    { "pool", "--workers", "9" },
    { "pool", "--workers", "9", "--shuffle", "7" },
    { "pool", "--workers", "2", "--shuffle", "9" },
    { "device" },
    { "device", "--shuffle", "8" },
    { "naive" },
}

--- Compares what was printed with the transcript.
local function compare(out, err, status)
    local wanted, n = expected(rounds), 0
    for text in out:gmatch("([^\n]*)\n") do
        n = n + 1
        if text ~= wanted[n] then check.equal(text, wanted[n], "line " .. n) end
    end
    check.equal({ status, n }, { 0, #wanted }, err)
end

for _, scheduler in ipairs(schedulers) do
    local held = scheduler[3] == "9"
    check.test("the order over devices: " .. table.concat(scheduler, " "), function()
        local command = { "--devices", tostring(ROWS * COLUMNS), "--scheduler", unpack(scheduler) }
        for _, word in ipairs { "tests/mesh/print_order_test.lua", "child", rounds, held and "held" or "free" } do
            command[#command + 1] = tostring(word)
        end
        local status, out, err = process.run_neap(command)
        compare(out, err, status)
        check.equal(tonumber(err:match("^(%d+) overtaken\n$")), held and rounds or 0, err)
    end)
end

for _, processes in ipairs { 2, 4 } do
    local name = ("the order over devices of %d processes"):format(processes)
    local missing = mpirun.missing()
    if missing then
        check.skip(name, missing)
    else
        check.test(name, function()
            local status, out, err = mpirun.run(processes, {
                "--devices", ROWS * COLUMNS / processes, "--shuffle", 10, "tests/mesh/print_order_test.lua", "child",
                rounds, "free",
            })
            compare(out, err, status)
        end)
    end
end

process.cleanup()
check.done()
