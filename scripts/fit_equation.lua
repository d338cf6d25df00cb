--- fit_equation.lua: fits the parameters of a differential equation to noisy data, with their standard errors.
--
--     neap scripts/fit_equation.lua [options]                                       --help lists the options
--
-- Two populations, of prey and of those who eat it, follow the equation of Lotka and Volterra. They were counted from
-- time to time, with errors. np.integrate.solve_ivp follows them with given parameters, its derivatives in forward mode
-- tell np.optimize.curve_fit what each parameter does, and the covariance tells how well the counts determine each.
-- docs/integrate.md fits the same equation by np.grad through np.integrate.odeint.
local np = require "neap"

local options = np.argparse(arg, {
    "Fits the equation of Lotka and Volterra to noisy counts; the counts are made up.",
    { "times", 40, "how often both populations were counted", min = 4 },
    { "noise", 0.1, "standard deviation of the errors of counts", type = "number", min = 0 },
    { "seed", 0, "of the errors", min = 0 },
    { "plot", nil, "file of a picture (.svg, .png) of counts and curves" },
})

local function change(_, y, a, b, c, d) return { a * y[0] - b * y[0] * y[1], c * y[0] * y[1] - d * y[1] } end
local function populations(times, ...)
    local o = { t_eval = times, rtol = 1e-6, args = { ... } }
    return np.integrate.solve_ivp(change, { 0, 20 }, np.array({ 2, 1 }, { dtype = "f64" }), o).y
end

local truth = { 1.1, 0.4, 0.1, 0.4 }
local times = np.linspace(0, 20, options.times, { dtype = "f64" })
local errors = np.random.normal(np.random.key(options.seed), { 2, options.times }, { dtype = "f64" })
local seen = populations(times, unpack(truth)) + options.noise * errors

local found, covariance = np.optimize.curve_fit(populations, times, seen, { 1, 0.5, 0.15, 0.5 })
print(np.table({ { "parameter", { "a", "b", "c", "d" } }, { "true", np.array(truth, { dtype = "f64" }) },
                 { "found", np.round(found, 4) }, { "error", np.round(np.sqrt(np.diagonal(covariance)), 4) } }))

if options.plot then
    local fine = np.linspace(0, 20, 400, { dtype = "f64" })
    local curves = populations(fine, found[0], found[1], found[2], found[3])
    np.plot.scatter(times, seen[0], { label = "prey" }):scatter(times, seen[1], { label = "predators" })
    np.plot.line(fine, curves[0], { color = "C0" }):line(fine, curves[1], { color = "C1" }):xlabel("time"):legend()
    np.plot.save(options.plot)
end
