--- training.lua: what every training script keeps, checked with a small run of it: it learns; equal seeds give equal
-- bits, whatever the number of worker threads; a run that was ended and resumed ends as one that was not; devices in
-- one process and in several give the same; what it refuses; and nothing is written that nobody asked for.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local training = {}

-- Runs a script, and ends it as a signal would as soon as its first checkpoint is complete.
local ENDED = process.file [[
local save = np.io.save_checkpoint
function np.io.save_checkpoint(...)
    save(...)
    np.effects_barrier()
    os.exit(7)
end
local script = table.remove(arg, 1)
arg[0] = script
dofile(script)
]]

local function joined(...)
    local list = {}
    for _, part in ipairs { ... } do
        for _, word in ipairs(part) do list[#list + 1] = word end
    end
    return list
end

local function folder_name()
    local path = process.file ""
    os.remove(path)
    return path
end

--- Checks a script with arguments for a small run. value: a pattern of the number in its output that tells how good it
-- is. less: the first such number is greater than the last, else it is less. close: by which share the first one may
-- differ on two devices.
function training.check(script, words, o)
    local path = "scripts/" .. script .. ".lua"
    local function run(options, ...)
        return process.run_neap(joined(options, { path }, words, { ... }))
    end
    local function output(...)
        local status, out, err = run(...)
        check.equal({ status, (err:gsub("[^\n]*it/s[^\n]*\n", ""):gsub("[^\n]*s/it[^\n]*\n", "")) }, { 0, "" })
        return out
    end
    local function numbers(out)
        local list = {}
        for text in out:gmatch(o.value) do list[#list + 1] = tonumber(text) end
        return list
    end
    local whole = output {}

    check.test(script .. " learns", function()
        local list = numbers(whole)
        check.ok(#list >= 2, whole)
        local first, last = list[1], list[#list]
        if not o.less then first, last = last, first end
        check.ok(first > last, whole)
    end)

    check.test(script .. ": the same bits with other numbers of workers, others with another seed", function()
        for _, workers in ipairs { "1", "3" } do check.equal(output { "--workers", workers }, whole, workers) end
        check.ok(output({}, "--seed", "5") ~= whole)
    end)

    check.test(script .. ": ended and resumed is as not ended", function()
        local folder, picture = folder_name(), folder_name() .. ".svg"
        local status, out, err = process.run_neap(joined({ ENDED, path }, words, { "--checkpoint", folder }))
        check.equal(status, 7, out .. err)
        local again = output({}, "--checkpoint", folder, "--resume", "--plot", picture)
        check.ok(again:find("resuming after ", 1, true), again)
        local _, ends = again:find "resuming after [^\n]*\n"
        local rest = again:sub(ends + 1)
        local tail = rest:match "\n(.*)" -- behind the line that tells sizes
        check.ok(#tail > 0 and whole:sub(-#tail) == tail, again .. "\n--- whole:\n" .. whole)
        check.ok(process.read(picture):find("<svg", 1, true), "a picture")
        local other, _, message = run({}, "--checkpoint", folder, "--resume", "--seed", "9")
        check.equal(other, 1)
        check.ok(message:find("has the number 0 at 'seed', where option 'like' has the number 9", 1, true), message)
        os.execute(("rm -rf '%s'"):format(folder))
        os.remove(picture)
    end)

    local here = output { "--devices", "2" }
    check.test(script .. ": two devices", function()
        local alone, divided = numbers(whole), numbers(here)
        check.equal(#divided, #alone, here)
        check.ok(math.abs(divided[1] - alone[1]) <= o.close * math.abs(alone[1]), here .. whole)
    end)

    local missing = mpirun.missing()
    if missing then
        check.skip(script .. " in two processes", missing)
    else
        check.test(script .. " in two processes", function()
            local status, out, err = mpirun.run(2, joined({ "--devices", "1", path }, words))
            check.equal(status, 0, err)
            check.equal(out, here)
        end)
    end

    check.test(script .. ": what it refuses", function()
        local status, out = run({}, "--help")
        check.equal(status, 0)
        check.ok(out:find("usage: scripts/" .. script .. ".lua [options]", 1, true), out)
        local function refuses(expected, message, ...)
            local got, _, err = run({ "--devices", "2" }, ...)
            check.equal(got, expected, err)
            check.ok(err:find(message, 1, true) and not err:find "traceback", err)
        end
        refuses(2, "unknown option '--sed'; did you mean '--seed'?", "--sed", "1")
        refuses(2, "option '--batch' must be an integer from", "--batch", "0")
        refuses(1, "--resume needs --checkpoint FOLDER", "--resume")
        refuses(1, "cannot be divided by 2 devices", "--batch", "3")
        refuses(1, "cannot open '/nowhere/at/all/", "--resume", "--checkpoint", "/nowhere/at/all")
    end)
end

return training
