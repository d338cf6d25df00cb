--- kernel_text.lua: reads the text of a kernel (kernel.lua): C expressions of real numbers, as those of op rows.
--
--     text       = { NAME "=" expression ";" } expression
--     expression = one with ?:   ||   &&   < <= > >= == !=   + -   * / %   unary - + !   calls, parentheses
--
-- What binds weakest stands first; ?: goes on at its right, comparisons do not chain, all else groups from the left.
-- A call is NAME(…), or F(NAME)(…) as rows write it.
--
-- The reader makes instructions, of which each is an op, an argument, a number or a mask: instruction k gives value k.
-- Values are numbers or conditions; each becomes the other where it stands for one: a condition is 1 or 0, a number
-- is true where it is not 0. Numbers among themselves are added, subtracted, multiplied and divided here, in f64.
--
-- Operators and brackets that wait for what follows stand on a stack, so a text may nest as deep as it likes, and takes
-- time by its length alone.
--
-- A variable that a branch of ?: reads is *masked* there: where(taken, x, stop_gradient(x)) has x's bits, and keeps
-- from x the cotangents of elements of which the other branch is taken. Without that they would be 0 times the slope of
-- the branch, NaN where the slope is infinite. What only masks need is left out where no derivative can follow.
local core = require "neap.core"
local suggest = require "neap.core.suggest"

local kernel_text = {}

-- ---- Names ----------------------------------------------------------------------------------------------------------

-- By number of arguments: np's functions of real elements; NAME=OP is such a function by C's name, or by its name in
-- the texts of rows.
local NAMES = {
    [[abs acos acosh asin asinh atan atanh cbrt ceil cos cosh digamma entr erf erf_inv erfc erfcinv erfcx exp exp2 expm1
      floor gamma i0 i0e i1 i1e isfinite isinf isnan j0 j1 lgamma log log10 log1p log2 reciprocal round rsqrt sigmoid
      sign signbit sin sinh sqrt square tan tanh trunc
      fabs=abs erfc_inv=erfcinv rint=round tgamma=gamma]],
    [[atan2 betaln copysign floor_divide fmax fmin fmod gammainc gammaincc hypot ldexp logaddexp maximum minimum
      nextafter pow remainder xlog1py xlogy zeta max=maximum min=minimum max_number=fmax min_number=fmin]],
    [[betainc clip]],
}
local CALLS = {} -- by name: { op, its number of arguments }
for count, names in ipairs(NAMES) do
    for name, op in names:gmatch "([%w_]+)=?([%w_]*)" do CALLS[name] = { op ~= "" and op or name, count } end
end

local GIVES_CONDITION = { isfinite = true, isinf = true, isnan = true, signbit = true, less = true, less_equal = true,
                          greater = true, greater_equal = true, equal = true, not_equal = true, logical_and = true,
                          logical_or = true, logical_not = true }
local CONSTANTS = { INFINITY = math.huge, NAN = core.NAN, M_PI = math.pi, M_E = math.exp(1) }

local CHAIN, UNARY = 4, 7
-- By sign: { how tightly it binds, op, what its operands are }.
local BINARY = {
    ["||"] = { 2, "logical_or", "condition" }, ["&&"] = { 3, "logical_and", "condition" },
    ["<"] = { CHAIN, "less" }, ["<="] = { CHAIN, "less_equal" }, [">"] = { CHAIN, "greater" },
    [">="] = { CHAIN, "greater_equal" }, ["=="] = { CHAIN, "equal" }, ["!="] = { CHAIN, "not_equal" },
    ["+"] = { 5, "add" }, ["-"] = { 5, "subtract" }, ["*"] = { 6, "multiply" }, ["/"] = { 6, "divide" },
    ["%"] = { 6, "remainder" },
}
local BRANCH, OPEN = 1, 0 -- of a whole ?:, and of what only its other half closes
local SIGNS = { ["-"] = "negative", ["+"] = "positive", ["!"] = "logical_not" }
local FOLDED = {
    add = function(a, b) return a + b end, subtract = function(a, b) return a - b end,
    multiply = function(a, b) return a * b end, divide = function(a, b) return a / b end,
}
local HINTS = {
    ["^"] = "pow(a, b) is the power", ["**"] = "pow(a, b) is the power", ["="] = "== compares",
    ["~"] = "!= compares", ["&"] = "&& is and", ["|"] = "|| is or",
    ["and"] = "&& is and", ["or"] = "|| is or", ["not"] = "! is not",
}

-- ---- Tokens ---------------------------------------------------------------------------------------------------------

