--- lora.lua: np.nn.lora: a few parameters that are trained in place of large matrices.
local core = require "neap.core"
local tree = require "neap.core.tree"
local trees = require "neap.core.trees"

local np = core.np
local raise, is_array = core.raise, core.is_array

local NAME = "nn.lora"

local Lora = {}
Lora.__index = Lora

--- Whether a leaf is adapted: a matrix of floats, for which `which` holds.
local function is_adapted(self, path, leaf)
    if not self.which(path, leaf) then return false end
    if not is_array(leaf) or core.ndim(leaf) ~= 2 or not core.dtype_of(leaf).inexact then
        raise(NAME, "only matrices of floats can be adapted, and '%s' is %s", path, core.describe(leaf))
    end
    return true
end

--- lora:init(key, params) -> tree: adapters of params: by path {a = (n, rank), b = (rank, m)} for a matrix (n, m). a is
-- uniform from -1 / sqrt(n) to 1 / sqrt(n), b is 0, so nothing is added yet.
function Lora:init(key, params)
    local adapters, number = {}, 0
    for _, pair in ipairs(tree.paths(params)) do
        local path, w = pair[1], pair[2]
        if is_adapted(self, path, w) then
            local n, m = unpack(core.shape_of(w))
            local bound, dtype = 1 / math.sqrt(n), core.dtype_of(w).name
            adapters[path] = {
                a = np.random.uniform(np.random.fold_in(key, number), { n, self.rank },
                                      { minval = -bound, maxval = bound, dtype = dtype }),
                b = np.zeros({ self.rank, m }, { dtype = dtype }),
            }
            number = number + 1
        end
    end
    if number == 0 then raise(NAME, "no parameter is adapted: there is no matrix, or option 'which' takes none") end
    return adapters
end

--- lora:merge(params, adapters) -> tree: params with w + alpha / rank * a b in place of each adapted w. Derivatives
-- go to the adapters, and to params if these are what is derived by.
function Lora:merge(params, adapters)
    local leaves, structure = tree.flatten(params)
    local merged = 0
    for k, pair in ipairs(tree.paths(params)) do
        local adapter = adapters[pair[1]]
        if adapter then
            leaves[k] = pair[2] + np.matmul(adapter.a, adapter.b) * (self.alpha / self.rank)
            merged = merged + 1
        end
    end
    for _ in pairs(adapters) do merged = merged - 1 end
    if merged ~= 0 then raise(NAME, "the adapters are of other parameters: %d have no matrix there", -merged) end
    return tree.unflatten(structure, leaves)
end

function Lora:__tostring()
    return ("np.nn.lora{rank=%d, alpha=%g}"):format(self.rank, self.alpha)
end

return function(nn)
    --- np.nn.lora{rank=8, alpha=16, which=…} -> lora: low-rank adapters (Hu et al., 2021): lora:init(key, params) makes
    -- two thin matrices for each matrix of params, and lora:merge(params, adapters) adds their product. Train the
    -- adapters, params stay:
    --
    --     local lora = np.nn.lora{rank=4}
    --     local adapters = lora:init(np.random.key(0), params)
    --     local grads = np.grad(function(a) return loss(lora:merge(params, a)) end)(adapters)
    --- rank: columns of a, and rows of b
    --- alpha: the product is multiplied by alpha / rank
    --- which: a function of path and leaf that returns true for matrices to adapt, or a Lua pattern of paths
    -- (np.tree.paths); nil: all matrices
    --- > lora = np.nn.lora{rank=2, alpha=2}
    --- > adapters = lora:init(np.random.key(0), {w = np.eye(3), b = np.ones(3)})
    --- > adapters.w.a:dim(1), lora:merge({w = np.eye(3), b = np.ones(3)}, adapters).w[0]
    -- 2
    -- [1. 0. 0.]
    function nn.lora(given)
        given = core.options(NAME, given, { rank = true, alpha = true, which = true })
        local function is_matrix(_, leaf) return is_array(leaf) and core.ndim(leaf) == 2 end
        local which = trees.chooser(NAME, nil, "which", given.which == nil and is_matrix or given.which)
        local alpha = core.plain(given.alpha == nil and 16 or given.alpha)
        if type(alpha) ~= "number" then core.bad_argument(NAME, nil, "alpha", "a number", alpha) end
        return setmetatable({ rank = core.integer(NAME, nil, "rank", given.rank or 8, 1), alpha = alpha,
                              which = which }, Lora)
    end
end
