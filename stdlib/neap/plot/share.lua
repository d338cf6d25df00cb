--- share.lua: axes of a figure that share x or y (subplots with sharex or sharey): one range for all of a group, a
-- place for each that leaves their frames of one size, and labels at the outer ones alone.
local figures = require "neap.plot.figure"
local ranges = require "neap.plot.ranges"
local ticks = require "neap.plot.ticks"

local share = {}

local LETTER, LINE = 7.5, 16 -- pixels of a letter and of a line, of a scale of 1
local TICKS, EDGE, BETWEEN = 12, 14, 12 -- pixels of ticks, at the edges of a picture, and between frames
local NUMBERS, BAR = 45, 75 -- pixels of numbers beside an axis, and of a bar of colours

--- Widens the ranges of axes to those of their group. boxes: by the number of the axes.
function share.ranges(figure, boxes)
    for _, which in ipairs { "x", "y" } do
        local groups = {}
        for k, box in pairs(boxes) do
            local group = figures.group_of(figure, which, k)
            if group and box[which].low then
                groups[group] = groups[group] or {}
                ranges.include(groups[group], box[which].low, box[which].high)
            end
        end
        for k, box in pairs(boxes) do -- nothing is left free where an axis ends that leaves nothing
            local own, all = box[which], groups[figures.group_of(figure, which, k)]
            if all then
                all.tight_low = all.tight_low or own.low == all.low and own.tight_low
                all.tight_high = all.tight_high or own.high == all.high and own.tight_high
            end
        end
        for k, box in pairs(boxes) do
            local all = groups[figures.group_of(figure, which, k)]
            if all then
                for _, key in ipairs { "low", "high", "tight_low", "tight_high" } do box[which][key] = all[key] end
            end
        end
    end
end

--- Whether axes have labels at x or y: those that do not share it, and of others the lowest and the leftmost.
function share.has_labels(figure, which, place)
    local mode = figure.share and figure.share[which]
    if which == "y" then return not (mode == "all" or mode == "row") or (place - 1) % figure.columns == 0 end
    local below = figure.axes[place + figure.columns]
    local last = place + figure.columns > figure.rows * figure.columns or below.hidden and #below.layers == 0
    return not (mode == "all" or mode == "col") or last
end

--- The greatest that f(axes, number) gives for the axes of a figure.
local function most(figure, f)
    local found = 0
    for k = 1, figure.rows * figure.columns do found = math.max(found, f(figure.axes[k], k)) end
    return found
end

--- Pixels that labels at the left of axes take.
local function left_of(axes)
    local given = figures.ticks(axes, "y")
    local labels = given and ticks.longest(given) * LETTER or NUMBERS
    return TICKS + labels + (axes.ylabel_text and LINE + 4 or 0)
end

--- Pixels that stand at the right of axes: a bar of colours, the numbers of twin axes, a legend.
local function right_of(axes)
    local twin, wide = figures.twin_of(axes), 0
    local own = twin and figures.ticks(twin, "y")
    if twin and not (own and #own == 0) then wide = NUMBERS + TICKS + (twin.ylabel_text and LINE or 0) end
    if axes.has_colorbar then wide = wide + BAR end
    if axes.legend_place == "outside" then
        local longest = 0
        for _, layer in ipairs(axes.layers) do longest = math.max(longest, #(layer.label or "")) end
        wide = wide + longest * LETTER + 60
    end
    return wide
end

--- Words that give axes their place in a picture of so many pixels, of a scale of 1.
function share.margins(figure, place, width, height)
    local row, column = math.floor((place - 1) / figure.columns), (place - 1) % figure.columns
    local outer_x, outer_y = figure.share.x == "all" or figure.share.x == "col", figure.share.y == "all"
        or figure.share.y == "row"
    local left = most(figure, left_of)
    local right = most(figure, function(axes, k) return k % figure.columns == 0 and right_of(axes) or 0 end)
    local inside = most(figure, function(axes, k) return k % figure.columns ~= 0 and right_of(axes) or 0 end)
    local bottom = TICKS + LINE + 4 + most(figure, function(axes)
        return (axes.xlabel_text and LINE + 8 or 0) + (axes.set.xscale == "date" and LINE or 0)
    end)
    local title = most(figure, function(axes) return axes.title_text and LINE + 8 or 0 end)
    local gap_x = inside + BETWEEN + (outer_y and 0 or left - BETWEEN)
    local gap_y = title + (title > 0 and BETWEEN + 4 or BETWEEN) + (outer_x and 0 or bottom - BETWEEN)
    local top = EDGE + title + (figure.title_text and 2 * LINE or 0)
    local wide = (width - left - right - EDGE - gap_x * (figure.columns - 1)) / figure.columns
    local high = (height - top - bottom - gap_y * (figure.rows - 1)) / figure.rows
    if wide < 1 or high < 1 then return "" end -- no room: gnuplot's own places
    local from, above = left + column * (wide + gap_x), top + row * (high + gap_y)
    return ("set lmargin at screen %.6g\nset rmargin at screen %.6g\nset tmargin at screen %.6g\nset bmargin at screen "
            .. "%.6g\n"):format(from / width, (from + wide) / width, 1 - above / height, 1 - (above + high) / height)
end

return share
