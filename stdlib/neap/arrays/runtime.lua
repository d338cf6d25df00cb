--- runtime.lua: devices, when things are computed, and np.debug.
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.core.trees"

local np, define, C, ctx = core.np, core.define, core.C, core.ctx
local raise, bad_argument, coerce = core.raise, core.bad_argument, core.coerce
local tonumber = tonumber

-- ---- Devices --------------------------------------------------------------------------------------------------------

local processes, here = C.neap_process_count(), C.neap_process_index()

--- np.process_index(): which of the processes that run the script together this one is, from 0.
function np.process_index() return here end

--- np.process_count(): how many processes run the script together: under mpirun as many as it started, else 1.
function np.process_count() return processes end

local Device = {}
Device.__index = Device

--- "cpu:1"; where there are several processes, the process comes first: "3/cpu:1".
function Device:__tostring()
    local name = self.kind .. ":" .. self.index
    return processes > 1 and self.process .. "/" .. name or name
end

local own, all

--- np.local_devices(): a Lua table of this process's devices, with the fields of np.devices().
function np.local_devices()
    if not own then
        own = {}
        for k = 0, C.neap_engine_devices() - 1 do
            local id = here * C.neap_engine_devices() + k
            own[k + 1] = setmetatable({ kind = "cpu", index = k, process = here, id = id }, Device)
        end
    end
    return { unpack(own) }
end

