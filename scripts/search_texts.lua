--- search_texts.lua: finds the texts that are nearest to a query, by tf-idf and the cosine.
--
--     neap scripts/search_texts.lua [options]                                       --help lists the options
--
-- Each text becomes a row of a sparse matrix, with a column for each word: how often the text has it, times how rare
-- it is, log((1 + texts) / (1 + texts with it)) + 1, and divided by the length of the row, as scikit-learn's
-- TfidfVectorizer does. The product with the row of the query is then the cosine of each text.
local np = require "neap"

local options, fail = np.argparse(arg, {
    "Finds the texts that are nearest to a query, by tf-idf and the cosine.",
    { "query", "bread and cheese for hungry sailors", "what is looked for" },
    { "file", nil, "file with a text a line; without it twelve sentences are searched" },
    { "count", 5, "how many texts are shown", min = 1 },
})

local WORD = "[^%p%s]"
if not options.query:find(WORD) then fail "--query has no word" end

local texts = {
    "The sailors ate bread and hard cheese.", "A ship sails when the wind is fair.", "Cheese is made of milk.",
    "Bread is made of flour, water and salt.", "The sea is salt water.", "Hungry cats drink milk.",
    "The baker sells bread and cake.", "Mice like cheese, and cats like mice.", "The wind turns the mill.",
    "The mill makes flour of grain.", "Grain grows in the fields.", "Sailors fear the wind and the sea.",
}
if options.file then
    local file, why = io.open(options.file)
    if not file then fail("%s", why) end
    texts = {}
    for line in file:lines() do
        if line:find(WORD) then texts[#texts + 1] = line end
    end
    if #texts == 0 then fail("%s: there is no word in it", options.file) end
end

--- A row for each text and each word in it: text, word, count. Punctuation parts words, which are in lower case.
local function count_words(list)
    local parts = np.table { text = list }.text:lower():gsub("%p", " "):split()
    local columns = { { "text", np.arange(#list) } }
    for k, part in ipairs(parts) do columns[k + 1] = { "word" .. k, part } end
    return np.table(columns):melt { id_vars = "text", value_name = "word" }:value_counts { "text", "word" }
end

local words = count_words(texts):value_counts "word" -- and how many texts have each
words = words:with { place = np.arange(#words), rarity = np.log((1 + #texts) / (1 + words.count:astype "f64")) + 1 }

--- The matrix of tf-idf: a row of length 1 for each text, or of 0 where it has none of the words.
local function tf_idf(list)
    local t = count_words(list):join(words, { on = "word", suffix = "_texts" })
    local parts = { data = t.count * t.rarity, row = t.text, col = t.place, shape = { #list, #words } }
    local matrix = np.sparse.coo_array(parts):tocsr()
    return matrix / np.maximum(np.sqrt(matrix:power(2):sum { axis = 1 }), 1e-30):reshape(-1, 1)
end

local cosines = tf_idf(texts):dot(tf_idf({ options.query }):toarray()[0])
print(np.table({ { "cosine", np.round(cosines, 4) }, { "text", texts } }):sort("cosine", { descending = true })
      :head(options.count))
