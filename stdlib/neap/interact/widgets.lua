--- np.widgets: the controls of np.interact, for more than plain values say.
local core = require "neap.core"
local controls = require "neap.interact.controls"

local bad_argument, raise, is_finite, make = core.bad_argument, core.raise, controls.is_finite, controls.new

local EXACT = 2 ^ 53

-- ---- Arguments ------------------------------------------------------------------------------------------------------

local function check_label(name, label)
    if label ~= nil and type(label) ~= "string" then bad_argument(name, nil, "label", "a string", label) end
    return label
end

local function check_number(name, position, what, value)
    value = core.plain(value)
    if not is_finite(value) then bad_argument(name, position, what, "a finite number", value) end
    return value
end

--- A slider or a player. A slider begins in the middle, a player at min.
local function make_range(kind, min, max, o)
    local name = "widgets." .. kind
    min, max = check_number(name, 1, "min", min), check_number(name, 2, "max", max)
    if min >= max then raise(name, "min must be less than max, got %.14g and %.14g", min, max) end
    local whole = min % 1 == 0 and max % 1 == 0 and math.abs(min) < EXACT and math.abs(max) < EXACT
    local step = o.step
    if step == nil then step = (whole and max - min > 1 or kind == "play") and 1 or (max - min) / 100 end
    step = check_number(name, nil, "step", step)
    if step <= 0 or step > max - min then
        raise(name, "option 'step' must be from above 0 to max - min, got %.14g", step)
    end
    local control = make(kind, { min = min, max = max, step = step, whole = whole and step % 1 == 0,
                                 label = check_label(name, o.label) })
    control.decimals = controls.decimals(control)
    if o.value == nil then
        control.value = kind == "play" and min or controls.on_step(control, min + (max - min) / 2)
        return control
    end
    control.value = check_number(name, nil, "value", o.value)
    if control.value < min or control.value > max then
        raise(name, "option 'value' must be from min to max, %.14g to %.14g, got %.14g", min, max, control.value)
    end
    if control.value % 1 ~= 0 then control.whole = false end
    return control
end

--- The names and values of choices: a list, or a table of values by name, whose names come in order.
local function read_choices(name, choices)
    if type(choices) ~= "table" or getmetatable(choices) ~= nil or next(choices) == nil then
        bad_argument(name, 1, "choices", "a list, or a table of values by name", choices)
    end
    local names, values = {}, {}
    if choices[1] ~= nil then
        for k, value in ipairs(core.list(name, "the list of choices", choices)) do
            names[k], values[k] = type(value) == "string" and value or tostring(value), value
        end
        return names, values
    end
    for key in pairs(choices) do
        if type(key) ~= "string" then
            raise(name, "choices must be a list, or a table of values by name, got a key that is %s",
                  core.describe(key))
        end
        names[#names + 1] = key
    end
    table.sort(names)
    for k, key in ipairs(names) do values[k] = choices[key] end
    return names, values
end

local range_options = { step = true, value = true, label = true }
local play_options = { step = true, value = true, label = true, interval = true }
local value_options = { value = true, label = true }
local label_options = { label = true }

-- ---- Makers ---------------------------------------------------------------------------------------------------------

local widgets = {}

--- np.widgets.slider(min, max, {step=…, value=…, label=…}) -> control: a number from min to max for np.interact. The
-- step is 1 between integers that lie more than 1 apart, else a hundredth of the range.
--- step: the distance of two values, above 0
--- value: at the beginning; default: the middle
--- label: the text beside the control; default: the argument's name
--- > np.widgets.slider(0, 1, {step=0.25, value=0.5, label="weight"})
-- slider, now 0.50
function widgets.slider(min, max, options)
    return make_range("slider", min, max, core.options("widgets.slider", options, range_options))
end

--- np.widgets.play(min, max, {step=1, value=min, interval=100, label=…}) -> control: a number for np.interact that runs
-- from min to max once the user starts the player. The slider beside the player sets the number, too.
--- step: the distance of two values, above 0
--- value: at the beginning
--- interval: milliseconds between two values, from 1
--- label: the text beside the control; default: the argument's name
--- > np.widgets.play(0, 100, {interval=50, step=2, value=10, label="time"})
-- play, now 10
function widgets.play(min, max, options)
    local o = core.options("widgets.play", options, play_options)
    local control = make_range("play", min, max, o)
    control.interval = core.integer("widgets.play", nil, "interval", o.interval == nil and 100 or o.interval, 1)
    return control
end

--- np.widgets.dropdown(choices, {value=…, label=…}) -> control: a choice from a list of values for np.interact, or
-- from a table of values by name: {sine=np.sin, cosine=np.cos}, with the names in order.
--- value: at the beginning, from the choices; default: the first choice
--- label: the text beside the control; default: the argument's name
--- > np.widgets.dropdown({1, 2, 4}, {value=2, label="size"})
-- dropdown, now 2
function widgets.dropdown(choices, options)
    local name = "widgets.dropdown"
    local o = core.options(name, options, value_options)
    local names, values = read_choices(name, choices)
    local control = make("dropdown", { names = names, values = values, label = check_label(name, o.label) })
    control:choose(1)
    if o.value ~= nil and not control:take(o.value) then
        raise(name, "option 'value' must be one of the choices, got %s", core.describe(o.value))
    end
    return control
end

--- np.widgets.checkbox(value, {label=…}) -> control: true or false for np.interact.
--- label: the text beside the control; default: the argument's name
--- > np.widgets.checkbox(true, {label="grid"})
-- checkbox, now true
function widgets.checkbox(value, options)
    local o = core.options("widgets.checkbox", options, label_options)
    if type(value) ~= "boolean" then bad_argument("widgets.checkbox", 1, "value", "a boolean", value) end
    return make("checkbox", { value = value, label = check_label("widgets.checkbox", o.label) })
end

--- np.widgets.text(value, {label=…}) -> control: a line of text for np.interact.
--- label: the text beside the control; default: the argument's name
--- > np.widgets.text("x^2", {label="formula"})
-- text, now x^2
function widgets.text(value, options)
    local o = core.options("widgets.text", options, label_options)
    if type(value) ~= "string" then bad_argument("widgets.text", 1, "value", "a string", value) end
    return make("text", { value = value, label = check_label("widgets.text", o.label) })
end

--- np.widgets.button({label=…}) -> control: a button for np.interact; the value is the number of presses so far.
--- label: the text on the button; default: the argument's name
--- > np.widgets.button({label="new data"})
-- button, now 0
function widgets.button(options)
    local o = core.options("widgets.button", options, label_options)
    return make("button", { value = 0, label = check_label("widgets.button", o.label) })
end

return widgets
