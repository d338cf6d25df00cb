--- infer.lua: what is known of the value of an expression that is being typed, without running it: for completions.
--
-- A *finding* is { value = v } where the value itself is there, as of a variable or a field, or { array = true } where
-- only its kind is known: what a method of an array gives, or a function of np, unless their help says otherwise. Where
-- nothing is known there is no finding. Nothing is called: only raw fields are read, __index where that is a table, an
-- array's methods and fields, and names that a table loads when they are first used (`__late` of its metatable): a path
-- through one of them, such as np.linalg., loads it.
--
-- The text is a list of tokens (tokens.lua), its last one the end. Chains such as `a.b[1]:f(x).T` are read backwards
-- from their end. Local variables of the text itself are those of the blocks that are open at the cursor.
local core = require "neap.core"

local infer = {}

local MAX_CHAIN, MAX_DEPTH = 10, 20 -- __index tables; findings in findings
local ARRAY = { array = true }
-- Results, as help has them, that are no arrays.
local OTHER = { nothing = true, ["function"] = true, table = true, integer = true, block = true, string = true,
                results = true, boolean = true, tree = true, program = true, optimizer = true, sharding = true,
                carry = true, value = true, spec = true, place = true, number = true, mesh = true, log = true,
                leaves = true, explanation = true, device = true }
local CONTINUES = { ["=="] = true, ["~="] = true, ["<"] = true, [">"] = true, ["<="] = true, [">="] = true,
                    [".."] = true, ["and"] = true, ["or"] = true } -- an expression, and may make it no array
local OPENS, CLOSES = { ["("] = true, ["["] = true, ["{"] = true }, { [")"] = true, ["]"] = true, ["}"] = true }

-- ---- Values ---------------------------------------------------------------------------------------------------------

