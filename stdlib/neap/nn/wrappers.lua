--- wrappers.lua: np.optim: optimizers around another one: gradients of several batches, parameters that stay, a scaled
-- loss for halves. Each has the same init and update as the one inside, whose state is `inner`.
local core = require "neap.core"
local tree = require "neap.core.tree"
local trees = require "neap.core.trees"

local np = core.np
local raise, options, is_array = core.raise, core.options, core.is_array

return function(optim, helpers)
    local counted, number_option, zeros_like = helpers.counted, helpers.number_option, helpers.zeros_like

    local Wrapper = {}
    Wrapper.__index = Wrapper

    --- An optimizer with these functions: init(params) → state, update(grads, state, params, lr) → params, state.
    local function wrapper(name, inner, init, update)
        return setmetatable({ name = name, inner = inner, start = init, change = update }, Wrapper)
    end

    function Wrapper:__tostring()
        return ("np.%s(%s)"):format(self.name, tostring(self.inner))
    end

    function Wrapper:init(params)
        local state = self.start(params)
        state.step = np.zeros({}, { dtype = "i32" })
        return state
    end

    function Wrapper:update(grads, state, params, lr)
        if type(state) ~= "table" or not is_array(state.step) or type(state.inner) ~= "table" then
            core.bad_argument(self.name .. ":update", 2, "state", "what opt:init(params) returned", state)
        end
        local changed, new = self.change(grads, state, params, lr)
        new.step = state.step + 1
        return changed, new
    end

    local function check_optimizer(name, opt)
        local fits = type(opt) == "table" and getmetatable(opt) ~= nil and type(opt.init) == "function"
            and type(opt.update) == "function"
        if not fits then core.bad_argument(name, 1, "opt", "an optimizer, such as np.optim.adam{lr=1e-3}", opt) end
        return opt
    end

    --- np.optim.accumulate(opt, count) -> optimizer: updates parameters by opt at every count-th call, with the mean of
    -- the gradients of so many calls; the calls between return the parameters as they are. So `count` small batches do
    -- the work of a large one, whose activations would not fit into memory. Gradients of halves are added in f32.
    --- > opt = np.optim.accumulate(np.optim.sgd{lr=1}, 2)
    --- > params = {np.array{1, 2}}
    --- > params, state = opt:update({np.array{1, 0}}, opt:init(params), params)
    --- > params[1], opt:update({np.array{3, 0}}, state, params)[1]
    -- [1. 2.]
    -- [-1.  2.]
    function optim.accumulate(opt, count)
        local name = "optim.accumulate"
        check_optimizer(name, opt)
        count = core.integer(name, 2, "count", count, 1)
        local function init(params) return { inner = opt:init(params), sum = zeros_like(counted(params)) } end
        return wrapper(name, opt, init, function(grads, state, params, lr)
            local sum = tree.map(function(s, g) return s + g / count end, state.sum, counted(grads))
            local changed, inner, kept = np.cond(
                np.equal((state.step + 1) % count, 0),
                function(total, before, old)
                    local new, after = opt:update(total, before, old, lr)
                    return new, after, zeros_like(total)
                end,
                function(total, before, old) return old, before, total end,
                sum, state.inner, params)
            return changed, { inner = inner, sum = kept }
        end)
    end

    --- The places of a tree's leaves that are trained, in the order of the leaves: a list of booleans.
    local function trained_of(params, frozen)
        local list = {}
        for k, pair in ipairs(tree.paths(params)) do list[k] = not frozen(pair[1], pair[2]) end
        return list
    end

    --- Of a tree with leaves in the places of `trained`, those that are, as a list.
    local function pick(name, t, trained)
        local picked, leaves = {}, tree.leaves(t)
        if #leaves ~= #trained then raise(name, "the trees have %d and %d leaves", #leaves, #trained) end
        for k, leaf in ipairs(leaves) do
            if trained[k] then picked[#picked + 1] = leaf end
        end
        return picked
    end

    --- np.optim.freeze(opt, frozen) -> optimizer: opt for some of the parameters; the others stay as they are, and have
    -- no state. frozen(path, leaf) returns true for these others; paths are those of np.tree.paths, "layers[1].w". Or
    -- `frozen` is a Lua pattern of such paths.
    --- > opt = np.optim.freeze(np.optim.sgd{lr=1}, "^body")
    --- > params = {body = np.array{1}, head = np.array{1}}
    --- > params = opt:update({body = np.array{5}, head = np.array{5}}, opt:init(params), params)
    --- > params.body, params.head
    -- [1.]
    -- [-4.]
    function optim.freeze(opt, frozen)
        local name = "optim.freeze"
        check_optimizer(name, opt)
        frozen = trees.chooser(name, 2, "frozen", frozen)
        local function init(params)
            return { inner = opt:init(pick(name, params, trained_of(params, frozen))) }
        end
        return wrapper(name, opt, init, function(grads, state, params, lr)
            local trained = trained_of(params, frozen)
            local changed, inner = opt:update(pick(name, grads, trained), state.inner, pick(name, params, trained), lr)
            local leaves, structure = tree.flatten(params)
            local next_one = 0
            for k = 1, #leaves do
                if trained[k] then
                    next_one = next_one + 1
                    leaves[k] = changed[next_one]
                end
            end
            return tree.unflatten(structure, leaves), { inner = inner }
        end)
    end

    --- Whether all elements of a tree are finite, 0-d.
    local function all_finite(t)
        return tree.reduce(function(so_far, x) return np.logical_and(so_far, np.all(np.isfinite(x))) end, t,
                           np.ones({}, { dtype = "bool" }))
    end

    --- np.optim.loss_scale(opt, {scale=65536, growth=2, backoff=0.5, interval=2000}) -> optimizer: for losses in f16,
    -- whose small gradients would be 0. The loss is multiplied by state.scale; update divides gradients by that, in
    -- f32, and leaves parameters and the state of opt as they are where a gradient is not finite. The scale grows after
    -- so many finite updates in a row, and is backed off after one that is not, as PyTorch's GradScaler does.
    --- scale: of the first loss
    --- growth: factor of the scale after `interval` finite updates in a row
    --- backoff: factor of the scale after an update that was left out
    --- interval: finite updates in a row before the scale grows
    --- > opt = np.optim.loss_scale(np.optim.sgd{lr=1}, {scale=8})
    --- > params = {np.array{1}}
    --- > state = opt:init(params)
    --- > params, state = opt:update({np.array{math.huge}}, state, params)
    --- > params[1], state.scale
    -- [1.]
    -- 4.0
    function optim.loss_scale(opt, given)
        local name = "optim.loss_scale"
        check_optimizer(name, opt)
        given = options(name, given, { scale = true, growth = true, backoff = true, interval = true })
        local scale = number_option(name, given, "scale", 65536, 0, math.huge)
        local growth = number_option(name, given, "growth", 2, 1, math.huge)
        local backoff = number_option(name, given, "backoff", 0.5, 0, 1)
        local interval = core.integer(name, nil, "interval", given.interval or 2000, 1)
        local function init(params)
            return { inner = opt:init(params), scale = np.full({}, scale, { dtype = "f32" }),
                     good = np.zeros({}, { dtype = "i32" }) }
        end
        return wrapper(name, opt, init, function(grads, state, params, lr)
            local plain = tree.map(function(g) return g / np.astype(state.scale, g.dtype) end, counted(grads))
            local finite = all_finite(plain)
            local changed, inner = np.cond(
                finite,
                function(g, before, old) return opt:update(g, before, old, lr) end,
                function(_, before, old) return old, before end,
                plain, state.inner, params)
            local good = np.where(finite, state.good + 1, 0)
            local grows = np.equal(good, interval)
            local factor = np.where(finite, np.where(grows, growth, 1), backoff)
            return changed, { inner = inner, scale = np.astype(state.scale * factor, "f32"),
                              good = np.astype(np.where(grows, 0, good), "i32") }
        end)
    end
end
