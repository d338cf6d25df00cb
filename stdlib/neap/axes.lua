--- axes.lua: the names of axes that are open around the code that runs now.
--
-- np.vmap with axis_name opens a name while its function is traced. The *token* of the axis is the index of the
-- example, an array (i32, 0-d) that is an input of that trace: what is computed over the axis has it as an operand
-- (lazy/ops/collective.c).
local core = require "neap.core"

local raise = core.raise
local type = type

local axes = {}

--- The open axes { name, size, token }, the innermost last.
function axes.open()
    local frame = core.frame()
    if not frame.axes then frame.axes = {} end
    return frame.axes
end

--- The innermost open axis of a name, or nil.
function axes.find(name)
    local list = axes.open()
    for k = #list, 1, -1 do
        if list[k].name == name then return list[k] end
    end
    return nil
end

--- Runs f(…) with a further open axis.
function axes.with(axis, f, ...)
    local list = axes.open()
    local n = #list
    list[n + 1] = axis
    local function close(ok, ...)
        for k = #list, n + 1, -1 do list[k] = nil end
        if not ok then error((...), 0) end
        return ...
    end
    return close(pcall(f, ...))
end

--- The open axes that argument `position` of np.name names: a name, or a table of them.
function axes.named(name, position, names)
    if type(names) == "string" then names = { names } end
    if type(names) ~= "table" or #names == 0 then
        core.bad_argument(name, position, "axis_name", "the name of an axis, or a table of names", names)
    end
    local list = {}
    for k = 1, #names do
        if type(names[k]) ~= "string" then
            core.bad_argument(name, position, "axis_name", "the name of an axis, or a table of names", names[k])
        end
        list[k] = axes.find(names[k])
        if not list[k] then
            local known = {}
            for at, axis in ipairs(axes.open()) do known[at] = ("'%s'"):format(axis.name) end
            raise(name, "unbound axis name '%s': a name is bound inside the function that np.vmap(f, {axis_name=…}) "
                  .. "runs; here %s", names[k],
                  #known == 0 and "there is none" or "there is " .. table.concat(known, ", "))
        end
        for before = 1, k - 1 do
            if list[before] == list[k] then raise(name, "axis name '%s' stands twice", names[k]) end
        end
    end
    return list
end

jit.off(axes.with)

return axes
