--- quad.lua: np.integrate.quad; and what dblquad.lua takes of it: local quad = require "neap.integrate.quad".
--
-- The interval is the image of 0 < u < 1 under a map of each kind of ends. The part of u with the largest error is
-- halved until the errors together are small enough (QUADPACK's QAG: Piessens and others, "QUADPACK", 1983), in a
-- np.while_loop, whose outcome, the list of parts, counts as a constant in derivatives. The value is then the sum of
-- the rule over all parts, which is differentiable by ends and arguments, in every mode.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local pure = require "neap.tracing.pure"
local solvers = require "neap.tracing.solvers"
local staging = require "neap.tracing.staging"
local states = require "neap.integrate.states"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local shape_of, is_array = core.shape_of, core.is_array
local pack = staging.pack

local quad = {}

-- ---- The rule -------------------------------------------------------------------------------------------------------

-- The Gauss-Kronrod rule of 21 nodes, of which every second one is a node of Gauss's rule of 10: nodes above 0, from
-- the outermost on, and 0, with their weights (QUADPACK's QK21).
local NODES = {
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720, 0,
}
local WEIGHTS = {
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068, 0.149445554002916905664936468389821,
}
local GAUSS = {
    0.066671344308688137593568809893332, 0.149451349150580593145863396957673, 0.219086362515982043995534934228163,
    0.269266719309996355091226921569469, 0.295524224714752870173815619188769,
}
local COUNT = 21

--- The nodes in 0 to 1, and the weights of both rules, as a list of arrays of a dtype.
local function make_rule(dtype)
    local nodes, weights, gauss = {}, {}, {}
    for k = 1, COUNT do
        local at = k <= 11 and k or COUNT + 1 - k
        nodes[k] = 0.5 + (k <= 11 and -0.5 or 0.5) * NODES[at]
        weights[k], gauss[k] = WEIGHTS[at] / 2, at % 2 == 0 and GAUSS[at / 2] / 2 or 0
    end
    local function row(list, dims) return shape.reshape(np.array(list, { dtype = dtype }), dims) end
    return { row(nodes, { 1, COUNT }), row(weights, { 1, COUNT, 1 }), row(gauss, { 1, COUNT, 1 }) }
end

local rules = {} -- by dtype

--- The same, made once where nothing is recorded.
local function rule_of(dtype)
    if not solvers.is_plain() then return make_rule(dtype) end
    rules[dtype] = rules[dtype] or make_rule(dtype)
    return core.copy_list(rules[dtype])
end

--- Values of g at the nodes of m parts from `lo` to `hi`: an array of (m, 21, elements of a value).
local function values_at(rule, g, lo, hi)
    local m = shape_of(lo)[1]
    local u = shape.reshape(lo, { m, 1 }) + shape.reshape(hi - lo, { m, 1 }) * rule.nodes
    local values = np.vmap(g)(shape.reshape(u, { m * COUNT }))
    return shape.reshape(values, { m, COUNT, core.size_of(values) / (m * COUNT) })
end

local function weighted(values, weights, width)
    return np.sum(values * weights, { axis = 1 }) * shape.reshape(width, { shape_of(width)[1], 1 })
end

--- The 2-norm over the last axis.
local function norm(x) return np.sqrt(np.sum(operands.squares(x), { axis = -1 })) end

--- The integrals over m parts, and estimates of their errors, as QUADPACK makes them.
local function estimate(rule, g, lo, hi)
    local values, width = values_at(rule, g, lo, hi), hi - lo
    local whole = weighted(values, rule.weights, width)
    local mean = np.sum(values * rule.weights, { axis = 1, keepdims = true })
    local spread = norm(weighted(np.abs(values - mean), rule.weights, width))
    local wrong = norm(whole - weighted(values, rule.gauss, width))
    local ratio = wrong * 200 / np.where(np.equal(spread, 0), 1, spread)
    wrong = np.where(np.equal(spread, 0), wrong, spread * np.minimum(ratio * np.sqrt(ratio), 1))
    return whole, np.maximum(wrong, norm(weighted(np.abs(values), rule.weights, width)) * (50 * rule.eps))
end

-- ---- Halving --------------------------------------------------------------------------------------------------------

local LIMIT_REACHED, ROUNDED, NOT_FINITE = 1, 2, 3
local FRUITLESS = 10 -- halvings that leave the error as it was, after which rounding counts as its cause

--- How often g was evaluated to find parts.
function quad.evaluations(parts) return (parts * 2 - 1) * COUNT end

local function total(state) return np.sum(state.wrong) end

local function tolerance(o, state)
    return np.maximum(norm(np.sum(state.value, { axis = 0 })) * o.epsrel, o.epsabs)
end

--- Halves the worst part.
local function halve(rule, g, o, state)
    local worst, count = np.argmax(state.wrong):astype("i32"), state.count
    local lo, hi, wrong = state.lo[worst], state.hi[worst], state.wrong[worst]
    local middle = (lo + hi) / 2
    local value, new = estimate(rule, g, np.stack { lo, middle }, np.stack { middle, hi })
    local function put(x, first, second)
        return np.dynamic_update_index_in_dim(np.dynamic_update_index_in_dim(x, first, worst), second, count)
    end
    local fruitless = state.fruitless + np.greater_equal(new[0] + new[1], wrong * 0.99):astype("i32")
    local status = np.where(np.greater_equal(fruitless, FRUITLESS), ROUNDED,
                            np.where(np.greater_equal(count + 1, o.limit), LIMIT_REACHED, 0))
    return { lo = put(state.lo, lo, middle), hi = put(state.hi, middle, hi), count = count + 1,
             wrong = put(state.wrong, new[0], new[1]), value = put(state.value, value[0], value[1]),
             fruitless = fruitless, status = status:astype("i32") }
end

--- The parts: a table with lo, hi of `limit` parts, those from `count` on from 0 to 1; wrong; status.
local function parts_of(rule, g, o)
    local function filled(value) return np.full({ o.limit }, value, { dtype = rule.dtype }) end
    local zero = np.zeros({}, { dtype = "i32" })
    local first, wrong = estimate(rule, g, filled(0)[{ { 0, 1 } }], filled(1)[{ { 0, 1 } }])
    local is_first = np.equal(np.arange(o.limit), 0)
    local function room(x) -- a row of its own for each part, of which the first is known
        local rows = core.ndim(x) > 1 and shape.reshape(is_first, { o.limit, 1 }) or is_first
        return np.where(rows, x, 0)
    end
    local state = { lo = filled(0), hi = filled(1), wrong = room(wrong), value = room(first), count = zero + 1,
                    fruitless = zero, status = np.where(o.limit == 1, LIMIT_REACHED, zero) }
    state = np.while_loop(function(now)
        return np.logical_and(np.equal(now.status, 0), np.greater(total(now), tolerance(o, now)))
    end, function(now) return halve(rule, g, o, now) end, state)
    local small = np.less_equal(total(state), tolerance(o, state))
    state.status = np.where(small, 0, np.where(np.isfinite(total(state)), state.status, NOT_FINITE)):astype("i32")
    return np.tree.map(np.stop_gradient, state)
end

-- ---- Maps of the ends -----------------------------------------------------------------------------------------------

--- Whether an end is a number, and this one.
local function is_end(x, value) return type(x) == "number" and x == value end

--- The function of u whose integral from 0 to 1 is that of f from a to b.
local function mapped(f, a, b)
    local function far(u) return (1 - u) / u end
    local function g(u)
        if is_end(a, -math.huge) and is_end(b, math.huge) then
            local x = far(u)
            return (f(x) + f(-x)) / (u * u)
        elseif is_end(b, math.huge) then
            return f(far(u) + a) / (u * u)
        elseif is_end(a, -math.huge) then
            return f(b - far(u)) / (u * u)
        end
        return f((b - a) * u + a) * (b - a)
    end
    jit.off(g)
    return g
end

--- The ends a and b of an integral, the arguments `place` and the next one: as Lua numbers, if they are infinite, and
-- arrays; and the sign of the integral. what: their names; default "a" and "b".
function quad.ends(name, place, a, b, what)
    local sign, ends = 1, { a, b }
    for k = 1, 2 do
        local value = ends[k]
        local known = core.is_number(value) or is_array(value) and core.ndim(value) == 0
        if not known or type(value) == "number" and value ~= value then
            bad_argument(name, place + k - 1, (what or "ab"):sub(k, k), "a number or a 0-d array", value)
        end
    end
    if is_end(a, math.huge) or is_end(b, -math.huge) then a, b, sign = b, a, -1 end
    if is_end(a, math.huge) or is_end(b, -math.huge) then raise(name, "both ends are %.14g", a) end
    return { a, b, sign }
end

--- f, a function of one x, whose values are arrays of floats.
function quad.integrand(name, f)
    local function g(x)
        local y = f(x)
        if core.is_number(y) then y = np.full({}, y, { dtype = x.dtype }) end
        if not is_array(y) then raise(name, "the function must return an array, got %s", core.describe(y)) end
        return (operands.wide(operands.float(y)))
    end
    jit.off(g)
    return g
end

local MOST_FORMS = 256 -- more start afresh
local known_forms, known_count = {}, 0 -- of values of pure functions, by their key and the dtype of x

--- The shape and the dtype of g at an x of a dtype. told: the key of g (pure.lua), or nil.
local function form_of(g, dtype, told)
    local key = told and solvers.is_plain() and told .. " " .. dtype
    if key and known_forms[key] then return known_forms[key] end
    local seen = np.eval_shape(g, { shape = {}, dtype = dtype })
    if not key then return seen end
    if known_count >= MOST_FORMS then known_forms, known_count = {}, 0 end
    known_forms[key], known_count = seen, known_count + 1
    return seen
end

--- The dtype in which an integral is counted, of g over ends that are arrays or numbers, at the head of a list of what
-- they meet; the half that its value has; the shape of a value; and the list as arrays.
local function counted_as(name, g, list, told)
    local met = #list > 0 and operands.meet_list(name, #list, list) or { core.number(0) }
    met = core.copy_list(met)
    local dtype, weak = core.dtypes[core.dtype_codes[np.result_type(unpack(met))]], true
    if dtype.kind == "c" then raise(name, "the ends must be real, got dtype %s", dtype.name) end
    for k = 1, #met do weak = weak and core.info(met[k]).weak ~= 0 end
    local counted = dtype.half and "f32" or dtype.inexact and dtype.name or dtype.real
    local seen = form_of(g, counted, told)
    if weak and (seen.dtype == "f64" or seen.dtype == "c128") then counted = "f64" end
    for k = 1, #met do
        met[k] = weak and core.is_number(list[k]) and core.number(list[k], core.dtype_codes[counted])
            or np.astype(met[k], counted)
    end
    return counted, dtype.half and dtype.name or nil, seen.shape, met
end

local function number(name, option, value, default)
    value = core.plain(value)
    if value == nil then return default end
    if type(value) ~= "number" or value ~= value or value < 0 then
        bad_argument(name, nil, option, "a number from 0 up", value)
    end
    return value
end

local KNOWN = { args = true, epsabs = true, epsrel = true, limit = true }

--- The checked options of a call: with args, a table of arguments, floats, the arrays of floats among these, and
-- given, the option args.
function quad.options(name, given, limit)
    local o = core.options(name, given, KNOWN)
    local floats, with = states.arguments(name, o.args)
    return { args = with(floats), floats = floats, given = o.args,
             epsabs = number(name, "epsabs", o.epsabs, 1.49e-8), epsrel = number(name, "epsrel", o.epsrel, 1.49e-8),
             limit = core.integer(name, nil, "limit", o.limit == nil and limit or o.limit, 1, 100000) }
end

-- ---- The integral ---------------------------------------------------------------------------------------------------

--- The solver (solvers.lua) of an integral from 0 to 1, of f mapped there. arrays: the rule (rule_of), then the finite
-- ends. s: dtype; first and last, whether the ends are infinite; sign; dims of a value; epsabs, epsrel, limit; more,
-- whether f gives two values, of which the second, a vector, is integrated over the parts that suit the first.
local function integral(f, arrays, s)
    local rule = { nodes = arrays[1], weights = arrays[2], gauss = arrays[3], dtype = s.dtype,
                   eps = core.eps(s.dtype) }
    local a, b = s.first and -math.huge or arrays[4], s.last and math.huge or arrays[#arrays]
    local whole = mapped(f, a, b)
    local parts = parts_of(rule, whole, s)
    if not s.more and (#core.frame().levels == 0 or solvers.is_recording()) then
        local sums = np.sum(parts.value, { axis = 0 }) * s.sign -- no derivative is asked for: the same bits as below
        return shape.reshape(sums, s.dims), total(parts), parts.status, parts.count
    end
    local used = np.less(np.arange(s.limit), parts.count):reshape { s.limit, 1, 1 }
    local function sum_of(g)
        local values = np.where(used, values_at(rule, g, parts.lo, parts.hi), 0)
        return np.sum(weighted(values, rule.weights, parts.hi - parts.lo), { axis = 0 }) * s.sign
    end
    local value
    if s.more then
        value = sum_of(mapped(function(x) return (select(2, f(x))) end, a, b))
    else
        value = shape.reshape(sum_of(whole), s.dims)
    end
    return value, total(parts), parts.status, parts.count
end

local solve = solvers.new(integral)

--- The integral of f (quad.integrand) between ends (quad.ends), in a dtype to which the arrays of `met` belong:
--
--     value, wrong  the integral and the estimate of its error, without the half's rounding
--     half          the half of results, or nil
--     status, count the status, and how many parts there are
--
-- more: whether f gives two values, as `integral` says. site: the user's function; told: its key (pure.lua), or nil.
function quad.solve(name, f, ends, met, o, more, site, told)
    local a, b, sign = ends[1], ends[2], ends[3]
    local list, first, last = core.copy_list(met), is_end(a, -math.huge), is_end(b, math.huge)
    if not last then table.insert(list, 1, b) end
    if not first then table.insert(list, 1, a) end
    local counted, half, dims
    counted, half, dims, list = counted_as(name, f, list, told)
    local arrays = rule_of(counted)
    for k = 1, (first and 0 or 1) + (last and 0 or 1) do arrays[3 + k] = list[k] end
    local found = { half = half }
    found.value, found.wrong, found.status, found.count = solve(name, f, pack { shape = {}, dtype = counted }, arrays, {
        dtype = counted, first = first, last = last, sign = sign, dims = dims, more = more or false,
        epsabs = o.epsabs, epsrel = math.max(o.epsrel, 100 * core.eps(counted)), limit = o.limit,
    }, site, told)
    return found
end

function quad.define(integrate)
    --- np.integrate.quad(f, a, b, {args={}, epsabs=1.49e-8, epsrel=1.49e-8, limit=50}) -> value, error, info: the
    -- integral of f(x, args…) from a to b, with an estimate of its error, by the Gauss-Kronrod rule of 21 nodes on
    -- parts that are halved where the error is. f gets one x, a 0-d array, and returns an array of any shape: all
    -- elements are integrated at once, and the error is the 2-norm of theirs, as in SciPy's quad_vec; np.vmap runs f on
    -- all nodes. An end may be np.inf or -np.inf, as a Lua number. info is a table:
    --
    --     status  0: the error is at most the larger of epsabs and epsrel |value|; 1: it was not after `limit` parts;
    --             2: halving did not lessen it, as rounding does; 3: f is infinite or NaN at a node
    --     parts   how many parts there are
    --     neval   how often f was evaluated to find them
    --
    -- Differentiable in every mode by the ends and by what f reads, arguments or not. Waits for nothing.
    --- args: a table of further arguments of f
    --- epsabs: the error that is small enough
    --- epsrel: the same, relative to the value; from 100 times the rounding of the dtype up
    --- limit: the most parts
    --- > (np.integrate.quad(function(x) return np.exp(-x * x) end, -np.inf, np.inf)) ^ 2
    -- 3.1415925
    --- > np.grad(function(b) return (np.integrate.quad(np.cos, 0, b)) end)(np.array(0))
    -- 1.0
    function integrate.quad(f, a, b, given)
        local name = "integrate.quad"
        f = staging.check_function(name, f)
        local o = quad.options(name, given, 50)
        local g = quad.integrand(name, function(x) return f(x, unpack(o.args)) end)
        local found = quad.solve(name, g, quad.ends(name, 2, a, b), o.floats, o, false, f,
                                 pure.key(f, o.given))
        return operands.narrow(found.value, found.half), operands.narrow(found.wrong, found.half),
            { status = found.status, parts = found.count, neval = quad.evaluations(found.count) }
    end
    jit.off(integrate.quad)
end

for _, h in ipairs { values_at, estimate, halve, parts_of, integral, quad.solve } do jit.off(h) end

return quad
