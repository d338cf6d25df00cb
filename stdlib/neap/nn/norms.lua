--- norms.lua: functions of np.nn that move and scale arrays to a mean of 0 and a variance of 1: standardize,
-- layer_norm, rms_norm, group_norm, instance_norm. Integers count as f32 (of 64 bits: f64); halves as f32 up to the
-- result, which is rounded once. A variance is the mean of squares of what is left without the mean.

--- {epsilon}: what is added to the variance, or to the mean square
--- {return_stats}: true: further results: the mean (not of rms_norm) and 1 / sqrt(variance + epsilon), whose axes of
-- the norm have one element; f32 for halves

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local spatial = require "neap.nn.spatial"

local np = core.np
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local narrow, squares = operands.narrow, operands.squares
local shape_of, shape_text = core.shape_of, core.shape_text

local function epsilon_of(name, value, default)
    value = core.plain(value)
    if value == nil then return default end
    if not core.is_number(value) then bad_argument(name, nil, "epsilon", "a number", value) end
    return value
end

--- x, floats, with mean 0 and variance 1 along axes; the mean, and what it was multiplied by.
local function standardized(x, axis, epsilon)
    local along = { axis = axis, keepdims = true }
    local mean = np.mean(x, along)
    local off = x - mean
    local scale = np.rsqrt(np.mean(squares(off), along) + epsilon)
    return off * scale, mean, scale
end

--- The half that x, scale and bias of np.name meet in, and these as operands.floats_all gives them; scale and bias may
-- be nil, but scale is 1 where bias is not.
local function normal_operands(name, x, scale, bias)
    if bias ~= nil then return operands.floats_all(name, nil, 3, x, scale == nil and 1 or scale, bias) end
    if scale ~= nil then return operands.floats_all(name, nil, 2, x, scale) end
    return operands.floats_all(name, nil, 1, coerce(name, 1, x))
end

local function scaled(y, scale, bias, half)
    if scale ~= nil then y = y * scale end
    return narrow(bias == nil and y or y + bias, half)
end

