--- linear_test.lua: contracts of np.optimize.linprog and np.optimize.milp (tests/lib/contracts.lua). They are skipped
-- where the solver is not installed.
-- (release build only)
local np = require "neap"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local of, finish = require "tests.lib.contracts" "linear"

local WAITS = "it waits for values"
local CLOSE = 1e-7

local listing = (os.getenv "NEAP_CONTRACTS" or "tests") ~= "tests"
local is_there = (pcall(require("ffi").load, "libCbcSolver.so.3"))

local function contract(name, what)
    if listing or is_there then of(name, what) else check.skip(name, "needs package coinor-libcbc3") end
end

--- Options with further ones.
local function with(o, more)
    local all = {}
    for key, value in pairs(o) do all[key] = value end
    for key, value in pairs(more) do all[key] = value end
    return all
end

local function f64(x) return np.array(x, { dtype = "f64" }) end

--- A random matrix of integers from -4 to 4; one row: a vector.
local function drawn(random, rows, columns)
    local A = {}
    for i = 1, rows do
        A[i] = {}
        for j = 1, columns do A[i][j] = random(9) - 5 end
    end
    return A
end

--- Raises unless x keeps lower <= A x <= upper and the bounds, and whole numbers are whole.
local function check_feasible(what, x, A, lower, upper, bounds)
    local sums = np.matmul(f64(A), x)
    check.ok(np.all(np.logical_and(np.greater_equal(sums, lower - CLOSE), np.less_equal(sums, upper + CLOSE))):item(),
             what .. ": rows")
    check.ok(np.all(np.logical_and(np.greater_equal(x, bounds[1] - CLOSE),
                                   np.less_equal(x, bounds[2] + CLOSE))):item(), what .. ": bounds")
end

--- Raises unless marginals prove that no x is better than r.x (weak duality): of the right signs, with c as their sum
-- over rows and bounds, and with r.fun as that of limits.
local function check_optimal(what, r, c, o)
    local y, z = r.ineqlin.marginals, r.eqlin.marginals
    local rows = f64(c) - r.lower.marginals - r.upper.marginals - np.matmul(y, f64(o.A_ub))
    local bound = np.sum(y * f64(o.b_ub)) + np.sum(r.lower.marginals * o.bounds[1])
        + np.sum(r.upper.marginals * o.bounds[2])
    if o.A_eq then
        rows, bound = rows - np.matmul(z, f64(o.A_eq)), bound + np.sum(z * f64(o.b_eq))
    end
    check.ok(np.max(np.abs(rows)):item() < CLOSE, what .. ": c is not the sum of marginals")
    check.ok(np.max(y):item() <= 0 and np.min(r.lower.marginals):item() >= 0 and np.max(r.upper.marginals):item() <= 0,
             what .. ": signs of marginals")
    check.ok(math.abs(bound:item() - r.fun:item()) < CLOSE, what .. ": the bound is not fun")
end

--- The least sum of what rows miss of their limits, within bounds; 0: the program has a solution.
local function least_violation(n, o)
    local m = #o.A_ub
    local none, missed = np.zeros { n }, np.ones { m + 2 } -- of inequalities; of the equation, up and down
    local slack = { A_ub = np.concatenate({ f64(o.A_ub), -np.eye(m), np.zeros { m, 2 } }, { axis = 1 }), b_ub = o.b_ub,
                    bounds = { np.concatenate { none + o.bounds[1], 0 * missed },
                               np.concatenate { none + o.bounds[2], np.inf * missed } } }
    if o.A_eq then
        slack.A_eq = np.concatenate({ f64(o.A_eq), np.zeros { 1, m }, f64 { { 1, -1 } } }, { axis = 1 })
        slack.b_eq = o.b_eq
    end
    return np.optimize.linprog(np.concatenate { none, missed }, slack).fun:item()
end

if not is_there and not listing then
    check.test("without the solver an error names its package", function()
        check.raises(function() np.optimize.linprog { 1 } end, "package coinor%-libcbc3")
    end)
end

