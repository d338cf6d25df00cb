--- near.lua: distances between points, and the nearest ones: np.cluster.kneighbors, np.cluster.dbscan. Points are rows
-- of a matrix (n, features), and count in f64.
--
-- All distances of n points and m others are n m numbers, so they are looked at some rows at a time: `near.by_rows`; or
-- few are, in a tree.

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local samples = require "neap.stats.samples"
local shape = require "neap.arrays.shape"

local np, raise, bad_argument = core.np, core.raise, core.bad_argument

local near = {}

local ELEMENTS = 2 ^ 20 -- distances that are there at a time
local FEW = 16 -- features up to which differences are squared one by one
local IN_TREE = 8 -- features up to which a tree leaves out most points

--- Points of np.NAME as matrices of f64, in a list, behind the dtype of results where that is another one. `names`:
-- what the arguments are called, from argument `first` on.
function near.points(name, first, names, ...)
    local given = { ... }
    for k, what in ipairs(names) do
        if given[k] == nil then bad_argument(name, first + k - 1, what, "a matrix of points", nil) end
    end
    local narrow, list = operands.floats_list(name, "f64", #names, given)
    for k, x in ipairs(list) do
        if core.dtype_of(x).kind == "c" then raise(name, "takes real numbers, got complex ones") end
        if core.ndim(x) ~= 2 then
            raise(name, "argument %d (%s) must be a matrix of points, got shape %s", first + k - 1, names[k],
                  core.shape_text(x))
        end
    end
    return narrow, list
end

--- Raises where an element of an argument is NaN or infinite; nothing is asked while tracing.
function near.check_finite(name, position, what, x)
    if not core.recording() and not np.all(np.isfinite(x)):item() then
        raise(name, "argument %d (%s) has elements that are NaN or infinite", position, what)
    end
end

--- The squares of the distances of points (n, features) and others (m, features): (n, m). Those of many features are
-- made of a product, |a|² + |b|² - 2 a b, around the mean of the others.
function near.squared(a, b)
    local features = core.shape_of(a)[2]
    if features > FEW then
        local mean = np.mean(b, { axis = 0 })
        a, b = a - mean, b - mean
        local sizes = np.sum(a * a, { axis = 1, keepdims = true }) + np.sum(b * b, { axis = 1 })
        return np.maximum(sizes - 2 * np.matmul(a, np.matrix_transpose(b)), 0)
    end
    local sum
    for k = 0, features - 1 do
        local square = np.square(np.expand_dims(np.take(a, k, { axis = 1 }), 1) - np.take(b, k, { axis = 1 }))
        sum = sum and sum + square or square
    end
    return sum or np.zeros({ core.shape_of(a)[1], core.shape_of(b)[1] }, { dtype = "f64" })
end

--- The results of f(rows of x), arrays of as many rows, for all rows: f is given as many at a time as have about 2^20
-- numbers, `width` each.
function near.by_rows(x, width, f)
    local n = core.shape_of(x)[1]
    local most = math.max(1, math.floor(ELEMENTS / width))
    if n <= most then return f(x) end
    local turns = math.floor(n / most)
    local whole = np.reshape(shape.cut(x, 0, 0, turns * most), turns, most, -1)
    local _, parts = np.scan(function(_, rows) return {}, { f(rows) } end, {}, whole)
    local rest = turns * most < n and { f(shape.cut(x, 0, turns * most, n)) } or {}
    for k, part in ipairs(parts) do
        local dims = core.shape_of(part)
        local joined = np.reshape(part, { turns * most, unpack(dims, 3) })
        parts[k] = rest[k] and np.concatenate({ joined, rest[k] }) or joined
    end
    return unpack(parts)
end

--- The k points of x (n, features) that are nearest to each query (m, features): (m, k). Of few features the core finds
-- them without looking at all pairs (lazy/ops/near.c).
local function nearest(x, queries, k)
    local n, features = samples.count(x, 0), samples.count(x, 1)
    if features <= IN_TREE then
        core.attrs[0] = k
        return core.record2(core.ids.nearest, x, queries, 1)
    end
    return (near.by_rows(queries, n, function(rows)
        local squares = near.squared(np.stop_gradient(rows), np.stop_gradient(x))
        local _, at = np.top_k(squares, k, { largest = false })
        return at
    end))
end

--- np.cluster.kneighbors(x, queries, k) -> distances, indices: of each query the k nearest points of x, the nearest one
-- first: (m, k) for points (n, features) and queries (m, features); of equally near ones the first come first. A point
-- of x that is a query, too, is its own nearest one. Distances are Euclidean and have derivatives, but for distances of
-- 0; those that are NaN come last. Of up to 8 features a tree leaves out most pairs; of more all pairs are looked at,
-- some rows at a time. As scikit-learn's NearestNeighbors.
--- > np.cluster.kneighbors(np.array{{0, 0}, {3, 4}, {1, 0}}, np.array{{0, 0.5}}, 2)
-- [[0.5      1.118034]]
-- [[0 2]]
function near.kneighbors(x, queries, k, extra)
    local name = "cluster.kneighbors"
    if extra ~= nil then core.too_many(name, 3, extra) end
    local narrow, list = near.points(name, 1, { "x", "queries" }, x, queries)
    x, queries = unpack(list)
    local n, features = samples.count(x, 0), samples.count(x, 1)
    if not core.is_same(features, samples.count(queries, 1)) then
        raise(name, "expected points of as many features, got shapes %s and %s", core.shape_text(x),
              core.shape_text(queries))
    end
    k = core.integer(name, 3, "k", k, 1, n)
    local at = nearest(x, queries, k)
    local off = np.expand_dims(queries, 1) - np.take(x, at, { axis = 0 })
    return operands.narrow(np.sqrt(np.sum(np.square(off), { axis = -1 })), narrow), at
end

-- ---- np.cluster.dbscan ----------------------------------------------------------------------------------------------

--- The root of a point in a forest of lists, in which each point on the way is set to its parent's parent.
local function root_of(parent, i)
    while parent[i] ~= i do
        parent[i] = parent[parent[i]]
        i = parent[i]
    end
    return i
end

--- Joins the trees of pairs of core points; the least place is the root. Appends the other pairs to a list.
local function join(parent, is_core, rows, columns, others)
    for k = 1, #rows do
        local i, j = rows[k], columns[k]
        if not is_core[j + 1] then
            others[#others + 1] = { i, j }
        elseif j < i then
            i, j = root_of(parent, i), root_of(parent, j)
            if i < j then parent[j] = i else parent[i] = j end
        end
    end
end

--- Labels of n points: clusters are numbered by their first core point; another point has the least label of the core
-- points near to it; -1 for noise. others: pairs of a core point and such a point.
local function labels_of(parent, is_core, n, others)
    local labels, count = {}, 0
    for i = 0, n - 1 do
        labels[i + 1] = -1
        if is_core[i + 1] then
            local root = root_of(parent, i)
            if root == i then
                labels[i + 1] = count
                count = count + 1
            else
                labels[i + 1] = labels[root + 1]
            end
        end
    end
    for _, pair in ipairs(others) do
        local label, known = labels[pair[1] + 1], labels[pair[2] + 1]
        if known < 0 or label < known then labels[pair[2] + 1] = label end
    end
    return labels
end

--- np.cluster.dbscan(x, eps, {min_samples=5}) -> labels, core: clusters of points (n, features) that lie close: a core
-- point has min_samples points or more, itself among them, at a distance of at most eps; core points that are as near
-- to each other are in one cluster, and so are other points near to one, of several the first cluster. labels are i32,
-- numbered from 0 in the order of the first core points, -1 for noise; core is a mask. Distances are Euclidean; those
-- of more than 16 features have the error of a product, some 1e-16 of the squared size. All pairs are looked at twice,
-- some rows at a time. Waits for values, and raises while tracing and for NaN. As scikit-learn's DBSCAN (M. Ester and
-- others, A density-based algorithm for discovering clusters in large spatial databases with noise, 1996).
--- min_samples: how many points lie near to a core point, with itself
--- > np.cluster.dbscan(np.array{{0, 0}, {0, 1}, {1, 0}, {9, 9}, {9, 8}}, 1, {min_samples=3})
-- [ 0  0  0 -1 -1]
-- [ True False False False False]
function near.dbscan(x, eps, given, extra)
    local name = "cluster.dbscan"
    local o = samples.options(name, given, { min_samples = true }, extra, 3)
    local _, list = near.points(name, 1, { "x" }, x)
    x = list[1]
    if type(eps) ~= "number" or not (eps > 0 and eps < math.huge) then
        bad_argument(name, 2, "eps", "a number above 0", eps)
    end
    local least = core.integer(name, nil, "min_samples", o.min_samples == nil and 5 or o.min_samples, 1)
    near.check_finite(name, 1, "x", x)
    local n = samples.count(x, 0)
    if n == 0 then return np.zeros({ 0 }, { dtype = "i32" }), np.zeros({ 0 }, { dtype = "bool" }) end
    local function close(rows) return np.less_equal(near.squared(rows, x), eps * eps) end
    local is_core = np.greater_equal(near.by_rows(x, n, function(rows)
        return np.sum(np.astype(close(rows), "i32"), { axis = 1 })
    end), least)
    local places = np.nonzero(is_core)
    local mask, of_core = is_core:totable(), places:totable()
    local parent, others = {}, {}
    for i = 0, n - 1 do parent[i] = i end
    local most = math.max(1, math.floor(ELEMENTS / n))
    for from = 0, #of_core - 1, most do
        local part = shape.cut(places, 0, from, math.min(from + most, #of_core))
        local rows, columns = np.nonzero(close(np.take(x, part, { axis = 0 })))
        join(parent, mask, np.take(part, rows):totable(), columns:totable(), others)
    end
    return np.array(labels_of(parent, mask, n, others), { dtype = "i32" }), is_core
end
jit.off(near.dbscan)

return near