return function(nn)
    --- np.nn.standardize(x, {axis=-1, epsilon=1e-5}): x moved and scaled to mean 0 and variance 1 along an axis.
    --- axis: an axis or a table of them
    --- > np.nn.standardize(np.array{1, 3}):round()
    -- [-1.  1.]
    function nn.standardize(x, given)
        local name, half = "nn.standardize"
        local o = options(name, given, { axis = true, epsilon = true })
        x, half = operands.floats(name, 1, x)
        return narrow((standardized(x, o.axis == nil and -1 or o.axis, epsilon_of(name, o.epsilon, 1e-5))), half)
    end

    --- np.nn.layer_norm(x, scale, bias, {axis=-1, epsilon=1e-5, return_stats=false}): x with mean 0 and variance 1
    -- along axes, times scale plus bias, arrays that broadcast, or nil (Ba, Kiros and Hinton, 2016).
    --- axis: an axis or a table of them; {-2, -1} are the last two
    --- > np.nn.layer_norm(np.array{{1, 3}, {1, 5}}, 2):round()
    -- [[-2.  2.]
    --  [-2.  2.]]
    function nn.layer_norm(x, scale, bias, given)
        local name, half = "nn.layer_norm"
        local o = options(name, given, { axis = true, epsilon = true, return_stats = true })
        half, x, scale, bias = normal_operands(name, x, scale, bias)
        local y, mean, by = standardized(x, o.axis == nil and -1 or o.axis, epsilon_of(name, o.epsilon, 1e-5))
        y = scaled(y, scale, bias, half)
        if o.return_stats then return y, mean, by end
        return y
    end

    --- np.nn.rms_norm(x, scale, {axis=-1, epsilon=1e-6, return_stats=false}): x divided by the root of the mean square
    -- over axes, times scale, an array that broadcasts, or nil (Zhang and Sennrich, 2019).
    --- axis: an axis or a table of them
    --- > np.nn.rms_norm(np.array{3, -3}, np.array{1, 2}):round()
    -- [ 1. -2.]
    function nn.rms_norm(x, scale, given)
        local name, half = "nn.rms_norm"
        local o = options(name, given, { axis = true, epsilon = true, return_stats = true })
        half, x, scale = normal_operands(name, x, scale)
        local by = np.rsqrt(np.mean(squares(x), { axis = o.axis == nil and -1 or o.axis, keepdims = true })
                            + epsilon_of(name, o.epsilon, 1e-6))
        local y = scaled(x * by, scale, nil, half)
        if o.return_stats then return y, by end
        return y
    end

    --- Whether an option `layout` says that channels come first.
    local function is_first(name, layout, ndim)
        local letters = ("DHW"):sub(-(ndim - 2))
        if layout == nil or layout == "N" .. letters .. "C" then return false end
        if layout == "NC" .. letters and ndim > 2 then return true end
        raise(name, "option 'layout' must be \"N%sC\" or \"NC%s\" for %d axes, got %s", letters, letters, ndim,
              core.describe(layout))
    end

    --- Group norm of np.name: x (batch, …, n), or (batch, n, …).
    local function grouped(name, x, groups, scale, bias, epsilon, first)
        local half
        half, x, scale, bias = normal_operands(name, x, scale, bias)
        local dims = shape_of(x)
        local n = dims[first and 2 or #dims]
        if #dims < 2 or groups < 1 or n % groups ~= 0 then
            raise(name, "needs shape %s with n a multiple of %d groups, got %s",
                  first and "(batch, n, …)" or "(batch, …, n)", groups, shape_text(dims))
        end
        local wide, axes, at = { unpack(dims) }, {}, first and 2 or #dims
        wide[at] = groups
        table.insert(wide, at + 1, math.floor(n / groups))
        for k = 2, #wide do
            if k ~= at then axes[#axes + 1] = k - 1 end
        end
        local y = shape.reshape((standardized(shape.reshape(x, wide), axes, epsilon)), dims)
        if first then -- parameters stand along axis 1
            local function turned(p)
                if p == nil or core.ndim(p) == 0 then return p end
                local ones = shape_of(p)
                for _ = 3, #dims do ones[#ones + 1] = 1 end
                return shape.reshape(p, ones)
            end
            scale, bias = turned(scale), turned(bias)
        end
        return scaled(y, scale, bias, half)
    end

    --- np.nn.group_norm(x, groups, scale, bias, {epsilon=1e-6, layout="NHWC"}): x of shape (batch, …, n), or with a
    -- layout such as "NCHW" (batch, n, …), with mean 0 and variance 1 over each group of n / groups neighbouring
    -- features and all axes but the batch; times scale plus bias, (n,) or nothing (Wu and He, 2018).
    --- layout: channels last, "NHWC" (1 axis: "NWC", 3: "NDHWC"), or first, "NCHW" ("NCW", "NCDHW")
    --- > np.nn.group_norm(np.array{{1, 3, 10, 30}}, 2):round()
    -- [[-1.  1. -1.  1.]]
    function nn.group_norm(x, groups, scale, bias, given)
        local name = "nn.group_norm"
        local o = options(name, given, { epsilon = true, layout = true })
        groups = core.integer(name, 2, "groups", groups)
        x = core.is_array(x) and x or coerce(name, 1, x)
        return grouped(name, x, groups, scale, bias, epsilon_of(name, o.epsilon, 1e-6),
                       is_first(name, o.layout, core.ndim(x)))
    end

    --- np.nn.instance_norm(x, scale, bias, {epsilon=1e-5, layout="NHWC"}): images with mean 0 and variance 1 of each
    -- example and channel over all spatial axes, times scale plus bias, (channels,) or nil (Ulyanov et al., 2016).
    --- layout: channels last, "NHWC" (1 axis: "NWC", 3: "NDHWC"), or first, "NCHW" ("NCW", "NCDHW")
    --- > np.nn.instance_norm(np.array{1, 3}:reshape(1, 2, 1)):ravel():round()
    -- [-1.  1.]
    function nn.instance_norm(x, scale, bias, given)
        local name = "nn.instance_norm"
        local o = options(name, given, { epsilon = true, layout = true })
        local last, _, first = spatial.images(name, x, o.layout)
        local dims = shape_of(last)
        return grouped(name, x, dims[#dims], scale, bias, epsilon_of(name, o.epsilon, 1e-5), first)
    end
end
