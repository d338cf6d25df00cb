--- raster_test.lua (release build only): many points of np.plot, which become pixels of a picture: it looks as if
-- gnuplot had drawn each of them, whatever their markers, sizes, colours and axes are.
local np = require "neap"
local check = require "tests.lib.check"
local raster = require "neap.plot.raster"

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

--- A figure's pixels, as a picture from so many points on.
local function pixels(figure, from, dpi)
    local usual = raster.FROM
    raster.FROM = from
    figure:save(temporary .. ".png", { dpi = dpi or 50 })
    raster.FROM = usual
    local x = np.io.load_image(temporary .. ".png"):astype "f32"
    os.remove(temporary .. ".png")
    return x
end

--- How far two pictures are apart: the mean over blocks of 8 x 8 pixels, of 255.
local function apart(figure)
    local a, b = pixels(figure, math.huge, 75), pixels(figure, 0, 75)
    local high, wide = math.floor(a.shape[1] / 8), math.floor(a.shape[2] / 8)
    local function blocks(x)
        return np.mean(x[{ { 0, 8 * high }, { 0, 8 * wide } }]:reshape(high, 8, wide, 8, -1), { axis = { 1, 3 } })
    end
    return np.mean(np.abs(blocks(a) - blocks(b))):item(), np.mean(np.abs(blocks(a) - 255)):item()
end

local n = 400
local x, y = np.random.normal(np.random.key(0), { n }), np.random.normal(np.random.key(1), { n })

test("a picture of points looks like the points", function()
    for _, options in ipairs {
        {}, { alpha = 0.3 }, { c = x, cmap = "plasma" }, { c = y, alpha = 0.5, s = np.abs(x) * 60 }, { marker = "s" },
        { marker = "^", color = "red" }, { marker = "v", s = 100 }, { marker = "D" }, { marker = "p" },
        { marker = "+", s = 100 }, { marker = "x", s = 100 }, { marker = "*", s = 100 }, { marker = "." },
        { c = np.where(x:gt(0), x, np.nan) },
    } do
        local off, all = apart(plot.figure():scatter(x, y, options))
        local lines = ("+x*"):find(options.marker or "o", 1, true) -- of a pixel, of which some are lost
        check.ok(off < (lines and 0.45 or 0.2) * all, ("%s: %g of %g"):format(options.marker or "o", off, all))
    end
end)

test("so it does on axes that are logarithmic, turned or of equal units", function()
    local far = np.exp(x)
    for k, change in ipairs {
        function(f) return f:scatter(far, y):xscale "log" end,
        function(f) return f:scatter(far, far, { c = y }):xscale("log"):yscale("log"):xlim(50, 0.1) end,
        function(f) return f:scatter(x, y):xlim(1, -1):ylim(-1, 2) end,
        function(f) return f:scatter(x * 3, y):axis "equal" end,
        function(f) return f:scatter(x, y):axis "off" end,
        function(f) return f:scatter(np.where(x:gt(1), np.nan, x), y, { c = y }):colorbar():title "t":ylabel "y" end,
    } do
        local off, all = apart(change(plot.figure()))
        check.ok(off < 0.15 * all, ("case %d: %g of %g"):format(k, off, all))
    end
end)

test("later points hide earlier ones", function()
    local options = { c = { 0, 1 }, s = { 4000, 3000 }, cmap = "bwr" }
    local both = plot.figure():scatter({ 0, 0 }, { 0, 0 }, options):axis "off"
    local middle = pixels(both, 0)[{ 120, 160 }]:totable()
    check.ok(middle[1] > 200 and middle[3] < 60, "red is above")
    local edge = pixels(both, 0)[{ 120, 160 + 42 * 0.5 * 0.95 - 1 - (42 * 0.5 * 0.95 - 1) % 1 }]:totable()
    check.ok(edge[3] > 200, "blue is around it")
end)

test("single pixels are seen", function()
    local few = plot.figure():scatter(np.linspace(0, 1, 50), np.linspace(0, 1, 50), { marker = ",", color = "k" })
    local dark = pixels(few:axis "off", 0):min({ axis = 2 }):lt(200):astype("i32"):sum():item()
    check.ok(dark >= 45 and dark <= 120, dark)
end)

test("many points with colours and sizes make a small file, with a legend and a bar of colours", function()
    local many = 60000
    local a, b = np.random.normal(np.random.key(2), { many }), np.random.normal(np.random.key(3), { many })
    local options = { c = a, s = np.abs(b) * 9, label = "many" }
    local svg = plot.figure():scatter(a, b, options):colorbar { label = "size" }:svg()
    check.ok(#svg < 1e6 and svg:find("<image", 1, true) and svg:find(">many<") and svg:find ">size<", #svg)
    local twin = plot.figure():line({ 0, 1 }):twinx():scatter(a, b, { s = 1 }).figure:svg()
    check.ok(not twin:find("<image", 1, true), "of twin axes each point is drawn")
    check.ok(not plot.figure():scatter(a[{ { 0, 5000 } }], b[{ { 0, 5000 } }], { c = a[{ { 0, 5000 } }] }):svg()
             :find("<image", 1, true))
end)

check.done()
