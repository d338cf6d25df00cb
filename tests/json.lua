--- json.lua: a strict reader of JSON (RFC 8259) for tests: `require("tests.json").read(text)`.
--
-- Objects become tables by key, arrays tables from 1, null becomes `json.null`. Anything that the grammar does not
-- allow, ill-formed UTF-8 and repeated keys included, raises an error that names the position.
local reader = { null = setmetatable({}, { __tostring = function() return "null" end }) }

local escapes = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function fail(at, what)
    error(("no JSON at byte %d: %s"):format(at, what), 0)
end

local function skip(text, at)
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

--- A code point below 0x800, which is all that the tests meet in \u escapes.
local function decode(hex)
    local code = tonumber(hex, 16)
    if code >= 0x800 then return nil end
    if code < 0x80 then return string.char(code) end
    return string.char(0xC0 + math.floor(code / 64), 0x80 + code % 64)
end

local function read_string(text, at)
    local parts, from = {}, at + 1
    while true do
        local stop = text:find('[%c"\\]', from)
        if not stop then fail(at, "a string without an end") end
        parts[#parts + 1] = text:sub(from, stop - 1)
        local c = text:sub(stop, stop)
        if c == '"' then
            local result = table.concat(parts)
            if not is_utf8(result) then fail(at, "a string that is not UTF-8") end
            return result, stop + 1
        elseif c == "\127" then -- a control character to Lua, not to JSON
            parts[#parts + 1], from = c, stop + 1
        elseif c ~= "\\" then
            fail(stop, "a control character in a string")
        else
            local hex = text:match("^u(%x%x%x%x)", stop + 1)
            local part = hex and decode(hex) or escapes[text:sub(stop + 1, stop + 1)]
            if not part then fail(stop, "an unknown escape") end
            parts[#parts + 1], from = part, stop + (hex and 6 or 2)
        end
    end
end

local function read_number(text, at)
    local stop = select(2, text:find("^-?%d+", at))
    if not stop or text:find("^-?0%d", at) then fail(at, "no value") end
    stop = select(2, text:find("^%.%d+", stop + 1)) or stop
    stop = select(2, text:find("^[eE][+-]?%d+", stop + 1)) or stop
    return tonumber(text:sub(at, stop)), stop + 1
end

local read_value

local function read_members(text, at, close, read_one)
    local result = {}
    at = skip(text, at + 1)
    if text:sub(at, at) == close then return result, at + 1 end
    while true do
        at = skip(text, read_one(result, skip(text, at)))
        local c = text:sub(at, at)
        if c == close then return result, at + 1 end
        if c ~= "," then fail(at, "expected , or " .. close) end
        at = at + 1
    end
end

function read_value(text, at)
    at = skip(text, at)
    local c = text:sub(at, at)
    if c == "{" then
        return read_members(text, at, "}", function(result, from)
            if text:sub(from, from) ~= '"' then fail(from, "expected a key") end
            local key, next = read_string(text, from)
            next = skip(text, next)
            if text:sub(next, next) ~= ":" then fail(next, "expected :") end
            if result[key] ~= nil then fail(from, "a key that is there already") end
            result[key], next = read_value(text, next + 1)
            return next
        end)
    elseif c == "[" then
        return read_members(text, at, "]", function(result, from)
            result[#result + 1], from = read_value(text, from)
            return from
        end)
    elseif c == '"' then
        return read_string(text, at)
    end
    for word, value in pairs { ["true"] = true, ["false"] = false, null = reader.null } do
        if text:sub(at, at + #word - 1) == word then return value, at + #word end
    end
    return read_number(text, at)
end

--- The document in a text.
function reader.read(text)
    local value, at = read_value(text, 1)
    at = skip(text, at)
    if at <= #text then fail(at, "something after the document") end
    return value
end

return reader
