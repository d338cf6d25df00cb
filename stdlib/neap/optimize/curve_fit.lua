--- curve_fit.lua: np.optimize.curve_fit: the parameters of a curve through points, and their covariance.
local core = require "neap.core"
local least = require "neap.optimize.least_squares"
local operands = require "neap.arrays.operands"
local problem = require "neap.optimize.problem"
local solvers = require "neap.tracing.solvers"
local staging = require "neap.tracing.staging"

local np = core.np
local raise = core.raise

local OPTIONS = { sigma = true, absolute_sigma = true, bounds = true, maxiter = true }

--- Raises unless a value is an array of real numbers.
local function check_real(name, what, value)
    if not core.is_array(value) then raise(name, "%s must be an array, got %s", what, core.describe(value)) end
    if core.dtype_of(value).kind == "c" then raise(name, "%s must be real, got dtype %s", what, value.dtype) end
end

--- A function from residuals, a vector, to those over sigma: the errors of the points, or their covariance.
local function weighting(name, sigma, count, dtype)
    if sigma == nil then return function(r) return r end end
    check_real(name, "option 'sigma'", sigma)
    sigma = np.astype(sigma, dtype)
    local dims = core.shape_of(sigma)
    if #dims == 2 and core.is_same(dims[1], count) and core.is_same(dims[2], count) then
        local lower = np.linalg.cholesky(sigma)
        return function(r) return np.linalg.solve_triangular(lower, r, { lower = true }) end
    end
    if #dims ~= 0 and not (#dims == 1 and core.is_same(dims[1], count)) then
        raise(name, "option 'sigma' must be a number, or have shape (%s,) or (%s, %s), got %s", tostring(count),
              tostring(count), tostring(count), core.shape_text(sigma))
    end
    return function(r) return r / sigma end
end

--- The inverse of J'J; infinite where columns of J depend on each other.
local function inverse_of(jac)
    local count, n = jac.shape[1], jac.shape[2]
    local _, upper = np.linalg.qr(jac)
    local sizes = np.abs(np.diagonal(upper))
    local full = sizes:min():gt(sizes:max() * (core.eps(jac.dtype) * math.max(count, n)))
    local safe = np.where(full, upper, np.eye(n, { dtype = jac.dtype }))
    local inverse = np.linalg.solve_triangular(safe, np.eye(n, { dtype = jac.dtype }), { lower = false })
    return np.where(full, inverse:matmul(inverse.T), np.inf)
end

--- The dtype of y, p0 and what f gives.
local function dtype_of(f, y, p)
    local met = core.info(y).weak == 0 and core.dtype_of(y).name or nil
    local function meet(name) met = met and np.promote_types(met, name) or name end
    if core.info(p).weak == 0 then meet(core.dtype_of(p).name) end
    if f then meet(f.name) end
    local dtype = core.dtypes[core.dtype_codes[met or "f32"]]
    return dtype.half and "f32" or dtype.real or dtype.name
end

--- Parameters, as bounds are given of them (problem.bounds).
local function vector_of(p)
    return { what = "p0", likes = p, dtype = p.dtype, vector_of = function(bound) return bound end }
end

--- A 1 for each parameter that f has behind x.
local function ones_of(name, f)
    local facts = type(f) == "function" and debug.getinfo(f, "u")
    if not facts or facts.isvararg or facts.nparams < 2 then
        raise(name, "argument 4 (p0) must be an array, got nothing (nil): it says how many parameters there are, which "
              .. "f does not: %s", not facts and "it is no Lua function" or facts.isvararg
              and "it takes any number of arguments, as a jitted function does" or "it has none behind x")
    end
    local ones = {}
    for k = 1, facts.nparams - 1 do ones[k] = 1 end
    return ones
end

--- Where a search within bounds begins if nobody says: amid two finite ones, or 1 from the only finite one.
local function inside_of(bounds, start)
    local lower, upper = bounds[1], bounds[2]
    local from_lower, from_upper = np.isfinite(lower), np.isfinite(upper)
    return np.where(from_lower, np.where(from_upper, lower / 2 + upper / 2, lower + 1),
                    np.where(from_upper, upper - 1, start))
end

--- The solver (solvers.lua): residuals of parameters. arrays: where the search begins, then the bounds, if s.bounded.
-- Returns parameters, covariance, status, and whether the first residuals are finite.
local function fit(residuals, arrays, s)
    local start, bounds = arrays[1], s.bounded and { arrays[2], arrays[3] } or nil
    local first = residuals(start)
    local finite, count, n = np.isfinite(first):all(), first.size, start.size
    local p, facts = least.find("optimize.curve_fit", residuals, start, s, bounds)
    p = np.where(facts.status:gt(0), p, np.nan)
    local cov = inverse_of(np.jacfwd(residuals)(p))
    if not s.absolute_sigma then
        local left = residuals(p)
        cov = count > n and cov * (left:dot(left) / (count - n)) or np.full_like(cov, np.inf)
    end
    return p, cov, facts.status, finite
