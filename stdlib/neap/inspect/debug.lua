--- debug.lua: np.debug: counters, limits and switches of the core, and operations for tests. What looks at programs and
-- at meshes is loaded when it is asked for. np.debug.print is in effects/output.lua.
local ffi = require "ffi"
local core = require "neap.core"
local output = require "neap.effects.output"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np, C, ctx = core.np, core.C, core.ctx
local bad_argument, coerce = core.bad_argument, core.coerce
local tonumber, type = tonumber, type

--- np.debug.counters() -> table: what the core has done so far: nodes recorded, pending; flushes (regions started),
-- plans (regions planned anew), launches (kernels and calls), written (bytes that these write, and the bodies of loops
-- and branches that have run), programs (traced), compared (programs of jitted functions that were looked at to find
-- one), live_handles, callees (functions that callbacks may still call); and of the engine: pushed, completed,
-- inlined, skipped.
--- > np.debug.counters().pending >= 0
-- true
function np.debug.counters()
    local of_core, of_engine, result = ffi.new("neap_counters"), ffi.new("neap_engine_counts"), {}
    C.neap_counters_get(ctx, of_core)
    C.neap_engine_count(of_engine)
    for _, name in ipairs { "nodes", "pending", "flushes", "plans", "launches", "written", "programs",
                         "compared", "live_handles", "callees" } do
        result[name] = tonumber(of_core[name])
    end
    for _, name in ipairs { "pushed", "completed", "inlined", "skipped" } do
        result[name] = tonumber(of_engine[name])
    end
    return result
end

--- np.debug.limits{nodes=…, bytes=…} -> nothing: pending work is started by itself past these limits; 0 means no limit.
-- Both must be given.
--- nodes: how many nodes may be pending
--- bytes: how many bytes their results may have
--- > np.debug.limits{nodes=0, bytes=0}
function np.debug.limits(given)
    given = core.options("debug.limits", given, { nodes = true, bytes = true })
    local nodes, bytes = given.nodes, given.bytes
    if type(nodes) ~= "number" then bad_argument("debug.limits", nil, "nodes", "a number", nodes) end
    if type(bytes) ~= "number" then bad_argument("debug.limits", nil, "bytes", "a number", bytes) end
    C.neap_limits(ctx, nodes, bytes)
end

--- np.debug.kernels{isa="avx2", tier="vm", chunk=256, hot=…, stream_min=…, parallel_min=…, task_min=…} -> nothing: how
-- kernels that are planned from now on run, for tests: the instruction set, whether they become native code and after
-- how much work, elements of a chunk, bytes from which results go past the caches, ns of work from which it is split
-- over the workers, ns of the shortest part. What is not given is as at the start. Call it while nothing
-- runs. No result depends on it.
--- isa: the instruction set: "baseline", "avx2" or "avx512"
--- tier: whether kernels become native code: "auto", "vm" or "native"
--- hot: ns of work after which native code is made
--- chunk: how many elements a chunk has
--- stream_min: from how many bytes on results go past the caches
--- parallel_min: ns of work from which it is split
--- task_min: ns of the shortest part
--- > np.debug.kernels{}
function np.debug.kernels(given)
    given = core.options("debug.kernels", given, { isa = true, tier = true, hot = true, chunk = true, stream_min = true,
                                                   parallel_min = true, task_min = true })
    local limits = ffi.new("neap_kernel_limits")
    if given.isa ~= nil and type(given.isa) ~= "string" then
        bad_argument("debug.kernels", nil, "isa", "the name of an instruction set", given.isa)
    end
    if given.tier ~= nil and type(given.tier) ~= "string" then
        bad_argument("debug.kernels", nil, "tier", "the name of a tier", given.tier)
    end
    limits.isa, limits.tier = given.isa, given.tier
    for _, name in ipairs { "hot", "chunk", "stream_min", "parallel_min", "task_min" } do
        local value = given[name]
        if value ~= nil and (type(value) ~= "number" or value < 1) then
            bad_argument("debug.kernels", nil, name, "a number from 1 up", value)
        end
        limits[name] = value or 0
    end
    core.call("debug.kernels", function() return C.neap_debug_kernels(limits) end)
end

--- np.debug.reuse(bytes) -> nothing: in regions that are planned from now on, buffers of at least so many bytes share
-- memory if they can; 0: as at the start. For tests: no result depends on it.
--- > np.debug.reuse(0)
function np.debug.reuse(bytes)
    if type(bytes) ~= "number" or bytes < 0 then
        bad_argument("debug.reuse", 1, "bytes", "a number from 0 up", bytes)
    end
    C.neap_debug_memory_plan(math.min(bytes, 2 ^ 53))
end

