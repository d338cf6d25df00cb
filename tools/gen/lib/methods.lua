--- methods.lua: calls of methods of strings and files in Lua code, written as calls of functions.
--
--     name:gsub("%.", "/"):sub(2)    becomes    string_sub(string_gsub(name, "%.", "/"), 2)
--     file:read "*a"                            file_read(file, "*a")
--
-- A method is found in a metatable that the user may change; these functions are variables of the library's own
-- (stdlib/neap/core/globals.lua). Which methods are meant, their names alone say: an object of the library's must not
-- have methods with the names of those of strings, unless the library itself calls none of them, as those of columns of
-- texts (stdlib/neap/tables/strings.lua). Lines stay where they are.
local methods = {}

local NAMES = {
    string = "byte dump find format gmatch gsub len lower match rep reverse sub upper",
    file = "close flush lines read seek setvbuf write",
}
local KEYWORDS = [[ and break do else elseif end false for function goto if in local nil not or repeat return then true
                    until while ]]

local functions, taken = {}, {} -- the first by name of a method; the names that are the functions' own
for kind, names in pairs(NAMES) do
    for name in names:gmatch "%S+" do
        functions[name] = kind .. "_" .. name
        taken[functions[name]] = true
    end
end

-- Kinds of tokens, as patterns; the first that matches at a place counts.
local TOKENS = {
    { "space", "^%s+" }, { "name", "^[%a_][%w_]*" }, { "number", "^%.?%d[%w%.]*" }, { "symbol", "^%.%.%.?" },
    { "symbol", "^::" },
}

--- Where the long bracket that begins at `at` ends; nil: none begins there.
local function long_bracket_end(text, at)
    local level = text:match("^%[(=*)%[", at)
    return level and select(2, text:find("]" .. level .. "]", at, true))
end

local function string_end(text, at)
    local quote, from = text:sub(at, at), at + 1
    while true do
        local to = text:find("[\\" .. quote .. "]", from)
        if text:sub(to, to) == quote then return to end
        from = to + 2
    end
end

--- The token at a place: its kind and last character.
local function token_at(text, at)
    local character = text:sub(at, at)
    if text:find("^%-%-", at) then
        return "space", long_bracket_end(text, at + 2) or text:find("\n", at, true) or #text
    end
    if character == '"' or character == "'" then return "string", string_end(text, at) end
    local to = long_bracket_end(text, at)
    if to then return "string", to end
    for _, rule in ipairs(TOKENS) do
        to = select(2, text:find(rule[2], at))
        if to then return rule[1], to end
    end
    return "symbol", at
end

--- The tokens of a text: { kind, text }, each with the white space and comments behind it in `space`.
local function tokens_of(text)
    local list, at = { { kind = "symbol", text = "", space = "" } }, 1
    while at <= #text do
        local kind, to = token_at(text, at)
        local token = text:sub(at, to)
        if kind == "space" then
            list[#list].space = list[#list].space .. token
        else
            if kind == "name" and KEYWORDS:find(" " .. token .. " ", 1, true) then kind = "keyword" end
            list[#list + 1] = { kind = kind, text = token, space = "" }
        end
        at = to + 1
    end
    return list
end

local CLOSING = { ["("] = ")", ["["] = "]", ["{"] = "}" }

-- A writer goes through tokens and changes their texts. `first` is the token with which the expression begins that has
-- been read so far and can be called or indexed, nil: there is none. `outer` has those of the brackets around, and
-- what is written behind the closing ones.
local Writer = {}
Writer.__index = Writer

function Writer:open(token)
    local begins = token.text == "(" and not token.parameters
    self.outer[#self.outer + 1] = { first = self.first or begins and token or nil, behind = token.behind }
    self.first = nil
end

function Writer:close(token)
    local bracket = table.remove(self.outer)
    self.first = bracket.first
    token.text = token.text .. (bracket.behind or "")
end

--- x:name(…), where `k` is the number of the colon: becomes f(x, …).
function Writer:method(k, f)
    local list, first = self.list, self.first
    local colon, name, argument = list[k], list[k + 1], list[k + 2]
    local before = list[k - 1].text
    local empty = argument.text == "(" and list[k + 3].text == ")"
    local open = f .. "("
    colon.text, name.text = ", ", ""
    if empty then
        colon.text = ""
        if before == ")" or before == "}" or list[k - 1].kind == "string" then -- a call may have several results
            open, colon.text = open .. "(", ")"
        end
    end
    first.text = open .. first.text
    if argument.text == "(" then
        argument.text, argument.opens = "", "("
    elseif argument.kind == "string" then
        argument.text = argument.text .. ")"
    else
        argument.behind = ")"
    end
end

--- Past the name of a function that is defined, behind the keyword.
function Writer:skip_name(k)
    while self.list[k + 1].text ~= "(" do k = k + 1 end
    self.list[k + 1].parameters = true
    return k
end

--- Takes token k; returns the number of the last one taken.
function Writer:take(k)
    local list, token = self.list, self.list[k]
    local kind, text = token.kind, token.opens or token.text
    if kind == "name" then
        if taken[text] then error(("a variable is called %s, as what calls of methods become"):format(text), 0) end
        if list[k - 1].text ~= "." then self.first = token end
    elseif kind == "string" then
        return k -- an argument of what stands before it, or nothing that can be called
    elseif text == "function" then
        self.first = nil
        return self:skip_name(k)
    elseif CLOSING[text] then
        self:open(token)
    elseif text == ")" or text == "]" or text == "}" then
        self:close(token)
    elseif text == ":" then
        local f = functions[list[k + 1].text]
        if f then self:method(k, f) end
        return k + 1
    elseif text ~= "." then
        self.first = nil
    end
    return k
end

--- Lua code that compiles, with such calls in place of methods. Raises if it has variables of the functions' names.
function methods.rewrite(text)
    local writer = setmetatable({ list = tokens_of(text), outer = {} }, Writer)
    local k = 2
    while k <= #writer.list do k = writer:take(k) + 1 end
    local parts = {}
    for _, token in ipairs(writer.list) do parts[#parts + 1] = token.text .. token.space end
    return table.concat(parts)
end

return methods
