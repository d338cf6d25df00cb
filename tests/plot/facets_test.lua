--- facets_test.lua (not under tsan): np.plot's axes that share x or y, and figures of the categories and the pairs of a
-- table's columns.
local np = require "neap"
local check = require "tests.lib.check"
local script = require "neap.plot.script"

local plot = np.plot
local t = np.table { { "kind", { "cat", "dog", "cat", "eel", false } }, { "age", { 4, 2, 5, 1, 7 } },
                     { "old", { true, false, true, false, true } }, { "size", { 1.5, 2, 3, 4, 9 } } }

--- What gnuplot is given for each axes of a figure, a list of texts.
local function parts_of(figure)
    local list = {}
    for part in table.concat(script.of(figure, 640, 480, 1)):gmatch "reset\n(.-)\nplot " do list[#list + 1] = part end
    return list
end

--- The range of x or y of each axes, as text.
local function ranges_of(figure, which)
    local list = {}
    for k, part in ipairs(parts_of(figure)) do list[k] = part:match("set " .. which .. "range (%[.-%])") end
    return list
end

local function charts(options)
    local figure, axes = plot.subplots(2, 2, options)
    axes[1][1]:line { 0, 1 }
    axes[1][2]:line { 0, 10, 20 }
    axes[2][1]:line { 5, 100 }
    axes[2][2]:line({ 0, 50 }, { 3, 4 })
    return figure, axes
end

check.test("axes that share have one range", function()
    local x, y = ranges_of(charts { sharex = true, sharey = "row" }, "x"),
        ranges_of(charts { sharex = true, sharey = "row" }, "y")
    check.equal(x, { "[-2.5:52.5]", "[-2.5:52.5]", "[-2.5:52.5]", "[-2.5:52.5]" })
    check.equal({ y[1], y[3] }, { "[-1:21]", y[4] })
    check.ok(y[1] == y[2] and y[1] ~= y[3])
    x = ranges_of(charts { sharex = "col", sharey = "none" }, "x")
    check.ok(x[1] == x[3] and x[2] == x[4] and x[1] ~= x[2])
    y = ranges_of(charts { sharex = "col", sharey = "none" }, "y")
    check.ok(y[1] ~= y[2] and y[1] ~= y[3])
    check.ok(not parts_of(charts())[1]:find "margin", "others stand where gnuplot has them")
end)

check.test("bars stand on the edge of all axes that share", function()
    local figure, axes = plot.subplots(1, 2, { sharey = true })
    axes[1]:bar({ 1, 2 }, { 3, 20 })
    axes[2]:line { 5, 10 }
    check.equal(ranges_of(figure, "y"), { "[0:21]", "[0:21]" })
end)

check.test("what is set of a shared axis is set of all", function()
    local figure, axes = charts { sharex = true, sharey = "col" }
    axes[2][1]:xlim(1, 9):yscale "log"
    check.equal(ranges_of(figure, "x"), { "[1:9]", "[1:9]", "[1:9]", "[1:9]" })
    check.equal({ axes[1][1].set.yscale, axes[1][2].set.yscale or false }, { "log", false })
    local _, named = plot.subplots(1, 2, { sharex = true })
    named[1]:bar({ "a", "b" }, { 1, 2 })
    named[2]:bar({ "c", "a" }, { 1, 2 })
    check.equal(named[2].layers[1].data.x:totable(), { 2, 0 })
end)

check.test("labels stand at the outer axes, whose frames have one size", function()
    local figure, axes = charts { sharex = true, sharey = true }
    for _, row in ipairs(axes) do for _, own in ipairs(row) do own:xlabel("below"):ylabel("beside") end end
    local parts = parts_of(figure)
    for k, part in ipairs(parts) do
        check.equal({ part:find("below", 1, true) ~= nil, part:find("beside", 1, true) ~= nil }, { k > 2, k % 2 == 1 })
        check.equal({ part:find('set format x ""', 1, true) ~= nil, part:find('set format y ""', 1, true) ~= nil },
                    { k <= 2, k % 2 == 0 })
    end
    local function size(part)
        local left, right, top, bottom = part:match("lmargin at screen ([%d.]+)\nset rmargin at screen ([%d.]+)\n"
                                                    .. "set tmargin at screen ([%d.]+)\nset bmargin at screen ([%d.]+)")
        check.ok(tonumber(left) > 0 and right + 0 < 1 and top + 0 < 1 and bottom + 0 > 0)
        return right - left, top - bottom
    end
    local wide, high = size(parts[1])
    for k = 2, 4 do
        local w, h = size(parts[k])
        check.close(w, wide, 1e-5)
        check.close(h, high, 1e-5)
    end
    check.raises(function() plot.subplots(1, 2, { sharex = "rows" }) end, "sharex.*a boolean")
end)

check.test("a grid of facets has axes for each category", function()
    local seen = {}
    local function draw(axes, part)
        axes:scatter(part.size, part.age)
        seen[#seen + 1] = part.age:totable()
    end
    local figure = plot.facetgrid(t, draw, { col = "kind", col_wrap = 2 })
    check.equal({ seen, figure.rows, figure.columns, figure.axes[3].title_text, figure.axes[4].hidden },
                { { { 4, 5 }, { 2 }, { 1 } }, 2, 2, "kind = eel", true })
    seen = {}
    figure = plot.facetgrid(t, function(axes, part)
        plot.line(part.size) -- which adds to the axes too
        draw(axes:title "own", part)
    end, { row = "old", col = "kind", sharey = false, height = 2, aspect = 1.5 })
    check.equal({ seen, tostring(figure):match "%d+x%d+", #figure.axes[2].layers, figure.axes[1].title_text },
                { { {}, { 2 }, { 1 }, { 4, 5 }, {}, {} }, "900x400", 2, "own" })
    check.equal({ figure.share.x, figure.share.y or false }, { "all", false })
    check.equal(plot.facetgrid(t, function() end, { row = "old" }).axes[2].title_text, "old = true")
end)

check.test("a pair plot has points of pairs, and histograms", function()
    local figure = plot.pairplot(t, { hue = "kind" })
    check.equal({ figure.rows, figure.columns }, { 3, 3 }, "age, old, size")
    figure = plot.pairplot(t, { vars = { "age", "size" }, hue = "kind", color = { "r", "g", "b" }, bins = 4 })
    local first, second = figure.axes[1], figure.axes[2]
    check.equal({ #first.layers, #second.layers, second.layers[3].label, second.layers[1].color },
                { 0, 3, "eel", "ff0000" })
    check.equal(second.layers[1].data.y:totable(), { 4, 5 })
    check.equal({ second.xlabel_text, second.ylabel_text, second.legend_place, first.legend_place },
                { "size", "age", "outside", "none" })
    local twin = figure.axes[5]
    check.equal({ twin.over, twin.layers[1].kind, twin.layers[1].data.counts.size }, { 1, "hist", 4 })
    check.equal(#parts_of(figure), 4)
    check.ok(parts_of(figure)[1]:find("unset y2tics", 1, true))
    check.equal(#plot.pairplot(t, { vars = { "age" } }).axes[1].layers, 1)
end)

check.test("what are no facets is refused", function()
    local function nothing() end
    check.raises(function() plot.facetgrid({}, nothing, { col = "kind" }) end, "argument 1 %(t%)")
    check.raises(function() plot.facetgrid(t, 3, { col = "kind" }) end, "argument 2 %(f%)")
    check.raises(function() plot.facetgrid(t, nothing) end, "col and row name columns")
    check.raises(function() plot.facetgrid(t, nothing, { col = "no" }) end, "no")
    check.raises(function() plot.facetgrid(t, nothing, { col = "size" }) end, "column 'size' must be texts, whole")
    check.raises(function() plot.facetgrid(t, nothing, { col = "kind", row = "old", col_wrap = 2 }) end, "exclude")
    check.raises(function() plot.facetgrid(t, nothing, { col = "kind", col_wrap = 0 }) end, "col_wrap")
    check.raises(function() plot.facetgrid(t, nothing, { col = "kind", height = 0 }) end, "height")
    check.raises(function() plot.pairplot({}) end, "argument 1 %(t%)")
    check.raises(function() plot.pairplot(t, { vars = { "kind" } }) end, "'kind' is of texts")
    check.raises(function() plot.pairplot(t, { hue = 3 }) end, "hue")
    check.raises(function() plot.pairplot(np.table { a = { "x" } }) end, "no columns of numbers")
end)

check.done()
