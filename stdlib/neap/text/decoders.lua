--- decoders.lua: the decoders of tokenizer.json: functions that change a list of tokens, to be joined. Facts:
-- the tokenizers library (Rust).
local json = require "neap.files.json"
local settings = require "neap.text.settings"
local splits = require "neap.text.splits"
local unicode = require "neap.text.unicode"

local decoders = {}

--- A text with U+FFFD for bytes that are no UTF-8, as Rust's from_utf8_lossy: a mark for each start of a character that
-- is cut short.
local function lossy(text)
    if json.is_utf8(text) then return text end
    local parts, at = {}, 1
    while at <= #text do
        local stop = at
        for last = math.min(at + 3, #text), at, -1 do
            if json.is_utf8(text:sub(at, last)) and #unicode.codes(text:sub(at, last)) == 1 then
                stop = last + 1
                break
            end
        end
        if stop > at then
            parts[#parts + 1], at = text:sub(at, stop - 1), stop
        else
            parts[#parts + 1] = "\239\191\189"
            local behind = at + 1
            for last = math.min(at + 2, #text), at + 1, -1 do -- the longest start of a character
                local start = text:sub(at, last)
                if json.is_utf8(start .. "\128") or json.is_utf8(start .. "\191") or json.is_utf8(start .. "\128\128")
                    or json.is_utf8(start .. "\191\191") then
                    behind = last + 1
                    break
                end
            end
            at = behind
        end
    end
    return table.concat(parts)
end

--- A text with all places of a plain text replaced.
local function replaced(text, from, to)
    return (text:gsub(from:gsub("%p", "%%%0"), (to:gsub("%%", "%%%%"))))
end

local CLEANUP = { { " .", "." }, { " ?", "?" }, { " !", "!" }, { " ,", "," }, { " ' ", "'" }, { " n't", "n't" },
                  { " 'm", "'m" }, { " do not", " don't" }, { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" } }

function decoders.WordPiece(own)
    local prefix = own.prefix or "##"
    return function(tokens)
        for k, token in ipairs(tokens) do
            if k > 1 then
                token = token:sub(1, #prefix) == prefix and token:sub(#prefix + 1) or " " .. token
            end
            if own.cleanup ~= false then
                for _, pair in ipairs(CLEANUP) do token = replaced(token, pair[1], pair[2]) end
            end
            tokens[k] = token
        end
        return tokens
    end
end

function decoders.ByteLevel()
    return function(tokens)
        local parts = {}
        for k, token in ipairs(tokens) do
            local codes, bytes = unicode.codes(token), {}
            for j = 1, #codes do
                local byte = splits.code_bytes[codes[j]]
                bytes[j] = byte and string.char(byte)
                if not byte then
                    bytes = nil
                    break
                end
            end
            parts[k] = bytes and table.concat(bytes) or token
        end
        return { lossy(table.concat(parts)) }
    end
end

function decoders.Metaspace(own)
    local scheme = own.prepend_scheme or own.add_prefix_space == false and "never" or "always"
    return function(tokens)
        for k, token in ipairs(tokens) do
            tokens[k] = replaced(token, own.replacement, (k == 1 and scheme ~= "never") and "" or " ")
        end
        return tokens
    end
end

function decoders.Replace(own)
    if not own.pattern.String then error("a decoder that replaces a regular expression is not known", 0) end
    return function(tokens)
        for k, token in ipairs(tokens) do tokens[k] = replaced(token, own.pattern.String, own.content) end
        return tokens
    end
end

function decoders.Fuse()
    return function(tokens) return { table.concat(tokens) } end
end

function decoders.Strip(own)
    local content = own.content
    return function(tokens)
        for k, token in ipairs(tokens) do
            local first, last = 1, #token
            for _ = 1, own.start do
                if token:sub(first, first + #content - 1) == content then first = first + #content end
            end
            for _ = 1, own.stop do
                if last >= first and token:sub(last - #content + 1, last) == content then last = last - #content end
            end
            tokens[k] = token:sub(first, last)
        end
        return tokens
    end
end

function decoders.ByteFallback()
    return function(tokens)
        local result, bytes = {}, {}
        local function flush()
            local text = table.concat(bytes)
            if #bytes > 0 and json.is_utf8(text) then
                result[#result + 1] = text
            else
                for _ = 1, #bytes do result[#result + 1] = "\239\191\189" end
            end
            bytes = {}
        end
        for _, token in ipairs(tokens) do
            local hex = token:match "^<0x(%x%x)>$"
            if hex then
                bytes[#bytes + 1] = string.char(tonumber(hex, 16))
            else
                flush()
                result[#result + 1] = token
            end
        end
        flush()
        return result
    end
end

function decoders.Sequence(own)
    local list = {}
    for k, one in ipairs(own.decoders) do list[k] = decoders.make(one) end
    return function(tokens)
        for k = 1, #list do tokens = list[k](tokens) end
        return tokens
    end
end

--- The function of a decoder's settings; raises a text.
function decoders.make(own)
    return settings.made(decoders, "the decoder", own)
end

return decoders
