--- loops_test.lua (not under tsan, starts first): loops on GPUs of the fake driver: the CPU's bits, where they run and
-- why not there, what crosses to the host, how far they run ahead, calls of the driver that fail, Ctrl-C.
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

if not output({}, { "doctor" }):find "\ncode for GPUs +LLVM [%d.]+\n" then
    print "0 passed, 0 failed, 1 skipped: loops, without a generator of code for GPUs"
    return
end

--- For scripts: `driver` steers it, counts() tells what it has done.
local counting = [[
    local ffi = require "ffi"
    ffi.cdef "typedef struct { uint64_t calls, enqueued, kernels, hosts, copies, peers, records, waits, synchronized, \
        contexts, streams, events, modules, blocks, pins, bytes, addresses, loaded, libraries, halves, graphs, rows, \
        changes, last[8]; } fake_counts; \
        extern const struct { void (*count)(fake_counts *); int64_t (*fail)(int64_t, int); \
        void (*break_item)(int, int64_t, int); void (*hold)(int, bool); } fake_driver;"
    np.device "cuda"
    local driver = ffi.load("libcuda.so.1").fake_driver
    local function counts()
        local now = ffi.new "fake_counts"
        driver.count(now)
        return { kernels = tonumber(now.kernels), copies = tonumber(now.copies), hosts = tonumber(now.hosts),
                 addresses = tonumber(now.addresses), enqueued = tonumber(now.enqueued),
                 calls = tonumber(now.calls), rows = tonumber(now.rows), changes = tonumber(now.changes) }
    end
]]

-- ---- Bits -----------------------------------------------------------------------------------------------------------

local expected = output({}, { "tests/cuda/loops.lua" })

check.test("loops run on the device, with the CPU's bits", function()
    check.ok(select(2, expected:gsub("\n", "")) >= 40, expected)
    check.equal(output({}, { "--gpu", "tests/cuda/loops.lua", "told" }), expected)
end)

check.test("one op after the other, and with streams that are late", function()
    check.equal(output({}, { "--gpu", "--scheduler", "naive", "tests/cuda/loops.lua" }), expected)
    check.equal(output({ NEAP_FAKE_DELAY = 20 }, { "--gpu", "tests/cuda/loops.lua" }), expected)
end)

check.test("what a library multiplies is near, what none does is done on the host, and told", function()
    local told = select(3, run({ NEAP_FAKE_HOST = 0 }, { "--gpu", "tests/cuda/loops.lua", "told" }))
    for line in told:gmatch "[^\n]+" do
        check.ok(line:find("(in its body, matmul2: libcublas.so.13 is not installed)", 1, true), line)
    end
    check.ok(told:find("products: cpu:0", 1, true), told)
    check.equal(output({ NEAP_FAKE_HOST = 0 }, { "--gpu", "tests/cuda/loops.lua" }), expected)
    local libraries = { NEAP_FAKE_HOST = 0, NEAP_CUDA_LIBRARIES = fake .. "/libraries" }
    check.equal(select(3, run(libraries, { "--gpu", "tests/cuda/loops.lua", "told" })), "")
    check.equal(output(libraries, { "--gpu", "-e", counting .. [[
        local key = np.random.key(2)
        local x, w = np.random.normal(key, {50, 16}), np.random.normal(np.random.fold_in(key, 1), {16, 16}) * 0.2
        local function train(x, w)
            local loss = function(w) return ((np.tanh(x:matmul(w)) - x) ^ 2):mean() end
            local both = np.value_and_grad(loss)
            return np.scan(function(w) local l, g = both(w) return w - 0.1 * g, l end, w, nil, {length = 20})
        end
        local before = counts()
        local a, losses = train(x, w)
        np.wait(a, losses)
        print(counts().addresses - before.addresses, counts().kernels - before.kernels >= 60)
        local b, others = np.default_device("cpu:0", function()
            return train(np.device_put(x, "cpu:0"), np.device_put(w, "cpu:0"))
        end)
        print(np.abs(np.device_put(a, "cpu:0") - b):max():item() < 1e-5,
              np.abs(np.device_put(losses, "cpu:0") - others):max():item() < 1e-5)]] }), "0\ttrue\ntrue\ttrue\n")
end)

check.test("on a mesh each device has a loop of its own; with exchanges there is one, on the host", function()
    local code = [[
        local mesh = np.mesh({2}, {"i"})
        local x = np.arange(24000):reshape(4, 6000) / 7000
        local function each(c, x) return np.scan(function(c, r) c = (c + r):sin() return c, c:sum() end, c, x) end
        local f = np.jit(np.shard_map(each, {mesh = mesh, in_specs = {np.P("i"), np.P(nil, "i")},
                                             out_specs = {np.P("i"), np.P()}, check_rep = false}))
        print((f(x[0], x)))
        local function all(c, x)
            return (np.scan(function(c, r) return c + np.psum(r:sum(), "i"), c end, c, x))
        end
        print(np.jit(np.shard_map(all, {mesh = mesh, in_specs = {np.P("i"), np.P(nil, "i")},
                                        out_specs = np.P("i")}))(x[0], x))]]
    check.equal(output({}, { "--gpu", "--devices", "2", "-e", code }), output({}, { "--devices", "2", "-e", code }))
end)

