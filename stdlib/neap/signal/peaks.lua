--- peaks.lua: np.signal.find_peaks, peak_prominences, peak_widths: where a signal is higher than around, and by how
-- much. Lua walks over the numbers of a signal, and so waits for the signal.

--- {wlen}: how many elements around a peak are searched for valleys; all by default
--- {rel_height}: at which part of the prominence, from the top, the width is measured; by default the half

local ffi = require "ffi"
local core = require "neap.core"
local operands = require "neap.arrays.operands"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local floor, max, min = math.floor, math.max, math.min

local peaks = {}

-- ---- Arguments ------------------------------------------------------------------------------------------------------

local doubles = ffi.typeof "double[?]"

--- Argument 1 as an array, its elements as a vector of doubles, and how many there are.
local function numbers_of(name, x)
    x = operands.meet("signal." .. name, 1, x)
    local dtype = core.dtype_of(x)
    if core.ndim(x) ~= 1 or dtype.kind == "c" then
        raise("signal." .. name, "argument 1 must be a signal of real numbers, 1-d; got %s of shape %s", dtype.name,
              core.shape_text(x))
    end
    local wide = np.astype(x, "f64")
    local plain = np.where(np.isnan(wide), np.nan, wide) -- so that no other NaN's bits become a Lua number
    local values = core.read(plain, function(data, n)
        local copy = doubles(n)
        ffi.copy(copy, data, 8 * n)
        return copy
    end)
    return x, values, x.size
end

--- A list of numbers as an array.
local function array_of(list, dtype)
    if #list == 0 then return np.zeros({ 0 }, { dtype = dtype }) end
    return np.array(list, { dtype = dtype })
end

--- The real dtype of results.
local function real_of(x)
    local dtype = core.dtype_of(x)
    return dtype.inexact and dtype.name or dtype.real
end

local function half_window(name, wlen)
    wlen = core.plain(wlen)
    if wlen == nil then return nil end
    if type(wlen) ~= "number" or not (wlen > 1 and wlen < math.huge) then
        bad_argument("signal." .. name, nil, "wlen", "a number above 1", wlen)
    end
    return floor(math.ceil(wlen) / 2)
end

local function relative(name, value)
    value = core.plain(value)
    if value == nil then return 0.5 end
    if type(value) ~= "number" or not (value >= 0 and value < math.huge) then
        bad_argument("signal." .. name, nil, "rel_height", "a number from 0", value)
    end
    return value
end

--- Argument 2, places in the signal, as a list of integers.
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
    return list
end

-- ---- Peaks ----------------------------------------------------------------------------------------------------------

--- The middles of peaks, and with `edges` their first and last places; equal neighbours are a single peak.
local function local_maxima(x, n, edges)
    local middles, lefts, rights, count, i = {}, {}, {}, 0, 1
    while i < n - 1 do
        if x[i - 1] < x[i] then
            local ahead = i + 1
            while ahead < n - 1 and x[ahead] == x[i] do ahead = ahead + 1 end
            if x[ahead] < x[i] then
                count = count + 1
                middles[count] = floor((i + ahead - 1) / 2)
                if edges then lefts[count], rights[count] = i, ahead - 1 end
                i = ahead
            end
        end
        i = i + 1
    end
    if edges then return middles, lefts, rights end
    return middles
end

--- How far a peak stands above the higher of both valleys, and where the valleys lie.
local function prominence(x, n, peak, half)
    local top = x[peak]
    local function valley(step, stop)
        local i, low, base = peak, top, peak
        while (i - stop) * step <= 0 and x[i] <= top do
            if x[i] < low then low, base = x[i], i end
            i = i + step
        end
        return low, base
    end
    local left, left_base = valley(-1, half and max(peak - half, 0) or 0)
    local right, right_base = valley(1, half and min(peak + half, n - 1) or n - 1)
    return top - max(left, right), left_base, right_base
end

--- The width of a peak between its bases, where the signal crosses a height: the width, the height, and both places.
local function width_of(x, peak, tall, left, right, part)
    local height = x[peak] - tall * part
    local function edge_at(step, stop)
        local i = peak
        while i ~= stop and height < x[i] do i = i + step end
        if x[i] < height then return i - step * (height - x[i]) / (x[i - step] - x[i]) end
        return i
    end
    local from, to = edge_at(-1, left), edge_at(1, right)
    return to - from, height, from, to
end

--- Lists of the `count` results, four at most, of f(peak, k) for each peak.
local function columns(list, count, f)
    local result = {}
    for c = 1, count do result[c] = {} end
    local first, second, third, fourth = unpack(result)
    for k = 1, #list do
        local one, two, three, four = f(list[k], k)
        first[k] = one
        if second then second[k] = two end
        if third then third[k] = three end
        if fourth then fourth[k] = four end
    end
    return result
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
    local values, n
    x, values, n = numbers_of(name, x)
    local list = columns(places_of(name, places, n), 3, function(peak) return prominence(values, n, peak, half) end)
    return array_of(list[1], real_of(x)), array_of(list[2], "i32"), array_of(list[3], "i32")
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
    local half, part = half_window(name, o.wlen), relative(name, o.rel_height)
    local values, n
    x, values, n = numbers_of(name, x)
    local list = columns(places_of(name, places, n), 4, function(peak)
        local tall, left, right = prominence(values, n, peak, half)
        return width_of(values, peak, tall, left, right, part)
    end)
    local dtype = real_of(x)
    return array_of(list[1], dtype), array_of(list[2], dtype), array_of(list[3], dtype), array_of(list[4], dtype)
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

