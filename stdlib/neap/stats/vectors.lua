--- vectors.lua: the distribution of normal vectors, np.stats.multivariate_normal.

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"

local np, shape_of = core.np, core.shape_of

--- Arguments of np.NAME as (…, n), (n) or (…, n), and (n, n) or (…, n, n): the dtype of the result, and the three.
local function arguments(name, x, mean, cov, extra)
    if extra ~= nil then core.too_many(name, 3, extra) end
    local narrow, list = operands.floats_list(name, "f64", 3, { x, mean, cov })
    x, mean, cov = unpack(list)
    local of_cov, rank = shape_of(cov), core.ndim(cov)
    local n = of_cov[rank]
    local function ends_in_n(value) return core.ndim(value) == 0 or shape_of(value)[core.ndim(value)] == n end
    if rank < 2 or of_cov[rank - 1] ~= n or core.ndim(x) == 0 or not ends_in_n(x) or not ends_in_n(mean) then
        core.raise(name, "expected x (…, n), a mean (n) and a covariance (n, n), got shapes %s, %s and %s",
                   core.shape_text(x), core.shape_text(mean), core.shape_text(cov))
    end
    return narrow, x, mean, cov, n
end

local function logpdf(name, ...)
    local narrow, x, mean, cov, n = arguments(name, ...)
    local root = np.linalg.cholesky(cov)
    local off = x - mean
    local batch = shape.broadcast(name, { unpack(shape_of(off), 1, core.ndim(off) - 1) },
                                  { unpack(shape_of(cov), 1, core.ndim(cov) - 2) })
    local rows = { unpack(batch) }
    rows[#rows + 1] = n
    off = np.broadcast_to(off, rows)
    local y
    if core.ndim(cov) == 2 then -- one system for all vectors
        local columns = np.matrix_transpose(np.reshape(off, { -1, n }))
        y = np.reshape(np.matrix_transpose(np.linalg.solve_triangular(root, columns, { lower = true })), rows)
    else
        y = np.squeeze(np.linalg.solve_triangular(root, np.expand_dims(off, -1), { lower = true }), -1)
    end
    local log_root = np.sum(np.log(np.linalg.diagonal(root)), { axis = -1 })
    local value = -0.5 * np.sum(y * y, { axis = -1 }) - log_root - 0.5 * math.log(2 * math.pi) * n
    return value, narrow
end

--- np.stats.multivariate_normal, np.stats.multivariate_normal.logpdf(x, mean, cov), np.stats.multivariate_normal.pdf(x,
-- mean, cov): the density of normal vectors x (…, n) of a mean, (n) or a number, and a covariance (n, n), or its
-- logarithm: (…). Means (…, n) and covariances (…, n, n) broadcast to the vectors. NaN where a covariance is not
-- positive definite, as np.linalg.cholesky is. Differentiable.
--- > np.stats.multivariate_normal.logpdf(np.array{{0, 0}, {1, 1}}, 0, np.array{{1, 0.5}, {0.5, 1}})
-- [-1.694036  -2.3607028]
local multivariate_normal = {}

function multivariate_normal.logpdf(...)
    return operands.narrow(logpdf("stats.multivariate_normal.logpdf", ...))
end

function multivariate_normal.pdf(...)
    local value, narrow = logpdf("stats.multivariate_normal.pdf", ...)
    return operands.narrow(np.exp(value), narrow)
end

return { multivariate_normal = multivariate_normal }
