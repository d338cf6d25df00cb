--- models.lua: the models of tokenizer.json, WordLevel, WordPiece, BPE and Unigram: words to ids.
-- Facts: the tokenizers library (Rust).
--
-- A model is { ids = id by token, tokens = token by id, encode(word, out) }; encode appends to `out`. What it found for
-- a word is kept, up to so many words.

local settings = require "neap.text.settings"

local models = {}

local MOST_KEPT, LONGEST_KEPT = 20000, 256 -- words, bytes
local MOST_IDS = 2 ^ 24

local function fail(text, ...) error(text:format(...), 0) end

local is_id = settings.is_count

--- Ids by token and tokens by id.
local function vocabulary(vocab)
    if type(vocab) ~= "table" then fail "the model has no vocabulary" end
    local tokens = {}
    for token, id in pairs(vocab) do
        if type(token) ~= "string" or not is_id(id) then fail "the vocabulary holds what is no token with an id" end
        tokens[id] = token
    end
    return vocab, tokens
end

--- encode, with the ids of words kept.
local function keeping(encode)
    local known, count = {}, 0
    return function(word, out)
        local ids = known[word]
        if not ids then
            ids = {}
            encode(word, ids)
            if #word <= LONGEST_KEPT then
                if count >= MOST_KEPT then known, count = {}, 0 end
                known[word], count = ids, count + 1
            end
        end
        local n = #out
        for k = 1, #ids do out[n + k] = ids[k] end
    end
end

--- Where the characters of a text begin, and the place behind the last character.
local function starts_of(word)
    local starts, n = {}, 0
    for at in word:gmatch "()[%z\1-\127\194-\244]" do
        n = n + 1
        starts[n] = at
    end
    starts[n + 1] = #word + 1
    return starts, n
end

--- The ids of the bytes of a text, as tokens <0x00> …; nil if a token is missing.
local function byte_ids(ids, text)
    local list = {}
    for k = 1, #text do
        list[k] = ids[("<0x%02X>"):format(text:byte(k))]
        if not list[k] then return nil end
    end
    return list
end

-- ---- WordLevel ------------------------------------------------------------------------------------------------------

