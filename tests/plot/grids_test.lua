--- grids_test.lua (sanitized with --long): np.plot's lines and areas of equal height on logarithmic axes, charts that
-- let something through, and what is shown where there is nothing to draw.
local np = require "neap"
local check = require "tests.lib.check"

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

--- The rows of pixels of a figure's PNG.
local function pixels(figure)
    figure:save(temporary .. ".png", { dpi = 50 })
    local rows = np.io.load_image(temporary .. ".png"):totable()
    os.remove(temporary .. ".png")
    return rows
end

local function differ(a, b)
    return math.abs(a[1] - b[1]) + math.abs(a[2] - b[2]) + math.abs(a[3] - b[3])
end

local WHITE = { 255, 255, 255 }

--- The parts of the width of what is drawn at which the colour of the middle row changes.
local function changes(figure)
    local rows = pixels(figure:axis "off")
    local row = rows[math.floor(#rows / 2)]
    local first, last, list = nil, nil, {}
    for k = 1, #row do
        if differ(row[k], WHITE) > 30 then first, last = first or k, k end
    end
    check.ok(first and last - first > 100, "hardly anything is drawn")
    for k = first + 2, last - 2 do
        if differ(row[k], row[k + 1]) > 40 then list[#list + 1] = (k - first) / (last - first) end
    end
    return list
end

-- A hill whose height is the power of ten of x.
local x, y = np.logspace(0, 4, 40), np.linspace(1, 3, 5)
local z = np.log10(np.broadcast_to(x, { 5, 40 }))

test("areas lie on logarithmic axes where their heights are", function()
    for _, set in ipairs { function(f) return f end, function(f) return f:yscale "log" end } do
        local list = changes(set(plot.figure():contourf(x, y, z, { levels = { 1, 2 } }):xscale "log"))
        check.equal(#list, 2)
        check.ok(math.abs(list[1] - 0.25) < 0.03 and math.abs(list[2] - 0.5) < 0.03, table.concat(list, ", "))
    end
    local turned = changes(plot.figure():contourf(x, y, z, { levels = { 1, 2 } }):xscale "log":xlim(1e4, 1))
    check.ok(math.abs(turned[1] - 0.5) < 0.03 and math.abs(turned[2] - 0.75) < 0.03, table.concat(turned, ", "))
    -- What is not positive is not drawn.
    plot.figure():contourf(np.array { -2, -1, 1e4 }, y, np.ones { 5, 3 }):xscale("log"):svg()
    check.ok(plot.figure():contourf(-x["::-1"], y, z):xscale("log"):svg():find "no data")
end)

test("an area has its upper level, and the lowest one its lower level too", function()
    local at = np.linspace(0, 4, 41)
    local function levels_seen(row) -- a plateau at a level is no area of its own
        local list = changes(plot.figure():contourf(at, y, np.broadcast_to(row, { 5, 41 }), { levels = { 1, 2 } }))
        check.equal(#list, 1, table.concat(list, ", "))
        return list[1]
    end
    check.ok(math.abs(levels_seen(np.minimum(at, 2)) - 0.25) < 0.03)
    check.ok(math.abs(levels_seen(np.maximum(at, 1)) - 0.5) < 0.03)
end)

test("lines too", function()
    local list = changes(plot.figure():contour(x, y, z, { levels = { 1 }, colors = "red", linewidth = 6 })
                         :line({ 1, 1e4 }, { 2, 2 }, { linewidth = 30, color = "k" })
                         :contour(x, y, z, { levels = { 1 }, colors = "red", linewidth = 6 }):xscale "log")
    check.equal(#list, 2)
    check.ok(math.abs(list[1] + list[2] - 0.5) < 0.04, table.concat(list, ", "))
end)

test("alpha lets the paper through", function()
    local flat = np.full({ 4, 4 }, 3)
    local color = np.broadcast_to(np.array({ 200, 40, 80 }, { dtype = "u8" }), { 4, 4, 3 })
    local charts = {
        contourf = function(alpha) return plot.figure():contourf(flat, { alpha = alpha }) end,
        imshow = function(alpha) return plot.figure():imshow(flat, { alpha = alpha, aspect = "auto" }) end,
        pixels = function(alpha) return plot.figure():imshow(color, { alpha = alpha, aspect = "auto" }) end,
        surface = function(alpha) return plot.figure():surface(flat, { alpha = alpha, linewidth = 0 }) end,
        contour = function(alpha)
            local slope = np.arange(16):reshape(4, 4)
            return plot.figure():contour(slope, { levels = { 7, 12 }, linewidth = 60, alpha = alpha })
        end,
    }
    for name, chart in pairs(charts) do
        local full, half = pixels(chart(nil):axis "off"), pixels(chart(0.5):axis "off")
        local row, column = math.floor(#full * 0.55), math.floor(#full[1] / 2)
        local solid, clear = full[row][column], half[row][column]
        check.ok(differ(solid, WHITE) > 100, name .. " is not there")
        for k = 1, 3 do
            check.ok(math.abs(clear[k] - (solid[k] + 255) / 2) <= 3,
                     ("%s: %d through 0.5 is %d"):format(name, solid[k], clear[k]))
        end
    end
end)

test("colours of the bar stay, also where all charts let something through", function()
    local rows = pixels(plot.figure():contourf(z, { alpha = 0.1, colorbar = true }))
    local dark = 0
    for _, row in ipairs(rows) do
        for _, pixel in ipairs(row) do
            if differ(pixel, { 0x44, 0x01, 0x54 }) < 30 then dark = dark + 1 end -- the first colour of the map
        end
    end
    check.ok(dark > 5, "no full colour")
end)

test("where there is nothing to draw the axes say so", function()
    local nan, none = np.full({ 3, 3 }, np.nan), np.zeros { 0, 3 }
    local empty = {
        plot.figure():line(none), plot.figure():scatter({}, {}), plot.figure():bar({}, {}),
        plot.figure():hist(np.zeros { 0 }), plot.figure():hist(np.full({ 4 }, np.nan)),
        plot.figure():imshow(nan), plot.figure():imshow(none), plot.figure():image(nan), plot.figure():image(none),
        plot.figure():heatmap(nan, { annot = true }), plot.figure():contour(nan), plot.figure():contourf(nan),
        plot.figure():surface(nan), plot.figure():surface(np.zeros { 0, 0 }),
        plot.figure():semilogy { -1, -2, 0 },
    }
    for k, figure in ipairs(empty) do
        check.ok(figure:svg():find("no data", 1, true), ("chart %d of the list"):format(k))
    end
end)

check.done()
