--- draw.lua: pictures of figures, drawn by gnuplot in a process of its own.
--
-- The figure's script goes to gnuplot's standard input, the picture comes from its standard output: nothing is written
-- into files, and nothing that a user types is read by a shell. Waiting is the core's: callbacks run meanwhile, and
-- Ctrl-C ends it, and gnuplot with it.
local ffi = require "ffi"
local core = require "neap.core"
local figures = require "neap.plot.figure"
local fonts = require "neap.plot.fonts"
local script = require "neap.plot.script"
local text = require "neap.plot.text"

local C = core.C
local raise = core.raise
local draw = {}

local FONT, FONT_SIZE = "DejaVu Sans", 10
-- Sizes of letters are points of a picture with 96 dots an inch, whose dots are hundredths of an inch of a figure. The
-- unit of SVG is such a dot; gnuplot counts the font's size in it, by which it also measures points and margins. A page
-- has 72 points an inch, of which gnuplot's fontscale counts three quarters.
local SVG_LETTERS, PAGE_LETTERS = 1.3, 96 / 100 * 0.75
local NO_WINDOWS = "this gnuplot opens no windows: install the package gnuplot-x11 instead of gnuplot-nox"
local MISSING = "pictures are drawn by the program 'gnuplot', which is not here: install the package gnuplot-nox"

-- By format: the words behind "set terminal" for so many pixels and a scale of lines and letters.
local TERMINALS = {
    png = function(width, height, scale)
        return ('pngcairo enhanced size %d,%d font "%s,%d" fontscale %.4g background rgb "#ffffff"')
            :format(width, height, FONT, FONT_SIZE, scale)
    end,
    svg = function(width, height, scale)
        return ('svg enhanced size %d,%d font "%s,%d" fontscale %.4g background rgb "#ffffff"')
            :format(width, height, FONT, FONT_SIZE * SVG_LETTERS, scale)
    end,
    pdf = function(width, height, scale)
        return ('pdfcairo enhanced size %.6gin,%.6gin font "%s,%d" fontscale %.4g background rgb "#ffffff"')
            :format(width / scale / 100, height / scale / 100, FONT, FONT_SIZE, PAGE_LETTERS)
    end,
    eps = function(width, height, scale)
        return ('epscairo enhanced size %.6gin,%.6gin font "%s,%d" fontscale %.4g')
            :format(width / scale / 100, height / scale / 100, FONT, FONT_SIZE, PAGE_LETTERS)
    end,
    sixel = function(width, height, scale)
        return ('sixelgd enhanced truecolor size %d,%d font "%s,%d" fontscale %.4g')
            :format(width, height, FONT, FONT_SIZE, scale)
    end,
    x11 = function(width, height)
        return ('x11 enhanced size %d,%d font "%s,%d"'):format(width, height, FONT, FONT_SIZE)
    end,
    dumb = function(width, height)
        return ("dumb enhanced size %d,%d mono"):format(width, height)
    end,
}

-- The formats whose texts gnuplot hands to Pango; those of SVG wait for the fonts of who looks at it.
local BY_PANGO = { png = true, pdf = true, eps = true }

local child_box, bytes_box = ffi.new("neap_child *[1]"), ffi.new("size_t[1]")

