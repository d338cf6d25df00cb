--- mpi_lines_test.lua (under asan with --long): collectives of one kind and shape that stand on different lines in
-- different processes, such as two that one process does in another order: told on stderr once for each pair of lines;
-- real runs of mpirun.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local missing = mpirun.missing()
if missing then
    check.skip("lines of collectives", missing)
    check.done()
end

local HEAD = [[
local me, mesh, P = np.process_index(), np.mesh({ 4 }, { "i" }), np.P
local x = np.arange(8, { dtype = "f32" })
local function map(f) return np.shard_map(f, { mesh = mesh, in_specs = P "i", out_specs = P "i" }) end
local function first(a) -- lines 5, 6
    return np.tanh(
        np.COLLECTIVE)
end
local function second(a) -- lines 9, 10
    return np.sin(
        np.COLLECTIVE)
end
]]

--- Runs a script on two processes with two devices each (or as many as `count`); `collective` is done in `first` and in
-- `second`. Returns what is printed, and the warnings, as texts "PROCESS:LINE PROCESS:LINE what".
local function run(collective, code, count)
    local script = process.file((HEAD:gsub("COLLECTIVE", function() return collective end)) .. code)
    local status, out, err = mpirun.run(count or 2, { "--devices", 4 / (count or 2), script })
    check.equal(status, 0, err)
    local told = {}
    for line in err:gmatch "[^\n]+" do
        local at, what, own, other, rank = line:match(
            "^[^ ]*:(%d+): warning: collective %d+ (%b()) of process (%d) is collective %d+ (%b()) in process (%d): if")
        check.ok(at, line)
        check.equal(what:match ":(%d+)%)$", at)
        told[#told + 1] = ("%s:%s %s:%s %s"):format(own, at, rank, other:match ":(%d+)%)$", what:match "%((.-),")
    end
    return out, told
end

local SWAPPED = [[
local f = WRAP(map(function(a)
    if me == 0 then
        local u = first(a)
        return a + second(a) - u
    end
    local v = second(a)
    return a + v - first(a)
end))
for _ = 1, 30 do np.device_put(f(x), mesh, P()):wait() end
]]

for collective, name in pairs {
    ['psum(a, "i")'] = "psum of f32", ['pmax(a, "i")'] = "pmax of f32",
    ['all_gather(a, "i")[0]'] = "all_gather of f32",
    ['all_gather(np.psum_scatter(np.all_gather(a, "i", { tiled = true }), "i", { tiled = true }), "i")[0]'] = false,
    ['ppermute(a, "i", { { 0, 2 }, { 2, 0 }, { 1, 3 } })'] = "ppermute of f32",
} do
    for _, wrap in ipairs { "", "np.jit" } do
        local how = wrap == "" and "" or ", jitted"
        check.test(("two of %s, swapped%s"):format(collective:match "[%w_]+", how), function()
            local _, told = run(collective, (SWAPPED:gsub("WRAP", wrap)))
            if name then
                check.equal(told, { ("0:6 1:10 %s"):format(name), ("0:10 1:6 %s"):format(name) })
            else
                check.ok(#told >= 2, "as many as there are collectives")
            end
        end)
    end
end

check.test("in a loop that the communication thread runs", function()
    local _, told = run('psum(a, "i")', [[
np.jit(map(function(a)
    return (np.fori_loop(0, 5, function(_, c)
        if me == 0 then
            local u = first(c)
            return c + second(c) - u
        end
        local v = second(c)
        return c + v - first(c)
    end, a))
end))(x):wait()
]])
    check.equal(told, { "0:6 1:10 psum of f32", "0:10 1:6 psum of f32" })
end)

check.test("what is in one order is not told, whatever else a process does", function()
    for _, wrap in ipairs { "", "np.jit" } do
        local out, told = run('psum(a, "i")', (([[
local own = np.mesh({ 2 }, { "i" }, { devices = np.local_devices() })
local alone = np.shard_map(function(a) return np.psum(a, "i") end, { mesh = own, in_specs = P "i", out_specs = P() })
local f = WRAP(map(function(a) return a + first(a) - second(a) end))
for k = 1, 300 do
    if me == k % 2 then alone(np.arange(8)):wait() end
    x = f(x)
end
print(x)
]]):gsub("WRAP", wrap)))
        check.equal(told, {})
        check.ok(#out > 0)
    end
end)

check.test("one collective that stands on two lines is told, and done", function()
    local out, told = run('psum(a, "i")', [[
local f = map(function(a) return me == 0 and first(a) or np.tanh(np.psum(a, "i")) end)
print(np.abs(f(x) - np.tanh(np.stack({ x[{ { 0, 8, 2 } }]:sum(), x[{ { 1, 8, 2 } }]:sum() }):reshape(1, 2)
                            :broadcast_to(4, 2)):reshape(-1)):max():item() < 1e-6)
if me == 0 then
    print("whole", np.device_put(x, mesh, P "i"))
else
    print("whole", np.device_put(x, mesh, P "i"))
end
]])
    check.equal(out, "true\nwhole\t[0. 1. 2. 3. 4. 5. 6. 7.]\n")
    check.equal(told, { "0:6 1:12 psum of f32", "0:16 1:18 print of f32" })
end)

check.test("the first of several processes tells of each line", function()
    local _, told = run('psum(a, "i")', [[
local f = map(function(a)
    if me == 2 then return second(a) end
    return first(a)
end)
for _ = 1, 3 do f(x):wait() end
]], 4)
    check.equal(told, { "0:6 2:10 psum of f32" })
end)

process.cleanup()
check.done()
