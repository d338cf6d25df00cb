--- optim.lua: np.optim: optimizers. An optimizer is pure: it holds no parameters and no state, so its update may be
-- jitted and differentiated.
--
--     local opt = np.optim.adam{ lr = 1e-3 }
--     local state = opt:init(params)
--     params, state = opt:update(grads, state, params)
--
-- lr is a number, a 0-d array, or a schedule: a function of the number of updates done (a 0-d f64 array). A fourth
-- argument of update takes its place; as an argument of a jitted function it may change without recording anew.
--
-- Halves are updated in f32, and the new parameters rounded once; the state is f32, since squares and small shares of
-- gradients leave the range of f16. Squares of complex gradients are those of their size, as in optax.

--- {lr}: the learning rate: a number, a 0-d array or a schedule
--- {b1}: how much of the mean of gradients is kept
--- {b2}: how much of the mean of their squares is kept
--- {eps}: what is added to the root, against division by zero
--- {weight_decay}: the share of a parameter that goes with each update, times lr

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local tree = require "neap.core.tree"
local trees = require "neap.core.trees"

local np = core.np
local raise, options = core.raise, core.options
local is_array, squares = core.is_array, operands.squares

local optim = {}

local Optimizer = {}
Optimizer.__index = Optimizer

--- Checks a numeric option and fills in its default.
local function number_option(name, given, option, default, low, high)
    local value = given[option]
    value = core.plain(value)
    if value == nil then value = default end
    if type(value) ~= "number" or value < low or value > high then
        raise(name, "option '%s' must be a number from %g to %g, got %s", option, low, high, core.describe(value))
    end
    return value
end

local function learning_rate(name, given)
    local lr = given.lr
    if type(lr) ~= "number" and type(lr) ~= "function" and not is_array(lr) then
        raise(name, "option 'lr' must be a number, a 0-d array or a function of the step, got %s", core.describe(lr))
    end
    return lr
end

local function optimizer(name, lr, init, update)
    return setmetatable({ name = name, lr = lr, init_state = init, change = update }, Optimizer)
end

function Optimizer:__tostring()
    local lr = type(self.lr) == "function" and "a schedule" or tostring(self.lr)
    return ("np.%s{lr=%s}"):format(self.name, lr)
end

local function zeros_like(params)
    return tree.map(np.zeros_like, params)
end

--- The dtype of an array, of a complex one that of its parts.
local function part_of(x)
    local dtype = core.dtype_of(x)
    return dtype.part or dtype.name
end

--- Zeros for squares of sizes: real ones for complex parameters.
local function zeros_of_squares(params)
    return tree.map(function(p) return np.zeros_like(p, { dtype = is_array(p) and part_of(p) or nil }) end, params)
end

--- The leaves of a tree as optimizers compute with them: halves as f32, integers as floats. It is t itself where all
-- count as they are.
local function counted(t)
    local all = true
    trees.walk("optim", t, function(x)
        local dtype = is_array(x) and core.dtype_of(x)
        if dtype and (dtype.half or not dtype.inexact) then all = false end
    end)
    if all then return t end
    return tree.map(function(x) return is_array(x) and (operands.wide(operands.float(x))) or x end, t)
end

--- Raises unless a leaf is a number or an array of floats.
local function check_parameter(name, p)
    if is_array(p) and not core.dtype_of(p).inexact then
        raise(name, "parameters must be floats, got an array of dtype %s", core.dtype_of(p).name)
    end
end

local function check_self(self, call)
    if getmetatable(self) ~= Optimizer then raise("optim", "call it as opt:%s, with a colon", call) end
end

--- opt:init(params): the state before the first update: {step=0, …}. Parameters are floats; for halves it is f32.
function Optimizer:init(params)
    check_self(self, "init(params)")
    tree.map(function(p) check_parameter(self.name, p) return p end, params)
    local state = self.init_state(counted(params))
    state.step = np.zeros({}, { dtype = "i32" })
    return state
end

--- A new parameter of the dtype of the old one, if that is a half.
local function rounded(new, old)
    local dtype = is_array(old) and core.dtype_of(old)
    return dtype and dtype.half and np.astype(new, dtype.name) or new
end

