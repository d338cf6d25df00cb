--- show.lua: where np.plot.show puts a figure: the terminal, as graphics or as characters; a window; a line of text.
--
-- A picture is written into the stream of print, so it stands where the program shows it. In a trace, where its arrays
-- have no values yet, it becomes an ordered callback that gets them. Who displays pictures otherwise, such as a
-- notebook, sets core.show_figure, which is called instead, and takes the bytes from figure:svg() and figure:png().
local core = require "neap.core"
local output = require "neap.effects.output"
local cells = require "neap.plot.cells"
local draw = require "neap.plot.draw"
local figures = require "neap.plot.figure"
local terminal = require "neap.plot.terminal"

local np, C = core.np, core.C
local show = {}

local MARGIN_ROWS = 2 -- of the terminal stay free, for the prompt

local function write(text)
    output.emit(C.NEAP_EFFECT_PRINT, C.NEAP_STDOUT, { text }, 1)
end

--- Rows of the terminal that stay free. core.rows_taken: those that others need besides (neap.interact.keys).
local function margin()
    return MARGIN_ROWS + (core.rows_taken or 0)
end

--- The figure's pixels, fewer where the terminal has not so many; and their scale.
local function fit(figure)
    local columns, rows, cell_width, cell_height = terminal.size()
    local width, height, scale = figures.pixels(figure)
    if not columns then return width, height, scale end
    local part = math.min(1, columns * cell_width / width, math.max(rows - margin(), 4) * cell_height / height)
    return math.floor(width * part), math.floor(height * part), scale * math.max(part, 0.5)
end

--- Characters that a figure gets.
local function fit_cells(figure)
    local columns, rows = terminal.size()
    columns, rows = columns or 80, rows or 24
    local width, height = figures.pixels(figure)
    local wide = math.max(math.min(columns - 1, math.floor(width / 8), 200), 20)
    local high = math.max(math.min(rows - margin(), math.floor(wide * height / width * 0.45)), 10)
    return wide, high
end

local ways = {}

function ways.kitty(name, figure, number)
    local width, height, scale = fit(figure)
    return terminal.kitty(draw.picture(name, figure, "png", width, height, scale), number)
end

function ways.sixel(name, figure)
    local width, height, scale = fit(figure)
    return (draw.picture(name, figure, "sixel", width, height, scale):gsub("\n*$", "\n"))
end

function ways.blocks(name, figure)
    local wide, high = fit_cells(figure)
    return cells.text(name, figure, wide, high, terminal.colors())
end

function ways.window(name, figure)
    draw.window(name, figure)
    return ""
end

function ways.none(_, figure)
    local count = 0
    for _, axes in ipairs(figure.axes) do count = count + #axes.layers end
    return tostring(figure) .. (count == 0 and "; it is empty" or "") .. "\n"
end

--- What shows a figure, a text, and how it does. number: of the picture where one may replace another.
function show.text(name, figure, number)
    local way = terminal.graphics()
    return ways[way](name, figure, number), way
end

--- Shows a figure at the terminal.
function show.at_terminal(name, figure)
    local text = show.text(name, figure)
    write(text)
end

--- Shows a figure whose arrays can be computed.
function show.now(name, figure)
    figure.shown = true
    if core.show_figure then return core.show_figure(figure) end
    show.at_terminal(name, figure)
end

--- The number of terminal lines of a text that show.text made.
function show.lines(text, way, figure)
    if way == "blocks" then return select(2, text:gsub("\n", "")) end
    local columns, rows, cell_width, cell_height = terminal.size()
    local width, height = figures.pixels(figure)
    if not columns then return 1 end
    local part = math.min(1, columns * cell_width / width, math.max(rows - MARGIN_ROWS, 4) * cell_height / height)
    return math.ceil(height * part / cell_height)
end

-- ---- In a trace -----------------------------------------------------------------------------------------------------

--- The arrays of a figure: a list, for each where it is, { axes, layer, key }, and whether one has no value yet.
local function arrays_of(figure)
    local list, places, traced = {}, {}, false
    for k, axes in ipairs(figure.axes) do
        for j, layer in ipairs(axes.layers) do
            for key, value in pairs(layer.data) do
                list[#list + 1], places[#places + 1] = value, { k, j, key }
                traced = traced or core.info(value).traced ~= 0
            end
        end
    end
    return list, places, traced
end

local function copy_of(t)
    local copy = setmetatable({}, getmetatable(t))
    for key, value in pairs(t) do copy[key] = value end
    return copy
end

--- A copy of a figure, in which the arrays are others.
local function with_arrays(figure, places, arrays)
    local copy = copy_of(figure)
    copy.axes = {}
    for k, axes in ipairs(figure.axes) do
        local own = copy_of(axes)
        own.figure, own.layers, copy.axes[k] = copy, {}, own
        own.marks, own.set = copy_of(axes.marks), copy_of(axes.set)
        for j, layer in ipairs(axes.layers) do
            own.layers[j] = copy_of(layer)
            own.layers[j].data = copy_of(layer.data)
        end
    end
    for k, place in ipairs(places) do copy.axes[place[1]].layers[place[2]].data[place[3]] = arrays[k] end
    return copy
end

--- Calls f(figure) when the figure's arrays have values: now, or, in a trace, each time when it runs.
function show.when_ready(figure, f)
    local list, places, traced = arrays_of(figure)
    if not traced then return f(figure) end
    local fixed = with_arrays(figure, places, list) -- as it is now
    np.callback(function(...) f(with_arrays(fixed, places, { ... })) end, { name = "np.plot" })(unpack(list))
end

--- A copy of a figure, safe from later charts; nil: some arrays have no values yet.
function show.fixed(figure)
    local list, places, traced = arrays_of(figure)
    return not traced and with_arrays(figure, places, list) or nil
end

--- At the end of a notebook's cell: shows what it drew and did not show, as IPython does; returns whether there was
-- any. Where that is not wanted, after an interrupt or in a silent cell, it shows nothing, but the next chart begins a
-- new figure all the same.
function show.rest(wanted)
    local due = {}
    for _, figure in ipairs(figures.take_noted()) do
        local _, _, traced = arrays_of(figure)
        if wanted and not figure.shown and not traced then due[#due + 1] = figure end
        figure.shown = true -- that of others, too, if one of them cannot be shown
    end
    for _, figure in ipairs(due) do show.now("plot.show", figure) end
    return #due > 0
end

for _, f in ipairs { show.rest, write, show.text, show.at_terminal, show.now, show.when_ready, arrays_of } do
    jit.off(f)
end

return show
