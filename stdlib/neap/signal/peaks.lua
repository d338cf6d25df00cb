--- peaks.lua: np.signal.find_peaks, peak_prominences, peak_widths: where a signal is higher than around, and by how
-- much. Lua walks over the numbers of a signal, and so waits for the signal.

--- {wlen}: how many elements around a peak are searched for valleys; all by default
--- {rel_height}: at which part of the prominence, from the top, the width is measured; by default the half

local ffi = require "ffi"
local core = require "neap.core"
local operands = require "neap.arrays.operands"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local floor, max, min, huge = math.floor, math.max, math.min, math.huge

local peaks = {}

local doubles, indices, bytes = ffi.typeof "double[?]", ffi.typeof "int32_t[?]", ffi.typeof "uint8_t[?]"

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- Argument 1 as a signal: x, an array of f32 or f64; values, its elements as memory, as long as there is x; n, how
-- many there are; dtype, the real one of results.
local function signal_of(name, x)
    x = operands.meet("signal." .. name, 1, x)
    local dtype = core.dtype_of(x)
    if core.ndim(x) ~= 1 or dtype.kind == "c" then
        raise("signal." .. name, "argument 1 must be a signal of real numbers, 1-d; got %s of shape %s", dtype.name,
              core.shape_text(x))
    end
    local wide = dtype.name == "f32" and x or np.astype(x, "f64")
    local plain = np.where(np.isnan(wide), np.nan, wide) -- so that no other NaN's bits become a Lua number
    return { x = plain, values = ffi.cast(core.dtype_of(plain).const_pointer, core.data(plain)), n = x.size,
             dtype = dtype.inexact and dtype.name or dtype.real }
end

--- The first `count` elements of memory, of doubles or int32_t, as an array: numbers of a dtype, or i32.
local function array_of(memory, count, dtype)
    local whole = ffi.istype(indices, memory)
    local x = core.fill(core.dtype_codes[whole and "i32" or "f64"], { count }, function(out)
        ffi.copy(out, memory, count * (whole and 4 or 8))
    end, "void *")
    return whole and x or np.astype(x, dtype)
end

local function half_window(name, wlen)
    wlen = core.plain(wlen)
    if wlen == nil then return huge end
    if type(wlen) ~= "number" or not (wlen > 1 and wlen < huge) then
        bad_argument("signal." .. name, nil, "wlen", "a number above 1", wlen)
    end
    return floor(math.ceil(wlen) / 2)
end

local function relative(name, value)
    value = core.plain(value)
    if value == nil then return 0.5 end
    if type(value) ~= "number" or not (value >= 0 and value < huge) then
        bad_argument("signal." .. name, nil, "rel_height", "a number from 0", value)
    end
    return value
end

