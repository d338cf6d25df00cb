--- explore.lua: keys of the terminal that move and zoom what a figure shows (np.plot.explore).
--
--     axes 2 of 4   x 0 … 6.28   y -1.1 … 1.1
--     ←↑↓→ move   + - zoom   x y zoom one alone   Tab other axes   r resets   q ends
--     (the picture)
--
-- What keys change is what users may set: limits of axes, and of axes of three dimensions the direction from which one
-- looks. So the figure has the last view when the keys have ended. A picture is drawn whole before it takes the place
-- of the one before: Ctrl-C meanwhile leaves the one before, and its limits.
local core = require "neap.core"
local dates = require "neap.plot.dates"
local figures = require "neap.plot.figure"
local pages = require "neap.effects.page"
local script = require "neap.plot.script"
local show = require "neap.plot.show"
local terminal = require "neap.plot.terminal"

local np = core.np
local NAME = "plot.explore"
local HEAD = 2 -- lines above the picture
local MOVE, ZOOM = 0.2, 2 -- of the extent, for an arrow; of the extent, for + and -
local TURN, RISE, NEARER = 15, 10, 1.25 -- of three dimensions: degrees for an arrow, and the factor of + and -
local FARTHEST, LEAST, NEAREST = 1e300, 1e-12, 10 -- an end of an axis; an extent in parts of its ends; a zoom
local DIGITS = 3 -- of the ends of an axis, if these are far apart

local KINDS = { kitty = true, sixel = true, blocks = true } -- of pictures that can be drawn again
local ENDS = { q = true, escape = true, enter = true }
local RESETS = { r = true, ["0"] = true, home = true }
local ZOOMS = { ["+"] = 1 / ZOOM, ["="] = 1 / ZOOM, ["-"] = ZOOM, ["_"] = ZOOM }
local ARROWS = { left = { "x", -1 }, right = { "x", 1 }, down = { "y", -1 }, up = { "y", 1 } }
local SETTINGS = { "xlim", "ylim" }
local DIRECTIONS = { "elev", "azim", "near" }

-- ---- Views ----------------------------------------------------------------------------------------------------------

--- What keys may change of all axes of a figure: a list of { axes, set, looks }.
local function save(figure)
    local saved = {}
    for k, axes in ipairs(figure.axes) do
        saved[k] = { axes = axes, set = {}, looks = {} }
        for _, key in ipairs(SETTINGS) do saved[k].set[key] = axes.set[key] end
        for _, key in ipairs(DIRECTIONS) do saved[k].looks[key] = axes[key] end
    end
    return saved
end

local function restore(saved)
    for _, state in ipairs(saved) do
        for _, key in ipairs(SETTINGS) do state.axes.set[key] = state.set[key] end
        for _, key in ipairs(DIRECTIONS) do state.axes[key] = state.looks[key] end
    end
end

--- Sets the limits of an axis so that its ends are at two parts of the extent that it has: 0 is the low end, 1 the high
-- one; of logarithmic axes, parts of the logarithms. Limits that no picture can have are not set.
local function set_parts(axes, which, axis, from, to)
    local low, high = axis.low, axis.high
    if axis.log then low, high = math.log10(low), math.log10(high) end
    low, high = low + from * (high - low), low + to * (high - low)
    if axis.log then low, high = 10 ^ low, 10 ^ high end
    local size = math.max(math.abs(low), math.abs(high))
    if not (size < FARTHEST and high - low > LEAST * size) then return end
    if axis.log and low < 1 / FARTHEST then return end
    if axis.turned then low, high = high, low end
    axes.set[which .. "lim"] = { low = low, high = high, cut = true }
end

--- Does f(axes, which, axis) for x and y of axes, and for y of their twin; only: "x" or "y", or nil for both.
local function each_axis(front, only, f)
    local axes = front.figure.axes[front.at]
    local found = script.ranges(front.figure)[front.at]
    if only ~= "y" then f(axes, "x", found.x) end
    if only == "x" then return end
    f(axes, "y", found.y)
    if found.twin then f(figures.twin_of(axes), "y", found.twin) end
end

local function move(front, which, sign)
    each_axis(front, which, function(axes, name, axis)
        local by = axis.turned and -MOVE * sign or MOVE * sign
        set_parts(axes, name, axis, by, 1 + by)
    end)
end

local function zoom(front, factor)
    each_axis(front, front.only, function(axes, name, axis)
        set_parts(axes, name, axis, 0.5 - factor / 2, 0.5 + factor / 2)
    end)
end

--- The same keys for axes of three dimensions, around which one goes.
local function look(axes, key)
    local arrow, factor = ARROWS[key], ZOOMS[key]
    if factor then
        local near = (axes.near or 1) * (factor < 1 and NEARER or 1 / NEARER)
        if near < NEAREST and near > 1 / NEAREST then axes.near = near end
    elseif arrow and arrow[1] == "x" then
        axes.azim = ((axes.azim or figures.AZIM) + arrow[2] * TURN + 180) % 360 - 180
    elseif arrow then
        axes.elev = math.min(math.max((axes.elev or figures.ELEV) + arrow[2] * RISE, -90), 90)
    end
    return (arrow or factor) and true or false
