--- raster.lua: points as the pixels of a picture, where there are more than gnuplot draws in a moment: it takes some 15
-- microseconds for each, and a million of them are hardly more than the pixels that they cover.
--
-- The picture has two pixels for one of the figure's each way. Points are drawn from the last to the first, each below
-- what is there: a pixel has what still shines through it, from 1 to 0, and takes of a point's colour that part. The
-- result is that of drawing from the first to the last, but a pixel that is covered costs one look, and a point above
-- blocks of such pixels hardly more.
local bit = require "bit"
local ffi = require "ffi"
local core = require "neap.core"
local grids = require "neap.plot.grids"
local ranges = require "neap.plot.ranges"

local NAN = core.NAN
local floor, log, rshift = math.floor, math.log, bit.rshift
local raster = {}

local FINER = 2 -- pixels for one of the figure's
local RADIUS, EDGE = 3, 0.5 -- of points of size 1, at 100 dots an inch; half the width of lines around them
local MOST = 4e6 -- pixels
local DARK = 1 / 512 -- what shines through less is covered
local BLOCK = 4 -- blocks are of 2^4 pixels each way

raster.FROM = 20000 -- from so many points on

-- Whether a marker of gnuplot's number covers a place: f(x, y, stroke), in parts of its radius, y upwards; stroke: half
-- the width of its lines.
local COVERS = {
    [0] = function() return true end, -- a pixel
    [1] = function(x, y, stroke) return math.abs(x) <= stroke or math.abs(y) <= stroke end,
    [2] = function(x, y, stroke) return math.abs(math.abs(x) - math.abs(y)) <= 1.4 * stroke end,
    [5] = function() return true end,
    [7] = function(x, y) return x * x + y * y <= 1 end,
    [9] = function(x, y) return math.abs(x) <= (1 - y) / 2 end,
    [11] = function(x, y) return math.abs(x) <= (1 + y) / 2 end,
    [13] = function(x, y) return math.abs(x) + math.abs(y) <= 1 end,
    [15] = function(x, y)
        for k = 0, 4 do
            local angle = (0.3 + 0.4 * k) * math.pi -- of the middle of a side
            if x * math.cos(angle) + y * math.sin(angle) > math.cos(math.pi / 5) then return false end
        end
        return true
    end,
}
COVERS[3] = function(x, y, stroke) return COVERS[1](x, y, stroke) or COVERS[2](x, y, stroke) end

--- The pixels that a marker covers: how many, and their columns and rows from its middle. A pixel of the figure at
-- least, for gnuplot takes one of the picture's for it.
local function stamp_of(marker, radius, stroke)
    local reach, count = math.max(floor(radius), FINER - 1), 0
    local whole = radius < FINER
    local columns_of, rows_of = ffi.new("int32_t[?]", (2 * reach + 1) ^ 2), ffi.new("int32_t[?]", (2 * reach + 1) ^ 2)
    for row = whole and 0 or -reach, reach do
        for x = whole and 0 or -reach, reach do
            if whole or COVERS[marker](x / radius, row / radius, stroke / radius) then
                columns_of[count], rows_of[count], count = x, row, count + 1
            end
        end
    end
    return { reach = reach, count = count, columns = columns_of, rows = rows_of }
end

--- A canvas of so many pixels, on which nothing is. open: of each block, how many of its pixels are not covered.
local function new_canvas(wide, high)
    local canvas, n = { wide = wide, high = high }, wide * high
    for _, key in ipairs { "through", "red", "green", "blue" } do canvas[key] = ffi.new("float[?]", n) end
    canvas.across = rshift(wide - 1, BLOCK) + 1
    canvas.open = ffi.new("int32_t[?]", canvas.across * (rshift(high - 1, BLOCK) + 1))
    for y = 0, high - 1 do
        for x = 0, wide - 1 do
            local block = rshift(y, BLOCK) * canvas.across + rshift(x, BLOCK)
            canvas.through[y * wide + x] = 1
            canvas.open[block] = canvas.open[block] + 1
        end
    end
    return canvas
end

--- Whether all blocks are covered that a stamp at a place may touch.
local function is_covered(canvas, reach, x, y)
    local open, across = canvas.open, canvas.across
    local left, right = math.max(x - reach, 0), math.min(x + reach, canvas.wide - 1)
    local low, high = math.max(y - reach, 0), math.min(y + reach, canvas.high - 1)
    if left > right or low > high then return true end
    for row = rshift(low, BLOCK), rshift(high, BLOCK) do
        for column = rshift(left, BLOCK), rshift(right, BLOCK) do
            if open[row * across + column] > 0 then return false end
        end
    end
    return true
end

