--- mesh.lua: collectives over CPU devices of one process, and what an op inside of an eager shard_map costs.
--
-- A collective is one jitted shard_map over blocks of f32 of the size that the row names, against JAX's (bench/mesh.py,
-- which has 8 devices made of the host) and against memory: what moving the bytes that must move takes C at the speeds
-- of copy, read and fill that were measured beside it, with all cores (bench/reference.c). neap's devices share memory,
-- so a result that is the same on several devices has to be written only once, and a block that only changes its place
-- not at all. With n devices and blocks of B bytes:
--
--                     read     written   "used": each device multiplies what it got by a number of its own
--      psum           n B      B         n B
--      all_gather     n B      n B       n n B
--      psum_scatter   n B      B         B
--      ppermute       0        0         n B read, n B written
--      all_to_all     n B      n B       n B
--
-- "used" is what a caller sees who goes on with the result, and where nothing can be put off. Results are given back
-- when they are there, as JAX's are. Goals: from blocks of 16 MB on at most 1/0.7 of what memory takes; everywhere at
-- most half of JAX's time.
package.path = "./?.lua;" .. package.path
local ffi = require "ffi"
local np = require "neap"
local core = require "neap.core"
local measure = require "bench.measure"
local peers = require "bench.peer"

ffi.cdef [[
double bench_reference(const char *name, int threads, int64_t n, int64_t columns, int64_t bytes, const float *const *in,
                       float *const *out, int64_t count);
]]
local library = ffi.load("bench/results/libneap_bench_reference.so")

local P = np.P
local KB, MB, GB = 2 ^ 10, 2 ^ 20, 2 ^ 30
local LARGE = 16 * MB       -- from here on memory is the bound
local MOST, MOST_JAX = 6 * GB, 5 * GB -- bytes of a row's arrays, there and in JAX, whose devices share nothing
local COPIED = 256 * MB     -- for the speed of memory
local OPS = 10              -- of an eager body (bench/mesh.py)

local collectives = {
    { name = "psum", body = function(x) return np.psum(x, "i") end, wrote = function(_, b) return b end },
    { name = "all_gather", body = function(x) return np.all_gather(x, "i", { tiled = true }) end,
      wrote = function(n, b) return n * b end, used = function(n, b) return n * n * b end },
    { name = "psum_scatter", body = function(x) return np.psum_scatter(x, "i", { tiled = true }) end,
      wrote = function(_, b) return b end, used = function(_, b) return b end },
    { name = "ppermute", wrote = function() return 0 end, moves = false,
      body = function(x)
          local n, ring = np.axis_size "i", {}
          for k = 0, n - 1 do ring[k + 1] = { k, (k + 1) % n } end
          return np.ppermute(x, "i", ring)
      end },
    { name = "all_to_all", body = function(x) return np.all_to_all(x, "i", 0, 0, { tiled = true }) end,
      wrote = function(n, b) return n * b end },
}

--- Bytes read and written.
local function moved(collective, used, n, bytes)
    if not used then return collective.moves == false and 0 or n * bytes, collective.wrote(n, bytes) end
    return n * bytes, collective.used and collective.used(n, bytes) or n * bytes
end

-- ---- What memory takes ----------------------------------------------------------------------------------------------

local function floats(bytes)
    local x = np.zeros(bytes / 4):wait()
    return { x, ffi.cast("float *", core.data(x)) }
end

--- Contenders for the time of memory: C's copy, read and fill of so many bytes, with all cores.
local function memory(bytes)
    local from, to = floats(bytes), floats(bytes)
    local inputs, outputs = ffi.new("const float *[4]", from[2], from[2]), ffi.new("float *[3]", to[2])
    local list = {}
    for k, name in ipairs { "copy", "read", "fill" } do
        list[k] = { keep = { from, to }, timer = function(count)
            return library.bench_reference(name, measure.cores, bytes / 4, 1, 2 * bytes, inputs, outputs, count)
        end }
    end
    return list
end

--- ns that memory takes to move so much, from ns a byte of copy, read and fill.
local function bound(read, written, speed)
    return math.min(read, written) * speed[1] + math.max(read - written, 0) * speed[2]
        + math.max(written - read, 0) * speed[3]
end

-- ---- Rows -----------------------------------------------------------------------------------------------------------

local function mesh_of(n)
    local devices = {}
    for k, device in ipairs(np.devices()) do devices[k] = k <= n and device or nil end
    return np.mesh({ n }, { "i" }, { devices = devices })
end

--- The blocks of bench/mesh.py.
local function blocks(mesh, n, bytes)
    local row = np.remainder(np.arange(bytes / 4), 251):astype "f32" / 251
    return np.device_put(np.tile(row, n), mesh, P "i"):wait()
end

local function size_text(bytes)
    return bytes >= MB and ("%d MB"):format(bytes / MB) or ("%d KB"):format(bytes / KB)
end

