--- conv.lua: convolutions and their layer, for np.nn: adds them to the table that it is given.
--
-- Images are (batch, spatial axes…, channels), 1 to 3 spatial axes; kernels (spatial axes…, channels / groups,
-- features), as in Flax, and as np.nn's initializers expect. With layout "NCHW" (NCW, NCDHW) channels come first, and
-- kernels are (features, channels / groups, spatial axes…), as in Torch: the axes are exchanged by views (spatial.lua).
-- The rows conv, conv_input and conv_kernel are in lazy/ops/conv.c.

--- {strides}: by how many places the window moves: an integer or one for each spatial axis
--- {padding}: "SAME", "VALID", an integer, or {before, after} for each spatial axis
--- {layout}: channels last, "NHWC" (1 axis: "NWC", 3: "NDHWC"), or first, "NCHW" ("NCW", "NCDHW"); so of the kernel
--- {kernel_dilation}: how many places lie between elements of the kernel, from 1
--- {input_dilation}: how many places lie between elements of x, from 1
--- {groups}: into how many parts the channels and features are divided

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local block = require "neap.nn.block"
local spatial = require "neap.nn.spatial"

local np, ids, attrs = core.np, core.ids, core.attrs
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local shape_of, shape_text = core.shape_of, core.shape_text
local images, per_axis, paddings = spatial.images, spatial.per_axis, spatial.paddings
local extents_of, surround, windows = spatial.extents, spatial.surround, spatial.windows

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
    return extents_of(dims, n, 1)
end

--- The convolution that np.name computes, with the options o of np.nn.conv.
local function convolved(name, x, w, o)
    local n, first
    x, n, first = images(name, x, o.layout)
    local groups = core.integer(name, nil, "groups", o.groups == nil and 1 or o.groups, 1)
    w = coerce_kernel(name, x, w, n, first, groups)
    if first and core.ndim(w) == n + 2 then w = np.moveaxis(w, { 1, 0 }, { -2, -1 }) end
    local kernel = check_kernel(name, x, w, n, groups)
    local strides = per_axis(name, "strides", o.strides, n, 1, 1)
    local dilation = per_axis(name, "kernel_dilation", o.kernel_dilation, n, 1, 1)
    local apart = per_axis(name, "input_dilation", o.input_dilation, n, 1, 1)
    local extents, window, gaps, spread = extents_of(shape_of(x), n, 2), {}, {}, false
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

--- np.nn.conv(x, w, {strides=1, padding="SAME", input_dilation=1, kernel_dilation=1, groups=1, layout="NHWC"}): y[n, o,
-- f] is the sum over k, c of x[n, o * stride - before + k * dilation, c] w[k, c, f], for 1 to 3 spatial axes; x counts
-- as 0 outside. Kernels w are (spatial axes…, channels / groups, features); with channels first, layout "NCHW", they
-- are (features, channels / groups, spatial axes…), as in PyTorch. Padding: "SAME" (as many places as strides go into
-- the extent), "VALID" (none), an integer, or one for each axis, or pairs {before, after}; negative ones cut.
-- input_dilation puts zeros between elements of x. The channels of x and the features of w come in `groups`, of which
-- equal ones meet. Options of spatial axes are one number or a table of one for each. Integers give integers, which
-- wrap around; bools count as f32.
--- > np.nn.conv(np.arange(5):reshape(1, 5, 1) / 1, np.ones{3, 1, 1}, {padding="VALID"}):ravel()
-- [3. 6. 9.]
local function conv(x, w, given)
    return convolved("nn.conv", x, w, options("nn.conv", given, conv_options))
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

--- The paddings of conv whose transpose is wanted, the extents of its images, and window sizes.
local function of_images(name, o, n, places, window, strides)
    local extra = per_axis(name, "output_padding", o.output_padding, n, 0, 0)
    local wide, extents = {}, {}
    for k = 1, n do wide[k] = places[k] * strides[k] end
    local low, high = paddings(name, o.padding == nil and "SAME" or o.padding, wide, window, strides)
    for k = 1, n do
        if extra[k] > 0 and extra[k] >= strides[k] then
            raise(name, "option 'output_padding' must be below the strides, got %d at a stride of %d", extra[k],
                  strides[k])
        end
        extents[k] = (places[k] - 1) * strides[k] + window[k] - low[k] - high[k] + extra[k]
    end
    return low, high, extents
end

--- A kernel (spatial axes…, features / groups, channels) of conv as that of the conv that is its transpose.
local function flipped(w, n, groups)
    local axes, dims = {}, shape_of(w)
    for k = 1, n do axes[k] = k - 1 end
    w = np.flip(w, { axis = axes })
    local apart, order = { unpack(dims, 1, n + 1) }, axes
    apart[n + 2], apart[n + 3] = groups, math.floor(dims[n + 2] / groups)
    order[n + 1], order[n + 2], order[n + 3] = n + 2, n + 1, n
    w = shape.permute(shape.reshape(w, apart), order)
    apart[n + 1], apart[n + 2], apart[n + 3] = math.floor(dims[n + 2] / groups), dims[n + 1] * groups, nil
    return shape.reshape(w, apart)
end