--- opt:update(grads, state, params, lr): the next parameters and state. The trees have the form of params. `lr` is
-- optional.
function Optimizer:update(grads, state, params, lr)
    check_self(self, "update(grads, state, params)")
    if type(state) ~= "table" or not is_array(state.step) then
        core.bad_argument(self.name .. ":update", 2, "state", "what opt:init(params) returned", state)
    end
    if lr == nil then lr = self.lr end
    local done = np.astype(state.step, "f64")
    if type(lr) == "function" then lr = lr(done) end
    local new = { step = state.step + 1 }
    local wide = counted(params)
    local changed = self.change(counted(grads), state, wide, lr, new, done + 1)
    return wide == params and changed or tree.map(rounded, changed, params), new
end

--- A scalar in the dtype of a parameter, or of the parts of a complex one: numbers are weak already.
local function like(value, x)
    if type(value) == "number" or not is_array(x) then return value end
    return np.astype(value, part_of(x))
end

--- np.optim.sgd{lr=…, momentum=0, nesterov=false, weight_decay=0} -> optimizer: p - lr v with v = momentum v + g (v is
-- g without momentum); with nesterov p - lr (g + momentum v). weight_decay adds weight_decay * p to g.
--- momentum: how much of the last step is kept
--- nesterov: true: the gradient counts at the place ahead
--- > opt = np.optim.sgd{lr=0.1}
--- > params = {w = np.array{1, 2}}
--- > params = opt:update({w = np.array{10, 0}}, opt:init(params), params)
--- > params.w
-- [0. 2.]
function optim.sgd(given)
    local name = "optim.sgd"
    given = options(name, given, { lr = true, momentum = true, nesterov = true, weight_decay = true })
    local lr = learning_rate(name, given)
    local momentum = number_option(name, given, "momentum", 0, 0, 1)
    local decay = number_option(name, given, "weight_decay", 0, 0, math.huge)
    local nesterov = given.nesterov or false
    local function init(params)
        return momentum > 0 and { v = zeros_like(params) } or {}
    end
    return optimizer(name, lr, init, function(grads, state, params, rate, new)
        if decay > 0 then grads = tree.map(function(g, p) return g + p * decay end, grads, params) end
        local direction = grads
        if momentum > 0 then
            new.v = tree.map(function(v, g) return v * momentum + g end, state.v, grads)
            direction = new.v
            if nesterov then direction = tree.map(function(g, v) return g + v * momentum end, grads, new.v) end
        end
        return tree.map(function(p, d) return p - d * like(rate, p) end, params, direction)
    end)
end

--- Adam's step, with the decay of AdamW. near: the default of eps; length(p, direction): by what the rate is multiplied
-- for a parameter, nil: by nothing.
local function adam(name, given, decay, near, length)
    local lr = learning_rate(name, given)
    local b1, b2 = number_option(name, given, "b1", 0.9, 0, 1), number_option(name, given, "b2", 0.999, 0, 1)
    local eps = number_option(name, given, "eps", near or 1e-8, 0, math.huge)
    local function init(params)
        return { m = zeros_like(params), v = zeros_of_squares(params) }
    end
    return optimizer(name, lr, init, function(grads, state, params, rate, new, step)
        local correct1, correct2 = 1 - np.pow(b1, step), 1 - np.pow(b2, step)
        new.m = tree.map(function(m, g) return m * b1 + g * (1 - b1) end, state.m, grads)
        new.v = tree.map(function(v, g) return v * b2 + squares(g) * (1 - b2) end, state.v, grads)
        return tree.map(function(p, m, v)
            local direction = m / like(correct1, p) / (np.sqrt(v / like(correct2, p)) + eps)
            if decay > 0 then direction = direction + p * decay end
            local along = like(rate, p)
            if length then along = length(p, direction) * along end
            return p - direction * along
        end, params, new.m, new.v)
    end)
end

--- np.optim.adam{lr=…, b1=0.9, b2=0.999, eps=1e-8} -> optimizer: Kingma and Ba, 2015, algorithm 1 (eps outside of the
-- root).
--- > opt = np.optim.adam{lr=0.1}
--- > params = {w = np.array{1, 2}}
--- > params = opt:update({w = np.array{10, 0}}, opt:init(params), params)
--- > params.w
-- [0.9 2. ]
function optim.adam(given)
    return adam("optim.adam", options("optim.adam", given, { lr = true, b1 = true, b2 = true, eps = true }), 0)
