--- statistics.lua: range, weighted mean, covariance and correlation, counts.

--- {axis}: an integer or a table of integers, negative ones counted from the end; all axes without it

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local reduces = require "neap.arrays.reduce"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of = core.shape_of

--- np.count_nonzero(x, {axis=…, keepdims=false}): how many elements are not 0 (i32); NaN is none that is 0.
--- > np.count_nonzero(np.array{{0, 7}, {8, 9}}), np.count_nonzero(np.eye(2), {axis=0})
-- 3
-- [1 1]
define("count_nonzero", function(x, given, extra)
    x = coerce("count_nonzero", 1, x)
    local o = reduces.options("count_nonzero", given, { axis = true, keepdims = true }, extra)
    local mask = reduces.mask_of("count_nonzero", x, o.axis)
    local set = core.dtype_of(x).kind == "b" and x or np.not_equal(x, 0)
    return reduces.over("sum", set, mask, o.keepdims)
end)

--- np.ptp(x, {axis=…, keepdims=false}): the greatest element minus the smallest. Raises if there is none.
--- > np.ptp(np.array{3, 1, 8}), np.ptp(np.array{{1, 2}, {5, 9}}, {axis=0})
-- 7.0
-- [4. 7.]
define("ptp", function(x, given, extra)
    x = coerce("ptp", 1, x)
    local o = reduces.options("ptp", given, { axis = true, keepdims = true }, extra)
    local mask, count = reduces.mask_of("ptp", x, o.axis)
    if count == 0 then raise("ptp", "nothing to take it of: shape %s", core.shape_text(x)) end
    return reduces.over("max", x, mask, o.keepdims) - reduces.over("min", x, mask, o.keepdims)
end)

