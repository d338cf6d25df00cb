--- models.lua: the models of Jupyter's widgets (the protocol 2 of ipywidgets 8), over comms (core.comms).
--
-- A model is a table of values by name, the *state*, with a copy in the front end. A widget has three models: the
-- widget's own, a layout and a style:
--
--     comm_open  { state = { _model_name = "IntSliderModel", layout = "IPY_MODEL_<id>", value = 3, … } }
--     comm_msg   { method = "update", state = { value = 4 } }            both ways: some values have changed
--                { method = "echo_update", state = { value = 4 } }       to all front ends: a front end has changed it
--                { method = "request_state" }                            of a front end: asks for an update of all
--                { method = "custom", content = { event = "click" } }    a button was pressed
--
-- A page that is loaded again asks for all models at once, by a comm of the target "jupyter.widget.control".
local core = require "neap.core"
local json = require "neap.files.json"

local models = {}

local PROTOCOL = { version = "2.1.0" }
local VIEW = "application/vnd.jupyter.widget-view+json"
local BASE, CONTROLS = { "@jupyter-widgets/base", "2.0.0" }, { "@jupyter-widgets/controls", "2.0.0" }
local OUTPUT = { "@jupyter-widgets/output", "1.0.0" }

local Model = {}
Model.__index = Model

local alive = {} -- models by the id of their comm

-- ---- Kinds ----------------------------------------------------------------------------------------------------------

local function is_number(value) return type(value) == "number" and value - value == 0 end
local function is_boolean(value) return type(value) == "boolean" end
local function is_string(value) return type(value) == "string" end
local function is_list(value) return type(value) == "table" and getmetatable(value) == nil end

-- By name of the model without "Model": the module; style; takes: the values that a front end may change, with a test
-- of each; quiet: of those, the values of which other front ends are not told; has_view, has_layout: not if false.
local kinds = {
    FloatSlider = { CONTROLS, style = "SliderStyle", takes = { value = is_number } },
    IntSlider = { CONTROLS, style = "SliderStyle", takes = { value = is_number } },
    Dropdown = { CONTROLS, style = "DescriptionStyle", takes = { index = is_number } },
    Checkbox = { CONTROLS, style = "CheckboxStyle", takes = { value = is_boolean } },
    Text = { CONTROLS, style = "TextStyle", takes = { value = is_string } },
    Button = { CONTROLS, style = "ButtonStyle", takes = {} },
    Play = { CONTROLS, style = "DescriptionStyle",
             takes = { value = is_number, playing = is_boolean, ["repeat"] = is_boolean } },
    VBox = { CONTROLS, takes = {} },
    HBox = { CONTROLS, takes = {} },
    Output = { OUTPUT, takes = { outputs = is_list }, quiet = { outputs = true } },
    Link = { CONTROLS, takes = {}, has_view = false, has_layout = false },
    Layout = { BASE, view = "LayoutView", takes = {}, has_layout = false },
}
for _, style in ipairs { "SliderStyle", "DescriptionStyle", "CheckboxStyle", "TextStyle", "ButtonStyle" } do
    kinds[style] = { CONTROLS, view = "StyleView", view_module = BASE, takes = {}, has_layout = false }
end

--- How a state names a model.
function models.name(model)
    return "IPY_MODEL_" .. model.comm.id
end

-- ---- Messages -------------------------------------------------------------------------------------------------------

--- Takes the values that a front end may change; tells other front ends, and then model.on_change.
local function take_state(model, state)
    if not is_list(state) then return end
    local kind, taken, echo = model.kind, {}, {}
    for key, value in pairs(state) do
        local fits = kind.takes[key]
        if fits and fits(value) then
            model.state[key], taken[key] = value, value
            if not (kind.quiet and kind.quiet[key]) then echo[key] = value end
        end
    end
    if next(echo) ~= nil then model.comm:send { method = "echo_update", state = echo, buffer_paths = {} } end
    if next(taken) ~= nil and model.on_change then model.on_change(taken) end
end

local function take_message(model, data)
    if data.method == "update" then
        take_state(model, data.state)
    elseif data.method == "request_state" then
        model.comm:send { method = "update", state = model.state, buffer_paths = {} }
    elseif data.method == "custom" and is_list(data.content) and model.on_custom then
        model.on_custom(data.content)
    end
end

--- Answers the question for all states.
local function open_control(comm)
    function comm.on_message(data)
        if data.method ~= "request_states" then return end
        local states, any = {}, false
        for id, model in pairs(alive) do
            local state = model.state
            any = true
            states[id] = { model_name = state._model_name, model_module = state._model_module,
                           model_module_version = state._model_module_version, state = state }
        end
        comm:send { method = "update_states", states = any and states or json.object, buffer_paths = {} }
    end
end

-- ---- Models ---------------------------------------------------------------------------------------------------------

--- Opens a model of a kind with some values of its state; for all other values the front end has defaults.
function models.new(name, values)
    local kind = kinds[name]
    local model = setmetatable({ kind = kind, state = {}, parts = {} }, Model)
    local state = model.state
    for key, value in pairs(values or {}) do state[key] = value end
    state._model_name, state._model_module, state._model_module_version = name .. "Model", kind[1][1], kind[1][2]
    if kind.has_view == false then
        state._view_name = json.null
    else
        local module = kind.view_module or kind[1]
        state._view_name, state._view_module, state._view_module_version = kind.view or name .. "View", module[1],
                                                                           module[2]
    end
    for key, part in pairs { layout = kind.has_layout ~= false and "Layout" or nil, style = kind.style } do
        model.parts[#model.parts + 1] = models.new(part)
        state[key] = models.name(model.parts[#model.parts])
    end
    core.comms.targets["jupyter.widget.control"] = open_control
    model.comm = core.comms.open("jupyter.widget", { state = state, buffer_paths = {} }, PROTOCOL)
    alive[model.comm.id] = model
    function model.comm.on_message(data) take_message(model, data) end
    function model.comm.on_close()
        alive[model.comm.id] = nil
        if model.on_close then model.on_close() end
    end
    return model
end

--- Sets values of the state, and tells the front end of the changes.
function Model:update(values)
    local changed = {}
    for key, value in pairs(values) do
        if self.state[key] ~= value then self.state[key], changed[key] = value, value end
    end
    if next(changed) ~= nil then self.comm:send { method = "update", state = changed, buffer_paths = {} } end
end

--- Takes the model away, with all parts.
function Model:close()
    alive[self.comm.id] = nil
    self.comm:close()
    for _, part in ipairs(self.parts) do part:close() end
end

--- The bundle by which a front end shows a model; `text` is shown where there are no widgets.
function models.bundle(model, text)
    return { ["text/plain"] = text, [VIEW] = { version_major = 2, version_minor = 0, model_id = model.comm.id } }
end

for _, f in ipairs { take_state, take_message, open_control, models.new, Model.update, Model.close } do
    jit.off(f, true)
end

return models