end

--- np.optim.adamw{lr=…, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.01} -> optimizer: adam with decoupled weight decay
-- (Loshchilov and Hutter, 2019): p - lr (adam's direction + weight_decay p).
--- > opt = np.optim.adamw{lr=0.1, weight_decay=0.1}
--- > params = {w = np.array{1, 2}}
--- > params = opt:update({w = np.array{10, 0}}, opt:init(params), params)
--- > params.w
-- [0.89 1.98]
function optim.adamw(given)
    local known = { lr = true, b1 = true, b2 = true, eps = true, weight_decay = true }
    given = options("optim.adamw", given, known)
    return adam("optim.adamw", given, number_option("optim.adamw", given, "weight_decay", 0.01, 0, math.huge))
end

-- ---- Schedules and clipping -----------------------------------------------------------------------------------------

--- Argument `position` of a schedule: a number of at least `low`, or an array.
local function number_or_array(name, position, called, value, low)
    value = core.plain(value)
    local fits = is_array(value) or type(value) == "number" and value >= low
    local expected = low > -math.huge and ("a number of at least %g"):format(low) or "a number"
    if not fits then core.bad_argument(name, position, called, expected, value) end
    return value
end

--- The step that a schedule is called with.
local function check_step(name, step)
    if type(step) ~= "number" and not is_array(step) then
        raise(name, "the schedule takes the step, a number or an array, got %s", core.describe(step))
    end
end

local function steps_of(name, position, steps)
    return number_or_array(name, position, "steps", steps, 1)
end

--- The schedule np.name: f of the step, an array of floats, of halves f32, whose rate is rounded once.
local function schedule_of(name, f)
    return function(step)
        check_step(name, step)
        local x, half = operands.floats(name, 1, step)
        return operands.narrow(f(x), half)
    end
end

--- np.optim.exponential_decay(lr, rate, steps) -> function: lr * rate ^ (step / steps).
--- > np.optim.exponential_decay(0.1, 0.5, 100)(np.array(200))
-- 0.025
function optim.exponential_decay(lr, rate, steps)
    lr = number_or_array("optim.exponential_decay", 1, "lr", lr, -math.huge)
    rate = number_or_array("optim.exponential_decay", 2, "rate", rate, 0)
    steps = steps_of("optim.exponential_decay", 3, steps)
    return schedule_of("optim.exponential_decay", function(step) return np.pow(rate, step / steps) * lr end)
end

--- np.optim.cosine_decay(lr, steps, floor) -> function: half a cosine from lr down to floor (0) in so many steps, then
-- floor.
--- > np.optim.cosine_decay(0.1, 100)(np.array(50))
-- 0.049999997
function optim.cosine_decay(lr, steps, floor)
    floor = floor or 0
    lr = number_or_array("optim.cosine_decay", 1, "lr", lr, -math.huge)
    steps = steps_of("optim.cosine_decay", 2, steps)
    floor = number_or_array("optim.cosine_decay", 3, "floor", floor, -math.huge)
    return schedule_of("optim.cosine_decay", function(step)
        local progress = np.minimum(step / steps, 1)
        return (np.cos(progress * math.pi) + 1) * ((lr - floor) / 2) + floor
    end)
end

--- np.optim.polynomial_decay(lr, steps, floor, power) -> function: from lr to floor (0) in so many steps, along (1 -
-- step / steps) ^ power (1: a straight line), then floor.
--- > np.optim.polynomial_decay(0.5, 100)(np.array(50))
-- 0.25
function optim.polynomial_decay(lr, steps, floor, power)
    floor, power = floor or 0, power or 1
    lr = number_or_array("optim.polynomial_decay", 1, "lr", lr, -math.huge)
    steps = steps_of("optim.polynomial_decay", 2, steps)
    floor = number_or_array("optim.polynomial_decay", 3, "floor", floor, -math.huge)
    power = number_or_array("optim.polynomial_decay", 4, "power", power, 0)
    return schedule_of("optim.polynomial_decay", function(step)
        return np.pow(1 - np.clip(step / steps, 0, 1), power) * (lr - floor) + floor
    end)
end

--- np.optim.one_cycle(peak, steps, {pct_start=0.3, div_factor=25, final_div_factor=1e4}) -> function: half a cosine
-- from peak / div_factor up to peak, then one down to peak / (div_factor final_div_factor) at the last step, then that
-- (Smith and Topin, 2018).
--- pct_start: the part of the steps in which the rate rises
--- div_factor: peak over the first rate
--- final_div_factor: the first rate over the last one
--- > np.optim.one_cycle(0.5, 100)(np.array{0, 30, 100})
-- [2.000001e-02 5.000000e-01 2.000000e-06]
function optim.one_cycle(peak, steps, given)
    local name = "optim.one_cycle"
    peak = number_or_array(name, 1, "peak", peak, -math.huge)
    steps = steps_of(name, 2, steps)
    given = options(name, given, { pct_start = true, div_factor = true, final_div_factor = true })
    local part = number_option(name, given, "pct_start", 0.3, 0, 1)
    local first = peak / number_option(name, given, "div_factor", 25, 0, math.huge)
    local last = first / number_option(name, given, "final_div_factor", 1e4, 0, math.huge)
    local rise = np.floor(steps * part)
    local function between(from, to, progress) return (np.cos(progress * math.pi) + 1) * ((from - to) / 2) + to end
    return schedule_of(name, function(step)
        local up = between(first, peak, np.clip(step / np.maximum(rise, 1), 0, 1))
        local down = between(peak, last, np.clip((step - rise) / np.maximum(steps - rise, 1), 0, 1))
        return np.where(np.less(step, rise), up, down)
    end)
end

--- np.optim.warmup(schedule, steps) -> function: rises in equal steps from schedule / steps to the schedule, a number
-- or function.
--- > np.optim.warmup(0.1, 10)(np.array(4))
-- 0.05
function optim.warmup(schedule, steps)
    if type(schedule) ~= "function" and not is_array(schedule) and type(schedule) ~= "number" then
        core.bad_argument("optim.warmup", 1, "schedule", "a number or a function of the step", schedule)
    end
    steps = steps_of("optim.warmup", 2, steps)
    return schedule_of("optim.warmup", function(step)
        local lr = type(schedule) == "function" and schedule(step) or schedule
        return np.minimum((step + 1) / steps, 1) * lr
    end)
end

--- The global norm of a tree, in f32 of halves; and the half that all leaves are, or nil.
local function norm_of(t)
    local half, all_halves
    local total = tree.reduce(function(sum, x)
        local own
        x, own = operands.floats("optim.global_norm", 1, x)
        all_halves = all_halves ~= false and own ~= nil and (half == nil or half == own)
        half = own
        return sum + np.sum(squares(x))
    end, t, 0)
    return np.sqrt(total), all_halves and half or nil
end

--- np.optim.global_norm(t): the square root of the sum of all squares, 0-d; of complex numbers the squares of sizes.
--- > np.optim.global_norm({np.array{3}, np.array{4}})
-- 5.0
function optim.global_norm(t)
    local norm, half = norm_of(t)
    return operands.narrow(norm, half)
end

--- np.optim.clip_by_global_norm(grads, most) -> tree: grads scaled down so that their global norm is at most `most`.
--- > np.optim.clip_by_global_norm({np.array{3}, np.array{4}}, 1)[1]
-- [0.6]
function optim.clip_by_global_norm(grads, most)
    most = number_or_array("optim.clip_by_global_norm", 2, "most", most, 0)
    local norm = norm_of(grads)
    local scale = np.where(np.less_equal(norm, most), 1, most / norm)
    return tree.map(function(g)
        local x, half = operands.floats("optim.clip_by_global_norm", 1, g)
        return operands.narrow(x * like(scale, x), half)
    end, grads)
end

local helpers = { optimizer = optimizer, learning_rate = learning_rate, check_step = check_step, counted = counted,
                  number_option = number_option, zeros_like = zeros_like, zeros_of_squares = zeros_of_squares,
                  like = like, rounded = rounded, schedule_of = schedule_of, adam = adam }
require "neap.nn.optimizers" (optim, helpers)
require "neap.nn.wrappers" (optim, helpers)

return optim