local function check(name, mine, theirs)
    if theirs >= 0 and math.abs(mine - theirs) > 1e-4 * theirs then
        error(("%s: the sum of magnitudes is %.9g, JAX's is %.9g"):format(name, mine, theirs))
    end
end

--- JAX as the contender after `list`, if it is there and there is room for it; compares the results.
local function join(list, others, name, result, fits, ...)
    for _, peer in ipairs(fits and others or {}) do
        local contender, sum = peer:mesh(...)
        if contender then
            check(name, sum >= 0 and np.abs(result:astype "f64"):sum():item() or 0, sum)
            list[#list + 1] = contender
        end
    end
end

local function row_of(collective, used, n, bytes, x, mesh, others)
    local name = ("%s, %d devices, %s%s"):format(collective.name, n, size_text(bytes), used and ", used" or "")
    local read, written = moved(collective, used, n, bytes)
    if read + written > MOST then return end
    local f = np.jit(np.shard_map(function(block)
        local got = collective.body(block)
        return used and got * (np.axis_index "i" + 1):astype "f32" or got
    end, { mesh = mesh, in_specs = P "i", out_specs = collective.name == "psum" and not used and P() or P "i" }))
    local list = { function() f(x):wait():delete() end }
    local theirs = collective.name == "all_gather" and n * n * bytes or n * bytes
    join(list, others, name, f(x), n * bytes + (used and 2 or 1) * theirs < MOST_JAX, collective.name, n, bytes / 4,
         used)
    local jax = list[2]
    local large, rounds = bytes >= LARGE and read > 0, measure.rounds
    local sized = math.min(n * bytes, COPIED)
    if large then
        for _, contender in ipairs(memory(sized)) do list[#list + 1] = contender end
    end
    local most = n * bytes >= 512 * MB and 2 or n * bytes >= 64 * MB and 4 or rounds
    measure.rounds = math.min(rounds, most)
    local times, checks = measure.rounds_of(list), {}
    measure.rounds = rounds
    local best = measure.min(times[1])
    local row = { name = name, value = measure.median(times[1]) / 1e3, best = best / 1e3, unit = "us", checks = checks }
    if large then
        local speed = {}
        for k = 1, 3 do speed[k] = measure.min(times[#list - 3 + k]) / sized end
        local least = bound(read, written, speed)
        row.reference, row.ratio = least / 1e3, best / least
        checks[1] = { name = "memory", ratio = best / least, goal = 1 / 0.7 }
    end
    if jax then
        local time = measure.min(times[2])
        row.peers = { [jax.name] = time / 1e3 }
        checks[#checks + 1] = { name = jax.name, ratio = best / time, goal = 1 / 2 }
    end
    measure.row(row)
end

--- ns of an op: one call of an eager shard_map of OPS ops on 16 elements of each of 8 devices, in which no two are one
-- kernel's (each waits), and as they come.
local function ops_rows(others)
    local mesh, elements = mesh_of(8), 16
    local x = blocks(mesh, 8, 4 * elements)
    local function eager(each)
        local f = np.shard_map(function(block)
            for _ = 1, OPS / 2 do block = each(each(block * 1.5) + 0.25) end
            return block
        end, { mesh = mesh, in_specs = P "i", out_specs = P "i" })
        return function() return f(x):wait() end
    end
    for _, case in ipairs { { "", function(y) return y end }, { ", each awaited", core.wait } } do
        local f = eager(case[2])
        local list, name = { f }, ("op of an eager shard_map, 8 devices, %d elements%s"):format(elements, case[1])
        join(list, others, name, f(), true, "ops", 8, elements, false)
        local rounds = measure.rounds
        measure.rounds = math.min(rounds, 3) -- JAX takes a second for a call
        local times = measure.rounds_of(list)
        measure.rounds = rounds
        local best = measure.min(times[1]) / OPS
        local row = { name = name, value = measure.median(times[1]) / OPS, best = best, unit = "ns/op" }
        if list[2] then
            local time = measure.min(times[2]) / OPS
            row.peers = { [list[2].name] = time }
            row.checks = { { name = "jax devices, eager", ratio = best / time, goal = 1 / 10 } }
        end
        measure.row(row)
    end
end

local sizes, counts = {}, { 2, 4, 8 }
for k = 0, 9 do sizes[k + 1] = KB * 4 ^ k end
if measure.quick then sizes, counts = { 64 * KB, 16 * MB }, { 8 } end
local USED = { [64 * KB] = true, [MB] = true, [16 * MB] = true, [64 * MB] = true }

local others = peers.start({ "jax devices" }, measure.cores)
ops_rows(others)
for _, n in ipairs(counts) do
    local mesh = mesh_of(n)
    for _, bytes in ipairs(sizes) do
        local x = blocks(mesh, n, bytes)
        for _, collective in ipairs(collectives) do
            row_of(collective, false, n, bytes, x, mesh, others)
            if USED[bytes] then row_of(collective, true, n, bytes, x, mesh, others) end
            core.reclaim()
        end
        x:delete()
    end
end
os.exit(0)
