--- boxes.lua: charts of quartiles, made of others: bars, lines with gaps for whiskers and medians, points far out. The
-- statistics are arrays like all that charts take, so they may be computed late.
local core = require "neap.core"
local charts = require "neap.plot.charts"
local columns = require "neap.plot.columns"
local figures = require "neap.plot.figure"

local np = core.np
local is_array, raise, bad_argument = core.is_array, core.raise, core.bad_argument

local box_options = { positions = true, widths = true, tick_labels = true, whis = true, showfliers = true,
                      orientation = true, color = true, label = true, alpha = true, linewidth = true }

--- The groups of an argument: the arrays of a list, the columns of a matrix, or one vector; each as finite f64 or NaN.
local function groups_of(name, x)
    local groups = {}
    if type(x) == "table" and not is_array(x) and (is_array(x[1]) or type(x[1]) == "table") then
        for k, values in ipairs(core.list(name, "the list of groups", x)) do
            groups[k] = columns.vector(name, 1, ("x[%d]"):format(k), values)
        end
    else
        x = columns.array(name, 1, "x", x)
        if x.ndim == 0 then x = x:reshape(1) end
        if x.ndim > 2 then
            raise(name, "x has one axis, or two for a box a column, got shape %s", core.shape_text(x))
        end
        for k = 1, x.ndim == 2 and x.shape[2] or 1 do groups[k] = x.ndim == 2 and x[{ {}, k - 1 }] or x end
    end
    for k, values in ipairs(groups) do
        values = np.astype(values, "f64")
        if values.size == 0 then values = np.full({ 1 }, core.NAN, { dtype = "f64" }) end
        groups[k] = np.where(np.isfinite(values), values, core.NAN)
    end
    return groups
end

--- What a box shows: the quartiles and the median; the last values within `whis` times their distance; those outside.
local function statistics(x, whis)
    local q = np.nanquantile(x, { 0.25, 0.5, 0.75 })
    local s = { low = q[0], median = q[1], high = q[2] }
    local reach = (s.high - s.low) * whis
    local inside = np.logical_and(x:ge(s.low - reach), x:le(s.high + reach))
    local within = np.where(inside, x, core.NAN)
    s.least, s.greatest = np.minimum(np.nanmin(within), s.low), np.maximum(np.nanmax(within), s.high)
    s.fliers = np.where(inside, core.NAN, x)
    return s
end

local function check(name, o, count)
    local orientation = o.orientation or "vertical"
    if orientation ~= "vertical" and orientation ~= "horizontal" then
        bad_argument(name, nil, "orientation", '"vertical" or "horizontal"', orientation)
    end
    for _, what in ipairs { "widths", "whis" } do
        local value = o[what]
        if value ~= nil and not (type(value) == "number" and value >= 0 and value < math.huge) then
            bad_argument(name, nil, what, "a number from 0 on", value)
        end
    end
    local labels = o.tick_labels
    if labels ~= nil and (type(labels) ~= "table" or #labels ~= count) then
        bad_argument(name, nil, "tick_labels", ("a list of %d texts"):format(count), labels)
    end
    if labels ~= nil then core.list(name, "option 'tick_labels'", labels) end
    local positions = {}
    if o.positions ~= nil then
        local given = columns.vector(name, nil, "positions", o.positions)
        if given.size ~= count then raise(name, "%d positions for %d boxes", given.size, count) end
        positions = given:totable()
    else
        for k = 1, count do positions[k] = k end
    end
    return orientation == "horizontal", positions, labels
end

local function append(list, values)
    for _, value in ipairs(values) do list[#list + 1] = value end
end

local function boxplot(axes, x, options)
    local name = "plot.boxplot"
    local o = core.options(name, options, box_options)
    local groups = groups_of(name, x)
    local lies, positions, labels = check(name, o, #groups)
    local wide, gap = o.widths or 0.5, np.array(core.NAN, { dtype = "f64" })
    local lows, heights, whiskers, medians = {}, {}, { along = {}, across = {} }, { along = {}, across = {} }
    local fliers = { along = {}, across = {} }
    for k, group in ipairs(groups) do
        local s, p = statistics(group, o.whis or 1.5), positions[k]
        local half, cap = wide / 2, wide / 4
        lows[k], heights[k] = s.low, s.high - s.low
        for _, ends in ipairs { { s.low, s.least }, { s.high, s.greatest } } do
            append(whiskers.along, { ends[1], ends[2], gap, ends[2], ends[2], gap })
            append(whiskers.across, { p, p, core.NAN, p - cap, p + cap, core.NAN })
        end
        append(medians.along, { s.median, s.median, gap })
        append(medians.across, { p - half, p + half, core.NAN })
        fliers.along[k], fliers.across[k] = s.fliers, np.full({ group.size }, p, { dtype = "f64" })
    end
    local function line(parts, color)
        local along, across = np.stack(parts.along), np.array(parts.across, { dtype = "f64" })
        charts.line(axes, lies and along or across, lies and across or along,
                    { color = color, linewidth = o.linewidth or 1, alpha = o.alpha })
    end
    line(whiskers, "k")
    local bars = lies and charts.barh or charts.bar
    bars(axes, np.array(positions, { dtype = "f64" }), np.stack(heights),
         { bottom = np.stack(lows), width = wide, color = o.color or "w", edgecolor = "k", label = o.label,
           alpha = o.alpha, linewidth = o.linewidth or 1 })
    line(medians, "C1")
    if o.showfliers ~= false then
        local along, across = np.concatenate(fliers.along), np.concatenate(fliers.across)
        charts.scatter(axes, lies and along or across, lies and across or along, { color = "k", s = 20 })
    end
    local texts = {}
    for k, p in ipairs(positions) do texts[k] = labels and labels[k] or ("%g"):format(p) end
    figures.settings[lies and "yticks" or "xticks"](axes, positions, texts)
end

for _, f in ipairs { groups_of, statistics, check, append, boxplot } do jit.off(f, true) end

return boxplot
