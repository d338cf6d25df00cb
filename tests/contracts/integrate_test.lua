--- integrate_test.lua: contracts of np.integrate (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, same, elsewhere = require "tests.lib.contracts" "integrate"

elsewhere("np.integrate", "tests/contracts/integrate_test.lua", "the table of the functions that this file holds")

-- ---- Samples --------------------------------------------------------------------------------------------------------

--- Rising coordinates along the last axis; of unsigned integers of signed ones.
local function coordinates(random, dims, dtype)
    local list, last, size = {}, -6, 1
    for _, n in ipairs(dims) do size = size * n end
    for k = 1, size do
        last = last + random(3)
        list[k] = last
    end
    dtype = ({ u8 = "i16", u16 = "i32", u32 = "f32", u64 = "f64", c64 = "f32", c128 = "f64" })[dtype] or dtype
    return np.array(list, { dtype = dtype }):reshape(dims)
end

local function call_of_samples(f, o, y, x)
    local given = { dx = o.dx, axis = o.axis, initial = o.initial, nonsense = o.nonsense }
    if o.x then return f(y, x, next(given) and given or nil) end
    return f(y, next(given) and given or nil)
end

local NEAR = { f64 = "mixed 1e-13", f32 = "mixed 2e-5", f16 = "mixed 1e-2", bf16 = "mixed 5e-2",
               c128 = "mixed 1e-13", c64 = "mixed 2e-5" }
local LOUD = "a value that is no number makes the sums with it none"

same("np.integrate.trapezoid", "np.trapezoid")

for name, options in pairs {
    simpson = { { x = 1 }, { dx = 0.3 }, {}, { dx = 2, axis = 0 } },
    cumulative_trapezoid = { { x = 1 }, { dx = 0.3, initial = 0 }, {}, { dx = 2, axis = 0 } },
    cumulative_simpson = { { x = 1 }, { dx = 0.3, initial = 0.5 }, {}, { dx = 2, axis = 0 } },
} do
    if name == "cumulative_trapezoid" then options[3].initial = 0 end
    of("np.integrate." .. name, {
        args = { "y", { "x", make = coordinates } },
        shapes = { { { 5 }, { 5 } }, { { 2, 4 }, { 4 } }, { { 2, 4 }, { 2, 4 } }, { { 2 }, { 2 } }, { { 3 }, { 3 } },
                   { { 6 }, { 6 } } },
        accepts = "floats i32 i64 u8 complex",
        options = options,
        call = call_of_samples,
        oracle = ("sampled(scipy.integrate.%s, y, x, o)"):format(name),
        within = NEAR,
        divided = "scaled 1e-14",
        special = false,
        without = { special = LOUD },
        refuses = {
            { "coordinates of shape", function() np.integrate[name](np.ones(3), np.ones(4)) end },
            { "dx", function() np.integrate[name](np.ones(3), { dx = "wide" }) end },
        },
    })
end

-- ---- Functions ------------------------------------------------------------------------------------------------------

local function wave(x, p) return np.exp(-(p * x)) * np.sin(x * 3) + x end

of("np.integrate.quad", {
    args = { { "a", from = -2, to = 0 }, { "b", from = 0.5, to = 2 }, { "p", from = 0.5, to = 2, number = false } },
    shapes = { { {}, {}, {} }, { {}, {}, { 3 } } },
    accepts = "floats i32 i64",
    options = { { epsrel = 1e-11 }, { epsabs = 1e-12, limit = 20, args = 1 } },
    call = function(f, o, a, b, p)
        local given = { args = { p }, epsabs = o.epsabs, epsrel = o.epsrel, limit = o.limit, nonsense = o.nonsense }
        return (f(wave, a, b, given))
    end,
    oracle = "integrated(lambda x, p: np.exp(-p * x) * np.sin(3 * x) + x, a, b, p)",
    within = { f64 = "mixed 1e-12", f32 = "mixed 2e-5", f16 = "mixed 1e-2", bf16 = "mixed 5e-2" },
    vmapped = "mixed 1e-5",
    special = false,
    without = { special = "the status tells it, which a test below reads" },
    refuses = {
        { "number or a 0%-d array", function() np.integrate.quad(np.cos, np.ones(2), 1) end },
        { "number or a 0%-d array", function() np.integrate.quad(np.cos, 0, 0 / 0) end },
        { "both ends are", function() np.integrate.quad(np.cos, np.inf, np.inf) end },
        { "return an array", function() np.integrate.quad(function() return "one" end, 0, 1) end },
        { "epsrel", function() np.integrate.quad(np.cos, 0, 1, { epsrel = -1 }) end },
        { "limit", function() np.integrate.quad(np.cos, 0, 1, { limit = 0 }) end },
    },
    also = {
        ["np.integrate.quad: infinite ends"] = function()
            local one = np.array(1, { dtype = "f64" })
            local function value(f, a, b)
                local found, wrong, info = np.integrate.quad(f, a, b)
                check.equal(info.status:item(), 0)
                check.ok(wrong:item() <= 3e-8, "the estimate of the error")
                return found:item()
            end
            check.close(value(function(x) return np.exp(-x * x) * one end, -np.inf, np.inf), math.sqrt(math.pi), 1e-12)
            check.close(value(function(x) return np.exp(-x * x) * one end, np.inf, -np.inf), -math.sqrt(math.pi), 1e-12)
            check.close(value(function(x) return np.exp(-x) * one end, one, np.inf), math.exp(-1), 1e-12)
            check.close(value(function(x) return np.exp(x) * one end, -np.inf, one), math.exp(1), 1e-12)
        end,
        ["np.integrate.quad: where the tolerance is not reached"] = function()
            local zero = np.array(0, { dtype = "f64" })
            local function status(f, a, b)
                local _, _, info = np.integrate.quad(f, a, b)
                return info.status:item()
            end
            check.equal(status(np.cos, zero, 1), 0)
            check.equal(status(function(x) return 1 / np.sqrt(x) end, zero, 1), 1)
            check.ok(status(function(x) return 1 / x end, zero, 1) ~= 0)
            check.equal(status(np.log, zero - 1, 1), 3)
        end,
        ["np.integrate.quad: values of any dtype that f has"] = function()
            local w = np.array(3, { dtype = "f64" })
            check.equal(np.integrate.quad(np.cos, 0, 1).dtype, "f32")
            check.equal(np.integrate.quad(function(x) return x * w end, 0, 1):item(), 1.5)
            local z = np.integrate.quad(function(x) return np.exp(1i * w * x) end, 0, 2)
            check.equal(z.dtype, "c128")
            check.close(z.real:item(), math.sin(6) / 3, 1e-13)
            check.close(np.grad(function(v)
                return (np.integrate.quad(function(x) return np.exp(-v * x) end, 0, np.inf))
            end)(w):item(), -1 / 9, 1e-12)
        end,
    },
})

local function surface(y, x, p) return np.exp(-(p * x * y)) * np.cos(x - y) + y end

of("np.integrate.dblquad", {
    args = { { "a", from = -1, to = 0 }, { "b", from = 0.5, to = 1 }, { "p", from = 0.5, to = 2, number = false } },
    shapes = { { {}, {}, {} }, { {}, {}, { 2 } } },
    accepts = "floats i32",
    options = { { epsrel = 1e-11, limit = 3 }, { epsabs = 1e-12, limit = 4, args = 1 } },
    call = function(f, o, a, b, p)
        local given = { args = { p }, epsabs = o.epsabs, epsrel = o.epsrel, limit = o.limit, nonsense = o.nonsense }
        return (f(surface, a, b, -1, function(x) return x * x end, given))
    end,
    oracle = "doubled(a, b, p)",
    within = { f64 = "mixed 1e-12", f32 = "mixed 2e-5", f16 = "mixed 1e-2", bf16 = "mixed 5e-2" },
    vmapped = "mixed 1e-5",
    special = false,
    without = { special = "the status tells it, which a test below reads" },
    refuses = {
        { "argument 2 %(a%) must be a number or a 0%-d array", function() np.integrate.dblquad(np.add) end },
        { "argument 5 %(h%) must be a number or a 0%-d array", function() np.integrate.dblquad(np.add, 0, 1, 0) end },
        { "argument 4 %(g%) must be a number or a 0%-d array, got the number nan", function()
            np.integrate.dblquad(np.add, 0, 1, function() return 0 / 0 end, 1)
        end },
        { "both ends are", function() np.integrate.dblquad(np.add, 0, 1, np.inf, np.inf) end },
        { "return an array", function() np.integrate.dblquad(function() return "one" end, 0, 1, 0, 1) end },
        { "limit", function() np.integrate.dblquad(np.add, 0, 1, 0, 1, { limit = 0 }) end },
    },
    also = {
        ["np.integrate.dblquad: infinite ends, and the status"] = function()
            local one = np.array(1, { dtype = "f64" })
            local function bell(y, x) return np.exp(-(x * x + y * y)) * one end
            local function below() return -np.inf end
            local value, wrong, info = np.integrate.dblquad(bell, -np.inf, np.inf, below, np.inf)
            check.close(value:item(), math.pi, 1e-12)
            check.ok(wrong:item() < 1e-6 and info.status:item() == 0 and info.parts:item() < 20)
            check.equal(info.neval:item(), (2 * info.parts:item() - 1) * 21)
            value, wrong, info = np.integrate.dblquad(function(y) return 1 / np.sqrt(y) * one end, 0, 2, 0, 1)
            check.equal(info.status:item(), 4) -- as 1 / sqrt(y) is reached slowly
            check.ok(wrong:item() > math.abs(value:item() - 4) and wrong:item() < 0.1)
            local _, _, none = np.integrate.dblquad(function(_, x) return np.log(x) end, -1, 1, 0, 1)
            check.equal(none.status:item(), 3)
        end,
        ["np.integrate.dblquad: values of any dtype that f has, and ends in the other order"] = function()
            local w = np.array(3, { dtype = "f64" })
            local z = np.integrate.dblquad(function(y, x) return np.exp(1i * w * y) * x end, 2, 0, 0, 1)
            check.equal(z.dtype, "c128")
            check.close(z.real:item(), -2 * math.sin(3) / 3, 1e-13)
            check.equal(np.integrate.dblquad(np.multiply, 0, 1, 0, 1).dtype, "f32")
            local function twice(y, x) return np.stack { x * y, x + y } end
            check.close(np.integrate.dblquad(twice, w - 3, 2, 0, 1):totable(), { 1, 3 }, 1e-13)
        end,
    },
})

-- ---- Equations ------------------------------------------------------------------------------------------------------

local function logistic(t, y, p) return y * (p - y) + np.sin(3 * t) * 0.5 end
local function turned(y, t, p) return logistic(t, y, p) end
local F64 = { dtype = "f64" }

of("np.integrate.solve_ivp", {
    args = { { "y0", from = 0.2, to = 1 }, { "p", from = 0.5, to = 2, number = false } },
    shapes = { { { 2 }, {} }, { { 1 }, {} } },
    accepts = "floats",
    options = { {}, { method = "RK23" }, { method = "RK45", rtol = 1e-8, atol = 1e-9 }, { max_step = 0.05 },
                { method = "Rodas4", rtol = 1e-8, atol = 1e-8 }, { method = "Radau", rtol = 1e-9, atol = 1e-9 },
                { method = "BDF", rtol = 1e-8, atol = 1e-8 },
                { first_step = 0.01, t_eval = { 1, 1.5, 3 } }, { t_eval = { 2, 1.5, 0.5 }, max_steps = 500 } },
    call = function(f, o, y0, p)
        local t = o.t_eval or { 0, 0.5, 2 }
        local given = { args = { p }, t_eval = t }
        for key, value in pairs(o) do given[key] = value end
        return f(logistic, { t[1], t[#t] }, y0, given).y
    end,
    oracle = "solved(y0, p, o)",
    within = { f64 = "scaled 1e-7", f32 = "scaled 1e-3", f16 = "scaled 3e-3", bf16 = "scaled 2e-2" },
    vmapped = "scaled 1e-5",
    divided = "scaled 1e-12",
    unseen = { dense_output = "a test below has it", events = "a test below has them", args = "every case has it",
               jac = "a test below has it" },
    special = false,
    without = { special = "the status tells it, which a test below reads",
                derivatives = "a loop has forward mode alone, which a test below compares with np.integrate.odeint" },
    refuses = {
        { "both ends are 1", function() np.integrate.solve_ivp(logistic, { 1, 1 }, 1) end },
        { "two finite numbers", function() np.integrate.solve_ivp(logistic, { 0, np.inf }, 1) end },
        { "the two ends", function() np.integrate.solve_ivp(logistic, 1, 1) end },
        { '"BDF" or "Rodas4", got', function()
            np.integrate.solve_ivp(logistic, { 0, 1 }, 1, { method = "LSODA" })
        end },
        { "in order from 0 to 1", function()
            np.integrate.solve_ivp(np.add, { 0, 1 }, 1, { t_eval = { 0, 0.7, 0.5 } })
        end },
        { "in order from 0 to 1", function() np.integrate.solve_ivp(np.add, { 0, 1 }, 1, { t_eval = { 0, 2 } }) end },
        { "derivatives of shape %(1,%)", function()
            np.integrate.solve_ivp(function() return np.ones(1) end, { 0, 1 }, { 1, 2 })
        end },
        { "real states", function() np.integrate.solve_ivp(np.add, { 0, 1 }, np.array { 1i }) end },
        { "cast the state", function()
            np.integrate.solve_ivp(function(_, y) return y * np.ones({}, F64) end, { 0, 1 }, np.ones(1))
        end },
        { "option 'jac' is for the methods", function()
            np.integrate.solve_ivp(logistic, { 0, 1 }, { 1 }, { jac = np.multiply })
        end },
        { "option 'jac' needs a 1%-d y0", function()
            np.integrate.solve_ivp(np.add, { 0, 1 }, 1, { method = "Radau", jac = np.multiply })
        end },
        { "jac must return a real array of shape %(2, 2%), got f32 of shape %(2,%)", function()
            np.integrate.solve_ivp(np.add, { 0, 1 }, { 1, 2 }, { method = "Rodas4", jac = np.multiply })
        end },
        { "does not go with t_eval", function()
            np.integrate.solve_ivp(np.add, { 0, 1 }, 1, { t_eval = { 1 }, dense_output = true })
        end },
        { "got the key 'termnal'", function()
            np.integrate.solve_ivp(np.add, { 0, 1 }, 1, { events = { { np.add, termnal = true } } })
        end },
        { "event must return a real number", function()
            np.integrate.solve_ivp(np.add, { 0, 1 }, { 1, 2 }, { events = np.add })
        end },
        { "reverse%-mode derivative.*np.integrate.odeint in place of np.integrate.solve_ivp", function()
            local o = { t_eval = { 1 } }
            np.grad(function(y) return np.integrate.solve_ivp(np.multiply, { 0, 1 }, y, o).y:sum() end)(np.ones(1))
        end },
        { "t_eval", function()
            np.jit(function(y) return np.integrate.solve_ivp(np.add, { 0, 1 }, y).y end)(np.ones(1))
        end },
    },
    also = {
        ["np.integrate.solve_ivp: all steps, and what lies between"] = function()
            local y0 = np.array({ 2, 0 }, F64)
            local function pendulum(_, y) return { y[1], (1 - y[0] * y[0]) * y[1] - y[0] } end
            local given = { rtol = 1e-8, atol = 1e-10, dense_output = true }
            local r = np.integrate.solve_ivp(pendulum, { 0, 10 }, y0, given)
            check.equal(r.nsteps:item(), 210) -- as SciPy's RK45 makes
            check.equal(r.nfev:item(), 1472)
            check.equal(r.y.shape, { 2, 211 })
            check.ok(r.success:item())
            check.close(r.y[{ 0, -1 }]:item(), -2.00834078, 1e-7)
            local at = r.sol(np.array({ { 1, 5.5 } }, F64))
            check.equal(at.shape, { 2, 1, 2 })
            check.close(at[{ 1, 0, 1 }]:item(), 2.18755898, 1e-7)
            check.close(r.sol(3)[0]:item(), -1.86607391, 1e-7)
            check.close(r.sol(r.t[-1]):totable(), r.y[{ {}, -1 }]:totable(), 1e-13)
        end,
        ["np.integrate.solve_ivp: DOP853 makes the steps that SciPy's makes"] = function()
            local function circle(_, y) return { y[1], -y[0] } end
            local r = np.integrate.solve_ivp(circle, { 0, 20 }, np.array({ 0, 1 }, F64), {
                method = "DOP853", rtol = 1e-10, atol = 1e-12, dense_output = true })
            check.equal(r.t:dim(0), 65)
            check.close(r.y[{ 0, -1 }]:item(), math.sin(20), 1e-9)
            check.close(r.sol(np.array({ 0.2, 7.7, 18 }, F64))[0]:totable(),
                        { math.sin(0.2), math.sin(7.7), math.sin(18) }, 1e-9)
        end,
        ["np.integrate.solve_ivp: a stiff equation"] = function()
            local function stiff(_, y) return { y[1], 1000 * ((1 - y[0] * y[0]) * y[1] - y[0]) } end
            local given = { method = "RK45", rtol = 1e-6, max_steps = 300, t_eval = { 0.01, 2 } }
            local r = np.integrate.solve_ivp(stiff, { 0, 2 }, np.array({ 2, 0 }, F64), given)
            check.equal(r.status:item(), -2)
            check.ok(not r.success:item())
            check.equal(np.isnan(r.y[0]):totable(), { false, true })
            given.method, given.max_steps = "Rodas4", 5000
            r = np.integrate.solve_ivp(stiff, { 0, 2 }, np.array({ 2, 0 }, F64), given)
            check.equal(r.status:item(), 0)
            check.close(r.y[{ 0, 1 }]:item(), 1.763234, 1e-5) -- as Radau of SciPy finds
            check.ok(r.njev:item() < 1000)
        end,
        ["np.integrate.solve_ivp: stiff equations by Radau, with the solutions of SciPy's"] = function()
            local function oscillator(_, y) return { y[1], 1000 * ((1 - y[0] * y[0]) * y[1] - y[0]) } end
            local calls = 0
            local function slopes(_, y)
                calls = calls + 1
                local one = np.ones({}, F64)
                return np.stack { np.stack { 0 * one, one },
                                  np.stack { -2000 * y[0] * y[1] - 1000, 1000 * (1 - y[0] * y[0]) } }
            end
            local given = { method = "Radau", rtol = 1e-6, atol = 1e-6, dense_output = true }
            local r = np.integrate.solve_ivp(oscillator, { 0, 2 }, np.array({ 2, 0 }, F64), given)
            check.close(r.y[{ {}, -1 }]:totable(), { 1.7632345402, -0.8356886 }, 1e-5)
            check.close(r.sol(np.array({ 0.4, 1.3 }, F64))[0]:totable(), { 1.69363013, -1.63736468 }, 1e-5)
            check.ok(r.nsteps:item() < 529 and r.njev:item() >= r.nsteps:item()) -- SciPy's makes 529 steps
            check.ok(r.nfev:item() > 8 * r.njev:item() and r.nfev:item() < 20 * r.njev:item())
            given.jac = slopes
            local s = np.integrate.solve_ivp(oscillator, { 0, 2 }, np.array({ 2, 0 }, F64), given)
            check.close(s.y[{ {}, -1 }]:totable(), r.y[{ {}, -1 }]:totable(), 1e-9)
            check.ok(calls > 0)
            local function robertson(_, y)
                local a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ^ 2
                return { b - a, a - b - c, c }
            end
            r = np.integrate.solve_ivp(robertson, { 0, 1e5 }, np.array({ 1, 0, 0 }, F64), {
                method = "Radau", rtol = 1e-6, atol = 1e-10, t_eval = { 0.4, 40, 4e3, 1e5 } })
            check.close(r.y[0]:totable(), { 0.985172114, 0.715827069, 0.183202258, 0.0178659211 }, 1e-6)
            check.close(r.y[1]:totable(), { 3.38639538e-05, 9.18553476e-06, 8.94237125e-07, 7.27475147e-08 }, 1e-9)
        end,
        ["np.integrate.solve_ivp: Radau back in time, with events, forward mode, and where it ends"] = function()
            local function circle(_, y) return { y[1], -y[0] } end
            local r = np.integrate.solve_ivp(circle, { 10, 0 }, np.array({ 0, 1 }, F64), { method = "Radau",
                events = { function(_, y) return y[0] end, direction = 1 }, rtol = 1e-8, atol = 1e-9 })
            check.close(r.t_events[1]:totable(), { 10 - math.pi, 10 - 3 * math.pi }, 1e-6)
            local function last(p)
                return np.integrate.solve_ivp(logistic, { 0, 2 }, np.array({ 0.3 }, F64), {
                    method = "Radau", t_eval = { 2 }, args = { p }, rtol = 1e-9, atol = 1e-10 }).y:sum()
            end
            local function exact(p)
                return np.integrate.odeint(turned, np.array({ 0.3 }, F64), { 0, 2 }, { args = { p } })[-1]:sum()
            end
            local p = np.array(1.2, F64)
            check.close(np.jacfwd(last)(p):item(), np.grad(exact)(p):item(), 1e-5)
            r = np.integrate.solve_ivp(function(_, y) return y * y end, { 0, 2 }, np.ones({ 1 }, F64),
                                       { method = "Radau" })
            check.equal(r.status:item(), -1)
            check.close(r.t[-1]:item(), 1, 1e-2)
        end,
        ["np.integrate.solve_ivp: BDF makes the steps that SciPy's makes, with its calls"] = function()
            local function oscillator(_, y) return { y[1], 1000 * ((1 - y[0] * y[0]) * y[1] - y[0]) } end
            local function robertson(_, y)
                local a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ^ 2
                return { b - a, a - b - c, c }
            end
            local function circle(_, y) return { y[1], -y[0] } end
            for _, case in ipairs {
                { oscillator, { 2, 0 }, 2, 1e-6, 1e-6, { 756, 2212, 35 }, { 1.763220561641, -0.835701578152 },
                  { 1.85849197855, 1.271412432697, -1.227542689817 } },
                { robertson, { 1, 0, 0 }, 1e5, 1e-6, 1e-10, { 327, 895, 9 },
                  { 1.786603170010e-02, 7.274797294782e-08, 9.821338955519e-01 },
                  { 0.107300951096, 0.041510561809, 0.021744857405 } },
                { circle, { 0, 1 }, 10, 1e-6, 1e-8, { 123, 266, 1 }, { -0.544016602293, -0.839056487486 },
                  { 0.841472342249, -0.529835890095, 0.989346161633 } },
            } do
                local f, y0, stop, rtol, atol, counts, last, within = unpack(case)
                local r = np.integrate.solve_ivp(f, { 0, stop }, np.array(y0, F64), {
                    method = "BDF", rtol = rtol, atol = atol, dense_output = true })
                check.equal({ r.nsteps:item(), r.nfev:item(), r.njev:item(), r.status:item() },
                            { counts[1], counts[2], counts[3], 0 })
                check.close(r.y[{ {}, -1 }]:totable(), last, 1e-9)
                check.close(r.sol(stop * np.array({ 0.1, 0.37, 0.8 }, F64))[0]:totable(), within, 1e-4)
                check.close(r.sol(r.t):totable(), r.y:totable(), 1e-12)
            end
        end,
        ["np.integrate.solve_ivp: BDF back in time, with events, jac, forward mode, and where it ends"] = function()
            local function circle(_, y) return { y[1], -y[0] } end
            local calls = 0
            local r = np.integrate.solve_ivp(circle, { 10, 0 }, np.array({ 0, 1 }, F64), {
                method = "BDF", rtol = 1e-8, atol = 1e-9, max_step = 0.1,
                events = { function(_, y) return y[0] end, direction = 1 }, jac = function()
                    calls = calls + 1
                    return np.array({ { 0, 1 }, { -1, 0 } }, F64)
                end })
            check.close(r.t_events[1]:totable(), { 10 - math.pi, 10 - 3 * math.pi }, 1e-5)
            check.ok(calls > 0 and np.max(np.abs(np.diff(r.t))):item() < 0.1 + 1e-12)
            local function last(p)
                return np.integrate.solve_ivp(logistic, { 0, 2 }, np.array({ 0.3 }, F64), {
                    method = "BDF", t_eval = { 2 }, args = { p }, rtol = 1e-9, atol = 1e-10 }).y:sum()
            end
            local function exact(p, o)
                o.args = { p }
                return np.integrate.odeint(turned, np.array({ 0.3 }, F64), { 0, 2 }, o)[-1]:sum()
            end
            local p = np.array(1.2, F64)
            local slope = np.grad(function(q) return exact(q, {}) end)(p):item()
            check.close(np.jacfwd(last)(p):item(), slope, 1e-5)
            local function ending(t)
                return np.integrate.solve_ivp(logistic, { 0, t }, np.array({ 0.3 }, F64), {
                    method = "BDF", t_eval = t:reshape(1), args = { p }, rtol = 1e-9, atol = 1e-10 }).y[{ 0, 0 }]
            end
            local t = np.array(2, F64)
            check.close(np.jacfwd(ending)(t):item(), logistic(t, ending(t), p):item(), 1e-6)
            check.close(np.grad(function(q) return exact(q, { method = "BDF" }) end)(p):item(), slope, 1e-5)
            r = np.integrate.solve_ivp(function(_, y) return y * y end, { 0, 2 }, np.ones({ 1 }, F64),
                                       { method = "BDF" })
            check.equal(r.status:item(), -1)
            check.close(r.t[-1]:item(), 1, 2e-2)
            r = np.integrate.solve_ivp(circle, { 0, 10 }, np.ones({ 2 }, F64), { method = "BDF", max_steps = 20 })
            check.equal(r.status:item(), -2)
            r = np.integrate.solve_ivp(function(_, y) return y * np.nan end, { 0, 1 }, np.ones(1), { method = "BDF" })
            check.equal(r.status:item(), -1)
        end,
        ["np.integrate.solve_ivp: poles and NaN end with a status"] = function()
            local r = np.integrate.solve_ivp(function(_, y) return y * y end, { 0, 2 }, np.ones({ 1 }, F64))
            check.equal(r.status:item(), -1)
            check.close(r.t[-1]:item(), 1, 1e-2)
            local function none(_, y) return y * np.nan end
            r = np.integrate.solve_ivp(none, { 0, 2 }, np.ones(1), { t_eval = { 0, 1 } })
            check.equal(r.status:item(), -1)
            check.ok(np.isnan(r.y[{ 0, 1 }]):item())
        end,
        ["np.integrate.solve_ivp: events, as SciPy finds them"] = function()
            local function flight(_, y) return { y[1], y[0] * 0 - 0.5 } end
            local function height(_, y) return y[0] end
            local function speed(_, y) return y[1] end
            local r = np.integrate.solve_ivp(flight, { 0, 100 }, np.array({ 0, 10 }, F64), {
                events = { { height, terminal = true, direction = -1 }, speed }, dense_output = true })
            check.equal(r.status:item(), 1)
            check.ok(r.success:item())
            check.equal(r.t:dim(0), 8)
            check.equal(r.nsteps:item(), 7)
            check.close(r.t[-1]:item(), 40, 1e-12)
            check.close(r.t_events[1]:totable(), { 40 }, 1e-12)
            check.close(r.t_events[2]:totable(), { 20 }, 1e-12)
            check.close(r.y_events[2]:totable(), { { 100, 0 } }, 1e-12)
            check.close(r.sol(20)[0]:item(), 100, 1e-12)
            local function circle(_, y) return { y[1], -y[0] } end
            r = np.integrate.solve_ivp(circle, { 0, 10 }, np.array({ 0, 1 }, F64), { events = height, rtol = 1e-8 })
            check.close(r.t_events[1]:totable(), { 0, 3.141592, 6.28318446, 9.4247767 }, 1e-8)
            r = np.integrate.solve_ivp(circle, { 10, 0 }, np.array({ 0, 1 }, F64), {
                events = { height, direction = 1 }, rtol = 1e-8 })
            check.close(r.t_events[1]:totable(), { 6.858408, 0.5752233 }, 1e-7)
            r = np.integrate.solve_ivp(circle, { 0, 1 }, np.array({ 1, 1 }, F64), { events = height })
            check.equal(r.t_events[1].shape, { 0 })
            check.equal(r.y_events[1].shape, { 0, 2 })
        end,
        ["np.integrate.solve_ivp: no step"] = function()
            local r = np.integrate.solve_ivp(np.multiply, { 0, 1 }, np.array { np.nan }, { events = np.multiply,
                                                                                           dense_output = true })
            check.equal(r.status:item(), -1)
            check.equal(r.t:totable(), { 0 })
            check.equal(r.sol, nil)
            r = np.integrate.solve_ivp(np.multiply, { np.array(np.nan), 1 }, np.ones(1))
            check.equal(r.status:item(), -1)
        end,
        ["np.integrate.solve_ivp: forward mode"] = function()
            local y0, p = np.array({ 0.3, 0.8 }, F64), np.array(1.2, F64)
            local function last(a, b)
                return np.integrate.solve_ivp(logistic, { 0, 2 }, a, { args = { b }, t_eval = { 2 }, rtol = 1e-10,
                                                                       atol = 1e-10 }).y:sum()
            end
            local function rows(a, b)
                return np.integrate.odeint(turned, a, { 0, 2 }, { args = { b }, rtol = 1e-10, atol = 1e-10 })[-1]:sum()
            end
            local _, slope = np.jvp(last, { y0, p }, { np.ones_like(y0), np.ones_like(p) })
            local by_y0, by_p = np.grad(rows, { argnums = { 1, 2 } })(y0, p)
            check.close(slope:item(), by_y0:sum():item() + by_p:item(), 1e-7)
        end,
    },
})

of("np.integrate.odeint", {
    args = { { "y0", from = 0.2, to = 1 }, { "t", make = function(_, dims, dtype)
        return np.array({ 0, 0.25, 1, 1.75 }, { dtype = dtype })[{ { 0, dims[1] } }]
    end }, { "p", from = 0.5, to = 2, number = false } },
    shapes = { { { 3 }, { 3 }, {} }, { { 1 }, { 4 }, {} } },
    accepts = "f64 f32 f16",
    options = { { rtol = 1e-9, atol = 1e-9 },
                { method = "Rodas4", rtol = 1e-8, atol = 1e-8, mxstep = 3000, hmax = 0.5 } },
    call = function(f, o, y0, t, p)
        local given = {}
        for key, value in pairs(o) do given[key] = value end
        local function rows(a, b, c)
            given.args = { c }
            return f(turned, a, b, given)
        end
        local function loss(a, b, c)
            local y = rows(a, b, c)
            return (y * y * np.astype(1 + np.arange(y:dim(0)), y.dtype):reshape(-1, 1)):sum()
        end
        return rows(y0, t, p), np.grad(loss, { argnums = { 1, 2, 3 } })(y0, t, p)
    end,
    oracle = "adjoint(y0, t, p)",
    within = { f64 = "scaled 1e-6", f32 = "scaled 1e-4", f16 = "scaled 2e-2", bf16 = "scaled 1e-1" },
    vmapped = "scaled 1e-5",
    divided = "scaled 1e-12",
    unseen = { args = "every case has it" },
    special = false,
    without = { special = "rows that are not reached are NaN, which a test below reads", sizes = "times are given",
                derivatives = "it has reverse mode alone, as in JAX, whose gradients are among the golden values",
                numbers = "a gradient is taken by arrays" },
    refuses = {
        { "in order from 0 to 1", function() np.integrate.odeint(turned, 1, { 0, 2, 1 }) end },
        { "in order from 0 to 1", function() np.integrate.odeint(turned, 1, { 0, np.nan, 1 }) end },
        { "argument 3 %(t%) must be the times", function() np.integrate.odeint(turned, 1) end },
        { "1%-d and not empty", function() np.integrate.odeint(turned, 1, np.ones { 2, 2 }) end },
        { "table of arguments", function() np.integrate.odeint(turned, 1, { 0, 1 }, { args = 1 }) end },
        { "has no forward derivative; in place of np.integrate.odeint use np.integrate.solve_ivp", function()
            np.jvp(function(y) return np.integrate.odeint(np.multiply, y, { 0, 1 }) end, { np.ones(1) }, { np.ones(1) })
        end },
    },
    also = {
        ["np.integrate.odeint: trees, and second derivatives"] = function()
            local function spring(s) return { x = s.v, v = -s.x } end
            local start = { x = np.array(1, F64), v = np.zeros({}, F64) }
            local s = np.integrate.odeint(spring, start, { 0, math.pi, 1 + math.pi })
            check.equal(s.x.shape, { 3 })
            check.close(s.x[1]:item(), -1, 1e-6)
            check.close(s.v[2]:item(), math.sin(1), 1e-6)
            local function last(r)
                local function decay(y, _, k) return -y * k end
                return np.integrate.odeint(decay, np.array(1, F64), { 0, 1 }, { args = { r } })[-1]
            end
            check.close(np.jacfwd(np.grad(last))(np.array(0.5, F64)):item(), math.exp(-0.5), 1e-6)
        end,
        ["np.integrate.odeint: what is not reached is NaN"] = function()
            local function grow(y) return y * y end
            local y = np.integrate.odeint(grow, np.array(1, F64), { 0, 0.5, 2 }, { mxstep = 2000 })
            check.close(y[1]:item(), 2, 1e-6)
            check.ok(np.isnan(y[2]):item())
            local mixed = np.jit(function(t) return np.integrate.odeint(grow, np.array(1, F64), t) end)
            check.equal(np.isnan(mixed(np.array({ 0, 0.5, 0.25, 0.75 }, F64))):totable(), { false, false, true, false })
        end,
    },
})

-- ---- Equations with noise -------------------------------------------------------------------------------------------

local function noise(y, t, p) return y * p * 0.3 + np.cos(t) * 0.1 end
local function noises(y, _, p)
    return y:reshape(-1, 1) * (p * 0.3) * np.cos(np.arange(y:dim(0)):astype(y.dtype))
end

--- Paths of dy = a y dt + b y dW at time 1 with all increments of rows of dw: what a method finds in `steps` steps,
-- less the exact path.
local function errors_of(method, dw, steps, a, b)
    local paths, fine = dw:dim(0), dw:dim(1)
    local parts = dw:reshape(paths, steps, fine / steps):sum { axis = 2 }
    local function path(increments)
        return np.integrate.sdeint(function(y) return y * a end, function(y) return y * b end, np.ones({}, F64),
                                   { 0, 1 }, nil, { method = method, steps = steps, increments = increments })[-1]
    end
    local drift = method == "heun" and a or a - b * b / 2 -- of the logarithm
    return np.vmap(path)(parts) - np.exp(drift + b * parts:sum { axis = 1 })
end

of("np.integrate.sdeint", {
    args = { { "y0", from = 0.2, to = 1 }, { "dw", from = -0.5, to = 0.5 },
             { "p", from = 0.5, to = 2, number = false } },
    shapes = { { { 2 }, { 4, 2 }, {} }, { { 1 }, { 4, 1 }, {} } },
    accepts = "floats",
    options = { {}, { method = "milstein" }, { method = "heun" }, { noise = "general" }, { steps = 4 },
                { method = "heun", noise = "general", steps = 1 } },
    call = function(f, o, y0, dw, p)
        local steps = o.steps or 2
        steps = tonumber(steps) or steps:item()
        local times = ({ { 0, 0.25, 0.5, 0.75, 1 }, { 0, 0.5, 1 }, nil, { 0, 1 } })[steps]
        local given = { args = { p }, increments = dw, steps = o.steps or 2, method = o.method, noise = o.noise }
        given.nonsense = o.nonsense
        return f(turned, o.noise and noises or noise, y0, times, nil, given)
    end,
    oracle = "path_with_noise(y0, dw, p, o)",
    within = { f64 = "scaled 1e-14", f32 = "scaled 1e-6", f16 = "scaled 2e-3", bf16 = "scaled 2e-2" },
    vmapped = "scaled 1e-6",
    divided = "scaled 1e-12",
    unseen = { args = "every case has it", increments = "every case has it" },
    special = false,
    without = { special = "what is no number makes the states behind it none" },
    refuses = {
        { "must be a key", function() np.integrate.sdeint(turned, noise, 1, { 0, 1 }) end },
        { "times must rise", function() np.integrate.sdeint(turned, noise, 1, { 1, 0 }, np.random.key(0)) end },
        { "must be times", function() np.integrate.sdeint(turned, noise, 1, { { 0, 1 } }, np.random.key(0)) end },
        { "option 'method' must be", function()
            np.integrate.sdeint(turned, noise, 1, { 0, 1 }, np.random.key(0), { method = "RK45" })
        end },
        { "option 'noise' must be", function()
            np.integrate.sdeint(turned, noise, 1, { 0, 1 }, np.random.key(0), { noise = "white" })
        end },
        { "is for diagonal noise", function()
            np.integrate.sdeint(turned, noise, 1, { 0, 1 }, np.random.key(0),
                                { noise = "general", method = "milstein" })
        end },
        { "takes the place of the key", function()
            np.integrate.sdeint(turned, noise, 1, { 0, 1 }, np.random.key(0), { increments = np.ones(1) })
        end },
        { "must have 1 parts along a first axis", function()
            np.integrate.sdeint(np.add, np.add, 1, { 0, 1 }, nil, { increments = np.ones(2) })
        end },
        { "a row for each of 2 numbers of y0; got shape", function()
            np.integrate.sdeint(np.add, np.add, { 1, 2 }, { 0, 1 }, np.random.key(0), { noise = "general" })
        end },
        { "y0 that is a 1%-d array", function()
            np.integrate.sdeint(np.add, np.add, 1, { 0, 1 }, np.random.key(0), { noise = "general" })
        end },
        { "g returns factors of the noise of shape %(3,%)", function()
            np.integrate.sdeint(np.add, function() return np.ones(3) end, { 1, 2 }, { 0, 1 }, np.random.key(0))
        end },
    },
    also = {
        ["np.integrate.sdeint: errors fall with steps as the methods' orders say"] = function()
            local dw = np.random.normal(np.random.key(1), { 2000, 64 }, F64) / 8
            for method, order in pairs { euler = 0.5, milstein = 1, heun = 1 } do
                local function strong(steps) return np.abs(errors_of(method, dw, steps, 1.5, 1)):mean():item() end
                local rate = math.log(strong(8) / strong(64)) / math.log(8)
                check.ok(math.abs(rate - order) < 0.12, ("%s: %.3f"):format(method, rate))
            end
            for _, method in ipairs { "euler", "milstein" } do -- with the same noise on both sides
                local function weak(steps) return math.abs(errors_of(method, dw, steps, 1.5, 0.5):mean():item()) end
                local rate = math.log(weak(8) / weak(64)) / math.log(8)
                check.ok(math.abs(rate - 1) < 0.2, ("%s: %.3f"):format(method, rate))
            end
        end,
        ["np.integrate.sdeint: a key has a path, and the noise is a Wiener process"] = function()
            local function path(key, given)
                return np.integrate.sdeint(function(y) return y * 0 end, function(y) return np.ones_like(y) end,
                                           np.zeros({ 2 }, F64), { 0, 0.5, 2 }, key, given)
            end
            local key = np.random.key(3)
            check.equal(path(key, { steps = 3 }):totable(), path(key, { steps = 3 }):totable())
            local keys = np.random.split(key, 4000)
            local all = np.vmap(function(own) return path(own, { steps = 3 }) end)(keys)
            check.equal(all.shape, { 4000, 3, 2 })
            check.equal(all[7]:totable(), path(keys[7], { steps = 3 }):totable())
            check.close(all:mean { axis = 0 }:totable(), np.zeros { 3, 2 }:totable(), 0.1)
            check.close(np.var(all, { axis = 0 }):totable(), { { 0, 0 }, { 0.5, 0.5 }, { 2, 2 } }, 0.2)
            local both = all[{ {}, 2, 0 }] * all[{ {}, 2, 1 }]
            check.ok(math.abs(both:mean():item()) < 0.15)
            local parts = all[{ {}, 1, 0 }] * (all[{ {}, 2, 0 }] - all[{ {}, 1, 0 }])
            check.ok(math.abs(parts:mean():item()) < 0.1)
            local one = np.jit(path)(key)
            check.close(one:totable(), path(key):totable(), 1e-15)
        end,
        ["np.integrate.sdeint: gradients are those of the steps"] = function()
            local key, n = np.random.key(5), 23
            local dw = np.random.normal(key, { n }, F64) * 0.2
            local function by_steps(p)
                local y, h = np.array(0.5, F64), 1 / n
                for k = 0, n - 1 do y = y + turned(y, k * h, p) * h + noise(y, np.array(k * h, F64), p) * dw[k] end
                return y
            end
            local function last(p)
                return np.integrate.sdeint(turned, noise, np.array(0.5, F64), { 0, 1 }, nil,
                                           { steps = n, increments = dw, args = { p } })[-1]
            end
            local p = np.array(1.2, F64)
            check.close(last(p):item(), by_steps(p):item(), 1e-13)
            check.close(np.grad(last)(p):item(), np.grad(by_steps)(p):item(), 1e-12)
            check.close(np.jacfwd(last)(p):item(), np.grad(by_steps)(p):item(), 1e-12)
            check.close(np.grad(np.grad(last))(p):item(), np.grad(np.grad(by_steps))(p):item(), 1e-10)
        end,
        ["np.integrate.sdeint: trees, rows, constants, one time"] = function()
            local key = np.random.key(0)
            local y = np.integrate.sdeint(function(y) return y end, function(y) return y end,
                                          { a = np.ones({ 2, 2 }, F64), b = 1 }, { 0, 1 }, key, { steps = 5 })
            check.equal({ y.a.shape, y.b.shape }, { { 2, 2, 2 }, { 2 } })
            local function matrix() return { { 0, 0.5 }, { 1, 0 } } end
            local flat = np.integrate.sdeint(function() return { 1, 2 } end, matrix, { 0, 0 }, { 0, 1 }, nil,
                                             { noise = "general", steps = 2, increments = { { 1, 0 }, { 2, -1 } } })
            check.equal(flat:totable(), { { 0, 0 }, { 0.5, 5 } })
            check.equal(np.integrate.sdeint(np.add, np.add, { 1, 2 }, { 3 }, key):totable(), { { 1, 2 } })
        end,
    },
})

finish()
