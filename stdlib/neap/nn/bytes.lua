--- bytes.lua: products and convolutions of bytes for np.nn, exact, as integers of 32 bits.
--
-- A library's product of floats is several times faster than one of integers, and exact as long as every sum of
-- products is an integer that the float counts. So a product of matrices is taken in slices of the axis that is summed
-- over, short enough for f32, whose sums are added as integers. A convolution is one of f64: libraries may transform
-- their inputs before, which f64 leaves close enough for rounding.

--- {strides}: by how many places the window moves: an integer or one for each spatial axis
--- {padding}: "SAME", "VALID", an integer, or {before, after} for each spatial axis, filled with x_zero
--- {layout}: channels last, "NHWC" (1 axis: "NWC", 3: "NDHWC"), or first, "NCHW" ("NCW", "NCDHW"); so of the kernel
--- {kernel_dilation}: how many places lie between elements of the kernel, from 1
--- {input_dilation}: how many places lie between elements of x, from 1
--- {groups}: into how many parts the channels and features are divided

local core = require "neap.core"

local np = core.np
local raise, coerce, options = core.raise, core.coerce, core.options
local shape_of = core.shape_of

local EXACT = 2 ^ 24    -- up to here f32 counts exactly
local MOST_SLICES = 64  -- of which each is a product; beyond, one of f64 takes less

--- An argument of bytes minus its zero point, as floats of a dtype, and the largest size that this can have.
local function centred(name, position, what, x, zero, dtype)
    x = coerce(name, position, x)
    local known = core.dtype_of(x)
    if known.name ~= "i8" and known.name ~= "u8" then
        raise(name, "argument %d (%s) must be of dtype i8 or u8, got %s", position, what, known.name)
    end
    local floats = np.astype(x, dtype)
    if zero == nil then return floats, known.name == "u8" and 255 or 128 end
    if not core.is_array(zero) then
        return floats - core.integer(name, nil, what .. "_zero", zero, known.name == "u8" and 0 or -128,
                                     known.name == "u8" and 255 or 127), 255
    end
    local own = core.dtype_of(zero).name
    if own ~= "i8" and own ~= "u8" then
        raise(name, "option '%s_zero' must be of dtype i8 or u8, got %s", what, own)
    end
    return floats - np.astype(zero, dtype), 255
end

local conv_options = { x_zero = true, w_zero = true, strides = true, padding = true, input_dilation = true,
                       kernel_dilation = true, groups = true, layout = true }

local function as_integers(x) return np.astype(np.astype(x, "i64"), "i32") end

--- Part from … to - 1 of an axis, from 0.
local function part_of(x, axis, from, to)
    local ranges = {}
    for k = 1, core.ndim(x) do ranges[k] = k == axis + 1 and { from, to } or {} end
    return x[ranges]
end

return function(nn)
    --- np.nn.matmul_integer(a, b, {a_zero=…, b_zero=…}): np.matmul of bytes, (a - a_zero) times (b - b_zero), exact, as
    -- i32, as ONNX's MatMulInteger: sums beyond 32 bits wrap around. a and b are i8 or u8, each of its own.
    --- a_zero: an integer in the range of a's dtype, or bytes that broadcast to a; 0 without it
    --- b_zero: the same of b
    --- > a, b = np.array({{200, 100}}, {dtype="u8"}), np.array({{127}, {-128}}, {dtype="i8"})
    --- > np.nn.matmul_integer(a, b), np.nn.matmul_integer(a, b, {a_zero=100})
    -- [[12600]]
    -- [[12700]]
    function nn.matmul_integer(a, b, given)
        local name = "nn.matmul_integer"
        local o = options(name, given, { a_zero = true, b_zero = true })
        local x, x_most = centred(name, 1, "a", a, o.a_zero, "f32")
        local y, y_most = centred(name, 2, "b", b, o.b_zero, "f32")
        local x_axis, y_axis = core.ndim(x) - 1, math.max(core.ndim(y) - 2, 0)
        local extent = core.ndim(x) > 0 and shape_of(x)[x_axis + 1] or 0
        local length = math.floor(EXACT / (x_most * y_most))
        if type(extent) ~= "number" or extent > length * MOST_SLICES then
            return as_integers(np.matmul(np.astype(x, "f64"), np.astype(y, "f64")))
        end
        if extent <= length or shape_of(y)[y_axis + 1] ~= extent then return np.astype(np.matmul(x, y), "i32") end
        local sum
        for from = 0, extent - 1, length do
            local to = math.min(from + length, extent)
            local product = np.astype(np.matmul(part_of(x, x_axis, from, to), part_of(y, y_axis, from, to)), "i32")
            sum = sum and sum + product or product
        end
        return sum
    end

    --- np.nn.conv_integer(x, w, {x_zero=…, w_zero=…, strides=1, padding="SAME", input_dilation=1, kernel_dilation=1,
    -- groups=1, layout="NHWC"}): np.nn.conv of bytes, x - x_zero with the kernel w - w_zero, exact, as i32, as ONNX's
    -- ConvInteger. What is around x counts as x_zero. The other options are those of np.nn.conv.
    --- x_zero: an integer in the range of x's dtype, or bytes that broadcast to x; 0 without it
    --- w_zero: the same of w
    --- > x = np.array({1, 2, 3}, {dtype="u8"}):reshape(1, 3, 1)
    --- > np.nn.conv_integer(x, np.ones({2, 1, 1}, {dtype="i8"}), {x_zero=1, padding="VALID"}):ravel()
    -- [1 3]
    function nn.conv_integer(x, w, given)
        local name = "nn.conv_integer"
        local o, others = options(name, given, conv_options), {}
        for key, value in pairs(o) do others[key] = value end
        others.x_zero, others.w_zero = nil, nil
        local images, kernel = centred(name, 1, "x", x, o.x_zero, "f64"), centred(name, 2, "w", w, o.w_zero, "f64")
        return as_integers(np.rint(nn.conv(images, kernel, others)))
    end
end
