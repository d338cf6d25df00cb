--- derive.lua: running a function on a tape: what all derivatives share; and np.jvp, np.vjp, np.linearize.
--
-- The arguments with respect to which is differentiated are trees of floats. Their leaves are replaced by *aliases*, and
-- what depends on those is on the tape, so an array that the function merely captures is a constant to it. Then C walks
-- over the tape: back from cotangents of the results, or along it from tangents of the aliases.
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.trees"
local staging = require "neap.staging"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, describe = core.is_array, core.raise, core.describe
local pack, inside, ids_of = staging.pack, staging.inside, staging.ids_of
local one_id, id_box, check_function = staging.one_id, staging.id_box, staging.check_function
local type, unpack = type, unpack
local F32 = core.dtype_codes.f32

local derive = {}

-- ---- Tapes ----------------------------------------------------------------------------------------------------------

--- Replaces the leaves of argument `position` by aliases of the level, which are appended to `aliases`.
local function alias_argument(name, position, value, level, aliases)
    return trees.rebuild(name, value, function(leaf)
        if type(leaf) == "number" then leaf = core.number(leaf, F32) end
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

--- Runs user_function on a tape, with aliases for the arguments at `positions`; then, while it is open, returns what
-- body(level, results, arguments, aliases) does.
function derive.on_tape(name, user_function, positions, given, body)
    return inside(name, C.neap_tape_begin, function(level)
        local aliases, arguments = {}, { n = given.n, unpack(given, 1, given.n) }
        for _, position in ipairs(positions) do
            if position > given.n then raise(name, "argument %d is missing, but argnums names it", position) end
            arguments[position] = alias_argument(name, position, given[position], level, aliases)
        end
        return body(level, pack(user_function(unpack(arguments, 1, arguments.n))), arguments, aliases)
    end)
end

--- The cotangents of aliases, for those of results (`seeds`, false among them is zero; nil: one for each), in a table.
function derive.gradient(name, level, results, seeds, aliases)
    local n, count = #aliases, #results
    local ids, wrt, out = ids_of(results, count), ids_of(aliases, n), ffi.new("int32_t[?]", n + 1)
    local given = seeds and derive.optional_ids(seeds, count)
    return core.call_ids(name, out, n, function()
        return C.neap_tape_gradient(ctx, level, count, ids, given, n, wrt, out)
    end)
end

--- The tangents of results, for those of aliases, in a table.
function derive.tangent(name, level, aliases, tangents, results)
    local n, count = #aliases, #results
    local wrt, given, ids = ids_of(aliases, n), ids_of(tangents, n), ids_of(results, count)
    local out = ffi.new("int32_t[?]", count + 1)
    return core.call_ids(name, out, count, function()
        return C.neap_tape_tangent(ctx, level, n, wrt, given, count, ids, out)
    end)
end

--- A C array of the ids of n handles, 0 where there is false.
function derive.optional_ids(handles, n)
    local ids = ffi.new("int32_t[?]", n + 1)
    for k = 1, n do ids[k - 1] = handles[k] and handles[k]._id or 0 end
    return ids
end

--- `like` with its leaves replaced by those of a list, in order.
function derive.refill(name, like, leaves, from)
    local used = from or 0
    return trees.rebuild(name, like, function()
        used = used + 1
        return leaves[used]
    end), used
end

-- ---- Results --------------------------------------------------------------------------------------------------------

--- The first n results of a function, as trees of arrays: numbers become f32. Returns them, and their arrays in a list.
function derive.take_results(name, results, n)
    local list, arrays = { n = n }, {}
    for k = 1, n do
        list[k] = trees.rebuild(name, results[k], function(leaf)
            if type(leaf) == "number" then leaf = core.number(leaf, F32) end
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

--- Checks that `value` has the keys of `like`, and appends match(leaf, of like, path) for its leaves to `list`.
local function match_tree(name, what, value, like, match, list, path)
    if not trees.is_node(like) then
        if trees.is_node(value) then raise(name, "%s: expected an array, got a table", path) end
        list[#list + 1] = match(value, like, path)
        return
    end
    if not trees.is_node(value) then raise(name, "%s: expected a table like %s, got %s", path, what, describe(value)) end
    for _, key in ipairs(trees.keys_of(like, name)) do
        match_tree(name, what, value[key], like[key], match, list, ("%s[%q]"):format(path, key))
    end
    for _, key in ipairs(trees.keys_of(value, name)) do
        if like[key] == nil then raise(name, "%s has a key %s, which %s has not", path, describe(key), what) end
    end
end
derive.match_tree = match_tree

--- A tangent or cotangent for an array: a number or an array of its dtype and shape.
function derive.fitting(name, value, like, path)
    local dtype = core.dtype_of(like)
    if type(value) == "number" then value = core.number(value, core.dtype_codes[dtype.name]) end
    if not is_array(value) then raise(name, "%s: expected an array, got %s", path, describe(value)) end
    local want, got = core.shape_text(like), core.shape_text(value)
    if want ~= got then raise(name, "%s: expected shape %s, got %s", path, want, got) end
    if core.info(value).weak ~= 0 then value = np.astype(value, dtype.name) end
    if core.dtype_of(value).name ~= dtype.name then
        raise(name, "%s: expected dtype %s, got %s", path, dtype.name, core.dtype_of(value).name)
    end
    return value
end

--- How many of f's results are differentiated: with has_aux the first, else all of them.
function derive.count_results(name, results, has_aux)
    if results.n == 0 then raise(name, "the function returned nothing") end
    if has_aux and results.n < 2 then raise(name, "with has_aux the function must return a value and more") end
    return has_aux and 1 or results.n
end

--- Appends all of `values` (n of them, or #values) to a list; returns it.
function derive.append(list, values, from)
    for k = from or 1, values.n or #values do
        list.n = list.n + 1
        list[list.n] = values[k]
    end
    return list
end

for _, f in ipairs { alias_argument, derive.on_tape, derive.take_results, match_tree, derive.refill } do jit.off(f) end

return derive
