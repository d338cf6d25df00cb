--- wavelets.lua: wavelet transforms: np.signal.dwt, idwt, wavedec, waverec, and dwt2, idwt2, wavedec2, waverec2.
--
-- A transform splits a signal into elements of even and of odd number, and changes each half in turn by sums of
-- products of the other's: lifting steps, of which the inverse takes back one after the other. W. Sweldens, "The
-- lifting scheme: a custom-design construction of biorthogonal wavelets" (1996). The steps are quotients of
-- Euclid's algorithm on the filters' polynomials: I. Daubechies and W. Sweldens, "Factoring wavelet transforms into
-- lifting steps" (1998); filters of A. Cohen, I. Daubechies, J.-C. Feauveau, "Biorthogonal bases of compactly supported
-- wavelets" (1992). A signal is one period.
--
--     x → even, odd → odd += factors · even → even += factors · odd → … → a = scale · even, d = scale · odd

--- {axis}: along which the signals run; the last one by default
--- {axes}: both axes of the images; the last two by default

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local signals = require "neap.signal.signals"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local shape_of, cut, join, reshape = core.shape_of, shape.cut, shape.join, shape.reshape

local wavelets = {}

-- ---- Lifting steps --------------------------------------------------------------------------------------------------

-- By name: taps, how many coefficients the longer filter has; the steps: which half changes, at place k by the sum of
-- factors times the other half's elements from place k + first on; then of each half the place of the first element,
-- and the scale. Signs and places are those of PyWavelets.
local WAVELETS = {
    haar = {
        taps = 2,
        { "even", first = 0, 1 },
        { "odd", first = 0, -0.5 },
        even = { 0, 0.70710678118654757 }, odd = { 0, -1.4142135623730951 },
    },
    db2 = {
        taps = 4,
        { "odd", first = 1, -0.57735026918962573 },
        { "even", first = -1, 0.4330127018922193, 0.20096189432334202 },
        { "odd", first = 0, -0.33333333333333331 },
        even = { 0, 1.1153550716504106 }, odd = { 0, 0.89657547216805356 },
    },
    db3 = {
        taps = 6,
        { "even", first = 0, -0.41228659505180554 },
        { "odd", first = 0, 0.35238765767485547, -1.5651362796308346 },
        { "even", first = -1, 0.492151844887739, 0.028459089579716896 },
        { "odd", first = 0, -0.38962038997193676 },
        even = { 0, 1.9182029462395349 }, odd = { 0, -0.52132127205852252 },
    },
    db4 = {
        taps = 8,
        { "odd", first = 1, -0.32227588800028112 },
        { "even", first = -1, 0.29195312600347534, 0.73463125792082262 },
        { "odd", first = -1, 0.17267310081004808, -0.54002828341971387 },
        { "even", first = 1, -0.36483834388117864, 0.064724239322080171 },
        { "odd", first = -2, -0.03262364945797306 },
        even = { -1, 0.84214504306973137 }, odd = { 1, 1.1874439067584679 },
    },
    ["bior2.2"] = { -- Cohen, Daubechies and Feauveau's 5/3
        taps = 6,
        { "odd", first = 0, -0.5, -0.5 },
        { "even", first = -1, 0.25, 0.25 },
        even = { 0, 1.4142135623730951 }, odd = { 0, -0.70710678118654757 },
    },
    ["bior4.4"] = { -- their 9/7
        taps = 10,
        { "odd", first = 0, -1.5861343420599237, -1.5861343420599237 },
        { "even", first = -1, -0.052980118572961414, -0.052980118572961414 },
        { "odd", first = 0, 0.88291107553093329, 0.88291107553093329 },
        { "even", first = -1, 0.44350685204397117, 0.44350685204397117 },
        even = { 0, 1.1496043988602411 }, odd = { 0, -0.86986445162478132 },
    },
}
WAVELETS.db1 = WAVELETS.haar

