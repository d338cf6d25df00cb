--- settings.lua: options and times of solvers of differential equations: local settings = require
-- "neap.integrate.settings".
local core = require "neap.core"
local methods = require "neap.integrate.steps"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type

local settings = {}

local MOST_ATTEMPTS = 100000

-- ---- Options --------------------------------------------------------------------------------------------------------

--- An option that is a number from `least` up; nil is the default.
local function number(name, option, value, default, least)
    value = core.plain(value)
    if value == nil then return default end
    if type(value) ~= "number" or value ~= value or value < least then
        bad_argument(name, nil, option, least > 0 and "a number above 0" or "a number from 0 up", value)
    end
    return value
end

local TINY = 1e-300

--- The derivatives of a field by y.
local function by_forward_mode(field, t, y)
    return np.jacfwd(function(state) return field(t, state) end)(y)
end

jit.off(by_forward_mode)

--- The checked options of a call: numbers, and the name of the method. jacobian: the user's own, if there is one. A
-- relative tolerance that the dtype cannot hold is raised to 100 times its rounding, as in SciPy.
function settings.checked(name, o, dtype, rtol, atol, jacobian)
    local method = o.method == nil and "RK45" or o.method
    if not methods[method] then
        bad_argument(name, nil, "method", '"RK45", "RK23", "DOP853", "Radau", "BDF" or "Rodas4"', o.method)
    end
    if jacobian and not methods[method].implicit then
        raise(name, "option 'jac' is for the methods \"Radau\", \"BDF\" and \"Rodas4\"")
    end
    return {
        method = method, rtol = math.max(number(name, "rtol", o.rtol, rtol, 0), 100 * core.eps(dtype)),
        atol = number(name, "atol", o.atol, atol, 0), max_step = number(name, "max_step", o.max_step, math.huge, TINY),
        first_step = number(name, "first_step", o.first_step, nil, TINY),
        max_steps = core.integer(name, nil, "max_steps", o.max_steps == nil and MOST_ATTEMPTS or o.max_steps, 1,
                                 2 ^ 31 - 1),
    }
end

--- How steps are made: what march.lua takes. checked: settings.checked; jacobian: of (field, t, y), if it is given.
function settings.how(checked, jacobian)
    return setmetatable({ method = methods[checked.method], jacobian = jacobian or by_forward_mode },
                        { __index = checked })
end

--- Refuses times that do not follow each other from `first` to `last`, their own ends without these, where their values
-- can be read. Elsewhere rows of NaN tell.
function settings.check_times(name, what, times, first, last)
    if core.recording() then return end
    local list = times:totable()
    first, last = first or list[1], last or list[#list]
    local forward = last < first and -1 or 1
    for k, t in ipairs(list) do
        if not ((t - (k == 1 and first or list[k - 1])) * forward >= 0 and (last - t) * forward >= 0) then
            raise(name, "%s must be in order from %.14g to %.14g, got %.14g", what, first, last, t)
        end
    end
end

return settings
