--- show.lua: how the prompt shows a table: by its contents, briefly. Other values are left to print.
local show = {}

local MAX_ITEMS, MAX_DEPTH = 40, 3

local function key_less(a, b)
    local ta, tb = type(a), type(b)
    if ta == tb and (ta == "number" or ta == "string") then return a < b end
    return ta < tb
end

local table_text

local function value_text(value, depth, seen)
    if type(value) == "string" then return string.format("%q", value) end
    if type(value) == "table" then return table_text(value, depth, seen) end
    return tostring(value)
end

local function key_text(key)
    if type(key) == "string" and key:find("^[%a_][%w_]*$") then return key end
    return "[" .. value_text(key, MAX_DEPTH, {}) .. "]"
end

function table_text(value, depth, seen)
    local meta = debug.getmetatable(value)
    if meta and meta.__tostring then return tostring(value) end
    if seen[value] then return "{...}" end
    if depth >= MAX_DEPTH and next(value) ~= nil then return "{...}" end
    seen[value] = true
    local parts, listed = {}, 0
    while rawget(value, listed + 1) ~= nil and listed < MAX_ITEMS do
        listed = listed + 1
        parts[listed] = value_text(rawget(value, listed), depth + 1, seen)
    end
    local keys = {}
    for key in next, value do
        if not (type(key) == "number" and key >= 1 and key <= listed and key % 1 == 0) then keys[#keys + 1] = key end
    end
    table.sort(keys, key_less)
    for _, key in ipairs(keys) do
        if #parts >= MAX_ITEMS then
            parts[#parts + 1] = "..."
            break
        end
        parts[#parts + 1] = key_text(key) .. " = " .. value_text(rawget(value, key), depth + 1, seen)
    end
    seen[value] = nil
    return "{" .. table.concat(parts, ", ") .. "}"
end

--- What to print for a value of a command.
function show.top(value)
    if type(value) ~= "table" then return value end
    return table_text(value, 0, {})
end

return show
