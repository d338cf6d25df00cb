--- tokenizer.lua: np.io.load_tokenizer: tokenizers of the tokenizers library, tokenizer.json: texts to ids
-- and back, with the same results.
--
--     text ──▶ added tokens cut out ──▶ normalize.lua ──▶ added tokens cut out ──▶ splits.lua ──▶ models.lua ──▶ ids
--     ids of one text or two ──▶ cut to a length ──▶ special tokens around the ids (a template)
--
-- A part of another kind in the file is refused by name when the file is loaded.
local core = require "neap.core"
local files = require "neap.files"
local json = require "neap.files.json"
local decoders = require "neap.text.decoders"
local models = require "neap.text.models"
local normalize = require "neap.text.normalize"
local regex = require "neap.text.regex"
local settings = require "neap.text.settings"
local splits = require "neap.text.splits"
local unicode = require "neap.text.unicode"

local raise, bad_argument = core.raise, core.bad_argument
local part = {}
local tokenizer = {} -- methods
local meta = {}

-- ---- Added tokens ---------------------------------------------------------------------------------------------------

--- Tokens by first byte, the longest first, and a pattern of the bytes.
local function finder(list)
    local by_byte, bytes = {}, {}
    for _, token in ipairs(list) do
        local first = token.text:sub(1, 1)
        if not by_byte[first] then
            by_byte[first] = {}
            bytes[#bytes + 1] = first:find "%w" and first or "%" .. first
        end
        table.insert(by_byte[first], token)
    end
    for _, tokens in pairs(by_byte) do table.sort(tokens, function(a, b) return #a.text > #b.text end) end
    return { by_byte = by_byte, pattern = #bytes > 0 and "[" .. table.concat(bytes) .. "]" }
end

--- The first added token in a text from `at` on, with the place.
local function next_token(find, text, at)
    while true do
        at = text:find(find.pattern, at)
        if not at then return nil end
        for _, token in ipairs(find.by_byte[text:sub(at, at)]) do
            if text:sub(at, at + #token.text - 1) == token.text then return token, at end
        end
        at = at + 1
    end
end

--- The code point that begins at a place, and how many bytes it has; nil at the end.
local function code_at(text, at)
    local found = text:match("^[%z\1-\127\194-\244][\128-\191]*", at)
    if not found then return nil end
    return unicode.codes(found)[1], #found
end

--- The same of what ends in front of a place; nil at the beginning.
local function code_before(text, at)
    local first = at - 1
    while first > 1 and text:byte(first) >= 0x80 and text:byte(first) < 0xC0 do first = first - 1 end
    if first < 1 then return nil end
    return code_at(text, first)
end

--- Whether a token stands inside of a word.
local function in_word(text, first, last)
    local before, behind = code_before(text, first), code_at(text, last + 1)
    return before and regex.is_word(before) or behind and regex.is_word(behind)
end

--- The place behind the white space at a place.
local function behind_space(text, at)
    local code, bytes = code_at(text, at)
    while code and unicode.is_space(code) do
        at = at + bytes
        code, bytes = code_at(text, at)
    end
    return at
end

--- Where the white space in front of a place begins.
local function before_space(text, at)
    local code, bytes = code_before(text, at)
    while code and unicode.is_space(code) do
        at = at - bytes
        code, bytes = code_before(text, at)
    end
    return at
end

--- A text as a list of parts: texts and ids of added tokens.
local function cut(find, text)
    local list, from, at = {}, 1, 1
    while find.pattern do
        local token, first = next_token(find, text, at)
        if not token then break end
        local last = first + #token.text - 1
        at = last + 1
        if not (token.single_word and in_word(text, first, last)) then
            if token.lstrip then first = math.max(from, before_space(text, first)) end
            if token.rstrip then last = behind_space(text, last + 1) - 1 end
            if from < first then list[#list + 1] = { text = text:sub(from, first - 1), begins = from == 1 } end
            list[#list + 1] = { id = token.id }
            from, at = last + 1, last + 1
        end
    end
    if from <= #text then list[#list + 1] = { text = text:sub(from), begins = from == 1 } end
    return list
end

-- ---- Texts and ids --------------------------------------------------------------------------------------------------

--- The ids of a text, without special tokens around it.
local function ids_of(self, text)
    local ids = {}
    for _, outer in ipairs(cut(self.raw, text)) do
        if outer.id then
            ids[#ids + 1] = outer.id
        else
            local inner = outer.text
            if self.normalizer then inner = unicode.text(self.normalizer(unicode.codes(inner))) end
            for _, piece in ipairs(cut(self.normalized, inner)) do
                if piece.id then
                    ids[#ids + 1] = piece.id
                elseif self.splitter then
                    for _, word in ipairs(self.splitter(unicode.codes(piece.text), outer.begins and piece.begins)) do
                        if #word > 0 then self.model.encode(unicode.text(word), ids) end
                    end
                else
                    self.model.encode(piece.text, ids)
                end
            end
        end
    end
    return ids
end

local function shorten(self, ids, n)
    if #ids <= n then return ids end
    local from = self.cut_left and #ids - n or 0
    local result = {}
    for k = 1, n do result[k] = ids[from + k] end
    return result
end

--- Two lists of ids, cut so that there are `most` together.
local function shorten_two(self, a, b, most)
    local over = #a + #b - most
    if over <= 0 then return a, b end
    if self.strategy == "OnlyFirst" then return shorten(self, a, math.max(0, #a - over)), b end
    if self.strategy == "OnlySecond" then return a, shorten(self, b, math.max(0, #b - over)) end
    local low = math.min(#a, #b)
    local high = low > most and low or math.max(low, most - low)
    if low + high > most then
        low = math.floor(most / 2)
        high = low + most % 2
    end
    if #a > #b then return shorten(self, a, high), shorten(self, b, low) end
    return shorten(self, a, low), shorten(self, b, high)
end

--- Ids and types of a text, or of two.
local function encoded(self, text, pair, o)
    local a, b = ids_of(self, text), pair and ids_of(self, pair)
    local list = self.templates[b and 2 or 1]
    local most, added = o.max_length, 0
    for _, item in ipairs(list) do added = added + (item.ids and o.special ~= false and #item.ids or 0) end
    if most == nil then most = self.max_length end
    if most then
        most = math.max(0, most - added)
        if b then a, b = shorten_two(self, a, b, most) else a = shorten(self, a, most) end
    end
    local ids, types = {}, {}
    for _, item in ipairs(list) do
        local own = item.ids
        if item.sequence then own = item.sequence == "A" and a or b elseif o.special == false then own = {} end
        for k = 1, #own do
            ids[#ids + 1], types[#types + 1] = own[k], item.type
        end
    end
    return ids, types
end

--- The text of ids; `special`: with special tokens.
local function decoded(self, ids, special)
    local tokens = {}
    for _, id in ipairs(ids) do
        local token = self:token(id)
        if token and (special or not self.special[id]) then tokens[#tokens + 1] = token end
    end
    return self.decoder and table.concat(self.decoder(tokens)) or table.concat(tokens, " ")
end

-- ---- Building -------------------------------------------------------------------------------------------------------

--- Removes what is null, but for large lists of numbers and texts.
local function without_null(t)
    for key, value in pairs(t) do
        if value == json.null then
            t[key] = nil
        elseif type(value) == "table" and key ~= "vocab" and key ~= "merges" then
            without_null(value)
        end
    end
    return t
end

local function add_tokens(self, list)
    local raw, normalized = {}, {}
    for _, token in ipairs(list or {}) do
        local text = settings.checked(token).content
        if not text or text == "" or not settings.is_count(token.id) then
            error("an added token without a text or an id", 0)
        end
        self.added[text] = token.id
        if token.special then self.special[token.id] = true end
        if token.normalized and self.normalizer then text = unicode.text(self.normalizer(unicode.codes(text))) end
        self.added_ids[token.id] = text
        local own = { text = text, id = token.id, single_word = token.single_word, lstrip = token.lstrip,
                      rstrip = token.rstrip }
        if text ~= "" then table.insert(token.normalized and normalized or raw, own) end
    end
    self.raw, self.normalized = finder(raw), finder(normalized)
end

local function sequence(id, type_id) return { Sequence = { id = id, type_id = type_id } } end

--- The ids of a special token of a template.
local function special_ids(tokens, name)
    local ids = settings.checked(settings.checked(tokens)[name]).ids
    for k = 1, #ids do
        if not settings.is_count(ids[k]) then error("a special token without ids", 0) end
    end
    return ids
end

--- Templates: lists of parts { sequence = "A" or "B" } and { ids }, with the type of each.
local function template(list, tokens)
    local result = {}
    for k, item in ipairs(list) do
        local one = settings.checked(settings.checked(item).Sequence or item.SpecialToken)
        local part_of = { type = one.type_id, sequence = item.Sequence and one.id }
        if item.SpecialToken then part_of.ids = special_ids(tokens, one.id) end
        if not one.type_id or item.Sequence and one.id ~= "A" and one.id ~= "B" then
            error("a template with a part that is neither a text nor a token", 0)
        end
        result[k] = part_of
    end
    return result
end

local posts = {}

function posts.ByteLevel() return nil end

function posts.TemplateProcessing(own)
    return { template(own.single, own.special_tokens), template(own.pair, own.special_tokens) }
end

local function around(own, between, second)
    local cls, sep = own.cls[2], own.sep[2]
    local tokens = { c = { ids = { cls } }, s = { ids = { sep } } }
    local function token(id, kind) return { SpecialToken = { id = id, type_id = kind } } end
    local pair = { token("c", 0), sequence("A", 0), token("s", 0) }
    if between then pair[#pair + 1] = token("s", 0) end
    pair[#pair + 1], pair[#pair + 2] = sequence("B", second), token("s", second)
    return { template({ token("c", 0), sequence("A", 0), token("s", 0) }, tokens), template(pair, tokens) }
end

function posts.BertProcessing(own) return around(own, false, 1) end
function posts.RobertaProcessing(own) return around(own, true, 0) end

function posts.Sequence(own)
    local found
    for _, one in ipairs(own.processors) do
        local made = settings.made(posts, "the post-processor", one)
        if found and made then error("two post-processors that add tokens are not known", 0) end
        found = found or made
    end
    return found
end

--- How texts are cut to a length and padded, as the file says.
local function set_lengths(self, truncation, padding)
    if truncation then
        settings.checked(truncation)
        self.max_length, self.cut_left = truncation.max_length, truncation.direction == "Left"
        self.strategy = truncation.strategy
    end
    local pad = { id = self:id "[PAD]" or self:id "<pad>" or 0, type = 0 }
    if padding then
        local fixed = type(settings.checked(padding).strategy) == "table" and settings.checked(padding.strategy).Fixed
        pad = { id = padding.pad_id or 0, type = padding.pad_type_id or 0, left = padding.direction == "Left",
                multiple = padding.pad_to_multiple_of, length = fixed or nil }
    end
    self.pad = pad
end

local function build(facts)
    if type(facts) ~= "table" then error("it is no tokenizer", 0) end
    without_null(facts)
    local self = setmetatable({ added = {}, added_ids = {}, special = {} }, meta)
    self.model = models.make(facts.model)
    self.normalizer = facts.normalizer and normalize.make(facts.normalizer)
    self.splitter = facts.pre_tokenizer and splits.make(facts.pre_tokenizer)
    self.decoder = facts.decoder and decoders.make(facts.decoder)
    self.templates = facts.post_processor and settings.made(posts, "the post-processor", facts.post_processor)
        or { template({ sequence("A", 0) }), template { sequence("A", 0), sequence("B", 1) } }
    add_tokens(self, facts.added_tokens)
    local count = 0
    for _ in pairs(self.model.ids) do count = count + 1 end
    for text in pairs(self.added) do
        if not self.model.ids[text] then count = count + 1 end
    end
    self.size = count
    set_lengths(self, facts.truncation, facts.padding)
    return self
end

--- Uses a tokenizer once, so that settings that are missing come out.
local function tried(self)
    local ids = encoded(self, "a b, 1", "c", {})
    decoded(self, ids)
    return self
end

--- f(…); what Lua says of settings that are missing becomes a text.
local function guarded(f, ...)
    local results = { pcall(f, ...) }
    if results[1] then return unpack(results, 2) end
    local problem = tostring(results[2])
    if problem:find "^neap/text/" then problem = "a part of it lacks a setting" end
    return nil, problem
end

--- np.io.load_tokenizer(path) -> tokenizer: the tokenizer of a file tokenizer.json, as the tokenizers library of
-- Hugging Face writes it: t:encode(text), t:encode_batch(texts), t:decode(ids) give what that gives. Models are
-- WordLevel, WordPiece, BPE (of bytes, too) and Unigram, with the usual normalizers, pre-tokenizers, post-processors
-- and decoders; other parts in the file are refused by name. t.size is the number of tokens.
--- > word = {type="WordPiece", vocab={["[UNK]"] = 0, un = 1, ["##seen"] = 2}, unk_token="[UNK]"}
--- > np.io.save_json("tokenizer.json", {model=word, pre_tokenizer={type="BertPreTokenizer"}})
--- > t = np.io.load_tokenizer("tokenizer.json")
--- > t:encode "unseen un"
-- [1 2 1]
function part.load_tokenizer(path)
    local name = "io.load_tokenizer"
    local text, problem = files.text(core.check_path(name, path))
    if not text then raise(name, "%s", problem) end
    local self
    self, problem = guarded(function() return tried(build(json.read(text))) end)
    if not self then raise(name, "cannot read '%s': %s", path, problem) end
    return self
end

-- ---- Encoding -------------------------------------------------------------------------------------------------------

local function check_text(name, position, what, text)
    if type(text) ~= "string" then bad_argument(name, position, what, "a string", text) end
    if not json.is_utf8(text) then raise(name, "%s is not UTF-8", what) end
    return text
end

local function check_length(name, what, value)
    return value and core.integer(name, nil, what, value, 0)
end

--- An array of i32 of rows of ids.
local function array_of(name, dims, write)
    return core.fill(core.dtype_codes.i32, dims, write, "int32_t *", name)
end

--- tokenizer:encode(text, {pair=…, special=true, max_length=…}) -> ids: the ids of a text's tokens, i32, with the
-- special tokens that belong around it.
--- pair: a second text
--- special: false: without special tokens around it
--- max_length: how many ids at most, special ones included; false: as many as there are; without it as the file says
--- > word = {type="WordPiece", vocab={["[UNK]"] = 0, a = 1, b = 2}, unk_token="[UNK]"}
--- > np.io.save_json("tokenizer.json", {model=word, pre_tokenizer={type="Whitespace"}})
--- > t = np.io.load_tokenizer("tokenizer.json")
--- > t:encode("a b c", {pair="b", special=false, max_length=3})
-- [1 2 2]
function tokenizer:encode(text, given)
    local name = "tokenizer.encode"
    local o = core.options(name, given, { pair = true, special = true, max_length = true })
    check_text(name, 1, "text", text)
    if o.pair ~= nil then check_text(name, nil, "pair", o.pair) end
    check_length(name, "max_length", o.max_length)
    local ids = encoded(self, text, o.pair, o)
    return array_of(name, { #ids }, function(out)
        for k = 1, #ids do out[k - 1] = ids[k] end
    end)
end

--- tokenizer:encode_batch(texts, {pairs=…, special=true, max_length=…, length=…}) -> ids, mask, types: the ids of a
-- list of texts, i32, a row for each, padded to the longest; 1 where there is an id, 0 where there is padding; and
-- which of two texts an id is of, 0 or 1. Padding is behind the ids, or where the file says.
--- pairs: a list of second texts
--- special: false: without special tokens around them
--- max_length: how many ids of a row at most; false: as many as there are; without it as the file says
--- length: how long rows are at least
--- > word = {type="WordPiece", vocab={["[UNK]"] = 0, a = 1, b = 2}, unk_token="[UNK]"}
--- > np.io.save_json("tokenizer.json", {model=word, pre_tokenizer={type="Whitespace"}})
--- > t = np.io.load_tokenizer("tokenizer.json")
--- > ids, mask = t:encode_batch({"b a", "b"}, {pairs={"a", "b"}, special=true, max_length=3, length=4})
--- > ids, mask
-- [[2 1 1 0]
--  [2 2 0 0]]
-- [[1 1 1 0]
--  [1 1 0 0]]
function tokenizer:encode_batch(texts, given)
    local name = "tokenizer.encode_batch"
    local o = core.options(name, given, { pairs = true, special = true, max_length = true, length = true })
    if type(texts) ~= "table" then bad_argument(name, 1, "texts", "a list of strings", texts) end
    core.list(name, "the list of texts", texts)
    local pairs_of = o.pairs
    if pairs_of ~= nil and (type(pairs_of) ~= "table" or #pairs_of ~= #texts) then
        bad_argument(name, nil, "pairs", "a list of as many strings", pairs_of)
    end
    if pairs_of then core.list(name, "option 'pairs'", pairs_of) end
    check_length(name, "max_length", o.max_length)
    local pad = self.pad
    local length = check_length(name, "length", o.length) or pad.length or 0
    local rows, types = {}, {}
    for k, text in ipairs(texts) do
        check_text(name, 1, ("texts[%d]"):format(k), text)
        local second = pairs_of and check_text(name, nil, ("pairs[%d]"):format(k), pairs_of[k])
        rows[k], types[k] = encoded(self, text, second, o)
        length = math.max(length, #rows[k])
    end
    if pad.multiple and pad.multiple > 0 then length = math.ceil(length / pad.multiple) * pad.multiple end
    local function filled(value_at, padding)
        return array_of(name, { #rows, length }, function(out)
            for k = 1, #rows do
                local n, at = #rows[k], (k - 1) * length
                local shift = pad.left and length - n or 0
                for j = 0, length - 1 do out[at + j] = padding end
                for j = 1, n do out[at + shift + j - 1] = value_at(k, j) end
            end
        end)
    end
    return filled(function(k, j) return rows[k][j] end, pad.id), filled(function() return 1 end, 0),
           filled(function(k, j) return types[k][j] end, pad.type)
end

-- ---- Decoding -------------------------------------------------------------------------------------------------------

--- The ids of an argument as a list.
local function list_of(name, ids)
    if core.is_array(ids) then
        if core.ndim(ids) ~= 1 then bad_argument(name, 1, "ids", "an array of 1 axis or a list of ids", ids) end
        ids = ids:totable()
    end
    if type(ids) ~= "table" then bad_argument(name, 1, "ids", "an array of 1 axis or a list of ids", ids) end
    local list = {}
    for k, id in ipairs(core.list(name, "the list of ids", ids)) do
        list[k] = core.integer(name, 1, ("ids[%d]"):format(k), core.plain(id))
    end
    return list
end

--- tokenizer:token(id) -> string | nil: the token of an id; nil if there is none.
function tokenizer:token(id)
    return self.added_ids[id] or self.model.tokens[id]
end

--- tokenizer:id(token) -> integer | nil: the id of a token; nil if it is none.
function tokenizer:id(token)
    return self.added[token] or self.model.ids[token]
end

--- tokenizer:decode(ids, {special=false}) -> string: the text of ids, an array or a list; unknown ids are left
-- out.
--- special: true: with special tokens
--- > word = {type="WordPiece", vocab={["[UNK]"] = 0, un = 1, ["##seen"] = 2}, unk_token="[UNK]"}
--- > np.io.save_json("tokenizer.json", {model=word, decoder={type="WordPiece", prefix="##"}})
--- > t = np.io.load_tokenizer("tokenizer.json")
--- > t:decode({1, 2, 1}, {special=true}), t:token(2), t:id "un"
-- unseen un
-- ##seen
-- 1
function tokenizer:decode(ids, given)
    local name = "tokenizer.decode"
    local o = core.options(name, given, { special = true })
    return decoded(self, list_of(name, ids), o.special)
end

function meta.__index(_, key)
    return tokenizer[key]
end

function meta.__tostring(self)
    return ("tokenizer of %d tokens"):format(self.size)
end

for _, f in ipairs { part.load_tokenizer, tokenizer.encode, tokenizer.encode_batch, tokenizer.decode } do jit.off(f) end

return part
