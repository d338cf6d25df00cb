--- optimize_test.lua: contracts of np.optimize and np.custom_root (tests/lib/contracts.lua).
-- (release build only)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "optimize"

elsewhere("np.optimize", "tests/contracts/optimize_test.lua", "the table of the functions that this file holds")

local NO_SPECIAL = "where f gives NaN there is no solution: what comes then is held by tests of their own"

--- Options with further ones.
local function with(o, more)
    local all = {}
    for key, value in pairs(o) do all[key] = value end
    for key, value in pairs(more) do all[key] = value end
    return all
end

-- ---- np.custom_root -------------------------------------------------------------------------------------------------

local function newton(f, guess)
    return np.fori_loop(0, 12, function(_, x)
        local y, slope = np.jvp(f, { x }, { np.ones_like(x) })
        return x - y / slope
    end, guess)
end

of("np.custom_root", {
    args = { { "a", from = 0.5, to = 4 } },
    shapes = { { {} }, { { 3 } } },
    accepts = "f64 f32",
    options = { {}, { has_aux = true } },
    call = function(f, o, a)
        local function solve(g, x)
            local root = newton(g, x)
            if o.has_aux then return root, { half = root / 2 } end
            return root
        end
        local options = next(o) ~= nil and o or nil
        return (f(function(x) return x * x * x - a end, np.ones_like(a), solve, function(g, y)
            return y / g(np.ones_like(y))
        end, options))
    end,
    oracle = "np.cbrt(a)",
    within = { f64 = "rel 1e-14", f32 = "rel 1e-6" },
    special = false,
    without = { special = NO_SPECIAL },
    refuses = {
        { "argument 1 %(f%)", function() np.custom_root(2, 1, newton) end },
        { "argument 3 %(solve%)", function() np.custom_root(np.sin, 1) end },
        { "guess%) must hold floats", function() np.custom_root(np.sin, np.arange(1), newton) end },
        { "guess%) must be an array", function() np.custom_root(np.sin, "1", newton) end },
        { "holds no array", function() np.custom_root(np.sin, {}, newton) end },
        { "the root of the solver must be like the guess, f32%(%)", function()
            np.custom_root(np.sin, 1, function() return np.ones(2) end)
        end },
        { "the result of f must be like the guess", function()
            np.jit(function(a)
                return np.custom_root(function(x) return (x - a):reshape(1) end, 1, newton)
            end)(np.ones {})
        end },
        { "solve must return the root, got 2 values", function()
            np.custom_root(np.sin, 1, function(_, x) return x, x end)
        end },
    },
    also = {
        ["np.custom_root: a tree, solved by the matrix of the derivative"] = function()
            local function root(a, b)
                local found = np.custom_root(function(x) return { u = x.u * x.u - a, v = x.v - b * x.u } end,
                                             { u = 1, v = np.zeros { 2 } }, function(_, _)
                    return { u = np.sqrt(a), v = b * np.sqrt(a) }
                end)
                return found.u + (found.v * found.v):sum()
            end
            local a, b = np.array(4), np.array { 1, 2 }
            local da, db = np.grad(root, { argnums = { 1, 2 } })(a, b)
            check.equal({ da:item(), db:totable() }, { 5.25, { 8, 16 } })
        end,
        ["np.custom_root: the guess and what the solver reads move nothing"] = function()
            local function root(a, guess, pace)
                return np.custom_root(function(x) return x * x - a end, guess, function(f, first)
                    return np.fori_loop(0, 200, function(_, x) return x - f(x) * pace end, first)
                end)
            end
            local gradients = { np.grad(root, { argnums = { 1, 2, 3 } })(np.array(4), np.array(1), np.array(0.1)) }
            for k, expected in ipairs { 0.25, 0, 0 } do
                check.ok(math.abs(gradients[k]:item() - expected) < 1e-6, "argument " .. k)
            end
        end,
    },
})

-- ---- np.optimize.root_scalar ----------------------------------------------------------------------------------------

local function cubic(x, c) return x * x * x - c end

