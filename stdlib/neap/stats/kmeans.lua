--- kmeans.lua: np.cluster.kmeans: points around k centers, by Lloyd's method from centers that are drawn.
--
-- All restarts go on together, in the first axis of centers (restarts, k, features); those that are done stay as they
-- are. The centers to begin with are drawn far from each other (D. Arthur and S. Vassilvitskii, k-means++: the
-- advantages of careful seeding, 2007). It is a loop of np.while_loop, so it runs inside of np.jit and np.vmap.

local core = require "neap.core"
local near = require "neap.stats.near"
local samples = require "neap.stats.samples"

local np, raise, bad_argument = core.np, core.raise, core.bad_argument

--- The nearest center of each point, and the square of its distance: (restarts, n) both.
local function assign(x, centers)
    local r, k, features = unpack(core.shape_of(centers))
    local flat = np.reshape(centers, r * k, features)
    local labels, least = near.by_rows(x, r * k, function(rows)
        local squares = np.reshape(near.squared(rows, flat), -1, r, k)
        return np.argmin(squares, { axis = -1 }), np.min(squares, { axis = -1 })
    end)
    return np.matrix_transpose(labels), np.matrix_transpose(least)
end

--- The sums of the points of each label, (restarts, k, features), and how many there are, (restarts, k).
local function sums_of(x, labels, k)
    local ones = np.ones({ samples.count(x, 0) }, { dtype = "f64" })
    return np.vmap(function(one)
        return np.segment_sum(x, one, { num_segments = k }), np.segment_sum(ones, one, { num_segments = k })
    end)(labels)
end

--- Labels where each center without points gets one: the one that is farthest from its center the first of these, and
-- so on.
local function relocated(labels, least, counts, k)
    return np.vmap(function(own, distance, count)
        local empty = np.astype(np.equal(count, 0), "i32")
        local order = np.argsort(empty, { descending = true })
        local _, far = np.top_k(distance, k)
        local new = np.where(np.less(np.arange(k), np.sum(empty)), order, np.take(own, far))
        return own:at({ far }):set(np.astype(new, own.dtype))
    end)(labels, least, counts)
end

--- Centers of one more turn of Lloyd's method, and the labels that they are made of.
local function turn(x, centers)
    local k = core.shape_of(centers)[2]
    local labels, least = assign(x, centers)
    local sums, counts = sums_of(x, labels, k)
    sums, counts = np.cond(np.any(np.equal(counts, 0)), function()
        return sums_of(x, relocated(labels, least, counts, k), k)
    end, function() return sums, counts end)
    local some = np.expand_dims(np.greater(counts, 0), -1)
    local new = np.where(some, sums / np.expand_dims(np.maximum(counts, 1), -1), centers)
    return new, labels
end

--- Centers to begin with, (restarts, k, features): points, each drawn with a probability that grows as the square of
-- its distance from those before. The numbers that choose are uniform ones of the key, (k, restarts).
local function drawn(key, x, k, restarts)
    local n, features = samples.count(x, 0), samples.count(x, 1)
    local uniform = np.random.uniform(key, { k, restarts }, { dtype = "f64" })
    return np.fori_loop(0, k, function(j, state)
        local sums = np.cumsum(state.weight, { axis = 1 })
        local target = np.expand_dims(np.take(uniform, j, { axis = 0 }) * np.take(sums, n - 1, { axis = 1 }), 1)
        local at = np.sum(np.astype(np.less_equal(sums, target), "i32"), { axis = 1 })
        local center = np.take(x, np.minimum(at, n - 1), { axis = 0 })
        local squares = near.by_rows(x, restarts, function(rows) return near.squared(rows, center) end)
        squares = np.matrix_transpose(squares)
        local here = np.reshape(np.equal(np.arange(k), j), 1, k, 1)
        return { centers = np.where(here, np.expand_dims(center, 1), state.centers),
                 weight = np.where(np.equal(j, 0), squares, np.minimum(state.weight, squares)) }
    end, { centers = np.zeros({ restarts, k, features }, { dtype = "f64" }),
           weight = np.ones({ restarts, n }, { dtype = "f64" }) }).centers
end

