--- derive.lua: running a function on a tape, which all derivatives share; and np.vjp, np.linearize, np.jvp.
--
-- The arguments with respect to which is differentiated are trees of floats; the places of a sparse array, integers,
-- are passed as they are, and stand in its derivative, too. The leaves are replaced by *aliases*, and what depends on
-- those is on the tape, so an array that the function merely captures is a constant to it. Then C walks over the tape:
-- back from cotangents of the results, or along it from tangents of the aliases. Such a walk can itself be traced, as a
-- closed program of the cotangents or tangents; what it has lifted are the residuals, so the program can be run when
-- the tape has long been closed.
local ffi = require "ffi"
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local trees = require "neap.core.trees"
local staging = require "neap.tracing.staging"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, describe = core.is_array, core.raise, core.describe
local pack, inside, ids_of = staging.pack, staging.inside, staging.ids_of
local one_id, id_box, check_function = staging.one_id, staging.id_box, staging.check_function
local type, unpack = type, unpack
local F32 = core.dtype_codes.f32

local derive = { tapes = 0 } -- tapes: how many were ever opened

-- ---- Tapes ----------------------------------------------------------------------------------------------------------

--- Whether a leaf of a node of a class (nil: of none) is one of its integers, to which no derivative belongs.
local function is_place(leaf, class)
    return class ~= nil and is_array(leaf) and not core.dtype_of(leaf).inexact
end

