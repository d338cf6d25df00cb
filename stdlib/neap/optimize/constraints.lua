--- constraints.lua: constraints of np.optimize.minimize: local constraints = require "neap.optimize.constraints".
--
-- Each of the user's forms becomes rows  lower <= c(v) <= upper  of functions of the vector v that the solver works on:
--
--     { type = "eq", fun = g }             g(x) == 0            lower = upper = 0
--     { type = "ineq", fun = g }           g(x) >= 0            lower = 0, upper = infinity
--     { fun = g, lb = …, ub = … }          lb <= g(x) <= ub
--     { A = …, lb = …, ub = … }            lb <= A x <= ub
--
-- Where x is a minimum, the gradient of f is a sum of multipliers times gradients of rows, and of multipliers of
-- bounds: multipliers of rows at their lower limits are not negative, of rows at upper limits not positive, and of all
-- others 0 (the conditions of Karush, Kuhn and Tucker; Nocedal and Wright, "Numerical optimization", chapter 12).
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local problem = require "neap.optimize.problem"
local trees = require "neap.core.trees"

local np = core.np
local raise, describe = core.raise, core.describe
local huge = math.huge

local constraints = {}

-- ---- The user's forms -----------------------------------------------------------------------------------------------

local FIELDS = { type = true, fun = true, jac = true, args = true, A = true, lb = true, ub = true }
local EXPECTED = '{type="eq" or "ineq", fun=…}, {fun=…, lb=…, ub=…}, {A=…, lb=…, ub=…} or a table of such tables'

--- A limit of m rows as an array of f64 or of the dtype of x.
local function limit_of(name, place, field, value, m, dtype)
    value = core.plain(value)
    if core.is_number(value) then value = core.number(value) end
    if trees.is_node(value) then value = np.array(value, { dtype = "f64" }) end
    local ok, full
    if core.is_array(value) then
        ok, full = pcall(function() return np.broadcast_to(np.astype(value, dtype):reshape(-1), { m }) end)
    end
    if not ok then
        local got = core.is_array(value) and "shape " .. core.shape_text(value) or describe(value)
        raise(name, "%s: %s must be a number or %d of them, one for each row, got %s", place, field, m, got)
    end
    if np.any(np.isnan(np.stop_gradient(full))):item() then raise(name, "%s: %s holds NaN", place, field) end
    return full
end

--- The function that a field of a constraint holds, with the constraint's further arguments.
local function function_of(name, place, field, given)
    local f = given[field]
    local class = type(f) == "table" and getmetatable(f)
    if type(f) ~= "function" and not (type(class) == "table" and class.__call) then
        raise(name, "%s: %s must be a function, got %s", place, field, describe(f))
    end
    return (problem.with_args(name, f, given))
end

