--- save_places.lua: ops that read and write at indices, search, sort and scan, as operators of ONNX (save.lua).
--
-- Scatters leave places out of range out, as their ops do, and boxes out of range are moved inside. np.take clips;
-- Gather does not, so indices out of range are errors elsewhere.
local core = require "neap.core"
local message = require "neap.onnx.message"
local elements = require "neap.onnx.save_elements"
local proto = require "neap.onnx.proto"

local np, wrong, CODES = core.np, proto.wrong, message.CODES
local rows = {}

-- ---- Places ---------------------------------------------------------------------------------------------------------

--- Indices as i64, with negative ones counted from the end of an axis of n elements.
local function from_start(w, line, k, n)
    local at = w:node("Cast", { w:operand(line, k) }, { to = CODES.i64 })
    local zero = w:number(0, "i64")
    return w:node("Where", { w:node("Less", { at, zero }), w:node("Add", { at, w:number(n, "i64") }), at })
end

function rows.take(w, line, output)
    local at = w:operand(line, 2)
    if not w:dtype(line, 2):find "^i[36]" then at = w:node("Cast", { at }, { to = CODES.i64 }) end
    w:node("Gather", { w:operand(line, 1), at }, { axis = tonumber(line.attrs.axis) }, output)
end

--- How a scatter combines: "none" writes the last one.
local COMBINES = { put_set = "none", put_add = "add", put_mul = "mul", put_max = "max", put_min = "min" }