--- The transpose of conv, of images and a kernel with their channels last: the row conv_input, or a conv of x with
-- zeros between its elements where that is not for it.
local function transpose_of_conv(name, x, w, n, groups, strides, dilation, o)
    local dims, of_x, window = shape_of(w), shape_of(x), {}
    if dims[n + 2] ~= of_x[n + 2] or dims[n + 2] % groups ~= 0 then
        raise(name, "images and kernel (argument 2) do not fit: the images have %d channels in %d group%s, the kernel "
              .. "takes %d", of_x[n + 2], groups, groups == 1 and "" or "s", dims[n + 2])
    end
    for k = 1, n do window[k] = (dims[k] - 1) * dilation[k] + 1 end
    local low, high, extents = of_images(name, o, n, extents_of(of_x, n, 2), window, strides)
    x, w = meeting(x, w)
    local plain = core.dtype_of(x).inexact
    for k = 1, n do plain = plain and low[k] >= 0 and high[k] >= 0 and extents[k] > 0 and of_x[k + 1] > 0 end
    if not plain then
        local widths, extra = {}, per_axis(name, "output_padding", o.output_padding, n, 0, 0)
        for k = 1, n do widths[k] = { window[k] - 1 - low[k], window[k] - 1 - high[k] + extra[k] } end
        return convolved(name, x, flipped(w, n, groups), { padding = widths, input_dilation = strides,
                                                           kernel_dilation = dilation, groups = groups })
    end
    attrs[0] = groups
    for k = 1, n do
        local values = { strides[k], low[k], high[k], dilation[k], extents[k] }
        for j = 1, 5 do attrs[5 * k - 5 + j] = core.put(5 * k - 5 + j, values[j]) end
    end
    return core.record2(ids.conv_input, x, w, 1 + 5 * n)
end

local transpose_options = { strides = true, padding = true, kernel_dilation = true, groups = true, layout = true,
                            transpose_kernel = true, output_padding = true }

--- np.nn.conv_transpose(x, w, {strides=1, padding="SAME", kernel_dilation=1, groups=1, layout="NHWC",
-- transpose_kernel=false, output_padding=0}): a convolution whose strides enlarge: conv of x with strides - 1 zeros
-- between its elements. "SAME": `strides` times as many places as x has; "VALID": all that any element of x meets; or
-- widths for conv. The kernel is that of conv, (spatial axes…, channels / groups, features), or with channels first
-- (features, channels / groups, spatial axes…), and not flipped, as in JAX.
--
-- With transpose_kernel=true it is the transpose of np.nn.conv, as in PyTorch and ONNX: w is the kernel of the conv,
-- (spatial axes…, features / groups, channels), or with channels first (channels, features / groups, spatial axes…), as
-- PyTorch's; padding is that of the conv: a number p makes each axis 2 p shorter.
--- transpose_kernel: true: the transpose of conv, whose kernel and padding w and padding are
--- output_padding: with transpose_kernel, how many places the result has more, below the strides
--- > np.nn.conv_transpose(np.ones{1, 2, 1}, np.ones{2, 1, 1}, {strides=2}):ravel()
-- [1. 1. 1. 1.]
--- > w = np.array{1, 2, 3}:reshape(1, 1, 3)
--- > np.nn.conv_transpose(np.ones{1, 1, 2}, w, {transpose_kernel=true, padding=1, strides=2, layout="NCW"}):ravel()
-- [2. 4. 2.]
local function conv_transpose(x, w, given)
    local name = "nn.conv_transpose"
    local o = options(name, given, transpose_options)
    local last, n, first = images(name, x, o.layout)
    local groups = core.integer(name, nil, "groups", o.groups == nil and 1 or o.groups, 1)
    w = coerce_kernel(name, last, w, n, first, groups)
    if core.ndim(w) ~= n + 2 then
        raise(name, "argument 2 must be a kernel of %d axes, got shape %s", n + 2, shape_text(w))
    end
    local strides = per_axis(name, "strides", o.strides, n, 1, 1)
    local dilation = per_axis(name, "kernel_dilation", o.kernel_dilation, n, 1, 1)
    if o.transpose_kernel then
        if first then w = np.moveaxis(w, { 1, 0 }, { -2, -1 }) end
        local y = transpose_of_conv(name, last, w, n, groups, strides, dilation, o)
        return first and np.moveaxis(y, -1, 1) or y
    end
    if o.output_padding ~= nil then raise(name, "option 'output_padding' is for transpose_kernel=true") end
    local kernel, padding = extents_of(shape_of(w), n, first and 3 or 1), o.padding == nil and "SAME" or o.padding
    if type(padding) == "string" and (padding:upper() == "SAME" or padding:upper() == "VALID") then
        local pairs_of = {}
        for k = 1, n do
            pairs_of[k] = transposed_padding(padding:upper(), (kernel[k] - 1) * dilation[k] + 1, strides[k])
        end
        padding = pairs_of
    end
    return convolved(name, x, w, { padding = padding, input_dilation = strides, kernel_dilation = dilation,
                                   groups = groups, layout = o.layout })
end

-- ---- Layers ---------------------------------------------------------------------------------------------------------

return function(nn)
    nn.conv, nn.conv_transpose = conv, conv_transpose

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
    -- table of one extent for each spatial axis. The kernel's layout is that of np.nn.conv.
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
                local channels = self.inputs or spatial.channels_of("nn.Conv", x, o.layout)
                local groups = core.plain(o.groups) or 1
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
                local y, b = convolved("nn.Conv", x, params.w, of_conv), params.b
                if b == nil then return y end
                if not first then return y + b end
                local dims = { outputs }
                for k = 1, #kernel_size do dims[k + 1] = 1 end
                return y + shape.reshape(b, dims)
            end,
        }
    end
end
