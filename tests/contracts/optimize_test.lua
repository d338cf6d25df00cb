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

-- The minima that SciPy's minimize(method="BFGS", options={"gtol": 1e-9}) finds from STARTS.
local MINIMA = {
    rosenbrock = { 1, 1, 1, 1, 1 },
    himmelblau = { 3, 2 },
    beale = { 3, 0.5 },
    steep = { 0.5, 0.5 * 10 ^ (-4 / 3), 0.5 * 10 ^ (-8 / 3), 0.5e-4 },
}

local function quartic(x, c) return ((x - c) ^ 2):sum() + (x[0] * x[1]) ^ 2 end

of("np.optimize.minimize", {
    args = { { "c", from = 0.5, to = 2 } },
    shapes = { { { 2 } } },
    accepts = "f64 f32",
    options = { { method = "bfgs", tol = 1e-9 }, { method = "l-bfgs", tol = 1e-14 },
                { method = "newton-cg", tol = 1e-9 }, { method = "nelder-mead", tol = 1e-9, maxiter = 500 },
                { bounds = { 0.25, 0.75 }, tol = 1e-14 } },
    unseen = { args = "each call gives them", callback = "a function; a test of its own calls it" },
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
    },
    also = {
        ["np.optimize.minimize: well-known functions"] = function()
            for name, start in pairs(STARTS) do
                local golden = MINIMA[name]
                for _, method in ipairs(GRADIENT_METHODS) do
                    local r = np.optimize.minimize(functions[name], np.array(start, { dtype = "f64" }),
                                                   { method = method, tol = method == "l-bfgs" and 1e-13 or 1e-8 })
                    check.ok(r.success, name .. " by " .. method .. ": " .. tostring(r.message))
                    golden = golden or r.x:totable()
                    check.ok(distance(r.x:totable(), golden) < 2e-6, name .. " by " .. method .. ": " .. tostring(r.x))
                end
            end
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

finish()