end
jit.off(fit)

local solver = solvers.new(fit)

return function(optimize)
    --- np.optimize.curve_fit(f, x, y, p0=…, {sigma=…, absolute_sigma=false, bounds={lower, upper},
    -- maxiter=…}) -> p, cov: the parameters p, 1-d, with which f(x, p[0], p[1], …), an array like y, is nearest to y in
    -- the sense of least squares, and the estimate of their covariance, a matrix. p0 has the parameters at which the
    -- search begins, an array or a table of numbers; without it each is 1, or amid its bounds, or 1 from its only
    -- bound. x may be anything that f takes. The covariance is infinite where the points do not determine p. Raises if
    -- there are fewer points than parameters, without bounds, if p0 is out of bounds, and if the search does not
    -- converge; in a trace p is NaN then. The dtype is that of f, y and p0, f32 for halves. p and cov are
    -- differentiable in x, y, sigma and all that f reads (np.custom_root). As scipy.optimize.curve_fit, by Levenberg
    -- and Marquardt's method, with bounds by "trf" of np.optimize.least_squares.
    --- sigma: the errors of y, an array like y flattened or a number; or their covariance, a matrix
    --- absolute_sigma: true: sigma counts as it is; false: only in proportion, and cov is scaled by the mean square of
    -- what is left over
    --- bounds: the least and the greatest parameters: each a number, an array or a table of numbers; p0 lies between
    --- maxiter: the most iterations; by default 100 for each parameter
    --- > x = np.array{0, 1, 2, 3}
    --- > p, cov = np.optimize.curve_fit(function(x, a, b) return a * x + b end, x, np.array{1, 3, 4, 7})
    --- > np.round(p, 3), np.round(cov, 3)
    -- [1.9 0.9]
    -- [[ 0.07  -0.105]
    --  [-0.105  0.245]]
    function optimize.curve_fit(f, x, y, p0, given)
        local name = "optimize.curve_fit"
        local o = core.options(name, given, OPTIONS)
        local curve, guessed = staging.check_function(name, f), p0 == nil
        local sigma
        if guessed then p0 = ones_of(name, f) end
        y, p0, sigma = unpack(operands.literals(name, 3, { y, p0, o.sigma }, 3), 1, 3)
        check_real(name, "argument 3 (y)", y)
        check_real(name, "argument 4 (p0)", p0)
        if core.ndim(p0) ~= 1 or p0.size == 0 then
            raise(name, "argument 4 (p0) must be 1-d and not empty, got shape %s", core.shape_text(p0))
        end
        if o.absolute_sigma ~= nil and type(o.absolute_sigma) ~= "boolean" then
            core.bad_argument(name, nil, "absolute_sigma", "a boolean", o.absolute_sigma)
        end
        local n, count = p0.size, y.size
        if o.bounds == nil then least.check_count(name, count, n) end
        local function model(p)
            local list = {}
            for k = 1, n do list[k] = p[k - 1] end
            return curve(x, unpack(list, 1, n))
        end
        local found = problem.result_of(name, model, p0)
        local dtype = dtype_of(found.dtype, y, p0)
        local weighted = weighting(name, sigma, count, dtype)
        local target = np.astype(y, dtype)
        if found.text ~= core.shape_text(y) then
            raise(name, "f must return an array like y, of shape %s, got shape %s", core.shape_text(y), found.text)
        end
        local function residuals(p)
            return weighted((np.astype(operands.beside(name, 1, model(p), nil), dtype) - target):reshape(-1))
        end
        for _, g in ipairs { model, residuals } do jit.off(g) end
        local start, checked = np.astype(p0, dtype), least.options(name, { maxiter = o.maxiter }, dtype, n)
        if guessed and o.bounds ~= nil then
            start = inside_of(problem.bounds(name, { bounds = o.bounds }, vector_of(start)), start)
        end
        local bounds, method = least.bounds(name, { bounds = o.bounds }, vector_of(start), start)
        checked.bounded, checked.method, checked.absolute_sigma = bounds ~= nil, method, o.absolute_sigma or false
        local arrays = { start, unpack(bounds or {}) }
        local p, cov, status, finite = solver(name, residuals, { n = 1, start }, arrays, checked, f)
        if problem.tracing() then return p, cov end
        if not finite:item() then raise(name, "x, y, sigma or f(x, …) at p0 is not finite") end
        if status:item() <= 0 then
            raise(name, "the search did not converge: %s", least.MESSAGES[status:item()])
        end
        return p, cov
    end
    jit.off(optimize.curve_fit)
end
