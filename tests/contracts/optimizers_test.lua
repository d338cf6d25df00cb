--- optimizers_test.lua: contracts of np.optim (tests/lib/contracts.lua): two updates by each optimizer against optax,
-- averages, norms of trees, and schedules.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "optimizers"

local optim = np.optim

-- ---- Optimizers -----------------------------------------------------------------------------------------------------

-- Squares of f32 and f64 may leave the range, as in optax; those of halves may not.
local function large(dtype)
    local value = ({ f16 = 65504, bf16 = 1e15, f32 = 1e15, f64 = 1e150 })[dtype]
    return value and { 0 / 0, math.huge, value, 0 }
end

--- The same, and of complex numbers no infinity: JAX's product of one with a length has a NaN, inf times 0.
local function finite(dtype) return large(dtype) or { 0 / 0, 0, 1i, -1 - 1i } end

local TWO = { f64 = "scaled 4e-15", f32 = "scaled 1e-6", f16 = "ulp 1", bf16 = "ulp 1" }
local NUMBERS = "trees have arrays"

--- The parameters after an update, and those after two; of halves the second of parameters in f32, which are not
-- rounded in between.
local function two_updates(f, o, p, g, h)
    local opt, wide = f(o), p.dtype:find "f16" and p:astype "f32" or p
    local first = opt:update({ w = g }, opt:init { w = p }, { w = p })
    local between, state = opt:update({ w = g }, opt:init { w = wide }, { w = wide })
    return first.w, opt:update({ w = h }, state, between).w:astype(p.dtype)
end

--- An optimizer f{…} whose updates are those of the optax one that `oracle` makes of the options o.
local function optimizer(name, oracle, options, more)
    local contract = {
        args = { { "p", special = large }, { "g", special = large }, { "h", special = false } },
        accepts = "floats complex", gives = "same",
        shapes = { { { 5 }, { 5 }, { 5 } }, { { 2, 3 }, { 2, 3 }, { 2, 3 } }, { {}, {}, {} }, { { 0 }, { 0 }, { 0 } } },
        options = options, call = two_updates, within = TWO, oracle = ("two_updates(%s, p, g, h)"):format(oracle),
        without = { numbers = NUMBERS, refusals = "the table is the argument: an unknown option is refused below" },
        also = {
            [name .. ": unknown options"] = function()
                check.raises(function() optim[name] { lr = 0.1, nonsense = 1 } end, "nonsense")
                check.raises(function() optim[name] { lr = "fast" } end, "'lr'")
            end,
            [name .. ": parameters that are integers"] = function()
                local opt = optim[name] { lr = 0.1 }
                check.raises(function() opt:init { np.arange(3) } end, "i32")
            end,
            [name .. ": the state of halves is f32"] = function()
                local opt, p = optim[name] { lr = 0.125 }, np.ones({ 3 }, { dtype = "f16" })
                local params, state = opt:update({ p * 1e-4 }, opt:init { p }, { p })
                for key, part in pairs(state) do
                    for _, leaf in ipairs(np.tree.leaves { part }) do
                        check.equal(leaf.dtype, key == "step" and "i32" or "f32", key)
                    end
                end
                check.equal(params[1].dtype, "f16")
                check.ok(np.all(np.isfinite(params[1])):item(), tostring(params[1]))
            end,
            [name .. ": a rate that is an array, a schedule, an argument"] = function()
                local p, g = { np.array { 1, 2, 3 } }, { np.array { 0.5, -1, 2 } }
                local function step(opt, ...) return (opt:update(g, opt:init(p), p, ...))[1]:totable() end
                local want = step(optim[name] { lr = 0.25 })
                check.equal(step(optim[name] { lr = np.array(0.25) }), want)
                check.equal(step(optim[name] { lr = function(n) return n + 0.25 end }), want)
                check.equal(step(optim[name] { lr = 3 }, 0.25), want)
            end,
        },
    }
    for key, value in pairs(more or {}) do contract[key] = value end
    of("np.optim." .. name, contract)
end

optimizer("sgd", "optax.chain(optax.add_decayed_weights(o.get('weight_decay', 0)), optax.sgd(o['lr'], "
          .. "o.get('momentum'), o.get('nesterov', False)))",
          { { lr = 0.25 }, { lr = 0.25, momentum = 0.5 },
            { lr = 0.25, momentum = 0.5, nesterov = true, weight_decay = 0.1 } })
optimizer("adam", "optax.adam(o['lr'], o.get('b1', 0.9), o.get('b2', 0.999), o.get('eps', 1e-8))",
          { { lr = 0.25 }, { lr = 0.25, b1 = 0.5, b2 = 0.75, eps = 0.125 } })
