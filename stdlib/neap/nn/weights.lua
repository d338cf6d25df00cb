--- weights.lua: quantized weights for np.nn: matrices as integers of 8 or 4 bits with a scale for each block of inputs.
--
-- A quantized matrix of shape (inputs, outputs) is a table of two arrays, so it is a part of a tree like any other:
--
--     codes   8 bits: i8 (inputs, outputs); 4 bits: u8 (inputs / 2, outputs), where a byte has a place of the first
--             half of a block in its lower bits and that of the second half in its upper ones, 8 more than they are
--     scale   f16 (inputs / block, outputs)
--
-- A weight is its code times the scale of its block, as in GGUF's q8_0 and q4_0. A table may have two arrays more, a of
-- shape (inputs, rank) and b of (rank, outputs), whose product is added (np.nn.lora).
local core = require "neap.core"
local trees = require "neap.core.trees"

local np = core.np
local raise, options = core.raise, core.options
local is_array, shape_of = core.is_array, core.shape_of

local weights = {}

local SMALLEST = 6e-8 -- a scale below is 0 in f16

--- Whether a value is a quantized matrix.
function weights.is_quantized(value)
    return type(value) == "table" and is_array(value.codes) and is_array(value.scale)
end

--- (inputs, outputs) as (blocks, places of a block, outputs).
local function in_blocks(x, block)
    local dims = shape_of(x)
    return np.reshape(x, dims[1] / block, block, dims[2])
end

--- The block's largest element, with its sign: (blocks, 1, outputs).
local function largest(x)
    local high, low = np.max(x, { axis = 1, keepdims = true }), np.min(x, { axis = 1, keepdims = true })
    return np.where(np.greater(high, -low), high, low)
end

--- The codes of a matrix in blocks, from `low` to `high`, such that `low`, or `high` where both sides have as many, is
-- the code of the largest element of a block; and the scales.
local function coded(x, low, high)
    local most = low == -high and np.max(np.abs(x), { axis = 1, keepdims = true }) / high or largest(x) / low
    local scale = np.astype(np.where(np.less(np.abs(most), SMALLEST), 0, most), "f16")
    local divisor = np.astype(np.where(np.equal(scale, 0), 1, scale), "f32")
    return np.clip(np.rint(x / divisor), low, high), np.squeeze(scale, { axis = 1 })
end

local function quantize(x, bits, block)
    local dims = shape_of(x)
    local blocks = in_blocks(np.astype(x, "f32"), block)
    if bits == 8 then
        local codes, scale = coded(blocks, -127, 127)
        return { codes = np.astype(np.reshape(codes, dims[1], dims[2]), "i8"), scale = scale }
    end
    local codes, scale = coded(blocks, -8, 7)
    codes = np.astype(codes + 8, "u8")
    local half = block / 2
    local lower, upper = codes[{ {}, { 0, half } }], codes[{ {}, { half, block } }]
    return { codes = np.reshape(np.bitwise_or(lower, np.bitwise_left_shift(upper, 4)), dims[1] / 2, dims[2]),
             scale = scale }
end

--- How many inputs and outputs quantized weights have, and how many inputs a block.
function weights.extents(name, w)
    local codes, scale = w.codes, w.scale
    local dims, of_scale = shape_of(codes), shape_of(scale)
    local kind = core.dtype_of(codes).name
    local inputs = kind == "u8" and dims[1] * 2 or dims[1]
    if (kind ~= "i8" and kind ~= "u8") or #dims ~= 2 or #of_scale ~= 2 or dims[2] ~= of_scale[2]
        or of_scale[1] == 0 or inputs % of_scale[1] ~= 0 then
        raise(name, "no quantized weights: codes of dtype %s and shape %s with scale of shape %s", kind,
              core.shape_text(codes), core.shape_text(scale))
    end
    return inputs, dims[2], inputs / of_scale[1]
end

--- The matrix of f32 of codes and scales.
local function decoded(codes, scale, inputs, outputs, block)
    local factors = np.astype(np.expand_dims(scale, 1), "f32")
    if core.dtype_of(codes).name == "i8" then
        return np.reshape(np.astype(in_blocks(codes, block), "f32") * factors, inputs, outputs)
    end
    local packed = in_blocks(codes, block / 2)
    local lower = np.astype(np.bitwise_and(packed, 15), "f32") - 8
    local upper = np.astype(np.bitwise_right_shift(packed, 4), "f32") - 8
    return np.reshape(np.concatenate({ lower, upper }, { axis = 1 }) * factors, inputs, outputs)
end

--- The matrix of quantized weights, f32 (inputs, outputs).
function weights.matrix(name, w)
    local x = decoded(w.codes, w.scale, weights.extents(name, w))
    return w.a and x + np.astype(np.matmul(w.a, w.b), "f32") or x
end

--- x:matmul(matrix of w) for quantized weights. Derivatives make the matrix again, so that no f32 is kept for them.
local function quantized_product(name, x, w)
    if not is_array(x) then return np.matmul(x, weights.matrix(name, w)) end
    local inputs, outputs, block = weights.extents(name, w)
    local y = np.checkpoint(function(codes, scale, v)
        return np.matmul(v, decoded(codes, scale, inputs, outputs, block))
    end)(w.codes, w.scale, x)
    return w.a and y + np.matmul(np.matmul(x, w.a), w.b) or y
end

