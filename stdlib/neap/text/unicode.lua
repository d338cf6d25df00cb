--- unicode.lua: texts as code points, with the facts that tokenizers ask for: categories, white space, lower case, the
-- normal forms, and the ends of grapheme clusters (UAX 29).
--
-- A text is a list of code points while it is taken apart: lists are from 1. The tables are in unicode_data.lua.
local data = require "neap.text.unicode_data"

local unicode = {}

-- ---- UTF-8 ----------------------------------------------------------------------------------------------------------

local REPLACEMENT = 0xFFFD -- of bytes that begin no code point, or end in the middle of one

--- The code points of a text in UTF-8.
function unicode.codes(text)
    local codes, n, at, size = {}, 0, 1, #text
    while at <= size do
        local a = text:byte(at)
        local code
        if a < 0x80 then
            code, at = a, at + 1
        elseif a < 0xC0 then
            code, at = REPLACEMENT, at + 1
        elseif a < 0xE0 then
            local b = text:byte(at + 1)
            code, at = b and (a - 0xC0) * 64 + b - 0x80 or REPLACEMENT, at + 2
        elseif a < 0xF0 then
            local b, c = text:byte(at + 1, at + 2)
            code, at = c and ((a - 0xE0) * 64 + b - 0x80) * 64 + c - 0x80 or REPLACEMENT, at + 3
        else
            local b, c, d = text:byte(at + 1, at + 3)
            code, at = d and (((a - 0xF0) * 64 + b - 0x80) * 64 + c - 0x80) * 64 + d - 0x80 or REPLACEMENT, at + 4
        end
        n = n + 1
        codes[n] = code
    end
    return codes
end

local characters = {} -- by code point

--- A code point as UTF-8.
local function character(code)
    local known = characters[code]
    if known then return known end
    local char, floor = string.char, math.floor
    if code < 0x80 then
        known = char(code)
    else
        known = char(0x80 + code % 64)
        if code < 0x800 then
            known = char(0xC0 + floor(code / 64)) .. known
        else
            known = char(0x80 + floor(code / 64) % 64) .. known
            if code < 0x10000 then
                known = char(0xE0 + floor(code / 4096)) .. known
            else
                known = char(0xF0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64) .. known
            end
        end
    end
    characters[code] = known
    return known
end
unicode.character = character

--- The text of codes[first] … codes[last]; all codes without first and last.
function unicode.text(codes, first, last)
    local parts = {}
    for k = first or 1, last or #codes do parts[#parts + 1] = character(codes[k]) end
    return table.concat(parts)
end

-- ---- Tables ---------------------------------------------------------------------------------------------------------

