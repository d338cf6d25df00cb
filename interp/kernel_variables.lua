--- kernel_variables.lua: variables as the debugger's protocol tells them (the Debug Adapter Protocol): name, type, a
-- value in one line, and a reference by which a front end asks for what is inside of a table.
--
-- Nothing is computed for it: an array shows its elements if they are there, or made by a constructor and few. No
-- function of the user's is called, since a stopped cell could not be interrupted in it: objects show themselves only
-- if their class is the library's.
local core = require "neap.core"
local rich = require "neap.interp.rich"
local show = require "neap.interp.show"
local trees = require "neap.core.trees"

local variables = {}

local MOST_BYTES, MOST_ITEMS = 200, 1000 -- of a value's text; of a table that are listed
local BRIEF, FEW = 6, 1000 -- items in the text of a table; elements that a constructor may make for a text
local REPEATED = { _ = true, __ = true, ___ = true }

-- ---- References -----------------------------------------------------------------------------------------------------

local held, last = {}, 0 -- tables and lists of variables, by reference; all new ones are greater

--- References are good until the next call: a front end asks anew when a cell has run.
function variables.forget()
    held = {}
end

--- A reference to a table, or to a list of { name, value }.
function variables.hold(value, is_list)
    last = last + 1
    held[last] = { value = value, is_list = is_list }
    return last
end

-- ---- Texts ----------------------------------------------------------------------------------------------------------

local function in_one_line(text)
    return show.cut(text:gsub("%s+", " "), MOST_BYTES)
end

--- The function of the library's with which a value makes its own text; nil: it has none.
local function own_text(value)
    local meta = debug.getmetatable(value)
    if type(meta) ~= "table" then return nil end
    for _, name in ipairs { "__describe", "__tostring" } do
        local f = rawget(meta, name)
        if type(f) == "function" and core.is_library(f) then return f end
    end
end

--- Whether the value of an array is there, or as good as that.
local function is_there(x)
    local known = core.info(x)
    if known.deleted ~= 0 or known.traced ~= 0 then return false end
    return known.deferred == 0 or known.constructed ~= 0 and x.size <= FEW
end

local function array_text(x)
    if not is_there(x) then return show.type_of(x) .. ", not computed yet" end
    local ok, text = pcall(tostring, x)
    return show.type_of(x) .. " " .. (ok and text or "failed: " .. tostring(text):match "^[^\n]*")
end

local function quoted(text)
    return ("%q"):format(show.cut(text, MOST_BYTES)):gsub("\\\n", "\\n")
end

--- Whether a value of cdata is a number: a complex one, or an integer of 64 bits.
local function is_number(value)
    return type(value) == "cdata" and not core.is_array(value)
        and (core.complex.is(value) or core.integer64(value) ~= nil)
end

local function scalar_text(value)
    local kind = type(value)
    if kind == "string" then return (quoted(value)) end
    if kind == "function" then return show.signature(value) end
    if kind == "table" then return "{…}" end
    if kind == "number" or kind == "boolean" or kind == "nil" then return tostring(value) end
    if core.is_array(value) then return show.type_of(value) end
    if is_number(value) then return (tostring(value):gsub("U?LL$", "")) end
    local own = own_text(value)
    return own and own(value) or kind
end

--- The keys of a table in their order, at most `most`; and whether these are all.
local function keys_of(value, most)
    local keys = {}
    for key in next, value do
        if #keys == most then return keys, false end
        keys[#keys + 1] = key
    end
    table.sort(keys, trees.key_less)
    return keys, true
end

local function key_text(key)
    return type(key) == "string" and key or "[" .. scalar_text(key) .. "]"
end

local function table_text(value)
    local parts = {}
    local keys, complete = keys_of(value, BRIEF)
    for k, key in ipairs(keys) do
        local text = scalar_text(rawget(value, key))
        parts[k] = key == k and text or key_text(key) .. " = " .. text
    end
    return "{" .. table.concat(parts, ", ") .. (complete and "}" or ", …}")
end

--- The text of any value, in one line.
local function text_of(value)
    if core.is_array(value) then return in_one_line(array_text(value)) end
    local own = (type(value) == "table" or type(value) == "userdata") and own_text(value)
    if own then
        local ok, text = pcall(own, value)
        return in_one_line(ok and text or type(value))
    end
    return in_one_line(type(value) == "table" and table_text(value) or scalar_text(value))
end

local function type_of(value)
    return core.is_array(value) and "array" or is_number(value) and "number" or type(value)
end

-- ---- Variables ------------------------------------------------------------------------------------------------------

--- One variable as the protocol has it.
local function told(name, value)
    local opens = type(value) == "table" and not own_text(value) and next(value) ~= nil
    return { name = name, value = text_of(value), type = type_of(value), evaluateName = name,
             variablesReference = opens and variables.hold(value) or 0 }
end

--- A value that was asked for, as the protocol has it.
function variables.evaluated(value)
    local of = told("", value)
    return { result = of.value, type = of.type, variablesReference = of.variablesReference }
end

--- Whether a name is the user's: neither one of a result of the prompt nor what locals.lua adds to commands.
local function is_users(name)
    return type(name) == "string" and not REPEATED[name] and not name:find "^_%d+$" and not name:find "^_neap_"
end

--- Those of a table of values by name, sorted.
function variables.by_name(values)
    local names, list = {}, {}
    for name in next, values do
        if is_users(name) then names[#names + 1] = name end
    end
    table.sort(names)
    for k, name in ipairs(names) do list[k] = told(name, values[name]) end
    return list
end

--- What is behind a reference: all of it, or `count` items from `start` on, counted from 0; nil: nothing is.
function variables.inside(reference, start, count)
    local of = held[reference]
    if not of then return nil end
    if of.is_list then return variables.by_name(of.value) end
    local keys, list = keys_of(of.value, MOST_ITEMS), {}
    start = type(start) == "number" and start or 0
    count = type(count) == "number" and count > 0 and count or #keys
    for k = start + 1, math.min(#keys, start + count) do
        list[#list + 1] = told(key_text(keys[k]), rawget(of.value, keys[k]))
    end
    return list
end

--- A value as a cell's last one is shown; it is computed. is_stopped: a cell is, so nothing is computed, and no
-- function of the user's runs.
function variables.rich(value, is_stopped)
    local plain = { ["text/plain"] = text_of(value) }
    if is_stopped and not (core.is_array(value) and is_there(value)) then return plain end
    local ok, bundle, metadata = pcall(rich.bundle, value)
    if ok then return bundle, metadata end
    return plain
end

for _, f in ipairs { text_of, told, variables.by_name, variables.inside, variables.rich } do jit.off(f, true) end

return variables
