--- live.lua: curves that grow while a program runs (np.plot.live).
--
-- update() only keeps the values, so it waits for nothing; a picture is drawn every so many seconds, which waits for
-- what it shows. At a terminal a picture takes the place of the one before, if nothing has been printed since; in a
-- notebook (core.update_figure) always. Elsewhere the curves are shown once, by close().
local core = require "neap.core"
local console = require "neap.effects.console"
local output = require "neap.effects.output"
local figures = require "neap.plot.figure"
local show = require "neap.plot.show"
local terminal = require "neap.plot.terminal"

local np, C = core.np, core.C
local raise, bad_argument = core.raise, core.bad_argument

local EVERY = 0.5 -- seconds
local numbers = 0 -- of live figures, for terminals that replace pictures by number

local Live = {}
Live.__index = Live

local known = { title = true, xlabel = true, ylabel = true, yscale = true, xscale = true, every = true,
                figsize = true, dpi = true }

--- Makes np.plot.live's object.
local function new_live(options)
    local name = "plot.live"
    local o = core.options(name, options, known)
    if o.every ~= nil and (type(o.every) ~= "number" or o.every ~= o.every or o.every < 0) then
        bad_argument(name, nil, "every", "seconds from 0", o.every)
    end
    numbers = numbers + 1
    local live = setmetatable({ options = o, every = o.every or EVERY, names = {}, curves = {}, steps = 0,
                                drawn_at = console.now(), number = 7000 + numbers }, Live)
    live:figure() -- refuses what is wrong with the options
    return live
end

local function number_of(value)
    if core.is_array(value) then value = core.item(value) end
    return type(value) == "boolean" and (value and 1 or 0) or value
end

--- Makes numbers of the points of a curve that were arrays when they came. Waits for those.
local function settle(curve)
    for k = curve.settled + 1, #curve.y do
        curve.x[k], curve.y[k], curve.settled = number_of(curve.x[k]), number_of(curve.y[k]), k
    end
end

--- The curves so far, a figure.
function Live:figure()
    local o = self.options
    local figure = figures.new("plot.figure", { figsize = o.figsize, dpi = o.dpi })
    for _, what in ipairs { "title", "xlabel", "ylabel", "xscale", "yscale" } do
        if o[what] ~= nil then figure[what](figure, o[what]) end
    end
    for _, name in ipairs(self.names) do
        local curve = self.curves[name]
        settle(curve)
        figure:line(curve.x, curve.y, { label = name })
    end
    return figure
end

--- Appends one point to each curve that is named.
local function append(self, step, values)
    self.steps = self.steps + 1
    for name, value in pairs(values) do
        local curve = self.curves[name]
        if not curve then
            curve = { x = {}, y = {}, settled = 0 }
            self.curves[name] = curve
            self.names[#self.names + 1] = name
            table.sort(self.names)
        end
        curve.x[#curve.x + 1], curve.y[#curve.y + 1] = step or self.steps, value
    end
    if console.now() - self.drawn_at >= self.every then self:draw(false) end
end

--- One more point of each curve that `values` names; without a step, (values), they are counted.
function Live:update(step, values)
    if values == nil then step, values = nil, step end
    if type(values) ~= "table" or core.is_array(values) then
        raise("plot.live", "update takes the values by name, live:update(step, {loss=l}), got %s",
              core.describe(values))
    end
    if step ~= nil and type(step) ~= "number" and not (core.is_array(step) and step.size == 1) then
        raise("plot.live", "the step must be a number, got %s", core.describe(step))
    end
    local traced = step ~= nil and core.is_array(step) and core.info(step).traced ~= 0
    for name, value in pairs(values) do
        local single = core.is_array(value) and value.size == 1
        if not (single or type(value) == "number" or type(value) == "boolean") then
            raise("plot.live", "'%s' must be a number or an array of one element, got %s", tostring(name),
                  core.describe(value))
        end
        traced = traced or single and core.info(value).traced ~= 0
    end
    if traced then
        np.callback(function(at, ready) append(self, at, ready) end, { name = "np.plot.live" })(step, values)
    else
        append(self, step, values)
    end
    return self
end

-- A window cannot be drawn again from here, and a line of text need not.
local draws_again = { kitty = true, sixel = true, blocks = true }

--- Shows the curves. last: it is for the last time.
function Live:draw(last)
    if core.update_figure then
        local figure = self:figure()
        figure.shown = true
        self.shown = core.update_figure(figure, self.shown)
    elseif draws_again[terminal.graphics()] then
        local figure = self:figure()
        local text, way = show.text("plot.live", figure, self.number)
        local back = self.lines and self.printed == output.count and ("\27[%dA\r\27[J"):format(self.lines) or ""
        output.emit(C.NEAP_EFFECT_PRINT, C.NEAP_STDOUT, { back .. text }, 1)
        self.lines, self.printed = show.lines(text, way, figure), output.count
    elseif last then
        show.now("plot.live", self:figure())
    end
    self.drawn_at = console.now()
end

--- Shows the curves for the last time; returns their figure, which a prompt need not show again (core.command is the
-- number of its command).
function Live:close()
    local figure = self:figure()
    if not self.closed then
        self.closed = true
        self:draw(true)
        figure.shown, figure.shown_by = true, core.command
    end
    return figure
end

function Live:__tostring()
    return ("live curves: %s"):format(#self.names > 0 and table.concat(self.names, ", ") or "none yet")
end
function Live.__describe() return "live curves" end

for _, f in pairs(Live) do
    if type(f) == "function" then jit.off(f) end
end
jit.off(new_live)
core.refuse_dots(Live, "plot.live", "live")

return new_live