optimizer("adamw", "optax.adamw(o['lr'], o.get('b1', 0.9), o.get('b2', 0.999), o.get('eps', 1e-8), "
          .. "weight_decay=o.get('weight_decay', 0.01))",
          { { lr = 0.25 }, { lr = 0.25, b1 = 0.5, b2 = 0.75, eps = 0.125, weight_decay = 0.5 } })
optimizer("rmsprop", "optax.rmsprop(o['lr'], o.get('decay', 0.9), o.get('eps', 1e-8), momentum=o.get('momentum'))",
          { { lr = 0.25 }, { lr = 0.25, decay = 0.5, eps = 0.125, momentum = 0.5 } })
optimizer("adagrad", "optax.adagrad(o['lr'], o.get('start', 0.1), o.get('eps', 1e-7))",
          { { lr = 0.25 }, { lr = 0.25, start = 0, eps = 0.125 } })
optimizer("lion", "optax.lion(o['lr'], o.get('b1', 0.9), o.get('b2', 0.99), weight_decay=o.get('weight_decay', 1e-3))",
          { { lr = 0.25 }, { lr = 0.25, b1 = 0.5, b2 = 0.75, weight_decay = 0 } })
optimizer("lamb", "optax.lamb(o['lr'], o.get('b1', 0.9), o.get('b2', 0.999), o.get('eps', 1e-6), "
          .. "weight_decay=o.get('weight_decay', 0))",
          { { lr = 0.25 }, { lr = 0.25, b1 = 0.5, b2 = 0.75, eps = 0.125, weight_decay = 0.5 } },
          { divided = TWO,
            args = { { "p", special = finite }, { "g", special = finite }, { "h", special = false } } })
optimizer("adafactor", "adafactor(o)",
          { { lr = 0.25 }, { lr = 0.25, decay_rate = 0.5, eps = 0.125, momentum = 0.5, weight_decay = 0.25 },
            { lr = 0.25, factored = false, min_dim_size_to_factor = 2 }, { lr = 0.25, min_dim_size_to_factor = 2 },
            { lr = 0.25, clipping_threshold = 0.5 }, { lr = 0.25, clipping_threshold = false },
            { lr = 0.25, multiply_by_parameter_scale = false } },
          -- optax has the decay in f32; tests/golden/optim_test.lua has the formula in f64
          { divided = TWO, accepts = "floats",
            within = { f64 = "scaled 1e-8", f32 = "scaled 1e-6", f16 = "ulp 1", bf16 = "ulp 1" } })

of("np.optim.ema", {
    args = { { "p", special = large }, { "q", special = large } }, accepts = "floats complex",
    gives = "same", within = TWO,
    shapes = { { { 5 }, { 5 } }, { { 2, 3 }, { 2, 3 } }, { {}, {} }, { { 0 }, { 0 } } },
    options = { {}, { decay = 0.5 }, { decay = 0.5, debias = false } },
    call = function(f, o, p, q)
        local average = f(next(o) and o or nil)
        local first, state = average:update({ p }, average:init { p })
        return first[1], (average:update({ q }, state))[1]
    end,
    oracle = "average(p, q, o.get('decay', 0.999), o.get('debias', True))", without = { numbers = NUMBERS },
})
elsewhere("np.optim opt.init opt.update avg.init avg.update", "tests/contracts/optimizers_test.lua",
          "methods that each optimizer's contract calls")

-- ---- Around an optimizer --------------------------------------------------------------------------------------------

--- The parameters after an update with g, and after one more with h.
local function twice(opt, p, g, h)
    local first, state = opt:update({ w = g }, opt:init { w = p }, { w = p })
    return first.w, opt:update({ w = h }, state, first).w
end

local AROUND = { { { 5 }, { 5 }, { 5 } }, { { 2, 3 }, { 2, 3 }, { 2, 3 } }, { {}, {}, {} } }
local THREE = { { "p", special = finite }, { "g", special = large }, { "h", special = false } }
local FLOATS = { f64 = "scaled 4e-15", f32 = "scaled 1e-6" }