--- np.debug.nans(on) -> nothing: true: from now on an op fails that makes a NaN of operands without one. Reading the
-- result, or anything that depends on the result, raises: the op, the line of the script, the elements of the operands,
-- and the place in the result, counted in row-major order. Ops of jitted functions, loops, derivatives, batches and
-- meshes fail in the same way. Arrays with a NaN stay usable: results of a NaN are not looked at. Each op is a kernel
-- then, and operands and results are read once more; while nans is off, nothing is. Ops on GPUs are not looked at. Of a
-- program that has run before, several ops may be named as one. As jax.config.update("jax_debug_nans", True).
--- on: a boolean
--- > np.debug.nans(true)
--- > (pcall(function() return np.log(np.array(-1)):item() end))
-- false
--- > np.debug.nans(false)
function np.debug.nans(on)
    if type(on) ~= "boolean" then bad_argument("debug.nans", 1, "on", "a boolean", on) end
    C.neap_debug_nans(ctx, on and 1 or 0)
    staging.switch.nans = on
    np.clear_caches() -- plans have kernels of several ops
end

--- np.debug.collector{cycle_ns=…} -> nothing: what a cycle of Lua's collector is taken to cost; without, the time is
-- measured. For tests, which must not depend on measured times.
--- cycle_ns: what a cycle of the collector is taken to cost
--- > np.debug.collector{}
function np.debug.collector(given)
    local cycle = core.options("debug.collector", given, { cycle_ns = true }).cycle_ns
    if cycle and (type(cycle) ~= "number" or cycle < 1) then
        bad_argument("debug.collector", nil, "cycle_ns", "a number from 1 up", cycle)
    end
    C.neap_debug_collector(ctx, cycle or 0)
end

--- np.debug.jit_bytes() -> integer: what the programs of jitted functions take.
--- > np.debug.jit_bytes() >= 0
-- true
function np.debug.jit_bytes()
    return tonumber(C.neap_jit_bytes(ctx))
end

--- np.debug.jit_limit(bytes) -> integer: what they may take, 0: as at the start. Returns what they take then.
--- > np.debug.jit_limit(0) >= 0
-- true
function np.debug.jit_limit(bytes)
    if type(bytes) ~= "number" or bytes < 0 then
        bad_argument("debug.jit_limit", 1, "bytes", "a number from 0 up", bytes)
    end
    C.neap_jit_limit(ctx, bytes)
    return np.debug.jit_bytes()
end

--- np.debug.memory_limit(bytes) -> nothing: arrays, and files while they are read, may not take more; 0: no limit. Over
-- it, operations raise "out of memory".
--- > np.debug.memory_limit(0)
function np.debug.memory_limit(bytes)
    if type(bytes) ~= "number" or bytes < 0 then
        bad_argument("debug.memory_limit", 1, "bytes", "a number from 0 up", bytes)
    end
    C.neap_memory_limit(bytes)
end

local MOST_VALUES = 62 -- NEAP_MAX_INPUTS without the condition and the message

