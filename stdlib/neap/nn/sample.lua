--- sample.lua: images read at places that arrays tell, for np.nn: grid_sample and affine_grid, as PyTorch's.

--- {align_corners}: true: -1 and 1 are the middles of the first and the last element, not their outer edges
--- {layout}: channels last, "NHWC" (1 axis: "NWC", 3: "NDHWC"), or first, "NCHW" ("NCW", "NCDHW")

local core = require "neap.core"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local spatial = require "neap.nn.spatial"

local np = core.np
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local shape_of, shape_text = core.shape_of, core.shape_text

local CUBIC = -0.75 -- the parameter of Keys' cubic, PyTorch's

-- ---- Coordinates ----------------------------------------------------------------------------------------------------

--- x brought into [low, high] by reflecting it there.
local function reflected(x, low, high)
    local span = high - low
    if span <= 0 then return np.zeros_like(x) end
    local off = np.remainder(np.abs(x - low), 2 * span)
    return np.minimum(off, 2 * span - off) + low
end

--- What places outside count as, by the option `padding`.
local paddings = {
    zeros = function(x) return x end,
    border = function(x, extent) return np.clip(x, 0, extent - 1) end,
    reflection = function(x, extent, corners)
        x = corners and reflected(x, 0, extent - 1) or reflected(x, -0.5, extent - 0.5)
        return np.clip(x, 0, extent - 1)
    end,
}

--- The weights of the four elements around places at a fraction t behind the second one (Keys, 1981).
local function cubic_weights(t)
    local a = CUBIC
    local function near(d) return ((a + 2) * d - (a + 3)) * d * d + 1 end
    local function far(d) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a end
    return { far(t + 1), near(t), near(1 - t), far(2 - t) }
end

--- By method: for coordinates x of one axis the elements that count, as floats, and their weights (nil: 1).
local methods = {
    nearest = function(x) return { np.round(x) }, {} end,
    linear = function(x)
        local from = np.floor(x)
        return { from, from + 1 }, { 1 - (x - from), x - from }
    end,
    cubic = function(x)
        local from = np.floor(x)
        return { from - 1, from, from + 1, from + 2 }, cubic_weights(x - from)
    end,
}
methods.bilinear, methods.bicubic = methods.linear, methods.cubic

-- ---- Sampling -------------------------------------------------------------------------------------------------------

--- Elements of images (batch, places, channels) at indices of f32 by axis: 0 where one is outside. `pad`: what to do
-- with those of cubic, whose neighbours may be outside.
local function read_at(flat, places, extents, pad, batch)
    local inside, index
    for k, extent in ipairs(extents) do
        local at = pad(places[k], extent)
        local kept = np.logical_and(np.greater_equal(at, 0), np.less(at, extent))
        inside = inside and np.logical_and(inside, kept) or kept
        at = np.astype(np.clip(np.where(kept, at, 0), 0, math.max(extent - 1, 0)), "i32")
        index = index and index * extent + at or at
    end
    local total = shape.product(extents)
    local dims = shape_of(flat)
    local rows = shape.reshape(create.iota(batch, core.dtype_codes.i32), { batch, 1 }) * total
    local values = np.take(shape.reshape(flat, { batch * total, dims[3] }), index + rows, { axis = 0 })
    return np.where(np.expand_dims(inside, -1), values, 0)
end

--- The sum over all combinations of elements around a place, times their weights.
local function mixed(flat, around, weights, extents, pad, batch)
    local n, sum, chosen = #extents, nil, {}
    local function visit(k, weight)
        if k > n then
            local value = read_at(flat, chosen, extents, pad, batch)
            if weight then value = value * np.expand_dims(weight, -1) end
            sum = sum and sum + value or value
            return
        end
        for j, at in ipairs(around[k]) do
            chosen[k] = at
            local own = weights[k][j]
            visit(k + 1, weight and own and weight * own or weight or own)
        end
    end
    visit(1)
    return sum
end

local sample_options = { method = true, padding = true, align_corners = true, layout = true }

