--- surroundings_test.lua (release build only): short programs in surroundings that are not as usual: a home that is
-- full, read-only, missing or somebody else's, little memory, few files, threads or bytes of a file, one CPU, many
-- workers, a time of the day that jumps. Each gives its right result; where it cannot, an error, and a status that is
-- not 0. What cannot be saved is told with its name and its reason, and what was there before is whole.
--
-- Programs and limits are drawn at random (seeded); with NEAP_TEST_LONG it is each program, in each of them.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local programs = require "tests.lib.short_programs"
local savers = require "tests.lib.savers"
local seeds = require "tests.lib.seeds"

local LIMIT, SOON, DRAWN = 200, 1, 2 -- seconds; programs
local random = seeds.generator(seeds.first)
local work = os.tmpname()
local home = work .. ".home"
assert(os.execute(("mkdir '%s' && chmod 755 '%s'"):format(home, programs.folder)) == 0)
local build = process.neap:gsub("[^/]*$", "")

-- The shell runs these lines in front of a program. right: it has its right result there, always; limits: each of these
-- takes the place of N; root: it takes root's rights; home: its home; workers: as many.
local OTHER = "exec setpriv --reuid=64123 --regid=64123 --clear-groups"
local surroundings = {
    { name = "a full home", root = true, right = true, line = [[mount -t tmpfs -o size=64k none "$HOME" || exit 99
        dd if=/dev/zero of="$HOME/all" 2>/dev/null
        exec "$@"]] },
    { name = "a home without inodes", root = true, right = true,
      line = [[mount -t tmpfs -o nr_inodes=1 none "$HOME" || exit 99; exec "$@"]] },
    { name = "a read-only home", root = true, right = true,
      line = [[mount -t tmpfs -o ro none "$HOME" || exit 99; exec "$@"]] },
    { name = "no home", right = true, home = "/nonexistent/home", line = [[exec "$@"]] },
    { name = "a home that is a file", right = true, home = "/dev/null", line = [[exec "$@"]] },
    { name = "somebody else's home", root = true, right = true, line = OTHER .. [[ "$@"]] },
    { name = "one CPU", right = true, line = [[exec taskset -c 0 "$@"]] },
    { name = "64 workers", right = true, workers = 64, line = [[exec "$@"]] },
    { name = "time that jumps", right = true,
      line = ([[LD_PRELOAD='%stests/faults/plugin/neap_jump.so' exec "$@"]]):format(build) },
    { name = "few files", line = [[ulimit -n N; exec "$@"]], limits = { 4, 6, 8, 10, 12, 14, 16, 20, 24, 32 } },
    { name = "small files", line = [[ulimit -f N; exec "$@"]], limits = { 1, 2 } },
    { name = "little memory", line = [[ulimit -v N; exec "$@"]],
      limits = { 60000, 80000, 120000, 160000, 200000, 250000, 300000, 400000 } },
    { name = "few threads", root = true, line = [[ulimit -u N; ]] .. OTHER .. [[ "$@"]], limits = { 1, 2, 3, 5, 8 } },
}

local is_root = process.run { "sh", "-c", [[ [ "$(id -u)" = 0 ] && unshare -m true ]] } == 0
local others_can = is_root and process.run { "sh", "-c", OTHER:gsub("^exec ", "") .. " '" .. process.neap
                                             .. "' -e ''" } == 0

--- The words of a program with so many workers.
local function words_of(program, workers)
    local words = programs.words(program)
    if workers then
        table.insert(words, 2, "--workers")
        table.insert(words, 3, tostring(workers))
    end
    return words
end

