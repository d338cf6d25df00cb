--- refusals_test.lua (a release build only test: the sanitizers have an allocator of their own): programs for which the
-- system has no threads, or no memory at some moment. Each gives its right result, or an error and a status that is not
-- 0; none crashes, hangs, or ends without a word.
--
-- Threads are refused from the first, the second, … on. Of the requests for memory, one is refused, or twenty in a row:
-- here some of them, drawn at random, early ones more often; with NEAP_TEST_LONG=1 each one (of LLVM's, which are
-- many, each tenth). NEAP_TEST_SEED draws others, NEAP_TEST_REFUSALS of each program, or of NEAP_TEST_PROGRAM.
local ffi = require "ffi"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local LIMIT, BURST, SOON = 60, 20, 0.5
local long = (tonumber(os.getenv("NEAP_TEST_LONG")) or 0) > 0
local wanted = tonumber(os.getenv("NEAP_TEST_REFUSALS")) or 3
local seed = tonumber(os.getenv("NEAP_TEST_SEED")) or 1
local only = os.getenv("NEAP_TEST_PROGRAM")
local injector = process.neap:gsub("[^/]*$", "") .. "tests/oom/plugin/neap_refuse.so"
local plugin = io.open(injector)
if not plugin then
    check.skip("programs that are refused things", injector .. " is not built; tools/test builds it")
    check.done()
end
plugin:close()
local folder = os.tmpname()
os.remove(folder)
assert(os.execute(("mkdir '%s'"):format(folder)) == 0)

-- ---- Programs -------------------------------------------------------------------------------------------------------
-- Each prints something, and last of all.

local csv = process.file("a,b\n1,2.5\n3,4.5\n")

local connection = process.file(('{"transport": "ipc", "ip": "%s/channel", "key": "abcdef", "shell_port": 1, '
    .. '"control_port": 2, "stdin_port": 3, "iopub_port": 4, "hb_port": 5}'):format(folder))

local native = [[
local f = np.jit(function(x) return (np.exp(x) * 0.5 + 1) / (x + 2) - x * 0.25 end)
print(f(np.ones{1000}):sum())]]

--- options: of the command line; input: on stdin; library: whose requests are refused, if not the executable's; lives:
-- it does not end by itself, and has its right result if it is there after a moment.
local programs = {
    { name = "start", code = "print(1)" },
    { name = "jit", code = [[
local step = np.jit(function(w, x) return w - 0.1 * np.grad(function(w) return (x:matmul(w) ^ 2):sum() end)(w) end)
local w = np.ones{4, 1}
for _ = 1, 3 do w = step(w, np.ones{8, 4}) end
print(w:sum())]] },
    { name = "workers", code = "print(np.arange(1e6):sum()) print(np.sort(-np.arange(1e5))[0])" },
    { name = "products",
      code = "print(np.ones{300, 300}:matmul(np.ones{300, 300}):sum()) print(np.linalg.det(np.eye(3)))" },
    { name = "csv", code = ("local t = np.io.read_csv(%q) print(t.b:sum()) print(t)"):format(csv) },
    { name = "figure", code = "np.plot.line(np.arange(10)) print(#np.plot.figure():svg() > 100)" },
    { name = "mesh", options = { "--devices", "4" }, code = [[
local mesh = np.mesh({4}, {"i"})
local f = np.shard_map(function(x) return np.psum(x * 2, "i") end, {mesh=mesh, in_specs=np.P("i"), out_specs=np.P()})
print(f(np.arange(8)))]] },
    { name = "native", options = { "--tier", "native" }, code = native },
    { name = "loop", options = { "--tier", "native" }, code = [[
local table = np.ones{9, 16}
local f = np.jit(function(a, n) return np.scan(function(c, x)
    local e = np.exp(c[1] - c[1]:max())
    local row = np.cond(x:gt(2), function(v) return v:at{0}:set(np.arange(1)[0] * 2.5) end, np.tanh, e / e:sum())
    return { row + np.take(table, c[2], { axis = 0 }), c[2] + 1 }, row:sum()
end, { a, n }, np.arange(5)) end)
local last, ys = f(np.arange(16) * 0.1, np.array(1, {dtype="i32"}))
print(last[1]:sum(), last[2], ys)]] },
    { name = "generator", options = { "--tier", "native" }, code = native, library = "neap_native" },
    { name = "callback", code = [[
local y = np.callback(function(x) return x * 2 end, { result = np.ones{3} })(np.ones{3})
print("before") print(y) io.write("last\n")]] },
    { name = "file", code = ([[
local path = %q .. "/" .. tostring({}):match "0x(%%x+)" .. ".npy"
np.io.save(path, np.arange(5))
print(np.io.load(path))]]):format(folder) },
    { name = "prompt", options = { "-i" }, input = "x = np.arange(4)\nx + 1\nprint(x:sum())\nprint('alive')\n" },
    { name = "timeline", options = { "--trace", folder .. "/trace.json" }, code = "print((np.ones{100} * 2):sum())" },
    { name = "kernel", options = { "kernel", "run", connection }, lives = true },
}

