--- mpi_loops_test.lua: loops and branches that have both collectives between processes and callbacks: what they print,
-- call and compute is what one process with as many devices does, and what loops of Lua do. Nests of such loops are
-- drawn at random (tests/lib/loop_nests.lua). The file runs itself under mpirun.
local np = require "neap"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"

-- ---- One of the processes -------------------------------------------------------------------------------------------

--- Runs nests, each in all ways, of which this process must see the same; stderr tells what differs.
local function run_child(first, count)
    local nests = require "tests.lib.loop_nests"
    local mesh = np.mesh({ #np.devices() }, { "i" })
    for seed = first, first + count - 1 do
        local nest, expected = nests.draw(seed), nil
        for _, how in ipairs { "lua", "loops", "jit" } do
            print("nest", seed)
            local called = nests.run(nest, mesh, how)
            expected = expected or called
            for order, calls in pairs(called) do
                local got, want = table.concat(calls, ", "), table.concat(expected[order], ", ")
                if got ~= want then
                    io.stderr:write(("process %d, nest %d, %s: %s calls are %s, expected %s; the nest is %s\n"):format(
                        np.process_index(), seed, how, order, got, want, nests.show(nest.block)))
                end
            end
        end
    end
end

if (...) == "child" then
    local _, first, count = ...
    return run_child(tonumber(first), tonumber(count))
end

-- ---- The test -------------------------------------------------------------------------------------------------------

local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local missing = mpirun.missing()
if missing then
    check.skip("loops with collectives and callbacks of several processes", missing)
    check.done()
end

--- What follows in a script: a mesh over all devices, and x, of which each has two elements.
local HEAD = [[
    local P, n = np.P, #np.devices()
    local mesh = np.mesh({ n }, { "i" })
    local x = np.arange(2 * n, { dtype = "f32" })
    local function over(f, out) return np.shard_map(f, { mesh = mesh, in_specs = P "i", out_specs = out or P() }) end
    local sum = over(function(v) return np.psum(v, "i") end)
    local function loop(ask)
        return over(function(v)
            return (np.scan(function(c, k) return ask(c + np.psum(v * k, "i"), k) end, np.zeros { 2 },
                            np.array { 1, 2, 3, 4 }))
        end)
    end
]]

--- A script with this head; its path.
local function script_of(text)
    return process.file(HEAD .. text)
end

--- Runs a script as two processes of one device. Returns the exit status, stdout, and the sorted lines of stderr.
local function run_two(text)
    local status, out, err = mpirun.run(2, { script_of(text) })
    return status, out, table.concat(mpirun.sorted(err), "\n")
end

--- Two processes, and three, print what one process with as many devices prints.
local function prints_alike(text)
    local script = script_of(text)
    for count = 2, release and 3 or 2 do
        local status, alone, problem = process.run_neap { "--devices", tostring(count), script }
        check.equal({ status, problem }, { 0, "" })
        check.equal({ mpirun.run(count, { script }) }, { 0, alone, "" })
    end
end

check.test("callbacks with and without results, prints and collectives in order", function()
    prints_alike [[
        local function half(c, k) print("ask", k, c) return c * 0.5 + k end
        local ask = np.callback(half, { result = { shape = { 2 } } })
        local tell = np.callback(function(k) print("tell", k) end)
        local f = loop(function(c, k)
            print("before", k)
            local a = ask(c, k)
            print("after", a)
            tell(k)
            return a
        end)
        print("eager", f(x))
        print("jitted", np.jit(f)(x))
    ]]
end)

check.test("functions that record and read arrays, in loops that are far ahead of them", function()
    prints_alike [[
        local base, calls, seen = sum(x), 0, 0
        local ask = np.callback(function(c)
            calls = calls + 1
            local v = np.array { calls, 2 }
            seen = seen + (v * c):sum():item() + base[1]:item()
            return c * 0.5 + np.jit(function(a) return a * 0.25 end)(v)
        end, { result = { shape = { 2 } } })
        for _, wrap in ipairs { function(f) return f end, np.jit } do
            local f, y = wrap(loop(ask)), x
            for step = 1, 20 do
                local z = sum(y)
                y = y * 0.25 + (np.full({ n, 1 }, 0.01) * f(y)):reshape(-1) + z[0] * 0.001
            end
            np.effects_barrier()
            print(y, calls, seen)
        end
    ]]
end)

check.test("derivatives and batches", function()
    prints_alike [[
        local calls = 0
        local half = np.callback(function(k) calls = calls + 1 return k * 0.5 end, { result = { shape = {} } })
        local loss = np.shard_map(function(v, w)
            return (np.scan(function(c, k)
                local s = half(k)
                np.callback(function() calls = calls + 1 end)(c)
                return np.tanh(c + np.psum((v * w * s):sum(), "i") * 0.1)
            end, w * 0, np.array { 1, 2, 3 }))
        end, { mesh = mesh, in_specs = { P "i", P() }, out_specs = P() })
        local y, w = x / 8, np.array(0.3)
        local function f(a) return loss(y, a) end
        print(np.grad(f)(w), np.jit(np.grad(f))(w), (select(2, np.jvp(f, { w }, { np.array(1) }))))
        np.effects_barrier()
        print(calls)
        local options = { result = { shape = { 2 } }, ordered = false }
        local f = loop(np.callback(function(c) return c * 0.5 end, options))
        local g = loop(np.pure_callback(function(c) return c * 0.5 end, { shape = { 2 } }))
        local both = np.stack { x, x * 2 }
        print(f(x), f(x * 2), np.vmap(f)(both), np.vmap(g)(both), np.jit(np.vmap(g))(both))
    ]]
end)

check.test("a failure in one process ends the loop of all, and names it", function()
    local status, _, err = run_two [[
        local ask = np.callback(function(c)
            if np.process_index() == 1 and c[0]:item() > 3 then error("no such file", 0) end
            return c
        end, { result = { shape = { 2 } }, name = "ask" })
        for _, f in ipairs { loop(ask), sum } do
            local ok, problem = pcall(function() return f(x):totable() end)
            local text = tostring(problem):gsub("\n.*", "")
            io.stderr:write(("%d: %s %s\n"):format(np.process_index(), tostring(ok), text:gsub("^%S+: ", "")))
        end
        io.stderr:write(np.process_index(), ": end\n")
        while np.process_index() == 1 do -- mpirun ends the others with the first that fails
            np.debug.sleep(np.ones(1), 1000):item()
        end
    ]]
    check.ok(status ~= 0)
    check.ok(err:find "0: end", err)
    check.ok(err:find "0: false scan: .*process 1: ask: no such file\n", err)
    check.ok(err:find "0: false .*psum: process 1: ask: no such file\n", err)
    check.ok(err:find "1: false scan: ask: no such file\n", err)
    check.ok(err:find "1: false .*psum: process 1: ask: no such file", err)
end)

check.test("a failure of a function without results is told, and the loop goes on", function()
    local status, out, err = run_two [[
        local tell = np.callback(function() if np.process_index() == 1 then error("no such file", 0) end end)
        print(loop(function(c) tell(c) return c end)(x))
    ]]
    check.equal({ status, out }, { 1, "[20. 40.]\n" })
    check.equal(select(2, err:gsub("%[process 1%] [^\n]*callback: no such file", "")), 4)
end)

check.test("Ctrl-C in a function ends all processes", function()
    local status, out, err = run_two [[
        local ffi = require "ffi"
        ffi.cdef "int raise(int signal);"
        local ask = np.callback(function(c)
            if np.process_index() == 1 and c[0]:item() > 3 then
                ffi.C.raise(2)
                while true do np.debug.sleep(np.ones(1), 10):item() end
            end
            return c
        end, { result = { shape = { 2 } } })
        print(loop(ask)(x):totable())
    ]]
    check.ok(status ~= 0 and out == "", out)
    check.ok(err:find "%[process 1%][^\n]*interrupted", err)
end)

check.test("collectives in a function are refused, and the loop goes on", function()
    local status, out, err = run_two [[
        local divided = np.device_put(x, mesh, P "i")
        local jitted, other = np.jit(sum), loop(function(c) return c end)
        jitted(x)
        local tries = {
            function() return sum(x) end, function() return jitted(x) end, function() return other(x) end,
            function() print(divided) end, function() return np.device_put(divided, mesh, P()) end,
        }
        local turn = 0
        local ask = np.callback(function(c)
            turn = turn + 1
            for k, try in ipairs(turn == 1 and tries or {}) do
                local ok, problem = pcall(try)
                local found = tostring(problem):find("collectives cannot be done in the function at ask", 1, true)
                io.stderr:write(("%d: %d %s %s\n"):format(np.process_index(), k, tostring(ok), tostring(found ~= nil)))
            end
            return c
        end, { result = { shape = { 2 } }, name = "ask" })
        local y = loop(ask)(x)
        print(y, sum(x))
    ]]
    local expected = {}
    for rank = 0, 1 do
        for k = 1, 5 do expected[#expected + 1] = ("%d: %d false true"):format(rank, k) end
    end
    check.equal({ status, out, err }, { 0, "[20. 40.]\t[2. 4.]\n", table.concat(expected, "\n") })
end)

check.test("a function may end all processes", function()
    local status, out, err = run_two [[
        local turn = 0
        print(loop(np.callback(function(c)
            turn = turn + 1
            print("turn", turn)
            if turn == 2 then os.exit(0) end
            return c
        end, { result = { shape = { 2 } } }))(x))
    ]]
    check.equal({ status, out, err }, { 0, "turn\t1\nturn\t2\n", "" })
end)

-- ---- Random nests ---------------------------------------------------------------------------------------------------

--- The printed parts of the nests must be equal in threes: their runs in all ways.
local function check_ways(text, count)
    local parts = {}
    for part in (text .. "nest\t"):gmatch "(%d+\n.-)%f[n]nest\t" do parts[#parts + 1] = part end
    check.equal(#parts, 3 * count)
    for k = 1, #parts, 3 do
        check.equal({ parts[k + 1], parts[k + 2] }, { parts[k], parts[k] })
    end
end

local WAYS = {
    { processes = 2, devices = 2, first = 0, options = {} },
    { processes = 2, devices = 1, first = 100, options = { "--workers", "1", "--shuffle", "5" } },
    { processes = 3, devices = 1, first = 200, options = { "--workers", "2", "--tier", "native" } },
    { processes = 2, devices = 1, first = 300, options = { "--scheduler", "naive" } },
}

--- Runs so many nests, from a first one on, on one process, and on several.
local function compare(way, first, count)
    local words = { "tests/mesh/mpi_loops_test.lua", "child", tostring(first), tostring(count) }
    local devices = tostring(way.processes * way.devices)
    local status, alone, problem = process.run_neap { "--devices", devices, unpack(words) }
    check.equal({ status, problem }, { 0, "" })
    check_ways(alone, count)
    local all = { "--devices", way.devices }
    for _, list in ipairs { way.options, words } do
        for _, word in ipairs(list) do all[#all + 1] = word end
    end
    check.equal({ mpirun.run(way.processes, all) }, { 0, alone, "" })
end

for _, way in ipairs(WAYS) do
    local name = ("random nests on %d processes of %d devices"):format(way.processes, way.devices)
    check.test(table.concat({ name, unpack(way.options) }, " "), function()
        local first, count = seeds.first + way.first, release and 6 or 2
        local limit = os.time() + seeds.seconds(0) / #WAYS
        repeat
            compare(way, first, count)
            first = first + count
        until os.time() >= limit
    end)
end

process.cleanup()
check.done()
