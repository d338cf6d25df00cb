--- staging.lua: running a Lua function on stand-ins for its arguments: what grad, jit, trace and their kin share.
--
-- A *level* of the core is open meanwhile: a tape, or a trace. An op belongs to a level iff an input does. Levels are
-- brackets: `inside` runs the body under pcall and closes the level whatever happens; a coroutine may not yield out of
-- one. Arguments and results are trees (core/trees.lua).
local ffi = require "ffi"
local core = require "neap.core"
local axes = require "neap.tracing.axes"
local trees = require "neap.core.trees"
local capture = require "neap.tracing.capture"

local C, ctx = core.C, core.ctx
local is_array, raise, bad_argument, describe = core.is_array, core.raise, core.bad_argument, core.describe
local array_info = core.info
local select, type, unpack = select, type, unpack

local staging = {}

-- off, np.disable_jit: calls of jitted functions run the functions themselves; nans: np.debug.nans is on.
staging.switch = { off = false, nans = false }

-- ---- Levels ---------------------------------------------------------------------------------------------------------

local level_box = ffi.new("int[1]")
local id_box = ffi.new("int32_t[1]")

local function pack(...)
    return { n = select("#", ...), ... }
end

local function open_trace(context, box)
    return C.neap_trace_begin(context, C.NEAP_TRACE_OPEN, box)
end

local function open_closed(context, box)
    return C.neap_trace_begin(context, C.NEAP_TRACE_CLOSED, box)
end

local function open_staging(context, box)
    return C.neap_trace_begin(context, C.NEAP_TRACE_STAGES, box)
end

--- Whether a trace is open around the code that runs now.
function staging.tracing()
    return core.frame().traces > 0
end

