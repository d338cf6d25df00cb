--- soak_test.lua (release build only, starts first): a prompt, training and a notebook that are in use for hours, all
-- three at once, take no more memory, files, threads and arrays in the end than before: for each third of the time the
-- least is taken, which a leak raises and a short need does not, and the last third is compared with the second. The
-- time begins when each has been used for a while, since caches fill up first.
--
-- It takes NEAP_TEST_LONG hours (0.05 are three minutes), and is skipped without. What the three took is printed.
--
--     NEAP_TEST_LONG=8 NEAP=build/neap build/neap tests/faults/soak_test.lua
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"

local hours = tonumber(os.getenv "NEAP_TEST_LONG" or "")
if not hours then
    check.skip("a prompt, training and a notebook for hours", "NEAP_TEST_LONG says how many; tools/test --long sets it")
    check.done()
    return
end

local SECONDS = hours * 3600
local SAMPLES = 60 -- about, in all
-- By which memory may be more than it was; and for each command: its text is kept, for messages and as history.
local MEMORY_SHARE, MEMORY_BYTES, COMMAND_BYTES = 0.02, 4 * 2 ^ 20, 1024
-- The same of the others: threads start when they are needed, and the collector decides when an array goes.
local MORE = { files = 2, threads = 4, handles = 300 }

local folder = os.tmpname()
os.remove(folder)
os.execute(("mkdir '%s'"):format(folder))

--- What a process has: bytes of memory of its own, open files, threads.
local function look(pid)
    local status = process.read(("/proc/%d/status"):format(pid))
    local pipe = io.popen(("ls /proc/%d/fd | wc -l"):format(pid))
    local files = pipe:read "*n"
    pipe:close()
    return { memory = tonumber(status:match "RssAnon:%s*(%d+)") * 1024, files = files,
             threads = tonumber(status:match "Threads:%s*(%d+)") }
end

--- Forgets what a terminal has shown, which would fill the memory of this test.
local function forget(terminal)
    terminal.seen, terminal.taken = terminal.seen:sub(terminal.taken), 1
end

--- Takes what a terminal has shown without waiting. Returns its last whole lines.
local function drain(terminal)
    repeat
        local bytes = terminal:fill(0)
        if not bytes then error("it has ended; it shows " .. terminal.seen, 0) end
    until bytes == 0
    local text = terminal.seen:match "^.*\n" or ""
    terminal.taken = #text + 1
    forget(terminal)
    return text
end

-- ---- What is used ---------------------------------------------------------------------------------------------------

-- Each has name, pid, rounds, turn(): goes on using it for a moment; warm: rounds before the time begins; commands in a
-- round; handles: the arrays that are held, if it tells.
local users = {}

local COMMANDS = {
    "x = np.random.normal(np.random.key(3), {200, 50})", "x:sum()", "x:mean{axis=0}:max()",
    "f = np.jit(function(a) return np.tanh(a:matmul(a:transpose())):sum() end)", "f(x)", "np.grad(f)(x):shape",
    "for k = 1, 20 do x = x * 0.5 + k end", "x[{1, 5}]", "np.linalg.inv(np.ones {3, 3})", "nothing.here", "1 +",
    "np.ones {2, 3}:matmul(np.ones {2, 3})", "?np.sin", ":time f(x)", "np.explain(x * 2 + 1)", "print(np.arange(5))",
    "np.table {a = np.arange(4), b = np.arange(4) ^ 2}", "x = nil f = nil", "collectgarbage() collectgarbage()",
}

