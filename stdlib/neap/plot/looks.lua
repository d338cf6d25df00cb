--- looks.lua: what the options of charts mean, for all kinds of charts: layers with a colour, a width and a label; the
-- scale of colours; the length of error bars.
local core = require "neap.core"
local columns = require "neap.plot.columns"
local figures = require "neap.plot.figure"
local styles = require "neap.plot.styles"

local np = core.np
local is_array, raise, bad_argument = core.is_array, core.raise, core.bad_argument
local looks = {}

local function number(name, what, value, default, least, most)
    if value == nil then return default end
    if type(value) ~= "number" or not (value >= least and value <= most) then
        bad_argument(name, nil, what, ("a number from %g to %g"):format(least, most), value)
    end
    return value
end

looks.number = number

--- Options of all charts: { color, alpha, linewidth, label } of a new layer.
function looks.look(axes, name, kind, o, given_color)
    local color = o.color ~= nil and o.color or given_color
    local layer = { kind = kind, data = {}, alpha = number(name, "alpha", o.alpha, 1, 0, 1),
                    linewidth = number(name, "linewidth", o.linewidth, 1.5, 0, 100) }
    if color ~= nil then
        layer.color = styles.color(name, "color", color)
    else
        layer.color = styles.cycled(axes.cycle)
        axes.cycle = axes.cycle + 1
    end
    if o.label ~= nil then layer.label = figures.text(name, nil, "label", o.label) end
    return layer
end

function looks.copied(options)
    local mine = {}
    for key, value in pairs(options) do mine[key] = value end
    return mine
end

function looks.add(axes, layer)
    axes.layers[#axes.layers + 1] = layer
end

--- The options of one of several charts that one call adds: its label and its colour where these are lists.
function looks.of_one(name, o, k, count)
    if count == 1 and type(o.label) ~= "table" then return o end
    local mine = looks.copied(o)
    if type(o.label) == "table" then core.list(name, "option 'label'", o.label) end
    if type(o.label) == "table" then mine.label = o.label[k]
    elseif type(o.label) == "string" or type(o.label) == "number" then mine.label = o.label .. " " .. (k - 1) end
    if type(o.color) == "table" and type(o.color[1]) ~= "number" then
        core.list(name, "option 'color'", o.color)
        mine.color = o.color[k] or raise(name, "%d colours for %d charts", #o.color, count)
    end
    return mine
end

--- The lower and the upper error of a value: a number, an array of them, or two rows.
function looks.error_bars(name, what, value, n)
    if value == nil then return nil end
    local x = columns.array(name, nil, what, value)
    if x.ndim == 0 then x = np.broadcast_to(x, { n }) end
    local two = x.ndim == 2 and x.shape[1] == 2
    if (x.ndim ~= 1 and not two) or x.shape[#x.shape] ~= n then
        raise(name, "%s must be a number, %d numbers, or two rows of these (below, above), got shape %s", what, n,
              core.shape_text(x))
    end
    return two and x[0] or x, two and x[1] or x
end

--- The options cmap, vmin and vmax.
function looks.color_scale(name, layer, o)
    layer.map = styles.map(name, o.cmap == nil and "viridis" or o.cmap)
    for _, what in ipairs { "vmin", "vmax" } do
        layer[what] = number(name, what, o[what], nil, -math.huge, math.huge)
    end
    if layer.vmin and layer.vmax and layer.vmin >= layer.vmax then
        raise(name, "vmin must be less than vmax, got %g and %g", layer.vmin, layer.vmax)
    end
end

function looks.finite(name, position, what, value)
    if is_array(value) and value.size == 1 then value = value:item() end
    if type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
        bad_argument(name, position, what, "a finite number", value)
    end
    return value
end

for _, f in pairs(looks) do jit.off(f, true) end

return looks
