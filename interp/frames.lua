--- frames.lua: the user's functions on the stack, and their variables: for breakpoints, and of the last error.
--
-- A frame is { func, text = where it stands, source, line, height }, and has variables: local ones, upvalues, globals;
-- before these count values that a breakpoint was given (`given`, by name, and `given_names`).
-- Local ones are read before a command and written back behind it, because while it runs they cannot be reached from
-- everywhere; upvalues and globals are the variables themselves. Compiled code takes variables that are never assigned
-- for constants, so it is dropped when one is.
--
-- A function on the stack is known by its *height*, counted from the bottom, which does not change; its level, as
-- debug.getlocal counts, is how far the top is above it. The functions of an error are no longer there when somebody
-- looks: their frames have the values of their local variables instead (`locals`), from the moment of the error until
-- the next one. So have those of functions that were traced when the breakpoint was recorded (recorded.lua).
local core = require "neap.core"
local strict = require "neap.interp.strict"
local system = require "neap.interp.system"

local getinfo, getlocal, setlocal = debug.getinfo, debug.getlocal, debug.setlocal
local getupvalue, setupvalue = debug.getupvalue, debug.setupvalue

local frames = {}

local MOST_FAILED = 50 -- frames that are kept of an error

-- ---- The stack ------------------------------------------------------------------------------------------------------

--- How many levels there are, with that of the caller as the first.
local function height()
    local n = 2
    while getinfo(n, "l") do n = n + 1 end
    return n - 2
end

--- Where a function stands, as text. What the library calls it, if that is its caller, means nothing to the user.
local function place_text(info, caller)
    local where = ("%s:%d"):format(info.short_src, info.currentline)
    local is_chunk = info.what == "main" or caller and caller.source:sub(1, 13) == "@neap/interp/"
    if is_chunk then return where .. ", in the main chunk" end
    local named = info.name and not (caller and caller.what ~= "C" and core.is_library(caller.func))
    if named then return ("%s, in function '%s'"):format(where, info.name) end
    return ("%s, in a function of line %d"):format(where, info.linedefined)
end

