--- conditions.lua: an array as a condition is an error: in Lua it is always true, also one that holds false.
--
-- Two things must come together, so that no alarm is false: the code says that the result of a call or an operator is
-- tested (if, while, until, and, or, not, assert), and that result, when the code runs, is an array. `if x then` asks
-- whether there is an x, and is left alone; so is `x and x:sum() or 0`.
--
-- A chunk's bytecode is looked at when it is loaded (`check`, by interp/tests_of.lua). It gives *tests*: by prototype,
-- line and name of what is called. If there are any, the functions of these names are *watched*: replaced by ones that
-- look at what they return, and ask for their caller's line only if that is an array. A program without such code pays
-- nothing. `x.shape[0]`, which would be nil, is found in the same way; a line that takes shape[0] of a table of the
-- user's must not ask for an array's shape as well.
--
-- `x.sum(0)` would be the sum of 0: methods that are read with a dot do not take numbers for their array.
--
-- What it does not see: a value that was stored in a table or an upvalue, or was returned by a function of the user's,
-- before it is tested; and, of several calls of one name on one line, those of which some are tested and some are not.
local core = require "neap.core"
local shared = require("neap.core.globals").shared
local source = require "neap.core.source"
local util = require "jit.util"
local tests_of = require "neap.interp.tests_of"

local is_array, fail = core.is_array, core.fail
local select, getinfo = select, debug.getinfo
local conditions = {}

local tests = setmetatable({}, { __mode = "k" }) -- prototype → line → name → { label, any }
local watched, watchers = {}, setmetatable({}, { __mode = "k" }) -- names; functions: what they look at
core.watched = setmetatable({}, { __mode = "k" }) -- by a function that watches, the one that it stands for
local parts = {} -- np.random and its like, when they have been loaded

-- ---- At run time ----------------------------------------------------------------------------------------------------

--- What to write in place of an array x that is tested; `label` stands for the code that gave it.
local function remedy(x, label)
    local known = core.info(x)
    if known.traced ~= 0 then return "while tracing its value is not known: np.cond or np.where decide" end
    local name = label:find "^the " and "x" or label
    if core.dtype_of(x).kind ~= "b" then
        return ("compare its value, as in %s:item() > 0, or ask with ~= nil whether there is one"):format(name)
    end
    if tonumber(known.size) == 1 then return ("test its value, %s:item()"):format(name) end
    local line = source.current() or ""
    local is_test = line:find "%f[%w_]if%f[^%w_]" or line:find "%f[%w_]while%f[^%w_]"
    local both, either = line:match "%f[%w_]and%f[^%w_]", line:match "%f[%w_]or%f[^%w_]"
    local joined = not is_test and not (both and either) and (both or either) -- c and a or b chooses
    local by_element = joined and ("np.logical_%s(x, y) is the %s of elements; "):format(joined, joined) or ""
    return ("%stest %s:all():item() or :any():item(), or let np.where choose by element"):format(by_element, name)
end

--- What was noted of results of this name at the line of the user's code that called a watcher, which is on the stack
-- at this level or above it.
local function noted(name, level)
    local frame = getinfo(level, "fl")
    while frame and (watchers[frame.func] or frame.func == core.metatable.__index) do -- what is no tail call
        level = level + 1
        frame = getinfo(level, "fl")
    end
    if not frame or not frame.func then return nil end
    local proto = util.funcinfo(frame.func).proto
    local line = proto and tests[proto] and tests[proto][frame.currentline]
    return line and line[name]
end

--- Raises if the user's code tests x, which `name` has returned to it.
local function look(name, x)
    if name == "[]" and core.dtype_of(x).kind ~= "b" then return end
    local test = noted(name, 4)
    if not test or not (test.any or core.dtype_of(x).kind == "b") then return end
    fail("%s is an array, which as a condition (if, while, until, and, or, not) is always true in Lua, whatever it "
         .. "holds; %s", test.label, remedy(x, test.label))
end

