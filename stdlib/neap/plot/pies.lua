--- pies.lua: the chart pie: a layer for each wedge, which shares the array of all. shapes.lua has how they are drawn.
local columns = require "neap.plot.columns"
local core = require "neap.core"
local figures = require "neap.plot.figure"
local looks = require "neap.plot.looks"
local styles = require "neap.plot.styles"

local raise, bad_argument = core.raise, core.bad_argument
local number = looks.number
local charts = {}

local pie_options = { labels = true, colors = true, explode = true, autopct = true, startangle = true,
                      counterclock = true, radius = true, labeldistance = true, pctdistance = true, edgecolor = true,
                      linewidth = true, alpha = true }

local MOST_WEDGES = 1000

--- A list of n items from an option: of texts where `texts` is set, else whatever it has; nil where there is none.
local function list_of(name, what, value, n, texts)
    if value == nil then return nil end
    if core.is_array(value) or type(value) == "userdata" then value = value:totable() end
    if type(value) ~= "table" or #value ~= n then
        bad_argument(name, nil, what, ("a list of %d %s"):format(n, texts and "texts" or what), value)
    end
    local list = {}
    for k, item in ipairs(core.list(name, ("option '%s'"):format(what), value)) do
        list[k] = texts and figures.text(name, nil, what, item or "") or item
    end
    return list
end

--- The format of shares in per cent, such as "%.1f%%"; nil: they are not written.
local function percent_format(name, value)
    if value == nil then return nil end
    if type(value) ~= "string" or not pcall(string.format, value, 1) then
        bad_argument(name, nil, "autopct", 'a format of string.format such as "%.1f%%"', value)
    end
    return value
end

function charts.pie(axes, x, options)
    local name = "plot.pie"
    local o = core.options(name, options, pie_options)
    x = columns.vector(name, 1, "x", x)
    local n = x.size
    if n > MOST_WEDGES then raise(name, "a pie has at most %d wedges, got %d", MOST_WEDGES, n) end
    if o.counterclock ~= nil and type(o.counterclock) ~= "boolean" then
        bad_argument(name, nil, "counterclock", "a boolean", o.counterclock)
    end
    local labels, colors = list_of(name, "labels", o.labels, n, true), list_of(name, "colors", o.colors, n)
    local apart, format = list_of(name, "explode", o.explode, n), percent_format(name, o.autopct)
    local shared = { start = number(name, "startangle", o.startangle, 0, -360, 360),
                     radius = number(name, "radius", o.radius, 1, 1e-6, 1e6), percent_format = format,
                     direction = o.counterclock == false and -1 or 1,
                     label_at = number(name, "labeldistance", o.labeldistance, 1.1, 0, 10),
                     percent_at = number(name, "pctdistance", o.pctdistance, 0.6, 0, 10) }
    for k = 1, n do
        local layer = looks.look(axes, name, "wedge", { color = colors and colors[k], alpha = o.alpha,
                                                        linewidth = o.linewidth })
        layer.edge = o.edgecolor and styles.color(name, "edgecolor", o.edgecolor)
        layer.number, layer.text, layer.shared = k - 1, labels and labels[k], shared
        layer.apart = apart and number(name, ("explode[%d]"):format(k), apart[k], 0, -100, 100) or 0
        layer.data = { x = x }
        looks.add(axes, layer)
    end
    axes.hidden, axes.aspect = true, "equal"
end

jit.off(charts.pie, true)

return charts
