--- json.lua: JSON (RFC 8259) as Lua tables and back: read(text), write(value, how).
--
-- Objects become tables by key, arrays tables from 1, null becomes `json.null`. Integers that a number does not hold
-- exactly become 64-bit cdata, if these do. Anything that the grammar does not allow, ill-formed UTF-8, repeated keys,
-- numbers out of range and values nested more than 200 deep included, raises an error that names the position.
local ffi = require "ffi"

local json = {
    null = setmetatable({}, { __tostring = function() return "null" end }),
    object = setmetatable({}, { __tostring = function() return "{}" end }), -- without members, to be written
}

local MAX_DEPTH, EXACT, MOST_U64 = 200, 2 ^ 53, "18446744073709551615"

-- Tables that were objects without members: they are written as such.
local empty_objects = setmetatable({}, { __mode = "k" })

local escapes = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function fail_at(at, what)
    error(("no JSON at byte %d: %s"):format(at, what), 0)
end

local function skip_space(text, at)
    local c = text:byte(at)
    if c and c > 32 then return at end
    return text:find("[^ \t\r\n]", at) or #text + 1
end

--- How many bytes follow the first byte of a character, by the first two bytes; nil: no character, an overlong form or
-- a surrogate.
local function bytes_behind(lead, second)
    if lead < 0x80 then return 0 end
    if lead < 0xC2 or lead > 0xF4 then return nil end
    if lead < 0xE0 then return 1 end
    if lead == 0xE0 and second < 0xA0 or lead == 0xED and second > 0x9F then return nil end
    if lead == 0xF0 and second < 0x90 or lead == 0xF4 and second > 0x8F then return nil end
    return lead < 0xF0 and 2 or 3
end

--- Whether a text is UTF-8.
function json.is_utf8(text)
    local at, size = text:find "[\128-\255]", #text
    while at and at <= size do
        local more = bytes_behind(text:byte(at), text:byte(at + 1) or 0)
        if not more or at + more > size then return false end
        for k = at + 1, at + more do
            local c = text:byte(k)
            if c < 0x80 or c > 0xBF then return false end
        end
        at = at + 1 + more
    end
    return true
end

--- A code point as UTF-8.
local function utf8(code)
    if code < 0x80 then return string.char(code) end
    local last = string.char(0x80 + code % 64)
    if code < 0x800 then return string.char(0xC0 + math.floor(code / 64)) .. last end
    last = string.char(0x80 + math.floor(code / 64) % 64) .. last
    if code < 0x10000 then return string.char(0xE0 + math.floor(code / 4096)) .. last end
    return string.char(0xF0 + math.floor(code / 262144), 0x80 + math.floor(code / 4096) % 64) .. last
end

--- The text of the escape \uXXXX, or of a pair of them, whose digits begin at `at`, and the place behind it; or nil.
local function read_unicode(text, at)
    local code = tonumber(text:match("^%x%x%x%x", at) or "", 16)
    if not code or code >= 0xDC00 and code < 0xE000 then return nil end
    if code < 0xD800 or code >= 0xE000 then return utf8(code), at + 4 end
    local low = tonumber(text:match("^\\u(%x%x%x%x)", at + 4) or "", 16)
    if not low or low < 0xDC00 or low >= 0xE000 then return nil end
    return utf8(0x10000 + (code - 0xD800) * 1024 + low - 0xDC00), at + 10
end

