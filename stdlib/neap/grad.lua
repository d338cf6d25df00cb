--- grad.lua: np.grad, np.value_and_grad.
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.trees"
local staging = require "neap.staging"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, bad_argument, describe = core.is_array, core.raise, core.bad_argument, core.describe
local array_info = core.info
local pack, inside, ids_of = staging.pack, staging.inside, staging.ids_of
local one_id, id_box = staging.one_id, staging.id_box
local check_function, positions_of = staging.check_function, staging.positions_of
local type, unpack = type, unpack

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

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { differentiate, alias_argument } do jit.off(f) end
