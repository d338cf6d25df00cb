--- equations.lua: np.integrate.solve_ivp: a method (steps.lua) steps a flat array (states.lua) in a loop (march.lua).
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local solvers = require "neap.tracing.solvers"
local staging = require "neap.tracing.staging"
local march = require "neap.integrate.march"
local states = require "neap.integrate.states"
local settings = require "neap.integrate.settings"
local events = require "neap.integrate.events"

local np = core.np
local cut, reshape = shape.cut, shape.reshape
local raise, bad_argument, shape_of, type = core.raise, core.bad_argument, core.shape_of, type
local check_function = staging.check_function

-- ---- np.integrate.solve_ivp -----------------------------------------------------------------------------------------

local Solution = {}
Solution.__index = Solution
Solution.__tostring = function(self) return ("a solution of %d steps: sol(t)"):format(self.count) end

--- The solution at times t, from the polynomials of the steps; beyond the ends those of the first and the last go on.
function Solution:__call(t)
    t = operands.beside("integrate.solve_ivp", 1, t, core.dtypes[core.dtype_codes[self.dtype]])
    local dims, rows = shape_of(t), self.rows
    t = shape.reshape(np.astype(t, self.dtype), { core.size_of(t) })
    local place = np.clip(np.searchsorted(rows.t * self.forward, t * self.forward), 0, self.count - 1)
    local front = np.tree.map(function(x) return np.take(x, place, { axis = 0 }) end, rows)
    local values = np.vmap(march.between)(front, t)
    return self.finish(shape.reshape(values, { core.size_of(t), shape_of(values)[2] }), dims)
end

--- What a solver returns, but for t and y.
local function result_of(how, front, status)
    local evaluations = front.calls + (how.first_step and 1 or 2)
    local jacobians = front.memory and front.memory.jacobians or front.attempts
    return { status = status, success = np.greater_equal(status, 0), nfev = evaluations,
             njev = how.method.implicit and jacobians or np.zeros_like(front.attempts), nsteps = front.steps }
end

--- The solver (solvers.lua) for the states at given times. arrays: t0, t1, the state at t0, the times; s:
-- settings.checked; jacobian: the user's own, if there is one. Returns rows of states, and what a result has besides.
local function sampled(field, arrays, s, jacobian)
    local t0, t1 = arrays[1], arrays[2]
    local how = settings.how(s, jacobian)
    local rows, front = march.through(how, field, t0, arrays[3], arrays[4], t1)
    front = march.to(how, field, front, t1, t1, march.direction(t0, t1))
    return rows, result_of(how, front, front.status)
end
jit.off(sampled)

local sample = solvers.new(sampled)

--- The rows of trees in a list, which may be long, one behind the other.
local function joined(parts)
    local columns = {}
    for k, part in ipairs(parts) do
        for n, leaf in ipairs(np.tree.leaves(part)) do
            columns[n] = columns[n] or {}
            columns[n][k] = leaf
        end
    end
    for n, list in ipairs(columns) do columns[n] = shape.join(list, 0) end
    return np.tree.unflatten(parts[1], columns)
end

