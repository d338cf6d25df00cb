--- tokens.lua: where the statements of a command begin and end, and which local variables it declares at its top level.
--
-- The text is read as tokens, without a grammar: keywords that open and close blocks, and brackets, give the depth. At
-- depth 0 a statement ends where what could end an expression is followed by what cannot continue one: a name, a
-- keyword that begins a statement, a semicolon, the end. This is exact for text that compiles; of other text only
-- `split` makes use, whose pieces are compiled again.
local lexer = require "neap.core.lexer"

local tokens = {}

local function set(words)
    local found = {}
    for word in words:gmatch "%S+" do found[word] = true end
    return found
end

local OPENS, CLOSES = set "function do repeat if ( [ {", set "end until ) ] }"
local ENDS_VALUE = set "end nil true false ) ] } ..."
local BEGINS_STATEMENT = set "local if while for repeat do return break function ; ::"
local BEGINS_VALUE = set "nil true false not #"

--- The tokens of a text but for comments, { from, to, kind, text, line, word }, the last of which is the end: kind
-- "end", text ";". `word` is what stands there, `text` too for keywords and symbols; else it is the kind. `list.open`
-- is the kind of what the text ends in the middle of, "string" or "comment"; `list.closer` what would end that, if it
-- is long brackets.
local function read(text)
    local list, at, line = {}, 1, 1
    while at <= #text do
        local to, kind, closed = lexer.next(text, at)
        local piece = text:sub(at, to)
        if kind ~= "space" and kind ~= "comment" then
            list[#list + 1] = { from = at, to = to, kind = kind, line = line, word = piece,
                                text = (kind == "symbol" or kind == "keyword") and piece or kind }
        end
        if kind == "space" or kind == "comment" or kind == "string" then
            local _, lines = piece:gsub("\n", "")
            line = line + lines
        end
        if to == #text and closed == false then
            local long = piece:match "^%-?%-?%[(=*)%["
            list.open, list.closer = kind, long and "]" .. long .. "]"
        end
        at = to + 1
    end
    list[#list + 1] = { from = #text + 1, to = #text, kind = "end", text = ";", word = "", line = line }
    return list
end

tokens.read = read

local function ends_value(token)
    return token.kind == "name" or token.kind == "number" or token.kind == "string" or ENDS_VALUE[token.text]
end

--- Calls visit(k, depth) for each token of a list; the depth is that before an opening and behind a closing token.
local function walk(list, visit)
    local depth = 0
    for k, token in ipairs(list) do
        local word = (token.kind == "keyword" or token.kind == "symbol") and token.text
        if CLOSES[word] then depth = depth - 1 end
        visit(k, depth)
        if OPENS[word] then depth = depth + 1 end
    end
end

--- Whether the token behind a value, at depth 0, begins another statement.
local function begins_statement(token)
    return token.kind == "name" or token.kind == "end" or BEGINS_STATEMENT[token.text]
end

--- Whether a text begins with what no expression begins with: a keyword, a function's name.
function tokens.begins_statement(text)
    local word = text:match "^%s*(%l+)%f[^%w_]"
    if word == "function" then return text:find "^%s*function%s+[%a_]" ~= nil end
    return BEGINS_STATEMENT[word] or false
end

--- The `local` statements at the top level of a text that compiles: a list of { names, to = its last byte, closed:
-- whether a semicolon follows }.
function tokens.locals(text)
    local list, found = read(text), {}
    local open -- the statement that has not ended
    walk(list, function(k, depth)
        local token = list[k]
        if open and depth == 0 and k > open.first and ends_value(list[k - 1]) and begins_statement(token) then
            open.to, open.closed = list[k - 1].to, token.kind == "symbol" and token.text == ";"
            open = nil
        end
        if depth ~= 0 or token.text ~= "local" then return end
        open = { names = {}, first = k + 2 }
        found[#found + 1] = open
        local at = k + 1
        if list[at].text == "function" then
            open.names[1] = list[at + 1].word
            open.first = at + 2
            return
        end
        repeat
            open.names[#open.names + 1] = list[at].word
            at = at + 2
        until list[at - 1].text ~= ","
        open.first = list[at - 1].text == "=" and at or at - 1
        if open.first == at - 1 then -- declared without values
            open.to, open.closed = list[at - 2].to, list[at - 1].kind == "symbol" and list[at - 1].text == ";"
            open = nil
        end
    end)
    return found
end

--- Cuts a text into the pieces that could be commands of their own: at semicolons, and where a statement or an
-- expression begins a line or stands behind an `end`: a bracket behind that of a statement, which nothing can call.
-- Returns a list of { text, from = its first byte, line = how many
-- lines stand before it }.
function tokens.split(text)
    local list, pieces, first = read(text), {}, 1
    local function cut(last)
        if last >= first then
            local from = list[first].from
            pieces[#pieces + 1] = { text = text:sub(from, list[last].to), from = from, line = list[first].line - 1 }
        end
        first = last + 1
    end
    local is_value -- whether what was opened last at depth 0 is a function without a name
    walk(list, function(k, depth)
        local token, before = list[k], list[k - 1]
        if depth ~= 0 then return end
        local follows_block = k > 1 and before.text == "end" and not is_value
        if OPENS[token.text] then is_value = token.text == "function" and list[k + 1].kind ~= "name" end
        if k == 1 then return end
        if token.kind == "end" then
            cut(k - 1)
        elseif token.text == ";" then
            cut(k)
        elseif (token.line > before.line and ends_value(before) or before.text == "end")
            and (begins_statement(token) or token.kind == "number" or BEGINS_VALUE[token.text]
                 or token.text == "(" and follows_block) then
            cut(k - 1)
        end
    end)
    if first < #list then cut(#list - 1) end -- what is open at the end
    return pieces
end

--- How many brackets and blocks a text opens beyond those that it closes, and what ends the long brackets in which it
-- ends, if it does; nil if it ends in another string or comment.
function tokens.depth(text)
    local list, depth = read(text), 0
    if list.open and not list.closer then return nil end
    for _, token in ipairs(list) do
        local word = (token.kind == "keyword" or token.kind == "symbol") and token.text
        depth = depth + (OPENS[word] and 1 or CLOSES[word] and -1 or 0)
    end
    return depth, list.closer
end

tokens.OPENING = set "( { ["
tokens.CLOSING = set ") } ]"

--- How much deeper in brackets of expressions it is behind a token: 1, 0 or -1.
function tokens.step(token)
    local mark = token.kind == "symbol" and token.text
    return tokens.OPENING[mark] and 1 or tokens.CLOSING[mark] and -1 or 0
end

--- The place of the token that closes the bracket at k of a list; nil: none does.
function tokens.closing(list, k)
    local depth = 0
    for at = k, #list do
        depth = depth + tokens.step(list[at])
        if depth == 0 then return at end
    end
end

--- Whether the last token of a text is a semicolon.
function tokens.ends_quietly(text)
    if not text:find ";" then return false end
    local list = read(text)
    return #list > 1 and list[#list - 1].text == ";"
end

--- The set of names in a text; those of fields and of inner variables too.
function tokens.names(text)
    local found = {}
    for _, token in ipairs(read(text)) do
        if token.kind == "name" then found[token.word] = true end
    end
    return found
end

return tokens
