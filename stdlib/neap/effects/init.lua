--- effects/init.lua: np.callback, and np.effects: the order of effects, and logs.
--
-- A callback is recorded as an op whose arguments are arrays; the Lua function is called when they are there, by this
-- thread, while it waits or records. Everything of a call that is no array (the form of tables, strings, booleans)
-- stays here, in the callee of the call: a closure to which the core has given a number (core.add_callee).
local bit = require "bit"
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.core.trees"
local output = require "neap.effects.output"
local ending = require "neap.effects.ending"
local util = require "jit.util"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, describe = core.is_array, core.raise, core.describe
local select, type, unpack = select, type, unpack

local effects = {}

local kind_of = output.kind_of

local function set_order(name, position, what, kind, how)
    if how ~= "own" and how ~= "global" then core.bad_argument(name, position, what, '"own" or "global"', how) end
    local own = how == "own" and 1 or 0
    core.call(name, function() return C.neap_effects_order(core.effects, kind, own) end)
end

--- np.effects: kinds of effects, their order, and logs: docs/effects.md says what is ordered with what.

--- np.effects.order(kind, how) -> nothing: from here on effects of a kind ("print", "write": io.write, "callback",
-- "log", or one that np.effects.kind has made) are ordered among themselves only ("own"), or in the order of the
-- program with all others ("global"), as at the start.
--- > np.effects.order("log", "global")
function effects.order(kind, how)
    set_order("effects.order", 2, "how", kind_of("effects.order", 1, "kind", kind), how)
end

--- np.effects.kind(name, {order="global"}) -> string: makes a kind of effects, for the option `kind` of np.callback,
-- np.debug.print and np.effects.logger, and returns its name. `order` is what np.effects.order takes; without it a new
-- kind is in the order of the program, and one that is there already stays as it is. A kind has to be made before it is
-- used, so that a name that is misspelt is an error. There may be 24 kinds in all, neap's own 4 among them.
--- order: "own" or "global", as in np.effects.order
--- > np.effects.kind("metrics", {order="own"})
-- metrics
function effects.kind(name, given)
    local order = core.options("effects.kind", given, { order = true }).order
    if type(name) ~= "string" then core.bad_argument("effects.kind", 1, "name", "a text", name) end
    local code = C.neap_effect_declare(name)
    if code < 0 then core.raise_status(code, "effects.kind") end
    if order ~= nil then set_order("effects.kind", nil, "order", code, order) end
    return name
end

-- ---- What results are -----------------------------------------------------------------------------------------------

--- A result: { index (from 0), dtype (code), shape (table), path }. Its metatable makes it a leaf of their tree.
local Result = {}

