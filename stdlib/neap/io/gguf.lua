--- gguf.lua: np.io.load_gguf: the weights and metadata of a GGUF file, as llama.cpp has them: "GGUF", a version, how
-- many tensors and items of metadata there are; the items; what each tensor is; then their elements, each at a
-- multiple of `general.alignment` bytes (32). Numbers are little-endian. Facts: ggml's docs/gguf.md; what blocks hold
-- is in formats/gguf.c.
--
-- What a file says is checked before memory is taken: tensors lie in the file, and no two share bytes.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local buffer = require "neap.arrays.buffer"

local C, dtypes, codes, raise = core.C, core.dtypes, core.dtype_codes, core.raise
local gguf = {}

local NAME = "io.load_gguf"
local MAX_DEPTH, EXACT = 8, 2 ^ 53
local ALIGNMENT = "general.alignment"

-- What is no block: the dtype of an element by the number of the kind. Halves are also kinds of formats/gguf.c.
local plain = { [0] = "f32", [1] = "f16", [24] = "i8", [25] = "i16", [26] = "i32", [27] = "i64", [28] = "f64",
                [30] = "bf16" }

-- A reader: { data, size, at }. Problems are errors of texts.

local function fail(text, ...) error(text:format(...), 0) end

local function take(r, bytes)
    local at = r.at
    if bytes > r.size - at then fail("it is truncated: byte %.0f needs %.0f more", at, bytes) end
    r.at = at + bytes
    return r.data + at
end

local function number(ctype, bytes)
    local box = ffi.new(ffi.typeof("$[1]", ffi.typeof(ctype)))
    return function(r)
        ffi.copy(box, take(r, bytes), bytes) -- it need not be aligned
        local value = box[0]
        if type(value) == "number" then return value end
        local close = tonumber(value)
        return math.abs(close) < EXACT and close or value
    end
end

local read_u32, read_u64 = number("uint32_t", 4), number("uint64_t", 8)

--- A count of what takes at least `bytes` each.
local function count(r, what, bytes)
    local n = read_u64(r)
    if type(n) == "number" and n * bytes <= r.size - r.at then return n end
    fail("it is truncated: it says that it has %s %s", tostring(n), what)
end

local function text(r)
    local n = count(r, "bytes of a text", 1)
    return ffi.string(take(r, n), n)
end

local readers = {
    [0] = number("uint8_t", 1), number("int8_t", 1), number("uint16_t", 2), number("int16_t", 2), read_u32,
    number("int32_t", 4), number("float", 4), function(r) return take(r, 1)[0] ~= 0 end, text, nil, read_u64,
    number("int64_t", 8), number("double", 8),
}

local function value_of(r, kind, depth)
    local read = readers[kind]
    if not read then fail("byte %.0f: %.0f is no type of metadata", r.at - 4, kind) end
    return read(r, depth)
end

readers[9] = function(r, depth)
    if depth > MAX_DEPTH then fail("byte %.0f: lists are nested too deep", r.at) end
    local kind, list = read_u32(r), {}
    for k = 1, count(r, "places of a list", 1) do list[k] = value_of(r, kind, depth + 1) end
    return list
end

--- What the head says of a tensor: { name, kind, dims, offset, bytes, block = what a block of it is, or nil }.
local function tensor_of(r)
    local t = { name = text(r), dims = {} }
    local n = read_u32(r)
    if n > core.MAX_DIMS then fail("'%s' in it has %.0f axes, at most %d are possible", t.name, n, core.MAX_DIMS) end
    local size = 1
    for k = n, 1, -1 do -- the fastest comes first
        local extent = read_u64(r)
        if type(extent) ~= "number" then fail("'%s' in it has more elements than there are", t.name) end
        t.dims[k], size = extent, size * extent
    end
    t.kind, t.offset = read_u32(r), read_u64(r)
    local kind = C.neap_gguf_kind_of(t.kind)
    if not plain[t.kind] and kind == nil then
        fail("'%s' in it has the kind %.0f, which is not read", t.name, t.kind)
    end
    t.dtype = plain[t.kind] and dtypes[codes[plain[t.kind]]]
    local elements, bytes = 1, t.dtype and t.dtype.bytes
    if not t.dtype then elements, bytes = kind.elements, kind.bytes end
    if (t.dims[n] or 1) % elements ~= 0 then
        fail("'%s' in it has rows of %.0f elements, which are no whole blocks of %d", t.name, t.dims[n] or 1, elements)
    end
    t.blocks = size / elements
    t.bytes = t.blocks * bytes
    return t
end