--- The tables in which the fields of `value` are found, in order.
function infer.holders(value)
    local list = {}
    for _ = 1, MAX_CHAIN do
        if type(value) == "table" then list[#list + 1] = value end
        local meta = debug.getmetatable(value)
        local index = type(meta) == "table" and rawget(meta, "__index") or nil
        local late = type(meta) == "table" and rawget(meta, "__late") or nil
        for _, names in ipairs(type(late) == "table" and late or {}) do
            if type(names) == "table" then list[#list + 1] = names end
        end
        if type(index) ~= "table" then break end
        value = index
    end
    return list
end

--- What a value of the library's that is no table and no array has, by name: fields, methods; and the part of help
-- that has these (__members). A field that takes work is no value but true or a function. Nil: it says nothing.
function infer.members(value)
    local meta = type(value) == "userdata" and debug.getmetatable(value)
    local members = type(meta) == "table" and rawget(meta, "__members")
    if members then return members(value) end
end

local function field_of(value, key)
    local fields = infer.members(value)
    local own = fields and rawget(fields, key)
    if own ~= nil and own ~= true and type(own) ~= "function" then return own end
    for _, holder in ipairs(infer.holders(value)) do
        local found = rawget(holder, key)
        if found ~= nil then
            local meta = debug.getmetatable(value)
            return type(meta) == "table" and rawget(meta, "__late") and value[key] or found
        end
    end
    return nil
end

--- Whether a finding is an array.
function infer.is_array(found)
    return found ~= nil and (found.array or core.is_array(found.value))
end

--- What the result of an entry of the help is: an array, if its first value is one.
local function result_of(entry)
    if not entry then return nil end
    local result = entry.result or "array"
    if result:find("|", 1, true) or OTHER[result:match "^[^,]*"] then return nil end
    return ARRAY
end

local function help()
    require "neap.inspect.help"
    return core.help
end

-- ---- Local variables of the text ------------------------------------------------------------------------------------

--- The names that a list of them begins with at token k, and the place behind them.
local function name_list(list, k)
    local names = {}
    while list[k] and list[k].kind == "name" do
        names[#names + 1] = list[k].word
        k = k + 1
        if not list[k] or list[k].text ~= "," then break end
        k = k + 1
    end
    return names, k
end

--- The local variables at the end of a list of tokens: by name, { first = the token at which the value begins, number =
-- which of the values }, or {} where the value is not in the text.
local function block_variables(list)
    local scopes, pending = { {} }, nil
    local function push(variables) scopes[#scopes + 1] = variables or {} end
    local function pop()
        if #scopes > 1 then scopes[#scopes] = nil end
    end
    local function declare(names, into, first)
        for k, name in ipairs(names) do into[name] = { first = first, number = k } end
        return into
    end
    local until_line
    for k, token in ipairs(list) do
        local word, behind = token.kind == "keyword" and token.word, list[k + 1]
        if until_line and token.line > until_line then
            pop()
            until_line = nil
        end
        if word == "local" and behind.word == "function" then
            declare({ list[k + 2] and list[k + 2].word }, scopes[#scopes])
        elseif word == "local" then
            local names, at = name_list(list, k + 1)
            declare(names, scopes[#scopes], list[at].text == "=" and at + 1 or nil)
        elseif word == "function" then
            local at = k + 1
            while list[at] and (list[at].kind == "name" or list[at].text == "." or list[at].text == ":") do
                at = at + 1
            end
            push(declare(list[at] and list[at].text == "(" and name_list(list, at + 1) or {}, {}))
        elseif word == "for" then
            pending = declare((name_list(list, k + 1)), {})
        elseif word == "do" then
            push(pending)
            pending = nil
        elseif word == "then" or word == "repeat" then
            push()
        elseif word == "else" then
            pop()
            push()
        elseif word == "end" or word == "elseif" then
            pop()
        elseif word == "until" then -- its condition sees them, and what follows on other lines does not
            until_line = token.line
        end
    end
    local all = {}
    for _, variables in ipairs(scopes) do
        for name, variable in pairs(variables) do all[name] = variable end
    end
    return all
end

-- ---- The text before the cursor -------------------------------------------------------------------------------------

local Text = {}
Text.__index = Text

--- The places of the brackets that belong to those of a list: of the opening by the closing one, and of the closing by
-- the opening one.
local function partners(list)
    local partner, open = {}, {}
    for k, token in ipairs(list) do
        local mark = token.kind == "symbol" and token.text
        if OPENS[mark] then open[#open + 1] = k end
        if CLOSES[mark] and #open > 0 then
            local from = table.remove(open)
            partner[k], partner[from] = from, k
        end
    end
    return partner
end

--- For tokens of the text before the cursor. names: a function from the name of a variable to whether there is one, and
-- its value.
function infer.text(list, names)
    return setmetatable({ list = list, names = names, block = block_variables(list), partner = partners(list),
                          depth = 0, found = {} }, Text)
end

--- The place of the innermost bracket that is open behind token k, and how many commas of its own follow it; nil.
function Text:enclosing(k)
    local depth, commas = 0, 0
    for at = k, 1, -1 do
        local token = self.list[at]
        local mark = token.kind == "symbol" and token.text
        if CLOSES[mark] then depth = depth + 1 end
        if depth == 0 and OPENS[mark] then return at, commas end
        if OPENS[mark] then depth = depth - 1 end
        if depth == 0 and mark == "," then commas = commas + 1 end
        if token.kind == "keyword" and (token.word == "end" or token.word == "function") then return nil end
    end
    return nil
end

local function ends_prefix(token)
    return token and (token.kind == "name" or token.kind == "string" or CLOSES[token.text])
end

--- The place where the chain that ends at k begins.
function Text:chain_start(k)
    while true do
        local token = self.list[k]
        if CLOSES[token.text] then
            k = self.partner[k]
            if not k then return nil end
            if not ends_prefix(self.list[k - 1]) then return k end
            k = k - 1
        elseif token.kind == "string" and ends_prefix(self.list[k - 1]) then
            k = k - 1
        elseif token.kind == "name" and self.list[k - 1]
            and (self.list[k - 1].text == "." or self.list[k - 1].text == ":") and k > 2 then
            k = k - 2
        else
            return k
        end
    end
end

--- What is known of an expression from token `first` on, up to a comma, a bracket or a statement: that of a chain, or
-- an array where one is an operand of arithmetic.
function Text:expression(first)
    local k, one, operands = first, nil, 0
    while self.list[k] and k < #self.list do
        local token = self.list[k]
        if token.kind == "symbol" and ("+-*/%^"):find(token.text, 1, true) then
            k = k + 1
        elseif token.kind == "number" then
            k, operands = k + 1, operands + 1
        elseif token.kind == "name" or token.text == "(" then
            local last = self:chain_end(k)
            local found = last and self:finding(last)
            if not last or not found and operands > 0 then return infer.is_array(one) and ARRAY or nil end
            one, operands = infer.is_array(found) and found or one or found, operands + 1
            k = last + 1
            local after = self.list[k]
            if after.kind ~= "symbol" or not ("+-*/%^"):find(after.text, 1, true) then break end
        else
            break
        end
    end
    local behind = self.list[k]
    if behind and CONTINUES[behind.text] then return nil end
    if operands > 1 then return infer.is_array(one) and ARRAY or nil end
    return one
end

--- The place where the chain that begins at k ends.
function Text:chain_end(k)
    if self.list[k].text == "(" then k = self.partner[k] end
    while k do
        local mark, behind = self.list[k + 1], self.list[k + 2]
        if not mark then return k end
        if (mark.text == "." or mark.text == ":") and behind and behind.kind == "name" then
            k = k + 2
        elseif OPENS[mark.text] then
            k = self.partner[k + 1]
        elseif mark.kind == "string" then
            k = k + 1
        else
            return k
        end
    end
    return nil
end

--- What is known of a local variable of the text.
function Text:local_variable(variable)
    local k = variable.first
    for _ = 2, variable.number do
        local last = self.list[k] and self:chain_end(k)
        if not last or not self.list[last + 1] or self.list[last + 1].text ~= "," then return nil end
        k = last + 2
    end
    return self:expression(k)
end

function Text:variable(name)
    local variable = self.block[name]
    if variable and not variable.first then return nil end
    if variable then -- asked for once: each value may name others twice
        if self.found[name] == nil then
            self.found[name] = false -- while it is looked for, as in `local x = x`
            self.found[name] = self:local_variable(variable) or false
        end
        return self.found[name] or nil
    end
    local is_there, value = self.names(name)
    if is_there then return { value = value } end
    return nil
end

--- What a call gives, of the chain before its arguments.
function Text:call(k)
    local token, mark = self.list[k], self.list[k - 1]
    if token.kind == "name" and mark and mark.text == ":" then
        local receiver = k > 2 and self:finding(k - 2)
        if infer.is_array(receiver) then return result_of(help().entry("x." .. token.word)) end
        return nil
    end
    local callee = self:finding(k)
    if infer.is_array(callee) then return ARRAY end
    if not callee or type(callee.value) ~= "function" or not core.is_library(callee.value) then return nil end
    return result_of(help().entry(self:path(k) or ""))
end

--- The words of a chain of names as they stand, "np.linalg.svd"; nil for other chains.
function Text:path(k)
    local first = self:chain_start(k)
    local parts = {}
    for at = first or k + 1, k do
        local token = self.list[at]
        if token.kind ~= "name" and token.text ~= "." then return nil end
        parts[#parts + 1] = token.word
    end
    return first and table.concat(parts)
end

--- What an index in brackets from `open` to `close` gives.
function Text:index(open, close)
    local found, key = self:finding(open - 1), self.list[open + 1]
    if infer.is_array(found) then return ARRAY end
    if not found or type(found.value) ~= "table" or close ~= open + 2 then return nil end
    if key.kind == "number" then key = tonumber(key.word) end
    if type(key) == "table" then key = key.kind == "string" and key.word:match "^[\"']([^\\]*)[\"']$" end
    local value = key and rawget(found.value, key)
    return value ~= nil and { value = value } or nil
end

--- What is known of a name at k: a variable, or a field.
function Text:name(k)
    local name, mark = self.list[k].word, self.list[k - 1]
    if not mark or mark.text ~= "." then return self:variable(name) end
    local holder = k > 2 and ends_prefix(self.list[k - 2]) and self:finding(k - 2)
    if not holder then return nil end
    if infer.is_array(holder) then return core.fields[name] and result_of(help().entry("x." .. name)) end
    local value = field_of(holder.value, name)
    return value ~= nil and { value = value } or nil
end

--- What is known of the chain that ends at token k.
function Text:finding(k)
    local token, found = self.list[k], nil
    if not token or self.depth > MAX_DEPTH then return nil end
    self.depth = self.depth + 1
    if token.kind == "name" then
        found = self:name(k)
    elseif token.kind == "string" then
        found = { value = "" }
        if ends_prefix(self.list[k - 1]) then found = self:call(k - 1) end
    elseif CLOSES[token.text] then
        local open = self.partner[k]
        local is_call = open and ends_prefix(self.list[open - 1])
        if token.text == "]" then
            found = is_call and self:index(open, k) or nil
        elseif is_call then
            found = self:call(open - 1)
        elseif open and token.text == ")" then
            found = self:expression(open + 1)
        end
    end
    self.depth = self.depth - 1
    return found
end

return infer
