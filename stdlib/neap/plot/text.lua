--- text.lua: texts and colours as gnuplot's language has them.
--
-- A text of the user's goes into double quotes, in which gnuplot reads escapes and would run what stands between
-- backquotes: quotes, backslashes and backquotes are written as escapes, line ends as \n. Bytes that are no UTF-8, and
-- control characters, become U+FFFD: no SVG may hold them.
local text = {}

local UNKNOWN = "\239\191\189"

--- The bytes of the UTF-8 character at a place; nil: there is none.
local function character(s, at)
    local byte = s:byte(at)
    if byte < 0x80 then return s:sub(at, at) end
    local length = byte >= 0xF0 and byte < 0xF5 and 4 or byte >= 0xE0 and byte < 0xF0 and 3
        or byte >= 0xC2 and byte < 0xE0 and 2
    local found = length and s:match("^[\192-\255][\128-\191]+", at)
    if not found or #found < length then return nil end
    found = found:sub(1, length)
    local second = found:byte(2)
    if byte == 0xE0 and second < 0xA0 or byte == 0xED and second > 0x9F or byte == 0xF0 and second < 0x90
        or byte == 0xF4 and second > 0x8F or found == "\239\191\190" or found == "\239\191\191" then
        return nil
    end
    return found
end

--- A text of valid UTF-8 without control characters but line ends; a tab is a space.
function text.valid(s)
    s = s:gsub("\r\n?", "\n"):gsub("\t", "    ")
    if not s:find "[\128-\255]" then return (s:gsub("[%z\1-\9\11-\31\127]", UNKNOWN)) end
    local parts, at = {}, 1
    while at <= #s do
        local found = character(s, at)
        local control = found and #found == 1 and found:find "[%z\1-\9\11-\31\127]"
        parts[#parts + 1] = found and not control and found or UNKNOWN
        at = at + (found and #found or 1)
    end
    return table.concat(parts)
end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["`"] = "\\140" }

--- A text in quotes.
function text.quoted(s)
    return '"' .. text.valid(s):gsub('["\\\n`]', ESCAPES) .. '"'
end

--- A text in quotes, and whether its marks {}, ^, _ and @ mean something.
function text.quote(s, enhanced)
    return text.quoted(s) .. (enhanced and " enhanced" or " noenhanced")
end

--- A layer's colour, with what it lets through.
function text.color(layer)
    local through = math.floor((1 - layer.alpha) * 255 + 0.5)
    return ("rgb \"#%s%s\""):format(through > 0 and ("%02x"):format(through) or "", layer.color)
end

--- The title of a layer in the legend.
function text.title(layer, view)
    if not layer.label or layer.label == "" then return "notitle" end
    view.titles = (view.titles or 0) + 1
    return "title " .. text.quote(layer.label, view.enhanced)
end

return text
