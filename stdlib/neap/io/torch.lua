--- torch.lua: np.io.load_torch: checkpoints of PyTorch, as torch.save writes them since version 1.6: a zip archive with
-- a pickle, FOLDER/data.pkl, of containers, numbers, texts and tensors, and with a file FOLDER/data/KEY for the
-- elements of each storage. Facts: torch/serialization.py, torch/_utils.py.
--
-- Of the functions and classes that a pickle may name, those below are all that are known: others are refused by name,
-- and none of Python's code is run. The whole pickle is read, and each tensor is held against the bytes of its storage,
-- before the first element is.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local zip = require "neap.files.zip"
local json = require "neap.files.json"
local buffer = require "neap.arrays.buffer"
local pickle = require "neap.io.pickle"

local np, dtypes, codes = core.np, core.dtypes, core.dtype_codes
local raise = core.raise
local torch = {}

local NAME = "io.load_torch"
local MOST_OVERLAP = 1032 -- how many times an element of a storage may be one of a tensor, broadcast axes aside
local MAX_DEPTH = 200

-- ---- What a pickle may name -----------------------------------------------------------------------------------------

local TENSOR, DTYPE, STORAGE = {}, {}, {} -- metatables

local dtype_names = {
    float32 = "f32", float64 = "f64", float16 = "f16", bfloat16 = "bf16", complex64 = "c64", complex128 = "c128",
    int8 = "i8", int16 = "i16", int32 = "i32", int64 = "i64", uint8 = "u8", uint16 = "u16", uint32 = "u32",
    uint64 = "u64", bool = "bool",
}
local storage_names = {
    Float = "f32", Double = "f64", Half = "f16", BFloat16 = "bf16", ComplexFloat = "c64", ComplexDouble = "c128",
    Char = "i8", Short = "i16", Int = "i32", Long = "i64", Byte = "u8", Bool = "bool",
}

local function is_count(value)
    return type(value) == "number" and value >= 0 and value % 1 == 0 and value < 2 ^ 53
end

local function is_counts(list)
    if type(list) ~= "table" or getmetatable(list) ~= nil then return false end
    for key, value in pairs(list) do
        if type(key) ~= "number" or not is_count(value) then return false end
    end
    return true
end

