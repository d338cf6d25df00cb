--- transform.lua: np.grad, np.value_and_grad, np.jit, np.trace.
--
-- All of them run a Lua function on stand-ins for its arguments, inside a *level* of the core: a tape, or a trace. An
-- op belongs to a level iff an input does. Levels are brackets: `inside` runs the body under pcall and closes the level
-- whatever happens; a coroutine may not yield out of one.
--
-- Arguments and results are trees (trees.lua). Strings and booleans in the arguments of a jitted function are part of
-- its structure; numbers are run-time inputs.
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.trees"
local capture = require "neap.capture"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, bad_argument, describe = core.is_array, core.raise, core.bad_argument, core.describe
local array_info, dtypes = core.info, core.dtypes
local select, type, unpack = select, type, unpack

-- ---- Levels ---------------------------------------------------------------------------------------------------------

local level_box = ffi.new("int[1]")
local id_box = ffi.new("int32_t[1]")

local function pack(...)
    return { n = select("#", ...), ... }
end

--- Opens a level, runs body(level), closes it, and passes on the body's results or its error. `undo` runs in both
-- cases.
local function inside(name, open, body, undo)
    local rc = open(ctx, level_box)
    if rc < 0 then core.raise_status(rc, name) end
    local level = level_box[0]
    local levels = core.frame().levels
    levels[#levels + 1] = coroutine.running() or "main"
    local results = pack(pcall(body, level))
    levels[#levels] = nil
    C.neap_level_end(ctx, level) -- already closed after a complete trace: then this changes nothing
    if undo then undo() end
    if not results[1] then error(results[2], 0) end
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

local function check_function(name, f)
    if type(f) ~= "function" then bad_argument(name, 1, "f", "a function", f) end
    return f
end

--- A list of argument positions: a number or a table of them, from 1.
local function positions_of(name, option, value)
    if value == nil then return {} end
    if type(value) == "number" then value = { value } end
    if type(value) ~= "table" then bad_argument(name, nil, option, "a position or a table of positions", value) end
    for k = 1, #value do
        if type(value[k]) ~= "number" or value[k] < 1 or value[k] % 1 ~= 0 then
            raise(name, "option '%s' counts arguments from 1, got %s", option, describe(value[k]))
        end
    end
    return value
end

-- ---- Gradients ------------------------------------------------------------------------------------------------------

--- Replaces the leaves of one argument by aliases of the level, which are appended to `aliases`.
local function alias_argument(name, position, value, level, aliases)
    return trees.rebuild(name, value, function(leaf)
        if type(leaf) == "number" then leaf = core.number(leaf, core.dtype_codes.f32) end
        if not is_array(leaf) then
            raise(name, "argument %d must hold arrays or numbers, got %s", position, describe(leaf))
        end
        local dtype = core.dtype_of(leaf)
        if dtype.kind ~= "f" then
            raise(name, "argument %d must hold floats to be differentiated, got dtype %s", position, dtype.name)
        end
        local alias = one_id(name, function() return C.neap_tape_alias(ctx, level, leaf._id, id_box) end)
        aliases[#aliases + 1] = alias
        return alias
    end)
end

--- The 0-d float array that a differentiated function must return.
local function check_result(name, value)
    if type(value) == "number" then return core.number(value, core.dtype_codes.f32) end
    if not is_array(value) then raise(name, "the function must return a 0-d float array, got %s", describe(value)) end
    local known = array_info(value)
    if known.ndim ~= 0 then
        raise(name, "the function must return a 0-d array (reduce it, as with :sum()), got shape %s",
              core.shape_text(value))
    end
    local dtype = core.dtype_of(value)
    if dtype.kind ~= "f" then raise(name, "the function must return a float, got dtype %s", dtype.name) end
    return value
end

--- Runs user_function on a tape. Returns its results and the gradients, one tree per argument of argnums, in a table.
local function differentiate(name, user_function, argnums, ...)
    local given = pack(...)
    return inside(name, C.neap_tape_begin, function(level)
        local aliases = {}
        for k = 1, #argnums do
            local position = argnums[k]
            if position > given.n then raise(name, "argument %d is missing, but argnums names it", position) end
            given[position] = alias_argument(name, position, given[position], level, aliases)
        end
        local results = pack(user_function(unpack(given, 1, given.n)))
        local result, n = check_result(name, results[1]), #aliases
        local wrt, out = ids_of(aliases, n), ffi.new("int32_t[?]", n + 1)
        local flat = core.call_ids(name, out, n, function()
            return C.neap_tape_gradient(ctx, level, result._id, 0, n, wrt, out)
        end)
        local gradients, used = {}, 0
        for k = 1, #argnums do
            gradients[k] = trees.rebuild(name, given[argnums[k]], function()
                used = used + 1
                return flat[used]
            end)
        end
        results[1] = result
        return results, gradients
    end)
end

local grad_options = { argnums = true, has_aux = true }

--- The checked arguments of grad and value_and_grad: argnums, has_aux.
local function grad_arguments(name, f, given)
    check_function(name, f)
    local o = core.options(name, given, grad_options)
    if o.has_aux ~= nil and type(o.has_aux) ~= "boolean" then
        bad_argument(name, nil, "has_aux", "a boolean", o.has_aux)
    end
    local argnums = positions_of(name, "argnums", o.argnums == nil and 1 or o.argnums)
    if #argnums == 0 then raise(name, "option 'argnums' is empty") end
    return argnums, o.has_aux
end

--- What follows the value in the results of the user's function; without has_aux there must be nothing.
local function check_aux(name, results, has_aux)
    if has_aux and results.n < 2 then raise(name, "with has_aux the function must return a value and more") end
    if not has_aux and results.n > 1 then
        raise(name, "the function returned %d values; with {has_aux=true} all but the first are passed on", results.n)
    end
end

--- np.grad(f, {argnums={1}, has_aux=false}): a function that returns the gradients of f's first result, a 0-d float,
-- with respect to the arguments argnums (counted from 1), one result for each; a gradient has the form of its argument,
-- a tree of arrays. With has_aux the other results of f follow.
function np.grad(f, given)
    local argnums, has_aux = grad_arguments("grad", f, given)
    local user_function = f
    local function gradient(...)
        local results, gradients = differentiate("grad", user_function, argnums, ...)
        check_aux("grad", results, has_aux)
        local n = #gradients
        for k = 2, results.n do gradients[n + k - 1] = results[k] end
        return unpack(gradients, 1, n + results.n - 1)
    end
    jit.off(gradient)
    return gradient
end

--- np.value_and_grad(f, {argnums={1}, has_aux=false}): a function that returns f's results (the value, and with has_aux
-- what follows it), then the gradients as np.grad does.
function np.value_and_grad(f, given)
    local argnums, has_aux = grad_arguments("value_and_grad", f, given)
    local user_function = f
    local function value_and_gradient(...)
        local results, gradients = differentiate("value_and_grad", user_function, argnums, ...)
        check_aux("value_and_grad", results, has_aux)
        for k = 1, #gradients do results[results.n + k] = gradients[k] end
        return unpack(results, 1, results.n + #gradients)
    end
    jit.off(value_and_gradient)
    return value_and_gradient
end

-- ---- Tracing --------------------------------------------------------------------------------------------------------

local function signature(x)
    local known = array_info(x)
    local placed = known.committed ~= 0 and "@" .. known.device or ""
    local parts = { dtypes[known.dtype].name .. placed, known.weak ~= 0 and "w" or "" }
    for k = 1, known.ndim do parts[k + 2] = tonumber(known.shape[k - 1]) end
    return table.concat(parts, ",")
end

--- Appends what identifies the form of a value to `parts`, and its arrays and numbers to `leaves`.
local function flatten(name, value, parts, leaves, position, depth)
    local n = #parts
    if is_array(value) then
        leaves[#leaves + 1] = value
        parts[n + 1] = signature(value)
    elseif type(value) == "number" then
        leaves[#leaves + 1] = value
        parts[n + 1] = "#"
    elseif trees.is_node(value) then
        if depth > 100 then raise(name, "argument %d is nested more than 100 deep", position) end
        parts[n + 1] = "{"
        local count = #value
        for k = 1, count do flatten(name, value[k], parts, leaves, position, depth + 1) end
        local keys
        for key in pairs(value) do
            if type(key) == "string" then
                keys = keys or {}
                keys[#keys + 1] = key
            elseif type(key) ~= "number" or key < 1 or key > count or key % 1 ~= 0 then
                raise(name, "argument %d has a key that is neither a string nor in 1..%d: %s", position, count,
                      describe(key))
            end
        end
        if keys then
            table.sort(keys)
            for k = 1, #keys do
                parts[#parts + 1] = ("%q="):format(keys[k])
                flatten(name, value[keys[k]], parts, leaves, position, depth + 1)
            end
        end
        parts[#parts + 1] = "}"
    elseif type(value) == "string" then
        parts[n + 1] = ("%q"):format(value)
    elseif type(value) == "boolean" or value == nil then
        parts[n + 1] = tostring(value)
    else
        raise(name, "argument %d must hold arrays, numbers, strings and booleans, got %s; list it in {static={…}} if "
              .. "it does not change", position, describe(value))
    end
end

--- The placeholder for a leaf.
local function placeholder(name, level, leaf)
    if type(leaf) == "number" then
        local f64 = core.dtype_codes.f64
        return one_id(name, function() return C.neap_trace_input(ctx, level, f64, 1, -1, 0, nil, id_box) end)
    end
    local known = array_info(leaf)
    local dtype, weak, ndim = known.dtype, known.weak, known.ndim
    local device = known.committed ~= 0 and known.device or -1
    local dims = ffi.new("int64_t[?]", ndim + 1)
    for k = 0, ndim - 1 do dims[k] = known.shape[k] end
    return one_id(name, function()
        return C.neap_trace_input(ctx, level, dtype, weak, device, ndim, dims, id_box)
    end)
end

--- Stands for an array among the results of a trace.
local SLOT = setmetatable({}, { __tostring = function() return "an array" end })

--- Splits results into a template, in which SLOT stands for arrays, and the arrays.
local function take_results(name, results)
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

local program_box = ffi.new("neap_program *[1]")

--- Traces user_function on `given` (n arguments; those of is_static as they are) with the hidden inputs `captures` (a
-- list of places). Returns { program, template, n = number of inputs, outputs, captures }.
local function trace(name, user_function, given, is_static, places, captures)
    local expected, swaps = {}, core.frame().swaps
    local swap = capture.swap(places, captures)
    local function restore()
        swaps[#swaps] = nil
        swap.finish()
    end
    return inside(name, C.neap_trace_begin, function(level)
        swaps[#swaps + 1] = swap
        local inputs, arguments = {}, { n = given.n }
        for k = 1, given.n do
            arguments[k] = given[k]
            if not is_static[k] then
                arguments[k] = trees.rebuild(name, given[k], function(leaf)
                    if not is_array(leaf) and type(leaf) ~= "number" then return leaf end
                    inputs[#inputs + 1] = placeholder(name, level, leaf)
                    return inputs[#inputs]
                end)
            end
        end
        for _, place in ipairs(captures) do
            local input = placeholder(name, level, place.value)
            inputs[#inputs + 1] = input
            expected[place] = input
            capture.write(place, input)
        end
        local results = pack(user_function(unpack(arguments, 1, arguments.n)))
        local assigned = capture.assigned(places, function(place) return expected[place] or place.value end)
        if assigned then
            raise(name, "the function assigned an array to '%s', which is outside of it: return the array instead",
                  assigned)
        end
        local template, outputs = take_results(name, results)
        local n = #outputs
        local ids = ids_of(outputs, n)
        core.call(name, function() return C.neap_trace_end(ctx, level, n, ids, program_box) end)
        return { program = ffi.gc(program_box[0], C.neap_program_free), template = template, n = #inputs,
                 outputs = n, captures = captures }
    end, restore)
end

--- Runs a traced entry on leaves (arrays and numbers): as a program, or, when an argument belongs to an open level, by
-- recording its ops again.
local function run(name, entry, leaves)
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
    local call = taped and C.neap_program_replay or C.neap_program_run
    local arrays = core.call_ids(name, out, entry.outputs, function()
        return call(ctx, entry.program, n, ids, out)
    end)
    return fill_results(name, entry.template, arrays)
end

-- ---- np.jit ---------------------------------------------------------------------------------------------------------

local MAX_ENTRIES = 512 -- programs that one jitted function keeps; more forms than that start afresh

--- The name of a static argument in keys: values by value, tables and functions by identity.
local function static_part(value, identities)
    local kind = type(value)
    if kind == "number" then return ("%.17g"):format(value) end
    if kind == "string" then return ("%q"):format(value) end
    if kind == "boolean" or value == nil then return tostring(value) end
    if not identities[value] then
        identities.n = identities.n + 1
        identities[value] = identities.n
    end
    return kind .. identities[value]
end

--- Appends the arrays in the places of an entry to `leaves`; false if one does not fit the entry.
local function read_captures(entry, leaves, n)
    for _, place in ipairs(entry.constructed) do
        local value = capture.read(place)
        if not is_array(value) or value._id ~= place.value._id then return false end
    end
    for k, place in ipairs(entry.captures) do
        local value = capture.read(place)
        if not is_array(value) or signature(value) ~= entry.signatures[k] then return false end
        leaves[n + k] = value
    end
    return true
end

--- Traces a new entry for the arguments `given`.
local function new_entry(user_function, given, is_static)
    local places = capture.places(user_function)
    local captures, constructed = {}, {}
    for _, place in ipairs(capture.arrays(places)) do
        -- What is made of constructors is no input: the program makes it where it is read.
        local list = array_info(place.value).constructed ~= 0 and constructed or captures
        list[#list + 1] = place
    end
    local entry = trace("jit", user_function, given, is_static, places, captures)
    entry.signatures, entry.constructed = {}, constructed
    for k, place in ipairs(captures) do
        entry.signatures[k] = signature(place.value)
        place.value = nil -- the entry must not keep the array alive
    end
    return entry
end

--- np.jit(f, {static={2}}): a function that records f once per form of its arguments and then runs it as one program,
-- without running Lua. The form is: the keys of tables, shapes, dtypes and devices of arrays, strings, booleans, and
-- the values of static arguments (positions from 1). Numbers are inputs: other values run the same program.
--
-- f must depend on its arguments alone, and on arrays in local variables or globals around it, which are read anew at
-- each call. Everything else that f reads is fixed when it is recorded. f may print; it may not look at values (item,
-- tostring) nor assign arrays to variables outside.
function np.jit(f, given_options)
    local user_function = check_function("jit", f)
    local is_static = {}
    for _, position in ipairs(positions_of("jit", "static",
                                           core.options("jit", given_options, { static = true }).static)) do
        is_static[position] = true
    end
    local cache, count, identities = {}, 0, { n = 0 }
    local function jitted(...)
        local given, parts, leaves = pack(...), {}, {}
        for k = 1, given.n do
            if is_static[k] then
                parts[#parts + 1] = static_part(given[k], identities)
            else
                flatten("jit", given[k], parts, leaves, k, 0)
            end
            parts[#parts + 1] = ";"
        end
        local key, n = table.concat(parts), #leaves
        local entries = cache[key]
        if entries then
            for k = 1, #entries do
                if read_captures(entries[k], leaves, n) then return run("jit", entries[k], leaves) end
            end
        end
        if count >= MAX_ENTRIES then
            cache, count, identities, entries = {}, 0, { n = 0 }, nil
        end
        local entry = new_entry(user_function, given, is_static)
        entries = entries or {}
        entries[#entries + 1] = entry
        cache[key], count = entries, count + 1
        if not read_captures(entry, leaves, n) then
            raise("jit", "an array around the function changed while it was recorded")
        end
        return run("jit", entry, leaves)
    end
    jit.off(jitted)
    return jitted
end

-- ---- np.trace -------------------------------------------------------------------------------------------------------

local Program = {}
Program.__index = Program

--- Runs the program on arguments of the form with which it was traced.
function Program:__call(...)
    local given, parts, leaves = pack(...), {}, {}
    for k = 1, given.n do
        flatten("program", given[k], parts, leaves, k, 0)
        parts[#parts + 1] = ";"
    end
    local form = table.concat(parts)
    if form ~= self.form then
        raise("program", "arguments of the form %s do not fit the program, which was traced for %s", form, self.form)
    end
    return run("program", self.entry, leaves)
end

function Program:__tostring()
    return core.text("program", function(text, capacity, bytes)
        return C.neap_program_text(self.entry.program, text, capacity, bytes)
    end)
end

--- program:info(): a table of counts: inputs, outputs, nodes, captures, effects, steps.
function Program:info()
    local facts, result = ffi.new("neap_program_info"), {}
    C.neap_program_info_get(self.entry.program, facts)
    for _, name in ipairs { "inputs", "outputs", "nodes", "captures", "effects", "steps" } do
        result[name] = facts[name]
    end
    return result
end

--- np.trace(f)(args…): the program of f for arguments of that form: printable, and callable with such arguments. Arrays
-- around f are bound to it.
function np.trace(f)
    local user_function = check_function("trace", f)
    local function tracer(...)
        local given, parts, leaves = pack(...), {}, {}
        for k = 1, given.n do
            flatten("trace", given[k], parts, leaves, k, 0)
            parts[#parts + 1] = ";"
        end
        local entry = trace("trace", user_function, given, {}, capture.places(user_function), {})
        return setmetatable({ entry = entry, form = table.concat(parts) }, Program)
    end
    jit.off(tracer)
    return tracer
end

--- The programs behind a value, for np.explain: a list of { form, entry }, sorted by their forms, of a function that
-- np.jit made or of a traced program; nil for all else.
function core.programs_of(value)
    if getmetatable(value) == Program then return { { form = value.form, entry = value.entry } } end
    if type(value) ~= "function" or not core.is_library(value) then return nil end
    local position, name, cache = 0
    repeat
        position = position + 1
        name, cache = debug.getupvalue(value, position)
        if not name then return nil end
    until name == "cache"
    local list = {}
    for form, entries in pairs(cache) do
        for k = 1, #entries do list[#list + 1] = { form = form, entry = entries[k], place = k } end
    end
    table.sort(list, function(a, b) return a.form < b.form or a.form == b.form and a.place < b.place end)
    return list
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { inside, differentiate, alias_argument, trace, run, new_entry, flatten, take_results, fill_results,
                     Program.__call } do
    jit.off(f)
end
