--- slsqp.lua: the method "slsqp" of np.optimize.minimize: sequential quadratic programs by NLopt (libnlopt.so.0 of
-- package libnlopt0, MIT and LGPL), which is loaded for the first call: local slsqp = require "neap.optimize.slsqp".
--
-- NLopt has Dieter Kraft's algorithm ("A software package for sequential quadratic programming", 1988), as SciPy has.
-- It calls functions of this file through LuaJIT's callbacks:
--
--     nlopt_optimize ──▶ objective(x, gradient or NULL), equalities(x, …), inequalities(x, …)
--                           └ the first of them at a new x runs one program: f, its gradient, all rows, their Jacobian
--
-- What LuaJIT asks for: the call of nlopt_optimize is in no compiled trace (jit.off), and no error leaves a callback.
-- An error, as that of Ctrl-C, is kept, NLopt is told to stop, and the error goes on when nlopt_optimize has returned.
-- Callbacks and NLopt's object are freed in every case. The user's functions run in no callback: they were traced
-- before.
--
-- Iterations. NLopt tells nothing of iterations, but a point for which it has derivatives is the first trial of a line
-- search, or its end. A trial that is refused is followed by a point without derivatives. So the last point with
-- derivatives has been an iteration once NLopt asks for derivatives at another one, or ends.
--
-- NLopt gets f times a scale: where a gradient is large, as 1e6, beside the rows, NLopt may end at the start, as though
-- no step led down from there.
--
-- NLopt's word is not taken for an end: `constraints.multipliers` says how far from a minimum the last iteration is.
local ffi = require "ffi"
local core = require "neap.core"
local constraints = require "neap.optimize.constraints"
local roots = require "neap.transforms.custom_root"
local staging = require "neap.tracing.staging"

local np = core.np
local huge = math.huge

ffi.cdef [[
typedef double (*neap_nlopt_function)(unsigned n, const double *x, double *gradient, void *data);
typedef void (*neap_nlopt_rows)(unsigned m, double *result, unsigned n, const double *x, double *gradient, void *data);
void *nlopt_create(int algorithm, unsigned n);
void nlopt_destroy(void *opt);
const char *nlopt_algorithm_name(int algorithm);
int nlopt_optimize(void *opt, double *x, double *f);
int nlopt_set_min_objective(void *opt, neap_nlopt_function f, void *data);
int nlopt_set_lower_bounds(void *opt, const double *bounds);
int nlopt_set_upper_bounds(void *opt, const double *bounds);
int nlopt_add_inequality_mconstraint(void *opt, unsigned m, neap_nlopt_rows f, void *data, const double *tolerances);
int nlopt_add_equality_mconstraint(void *opt, unsigned m, neap_nlopt_rows f, void *data, const double *tolerances);
int nlopt_set_ftol_rel(void *opt, double tolerance);
int nlopt_set_xtol_rel(void *opt, double tolerance);
int nlopt_set_maxeval(void *opt, int most);
int nlopt_force_stop(void *opt);
]]

local ALGORITHM = "Sequential Quadratic Programming" -- of its name; numbers of algorithms change between versions
local MOST_ALGORITHMS = 100
local EVALUATIONS = 20 -- for each iteration, at most; a line search takes about 10
local CLOSER = 0.01    -- the share of tol by which rows may be missed where NLopt may end
local UNDEFINED = 30   -- points in a row at which something is not finite: the search has left where f is defined

local slsqp = {}

-- ---- The library ----------------------------------------------------------------------------------------------------

local library, algorithm

--- Loads NLopt, or raises what to install.
function slsqp.load(name)
    if algorithm then return end
    local found, loaded = pcall(ffi.load, "libnlopt.so.0")
    if not found then found, loaded = pcall(ffi.load, "libnlopt.so.1") end
    local ok, number = pcall(function()
        for k = 0, MOST_ALGORITHMS do
            local text = loaded.nlopt_algorithm_name(k)
            if text ~= nil and ffi.string(text):find(ALGORITHM, 1, true) then return k end
        end
    end)
    if not found or not ok or not number then
        core.raise(name, 'method "slsqp" needs the library NLopt, which is not installed (package libnlopt0)')
    end
    library, algorithm = loaded, number
end

-- ---- Evaluations ----------------------------------------------------------------------------------------------------

