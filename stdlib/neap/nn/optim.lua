--- optim.lua: np.optim: optimizers. An optimizer is pure: it holds no parameters and no state, so its update may be
-- jitted and differentiated.
--
--     local opt = np.optim.adam{ lr = 1e-3 }
--     local state = opt:init(params)
--     params, state = opt:update(grads, state, params)
--
-- lr is a number, a 0-d array, or a schedule: a function of the number of updates done (a 0-d f64 array). A fourth
-- argument of update takes its place; as an argument of a jitted function it may change without recording anew.

--- {lr}: the learning rate: a number, a 0-d array or a schedule
--- {b1}: how much of the mean of gradients is kept
--- {b2}: how much of the mean of their squares is kept
--- {eps}: what is added to the root, against division by zero
--- {weight_decay}: the share of a parameter that goes with each update, times lr

local core = require "neap.core"
local tree = require "neap.core.tree"

local np = core.np
local raise, options = core.raise, core.options
local is_array = core.is_array

local optim = {}

local Optimizer = {}
Optimizer.__index = Optimizer

--- Checks a numeric option and fills in its default.
local function number_option(name, given, option, default, low, high)
    local value = given[option]
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

local function check_self(self, call)
    if getmetatable(self) ~= Optimizer then raise("optim", "call it as opt:%s, with a colon", call) end
end

--- opt:init(params): the state before the first update: {step=0, …}.
function Optimizer:init(params)
    check_self(self, "init(params)")
    local state = self.init_state(params)
    state.step = np.zeros({}, { dtype = "i32" })
    return state
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
    return self.change(grads, state, params, lr, new, done + 1), new
end

--- A scalar in the dtype of a parameter: numbers are weak already.
local function like(value, x)
    if type(value) == "number" or not is_array(x) then return value end
    return np.astype(value, x.dtype)
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
        return { m = zeros_like(params), v = zeros_like(params) }
    end
    return optimizer(name, lr, init, function(grads, state, params, rate, new, step)
        local correct1, correct2 = 1 - np.pow(b1, step), 1 - np.pow(b2, step)
        new.m = tree.map(function(m, g) return m * b1 + g * (1 - b1) end, state.m, grads)
        new.v = tree.map(function(v, g) return v * b2 + g * g * (1 - b2) end, state.v, grads)
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
local function check_number(name, position, called, value, low)
    local fits = is_array(value) or type(value) == "number" and value >= low
    local expected = low > -math.huge and ("a number of at least %g"):format(low) or "a number"
    if not fits then core.bad_argument(name, position, called, expected, value) end
end

--- The step that a schedule is called with.
local function check_step(name, step)
    if type(step) ~= "number" and not is_array(step) then
        raise(name, "the schedule takes the step, a number or an array, got %s", core.describe(step))
    end
end

local function check_steps(name, position, steps)
    check_number(name, position, "steps", steps, 1)
end

--- np.optim.exponential_decay(lr, rate, steps) -> function: lr * rate ^ (step / steps).
--- > np.optim.exponential_decay(0.1, 0.5, 100)(np.array(200))
-- 0.025
function optim.exponential_decay(lr, rate, steps)
    check_number("optim.exponential_decay", 1, "lr", lr, -math.huge)
    check_number("optim.exponential_decay", 2, "rate", rate, 0)
    check_steps("optim.exponential_decay", 3, steps)
    return function(step)
        check_step("optim.exponential_decay", step)
        return np.pow(rate, step / steps) * lr
    end
end

--- np.optim.cosine_decay(lr, steps, floor) -> function: half a cosine from lr down to floor (0) in so many steps, then
-- floor.
--- > np.optim.cosine_decay(0.1, 100)(np.array(50))
-- 0.049999997
function optim.cosine_decay(lr, steps, floor)
    floor = floor or 0
    check_number("optim.cosine_decay", 1, "lr", lr, -math.huge)
    check_steps("optim.cosine_decay", 2, steps)
    check_number("optim.cosine_decay", 3, "floor", floor, -math.huge)
    return function(step)
        check_step("optim.cosine_decay", step)
        local progress = np.minimum(step / steps, 1)
        return (np.cos(progress * math.pi) + 1) * ((lr - floor) / 2) + floor
    end
end

--- np.optim.warmup(schedule, steps) -> function: rises in equal steps from schedule / steps to the schedule, a number
-- or function.
--- > np.optim.warmup(0.1, 10)(np.array(4))
-- 0.05
function optim.warmup(schedule, steps)
    if type(schedule) ~= "function" and not is_array(schedule) and type(schedule) ~= "number" then
        core.bad_argument("optim.warmup", 1, "schedule", "a number or a function of the step", schedule)
    end
    check_steps("optim.warmup", 2, steps)
    return function(step)
        check_step("optim.warmup", step)
        local lr = type(schedule) == "function" and schedule(step) or schedule
        return np.minimum((step + 1) / steps, 1) * lr
    end
end

--- np.optim.global_norm(t): the square root of the sum of all squares, 0-d.
--- > np.optim.global_norm({np.array{3}, np.array{4}})
-- 5.0
function optim.global_norm(t)
    local total = tree.reduce(function(sum, x) return sum + np.sum(np.square(x)) end, t, 0)
    return np.sqrt(total)
end

--- np.optim.clip_by_global_norm(grads, most) -> tree: grads scaled down so that their global norm is at most `most`.
--- > np.optim.clip_by_global_norm({np.array{3}, np.array{4}}, 1)[1]
-- [0.6]
function optim.clip_by_global_norm(grads, most)
    local norm = optim.global_norm(grads)
    local scale = np.minimum(most / np.maximum(norm, most), 1)
    return tree.map(function(g) return g * like(scale, g) end, grads)
end

require "neap.nn.optimizers" (optim, { optimizer = optimizer, learning_rate = learning_rate, check_step = check_step,
                                      number_option = number_option, zeros_like = zeros_like, like = like,
                                      adam = adam })

return optim
