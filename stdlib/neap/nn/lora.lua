--- lora.lua: np.nn.lora: a few parameters that are trained in place of large matrices.
local core = require "neap.core"
local trees = require "neap.core.trees"
local weights = require "neap.nn.weights"

local np = core.np
local raise, is_array, is_quantized = core.raise, core.is_array, weights.is_quantized

local NAME = "nn.lora"

local Lora = {}
Lora.__index = Lora

local function is_matrix(_, leaf)
    return is_quantized(leaf) or is_array(leaf) and core.ndim(leaf) == 2
end

--- The extents of a leaf and the dtype of its adapters; nil: it is not adapted. Raises if it is no matrix of floats.
local function adapted(self, path, leaf)
    if not self.which(path, leaf) then return nil end
    if is_quantized(leaf) then
        local n, m = weights.extents(NAME, leaf)
        return n, m, self.dtype or "f32"
    end
    if not is_matrix(path, leaf) or not core.dtype_of(leaf).inexact then
        raise(NAME, "only matrices of floats can be adapted, and '%s' is %s", path, core.describe(leaf))
    end
    local n, m = unpack(core.shape_of(leaf))
    return n, m, self.dtype or core.dtype_of(leaf).name
end

--- lora:init(key, params) -> tree: adapters of params: by path {a = (n, rank), b = (rank, m)} for a matrix (n, m),
-- which may be a quantized one. a is uniform from -1 / sqrt(n) to 1 / sqrt(n), b is 0, so nothing is added yet.
function Lora:init(key, params)
    local adapters, number = {}, 0
    weights.replaced(NAME, params, function(path, w)
        local n, m, dtype = adapted(self, path, w)
        if not n then return nil end
        local bound = 1 / math.sqrt(n)
        adapters[path] = {
            a = np.random.uniform(np.random.fold_in(key, number), { n, self.rank },
                                  { minval = -bound, maxval = bound, dtype = dtype }),
            b = np.zeros({ self.rank, m }, { dtype = dtype }),
        }
        number = number + 1
    end)
    if number == 0 then raise(NAME, "no parameter is adapted: there is no matrix, or option 'which' takes none") end
    return adapters
end

--- params with join(w, adapter) in place of each adapted w.
local function joined(params, adapters, join)
    local left = 0
    for _ in pairs(adapters) do left = left + 1 end
    local tree = weights.replaced(NAME, params, function(path, w)
        if not adapters[path] then return nil end
        left = left - 1
        return join(w, adapters[path])
    end)
    if left ~= 0 then raise(NAME, "the adapters are of other parameters: %d have no matrix there", left) end
    return tree
end

--- w + alpha / rank * a b, in the dtype of w; of quantized weights f32.
local function merged(self, w, adapter)
    if is_quantized(w) then w = weights.matrix(NAME, w) end
    return w + np.astype(np.matmul(adapter.a, adapter.b) * (self.alpha / self.rank), core.dtype_of(w).name)
end

--- lora:merge(params, adapters) -> tree: params with w + alpha / rank * a b in place of each adapted w, of a quantized
-- one in f32. Derivatives go to the adapters, and to params if these are what is derived by.
function Lora:merge(params, adapters)
    return joined(params, adapters, function(w, adapter) return merged(self, w, adapter) end)
end

--- lora:attach(params, adapters) -> tree: params for a step of training: as lora:merge, but quantized matrices stay,
-- with the adapters beside them, {codes=…, scale=…, a=…, b=…}: np.nn.dense, and what is made of it, adds x:matmul(a)
-- times b, and neither the forward pass nor derivatives keep a matrix of floats.
function Lora:attach(params, adapters)
    return joined(params, adapters, function(w, adapter)
        if not is_quantized(w) then return merged(self, w, adapter) end
        return { codes = w.codes, scale = w.scale, a = adapter.a, b = adapter.b * (self.alpha / self.rank) }
    end)
end

function Lora:__tostring()
    return ("np.nn.lora{rank=%d, alpha=%g}"):format(self.rank, self.alpha)
end

return function(nn)
    --- np.nn.lora{rank=8, alpha=16, which=…, dtype=…} -> lora: low-rank adapters (Hu et al., 2021): lora:init(key,
    -- params) makes two thin matrices for each matrix of params, and lora:merge(params, adapters) adds their product.
    -- Train the adapters, params stay:
    --
    --     local lora = np.nn.lora{rank=4}
    --     local adapters = lora:init(np.random.key(0), params)
    --     local grads = np.grad(function(a) return loss(lora:merge(params, a)) end)(adapters)
    --
    -- Matrices of np.nn.quantize_weights are adapted as they are (Dettmers et al., 2023); then lora:attach takes the
    -- place of lora:merge in training, so that they stay quantized.
    --- rank: columns of a, and rows of b
    --- alpha: the product is multiplied by alpha / rank
    --- which: a function of path and leaf that returns true for matrices to adapt, or a Lua pattern of paths
    -- (np.tree.paths; that of a quantized matrix ends where its table stands); nil: all matrices
    --- dtype: of the adapters; nil: that of their matrix, beside quantized ones f32
    --- > lora = np.nn.lora{rank=2, alpha=2}
    --- > adapters = lora:init(np.random.key(0), {w = np.eye(3), b = np.ones(3)})
    --- > adapters.w.a:dim(1), lora:merge({w = np.eye(3), b = np.ones(3)}, adapters).w[0]
    -- 2
    -- [1. 0. 0.]
    function nn.lora(given)
        given = core.options(NAME, given, { rank = true, alpha = true, which = true, dtype = true })
        local which = trees.chooser(NAME, nil, "which", given.which == nil and is_matrix or given.which)
        local alpha = core.plain(given.alpha == nil and 16 or given.alpha)
        if type(alpha) ~= "number" then core.bad_argument(NAME, nil, "alpha", "a number", alpha) end
        local dtype = given.dtype ~= nil and core.dtypes[core.dtype(NAME, given.dtype)] or nil
        if dtype and dtype.kind ~= "f" then raise(NAME, "option 'dtype' must be one of floats, got %s", dtype.name) end
        return setmetatable({ rank = core.integer(NAME, nil, "rank", given.rank or 8, 1), alpha = alpha,
                              which = which, dtype = dtype and dtype.name }, Lora)
    end
end
