--- bars.lua: charts of bars: bar, barh with error bars, and hist. See charts.lua for what a chart is.
local columns = require "neap.plot.columns"
local core = require "neap.core"
local looks = require "neap.plot.looks"
local names = require "neap.plot.names"
local styles = require "neap.plot.styles"

local np = core.np
local is_array, raise, bad_argument = core.is_array, core.raise, core.bad_argument
local number, look, add = looks.number, looks.look, looks.add
local charts = {}

local bar_options = { width = true, bottom = true, color = true, edgecolor = true, label = true, alpha = true,
                      linewidth = true, align = true, xerr = true, yerr = true, ecolor = true, capsize = true }

--- A colour for each of n bars, where a list of such is given; else nil.
local function colors_of(name, given, n)
    if type(given) ~= "table" or is_array(given) or type(given[1]) == "number" then return nil end
    if #given ~= n then raise(name, "%d colours for %d bars", #given, n) end
    local list = {}
    for k, color in ipairs(core.list(name, "option 'color'", given)) do
        list[k] = styles.color(name, "color", color)
    end
    return list
end

--- Adds the error bars of a layer of bars: xerr and yerr, where there are some, at the middle of each bar's end. k: the
-- column of errors that have two axes, as the bars do.
local function add_errors(axes, name, layer, o, n, k)
    if o.xerr == nil and o.yerr == nil then return end
    local own = look(axes, name, "errorbar", { color = "k", alpha = o.alpha, linewidth = o.linewidth })
    if o.ecolor ~= nil then own.color = styles.color(name, "ecolor", o.ecolor) end
    own.linestyle, own.marker, own.markersize, own.draw, own.is_part = "", false, 6, "lines", true
    own.capsize = number(name, "capsize", o.capsize, 0, 0, 100)
    local place, tip = layer.data.x, layer.data.height
    own.offset = { [layer.across and "y" or "x"] = layer.from + layer.wide / 2 }
    if layer.data.bottom then tip = tip + layer.data.bottom end
    own.data = { x = layer.across and tip or place, y = layer.across and place or tip }
    for _, which in ipairs { "x", "y" } do
        local value = o[which .. "err"]
        if value ~= nil and k then
            value = columns.array(name, nil, which .. "err", value)
            if value.ndim == 2 then value = value[{ {}, k - 1 }] end
        end
        local data = own.data
        data[which .. "_below"], data[which .. "_above"] = looks.error_bars(name, which .. "err", value, n)
    end
    add(axes, own)
end

--- Raises unless the errors of bars side by side are a number, or of the shape of the bars.
local function check_errors(name, o, height)
    if height.ndim == 1 then return end
    for _, key in ipairs { "xerr", "yerr" } do
        local shape = o[key] ~= nil and core.shape_of(columns.array(name, nil, key, o[key])) or {}
        local good = #shape == 0 or #shape == 2 and shape[1] == height.shape[1] and shape[2] == height.shape[2]
        if not good then
            raise(name, "%s of bars side by side is a number, or has their shape %s, got shape %s", key,
                  core.shape_text(height), core.shape_text(columns.array(name, nil, key, o[key])))
        end
    end
end

local function bar_heights(name, what, x, height)
    height = columns.array(name, 2, what, height)
    if height.ndim == 0 then height = height:reshape(1) end
    if height.ndim > 2 or height.shape[1] ~= x.size then
        raise(name, "%s must have %d elements, or as many rows for bars side by side, got shape %s", what, x.size,
              core.shape_text(height))
    end
    return height
end

local function add_bars(axes, name, across, x, height, options)
    local o = core.options(name, options, bar_options)
    x = names.vector(axes, name, 1, across and "y" or "x", x)
    height = bar_heights(name, across and "width" or "height", x, height)
    check_errors(name, o, height)
    local count = height.ndim == 2 and height.shape[2] or 1
    local align = o.align or "center"
    if align ~= "center" and align ~= "edge" then bad_argument(name, nil, "align", '"center" or "edge"', align) end
    local wide = number(name, "width", o.width, 0.8, -1e300, 1e300)
    local each = count == 1 and colors_of(name, o.color, x.size)
    if each then
        o = looks.copied(o)
        o.color = o.color[1] or "C0" -- that of the legend
    end
    local bottom = o.bottom ~= nil and columns.vector(name, nil, "bottom", o.bottom) or nil
    if bottom and bottom.size ~= 1 then columns.same_length(name, "x", x, "bottom", bottom) end
    for k = 1, count do
        local mine = looks.of_one(name, o, k, count)
        local layer = look(axes, name, "bars", mine)
        layer.across, layer.edge = across, o.edgecolor and styles.color(name, "edgecolor", o.edgecolor)
        layer.colors = each
        layer.from = (align == "center" and -wide / 2 or 0) + wide * (k - 1) / count
        layer.wide = wide / count
        layer.data = { x = x, height = height.ndim == 2 and height[{ {}, k - 1 }] or height }
        if bottom then layer.data.bottom = np.broadcast_to(bottom, { x.size }) end
        add(axes, layer)
        add_errors(axes, name, layer, o, x.size, height.ndim == 2 and k or nil)
    end
end

function charts.bar(axes, x, height, options) add_bars(axes, "plot.bar", false, x, height, options) end
function charts.barh(axes, y, width, options) add_bars(axes, "plot.barh", true, y, width, options) end

local hist_options = { bins = true, range = true, density = true, weights = true, cumulative = true, histtype = true,
                       color = true, edgecolor = true, label = true, alpha = true, linewidth = true, hue = true }

--- NaN and infinity are in no bin: x and its weights without them, where they have values.
local function finite_only(x, weights)
    if core.info(x).traced ~= 0 then return x, weights end
    x = np.astype(x, "f64")
    local good = np.isfinite(x)
    return x[good], weights and weights[good]
end

local HIST_KINDS = { bar = true, step = true, stepfilled = true }

--- The edges of the bins of all of x, for categories have the same.
local function shared_edges(x, o, weights)
    local given = { bins = o.bins, range = o.range, density = o.density }
    x, given.weights = finite_only(x, weights)
    return select(2, np.histogram(x, given))
end

function charts.hist(axes, x, options)
    local name = "plot.hist"
    local o = core.options(name, options, hist_options)
    x = columns.array(name, 1, "x", x):ravel()
    local weights = o.weights ~= nil and columns.vector(name, nil, "weights", o.weights) or nil
    local kind = o.histtype or "bar"
    if not HIST_KINDS[kind] then bad_argument(name, nil, "histtype", '"bar", "step" or "stepfilled"', kind) end
    local bins = o.hue ~= nil and shared_edges(x, o, weights) or o.bins
    names.each(axes, name, o, x.size, function(mine, pick)
        local own, own_weights = finite_only(pick(x), weights and pick(weights))
        local counts, edges = np.histogram(own, { bins = bins, range = o.range, density = o.density,
                                                  weights = own_weights })
        if o.cumulative then counts = np.cumsum(counts) end
        if o.hue ~= nil and o.alpha == nil then mine.alpha = 0.5 end -- one stands before the other
        local layer = look(axes, name, "hist", mine)
        layer.outline, layer.edge = kind == "step", o.edgecolor and styles.color(name, "edgecolor", o.edgecolor)
        layer.data = { counts = counts, edges = edges }
        add(axes, layer)
    end)
end

for _, f in pairs(charts) do jit.off(f, true) end
for _, f in ipairs { add_bars, add_errors, finite_only, shared_edges } do jit.off(f) end

return charts
