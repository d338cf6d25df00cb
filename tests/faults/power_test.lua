--- power_test.lua (release build only): programs save files and checkpoints, keep cells of notebooks, and cache native
-- code. What they do to the disk is recorded, and the power fails behind each change: readers find what was saved last,
-- or what is being saved, whole, whichever changes that were not put on the disk are lost (tests/lib/power.lua). Saving
-- goes on from there. The programs and the losses are drawn at random.
local ffi = require "ffi"
local check = require "tests.lib.check"
local power = require "tests.lib.power"
local process = require "tests.lib.process"
local savers = require "tests.lib.savers"
local seeds = require "tests.lib.seeds"
local supervised = require "tests.lib.supervised"

local missing = supervised.missing()
if missing then
    check.skip("the power fails", missing)
    check.done()
end

local work = os.tmpname() -- check.done removes what begins with this
local folder, state, record = work .. ".folder", work .. ".state", work .. ".record"

local function run(code, environment)
    assert(os.execute(("rm -rf '%s' && mkdir '%s'"):format(folder, folder)) == 0)
    local command = { process.neap, process.file(code), folder }
    local status, out, err = supervised.run({ below = folder, record = record }, command, environment)
    check.equal({ status, err }, { 0, "" }, code)
    return out
end

--- Calls f(choose) with losses: of all, of nothing, and `drawn` at random.
local function each_loss(random, drawn, f)
    f(function() return 2 end)
    f(function() return 1 end)
    for _ = 1, drawn do f(random) end
end

local function check_state(done, begun, what)
    for _, saver in ipairs(savers) do
        local newest = begun[saver.name]
        if newest then
            local oldest = done[saver.name] or 0
            local path = state .. "/" .. saver.name
            local ok, found = pcall(saver.load, path)
            local none = not ok and oldest == 0 and tostring(found):find "No such file"
            check.ok(none or ok and (found == oldest or found == newest),
                     ("%s: version %d or %d of %s was expected, got %s"):format(what, oldest, newest, saver.name,
                                                                                 tostring(found)))
        end
    end
end