--- Where in the text a place is, and what stands before it.
local function place_text(text, at)
    local before = text:sub(1, at - 1)
    local _, lines = before:gsub("\n", "")
    local column = #before:match "[^\n]*$" + 1
    local near = before:match("[^%c]*$"):sub(-20)
    return ("%scolumn %d%s"):format(lines > 0 and ("line %d, "):format(lines + 1) or "", column,
                                    near:find "%S" and (", behind '%s'"):format(near) or "")
end

local function fail(p, at, format, ...)
    core.raise(p.name, "%s, %s: %s", p.what, place_text(p.text, at), format:format(...))
end

--- The end of the number that begins at a place, with the sign of its exponent.
local function number_end(text, at)
    local _, stop = text:find("^[%w_.]+", at)
    local exponent = text:find("^0[xX]", at) and "[pP]" or "[eE]"
    if text:find("^" .. exponent, stop) then
        local _, more = text:find("^[+-][%w_.]+", stop + 1)
        return more or stop
    end
    return stop
end

--- The kinds ("word", "number", a sign itself, "end"), texts and places of the text's tokens, in p.
local function read_tokens(p)
    local text, n = p.text, 0
    local at = text:find "%S"
    while at do
        local _, stop = text:find("^[%a_][%w_]*", at)
        local kind = stop and "word"
        if not kind and text:find("^%.?%d", at) then kind, stop = "number", number_end(text, at) end
        if not kind then
            local two = text:sub(at, at + 1)
            stop = (BINARY[two] or two == "**") and at + 1 or at
            if text:byte(at) >= 0x80 then stop = select(2, text:find("^[\194-\244]?[\128-\191]*", at)) end
            kind = text:sub(at, math.max(at, stop))
        end
        n = n + 1
        stop = math.max(at, stop)
        p.kinds[n], p.words[n], p.places[n] = kind, text:sub(at, stop), at
        at = text:find("%S", stop + 1)
    end
    p.kinds[n + 1], p.words[n + 1], p.places[n + 1] = "end", "", #text + 1
end