--- Weights in x's shape: those of one axis run along it.
local function weights_of(x, weights, axis)
    local dims, own = shape_of(x), shape_of(weights)
    if shape.same(dims, own) then return weights end
    local axes = axis ~= nil and shape.axes("average", axis, #dims)
    if not axes or #own ~= #axes then
        raise("average", "weights of shape %s: expected the array's shape %s, or that of the axes in 'axis'",
              core.shape_text(own), core.shape_text(dims))
    end
    local place, order = {}, {}
    for k = 1, #dims do place[k] = 1 end
    for k = 1, #axes do
        if own[k] ~= dims[axes[k] + 1] then
            raise("average", "weights of shape %s do not fit axis %d of shape %s", core.shape_text(own), axes[k],
                  core.shape_text(dims))
        end
        place[axes[k] + 1], order[k] = own[k], k
    end
    table.sort(order, function(a, b) return axes[a] < axes[b] end)
    for k = 1, #order do order[k] = order[k] - 1 end
    return shape.reshape(shape.permute(weights, order), place)
end

local average_options = { axis = true, weights = true, returned = true, keepdims = true }

--- np.average(x, {axis=…, weights=…, returned=false, keepdims=false}): the mean, with `weights` the sum of products of
-- elements and weights, divided by the sum of the weights.
--- weights: of x's shape, or of the axes that are averaged
--- returned: true gives the sum of the weights as second result
--- > np.average(np.array{1, 2, 4}, {weights=np.array{1, 1, 2}})
-- 2.75
--- > np.average(np.array{{1, 2}, {3, 4}}, {axis=0, weights={3, 1}, returned=true})
-- [1.5 2.5]
-- [4. 4.]
define("average", function(x, given, extra)
    local o = reduces.options("average", given, average_options, extra)
    local over = { axis = o.axis, keepdims = o.keepdims }
    local weights, half
    if o.weights == nil then
        x, half = operands.wide(operands.real("average", 1, x))
    else
        x, weights = operands.meet("average", 2, x, o.weights)
        local both
        both, half = operands.wide_all({ reduces.real(x), weights_of(x, weights, o.axis) })
        x, weights = both[1], both[2]
    end
    local result, total
    if weights then
        total = np.sum(np.broadcast_to(np.astype(weights, np.result_type(x, weights)), shape_of(x)), over)
        result = np.sum(x * weights, over) / total
    else
        result = np.mean(x, over)
        if o.returned then total = np.sum(np.ones_like(x), over) end
    end
    result = operands.narrow(result, half)
    if o.returned then return result, operands.narrow(total, half) end
    return result
end)

-- ---- Covariance -----------------------------------------------------------------------------------------------------

local covariance_options = { rowvar = true, bias = true, ddof = true, fweights = true, aweights = true }

--- The variables of cov and corrcoef as rows.
local function variables(name, position, x, rowvar)
    x = reduces.real(x)
    local ndim = core.ndim(x)
    if ndim > 2 then raise(name, "argument %d must have at most 2 axes, got shape %s", position, core.shape_text(x)) end
    if ndim < 2 then return shape.reshape(x, { 1, x.size }) end
    return rowvar and x or np.matrix_transpose(x)
end

--- Weights of observations, an option, of n elements, beside arrays of a dtype.
local function observation_weights(name, option, value, n, dtype)
    value = operands.beside(name, 2, value, dtype)
    if core.ndim(value) ~= 1 or value.size ~= n then
        raise(name, "option '%s' must have shape (%d,), one for each observation, got %s", option, n,
              core.shape_text(value))
    end
    return value
end

--- The transposed matrix, of complex numbers conjugated.
local function adjoint(x)
    return core.dtype_of(x).kind == "c" and np.conj(x.T) or x.T
end

--- The matrix of covariances, of halves as f32; the half.
local function covariance(name, x, y, o)
    local rowvar = o.rowvar ~= false
    local half
    half, x, y = operands.floats_all(name, nil, y == nil and 1 or 2, x, y)
    local rows = variables(name, 1, x, rowvar)
    if y ~= nil then
        local more = variables(name, 2, y, rowvar)
        if shape_of(more)[2] ~= shape_of(rows)[2] then
            raise(name, "the arrays have %d and %d observations", shape_of(rows)[2], shape_of(more)[2])
        end
        rows = shape.join({ rows, more }, 0)
    end
    local met = core.dtypes[core.dtype_codes[half or core.dtype_of(rows).part]]
    local n, ddof = shape_of(rows)[2], core.plain(o.ddof)
    if ddof == nil then ddof = o.bias and 0 or 1 end
    if type(ddof) ~= "number" then bad_argument(name, nil, "ddof", "a number", ddof) end
    local f = o.fweights ~= nil and observation_weights(name, "fweights", o.fweights, n, met)
    local a = o.aweights ~= nil and observation_weights(name, "aweights", o.aweights, n, met)
    local weights = f and a and f * a or f or a
    local result
    if weights then
        weights = np.astype(weights, core.dtype_of(rows).part)
        local total = np.sum(weights)
        local off = rows - np.sum(rows * weights, { axis = 1, keepdims = true }) / total
        local left = total - ddof
        if a then left = total - np.sum(weights * a) * ddof / total end
        result = np.matmul(off * weights, adjoint(off)) / np.maximum(left, 0)
    else
        local off = rows - np.mean(rows, { axis = 1, keepdims = true })
        local left = math.max(n - ddof, 0)
        result = np.matmul(off, adjoint(off)) / left
    end
    return np.astype(result, rows.dtype), half
end

--- np.cov(x, y, {rowvar=true, bias=false, ddof=1, fweights=…, aweights=…}): the covariances of variables, whose
-- observations are the rows of x, and of y, if it is there; a number for one variable. Of complex ones, the second
-- factors are conjugated.
--- rowvar: false takes columns for the variables
--- bias: true divides by the number of observations n instead of n - 1
--- ddof: what is taken from n; overrides bias
--- fweights: how often each observation was made
--- aweights: how much each observation counts
--- > np.cov(np.array{{0, 1, 2}, {2, 1, 0}})
-- [[ 1. -1.]
--  [-1.  1.]]
--- > np.cov(np.array{1, 2, 4}, {bias=true}), np.cov(np.array{1, 2}, np.array{1, 3})
-- 1.5555557
-- [[0.5 1. ]
--  [1.  2. ]]
define("cov", function(x, y, given, extra)
    if type(y) == "table" and y[1] == nil then y, given, extra = nil, y, given or extra end
    if extra ~= nil then core.too_many("cov", 3, extra) end
    local result, half = covariance("cov", x, y, options("cov", given, covariance_options))
    result = operands.narrow(result, half)
    return result.size == 1 and shape.reshape(result, {}) or result
end)

--- np.corrcoef(x, y, {rowvar=true}): the correlations of variables, from -1 to 1: covariances divided by both standard
-- deviations.
--- rowvar: false takes columns for the variables
--- > np.corrcoef(np.array{{0, 1, 2}, {2, 1, 0}})
-- [[ 1. -1.]
--  [-1.  1.]]
define("corrcoef", function(x, y, given, extra)
    if type(y) == "table" and y[1] == nil then y, given, extra = nil, y, given or extra end
    if extra ~= nil then core.too_many("corrcoef", 3, extra) end
    local result, half = covariance("corrcoef", x, y, options("corrcoef", given, { rowvar = true }))
    if result.size == 1 then return operands.narrow(shape.reshape(result / result, {}), half) end
    local diagonal = np.diagonal(result)
    local complex = core.dtype_of(result).kind == "c"
    local deviation = np.sqrt(complex and np.real(diagonal) or diagonal)
    result = result / np.expand_dims(deviation, 1) / np.expand_dims(deviation, 0)
    if complex then return np.complex(np.clip(np.real(result), -1, 1), np.clip(np.imag(result), -1, 1)) end
    return operands.narrow(np.clip(result, -1, 1), half)
end)
