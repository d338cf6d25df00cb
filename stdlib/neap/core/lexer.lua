--- lexer.lua: the tokens of Lua code, one by one.
--
-- Any text has tokens: what is not closed ends with the text, or with its line. Each is found in time linear in its
-- length, so all tokens of a text in time linear in the text. interp/lexer.c finds the same ones while code is typed.
local lexer = {}

local KEYWORDS = {}
for word in ("and break do else elseif end false for function if in local nil not or repeat return then true until "
             .. "while"):gmatch "%a+" do
    KEYWORDS[word] = true
end

local NEWLINE, RETURN = 10, 13

local find, byte, sub = string.find, string.byte, string.sub

--- The end of long brackets whose first byte behind the opening one is `from`, and whether they are closed.
local function long_end(text, equals, from)
    local _, to = find(text, "]" .. equals .. "]", from, true)
    return to or #text, to ~= nil
end

local function comment_end(text, at)
    local _, behind, equals = find(text, "^%[(=*)%[", at + 2)
    if behind then return long_end(text, equals, behind + 1) end
    local place = find(text, "[\r\n]", at)
    return (place or #text + 1) - 1, place ~= nil
end

--- The byte behind an escape that begins at `at`: a line end of two bytes, and what \z skips, belong to it.
local function behind_escape(text, at)
    if sub(text, at + 1, at + 1) == "z" then return select(2, find(text, "^%s*", at + 2)) + 1 end
    local pair = sub(text, at + 1, at + 2)
    return at + ((pair == "\r\n" or pair == "\n\r") and 3 or 2)
end

local function string_end(text, at)
    local quote = byte(text, at)
    local stops = quote == 34 and '["\\\r\n]' or "['\\\r\n]"
    local place = find(text, stops, at + 1)
    while place do
        local stop = byte(text, place)
        if stop == quote then return place, true end
        if stop == NEWLINE or stop == RETURN then return place - 1, false end
        place = find(text, stops, behind_escape(text, place))
    end
    return #text, false
end

--- A number, with all that LuaJIT takes for a part of it.
local function number_end(text, at)
    local signed = find(text, "^0[xX]", at) and "[pP]" or "[eE]"
    local _, to = find(text, "^[%w_%.\128-\255]+", at)
    while find(text, "^" .. signed .. "[+-]", to) do
        local _, last = find(text, "^[%w_%.\128-\255]*", to + 2)
        to = last
    end
    return to
end

local function symbol_end(text, at)
    local _, to = find(text, "^%.%.%.?", at)
    if not to then _, to = find(text, "^[=~<>]=", at) end
    if not to then _, to = find(text, "^::", at) end
    return to or at
end

--- The token at byte `at` of a text: its last byte; its kind, "name", "keyword", "number", "string", "comment",
-- "space" or "symbol"; and of a string or comment whether something ends it.
function lexer.next(text, at)
    local _, to = find(text, "^%s+", at)
    if to then return to, "space" end
    _, to = find(text, "^[%a_\128-\255][%w_\128-\255]*", at)
    if to then return to, KEYWORDS[sub(text, at, to)] and "keyword" or "name" end
    if find(text, "^%.?%d", at) then return number_end(text, at), "number" end
    local first = sub(text, at, at)
    if first == '"' or first == "'" then
        local last, closed = string_end(text, at)
        return last, "string", closed
    end
    if first == "-" and sub(text, at + 1, at + 1) == "-" then
        local last, closed = comment_end(text, at)
        return last, "comment", closed
    end
    local _, behind, equals = find(text, "^%[(=*)%[", at)
    if behind then
        local last, closed = long_end(text, equals, behind + 1)
        return last, "string", closed
    end
    return symbol_end(text, at), "symbol"
end

return lexer
