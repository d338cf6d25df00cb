--- controls.lua: the controls of np.interact, as plain data: a control has a kind and a value, and knows which values
-- may be set. np.widgets makes controls (widgets.lua), fronts show controls.
--
--     kind       besides label and value
--     slider     min, max, step; whole: all three are integers
--     play       the same, and interval, milliseconds between two values
--     dropdown   names and values, of the choices; index of the value, from 1
--     checkbox   (a boolean)        text (a string)        button (the number of presses)
local Control = {}
Control.__index = Control

local controls = {}

local MOST_DECIMALS = 10

function Control:__tostring()
    return ("%s, now %s"):format(self.kind, self:text())
end
function Control.__describe(control) return "a control (np.widgets." .. control.kind .. ")" end

function controls.is(value)
    return type(value) == "table" and getmetatable(value) == Control
end

local function is_finite(value)
    return type(value) == "number" and value - value == 0
end
controls.is_finite = is_finite

-- ---- Values ---------------------------------------------------------------------------------------------------------

--- Digits behind the point that all values of a slider need.
function controls.decimals(control)
    for digits = 0, MOST_DECIMALS do
        local scale, good = 10 ^ digits, true
        for _, x in ipairs { control.min, control.step } do
            good = good and math.abs(x * scale - math.floor(x * scale + 0.5)) < 1e-6 * math.max(1, math.abs(x))
        end
        if good then return digits end
    end
    return MOST_DECIMALS
end

--- A number as a value of a slider: within the range, an integer where the slider is whole.
local function on_scale(control, value)
    value = math.min(math.max(value, control.min), control.max)
    return control.whole and math.floor(value + 0.5) or value
end

--- The value of the step nearest to a number.
function controls.on_step(control, value)
    local steps = math.floor((value - control.min) / control.step + 0.5)
    return on_scale(control, control.min + steps * control.step)
end

--- The value as a text for a reader.
function Control:text()
    if self.kind == "slider" or self.kind == "play" then return ("%." .. self.decimals .. "f"):format(self.value) end
    if self.kind == "dropdown" then return self.names[self.index] end
    return tostring(self.value)
end

--- Sets a value, if the control may have the value: returns whether. Numbers outside of a range become its end.
function Control:take(value)
    if self.kind == "dropdown" then
        for k, choice in ipairs(self.values) do
            if rawequal(choice, value) then return self:choose(k) end
        end
        return false
    elseif self.kind == "slider" or self.kind == "play" then
        if not is_finite(value) then return false end
        value = on_scale(self, value)
    elseif type(value) ~= type(self.value) then
        return false
    elseif self.kind == "button" and not (is_finite(value) and value >= 0 and value % 1 == 0) then
        return false
    end
    self.value = value
    return true
end

--- Takes the choice of a number, from 1.
function Control:choose(index)
    if not is_finite(index) or self.values[index] == nil then return false end
    self.index, self.value = index, self.values[index]
    return true
end

--- Moves a number by steps, or a choice by places, up to the end.
function Control:move(steps)
    if self.kind == "dropdown" then return self:choose(math.min(math.max(self.index + steps, 1), #self.values)) end
    self.value = controls.on_step(self, self.value + steps * self.step)
end

--- Makes a control of fields.
function controls.new(kind, fields)
    fields.kind = kind
    return setmetatable(fields, Control)
end

return controls