local function run(program, place, limit)
    local words = { "env", "HOME=" .. (place.home or home) }
    for _, name in ipairs { "XDG_CACHE_HOME", "XDG_STATE_HOME" } do table.insert(words, 2, "--unset=" .. name) end
    if place.root then
        words[#words + 1] = "unshare"
        words[#words + 1] = "-m"
    end
    local line = place.line:gsub("N", tostring(limit))
    for _, word in ipairs { "timeout", "-k", "5", tostring(program.lives and SOON or LIMIT), "sh", "-c",
                            line, "sh", unpack(words_of(program, place.workers)) } do
        words[#words + 1] = word
    end
    return process.run(words, program.input)
end

--- The system's loader has found no room for a program.
local function is_not_loaded(status, err)
    return status == 127 and err:find "error while loading shared libraries"
end

local function check_run(program, expected, place, limit)
    local status, out, err = run(program, place, limit)
    local problem = programs.fault(program, expected, status, out, err)
    if problem and is_not_loaded(status, err) then problem = nil end
    if not problem and place.right and out ~= expected then problem = "has another result" end
    if problem then
        error(("%s, %s, %s: it %s (status %d)\nstdout: %s\nstderr: %s")
              :format(program.name, place.name, tostring(limit), problem, status, out, err), 0)
    end
end

--- What every run of a place is made of: programs, and limits, of which `false` is none.
local function each_run(place, f)
    local limits = place.limits or { false }
    if seeds.is_long then
        for _, program in ipairs(programs.list) do
            for _, limit in ipairs(limits) do f(program, limit) end
        end
    else
        for _ = 1, DRAWN do f(programs.list[random(#programs.list)], limits[random(#limits)]) end
    end
end

local expected = {} -- by the program

for _, place in ipairs(surroundings) do
    local writes_there = place.root and place.line:find("setpriv", 1, true)
    if place.root and not is_root or writes_there and not others_can then
        check.skip(place.name, "it takes root's rights, and a build that others can read")
    else
        check.test(place.name, function()
            each_run(place, function(program, limit)
                local is_own_file = program.lives or ({ csv = 1, file = 1, timeline = 1 })[program.name]
                if program.library or writes_there and is_own_file then return end -- the folder is root's
                if not expected[program] then
                    local status, out, err = run(program, { line = [[exec "$@"]] })
                    if err:find "^kernel: " then return end -- built without
                    check.equal({ status, err }, { program.lives and 124 or 0, "" }, program.name)
                    expected[program] = out
                end
                check_run(program, expected[program], place, limit)
            end)
        end)
    end
end

-- ---- What cannot be saved -------------------------------------------------------------------------------------------

-- What befalls a folder in which version 1 lies of all that can be saved, the reason that is then told, and who tries.
local FATES = {
    { "No space left on device", [[dd if=/dev/zero of="FOLDER/all" 2>/dev/null || true]] },
    { "Read-only file system", [[mount -o remount,ro "$(dirname FOLDER)"]] },
    { "Permission denied", [[chmod -R a-w FOLDER]], 64123 },
    { "No such file or directory", [[rm -r FOLDER]] },
}

--- A script: saves version 1 in the folder, lets that meet its fate, and prints what is told of version 2.
local function script(folder, fate)
    local lines = {}
    for _, saver in ipairs(savers) do lines[#lines + 1] = savers.script({ saver }, 1, random) end
    lines[#lines + 1] = ("assert(os.execute(%q) == 0)"):format((fate[2]:gsub("FOLDER", folder)))
    if fate[3] then lines[#lines + 1] = ("assert(require 'ffi'.C.setuid(%d) == 0)"):format(fate[3]) end
    for _, saver in ipairs(savers) do
        lines[#lines + 1] = ("print('%s', pcall(function(...) %s end, %q))"):format(
            saver.name, savers.script({ saver }, 1, random, 2), folder)
    end
    return "require 'ffi'.cdef 'int setuid(unsigned user);'\n" .. table.concat(lines, "\n")
end

for _, fate in ipairs(is_root and FATES or {}) do
    check.test("saving: " .. fate[1], function()
        local folder, kept = home .. "/in", work .. ".kept"
        os.execute(("rm -rf '%s'"):format(kept))
        local line = [[mount -t tmpfs -o size=512k none "$1" && mkdir "$1/in" && chmod 755 "$1" || exit 99
            "$2" "$3" "$1/in" && mkdir "$4" && { [ ! -d "$1/in" ] || cp -r "$1/in/." "$4"; }]]
        local status, out, err = process.run { "unshare", "-m", "sh", "-c", line, "sh", home, process.neap,
                                               process.file(script(folder, fate)), kept }
        check.equal({ status, err }, { 0, "" })
        for _, saver in ipairs(savers) do
            local from = out:find(saver.name .. "\tfalse\t", 1, true)
            local told = from and out:match("^[^\n]*", from) or out
            check.ok(told:find(folder .. "/" .. saver.name, 1, true) and told:find(fate[1], 1, true), told)
            if not fate[2]:find "^rm" then check.equal(saver.load(kept .. "/" .. saver.name), 1, saver.name) end
        end
    end)
end

os.execute(("rm -rf '%s' '%s.kept'"):format(home, work))
programs.remove_all()
check.done()
