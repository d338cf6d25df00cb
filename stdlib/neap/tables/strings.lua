--- strings.lua: functions of the texts of a column: their parts, what is found in them, numbers. A column holds each
-- different text once, so each is looked at once, however many rows have it. Patterns are Lua's, of bytes; places and
-- lengths count characters of UTF-8, of which a byte that belongs to none counts as one.
--
-- Some of these methods have names of Lua's functions of strings. The library itself calls none of them by a colon,
-- since the build would write that as a call of Lua's function (tools/gen/lib/methods.lua).
local ffi = require "ffi"
local core = require "neap.core"
local packed = require "neap.tables.packed"
local text = require "neap.tables.text"
local unicode = require "neap.text.unicode"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument
local methods = text.methods
local words, band = ffi.typeof "const uint32_t *", bit.band

-- ---- Results of each text -------------------------------------------------------------------------------------------

--- f(text) of each text that a row has, by the number of its level from 1.
local function each(column, f)
    local used, list, levels = text.used(column), {}, column.levels
    for k = 1, #levels do
        if used[k] ~= 0 then list[k] = f(levels[k]) end
    end
    return list
end

--- A column of other texts, by the number of each level from 1; false or nothing: none.
local function renamed(column, list) return text.of_numbers(column.codes, #column.levels, list) end

local POINTERS = { bool = "uint8_t *", i64 = "int64_t *", f64 = "double *" }

--- An array of what write(memory) writes for each of n levels, and behind them for rows without a text. write must not
-- call into neap.
local function by_level(column, n, write, dtype)
    local values = core.fill(core.dtype_codes[dtype], { n + 1 }, write, POINTERS[dtype])
    local numbers = np.where(np.less(column.codes, 0), n, column.codes):astype "i32"
    return np.take(values, numbers)
end

--- An array of the numbers or booleans f(text, number of its level) of each text that a row has; `none` in rows without
-- one. f must not call into neap: what it gives is written to the array's memory, for a table of so many values takes
-- longer than f.
local function looked_up(column, f, none, dtype)
    local used, levels = text.used(column), column.levels
    local n = #levels
    return by_level(column, n, function(out)
        for k = 1, n do
            if used[k] ~= 0 then out[k - 1] = f(levels[k], k) else out[k - 1] = none end
        end
        out[n] = none
    end, dtype)
end

--- Integers of texts: i64, or f64 with NaN where a row has no text.
local function counted(column, f)
    if np.any(np.less(column.codes, 0)):item() then return looked_up(column, f, core.NAN, "f64") end
    return looked_up(column, f, 0, "i64")
end

-- ---- Characters -----------------------------------------------------------------------------------------------------

--- Whether no byte of a text is above 127.
local function is_ascii(s)
    local size, four = #s, ffi.cast(words, s)
    local rest = size % 4
    for k = 0, (size - rest) / 4 - 1 do
        if band(four[k], 0x80808080) ~= 0 then return false end
    end
    for k = size - rest + 1, size do
        if s:byte(k) > 127 then return false end
    end
    return true
end

--- Where the characters of a text begin, and at the end where one behind it would.
local function begins(s)
    local list, at, size = {}, 1, #s
    while at <= size do
        list[#list + 1] = at
        local lead = s:byte(at)
        local n = lead >= 0xF0 and lead <= 0xF4 and 4 or lead >= 0xE0 and lead < 0xF0 and 3
            or lead >= 0xC2 and lead < 0xE0 and 2 or 1
        local _, last = s:find("^[\128-\191]*", at + 1)
        at = at + (n <= last - at + 1 and n or 1)
    end
    list[#list + 1] = size + 1
    return list
end

local function length(s) return is_ascii(s) and #s or #begins(s) - 1 end

--- The characters i to j of a text as string.sub counts them. Counts from the end become counts from the start first:
-- string.sub compiled by a LuaJIT without neap's patches may take an end below 0 for one behind the text.
local function part(s, i, j)
    local places = not is_ascii(s) and begins(s)
    local n = places and #places - 1 or #s
    if i < 0 then i = math.max(n + i + 1, 1) elseif i == 0 then i = 1 end
    if j < 0 then j = n + j + 1 end
    j = math.min(j, n)
    if i > j then return "" end
    return places and s:sub(places[i], places[j + 1] - 1) or s:sub(i, j)
end

--- A text with f(code) in place of each code point above ASCII; bytes that are no UTF-8 stay.
local function mapped(s, f)
    return (s:gsub("[\194-\244][\128-\191]+", function(bytes)
        local places = begins(bytes)
        local one = bytes:sub(1, places[2] - 1)
        if #one == 1 then return bytes end
        return f(unicode.codes(one)[1]) .. bytes:sub(#one + 1)
    end))
end

local function lower_character(code) return unicode.text(unicode.lower { code }) end

local function upper_character(code) return unicode.character(unicode.upper(code)) end

--- A column of the same texts in another case; f(text) gives that of a text with characters above ASCII.
local function cased(column, upper, f)
    local all = text.packed(column)
    if all then
        local turned = packed.cased(all, upper, f)
        if packed.is_ascending(turned) then return text.of_packed(turned, column.codes) end
        return renamed(column, packed.list(turned))
    end
    return renamed(column, each(column, f))
end

--- text:lower(), text:upper(): a column of the same texts in lower case, or in upper case: of Unicode, each letter by
-- itself, so that ß stays.
--- > np.table({{"name", {"Zoë", "ÅSA"}}}).name:upper()
-- {"ZOË", "ÅSA"}
function methods.lower(column)
    return cased(column, false, function(s) return mapped(s:lower(), lower_character) end)
end

function methods.upper(column)
    return cased(column, true, function(s) return mapped(s:upper(), upper_character) end)
end

--- text:len(): how many characters texts have: i64, or f64 with NaN where there is no text.
--- > np.table({{"name", {"Zoë", "Al"}}}).name:len()
-- [3 2]
function methods.len(column) return counted(column, length) end

--- text:sub(i, j): characters i to j of texts, from 1, from the end if negative; to the last one without j: as Lua's
-- string.sub has bytes.
--- > np.table({{"code", {"CH-8001", "IT-00100"}}}).code:sub(1, 2)
-- {"CH", "IT"}
function methods.sub(column, i, j)
    i = core.integer("text.sub", 1, "i", i)
    j = core.integer("text.sub", 2, "j", j == nil and -1 or j)
    return renamed(column, each(column, function(s) return part(s, i, j) end))
end

--- Checks a string argument of a method.
local function string_given(name, position, what, value)
    if type(value) ~= "string" then bad_argument(name, position, what, "a string", value) end
    return value
end

--- A text without bytes of a set at its ends.
local function stripped(s, set, left, right)
    local first, last = 1, #s
    while left and first <= last and set[s:byte(first)] do first = first + 1 end
    while right and last >= first and set[s:byte(last)] do last = last - 1 end
    return s:sub(first, last)
end

--- A method that takes characters away from the ends of texts.
local function strip(method, left, right)
    return function(column, chars)
        chars = chars == nil and " \t\n\v\f\r" or string_given("text." .. method, 1, "chars", chars)
        if not is_ascii(chars) then bad_argument("text." .. method, 1, "chars", "characters of ASCII", chars) end
        local set = {}
        for k = 1, #chars do set[chars:byte(k)] = true end
        return renamed(column, each(column, function(s) return stripped(s, set, left, right) end))
    end
end

--- text:strip(chars), text:lstrip(chars), text:rstrip(chars): texts without the characters of a string at both ends, at
-- the left or at the right one; without blanks, tabs and ends of lines if there is none.
--- > t = np.table({{"name", {" Ada ", "Bob\n"}}})
--- > t.name:strip()
-- {"Ada", "Bob"}
methods.strip, methods.lstrip, methods.rstrip = strip("strip", true, true), strip("lstrip", true, false),
    strip("rstrip", false, true)

--- text:pad(width, {side="left", fillchar=" "}): texts that are shorter filled up to a number of characters.
--- side: where: "left", "right" or "both", of an odd number one more at the right, as in pandas
--- fillchar: the character
--- > np.table({{"n", {"7", "12"}}}).n:pad(4), np.table({{"n", {"7", "12"}}}).n:pad(4, {side="both", fillchar="*"})
-- {"   7", "  12"}
-- {"*7**", "*12*"}
function methods.pad(column, width, given)
    local name = "text.pad"
    local o = core.options(name, given, { side = true, fillchar = true })
    local side, fill = o.side or "left", o.fillchar == nil and " " or o.fillchar
    width = core.integer(name, 1, "width", width, 0, 2 ^ 20)
    if side ~= "left" and side ~= "right" and side ~= "both" then
        bad_argument(name, nil, "side", '"left", "right" or "both"', side)
    end
    if type(fill) ~= "string" or length(fill) ~= 1 then bad_argument(name, nil, "fillchar", "one character", fill) end
    return renamed(column, each(column, function(s)
        local more = math.max(width - length(s), 0)
        local left = side == "left" and more or side == "both" and math.floor(more / 2) or 0
        if side == "both" and more % 2 == 1 and width % 2 == 1 then left = left + 1 end -- as Python's center
        return fill:rep(left) .. s .. fill:rep(more - left)
    end))
end

--- text:zfill(width): texts that are shorter filled up with zeros at the left, behind a sign.
--- > np.table({{"n", {"7", "-12"}}}).n:zfill(4)
-- {"0007", "-012"}
function methods.zfill(column, width)
    width = core.integer("text.zfill", 1, "width", width, 0, 2 ^ 20)
    return renamed(column, each(column, function(s)
        local sign, rest = s:match "^([+-]?)(.*)$"
        return sign .. ("0"):rep(width - length(s)) .. rest
    end))
end

-- ---- Patterns -------------------------------------------------------------------------------------------------------

--- What f(…) gives, which looks for a pattern, whose mistakes are told as those of a method.
local function guarded(name, f, ...)
    local good, found = pcall(f, ...)
    if not good then raise(name, "the pattern: %s", (tostring(found):gsub("^.-:%d+: ", ""))) end
    return found
end

--- The options of methods that look for a pattern: whether it is plain.
local function is_plain(name, given) return core.options(name, given, { plain = true }).plain and true or false end

--- text:contains(pattern, {plain=false}): which texts have a part that matches a Lua pattern, an array of bool. A row
-- without a text is none of them.
--- plain: true looks for the pattern as it stands
--- > np.table({{"file", {"a.csv", "b.txt", "c.csv"}}}).file:contains "^[ab]"
-- [ True  True False]
function methods.contains(column, pattern, given)
    local name = "text.contains"
    local plain = is_plain(name, given)
    string_given(name, 1, "pattern", pattern)
    local all = plain and pattern ~= "" and text.packed(column)
    if all then
        return by_level(column, all.n, function(out)
            packed.mark(all, pattern, out)
            out[all.n] = 0
        end, "bool")
    end
    local find = string.find
    return guarded(name, looked_up, column, function(s) return find(s, pattern, 1, plain) ~= nil end, false, "bool")
end

--- text:startswith(s), text:endswith(s): which texts begin or end with a string, arrays of bool; as text:contains else.
--- > np.table({{"file", {"a.csv", "b.txt", "c.csv"}}}).file:endswith ".csv"
-- [ True False  True]
function methods.startswith(column, start)
    string_given("text.startswith", 1, "s", start)
    return looked_up(column, function(s) return s:sub(1, #start) == start end, false, "bool")
end

function methods.endswith(column, ending)
    string_given("text.endswith", 1, "s", ending)
    return looked_up(column, function(s) return #s >= #ending and s:sub(#s - #ending + 1) == ending end, false, "bool")
end

--- text:find(pattern, {plain=false}): at which character the first match of a Lua pattern begins, from 1, an i64 array;
-- 0 where there is none, or no text.
--- plain: true looks for the pattern as it stands
--- > np.table({{"mail", {"ada@x.org", "none"}}}).mail:find "@"
-- [4 0]
function methods.find(column, pattern, given)
    local name = "text.find"
    local plain = is_plain(name, given)
    string_given(name, 1, "pattern", pattern)
    return guarded(name, looked_up, column, function(s)
        local at = string.find(s, pattern, 1, plain)
        return at and length(s:sub(1, at - 1)) + 1 or 0
    end, 0, "i64")
end

--- How many captures a Lua pattern has; nil with a message where one is a place.
local function captures(pattern)
    local n, at = 0, 1
    while at <= #pattern do
        local two = pattern:sub(at, at + 1)
        if two == "%b" then
            at = at + 4
        elseif two:sub(1, 1) == "%" then
            at = at + 2
        elseif two:sub(1, 1) == "[" then
            local from = at + 1
            if pattern:sub(from, from) == "^" then from = from + 1 end
            repeat -- the first character of a class may be "]"
                from = from + (pattern:sub(from, from) == "%" and 2 or 1)
            until from > #pattern or pattern:sub(from, from) == "]"
            at = from + 1
        else
            if two == "()" then return nil end
            n, at = n + (two:sub(1, 1) == "(" and 1 or 0), at + 1
        end
    end
    return n
end

--- text:match(pattern) -> column, …: what the captures of a Lua pattern match first in each text, a column for each of
-- them; the whole match where the pattern has none. Rows in which it does not match have no text.
--- > year, month = np.table({{"day", {"2024-05-01", "?"}}}).day:match "^(%d+)-(%d+)"
--- > year, month
-- {"2024", none}
-- {"05", none}
function methods.match(column, pattern)
    local name = "text.match"
    local count = captures(string_given(name, 1, "pattern", pattern))
    if not count then raise(name, "the capture () is a place, no text; text:find gives places") end
    guarded(name, string.match, "", pattern)
    local lists = guarded(name, each, column, function(s) return { string.match(s, pattern) } end)
    local results = {}
    for j = 1, math.max(count, 1) do
        local list = {}
        for k, found in pairs(lists) do list[k] = found[j] end
        results[j] = renamed(column, list)
    end
    return unpack(results)
end

--- text:gsub(pattern, repl, {plain=false}): texts with each match of a Lua pattern replaced: by a string, in which %1
-- stands for a capture, or by what a function of the match gives, as Lua's string.gsub has it.
--- plain: true takes pattern and string as they stand
--- > np.table({{"price", {"1,200", "3,4"}}}).price:gsub(",", "")
-- {"1200", "34"}
function methods.gsub(column, pattern, repl, given)
    local name = "text.gsub"
    local plain = is_plain(name, given)
    string_given(name, 1, "pattern", pattern)
    if type(repl) ~= "string" and (plain or type(repl) ~= "function") then
        bad_argument(name, 2, "repl", plain and "a string" or "a string or a function", repl)
    end
    if plain then
        if pattern == "" then bad_argument(name, 1, "pattern", "a string that is not empty", pattern) end
        pattern, repl = pattern:gsub("%W", "%%%0"), repl:gsub("%%", "%%%%")
    end
    return renamed(column, guarded(name, each, column, function(s) return (string.gsub(s, pattern, repl)) end))
end

local MOST_PARTS = 2 ^ 12

--- text:split(sep, {n=…}) -> table: the parts of texts between a string, a list of columns: as many as the longest has
-- parts; a text with fewer has none in the others. Without a string between blanks.
--- n: at most so many cuts, from the left
--- > parts = np.table({{"name", {"Ada Lovelace", "Plato"}}}).name:split " "
--- > parts[1], parts[2]
-- {"Ada", "Plato"}
-- {"Lovelace", none}
function methods.split(column, sep, given)
    local name = "text.split"
    local most = core.options(name, given, { n = true }).n
    most = most == nil and math.huge or core.integer(name, nil, "n", most, 1)
    if sep ~= nil and string_given(name, 1, "sep", sep) == "" then
        bad_argument(name, 1, "sep", "a string that is not empty", sep)
    end
    local width = 0
    local lists = each(column, function(s)
        local parts, at = {}, 1
        if not sep then at = s:find "%S" or #s + 1 end
        while #parts < most do
            local from, to
            if sep then from, to = s:find(sep, at, true) else from, to = s:find("%s+", at) end
            if not from then break end
            parts[#parts + 1], at = s:sub(at, from - 1), to + 1
            if #parts > MOST_PARTS then raise(name, "a text has more than %d parts", MOST_PARTS) end
        end
        if sep or at <= #s then parts[#parts + 1] = s:sub(at) end
        width = math.max(width, #parts)
        return parts
    end)
    local results = {}
    for j = 1, width do
        local list = {}
        for k, parts in pairs(lists) do list[k] = parts[j] end
        results[j] = renamed(column, list)
    end
    return results
end

--- text:cat(other, {sep=""}): texts joined row by row with those of another column, or with a string. Rows in which one
-- of them is missing have no text.
--- sep: what stands between them
--- > t = np.table({{"first", {"Ada", "Alan"}}, {"last", {"Lovelace", "Turing"}}})
--- > t.first:cat(t.last, {sep=" "})
-- {"Ada Lovelace", "Alan Turing"}
function methods.cat(column, other, given)
    local name = "text.cat"
    local sep = core.options(name, given, { sep = true }).sep
    sep = sep == nil and "" or sep
    if type(sep) ~= "string" then bad_argument(name, nil, "sep", "a string", sep) end
    if type(other) == "string" then
        return renamed(column, each(column, function(s) return s .. sep .. other end))
    end
    if not text.is_text(other) then bad_argument(name, 1, "other", "a column of texts or a string", other) end
    if #other ~= #column then raise(name, "columns of %d and %d rows", #column, #other) end
    local n = #other.levels
    local there = np.logical_and(np.greater_equal(column.codes, 0), np.greater_equal(other.codes, 0))
    local both = np.where(there, column.codes:astype "i64" * n + other.codes, -1)
    local used, levels = np.unique(both), {}
    for k, number in ipairs(used:totable()) do
        if number < 0 then
            levels[k] = false
        else
            levels[k] = column.levels[math.floor(number / n) + 1] .. sep .. other.levels[number % n + 1]
        end
    end
    local numbers = np.searchsorted(used, both):astype "i32"
    return renamed(text.new(levels, numbers), levels)
end

-- ---- Numbers --------------------------------------------------------------------------------------------------------

--- A decimal number as pandas reads it, a text with blanks around it: the number, or an i64 of an integer; nil: none.
local function number_of(s)
    local sign, digits = s:match "^%s*([+-]?)0*(%d+)%s*$"
    if digits and (#digits < 19 or #digits == 19 and digits <= "9223372036854775807") then
        local value = 0LL
        for k = 1, #digits do value = value * 10 + (digits:byte(k) - 48) end
        return sign == "-" and -value or value
    end
    if s:find "^%s*[+-]?%d+%.?%d*[eE]?[+-]?%d*%s*$" or s:find "^%s*[+-]?%.%d+[eE]?[+-]?%d*%s*$" then
        return tonumber(s)
    end
    local word_sign, word = s:match "^%s*([+-]?)(%a+)%s*$"
    word = word and word:lower()
    if word == "inf" or word == "infinity" then return word_sign == "-" and -math.huge or math.huge end
    return word == "nan" and core.NAN or nil
end

--- text:to_numeric{errors="raise"}: the numbers that texts are: i64 where all are integers and no row is missing, else
-- f64 with NaN for rows without a text.
--- errors: "coerce" gives NaN for a text that is no number, which raises else
--- > np.table({{"n", {"12", "7"}}}).n:to_numeric(), np.table({{"n", {"1.5", "?"}}}).n:to_numeric{errors="coerce"}
-- [12  7]
-- [1.5 nan]
function methods.to_numeric(column, given)
    local name = "text.to_numeric"
    local errors = core.options(name, given, { errors = true }).errors or "raise"
    if errors ~= "raise" and errors ~= "coerce" then
        bad_argument(name, nil, "errors", '"raise" or "coerce"', errors)
    end
    local whole = true
    local list = each(column, function(s)
        local value = number_of(s)
        if value == nil and errors == "raise" then
            raise(name, "%q is no number; {errors=\"coerce\"} gives NaN for it", s)
        end
        whole = whole and type(value) == "cdata"
        return value or core.NAN
    end)
    if whole and next(list) ~= nil and not np.any(np.less(column.codes, 0)):item() then
        return looked_up(column, function(_, k) return list[k] end, 0, "i64")
    end
    return looked_up(column, function(_, k) return tonumber(list[k]) end, core.NAN, "f64")
end

return methods
