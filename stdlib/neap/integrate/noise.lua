--- noise.lua: np.integrate.sdeint: stochastic differential equations by steps of a given length.
--
-- A step of length h draws dW, normal with the variance h, with the key of its own number, and so keeps no increment. A
-- loop of counted turns has reverse mode, which reads what each turn has computed. So turns come in groups: the group
-- is computed again when it is differentiated, and of n steps about 2 sqrt(n) states are kept.
--
-- Source: Kloeden and Platen, "Numerical solution of stochastic differential equations" (1992), sections 10.2 and 10.3;
-- for Heun's steps Rümelin, "Numerical treatment of stochastic differential equations" (1982).
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"
local states = require "neap.integrate.states"
local settings = require "neap.integrate.settings"

local np = core.np
local raise, bad_argument, shape_of = core.raise, core.bad_argument, core.shape_of

-- ---- Steps ----------------------------------------------------------------------------------------------------------

-- Each is step(e, t, y, h, dw) -> the next y, where e.drift(t, y) and e.diffusion(t, y) are the functions of the
-- equation, and e.spread(slope, dw) is their product.
local STEPS = {}

function STEPS.euler(e, t, y, h, dw)
    return y + e.drift(t, y) * h + e.spread(e.diffusion(t, y), dw)
end

--- Of diagonal noise: the derivative of the diffusion along itself is g g'.
function STEPS.milstein(e, t, y, h, dw)
    local g = e.diffusion(t, y)
    local _, bend = np.jvp(function(state) return e.diffusion(t, state) end, { y }, { g })
    return y + e.drift(t, y) * h + g * dw + bend * (np.square(dw) - h) * 0.5
end

--- A step of Euler's predicts y; drift and diffusion are means of those at both ends.
function STEPS.heun(e, t, y, h, dw)
    local f, g = e.drift(t, y), e.diffusion(t, y)
    local ahead = y + f * h + e.spread(g, dw)
    local f_ahead, g_ahead = e.drift(t + h, ahead), e.diffusion(t + h, ahead)
    return y + (f + f_ahead) * (h * 0.5) + (e.spread(g, dw) + e.spread(g_ahead, dw)) * 0.5
end

-- ---- Loops ----------------------------------------------------------------------------------------------------------

--- y after n turns of step(y, number, span), whose numbers begin at span.first: by groups of about sqrt(n).
local function in_groups(step, y, span, n)
    local function turns(count)
        return np.checkpoint(function(state, from, own)
            return (np.scan(function(carry, k) return step(carry, from + k, own) end, state,
                            np.arange(count):astype "i32"))
        end)
    end
    local size = math.max(1, math.floor(math.sqrt(n)))
    local groups = math.floor(n / size)
    local group, rest = turns(size), n - groups * size
    local first = span.first
    y = np.scan(function(carry, at) return group(carry, at.from, at.span) end, y,
                { from = first + np.arange(groups):astype "i32" * size, span = np.tree.map(function(x)
        return np.broadcast_to(x, { groups })
    end, span) })
    if rest > 0 then y = turns(rest)(y, first + groups * size, span) end
    return y
end

--- The states at all times, as rows. increment(number, h): dW of a step.
local function through(e, step, y, times, steps, increment)
    local count, n = shape_of(times)[1], shape_of(y)[1]
    if count == 1 then return shape.reshape(y, { 1, n }) end
    local begin = shape.cut(times, 0, 0, count - 1)
    local spans = { t = begin, h = (shape.cut(times, 0, 1, count) - begin) / steps,
                    first = np.arange(count - 1):astype "i32" * steps }
    local function turn(state, number, span)
        local t = span.t + np.astype(number - span.first, span.h.dtype) * span.h
        return step(e, t, state, span.h, increment(number, span.h))
    end
    jit.off(turn)
    local _, rows = np.scan(function(state, span)
        local last = in_groups(turn, state, span, steps)
        return last, last
    end, y, spans)
    return shape.join({ shape.reshape(y, { 1, n }), rows }, 0)
end

-- ---- Noise ----------------------------------------------------------------------------------------------------------

