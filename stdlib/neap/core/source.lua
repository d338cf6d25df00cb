--- source.lua: the text of a line of the user's code, for messages. A line that cannot be read is no line.
local core = require "neap.core.binding"
local lexer = require "neap.core.lexer"

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

local function line_of_text(text, number)
    local from = 1
    for _ = 2, number do
        from = text:find("\n", from, true)
        if not from then return nil end
        from = from + 1
    end
    return text:sub(from, (text:find("\n", from, true) or #text + 1) - 1)
end

--- Line `number` of a chunk, without its end; `name` is what debug.getinfo calls its source.
function source.line(name, number)
    local line
    if name:sub(1, 1) == "@" then
        local path = name:sub(2)
        line = source.stamps[path] ~= false and line_of_file(path, number)
    else
        local text = texts[name] or name:sub(1, 1) ~= "=" and name
        line = text and line_of_text(text, number)
    end
    return line and (line:gsub("\r$", "")) or nil
end

--- The text of a chunk, by the same name; nil: it cannot be read.
function source.text(name)
    if name:sub(1, 1) ~= "@" then return texts[name] or name:sub(1, 1) ~= "=" and name or nil end
    local file = source.stamps[name:sub(2)] ~= false and io.open(name:sub(2), "rb")
    if not file then return nil end
    local text = file:read "*a"
    file:close()
    return text
end

--- A text of the same length for a string, with nothing in it that could be found.
local function hollow(text, closed)
    local opening = text:match "^%[=*%[" or text:sub(1, 1)
    local closing = closed and #opening or 0
    return opening .. ("\1"):rep(#text - #opening - closing) .. text:sub(#text - closing + 1)
end

--- A line without its comment, and with other characters of the same number in strings, so that nothing is found there.
function source.blanked(line)
    local parts, at = {}, 1
    while at <= #line do
        local to, kind, closed = lexer.next(line, at)
        local text = line:sub(at, to)
        if kind == "comment" and not closed then break end
        if kind == "string" then text = hollow(text, closed) end
        if kind == "comment" then text = (" "):rep(#text) end
        parts[#parts + 1] = text
        at = to + 1
    end
    return table.concat(parts)
end

--- A line without its comment, and with its strings emptied: for a look at names and operators. Nil for a long line.
function source.code(line)
    if #line > source.LONGEST then return nil end
    return (source.blanked(line):gsub("\1", ""))
end

--- The line of the user's code that runs now, as `code` gives it, and its level on the stack for the function that
-- called this one; nil if it cannot be read, or is long.
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

-- Bytes of a line, or of a message, in which patterns are looked for that take its square or more.
source.LONGEST = 1000

-- By path of a file that was loaded: a text that tells whether it has changed since then; false: it is not to be read
-- again, since it is a pipe or a device.
source.stamps = {}

return source