local function within(bounds, value)
    return (not bounds[1] or value >= bounds[1]) and (not bounds[2] or value <= bounds[2])
end

--- The peaks of a table of columns { peaks = list, … }, all with an entry a peak, kept by `fits`(k).
local function keep(table_of, fits)
    local kept = {}
    for k = 1, #table_of.peaks do
        if fits(k) then kept[#kept + 1] = k end
    end
    for name, list in pairs(table_of) do
        local new = {}
        for i, k in ipairs(kept) do new[i] = list[k] end
        table_of[name] = new
    end
end

--- Drops peaks nearer than `distance` to a higher peak.
local function apart(found, x, distance)
    local order, gone, list = {}, {}, found.peaks
    for k = 1, #list do order[k] = k end
    table.sort(order, function(a, b)
        local first, second = x[list[a]], x[list[b]]
        return first > second or first == second and a > b
    end)
    for _, k in ipairs(order) do
        if not gone[k] then
            local j = k - 1
            while j >= 1 and list[k] - list[j] < distance do gone[j], j = true, j - 1 end
            j = k + 1
            while j <= #list and list[j] - list[k] < distance do gone[j], j = true, j + 1 end
        end
    end
    keep(found, function(k) return not gone[k] end)
end

--- Adds the columns of f, as many as there are names, for all peaks.
local function add(found, names, f)
    local list = columns(found.peaks, #names, f)
    for c, name in ipairs(names) do found[name] = list[c] end
end

-- The conditions in order, each of which leaves out peaks: f(found, x, n, bounds, options).
local CONDITIONS = {
    { "plateau_size", function(found, _, _, bounds)
        add(found, { "plateau_sizes" }, function(_, k) return found.right_edges[k] - found.left_edges[k] + 1 end)
        keep(found, function(k) return within(bounds, found.plateau_sizes[k]) end)
    end },
    { "height", function(found, x, _, bounds)
        add(found, { "peak_heights" }, function(peak) return x[peak] end)
        keep(found, function(k) return within(bounds, found.peak_heights[k]) end)
    end },
    { "threshold", function(found, x, _, bounds)
        add(found, { "left_thresholds", "right_thresholds" }, function(peak)
            return x[peak] - x[peak - 1], x[peak] - x[peak + 1]
        end)
        keep(found, function(k)
            local left, right = found.left_thresholds[k], found.right_thresholds[k]
            return (not bounds[1] or min(left, right) >= bounds[1]) and (not bounds[2] or max(left, right) <= bounds[2])
        end)
    end },
    { "distance", function(found, x, _, bounds)
        if bounds[2] or not bounds[1] or not (bounds[1] >= 1 and bounds[1] < math.huge) then
            bad_argument("signal.find_peaks", nil, "distance", "a number from 1", bounds[1])
        end
        apart(found, x, math.ceil(bounds[1]))
    end },
    { "prominence", function(found, x, n, bounds, o)
        add(found, { "prominences", "left_bases", "right_bases" }, function(peak)
            return prominence(x, n, peak, o.half)
        end)
        keep(found, function(k) return within(bounds, found.prominences[k]) end)
    end },
    { "width", function(found, x, n, bounds, o)
        if not found.prominences then
            add(found, { "prominences", "left_bases", "right_bases" }, function(peak)
                return prominence(x, n, peak, o.half)
            end)
        end
        add(found, { "widths", "width_heights", "left_ips", "right_ips" }, function(peak, k)
            return width_of(x, peak, found.prominences[k], found.left_bases[k], found.right_bases[k], o.part)
        end)
        keep(found, function(k) return within(bounds, found.widths[k]) end)
    end },
}

local COUNTS = { plateau_sizes = true, left_edges = true, right_edges = true, left_bases = true, right_bases = true }

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
    local found, values, n = {}
    x, values, n = numbers_of("find_peaks", x)
    found.peaks, found.left_edges, found.right_edges = local_maxima(values, n, o.plateau_size ~= nil)
    for _, row in ipairs(CONDITIONS) do
        local name, apply = row[1], row[2]
        if o[name] ~= nil then apply(found, values, n, bounds_of(name, o[name]), settings) end
    end
    local places, properties = array_of(found.peaks, "i32"), {}
    for name, list in pairs(found) do
        if name ~= "peaks" then properties[name] = array_of(list, COUNTS[name] and "i32" or real_of(x)) end
    end
    return places, properties
end

return peaks