--- A function of a code point that looks into runs; values are found once.
local function in_runs(text)
    local starts, values, at, known = {}, {}, 0, {}
    for length, value in text:gmatch "(%w+)=?(%S*)" do
        starts[#starts + 1], values[#values + 1] = at, value
        at = at + tonumber(length, 36)
    end
    return function(code)
        local value = known[code]
        if value then return value end
        local low, high = 1, #starts
        while low < high do
            local middle = math.ceil((low + high) / 2)
            if starts[middle] <= code then low = middle else high = middle - 1 end
        end
        known[code] = values[low]
        return values[low]
    end
end

--- Calls visit(code, mark, targets) for each of a mapping.
local function each_mapped(text, visit)
    local code = 0
    for delta, mark, targets in text:gmatch "(%w+)([:!~])(%S+)" do
        code = code + tonumber(delta, 36)
        local list = {}
        for target in targets:gmatch "%w+" do list[#list + 1] = tonumber(target, 36) end
        visit(code, mark, list)
    end
end

--- A function that makes a value at the first call.
local function once(make)
    local value
    return function()
        value = value or make()
        return value
    end
end

local category_of = once(function() return in_runs(data.categories) end)
local class_of = once(function() return in_runs(data.classes) end)
local break_of = once(function() return in_runs(data.breaks) end)

--- Whether the tokenizers library takes a code point for a mark (bert_marks), punctuation (bert_punctuation), or an
-- accent (accents): the library's tables are of older versions of Unicode.
local library = {}
for _, name in ipairs { "bert_marks", "bert_punctuation", "accents" } do
    local value_of = once(function() return in_runs(data[name]) end)
    library[name] = function(code) return value_of()(code) == "1" end
end
unicode.library = library

local lower_of = once(function()
    local map = {}
    each_mapped(data.lowercase, function(code, _, targets) map[code] = targets end)
    return map
end)

--- The two letters of the general category; "" of what is not assigned.
function unicode.category(code) return category_of()(code) end

--- Whether a code point has the property White_Space.
function unicode.is_space(code)
    return code <= 0x20 and (code == 0x20 or code >= 9 and code <= 13) or code == 0x85 or code == 0xA0 or code == 0x1680
        or code >= 0x2000 and (code <= 0x200A or code == 0x2028 or code == 0x2029 or code == 0x202F or code == 0x205F
                               or code == 0x3000)
end

--- Each code point in lower case, by itself.
function unicode.lower(codes)
    local map, result = lower_of(), {}
    for k = 1, #codes do
        local targets = map[codes[k]]
        if not targets then
            result[#result + 1] = codes[k]
        else
            for _, target in ipairs(targets) do result[#result + 1] = target end
        end
    end
    return result
end

local upper_of = once(function()
    local map = {}
    for code, targets in pairs(lower_of()) do
        local target = targets[1]
        if #targets == 1 and target ~= 0xDF and (not map[target] or code < map[target]) then map[target] = code end
    end
    return map
end)

--- A code point in upper case: the first one of which it is the lower case; itself where there is none, and so is ß,
-- whose upper case are two letters.
function unicode.upper(code) return upper_of()[code] or code end

-- ---- Normal forms ---------------------------------------------------------------------------------------------------

local HANGUL, VOWELS, TAILS, SYLLABLES = 0xAC00, 21, 28, 11172

local steps = once(function()
    local canonical, compatible, pairs_of = {}, {}, {}
    each_mapped(data.decompositions, function(code, mark, targets)
        compatible[code] = targets
        if mark ~= "~" then canonical[code] = targets end
        if mark == ":" then pairs_of[targets[1] * 0x110000 + targets[2]] = code end
    end)
    return { canonical = canonical, compatible = compatible, pairs = pairs_of }
end)

local function append(result, code, map)
    local targets = map[code]
    if targets then
        for k = 1, #targets do append(result, targets[k], map) end
    elseif code >= HANGUL and code < HANGUL + SYLLABLES then
        local place = code - HANGUL
        result[#result + 1] = 0x1100 + math.floor(place / (VOWELS * TAILS))
        result[#result + 1] = 0x1161 + math.floor(place / TAILS) % VOWELS
        if place % TAILS > 0 then result[#result + 1] = 0x11A7 + place % TAILS end
    else
        result[#result + 1] = code
    end
end

--- Sorts the marks of a character by class; marks of the same class keep the order.
local function sort_marks(codes)
    local class = class_of()
    for k = 2, #codes do
        local code, own = codes[k], class(codes[k])
        if own ~= "" then
            local number, at = tonumber(own, 36), k - 1
            while at >= 1 do
                local other = class(codes[at])
                if other == "" or tonumber(other, 36) <= number then break end
                codes[at + 1] = codes[at]
                at = at - 1
            end
            codes[at + 1] = code
        end
    end
    return codes
end

local function compose_two(a, b, map)
    if a >= 0x1100 and a < 0x1113 and b >= 0x1161 and b < 0x1176 then
        return HANGUL + ((a - 0x1100) * VOWELS + b - 0x1161) * TAILS
    end
    if a >= HANGUL and a < HANGUL + SYLLABLES and (a - HANGUL) % TAILS == 0 and b > 0x11A7 and b < 0x11C3 then
        return a + b - 0x11A7
    end
    return map[a * 0x110000 + b]
end

local function compose(codes)
    local map, class, result = steps().pairs, class_of(), {}
    local starter, before = nil, -1 -- its place in the result; the class of the code point in front
    for k = 1, #codes do
        local own = class(codes[k])
        own = own == "" and 0 or tonumber(own, 36)
        local both = starter and (before < own or before <= 0 and starter == #result)
            and compose_two(result[starter], codes[k], map)
        if both then
            result[starter] = both
        else
            result[#result + 1] = codes[k]
            before = own
            if own == 0 then starter, before = #result, -1 end
        end
    end
    return result
end

--- The normal form of a name, NFC, NFD, NFKC or NFKD, of code points.
function unicode.normal(codes, form)
    local map, result = form:find "K" and steps().compatible or steps().canonical, {}
    for k = 1, #codes do append(result, codes[k], map) end
    sort_marks(result)
    return form:find "C$" and compose(result) or result
end

-- ---- Grapheme clusters ----------------------------------------------------------------------------------------------

local function joins(a, b, pictographic, regionals)
    if a == "CR" then return b == "LF" end
    if a == "Control" or a == "LF" or b == "Control" or b == "CR" or b == "LF" then return false end
    if b == "Extend" or b == "ZWJ" or b == "SpacingMark" or a == "Prepend" then return true end
    if a == "L" then return b == "L" or b == "V" or b == "LV" or b == "LVT" end
    if a == "LV" or a == "V" then return b == "V" or b == "T" end
    if a == "LVT" or a == "T" then return b == "T" end
    if a == "ZWJ" and b == "Pictographic" then return pictographic end
    return a == "Regional_Indicator" and b == a and regionals % 2 == 1
end

--- The place behind the grapheme cluster that begins at `first`.
function unicode.cluster_end(codes, first)
    local kind = break_of()
    local a, at, regionals = kind(codes[first]), first + 1, 0
    local pictographic = a == "Pictographic"
    while at <= #codes do
        local b = kind(codes[at])
        if a == "Regional_Indicator" then regionals = regionals + 1 end
        if not joins(a, b, pictographic, regionals) then break end
        if b ~= "Extend" and b ~= "ZWJ" then pictographic = b == "Pictographic" end
        a, at = b, at + 1
    end
    return at
end

return unicode
