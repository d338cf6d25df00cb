--- trace_test.lua: `neap --trace FILE`: the file against the Trace Event Format and what the script did, whatever
-- ends it.
local check = require "tests.lib.check"
local json = require "neap.files.json"
local process = require "tests.lib.process"

local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir " .. folder) == 0)
local target = folder .. "/trace.json"

local function write_file(path, text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    return path
end

-- ---- The format -----------------------------------------------------------------------------------------------------

local function is_count(value)
    return type(value) == "number" and value >= 0
end

local phases = {
    M = function(e)
        if e.name == "thread_sort_index" then return is_count(e.args.sort_index) and is_count(e.tid) end
        local named = e.name == "process_name" or e.name == "thread_name" and is_count(e.tid)
        return named and type(e.args.name) == "string"
    end,
    X = function(e)
        return is_count(e.ts) and is_count(e.dur) and is_count(e.tid) and type(e.cat) == "string"
    end,
    b = function(e)
        return is_count(e.ts) and type(e.id) == "string" and type(e.cat) == "string"
    end,
    C = function(e)
        local sound = is_count(e.ts) and next(e.args) ~= nil
        for _, value in pairs(e.args) do sound = sound and is_count(value) end
        return sound
    end,
}
phases.e = phases.b

--- On each thread, of two slices one contains the other or they have nothing in common. Times are exact in ns.
local function check_nesting(slices)
    for tid, list in pairs(slices) do
        table.sort(list, function(a, b)
            if a.from ~= b.from then return a.from < b.from end
            return a.to > b.to
        end)
        local open = {}
        for _, slice in ipairs(list) do
            while #open > 0 and open[#open].to <= slice.from do open[#open] = nil end
            local outer = open[#open]
            if outer and slice.to > outer.to then
                error(("thread %d: %q overlaps with the end of %q"):format(tid, slice.name, outer.name), 0)
            end
            open[#open + 1] = slice
        end
    end
end

local function check_pairs(events)
    local open = {}
    for _, e in ipairs(events) do
        if e.ph == "b" then open[e.id] = e end
    end
    for _, e in ipairs(events) do
        if e.ph == "e" then
            local begun = open[e.id]
            check.ok(begun and begun.name == e.name and begun.cat == e.cat and begun.ts <= e.ts, "e without its b")
            open[e.id] = nil
        end
    end
    check.equal(next(open), nil, "b without an e")
end

--- Reads the file and checks all of it. Returns { events, other = otherData, ops = those that stand for an op,
-- threads = names by tid }.
local function read_trace(path)
    local root = json.read(process.read(path or target))
    check.equal(root.displayTimeUnit, "ns")
    check.equal(root.otherData.complete, true)
    local trace = { events = root.traceEvents, other = root.otherData, ops = {}, threads = {} }
    local slices, pid = {}, root.traceEvents[1].pid
    for k, e in ipairs(trace.events) do
        local sound = phases[e.ph] and type(e.name) == "string" and e.pid == pid and type(e.args) == "table"
        if not (sound and phases[e.ph](e)) then error("event " .. k .. " is not sound", 2) end
        if e.name == "thread_name" then trace.threads[e.tid] = e.args.name end
        if e.cat == "op" and e.ph ~= "e" then table.insert(trace.ops, e) end
        if e.ph == "X" then
            local from = math.floor(e.ts * 1000 + 0.5)
            slices[e.tid] = slices[e.tid] or {}
            table.insert(slices[e.tid], { name = e.name, from = from, to = from + math.floor(e.dur * 1000 + 0.5) })
        end
    end
    for tid in pairs(slices) do check.ok(trace.threads[tid], "thread " .. tid .. " has no name") end
    check_nesting(slices)
    check_pairs(trace.events)
    return trace
end

local function find(events, name, category)
    for _, e in ipairs(events) do
        if e.name == name and e.cat == (category or "op") and e.ph ~= "e" then return e end
    end
    error(("no %s %q in the trace"):format(category or "op", name), 2)
end

--- Runs code under --trace. Returns what run_neap does.
local function run(code, ...)
    return process.run_neap { "--workers", "2", "--trace", target, write_file(folder .. "/script.lua", code), ... }
end

-- ---- What is in it --------------------------------------------------------------------------------------------------

check.test("every op once, with its name, line, bytes and thread", function()
    local status, out, err = run([[
local x = np.arange(6)
print((x:reshape(2, 3) * 2 + 1):sum{axis=0})
local a = np.ones{500, 400}
np.force(a)
local b = a:matmul(a.T)
local ok = pcall(function() return np.debug.fail(b):item() end)
assert(not ok and b:sum():item() == 500 * 500 * 400)
pcall(np.wait_all)
local counters = np.debug.counters()
local file = io.open(arg[1], "w")
file:write(counters.pushed, " ", counters.completed)
file:close()
]], folder .. "/counts")
    check.equal({ status, out, err }, { 0, "[ 8 12 16]\n", "" })
    local trace = read_trace()
    check.equal(trace.other.dropped, 0)
    check.equal(#trace.ops .. " " .. #trace.ops, process.read(folder .. "/counts"))
    local script = folder .. "/script.lua"
    local sum = find(trace.ops, "multiply+add+sum")
    check.equal({ sum.args.line, sum.args.read, sum.args.written, sum.args.state, sum.args.device },
                { script .. ":2", 0, 12, "done", "cpu:0" })
    check.equal(trace.threads[sum.tid], "main")
    check.equal(sum.args.at_push, true)
    local product = find(trace.ops, "matmul2")
    check.equal({ product.args.line, product.args.written }, { script .. ":5", 500 * 500 * 4 })
    check.equal({ product.args.read, product.args.at_push }, { 500 * 400 * 4, false })
    check.ok(trace.threads[product.tid]:find "^worker %d$" and product.args.queued_us >= 0)
    local failed = find(trace.ops, "debug_fail")
    check.equal({ failed.args.line, failed.args.state }, { script .. ":6", "failed" })
    check.ok(failed.args.error:find("script.lua:6: debug_fail", 1, true), failed.args.error)
    local shown = find(trace.ops, "print")
    check.equal({ shown.args.line, shown.args.read }, { script .. ":2", 12 })
    check.equal({ trace.other.workers, trace.other.devices }, { 2, 1 })
end)

check.test("steps that run as one op are named and shown inside it", function()
    local status = run [[
local x = np.linspace(0, 1, 7)
np.force(x)
local _, _, least = np.jit(function(y) return y"1:":max(), (y * y):sum(), y":-1":min() end)(x)
assert(least:item() == 0)
]]
    check.equal(status, 0)
    local trace = read_trace()
    local op = find(trace.ops, "max, multiply+sum, min")
    check.equal({ op.args.read, op.args.written }, { 28, 12 })
    for name, read in pairs { max = 24, ["multiply+sum"] = 28, min = 24 } do
        local step = find(trace.events, name, "step")
        check.equal({ step.tid, step.args.read, step.args.written }, { op.tid, read, 4 })
        check.ok(step.ts >= op.ts and step.ts + step.dur <= op.ts + op.dur + 0.001)
    end
end)

check.test("wide work shows its parts", function()
    check.equal(run "local x = np.ones{4e6} + 1; print((x * x):sum():item())", 0)
    local trace, indices = read_trace(), 0
    local op = find(trace.ops, "add+multiply+sum")
    for _, e in ipairs(trace.events) do
        if e.cat == "share" and e.name == op.name then
            indices = indices + e.args.indices
            check.ok(e.ts >= op.ts and e.ts + e.dur <= op.ts + op.dur + 0.001, "a part inside its op")
        end
    end
    check.ok(indices > 1)
end)

check.test("with every scheduler", function()
    for _, scheduler in ipairs { "pool", "device", "naive" } do
        local script = write_file(folder .. "/script.lua", [[
            local x = np.ones{100, 100}
            for _ = 1, 20 do x = np.force((x:matmul(x) * 0.01):tanh()) end
            np.wait_all()
            local file = io.open(arg[1], "w")
            file:write(np.debug.counters().completed)
            file:close()
        ]])
        check.equal(process.run_neap { "--scheduler", scheduler, "--trace", target, script, folder .. "/counts" }, 0)
        local trace = read_trace()
        check.equal(tostring(#trace.ops), process.read(folder .. "/counts"), scheduler)
        local thread = trace.threads[find(trace.ops, "matmul2").tid]
        if scheduler == "naive" then check.equal(thread, "main") end
    end
end)

check.test("bytes and waiting ops are counted", function()
    check.equal(run "local x = np.debug.sleep(np.ones{1000}, 50); print(x:sum():item())", 0)
    local last, seen = {}, {}
    for _, e in ipairs(read_trace().events) do
        if e.ph == "C" then
            check.ok(not last[e.name] or e.ts >= last[e.name], "samples in order")
            last[e.name], seen[e.name] = e.ts, e.args
        end
    end
    check.ok(seen.memory.live > 0 and seen.memory.pooled)
    check.equal(seen.ops, { unfinished = 0 })
end)

check.test("any file name can stand in a line", function()
    for _, name in ipairs { 'quo"te.lua', "back\\slash.lua", "grün.lua", "bad\255\254.lua", "tab\t.lua" } do
        local script = write_file(folder .. "/" .. name, "np.force(np.ones{3} + 1)")
        check.equal(process.run_neap { "--trace=" .. target, script }, 0)
        local expected = script:gsub("[\254\255]", "\239\191\189") .. ":1"
        check.equal(find(read_trace().ops, "add").args.line, expected)
        os.remove(script)
    end
end)

-- ---- However it ends ------------------------------------------------------------------------------------------------

check.test("an error, os.exit and standard input end it well", function()
    local code = "np.force(np.ones{3} + 1)\n"
    for _, case in ipairs {
        { code .. "error 'no'", 1 }, { code .. "os.exit(3)", 3 }, { code .. "os.exit(true)", 0 },
        { code .. "np.debug.fail(np.ones{3}):item()", 1 }, { code .. "local = 1", 1, true },
    } do
        check.equal(run(case[1]), case[2], case[1])
        local trace = read_trace()
        if not case[3] then find(trace.ops, "add") end
    end
    check.equal(process.run_neap({ "--trace", target }, code), 0)
    find(read_trace().ops, "add")
end)

local function test_interrupt()
    local script = write_file(folder .. "/loop.lua", "np.force(np.ones{3} + 1) print 'ready' while true do end")
    local terminal = process.terminal { "--trace", target, script }
    terminal:expect "ready"
    terminal:kill(2)
    check.equal(terminal:finish(), 130)
    find(read_trace().ops, "add")
end

if os.getenv "NEAP_TEST_BUILD" == "tsan" then
    check.skip("Ctrl-C ends it well", "the thread sanitizer delivers signals only at calls that it knows")
elseif not process.has_hook_checks() then
    check.skip("Ctrl-C ends it well", "this LuaJIT does not check hooks in compiled code")
else
    check.test("Ctrl-C ends it well", test_interrupt)
end

check.test("a kill leaves a document", function()
    local script = write_file(folder .. "/pause.lua", "np.force(np.ones{3} + 1) print 'ready' io.read()")
    local terminal = process.terminal { "--trace", target, script }
    terminal:expect "ready"
    local root
    for _ = 1, 4000 do
        local ok, found = pcall(json.read, process.read(target))
        root = ok and #found.traceEvents > 3 and found
        if root then break end
        process.sleep(0.005)
    end
    terminal:kill(9)
    check.equal(terminal:finish(), 137)
    root = json.read(process.read(target))
    find(root.traceEvents, "add")
    check.equal(root.otherData.complete, false)
end)

check.test("a full disk is said and makes the status 1", function()
    local script = write_file(folder .. "/long.lua",
                              "for k = 1, 2000 do np.force(np.ones{3} + k) end print 'done'")
    local limited = ("ulimit -f 16; exec '%s' --trace '%s' '%s'"):format(process.neap, target, script)
    local status, out, err = process.run { "sh", "-c", limited }
    check.equal({ status, out }, { 1, "done\n" })
    check.equal(err, ("neap: cannot write the timeline '%s': File too large\n"):format(target))
    local root = json.read(process.read(target))
    check.equal(root.otherData.complete, false)
    check.ok(#root.traceEvents < 2000)
end)

check.test("what cannot be written is said before the script runs", function()
    local cases = { [folder .. "/no/where.json"] = "No such file or directory",
                    ["/dev/full"] = "No space left on device", [folder] = "Is a directory" }
    for path, reason in pairs(cases) do
        local status, out, err = process.run_neap { "--trace", path, "-e", "print 'ran'" }
        check.equal({ status, out }, { 1, "" })
        check.equal(err, ("neap: cannot write the timeline '%s': %s\n"):format(path, reason))
    end
end)

process.cleanup()
os.execute("rm -r " .. folder)
check.done()
