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

--- A new folder, with links to files of the build.
local function folder_with(...)
    local folder = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
    for _, name in ipairs { ... } do
        os.execute(("ln -s %s/%s %s/"):format(process.neap:match "^(/.*)/" or "$PWD/" .. process.neap:match "^(.*)/",
                                              name, folder))
    end
    return folder
end

--- For scripts: seen() gives how many kernels have been done, how often a launch without code has asked for an address,
-- how many modules were loaded, and what graphs did.
local counting = [[
    local ffi = require "ffi"
    ffi.cdef "typedef struct { uint64_t calls, enqueued, kernels, hosts, copies, peers, records, waits, synchronized, \
        contexts, streams, events, modules, blocks, pins, bytes, addresses, loaded, libraries, halves, graphs, rows, \
        changes, last[8]; } fake_counts; \
        extern const struct { void (*count)(fake_counts *); } fake_driver;"
    local function seen()
        np.device "cuda"
        local counts = ffi.new "fake_counts"
        ffi.load("libcuda.so.1").fake_driver.count(counts)
        return tonumber(counts.kernels), tonumber(counts.addresses), tonumber(counts.loaded), tonumber(counts.rows),
               tonumber(counts.calls), tonumber(counts.changes)
    end
]]

local has_code = output({}, { "doctor" }):find "\ncode for GPUs +LLVM [%d.]+\n"
if not has_code then print "0 passed, 0 failed, 1 skipped: kernels, without a generator of code for GPUs" end

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
    check.ok(output({}, { "doctor" }):find "\nGPUs +cuda:0 Fake GPU 0, CUDA 13%.0, 1%.0 GiB, 1%.0 free; cuda:1 ")
    check.ok(output(none, { "doctor" }):find "\nGPUs +none: the NVIDIA driver finds no GPU\n")
    local status, out, err = run(none, { "--gpu", "-e", "print(1)" })
    check.ok(status ~= 0)
    check.equal({ out, err },
                { "", "neap: cannot compute on devices of the kind 'cuda': the NVIDIA driver finds no GPU\n" })
    status, out, err = run(none, { "-e", "np.device_put(np.ones(2), 'cuda:0')" })
    check.equal({ status, out }, { 1, "" })
    check.ok(err:find("there is no device 'cuda:0' (devices: cpu:0): the NVIDIA driver finds no GPU", 1, true), err)
    local folder = folder_with "neap_cuda.so"
    os.execute(("mv %s/neap_cuda.so %s/libcuda.so.1"):format(folder, folder)) -- of the driver's name, but none
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

check.test("the driver compiles code of several entries once", function()
    if not has_code then return end
    local out = output({}, { "--gpu", "-e", counting .. [[
        local function loads(f)
            local _, _, before = seen()
            f():wait()
            return (select(3, seen())) - before
        end
        local x = np.random.uniform(np.random.key(1), { 300000 }):wait()
        print(loads(function() return x:sum() end), loads(function() return x:cumsum() end),
              loads(function() return np.sort(x) end), loads(function() return x:sum() end))
        print((tostring(np.explain(x:sum())):match "gpu, %d launches"))]] })
    check.equal(out, "1\t1\t1\t0\ngpu, 2 launches\n")
end)

check.test("what has no code for the GPU is computed on the host, and told", function()
    local expected = output({}, { "-e", training })
    check.equal(output({ NEAP_FAKE_HOST = 0 }, { "--gpu", "-e", training }), expected)
    local out = output({ NEAP_FAKE_HOST = 0 }, { "--gpu", "-e", "print(np.explain(np.linalg.det(np.eye(9))))" })
    check.ok(out:find("it is not written for GPUs", 1, true), out)
end)

check.test("without a generator all is computed on the host, and told", function()
    local folder = folder_with "neap_cuda.so"
    local none = { NEAP_PLUGIN_PATH = folder, XDG_CACHE_HOME = folder }
    local status, out, err = run(none, { "--gpu", "-e", training })
    check.equal({ status, out }, { 0, output({}, { "-e", training }) }, err)
    check.ok(err:find("^neap: warning: the CPU computes in place of cuda:0, over copies: code is there from earlier "
                      .. "runs alone: no plugin 'native': [^\n]+\n$"), err)
    out = select(2, run(none, { "--gpu", "-e", "print(np.explain(np.ones(1000) * 3 + 1))" }))
    os.execute("rm -r " .. folder)
    check.ok(out:find("no code for GPUs can be made: no plugin 'native'", 1, true), out)
end)

