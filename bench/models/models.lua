--- models.lua: neap's side of bench/models/run: reads each model of models.txt, runs the model on its peer's inputs,
-- and compares all results; with --time, neap and the peer take turns in the same rounds, by CPU time.
--
-- The peer is a process of reference.py, told line by line what to do. An ONNX model takes three steps here:
-- np.io.load_onnx, np.jit, the call. A new kind of model is a function of `kinds` below and one of PEERS there.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local measure = require "bench.measure"
local nn = np.nn

local options, fail = np.argparse(arg, {
    "Runs models in neap and in other systems, compares the results and the times.",
    { "only", "", "models whose name matches this Lua pattern" },
    { "time", false, "measures times, too" },
    { "rounds", 9, "of each measurement", min = 1 },
    { "cache", nil, "folder with the models" },
    { "python", nil, "the Python that runs reference.py" },
})
if not options.cache or not options.python then fail "bench/models/run starts this script" end

measure.rounds, measure.cpu, measure.slice_ns = options.rounds, true, 1e8

-- ---- The peer -------------------------------------------------------------------------------------------------------

--- Starts reference.py; returns a function that asks for an answer of one line.
local function start_peer()
    local pipe = os.tmpname()
    os.remove(pipe)
    assert(os.execute(("mkfifo '%s'"):format(pipe)) == 0, "bench/models: mkfifo failed")
    local command = "exec '%s' bench/models/reference.py serve '%s' <'%s'"
    local answers = io.popen(command:format(options.python, options.cache, pipe))
    local requests = assert(io.open(pipe, "w"))
    os.remove(pipe)
    local function answer() return answers:read "*l" or error("bench/models: reference.py ended", 0) end
    assert(answer() == "ready")
    return function(...)
        requests:write(table.concat({ ... }, "\t"), "\n")
        requests:flush()
        local text = answer()
        if text:find "^no\t" then error("the peer: " .. text:sub(4), 0) end
        return text
    end
end

