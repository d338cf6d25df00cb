--- conv.lua: convolutions, pooling and their layers, for np.nn: adds them to the table that it is given.
--
-- Images are (batch, spatial axes…, channels), 1 to 3 spatial axes; kernels (spatial axes…, channels / groups,
-- features), as in Flax, and as np.nn's initializers expect. With layout "NCHW" (NCW, NCDHW) channels come first, and
-- kernels are (features, channels / groups, spatial axes…), as in Torch: the axes are exchanged by views. The rows
-- conv, conv_input and conv_kernel are in lazy/ops/conv.c; pooling is a reduction over a view of all windows.

--- {strides}: by how many places the window moves: an integer or one for each spatial axis
--- {padding}: "SAME", "VALID", an integer, or {before, after} for each spatial axis
--- {layout}: channels last, "NHWC" (1 axis: "NWC", 3: "NDHWC"), or first, "NCHW" ("NCW", "NCDHW"); so of the kernel
--- {kernel_dilation}: how many places lie between elements of the kernel, from 1
--- {input_dilation}: how many places lie between elements of x, from 1
--- {groups}: into how many parts the channels and features are divided

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local block = require "neap.nn.block"

local np, ids, attrs = core.np, core.ids, core.attrs
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local shape_of, shape_text = core.shape_of, core.shape_text

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- An option with one integer (at least `least`) for each of n spatial axes, or one for all.
local function per_axis(name, what, value, n, default, least)
    if value == nil then value = default end
    local list = {}
    if type(value) == "table" then core.list(name, ("option '%s'"):format(what), value) end
    for k = 1, n do
        list[k] = value
        if type(value) == "table" then list[k] = value[k] end
        list[k] = core.plain(list[k])
        if not core.is_integer(list[k]) or list[k] < least or type(value) == "table" and #value ~= n then
            bad_argument(name, nil, what, ("an integer from %d up, or %d of them"):format(least, n), value)
        end
    end
    return list
end

--- What to put before and behind each spatial axis of the given extents, which windows of `window` elements (dilation
-- included) go over in steps of `strides`.
local function paddings(name, padding, extents, window, strides)
    local n, low, high = #extents, {}, {}
    for k = 1, n do
        local pair = padding
        if type(padding) == "string" and padding:upper() == "SAME" then
            local places = math.ceil(extents[k] / strides[k])
            local total = math.max((places - 1) * strides[k] + window[k] - extents[k], 0)
            pair = { math.floor(total / 2), math.ceil(total / 2) }
        elseif type(padding) == "string" and padding:upper() == "VALID" then
            pair = 0
        elseif type(padding) == "table" and #core.list(name, "option 'padding'", padding) == n then
            pair = padding[k]
        end
        pair = type(pair) == "table" and core.list(name, "a pair of option 'padding'", pair) or { pair, pair }
        low[k], high[k] = core.plain(pair[1]), core.plain(pair[2])
        for _, width in ipairs { low[k] or false, high[k] or false } do
            if not core.is_integer(width) then
                bad_argument(name, nil, "padding",
                             ('"SAME", "VALID", an integer, or %d pairs {before, after}'):format(n), padding)
            end
        end
    end
    return low, high
end

--- Images with their channels last, the number of spatial axes, whether the channels came first.
local function images(name, x, layout)
    x = core.coerce(name, 1, x)
    local n = core.ndim(x) - 2
    if n < 1 or n > 3 then
        raise(name, "argument 1 must be images, of shape (batch, 1 to 3 spatial axes, channels), got shape %s",
              shape_text(x))
    end
    local letters = ("DHW"):sub(-n)
    local first = layout == "NC" .. letters
    if layout ~= nil and not first and layout ~= "N" .. letters .. "C" then
        raise(name, "option 'layout' must be \"N%sC\" or \"NC%s\" for images of %d spatial axes, got %s", letters,
              letters, n, core.describe(layout))
    end
    return first and np.moveaxis(x, 1, -1) or x, n, first
end

