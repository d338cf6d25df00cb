--- train_gpt.lua: trains a transformer to write a text letter by letter, then lets it write.
--
--     neap scripts/train_gpt.lua [options]                  --help lists them
--     neap --devices 2 scripts/train_gpt.lua [options]      each batch divided over two devices
--     mpirun -n 2 neap scripts/train_gpt.lua [options]      the same over two processes
--
-- The text is the Bible (Debian's package bible-kjv), the rhyme below, or any file. The model is a decoder: each letter
-- sees those before it, `context` of them at most, through blocks of attention and of a network of two layers, each on
-- what a layer norm leaves and added to what came in. A training step (loss, gradients, AdamW) is one program. The same
-- seed gives the same losses to the last bit, on any number of worker threads, and also when training was interrupted
-- and resumed. docs/training.md goes through it.
local np = require "neap"
local nn, P = np.nn, np.P

local RHYME = [[
The moon went out to count the sea,
and found one wave, and two, and three.
The tide said, moon, please count for me,
how high am I, how high is he?
The moon said, tide, you rise and fall,
and some days hardly rise at all.
When I stand half and thin and small,
the neap tide comes, the least of all.
]]

local options, fail = np.argparse(arg, {
    "Trains a transformer to write a text letter by letter, then lets it write.",
    { "text", "bible", "bible, rhyme, or a file" },
    { "steps", 2000, "training steps", min = 0 },
    { "batch", 32, "pieces of the text in a step", min = 1 },
    { "context", 128, "letters that a letter sees", min = 1 },
    { "width", 128, "features of a letter", min = 1 },
    { "layers", 4, "blocks of attention", min = 1 },
    { "heads", 4, "of attention", min = 1 },
    { "lr", 0.002, "highest learning rate; it rises for 5 % of the steps, then falls as a cosine to a tenth", min = 0 },
    { "every", 250, "steps between a look at the held-out end of the text, a checkpoint, and a new picture", min = 1 },
    { "seed", 0, "of parameters and pieces", min = 0 },
    { "write", 400, "letters to write at the end", min = 0 },
    { "checkpoint", nil, "folder in which parameters are saved" },
    { "resume", false, "goes on from the checkpoint" },
    { "plot", nil, "file of a picture (.svg, .png) of the losses" },
})
local CONTEXT, WIDTH, HEADS, LAYERS = options.context, options.width, options.heads, options.layers

if options.resume and not options.checkpoint then fail "--resume needs --checkpoint FOLDER" end
if WIDTH % (2 * HEADS) ~= 0 then fail("a width of %d cannot be divided into %d heads of pairs", WIDTH, HEADS) end

local devices = #np.devices()
local mesh = np.mesh({ devices }, { "data" })
if options.batch % devices ~= 0 then fail("a batch of %d cannot be divided by %d devices", options.batch, devices) end

-- ---- The text as numbers --------------------------------------------------------------------------------------------

local function read_all(file)
    local text = file:read "*a"
    file:close()
    return text
end

--- The verses of the Bible, each a line.
local function read_bible()
    local text = read_all(assert(io.popen "bible -f gen1:1-rev22:21 2>/dev/null")):gsub("%S+ ([^\n]*)", "%1")
    if text == "" then fail "there is no program bible; install the package bible-kjv, or try --text rhyme" end
    return text
end

local function read_text()
    if options.text == "rhyme" then return RHYME end
    if options.text == "bible" then return read_bible() end
    local file, problem = io.open(options.text, "rb")
    return file and read_all(file) or fail("%s", problem)
end

local text = read_text()
local held_out = math.max(math.floor(#text / 20), CONTEXT + 1) -- at the end, for measuring
if #text < 2 * (CONTEXT + 1) then
    fail("the text must have at least %d letters, got %d", 2 * (CONTEXT + 1), #text)
end

local bytes = np.frombuffer(text, { dtype = "u8" })
local known = np.unique(bytes) -- the letters, sorted; a letter's number is its place
local letters, VOCABULARY = known:totable(), #known
local corpus = np.searchsorted(known, bytes):astype "u8"
local training = #text - held_out

-- ---- The model ------------------------------------------------------------------------------------------------------

local function normal(deviation)
    return function(key, shape) return np.random.normal(key, shape) * deviation end
end

local small, last = { init = normal(0.02) }, { init = normal(0.02 / math.sqrt(2 * LAYERS)) }
local to_qkv, from_heads = nn.Dense(WIDTH, 3 * WIDTH, small), nn.Dense(WIDTH, WIDTH, last)
local network = nn.Sequential { nn.Dense(WIDTH, 4 * WIDTH, small), nn.gelu, nn.Dense(4 * WIDTH, WIDTH, last) }
local to_letters = nn.Dense(WIDTH, VOCABULARY, small)

--- Mean 0 and variance 1 along the last axis, then scaled and shifted.
local function layer_norm(p, x)
    local centered = x - x:mean { axis = -1, keepdims = true }
    return centered * np.rsqrt(np.square(centered):mean { axis = -1, keepdims = true } + 1e-5) * p.scale + p.shift
end

--- Attention of x (batch, length, WIDTH): every place takes from itself and the CONTEXT - 1 before it. Places are told
-- by turning queries and keys (rotary embedding). With a cache, x stands behind what the cache has.
local function attention(p, x, cache)
    local batch, length = x.shape[1], x.shape[2]
    local q, k, v = np.unstack(to_qkv(p.qkv, x):reshape(batch, length, 3, HEADS, WIDTH / HEADS), { axis = 2 })
    local start = cache and cache.length or 0
    local cos, sin = nn.rotary_tables(np.arange(length) + start, WIDTH / HEADS)
    q, k = nn.rotary_embedding(q, cos, sin), nn.rotary_embedding(k, cos, sin)
    if cache then
        cache = nn.kv_append(cache, k, v)
        k, v = cache.key, cache.value
    end
    local heads = nn.dot_product_attention(q, k, v, { is_causal = true, offset = start,
                                                      local_window_size = { CONTEXT - 1, 0 } })
    return from_heads(p.out, heads:reshape(batch, length, WIDTH)), cache
end

--- Scores of the next letter at each place of `numbers` (batch, length), and the caches with these letters.
local function model(params, numbers, caches)
    local x, new = params.letters:take(numbers, { axis = 0 }), {}
    for k, p in ipairs(params.blocks) do
        local seen
        seen, new[k] = attention(p, layer_norm(p.norm1, x), caches and caches[k])
        x = x + seen
        x = x + network(p.network, layer_norm(p.norm2, x))
    end
    return to_letters(params.head, layer_norm(params.norm, x)), new
end

local function init(key)
    local keys = np.random.split(key, 2 + 3 * LAYERS)
    local function norm() return { scale = np.ones(WIDTH), shift = np.zeros(WIDTH) } end
    local params = { letters = normal(0.02)(keys[0], { VOCABULARY, WIDTH }), head = to_letters:init(keys[1]),
                     norm = norm(), blocks = {} }
    for k = 1, LAYERS do
        params.blocks[k] = { norm1 = norm(), norm2 = norm(), qkv = to_qkv:init(keys[3 * k - 1]),
                             out = from_heads:init(keys[3 * k]), network = network:init(keys[3 * k + 1]) }
    end
    return params
end

-- ---- Training -------------------------------------------------------------------------------------------------------

local rate = np.optim.warmup(np.optim.cosine_decay(options.lr, options.steps, options.lr / 10),
                             math.ceil(options.steps / 20) + 1)
local optimizer = np.optim.adamw { lr = rate, b2 = 0.99, weight_decay = 0.1 }

--- Pieces of the text at random places, each with the letter after it: (batch, CONTEXT + 1).
local function draw(key)
    local starts = np.random.randint(key, { options.batch, 1 }, 0, training - CONTEXT)
    return np.with_sharding_constraint(corpus:take(starts + np.arange(CONTEXT + 1)), mesh, P "data")
end

local function loss_of(params, pieces)
    pieces = pieces:astype "i32"
    return nn.cross_entropy(model(params, pieces[{ {}, { 0, CONTEXT } }]), pieces[{ {}, { 1, CONTEXT + 1 } }])
end

local step = np.jit(function(params, state, key)
    local loss, gradients = np.value_and_grad(loss_of)(params, draw(key))
    params, state = optimizer:update(np.optim.clip_by_global_norm(gradients, 1), state, params)
    return params, state, loss
end, { donate = { 1, 2 } })

local evaluate = np.jit(loss_of)
local pieces = np.data.windows(corpus[{ { training, #text } }], CONTEXT + 1)
pieces = pieces[{ { 0, math.min(#pieces, 512) } }]

--- The loss on the held-out end of the text, in bits a letter.
local function held_out_bits(params)
    local sum = 0
    for part in np.data.batches({ pieces }, 32) do
        if #part % devices == 0 then part = np.device_put(part, mesh, P "data") end
        sum = sum + evaluate(params, part) * #part
    end
    return (sum / #pieces):item() / math.log(2)
end

-- ---- Writing --------------------------------------------------------------------------------------------------------

--- One letter more: the caches with the letter that was given, and one drawn by its probability.
local continue = np.jit(function(params, caches, numbers, key)
    local scores
    scores, caches = model(params, numbers, caches)
    scores = scores[{ 0, -1 }]
    return caches, (scores + np.random.gumbel(key, { VOCABULARY })):argmax():reshape(1, 1)
end)

--- The beginning of the held-out text and n letters more.
local function write(params, n, key)
    local prompt = corpus[{ { training, training + CONTEXT } }]:astype("i32"):reshape(1, CONTEXT)
    local caches, numbers = {}, prompt
    for k = 1, LAYERS do caches[k] = nn.kv_cache { 1, CONTEXT + n, HEADS, WIDTH / HEADS } end
    local written = { text:sub(training + 1, training + CONTEXT) }
    for k = 1, n do
        caches, numbers = continue(params, caches, numbers, np.random.fold_in(key, k))
        written[k + 1] = string.char(letters[numbers:item() + 1])
    end
    return table.concat(written)
end

-- ---- The run --------------------------------------------------------------------------------------------------------

local keys = np.random.split(np.random.key(options.seed), 3)
local params = np.device_put(init(keys[0]), mesh, P())
local state = np.device_put(optimizer:init(params), mesh, P())
local saved = { step = 0, steps = {}, losses = {}, bits = {} }
if options.resume then
    saved = np.io.load_checkpoint(options.checkpoint, { like = { params = params, state = state,
                                                                 seed = options.seed } })
    params, state = saved.params, saved.state
    print(("resuming after step %d of %s"):format(saved.step, options.checkpoint))
end
print(("%d letters, %d different; %d parameters"):format(#text, VOCABULARY, np.tree.size(params)))

local steps, losses, bits = saved.steps, saved.losses, saved.bits
local bar = np.progress(options.steps - saved.step, { desc = "training", leave = false })
local sum, since = 0, 0
for k in bar do
    local number, loss = saved.step + k
    params, state, loss = step(params, state, np.random.fold_in(keys[1], number))
    sum, since = sum + loss, since + 1
    if number % 8 == 0 then bar:set_postfix { loss = np.wait(loss) } end -- waits, so as not to run far ahead
    if number % options.every == 0 or number == options.steps then
        local place = #steps + 1
        steps[place], losses[place], bits[place] = number, (sum / since):item() / math.log(2), held_out_bits(params)
        print(("step %5d  bits a letter: training %.4f, held out %.4f"):format(number, losses[place], bits[place]))
        sum, since = 0, 0
        if options.checkpoint then
            np.io.save_checkpoint(options.checkpoint, { params = params, state = state, step = number, steps = steps,
                                                        losses = losses, bits = bits, seed = options.seed })
        end
        if options.plot and np.process_index() == 0 then
            local figure = np.plot.figure()
            figure:line(steps, losses, { label = "training" }):line(steps, bits, { label = "held out" })
            figure:xlabel "step":ylabel "bits a letter":legend():save(options.plot)
        end
    end
end
if options.write > 0 then print("\n" .. write(params, options.write, keys[2])) end
