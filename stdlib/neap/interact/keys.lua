--- keys.lua: np.interact at a terminal: keys choose and change values, the screen shows the controls above the output.
--
--     > freq   ────●───────────  2.5       the chosen control
--       kind   ‹ sin ›
--       on     [x]
--     ↑↓ choose   ←→ change   …
--     (all that a call prints and draws)
--
-- The page is drawn from the first row of the terminal, whose former rows scroll away. All keys that have come by the
-- end of a call lead to one further call. Ctrl-C stops a call, whose place then says so; while no call runs Ctrl-C ends
-- the interaction with an error, q and Esc end without.
local console = require "neap.effects.console"
local core = require "neap.core"
local pages = require "neap.effects.page"

local np = core.np
local length, cut = pages.length, pages.cut
local keys = {}

local BAR = 24 -- columns of a slider
local LARGE = 10 -- steps of the keys for pages

-- ---- Changing values ------------------------------------------------------------------------------------------------

local STEPS = { right = 1, left = -1, ["page up"] = LARGE, ["page down"] = -LARGE, home = -math.huge,
                ["end"] = math.huge }

local function change_range(control, steps)
    if steps == math.huge then
        control:take(control.max)
    elseif steps == -math.huge then
        control:take(control.min)
    else
        control:move(steps)
    end
end

--- Starts or stops a player; at the end it begins anew.
local function toggle_play(control)
    if not control.playing and control.value >= control.max then control:take(control.min) end
    control.playing = not control.playing and console.now()
end

local function change_text(control, key)
    if key == "delete" then
        control:take((control.value:gsub("[%z\1-\127\194-\244][\128-\191]*$", "")))
    elseif key == "clear" then
        control:take ""
    elseif #key == 1 and key:find "^[^%c]" or key:find "^[\194-\244]" then
        control:take(control.value .. key)
    end
end

--- Does what a key means for the chosen control.
local function change(control, key)
    local kind, steps = control.kind, STEPS[key]
    local is_press = key == " " or key == "enter"
    if kind == "text" then
        change_text(control, key)
    elseif kind == "dropdown" then
        if steps then control:move(steps) end
    elseif kind == "slider" or kind == "play" then
        if steps then change_range(control, steps) end
        if kind == "play" and is_press then toggle_play(control) end
    elseif kind == "checkbox" then
        if is_press or steps then control:take(not control.value) end
    elseif is_press then
        control:take(control.value + 1)
    end
end

--- Moves a player that runs; returns whether the value is another, and the seconds until the next value; nil: none.
local function advance(control)
    local interval, before = control.interval / 1000, control.value
    local steps = math.floor((console.now() - control.playing) / interval)
    if steps > 0 then
        control:move(steps)
        control.playing = control.value < control.max and control.playing + steps * interval or false
    end
    local left = control.playing and math.max(control.playing + interval - console.now(), 0) or nil
    return control.value ~= before, left
end

--- The same for all players that run.
local function play(front)
    local moved, least = false, nil
    for _, control in pairs(front.view.controls) do
        if control.playing then
            local is_moved, left = advance(control)
            moved, least = moved or is_moved, left and math.min(left, least or left) or least
        end
    end
    return moved, least
end

-- ---- The page -------------------------------------------------------------------------------------------------------

--- A control as a text of one line.
local function face(control)
    local kind, text = control.kind, control:text()
    if kind == "slider" or kind == "play" then
        local at = math.floor((control.value - control.min) / (control.max - control.min) * (BAR - 1) + 0.5)
        local mark = kind == "play" and (control.playing and "▶ " or "❚ ") or ""
        return mark .. ("─"):rep(at) .. "●" .. ("─"):rep(BAR - 1 - at) .. "  " .. text
    end
    if kind == "dropdown" then return "‹ " .. text .. " ›" end
    if kind == "checkbox" then return control.value and "[x]" or "[ ]" end
    if kind == "button" then return "( press )  " .. text end
    return text .. "▏"
end

