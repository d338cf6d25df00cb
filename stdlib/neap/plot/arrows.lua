--- arrows.lua: the chart quiver: fields of arrows. shapes.lua has how they are drawn.
local columns = require "neap.plot.columns"
local core = require "neap.core"
local looks = require "neap.plot.looks"
local names = require "neap.plot.names"

local np = core.np
local is_array, raise, bad_argument = core.is_array, core.raise, core.bad_argument
local charts = {}

local quiver_options = { c = true, color = true, cmap = true, vmin = true, vmax = true, scale = true, angles = true,
                         scale_units = true, pivot = true, label = true, alpha = true, linewidth = true,
                         colorbar = true }

local function one_of(name, what, value, default, list)
    value = value == nil and default or value
    for _, known in ipairs(list) do
        if known == value then return value end
    end
    return bad_argument(name, nil, what, '"' .. table.concat(list, '", "') .. '"', value)
end

--- (u, v, …) or (x, y, u, v, …): x and y, nil where they are not given, u, v and the options.
local function arguments_of(a, b, c, d, e)
    if d ~= nil or is_array(c) or type(c) == "table" and #c > 0 then return a, b, c, d, e end
    return nil, nil, a, b, c
end

--- The places of arrows of a shape along one axis: each its own, or those of the columns (x) or rows (y).
local function places_of(axes, name, which, value, u)
    local rows, wide = u:dim(0), u.ndim == 2 and u:dim(1)
    if value == nil then
        value = np.arange(which == "x" and wide or rows)
    else
        value = names.places(axes, name, which == "x" and 1 or 2, which, which, value)
    end
    if value.size == u.size then return value:ravel() end
    if wide and value.ndim == 1 and value.size == (which == "x" and wide or rows) then
        return np.broadcast_to(which == "x" and value or value:expand_dims(1), { rows, wide }):ravel()
    end
    return raise(name, "%s has a place for each arrow of u, of shape %s%s, got shape %s", which, core.shape_text(u),
                 wide and (which == "x" and ", or for each of its columns" or ", or for each of its rows") or "",
                 core.shape_text(value))
end

function charts.quiver(axes, a, b, c, d, e)
    local name = "plot.quiver"
    local x, y, u, v, options = arguments_of(a, b, c, d, e)
    local o = core.options(name, options, quiver_options)
    local first = x == nil and 1 or 3
    u, v = columns.array(name, first, "u", u), columns.array(name, first + 1, "v", v)
    if u.ndim == 0 or u.ndim > 2 then raise(name, "u has one axis or two, got shape %s", core.shape_text(u)) end
    if core.shape_text(u) ~= core.shape_text(v) then
        raise(name, "u and v must have one shape, got %s and %s", core.shape_text(u), core.shape_text(v))
    end
    if x == nil and u.ndim == 1 then raise(name, "u of one axis needs x and y: quiver(x, y, u, v)") end
    local layer = looks.look(axes, name, "arrows", { color = o.color or "k", alpha = o.alpha, label = o.label,
                                                     linewidth = o.linewidth })
    layer.data = { x = places_of(axes, name, "x", x, u), y = places_of(axes, name, "y", y, u), u = u:ravel(),
                   v = v:ravel() }
    layer.angles = one_of(name, "angles", o.angles, "uv", { "uv", "xy" })
    layer.units = one_of(name, "scale_units", o.scale_units, "width", { "width", "xy" })
    if layer.units == "xy" and layer.angles ~= "xy" then
        raise(name, "scale_units=\"xy\" needs angles=\"xy\": a length in units of the axes has their direction")
    end
    layer.pivot = ({ tail = 0, mid = 0.5, tip = 1 })[one_of(name, "pivot", o.pivot, "tail", { "tail", "mid", "tip" })]
    layer.scale = looks.number(name, "scale", o.scale, nil, 1e-300, 1e300)
    if o.c ~= nil then
        local values = columns.array(name, nil, "c", o.c)
        if values.size ~= u.size then
            raise(name, "u and c must have as many elements as each other, got %d and %d", u.size, values.size)
        end
        layer.data.c = values:ravel()
        looks.color_scale(name, layer, o)
        if o.colorbar then axes.has_colorbar = true end
    end
    looks.add(axes, layer)
end

for _, f in ipairs { charts.quiver, places_of } do jit.off(f, true) end

return charts
