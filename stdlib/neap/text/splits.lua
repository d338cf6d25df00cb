--- splits.lua: the pre-tokenizers of tokenizer.json: texts to words. Facts: the tokenizers library (Rust).
--
-- A pre-tokenizer is a function of code points and of whether the whole text begins there, and gives a list of such
-- lists.
local regex = require "neap.text.regex"
local settings = require "neap.text.settings"
local unicode = require "neap.text.unicode"

local category, is_space = unicode.category, unicode.is_space
local splits = {}

--- codes[first] … codes[last].
local function part(codes, first, last)
    local result = {}
    for k = first, last do result[#result + 1] = codes[k] end
    return result
end
splits.part = part

-- ---- Patterns -------------------------------------------------------------------------------------------------------

--- match(codes, at) of a pattern: a plain text, or a regular expression.
function splits.pattern(own)
    if own.Regex then return regex.compile(own.Regex) end
    local wanted = unicode.codes(own.String)
    return function(codes, at)
        for k = 1, #wanted do
            if codes[at + k - 1] ~= wanted[k] then return nil end
        end
        return at + #wanted
    end
end

local function of_test(test)
    return function(codes, at) return test(codes[at]) and at + 1 or nil end
end

--- The pieces of a text: { first, last, whether the piece is a match } of each.
local function pieces(codes, match)
    local list, at, from = {}, 1, 1
    while at <= #codes do
        local stop = match(codes, at)
        if stop and stop > at then
            if from < at then list[#list + 1] = { from, at - 1, false } end
            list[#list + 1] = { at, stop - 1, true }
            at, from = stop, stop
        else
            at = at + 1
        end
    end
    if from <= #codes then list[#list + 1] = { from, #codes, false } end
    return list
end

-- Where matches go: functions from pieces to pieces.
local behaviors = {}

function behaviors.Isolated(list) return list end

function behaviors.Removed(list)
    local result = {}
    for _, piece in ipairs(list) do
        if not piece[3] then result[#result + 1] = piece end
    end
    return result
end

function behaviors.Contiguous(list)
    local result = {}
    for _, piece in ipairs(list) do
        local before = result[#result]
        if before and before[3] == piece[3] then
            before[2] = piece[2]
        else
            result[#result + 1] = piece
        end
    end
    return result
end

function behaviors.MergedWithPrevious(list)
    local result, was_match = {}, false
    for _, piece in ipairs(list) do
        if piece[3] and not was_match and #result > 0 then
            result[#result][2] = piece[2]
        else
            result[#result + 1] = piece
        end
        was_match = piece[3]
    end
    return result
end

function behaviors.MergedWithNext(list)
    local result, was_match = {}, false
    for k = #list, 1, -1 do
        local piece = list[k]
        if piece[3] and not was_match and #result > 0 then
            result[#result][1] = piece[1]
        else
            result[#result + 1] = piece
        end
        was_match = piece[3]
    end
    for k = 1, math.floor(#result / 2) do
        result[k], result[#result + 1 - k] = result[#result + 1 - k], result[k]
    end
    return result
end

--- A function that cuts code points by a pattern.
local function splitter(match, behavior, invert)
    local apply = behaviors[behavior]
    if not apply then error(("the behavior '%s' is not known"):format(tostring(behavior)), 0) end
    return function(codes)
        local list = pieces(codes, match)
        if invert then
            for _, piece in ipairs(list) do piece[3] = not piece[3] end
        end
        list = apply(list)
        for k, piece in ipairs(list) do list[k] = part(codes, piece[1], piece[2]) end
        return list
    end
end

-- ---- Bytes as characters --------------------------------------------------------------------------------------------
-- Byte-level models see a text as bytes, with a visible character for each byte.

local byte_codes, code_bytes = {}, {}
do
    local free = 256
    for byte = 0, 255 do
        local plain = byte >= 33 and byte <= 126 or byte >= 161 and byte <= 172 or byte >= 174
        byte_codes[byte] = plain and byte or free
        if not plain then free = free + 1 end
        code_bytes[byte_codes[byte]] = byte
    end
end
splits.code_bytes = code_bytes

--- The characters of a text's bytes.
function splits.to_bytes(codes)
    local result = {}
    for k = 1, #codes do
        if codes[k] < 128 then
            result[#result + 1] = byte_codes[codes[k]]
        else
            local text = unicode.character(codes[k])
            for j = 1, #text do result[#result + 1] = byte_codes[text:byte(j)] end
        end
    end
    return result
end

local GPT2 = [['s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+]]

function splits.ByteLevel(own)
    local cut = own.use_regex ~= false and splitter(regex.compile(GPT2), "Isolated")
    return function(codes)
        if own.add_prefix_space and codes[1] ~= 32 then
            codes = part(codes, 1, #codes)
            table.insert(codes, 1, 32)
        end
        local list = cut and cut(codes) or { codes }
        for k = 1, #list do list[k] = splits.to_bytes(list[k]) end
        return list
    end
end

-- ---- Others ---------------------------------------------------------------------------------------------------------

local is_punctuation = unicode.library.bert_punctuation

--- One cut after the other.
local function chained(list)
    return function(codes, begins)
        local words = { codes }
        for _, cut in ipairs(list) do
            local following = {}
            for k, word in ipairs(words) do
                for _, piece in ipairs(cut(word, begins and k == 1)) do
                    if #piece > 0 then following[#following + 1] = piece end
                end
            end
            words = following
        end
        return words
    end
end

function splits.BertPreTokenizer()
    return chained { splitter(of_test(is_space), "Removed"), splitter(of_test(is_punctuation), "Isolated") }
end
function splits.WhitespaceSplit() return splitter(of_test(is_space), "Removed") end
function splits.Whitespace() return splitter(regex.compile [[\w+|[^\w\s]+]], "Removed", true) end
function splits.Punctuation(own) return splitter(of_test(is_punctuation), own.behavior or "Isolated") end
function splits.Digits(own)
    return splitter(of_test(function(code) return category(code):sub(1, 1) == "N" end),
                    own.individual_digits and "Isolated" or "Contiguous")
end
function splits.Split(own)
    return splitter(splits.pattern(own.pattern), own.behavior, own.invert)
end
function splits.CharDelimiterSplit(own)
    return splitter(splits.pattern { String = own.delimiter }, "Removed")
end

function splits.Metaspace(own)
    local mark = unicode.codes(own.replacement)[1]
    local scheme = own.prepend_scheme or own.add_prefix_space == false and "never" or "always"
    local cut = splitter(of_test(function(code) return code == mark end), "MergedWithNext")
    return function(codes, begins)
        local result = {}
        if (scheme == "always" or scheme == "first" and begins) and codes[1] ~= mark and codes[1] ~= 32 then
            result[1] = mark
        end
        for k = 1, #codes do result[#result + 1] = codes[k] == 32 and mark or codes[k] end
        if own.split == false then return { result } end
        return cut(result)
    end
end

function splits.Sequence(own)
    local list = {}
    for k, one in ipairs(own.pretokenizers) do list[k] = splits.make(one) end
    return chained(list)
end

--- The function of a pre-tokenizer's settings; raises a text.
function splits.make(one)
    return settings.made(splits, "the pre-tokenizer", one)
end

return splits
