--- openings.lua: what is open, closed twice or cut short in a text that does not parse: hints that need more of it than
-- the line that LuaJIT's message names.
--
-- LuaJIT tells where it could not go on: at the end of the text for a comment that is never closed, at the next line
-- for a `do` that is missing. The place that is told is moved to where that was begun, or should have stood. The text
-- is read as tokens once, so a hint takes time linear in the text.
local core = require "neap.core"
local tokens = require "neap.interp.tokens"

local openings = {}

local MOST = 2^16       -- bytes of a text that is looked at
local LONGEST_LINE = 60 -- bytes of a command that is told as it should be written

local OPENS = { ["function"] = true, ["if"] = true, ["while"] = true, ["for"] = true, ["repeat"] = true }
local HEADS = { ["while"] = true, ["for"] = true } -- whose do opens no block of its own
local BRACKETS = { [")"] = "(", ["]"] = "[", ["}"] = "{" }

-- ---- What is known of each token ------------------------------------------------------------------------------------

--- How far a line is indented that begins with the token at `at`; nil: something stands before that.
local function indentation(text, at)
    local first = at
    while first > 1 and text:find("^[ \t]", first - 1) do first = first - 1 end
    return (first == 1 or text:find("^[\r\n]", first - 1)) and at - first or nil
end

