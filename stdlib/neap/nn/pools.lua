--- pools.lua: pooling for np.nn: max_pool, avg_pool, lp_pool, max_unpool, adaptive pools, and functions for
-- np.nn.Sequential. A pool is a reduction over a view of all windows (the row `windows`, lazy/ops/conv.c); those of
-- images with their channels first are views too.

--- {strides}: by how many places the window moves: an integer or one for each spatial axis; the window's size without
-- it
--- {padding}: "SAME", "VALID", an integer, or {before, after} for each spatial axis
--- {dilation}: how many places lie between elements of a window, from 1: an integer or one for each spatial axis
--- {ceil_mode}: true: a last window that begins inside, but reaches outside, counts too, as in PyTorch
--- {layout}: channels last, "NHWC" (1 axis: "NWC", 3: "NDHWC"), or first, "NCHW" ("NCW", "NCDHW")

local core = require "neap.core"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local spatial = require "neap.nn.spatial"

local np = core.np
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local shape_of, shape_text = core.shape_of, core.shape_text

local max_options = { strides = true, padding = true, dilation = true, ceil_mode = true, layout = true,
                      return_indices = true }
local average_options = { strides = true, padding = true, dilation = true, ceil_mode = true, layout = true,
                          count_include_pad = true }
local power_options = { strides = true, padding = true, dilation = true, ceil_mode = true, layout = true }

-- ---- Windows --------------------------------------------------------------------------------------------------------

--- How many places more behind an axis let one more window begin inside of x or of what is before it.
local function ceiled(extent, low, high, window, stride)
    local places = math.ceil((extent + low + high - window) / stride) + 1
    if (places - 1) * stride >= extent + low then places = places - 1 end
    return math.max((places - 1) * stride + window - extent - low - high, 0)
end

--- How a pool goes over images: { x = images with channels last, n, first, window, strides, dilation, low, high, more:
-- what ceil_mode adds behind `high` }, lists by spatial axis.
local function plan_of(name, x, window, o)
    local p = {}
    p.x, p.n, p.first = spatial.images(name, x, o.layout)
    p.window = spatial.per_axis(name, "window", window, p.n, nil, 1)
    p.strides = spatial.per_axis(name, "strides", o.strides, p.n, p.window, 1)
    p.dilation = spatial.per_axis(name, "dilation", o.dilation, p.n, 1, 1)
    local reach, extents = {}, spatial.extents(shape_of(p.x), p.n, 2)
    for k = 1, p.n do reach[k] = (p.window[k] - 1) * p.dilation[k] + 1 end
    p.low, p.high = spatial.paddings(name, o.padding == nil and "VALID" or o.padding, extents, reach, p.strides)
    p.more = {}
    for k = 1, p.n do
        if type(o.padding) ~= "string" and math.max(p.low[k], p.high[k]) >= reach[k] then
            raise(name, "option 'padding' must be less than the window, which would see nothing else: got %d for one "
                  .. "over %d elements of spatial axis %d", math.max(p.low[k], p.high[k]), reach[k], k)
        end
        p.more[k] = o.ceil_mode and ceiled(extents[k], p.low[k], p.high[k], reach[k], p.strides[k]) or 0
    end
    return p
end

--- Images with their channels last, in the layout of the pool's images.
local function restored(p, y)
    return p.first and np.moveaxis(y, -1, 1) or y
end

--- All windows of x, images with their channels last, outside of which is `value`: an axis more for each spatial axis.
-- What is put around x lies in memory as the pool's images do.
local function windows_of(p, x, value)
    local high = {}
    for k = 1, p.n do high[k] = p.high[k] + p.more[k] end
    x = spatial.surround(restored(p, x), value, p.low, high, nil, p.first)
    return spatial.windows(p.first and np.moveaxis(x, 1, -1) or x, p.n, p.window, p.strides, p.dilation)
end

--- The reduction of all windows, in the layout of the pool's images.
local function reduced(p, reduce, all)
    local axes = {}
    for k = 1, p.n do axes[k] = -k end
    return reduce(p.first and np.moveaxis(all, p.n + 1, 1) or all, { axis = axes })
end

--- What no element of a dtype is below.
local function least(dtype)
    if dtype.kind == "f" then return -math.huge end
    if dtype.kind ~= "i" then return 0 end
    return dtype.bytes == 8 and bit.lshift(1LL, 63) or -2 ^ (8 * dtype.bytes - 1)
end

-- ---- Pools ----------------------------------------------------------------------------------------------------------