--- The list of arrays in a file of reference.py.
local function load_list(name, what)
    local arrays, list = np.io.load(("%s/data/%s.%s.npz"):format(options.cache, name, what)), {}
    while arrays[tostring(#list + 1)] do list[#list + 1] = arrays[tostring(#list + 1)] end
    return list
end

-- ---- The models: each kind gives a function that returns a list of results ------------------------------------------

local kinds = {}

--- Inputs without axes are numbers of the jitted function, as in a script: an If on such a number takes its branch when
-- the function is recorded.
function kinds.onnx(path, inputs)
    local f, params = np.io.load_onnx(path)
    local arrays, numbers = {}, {}
    for k, x in ipairs(inputs) do
        if #x.shape == 0 then numbers[k] = tonumber(x:item()) else arrays[#arrays + 1] = x end
    end
    local run = np.jit(function(p, list)
        local given, taken = {}, 0
        for k = 1, #inputs do
            if not numbers[k] then taken = taken + 1 end
            given[k] = numbers[k] or list[taken]
        end
        return f(p, unpack(given))
    end, { keep = 1 })
    return function()
        local outputs = run(params, arrays)
        if #f.outputs == 1 then return { outputs } end
        local list = {}
        for k, output in ipairs(f.outputs) do list[k] = outputs[output.name] end
        return list
    end
end
kinds.hollow = kinds.onnx

--- The encoder of scripts/finetune_sentences.lua.
function kinds.sentences(path, inputs)
    local config = np.io.load_json((path:gsub("[^/]+$", "config.json")))
    local params = np.tree.rename(np.io.load_safetensors(path), { { "position_ids$", false }, { "^pooler.*", false } })
    local heads, epsilon = config.num_attention_heads, config.layer_norm_eps

    local function linear(p, x) return nn.linear(x, np.swapaxes(p.weight, 0, 1), p.bias) end
    local function norm(p, x) return nn.layer_norm(x, p.weight, p.bias, { epsilon = epsilon }) end

    local run = np.jit(function(p, ids, mask)
        local batch, length = unpack(ids.shape)
        local function heads_of(x) return x:reshape(batch, length, heads, -1) end
        local seen, at = mask:gt(0):reshape(batch, 1, 1, length), p.embeddings
        local x = norm(at.LayerNorm, at.word_embeddings.weight:take(ids, { axis = 0 })
            + at.position_embeddings.weight[{ { 0, length } }] + at.token_type_embeddings.weight[0])
        for _, layer in ipairs(p.encoder.layer) do
            local own, out = layer.attention.self, layer.attention.output
            local mixed = nn.dot_product_attention(heads_of(linear(own.query, x)), heads_of(linear(own.key, x)),
                                                   heads_of(linear(own.value, x)), { mask = seen })
            x = norm(out.LayerNorm, x + linear(out.dense, mixed:reshape(batch, length, -1)))
            local wide = nn.gelu(linear(layer.intermediate.dense, x), { approximate = false })
            x = norm(layer.output.LayerNorm, x + linear(layer.output.dense, wide))
        end
        local weight = mask:astype("f32"):expand_dims(-1)
        local mean = (x * weight):sum { axis = 1 } / weight:sum { axis = 1 }
        return mean / np.linalg.norm(mean, { axis = -1, keepdims = true })
    end, { keep = 1 })
    return function() return { run(params, unpack(inputs)) } end
end

--- The network of scripts/train_gpt.lua: letters one by one, each the likeliest behind those before it.
function kinds.letters(path, inputs, words)
    local weights, count = np.io.load_safetensors(path), tonumber(words[1])
    local params = np.tree.nest(weights)
    local width, heads = params.letters.shape[2], 4

    local function linear(p, x) return x:matmul(p.w) + p.b end
    local function norm(p, x) return nn.layer_norm(x, p.scale, p.shift) end

    local function attention(p, x, cache)
        local q, k, v = np.unstack(linear(p.qkv, x):reshape(1, 1, 3, heads, width / heads), { axis = 2 })
        local cos, sin = nn.rotary_tables(np.arange(1) + cache.length, width / heads)
        q, k = nn.rotary_embedding(q, cos, sin), nn.rotary_embedding(k, cos, sin)
        local offset = cache.length
        cache = nn.kv_append(cache, k, v)
        local mixed = nn.dot_product_attention(q, cache.key, cache.value, { is_causal = true, offset = offset })
        return linear(p.out, mixed:reshape(1, 1, width)), cache
    end

    local continue = np.jit(function(p, caches, number)
        local x, new = p.letters:take(number, { axis = 0 }), {}
        for k, block in ipairs(p.blocks) do
            local seen
            seen, new[k] = attention(block, norm(block.norm1, x), caches[k])
            x = x + seen
            x = x + linear(block.network[3], nn.gelu(linear(block.network[1], norm(block.norm2, x))))
        end
        local scores = linear(p.head, norm(p.norm, x))[{ 0, -1 }]
        return new, scores, scores:argmax():reshape(1, 1)
    end, { donate = { 2 } })

    return function()
        local caches, written, number, scores = {}, {}, inputs[1], nil
        for k = 1, #params.blocks do caches[k] = nn.kv_cache { 1, count, heads, width / heads } end
        for k = 1, count do
            caches, scores, number = continue(params, caches, number)
            written[k] = number:item()
        end
        return { np.array(written, { dtype = "i32" }), scores }
    end
end

function kinds.tokenizer(path)
    local tokenizer = np.io.load_tokenizer(path)
    local lines = np.io.load_json(options.cache .. "/data/lines.json")
    return function()
        local ids, lengths = {}, {}
        for k, line in ipairs(lines) do
            ids[k] = tokenizer:encode(line)
            lengths[k] = #ids[k]
        end
        return { np.concatenate(ids), np.array(lengths, { dtype = "i32" }) }
    end
end

-- ---- Comparing ------------------------------------------------------------------------------------------------------

local function form(x) return ("%s (%s)"):format(x.dtype, table.concat(x.shape, ", ")) end

--- The greatest difference of two lists of arrays, absolute, and as a part of the greatest magnitude of its array.
local function difference(ours, theirs)
    local absolute, relative = 0, 0
    if #ours ~= #theirs then error(("%d results instead of %d"):format(#ours, #theirs), 0) end
    for k, x in ipairs(theirs) do
        local y = ours[k]
        local is, wanted = form(y), form(x)
        if is ~= wanted then error(("result %d is %s instead of %s"):format(k, is, wanted), 0) end
        if x.size > 0 then
            x, y = x:astype "f64", y:astype "f64"
            local most, scale = np.abs(x - y):max():item(), np.abs(x):max():item()
            local part = most == 0 and 0 or most / scale
            -- A NaN has to count as the greatest difference.
            absolute = most ~= most and most or math.max(most, absolute)
            relative = part ~= part and part or math.max(part, relative)
        end
    end
    return absolute, relative
end

local ask = start_peer()

--- Runs a model; returns the texts of its columns, and whether it is within its tolerance.
local function row_of(name, kind, package, tolerance, words)
    local path, nodes, peer = ask("model", name):match "^ok\t(.*)\t(.*)\t(.*)$"
    local run = kinds[kind](path, load_list(name, "inputs"), words)
    local absolute, relative = difference(run(), load_list(name, "outputs"))
    local agrees = relative <= tolerance
    local row = { name, nodes, ("%.1e"):format(absolute), ("%.1e"):format(relative),
                  agrees and "yes" or ("no, > %.0e"):format(tolerance) }
    if options.time then
        local function call() np.wait(run()) end
        for _ = 1, 5 do call() end -- kernels become native code before the rounds
        local ratio, ours, theirs = measure.pair(
            { timer = function(count) return assert(tonumber((ask("time", count)))) end }, call)
        for _, times in ipairs { theirs, ours } do
            row[#row + 1] = ("%.3g"):format(measure.min(times) / 1e6)
            row[#row + 1] = ("%.3g"):format(measure.median(times) / 1e6)
        end
        row[#row + 1] = ("%.2f"):format(ratio)
    end
    row[#row + 1], row[#row + 2] = peer, package
    return row, agrees
end

-- ---- The table ------------------------------------------------------------------------------------------------------

local TITLES = { "model", "nodes", "absolute", "relative", "agrees", "peer", "package" }
local WIDTHS = { -15, 5, 8, 8, -11, -11, 0 }
if options.time then
    TITLES = { "model", "nodes", "absolute", "relative", "agrees", "neap", "median", "peer", "median", "ratio", "peer",
               "package" }
    WIDTHS = { -15, 5, 8, 8, -11, 7, 7, 7, 7, 6, -11, 0 }
end

local function print_row(row)
    local parts = {}
    for k, text in ipairs(row) do parts[k] = ("%" .. (WIDTHS[k] ~= 0 and WIDTHS[k] or "") .. "s"):format(text) end
    print(table.concat(parts, " "))
    io.stdout:flush()
end

print_row(TITLES)
local wrong, count = 0, 0
for line in io.lines "bench/models/models.txt" do
    local words = {}
    for word in line:gmatch "%S+" do words[#words + 1] = word end
    local name, kind, package, _, tolerance = unpack(words)
    if name and not line:find "^#" and name:find(options.only) then
        local ok, row, agrees = pcall(row_of, name, kind, package, tonumber(tolerance), { unpack(words, 6) })
        if not ok then print(("%-15s failed: %s"):format(name, row)) else print_row(row) end
        count = count + 1
        if not ok or not agrees then wrong = wrong + 1 end
        collectgarbage()
        collectgarbage()
    end
end
print(("%d models, %d of them wrong"):format(count, wrong))
if options.time then
    print "Times: ms of CPU a call, least and median of the rounds, one thread each; ratio: the peer's time / neap's."
end
os.exit(wrong == 0 and 0 or 1)
