--- safetensors.lua: np.io.save_safetensors and np.io.load_safetensors: named arrays in one file, with the rules of the
-- format's reference (https://github.com/huggingface/safetensors): 8 bytes with the length of a header, lowest byte
-- first; the header, JSON; the elements, little-endian, row-major, one array behind the other.
--
-- What a header says is checked before memory is taken: its length, that arrays lie side by side without holes or
-- overlaps and end with the file, and that each has as many bytes as its dtype and shape need.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local json = require "neap.files.json"
local buffer = require "neap.arrays.buffer"

local np, dtypes = core.np, core.dtypes
local raise, bad_argument, is_array = core.raise, core.bad_argument, core.is_array
local safetensors = {}

local MOST_HEADER, ALIGN = 100000000, 8
local METADATA = "__metadata__"

-- The format's names of dtypes, in the order in which files have them, the last first.
local NAMES = { "BOOL", "U8", "I8", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64" }
local ranks, by_name = {}, {}
for rank, name in ipairs(NAMES) do ranks[name] = rank end
for code = 0, #dtypes do
    local name = dtypes[code].name:upper()
    if ranks[name] then by_name[name] = dtypes[code] end
end

-- ---- Reading --------------------------------------------------------------------------------------------------------

local function is_count(value)
    return type(value) == "number" and value >= 0 and value % 1 == 0 and value < 2 ^ 53
end

--- Whether a table of JSON is a list of n counts, or of any number.
local function is_counts(list, n)
    if type(list) ~= "table" or list == json.null or n and #list ~= n then return false end
    for key, value in pairs(list) do
        if type(key) ~= "number" or not is_count(value) then return false end
    end
    return true
end

--- What the header says of one array: { name, dtype, dims, first, last }, or nil and what is wrong.
local function entry_of(name, facts)
    if type(facts) ~= "table" or facts == json.null then return nil, ("'%s' in it is no description"):format(name) end
    local dtype = type(facts.dtype) == "string" and by_name[facts.dtype]
    if not dtype then
        return nil, ("'%s' in it has the dtype %s, which is not one of neap's"):format(name, tostring(facts.dtype))
    end
    if not is_counts(facts.shape) then return nil, ("'%s' in it has no shape"):format(name) end
    if #facts.shape > core.MAX_DIMS then
        return nil, ("'%s' in it has %d axes, at most %d are possible"):format(name, #facts.shape, core.MAX_DIMS)
    end
    if not is_counts(facts.data_offsets, 2) then return nil, ("'%s' in it has no data_offsets"):format(name) end
    for key in pairs(facts) do
        if key ~= "dtype" and key ~= "shape" and key ~= "data_offsets" then
            return nil, ("'%s' in it has a field '%s' too many"):format(name, tostring(key))
        end
    end
    local size = dtype.bytes
    for _, n in ipairs(facts.shape) do size = size * n end
    local first, last = facts.data_offsets[1], facts.data_offsets[2]
    if last - first ~= size then
        return nil, ("'%s' in it has %.0f bytes, %s of shape %s needs %.0f"):format(name, last - first, dtype.name,
                                                                                core.shape_text(facts.shape), size)
    end
    return { name = name, dtype = dtype, dims = facts.shape, first = first, last = last }
end

--- The metadata of a header: a table of strings, or nil and what is wrong.
local function metadata_of(value)
    if value == nil then return {} end
    if type(value) ~= "table" or value == json.null then return nil, "its metadata is no object" end
    for key, text in pairs(value) do
        if type(key) ~= "string" or type(text) ~= "string" then return nil, "its metadata holds more than strings" end
    end
    return value
end

--- The arrays that a header describes, in the order of their elements, and its metadata; or nil and what is wrong.
-- `bytes`: how many of elements there are.
local function read_header(text, bytes)
    if text:sub(1, 1) ~= "{" then return nil, "its header does not begin with {" end
    local ok, header = pcall(json.read, text)
    if not ok then return nil, "its header is " .. header end
    local metadata, problem = metadata_of(header[METADATA])
    if not metadata then return nil, problem end
    local list = {}
    for name, facts in pairs(header) do
        if type(name) ~= "string" then return nil, "its header is no object" end
        if name ~= METADATA then
            list[#list + 1], problem = entry_of(name, facts)
            if problem then return nil, problem end
        end
    end
    table.sort(list, function(a, b)
        if a.first ~= b.first then return a.first < b.first end
        if a.last ~= b.last then return a.last < b.last end
        return a.name < b.name
    end)
    local at = 0
    for _, entry in ipairs(list) do
        if entry.first ~= at then
            return nil, ("'%s' in it begins at byte %.0f, where the one before ends at %.0f"):format(entry.name,
                                                                                                 entry.first, at)
        end
        at = entry.last
    end
    if at ~= bytes then return nil, ("its arrays end at byte %.0f of %.0f"):format(at, bytes) end
    return list, metadata
end

--- The header of a file of `size` bytes, of which read(pointer, bytes, offset) reads parts: the list of its arrays,
-- their metadata, and where elements begin; or nil and what is wrong.
local function open_header(size, read)
    if size < 8 then return nil, "it is no safetensors file, or truncated" end
    local head = ffi.new("uint8_t[8]")
    local good, problem = read(head, 8, 0)
    if not good then return nil, problem end
    local length = 0
    for k = 7, 0, -1 do length = length * 256 + head[k] end
    if length > MOST_HEADER then return nil, ("its header would have %.0f bytes, more than 10^8"):format(length) end
    if 8 + length > size then return nil, "its header is truncated" end
    local block
    block, problem = files.block(length)
    if not block then return nil, problem end
    good, problem = read(block.data, length, 8)
    local text = good and ffi.string(block.data, length)
    files.release(block)
    if not good then return nil, problem end
    local list, metadata = read_header(text, size - 8 - length)
    return list, metadata, 8 + length
end

--- One array, read from an open file; or nil and what is wrong.
local function read_array(file, entry, start)
    local good, problem
    local x = core.fill(entry.dtype.code, entry.dims, function(out)
        local bytes = entry.last - entry.first
        good, problem = file.read(out, bytes, start + entry.first)
        if good and entry.dtype.kind == "b" then
            for k = 0, bytes - 1 do out[k] = out[k] ~= 0 and 1 or 0 end
        end
    end, "uint8_t *", "io.load_safetensors")
    if not good then return nil, problem end
    return x
end

--- All arrays of an open file: a list of { name, array } and its metadata; or nil and what is wrong.
local function read_all(file)
    local list, metadata, start = open_header(file.size, file.read)
    if not list then return nil, metadata end
    for k, entry in ipairs(list) do
        local x, problem = read_array(file, entry, start)
        if not x then return nil, problem end
        list[k] = { entry.name, x }
    end
    return list, metadata
end

--- The same of a mapped file. Bools are compared with 0, since a file may have others than 0 and 1.
local function map_all(block)
    local list, metadata, start = open_header(block.size, function(out, bytes, offset)
        ffi.copy(out, block.data + offset, bytes)
        return true
    end)
    if not list then return nil, metadata end
    for k, entry in ipairs(list) do
        local dtype, is_bool = entry.dtype, entry.dtype.kind == "b"
        if (start + entry.first) % dtype.bytes ~= 0 then
            return nil, ("'%s' in it is not aligned; load it without mmap_mode"):format(entry.name)
        end
        local x = buffer.mapped("io.load_safetensors", block, start + entry.first,
                                is_bool and dtypes[core.dtype_codes.u8] or dtype, entry.dims)
        list[k] = { entry.name, is_bool and np.not_equal(x, 0) or x }
    end
    return list, metadata
end

--- What option 'shardings' says: a function from a name to a sharding or nil; nil without the option. And the table, if
-- it is one by name.
local function wanted_shardings(name, given)
    if given == nil then return nil end
    local resolve = require("neap.mesh.born").sharding
    if getmetatable(given) ~= nil or type(given) ~= "table" then
        local one = resolve(name, "option 'shardings'", given)
        return function() return one end
    end
    local by_key = {}
    for key, item in pairs(given) do
        by_key[key] = resolve(name, ("option 'shardings', of '%s',"):format(tostring(key)), item)
    end
    return function(key) return by_key[key] end, by_key
end

--- Puts arrays of a mapped file on their meshes, block by block; others into memory, unless they stay mapped.
local function lay_out(name, path, arrays, sharding_of, by_key, mapped)
    for key in pairs(by_key or {}) do
        if not arrays[key] then raise(name, "option 'shardings' has '%s', which '%s' does not", tostring(key), path) end
    end
    for key, x in pairs(arrays) do
        local sharding = sharding_of(key)
        if sharding then
            arrays[key] = require("neap.mesh.born").copied(name, sharding, x)
        elseif not mapped then
            arrays[key] = np.copy(x):wait()
        end
    end
end

--- np.io.load_safetensors(path, {mmap_mode=…, shardings=…}) -> table, metadata: the arrays of a safetensors file by
-- name, and, as a second result, its metadata, a table of strings. Raises if the file is damaged: all rules of the
-- format are checked.
--- mmap_mode: "r" maps the file into memory: elements are read when they are needed (see np.io.load)
--- shardings: how arrays lie on a mesh: one for all, or a table with one by name: shardings, or specs on the mesh of
-- np.set_mesh. Each process reads only its blocks; arrays that the table does not name are read whole
--- > np.io.save_safetensors("w.safetensors", {w = np.ones{2, 2}}, {metadata={format="pt"}})
--- > arrays, metadata = np.io.load_safetensors("w.safetensors")
--- > arrays.w, metadata.format
-- [[1. 1.]
--  [1. 1.]]
-- pt
--- > np.io.load_safetensors("w.safetensors", {mmap_mode="r"}).w
-- [[1. 1.]
--  [1. 1.]]
function safetensors.load_safetensors(path, given)
    local name = "io.load_safetensors"
    local o = core.options(name, given, { mmap_mode = true, shardings = true })
    local mode = o.mmap_mode
    local sharding_of, by_key = wanted_shardings(name, o.shardings)
    core.check_path(name, path)
    local list, more, file, problem
    if mode == nil and not sharding_of then
        file, problem = files.open(path)
        if not file then raise(name, "%s", problem) end
        local ok
        ok, list, more = pcall(read_all, file)
        file.close()
        if not ok then error(list, 0) end
    elseif mode == "r" or mode == nil then
        file, problem = buffer.map(path)
        if not file then raise(name, "%s", problem) end
        list, more = map_all(file)
        files.release(file)
    else
        raise(name, "option 'mmap_mode' must be \"r\": arrays do not change, got %s", core.describe(mode))
    end
    if not list then raise(name, "cannot read '%s': %s", path, more) end
    local arrays = {}
    for _, pair in ipairs(list) do arrays[pair[1]] = pair[2] end
    if sharding_of then lay_out(name, path, arrays, sharding_of, by_key, mode == "r") end
    return arrays, more
end

-- ---- Writing --------------------------------------------------------------------------------------------------------

--- A text as JSON.
local function quoted(name, text)
    local written = json.write(text)
    if not pcall(json.read, written) then raise(name, "the name or text %q is no UTF-8", text) end
    return written
end

--- The metadata as JSON, with a comma behind it; "" if there is none.
local function metadata_text(name, metadata)
    if metadata == nil or type(metadata) == "table" and next(metadata) == nil then return "" end
    if type(metadata) ~= "table" then bad_argument(name, nil, "metadata", "a table of strings by name", metadata) end
    local parts = {}
    for key, text in pairs(metadata) do
        if type(key) ~= "string" or type(text) ~= "string" then
            bad_argument(name, nil, "metadata", "a table of strings by name", type(key) == "string" and text or key)
        end
        parts[#parts + 1] = quoted(name, key) .. ":" .. quoted(name, text)
    end
    table.sort(parts)
    return ('"%s":{%s}'):format(METADATA, table.concat(parts, ","))
end

--- np.io.save_safetensors(path, arrays, {metadata=…}) -> nothing: writes a table of arrays by name as a safetensors
-- file, as the format's own library does. Waits.
--- metadata: a table of strings by name, for the header
--- > np.io.save_safetensors("w.safetensors", {w = np.ones(3), b = np.zeros(1)})
function safetensors.save_safetensors(path, arrays, given)
    local name = "io.save_safetensors"
    core.check_path(name, path)
    if type(arrays) ~= "table" or getmetatable(arrays) ~= nil then
        bad_argument(name, 2, "arrays", "a table of arrays by name", arrays)
    end
    local metadata = core.options(name, given, { metadata = true }).metadata
    local list = {}
    for key, x in pairs(arrays) do
        if type(key) ~= "string" or key == METADATA then
            raise(name, "names are strings other than '%s', got %s", METADATA, core.describe(key))
        end
        if not is_array(x) then raise(name, "'%s' must be an array, got %s", key, core.describe(x)) end
        local kind = x.dtype:upper()
        if not ranks[kind] then raise(name, "'%s' is %s, which the format does not have", key, x.dtype) end
        list[#list + 1] = { name = key, x = x, kind = kind }
    end
    table.sort(list, function(a, b)
        if a.kind ~= b.kind then return ranks[a.kind] > ranks[b.kind] end
        return a.name < b.name
    end)
    local parts, pieces, at = { metadata_text(name, metadata) }, {}, 0
    if parts[1] == "" then parts[1] = nil end
    for _, item in ipairs(list) do
        local bytes = item.x.size * core.dtype_of(item.x).bytes
        parts[#parts + 1] = ('%s:{"dtype":"%s","shape":[%s],"data_offsets":[%.0f,%.0f]}'):format(
            quoted(name, item.name), item.kind, table.concat(item.x.shape, ","), at, at + bytes)
        pieces[#pieces + 1] = { data = core.data(item.x), size = bytes, keep = item.x }
        at = at + bytes
    end
    local header = "{" .. table.concat(parts, ",") .. "}"
    header = header .. (" "):rep(-#header % ALIGN)
    if #header > MOST_HEADER then raise(name, "the header would have %d bytes, more than 10^8", #header) end
    local length, rest = {}, #header
    for k = 1, 8 do
        length[k] = string.char(rest % 256)
        rest = math.floor(rest / 256)
    end
    table.insert(pieces, 1, table.concat(length) .. header)
    local good, problem = files.write(path, pieces)
    if not good then raise(name, "%s", problem) end
end

for _, f in ipairs { open_header, read_array, map_all, safetensors.save_safetensors } do jit.off(f) end

return safetensors