--- Argument 2, places in the signal, as columns of peaks.
local function places_of(name, given, n)
    local x = operands.meet("signal." .. name, 1, given)
    if core.ndim(x) ~= 1 then
        raise("signal." .. name, "argument 2 (peaks) must be 1-d, got shape %s", core.shape_text(x))
    end
    local list = np.astype(x, "f64"):totable()
    for _, place in ipairs(list) do
        if place % 1 ~= 0 or place < 0 or place >= n then
            raise("signal." .. name, "argument 2 (peaks) has the place %.14g, of a signal of %d elements", place, n)
        end
    end
    return { peaks = indices(#list, list) }, #list
end

-- ---- Walks ----------------------------------------------------------------------------------------------------------

-- What is known of peaks stands in columns by name, memory with an element for each peak. Walks read the columns of
-- `count` peaks, and write others.

--- Writes the middles of peaks, equal neighbours being a single one; their first and last places too, if there are
-- `lefts` and `rights`. starts: the elements before those that begin a rise which does not go on. Returns how many
-- peaks there are.
local function walk_maxima(x, n, starts, most, middles, lefts, rights)
    local count = 0
    for k = 0, most - 1 do
        local i = starts[k] + 1
        local ahead = i + 1
        while ahead < n - 1 and x[ahead] == x[i] do ahead = ahead + 1 end
        if x[ahead] < x[i] then
            middles[count] = floor((i + ahead - 1) / 2)
            if lefts then lefts[count], rights[count] = i, ahead - 1 end
            count = count + 1
        end
    end
    return count
end

--- Marks peaks nearer than `distance` to a higher peak, from the highest on, the last one of `order`.
local function walk_apart(places, count, order, distance, gone)
    for k = count - 1, 0, -1 do
        local this = order[k]
        if gone[this] == 0 then
            local j = this - 1
            while j >= 0 and places[this] - places[j] < distance do gone[j], j = 1, j - 1 end
            j = this + 1
            while j < count and places[j] - places[this] < distance do gone[j], j = 1, j + 1 end
        end
    end
end

--- Writes how far peaks stand above the higher of both valleys, and where the valleys lie.
local function walk_prominences(x, n, places, count, half, prominences, lefts, rights)
    for k = 0, count - 1 do
        local peak = places[k]
        local top, first, last = x[peak], max(peak - half, 0), min(peak + half, n - 1)
        local left, right, left_base, right_base = top, top, peak, peak
        local i = peak
        while i >= first and x[i] <= top do
            if x[i] < left then left, left_base = x[i], i end
            i = i - 1
        end
        i = peak
        while i <= last and x[i] <= top do
            if x[i] < right then right, right_base = x[i], i end
            i = i + 1
        end
        prominences[k], lefts[k], rights[k] = top - max(left, right), left_base, right_base
    end
end

--- Writes the widths of peaks between their valleys, where the signal crosses a height, the heights and both places.
local function walk_widths(x, count, of, part)
    local places, prominences, lefts, rights = of.peaks, of.prominences, of.left_bases, of.right_bases
    local widths, heights, left_ips, right_ips = of.widths, of.width_heights, of.left_ips, of.right_ips
    for k = 0, count - 1 do
        local peak, left, right = places[k], lefts[k], rights[k]
        local height, from, to = x[peak] - prominences[k] * part, peak, peak
        while from ~= left and height < x[from] do from = from - 1 end
        while to ~= right and height < x[to] do to = to + 1 end
        if x[from] < height then from = from + (height - x[from]) / (x[from + 1] - x[from]) end
        if x[to] < height then to = to - (height - x[to]) / (x[to - 1] - x[to]) end
        widths[k], heights[k], left_ips[k], right_ips[k] = to - from, height, from, to
    end
end

--- Adds the columns of prominences to those of peaks.
local function add_prominences(of, count, signal, half)
    of.prominences, of.left_bases, of.right_bases = doubles(count), indices(count), indices(count)
    walk_prominences(signal.values, signal.n, of.peaks, count, half, of.prominences, of.left_bases, of.right_bases)
end

--- Adds the columns of widths, and those of prominences if they are not there.
local function add_widths(of, count, signal, o)
    if not of.prominences then add_prominences(of, count, signal, o.half) end
    of.widths, of.width_heights, of.left_ips, of.right_ips =
        doubles(count), doubles(count), doubles(count), doubles(count)
    walk_widths(signal.values, count, of, o.part)
end

--- np.signal.peak_prominences(x, peaks, {wlen=…}) -> prominences, left_bases, right_bases: how far each peak of a 1-d
-- signal stands above its surroundings: above the higher of two valleys, the lowest places at either side before a
-- higher peak comes; and where the valleys lie (i32). Waits, and raises while tracing.
--- > np.signal.peak_prominences(np.array{0, 2, 1, 3, 0}, {1, 3})
-- [1. 3.]
-- [0 0]
-- [2 4]
function peaks.peak_prominences(x, places, given)
    local name = "peak_prominences"
    local half = half_window(name, core.options("signal." .. name, given, { wlen = true }).wlen)
    local signal = signal_of(name, x)
    local of, count = places_of(name, places, signal.n)
    add_prominences(of, count, signal, half)
    return array_of(of.prominences, count, signal.dtype), array_of(of.left_bases, count),
        array_of(of.right_bases, count)
end

--- np.signal.peak_widths(x, peaks, {rel_height=0.5, wlen=…}) -> widths, heights, left, right: how wide each peak of a
-- 1-d signal is, in elements, the height of measuring, and the places where the signal, as straight
-- lines between elements, crosses the height. Waits, and raises while tracing.
--- > np.signal.peak_widths(np.array{0, 1, 2, 1, 0}, {2})
-- [2.]
-- [1.]
-- [1.]
-- [3.]
function peaks.peak_widths(x, places, given)
    local name = "peak_widths"
    local o = core.options("signal." .. name, given, { rel_height = true, wlen = true })
    local settings = { half = half_window(name, o.wlen), part = relative(name, o.rel_height) }
    local signal = signal_of(name, x)
    local of, count = places_of(name, places, signal.n)
    add_widths(of, count, signal, settings)
    local function result(column) return array_of(of[column], count, signal.dtype) end
    return result "widths", result "width_heights", result "left_ips", result "right_ips"
end

-- ---- Conditions -----------------------------------------------------------------------------------------------------

--- A condition: a number, the least value, or {least, greatest}, either of them may be nil.
local function bounds_of(what, value)
    value = core.plain(value)
    if type(value) == "number" then return { value } end
    if type(value) == "table" and getmetatable(value) == nil then
        local bounds, fits = {}, true
        for key, bound in pairs(value) do
            bounds[key] = core.plain(bound)
            fits = fits and (key == 1 or key == 2) and type(bounds[key]) == "number"
        end
        if fits then return bounds end
    end
    bad_argument("signal.find_peaks", nil, what, "a number, or a table {least, greatest}", value)
end

--- The columns of the peaks of a signal, with first and last places if `edges`, and how many there are. Peaks outside
-- bounds of height may be left out: equal elements of a peak have one height. (As numbers of x's dtype these bounds
-- leave out no others.)
local function maxima_of(signal, bounds, edges)
    local x, n, of, count = signal.x, signal.n, { peaks = indices(0) }, 0
    if edges then of.left_edges, of.right_edges = indices(0), indices(0) end
    if n < 3 then return of, count end
    local middle = x[{ { 1, -1 } }]
    local rises = np.logical_and(np.less(x[{ { 0, -2 } }], middle), np.greater_equal(middle, x[{ { 2, nil } }]))
    if bounds[1] then rises = np.logical_and(rises, np.greater_equal(middle, bounds[1])) end
    if bounds[2] then rises = np.logical_and(rises, np.less_equal(middle, bounds[2])) end
    local starts = np.flatnonzero(rises)
    core.read(starts, function(places)
        for name in pairs(of) do of[name] = indices(starts.size) end
        count = walk_maxima(signal.values, n, places, starts.size, of.peaks, of.left_edges, of.right_edges)
    end)
    return of, count
end

local function move(column, kept, count)
    for k = 0, count - 1 do column[k] = column[kept[k]] end
end

--- Keeps the peaks, of `count`, for which `low` is at least the first bound and `high` at most the second; returns how
-- many these are.
local function keep(of, count, bounds, low, high)
    if not bounds[1] and not bounds[2] then return count end
    local least, most = bounds[1] or -huge, bounds[2] or huge
    local kept, left = indices(count), 0
    for k = 0, count - 1 do
        if low[k] >= least and high[k] <= most then kept[left], left = k, left + 1 end
    end
    for _, column in pairs(of) do move(column, kept, left) end
    return left
end

-- The conditions in order, each of which leaves out peaks: f(columns, count, signal, bounds, options) returns how many
-- are left.
local CONDITIONS = {
    { "plateau_size", function(of, count, _, bounds)
        local lefts, rights, sizes = of.left_edges, of.right_edges, indices(count)
        for k = 0, count - 1 do sizes[k] = rights[k] - lefts[k] + 1 end
        of.plateau_sizes = sizes
        return keep(of, count, bounds, sizes, sizes)
    end },
    { "height", function(of, count, signal, bounds)
        local x, places, heights = signal.values, of.peaks, doubles(count)
        for k = 0, count - 1 do heights[k] = x[places[k]] end
        of.peak_heights = heights
        return keep(of, count, bounds, heights, heights)
    end },
    { "threshold", function(of, count, signal, bounds)
        local x, places, left, right = signal.values, of.peaks, doubles(count), doubles(count)
        local low, high = doubles(count), doubles(count)
        for k = 0, count - 1 do
            local at = places[k]
            left[k], right[k] = x[at] - x[at - 1], x[at] - x[at + 1]
            low[k], high[k] = min(left[k], right[k]), max(left[k], right[k])
        end
        of.left_thresholds, of.right_thresholds = left, right
        return keep(of, count, bounds, low, high)
    end },
    { "distance", function(of, count, signal, bounds)
        if bounds[2] or not bounds[1] or not (bounds[1] >= 1 and bounds[1] < huge) then
            bad_argument("signal.find_peaks", nil, "distance", "a number from 1", bounds[1])
        end
        local gone, order = bytes(count), np.argsort(np.take(signal.x, array_of(of.peaks, count)))
        core.read(order, function(places)
            walk_apart(of.peaks, count, places, math.ceil(bounds[1]), gone)
        end)
        return keep(of, count, { 0, 0 }, gone, gone)
    end },
    { "prominence", function(of, count, signal, bounds, o)
        add_prominences(of, count, signal, o.half)
        return keep(of, count, bounds, of.prominences, of.prominences)
    end },
    { "width", function(of, count, signal, bounds, o)
        add_widths(of, count, signal, o)
        return keep(of, count, bounds, of.widths, of.widths)
    end },
}

--- np.signal.find_peaks(x, {height=…, threshold=…, distance=…, prominence=…, width=…, wlen=…, rel_height=0.5,
-- plateau_size=…}) -> peaks, properties: the places (i32) where a 1-d signal is higher than at both sides, of equal
-- elements in the middle. Each condition is a number, the least value, or a table {least, greatest}; the values are in
-- the table of properties, arrays with an element for each peak. Neither end is a peak. Waits, and raises while
-- tracing.
--- height: the element itself; property peak_heights
--- threshold: how far the element is above both neighbours; properties left_thresholds and right_thresholds
--- distance: the least number of elements between peaks, from 1; of nearer peaks the higher stays, of equal the last
--- prominence: as np.signal.peak_prominences; properties prominences, left_bases and right_bases
--- width: as np.signal.peak_widths; properties widths, width_heights, left_ips and right_ips, and prominence's
--- plateau_size: how many equal elements a peak has; properties plateau_sizes, left_edges and right_edges
--- > x = np.array{0, 2, 1, 3, 0, 1, 0}
--- > places, properties = np.signal.find_peaks(x, {prominence=2})
--- > places, properties.prominences
-- [3]
-- [3.]
function peaks.find_peaks(x, given)
    local o = core.options("signal.find_peaks", given, { height = true, threshold = true, distance = true,
                                                         prominence = true, width = true, wlen = true,
                                                         rel_height = true, plateau_size = true })
    local settings = { half = half_window("find_peaks", o.wlen), part = relative("find_peaks", o.rel_height) }
    local signal = signal_of("find_peaks", x)
    local of, count = maxima_of(signal, o.height ~= nil and bounds_of("height", o.height) or {}, o.plateau_size ~= nil)
    for _, row in ipairs(CONDITIONS) do
        local name, apply = row[1], row[2]
        if o[name] ~= nil then count = apply(of, count, signal, bounds_of(name, o[name]), settings) end
    end
    local places, properties = array_of(of.peaks, count), {}
    of.peaks = nil
    for name, column in pairs(of) do properties[name] = array_of(column, count, signal.dtype) end
    return places, properties
end

return peaks
