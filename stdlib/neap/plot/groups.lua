--- groups.lua: the groups of charts that show one thing for each: boxes and violins. Which they are, where they stand,
-- and which texts are below them.
local columns = require "neap.plot.columns"
local core = require "neap.core"
local figures = require "neap.plot.figure"
local names = require "neap.plot.names"

local np = core.np
local is_array, raise, bad_argument = core.is_array, core.raise, core.bad_argument
local groups = {}

groups.options = { positions = true, widths = true, tick_labels = true, orientation = true, color = true, label = true,
                   alpha = true, linewidth = true, by = true }

--- The arrays of a list, with the numbers of those of one size: { numbers from 0, an array with a group in each row }.
local function stacked(name, list)
    local by_size, found = {}, {}
    for k, values in ipairs(list) do
        values = np.astype(columns.vector(name, 1, ("x[%d]"):format(k), values), "f64")
        local alike = by_size[values.size]
        if not alike then
            alike = { numbers = {}, groups = {} }
            by_size[values.size], found[#found + 1] = alike, alike
        end
        alike.numbers[#alike.numbers + 1], alike.groups[#alike.groups + 1] = k - 1, values
    end
    for k, alike in ipairs(found) do found[k] = { alike.numbers, np.stack(alike.groups) } end
    return found
end

--- The groups of an argument, f64: the arrays of a list, the columns of a matrix, one vector, or, with categories of
-- each element, the elements of each. How many; a list of groups of one size each, as `stacked` gives them; and the
-- names of categories.
function groups.of(name, x, by)
    if by ~= nil then
        x = columns.vector(name, 1, "x", x)
        local list, labels = {}, {}
        for k, category in ipairs(names.categories(name, "by", by, x.size)) do
            list[k], labels[k] = np.take(x, category.rows), category.label
        end
        return #list, stacked(name, list), labels
    end
    if type(x) == "table" and not is_array(x) and (is_array(x[1]) or type(x[1]) == "table") then
        return #x, stacked(name, core.list(name, "the list of groups", x))
    end
    x = columns.array(name, 1, "x", x)
    if x.ndim > 2 then
        raise(name, "x has one axis, or two for a column each, got shape %s", core.shape_text(x))
    end
    local rows, numbers = x.ndim == 2 and x.T or x:reshape(1, -1), {}
    for k = 1, #rows do numbers[k] = k - 1 end
    return #rows, { { numbers, np.astype(rows, "f64") } }
end

--- Whether the charts lie, where they stand, and their texts, from the options of `count` groups.
function groups.places(name, o, count)
    local orientation = o.orientation or "vertical"
    if orientation ~= "vertical" and orientation ~= "horizontal" then
        bad_argument(name, nil, "orientation", '"vertical" or "horizontal"', orientation)
    end
    for _, what in ipairs { "widths", "whis" } do -- whis: of boxes
        local value = o[what]
        if value ~= nil and not (type(value) == "number" and value >= 0 and value < math.huge) then
            bad_argument(name, nil, what, "a number from 0 on", value)
        end
    end
    local labels = o.tick_labels
    if type(labels) == "userdata" then labels = labels:totable() end
    if labels ~= nil and (type(labels) ~= "table" or #labels ~= count) then
        bad_argument(name, nil, "tick_labels", ("a list of %d texts"):format(count), labels)
    end
    if labels ~= nil then core.list(name, "option 'tick_labels'", labels) end
    local positions = {}
    if o.positions ~= nil then
        local given = columns.vector(name, nil, "positions", o.positions)
        if given.size ~= count then raise(name, "%d positions for %d groups", given.size, count) end
        positions = given:totable()
    else
        for k = 1, count do positions[k] = k end
    end
    return orientation == "horizontal", positions, labels
end

--- Arrays by group, of the lists of all sizes, in the order of the groups: parts[key] is a list with an array for each
-- size, whose rows are groups; groups_given: as `groups.of` has them.
function groups.in_order(groups_given, parts)
    local order, all = {}, {}
    for _, alike in ipairs(groups_given) do
        for _, number in ipairs(alike[1]) do order[#order + 1] = number end
    end
    local places = np.argsort(np.array(order, { dtype = "i32" }))
    for key, list in pairs(parts) do all[key] = np.take(np.concatenate(list), places, { axis = 0 }) end
    return all
end

--- Sets the ticks of an axis to the positions of groups, with their texts.
function groups.set_ticks(axes, lies, positions, labels)
    local texts = {}
    for k, p in ipairs(positions) do texts[k] = labels and labels[k] or ("%g"):format(p) end
    figures.settings[lies and "yticks" or "xticks"](axes, positions, texts)
end

for _, key in ipairs { "of", "places", "in_order", "set_ticks" } do jit.off(groups[key], true) end
jit.off(stacked)

return groups