--- Argument `position` of np.signal.name as a row of WAVELETS.
local function wavelet_of(name, position, wavelet)
    local found = type(wavelet) == "string" and WAVELETS[wavelet]
    if not found then
        bad_argument("signal." .. name, position, "wavelet",
                     '"haar", "db1" to "db4", "bior2.2" (the 5/3) or "bior4.4" (the 9/7)', wavelet)
    end
    return found
end

--- x, one period along the last axis, from place `by` on.
local function from_place(x, by)
    return by == 0 and x or np.roll(x, -by, { axis = -1 })
end

--- One half changed by a step, or back, with sign -1.
local function stepped(half, other, step, sign)
    for k = 2, #step do half = half + from_place(other, step.first + k - 2) * (step[k] * sign) end
    return half
end

--- The transform of floats along the last axis: both halves. An odd number of elements is made even by the last one.
local function forth(x, w)
    local dims, last = shape_of(x), core.ndim(x) - 1
    local n = dims[last + 1]
    if n % 2 == 1 then
        x = join({ x, cut(x, last, n - 1, n) }, last)
        n = n + 1
    end
    dims[last + 1], dims[last + 2] = n / 2, 2
    local pairs_of = reshape(x, dims)
    dims[last + 2] = nil
    local half = { even = reshape(cut(pairs_of, last + 1, 0, 1), dims),
                   odd = reshape(cut(pairs_of, last + 1, 1, 2), dims) }
    for _, step in ipairs(w) do
        local which = step[1]
        half[which] = stepped(half[which], half[which == "even" and "odd" or "even"], step, 1)
    end
    return from_place(half.even, w.even[1]) * w.even[2], from_place(half.odd, w.odd[1]) * w.odd[2]
end

--- The inverse of `forth`: twice as many elements as in a half.
local function back(a, d, w)
    local half = { even = from_place(a, -w.even[1]) / w.even[2], odd = from_place(d, -w.odd[1]) / w.odd[2] }
    for k = #w, 1, -1 do
        local which = w[k][1]
        half[which] = stepped(half[which], half[which == "even" and "odd" or "even"], w[k], -1)
    end
    local dims, last = shape_of(a), core.ndim(a)
    local both = np.stack({ half.even, half.odd }, { axis = -1 })
    dims[last] = dims[last] * 2
    return reshape(both, dims)
end

--- `forth` and `back` along any axis.
local function forth_along(x, w, axis)
    local a, d = forth(np.moveaxis(x, axis, -1), w)
    return np.moveaxis(a, -1, axis), np.moveaxis(d, -1, axis)
end

local function back_along(a, d, w, axis)
    return np.moveaxis(back(np.moveaxis(a, axis, -1), np.moveaxis(d, axis, -1), w), -1, axis)
end

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- The signals x as floats, the half that results are, and the axis.
local function signal_of(name, x, axis)
    local half
    x, half = operands.wide(operands.real("signal." .. name, 1, x))
    if core.ndim(x) == 0 then raise("signal." .. name, "needs at least 1 axis, got a 0-d array") end
    axis = core.axis("signal." .. name, axis == nil and -1 or axis, core.ndim(x))
    if core.is_same(shape_of(x)[axis + 1], 0) then raise("signal." .. name, "the signal has no elements") end
    return x, half, axis
end

--- Option `axes` of np.signal.name: two axes of arrays of so many.
local function axes_of(name, axes, ndim)
    if ndim < 2 then raise("signal." .. name, "needs at least 2 axes, got an array of %d", ndim) end
    local list = axes == nil and { ndim - 2, ndim - 1 } or axes
    if type(list) ~= "table" or #list ~= 2 then bad_argument("signal." .. name, nil, "axes", "two axes", axes) end
    return shape.axes("signal." .. name, list, ndim)
end

