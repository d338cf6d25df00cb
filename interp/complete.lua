--- complete.lua: completions at the prompt: Lua keywords, variables, and the fields behind a path such as np.random.
--
-- Only what can be read without side effects is followed: raw fields, __index where that is a table, an array's methods
-- and fields, and names that a table loads when they are first used (`__late` of its metatable): a path through one of
-- them, such as np.linalg., loads it.
local core = require "neap.core"
local complete = {}

local KEYWORDS = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
                   "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while" }
local MAX_CHAIN = 10 -- __index tables

--- The tables in which the fields of `value` are found, in order.
local function holders(value)
    if core.is_array(value) then return { core.methods, core.fields } end
    local list = {}
    for _ = 1, MAX_CHAIN do
        if type(value) == "table" then list[#list + 1] = value end
        local meta = debug.getmetatable(value)
        local index = type(meta) == "table" and rawget(meta, "__index") or nil
        local late = type(meta) == "table" and rawget(meta, "__late") or nil
        for _, names in ipairs(type(late) == "table" and late or {}) do
            if type(names) == "table" then list[#list + 1] = names end
        end
        if type(index) ~= "table" then break end
        value = index
    end
    return list
end

local function field(value, key)
    for _, holder in ipairs(holders(value)) do
        local found = rawget(holder, key)
        if found ~= nil then
            local meta = debug.getmetatable(value)
            return type(meta) == "table" and rawget(meta, "__late") and value[key] or found
        end
    end
    return nil
end

--- The local variables that earlier commands have declared.
local function scope()
    return require("neap.interp.repl").main.scope
end

--- The words that `word`, the text before the cursor, can become, sorted. With several, the first is their common
-- beginning, as readline wants it.
function complete.words(word)
    local path, separator, start = word:match("^(.-)([%.:]?)([%a_]?[%w_]*)$")
    if not path then return {} end
    local value, inner = _G, nil -- inner: a field was followed
    for name in path:gmatch("[^%.:]+") do
        local is_local, of_local = false, nil
        if not inner then is_local, of_local = scope():get(name) end
        if is_local then value = of_local else value = field(value, name) end
        inner = true
    end
    local found = {}
    local function offer(name)
        if type(name) == "string" and name:find("^[%a_][%w_]*$") and name:sub(1, #start) == start then
            found[path .. separator .. name] = true
        end
    end
    for _, holder in ipairs(holders(value)) do
        for name in next, holder do offer(name) end
    end
    if separator == "" then
        for _, name in ipairs(KEYWORDS) do offer(name) end
        for _, name in ipairs(scope():names()) do offer(name) end
    end
    local words = {}
    for name in next, found do words[#words + 1] = name end
    table.sort(words)
    if #words > 1 then
        local first, last = words[1], words[#words]
        local common = 0
        while common < #first and first:byte(common + 1) == last:byte(common + 1) do common = common + 1 end
        table.insert(words, 1, first:sub(1, common))
    end
    return words
end

return complete