--- Saving goes on from a state.
local function check_saving(random, what)
    local saver = savers[random(#savers)]
    local code = savers.script({ saver }, 1, random, 99)
    assert(loadstring(code))(state)
    check.equal(saver.load(state .. "/" .. saver.name), 99, what)
    local pipe = io.popen(("ls '%s' | grep -F '%s.' | grep -c 'part$'"):format(state, saver.name))
    check.equal(pipe:read "*a", "0\n", what)
    pipe:close()
end

check.test("files", function()
    local states = 0
    for seed in seeds.each(1) do
        local random = seeds.generator(seed)
        local chosen = {}
        for k = 1, 3 do chosen[k] = savers[random(#savers)] end
        run(savers.script(chosen, 6, random))
        local disk, done, begun = power.new(), {}, {}
        for k, change in ipairs(power.read(record)) do
            local what, name, version = change.path:match "^(%l+)%-(.*)%-(%d+)$"
            if what == "begin" then begun[name] = tonumber(version) end
            if what == "done" then done[name] = tonumber(version) end
            if disk:change(change) then
                each_loss(random, 2, function(choose)
                    disk:write(state, choose)
                    local told = ("seed %d, change %d"):format(seed, k)
                    check_state(done, begun, told)
                    if random(8) == 1 then check_saving(random, told) end
                    states = states + 1
                end)
            end
        end
    end
    check.ok(states > 100, "too few states: " .. states)
end)

-- ---- Cells of notebooks ---------------------------------------------------------------------------------------------

--- The cells of earlier sessions that a new one finds.
local function read_cells()
    ffi.C.setenv("XDG_STATE_HOME", state, 1)
    local history = dofile "interp/kernel_history.lua" -- a new session each time
    return history.answer(nil, { hist_access_type = "tail" }).history, history
end

check.test("the history of notebooks", function()
    local code = [[
local folder = ...
require "ffi".C.setenv("XDG_STATE_HOME", folder, 1)
local history = require "neap.interp.kernel_history"
for k = 1, 4 do
    history.keep(k, "cell " .. k)
    io.open("/mark/done-" .. k)
end]]
    run("require 'ffi'.cdef 'int setenv(const char *name, const char *value, int overwrite);'\n" .. code)
    local random, disk, done = seeds.generator(seeds.first), power.new(), 0
    for k, change in ipairs(power.read(record)) do
        done = tonumber(change.path:match "^done%-(%d+)$") or done
        if disk:change(change) then
            each_loss(random, 2, function(choose)
                disk:write(state, choose)
                for _, cell in ipairs((read_cells())) do
                    check.ok(cell[3] == "cell " .. cell[2] and cell[2] <= done + 1, k .. ": " .. cell[3])
                end
                local _, history = read_cells()
                history.keep(9, "cell 9")
                local cells = read_cells()
                check.equal(cells[#cells] and cells[#cells][3], "cell 9")
            end)
        end
    end
end)

check.test("a history of notebooks that is cut short", function()
    local lines = {}
    for k = 1, 20001 do lines[k] = ('{"session":1,"number":%d,"input":"cell %d"}\n'):format(k, k) end
    local long = table.concat(lines)
    local source = process.file(long)
    run(([[require 'ffi'.cdef 'int setenv(const char *name, const char *value, int overwrite);'
local folder = ...
os.execute("mkdir " .. folder .. "/neap && cp '%s' " .. folder .. "/neap/notebook_history")
require "ffi".C.setenv("XDG_STATE_HOME", folder, 1)
require "neap.interp.kernel_history".keep(1, "cell 1")]]):format(source))
    local random = seeds.generator(seeds.first)
    local disk = power.new { ["neap/notebook_history"] = long }
    for _, change in ipairs(power.read(record)) do
        if disk:change(change) then
            each_loss(random, 1, function(choose)
                disk:write(state, choose)
                check.ok(#read_cells() >= 10000, "cells are lost")
            end)
        end
    end
end)

check.test("a line of the history of notebooks that was cut short takes no other with it", function()
    local line = '{"session":1,"number":%d,"input":"cell %d"}\n'
    local whole = line:format(1, 1)
    for bytes = 1, #whole do
        power.new { ["neap/notebook_history"] = whole .. line:format(2, 2):sub(1, bytes) }:write(state)
        local found, history = read_cells()
        check.equal(#found, bytes < #whole - 1 and 1 or 2)
        history.keep(3, "cell 3")
        found = read_cells()
        check.equal(found[1], { 1, 1, "cell 1" })
        check.equal(found[#found], { 2, 3, "cell 3" })
    end
end)

-- ---- Native code ----------------------------------------------------------------------------------------------------

check.test("the cache of native code", function()
    local code = [[
local f = np.jit(function(x) return (np.exp(x) * 0.5 + 1) / (x + 2) - x * 0.25 end)
print(f(np.ones{1000}):sum())
print(require "neap.core".C.neap_wait_all())]]
    local function command() return { process.neap, "--tier", "native", process.file(code) } end
    assert(os.execute(("rm -rf '%s' && mkdir '%s'"):format(folder, folder)) == 0)
    local status, expected, err = supervised.run({ below = folder, record = record }, command(),
                                                 { XDG_CACHE_HOME = folder })
    check.equal({ status, err }, { 0, "" })
    local random, list = seeds.generator(seeds.first), power.read(record)
    for round = 1, seeds.is_long and 4 * #list or 3 do
        local disk, stop = power.new(), seeds.is_long and (round - 1) % #list + 1 or random(#list)
        for k = 1, stop do disk:change(list[k]) end
        disk:write(state, random)
        local again, out, problem = process.run { "env", "XDG_CACHE_HOME=" .. state, unpack(command()) }
        check.equal({ again, out, problem }, { 0, expected, "" })
    end
end)

os.execute(("rm -rf '%s' '%s'"):format(folder, state))
process.cleanup()
check.done()
