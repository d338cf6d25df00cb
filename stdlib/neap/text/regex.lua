--- regex.lua: the regular expressions that tokenizers split texts by, over code points: alternatives, groups, looking
-- ahead, classes with properties of Unicode, greedy, lazy and possessive quantifiers. Anything else
-- is refused by an error.
--
-- An expression becomes functions m(codes, at, rest): m matches at `at`, and rest(at) what comes behind; they return
-- the place behind the whole match, or nil. A test of one code point is a function of that; repeated tests need no
-- recursion.
local unicode = require "neap.text.unicode"

local category, is_space = unicode.category, unicode.is_space
local regex = {}

local function fail(p, what)
    error(("the regular expression '%s' has %s at byte %d"):format(p.text, what, p.at), 0)
end

-- ---- Tests of one code point ----------------------------------------------------------------------------------------

--- A test with a memory of answers.
local function remembered(test)
    local known = {}
    return function(code)
        local answer = known[code]
        if answer == nil then
            answer = test(code)
            known[code] = answer
        end
        return answer
    end
end

local function inverted(test)
    return function(code) return not test(code) end
end

local function in_category(name)
    return remembered(function(code) return category(code):sub(1, #name) == name end)
end

local is_word = remembered(function(code)
    local kind = category(code)
    return kind:find "^[LM]" ~= nil or kind == "Nd" or kind == "Nl" or kind == "Pc" or code == 0x200C or code == 0x200D
        or code >= 0x24B6 and code <= 0x24E9 -- letters in circles and squares
        or code >= 0x1F130 and code <= 0x1F189 and (code - 0x1F130) % 32 < 26
end)
regex.is_word = is_word

local classes = { s = is_space, d = in_category "Nd", w = is_word }
local controls = { n = 10, r = 13, t = 9, f = 12, v = 11, a = 7, e = 27 }

--- The property of \p{NAME} or \pN; p.at is behind the p.
local function property(p)
    local name, behind = p.text:match("^{(%^?%a+)}()", p.at)
    if not name then name, behind = p.text:match("^(%a)()", p.at) end
    local plain = name and name:gsub("%^", "")
    if not name or not plain:find "^[LMNPSZC]%l?$" then fail(p, "a property that is not a general category") end
    p.at = behind
    local test = in_category(plain)
    return name:find "^%^" and inverted(test) or test
end

--- What an escape stands for: a test or a code point. p.at is behind the backslash.
local function escape(p)
    local c = p.text:sub(p.at, p.at)
    p.at = p.at + 1
    if c == "p" then return property(p) end
    if c == "P" then return inverted(property(p)) end
    if classes[c] then return classes[c] end
    if classes[c:lower()] then return inverted(classes[c:lower()]) end
    if controls[c] then return nil, controls[c] end
    local digits, behind = p.text:match(c == "u" and "^(%x%x%x%x)()" or "^{?(%x%x+)}?()", p.at)
    if (c == "u" or c == "x") and digits then
        p.at = behind
        return nil, tonumber(digits, 16)
    end
    if c == "" or c:find "%w" then fail(p, "an unknown escape") end
    return nil, c:byte()
end

--- The code point at p.at, which moves on.
local function literal(p)
    local text = p.text:match("^[%z\1-\127\194-\244][\128-\191]*", p.at)
    if not text then fail(p, "an end too early") end
    p.at = p.at + #text
    return unicode.codes(text)[1]
end

local function simple_lower(code) return unicode.lower({ code })[1] end

local function equals(p, code)
    if not p.any_case then return function(other) return other == code end end
    local lower = simple_lower(code)
    return remembered(function(other) return simple_lower(other) == lower end)
end

local function class_item(p)
    if p.text:find("^%[", p.at) or p.text:find("^&&", p.at) then fail(p, "a class inside of a class") end
    if not p.text:find("^\\", p.at) then return nil, literal(p) end
    p.at = p.at + 1
    return escape(p)
end

--- The test of a class; p.at is behind the bracket.
local function class(p)
    local negative, tests = p.text:find("^%^", p.at) ~= nil, {}
    if negative then p.at = p.at + 1 end
    repeat
        local test, first = class_item(p)
        if first and p.text:find("^%-[^%]]", p.at) then
            p.at = p.at + 1
            local _, last = class_item(p)
            if not last or last < first then fail(p, "a range without an end") end
            test = function(code) return code >= first and code <= last end
        end
        tests[#tests + 1] = test or equals(p, first)
        if p.at > #p.text then fail(p, "a class without an end") end
    until p.text:find("^%]", p.at)
    p.at = p.at + 1
    return remembered(function(code)
        for k = 1, #tests do
            if tests[k](code) then return not negative end
        end
        return negative
    end)
end

-- ---- Matching -------------------------------------------------------------------------------------------------------

local function one(test)
    return function(codes, at, rest)
        local code = codes[at]
        if code and test(code) then return rest(at + 1) end
        return nil
    end
end

--- A test from `least` to `most` times; kind: "" greedy, "?" lazy, "+" possessive.
local function repeated_test(test, least, most, kind)
    return function(codes, at, rest)
        local limit = kind == "?" and least or most
        local last, count = at, 0
        while count < limit and codes[last] and test(codes[last]) do last, count = last + 1, count + 1 end
        if count < least then return nil end
        if kind == "+" then return rest(last) end
        if kind == "" then
            for behind = last, at + least, -1 do
                local stop = rest(behind)
                if stop then return stop end
            end
            return nil
        end
        while true do
            local stop = rest(last)
            if stop then return stop end
            if count >= most or not codes[last] or not test(codes[last]) then return nil end
            last, count = last + 1, count + 1
        end
    end
end

local function same(at) return at end

local function repeated(match, least, most, kind)
    if kind == "+" then
        return function(codes, at, rest)
            local count = 0
            while count < most do
                local stop = match(codes, at, same)
                if not stop or stop == at then break end
                at, count = stop, count + 1
            end
            if count < least then return nil end
            return rest(at)
        end
    end
    local function turn(codes, at, rest, count)
        local function more()
            if count >= most then return nil end
            return match(codes, at, function(stop)
                if stop == at and count >= least then return nil end
                return turn(codes, stop, rest, count + 1)
            end)
        end
        if count < least then return more() end
        if kind == "?" then return rest(at) or more() end
        return more() or rest(at)
    end
    return function(codes, at, rest) return turn(codes, at, rest, 0) end
end

local function sequence(list)
    if #list == 1 then return list[1] end
    return function(codes, at, rest)
        local function from(k, place)
            if k > #list then return rest(place) end
            return list[k](codes, place, function(stop) return from(k + 1, stop) end)
        end
        return from(1, at)
    end
end

local function alternatives(list)
    if #list == 1 then return list[1] end
    return function(codes, at, rest)
        for k = 1, #list do
            local stop = list[k](codes, at, rest)
            if stop then return stop end
        end
        return nil
    end
end

local function ahead(match, wanted)
    return function(codes, at, rest)
        if (match(codes, at, same) ~= nil) ~= wanted then return nil end
        return rest(at)
    end
end

-- ---- Parsing --------------------------------------------------------------------------------------------------------

local parse

local function group(p)
    local mark, behind = p.text:match("^%?([:=!])()", p.at)
    local flag = p.text:match("^%?i:()", p.at)
    local any_case = p.any_case
    if flag then
        p.any_case, behind = true, flag
    elseif not mark and p.text:find("^%?", p.at) then
        fail(p, "a group of an unknown kind")
    end
    p.at = behind or p.at
    local match = parse(p)
    if not p.text:find("^%)", p.at) then fail(p, "a group without an end") end
    p.at, p.any_case = p.at + 1, any_case
    if mark == "=" or mark == "!" then return ahead(match, mark == "=") end
    return match
end

--- The next part: a match, or a test of one code point.
local function atom(p)
    local c = p.text:sub(p.at, p.at)
    if c == "^" or c == "$" then
        p.at = p.at + 1
        return function(codes, at, rest)
            if at ~= (c == "^" and 1 or #codes + 1) then return nil end
            return rest(at)
        end
    end
    if c:find "[*+?]" then fail(p, "a quantifier of nothing") end
    if c ~= "(" and c ~= "[" and c ~= "." and c ~= "\\" then return nil, equals(p, literal(p)) end
    p.at = p.at + 1
    if c == "(" then return group(p) end
    if c == "[" then return nil, class(p) end
    if c == "." then return nil, function(code) return code ~= 10 end end
    local test, code = escape(p)
    return nil, test or equals(p, code)
end

local function quantifier(p)
    local c = p.text:sub(p.at, p.at)
    local least, most
    if c == "*" or c == "+" or c == "?" then
        least, most = c == "+" and 1 or 0, c == "?" and 1 or math.huge
        p.at = p.at + 1
    else
        local a, comma, b, behind = p.text:match("^{(%d*)(,?)(%d*)}()", p.at)
        if not a or a == "" and b == "" then return nil end
        least = tonumber(a) or 0
        most = comma == "" and least or tonumber(b) or math.huge
        p.at = behind
    end
    local kind = p.text:match("^[?+]", p.at) or ""
    p.at = p.at + #kind
    return least, most, kind
end

local function parse_sequence(p)
    local list = {}
    while p.at <= #p.text and not p.text:find("^[|)]", p.at) do
        local match, test = atom(p)
        local least, most, kind = quantifier(p)
        if not least then
            list[#list + 1] = match or one(test)
        elseif match then
            list[#list + 1] = repeated(match, least, most, kind)
        else
            list[#list + 1] = repeated_test(test, least, most, kind)
        end
    end
    return sequence(list)
end

function parse(p)
    local list = { parse_sequence(p) }
    while p.text:find("^|", p.at) do
        p.at = p.at + 1
        list[#list + 1] = parse_sequence(p)
    end
    return alternatives(list)
end

--- A function match(codes, at) of a regular expression: the place behind the match at `at`, or nil. Raises a text
-- for an expression that is damaged, or not known here.
function regex.compile(text)
    local p = { text = text, at = 1 }
    local match = parse(p)
    if p.at <= #text then fail(p, "a bracket too many") end
    return function(codes, at) return match(codes, at, same) end
end

return regex
