--- devices_order_test.lua: what a program shows is in program order, whatever the devices do. In each round a jitted
-- function f is called on device 0, then g on device 1, with other output around them. f holds a gate, which is opened
-- only after g's result was seen to be there and f's not: so g's work ends before f's in every round, and still f's
-- prints come first. The transcript is compared with one that plain Lua makes.
--
-- The file runs itself: `neap … devices_order_test.lua child ROUNDS held` is the program whose output is looked at.
local ffi = require "ffi"

--- What round k of the program does besides calling f and g.
local function plan(rounds)
    local seed, list = 20261121, {}
    for k = 1, rounds do
        seed = (seed * 16807) % 2147483647
        list[k] = { before = seed % 3 == 0, between = seed % 5, after = seed % 7, x = seed % 100 }
    end
    return list
end

-- ---- The program ----------------------------------------------------------------------------------------------------

local function run_program(rounds, held)
    local core = require "neap.core"
    local np = require "neap"

    local f = np.jit(function(x, gate, k)
        print("f begins", k)
        local y = held and core.record2(core.ids.debug_hold, x, gate, 0) or np.debug.sleep(x, 0)
        print("f shows", y * 2, np.debug.device(y))
        io.write("f wrote ", y + k, "\n")
        return y + 1
    end)
    local g = np.jit(function(x, k)
        local y = x * x
        print("g shows", y, np.debug.device(y), k)
        return y + np.debug.device(y)
    end)

    --- A gate, and the memory whose first element opens it.
    local function new_gate()
        local gate = core.fill(core.dtype_codes.i32, {}, function(data) data[0] = 0 end, "int32_t *")
        return gate, ffi.cast("volatile int32_t *", core.data(gate))
    end

    local PENDING, overtaken = core.C.NEAP_PENDING, 0
    for k, step in ipairs(plan(rounds)) do
        local gate, memory = new_gate()
        local left = np.device_put(np.array { step.x }, "cpu:0")
        local right = np.device_put(np.array { k % 50 }, "cpu:1")
        if step.before then io.write("round ", k, "\n") end
        local slow = f(left, gate, k)
        if step.between == 0 then
            print("host", right + 1)
        elseif step.between == 1 then
            np.printf("%d of %s\n", right[0], left)
        elseif step.between == 2 then
            print("failed:", np.debug.fail(right))
        end
        local fast = g(right, k)
        if held then
            fast:wait()
            if core.C.neap_array_poll(core.ctx, slow._id) == PENDING then overtaken = overtaken + 1 end
        end
        if step.after == 0 then print("f", slow, "g", fast) end
        memory[0] = 1
        if step.after == 1 then io.write("waited for ", slow:item(), "\n") end
        if step.after == 2 then np.effects_barrier() end
        core.info(gate) -- keeps it alive until here
    end
    local counts = ffi.new("neap_effects_counts")
    core.C.neap_effects_count(core.C.neap_ctx_effects(core.ctx), counts)
    io.stderr:write(overtaken, " overtaken, ", tonumber(counts.carried), " carried\n")
end

if (...) == "child" then
    local _, rounds, held = ...
    return run_program(tonumber(rounds), held == "held")
end

-- ---- The test -------------------------------------------------------------------------------------------------------

local check = require "tests.lib.check"
local process = require "tests.lib.process"

--- The transcript, made without arrays.
local function expected(rounds)
    local lines = {}
    local function line(format, ...) lines[#lines + 1] = format:format(...) end
    for k, step in ipairs(plan(rounds)) do
        local x, right = step.x, k % 50
        if step.before then line("round %d", k) end
        line("f begins\t%d", k)
        line("f shows\t[%d.]\t[0]", x * 2)
        line("f wrote [%d.]", x + k)
        if step.between == 0 then
            line("host\t[%d.]", right + 1)
        elseif step.between == 1 then
            line("%d of [%d.]", right, x)
        elseif step.between == 2 then
            line("failed:\t<error>")
        end
        line("g shows\t[%d.]\t[1]\t%d", right * right, k)
        if step.after == 0 then line("f\t[%d.]\tg\t[%d.]", x + 1, right * right + 1) end
        if step.after == 1 then line("waited for %d", x + 1) end
    end
    return lines
end

local sanitized = os.getenv("NEAP_TEST_BUILD") and os.getenv("NEAP_TEST_BUILD") ~= "release"
local rounds = sanitized and 200 or 3000

-- Without threads g cannot end before f: then only the transcript is looked at.
local schedulers = {
    { "pool", "--workers", "2" },
    { "pool", "--workers", "4", "--shuffle", "7" },
    { "device" },
    { "device", "--shuffle", "8" },
    { "naive" },
}

for _, scheduler in ipairs(schedulers) do
    local held = scheduler[1] ~= "naive"
    check.test("the order of a program: " .. table.concat(scheduler, " "), function()
        local command = { "--devices", "2", "--scheduler", unpack(scheduler) }
        for _, word in ipairs { "tests/effects/devices_order_test.lua", "child", rounds, held and "held" or "free" } do
            command[#command + 1] = tostring(word)
        end
        local status, out, err = process.run_neap(command)
        local wanted, n = expected(rounds), 0
        for text in out:gsub("<error: [^\n]-failed on purpose>", "<error>"):gmatch("([^\n]*)\n") do
            n = n + 1
            if text ~= wanted[n] then check.equal(text, wanted[n], "line " .. n) end
        end
        check.equal({ status, n }, { 1, #wanted }) -- 1: some of what it prints has failed
        local overtaken, carried = err:match("^(%d+) overtaken, (%d+) carried\n$")
        check.equal(tonumber(overtaken), held and rounds or 0, err)
        check.ok(tonumber(carried) >= rounds, err) -- from f's device to g's, at the least
    end)
end

check.done()
