--- np.interact: calling a function again whenever the user changes a value.
--
--     init        the function, arguments, showing results
--     widgets     np.widgets, makers of controls          controls    controls as plain data
--     models      models of Jupyter's widgets             notebook    np.interact in notebooks
--     keys        np.interact at a terminal
--
-- A *view* is the function with controls; a *front* shows a view: notebook.lua where the interpreter has comms
-- (core.comms), keys.lua where there is a terminal (core.keyboard). Elsewhere the function is called once.
local core = require "neap.core"
local controls = require "neap.interact.controls"
local widgets = require "neap.interact.widgets"
require "neap.inspect.display"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument

local View = {}
View.__index = View

-- ---- The function and the arguments ---------------------------------------------------------------------------------

local function is_callable(f)
    local meta = debug.getmetatable(f)
    return type(f) == "function" or type(meta) == "table" and rawget(meta, "__call") ~= nil
end

--- The names of the parameters of a function; nil: unknown.
local function parameters_of(f)
    if type(f) ~= "function" then return nil end
    local info = debug.getinfo(f, "Su")
    if info.what ~= "Lua" or core.is_library(f) then return nil end
    local names = {}
    for k = 1, info.nparams do
        names[k] = debug.getlocal(f, k)
        if not names[k] then return nil end
    end
    return names
end

