--- held.lua: items that are not there, of variables whose every assignment in a text is a list, a text or an array: a
-- warning when a script or module is loaded (unlikely.lua). Such an item is nil, silently.
--
--      list = {"a", "b"}    list[-1]   list[0]   list.length   list[x:argmax()]   list[x:argmax():item()]
--      word = "abc"         word[1]    word.length
--      x = np.array{1, 2}   a, b = x
--
-- A variable that is also a parameter, the variable of a loop, or assigned anything else is left alone; so is a list
-- into which the text puts items, or which gets a metatable. At the prompt variables have values of earlier commands,
-- too.
local core = require "neap.core"
local tokens = require "neap.interp.tokens"

local held = {}

local LENGTHS = { length = true, len = true, size = true }
local POSITIONS = { argmax = true, argmin = true }
local FAR = 400 -- tokens of a loop that are looked at
local ARRAYS = { array = true, asarray = true, zeros = true, ones = true, full = true, arange = true, linspace = true }

-- ---- What variables hold --------------------------------------------------------------------------------------------

--- Whether the braces at k hold items without keys, one at least.
local function is_list(list, k)
    local last, depth = tokens.closing(list, k), 0
    if not last or last == k + 1 then return false end
    for at = k, last - 1 do
        local text = list[at].text
        depth = depth + tokens.step(list[at])
        local begins = depth == 1 and (at == k or text == "," or text == ";")
        if begins and (list[at + 1].text == "[" or list[at + 2].text == "=") then return false end
    end
    return true
end

--- Whether token k ends its statement, so that no operator changes what stands before.
local function ends_statement(list, k)
    local follower = list[k + 1]
    return follower.kind == "name" or follower.kind == "end" or follower.text == ";"
        or follower.kind == "keyword" and follower.text ~= "and" and follower.text ~= "or"
end

--- Whether np.array{…} or its like, with axes, is all of the expression that begins at k.
local function is_array_made(list, k)
    if list[k].word ~= "np" or list[k + 1].text ~= "." or not ARRAYS[list[k + 2].word] then return false end
    local open = list[k + 3].text == "(" and list[k + 4].text == "{" and k + 4 or k + 3
    local last = tokens.OPENING[list[k + 3].text] and tokens.closing(list, k + 3)
    local needs_braces = list[k + 2].word:find "array" -- np.array(5) has no axes
    local has_axes = list[open].text == "{" and list[open + 1].text ~= "}"
        or list[open].text == "(" and not needs_braces
    return last and has_axes and ends_statement(list, last)
end

--- "list", "text" or "array": what an expression that begins at k is alone; nil: something else.
local function kind_at(list, k)
    local token = list[k]
    if token.kind == "string" then return ends_statement(list, k) and "text" or nil end
    if is_array_made(list, k) then return "array" end
    if token.text ~= "{" or not is_list(list, k) then return nil end
    return ends_statement(list, tokens.closing(list, k)) and "list" or nil
end

--- Notes that a name holds values of a kind, or, without one, anything.
local function note(kinds, name, kind)
    if kinds[name] == nil then kinds[name] = kind or false end
    if kinds[name] ~= kind then kinds[name] = false end
end

--- Notes the names between two tokens as holding anything.
local function note_all(kinds, list, from, to)
    for k = from, to do
        if list[k].kind == "name" then note(kinds, list[k].word, nil) end
    end
end

--- By name: "list", "text" or "array"; false: anything.
local function kinds_of(list)
    local kinds = {}
    for k, token in ipairs(list) do
        local text, before = token.text, list[k - 1]
        if text == "function" then
            local open = k + 1
            while open < #list and list[open].text ~= "(" do open = open + 1 end
            note_all(kinds, list, k, tokens.closing(list, open) or #list)
        elseif text == "for" then
            local last = k + 1
            while list[last].kind == "name" or list[last].text == "," do last = last + 1 end
            note_all(kinds, list, k, last - 1)
        elseif text == "local" and list[k + 1].kind == "name" then
            local follower = list[k + 2].text
            if follower ~= "=" then note_all(kinds, list, k + 1, k + 1) end
        elseif text == "=" and before.kind == "name" then
            local member = list[k - 2].text
            local alone = member ~= "." and member ~= ","
            if alone then note(kinds, before.word, kind_at(list, k + 1)) end
            local at = k - 2
            while member == "," and (list[at].text == "," or list[at].kind == "name") do at = at - 1 end
            if member == "," then note_all(kinds, list, at + 1, k - 1) end
        elseif text == "[" and before.kind == "name" then
            local last = tokens.closing(list, k)
            if last and list[last + 1].text == "=" then note(kinds, before.word, nil) end
        elseif token.word == "setmetatable" and list[k + 2].kind == "name" then
            note(kinds, list[k + 2].word, nil)
        end
    end
    return kinds
end

-- ---- Items ----------------------------------------------------------------------------------------------------------

--- What is said of the index between the brackets at `open` and `last` of a list.
local function list_item(name, list, open, last, text)
    local inside = text:sub(list[open].to + 1, list[last].from - 1):gsub("%s+", " ")
    local first, second = list[open + 1], list[open + 2]
    if first.text == "-" and second.kind == "number" and last == open + 3 then
        return ("%s[%s] is nil: the last item of a table is %s[#%s]"):format(name, inside, name, name)
    end
    if first.word == "0" and last == open + 2 then return ("%s[0] is nil: tables count from 1"):format(name) end
    local close = list[last - 1].text == ")" and last - 1
    local is_number = close and list[close - 2].word == "item"
    if is_number then close = close - 4 end -- ) : item ( )
    if not close or list[close].text ~= ")" then return nil end
    local depth, at = 0, close
    repeat
        depth = depth + (list[at].text == ")" and 1 or list[at].text == "(" and -1 or 0)
        at = at - 1
    until depth == 0 or at <= open
    if depth ~= 0 or not POSITIONS[list[at].word] then return nil end
    local number = is_number and inside or inside .. ":item()"
    local why = is_number and "positions in arrays count from 0, in tables from 1"
        or "a table knows nothing of the values of arrays, and counts from 1"
    return ("%s: %s[%s + 1]"):format(why, name, number)
