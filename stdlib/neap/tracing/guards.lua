--- guards.lua: the values around a function for which a recording is good.
--
-- A jitted function reads numbers, booleans, strings, tables and functions from variables around the function, and from
-- fields of plain tables in these variables; a recording is good as long as these values are the same. A *guard* is one
-- such value: a place (capture.lua), and a path of fields.
--
--      local lr, cfg, act = 0.1, {wd = 1e-4}, np.tanh
--      np.jit(function(w) return act(w) * lr - cfg.wd * w end)     guards: act, lr, cfg.wd
--
-- Numbers, booleans, strings and nil are compared by value, all else by identity. Arrays in variables are inputs and
-- must be arrays still; arrays in fields are bound, and guarded by identity. The library and Lua's own tables and
-- functions are taken not to change.
local core = require "neap.core"
local globals = require "neap.core.globals"
local capture = require "neap.tracing.capture"

local is_array, describe = core.is_array, core.describe
local type, ipairs, pairs, rawequal, rawget = type, ipairs, pairs, rawequal, rawget

local guards = {}

local MOST_VARIABLES = 50 -- of a generated function, which can have 60 upvalues
local MOST_SHOWN = 4
local IS_SCALAR = { number = true, boolean = true, string = true, ["nil"] = true }
local WEAK = { __mode = "v" }
local CHUNK = debug.getinfo(1, "S").source

--- Tables that are taken not to change: np with its parts, and Lua's libraries.
local unchanging
local function changes(value)
    if not unchanging then
        unchanging = { [core.np] = true }
        for _, name in ipairs { "bit", "coroutine", "debug", "ffi", "io", "jit", "math", "os", "string", "table" } do
            local library = globals.modules[name]
            if library then unchanging[library] = true end
        end
    end
    return not unchanging[value]
end

--- Whether a global holds what Lua put there.
local function is_builtin(place, value)
    return place.environment and value ~= nil and rawequal(rawget(globals.own, place.name), value)
end

--- The value of a guard now.
local function read(guard)
    return capture.follow(capture.read(guard.place), guard.path)
end

--- Whether the value of a guard is the old one. A guard keeps no object alive.
local function is_same(guard)
    local now, was = read(guard), guard.was
    if guard.kind == "array" then return is_array(now) end
    if guard.kind == "identity" then return now ~= nil and rawequal(now, guard.held[1]) end
    if rawequal(now, was) then return was ~= 0 or 1 / now == 1 / was end -- zeros have a sign
    return type(now) == "number" and now ~= now and was ~= was
end

--- What stands for the nil at the end of a path: the first table on it that may have the field by its metatable, as
-- objects of the user and of the library have, and the path to that.
local function inherited(value, path)
    for k = 1, #path do
        if type(value) ~= "table" then return nil, path end
        local meta = debug.getmetatable(value)
        if type(meta) == "table" and rawget(meta, "__index") ~= nil and rawget(value, path[k]) == nil then
            return value, { unpack(path, 1, k - 1) }
        end
        value = rawget(value, path[k])
    end
    return nil, path
end

--- The guard of a path from a place; nil: none is needed.
local function guard_of(place, path)
    local root = capture.read(place)
    if is_array(root) then return { place = place, path = {}, what = "array", kind = "array" } end
    if type(root) == "table" and not changes(root) then return nil end
    local value = capture.follow(root, path)
    if value == nil then value, path = inherited(root, path) end
    if #path == 0 and is_builtin(place, value) then return nil end
    if is_array(value) and core.info(value).taped ~= 0 then return nil end -- it is good for one call alone
    local what = is_array(value) and "array" or type(value)
    local guard = { place = place, path = path, what = what, kind = IS_SCALAR[what] and "scalar" or "identity" }
    if guard.kind == "scalar" then guard.was = value else guard.held = setmetatable({ value }, WEAK) end
    return guard
end

-- ---- In words -------------------------------------------------------------------------------------------------------

