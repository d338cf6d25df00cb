--- finetune_sentences.lua: tunes a sentence encoder such as MiniLM, so that sentences that belong together lie close.
--
--     neap scripts/finetune_sentences.lua --model FOLDER [options]                  --help lists the options
--     neap --devices 2 scripts/finetune_sentences.lua --model FOLDER [options]      each batch divided over two devices
--     mpirun -n 2 neap scripts/finetune_sentences.lua --model FOLDER [options]      the same over two processes
--
-- FOLDER is a model of BERT's kind as Hugging Face has them: config.json, tokenizer.json, model.safetensors. A sentence
-- becomes the mean of its tokens' last features, of length 1. Of a batch of pairs, the first sentence of each has to
-- find its second one among all that are there (Henderson et al., 2017). The pairs are the halves of verses of the
-- Bible (Debian's package bible-kjv), or those of a file. Measured is how often the second half of a verse is found
-- among those of all test verses. The same seed gives the same bits. docs/training-sentences.md goes through it.
local np = require "neap"
local nn, P = np.nn, np.P

local options, fail = np.argparse(arg, {
    "Tunes a sentence encoder such as MiniLM, so that sentences that belong together lie close.",
    { "model", nil, "folder with config.json, tokenizer.json and model.safetensors" },
    { "pairs", "bible", "bible, halves of its verses; or a file with two sentences a line, a tab between them" },
    { "train", 4096, "pairs to train on, at most", min = 1 },
    { "test", 512, "pairs to measure with", min = 2 },
    { "length", 32, "tokens of a sentence at most", min = 3 },
    { "epochs", 1, "passes over the pairs", min = 0 },
    { "batch", 32, "pairs of one step", min = 2 },
    { "lr", 5e-5, "highest learning rate of AdamW; it rises over 10 % of the steps, then falls to 0", min = 0 },
    { "scale", 20, "by which cosines are multiplied for the softmax", type = "number" },
    { "lora", 0, "rank of adapters that are trained in place of all weights; 0: all weights are trained", min = 0 },
    { "seed", 0, "of order, adapters and the choice of pairs", min = 0 },
    { "checkpoint", nil, "folder in which weights are saved after each epoch" },
    { "resume", false, "goes on from the checkpoint" },
    { "save", nil, "file for the tuned weights, .safetensors, by the names that they had" },
    { "plot", nil, "file of a picture (.svg, .png) of the loss" },
})

if not options.model then fail "--model FOLDER is missing; docs/training-sentences.md says where to find one" end
if options.resume and not options.checkpoint then fail "--resume needs --checkpoint FOLDER" end

local devices = #np.devices()
local mesh = np.mesh({ devices }, { "data" })
if options.batch % devices ~= 0 then fail("a batch of %d cannot be divided by %d devices", options.batch, devices) end

-- ---- The model ------------------------------------------------------------------------------------------------------

local config = np.io.load_json(options.model .. "/config.json")
local tokenizer = np.io.load_tokenizer(options.model .. "/tokenizer.json")
local weights = np.tree.rename(np.io.load_safetensors(options.model .. "/model.safetensors"),
                               { { "^bert%.", "" }, { "position_ids$", false }, { "^pooler.*", false } })
local HEADS, EPSILON = config.num_attention_heads, config.layer_norm_eps
if config.model_type ~= "bert" or config.hidden_act ~= "gelu" then
    fail("%s: only models of type bert with gelu, got %s with %s", options.model, tostring(config.model_type),
         tostring(config.hidden_act))
end

--- PyTorch's layout: weight (outputs, inputs).
local function linear(p, x) return nn.linear(x, np.swapaxes(p.weight, 0, 1), p.bias) end

local function norm(p, x) return nn.layer_norm(x, p.weight, p.bias, { epsilon = EPSILON }) end

--- The last features (batch, length, width) of the tokens of sentences.
local function encode_tokens(p, ids, mask)
    local batch, length = unpack(ids.shape)
    local function heads_of(x) return x:reshape(batch, length, HEADS, -1) end
    local seen = mask:gt(0):reshape(batch, 1, 1, length)
    local at = p.embeddings
    local x = at.word_embeddings.weight:take(ids, { axis = 0 }) + at.position_embeddings.weight[{ { 0, length } }]
        + at.token_type_embeddings.weight[0]
    x = norm(at.LayerNorm, x)
    for _, layer in ipairs(p.encoder.layer) do
        local own, out = layer.attention.self, layer.attention.output
        local mixed = nn.dot_product_attention(heads_of(linear(own.query, x)), heads_of(linear(own.key, x)),
                                               heads_of(linear(own.value, x)), { mask = seen })
        x = norm(out.LayerNorm, x + linear(out.dense, mixed:reshape(batch, length, -1)))
        local wide = nn.gelu(linear(layer.intermediate.dense, x), { approximate = false })
        x = norm(layer.output.LayerNorm, x + linear(layer.output.dense, wide))
    end
    return x
end

--- One vector of length 1 for each sentence: (batch, width).
local function encode(p, ids, mask)
    local weight = mask:astype("f32"):expand_dims(-1)
    local mean = (encode_tokens(p, ids, mask) * weight):sum { axis = 1 } / weight:sum { axis = 1 }
    return mean / np.linalg.norm(mean, { axis = -1, keepdims = true })
end

-- ---- Pairs ----------------------------------------------------------------------------------------------------------

--- The halves of a verse, cut behind the mark that is next to its middle; nil if one would be of less than 20 letters.
local function halves(verse)
    local middle, cut = #verse / 2, nil
    for place in verse:gmatch "()[,;:.?!] " do
        if not cut or math.abs(place - middle) < math.abs(cut - middle) then cut = place end
    end
    if not cut or cut < 20 or #verse - cut < 20 then return nil end
    return verse:sub(1, cut), verse:sub(cut + 2)
end

--- Lists of first and second sentences.
local function read_pairs()
    local first, second, number = {}, {}, 0
    local open = options.pairs == "bible" and io.popen or io.open
    local file, problem = open(options.pairs == "bible" and "bible -f gen1:1-rev22:21 2>/dev/null" or options.pairs)
    if not file then fail("%s", problem) end
    for line in file:lines() do
        local a, b
        number = number + 1
        if options.pairs == "bible" then
            a, b = halves(line:match "%S+ (.*)")
        else
            a, b = line:match "^([^\t]+)\t([^\t]+)$"
            if not a then fail("%s:%d: two sentences with a tab between them are expected", options.pairs, number) end
        end
        if a then first[#first + 1], second[#second + 1] = a, b end
    end
    file:close()
    if number == 0 and options.pairs == "bible" then
        fail "there is no program bible; install the package bible-kjv, or give a file: --pairs FILE"
    end
    if #first < options.test + options.batch then
        fail("there are %d pairs, and %d are to be tested with and %d make a batch", #first, options.test,
             options.batch)
    end
    return first, second
end

--- { ids, mask } of texts, in an order, from one place of it to before another.
local function tokens_of(texts, order, from, to)
    local chosen = {}
    for k = from, to - 1 do chosen[#chosen + 1] = texts[order[k + 1] + 1] end
    local ids, mask = tokenizer:encode_batch(chosen, { max_length = options.length, length = options.length })
    return { ids, mask }
end

local key = np.random.key(options.seed)
local first, second = read_pairs()
local order = np.random.permutation(np.random.fold_in(key, 0), #first):totable()
local count = math.min(options.train, #first - options.test)
local test_first, test_second = tokens_of(first, order, 0, options.test), tokens_of(second, order, 0, options.test)
local train_first = tokens_of(first, order, options.test, options.test + count)
local train_second = tokens_of(second, order, options.test, options.test + count)
local examples = { train_first[1], train_first[2], train_second[1], train_second[2] }

-- ---- Training -------------------------------------------------------------------------------------------------------

local function divide(...)
    return unpack(np.device_put({ ... }, mesh, (...).shape[1] % devices == 0 and P "data" or P()))
end

local per_epoch = np.data.count(count, options.batch, { drop_last = true })
local steps = per_epoch * options.epochs
local rate = np.optim.warmup(np.optim.polynomial_decay(options.lr, math.max(steps, 1), 0, 1), math.ceil(steps / 10) + 1)
local optimizer = np.optim.adamw { lr = rate }

weights = np.device_put(weights, mesh, P())
local lora = options.lora > 0 and nn.lora { rank = options.lora, which = "dense%.weight$" }
local params = lora and np.device_put(lora:init(np.random.fold_in(key, 1), weights), mesh, P()) or weights
local state = np.device_put(optimizer:init(params), mesh, P())

local function tuned(p) return lora and lora:merge(weights, p) or p end

local step = np.jit(function(p, s, ids, mask, other_ids, other_mask)
    local loss, gradients = np.value_and_grad(function(q)
        q = tuned(q)
        local scores = encode(q, ids, mask):matmul(np.swapaxes(encode(q, other_ids, other_mask), 0, 1)) * options.scale
        local own = np.arange(#ids)
        return (nn.cross_entropy(scores, own) + nn.cross_entropy(np.swapaxes(scores, 0, 1), own)) / 2
    end)(p)
    p, s = optimizer:update(np.optim.clip_by_global_norm(gradients, 1), s, p)
    return p, s, loss
end, lora and { donate = { 1, 2 } } or { donate = { 2 } })

local embed = np.jit(function(p, ids, mask) return encode(tuned(p), ids, mask) end)

local function embed_all(p, tokens)
    local parts = {}
    for ids, mask in np.data.batches(tokens, 64) do parts[#parts + 1] = embed(p, divide(ids, mask)) end
    return np.concatenate(parts, { axis = 0 })
end

--- How often the second sentence of a test pair is the nearest to the first, of all of them.
local function found(p)
    local scores = embed_all(p, test_first):matmul(np.swapaxes(embed_all(p, test_second), 0, 1))
    return scores:argmax { axis = -1 }:eq(np.arange(options.test)):mean():item()
end

local saved = { epoch = 0, losses = {} }
if options.resume then
    saved = np.io.load_checkpoint(options.checkpoint, { like = { params = params, state = state,
                                                                 seed = options.seed } })
    params, state = saved.params, saved.state
    print(("resuming after epoch %d of %s"):format(saved.epoch, options.checkpoint))
end
print(("%d pairs for training, %d for testing; %d parameters, of which %d are trained"):format(
    count, options.test, np.tree.size(weights), np.tree.size(params)))
if saved.epoch == 0 then print(("before       found %.4f"):format(found(params))) end

local losses = saved.losses
for epoch = saved.epoch + 1, options.epochs do
    local batches = np.data.batches(examples, options.batch,
                                    { key = np.random.fold_in(key, epoch + 1), drop_last = true })
    local bar = np.progress(np.data.prefetch(batches), { total = per_epoch, desc = "epoch " .. epoch, leave = false })
    local sum, since, loss = 0, 0, nil
    for a, b, c, d in bar do
        params, state, loss = step(params, state, divide(a, b, c, d))
        sum, since = sum + loss, since + 1
        bar:set_postfix { loss = np.wait(loss) } -- waits, so as not to run far ahead
        if since == 8 then losses[#losses + 1], sum, since = (sum / since):item(), 0, 0 end
    end
    print(("epoch %d/%d  found %.4f  loss %.6f"):format(epoch, options.epochs, found(params), loss:item()))
    if options.checkpoint then
        np.io.save_checkpoint(options.checkpoint, { params = params, state = state, epoch = epoch, losses = losses,
                                                    seed = options.seed })
    end
    if options.plot and np.process_index() == 0 then
        np.plot.figure():line(np.arange(1, #losses + 1) * 8, losses):xlabel "step":ylabel "loss":save(options.plot)
    end
end
if options.save and np.process_index() == 0 then
    np.io.save_safetensors(options.save, np.tree.named(tuned(params)))
end