--- np.devices(): a Lua table of the devices of all processes, those of process 0 first, with fields kind ("cpu"), index
-- (in its process, from 0), process (from 0) and id (its place in this list, from 0). All processes have equally many.
-- The first call waits until all processes have started.
function np.devices()
    if not all then
        core.call("devices", function() return C.neap_processes_meet(core.waker) end)
        local list, mine = {}, np.local_devices()
        for id = 0, processes * #mine - 1 do
            local process, index = math.floor(id / #mine), id % #mine
            list[id + 1] = process == here and mine[index + 1]
                or setmetatable({ kind = "cpu", index = index, process = process, id = id }, Device)
        end
        all = list
    end
    return { unpack(all) }
end

--- The device of a name, for the function np.`from`: one of this process, or one whose name begins with its process.
local function find_device(from, name)
    local list, names = name:find "/" and np.devices() or np.local_devices(), {}
    for k = 1, #list do
        names[k] = tostring(list[k])
        local short = name:find "/" and names[k] or names[k]:match "[^/]+$"
        if short == name or short == name .. ":0" then return list[k] end
    end
    raise(from, "there is no device '%s' (devices: %s)", name, table.concat(names, ", "))
end

core.find_device = find_device

--- np.device("cpu:1"): a device of this process by name; "cpu" is "cpu:0". np.device("3/cpu:1"): one of process 3.
function np.device(name)
    if type(name) ~= "string" then bad_argument("device", 1, "name", 'a name such as "cpu:0"', name) end
    return find_device("device", name)
end

--- np.device_put(x, "cpu:1"): x, an array, a number or a tree of them, on a device, which is given by name or as an
-- element of np.devices(). It is then *committed* to that device: what is computed from it is computed there, and it
-- cannot meet arrays that are committed to another one. All else (constructors, numbers, new arrays) follows the arrays
-- that it meets, and is on the first device until then. Devices of the CPU share their memory: nothing is copied.
-- Of an array on a mesh it gives all of it to the device; where a gradient or a trace is open, to all of the mesh.
--
-- np.device_put(x, mesh, spec): x on a mesh, as a spec says (np.P), or a prefix tree of specs; np.device_put(x,
-- y.sharding): as y lies.
define("device_put", function(x, device, spec)
    if type(device) == "string" then device = find_device("device_put", device) end
    if getmetatable(device) ~= Device then return require("neap.mesh.sharding").put("device_put", x, device, spec) end
    if device.process ~= here then
        raise("device_put", "device %s belongs to process %d, and this is process %d: arrays go there by a mesh, as in "
              .. "np.device_put(x, mesh, spec)", tostring(device), device.process, here)
    end
    return trees.rebuild("device_put", x, function(leaf)
        leaf = coerce("device_put", 1, leaf)
        local known = core.info(leaf)
        if known.committed ~= 0 and known.device == device.index and known.sharding == 0 then return leaf end
        core.attrs[0] = device.index
        return core.record1(core.ids.device_put, leaf, 1)
    end)
end)

-- ---- When things are computed ---------------------------------------------------------------------------------------

--- x:is_deferred(): whether x is an expression that has not been started.
define("is_deferred", function(x)
    return core.info(coerce("is_deferred", 1, x)).deferred ~= 0
end)

--- np.force(a, b, …): starts computing arrays, together; does not wait. Returns them.
define("force", function(...)
    local n = select("#", ...)
    local arrays, ids = {}, ffi.new("int32_t[?]", n)
    for k = 1, n do
        arrays[k] = coerce("force", k, (select(k, ...)))
        ids[k - 1] = arrays[k]._id
    end
    core.call("force", function() return C.neap_array_start(ctx, n, ids) end)
    return ...
end)

--- x:wait(): waits until x has its value; returns x. Raises the failure of the computation, with the op and line.
define("wait", core.wait)

--- np.wait_all(): starts everything pending and waits for it. Raises the first failure that nobody has seen.
function np.wait_all()
    if core.frame().depth > 0 then
        raise("wait_all", "a callback cannot wait for everything, which is also for itself: use x:wait() or "
              .. "np.effects_barrier()")
    end
    core.call("wait_all", function() return C.neap_poll_everything(ctx) end)
end

--- x:delete(): gives x's memory back now. Any later use of x raises.
define("delete", function(x)
    if not core.is_array(x) then bad_argument("delete", 1, "x", "an array", x) end
    core.call("delete", function() return C.neap_array_delete(ctx, x._id) end)
end)

--- x:is_deleted()
define("is_deleted", function(x)
    return core.info(coerce("is_deleted", 1, x)).deleted ~= 0
end)

-- ---- Counters and limits --------------------------------------------------------------------------------------------

np.debug = {}

--- np.debug.counters(): what the core has done so far: nodes recorded, pending; flushes (regions started), plans
-- (regions planned anew), launches (kernels and calls), programs (traced), live_handles, callees (functions that
-- callbacks may still call); and of the engine: pushed, completed, inlined, skipped.
function np.debug.counters()
    local of_core, of_engine, result = ffi.new("neap_counters"), ffi.new("neap_engine_counts"), {}
    C.neap_counters_get(ctx, of_core)
    C.neap_engine_count(of_engine)
    for _, name in ipairs { "nodes", "pending", "flushes", "plans", "launches", "programs", "live_handles",
                         "callees" } do
        result[name] = tonumber(of_core[name])
    end
    for _, name in ipairs { "pushed", "completed", "inlined", "skipped" } do
        result[name] = tonumber(of_engine[name])
    end
    return result
end

--- np.debug.limits{nodes=…, bytes=…}: pending work is started by itself past these limits; 0 means no limit. Both must
-- be given.
function np.debug.limits(given)
    given = core.options("debug.limits", given, { nodes = true, bytes = true })
    local nodes, bytes = given.nodes, given.bytes
    if type(nodes) ~= "number" then bad_argument("debug.limits", nil, "nodes", "a number", nodes) end
    if type(bytes) ~= "number" then bad_argument("debug.limits", nil, "bytes", "a number", bytes) end
    C.neap_limits(ctx, nodes, bytes)
end

--- np.debug.kernels{isa="avx2", chunk=256, stream_min=…, parallel_min=…, task_min=…}: how kernels that are planned from
-- now on run, for tests: the instruction set, elements of a chunk, bytes from which results go past the caches, ns of
-- work from which it is split over the workers, ns of the shortest part. What is not given is as at the start. Call it
-- while nothing runs. No result depends on it.
function np.debug.kernels(given)
    given = core.options("debug.kernels", given, { isa = true, chunk = true, stream_min = true, parallel_min = true,
                                                   task_min = true })
    local limits = ffi.new("neap_kernel_limits")
    if given.isa ~= nil and type(given.isa) ~= "string" then
        bad_argument("debug.kernels", nil, "isa", "the name of an instruction set", given.isa)
    end
    limits.isa = given.isa
    for _, name in ipairs { "chunk", "stream_min", "parallel_min", "task_min" } do
        local value = given[name]
        if value ~= nil and (type(value) ~= "number" or value < 1) then
            bad_argument("debug.kernels", nil, name, "a number from 1 up", value)
        end
        limits[name] = value or 0
    end
    core.call("debug.kernels", function() return C.neap_debug_kernels(limits) end)
end

--- np.debug.reuse(bytes): in regions that are planned from now on, buffers of at least so many bytes share memory if
-- they can; 0: as at the start. For tests: no result depends on it.
function np.debug.reuse(bytes)
    if type(bytes) ~= "number" or bytes < 0 then
        bad_argument("debug.reuse", 1, "bytes", "a number from 0 up", bytes)
    end
    C.neap_debug_reuse(math.min(bytes, 2 ^ 53))
end

--- np.debug.jit_bytes(): what the programs of jitted functions take.
function np.debug.jit_bytes()
    return tonumber(C.neap_jit_bytes(ctx))
end

--- np.debug.jit_limit(bytes): what they may take, 0: as at the start. Returns what they take then.
function np.debug.jit_limit(bytes)
    if type(bytes) ~= "number" or bytes < 0 then
        bad_argument("debug.jit_limit", 1, "bytes", "a number from 0 up", bytes)
    end
    C.neap_jit_limit(ctx, bytes)
    return np.debug.jit_bytes()
end

--- np.debug.memory_limit(bytes): arrays may not take more; 0: no limit. Over it, operations raise "out of memory".
function np.debug.memory_limit(bytes)
    if type(bytes) ~= "number" or bytes < 0 then
        bad_argument("debug.memory_limit", 1, "bytes", "a number from 0 up", bytes)
    end
    C.neap_memory_limit(bytes)
end

--- np.debug.verify(program): checks that a program of np.trace, np.export or np.load_program is sound inside, as debug
-- builds do whenever one was made; raises what is wrong with which node. Returns the program.
function np.debug.verify(program)
    local list = require("neap.programs.program").programs_of(program)
    if not list then bad_argument("debug.verify", 1, "program", "a program or a jitted function", program) end
    for _, item in ipairs(list) do
        core.call("debug.verify", function() return C.neap_program_verify(item.entry.program) end)
    end
    return program
end

--- np.debug.visualize_array_sharding(x, {format="text", path=…}): a picture of which device holds which part of an
-- array that lies on a mesh: a text, or with {format="svg"} an SVG; returned, and written to the file of `path`.
function np.debug.visualize_array_sharding(x, given)
    return require("neap.inspect.sharding_picture").of_array(x, given)
end

--- np.debug.visualize_sharding(shape, sharding, {format="text", path=…}): the same for an array of a shape that would
-- lie so: sharding is x.sharding or np.NamedSharding(mesh, spec).
function np.debug.visualize_sharding(shape, sharding, given)
    return require("neap.inspect.sharding_picture").of_sharding(shape, sharding, given)
end

--- np.debug.sleep(x, ms): x itself, ms milliseconds after it is there: an operation that takes time, for tests.
function np.debug.sleep(x, ms)
    x = coerce("debug.sleep", 1, x)
    core.attrs[0] = core.integer("debug.sleep", 2, "ms", ms)
    return core.record1(core.ids.debug_sleep, x, 1)
end

--- np.debug.hold(x): x itself as an operation that ends only after the second result, a function, was called, and keeps
-- a worker until then: for tests.
function np.debug.hold(x)
    local i32 = core.dtype_codes.i32
    local gate = core.fill(i32, {}, function(pointer) pointer[0] = 0 end, "int32_t *")
    local held = core.record2(core.ids.debug_hold, coerce("debug.hold", 1, x), gate, 0)
    local pointer = ffi.cast("volatile int32_t *", core.data(gate))
    return held, function()
        pointer[0] = 1
        core.info(gate) -- keeps it alive until here
    end
end

--- np.debug.device(x): for each element of x the index of the device on which this operation ran, as i32: for tests.
function np.debug.device(x)
    return core.record1(core.ids.debug_device, coerce("debug.device", 1, x), 0)
end

--- np.debug.fail(x): an operation on x that fails when it runs, for tests.
function np.debug.fail(x)
    return core.record1(core.ids.debug_fail, coerce("debug.fail", 1, x), 0)
end

for _, f in ipairs { np.force, np.wait_all, np.delete } do jit.off(f) end
