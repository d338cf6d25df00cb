--- cells.lua: a figure as lines of characters in colour, for terminals without graphics.
--
-- gnuplot draws each axes twice: by its terminal "dumb" as plain characters, without the data (the frame, what is
-- around it, and texts in it), and as a small PNG of the data alone, 2 x 4 pixels for each character inside
-- the frame. A character there becomes a pattern of dots (braille) in the colour of its pixels; one that pixels fill
-- becomes two half blocks. Without libpng, and for what has three dimensions, the plain characters stay.
local bit = require "bit"
local draw = require "neap.plot.draw"
local figures = require "neap.plot.figure"
local pixels = require "neap.plot.pixels"
local script = require "neap.plot.script"
local text = require "neap.plot.text"

local cells = {}

-- ---- Characters -----------------------------------------------------------------------------------------------------

--- The characters of UTF-8 lines, a table for each.
local function grid_of(drawing)
    local grid = {}
    for line in (drawing .. "\n"):gmatch "([^\n]*)\n" do
        line = line:gsub("[%z\1-\31]", "")
        local row = {}
        for character in line:gmatch "[%z\1-\127\192-\255][\128-\191]*" do row[#row + 1] = character end
        grid[#grid + 1] = row
    end
    while #grid > 0 and #grid[#grid] == 0 do grid[#grid] = nil end
    return grid
end

--- The longest run of "-" and "+" of a row that begins and ends with "+": its ends; nil: it has none of eight or more.
local function run_of(row)
    local from, to
    for c = 1, #row do
        if row[c] == "+" then
            local last = c
            for d = c + 1, #row do
                if row[d] == "+" then last = d elseif row[d] ~= "-" then break end
            end
            if last - c >= 8 and last - c > (to and to - from or 0) then from, to = c, last end
        end
    end
    return from, to
end

--- The frame: its first row and column, and its last; nil: there is none. Its left side may have ticks before it.
local function frame_of(grid)
    local top, right, bottom
    for r, row in ipairs(grid) do
        local from, to = run_of(row)
        if from and not top then
            top, right = r, to
        elseif from and math.abs(to - right) <= 1 then
            bottom = r
        end
    end
    if not bottom or bottom - top < 3 then return nil end
    for c = 1, right - 1 do
        if grid[top + 1][c] == "|" or grid[top + 2][c] == "|" then return top, c, bottom, right end
    end
end

-- ---- Pixels ---------------------------------------------------------------------------------------------------------

local DOTS = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } } -- bits of braille, by row and column
local THIN = 0.7 -- the scale of lines
local LIGHT, FULL = 720, 7 -- of red, green and blue, from which on a pixel is paper; pixels that fill a character

local function utf8(code)
    return string.char(0xE0 + bit.rshift(code, 12), 0x80 + bit.band(bit.rshift(code, 6), 63), 0x80 + bit.band(code, 63))
end

