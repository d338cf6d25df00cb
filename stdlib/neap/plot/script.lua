--- script.lua: a figure as what gnuplot reads: commands, and behind each plot command the bytes of its data.
--
-- Each axes begin by `reset`, so that nothing of the ones before is left. Ranges are computed here and not left to
-- gnuplot, which rounds them up to the next tick: 5 % of the data's extent stay free at each end, as in matplotlib,
-- but none around pictures and below bars.
local core = require "neap.core"
local dates = require "neap.plot.dates"
local figures = require "neap.plot.figure"
local layers = require "neap.plot.layers"
local ranges = require "neap.plot.ranges"
local share = require "neap.plot.share"
local script_text = require "neap.plot.text"
local styles = require "neap.plot.styles"
local ticks = require "neap.plot.ticks"

local raise = core.raise
local quote = script_text.quote
local script = {}

local FREE = 0.05
local abs = math.abs

-- ---- Ranges ---------------------------------------------------------------------------------------------------------

--- Ends of an axis from what its layers cover and what the user has set.
local function finish_range(axis, given, name)
    local low, high = axis.low, axis.high
    if low == nil then
        low, high = axis.log and 1 or 0, axis.log and 10 or 1
    elseif axis.log then
        local free = math.exp((math.log(high) - math.log(low)) * FREE) -- their quotient may be infinite
        if high == low then free = 2 end
        low, high = low / (axis.tight_low and 1 or free), high * (axis.tight_high and 1 or free)
    else
        local free = (high - low) * FREE
        if not (free > abs(high) * 1e-16 and free > 1e-300) then free = math.max(abs(high) * FREE, 0.05) end
        if high == low then axis.tight_low, axis.tight_high = nil, nil end
        low, high = low - (axis.tight_low and 0 or free), high + (axis.tight_high and 0 or free)
    end
    if given then
        if axis.log and ((given.low or 1) <= 0 or (given.high or 1) <= 0) then
            raise("plot." .. name, "limits of a logarithmic axis must be positive")
        end
        low, high, axis.cut = given.low or low, given.high or high, given.cut
        if given.low and given.high then axis.turned = nil end
    end
    low, high = math.max(low, axis.log and 1e-300 or -1e300), math.min(high, 1e300)
    if low > high then
        low, high, axis.turned = high, low, not axis.turned
    elseif low == high then
        low, high = low - 0.5, high + 0.5
    end
    axis.low, axis.high = low, high
end

--- "[low:high]", the other way round for an axis that is turned.
local function range_of(axis)
    if axis.turned then return ("[%.17g:%.17g]"):format(axis.high, axis.low) end
    return ("[%.17g:%.17g]"):format(axis.low, axis.high)
end

-- ---- The legend -----------------------------------------------------------------------------------------------------

-- gnuplot's places, each with the part of the axes' width and height that is left of and below the legend.
local CORNERS = { { "top right", 1, 1 }, { "top left", 0, 1 }, { "bottom left", 0, 0 }, { "bottom right", 1, 0 },
                  { "center right", 1, 0.5 }, { "center left", 0, 0.5 }, { "top center", 0.5, 1 },
                  { "bottom center", 0.5, 0 } }
local LETTER, LINE, SAMPLE = 7.5, 17, 65 -- pixels of a letter, of a line of the legend, and beside its letters

