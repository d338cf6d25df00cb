--- durable_test.lua: what a function has written survives a power failure from the moment on when it returns: before
-- that, each file is put on the disk before it gets its name, each folder that got a name after it, and the folder
-- above a new one. A library that is preloaded records these calls of savers, drawn at random; where the folder cannot
-- be put on the disk, saving goes on or tells. For the release build only.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local process = require "tests.lib.process"

if os.execute "command -v cc >/dev/null" ~= 0 then
    check.skip("order of calls", "no compiler")
    check.done()
end

local RECORDER = [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void record(const char *format, ...) {
    FILE *file = fopen(getenv("RECORD"), "ae");
    va_list args;
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fclose(file);
}

void record_return(const char *name) {
    record("return %s\n", name);
}

/* The folder of a path, and its last name. */
static const char *place(const char *path, char *folder) {
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/')
        copy[--n] = 0;
    char *slash = strrchr(copy, '/');
    if (!realpath(!slash ? "." : slash == copy ? "/" : (*slash = 0, copy), folder))
        strcpy(folder, "?");
    return folder;
}

int rename(const char *from, const char *to) {
    int (*next)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    char before[PATH_MAX], folder[PATH_MAX];
    if (!realpath(from, before))
        strcpy(before, "?");
    int status = next(from, to);
    if (status == 0)
        record("rename %s\nin %s\n", before, place(to, folder));
    return status;
}

int mkdir(const char *path, mode_t mode) {
    int (*next)(const char *, mode_t) = dlsym(RTLD_NEXT, "mkdir");
    char folder[PATH_MAX];
    int status = next(path, mode);
    if (status == 0)
        record("in %s\n", place(path, folder));
    return status;
}

int fsync(int fd) {
    char link[64], path[PATH_MAX];
    struct stat facts;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = 0;
    if (getenv("REFUSE") && fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        errno = atoi(getenv("REFUSE"));
        return -1;
    }
    record("fsync %s\n", path);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
]]

local source = process.file(RECORDER)
local recorder, records = source .. ".so", source .. ".records"
local status, _, problem = process.run { "cc", "-shared", "-fPIC", "-O1", "-x", "c", source, "-o", recorder, "-ldl" }
check.test("the recorder", function() check.equal({ status, problem }, { 0, "" }) end)

-- Savers, each a call with a path in place of %s; behind it the end of its name.
local SAVERS = {
    { "np.io.save('%s', x)", ".npy" }, { "np.io.savez('%s', {x = x})", ".npz" },
    { "np.io.save_tree('%s', {x, n = 1})", ".npz" }, { "np.io.save_safetensors('%s', {x = x})", ".safetensors" },
    { "np.io.write_csv('%s', np.table{a = x})", ".csv" }, { "np.io.savetxt('%s', x)", ".txt" },
    { "x:tofile('%s')", ".bin" }, { "np.trace(function(v) return v + 1 end)(x):save('%s')", ".neap" },
    { "np.explain(x + 1):save('%s')", ".txt" }, { "np.io.save_checkpoint('%s', {w = x, step = 1})", "" },
    { "np.debug.visualize_sharding({2}, np.NamedSharding(np.mesh({1}, {'i'}), np.P 'i'), {path = '%s'})", ".txt" },
    { "np.io.save_image('%s', np.zeros({2, 2}, {dtype = 'u8'}))", ".png" },
}

--- Runs code under the recorder in a new folder; returns status, the errors, and the lines of the record.
local function run(code, environment)
    os.remove(records)
    local folder = os.tmpname()
    local script = process.file(("local ffi = require 'ffi' ffi.cdef [[int chdir(const char *); "
        .. "void record_return(const char *);]] ffi.C.chdir '%s'\n"):format(folder) .. code)
    local line = ("rm '%s'; mkdir -p '%s/sub'; ln -s sub '%s/link'; RECORD='%s' %s LD_PRELOAD='%s' '%s' '%s'; "
                  .. "status=$?; rm -r '%s'; exit $status"):format(
        folder, folder, folder, records, environment or "", recorder, process.neap, script, folder)
    local code_of, _, err = process.run { "sh", "-c", line }
    local lines, file = {}, io.open(records)
    for text in file and file:lines() or function() end do lines[#lines + 1] = text end
    if file then file:close() end
    return code_of, err, lines
end

--- What is wrong with a record; nil: nothing.
local function fault(lines)
    local synced, waiting = {}, {} -- files; folders that have got names
    for _, line in ipairs(lines) do
        local what, path = line:match "^(%a+) (.*)$"
        if what == "fsync" then
            synced[path], waiting[path] = true, nil
        elseif what == "rename" and not synced[path] then
            return path .. " got its name before it was on the disk"
        elseif what == "in" then
            waiting[path] = true
        elseif what == "return" and next(waiting) then
            return ("%s came back, and the folder %s was not on the disk"):format(path, (next(waiting)))
        end
    end
end

--- A program that calls savers, one after the other. What is missing here, libpng perhaps, saves nothing.
local function program(random, count, first)
    local lines = { "local x, ok, problem = np.arange(3):astype 'f32'" }
    for k = 1, count do
        local saver = SAVERS[k == 1 and first or random(#SAVERS)]
        local path = ({ "", "./", "sub/", "link/", "sub//" })[random(5)] .. "f" .. random(3) .. saver[2]
        if saver[2] == "" and random(2) == 1 then path = path .. "/" end
        lines[#lines + 1] = ("ok, problem = pcall(function() %s end)"):format(saver[1]:format(path))
        lines[#lines + 1] = "if not ok and not tostring(problem):find 'install' then error(problem, 0) end"
        lines[#lines + 1] = ("ffi.C.record_return '%s'"):format(path)
    end
    return table.concat(lines, "\n")
end

check.test("each name is on the disk", function()
    for seed in seeds.each(3) do
        math.randomseed(seed)
        local code = program(math.random, 15)
        local ended, err, lines = run(code)
        check.equal({ ended, err, fault(lines) }, { 0, "" }, code)
        check.ok(#lines > 45, "little was recorded")
    end
end)

check.test("each saver", function()
    math.randomseed(0)
    for k in ipairs(SAVERS) do
        local code = program(math.random, 1, k)
        local ended, err, lines = run(code)
        check.equal({ ended, err, fault(lines) }, { 0, "" }, code)
    end
end)

check.test("a file system that does not put folders on the disk", function()
    for _, errno in ipairs { 22, 95 } do
        math.randomseed(errno)
        local ended, err = run(program(math.random, 15), "REFUSE=" .. errno)
        check.equal({ ended, err }, { 0, "" })
    end
end)

check.test("a disk that fails is told", function()
    local ended, err = run("np.io.save('f.npy', np.ones(2))", "REFUSE=5")
    check.equal(ended, 1)
    check.ok(err:find("cannot write 'f.npy': Input/output error", 1, true), err)
end)

os.remove(recorder)
os.remove(records)
process.cleanup()
check.done()
