--- save_random.lua: random numbers as operators of ONNX (save.lua): the hash threefry-2x32 of counters under a key, in
-- integers of 32 bits, as in lazy/vm/simd/drawn.h. So file and program draw the same numbers, bit by bit where the
-- distribution is made of sums and products alone; the format's own random operators know no key.
local message = require "neap.onnx.message"
local elements = require "neap.onnx.save_elements"
local numbers = require("neap.onnx.listing").numbers
local proto = require "neap.onnx.proto"

local CODES, wrong = message.CODES, proto.wrong
local rows = {}

local TURNS = { { 13, 15, 26, 6 }, { 17, 29, 16, 24 } }
local PARITY = 0x1BD11BDA

-- ---- The hash -------------------------------------------------------------------------------------------------------

local function u32(w, op, a, b) return w:node(op, { a, b }) end

--- Both words of pairs along the last axis, in a shape.
local function words_of(w, pairs, shape)
    local words = {}
    for k = 1, 2 do
        local at = w:number(k - 1, "i64")
        words[k] = w:reshaped(w:node("Gather", { pairs, at }, { axis = -1 }), shape)
    end
    return words[1], words[2]
end

--- The hash of counters (x, y) under keys (a, b), names of words of 32 bits in shapes that broadcast: two words.
local function hash(w, a, b, x, y)
    local keys = { a, b, u32(w, "BitwiseXor", u32(w, "BitwiseXor", a, b), w:number(PARITY, "u32")) }
    x, y = x and u32(w, "Add", x, a) or a, u32(w, "Add", y, b)
    for group = 1, 5 do
        for _, by in ipairs(TURNS[(group - 1) % 2 + 1]) do
            x = u32(w, "Add", x, y)
            local high = w:node("BitShift", { y, w:number(by, "u32") }, { direction = "LEFT" })
            local low = w:node("BitShift", { y, w:number(32 - by, "u32") }, { direction = "RIGHT" })
            y = u32(w, "BitwiseXor", u32(w, "BitwiseOr", high, low), x)
        end
        x = u32(w, "Add", x, keys[group % 3 + 1])
        y = u32(w, "Add", y, u32(w, "Add", keys[(group + 1) % 3 + 1], w:number(group, "u32")))
    end
    return x, y
end

--- Two words as pairs along a new last axis of a shape.
local function paired(w, x, y, shape, output)
    local wide = { unpack(shape) }
    wide[#wide + 1] = 1
    w:node("Concat", { w:reshaped(x, wide), w:reshaped(y, wide) }, { axis = #shape }, output)
end

function rows.threefry(w, line, output)
    local shape, lead = { unpack(line.shape, 1, #line.shape - 1) }, {}
    for k = 1, #shape do lead[k] = k < #w:shape(line, 1) and shape[k] or 1 end
    local a, b = words_of(w, w:operand(line, 1), lead)
    local x, y = hash(w, a, b, words_of(w, w:operand(line, 2), shape))
    paired(w, x, y, shape, output)
end

-- ---- Draws ----------------------------------------------------------------------------------------------------------

--- A draw of a shape under the keys of operand k: { a, b = words of the keys, counters = names, shape = of the
-- result }. The axes of keys come first.
local function draw_of(w, line, k)
    local dims, size, lead, shape = numbers(line.attrs.shape), 1, w:shape(line, k), {}
    local ones = { unpack(lead, 1, #lead - 1) }
    for axis = 1, #lead - 1 do shape[axis] = lead[axis] end
    for _, n in ipairs(dims) do
        size, ones[#ones + 1], shape[#shape + 1] = size * n, 1, n
    end
    if size >= 2 ^ 32 then wrong("'%s' draws more numbers than 32 bits count", line.text) end
    local a, b = words_of(w, w:operand(line, k), ones)
    local range = w:node("Range", { w:number(0, "i64"), w:number(size, "i64"), w:number(1, "i64") })
    return { a = a, b = b, shape = shape, ones = ones,
             counters = w:reshaped(w:node("Cast", { range }, { to = CODES.u32 }), dims) }
end

--- Both words of each number of a draw.
local function drawn(w, draw) return hash(w, draw.a, draw.b, nil, draw.counters) end

local function value(name, dtype) return { name = name, dtype = dtype or "u32" } end

function rows.random_bits(w, line, output)
    local draw = draw_of(w, line, 1)
    local x, y = drawn(w, draw)
    if line.attrs.width == "64" then return paired(w, x, y, draw.shape, output) end
    w:node("BitwiseXor", { x, y }, nil, output)
end

local DISTRIBUTIONS = { ["0"] = "uniform", ["1"] = "normal", ["2"] = "exponential", ["3"] = "gumbel" }

function rows.random_floats(w, line, output)
    local name = DISTRIBUTIONS[line.attrs.distribution]
    if name == "normal" and line.dtype ~= "f32" then
        wrong("'%s' draws from the normal distribution in f64, whose quantiles have no formula there", line.text)
    end
    local x, y = drawn(w, draw_of(w, line, 1))
    local unit = line.dtype == "f32" and elements.apply(w, "unit_f32", { value(u32(w, "BitwiseXor", x, y)) })
                 or elements.apply(w, "unit_f64", { value(x), value(y) })
    elements.apply(w, name, { unit }, nil, output)
end

--- A bound of random integers: one for all, for each key or for each number.
local function bound(w, line, k, draw)
    local size, all, count = 1, 1, 1
    for _, n in ipairs(w:shape(line, k)) do size = size * n end
    for _, n in ipairs(draw.shape) do all = all * n end
    for _, n in ipairs(draw.ones) do count = count * n end
    local shape = size == 1 and {} or size == all and draw.shape or size == count and draw.ones
    return value(w:reshaped(w:operand(line, k, line.dtype), shape), line.dtype)
end

--- Two draws, under both halves of the key, make a number below the span of the bounds.
function rows.random_integers(w, line, output)
    if line.dtype:find "64" then wrong("'%s' draws integers of 64 bits, with products of 128", line.text) end
    local draw, words = draw_of(w, line, 3), {}
    for k = 1, 2 do
        local a, b = hash(w, draw.a, draw.b, nil, w:number(k - 1, "u32"))
        words[k] = value(u32(w, "BitwiseXor", hash(w, a, b, nil, draw.counters)))
    end
    local low, high = bound(w, line, 1, draw), bound(w, line, 2, draw)
    local span = elements.apply(w, line.attrs.inclusive == "1" and "whole_span" or "span", { low, high })
    local offset = elements.apply(w, "below", { words[1], words[2], span })
    w:node("Add", { low.name, w:node("Cast", { offset.name }, { to = CODES[line.dtype] }) }, nil, output)
end

return rows
