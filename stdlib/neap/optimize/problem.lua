--- problem.lua: the parts that solvers of np.optimize share: the user's function as a function of a vector or a number,
-- in a single dtype; options; results.
--
-- A solver works on x as a vector or a number, of a dtype for both x0 and the function's result: f32 at
-- least. The function gets x in the form and the dtypes of x0.
--
-- Where a trace is open no value is known, and in np.shard_map each device has values of its own: there a result holds
-- arrays. Elsewhere the solver waits: then numbers and booleans of the result are Lua's, and `message` explains
-- `status`.
local core = require "neap.core"
local axes = require "neap.tracing.axes"
local operands = require "neap.arrays.operands"
local pure = require "neap.tracing.pure"
local solvers = require "neap.tracing.solvers"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np = core.np
local is_array, raise, bad_argument, describe = core.is_array, core.raise, core.bad_argument, core.describe

local problem = {}

-- ---- Options --------------------------------------------------------------------------------------------------------

--- The option as a number from 0 up, or the default.
function problem.tolerance(name, o, option, default)
    local value = core.plain(o[option])
    if value == nil then value = default end
    if type(value) ~= "number" or not (value >= 0 and value < math.huge) then
        bad_argument(name, nil, option, "a number from 0 up", value)
    end
    return value
end

--- The option maxiter, or the default.
function problem.maxiter(name, o, default)
    if o.maxiter == nil then return default end
    return (core.integer(name, nil, "maxiter", o.maxiter, 1, 2 ^ 31 - 1))
end