--- The mean colour of pixels that `counted` accepts; nil: none.
local function mean(list)
    if #list == 0 then return nil end
    local red, green, blue = 0, 0, 0
    for _, pixel in ipairs(list) do red, green, blue = red + pixel[1], green + pixel[2], blue + pixel[3] end
    return { math.floor(red / #list), math.floor(green / #list), math.floor(blue / #list) }
end

--- The colour that the pixels of a thin line mean: that of the least light one, which the paper has washed out least.
local function darkest(list)
    local best
    for _, pixel in ipairs(list) do
        if not best or pixel[1] + pixel[2] + pixel[3] < best[1] + best[2] + best[3] then best = pixel end
    end
    return best
end

--- A character with colours for the pixels of one cell: { text, ink, paper }; nil: they are empty.
local function cell_of(at, r, c)
    local upper, lower, inked, dots = {}, {}, {}, 0
    for y = 0, 3 do
        for x = 0, 1 do
            local pixel = at(2 * c + x, 4 * r + y)
            if pixel[1] + pixel[2] + pixel[3] < LIGHT then
                inked[#inked + 1], dots = pixel, dots + DOTS[y + 1][x + 1]
                local half = y < 2 and upper or lower
                half[#half + 1] = pixel
            end
        end
    end
    if #inked == 0 then return nil end
    if #inked < FULL then return { utf8(0x2800 + dots), darkest(inked) } end
    return { "▀", mean(upper), mean(lower) }
end

--- The same with a letter of a text on it.
local function with_letter(cell, letter)
    if not cell or not cell[3] then return { letter, letter = true } end
    local paper = mean { cell[2] or cell[3], cell[3] }
    local dark = paper[1] * 0.299 + paper[2] * 0.587 + paper[3] * 0.114 < 128
    return { letter, dark and { 255, 255, 255 } or { 60, 60, 60 }, paper, letter = true }
end

-- ---- Colours --------------------------------------------------------------------------------------------------------

--- Numbers of the 256 colours that terminals without all colours have.
local function of_256(color)
    local function step(value) return math.floor(value / 255 * 5 + 0.5) end
    return 16 + 36 * step(color[1]) + 6 * step(color[2]) + step(color[3])
end

--- Escape sequences for a colour: ground 38 is ink, 48 paper. Black ink is the terminal's own, which it can show.
local function sequence(color, ground, all)
    if not color or ground == 38 and color[1] + color[2] + color[3] < 60 then return ground == 38 and "39" or "49" end
    if all then return ("%d;2;%d;%d;%d"):format(ground, color[1], color[2], color[3]) end
    return ("%d;5;%d"):format(ground, of_256(color))
end

--- Lines of a grid of characters; `colors`: "all", "some" (256) or "none".
local function lines_of(grid, painted, colors)
    local lines = {}
    for r, row in ipairs(grid) do
        local parts, last = {}, "39;49"
        for c = 1, #row do
            local cell = painted[r] and painted[r][c]
            local now = "39;49"
            if cell and colors ~= "none" then
                now = sequence(cell[2], 38, colors == "all") .. ";" .. sequence(cell[3], 48, colors == "all")
            end
            if now ~= last then parts[#parts + 1], last = "\27[" .. now .. "m", now end
            local filled = cell and cell[3] and colors == "none" and not cell.letter
            parts[#parts + 1] = filled and "█" or cell and cell[1] or row[c]
        end
        if last ~= "39;49" then parts[#parts + 1] = "\27[39;49m" end
        lines[r] = table.concat(parts)
    end
    return lines
end

-- ---- Figures --------------------------------------------------------------------------------------------------------

--- The charts of axes, and of their twin, that have labels.
local function labelled(axes)
    local list, twin = {}, figures.twin_of(axes)
    for _, own in ipairs { axes, twin } do
        for _, layer in ipairs(axes.legend_place == "none" and {} or own.layers) do
            if layer.label and layer.label ~= "" then list[#list + 1] = layer end
        end
    end
    return list
end

--- A line that tells the colours of the charts that have labels; nil: none has.
local function legend_line(axes, width, colors)
    local parts, count = {}, 0
    for _, layer in ipairs(labelled(axes)) do
        local color = {}
        for k = 1, 3 do color[k] = tonumber(layer.color:sub(2 * k - 1, 2 * k), 16) end
        local label = text.valid(layer.label):gsub("\n", " ")
        parts[#parts + 1] = (colors == "none" and "━━ " or "\27[" .. sequence(color, 38, colors == "all")
                             .. "m━━\27[39m ") .. label
        count = count + 6 + #label
    end
    if #parts == 0 then return nil end
    return (" "):rep(math.max(math.floor((width - count) / 2), 0)) .. table.concat(parts, "   ")
end

--- Writes the frame into a grid of characters, or blanks where it is hidden.
local function draw_frame(grid, top, left, bottom, right, hidden)
    local function put(r, c, line)
        if not hidden then grid[r][c] = line elseif (grid[r][c] or ""):find "^[-+|]$" then grid[r][c] = " " end
    end
    for r = top, bottom do
        put(r, left, "│")
        put(r, right, "│")
    end
    for _, r in ipairs { top, bottom } do
        for c = left, right do put(r, c, "─") end
    end
    if hidden then return end
    grid[top][left], grid[top][right], grid[bottom][left], grid[bottom][right] = "┌", "┐", "└", "┘"
end

--- The characters of axes inside their frame, drawn from pixels; false: they cannot be.
local function paint(name, axes, grid, painted)
    local top, left, bottom, right = frame_of(grid)
    if axes.solid or not top then return false end
    local wide, high = right - left - 1, bottom - top - 1
    local commands = script.of_axes(axes, 2 * wide, 4 * high, THIN, "cells")
    local png = draw.script(name, commands, "png", 2 * wide, 4 * high, THIN)
    local data, pixel_width, pixel_height, channels = pixels.read(png)
    if not data or channels < 3 or pixel_width < 2 * wide or pixel_height < 4 * high then return false end
    local function at(x, y)
        local place = (y * pixel_width + x) * channels
        return { data[place], data[place + 1], data[place + 2] }
    end
    for r = 1, high do
        local row = grid[top + r]
        painted[top + r] = {}
        for c = 1, wide do
            local letter, cell = row[left + c], cell_of(at, r - 1, c - 1)
            painted[top + r][left + c] = letter and letter ~= " " and with_letter(cell, letter) or cell
            row[left + c] = " "
        end
    end
    draw_frame(grid, top, left, bottom, right, axes.hidden)
    return true
end

--- Lines of characters of axes, so many wide and high.
local function axes_lines(name, axes, width, height, colors)
    local legend = legend_line(axes, width, colors)
    local label = axes.ylabel_text and text.cut(axes.ylabel_text:gsub("[\r\n]+", " "), width)
    for _, above in pairs { legend, label } do height = height - (above and 1 or 0) end
    local plain = draw.script(name, script.of_axes(axes, 4 * width, 8 * height, 1, "frame"), "dumb", width, height, 1)
    local grid, painted = grid_of(plain), {}
    while #grid > 1 and not table.concat(grid[1]):find "%S" do table.remove(grid, 1) end
    if not paint(name, axes, grid, painted) and not axes.solid then -- all by gnuplot
        grid = grid_of(draw.script(name, script.of_axes(axes, 4 * width, 8 * height, 1), "dumb", width, height, 1))
    end
    local lines = lines_of(grid, painted, colors)
    if label then table.insert(lines, 1, label) end -- which gnuplot leaves out where it is longer than the margin
    if legend then table.insert(lines, 1, legend) end
    return lines
end

--- Characters that a line shows.
local function width_of(line)
    local _, count = line:gsub("\27%[[%d;]*m", ""):gsub("[%z\1-\127\192-\255]", "")
    return count
end

--- A figure as text, at most so many characters wide and high.
function cells.text(name, figure, width, height, colors)
    local one_width, one_height = math.floor(width / figure.columns), math.max(math.floor(height / figure.rows), 8)
    local all = {}
    if figure.title_text then
        local title = text.cut(figure.title_text, width)
        all[1] = (" "):rep(math.floor(math.max(width - #title, 0) / 2)) .. title
    end
    for r = 1, figure.rows do
        local beside = {}
        for c = 1, figure.columns do
            beside[c] = axes_lines(name, figure.axes[(r - 1) * figure.columns + c], one_width, one_height, colors)
        end
        local most = 0
        for _, lines in ipairs(beside) do most = math.max(most, #lines) end
        for k = 1, most do
            local parts = {}
            for c, lines in ipairs(beside) do
                local line = lines[k] or ""
                parts[c] = c < #beside and line .. (" "):rep(one_width - width_of(line)) or line
            end
            all[#all + 1] = (table.concat(parts):gsub(" +$", ""))
        end
    end
    return table.concat(all, "\n") .. "\n"
end

for _, f in ipairs { axes_lines, cells.text } do jit.off(f) end

return cells
