--- animate.lua: pictures in a row as a value (np.plot.animate), which notebooks and terminals play and files hold.
--
-- `animate` calls the user's function f for all pictures at once, and keeps copies of the figures. The first demand for
-- a picture draws all as PNGs, once; all formats are made from the PNGs:
--
--     f ──> a figure or pixels ──> PNG ──> gif.lua, video.lua (ffmpeg), player.lua (HTML), files of PNG
--                    └──> show.lua: graphics or characters of a terminal, drawn when a picture's turn comes
--
-- Axes at the same place cover the same range in all pictures (script.align), so nothing jumps.
local core = require "neap.core"
local charts = require "neap.plot.charts"
local console = require "neap.effects.console"
local draw = require "neap.plot.draw"
local figures = require "neap.plot.figure"
local files = require "neap.files"
local gif = require "neap.plot.gif"
local output = require "neap.effects.output"
local pixels = require "neap.plot.pixels"
local player = require "neap.plot.player"
local script = require "neap.plot.script"
local show = require "neap.plot.show"
local terminal = require "neap.plot.terminal"
local video = require "neap.plot.video"

local np, C = core.np, core.C
local raise, bad_argument = core.raise, core.bad_argument
local NAME = "plot.animate"

local FPS, MOST_FPS, MOST_PICTURES = 10, 50, 10000 -- players take delays of GIF below 1/50 s for 1/10 s
local STEP_MS = 20 -- between looks for Ctrl-C
local animations = 0 -- so far, for terminals that replace pictures by number

local Animation = {}
Animation.__index = Animation

-- ---- The pictures ---------------------------------------------------------------------------------------------------

