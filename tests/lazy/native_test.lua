--- native_test.lua (not under tsan, starts first): native code gives what the VM gives, whenever a kernel changes to
-- it; processes end, fork and are interrupted as ever while some is made; np.explain and --trace tell of it. What each
-- row gives is in native_rows.c, kernels of all forms are in vm_kernels.c and vm_stages.c. Skipped without a
-- generator.
local ffi = require "ffi"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local np = require "neap"
local core = require "neap.core"

local text = ffi.new("char[256]")
local generator = ffi.string(core.C.neap_tier_generator(text, 256))
if not generator:find "^LLVM" then
    check.skip("native code", generator)
    check.done()
end

local release = os.getenv "NEAP_TEST_BUILD" == "release"
local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir -p " .. folder) == 0)

--- A command that keeps its code in a folder of the test's own; `cache` names it.
local function command(cache, arguments)
    return ("env XDG_CACHE_HOME='%s/%s' '%s' %s"):format(folder, cache, process.neap, arguments)
end

--- Runs a program with options; returns what it printed.
local function output(cache, options, source)
    local path = process.file(source)
    local pipe = io.popen(command(cache, options .. " " .. path .. " 2>&1"))
    local all = pipe:read "*a"
    pipe:close()
    return all
end

local function files(cache)
    local pipe = io.popen(("ls '%s/%s/neap/native' 2>/dev/null | wc -l"):format(folder, cache))
    local n = pipe:read "*n"
    pipe:close()
    return n
end

-- ---- Random programs and measured kernels ---------------------------------------------------------------------------

local function programs(cache, count, workers, settings)
    return io.popen(command(cache, ("--workers %d tests/lazy/identical_test.lua run 1 %d %s 2>&1"):format(
        workers, count, settings)))
end

