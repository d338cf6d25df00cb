--- charts.lua: what each kind of chart takes, checked when it is added; layers.lua has how they are drawn.
--
-- A chart is a function of axes and the arguments that the user gave, which appends a layer:
--     { kind, data = { name = array }, color, label, … }.
-- The axes are a draft (figure.lua): what was changed of them is dropped where the chart raises.
-- `data` holds all arrays, which may not have been computed, or belong to a trace.
local core = require "neap.core"
local columns = require "neap.plot.columns"
local figures = require "neap.plot.figure"
local looks = require "neap.plot.looks"
local names = require "neap.plot.names"
local styles = require "neap.plot.styles"

local np = core.np
local is_array, raise, bad_argument = core.is_array, core.raise, core.bad_argument
local number, look, add, color_scale = looks.number, looks.look, looks.add, looks.color_scale
local charts = {}

-- ---- Lines ----------------------------------------------------------------------------------------------------------

--- Splits (y), (x, y), (x, y, format), each with options behind: x or nil, y, the format's fields, the options.
local function line_arguments(name, a, b, c, d)
    local x, y, format, options = nil, a, nil, nil
    local list = { b, c, d }
    local n = d ~= nil and 3 or c ~= nil and 2 or b ~= nil and 1 or 0
    for k = 1, n do
        local value = list[k]
        local plain = type(value) == "table" and not is_array(value) and not getmetatable(value)
        local data = is_array(value) or type(value) == "number" or type(value) == "userdata"
        if k == 1 and (data or plain and (#value > 0 or next(value) == nil)) then
            x, y = a, value
        elseif type(value) == "string" and not format and not options then
            format = value
        elseif value ~= nil and not options then
            options = value
        elseif value ~= nil then
            core.too_many(name, k, value)
        end
    end
    return x, y, format and styles.format(name, format) or {}, options
end

local line_options = { color = true, linestyle = true, linewidth = true, marker = true, markersize = true, label = true,
                       alpha = true, drawstyle = true, hue = true }
local DRAW_STYLES = { default = "lines", ["steps-pre"] = "fsteps", ["steps-post"] = "steps", ["steps-mid"] = "histeps",
                      steps = "fsteps" }

--- Fields of a layer for its line and its markers.
local function line_look(name, layer, o, format)
    layer.linestyle = styles.line(name, "linestyle", o.linestyle or format.linestyle or "-")
    layer.marker, layer.marker_factor = styles.marker(name, "marker", o.marker or format.marker or "none")
    layer.markersize = number(name, "markersize", o.markersize, 6, 0, 1000)
    layer.draw = DRAW_STYLES[o.drawstyle or "default"]
    if not layer.draw then
        bad_argument(name, nil, "drawstyle", '"default", "steps-pre", "steps-mid" or "steps-post"', o.drawstyle)
    end
    return layer
end

--- x and y of lines: x of one axis, y of one axis, or of two whose columns are lines.
local function line_data(axes, name, x, y)
    y = names.places(axes, name, x == nil and 1 or 2, "y", "y", y)
    if y.ndim == 0 then y = y:reshape(1) end
    if y.ndim > 2 then raise(name, "y has one axis, or two for a line a column, got shape %s", core.shape_text(y)) end
    local n = y.shape[1]
    if x == nil then
        x = np.arange(n)
    else
        x = names.vector(axes, name, 1, "x", x)
    end
    if x.size ~= n then
        raise(name, "x and y must have as many elements as each other, got %d and %d", x.size, n)
    end
    return x, y
end

local function add_line(axes, name, x, y, format, o)
    local layer = line_look(name, look(axes, name, "line", o, format.color), o, format)
    layer.data.x, layer.data.y = x, y
    add(axes, layer)
end

local function add_lines(axes, name, x, y, format, o)
    x, y = line_data(axes, name, x, y)
    if y.ndim == 1 then
        names.each(axes, name, o, y.size, function(mine, pick)
            add_line(axes, name, pick(x), pick(y), format, looks.of_one(name, mine, 1, 1))
        end)
        return
    end
    if o.hue ~= nil then raise(name, "option 'hue' needs y of one axis, got shape %s", core.shape_text(y)) end
    for k = 1, y.shape[2] do
        add_line(axes, name, x, y[{ {}, k - 1 }], format, looks.of_one(name, o, k, y.shape[2]))
    end
end

local function plain_lines(axes, name, a, b, c, d)
    local x, y, format, options = line_arguments(name, a, b, c, d)
    add_lines(axes, name, x, y, format, core.options(name, options, line_options))
end

function charts.line(axes, a, b, c, d) plain_lines(axes, "plot.line", a, b, c, d) end

local WHERE = { pre = "steps-pre", post = "steps-post", mid = "steps-mid" }
local step_options = { where = true }
for key in pairs(line_options) do step_options[key] = true end

function charts.step(axes, a, b, c, d)
    local x, y, format, options = line_arguments("plot.step", a, b, c, d)
    local o = core.options("plot.step", options, step_options)
    local mine = looks.copied(o)
    mine.drawstyle = WHERE[o.where or "pre"]
    if not mine.drawstyle then bad_argument("plot.step", nil, "where", '"pre", "mid" or "post"', o.where) end
    add_lines(axes, "plot.step", x, y, format, mine)
end

for which, scales in pairs { semilogx = { x = true }, semilogy = { y = true }, loglog = { x = true, y = true } } do
    charts[which] = function(axes, a, b, c, d)
        plain_lines(axes, "plot." .. which, a, b, c, d)
        if scales.x then axes.set.xscale = "log" end
        if scales.y then axes.set.yscale = "log" end
    end
end

local fill_options = { color = true, alpha = true, label = true, linewidth = true }

function charts.fill_between(axes, x, y1, y2, options)
    local name = "plot.fill_between"
    if type(y2) == "table" and not is_array(y2) and #y2 == 0 and options == nil then y2, options = nil, y2 end
    local o = core.options(name, options, fill_options)
    local layer = look(axes, name, "fill", o)
    x = names.vector(axes, name, 1, "x", x)
    y1 = columns.vector(name, 2, "y1", y1)
    y2 = columns.vector(name, 3, "y2", y2 == nil and 0 or y2)
    if y1.size == 1 then y1 = np.broadcast_to(y1, { x.size }) end
    if y2.size == 1 then y2 = np.broadcast_to(y2, { x.size }) end
    columns.same_length(name, "x", x, "y1", y1)
    columns.same_length(name, "x", x, "y2", y2)
    layer.data = { x = x, y1 = y1, y2 = y2 }
    add(axes, layer)
end

local error_options = { xerr = true, yerr = true, capsize = true, fmt = true }
for key in pairs(line_options) do error_options[key] = key ~= "hue" or nil end

function charts.errorbar(axes, x, y, options)
    local name = "plot.errorbar"
    local o = core.options(name, options, error_options)
    local format = o.fmt and styles.format(name, figures.text(name, nil, "fmt", o.fmt)) or {}
    x, y = names.vector(axes, name, 1, "x", x), names.vector(axes, name, 2, "y", y)
    columns.same_length(name, "x", x, "y", y)
    local layer = line_look(name, look(axes, name, "errorbar", o, format.color), o, format)
    layer.capsize = number(name, "capsize", o.capsize, 0, 0, 100)
    layer.data = { x = x, y = y }
    layer.data.x_below, layer.data.x_above = looks.error_bars(name, "xerr", o.xerr, x.size)
    layer.data.y_below, layer.data.y_above = looks.error_bars(name, "yerr", o.yerr, x.size)
    add(axes, layer)
end

-- ---- Points ---------------------------------------------------------------------------------------------------------

local scatter_options = { s = true, c = true, color = true, cmap = true, vmin = true, vmax = true, marker = true,
                          alpha = true, label = true, linewidth = true, hue = true }

--- Adds points at data, { x, y } or { x, y, z }, with an array of their sizes and one of their values, or nil.
local function add_points(axes, name, kind, data, o)
    local layer = look(axes, name, kind, o)
    layer.marker, layer.marker_factor = styles.marker(name, "marker", o.marker or "o")
    if layer.marker == false then raise(name, "points need a marker") end
    layer.data = data
    if type(o.c) == "string" then layer.color = styles.color(name, "c", o.c) end
    if data.c then color_scale(name, layer, o) end
    layer.size = number(name, "s", type(o.s) == "number" and o.s or nil, 36, 0, 1e6)
    add(axes, layer)
end

local function points(axes, name, kind, data, o)
    local n = data.x.size
    for _, which in ipairs { "y", "z" } do
        if data[which] then columns.same_length(name, "x", data.x, which, data[which]) end
    end
    if o.hue ~= nil and o.c ~= nil then raise(name, "options hue and c exclude each other: each colours the points") end
    for key, given in pairs { c = o.c, s = o.s } do
        if type(given) ~= (key == "c" and "string" or "number") then
            data[key] = columns.vector(name, nil, key, given)
            columns.same_length(name, "x", data.x, key, data[key])
        end
    end
    names.each(axes, name, o, n, function(mine, pick)
        local picked = {}
        for key, column in pairs(data) do picked[key] = pick(column) end
        add_points(axes, name, kind, picked, mine)
    end)
end

function charts.scatter(axes, x, y, options)
    local name = "plot.scatter"
    local o = core.options(name, options, scatter_options)
    x, y = names.vector(axes, name, 1, "x", x), names.vector(axes, name, 2, "y", y)
    points(axes, name, "points", { x = x, y = y }, o)
end

function charts.scatter3d(axes, x, y, z, options)
    local name = "plot.scatter3d"
    local o = core.options(name, options, scatter_options)
    x, y = names.vector(axes, name, 1, "x", x), names.vector(axes, name, 2, "y", y)
    points(axes, name, "points3d", { x = x, y = y, z = names.vector(axes, name, 3, "z", z) }, o)
end

-- ---- Pictures and grids ---------------------------------------------------------------------------------------------

local image_options = { cmap = true, vmin = true, vmax = true, extent = true, origin = true, aspect = true,
                        colorbar = true, alpha = true }

local function check_extent(name, extent)
    if extent == nil then return nil end
    local good = type(extent) == "table" and #extent == 4
    for k = 1, 4 do good = good and type(extent[k]) == "number" and math.abs(extent[k]) < math.huge end
    if not good or extent[1] == extent[2] or extent[3] == extent[4] then
        bad_argument(name, nil, "extent", "{left, right, bottom, top}", extent)
    end
    return core.list(name, "option 'extent'", extent)
end

--- Adds pixels: (height, width) by a colour map, or (height, width, 3 or 4) as they are.
local function add_image(axes, name, x, o)
    x = columns.array(name, 1, "x", x)
    local shape = x.shape
    local channels = #shape == 3 and shape[3]
    if not (#shape == 2 or channels == 1 or channels == 3 or channels == 4) then
        raise(name, "an image has the shape (height, width), or (height, width, channels) with 1, 3 or 4 channels, "
              .. "got %s", core.shape_text(x))
    end
    if channels == 1 then x, channels = x:reshape(shape[1], shape[2]), false end
    if o.origin ~= nil and o.origin ~= "upper" and o.origin ~= "lower" then
        bad_argument(name, nil, "origin", '"upper" or "lower"', o.origin)
    end
    if o.aspect ~= nil and o.aspect ~= "equal" and o.aspect ~= "auto" then
        bad_argument(name, nil, "aspect", '"equal" or "auto"', o.aspect)
    end
    local layer = { kind = channels and "pixels" or "image", data = { x = x }, extent = check_extent(name, o.extent),
                    upper = o.origin ~= "lower", channels = channels, alpha = number(name, "alpha", o.alpha, 1, 0, 1) }
    color_scale(name, layer, o)
    axes.aspect = o.aspect or "equal"
    if o.colorbar and not channels then axes.has_colorbar = true end
    add(axes, layer)
end

function charts.imshow(axes, x, options)
    add_image(axes, "plot.imshow", x, core.options("plot.imshow", options, image_options))
end

function charts.image(axes, x, options)
    local o = core.options("plot.image", options, { cmap = true, vmin = true, vmax = true })
    add_image(axes, "plot.image", x, { cmap = o.cmap or "gray", vmin = o.vmin, vmax = o.vmax })
    axes.hidden = true
end

local heat_options = { cmap = true, vmin = true, vmax = true, annot = true, fmt = true, xticklabels = true,
                       yticklabels = true }

function charts.heatmap(axes, x, options)
    local name = "plot.heatmap"
    local o = core.options(name, options, heat_options)
    x = columns.matrix(name, 1, "x", x)
    add_image(axes, name, x, { cmap = o.cmap, vmin = o.vmin, vmax = o.vmax, aspect = "auto", colorbar = true })
    for which, labels in pairs { xticks = o.xticklabels, yticks = o.yticklabels } do
        local n = x.shape[which == "xticks" and 2 or 1]
        if type(labels) ~= "table" or #labels ~= n then
            bad_argument(name, nil, which:sub(1, 1) .. "ticklabels", ("a list of %d texts"):format(n), labels)
        end
        core.list(name, ("option '%sticklabels'"):format(which:sub(1, 1)), labels)
        local at = {}
        for k = 1, n do at[k] = k - 1 end
        figures.settings[which](axes, at, labels)
    end
    if o.annot then
        local format = o.fmt == nil and "%.3g" or o.fmt
        if type(format) ~= "string" or not pcall(string.format, format, 1) then
            bad_argument(name, nil, "fmt", 'a format of string.format such as "%.2f"', o.fmt)
        end
        axes.layers[#axes.layers].cell_format = format
    end
end

--- (z) or (x, y, z): z of two axes, x and y of one, or of two as np.meshgrid gives them.
local function grid_arguments(name, a, b, c, d)
    local x, y, z, options = nil, nil, a, b
    if is_array(b) or type(b) == "table" and #b > 0 then x, y, z, options = a, b, c, d end
    z = columns.matrix(name, x == nil and 1 or 3, "z", z)
    local rows, wide = z.shape[1], z.shape[2]
    if x == nil then return np.arange(wide), np.arange(rows), z, options end
    x, y = columns.array(name, 1, "x", x), columns.array(name, 2, "y", y)
    if x.ndim == 2 and x.shape[1] == rows then x = x[0] end
    if y.ndim == 2 and y.shape[2] == wide then y = y[{ {}, 0 }] end
    if x.ndim ~= 1 or x.size ~= wide or y.ndim ~= 1 or y.size ~= rows then
        raise(name, "x must have %d elements and y %d, the columns and rows of z, got shapes %s and %s", wide, rows,
              core.shape_text(x), core.shape_text(y))
    end
    return x, y, z, options
end

local contour_options = { levels = true, cmap = true, vmin = true, vmax = true, colors = true, linewidth = true,
                          alpha = true, colorbar = true }

local function add_contour(axes, name, kind, a, b, c, d)
    local x, y, z, options = grid_arguments(name, a, b, c, d)
    local o = core.options(name, options, contour_options)
    local levels = o.levels
    if is_array(levels) then levels = levels:totable() end
    local layer = look(axes, name, kind, { color = o.colors or "k", alpha = o.alpha, linewidth = o.linewidth })
    layer.one_color = o.colors ~= nil
    if type(levels) == "table" then
        layer.levels = {}
        for k, level in ipairs(core.list(name, "option 'levels'", levels)) do
            if type(level) ~= "number" or level ~= level then bad_argument(name, nil, "levels", "numbers", level) end
            layer.levels[k] = level
        end
        table.sort(layer.levels)
    else
        layer.level_count = number(name, "levels", levels, 7, 1, 200)
    end
    color_scale(name, layer, o)
    if o.colorbar then axes.has_colorbar = true end
    if z.shape[1] < 2 or z.shape[2] < 2 then
        raise(name, "z must have two rows and two columns at least, got shape %s", core.shape_text(z))
    end
    layer.data = { x = x, y = y, z = z }
    add(axes, layer)
end

function charts.contour(axes, a, b, c, d) add_contour(axes, "plot.contour", "contour", a, b, c, d) end
function charts.contourf(axes, a, b, c, d) add_contour(axes, "plot.contourf", "contourf", a, b, c, d) end

local surface_options = { cmap = true, vmin = true, vmax = true, elev = true, azim = true, colorbar = true,
                          wireframe = true, color = true, label = true, linewidth = true, alpha = true }

function charts.surface(axes, a, b, c, d)
    local name = "plot.surface"
    local x, y, z, options = grid_arguments(name, a, b, c, d)
    local o = core.options(name, options, surface_options)
    local layer = look(axes, name, "surface", { color = o.color or "C0", alpha = o.alpha, label = o.label,
                                                linewidth = o.linewidth or 0.5 })
    layer.wireframe = o.wireframe
    color_scale(name, layer, o)
    axes.elev = number(name, "elev", o.elev, axes.elev, -90, 90)
    axes.azim = number(name, "azim", o.azim, axes.azim, -360, 360)
    if o.colorbar then axes.has_colorbar = true end
    layer.data = { x = x, y = y, z = z }
    add(axes, layer)
end

-- ---- Marks ----------------------------------------------------------------------------------------------------------

local mark_options = { color = true, linestyle = true, linewidth = true, alpha = true }

local function add_rule(axes, name, which, value, options)
    local o = core.options(name, options, mark_options)
    local mark = look(axes, name, which, { color = o.color or "C0", alpha = o.alpha, linewidth = o.linewidth })
    mark.linestyle = styles.line(name, "linestyle", o.linestyle or "-")
    mark.at = names.place(axes, name, 1, which, which, value)
    mark.along, mark.covers = which, { mark.at }
    axes.marks[#axes.marks + 1] = mark
end

function charts.axhline(axes, y, options) add_rule(axes, "plot.axhline", "y", y, options) end
function charts.axvline(axes, x, options) add_rule(axes, "plot.axvline", "x", x, options) end

local band_options = { color = true, alpha = true }

local function add_band(axes, name, which, from, to, options)
    local o = core.options(name, options, band_options)
    local mark = look(axes, name, which .. "_band", { color = o.color or "C0", alpha = o.alpha })
    mark.from = names.place(axes, name, 1, which, which .. "min", from)
    mark.to = names.place(axes, name, 2, which, which .. "max", to)
    mark.along, mark.covers = which, { mark.from, mark.to }
    axes.marks[#axes.marks + 1] = mark
end

function charts.axhspan(axes, from, to, options) add_band(axes, "plot.axhspan", "y", from, to, options) end
function charts.axvspan(axes, from, to, options) add_band(axes, "plot.axvspan", "x", from, to, options) end

local ALIGNED = { left = "left", center = "center", right = "right" }
local LIFTED = { bottom = 0.6, center = 0, top = -0.6 } -- by parts of a line

--- A text at a place; o: its options.
local function add_text(axes, name, x, y, text, o)
    local mark = look(axes, name, "text", { color = o.color or "k" })
    mark.x, mark.y, mark.text = x, y, text
    mark.align = ALIGNED[o.ha or "left"] or bad_argument(name, nil, "ha", '"left", "center" or "right"', o.ha)
    mark.lifted = LIFTED[o.va or "center"] or bad_argument(name, nil, "va", '"bottom", "center" or "top"', o.va)
    mark.fontsize = number(name, "fontsize", o.fontsize, nil, 1, 500)
    mark.rotation = number(name, "rotation", o.rotation, 0, -360, 360)
    axes.marks[#axes.marks + 1] = mark
    return mark
end

function charts.text(axes, x, y, text, options)
    local name = "plot.text"
    local o = core.options(name, options, { color = true, ha = true, va = true, fontsize = true, rotation = true })
    x, y = names.place(axes, name, 1, "x", "x", x), names.place(axes, name, 2, "y", "y", y)
    add_text(axes, name, x, y, figures.text(name, 3, "text", text), o)
end

--- Two numbers of a list or an array.
local function place_of(axes, name, position, what, value)
    if is_array(value) and value.size == 2 then value = value:totable() end
    if type(value) ~= "table" or #value ~= 2 then bad_argument(name, position, what, "{x, y}", value) end
    core.list(name, position and "the place" or ("option '%s'"):format(what), value)
    return { names.place(axes, name, position, "x", what, value[1]),
             names.place(axes, name, position, "y", what, value[2]) }
end

function charts.annotate(axes, text, xy, options)
    local name = "plot.annotate"
    local o = core.options(name, options, { xytext = true, color = true, ha = true, va = true, fontsize = true,
                                            rotation = true })
    text, xy = figures.text(name, 1, "text", text), place_of(axes, name, 2, "xy", xy)
    local at = o.xytext ~= nil and place_of(axes, name, nil, "xytext", o.xytext) or xy
    local mark = add_text(axes, name, at[1], at[2], text, o)
    if o.xytext ~= nil then mark.tip = xy end
end

for _, f in pairs(charts) do jit.off(f, true) end
for _, f in ipairs { line_arguments, line_data, add_lines, plain_lines, points, add_image, add_contour } do
    jit.off(f)
end

return charts