--- Replaces the leaves of argument `position` by aliases of the level, which are appended to `aliases`.
local function alias_argument(name, position, value, level, aliases)
    local function refuse_leaf(leaf)
        local at = ""
        trees.walk(name, value, function(other, path)
            if rawequal(other, leaf) and at == "" and path ~= "" then at = (" at '%s'"):format(path) end
        end, "")
        raise(name, "argument %d must hold floats to be differentiated, got dtype %s%s%s", position,
              core.dtype_of(leaf).name, at, at == "" and "; x:astype(\"f32\") casts" or "")
    end
    local own = { sharding = staging.own_sharding(name) } -- then its derivative is each device's own
    return trees.rebuild(name, value, function(leaf, class)
        if is_place(leaf, class) then return leaf end
        if core.is_number(leaf) then leaf = core.number(leaf, F32) end
        if not is_array(leaf) then
            raise(name, "argument %d must hold arrays or numbers, got %s", position, describe(leaf))
        end
        if not core.dtype_of(leaf).inexact then refuse_leaf(leaf) end
        if core.info(leaf).sharding == 0 then leaf = staging.fitted(name, leaf, own) end
        local alias = one_id(name, function() return C.neap_tape_alias(ctx, level, leaf._id, id_box) end)
        aliases[#aliases + 1] = alias
        return alias
    end)
end

--- Runs user_function on a tape, with aliases for the arguments at `positions`; then, while it is open, returns what
-- body(tape) does: tape = { name, level, arguments, aliases = a list of them, results }, packed lists. `check(tape)`,
-- if given, is called before the function.
function derive.on_tape(name, user_function, positions, given, body, check)
    return inside(name, C.neap_tape_begin, function(level)
        local arguments = { n = given.n, unpack(given, 1, given.n) }
        derive.tapes = derive.tapes + 1
        local tape = { name = name, level = level, aliases = {}, arguments = arguments }
        for _, position in ipairs(positions) do
            if position > given.n then raise(name, "argument %d is missing, but argnums names it", position) end
            arguments[position] = alias_argument(name, position, given[position], level, tape.aliases)
        end
        if check then check(tape) end
        local results = pack(user_function(unpack(arguments, 1, given.n)))
        while results.n > 1 and results[results.n] == nil do results.n = results.n - 1 end -- as of np.scan without ys
        tape.results = results
        return body(tape)
    end)
end

--- The cotangents of the aliases for those of some results, in a table. seeds = nil: one for each.
function derive.gradient(tape, results, seeds)
    local n, count = #tape.aliases, #results
    local wrt, out = ids_of(tape.aliases, n), ffi.new("int32_t[?]", n + 1)
    local ids, given = ids_of(results, count), seeds and ids_of(seeds, count)
    return core.call_ids(tape.name, out, n, function()
        return C.neap_tape_gradient(ctx, tape.level, count, ids, given, n, wrt, out)
    end)
end

--- A result of the function that nobody is given: it is computed only if it is asked for after all.
function derive.drop(tape, result)
    core.call(tape.name, function() return C.neap_tape_unread(ctx, tape.level, result._id) end)
end

--- The tangents of some results for those of the aliases, in a table.
function derive.tangent(tape, results, tangents)
    local n, count = #tape.aliases, #results
    local wrt, given = ids_of(tape.aliases, n), ids_of(tangents, n)
    local ids, out = ids_of(results, count), ffi.new("int32_t[?]", count + 1)
    return core.call_ids(tape.name, out, count, function()
        return C.neap_tape_tangent(ctx, tape.level, n, wrt, given, count, ids, out)
    end)
end

--- A linear map between lists of arrays, as a function: body(list), traced on placeholders for derivatives of `arrays`.
local function linear_map(name, arrays, body)
    local specs, n = {}, #arrays
    for k = 1, n do specs[k] = staging.derivative_spec(name, arrays[k]) end
    local entry, lifted = staging.closed(name, body, pack(specs))
    local function map(list)
        local leaves, follows = {}, false
        for k = 1, n do
            leaves[k] = staging.fitted(name, list[k], specs[k])
            follows = follows or staging.is_elsewhere(leaves[k], specs[k])
        end
        for k = 1, #lifted do leaves[n + k] = lifted[k] end
        return (staging.run(name, entry, leaves, follows))
    end
    jit.off(map)
    return map
end

--- The map from cotangents of some results to those of the aliases.
function derive.pullback(tape, results)
    return linear_map(tape.name, results, function(seeds) return derive.gradient(tape, results, seeds) end)
end

--- The map from tangents of the aliases to those of some results.
function derive.pushforward(tape, results)
    return linear_map(tape.name, tape.aliases, function(tangents) return derive.tangent(tape, results, tangents) end)
end

-- ---- Forms ----------------------------------------------------------------------------------------------------------

--- Stands for an array in the form of a tree: { dtype, inexact, spec = for a placeholder, with its shape,
-- weak = whether it is a number that a trace knows nothing of }.
local Form = {}

function derive.form(x, class)
    local spec = staging.spec_of(x)
    local dtype = core.dtypes[spec.dtype]
    return setmetatable({ dtype = dtype.name, inexact = dtype.inexact, spec = spec, weak = core.info(x).weak ~= 0,
                          place = is_place(x, class) and x or nil }, Form)
end

function derive.is_form(value)
    return getmetatable(value) == Form
end

local function form_of(name, tree)
    return trees.rebuild(name, tree, derive.form)
end

local function is_float(x)
    return core.dtype_of(x).inexact
end

--- A tangent or cotangent at `path`: an array of the dtype and shape of a form, or a number.
function derive.fitting(name, value, form, path)
    if core.is_number(value) then value = core.number(value, core.dtype_codes[form.dtype]) end
    if not is_array(value) then raise(name, "%s: expected an array, got %s", path, describe(value)) end
    if core.info(value).weak ~= 0 then value = np.astype(value, form.dtype) end
    local dtype, dims = core.dtype_of(value).name, core.shape_of(value)
    if dtype ~= form.dtype or not shape.same(dims, form.spec.shape) then
        raise(name, "%s: expected dtype %s and shape %s, got %s and %s", path, form.dtype,
              core.shape_text(form.spec.shape), dtype, core.shape_text(dims))
    end
    return value
end

--- The path of a key of the value at `path`.
function derive.step(path, key)
    return type(key) == "number" and ("%s[%d]"):format(path, key) or path .. "." .. key
end

local fitting, step = derive.fitting, derive.step

--- The same array, if it is not committed to another device than the one that the form stands for.
local function on_device(name, x, form, path)
    local known, device = core.info(x), form.spec.device
    if device and known.sharding == 0 and known.committed ~= 0 and known.device ~= device then
        local want, got = ffi.string(C.neap_device_name(device)), ffi.string(C.neap_device_name(known.device))
        raise(name, "%s: expected an array on %s, got one on %s", path, want, got)
    end
    return x
end

--- Appends the leaves of `value`, a tree of the form `form`, to `list`: those that stand for floats.
local function match_leaves(name, value, form, list, path)
    if getmetatable(form) == Form then
        if form.inexact then list[#list + 1] = on_device(name, fitting(name, value, form, path), form, path) end
        return
    end
    if not trees.is_node(value) then raise(name, "%s: expected a table, got %s", path, describe(value)) end
    for _, key in ipairs(trees.keys_of(form, name)) do
        match_leaves(name, value[key], form[key], list, step(path, key))
    end
    for _, key in ipairs(trees.keys_of(value, name)) do
        if form[key] == nil then raise(name, "%s: there is nothing that it belongs to", step(path, key)) end
    end
end

--- The leaves of n values of these forms, in a list. Errors call value k `what` k.
local function match_all(name, what, values, forms)
    if values.n ~= forms.n then raise(name, "expected %d %ss, got %d", forms.n, what, values.n) end
    local list = {}
    for k = 1, forms.n do match_leaves(name, values[k], forms[k], list, ("%s %d"):format(what, k)) end
    return list
end

local function forms_of(name, values)
    local forms = { n = values.n }
    for k = 1, values.n do forms[k] = form_of(name, values[k]) end
    return forms
end

--- Trees like the first n of `likes`, with the leaves of a list, in order.
function derive.refill(name, likes, n, leaves)
    local used, list = 0, { n = n }
    for k = 1, n do
        list[k] = trees.rebuild(name, likes[k], function(like, class)
            if derive.is_form(like) and like.place then return like.place end
            if is_place(like, class) then return like end
            used = used + 1
            return leaves[used]
        end)
    end
    return list
end

--- The results that are differentiated (with has_aux the first, else all), as trees of arrays: numbers become f32.
-- Returns them packed, and their arrays in a list.
function derive.take_results(tape, has_aux)
    local name, results, arrays = tape.name, tape.results, {}
    if results.n == 0 then raise(name, "the function returned nothing") end
    local list = { n = has_aux and 1 or results.n }
    for k = 1, list.n do
        list[k] = trees.rebuild(name, results[k], function(leaf, class)
            if is_place(leaf, class) then return leaf end
            if core.is_number(leaf) then leaf = core.number(leaf, F32) end
            if not is_array(leaf) then
                raise(name, "the function must return arrays, numbers or tables of them; result %d has %s", k,
                      describe(leaf))
            end
            arrays[#arrays + 1] = leaf
            return leaf
        end)
    end
    return list, arrays
end

--- What follows the value in the results of the user's function; without has_aux there must be nothing.
function derive.check_aux(name, results, has_aux)
    if has_aux and results.n < 2 then raise(name, "with has_aux the function must return a value and more") end
    if not has_aux and results.n > 1 then
        raise(name, "the function returned %d values; with {has_aux=true} all but the first are passed on", results.n)
    end
end

--- Appends list[first], … to another list.
function derive.append(to, list, first)
    for k = first, list.n do to[to.n + k - first + 1] = list[k] end
    to.n = to.n + math.max(list.n - first + 1, 0)
    return to
end
local append = derive.append

-- ---- Options --------------------------------------------------------------------------------------------------------

--- The checked option has_aux.
local function check_has_aux(name, value)
    if value ~= nil and type(value) ~= "boolean" then core.bad_argument(name, nil, "has_aux", "a boolean", value) end
    return value
end

--- The checked options of functions that differentiate with respect to some arguments: argnums, has_aux, and those of
-- `others`, a table of names.
function derive.options(name, given, others)
    local known = { argnums = true, has_aux = true }
    for option in pairs(others or {}) do known[option] = true end
    local o = core.options(name, given, known)
    local argnums = staging.positions_of(name, "argnums", o.argnums == nil and 1 or o.argnums)
    if #argnums == 0 then raise(name, "option 'argnums' is empty") end
    return argnums, check_has_aux(name, o.has_aux), o
end

-- ---- np.vjp, np.linearize, np.jvp -----------------------------------------------------------------------------------

local function all_positions(n)
    local positions = {}
    for k = 1, n do positions[k] = k end
    return positions
end

--- The arguments without {has_aux=…} at their end (which cannot be one to differentiate), and its value.
local function split_options(name, given)
    local last, has_aux = given[given.n], nil
    if type(last) == "table" and type(rawget(last, "has_aux")) == "boolean" and next(last, next(last)) == nil then
        given = { n = given.n - 1, unpack(given, 1, given.n - 1) }
        has_aux = core.options(name, last, { has_aux = true }).has_aux
    end
    if given.n == 0 then raise(name, "expected an argument with respect to which to differentiate") end
    return given, has_aux
end

--- What np.vjp and np.linearize share: f's results, a linear map that make(tape, list, arrays) returns, and what
-- follows with has_aux.
local function linearized(name, f, given, make)
    local has_aux
    f = check_function(name, f)
    given, has_aux = split_options(name, given)
    return derive.on_tape(name, f, all_positions(given.n), given, function(tape)
        if has_aux then derive.check_aux(name, tape.results, true) end
        local list, arrays = derive.take_results(tape, has_aux)
        local results = append({ n = 0 }, list, 1)
        append(results, { n = 1, make(tape, list, arrays) }, 1)
        if has_aux then append(results, tape.results, 2) end
        return unpack(results, 1, results.n)
    end)
end

--- The function of np.vjp, of a tape and what it has: from cotangents of the results to those of the arguments. Errors
-- call it `name`.
local function pullback_of(name)
    return function(tape, list, arrays)
        local floats = {}
        for k = 1, #arrays do floats[#floats + 1] = is_float(arrays[k]) and arrays[k] or nil end
        local pull, count = derive.pullback(tape, floats), tape.arguments.n
        local forms, arguments = forms_of(tape.name, list), forms_of(tape.name, tape.arguments)
        local function back(...)
            local flat = pull(match_all(name, "cotangent", pack(...), forms))
            return unpack(derive.refill(name, arguments, count, flat), 1, count)
        end
        jit.off(back)
        return back
    end
end

--- np.vjp(f, x, …, {has_aux=false}) -> results, function: f's results at the arguments, then a function that takes a
-- cotangent for each result and returns one for each argument, trees of the same form. It may be called any number of
-- times, also later: f is not run again. Cotangents of results that are no floats are ignored.
--- has_aux: true: only f's first result is differentiated, and the others follow the function
--- > y, back = np.vjp(np.square, np.array(3))
--- > y, back(np.array(1))
-- 9.0
-- 6.0
--- > y, back, more = np.vjp(function(x) return x * x, x + 1 end, np.array(3), {has_aux=true})
--- > more
-- 4.0
function np.vjp(f, ...)
    return linearized("vjp", f, pack(...), pullback_of "vjp_function")
end

--- Arguments with zeros for each {shape={…}, dtype=…, sharding=…} in them, and arrays for numbers.
local function stand_for_specs(name, given)
    local copy = staging.with_specs(name, given)
    for k = 1, copy.n do
        copy[k] = trees.rebuild(name, copy[k], function(leaf)
            if getmetatable(leaf) == staging.Spec then
                local zeros = np.zeros(leaf.shape, { dtype = core.dtypes[leaf.dtype].name })
                if leaf.device then zeros = np.device_put(zeros, core.device_numbered(leaf.device)) end
                return staging.fitted(name, zeros, leaf)
            end
            return core.is_number(leaf) and core.number(leaf, F32) or leaf
        end)
    end
    return copy
end

--- Raises unless f is linear at these arguments: then the cotangents of none depend on the arguments, as they would if
-- each of many examples had arguments of its own, and all the same cotangents of the results.
local function check_linear(name, f, given)
    local examples = { n = given.n }
    for k = 1, given.n do
        examples[k] = trees.rebuild(name, given[k], function(leaf)
            return is_array(leaf) and np.expand_dims(leaf, 0) or leaf
        end)
    end
    local ok, problem = pcall(np.vmap(function(...)
        local results = pack(linearized(name, f, pack(...), pullback_of(name)))
        for k = 1, results.n - 1 do results[k] = trees.rebuild(name, results[k], np.ones_like) end
        return results[results.n](unpack(results, 1, results.n - 1))
    end, { out_axes = false }), unpack(examples, 1, examples.n))
    if ok then return end
    if type(problem) ~= "string" or not problem:find("depends on the example", 1, true) then error(problem, 0) end
    raise(name, "f is not linear: its derivative depends on the arguments")
end

--- np.linear_transpose(f, x, …) -> function: of a linear f, the function from a cotangent for each result of f to one
-- for each argument x, …: f's transpose. Only shapes, dtypes and places of the arguments count, which may be given
-- as {shape={2, 3}, dtype="f32", sharding=…} too (`?np.eval_shape`); f is not computed. Constants that f adds make no
-- difference. Raises if f is not linear in all its arguments together.
--- > back = np.linear_transpose(function(x) return np.cumsum(x) * 2 end, {shape={3}})
--- > back(np.array{1, 0, 1})
-- [4. 2. 2.]
function np.linear_transpose(f, ...)
    local name = "linear_transpose"
    f = check_function(name, f)
    local given = stand_for_specs(name, pack(...))
    if given.n == 0 then raise(name, "expected an argument in which f is linear") end
    check_linear(name, f, given)
    local results = pack(linearized(name, f, given, pullback_of(name)))
    return results[results.n]
end

--- np.linearize(f, x, …, {has_aux=false}) -> results, function: f's results at the arguments, then the derivative
-- there: a function that takes a tangent for each argument and returns one for each result.
--- has_aux: as in np.vjp
--- > y, tangent = np.linearize(np.square, np.array(3))
--- > y, tangent(np.array(1))
-- 9.0
-- 6.0
--- > y, tangent, more = np.linearize(function(x) return x * x, x + 1 end, np.array(3), {has_aux=true})
--- > more
-- 4.0
function np.linearize(f, ...)
    return linearized("linearize", f, pack(...), function(tape, list, arrays)
        local push, count = derive.pushforward(tape, arrays), list.n
        local forms, results = forms_of("linearize", tape.arguments), forms_of("linearize", list)
        local function jvp_function(...)
            local flat = push(match_all("jvp_function", "tangent", pack(...), forms))
            return unpack(derive.refill("jvp_function", results, count, flat), 1, count)
        end
        jit.off(jvp_function)
        return jvp_function
    end)
end

--- A list of trees, one for each argument.
local function check_list(name, position, what, value)
    if type(value) ~= "table" or getmetatable(value) ~= nil or #value == 0 then
        core.bad_argument(name, position, what, "a table of one value for each argument of f", value)
    end
    core.list(name, "the table of " .. what, value)
    return { n = #value, unpack(value) }
end

--- np.jvp(f, {x, …}, {dx, …}, {has_aux=false}) -> results, tangents: f's results at the arguments {x, …}, then their
-- tangents for the tangents {dx, …} of these. Tangents are trees like the arguments; those of results that are no
-- floats are zeros.
--- has_aux: true: only the first result is differentiated, and the others follow
--- > np.jvp(np.square, {np.array(3)}, {np.array(1)})
-- 9.0
-- 6.0
function np.jvp(f, primals, tangents, given)
    f = check_function("jvp", f)
    local has_aux = check_has_aux("jvp", core.options("jvp", given, { has_aux = true }).has_aux)
    primals, tangents = check_list("jvp", 2, "primals", primals), check_list("jvp", 3, "tangents", tangents)
    local flat
    return derive.on_tape("jvp", f, all_positions(primals.n), primals, function(tape)
        if has_aux then derive.check_aux("jvp", tape.results, true) end
        local list, arrays = derive.take_results(tape, has_aux)
        local moved = derive.refill("jvp", list, list.n, derive.tangent(tape, arrays, flat))
        append(append(list, moved, 1), tape.results, has_aux and 2 or tape.results.n + 1)
        return unpack(list, 1, list.n)
    end, function(tape)
        flat = match_all("jvp", "tangent", tangents, forms_of("jvp", tape.arguments))
    end)
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { alias_argument, derive.on_tape, derive.gradient, derive.drop, derive.tangent, linear_map, form_of,
                     match_leaves, match_all, forms_of, derive.refill, derive.take_results, append, linearized, np.vjp,
                     stand_for_specs, check_linear, np.linear_transpose, np.linearize, np.jvp } do
    jit.off(f)
end

return derive