-- ---- Where, and why not there ---------------------------------------------------------------------------------------

check.test("what keeps a loop on the host is told", function()
    local out = output({}, { "--gpu", "-e", [[
        local x = np.ones{40, 3000}
        local function why(f, ...)
            local g = np.jit(f)
            g(...)
            print((tostring(np.explain(g)):match "cpu:0 %(([^\n]-)%)  " or "on the device"))
        end
        local function scan(body) return function(x) return np.scan(body, x[0], x) end end
        why(scan(function(c, r) return c + r, r end), x)
        local function goes_on(x) return x:sum():lt(200000) end
        local function grow(x) return np.while_loop(goes_on, function(x) return x + 1 end, x) end
        why(grow, x)
        why(grow, x[0])
        why(scan(function(c, r) return grow(c) + r, r end), x)
        why(scan(function(c, r)
            np.debug.print("{}", r:sum())
            return np.while_loop(goes_on, function(c) return c + r end, c), r
        end), x)
        why(scan(function(c, r) np.debug.print("{}", r:sum()) return c, r end), x)
        why(scan(function(c, r)
            local function tell(c) np.debug.print("{}", c:sum()) return c end
            return np.cond(r[0]:gt(5), tell, function(c) return c end, c), r
        end), x)
        why(function(x) return np.scan(function(c, r) return c + r, c end, x[0][0], x[":,0"]) end, np.ones{400, 2})
        why(function(x) return np.scan(function(c, r) return c + r, c end, x[0][0], x[":,0"]) end, x)]] })
    local lines = {}
    for line in out:gmatch "[^\n]+" do if not line:find "^%d" then lines[#lines + 1] = line end end
    check.equal(lines, {
        "on the device",
        "on the device",
        "its turns do so little that the host is sooner done with them",
        "on the device",
        "its functions have effects",
        "its functions have effects",
        "its functions have effects",
        "its turns do so little that the host is sooner done with them",
        "on the device",
    })
end)

check.test("what crosses to the host, and is computed there, does not depend on the turns", function()
    check.equal(output({}, { "--gpu", "-e", counting .. [[
        local x = np.random.normal(np.random.key(1), {40, 3000}):wait()
        local function turns(n)
            local before = counts()
            local c, ys = np.scan(function(c, r) return (c + r):tanh(), (c * r):sum() end, x[0], x[{ {0, n} }])
            np.wait(c, ys)
            local after = counts()
            return after.kernels - before.kernels, after.copies - before.copies, after.hosts - before.hosts,
                   after.addresses - before.addresses
        end
        turns(10)
        local few, little, hosts, none = turns(10)
        local many, same, more, zero = turns(40)
        print(many - few >= 30, same - little, more - hosts, none, zero)]] }), "true\t0\t0\t0\t0\n")
end)

check.test("a long loop has a bounded number of launches under way", function()
    check.equal(output({}, { "--gpu", "-e", counting .. [[
        local x = np.ones{3000}:wait()
        local before = counts().enqueued
        driver.hold(0, true)
        local y = np.fori_loop(0, 3000, function(i, c) return c + i end, x)
        local most, last = 0
        repeat
            last = most
            os.execute "sleep 0.3"
            most = counts().enqueued - before
        until most == last and most > 900
        print(most < 1100)
        driver.hold(0, false)
        print(y[7]:item(), counts().enqueued - before > 3000)]] }), "true\n4498501\ttrue\n")
end)

-- ---- Rows -----------------------------------------------------------------------------------------------------------

--- For scripts: show(most, f) prints how many rows f enqueues, whether the driver is told again of no more than so many
-- of their steps, and whether there are fewer calls of it than launches.
local showing = counting .. [[
    local function show(most, f, ...)
        local before, at = counts(), {}
        np.wait(f(...))
        local after = counts()
        for name, n in pairs(after) do at[name] = n - before[name] end
        io.write(at.rows, " ", tostring(at.changes <= most), " ", tostring(at.calls < at.kernels / 4), "\n")
    end
]]

check.test("turns are enqueued as rows, of which the driver is told what moves", function()
    check.equal(output({}, { "--gpu", "-e", showing .. [[
        local x, xs = np.ones{3000}:wait(), np.random.normal(np.random.key(1), {40, 3000}):wait()
        local fori = np.jit(function(x) return np.fori_loop(0, 1000, function(i, c) return c + i end, x) end)
        show(0, fori, x)
        show(64, fori, x) -- all steps of one row, if arrays lie elsewhere now
        local function turn(c, r) -- of 11 steps, of which one reads a slice
            for k = 1, 5 do c = np.cumsum(np.tanh(c)) end
            return c / (1 + np.abs(c)) + r, nil
        end
        local long = np.jit(function(c, xs) return (np.scan(turn, c, xs)) end)
        show(36, long, x, xs)
        show(80, long, x, xs)
        show(0, np.jit(function(c, xs) return (np.scan(function(c, r) return c + r, nil end, c, xs)) end), x, xs)]] }),
        "31 true true\n31 true true\n10 true true\n10 true true\n0 true false\n")
end)

check.test("two runs of a loop at once have rows of their own", function()
    check.equal(output({ NEAP_FAKE_DELAY = 50 }, { "--gpu", "-e", showing .. [[
        local f = np.jit(function(x) return np.fori_loop(0, 300, function(i, c) return c * 0.5 + i end, x) end)
        local x, all, right = np.ones{3000}:wait(), {}, true
        for round = 1, 3 do
            for k = 1, 8 do all[k] = f(x * k) end
            for k = 1, 8 do right = right and all[k][5]:item() == f(x * k)[2999]:item() end
        end
        print(right, all[3][0])]] }), "true\t596.0\n")
end)

-- ---- Failures -------------------------------------------------------------------------------------------------------

local failing = [[
    local ok, text = pcall(function()
        local x = np.device_put(np.arange(30000):reshape(10, 3000), "cuda:0")
        local c, ys = np.scan(function(c, r)
            return c + np.cumsum(r), (c * 2):sum()
        end, x[0], x)
        return c[9]:item() + ys:sum():item()
    end)
    print(ok and text or "FAILED " .. tostring(text))
    print((np.ones(3) + 1):sum())]]

local counted = [[
    local x = np.device_put(np.arange(30000):reshape(10, 3000), "cuda:0")
    ]] .. counting .. [[
    local before = counts().calls
    local c, ys = np.scan(function(c, r)
        return c + np.cumsum(r), (c * 2):sum()
    end, x[0], x)
    np.wait(c, ys)
    print(before, counts().calls)]]

--- Which calls of the driver fail: many, or in slow builds the first, and some of those of the loop.
local function calls_that_fail()
    local calls = { 1 }
    if os.getenv "NEAP_TEST_BUILD" == "release" then
        for n = 8, 160, 7 do calls[#calls + 1] = n end
        return calls
    end
    local before, after = output({}, { "-e", counted }):match "^(%d+)\t(%d+)\n$"
    for part = 0.2, 0.9, 0.15 do calls[#calls + 1] = math.floor(before + part * (after - before)) end
    return calls
end

check.test("any call of the driver may fail while a loop is enqueued", function()
    local right, told, inside, runs = output({}, { "-e", (failing:gsub('"cuda:0"', '"cpu:0"')) }), 0, 0, 0
    for _, how in ipairs { "", ":700" } do
        for _, n in ipairs(calls_that_fail()) do
            local status, out, err = run({ NEAP_FAKE_FAIL = n .. how }, { "-e", failing })
            check.equal({ status, err }, { 0, "" }, n .. how .. ": " .. out)
            check.ok(out == right or out:find "^FAILED .+\n6%.0\n$", out)
            runs, told = runs + 1, told + (out:find "^FAILED" and 1 or 0)
            inside = inside + (out:find "^FAILED [^\n]*:%d+: [^\n]*:%d+: [%w ]+: " and 1 or 0)
        end
    end
    check.ok(told >= runs / 4, told .. " of " .. runs)
    check.ok(inside > 0, "no failure named a line of the body")
end)

check.test("a device that is lost in a loop is told once, and the CPU works on", function()
    for _, item in ipairs { 9, 20, 33 } do
        local status, out, err = run({ NEAP_FAKE_BREAK = item }, { "-e", failing })
        check.equal({ status, err }, { 0, "" })
        check.ok(out:find "^FAILED [^\n]*%d: scan: cuda:0 is lost: [^\n]*\n6%.0\n$" or
                 out:find "^FAILED [^\n]*cuda:0 is lost: [^\n]*\n6%.0\n$", out)
    end
end)

check.test("Ctrl-C ends a loop between two turns, and the prompt works on", function()
    local terminal = process.terminal({ "--gpu" }, { LD_LIBRARY_PATH = fake, NEAP_FAKE_DELAY = "100" })
    terminal:expect "> "
    terminal:send "x = np.fori_loop(0, 10000000, function(i, c) return c + i end, np.ones{3000}); print(x[0])\n"
    terminal:expect "\r\n"
    process.sleep(0.3)
    terminal:send "\3"
    terminal:expect "nterrupt"
    terminal:send "print('sum', (np.ones(3) * 2):sum())\n"
    terminal:expect "sum\t6"
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

process.cleanup()
check.done()
