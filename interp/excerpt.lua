--- excerpt.lua: the source line that an error is about, with a mark under what it names.
--
--      neap: script.lua:2: np.sum: axis 1 is out of range for an array of 1 axes
--         2 |     return a:sum(1)
--           |              ^^^
--
-- Of several places in a message, as an error has that comes later than the call that it is about, the last one is
-- shown: it is where the work was asked for. The mark is left out where the message fits several parts of the line, and
-- the line where its file is gone or has changed since it was loaded.
local source = require "neap.core.source"
local system = require "neap.interp.system"
local excerpt = {}

local WIDTH, LEAST = 110, 20 -- characters of a line that are shown, at most and at least
local MARGIN, BEFORE = 8, #"neap: "
local BOLD = "\27[1m"
local BLUE, RED, PLAIN = "\27[34m", "\27[31m", "\27[0m"

local OPERATORS = { add = "%+", subtract = "%-", multiply = "%*", divide = "/", remainder = "%%", power = "%^",
                    negative = "%-", concat = "%.%.", less = "[<>]", less_equal = "[<>]=", equal = "[=~]=" }

-- ---- What is at fault -----------------------------------------------------------------------------------------------

--- The only place where a pattern stands, whose captures () are the first character and the one behind the last; nil
-- if there are none or several.
local function only(line, pattern)
    local first, last = line:match(pattern)
    if not first or line:match(pattern, last) then return nil end
    return first, last - 1
end

local function escape(text) return (text:gsub("%p", "%%%0")) end

local function word(name)
    return "%f[%w_]()" .. escape(name) .. "()%f[^%w_]"
end

--- A function of the library: its call, or the operator that it stands for.
local function find_call(line, path)
    local name = path:match "[%w_]+$"
    local first, last = only(line, "%f[%w_]()np%." .. escape(path) .. "()%f[^%w_]")
    if not first then first, last = only(line, "[%.:]%s*()" .. escape(name) .. "()%f[^%w_]") end
    if not first and path == "print" then first, last = only(line, "%f[%w_]()print()%f[^%w_]") end
    if not first and OPERATORS[path] then first, last = only(line, "()" .. OPERATORS[path] .. "()") end
    return first, last
end

--- The token that ended the reading of a chunk; of several like it on the first line the one with which it ends.
local function find_near(line, number, token)
    if token == "<eof>" then return #line + 1, #line + 1 end
    if token == "" then return nil end -- of a quote, in quotes
    local first, last = only(line, "()" .. escape(token) .. "()")
    if first or number > 1 then return first, last end
    local from, to = line:find(token, 1, true)
    while from do
        local _, problem = loadstring(line:sub(1, to), "=neap/line") -- the library's own: LuaJIT's message as it is
        if problem and not problem:find("near '<eof>'", 1, true) then return from, to end
        from, to = line:find(token, to + 1, true)
    end
end

--- The quote that is to blame for a string without an end.
local function find_unfinished(line)
    local at = require("neap.interp.mistakes").unfinished(line)
    return at, at
end

--- The first escape of a line that Lua does not know.
local function find_escape(line)
    local at = line:find("\\", 1, true)
    while at do
        if line:find("^[^abfnrtvxzu%d\\\"']", at + 1) then return at, at + 1 end
        at = line:find("\\", at + 2, true)
    end
end

--- A field or method of any value.
local function find_member(line, _, name)
    return only(line, "[%.:]%s*()" .. escape(name) .. "()%f[^%w_]")
end

--- What a loop is to walk through.
local function find_walked(line) return only(line, "%f[%w_]in%s+()%S.-()%s+do%f[^%w_]") end

local function find_end(line) return #line + 1, #line + 1 end

