--- solver_test.lua (release build only): the solver of np.optimize.linprog and np.optimize.milp is a process of its
-- own: what ends it, what it writes, what is said where it is missing, and that nothing of it stays.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

-- A market split: 5 equations of 50 numbers that are 0 or 1. A search takes hours.
local HARD = [[
local A, b, seed = {}, {}, 7
for i = 1, 5 do
    A[i], b[i] = {}, 0
    for j = 1, 50 do
        seed = seed * 16807 % 2147483647
        A[i][j], b[i] = seed % 100, b[i] + seed % 100 / 2
    end
    b[i] = math.floor(b[i])
end
local rows = { A = A, lb = b, ub = b }
local function solve(o)
    o.integrality, o.bounds, o.constraints = 1, { 0, 1 }, rows
    return np.optimize.milp(np.zeros(50), o)
end
]]
check.test("where the solver is missing an error names the package", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder) == 0)
    process.write(folder .. "/libCbcSolver.so.3", "no library")
    local status, out, err = process.run { "env", "LD_LIBRARY_PATH=" .. folder, process.neap, process.file [[
for _, f in ipairs { np.optimize.linprog, np.optimize.milp } do
    local ok, problem = pcall(f, { 1, 2 })
    assert(not ok and problem:find("it needs the solver Cbc, which is not installed (package coinor-libcbc3)", 1, true))
    ok, problem = pcall(f, { 1, np.nan }) -- what is wrong besides is said first
    assert(not ok and problem:find "NaN", problem)
end
]] }
    os.execute("rm -r " .. folder)
    check.equal({ status, out, err }, { 0, "", "" })
end)

if not pcall(require("ffi").load, "libCbcSolver.so.3") then
    check.skip("the solver", "package coinor-libcbc3 is not installed")
    check.done()
    return
end

check.test("limits of time and of nodes end a search", function()
    check.equal(process.output(HARD .. [[
for _, o in ipairs { { time_limit = 0.3 }, { time_limit = 0 }, { node_limit = 3 } } do
    local r = solve(o)
    print(r.status, r.success, r.message, r.x, r.fun)
end
]]), "1\tfalse\tthe time limit is reached\tnil\tnil\n1\tfalse\tthe time limit is reached\tnil\tnil\n"
         .. "1\tfalse\tthe largest number of nodes is reached\tnil\tnil\n")
end)

check.test("Ctrl-C ends a search, and the prompt goes on", function()
    local terminal = process.terminal { "-i", process.file(HARD:gsub("local function", "function") .. "print 'ready'") }
    terminal:expect "ready"
    terminal:send "print('be' .. 'gins'); solve {}\n"
    terminal:expect "begins"
    process.sleep(0.5)
    terminal:send "\3"
    terminal:expect "interrupted"
    terminal:send "print('one' .. np.optimize.linprog({1, 2}).fun:item())\n"
    terminal:expect "one0"
    terminal:send "exit\n"
    check.ok(terminal:finish() ~= nil)
end)

check.test("nothing is written, and no process and no pipe stays", function()
    local status, out, err = process.run_neap { process.file(HARD .. [[
local function count()
    local pipe = io.popen [=[ls -l /proc/$PPID/fd | grep -c pipe:
        awk -v p=$PPID '$4 == p' /proc/[0-9]*/stat 2>&- | wc -l]=]
    local text = pipe:read "*a"
    pipe:close()
    return text
end
local function work()
    np.optimize.linprog({ -1, -2 }, { A_ub = { { 1, 1 } }, b_ub = { 4 } })
    np.optimize.linprog({ 1, -2 })
    np.optimize.milp({ -3, -2 }, { integrality = 1, constraints = { A = { { 2, 3 } }, ub = 7.5 } })
    np.optimize.milp({ -3, -2 }, { integrality = 1 })
    assert(solve({ time_limit = 0 }).status == 1)
end
work()
collectgarbage()
local pipes = tonumber(count():match "%d+")
for _ = 1, 5 do work() end
collectgarbage()
local after = count()
assert(tonumber(after:match "%d+") < pipes + 20, after) -- of 25 programs; neap itself has some now and then
local left = tonumber(after:match "(%d+)%s*$")
assert(left < 20, after)
]]) }
    check.equal({ status, out, err }, { 0, "", "" })
end)

check.test("a solver that dies is a status", function()
    local status, out, err = process.run_neap { process.file(HARD .. [[
local pipe = io.popen "echo $PPID"
local own = pipe:read "*n"
pipe:close()
os.execute(([=[(
    while true; do
        child=$(awk -v p=%d '$4 == p && $2 == "(neap)" { print $1 }' /proc/[0-9]*/stat 2>&-)
        if [ -n "$child" ]; then sleep 0.2; kill -9 $child; exit; fi
        sleep 0.05
    done) >/dev/null 2>&1 &]=]):format(own))
local r = solve { time_limit = 60 }
print(r.status, r.success, r.message, r.x)
]]) }
    check.equal({ status, out, err }, { 0, "4\tfalse\tthe solver failed: numerical difficulties\tnil\n", "" })
end)

process.cleanup()
check.done()