of("np.optim.accumulate", {
    args = THREE, accepts = "f32 f64", gives = "same", shapes = AROUND, within = FLOATS,
    without = { numbers = NUMBERS },
    options = { { count = 1, lr = 0.25 }, { count = 2, lr = 0.25 }, { count = 3, lr = 0.25 } },
    call = function(f, o, p, g, h)
        return twice(f(optim.adam { lr = o.lr }, o.count, o.nonsense and { nonsense = o.nonsense }), p, g, h)
    end,
    oracle = "two_updates(optax.MultiSteps(optax.adam(o['lr']), o['count']), p, g, h)",
    also = { ["np.optim.accumulate: the mean of three, in a jitted step that donates, at its own rate"] = function()
        local opt = optim.accumulate(optim.sgd { lr = 7 }, 3)
        local step = np.jit(function(params, state, g, lr) return opt:update({ g }, state, params, lr) end,
                            { donate = { 1, 2 } })
        local params = { np.array { 1, 2 } }
        local state = opt:init(params)
        for k, expected in ipairs { { 1, 2 }, { 1, 2 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { -2, -1 } } do
            params, state = step(params, state, np.full(2, k > 3 and 4 or k), 0.5)
            check.equal(params[1]:totable(), expected)
        end
        check.equal({ state.step:item(), state.inner.step:item() }, { 6, 2 })
        check.raises(function() optim.accumulate({}, 2) end, "an optimizer")
        check.raises(function() optim.accumulate(opt, 0) end, "count")
        check.raises(function() opt:update(params, {}, params) end, "opt:init")
    end },
})
of("np.optim.freeze", {
    args = THREE, accepts = "f32 f64", gives = "same", shapes = AROUND, within = FLOATS,
    without = { numbers = NUMBERS },
    options = { { lr = 0.25 } },
    call = function(f, o, p, g, h)
        local opt = f(optim.adam { lr = o.lr }, "^body", o.nonsense and { nonsense = o.nonsense })
        local params = { body = p, head = { p } }
        local state = opt:init(params)
        for _, grad in ipairs { g, h } do params, state = opt:update({ body = h, head = { grad } }, state, params) end
        return params.body, params.head[1]
    end,
    oracle = "(p, two_updates(optax.adam(o['lr']), p, g, h)[1])",
    also = { ["np.optim.freeze: by a function, all, none; what is no answer"] = function()
        local params = { np.ones(2), np.ones { 2, 2 } }
        local function trained(frozen)
            local opt = optim.freeze(optim.sgd { lr = 1, momentum = 0.5 }, frozen)
            local state = opt:init(params)
            local new = opt:update(params, state, params)
            return { new[1][0]:item(), new[2][0][0]:item(), #np.tree.leaves(state.inner.v) }
        end
        check.equal(trained(function(_, leaf) return leaf.ndim == 2 end), { 0, 1, 1 })
        check.equal(trained(function() return false end), { 0, 0, 2 })
        check.equal(trained(function() return true end), { 1, 1, 0 })
        check.raises(function() trained(function() end) end, "true or false, got nothing %(nil%) for '%[1%]'")
        check.raises(function() trained(3) end, "a pattern of paths")
    end },
})
of("np.optim.loss_scale", {
    args = THREE, accepts = "f32 f64", gives = "same", shapes = AROUND, within = FLOATS,
    without = { numbers = NUMBERS },
    options = { { lr = 0.25, scale = 8, interval = 1 }, { lr = 0.25, scale = 8, interval = 2, growth = 4 },
                { lr = 0.25, scale = 8, backoff = 0.25 } },
    call = function(f, o, p, g, h)
        return twice(f(optim.adam { lr = o.lr }, { scale = o.scale, interval = o.interval, growth = o.growth,
                                                   backoff = o.backoff, nonsense = o.nonsense }), p, g, h)
    end,
    oracle = "scaled_updates(o, p, g, h)",
    also = { ["np.optim.loss_scale: gradients of f16 that would be 0"] = function()
        local opt = optim.loss_scale(optim.sgd { lr = 1 }, { scale = 1024 })
        local params = { np.ones({ 2 }, { dtype = "f16" }) }
        local state = opt:init(params)
        local function loss(p, s) return (p[1] * 1e-4 * 1e-4):sum() * s.scale:astype "f16" end
        local grads = np.grad(loss)(params, state)
        check.ok((grads[1]:gt(0)):all():item())
        local new, after = np.jit(function(g, s, p) return opt:update(g, s, p) end)(grads, state, params)
        check.equal({ new[1].dtype, after.scale.dtype, after.good:item() }, { "f16", "f32", 1 })
    end },
})
elsewhere("lora.attach lora.init lora.merge", "tests/contracts/layers_test.lua", "np.nn.lora's contract calls them")

-- ---- Norms ----------------------------------------------------------------------------------------------------------

--- The dtype of the size of numbers.
local function size_of(dtype)
    local parts = { c64 = "f32", c128 = "f64" }
    return parts[dtype] or (dtype:find "f" and dtype) or np.result_type(dtype, 0.5)
end

local TREES = { { { 4 }, { 2, 2 } }, { { 2, 3 }, {} }, { { 0 }, { 1 } } }
local NORMS = { f64 = "scaled 4e-15", f32 = "scaled 1e-6", f16 = "ulp 1", bf16 = "ulp 1" }

of("np.optim.global_norm", {
    args = { { "x", special = large }, { "y", special = large } }, accepts = "floats ints bool complex",
    gives = size_of, shapes = TREES, within = NORMS, divided = NORMS, call = function(f, o, x, y)
        return f({ x, { y } }, next(o) and o or nil)
    end,
    oracle = "np.sqrt((np.abs(real(x)) ** 2).sum() + (np.abs(real(y)) ** 2).sum())", without = { numbers = NUMBERS },
})
of("np.optim.clip_by_global_norm", {
    args = { { "x", special = large }, { "y", special = large } }, accepts = "floats ints complex", shapes = TREES,
    within = NORMS, divided = NORMS, options = { { most = 1 }, { most = 100 }, { most = 0.25 } },
    call = function(f, o, x, y)
        local clipped = f({ x, { y } }, o.most, o.nonsense and { nonsense = o.nonsense })
        return clipped[1], clipped[2][1]
    end,
    oracle = "clipped(x, y, o['most'])", without = { numbers = NUMBERS },
    also = { ["np.optim.clip_by_global_norm: zeros, to 0"] = function()
        check.equal(optim.clip_by_global_norm({ np.zeros(2) }, 0)[1]:totable(), { 0, 0 })
        check.equal(optim.clip_by_global_norm({ np.ones(2) }, 0)[1]:totable(), { 0, 0 })
    end },
})

-- ---- Schedules ------------------------------------------------------------------------------------------------------

local STEP = { "step", from = 0, to = 20, special = { 0, 1, 5, 10, 11, 100 } }

--- A schedule f(numbers…) of the step, whose numbers `arguments` takes from the options o.
local function schedule(name, oracle, options, arguments, within)
    of("np.optim." .. name, {
        args = { STEP }, accepts = "floats ints", options = options, oracle = oracle,
        within = within or { f64 = "rel 4e-15", f32 = "rel 1e-6" },
        call = function(f, o, step)
            local list = arguments(o)
            list[#list + 1] = o.nonsense and { nonsense = o.nonsense }
            return f(unpack(list))(step)
        end,
    })
end

schedule("exponential_decay", "o['lr'] * o['rate'] ** (step / o['steps'])", { { lr = 0.5, rate = 0.75, steps = 4 } },
         function(o) return { o.lr, o.rate, o.steps } end)
schedule("cosine_decay", "optax.cosine_decay_schedule(o['lr'], o['steps'], o.get('floor', 0) / o['lr'])(step)",
         { { lr = 0.5, steps = 10 }, { lr = 0.5, steps = 10, floor = 0.125 } },
         function(o) return { o.lr, o.steps, o.floor or (o.nonsense and 0) } end,
         { f64 = "abs 1e-15", f32 = "abs 1e-6", f16 = "abs 1e-3", bf16 = "abs 1e-2" })
schedule("polynomial_decay",
         "optax.polynomial_schedule(o['lr'], o.get('floor', 0), o.get('power', 1), o['steps'])(step)",
         { { lr = 0.5, steps = 10 }, { lr = 0.5, steps = 10, floor = 0.125, power = 2 } },
         function(o) return { o.lr, o.steps, o.floor or 0, o.power or 1 } end)
schedule("one_cycle", "one_cycle(o, step)",
         { { lr = 0.5, steps = 10 }, { lr = 0.5, steps = 20, pct_start = 0.25, div_factor = 4, final_div_factor = 8 } },
         function(o)
             return { o.lr, o.steps, { pct_start = o.pct_start, div_factor = o.div_factor,
                                       final_div_factor = o.final_div_factor, nonsense = o.nonsense } }
         end,
         { f64 = "abs 1e-15", f32 = "abs 1e-6", f16 = "abs 1e-3", bf16 = "abs 1e-2" })
schedule("warmup", "np.minimum((step + 1) / o['steps'], 1) * o['lr'] * (0.5 ** (step / 4) if o.get('nested') else 1)",
         { { lr = 0.5, steps = 10 }, { lr = 0.5, steps = 10, nested = true } },
         function(o) return { o.nested and optim.exponential_decay(o.lr, 0.5, 4) or o.lr, o.steps } end)
schedule("piecewise", "piecewise(o, step)", { { lr = 0.5, at = { 5, 10 }, by = { 0.5, 0.1 } } },
         function(o) return { o.lr, { [o.at[1]] = o.by[1], [o.at[2]] = o.by[2] } } end)

finish()