--- What is known at points: at(x) -> C array of f, the gradient, all rows, their Jacobian row by row. x is a C array of
-- doubles, and the result is that of the last point. count() tells how many points there were.
local function evaluator(name, x, f, list, m)
    local n, total = x.n, 1 + x.n + m + m * x.n
    local value_and_grad = np.value_and_grad(f)
    local run = roots.traced(name, function(point)
        local v = np.astype(point, x.dtype)
        local value, gradient = value_and_grad(v)
        local parts = { np.astype(value, "f64"):reshape { 1 }, np.astype(gradient, "f64") }
        if m > 0 then
            parts[3] = np.astype(constraints.values(list, v), "f64")
            parts[4] = np.astype(constraints.jacobian(list, v, n), "f64")
        end
        return np.concatenate(parts)
    end, staging.pack(np.zeros({ n }, { dtype = "f64" })))
    local last, values, count = ffi.new("double[?]", n), ffi.new("double[?]", total), 0
    local function is_last(point)
        for j = 0, n - 1 do
            if point[j] ~= last[j] then return false end
        end
        return count > 0
    end
    local function at(point)
        if is_last(point) then return values end
        local array = core.fill(core.dtype_codes.f64, { n }, function(to) ffi.copy(to, point, 8 * n) end, "double *")
        local result = run { array }
        ffi.copy(values, core.data(result), 8 * total)
        ffi.copy(last, point, 8 * n)
        count = count + 1
        return values
    end
    jit.off(at)
    return at, function() return count end, total
end

--- Whether the first n numbers of a C array are finite.
local function is_finite(values, n)
    for k = 0, n - 1 do
        local value = values[k]
        if not (value > -huge and value < huge) then return false end
    end
    return true
end

-- ---- The search -----------------------------------------------------------------------------------------------------

--- Rows for NLopt, of those that `which` lists as { row, sign, limit }: values sign (c - limit), which are to be 0 or
-- less.
local function rows_callback(s, which)
    return function(_, result, _, point, gradient)
        s.guarded(function()
            local values = s.at(point)
            local c, jacobian = values + 1 + s.n, values + 1 + s.n + s.m
            for k, part in ipairs(which) do
                result[k - 1] = part.sign * (c[part.row] - part.limit)
                if gradient ~= nil then
                    for j = 0, s.n - 1 do
                        gradient[(k - 1) * s.n + j] = part.sign * jacobian[part.row * s.n + j]
                    end
                end
            end
        end)
    end
end

--- The iteration that is pending has come about.
local function take_iteration(s)
    if not s.pending or s.exhausted then return end
    s.pending = false
    ffi.copy(s.x, s.trial, 8 * s.n)
    ffi.copy(s.found, s.trial_values, 8 * s.total)
    if not s.begun then
        s.begun = true
        return
    end
    s.nit = s.nit + 1
    if s.each then s.each(s.x) end
    if s.nit >= s.maxiter then s.exhausted = true end
end

--- The objective for NLopt. What is not finite is infinite to the line search, which then takes shorter steps.
local function objective_callback(s)
    return function(_, point, gradient)
        local value = huge
        s.guarded(function()
            local values = s.at(point)
            local finite = is_finite(values, s.total)
            s.undefined = finite and 0 or s.undefined + 1
            if gradient == nil then
                s.pending = false
            else
                take_iteration(s)
                for j = 0, s.n - 1 do gradient[j] = finite and values[1 + j] * s.scale or 0 end
                if finite then
                    s.pending = true
                    ffi.copy(s.trial, point, 8 * s.n)
                    ffi.copy(s.trial_values, values, 8 * s.total)
                end
            end
            if s.exhausted or s.undefined > UNDEFINED then s.stop() end
            if finite then value = values[0] * s.scale end
        end)
        return value
    end
end