--- The array gets a further element along the axis: places out of range mean this element, which is cut off again.
local function put(w, line, output)
    local shape, axis, count = w:shape(line, 1), tonumber(line.attrs.axis), 1
    local n, wide, high, flat = shape[axis + 1], { unpack(shape) }, {}, {}
    for _, extent in ipairs(w:shape(line, 2)) do count = count * extent end
    local at = line.attrs.forward == "1" and w:node("Cast", { w:operand(line, 2) }, { to = CODES.i64 })
               or from_start(w, line, 2, n)
    local inside = w:node("And", { w:node("GreaterOrEqual", { at, w:number(0, "i64") }),
                                   w:node("Less", { at, w:number(n, "i64") }) })
    at = w:node("Where", { inside, at, w:number(n, "i64") })
    wide[axis + 1] = count
    for k = 1, #shape do flat[k], high[k], high[#shape + k] = k == axis + 1 and count or 1, 0, 0 end
    high[#shape + axis + 1] = 1
    at = w:node("Expand", { w:reshaped(at, flat), w:integers(unpack(wide)) })
    local x = w:node("Pad", { w:operand(line, 1), w:integers(unpack(high)), w:number(0, line.dtype) })
    local y = w:node("ScatterElements", { x, at, w:reshaped(w:operand(line, 3), wide) },
                     { axis = axis, reduction = COMBINES[line.op] })
    w:node("Slice", { y, w:integers(0), w:integers(n), w:integers(axis) }, nil, output)
end

for op in pairs(COMBINES) do rows[op] = put end

--- How often each of so many integers from 0 up is there: ones, added at places; others behind the last place.
function rows.counts(w, line, output)
    local axis, bins, wide = tonumber(line.attrs.axis), tonumber(line.attrs.bins), { unpack(line.shape) }
    local at = w:node("Cast", { w:operand(line, 1) }, { to = CODES.i64 })
    local inside = w:node("And", { w:node("GreaterOrEqual", { at, w:number(0, "i64") }),
                                   w:node("Less", { at, w:number(bins, "i64") }) })
    at = w:node("Where", { inside, at, w:number(bins, "i64") })
    wide[axis + 1] = bins + 1
    local zeros = w:node("Expand", { w:number(0, "i32"), w:integers(unpack(wide)) })
    local ones = w:node("Expand", { w:number(1, "i32"), w:integers(unpack(w:shape(line, 1))) })
    local y = w:node("ScatterElements", { zeros, at, ones }, { axis = axis, reduction = "add" })
    w:node("Slice", { y, w:integers(0), w:integers(bins), w:integers(axis) }, nil, output)
end

--- Places in sorted lines, by halving: each step goes on by a power of two where the value in front stands before the
-- value to place. Lines lie behind each other.
function rows.searchsorted(w, line, output)
    local shape, dtype, lines, count = w:shape(line, 1), w:dtype(line, 1), {}, 1
    local n = shape[#shape]
    for k = 1, #line.shape do
        lines[k] = k < #shape and shape[k] or 1
        count = count * lines[k]
    end
    if n == 0 or count == 0 then
        return w:node("Expand", { w:number(0, "i32"), w:integers(unpack(line.shape)) }, nil, output)
    end
    local values = { name = w:operand(line, 2, dtype), dtype = dtype }
    local flat = w:reshaped(w:operand(line, 1), { -1 })
    local first = w:constant(np.reshape(np.arange(count, { dtype = "i32" }) * n - 1, lines))
    local place, step = w:number(0, "i32"), 2 ^ math.floor(math.log(n) / math.log(2) + 1e-9)
    while step >= 1 do
        local next_one = w:node("Add", { place, w:number(step, "i32") })
        local at = w:node("Add", { w:node("Min", { next_one, w:number(n, "i32") }), first })
        local value = { name = w:node("Gather", { flat, at }, { axis = 0 }), dtype = dtype }
        local goes_on = elements.apply(w, line.attrs.right == "1" and "not_behind" or "before", { value, values }).name
        goes_on = w:node("And", { goes_on, w:node("LessOrEqual", { next_one, w:number(n, "i32") }) })
        place = w:node("Where", { goes_on, next_one, place }, nil, step == 1 and output or nil)
        step = step / 2
    end
end

-- ---- Boxes ----------------------------------------------------------------------------------------------------------

--- Where a box of `sizes` begins in an array of `shape`: moved inside.
local function box_starts(w, line, k, shape, sizes)
    local last, extents = {}, {}
    for axis, n in ipairs(shape) do last[axis], extents[axis] = n - sizes[axis], n end
    local at, zero = w:operand(line, k), w:number(0, "i64")
    at = w:node("Where", { w:node("Less", { at, zero }), w:node("Add", { at, w:integers(unpack(extents)) }), at })
    return w:node("Min", { w:node("Max", { at, zero }), w:integers(unpack(last)) })
end

function rows.dynamic_slice(w, line, output)
    local x = w:operand(line, 1)
    if #line.shape == 0 then return w:node("Identity", { x }, nil, output) end
    local starts = box_starts(w, line, 2, w:shape(line, 1), line.shape)
    local ends = w:node("Add", { starts, w:integers(unpack(line.shape)) })
    w:node("Slice", { x, starts, ends }, nil, output)
end

function rows.dynamic_update_slice(w, line, output)
    local shape, sizes, strides, offsets = w:shape(line, 1), w:shape(line, 2), {}, np.zeros({}, { dtype = "i64" })
    if #shape == 0 then return w:node("Identity", { w:operand(line, 2) }, nil, output) end
    local stride = 1
    for axis = #shape, 1, -1 do
        local along = {}
        for k = 1, #shape do along[k] = k == axis and sizes[k] or 1 end
        offsets = offsets + np.reshape(np.arange(sizes[axis], { dtype = "i64" }) * stride, along)
        strides[axis], stride = stride, stride * shape[axis]
    end
    local starts = w:node("Mul", { box_starts(w, line, 3, shape, sizes), w:integers(unpack(strides)) })
    local first = w:node("ReduceSum", { starts, w:integers(0) }, { keepdims = 0 })
    local at = w:node("Add", { w:constant(np.reshape(offsets, -1)), first })
    local y = w:node("ScatterElements", { w:reshaped(w:operand(line, 1), { -1 }), at,
                                          w:reshaped(w:operand(line, 2), { -1 }) }, { axis = 0 })
    w:reshaped(y, shape, output)
end

-- ---- Sorting --------------------------------------------------------------------------------------------------------

--- Values and indices (i64) of the k first ones in order along an axis; equal elements in their order.
local function top(w, line, k, descending)
    local x, dtype = w:operand(line, 1), w:dtype(line, 1)
    if dtype == "bool" or dtype:find "^[iu]%d" and dtype ~= "u64" then -- runtimes sort i64
        x = w:node("Cast", { x }, { to = CODES.i64 })
    end
    return w:node("TopK", { x, w:integers(k) },
                  { axis = tonumber(line.attrs.axis), largest = descending and 1 or 0, sorted = 1 }, { false, false })
end

local function extent(w, line) return w:shape(line, 1)[tonumber(line.attrs.axis) + 1] end

function rows.sort(w, line, output)
    local values = top(w, line, extent(w, line), line.attrs.descending == "1")
    w:node("Cast", { values }, { to = CODES[line.dtype] }, output)
end

function rows.argsort(w, line, output)
    local _, places = top(w, line, extent(w, line), line.attrs.descending == "1")
    w:node("Cast", { places }, { to = CODES[line.dtype] }, output)
end

function rows.argtop(w, line, output)
    local _, places = top(w, line, tonumber(line.attrs.k), true)
    w:node("Cast", { places }, { to = CODES[line.dtype] }, output)
end

-- ---- Scans ----------------------------------------------------------------------------------------------------------

--- A scan along an axis from an initial state; step(w, state, x, …) writes the next state.
local function scan(w, line, first, step, output)
    local axis, reverse, count, state = tonumber(line.attrs.axis), tonumber(line.attrs.reverse) or 0, #line.operands, {}
    for k, n in ipairs(line.shape) do
        if k ~= axis + 1 then state[#state + 1] = n end
    end
    local body, ports, names, inputs, axes, directions = w:inner(), {}, {}, {}, {}, {}
    for k = 1, count + 1 do
        ports[k] = body:input(line.dtype, state)
        names[k] = ports[k].name
    end
    local result = { name = step(body, unpack(names)), dtype = line.dtype, shape = state }
    local graph = body:graph(ports, { result, result })
    inputs[1] = w:node("Expand", { w:number(first, line.dtype), w:integers(unpack(state)) })
    for k = 1, count do inputs[k + 1], axes[k], directions[k] = w:operand(line, k), axis, reverse end
    w:node("Scan", inputs, { body = { graph = graph }, num_scan_inputs = count, scan_input_axes = axes,
                             scan_output_axes = { axis }, scan_input_directions = directions,
                             scan_output_directions = { reverse } }, { false, output })
end

function rows.cumprod(w, line, output)
    scan(w, line, 1, function(b, state, x) return b:node("Mul", { state, x }) end, output)
end

local LEAST = { i8 = -2 ^ 7, i16 = -2 ^ 15, i32 = -2 ^ 31, i64 = -0x8000000000000000LL }
local MOST = { i8 = 2 ^ 7 - 1, i16 = 2 ^ 15 - 1, i32 = 2 ^ 31 - 1, i64 = 0x7fffffffffffffffLL, u8 = 2 ^ 8 - 1,
               u16 = 2 ^ 16 - 1, u32 = 2 ^ 32 - 1, u64 = 0xffffffffffffffffULL }

for name, op in pairs { cummax = "Max", cummin = "Min" } do
    rows[name] = function(w, line, output)
        local dtype = line.dtype
        if dtype == "bool" then wrong("'%s' is of bools, which '%s' does not compare", line.text, op) end
        local is_real = dtype:find "^b?f"
        local low = is_real and -math.huge or LEAST[dtype] or 0
        local high = is_real and math.huge or MOST[dtype]
        scan(w, line, op == "Max" and low or high, function(b, state, x)
            return b:node(op, { state, x })
        end, output)
    end
end

--- h[i] = a[i] * h[i - 1] + b[i]; where h[i - 1] is 0, at the beginning, a is not looked at.
function rows.recurrence(w, line, output)
    scan(w, line, 0, function(b, state, factor, x)
        return b:node("Add", { b:node("Mul", { factor, state }), x })
    end, output)
end

return rows