--- The local variables of the function at a level: { names = a list, at = their slots, values }.
local function locals_at(level)
    local locals = { names = {}, at = {}, values = {} }
    local index = 1
    while true do
        local name, value = getlocal(level + 1, index)
        if not name then return locals end
        if not name:find "^%(" then
            if not locals.at[name] then locals.names[#locals.names + 1] = name end
            locals.at[name], locals.values[name] = index, value -- a later one hides an earlier one of its name
        end
        index = index + 1
    end
end

--- A frame for the function at a level of the caller, with its local variables as they are now.
local function frame_with_locals(level, info)
    return { func = info.func, text = place_text(info, getinfo(level + 2, "Sf")), source = info.source,
             line = info.currentline, locals = locals_at(level + 1) }
end

--- The user's functions that are traced now, innermost first, as frames with `locals`; those further out than the
-- innermost trace have also `outside`. `opener` is what calls such functions, and `brackets` tells of each of its calls
-- whether it opens a trace, outermost first.
function frames.traced(opener, brackets)
    local found, at, level, outermost = {}, #brackets, 1, 1
    while not brackets[outermost] do outermost = outermost + 1 end
    local outside
    local info = getinfo(level, "Slnf")
    while info and at >= outermost do
        if info.func == opener then
            outside = outside or brackets[at] and true or nil
            at = at - 1
        elseif info.what ~= "C" and not core.is_library(info.func) then
            found[#found + 1] = frame_with_locals(level, info)
            found[#found].outside = outside
        end
        level = level + 1
        info = getinfo(level, "Slnf")
    end
    return found
end

--- The user's functions on the stack, innermost first.
function frames.here()
    local found, total = {}, height()
    for level = 1, total do
        local info = getinfo(level, "Slnf")
        if info.what ~= "C" and not core.is_library(info.func) then
            found[#found + 1] = { func = info.func, height = total - level, source = info.source,
                                  line = info.currentline, text = place_text(info, getinfo(level + 1, "Sf")) }
        end
    end
    return found
end

-- ---- Variables of a frame -------------------------------------------------------------------------------------------

local GIVEN = 0 -- in place of a slot

--- The local variables of a frame, and what a breakpoint was given, which hides them.
function frames.locals(frame)
    if frame.locals then return frame.locals end
    local locals = locals_at(height() - frame.height)
    for _, name in ipairs(frame.given_names or {}) do
        local value = frame.given[name]
        if not locals.at[name] then locals.names[#locals.names + 1] = name end
        if not locals.at[name] or not rawequal(locals.values[name], value) then
            locals.at[name], locals.values[name] = GIVEN, value
        end
    end
    return locals
end

--- Puts those back that are not as they were `before`.
function frames.write(frame, locals, before)
    if frame.locals then return end
    local level = height() - frame.height
    for name, index in pairs(locals.at) do
        local value = locals.values[name]
        if not rawequal(value, before[name]) then
            if index == GIVEN then
                frame.given[name] = value
            else
                setlocal(level, index, value)
                jit.flush()
            end
        end
    end
end

--- The variables of a frame by name, local ones and upvalues, and the set of their names.
function frames.variables(frame)
    local values, names, index = {}, {}, 1
    while true do
        local name, value = getupvalue(frame.func, index)
        if not name then break end
        values[name], names[name] = value, true
        index = index + 1
    end
    local locals = frames.locals(frame)
    for name in pairs(locals.at) do values[name], names[name] = locals.values[name], true end
    return values, names
end

--- Where a command finds its names.
function frames.environment(frame, locals)
    local globals, upvalues = getfenv(frame.func), {}
    local index = 1
    while true do
        local name = getupvalue(frame.func, index)
        if not name then break end
        upvalues[name] = index
        index = index + 1
    end
    return setmetatable({}, {
        __index = function(_, name)
            if locals.at[name] then return locals.values[name] end
            if upvalues[name] then return (select(2, getupvalue(frame.func, upvalues[name]))) end
            local value = globals[name]
            if type(value) == "nil" then return strict.missing(name) end
            return value
        end,
        __newindex = function(_, name, value)
            if locals.at[name] then
                locals.values[name] = value
            elseif upvalues[name] then
                setupvalue(frame.func, upvalues[name], value)
                jit.flush()
            else
                globals[name] = value
            end
        end,
    })
end

-- ---- The last error -------------------------------------------------------------------------------------------------

--- The frames of the last error that nobody caught, with `message`; nil: there was none.
frames.failed = nil

--- Notes the frames, if the error is one of the user's functions. What a shortage of memory or Ctrl-C has stopped is
-- let go: nobody wants its arrays.
local function note(message)
    if message:find("out of memory", 1, true) or core.C.neap_interrupt_pending() ~= 0 then
        frames.failed = nil
        return
    end
    local found, level = { message = message:match "^[^\n]*" }, 3 -- above the function that calls this one
    while #found < MOST_FAILED do
        local info = getinfo(level, "Slnf")
        if not info then break end
        if info.what ~= "C" and not core.is_library(info.func) then
            found[#found + 1] = frame_with_locals(level, info)
        end
        level = level + 1
    end
    if found[1] then frames.failed = found end
end

--- What a debugger does at an error that nobody catches, while its functions are on the stack: f(message); nil: none.
frames.stop = nil

--- From now on errors are noted; before that, at each of them, also one of Ctrl-C, `ended` is called.
function frames.watch(ended)
    system.watch_errors(function(message)
        ended()
        note(message)
        if frames.stop then frames.stop(message) end
    end)
end

for _, f in ipairs { height, locals_at, frame_with_locals, note, frames.traced, frames.here, frames.locals,
                      frames.write, frames.variables, frames.environment } do
    jit.off(f, true)
end

return frames
