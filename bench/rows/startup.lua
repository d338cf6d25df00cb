--- startup.lua: the wall time of `neap -e 'print(1)'` against `luajit -e 'print(1)'`, alternating, at least 20 times
-- each. Processes are spawned without a shell, their output goes to /dev/null.
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
os.exit(0)