--- The arguments for the calls of f, a list, from `frames`.
local function values_of(frames)
    local values = {}
    if core.is_array(frames) then
        if frames.ndim ~= 1 then
            raise(NAME, "the array of frames must have one axis, got shape %s", core.shape_text(frames))
        end
        values = frames:totable()
    elseif type(frames) == "table" then
        local count = rawget(frames, "frames")
        if count ~= nil and #frames == 0 then
            raise(NAME, "how many pictures there are is an argument: np.plot.animate(f, %s)",
                  type(count) == "number" and ("%.14g"):format(count) or "n")
        end
        for k, value in ipairs(core.list(NAME, "the list of frames", frames)) do values[k] = value end
    elseif type(frames) == "number" and frames % 1 == 0 and frames >= 1 and frames <= MOST_PICTURES then
        for k = 1, frames do values[k] = k - 1 end
    else
        bad_argument(NAME, 2, "frames", ("an integer from 1 to %d, or values, a list or an array of one axis")
                     :format(MOST_PICTURES), frames)
    end
    if #values < 1 or #values > MOST_PICTURES then
        raise(NAME, "an animation has 1 to %d pictures, got %d", MOST_PICTURES, #values)
    end
    return values
end

local TRACED = "%s has arrays that have no values yet: animate draws where it is called, not inside of np.jit or "
    .. "np.grad"

--- The result of f for picture k, from 0, as { figure } or { image }.
local function picture_of(k, value)
    local what = ("picture %d"):format(k)
    if getmetatable(value) == figures.Axes then value = value.figure end
    if figures.is_figure(value) then
        local fixed = show.fixed(value)
        if not fixed then raise(NAME, TRACED, what) end
        return { figure = fixed }
    end
    if not core.is_array(value) then
        raise(NAME, "the function must return a figure or an array of pixels for each picture, got %s for %s%s",
              core.describe(value), what, value == nil and " (did you forget return?)" or "")
    end
    if core.info(value).traced ~= 0 then raise(NAME, TRACED, what) end
    return { image = pixels.bytes(NAME, what, value) }
end

--- Width and height of a picture in pixels.
local function size_of(picture, dpi)
    if picture.figure then return figures.pixels(picture.figure, dpi) end
    return picture.image.shape[2], picture.image.shape[1]
end

local function check_sizes(pictures, dpi)
    local width, height = size_of(pictures[1], dpi)
    for k, picture in ipairs(pictures) do
        local own_width, own_height = size_of(picture, dpi)
        if own_width ~= width or own_height ~= height then
            raise(NAME, "all pictures must have one size: picture 0 has %dx%d pixels, picture %d has %dx%d", width,
                  height, k - 1, own_width, own_height)
        end
    end
    return width, height
end

local known = { fps = true, loop = true, dpi = true, progress = true }

local function checked(options)
    local o = core.options(NAME, options, known)
    local fps, dpi = o.fps or FPS, o.dpi
    if type(fps) ~= "number" or not (fps >= 0.1 and fps <= MOST_FPS) then
        bad_argument(NAME, nil, "fps", ("pictures a second from 0.1 to %d"):format(MOST_FPS), fps)
    end
    if dpi ~= nil and (type(dpi) ~= "number" or not (dpi >= 10 and dpi <= 1200)) then
        bad_argument(NAME, nil, "dpi", "dots per inch from 10 to 1200", dpi)
    end
    for _, flag in ipairs { "loop", "progress" } do
        if o[flag] ~= nil and type(o[flag]) ~= "boolean" then bad_argument(NAME, nil, flag, "a boolean", o[flag]) end
    end
    return { fps = fps, dpi = dpi, loop = o.loop ~= false, silent = o.progress == false }
end

--- Goes through n things with a progress bar.
local function counted(self, n, what)
    return np.progress(n, { desc = what, leave = false, disable = self.silent })
end

--- Makes np.plot.animate's value.
local function animate(f, frames, options)
    if type(f) ~= "function" and not (type(f) == "table" and getmetatable(f) and getmetatable(f).__call) then
        bad_argument(NAME, 1, "f", "a function that returns a picture", f)
    end
    local self = checked(options)
    local values, list = values_of(frames), {}
    self.count, self.pictures, self.texts = #values, {}, {}
    for k in counted(self, self.count, "pictures") do
        self.pictures[k] = picture_of(k - 1, figures.apart(f, values[k], k - 1))
        list[#list + 1] = self.pictures[k].figure
    end
    self.width, self.height = check_sizes(self.pictures, self.dpi)
    script.align(list, self.dpi)
    animations = animations + 1
    self.number = 8000 + animations
    return setmetatable(self, Animation)
end

--- The PNGs of all pictures, a list. Waits, the first time.
local function pngs_of(self)
    if self.pngs then return self.pngs end
    local list = {}
    for k in counted(self, self.count, "drawing") do
        local picture = self.pictures[k]
        list[k] = picture.image and pixels.png(NAME, picture.image) or draw.bytes(NAME, picture.figure, "png", self.dpi)
    end
    self.pngs = list
    return list
end

--- Whether the pictures are arrays of pixels, to be enlarged without blur.
local function is_sharp(self)
    return self.pictures[1].image ~= nil
end

function Animation:__tostring()
    return ("animation of %d pictures %dx%d, %.3g s, save with animation:save(\"name.gif\")")
        :format(self.count, self.width, self.height, self.count / self.fps)
end
function Animation.__describe() return "an animation" end

local function check_self(self, method)
    if getmetatable(self) ~= Animation then raise(NAME, "call it as animation:%s(…), with a colon", method) end
end

-- ---- Files ----------------------------------------------------------------------------------------------------------

local writers = {}

function writers.gif(self)
    local list = pngs_of(self)
    local step = counted(self, 2 * self.count, "colours")
    local function pixels_at(k)
        step()
        core.check_interrupt()
        return (pixels.rgb(NAME, list[k + 1]))
    end
    local bytes = gif.bytes(pixels_at, self.count, self.width, self.height, self.fps, self.loop)
    step:close()
    return bytes
end

function writers.mp4(self) return video.needed(NAME, "mp4", pngs_of(self), self.fps) end
function writers.webm(self) return video.needed(NAME, "webm", pngs_of(self), self.fps) end

function writers.html(self)
    return player.page("animation", pngs_of(self), self.fps, self.loop, is_sharp(self))
end

local function write(path, bytes)
    local good, problem = files.write(path, { bytes })
    if not good then raise(NAME, "%s", problem) end
end

--- Writes the animation into a file by the ending of the name; .png: into a file for each picture.
function Animation:save(path)
    check_self(self, "save")
    core.check_path(NAME, path)
    local stem, ending = path:match "^(.*)%.(%w+)$"
    ending = ending and ending:lower()
    if ending == "png" then
        local digits = #tostring(self.count - 1)
        for k, png in ipairs(pngs_of(self)) do write(("%s-%0" .. digits .. "d.png"):format(stem, k - 1), png) end
    elseif writers[ending] then
        write(path, writers[ending](self))
    else
        raise(NAME, "the name of an animation ends in .gif, .mp4, .webm, .html or .png, got '%s'", path)
    end
    return self
end

--- The bytes of a picture, from 0, as a PNG.
function Animation:png(k)
    check_self(self, "png")
    return pngs_of(self)[core.integer(NAME, 1, "k", k, 0, self.count - 1) + 1]
end

-- ---- Showing --------------------------------------------------------------------------------------------------------

--- Picture k, from 1, as text for a terminal, and the number of lines.
local function text_of(self, k, way)
    local known_text = self.texts[k]
    if known_text and known_text.way == way then return known_text end
    local picture = self.pictures[k]
    local figure = picture.figure
    if not figure then
        figure = figures.new(NAME)
        figures.add_chart(figure.current, charts.image, picture.image)
    end
    local text = show.text(NAME, figure, self.number)
    self.texts[k] = { way = way, text = text, lines = show.lines(text, way, figure) }
    return self.texts[k]
end

local function wait_until(due)
    while true do
        core.check_interrupt()
        local left = 1000 * (due - console.now())
        if left <= 0 then return end
        C.neap_waker_clear(core.waker)
        C.neap_waker_sleep(core.waker, math.max(1, math.min(left, STEP_MS)))
    end
end

--- Plays once: each picture replaces the previous picture, unless something was printed since. A picture that is not
-- drawn yet may come late.
local function play(self, way)
    local due, lines, printed = console.now(), nil, nil
    for k = 1, self.count do
        local shown = text_of(self, k, way)
        wait_until(due)
        local back = lines and printed == output.count and ("\27[%dA\r\27[J"):format(lines) or ""
        output.emit(C.NEAP_EFFECT_PRINT, C.NEAP_STDOUT, { back .. shown.text }, 1)
        np.effects_barrier()
        lines, printed = shown.lines, output.count
        due = math.max(due + 1 / self.fps, console.now())
    end
    wait_until(due)
end

local plays = { kitty = true, sixel = true, blocks = true }

function Animation:show()
    check_self(self, "show")
    if core.display then return np.display(self) end
    local way = terminal.graphics()
    if plays[way] then return play(self, way) end
    output.emit(C.NEAP_EFFECT_PRINT, C.NEAP_STDOUT, { tostring(self) .. "\n" }, 1)
end
Animation.__show = Animation.show -- at the prompt

--- In a notebook: a film, where ffmpeg is there, else a player.
function Animation:__display()
    local film = not is_sharp(self) and video.bytes(NAME, "mp4", pngs_of(self), self.fps)
    local html = film and player.film(film, self.loop)
        or player.part(pngs_of(self), self.fps, self.loop, is_sharp(self))
    return { ["text/html"] = html, ["text/plain"] = tostring(self) }
end

for _, f in ipairs { animate, pngs_of, text_of, wait_until, play, write } do jit.off(f) end
for _, list in ipairs { Animation, writers } do
    for _, f in pairs(list) do
        if type(f) == "function" then jit.off(f) end
    end
end

return animate
