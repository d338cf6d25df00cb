--- layers.lua: how each kind of layer becomes clauses of gnuplot's plot command, and what it covers.
--
-- A kind has three functions, called in this order when a picture is drawn:
--
--     read(layer, box) -> p            its arrays as columns of doubles (waits), in a table of its own
--     cover(p, layer, box)             enlarges the box by what it covers; box.x and box.y: { low, high, log }, and
--                                      `tight`: nothing is left free at that end
--     draw(p, layer, view) -> clauses  { text, data, before, labels, table }: `text` goes into the command, `data`
--                                      behind it; `before` is a command of its own, `labels` are those of texts;
--                                      `table`: commands and data that come before anything is said of the axes
--
-- view: { x, y = { low, high, log }, width, height in pixels, scale = of lines and letters, point_scale = of points,
-- seen = a function that notes points, so that the legend does not hide them }.
local ffi = require "ffi"
local core = require "neap.core"
local columns = require "neap.plot.columns"
local dates = require "neap.plot.dates"
local grids = require "neap.plot.grids"
local ranges = require "neap.plot.ranges"
local raster = require "neap.plot.raster"
local script_text = require "neap.plot.text"
local shapes = require "neap.plot.shapes"
local styles = require "neap.plot.styles"

local np = core.np
local layers = {}

local doubles, bounds, rows = columns.doubles, columns.bounds, columns.rows
local include, include_column, cover_colors = ranges.include, ranges.include_column, ranges.cover_colors

local function binary(wide, n)
    return ("'-' binary record=(%d) format='%s' using %s"):format(n, ("%float64"):rep(wide),
                                                                 ({ "1", "1:2", "1:2:3", "1:2:3:4", "1:2:3:4:5",
                                                                    "1:2:3:4:5:6", "1:2:3:4:5:6:7" })[wide])
end

local color_of, title_of = script_text.color, script_text.title

local function line_words(layer, view)
    return ("lw %.3g dt %s"):format(layer.linewidth * view.scale, styles.dashes(layer.linestyle) or "solid")
end

local function point_words(number, size, view)
    return ("pt %d ps %.3g"):format(number, size * view.point_scale)
end

--- Tells the legend of some of the points of two columns.
local function note_points(view, x, y, n)
    local step = math.max(1, math.floor(n / 400))
    for k = 0, n - 1, step do view.seen(x[k], y[k]) end
end

-- ---- Lines ----------------------------------------------------------------------------------------------------------

local function read_xy(layer)
    local p = {}
    p.x, p.n = doubles(layer.data.x)
    p.y = doubles(layer.data.y)
    return p
end

local function cover_xy(p, _, box)
    include_column(box.x, p.x, p.n)
    include_column(box.y, p.y, p.n)
end