--- How much of the axes a legend takes, about: parts of its width and height. both: the axes and their twin.
local function legend_size(both, view)
    local titles, longest = 0, 0
    for _, axes in ipairs(both) do
        for _, layer in ipairs(axes.layers) do
            if layer.label then
                titles, longest = titles + 1, math.max(longest, #layer.label)
            end
        end
    end
    local width, height = view.width - 100, view.height - 90 -- without the margins
    return math.min((longest * LETTER + SAMPLE) * view.scale / math.max(width, 1), 1),
        math.min((titles + 1) * LINE * view.scale / math.max(height, 1), 1)
end

--- Counts points where a legend may stand (view.seen of all views); returns the function that tells which place has
-- the fewest.
local function observer(both, views)
    local counts, wide, high = {}, legend_size(both, views[1])
    for k = 1, #CORNERS do counts[k] = 0 end
    local function part(value, axis)
        local at
        if axis.log then
            at = (math.log(value) - math.log(axis.low)) / (math.log(axis.high) - math.log(axis.low))
        else
            at = (value - axis.low) / (axis.high - axis.low)
        end
        return axis.turned and 1 - at or at
    end
    for _, view in ipairs(views) do
        function view.seen(x, y)
            local a, b = part(x, view.x), part(y, view.y)
            for k, corner in ipairs(CORNERS) do
                local left, below = corner[2] * (1 - wide), corner[3] * (1 - high)
                if a >= left and a <= left + wide and b >= below and b <= below + high then
                    counts[k] = counts[k] + 1
                end
            end
        end
    end
    return function()
        local best = 1
        for k = 2, #CORNERS do
            if counts[k] < counts[best] then best = k end
        end
        return CORNERS[best][1]
    end
end

local function legend(out, axes, twin, view, best)
    local place = axes.legend_place or twin and twin.legend_place or "best"
    if not view.titles or place == "none" then
        out(view.mode == "frame" and "unset key\nunset colorbox\n" or "unset key\n")
        return
    end
    if place == "best" then place = axes.solid and "top right" or best() end
    if view.mode == "frame" then
        out "unset key\nunset colorbox\n" -- the legend is a line of its own
    elseif place == "outside" then
        out "set key outside right top Left reverse\n"
    else
        out(("set key %s opaque box lc rgb \"#cccccc\" Left reverse samplen 2.5 width 1 height 0.4 spacing 1.1\n")
            :format(place))
    end
end

-- ---- Marks ----------------------------------------------------------------------------------------------------------

-- Places are of the axis `first`, or, of y in twin axes, of `second` (view.place).
local MARKS = {}

--- The ends of what crosses the axes at a value of x or y.
local function ends_at(which, value, view)
    if which == "x" then return ("first %.17g, graph 0"):format(value), ("first %.17g, graph 1"):format(value) end
    return ("graph 0, %s %.17g"):format(view.place, value), ("graph 1, %s %.17g"):format(view.place, value)
end

local function rule(which)
    return function(out, mark, view)
        if mark.linestyle == "" or view.mode == "frame" then return end
        local from, to = ends_at(which, mark.at, view)
        out(("set arrow from %s to %s nohead back lw %.3g lc %s dt %s\n")
            :format(from, to, mark.linewidth * view.scale, script_text.color(mark), styles.dashes(mark.linestyle)))
    end
end
MARKS.x, MARKS.y = rule "x", rule "y"

local function band(which)
    return function(out, mark, view)
        if view.mode == "frame" then return end
        local axis = view[which]
        local low, high = math.min(mark.from, mark.to), math.max(mark.from, mark.to)
        if axis.log then
            if high <= 0 then return end
            low = math.max(low, axis.low) -- what begins at 0 or below begins at the edge
        end
        local from, _ = ends_at(which, low, view)
        local _, to = ends_at(which, high, view)
        out(("set object rectangle from %s to %s behind fc %s fs solid noborder\n")
            :format(from, to, script_text.color(mark)))
    end
end
MARKS.x_band, MARKS.y_band = band "x", band "y"

--- Whether a place lies outside of limits that keys have set (explore.lua). Those of a script leave texts beside axes.
local function is_cut(x, y, view)
    return view.x.cut and (x < view.x.low or x > view.x.high) or view.y.cut and (y < view.y.low or y > view.y.high)
end

function MARKS.text(out, mark, view)
    local tip = mark.tip or { mark.x, mark.y }
    if is_cut(mark.x, mark.y, view) or is_cut(tip[1], tip[2], view) then return end
    local size = mark.fontsize and script_text.font(mark.fontsize, view) or ""
    if mark.tip and view.mode ~= "frame" then
        out(("set arrow from first %.17g, %s %.17g to first %.17g, %s %.17g head filled front lw %.3g lc %s\n")
            :format(mark.x, view.place, mark.y, mark.tip[1], view.place, mark.tip[2], view.scale,
                    script_text.color(mark)))
    end
    out(("set label %s at first %.17g, %s %.17g %s front rotate by %.4g offset 0, %.2g tc %s%s\n")
        :format(quote(mark.text, view.enhanced), mark.x, view.place, mark.y, mark.align, mark.rotation, mark.lifted,
                script_text.color(mark), size))
end

-- ---- Axes -----------------------------------------------------------------------------------------------------------

--- What the layers of axes read and cover.
local function measure(axes, size)
    local x, y = axes.set.xscale, axes.set.yscale
    local box = { x = { log = x == "log", date = x == "date" }, y = { log = y == "log", date = y == "date" }, z = {},
                  colors = {}, width = size.width, height = size.height, scale = size.scale }
    local read = {}
    for k, layer in ipairs(axes.layers) do
        local kind = layers[layer.kind]
        if kind.solid then axes.solid = true end
        read[k] = kind.read(layer, box)
        kind.cover(read[k], layer, box)
    end
    for k, layer in ipairs(axes.layers) do
        if axes.solid and not layers[layer.kind].solid then
            raise("plot.show", "chart %d of the axes is flat, but others have three dimensions: give it its own", k)
        end
    end
    for _, mark in ipairs(axes.marks) do
        for _, value in ipairs(mark.covers or {}) do
            if not box[mark.along].log or value > 0 then ranges.include(box[mark.along], value, value) end
        end
    end
    for which, range in pairs(axes.common or {}) do ranges.widen(box[which], range) end
    return box, read
end

--- The size of each of a figure's axes, and the scale of lines and letters, where the figure has so many pixels.
local function size_of_axes(figure, width, height, scale, letters)
    return { width = math.ceil(width / figure.columns), height = math.ceil(height / figure.rows), scale = scale,
             letters = letters or 1 }
end

--- Makes the axes of several figures alike: axes at the same place cover the union of ranges. dpi: as of
-- figures.pixels.
function script.align(list, dpi)
    local common = {}
    for _, figure in ipairs(list) do
        local size = size_of_axes(figure, figures.pixels(figure, dpi))
        for k, axes in ipairs(figure.axes) do
            common[k] = common[k] or { x = {}, y = {}, z = {}, colors = {} }
            local box = measure(axes, size)
            for which, range in pairs(common[k]) do ranges.widen(range, box[which]) end
        end
    end
    for _, figure in ipairs(list) do
        for k, axes in ipairs(figure.axes) do
            axes.common = common[k]
            if (axes.legend_place or "best") == "best" then axes.legend_place = "top right" end
        end
    end
end

--- What axes and their twin, if there is one, read and cover; their x is one. { both, boxes, reads }.
local function measure_both(both, size)
    local boxes, reads = {}, {}
    for k, axes in ipairs(both) do boxes[k], reads[k] = measure(axes, size) end
    local first, second = boxes[1], boxes[2]
    if second then
        for k, layer in ipairs(both[2].layers) do
            if both[1].solid or both[2].solid or layer.map then
                raise("plot.show", "chart %d of the twin axes has colours by value or three dimensions: "
                      .. "such belong into axes of their own", k)
            end
        end
        if second.x.low then ranges.include(first.x, second.x.low, second.x.high) end
        second.x = first.x
    end
    return { both = both, boxes = boxes, reads = reads }
end

--- The same of axes of a figure by their numbers, of all or one, with the ends of all axes. size: of each, and scale.
local function measure_all(figure, one, size)
    local list, boxes = {}, {}
    for k = 1, figure.rows * figure.columns do
        if k == (one or k) or figure.share then
            local axes = figure.axes[k]
            list[k] = measure_both({ axes, figures.twin_of(axes) }, size)
            boxes[k] = list[k].boxes[1]
        end
    end
    if figure.share then share.ranges(figure, boxes) end
    for _, measured in pairs(list) do
        local first, second, set = measured.boxes[1], measured.boxes[2], measured.both[1].set
        if second then finish_range(second.y, measured.both[2].set.ylim, "ylim") end
        finish_range(first.x, set.xlim, "xlim")
        finish_range(first.y, set.ylim, "ylim")
        finish_range(first.z, set.zlim, "zlim")
    end
    return list
end

--- The ranges that axes of a figure show, by their numbers: { x, y, twin }, the last the y of twin axes; each has low
-- and high, log, date and turned.
function script.ranges(figure)
    local list = {}
    for k, measured in pairs(measure_all(figure, nil, size_of_axes(figure, figures.pixels(figure)))) do
        local first, second = measured.boxes[1], measured.boxes[2]
        list[k] = { x = first.x, y = first.y, twin = second and second.y }
    end
    return list
end

local function palette(out, axes, box, enhanced, room)
    if not box.map then return end
    local list = {}
    for k, color in ipairs(box.map) do list[k] = ("%d \"#%s\""):format(k - 1, color) end
    out(("set palette defined (%s)\n"):format(table.concat(list, ", ")))
    local low, high = box.colors.low, box.colors.high
    if low then
        if high <= low then low, high = low - 0.5, high + 0.5 end
        out(("set cbrange [%.17g:%.17g]\n"):format(low, high))
    end
    out(axes.has_colorbar and "set colorbox\nset format cb \"%h\"\n" or "unset colorbox\n")
    if low and room then ticks.linear(out, "cb", { low = low, high = high }, room) end
    if axes.colorbar_text then out(("set cblabel %s\n"):format(quote(axes.colorbar_text, enhanced))) end
end

local LABELS = 50 -- pixels that labels of y usually take

--- Pixels of a scale of 1 that x and y have, about: beside them are labels, a title and a bar of colours.
local function rooms_of(axes, twin, view)
    local left = twin and LABELS or 0
    local given = figures.ticks(axes, "y")
    if given then left = left + math.max(ticks.longest(given) * LETTER - LABELS, 0) end
    local titles = (axes.title_text and 30 or 0) + (axes.xlabel_text and 20 or 0)
    local rooms = { x = math.max(view.width / view.scale - (axes.has_colorbar and 170 or 100) - left, 1),
                    y = math.max(view.height / view.scale - 40 - titles, 1) }
    if view.equal and not view.x.log and not view.y.log then -- one of them is smaller
        local across, up = view.x.high - view.x.low, view.y.high - view.y.low
        local unit = math.min(rooms.x / across, rooms.y / up)
        rooms.x, rooms.y = unit * across, unit * up
    end
    return rooms
end

--- Pixels of a scale of 1 beside and above the frame of axes, on both sides together, about.
local function surroundings(axes, twin)
    if axes.hidden then return 40, 40 + (axes.title_text and 30 or 0) end
    local given = figures.ticks(axes, "y")
    local beside = 30 + (given and ticks.longest(given) * LETTER or 32) + (axes.ylabel_text and 20 or 0)
    beside = beside + (axes.has_colorbar and 70 or 0) + (twin and LABELS or 0)
    return beside, 55 + (axes.title_text and 30 or 0) + (axes.xlabel_text and 20 or 0)
end

local EDGE, CELL = 20, 4 -- pixels that texts leave free; of a character in the mode "frame"

--- A text beside axes as gnuplot reads it, small or short enough for the extent of the picture.
local function beside(text, size, extent, view)
    if view.mode then return quote(script_text.cut(text, math.floor(extent / CELL) - 2), view.enhanced) end
    local fitted, fitting = script_text.fitted(text, size, extent / view.scale - EDGE, view.enhanced)
    return quote(fitted, view.enhanced) .. script_text.font(fitting, view)
end

--- The range, the text and the ticks of an axis: x, y, z, or y2. given: ticks that the user has set, or names.
local function write_axis(out, what, axis, label, given, view, room)
    local enhanced = view.enhanced
    local function label_below(lines) -- of ticks, of which gnuplot counts the first alone
        if lines == 2 then label = "\n" .. (label or " ") end
        if not label then return end
        local text = beside(label, 10, what == "x" and view.width or view.height, view)
        out(("set %slabel %s%s\n"):format(what, text, what == "z" and " rotate parallel" or ""))
    end
    out(("set %srange %s noextend\n"):format(what, range_of(axis)))
    local lines = 1
    if given then
        if axis.log then out(("set logscale %s\n"):format(what)) end
        ticks.given(out, what, given, enhanced, axis, room)
    elseif axis.log then
        ticks.logarithmic(out, what, axis)
    else
        lines = axis.date and dates.ticks(out, what, axis, room)
        if not lines and room then ticks.linear(out, what, axis, room) end
    end
    label_below(lines)
end

--- Takes the labels from ticks.
local function without_labels(given)
    local list = {}
    for k, tick in ipairs(given or {}) do list[k] = { place = tick.place, label = "" } end
    return given and list
end

local function frame(out, axes, twin, boxes, view, rooms)
    local enhanced, box = view.enhanced, boxes[1]
    for _, what in ipairs(axes.solid and { "x", "y", "z" } or { "x", "y" }) do
        local label = axes[what .. "label_text"] or what == "x" and twin and twin.xlabel_text
        if what == "y" and view.mode == "frame" then label = nil end -- cells.lua writes it
        local given = figures.ticks(axes, what)
        if view.mode or not axes.figure.share or share.has_labels(axes.figure, what, axes.place) then
            write_axis(out, what, box[what], label, given, view, rooms[what])
        else
            box[what].date = nil
            write_axis(out, what, box[what], nil, without_labels(given), view, rooms[what])
            out(("set format %s \"\"\n"):format(what))
        end
    end
    if twin then
        local label = twin.ylabel_text
        out "set y2tics\n"
        if view.mode == "frame" then -- of characters: ticks inside leave the frame plain, and the text lies
            out(("set y2tics in\nset rmargin %d\n"):format(8 + #(label or "")))
            if label then out(("set y2label %s offset 7\n"):format(quote(label, enhanced))) end
            label = nil
        end
        write_axis(out, "y2", boxes[2].y, label, figures.ticks(twin, "y"), view, rooms.y)
    end
    local title = axes.title_text or twin and twin.title_text
    if title then out(("set title %s offset 0,-0.5\n"):format(beside(title, 12, view.width, view))) end
    if axes.has_grid and view.mode ~= "frame" then
        out(("set grid xtics ytics lc rgb \"#d0d0d0\" lt 1 lw %.3g\n"):format(0.8 * view.scale))
    end
    if axes.aspect == "equal" and not axes.solid then out "set size ratio -1\n" end
    if axes.hidden then out(view.mode == "frame" and "unset tics\n" or "unset border\nunset tics\n") end
    if axes.solid then
        out(("set view %.6g, %.6g, %.6g\nset xyplane relative 0\nset border 4095\nset ztics\n")
            :format((90 - (axes.elev or figures.ELEV)) % 360, (90 + (axes.azim or figures.AZIM)) % 360,
                    axes.near or 1))
    end
end

-- The size of points where a character is 2 x 4 pixels: a point of the default size is one or two dots.
local DOT = 0.12

-- What "cells" leave: the data alone, from edge to edge.
local BARE = "unset key\nunset border\nunset tics\nunset colorbox\nunset title\nunset xlabel\nunset ylabel\n"
    .. "unset y2label\nunset label\nset size noratio\nset lmargin 0\nset rmargin 0\nset tmargin 0\nset bmargin 0\n"

--- The clauses of all layers, those of twin axes on the right axis, and the longest cap of their error bars.
local function clauses_of(both, reads, views)
    local clauses, cap = {}, 0
    for j, axes in ipairs(both) do
        for k, layer in ipairs(axes.layers) do
            cap = math.max(cap, layer.capsize or 0)
            for _, clause in ipairs(layers[layer.kind].draw(reads[j][k], layer, views[j])) do
                if j == 2 then clause.text = clause.text .. " axes x1y2" end
                clauses[#clauses + 1] = clause
            end
        end
    end
    return clauses, cap
end

--- Writes the commands of axes that get so many pixels by out, and data by out_data. measured: as `measure_all` gives
-- it; place: words that give the axes their place; mode: see script.of.
local function write_axes(out, out_data, measured, size, place, mode)
    local both, boxes, width, height, scale = measured.both, measured.boxes, size.width, size.height, size.scale
    local axes, twin, views = both[1], both[2], {}
    local enhanced = axes.figure.enhanced
    for k, box in ipairs(boxes) do
        local sides, above = surroundings(axes, twin)
        views[k] = { x = box.x, y = box.y, colors = box.colors, width = width, height = height, scale = scale,
                     letters = size.letters or 1, beside = sides, above = above, enhanced = enhanced, mode = mode,
                     point_scale = mode == "cells" and DOT * scale or scale, place = k == 1 and "first" or "second",
                     equal = axes.aspect == "equal", has_twin = twin ~= nil }
    end
    -- gnuplot would put a white disc below the point of an error bar.
    out(("reset\nset pointintervalbox 0.0001\nset tics out nomirror\nset border 15 lw %.3g\n"):format(0.8 * scale))
    local best = observer(both, views)
    local clauses, cap = clauses_of(both, measured.reads, views)
    for _, clause in ipairs(clauses) do
        for _, part in ipairs(clause.table or {}) do out_data(part) end
    end
    local rooms = not axes.solid and not mode and rooms_of(axes, twin, views[1]) or {}
    palette(out, axes, boxes[1], enhanced, rooms.y)
    frame(out, axes, twin, boxes, views[1], rooms)
    out(place)
    out(("set errorbars %.3g\n"):format(cap / 5))
    views[1].titles = views[1].titles or twin and views[2].titles
    legend(out, axes, twin, views[1], best)
    local count = 0
    for k, own in ipairs(both) do
        count = count + #own.layers
        for _, mark in ipairs(own.marks) do MARKS[mark.kind](out, mark, views[k]) end
    end
    if mode == "cells" then out(BARE) end
    if #clauses == 0 and count > 0 and mode ~= "cells" then
        out "set label \"no data\" at graph 0.5, graph 0.5 center tc rgb \"#808080\"\n"
    end
    for _, clause in ipairs(clauses) do
        if clause.before then out(clause.before) end
        if clause.labels and mode ~= "cells" then out(clause.labels) end
    end
    if mode == "frame" and not axes.solid then
        out(twin and "plot NaN notitle, NaN axes x1y2 notitle\n" or "plot NaN notitle\n")
        return
    end
    local parts = {}
    for k, clause in ipairs(clauses) do parts[k] = clause.text end
    out((axes.solid and "splot " or "plot ") .. (parts[1] and table.concat(parts, ", ") or "NaN notitle") .. "\n")
    for _, clause in ipairs(clauses) do out_data(clause.data) end
end

--- A function that puts texts behind those of a list, as `change` makes them, if it is there.
local function into(list, change)
    return function(part) list[#list + 1] = change and change(part) or part end
end

--- The commands that draw a figure on the terminal that was set before: a list of texts. scale: of lines and letters;
-- change: makes other texts of the commands, which are UTF-8, or nil; letters: what the terminal calls a point (1).
function script.of(figure, width, height, scale, change, letters)
    local list = {}
    local out, out_data = into(list, change), into(list)
    out "set encoding utf8\n"
    local several = figure.rows * figure.columns > 1 or figure.title_text
    if several then
        local view = { scale = scale, letters = letters or 1, enhanced = figure.enhanced }
        local title = figure.title_text and " title " .. beside(figure.title_text, 14, width, view) or ""
        out(("set multiplot layout %d,%d rowsfirst%s\n"):format(figure.rows, figure.columns, title))
    end
    local size = size_of_axes(figure, width, height, scale, letters)
    local list_of_axes = measure_all(figure, nil, size)
    for k = 1, figure.rows * figure.columns do
        local place = figure.share and share.margins(figure, k, width / scale, height / scale) or ""
        write_axes(out, out_data, list_of_axes[k], size, place)
    end
    if several then out "unset multiplot\n" end
    return list
end

--- The same of single axes, for pictures of characters. mode: "frame": what is around the data, and texts among it, but
-- no legend; of three dimensions the data too; "cells": the data alone, from edge to edge; nil: as script.of.
function script.of_axes(axes, width, height, scale, mode)
    local list = { "set encoding utf8\n" }
    local size = { width = width, height = height, scale = scale }
    local measured = measure_all(axes.figure, axes.place, size)[axes.place]
    write_axes(into(list), into(list), measured, size, "", mode)
    return list
end

jit.off(write_axes)
jit.off(measure_both, true)
jit.off(script.align)
jit.off(measure_all)
jit.off(script.ranges)
jit.off(script.of)

return script