--- An option, of the names of a table; nil gives the default.
function problem.choice(name, o, option, names, default)
    local value = o[option] == nil and default or o[option]
    if type(value) ~= "string" or not names[value] then
        local list = {}
        for known in pairs(names) do list[#list + 1] = '"' .. known .. '"' end
        table.sort(list)
        bad_argument(name, nil, option, "one of " .. table.concat(list, ", "), value)
    end
    return value
end

--- The user's function f(x, …) with the further arguments that the option args lists, as a function of x alone; and its
-- key (pure.lua), if it has one.
function problem.with_args(name, f, o)
    f = staging.check_function(name, f)
    local args = o.args
    if args == nil then return f, pure.key(f) end
    if type(args) ~= "table" or getmetatable(args) ~= nil then
        bad_argument(name, nil, "args", "a table of the further arguments of f", args)
    end
    local n = rawget(args, "n") or #core.list(name, "option 'args'", args)
    local function with_args(x) return f(x, unpack(args, 1, n)) end
    jit.off(with_args)
    return with_args, pure.key(f, args)
end

-- ---- Dtypes ---------------------------------------------------------------------------------------------------------

--- The result of f for x, a tree: { dtype = a row of core.dtypes or nil for a number alone, shape }. what: how errors
-- call the function, "f" by default.
function problem.result_of(name, f, x, what)
    what = what or "f"
    local found = staging.described(name, function(...)
        local y = f(...)
        if core.is_number(y) then y = core.number(y) end
        if not is_array(y) then
            raise(name, "%s must return an array, got %s%s", what, describe(y),
                  y == nil and " (did you forget return?)" or "")
        end
        return y
    end, { n = 1, x }, function(y)
        local dtype = core.dtype_of(y)
        if dtype.kind == "c" then raise(name, "%s must return real numbers, got dtype %s", what, dtype.name) end
        return setmetatable({ dtype = core.info(y).weak == 0 and dtype or nil, shape = core.shape_of(y),
                              text = core.shape_text(y) }, problem)
    end)
    return found
end

--- The dtype of the solver, and the half of the results, if any, by the dtypes of x and f (nil: none).
local function working_dtype(first, second)
    local met = first and second and np.promote_types(first, second) or first or second or "f32"
    local dtype = core.dtypes[core.dtype_codes[met]]
    if dtype.half then return "f32", met end
    return dtype.real or met, nil
end

--- A point as an array of floats; numbers stay weak.
local function point(name, what, value)
    if type(value) == "table" and getmetatable(value) == nil then value = np.array(value) end
    value = core.plain(value)
    if core.is_number(value) then value = core.number(value) end
    if not is_array(value) then bad_argument(name, nil, what, "a number or an array", value) end
    local dtype = core.dtype_of(value)
    if dtype.kind == "c" then raise(name, "option '%s' must be real, got dtype %s", what, dtype.name) end
    return dtype.inexact and value or np.astype(value, dtype.real)
end

local MOST_RESULTS = 256 -- more start afresh
local known_results, known_count = {}, 0 -- of pure functions, by their key and the form of x

--- The same for an array x, of a function with the key `told` (pure.lua), or nil.
local function known_result_of(name, f, x, told)
    local facts = core.info(x)
    if not told or facts.sharding ~= 0 or not solvers.is_plain() then return problem.result_of(name, f, x) end
    local key = ("%s %d %d %d"):format(told, facts.dtype, facts.ndim, staging.weakness_of(x))
    for k = 0, facts.ndim - 1 do key = key .. " " .. tonumber(facts.shape[k]) end
    if known_results[key] then return known_results[key] end
    local found = problem.result_of(name, f, x)
    if known_count >= MOST_RESULTS then known_results, known_count = {}, 0 end
    known_results[key], known_count = found, known_count + 1
    return found
end

--- Points, a table of { option, value }, as 0-d arrays of a common dtype; f from and to 0-d arrays; the half. told: the
-- key of f, or nil.
function problem.scalar(name, f, points, told)
    local list, met = {}, nil
    for k, pair in ipairs(points) do
        local x = point(name, pair[1], pair[2])
        if core.ndim(x) ~= 0 then
            raise(name, "option '%s' must be a number or a 0-d array, got shape %s; np.vmap takes several", pair[1],
                  core.shape_text(x))
        end
        if core.info(x).weak == 0 then
            met = met and np.promote_types(met, core.dtype_of(x).name) or core.dtype_of(x).name
        end
        list[k] = x
    end
    local result = known_result_of(name, f, met and np.astype(list[1], met) or list[1], told)
    if #result.shape ~= 0 then
        raise(name, "f must return a number or a 0-d array, got shape %s", result.text)
    end
    local dtype, half = working_dtype(met, result.dtype and result.dtype.name)
    for k = 1, #list do list[k] = np.astype(list[k], dtype) end
    local function value(x) return (np.astype(operands.beside(name, 1, f(x), nil), dtype)) end
    jit.off(value)
    return list, value, half
end

-- ---- Vectors --------------------------------------------------------------------------------------------------------

--- The result of f for x0, whose leaves `start` has as arrays. A table of numbers may have been meant for an array.
local function first_result(name, f, start, x0)
    if type(x0) ~= "table" or not core.is_number(core.plain(x0[1])) then return problem.result_of(name, f, start) end
    local ok, found = pcall(problem.result_of, name, f, start)
    if ok then return found end
    if type(found) == "string" and found:find("a nil value", 1, true) then
        found = ("%s; x is a table, as x0 is: x[1] to x[%d] are its numbers. Of x0=np.array{…} they are x[0] to x[%d]")
            :format(found, #x0, #x0 - 1)
    end
    error(found, 0)
end

--- x0, an array, a number or a tree of them, as a vector: { start = the vector, n, dtype, tree_of = function(vector),
-- vector_of = function(tree) }. The dtype is that of x0 and f.
function problem.vector(name, f, x0)
    local count, met, all = 0, nil, 0
    local start = trees.rebuild(name, x0, function(leaf)
        if core.is_number(leaf) then leaf = core.number(leaf) end
        if not is_array(leaf) then
            raise(name, "x0 must be an array, a number or a tree of them, got %s", describe(leaf))
        end
        local dtype = core.dtype_of(leaf)
        if dtype.kind == "c" then raise(name, "x0 must be real, got dtype %s", dtype.name) end
        if not dtype.inexact then leaf = np.astype(leaf, dtype.real) end
        if core.info(leaf).weak == 0 then
            local own = core.dtype_of(leaf).name
            met = met and np.promote_types(met, own) or own
        end
        count, all = count + 1, all + leaf.size
        return leaf
    end)
    if count == 0 or core.is_same(all, 0) then raise(name, "x0 holds no numbers") end
    local result = first_result(name, f, start, x0)
    local dtype = working_dtype(met, result.dtype and result.dtype.name)
    local function leaf_dtype(leaf)
        if core.info(leaf).weak ~= 0 then return dtype end
        return core.dtype_of(leaf).half and "f32" or core.dtype_of(leaf).name
    end
    local self = { n = all, dtype = dtype, result = result, likes = start }
    function self.tree_of(vector, as_given)
        local at = 0
        return trees.rebuild(name, start, function(leaf)
            local size = leaf.size
            local part = count == 1 and vector or vector[{ { at, at + size } }]
            at = at + size
            local wanted = as_given and core.info(leaf).weak == 0 and core.dtype_of(leaf).name or leaf_dtype(leaf)
            return np.astype(part:reshape(core.shape_of(leaf)), wanted)
        end)
    end
    function self.vector_of(tree)
        local parts = {}
        trees.walk(name, tree, function(leaf) parts[#parts + 1] = np.astype(leaf, dtype):reshape(-1) end)
        return #parts == 1 and parts[1] or np.concatenate(parts)
    end
    for _, g in pairs(self) do
        if type(g) == "function" then jit.off(g) end
    end
    self.start = self.vector_of(start)
    return self
end

--- The function of the vector: f's result as an array of the dtype in which is solved.
function problem.of_vector(name, f, x)
    local function value(v) return (np.astype(operands.beside(name, 1, f(x.tree_of(v)), nil), x.dtype)) end
    jit.off(value)
    return value
end

-- ---- Bounds ---------------------------------------------------------------------------------------------------------

--- A bound as a vector: a number, an array or a table of numbers for all of x, or a tree like it.
local function bound_of(name, x, which, bound)
    local function vector(value, like, path)
        value = core.plain(value)
        if core.is_number(value) then value = core.number(value) end
        if trees.is_node(value) and core.is_number(core.plain(value[1])) then
            value = np.array(value, { dtype = x.dtype })
        end
        if not is_array(value) then
            bad_argument(name, nil, "bounds", "{lower, upper}, each a number or a tree like x0" .. path, value)
        end
        local ok, full = pcall(np.broadcast_to, np.astype(value, x.dtype), core.shape_of(like))
        if not ok then
            raise(name, "option 'bounds': the %s bound has shape %s, %s %s%s", which, core.shape_text(value),
                  x.what or "x0", core.shape_text(like), path)
        end
        return full
    end
    local function visit(value, like, path)
        if core.is_array(like) then return vector(value, like, path) end
        local copy = {}
        for _, key in ipairs(trees.keys_of(like, name)) do
            local part = value
            if trees.is_node(value) then part = value[key] end
            copy[key] = visit(part, like[key], " at " .. tostring(key))
        end
        return copy
    end
    return x.vector_of(visit(bound, x.likes, ""))
end

--- The option bounds as two vectors, of a vector x (problem.vector): numbers, arrays that broadcast, or trees like x0.
function problem.bounds(name, o, x)
    local bounds = o.bounds
    if type(bounds) ~= "table" or getmetatable(bounds) ~= nil or #bounds ~= 2 then
        bad_argument(name, nil, "bounds", "{lower, upper}, each a number or a tree like " .. (x.what or "x0"), bounds)
    end
    core.list(name, "option 'bounds'", bounds)
    return { bound_of(name, x, "lower", bounds[1]), bound_of(name, x, "upper", bounds[2]) }
end

-- ---- Results --------------------------------------------------------------------------------------------------------

--- Whether values are unknown, or differ between devices.
function problem.tracing()
    return staging.tracing() or axes.mesh() ~= nil
end

--- Whether a status is this one: an array where values are unknown, else a boolean.
function problem.has_status(status, code)
    if problem.tracing() then return (status:eq(code)) end
    return status:item() == code
end

--- A result of the arrays of a table: outside of traces numbers and booleans of Lua under the keys of `plain`, and
-- the message for the status.
function problem.result(list, plain, messages)
    if problem.tracing() then return list end
    for _, key in ipairs(plain) do
        if is_array(list[key]) then list[key] = list[key]:item() end
    end
    list.message = messages[list.status]
    return list
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { problem.result_of, problem.scalar, problem.vector, problem.of_vector } do jit.off(f) end

return problem
