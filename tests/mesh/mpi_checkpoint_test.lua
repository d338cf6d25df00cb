--- mpi_checkpoint_test.lua (under asan with --long): checkpoints that several processes write and read together: on
-- other numbers of processes and other meshes, and what happens when one of them cannot write.
--
-- The same file is the script that the processes run: mpi_checkpoint_test.lua WHAT FOLDER.
local np = require "neap"
local check = require "tests.lib.check"

local P = np.P
local what, folder = ...

--- Arrays by name, on one device.
local function make()
    return { rows = np.arange(96):reshape(16, 6), both = np.random.normal(np.random.key(3), { 16, 8 }),
             same = np.arange(5), plain = np.linspace(0, 1, 7), bits = np.arange(16):remainder(3):eq(0) }
end

--- The checkpoint's arrays, which lie on a mesh, compared with make's; in one order, as all processes take part.
local function compare(mesh, saved)
    local t = make()
    for _, name in ipairs { "rows", "both", "same", "plain", "bits" } do
        local whole = np.device_put(saved[name], mesh, P())
        assert(np.array_equal(whole, t[name]), name .. " is another")
    end
    assert(saved.number == 1.5 and saved.text == "text")
end

if what then
    local n = #np.devices()
    local mesh = np.mesh({ n / 2, 2 }, { "i", "j" })
    local t = make()
    if what == "save" then
        t.number, t.text = 1.5, "text"
        t.rows = np.device_put(t.rows, mesh, P { "j", "i" })
        t.both, t.same = np.device_put(t.both, mesh, P("j", "i")), np.device_put(t.same, mesh, P())
        t.bits = np.device_put(t.bits, mesh, P "i")
        np.io.save_checkpoint(folder, t)
        np.io.save_checkpoint(folder, t)
    elseif what == "load" then
        compare(mesh, np.io.load_checkpoint(folder, { mesh = mesh, specs = { rows = P(nil, "j"), both = P("i", "j"),
                                                                              bits = P "j" } }))
        print "the same"
    elseif what == "fail" then -- process 1 cannot: nobody makes files where it tries
        t.rows = np.device_put(t.rows, mesh, P "i")
        local ok, problem = pcall(np.io.save_checkpoint, np.process_index() == 1 and "/proc" or folder, t)
        assert(not ok)
        local mine = np.process_index() == 1 and "cannot write" or "process 1 failed"
        assert(problem:find(mine, 1, true), problem)
        compare(mesh, np.io.load_checkpoint(folder, { mesh = mesh }))
        print "all of them raise"
    elseif what == "apart" then
        t.rows = np.device_put(t.rows, mesh, P "i")
        local own = folder .. np.process_index()
        local ok, problem = pcall(np.io.save_checkpoint, own, t)
        local mine = np.process_index() > 0 and "process 0 failed"
            or ("process 1 has written, and nothing of it is in '%s' of process 0: all hosts have to share"):format(own)
        assert(not ok and problem:find(mine, 1, true), problem)
        os.execute(("rmdir '%s'"):format(own)) -- nothing is left in it
        print "all of them raise"
    elseif what == "differ" then
        t.rows = np.device_put(t.rows, mesh, P "i")
        if np.process_index() == 1 then t.same = nil end
        local ok, problem = pcall(np.io.save_checkpoint, folder, t)
        local mine = np.process_index() > 0 and "process 0 failed"
            or "process 1 saves another tree than process 0: its leaf 5 is 'missing', not 'same'"
        assert(not ok and problem:find(mine, 1, true), problem)
        print "all of them raise"
    end
    return
end

local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local SCRIPT = "tests/mesh/mpi_checkpoint_test.lua"
local missing = mpirun.missing()
if missing then
    check.skip("checkpoints of several processes", missing)
    check.done()
    return
end

folder = os.tmpname()
os.remove(folder)

local function run(ranks, devices, mode)
    local status, out, err = mpirun.run(ranks, { "--devices", devices, SCRIPT, mode, folder })
    check.ok(status == 0, ("%d processes, %s: status %d: %s%s"):format(ranks, mode, status, out, err))
    return out
end

local function names()
    local pipe = io.popen("ls " .. folder)
    local text = pipe:read "*a"
    pipe:close()
    return text
end

check.test("checkpoints of several processes", function()
    run(4, 2, "save")
    local tag = names():match "^data%-(%x+)%-0.bin"
    check.equal(names(), (("data-T-0.bin\ndata-T-1.bin\ndata-T-2.bin\ndata-T-3.bin\nmanifest.json\n")
        :gsub("T", tostring(tag))))
    check.equal(run(2, 2, "load"), "the same\n")
    check.equal(select(2, process.run_neap { "--devices", "8", SCRIPT, "load", folder }), "the same\n")
    check.equal(select(1, process.run_neap { "--devices", "4", SCRIPT, "save", folder }), 0)
    check.equal(run(4, 1, "load"), "the same\n")
end)

check.test("a process that cannot write", function()
    run(2, 2, "save")
    local manifest = process.read(folder .. "/manifest.json")
    local before = names()
    check.equal(run(2, 2, "fail"), "all of them raise\n")
    check.equal(process.read(folder .. "/manifest.json"), manifest)
    check.equal(run(2, 2, "differ"), "all of them raise\n")
    check.equal(process.read(folder .. "/manifest.json"), manifest)
    check.equal(names(), before)
end)

check.test("folders that are not shared", function()
    check.equal(run(2, 2, "apart"), "all of them raise\n")
    for rank = 0, 1 do check.ok(not io.open(folder .. rank), "files were left") end
end)

os.execute("rm -rf " .. folder)
process.cleanup()
check.done()
