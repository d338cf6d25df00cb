--- kernel_expressions.lua: expressions that the debugger evaluates between two lines of a cell: conditions of
-- breakpoints, values in log messages, and what the panel asks of a stopped cell.
--
--      k % 10 == 0 and rows[1].weight > 0.5          loss > 3 (an array of one element)          x:max() > 1e4
--
-- They are evaluated inside of a hook, where nothing could end a loop of the user's. So they are Lua's expressions
-- without calls, but for those METHODS of arrays, and run nothing of the user's: tables are read without their
-- metatables. An array of one element is its value; one that is traced has none.
local core = require "neap.core"
local tokens = require "neap.interp.tokens"

local expressions = {}

local MOST = 1000 -- bytes of an expression
local METHODS = { item = true, sum = true, mean = true, max = true, min = true, any = true, all = true }

--- Gives up, with what is told of the expression.
local function refuse(text, ...)
    error({ refused = text:format(...) }, 0)
end

-- ---- Values ---------------------------------------------------------------------------------------------------------

--- Refuses an array that has no value.
local function check_value(x)
    if core.info(x).traced ~= 0 then refuse "an array of a function that is being traced has no value" end
end

--- A value as operators take it: an array of one element as that.
local function plain(value)
    if not core.is_array(value) then return value end
    check_value(value)
    if value.size ~= 1 then
        refuse("an array of shape %s is no number; x:max(), x:sum() and x[0] are", core.shape_text(value))
    end
    return core.item(value)
end

local function index(value, key)
    if type(value) == "table" then return rawget(value, key) end
    if not core.is_array(value) then
        refuse("%s has no fields", type(value) == "nil" and "nil" or "a " .. type(value))
    elseif type(key) == "number" then
        check_value(value)
        return value[key]
    elseif core.fields[key] then
        return value[key]
    end
    refuse("an array has no field '%s'", tostring(key))
end

local function call(value, name)
    if not core.is_array(value) or not METHODS[name] then
        refuse "only item, sum, mean, max, min, any and all are called, of arrays"
    end
    check_value(value)
    return plain(core.methods[name](value))
end

--- Refuses what would run a function of the user's, or has no such operator.
local function check_operand(value, operator)
    local kind = type(value)
    if kind ~= "number" and kind ~= "string" and kind ~= "cdata" then
        refuse("%s of a value that is %s", operator, kind == "nil" and "nil" or "a " .. kind)
    end
end

local OPERATORS = {
    ["<"] = function(a, b) return a < b end, [">"] = function(a, b) return a > b end,
    ["<="] = function(a, b) return a <= b end, [">="] = function(a, b) return a >= b end,
    [".."] = function(a, b) return a .. b end,
    ["+"] = function(a, b) return a + b end, ["-"] = function(a, b) return a - b end,
    ["*"] = function(a, b) return a * b end, ["/"] = function(a, b) return a / b end,
    ["%"] = function(a, b) return a % b end, ["^"] = function(a, b) return a ^ b end,
}

--- Whether two values are equal; what is compared with nil needs no value.
local function are_equal(a, b)
    if type(a) == "nil" or type(b) == "nil" then return rawequal(a, b) end
    a, b = plain(a), plain(b)
    if type(a) == "table" or type(b) == "table" then return rawequal(a, b) end
    return a == b
end

local function binary(operator, left, right)
    local act = OPERATORS[operator]
    return function(name)
        local a, b = left(name), right(name)
        if not act then return are_equal(a, b) == (operator == "==") end
        a, b = plain(a), plain(b)
        check_operand(a, operator)
        check_operand(b, operator)
        return act(a, b)
    end
end

--- The length of a list.
local function length(list)
    local n = 0
    while rawget(list, n + 1) ~= nil do n = n + 1 end
    return n
end

local UNARY = {
    ["not"] = function(value) return not plain(value) end,
    ["-"] = function(value)
        value = plain(value)
        check_operand(value, "-")
        return -value
    end,
    ["#"] = function(value)
        if core.is_array(value) then return core.shape_of(value)[1] or refuse "an array without axes has no length" end
        if type(value) == "table" then return length(value) end
        if type(value) ~= "string" then refuse("# of a value that is a %s", type(value)) end
        return #value
    end,
}

-- ---- Reading --------------------------------------------------------------------------------------------------------
-- Each function reads from list.at on, and returns what gives the value: f(name), where name("x") is the value of the
-- variable x.

