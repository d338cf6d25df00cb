--- files_test.lua (sanitized with --long): np.plot's pictures in files: curves where they should be, in their colours;
-- SVG that is well-formed and has the texts; what cannot be drawn is refused by name.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local script = require "neap.plot.script"

local plot = np.plot
local temporary = os.tmpname()
os.remove(temporary)

local function has(program)
    return os.execute(("command -v %s >/dev/null"):format(program)) == 0
end

--- Runs a test that needs gnuplot.
local function test(name, f)
    if not has "gnuplot" then return check.skip(name, "gnuplot is not here (package gnuplot-nox)") end
    check.test(name, f)
end

--- The pixels of a figure's PNG as a function (x, y) → {r, g, b}, its width and its height.
local function pixels(figure, options)
    figure:save(temporary .. ".png", options)
    local x = np.io.load_image(temporary .. ".png")
    os.remove(temporary .. ".png")
    local rows = x:totable()
    return function(column, row)
        local p = rows[row + 1][column + 1]
        return { p[1], p[2], p[3] }
    end, x.shape[2], x.shape[1]
end

local function near(color, want)
    for k = 1, 3 do
        if math.abs(color[k] - want[k]) > 70 then return false end
    end
    return true
end

--- Rows, from the top, where a column has a colour.
local function rows_of(at, height, column, want)
    local list = {}
    for row = 0, height - 1 do
        if near(at(column, row), want) then list[#list + 1] = row end
    end
    return list
end

local RED, BLUE, WHITE = { 255, 0, 0 }, { 31, 119, 180 }, { 255, 255, 255 }

test("a line is where its points are", function()
    local figure = plot.figure():line({ 0, 1 }, { 0, 1 }, { color = "red", linewidth = 3 }):axis "off"
    local at, width, height = pixels(figure)
    check.equal({ width, height }, { 640, 480 })
    local left, right = rows_of(at, height, 160, RED), rows_of(at, height, 480, RED)
    check.ok(#left > 0 and #right > 0, "no red")
    check.ok(left[1] > 0.6 * height and right[1] < 0.4 * height, ("%d, %d"):format(left[1], right[1]))
end)

test("NaN and infinity are gaps", function()
    local y = np.where(np.logical_and(np.arange(300):gt(100), np.arange(300):lt(200)), np.nan, 1)
    local at, _, height = pixels(plot.figure():line(y, { color = "red", linewidth = 4 }):axis "off")
    check.ok(#rows_of(at, height, 150, RED) > 0)
    check.equal(#rows_of(at, height, 320, RED), 0)
    check.ok(#rows_of(at, height, 500, RED) > 0)
    pixels(plot.figure():line { 1, np.inf, -np.inf, np.nan, 2 })
end)

test("an error bar is whole, and there is none of an error that is NaN", function()
    local options = { yerr = { 1, 1, np.nan, np.inf }, color = "red", linewidth = 3, linestyle = "none" }
    local figure = plot.figure():errorbar({ 0, 1, 2, 3 }, { 5, 5, 5, 5 }, options)
    local at, width, height = pixels(figure:xlim(-0.5, 3.5):ylim(0, 10):axis "off")
    local bars, last = 0, -10 -- the last column of a bar
    for column = 0, width - 1 do
        local rows = rows_of(at, height, column, RED)
        if #rows > height / 10 then
            check.equal(rows[#rows] - rows[1] + 1, #rows, "a gap in the bar at column " .. column)
            if column > last + 1 then bars = bars + 1 end
            last = column
        end
    end
    check.equal(bars, 2)
end)

test("labels of ticks do not touch, and differ", function()
    local figure, axes = plot.subplots(2, 3)
    axes[1][1]:line { 0, 1, 4, 9, 16 }
    local svg = figure:svg()
    check.ok(svg:find ">%s*2<" and not svg:find ">%s*2%.5<", "x has ticks at 0, 1, 2 …")
    check.ok(plot.figure():line { 0, 1, 4, 9, 16 }:svg():find ">%s*2%.5<", "where there is room also between them")
    svg = plot.figure():line(1e9 + np.arange(5, { dtype = "f64" })):svg()
    check.ok(svg:find ">%s*1000000003<" and svg:find ">%s*1000000001%.5<", svg)
    svg = plot.figure():line({ 123456, 123457, 123458 }, { 1, 2, 3 }):svg()
    check.ok(svg:find ">%s*123457<" and svg:find ">%s*123456<", svg)
end)

test("labels of low axes do not touch either, nor do names", function()
    local figure, axes = plot.subplots(4, 4)
    for row = 1, 4 do
        for column = 1, 4 do axes[row][column]:line(np.arange(5) * 1e5) end
    end
    local svg = figure:svg()
    check.ok(svg:find ">%s*200000<" and not svg:find ">%s*50000<")
    local names = {}
    for k = 1, 60 do names[k] = "item" .. k end
    svg = plot.figure():bar({ names[1], names[2], names[3] }, { 1, 2, 3 }):svg()
    check.ok(svg:find ">%s*item2<" and not svg:find "rotate%(%-45")
    svg = plot.figure():bar({ unpack(names, 1, 15) }, np.arange(15)):svg()
    check.ok(svg:find ">%s*item2<" and svg:find "rotate%(%-45", "names that would touch are aslant")
    svg = plot.figure():bar(names, np.arange(60)):svg()
    check.ok(svg:find ">%s*item1<" and not svg:find ">%s*item2<", "and so many that there is no room for all")
    svg = plot.figure():barh(names, np.arange(60)):svg()
    check.ok(svg:find ">%s*item1<" and not svg:find ">%s*item2<" and not svg:find "rotate%(%-45")
    svg = plot.figure { figsize = { 4, 3 } }:barh({ "a name that takes half the width", "b" }, { 1e6, 2e6 }):svg()
    check.ok(not svg:find ">%s*500000<", "long names leave less room to the numbers")
end)

test("ticks of a low or narrow image do not touch, nor those of its colour bar", function()
    local function step_of(figure, which)
        local text = table.concat(script.of(figure, 640, 480, 1))
        return tonumber(text:match("set " .. which .. "tics ([%d.]+)\n"))
    end
    local low, narrow = plot.figure():imshow(np.zeros { 10, 200 } + np.arange(200), { colorbar = true }),
        plot.figure():imshow(np.zeros { 200, 10 })
    check.equal({ step_of(low, "y"), step_of(low, "cb"), step_of(narrow, "x") }, { 10, 100, 10 })
end)

test("a legend has room in the picture", function()
    local label = ("long "):rep(60)
    local svg = plot.figure():line({ 1, 2 }, { label = label }):line({ 2, 1 }, { label = "b" }):svg()
    check.ok(svg:find "long l?o?n?g?…" and svg:find ">b<")
    check.ok(not svg:gsub("<title>.-</title>", ""):find(("long "):rep(20)))
end)

test("texts that are long are small, or of more lines, and lie within the picture", function()
    local function sizes(figure)
        local list = {}
        for size, content in figure:svg():gmatch 'font%-size="([%d%.]+)"[^>]*>(.-)</text>' do
            local letters = content:gsub("<[^>]*>", ""):gsub("^%s+", "")
            if letters:find "xx" then list[#list + 1] = { tonumber(size), #letters } end
        end
        return list
    end
    for _, what in ipairs { "title", "xlabel", "ylabel", "suptitle" } do
        for _, count in ipairs { 10, 60, 76, 300 } do
            local figure = plot.figure():line { 1, 2 }
            figure[what](figure, ("xx"):rep(count / 2))
            local list, letters = sizes(figure), 0
            for _, line in ipairs(list) do
                check.ok(0.55 * line[1] * line[2] < (what == "ylabel" and 480 or 640), what .. count)
                letters = letters + line[2]
            end
            check.equal(letters, count, what)
            check.ok(#list == 1 or count == 300, #list)
        end
    end
    local svg = plot.figure():line({ 1 }, { label = "one\ntwo" }):svg()
    check.ok(svg:find("one two", 1, true), "a label of the legend has one line")
end)

test("a line whose values hardly differ is not flat", function()
    for _, extent in ipairs { 1e-14, 1e-13, 1e-9, 1 } do
        local y = np.array({ 1, 1 + extent }, { dtype = "f64" })
        local at, _, height = pixels(plot.figure():line(y, { color = "red", linewidth = 3 }):axis "off")
        local left, right = rows_of(at, height, 160, RED), rows_of(at, height, 480, RED)
        check.ok(left[1] > 0.6 * height and right[1] < 0.4 * height, ("%g: %d, %d"):format(extent, left[1], right[1]))
    end
end)

test("a character that no font has spoils no picture", function()
    local private, unknown = "\244\143\191\189", "\239\191\189"
    local function figure(title) return plot.figure():line({ 1, 2, 3 }, { label = "µ " .. title }):title(title) end
    check.ok(figure(private):png() == figure(unknown):png())
    check.ok(figure("é" .. private):png() ~= figure("e" .. private):png(), "others stay")
    check.ok(figure(private):svg():find(private, 1, true), "whoever looks at an SVG may have a font")
end)

test("logarithmic axes have the range of doubles", function()
    local y = np.array({ 1e-200, 1, 1e200 }, { dtype = "f64" })
    local at, _, height = pixels(plot.figure():line(y, { color = "red", linewidth = 6 }):yscale("log"):axis "off")
    for _, column in ipairs { 100, 320, 540 } do check.ok(#rows_of(at, height, column, RED) > 0) end
end)

test("bars have their heights, images their colours", function()
    local at, width, height = pixels(plot.figure():bar({ 0, 1 }, { 1, 4 }, { width = 1 }):axis "off")
    local low = rows_of(at, height, math.floor(width * 0.3), BLUE)
    local high = rows_of(at, height, math.floor(width * 0.7), BLUE)
    check.close(#high / #low, 4, 0.3)
    at, width, height = pixels(plot.figure():imshow(np.array { { { 255, 0, 0 }, { 0, 0, 255 } } }:astype "u8",
                                                    { aspect = "auto" }):axis "off")
    check.ok(near(at(math.floor(width * 0.25), height / 2), RED))
    check.ok(near(at(math.floor(width * 0.75), height / 2), { 0, 0, 255 }))
    at = pixels(plot.figure():imshow(np.array { { 0, 1 }, { np.nan, 0.5 } }, { aspect = "auto" }):axis "off")
    check.ok(near(at(160, 120), { 68, 1, 84 }), "the map's first colour")
    check.ok(near(at(480, 120), { 253, 231, 37 }), "its last")
    check.ok(near(at(160, 360), WHITE), "NaN")
    check.ok(near(at(480, 360), { 33, 144, 140 }), "its middle")
end)

test("every chart is drawn", function()
    local x, y = np.linspace(1, 4, 20), np.linspace(1, 2, 12)
    local z = np.outer(y, x)
    local charts = {
        function(a) a:line({ 1, 2, 3 }, "ro--", { label = "a" }):legend { loc = "upper left" } end,
        function(a) a:line(np.ones { 5, 3 }, { label = { "a", "b", "c" } }):grid() end,
        function(a) a:step({ 1, 2, 3 }, { where = "mid" }):xlabel("x"):ylabel "y" end,
        function(a) a:scatter(x, x, { c = x, s = x, alpha = 0.5, cmap = "magma_r" }):colorbar { label = "c" } end,
        function(a) a:scatter(x, x, { c = "red", marker = "s" }):xscale("log"):yscale "log" end,
        function(a) a:bar({ "a", "b" }, { 1, 2 }, { edgecolor = "k", bottom = { 1, 2 } }) end,
        function(a) a:barh({ "a", "b" }, np.array { { 1, 2 }, { 3, 4 } }, { label = { "u", "v" } }) end,
        function(a) a:hist(np.arange(100) * 0.1, { bins = 5, density = true }):yscale "log" end,
        function(a) a:hist(x, { histtype = "step", cumulative = true, label = "h" }) end,
        function(a) a:errorbar(x, x, { yerr = 0.1, xerr = np.stack { x, x } * 0.1, fmt = "o", capsize = 2 }) end,
        function(a) a:fill_between(x, x, x * 2, { alpha = 0.3 }):axhline(2):axvline(2, { linestyle = ":" }) end,
        function(a) a:heatmap(z, { annot = true }):text(1, 1, "here", { fontsize = 20, rotation = 30 }) end,
        function(a) a:imshow(z, { extent = { 0, 1, 0, 1 }, origin = "lower", colorbar = true }) end,
        function(a) a:image(np.ones { 4, 4, 4 }) end,
        function(a) a:contourf(x, y, z, { colorbar = true }):contour(x, y, z, { colors = "w", levels = { 2, 3 } }) end,
        function(a) a:surface(x, y, z, { elev = 60, azim = 10 }):zlabel("z"):zlim(0, 10) end,
        function(a) a:surface(z, { wireframe = true }) end,
        function(a) a:scatter3d(x, x, x, { c = x }) end,
        function(a) a:loglog(x, x):xticks({ 1, 2 }, { "one", "two" }):xlim(10, 1) end,
        function(a) a:semilogy(x * 100 - 200):title "some are not positive" end,
    }
    local figure, axes = plot.subplots(4, 5, { figsize = { 12, 9 } })
    for k, chart in ipairs(charts) do chart(axes[math.floor((k - 1) / 5) + 1][(k - 1) % 5 + 1]) end
    figure:suptitle "all"
    check.ok(#figure:png() > 20000)
    check.ok(figure:svg():find("</svg>%s*$"))
end)

local NASTY = "a'b\"c`touch " .. temporary .. "`$HOME @x {} ^_ & <b> \\n %d ü €\nsecond \1\255 line"

test("texts are themselves", function()
    local figure = plot.figure():line({ 1, 2 }, { label = NASTY }):title(NASTY):xlabel(NASTY):ylabel(NASTY)
    figure:text(0, 1, NASTY):xticks({ 0 }, { NASTY }):suptitle(NASTY)
    local svg = figure:svg()
    check.ok(not io.open(temporary), "a text was run")
    local body = svg:gsub("<tspan[^>]*>", ""):gsub("</tspan>", "")
    for _, part in ipairs { "a'b", "$HOME", "@x", "{}", "^_", "&amp;", "&lt;b&gt;", "\\n %d", "ü €", "second" } do
        check.ok(body:find(part, 1, true), part .. " is not in the picture")
    end
    check.ok(not svg:find "[%z\1-\8\255]")
    if has "xmllint" then
        local path = process.file(svg)
        local status, _, err = process.run { "xmllint", "--noout", "--nonet", path }
        check.equal(status, 0, err)
    end
    local enhanced = plot.figure { enhanced = true }:line({ 1, 2 }):title "x^2":svg()
    check.ok(enhanced:find("<title>x^2</title>", 1, true))
    check.ok(not enhanced:gsub("<title>.-</title>", ""):find("x^2", 1, true))
end)

test("long arrays draw the same picture as what is seen of them", function()
    local x = np.arange(400000)
    local y = np.sin(x * 1e-4) + np.where(np.equal(x, 123456), 5, 0)
    local figure = plot.figure():line(x, y, { color = "red" }):axis "off"
    check.ok(#figure:svg() < 200000, "a file as long as the array")
    local at, _, height = pixels(figure)
    local column, found = math.floor(640 * (0.05 + 0.9 * 123456 / 400000) / 1.0), false
    for c = column - 20, column + 20 do -- the one point that is far away is there
        local list = rows_of(at, height, c, RED)
        found = found or #list > 0 and list[1] < height * 0.2
    end
    check.ok(found)
    check.ok(#plot.figure():scatter(np.zeros { 200000 }, np.zeros { 200000 }):svg() < 50000)
    check.ok(#plot.figure():scatter(np.zeros { 50000 }, np.zeros { 50000 }, { alpha = 0.5 }):svg() < 50000)
end)

test("what is empty says so", function()
    check.ok(plot.figure():line({}):svg():find("no data", 1, true))
    check.ok(plot.figure():line(np.full({ 4 }, np.nan)):svg():find("no data", 1, true))
    check.ok(plot.figure():hist({}):svg():find "</svg>")
    check.ok(plot.figure():imshow(np.zeros { 0, 3 }):svg():find("no data", 1, true))
    check.ok(plot.figure():svg():find "</svg>")
    check.ok(plot.figure():line({ 3, 3, 3 }):svg():find "</svg>")
    check.ok(plot.figure():line({ 1e300, -1e300 }):svg():find "</svg>")
    check.ok(plot.figure():line({ 7 }, { marker = "o" }):svg():find "</svg>")
end)

test("formats and sizes", function()
    local figure = plot.figure { figsize = { 3, 2 } }:line { 1, 2 }
    local _, width, height = pixels(figure, { dpi = 50 })
    check.equal({ width, height }, { 150, 100 })
    for ending, head in pairs { pdf = "%PDF", eps = "%!PS", svg = "<?xml" } do
        figure:save(temporary .. "." .. ending)
        check.equal(process.read(temporary .. "." .. ending):sub(1, #head), head)
        os.remove(temporary .. "." .. ending)
    end
    check.raises(function() figure:save(temporary .. ".bmp") end, "files_test.lua:%d+: np.plot.save: the name of a pic")
    check.raises(function() figure:save("/no/such/folder/a.png") end, "np.plot.save: .*/no/such/folder")
    check.raises(function() figure:save(3) end, "argument 1 %(path%)")
    check.raises(function() figure:save("a.png", { dpi = -1 }) end, "dpi")
end)

test("letters are as large in each format: ticks and labels of 10 points of 96 dots an inch", function()
    local figure = plot.figure { figsize = { 4, 3 } }:line { 1, 2 }:xlabel "x":title("a title"):text(0, 1, "large",
        { fontsize = 20 })
    local sizes = {}
    for size in figure:svg():gmatch 'font%-size="([%d%.]+)' do sizes[size] = true end
    check.equal(sizes, { ["13.00"] = true, ["15.60"] = true, ["26.00"] = true })
    figure:save(temporary .. ".eps")
    local found = {}
    for size in process.read(temporary .. ".eps"):gmatch "\n(%d+%.?%d*) %S+ %S+ %S+ %S+ %S+ Tm" do
        found[math.floor(size * 10 + 0.5) / 10] = true -- of a page that is a hundredth of an inch for each dot
    end
    os.remove(temporary .. ".eps")
    check.equal(found, { [9.6] = true, [11.5] = true, [19.2] = true })
end)

--- Whether any pixel of a part of the picture, from 0 to 1 each way, has a colour.
local function has_color(figure, want, left, right, top, bottom)
    local at, width, height = pixels(figure, { dpi = 50 })
    for column = math.floor(left * width), math.ceil(right * width) - 1 do
        for row = math.floor(top * height), math.ceil(bottom * height) - 1 do
            if near(at(column, row), want) then return true end
        end
    end
    return false
end

test("bands cross the axes, also where these are logarithmic", function()
    local function across() return plot.figure():line({ 0, 1 }, { 10, 1000 }, { color = "w" }):axis "off" end
    local function along(figure) return figure:xlim(0, 1):ylim(1, 1e4):yscale "log" end
    for _, low in ipairs { -5, 1 } do
        local figure = along(across():axhspan(low, 100, { color = "red" }))
        check.ok(has_color(figure, RED, 0.45, 0.55, 0.7, 0.8) and not has_color(figure, RED, 0, 1, 0, 0.4), low)
    end
    local standing = along(across():axvspan(0.9, 0.5, { color = "red", alpha = 1 }))
    check.ok(has_color(standing, RED, 0.6, 0.7, 0.1, 0.9) and not has_color(standing, RED, 0, 0.4, 0, 1))
    -- They count where the data ends.
    check.ok(plot.figure():line({ 1, 2 }):axhspan(40, 50):svg():find(">50<", 1, true), "the axis ends before the band")
end)

test("annotations have arrows, and texts stand above or below", function()
    local function empty() return plot.figure():line({ 0, 1 }, { 0, 1 }, { color = "w" }):axis "off" end
    local arrow = empty():annotate("", { 0.5, 0.5 }, { xytext = np.array { 1, 1 }, color = "red" })
    check.ok(has_color(arrow, RED, 0.45, 0.6, 0.4, 0.55), "no head of an arrow")
    local plain = empty():annotate("here", { 0.5, 0.5 }, { color = "red" })
    check.ok(not has_color(plain, RED, 0, 0.4, 0, 1) and plain:svg():find("here", 1, true), "an arrow")
    for va, rows in pairs { bottom = { 0, 0.5, 0.52, 1 }, top = { 0.5, 1, 0, 0.48 } } do
        local text = empty():text(0.5, 0.5, "HHHH", { va = va, color = "red", fontsize = 20 })
        check.ok(has_color(text, RED, 0, 1, rows[1], rows[2]) and not has_color(text, RED, 0, 1, rows[3], rows[4]), va)
    end
end)

test("each bar may have a colour", function()
    local figure = plot.figure():bar({ "a", "b" }, { 1, 1 }, { color = { "C0", "red" } }):axis "off"
    local across = plot.figure():barh({ "a", "b" }, { 1, 1 }, { color = { "red", "C0" } }):axis "off"
    check.ok(has_color(figure, BLUE, 0.2, 0.4, 0.5, 0.6) and not has_color(figure, RED, 0, 0.5, 0, 1), "the left one")
    check.ok(has_color(figure, RED, 0.6, 0.8, 0.5, 0.6) and not has_color(figure, BLUE, 0.5, 1, 0, 1), "the right one")
    check.ok(has_color(across, RED, 0.4, 0.6, 0.6, 0.8) and not has_color(across, RED, 0, 1, 0, 0.5), "the lower one")
end)

test("labels of ticks and of the colour bar are short, and alike", function()
    local hill = np.exp(-np.linspace(-4, 4, 30) ^ 2)
    local svg = plot.figure():imshow(np.outer(hill, hill), { colorbar = true }):svg()
    check.ok(svg:find(">0.5<", 1, true) and not svg:find("0.50000", 1, true), "the colour bar")
    svg = plot.figure():line({ 0, 1 }):xlim(1e-8, 1):svg()
    check.ok(svg:find(">0.2<", 1, true) and not svg:find("0.20000", 1, true), "an axis")
    svg = plot.figure():line({ 0, 1e6 }, { 0, 1 }):svg()
    check.ok(svg:find(">1000000<", 1, true), "a million beside 800000")
end)

test("a legend takes a place, or labels", function()
    local svg = plot.figure():line({ 1, 2 }):line({ 2, 1 }):legend({ "up", "down", loc = "upper left" }):svg()
    check.ok(svg:find(">up<", 1, true) and svg:find(">down<", 1, true), "labels")
    local function x_of(place)
        local text = plot.figure():line({ 1, 2 }, { label = "one" }):legend(place):svg()
        return tonumber(text:match "rgb%(204, 204, 204%)'%s+d='M([%d.]+)," or nil) -- of the frame around it
    end
    check.ok(x_of "upper left" < x_of "upper right", "the place")
end)

check.test("without gnuplot one message names the package", function()
    local status, _, err = process.run({ "/usr/bin/env", "PATH=/nowhere", process.neap, "-e",
                                         'np.plot.line{1, 2}; np.plot.save("' .. temporary .. '.png")' })
    check.equal(status, 1)
    check.ok(err:find "np.plot.save: pictures are drawn by .*'gnuplot'.*install the package gnuplot%-nox", err)
end)

check.test("calls as in Python are told how they are written", function()
    local figure, axes = plot.subplots(1, 2)
    local _, grid = plot.subplots(2, 2)
    check.raises(function() figure.title "t" end, "files_test.lua:%d+: np.plot.title: call it as figure:title")
    check.raises(function() figure.save "x.png" end, "np.plot.save: call it as figure:save")
    check.raises(function() axes[1].line { 1 } end, "np.plot.line: call it as axes:line")
    check.raises(function() return figure:savefig "x.png" end, "figure:savefig is figure:save here")
    check.raises(function() return axes[1]:set_title "x" end, "axes:set_title is axes:title here")
    check.raises(function() return plot.plot { 1 } end, "here it is np.plot.line")
    check.raises(function() return axes[1]:twinx():twinx() end, "np.plot.twinx: these are twin axes already")
    check.raises(function() return figure:tight_layout() end, "figures have no 'tight_layout'; here it is nothing")
    check.raises(function() return plot.hlines(1, 0, 2) end, "here it is np.plot.line")
    check.raises(function() return axes[0] end, "axes are counted from 1 to 2, there are none of number 0")
    check.raises(function() return axes[3] end, "none of number 3")
    check.raises(function() return axes:line { 1 } end, "line is a method of its axes, as in ax%[1%]:line")
    check.raises(function() return grid:line { 1 } end, "as in ax%[1%]%[1%]:line")
    check.equal({ #axes, #grid, #grid[2], axes.no_such_name }, { 2, 2, 2, nil })
    local live = plot.live {}
    check.raises(function() live.update(1, { loss = 2 }) end, "call it as live:update")
    check.raises(function() live.close() end, "call it as live:close")
end)

test("twin axes have an y of their own, and the x of both", function()
    local figure = plot.figure():line({ 0, 1 }, { 0, 1 }, { color = "red", linewidth = 3, label = "up" })
    local twin = figure:twinx():line({ 0, 1 }, { 300, 100 }, { color = "C0", linewidth = 3, label = "down" })
    twin:ylabel("on the right"):xlabel("of both"):xlim(0, 2):axhline(100, { color = "k" })
    check.equal(figure.axes[1].set.xlim, { low = 0, high = 2 })
    check.ok(figure.axes[1]:twinx() == twin, "there is one twin")
    local svg = figure:svg()
    for _, text in ipairs { "up", "down", "on the right", "of both" } do
        check.ok(svg:find(">" .. text .. "<", 1, true), text)
    end
    local at, width, height = pixels(figure:legend { loc = "none" })
    local red, blue = {}, {}
    for k, part in ipairs { 0.15, 0.42 } do -- behind the left end of the lines, and before their right end
        red[k] = rows_of(at, height, math.floor(part * width), RED)[1]
        blue[k] = rows_of(at, height, math.floor(part * width), BLUE)[1]
    end
    check.ok(red[1] > 0.65 * height and red[2] < 0.3 * height, ("red at %d and %d"):format(red[1], red[2]))
    check.ok(blue[1] < 0.35 * height and blue[2] > 0.65 * height, ("blue at %d and %d"):format(blue[1], blue[2]))
    check.equal(rows_of(at, height, math.floor(0.8 * width), BLUE), {}) -- x ends at 2
    plot.figure()
    check.ok(plot.twinx() == plot.line({ 1, 2 }).current, "np.plot.twinx makes them current")
    check.raises(function() twin:imshow(np.eye(2)) figure:svg() end, "chart 2 of the twin axes has colours")
    local traced = plot.figure()
    np.jit(function(x)
        traced:twinx():line(x * 2)
        traced:save(temporary .. ".svg")
        return x
    end)(np.ones(3)):wait()
    np.effects_barrier()
    local file = assert(io.open(temporary .. ".svg"))
    check.ok(file:read("*a"):find("<path", 1, true), "a picture")
    file:close()
    os.remove(temporary .. ".svg")
end)

-- Of 1, …, 9, 30: NumPy's quartiles 3.25, 5.5 and 7.75; 1.5 times 4.5 beyond them nothing is left below, and 30 above.
check.test("boxes show quartiles, the last values in reach, and those beyond", function()
    local values = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 30 }
    for _, lies in ipairs { false, true } do
        local along, across = lies and "x" or "y", lies and "y" or "x"
        local options = { orientation = lies and "horizontal" or nil, tick_labels = { "a", "b", "c" } }
        local figure = plot.figure():boxplot({ values, { 0 / 0, 4, 1 / 0 }, {} }, options)
        local whiskers, boxes, medians, fliers = unpack(figure.axes[1].layers)
        local function numbers(x)
            local list = {}
            for _, value in ipairs(x:totable()) do if value == value then list[#list + 1] = value end end
            return list
        end
        check.equal(numbers(whiskers.data[along]), { 3.25, 1, 1, 1, 7.75, 9, 9, 9, 4, 4, 4, 4, 4, 4, 4, 4 })
        check.equal(numbers(whiskers.data[across][{ { 0, 12 } }]), { 1, 1, 0.875, 1.125, 1, 1, 0.875, 1.125 })
        check.equal(numbers(boxes.data.bottom), { 3.25, 4 })
        check.equal(numbers(boxes.data.height), { 4.5, 0 })
        check.equal(numbers(boxes.data.x), { 1, 2, 3 })
        check.equal(numbers(medians.data[along]), { 5.5, 5.5, 4, 4 })
        check.equal(numbers(fliers.data[along]), { 30 })
        check.equal(#figure.axes[1].layers, 4)
        check.equal(figure.axes[1].set[along == "x" and "yticks" or "xticks"][3], { place = 3, label = "c" })
    end
    check.equal(#plot.figure():boxplot(np.ones { 5, 3 }, { showfliers = false }).axes[1].layers, 3)
end)

check.test("boxes of many groups are as few ops as of one, whatever their sizes", function()
    local groups, list = 600, {}
    for k = 1, groups do list[k] = { k, k + 1, k + 2, k % 2 == 0 and k + 90 or nil } end
    local before = np.debug.counters().nodes
    local layers = plot.figure():boxplot(list).axes[1].layers
    check.equal({ layers[2].data.bottom[0]:item(), layers[2].data.bottom[1]:item() }, { 1.5, 2.75 })
    check.equal({ layers[3].data.y[0]:item(), layers[3].data.y[3]:item() }, { 2, 3.5 })
    check.ok(before == nil or np.debug.counters().nodes - before < 6 * groups, "nodes")
end)

check.test("a chart that raises adds nothing, and begins no figure", function()
    local function text(figure) return table.concat(script.of(figure, 640, 480, 1)) end
    local wrong = {
        function(f) f:bar({ "q", "r" }, { 1, 2, 3 }) end, function(f) f:line({ "q" }, { 1, 2 }) end,
        function(f) f:line({ 1, 2 }, np.ones { 2, 2 }, { color = { "r" } }) end,
        function(f) f:scatter({ "q" }, { 1 }, { cmap = "no", c = { 1 } }) end,
        function(f) f:errorbar({ 1 }, { "q" }, { yerr = { 1, 2 } }) end,
        function(f) f:heatmap(np.eye(2), { xticklabels = { "q" } }) end,
        function(f) f:contour(np.eye(3), { levels = { 1, "q" } }) end,
        function(f) f:surface(np.eye(3), { elev = 10, azim = 999 }) end,
        function(f) f:imshow(np.eye(3), { aspect = "auto", alpha = 7 }) end,
        function(f) f:boxplot({ { 1, 2 } }, { alpha = 7 }) end,
        function(f) f:boxplot({ { 1, 2 } }, { linewidth = "q" }) end,
        function(f) f:annotate("q", { 1, 2 }, { rotation = 999 }) end,
        function(f) f:legend { "q", loc = "no" } end, function(f) f:legend { "q", "r" } end,
        function(f) f:colorbar { label = {} } end,
    }
    for k, f in ipairs(wrong) do
        local figure, plain = plot.figure():bar({ "a", "b" }, { 1, 2 }), plot.figure():bar({ "a", "b" }, { 1, 2 })
        local before = text(figure)
        check.ok(not pcall(f, figure), "call " .. k .. " raises")
        check.equal(text(figure), before, "call " .. k)
        check.equal(text(figure:line({ "b", "c" }, { 1, 2 })), text(plain:line({ "b", "c" }, { 1, 2 })), "call " .. k)
        check.ok(not pcall(f, figure:twinx()), "call " .. k .. " raises on twin axes")
    end
    local first = plot.figure():line { 1, 2 }
    first.shown = true
    check.ok(not pcall(plot.line, { 1 }, { 1, 2 }))
    check.ok(rawequal(plot.title "still this one", first), "the figure that was shown is the current one")
    check.ok(not rawequal(plot.line { 1, 2 }, first), "a chart begins a new one")
end)

check.test("what cannot be drawn is refused", function()
    local cases = {
        { function() plot.line "x" end, "np.plot.line: " },
        { function() plot.line({ 1, 2 }, { 1, 2, 3 }) end, "x and y must have as many elements .* 2 and 3" },
        { function() plot.line(np.ones { 2, 2, 2 }) end, "y has one axis" },
        { function() plot.line({ 1, 2 }, "q") end, 'cannot read the format "q"' },
        { function() plot.line({ 1, 2 }, { colour = "red" }) end, "unknown option 'colour'" },
        { function() plot.line({ 1, 2 }, { color = "no" }) end, "'color' must be a colour" },
        { function() plot.line({ 1, 2 }, { alpha = 2 }) end, "'alpha' must be a number from 0 to 1" },
        { function() plot.scatter({ 1 }, { 1, 2 }) end, "np.plot.scatter: x and y" },
        { function() plot.scatter({ 1 }, { 1 }, { cmap = "no", c = { 1 } }) end, "'cmap' must be one of Blues" },
        { function() plot.bar({ "a" }, { 1, 2 }) end, "height must have 1 elements" },
        { function() plot.boxplot(np.ones { 2, 2, 2 }) end, "x has one axis, or two for a column each" },
        { function() plot.boxplot({ 1, 2 }, { tick_labels = { "a", "b" } }) end, "a list of 1 texts" },
        { function() plot.boxplot({ 1, 2 }, { whis = -1 }) end, "'whis' must be a number from 0 on" },
        { function() plot.boxplot({ 1, 2 }, { positions = { 1, 2 } }) end, "2 positions for 1 groups" },
        { function() plot.boxplot({ 1, 2 }, { orientation = "up" }) end, '"vertical" or "horizontal"' },
        { function() plot.imshow(np.ones { 2, 2, 2 }) end, "an image has the shape" },
        { function() plot.contour(np.ones { 1, 3 }) end, "two rows and two columns" },
        { function() plot.surface({ 1, 2 }, { 1, 2 }, np.ones { 2, 3 }) end, "x must have 3 elements and y 2" },
        { function() plot.xlim(1, 1) end, "the limits must differ" },
        { function() plot.xscale "no" end, '"linear", "log" or "date"' },
        { function() plot.title {} end, "np.plot.title: argument 1" },
        { function() plot.legend { loc = "no" } end, "'loc' must be" },
        { function() plot.legend "no" end, "'loc' must be" },
        { function() plot.figure():line { 1 }:legend { "a", "b" } end, "label 2 has no chart: the axes have 1" },
        { function() plot.bar({ 1, 2 }, { 1, 2 }, { color = { "r" } }) end, "1 colours for 2 bars" },
        { function() plot.annotate("x", 3) end, "argument 2 %(xy%) must be {x, y}" },
        { function() plot.annotate("x", { 1, 2 }, { arrowprops = {} }) end, "an arrow is there where xytext is" },
        { function() plot.text(1, 2, "x", { va = "up" }) end, "'va' must be" },
        { function() plot.axhspan(1) end, "argument 2 %(ymax%)" },
        { function() plot.figure { figsize = { 1e6, 1 } } end, "16 to 16384 pixels" },
        { function() plot.subplots(0, 1) end, "np.plot.subplots: argument 1 %(rows%)" },
        { function() plot.show(3) end, "np.plot.show: argument 1 %(figure%) must be a figure" },
        { function() plot.live { every = -1 } end, "'every' must be seconds" },
        { function() plot.live {}:update { loss = "x" } end, "'loss' must be a number" },
        { function() plot.line({ 1 }, { 1 }, "r", {}, 5) end, "np.plot.line: " },
        { function() plot.figure():line({ 1 }):surface(np.ones { 2, 2 }):svg() end, "chart 1 of the axes is flat" },
        { function() plot.figure():line({ 1 }):yscale("log"):ylim(-1, 1):svg() end, "must be positive" },
        { function() plot.contourf({ 1, 0 }, { 0, 1 }, np.ones { 2, 2 }):svg() end, "x must rise" },
    }
    for k, case in ipairs(cases) do
        local text = check.raises(case[1], case[2])
        check.ok(text:find "^tests/plot/files_test.lua:%d+: np%.plot", k .. ": " .. text)
        plot.figure()
    end
end)

process.cleanup()
check.done()
