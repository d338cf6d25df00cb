--- shapes.lua: the layers of areas with any outline (wedges of pies, violins) and of arrows. See layers.lua for what a
-- layer is.
local columns = require "neap.plot.columns"
local core = require "neap.core"
local ranges = require "neap.plot.ranges"
local script_text = require "neap.plot.text"

local raise = core.raise
local doubles, bounds, include = columns.doubles, columns.bounds, ranges.include
local color_of, title_of = script_text.color, script_text.title
local shapes = {}

-- ---- Areas ----------------------------------------------------------------------------------------------------------

--- An area whose outline goes through p.x, p.y, and from the last point to the first.
local function outline(p, layer, view)
    local edge = layer.edge and ("border lc rgb \"#%s\" lw %.3g"):format(layer.edge, layer.linewidth * view.scale)
        or "noborder"
    return { text = ("'-' binary record=(%d) format='%%float64%%float64' using 1:2 with filledcurves closed "
                     .. "fc %s fs solid %s %s"):format(p.n, color_of(layer), edge, title_of(layer, view)),
             data = columns.rows({ p.x, p.y }, p.n) }
end

shapes.area = {
    read = function(layer)
        local p = {}
        p.x, p.n = doubles(layer.data.x)
        p.y = doubles(layer.data.y)
        return p
    end,
    cover = function(p, _, box)
        ranges.include_column(box.x, p.x, p.n)
        ranges.include_column(box.y, p.y, p.n)
    end,
    draw = function(p, layer, view)
        if not bounds(p.x, p.n) or not bounds(p.y, p.n) then return {} end
        for k = 0, p.n - 1 do view.seen(p.x[k], p.y[k]) end
        return { outline(p, layer, view) }
    end,
}

-- ---- Pies -----------------------------------------------------------------------------------------------------------

local FREE = 1.25 -- of a pie's axes reach from its middle, in radii
local STEPS = 180 -- of a whole circle
local POINTS, LETTER, GAP = 10, 7.5, 40 -- size of texts; pixels of a letter, and of what the axes leave free

--- The sum of sizes, and that of those before one; NaN counts as 0.
local function sums(values, n, number)
    local before, all = 0, 0
    for k = 0, n - 1 do
        local value = values[k]
        if value < 0 then raise("plot.pie", "sizes of wedges must not be negative, x[%d] is %g", k, value) end
        if value == value then
            all = all + value
            if k < number then before = before + value end
        end
    end
    return before, all
end

--- The place at a distance from the middle of a pie, in the direction of a wedge's middle.
local function place_at(p, layer, distance)
    local at = distance * layer.shared.radius + layer.apart * layer.shared.radius
    return at * math.cos(p.middle), at * math.sin(p.middle)
end

--- The pixels that a label has beside a pie, of a scale of 1: at most, and those that it takes.
local function label_room(text, width)
    local letters = select(2, text:gsub("[^\128-\191]", ""))
    local most = width * 0.3
    return most, math.min(letters * LETTER, most)
end

shapes.wedge = {
    read = function(layer)
        local values, n = doubles(layer.data.x)
        local before, all = sums(values, n, layer.number)
        local own = values[layer.number]
        local p = { n = 0, middle = 0, share = 0 }
        if not (own > 0 and all > 0) then return p end
        local s, turn = layer.shared, 2 * math.pi * layer.shared.direction
        local from, to = s.start * math.pi / 180 + turn * before / all, turn * own / all
        local steps = math.max(2, math.ceil(STEPS * own / all))
        p.share, p.middle, p.n = own / all, from + to / 2, steps + 2
        p.x, p.y = columns.new(p.n), columns.new(p.n)
        p.x[0], p.y[0] = place_at(p, layer, 0)
        for k = 0, steps do
            local angle = from + to * k / steps
            p.x[k + 1], p.y[k + 1] = p.x[0] + s.radius * math.cos(angle), p.y[0] + s.radius * math.sin(angle)
        end
        return p
    end,
    cover = function(p, layer, box)
        local reach = layer.shared.radius * FREE
        if p.n > 0 then
            ranges.include_column(box.x, p.x, p.n)
            ranges.include_column(box.y, p.y, p.n)
        end
        if layer.text and p.n > 0 then -- wide enough for the label: a pixel is so much smaller
            local x, y = place_at(p, layer, layer.shared.label_at)
            local half = math.max(box.width / box.scale - GAP, GAP) / 2
            local _, takes = label_room(layer.text, 2 * half)
            local wide = math.abs(x) * half / (half - takes)
            include(box.x, -wide, wide)
            include(box.y, y, y)
        end
        include(box.x, -reach, reach)
        include(box.y, -reach, reach)
        for _, axis in ipairs { box.x, box.y } do axis.tight_low, axis.tight_high = true, true end
    end,
    draw = function(p, layer, view)
        if p.n == 0 then return {} end
        local clause, labels = outline(p, layer, view), {}
        local function label(text, distance, words)
            local x, y = place_at(p, layer, distance)
            local most = label_room(text, math.max(view.width / view.scale - GAP, GAP))
            local fitted, size = script_text.fitted(text, POINTS, most, view.enhanced)
            labels[#labels + 1] = ("set label %s at first %.17g, first %.17g %s front%s\n"):format(
                script_text.quote(fitted, view.enhanced), x, y, words or x > 0 and "left" or "right",
                script_text.font(size, view))
        end
        if layer.text and layer.text ~= "" then label(layer.text, layer.shared.label_at) end
        if layer.shared.percent_format then
            label(layer.shared.percent_format:format(p.share * 100), layer.shared.percent_at, "center")
        end
        clause.labels = table.concat(labels)
        return { clause }
    end,
}