-- What messages say, as patterns, and what they are about: f(line without strings, its number, capture). raw: the line
-- is as it stands.
local RULES = {
    { "^unfinished string", find_unfinished, raw = true },
    { "^unfinished long", function(line) return line:find "%-?%-?%[=*%[.*$" end, raw = true },
    { "^invalid escape sequence", find_escape, raw = true },
    { "^'[%a=]+' expected at the end of the line", find_end }, { "^unexpected end of the line", find_end },
    { " near '(.-)'$", find_near, raw = true }, { " near '(.-)';", find_near, raw = true },
    { " near '(.-)' ", find_near, raw = true },
    { "^np%.([%w_%.]+):", function(line, _, path) return find_call(line, path) end },
    { "^the variable '(.-)' has no value", function(line, _, name) return only(line, word(name)) end },
    { "^array index:", function(line) return only(line, "()%b[]()") end },
    { "attempt to [%a ]+ method '(.-)'", function(line, _, name)
        return only(line, ":%s*()" .. escape(name) .. "()%f[^%w_]")
    end },
    { "attempt to [%a ]+ field '(.-)'", function(line, _, name)
        return only(line, "%.%s*()" .. escape(name) .. "()%f[^%w_]")
    end },
    { "attempt to index %a+ '(.-)' %(", function(line, _, name) return only(line, word(name) .. "%s*[%[%.:]") end },
    { "attempt to call %a+ '(.-)' %(", function(line, _, name) return only(line, word(name) .. "%s*[%({\"']") end },
    { "^attempt to call an? %a+ value; for ", find_walked },
    { "^an array is no function and no iterator", find_walked },
    { "attempt to [%a ]+ '(.-)' %(", function(line, _, name) return only(line, word(name)) end },
    { "^bad argument #%d+ to '(.-)'", function(line, _, name) return only(line, word(name)) end },
    { "has no field or method '(.-)'", find_member }, { "have no field or method '(.-)'", find_member },
    { "^np[%w_%.]* has no '(.-)'", find_member }, { "^the field '(.-)' of an array", find_member },
    { "^[%a_][%w_]*%.([%w_]+)%(…%) is not given", find_member },
    { "^'([<>=~]+)' cannot ", function(line, _, operator)
        return only(line, "%f[<>=~]()" .. operator .. "()%f[^<>=~]")
    end },
    { "^arrays are immutable", function(line) return only(line, "()%b[]()") end },
    { "^([%w_]+):", function(line, _, name) return find_call(line, name) end }, -- the name of an op
    { "", function(line) return only(line, "%f[%w_]()error()%f[^%w_]") end },
}

--- First and last character of what a message (without places) is about in a line; nil: not known.
local function find_fault(message, line, number)
    if #line > source.LONGEST then return nil end
    local code = source.blanked(line)
    message = message:match("^[^\n]*"):sub(1, source.LONGEST)
    for _, rule in ipairs(RULES) do
        local capture = message:match(rule[1])
        if capture then
            local from, to = rule[2](rule.raw and line or code, number, capture)
            if from then return from, to end
        end
    end
end

-- ---- The text -------------------------------------------------------------------------------------------------------

--- Characters of UTF-8, of which a terminal shows one column each.
local function columns_of(text)
    return #text:gsub("[\128-\191]", "")
end

