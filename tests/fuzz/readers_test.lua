--- readers_test.lua: hostile files, drawn at random. Good files of every kind that np.io reads are cut, and their bytes
-- are changed, removed, repeated and put from one place to another; text files are put together at random, and read
-- with random options. A file is read, or refused with one error that names it and the line of the call; the session
-- goes on.
--
--     NEAP_FUZZ_KEEP      a path: the file that is being tried stands there when the process dies
local ffi = require "ffi"
local zip = require "neap.files.zip"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local np = require "neap"

local seconds, seed = seeds.seconds(4), seeds.first
local keep = os.getenv "NEAP_FUZZ_KEEP"
local path = keep or os.tmpname()
local LEAST = 300 -- files of each run, however slow the build
local MEMORY = 2 ^ 30

local function random(n)
    seed = (seed * 16807) % 2147483647
    return math.floor(seed / 8) % n + 1
end

local function pick(list) return list[random(#list)] end

local function contents(name)
    local file = assert(io.open(name, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end

-- ---- Files ----------------------------------------------------------------------------------------------------------

--- Computes something of all elements, so that what is mapped is read.
local function array(value)
    if not np.is_array(value) then return end
    local _ = np.sum((value.dtype:find "^c" and value.real or value):astype "f32"):wait()
end

local function load(name) array((np.io.load(name))) end

local function map(name) array((np.io.load(name, { mmap_mode = "r" }))) end

local function tensors(options)
    return function(name)
        for _, x in pairs((np.io.load_safetensors(name, options))) do array(x) end
    end
end

--- Computes something of all arrays of a tree.
local function arrays(t)
    for _, x in ipairs(np.tree.leaves(t)) do array(x) end
end

local function torch(options)
    return function(name) arrays(np.io.load_torch(name, options)) end
end

local function gguf(options)
    return function(name) arrays((np.io.load_gguf(name, options))) end
end

local function tokenizer(name)
    local t = np.io.load_tokenizer(name)
    local ids = t:encode("The caf\195\169's 12 foxes, \228\184\173\230\150\135!", { pair = "x" })
    t:decode(ids)
    t:encode_batch { "a", "" }
end

--- Loads a network, and runs it on ones: what goes wrong there is an error of the network's, whatever it says.
local function network(name)
    local f, params = np.io.load_onnx(name)
    for _, x in pairs(params) do array(x) end
    local inputs = {}
    for k, info in ipairs(f.inputs) do
        local shape = {}
        for j, n in ipairs(info.shape or {}) do shape[j] = type(n) == "number" and math.min(n, 20) or 2 end
        inputs[k] = np.ones(shape, { dtype = info.dtype })
    end
    pcall(function()
        local results = f(params, unpack(inputs))
        for _, x in pairs(np.is_array(results) and { results } or results) do array(x) end
    end)
end

local files = {}

--- Adds golden files, which `read` reads.
local function add(folder, read, names)
    for name in names:gmatch "%S+" do
        files[#files + 1] = { text = contents("tests/golden/" .. folder .. name), read = read }
    end
end

add("io/", load, "f32.npy fortran3.npy version2.npy version3.npy bool.npy stored.npz deflated.npz f32.idx quotes.npy "
    .. "images.idx3-ubyte.gz")
add("io/", map, "f64.npy fortran3.npy bool.npy i64_big_endian.npy")
add("safetensors/", tensors(), "mixed.safetensors f64.safetensors metadata.safetensors")
add("safetensors/", tensors { mmap_mode = "r" }, "mixed.safetensors")
add("torch/", torch(), "checkpoint.pt strides.pt protocol4.pt deflated.pt wide.pt bad_pickle_loop.pt")
add("torch/", torch { mmap_mode = "r" }, "dtypes.pt")
add("gguf/", gguf(), "kinds.gguf small.gguf bad_overlap.gguf")
add("gguf/", gguf { keep_halves = true }, "small.gguf")
add("", function(name) np.io.load_json(name) end, "tables.json")
add("tokenizers/", tokenizer, "bert.json roberta.json llama3.json t5.json plain.json unigram.json")
add("images/", np.io.load_image, "rgb.png la16.png interlaced.png transparent.png bits.png rgb.jpg progressive.jpg "
    .. "subsampled.jpg gray.jpg")
add("wav/", function(name) array((np.io.load_wav(name))) end, "u8.wav i16.wav i24_stereo.wav f32.wav chunks.wav "
    .. "extensible.wav")
add("onnx/", network, "images.onnx series.onnx texts.onnx quantized.onnx functions.onnx")
add("onnx/", function(name) np.io.load_onnx(name) end, "control.onnx external.onnx collecting.onnx "
    .. "growing.onnx branches.onnx")
add("tables/", function(name) return tostring(np.io.read_csv(name)) end, "quoted.csv semicolon.csv unix.csv")

--- Reads a file of columns with random options, and looks at all of them.
local function columns(kind)
    return function(name)
        local options = { mmap_mode = kind == "feather" and random(2) == 1 and "r" or nil,
                          fill = random(3) == 1 and 0 or nil }
        local t = np.io["read_" .. kind](name, options)
        for _, column in ipairs(t.columns) do
            if np.is_array(t:column(column)) then array(t:column(column)) end
        end
        return tostring(t)
    end
end

add("columnar/", columns "feather", "holes.arrow lz4_long.arrow zstd_long.arrow stream.arrows delta.arrow "
    .. "replaced.arrows nested.arrow pandas.feather")
add("columnar/", columns "parquet", "holes.parquet plain.parquet gzip.parquet zstd.parquet lz4.parquet pages2.parquet "
    .. "delta.parquet lengths.parquet split.parquet int96.parquet required.parquet long_delta.parquet "
    .. "decimal.parquet nested.parquet")

local function records(name)
    return tostring(np.io.read_jsonl(name, { parse_dates = random(3) == 1 and "day" or nil }))
end

files[#files + 1] = { read = records, text = [[
{"city": "Bern, \"N\"", "n": 12, "price": 3.25, "day": "2024-02-29", "open": true, "more": {"a": [1, null, "\u00e9"]}}
{"city": null, "n": 18446744073709551615, "price": -1e-5, "day": "2024-03-01T12:30:00Z", "open": false}

{"n": 0, "price": 7, "day": null, "more": []}
]] }

--- Adds the pickle of a checkpoint, to be packed with its storages again, since a checksum would refuse changes.
local function add_pickle(name)
    local archive = contents("tests/golden/torch/" .. name)
    local whole = { data = ffi.cast("const uint8_t *", archive), size = #archive, keep = archive }
    local list, at, text = {}, nil, nil
    for k, entry in ipairs(assert(zip.entries(whole))) do
        list[k] = { name = entry.name, block = assert(zip.extract(whole, entry)) }
        if entry.name:find "data.pkl$" then at, text = k, ffi.string(list[k].block.data, list[k].block.size) end
    end
    files[#files + 1] = { text = text, read = torch(), pack = function(changed)
        list[at].block = { data = ffi.cast("const uint8_t *", changed), size = #changed, keep = changed }
        local pieces = assert(zip.pieces(list))
        for k, piece in ipairs(pieces) do
            if type(piece) ~= "string" then pieces[k] = ffi.string(piece.data, piece.size) end
        end
        return table.concat(pieces)
    end }
end

add_pickle "checkpoint.pt"
add_pickle "strides.pt"
add_pickle "protocol5.pt"

-- ---- Mutations ------------------------------------------------------------------------------------------------------

local bytes = { "\0", "\255", "\127", "\128", "\1", "0", "9", "-", "{", "}", "[", "]", '"', ",", "\n", "\r", " ", "e" }

local function part(text)
    local from = random(#text + 1)
    return from, math.min(#text, from + random(24) - 2)
end

local mutations = {
    function(text) return text:sub(1, random(#text + 1) - 1) end,
    function(text) return text .. text:sub((part(text))) end,
    function(text)
        local from, to = part(text)
        return text:sub(1, from - 1) .. text:sub(to + 1)
    end,
    function(text)
        local from, to = part(text)
        return text:sub(1, to) .. text:sub(from, to) .. text:sub(to + 1)
    end,
    function(text)
        local at = random(#text + 1)
        return text:sub(1, at - 1) .. pick(bytes) .. text:sub(at + random(2) - 1)
    end,
    function(text)
        local at = random(#text + 1)
        return text:sub(1, at - 1) .. string.char(random(256) - 1) .. text:sub(at + 1)
    end,
    function(text) -- a number near the beginning, where sizes are
        local at = random(math.min(#text, 64) + 1)
        return text:sub(1, at - 1) .. pick { "\255\255\255\255", "\0\0\0\0", "\255\255\255\127", "\1\0\0\0" }
            .. text:sub(at + 4)
    end,
}

local function mutated(text)
    for _ = 1, random(4) do text = pick(mutations)(text) end
    return text
end

local words = { ",", ",", ",", ";", "\n", "\n", "\r\n", "\r", '"', '""', " ", "\t", "1", "-2", "3.5", "1e400", "nan",
                "NA", "true", "x", "long word", "#", "\0", "\255", "99999999999999999999", "-", ".", "0x1p3",
                "\239\187\191", "{", "}", '{"a":', '"a"', ":", "[", "null" }
local dtypes = { "f32", "f64", "i32", "u8", "bool", "text", "i64" }

local function some(chance, value)
    if random(chance) == 1 then return value end
    return nil
end

--- A text file of random words, and a reader with random options.
local function text_file()
    local list = {}
    for k = 1, random(60) - 1 do list[k] = pick(words) end
    local options = { delimiter = pick { ",", ";", "\t", false }, header = some(2, random(2) == 1),
                      comment = some(3, "#"), skiprows = some(4, random(4) - 1), nrows = some(4, random(4) - 1),
                      dtype = some(2, pick(dtypes)), fill = some(4, random(5) - 3), names = some(8, { "a", "b" }),
                      quotechar = some(4, pick { "'", false }), usecols = some(6, { random(4) - 2 }),
                      parse_dates = some(8, { "a" }) }
    local read = pick {
        function(name) return tostring(np.io.read_csv(name, options)) end,
        function(name) array(np.io.loadtxt(name, { delimiter = options.delimiter or nil, ndmin = 2 })) end,
        function(name) array(np.io.genfromtxt(name, { delimiter = options.delimiter or nil })) end,
        records,
    }
    return table.concat(list), read
end

-- ---- The test -------------------------------------------------------------------------------------------------------

--- Nil, or what is wrong with how a file was refused.
local function wrong(problem)
    if type(problem) ~= "string" then return "the error is no text" end
    if not problem:find("readers_test.lua:%d+: np%.io%.") and not problem:find "of memory" then
        return "the error names no line or function: " .. problem
    end
end

check.test("mutated files", function()
    np.debug.memory_limit(MEMORY)
    local start, count, refused = np.clock(), 0, 0
    while np.clock() - start < seconds or count < LEAST do
        local first = seed
        local text, read
        if random(3) == 1 then
            text, read = text_file()
        else
            local file = pick(files)
            text, read = mutated(file.text), file.read
            if file.pack then text = file.pack(text) end
        end
        local out = assert(io.open(path, "wb"))
        out:write(text)
        out:close()
        local ok, problem = pcall(read, path)
        if not ok then
            refused = refused + 1
            local what = wrong(problem)
            check.ok(not what, ("seed %d: %s"):format(first, what or ""))
        end
        count = count + 1
        if count % 100 == 0 then check.equal((np.ones(3) * 2):sum():item(), 6) end
    end
    np.debug.memory_limit(0)
    check.ok(refused > count / 4 and refused < count, ("%d of %d were refused"):format(refused, count))
end)

if not keep then os.remove(path) end
check.done()