-- ---- Runs -----------------------------------------------------------------------------------------------------------

local count_path = process.file(("\0"):rep(16))

--- Runs a program under refusals; returns status, stdout, stderr, and how many requests and threads it asked for.
local function run(program, refusals)
    local file = assert(io.open(count_path, "r+b"))
    file:write(("\0"):rep(16))
    file:close()
    local words = { "env", "XDG_CACHE_HOME=/dev/null/none", "HOME=" .. folder, "REFUSE_COUNT=" .. count_path,
                    "LD_PRELOAD=" .. injector }
    if program.library then words[#words + 1] = "REFUSE_IN=" .. program.library end
    for name, value in pairs(refusals) do words[#words + 1] = name .. "=" .. value end
    local limit = tostring(program.lives and SOON or LIMIT)
    for _, word in ipairs { "timeout", "-k", "5", limit, process.neap } do words[#words + 1] = word end
    for _, word in ipairs(program.options or {}) do words[#words + 1] = word end
    if program.code then
        words[#words + 1] = "-e"
        words[#words + 1] = program.code
    end
    local status, out, err = process.run(words, program.input)
    local counts = ffi.cast("const int64_t *", ffi.cast("const char *", process.read(count_path)))
    return status, out, err, tonumber(counts[0]), tonumber(counts[1])
end

--- What is wrong about how a program has ended; nil: nothing.
local function fault(program, expected, status, out, err)
    if status == 124 and program.lives then return nil end
    if status >= 124 then return status == 124 and "hangs" or "is ended by signal " .. status - 128 end
    if status == 0 and out == expected then return nil end
    if err == "" and not out:find("<error: [^\n]*memory") then return "ends without a word" end
    if status == 0 and program.name ~= "prompt" then return "has lost output, with status 0" end
end

local function check_run(program, expected, refusals, what)
    local status, out, err = run(program, refusals)
    local problem = fault(program, expected, status, out, err)
    if problem then
        error(("%s, %s: it %s (status %d)\nstdout: %s\nstderr: %s")
              :format(program.name, what, problem, status, out, err), 0)
    end
    return status, out, err
end

local function random()
    seed = (seed * 1103515245 + 12345) % 2 ^ 31
    return seed / 2 ^ 31
end

--- Which requests of so many are refused.
local function places(n)
    local list = {}
    if long then
        for k = 1, n, n > 2000 and 10 or 1 do list[#list + 1] = k end
    else
        for k = 1, wanted do list[k] = math.ceil(k % 2 == 0 and random() * n or n ^ random()) end
    end
    return list
end

for _, program in ipairs(programs) do
    local status, expected, err, requests, threads = 0, "", "", 0, 0
    if not only or only == program.name then status, expected, err, requests, threads = run(program, {}) end
    if err:find "^kernel: " then
        check.skip("a kernel that is refused things", err)
    elseif requests > 0 then
        check.test(program.name .. " runs", function()
            check.equal(status, program.lives and 124 or 0)
            check.equal(err, "")
            assert((program.lives or #expected > 0) and requests > 20 and threads > 0)
        end)

        check.test(program.name .. " without threads", function()
            for most = 0, threads do
                local given, out = check_run(program, expected, { REFUSE_THREADS = most }, most .. " threads")
                if not program.lives then check.equal(given, 0) end -- threads of libraries are there or not
                check.equal(out, expected)
            end
        end)

        for _, many in ipairs { 1, BURST } do
            check.test(("%s, %d requests without memory"):format(program.name, many), function()
                for _, at in ipairs(places(requests)) do
                    check_run(program, expected, { REFUSE_AT = at, REFUSE_MANY = many },
                              ("request %d of %d, %d in all"):format(at, requests, many))
                end
            end)
        end
    end
end

os.execute(("rm -r '%s'"):format(folder))
process.cleanup()
check.done()
