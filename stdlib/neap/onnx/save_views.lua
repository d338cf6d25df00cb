--- save_views.lua: ops that move elements, reductions, windows and convolutions as operators of ONNX (save.lua).
local core = require "neap.core"
local message = require "neap.onnx.message"

local np, CODES, numbers = core.np, message.CODES, require("neap.onnx.listing").numbers
local rows = {}

-- ---- Moves ----------------------------------------------------------------------------------------------------------

function rows.iota(w, line, output)
    w:node("Identity", { w:constant(np.arange(numbers(line.attrs.n)[1], { dtype = line.dtype })) }, nil, output)
end

function rows.broadcast_to(w, line, output)
    w:node("Expand", { w:operand(line, 1), w:integers(unpack(line.shape)) }, nil, output)
end

function rows.reshape(w, line, output)
    w:reshaped(w:operand(line, 1), line.shape, output)
end

function rows.transpose(w, line, output)
    w:node("Transpose", { w:operand(line, 1) }, { perm = numbers(line.attrs.axes) }, output)
end

function rows.slice(w, line, output)
    local starts, steps, counts = numbers(line.attrs.start), numbers(line.attrs.step), numbers(line.attrs.count)
    local ends, axes = {}, {}
    for k, from in ipairs(starts) do
        local to = from + steps[k] * counts[k]
        ends[k], axes[k] = steps[k] < 0 and to < 0 and -2 ^ 31 or to, k - 1
        if counts[k] == 0 then ends[k] = from end
    end
    w:node("Slice", { w:operand(line, 1), w:integers(unpack(starts)), w:integers(unpack(ends)),
                      w:integers(unpack(axes)), w:integers(unpack(steps)) }, nil, output)
end

function rows.concatenate(w, line, output)
    local inputs = {}
    for k = 1, #line.operands do inputs[k] = w:operand(line, k) end
    w:node("Concat", inputs, { axis = tonumber(line.attrs.axis) }, output)
end