of("np.optimize.root_scalar", {
    args = { { "c", from = 0.5, to = 4 } },
    shapes = { { {} } },
    accepts = "f64 f32 f16 bf16",
    options = { { bracket = { 0, 3 } }, { bracket = { -1.5, 2.5 }, method = "brentq", xtol = 1e-10, rtol = 1e-9 },
                { bracket = { 0, 3 }, method = "bisect" }, { x0 = 1.5 }, { x0 = 1.25, method = "newton", maxiter = 40 },
                { x0 = 1.5, method = "halley" }, { x0 = 1.5, x1 = 2 }, { x0 = 1.5, method = "secant" } },
    unseen = { args = "each call gives them" },
    call = function(f, o, c) return f(cubic, with(o, { args = { c } })).root end,
    oracle = "cubic_root(o, c)",
    within = { f64 = "rel 1e-9", f32 = "rel 1e-6", f16 = "ulp 1", bf16 = "ulp 1" },
    special = false,
    slope = 1e-5,
    without = { special = NO_SPECIAL },
    refuses = {
        { "got f%(0%) = 1 and f%(1%) = 2", function()
            np.optimize.root_scalar(function(x) return x * x + 1 end, { bracket = { 0, 1 } })
        end },
        { "f%(0%) = nan", function()
            np.optimize.root_scalar(function(x) return x / x end, { bracket = { 0, 1 } })
        end },
        { "option 'bracket' must be a table of two numbers", function()
            np.optimize.root_scalar(np.sin, { method = "bisect", x0 = 1 })
        end },
        { "option 'x0' must be a number, as method newton needs", function() np.optimize.root_scalar(np.sin) end },
        { "option 'method' must be one of", function() np.optimize.root_scalar(np.sin, { method = "brent" }) end },
        { "must be a number or a 0%-d array, got shape", function()
            np.optimize.root_scalar(np.sin, { x0 = np.ones(2) })
        end },
        { "f must return a number or a 0%-d array, got shape", function()
            np.optimize.root_scalar(function(x) return x * np.ones(2) end, { x0 = 1 })
        end },
        { "did you forget return", function() np.optimize.root_scalar(function() end, { x0 = 1 }) end },
        { "option 'xtol' must be a number from 0 up", function()
            np.optimize.root_scalar(np.sin, { x0 = 1, xtol = -1 })
        end },
        { "option 'args' must be", function() np.optimize.root_scalar(np.sin, { x0 = 1, args = 3 }) end },
    },
    also = {
        ["np.optimize.root_scalar: iterations are SciPy's"] = function()
            local c = np.array(2, { dtype = "f64" })
            for method, count in pairs { brentq = 10, bisect = 41, newton = 5, halley = 3, secant = 6 } do
                local options = { bracket = { 0, 3 }, x0 = 1.5, method = method, args = { c } }
                local r = np.optimize.root_scalar(cubic, options)
                check.equal({ r.converged, r.iterations, r.status, r.message }, { true, count, 0, "converged" }, method)
            end
        end,
        ["np.optimize.root_scalar: what does not converge says so"] = function()
            local function above(x) return x * x + 1 end
            local r = np.optimize.root_scalar(above, { x0 = 0.7 })
            check.equal({ r.converged, r.iterations, r.status }, { false, 50, 2 })
            check.equal(np.optimize.root_scalar(above, { x0 = 0 }).status, 4)
            check.equal(np.optimize.root_scalar(function(x) return np.log(x) + 3 end, { x0 = 40 }).status, 3)
            local traced = np.jit(function(a) return np.optimize.root_scalar(above, { bracket = { a, 1 } }) end)
            local found = traced(np.array(0))
            check.equal({ found.converged:item(), found.status:item(), found.message }, { false, 1 })
        end,
        ["np.optimize.root_scalar: a root at an end, and brackets in a batch"] = function()
            local r = np.optimize.root_scalar(function(x) return x * (x - 2) end, { bracket = { 2, 5 } })
            check.equal({ r.root:item(), r.iterations }, { 2, 0 })
            local roots = np.vmap(function(a, b)
                return np.optimize.root_scalar(np.sin, { bracket = { a, b }, method = "bisect" }).root
            end)(np.array({ 3, 6 }, { dtype = "f64" }), np.array({ 4, 7 }, { dtype = "f64" }))
            for k = 0, 1 do check.ok(math.abs(roots[k]:item() - (k + 1) * math.pi) < 1e-11) end
        end,
    },
})

-- ---- np.optimize.minimize -------------------------------------------------------------------------------------------

local functions = {}

function functions.rosenbrock(x)
    local a, b = x[{ { 0, x.size - 1 } }], x[{ { 1, x.size } }]
    return (100 * (b - a * a) ^ 2 + (1 - a) ^ 2):sum()
end

function functions.himmelblau(x) return (x[0] ^ 2 + x[1] - 11) ^ 2 + (x[0] + x[1] ^ 2 - 7) ^ 2 end

function functions.beale(x)
    local a, b = x[0], x[1]
    return (1.5 - a + a * b) ^ 2 + (2.25 - a + a * b ^ 2) ^ 2 + (2.625 - a + a * b ^ 3) ^ 2
end

--- A quadratic function whose Hessian has the condition 10^4.
function functions.steep(x) return (x * x * 10 ^ np.linspace(0, 4, x.size, { dtype = "f64" })):sum() - x:sum() end

local FEATURES = np.array({ { 1, 0.5, -1 }, { 1, -1.5, 0.3 }, { 1, 2, 0.1 }, { 1, 0.2, 0.9 }, { 1, -0.7, -0.4 } },
                          { dtype = "f64" })
