--- written.lua: the pieces of which a printed value is made: texts, and arrays, whose values are not waited for.
--
--     print({1, "a", w = np.eye(2)}, np.sum)    {1, "a", w = f32[2,2]}	np.sum(x, {axis=…, …})
--
-- A table is written as Lua writes one: the list, then the other keys in order. In a table a large array is named by
-- dtype and shape, and what lies deep or far back by "…", so the text of a tree of parameters stays short. An address
-- is never written: tostring gives those.
local core = require "neap.core"
local trees = require "neap.core.trees"

local np = core.np
local is_array = core.is_array
local tostring, type = tostring, type

local written = {}

local MOST_ITEMS, MOST_DEPTH = 1000, 20 -- of a table and all in it; of tables in each other
local MOST_ELEMENTS = 16                -- of an array in a table whose values are written, along one axis

--- Joins neighbouring texts of the list while appending; returns its length.
function written.append(list, n, item)
    if n > 0 and type(item) == "string" and type(list[n]) == "string" then
        list[n] = list[n] .. item
        return n
    end
    list[n + 1] = item
    return n + 1
end
local append = written.append

--- Whether a value says itself how it is written.
local function has_text(value)
    local meta = debug.getmetatable(value)
    return type(meta) == "table" and rawget(meta, "__tostring") ~= nil
end

-- ---- Functions ------------------------------------------------------------------------------------------------------

--- "np.sum(x, {axis=…})" of a function that help knows, else "function(x, y)", and where it was written.
local function function_text(f)
    local info, names = debug.getinfo(f, "Su"), {}
    local is_own = info.what ~= "C" and core.is_library(f) -- of Lua's own, some are Lua functions without a text
    if is_own and np.help then
        local summary = core.help.summary(f)
        if summary then return (summary:match "^[^\n]*") end
    end
    local is_builtin = info.linedefined < 0
    for k = 1, is_builtin and 0 or info.nparams do names[k] = debug.getlocal(f, k) end
    if info.isvararg or is_builtin then names[#names + 1] = "..." end
    local text = "function(" .. table.concat(names, ", ") .. ")"
    if is_own or is_builtin then return text end
    return ("%s of %s:%d"):format(text, info.short_src, info.linedefined)
end

-- ---- Values ---------------------------------------------------------------------------------------------------------

--- The piece for a value that is no table whose items are written.
local function piece_of(value)
    if is_array(value) then
        if core.info(value).weak ~= 0 and core.dtype_of(value).kind ~= "c" then
            return { value, "%.14g" } -- a number argument of a jitted function: as Lua prints numbers
        end
        return value
    end
    if type(value) == "function" then return function_text(value) end
    value = type(value) == "table" and core.shapes[value] and core.shape_text(value) or tostring(value)
    if type(value) == "number" then value = tostring(value) end -- of a __tostring: as Lua's own print takes it
    if type(value) ~= "string" then core.fail("'tostring' must return a string to 'print'") end
    return value
end
written.piece_of = piece_of

--- "f32[2,3]" of an array that is too large for a text in a table; nil of others.
local function large_text(x)
    local dims = core.shape_of(x)
    if #dims == 0 or #dims == 1 and (tonumber(dims[1]) or math.huge) <= MOST_ELEMENTS then return nil end
    for axis = 1, #dims do dims[axis] = tostring(dims[axis]) end
    return ("%s[%s]"):format(core.dtype_of(x).name, table.concat(dims, ","))
end

--- "np.random" of a part of np, "np" of np itself; nil of other tables.
local function module_name(value)
    if rawequal(value, np) then return "np" end
    for name, item in next, np do
        if rawequal(item, value) then return "np." .. name end
    end
end

--- The keys of a table but 1, …, listed, in order.
local function other_keys(value, listed)
    local keys = {}
    for key in next, value do
        if type(key) ~= "number" or key % 1 ~= 0 or key < 1 or key > listed then keys[#keys + 1] = key end
    end
    table.sort(keys, trees.key_less)
    return keys
end

local append_value

--- Appends the items of a table. `state`: how many items there were, the tables around, and whether all is written.
local function append_items(list, n, value, state)
    local separator, listed = "", 0
    local function is_full()
        state.count = state.count + 1
        return state.count > MOST_ITEMS and not state.whole
    end
    while rawget(value, listed + 1) ~= nil do
        listed = listed + 1
        n = append(list, n, separator)
        if is_full() then return append(list, n, "…") end
        n, separator = append_value(list, n, rawget(value, listed), state), ", "
    end
    for _, key in ipairs(other_keys(value, listed)) do
        n = append(list, n, separator)
        if is_full() then return append(list, n, "…") end
        local name = (type(key) == "string" or type(key) == "number") and trees.key_text(key)
            or "[" .. (type(key) == "boolean" and tostring(key) or type(key)) .. "]"
        n, separator = append_value(list, append(list, n, name .. " = "), rawget(value, key), state), ", "
    end
    return n
end

local function append_table(list, n, value, state)
    local module = module_name(value)
    if module then return append(list, n, module) end
    if state[value] or state.depth >= MOST_DEPTH then return append(list, n, "{…}") end
    state[value], state.depth = true, state.depth + 1
    n = append_items(list, append(list, n, "{"), value, state)
    state[value], state.depth = nil, state.depth - 1
    return append(list, n, "}")
end

--- Appends a value that stands in a table.
function append_value(list, n, value, state)
    local kind = type(value)
    if kind == "string" then return append(list, n, (("%q"):format(value):gsub("\\\n", "\\n"))) end
    if is_array(value) then return append(list, n, not state.whole and large_text(value) or piece_of(value)) end
    if kind == "table" and not core.shapes[value] and not has_text(value) then
        return append_table(list, n, value, state)
    end
    if kind == "thread" or kind == "cdata" and not has_text(value) then return append(list, n, kind) end
    return append(list, n, piece_of(value))
end

--- Appends a value as print shows it; `whole`: with all that is in a table, however much. Returns the list's length.
function written.append_value(list, n, value, whole)
    if type(value) ~= "table" or core.shapes[value] or has_text(value) then
        return append(list, n, piece_of(value))
    end
    local module = module_name(value)
    if module then return append(list, n, ('%s: np.help "%s" tells of it'):format(module, module)) end
    return append_table(list, n, value, { count = 0, depth = 0, whole = whole })
end

for _, f in ipairs { append_items, append_table, append_value, function_text, written.append_value } do
    jit.off(f, true)
end

return written
