--- milp.lua: np.optimize.milp: the least of a linear function of numbers, of which some are whole, under linear
-- constraints.
local core = require "neap.core"
local linear = require "neap.optimize.linear"

local raise = core.raise
local huge = math.huge

local OPTIONS = { integrality = true, bounds = true, constraints = true, time_limit = true, node_limit = true,
                  mip_rel_gap = true }
local FIELDS = { A = true, lb = true, ub = true }

--- Rows lb <= A x <= ub of a table { A, lb, ub }.
local function block_of(name, given, n, place)
    for key in pairs(given) do
        if not FIELDS[key] then raise(name, "%s has A, lb and ub, got a field %s", place, core.describe(key)) end
    end
    local A = linear.matrix(name, place .. ": A", given.A, n)
    local how, what = { all = true, infinite = true }, "one for each row of A"
    local lower = given.lb == nil and -huge or given.lb
    local upper = given.ub == nil and huge or given.ub
    return { A = A, lower = linear.vector(name, place .. ": lb", lower, A.shape[1], what, how),
             upper = linear.vector(name, place .. ": ub", upper, A.shape[1], what, how) }
end

--- The blocks of the option constraints.
local function blocks_of(name, given, n)
    if given == nil then return {} end
    local expected = "{A=…, lb=…, ub=…} or a table of such tables"
    if type(given) ~= "table" or getmetatable(given) ~= nil then
        core.bad_argument(name, nil, "constraints", expected, given)
    end
    if given.A ~= nil then return { block_of(name, given, n, "option 'constraints'") } end
    local blocks = {}
    for k, item in ipairs(core.list(name, "option 'constraints'", given)) do
        local place = ("option 'constraints', item %d"):format(k)
        if type(item) ~= "table" or getmetatable(item) ~= nil or item.A == nil then
            raise(name, "%s must be {A=…, lb=…, ub=…}, got %s", place, core.describe(item))
        end
        blocks[k] = block_of(name, item, n, place)
    end
    return blocks
end

return function(optimize)
    --- np.optimize.milp(c, {integrality=…, bounds={0, np.inf}, constraints={A=…, lb=…, ub=…}, time_limit=…,
    -- node_limit=…, mip_rel_gap=0}) -> result: the x with the least c·x where lb <= A x <= ub for each of the
    -- constraints, x is within bounds, and the numbers of x that integrality says are whole. c has n numbers, matrices
    -- have n columns and may be sparse arrays. The result has status and message: 0 the optimum is found, 1 a limit is
    -- reached, 2 no x satisfies all constraints, 3 fun has no bound, 4 the solver failed; and success (status 0). With
    -- a solution, which there may be at status 1 too, it has x, of shape (n,), and fun, 0-d. mip_node_count is how
    -- many nodes were looked at, mip_dual_bound what no solution is below, and mip_gap which share of fun lies
    -- between. All is computed in f64, and results are of f64. Waits for the values of its arguments, and raises while
    -- tracing. Raises for NaN, and for infinities but those of bounds and limits. Solutions with integers have no
    -- derivative: np.grad raises; others have that of np.optimize.linprog. As scipy.optimize.milp, whose mip_rel_gap
    -- is 1e-4 by default; the solver is Cbc with Clp (package coinor-libcbc3).
    --- integrality: a number or one for each of c: 1 whole, 2 zero or within bounds, 3 zero or whole and within bounds
    --- bounds: {lower, upper}, each a number or one for each of c; by default {0, np.inf}
    --- constraints: {A=…, lb=…, ub=…} or a table of such tables; limits are a number or one for each row
    --- time_limit: the most seconds; with integrality it may be one more
    --- node_limit: the most nodes of the search
    --- mip_rel_gap: which share of fun may be left to gain; 0 by default
    --- > value, weight = np.array{10, 13, 7, 11}, np.array{{5, 6, 3, 5}}
    --- > r = np.optimize.milp(-value, {integrality=1, bounds={0, 1}, constraints={A=weight, ub=13}})
    --- > r.x, r.fun, r.status
    -- [1. 0. 1. 1.]
    -- -28.0
    -- 0
    function optimize.milp(c, given)
        local name = "optimize.milp"
        local o = core.options(name, given, OPTIONS)
        c = linear.vector(name, "argument 1 (c)", c, nil, nil, {})
        local n = c.size
        if n == 0 then raise(name, "argument 1 (c) holds no numbers") end
        local blocks = blocks_of(name, o.constraints, n)
        local lower, upper = linear.bounds(name, o.bounds, n)
        local kinds = linear.integrality(name, o.integrality, n)
        local solution = linear.solve(name, c, blocks, lower, upper, kinds, {
            maxiter = 2 ^ 31 - 1, node_limit = linear.count(name, o, "node_limit"),
            seconds = linear.number(name, o, "time_limit", huge), gap = linear.number(name, o, "mip_rel_gap", 0) })
        local result = { status = solution.status, success = solution.success, message = solution.message,
                         x = solution.x, fun = solution.fun }
        linear.add_gap(result, solution)
        return result
    end
    jit.off(optimize.milp)
end
