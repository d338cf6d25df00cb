--- np.cluster: groups of points, their neighbours, and the axes along which they lie. Points are rows of a matrix (n,
-- features). Distances count in f64; results are rounded once.

local core = require "neap.core"
local near = require "neap.stats.near"
local operands = require "neap.arrays.operands"
local samples = require "neap.stats.samples"

local np, raise = core.np, core.raise

local cluster = { kneighbors = near.kneighbors, dbscan = near.dbscan }
require "neap.stats.kmeans"(cluster)

--- np.cluster.pca(x, k) -> table: the k directions in which points (n, features) differ most: the field components has
-- them as rows (k, features), at right angles and of length 1, each with its largest element above 0; variance, along
-- each, divided by n - 1, and ratio, its part of the whole variance, (k); mean, that of the points (features); scores,
-- where the points lie along the components (n, k): (x - mean) times these. By np.linalg.svd, whose derivatives it has.
-- As scikit-learn's PCA.
--- > p = np.cluster.pca(np.array{{1, 1}, {2, 2}, {3, 3}}, 1)
--- > p.components, p.scores, p.ratio
-- [[0.70710677 0.70710677]]
-- [[-1.4142135]
--  [ 0.       ]
--  [ 1.4142135]]
-- [1.]
function cluster.pca(x, k, extra)
    local name = "cluster.pca"
    if extra ~= nil then core.too_many(name, 2, extra) end
    local narrow, list = near.points(name, 1, { "x" }, x)
    x = list[1]
    local n, features = samples.count(x, 0), samples.count(x, 1)
    if n < 2 then raise(name, "expected two points or more, got %d", n) end
    k = core.integer(name, 2, "k", k, 1, math.min(n, features))
    local mean, off = samples.centered(x, 0)
    local _, sizes, rows = np.linalg.svd(off, { full_matrices = false })
    local places = np.arange(k)
    local components = np.take(rows, places, { axis = 0 })
    local at = np.argmax(np.abs(components), { axis = 1, keepdims = true })
    components = components * np.sign(np.take_along_axis(components, at, { axis = 1 }))
    local variance = np.square(np.take(sizes, places)) / (n - 1)
    local scores = np.matmul(off, np.matrix_transpose(components))
    local found = { components = components, variance = variance, mean = np.squeeze(mean, 0), scores = scores,
                    ratio = variance / (np.sum(off * off) / (n - 1)) }
    for what, value in pairs(found) do found[what] = operands.narrow(value, narrow) end
    return found
end

core.np.cluster = cluster

return cluster
