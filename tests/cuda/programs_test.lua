--- programs_test.lua (not under tsan): whole programs on GPUs of the fake driver: devices and messages, the CPU's bits,
-- memory that is short, calls of the driver that fail, a lost device, Ctrl-C, the end with work under way.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local fake = process.neap:match "^(.*)/[^/]*$" .. "/tests/cuda/fake"

--- Runs the executable with the fake driver and more of the environment. Returns its exit status, stdout, stderr.
local function run(environment, arguments)
    local command = { "env", "LD_LIBRARY_PATH=" .. fake }
    for name, value in pairs(environment) do command[#command + 1] = name .. "=" .. value end
    command[#command + 1] = process.neap
    for _, word in ipairs(arguments) do command[#command + 1] = word end
    return process.run(command)
end

local function output(environment, arguments)
    local status, out, err = run(environment, arguments)
    check.equal({ status, err }, { 0, "" })
    return out
end

-- ---- Devices --------------------------------------------------------------------------------------------------------

check.test("devices are found, named and listed", function()
    local out = output({ NEAP_FAKE_DEVICES = 2 }, { "-e", [[
        local x = np.device_put(np.arange(4), "cuda:1")
        print(np.device "cuda", np.device "cuda:1", #np.devices "cuda", #np.devices(), np.devices "cpu"[1])
        print(x.device, x * 2 + 1, np.device_put(x, "cpu:0").device)
        print(pcall(np.device, "cuda:2"))
        print(np.devices(), pcall(np.devices, "warp"))]] })
    check.ok(out:find("cuda:0\tcuda:1\t2\t1\tcpu:0\ncuda:1\t[1 3 5 7]\tcpu:0\n", 1, true), out)
    check.ok(out:find("there is no device 'cuda:2' (devices: cpu:0)", 1, true), out)
    check.ok(out:find("there is no device of the kind 'warp'", 1, true), out)
    check.equal(output({}, { "--gpu", "-e", "print(np.devices()[1], np.ones(2).device)" }), "cuda:0\tcuda:0\n")
end)

check.test("where there is no GPU, the reason is told", function()
    local none = { NEAP_FAKE_DEVICES = 0 }
    check.ok(output({}, { "doctor" }):find "\nGPUs +cuda:0 Fake GPU 0, CUDA 13%.0, 1%.0 GiB; cuda:1 ")
    check.ok(output(none, { "doctor" }):find "\nGPUs +none: the NVIDIA driver finds no GPU\n")
    local status, out, err = run(none, { "--gpu", "-e", "print(1)" })
    check.ok(status ~= 0)
    check.equal({ out, err },
                { "", "neap: cannot compute on devices of the kind 'cuda': the NVIDIA driver finds no GPU\n" })
    status, out, err = run(none, { "-e", "np.device_put(np.ones(2), 'cuda:0')" })
    check.equal({ status, out }, { 1, "" })
    check.ok(err:find("there is no device 'cuda:0' (devices: cpu:0): the NVIDIA driver finds no GPU", 1, true), err)
    local folder = os.tmpname() -- with a library of the driver's name that is none
    os.execute(("rm %s && mkdir %s && ln -s %s/neap_cuda.so %s/libcuda.so.1"):format(
        folder, folder, process.neap:match "^(/.*)/" or "$PWD/" .. process.neap:match "^(.*)/", folder))
    local command = { "env", "LD_LIBRARY_PATH=" .. folder, process.neap, "-e", "print(pcall(np.device, 'cuda:0'))" }
    status, out = process.run(command)
    os.execute("rm -r " .. folder)
    check.equal(status, 0)
    check.ok(out:find("the NVIDIA driver is too old: libcuda.so.1 has no cuInit", 1, true), out)
end)

check.test("the default device may be a GPU", function()
    check.equal(output({ NEAP_FAKE_DEVICES = 2 }, { "-e", [[
        local f = np.jit(function(x) return x * 2 + 1 end)
        print(np.default_device("cuda:1", function() return (np.ones(3) * 3):wait().device, f(np.ones(2)).device end))
        print(np.default_device(), np.ones(3).device, f(np.ones(2)).device)
        np.default_device "cuda:0"
        local x = np.random.uniform(np.random.key(1), {100})
        print(np.default_device(), x.device, f(x):sum():item() > 100, np.device_put(x, "cpu:0").device)
        np.default_device "cpu:0"
        print(f(x).device, np.arange(3):sum())]] }),
        "cuda:1\tcuda:1\ncpu:0\tcpu:0\tcpu:0\ncuda:0\tcuda:0\ttrue\tcpu:0\ncpu:0\t3\n")
end)

-- ---- Programs -------------------------------------------------------------------------------------------------------

local training = [[
    local key = np.random.key(7)
    local x = np.random.normal(key, {64, 10})
    local y = (x:sum{axis=1, keepdims=true}):tanh()
    local w1, w2 = np.random.normal(np.random.fold_in(key, 1), {10, 32}) * 0.3, np.random.normal(key, {32, 1}) * 0.2
    local step = np.jit(np.value_and_grad(function(w1, w2)
        return ((x:matmul(w1):tanh():matmul(w2) - y)^2):mean()
    end, {argnums={1, 2}}))
    for k = 1, 30 do
        local loss, grads = step(w1, w2)
        w1, w2 = w1 - 0.1 * grads[1], w2 - 0.1 * grads[2]
        if k % 10 == 0 then np.printf("%s\n", loss) end
    end
    print(w1:sum(), np.softmax(w1):max{axis=0}, np.sort(w2:reshape(-1)), w1:cumsum{axis=1}:sum())
    print(np.linalg.solve(w1:transpose():matmul(w1) + np.eye(32), w2):sum(), (w1 * 3):astype("int32"):sum())
]]

check.test("a program has the CPU's bits", function()
    local expected = output({}, { "-e", training })
    check.ok(#expected > 200)
    check.equal(output({}, { "--gpu", "-e", training }), expected)
    check.equal(output({ NEAP_FAKE_DELAY = 100 }, { "--gpu", "--devices", "2", "-e", training }), expected)
    check.equal(output({}, { "--gpu", "--scheduler", "naive", "-e", training }), expected)
end)

check.test("what has no code for the GPU is computed on the host, and told", function()
    local expected = output({}, { "-e", training })
    check.equal(output({ NEAP_FAKE_HOST = 0 }, { "--gpu", "-e", training }), expected)
    local out = output({ NEAP_FAKE_HOST = 0 }, { "--gpu", "-e", "print(np.explain(np.ones(1000) * 3 + 1))" })
    check.ok(out:find("no code is made for GPUs yet", 1, true), out)
end)

check.test("work of several devices meets over copies", function()
    check.equal(output({ NEAP_FAKE_DELAY = 50 }, { "-e", [[
        local x, sum = np.arange(100000), 0
        for k = 1, 12 do
            x = np.device_put(x * 2 + 1, "cuda:" .. k % 4)
            if k % 3 == 0 then x = np.device_put(x % 1000003, "cpu:0") end
        end
        print(x:sum(), x[99999])]] }), output({}, { "-e", [[
        local x, sum = np.arange(100000), 0
        for k = 1, 12 do
            x = x * 2 + 1
            if k % 3 == 0 then x = x % 1000003 end
        end
        print(x:sum(), x[99999])]] }))
end)

-- ---- Failures -------------------------------------------------------------------------------------------------------

check.test("memory that is short is collected, waited for, or one error", function()
    local limited = { NEAP_FAKE_MEMORY = 40 * 2 ^ 20 }
    check.equal(output(limited, { "--gpu", "-e", [[
        local x = np.ones({2^20})
        for k = 1, 60 do x = (x + k):wait() end   -- 4 or 8 MB each, which Lua drops
        print(x[0])
        local ok, text = pcall(function() return np.ones({2^25}):wait() end)
        print(ok, (text:match "out of memory on cuda:0"))
        print((x * 2)[5])]] }), "1831.0\nfalse\tout of memory on cuda:0\n3662.0\n")
end)

check.test("any call of the driver may fail", function()
    local code = [[
        local ok, text = pcall(function()
            local x = np.device_put(np.arange(40000), "cuda:0")
            local y = np.device_put(x * 2, "cuda:1")
            return (y + 1):sum():item()
        end)
        print(ok and text or "FAILED " .. tostring(text))]]
    local told, runs = 0, 0
    for _, how in ipairs { "", ":700" } do
        for n = 1, 70, os.getenv "NEAP_TEST_BUILD" == "release" and 3 or 13 do
            local status, out, err = run({ NEAP_FAKE_FAIL = n .. how }, { "-e", code })
            check.equal({ status, err }, { 0, "" }, n .. how .. ": " .. out)
            check.ok(out == "1600000000\n" or out:find "^FAILED .+", out)
            runs, told = runs + 1, told + (out:find "^FAILED" and 1 or 0)
        end
    end
    check.ok(told >= runs / 6, told .. " of " .. runs)
end)

check.test("a lost device is told with the line, and the CPU works on", function()
    for _, item in ipairs { 3, 9, 30 } do
        local status, out, err = run({ NEAP_FAKE_BREAK = item }, { "-e", [[
            local x = np.device_put(np.ones(1000), "cuda:0")
            local ok, text = pcall(function()
                for k = 1, 40 do x = (x * 1.5):wait() end
            end)
            print(ok, text)
            print((np.ones(3) + 1):sum())]] })
        check.equal({ status, err }, { 0, "" })
        local lost = "cuda:0 is lost: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS"
        check.ok(out:find(lost, 1, true), out)
        check.ok(out:find "^false\t.*command line%):%d" and out:find "\n6%.0\n$", out)
    end
end)

-- ---- Ends and interrupts --------------------------------------------------------------------------------------------

check.test("a script may end with work under way", function()
    for _, last in ipairs { "", "os.exit(0)", "np.device_put(np.ones(9), 'cuda:1')" } do
        output({ NEAP_FAKE_DELAY = 3000 }, { "-e", [[
            local x = np.device_put(np.ones(300000), "cuda:0")
            for k = 1, 5 do x = x:sin() + 1 end
            np.force(x)]] .. "\n" .. last })
    end
    check.equal(output({ NEAP_FAKE_DELAY = 3000 }, { "--gpu", "-e", "print(np.ones(5) + 1)" }), "[2. 2. 2. 2. 2.]\n")
end)

check.test("Ctrl-C stops a wait for a GPU, and the prompt works on", function()
    local terminal = process.terminal({ "--gpu" }, { LD_LIBRARY_PATH = fake, NEAP_FAKE_DELAY = "20000" })
    terminal:expect "> "
    terminal:send "x = np.ones(10); while true do x = (x + 1):wait() io.write('.') end\n"
    terminal:expect "..."
    terminal:send "\3"
    terminal:expect "nterrupt"
    terminal:send "print('sum', (np.ones(3) * 2):sum())\n"
    terminal:expect "sum\t6"
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

process.cleanup()
check.done()
