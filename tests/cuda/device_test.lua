--- device_test.lua (not under tsan): what holds on any GPU, whoever its driver is: copies of all sizes, work that goes
-- to and fro, the order of effects, ends with work under way, Ctrl-C. By the fake driver, or, with NEAP_TEST_ON=cuda in
-- the environment, on the GPU of the machine.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local with = require "tests.cuda.with_libraries"

-- ---- Copies ---------------------------------------------------------------------------------------------------------

check.test("copies of all sizes, there and back", function()
    check.equal(with.output({}, { "-e", [[
        local sizes = { 1, 3, 255, 4095, 2 ^ 20 - 1, 2 ^ 20, 2 ^ 20 + 1, 3 * 2 ^ 20 + 7 ]] ..
        (with.is_fake and "" or ", 2 ^ 26 + 1, 2 ^ 28") .. [[ }
        for _, n in ipairs(sizes) do
            local x = (np.arange(n, { dtype = "u32" }) * 2654435761):wait()
            local there = np.device_put(x, "cuda:0")
            local back = np.device_put(there, "cpu:0")
            local next = np.device_put(there + 1, "cpu:0")
            print(tostring(there.device) == "cuda:0" and back:eq(x):all():item() and next:eq(x + 1):all():item() or n)
        end]] }), ("true\n"):rep(with.is_fake and 8 or 10))
end)

check.test("many copies at once, and what is written over behind them", function()
    check.equal(with.output({ NEAP_FAKE_DELAY = 20 }, { "-e", [[
        local there, wrong = {}, 0
        for round = 1, 4 do
            for k = 1, 30 do
                local x = np.full({ 1000 * k + k }, k + round, { dtype = "i32" }) -- which nobody holds any more
                there[k] = np.device_put(np.device_put(x:wait(), "cuda:0") * 2, "cpu:0")
            end
            for k = 1, 30 do
                if not there[k]:eq(2 * (k + round)):all():item() then wrong = wrong + 1 end
            end
        end
        print(wrong)]] }), "0\n")
end)

check.test("work that goes to and fro between devices waits for what it needs", function()
    local code = [[
        local x, y = np.arange(70000, { dtype = "i32" }), np.arange(70000, { dtype = "i32" }) * 3
        for k = 1, 40 do
            x = np.device_put(x * 3 + y, k % 3 == 0 and "cpu:0" or OTHER) % 65537
            y = np.device_put(np.cumsum(np.device_put(y, OTHER) % 17), k % 4 == 0 and OTHER or "cpu:0")
            x, y = np.device_put(x, "cpu:0"), np.device_put(y, "cpu:0")
        end
        print(x:sum(), y:sum(), x[69999], y[69999])]]
    check.equal(with.output({ NEAP_FAKE_DELAY = 30 }, { "-e", (code:gsub("OTHER", '"cuda:0"')) }),
                with.output({}, { "-e", (code:gsub("OTHER", '"cpu:0"')) }))
end)

check.test("prints and callbacks keep their order while arrays are on a GPU", function()
    local code = [[
        local function told(x) io.write("seen ", x[0]:item(), "\n") return x + 1 end
        local f = np.jit(function(x)
            for k = 1, 4 do
                print("before", x[0])
                x = np.callback(told, { result = x })(np.cumsum(x * 1.5))
                print("behind", x[1])
            end
            return x
        end)
        local x = np.ones { 3000 }
        for k = 1, 3 do
            print(k)
            x = f(x) / 100
        end
        print(x[0], x[1])]]
    check.equal(with.output({}, { "--gpu", "-e", code }), with.output({}, { "-e", code }))
end)

-- ---- Ends and interrupts --------------------------------------------------------------------------------------------

check.test("a script may end with work under way", function()
    for _, last in ipairs { "", "os.exit(0)", "local y = np.device_put(x, 'cpu:0')" } do
        with.output({ NEAP_FAKE_DELAY = 3000 }, { "-e", [[
            local x = np.device_put(np.ones(300000), "cuda:0")
            for k = 1, 5 do x = np.sort(x:sin() + 1) end
            np.force(x)]] .. "\n" .. last })
    end
    local status, _, err = with.run({}, { "--gpu", "-e", "x = np.sort(np.ones(300000)) np.force(x) error 'over'" })
    check.equal(status, 1)
    check.ok(err:find("over", 1, true), err)
end)

for name, loop in pairs {
    ["a loop of steps"] = "while true do x = np.sort(x + 1) if x[0]:item() < 0 then break end end",
    ["a loop on the GPU"] = "print(np.fori_loop(0, 100000000, function(i, c) return np.cumsum(c) + i end, x)[0])",
} do
    check.test("Ctrl-C stops " .. name .. ", and the prompt works on", function()
        local environment = with.is_fake and { LD_LIBRARY_PATH = with.fake, NEAP_FAKE_DELAY = "1000" } or {}
        local terminal = process.terminal({ "--gpu" }, environment)
        terminal:expect "> "
        terminal:send "x = np.ones{30000}; print('ready', (x * 2):sum())\n"
        terminal:expect "ready\t60000"
        terminal:expect "> "
        terminal:send(loop .. "\n")
        terminal:expect "\r\n"
        process.sleep(1)
        terminal:send "\3"
        terminal:expect "nterrupt"
        terminal:send "print('sum', (np.ones(3) * 2):sum())\n"
        terminal:expect "sum\t6"
        terminal:send "\4"
        check.equal(terminal:finish(), 0)
    end)
end

process.cleanup()
with.fake_test("a GPU that is too old is told of, once", function()
    local old = { NEAP_FAKE_PTX = 1, NEAP_FAKE_DEVICES = 1, NEAP_FAKE_CAPABILITY = 61 }
    local why = "the CPU computes in place of cuda:0, over copies: no code is made for 'sm_61': GPUs from sm_75 on\n"
    local status, out, err = with.run(old, { "--gpu", "-e", "print(np.ones(3):sum() * 2)" })
    check.equal({ status, out, err }, { 0, "6.0\n", "neap: warning: " .. why })
    local put = "for k = 1, 3 do print(np.device_put(np.ones(k), 'cuda:0'):sum()) end"
    status, out, err = with.run(old, { "-e", put })
    check.equal({ status, out, err }, { 0, "1.0\n2.0\n3.0\n", "(command line):1: warning: np.device_put: " .. why })
    check.ok(select(2, with.run(old, { "doctor" })):find("(the CPU computes: no code is made for 'sm_61'", 1, true))
    for _, capability in ipairs { 75, 86, 120 } do
        old.NEAP_FAKE_CAPABILITY = capability
        status, out, err = with.run(old, { "--gpu", "-e", "print(np.explain(np.ones(3):wait():sum()))" })
        check.equal({ status, err }, { 0, "" }, out)
        check.ok(out:find("gpu, cuda:0", 1, true), out)
    end
end)

check.done()
