--- allreduce.lua: psum over processes, one device each, for the rows of bench/rows/mesh_mpi.lua.
--
--     mpirun -n RANKS neap bench/allreduce.lua ROUNDS BYTES…
--
-- Prints what bench/allreduce.c prints, of jitted calls that are waited for one by one.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local measure = require "bench.measure"

local ROUND_BYTES, MAX_CALLS = 16 * 2 ^ 20, 1000

local n = np.process_count()
local mesh = np.mesh({ n }, { "i" })
local sum = np.jit(np.shard_map(function(x) return np.psum(x, "i") end, { mesh = mesh, in_specs = np.P "i",
                                                                          out_specs = np.P() }))
for k = 2, #arg do
    local bytes = tonumber(arg[k])
    local row = np.remainder(np.arange(bytes / 4), 251):astype "f32" / 251
    local x = np.device_put(np.tile(row, n), mesh, np.P "i"):wait()
    local calls = math.max(1, math.min(MAX_CALLS, math.floor(ROUND_BYTES / bytes)))
    local best = math.huge
    sum(x):wait():delete()
    for _ = 1, tonumber(arg[1]) do
        local start = measure.now()
        for _ = 1, calls do sum(x):wait():delete() end
        best = math.min(best, (measure.now() - start) / calls)
    end
    if np.process_index() == 0 then io.write(("%d %.6g\n"):format(bytes, best)) end
end