local function read_string(text, at)
    local plain = text:find('["\\%c\128-\255]', at + 1)
    if plain and text:byte(plain) == 34 then return text:sub(at + 1, plain - 1), plain + 1 end
    local parts, from = {}, at + 1
    while true do
        local stop = text:find('[%c"\\]', from)
        if not stop then fail_at(at, "a string without an end") end
        parts[#parts + 1] = text:sub(from, stop - 1)
        local c = text:sub(stop, stop)
        if c == '"' then
            local result = table.concat(parts)
            if not json.is_utf8(result) then fail_at(at, "a string that is not UTF-8") end
            return result, stop + 1
        elseif c == "\127" then -- a control character to Lua, not to JSON
            parts[#parts + 1], from = c, stop + 1
        elseif c ~= "\\" then
            fail_at(stop, "a control character in a string")
        else
            local part, behind = escapes[text:sub(stop + 1, stop + 1)], stop + 2
            if text:sub(stop + 1, stop + 1) == "u" then part, behind = read_unicode(text, stop + 2) end
            if not part then fail_at(stop, "an unknown escape") end
            parts[#parts + 1], from = part, behind
        end
    end
end

--- The value of a long integer: 64-bit cdata, or a number beyond 64 bits.
local function read_long(digits)
    local negative = digits:sub(1, 1) == "-"
    local first = negative and 2 or 1
    local count = #digits - first + 1
    if count > 20 or count == 20 and digits:sub(first) > MOST_U64 then return tonumber(digits) end
    local value = 0ULL
    for k = first, #digits do value = value * 10 + (digits:byte(k) - 48) end
    if value == 2ULL ^ 53 then return tonumber(digits) end
    if value < 2ULL ^ 63 then return negative and -ffi.cast("int64_t", value) or ffi.cast("int64_t", value) end
    if not negative then return value end
    return value == 2ULL ^ 63 and ffi.cast("int64_t", value) or tonumber(digits)
end

local function read_number(text, at)
    local _, stop = text:find("^-?%d+", at)
    local first = text:byte(at) == 45 and at + 1 or at
    if not stop or stop > first and text:byte(first) == 48 then fail_at(at, "no value") end
    local integer, c = stop, text:byte(stop + 1)
    if c == 46 or c == 69 or c == 101 then
        stop = select(2, text:find("^%.%d+", stop + 1)) or stop
        stop = select(2, text:find("^[eE][+-]?%d+", stop + 1)) or stop
    end
    local digits = text:sub(at, stop)
    local value = tonumber(digits)
    if math.abs(value) == math.huge then fail_at(at, "a number out of range") end
    if stop == integer and math.abs(value) >= EXACT then value = read_long(digits) end
    return value, stop + 1
end

local read_value

--- Behind a value in brackets: the place of the next value, or nil and the place behind the bracket.
local function next_place(text, at, close)
    at = skip_space(text, at)
    local c = text:byte(at)
    if c == 44 then return skip_space(text, at + 1) end
    if c ~= close then fail_at(at, "expected , or " .. string.char(close)) end
    return nil, at + 1
end

--- visit(key, value, from, behind), if it is there, gets each member in order, and the places of its value.
local function read_object(text, at, depth, visit)
    local result, behind = {}, nil
    at = skip_space(text, at + 1)
    if text:byte(at) == 125 then
        empty_objects[result] = true
        return result, at + 1
    end
    while at do
        if text:byte(at) ~= 34 then fail_at(at, "expected a key") end
        local key, from = read_string(text, at)
        from = skip_space(text, from)
        if text:byte(from) ~= 58 then fail_at(from, "expected :") end
        if result[key] ~= nil then fail_at(at, "a key that is there already") end
        local first = skip_space(text, from + 1)
        result[key], from = read_value(text, first, depth + 1)
        if visit then visit(key, result[key], first, from) end
        at, behind = next_place(text, from, 125)
    end
    return result, behind
end

local function read_array(text, at, depth)
    local result, n, behind = {}, 0, nil
    at = skip_space(text, at + 1)
    if text:byte(at) == 93 then return result, at + 1 end
    while at do
        n = n + 1
        result[n], behind = read_value(text, at, depth + 1)
        at, behind = next_place(text, behind, 93)
    end
    return result, behind
end

--- The value that begins at `at`, and the place behind it.
function read_value(text, at, depth)
    local c = text:byte(at)
    if c == 34 then return read_string(text, at) end
    if c == 123 or c == 91 then
        if depth > MAX_DEPTH then fail_at(at, "values are nested too deep") end
        return (c == 123 and read_object or read_array)(text, at, depth)
    end
    if c == 116 and text:find("^true", at) then return true, at + 4 end
    if c == 102 and text:find("^false", at) then return false, at + 5 end
    if c == 110 and text:find("^null", at) then return json.null, at + 4 end
    return read_number(text, at)
end

--- Reads a text that is one object, and calls visit(key, value, from, behind) for each member in order, with the places
-- of its value in the text.
function json.read_members(text, visit)
    local at = skip_space(text, 1)
    if text:byte(at) ~= 123 then fail_at(at, "expected an object") end
    local _, behind = read_object(text, at, 1, visit)
    behind = skip_space(text, behind)
    if behind <= #text then fail_at(behind, "something after the object") end
end

--- The document in a text.
function json.read(text)
    local value, at = read_value(text, skip_space(text, 1), 1)
    at = skip_space(text, at)
    if at <= #text then fail_at(at, "something after the document") end
    return value
end

-- ---- Writing --------------------------------------------------------------------------------------------------------

-- A writer: { out = parts of the text, keys = where it is, digits, indent, strict, other }.

local short = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\b"] = "\\b",
                ["\f"] = "\\f", ["\127"] = "\127" }

--- Raises a problem with the value at hand.
local function refuse(w, what)
    local parts = {}
    for k, key in ipairs(w.keys) do
        parts[k] = type(key) == "number" and ("[%d]"):format(key) or (k > 1 and "." or "") .. tostring(key)
    end
    local place = table.concat(parts)
    error((place == "" and "it" or place) .. " is " .. what, 0)
end

local function quoted(w, text)
    if w.strict and not json.is_utf8(text) then refuse(w, "a text that is not UTF-8") end
    return '"' .. text:gsub('[%c"\\]', function(c) return short[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
end

local function number_text(w, value)
    if value - value ~= 0 and w.strict then refuse(w, ("%s, which JSON does not have"):format(tostring(value))) end
    local text
    for digits = w.digits or 15, 17 do
        text = ("%." .. digits .. "g"):format(value)
        if tonumber(text) == value then break end
    end
    local is_long = math.abs(value) > EXACT and text:find "^-?%d+$" -- which would be read as a 64-bit integer
    return is_long and not w.digits and text .. ".0" or text
end

--- The keys of an object in order, or nil and the length of an array.
local function keys_of(w, value)
    local keys, numbers = {}, 0
    for key in pairs(value) do
        if type(key) == "string" then keys[#keys + 1] = key else numbers = numbers + 1 end
    end
    if #keys == 0 and not empty_objects[value] or numbers > 0 then
        if #keys > 0 or numbers ~= #value then
            refuse(w, "a table that is neither a list without holes nor has strings for all keys")
        end
        if numbers > 0 or not empty_objects[value] then return nil, numbers end
    end
    table.sort(keys)
    return keys
end

local write_value

--- Writes the parts of a table between brackets: write_one(k) for k = 1 … n.
local function write_parts(w, brackets, n, write_one)
    local out, depth = w.out, #w.keys
    if depth >= MAX_DEPTH then refuse(w, "nested too deep: is there a cycle?") end
    local line = w.indent and n > 0 and "\n" .. (" "):rep(w.indent * (depth + 1)) or ""
    for k = 1, n do
        out[#out + 1] = (k == 1 and brackets:sub(1, 1) or ",") .. line
        write_one(k)
        w.keys[depth + 1] = nil
    end
    out[#out + 1] = n == 0 and brackets or line:sub(1, w.indent and -1 - w.indent or 0) .. brackets:sub(2)
end

local function write_table(w, value)
    local keys, n = keys_of(w, value)
    if keys then
        write_parts(w, "{}", #keys, function(k)
            w.keys[#w.keys + 1] = keys[k]
            w.out[#w.out + 1] = quoted(w, keys[k]) .. (w.indent and ": " or ":")
            write_value(w, value[keys[k]])
        end)
    else
        write_parts(w, "[]", n, function(k)
            w.keys[#w.keys + 1] = k
            write_value(w, value[k])
        end)
    end
end

function write_value(w, value)
    local out, kind = w.out, type(value)
    if value == json.null or value == json.object or kind == "boolean" then
        out[#out + 1] = tostring(value)
    elseif kind == "string" then
        out[#out + 1] = quoted(w, value)
    elseif kind == "number" then
        out[#out + 1] = number_text(w, value)
    elseif kind == "table" and getmetatable(value) == nil then
        write_table(w, value)
    elseif kind == "cdata" and (ffi.istype("int64_t", value) or ffi.istype("uint64_t", value)) then
        out[#out + 1] = tostring(value):match "^-?%d+"
    else
        local other = w.other and w.other(value, function(what) refuse(w, what) end)
        if other == nil then refuse(w, "a " .. kind) end
        write_value(w, other)
    end
end

--- The text of a value: a string in UTF-8, a finite number, a 64-bit integer, a boolean, json.null, or a table of
-- these, a list (so is an empty one, unless it was read as an object) or by string keys, which come in order;
-- json.object is an object without members. `how`, of options: indent, blanks for each level of lines; digits, at
-- least so many; strict, which refuses what is no UTF-8 or not finite; other(value, refuse), which gives the value to
-- write for any other one. A problem is an error that names the place.
function json.write(value, how)
    how = how or {}
    local w = { out = {}, keys = {}, indent = how.indent, digits = how.digits, strict = how.strict, other = how.other }
    write_value(w, value)
    return table.concat(w.out)
end

return json