local LABELS = np.array({ 1, 0, 1, 0, 1 }, { dtype = "f64" })

--- Logistic regression with a penalty.
function functions.logistic(w)
    local scores = FEATURES:matmul(w)
    return (np.logaddexp(0, scores) - LABELS * scores):sum() + 0.05 * (w * w):sum()
end

local STARTS = { rosenbrock = { 1.3, 0.7, 0.8, 1.9, 1.2 }, himmelblau = { 1, 1 }, beale = { 1, 1 },
                 steep = { 1, 2, -1, 0.5 }, logistic = { 0, 0, 0 } }
local GRADIENT_METHODS = { "bfgs", "l-bfgs", "newton-cg" }

--- max |x - y| over the elements of two flat tables.
local function distance(x, y)
    local most = 0
    for k = 1, math.max(#x, #y) do most = math.max(most, math.abs(x[k] - y[k])) end
    return most
end

-- The minima that SciPy's minimize(method="BFGS", options={"gtol": 1e-9}) finds from STARTS, with gradients by
-- differences of fourth order; those of `steep` as the formula gives them, which agrees to 9 digits.
local MINIMA = {
    rosenbrock = { 1, 1, 1, 1, 1 },
    himmelblau = { 3, 2 },
    beale = { 3, 0.5 },
    steep = { 0.5, 0.5 * 10 ^ (-4 / 3), 0.5 * 10 ^ (-8 / 3), 0.5e-4 },
    logistic = { 0.662527327, 1.143579055, -2.900638145 },
}

--- The minimum of a sum under constraints.
local function constrained(given) return np.optimize.minimize(np.sum, np.ones(2), { constraints = given }) end

local function quartic(x, c) return ((x - c) ^ 2):sum() + (x[0] * x[1]) ^ 2 end

of("np.optimize.minimize", {
    args = { { "c", from = 0.5, to = 2 } },
    shapes = { { { 2 } } },
    accepts = "f64 f32",
    options = { { method = "bfgs", tol = 1e-9 }, { method = "l-bfgs", tol = 1e-14 },
                { method = "newton-cg", tol = 1e-9 }, { method = "nelder-mead", tol = 1e-9, maxiter = 500 },
                { bounds = { 0.25, 0.75 }, tol = 1e-14 } },
    unseen = { args = "each call gives them", callback = "a function; a test of its own calls it",
               constraints = "tests/stdlib/slsqp_test.lua has them, which wait for values" },
    call = function(f, o, c)
        return f(quartic, np.array({ 0.5, 0.5 }, { dtype = c.dtype }), with(o, { args = { c } })).x
    end,
    oracle = "quartic_minimum(o, c)",
    within = { f64 = "abs 1e-7", f32 = "abs 5e-4" },
    vmapped = "abs 1e-4",
    divided = "abs 1e-4",
    special = false,
    slope = 2e-3,
    without = { special = NO_SPECIAL },
    refuses = {
        { "f is NaN at x0", function() np.optimize.minimize(function(x) return np.log(x):sum() end, -np.ones(2)) end },
        { "f is infinite at x0", function()
            np.optimize.minimize(function(x) return (1 / x):sum() end, np.zeros(1))
        end },
        { "f must return a number or a 0%-d array", function() np.optimize.minimize(np.sin, np.ones(2)) end },
        { "x0 holds no numbers", function() np.optimize.minimize(np.sum, np.ones(0)) end },
        { "x0 must be real", function() np.optimize.minimize(np.sum, np.array { 1i }) end },
        { "x0 must be an array", function() np.optimize.minimize(np.sum, "x") end },
        { "a nil value; x is a table, as x0 is: x%[1%] to x%[2%].*np.array{…} they are x%[0%] to x%[1%]", function()
            np.optimize.minimize(function(x) return x[0] ^ 2 + x[1] ^ 2 end, { 1, 2 })
        end },
        { "takes no bounds", function()
            np.optimize.minimize(np.sum, np.ones(2), { method = "bfgs", bounds = { 0, 1 } })
        end },
        { "a lower bound is above", function() np.optimize.minimize(np.sum, np.ones(2), { bounds = { 1, 0 } }) end },
        { "the upper bound has shape", function()
            np.optimize.minimize(np.sum, np.ones(2), { bounds = { 0, np.ones(3) } })
        end },
        { "option 'bounds' must be", function() np.optimize.minimize(np.sum, np.ones(2), { bounds = 3 }) end },
        { "option 'method' must be one of", function()
            np.optimize.minimize(np.sum, np.ones(2), { method = "cg" })
        end },
        { "option 'tol'", function() np.optimize.minimize(np.sum, np.ones(2), { tol = "small" }) end },
        { "takes no constraints", function()
            np.optimize.minimize(np.sum, np.ones(2), { method = "bfgs", constraints = {} })
        end },
        { "option 'constraints' must be", function() constrained(3) end },
        { "item 2 must be", function() constrained { { type = "eq", fun = np.sum }, 3 } end },
        { "no field the string \"up\"", function() constrained { fun = np.sum, up = 1 } end },
        { "needs either fun or A", function() constrained { type = "eq" } end },
        { 'type must be "eq" or "ineq"', function() constrained { type = "le", fun = np.sum } end },
        { 'needs type="eq" or type="ineq", or limits', function() constrained { fun = np.sum } end },
        { "type is for fun alone", function() constrained { type = "eq", fun = np.sum, lb = 1 } end },
        { "a column for each of 2 numbers", function() constrained { A = { { 1, 2, 3 } }, lb = 1 } end },
        { "lb must be a number or 2 of them", function() constrained { fun = np.sin, lb = { 1, 2, 3 } } end },
        { "ub holds NaN", function() constrained { fun = np.sum, ub = np.nan } end },
        { "a lower limit is above", function() constrained { fun = np.sum, lb = 2, ub = 1 } end },
        { "no number is above a lower limit of infinity", function() constrained { fun = np.sum, lb = np.inf } end },
        { "no number is above a lower limit", function() constrained { A = { { 1, 1 } }, ub = -np.inf } end },
        { "'constraints': fun must be a function, got the number 3", function() constrained { fun = 3, lb = 1 } end },
        { "jac must be a function, got the number 3", function() constrained { fun = np.sum, lb = 1, jac = 3 } end },
        { "item 1: fun must return an array, got nothing", function()
            constrained { { fun = function() end, lb = 1 } }
        end },
    },
    also = {
        ["np.optimize.minimize: well-known functions"] = function()
            for name, start in pairs(STARTS) do
                for _, method in ipairs(GRADIENT_METHODS) do
                    local r = np.optimize.minimize(functions[name], np.array(start, { dtype = "f64" }),
                                                   { method = method, tol = method == "l-bfgs" and 1e-13 or 1e-8 })
                    check.ok(r.success, name .. " by " .. method .. ": " .. tostring(r.message))
                    local near = distance(r.x:totable(), MINIMA[name]) < 2e-6
                    check.ok(near, name .. " by " .. method .. ": " .. tostring(r.x))
                end
            end
        end,
        ["np.optimize.minimize: the simplex takes SciPy's steps"] = function()
            local start = np.array({ -1.2, 1, 0.5 }, { dtype = "f64" })
            local r = np.optimize.minimize(functions.rosenbrock, start, { method = "nelder-mead" })
            check.equal({ r.nit, r.nfev }, { 207, 373 }) -- SciPy counts iterations from 1
            check.ok(distance(r.x:totable(), { 1.00001605, 1.00002944, 1.00006248 }) < 2e-8)
        end,
        ["np.optimize.minimize: trees, numbers, results"] = function()
            local seen = 0
            local r = np.optimize.minimize(function(p) return (p.a - 1) ^ 2 + ((p.b - p.a) ^ 2):sum() end,
                                           { a = 0, b = np.zeros(2) }, { callback = function() seen = seen + 1 end })
            check.ok(distance({ r.x.a:item(), r.x.b[0]:item(), r.x.b[1]:item() }, { 1, 1, 1 }) < 1e-4)
            check.equal({ r.success, r.status, r.message, seen }, { true, 0, "converged", r.nit })
            check.ok(math.abs(r.jac.a:item()) < 1e-4 and r.fun:item() < 1e-8 and r.nfev > r.nit)
        end,
        ["np.optimize.minimize: what does not converge says so"] = function()
            local start = np.array(STARTS.rosenbrock)
            local r = np.optimize.minimize(functions.rosenbrock, start, { maxiter = 3 })
            check.equal({ r.success, r.status, r.nit }, { false, 1, 3 })
            check.equal(np.optimize.minimize(function(x) return -x:sum() end, np.ones(2)).success, false)
            local function logarithms(x) return np.log(x):sum() end
            local traced = np.jit(function(x) return np.optimize.minimize(logarithms, x) end)
            check.equal(traced(-np.ones(2)).status:item(), 3)
        end,
        ["np.optimize.minimize: each device of a mesh has a minimum of its own"] = function()
            local mesh, c = np.mesh({ 4 }, { "i" }), np.array { 1, 2, 3, 4 }
            local x = np.shard_map(function(own)
                local r = np.optimize.minimize(function(x) return ((x - own) ^ 2):sum() end, np.zeros(1))
                return np.where(r.success, r.x, np.nan)
            end, { mesh = mesh, in_specs = { np.P "i" }, out_specs = np.P "i" })(c)
            check.ok(distance(x:totable(), c:totable()) < 1e-4)
        end,
        ["np.optimize.minimize: from out of bounds as from the bounds"] = function()
            local function search(x0)
                return np.optimize.minimize(quartic, np.array(x0, { dtype = "f64" }),
                                            { bounds = { { 0, 0 }, { 2, 2.5 } }, args = { np.array { 2, 3 } } })
            end
            local inside, outside = search { 2, 0 }, search { 9, -7 } -- SciPy's L-BFGS-B moves x0, and says nothing
            check.equal({ outside.x:totable(), outside.nfev }, { inside.x:totable(), inside.nfev })
        end,
        ["np.optimize.minimize: a bound moves the minimum that it holds"] = function()
            local function held(upper)
                return np.optimize.minimize(quartic, np.zeros { 2 }:astype "f64",
                                            { bounds = { -1, upper }, args = { np.array { 2, 3 } } }).x
            end
            local jacobian = np.jacobian(held)(np.array(0.5, { dtype = "f64" })):totable()
            check.ok(distance(jacobian, { 1, 1 }) < 1e-6)
        end,
    },
})

-- ---- np.optimize.minimize_scalar ------------------------------------------------------------------------------------

local function valley(x, a) return (x - a) ^ 2 + x ^ 4 + np.exp(-x) end

of("np.optimize.minimize_scalar", {
    args = { { "a", from = 0.5, to = 4 } },
    shapes = { { {} } },
    accepts = "f64 f32 f16",
    options = { {}, { bracket = { -3, -2 }, method = "brent", maxiter = 100 }, { bounds = { 0.1, 3 }, tol = 1e-8 },
                { bounds = { 1.5, 3 } } },
    unseen = { args = "each call gives them" },
    call = function(f, o, a) return f(valley, with(o, { args = { a } })).x end,
    oracle = "valley_minimum(o, a)",
    within = { f64 = "abs 1e-7", f32 = "abs 1e-3", f16 = "abs 2e-3" },
    special = false,
    slope = 5e-3,
    without = { special = NO_SPECIAL },
    refuses = {
        { "the lower bound is above", function() np.optimize.minimize_scalar(np.sin, { bounds = { 2, 1 } }) end },
        { "both points are the same", function() np.optimize.minimize_scalar(np.sin, { bracket = { 2, 2 } }) end },
        { "option 'bounds' must be a table", function()
            np.optimize.minimize_scalar(np.sin, { method = "bounded" })
        end },
        { "option 'method'", function() np.optimize.minimize_scalar(np.sin, { method = "golden" }) end },
    },
    also = {
        ["np.optimize.minimize_scalar: what has no minimum says so"] = function()
            local r = np.optimize.minimize_scalar(function(x) return -x end)
            check.equal({ r.success, r.status }, { false, 2 })
            check.equal(np.optimize.minimize_scalar(np.sqrt, { bounds = { -3, -1 } }).status, 3)
            check.equal(np.optimize.minimize_scalar(valley, { args = { 1 }, maxiter = 2 }).status, 1)
        end,
    },
})

-- ---- np.optimize.root -----------------------------------------------------------------------------------------------

local function equations(x, c) return x * x * x + np.flip(x) - c end

of("np.optimize.root", {
    args = { { "c", from = 2, to = 4 } },
    shapes = { { { 3 } } },
    accepts = "f64 f32",
    options = { {}, { method = "newton", tol = 1e-12, maxiter = 50 } },
    unseen = { args = "each call gives them" },
    call = function(f, o, c) return f(equations, np.ones_like(c), with(o, { args = { c } })).x end,
    oracle = "equations_root(c)",
    within = { f64 = "abs 1e-10", f32 = "abs 1e-5" },
    vmapped = "abs 1e-5",
    divided = "abs 1e-5",
    special = false,
    slope = 1e-5,
    without = { special = NO_SPECIAL },
    refuses = {
        { "f must return as many numbers as x has, 2, got shape", function() np.optimize.root(np.sum, np.ones(2)) end },
        { "f is not finite at x0", function() np.optimize.root(np.log, np.zeros(2)) end },
        { "option 'method'", function() np.optimize.root(np.sin, np.ones(2), { method = "hybr" }) end },
    },
    also = {
        ["np.optimize.root: what does not converge says so"] = function()
            local function status(f, o) return np.optimize.root(f, np.array { 3, 1 }, o).status end
            check.equal(status(function(x) return np.stack { x[0] + x[1], (x[0] + x[1]) * 2 - 1 } end), 4)
            check.equal(status(function(x) return np.exp(x) - 1 end, { maxiter = 1 }), 1)
        end,
    },
})

-- ---- np.optimize.least_squares and curve_fit ------------------------------------------------------------------------

local function residuals(x, y)
    local a, b = x[0], x[1]
    return np.stack { a + 0.2 * a * a, b - 0.3 * a, 0.5 * a * b, a + b } - y
end

local TIGHT = { ftol = 1e-15, xtol = 1e-15, gtol = 1e-13 }

of("np.optimize.least_squares", {
    args = { { "y", from = 0.5, to = 2 } },
    shapes = { { { 4 } } },
    accepts = "f64 f32",
    options = { TIGHT, with(TIGHT, { method = "lm", maxiter = 80 }), with(TIGHT, { loss = "soft_l1", f_scale = 0.5 }),
                with(TIGHT, { loss = "huber", f_scale = 0.25 }), with(TIGHT, { loss = "cauchy", f_scale = 2 }),
                with(TIGHT, { loss = "arctan", f_scale = 2.5 }), with(TIGHT, { bounds = { 0.5, 1.125 } }),
                with(TIGHT, { bounds = { -4, 1.0625 }, loss = "soft_l1", method = "trf" }),
                with(TIGHT, { bounds = { 0.5, 1.125 }, method = "dogbox" }),
                with(TIGHT, { bounds = { -4, 1.0625 }, loss = "huber", f_scale = 0.25, method = "dogbox" }) },
    unseen = { args = "each call gives them" },
    call = function(f, o, y)
        local r = f(residuals, np.ones({ 2 }, { dtype = y.dtype }), with(o, { args = { y } }))
        return r.x, r.cost
    end,
    oracle = "residuals_fit(o, y)",
    within = { f64 = "abs 1e-6", f32 = "abs 1e-3" },
    vmapped = "abs 1e-3",
    divided = "abs 1e-3",
    special = false,
    slope = 1e-3,
    first_only = true,
    without = { special = NO_SPECIAL },
    refuses = {
        { "there are 1 residuals for 2 numbers in x", function() np.optimize.least_squares(np.sum, np.ones(2)) end },
        { "a residual is not finite at x0", function() np.optimize.least_squares(np.log, -np.ones(2)) end },
        { "option 'loss'", function() np.optimize.least_squares(np.sin, np.ones(2), { loss = "l2" }) end },
        { "option 'method'", function() np.optimize.least_squares(np.sin, np.ones(2), { method = "newton" }) end },
        { 'method "lm" takes no bounds', function()
            np.optimize.least_squares(np.sin, np.ones(2), { method = "lm", bounds = { 0, 2 } })
        end },
        { "option 'bounds' must be {lower, upper}", function()
            np.optimize.least_squares(np.sin, np.ones(2), { bounds = 2 })
        end },
        { "a lower bound is not below the upper one", function()
            np.optimize.least_squares(np.sin, np.ones(2), { bounds = { { 0, 1 }, 1 } })
        end },
        { "the upper bound has shape %(3,%), x0 %(2,%)", function()
            np.optimize.least_squares(np.sin, np.ones(2), { bounds = { 0, { 1, 2, 3 } } })
        end },
        { "a number of x0 is out of the bounds", function()
            np.optimize.least_squares(np.sin, np.ones(2), { bounds = { { 0, 2 }, 3 } })
        end },
        { "option 'f_scale' must be a number above 0", function()
            np.optimize.least_squares(np.sin, np.ones(2), { f_scale = 0 })
        end },
    },
    also = {
        ["np.optimize.least_squares: a result of a tree"] = function()
            local y = np.array({ 1, 3, 5, 7 }, { dtype = "f64" })
            local r = np.optimize.least_squares(function(p) return p.a * np.arange(4) + p.b - y end,
                                                { a = np.array(0, { dtype = "f64" }), b = np.zeros { 1 }:astype "f64" })
            check.ok(distance({ r.x.a:item(), r.x.b:item(), r.cost:item() }, { 2, 1, 0 }) < 1e-6)
            check.equal({ r.success, r.jac.shape, r.grad.b.shape, r.fun.shape }, { true, { 4, 2 }, { 1 }, { 4 } })
            check.ok(r.optimality:item() < 1e-4 and r.status > 0 and r.message ~= nil and r.nfev == r.nit + 1)
        end,
        ["np.optimize.least_squares: bounds, with the minima of SciPy"] = function()
            local function rosenbrock(x) return np.stack { 10 * (x[1] - x[0] ^ 2), 1 - x[0] } end
            local function found(x0, bounds, o)
                return np.optimize.least_squares(rosenbrock, np.array(x0, { dtype = "f64" }), with(o or {}, {
                    bounds = bounds }))
            end
            local r = found({ 2, 2 }, { { -np.inf, 1.5 }, np.inf })
            check.ok(r.success and distance(r.x:totable(), { 1.22437075, 1.5 }) < 1e-7)
            check.ok(math.abs(r.cost:item() - 0.025213093946805685) < 1e-12)
            check.equal(r.active_mask:totable(), { 0, -1 })
            r = found({ 2, 2 }, { { -np.inf, 1.5 }, np.inf }, { loss = "huber", f_scale = 0.1 })
            check.ok(r.success and math.abs(r.cost:item() - 0.017466152671497093) < 1e-12)
            r = found({ -1.2, 1 }, { { -50, 0 }, { 0.5, 100 } })
            check.ok(r.success and distance(r.x:totable(), { 0.5, 0.25 }) < 1e-7)
            check.equal({ r.active_mask:totable(), r.x:lt(np.array { 0.5, 100 }):all():item() }, { { 1, 0 }, true })
            r = found({ -1.2, 1 }, { { -50, 0 }, { 0.5, 100 } }, { method = "dogbox" })
            check.ok(r.success and distance(r.x:totable(), { 0.5, 0.25 }) < 1e-7)
            check.equal({ r.active_mask:totable(), r.x[0]:item(), r.nit < 30 }, { { 1, 0 }, 0.5, true })
            r = found({ 2, 2 }, nil, { method = "dogbox" })
            check.ok(r.success and distance(r.x:totable(), { 1, 1 }) < 1e-7)
            r = found({ 2, 2 }, nil, { method = "trf", maxiter = 2 })
            check.equal({ r.success, r.status, r.nit, r.active_mask:totable() }, { false, 0, 2, { 0, 0 } })
            local function line(x) return x:sum() - 3 end
            r = np.optimize.least_squares(line, np.ones { 2 }, { bounds = { 0, 5 } })
            check.ok(math.abs(r.x:sum():item() - 3) < 1e-4) -- fewer residuals than numbers
        end,
        ["np.optimize.least_squares: a bound moves the minimum that it holds"] = function()
            local function held(upper)
                local function f(p) return np.stack { 10 * (p.b - p.a ^ 2), 1 - p.a }:reshape(-1) end
                local r = np.optimize.least_squares(f, { a = np.array(-1.2, { dtype = "f64" }), b = 1 }, {
                    bounds = { { a = -50, b = 0 }, { a = upper, b = 100 } }, xtol = 1e-13, ftol = 1e-15 })
                return np.stack { r.x.a, r.x.b }
            end
            check.ok(distance(np.jacobian(held)(np.array(0.5, { dtype = "f64" })):totable(), { 1, 1 }) < 1e-6)
        end,
    },
})

local TIMES = np.array({ 0, 1, 2, 3, 4, 5 }, { dtype = "f64" })
local function decay(t, a, b) return a * np.exp(t * -0.5) + b end

of("np.optimize.curve_fit", {
    args = { { "y", from = 0.5, to = 2 }, { "sigma", from = 0.5, to = 2 } },
    shapes = { { { 6 }, { 6 } } },
    accepts = "f64 f32",
    options = { {}, { absolute_sigma = true, maxiter = 20 }, { bounds = { { 0, -2 }, { 4, 1.25 } } } },
    unseen = { sigma = "the second argument is given as such" },
    call = function(f, o, y, sigma)
        local dtype = np.is_array(y) and y.dtype or sigma.dtype
        local function curve(t, a, b) return decay(np.astype(t, dtype), a, b) end
        return f(curve, TIMES, y, { 1, 1 }, with(o, { sigma = sigma }))
    end,
    oracle = "decay_fit(o, y, sigma)",
    within = { f64 = "abs 1e-6", f32 = "abs 1e-4" },
    vmapped = "abs 1e-4",
    divided = "abs 1e-4",
    special = false,
    slope = 1e-4,
    first_only = true,
    without = { special = NO_SPECIAL, sizes = "the times of the curve are six" },
    refuses = {
        { "there are 6 residuals for 7 numbers", function()
            np.optimize.curve_fit(function(t) return t end, TIMES, TIMES, np.ones(7))
        end },
        { "f must return an array like y, of shape %(6,%), got shape %(%)", function()
            np.optimize.curve_fit(function(t, a) return t:sum() * a end, TIMES, TIMES, { 1 })
        end },
        { "option 'sigma' must be a number, or have shape %(6,%) or %(6, 6%), got %(2,%)", function()
            np.optimize.curve_fit(decay, TIMES, TIMES, { 1, 1 }, { sigma = { 1, 2 } })
        end },
        { "argument 4 %(p0%) must be an array, got nothing %(nil%): .* it takes any number of arguments, as a jitted "
          .. "function does", function() np.optimize.curve_fit(np.jit(decay), TIMES, TIMES) end },
        { "argument 4 %(p0%) must be an array, got nothing %(nil%): .* it has none behind x", function()
            np.optimize.curve_fit(function(t) return t end, TIMES, TIMES)
        end },
        { "is not finite", function() np.optimize.curve_fit(decay, TIMES, TIMES, { np.nan, 1 }) end },
        { "a number of p0 is out of the bounds", function()
            np.optimize.curve_fit(decay, TIMES, TIMES, { 1, 1 }, { bounds = { 0, { 2, 0.5 } } })
        end },
        { "the search did not converge: the largest number", function()
            local function curve(t, a, b) return np.exp(a * t) + b end
            np.optimize.curve_fit(curve, TIMES, TIMES, { 3, 1 }, { maxiter = 1 })
        end },
    },
    also = {
        ["np.optimize.curve_fit: a covariance of y, and one that is not determined"] = function()
            local y = np.array({ 1.5, 1.25, 0.75, 1, 0.5, 0.625 }, { dtype = "f64" })
            local sigma = np.array({ 1, 2, 1, 0.5, 1, 3 }, { dtype = "f64" })
            local p, cov = np.optimize.curve_fit(decay, TIMES, y, { 1, 1 }, { sigma = sigma })
            local q, same = np.optimize.curve_fit(decay, TIMES, y, { 1, 1 }, { sigma = np.diag(sigma * sigma) })
            check.ok(np.allclose(p, q) and np.allclose(cov, same))
            local _, free = np.optimize.curve_fit(function(t, a, b) return t * (a + b) end, TIMES, y, { 1, 1 })
            check.ok(np.isinf(free):all():item())
        end,
        ["np.optimize.curve_fit: where it begins if nobody says"] = function()
            local y = np.array({ 1.5, 1.25, 0.75, 1, 0.5, 0.625 }, { dtype = "f64" })
            local p, cov = np.optimize.curve_fit(decay, TIMES, y)
            local q, same = np.optimize.curve_fit(decay, TIMES, y, { 1, 1 })
            check.ok(np.array_equal(p, q) and np.array_equal(cov, same))
            local function flat(t, a, b, c, d) return t * ((a + b + c + d) * 0) end -- the search ends where it begins
            local bounds = { { -2, 3, -np.inf, -np.inf }, { 6, np.inf, -5, np.inf } }
            local start = np.optimize.curve_fit(flat, TIMES, y, nil, { bounds = bounds })
            check.equal(start:totable(), { 2, 4, -6, 1 })
        end,
    },
})

-- ---- np.optimize.linear_sum_assignment ------------------------------------------------------------------------------

of("np.optimize.linear_sum_assignment", {
    args = { "cost" },
    shapes = { { { 4, 4 } }, { { 3, 6 } }, { { 5, 2 } }, { { 0, 3 } } },
    accepts = "f64 f32 f16",
    options = { {}, { maximize = true } },
    oracle = "scipy.optimize.linear_sum_assignment(cost, **o)",
    gives = "i32",
    within = "exact",
    special = false,
    waits = function() return true end,
    without = { special = "SciPy refuses NaN and infinities of one sign; so do tests of their own",
                derivatives = "the results are integers", jit = "it waits for values", vmap = "it waits for values",
                programs = "it waits for values" },
    refuses = {
        { "must be a matrix", function() np.optimize.linear_sum_assignment(np.ones(3)) end },
        { "a cost is NaN", function() np.optimize.linear_sum_assignment { { np.nan, 1 } } end },
        { "a cost is minus infinity", function() np.optimize.linear_sum_assignment { { -np.inf, 1 } } end },
        { "each assignment has a cost of infinity", function()
            np.optimize.linear_sum_assignment { { np.inf, 1 }, { np.inf, 2 } }
        end },
        { "tracing", function() np.jit(np.optimize.linear_sum_assignment)(np.ones { 2, 2 }) end },
    },
    also = {
        ["np.optimize.linear_sum_assignment: the least of all assignments, with ties"] = function()
            local function least(costs, row, used)
                if row > #costs then return 0 end
                local best = np.inf
                for column, cost in ipairs(costs[row]) do
                    if not used[column] then
                        used[column] = true
                        best = math.min(best, cost + least(costs, row + 1, used))
                        used[column] = nil
                    end
                end
                return best
            end
            for k = 1, 60 do
                local key, n = np.random.fold_in(np.random.key(9), k), 1 + k % 5
                local costs = np.random.randint(key, { n, n + k % 3 }, -2, 3):astype "f64"
                local rows, columns = np.optimize.linear_sum_assignment(costs)
                check.equal(#np.unique(columns), n)
                check.equal(costs[{ rows, columns }]:sum():item(), least(costs:totable(), 1, {}))
                rows, columns = np.optimize.linear_sum_assignment(costs.T)
                check.equal(costs.T[{ rows, columns }]:sum():item(), least(costs:totable(), 1, {}))
            end
        end,
        ["np.optimize.linear_sum_assignment: forbidden pairs"] = function()
            local costs = { { 1, np.inf, 9 }, { 0, np.inf, np.inf }, { 7, 8, 9 } }
            local rows, columns = np.optimize.linear_sum_assignment(costs)
            check.equal({ rows:totable(), columns:totable() }, { { 0, 1, 2 }, { 2, 0, 1 } })
        end,
    },
})

finish()
