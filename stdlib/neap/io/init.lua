--- io/init.lua: np.io: arrays in files: npy and npz (NumPy's formats), IDX (that of MNIST; plain or gzip), and trees;
-- checkpoints are in checkpoint.lua.
--
-- Files are read whole and checked: a missing, truncated or damaged file is an error that names it, and no claim of a
-- file is believed before memory is taken for it. Files are written beside their place and moved there when complete,
-- so a reader finds the old or the new file, never half of one, and a save that was killed leaves nothing that the next
-- one to the same path does not remove. The file of a symbolic link is replaced, not the link; a file keeps its mode,
-- and its owner if it can; a device or a pipe is written as it is.
-- Format of npy: NumPy's numpy/lib/format, versions 1 to 3.
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.core.trees"
local paths = require "neap.core.tree_paths"
local files = require "neap.files"
local zip = require "neap.files.zip"
local buffer = require "neap.arrays.buffer"

local np, dtypes, codes = core.np, core.dtypes, core.dtype_codes
local is_array, raise, bad_argument, shape_of = core.is_array, core.raise, core.bad_argument, core.shape_of
local check_path = core.check_path

local data_io = {}

--- Whether a shape is possible, and its number of elements; hostile ones overflow.
local function element_count(dims)
    local size = 1
    for k = 1, #dims do size = size * dims[k] end
    return size < 2 ^ 53 and size or nil
end

local function too_many_axes(n)
    return ("it has %d axes, at most %d are possible"):format(n, core.MAX_DIMS)
end

--- Reverses the bytes of each of n elements, or parts of complex ones.
local function swap_bytes(data, n, width)
    for k = 0, n - 1 do
        local at = data + k * width
        for i = 0, width / 2 - 1 do at[i], at[width - 1 - i] = at[width - 1 - i], at[i] end
    end
end

--- A new array of a dtype and shape with bytes copied by `fill(pointer, bytes)`, which returns true or nil and a
-- message. Bools are made 0 or 1, elements of the other byte order are swapped.
local function new_array(dtype, dims, swap, fill)
    local size, good, problem = element_count(dims), nil, nil
    local x = core.fill(dtype.code, dims, function(pointer)
        good, problem = fill(pointer, size * dtype.bytes)
        if not good then return end
        if swap and dtype.bytes > 1 then
            local width = dtypes[codes[dtype.part]].bytes
            swap_bytes(pointer, size * dtype.bytes / width, width)
        end
        if dtype.kind == "b" then
            for k = 0, size - 1 do pointer[k] = pointer[k] ~= 0 and 1 or 0 end
        end
    end, "uint8_t *", "io.load")
    if not good then return nil, problem end
    return x
end

-- ---- npy ------------------------------------------------------------------------------------------------------------

local by_descr = {}
for code = 0, #dtypes do by_descr[dtypes[code].npy] = dtypes[code] end

--- The header text of npy as dtype, shape, whether columns come first, whether bytes are swapped; or nil and a message.
local function parse_header(text)
    if not text:find("^%s*{.*}%s*$") then return nil, "its header is no dictionary" end
    local order, kind = text:match("['\"]descr['\"]%s*:%s*['\"]([<>|=])(%w+)['\"]")
    if not order then return nil, "its header names no plain dtype" end
    local dtype = by_descr[kind]
    if not dtype then return nil, ("its dtype '%s%s' is not one of neap's"):format(order, kind) end
    local fortran = text:match("['\"]fortran_order['\"]%s*:%s*(%a+)")
    if fortran ~= "True" and fortran ~= "False" then return nil, "its header does not say the order of elements" end
    local inner = text:match("['\"]shape['\"]%s*:%s*%(([%d%s,L]*)%)")
    if not inner then return nil, "its header has no shape" end
    local dims = {}
    for digits in inner:gmatch("%d+") do dims[#dims + 1] = tonumber(digits) end
    if #dims > core.MAX_DIMS then return nil, too_many_axes(#dims) end
    return dtype, dims, fortran == "True", order == ">"
end

--- What the header of an npy file in memory says: { dtype, dims, fortran, swap, start = its first byte of data, stored
-- = the extents in the order in which they are stored }; or nil and what is wrong.
local function npy_facts(block)
    local data, size = block.data, block.size
    if size < 10 or ffi.string(data, 6) ~= "\147NUMPY" then return nil, "it is no npy file, or truncated" end
    local version, start = data[6], 10
    if version < 1 or version > 3 then return nil, ("npy version %d is unknown"):format(version) end
    local bytes = data[8] + 256 * data[9]
    if version > 1 then
        if size < 12 then return nil, "it is truncated" end
        bytes, start = zip.u32(data, 8), 12
    end
    if start + bytes > size then return nil, "it is truncated" end
    local dtype, dims, fortran, swap = parse_header(ffi.string(data + start, bytes))
    if not dtype then return nil, dims end
    local count = element_count(dims)
    if not count or count * dtype.bytes > size - start - bytes then
        return nil, ("it is truncated: shape %s needs more bytes than it has"):format(core.shape_text(dims))
    end
    local stored = dims
    if fortran then
        stored = {}
        for k = 1, #dims do stored[k] = dims[#dims + 1 - k] end
    end
    return { dtype = dtype, fortran = fortran and #dims > 1, swap = swap, start = start + bytes, stored = stored }
end

--- The array of an npy file in memory, or nil and what is wrong.
local function read_npy(block)
    local facts, problem = npy_facts(block)
    if not facts then return nil, problem end
    local x
    x, problem = new_array(facts.dtype, facts.stored, facts.swap, function(pointer, needed)
        ffi.copy(pointer, block.data + facts.start, needed)
        return true
    end)
    if x and facts.fortran then x = np.transpose(x) end
    return x, problem
end

--- The array of an npy file that is mapped: its elements are read when they are needed. Bools are compared with 0,
-- since a file may have others than 0 and 1.
local function map_npy(block)
    local facts, problem = npy_facts(block)
    if not facts then return nil, problem end
    local dtype = facts.dtype
    if facts.swap and dtype.bytes > 1 then return nil, "it is big-endian, which cannot be mapped; load it without" end
    if facts.start % dtype.bytes ~= 0 then return nil, "its elements are not aligned; load it without mmap_mode" end
    local is_bool = dtype.kind == "b"
    local x = buffer.mapped("io.load", block, facts.start, is_bool and dtypes[codes.u8] or dtype, facts.stored)
    if is_bool then x = np.not_equal(x, 0) end
    return facts.fortran and np.transpose(x) or x
end

--- The header of an array's npy file.
local function npy_header(x)
    local dims = shape_of(x)
    local list = table.concat(dims, ", ") .. (#dims == 1 and "," or "")
    local dtype = core.dtype_of(x)
    local text = ("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }"):format(
        dtype.bytes == 1 and "|" or "<", dtype.npy, list)
    local padding = -(10 + #text + 1) % 64
    text = text .. (" "):rep(padding) .. "\n"
    return "\147NUMPY\1\0" .. string.char(#text % 256, math.floor(#text / 256)) .. text
end

--- The elements of an array as a block; waits.
local function array_block(x)
    return { data = core.data(x), size = x.size * core.dtype_of(x).bytes, keep = x }
end

--- Header and elements of an array's npy file as one block.
local function npy_block(x)
    local head, body = npy_header(x), array_block(x)
    local block, problem = files.block(#head + body.size)
    if not block then return nil, problem end
    ffi.copy(block.data, head, #head)
    ffi.copy(block.data + #head, body.data, body.size)
    return block
end

-- ---- IDX ------------------------------------------------------------------------------------------------------------

local NO_IDX = "it is no IDX file"
local idx_types = { [0x08] = "u8", [0x09] = "i8", [0x0B] = "i16", [0x0C] = "i32", [0x0D] = "f32", [0x0E] = "f64" }

--- The array of an IDX file that `read(out, size)` gives piece by piece; `most` is how many bytes there can be.
local function read_idx(read, finish, most)
    local head = ffi.new("uint8_t[?]", 4 + 4 * 255)
    local got, problem = read(head, 4)
    if not got then return nil, problem end
    if got < 4 or head[0] ~= 0 or head[1] ~= 0 then return nil, NO_IDX end
    local name, ndim = idx_types[head[2]], head[3]
    if not name then return nil, ("its element type 0x%02x is unknown or not one of neap's"):format(head[2]) end
    if ndim > core.MAX_DIMS then return nil, too_many_axes(ndim) end
    got, problem = read(head, 4 * ndim)
    if not got then return nil, problem end
    if got < 4 * ndim then return nil, "it is truncated" end
    local dims, dtype = {}, dtypes[codes[name]]
    for k = 0, ndim - 1 do
        dims[k + 1] = ((head[4 * k] * 256 + head[4 * k + 1]) * 256 + head[4 * k + 2]) * 256 + head[4 * k + 3]
    end
    local count = element_count(dims)
    if not count or count * dtype.bytes > most then
        return nil, ("it is truncated: shape %s needs more bytes than it has"):format(core.shape_text(dims))
    end
    return new_array(dtype, dims, true, function(pointer, bytes)
        local n, what = read(pointer, bytes)
        if not n then return nil, what end
        if n < bytes then return nil, "it is truncated" end
        return finish()
    end)
end

local function read_plain_idx(block)
    local at = 0
    return read_idx(function(out, size)
        local n = math.min(size, block.size - at)
        ffi.copy(out, block.data + at, n)
        at = at + n
        return n
    end, function() return true end, block.size)
end

local function read_gzip_idx(block)
    local stream, problem = zip.open_gzip(block)
    if not stream then return nil, problem end
    local x
    x, problem = read_idx(stream.read, stream.finish, stream.most)
    if problem == NO_IDX then problem = "what gzip has packed there is no IDX file; other files are read unpacked" end
    return x, problem
end

-- ---- Loading and saving arrays --------------------------------------------------------------------------------------

--- The arrays of an npz file in memory: a table by name, and the names in the file's order; or nil and a message. What
-- is no npy file by its name is a string.
local function read_npz(block)
    local list, problem = zip.entries(block)
    if not list then return nil, problem end
    local arrays, names = {}, {}
    for _, entry in ipairs(list) do
        local content, x
        content, problem = zip.extract(block, entry)
        if not content then return nil, problem end
        local name, is_array_file = entry.name:gsub("%.npy$", "")
        if name:find "^[^/]*/data%.pkl$" then return nil, "it is a checkpoint of PyTorch; np.io.load_torch reads it" end
        if is_array_file == 1 then
            x, problem = read_npy(content)
            if not x then return nil, ("'%s' in it: %s"):format(entry.name, problem) end
        else
            x = ffi.string(content.data, content.size)
        end
        files.release(content)
        arrays[name], names[#names + 1] = x, name
    end
    return arrays, names
end

--- What a block holds, by its first bytes.
local function reader_of(block)
    local head = ffi.string(block.data, math.min(block.size, 4))
    if head == "\147NUM" then return read_npy end
    if head:sub(1, 2) == "PK" then return read_npz end
    if zip.is_gzip(block) then return read_gzip_idx end
    if #head == 4 and head:sub(1, 2) == "\0\0" then return read_plain_idx end
end

-- Functions that read files of other formats, by the end of their names.
local others = { pt = "load_torch", pth = "load_torch", gguf = "load_gguf", safetensors = "load_safetensors",
                 json = "load_json", png = "load_image", jpg = "load_image", jpeg = "load_image", csv = "read_csv",
                 jsonl = "read_jsonl", wav = "load_wav", feather = "read_feather", arrow = "read_feather",
                 parquet = "read_parquet" }

--- What a file is that np.io.load does not read.
local function foreign(path, block)
    if block.size == 0 then return "empty" end
    local other = others[(path:lower():match "%.(%w+)$")]
    return "neither npy, npz nor IDX" .. (other and ("; np.io.%s reads .%s"):format(other, path:match "%w+$") or "")
end

--- Reads a file with `reader` (nil: by its content) and raises what is wrong.
local function load_file(name, path, reader)
    local block, problem = files.read(check_path(name, path))
    if not block then raise(name, "%s", problem) end
    reader = reader or reader_of(block)
    if not reader then
        raise(name, "cannot read '%s': it is %s", path, foreign(path, block))
    end
    local result, more = reader(block)
    files.release(block)
    if result == nil then raise(name, "cannot read '%s': %s", path, more) end
    return result, more
end

--- np.io.load(path, {mmap_mode=…, sharding=…}) -> array | table, names: the array of an npy or IDX file (plain or
-- gzip), or a table of the arrays of an npz file by name (and, as a second result, their names in the file's order);
-- other files in it are strings. The content says which it is. Raises if the file is missing or damaged.
--- mmap_mode: "r" maps an npy file into memory: its elements are read from it when they are needed, by whatever needs
-- them, and take no memory of neap's. The file must not be written meanwhile, and if it is made shorter, what reads the
-- elements that are gone ends the process (SIGBUS), as in NumPy. np.io.save puts a new file in its place, which does no
-- harm
--- sharding: how the array of an npy file lies on a mesh, a sharding, or a spec on the mesh of np.set_mesh: each
-- process reads only its blocks of the file, which need not fit in its memory
--- > np.io.save("x.npy", np.arange(3))
--- > np.io.load("x.npy")
-- [0 1 2]
--- > np.io.load("x.npy", {mmap_mode="r"}):sum()
-- 3
function data_io.load(path, given)
    local o = core.options("io.load", given, { mmap_mode = true, sharding = true })
    local mode, sharding = o.mmap_mode, nil
    if o.sharding ~= nil then
        sharding = require("neap.mesh.born").sharding("io.load", "option 'sharding'", o.sharding)
    end
    if mode == nil and not sharding then
        local result, names = load_file("io.load", path)
        if names == nil then return result end
        return result, names
    end
    if mode ~= "r" and not (mode == nil and sharding) then
        raise("io.load", "option 'mmap_mode' must be \"r\": arrays do not change, got %s", core.describe(mode))
    end
    local block, problem = buffer.map(check_path("io.load", path))
    if not block then raise("io.load", "%s", problem) end
    local x
    x, problem = map_npy(block)
    files.release(block)
    if not x then raise("io.load", "cannot map '%s': %s", path, problem) end
    return sharding and require("neap.mesh.born").copied("io.load", sharding, x) or x
end

--- np.io.load_idx(path): the array of an IDX file, plain or gzip: two zero bytes, one of the type (8: u8), one of the
-- number of axes, the extents as 32 bits each, highest byte first, then the elements.
--- > file = io.open("x.idx", "wb")
--- > _ = file:write("\0\0\8\1", "\0\0\0\2", "\5\7"), file:close()
--- > np.io.load_idx "x.idx"
-- [5 7]
function data_io.load_idx(path)
    return (load_file("io.load_idx", path, function(block)
        return (zip.is_gzip(block) and read_gzip_idx or read_plain_idx)(block)
    end))
end

--- np.io.checksum(x) -> string: the CRC-32 of an array's elements in memory, row-major, as 8 hexadecimal digits. Waits
-- for x.
--- > np.io.checksum(np.arange(3))
-- 1d760e7a
function data_io.checksum(x)
    if not is_array(x) then bad_argument("io.checksum", 1, "x", "an array", x) end
    local block = array_block(x)
    local crc, problem = zip.crc32(ffi.cast("const uint8_t *", block.data), block.size)
    if not crc then raise("io.checksum", "%s", problem) end
    return ("%08x"):format(crc)
end

local function write_file(name, path, pieces, problem)
    local good
    if pieces then good, problem = files.write(path, pieces) end
    if not good then raise(name, "%s", problem) end
end

--- np.io.save(path, x) -> nothing: writes an array as an npy file. Waits for x.
--- > np.io.save("x.npy", np.eye(2))
function data_io.save(path, x)
    check_path("io.save", path)
    local wanted = type(x) == "table" and "an array (np.io.save_tree writes a table of arrays)" or "an array"
    if not is_array(x) then bad_argument("io.save", 2, "x", wanted, x) end
    write_file("io.save", path, { npy_header(x), array_block(x) })
end

--- Writes a list of { name, array } as an npz file.
local function save_list(name, path, list, compress)
    local blocks = {}
    for k, item in ipairs(list) do
        local block, problem = npy_block(item[2])
        if not block then raise(name, "%s", problem) end
        blocks[k] = { name = item[1] .. ".npy", block = block }
    end
    write_file(name, path, zip.pieces(blocks, compress))
end

--- np.io.savez(path, arrays, {compress=false}) -> nothing: writes a table of arrays by name as an npz file, in the
-- order of their names.
--- compress: true compresses them, by deflate
--- > np.io.savez("arrays.npz", {a = np.arange(3), b = np.ones(2)})
--- > np.io.load("arrays.npz").a
-- [0 1 2]
function data_io.savez(path, arrays, given)
    check_path("io.savez", path)
    if type(arrays) ~= "table" then bad_argument("io.savez", 2, "arrays", "a table of arrays by name", arrays) end
    local compress = core.options("io.savez", given, { compress = true }).compress
    local list = {}
    for key, x in pairs(arrays) do
        if type(key) ~= "string" then raise("io.savez", "names are strings, got %s", core.describe(key)) end
        if not is_array(x) then
            local remedy = type(x) == "table" and "; np.io.save_tree writes tables in tables" or ""
            raise("io.savez", "'%s' must be an array, got %s%s", key, core.describe(x), remedy)
        end
        list[#list + 1] = { key, x }
    end
    table.sort(list, function(a, b) return a[1] < b[1] end)
    save_list("io.savez", path, list, compress)
end

-- ---- Trees ----------------------------------------------------------------------------------------------------------
-- A tree is an npz file whose names are paths (core/tree_paths.lua). Leaves that are not arrays have a suffix:
-- ":number" (f64), ":boolean", ":string" (u8); an empty table has an empty array.

local function leaf_entry(path, value)
    if value == nil then return { path, np.zeros(0) } end
    if is_array(value) then return { path, value } end
    local kind = type(value)
    if kind == "number" then return { path .. ":number", np.array(value, { dtype = "f64" }) } end
    if kind == "boolean" then return { path .. ":boolean", np.array(value) } end
    if kind == "string" then
        return { path .. ":string", core.fill(codes.u8, { #value }, function(pointer)
            ffi.copy(pointer, value, #value)
        end, "uint8_t *") }
    end
    raise("io.save_tree", "a tree in a file holds arrays, numbers, strings and booleans; %s is %s",
          path == "" and "it" or "'" .. path .. "'", core.describe(value))
end

--- np.io.save_tree(path, t) -> nothing: writes nested tables of arrays, numbers, strings and booleans as an npz file, a
-- checkpoint.
--- > np.io.save_tree("arrays.npz", {layers = {{w = np.ones(2)}}, step = 3})
--- > np.io.load_tree("arrays.npz").step
-- 3
function data_io.save_tree(path, t)
    check_path("io.save_tree", path)
    if not trees.is_node(t) then bad_argument("io.save_tree", 2, "t", "a table", t) end
    local list = paths.leaves("io.save_tree", t)
    for k, leaf in ipairs(list) do list[k] = leaf_entry(leaf[1], leaf[2]) end
    save_list("io.save_tree", path, list)
end

local function leaf_value(kind, x)
    if kind == nil then return x end
    if kind == "string" then return core.read(x, function(data, size) return ffi.string(data, size) end) end
    return x:item()
end

--- np.io.load_tree(path) -> table: the tables that np.io.save_tree wrote.
--- > np.io.save_tree("arrays.npz", {layers = {{w = np.ones(2)}}})
--- > np.io.load_tree("arrays.npz").layers[1].w
-- [1. 1.]
function data_io.load_tree(path)
    local arrays, names = load_file("io.load_tree", path, read_npz)
    local t = {}
    for _, name in ipairs(names) do
        local place, kind = name:match("^(.*):(%a+)$")
        local leaf
        if type(arrays[name]) == "string" then
            raise("io.load_tree", "'%s' is not a tree: '%s' in it is no npy file", path, name)
        end
        if not name:find "/$" then leaf = leaf_value(kind, arrays[name]) end
        if not paths.put(t, place or name, leaf) then
            raise("io.load_tree", "'%s' is not a tree: the name '%s' does not fit", path, name)
        end
    end
    return t
end

for _, f in ipairs { swap_bytes, new_array, array_block, load_file, data_io.load_tree } do jit.off(f) end

-- Functions of other files, by name: the module that has each.
local late = {
    save_checkpoint = "checkpoint", load_checkpoint = "checkpoint",
    load_image = "image", save_image = "image", load_wav = "wav", save_wav = "wav",
    save_safetensors = "safetensors", load_safetensors = "safetensors",
    load_json = "json", save_json = "json", from_json = "json", to_json = "json", null = "json", empty_object = "json",
    load_tokenizer = "text.tokenizer", load_torch = "torch", load_gguf = "gguf",
    load_onnx = "onnx", save_onnx = "onnx",
    read_jsonl = "jsonl", write_jsonl = "jsonl", read_feather = "arrow", write_feather = "arrow",
    read_parquet = "parquet", write_parquet = "parquet",
    read_csv = "csv", write_csv = "csv", loadtxt = "csv", savetxt = "csv", genfromtxt = "csv",
}

return setmetatable(data_io, {
    __index = function(_, name)
        local module = late[name]
        if module then data_io[name] = require((module:find "%." and "neap." or "neap.io.") .. module)[name] end
        return rawget(data_io, name)
    end,
    __late = { late },
})