local function new_result(list, dtype, shape, path)
    local result = setmetatable({ index = #list, dtype = dtype, shape = shape, path = path }, Result)
    list[#list + 1] = result
    return result
end

-- How errors speak of a specification at a path.
local WHERE_RESULT = { callback = "option '%s'", pure_callback = "argument 2 (%s)" }

--- The tree of results for a specification: arrays, of which the results have shape and dtype, tables {shape={…},
-- dtype="f32"}, and tables of these. Results are appended to `list`.
local function results_of_spec(name, spec, list, path, depth)
    if is_array(spec) then return new_result(list, core.dtype_of(spec).code, spec.shape, path) end
    if not trees.is_node(spec) or depth > 100 then
        raise(name, "%s must hold arrays or tables such as {shape={2, 3}, dtype=\"f32\"}, got %s",
              WHERE_RESULT[name]:format(path), describe(spec))
    end
    if not trees.is_spec(spec) then
        local tree = {}
        for _, key in ipairs(trees.keys_of(spec, name)) do
            local step = trees.inner_path(path, key)
            tree[key] = results_of_spec(name, spec[key], list, step, depth + 1)
        end
        return tree
    end
    local dtype, shape = trees.spec(name, WHERE_RESULT[name]:format(path), spec)
    return new_result(list, dtype, shape, path)
end

--- The results as C takes them.
local function c_results(name, list)
    local specs = ffi.new("neap_spec[?]", #list + 1)
    for k, result in ipairs(list) do
        local spec = specs[k - 1]
        local ndim = #result.shape
        if ndim > core.MAX_DIMS then raise(name, "at most %d axes, got %d", core.MAX_DIMS, ndim) end
        spec.dtype, spec.ndim = result.dtype, ndim
        for a = 1, ndim do spec.shape[a - 1] = result.shape[a] end
    end
    return specs
end

--- Raises a text without a script line: the core puts the line of the call in front.
local function raise_bare(format, ...)
    error(format:format(...), 0)
end

--- What the user's function returned for a result, as an array.
local function as_array(result, value)
    if is_array(value) then return value end
    local expected = ("expected shape %s and dtype %s"):format(core.shape_text(result.shape),
                                                              core.dtypes[result.dtype].name)
    if type(value) == "boolean" then value = value and 1 or 0 end
    if type(value) ~= "number" then raise_bare("%s: %s, got %s", result.path, expected, describe(value)) end
    local ok, array = pcall(core.number, value, result.dtype)
    if not ok then raise_bare("%s: %s, got %s", result.path, expected, describe(value)) end
    return array
end

--- Hands what the user's function returned over to the core, which compares it with the results that were asked for.
local function give_results(tree, value, path)
    if getmetatable(tree) == Result then
        local array = as_array(tree, value)
        local failure = core.failure(function() return C.neap_callback_return(ctx, tree.index, array._id) end)
        if failure then raise_bare("%s: %s", path, failure) end
        return
    end
    if not trees.is_node(value) then raise_bare("%s: expected a table, got %s", path, describe(value)) end
    for key in pairs(value) do
        if tree[key] == nil then raise_bare("%s: nothing was expected at '%s'", path, tostring(key)) end
    end
    for _, key in ipairs(trees.keys_of(tree, "callback")) do
        give_results(tree[key], value[key], trees.inner_path(path, key))
    end
end

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- Stands for an array among the arguments of a call: { index (from 1), number }. number: it came as a number of a
-- trace, and goes as a number.
local Argument = {}

--- Splits arguments into a template and a list of arrays.
local function split_arguments(name, given, n)
    local template, arrays = {}, {}
    for k = 1, n do
        template[k] = trees.rebuild(name, given[k], function(leaf)
            if not is_array(leaf) then return leaf end
            local number = core.info(leaf).weak ~= 0
            arrays[#arrays + 1] = number and np.astype(leaf, "f64") or leaf
            return setmetatable({ index = #arrays, number = number }, Argument)
        end)
    end
    if #arrays > core.MAX_INPUTS then
        raise(name, "at most %d arrays among the arguments, got %d", core.MAX_INPUTS, #arrays)
    end
    return template, arrays
end

--- The arguments of a template with their arrays.
local function fill_arguments(template, n, arrays)
    local given = {}
    for k = 1, n do
        given[k] = trees.rebuild("callback", template[k], function(leaf)
            if getmetatable(leaf) ~= Argument then return leaf end
            local array = arrays[leaf.index]
            return leaf.number and #array.shape == 0 and core.item(array) or array -- one for each example is an array
        end)
    end
    return given
end

-- ---- Coordinates ----------------------------------------------------------------------------------------------------

local ALL_AXES = -1

--- Appends the coordinates of each device of the body that runs now (tracing/axes.lua) to the arrays of a call, which
-- so is one for each device: over axes of the mesh whose bits are set, which are manual in this body or one around it.
-- Returns the names of the axes, in the order of the mesh: none outside of all bodies.
local function add_coordinates(arrays, bits)
    local by_place, names = {}, {}
    for _, axis in ipairs(core.frame().axes or {}) do -- the innermost that has no others counts
        if axis.mesh and bit.band(axis.manual, bit.bnot(bits)) == 0 then by_place[axis.at] = axis end
    end
    for at = 0, C.NEAP_MESH_AXES - 1 do
        local axis = by_place[at]
        if axis then names[#names + 1], arrays[#arrays + 1] = axis.name, axis.token end
    end
    return names
end

--- The coordinates that add_coordinates has added to the arrays of a call, which are ready now: { i = 0, j = 1 }.
local function read_coordinates(names, ready)
    local at, first = {}, #ready - #names
    for k, name in ipairs(names) do at[name] = core.item(ready[first + k]) end
    return at
end

local sharding_box = ffi.new("neap_sharding")

--- The axes of the mesh, as bits, that are manual for those of the arrays that differ between devices, as a print shows
-- them; 0: none differs.
local function axes_to_show(arrays)
    local bits = 0
    for k = 1, #arrays do
        local number = core.info(arrays[k]).sharding
        if number ~= 0 and C.neap_sharding_get(number, sharding_box) >= 0 and sharding_box.differs ~= 0 then
            bits = bit.bor(bits, sharding_box.manual)
        end
    end
    return bits
end

-- ---- Calls ----------------------------------------------------------------------------------------------------------

--- Where a Lua function is: "script.lua:12".
local function place_of(f)
    local facts = debug.getinfo(f, "S")
    return facts.what == "C" and "[C]" or facts.short_src .. ":" .. facts.linedefined
end

--- Records a call of `callee`, which gets the list of arrays when they are there. `how`: op, the public name; kind,
-- unordered, tolerant, place, and results (a list, with its C form in specs). Of a pure one also `pure`, as C's
-- NEAP_PURE_…, and the family of the call and which arrays are numbers. Returns a table of arrays for the results.
local function push_callback(how, callee, arrays, family, numbers)
    local n, out, recorded = #arrays, ffi.new("int32_t[?]", #how.results + 1), false
    local ids = ffi.new("int32_t[?]", n + 1)
    local file, line = core.user_site()
    local site = file and file .. ":" .. line or "?"
    local number = core.add_callee(callee)
    ending.renew()
    local call = ffi.new("neap_callback", { callee = number, kind = how.kind, unordered = how.unordered,
                                            tolerant = how.tolerant, nresults = #how.results, results = how.specs,
                                            name = how.place, site = site, pure = how.pure or 0,
                                            family = family or 0, numbers = numbers or 0 })
    local ok, handles = pcall(core.call_ids, how.op, out, #how.results, function()
        for k = 1, n do ids[k - 1] = arrays[k]._id end
        local rc = C.neap_callback_push(ctx, call, n, ids, out)
        recorded = rc >= 0
        return rc
    end)
    if ok then return handles end
    if not recorded then core.remove_callee(number) end
    error(handles, 0)
end

--- The callee of one recorded call of the user's function f: { f, name, arguments = their template, n = how many,
-- results = the tree of Results or nil, axes = of which it gets the coordinates, or nil }. Called with the arrays of
-- the template, behind which coordinates stand.
local Call = {}

function Call:__call(ready)
    local f, first, given = self.f, 1, fill_arguments(self.arguments, self.n, ready)
    if self.axes then first, given[0] = 0, read_coordinates(self.axes, ready) end
    local results = { f(unpack(given, first, self.n)) }
    if not self.results then return end
    if #results > 1 then raise_bare("expected one result, got %d", #results) end
    give_results(self.results, results[1], "result")
end

--- Raises unless f is a Lua function; code that traces knows it from here on as one that is called later.
local function check_called(name, f)
    if type(f) ~= "function" then core.bad_argument(name, 1, "f", "a function", f) end
    local proto = util.funcinfo(f).proto
    if proto then core.callbacks[proto] = true end
end

local function check_label(name, label)
    if label ~= nil and (type(label) ~= "string" or label == "" or label:find("%c")) then
        core.bad_argument(name, nil, "name", "a text", label)
    end
end

local callback_options = { ordered = true, result = true, kind = true, name = true, coordinates = true }

--- np.callback(f, {ordered=true, result=…, kind="callback", name="f", coordinates=false}) -> function: a function that
-- calls f(…) with its arguments when their values are there: an effect, in order with prints; ordered=false: as soon
-- as they are. It does not wait.
--
-- f gets arrays that are ready; tables keep their form, and everything else in them passes as it is. What f returns is
-- ignored, unless `result` says what it is: an array, or {shape={…}, dtype="f32"}, or a table of these; f must return
-- arrays (or numbers) of that form, and the call returns arrays of that form at once. An error in f is the failure of
-- the results; without results it is told on stderr.
--
-- In the body of np.shard_map f is called once if its arguments are the same on all devices; if one of them differs,
-- for each device, with the block of that device, in row-major order, and the results are blocks that differ.
-- Of several processes, each calls its own f for its own devices.
--- ordered: false: as soon as the arguments are there, in no order with other effects
--- result: what f returns: an array, or {shape={…}, dtype="f32"}, or a table of these
--- kind: a kind of effects, from np.effects.kind
--- name: what programs call f, also in files: np.load_program asks for a function of this name; without it that is the
-- script line of f
--- coordinates: true: f is called for each device in any case, and gets a table of the device's coordinates,
-- {i=0, j=1}, before its arguments
--- > np.callback(function(x) print("got", x) end)(np.ones(2))
-- got	[1. 1.]
--- > np.callback(function(x) return x * 2 end, {result={shape={2}, dtype="f32"}})(np.ones(2))
-- [2. 2.]
function np.callback(f, given)
    check_called("callback", f)
    local o = core.options("callback", given, callback_options)
    for _, flag in ipairs { "ordered", "coordinates" } do
        if o[flag] ~= nil and type(o[flag]) ~= "boolean" then
            core.bad_argument("callback", nil, flag, "a boolean", o[flag])
        end
    end
    check_label("callback", o.name)
    local list = {}
    local tree = o.result ~= nil and results_of_spec("callback", o.result, list, "result", 0) or nil
    local how = { op = "callback", kind = kind_of("callback", nil, "kind", o.kind == nil and "callback" or o.kind),
                  unordered = o.ordered == false and 1 or 0, tolerant = 0, place = o.name or place_of(f),
                  results = list, specs = c_results("callback", list) }
    local function call(...)
        local n = select("#", ...)
        local template, arrays = split_arguments("callback", { ... }, n)
        local callee = setmetatable({ f = f, name = how.place, arguments = template, n = n, results = tree,
                                      axes = o.coordinates and add_coordinates(arrays, ALL_AXES) or nil }, Call)
        local handles = push_callback(how, callee, arrays)
        if not tree then return end
        return trees.rebuild("callback", tree, function(result) return handles[result.index + 1] end)
    end
    jit.off(call)
    return call
end

-- ---- Pure functions -------------------------------------------------------------------------------------------------

local VMAP_METHODS = { sequential = C.NEAP_PURE_SEQUENTIAL, expand_dims = C.NEAP_PURE_EXPAND,
                       broadcast_all = C.NEAP_PURE_BROADCAST }

--- Which arrays of a template stand for numbers, as bits.
local function numbers_of(template, n)
    local bits = 0ULL
    for k = 1, n do
        trees.walk("pure_callback", template[k], function(leaf)
            if getmetatable(leaf) == Argument and leaf.number then
                bits = bit.bor(bits, bit.lshift(1ULL, leaf.index - 1))
            end
        end)
    end
    return bits
end

--- A text that two templates share only if all but the values of their arrays is the same; nil: nobody knows.
local function outline_of(template, n)
    local parts, known = {}, true
    local function add(value)
        local kind = type(value)
        if getmetatable(value) == Argument then
            parts[#parts + 1] = (value.number and "#%d" or "@%d"):format(value.index)
        elseif kind == "nil" or kind == "boolean" or kind == "string" then
            parts[#parts + 1] = ("%s %q"):format(kind, tostring(value))
        elseif kind == "number" then
            parts[#parts + 1] = ("%.17g"):format(value)
        elseif trees.is_node(value) and getmetatable(value) == nil then
            parts[#parts + 1] = "{"
            for _, key in ipairs(trees.keys_of(value, "pure_callback")) do
                add(key)
                add(value[key])
            end
            parts[#parts + 1] = "}"
        else
            known = false
        end
    end
    for k = 1, n do add(template[k]) end
    return known and table.concat(parts, " ") or nil
end

local families = 0

--- The family of a call: calls in a row of one function whose arguments are the same but for arrays are of one.
local function family_of(last, template, n)
    local outline = #core.frame().levels > 0 and outline_of(template, n)
    if not outline then return 0 end
    if last.outline ~= outline then
        families = families + 1
        last.outline, last.family = outline, families
    end
    return last.family
end

--- np.pure_callback(f, result, {vmap_method="sequential", name="f"}) -> function: a function that calls f(…) with its
-- arguments when their values are there, and gives arrays for what f returns at once: np.callback for functions whose
-- results are all that counts, as jax.pure_callback. A call is no effect: where functions are traced (np.jit, np.vmap,
-- loops) it does not happen if nothing needs its results, equal calls are one, and it may happen several times, at any
-- time; so f must give the same for the same arguments, and must not keep or change anything. `result` says what f
-- returns: an array, or {shape={…}, dtype="f32"}, or a table of these. Results cannot be differentiated: a rule
-- (np.custom_jvp, np.custom_vjp) around the call says what their derivative is.
--- vmap_method: how np.vmap calls f: "sequential", for each example; "expand_dims": once, with the axis of the examples
-- in front of arrays that have one, and of size 1 in front of others; then f returns arrays with that axis in front;
-- "broadcast_all": the same, and all arrays have it
--- name: what programs call f, also in files, as of np.callback
--- > root = np.pure_callback(function(x) return math.sqrt(x:item()) end, {shape={}, dtype="f32"})
--- > np.vmap(root)(np.array{1, 4, 9})
-- [1. 2. 3.]
function np.pure_callback(f, result, given)
    local name, list = "pure_callback", {}
    check_called(name, f)
    local o = core.options(name, given, { vmap_method = true, name = true })
    local method = o.vmap_method == nil and "sequential" or o.vmap_method
    if not VMAP_METHODS[method] then
        core.bad_argument(name, nil, "vmap_method", '"sequential", "expand_dims" or "broadcast_all"', method)
    end
    check_label(name, o.name)
    local tree = results_of_spec(name, result, list, "result", 0)
    if #list == 0 then raise(name, "argument 2 (result) holds no array: without results nothing is left of a call") end
    local how = { op = name, kind = kind_of("callback", nil, "kind", "callback"), unordered = 1, tolerant = 0,
                  place = o.name or place_of(f), results = list, specs = c_results(name, list),
                  pure = VMAP_METHODS[method] }
    local last = {}
    local function call(...)
        local n = select("#", ...)
        local template, arrays = split_arguments(name, { ... }, n)
        local callee = setmetatable({ f = f, name = how.place, arguments = template, n = n, results = tree }, Call)
        local handles = push_callback(how, callee, arrays, family_of(last, template, n), numbers_of(template, n))
        return trees.rebuild(name, tree, function(leaf) return handles[leaf.index + 1] end)
    end
    jit.off(call)
    return call
end

-- ---- Logs -----------------------------------------------------------------------------------------------------------

local Log = {}
Log.__index = Log

--- How calls that append to a table are recorded.
local function how_to_append(kind)
    return { op = "callback", kind = kind, unordered = 0, tolerant = 1, place = "np.effects.logger", results = {},
             specs = c_results("callback", {}) }
end

--- "[i=0, j=1] ", as in front of a print.
local function coordinates_text(names, at)
    local parts = {}
    for k, name in ipairs(names) do parts[k] = ("%s=%d"):format(name, at[name]) end
    return "[" .. table.concat(parts, ", ") .. "] "
end

--- Appends the line of some pieces to a list, when their arrays are there; where one of these differs between devices a
-- line for each, with its coordinates. Arrays that failed show their error.
local function append_line(lines, how, list, n)
    local template, arrays = split_arguments("effects.logger", list, n)
    local shown = axes_to_show(arrays)
    local axes = shown ~= 0 and add_coordinates(arrays, shown)
    push_callback(how, function(ready)
        local pieces = fill_arguments(template, n, ready)
        for k = 1, n do
            local piece = pieces[k]
            if type(piece) == "table" and type(piece[1]) == "number" then pieces[k] = piece[2]:format(piece[1]) end
        end
        local c_pieces = output.c_pieces(pieces, n)
        local tag = axes and coordinates_text(axes, read_coordinates(axes, ready)) or ""
        lines[#lines + 1] = tag .. core.text("effects.logger", function(text, capacity, bytes)
            return C.neap_pieces_text(ctx, n, c_pieces, text, capacity, bytes)
        end)
    end, arrays)
end

--- Raises if the file of a log cannot be written: text that it got is lost.
local function check_file(stream)
    local rc = C.neap_out_failure(stream)
    if rc ~= C.NEAP_OK then core.raise_status(rc, "effects.logger") end
end

--- log(format, …): a line, as np.printf formats it.
function Log:__call(format, ...)
    if self.closed then raise("effects.logger", "the log is closed") end
    if self.stream then check_file(self.stream) end
    local list, n = output.pieces("effects.logger", format, ...)
    if self.lines then
        append_line(self.lines, self.how, list, n)
    else
        list[n + 1] = "\n"
        output.emit(self.kind, self.stream, list, n + 1)
    end
end

--- log:close(): waits for all effects, then closes the file; raises if not all of its lines could be written.
function Log:close()
    if getmetatable(self) ~= Log then
        core.bad_argument("effects.logger", 1, "log", "a log, as in log:close()", self)
    end
    if self.closed then return end
    np.effects_barrier()
    self.closed = true
    if self.stream then
        local good, problem = pcall(check_file, self.stream) -- before the core forgets a stream that was told of
        core.call("effects.logger", function() return C.neap_out_close(self.stream) end)
        if not good then error(problem, 0) end
        check_file(self.stream)
    end
end

--- np.effects.logger(target, {mode="w", kind="log"}) -> log: a log: log(format, …) writes a line, formatted as by
-- np.printf, as an effect of that kind; log:close() ends it. The target is the path of a file (mode "w": emptied
-- first; "a": appended to) or a Lua table, to which the lines are appended. Arrays that differ between devices make a
-- line for each device, with its coordinates, as a print does. Of several processes, process 0 writes the file, and
-- each appends to its own table, of its own devices.
--- mode: "w": the file is emptied first; "a": lines are appended
--- kind: the kind of its effects
--- > lines = {}
--- > log = np.effects.logger(lines)
--- > log("loss %.2f", np.array(0.5))
--- > log:close()
--- > lines[1]
-- loss 0.50
function effects.logger(target, given)
    local o = core.options("effects.logger", given, { mode = true, kind = true })
    local mode, kind = o.mode, kind_of("effects.logger", nil, "kind", o.kind == nil and "log" or o.kind)
    if type(target) == "table" then
        if mode ~= nil then raise("effects.logger", "a table takes no option 'mode': lines are appended to it") end
        return setmetatable({ lines = target, how = how_to_append(kind) }, Log)
    end
    if type(target) ~= "string" or target:find("%z") then
        core.bad_argument("effects.logger", 1, "target", "a path or a table", target)
    end
    if mode ~= nil and mode ~= "w" and mode ~= "a" then
        core.bad_argument("effects.logger", nil, "mode", '"w" or "a"', mode)
    end
    local box = ffi.new("int[1]")
    if C.neap_process_index() > 0 then target = "/dev/null" end
    core.call("effects.logger", function() return C.neap_out_open(target, mode == "a" and 1 or 0, box) end)
    return setmetatable({ stream = box[0], kind = kind }, Log)
end

for _, f in ipairs { results_of_spec, give_results, split_arguments, fill_arguments, push_callback, np.callback,
                     numbers_of, outline_of, np.pure_callback, append_line, Call.__call, Log.__call, Log.close } do
    jit.off(f)
end

-- What a call is made of, for programs/program_file.lua, and for breakpoints whether it is one for each device.
core.call_parts = { Call = Call, Argument = Argument, Result = Result, axes_to_show = axes_to_show }

return effects
