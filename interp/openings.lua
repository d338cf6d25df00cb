--- openings.lua: what is open, closed twice or cut short in a text that does not parse: hints that need more of it than
-- the line that LuaJIT's message names.
--
-- LuaJIT tells where it could not go on: at the end of the text for a comment that is never closed, at the next line
-- for a `do` that is missing. The place that is told is moved to where that was begun, or should have stood. The text
-- is read as tokens once, so a hint takes time linear in the text.
local core = require "neap.core"
local tokens = require "neap.interp.tokens"

local openings = {}

local MOST = 2^20 -- bytes of a text that is looked at

local OPENS = { ["function"] = true, ["if"] = true, ["while"] = true, ["for"] = true, ["repeat"] = true }
local HEADS = { ["while"] = true, ["for"] = true } -- whose do opens no block of its own
local BRACKETS = { [")"] = "(", ["]"] = "[", ["}"] = "{" }

-- ---- Blocks ---------------------------------------------------------------------------------------------------------

--- How far the line of byte `at` is indented, and whether nothing but blanks stands before `at`.
local function indentation(text, at)
    local first = at
    while first > 1 and text:byte(first - 1) ~= 10 do first = first - 1 end
    local _, to = text:find("^[ \t]*", first)
    return to - first + 1, to + 1 == at
end

