--- normalize.lua: the normalizers of tokenizer.json: functions from code points to code points. Facts: the tokenizers
-- library (Rust) and, of character maps, spm_precompiled.
local bit = require "bit"
local ffi = require "ffi"
local settings = require "neap.text.settings"
local splits = require "neap.text.splits"
local unicode = require "neap.text.unicode"

local category = unicode.category
local normalize = {}

local function filtered(codes, keep)
    local result = {}
    for k = 1, #codes do
        if keep(codes[k]) then result[#result + 1] = codes[k] end
    end
    return result
end

local function is_chinese(code)
    return code >= 0x4E00 and code <= 0x9FFF or code >= 0x3400 and code <= 0x4DBF or code >= 0x20000 and code <= 0x2A6DF
        or code >= 0x2A700 and code <= 0x2B73F or code >= 0x2B740 and code <= 0x2B81F
        or code >= 0x2B920 and code <= 0x2CEAF or code >= 0xF900 and code <= 0xFAFF
        or code >= 0x2F800 and code <= 0x2FA1F
end

local function is_removed(code)
    if code == 9 or code == 10 or code == 13 then return false end
    if code == 0 or code == 0xFFFD then return true end
    return code < 0x20 or code > 0x7E and category(code):find "^C" ~= nil
end

local function cleaned(codes)
    local result = {}
    for k = 1, #codes do
        local code = codes[k]
        if not is_removed(code) then result[#result + 1] = unicode.is_space(code) and 32 or code end
    end
    return result
end

local function spaced(codes)
    local result = {}
    for k = 1, #codes do
        local apart = is_chinese(codes[k])
        if apart then result[#result + 1] = 32 end
        result[#result + 1] = codes[k]
        if apart then result[#result + 1] = 32 end
    end
    return result
end

local function is_no_mark(code) return code < 0x300 or not unicode.library.bert_marks(code) end

function normalize.BertNormalizer(own)
    local strip = own.strip_accents
    if type(strip) ~= "boolean" then strip = own.lowercase end
    return function(codes)
        if own.clean_text then codes = cleaned(codes) end
        if own.handle_chinese_chars then codes = spaced(codes) end
        if strip then codes = filtered(unicode.normal(codes, "NFD"), is_no_mark) end
        return own.lowercase and unicode.lower(codes) or codes
    end
end

for _, form in ipairs { "NFC", "NFD", "NFKC", "NFKD" } do
    normalize[form] = function() return function(codes) return unicode.normal(codes, form) end end
end
function normalize.Lowercase() return unicode.lower end
function normalize.StripAccents()
    return function(codes)
        return filtered(codes, function(code) return not unicode.library.accents(code) end)
    end
end

function normalize.Strip(own)
    return function(codes)
        local first, last = 1, #codes
        while own.strip_left and first <= last and unicode.is_space(codes[first]) do first = first + 1 end
        while own.strip_right and last >= first and unicode.is_space(codes[last]) do last = last - 1 end
        return splits.part(codes, first, last)
    end
end

function normalize.Prepend(own)
    local front = unicode.codes(own.prepend)
    return function(codes)
        if #codes == 0 then return codes end
        local result = { unpack(front) }
        for k = 1, #codes do result[#result + 1] = codes[k] end
        return result
    end
end

function normalize.Replace(own)
    local match, content = splits.pattern(own.pattern), unicode.codes(own.content)
    return function(codes)
        local result, at = {}, 1
        while at <= #codes do
            local stop = match(codes, at)
            if stop and stop > at then
                for k = 1, #content do result[#result + 1] = content[k] end
                at = stop
            else
                result[#result + 1] = codes[at]
                at = at + 1
            end
        end
        return result
    end
end

function normalize.ByteLevel()
    return function(codes) return splits.to_bytes(codes) end
end

-- ---- Character maps -------------------------------------------------------------------------------------------------
-- A map of SentencePiece: 4 bytes with the size of a double array, a trie of so many bytes, with units of 32
-- bits, then texts that end in a zero byte; a value of the trie is the place of a text.

local function base64(text)
    local digits = {}
    local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for k = 1, 64 do digits[alphabet:byte(k)] = k - 1 end
    local parts, value, bits = {}, 0, 0
    for k = 1, #text do
        local digit = digits[text:byte(k)]
        if digit then
            value, bits = value % 65536 * 64 + digit, bits + 6
            if bits >= 8 then
                bits = bits - 8
                parts[#parts + 1] = string.char(math.floor(value / 2 ^ bits) % 256)
            end
        elseif text:byte(k) ~= 61 then
            error("a character map that is no base64", 0)
        end
    end
    return table.concat(parts)
end

--- A function of a text: the map's text for the shortest beginning of the text in the map, or nil.
local function map_of(bytes)
    local size = #bytes >= 4 and ffi.cast("const uint32_t *", bytes)[0] or 0
    if #bytes < 8 or size % 4 ~= 0 or size + 4 > #bytes or size == 0 then error("a damaged character map", 0) end
    local units, count = ffi.new("uint32_t[?]", size / 4), size / 4
    ffi.copy(units, ffi.cast("const uint8_t *", bytes) + 4, size)
    local texts = bytes:sub(5 + size)
    local function offset(unit) return bit.lshift(bit.rshift(unit, 10), bit.rshift(bit.band(unit, 512), 6)) end
    return function(text)
        local at = bit.tobit(offset(units[0]))
        for k = 1, #text do
            local c = text:byte(k)
            at = bit.bxor(at, c)
            if c == 0 or at < 0 or at >= count then return nil end
            local unit = units[at]
            if bit.band(unit, 0x800000ff) ~= bit.tobit(c) then return nil end
            at = bit.bxor(at, offset(unit))
            if at < 0 or at >= count then return nil end
            if bit.band(bit.rshift(unit, 8), 1) == 1 then
                local place = bit.band(units[at], 0x7fffffff)
                return texts:match("^[^%z]*", place + 1)
            end
        end
        return nil
    end
end

local SHORT = 6 -- bytes: shorter clusters are looked up as a whole first

function normalize.Precompiled(own)
    local map = map_of(base64(own.precompiled_charsmap))
    local function append(result, text)
        for _, code in ipairs(unicode.codes(text)) do result[#result + 1] = code end
    end
    return function(codes)
        local result, at = {}, 1
        while at <= #codes do
            local stop = unicode.cluster_end(codes, at)
            local text = unicode.text(codes, at, stop - 1)
            local whole = #text < SHORT and map(text)
            if whole then
                append(result, whole)
            else
                for k = at, stop - 1 do
                    local single = unicode.character(codes[k])
                    append(result, map(single) or single)
                end
            end
            at = stop
        end
        return result
    end
end

-- ---- By type --------------------------------------------------------------------------------------------------------

function normalize.Sequence(own)
    local list = {}
    for k, one in ipairs(own.normalizers) do list[k] = normalize.make(one) end
    return function(codes)
        for k = 1, #list do codes = list[k](codes) end
        return codes
    end
end

--- The function of a normalizer's settings; raises a text.
function normalize.make(own)
    return settings.made(normalize, "the normalizer", own)
end

return normalize