local function start_prompt()
    local terminal = prompts.start({ "--no-startup" })
    terminal:expect("> ", 60)
    local user = { name = "prompt", pid = terminal.pid, terminal = terminal, rounds = 0, warm = 1000,
                   commands = #COMMANDS + 2 }
    function user.turn()
        for _, command in ipairs(COMMANDS) do
            terminal:send(command .. "\n")
            prompts.taken(terminal)
            if command == "1 +" then -- it waits for more
                terminal:expect(">> ", 60)
                terminal:send "2\n"
                prompts.taken(terminal)
            end
            terminal:expect("> ", 60)
            forget(terminal)
        end
        user.rounds = user.rounds + 1
        terminal:send 'print("handles", np.debug.counters().live_handles)\n'
        prompts.taken(terminal)
        user.handles = tonumber(terminal:expect("> ", 60):match "handles%s+(%d+)")
        forget(terminal)
    end
    return user
end

local function start_training()
    local terminal = process.terminal({ "--devices", "2", "tests/mesh/hosts_train.lua", folder .. "/checkpoint",
                                        "1000000000", "0.05" }, {})
    local user = { name = "training", pid = terminal.pid, terminal = terminal, rounds = 0, warm = 300, commands = 0 }
    function user.turn()
        user.rounds = tonumber(drain(terminal):match ".*step%s+(%d+)") or user.rounds
    end
    return user
end

--- A Python that has the clients of notebooks, as tests/notebook/notebook_test.sh installs it; nil.
local function notebook_python()
    local pipe = io.popen "sha256sum tests/notebook/requirements.txt"
    local hash = pipe:read("*a"):sub(1, 12)
    pipe:close()
    local cache = os.getenv "XDG_CACHE_HOME" or os.getenv "HOME" .. "/.cache"
    local place = ("%s/neap/notebook-%s"):format(cache, hash)
    local complete = io.open(place .. "/complete")
    if complete then complete:close() end
    return complete and place .. "/bin/python"
end

local function start_notebook(python)
    assert(process.run_neap { "kernel", "install", "--prefix", folder } == 0)
    local terminal = process.terminal_of({ python, "tests/notebook/soak.py" },
                                         { JUPYTER_PATH = folder .. "/share/jupyter", XDG_STATE_HOME = folder,
                                           JUPYTER_RUNTIME_DIR = folder .. "/run" })
    terminal:expect("kernel ", 120)
    terminal:expect("\n", 10)
    local user = { name = "notebook", pid = tonumber(terminal.seen:match "kernel (%d+)"), terminal = terminal,
                   rounds = 0, warm = 60, commands = 10 }
    function user.turn()
        local rounds, handles = drain(terminal):match ".*round (%d+) (%d+)"
        user.rounds, user.handles = tonumber(rounds) or user.rounds, tonumber(handles) or user.handles
    end
    return user
end

-- ---- What they take -------------------------------------------------------------------------------------------------

--- The least of samples[name] in one third, 1 to 3, of the samples.
local function least(samples, name, third)
    local first, last = math.floor(#samples * (third - 1) / 3) + 1, math.floor(#samples * third / 3)
    local value
    for k = first, last do
        local one = samples[k][name]
        if one and (not value or one < value) then value = one end
    end
    return value
end

local function judge(user)
    for _, name in ipairs { "memory", "files", "threads", "handles" } do
        local thirds = {}
        for third = 1, 3 do thirds[third] = least(user.samples, name, third) end
        if thirds[2] and thirds[3] then
            local most = thirds[2] + (MORE[name] or 0)
            if name == "memory" then
                local commands = user.commands * (user.rounds - user.began) / 3
                most = most * (1 + MEMORY_SHARE) + MEMORY_BYTES + COMMAND_BYTES * commands
            end
            local unit, shown = name == "memory" and 2 ^ 20 or 1, name == "memory" and "memory, MiB" or name
            local told = ("%-9s %6d rounds  %-12s %8.4g %8.4g %8.4g"):format(user.name, user.rounds, shown,
                thirds[1] and thirds[1] / unit or 0, thirds[2] / unit, thirds[3] / unit)
            print(told)
            check.test(("%s: %s"):format(user.name, name), function()
                check.ok(thirds[3] <= most, "it grows: the least in each third of the time: " .. told)
            end)
        end
    end
    check.test(user.name .. ": it was used", function() check.ok(user.rounds > user.began, user.rounds) end)
end

users[1], users[2] = start_prompt(), start_training()
local python = notebook_python()
if python then
    users[3] = start_notebook(python)
else
    check.skip("a notebook for hours", "tests/notebook/notebook_test.sh has not installed its clients")
end
local warm
repeat
    warm = true
    for _, user in ipairs(users) do
        user.turn()
        warm = warm and user.rounds >= user.warm
    end
until warm
for _, user in ipairs(users) do user.samples, user.began = {}, user.rounds end

local began, next_sample = process.now(), 0
while process.now() - began < SECONDS do
    for _, user in ipairs(users) do user.turn() end
    if process.now() - began >= next_sample then
        next_sample = process.now() - began + SECONDS / SAMPLES
        for _, user in ipairs(users) do
            local sample = look(user.pid)
            sample.handles = user.handles
            user.samples[#user.samples + 1] = sample
        end
    end
end
for _, user in ipairs(users) do judge(user) end
for _, user in ipairs(users) do
    user.terminal:kill(15)
    pcall(user.terminal.finish, user.terminal, 60)
end
os.execute(("rm -rf '%s'"):format(folder))
process.cleanup()
check.done()