--- The rows of c, a function of x: { m, shape, value = function(v), jac = function(v) or nil }.
local function rows_of(name, place, given, x, c)
    local result = problem.result_of(name, c, x.likes, place .. ": fun")
    local m = 1
    for _, size in ipairs(result.shape) do m = m * size end
    if core.is_size(m) then raise(name, "%s: fun has a result of an open size", place) end
    local rows = { m = m, shape = result.shape }
    function rows.value(v)
        return np.astype(operands.beside(name, 1, c(x.tree_of(v)), nil), x.dtype):reshape { m }
    end
    if given.jac ~= nil then
        local jac = function_of(name, place, "jac", given)
        function rows.jac(v)
            local parts, tree = {}, jac(x.tree_of(v))
            if trees.is_node(tree) and core.is_number(core.plain(tree[1])) then tree = np.array(tree) end
            trees.walk(name, tree, function(leaf)
                local ok, part = pcall(function() return np.astype(np.array(leaf), x.dtype):reshape(m, -1) end)
                if not ok then
                    raise(name, "%s: jac must return derivatives of %d numbers by those of x, got %s", place, m,
                          core.is_array(leaf) and "shape " .. core.shape_text(leaf) or describe(leaf))
                end
                parts[#parts + 1] = part
            end)
            local all = #parts == 1 and parts[1] or np.concatenate(parts, { axis = 1 })
            if not core.is_same(all.shape[2], x.n) then
                raise(name, "%s: jac must return derivatives by %d numbers of x, got those by %d", place, x.n,
                      all.shape[2])
            end
            return all
        end
        jit.off(rows.jac)
    end
    jit.off(rows.value)
    return rows
end

--- A x as rows.
local function linear_rows(name, place, given, x)
    local ok, A = pcall(function() return np.astype(np.array(given.A), x.dtype) end)
    if not ok or core.ndim(A) < 1 or core.ndim(A) > 2 or not core.is_same(A.shape[core.ndim(A)], x.n) then
        raise(name, "%s: A must be a matrix with a column for each of %d numbers of x, got %s", place, x.n,
              ok and "shape " .. core.shape_text(A) or describe(given.A))
    end
    if core.ndim(A) == 1 then A = A:reshape(1, -1) end
    local rows = { m = A.shape[1], shape = { A.shape[1] } }
    function rows.value(v) return np.matmul(A, v) end
    function rows.jac() return A end
    return rows
end

--- The rows of one constraint.
local function constraint_of(name, place, given, x)
    for key in pairs(given) do
        if not FIELDS[key] then
            raise(name, "%s has no field %s; there are type, fun, jac, args, A, lb and ub", place, describe(key))
        end
    end
    if (given.fun == nil) == (given.A == nil) then raise(name, "%s needs either fun or A", place) end
    local kind = given.type
    if kind ~= nil and kind ~= "eq" and kind ~= "ineq" then
        raise(name, '%s: type must be "eq" or "ineq", got %s', place, describe(kind))
    end
    if kind and (given.lb ~= nil or given.ub ~= nil or given.A ~= nil) then
        raise(name, "%s: type is for fun alone; lb and ub say it otherwise", place)
    end
    if not kind and given.lb == nil and given.ub == nil then
        raise(name, '%s needs type="eq" or type="ineq", or limits lb and ub', place)
    end
    local rows
    if given.A ~= nil then
        rows = linear_rows(name, place, given, x)
    else
        rows = rows_of(name, place, given, x, function_of(name, place, "fun", given))
    end
    local lower, upper = given.lb, given.ub
    if kind then lower, upper = 0, kind == "eq" and 0 or huge end
    rows.lower = limit_of(name, place, "lb", lower == nil and -huge or lower, rows.m, x.dtype)
    rows.upper = limit_of(name, place, "ub", upper == nil and huge or upper, rows.m, x.dtype)
    if np.any(np.greater(np.stop_gradient(rows.lower), np.stop_gradient(rows.upper))):item() then
        raise(name, "%s: a lower limit is above the upper one", place)
    end
    if np.any(np.equal(np.stop_gradient(rows.lower), huge)):item()
       or np.any(np.equal(np.stop_gradient(rows.upper), -huge)):item() then
        raise(name, "%s: no number is above a lower limit of infinity, or below an upper one of -infinity", place)
    end
    return rows
end

--- The option constraints of a call, for a vector x (problem.vector): a list of rows, maybe empty.
function constraints.list(name, given, x)
    if given == nil then return {} end
    if type(given) ~= "table" or getmetatable(given) ~= nil then
        core.bad_argument(name, nil, "constraints", EXPECTED, given)
    end
    if given.fun ~= nil or given.A ~= nil or given.type ~= nil then
        return { constraint_of(name, "option 'constraints'", given, x) }
    end
    local list = {}
    for k, item in ipairs(core.list(name, "option 'constraints'", given)) do
        local place = ("option 'constraints', item %d"):format(k)
        if type(item) ~= "table" or getmetatable(item) ~= nil then
            raise(name, "%s must be %s, got %s", place, EXPECTED, describe(item))
        end
        list[k] = constraint_of(name, place, item, x)
    end
    return list
end

-- ---- All rows -------------------------------------------------------------------------------------------------------

local function joined(parts)
    return #parts == 1 and parts[1] or np.concatenate(parts)
end

--- The Jacobian of rows at v: the user's, else in the mode that takes fewer passes.
local function jacobian_of(rows, v, n)
    if rows.jac then return rows.jac(v) end
    return (rows.m < n and np.jacrev or np.jacfwd)(rows.value)(v)
end

--- All rows of a list, as a vector; nil: there are none.
function constraints.values(list, v)
    if #list == 0 then return nil end
    local parts = {}
    for k, rows in ipairs(list) do parts[k] = rows.value(v) end
    return joined(parts)
end

--- Their Jacobian, row by row, as a vector.
function constraints.jacobian(list, v, n)
    local parts = {}
    for k, rows in ipairs(list) do parts[k] = jacobian_of(rows, v, n):reshape(-1) end
    return joined(parts)
end

--- The lower and the upper limits of all rows, as vectors.
function constraints.limits(list)
    local lower, upper = {}, {}
    for k, rows in ipairs(list) do lower[k], upper[k] = rows.lower, rows.upper end
    return joined(lower), joined(upper)
end

--- A vector of all rows as a table of arrays, one for each constraint, in the shape of its result.
function constraints.split(list, vector)
    local parts, at = {}, 0
    for k, rows in ipairs(list) do
        parts[k], at = vector[{ { at, at + rows.m } }]:reshape(rows.shape), at + rows.m
    end
    return parts
end

-- ---- Multipliers ----------------------------------------------------------------------------------------------------

--- The y with the least |g - sum of y[k] rows[k]|, by orthogonal rows (Gram and Schmidt): rows is a list of lists of n
-- numbers. A row that depends on those before it has y[k] = 0.
local function least_squares(rows, g, n)
    local basis, by, rest, y = {}, {}, {}, {}
    for j = 1, n do rest[j] = g[j] end
    local along = {}
    for k, row in ipairs(rows) do
        local q, before, after = {}, 0, 0
        by[k] = {}
        for j = 1, n do q[j], before = row[j], before + row[j] * row[j] end
        for _ = 1, 2 do -- the second time takes away what rounding has left
            for i = 1, k - 1 do
                local dot = 0
                for j = 1, n do dot = dot + basis[i][j] * q[j] end
                by[k][i] = (by[k][i] or 0) + dot
                for j = 1, n do q[j] = q[j] - dot * basis[i][j] end
            end
        end
        for j = 1, n do after = after + q[j] * q[j] end
        local size = math.sqrt(after)
        local depends = after <= 1e-24 * before
        by[k][k], along[k] = depends and 0 or size, 0
        for j = 1, n do q[j] = depends and 0 or q[j] / size end
        for j = 1, n do along[k] = along[k] + q[j] * rest[j] end
        for j = 1, n do rest[j] = rest[j] - along[k] * q[j] end
        basis[k] = q
    end
    for k = #rows, 1, -1 do
        local sum = along[k]
        for i = k + 1, #rows do sum = sum - by[i][k] * y[i] end
        y[k] = by[k][k] == 0 and 0 or sum / by[k][k]
    end
    return y
end

--- The multipliers of rows of a point, and how far it is from a minimum. p has numbers from 1 on: n, m; x, g, lower,
-- upper of x; c, low, high of rows; jacobian, a list of lists; room: how near to a limit is at it. Returns
-- { y: multipliers of rows, low, high: whether a row counts as at a limit, held: -1, 0 or 1 for each x, miss: how much
-- the worst row misses, far: the largest element of the gradient that no multiplier takes away }.
function constraints.multipliers(p)
    local n, m, room = p.n, p.m, p.room
    local held, active, miss = {}, {}, 0
    local function side(value, low, high)
        local near = room * math.max(1, math.abs(value))
        if low == high then return math.abs(value - low) <= near and 2 or 0 end
        return value - low <= near and -1 or high - value <= near and 1 or 0
    end
    for j = 1, n do held[j] = side(p.x[j], p.lower[j], p.upper[j]) end
    for i = 1, m do
        miss = math.max(miss, p.low[i] - p.c[i], p.c[i] - p.high[i])
        local at = side(p.c[i], p.low[i], p.high[i])
        if at == 0 and p.low[i] == p.high[i] then at = 2 end
        if at ~= 0 then active[#active + 1] = { row = i, side = at } end
    end
    local y
    repeat -- what pulls the wrong way holds nothing: the worst of it goes
        local rows, g = {}, {}
        for j = 1, n do g[j] = held[j] == 0 and p.g[j] or 0 end
        for k, part in ipairs(active) do
            rows[k] = {}
            for j = 1, n do rows[k][j] = held[j] == 0 and p.jacobian[part.row][j] or 0 end
        end
        y = least_squares(rows, g, n)
        local worst, which = 1e-12, nil
        for k, part in ipairs(active) do
            local wrong = part.side == -1 and -y[k] or part.side == 1 and y[k] or 0
            if wrong > worst then worst, which = wrong, k end
        end
        if which then table.remove(active, which) end
    until not which
    local result = { y = {}, active = {}, held = held, miss = miss, far = 0 }
    for i = 1, m do result.y[i], result.active[i] = 0, 0 end
    for k, part in ipairs(active) do result.y[part.row], result.active[part.row] = y[k], part.side end
    for j = 1, n do
        local left = p.g[j]
        for i = 1, m do left = left - result.y[i] * p.jacobian[i][j] end
        if held[j] == 2 or held[j] == -1 and left > 0 or held[j] == 1 and left < 0 then left = 0 end
        result.far = math.max(result.far, math.abs(left))
    end
    return result
end

-- They run the user's functions, or loop over what those returned.
for _, f in pairs(constraints) do jit.off(f) end
for _, f in ipairs { limit_of, function_of, rows_of, linear_rows, constraint_of, jacobian_of, least_squares } do
    jit.off(f)
end

return constraints