--- Draws a stamp below what is there.
local function put(canvas, stamp, x, y, color, alpha)
    if is_covered(canvas, stamp.reach, x, y) then return end
    local through, wide, high, open, across = canvas.through, canvas.wide, canvas.high, canvas.open, canvas.across
    local red, green, blue = floor(color / 65536) % 256, floor(color / 256) % 256, color % 256
    local reach, xs, ys = stamp.reach, stamp.columns, stamp.rows
    local inside = x >= reach and x < wide - reach and y >= reach and y < high - reach
    for k = 0, stamp.count - 1 do
        local at_x, at_y = x + xs[k], y + ys[k]
        if inside or at_x >= 0 and at_x < wide and at_y >= 0 and at_y < high then
            local at = at_y * wide + at_x
            local left = through[at]
            if left > DARK then
                local part = left * alpha
                through[at] = left - part
                if left - part <= DARK then
                    local block = rshift(at_y, BLOCK) * across + rshift(at_x, BLOCK)
                    open[block] = open[block] - 1
                end
                canvas.red[at] = canvas.red[at] + part * red
                canvas.green[at] = canvas.green[at] + part * green
                canvas.blue[at] = canvas.blue[at] + part * blue
            end
        end
    end
end

--- The pixels of a canvas as bytes: red, green, blue and alpha each.
local function bytes_of(canvas)
    local n = canvas.wide * canvas.high
    local out = ffi.new("uint8_t[?]", 4 * n)
    for k = 0, n - 1 do
        local part = 1 - canvas.through[k]
        if part > 0 then
            out[4 * k], out[4 * k + 1] = canvas.red[k] / part + 0.5, canvas.green[k] / part + 0.5
            out[4 * k + 2], out[4 * k + 3] = canvas.blue[k] / part + 0.5, part * 255 + 0.5
        end
    end
    return ffi.string(out, 4 * n)
end

--- The pixel of each value of a column on an axis, -1e6 where it has none.
local function pixels_along(column, n, axis, count)
    local out = ffi.new("int32_t[?]", n, -1000000)
    local low, high = axis.low, axis.high
    if axis.log then low, high = log(low), log(high) end
    local factor = count / (high - low)
    for k = 0, n - 1 do
        local value = column[k]
        if axis.log then value = value > 0 and log(value) or NAN end
        local at = floor((value - low) * factor)
        if at > -10000 and at < 20000 then out[k] = at end
    end
    return out
end

--- Draws all points onto a canvas. colors: a column of 0xAARRGGBB, or a number; sizes: a column, or a number.
local function draw_all(canvas, p, layer, view, colors, sizes)
    local x = pixels_along(p.x, p.n, view.x, canvas.wide)
    local y = pixels_along(p.y, p.n, view.y, canvas.high)
    local stamps, edge, least = {}, canvas.edge, layer.marker == 0 and 0 or 1
    local one_color, one_size = type(colors) == "number" and colors, type(sizes) == "number" and sizes
    local alpha = layer.alpha
    for k = p.n - 1, 0, -1 do
        if x[k] > -1000000 and y[k] > -1000000 then
            local size = (one_size or sizes[k]) * least
            local color = one_color or colors[k]
            if size == size and color == color then
                local steps = floor((size * canvas.radius + edge) * 4 + 0.5) -- of a quarter of a pixel
                local stamp = stamps[steps]
                if not stamp then
                    stamp = stamp_of(layer.marker, steps / 4, edge)
                    stamps[steps] = stamp
                end
                put(canvas, stamp, x[k], y[k], color % 0x1000000, alpha)
            end
        end
    end
end

--- Whether points are drawn as a picture: there are many, and gnuplot has linear axes for one.
function raster.is_wanted(count, layer, view)
    if count <= raster.FROM or not COVERS[layer.marker] then return false end
    return view.place == "first" and not (view.y.log and view.has_twin)
end

--- The clause that draws points as a picture. p: { x, y, c, n }; sizes: a column of them in parts of the usual one, or
-- a number; words: those of points of gnuplot's, for the legend.
function raster.clause(p, layer, view, sizes, words)
    local wide, high = ranges.pixels_of(view)
    local finer = math.min(FINER * view.scale, math.sqrt(MOST / (wide * high)))
    local canvas = new_canvas(math.max(floor(wide * finer), 1), math.max(floor(high * finer), 1))
    canvas.radius, canvas.edge = RADIUS * finer * view.point_scale / view.scale, EDGE * finer / view.scale
    local colors = p.c and ranges.shaded(p.c, p.n, layer, view) or tonumber(layer.color, 16)
    draw_all(canvas, p, layer, view, colors, sizes)
    local before_x, x_axis, from_x, dx = grids.picture_axis("x", view.x, canvas.wide)
    local before_y, y_axis, from_y, dy = grids.picture_axis("y", view.y, canvas.high)
    local axes = x_axis .. y_axis
    local text = ("'-' binary array=(%d,%d) format='%%uchar%%uchar%%uchar%%uchar' origin=(%.17g,%.17g) dx=%.17g "
                  .. "dy=%.17g using 1:2:3:4 with rgbalpha axes %s notitle, NaN with points %s")
        :format(canvas.wide, canvas.high, from_x, from_y, dx, dy, axes, words)
    return { text = text, before = before_x .. before_y, data = bytes_of(canvas) }
end

jit.off(raster.clause)

return raster