--- The part of a line that is shown, and where the fault is in it.
local function clip(line, from, to, width)
    if #line <= width then return line, from, to end
    local first = from and math.max(1, math.min(from - math.floor(width / 2), #line - width)) or 1
    local shown = line:sub(first, first + width):gsub("^[\128-\191]+", ""):gsub("[\192-\255][\128-\191]*$", "")
    local before, behind = first > 1 and "…" or "", first + width < #line and "…" or ""
    if not from then return before .. shown .. behind end
    local at = from - first + 1 + #before
    return before .. shown .. behind, at, math.min(at + to - from, #before + #shown)
end

local function draw(number, line, from, to, colour, columns)
    local blue, red, plain = colour and BLUE or "", colour and RED or "", colour and PLAIN or ""
    line = line:gsub("%c", function(c) return c == "\t" and c or "?" end)
    local width = columns > 0 and math.max(LEAST, math.min(WIDTH, columns - MARGIN - #"……")) or WIDTH
    line, from, to = clip(line, from, to, width)
    local margin = ("%4d |"):format(number)
    local text = ("\n%s%s%s %s"):format(blue, margin, plain, line)
    if not from then return text end
    local before = line:sub(1, from - 1):gsub("[\128-\191]", ""):gsub("[^\t]", " ")
    local mark = ("^"):rep(math.max(1, columns_of(line:sub(from, to))))
    return ("%s\n%s%s |%s %s%s%s%s"):format(text, blue, (" "):rep(#margin - 2), plain, before, red, mark, plain)
end

-- ---- Places ---------------------------------------------------------------------------------------------------------

--- A line of the user's code, if it is still what was loaded.
local function read_line(name, number)
    local path = name:match "^@(.*)$"
    if path then
        local stamp = source.stamps[path]
        if stamp and stamp ~= system.stamp(path) then return nil end
    end
    local line = source.line(name, number)
    if line and number == 1 and name:find "^=%[[%d%.]+%]$" then line = line:gsub("^return nil, ", "") end -- repl.lua
    return line
end

--- The places "script.lua:3: " in a message, and what it says behind the last.
local function split(message)
    local places, at = {}, 1
    while true do
        local file, number, behind = message:match("^([^\n]-):(%d+): ()", at)
        local name = file and file:match "^[%a][%w ]*: (.+)$" -- "callback: script.lua:3: …"
        if not file or (name or file):find ": " then return places, message:sub(at) end
        places[#places + 1] = { file = name or file, line = tonumber(number), what = name and file:match "^[%w ]+" }
        at = behind
    end
end

-- What require says of a module that is no Lua: the place in it is meant, not the call.
local OF_MODULE = "^error loading module '[^\n]-' from file '[^\n]-':\n\t(.*)$"

--- What the source of a chunk is called that messages call `file`; nil if they have cut its name.
local function source_name(file)
    local is_typed = file:find "^%(.*%)$" or file:find "^%[[%d%.]+%]$" or file == "stdin" or file == "prompt"
    if is_typed then return "=" .. file end
    if not file:find "^%.%.%." and not file:find "^%[string " then return "@" .. file end
end

local function is_interrupt(message)
    return message == "interrupted" or message:find ": interrupted$" ~= nil
end

--- The lines to be shown under a message, each behind a newline; "" if there are none. `name` and `number` are source
-- and line of the function that raised it, if that is known. `columns`: of the terminal that shows them; 0: none does.
function excerpt.of(message, name, number, colour, columns)
    if is_interrupt(message) then return "" end
    local inside = message:match(OF_MODULE)
    local places, rest = split(inside or message)
    local place = places[#places]
    if place and (inside or #places > 1 or not name or place.line ~= number) then
        name, number = source_name(place.file), place.line
    end
    local line = name and number > 0 and read_line(name, number)
    if not line then return "" end
    local from, to = find_fault(rest, line, number)
    local first = places[1]
    local where = place and (place.file ~= first.file or place.line ~= first.line)
    local head = where and ("\n  at %s:%d"):format(place.file, place.line) or ""
    return head .. draw(number, line, from, to, colour, columns or 0)
end

--- A text whose lines break at blanks where a terminal of so many columns would break them anywhere; and the column in
-- which it ends. `column`: the one in which it begins.
local function wrapped(text, columns, column)
    local parts = {}
    for blanks, piece in (text .. " "):gmatch "(%s*)(%S*)" do
        local width = columns_of(piece)
        if blanks:find("\n", 1, true) then
            column = columns_of(blanks:match "^.*\n(.*)$")
        elseif column + #blanks + width > columns and blanks ~= "" and piece ~= "" then
            blanks, column = "\n", 0
        else
            column = column + #blanks
        end
        parts[#parts + 1] = blanks
        parts[#parts + 1] = piece
        column = column + width
    end
    return table.concat(parts):sub(1, -2), column - 1
end

--- Place and text of a message as a terminal of so many columns shows them: broken between words, the text bold where
-- colours are wanted, so that it stands out from what the program prints. 0 columns: there is no terminal.
local function weighed(place, text, colour, columns, column)
    if columns == 0 then return place .. text end
    place, column = wrapped(place, columns, column)
    text = wrapped(text, columns, column)
    return colour and place .. BOLD .. text .. PLAIN or place .. text
end

--- A message in which no place stands twice.
local function with_places_once(message)
    local places, rest = split(message)
    if #places < 2 then return message end
    local told, parts = {}, {}
    for _, place in ipairs(places) do
        local text = ("%s:%d"):format(place.file, place.line)
        if place.what and parts[#parts] ~= place.what .. ": " then parts[#parts + 1] = place.what .. ": " end
        if not told[text] then parts[#parts + 1] = text .. ": " end
        told[text] = true
    end
    return table.concat(parts) .. rest
end

--- The message as it is told, on a terminal of so many columns; 0: on none.
function excerpt.plain(message, _, _, colour, columns)
    local text = with_places_once(message)
    local _, rest = split(text)
    return weighed(text:sub(1, #text - #rest), rest, colour and not is_interrupt(message), columns or 0, BEFORE)
end

--- A warning as it is told: its place, and what it says.
function excerpt.warning(place, text)
    local refused, terminal = os.getenv "NO_COLOR", os.getenv "TERM"
    local colour = not (refused and refused ~= "") and terminal ~= nil and terminal ~= "dumb"
    return weighed(place, text, colour, system.terminal(true) or 0, 0)
end

for _, f in pairs(excerpt) do jit.off(f, true) end

return excerpt