--- The block of which, as lines are indented, the `end` is missing: an `end` that begins its line stands further left
-- than what it closes. Returns the token that opened the block, nil: none.
local function unclosed(text, list)
    local stack = {}
    for k, token in ipairs(list) do
        if k % 1000 == 0 then core.check_interrupt() end
        local word = token.kind == "keyword" and token.text
        local top = stack[#stack]
        if OPENS[word] then
            stack[#stack + 1] = { token = token, is_head = HEADS[word] }
        elseif word == "do" and top and top.is_head then
            top.is_head = false
        elseif word == "do" then
            stack[#stack + 1] = { token = token }
        elseif (word == "end" or word == "until") and top then
            local column, is_first = indentation(text, token.from)
            if is_first and token.line > top.token.line and column < indentation(text, top.token.from) then
                return top.token
            end
            stack[#stack] = nil
        end
    end
end

--- The first `else if` that is written as two words in one line, at or behind a line.
local function split_elseif(list, from)
    for k, token in ipairs(list) do
        local follower = list[k + 1]
        if token.text == "else" and token.line >= from and follower.text == "if" and follower.line == token.line then
            return token
        end
    end
end

--- What to say of a block that is open at the end.
local function open_block(message, text, list)
    local word, line = message:match "to close '(%a+)' at line (%d+)"
    local two = split_elseif(list, tonumber(line or 1))
    if two then
        return ("else if, as in line %d, begins a second if, with an end of its own; elseif, one word, does not")
            :format(two.line)
    end
    local opener = unclosed(text, list)
    if opener and not (word == opener.text and tonumber(line) == opener.line) then
        return ("as the lines are indented, the %s of line %d has no end"):format(opener.text, opener.line)
    end
    return "an end is missing"
end

-- ---- Tokens before the one that LuaJIT did not expect ---------------------------------------------------------------

--- The place in the list of the token that a message is about: the first of its text in its line for which `fits`.
local function place_of(list, message, number, fits)
    local near = message:match "near '(.*)'$"
    for k, token in ipairs(list) do
        if token.line > number then return nil end
        if token.line == number and token.word == near and k > 1 and (not fits or fits(k)) then return k end
    end
end

--- Whether a return, with values at most behind it, stands before token k.
local function is_behind_return(list, k)
    for at = k - 1, math.max(1, k - 50), -1 do
        local word = list[at].kind == "keyword" and list[at].text
        if word == "return" then return true end
        if word == "end" or word == "then" or word == "do" or list[at].text == ";" then return false end
    end
    return false
end

local ENDS = { ["end"] = true, ["nil"] = true, ["true"] = true, ["false"] = true, [")"] = true, ["]"] = true,
               ["}"] = true, ["..."] = true }

--- Whether token k begins a value right behind another, as in {1 2}.
local function follows_value(list, k)
    local before, token = list[k - 1], list[k]
    local ends = before.kind == "name" or before.kind == "number" or before.kind == "string" or ENDS[before.text]
    return ends and (token.kind == "name" or token.kind == "number" or token.kind == "string") and true or false
end

--- Whether a line, up to token k, closes more brackets of the kind than it opens.
local function is_surplus(list, k)
    local closing = list[k].text
    local depth = 0
    for at = k, 1, -1 do
        if list[at].line ~= list[k].line then break end
        local text = list[at].kind == "symbol" and list[at].text
        depth = depth + (text == closing and 1 or text == BRACKETS[closing] and -1 or 0)
    end
    return depth > 0
end

--- The brackets that are open at token k, or the one that is closed by another kind, innermost last.
local function open_bracket(list, k)
    local stack = {}
    for at = 1, k - 1 do
        local text = list[at].kind == "symbol" and list[at].text
        if text == "(" or text == "[" or text == "{" then stack[#stack + 1] = list[at] end
        if BRACKETS[text] then stack[#stack] = nil end
    end
    return stack[#stack]
end

-- ---- Hints ----------------------------------------------------------------------------------------------------------

--- A comment or a string in long brackets that is never closed.
local function long_bracket(message, text, list)
    if not message:find "unfinished long %a+ near '<eof>'" then return nil end
    local from, opening = 1, nil
    local lexer = require "neap.core.lexer"
    while from <= #text do
        local to, kind, closed = lexer.next(text, from)
        if (kind == "comment" or kind == "string") and not closed and to == #text then
            opening = text:match("^%-?%-?%[=*%[", from)
            break
        end
        from = to + 1
    end
    if not opening then return nil end
    local _, lines = text:sub(1, from - 1):gsub("\n", "")
    local line = lines + 1
    local what = opening:find "^%-" and "comment" or "text"
    local closing = opening:gsub("[^=%[]", ""):gsub("%[", "]")
    return ("the %s that begins here is never closed: %s ends it"):format(what, closing), line,
        ("unfinished long %s"):format(what == "text" and "string" or "comment"), list
end

--- A header without its do or then, whose line has ended.
local function header(message, _, list, number)
    local word = message:match "'(%a+)' expected near '"
    if word ~= "do" and word ~= "then" then return nil end
    local k = place_of(list, message, number, function(at) return list[at - 1].line < number end)
    if not k then return nil end
    return word == "do" and "Lua writes while … do … end, for … do … end" or "Lua writes if … then … end",
        list[k - 1].line, ("'%s' expected at the end of the line"):format(word)
end

local function value_behind_value(message, list, number)
    local closing = message:match "^.-'([%)}%]])' expected"
    local k = closing and place_of(list, message, number, function(at)
        return follows_value(list, at) and open_bracket(list, at) ~= nil
    end)
    if not k then return nil end
    local before = list[k - 1]
    if before.line < number then
        return ("a %s is missing at the end of line %d, or a comma"):format(closing, before.line)
    end
    return ("a comma or an operator is missing before %s"):format(list[k].word)
end

local function of_tokens(message, text, list, number)
    if message:find("'end' expected", 1, true) and message:find("near '<eof>'", 1, true) then
        return open_block(message, text, list)
    end
    if message:find "'end' expected" or message:find "'<eof>' expected" then
        if message:find("'<eof>' expected near 'end'", 1, true) then
            return "this end closes nothing: one is too many"
        end
        if place_of(list, message, number, function(k) return is_behind_return(list, k) end) then
            return "return ends its block: an end is missing behind it, or it is do return … end"
        end
    end
    local closing = message:match "near '([%)}%]])'$"
    if closing then
        if place_of(list, message, number, function(k) return is_surplus(list, k) end) then
            return ("this %s closes nothing: one is too many"):format(closing)
        end
        local expected = message:match "^.-'([%)}%]])' expected"
        if expected then return ("a %s is missing before the %s"):format(expected, closing) end
    end
    return value_behind_value(message, list, number)
end

--- What to say behind LuaJIT's message about line `number` of a text; and, where another line is to blame, that line
-- and what is said in place of the message. Nil: nothing is known.
function openings.hint(message, text, number)
    if #text > MOST then return nil end
    local list = tokens.read(text)
    local hint, line, said = long_bracket(message, text, list)
    if not hint then hint, line, said = header(message, text, list, number) end
    if hint then return hint, line, said end
    return of_tokens(message, text, list, number)
end

return openings
