--- mesh_mpi.lua: the sum over processes of f32, one device each, against MPI_Allreduce alone (bench/allreduce.c).
--
-- Both are run by mpirun, in turns, TURNS times each; what is compared are the best times. Goal: from 256 KB on at
-- least 0.9 of MPI's speed. neap's sum is a balanced tree, whose bits do not depend on how processes hold the devices.
-- No rows where there is no MPI.
package.path = "./?.lua;" .. package.path
local measure = require "bench.measure"

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
    local pipe = io.popen(("mpirun --oversubscribe -n %d %s %d %s 2>&1"):format(ranks, command, measure.rounds,
                                                                            table.concat(words, " ")))
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
os.exit(0)