contract("np.optimize.linprog", {
    args = { { "c", from = -3, to = -0.5 }, { "A", from = 0.25, to = 2 },
             { "b", from = 1, to = 3 } },
    shapes = { { { 4 }, { 3, 4 }, { 3 } }, { { 4 }, { 6, 4 }, { 6 } } },
    accepts = "f64 f32 f16",
    options = { {}, { bounds = { 0, 0.5 } }, { bounds = { { 0, -1, 0.125, -0.5 }, { 2, 0.25, 4, 0 } } },
                { A_eq = { { 1, -1, 0.5, 0 } }, b_eq = { 0.125 }, maxiter = 1000 },
                { integrality = 0, time_limit = 600 }, { integrality = { 1, 0, 1, 0 }, mip_rel_gap = 0 } },
    unseen = { A_ub = "each call gives it", b_ub = "each call gives it" },
    call = function(f, o, c, A, b)
        local r = f(c, with(o, { A_ub = A, b_ub = b }))
        return r.x, r.fun, r.slack, r.con, r.ineqlin.marginals, r.eqlin.marginals, r.lower.marginals,
            r.upper.marginals, r.lower.residual, r.upper.residual
    end,
    oracle = "linear_solution(o, c, A, b)",
    gives = function() return "f64" end,
    within = { f64 = "mixed 1e-7" },
    divided = "mixed 1e-12",
    special = false,
    slope = 1e-4,
    waits = function() return true end,
    without = { special = "the library refuses NaN and infinities, SciPy most of them; `refuses` holds that",
                jit = WAITS, programs = WAITS, vmap = WAITS,
                derivatives = "options with integrality have none; tests of their own hold the others" },
    refuses = {
        { "argument 1 %(c%) must be a vector, got shape %(1, 2%)", function() np.optimize.linprog { { 1, 2 } } end },
        { "argument 1 %(c%) holds no numbers", function() np.optimize.linprog {} end },
        { "argument 1 %(c%) holds NaN", function() np.optimize.linprog { 1, np.nan } end },
        { "argument 1 %(c%) must be real, got dtype c64", function() np.optimize.linprog(np.array { 1i }) end },
        { "argument 1 %(c%) must be an array", function() np.optimize.linprog "c" end },
        { "option 'A_ub' holds inf", function()
            np.optimize.linprog({ 1 }, { A_ub = { { np.inf } }, b_ub = { 1 } })
        end },
        { "option 'A_ub' must have 1 columns, one for each number of c, got 2", function()
            np.optimize.linprog({ 1 }, { A_ub = { { 1, 2 } }, b_ub = { 1 } })
        end },
        { "option 'A_ub': item%[2%] has 1 entries", function()
            np.optimize.linprog({ 1, 2 }, { A_ub = { { 1, 2 }, { 1 } }, b_ub = { 1, 2 } })
        end },
        { "option 'b_ub' must be a vector of 1 numbers, one for each row of A_ub, got shape %(2,%)", function()
            np.optimize.linprog({ 1 }, { A_ub = { { 1 } }, b_ub = { 1, 2 } })
        end },
        { "option 'b_eq' holds inf", function()
            np.optimize.linprog({ 1 }, { A_eq = { { 1 } }, b_eq = { np.inf } })
        end },
        { "options 'A_eq' and 'b_eq' go together", function() np.optimize.linprog({ 1 }, { A_eq = { { 1 } } }) end },
        { "option 'A_eq' must be real", function()
            np.optimize.linprog({ 1 }, { A_eq = np.sparse.eye(1):astype "c64", b_eq = { 1 } })
        end },
        { "option 'bounds' must be {lower, upper}", function() np.optimize.linprog({ 1 }, { bounds = 3 }) end },
        { "the upper bound must be a vector of 1 numbers", function()
            np.optimize.linprog({ 1 }, { bounds = { 0, { 1, 2 } } })
        end },
        { "the lower bound holds NaN", function() np.optimize.linprog({ 1 }, { bounds = { np.nan, 1 } }) end },
        { "holds 1e%+30; numbers are finite", function() np.optimize.linprog { 1e30 } end },
        { "option 'integrality' has 0.5", function() np.optimize.linprog({ 1 }, { integrality = 0.5 }) end },
        { "needs finite bounds, got 0 and inf", function() np.optimize.linprog({ 1 }, { integrality = 2 }) end },
        { "option 'maxiter' is for programs without integers", function()
            np.optimize.linprog({ 1 }, { integrality = 1, maxiter = 5 })
        end },
        { "option 'maxiter' must be an integer from 1", function() np.optimize.linprog({ 1 }, { maxiter = 0 }) end },
        { "option 'time_limit' must be a number from 0 up", function()
            np.optimize.linprog({ 1 }, { time_limit = -1 })
        end },
        { "option 'mip_rel_gap' must be a number", function() np.optimize.linprog({ 1 }, { mip_rel_gap = "x" }) end },
        { "tracing", function() np.jit(function(c) return np.optimize.linprog(c).fun end)(np.ones(2)) end },
        { "tracing", function() np.vmap(function(c) return np.optimize.linprog(c).fun end)(np.ones { 2, 2 }) end },
    },
    also = {
        ["np.optimize.linprog: marginals prove random programs of integers"] = function()
            local random, counts = seeds.generator(5), { [0] = 0, 0, 0, 0, 0 }
            for k = 1, 40 do
                local n, m = 1 + random(5), random(4)
                local c, o = drawn(random, 1, n)[1], { A_ub = drawn(random, m, n), b_ub = drawn(random, 1, m)[1],
                                                       bounds = { -random(3), random(4) } }
                if k % 2 == 0 then o.A_eq, o.b_eq = drawn(random, 1, n), drawn(random, 1, 1)[1] end
                local r = np.optimize.linprog(c, o)
                counts[r.status] = counts[r.status] + 1
                if r.status == 0 then
                    check_feasible("program " .. k, r.x, o.A_ub, -np.inf, f64(o.b_ub), o.bounds)
                    check.ok(not o.A_eq or np.max(np.abs(r.con)):item() < CLOSE, "program " .. k .. ": equations")
                    check_optimal("program " .. k, r, c, o)
                else
                    check.equal(r.status, 2)
                    check.ok(least_violation(n, o) > CLOSE, "program " .. k .. " has a solution")
                end
            end
            check.ok(counts[0] >= 20 and counts[2] >= 3, counts[0] .. " solved, " .. counts[2] .. " infeasible")
        end,
        ["np.optimize.linprog: what has no solution says so"] = function()
            local function status(...)
                local r = np.optimize.linprog(...)
                check.equal({ r.x, r.fun, r.success }, { nil, nil, r.status == 0 })
                return r.status
            end
            check.equal(status { 1, -1 }, 3)
            check.equal(status({ 0, -1 }, { A_ub = { { 1, 0 } }, b_ub = { 1 }, bounds = { 0, np.inf } }), 3)
            check.equal(status({ 1, 1 }, { A_ub = { { 1, 1 } }, b_ub = { -1 } }), 2)
            check.equal(status({ 1, -1 }, { A_ub = { { 1, -1 }, { -1, 1 } }, b_ub = { -1, -1 } }), 2)
            check.equal(status({ 1, 1 }, { bounds = { { 2, 0 }, { 1, 1 } } }), 2)
            check.equal(status({ 1 }, { bounds = { 0.25, 0.75 }, integrality = 1 }), 2)
            check.equal(status({ -1 }, { integrality = 1 }), 3)
            check.equal(status({ 1, 1 }, { time_limit = 0 }), 1)
        end,
        ["np.optimize.linprog: ends that Clp alone has wrong"] = function()
            local r = np.optimize.linprog({ -3, 3, 2, 2, 3 }, {
                A_ub = { { 0, 4, -1, -3, -2 }, { 0, -1, -2, -1, -1 } }, b_ub = { -2, 3 },
                bounds = { { 0, -np.inf, -np.inf, 0, 0 }, { np.inf, 3, 3, np.inf, np.inf } } })
            check.equal(r.status, 3)
            r = np.optimize.linprog({ -4, -1, 0, 1 }, {
                A_ub = { { -1, 0, -4, -3 } }, b_ub = { -1 }, A_eq = { { -3, -4, 3, 1 }, { -1, -4, 1, -1 } },
                b_eq = { -1, 1 }, bounds = { { -np.inf, -np.inf, 0, 0 }, { np.inf, np.inf, 7.4, np.inf } } })
            check.equal(r.status, 3)
            r = np.optimize.linprog({ 0, 4 }, { A_eq = { { 3, -4 } }, b_eq = { 1 }, bounds = { 0, { 1.8, 2.3 } },
                                                integrality = { 1, 0 } })
            check.equal({ r.status, r.x:totable(), r.fun:item() }, { 0, { 1, 0.5 }, 2 })
        end,
        ["np.optimize.linprog: units of costs and rows change nothing"] = function()
            local c, A, b = f64 { -3, -5 }, f64 { { 1, 0 }, { 0, 2 }, { 3, 2 } }, f64 { 4, 12, 18 }
            for _, units in ipairs { { 2 ^ -40, 2 ^ 30 }, { 2 ^ 40, 2 ^ -30 } } do
                local r = np.optimize.linprog(c * units[1], { A_ub = A * units[2], b_ub = b * units[2] })
                check.equal({ r.x:totable(), r.fun:item() / units[1] }, { { 2, 6 }, -36 })
                check.equal((r.ineqlin.marginals * (units[2] / units[1])):totable(), { 0, -1.5, -1 })
            end
        end,
        ["np.optimize.linprog: no rows, no costs, fixed numbers"] = function()
            local r = np.optimize.linprog({ 1, -2 }, { bounds = { { -3, 0 }, { 5, 4 } } })
            check.equal({ r.x:totable(), r.fun:item(), r.slack.shape, r.con.shape }, { { -3, 4 }, -11, { 0 }, { 0 } })
            check.equal({ r.lower.marginals:totable(), r.upper.marginals:totable() }, { { 1, 0 }, { 0, -2 } })
            r = np.optimize.linprog({ 0, 0 }, { A_eq = { { 1, 1 } }, b_eq = { 3 }, bounds = { { 1, 0 }, { 1, 9 } } })
            check.equal({ r.x:totable(), r.fun:item(), r.status }, { { 1, 2 }, 0, 0 })
        end,
        ["np.optimize.linprog: a limit of iterations"] = function()
            local n = 12
            local A = np.random.uniform(np.random.key(3), { n, n }, { dtype = "f64" })
            local o = { A_ub = A, b_ub = np.ones { n }, maxiter = 1 }
            local r = np.optimize.linprog(-np.ones { n }, o)
            check.equal({ r.status, r.success, r.x, r.message }, { 1, false, nil,
                                                                  "the largest number of iterations is reached" })
            o.maxiter = nil
            check.ok(np.optimize.linprog(-np.ones { n }, o).nit > 1)
        end,
        ["np.optimize.linprog: sparse matrices are as dense ones"] = function()
            local A, E = f64 { { 1, 0, 2 }, { 0, 3, 1 } }, f64 { { 1, 0, -1 } }
            local c, o = f64 { -1, -2, -1.5 }, { b_ub = { 4, 5 }, b_eq = { 0.5 } }
            local dense = np.optimize.linprog(c, with(o, { A_ub = A, A_eq = E }))
            for _, format in ipairs { "csr", "csc", "coo" } do
                local make = np.sparse[format .. "_array"]
                local r = np.optimize.linprog(c, with(o, { A_ub = make(A), A_eq = make(E) }))
                check.equal({ r.x:totable(), r.slack:totable() }, { dense.x:totable(), dense.slack:totable() }, format)
            end
            local twice = np.sparse.coo_array { data = { 1, 1, 3 }, row = { 0, 0, 0 }, col = { 0, 0, 1 } } -- 2 and 3
            check.equal(np.optimize.linprog({ -1, -1 }, { A_ub = twice, b_ub = { 4 } }).x:totable(), { 2, 0 })
        end,
        ["np.optimize.linprog: derivatives are differences, to order 2"] = function()
            local c, A, b = f64 { -1.5, -2, -1.25 }, f64 { { 1, 0.5, 0.25 }, { 0.5, 2, 1 } }, f64 { 1, 2 }
            local E, e = f64 { { 1, -1, 0.5 } }, f64 { 0.125 }
            local function solved(cost, ub, b_ub, eq, b_eq, high)
                local r = np.optimize.linprog(cost, { A_ub = ub, b_ub = b_ub, A_eq = eq, b_eq = b_eq,
                                                      bounds = { 0, high } })
                return np.concatenate { r.x, np.reshape(r.fun, 1), r.slack, r.con, r.ineqlin.marginals,
                                        r.eqlin.marginals, r.lower.marginals, r.upper.marginals, r.upper.residual }
            end
            np.check_grads(solved, { c, A, b, E, e, f64(0.6) }, { order = 2 })
        end,
        ["np.optimize.linprog: the gradient of fun is the marginals"] = function()
            local c, A, b = f64 { -3, -5 }, f64 { { 1, 0 }, { 0, 2 }, { 3, 2 } }, f64 { 4, 12, 18 }
            local function fun(limits)
                return np.optimize.linprog(c, { A_ub = np.sparse.csr_array(A), b_ub = limits }).fun
            end
            local marginals = np.optimize.linprog(c, { A_ub = A, b_ub = b }).ineqlin.marginals
            check.ok(np.allclose(np.grad(fun)(b), marginals, { atol = 1e-12 }))
        end,
        ["np.optimize.linprog: no derivative where there is none"] = function()
            local function gradient(c, A, b)
                local function fun(limits) return np.optimize.linprog(c, { A_ub = A, b_ub = limits }).fun end
                return function() np.grad(fun)(b) end
            end
            check.raises(gradient({ 1, 1 }, { { -1, -1 } }, f64 { -1 }), "has no derivative: it is not the only one")
            check.raises(gradient({ 1, 2 }, { { -1, -1 }, { -2, -3 } }, f64 { -1, -2 }), "3 rows and bounds hold")
            check.raises(function()
                np.grad(function(c) return np.optimize.linprog(c, { integrality = 1 }).fun end)(f64 { 1 })
            end, "a solution with integers has no derivative")
        end,
    },
})