--- Opens a level, runs body(level), closes it, and passes on the body's results or its error. `undo` runs in both
-- cases.
local function inside(name, open, body, undo)
    local rc = open(ctx, level_box)
    if rc < 0 then core.raise_status(rc, name) end
    local level = level_box[0]
    local traces = (open == open_trace or open == open_closed or open == open_staging) and 1 or 0
    local frame = core.frame()
    local levels, brackets = frame.levels, frame.brackets
    levels[#levels + 1] = coroutine.running() or "main"
    brackets[#brackets + 1] = traces == 1 and name
    frame.traces = frame.traces + traces
    local results = pack(pcall(body, level))
    levels[#levels], brackets[#brackets] = nil, nil
    frame.traces = frame.traces - traces
    local ended = C.neap_level_end(ctx, level) -- after a complete trace it was closed already: nothing changes
    if undo then undo() end
    if not results[1] then error(results[2], 0) end
    if ended < 0 and traces == 0 then core.raise_status(ended, name) end
    return unpack(results, 2, results.n)
end

--- The array of the id that a call of `try` leaves in id_box.
local function one_id(name, try)
    return core.call_ids(name, id_box, 1, try)[1]
end

--- A C array of the ids of n handles. The handles must outlive its use.
local function ids_of(handles, n)
    local ids = ffi.new("int32_t[?]", n + 1)
    for k = 1, n do ids[k - 1] = handles[k]._id end
    return ids
end

-- Names of Lua's functions of numbers, by function; and what those of other names are called in np.
local OF_MATH, OWN = {}, { max = "maximum", min = "minimum", fmod = "remainder" }
for name, f in pairs(math) do
    if type(f) == "function" then OF_MATH[f] = name end
end

--- A function, or what can be called as one: a program, a function with a rule of its own. A class of such things may
-- say how to make a function of it whose captured arrays are found (capture.lua). Which argument it is, and what it is
-- called: the first one, f, if nothing is said.
local function check_function(name, f, position, what)
    if type(f) == "function" then
        local of_math = OF_MATH[f]
        local own = of_math and (OWN[of_math] or of_math)
        if own and rawget(core.np, own) then
            raise(name, "argument %d (%s) is math.%s, which takes numbers alone; np.%s takes arrays",
                  what and position or 1, what or "f", of_math, own)
        end
        return f
    end
    local class = getmetatable(f)
    local callable = type(f) == "table" and type(class) == "table" and class.__call
    if not callable then
        raise(name, "argument %d (%s) must be a function, got %s%s", what and position or 1, what or "f",
              core.describe(f), require("neap.core.hints").called_function(name, f))
    end
    return class.as_function and class.as_function(f) or function(...) return f(...) end
end

--- The position of a function's parameter of this name.
local function parameter_position(name, option, f, wanted)
    local names, k = {}, 1
    local parameter = debug.getlocal(f, k)
    while parameter do
        if parameter == wanted then return k end
        names[k] = parameter
        k = k + 1
        parameter = debug.getlocal(f, k)
    end
    local known = names[1] and not names[1]:find "^%(" and ("has: " .. table.concat(names, ", "))
        or "has no names: give positions"
    raise(name, "option '%s' has %q, which is no parameter of the function; it %s", option, wanted, known)
end

--- A list of argument positions: a number or a table of them, from 1. f: a function whose parameters' names may stand
-- there, too; nil: none may.
local function positions_of(name, option, value, f)
    if value == nil then return {} end
    if type(core.plain(value)) == "number" or f and type(value) == "string" then value = { value } end
    if type(value) ~= "table" then bad_argument(name, nil, option, "a position or a table of positions", value) end
    local positions = {}
    for k = 1, #core.list(name, ("option '%s'"):format(option), value) do
        local named = f and type(value[k]) == "string"
        positions[k] = named and parameter_position(name, option, f, value[k]) or core.plain(value[k])
        if not core.is_integer(positions[k]) or positions[k] < 1 then
            raise(name, "option '%s' counts arguments from 1, got %s", option, describe(value[k]))
        end
    end
    return positions
end

-- ---- Tracing --------------------------------------------------------------------------------------------------------

--- Of a trace's argument that is no array yet: { dtype = code, shape = {…}, device = number or nil,
-- sharding = number or nil, fits = function of the shape that raises where the sharding does not fit it, if that is to
-- be asked yet }.
local Spec = setmetatable({}, { __call = function(self, spec) return setmetatable(spec, self) end })

--- The Spec of a table {shape={…}, dtype="f32", sharding=…}, which messages call `where`.
local function spec_of_table(name, where, value, texts)
    local dtype, shape = trees.spec(name, where, value, texts, true)
    local spec = Spec { dtype = dtype, shape = shape }
    if value.sharding == nil then return spec end
    spec.device, spec.sharding, spec.fits = core.place(name, where, value.sharding)
    for _, extent in ipairs(shape) do
        if type(extent) == "string" then return spec end -- a declared size, which is known when the trace is open
    end
    if spec.fits then spec.fits(shape) end
    spec.fits = nil
    return spec
end

local function spec_at(name, value, path, texts)
    if not trees.is_node(value) then return value end
    if trees.is_spec(value) then return spec_of_table(name, "argument " .. path, value, texts) end
    local copy = {}
    for _, key in ipairs(trees.keys_of(value, name)) do
        local step = type(key) == "number" and "[" .. key .. "]" or "." .. key
        copy[key] = spec_at(name, value[key], path .. step, texts)
    end
    return trees.alike(copy, value)
end

--- Packed arguments with a Spec for each table {shape={…}, dtype="f32", sharding=…} in them. texts: extents may be
-- texts, too.
local function with_specs(name, given, texts)
    local copy = { n = given.n }
    for k = 1, given.n do copy[k] = spec_at(name, given[k], tostring(k), texts) end
    return copy
end

local function is_input(leaf)
    return is_array(leaf) or type(leaf) == "number" or getmetatable(leaf) == Spec
end

local sharding_info, sharding_box = ffi.new("neap_sharding"), ffi.new("int32_t[1]")

--- The sharding of the parts of an array along an axis (from 0), which must not be divided.
local function sharding_of_parts(name, sharding, axis)
    core.call(name, function() return C.neap_sharding_get(sharding, sharding_info) end)
    local kept = 0
    for k = 0, sharding_info.nsplit - 1 do
        local at, by = sharding_info.split[2 * k], sharding_info.split[2 * k + 1]
        if at ~= axis then
            sharding_info.split[2 * kept], sharding_info.split[2 * kept + 1] = at > axis and at - 1 or at, by
            kept = kept + 1
        end
    end
    sharding_info.nsplit = kept
    core.call(name, function() return C.neap_sharding_new(sharding_info, sharding_box) end)
    return sharding_box[0]
end

--- A sharding whose values may differ between all devices over which they vary: that of a cotangent or tangent.
local function sharding_of_derivatives(name, sharding)
    core.call(name, function() return C.neap_sharding_get(sharding, sharding_info) end)
    sharding_info.differs = sharding_info.varies
    core.call(name, function() return C.neap_sharding_new(sharding_info, sharding_box) end)
    return sharding_box[0]
end

--- In a body that is not checked, the sharding of what each device has by itself, be it the same on all; nil elsewhere.
local function own_sharding(name)
    local mesh, manual, unchecked = axes.unchecked()
    if not mesh then return nil end
    local own = ffi.new("neap_sharding")
    own.mesh, own.manual, own.varies, own.unchecked = mesh.number, manual, unchecked, unchecked
    core.call(name, function() return C.neap_sharding_new(own, sharding_box) end)
    return sharding_box[0]
end

--- What a placeholder for array x is told of its weakness; a Spec has it as `weak`. known: core.info of x. A number
-- argument of a trace around the placeholder notes that what is recorded here depends on whether the number is whole.
function staging.weakness_in(known, x)
    local weak = known.yields ~= 0 and 2 + known.yields or known.weak
    if weak == 1 or weak == 2 then core.number_decides(x) end
    return weak
end

local function weakness_of(x) return staging.weakness_in(array_info(x), x) end
staging.weakness_of = weakness_of

--- The Spec of an array, but for its sharding: dtype, shape, and the device that it is committed to.
local function spec_of(x)
    local shape = core.shape_of(x)
    local known = array_info(x)
    return Spec { dtype = known.dtype, shape = shape, device = known.committed ~= 0 and known.device or nil }
end

--- The Spec of an array, with its sharding.
local function laid_spec(x)
    local spec, sharding = spec_of(x), array_info(x).sharding
    spec.sharding = sharding ~= 0 and sharding or nil
    return spec
end
staging.laid_spec = laid_spec

--- The Spec of an array or Spec with other extents, which may be size values.
local function sized_spec(leaf, shape)
    if getmetatable(leaf) == Spec then
        local copy = {}
        for key, value in pairs(leaf) do copy[key] = value end
        copy.shape = shape
        return Spec(copy)
    end
    local spec = laid_spec(leaf)
    spec.shape, spec.weak = shape, weakness_of(leaf)
    return spec
end
staging.sized_spec = sized_spec

--- The Spec of tangents or cotangents of an array.
local function derivative_spec(name, x)
    local spec, sharding = spec_of(x), array_info(x).sharding
    if sharding ~= 0 then spec.sharding = sharding_of_derivatives(name, sharding) end
    return spec
end

--- The array, lying on a mesh as a Spec says.
local function fitted(name, x, spec)
    if not spec.sharding or array_info(x).sharding == spec.sharding then return x end
    return one_id(name, function() return C.neap_mesh_fit(ctx, x._id, spec.sharding, id_box) end)
end

--- Whether an array that was fitted to a Spec lies elsewhere: on a mesh or a device that the Spec knows nothing of.
local function is_elsewhere(x, spec)
    local known = array_info(x)
    local device = known.committed ~= 0 and known.device or nil
    return not spec.sharding and (known.sharding ~= 0 or device ~= spec.device)
end

--- The Spec of one part of an array along an axis (from 0).
local function part_spec(name, x, axis)
    local spec, sharding = spec_of(x), array_info(x).sharding
    table.remove(spec.shape, axis + 1)
    if sharding ~= 0 then spec.sharding = sharding_of_parts(name, sharding, axis) end
    return spec
end

--- A C array of extents, which may be size values, for the next call.
local function extents_of(shape)
    local dims = ffi.new("int64_t[?]", #shape + 1)
    for k = 1, #shape do dims[k - 1] = core.put(k - 1, shape[k]) end
    return dims
end

--- The placeholder for a leaf.
local function placeholder(name, level, leaf)
    if type(leaf) == "number" then
        local f64, weak = core.dtype_codes.f64, leaf % 1 == 0 and 1 or 2
        return one_id(name, function() return C.neap_trace_input(ctx, level, f64, weak, -1, 0, 0, nil, id_box) end)
    end
    if getmetatable(leaf) == Spec then
        if leaf.fits then leaf.fits(leaf.shape) end
        return one_id(name, function()
            local dims = extents_of(leaf.shape)
            local device, sharding, weak = leaf.device or -1, leaf.sharding or 0, leaf.weak or 0
            return C.neap_trace_input(ctx, level, leaf.dtype, weak, device, sharding, #leaf.shape, dims, id_box)
        end)
    end
    local known = array_info(leaf)
    local dtype, ndim, sharding = known.dtype, known.ndim, known.sharding
    local weak = weakness_of(leaf)
    local device = known.committed ~= 0 and known.device or -1
    local shape = core.shape_of(leaf)
    return one_id(name, function()
        local dims = extents_of(shape)
        return C.neap_trace_input(ctx, level, dtype, weak, device, sharding, ndim, dims, id_box)
    end)
end

--- Stands for an array among the results of a trace.
local SLOT = setmetatable({}, { __tostring = function() return "an array" end })

--- Splits results into a template, in which SLOT stands for arrays, and the arrays.
local function split_results(name, results)
    local arrays, template = {}, { n = results.n }
    for k = 1, results.n do
        template[k] = trees.rebuild(name, results[k], function(leaf)
            if is_array(leaf) then
                arrays[#arrays + 1] = leaf
                return SLOT
            end
            local kind = type(leaf)
            if kind ~= "number" and kind ~= "string" and kind ~= "boolean" and leaf ~= nil then
                raise(name, "the function must return arrays, numbers or tables of them; result %d has %s", k,
                      describe(leaf))
            end
            return leaf
        end)
    end
    return template, arrays
end

--- The keys of a template's results in the order of their slots: false for an array, a list of keys for a table of
-- arrays alone; nil: there is anything else.
local function keys_of_slots(name, template)
    local list = {}
    for k = 1, template.n do
        local result = template[k]
        list[k] = false
        if not rawequal(result, SLOT) then
            if type(result) ~= "table" or getmetatable(result) ~= nil then return nil end
            list[k] = trees.keys_of(result, name)
            for _, key in ipairs(list[k]) do
                if not rawequal(result[key], SLOT) then return nil end
            end
        end
    end
    return list
end

--- The results of a template whose keys are known.
local function put_arrays(keys, arrays)
    local used, results = 0, {}
    for k = 1, #keys do
        local own = keys[k]
        if own then
            local result = {}
            for at = 1, #own do result[own[at]] = arrays[used + at] end
            used, results[k] = used + #own, result
        else
            used = used + 1
            results[k] = arrays[used]
        end
    end
    return unpack(results, 1, #keys)
end

--- The results of a template with arrays put into its slots.
local function fill_results(name, template, arrays)
    local used, results = 0, {}
    for k = 1, template.n do
        results[k] = trees.rebuild(name, template[k], function(leaf)
            if not rawequal(leaf, SLOT) then return leaf end
            used = used + 1
            return arrays[used]
        end)
    end
    return unpack(results, 1, template.n)
end

local program_box, free_program = ffi.new("neap_program *[1]"), core.finalizer(C.neap_program_free)

--- The argument with placeholders for its arrays and numbers, which are appended to `inputs`; or numbers as they are.
local function stand_in(name, level, argument, inputs, fixes_numbers)
    return trees.rebuild(name, argument, function(leaf)
        if not is_input(leaf) or fixes_numbers and type(leaf) == "number" then return leaf end
        inputs[#inputs + 1] = placeholder(name, level, leaf)
        return inputs[#inputs]
    end)
end

--- Closes a trace whose function has returned `results`. Returns { program, template, n = number of inputs, outputs }.
local function end_trace(name, level, n, results)
    local template, outputs = split_results(name, results)
    local count = #outputs
    local ids = ids_of(outputs, count)
    core.call(name, function() return C.neap_trace_end(ctx, level, count, ids, program_box) end)
    return { program = ffi.gc(program_box[0], free_program), template = template, n = n, outputs = count }
end

--- The arrays that a closed trace has lifted; they become inputs of the entry.
local function lifted_of(name, entry)
    local n = C.neap_program_captured(entry.program, 0, nil)
    if n == 0 then return {} end
    local ids = ffi.new("int32_t[?]", n)
    local lifted = core.call_ids(name, ids, n, function()
        return math.min(C.neap_program_captured(entry.program, n, ids), 0)
    end)
    entry.n = entry.n + n
    return lifted
end

--- Traces user_function on `given` (n arguments: trees of arrays, numbers, Specs; all else passes as it is) as a closed
-- program. `finish`, if given, gets the packed results while the trace is open, and returns those that count. Returns
-- { program, template, n = number of inputs, outputs } and a list of the arrays that were lifted: the program's inputs
-- are the arrays and numbers of `given`, then these. What user_function computes from constants alone is lifted too;
-- with `stages` the program computes it.
local function closed(name, user_function, given, finish, stages)
    local entry = inside(name, stages and open_staging or open_closed, function(level)
        local inputs, arguments = {}, { n = given.n }
        for k = 1, given.n do arguments[k] = stand_in(name, level, given[k], inputs) end
        local results = pack(user_function(unpack(arguments, 1, given.n)))
        if finish then results = finish(results) end
        return end_trace(name, level, #inputs, results)
    end)
    return entry, lifted_of(name, entry)
end

--- The same of what becomes a body: of a loop, a branch, a function whose ops stay together.
local function closed_body(name, user_function, given, finish, stages)
    local frame = core.frame()
    frame.in_bodies = frame.in_bodies + 1
    local results = pack(pcall(closed, name, user_function, given, finish, stages))
    frame.in_bodies = frame.in_bodies - 1
    if not results[1] then error(results[2], 0) end
    return results[2], results[3]
end

--- Whether what is recorded now belongs to a body.
function staging.in_body()
    return core.frame().in_bodies > 0
end

-- What Lua itself says of a value that is no number.
local LUA_WANTS_NUMBERS = { "'for' %a+ must be a number", "number expected, got cdata", "string expected, got cdata" }

-- What Lua and its FFI say of a size value where a number is wanted, and what to do.
local SIZE_WANTED = {
    { "'for' %a+ must be a number", "a loop of Lua over a size would be recorded for the size of now; use "
      .. "np.fori_loop, np.scan, or ops on whole arrays" },
    { "cannot convert 'struct neap_size'", "a size value cannot stand here; declare this size as an integer" },
    { "a size value as the key of a table", "a table of Lua has nothing for a size, which is a number only when the "
      .. "program runs; index an array (x[n - 1]) or use np.where, compare the size (n == 3 becomes a condition of the "
      .. "program), or declare it as an integer" },
    { "a size value as the argument of tonumber", "a size is a number only when the program runs; use it as it is, or "
      .. "declare it as an integer" },
    { "number expected, got cdata", "a size value cannot stand here; math.floor, min, max and sqrt take them, and "
      .. "arithmetic and comparisons do" },
}

--- A handler of errors while sizes are declared: says what was done with a size value, and where.
local function explain_size(problem)
    for _, pair in ipairs(type(problem) == "string" and SIZE_WANTED or {}) do
        if problem:find(pair[1]) then
            local file, line = core.user_site()
            local site = file and ("%s:%d: "):format(file, line) or ""
            return ("%s%s (%s)"):format(site, pair[2], (problem:gsub("^%S+:%d+: ", "")))
        end
    end
    return problem
end

--- The results of a function that ran on stand-ins; errors of Lua that an array has no value get a hint.
local function checked(ok, ...)
    if ok then return pack(...) end
    local problem = ...
    for _, pattern in ipairs(type(problem) == "string" and LUA_WANTS_NUMBERS or {}) do
        if problem:find(pattern) then
            problem = problem .. ": the values of arrays and of number arguments are not known while tracing; use "
                .. "np.fori_loop, np.cond or np.where, or list the argument in {static={…}}"
        end
    end
    error(problem, 0)
end

local function raised(ok, ...)
    if not ok then error((...), 0) end
    return ...
end

--- Runs user_function on stand-ins for `given`, as `closed` does, and keeps nothing of what it records. Returns its
-- results with describe(array) in place of arrays.
local function described(name, user_function, given, describe_array)
    return inside(name, open_closed, function(level)
        local arguments = { n = given.n }
        for k = 1, given.n do arguments[k] = stand_in(name, level, given[k], {}) end
        local results = checked(pcall(user_function, unpack(arguments, 1, given.n)))
        local template, arrays = split_results(name, results)
        for k = 1, #arrays do arrays[k] = describe_array(arrays[k]) end
        return fill_results(name, template, arrays)
    end)
end

--- Traces user_function on `given` (n arguments; those of is_static as they are) with the hidden inputs `captures` (a
-- list of places). Returns { program, template, n = number of inputs, outputs, captures }. If it `lifts`, arrays that
-- it reads in other ways are inputs too, and `lifted` lists them.
-- With fixes_numbers, numbers in the arguments stay as they are.
local function trace(name, user_function, given, is_static, places, captures, lifts, fixes_numbers)
    local expected, swaps = {}, core.frame().swaps
    local swap, numbers = capture.swap(places, captures), capture.numbers(places)
    local scope
    local function restore()
        C.neap_scope_close(ctx, scope)
        swaps[#swaps] = nil
        swap.finish()
    end
    return inside(name, lifts and open_staging or open_trace, function(level)
        swaps[#swaps + 1] = swap
        scope = C.neap_scope_open(ctx, nil) -- a program is called in other scopes too, which are then put around it
        local inputs, arguments = {}, { n = given.n }
        for k = 1, given.n do
            arguments[k] = is_static[k] and given[k] or stand_in(name, level, given[k], inputs, fixes_numbers)
        end
        for _, place in ipairs(captures) do
            local input = placeholder(name, level, place.value)
            inputs[#inputs + 1] = input
            expected[place] = input
            capture.write(place, input)
        end
        local results = core.sized()
            and pack(raised(xpcall(user_function, explain_size, unpack(arguments, 1, arguments.n))))
            or checked(pcall(user_function, unpack(arguments, 1, arguments.n)))
        local assigned = capture.assigned(places, function(place) return expected[place] or place.value end)
        if assigned then
            raise(name, "the function assigned an array to '%s', which is outside of it: return the array instead",
                  assigned)
        end
        local counted = capture.counted(places, numbers)
        if counted then
            core.warn(name, "the function assigns a number to %s, which happens while it is traced, not "
                      .. "at each call: make it local, return it, or pass it in as an array", counted)
        end
        local entry = end_trace(name, level, #inputs, results)
        entry.captures, entry.lifted = captures, lifted_of(name, entry)
        return entry
    end, restore)
end

--- Runs a traced entry on leaves (arrays and numbers): as a program, or, when an argument belongs to an open level, by
-- recording its ops again. `follows`: leaves may lie elsewhere than those that it was traced with.
local function run(name, entry, leaves, follows)
    local n, handles, taped = entry.n, {}, false
    for k = 1, n do
        local leaf = leaves[k]
        if type(leaf) == "number" then
            handles[k] = core.number(leaf)
        else
            handles[k] = leaf
            taped = taped or array_info(leaf).taped ~= 0
        end
    end
    local ids, out = ids_of(handles, n), ffi.new("int32_t[?]", entry.outputs + 1)
    local call = follows and C.neap_program_follow or taped and C.neap_program_replay or C.neap_program_run
    local arrays = core.call_ids(name, out, entry.outputs, function()
        return call(ctx, entry.program, n, ids, out)
    end)
    if entry.keys == nil then entry.keys = keys_of_slots(name, entry.template) or false end
    if entry.keys then return put_arrays(entry.keys, arrays) end
    return fill_results(name, entry.template, arrays)
end

staging.pack, staging.inside, staging.one_id, staging.id_box, staging.ids_of = pack, inside, one_id, id_box, ids_of
staging.check_function, staging.positions_of = check_function, positions_of
staging.trace, staging.run = trace, run
staging.placeholder, staging.open_trace, staging.end_trace = placeholder, open_trace, end_trace
staging.closed, staging.closed_body, staging.described = closed, closed_body, described
staging.Spec, staging.SLOT, staging.fill_results = Spec, SLOT, fill_results
staging.with_specs, staging.is_input = with_specs, is_input
staging.spec_of, staging.part_spec, staging.derivative_spec = spec_of, part_spec, derivative_spec
staging.fitted, staging.is_elsewhere = fitted, is_elsewhere
staging.own_sharding = own_sharding

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { inside, spec_of_table, spec_at, with_specs, spec_of, part_spec, own_sharding, derivative_spec,
                     fitted, is_elsewhere, trace, closed, closed_body, described, stand_in, run, split_results,
                     keys_of_slots, put_arrays, fill_results } do
    jit.off(f)
end

return staging