--- Checks that tensors lie in the file, apart from each other; `start` is where elements begin.
local function check_places(list, start, alignment, size)
    local sorted = {}
    for k, t in ipairs(list) do
        if type(t.offset) ~= "number" or t.offset % alignment ~= 0 then fail("'%s' in it is not aligned", t.name) end
        if start + t.offset + t.bytes > size then
            fail("it is truncated: '%s' in it ends at byte %.0f of %.0f", t.name, start + t.offset + t.bytes, size)
        end
        sorted[k] = t
    end
    table.sort(sorted, function(a, b)
        if a.offset ~= b.offset then return a.offset < b.offset end
        return a.bytes < b.bytes
    end)
    for k = 2, #sorted do
        local before = sorted[k - 1]
        if sorted[k].offset < before.offset + before.bytes then
            fail("'%s' and '%s' in it overlap", before.name, sorted[k].name)
        end
    end
end

--- The head of a file in memory: its tensors, its metadata, where elements begin.
local function read_head(r)
    if r.size < 4 or ffi.string(r.data, 4) ~= "GGUF" then
        fail(r.size == 0 and "it is empty" or "it is no GGUF file")
    end
    r.at = 4
    local version = read_u32(r)
    if version % 65536 == 0 then fail "it is big-endian, which is not read" end
    if version ~= 2 and version ~= 3 then fail("GGUF version %.0f is not one of 2 and 3", version) end
    local tensors, items = count(r, "tensors", 24), count(r, "items of metadata", 13)
    local metadata, list, names = {}, {}, {}
    for _ = 1, items do
        local key = text(r)
        if metadata[key] ~= nil then fail("'%s' is in its metadata twice", key) end
        metadata[key] = value_of(r, read_u32(r), 1)
    end
    for k = 1, tensors do
        list[k] = tensor_of(r)
        if names[list[k].name] then fail("'%s' is in it twice", list[k].name) end
        names[list[k].name] = true
    end
    local alignment = metadata[ALIGNMENT] or 32
    if type(alignment) ~= "number" or alignment < 1 or alignment % 1 ~= 0 then fail("its %s is no size", ALIGNMENT) end
    local start = math.ceil(r.at / alignment) * alignment
    check_places(list, start, alignment, r.size)
    return list, metadata, start
end

--- The array of a tensor whose bytes begin at `from`.
local function array_of(t, from, keep_halves)
    local is_half = t.kind == 1 or t.kind == 30
    if t.dtype and (keep_halves or not is_half) then
        return core.fill(t.dtype.code, t.dims, function(out) ffi.copy(out, from, t.bytes) end, "uint8_t *", NAME)
    end
    return core.fill(codes.f32, t.dims, function(out)
        C.neap_gguf_read(t.kind, from, t.blocks, out)
    end, "float *", NAME)
end

--- np.io.load_gguf(path, {keep_halves=false}) -> table, metadata: the weights of a GGUF file by name, in the order of
-- axes that NumPy has, and its metadata by name, as numbers, texts, booleans and lists. Weights are f32, whether they
-- are stored so, as f16 or bf16, or quantized: q4_0, q4_1, q5_0, q5_1, q8_0, q2_k to q6_k, iq4_nl, iq4_xs; integers
-- and f64 stay what they are. Raises for other kinds, and if the file is damaged. np.tree.nest makes a tree of names
-- with dots.
--- keep_halves: true: what is stored as f16 or bf16 stays so
--- > file = io.open("x.gguf", "wb")
--- > z = ("\0"):rep(7)
--- > _ = file:write("GGUF\3\0\0\0\0", z, "\1", z, "\1", z, "n\4\0\0\0\7\0\0\0"), file:close()
--- > weights, metadata = np.io.load_gguf("x.gguf", {keep_halves=true})
--- > metadata.n
-- 7
function gguf.load_gguf(path, given)
    local keep_halves = core.options(NAME, given, { keep_halves = true }).keep_halves
    local block, problem = buffer.map(core.check_path(NAME, path))
    if not block then raise(NAME, "%s", problem) end
    local ok, list, metadata, start = pcall(read_head, { data = block.data, size = block.size, at = 0 })
    if not ok then
        files.release(block)
        raise(NAME, "cannot read '%s': %s", path, list)
    end
    local arrays = {}
    ok, problem = pcall(function()
        for _, t in ipairs(list) do arrays[t.name] = array_of(t, block.data + start + t.offset, keep_halves) end
    end)
    files.release(block)
    if not ok then error(problem, 0) end
    return arrays, metadata
end

for _, f in ipairs { array_of, gguf.load_gguf } do jit.off(f) end

return gguf
