--- shapes_test.lua (sanitized with --long): np.plot's pies, violins and fields of arrows: their layers, and where
-- colours are in their pictures.
local np = require "neap"
local check = require "tests.lib.check"
local script = require "neap.plot.script"

local plot = np.plot
local temporary = os.tmpname()
os.remove(temporary)

--- Runs a test that needs gnuplot.
local function test(name, f)
    if os.execute "command -v gnuplot >/dev/null" ~= 0 then
        return check.skip(name, "gnuplot is not here (package gnuplot-nox)")
    end
    check.test(name, f)
end

--- Which share of a figure's pixels has a colour, in a part of the picture, from 0 to 1 each way.
local function share(figure, want, left, right, top, bottom)
    figure:save(temporary .. ".png", { dpi = 50 })
    local rows = np.io.load_image(temporary .. ".png"):totable()
    os.remove(temporary .. ".png")
    local found, all = 0, 0
    for r = math.floor(#rows * (top or 0)) + 1, math.floor(#rows * (bottom or 1)) do
        for c = math.floor(#rows[1] * (left or 0)) + 1, math.floor(#rows[1] * (right or 1)) do
            local p = rows[r][c]
            local off = math.abs(p[1] - want[1]) + math.abs(p[2] - want[2]) + math.abs(p[3] - want[3])
            found, all = found + (off < 90 and 1 or 0), all + 1
        end
    end
    return found / all
end

local RED, BLUE, GREEN = { 255, 0, 0 }, { 0, 0, 255 }, { 0, 128, 0 }

test("the wedges of a pie have their angles, against the clock from the right", function()
    local colors = { "red", "blue", "green" }
    local figure = plot.figure():pie({ 1, 2, 1 }, { colors = colors })
    local red, blue, green = share(figure, RED), share(figure, BLUE), share(figure, GREEN)
    check.close(blue / red, 2, 0.1)
    check.close(green / red, 1, 0.1)
    check.ok(share(figure, RED, 0.5, 1, 0, 0.5) > 0.9 * red / 4, "red is above, on the right")
    check.ok(share(figure, RED, 0, 0.48) == 0 and share(figure, BLUE, 0.52, 1) == 0)
    local turned = plot.figure():pie({ 1, 2, 1 }, { colors = colors, startangle = 90, counterclock = false })
    check.ok(share(turned, RED, 0.5, 1, 0.52, 1) == 0 and share(turned, RED, 0, 0.48) == 0, "with the clock")
    check.ok(share(turned, GREEN, 0.52, 1) == 0)
    check.ok(share(plot.figure():pie({ 1 }, { colors = { "red" } }), RED) > 2 * red, "a whole circle")
    check.ok(share(plot.figure():pie({ 0, np.nan, 3 }, { colors = colors }), GREEN) > 2 * red, "NaN counts as 0")
end)

test("a pie has labels and per cent, in the picture, however long they are", function()
    local long = ("word "):rep(30)
    local figure = plot.figure():pie({ 1, 3 }, { labels = { "frogs", long }, autopct = "%.1f%%" })
    local svg = figure:svg()
    check.ok(svg:find ">frogs<" and svg:find ">25%.0%%<" and svg:find ">75%.0%%<")
    for x, size, words in svg:gmatch 'translate%(([%d%.]+),[%d%.]+%)"[^>]*font%-size="([%d%.]+)"[^>]*>(.-)</text>' do
        local letters = #words:gsub("<[^>]*>", "")
        check.ok(letters * tonumber(size) * 0.5 < 640 and tonumber(x) < 640 and tonumber(x) > 0)
    end
    check.ok(plot.figure():pie({ 0, 0 }):svg():find("no data", 1, true))
    check.ok(plot.figure():pie({}):svg():find "</svg>")
    check.raises(function() plot.figure():pie({ 1, -1 }):svg() end, "x%[1%] is %-1")
end)

check.test("the options of a pie are checked", function()
    local figure = plot.figure()
    check.raises(function() figure:pie({ 1, 2 }, { labels = { "a" } }) end, "labels.*a list of 2 texts")
    check.raises(function() figure:pie({ 1, 2 }, { colors = { "red", "no" } }) end, "color.*a colour")
    check.raises(function() figure:pie({ 1, 2 }, { explode = { 0, "x" } }) end, "explode%[2%]")
    check.raises(function() figure:pie({ 1, 2 }, { autopct = "%d%q" }) end, "autopct")
    check.raises(function() figure:pie({ 1, 2 }, { counterclock = 1 }) end, "counterclock")
    check.raises(function() figure:pie({ 1, 2 }, { radius = 0 }) end, "radius")
    check.raises(function() figure:pie(np.ones { 2, 2 }) end, "one axis")
    check.equal(#figure.axes[1].layers, 0)
    figure:pie({ 1, 2 }):legend { "one", "two" }
    check.equal(figure.axes[1].layers[2].label, "two")
end)

--- The half widths of a violin, in parts of the greatest.
local function profile(figure, points)
    local x = figure.axes[1].layers[1].data.x
    local half = (x[{ { points, 2 * points } }]["::-1"] - x[{ { 0, points } }]) / 2
    return (half / np.max(half)):totable()
end

-- Of scipy.stats.gaussian_kde([1, 2, 2.5, 4, 7], bw_method=rule)(numpy.linspace(1, 7, 5)), in parts of the greatest.
local DENSITIES = {
    scott = { 0.816523950623485, 1, 0.7755648223324334, 0.5108987491264219, 0.3750442138069091 },
    silverman = { 0.8232908492021181, 1, 0.8008356684472658, 0.540977853848046, 0.384697627193587 },
    [0.3] = { 0.7394756626773896, 1, 0.5655781793255145, 0.10214085847935014, 0.5059080988207191 },
}

check.test("a violin is as wide as SciPy's density", function()
    for rule, want in pairs(DENSITIES) do
        for _, values in ipairs { { 1, 2, 2.5, 4, 7 }, { 1, np.nan, 2, 2.5, np.inf, 4, 7 } } do
            local got = profile(plot.figure():violinplot(values, { bw_method = rule, points = 5 }), 5)
            for k = 1, 5 do check.close(got[k], want[k], 1e-12, tostring(rule)) end
        end
    end
end)

check.test("violins stand side by side, or lie, one for each group", function()
    local figure = plot.figure():violinplot({ { 1, 2 }, { 5, 6, 7 }, { 3 } }, { label = "v", points = 4 })
    local layers = figure.axes[1].layers
    check.equal({ #layers, layers[1].kind, layers[1].label, layers[2].label }, { 4, "area", "v" })
    check.equal(np.max(layers[2].data.x):item(), 2.25)
    check.equal({ np.min(layers[2].data.y):item(), np.max(layers[2].data.y):item() }, { 5, 7 })
    local by = plot.figure():violinplot({ 1, 5, 2, 6 }, { by = { "b", "a", "b", "a" }, orientation = "horizontal" })
    layers = by.axes[1].layers
    check.equal({ np.min(layers[1].data.x):item(), np.max(layers[1].data.x):item() }, { 1, 2 })
    check.equal(by.axes[1].set.yticks[1].label, "b")
    local medians = plot.figure():violinplot({ { 1, 2, 6 } }, { showmedians = true, showmeans = true,
                                                               showextrema = false }).axes[1].layers
    check.equal({ medians[2].data.y[0]:item(), medians[3].data.y[0]:item(), #medians }, { 3, 2, 3 })
end)

test("violins of nothing, of one value and of equal ones are drawn", function()
    for _, values in ipairs { {}, { 3 }, { 3, 3, 3 }, { np.nan }, { {}, { 1, 2 } } } do
        check.ok(plot.figure():violinplot(values):svg():find "</svg>")
    end
    check.ok(share(plot.figure():violinplot({ { 1, 2, 3 } }, { color = "red", alpha = 1 }):axis "off", RED) > 0.1)
end)

check.test("the options of a violin are checked", function()
    local figure = plot.figure()
    for option, value in pairs { points = 1, bw_method = "wide", showmeans = 1, widths = -1, orientation = "up",
                                 tick_labels = { "a", "b" }, positions = { 1, 2 }, by = { "a" } } do
        check.raises(function() figure:violinplot({ 1, 2, 3 }, { [option] = value }) end, option)
    end
    check.equal(#figure.axes[1].layers, 0)
end)

--- The arrows of a figure with one chart: { x, y, dx, dy } each, as gnuplot gets them.
local function arrows(figure)
    local list = script.of(figure, 640, 480, 1)
    local bytes = list[#list]
    local numbers, found = require("ffi").cast("const double *", bytes), {}
    for k = 0, #bytes / 32 - 1 do
        found[k + 1] = { numbers[4 * k], numbers[4 * k + 1], numbers[4 * k + 2], numbers[4 * k + 3] }
    end
    return found
end

check.test("arrows end where their components lead", function()
    local options = { angles = "xy", scale_units = "xy", scale = 2 }
    local got = arrows(plot.figure():quiver({ 0, 1 }, { 0, 10 }, { 1, 1 }, { 5, -5 }, options))
    for k, want in ipairs { { 0, 0, 0.5, 2.5 }, { 1, 10, 0.5, -2.5 } } do
        for j = 1, 4 do check.close(got[k][j], want[j], 1e-12) end
    end
    options.pivot = "tip"
    got = arrows(plot.figure():quiver({ 0, 1 }, { 0, 10 }, { 1, 1 }, { 5, -5 }, options))
    check.close(got[1][1], -0.5, 1e-12)
    check.close(got[1][2] + got[1][4], 0, 1e-12)
    -- Equal components are 45 degrees in the picture, not on the axes, and so they are on turned ones.
    got = arrows(plot.figure():quiver({ 0, 1 }, { 0, 100 }, { 1, 1 }, { 1, 1 }))
    check.close(got[1][4] / got[1][3], 100 * 540 / 420, 1)
    got = arrows(plot.figure():quiver({ 0, 1 }, { 0, 1 }, { 1, 1 }, { 0, 0 }):xlim(1, 0))
    check.ok(got[1][3] < 0, "to the right")
    local power = arrows(plot.figure():quiver({ 1, 10 }, { 1, 1 }, { 1, 1 }, { 0, 0 }):xscale "log")
    check.close(power[2][3] / power[1][3], 10, 1e-9)
end)

check.test("a field of two axes has places of columns and rows", function()
    local u = np.ones { 2, 3 }
    for _, figure in ipairs { plot.figure():quiver(u, u * 0), plot.figure():quiver({ 0, 1, 2 }, { 0, 1 }, u, u * 0),
                              plot.figure():quiver(np.array { { 0, 1, 2 }, { 0, 1, 2 } },
                                                   np.array { { 0, 0, 0 }, { 1, 1, 1 } }, u, u * 0) } do
        local data = figure.axes[1].layers[1].data
        check.equal({ data.x:totable(), data.y:totable() }, { { 0, 1, 2, 0, 1, 2 }, { 0, 0, 0, 1, 1, 1 } })
    end
    check.raises(function() plot.figure():quiver({ 1 }, { 1 }) end, "needs x and y")
    check.raises(function() plot.figure():quiver({ 1, 2 }, { 1, 2 }, { 1 }, { 1, 2 }) end, "one shape")
    check.raises(function() plot.figure():quiver({ 1, 2, 3 }, { 1, 2 }, { 1, 1 }, { 1, 2 }) end, "x has a place")
    check.raises(function() plot.figure():quiver(u, u, { c = { 1, 2 } }) end, "u and c")
    check.raises(function() plot.figure():quiver(u, u, { pivot = "end" }) end, "pivot")
    check.raises(function() plot.figure():quiver(u, u, { scale_units = "xy" }) end, "angles")
    check.raises(function() plot.figure():quiver(u, u, { scale = 0 }) end, "scale")
end)

test("arrows have colours", function()
    local u = np.ones { 3, 3 }
    check.ok(share(plot.figure():quiver(u, u, { color = "red", linewidth = 4 }), RED) > 0.002)
    for _, alpha in ipairs { 1, 0.9 } do
        local figure = plot.figure():quiver(u, u, { c = u * 2, vmin = 1, vmax = 2, alpha = alpha, linewidth = 4 })
        check.ok(share(figure, { 253, 231, 37 }) > 0.001, "the last colour of the map")
    end
    check.ok(plot.figure():quiver(u * np.nan, u):svg():find "</svg>")
    check.ok(plot.figure():quiver({}, {}, {}, {}):svg():find("no data", 1, true))
end)

check.done()