if has_code then
    check.test("kernels run as launches of their code, and not on the host", function()
        check.equal(output({}, { "--gpu", "-e", counting .. [[
            local x = np.arange(3000):astype "float32":reshape(30, 100) / 7
            local function all()
                local kernels, addresses, loaded = seen()
                local y = (x:sin() * 2 + x:transpose():reshape(30, 100)):wait()          -- a map
                local m = (y:mean{axis=1} + y:max{axis=0}:sum()):wait()                 -- reductions
                local s = np.softmax(y, {axis=-1}):wait()                               -- a row kernel
                local long = (np.arange(100000) % 7):sum():wait()                       -- in two launches
                local now = { seen() }
                print(now[1] - kernels >= 6, now[2] - addresses, now[3] > loaded)
                return s:sum():item() + m:sum():item() + long:item()
            end
            local first = all()
            print(first == all())
            print((tostring(np.explain(np.softmax(x, {axis=-1}))):match "gpu, cuda:0"))]] }),
            "true\t0\ttrue\ntrue\t0\tfalse\ntrue\ngpu, cuda:0\n")
    end)

    check.test("calls run as launches of code of their own, with the CPU's bits", function()
        local code = [[
            local hash = require "tests.lib.programs".hash
            local key = np.random.key(3)
            local x, at = np.random.normal(key, {3, 5000}), np.random.randint(key, {4000}, 0, 300)
            local rows = x:transpose()[":4000"]
            local results = {
                x, np.random.gamma(key, 0.7, {50}), at, x:cumsum{axis=1}, x:cumprod{axis=0}, x:cummax{axis=1},
                np.sort(x, {axis=1}), np.argsort(x, {axis=0}), np.sort(np.arange(9000) % 77),
                np.zeros{300}:at{at}:add(rows[":,0"]), np.zeros{300, 3}:at{at}:set(rows),
                np.searchsorted(np.sort(x[0]), x[1]),
            }
            for _, y in ipairs(results) do print(tostring(y.dtype), hash(y)) end]]
        local watched = counting .. "local _, addresses = seen()\n" .. code .. [[
            local kernels, later = seen()
            io.stderr:write(tostring(kernels > 20), " ", later - addresses, " ",
                            tostring(np.explain(np.sort(x))):match "call, code for cuda", "\n")]]
        local status, out, err = run({}, { "--gpu", "-e", watched })
        check.equal({ status, err }, { 0, "true 0 call, code for cuda\n" })
        check.equal(out, output({}, { "-e", code }))
    end)

    check.test("a program of many small steps is one call of the driver from its third run on", function()
        local code = counting .. [[
            local x, w = np.random.normal(np.random.key(9), {256}), {}
            for k = 1, 12 do w[k] = np.random.normal(np.random.key(k), {256}) end
            np.wait_all()
            local f = np.jit(function(x, w)
                for k = 1, 12 do x = np.cumsum(np.softmax(np.tanh(x * w[k])) - x) end
                return x
            end)
            for run = 1, 8 do
                local kernels, _, _, rows, calls = seen()
                local y = f(x, w):wait()
                local after, _, _, more, called = seen()
                if run > 5 then print(after - kernels, more - rows, called - calls < 12) end
                if run % 4 == 0 then print(y:sum(), y[17]) end
            end]]
        local out = output({}, { "--gpu", "-e", code })
        local lines = out:gsub("24\t1\ttrue\n", "")
        check.equal(select(2, out:gsub("24\t1\ttrue\n", "")), 3)
        check.equal(lines, (output({}, { "-e", code }):gsub("0\t0\ttrue\n", "")))
    end)

    check.test("programs in loops that do not wait are graphs, of which few steps change", function()
        local code = counting .. [[
            local function follow(name, turn, ...)
                local values = { ... }
                for loop = 1, 4 do
                    local _, _, _, rows, _, changes = seen()
                    for _ = 1, 20 do values = { turn(unpack(values)) } end
                    np.wait_all()
                    local _, _, _, more, _, changed = seen()
                    if loop == 4 then print(name, more - rows, changed - changes <= 3 * 20) end
                end
                print(unpack(values))
            end
            local chain = np.jit(function(x, w) -- what passes lies where it lay, but for the input and the result
                local y = x
                for _ = 1, 6 do y = np.cumsum(np.tanh(y * w) - np.softmax(y)) * 0.1 end
                return y / np.abs(y):max(), w
            end)
            follow("chain", chain, np.arange(100) * 0.01, np.ones{100} * 0.5)
            local update = np.jit(function(p, m, q, n) -- arrays that are given stay in place, though they are small
                local function one(a, b) b = b * 0.9 + a * 0.1 return a - np.cumsum(b) * 1e-3, b end
                p, m = one(p, m)
                q, n = one(q, n)
                return p, m, q, n
            end, {donate = {1, 2, 3, 4}})
            follow("update", update, np.ones{100}, np.zeros{100}, np.ones{101}, np.zeros{101})]]
        local on_gpu, on_cpu = output({}, { "--gpu", "-e", code }), output({}, { "-e", code })
        check.equal(on_gpu, (on_cpu:gsub("(%a+)\t0\ttrue", "%1\t20\ttrue")))
    end)

    check.test("what passes between the steps of a row counts as memory under way", function()
        check.equal(output({}, { "--gpu", "-e", [[
            local ffi = require "ffi"
            ffi.cdef "extern const struct { void (*count)(void *); int64_t (*fail)(int64_t, int); \
                      void (*break_item)(int, int64_t, int); void (*hold)(int, bool); } fake_driver;"
            local f = np.jit(function(x) for _ = 1, 6 do x = np.cumsum(np.tanh(x)) * 0.1 end return x end)
            local x, C = np.ones{1000}:wait(), require "neap.core".C
            f(x):wait()
            local driver = ffi.load("libcuda.so.1").fake_driver
            driver.hold(0, true)
            local y = f(x)
            print(tonumber(C.neap_ahead_bytes()) >= 6 * 4000)
            driver.hold(0, false)
            y:wait()]] }), "true\n")
    end)

    check.test("steps of a program that does not wait share ops, and its inputs' failures stay apart", function()
        local _, out, err = run({}, { "--gpu", "-e", [[
            local function chain(x) for _ = 1, 4 do x = np.cumsum(np.tanh(x)) - x end return x end
            local f = np.jit(function(a, b) return chain(a), chain(b) end)
            local first, second = np.ones{100}:wait(), np.ones{101}:wait() -- what is as long is one kernel
            local fails = np.callback(function() error "no" end, {result = np.zeros{100}})
            for _ = 1, 3 do np.wait(f(first, second)) end
            local ops = np.debug.counters().pushed
            local x, y = first, second
            for _ = 1, 10 do x, y = f(x, y) end
            np.wait(x, y)
            print(np.debug.counters().pushed - ops < 16) -- of 10 times 16 steps
            local right = y
            x, y = fails(first), second
            for k = 1, 10 do x, y = f(x, y) end
            print(y:eq(right):all():item(), (pcall(x.wait, x)))]] })
        check.equal({ out, err }, { "true\ntrue\tfalse\n", "" })
    end)

    check.test("kernels of other sizes share their code", function()
        check.equal(output({}, { "--gpu", "-e", counting .. [[
            local f = np.jit(function(x) return x * 3 + 1 end)
            for n = 5, 9 do f(np.ones(n)):wait() end
            local _, _, before = seen()
            for n = 100, 120 do f(np.ones(n)):wait() end
            local _, _, after = seen()
            print(after - before)]] }), "0\n")
    end)

    check.test("texts are kept in files, and taken from there", function()
        local cache, folder = folder_with(), folder_with "neap_cuda.so"
        local code = counting .. [[
            local y = (np.ones(50) * 3 + 1):wait()
            local kernels, _, loaded = seen()
            print(kernels > 0 and loaded > 0, (tostring(np.explain(np.ones(50) * 3 + 1)):match "gpu, cuda:0"))]]
        local ptx = { NEAP_FAKE_PTX = 1, XDG_CACHE_HOME = cache } -- a driver that takes PTX, and does nothing with it
        check.equal(output(ptx, { "--gpu", "-e", code }), "true\tgpu, cuda:0\n")
        ptx.NEAP_PLUGIN_PATH = folder -- in which there is no generator
        check.equal(select(2, run(ptx, { "--gpu", "-e", code })), "true\tgpu, cuda:0\n")
        os.execute(("for file in %s/neap/native/*; do printf x >>$file; done"):format(cache)) -- what is damaged is none
        check.equal(select(2, run(ptx, { "--gpu", "-e", code })), "false\tnil\n")
        os.execute("rm -r " .. folder .. " " .. cache)
    end)

    local compiling = [[
        local ffi = require "ffi"
        ffi.cdef "uint64_t fake_compiled(void);"
        np.wait { np.ones(50) * 3 + 1, np.ones(50):sum() }
        print(tonumber(ffi.load("libcuda.so.1").fake_compiled()), os.getenv "CUDA_CACHE_PATH")]]

    check.test("what the driver compiles is kept beside the texts, for the device and the driver", function()
        local cache = folder_with()
        local ptx = { NEAP_FAKE_PTX = 1, NEAP_FAKE_KEEPS = 1, XDG_CACHE_HOME = cache }
        local at = "\t" .. cache .. "/neap/cuda\n"
        check.equal(output(ptx, { "--gpu", "-e", compiling }), "2" .. at)
        check.equal(output(ptx, { "--gpu", "-e", compiling }), "0" .. at)
        ptx.NEAP_FAKE_VERSION = 12080
        check.equal(output(ptx, { "--gpu", "-e", compiling }), "2" .. at)
        ptx.NEAP_FAKE_CAPABILITY = 80
        check.equal(output(ptx, { "--gpu", "-e", compiling }), "2" .. at)
        check.equal(output(ptx, { "--gpu", "-e", compiling }), "0" .. at)
        local _, mode = process.run { "stat", "-c", "%a", cache .. "/neap/cuda" }
        check.equal(mode, "700\n")
        os.execute("rm -r " .. cache)
    end)

    check.test("the driver keeps its own folder where ours is not safe, or another is named", function()
        local cache = folder_with()
        local ptx = { NEAP_FAKE_PTX = 1, XDG_CACHE_HOME = cache }
        os.execute(("mkdir -p %s/neap/cuda && chmod 777 %s/neap/cuda"):format(cache, cache)) -- others may write there
        check.equal(output(ptx, { "--gpu", "-e", compiling }), "2\tnil\n")
        os.execute(("rm -r %s/neap/cuda && touch %s/neap/cuda"):format(cache, cache)) -- a file
        check.equal(output(ptx, { "--gpu", "-e", compiling }), "2\tnil\n")
        os.execute(("rm %s/neap/cuda"):format(cache))
        ptx.CUDA_CACHE_PATH = "/somewhere"
        check.equal(output(ptx, { "--gpu", "-e", compiling }), "2\t/somewhere\n")
        check.ok(not io.open(cache .. "/neap/cuda"))
        os.execute("rm -r " .. cache)
    end)
end

check.test("the memory of a device is told", function()
    check.equal(output({ NEAP_FAKE_MEMORY = 2 ^ 26 }, { "--gpu", "-e", [[
        local before = np.memory()
        local x = np.ones({2 ^ 20}):wait()
        local after = np.memory()
        print(before.device, before.total, before.free - after.free >= 4 * 2 ^ 20, np.memory("cpu").free)
        print((tostring(after):match "cuda:0: [%d.]+ MiB free of 64.0 MiB"))]] }):gsub("[%d.]+ MiB free", "? free"),
        "cuda:0\t67108864\ttrue\tnil\ncuda:0: ? free of 64.0 MiB\n")
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