end

-- ---- The page -------------------------------------------------------------------------------------------------------

--- An axis as a text: its ends as they are on the screen, with the digits that tell them apart.
local function ends_of(axis)
    local extent, size = axis.high - axis.low, math.max(math.abs(axis.low), math.abs(axis.high))
    local format = ("%%.%dg"):format(DIGITS + math.max(math.floor(math.log10(size / extent)), 0))
    local function text(place)
        if math.abs(place) < extent * 1e-9 then place = 0 end
        return axis.date and dates.text(place, extent) or format:format(place)
    end
    local first, last = text(axis.low), text(axis.high)
    if axis.turned then first, last = last, first end
    return first .. " … " .. last
end

--- The lines above the picture. done: the keys have ended.
local function head(front, done)
    local figure, parts = front.figure, {}
    local axes, count = figure.axes[front.at], figure.rows * figure.columns
    if count > 1 then parts[1] = ("axes %d of %d"):format(front.at, count) end
    local found = script.ranges(figure)[front.at]
    if axes.solid then
        parts[#parts + 1] = ("elev %g°   azim %g°   zoom %.3g"):format(axes.elev or figures.ELEV,
                                                                     axes.azim or figures.AZIM, axes.near or 1)
    else
        parts[#parts + 1] = "x " .. ends_of(found.x)
        parts[#parts + 1] = "y " .. ends_of(found.y)
        parts[#parts + 1] = found.twin and "right y " .. ends_of(found.twin)
    end
    local hints = axes.solid and { "←↑↓→ turn", "+ - zoom" }
        or front.only and { "←↑↓→ move", "+ - zoom " .. front.only, front.only .. " zooms both again" }
        or { "←↑↓→ move", "+ - zoom", "x y zoom one alone" }
    if count > 1 then hints[#hints + 1] = "Tab other axes" end
    hints[#hints + 1] = "r resets"
    hints[#hints + 1] = "q ends"
    local most = pages.columns()
    return { pages.cut(table.concat(parts, "   "), most), done and "" or pages.cut(table.concat(hints, "   "), most) }
end

--- Draws the figure as it is now.
local function draw(front)
    core.rows_taken = HEAD
    local ok, text, way = pcall(show.text, NAME, front.figure)
    core.rows_taken = nil
    if not ok then error(text, 0) end
    local lines = head(front)
    front.drawn = save(front.figure)
    front.page:begin(lines, way == "kitty")
    front.page:write(text)
    front.page:finish()
end

-- ---- The keys -------------------------------------------------------------------------------------------------------

--- Does what a key means. Returns "ends", "draw", "head", or nothing.
local function press(front, key)
    local count = front.figure.rows * front.figure.columns
    local axes = front.figure.axes[front.at]
    if ENDS[key] then return "ends" end
    if RESETS[key] then
        restore(front.first)
    elseif key == "next" or key == "back" then
        front.at = (front.at - 1 + (key == "next" and 1 or -1)) % count + 1
        return "head"
    elseif axes.solid then
        return look(axes, key) and "draw" or nil
    elseif key == "x" or key == "y" then
        front.only = front.only ~= key and key or nil
        return "head"
    elseif ARROWS[key] then
        move(front, ARROWS[key][1], ARROWS[key][2])
    elseif ZOOMS[key] then
        zoom(front, ZOOMS[key])
    else
        return nil
    end
    return "draw"
end

--- Takes keys until one ends; all keys that have come by the end of a picture lead to one further picture.
local function attend(front)
    draw(front)
    while true do
        local list, again, resized = front.page:keys()
        if not list then return end
        local what = {}
        for _, key in ipairs(list) do
            what[press(front, key) or "nothing"] = true
            if what.ends then break end
        end
        if again or resized or what.draw then
            draw(front)
        elseif what.head then
            front.page:draw_head(head(front))
        end
        if what.ends then return end
    end
end

--- Lets the user look at a figure by keys; false: there is no terminal for that. Ctrl-C ends it, as q does.
local function open(figure)
    if core.comms or core.show_figure or not KINDS[terminal.graphics()] then return false end
    np.effects_barrier()
    local page = pages.open()
    if not page then return false end
    local front = { figure = figure, page = page, at = figure.current.over or figure.current.place,
                    first = save(figure) }
    local ok, problem = pcall(attend, front)
    local pressed = not ok and page.keyboard.take_press()
    if not ok then restore(front.drawn or front.first) end
    if front.drawn and (ok or pressed) then page:draw_head(head(front, true)) end
    page:close()
    if not ok and not pressed then error(problem, 0) end
    return true
end

--- The same; where it cannot be the figure is shown once.
local function explore(figure)
    if core.recording() then
        core.raise(NAME, "it waits for a user, and cannot be part of a program or a derivative; call it outside")
    end
    figure.shown = true
    if open(figure) then return end
    io.stderr:write("np.plot.explore: there is no terminal to press keys at: the figure is shown as it is\n")
    show.when_ready(figure, function(ready) show.now(NAME, ready) end)
end

for _, f in ipairs { each_axis, head, draw, press, attend, open, explore } do jit.off(f, true) end

return explore
