--- transformer.lua: trains a small transformer to write a text letter by letter, then lets it write.
--
--     neap scripts/transformer.lua [--steps N] [--batch N] [--lr X] [--seed N] [--text FILE] [--write N]
--
-- The text is the rhyme below, or any file. The model is a decoder: each letter sees the CONTEXT letters before it,
-- through LAYERS blocks of attention and a network of two layers, each on what a layer norm leaves and added to what
-- came in. A training step (loss, gradients, Adam) is one program, which puts the new parameters into the memory of the
-- old ones. The same seed gives the same losses to the last bit, on any number of threads. docs/training.md goes
-- through it.
local np = require "neap"
local nn = np.nn

local CONTEXT, WIDTH, HEADS, LAYERS = 32, 64, 4, 2

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

-- ---- Options --------------------------------------------------------------------------------------------------------

local options = { steps = 300, batch = 16, lr = 3e-3, seed = 0, write = 200, text = "" }

for k = 1, #arg, 2 do
    local name, value = arg[k]:match "^%-%-(%a+)$", arg[k + 1]
    local number = type(options[name]) == "number"
    if number then value = tonumber(value) end
    if not name or options[name] == nil or not value or (number and name ~= "lr" and (value < 0 or value % 1 ~= 0)) then
        io.stderr:write("usage: neap scripts/transformer.lua [--steps N] [--batch N] [--lr X] [--seed N] ",
                        "[--text FILE] [--write N]\n")
        os.exit(2)
    end
    options[name] = value
end

-- ---- The text as numbers --------------------------------------------------------------------------------------------

local function read(path)
    local file, problem = io.open(path, "rb")
    if not file then
        io.stderr:write("transformer: ", problem, "\n")
        os.exit(1)
    end
    local text = file:read "*a"
    file:close()
    return text
end