local function name_of(guard)
    local parts = { guard.place.name }
    for _, step in ipairs(guard.path) do
        parts[#parts + 1] = type(step) == "number" and ("[%d]"):format(step) or "." .. step
    end
    return table.concat(parts)
end

local function value_text(value)
    if type(value) == "string" then return ("%q"):format(value) end
    if type(value) == "number" then return ("%.14g"):format(value) end
    if value == nil or type(value) == "boolean" then return tostring(value) end
    return describe(value)
end

-- ---- Code -----------------------------------------------------------------------------------------------------------

local function number_code(x, value)
    if value ~= value then return ("type(%s) ~= 'number' or %s == %s"):format(x, x, x) end
    if value == 0 then
        return ("not rawequal(%s, 0) or 1 / %s ~= %s"):format(x, x, 1 / value > 0 and "1 / 0" or "-1 / 0")
    end
    local text = value == 1 / 0 and "1 / 0" or value == -1 / 0 and "-1 / 0" or ("%.17g"):format(value)
    return ("not rawequal(%s, %s)"):format(x, text)
end

--- The condition under which the value of x is not that of a guard. W has the values compared by identity.
local function changed_code(x, guard, W)
    local was = guard.was
    if guard.kind == "identity" then
        W.n = W.n + 1
        W[W.n] = guard.held[1]
        return ("rawequal(%s, nil) or not rawequal(%s, W[%d])"):format(x, x, W.n)
    end
    if type(was) == "number" then return number_code(x, was) end
    return ("not rawequal(%s, %s)"):format(x, type(was) == "string" and ("%q"):format(was) or tostring(was))
end

--- The lines that put the value at the end of a guard's path into x.
local function path_code(lines, guard)
    for _, step in ipairs(guard.path) do
        local key = type(step) == "number" and step or ("%q"):format(step)
        lines[#lines + 1] = ("if type(x) == 'table' then x = rawget(x, %s) else x = nil end"):format(key)
    end
end

--- A function that tells whether the values of guards first, first + 1, … are the old ones, for as many guards as one
-- function can have variables; and the number of the next guard.
local function part_of(list, first)
    local lines, names, cells = { "return function()", "local x" }, {}, {}
    local W, G = setmetatable({ n = 0 }, WEAK), {}
    local k = first
    while k <= #list and #cells < MOST_VARIABLES do
        local guard = list[k]
        local place = guard.place
        if place.index then
            cells[#cells + 1] = place
            names[#names + 1] = "c" .. #cells
            lines[#lines + 1] = ("x = c%d"):format(#cells)
        elseif place.state then
            G[#G + 1] = place.state
            lines[#lines + 1] = ("x = G[%d].cells[%d]"):format(#G, place.number)
        else
            G[#G + 1] = place.environment
            lines[#lines + 1] = ("x = rawget(G[%d], %q)"):format(#G, place.name)
        end
        path_code(lines, guard)
        lines[#lines + 1] = ("if %s then return false end"):format(changed_code("x", guard, W))
        k = k + 1
    end
    lines[#lines + 1] = "return true end"
    table.insert(lines, 1, "local W, G, rawget, rawequal, type = ..."
                 .. (#names > 0 and " local " .. table.concat(names, ", ") or ""))
    local holds = loadstring(table.concat(lines, "\n"), CHUNK)(W, G, rawget, rawequal, type)
    capture.join(holds, cells)
    return holds, k
end

-- ---- The guards of a recording --------------------------------------------------------------------------------------

--- A function that tells whether the values of all guards are the old ones, but for arrays in variables; nil: there are
-- no others. The function calls none of the user's, so LuaJIT may compile it.
function guards.compile(list)
    local compared, holds = {}, nil
    for _, guard in ipairs(list) do
        if guard.kind ~= "array" then compared[#compared + 1] = guard end
    end
    local k = 1
    while k <= #compared do
        local before, part = holds, nil
        part, k = part_of(compared, k)
        holds = before and function() return before() and part() end or part
    end
    return holds
end

--- The guards of places, without those that `ignores` takes, and of `others` the guards of other places: a list.
function guards.of(places, ignores, others)
    local list = {}
    for _, place in ipairs(places) do
        for _, path in pairs(ignores(place) and {} or place.paths) do list[#list + 1] = guard_of(place, path) end
        place.value = nil -- no value is kept alive
    end
    for _, other in ipairs(others) do
        local is_new = true
        for _, place in ipairs(places) do is_new = is_new and not capture.same(place, other.place) end
        if is_new then list[#list + 1] = other end
    end
    return list
end

--- Whether variables that held arrays hold arrays.
function guards.arrays_stay(list)
    for _, guard in ipairs(list) do
        if guard.kind == "array" and not is_array(capture.read(guard.place)) then return false end
    end
    return true
end

--- Of a list, the guards with another value than the old one.
function guards.changed(list)
    local changed = {}
    for _, guard in ipairs(list) do
        if not is_same(guard) then changed[#changed + 1] = guard end
    end
    return changed
end

--- The numbers, strings and booleans for which a recording is good, a few of them, in words: "lr = 0.4, train = true".
function guards.text(list)
    local parts = {}
    for _, guard in ipairs(list) do
        if guard.kind == "scalar" and guard.was ~= nil then
            parts[#parts + 1] = ("%s = %s"):format(name_of(guard), value_text(guard.was))
        end
    end
    table.sort(parts)
    return table.concat(parts, ", ", 1, math.min(#parts, MOST_SHOWN))
end

--- How the value of a guard differs, in words: "the variable 'lr' was 0.4 and is 0.2".
function guards.difference(guard)
    local where = (#guard.path == 0 and "the variable '%s'" or "the field '%s'"):format(name_of(guard))
    local now = read(guard)
    local what = is_array(now) and "array" or type(now)
    if guard.kind == "identity" and guard.what == what then return ("%s holds another %s"):format(where, what) end
    local was = guard.kind == "scalar" and value_text(guard.was) or "of type " .. guard.what
    return ("%s was %s and is %s"):format(where, was, value_text(now))
end

--- The remedy for a value that changes at each call, in words.
function guards.remedy(guard)
    local what = guard.what
    local remedy = what == "number" and "pass it as an argument, or keep it in an array, which is read anew"
        or what == "function" and "make the function once, outside of the loop, or pass what it needs as an argument"
        or (what == "table" or what == "array") and "pass the table as an argument"
        or "pass it as a static argument"
    return ("'%s' had another value at each of the last calls, so the function was recorded for each of them: %s")
        :format(name_of(guard), remedy)
end

for _, f in ipairs { guards.of, guards.compile, guards.changed, guards.arrays_stay, part_of, guard_of, is_same } do
    jit.off(f)
end

return guards