--- The names of controls in order, and whether f gets the values one by one, as parameters of the same names. Else f
-- gets one table.
local function arrange(f, wanted)
    local keys, parameters = {}, parameters_of(f)
    for key in pairs(wanted) do
        if type(key) ~= "string" then
            raise("interact", "argument 2 (controls) must have a name for each control, got a key that is %s",
                  core.describe(key))
        end
        keys[#keys + 1] = key
    end
    table.sort(keys)
    if #keys == 0 then raise("interact", "argument 2 (controls) must have a control") end
    if not parameters then return keys, false end
    local named = 0
    for _, name in ipairs(parameters) do named = named + (wanted[name] ~= nil and 1 or 0) end
    if named == #keys and named == #parameters then return parameters, true end
    if #parameters <= 1 and named == 0 then return keys, false end
    raise("interact", "the function has the parameters %s, and the controls are %s: they must be the same names, or "
          .. "the function takes one table of all values", table.concat(parameters, ", "), table.concat(keys, ", "))
end

--- The arguments of a call, from the values of the controls: a list, and the length.
local function arguments_of(view)
    local values, list = {}, {}
    for k, key in ipairs(view.keys) do
        list[k] = view.controls[key].value
        values[key] = list[k]
    end
    view.values = values
    if view.by_position then return list, #view.keys end
    return { values }, 1
end

--- Shows the figures that were drawn and not shown, if `wanted`; else forgets the figures.
local function show_rest(wanted)
    local show = package.loaded["neap.plot.show"]
    if show then show.rest(wanted) end
end

--- Calls the function, shows results and figures, and waits until all of that is out.
local function show(view)
    local function present(...)
        for k = 1, select("#", ...) do
            local value = select(k, ...)
            if value ~= nil then np.display(value) end
        end
        np.effects_barrier()
        show_rest(true)
        np.effects_barrier()
    end
    local arguments, count = arguments_of(view)
    present(view.f(unpack(arguments, 1, count)))
end

-- ---- Plain values ---------------------------------------------------------------------------------------------------

--- Whether a table is a range: two or three numbers, {min, max} or {min, max, step}, and `value`, `label`.
local function is_range(t)
    local n = #t
    if n ~= 2 and n ~= 3 then return false end
    for k = 1, n do
        if type(core.plain(t[k])) ~= "number" then return false end
    end
    return true
end

--- The control of a plain value.
local function control_of(key, value)
    local kind = type(value)
    if controls.is(value) then return value end
    if kind == "boolean" then return widgets.checkbox(value) end
    if kind == "string" then return widgets.text(value) end
    value = core.plain(value)
    if controls.is_finite(value) then
        if value == 0 then return widgets.slider(0, 1, { value = 0 }) end
        local far = math.abs(value)
        return widgets.slider(value > 0 and -far or -3 * far, value > 0 and 3 * far or far, { value = value })
    end
    if kind == "table" and getmetatable(value) == nil then
        if is_range(value) then
            for name in pairs(value) do
                if type(name) ~= "number" and name ~= "value" and name ~= "label" then
                    raise("interact", "the range of '%s' has the unknown field '%s' (fields: label, value)", key,
                          tostring(name))
                end
            end
            return widgets.slider(value[1], value[2], { step = value[3], value = value.value, label = value.label })
        end
        if next(value) ~= nil then return widgets.dropdown(value) end
    end
    raise("interact", "the control of '%s' must be a range {min, max} or {min, max, step}, a number, a boolean, a "
          .. "string, a list of choices or one of np.widgets, got %s", key, core.describe(value))
end

-- ---- Views ----------------------------------------------------------------------------------------------------------

function View.__describe() return "an interaction (np.interact)" end
function View:__tostring()
    local list = {}
    for k, key in ipairs(self.keys) do list[k] = key .. "=" .. self.controls[key]:text() end
    return "interaction: " .. table.concat(list, ", ")
end
View.__show = function(view) print(tostring(view)) end

local function check_self(self, method)
    if getmetatable(self) ~= View then raise("interact", "call it as view:%s(…), with a colon", method) end
end

--- Sets values of controls by name.
function View:set(values)
    check_self(self, "set")
    if type(values) ~= "table" or getmetatable(values) ~= nil then
        raise("interact", "set takes values by name, view:set{a=1}, got %s", core.describe(values))
    end
    for key, value in pairs(values) do
        local control = self.controls[key]
        if not control then raise("interact", "set: there is no control '%s'", tostring(key)) end
        if not control:take(core.plain(value)) then
            raise("interact", "set: the %s '%s' does not take %s", control.kind, key, core.describe(value))
        end
    end
    if self.front then self.front:refresh() end
    return self
end

function View:close()
    check_self(self, "close")
    if self.front then self.front:close() end
end

--- The front where nobody can change values: says so, and calls the function.
local function show_once(view)
    local list = {}
    for k, key in ipairs(view.keys) do list[k] = ("%s=%s"):format(key, view.controls[key]:text()) end
    io.stderr:write("np.interact: there is neither a notebook nor a terminal to press keys at: the function is called ",
                    "once, with ", table.concat(list, ", "), "\n")
    view:show()
    return { refresh = function() view:show() end, close = function() end }
end

--- np.interact(f, controls, {manual=false}) -> view: calls f with the values of controls, and again whenever the user
-- changes a value; all that f prints, returns and draws takes the place of the output before. In a notebook the
-- controls are those of ipywidgets (pip install ipywidgets, where Jupyter runs). At a terminal the arrows choose and
-- change values, and q or Esc ends: np.interact returns then. Elsewhere f is called once.
--
-- controls is a table by name. {min, max} and {min, max, step} make a slider, whose first value is the middle, or
-- the field `value`; a number x makes a slider from -x to 3x; a boolean a checkbox; a string a line of text; a list of
-- strings, or a table of values by name, a choice; np.widgets makes other controls. f has a parameter of the name of
-- each control, in the order of the controls on the screen; or f takes one table of all values by name.
--
-- An error of f is shown in the place of the output, and the next change calls f again. Changes that come while f runs
-- lead to one call, with the last values. Ctrl-C stops a call, as the interrupt of a notebook does. view.values has the
-- values of the last call, view:set{a=1} sets values and calls f, view:close() takes the controls away. Raises if a
-- control is none, or if parameters and controls differ.
--- manual: true: f is called only when the user presses the button Run, or Enter at a terminal
--- > view = np.interact(function(a, b) return a + b end, {a={0, 10}, b={0, 1, 0.5}}, {manual=false})
-- 5.5
--- > view.values.b
-- 0.5
function np.interact(f, wanted, options)
    local o = core.options("interact", options, { manual = true })
    if not is_callable(f) then bad_argument("interact", 1, "f", "a function", f) end
    if type(wanted) ~= "table" or getmetatable(wanted) ~= nil then
        bad_argument("interact", 2, "controls", "a table of controls by name", wanted)
    end
    if o.manual ~= nil and type(o.manual) ~= "boolean" then
        bad_argument("interact", nil, "manual", "a boolean", o.manual)
    end
    if core.recording() then
        raise("interact", "it waits for a user, and cannot be part of a program or a derivative; call it outside")
    end
    local keys, by_position = arrange(f, wanted)
    local view = setmetatable({ f = f, keys = keys, by_position = by_position, controls = {}, values = {},
                                manual = o.manual == true, show = show, show_rest = show_rest,
                                shown_by = core.command }, View)
    for _, key in ipairs(keys) do view.controls[key] = control_of(key, wanted[key]) end
    np.effects_barrier()
    show_rest(true)
    if core.comms then
        view.front = require("neap.interact.notebook").open(view)
    else
        view.front = require("neap.interact.keys").open(view) or show_once(view)
    end
    return view
end

for _, g in ipairs { arrange, arguments_of, show, show_once, View.set, View.close, np.interact } do
    jit.off(g, true)
end

return np.interact