--- Solves from t to the end, some steps at a time, and keeps all of them. watch: { list of events, function of an event
-- that gives one of t and a flat state }. Returns the last front, the rows of steps, what was found of each event, and
-- the terminal event at which the rows end, if there is one.
local function all_steps(how, problem, field, t, finish, watch)
    local front, parts = march.start(how, field, t, problem.y, finish), {}
    local last, first, found = finish:item(), t:item(), {}
    local ending
    for n = 1, #watch.list do found[n] = {} end
    repeat
        local rows
        front, rows = march.some(how, field, front, finish)
        ending = events.look(watch.list, watch.of, rows, last < first and -1 or 1, found)
        if ending then
            local steps = ending.steps
            rows = np.tree.map(function(x) return shape.cut(x, 0, 0, steps) end, rows)
        end
        parts[#parts + 1] = rows
    until ending or front.status:item() ~= 0 or front.t:item() == last
    return front, joined(parts), found, ending
end

--- The end of each step, of which the last one may be a terminal event: times and flat states.
local function ends_of_steps(t, y, rows, ending)
    local n = shape_of(rows.t)[1] - (ending and 1 or 0)
    local times, list = { reshape(t, { 1 }), cut(rows.t, 0, 0, n) }, { reshape(y, { 1, y.size }), cut(rows.y, 0, 0, n) }
    if ending then
        times[3], list[3] = reshape(ending.time, { 1 }), reshape(ending.state, { 1, y.size })
    end
    return shape.join(times, 0), shape.join(list, 0)
end

--- The function of (field, t, y) that option 'jac' stands for; nil without.
local function jacobian_of(name, o, problem, arguments)
    if o.jac == nil then return nil end
    local jac, n = check_function(name, o.jac, nil, "jac"), core.size_of(problem.y)
    if problem.is_tree or #problem.dims[1] ~= 1 then raise(name, "option 'jac' needs a 1-d y0") end
    local function jacobian(_, t, y)
        local found = jac(t, problem.tree(y), unpack(arguments))
        local real = core.is_array(found) and core.dtype_of(found).kind ~= "c"
        if not real or not shape.same(shape_of(found), { n, n }) then
            local got = core.is_array(found) and ("%s of shape %s"):format(found.dtype, core.shape_text(found))
            raise(name, "jac must return a real array of shape (%s, %s), got %s", tostring(n), tostring(n),
                  got or core.describe(found))
        end
        return np.astype(found, problem.dtype)
    end
    jit.off(jacobian)
    return jacobian
end

--- The two ends of the span.
local function ends_of(name, span)
    if core.is_array(span) and core.ndim(span) == 1 and shape_of(span)[1] == 2 then return span[0], span[1] end
    if type(span) ~= "table" or #span ~= 2 then
        bad_argument(name, 2, "span", "the two ends {t0, t1}", span)
    end
    core.list(name, "the span", span)
    for k = 1, 2 do
        local known = core.is_array(span[k]) and core.ndim(span[k]) == 0
        if not known and not core.is_number(span[k]) then
            bad_argument(name, 2, "span", "the two ends {t0, t1}, numbers or 0-d arrays", span[k])
        end
        if type(span[k]) == "number" and (span[k] ~= span[k] or math.abs(span[k]) == math.huge) then
            bad_argument(name, 2, "span", "two finite numbers", span[k])
        end
    end
    if type(span[1]) == "number" and type(span[2]) == "number" and span[1] == span[2] then
        raise(name, "argument 2 (span): both ends are %.14g", span[1])
    end
    return span[1], span[2]
end

return function(integrate)
    local known = { method = true, jac = true, t_eval = true, rtol = true, atol = true, max_step = true,
                    first_step = true, max_steps = true, dense_output = true, args = true, events = true }

    --- np.integrate.solve_ivp(f, span, y0, {method="RK45", jac=…, t_eval=…, rtol=1e-3, atol=1e-6, max_step=…,
    -- first_step=…, max_steps=100000, dense_output=false, events=…, args={}}) -> table: solves dy/dt = f(t, y, args…)
    -- from y = y0 at t0 to t1, for span = {t0, t1}. y0 is an array, a number or a tree of arrays; f returns the
    -- derivatives, of the same form; for a 1-d y0 a table of its elements will do. The result is a table:
    --
    --     t        the times: t_eval, or t0 and the end of each step
    --     y        the states there, with the times along a last axis
    --     sol      with dense_output: a function of t, the solution at all times; nil if there was no step
    --     t_events, y_events  with events: for each the times of its zeros, and the states, along a first axis
    --     status   0: the end was reached; 1: a terminal event came before, where t and y end;
    --              -1: steps became too small, as at a pole, or f gave NaN; -2: max_steps
    --     success  whether status is 0 or 1
    --     nfev, njev, nsteps  how often f was evaluated, how often its Jacobian, and the number of steps
    --
    -- States at times of t_eval that were not reached are NaN. Without t_eval the function waits for each 128 steps;
    -- with t_eval it runs inside of np.jit and np.vmap, and has forward mode (np.jvp, np.jacfwd) by y0, the ends and
    -- arguments. For reverse mode there is np.integrate.odeint. Lengths of steps are chosen as SciPy's, but for "Radau"
    -- and "Rodas4".
    --- method: "RK45" of order 5, "RK23" of 3, "DOP853" of 8; for stiff equations "Radau" of 5, "Rodas4" of
    -- 4, "BDF" of 1 to 5
    --- jac: for "Radau", "BDF" and "Rodas4": a function of (t, y, args…), the derivatives of f by y, for a 1-d y0 of n
    -- elements an array of (n, n); np.jacfwd of f without it
    --- t_eval: the times at which the solution is wanted, a 1-d array or a table, in order
    --- rtol: the estimated error of a step may be rtol |y| + atol; from 100 times the rounding of the dtype up
    --- atol: as rtol says
    --- max_step: the longest step
    --- first_step: the length of the first step; chosen without it
    --- max_steps: the most attempts at steps, after which status is -2
    --- dense_output: true: the result has `sol`; not with t_eval
    --- events: a function of (t, y, args…) whose zeros are wanted, {f, terminal=true, direction=1}, or a list of such
    --- args: a table of further arguments of f, trees of arrays
    --- > r = np.integrate.solve_ivp(function(t, y) return -y end, {0, 1}, np.ones(1), {t_eval={0, 1}, rtol=1e-5})
    --- > r.y, r.nsteps, r.success
    -- [[1.         0.36788037]]
    -- 4
    -- True
    function integrate.solve_ivp(f, span, y0, given)
        local name = "integrate.solve_ivp"
        local o = core.options(name, given, known)
        f = check_function(name, f)
        local t0, t1 = ends_of(name, span)
        local values, with = states.arguments(name, o.args)
        local problem = states.problem(name, y0, { t0, t1, o.t_eval }, values, function(t, y, list)
            return f(t, y, unpack(with(list)))
        end)
        local jacobian = jacobian_of(name, o, problem, with(values))
        local checked = settings.checked(name, o, problem.dtype, 1e-3, 1e-6, jacobian)
        local function field(t, y) return problem.field(t, y, values) end
        jit.off(field)
        t0, t1 = problem.times[1], problem.times[2]
        local function narrowed(tree)
            return np.tree.map(function(x) return operands.narrow(x, problem.half) end, tree)
        end
        local function finished(rows, dims) -- of flat states: trees with the times behind
            return np.tree.map(function(x)
                x = operands.narrow(np.moveaxis(x, 0, -1), problem.half)
                if not dims then return x end
                local whole = { unpack(shape_of(x), 1, core.ndim(x) - 1) }
                for _, n in ipairs(dims) do whole[#whole + 1] = n end
                return shape.reshape(x, whole)
            end, problem.tree(rows))
        end
        if o.t_eval ~= nil then
            local times = problem.times[3]
            if o.dense_output or o.events ~= nil then
                raise(name, "option '%s' does not go with t_eval", o.events ~= nil and "events" or "dense_output")
            end
            if core.ndim(times) ~= 1 then bad_argument(name, nil, "t_eval", "1-d", times) end
            if not core.recording() then settings.check_times(name, "t_eval", times, t0:item(), t1:item()) end
            local arrays, rows, result = { t0, t1, problem.y, times }
            if jacobian then
                rows, result = sampled(field, arrays, checked, jacobian)
            else
                rows, result = sample(name, field, { n = 2, t0, problem.y }, arrays, checked, f)
            end
            result.t, result.y = operands.narrow(times, problem.half), finished(rows)
            return result
        end
        if core.recording() then
            raise(name, "needs option 't_eval' while tracing: how many steps there will be is not known")
        end
        local watch = { list = events.list(name, o.events), of = function(event)
            return function(t, y) return events.value(name, event.f(t, problem.tree(y), unpack(with(values)))) end
        end }
        local how = settings.how(checked, jacobian)
        local front, rows, found, ending = all_steps(how, problem, field, t0, t1, watch)
        local result = result_of(how, front, ending and march.EVENT + front.status * 0 or front.status)
        if ending then result.nsteps = np.full({}, shape_of(rows.t)[1], { dtype = "i32" }) end
        local times, flat = ends_of_steps(t0, problem.y, rows, ending)
        result.t, result.y = operands.narrow(times, problem.half), finished(flat)
        for n, list in ipairs(found) do
            result.t_events, result.y_events = result.t_events or {}, result.y_events or {}
            times, flat = events.arrays(list, problem.y)
            result.t_events[n], result.y_events[n] = operands.narrow(times, problem.half), narrowed(problem.tree(flat))
        end
        if o.dense_output and shape_of(rows.t)[1] > 0 then
            result.sol = setmetatable({ rows = rows, count = shape_of(rows.t)[1], dtype = problem.dtype,
                                        forward = march.direction(t0, t1), finish = finished }, Solution)
        end
        return result
    end
    jit.off(integrate.solve_ivp)
end