local function compare(pipe, expected, what)
    local lines = {}
    for line in pipe:lines() do lines[#lines + 1] = line end
    pipe:close()
    for k = 1, math.max(#lines, #expected) do
        if lines[k] ~= expected[k] then
            error(("%s: %s, expected %s"):format(what, tostring(lines[k]), tostring(expected[k])))
        end
    end
end

local count = tonumber(os.getenv "NEAP_TEST_PROGRAMS" or (release and 10 or 3))
local expected, seed_lines = {}, programs("vm", count, 1, "tier=vm")
for line in seed_lines:lines() do expected[#expected + 1] = line end
seed_lines:close()

for _, isa in ipairs { "baseline", "avx2", "avx512" } do
    local name = "random programs as native code, " .. isa
    if not pcall(np.debug.kernels, { isa = isa }) then
        check.skip(name, "this CPU has no " .. isa)
    else
        check.test(name, function()
            check.ok(#expected > count, "programs ran")
            compare(programs(isa, count, 2, "tier=native,isa=" .. isa), expected, "native")
            check.ok(files(isa) > count, "code was made")
            -- What is warm comes soon, what is cold at any time.
            compare(programs(isa, count, 7, "hot=1,chunk=256,isa=" .. isa), expected, "after a while, from the cache")
            if isa == "baseline" then
                compare(programs("fresh", count, 7, "hot=1,chunk=256,isa=" .. isa), expected, "after a while")
            end
        end)
    end
end
np.debug.kernels {}

-- ---- Rows of slices -------------------------------------------------------------------------------------------------

local ROWS = [[
local np = require "neap"
local programs = require "tests.lib.programs"
np.debug.kernels { parallel_min = 1, task_min = 1, tier = "TIER" }
for _, width in ipairs { 129, 255, 258, 302, 515 } do
    for _, dtype in ipairs { "f32", "i32", "f64" } do
        local x = ((np.arange(5 * 11 * width) * 7919) % 1009):reshape(5, 11, width):astype(dtype)
        local row, column = x[1][1], x[1].T[1]
        local cross = x"1:, 1:-1, :-2" + x"1:, 1:-1, 2:" + x"1:, :-2, 1:-1" + x"1:, 2:, 1:-1" - x"1:, 1:-1, 1:-1" * 4
        local rows = x"::2, 1::3, 3:" * 2 + column"1::3":reshape(4, 1) * row"3:"
        print(width, dtype, programs.hash(cross), programs.hash(rows), programs.hash((x * 3 - 1) * x))
        if TELL then print(np.explain(cross)) end
    end
end
]]

check.test("rows that begin anywhere, and many of them in one task", function()
    local function hashes(workers, tier, tell)
        return output("rows", "--workers " .. workers, (ROWS:gsub("TIER", tier):gsub("TELL", tostring(tell or false))))
    end
    local rows = hashes(1, "vm")
    check.ok(rows:find "^129\tf32\t" and not rows:find "error", rows)
    for workers = 1, 3 do check.equal(hashes(workers, "native"), rows) end
    check.ok(hashes(1, "native", true):find "rows, native", "it was native code")
end)

-- ---- Changing -------------------------------------------------------------------------------------------------------

local HOT = [[
local np = require "neap"
np.debug.kernels { hot = 1, parallel_min = 1, task_min = 1 }
local f = np.jit(function(x, y) return np.softmax(np.tanh(x) * np.exp(y) + 1, { axis = 1 }) end)
local x, y = np.arange(20000):reshape(100, 200):astype "f32" / 20000, np.arange(200):astype "f32" / 300
]]

check.test("a kernel changes while it is being run", function()
    local said = output("change", "--workers 3", HOT .. [[
local function bits() return core_hash(f(x, y)) end
local programs = require "tests.lib.programs"
core_hash = programs.hash
local first, runs = bits(), 0
repeat
    assert(bits() == first)
    runs = runs + 1
until tostring(np.explain(f)):find "rows, native" or runs > 1e6
for _ = 1, 20 do assert(bits() == first) end
print(runs < 1e6, np.explain(f))
]])
    check.ok(said:find "^true" and not said:find "no native code", said)
end)

check.test("code of an earlier process is taken long before a kernel is hot", function()
    local runs = HOT:gsub("hot = 1,", "hot = 1e9,") .. [[
local began, changed = np.clock(), nil
repeat
    f(x, y):wait()
    changed = tostring(np.explain(f)):find ", native"
until changed or np.clock() - began > LIMIT
print(changed ~= nil, np.explain(f))
]]
    local cold = output("warm", "", (runs:gsub("LIMIT", "0.2"))) -- a fifth of what would make it hot
    check.ok(cold:find "^false", cold)
    output("warm", "", HOT:gsub("hot = 1", "tier = 'native'") .. "f(x, y):wait()")
    local warm = output("warm", "", (runs:gsub("LIMIT", "60")))
    check.ok(warm:find "^true", warm)
end)

check.test("np.explain tells why there is none", function()
    local many = "for _ = 1, 40 do f(x, y):wait() end print(np.explain(f))"
    local never = output("why", "", HOT:gsub("hot = 1,", "tier = 'vm',") .. many)
    check.ok(never:find "no native code: the tier is vm", never)
    local cold = output("why", "", HOT:gsub("hot = 1,", "hot = 5e6,") .. many)
    check.ok(cold:find "native code after 5 ms of work, of which [%d.]+ were done", cold)
    local useless = output("why", "", "np.debug.kernels { hot = 1 } local f = np.jit(function(x) return x + x end) " ..
                                          "for _ = 1, 40 do f(np.ones(10)):wait() end print(np.explain(f))")
    check.ok(useless:find "no native code: the VM's loops are as fast", useless)
    local pipe = io.popen("NEAP_PLUGIN_PATH=/nowhere " .. command("why", "--tier native " .. process.file(
        "local f = np.jit(function(x) return np.cos(x) end) print(f(np.ones(10))) print(np.explain(f))")) .. " 2>&1")
    local without = pipe:read "*a"
    pipe:close()
    check.ok(without:find "no native code: no plugin 'native'" and without:find "0.5403", without)
end)

check.test("--tier and NEAP_TIER take a name", function()
    check.ok(output("tier", "--tier fast", "print(1)"):find "expected a tier, auto, vm or native, got 'fast'")
    local pipe = io.popen("NEAP_TIER=slow " .. command("tier", "-e 'print(1)'") .. " 2>&1")
    check.ok(pipe:read "*a":find "expected a tier, auto, vm or native, got 'slow'")
    pipe:close()
end)

check.test("the timeline shows what is compiled, and later what is loaded", function()
    local trace = folder .. "/trace.json"
    for _, what in ipairs { "compile", "load" } do
        output("trace", "--tier native --trace " .. trace, HOT:gsub("hot = 1", "tier = 'native'") .. "f(x, y):wait()")
        local json = process.read(trace)
        check.ok(json:find('"name":"neap%-native"'), "the thread has a track")
        check.ok(json:find('"' .. what .. " tanh", 1, true), what)
        check.equal(json:find('"' .. (what == "load" and "compile " or "load "), 1, true), nil)
    end
end)

-- ---- While code is being made ---------------------------------------------------------------------------------------

local BUSY = HOT .. [[
for k = 1, 24 do
    np.jit(function(x)
        for n = 1, k % 12 + 1 do x = np.tanh(x) + n end
        return x
    end)(x):wait()
end
]]

check.test("a process may end at any moment", function()
    for k = 1, release and 6 or 2 do
        local status, out, err = process.run { "env", "XDG_CACHE_HOME=/dev/null/none", process.neap, process.file(
            BUSY .. ("np.debug.sleep(np.ones(1), %d):wait() print 'end' os.exit(3)"):format(k * 4)) }
        check.equal({ status, out, err }, { 3, "end\n", "" })
    end
end)

check.test("a process may start others, and fork", function()
    local status, out, err = process.run { "env", "XDG_CACHE_HOME=/dev/null/none", process.neap, process.file(BUSY .. [[
local pipe = io.popen "echo popen"
io.write(pipe:read "*a")
pipe:close()
io.flush()
os.execute "echo execute"
local ffi = require "ffi"
ffi.cdef "int fork(void); int waitpid(int, int *, int);"
for k = 1, 5 do
    local child = ffi.C.fork()
    if child == 0 then os.exit(pcall(function() f(x, y):wait() end) and 1 or 7) end
    local ended = ffi.new "int[1]"
    assert(ffi.C.waitpid(child, ended, 0) == child)
    print(ended[0] / 256)
    f(x + k, y):wait()
end
]]) }
    check.equal({ status, out, err }, { 0, "popen\nexecute\n7\n7\n7\n7\n7\n", "" })
end)

check.test("a generator of another build is not used", function()
    local build = process.neap:match "^(.*)/[^/]*$"
    local number = process.read(build .. "/generated/native_build.h"):match "0x(%x+)ull"
    local bytes = {}
    for pair in ("%016s"):format(number):gsub(" ", "0"):gmatch "%x%x" do
        table.insert(bytes, 1, string.char(tonumber(pair, 16)))
    end
    local plugin, own = process.read(build .. "/neap_native.so"), table.concat(bytes)
    local at = plugin:find(own, 1, true)
    check.ok(at, "the plugin says of which build it is")
    local other = assert(io.open(folder .. "/neap_native.so", "wb"))
    other:write(plugin:sub(1, at - 1), own:reverse(), plugin:sub(at + #own))
    other:close()
    local status, out, err = process.run { "env", "NEAP_PLUGIN_PATH=" .. folder, process.neap, "doctor" }
    check.equal({ status, err }, { 0, "" })
    check.ok(out:find("\nnative code +neap_native.so is of another build of neap\n"), out)
end)

check.test("Ctrl-C ends a script that keeps the thread busy", function()
    local terminal = process.terminal({ process.file(BUSY .. [[
print "ready"
io.flush()
while true do np.jit(function(x) return np.tanh(x * 2) - 3 / np.exp(x) end)(x):wait() end
]]) }, { XDG_CACHE_HOME = "/dev/null/none" })
    terminal:expect "ready"
    process.sleep(0.2)
    terminal:send "\3"
    check.equal(terminal:finish(), 130)
end)

os.execute("rm -r '" .. folder .. "'")
process.cleanup()
check.done()