--- A row of a matrix of arrays and numbers as an array.
local function row_of(problem, row)
    local elements = {}
    for k, x in ipairs(row) do
        elements[k] = core.is_array(x) and x or np.array(x, { dtype = problem.dtype })
    end
    return np.stack(elements)
end

--- The diffusion of an equation of general noise, a matrix (n, m), and m.
local function general(name, problem, values, call)
    if problem.is_tree or #problem.dims[1] ~= 1 then
        raise(name, 'noise="general" is for a y0 that is a 1-d array')
    end
    local n = problem.dims[1][1]
    local function diffusion(t, y, list)
        local matrix = call(t, problem.tree(y), list)
        if trees.is_node(matrix) then
            local rows = {}
            for k, row in ipairs(matrix) do rows[k] = trees.is_node(row) and row_of(problem, row) or row end
            matrix = np.stack(rows)
        end
        if not core.is_array(matrix) or core.ndim(matrix) ~= 2 or shape_of(matrix)[1] ~= n then
            raise(name, 'with noise="general" g must return a matrix, a row for each of %d numbers of y0; got %s', n,
                  core.is_array(matrix) and "shape " .. core.shape_text(matrix) or core.describe(matrix))
        end
        return np.astype(matrix, problem.dtype)
    end
    local m = staging.described(name, function(t, y, ...) return diffusion(t, y, { ... }) end,
                                staging.pack(problem.times[1][0], problem.y, unpack(values)), function(matrix)
        return shape_of(matrix)[2]
    end)
    return diffusion, m
end