--- A tensor of a storage: what it is, with its first element, extents and strides, once all of it lies in the storage.
local function new_tensor(storage, dtype, first, dims, strides, flags)
    if getmetatable(storage) ~= STORAGE then return nil, "a tensor without a storage" end
    dtype = dtype or storage.dtype
    if not dtype then return nil, "a tensor without a dtype" end
    if not is_count(first) or not is_counts(dims) or not is_counts(strides) or #dims ~= #strides then
        return nil, "a tensor whose size or strides are no counts"
    end
    if #dims > core.MAX_DIMS then
        return nil, ("a tensor of %d axes, at most %d are possible"):format(#dims, core.MAX_DIMS)
    end
    local size, last, apart = 1, first, 1
    for k = 1, #dims do
        size, last = size * dims[k], last + (dims[k] - 1) * strides[k]
        if strides[k] > 0 then apart = apart * dims[k] end
    end
    local there = storage.entry.size / dtype.bytes
    if size > 0 and last >= there then
        return nil, ("a tensor of shape %s needs %.0f elements of %s, and '%s' in it has %.0f"):format(
            core.shape_text(dims), last + 1, dtype.name, storage.entry.name, math.floor(there))
    end
    if size >= 2 ^ 53 or apart > MOST_OVERLAP * there then return nil, "a tensor of more elements than there are" end
    flags = type(flags) == "table" and flags or {}
    return setmetatable({ storage = storage, dtype = dtype, first = first, dims = dims, strides = strides, size = size,
                          conjugate = flags.conj == true, negative = flags.neg == true }, TENSOR)
end

local functions = {}

functions["collections.OrderedDict"] = function(arguments)
    local dict = {}
    for _, pair in ipairs(arguments[1] or {}) do -- before protocol 2 items came in a list
        if type(pair) ~= "table" or type(pair[1]) ~= "string" and type(pair[1]) ~= "number" then
            return nil, "a dict of what are no pairs"
        end
        if pair[2] ~= json.null then dict[pair[1]] = pair[2] end
    end
    return dict
end
for _, name in ipairs { "__builtin__.set", "__builtin__.frozenset", "builtins.set", "builtins.frozenset" } do
    functions[name] = function(arguments) return arguments[1] or {} end
end

--- Bytes, as protocol 2 has them: a text whose code points are the bytes.
functions["_codecs.encode"] = function(arguments)
    local text = arguments[1]
    if type(text) ~= "string" or arguments[2] ~= "latin1" then return nil, "bytes that are not spelled as latin1" end
    local bytes = text:gsub("([\194\195])([\128-\191])", function(a, b)
        return string.char((a:byte() - 194) * 64 + b:byte())
    end)
    return bytes
end
functions["collections.defaultdict"] = function() return {} end
functions["torch.Size"] = function(arguments) return arguments[1] or {} end
functions["torch.device"] = function(arguments) return arguments[1] or "cpu" end
functions["torch._utils._rebuild_tensor"] = function(a) return new_tensor(a[1], nil, a[2], a[3], a[4]) end
functions["torch._utils._rebuild_tensor_v2"] = function(a) return new_tensor(a[1], nil, a[2], a[3], a[4], a[7]) end
functions["torch._utils._rebuild_tensor_v3"] = function(a)
    if getmetatable(a[7]) ~= DTYPE then return nil, "a tensor without a dtype" end
    return new_tensor(a[1], a[7].dtype, a[2], a[3], a[4], a[8])
end
functions["torch._utils._rebuild_parameter"] = function(arguments) return arguments[1] end
functions["torch._utils._rebuild_parameter_with_state"] = functions["torch._utils._rebuild_parameter"]
functions["torch._tensor._rebuild_from_type_v2"] = function(arguments) -- function, class, its arguments, attributes
    local meta, class = getmetatable(arguments[1]), getmetatable(arguments[2])
    if type(meta) ~= "table" or not meta.call or type(class) ~= "table" or not class.is_tensor
        or type(arguments[3]) ~= "table" then
        return nil, "a tensor of an unknown class"
    end
    return meta.call(nil, arguments[3])
end

-- ---- NumPy's scalars ------------------------------------------------------------------------------------------------

local NUMPY_DTYPE = {} -- metatable of { code = "f8", swapped = whether the highest byte comes first }

function NUMPY_DTYPE.build(dtype, state)
    local order = type(state) == "table" and state[2]
    if order ~= "<" and order ~= ">" and order ~= "|" then return "a dtype of NumPy in no known order of bytes" end
    dtype.swapped = order == ">"
end

functions["numpy.dtype"] = function(arguments)
    local code = arguments[1]
    if type(code) ~= "string" or not code:find "^[biufc]%d+$" then return nil, "an unknown dtype of NumPy" end
    return setmetatable({ code = code, swapped = false }, NUMPY_DTYPE)
end

local C_TYPES = { f8 = "double", f4 = "float", i1 = "int8_t", i2 = "int16_t", i4 = "int32_t", i8 = "int64_t",
                  u1 = "uint8_t", u2 = "uint16_t", u4 = "uint32_t", u8 = "uint64_t", b1 = "uint8_t" }

--- The value of a scalar of NumPy, np.float64(3), by its dtype and bytes.
local function numpy_scalar(arguments)
    local dtype, bytes = arguments[1], arguments[2]
    if getmetatable(dtype) ~= NUMPY_DTYPE or type(bytes) ~= "string" then
        return nil, "a scalar of NumPy of no dtype"
    end
    local c_type = C_TYPES[dtype.code]
    if not c_type then return nil, ("a scalar of NumPy of dtype %s"):format(dtype.code) end
    if #bytes ~= ffi.sizeof(c_type) then return nil, "a scalar of NumPy of too many or too few bytes" end
    if dtype.swapped then bytes = bytes:reverse() end
    local box = ffi.new(c_type .. "[1]")
    ffi.copy(box, bytes, #bytes)
    if dtype.code == "b1" then return box[0] ~= 0 end
    return core.plain(box[0])
end
for _, module in ipairs { "numpy.core", "numpy._core" } do functions[module .. ".multiarray.scalar"] = numpy_scalar end

local names = {}
for name, f in pairs(functions) do names[name] = setmetatable({}, { call = function(_, a) return f(a) end }) end
for _, name in ipairs { "torch.Tensor", "torch.nn.parameter.Parameter" } do
    names[name] = setmetatable({}, { is_tensor = true })
end
for name, own in pairs(dtype_names) do names["torch." .. name] = setmetatable({ dtype = dtypes[codes[own]] }, DTYPE) end
for name, own in pairs(storage_names) do
    names["torch." .. name .. "Storage"] = setmetatable({}, { storage = true, dtype = dtypes[codes[own]] })
end
names["torch.storage.UntypedStorage"] = setmetatable({}, { storage = true })

local function find(module, name)
    local known = names[module .. "." .. name]
    if known then return known end
    local hint = module:find "^torch" and "" or "; torch.save(model.state_dict(), …) writes a model's so"
    return nil, ("it names %s.%s: containers, numbers, texts and tensors of neap's dtypes are read, no code is run%s")
        :format(module, name, hint)
end

-- ---- The archive ----------------------------------------------------------------------------------------------------

--- The files of an archive by name behind their common folder; or nil and what is wrong.
local function open_archive(block)
    local head = ffi.string(block.data, math.min(block.size, 16))
    if head:sub(1, 2) ~= "PK" then
        if head:find("\138\10\108\252\156\70\249\32", 1, true) then
            return nil, "it has PyTorch's format from before 1.6: load and save it anew there"
        end
        return nil, block.size == 0 and "it is empty" or "it is no checkpoint of PyTorch (a zip archive)"
    end
    local list, problem = zip.entries(block)
    if not list then return nil, problem end
    local folder
    for _, entry in ipairs(list) do folder = folder or entry.name:match "^([^/]*/)data%.pkl$" end
    if not folder then return nil, "it is no checkpoint of PyTorch: there is no data.pkl in it" end
    local archive = {}
    for _, entry in ipairs(list) do
        if entry.name:sub(1, #folder) == folder then
            local name = entry.name:sub(#folder + 1)
            if archive[name] then return nil, ("'%s' is in it twice"):format(entry.name) end
            archive[name] = entry
        end
    end
    return archive
end

--- The text of a file of the archive, or nil and what is wrong.
local function text_of(block, entry)
    local content, problem = zip.extract(block, entry)
    if not content then return nil, problem end
    local text = ffi.string(content.data, content.size)
    files.release(content)
    return text
end

--- What a persistent id says: a storage of the archive.
local function storage_loader(archive)
    local storages = {}
    return function(id)
        local class = type(id) == "table" and id[1] == "storage" and getmetatable(id[2])
        local key = class and id[3]
        if type(class) ~= "table" or not class.storage or type(key) ~= "string" or not is_count(id[5]) then
            return nil, "a persistent id that is no storage"
        end
        local entry = archive["data/" .. key]
        if not entry then return nil, ("the storage 'data/%s' is missing"):format(key) end
        if entry.size < id[5] * (class.dtype and class.dtype.bytes or 1) then
            return nil, ("'%s' in it has %.0f bytes, fewer than its %.0f elements need"):format(entry.name, entry.size,
                                                                                         id[5])
        end
        local name = key .. " " .. (class.dtype and class.dtype.name or "")
        storages[name] = storages[name]
            or setmetatable({ entry = entry, dtype = class.dtype, count = id[5], arrays = {} }, STORAGE)
        return storages[name]
    end
end

-- ---- Elements -------------------------------------------------------------------------------------------------------

-- A source: { block = the mapped file, file = the open one, or nil where elements stay mapped }.

local function read_elements(source, storage, dtype, dims)
    local entry, bytes = storage.entry, dtype.bytes
    for k = 1, #dims do bytes = bytes * dims[k] end
    local good, problem = true, nil
    local x = core.fill(dtype.code, dims, function(out)
        if entry.method == 0 and source.file then
            good, problem = source.file.read(out, bytes, entry.start)
        else
            local content
            content, problem = zip.extract(source.block, entry)
            good = content ~= nil
            if not good then return end
            ffi.copy(out, content.data, bytes)
            files.release(content)
        end
        if good and dtype.kind == "b" then
            for k = 0, bytes - 1 do out[k] = out[k] ~= 0 and 1 or 0 end
        end
    end, "uint8_t *", NAME)
    if not good then error({ problem = problem }, 0) end
    return x
end

local function map_elements(source, storage, dtype, dims)
    local is_bool = dtype.kind == "b"
    local x = buffer.mapped(NAME, source.block, storage.entry.start, is_bool and dtypes[codes.u8] or dtype, dims)
    return is_bool and np.not_equal(x, 0) or x
end

--- The first elements of a storage, as an array of a shape. What has been read is not read again.
local function elements(source, storage, dtype, dims)
    local arrays = storage.arrays[dtype.name] or {}
    storage.arrays[dtype.name] = arrays
    local shape = table.concat(dims, ",")
    if arrays[shape] then return arrays[shape] end
    local entry = storage.entry
    if arrays.whole then
        arrays[shape] = arrays.whole:reshape(unpack(dims))
    elseif not source.file and entry.method == 0 and entry.start % dtype.bytes == 0 then
        arrays[shape] = map_elements(source, storage, dtype, dims)
    else
        arrays[shape] = read_elements(source, storage, dtype, dims)
    end
    arrays.whole = arrays.whole or arrays[shape]
    return arrays[shape]
end

--- A storage as a 1-d array.
local function flat(source, storage, dtype)
    return elements(source, storage, dtype, { math.floor(storage.entry.size / dtype.bytes) })
end

--- The axes of a tensor that have more than one place of their own, the one of the widest stride first, and whether
-- their elements lie side by side, without gaps.
local function axes_of(tensor)
    local axes, expected = {}, 1
    for k, n in ipairs(tensor.dims) do
        if n > 1 and tensor.strides[k] > 0 then axes[#axes + 1] = k end
    end
    table.sort(axes, function(a, b)
        if tensor.strides[a] ~= tensor.strides[b] then return tensor.strides[a] > tensor.strides[b] end
        return a < b
    end)
    local dense = true
    for at = #axes, 1, -1 do
        dense = dense and tensor.strides[axes[at]] == expected
        expected = expected * tensor.dims[axes[at]]
    end
    return axes, dense, expected
end

--- The array of a tensor whose elements have gaps between them, or overlap: those of its own axes, in their order.
local function gathered(source, tensor, axes)
    local place = np.array({ tensor.first }, { dtype = "i64" })
    for _, k in ipairs(axes) do
        local steps = np.arange(tensor.dims[k], { dtype = "i64" }) * tensor.strides[k]
        place = (place:reshape(-1, 1) + steps):reshape(-1)
    end
    return np.take(flat(source, tensor.storage, tensor.dtype), place)
end

local function make_array(source, tensor)
    local dims = tensor.dims
    if tensor.size == 0 then return np.zeros(dims, { dtype = tensor.dtype.name }) end
    local axes, dense, count = axes_of(tensor)
    local stored, order = {}, {} -- extents as they lie in the file; the axis of the tensor that each place takes
    for at, k in ipairs(axes) do stored[at], order[k] = dims[k], at end
    local x
    if not dense then
        x = gathered(source, tensor, axes)
    elseif tensor.first == 0 and count * tensor.dtype.bytes == tensor.storage.entry.size then
        x = elements(source, tensor.storage, tensor.dtype, #stored == #dims and stored or { count })
    else
        x = flat(source, tensor.storage, tensor.dtype)[{ { tensor.first, tensor.first + count } }]
    end
    local moved, single, sorted = {}, {}, true
    for k = 1, #dims do
        single[k] = order[k] and dims[k] or 1
        if order[k] then
            moved[#moved + 1] = order[k] - 1
            sorted = sorted and order[k] == #moved
        end
    end
    if not sorted then x = np.transpose(x:reshape(unpack(stored)), moved) end
    if core.shape_text(x) ~= core.shape_text(single) then x = x:reshape(unpack(#single > 0 and single or { {} })) end
    return core.shape_text(single) ~= core.shape_text(dims) and np.broadcast_to(x, dims) or x
end

--- The array of a tensor; tensors that are alike have the same.
local function array_of(source, tensor)
    local key = table.concat({ tensor.dtype.name, tensor.first, table.concat(tensor.dims, ","),
                               table.concat(tensor.strides, ","), tostring(tensor.conjugate),
                               tostring(tensor.negative) }, " ")
    local known = tensor.storage.arrays
    if known[key] then return known[key] end
    local x = make_array(source, tensor)
    if tensor.conjugate then x = np.conj(x) end
    if tensor.negative then x = np.negative(x) end
    known[key] = x
    return x
end

-- ---- The tree -------------------------------------------------------------------------------------------------------

--- Checks that a value is a tree of what a checkpoint may hold, of at most `budget.left` values; raises a text.
local function check_tree(value, budget, depth)
    budget.left = budget.left - 1
    if depth > MAX_DEPTH or budget.left < 0 then error("its tables hold each other, or are nested too deep", 0) end
    if type(value) ~= "table" then return end
    local meta = getmetatable(value)
    if meta == nil then
        for _, item in pairs(value) do check_tree(item, budget, depth + 1) end
    elseif value ~= json.null and meta ~= TENSOR and meta ~= DTYPE and not (meta == STORAGE and value.dtype) then
        error("it holds a function, a class or a storage without a dtype", 0)
    end
end

--- The tree with arrays in the place of tensors.
local function finished(source, value, seen)
    local meta = type(value) == "table" and getmetatable(value)
    if meta == TENSOR then return array_of(source, value) end
    if meta == DTYPE then return value.dtype.name end
    if meta == STORAGE then return flat(source, value, value.dtype)[{ { 0, value.count } }] end
    if type(value) ~= "table" or value == json.null then return value end
    if seen[value] then return seen[value] end
    local copy = {}
    seen[value] = copy
    for key, item in pairs(value) do copy[key] = finished(source, item, seen) end
    return copy
end

--- The tree of a mapped file, or nil and what is wrong; `open` opens it where elements are read.
local function read_checkpoint(block, open)
    local archive, problem = open_archive(block)
    if not archive then return nil, problem end
    local order = archive.byteorder and text_of(block, archive.byteorder)
    if order and order ~= "little" then return nil, "its elements are big-endian, which is not read" end
    local text
    text, problem = text_of(block, archive["data.pkl"])
    if not text then return nil, problem end
    local ok, value = pcall(pickle.read, text, find, storage_loader(archive))
    if ok then
        ok, problem = pcall(check_tree, value, { left = 1000 + 8 * #text }, 0)
    else
        problem = value
    end
    if not ok then return nil, ("'%s' in it: %s"):format(archive["data.pkl"].name, tostring(problem)) end
    local source, result = { block = block, file = open and open() }
    ok, result = pcall(finished, source, value, {})
    if source.file then source.file.close() end
    if ok then return result end
    if type(result) == "table" and result.problem then return nil, result.problem end
    error(result, 0)
end

--- np.io.load_torch(path, {mmap_mode=…}) -> value: what torch.save has put into a file (.pt, .pth): a state dict, or
-- any dicts, lists and tuples of tensors, numbers and texts, as tables; tensors and parameters are arrays, whatever
-- their strides, and what a dict has as None is left out. Python's code is never run: what is no data is refused by
-- its name. np.tree.nest makes layers of names with dots, np.tree.rename and np.tree.transpose make them those of
-- np.nn.
--- mmap_mode: "r" maps the file into memory: elements are read when they are needed (see np.io.load)
--- > np.io.savez("x.pt", {x = np.ones(2)}) -- an archive, but none of PyTorch
--- > ok, problem = pcall(np.io.load_torch, "x.pt", {mmap_mode="r"})
--- > problem:match "x.pt.*"
-- x.pt': it is no checkpoint of PyTorch: there is no data.pkl in it
function torch.load_torch(path, given)
    local mode = core.options(NAME, given, { mmap_mode = true }).mmap_mode
    core.check_path(NAME, path)
    if mode ~= nil and mode ~= "r" then
        raise(NAME, "option 'mmap_mode' must be \"r\": arrays do not change, got %s", core.describe(mode))
    end
    local block, problem = buffer.map(path)
    if not block then raise(NAME, "%s", problem) end
    local function open()
        local file, why = files.open(path)
        if not file then error({ problem = why }, 0) end
        return file
    end
    local ok, value, why = pcall(read_checkpoint, block, not mode and open or nil)
    files.release(block)
    if not ok then error(value, 0) end
    if value == nil then raise(NAME, "cannot read '%s': %s", path, why) end
    return value
end

for _, f in ipairs { read_elements, map_elements, read_checkpoint, torch.load_torch } do jit.off(f) end

return torch
