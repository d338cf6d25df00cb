--- linprog.lua: np.optimize.linprog: the least of a linear function of numbers under linear constraints.
local core = require "neap.core"
local linear = require "neap.optimize.linear"

local np = core.np
local raise = core.raise
local huge = math.huge

local OPTIONS = { A_ub = true, b_ub = true, A_eq = true, b_eq = true, bounds = true, integrality = true,
                  maxiter = true, time_limit = true, mip_rel_gap = true }

--- Rows A x <= b, or A x == b, of two options; nil: there are none.
local function block_of(name, o, n, matrix, limit, equal)
    if o[matrix] == nil and o[limit] == nil then return nil end
    if o[matrix] == nil or o[limit] == nil then
        raise(name, "options '%s' and '%s' go together, got one of them", matrix, limit)
    end
    local A = linear.matrix(name, ("option '%s'"):format(matrix), o[matrix], n)
    local b = linear.vector(name, ("option '%s'"):format(limit), o[limit], A.shape[1], "one for each row of " .. matrix,
                            {})
    return { A = A, b = b, lower = equal and b or np.full({ b.size }, -huge, { dtype = "f64" }), upper = b }
end

--- What is left of limits, and the derivatives of fun by them: { residual, marginals }.
local function side(residual, marginals)
    return { residual = residual, marginals = marginals }
end

--- Writes the fields of a solution into the result.
local function add_solution(result, solution, ub, eq, lower, upper, whole)
    local none = np.zeros({ 0 }, { dtype = "f64" })
    local function row_prices(block)
        if not block then return none end
        return whole and np.zeros_like(block.b) or block.prices
    end
    local x, reduced = solution.x, whole and np.zeros_like(solution.x) or solution.reduced
    result.x, result.fun = x, solution.fun
    result.slack, result.con = ub and ub.b - ub.activity or none, eq and eq.b - eq.activity or none
    result.ineqlin, result.eqlin = side(result.slack, row_prices(ub)), side(result.con, row_prices(eq))
    result.lower, result.upper = side(x - lower, np.maximum(reduced, 0)), side(upper - x, np.minimum(reduced, 0))
end

return function(optimize)
    --- np.optimize.linprog(c, {A_ub=…, b_ub=…, A_eq=…, b_eq=…, bounds={0, np.inf}, integrality=…, maxiter=…,
    -- time_limit=…, mip_rel_gap=0}) -> result: the x with the least c·x where A_ub x <= b_ub, A_eq x == b_eq, and x is
    -- within bounds. c has n numbers, matrices have n columns and may be sparse arrays. The result has status and
    -- message: 0 the optimum is found, 1 a limit is reached, 2 no x satisfies all constraints, 3 fun has no bound, 4
    -- the solver failed; success (status 0) and nit, iterations of the simplex method. With a solution it has x, of
    -- shape (n,); fun, 0-d; slack = b_ub - A_ub x; con = b_eq - A_eq x; and ineqlin, eqlin, lower, upper, each with
    -- residual (what is left of the limit) and marginals (the derivatives of fun by the limits; 0 with integrality).
    -- With integrality it has mip_node_count, mip_dual_bound and mip_gap. All is computed in f64, and results are of
    -- f64. Waits for the values of its arguments, and raises while tracing. Raises for NaN, and for infinities but
    -- those of bounds. Solutions are differentiable in all arrays where a vertex is the only solution and no more than
    -- n constraints hold there with equality; elsewhere, and with integrality, np.grad raises. Names are those of
    -- scipy.optimize.linprog, but for bounds; the solver is Cbc with Clp (package coinor-libcbc3).
    --- A_ub: the matrix of inequalities, dense or sparse
    --- b_ub: their upper limits, a number for each row of A_ub
    --- A_eq: the matrix of equations, dense or sparse
    --- b_eq: their right sides, a number for each row of A_eq
    --- bounds: {lower, upper}, each a number or one for each of c; by default {0, np.inf}
    --- integrality: a number or one for each of c: 1 whole, 2 zero or within bounds, 3 zero or whole and within bounds
    --- maxiter: the most iterations; not with integrality
    --- time_limit: the most seconds; with integrality it may be one more
    --- mip_rel_gap: with integrality, which share of fun may be left to gain; 0 by default
    --- > r = np.optimize.linprog({-3, -5}, {A_ub={{1, 0}, {0, 2}, {3, 2}}, b_ub={4, 12, 18}})
    --- > r.x, r.fun, r.slack, r.ineqlin.marginals, r.message
    -- [2. 6.]
    -- -36.0
    -- [2. 0. 0.]
    -- [ 0.  -1.5 -1. ]
    -- the optimum is found
    function optimize.linprog(c, given)
        local name = "optimize.linprog"
        local o = core.options(name, given, OPTIONS)
        c = linear.vector(name, "argument 1 (c)", c, nil, nil, {})
        local n = c.size
        if n == 0 then raise(name, "argument 1 (c) holds no numbers") end
        local ub, eq = block_of(name, o, n, "A_ub", "b_ub", false), block_of(name, o, n, "A_eq", "b_eq", true)
        local lower, upper = linear.bounds(name, o.bounds, n)
        local kinds = linear.integrality(name, o.integrality, n)
        if kinds and o.maxiter ~= nil then
            raise(name, "option 'maxiter' is for programs without integers; np.optimize.milp has 'node_limit'")
        end
        local blocks = { ub or eq, ub and eq }
        local solution = linear.solve(name, c, blocks, lower, upper, kinds, {
            maxiter = linear.count(name, o, "maxiter"), node_limit = 2 ^ 31 - 1,
            seconds = linear.number(name, o, "time_limit", huge), gap = linear.number(name, o, "mip_rel_gap", 0) })
        local result = { status = solution.status, success = solution.success, message = solution.message,
                         nit = solution.iterations }
        if solution.x then add_solution(result, solution, ub, eq, lower, upper, kinds ~= nil) end
        if kinds then linear.add_gap(result, solution) end
        return result
    end
    jit.off(optimize.linprog)
end
