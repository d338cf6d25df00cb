--- boxes.lua: charts of quartiles, made of others: bars, lines with gaps for whiskers and medians, points far out. The
-- statistics are arrays like all that charts take, so they may be computed late.
local bars = require "neap.plot.bars"
local charts = require "neap.plot.charts"
local core = require "neap.core"
local groups = require "neap.plot.groups"
local looks = require "neap.plot.looks"

local np = core.np

local box_options = looks.copied(groups.options)
box_options.whis, box_options.showfliers = true, true

--- What the boxes of the rows of x show, an element for each: the quartiles and the median; the last values within
-- `whis` times their distance; and of x those outside, NaN in place of others.
local function statistics(x, whis)
    if x:dim(1) == 0 then x = np.full({ #x, 1 }, core.NAN, { dtype = "f64" }) end
    x = np.where(np.isfinite(x), x, core.NAN)
    local q = np.nanquantile(x, { 0.25, 0.5, 0.75 }, { axis = 1 })
    local s = { low = q[0], median = q[1], high = q[2] }
    local reach = (s.high - s.low) * whis
    local inside = np.logical_and(x:ge((s.low - reach):expand_dims(1)), x:le((s.high + reach):expand_dims(1)))
    local within = np.where(inside, x, core.NAN)
    s.least = np.minimum(np.nanmin(within, { axis = 1 }), s.low)
    s.greatest = np.maximum(np.nanmax(within, { axis = 1 }), s.high)
    s.fliers = np.where(inside, core.NAN, x)
    return s
end

--- The statistics of all groups, in their order; and of those outside both coordinates: positions, as an array, and
-- values.
local function all_statistics(list, whis, positions)
    local parts = { low = {}, median = {}, high = {}, least = {}, greatest = {} }
    local across, along = {}, {}
    for _, alike in ipairs(list) do
        local numbers, s = alike[1], statistics(alike[2], whis)
        for key, own in pairs(parts) do own[#own + 1] = s[key] end
        local own = np.take(positions, numbers):expand_dims(1)
        along[#along + 1], across[#across + 1] = s.fliers:ravel(), np.broadcast_to(own, s.fliers.shape):ravel()
    end
    return groups.in_order(list, parts), np.concatenate(across), np.concatenate(along)
end

local function boxplot(axes, x, options)
    local name = "plot.boxplot"
    local o = core.options(name, options, box_options)
    local count, list, categories = groups.of(name, x, o.by)
    local lies, positions, labels = groups.places(name, o, count)
    local places = np.array(positions, { dtype = "f64" })
    local s, across, along = all_statistics(list, o.whis or 1.5, places)
    local wide, gap = o.widths or 0.5, np.full({ count }, core.NAN, { dtype = "f64" })
    local half, cap = wide / 2, wide / 4
    --- Lines through values at positions, one of as many points as the lists have for each box.
    local function lines(values, at, color)
        local v, p = np.stack(values, { axis = 1 }):ravel(), np.stack(at, { axis = 1 }):ravel()
        charts.line(axes, lies and v or p, lies and p or v,
                    { color = color, linewidth = o.linewidth or 1, alpha = o.alpha })
        axes.layers[#axes.layers].is_part = true
    end
    local left, right = places - cap, places + cap
    lines({ s.low, s.least, gap, s.least, s.least, gap, s.high, s.greatest, gap, s.greatest, s.greatest, gap },
          { places, places, gap, left, right, gap, places, places, gap, left, right, gap }, "k")
    local bar = lies and bars.barh or bars.bar
    bar(axes, places, s.high - s.low,
         { bottom = s.low, width = wide, color = o.color or "w", edgecolor = "k", label = o.label,
           alpha = o.alpha, linewidth = o.linewidth or 1 })
    lines({ s.median, s.median, gap }, { places - half, places + half, gap }, "C1")
    if o.showfliers ~= false then
        charts.scatter(axes, lies and along or across, lies and across or along, { color = "k", s = 20 })
        axes.layers[#axes.layers].is_part = true
    end
    groups.set_ticks(axes, lies, positions, labels or categories)
end

for _, f in ipairs { statistics, all_statistics, boxplot } do jit.off(f, true) end

return { boxplot = boxplot }
