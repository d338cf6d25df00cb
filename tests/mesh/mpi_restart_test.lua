--- mpi_restart_test.lua (release build only): `neap --restart N`: training by two processes, one of which is killed in
-- the middle, ends with the losses of training that nothing disturbed; hosts that do not answer are left out, with as
-- many devices in all; what is told of a failure; what it refuses; when it starts nothing anew.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local folder = os.tmpname()
os.remove(folder)
os.execute(("mkdir '%s'"):format(folder))

--- Runs neap --restart with these words. Returns the status, and what was written to stdout and stderr.
local function restart(...)
    return process.run { "timeout", "-k", "5", "600", process.neap, "--restart", ... }
end

--- A shell's script, whose runs are counted in a file: as $n in it.
local function counted(name, text)
    local path = ("%s/%s"):format(folder, name)
    return process.file(("echo run >>'%s'\nn=$(wc -l <'%s')\n%s"):format(path, path, text))
end

local function has(text, part)
    check.ok(text:find(part, 1, true), ("%s\n--- is not in:\n%s"):format(part, text))
end

-- ---- A command that fails -------------------------------------------------------------------------------------------

check.test("a command that fails is started anew, until it ends well", function()
    local script = counted("twice", [[echo "turn $n"; [ $n -gt 2 ] || { printf 'no\nluck %s' $n >&2; exit 5; }]])
    local status, out, err = restart("4", "sh", script)
    check.equal({ status, out }, { 0, "turn 1\nturn 2\nturn 3\n" })
    check.equal(err, "no\nluck 1neap: run 1 has failed with status 5: its last line: luck 1\nneap: restart 1 of 4\n"
        .. "no\nluck 2neap: run 2 has failed with status 5: its last line: luck 2\nneap: restart 2 of 4\n")
end)

check.test("it gives up after so many restarts, with the status of the last run", function()
    local status, out, err = restart("1", "sh", counted("always", "echo $n; kill -9 $$"))
    check.equal({ status, out }, { 137, "1\n2\n" })
    check.equal(err, "neap: run 1 has failed with status 137\nneap: restart 1 of 1\n"
        .. "neap: run 2 has failed with status 137\nneap: it has failed for good, after 1 restart\n")
end)

check.test("what is wrong in a command line, or told by a signal, is not done again", function()
    local status, out, err = restart("3", "sh", counted("usage", "echo $n; exit 2"))
    check.equal({ status, out, err }, { 2, "1\n", "" })
    status, out, err = restart("3", folder .. "/nothing")
    check.equal({ status, out }, { 127, "" })
    has(err, ("neap: cannot run '%s/nothing': No such file or directory; --restart wants a command"):format(folder))
    local script = counted("stopped", "trap 'echo told; exit 143' TERM; kill $PPID; while :; do sleep 0.1; done")
    status, out, err = restart("3", "sh", script)
    check.equal({ status, out, err }, { 143, "told\n", "" })
end)

check.test("what neap and mpirun tell of a failure", function()
    local function told(line)
        local text = ('[ $((n %% 2)) = 0 ] || { cat >&2; exit 1; } <<"E"\n%s\nE'):format(line)
        local _, _, err = restart("1", "sh", counted("told", text))
        return err:match "run 1 has failed with status 1: ([^\n]*)" or err
    end
    check.equal(told("neap: [process 0] terminated (SIGTERM) at train.lua:30; collective 16 (psum of f32, 8 elements) "
        .. "waits for process 2 on node3"), "process 0 waited for process 2 on node3 at train.lua:30")
    check.equal(told("neap: [process 0] train.lua:31: psum: collective 84 (psum of f32, 8 elements, at train.lua:22) "
        .. "cannot finish: it waits for process 3 on node7, which has ended after collective 83"),
        "process 0 waited for process 3 on node7 at train.lua:22")
    check.equal(told("neap: [process 1] train.lua:7: boom\nmpirun noticed that process rank 1 with PID 7 on node node2 "
        .. "exited on signal 11 (Segmentation fault)."),
        "process 1 on node2 was ended by signal 11 (Segmentation fault); process 1: train.lua:7: boom")
    check.equal(told "neap: train.lua:7: boom", "train.lua:7: boom")
end)

-- ---- Hosts, and checkpoints -----------------------------------------------------------------------------------------

check.test("hosts that do not answer are left out, with as many devices in all", function()
    local reach = "sh " .. process.file "case $1 in (c|lost*) echo \"no way to $1\" >&2; exit 255;; (*) exec $2;; esac"
    local script = counted("hosts", [[echo "$@"; [ $n -gt 1 ] ]])
    local status, out, err = restart("2", "--hosts", "a,b,c,d", "--reach", reach, "--devices", "2", "sh", script,
                                     "{hosts}", "{count}x{devices}", "{other}")
    check.equal({ status, out }, { 0, "a,b,c,d 4x2 {other}\na,b 2x4 {other}\n" })
    has(err, ("neap: the host c does not answer: '%s c true' ended with status 255: no way to c\n"):format(reach))
    has(err, "neap: restart 1 of 2, on a, b with 4 devices each\n")
    script = counted("count", [[echo "$@"; [ $n -gt 1 ] ]])
    status, out = restart("1", "--hosts", "a,b,c,d", "--reach", reach, "sh", script, "of {count}")
    check.equal({ status, out }, { 0, "of 4\nof 3\n" })
    status, out, err = restart("1", "--hosts", "lost1,lost2", "--reach", reach, "sh", "-c", "exit 6", "{hosts}")
    check.equal({ status, out }, { 6, "" })
    has(err, "neap: restart 1 of 1 is left out: no host answers\nneap: it has failed for good, after 1 restart\n")
end)