--- The style of a line with markers, or one of both; nil: neither.
local function path_style(layer, view)
    local line, marker = layer.linestyle ~= "", layer.marker
    local words = { marker and line and layer.draw == "lines" and "with linespoints" or line and "with " .. layer.draw
                    or "with points" }
    if line then words[#words + 1] = line_words(layer, view) end
    if marker then
        words[#words + 1] = point_words(marker, layer.markersize / 6 * layer.marker_factor, view)
        if not line then words[#words + 1] = ("lw %.3g"):format(layer.linewidth * view.scale) end
    end
    return (line or marker) and table.concat(words, " ") or nil
end

local function draw_path(p, layer, view)
    local style = path_style(layer, view)
    if not style or p.n == 0 or not bounds(p.y, p.n, view.y.log) or not bounds(p.x, p.n, view.x.log) then return {} end
    note_points(view, p.x, p.y, p.n)
    local kept, count
    if layer.draw == "lines" or layer.linestyle == "" then
        kept, count = columns.thin_line(p.x, p.y, p.n, view, view.width, view.height)
    end
    local data, n = rows({ p.x, p.y }, p.n, kept, count)
    return { { text = ("%s %s lc %s %s"):format(binary(2, n), style, color_of(layer), title_of(layer, view)),
               data = data } }
end

layers.line = { read = read_xy, cover = cover_xy, draw = draw_path }

layers.fill = {
    read = function(layer)
        local p = {}
        p.x, p.n = doubles(layer.data.x)
        p.low, p.high = doubles(layer.data.y1), doubles(layer.data.y2)
        return p
    end,
    cover = function(p, _, box)
        include_column(box.x, p.x, p.n)
        include_column(box.y, p.low, p.n)
        include_column(box.y, p.high, p.n)
    end,
    draw = function(p, layer, view)
        if p.n == 0 or not bounds(p.low, p.n) or not bounds(p.high, p.n) then return {} end
        note_points(view, p.x, p.high, p.n)
        local data, n = rows({ p.x, p.low, p.high }, p.n, columns.thin_line(p.x, p.high, p.n, view, view.width,
                                                                           view.height))
        return { { text = ("%s with filledcurves fs solid noborder fc %s %s")
                     :format(binary(3, n), color_of(layer), title_of(layer, view)), data = data } }
    end,
}

--- On a logarithmic axis what begins at 0 or below begins at the edge of the picture.
local function lift(column, n, axis)
    for k = 0, n - 1 do
        if axis.log and column[k] <= 0 then column[k] = axis.low end
    end
end

local ERRORS = { x = "xerrorbars", y = "yerrorbars" }

--- The rows of columns that are all finite: copies of the columns, and how many rows there are.
local function finite_rows(given, n)
    local kept, count = {}, 0
    for j = 1, #given do kept[j] = ffi.new("double[?]", n) end
    for k = 0, n - 1 do
        local sum = 0
        for j = 1, #given do sum = sum + given[j][k] * 0 end -- NaN where one is not finite
        if sum == 0 then
            for j = 1, #given do kept[j][count] = given[j][k] end
            count = count + 1
        end
    end
    return kept, count
end

--- What a unit of the width of bars is on an axis: 1, or a day where it has dates.
local function width_unit(axis)
    return axis.date and dates.DAY or 1
end

layers.errorbar = {
    read = function(layer, box)
        local p = read_xy(layer)
        for which, offset in pairs(layer.offset or {}) do -- of the errors of bars
            offset = offset * width_unit(box[which])
            for k = 0, p.n - 1 do p[which][k] = p[which][k] + offset end
        end
        for _, axis in ipairs { "x", "y" } do
            if layer.data[axis .. "_below"] then
                local below, above = doubles(layer.data[axis .. "_below"]), doubles(layer.data[axis .. "_above"])
                for k = 0, p.n - 1 do
                    below[k], above[k] = p[axis][k] - below[k], p[axis][k] + above[k]
                end
                p[axis .. "_low"], p[axis .. "_high"] = below, above
            end
        end
        return p
    end,
    cover = function(p, _, box)
        cover_xy(p, nil, box)
        for _, axis in ipairs { "x", "y" } do
            if p[axis .. "_low"] then
                include_column(box[axis], p[axis .. "_low"], p.n)
                include_column(box[axis], p[axis .. "_high"], p.n)
            end
        end
    end,
    draw = function(p, layer, view)
        local path = draw_path(p, layer, view)
        local list = {}
        for _, axis in ipairs { "x", "y" } do
            if p[axis .. "_low"] and p.n > 0 then
                lift(p[axis .. "_low"], p.n, view[axis])
                local bars, count = finite_rows({ p.x, p.y, p[axis .. "_low"], p[axis .. "_high"] }, p.n)
                local title = path[1] and "notitle" or title_of(layer, view)
                if count > 0 then
                    list[#list + 1] = { text = ("%s with %s ps 0.0001 lw %.3g lc %s %s")
                                            :format(binary(4, count), ERRORS[axis], layer.linewidth * view.scale,
                                                    color_of(layer), title), data = rows(bars, count) }
                end
            end
        end
        list[#list + 1] = path[1]
        return list
    end,
}

-- ---- Points ---------------------------------------------------------------------------------------------------------

local function read_points(layer)
    local p = read_xy(layer)
    for _, name in ipairs { "z", "c", "s" } do
        if layer.data[name] then p[name] = doubles(layer.data[name]) end
    end
    if p.s then
        for k = 0, p.n - 1 do p.s[k] = math.sqrt(math.max(p.s[k], 0)) / 6 * layer.marker_factor end
    end
    return p
end

local function draw_points(p, layer, view, list, kept, count)
    local size = math.sqrt(layer.size) / 6 * layer.marker_factor
    if not p.z and raster.is_wanted(count or p.n, layer, view) then
        local words = point_words(layer.marker, p.s and 1 or size, view)
        return { raster.clause(p, layer, view, p.s or size, ("%s %s %s"):format(
            words, p.c and "lc palette" or "lc " .. color_of(layer), title_of(layer, view))) }
    end
    local style = { layer.data.s and "pt " .. layer.marker .. " ps variable" or point_words(layer.marker, size, view) }
    if p.s then
        list[#list + 1] = p.s
        if view.point_scale ~= 1 then
            for k = 0, p.n - 1 do p.s[k] = p.s[k] * view.point_scale end
        end
    end
    if p.c then list[#list + 1] = layer.alpha == 1 and p.c or ranges.shaded(p.c, p.n, layer, view) end
    style[2] = p.c and (layer.alpha == 1 and "lc palette" or "lc rgb variable") or "lc " .. color_of(layer)
    local data, n = rows(list, p.n, kept, count)
    if n == 0 then return {} end
    local with_palette = p.c and layer.alpha ~= 1 and ", NaN with points palette notitle" or "" -- for the colour bar
    return { { text = ("%s with points %s %s%s"):format(binary(#list, n), table.concat(style, " "),
                                                        title_of(layer, view), with_palette), data = data } }
end

layers.points = {
    read = read_points,
    cover = function(p, layer, box)
        cover_xy(p, layer, box)
        if p.c then cover_colors(p.c, p.n, layer, box) end
    end,
    draw = function(p, layer, view)
        if p.n == 0 or not bounds(p.x, p.n, view.x.log) or not bounds(p.y, p.n, view.y.log) then return {} end
        note_points(view, p.x, p.y, p.n)
        local kept, count
        if not p.c and not p.s then
            kept, count = columns.thin_points(p.x, p.y, p.n, view, view.width, view.height, layer.alpha)
        end
        return draw_points(p, layer, view, { p.x, p.y }, kept, count)
    end,
}

layers.points3d = {
    solid = true, -- drawn by splot
    read = read_points,
    cover = function(p, layer, box)
        cover_xy(p, layer, box)
        include_column(box.z, p.z, p.n)
        if p.c then cover_colors(p.c, p.n, layer, box) end
    end,
    draw = function(p, layer, view)
        if p.n == 0 then return {} end
        return draw_points(p, layer, view, { p.x, p.y, p.z })
    end,
}

-- ---- Bars -----------------------------------------------------------------------------------------------------------

local function boxes(p, layer, view)
    if p.n == 0 or not bounds(p.y_high, p.n) then return {} end
    for k = 0, p.n - 1, math.max(1, math.floor(p.n / 100)) do
        for part = 0, 4 do
            view.seen(p.x[k], p.y_low[k] + (p.y_high[k] - p.y_low[k]) * part / 4)
            if layer.across then view.seen(p.x_low[k] + (p.x_high[k] - p.x_low[k]) * part / 4, p.y[k]) end
        end
    end
    local edge = layer.edge and ("border lc rgb \"#%s\""):format(layer.edge) or "noborder"
    local list, fill = { p.x, p.y, p.x_low, p.x_high, p.y_low, p.y_high }, "fc " .. color_of(layer)
    if layer.colors then
        list[7], fill = columns.new(p.n), "lc rgb variable"
        local through = math.floor((1 - layer.alpha) * 255 + 0.5) * 2 ^ 24
        for k = 0, p.n - 1 do list[7][k] = through + tonumber(layer.colors[k + 1], 16) end
    end
    return { { text = ("%s with boxxyerror fs solid 1.0 %s %s lw %.3g %s")
                 :format(binary(#list, p.n), edge, fill, 0.7 * view.scale, title_of(layer, view)),
               data = rows(list, p.n) } }
end

--- Where boxes begin on an axis: 0, on a logarithmic one below all.
local function cover_boxes(p, layer, box)
    for _, axis in ipairs { "x", "y" } do
        include_column(box[axis], p[axis .. "_low"], p.n)
        include_column(box[axis], p[axis .. "_high"], p.n)
    end
    local along = layer.across and box.x or box.y
    if not along.log and along.low == 0 then along.tight_low = true end
    if not along.log and along.high == 0 then along.tight_high = true end
end

layers.bars = {
    read = function(layer, box)
        local p, unit = {}, width_unit(layer.across and box.y or box.x)
        local place, height
        place, p.n = doubles(layer.data.x)
        height = doubles(layer.data.height)
        local base = layer.data.bottom and doubles(layer.data.bottom)
        local low, high, from, to, middle = columns.new(p.n), columns.new(p.n), columns.new(p.n), columns.new(p.n),
            columns.new(p.n)
        for k = 0, p.n - 1 do
            local first = base and base[k] or 0
            from[k], to[k] = first, first + height[k]
            low[k], high[k] = place[k] + layer.from * unit, place[k] + (layer.from + layer.wide) * unit
            middle[k] = (low[k] + high[k]) / 2
        end
        if layer.across then
            p.x_low, p.x_high, p.y_low, p.y_high, p.x, p.y = from, to, low, high, to, middle
        else
            p.x_low, p.x_high, p.y_low, p.y_high, p.x, p.y = low, high, from, to, middle, to
        end
        return p
    end,
    cover = cover_boxes,
    draw = function(p, layer, view)
        local axis = layer.across and "x" or "y"
        lift(p[axis .. "_low"], p.n, view[axis])
        return boxes(p, layer, view)
    end,
}

layers.hist = {
    read = function(layer)
        local p = {}
        p.y, p.n = doubles(layer.data.counts)
        local edges = doubles(layer.data.edges)
        p.x_low, p.x_high, p.x = columns.new(p.n), columns.new(p.n), columns.new(p.n)
        p.y_low, p.y_high = columns.new(p.n), p.y
        for k = 0, p.n - 1 do
            p.x_low[k], p.x_high[k], p.x[k] = edges[k], edges[k + 1], (edges[k] + edges[k + 1]) / 2
            p.y_low[k] = 0
        end
        return p
    end,
    cover = cover_boxes,
    draw = function(p, layer, view)
        local _, most = bounds(p.y, p.n)
        if most == 0 then return {} end
        lift(p.y_low, p.n, view.y)
        if not layer.outline then return boxes(p, layer, view) end
        if p.n == 0 then return {} end
        local x, y = columns.new(2 * p.n + 2), columns.new(2 * p.n + 2)
        x[0], y[0], x[2 * p.n + 1], y[2 * p.n + 1] = p.x_low[0], p.y_low[0], p.x_high[p.n - 1], p.y_low[p.n - 1]
        for k = 0, p.n - 1 do
            x[2 * k + 1], x[2 * k + 2], y[2 * k + 1], y[2 * k + 2] = p.x_low[k], p.x_high[k], p.y[k], p.y[k]
        end
        note_points(view, x, y, 2 * p.n + 2)
        local data, n = rows({ x, y }, 2 * p.n + 2)
        return { { text = ("%s with lines lw %.3g lc %s %s")
                     :format(binary(2, n), layer.linewidth * view.scale, color_of(layer), title_of(layer, view)),
                   data = data } }
    end,
}

-- ---- Pictures -------------------------------------------------------------------------------------------------------

local SHARPER = 2 -- of an image are read this many pixels for each of the picture, at most

--- Every so many rows and columns of an image that has more than can be seen, as matplotlib's "nearest".
local function sparse(x, width, height)
    local down = math.max(1, math.floor(x.shape[1] / (SHARPER * height)))
    local across = math.max(1, math.floor(x.shape[2] / (SHARPER * width)))
    if down == 1 and across == 1 then return x end
    return x[{ { 0, x.shape[1], down }, { 0, x.shape[2], across } }]
end

--- Where the pixels are: the centre of the first, and steps; and the pixels, turned so that these grow.
local function image_place(x, layer)
    local high, wide = layer.data.x.shape[1], layer.data.x.shape[2]
    local e = layer.extent
    if not e then
        e = layer.upper and { -0.5, wide - 0.5, high - 0.5, -0.5 } or { -0.5, wide - 0.5, -0.5, high - 0.5 }
    end
    local left, right, bottom, top = e[1], e[2], e[3], e[4]
    local first_down = layer.upper and top or bottom -- where row 0 is
    local last_down = layer.upper and bottom or top
    if first_down > last_down then x = np.flip(x, 0) end
    if left > right then x = np.flip(x, 1) end
    for axis = 0, 1 do -- gnuplot draws nothing of a single row or column
        if x.shape[axis + 1] == 1 then x = np.repeat_(x, 2, { axis = axis }) end
    end
    local dx, dy = math.abs(right - left) / x.shape[2], math.abs(top - bottom) / x.shape[1]
    local words = ("origin=(%.17g,%.17g) dx=%.17g dy=%.17g"):format(math.min(left, right) + dx / 2,
                                                                  math.min(top, bottom) + dy / 2, dx, dy)
    return x, words
end

local function cover_image(p, layer, box)
    local high, wide = layer.data.x.shape[1], layer.data.x.shape[2]
    if high == 0 or wide == 0 then return end
    local e = layer.extent
    local left, right, bottom, top
    if e then
        left, right, bottom, top = e[1], e[2], e[3], e[4]
    elseif layer.upper then
        left, right, bottom, top = -0.5, wide - 0.5, high - 0.5, -0.5
    else
        left, right, bottom, top = -0.5, wide - 0.5, -0.5, high - 0.5
    end
    include(box.x, math.min(left, right), math.max(left, right))
    include(box.y, math.min(bottom, top), math.max(bottom, top))
    box.x.turned, box.y.turned = left > right, bottom > top
    for _, axis in ipairs { box.x, box.y } do axis.tight_low, axis.tight_high = true, true end
    if p.values then cover_colors(p.values, p.n, layer, box) end
end

local function cell_labels(p, layer, view)
    local high, wide = layer.data.x.shape[1], layer.data.x.shape[2]
    local list = {}
    local low, span = view.colors.low or 0, math.max((view.colors.high or 1) - (view.colors.low or 0), 1e-300)
    for r = 0, high - 1 do
        for c = 0, wide - 1 do
            local value = p.values[r * wide + c]
            if value == value then
                local shade = styles.brightness(layer.map, (value - low) / span)
                list[#list + 1] = ("set label %s at first %d, first %d center front tc rgb \"%s\"\n")
                    :format(script_text.quote(layer.cell_format:format(value), view.enhanced), c, r,
                            shade > 0.5 and "#000000" or "#ffffff")
            end
        end
    end
    return table.concat(list)
end

layers.image = {
    read = function(layer)
        local p = {}
        p.values, p.n = doubles(layer.data.x)
        return p
    end,
    cover = cover_image,
    draw = function(p, layer, view)
        if p.n == 0 or not bounds(p.values, p.n) then return {} end
        local x, place = image_place(sparse(layer.data.x, view.width, view.height), layer)
        local words, data = ranges.colored(doubles(x), x.size, layer, view)
        return { { labels = layer.cell_format and cell_labels(p, layer, view),
                   text = ("'-' binary array=(%d,%d) %s"):format(x.shape[2], x.shape[1], words:format(place)),
                   data = data } }
    end,
}

--- Pixels from 0 to 255 of an array that may be one of numbers from 0 to 1.
local function as_bytes(x)
    if x.dtype == "u8" then return x end
    if x.dtype == "u16" then return np.astype(np.floor_divide(x, 257), "u8") end
    if x.dtype:find "^[iu]" then return np.astype(np.clip(x, 0, 255), "u8") end
    local good = np.clip(np.nan_to_num(np.astype(x, "f32")), 0, 1)
    return np.astype(np.round(good * 255), "u8")
end

--- Pixels of bytes that let something through, beside what they do already.
local function let_through(x, alpha)
    local own = np.full({ x.shape[1], x.shape[2], 1 }, 255)
    if x.shape[3] == 4 then own = np.astype(x[{ {}, {}, { 3, 4 } }], "f32") end
    return np.concatenate({ x[{ {}, {}, { 0, 3 } }], np.astype(np.round(own * alpha), "u8") }, { axis = 2 })
end

layers.pixels = {
    read = function() return {} end,
    cover = cover_image,
    draw = function(_, layer, view)
        local x, place = image_place(sparse(layer.data.x, view.width, view.height), layer)
        if x.size == 0 then return {} end
        x = as_bytes(x)
        if layer.alpha ~= 1 then x = let_through(x, layer.alpha) end
        local channels = x.shape[3]
        local alpha = channels == 4
        return { { text = ("'-' binary array=(%d,%d) format='%s' %s using %s with %s notitle")
                     :format(x.shape[2], x.shape[1], ("%uchar"):rep(channels), place, alpha and "1:2:3:4"
                             or "1:2:3", alpha and "rgbalpha" or "rgbimage"),
                   data = ffi.string(core.data(x), x.size) } }
    end,
}

for _, more in ipairs { grids, shapes } do
    for kind, layer in pairs(more) do
        if type(layer) == "table" then layers[kind] = layer end
    end
end

for _, kind in pairs(layers) do
    if type(kind) == "table" then
        for _, f in pairs(kind) do
            if type(f) == "function" then jit.off(f) end
        end
    end
end

return layers
