--- workers_test.lua (release build only): how many worker threads neap starts: NEAP_WORKERS, a CPU quota, which this
-- makes with a control group where it may, the cores that the process may use; what `neap doctor` says of them.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local COUNT = "print(require('neap.core').C.neap_engine_workers())"

--- What a shell prints that has run this line, in which "$0" is the executable.
local function shell(line, ...)
    local status, out, err = process.run { "sh", "-c", line, process.neap, ... }
    return out, err, status
end

local function row(report)
    return report:match "\nworkers +([^\n]*)" or check.ok(false, report)
end

check.test("NEAP_WORKERS, which --workers overrides", function()
    check.equal(shell([[NEAP_WORKERS=3 "$0" -e "np.zeros(1) $1"]], COUNT), "3\n")
    check.equal(shell([[NEAP_WORKERS=3 "$0" --workers 5 -e "$1"]], COUNT), "5\n")
    check.equal(row((shell [[NEAP_WORKERS=3 "$0" doctor]])), "3: the environment's NEAP_WORKERS says so")
end)

check.test("what NEAP_WORKERS may be", function()
    for _, text in ipairs { "two", "0", "-1", "1.5", "1025", "99999999999999999999" } do
        local message = ("the environment's NEAP_WORKERS wants a number from 1 to 1024, not '%s'"):format(text)
        local out, err, status = shell([[NEAP_WORKERS="$1" "$0" -e "np.zeros(1)"]], text)
        check.equal({ out, status }, { "", 1 })
        check.ok(err:find(message, 1, true), err)
        check.equal(row((shell([[NEAP_WORKERS="$1" "$0" doctor]], text))), "none: " .. message)
    end
end)

local one = shell [[command -v taskset >/dev/null && taskset -c "$(taskset -cp $$ | sed 's/.*[:,-] *//')" "$0" doctor]]
if one == "" then
    check.skip("a process that may use one core", "no taskset")
else
    check.test("a process that may use one core", function()
        check.ok(row(one):find "^1: one for each core that this process may use; ", row(one))
    end)
end

-- Runs `neap doctor` in a control group of this test's, of version 1 or 2, with a quota of so many microseconds in each
-- 100000; status 9: it cannot be made.
local GROUP = [[
group=/neap-test-$$
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then folder=/sys/fs/cgroup$group; else folder=/sys/fs/cgroup/cpu$group; fi
mkdir $folder 2>/dev/null || { echo "no control group can be made here"; exit 9; }
if [ -e $folder/cpu.max ]; then echo "$1 100000" >$folder/cpu.max
elif [ -e $folder/cpu.cfs_quota_us ]; then echo "$1" >$folder/cpu.cfs_quota_us
else false; fi 2>/dev/null &&
    sh -c 'echo $$ >"$1"/cgroup.procs && shift && exec "$@"' sh $folder "$0" doctor 2>/dev/null
status=$?
rmdir $folder
[ $status = 0 ] || { echo "a control group here takes no CPU quota, or no process"; exit 9; }
]]

local report, _, status = shell(GROUP, "40000")
local allowed = tonumber((shell "env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc"))
if row((shell [["$0" doctor]])):find("CPUs (", 1, true) then
    check.skip("a CPU quota", "there is one around this test")
elseif status == 9 then
    check.skip("a CPU quota", report:match "[^\n]*\n$" or report)
elseif allowed < 2 then
    check.skip("a CPU quota", "there is one core")
else
    check.test("a CPU quota decides where it is less than the cores", function()
        local told = row(report)
        check.ok(told:find "^1: the CPU quota says so: 0%.4 CPUs %(/sys/fs/cgroup/[^ ]*neap%-test%-", told)
        check.ok(told:find("this process may use " .. allowed .. " cores", 1, true), told)
        check.ok(row((shell(GROUP, "100001"))):find "^2: ", "rounded up")
        told = row((shell(GROUP, tostring(allowed * 100000))))
        check.ok(told:find(("^%d: one for each core that this process may use; the CPU quota is %d CPUs"):format(
            allowed, allowed)), told)
    end)
end

process.cleanup()
check.done()