--- Where in the spatial axes of x, flattened, the first largest element of each window lies: i32.
local function places_of(p, all, largest)
    local dims = shape_of(p.x)
    local ones = { 1, unpack(dims, 2, p.n + 1) }
    ones[p.n + 2] = 1
    local here = windows_of(p, np.ones(ones, { dtype = "bool" }), 0) -- what is no padding
    local wide = largest
    for _ = 1, p.n do wide = np.expand_dims(wide, -1) end
    local hit = np.equal(all, wide)
    if core.dtype_of(all).inexact then hit = np.logical_or(hit, np.isnan(all)) end
    hit = np.logical_and(hit, here)
    local flat = shape_of(largest)
    flat[#flat + 1] = shape.product(p.window)
    local rest, place, stride = np.argmax(shape.reshape(hit, flat), { axis = -1 }), nil, 1
    for k = p.n, 1, -1 do
        local wider = {}
        for axis = 1, p.n + 2 do wider[axis] = axis == k + 1 and flat[axis] or 1 end
        local from = shape.reshape(create.iota(flat[k + 1], core.dtype_codes.i32), wider) * p.strides[k] - p.low[k]
        local step = k > 1 and np.remainder(rest, p.window[k]) or rest
        local at = (from + step * p.dilation[k]) * stride
        place = place and place + at or at
        rest = k > 1 and np.floor_divide(rest, p.window[k]) or rest
        stride = stride * dims[k + 1]
    end
    return place
end

--- np.nn.max_pool(x, window, {strides=window, padding="VALID", dilation=1, ceil_mode=false, layout="NHWC",
-- return_indices=false}): the largest element of each window, by channel. `window` is an integer or one for each
-- spatial axis; padding as in conv, with what no element is below. Equal largest elements share the gradient.
--- return_indices: true: a second result, i32: where the first largest one lies in the spatial axes, flattened, as in
-- PyTorch; for np.nn.max_unpool
--- > np.nn.max_pool(np.arange(6):reshape(1, 6, 1), 2):ravel()
-- [1 3 5]
local function max_pool(x, window, given)
    local o = options("nn.max_pool", given, max_options)
    local p = plan_of("nn.max_pool", x, window, o)
    local all = windows_of(p, p.x, least(core.dtype_of(p.x)))
    local y = reduced(p, np.max, all)
    if not o.return_indices then return y end
    return y, restored(p, places_of(p, all, p.first and np.moveaxis(y, 1, -1) or y))
end

--- How many elements each window of np.nn.avg_pool has; nil: as many as it is large.
local function counts(p, include)
    local any = not include
    for k = 1, p.n do any = any or p.more[k] > 0 end
    if not any then return nil end
    local ones, none = { 1 }, {}
    for k = 1, p.n do
        local extent = shape_of(p.x)[k + 1]
        ones[k + 1], none[k] = include and math.max(extent + p.low[k] + p.high[k], 0) or extent, 0
    end
    ones[p.n + 2] = 1
    local q = include and setmetatable({ low = none, high = none }, { __index = p }) or p
    return reduced(p, np.sum, windows_of(q, np.ones(ones), 0))
end

--- np.nn.avg_pool(x, window, {strides=window, padding="VALID", dilation=1, ceil_mode=false, layout="NHWC",
-- count_include_pad=true}): the mean of each window, by channel. Padding counts as zeros; with count_include_pad=false
-- it does not count, and what ceil_mode adds never does. Integers count as f32, i64 and u64 as f64.
--- count_include_pad: false: padding does not count
--- > np.nn.avg_pool(np.arange(6):reshape(1, 6, 1), 2):ravel()
-- [0.5 2.5 4.5]
local function avg_pool(x, window, given)
    local o = options("nn.avg_pool", given, average_options)
    local half
    x, half = operands.floats("nn.avg_pool", 1, x)
    local p = plan_of("nn.avg_pool", x, window, o)
    local count = counts(p, o.count_include_pad ~= false) or shape.product(p.window)
    return operands.narrow(reduced(p, np.sum, windows_of(p, p.x, 0)) / count, half)
end

--- np.nn.lp_pool(x, p, window, {strides=window, padding="VALID", dilation=1, ceil_mode=false, layout="NHWC"}): the p-th
-- root of the sum of |x|^p over each window, by channel; p is a number above 0. Padding counts as zeros.
--- > np.nn.lp_pool(np.array{3, 4, 0, 1}:reshape(1, 4, 1), 2, 2):ravel()
-- [5. 1.]
local function lp_pool(x, power, window, given)
    local o = options("nn.lp_pool", given, power_options)
    if type(power) ~= "number" or power <= 0 or power ~= power then
        bad_argument("nn.lp_pool", 2, "p", "a number above 0", power)
    end
    local half
    x, half = operands.floats("nn.lp_pool", 1, x)
    local p = plan_of("nn.lp_pool", x, window, o)
    local size = np.abs(p.x)
    local all = windows_of(p, power == 1 and size or power == 2 and size * size or size ^ power, 0)
    local sum = reduced(p, np.sum, all)
    if power ~= 1 then -- whose slope at 0 is 0, as PyTorch has it
        local none = sum:eq(0)
        local some = np.where(none, 1, sum)
        sum = np.where(none, 0, power == 2 and np.sqrt(some) or some ^ (1 / power))
    end
    return operands.narrow(sum, half)
end

-- ---- Back -----------------------------------------------------------------------------------------------------------

local unpool_options = { strides = true, padding = true, extents = true, layout = true }

--- np.nn.max_unpool(x, indices, window, {strides=window, padding=0, extents=…, layout="NHWC"}): zeros with x at the
-- places in the spatial axes, flattened, that np.nn.max_pool told with return_indices (Zeiler et al., 2011). Without
-- `extents` as many as the first windows of the pool reached over: (n - 1) * stride + window - 2 * padding.
--- padding: an integer, or one for each spatial axis, of the pool
--- extents: a table of the extents of the result's spatial axes
--- > y, at = np.nn.max_pool(np.array{1, 5, 2, 3}:reshape(1, 4, 1), 2, {return_indices=true})
--- > np.nn.max_unpool(y, at, 2):ravel()
-- [0. 5. 0. 3.]
local function max_unpool(x, indices, window, given)
    local name = "nn.max_unpool"
    local o = options(name, given, unpool_options)
    local n, first
    x, n, first = spatial.images(name, x, o.layout)
    indices = (spatial.images(name, indices, o.layout))
    local kind, dims = core.dtype_of(indices).kind, shape_of(x)
    if kind ~= "i" and kind ~= "u" then core.not_integers(name, "indices", core.dtype_of(indices)) end
    if not shape.same(dims, shape_of(indices)) then
        raise(name, "x and indices must have one shape, got %s and %s", shape_text(x), shape_text(indices))
    end
    window = spatial.per_axis(name, "window", window, n, nil, 1)
    local strides = spatial.per_axis(name, "strides", o.strides, n, window, 1)
    local widths = spatial.per_axis(name, "padding", o.padding, n, 0, 0)
    local given_extents = o.extents ~= nil and spatial.per_axis(name, "extents", o.extents, n, nil, 0)
    local flat, wide, places, total = { dims[1], 1, dims[n + 2] }, { dims[1] }, 1, 1
    for k = 1, n do
        wide[k + 1] = given_extents and given_extents[k] or (dims[k + 1] - 1) * strides[k] + window[k] - 2 * widths[k]
        places, total = places * dims[k + 1], total * wide[k + 1]
    end
    wide[n + 2], flat[2] = dims[n + 2], places
    local zeros = np.zeros({ dims[1], total, dims[n + 2] }, { dtype = core.dtype_of(x).name })
    local y = np.put_along_axis(zeros, shape.reshape(indices, flat), shape.reshape(x, flat), { axis = 1 })
    y = shape.reshape(y, wide)
    return first and np.moveaxis(y, -1, 1) or y
end

-- ---- Adaptive pools -------------------------------------------------------------------------------------------------

--- The windows of n places that an axis of `extent` elements is divided into, as in PyTorch: indices (n, size), which
-- of them count, and how many do.
local function divided(extent, n)
    local size, at, kept, count = 0, {}, {}, {}
    for k = 0, n - 1 do size = math.max(size, math.ceil((k + 1) * extent / n) - math.floor(k * extent / n)) end
    for k = 0, n - 1 do
        local from, to = math.floor(k * extent / n), math.ceil((k + 1) * extent / n)
        at[k + 1], kept[k + 1], count[k + 1] = {}, {}, to - from
        for j = 0, size - 1 do
            at[k + 1][j + 1], kept[k + 1][j + 1] = math.min(from + j, extent - 1), from + j < to
        end
    end
    return { at = np.array(at, { dtype = "i32" }), kept = np.array(kept), count = np.array(count), size = size }
end

--- The windows of spatial axis k, from 1, of images x with channels last, as a new axis behind it, where what does not
-- count is `fill`; and `parts`, as divided gives them, beside these: `at` and `kept`, and `count` beside the result.
local function adaptive_windows(name, x, k, extent, fill)
    local dims, around, along = shape_of(x), {}, {}
    if core.is_size(dims[k + 1]) or dims[k + 1] == 0 then
        raise(name, "the extents of spatial axes must be known and above 0, got shape %s", shape_text(dims))
    end
    local parts = divided(dims[k + 1], extent)
    for axis = 1, #dims + 1 do
        around[axis] = axis == k + 1 and extent or axis == k + 2 and parts.size or 1
        along[axis] = axis == k + 1 and extent or 1
    end
    along[#along] = nil
    local all = np.take(x, parts.at, { axis = k })
    local beside = { at = shape.reshape(parts.at, around), count = shape.reshape(parts.count, along), table = parts.at }
    return np.where(shape.reshape(parts.kept, around), all, fill), beside
end

--- The images of an adaptive pool with channels last, how many spatial axes there are, whether channels came first,
-- and the extents of the result.
local function adaptive_images(name, x, extents, o)
    local n, first
    x, n, first = spatial.images(name, x, o.layout)
    return x, n, first, spatial.per_axis(name, "extents", extents, n, nil, 1)
end

--- np.nn.adaptive_avg_pool(x, extents, {layout="NHWC"}): the means of windows that divide each spatial axis into so
-- many places, `extents`, an integer or one for each axis: window k of n goes from floor(k * extent / n) to ceil((k +
-- 1) * extent / n), as in PyTorch. 1 is the mean of all. Integers count as f32.
--- > np.nn.adaptive_avg_pool(np.arange(5):reshape(1, 5, 1), 2):ravel()
-- [1. 3.]
local function adaptive_avg_pool(x, extents, given)
    local name = "nn.adaptive_avg_pool"
    local o = options(name, given, { layout = true })
    local floats, half = operands.floats(name, 1, x)
    local y, n, first, places = adaptive_images(name, floats, extents, o)
    for k = 1, n do
        local all, beside = adaptive_windows(name, y, k, places[k], 0)
        y = np.sum(all, { axis = k + 1 }) / beside.count
    end
    return operands.narrow(first and np.moveaxis(y, -1, 1) or y, half)
end

--- np.nn.adaptive_max_pool(x, extents, {layout="NHWC", return_indices=false}): the largest elements of the windows of
-- np.nn.adaptive_avg_pool. Equal largest elements share the gradient.
--- return_indices: true: a second result, i32: where the first largest one lies in the spatial axes, flattened
--- > np.nn.adaptive_max_pool(np.arange(5):reshape(1, 5, 1), 2):ravel()
-- [2 4]
local function adaptive_max_pool(x, extents, given)
    local name = "nn.adaptive_max_pool"
    local o = options(name, given, { layout = true, return_indices = true })
    x = core.coerce(name, 1, x)
    local fill = least(core.dtype_of(x))
    local y, n, first, places = adaptive_images(name, x, extents, o)
    local indices, stride = nil, 1
    for k = n, 1, -1 do -- the last axis first: of equal elements the first one in the order of memory is left
        local extent = shape_of(y)[k + 1]
        local all, beside = adaptive_windows(name, y, k, places[k], fill)
        if o.return_indices then
            local best = np.argmax(all, { axis = k + 1, keepdims = true })
            local own = shape.broadcast_to(beside.at, shape_of(all)) * stride
            if indices then own = own + np.take(indices, beside.table, { axis = k }) end
            indices = np.squeeze(np.take_along_axis(own, best, { axis = k + 1 }), { axis = k + 1 })
            stride = stride * extent
        end
        y = np.max(all, { axis = k + 1 })
    end
    local function turned(result) return first and np.moveaxis(result, -1, 1) or result end
    if o.return_indices then return turned(y), turned(indices) end
    return turned(y)
end

-- ---- For np.nn.Sequential -------------------------------------------------------------------------------------------

return function(nn)
    nn.max_pool, nn.avg_pool, nn.lp_pool, nn.max_unpool = max_pool, avg_pool, lp_pool, max_unpool
    nn.adaptive_avg_pool, nn.adaptive_max_pool = adaptive_avg_pool, adaptive_max_pool

    --- np.nn.MaxPool(window, {…}), np.nn.AvgPool(window, {…}) -> function: functions for np.nn.Sequential that pool so;
    -- the options are those of np.nn.max_pool and np.nn.avg_pool.
    --- > x = np.arange(4):reshape(1, 4, 1)
    --- > np.nn.MaxPool(2)(x):ravel(), np.nn.AvgPool(2)(x):ravel()
    -- [1 3]
    -- [0.5 2.5]
    function nn.MaxPool(window, given)
        options("nn.max_pool", given, max_options)
        return function(x) return max_pool(x, window, given) end
    end
    function nn.AvgPool(window, given)
        options("nn.avg_pool", given, average_options)
        return function(x) return avg_pool(x, window, given) end
    end
end
