--- jacobian.lua: np.jacobian, np.jacfwd, np.jacrev, np.hessian.
--
-- f is run once, on a tape. Its derivative there, or the transpose of that, is a linear map between lists of arrays
-- (derive.lua), which np.vmap applies to all vectors of a basis at once: so the number of steps does not depend on how
-- many there are. The map gives, for each vector of the basis, one array for each array on its other side; these are
-- the slices of the Jacobian.

--- {argnums}: the arguments to differentiate with respect to: a position, from 1, or a table of positions
--- {has_aux}: true: only the first result of f is differentiated, and the others are passed on

local core = require "neap.core"
local trees = require "neap.core.trees"
local staging = require "neap.tracing.staging"
local derive = require "neap.transforms.derive"

local np = core.np
local raise = core.raise
local pack, unpack = staging.pack, unpack

--- How many numbers a list of arrays holds.
local function total_size(arrays)
    local total = 0
    for _, x in ipairs(arrays) do total = total + x.size end
    return total
end

local function joined(first, second)
    local dims = { unpack(first) }
    for k = 1, #second do dims[#dims + 1] = second[k] end
    return dims
end

--- For a list of arrays with n numbers in all: for each of them an array (n, its shape), in which vector k of the basis
-- has a one at number k.
local function basis(arrays, n)
    local list, start = {}, 0
    for k, x in ipairs(arrays) do
        local ones = np.eye(n, x.size, -start, { dtype = x.dtype })
        list[k] = ones:reshape(joined({ n }, x.shape))
        local sharding = x.sharding
        if sharding and not sharding.manual then -- vectors lie as x does
            list[k] = np.device_put(list[k], sharding.mesh, np.P(nil, unpack(sharding.spec, 1, x.ndim)))
        end
        start = start + x.size
    end
    return list
end

--- slices[o] holds, for each vector of the basis of the list `from`, an array like to[o]: returns get(o, i), the
-- Jacobian's part for to[o] and from[i]: of the shape of to[o], then that of from[i].
local function forward_parts(slices, to, from)
    local starts, start = {}, 0
    for i, x in ipairs(from) do starts[i], start = start, start + x.size end
    return function(o, i)
        local part = slices[o][{ { starts[i], starts[i] + from[i].size } }]
        return np.moveaxis(part, 0, -1):reshape(joined(to[o].shape, from[i].shape))
    end
end

--- The same, for slices that are like from[i] for each vector of the basis of `to`.
local function reverse_parts(slices, to, from)
    local starts, start = {}, 0
    for o, y in ipairs(to) do starts[o], start = start, start + y.size end
    return function(o, i)
        local part = slices[i][{ { starts[o], starts[o] + to[o].size } }]
        return part:reshape(joined(to[o].shape, from[i].shape))
    end
end

--- A linear map applied to the bases of the arrays `of`.
local function apply_to_basis(map, of)
    local n = total_size(of)
    if core.is_same(n, 0) then return map(of) end
    return np.vmap(map)(basis(of, n))
end

