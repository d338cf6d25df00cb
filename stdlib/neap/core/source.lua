--- source.lua: the text of a line of the user's code, for messages. A line that cannot be read is no line.
local core = require "neap.core.binding"
local source = {}

local MOST_TEXTS = 256 -- of chunks that are no files: the last ones

local texts, order = {}, {} -- by the chunk's name, "=prompt"; the names, oldest first

--- Keeps the text of a chunk that is no file.
function source.keep(name, text)
    if not texts[name] then
        order[#order + 1] = name
        if #order > MOST_TEXTS then texts[table.remove(order, 1)] = nil end
    end
    texts[name] = text
end

local function line_of_file(path, number)
    local file = io.open(path, "rb")
    if not file then return nil end
    local count, found = 0, nil
    local ok = pcall(function()
        for line in file:lines() do
            count = count + 1
            if count == number then
                found = line
                break
            end
        end
    end)
    file:close()
    return ok and found or nil
end

--- Line `number` of a chunk; `name` is what debug.getinfo calls its source.
function source.line(name, number)
    if name:sub(1, 1) == "@" then return line_of_file(name:sub(2), number) end
    local text = texts[name] or name:sub(1, 1) ~= "=" and name
    if not text then return nil end
    local count = 0
    for line in (text .. "\n"):gmatch("(.-)\r?\n") do
        count = count + 1
        if count == number then return line end
    end
end

--- A line without its comment, and with other characters of the same number in strings, so that nothing is found there.
function source.blanked(line)
    line = line:gsub("\\.", "\1\1")
    local at = 1
    while true do
        local from, quote = line:match("()([\"'])", at)
        local comment = line:find("--", at, true)
        if comment and (not from or comment < from) then return line:sub(1, comment - 1) end
        if not from then return line end
        local to = line:find(quote, from + 1, true) or #line
        line = line:sub(1, from) .. ("\1"):rep(to - from - 1) .. line:sub(to)
        at = to + 1
    end
end

--- A line without its comment, and with its strings emptied: for a look at names and operators.
function source.code(line)
    return (source.blanked(line):gsub("\1", ""))
end

--- The line of the user's code that runs now, as `code` gives it, and its level on the stack for the function that
-- called this one; nil if it cannot be read.
function source.current()
    local level, frame = 2, debug.getinfo(2, "Slf")
    while frame do
        if frame.what ~= "C" and frame.currentline > 0 and not core.is_library(frame.func) then
            local line = source.line(frame.source, frame.currentline)
            return line and source.code(line), level - 1
        end
        level = level + 1
        frame = debug.getinfo(level, "Slf")
    end
end

--- The value of a variable of the function at `level` of the stack, as its caller counts: a local, an upvalue or a
-- global.
function source.variable(name, level)
    local value, found, frame = nil, false, debug.getinfo(level + 1, "f")
    if not frame then return nil end
    for index = 1, 250 do
        local own, held = debug.getlocal(level + 1, index)
        if not own then break end
        if own == name then value, found = held, true end -- the last one hides others
    end
    if found then return value end
    for index = 1, 60 do
        local own, held = debug.getupvalue(frame.func, index)
        if not own then break end
        if own == name then return held end
    end
    return rawget(getfenv(frame.func), name)
end

for _, f in pairs(source) do jit.off(f) end

source.stamps = {} -- by path of a file that was loaded: a text that tells whether it has changed since then

return source