--- The lists of np.signal.name in order as arrays of floats of one dtype, and the half that results are.
local function parts_of(name, list)
    local half, values = operands.floats_list("signal." .. name, nil, #list, list)
    for _, part in ipairs(values) do
        if core.ndim(part) ~= core.ndim(values[1]) or core.ndim(part) == 0 then
            raise("signal." .. name, "parts have axes alike, at least 1; got arrays of shape %s and %s",
                  core.shape_text(values[1]), core.shape_text(part))
        end
    end
    return values, half
end

--- Refuses parts of one level that differ in shape.
local function check_alike(name, parts)
    for k = 2, #parts do
        if not shape.same(shape_of(parts[1]), shape_of(parts[k])) then
            raise("signal." .. name, "parts of one level have shapes %s and %s", core.shape_text(parts[1]),
                  core.shape_text(parts[k]))
        end
    end
end

--- a without the last element of each axis along which it has one more than d: a level with an odd number of elements.
local function fitted(a, d, axes)
    for _, axis in ipairs(axes) do
        local n = shape_of(d)[axis + 1]
        if shape_of(a)[axis + 1] == n + 1 then a = cut(a, axis, 0, n) end
    end
    return a
end

--- How often signals of n elements are transformed, as option `level` says.
local function levels_of(name, level, n, w)
    if core.is_size(n) then
        if level == nil then raise("signal." .. name, "needs option 'level' where the length is a declared size") end
        return signals.count(name, "level", level, 0)
    end
    local most = math.ceil(math.log(n) / math.log(2) - 1e-9)
    if level == nil then return math.max(0, math.floor(math.log(n / (w.taps - 1)) / math.log(2) + 1e-9)) end
    return core.integer("signal." .. name, nil, "level", level, 0, most)
end

-- ---- Signals --------------------------------------------------------------------------------------------------------

local ALONG, LEVELS = { axis = true }, { axis = true, level = true }

--- np.signal.dwt(x, wavelet, {axis=-1}) -> a, d: one level of the wavelet transform: approximations a and details d,
-- each half as long as the signal, which is taken as one period: PyWavelets' mode "periodization". An odd number of
-- elements is made even by one more like the last. Wavelets, with PyWavelets' names: "haar" or "db1"; "db2", "db3",
-- "db4" of I. Daubechies, which are orthogonal; "bior2.2" and "bior4.4", the symmetric 5/3 and 9/7 of JPEG 2000.
--- > a, d = np.signal.dwt({1, 3, 2, 6}, "haar")
--- > np.round(a, 4), np.round(d, 4)
-- [2.8284 5.6569]
-- [-1.4142 -2.8284]
function wavelets.dwt(x, wavelet, given)
    local o, w = core.options("signal.dwt", given, ALONG), wavelet_of("dwt", 2, wavelet)
    local whole, half, axis = signal_of("dwt", x, o.axis)
    local a, d = forth_along(whole, w, axis)
    return operands.narrow(a, half), operands.narrow(d, half)
end

--- np.signal.idwt(a, d, wavelet, {axis=-1}): the signal of approximations a and details d, twice as long: the inverse
-- of np.signal.dwt.
--- > a, d = np.signal.dwt({1, 3, 2, 2}, "db2")
--- > np.round(np.signal.idwt(a, d, "db2"), 4)
-- [1. 3. 2. 2.]
function wavelets.idwt(a, d, wavelet, given)
    local o, w = core.options("signal.idwt", given, ALONG), wavelet_of("idwt", 3, wavelet)
    local parts, half = parts_of("idwt", { a, d })
    check_alike("idwt", parts)
    local axis = core.axis("signal.idwt", o.axis == nil and -1 or o.axis, core.ndim(parts[1]))
    return operands.narrow(back_along(parts[1], parts[2], w, axis), half)
end

--- np.signal.wavedec(x, wavelet, {level=…, axis=-1}) -> {a, d, …}: the wavelet transform of several levels: the
-- approximations of np.signal.dwt are transformed again. The list has the last approximations, and then the details,
-- those of the last level first.
--- level: how many levels; without it as many as leave signals as long as the filters of the wavelet
--- > parts = np.signal.wavedec({1, 3, 2, 2}, "haar")
--- > #parts, np.round(parts[1], 4), np.round(parts[2], 4), np.round(parts[3], 4)
-- 3
-- [4.]
-- [-0.]
-- [-1.4142 -0.    ]
function wavelets.wavedec(x, wavelet, given)
    local o, w = core.options("signal.wavedec", given, LEVELS), wavelet_of("wavedec", 2, wavelet)
    local whole, half, axis = signal_of("wavedec", x, o.axis)
    local parts = {}
    for _ = 1, levels_of("wavedec", o.level, shape_of(whole)[axis + 1], w) do
        local d
        whole, d = forth_along(whole, w, axis)
        table.insert(parts, 1, operands.narrow(d, half))
    end
    table.insert(parts, 1, operands.narrow(whole, half))
    return parts
end

--- np.signal.waverec(parts, wavelet, {axis=-1}): the signal of which np.signal.wavedec gave these parts; with one
-- element more, like the last, where the number was odd.
--- > np.round(np.signal.waverec(np.signal.wavedec({1, 3, 2, 2, 5}, "db2", {level=2}), "db2"), 4)
-- [1. 3. 2. 2. 5. 5.]
function wavelets.waverec(parts, wavelet, given)
    local o, w = core.options("signal.waverec", given, ALONG), wavelet_of("waverec", 2, wavelet)
    if type(parts) ~= "table" or getmetatable(parts) ~= nil or #parts == 0 then
        bad_argument("signal.waverec", 1, "parts", "a list of arrays {a, d, …}", parts)
    end
    local values, half = parts_of("waverec", core.list("signal.waverec", "the table of parts", parts))
    local axis, x = core.axis("signal.waverec", o.axis == nil and -1 or o.axis, core.ndim(values[1])), values[1]
    for k = 2, #values do
        x = fitted(x, values[k], { axis })
        check_alike("waverec", { x, values[k] })
        x = back_along(x, values[k], w, axis)
    end
    return operands.narrow(x, half)
end

-- ---- Images ---------------------------------------------------------------------------------------------------------

--- One level along both axes: approximations, and details {h, v, d}.
local function forth_image(x, w, axes)
    local a, d = forth_along(x, w, axes[2])
    local aa, h = forth_along(a, w, axes[1])
    local v, dd = forth_along(d, w, axes[1])
    return aa, { h, v, dd }
end

local function back_image(a, details, w, axes)
    return back_along(back_along(a, details[1], w, axes[1]), back_along(details[2], details[3], w, axes[1]), w, axes[2])
end

--- The arrays of an image's level: details in a list of three.
local function check_details(name, details, what)
    if type(details) ~= "table" or getmetatable(details) ~= nil or #details ~= 3 then
        raise("signal." .. name, "%s must be {h, v, d}, three arrays, got %s", what, core.describe(details))
    end
    return details
end

local BOTH, BOTH_LEVELS = { axes = true }, { axes = true, level = true }

local function narrowed(list, half)
    local result = {}
    for k, part in ipairs(list) do result[k] = operands.narrow(part, half) end
    return result
end

--- The images x as floats, the half that results are, and both axes.
local function image_of(name, x, axes)
    local half
    x, half = signal_of(name, x)
    axes = axes_of(name, axes, core.ndim(x))
    for _, axis in ipairs(axes) do signal_of(name, x, axis) end
    return x, half, axes
end

--- np.signal.dwt2(x, wavelet, {axes={-2, -1}}) -> a, {h, v, d}: one level of the wavelet transform of images:
-- np.signal.dwt along both axes. Details h are along the first axis, where lines along the second have them; v along
-- the second; d along both.
--- > a, details = np.signal.dwt2({{1, 3}, {2, 2}}, "haar")
--- > np.round(a, 4), np.round(details[1], 4), np.round(details[2], 4), np.round(details[3], 4)
-- [[4.]]
-- [[-0.]]
-- [[-1.]]
-- [[-1.]]
function wavelets.dwt2(x, wavelet, given)
    local o, w = core.options("signal.dwt2", given, BOTH), wavelet_of("dwt2", 2, wavelet)
    local whole, half, axes = image_of("dwt2", x, o.axes)
    local a, details = forth_image(whole, w, axes)
    return operands.narrow(a, half), narrowed(details, half)
end

--- np.signal.idwt2(a, {h, v, d}, wavelet, {axes={-2, -1}}): the image of approximations and details: the inverse of
-- np.signal.dwt2.
--- > a, details = np.signal.dwt2({{1, 3}, {2, 2}}, "haar")
--- > np.round(np.signal.idwt2(a, details, "haar"), 4)
-- [[1. 3.]
--  [2. 2.]]
function wavelets.idwt2(a, details, wavelet, given)
    local o, w = core.options("signal.idwt2", given, BOTH), wavelet_of("idwt2", 3, wavelet)
    check_details("idwt2", details, "argument 2 (details)")
    local parts, half = parts_of("idwt2", { a, details[1], details[2], details[3] })
    check_alike("idwt2", parts)
    local axes = axes_of("idwt2", o.axes, core.ndim(parts[1]))
    return operands.narrow(back_image(parts[1], { parts[2], parts[3], parts[4] }, w, axes), half)
end

--- np.signal.wavedec2(x, wavelet, {level=…, axes={-2, -1}}) -> {a, {h, v, d}, …}: the wavelet transform of images of
-- several levels: the last approximations of np.signal.dwt2, and then the details, those of the last level first.
--- level: how many levels; without it as many as leave images as large as the filters of the wavelet
--- > parts = np.signal.wavedec2(np.ones{4, 4}, "haar")
--- > #parts, parts[1], #parts[2], parts[3][1].shape
-- 3
-- [[3.9999995]]
-- 3
-- error: an example shows a table: print its parts
function wavelets.wavedec2(x, wavelet, given)
    local o, w = core.options("signal.wavedec2", given, BOTH_LEVELS), wavelet_of("wavedec2", 2, wavelet)
    local whole, half, axes = image_of("wavedec2", x, o.axes)
    local dims, parts = shape_of(whole), {}
    local levels = levels_of("wavedec2", o.level, dims[axes[1] + 1], w)
    for _ = 1, math.min(levels, levels_of("wavedec2", o.level, dims[axes[2] + 1], w)) do
        local details
        whole, details = forth_image(whole, w, axes)
        table.insert(parts, 1, narrowed(details, half))
    end
    table.insert(parts, 1, operands.narrow(whole, half))
    return parts
end

--- np.signal.waverec2(parts, wavelet, {axes={-2, -1}}): the images of which np.signal.wavedec2 gave these parts; with
-- one element more along an axis, like the last, where the number was odd.
--- > x = np.arange(16):reshape(4, 4)
--- > np.allclose(np.signal.waverec2(np.signal.wavedec2(x, "bior2.2", {level=2}), "bior2.2"), x, {atol=1e-5})
-- true
function wavelets.waverec2(parts, wavelet, given)
    local o, w = core.options("signal.waverec2", given, BOTH), wavelet_of("waverec2", 2, wavelet)
    if type(parts) ~= "table" or getmetatable(parts) ~= nil or #parts == 0 then
        bad_argument("signal.waverec2", 1, "parts", "a list {a, {h, v, d}, …}", parts)
    end
    local list = { parts[1] }
    for k = 2, #parts do
        local details = check_details("waverec2", parts[k], ("argument 1 (parts): item %d"):format(k))
        for n = 1, 3 do list[#list + 1] = details[n] end
    end
    local values, half = parts_of("waverec2", list)
    local axes, x = axes_of("waverec2", o.axes, core.ndim(values[1])), values[1]
    for k = 2, #values, 3 do
        x = fitted(x, values[k], axes)
        check_alike("waverec2", { x, values[k], values[k + 1], values[k + 2] })
        x = back_image(x, { values[k], values[k + 1], values[k + 2] }, w, axes)
    end
    return operands.narrow(x, half)
end

return wavelets