local LEVELS = { { ["or"] = true }, { ["and"] = true },
                 { ["<"] = true, [">"] = true, ["<="] = true, [">="] = true, ["=="] = true, ["~="] = true },
                 { [".."] = true }, { ["+"] = true, ["-"] = true }, { ["*"] = true, ["/"] = true, ["%"] = true } }
local CONSTANTS = { ["true"] = true, ["false"] = false }

local read -- of a level

local function token_at(list, offset)
    return list[list.at + (offset or 0)] or list[#list]
end

local function take(list, text)
    if token_at(list).text ~= text then
        local found = token_at(list)
        refuse("'%s' expected %s", text, found.kind == "end" and "at the end" or "near '" .. found.word .. "'")
    end
    list.at = list.at + 1
end

local function read_primary(list)
    local token = token_at(list)
    list.at = list.at + 1
    if token.text == "(" then
        local inside = read(list, 1)
        take(list, ")")
        return inside
    elseif token.kind == "name" then
        return function(name) return name(token.word) end
    elseif token.kind == "number" or token.kind == "string" then
        local literal = loadstring("return " .. token.word, "=neap/literal", "t")
        if not literal then refuse("%s is no value", token.word) end
        local value = literal()
        return function() return value end
    elseif token.text == "nil" or CONSTANTS[token.text] ~= nil then
        local value = CONSTANTS[token.text]
        return function() return value end
    end
    refuse("a value is missing %s", token.kind == "end" and "at the end" or "before '" .. token.word .. "'")
end

--- A value with fields, items and methods behind it.
local function read_path(list)
    local value = read_primary(list)
    while true do
        local text, before = token_at(list).text, value
        if text == "." or text == ":" then
            local member = token_at(list, 1)
            if member.kind ~= "name" then refuse("a name is missing behind the '%s'", text) end
            list.at = list.at + 2
            if text == ":" then
                take(list, "(")
                take(list, ")")
            end
            local get = text == "." and index or call
            value = function(name) return get(before(name), member.word) end
        elseif text == "[" then
            list.at = list.at + 1
            local key = read(list, 1)
            take(list, "]")
            value = function(name) return index(before(name), plain(key(name))) end
        elseif text == "(" or text == "{" or text == "string" then
            refuse "a stopped cell runs nothing: functions are not called"
        else
            return value
        end
    end
end

local function read_unary(list)
    local act = UNARY[token_at(list).text]
    if act then
        list.at = list.at + 1
        local value = read_unary(list)
        return function(name) return act(value(name)) end
    end
    local base = read_path(list)
    if token_at(list).text ~= "^" then return base end
    list.at = list.at + 1
    return binary("^", base, read_unary(list))
end

local function chosen(is_and, left, right)
    return function(name)
        local value = plain(left(name))
        if is_and == not value then return value end
        return right(name)
    end
end

function read(list, level)
    if level > #LEVELS then return read_unary(list) end
    local value = read(list, level + 1)
    while LEVELS[level][token_at(list).text] do
        local operator = token_at(list).text
        list.at = list.at + 1
        local right = read(list, level + 1)
        value = level > 2 and binary(operator, value, right) or chosen(operator == "and", value, right)
    end
    return value
end

local function reading(text)
    if #text > MOST then refuse("an expression has at most %d bytes", MOST) end
    local list = tokens.read(text)
    list.at = 1
    if list[1].kind == "end" then refuse "an expression is missing" end
    local value = read(list, 1)
    local left = token_at(list)
    if left.kind ~= "end" then
        refuse("'%s' does not go on with an expression%s", left.word, left.text == "=" and "; == compares" or "")
    end
    return value
end

--- What an error says in one line.
local function told(problem)
    if type(problem) == "table" then return problem.refused end
    return (tostring(problem):match "^[^\n]*":gsub("^[^:]*%.lua:%d+: ", ""))
end

--- Reads an expression: f(name), which gives its value or raises; or nil, and what is wrong with it.
function expressions.read(text)
    local ok, value = pcall(reading, text)
    if not ok then return nil, told(value) end
    return value
end

--- Calls f(name) of an expression: true and its value, or false and what is wrong. as_condition: of an array the value
-- of its one element. Raises the interrupt that has ended the reading of an array.
function expressions.value(f, name, as_condition)
    local ok, value = pcall(f, name)
    if ok and as_condition then ok, value = pcall(plain, value) end
    core.check_interrupt()
    if ok then return true, value end
    return false, told(value)
end

for _, f in ipairs { reading, read, read_unary, read_path, plain, index, call, expressions.read, expressions.value } do
    jit.off(f, true)
end

return expressions