local text = options.text == "" and RHYME or read(options.text)
if #text < CONTEXT + 2 then
    io.stderr:write(("transformer: the text must have at least %d letters, got %d\n"):format(CONTEXT + 2, #text))
    os.exit(1)
end

local letters, number_of = {}, {} -- number → letter, from 0; and back
do
    local seen = {}
    for letter in text:gmatch "." do seen[letter] = true end
    local sorted = {}
    for letter in pairs(seen) do sorted[#sorted + 1] = letter end
    table.sort(sorted)
    for k, letter in ipairs(sorted) do letters[k - 1], number_of[letter] = letter, k - 1 end
end
local VOCABULARY = #letters + 1

local function encode(part)
    local numbers = {}
    for k = 1, #part do numbers[k] = number_of[part:sub(k, k)] end
    return np.array(numbers, { dtype = "i32" })
end

-- ---- The model ------------------------------------------------------------------------------------------------------

--- Mean 0 and variance 1 along the last axis, then scaled and shifted.
local function layer_norm(p, x)
    local centered = x - x:mean { axis = -1, keepdims = true }
    return centered * np.rsqrt(np.square(centered):mean { axis = -1, keepdims = true } + 1e-5) * p.scale + p.shift
end

local to_qkv, from_heads = nn.Dense(WIDTH, 3 * WIDTH, { bias = false }), nn.Dense(WIDTH, WIDTH)
local network = nn.Sequential { nn.Dense(WIDTH, 4 * WIDTH), nn.gelu, nn.Dense(4 * WIDTH, WIDTH) }
local to_letters = nn.Dense(WIDTH, VOCABULARY)

--- Attention of x (batch, length, WIDTH): every place takes from itself and those before it.
local function attention(p, x)
    local batch, length = x.shape[1], x.shape[2]
    local qkv = to_qkv(p.qkv, x):reshape(batch, length, 3, HEADS, WIDTH / HEADS):permute_dims { 2, 0, 3, 1, 4 }
    local q, k, v = qkv[0], qkv[1], qkv[2] -- each (batch, HEADS, length, WIDTH / HEADS)
    local scores = q:matmul(np.swapaxes(k, -1, -2)) / math.sqrt(WIDTH / HEADS)
    local visible = np.tri(length):gt(0)
    local heads = np.softmax(np.where(visible, scores, -1e9)):matmul(v)
    return from_heads(p.out, np.swapaxes(heads, 1, 2):reshape(batch, length, WIDTH))
end

local function block(p, x)
    x = x + attention(p, layer_norm(p.norm1, x))
    return x + network(p.network, layer_norm(p.norm2, x))
end

--- Scores of the next letter at each place of `numbers` (batch, length).
local function model(params, numbers)
    local x = params.letters:take(numbers, { axis = 0 }) + params.places[{ { 0, numbers.shape[2] } }]
    for _, p in ipairs(params.blocks) do x = block(p, x) end
    return to_letters(params.head, layer_norm(params.norm, x))
end

local function init(key)
    local keys = np.random.split(key, 3 + 3 * LAYERS)
    local function norm() return { scale = np.ones(WIDTH), shift = np.zeros(WIDTH) } end
    local params = {
        letters = np.random.normal(keys[0], { VOCABULARY, WIDTH }) * 0.1,
        places = np.random.normal(keys[1], { CONTEXT, WIDTH }) * 0.1,
        head = to_letters:init(keys[2]), norm = norm(), blocks = {},
    }
    for k = 1, LAYERS do
        params.blocks[k] = { norm1 = norm(), norm2 = norm(), qkv = to_qkv:init(keys[3 * k]),
                             out = from_heads:init(keys[3 * k + 1]), network = network:init(keys[3 * k + 2]) }
    end
    return params
end

-- ---- Training -------------------------------------------------------------------------------------------------------

local optimizer = np.optim.adamw { lr = options.lr }
local corpus = encode(text)

--- Pieces of the text at random places, each with the letter after it: (batch, CONTEXT + 1).
local function draw(key)
    local starts = np.random.randint(key, { options.batch, 1 }, 0, #text - CONTEXT)
    return corpus:take(starts + np.arange(CONTEXT + 1))
end

local loss_and_gradients = np.value_and_grad(function(params, pieces)
    local logits = model(params, pieces[{ {}, { 0, CONTEXT } }])
    return nn.cross_entropy(logits, pieces[{ {}, { 1, CONTEXT + 1 } }])
end)

local step = np.jit(function(params, state, key)
    local loss, gradients = loss_and_gradients(params, draw(key))
    params, state = optimizer:update(np.optim.clip_by_global_norm(gradients, 1), state, params)
    return params, state, loss
end, { donate = { 1, 2 } })

--- The beginning of the text and n letters more, each drawn by its probability after those before.
local function write(params, n, key)
    local draw_next = np.jit(function(p, numbers, k)
        local scores = model(p, numbers)[{ 0, -1 }]
        return (scores + np.random.gumbel(k, { VOCABULARY })):argmax()
    end)
    local numbers, written = {}, { text:sub(1, CONTEXT) }
    for k = 1, CONTEXT do numbers[k] = number_of[text:sub(k, k)] end
    for k = 1, n do
        local chosen = draw_next(params, np.array({ numbers }, { dtype = "i32" }), np.random.fold_in(key, k)):item()
        table.remove(numbers, 1)
        numbers[CONTEXT], written[k + 1] = chosen, letters[chosen]
    end
    return table.concat(written)
end

local keys = np.random.split(np.random.key(options.seed), 3)
local params = init(keys[0])
local state = optimizer:init(params)
print(("%d letters, %d different; %d parameters"):format(#text, VOCABULARY, np.tree.size(params)))
for k = 1, options.steps do
    local loss
    params, state, loss = step(params, state, np.random.fold_in(keys[1], k))
    if k % 50 == 0 or k == 1 or k == options.steps then np.printf("step %4d  loss %.4f\n", k, loss) end
end
if options.write > 0 then print("\n" .. write(params, options.write, keys[2])) end