local HINTS = { slider = "←→ change", dropdown = "←→ change", checkbox = "Space switches", button = "Space presses",
                text = "type, Backspace", play = "Space plays, ←→ change" }

--- The lines of the controls, from the top of the terminal.
local function head(front)
    local view, lines, wide = front.view, {}, 0
    local most = pages.columns()
    for _, key in ipairs(view.keys) do wide = math.max(wide, length(view.controls[key].label or key)) end
    wide = math.min(wide, math.floor(most / 3))
    for k, key in ipairs(view.keys) do
        local control = view.controls[key]
        local label = cut(control.label or key, wide)
        local line = (k == front.at and "> " or "  ") .. label .. (" "):rep(wide - length(label) + 2) .. face(control)
        lines[k] = cut(line, most)
    end
    local chosen = view.controls[view.keys[front.at]]
    local takes_enter = chosen.kind == "button" or chosen.kind == "play"
    local hints = { HINTS[chosen.kind] }
    if #view.keys > 1 then table.insert(hints, 1, "↑↓ choose") end
    if view.manual then hints[#hints + 1] = takes_enter and "r calls" or "Enter calls" end
    hints[#hints + 1] = chosen.kind == "text" and "Esc ends" or "q ends"
    lines[#lines + 1] = cut(table.concat(hints, "   "), most)
    return lines
end

--- Draws the controls, and calls the function below.
local function run(front)
    local terminal = package.loaded["neap.plot.terminal"]
    front.page:begin(head(front), terminal and terminal.graphics() == "kitty")
    local before = core.show_figure
    core.show_figure = function(figure) require("neap.plot.show").at_terminal("plot.show", figure) end
    core.rows_taken = #front.view.keys + 1
    local ok, text = front.page.keyboard.try(front.view.show, front.view)
    core.show_figure, core.rows_taken = before, nil
    if not ok then
        front.view.show_rest(false)
        print(text)
        np.effects_barrier()
    end
    front.page:finish()
end

-- ---- The interaction ------------------------------------------------------------------------------------------------

--- Does what a key means. Returns "ends", "call", "draw", or nothing.
local function press(front, key)
    local view = front.view
    local control = view.controls[view.keys[front.at]]
    local is_text = control.kind == "text"
    if key == "escape" or key == "q" and not is_text then return "ends" end
    local moved = (key == "down" or key == "next") and 1 or (key == "up" or key == "back") and -1
    if moved then
        front.at = (front.at + moved - 1) % #view.keys + 1
        return "draw"
    end
    local takes_enter = control.kind == "button" or control.kind == "play"
    if view.manual and (key == "enter" and not takes_enter or key == "r" and takes_enter) then return "call" end
    local value, playing = control.value, control.playing
    change(control, key)
    if not rawequal(control.value, value) then return view.manual and "draw" or "call" end
    if control.playing ~= playing then return "draw" end
end

--- The same for a list, up to a key that ends: whether to call, to draw, and to end.
local function press_all(front, list)
    local what = {}
    for _, key in ipairs(list) do
        local meaning = press(front, key)
        if meaning then what[meaning] = true end
        if what.ends then break end
    end
    return what
end

--- Takes keys until one ends the interaction.
local function attend(front)
    while true do
        local due, wait = play(front)
        local list, again = front.page:keys(due and 0 or wait)
        if not list then return end
        local what = press_all(front, list)
        if due or again or what.call then
            run(front)
        elseif what.draw then
            front.page:draw_head(head(front))
        end
        if what.ends then return end
    end
end

--- Lets the user change the values of a view (neap.interact); returns when that has ended, with a front that is at its
-- end; nil: there is no terminal.
function keys.open(view)
    local page = pages.open()
    if not page then return nil end
    local front = { view = view, at = 1, page = page }
    local ok, problem = pcall(function()
        run(front)
        attend(front)
    end)
    page:close()
    for _, key in ipairs(view.keys) do view.controls[key].playing = nil end
    if not ok then error(problem, 0) end
    return { refresh = function() view.show(view) end, close = function() end }
end

for _, f in ipairs { play, run, attend, keys.open } do jit.off(f, true) end

return keys
