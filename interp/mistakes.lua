--- mistakes.lua: what to say of code that does not parse, behind LuaJIT's message, on the same line.
--
-- Rules look at the line that the message names (foreign.lua: what other languages would have understood); the first
-- that fits is taken. Else the whole text is looked at (openings.lua: what is open, or closed twice), which may move
-- the place that is told. Where nothing is known, the message stays as it is.
local aliases = require "neap.core.aliases"
local source = require "neap.core.source"
local lexer = require "neap.core.lexer"
local foreign = require "neap.interp.foreign"
local openings = require "neap.interp.openings"
local mistakes = {}

local OWN = "=neap/value" -- a chunk of the library's, which chunks.lua leaves alone
local LONGEST = 300       -- bytes of a line that is looked at: patterns take the third power of it
local MOST_NEAR = 60      -- bytes of a token that are told

--- A rule's hint for a line, nil: it does not fit.
local function apply(rule, message, line, code)
    if rule[1] ~= "" and not message:find(rule[1], 1, true) then return nil end
    local captures = { (rule.raw and line or code):match(rule[2]) }
    if captures[1] == nil then return nil end
    local hint = rule[3]
    if type(hint) == "function" then
        captures[#captures + 1] = code
        return hint(unpack(captures))
    end
    if hint:find "%%%d" then
        return (hint:gsub("%%(%d)", function(k) return captures[tonumber(k)] end))
    end
    return hint:format(unpack(captures))
end

--- What to say of a quote in a text, which has ended the text before `word`.
function mistakes.apostrophe(quote, word)
    return ("the %s before %s ended the string; write \\%s there, or %s around the text"):format(
        quote, word, quote, quote == "'" and '"…"' or "'…'")
end

--- Of a line that ends in a string: the byte of the quote that is to blame, and what to say of it. An apostrophe ends a
-- text in such quotes, and the one that was to end it opens another: then it is the apostrophe. `word`: the one at
-- which reading has ended, in a line that may close its strings.
function mistakes.unfinished(line, word)
    local at, ends, words = 1, {}, {} -- by quote: where the first string ends that has a word right behind it
    while at <= #line do
        local to, kind, closed = lexer.next(line, at)
        local quote = kind == "string" and line:match("^[\"']", at)
        local behind = quote and closed and line:match("^%a[%w_]*", to + 1)
        if behind and behind == word then return to, mistakes.apostrophe(quote, behind) end
        if behind and not ends[quote] then ends[quote], words[quote] = to, behind end
        if quote and not closed then
            if word then return nil end
            if ends[quote] then return ends[quote], mistakes.apostrophe(quote, words[quote]) end
            local escaped = line:find("\\" .. quote, at, true)
            local transposes = quote == "'" and line:find("^[%w_%)%]]", at - 1) and not line:find("^%a", at + 1)
            return at, ("the %s here is never closed"):format(quote)
                .. (transposes and "; the transpose of x is x.T" or "")
                .. (escaped and (": \\%s is no end; a backslash is written \\\\"):format(quote) or "")
        end
        at = to + 1
    end
end

--- The hint for a line of code that does not parse, with LuaJIT's message; nil: no rule fits.
local function hint_of_line(message, line)
    local word = message:match "near '(%a[%w_]*)'$"
    if word or message:find("unfinished string", 1, true) then
        local _, hint = mistakes.unfinished(line, word)
        if hint then return hint end
    end
    if #line > LONGEST then return nil end
    local code = source.code(line)
    for _, rule in ipairs(foreign) do
        local hint = apply(rule, message, line, code)
        if hint then return hint end
    end
end

--- The hint for a line that is a value; nil: it is none.
local function hint_of_value(message, line)
    local is_statement = message:find("'=' expected", 1, true) or message:find("unexpected symbol", 1, true)
    if not is_statement or #line > LONGEST or not loadstring("return " .. line, OWN) then return nil end
    local there = aliases.variables[line:match "^%s*([%a_][%w_]*)%s*;?%s*$"]
    return there or "a value alone is no statement: print(…) shows it"
end

--- LuaJIT's message with a long token cut, in one line: an escape that the token had is a newline in it.
local function shortened(message)
    local _, near = message:find(" near '", 1, true)
    if not near then return message end
    message = message:sub(1, near) .. message:sub(near + 1):gsub("\n", "\\n"):gsub("\r", "\\r")
    if #message - near <= MOST_NEAR then return message end
    return message:sub(1, near + MOST_NEAR):gsub("[\192-\255][\128-\191]*$", "") .. "…'"
end

--- The line of a message, and, where what is wrong may stand before it, the one before it that has code.
local function lines_of(message, name, number)
    local lines = { source.line(name, number) }
    if lines[1] and number == 1 and name:find "^=%[" then lines[1] = lines[1]:gsub("^return nil, ", "") end -- repl.lua
    local ended = message:find("near '<eof>'", 1, true) or message:find("arguments expected", 1, true)
    if not ended and not message:find("'=' expected", 1, true) then return lines end
    for before = number - 1, math.max(1, number - 5), -1 do
        local line = source.line(name, before)
        if line and source.blanked(line):find "%S" then
            lines[#lines + 1] = line
            break
        end
    end
    return lines
end

local function first_of(lines, hint, message)
    for _, line in ipairs(lines) do
        local found = hint(message, line)
        if found then return found end
    end
end

--- What is said of a header of Python's, `for x in y:`, whose next line LuaJIT has read as a method's name.
local function explain_colon(message, name, head, number)
    local text = message:find("expected near '", 1, true) and source.text(name)
    local line, ending
    if text then line, ending = openings.colon(message, text, number) end
    if not line then return nil end
    local said = ("'%s' expected near ':'"):format(ending)
    local hint = hint_of_line(said, source.line(name, line) or "")
    return hint and ("%s%d: %s; %s"):format(head, line, said, hint)
end

--- LuaJIT's message about a chunk of this source ("@path", "=name") that does not parse, with the hint behind it.
function mistakes.explain(message, name)
    if type(message) ~= "string" then return message end
    local whole = message
    message = shortened(message)
    local head, number = message:match "^(.-:)(%d+): "
    number = tonumber(number or nil)
    if not number then return message end
    if name:find "%.ipynb$" then return message .. "; neap --html runs a notebook" end
    local of_colon = explain_colon(message, name, head, number)
    if of_colon then return of_colon end
    local lines = lines_of(message, name, number)
    local hint = first_of(lines, hint_of_line, message)
    if hint then return message .. "; " .. hint end
    local text, line, said = source.text(name), nil, nil
    if text then hint, line, said = openings.hint(whole, text, number, name:find "^=%[") end
    hint = hint or first_of(lines, hint_of_value, message)
    if not hint then return message end
    return (said and ("%s%d: %s"):format(head, line, said) or message) .. "; " .. hint
end

return mistakes