local function start(words, input)
    local list = ffi.new("const char *[?]", #words + 1)
    for k, word in ipairs(words) do list[k - 1] = word end
    local rc = C.neap_child_start(list, input, #input, child_box)
    if rc < 0 then return nil, rc end
    return child_box[0]
end

--- Runs a program to its end: its output, its complaints and its status; nil and a status code if it cannot be run.
function draw.run(name, words, input)
    local child, rc = start(words, input)
    if not child then return nil, rc end
    local ok, problem = pcall(core.call, name, function() return C.neap_child_poll(child, core.waker) end)
    if not ok then
        C.neap_child_free(child)
        error(problem, 0)
    end
    local output = ffi.string(C.neap_child_output(child, 1, bytes_box), bytes_box[0])
    local complaints = ffi.string(C.neap_child_output(child, 2, bytes_box), bytes_box[0])
    local status = C.neap_child_status(child)
    C.neap_child_free(child)
    return output, complaints, status
end

--- What gnuplot says of a failure, without what it read.
local function reason(complaints, status)
    local line = complaints:match "line %d+: ([^\n]*)"
    if complaints:find("unknown or ambiguous terminal", 1, true) then
        return "this gnuplot cannot write that format"
    end
    return line or status ~= 0 and ("it ended with status %d"):format(status) or "it wrote nothing"
end

--- The same of gnuplot, which must be there.
local function run_gnuplot(name, words, input)
    local output, complaints, status = draw.run(name, words, input)
    if not output and complaints == C.NEAP_E_LIBRARY then raise(name, "%s", MISSING) end
    if not output then core.raise_status(complaints, name) end
    return output, complaints, status
end

--- What gnuplot draws of a script in a format, a text of bytes. Waits. name: the public function that errors name;
-- width, height: pixels or characters; scale: of lines and letters.
function draw.script(name, list, format, width, height, scale)
    local input = "set terminal " .. TERMINALS[format](width, height, scale) .. "\n" .. table.concat(list)
    local output, complaints, status = run_gnuplot(name, { "gnuplot", "-d" }, input)
    if status ~= 0 or output == "" then raise(name, "gnuplot failed: %s", reason(complaints, status)) end
    return output
end

--- The same of a figure.
function draw.picture(name, figure, format, width, height, scale)
    local change = BY_PANGO[format] and fonts.drawable or nil
    local list = script.of(figure, width, height, scale, change, format == "svg" and SVG_LETTERS or 1)
    return draw.script(name, list, format, width, height, scale)
end

local function title_of(figure)
    return text.valid(figure.title_text or figure.axes[1].title_text or "figure")
end

--- Opens a window for a figure, which stays when this process ends.
function draw.window(name, figure)
    local display = os.getenv "DISPLAY"
    if not display or display == "" then raise(name, "there is no display for a window: DISPLAY is not set") end
    local width, height, scale = figures.pixels(figure)
    local input = ("set terminal %s title %s\n%s"):format(TERMINALS.x11(width, height), text.quote(title_of(figure)),
                                                          table.concat(script.of(figure, width, height, scale)))
    local _, complaints, status = run_gnuplot(name, { "gnuplot", "-d", "-persist" }, input)
    if complaints:find("unknown or ambiguous terminal", 1, true) then raise(name, "%s", NO_WINDOWS) end
    local problem = complaints:match "[^\n]*unable to open display[^\n]*"
    if problem or status ~= 0 then raise(name, "gnuplot failed: %s", problem or reason(complaints, status)) end
end

-- ---- Files ----------------------------------------------------------------------------------------------------------

--- The font for viewers that do not have it, and the figure's title, which gnuplot's SVG lacks.
local function finish_svg(figure, svg)
    local title = title_of(figure):gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }):gsub("%%", "%%%%")
    svg = svg:gsub("<image ", "<image style='image-rendering:pixelated' ")
    svg = svg:gsub("<title>.-</title>", "<title>" .. title .. "</title>", 1)
    return (svg:gsub('font%-family="' .. FONT .. '"', 'font-family="' .. FONT .. ', Verdana, sans-serif"'))
end

draw.formats = { svg = "svg", png = "png", pdf = "pdf", eps = "eps" }

--- The bytes of a figure's file in a format: "png", "svg", "pdf" or "eps".
function draw.bytes(name, figure, format, dpi)
    local width, height, scale = figures.pixels(figure, dpi)
    if format == "svg" then width, height, scale = figures.pixels(figure, 100) end -- it has no dots
    local picture = draw.picture(name, figure, format, width, height, scale)
    return format == "svg" and finish_svg(figure, picture) or picture
end

for _, f in ipairs { start, draw.run, draw.script, draw.picture, draw.window, draw.bytes } do jit.off(f) end

return draw