--- The number of channels of images.
local function channels_of(name, x, layout)
    if not core.is_array(x) then
        raise(name, "the size of its input is not known: give it, or an example, as in layer:init(key, x)")
    end
    local dims = shape_of((images(name, x, layout)))
    return dims[#dims]
end

local function spatial(dims, n, from)
    return { unpack(dims, from, from + n - 1) }
end

--- Pads spatial axes with `value`, cuts them where a width is negative, and puts `gaps` values between neighbours.
local function surround(x, value, low, high, gaps)
    local lo, hi, interior, any = { 0 }, { 0 }, { 0 }, false
    for k = 1, #low do
        lo[k + 1], hi[k + 1], interior[k + 1] = math.max(low[k], 0), math.max(high[k], 0), gaps and gaps[k] or 0
        local more = lo[k + 1] + hi[k + 1] + interior[k + 1]
        any = any or core.is_size(more) or more > 0
    end
    lo[#lo + 1], hi[#hi + 1], interior[#interior + 1] = 0, 0, 0
    if any then x = shape.pad(x, core.number(value, core.dtype_of(x).code), lo, hi, interior) end
    for k = 1, #low do
        if low[k] < 0 or high[k] < 0 then
            local extent = shape_of(x)[k + 1]
            local from = math.min(math.max(-low[k], 0), extent)
            x = shape.cut(x, k, from, math.max(extent - math.max(-high[k], 0), from))
        end
    end
    return x
end

--- x with an axis more at its end for each of n spatial axes: the windows that each place sees.
local function windows(x, n, window, strides, dilation)
    for k = 1, n do
        attrs[0], attrs[1], attrs[2], attrs[3] = k, core.put(1, window[k]), core.put(2, strides[k]),
                                                 core.put(3, dilation and dilation[k] or 1)
        x = core.record1(ids.windows, x, 4)
    end
    return x
end

-- ---- Convolution ----------------------------------------------------------------------------------------------------

local conv_options = { strides = true, padding = true, input_dilation = true, kernel_dilation = true, groups = true,
                       layout = true }

--- Records the row: all widths are from 0 up.
local function record_conv(x, w, n, groups, strides, low, high, dilation)
    attrs[0] = groups
    for k = 1, n do
        local at = 4 * k - 3
        attrs[at], attrs[at + 1], attrs[at + 2], attrs[at + 3] =
            core.put(at, strides[k]), core.put(at + 1, low[k]), core.put(at + 2, high[k]), core.put(at + 3, dilation[k])
    end
    return core.record2(ids.conv, x, w, 1 + 4 * n)
end

--- The same of integers, which are exact and wrap around, as products of windows and kernels: paddings are in x.
local function integer_conv(x, w, n, groups, strides, dilation)
    local kernel, features = shape_of(w), shape_of(w)[n + 2]
    x = windows(x, n, kernel, strides, dilation)
    local dims, places, extents = shape_of(x), ("opq"):sub(1, n), ("xyz"):sub(1, n)
    local apart, divided = { unpack(dims, 1, n + 1) }, { unpack(kernel, 1, n + 1) }
    apart[n + 2], divided[n + 2] = groups, groups
    apart[n + 3], divided[n + 3] = math.floor(dims[n + 2] / groups), math.floor(features / groups)
    for k = 1, n do apart[n + 3 + k] = kernel[k] end
    local y = np.einsum(("b%sgc%s,%scgf->b%sgf"):format(places, extents, extents, places), shape.reshape(x, apart),
                        shape.reshape(w, divided))
    apart[n + 2] = features
    return shape.reshape(y, { unpack(apart, 1, n + 2) })
end

--- x and w of one dtype: floats, or integers, where they meet as such; bools count as f32.
local function meeting(x, w)
    local of_x, of_w = core.dtype_of(x), core.dtype_of(w)
    if of_x == of_w and of_x.kind ~= "b" then return x, w end
    local met = core.dtypes[core.dtype_codes[np.result_type(x, w)]]
    local name = met.kind == "b" and met.real or met.name
    return np.astype(x, name), np.astype(w, name)
end

--- A kernel as an array, which meets images with their channels last.
local function coerce_kernel(name, x, w, n, first, groups)
    return core.coerce(name, 2, w, { x, w }, { axis = first and 2 or n + 1, groups = groups })
end

--- Checks a kernel (channels last) against the channels of images.
local function check_kernel(name, x, w, n, groups)
    local dims, of_x = shape_of(w), shape_of(x)
    if #dims ~= n + 2 then
        raise(name, "argument 2 must be a kernel of %d axes, got shape %s", n + 2, shape_text(w))
    end
    local channels = of_x[#of_x]
    if dims[n + 1] * groups ~= channels then
        raise(name, "images and kernel (argument 2) do not fit: the images have %d in %d group%s, the kernel takes %d "
              .. "channels of each", channels, groups, groups == 1 and "" or "s", dims[n + 1])
    end
    if dims[n + 2] % groups ~= 0 then
        raise(name, "the kernel's %d features must be a multiple of the %d groups", dims[n + 2], groups)
    end
    return spatial(dims, n, 1)
end

--- np.nn.conv(x, w, {strides=1, padding="SAME", input_dilation=1, kernel_dilation=1, groups=1, layout="NHWC"}): y[n, o,
-- f] is the sum over k, c of x[n, o * stride - before + k * dilation, c] w[k, c, f], for 1 to 3 spatial axes; x counts
-- as 0 outside. With channels first, layout "NCHW", w is (features, channels / groups, spatial axes…), too. Padding:
-- "SAME" (as many places as strides go into the extent), "VALID" (none), an integer, or one for each axis, or pairs
-- {before, after}; negative ones cut. input_dilation puts zeros between elements of x. The channels of x and the
-- features of w come in `groups`, of which equal ones meet. Options of spatial axes are one number or a table of one
-- for each. Integers give integers, which wrap around; bools count as f32.
--- > np.nn.conv(np.arange(5):reshape(1, 5, 1) / 1, np.ones{3, 1, 1}, {padding="VALID"}):ravel()
-- [3. 6. 9.]
local function conv(x, w, given)
    local name = "nn.conv"
    local o = options(name, given, conv_options)
    local n, first
    x, n, first = images(name, x, o.layout)
    local groups = core.integer(name, nil, "groups", o.groups == nil and 1 or o.groups, 1)
    w = coerce_kernel(name, x, w, n, first, groups)
    if first and core.ndim(w) == n + 2 then w = np.moveaxis(w, { 1, 0 }, { -2, -1 }) end
    local kernel = check_kernel(name, x, w, n, groups)
    local strides = per_axis(name, "strides", o.strides, n, 1, 1)
    local dilation = per_axis(name, "kernel_dilation", o.kernel_dilation, n, 1, 1)
    local apart = per_axis(name, "input_dilation", o.input_dilation, n, 1, 1)
    local extents, window, gaps, spread = spatial(shape_of(x), n, 2), {}, {}, false
    for k = 1, n do
        window[k], gaps[k] = (kernel[k] - 1) * dilation[k] + 1, apart[k] - 1
        extents[k] = math.max((extents[k] - 1) * apart[k] + 1, 0)
        spread = spread or apart[k] > 1
    end
    local low, high = paddings(name, o.padding == nil and "SAME" or o.padding, extents, window, strides)
    for k = 1, n do spread = spread or low[k] < 0 or high[k] < 0 end
    x, w = meeting(x, w)
    local whole = not core.dtype_of(x).inexact
    if spread or whole then
        x = surround(x, 0, low, high, gaps)
        for k = 1, n do low[k], high[k] = 0, 0 end
    end
    local y = whole and integer_conv(x, w, n, groups, strides, dilation)
              or record_conv(x, w, n, groups, strides, low, high, dilation)
    return first and np.moveaxis(y, -1, 1) or y
end

--- What jax.lax.conv_transpose pads an axis with, once its elements are `stride` apart.
local function transposed_padding(padding, window, stride)
    if padding == "SAME" then
        local total = window + stride - 2
        local before = stride > window - 1 and window - 1 or math.ceil(total / 2)
        return { before, total - before }
    end
    return { window - 1, stride - 1 + math.max(window - stride, 0) }
end

--- np.nn.conv_transpose(x, w, {strides=1, padding="SAME", kernel_dilation=1, layout="NHWC"}): a convolution whose
-- strides enlarge: conv of x with strides - 1 zeros between its elements. "SAME": `strides` times as many places as x
-- has; "VALID": all that any element of x meets; or pairs {before, after} for conv. The kernel is not flipped, as in
-- JAX.
--- > np.nn.conv_transpose(np.ones{1, 2, 1}, np.ones{2, 1, 1}, {strides=2}):ravel()
-- [1. 1. 1. 1.]
local function conv_transpose(x, w, given)
    local name = "nn.conv_transpose"
    local o = options(name, given, { strides = true, padding = true, kernel_dilation = true, layout = true })
    local last, n, first = images(name, x, o.layout)
    w = coerce_kernel(name, last, w, n, first, 1)
    if core.ndim(w) ~= n + 2 then
        raise(name, "argument 2 must be a kernel of %d axes, got shape %s", n + 2, shape_text(w))
    end
    local kernel, padding = spatial(shape_of(w), n, first and 3 or 1), o.padding == nil and "SAME" or o.padding
    local strides = per_axis(name, "strides", o.strides, n, 1, 1)
    local dilation = per_axis(name, "kernel_dilation", o.kernel_dilation, n, 1, 1)
    if type(padding) == "string" and (padding:upper() == "SAME" or padding:upper() == "VALID") then
        local pairs_of = {}
        for k = 1, n do
            pairs_of[k] = transposed_padding(padding:upper(), (kernel[k] - 1) * dilation[k] + 1, strides[k])
        end
        padding = pairs_of
    end
    return conv(x, w, { padding = padding, input_dilation = strides, kernel_dilation = dilation, layout = o.layout })
end

-- ---- Pooling --------------------------------------------------------------------------------------------------------

local max_pool_options = { strides = true, padding = true, layout = true }
local pool_options = { strides = true, padding = true, layout = true, count_include_pad = true }

--- The windows of images that each place of a pool sees; the options of reductions over them; whether channels came
-- first; the extents of windows. Outside of x is `value`.
local function windows_of(name, x, window, o, value)
    local n, first
    x, n, first = images(name, x, o.layout)
    window = per_axis(name, "window", window, n, nil, 1)
    local strides = per_axis(name, "strides", o.strides, n, window, 1)
    local low, high = paddings(name, o.padding == nil and "VALID" or o.padding, spatial(shape_of(x), n, 2), window,
                               strides)
    x = surround(x, value(core.dtype_of(x)), low, high)
    local axes = {}
    for k = 1, n do axes[k] = -k end
    return windows(x, n, window, strides), { axis = axes }, first, window
end

local function restore_layout(y, first)
    return first and np.moveaxis(y, -1, 1) or y
end

--- What no element of a dtype is below.
local function least(dtype)
    if dtype.kind == "f" then return -math.huge end
    if dtype.kind ~= "i" then return 0 end
    return dtype.bytes == 8 and bit.lshift(1LL, 63) or -2 ^ (8 * dtype.bytes - 1)
end

--- np.nn.max_pool(x, window, {strides=window, padding="VALID", layout="NHWC"}): the largest element of each window, by
-- channel. `window` is an integer or one for each spatial axis; padding as in conv, with what no element is below.
-- Equal largest elements share the gradient.
--- > np.nn.max_pool(np.arange(6):reshape(1, 6, 1), 2):ravel()
-- [1 3 5]
local function max_pool(x, window, given)
    local o = options("nn.max_pool", given, max_pool_options)
    local all, over, first = windows_of("nn.max_pool", x, window, o, least)
    return restore_layout(np.max(all, over), first)
end

--- np.nn.avg_pool(x, window, {strides=window, padding="VALID", layout="NHWC", count_include_pad=true}): the mean of
-- each window, by channel. Padding counts as zeros; with count_include_pad=false it does not count. Integers count as
-- f32, i64 and u64 as f64.
--- count_include_pad: false: padding does not count
--- > np.nn.avg_pool(np.arange(6):reshape(1, 6, 1), 2):ravel()
-- [0.5 2.5 4.5]
local function avg_pool(x, window, given)
    local o = options("nn.avg_pool", given, pool_options)
    local function zero() return 0 end
    local half
    x, half = operands.floats("nn.avg_pool", 1, x)
    local all, over, first, extents = windows_of("nn.avg_pool", x, window, o, zero)
    local sum = np.sum(all, over)
    local count = shape.product(extents)
    if o.count_include_pad == false then
        count = np.sum((windows_of("nn.avg_pool", np.ones_like(x), window, o, zero)), over)
    end
    return restore_layout(operands.narrow(sum / count, half), first)
end

-- ---- Layers ---------------------------------------------------------------------------------------------------------

return function(nn)
    nn.conv, nn.conv_transpose, nn.max_pool, nn.avg_pool = conv, conv_transpose, max_pool, avg_pool

    --- np.nn.MaxPool(window, {…}), np.nn.AvgPool(window, {…}) -> function: functions for np.nn.Sequential that pool so;
    -- the options are those of np.nn.max_pool and np.nn.avg_pool.
    --- > x = np.arange(4):reshape(1, 4, 1)
    --- > np.nn.MaxPool(2)(x):ravel(), np.nn.AvgPool(2)(x):ravel()
    -- [1 3]
    -- [0.5 2.5]
    function nn.MaxPool(window, given)
        options("nn.max_pool", given, max_pool_options)
        return function(x) return max_pool(x, window, given) end
    end
    function nn.AvgPool(window, given)
        options("nn.avg_pool", given, pool_options)
        return function(x) return avg_pool(x, window, given) end
    end

    --- np.nn.flatten(x): (batch, …) as (batch, n).
    --- > np.nn.flatten(np.ones{2, 3, 4}):dim(1)
    -- 12
    function nn.flatten(x)
        x = core.coerce("nn.flatten", 1, x)
        local dims = shape_of(x)
        if #dims == 0 then raise("nn.flatten", "needs at least 1 axis") end
        return shape.reshape(x, { dims[1], shape.product(dims, 2) })
    end

    --- An initializer of kernels with the features first.
    local function features_first(init)
        return function(key, dims, known) return np.moveaxis(init(key, dims, known), { -1, -2 }, { 0, 1 }) end
    end

    --- np.nn.Conv(inputs, outputs, kernel_size, {strides=1, padding="SAME", input_dilation=1, kernel_dilation=1,
    -- groups=1, layout="NHWC", bias=true, init=np.nn.glorot_uniform, bias_init=np.nn.zeros, dtype="f32"}),
    -- np.nn.Conv(outputs, kernel_size, {…}) -> block: a layer with parameters {w = kernel, b = (outputs,)}, which
    -- convolves as np.nn.conv does. Without `inputs` there are as many as the first x has channels. kernel_size is a
    -- table of one extent for each spatial axis.
    --- bias: false: no b
    --- init: the initializer of w
    --- bias_init: the initializer of b
    --- dtype: the dtype of the parameters
    --- > layer = np.nn.Conv(8, {3, 3})
    --- > layer(layer:init(np.random.key(0), np.ones{1, 5, 5, 2}), np.ones{1, 5, 5, 2}):dim(-1)
    -- 8
    function nn.Conv(inputs, outputs, kernel_size, given)
        if type(outputs) == "table" then
            inputs, outputs, kernel_size, given = nil, inputs, outputs, kernel_size or given
        end
        if inputs ~= nil then inputs = core.integer("nn.Conv", 1, "inputs", inputs) end
        outputs = core.integer("nn.Conv", inputs and 2 or 1, "outputs", outputs)
        if type(kernel_size) ~= "table" or #kernel_size < 1 or #kernel_size > 3 then
            bad_argument("nn.Conv", inputs and 3 or 2, "kernel_size", "a table of 1 to 3 extents", kernel_size)
        end
        core.list("nn.Conv", "the table of extents", kernel_size)
        local known, of_conv = { bias = true, init = true, bias_init = true, dtype = true }, {}
        for key in pairs(conv_options) do known[key] = true end
        local o = options("nn.Conv", given, known)
        for key in pairs(conv_options) do of_conv[key] = o[key] end
        local first, init = o.layout and o.layout:sub(-1) ~= "C", o.init or nn.glorot_uniform
        local parameters = { { "w", first and features_first(init) or init } }
        if o.bias ~= false then parameters[2] = { "b", o.bias_init or nn.zeros } end
        return block.new {
            name = "nn.Conv", inputs = inputs, outputs = outputs, dtype = o.dtype, parameters = parameters,
            infer_shape = function(self, x)
                local channels, groups = self.inputs or channels_of("nn.Conv", x, o.layout), core.plain(o.groups) or 1
                if channels % groups ~= 0 then
                    raise("nn.Conv", "%d inputs are no multiple of %d groups", channels, groups)
                end
                local dims = { unpack(kernel_size) }
                dims[#dims + 1], dims[#dims + 2] = channels / groups, outputs
                return { w = dims, b = { outputs } }
            end,
            forward = function(_, params, x)
                if type(params) ~= "table" or not core.is_array(params.w) then
                    bad_argument("nn.Conv", 1, "params", "what layer:init(key) returned", params)
                end
                local y, b = conv(x, params.w, of_conv), params.b
                if b == nil then return y end
                if not first then return y + b end
                local dims = { outputs }
                for k = 1, #kernel_size do dims[k + 1] = 1 end
                return y + shape.reshape(b, dims)
            end,
        }
    end
end
