--- violins.lua: charts of densities, each as an area that is as wide as there are many values. The densities are arrays
-- like all that charts take, so they may be computed late.
local charts = require "neap.plot.charts"
local core = require "neap.core"
local groups = require "neap.plot.groups"
local looks = require "neap.plot.looks"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument

local violin_options = looks.copied(groups.options)
for _, key in ipairs { "showmeans", "showmedians", "showextrema", "points", "bw_method" } do
    violin_options[key] = true
end

--- The factor of the width of the kernels of n values, by the rule of Scott (1992) or Silverman (1986) for one
-- dimension, or a number itself.
local function bandwidth(rule, n)
    if type(rule) == "number" then return np.full_like(n, rule) end
    return (rule == "silverman" and n * 0.75 or n) ^ -0.2
end

--- What the violins of the rows of x show: places along each violin and the densities there, of kernels of Gauss, up
-- to a factor; the least, the greatest, the mean and the median value. NaN and infinity are left out.
local function statistics(x, points, rule)
    if x:dim(1) == 0 then x = np.full({ #x, 1 }, core.NAN, { dtype = "f64" }) end
    local good = np.isfinite(x)
    local weights, values = np.astype(good, "f64"), np.where(good, x, 0)
    x = np.where(good, x, core.NAN)
    local n = np.sum(weights, { axis = 1 })
    local s = { least = np.nanmin(x, { axis = 1 }), greatest = np.nanmax(x, { axis = 1 }),
                median = np.nanquantile(x, 0.5, { axis = 1 }), mean = np.sum(values, { axis = 1 }) / n }
    local away = (values - s.mean:expand_dims(1)) * weights
    local width = bandwidth(rule, n) * np.sqrt(np.sum(away * away, { axis = 1 }) / (n - 1))
    local steps = np.linspace(0, 1, points, { dtype = "f64" })
    s.places = s.least:expand_dims(1) + (s.greatest - s.least):expand_dims(1) * steps
    local apart = (s.places:expand_dims(2) - values:expand_dims(1)) / np.reshape(width, { -1, 1, 1 })
    local density = np.sum(np.exp(apart * apart * -0.5) * weights:expand_dims(1), { axis = 2 })
    local greatest = np.max(density, { axis = 1, keepdims = true })
    s.density = np.where(width:expand_dims(1):gt(0), density / greatest, 1) -- equal values are a line
    return s
end

local function check(name, o)
    for _, key in ipairs { "showmeans", "showmedians", "showextrema" } do
        if o[key] ~= nil and type(o[key]) ~= "boolean" then bad_argument(name, nil, key, "a boolean", o[key]) end
    end
    local rule = o.bw_method == nil and "scott" or o.bw_method
    if rule ~= "scott" and rule ~= "silverman" and not (type(rule) == "number" and rule > 0 and rule < math.huge) then
        bad_argument(name, nil, "bw_method", '"scott", "silverman" or a number above 0', rule)
    end
    local points = o.points == nil and 100 or o.points
    if type(points) ~= "number" or points % 1 ~= 0 or points < 2 or points > 10000 then
        bad_argument(name, nil, "points", "a whole number from 2 to 10000", points)
    end
    return rule, points
end

local PARTS = { "least", "greatest", "median", "mean", "places", "density" }

local function violinplot(axes, x, options)
    local name = "plot.violinplot"
    local o = core.options(name, options, violin_options)
    local rule, points = check(name, o)
    local count, list, categories = groups.of(name, x, o.by)
    if count == 0 then raise(name, "there is no group: x is empty") end
    local lies, positions, labels = groups.places(name, o, count)
    local parts = {}
    for _, key in ipairs(PARTS) do parts[key] = {} end
    for _, alike in ipairs(list) do
        local s = statistics(alike[2], points, rule)
        for key, own in pairs(parts) do own[#own + 1] = s[key] end
    end
    local s, wide = groups.in_order(list, parts), o.widths or 0.5
    local area = { color = o.color, label = o.label, linewidth = o.linewidth, alpha = o.alpha or 0.3 }
    local color
    for k = 1, count do
        local layer = looks.look(axes, name, "area", area)
        color = color or "#" .. layer.color
        area.color, area.label, layer.is_part = color, nil, k > 1 or nil
        local half, at = s.density[k - 1] * (wide / 2), s.places[k - 1]
        local across = np.concatenate { positions[k] - half, np.flip(positions[k] + half) }
        local along = np.concatenate { at, np.flip(at) }
        layer.data = { x = lies and along or across, y = lies and across or along }
        looks.add(axes, layer)
    end
    local places, gap = np.array(positions, { dtype = "f64" }), np.full({ count }, core.NAN, { dtype = "f64" })
    --- Lines through values at positions, one of as many points as the lists have for each violin.
    local function lines(values, at)
        local v, p = np.stack(values, { axis = 1 }):ravel(), np.stack(at, { axis = 1 }):ravel()
        charts.line(axes, lies and v or p, lies and p or v, { color = color, linewidth = o.linewidth or 1.5 })
        axes.layers[#axes.layers].is_part = true
    end
    local left, right = places - wide / 4, places + wide / 4
    if o.showmeans then lines({ s.mean, s.mean, gap }, { left, right, gap }) end
    if o.showmedians then lines({ s.median, s.median, gap }, { left, right, gap }) end
    if o.showextrema ~= false then
        lines({ s.least, s.greatest, gap, s.least, s.least, gap, s.greatest, s.greatest, gap },
              { places, places, gap, left, right, gap, left, right, gap })
    end
    groups.set_ticks(axes, lies, positions, labels or categories)
end

for _, f in ipairs { statistics, check, violinplot } do jit.off(f, true) end

return { violinplot = violinplot }
