--- pads.lua: np.pad. One axis is padded after the other, as NumPy does it, so corners have what the last axis gives
-- them.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local selects = require "neap.arrays.select"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, is_array, type = core.shape_of, core.is_array, type

local function is_width(n)
    return core.is_size(n) or core.is_integer(n) and n >= 0
end

--- What np.pad is given for the two sides of every axis: one value, a pair {before, after}, or a table of a pair for
-- each axis. A list of pairs. `fits` says what a value is.
local function pairs_of(value, ndim, what, fits, expected)
    local list = {}
    local each = type(value) == "table" and type(value[1]) == "table"
    if each and #value ~= ndim and #value ~= 1 then
        raise("pad", "%d pairs of %s for an array of %d axes", #value, what, ndim)
    end
    if type(value) == "table" then core.list("pad", "the table of " .. what, value) end
    for k = 1, ndim do
        local pair = each and value[#value == 1 and 1 or k] or value
        pair = type(pair) == "table" and core.list("pad", "the pair of " .. what, pair) or { pair, pair }
        local lo, hi = core.plain(pair[1]), core.plain(pair[2])
        if #pair == 1 then hi = lo end
        if not fits(lo) or not fits(hi) then
            raise("pad", "%s must be %s, got %s and %s at axis %d", what, expected, core.describe(lo),
                  core.describe(hi), k - 1)
        end
        list[k] = { lo, hi }
    end
    return list
end

--- A number, boolean or array as an array of x's dtype.
local function as_value(x, value)
    return create.value("pad", value, core.dtype_of(x).code)
end

--- x between `before` and `behind`, arrays of x's dtype that broadcast to the new elements of one axis.
local function surrounded(x, axis, lo, hi, before, behind)
    local dims, parts = shape_of(x), {}
    local function side(value, n)
        if n == 0 then return end
        dims[axis + 1] = n
        parts[#parts + 1] = shape.broadcast_to(value, dims)
    end
    side(before, lo)
    parts[#parts + 1] = x
    side(behind, hi)
    return #parts > 1 and shape.join(parts, axis) or x
end

--- The element of x that each element of a padded axis is, for the ways that repeat elements: `place` makes it of what
-- counts from x's first element.
local function repeated(x, axis, lo, hi, place)
    local n = shape_of(x)[axis + 1]
    local name = selects.counter(n + lo + hi)
    local from = create.iota(n + lo + hi, core.dtype_codes[name]) - lo
    return selects.take(x, place(from, n), axis)
end

--- Place i on the way from 0 up to n - 1 and down again; `turn` is the place from which a place on the way down is
-- counted.
local function mirrored(i, n, period, turn)
    i = np.remainder(i, period)
    return np.where(np.less(i, n), i, turn - i)
end

local REPEATING = {
    wrap = function(i, n) return np.remainder(i, n) end,
    symmetric = function(i, n) return mirrored(i, n, 2 * n, 2 * n - 1) end,
    reflect = function(i, n) return mirrored(i, n, math.max(2 * n - 2, 1), 2 * n - 2) end,
}

--- How many elements a side of an axis of n may get that are elements of x one after another, and where these are: a
-- slice in front of x, {from, to}, the other way round if `turned`, and one behind it.
local SLICES = {
    wrap = function(n, lo, hi) return n, { n - lo, n }, { 0, hi } end,
    symmetric = function(n, lo, hi) return n, { 0, lo }, { n - hi, n }, true end,
    reflect = function(n, lo, hi) return n - 1, { 1, lo + 1 }, { n - 1 - hi, n - 1 }, true end,
}

--- x padded by its own elements along the axes of a list, `widths` {before, after} by axis: slices where these are long
-- enough, else single elements. What is padded along the last two of the axes are the parts that the axis before them
-- was made of, so that the whole is put together once: elements along one axis do not depend on those along another.
local function extended(x, axes, first, mode, widths)
    local axis = axes[first]
    if not axis then return x end
    local lo, hi, n = widths[axis + 1][1], widths[axis + 1][2], shape_of(x)[axis + 1]
    if n == 0 then raise("pad", "axis %d has no elements to pad with", axis) end
    local most, front, behind, turned = SLICES[mode](n, lo, hi)
    if core.is_size(n) or math.max(lo, hi) > most then -- elements one by one are right for every size
        return extended(repeated(x, axis, lo, hi, REPEATING[mode]), axes, first + 1, mode, widths)
    end
    local parts, inner = {}, first == #axes - 1
    for k, range in ipairs { front, { 0, n }, behind } do
        local part = k == 2 and x or range[2] > range[1] and shape.cut(x, axis, range[1], range[2])
        if part and k ~= 2 and turned then part = np.flip(part, { axis = axis }) end
        if part and inner then part = extended(part, axes, first + 1, mode, widths) end
        parts[#parts + 1] = part or nil
    end
    x = shape.join(parts, axis)
    return inner and x or extended(x, axes, first + 1, mode, widths)
end

local STATISTICS = { maximum = "max", minimum = "min", mean = "mean" }

--- The mean, the least or the greatest of the `count` elements at an end of an axis (all without count), in x's dtype.
local function statistic(x, axis, mode, count, at_end)
    local n = shape_of(x)[axis + 1]
    if n == 0 then raise("pad", "axis %d has no elements to take the %s of", axis, mode) end
    count = math.min(count or n, n)
    local from = at_end and n - count or 0
    local dtype = core.dtype_of(x)
    local result = np[STATISTICS[mode]](shape.cut(x, axis, from, from + count), { axis = axis, keepdims = true })
    if not dtype.inexact and mode == "mean" then result = np.round(result) end
    return np.astype(result, dtype.name)
end

--- From `last` to the edge of x in `width` even steps, without the edge; the other way round behind.
local function ramp(x, axis, width, last, at_end)
    local dims = shape_of(x)
    local n, ndim = dims[axis + 1], #dims
    if n == 0 then raise("pad", "axis %d has no elements to pad with", axis) end
    local edge = shape.cut(x, axis, at_end and n - 1 or 0, at_end and n or 1)
    local dtype = core.dtype_of(x)
    local floats = dtype.inexact
    if not floats then edge = np.astype(edge, "f64") end
    local i, own = create.iota(width, core.dtype_codes.i32), {}
    for k = 1, ndim do own[k] = k == axis + 1 and width or 1 end
    i = shape.reshape(np.astype(at_end and (width - 1) - i or i, core.dtype_of(edge).name), own)
    last = np.astype(as_value(x, last), core.dtype_of(edge).name)
    local result = i * ((edge - last) / width) + last
    return floats and result or np.astype(np.floor(result), dtype.name)
end

--- One axis of x padded.
local function pad_axis(x, axis, mode, lo, hi, o)
    if lo + hi == 0 then return x end
    local before, behind
    if mode == "edge" then
        local n = shape_of(x)[axis + 1]
        if n == 0 then raise("pad", "axis %d has no elements to pad with", axis) end
        before, behind = shape.cut(x, axis, 0, 1), shape.cut(x, axis, n - 1, n)
    elseif STATISTICS[mode] then
        local lengths = o.stat_length[axis + 1]
        before = lo > 0 and statistic(x, axis, mode, lengths[1] or nil, false)
        behind = hi > 0 and statistic(x, axis, mode, lengths[2] or nil, true)
    elseif mode == "linear_ramp" then
        local ends = o.end_values[axis + 1]
        before = lo > 0 and ramp(x, axis, lo, ends[1], false)
        behind = hi > 0 and ramp(x, axis, hi, ends[2], true)
    else
        local values = o.value[axis + 1]
        before, behind = as_value(x, values[1]), as_value(x, values[2])
    end
    return surrounded(x, axis, lo, hi, before, behind)
end

local MODES = "constant edge empty linear_ramp maximum mean minimum reflect symmetric wrap"

local function is_value(value)
    return type(value) == "number" or type(value) == "boolean" or core.complex.is(value) or core.integer64(value) ~= nil
        or core.is_size(value) or is_array(value) and core.ndim(value) == 0
end

--- np.pad(x, width, {mode="constant", value=0, constant_values=0, end_values=0, stat_length=…}), np.pad(x, width,
-- "reflect", {…}): x with new elements around it. `width` is a number for every side, {before, after} for every axis,
-- or a table of one {before, after} for each axis; so are the options but mode.
--- mode: "constant" (new elements are `value`), "edge", "reflect" (mirrored at the edge, which stands once),
-- "symmetric" (the edge stands twice), "wrap", "linear_ramp" (from `end_values` to the edge), "mean", "maximum",
-- "minimum" (of `stat_length` elements at that end), "empty" (zeros here)
--- value: what the new elements are; NumPy's constant_values, which is understood too
--- constant_values: value
--- end_values: where ramps begin
--- stat_length: how many elements a statistic is of; all without it
--- > np.arange(3):pad(1), np.pad(np.arange(2), {2, 0}, {value=9})
-- [0 0 1 2 0]
-- [9 9 0 1]
--- > np.pad(np.arange(3), 2, "reflect"), np.pad(np.arange(3), 2, {mode="linear_ramp", end_values=4})
-- [2 1 0 1 2 1 0]
-- [4 2 0 1 2 3 4]
define("pad", function(x, width, given, more)
    x = coerce("pad", 1, x)
    local mode
    if type(given) == "string" then
        mode, given = given, more
    elseif more ~= nil then
        core.too_many("pad", 3, more)
    end
    local o = options("pad", given, { mode = true, value = true, constant_values = true, end_values = true,
                                      stat_length = true })
    mode = mode or o.mode == nil and "constant" or o.mode
    if type(mode) ~= "string" or not (" " .. MODES .. " "):find(" " .. mode .. " ", 1, true) then
        bad_argument("pad", nil, "mode", "one of " .. MODES:gsub(" ", ", "), mode)
    end
    local ndim = core.ndim(x)
    if not core.is_number(core.plain(width)) and type(width) ~= "table" then
        bad_argument("pad", 2, "width", "a number or a table", width)
    end
    local widths = pairs_of(width, ndim, "widths", is_width, "integers from 0 up")
    local value = o.value
    if value == nil then value = o.constant_values end
    if value == nil or mode == "empty" then value = 0 end
    if mode == "constant" or mode == "empty" then
        local single = type(value) ~= "table"
        if single and not is_value(value) or not single and #value == 0 then
            bad_argument("pad", nil, "value", "a number, a boolean or an array", value)
        end
        if single then -- one op for all axes
            local lo, hi, interior = {}, {}, {}
            for k = 1, ndim do lo[k], hi[k], interior[k] = widths[k][1], widths[k][2], 0 end
            return shape.pad(x, as_value(x, value), lo, hi, interior)
        end
    end
    local ends = o.end_values == nil and 0 or o.end_values
    local lengths = o.stat_length == nil and false or o.stat_length
    o = { value = pairs_of(value, ndim, "values", is_value, "numbers or booleans"),
          end_values = pairs_of(ends, ndim, "end values", is_value, "numbers or booleans"),
          stat_length = pairs_of(lengths, ndim, "lengths", function(n) return not n or is_width(n) and n > 0 end,
                                 "integers from 1 up") }
    if REPEATING[mode] then
        local axes = {}
        for axis = 0, ndim - 1 do
            if widths[axis + 1][1] + widths[axis + 1][2] > 0 then axes[#axes + 1] = axis end
        end
        return extended(x, axes, 1, mode, widths)
    end
    local half -- corners are made of what is computed for the axes before
    if mode == "mean" or mode == "linear_ramp" then x, half = operands.wide(x) end
    for axis = 0, ndim - 1 do x = pad_axis(x, axis, mode, widths[axis + 1][1], widths[axis + 1][2], o) end
    return operands.narrow(x, half)
end)
