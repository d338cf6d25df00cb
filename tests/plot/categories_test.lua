--- categories_test.lua (not under tsan): np.plot's error bars of bars, columns of texts along axes, and categories: the
-- layers that charts become, and what is refused.
local np = require "neap"
local check = require "tests.lib.check"

local plot = np.plot
local t = np.table { kind = { "cat", "dog", false, "eel", "dog", "cat" }, size = { 1, 2, 3, 4, 5, 6 } }

local function layers_of(figure) return figure.axes[1].layers end

--- The labels of the layers of a figure.
local function labels_of(figure)
    local list = {}
    for k, layer in ipairs(layers_of(figure)) do list[k] = layer.label or false end
    return list
end

--- The labels at the ticks of an axis.
local function ticks_of(figure, which)
    local list = {}
    for k, tick in ipairs(figure.axes[1].set[which .. "names"] or {}) do list[k] = tick.label end
    return list
end

local function numbers_of(x)
    local list = {}
    for k, value in ipairs(x:totable()) do list[k] = value == value and value or "none" end
    return list
end

check.test("bars have error bars at their ends", function()
    local options = { yerr = { 0.5, 1 }, bottom = 1, capsize = 4, width = 0.6 }
    local figure = plot.figure():bar({ "a", "b" }, { 3, 5 }, options)
    local bars, errors = layers_of(figure)[1], layers_of(figure)[2]
    check.equal({ bars.kind, errors.kind, errors.capsize, errors.color }, { "bars", "errorbar", 4, "000000" })
    check.equal({ errors.data.x:totable(), errors.data.y:totable() }, { { 0, 1 }, { 4, 6 } })
    check.equal({ errors.data.y_below:totable(), errors.data.y_above:totable() }, { { 0.5, 1 }, { 0.5, 1 } })
    check.ok(not errors.data.x_below)
    figure:legend { "bars" }
    check.equal(labels_of(figure), { "bars", false }, "the errors are no chart of their own")
    errors = layers_of(plot.figure():barh({ "a", "b" }, { 3, 5 }, { xerr = np.array { { 1, 2 }, { 3, 4 } } }))[2]
    check.equal({ errors.data.x:totable(), errors.data.y:totable() }, { { 3, 5 }, { 0, 1 } })
    check.equal({ errors.data.x_below:totable(), errors.data.x_above:totable() }, { { 1, 2 }, { 3, 4 } })
    local edge = layers_of(plot.figure():bar({ 0 }, { 1 }, { align = "edge", yerr = 1, ecolor = "red" }))[2]
    check.equal({ edge.offset.x, edge.color }, { 0.4, "ff0000" })
end)

