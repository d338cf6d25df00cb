--- solvers_random_test.lua: calls of solvers, drawn at random, that find programs again or not (tracing/solvers.lua): a
-- call gives the bits and the error of the same call where nothing is kept.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local np = require "neap"

local SECONDS, CALLS, TURNS = 5, 3, 12

local function drawn(list, draw) return list[draw(#list)] end

-- Each makes a function of an array from what a call draws: s, a number; c, w: arrays of two numbers; key: of random
-- numbers.
local shared = { power = 2, inner = { f = np.sin } }
local square = np.custom_vjp(function(x) return x * x end)
square:defvjp(function(x) return x * x, { x } end, function(left, ct) return 2 * left[1] * ct * shared.power end)

local FUNCTIONS = {
    function(s, c) return function(x) return x * s + c[0] end end,
    function(s, c) return function(x) return x * c[0] + s end end,
    function(_, c, w) return function(x) return x * c[0] - w[1] end end,
    function(_, c, w) return function(x) return x * w[0] - c[1] end end,
    function(s, c) return function(x) return s > 1 and x * x + c[0] or np.exp(-x * x) * c[1] end end,
    function() return function(x) return shared.inner.f(x) * shared.power end end,
    function(s, c) return function(x) return np.where(x:gt(c[0]), x * s, x * c[1]) end end,
    function(s, c)
        return function(x)
            return np.cond(c[0]:gt(1), function(v) return v * s end, function(v) return v + c[1] end, x)
        end
    end,
    function(s, c)
        return function(x)
            return (np.scan(function(sum, v) return sum * v + s, sum end, x, c))
        end
    end,
    function(_, c, _, key) return function(x) return x * np.random.uniform(key) + c[0] end end,
    function(s) return function(x) return square(x) * s end end,
    function(s, c)
        return function(x)
            return x + np.optimize.root_scalar(function(y) return y * y - c[0] - s end, { bracket = { 0, 9 } }).root
        end
    end,
    function(s, c) return function(x) return x * (np.integrate.quad(function(y) return y * c[0] end, 0, s)) end end,
    function(s, c) return function(x) return np.log(c[0] - 2) * s + x end end,
    function(s) return function(x) return s > 1 and error "as drawn" or x * 1.5 end end,
    function(s, c) return np.jit(function(x) return x * s + c[0] end) end,
    function() return np.tanh end,
}

--- All that a value has, as text.
local function text_of(value)
    if not np.is_array(value) then return tostring(value) end
    local list = {}
    for k, x in ipairs(np.astype(value, "f64"):reshape(-1):totable()) do list[k] = ("%.17g"):format(x) end
    return ("%s %s"):format(value.dtype, table.concat(list, " "))
end

local function leaves(...)
    local list = {}
    for k, value in ipairs(np.tree.leaves { ... }) do list[k] = text_of(value) end
    return table.concat(list, "; ")
end

-- Each calls a solver with a function of the list; o: what else a call draws.
local SOLVERS = {
    function(f, o) return np.integrate.quad(f, o.c[0] * 0, o.infinite and np.inf or 1, { epsabs = o.tolerance }) end,
    function(f, o) return np.integrate.dblquad(function(y, x) return f(x) * y end, 0, 1, 0, o.c[1]) end,
    function(f, o)
        local r = np.integrate.solve_ivp(function(_, y) return f(y) end, { 0, 1 }, o.c,
                                         { t_eval = { 0, 0.5, 1 }, rtol = 1e-3 + o.tolerance, method = o.method })
        return r.y, r.nsteps, r.status
    end,
    function(f, o)
        local r = np.optimize.root(function(x) return f(x) * 1 - 0.5 end, o.c, { maxiter = o.most })
        return r.x, r.status, r.message
    end,
    function(f, o)
        local r = np.optimize.root_scalar(f, { bracket = { -3, 3 }, maxiter = o.most + 50, xtol = o.tolerance })
        return r.root, r.iterations, r.status
    end,
    function(f, o)
        local bounds = o.bounded and { np.zeros_like(o.c), np.full_like(o.c, 3) } or nil
        local r = np.optimize.minimize(function(x) return ((f(x) - 1) ^ 2):sum() end, o.c,
                                       { maxiter = o.most, bounds = bounds })
        return r.x, r.fun, r.jac, r.nit, r.status
    end,
    function(f, o)
        local r = np.optimize.least_squares(function(x) return f(x) - o.w end, o.c, { loss = o.loss, maxiter = o.most })
        return r.x, r.cost, r.status, r.nit
    end,
    function(f, o)
        return np.optimize.curve_fit(function(x, a, b) return f(x) * a + b end, np.arange(4):astype(o.dtype),
                                     np.array { 1, 2, 4, 5 + o.s }, o.guessed and { 1, 1 } or nil)
    end,
}

-- What may be around a call.
local AROUND = {
    function(run) return run() end,
    function(run) return run() end,
    function(run) return coroutine.wrap(run)() end,
    function(run) return np.disable_jit(run)() end,
    function(run) return np.default_device(np.devices()[1], run) end,
    function(run) return np.transfer_guard("allow", run) end,
    function(run) return np.named_scope("drawn", run)() end,
    function(run, o) return np.grad(function() return (np.tree.leaves { run() })[1]:sum() end)(o.w) end,
    function(run) return np.jit(function() return (run()) end)() end,
}

local function outcome(call)
    local ok, found = pcall(call)
    return ok and found or "error: " .. tostring(found)
end

--- What one call draws.
local function drawn_call(draw)
    local dtype = drawn({ "f32", "f64" }, draw)
    local function pair() return np.array({ draw(4) / 2, draw(4) / 2 }, { dtype = dtype }) end
    local o = { s = draw(3) / 2, c = pair(), w = pair(), dtype = dtype, key = np.random.key(draw(3)),
                tolerance = drawn({ 1e-3, 1e-8 }, draw), most = drawn({ 3, 100 }, draw), infinite = draw(4) == 1,
                bounded = draw(2) == 1, guessed = draw(2) == 1, method = drawn({ "RK45", "RK23", "Radau" }, draw),
                loss = drawn({ "linear", "huber" }, draw) }
    o.power, o.f = draw(2), drawn({ np.sin, np.cos }, draw)
    return o
end

--- Changes some of what the call draws, and keeps the rest.
local function changed(o, draw)
    local copy, other = {}, drawn_call(draw)
    for key, value in pairs(o) do copy[key] = value end
    copy.c, copy.w = np.astype(other.c, o.dtype), np.astype(other.w, o.dtype)
    if draw(2) == 1 then copy.s, copy.key = other.s, other.key end
    if draw(2) == 1 then copy.power, copy.f = other.power, other.f end
    if draw(4) == 1 then copy.most, copy.tolerance = other.most, other.tolerance end
    if draw(8) == 1 then copy.c, copy.w, copy.dtype = other.c, other.w, other.dtype end
    return copy
end

--- A call as a function that gives its outcome as a text, with the lines of errors.
local function call_of(make, solver, around, o)
    return function()
        shared.power, shared.inner.f = o.power, o.f
        return around(function() return leaves(solver(make(o.s, o.c, o.w, o.key), o)) end, o)
    end
end

--- The same for what goes around as arrays.
local function staged(make, solver, around, o)
    return function()
        shared.power, shared.inner.f = o.power, o.f
        return leaves(around(function() return (solver(make(o.s, o.c, o.w, o.key), o)) end, o))
    end
end

--- Calls of one solver with one of the functions, on what is drawn, and on that with changes.
local function drawn_calls(draw)
    local make, solver, first, calls = drawn(FUNCTIONS, draw), drawn(SOLVERS, draw), drawn_call(draw), {}
    for k = 1, CALLS do
        local o = k > 1 and changed(first, draw) or first
        local at = k == CALLS and draw(#AROUND) or 1
        calls[k] = (at > #AROUND - 2 and staged or call_of)(make, solver, AROUND[at], o)
    end
    return calls
end

local function check_seed(seed)
    local draw, fresh = seeds.generator(seed), {}
    local calls = drawn_calls(draw)
    for k, call in ipairs(calls) do
        np.clear_caches()
        fresh[k] = outcome(call)
    end
    np.clear_caches()
    for turn = 1, TURNS do
        local k = turn <= 4 and 1 or draw(#calls)
        check.equal(outcome(calls[k]), fresh[k], ("seed %d, turn %d, call %d"):format(seed, turn, k))
    end
end

check.test("calls drawn at random", function()
    local last = os.time() + seeds.seconds(SECONDS)
    local seed = seeds.first - 1
    repeat
        seed = seed + 1
        check_seed(seed)
    until os.time() >= last
end)

check.done()
