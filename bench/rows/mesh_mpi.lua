--- mesh_mpi.lua: the sum over processes of f32, one device each, against MPI_Allreduce alone (bench/allreduce.c), and
-- how much of an exchange is hidden by a product beside it.
--
-- Both are run by mpirun, in turns, TURNS times each; what is compared are the best times. Goal: from 256 KB on at
-- least 0.9 of MPI's speed. neap's sum is a balanced tree, whose bits do not depend on how processes hold the devices.
--
-- The exchange is that of bench/overlap.lua; its timeline tells which part of the time of each exchange, from when its
-- block is there until the other one has come, the process was computing. The row is the best of the calls, in the
-- process where that is least. Goal: 0.8.
--
-- No rows where there is no MPI.
package.path = "./?.lua;" .. package.path
local json = require "neap.files.json"
local measure = require "bench.measure"

local MPIRUN = "mpirun --allow-run-as-root --oversubscribe -n %d"
local TURNS = measure.quick and 1 or 3
local KB = 2 ^ 10
local FROM = 256 * KB -- on, there is a goal

local sizes, counts = {}, measure.quick and { 2 } or { 2, 4 }
for k = 1, 8 do sizes[k] = 4 * KB * 4 ^ (k - 1) end
if measure.quick then sizes = { 4 * KB, 1024 * KB } end

--- The best ns by bytes, put into `best`.
local function run(ranks, command, best)
    local words = {}
    for k, bytes in ipairs(sizes) do words[k] = ("%d"):format(bytes) end
    local pipe = io.popen((MPIRUN .. " %s %d %s 2>&1"):format(ranks, command, measure.rounds, table.concat(words, " ")))
    local text = pipe:read "*a"
    pipe:close()
    local found = 0
    for bytes, ns in text:gmatch "(%d+) ([%d.e+]+)\n" do
        bytes, ns = tonumber(bytes), tonumber(ns)
        best[bytes], found = math.min(best[bytes] or math.huge, ns), found + 1
    end
    if found < #sizes then error(("bench: %s with %d ranks gave:\n%s"):format(command, ranks, text), 0) end
end

local file = io.open "bench/results/allreduce"
if not file then
    io.stderr:write("bench: without MPI\n")
    os.exit(0)
end
file:close()
for _, ranks in ipairs(counts) do
    local mine, raw = {}, {}
    for _ = 1, TURNS do
        run(ranks, "bench/results/allreduce", raw)
        run(ranks, measure.neap .. " bench/allreduce.lua", mine)
    end
    for _, bytes in ipairs(sizes) do
        local ratio = mine[bytes] / raw[bytes]
        measure.row {
            name = ("psum, %d processes, %d KB"):format(ranks, bytes / KB), value = mine[bytes] / 1e3,
            best = mine[bytes] / 1e3, unit = "us", reference = raw[bytes] / 1e3, ratio = ratio,
            checks = bytes >= FROM and { { name = "MPI_Allreduce", ratio = ratio, goal = 1 / 0.9 } } or nil,
        }
    end
end

-- ---- Exchanges under products ---------------------------------------------------------------------------------------

local CALLS, SIZE = measure.quick and 5 or 15, 2048

--- The times when a process computed, apart and in order, and those of its exchanges, in order: lists of {from, to},
-- in us.
local function timeline(path)
    local trace = assert(io.open(path))
    local events = json.read(trace:read "*a").traceEvents
    trace:close()
    os.remove(path)
    local computed, exchanges, ended = {}, {}, {}
    for _, event in ipairs(events) do
        if event.ph == "e" then ended[event.id] = event.ts end
    end
    for _, event in ipairs(events) do
        if event.ph == "X" and (event.cat == "op" or event.cat == "share") then
            computed[#computed + 1] = { event.ts, event.ts + event.dur }
        elseif event.ph == "b" and event.name == "ppermute" then
            exchanges[#exchanges + 1] = { event.ts, ended[event.id] }
        end
    end
    table.sort(computed, function(a, b) return a[1] < b[1] end)
    table.sort(exchanges, function(a, b) return a[1] < b[1] end)
    local apart = {}
    for _, span in ipairs(computed) do
        local last = apart[#apart]
        if last and span[1] <= last[2] then
            last[2] = math.max(last[2], span[2])
        else
            apart[#apart + 1] = span
        end
    end
    return apart, exchanges
end

--- The part of a call's exchanges during which the process computed: of the best of the calls.
local function hidden(path, per_call)
    local computed, exchanges = timeline(path)
    local best = 0
    for first = 1, #exchanges, per_call do
        local time, covered = 0, 0
        for k = first, first + per_call - 1 do
            time = time + exchanges[k][2] - exchanges[k][1]
            for _, span in ipairs(computed) do
                covered = covered + math.max(0, math.min(span[2], exchanges[k][2]) - math.max(span[1], exchanges[k][1]))
            end
        end
        best = math.max(best, covered / time)
    end
    return best
end

for _, ranks in ipairs(counts) do
    local base = os.tmpname()
    os.remove(base)
    local command = MPIRUN .. [[ sh -c 'exec %s --workers 1 --trace %s.$OMPI_COMM_WORLD_RANK ]]
        .. [[bench/overlap.lua %d %d' >/dev/null 2>&1]]
    os.execute(command:format(ranks, measure.neap, base, CALLS, SIZE))
    local least = 1
    for rank = 0, ranks - 1 do least = math.min(least, hidden(base .. "." .. rank, ranks - 1)) end
    measure.row { name = ("exchange under a product of %d, %d processes"):format(SIZE, ranks), value = least,
                  best = least, unit = "part", goal = 0.8, better = "more" }
end
os.exit(0)
