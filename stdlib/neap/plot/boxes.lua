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

--- The groups of an argument, f64: the arrays of a list, the columns of a matrix, or one vector. How many, and a list
-- of groups of one size each: { the numbers of the groups, from 0; an array with a group in each row }.
local function groups_of(name, x)
    if type(x) == "table" and not is_array(x) and (is_array(x[1]) or type(x[1]) == "table") then
        local by_size, list = {}, {}
        for k, values in ipairs(core.list(name, "the list of groups", x)) do
            values = np.astype(columns.vector(name, 1, ("x[%d]"):format(k), values), "f64")
            local alike = by_size[values.size]
            if not alike then
                alike = { numbers = {}, groups = {} }
                by_size[values.size], list[#list + 1] = alike, alike
            end
            alike.numbers[#alike.numbers + 1], alike.groups[#alike.groups + 1] = k - 1, values
        end
        for k, alike in ipairs(list) do list[k] = { alike.numbers, np.stack(alike.groups) } end
        return #x, list
    end
    x = columns.array(name, 1, "x", x)
    if x.ndim > 2 then
        raise(name, "x has one axis, or two for a box a column, got shape %s", core.shape_text(x))
    end
    local rows, numbers = x.ndim == 2 and x.T or x:reshape(1, -1), {}
    for k = 1, #rows do numbers[k] = k - 1 end
    return #rows, { { numbers, np.astype(rows, "f64") } }
end

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
local function all_statistics(groups, whis, positions)
    local parts, order = { low = {}, median = {}, high = {}, least = {}, greatest = {} }, {}
    local across, along = {}, {}
    for _, alike in ipairs(groups) do
        local numbers, s = alike[1], statistics(alike[2], whis)
        for key, list in pairs(parts) do list[#list + 1] = s[key] end
        for _, number in ipairs(numbers) do order[#order + 1] = number end
        local own = np.take(positions, numbers):expand_dims(1)
        along[#along + 1], across[#across + 1] = s.fliers:ravel(), np.broadcast_to(own, s.fliers.shape):ravel()
    end
    local places, all = np.argsort(np.array(order, { dtype = "i32" })), {}
    for key, list in pairs(parts) do all[key] = np.take(np.concatenate(list), places) end
    return all, np.concatenate(across), np.concatenate(along)
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

local function boxplot(axes, x, options)
    local name = "plot.boxplot"
    local o = core.options(name, options, box_options)
    local count, groups = groups_of(name, x)
    local lies, positions, labels = check(name, o, count)
    local places = np.array(positions, { dtype = "f64" })
    local s, across, along = all_statistics(groups, o.whis or 1.5, places)
    local wide, gap = o.widths or 0.5, np.full({ count }, core.NAN, { dtype = "f64" })
    local half, cap = wide / 2, wide / 4
    --- Lines through values at positions, one of as many points as the lists have for each box.
    local function lines(values, at, color)
        local v, p = np.stack(values, { axis = 1 }):ravel(), np.stack(at, { axis = 1 }):ravel()
        charts.line(axes, lies and v or p, lies and p or v,
                    { color = color, linewidth = o.linewidth or 1, alpha = o.alpha })
    end
    local left, right = places - cap, places + cap
    lines({ s.low, s.least, gap, s.least, s.least, gap, s.high, s.greatest, gap, s.greatest, s.greatest, gap },
          { places, places, gap, left, right, gap, places, places, gap, left, right, gap }, "k")
    local bars = lies and charts.barh or charts.bar
    bars(axes, places, s.high - s.low,
         { bottom = s.low, width = wide, color = o.color or "w", edgecolor = "k", label = o.label,
           alpha = o.alpha, linewidth = o.linewidth or 1 })
    lines({ s.median, s.median, gap }, { places - half, places + half, gap }, "C1")
    if o.showfliers ~= false then
        charts.scatter(axes, lies and along or across, lies and across or along, { color = "k", s = 20 })
    end
    local texts = {}
    for k, p in ipairs(positions) do texts[k] = labels and labels[k] or ("%g"):format(p) end
    figures.settings[lies and "yticks" or "xticks"](axes, positions, texts)
end

for _, f in ipairs { groups_of, statistics, all_statistics, check, boxplot } do jit.off(f, true) end

return boxplot