--- The increments of a call: increment(number, h), for sources of m numbers: the user's, in `count` rows, or drawn.
local function increments_of(name, problem, key, given, count, m, is_general)
    if given == nil then
        if not core.is_array(key) or core.dtype_of(key).name ~= "u32" or not shape.same(shape_of(key), { 2 }) then
            bad_argument(name, 5, "key", "a key of np.random.key, or nil and the option 'increments'", key)
        end
        return function(number, h)
            return np.random.normal(np.random.fold_in(key, number), { m }, { dtype = problem.dtype }) * np.sqrt(h)
        end
    end
    if key ~= nil then raise(name, "option 'increments' takes the place of the key, which must be nil then") end
    local parts, used = {}, 0
    if trees.is_node(given) and not problem.is_tree then given = np.array(given, { dtype = problem.dtype }) end
    trees.walk(name, given, function(leaf)
        used = used + 1
        local dims = is_general and { m } or problem.dims[used]
        local whole = { count, unpack(dims or {}) }
        if not dims or not core.is_array(leaf) or not shape.same(shape_of(leaf), whole) then
            raise(name, "option 'increments' must have %d parts along a first axis, one a step, each like %s; got %s",
                  count, is_general and ("%d sources of noise"):format(m) or "y0",
                  core.is_array(leaf) and "shape " .. core.shape_text(leaf) or core.describe(leaf))
        end
        parts[used] = shape.reshape(np.astype(leaf, problem.dtype), { count, shape.product(dims) })
    end)
    if not is_general and used ~= #problem.dims then
        raise(name, "option 'increments' has %d arrays for a state of %d", used, #problem.dims)
    end
    local rows = #parts == 1 and parts[1] or shape.join(parts, 1)
    return function(number) return np.take(rows, number, { axis = 0 }) end
end

-- ---- np.integrate.sdeint --------------------------------------------------------------------------------------------

local KNOWN = { method = true, steps = true, noise = true, args = true, increments = true }

--- The checked method and noise.
local function kinds(name, o)
    local method = o.method == nil and "euler" or o.method
    if not STEPS[method] then bad_argument(name, nil, "method", '"euler", "milstein" or "heun"', method) end
    local noise = o.noise == nil and "diagonal" or o.noise
    if noise ~= "diagonal" and noise ~= "general" then
        bad_argument(name, nil, "noise", '"diagonal" or "general"', noise)
    end
    if method == "milstein" and noise == "general" then
        raise(name, 'method "milstein" is for diagonal noise; "euler" and "heun" take noise="general"')
    end
    return method, noise == "general"
end

--- Refuses times that are none, and times that fall, where their values can be read.
local function check_times(name, times)
    if core.ndim(times) ~= 1 or shape_of(times)[1] == 0 then
        raise(name, "argument 4 (t) must be times, 1-d and not empty, got shape %s", core.shape_text(times))
    end
    if core.recording() then return end
    settings.check_times(name, "times", times)
    local list = times:totable()
    if list[#list] < list[1] then raise(name, "times must rise, got %.14g behind %.14g", list[#list], list[1]) end
end

return function(integrate)
    --- np.integrate.sdeint(f, g, y0, t, key, {method="euler", steps=1, noise="diagonal", args={}, increments=…}) ->
    -- array: a path of dy = f(y, t, args…) dt + g(y, t, args…) dW from y = y0 at the first of the times t, 1-d and
    -- rising, at all of them, along a first axis. y0 is an array, a number or a tree of arrays; f and g return the same
    -- form; for a 1-d y0 a table of its elements will do. Each number of y has a Wiener process W of its own, drawn
    -- with the key of np.random: the same key, times and steps give the same path. Between two times there are `steps`
    -- steps of one length h. Errors of paths fall as sqrt(h) with "euler" and as h with "milstein", errors of means as
    -- h. "euler" (Euler and Maruyama) and "milstein" solve the equation as Itô's, "heun" as Stratonovich's, with
    -- errors of paths that fall as h for diagonal noise. Runs inside of np.jit; np.vmap over keys gives many paths.
    -- Has all derivatives, by y0, t and all that f and g read, along the path; reverse mode keeps about 2 sqrt(steps)
    -- states between two times, and computes the others again. While tracing, times that fall give NaN.
    --- method: "euler", "milstein" (for diagonal noise, where each element of g reads the same element of y alone) or
    -- "heun"
    --- steps: how many steps lie between two times
    --- noise: "general": y0 is a 1-d array of n numbers, g returns a matrix (n, m), or rows of one, and there are m
    -- Wiener processes
    --- args: a table of further arguments of f and g, trees of arrays
    --- increments: of the Wiener processes, in the place of the key, which is nil then: an array like y0, or m numbers,
    -- with one part for each step along a first axis
    --- > f, g = function(y, t) return -y end, function(y, t) return 0.1 * y end
    --- > np.integrate.sdeint(f, g, np.array{1, 1}, {0, 1}, nil, {increments={{0.5, -0.5}}, steps=1})
    -- [[ 1.    1.  ]
    --  [ 0.05 -0.05]]
    function integrate.sdeint(f, g, y0, t, key, given)
        local name = "integrate.sdeint"
        local o = core.options(name, given, KNOWN)
        f, g = staging.check_function(name, f), staging.check_function(name, g, 2, "g")
        if not core.is_array(t) and type(t) ~= "table" then
            bad_argument(name, 4, "t", "the times, a 1-d array or a table", t)
        end
        local method, is_general = kinds(name, o)
        local steps = core.integer(name, nil, "steps", o.steps == nil and 1 or o.steps, 1, 2 ^ 30)
        local values, with = states.arguments(name, o.args)
        local function called(h)
            local function call(time, y, list) return h(y, time, unpack(with(list))) end
            jit.off(call)
            return call
        end
        local problem = states.problem(name, y0, { t }, values, called(f))
        local times = problem.times[1]
        check_times(name, times)
        local diffusion, m
        if is_general then
            diffusion, m = general(name, problem, values, called(g))
        else
            local noise = states.problem(name, y0, { t }, values, called(g), "g", "factors of the noise")
            diffusion, m = noise.field, shape_of(problem.y)[1]
        end
        local e = { drift = function(time, y) return problem.field(time, y, values) end,
                    diffusion = function(time, y) return diffusion(time, y, values) end,
                    spread = is_general and np.matmul or np.multiply }
        local count = (shape_of(times)[1] - 1) * steps
        local increment = increments_of(name, problem, key, o.increments, count, m, is_general)
        local rows = through(e, STEPS[method], problem.y, times, steps, increment)
        return np.tree.map(function(x) return operands.narrow(x, problem.half) end, problem.tree(rows))
    end
    for _, h in ipairs { row_of, in_groups, through, general, increments_of, integrate.sdeint } do jit.off(h) end
    for _, step in pairs(STEPS) do jit.off(step) end
end