--- Notes of each token how many brackets and blocks are open before it; whether, of a bracket that closes, its line has
-- opened fewer; and how far its line is indented, `begins` saying whether it begins that.
local function annotate(text, list)
    local stack, brackets, blocks, line, column, depth = {}, 0, 0, 0, nil, {}
    for k, token in ipairs(list) do
        if k % 1000 == 0 then core.check_interrupt() end
        if token.line ~= line then
            line, column, depth = token.line, indentation(text, token.from), {}
            token.begins = column ~= nil
        end
        token.brackets, token.blocks, token.column = brackets, blocks, column or 0
        local word = (token.kind == "symbol" or token.kind == "keyword") and token.text
        if word == "(" or word == "[" or word == "{" then
            stack[#stack + 1], brackets, depth[word] = "bracket", brackets + 1, (depth[word] or 0) + 1
        elseif OPENS[word] or word == "do" and stack[#stack] ~= "head" then
            stack[#stack + 1], blocks = HEADS[word] and "head" or "block", blocks + 1
        elseif word == "do" then
            stack[#stack] = "block"
        elseif BRACKETS[word] or word == "end" or word == "until" then
            local opening, top = BRACKETS[word], table.remove(stack)
            if opening then
                depth[opening] = (depth[opening] or 0) - 1
                token.is_surplus = depth[opening] < 0
            end
            if top == "bracket" then brackets = brackets - 1 elseif top then blocks = blocks - 1 end
        end
    end
end

-- ---- Blocks ---------------------------------------------------------------------------------------------------------

--- The block of which, as lines are indented, the `end` is missing: an `end` that begins its line stands further left
-- than the line of what it closes. Returns the token that opened the block, nil: none.
local function unclosed(list)
    local stack = {}
    for _, token in ipairs(list) do
        local word, top = token.kind == "keyword" and token.text, stack[#stack]
        if OPENS[word] then
            stack[#stack + 1] = { token = token, is_head = HEADS[word] }
        elseif word == "do" and top and top.is_head then
            top.is_head = false
        elseif word == "do" then
            stack[#stack + 1] = { token = token }
        elseif (word == "end" or word == "until") and top then
            if token.begins and token.line > top.token.line
                and token.column < top.token.column then return top.token end
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
local function open_block(message, list)
    local word, line = message:match "to close '(%a+)' at line (%d+)"
    local two = split_elseif(list, tonumber(line or 1))
    if two then
        return ("else if, as in line %d, begins a second if, with an end of its own; elseif, one word, does not")
            :format(two.line)
    end
    local opener = unclosed(list)
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
local BEGINS = { ["nil"] = true, ["true"] = true, ["false"] = true, ["not"] = true, ["function"] = true, ["#"] = true,
                 ["{"] = true }

--- Whether token k begins a value right behind another, as in {1 2}.
local function follows_value(list, k)
    local before, token = list[k - 1], list[k]
    local ends = before.kind == "name" or before.kind == "number" or before.kind == "string" or ENDS[before.text]
    local begins = token.kind == "name" or token.kind == "number" or token.kind == "string" or BEGINS[token.text]
    return ends and begins and true or false
end

--- What to say of a line with more brackets of a kind that close than open, or the other way round; nil: it has none.
local function unbalanced(list, number)
    local depth = { ["("] = 0, ["["] = 0, ["{"] = 0 }
    for _, token in ipairs(list) do
        if token.line > number then break end
        local text = token.line == number and token.kind == "symbol" and token.text
        if depth[text] then depth[text] = depth[text] + 1 end
        if BRACKETS[text] then depth[BRACKETS[text]] = depth[BRACKETS[text]] - 1 end
    end
    for closing, opening in pairs(BRACKETS) do
        if depth[opening] < 0 then return ("in this line a %s is missing, or a %s is too many"):format(opening,
            closing) end
        if depth[opening] > 0 then return ("in this line a %s is missing, or a %s is too many"):format(closing,
            opening) end
    end
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
        ("unfinished long %s near '<eof>'"):format(what == "text" and "string" or "comment"), list
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

local WORDS = { ["do"] = true, ["then"] = true, ["end"] = true, ["return"] = true, ["local"] = true, ["="] = true,
                ["else"] = true, ["elseif"] = true, ["for"] = true, ["if"] = true, ["while"] = true }

-- What a value must follow.
local ASKS = { ["+"] = true, ["-"] = true, ["*"] = true, ["/"] = true, ["%"] = true, ["^"] = true, [".."] = true,
               ["=="] = true, ["~="] = true, ["<"] = true, ["<="] = true, [">"] = true, [">="] = true, ["and"] = true,
               ["or"] = true, ["not"] = true, ["#"] = true, ["="] = true, [","] = true }

--- x = 3 +: nothing behind an operator, a comma or a sign of equality. Where the line ends there, that is the place.
local function missing_value(message, list, number)
    if not message:find("unexpected symbol near '", 1, true) then return nil end
    local k = message:find("near '<eof>'", 1, true) and #list or place_of(list, message, number)
    local before, token = list[(k or 1) - 1], list[k]
    if not before or not ASKS[before.text] then return nil end
    if token.kind == "number" or token.kind == "string" then return nil end -- y = 5 5: another one of these is meant
    local joined = token.kind == "symbol" and before.to + 1 == token.from
    if joined and not BRACKETS[token.text] and token.text ~= "," and token.text ~= ";" then return nil end -- =>, <>
    local hint = ("a value is missing behind the %s"):format(before.text)
    -- who reads commands looks for '<eof>', to ask for another line
    if token.kind == "end" then return hint, before.line, "unexpected symbol near '<eof>'" end
    if before.line < token.line then return hint, before.line, "unexpected end of the line" end
    return hint
end

--- The token with which the value begins that ends in front of token k: a name, with its fields and calls.
local function start_of_value(list, k)
    local depth = 0
    for at = k - 1, 1, -1 do
        local token, before = list[at], list[at - 1]
        if BRACKETS[token.text] then depth = depth + 1 end
        if token.text == "(" or token.text == "[" or token.text == "{" then depth = depth - 1 end
        local goes_on = depth > 0 or token.kind == "symbol" or token.kind == "string"
            or before and (before.text == "." or before.text == ":")
        if not goes_on then return token.kind == "name" and at or nil end
    end
end

--- x = 3 x: a value right behind a statement. A command shows it if a semicolon stands between them.
local function value_behind(message, text, list, number, is_command)
    if not message:find("'=' expected near '", 1, true) then return nil end
    local is_last = message:find("near '<eof>'", 1, true)
    local k = is_last and #list or place_of(list, message, number)
    if not k or list[k].kind == "name" or list[k].kind == "number" then return nil end -- x = 3 print x
    local start = start_of_value(list, k)
    local before, token = list[(start or 1) - 1], list[start]
    if not before or before.line < token.line then return nil end
    local ends = ENDS[before.text] or before.kind == "name" or before.kind == "number" or before.kind == "string"
    if not ends then return nil end
    local hint = "an operator is missing before " .. token.word
    local value = text:sub(token.from, list[k - 1].to)
    if before.text == "end" then
        hint = "a value alone is no statement: print(…) shows it"
    elseif is_command and is_last and token.line == 1 and list[#list].line == 1 and #text <= LONGEST_LINE then
        hint = ("%s, or a semicolon: %s; %s shows the value"):format(hint, text:sub(1, before.to), value)
    end
    if not is_last then return hint end
    return hint, token.line, "'=' expected at the end of the line"
end

--- What is missing between two tokens: a bracket, or a comma between values.
local function missing_between(message, list, number)
    local closing = message:match "'([%)}%]])' expected"
    local k = closing and place_of(list, message, number, function(at)
        return (follows_value(list, at) or WORDS[list[at].text]) and list[at].brackets > 0
    end)
    if not k then return nil end
    local before, token = list[k - 1], list[k]
    if before.line < number then
        return ("a %s is missing at the end of line %d, or a comma"):format(closing, before.line)
    end
    if token.text == "end" and token.blocks == 0 then
        return "this end closes nothing: one is too many"
    end
    if WORDS[token.text] then return ("a %s is missing before %s"):format(closing, token.word) end
    return ("a comma or an operator is missing before %s"):format(token.word)
end

--- A do, a then or a comma that is missing in a line.
local function missing_word(message)
    local word, near = message:match "'(%a+)' expected near '(.+)'$"
    if word == "do" or word == "then" then return ("a %s is missing before %s"):format(word, near) end
    near = message:match "',' expected near '(.+)'$" or message:match "'=' or 'in' expected near '([%a_][%w_]*)'$"
    return near and ("a comma is missing before %s"):format(near)
end

--- An end, or a bracket, that closes nothing; a return that is not the last statement.
local function closed_twice(message, list, number)
    if message:find("'<eof>' expected near 'end'", 1, true) then return "this end closes nothing: one is too many" end
    local ends = message:find("'end' expected", 1, true) or message:find("'<eof>' expected", 1, true)
    if ends and place_of(list, message, number, function(k) return is_behind_return(list, k) end) then
        return "return ends its block: an end is missing behind it, or it is do return … end"
    end
    local closing = message:match "near '([%)}%]])'$"
    if not closing then return nil end
    local expected = message:match "'([%)}%]])' expected"
    if expected then return ("a %s is missing before the %s"):format(expected, closing) end
    if place_of(list, message, number, function(k) return list[k].is_surplus end) then
        return ("this %s closes nothing: one is too many"):format(closing)
    end
end

local function of_tokens(message, list, number)
    if message:find("'end' expected", 1, true) and message:find("near '<eof>'", 1, true) then
        return open_block(message, list)
    end
    return closed_twice(message, list, number) or missing_between(message, list, number) or missing_word(message)
        or unbalanced(list, number)
end

-- What LuaJIT misses at the colon of a header, by the word that begins that.
local ENDINGS = { ["for"] = "do", ["while"] = "do", ["if"] = "then", ["elseif"] = "then", try = "=" }

--- Of a header that ends in a colon, as Python has it: LuaJIT reads what follows as the name of a method, and misses a
-- do, a then, or the method's arguments, further on. Returns the line of the header, and what should end it; nil: there
-- is none.
function openings.colon(message, text, number)
    local word = message:match "'(%a+)' expected near '"
    local is_method = message:find("function arguments expected near '", 1, true)
    if #text > MOST or word ~= "do" and word ~= "then" and not is_method then return nil end
    local list, head, line, ending = tokens.read(text), nil, nil, nil
    for k, token in ipairs(list) do
        if token.line > number then break end
        if k == 1 or list[k - 1].line < token.line then head = token.word end
        if token.text == ENDINGS[head] then head = nil end
        if token.text == ending and not is_method then line, ending = nil, nil end
        local follower = token.text == ":" and list[k + 1]
        local missed = follower and follower.from > token.to + 1 and ENDINGS[head] -- behind a blank or a line's end
        if missed and (missed == word or is_method and follower.line == number) then
            line, ending = token.line, missed
        end
    end
    return line, ending
end

--- What to say behind LuaJIT's message about line `number` of a text; and, where another line is to blame, that line
-- and what is said in place of the message. Nil: nothing is known. is_command: the text is one of the prompt's.
function openings.hint(message, text, number, is_command)
    if #text > MOST then return nil end
    local list = tokens.read(text)
    annotate(text, list)
    local hint, line, said = long_bracket(message, text, list)
    if not hint then hint, line, said = header(message, text, list, number) end
    if not hint then hint, line, said = missing_value(message, list, number) end
    if hint then return hint, line, said end
    if not hint then hint, line, said = value_behind(message, text, list, number, is_command) end
    if hint then return hint, line, said end
    return of_tokens(message, list, number)
end

return openings
