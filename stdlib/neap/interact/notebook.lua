--- notebook.lua: np.interact in a notebook: widgets of the front end above an output area.
--
-- The output area takes the outputs of one request: those that are published while the model's msg_id is the id of the
-- request. So a call of the user's function is
--
--     msg_id = the request's id ─▶ clear_output ─▶ the call: text, pictures, an error ─▶ msg_id = ""
--
-- The first call belongs to the cell; a later call to the widget's message. A front end without widgets shows the text
-- of the display, and then the outputs of the first call as the cell's own.
local core = require "neap.core"
local models = require "neap.interact.models"

local np = core.np
local notebook = {}

local Front = {}
Front.__index = Front

-- ---- Controls as models ---------------------------------------------------------------------------------------------

--- The d3 format of a slider's number.
local function readout(control)
    return control.whole and "d" or ("." .. control.decimals .. "f")
end

local function range_state(control)
    return { min = control.min, max = control.max, step = control.step, value = control.value }
end

-- By kind of control: makes models, and returns the model to be shown and the model that has the value.
local makers = {}

function makers.slider(control, state)
    for key, value in pairs(range_state(control)) do state[key] = value end
    state.readout_format = readout(control)
    local model = models.new(control.whole and "IntSlider" or "FloatSlider", state)
    return model, model
end

--- A player and a slider, linked by the front end: the slider has the value.
function makers.play(control, state)
    local play = range_state(control)
    play.interval = control.interval
    local player = models.new("Play", play)
    local _, slider = makers.slider(control, state)
    local link = models.new("Link", { source = { models.name(player), "value" },
                                      target = { models.name(slider), "value" } })
    local box = models.new("HBox", { children = { models.name(player), models.name(slider) } })
    for _, part in ipairs { link, player, slider } do box.parts[#box.parts + 1] = part end
    return box, slider
end

function makers.dropdown(control, state)
    state._options_labels, state.index = control.names, control.index - 1
    local model = models.new("Dropdown", state)
    return model, model
end

function makers.checkbox(control, state)
    state.value = control.value
    local model = models.new("Checkbox", state)
    return model, model
end

function makers.text(control, state)
    state.value = control.value
    local model = models.new("Text", state)
    return model, model
end

function makers.button(_, state)
    local model = models.new("Button", state)
    return model, model
end

--- A control's value as part of a model's state.
local function state_of(control)
    if control.kind == "button" then return {} end
    if control.kind == "dropdown" then return { index = control.index - 1 } end
    return { value = control.value }
end

--- Takes a change of a front end. A value that the control cannot have is put back in the front end.
local function take(front, key, model, changed)
    local control = front.view.controls[key]
    if control.kind == "dropdown" then
        control:choose((changed.index or -1) + 1)
    elseif changed.value ~= nil then
        control:take(changed.value)
    end
    model:update(state_of(control))
    if not rawequal(control.value, front.view.values[key]) and not front.manual then core.comms.later(front.run) end
end

--- Makes the models of a control; returns the model to be shown.
local function add_control(front, key, control)
    local shown, model = makers[control.kind](control, { description = control.label or key })
    front.models[key] = model
    function model.on_change(changed) take(front, key, model, changed) end
    function model.on_custom(content)
        if control.kind ~= "button" or content.event ~= "click" then return end
        control:take(control.value + 1)
        if not front.manual then core.comms.later(front.run) end
    end
    return shown
end

-- ---- Calls ----------------------------------------------------------------------------------------------------------

--- Calls the user's function, with the output area for all output.
local function call(front, first)
    local comms, output = core.comms, front.output
    output:update { msg_id = comms.parent() }
    if not first then comms.clear(true) end
    local before = comms.made()
    local ok, text, interrupted = comms.try(front.view.show, front.view)
    if not ok then
        front.view.show_rest(false)
        comms.tell_error(text, interrupted)
    end
    if not first and comms.made() == before then comms.clear(false) end
    output:update { msg_id = "" }
end

--- The same, unless the function itself has led to this call. An interrupt may come at any place.
local function run(front, first)
    if front.closed or front.running then return end
    front.running = true
    local ok, problem = pcall(call, front, first)
    front.running = false
    if not ok then error(problem, 0) end
end

-- ---- The front ------------------------------------------------------------------------------------------------------

local MISSING = "np.interact: this front end shows no widgets. They need ipywidgets where Jupyter runs "
    .. "(pip install ipywidgets; then load the page again) and a running kernel. Below is what the first values give."

--- Shows a view (neap.interact) in the running cell, and calls the function for the first time.
function notebook.open(view)
    local front = setmetatable({ view = view, models = {}, manual = view.manual }, Front)
    function front.run() run(front, false) end
    local children, shown = {}, {}
    for k, key in ipairs(view.keys) do shown[k] = add_control(front, key, view.controls[key]) end
    if view.manual then
        local button = models.new("Button", { description = "Run" })
        function button.on_custom(content)
            if content.event == "click" then core.comms.later(front.run) end
        end
        shown[#shown + 1] = button
    end
    front.output = models.new("Output", { outputs = {}, msg_id = "" })
    shown[#shown + 1] = front.output
    for k, model in ipairs(shown) do children[k] = models.name(model) end
    front.box = models.new("VBox", { children = children, _dom_classes = { "widget-interact" } })
    for _, model in ipairs(shown) do front.box.parts[#front.box.parts + 1] = model end
    function front.box.on_close() front:close() end
    np.display(models.bundle(front.box, MISSING))
    np.effects_barrier()
    run(front, true)
    return front
end

--- Shows values that the program has set, and calls the function.
function Front:refresh()
    for key, model in pairs(self.models) do
        if not self.closed then model:update(state_of(self.view.controls[key])) end
    end
    np.effects_barrier()
    run(self, false)
end

--- Takes the widgets and the output away.
function Front:close()
    if self.closed then return end
    self.closed = true
    self.box:close()
end

for _, f in ipairs { add_control, take, call, run, notebook.open, Front.refresh, Front.close } do jit.off(f, true) end

return notebook