--- x:matmul(w) + b in np.name, whose argument `position` is x; b may be nil. `what` w is called in errors.
function weights.product(name, position, x, w, b, what)
    local is_quantized, of_w = weights.is_quantized(w), nil
    if is_quantized then
        local inputs, columns = weights.extents(name, w)
        of_w = { inputs, columns }
    elseif is_array(w) then
        of_w = shape_of(w)
    end
    if type(x) ~= "userdata" then x = core.coerce(name, position, x) end -- a stand-in, which np.matmul makes (open.lua)
    local outputs
    if is_array(x) and of_w then
        local dims = shape_of(x)
        if #dims == 0 then raise(name, "needs an input of at least 1 axis, got shape ()") end
        if #of_w == 0 then raise(name, "%s must have at least 1 axis, got shape ()", what) end
        local rows = of_w[math.max(#of_w - 1, 1)]
        if dims[#dims] ~= rows then
            raise(name, "%s of shape %s is for %s features, got x of shape %s", what, core.shape_text(of_w),
                  tostring(rows), core.shape_text(dims))
        end
        outputs = #of_w > 1 and of_w[#of_w]
    end
    local y = is_quantized and quantized_product(name, x, w) or np.matmul(x, w)
    if b == nil then return y end
    if outputs and is_array(b) and core.ndim(b) > 0 and b:dim(-1) ~= outputs and b:dim(-1) ~= 1 then
        raise(name, "%s of shape %s gives %s features, got b of shape %s", what, core.shape_text(of_w),
              tostring(outputs), core.shape_text(b))
    end
    return y + b
end

--- A tree whose nodes f may replace: f(path, node) gives what stands in its place, or nil. Paths are those of
-- np.tree.paths.
local function replaced(name, tree, path, f, depth)
    trees.check_depth(name, depth)
    local instead = f(path, tree)
    if instead ~= nil then return instead end
    if not trees.is_node(tree) then return tree end
    local copy = {}
    for _, key in ipairs(trees.keys_of(tree, name)) do
        copy[key] = replaced(name, tree[key], trees.inner_path(path, key), f, depth + 1)
    end
    return trees.alike(copy, tree)
end

--- A tree in which f(path, w) stands in place of each leaf and each quantized matrix w for which it is not nil.
function weights.replaced(name, tree, f)
    return replaced(name, tree, "", function(path, x)
        if not trees.is_node(x) then return f(path, x) end
        if not weights.is_quantized(x) then return nil end
        local instead = f(path, x)
        return instead == nil and x or instead
    end, 0)
end

function weights.define(nn)
    --- np.nn.quantize_weights(params, {bits=8, block=32, which="w$"}) -> tree: params with matrices (inputs, outputs)
    -- as integers of 8 or 4 bits, and a scale, f16, for each `block` of inputs of an output, as in GGUF's q8_0 and
    -- q4_0. Such a matrix is a table {codes=…, scale=…}, which np.nn.dense takes in place of w, and so
    -- np.nn.Dense and np.nn.MultiHeadAttention; its product is that with the matrix of f32, which is made in the
    -- program. A weight of 8 bits takes 1.06 bytes, one of 4 bits 0.56. Scales end where f16 does: a block with a
    -- weight above 8.3e6 (8 bits) or 5.2e5 (4 bits) has an infinite one and comes back as NaN.
    --- bits: 8 or 4
    --- block: how many inputs have a scale together, an even number of which those of each matrix are a multiple
    --- which: a function of path and leaf that returns true for matrices to quantize, or a Lua pattern of paths
    --- > layer = np.nn.Dense(32, 2)
    --- > params = np.nn.quantize_weights(layer:init(np.random.key(0)), {bits=4})
    --- > layer(params, np.ones{1, 32}).shape[2], params.w.codes.shape[1]
    -- 2
    -- 16
    function nn.quantize_weights(params, given)
        local name = "nn.quantize_weights"
        local o = options(name, given, { bits = true, block = true, which = true })
        local bits = core.integer(name, nil, "bits", o.bits == nil and 8 or o.bits)
        if bits ~= 8 and bits ~= 4 then core.bad_argument(name, nil, "bits", "8 or 4", bits) end
        local block = core.integer(name, nil, "block", o.block == nil and 32 or o.block, 2)
        if block % 2 ~= 0 then core.bad_argument(name, nil, "block", "an even integer", block) end
        local choose, count = trees.chooser(name, nil, "which", o.which == nil and "w$" or o.which), 0
        if not trees.is_node(params) then core.bad_argument(name, 1, "params", "a tree of parameters", params) end
        local new = replaced(name, params, "", function(path, x)
            if weights.is_quantized(x) then raise(name, "'%s' is quantized already", path) end
            if not is_array(x) or core.ndim(x) ~= 2 or not choose(path, x) then return nil end
            if not core.dtype_of(x).inexact or shape_of(x)[1] % block ~= 0 or shape_of(x)[1] == 0 then
                raise(name, "'%s' must be floats with a multiple of %d inputs, got %s of shape %s; options 'block' "
                      .. "and 'which' choose otherwise", path, block, core.dtype_of(x).name, core.shape_text(x))
            end
            count = count + 1
            return quantize(x, bits, block)
        end, 0)
        if count == 0 then raise(name, "no matrix of params is chosen by option 'which'") end
        return new
    end

    --- np.nn.dequantize_weights(params) -> tree: params with the matrices of f32 in place of quantized ones.
    --- > params = np.nn.quantize_weights({w = np.full({32, 1}, 127)})
    --- > np.nn.dequantize_weights(params).w[0]
    -- [127.]
    function nn.dequantize_weights(params)
        local name = "nn.dequantize_weights"
        if not trees.is_node(params) then core.bad_argument(name, 1, "params", "a tree of parameters", params) end
        return replaced(name, params, "", function(_, x)
            if weights.is_quantized(x) then return weights.matrix(name, x) end
        end, 0)
    end
end

return weights
