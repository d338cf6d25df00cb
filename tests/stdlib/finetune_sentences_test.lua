--- finetune_sentences_test.lua (release build only): scripts/finetune_sentences.lua, with a small model that the test
-- makes, by the names of Hugging Face's BERT.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local training = require "tests.lib.training"

local WORDS = { "sun", "moon", "tide", "sea", "wave", "sand", "ship", "star" }
local WIDTH, LAYERS, PLACES = 16, 2, 12

local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir " .. folder)

local function make_model()
    local vocabulary = { ["[UNK]"] = 0, ["[CLS]"] = 1, ["[SEP]"] = 2, ["[PAD]"] = 3 }
    for k, word in ipairs(WORDS) do vocabulary[word] = 3 + k end
    np.io.save_json(folder .. "/tokenizer.json", {
        model = { type = "WordPiece", vocab = vocabulary, unk_token = "[UNK]" },
        pre_tokenizer = { type = "Whitespace" }, padding = { pad_id = 3, pad_token = "[PAD]" },
    })
    np.io.save_json(folder .. "/config.json", { model_type = "bert", hidden_act = "gelu", num_attention_heads = 2,
                                                layer_norm_eps = 1e-12 })
    local weights, drawn = {}, 0
    local function add(name, ...)
        drawn = drawn + 1
        weights[name] = np.random.normal(np.random.key(drawn), { ... }) * 0.2
    end
    local function norm(name)
        weights[name .. ".LayerNorm.weight"], weights[name .. ".LayerNorm.bias"] = np.ones(WIDTH), np.zeros(WIDTH)
    end
    local function dense(name, outputs, inputs)
        add(name .. ".weight", outputs, inputs)
        add(name .. ".bias", outputs)
    end
    add("embeddings.word_embeddings.weight", 4 + #WORDS, WIDTH)
    add("embeddings.position_embeddings.weight", PLACES, WIDTH)
    add("embeddings.token_type_embeddings.weight", 2, WIDTH)
    weights["embeddings.position_ids"] = np.arange(PLACES, { dtype = "i64" }):reshape(1, PLACES)
    norm "embeddings"
    for k = 0, LAYERS - 1 do
        local layer = ("encoder.layer.%d."):format(k)
        for _, name in ipairs { "query", "key", "value" } do dense(layer .. "attention.self." .. name, WIDTH, WIDTH) end
        dense(layer .. "attention.output.dense", WIDTH, WIDTH)
        norm(layer .. "attention.output")
        dense(layer .. "intermediate.dense", 2 * WIDTH, WIDTH)
        dense(layer .. "output.dense", WIDTH, 2 * WIDTH)
        norm(layer .. "output")
    end
    np.io.save_safetensors(folder .. "/model.safetensors", weights)
end

--- Lines of two sentences: each word of the first has its neighbour in the list of words in the second.
local function make_pairs()
    local lines = {}
    for k = 0, 119 do
        local a, b = {}, {}
        for place = 0, 2 do
            local word = (k * 7 + place * (k % 5 + 1)) % #WORDS
            a[place + 1], b[place + 1] = WORDS[word + 1], WORDS[(word + 1) % #WORDS + 1]
        end
        lines[k + 1] = table.concat(a, " ") .. "\t" .. table.concat(b, " ")
    end
    return process.file(table.concat(lines, "\n") .. "\n")
end

make_model()
local small = { "--model", folder, "--pairs", make_pairs(), "--test", "16", "--length", "8", "--batch", "8", "--epochs",
                "3", "--lr", "0.003", "--scale", "5" }

training.check("finetune_sentences", small, { value = "found %S+  loss (%S+)", less = true, close = 0.1 })

check.test("adapters, and weights by the names that they had", function()
    local path = folder .. "/tuned.safetensors"
    local status, out, err = process.run_neap { "scripts/finetune_sentences.lua", "--lora", "2", "--save", path,
                                                unpack(small) }
    check.equal({ status, err }, { 0, "" })
    local all, trained = out:match "(%d+) parameters, of which (%d+) are trained"
    check.ok(tonumber(trained) < tonumber(all) / 2, out)
    local before, after = np.io.load_safetensors(folder .. "/model.safetensors"), np.io.load_safetensors(path)
    before["embeddings.position_ids"] = nil
    for name, weight in pairs(before) do
        check.equal(after[name].shape, weight.shape, name)
        check.equal(np.array_equal(after[name], weight), not name:find "dense%.weight$", name)
    end
end)

check.test("what it refuses of a model and of pairs", function()
    local function refuses(message, ...)
        local status, _, err = process.run_neap { "scripts/finetune_sentences.lua", ... }
        check.equal(status, 1)
        check.ok(err:find(message, 1, true), err)
    end
    refuses "--model FOLDER is missing"
    refuses("/nowhere/config.json", "--model", "/nowhere")
    refuses("no/such/pairs", "--model", folder, "--pairs", "/no/such/pairs")
    local path = process.file "one\ttwo\nalone\n"
    refuses(path .. ":2: two sentences with a tab between them", "--model", folder, "--pairs", path)
    refuses("there are 120 pairs, and 512 are to be tested with", "--model", folder, "--pairs", small[4])
end)

os.execute("rm -rf " .. folder)
process.cleanup()
check.done()
