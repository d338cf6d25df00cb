--- mpi_life_test.lua (starts first): how several processes live and end, in real runs of mpirun: one that dies, ends
-- early, raises an error or never comes is named by the others, which end with a status that is not 0; nothing hangs.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local missing = mpirun.missing()
if missing then
    check.skip("the life of several processes", missing)
    check.done()
end

-- Process 1 of three does something of its own before the second of three collectives; all are in line 4.
local script = process.file [[
local P, how, seconds = np.P, ...
local mesh = np.mesh({ #np.devices() }, { "i" })
local function over_all(name)
    return np.shard_map(function(b) return np[name](b, "i") end, { mesh = mesh, in_specs = { P "i" }, out_specs = P() })
end
local x = np.device_put(np.arange(6, { dtype = "f32" }), mesh, P "i")
print("first", over_all "psum" (x):sum():item())
if np.process_index() == 1 then require "tests.lib.mpi_ways"(how, over_all, x, seconds) end
local y = over_all "psum" (x * 2)
print("second", y:sum())
print("third", over_all "pmax" (x + y:sum()):sum():item())
]]

local PATIENCE = { 1, 5, 30 } -- seconds in which the others are to have begun to wait, one try after the other

--- Runs it with three processes; returns status, the texts of stdout and stderr.
local function run(how, timeout, seconds)
    return mpirun.run(3, { script, how, seconds }, { NEAP_COMM_TIMEOUT = timeout or 60 })
end

--- Process `rank` has told of a collective in line 4 that waited for process 1.
local function names_it(err, rank, collective)
    local told = err:match(("neap: %%[process %d%%] [^\n]*"):format(rank)) or ""
    check.ok(told:find(("collective %d (psum of f32, 2 elements, at %s)"):format(collective, script .. ":4"), 1, true)
             and told:find "waits for [^\n]*process 1 on ", err)
    return told
end

--- Process 1 of three does something after which mpirun ends the others; so processes 0 and 2 have told of the second
-- collective, in words that match, or one of them. If mpirun came before both had begun to wait, it is tried again,
-- with more patience. Returns what run does.
local function survivors_name_it(how, words)
    local status, out, err
    for _, seconds in ipairs(PATIENCE) do
        status, out, err = run(how, nil, seconds)
        local spoke = 0
        for rank = 0, 2, 2 do
            local told = err:match(("neap: %%[process %d%%] [^\n]*collective[^\n]*"):format(rank))
            if told and (told:find("waits for .*" .. words) or not told:find "terminated %(SIGTERM%)") then
                spoke = spoke + 1
                check.ok(names_it(err, rank, 2):find(words), err)
            end
        end
        if spoke > 0 then return status, out, err end
    end
    check.ok(false, err)
end

check.test("nothing happens", function()
    local status, out, err = run "nothing"
    check.equal({ status, out, err }, { 0, "first\t15\nsecond\t30.0\nthird\t69\n", "" })
end)

check.test("a process is killed", function()
    local status, out = survivors_name_it("kill", "process 1 on ")
    check.ok(status ~= 0 and out:find "^first\t15\n", out)
end)

check.test("a process ends early", function()
    local status, out = survivors_name_it("exit", "which has ended after collective 1")
    check.ok(status ~= 0 and out:find "^first\t15\nsecond\t<error: ", out)
end)

check.test("a process raises an error", function()
    local status, _, err = survivors_name_it("raise", "which has failed: [^\n]*boom")
    check.ok(status ~= 0 and err:find "neap: %[process 1%] [^\n]*: boom\n", err)
end)

check.test("a process never comes", function()
    local status, _, err = run("loop", 2)
    check.ok(status ~= 0, err)
    names_it(err, 0, 2)
    check.ok(err:find "has not finished within 2 s" and err:find "neap: %[process 1%] terminated %(SIGTERM%) at ", err)
end)

--- A script before whose first np.devices(), or at whose end, process 1 of three does something.
local ends = process.file [[
local when, how = ...
local ffi = require "ffi"
ffi.cdef "int kill(int pid, int signal); int getpid(void);"
local function act()
    if np.process_index() ~= 1 then return end
    if how == "stop" then ffi.C.kill(ffi.C.getpid(), 19) end
    while true do end
end
if when == "start" then act() end
local mesh = np.mesh({ #np.devices() }, { "i" })
local f = np.shard_map(function(b) return np.psum(b, "i") end, { mesh = mesh, in_specs = { np.P "i" },
                                                                out_specs = np.P() })
print(f(np.device_put(np.arange(6, { dtype = "f32" }), mesh, np.P "i")):sum():item())
if when == "end" then act() end
]]

local LIMIT, TRIES = 60, 4

--- What the others tell when process 1 does this; they end by themselves, before mpirun is told to end them. The status
-- may be that of process 1, which mpirun kills then. Who stops in the middle of its connection to mpirun stops that,
-- too (PMIX ERROR): then it is tried again.
local function survivors_end(when, how, timeout)
    local status, out, err, took
    for _ = 1, TRIES do
        local began = process.now()
        status, out, err = mpirun.run(3, { ends, when, how }, { NEAP_COMM_TIMEOUT = timeout }, LIMIT)
        took = process.now() - began
        if took < LIMIT or not err:find "PMIX ERROR" then break end
    end
    check.ok(status ~= 0 and took < LIMIT, status .. err)
    return err:match "neap: %[process [02]%] [^\n]*process 1[^\n]*" or check.ok(false, err), out
end

check.test("a process stops before it has met the others", function()
    local told, out = survivors_end("start", "stop", 5)
    check.ok(told:find "process 1 [^\n]*is stopped" or told:find "process 1 has not come within 5 s"
             or told:find "process 1 [^\n]*does not answer", told)
    check.equal(out, "")
end)

check.test("a process does not start", function()
    local line = [[timeout -k 5 120 mpirun --allow-run-as-root --oversubscribe -quiet -x NEAP_COMM_TIMEOUT=4 \
                   -n 1 "$0" -e "$1" : -n 1 sh -c 'kill -STOP $$; exec "$0" -e "$1"' "$0" "$1" : -n 1 "$0" -e "$1"]]
    for _, code in ipairs { "np.devices()", "print 'no devices'", "error 'early'" } do
        local began = process.now()
        local status, _, err = process.run { "sh", "-c", line, process.neap, code }
        check.ok(status ~= 0 and process.now() - began < 100, status .. err)
        check.ok(err:find "neap: %[process [02]%] [^\n]*not met within 4 s: process 1 has not started"
                 or code:find "early" and err:find "neap: %[process 0%] [^\n]*early", err)
    end
end)

check.test("a process never comes to its end", function()
    local told, out = survivors_end("end", "loop", 4)
    check.ok(told:find "the end of all processes has not finished within 4 s: it waits for process 1 on ", told)
    check.equal(out, "15\n")
end)

check.test("a process stops before its end", function()
    local told, out = survivors_end("end", "stop", 4)
    check.ok(told:find "the end of all processes [^\n]*process 1 on ", told)
    check.equal(out, "15\n")
end)

check.test("a process does another collective", function()
    local status, _, err = run "other"
    check.ok(status ~= 0, err)
    local theirs = "collective 2 %(psum of f32, 2 elements, at [^\n]*:4%)"
    check.ok(err:find(theirs .. "[^\n]*collective 2 %(pmin of f32, 2 elements, "), err)
end)

check.test("all fail alike: it is told once", function()
    local status, out, err = mpirun.run(3, { "-e", "print(1) error 'alike'" })
    check.equal({ status, out, err }, { 1, "1\n", "neap: [process 0] (command line):1: alike\n"
        .. "   1 | print(1) error 'alike'\n     |          ^^^^^\n" })
end)

check.test("exit statuses, and what cannot be", function()
    local status, out, err = mpirun.run(2, { "-e", "print 'on' if np.process_index() == 1 then os.exit(3) end" })
    check.ok(status ~= 0)
    check.equal({ out, err }, { "on\n", "" })
    local code, _, problem = mpirun.run(2, { "-i" })
    check.equal(code, 2)
    check.ok(problem:find "the prompt, and a program on standard input, need a single process", problem)
    local line = [[timeout 300 mpirun --allow-run-as-root --oversubscribe -quiet -n 1 "$0" --devices 2 -e "$1" \
                   : -n 1 "$0" --devices 3 -e "$1"]]
    code, _, problem = process.run { "sh", "-c", line, process.neap, "np.devices()" }
    check.ok(code ~= 0, problem)
    check.ok(problem:find "process 1 %(on [^\n]*%) has 3 devices and process 0 has 2: all need the same", problem)
end)

check.test("started as Slurm's srun does it, by PMIx", function()
    local line = [[timeout 300 mpirun --allow-run-as-root --oversubscribe -quiet -n 2 env -u OMPI_COMM_WORLD_RANK \
                   -u OMPI_COMM_WORLD_SIZE SLURM_STEP_NUM_TASKS=2 "$0" -e "$1"]]
    local status, out, err = process.run { "sh", "-c", line, process.neap, "print(#np.devices(), np.process_count())" }
    check.equal({ status, out, err }, { 0, "2\t2\n", "" })
end)

check.test("garbage is collected at other moments on each process", function()
    local rounds = (os.getenv "NEAP_TEST_BUILD" or "release") == "release" and 60 or 10
    local status, out, err = mpirun.run(4, { "--devices", 2, "tests/mesh/mpi_garbage.lua", rounds })
    check.equal({ status, err }, { 0, "" })
    local alone, expected = process.run_neap { "--devices", "8", "tests/mesh/mpi_garbage.lua", tostring(rounds) }
    check.equal(alone, 0)
    check.equal(out, expected)
end)

process.cleanup()
check.done()