check.test("bars side by side have their own errors", function()
    local height = np.array { { 1, 2 }, { 3, 4 } }
    local layers = layers_of(plot.figure():bar({ 0, 1 }, height, { yerr = height * 0.5 }))
    check.equal(#layers, 4)
    check.equal({ layers[4].data.y_above:totable(), layers[4].data.y:totable() }, { { 1, 2 }, { 2, 4 } })
    check.close(layers[4].offset.x, 0.2, 1e-12)
    check.equal(layers_of(plot.figure():bar({ 0, 1 }, height, { yerr = 1 }))[2].data.y_above:totable(), { 1, 1 })
    check.raises(function() plot.figure():bar({ 0, 1 }, height, { yerr = { 1, 2 } }) end, "yerr of bars side by side")
    check.raises(function() plot.figure():bar({ 0, 1 }, { 1, 2 }, { yerr = { 1, 2, 3 } }) end, "yerr must be a number")
    check.raises(function() plot.figure():bar({ 0, 1 }, { 1, 2 }, { yerr = "x" }) end, "yerr")
    check.raises(function() plot.figure():bar({ 0, 1 }, { 1, 2 }, { yerr = 1, capsize = -1 }) end, "capsize")
    check.raises(function() plot.figure():bar({ 0, 1 }, { 1, 2 }, { yerr = 1, ecolor = "no" }) end, "ecolor")
end)

check.test("columns of texts stand along any axis, in the order of their rows", function()
    local figure = plot.figure():scatter(t.kind, t.size)
    check.equal(ticks_of(figure, "x"), { "cat", "dog", "eel" })
    check.equal(numbers_of(layers_of(figure)[1].data.x), { 0, 1, "none", 2, 1, 0 })
    figure:line(t.size, t.kind, "o"):bar({ "eel", "fox" }, { 1, 2 })
    check.equal(numbers_of(layers_of(figure)[2].data.y), { 0, 1, "none", 2, 1, 0 })
    check.equal(numbers_of(layers_of(figure)[3].data.x), { 2, 3 })
    local sorted = plot.figure():barh(t:sort("kind", { descending = true }).kind, t.size)
    check.equal(ticks_of(sorted, "y"), { "eel", "dog", "cat" })
    local deep = plot.figure():scatter3d(t.size, t.size, t.kind)
    check.equal(ticks_of(deep, "z"), { "cat", "dog", "eel" })
    check.equal(#layers_of(plot.figure():line(t.kind)), 1)
    check.equal(#layers_of(plot.figure():step(t.kind, t.size):errorbar(t.kind, t.size)
                           :fill_between(t.kind, t.size)), 3)
end)

check.test("names are places of marks too", function()
    local axes = plot.figure():bar({ "a", "b" }, { 1, 2 }):axvline("b"):axvspan("a", "c"):text("b", 2, "here")
                 :annotate("there", { "a", 1 }, { xytext = { "b", 1 } }).axes[1]
    local marks = axes.marks
    check.equal({ marks[1].at, marks[2].from, marks[2].to, marks[3].x, marks[4].x, marks[4].tip[1] },
                { 1, 0, 2, 1, 1, 0 })
    check.raises(function() plot.figure():axvline({}) end, "finite number")
end)

check.test("each category is a chart with a colour and a label", function()
    local figure = plot.figure():scatter(t.size, t.size * 2, { hue = t.kind, s = t.size })
    check.equal(labels_of(figure), { "cat", "dog", "eel" })
    local cat = layers_of(figure)[1]
    check.equal({ cat.data.x:totable(), cat.data.y:totable(), cat.data.s:totable(), cat.color },
                { { 1, 6 }, { 2, 12 }, { 1, 6 }, "1f77b4" })
    -- In further charts, also of other axes of the figure, a category has its colour again.
    local two, axes = plot.subplots(1, 2)
    axes[1]:line({ 1, 2 }, { 1, 2 }, { hue = { "b", "a" } })
    axes[2]:step({ 1, 2 }, { 1, 2 }, { hue = { "a", "c" } })
    check.equal({ two.axes[2].layers[1].color, two.axes[2].layers[2].color }, { "ff7f0e", "2ca02c" })
    local given = plot.figure():line(t.size, t.size, { hue = t.kind, color = { "red", "k", { 0, 0, 1 } } })
    check.equal({ layers_of(given)[1].color, layers_of(given)[3].color }, { "ff0000", "0000ff" })
end)

check.test("whole numbers and booleans are categories, in their order", function()
    check.equal(labels_of(plot.figure():scatter(t.size, t.size, { hue = { 3, 1, 3, 1, 2, 2 } })), { "1", "2", "3" })
    check.equal(labels_of(plot.figure():scatter(t.size, t.size, { hue = t.size:gt(2) })), { "false", "true" })
    check.equal(labels_of(plot.figure():line({ 1, 2 }, { 1, 2 }, { hue = { true, false } })), { "false", "true" })
end)

check.test("a histogram has the same bins for each category", function()
    local x = np.arange(30, { dtype = "f64" })
    local layers = layers_of(plot.figure():hist(x, { bins = 3, hue = np.floor_divide(x, 20):astype "i32" }))
    check.equal({ layers[1].data.counts:totable(), layers[2].data.counts:totable() }, { { 10, 10, 0 }, { 0, 0, 10 } })
    check.equal({ layers[2].data.edges[3]:item(), layers[1].alpha }, { 29, 0.5 })
end)

check.test("boxes stand for categories", function()
    local axes = plot.figure():boxplot({ 1, 2, 3, 10, 20, 30 }, { by = t.kind }).axes[1]
    local labels = {}
    for k, tick in ipairs(axes.set.xticks) do labels[k] = tick.label end
    check.equal(labels, { "cat", "dog", "eel" })
    check.equal(axes.layers[3].data.y[0]:item(), 15.5, "the median of cats")
    check.raises(function() plot.figure():boxplot(np.ones { 3, 2 }, { by = { "a", "b", "c" } }) end, "one axis")
end)

check.test("what cannot be categories is refused", function()
    local figure, x = plot.figure(), np.arange(60)
    check.raises(function() figure:scatter(x, x, { hue = { "a", "b" } }) end, "hue must have 60 elements.*got 2")
    check.raises(function() figure:scatter(x, x, { hue = x }) end, "hue has more than 50 different values")
    check.raises(function() figure:scatter(x, x, { hue = x * 0.5 }) end, "whole numbers or booleans, got 0%.5")
    check.raises(function() figure:scatter(x, x, { hue = 3, c = x }) end, "hue and c exclude")
    check.raises(function() figure:line(x, x, { hue = x:lt(3), label = "a" }) end, "hue and label exclude")
    check.raises(function() figure:line(x, x, { hue = x:lt(3), color = "red" }) end, "a list of 2 colours")
    check.raises(function() figure:line(x, np.ones { 60, 2 }, { hue = x:lt(3) }) end, "y of one axis")
    check.raises(function() figure:scatter({ 1, 2 }, { 1, 2 }, { hue = { "a", 1 } }) end, "hue%[2%]")
    check.raises(function() np.jit(function(y) figure:line(y, { hue = y }) return y end)(x) end, "hue must have values")
    check.equal(#figure.axes[1].layers, 0)
end)

check.done()