--- The Jacobian of the first result of the function on a tape, for each argument of argnums: a tree like the result,
-- each of whose leaves is a tree like the argument.
local function jacobians(tape, argnums, mode)
    local list, results = derive.take_results(tape, true)
    local aliases = tape.aliases
    for _, y in ipairs(results) do
        if core.dtype_of(y).kind ~= "f" then
            raise(tape.name, "the function must return %s, got dtype %s",
                  core.dtype_of(y).kind == "c" and "real numbers" or "floats", y.dtype)
        end
    end
    if mode == nil then mode = total_size(aliases) <= total_size(results) and "forward" or "reverse" end
    local get
    if mode == "forward" then
        get = forward_parts(apply_to_basis(derive.pushforward(tape, results), aliases), results, aliases)
    else
        get = reverse_parts(apply_to_basis(derive.pullback(tape, results), results), results, aliases)
    end
    local found, first = { n = #argnums }, 0
    for k, position in ipairs(argnums) do
        local o, last = 0, first
        found[k] = trees.rebuild(tape.name, list[1], function()
            o, last = o + 1, first
            return trees.rebuild(tape.name, tape.arguments[position], function()
                last = last + 1
                return get(o, last)
            end)
        end)
        first = last
    end
    return found
end

local function jacobian_function(name, user_function, argnums, has_aux, mode)
    user_function = staging.check_function(name, user_function)
    local function jacobian(...)
        return derive.on_tape(name, user_function, argnums, pack(...), function(tape)
            if tape.results.n == 0 then raise(name, "the function returned nothing") end
            derive.check_aux(name, tape.results, has_aux)
            local found = derive.append(jacobians(tape, argnums, mode), tape.results, 2)
            return unpack(found, 1, found.n)
        end)
    end
    jit.off(jacobian)
    return jacobian
end

--- np.jacobian(f, {argnums={1}, has_aux=false, mode=…}) -> function: a function that returns the Jacobians of f's first
-- result with respect to the arguments argnums, one result for each: of an array by an array, one of the shape of the
-- first followed by the shape of the second; a tree has one for each leaf. The mode is "forward", which takes one pass
-- for each number of the arguments, or "reverse", one for each number of the result; all passes are batched into one.
-- Without a mode the smaller number decides. With has_aux the other results of f follow.
--- mode: "forward" or "reverse"; without it what takes fewer passes
--- > np.jacobian(function(x) return x * x end)(np.array{1, 2})
-- [[2. 0.]
--  [0. 4.]]
function np.jacobian(f, given)
    local argnums, has_aux, o = derive.options("jacobian", given, { mode = true })
    if o.mode ~= nil and o.mode ~= "forward" and o.mode ~= "reverse" then
        core.bad_argument("jacobian", nil, "mode", '"forward" or "reverse"', o.mode)
    end
    return jacobian_function("jacobian", f, argnums, has_aux, o.mode)
end

--- np.jacfwd(f, {argnums={1}, has_aux=false}) -> function: np.jacobian in forward mode.
--- > np.jacfwd(np.sin)(np.array(0))
-- 1.0
function np.jacfwd(f, given)
    local argnums, has_aux = derive.options("jacfwd", given)
    return jacobian_function("jacfwd", f, argnums, has_aux, "forward")
end

--- np.jacrev(f, {argnums={1}, has_aux=false}) -> function: np.jacobian in reverse mode.
--- > np.jacrev(np.sin)(np.array(0))
-- 1.0
function np.jacrev(f, given)
    local argnums, has_aux = derive.options("jacrev", given)
    return jacobian_function("jacrev", f, argnums, has_aux, "reverse")
end

--- np.hessian(f, {argnums={1}, has_aux=false}) -> function: a function that returns the Hessians of f's first result, a
-- float array (most often 0-d): for each argument of argnums the Jacobian (forward mode) of the Jacobian (reverse
-- mode); with more than one argument, result i is a table whose entry j is that with respect to arguments i, then j.
-- With has_aux the other results of f follow.
--- > np.hessian(function(x) return (x ^ 3):sum() end)(np.array{1, 2})
-- [[ 6.  0.]
--  [ 0. 12.]]
function np.hessian(f, given)
    local user_function = f
    local argnums, has_aux = derive.options("hessian", given)
    local inner = jacobian_function("hessian", user_function, argnums, has_aux, "reverse")
    local n = #argnums
    local function first_order(...)
        local found = pack(inner(...))
        local jacobian = { unpack(found, 1, n) }
        return jacobian, unpack(found, n + 1, found.n)
    end
    local outer = jacobian_function("hessian", first_order, argnums, has_aux, "forward")
    local function hessian(...)
        local found, results = pack(outer(...)), { n = n }
        for i = 1, n do
            local row = {}
            for j = 1, n do row[j] = found[j][i] end
            results[i] = n == 1 and row[1] or row
        end
        derive.append(results, found, n + 1)
        return unpack(results, 1, results.n)
    end
    for _, g in ipairs { first_order, hessian } do jit.off(g) end
    return hessian
end

-- They loop over what the user's functions returned.
for _, f in ipairs { total_size, basis, apply_to_basis, jacobians } do jit.off(f) end
