--- columns.lua: what charts take (arrays, lists, numbers, names) as arrays, and arrays as columns of doubles in which
-- everything that is not finite is NaN; columns thinned to what can be seen.
--
-- A picture of W pixels shows of a million points what fits into W columns: a line becomes, in each half column of
-- pixels, its first, its lowest, its highest and its last point, in their order, which draws the same pixels. A path
-- that goes back and forth loses points that fall into the half pixel of the one before; points of a scatter plot that
-- fall into a half pixel that others have filled.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"

local np = core.np
local band, floor, log = bit.band, math.floor, math.log
local is_array, raise, bad_argument = core.is_array, core.raise, core.bad_argument
local columns = {}

local Doubles = ffi.typeof "double[?]"
local NAN = core.NAN

-- ---- What charts take -----------------------------------------------------------------------------------------------

local function is_text_list(value)
    return type(value) == "table" and type(value[1]) == "string"
end

--- The values of an argument as an array of real numbers; and names, where it is a list of those.
function columns.array(name, position, what, value)
    if is_text_list(value) then
        core.list(name, "the list of texts", value)
        for k, text in ipairs(value) do
            if type(text) ~= "string" then raise(name, "%s[%d] must be a text as the others are, got %s", what, k,
                                                 core.describe(text)) end
        end
        return np.arange(#value), value
    end
    if type(value) == "table" and is_array(value[1]) then
        value = np.stack(core.list(name, "the list of arrays", value))
    elseif type(value) == "table" then
        value = #value == 0 and np.zeros { 0 } or np.array(value, { dtype = "f64" })
    elseif type(value) == "number" then
        value = np.array(value, { dtype = "f64" })
    end
    if not is_array(value) then
        bad_argument(name, position, what, "an array or a list of numbers", value)
    end
    if value.dtype:find "^c" then
        raise(name, "%s must be real numbers, got %s; np.real, np.imag, np.abs and np.angle make such", what,
              value.dtype)
    end
    return value
end

--- An argument of one axis; a number is an array of one element.
function columns.vector(name, position, what, value)
    local x, names = columns.array(name, position, what, value)
    if x.ndim == 0 then x = x:reshape(1) end
    if x.ndim ~= 1 then raise(name, "%s must have one axis, got shape %s", what, core.shape_text(x)) end
    return x, names
end

--- An argument of two axes.
function columns.matrix(name, position, what, value)
    local x = columns.array(name, position, what, value)
    if x.ndim ~= 2 then raise(name, "%s must have two axes, got shape %s", what, core.shape_text(x)) end
    return x
end

--- Raises unless two vectors have one length.
function columns.same_length(name, what, x, other, y)
    if x.size ~= y.size then
        raise(name, "%s and %s must have as many elements as each other, got %d and %d", what, other, x.size, y.size)
    end
end

-- ---- Columns --------------------------------------------------------------------------------------------------------

local function clean(source, n)
    local out = Doubles(math.max(n, 1))
    local words, from = ffi.cast("const uint32_t *", source), ffi.cast("const double *", source)
    for k = 0, n - 1 do -- NaNs of unknown bits must not become Lua numbers
        if band(words[2 * k + 1], 0x7ff00000) == 0x7ff00000 then out[k] = NAN else out[k] = from[k] end
    end
    return out
end

--- The elements of an array, row-major, as doubles: finite ones or NaN; and how many. Waits.
function columns.doubles(x)
    local wide = np.astype(x, "f64")
    return clean(core.data(wide), wide.size), wide.size
end

--- A new column of n doubles.
function columns.new(n)
    return Doubles(math.max(n, 1))
end

--- The least and the greatest of a column; nil, nil: it has no finite ones. positive: of those above 0 alone.
function columns.bounds(column, n, positive)
    local low, high = math.huge, -math.huge
    local floor_value = positive and 0 or -math.huge
    for k = 0, n - 1 do
        local value = column[k]
        if value > floor_value then
            if value < low then low = value end
            if value > high then high = value end
        end
    end
    if low > high then return nil, nil end
    return low, high
end

-- ---- Thinning -------------------------------------------------------------------------------------------------------

local LEAST = 4 -- columns of points per pixel, below which nothing is dropped

--- Whether numbers never fall, NaN aside.
local function is_rising(x, n)
    local last = -math.huge
    for k = 0, n - 1 do
        local value = x[k]
        if value < last then return false end
        if value == value then last = value end
    end
    return true
end

--- Where a value is on an axis { low, high, log }, in half pixels of `pixels`; NaN where it has no place.
local function place(value, axis, pixels)
    if axis.log then
        if value ~= value or value <= 0 then return NAN end
        return (log(value) - log(axis.low)) / (log(axis.high) - log(axis.low)) * (2 * pixels)
    end
    return (value - axis.low) / (axis.high - axis.low) * (2 * pixels)
end

--- Indices of the points that a rising line keeps. A gap (NaN) stays one.
local function keep_extremes(x, y, n, axis, pixels)
    local kept, count = ffi.new("int32_t[?]", n), 0
    local k = 0
    while k < n do
        local first, cell = k, floor(place(x[k], axis, pixels))
        local low, high, gap = k, k, -1
        while k < n do
            local at = floor(place(x[k], axis, pixels))
            if at ~= cell and at == at and cell == cell then break end
            if cell ~= cell then cell = at end
            local value = y[k]
            if value ~= value or at ~= at then
                gap = k
            else
                if y[low] ~= y[low] or y[low] > value then low = k end
                if y[high] ~= y[high] or y[high] < value then high = k end
            end
            k = k + 1
        end
        local last, before = k - 1, -1
        local a, b, c, d, e = first, low, high, gap, last
        for _ = 1, 5 do -- in the order of the points, each once
            local least = n
            if a > before and a < least then least = a end
            if b > before and b < least then least = b end
            if c > before and c < least then least = c end
            if d > before and d < least then least = d end
            if e > before and e < least then least = e end
            if least == n then break end
            kept[count], count, before = least, count + 1, least
        end
    end
    return kept, count
end

--- Indices of the points of a path that leave the half pixel of the one before.
local function keep_moves(x, y, n, axes, width, height)
    local kept, count = ffi.new("int32_t[?]", n), 0
    local last_x, last_y = math.huge, math.huge
    for k = 0, n - 1 do
        local at_x, at_y = floor(place(x[k], axes.x, width)), floor(place(y[k], axes.y, height))
        if at_x ~= last_x or at_y ~= last_y or k == n - 1 then
            kept[count], count = k, count + 1
            last_x, last_y = at_x, at_y
        end
    end
    return kept, count
end

--- Which points of a line to draw: a list of indices and how many, or nil for all. axes: { x = { low, high, log },
-- y = … }; width, height: pixels.
function columns.thin_line(x, y, n, axes, width, height)
    if n <= 2 * LEAST * width then return nil end
    if is_rising(x, n) then return keep_extremes(x, y, n, axes.x, width) end
    return keep_moves(x, y, n, axes, width, height)
end

local MOST_POINTS = 20000

--- The same of points: at most so many in each half pixel that more would not be seen.
function columns.thin_points(x, y, n, axes, width, height, alpha)
    if n <= MOST_POINTS then return nil end
    local most = alpha >= 0.99 and 1 or math.min(255, math.ceil(log(0.005) / log(1 - math.max(alpha, 0.01))))
    local wide, high = 2 * width, 2 * height
    local filled = ffi.new("uint8_t[?]", wide * high)
    local kept, count = ffi.new("int32_t[?]", n), 0
    for k = 0, n - 1 do
        local at_x, at_y = floor(place(x[k], axes.x, width)), floor(place(y[k], axes.y, height))
        if at_x >= 0 and at_x < wide and at_y >= 0 and at_y < high then
            local cell = at_y * wide + at_x
            if filled[cell] < most then
                filled[cell] = filled[cell] + 1
                kept[count], count = k, count + 1
            end
        end
    end
    return kept, count
end

-- ---- For the pipe ---------------------------------------------------------------------------------------------------

--- Rows of these columns, row after row, as bytes. kept, count: the rows' indices, or nil and all n of them.
function columns.rows(list, n, kept, count)
    local wide = #list
    local rows = kept and count or n
    local out = Doubles(math.max(rows * wide, 1))
    for c = 1, wide do
        local column, offset = list[c], c - 1
        if kept then
            for k = 0, rows - 1 do out[k * wide + offset] = column[kept[k]] end
        else
            for k = 0, rows - 1 do out[k * wide + offset] = column[k] end
        end
    end
    return ffi.string(out, 8 * rows * wide), rows
end

return columns