-- ---- Arrows ---------------------------------------------------------------------------------------------------------

local HEAD = 8 -- pixels of the head of an arrow
local MEAN = 1.8 -- so many arrows of the mean length would lie in the width of one column of a square field

--- Where a value is on an axis of so many pixels, and which value is at a pixel.
local function scale_of(axis, pixels)
    local low, high = axis.log and math.log(axis.low) or axis.low, axis.log and math.log(axis.high) or axis.high
    if axis.turned then low, high = high, low end
    local function to_pixel(value) return ((axis.log and math.log(value) or value) - low) / (high - low) * pixels end
    local function to_value(pixel)
        local at = low + pixel / pixels * (high - low)
        return axis.log and math.exp(at) or at
    end
    return to_pixel, to_value
end

--- How long a vector of length 1 is in parts of the axes' width: given, or so that the mean arrow leaves its
-- neighbours room, as matplotlib has it.
local function unit_length(p, layer)
    if layer.scale then return 1 / layer.scale end
    local sum, count = 0, 0
    for k = 0, p.n - 1 do
        local length = math.sqrt(p.u[k] ^ 2 + p.v[k] ^ 2)
        if length == length then sum, count = sum + length, count + 1 end
    end
    return sum > 0 and count / (MEAN * sum * math.max(10, math.sqrt(p.n))) or 1
end

--- The ends of arrows on the axes: columns of where they begin, and how far they go.
local function arrow_ends(p, layer, view)
    local begin_x, begin_y, far_x, far_y = columns.new(p.n), columns.new(p.n), columns.new(p.n), columns.new(p.n)
    local wide, high = ranges.pixels_of(view)
    local x_pixel, x_value = scale_of(view.x, wide)
    local y_pixel, y_value = scale_of(view.y, high)
    local unit = unit_length(p, layer) * wide
    for k = 0, p.n - 1 do
        local x, y, u, v = p.x[k], p.y[k], p.u[k], p.v[k]
        local at_x, at_y, by_x, by_y = x_pixel(x), y_pixel(y), u * unit, v * unit
        if layer.units == "xy" then
            by_x, by_y = x_pixel(x + u / (layer.scale or 1)) - at_x, y_pixel(y + v / (layer.scale or 1)) - at_y
        elseif layer.angles == "xy" then
            local to_x, to_y = x_pixel(x + u) - at_x, y_pixel(y + v) - at_y
            local length = math.sqrt(to_x ^ 2 + to_y ^ 2)
            local factor = length > 0 and math.sqrt(u * u + v * v) * unit / length or 0
            by_x, by_y = to_x * factor, to_y * factor
        end
        local from_x, from_y = at_x - layer.pivot * by_x, at_y - layer.pivot * by_y
        begin_x[k], begin_y[k] = x_value(from_x), y_value(from_y)
        far_x[k], far_y[k] = x_value(from_x + by_x) - begin_x[k], y_value(from_y + by_y) - begin_y[k]
    end
    return begin_x, begin_y, far_x, far_y
end

shapes.arrows = {
    read = function(layer)
        local p = {}
        p.x, p.n = doubles(layer.data.x)
        p.y, p.u, p.v = doubles(layer.data.y), doubles(layer.data.u), doubles(layer.data.v)
        if layer.data.c then p.c = doubles(layer.data.c) end
        return p
    end,
    cover = function(p, layer, box)
        ranges.include_column(box.x, p.x, p.n)
        ranges.include_column(box.y, p.y, p.n)
        for k = 0, layer.units == "xy" and p.n - 1 or -1 do
            local x, y = p.x[k] + p.u[k] / (layer.scale or 1), p.y[k] + p.v[k] / (layer.scale or 1)
            if x == x and not (box.x.log and x <= 0) then include(box.x, x, x) end
            if y == y and not (box.y.log and y <= 0) then include(box.y, y, y) end
        end
        if p.c then ranges.cover_colors(p.c, p.n, layer, box) end
    end,
    draw = function(p, layer, view)
        if not bounds(p.x, p.n, view.x.log) or not bounds(p.y, p.n, view.y.log) then return {} end
        local list, color = { arrow_ends(p, layer, view) }, color_of(layer)
        for k = 0, p.n - 1 do view.seen(p.x[k], p.y[k]) end
        if p.c then
            list[5] = layer.alpha == 1 and p.c or ranges.shaded(p.c, p.n, layer, view)
            color = layer.alpha == 1 and "palette" or "rgb variable"
        end
        local bar = p.c and layer.alpha ~= 1 and ", NaN with points palette notitle" or "" -- for the colour bar
        local wide = ranges.pixels_of(view)
        return { { text = ("'-' binary record=(%d) format='%s' using %s with vectors head filled size graph %.4g,20,90 "
                           .. "lw %.3g lc %s %s%s")
                     :format(p.n, ("%float64"):rep(#list), #list == 5 and "1:2:3:4:5" or "1:2:3:4", HEAD / wide,
                             layer.linewidth * view.scale, color, title_of(layer, view), bar),
                   data = columns.rows(list, p.n) } }
    end,
}

for _, kind in pairs(shapes) do jit.off(kind.draw) end

return shapes
