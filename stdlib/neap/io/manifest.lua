--- manifest.lua: the manifest of a checkpoint: what it says, and whether it can be true.
--
-- A manifest is believed no more than other files: sizes, places and names are checked before they are used. What is
-- wrong is raised as { problem = text }, which checkpoint.lua catches.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local json = require "neap.files.json"
local zip = require "neap.files.zip"

local manifest = {}

local FORMAT, VERSION, NAME = "neap checkpoint", 1, "manifest.json"
local ORDER = ffi.abi "le" and "little" or "big"

function manifest.path(folder)
    return folder .. "/" .. NAME
end

--- Raises what is wrong with a checkpoint; caught where a public function began.
function manifest.wrong(format, ...)
    error({ problem = format:format(...) }, 0)
end
local wrong = manifest.wrong

--- The number of elements of a shape.
function manifest.volume(dims)
    local size = 1
    for k = 1, #dims do size = size * dims[k] end
    return size
end
local volume = manifest.volume

--- The CRC-32 of memory, or of a string, as a text.
function manifest.checksum(data, size)
    local crc, problem = zip.crc32(ffi.cast("const uint8_t *", data), size)
    if not crc then wrong("%s", problem) end
    return ("%08x"):format(crc)
end
local checksum = manifest.checksum

--- A value as the pieces of a file: JSON with a checksum of it.
function manifest.pieces(value)
    local text = json.write(value)
    return { ('{"crc":"%s",\n"content":%s}\n'):format(checksum(text, #text), text) }
end

--- The value of a file of such pieces, and its checksum.
function manifest.read_json(path)
    local block, problem = files.read(path)
    if not block then wrong("%s", problem) end
    local crc, text = ffi.string(block.data, block.size):match '^{"crc":"(%x+)",\n"content":(.*)}\n$'
    if not crc then wrong("'%s' is no file of a checkpoint, or truncated", path) end
    if checksum(text, #text) ~= crc then wrong("'%s' is damaged: its checksum is wrong", path) end
    local ok, value = pcall(json.read, text)
    if not ok then wrong("'%s' is damaged: %s", path, value) end
    return value, crc
end

local function is_count(value)
    return type(value) == "number" and value >= 0 and value % 1 == 0 and value < 2 ^ 53
end

local function are_counts(list, n)
    if type(list) ~= "table" or #list ~= n then return false end
    for k = 1, n do
        if not is_count(list[k]) then return false end
    end
    return true
end

--- Whether a piece lies in an array of these sizes, and in its file.
local function is_piece(piece, dims, item, sizes)
    if type(piece) ~= "table" or not are_counts(piece.start, #dims) or not are_counts(piece.shape, #dims) then
        return false
    end
    for k = 1, #dims do
        if piece.start[k] + piece.shape[k] > dims[k] then return false end
    end
    local file = sizes[piece.file]
    return type(piece.crc) == "string" and file ~= nil and is_count(piece.offset)
        and piece.offset + volume(piece.shape) * item <= file
end

--- Where two boxes of one array meet: first and size by axis, or nil.
function manifest.meeting_of(a, b)
    local first, size = {}, {}
    for k = 1, #a.start do
        first[k] = math.max(a.start[k], b.start[k])
        size[k] = math.min(a.start[k] + a.shape[k], b.start[k] + b.shape[k]) - first[k]
        if size[k] <= 0 then return nil end
    end
    return first, size
end

--- Whether no two of these boxes meet. Only those whose first axes do are compared.
local function are_apart(boxes)
    local sorted = {}
    for k, box in ipairs(boxes) do sorted[k] = box end
    if #sorted < 2 or #sorted[1].start == 0 then return #sorted < 2 end
    table.sort(sorted, function(a, b) return a.start[1] < b.start[1] end)
    for k, box in ipairs(sorted) do
        for other = k + 1, #sorted do
            if sorted[other].start[1] >= box.start[1] + box.shape[1] then break end
            if manifest.meeting_of(box, sorted[other]) then return false end
        end
    end
    return true
end

--- Raises unless the entry of an array makes sense.
function manifest.check_array(path, leaf, sizes)
    local code = core.dtype_codes[leaf.dtype]
    if not code then
        wrong("'%s': the dtype of '%s', %s, is not one of neap's", path, leaf.path, core.describe(leaf.dtype))
    end
    local dims = leaf.shape
    if type(dims) ~= "table" or #dims > core.MAX_DIMS or not are_counts(dims, #dims) or volume(dims) >= 2 ^ 53
        or type(leaf.pieces) ~= "table" then
        wrong("'%s': the entry of '%s' is damaged", path, leaf.path)
    end
    local found = 0
    for k, piece in ipairs(leaf.pieces) do
        if not is_piece(piece, dims, core.dtypes[code].bytes, sizes) then
            wrong("'%s': piece %d of '%s' lies outside of its array or file", path, k, leaf.path)
        end
        found = found + volume(piece.shape)
    end
    if found ~= volume(dims) then
        wrong("'%s': the pieces of '%s' have %.0f elements, its shape is %s", path, leaf.path, found,
              core.shape_text(dims))
    end
    if not are_apart(leaf.pieces) then wrong("'%s': pieces of '%s' overlap", path, leaf.path) end
end

--- The manifest of a folder, checked; `sizes` has bytes by file, `crc` tells it from others.
function manifest.read(folder)
    local path = manifest.path(folder)
    local m, crc = manifest.read_json(path)
    if type(m) ~= "table" or m.format ~= FORMAT then wrong("'%s' is no manifest of a checkpoint", path) end
    if m.version ~= VERSION then -- first, since another version may have other fields
        wrong("'%s' has version %s, this neap reads version %d", path, tostring(m.version), VERSION)
    end
    if type(m.files) ~= "table" or type(m.leaves) ~= "table" or not is_count(m.generation) then
        wrong("'%s' is no manifest of a checkpoint", path)
    end
    if m.order ~= ORDER then wrong("'%s': its numbers are in another byte order, '%s'", path, tostring(m.order)) end
    m.sizes, m.crc = {}, crc
    for _, file in ipairs(m.files) do
        if type(file) ~= "table" or type(file.name) ~= "string" or not file.name:find "^data%-%x+%-%d+%.bin$"
            or not is_count(file.bytes) then
            wrong("'%s': its list of files is damaged", path)
        end
        m.sizes[file.name] = file.bytes
    end
    for _, leaf in ipairs(m.leaves) do
        if type(leaf) ~= "table" or type(leaf.path) ~= "string" then wrong("'%s': its leaves are damaged", path) end
        if leaf.pieces ~= nil then manifest.check_array(path, leaf, m.sizes) end
    end
    return m
end

--- The manifest of a folder, or nil if it has none.
function manifest.find(folder)
    return files.size(manifest.path(folder)) and manifest.read(folder)
end

--- Puts a manifest, { generation, files, leaves }, in the place of the folder's, and on the disk.
function manifest.write(folder, m)
    m.format, m.version, m.order = FORMAT, VERSION, ORDER
    local good, problem = files.write(manifest.path(folder), manifest.pieces(m))
    if not good then wrong("%s", problem) end
end

return manifest