--- np.nn.grid_sample(x, grid, {method="linear", padding="zeros", align_corners=false, layout="NHWC"}): images x at the
-- places of a grid (batch, new spatial axes…, n), as PyTorch's: the n coordinates of a place are (x, y) or (x, y, z),
-- the last spatial axis first, and go from -1 to 1 over each axis; 1 to 3 spatial axes. A coordinate that is NaN gives
-- NaN, but of "nearest" it is outside. Of integers the result is f32.
--- method: "linear" ("bilinear"), "nearest" or "cubic" ("bicubic")
--- padding: what is outside: "zeros", "border" (the nearest element) or "reflection"
--- > x = np.arange(3):reshape(1, 1, 3, 1)
--- > np.nn.grid_sample(x, np.array{{-1, 0}, {0.5, 0}}:reshape(1, 1, 2, 2), {align_corners=true}):ravel()
-- [0.  1.5]
local function grid_sample(x, grid, given)
    local name = "nn.grid_sample"
    local o = options(name, given, sample_options)
    local method, pad = methods[o.method or "linear"], paddings[o.padding or "zeros"]
    if not method then bad_argument(name, nil, "method", '"linear", "nearest" or "cubic"', o.method) end
    if not pad then bad_argument(name, nil, "padding", '"zeros", "border" or "reflection"', o.padding) end
    local n, first, half
    x, n, first = spatial.images(name, x, o.layout)
    half, x, grid = operands.floats_all(name, nil, 2, x, grid)
    local dims, wanted = shape_of(x), shape_of(grid)
    if #wanted ~= n + 2 or wanted[1] ~= dims[1] or wanted[n + 2] ~= n then
        raise(name, "argument 2 must be a grid of shape (%s, %d spatial axes, %d) for images of shape %s, got %s",
              tostring(dims[1]), n, n, shape_text(dims), shape_text(grid))
    end
    local extents, around, weights = spatial.extents(dims, n, 2), {}, {}
    local places = shape.product(wanted, 2, n + 1)
    local flat_grid = shape.reshape(grid, { dims[1], places, n })
    for k = 1, n do
        local at = np.squeeze(shape.cut(flat_grid, 2, n - k, n - k + 1), { axis = 2 })
        if o.align_corners then
            at = (at + 1) * ((extents[k] - 1) / 2)
        else
            at = ((at + 1) * extents[k] - 1) / 2
        end
        if method ~= methods.cubic then at = pad(at, extents[k], o.align_corners) end
        around[k], weights[k] = method(at)
    end
    local function late(at, extent)
        return method == methods.cubic and pad(at, extent, o.align_corners) or at
    end
    local flat = shape.reshape(x, { dims[1], shape.product(extents), dims[n + 2] })
    wanted[n + 2] = dims[n + 2]
    local y = shape.reshape(mixed(flat, around, weights, extents, late, dims[1]), wanted)
    return operands.narrow(first and np.moveaxis(y, -1, 1) or y, half)
end

--- np.nn.affine_grid(theta, extents, {align_corners=false}): the grid (batch, extents…, n) of an affine map for
-- np.nn.grid_sample: theta (batch, n, n + 1) times the coordinates (x, y, 1) or (x, y, z, 1) of each place of images
-- with these spatial extents, a table of n = 2 or 3 (Jaderberg et al., 2015).
--- > np.nn.affine_grid(np.array{{{1, 0, 0}, {0, 1, 0}}}, {1, 2})
-- [[[[-0.5  0. ]
--    [ 0.5  0. ]]]]
local function affine_grid(theta, extents, given)
    local name = "nn.affine_grid"
    local o = options(name, given, { align_corners = true })
    local half
    theta, half = operands.floats(name, 1, theta)
    if type(extents) ~= "table" or #extents < 1 or #extents > 3 then
        bad_argument(name, 2, "extents", "a table of 1 to 3 extents", extents)
    end
    extents = core.integers(name, 2, "extents", extents, 1)
    local n, dims = #extents, shape_of(theta)
    if #dims ~= 3 or dims[2] ~= n or dims[3] ~= n + 1 then
        raise(name, "argument 1 must have shape (batch, %d, %d) for %d extents, got %s", n, n + 1, n, shape_text(dims))
    end
    local like, columns = core.dtype_of(theta).name, {}
    for k = 1, n do
        local axis, wide = n + 1 - k, {} -- x goes along the last one
        local extent = extents[axis]
        for j = 1, n do wide[j] = j == axis and extent or 1 end
        local at = np.arange(extent, { dtype = like })
        if o.align_corners then
            at = extent > 1 and at * (2 / (extent - 1)) - 1 or at
        else
            at = (at * 2 + 1) / extent - 1
        end
        columns[k] = shape.broadcast_to(shape.reshape(at, wide), extents)
    end
    columns[n + 1] = np.ones(extents, { dtype = like })
    local places = shape.reshape(np.stack(columns, { axis = -1 }), { shape.product(extents), n + 1 })
    local grid = np.matmul(places, np.swapaxes(theta, -1, -2))
    local wide = { dims[1], unpack(extents) }
    wide[n + 2] = n
    return operands.narrow(shape.reshape(grid, wide), half)
end

return function(nn) nn.grid_sample, nn.affine_grid = grid_sample, affine_grid end