--- Centers of Lloyd's method, and how many turns each restart took, at most `most`; a restart is done when no label
-- changes, or the centers move by no more than `tol`, a sum of squares.
local function lloyd(x, centers, most, tol)
    local restarts, n = core.shape_of(centers)[1], samples.count(x, 0)
    local none = np.zeros({ restarts }, { dtype = "i32" })
    return np.while_loop(function(state)
        return np.logical_and(np.any(np.logical_not(state.done)), np.less(np.max(state.turns), most))
    end, function(state)
        local new, labels = turn(x, state.centers)
        local shift = np.sum(np.square(new - state.centers), { axis = { 1, 2 } })
        local same = np.all(np.equal(labels, state.labels), { axis = 1 })
        local kept = np.reshape(state.done, restarts, 1, 1)
        return { centers = np.where(kept, state.centers, new), labels = labels,
                 turns = state.turns + np.astype(np.logical_not(state.done), "i32"),
                 done = np.logical_or(state.done, np.logical_or(same, np.less_equal(shift, tol))) }
    end, { centers = centers, labels = np.full({ restarts, n }, -1, { dtype = "i32" }), turns = none,
           done = np.astype(none, "bool") })
end

local KNOWN = { n_init = true, max_iter = true, tol = true, init = true }

--- The options of np.cluster.kmeans, for points (n, features) and k centers.
local function settings(name, given, extra, x, k)
    local o = samples.options(name, given, KNOWN, extra, 4)
    local tol = o.tol == nil and 1e-4 or o.tol
    if type(tol) ~= "number" or tol ~= tol or tol < 0 then
        bad_argument(name, nil, "tol", "a number from 0 on", o.tol)
    end
    local init
    if o.init ~= nil then
        if o.n_init ~= nil and o.n_init ~= 1 then raise(name, "of centers that are given there are no restarts") end
        local _, list = near.points(name, 3, { "init" }, o.init)
        init = list[1]
        local dims = core.shape_of(init)
        if dims[1] ~= k or not core.is_same(dims[2], samples.count(x, 1)) then
            raise(name, "the option 'init' must be %d points as those of shape %s, got shape %s", k,
                  core.shape_text(x), core.shape_text(init))
        end
    end
    return { init = init, tol = tol,
             restarts = core.integer(name, nil, "n_init", o.n_init == nil and 10 or o.n_init, 1),
             most = core.integer(name, nil, "max_iter", o.max_iter == nil and 300 or o.max_iter, 1) }
end

return function(cluster)
    --- np.cluster.kmeans(key, x, k, {n_init=10, max_iter=300, tol=1e-4, init=…}) -> centers, labels, inertia, turns: k
    -- centers (k, features) of points (n, features) so that the squares of the distances from the nearest one have a
    -- small sum, the inertia; labels (n), i32, which center that is; and the turns of Lloyd's method that it took. Of
    -- several restarts the one of the least inertia. What is drawn depends on the key alone. A center that is left
    -- without points gets the one that is farthest from its own. Raises for NaN and infinities, of which inertia and
    -- centers are NaN while tracing; without a derivative. As scikit-learn's KMeans, but that the first centers are
    -- drawn once each, not chosen among some.
    --- n_init: how many restarts there are
    --- max_iter: the largest number of turns
    --- tol: a restart ends when the squares of what its centers move sum up to tol times the mean variance of a feature
    --- init: the centers to begin with, (k, features), in place of those that are drawn
    --- > x = np.array{{0, 0}, {0, 1}, {9, 9}, {9, 8}}
    --- > np.cluster.kmeans(np.random.key(0), x, 2, {init=np.array{{0, 0}, {1, 1}}})
    -- [[0.  0.5]
    --  [9.  8.5]]
    -- [0 0 1 1]
    -- 1.0
    -- 2
    function cluster.kmeans(key, x, k, given, extra)
        local name = "cluster.kmeans"
        local narrow, list = near.points(name, 2, { "x" }, x)
        x = np.stop_gradient(list[1])
        local n = samples.count(x, 0)
        if n == 0 then raise(name, "there are no points") end
        k = core.integer(name, 3, "k", k, 1, n)
        local o = settings(name, given, extra, x, k)
        near.check_finite(name, 2, "x", x)
        local first = o.init and np.expand_dims(o.init, 0) or drawn(key, x, k, o.restarts)
        local state = lloyd(x, first, o.most, np.mean(np.var(x, { axis = 0 })) * o.tol)
        local labels, least = assign(x, state.centers)
        local best = np.argmin(np.sum(least, { axis = 1 }))
        local centers, label = np.take(state.centers, best, { axis = 0 }), np.take(labels, best, { axis = 0 })
        local inertia = np.sum(np.square(x - np.take(centers, label, { axis = 0 })))
        if core.recording() then
            local finite = np.all(np.isfinite(x))
            centers, inertia = np.where(finite, centers, np.nan), np.where(finite, inertia, np.nan)
        end
        centers, inertia = samples.results(narrow, centers, inertia)
        return centers, np.astype(label, "i32"), inertia, np.take(state.turns, best)
    end
end