--- `count` values behind each element of an axis but the last: padded along an axis of their own.
local function spread(w, x, shape, axis, count, value)
    local wide, pads, n = {}, {}, shape[axis]
    for k, extent in ipairs(shape) do wide[k < axis and k or k + 1] = extent end
    wide[axis], wide[axis + 1] = n, 1
    for k = 1, 2 * #wide do pads[k] = 0 end
    pads[#wide + axis + 1] = count
    x = w:node("Pad", { w:reshaped(x, wide), w:integers(unpack(pads)), value })
    shape[axis] = n * (count + 1)
    x = w:reshaped(x, shape)
    if n == 0 then return x end
    shape[axis] = shape[axis] - count
    return w:node("Slice", { x, w:integers(0), w:integers(shape[axis]), w:integers(axis - 1) })
end

function rows.pad(w, line, output)
    local x, value = w:operand(line, 1), w:operand(line, 2)
    local pads, shape = numbers(line.attrs.low), { unpack(w:shape(line, 1)) }
    for axis, count in ipairs(numbers(line.attrs.interior)) do
        if count > 0 then x = spread(w, x, shape, axis, count, value) end
    end
    for _, n in ipairs(numbers(line.attrs.high)) do pads[#pads + 1] = n end
    w:node("Pad", { x, w:integers(unpack(pads)), value }, nil, output)
end

-- ---- Reductions -----------------------------------------------------------------------------------------------------

--- A reduction over the axes of a line; of none it is the array itself.
local function reduce(w, op, x, line, output)
    local axes = numbers(line.attrs.axes)
    if #axes == 0 then return w:node("Identity", { x }, nil, output) end
    return w:node(op, { x, w:integers(unpack(axes)) }, { keepdims = line.attrs.keepdims and 1 or 0 }, output)
end

for name, op in pairs { sum = "ReduceSum", prod = "ReduceProd", max = "ReduceMax", min = "ReduceMin" } do
    rows[name] = function(w, line, output)
        local x = w:operand(line, 1)
        if line.dtype ~= "bool" then return reduce(w, op, x, line, output) end
        x = w:node("Cast", { x }, { to = CODES.i32 })
        w:node("Cast", { reduce(w, op, x, line) }, { to = CODES.bool }, output)
    end
end

--- How many elements over the axes of a line are true.
local function count_true(w, x, line)
    return reduce(w, "ReduceSum", w:node("Cast", { x }, { to = CODES.i32 }), line)
end

local function truth(w, line)
    local x = w:operand(line, 1)
    return w:dtype(line, 1) == "bool" and x or w:node("Cast", { x }, { to = CODES.bool })
end

function rows.any(w, line, output)
    w:node("Greater", { count_true(w, truth(w, line), line), w:number(0, "i32") }, nil, output)
end

function rows.all(w, line, output)
    local false_ones = count_true(w, w:node("Not", { truth(w, line) }), line)
    w:node("Equal", { false_ones, w:number(0, "i32") }, nil, output)
end

for name, pair in pairs { nanmax = { "ReduceMax", -math.huge }, nanmin = { "ReduceMin", math.huge } } do
    rows[name] = function(w, line, output)
        local x = w:operand(line, 1)
        local missing = w:node("IsNaN", { x })
        local best = reduce(w, pair[1], w:node("Where", { missing, w:number(pair[2], line.dtype), x }), line)
        local known = count_true(w, w:node("Not", { missing }), line)
        w:node("Where", { w:node("Greater", { known, w:number(0, "i32") }), best, w:number(np.nan, line.dtype) }, nil,
               output)
    end
end

--- The array with its reduced axes joined to a last one, in order.
local function joined(w, x, shape, axes)
    local reduced, perm, kept, count = {}, {}, {}, 1
    for _, axis in ipairs(axes) do reduced[axis] = true end
    for axis, n in ipairs(shape) do
        if not reduced[axis - 1] then perm[#perm + 1], kept[#kept + 1] = axis - 1, n end
    end
    for _, axis in ipairs(axes) do perm[#perm + 1], count = axis, count * shape[axis + 1] end
    kept[#kept + 1] = count
    return w:reshaped(w:node("Transpose", { x }, { perm = perm }), kept)
end

for name, op in pairs { argmax = "ArgMax", argmin = "ArgMin" } do
    rows[name] = function(w, line, output)
        local axes, x = numbers(line.attrs.axes), w:operand(line, 1)
        if w:dtype(line, 1) == "bool" then x = w:node("Cast", { x }, { to = CODES.i32 }) end
        local best
        if #axes == 1 then
            best = w:node(op, { x }, { axis = axes[1], keepdims = line.attrs.keepdims and 1 or 0 })
        else
            x = joined(w, x, w:shape(line, 1), axes)
            best = w:reshaped(w:node(op, { x }, { axis = -1, keepdims = 0 }), line.shape)
        end
        w:node("Cast", { best }, { to = CODES[line.dtype] }, output)
    end
end

function rows.cumsum(w, line, output)
    local axis = w:constant(np.array(tonumber(line.attrs.axis), { dtype = "i64" }))
    w:node("CumSum", { w:operand(line, 1), axis }, { reverse = tonumber(line.attrs.reverse) }, output)
end

-- ---- Windows and convolutions ---------------------------------------------------------------------------------------

--- All windows along an axis, the places in a window along a new last axis: rows of indices.
function rows.windows(w, line, output)
    local a, axis, rank = line.attrs, tonumber(line.attrs.axis), #line.shape
    local first = np.arange(line.shape[axis + 1], { dtype = "i64" }):reshape(-1, 1) * tonumber(a.stride)
    local places = first + np.arange(tonumber(a.size), { dtype = "i64" }) * tonumber(a.dilation)
    local perm = {}
    for k = 0, rank - 1 do
        if k ~= axis + 1 then perm[#perm + 1] = k end
    end
    perm[rank] = axis + 1
    local every = w:node("Gather", { w:operand(line, 1), w:constant(places) }, { axis = axis })
    w:node("Transpose", { every }, { perm = perm }, output)
end

--- The attributes of a convolution stand in the text as stride, low, high and dilation of the first axis; the last has
-- those of the other axes behind.
local function conv_attributes(a, count)
    local every = { tonumber(a.stride), tonumber(a.low), tonumber(a.high), unpack(numbers(a.dilation)) }
    local o = { group = tonumber(a.groups), strides = {}, pads = {}, dilations = {} }
    for k = 1, count do
        local at = 4 * k - 3
        o.strides[k], o.pads[k], o.pads[k + count] = every[at], every[at + 1], every[at + 2]
        o.dilations[k] = every[at + 3]
    end
    return o
end

function rows.conv(w, line, output)
    local count = #line.shape - 2
    local before, kernel, behind = { 0, count + 1 }, { count + 1, count }, { 0 }
    for k = 1, count do before[k + 2], kernel[k + 2], behind[k + 1] = k, k - 1, k + 1 end
    behind[count + 2] = 1
    local x = w:node("Transpose", { w:operand(line, 1) }, { perm = before })
    local k = w:node("Transpose", { w:operand(line, 2) }, { perm = kernel })
    local y = w:node("Conv", { x, k }, conv_attributes(line.attrs, count))
    w:node("Transpose", { y }, { perm = behind }, output)
end

return rows
