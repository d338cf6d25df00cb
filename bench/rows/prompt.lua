--- prompt.lua: what a person at the prompt waits for: the wall time of `neap -e 'print(1)'` against `luajit -e
-- 'print(1)'`, alternating, at least 20 times each (processes are spawned without a shell, their output goes to
-- /dev/null); the time until a prompt can be typed into, under a pseudo-terminal; and a completion with 10,000 global
-- variables, that of a letter with which all of them begin, its list included, and that of a method. Goals: 6 times
-- luajit, 100 ms to the prompt, 20 ms for a completion.
package.path = "./?.lua;" .. package.path
local ffi = require "ffi"
local measure = require "bench.measure"

ffi.cdef [[
typedef struct neap_bench_actions { long room[32]; } neap_bench_actions; /* larger than posix_spawn_file_actions_t */
int posix_spawn_file_actions_init(neap_bench_actions *actions);
int posix_spawn_file_actions_addopen(neap_bench_actions *actions, int fd, const char *path, int flags, unsigned mode);
int posix_spawnp(int *pid, const char *file, const neap_bench_actions *actions, const void *attributes,
                 const char *const *argv, char **environment);
int waitpid(int pid, int *status, int options);
int forkpty(int *master, char *name, const void *modes, const void *size);
int execv(const char *path, char *const argv[]);
int setenv(const char *name, const char *value, int overwrite);
void _exit(int status);
long read(int file, void *bytes, size_t count);
long write(int file, const void *bytes, size_t count);
int close(int file);
extern char **environ;
]]

local WRITE_ONLY, RUNS = 1, 20
local actions = ffi.new("neap_bench_actions")
ffi.C.posix_spawn_file_actions_init(actions)
ffi.C.posix_spawn_file_actions_addopen(actions, 1, "/dev/null", WRITE_ONLY, 0)

--- The wall time of a program in ns; nil if it did not start or failed.
local function wall(words)
    local argv = ffi.new("const char *[?]", #words + 1, words)
    argv[#words] = nil
    local pid, status = ffi.new("int[1]"), ffi.new("int[1]")
    local start = measure.now()
    if ffi.C.posix_spawnp(pid, words[1], actions, nil, argv, ffi.C.environ) ~= 0 then return nil end
    ffi.C.waitpid(pid[0], status, 0)
    local time = measure.now() - start
    return status[0] == 0 and time or nil
end

local function command(program)
    return { program, "-e", "print(1)" }
end

local function first_that_runs(programs)
    for _, program in ipairs(programs) do
        if wall(command(program)) then return program end
    end
    error("bench: no luajit to compare with")
end

local luajit = first_that_runs { "luajit", "build/deps/luajit/bin/luajit" }
local mine, theirs, ratios = {}, {}, {}
assert(wall(command(measure.neap)), "bench: neap -e 'print(1)' failed")
for k = 1, math.max(RUNS, measure.rounds) do
    mine[k], theirs[k] = wall(command(measure.neap)), wall(command(luajit))
    ratios[k] = mine[k] / theirs[k]
end
measure.row { name = "startup, against luajit", value = measure.median(mine) / 1e6, best = measure.min(mine) / 1e6,
              unit = "ms", reference = measure.median(theirs) / 1e6, ratio = measure.median(ratios), goal = 6 }

-- ---- To the prompt --------------------------------------------------------------------------------------------------

--- The time in ns until a prompt has come.
local function time_to_prompt()
    local master, status = ffi.new("int[1]"), ffi.new("int[1]")
    local argv = ffi.new("const char *[3]", { measure.neap, "--no-startup" })
    local start = measure.now()
    local pid = ffi.C.forkpty(master, nil, nil, nil)
    if pid == 0 then
        ffi.C.setenv("TERM", "xterm", 1)
        ffi.C.execv(measure.neap, ffi.cast("char *const *", argv))
        ffi.C._exit(127)
    end
    local seen, buffer = "", ffi.new("char[4096]")
    repeat
        local bytes = tonumber(ffi.C.read(master[0], buffer, 4096))
        assert(bytes > 0, "bench: no prompt")
        seen = seen .. ffi.string(buffer, bytes)
    until seen:find("\n[^\n]*> $")
    local time = measure.now() - start
    ffi.C.write(master[0], "\4", 1)
    while tonumber(ffi.C.read(master[0], buffer, 4096)) > 0 do end
    ffi.C.waitpid(pid, status, 0)
    ffi.C.close(master[0])
    return time
end

--- A row of times in ns, the goal in ms.
local function row(name, times, most)
    local value = measure.median(times) / 1e6
    measure.row { name = name, value = value, best = measure.min(times) / 1e6, unit = "ms", goal = most }
end

local times = {}
for k = 1, math.max(RUNS, measure.rounds) do times[k] = time_to_prompt() end
row("to the prompt", times, 100)

-- ---- Completion -----------------------------------------------------------------------------------------------------

local complete = require "neap.interp.complete"
for k = 1, 10000 do rawset(_G, "variable_" .. k, k) end
rawset(_G, "array", require("neap").ones(3))

--- Times of a completion and its list; the first one loads what it needs and counts too.
local function completions(text)
    local list = {}
    for k = 1, measure.rounds do
        local start = measure.now()
        complete.at(text, #text, false)
        complete.list()
        list[k] = measure.now() - start
    end
    return list
end
row("completion: all of 10,000 globals", completions "print(v", 20)
row("completion: a few of 10,000 globals", completions "print(variable_999", 20)
row("completion: methods", completions "(array * 2):cum", 20)
os.exit(0)