function models.WordLevel(own)
    local ids, tokens = vocabulary(own.vocab)
    local unknown = ids[own.unk_token]
    local function encode(word, out)
        local id = ids[word] or unknown
        if not id then fail("the vocabulary has neither '%s' nor '%s'", word, tostring(own.unk_token)) end
        out[#out + 1] = id
    end
    return { ids = ids, tokens = tokens, encode = encode }
end

-- ---- WordPiece ------------------------------------------------------------------------------------------------------

function models.WordPiece(own)
    local ids, tokens = vocabulary(own.vocab)
    local prefix, most = own.continuing_subword_prefix or "##", own.max_input_chars_per_word or 100
    local unknown = ids[own.unk_token]
    if not unknown then fail("the vocabulary has no '%s'", tostring(own.unk_token)) end
    local function encode(word, out)
        local starts, n = starts_of(word)
        local first, count = 1, 0
        if n > most then first = n + 2 end
        while first <= n do
            local last, id = n, nil
            while last >= first do
                local piece = word:sub(starts[first], starts[last + 1] - 1)
                id = ids[first > 1 and prefix .. piece or piece]
                if id then break end
                last = last - 1
            end
            if not id then break end
            count = count + 1
            out[count], first = id, last + 1
        end
        if first ~= n + 1 then -- none of it, if not all of it
            for k = count, 2, -1 do out[k] = nil end
            out[1] = unknown
        end
    end
    return { ids = ids, tokens = tokens, encode = keeping(encode) }
end

-- ---- BPE ------------------------------------------------------------------------------------------------------------

local PLACES = 2 ^ 26 -- in a word

local function push(heap, value)
    local k = #heap + 1
    while k > 1 do
        local parent = (k - k % 2) / 2
        if heap[parent] <= value then break end
        heap[k], k = heap[parent], parent
    end
    heap[k] = value
end

local function pop(heap)
    local top, last, n = heap[1], heap[#heap], #heap - 1
    heap[n + 1] = nil
    local k = 1
    while 2 * k <= n do
        local child = 2 * k
        if child < n and heap[child + 1] < heap[child] then child = child + 1 end
        if heap[child] >= last then break end
        heap[k], k = heap[child], child
    end
    if n > 0 then heap[k] = last end
    return top
end

--- Rank and result of the merge of each pair of ids.
local function merges_of(list, ids)
    if type(list) ~= "table" then fail "the model has no merges" end
    local ranks, results = {}, {}
    for rank, merge in ipairs(list) do
        local a, b
        if type(merge) == "string" then a, b = merge:match "^(.-) (.+)$" else a, b = merge[1], merge[2] end
        local both = type(a) == "string" and type(b) == "string" and ids[a .. b]
        if not both or not ids[a] or not ids[b] then
            fail("merge %d is of tokens that are not in the vocabulary", rank)
        end
        local pair = ids[a] * MOST_IDS + ids[b]
        ranks[pair], results[pair] = rank, both
    end
    return ranks, results
end

--- Merges neighbours in a list of ids, the lowest rank first, from the left.
local function merged(symbols, ranks, results)
    local n, heap, after, before = #symbols, {}, {}, {}
    for k = 1, n do
        after[k], before[k] = k < n and k + 1 or nil, k > 1 and k - 1 or nil
    end
    local function propose(at)
        local other = at and after[at]
        local rank = other and ranks[symbols[at] * MOST_IDS + symbols[other]]
        if rank then push(heap, rank * PLACES + at) end
    end
    for k = 1, n - 1 do propose(k) end
    while #heap > 0 do
        local value = pop(heap)
        local at = value % PLACES
        local other = symbols[at] and after[at]
        local pair = other and symbols[at] * MOST_IDS + symbols[other]
        if pair and ranks[pair] == (value - at) / PLACES then
            symbols[at], symbols[other] = results[pair], false
            after[at] = after[other]
            if after[at] then before[after[at]] = at end
            propose(before[at])
            propose(at)
        end
    end
end

--- A function that appends the ids of a single character to a list.
local function character_ids(own, ids)
    local unknown = own.unk_token ~= nil and ids[own.unk_token]
    return function(text, symbols)
        local id = ids[text]
        local bytes = not id and own.byte_fallback and byte_ids(ids, text)
        if bytes then
            for k = 1, #bytes do symbols[#symbols + 1] = bytes[k] end
        elseif id then
            symbols[#symbols + 1] = id
        elseif unknown and not (own.fuse_unk and symbols.unknown == #symbols and #symbols > 0) then
            symbols[#symbols + 1] = unknown
            symbols.unknown = #symbols
        end
    end
end

function models.BPE(own)
    for _, name in ipairs { "continuing_subword_prefix", "end_of_word_suffix" } do
        if type(own[name]) == "string" and own[name] ~= "" then fail("a BPE with a %s is not known", name) end
    end
    local ids, tokens = vocabulary(own.vocab)
    local ranks, results = merges_of(own.merges, ids)
    local append = character_ids(own, ids)
    local function encode(word, out)
        if own.ignore_merges and ids[word] then
            out[1] = ids[word]
            return
        end
        local symbols = {}
        for text in word:gmatch "[%z\1-\127\194-\244][\128-\191]*" do append(text, symbols) end
        merged(symbols, ranks, results)
        for k = 1, #symbols do
            if symbols[k] then out[#out + 1] = symbols[k] end
        end
    end
    return { ids = ids, tokens = tokens, encode = keeping(encode) }
end

-- ---- Unigram --------------------------------------------------------------------------------------------------------

local UNKNOWN_PENALTY = 10

--- Ids, tokens and scores of a list of { token, score }; the longest token in bytes; the lowest score.
local function scored(vocab)
    if type(vocab) ~= "table" then fail "the model has no vocabulary" end
    local ids, tokens, scores, longest, lowest = {}, {}, {}, 0, math.huge
    for k, pair in ipairs(vocab) do
        if type(pair) ~= "table" or type(pair[1]) ~= "string" or type(pair[2]) ~= "number" then
            fail("place %d of the vocabulary is no token with a score", k)
        end
        ids[pair[1]], tokens[k - 1], scores[k - 1] = k - 1, pair[1], pair[2]
        longest, lowest = math.max(longest, #pair[1]), math.min(lowest, pair[2])
    end
    return ids, tokens, scores, longest, lowest
end

--- The best way to cut a word into tokens: start and id of each token, by the place behind the token; -1: unknown.
local function best_ways(word, starts, n, m)
    local best, from, id_at = { [1] = 0 }, {}, {}
    for k = 1, n do
        local start, here, single = starts[k], best[starts[k]], false
        for j = k + 1, n + 1 do
            local behind = starts[j]
            if behind - start > m.longest then break end
            local id = m.ids[word:sub(start, behind - 1)]
            if id then
                local score = here + m.scores[id]
                if not best[behind] or score > best[behind] then
                    best[behind], from[behind], id_at[behind] = score, start, id
                end
                single = single or j == k + 1
            end
        end
        local behind = starts[k + 1]
        if not single and (not best[behind] or here + m.unknown_score > best[behind]) then
            best[behind], from[behind], id_at[behind] = here + m.unknown_score, start, -1
        end
    end
    return from, id_at
end

function models.Unigram(own)
    local ids, tokens, scores, longest, lowest = scored(own.vocab)
    local unknown = own.unk_id
    if not is_id(unknown) or not tokens[unknown] then fail "a Unigram without an unknown token is not known" end
    local m = { ids = ids, scores = scores, longest = longest, unknown_score = lowest - UNKNOWN_PENALTY }
    local function encode(word, out)
        local starts, n = starts_of(word)
        local from, id_at = best_ways(word, starts, n, m)
        local list, behind = {}, #word + 1
        while behind > 1 do -- from the end
            local start, id = from[behind], id_at[behind]
            if id == -1 or id == unknown then -- neighbours that are unknown are one
                while start > 1 and (id_at[start] == -1 or id_at[start] == unknown) do start = from[start] end
                local text = word:sub(start, behind - 1)
                local bytes = not ids[text] and own.byte_fallback and byte_ids(ids, text)
                if bytes then
                    for k = #bytes, 1, -1 do list[#list + 1] = bytes[k] end
                else
                    list[#list + 1] = ids[text] or unknown
                end
            else
                list[#list + 1] = id
            end
            behind = start
        end
        for k = #list, 1, -1 do out[#out + 1] = list[k] end
    end
    return { ids = ids, tokens = tokens, encode = keeping(encode) }
end

--- The model of its settings; raises a text. Files from before the type was written have the merges of a BPE.
function models.make(own)
    if own == nil then fail "it has no model" end
    settings.checked(own)
    local kind = own.type
    if kind == nil then kind = own.merges and "BPE" or own.unk_id and "Unigram" or "WordPiece" end
    local kinds = { WordLevel = true, WordPiece = true, BPE = true, Unigram = true }
    if not kinds[kind] then fail("the model '%s' is not known", tostring(kind)) end
    return models[kind](own)
end

return models
