--- tokenizers_test.lua (sanitized with --long): what tokenizers make of texts of many scripts is what the tokenizers
-- package makes of them (tokenizers/, make_tokenizers.py); others are refused.
--
--     build/neap tests/golden/tokenizers_test.lua FOLDER/       files of the long check
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local folder = arg and arg[1] or "tests/golden/tokenizers/"
local lines = np.io.load_json(folder .. "lines.json")
local texts = lines.texts

local function shown(ids) return table.concat(ids, " ") end

--- Compares f(k) with a list; tells the first texts that differ.
local function compare(what, expected, f)
    local wrong = {}
    for k = 1, #expected do
        local got, want = f(k), expected[k]
        if type(want) == "table" then got, want = shown(got:totable()), shown(want) end
        if got ~= want and #wrong < 3 then
            wrong[#wrong + 1] = ("%q\n    %s\n    %s"):format(texts[k], tostring(got), tostring(want))
        end
    end
    check.ok(#wrong == 0, what .. ":\n  " .. table.concat(wrong, "\n  "))
end

for name, results in pairs(lines.results) do
    check.test(name, function()
        local t = np.io.load_tokenizer(folder .. name .. ".json")
        local function following(k) return texts[k % #texts + 1] end
        compare("ids", results.ids, function(k) return t:encode(texts[k]) end)
        compare("decoded", results.text, function(k) return t:decode(results.ids[k], { special = true }) end)
        compare("without special tokens", results.plain, function(k) return t:decode(t:encode(texts[k])) end)
        compare("pairs", results.pair, function(k) return t:encode(texts[k], { pair = following(k) }) end)
        compare("pairs cut", results.cut, function(k)
            return t:encode(texts[k], { pair = following(k), max_length = 16 })
        end)
    end)
end

local temporary = os.tmpname()

local function load_text(text)
    process.write(temporary, text)
    return np.io.load_tokenizer(temporary)
end

local WORDS = '"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"a":1,"b":2,"[PAD]":3}}'

check.test("batches", function()
    local t = np.io.load_tokenizer(folder .. "bert.json")
    local batch = { "the fox", "", "numbers? I'M HERE." }
    local ids, mask, types = t:encode_batch(batch, { pairs = { "over", "lazy dogs", "" } })
    local longest = 0
    for k, text in ipairs(batch) do
        local row = t:encode(text, { pair = ({ "over", "lazy dogs", "" })[k] })
        longest = math.max(longest, row.size)
        check.equal(mask[k - 1]:sum():item(), row.size)
        check.ok(np.array_equal(ids[k - 1][{ { 0, row.size } }], row))
        check.equal((ids[k - 1] * (1 - mask[k - 1])):sum():item(), t:id "[PAD]" * (ids:dim(1) - row.size))
    end
    check.equal({ ids.shape, mask.dtype, ids.dtype }, { { 3, longest }, "i32", "i32" })
    check.equal((types * (1 - mask)):sum():item(), 0)
    check.equal(t:encode_batch({ "a" }, { length = 9, special = false }).shape, { 1, 9 })
    check.equal(t:encode_batch({ "the quick brown fox" }, { max_length = 3 }).shape, { 1, 3 })
    check.equal(t:encode_batch({}).shape, { 0, 0 })
    check.equal({ t:token(t:id "[CLS]"), t:token(1e6), t:id "no such token" }, { "[CLS]" })
    check.equal(tostring(t), ("tokenizer of %d tokens"):format(t.size))
end)

check.test("lengths that the file says", function()
    local t = load_text('{' .. WORDS .. [[,"pre_tokenizer":{"type":"WhitespaceSplit"},
        "truncation":{"direction":"Left","max_length":3,"strategy":"LongestFirst","stride":0},
        "padding":{"strategy":{"Fixed":4},"direction":"Left","pad_to_multiple_of":null,"pad_id":3,"pad_type_id":0,
                   "pad_token":"[PAD]"}}]])
    check.equal(t:encode("a a a b"):totable(), { 1, 1, 2 })
    check.equal(t:encode("a a a b", { max_length = false }):totable(), { 1, 1, 1, 2 })
    local ids, mask = t:encode_batch { "a b", "b" }
    check.equal(ids:totable(), { { 3, 3, 1, 2 }, { 3, 3, 3, 2 } })
    check.equal(mask:totable(), { { 0, 0, 1, 1 }, { 0, 0, 0, 1 } })
end)

check.test("what is refused", function()
    local function refused(text, pattern)
        local ok, problem = pcall(function() return load_text(text) end)
        check.ok(not ok, text)
        check.ok(problem:find("np.io.load_tokenizer: cannot read '" .. temporary .. "': ", 1, true), problem)
        check.ok(problem:find(pattern), problem)
    end
    refused("", "no JSON at byte 1")
    refused("3", "no tokenizer")
    refused("{" .. WORDS .. ',"decoder":{"type":"Metaspace"}}', "a part of it lacks a setting")
    refused("{" .. WORDS .. ',"decoder":{"type":"WordPiece","prefix":3}}', "the setting 'prefix' is no string")
    refused("{" .. WORDS .. ',"padding":{"pad_id":-1}}', "the setting 'pad_id' is no count")
    refused("{}", "it has no model")
    refused('{"model":{"type":"Syllables"}}', "the model 'Syllables' is not known")
    refused('{"model":{"type":"WordPiece","vocab":{"a":"b"}}}', "no token with an id")
    refused('{"model":{"type":"WordPiece","vocab":{"a":0},"unk_token":"u"}}', "the vocabulary has no 'u'")
    refused('{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}', "merge 1 is of tokens")
    refused('{"model":{"type":"BPE","vocab":{"a":0},"merges":[],"end_of_word_suffix":"</w>"}}', "end_of_word_suffix")
    refused('{"model":{"type":"Unigram","vocab":[["a"]],"unk_id":0}}', "place 1 of the vocabulary")
    refused("{" .. WORDS .. ',"normalizer":{"type":"Nmt"}}', "the normalizer 'Nmt' is not known")
    refused("{" .. WORDS .. ',"normalizer":{"type":"Precompiled","precompiled_charsmap":"////"}}', "character map")
    refused("{" .. WORDS .. ',"pre_tokenizer":{"type":"UnicodeScripts"}}', "the pre%-tokenizer 'UnicodeScripts'")
    refused("{" .. WORDS .. ',"decoder":{"type":"CTC"}}', "the decoder 'CTC'")
    refused("{" .. WORDS .. ',"post_processor":{"type":"Other"}}', "the post%-processor 'Other'")
    for _, pattern in ipairs { "(", "a)", "[a", "*a", "\\\\p{Han}", "(?<=a)b", "[[:alpha:]]", "\\\\k" } do
        refused("{" .. WORDS .. ',"pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"' .. pattern
                .. '"}}}', "the regular expression")
    end
    refused("{" .. WORDS .. ',"pre_tokenizer":{"type":"Split","behavior":"Other","pattern":{"String":"a"}}}',
            "behavior")
    refused("{" .. WORDS .. ',"pre_tokenizer":{"type":"Split","behavior":"Isolated"}}', "lacks a setting")
    refused("{" .. WORDS .. ',"added_tokens":[{"id":1}]}', "an added token without")
    local t = load_text("{" .. WORDS .. "}")
    check.raises(function() t:encode(3) end, "tokenizer.encode: argument 1 %(text%)")
    check.raises(function() t:encode "\255" end, "tokenizer.encode: text is not UTF%-8")
    check.raises(function() t:encode("a", { pair = 3 }) end, "pair")
    check.raises(function() t:encode_batch "a" end, "tokenizer.encode_batch: argument 1 %(texts%)")
    check.raises(function() t:encode_batch({ "a" }, { pairs = {} }) end, "pairs")
    check.raises(function() t:decode(np.ones { 1, 1 }) end, "tokenizer.decode: argument 1 %(ids%)")
    check.raises(function() t:decode { "x" } end, "tokenizer.decode: ")
    check.raises(function() np.io.load_tokenizer "no such file" end, "no such file")
end)

os.remove(temporary)
check.done()
