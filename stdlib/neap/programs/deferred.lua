--- deferred.lua: np.deferred and np.export.
--
-- Deferred mode is a state of the core (lazy/program/deferred.c): recording starts nothing, and what is recorded keeps
-- its structure when it is computed, so that np.export can make a program of it. The mode is a bracket, as gradients
-- and traces are: it is left whatever the body does, and a coroutine may not yield out of it.
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.core.trees"
local staging = require "neap.tracing.staging"
local program = require "neap.programs.program"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise = core.is_array, core.raise
local pack, ids_of = staging.pack, staging.ids_of
local unpack = unpack

--- The arrays among packed results, in trees too.
local function result_arrays(results)
    local arrays = {}
    for k = 1, results.n do
        trees.walk("deferred", results[k], function(leaf)
            if is_array(leaf) then arrays[#arrays + 1] = leaf end
        end)
    end
    return arrays
end

--- np.deferred(f) -> results: runs f in deferred mode and returns its results. Nothing that f computes is started,
-- however much it is; it is done when somebody asks for it: reading or printing a value, np.force, x:wait(),
-- np.wait_all, or an operation outside of the mode whose own value is asked for. Results are computed once. Until then
-- they take no memory; afterwards they keep how they were made, but no data, and np.export can still make a program of
-- it. All else is as outside: values may be looked at and printed, which computes what they need; gradients, jitted
-- functions and further deferred blocks are part of it.
--- > x = np.deferred(function() return np.ones(3) * 2 end)
--- > x
-- [2. 2. 2.]
function np.deferred(f, extra)
    local user_function = staging.check_function("deferred", f)
    if extra ~= nil then raise("deferred", "takes one argument, a function; got also %s", core.describe(extra)) end
    local levels = core.frame().levels
    levels[#levels + 1] = coroutine.running() or "main"
    local depth = C.neap_deferred_begin(ctx)
    local ok, results, arrays = pcall(function()
        local results = pack(user_function())
        return results, result_arrays(results)
    end)
    levels[#levels] = nil
    local n = ok and #arrays or 0
    C.neap_deferred_end(ctx, depth, n, n > 0 and ids_of(arrays, n) or nil)
    if not ok then error(results, 0) end
    return unpack(results, 1, results.n)
end

-- ---- Export --------------------------------------------------------------------------------------------------------

--- The arrays of a table and their names: "x", "params.w", "layers[1].w"; "in1", … of a list. `roots` are the names of
-- its entries, in the order of `keys`, or of trees; `trees`: the entries with SLOT for arrays.
local function named_arrays(what, tree, prefix, keys)
    local ports = { arrays = {}, names = {}, roots = {}, trees = {} }
    if tree == nil then return ports end
    if not trees.is_node(tree) then core.bad_argument("export", nil, what, "a table of arrays such as {x=x}", tree) end
    for k, key in ipairs(keys or trees.keys_of(tree, "export")) do
        local root = type(key) == "number" and prefix .. key or key
        trees.walk("export", tree[key], function(leaf, path)
            if not is_array(leaf) then
                raise("export", "%s: '%s' must be an array, got %s", what, path, core.describe(leaf))
            end
            ports.arrays[#ports.arrays + 1], ports.names[#ports.names + 1] = leaf, path
        end, root)
        ports.roots[k], ports.trees[k] = root, trees.rebuild("export", tree[key], function() return staging.SLOT end)
    end
    ports.trees.n = #ports.roots
    return ports
end

--- The same for the core. The table must outlive its use.
local function core_ports(ports)
    local n = #ports.arrays
    ports.ids, ports.texts = ids_of(ports.arrays, n), ffi.new("const char *[?]", n + 1, ports.names)
    return ffi.new("neap_ports", { n, ports.ids, ports.texts })
end

local export_options = { inputs = true, outputs = true, sizes = true }

--- What it does with a function of the inputs, which is recorded for declared sizes.
local function export_function(given)
    if type(given.outputs) ~= "function" then
        raise("export", "what was recorded before has numbers where its sizes were: with option 'sizes', option "
              .. "'outputs' is a function of the table of inputs, {outputs = function(inputs) return {y=…} end}")
    end
    if not trees.is_node(given.inputs) then
        core.bad_argument("export", nil, "inputs", "a table of arrays such as {x=x}", given.inputs)
    end
    local keys, list, sizes, roots = trees.keys_of(given.inputs, "export"), {}, {}, {}
    for k, key in ipairs(keys) do
        list[k], sizes[k] = given.inputs[key], given.sizes and given.sizes[key] or nil
        roots[k] = type(key) == "number" and "in" .. key or key
    end
    list.n = #keys
    for key in pairs(given.sizes or {}) do
        if given.inputs[key] == nil then raise("export", "option 'sizes': there is no input '%s'", tostring(key)) end
    end
    local function outputs(...)
        local inputs = {}
        for k, key in ipairs(keys) do inputs[key] = select(k, ...) end
        return given.outputs(inputs)
    end
    return program.record("export", outputs, list, sizes, roots)
end

--- What np.export does, with the inputs in the order of `keys`, if it is given.
local function export(given, keys)
    given = core.options("export", given, export_options)
    if given.sizes ~= nil or type(given.outputs) == "function" then return export_function(given) end
    local inputs = named_arrays("inputs", given.inputs, "in", keys)
    local outputs = named_arrays("outputs", given.outputs, "out")
    local nin, nout = #inputs.arrays, #outputs.arrays
    if nout == 0 then raise("export", "option 'outputs' has no array") end
    local entry = staging.inside("export", staging.open_trace, function(level)
        local stand_ins = {}
        for k = 1, nin do stand_ins[k] = staging.placeholder("export", level, inputs.arrays[k]) end
        local placeholders, out = ids_of(stand_ins, nin), ffi.new("int32_t[?]", nout)
        local results = core.call_ids("export", out, nout, function()
            return C.neap_export(ctx, level, core_ports(inputs), placeholders, core_ports(outputs), out)
        end)
        results.n = nout
        return staging.end_trace("export", level, nin, results)
    end)
    entry.captures = {}
    return program.new(entry, inputs.trees, inputs.roots, { inputs = inputs.names, outputs = outputs.names })
end

--- np.export{inputs={x=x, …}, outputs={y=y, …}, sizes=…} -> program: the program that makes the outputs of the inputs,
-- as it was recorded in deferred mode. Inputs and outputs are named by their keys, "a.b" in nested tables, and come in
-- the order of trees: lists, then sorted names. The program is called with the entries of `inputs` in that order, or
-- with one table like `inputs`, or with all arrays one by one, and returns the outputs in their order. It does not
-- matter whether anything has been computed.
--
-- An input may be any array, a lazy constant too (np.zeros, np.arange); it stays an input although constructors,
-- numbers and what the body spells out (np.array of a table) are none otherwise. It is an error if an output needs
-- another array that was not recorded in the mode and is not listed, or if no output needs an input. Prints in the mode
-- have happened; callbacks that outputs need are called by each run of the program.
--
-- With `sizes`, which declares sizes of inputs by name as np.trace has them, {sizes={x={"n", 3}}}, `outputs` is a
-- function of the table of inputs, which is recorded: what was recorded before has numbers where its sizes were.
--- inputs: a table of arrays by name
--- outputs: a table of arrays by name, or a function of the table of inputs that returns one
--- sizes: names of extents of inputs, by the inputs' names
--- > x = np.arange(3)
--- > y = np.deferred(function() return x * 2 end)
--- > np.export{inputs={x=x}, outputs={y=y}}(np.ones(3, {dtype="i32"}))
-- [2 2 2]
function np.export(given)
    return export(given)
end

jit.off(np.deferred)
jit.off(np.export)
jit.off(export)

return { export = export }