local function pass(name, ...)
    local x = ...
    if is_array(x) then look(name, x) end
    return ...
end

--- Replaces the field x.shape by one that raises where the user's code takes what no shape has, since that is nil.
local function watch_shape()
    local read = core.fields.shape
    local function watcher(x)
        local slip = noted(".shape", 2)
        if slip then
            fail("%s is nil: a shape is a Lua table, counted from 1; x:dim(%d) is the extent of axis %d", slip.label,
                 slip.key, slip.key)
        end
        return read(x)
    end
    watchers[watcher] = "field"
    core.fields.shape = watcher
end

--- Replaces holder[key], a function of the library, by one that looks at what it returns.
local function watch(holder, key, name)
    local f = rawget(holder, key)
    if type(f) ~= "function" or watchers[f] == "result" then return end
    local function watcher(...) return pass(name, f(...)) end
    watchers[watcher], core.watched[watcher] = "result", f
    rawset(holder, key, watcher)
end

--- The variable whose method of this name the user's line calls by a dot; "x" where none is.
local function receiver_of(name)
    local line, level = source.current()
    for receiver in (line or ""):gmatch("%f[%w_%.:]([%a_][%w_]*)%.%s*" .. name .. "%s*%(") do
        if is_array(source.variable(receiver, level)) then return receiver end
    end
    return "x"
end

local dotted = {} -- names of methods

--- Replaces a method by one that does not take a number for its array, as it would be in x.sum(0).
local function watch_dot(name)
    local f = rawget(core.methods, name)
    if dotted[name] or type(f) ~= "function" then return end
    dotted[name] = true
    local function watcher(x, ...)
        if type(x) == "number" then
            local receiver = receiver_of(name)
            fail("%s.%s(…) is not given %s; methods take a colon: %s:%s(…)", receiver, name, receiver, receiver, name)
        end
        return f(x, ...)
    end
    watchers[watcher], core.watched[watcher] = "dot", f
    core.methods[name] = watcher
    jit.flush()
end

--- Watches all that is called by this name: a method, functions of np and its parts, a metamethod, "[]", ".shape".
local function watch_name(name)
    if watched[name] then return end
    watched[name] = true
    if name == ".shape" then
        watch_shape()
    elseif name == "[]" then
        watch(core, "part", name)
    elseif name:sub(1, 2) == "__" then
        watch(core.metatable, name, name)
    else
        watch(core.methods, name, name)
        watch(np, name, name)
        for _, part in ipairs(parts) do watch(part, name, name) end
    end
    jit.flush() -- compiled code has the old functions in it
end

-- ---- When a chunk is loaded -----------------------------------------------------------------------------------------

--- A part of np has been loaded.
function core.on_part(part)
    parts[#parts + 1] = part
    for name in pairs(watched) do watch(part, name, name) end
end

--- Notes the tests of a function's code that has been loaded, and of all functions defined in it.
function conditions.check(f)
    tests_of(f, function(proto, line, name, test)
        tests[proto] = tests[proto] or {}
        tests[proto][line] = tests[proto][line] or {}
        tests[proto][line][name] = test
        watch_name(name)
    end, core.methods, watch_dot)
    return f
end
--- Replaces assert, once.
function conditions.install()
    function shared._G.assert(...)
        local x = ...
        if is_array(x) and core.dtype_of(x).kind == "b" then
            fail("assert got an array, which is always true in Lua, whatever it holds; %s", core.info(x).traced ~= 0
                 and remedy(x, "x") or x.size == 1 and "assert its value, x:item()"
                 or "assert x:all():item(), or np.array_equal(x, y)")
        end
        if x then return ... end
        local n = select("#", ...)
        if n == 0 then error("bad argument #1 to 'assert' (value expected)", 2) end
        if n == 1 then error("assertion failed!", 2) end
        error((select(2, ...)), 0)
    end
end

for _, f in ipairs { noted, look, watch, watch_name, remedy, conditions.check } do jit.off(f) end

return conditions
