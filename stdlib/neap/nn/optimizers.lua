--- optimizers.lua: more optimizers of np.optim, an average of parameters, and a schedule by steps. optim.lua has the
-- class and the helpers that it passes on.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local tree = require "neap.core.tree"

local np = core.np
local raise, options = core.raise, core.options
local squares = operands.squares

return function(optim, helpers)
    local optimizer, learning_rate, number_option = helpers.optimizer, helpers.learning_rate, helpers.number_option
    local zeros_like, zeros_of_squares, like = helpers.zeros_like, helpers.zeros_of_squares, helpers.like
    local counted, rounded = helpers.counted, helpers.rounded

    --- {lr}: the learning rate: a number, a 0-d array or a schedule
    --- {eps}: a small number against division by zero
    --- {weight_decay}: the share of a parameter that goes with each update, times lr
    --- {b1}: how much of the mean of gradients is kept
    --- {b2}: how much of the other mean is kept

    --- np.optim.rmsprop{lr=…, decay=0.9, eps=1e-8, momentum=0} -> optimizer: p - lr g / sqrt(v + eps) with v = decay v
    -- + (1 - decay) g² (Hinton, 2012; eps inside of the root, as in optax). With momentum the steps are added up: m =
    -- momentum m + step.
    --- decay: how much of the mean of squares is kept
    --- momentum: how much of the last step is kept
    --- > opt = np.optim.rmsprop{lr=0.1, decay=0.75}
    --- > params = {w = np.array{1, 2}}
    --- > params = opt:update({w = np.array{10, 0}}, opt:init(params), params)
    --- > params.w
    -- [0.8 2. ]
    function optim.rmsprop(given)
        local name = "optim.rmsprop"
        given = options(name, given, { lr = true, decay = true, eps = true, momentum = true })
        local lr, decay = learning_rate(name, given), number_option(name, given, "decay", 0.9, 0, 1)
        local eps = number_option(name, given, "eps", 1e-8, 0, math.huge)
        local momentum = number_option(name, given, "momentum", 0, 0, 1)
        local function init(params)
            return { v = zeros_of_squares(params), m = momentum > 0 and zeros_like(params) or nil }
        end
        return optimizer(name, lr, init, function(grads, state, params, rate, new)
            new.v = tree.map(function(v, g) return v * decay + squares(g) * (1 - decay) end, state.v, grads)
            local steps = tree.map(function(g, v, p) return g / np.sqrt(v + eps) * like(rate, p) end, grads, new.v,
                                   params)
            if momentum > 0 then
                steps = tree.map(function(m, s) return m * momentum + s end, state.m, steps)
                new.m = steps
            end
            return tree.map(function(p, s) return p - s end, params, steps)
        end)
    end

    --- np.optim.adagrad{lr=…, start=0.1, eps=1e-7} -> optimizer: p - lr g / sqrt(v + eps) with v the sum of all g²,
    -- from `start` on (Duchi et al., 2011).
    --- start: what the sums begin with
    --- > opt = np.optim.adagrad{lr=0.1, start=0, eps=0}
    --- > params = {w = np.array{1, 2}}
    --- > params = opt:update({w = np.array{10, 1}}, opt:init(params), params)
    --- > params.w
    -- [0.9 1.9]
    function optim.adagrad(given)
        local name = "optim.adagrad"
        given = options(name, given, { lr = true, start = true, eps = true })
        local lr, start = learning_rate(name, given), number_option(name, given, "start", 0.1, 0, math.huge)
        local eps = number_option(name, given, "eps", 1e-7, 0, math.huge)
        local function init(params)
            return { v = tree.map(function(zeros) return np.full_like(zeros, start) end, zeros_of_squares(params)) }
        end
        return optimizer(name, lr, init, function(grads, state, params, rate, new)
            new.v = tree.map(function(v, g) return v + squares(g) end, state.v, grads)
            return tree.map(function(p, g, v)
                local none = np.less_equal(v, 0)
                return p - np.where(none, 0, g / np.sqrt(np.where(none, 1, v + eps))) * like(rate, p)
            end, params, grads, new.v)
        end)
    end

    --- np.optim.lion{lr=…, b1=0.9, b2=0.99, weight_decay=0.001} -> optimizer: p - lr (sign(b1 m + (1 - b1) g) +
    -- weight_decay p), then m = b2 m + (1 - b2) g (Chen et al., 2023).
    --- > opt = np.optim.lion{lr=0.1, weight_decay=0}
    --- > params = {w = np.array{1, 2}}
    --- > params = opt:update({w = np.array{10, 0}}, opt:init(params), params)
    --- > params.w
    -- [0.9 2. ]
    function optim.lion(given)
        local name = "optim.lion"
        given = options(name, given, { lr = true, b1 = true, b2 = true, weight_decay = true })
        local lr = learning_rate(name, given)
        local b1, b2 = number_option(name, given, "b1", 0.9, 0, 1), number_option(name, given, "b2", 0.99, 0, 1)
        local decay = number_option(name, given, "weight_decay", 1e-3, 0, math.huge)
        local function init(params) return { m = zeros_like(params) } end
        return optimizer(name, lr, init, function(grads, state, params, rate, new)
            new.m = tree.map(function(m, g) return m * b2 + g * (1 - b2) end, state.m, grads)
            return tree.map(function(p, g, m)
                return p - (np.sign(m * b1 + g * (1 - b1)) + p * decay) * like(rate, p)
            end, params, grads, state.m)
        end)
    end

    --- np.optim.lamb{lr=…, b1=0.9, b2=0.999, eps=1e-6, weight_decay=0} -> optimizer: adam's direction plus weight_decay
    -- p, made as long as the parameter of its layer, times lr (You et al., 2020); of parameters or directions of length
    -- 0 it is left as it is.
    --- > opt = np.optim.lamb{lr=0.5}
    --- > params = {w = np.array{3, 4}}
    --- > params = opt:update({w = np.array{10, 0}}, opt:init(params), params)
    --- > params.w
    -- [0.5 4. ]
    function optim.lamb(given)
        local name = "optim.lamb"
        given = options(name, given, { lr = true, b1 = true, b2 = true, eps = true, weight_decay = true })
        local decay = number_option(name, given, "weight_decay", 0, 0, math.huge)
        return helpers.adam(name, given, decay, 1e-6, function(p, direction)
            local of_p, of_d = np.sqrt(np.sum(squares(p))), np.sqrt(np.sum(squares(direction)))
            local nothing = np.logical_or(np.equal(of_p, 0), np.equal(of_d, 0))
            return np.where(nothing, 1, of_p / np.where(nothing, 1, of_d))
        end)
    end

    --- The two largest axes of an array, the largest last, whose mean squares are kept instead of all squares; nil
    -- if one of them is less than `least`.
    local function factored_axes(x, least)
        local dims, first, second = core.shape_of(x), nil, nil
        for k = 1, #dims do
            if not first or dims[k] >= dims[first] then
                first, second = k, first
            elseif not second or dims[k] >= dims[second] then
                second = k
            end
        end
        if not second or dims[second] < least then return nil end
        return second - 1, first - 1
    end

    --- The root of the mean of squares.
    local function length_of(x) return np.sqrt(np.mean(squares(x))) end

    --- What adafactor's gradients are divided by: squares, as trees of means along the largest axis (row), along the
    -- one before (col), or of all squares (v). Where a parameter has none, a number stands.
    local Squares = {}

    function Squares.init(params, least)
        local function means(along)
            return tree.map(function(p)
                if not core.is_array(p) then
                    raise("optim.adafactor", "parameters must be arrays, got %s", core.describe(p))
                end
                local lesser, largest = factored_axes(p, least)
                local axis = along == "row" and largest or lesser
                if (along == "v") == (lesser == nil) then
                    return along == "v" and np.zeros_like(p) or np.zeros_like(np.sum(p, { axis = axis }))
                end
                return np.zeros({}, { dtype = p.dtype })
            end, params)
        end
        return { row = means "row", col = means "col", v = means "v" }
    end

    --- The next means, and the gradients divided by their roots.
    function Squares.update(grads, state, new, keep, eps, least)
        local function next_mean(along)
            return tree.map(function(mean, g)
                local lesser, largest = factored_axes(g, least)
                if (along == "v") ~= (lesser == nil) then return mean end
                local all, kept = squares(g) + eps, like(keep, g)
                if along ~= "v" then all = np.mean(all, { axis = along == "row" and largest or lesser }) end
                return mean * kept + all * (1 - kept)
            end, state[along], grads)
        end
        new.row, new.col, new.v = next_mean "row", next_mean "col", next_mean "v"
        return tree.map(function(g, row, col, v)
            local lesser, largest = factored_axes(g, least)
            if not lesser then return g / np.sqrt(v) end
            local within = lesser > largest and lesser - 1 or lesser -- the lesser axis, in row
            row = np.sqrt(row / np.mean(row, { axis = within, keepdims = true }))
            return g / np.expand_dims(row, largest) / np.expand_dims(np.sqrt(col), lesser)
        end, grads, new.row, new.col, new.v)
    end

    --- np.optim.adafactor{lr=1, decay_rate=0.8, min_dim_size_to_factor=128, factored=true, clipping_threshold=1,
    -- multiply_by_parameter_scale=true, momentum=0, weight_decay=0, eps=1e-30} -> optimizer: Shazeer and Stern, 2018,
    -- as in optax: g / sqrt(v), where v keeps a share of 1 - step ^ -decay_rate of itself, and of large matrices only
    -- the means of its rows and columns; limited, times lr and the size of the parameter.
    --- decay_rate: how fast the share that is kept of the squares comes to 1
    --- min_dim_size_to_factor: from which size on of its second largest axis a parameter has means of rows and columns
    --- factored: false keeps all squares of all parameters
    --- clipping_threshold: how long a step may be, as the root of its mean square; false: any length
    --- multiply_by_parameter_scale: steps are times the root of the parameter's mean square, 1e-3 at least; false: not
    --- momentum: how much of the mean of steps is kept
    --- weight_decay: the share of a parameter that goes with each update, not times lr
    --- eps: what is added to the squares
    --- > opt = np.optim.adafactor{lr=0.5}
    --- > params = {w = np.array{3, 4}}
    --- > params = opt:update({w = np.array{10, 10}}, opt:init(params), params)
    --- > params.w
    -- [1.232233 2.232233]
    function optim.adafactor(given)
        local name = "optim.adafactor"
        given = options(name, given, { lr = true, decay_rate = true, min_dim_size_to_factor = true, factored = true,
                                       clipping_threshold = true, multiply_by_parameter_scale = true, momentum = true,
                                       weight_decay = true, eps = true })
        local lr = given.lr == nil and 1 or learning_rate(name, given)
        local rate = number_option(name, given, "decay_rate", 0.8, 0, math.huge)
        local least = number_option(name, given, "min_dim_size_to_factor", 128, 1, math.huge)
        if given.factored == false then least = math.huge end
        local limit = given.clipping_threshold ~= false
                      and number_option(name, given, "clipping_threshold", 1, 0, math.huge)
        local momentum = number_option(name, given, "momentum", 0, 0, 1)
        local decay = number_option(name, given, "weight_decay", 0, 0, math.huge)
        local eps = number_option(name, given, "eps", 1e-30, 0, math.huge)
        local scaled = given.multiply_by_parameter_scale ~= false
        local function init(params)
            local state = Squares.init(params, least)
            state.m = momentum > 0 and zeros_like(params) or nil
            return state
        end
        return optimizer(name, lr, init, function(grads, state, params, along, new, step)
            local steps = Squares.update(grads, state, new, 1 - np.pow(step, -rate), eps, least)
            steps = tree.map(function(u, p)
                if limit then u = u / np.maximum(length_of(u) / limit, 1) end
                u = u * like(along, p)
                return scaled and u * np.maximum(length_of(p), 1e-3) or u
            end, steps, params)
            if momentum > 0 then
                steps = tree.map(function(m, u) return m * momentum + u * (1 - momentum) end, state.m, steps)
                new.m = steps
            end
            return tree.map(function(p, u) return p - (decay > 0 and u + p * decay or u) end, params, steps)
        end)
    end

    local Average = {}
    Average.__index = Average

    --- avg:init(params): the state before the first update: {step=0, mean=zeros}; for halves the mean is f32.
    function Average.init(_, params)
        return { step = np.zeros({}, { dtype = "i32" }), mean = zeros_like(counted(params)) }
    end

    --- avg:update(params, state): the average with these parameters, and the next state.
    function Average:update(params, state)
        if type(state) ~= "table" or not core.is_array(state.step) or state.mean == nil then
            core.bad_argument("optim.ema:update", 2, "state", "what avg:init(params) returned", state)
        end
        local keep = self.decay
        local new = { step = state.step + 1 }
        new.mean = tree.map(function(m, p) return m * keep + p * (1 - keep) end, state.mean, counted(params))
        local mean = new.mean
        if self.debias then
            local weight = 1 - np.pow(keep, np.astype(new.step, "f64"))
            mean = tree.map(function(m) return m / like(weight, m) end, mean)
        end
        return tree.map(rounded, mean, params), new
    end

    --- np.optim.ema{decay=0.999, debias=true} -> average: a moving average of parameters, or of any tree of arrays:
    -- `state = avg:init(params)`, then `mean, state = avg:update(params, state)`.
    --- decay: how much of the average is kept
    --- debias: divides by the weights that there are so far, so that the first average is the first tree
    --- > avg = np.optim.ema{decay=0.5}
    --- > mean, state = avg:update({np.array{2}}, avg:init{np.array{2}})
    --- > mean[1], avg:update({np.array{8}}, state)[1]
    -- [2.]
    -- [6.]
    function optim.ema(given)
        given = options("optim.ema", given, { decay = true, debias = true })
        return setmetatable({ decay = number_option("optim.ema", given or {}, "decay", 0.999, 0, 1),
                              debias = given.debias ~= false }, Average)
    end

    --- np.optim.piecewise(lr, {[100]=0.1, …}) -> function: lr times the factors of all steps that have been reached:
    -- from step 100 on a tenth of lr.
    --- > np.optim.piecewise(0.5, {[100] = 0.1})(np.array(99)), np.optim.piecewise(0.5, {[100] = 0.1})(np.array(100))
    -- 0.5
    -- 0.05
    function optim.piecewise(lr, factors)
        if type(lr) ~= "number" and not core.is_array(lr) then
            core.bad_argument("optim.piecewise", 1, "lr", "a number or an array", lr)
        end
        if type(factors) ~= "table" then
            core.bad_argument("optim.piecewise", 2, "factors", "a table of factors by step", factors)
        end
        local steps, factor_of = {}, {}
        for key, value in pairs(factors) do
            local step, factor = core.plain(key), core.plain(value)
            if type(step) ~= "number" or type(factor) ~= "number" then
                raise("optim.piecewise", "argument 2 must be a table of factors by step, got %s at %s",
                      core.describe(value), core.describe(key))
            end
            steps[#steps + 1], factor_of[step] = step, factor
        end
        table.sort(steps)
        return helpers.schedule_of("optim.piecewise", function(step)
            local rate, known = lr, core.info(step)
            local function beside(value) return known.weak == 0 and core.number(value, known.dtype) or value end
            for _, from in ipairs(steps) do
                rate = np.where(np.less(step, from), beside(1), beside(factor_of[from])) * rate
            end
            return rate
        end)
    end
end