--- The token at a place among them, for messages.
local function shown(p, k)
    if p.kinds[k] == "end" then return "the end of the text" end
    local word = p.words[k]
    return ("'%s'"):format((#word > 40 and word:sub(1, 40) .. "…" or word):gsub("%c", "?"))
end

local function unexpected(p, k, expected)
    local hint = HINTS[p.words[k]]
    fail(p, p.places[k], "expected %s, got %s%s", expected, shown(p, k), hint and "; " .. hint or "")
end

-- ---- Instructions ---------------------------------------------------------------------------------------------------

-- A value: { at = which instruction gives it, condition = whether it is one }, or { number = … }.

--- Appends an instruction; returns its place. only_masks: nothing but masks reads its value.
local function emit(p, op, x, y, z, only_masks)
    local code = p.code
    code[#code + 1] = { op = op, x, y, z, only_masks = only_masks }
    return #code
end

--- Which instruction gives a value; a number gets one.
local function place_of(p, value)
    return value.at or emit(p, "constant", value.number)
end

--- The same, of a number as an array.
local function lifted(p, value)
    return value.at or emit(p, "array", place_of(p, value))
end

--- An op of values, one of which is an array: a number among numbers becomes one.
local function add_op(p, op, x, y, z)
    local alone = not x.at and not (y and y.at) and not (z and z.at)
    local first = alone and lifted(p, x) or place_of(p, x)
    return { at = emit(p, op, first, y and place_of(p, y), z and place_of(p, z)), condition = GIVES_CONDITION[op] }
end

local ONE, ZERO = { number = 1 }, { number = 0 }

--- Of two values between which a condition chooses, one is an array.
local function choose(p, condition, x, y)
    if not x.at and not y.at then x = { at = lifted(p, x) } end
    return { at = emit(p, "where", place_of(p, condition), place_of(p, x), place_of(p, y)) }
end

local function as_number(p, value)
    return value.condition and choose(p, value, ONE, ZERO) or value
end

local function as_condition(p, value)
    return value.condition and value or add_op(p, "not_equal", value, ZERO)
end

local function binary(p, op, x, y, of_conditions)
    if of_conditions then return add_op(p, op, as_condition(p, x), as_condition(p, y)) end
    x, y = as_number(p, x), as_number(p, y)
    if FOLDED[op] and x.number and y.number then return { number = FOLDED[op](x.number, y.number) } end
    return add_op(p, op, x, y)
end

local function unary(p, op, x)
    if op == "logical_not" then return add_op(p, op, as_condition(p, x)) end
    x = as_number(p, x)
    if op == "positive" then return x end
    if x.number then return { number = -x.number } end
    return add_op(p, op, x)
end

-- ---- Branches -------------------------------------------------------------------------------------------------------

--- Goes into a branch: where the value of instruction `condition` is true, or where it is not.
local function enter_branch(p, condition, is_true)
    local outer = p.branch
    local taken = is_true and condition or emit(p, "logical_not", condition, nil, nil, true)
    if outer then taken = emit(p, "logical_and", outer.taken, taken, nil, true) end
    p.branch = { outer = outer, taken = taken, masked = {} }
end

--- A variable as the branch that reads it sees it.
local function masked(p, value)
    local branch = p.branch
    if not branch or not value.at or value.condition then return value end
    local known = branch.masked[value.at]
    if not known then
        known = { at = emit(p, "mask", branch.taken, value.at) }
        branch.masked[value.at] = known
    end
    return known
end

-- ---- The stack ------------------------------------------------------------------------------------------------------

local function push_value(p, value) p.values[#p.values + 1] = value end
local function pop_value(p) return table.remove(p.values) end

--- Makes instructions of the operators on the stack that bind as tightly as `least`, or tighter.
local function reduce(p, least)
    local stack = p.stack
    while #stack > 0 and stack[#stack].binds >= least do
        local entry, value = table.remove(stack), pop_value(p)
        if entry.first then
            p.branch = p.branch.outer
            local first = entry.first
            if first.condition and value.condition then
                push_value(p, { at = emit(p, "where", entry.condition.at, first.at, value.at),
                                condition = true })
            else
                push_value(p, choose(p, entry.condition, as_number(p, first), as_number(p, value)))
            end
        elseif entry.unary then
            push_value(p, unary(p, entry.op, value))
        else
            push_value(p, binary(p, entry.op, pop_value(p), value, entry.of == "condition"))
        end
    end
end

--- Reduces all up to an open bracket or a "?", and returns that; nil: there is none.
local function reduce_to_open(p)
    reduce(p, BRANCH)
    return p.stack[#p.stack]
end

local function close_call(p, entry)
    local op, count = entry.call[1], entry.call[2]
    if entry.count ~= count then
        fail(p, entry.from, "%s takes %d argument%s, got %d", entry.word, count, count == 1 and "" or "s", entry.count)
    end
    local z = count > 2 and as_number(p, pop_value(p)) or nil
    local y = count > 1 and as_number(p, pop_value(p)) or nil
    push_value(p, add_op(p, op, as_number(p, pop_value(p)), y, z))
end

--- A call that begins at token k: pushes it; returns the token behind its "(".
local function open_call(p, k)
    local at = k
    if p.words[k] == "F" then -- F(exp)(a), as rows write it
        local is_name = p.kinds[k + 2] == "word" and p.kinds[k + 3] == ")" and p.kinds[k + 4] == "("
        if not is_name then fail(p, p.places[k], "expected F(NAME)(…)") end
        k = k + 2
    end
    local call = CALLS[p.words[k]]
    if not call then
        fail(p, p.places[k], "there is no function %s%s", shown(p, k), suggest.hint(p.words[k], { CALLS }))
    end
    p.stack[#p.stack + 1] = { binds = OPEN, call = call, word = p.words[k], count = 1, from = p.places[at] }
    return k == at and k + 2 or k + 3
end

local function variable(p, k)
    local word = p.words[k]
    local known = p.variables[word]
    if known then
        p.used[word] = true
        return masked(p, known)
    end
    if CONSTANTS[word] then return { number = CONSTANTS[word] } end
    local hint = HINTS[word] and "; " .. HINTS[word]
        or CALLS[word] and "; a call has its arguments in brackets" or suggest.hint(word, { p.variables, CONSTANTS })
    fail(p, p.places[k], "unknown name %s; there are %s%s", shown(p, k), table.concat(p.order, ", "), hint)
end

--- Token k where a value has to begin. Returns the next one, and whether the value is whole.
local function take_value(p, k)
    local kind, word = p.kinds[k], p.words[k]
    if kind == "number" then
        local number = word:find "^[%x.eExXpP+-]+$" and tonumber(word)
        if not number then fail(p, p.places[k], "expected a number, got %s", shown(p, k)) end
        push_value(p, { number = number })
        return k + 1, true
    elseif kind == "word" and p.kinds[k + 1] == "(" then
        return open_call(p, k), false
    elseif kind == "word" then
        push_value(p, variable(p, k))
        return k + 1, true
    elseif kind == "(" then
        p.stack[#p.stack + 1] = { binds = OPEN, from = p.places[k] }
    elseif SIGNS[kind] then
        p.stack[#p.stack + 1] = { binds = UNARY, op = SIGNS[kind], unary = true }
    else
        unexpected(p, k, "a value")
    end
    return k + 1, false
end

local function take_binary(p, k)
    local found = BINARY[p.kinds[k]]
    local least = found[1]
    reduce(p, least + (least == CHAIN and 1 or 0))
    local top = p.stack[#p.stack]
    if least == CHAIN and top and top.binds == CHAIN then
        fail(p, p.places[k], "comparisons do not chain: a < b < c is a < b && b < c")
    end
    p.stack[#p.stack + 1] = { binds = least, op = found[2], of = found[3] }
end

local function take_question(p)
    reduce(p, BRANCH + 1)
    local condition = as_condition(p, pop_value(p))
    p.stack[#p.stack + 1] = { binds = OPEN, question = true, condition = condition }
    enter_branch(p, condition.at, true)
end

local function take_colon(p, k)
    local entry = reduce_to_open(p)
    if not entry or not entry.question then unexpected(p, k, "an operator (no '?' waits for it)") end
    p.branch = p.branch.outer
    enter_branch(p, entry.condition.at, false)
    entry.question, entry.binds, entry.first = nil, BRANCH, pop_value(p)
end

--- Token k behind a value. Returns whether a value follows; nil where the expression ends.
local function take_operator(p, k)
    local kind = p.kinds[k]
    if BINARY[kind] then
        take_binary(p, k)
        return true
    elseif kind == "?" then
        take_question(p)
        return true
    elseif kind == ":" then
        take_colon(p, k)
        return true
    end
    local entry = reduce_to_open(p)
    if entry and entry.question then unexpected(p, k, "':' and what there is otherwise") end
    if kind == ")" and entry then
        table.remove(p.stack)
        if entry.call then close_call(p, entry) end
        return false
    elseif kind == "," and entry and entry.call then
        entry.count = entry.count + 1
        return true
    elseif (kind == ";" or kind == "end") and not entry then
        return nil
    elseif kind == "end" then
        fail(p, entry.from, "a bracket that is never closed")
    end
    unexpected(p, k, entry and "an operator or ')'" or kind == ")" and "an operator (no bracket is open)"
               or "an operator or ';'")
end

--- Reads the expression that begins at token k. Returns its value and the token behind it, ";" or the end.
local function expression(p, k)
    p.stack, p.values, p.branch = {}, {}, nil
    local whole
    while true do
        repeat k, whole = take_value(p, k) until whole
        local goes_on
        repeat
            goes_on = take_operator(p, k)
            if goes_on ~= nil then k = k + 1 end
        until goes_on ~= false
        if goes_on == nil then return pop_value(p), k end
    end
end

-- ---- Texts ----------------------------------------------------------------------------------------------------------

--- Reads NAME "=", if it stands at token k: the token, and the place behind.
local function target_at(p, k)
    if p.kinds[k] ~= "word" or p.kinds[k + 1] ~= "=" then return nil, k end
    local word = p.words[k]
    if p.variables[word] or CONSTANTS[word] then
        fail(p, p.places[k], "%s is assigned a second time%s", shown(p, k),
             p.is_argument[word] and "; it is an argument" or "")
    end
    return k, k + 2
end

--- Raises for a name of the list that nothing reads.
local function check_used(p, names, what)
    for _, word in ipairs(names) do
        if not p.used[word] then core.raise(p.name, "%s: %s '%s' is never used", p.what, what, word) end
    end
end

--- The instructions of a text whose arguments are `arguments`, a list of names: a list { op = …, places of up to three
-- values }; behind it the place of the result, and whether that is a condition. Beside ops of np and np.special there
-- are "argument" (its number), "constant" (the number), "array" (of a constant), "mask" (condition, value). Those with
-- only_masks give what masks alone read. Errors are np.NAME's and tell of `what`. any: arguments may go unused.
function kernel_text.read(name, what, text, arguments, any)
    local p = { name = name, what = what, text = text, kinds = {}, words = {}, places = {}, code = {}, variables = {},
                is_argument = {}, used = {}, order = core.copy_list(arguments) }
    local own = {}
    for k, word in ipairs(arguments) do
        p.variables[word], p.is_argument[word] = { at = emit(p, "argument", k) }, true
    end
    read_tokens(p)
    local k = 1
    while true do
        local target, value
        target, k = target_at(p, k)
        value, k = expression(p, k)
        local is_end = p.kinds[k] == "end"
        if not target then
            if not is_end then unexpected(p, k, "the end of the text behind the result") end
            if not any then check_used(p, arguments, "the argument") end
            check_used(p, own, "the name")
            return p.code, place_of(p, value), value.condition
        elseif is_end then
            unexpected(p, k, "';' and the result")
        end
        local word = p.words[target]
        p.variables[word], own[#own + 1], p.order[#p.order + 1] = value, word, word
        k = k + 1
        if p.kinds[k] == "end" then unexpected(p, k, "the result") end
    end
end

kernel_text.constants = CONSTANTS

return kernel_text