--- Limits of rows as two lists: of equalities and of inequalities, { row (from 0), sign, limit }.
local function limits_of(low, high, m)
    local equal, less = {}, {}
    for row = 0, m - 1 do
        if low[row] == high[row] then
            equal[#equal + 1] = { row = row, sign = 1, limit = low[row] }
        else
            if low[row] > -huge then less[#less + 1] = { row = row, sign = -1, limit = low[row] } end
            if high[row] < huge then less[#less + 1] = { row = row, sign = 1, limit = high[row] } end
        end
    end
    return equal, less
end

--- Runs NLopt on the search s from the C array s.start; s.x and s.found are the last iteration's. Raises what a
-- callback raised.
local function search(name, s, equal, less, o)
    local opt = library.nlopt_create(algorithm, s.n)
    if opt == nil then core.raise(name, "there is no memory for the search") end
    local problem, callbacks = nil, {}
    function s.stop() library.nlopt_force_stop(opt) end
    function s.guarded(body)
        if problem ~= nil then return end
        local ok, message = pcall(body)
        if not ok then
            problem = message == nil and "nil" or message
            s.stop()
        end
    end
    local function callback(ctype, f)
        jit.off(f)
        callbacks[#callbacks + 1] = ffi.cast(ctype, f)
        return callbacks[#callbacks]
    end
    local function add(how, which)
        if #which == 0 then return 0 end
        local tolerances = ffi.new("double[?]", #which)
        for k = 0, #which - 1 do tolerances[k] = o.tol * CLOSER end
        return how(opt, #which, callback("neap_nlopt_rows", rows_callback(s, which)), nil, tolerances)
    end
    local ok, code = pcall(function()
        local rc = library.nlopt_set_min_objective(opt, callback("neap_nlopt_function", objective_callback(s)), nil)
        if rc >= 0 then rc = library.nlopt_set_lower_bounds(opt, s.lower) end
        if rc >= 0 then rc = library.nlopt_set_upper_bounds(opt, s.upper) end
        if rc >= 0 then rc = add(library.nlopt_add_equality_mconstraint, equal) end
        if rc >= 0 then rc = add(library.nlopt_add_inequality_mconstraint, less) end
        if rc < 0 then core.raise(name, "NLopt refuses the problem (code %d)", rc) end
        library.nlopt_set_ftol_rel(opt, o.smallest)
        library.nlopt_set_xtol_rel(opt, o.smallest)
        library.nlopt_set_maxeval(opt, math.min(EVALUATIONS * o.maxiter + EVALUATIONS, 2 ^ 31 - 1))
        local best = ffi.new "double[1]"
        return library.nlopt_optimize(opt, s.start, best)
    end)
    library.nlopt_destroy(opt)
    for _, pointer in ipairs(callbacks) do pointer:free() end
    if not ok then error(code, 0) end
    if problem ~= nil then error(problem, 0) end
    take_iteration(s)
    return code
end

-- ---- Results --------------------------------------------------------------------------------------------------------

--- n numbers of a C array as a list.
local function list_of(data, n)
    local list = {}
    for k = 1, n do list[k] = data[k - 1] end
    return list
end

--- A vector of np as a C array of doubles.
local function doubles_of(x)
    local n, y = x.size, np.astype(np.stop_gradient(x), "f64")
    local copy = ffi.new("double[?]", math.max(n, 1))
    ffi.copy(copy, core.data(y), 8 * n)
    return copy
end

--- What multipliers tell of the last iteration (constraints.multipliers).
local function judged(s, low, high, o)
    local n, m, found = s.n, s.m, s.found
    local p = { n = n, m = m, x = list_of(s.x, n), g = list_of(found + 1, n), c = list_of(found + 1 + n, m),
                lower = list_of(s.lower, n), upper = list_of(s.upper, n), low = list_of(low, m),
                high = list_of(high, m), jacobian = {}, room = o.tol }
    for i = 1, m do p.jacobian[i] = list_of(found + 1 + n + m + (i - 1) * n, n) end
    local result, most = constraints.multipliers(p), 1
    for j = 1, n do most = math.max(most, math.abs(p.g[j])) end
    result.near = result.far <= o.tol * most
    return result
end

--- The x and the multipliers of rows, as functions of what f and the rows read: a root of the conditions of Karush,
-- Kuhn and Tucker, where what holds with equality keeps doing so.
local function differentiable(name, f, list, x, s, verdict, bounds)
    local dtype, m = x.dtype, s.m
    local function vector(values) return np.array(values, { dtype = dtype }) end
    local held, active = vector(verdict.held), nil
    local solution = { x = vector(list_of(s.x, s.n)) }
    local low, high
    if m > 0 then
        active, solution.y = vector(verdict.active), vector(verdict.y)
        low, high = constraints.limits(list)
    end
    local function condition(z)
        local function lagrangian(v)
            local value = f(v)
            if m > 0 then value = value - (constraints.values(list, v) * z.y):sum() end
            return value
        end
        local gradient = np.grad(lagrangian)(z.x)
        if bounds then
            local limit = np.where(held:eq(1), bounds[2], bounds[1])
            gradient = np.where(held:eq(0), gradient, z.x - np.where(held:eq(0), 0, limit))
        end
        local result = { x = gradient }
        if m > 0 then
            local limit = np.where(active:eq(0), 0, np.where(active:eq(1), high, low))
            result.y = np.where(active:eq(0), z.y, constraints.values(list, z.x) - limit)
        end
        return result
    end
    jit.off(condition)
    return roots.find(name, condition, solution, function(_, z) return z end)
end

--- A local minimum of f, a function of a vector, where rows keep their limits. x: problem.vector; list: rows
-- (constraints.list); bounds: two vectors, or nil; o has maxiter, tol and STATUS; callback: a function of x as the user
-- has it, or nil. Returns a result with x and jac as vectors; nil and f at the start, where f is not finite.
function slsqp.minimize(name, f, x, list, bounds, o, callback)
    slsqp.load(name)
    local n, m = x.n, 0
    for _, rows in ipairs(list) do m = m + rows.m end
    local s = { n = n, m = m, nit = 0, undefined = 0, maxiter = o.maxiter, pending = false }
    s.x = ffi.new("double[?]", n)
    s.lower, s.upper = ffi.new("double[?]", n), ffi.new("double[?]", n)
    for j = 0, n - 1 do s.lower[j], s.upper[j] = -huge, huge end
    if bounds then s.lower, s.upper = doubles_of(bounds[1]), doubles_of(bounds[2]) end
    s.start = doubles_of(x.start)
    for j = 0, n - 1 do
        if s.start[j] < s.lower[j] then s.start[j] = s.lower[j] end
        if s.start[j] > s.upper[j] then s.start[j] = s.upper[j] end
    end
    local evaluations
    s.at, evaluations, s.total = evaluator(name, x, f, list, m)
    s.trial, s.trial_values = ffi.new("double[?]", n), ffi.new("double[?]", s.total)
    s.found = ffi.new("double[?]", s.total)
    if callback then
        s.each = function(point) callback(x.tree_of(np.array(list_of(point, n), { dtype = x.dtype }), true)) end
    end
    local low, high
    if m > 0 then
        low, high = constraints.limits(list)
        low, high = doubles_of(low), doubles_of(high)
    end
    local first = s.at(s.start)
    if not is_finite(first, 1) then return nil, first[0] end
    if not is_finite(first, s.total) then
        core.raise(name, "a constraint, or a derivative, is not finite at x0")
    end
    local steepest = 1
    for j = 1, n do steepest = math.max(steepest, math.abs(first[j])) end
    s.scale = 1 / steepest
    local equal, less = limits_of(low, high, m)
    if #equal > n then
        core.raise(name, "%d equations constrain %d numbers of x: there may be at most as many as numbers", #equal, n)
    end
    local eps = core.eps(x.dtype)
    search(name, s, equal, less, { tol = o.tol, maxiter = o.maxiter, smallest = 4 * eps })
    local verdict = judged(s, low, high, o)
    local status = o.STATUS.stuck
    if verdict.miss <= o.tol and verdict.near then
        status = o.STATUS.converged
    elseif s.exhausted then
        status = o.STATUS.exhausted
    elseif s.undefined > UNDEFINED then
        status = o.STATUS.undefined
    elseif verdict.miss > o.tol then
        status = o.STATUS.infeasible
    end
    local solution = differentiable(name, f, list, x, s, verdict, bounds)
    local fun, jac = np.value_and_grad(f)(solution.x)
    return { x = solution.x, fun = fun, jac = jac, nit = s.nit, nfev = evaluations(), status = status,
             success = status == o.STATUS.converged, maxcv = math.max(verdict.miss, 0),
             multipliers = m > 0 and constraints.split(list, solution.y) or {} }
end

for _, f in ipairs { slsqp.load, evaluator, is_finite, rows_callback, take_iteration, objective_callback, limits_of,
                     search, list_of, doubles_of, judged, differentiable, slsqp.minimize } do
    jit.off(f)
end

return slsqp
