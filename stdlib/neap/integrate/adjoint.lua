--- adjoint.lua: np.integrate.odeint.
--
-- A loop whose number of turns nobody knows has no reverse mode, so odeint has a rule, as jax.experimental.ode has it:
-- the adjoint equation is solved backward from each time to the one before, together with the equation itself, from
-- the states that are known; see Chen and others, "Neural ordinary differential equations" (2018), appendix C.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local staging = require "neap.tracing.staging"
local march = require "neap.integrate.march"
local states = require "neap.integrate.states"
local settings = require "neap.integrate.settings"

local np = core.np
local cut, reshape, join, shape_of = shape.cut, shape.reshape, shape.join, core.shape_of

--- The field of state, adjoint, and the derivatives by the time of the beginning and by the values, as one flat array:
-- y' = f, a' = -a df/dy, -a df/dt, -a df/dvalues.
local function augmented(problem, n, values)
    local function field(t, z)
        local a = cut(z, 0, n, 2 * n)
        local slopes, pull = np.vjp(function(state, time, list) return problem.field(time, state, list) end,
                                    cut(z, 0, 0, n), t, values)
        local by_y, by_t, by_values = pull(a)
        local parts = { slopes, -by_y, reshape(-by_t, { 1 }) }
        for _, x in ipairs(by_values) do
            parts[#parts + 1] = reshape(np.astype(-x, problem.dtype), { core.size_of(x) })
        end
        return join(parts, 0)
    end
    jit.off(field)
    return field
end

--- The cotangents of the first state, the times and the values, of those of the rows.
local function backward(how, problem, rows, times, values, given)
    local n, count, dtype = shape_of(rows)[2], shape_of(times)[1], problem.dtype
    local field, whole = augmented(problem, n, values), n + 1
    for _, x in ipairs(values) do whole = whole + core.size_of(x) end
    local last_given = reshape(cut(given, 0, count - 1, count), { n })
    local first = join({ last_given, np.zeros({ whole - n }, { dtype = dtype }) }, 0)
    local function back(x) return np.flip(x, { axis = 0 }) end
    local turns = { y = back(cut(rows, 0, 1, count)), t = back(cut(times, 0, 1, count)),
                    before = back(cut(times, 0, 0, count - 1)), given = back(cut(given, 0, 1, count)),
                    added = back(cut(given, 0, 0, count - 1)) }
    local last, by_times = np.scan(function(carry, turn)
        local by_t = np.sum(problem.field(turn.t, turn.y, values) * turn.given)
        local a, rest = cut(carry, 0, 0, n), cut(carry, 0, n, whole)
        local less = reshape(np.astype(np.equal(np.arange(whole - n), 0), dtype) * by_t, { whole - n })
        local z = join({ turn.y, a, rest - less }, 0)
        local front = march.start(how, field, turn.t, z, turn.before)
        front = march.to(how, field, front, turn.before, turn.before, march.direction(turn.t, turn.before))
        z = np.where(np.equal(front.status, 0), front.y, core.NAN)
        return join({ cut(z, 0, n, 2 * n) + turn.added, cut(z, 0, 2 * n, n + whole) }, 0), by_t
    end, first, turns)
    local by_values, at = {}, n + 1
    for k, x in ipairs(values) do
        local size = core.size_of(x)
        by_values[k] = np.astype(reshape(cut(last, 0, at, at + size), shape_of(x)), x.dtype)
        at = at + size
    end
    return cut(last, 0, 0, n), join({ cut(last, 0, n, n + 1), back(by_times) }, 0), by_values
end

local KNOWN = { method = true, rtol = true, atol = true, hmax = true, mxstep = true, args = true }

return function(integrate)
    --- np.integrate.odeint(f, y0, t, {args={}, method="RK45", rtol=1.4e-8, atol=1.4e-8, hmax=…, mxstep=100000}) ->
    -- array: the solution of dy/dt = f(y, t, args…) from y = y0 at the first of the times t, 1-d and in order, at all
    -- of them: along a first axis, as jax.experimental.ode.odeint has it. y0 is an array, a number or a tree of arrays;
    -- f returns the derivatives, of the same form; for a 1-d y0 a table of its elements will do. States that were not
    -- reached, since steps became too small or too many, are NaN. Has reverse mode by y0, t and the arrays of floats in
    -- args, by the adjoint equation; what f reads from around it is constant. Forward mode: np.integrate.solve_ivp.
    -- Runs inside of np.jit and np.vmap.
    --- args: a table of further arguments of f, trees of arrays
    --- method: "RK45", "RK23", "DOP853", "Radau", "BDF" or "Rodas4", as np.integrate.solve_ivp has them
    --- rtol: the estimated error of a step may be rtol |y| + atol; from 100 times the rounding of the dtype up
    --- atol: as rtol says
    --- hmax: the longest step
    --- mxstep: the most attempts at steps, in all
    --- > f = function(y, t, rate) return -y * rate end
    --- > np.integrate.odeint(f, np.array(1), {0, 1, 2}, {args={np.array(0.5)}})
    -- [1.         0.606529   0.36788034]
    --- > np.grad(function(r) return np.integrate.odeint(f, np.array(1), {0, 2}, {args={r}})[-1] end)(np.array(0.5))
    -- -0.73576194
    function integrate.odeint(f, y0, t, given)
        local name = "integrate.odeint"
        local o = core.options(name, given, KNOWN)
        f = staging.check_function(name, f)
        if not core.is_array(t) and type(t) ~= "table" then
            core.bad_argument(name, 3, "t", "the times, a 1-d array or a table", t)
        end
        local values, with = states.arguments(name, o.args)
        local problem = states.problem(name, y0, { t }, values, function(time, y, list)
            return f(y, time, unpack(with(list)))
        end)
        local times = problem.times[1]
        if core.ndim(times) ~= 1 or shape_of(times)[1] == 0 then
            core.raise(name, "argument 3 (t) must be times, 1-d and not empty, got shape %s", core.shape_text(times))
        end
        settings.check_times(name, "times", times)
        local asked = { method = o.method, rtol = o.rtol, atol = o.atol, max_step = o.hmax, max_steps = o.mxstep }
        local how = settings.how(settings.checked(name, asked, problem.dtype, 1.4e-8, 1.4e-8))
        local function solve(y, all, list)
            local function field(time, state) return problem.field(time, state, list) end
            jit.off(field)
            return (march.through(how, field, all[0], y, all, all[-1]))
        end
        local rule = np.custom_vjp(solve):defvjp(function(y, all, list)
            local rows = solve(y, all, list)
            return rows, { rows, all, list }
        end, function(saved, cotangent)
            return backward(how, problem, saved[1], saved[2], saved[3], cotangent)
        end)
        return np.tree.map(function(x) return operands.narrow(x, problem.half) end,
                           problem.tree(rule(problem.y, times, values)))
    end
    for _, g in ipairs { augmented, backward, integrate.odeint } do jit.off(g) end
end
