--- overlap.lua: a product of matrices whose parts go around in a ring of processes, for the row of
-- bench/rows/mesh_mpi.lua that asks how much of the exchange is hidden.
--
--     mpirun -n RANKS neap --workers 1 --trace FILE bench/overlap.lua CALLS SIZE
--
-- Both matrices are divided by rows. At each turn a process multiplies by the part of the second one that it has, while
-- that part goes on to the next process and the one before it comes in: two buffers, one being read, one being filled.
local np = require "neap"
local P = np.P

local calls, size, n = tonumber(arg[1]), tonumber(arg[2]), np.process_count()
local mesh = np.mesh({ n }, { "i" })
local ring = {}
for k = 0, n - 1 do ring[k + 1] = { k, (k + 1) % n } end

local product = np.jit(np.shard_map(function(a, b)
    local own, columns, sum = np.axis_index "i", a:reshape(size / n, n, size / n), nil
    for turn = 0, n - 1 do
        local coming = turn < n - 1 and np.ppermute(b, "i", ring)
        local part = np.take(columns, np.remainder(own + (n - turn), n), { axis = 1 }):matmul(b)
        sum, b = sum and sum + part or part, coming
    end
    return sum
end, { mesh = mesh, in_specs = { P "i", P "i" }, out_specs = P "i" }))

local function matrix(k)
    return np.device_put(np.random.normal(np.random.key(k), { size, size }), mesh, P "i"):wait()
end

local a, b = matrix(0), matrix(1)
for _ = 1, calls do product(a, b):wait() end
np.effects_barrier()