--- The inputs of the row `check` (lazy/ops/check.c) for a condition and the pieces of a message.
local function check_inputs(name, holds, list, n)
    local inputs, parts, text = { holds, false }, {}, ""
    for k = 1, n do
        local piece = list[k]
        if type(piece) == "string" then
            text = text .. piece:gsub("%z", "\\0")
        else
            local array, conversion = piece, ""
            if not core.is_array(piece) then array, conversion = unpack(piece) end
            inputs[#inputs + 1], parts[#parts + 1], parts[#parts + 2], text = array, text, conversion, ""
        end
    end
    parts[#parts + 1] = text
    if #inputs - 2 > MOST_VALUES then
        core.raise(name, "the message has %d arrays; at most %d are possible", #inputs - 2, MOST_VALUES)
    end
    local message = table.concat(parts, "\0") .. "\0"
    inputs[2] = core.fill(core.dtype_codes.u8, { #message }, function(pointer)
        ffi.copy(pointer, message, #message)
    end, "uint8_t *", name)
    return inputs
end

--- np.debug.check(tree, condition, message, …) -> tree: the same arrays, that fail unless the condition is true: a bool
-- array, all elements of which count, or a boolean. Reading one of them, or what depends on it, raises then: the line
-- of the script and the message, in which fields stand for values as in np.debug.print. It does not wait, and holds in
-- jitted functions, loops, branches, derivatives, batches, meshes and programs in files. In a batch the message names
-- the first example that fails, and branches and loops are checked for the examples that are in them. What is not used
-- is not checked, so use what comes back. As jax.experimental.checkify.check, without checkify.
--- > root = np.jit(function(v) return np.sqrt(np.debug.check(v, v:ge(0), "a root of {}", v)) end)
--- > root(np.array(4))
-- 2.0
function np.debug.check(tree, condition, message, ...)
    local name = "debug.check"
    if type(condition) == "boolean" then condition = np.array(condition) end
    if not core.is_array(condition) or core.dtype_of(condition).name ~= "bool" then
        bad_argument(name, 2, "condition", "a bool array or a boolean", condition)
    end
    local list, n = output.field_pieces(name, 3, "message", tree, condition, message, ...)
    local inputs = check_inputs(name, np.all(condition), list, n)
    local holds, found = core.recordn(core.ids.check, inputs, #inputs, 0), false
    local checked = trees.rebuild(name, tree, function(x)
        if not core.is_array(x) then return x end
        found = true
        local is_bool = core.dtype_of(x).name == "bool"
        return np.where(holds, x, is_bool and np.array(false) or 0) -- 0 has the dtype of others, as weak as theirs
    end)
    if not found then bad_argument(name, 1, "tree", "an array, or a table with arrays", tree) end
    return checked
end
jit.off(np.debug.check)

--- np.debug.jit(on) -> nothing: false: from now on jitted functions run line by line, as inside of np.disable_jit;
-- true: as programs again.
--- on: a boolean
--- > np.debug.jit(true)
function np.debug.jit(on)
    if type(on) ~= "boolean" then bad_argument("debug.jit", 1, "on", "a boolean", on) end
    require("neap.tracing.staging").switch.off = not on
end

--- np.debug.verify(program) -> program: checks that a program of np.trace, np.export or np.load_program is sound
-- inside, as debug builds do whenever one was made; raises what is wrong with which node. Returns the program.
--- > program = np.trace(function(x) return x + 1 end)(np.ones(2))
--- > np.debug.verify(program) == program
-- true
function np.debug.verify(program)
    local list = require("neap.programs.program").programs_of(program)
    if not list then bad_argument("debug.verify", 1, "program", "a program or a jitted function", program) end
    for _, item in ipairs(list) do
        core.call("debug.verify", function() return C.neap_program_verify(item.entry.program) end)
    end
    return program
end

--- np.debug.steps(f, {turns=8}) -> function: np.debug.steps(f)(args…) is what f does with these arguments, step by
-- step: each line of its program (np.trace), with the first of its values, how many are NaN or infinite, and the line
-- of the script that made it; the bodies of loops and branches turn by turn. f: a function, a jitted one, or a program.
-- At the prompt the result prints as a text, in a notebook it is a table with buttons to step through.
--
-- It is a run of f: prints and callbacks happen once, in their order; for the turns of bodies none happens again, and
-- no body is opened in which a callback gives results, or that runs on a mesh. The result is a list: steps[k] has text,
-- kind, site, values = a list of { value, shape, dtype, text, nans, infs, problem: why there is none }, bodies = a list
-- of such lists, each with a name. All these values are kept while it is. Raises inside of traced functions.
--- turns: of each loop that are shown
--- > steps = np.debug.steps(function(x) return np.log(x):sum() end)(np.array{1, 0, -1})
--- > #steps, steps[2].values[1].nans, steps[2].values[1].infs
-- 4
-- 1
-- 1
function np.debug.steps(f, options)
    return require("neap.inspect.steps").stepper(f, options)
end

--- np.debug.visualize_array_sharding(x, {format="text", path=…}) -> string: a picture of which device holds which part
-- of an array that lies on a mesh: a text, or with {format="svg"} an SVG; returned, and written to the file of `path`.
--- format: "text" or "svg"
--- path: a file that the picture is written to
--- > mesh = np.mesh({1}, {"i"})
--- > x = np.device_put(np.ones(4), np.NamedSharding(mesh, np.P("i")))
--- > #np.debug.visualize_array_sharding(x) > 0
-- true
function np.debug.visualize_array_sharding(x, given)
    return require("neap.inspect.sharding_picture").of_array(x, given)
end

--- np.debug.visualize_sharding(shape, sharding, {format="text", path=…}) -> string: the same for an array of a shape
-- that would lie so: sharding is x.sharding or np.NamedSharding(mesh, spec).
--- format: "text" or "svg"
--- path: a file that the picture is written to
--- > #np.debug.visualize_sharding({4}, np.NamedSharding(np.mesh({1}, {"i"}), np.P("i"))) > 0
-- true
function np.debug.visualize_sharding(shape, sharding, given)
    return require("neap.inspect.sharding_picture").of_sharding(shape, sharding, given)
end

--- np.debug.sleep(x, ms): x itself, ms milliseconds after it is there: an operation that takes time, for tests.
--- > np.debug.sleep(np.ones(2), 1)
-- [1. 1.]
function np.debug.sleep(x, ms)
    x = coerce("debug.sleep", 1, x)
    core.attrs[0] = core.integer("debug.sleep", 2, "ms", ms)
    return core.record1(core.ids.debug_sleep, x, 1)
end

--- np.debug.hold(x) -> x, function: x itself as an operation that ends only after the second result, a function, was
-- called, and keeps a worker until then: for tests.
--- > held, go = np.debug.hold(np.ones(2))
--- > go()
--- > held
-- [1. 1.]
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
--- > np.debug.device(np.ones(2))
-- [0 0]
function np.debug.device(x)
    return core.record1(core.ids.debug_device, coerce("debug.device", 1, x), 0)
end

--- np.debug.fail(x): an operation on x that fails when it runs, for tests.
--- > np.debug.fail(np.array(1)):item()
-- error: example:1: debug_fail: failed on purpose
function np.debug.fail(x)
    return core.record1(core.ids.debug_fail, coerce("debug.fail", 1, x), 0)
end
