--- save_views.lua: ops that move elements, reductions, windows and convolutions as operators of ONNX (save.lua).
local core = require "neap.core"
local message = require "neap.onnx.message"
local proto = require "neap.onnx.proto"

local np, CODES, numbers, wrong = core.np, message.CODES, require("neap.onnx.listing").numbers, proto.wrong
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

--- The attributes of a convolution of `count` axes. In the text each of the first axis has a name; behind the last
-- name, `tail`, stand all attributes of the other axes. Returns a list for each name; groups is a number.
local function conv_attributes(a, count, tail)
    local names, every, lists = { "stride", "low", "high", "dilation", tail }, {}, { groups = tonumber(a.groups) }
    for k, name in ipairs(names) do
        if k < #names then every[k] = tonumber(a[name]) end
    end
    for _, value in ipairs(numbers(a[names[#names]])) do every[#every + 1] = value end
    for k, name in ipairs(names) do
        lists[name] = {}
        for axis = 1, count do lists[name][axis] = every[(axis - 1) * #names + k] end
    end
    return lists
end

local function pads_of(low, high)
    local pads = { unpack(low) }
    for _, n in ipairs(high) do pads[#pads + 1] = n end
    return pads
end

--- Images (batch, in…, channels) with the channels in front, and back; a kernel (kernel…, channels, features) as
-- (features, channels, kernel…).
local function to_front(w, x, count)
    local perm = { 0, count + 1 }
    for k = 1, count do perm[k + 2] = k end
    return w:node("Transpose", { x }, { perm = perm })
end

local function to_back(w, x, count, output)
    local perm = { 0 }
    for k = 1, count do perm[k + 1] = k + 1 end
    perm[count + 2] = 1
    return w:node("Transpose", { x }, { perm = perm }, output)
end

local function turned(w, kernel, count)
    local perm = { count + 1, count }
    for k = 1, count do perm[k + 2] = k - 1 end
    return w:node("Transpose", { kernel }, { perm = perm })
end

function rows.conv(w, line, output)
    local count = #line.shape - 2
    local a = conv_attributes(line.attrs, count)
    local x, k = to_front(w, w:operand(line, 1), count), turned(w, w:operand(line, 2), count)
    local y = w:node("Conv", { x, k }, { group = a.groups, strides = a.stride, pads = pads_of(a.low, a.high),
                                         dilations = a.dilation })
    to_back(w, y, count, output)
end

function rows.conv_input(w, line, output)
    local count, shape, kernel = #line.shape - 2, w:shape(line, 1), w:shape(line, 2)
    local a, more = conv_attributes(line.attrs, count, "extent"), {}
    for k = 1, count do
        local reach = a.stride[k] * (shape[k + 1] - 1) + (kernel[k] - 1) * a.dilation[k] + 1
        more[k] = a.extent[k] - reach + a.low[k] + a.high[k]
    end
    local y, k = to_front(w, w:operand(line, 1), count), turned(w, w:operand(line, 2), count)
    local x = w:node("ConvTranspose", { y, k }, { group = a.groups, strides = a.stride, dilations = a.dilation,
                                                  pads = pads_of(a.low, a.high), output_padding = more })
    to_back(w, x, count, output)
end

--- A convolution with batch and channels swapped, and with stride and dilation swapped.
function rows.conv_kernel(w, line, output)
    local count, shape, of_ct = #line.shape - 2, w:shape(line, 1), w:shape(line, 2)
    local a, batch, channels = conv_attributes(line.attrs, count, "extent"), shape[1], shape[#shape]
    local split, perm, front = { unpack(shape) }, { count + 2, count + 1, 0 }, { channels / a.groups, a.groups * batch }
    split[#shape], split[#shape + 1] = a.groups, channels / a.groups
    local pads = {}
    for k = 1, 2 * count + 4 do pads[k] = 0 end
    for k = 1, count do
        perm[k + 3], front[k + 2] = k, shape[k + 1]
        local reach = (a.extent[k] - 1) * a.dilation[k] + a.stride[k] * (of_ct[k + 1] - 1) + 1
        pads[k + 2], pads[count + k + 4] = a.low[k], reach - shape[k + 1] - a.low[k]
    end
    local x = w:reshaped(w:operand(line, 1), split)
    x = w:reshaped(w:node("Transpose", { x }, { perm = perm }), front)
    x = w:node("Pad", { x, w:integers(unpack(pads)), w:number(0, line.dtype) })
    local last = { count + 1, 0 }
    for k = 1, count do last[k + 2] = k end
    local ct = w:node("Transpose", { w:operand(line, 2) }, { perm = last })
    local y = w:node("Conv", { x, ct }, { group = a.groups, strides = a.dilation, dilations = a.stride })
    local behind = {}
    for k = 1, count do behind[k] = k + 1 end
    behind[count + 1], behind[count + 2] = 0, 1
    w:node("Transpose", { y }, { perm = behind }, output)
end

--- A convolution of each line with taps of its own: of lines as channels.
function rows.slide(w, line, output)
    local shape, taps, before, size = w:shape(line, 1), w:shape(line, 2), tonumber(line.attrs.before), 1
    local n, k = shape[#shape], taps[#taps]
    for axis = 1, #shape - 1 do size = size * shape[axis] end
    if not line.dtype:find "^b?f" then wrong("'%s' is of integers, which no convolution takes", line.text) end
    local high = tonumber(line.attrs.size) + k - 1 - before - n
    local x = w:node("Pad", { w:reshaped(w:operand(line, 1), { 1, size, n }), w:integers(0, 0, before, 0, 0, high),
                              w:number(0, line.dtype) })
    local y = w:node("Conv", { x, w:reshaped(w:operand(line, 2), { size, 1, k }) }, { group = size })
    w:reshaped(y, line.shape, output)
end

return rows
