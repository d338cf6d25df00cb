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

local LETTER, SMALLEST = 0.75, 8 -- the width of a letter for each point of its size, about; the size that is read well

--- How many letters a character takes the place of.
local function letters_of(found)
    return found:byte(1) >= 0xE3 and 2 or 1
end

local CHARACTER = "[%z\1-\127\192-\255][\128-\191]*"

--- A line as several of at most so many letters, parted at blanks where there are some.
local function wrapped(line, most)
    local lines, from, blank, count = {}, 1, nil, 0
    for at, found in line:gmatch("()(" .. CHARACTER .. ")") do
        count = count + letters_of(found)
        if count > most and at > from then
            lines[#lines + 1] = line:sub(from, (blank or at) - 1)
            from = blank and blank + 1 or at
            blank, count = nil, 0
            for own in line:sub(from, at):gmatch(CHARACTER) do count = count + letters_of(own) end
            if found == " " and from <= at then blank = at end
        elseif found == " " then
            blank = at
        end
    end
    lines[#lines + 1] = line:sub(from)
    return table.concat(lines, "\n")
end

--- A text and its size in points such that it has room in so many pixels: smaller, or of more lines as well.
function text.fitted(s, size, room, enhanced)
    s = text.valid(s)
    local longest = 0
    for line in s:gmatch "[^\n]+" do
        local count = 0
        for found in line:gmatch(CHARACTER) do count = count + letters_of(found) end
        longest = math.max(longest, count)
    end
    local fits = room / (LETTER * longest)
    if fits >= size then return s, size end
    if fits >= SMALLEST or enhanced then return s, math.max(fits, 1) end -- the ends of marks belong together
    return s:gsub("[^\n]+", function(line) return wrapped(line, math.floor(room / (LETTER * SMALLEST))) end), SMALLEST
end

--- The words for letters of so many points, behind a text.
function text.font(size, view)
    return (' font ",%.4g"'):format(size * view.letters)
end

--- A text each of whose lines has so many characters at most; "…" stands for what is left out.
function text.cut(s, most)
    return (text.valid(s):gsub("[^\n]+", function(line)
        if select(2, line:gsub(CHARACTER, "")) <= most then return line end
        local count, stop = 0, 0
        for found in line:gmatch(CHARACTER) do
            count = count + 1
            if count == most then break end
            stop = stop + #found
        end
        return line:sub(1, stop) .. "…"
    end))
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
    local label = layer.label:gsub("[\r\n]+", " ")
    -- A legend that is wider than the picture shows nothing. The ends of marks belong together, so such stay.
    if not view.enhanced then label = text.cut(label, math.max(math.floor(view.width / view.scale / 7.5) - 22, 8)) end
    return "title " .. text.quote(label, view.enhanced)
end

return text