check.test("{resume} is --resume where there is a checkpoint", function()
    local saved = folder .. "/saved"
    local script = counted("resume", ([[echo "$@"; mkdir -p '%s'; echo >'%s/manifest.json'; [ $n -gt 1 ] ]]):format(
        saved, saved))
    for _, words in ipairs { { "--checkpoint", saved }, { "--checkpoint=" .. saved } } do
        os.execute(("rm -rf '%s' '%s/resume'"):format(saved, folder))
        local status, out, err = restart("1", "sh", script, words[1], words[2] or "more", "{resume}")
        local shown = words[1] .. " " .. (words[2] or "more")
        check.equal({ status, out }, { 0, shown .. "\n" .. shown .. " --resume\n" })
        has(err, ("neap: restart 1 of 1, from the checkpoint in %s\n"):format(saved))
    end
end)

check.test("what it refuses", function()
    local function refuses(message, ...)
        local status, out, err = process.run_neap { ... }
        check.equal({ status, out }, { 2, "" }, message)
        has(err, "neap: " .. message)
    end
    refuses("--restart wants a number from 1 to 1024, not '0'", "--restart", "0", "true")
    refuses("--restart wants a command: neap --restart 3 mpirun -n 4 neap script.lua\n", "--restart", "2")
    refuses("--restart takes --hosts, --reach and --devices beside it", "--restart", "2", "--workers", "2", "true")
    refuses("--hosts wants --restart N\n", "--hosts", "a", "x.lua")
    refuses("--reach wants --restart N\n", "--reach", "rsh", "x.lua")
    refuses("{hosts} in the command wants --hosts A,B", "--restart", "2", "echo", "{hosts}")
    refuses("--hosts: the command has neither {hosts} nor {count}", "--restart", "2", "--hosts", "a,b", "echo")
    refuses("{resume} in the command wants --checkpoint FOLDER", "--restart", "2", "echo", "{resume}")
end)

-- ---- Training -------------------------------------------------------------------------------------------------------

-- Runs a script, whose process 1 is killed behind its second checkpoint, the first time.
local KILLED = process.file [[
local marker, script = table.remove(arg, 1), table.remove(arg, 1)
local save, saves = np.io.save_checkpoint, 0
function np.io.save_checkpoint(...)
    save(...)
    saves = saves + 1
    if saves == 2 and np.process_index() == 1 and not io.open(marker) then
        io.open(marker, "w"):close()
        os.execute "kill -9 $PPID"
    end
end
arg[0] = script
loadfile(script)(unpack(arg))
]]

local missing = mpirun.missing()
if missing then
    check.skip("training whose process is killed", missing)
else
    local MPIRUN = { "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", process.neap, KILLED }
    local function trained(name, ...)
        local words = {}
        for k, word in ipairs(MPIRUN) do words[k] = word end
        words[#words + 1] = ("%s/%s.marker"):format(folder, name)
        for _, word in ipairs { ... } do words[#words + 1] = word end
        return restart("2", unpack(words))
    end

    check.test("training whose process is killed has the losses of one that is not", function()
        local script = "tests/mesh/hosts_train.lua"
        local _, whole = process.run_neap { "--devices", "2", script, folder .. "/alone", "6" }
        local status, out, err = trained("line", script, folder .. "/line", "6")
        check.equal(status, 0, err)
        has(out, "goes on behind step\t2\n")
        local first, rest = out:match "^(.-)goes on behind step\t2\n(.*)$"
        check.equal(first:match "^step\t1[^\n]*\nstep\t2[^\n]*\n" .. rest, whole)
        has(err, "neap: restart 1 of 2\n")
        check.ok(err:find "run 1 has failed with status %d+: process 1 on %S+ was ended by signal 9 %(Killed%)", err)
    end)

    check.test("a training script with --checkpoint and {resume}: the same", function()
        local words = { "scripts/train_gpt.lua", "--text", "rhyme", "--steps", "4", "--every", "1", "--batch", "2",
                        "--context", "8", "--width", "8", "--layers", "1", "--heads", "1", "--write", "8" }
        local _, whole = process.run_neap { "--devices", "2", unpack(words) }
        words[#words + 1] = "--checkpoint"
        words[#words + 1] = folder .. "/gpt"
        words[#words + 1] = "{resume}"
        local status, out, err = trained("gpt", unpack(words))
        check.equal(status, 0, err)
        has(err, ("neap: restart 1 of 2, from the checkpoint in %s/gpt\n"):format(folder))
        local tail = out:match "resuming after step 2 of [^\n]*\n[^\n]*\n(.*)$"
        check.ok(tail and #tail > 0 and whole:sub(-#tail) == tail, out .. "\n--- whole:\n" .. whole)
    end)

    check.test("inside of mpirun it says where it belongs", function()
        local status, _, err = mpirun.run(2, { "--restart", "3", "x.lua" })
        check.equal(status, 2)
        has(err, "--restart stands in front of mpirun: neap --restart 3 mpirun ... neap script.lua\n")
    end)
end

os.execute(("rm -rf '%s'"):format(folder))
process.cleanup()
check.done()