contract("np.optimize.milp", {
    args = { { "c", from = -3, to = 3 }, { "A", from = -3, to = 3 },
             { "b", from = -3, to = 3 } },
    shapes = { { { 4 }, { 3, 4 }, { 3 } }, { { 4 }, { 1, 4 }, { 1 } } },
    accepts = "f64 i32 f32",
    options = { { integrality = 1, bounds = { 0, 5 } }, { integrality = { 1, 0, 1, 0 }, bounds = { -2.5, 3.5 } },
                { integrality = { 2, 3, 1, 0 }, bounds = { 1, 4 } }, { bounds = { { 0, -1, 0, -2 }, 6 } },
                { integrality = 3, bounds = { 1.5, 4.5 }, time_limit = 600, node_limit = 100000, mip_rel_gap = 0 } },
    unseen = { constraints = "each call gives them" },
    call = function(f, o, c, A, b)
        local r = f(c, with(o, { constraints = { { A = A, ub = b }, { A = { { 1, 1, 1, 1 } }, lb = -4, ub = 12 } } }))
        check.equal({ r.success, r.x ~= nil, r.fun ~= nil }, { r.status == 0, r.status == 0, r.status == 0 })
        if r.status == 0 then
            check_feasible("rows", r.x, A, -np.inf, np.is_array(b) and b or f64(b),
                           { np.minimum(f64(o.bounds[1]), 0), f64(o.bounds[2]) })
            check.ok(r.mip_gap == 0 and r.mip_node_count >= 0 and r.mip_dual_bound <= r.fun:item())
        end
        return r.status, r.fun or f64(np.nan)
    end,
    oracle = "whole_solution(o, c, A, b)",
    gives = function() return "f64" end,
    within = { f64 = "mixed 1e-6" },
    divided = "mixed 1e-12",
    special = false,
    waits = function() return true end,
    without = { special = "the library refuses NaN, and SciPy does; `refuses` holds that", jit = WAITS,
                programs = WAITS, vmap = WAITS,
                derivatives = "whole numbers have none: np.grad raises, which `refuses` holds" },
    refuses = {
        { "option 'constraints' must be {A=…, lb=…, ub=…}", function()
            np.optimize.milp({ 1 }, { constraints = 3 })
        end },
        { "option 'constraints', item 1 must be {A=…, lb=…, ub=…}, got the number 3", function()
            np.optimize.milp({ 1 }, { constraints = { 3 } })
        end },
        { "has A, lb and ub, got a field the string \"up\"", function()
            np.optimize.milp({ 1 }, { constraints = { A = { { 1 } }, up = 3 } })
        end },
        { "lb must be a vector of 1 numbers, one for each row of A, or one number", function()
            np.optimize.milp({ 1 }, { constraints = { A = { { 1 } }, lb = { 1, 2 } } })
        end },
        { "item 2: A must have 1 columns", function()
            np.optimize.milp({ 1 }, { constraints = { { A = { { 1 } }, lb = 1 }, { A = { { 1, 2 } }, lb = 1 } } })
        end },
        { "ub holds NaN", function() np.optimize.milp({ 1 }, { constraints = { A = { { 1 } }, ub = np.nan } }) end },
        { "option 'node_limit' must be an integer from 1", function() np.optimize.milp({ 1 }, { node_limit = 0 }) end },
        { "a solution with integers has no derivative", function()
            np.grad(function(c) return np.optimize.milp(c, { integrality = 1 }).fun end)(f64 { 1, 2 })
        end },
    },
    also = {
        ["np.optimize.milp: all choices of a knapsack, one by one"] = function()
            local random = seeds.generator(11)
            for k = 1, 8 do
                local n, value, weight, room = 8, {}, {}, 0
                for j = 1, n do
                    value[j], weight[j] = random(20), random(20)
                    room = room + weight[j] / 2
                end
                local best = 0
                for subset = 0, 2 ^ n - 1 do
                    local v, w = 0, 0
                    for j = 1, n do
                        if math.floor(subset / 2 ^ (j - 1)) % 2 == 1 then v, w = v + value[j], w + weight[j] end
                    end
                    if w <= room and v > best then best = v end
                end
                local r = np.optimize.milp(-f64(value), { integrality = 1, bounds = { 0, 1 },
                                                          constraints = { A = { weight }, ub = room } })
                check.equal({ r.status, r.fun:item(), r.mip_gap }, { 0, -best, 0 }, "knapsack " .. k)
                check.ok(np.all(r.x:eq(np.round(r.x))):item(), "whole numbers are whole")
            end
        end,
        ["np.optimize.milp: no bound, no solution, limits"] = function()
            local function status(...) return np.optimize.milp(...).status end
            check.equal(status({ 1, -1 }, { integrality = 1 }), 3)
            check.equal(status({ -1, 0 }, { integrality = { 1, 0 } }), 3)
            check.equal(status({ -1, 0 }, { integrality = 1, constraints = { A = { { 0, 2 } }, lb = 1, ub = 1 } }), 2)
            check.equal(status({ 1, -1 }, { integrality = 1, constraints = { A = { { 2, 4 } }, lb = 3, ub = 3 } }), 2)
            check.equal(status({ 1 }, { constraints = { A = { { 1 } }, lb = 2, ub = 1 } }), 2)
            check.equal(status({ 1 }, { constraints = { A = { { 1 } }, lb = np.inf } }), 2)
        end,
        ["np.optimize.milp: without integers it is a linear program, with its derivative"] = function()
            local c, A, b = f64 { -3, -5 }, f64 { { 1, 0 }, { 0, 2 }, { 3, 2 } }, f64 { 4, 12, 18 }
            local r = np.optimize.milp(c, { constraints = { A = np.sparse.csc_array(A), ub = b } })
            check.ok(np.allclose(r.x, { 2, 6 }))
            check.equal({ r.fun:item(), r.mip_gap, r.mip_node_count }, { -36, 0, 0 })
            np.check_grads(function(cost, M, limits)
                local rows = { { A = M, ub = limits }, { A = -M, lb = -limits - 1, ub = 2 * limits } }
                return np.optimize.milp(cost, { constraints = rows }).x
            end, { c, A, b })
        end,
    },
})

finish()
