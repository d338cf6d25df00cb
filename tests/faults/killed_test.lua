--- killed_test.lua (release build only): a program is killed (SIGKILL) in front of one of its changes of files: a saved
-- file or checkpoint is the old one or the new one, whole; a history keeps what was in it; a cache does no harm. The
-- next program works, and removes what the killed one has left. The moments are drawn at random; with NEAP_TEST_LONG
-- also moments between the changes.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local savers = require "tests.lib.savers"
local seeds = require "tests.lib.seeds"
local supervised = require "tests.lib.supervised"

local missing = supervised.missing()
if missing then
    check.skip("programs that are killed", missing)
    check.done()
end

local KILLED = 137
local work = os.tmpname()
local folder = work .. ".folder"

local function empty()
    assert(os.execute(("rm -rf '%s' && mkdir '%s'"):format(folder, folder)) == 0)
end

local function run(command, kill)
    return supervised.run({ below = folder, kill = kill }, command,
                          { XDG_CACHE_HOME = folder, XDG_STATE_HOME = folder })
end

--- Runs a command to its end, in an empty folder; returns its output and the number of changes.
local function whole(command)
    empty()
    local status, out, err, changes = run(command)
    check.equal({ status, err }, { 0, "" })
    return out, changes
end

local function names()
    local pipe = io.popen(("ls '%s'"):format(folder))
    local text = pipe:read "*a"
    pipe:close()
    return text
end

--- Kills a command in front of change `at`, or at a random moment if that is nil.
local function kill(command, at, random)
    if at then
        check.equal((run(command, at)), KILLED)
    else
        process.run { "env", "XDG_CACHE_HOME=" .. folder, "XDG_STATE_HOME=" .. folder, "timeout", "-s", "KILL",
                      ("%.4f"):format(random(2000) / 10000), unpack(command) }
    end
end

check.test("files and checkpoints", function()
    for seed in seeds.each(8) do
        local random = seeds.generator(seed)
        local saver = savers[random(#savers)]
        local function command(version)
            return { process.neap, process.file(savers.script({ saver }, 1, random, version)), folder }
        end
        local _, changes = whole(command(1))
        local again = command(2)
        local at = (not seeds.is_long or random(2) == 1) and random(changes) or nil
        local told = ("seed %d, %s, change %s"):format(seed, saver.name, tostring(at))
        kill(again, at, random)
        local found = saver.load(folder .. "/" .. saver.name)
        check.ok(found == 1 or found == 2, ("%s: version %s"):format(told, found))
        check.equal((run(command(3))), 0, told)
        check.equal(saver.load(folder .. "/" .. saver.name), 3, told)
        check.equal(names(), saver.name .. "\n", told)
        process.cleanup()
    end
end)

check.test("the history of notebooks", function()
    local code = [[
local history = require "neap.interp.kernel_history"
for k = 1, 3 do history.keep(k, "cell " .. k) end
for _, cell in ipairs(history.answer(nil, { hist_access_type = "tail" }).history) do print(cell[1], cell[3]) end]]
    local command = { process.neap, "-e", code }
    local out, changes = whole(command)
    check.equal(out, "1\tcell 1\n1\tcell 2\n1\tcell 3\n")
    for seed in seeds.each(2) do
        local random = seeds.generator(seed)
        local at = random(changes)
        empty()
        kill(command, at)
        local _, found = run(command)
        local own, before = found:match "(%d+)\tcell 3\n$", {}
        for session, cell in found:gmatch "(%d+)\tcell (%d)\n" do
            if session ~= own then before[#before + 1] = tonumber(cell) end
        end
        for k, cell in ipairs(before) do check.equal(cell, k) end
        check.ok(own and #before <= 3, ("change %d: %s"):format(at, found))
    end
end)

check.test("the cache of native code", function()
    local code = [[
local f = np.jit(function(x) return (np.exp(x) * 0.5 + 1) / (x + 2) - x * 0.25 end)
print(f(np.ones{1000}):sum())]]
    local command = { process.neap, "--tier", "native", "-e", code }
    local out, changes = whole(command)
    if changes == 0 then return end -- built without native code
    for seed in seeds.each(2) do
        local random = seeds.generator(seed)
        local at = (not seeds.is_long or random(2) == 1) and random(changes) or nil
        empty()
        kill(command, at, random)
        local status, again, err = run(command)
        check.equal({ status, again, err }, { 0, out, "" }, "change " .. tostring(at))
    end
end)

os.execute(("rm -rf '%s'"):format(folder))
process.cleanup()
check.done()
