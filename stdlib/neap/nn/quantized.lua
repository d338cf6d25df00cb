--- quantized.lua: functions of np.nn for numbers as small integers: integer q stands for (q - zero) * scale, with one
-- scale and zero for all, or one for each place of an axis.
local core = require "neap.core"
local operands = require "neap.arrays.operands"

local np = core.np
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options

--- {axis}: the axis of x along which scale and zero lie; nil: they broadcast to x

--- The dtype of option `dtype`, an integer one of up to 32 bits.
local function integer_dtype(name, value)
    local dtype = core.dtypes[core.dtype(name, value == nil and "i8" or value)]
    if (dtype.kind ~= "i" and dtype.kind ~= "u") or dtype.bytes > 4 then
        raise(name, "option 'dtype' must be an integer dtype of up to 32 bits, got %s", dtype.name)
    end
    return dtype
end

--- A scale or zero point as an array that broadcasts to x; `axis` as the option has it.
local function beside(name, position, what, value, x, axis)
    value = coerce(name, position, value)
    if axis == nil or core.ndim(value) == 0 then return value end
    local ndim = core.ndim(x)
    local at = core.integer(name, nil, "axis", axis, -ndim, ndim - 1) % ndim
    if core.ndim(value) ~= 1 or core.shape_of(value)[1] ~= core.shape_of(x)[at + 1] then
        raise(name, "argument %d (%s) must have one element for each place of axis %d of x, got shape %s for %s",
              position, what, at, core.shape_text(value), core.shape_text(x))
    end
    local dims = {}
    for k = 1, ndim do dims[k] = k == at + 1 and -1 or 1 end
    return np.reshape(value, dims)
end

return function(nn)
    --- np.nn.quantize(x, scale, zero, {dtype="i8", axis=…}): round(x / scale) + zero as integers, halves to the even
    -- one, cut to the range of the dtype, as ONNX's QuantizeLinear; zero is 0 unless given. NaN becomes zero.
    --- dtype: of the result: i8, u8, i16, u16, i32, u32
    --- > np.nn.quantize(np.array{-1, 0.2, 100}, 0.5)
    -- [ -2   0 127]
    function nn.quantize(x, scale, zero, given)
        local name = "nn.quantize"
        local o = options(name, given, { dtype = true, axis = true })
        local dtype = integer_dtype(name, o.dtype)
        x = operands.wide(operands.float(coerce(name, 1, x)))
        local y = np.rint(x / beside(name, 2, "scale", scale, x, o.axis))
        y = np.where(np.isnan(y), 0, y)
        if zero ~= nil then
            y = y + np.astype(beside(name, 3, "zero", zero, x, o.axis), core.dtype_of(y).name)
        end
        local range = np.iinfo(dtype.name)
        return np.astype(np.clip(y, range.min, range.max), dtype.name)
    end

    --- np.nn.dequantize(q, scale, zero, {axis=…}): (q - zero) * scale, in the dtype of scale (f32 for a number); the
    -- difference is an integer of 32 bits, or of 64 for q of more.
    --- > np.nn.dequantize(np.array({-2, 0, 127}, {dtype="i8"}), 0.5)
    -- [-1.   0.  63.5]
    function nn.dequantize(q, scale, zero, given)
        local name = "nn.dequantize"
        local o = options(name, given, { axis = true })
        q = coerce(name, 1, q)
        local dtype = core.dtype_of(q)
        if dtype.kind ~= "i" and dtype.kind ~= "u" then core.not_integers(name, "argument 1 (q)", dtype) end
        local wide = dtype.bytes < 4 and "i32" or "i64"
        local y = np.astype(q, wide)
        if zero ~= nil then y = y - np.astype(beside(name, 3, "zero", zero, q, o.axis), wide) end
        scale = operands.float(beside(name, 2, "scale", scale, q, o.axis))
        return np.astype(y, core.dtype_of(scale).name) * scale
    end

    --- np.nn.choose_qparams(x, {dtype="i8", axis=…, symmetric=true}) -> scale, zero: for np.nn.quantize, such that no
    -- element of x is cut. Symmetric: the largest size is the largest integer, and zero is 0, of unsigned integers
    -- their middle (128 of u8), as in PyTorch. Else the range of x, which counts as having 0 in it, is that of the
    -- dtype. Where x is 0, scale is 1. Of halves scale is f32.
    --- dtype: of the integers
    --- axis: a scale for each place of this axis; nil: one for all
    --- symmetric: false: zero is where 0 falls
    --- > np.nn.choose_qparams(np.array{-1, 0.5, 12.7})
    -- 0.1
    -- 0
    --- > np.nn.choose_qparams(np.array{-1, 0.5, 12.7}, {dtype="u8"})
    -- 0.1
    -- 128
    function nn.choose_qparams(x, given)
        local name = "nn.choose_qparams"
        local o = options(name, given, { dtype = true, axis = true, symmetric = true })
        if o.symmetric ~= nil and type(o.symmetric) ~= "boolean" then
            bad_argument(name, nil, "symmetric", "a boolean", o.symmetric)
        end
        local dtype = integer_dtype(name, o.dtype)
        x = operands.wide(operands.float(coerce(name, 1, x)))
        local ndim, axes = core.ndim(x), {}
        local kept = o.axis ~= nil and core.integer(name, nil, "axis", o.axis, -ndim, ndim - 1) % ndim or -1
        for k = 0, ndim - 1 do
            if k ~= kept then axes[#axes + 1] = k end
        end
        local along, range = { axis = axes, initial = 0 }, np.iinfo(dtype.name)
        local low, high = np.min(x, along), np.max(x, along)
        if o.symmetric ~= false then
            local middle = dtype.kind == "u" and (range.max + 1) / 2 or 0
            local scale = np.maximum(-low, high) / (range.max - middle)
            scale = np.where(np.equal(scale, 0), 1, scale)
            return scale, np.full_like(scale, middle, { dtype = dtype.name })
        end
        local scale = (0.5 * high - 0.5 * low) / (0.5 * (range.max - range.min)) -- high - low may be beyond the dtype
        scale = np.where(np.equal(scale, 0), 1, scale)
        local zero = np.clip(range.min - np.rint(low / scale), range.min, range.max)
        return scale, np.astype(zero, dtype.name)
    end
end
