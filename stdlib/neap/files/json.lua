--- json.lua: JSON (RFC 8259) as Lua tables and back: read(text), write(value).
--
-- Objects become tables by key, arrays tables from 1, null becomes `json.null`. Anything that the grammar does not
-- allow, ill-formed UTF-8, repeated keys and values nested more than 200 deep included, raises an error that names the
-- position.
local json = {
    null = setmetatable({}, { __tostring = function() return "null" end }),
    object = setmetatable({}, { __tostring = function() return "{}" end }), -- without members, to be written
}

local MAX_DEPTH = 200

local escapes = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function fail_at(at, what)
    error(("no JSON at byte %d: %s"):format(at, what), 0)
end

local function skip_space(text, at)
    return text:find("[^ \t\r\n]", at) or #text + 1
end

--- Whether the text is UTF-8 without overlong forms and surrogates.
local function is_utf8(text)
    local at = 1
    while at <= #text do
        local lead, second = text:byte(at, at + 1)
        local more = lead < 0x80 and 0 or lead < 0xC2 and -1 or lead < 0xE0 and 1 or lead < 0xF0 and 2 or
            lead < 0xF5 and 3 or -1
        if more < 0 or not text:find("^" .. ("[\128-\191]"):rep(more), at + 1) then return false end
        if lead == 0xE0 and second < 0xA0 or lead == 0xED and second > 0x9F or lead == 0xF0 and second < 0x90 or
            lead == 0xF4 and second > 0x8F then
            return false
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
    local parts, from = {}, at + 1
    while true do
        local stop = text:find('[%c"\\]', from)
        if not stop then fail_at(at, "a string without an end") end
        parts[#parts + 1] = text:sub(from, stop - 1)
        local c = text:sub(stop, stop)
        if c == '"' then
            local result = table.concat(parts)
            if not is_utf8(result) then fail_at(at, "a string that is not UTF-8") end
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

local function read_number(text, at)
    local stop = select(2, text:find("^-?%d+", at))
    if not stop or text:find("^-?0%d", at) then fail_at(at, "no value") end
    stop = select(2, text:find("^%.%d+", stop + 1)) or stop
    stop = select(2, text:find("^[eE][+-]?%d+", stop + 1)) or stop
    return tonumber(text:sub(at, stop)), stop + 1
end

local read_value

local function read_members(text, at, close, depth, read_one)
    local result = {}
    if depth > MAX_DEPTH then fail_at(at, "values are nested too deep") end
    at = skip_space(text, at + 1)
    if text:sub(at, at) == close then return result, at + 1 end
    while true do
        at = skip_space(text, read_one(result, skip_space(text, at)))
        local c = text:sub(at, at)
        if c == close then return result, at + 1 end
        if c ~= "," then fail_at(at, "expected , or " .. close) end
        at = at + 1
    end
end

function read_value(text, at, depth)
    at = skip_space(text, at)
    local c = text:sub(at, at)
    if c == "{" then
        return read_members(text, at, "}", depth, function(result, from)
            if text:sub(from, from) ~= '"' then fail_at(from, "expected a key") end
            local key, next = read_string(text, from)
            next = skip_space(text, next)
            if text:sub(next, next) ~= ":" then fail_at(next, "expected :") end
            if result[key] ~= nil then fail_at(from, "a key that is there already") end
            result[key], next = read_value(text, next + 1, depth + 1)
            return next
        end)
    elseif c == "[" then
        return read_members(text, at, "]", depth, function(result, from)
            result[#result + 1], from = read_value(text, from, depth + 1)
            return from
        end)
    elseif c == '"' then
        return read_string(text, at)
    end
    for word, value in pairs { ["true"] = true, ["false"] = false, null = json.null } do
        if text:sub(at, at + #word - 1) == word then return value, at + #word end
    end
    return read_number(text, at)
end

--- The document in a text.
function json.read(text)
    local value, at = read_value(text, 1, 1)
    at = skip_space(text, at)
    if at <= #text then fail_at(at, "something after the document") end
    return value
end

-- ---- Writing --------------------------------------------------------------------------------------------------------

local function quoted(text)
    return '"' .. text:gsub('[%c"\\]', function(c)
        return c == "\127" and c or ("\\u%04x"):format(c:byte())
    end) .. '"'
end

local function write_value(value, out)
    if value == json.null or value == json.object then
        out[#out + 1] = tostring(value)
    elseif type(value) == "string" then
        out[#out + 1] = quoted(value)
    elseif type(value) == "number" then
        out[#out + 1] = ("%.17g"):format(value)
    elseif type(value) == "boolean" then
        out[#out + 1] = tostring(value)
    elseif #value > 0 or next(value) == nil then
        for k = 1, #value do
            out[#out + 1] = k == 1 and "[" or ","
            write_value(value[k], out)
        end
        out[#out + 1] = #value == 0 and "[]" or "]"
    else
        local keys = {}
        for key in pairs(value) do keys[#keys + 1] = key end
        table.sort(keys)
        for k, key in ipairs(keys) do
            out[#out + 1] = (k == 1 and "{" or ",") .. quoted(key) .. ":"
            write_value(value[key], out)
        end
        out[#out + 1] = "}"
    end
end

--- The text of a value: a string in UTF-8, a finite number, a boolean, json.null, or a table of these, a list (so is an
-- empty one) or by string keys, which come in order; json.object is an object without members.
function json.write(value)
    local out = {}
    write_value(value, out)
    return table.concat(out)
end

return json