end

--- for i = 0, #list - 1 do … list[i]
local function loop_from_zero(list, k, kinds)
    local variable, name = list[k + 1], list[k + 6]
    if list[k + 2].text ~= "=" or list[k + 3].word ~= "0" or list[k + 5].text ~= "#" or kinds[name.word] ~= "list" then
        return nil
    end
    for at = k + 7, math.min(#list - 3, k + FAR) do
        if list[at].word == name.word and list[at + 1].text == "[" and list[at + 2].word == variable.word
            and list[at + 3].text == "]" then
            return ("%s[0] is nil: tables count from 1, for %s = 1, #%s do"):format(name.word, variable.word, name.word)
        end
    end
end

--- Whether token k stands in brackets, or too far from where its text begins to know.
local function may_be_in_brackets(list, k)
    local depth = 0
    for at = k, math.max(1, k - FAR), -1 do
        depth = depth + tokens.step(list[at])
        if depth > 0 then return true end
    end
    return k > FAR
end

--- Whether a statement begins at the name k, which another name follows behind a comma.
local function begins_statement(list, k)
    local before = list[k - 1]
    if before.text == ";" then return not may_be_in_brackets(list, k - 1) end
    return before.kind ~= "symbol" or tokens.CLOSING[before.text] ~= nil
end

--- Whether the name at k, behind an =, is all that the names before that get; and how many these are.
local function names_given(list, k)
    local first, count = k - 2, 1
    while list[first].kind == "name" and list[first - 1].text == "," and list[first - 2].kind == "name" do
        first, count = first - 2, count + 1
    end
    local is_several = count > 1 and list[first].kind == "name" and ends_statement(list, k)
    return is_several and begins_statement(list, first), count
end

--- a, b = x: what is said of an array, or a list of that many items, that is all of what several names get.
local function taken_whole(list, k, kind, length)
    if list[k - 1].text ~= "=" then return nil end
    local is_whole, count = names_given(list, k)
    if not is_whole or kind == "list" and length ~= count then return nil end
    local name = list[k].word
    return ("one value for several variables, of which the others get nil; " .. (kind == "list" and "unpack(%s)"
        or "%s:unpack()") .. " gives its %s"):format(name, kind == "list" and "items" or "elements")
end

--- What is said of token k, a name that holds a list, a text or an array. `length`: of a list at the prompt.
local function item(list, k, kind, text, length)
    if kind ~= "text" then
        local what = taken_whole(list, k, kind, length)
        if what or kind == "array" then return what end
    end
    local name, mark, member = list[k].word, list[k + 1].text, list[k + 2]
    if mark == "." and member.kind == "name" and LENGTHS[member.word] and list[k + 3].text ~= "=" then
        return ("%s.%s is nil: #%s is its length"):format(name, member.word, name)
    end
    local last = mark == "[" and tokens.closing(list, k + 1)
    if not last then return nil end
    if kind == "list" then return list_item(name, list, k + 1, last, text) end
    local inside = text:sub(list[k + 1].to + 1, list[last].from - 1)
    if inside:find "^%s*0%s*$" then
        return ("%s[0] of a text is nil: characters count from 1, %s:sub(1, 1) is the first"):format(name, name)
    end
    return ("%s[%s] of a text is nil: %s:sub(%s, %s) is a part of it"):format(name, inside, name, inside, inside)
end

--- Calls tell(line, what) for each item in the tokens of a text that is not there. The list and kind_of: as in
-- unlikely.tell.
function held.visit(list, text, tell, kind_of)
    local kinds = kinds_of(list)
    local lengths = {} -- of lists, at the prompt
    if kind_of then
        setmetatable(kinds, { __index = function(_, name)
            local kind, length = kind_of(name)
            lengths[name] = length
            return kind
        end })
    end
    for k = 1, #list - 1 do
        if k % 1000 == 0 then core.check_interrupt() end
        local token, before = list[k], list[k - 1]
        local kind = token.kind == "name" and kinds[token.word]
        local is_member = before.text == "." or before.text == ":"
        local what
        if kind and not is_member then what = item(list, k, kind, text, lengths[token.word]) end
        if token.text == "for" then what = loop_from_zero(list, k, kinds) end
        if what then tell(token.line, what) end
    end
end

jit.off(held.visit, true)

return held
