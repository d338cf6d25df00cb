--- cluster_test.lua: contracts of np.cluster (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "cluster"

local POINTS = "points are a matrix"
local ALL = "NaN among the points has tests of its own"
local LABELS = "labels are chosen, and have no slope"
local WHOLE = "keys and points are drawn whole"
local NEAR = { f64 = "mixed 1e-12", f32 = "mixed 1e-6" }

--- Points around some places far from each other.
local function blobs(random, dims, dtype)
    local n, features = unpack(dims)
    local list = {}
    for i = 1, n do
        list[i] = {}
        for k = 1, features do list[i][k] = (i * 7 % 3) * 5 * (k % 2) + random(1000) / 250 end
    end
    return np.array(list, { dtype = dtype })
end

local function key_of(random)
    return np.array({ random(2 ^ 20), random(2 ^ 20) }, { dtype = "u32" })
end

of("np.cluster.kmeans", {
    args = { { "key", make = key_of }, { "x", make = blobs } }, accepts = "f64",
    gives = { "real", "i32", "real", "i32" },
    shapes = { { { 2 }, { 20, 2 } }, { { 2 }, { 9, 20 } } },
    options = { {}, { n_init = 1 }, { n_init = 3, max_iter = 2 }, { n_init = 2, tol = 0 }, { far = 100 } },
    call = function(f, o, key, x)
        local given = {}
        for name, value in pairs(o) do given[name] = name ~= "far" and value or nil end
        if o.far then
            local off = np.array({ { 0 }, { 0 }, { o.far } }, { dtype = "f64" })
            given.init = x[{ { 0, 3 } }] + off
        end
        return f(key, x, 3, given)
    end,
    oracle = "kmeans(key, x, o)", unseen = { init = "far" }, within = NEAR, vmapped = NEAR, special = false,
    without = { special = ALL, numbers = POINTS, derivatives = LABELS, mesh = WHOLE,
                strided = "a key is two words in order" },
    refuses = {
        { "key", function() np.cluster.kmeans(1, np.ones { 3, 2 }, 2) end },
        { "a matrix of points", function() np.cluster.kmeans(np.random.key(0), np.ones(3), 2) end },
        { "a matrix of points", function() np.cluster.kmeans(np.random.key(0)) end },
        { "argument 3", function() np.cluster.kmeans(np.random.key(0), np.ones { 3, 2 }, 4) end },
        { "argument 3", function() np.cluster.kmeans(np.random.key(0), np.ones { 3, 2 }, 0) end },
        { "no points", function() np.cluster.kmeans(np.random.key(0), np.ones { 0, 2 }, 1) end },
        { "NaN", function() np.cluster.kmeans(np.random.key(0), np.full({ 3, 2 }, np.nan), 2) end },
        { "complex", function() np.cluster.kmeans(np.random.key(0), np.ones({ 3, 2 }, { dtype = "c64" }), 2) end },
        { "tol", function() np.cluster.kmeans(np.random.key(0), np.ones { 3, 2 }, 2, { tol = -1 }) end },
        { "no restarts", function()
            np.cluster.kmeans(np.random.key(0), np.ones { 3, 2 }, 2, { n_init = 4, init = np.ones { 2, 2 } })
        end },
        { "'init' must be 2 points", function()
            np.cluster.kmeans(np.random.key(0), np.ones { 3, 2 }, 2, { init = np.ones { 3, 2 } })
        end },
    },
    also = {
        ["dtypes, tables, and NaN while tracing"] = function()
            local key, x = np.random.key(3), { { 0, 0 }, { 0, 1 }, { 9, 9 } }
            check.equal((np.cluster.kmeans(key, x, 2)).dtype, "f32")
            check.equal((np.cluster.kmeans(key, np.array(x, { dtype = "f16" }), 2)).dtype, "f16")
            check.equal((np.cluster.kmeans(key, np.array(x, { dtype = "i64" }), 2)).dtype, "f64")
            local centers, _, inertia = np.jit(function(y) return np.cluster.kmeans(key, y, 2) end)(np.array(x) / 0)
            check.ok(np.isnan(centers):all():item() and np.isnan(inertia):item(), "NaN")
        end,
        ["fewer different points than centers"] = function()
            local _, labels, inertia = np.cluster.kmeans(np.random.key(1), np.ones { 4, 2 }, 3)
            check.equal({ inertia:item(), labels:max():item() }, { 0, 0 })
        end,
        ["many points, some at a time"] = function()
            local key = np.random.key(2)
            local x = np.random.uniform(key, { 60000, 2 }) + np.expand_dims(np.arange(60000) % 3, 1) * 10
            local centers, labels = np.cluster.kmeans(key, x, 3, { n_init = 8, max_iter = 5 })
            local order = np.argsort(centers[{ {}, 0 }])
            check.equal(np.take(np.argsort(order), labels):eq(np.arange(60000) % 3):all():item(), true)
        end,
    },
})

of("np.cluster.dbscan", {
    args = { { "x", make = blobs } }, accepts = "f64 f32", shapes = { { { 40, 2 } }, { { 12, 1 } } },
    options = { {}, { min_samples = 3 }, { min_samples = 1 } }, gives = { "i32", "bool" }, special = false,
    call = function(f, o, x) return f(x, 1.5, next(o) and o) end,
    oracle = "dbscan(x, o)",
    waits = function() return true end,
    without = { special = ALL, numbers = POINTS, derivatives = LABELS, jit = "it waits for values",
                vmap = "it waits for values", programs = "it waits for values" },
    refuses = {
        { "above 0", function() np.cluster.dbscan(np.ones { 3, 2 }, 0) end },
        { "above 0", function() np.cluster.dbscan(np.ones { 3, 2 }) end },
        { "a matrix of points", function() np.cluster.dbscan(np.ones(3), 1) end },
        { "min_samples", function() np.cluster.dbscan(np.ones { 3, 2 }, 1, { min_samples = 0 }) end },
        { "NaN", function() np.cluster.dbscan(np.full({ 3, 2 }, np.inf), 1) end },
        { "tracing", function() np.jit(function(x) return np.cluster.dbscan(x, 1) end)(np.ones { 3, 2 }) end },
    },
    also = {
        ["no points"] = function()
            local labels, core = np.cluster.dbscan(np.zeros { 0, 3 }, 1)
            check.equal({ labels.size, core.dtype }, { 0, "bool" })
        end,
        ["distances that are eps are near"] = function() -- of 4 by 3 places the corners have two neighbours
            local grid = np.stack({ np.arange(12) % 4, np.floor_divide(np.arange(12), 4) }, { axis = 1 })
            local labels, core = np.cluster.dbscan(grid, 1, { min_samples = 4 })
            check.equal(labels:eq(0):all():item(), true)
            check.equal(core:sum():item(), 8)
        end,
        ["many points, some at a time"] = function()
            local turn = np.arange(1500, { dtype = "f64" }) * (2 * math.pi / 750)
            local far = np.expand_dims(np.floor_divide(np.arange(1500), 750) + 1, 1)
            local rings = np.stack({ np.cos(turn), np.sin(turn) }, { axis = 1 }) * far
            local labels, core = np.cluster.dbscan(rings, 0.1)
            check.equal(labels:eq(np.floor_divide(np.arange(1500), 750)):all():item(), true)
            check.equal(core:all():item(), true)
        end,
    },
})

-- Whole numbers, so that many points are equally near; and some that are infinite or NaN.
local function crowd(seed, n, features)
    local x = np.random.randint(np.random.key(seed), { n, features }, -2, 3):astype "f64"
    local odd = np.random.randint(np.random.key(seed + 100), { n, features }, 0, 60)
    return np.where(odd:eq(0), np.inf, np.where(odd:eq(1), -np.inf, np.where(odd:eq(2), np.nan, x)))
end

--- Compares the k nearest of n points to 40 queries, as np.cluster.kneighbors finds them, with those of all pairs.
local function check_nearest(n, features, k)
    local x, queries = crowd(n + features, n, features), crowd(n + features + 50, 40, features)
    local squares = np.sum(np.square(np.expand_dims(queries, 1) - x), { axis = 2 })
    local distances, indices = np.cluster.kneighbors(x, queries, k)
    local nearest, expected = np.top_k(squares, k, { largest = false })
    local what = ("%d of %d points of %d features"):format(k, n, features)
    check.equal(indices:totable(), expected:totable(), what)
    check.equal(np.nan_to_num(distances, { nan = -1 }):totable(),
                np.nan_to_num(np.sqrt(nearest), { nan = -1 }):totable(), what)
end

of("np.cluster.kneighbors", {
    args = { "x", "queries" }, accepts = "f64 f32", gives = { "real", "i32" },
    shapes = { { { 9, 2 }, { 4, 2 } }, { { 5, 20 }, { 3, 20 } }, { { 3, 1 }, { 0, 1 } } },
    call = function(f, o, x, queries) return f(x, queries, 3, next(o) and o) end,
    oracle = "kneighbors(x, queries, 3) if len(queries) else (np.zeros((0, 3)), np.zeros((0, 3), int))",
    within = NEAR, vmapped = NEAR, divided = NEAR, special = false, slope = 1e-4, smooth = 2,
    without = { special = ALL, numbers = POINTS },
    refuses = {
        { "as many features", function() np.cluster.kneighbors(np.ones { 3, 2 }, np.ones { 3, 3 }, 1) end },
        { "argument 3", function() np.cluster.kneighbors(np.ones { 3, 2 }, np.ones { 3, 2 }, 4) end },
        { "queries", function() np.cluster.kneighbors(np.ones { 3, 2 }) end },
    },
    also = {
        ["points in a tree are found as among all pairs"] = function()
            for _, n in ipairs { 1, 9, 10, 300 } do
                for features = 0, 4, 2 do check_nearest(n, features, math.min(n, 12)) end
                check_nearest(n, 3, n)
            end
        end,
        ["points that are equally near, and NaN"] = function()
            local x = np.array { { 1 }, { -1 }, { 1 }, { np.nan } }
            local distances, indices = np.cluster.kneighbors(x, np.zeros { 1, 1 }, 4)
            check.equal(indices:totable(), { { 0, 1, 2, 3 } })
            check.ok(np.isnan(distances[0][3]):item(), "NaN")
        end,
        ["many points, some at a time"] = function()
            local x = np.random.normal(np.random.key(4), { 1500, 3 })
            local distances, indices = np.cluster.kneighbors(x, x, 2)
            check.equal(indices[{ {}, 0 }]:eq(np.arange(1500)):all():item(), true)
            local part, of_part = np.cluster.kneighbors(x, x[{ { 1400, 1500 } }], 2)
            check.equal(distances[{ { 1400, 1500 } }]:eq(part):all():item(), true)
            check.equal(indices[{ { 1400, 1500 } }]:eq(of_part):all():item(), true)
        end,
    },
})

of("np.cluster.pca", {
    args = { "x" }, accepts = "f64 f32 i32", shapes = { { { 6, 3 } }, { { 4, 5 } } },
    call = function(f, o, x)
        local p = f(x, 2, next(o) and o)
        return p.components, p.mean, p.ratio, p.scores, p.variance
    end,
    oracle = "principal(x, 2)", within = { f64 = "mixed 1e-10", f32 = "mixed 1e-5" },
    vmapped = { f64 = "mixed 1e-10", f32 = "mixed 1e-5" }, divided = { f64 = "mixed 1e-10", f32 = "mixed 1e-5" },
    special = false, slope = 1e-3, smooth = 1, without = { special = ALL, numbers = POINTS },
    refuses = {
        { "two points", function() np.cluster.pca(np.ones { 1, 2 }, 1) end },
        { "argument 2", function() np.cluster.pca(np.ones { 4, 2 }, 3) end },
        { "a matrix of points", function() np.cluster.pca(np.ones(4), 1) end },
    },
})

elsewhere("np.cluster", "tests/contracts/cluster_test.lua", "the table of the functions that this file holds")

finish()
