--- checkpoint.lua: np.io.save_checkpoint and np.io.load_checkpoint: trees with sharded arrays in a folder, written and
-- read by all processes together.
--
--      folder/manifest.json        what the checkpoint is: leaves, and which file has which piece of them
--             data-HEX-0.bin       the bytes of pieces, written by process 0; HEX: random digits of this save
--             data-HEX-1.bin …     by process 1
--             data-HEX-1.json      what is in it, for process 0, until the manifest is there
--
-- Of blocks that several devices have, the first device's process writes one. A block is cut along its first axis into
-- *pieces*, each with its place in the array and a checksum: a reader takes those that it needs. Pieces are row-major,
-- in the byte order that the manifest names, and begin at multiples of ALIGNMENT.
--
-- There is one moment at which a checkpoint comes to be: when the manifest takes its name, after all processes have
-- written and synced their files, which nothing names before. Whatever ends earlier leaves the checkpoint before it as
-- it was, whose files go after that moment. Processes meet three times: to agree on HEX, before that moment and after
-- it; they tell each other whether they failed.
--
-- Others may save into the same folder at the same time: files of two saves have different names, the last manifest
-- counts. A writer keeps its files locked until the manifest names them (files.create). With the manifest in its place,
-- and the folder locked so that nobody else replaces it, process 0 removes the data files that the manifest does not
-- name and nobody has locked: those of the checkpoint before, and of writers that were killed. A reader that misses a
-- file reads the manifest again.
--
-- The manifest is manifest.lua's.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local manifest = require "neap.io.manifest"
local meshes = require "neap.mesh.mesh"
local paths = require "neap.core.tree_paths"
local born = require "neap.mesh.born"
local shardings = require "neap.mesh.sharding"
local trees = require "neap.core.trees"

local np, C = core.np, core.C
local raise, bad_argument = core.raise, core.bad_argument

local volume, wrong, checksum = manifest.volume, manifest.wrong, manifest.checksum

local checkpoint = {}

local PIECE = 2 ^ 22 -- bytes of a piece, at most, unless one row has more
local ALIGNMENT = 64
local LOCK_SECONDS = 30 -- a commit takes milliseconds

local function data_name(tag, process)
    return ("data-%s-%d.bin"):format(tag, process)
end

--- What process 0 is told of a data file stands beside it.
local function part_name(data)
    return (data:gsub("bin$", "json"))
end

--- f(…); raises as np.name what went wrong.
local function reported(name, f, ...)
    local function finish(ok, ...)
        if ok then return ... end
        local problem = ...
        if type(problem) == "table" and problem.problem then raise(name, "%s", problem.problem) end
        error(problem, 0)
    end
    return finish(pcall(f, ...))
end

-- ---- All processes --------------------------------------------------------------------------------------------------

--- Waits until all processes have come here; returns the integers that they brought, that of process 0 first.
local function exchange(value)
    local n = C.neap_process_count()
    if n == 1 then return { value } end
    local devices, seen = {}, {}
    for k, device in ipairs(np.devices()) do
        if not seen[device.process] then
            seen[device.process] = true
            devices[#devices + 1] = np.devices()[k]
        end
    end
    local mesh = np.mesh({ n }, { "process" }, { devices = devices })
    local values = np.device_put(np.full({ n }, value, { dtype = "i64" }), mesh, np.P "process")
    return np.shard_map(function(one) return np.all_gather(one, "process", { tiled = true }) end,
                        { mesh = mesh, in_specs = np.P "process", out_specs = np.P() })(values):totable()
end

--- Waits until all processes have come here, and tells them whether this one failed. Returns the first that did, or
-- nil.
local function meet(failed)
    for k, flag in ipairs(exchange(failed and 1 or 0)) do
        if flag ~= 0 then return k - 1 end
    end
    return nil
end

--- f() in this process, while the others do the same. If one of them failed, each calls undo(), and raises.
local function together(undo, f)
    local ok, problem = pcall(f)
    local other = meet(not ok) -- raises if a process is lost; what the others do is unknown then, and nothing is undone
    if ok and not other then return problem end
    undo()
    if not ok then error(problem, 0) end
    wrong("process %d failed", other)
end

-- ---- Saving ---------------------------------------------------------------------------------------------------------

--- The blocks of an array that this process writes: a list of { data, start, shape }.
local function own_blocks(x)
    local dims, list = core.shape_of(x), {}
    if not x.sharding then
        local start = {}
        for k = 1, #dims do start[k] = 0 end
        if C.neap_process_index() == 0 then list[1] = { data = x, start = start, shape = dims } end
        return list
    end
    for _, shard in ipairs(x:addressable_shards()) do
        if shard.replica == 0 then
            local block = { data = shard.data, start = {}, shape = {} }
            for k, range in ipairs(shard.index) do block.start[k], block.shape[k] = range[1], range[2] - range[1] end
            list[#list + 1] = block
        end
    end
    return list
end

--- Adds a block, cut, to the pieces of a leaf and to what is written into a file: out = { name, size, … }, a list of
-- memory and paddings.
local function add_block(out, pieces, block, item)
    local data = ffi.cast("uint8_t *", core.data(block.data))
    local rows = block.shape[1] or 1
    local row = volume(block.shape) / math.max(rows, 1) * item
    local step = math.max(1, math.floor(PIECE / math.max(row, 1)))
    for from = 0, rows - 1, step do
        local start, shape, count = { unpack(block.start) }, { unpack(block.shape) }, math.min(step, rows - from)
        if start[1] then start[1], shape[1] = start[1] + from, count end
        local bytes = count * row
        local memory = { data = data + from * row, size = bytes, keep = block.data }
        pieces[#pieces + 1] = { file = out.name, offset = out.size, start = start, shape = shape,
                                crc = checksum(memory.data, bytes) }
        local padding = -bytes % ALIGNMENT
        out[#out + 1], out[#out + 2] = memory, ("\0"):rep(padding)
        out.size = out.size + bytes + padding
    end
end

--- A text in which bytes of a class are %XX.
local function percent_escaped(text, class)
    return (text:gsub(class, function(c) return ("%%%02X"):format(c:byte()) end))
end

--- A leaf that is no array, as JSON. Numbers and strings are texts, as JSON has neither infinities nor bytes.
local function plain_leaf(name, path, value)
    if value == nil then return { path = path, empty = true } end
    if type(value) == "number" then return { path = path, number = ("%.17g"):format(value) } end
    if type(value) == "boolean" then return { path = path, boolean = value } end
    if type(value) == "string" then
        return { path = path, string = percent_escaped(value, "[^%w _.,:;/+=()-]") }
    end
    raise(name, "a checkpoint holds arrays, numbers, strings and booleans; '%s' is %s", path, core.describe(value))
end

--- Makes a file of a save that goes on: the function that says that it is over is kept in `held`.
local function create(held, path, pieces)
    local release, problem = files.create(path, pieces)
    if not release then wrong("%s", problem) end
    held[#held + 1] = release
end

--- Writes this process's pieces; returns what the manifest says of them: { file, leaves }.
local function write_own(name, folder, tag, leaves, held)
    local out = { name = data_name(tag, C.neap_process_index()), size = 0 }
    local own = { leaves = {} }
    for k, leaf in ipairs(leaves) do
        local path, value = percent_escaped(leaf[1], "[\128-\255]"), leaf[2] -- JSON's strings are UTF-8
        if core.is_array(value) then
            local dtype, pieces = core.dtype_of(value), {}
            own.leaves[k] = { path = path, dtype = dtype.name, shape = core.shape_of(value), pieces = pieces }
            for _, block in ipairs(own_blocks(value)) do add_block(out, pieces, block, dtype.bytes) end
        else
            own.leaves[k] = plain_leaf(name, path, value)
        end
    end
    own.file = { name = out.name, bytes = out.size }
    create(held, folder .. "/" .. out.name, out)
    if C.neap_process_index() > 0 then create(held, folder .. "/" .. part_name(out.name), manifest.pieces(own)) end
    return own
end

--- Process 0: what all processes have written as one list of leaves and of files.
local function merge_parts(folder, tag, own)
    local listed = { own.file }
    for process = 1, C.neap_process_count() - 1 do
        local part = folder .. "/" .. part_name(data_name(tag, process))
        if not files.size(part) then
            wrong("process %d has written, and nothing of it is in '%s' of process 0: all hosts have to share the "
                  .. "folder", process, folder)
        end
        local other = manifest.read_json(part)
        listed[process + 1] = other.file
        for k = 1, math.max(#own.leaves, #other.leaves) do
            local a, b = own.leaves[k], other.leaves[k]
            if not a or not b or a.path ~= b.path or a.dtype ~= b.dtype
                or a.shape and core.shape_text(a.shape) ~= core.shape_text(b.shape) then
                wrong("process %d saves another tree than process 0: its leaf %d is '%s', not '%s'", process, k,
                      b and b.path or "missing", a and a.path or "missing")
            end
            for _, piece in ipairs(b.pieces or {}) do a.pieces[#a.pieces + 1] = piece end
        end
    end
    return listed, own.leaves
end

--- Removes the data files of a locked folder that its manifest does not name, unless their writers live. Without locks
-- only those of the manifest before.
local function remove_others(folder, sizes, old, locks)
    for _, file in ipairs(not locks and old and old.files or {}) do files.remove(folder .. "/" .. file.name) end
    for _, name in ipairs(locks and files.names(folder) or {}) do
        local kind = name:match "^data%-%x+%-%d+%.(%a+)$" or name:match "^data%-%x+%-%d+%.(%a+)%.%x+%.part$"
        if (kind == "bin" or kind == "json") and not sizes[name] then files.remove_dead(folder .. "/" .. name) end
    end
end

--- Process 0: from here on the folder holds this checkpoint.
local function commit(folder, tag, own)
    local listed, leaves = merge_parts(folder, tag, own)
    local sizes = {}
    for _, file in ipairs(listed) do sizes[file.name] = file.bytes end
    for _, leaf in ipairs(leaves) do
        if leaf.pieces then manifest.check_array(folder, leaf, sizes) end
    end
    local unlock, locks = files.lock_folder(folder, LOCK_SECONDS)
    if not unlock then wrong("%s", locks) end
    local ok, problem = pcall(function()
        for name, bytes in pairs(sizes) do
            if files.size(folder .. "/" .. name) ~= bytes then
                wrong("'%s/%s' was written and has gone: somebody else has changed the folder", folder, name)
            end
        end
        local old = manifest.find(folder)
        manifest.write(folder, { generation = old and old.generation + 1 or 1, files = listed, leaves = leaves })
        remove_others(folder, sizes, old, locks)
    end)
    unlock()
    if not ok then error(problem, 0) end
end

--- The digits in the names of this save's files, the same in all processes: of process 0, which says so.
local function agree_on_tag()
    local digits = files.random_name():sub(1, 13) -- below 2^52, so it is a number of all its digits
    return ("%013x"):format(exchange(tonumber(digits, 16))[1])
end

--- Removes this process's files of a save that failed, unless the manifest names them all the same.
local function discard(folder, tag)
    local data = data_name(tag, C.neap_process_index())
    local ok, m = pcall(manifest.find, folder)
    if not ok or m and m.sizes[data] then return end
    files.remove(folder .. "/" .. data)
    files.remove(folder .. "/" .. part_name(data))
end

local function save_held(name, folder, t, held)
    local leaves = paths.leaves(name, t)
    local tag = agree_on_tag()
    local function undo() discard(folder, tag) end
    local own = together(undo, function()
        local good, problem = files.folder(folder)
        if not good then wrong("%s", problem) end
        return write_own(name, folder, tag, leaves, held)
    end)
    together(undo, function()
        if C.neap_process_index() == 0 then commit(folder, tag, own) end
    end)
    if C.neap_process_index() > 0 then files.remove(folder .. "/" .. part_name(own.file.name)) end
end

local function save(name, folder, t)
    local held = {}
    local ok, problem = pcall(save_held, name, folder, t, held)
    for _, release in ipairs(held) do release() end
    if not ok then error(problem, 0) end
end

local function check_folder(name, folder)
    if type(folder) ~= "string" or folder == "" or folder:find "%z" then
        bad_argument(name, 1, "folder", "the name of a folder", folder)
    end
end

--- np.io.save_checkpoint(folder, t) -> nothing: writes nested tables of arrays, numbers, strings and booleans into a
-- folder, which is made if it is not there. Sharded arrays are written by all processes, each its own blocks: all must
-- call it, with the same tree. Numbers, strings, booleans and arrays without a sharding are those of process 0. Waits
-- for the arrays. A checkpoint that the folder held is replaced when the new one is complete: whatever happens before
-- leaves the old one.
--- > np.io.save_checkpoint("checkpoint", {w = np.ones(2), step = 3})
--- > np.io.load_checkpoint("checkpoint").step
-- 3
function checkpoint.save_checkpoint(folder, t)
    check_folder("io.save_checkpoint", folder)
    if not trees.is_node(t) then bad_argument("io.save_checkpoint", 2, "t", "a table", t) end
    reported("io.save_checkpoint", save, "io.save_checkpoint", folder, t)
end

-- ---- Loading --------------------------------------------------------------------------------------------------------

local function close_all(open)
    for _, file in pairs(open) do file.close() end
end

--- Opens all files that a manifest names: a table by name. Or nil and what is missing.
local function open_all(folder, m)
    local open = {}
    for name, bytes in pairs(m.sizes) do
        local path = folder .. "/" .. name
        local file, problem = files.open(path)
        if not file then
            close_all(open)
            return nil, problem
        end
        open[name] = file
        if file.size < bytes then
            close_all(open)
            wrong("'%s' is truncated: it has %.0f bytes of %.0f", path, file.size, bytes)
        end
    end
    return open
end

--- The manifest of a folder and its files, open, so that nobody can take them away: { folder, manifest, open }, these
-- by name. A save may remove files before they are open; then there is another manifest.
local function open_checkpoint(folder)
    local m = manifest.read(folder)
    while true do
        local open, problem = open_all(folder, m)
        if open then return { folder = folder, manifest = m, open = open } end
        local again = manifest.read(folder)
        if again.crc == m.crc then wrong("%s", problem) end
        m = again
    end
end

--- Reads a piece to `memory` and checks it.
local function read_piece(reader, leaf, piece, memory, bytes)
    local good, problem = reader.open[piece.file].read(memory, bytes, piece.offset)
    if not good then wrong("%s", problem) end
    if checksum(memory, bytes) ~= piece.crc then
        wrong("'%s/%s' is damaged: the checksum of the piece of '%s' at byte %.0f is wrong", reader.folder, piece.file,
              leaf.path, piece.offset)
    end
end

--- The element of a box, row-major, that stands at a place of the array.
local function element_of(box, place)
    local at = 0
    for k = 1, #place do at = at * box.shape[k] + place[k] - box.start[k] end
    return at
end

--- Copies what two boxes have in common, elements of `item` bytes, from one's memory to the other's.
local function copy_box(to, to_memory, from, from_memory, first, size, item)
    local axis, run = #size, 1 -- elements from here on lie side by side in both
    while axis > 0 do
        run = run * size[axis]
        axis = axis - 1
        if size[axis + 1] < from.shape[axis + 1] or size[axis + 1] < to.shape[axis + 1] then break end
    end
    local place = { unpack(first) }
    while true do
        ffi.copy(to_memory + element_of(to, place) * item, from_memory + element_of(from, place) * item, run * item)
        local k = axis
        while k > 0 and place[k] == first[k] + size[k] - 1 do
            place[k] = first[k]
            k = k - 1
        end
        if k == 0 then return end
        place[k] = place[k] + 1
    end
end

--- Memory for the largest of the pieces that a block, a box of an array, needs.
local function piece_memory(leaf, block, item)
    local most = 0
    for _, piece in ipairs(leaf.pieces) do
        if manifest.meeting_of(block, piece) then most = math.max(most, volume(piece.shape) * item) end
    end
    local apart, problem = files.block(most)
    if not apart then wrong("a piece of '%s': %s", leaf.path, problem) end
    return apart
end

--- Fills the memory of a block from the pieces that it needs; `apart` is memory for one of them.
local function fill_block(reader, leaf, block, memory, apart, item)
    for _, piece in ipairs(leaf.pieces) do
        local first, size = manifest.meeting_of(block, piece)
        if first then
            read_piece(reader, leaf, piece, apart.data, volume(piece.shape) * item)
            copy_box(block, memory, piece, apart.data, first, size, item)
        end
    end
end

--- The block of a leaf that is this box, as an array.
local function read_block(reader, leaf, block)
    local dtype = core.dtypes[core.dtype_codes[leaf.dtype]]
    local apart, ok, problem = piece_memory(leaf, block, dtype.bytes), nil, nil
    local x = core.fill(dtype.code, block.shape, function(memory)
        ok, problem = pcall(fill_block, reader, leaf, block, memory, apart, dtype.bytes)
        if ok and dtype.kind == "b" then
            for k = 0, volume(block.shape) - 1 do memory[k] = memory[k] ~= 0 and 1 or 0 end
        end
    end, "uint8_t *", "io.load_checkpoint")
    files.release(apart)
    if not ok then error(problem, 0) end
    return x
end

local Entry = {} -- marks the entry of an array in a tree

--- The tree of a manifest, with entries in the place of arrays.
local function tree_of(folder, m)
    local t = {}
    for _, leaf in ipairs(m.leaves) do
        local value
        if leaf.pieces then
            value = setmetatable(leaf, Entry)
        elseif type(leaf.number) == "string" then
            value = tonumber(leaf.number) or core.NAN
        elseif type(leaf.boolean) == "boolean" then
            value = leaf.boolean
        elseif type(leaf.string) == "string" then
            value = leaf.string:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
        end
        if (value == nil) ~= (leaf.empty == true) or not paths.put(t, leaf.path, value) then
            wrong("'%s': its leaf '%s' does not fit", manifest.path(folder), leaf.path)
        end
    end
    return t
end

--- How the array of an entry is to lie: a sharding, or nil. `item` is what the options say of it.
local function wanted_sharding(name, o, entry, item, path)
    if o.shardings ~= nil then
        if item == nil or shardings.is_sharding(item) then return item end
        raise(name, "option 'shardings' must be a sharding, or a tree of them, got %s for %s", core.describe(item),
              path)
    end
    if not o.mesh then return nil end
    local spec = item or np.P()
    if not shardings.is_spec(spec) then
        raise(name, "option 'specs' must be a spec such as np.P(%q, nil), or a tree of them, got %s for %s",
              o.mesh.axis_names[1], core.describe(item), path)
    end
    shardings.axes_of(name, ("option 'specs': that of %s"):format(path), spec, o.mesh)
    local problem = shardings.misfit(path, entry.shape, "its spec", spec, o.mesh, true)
    if problem then raise(name, "%s", problem) end
    return np.NamedSharding(o.mesh, spec)
end

--- A part of a checkpoint's tree in words, as what is there and what option 'like' has are compared.
local function form_of(value)
    if getmetatable(value) == Entry then return ("%s of shape %s"):format(value.dtype, core.shape_text(value.shape)) end
    if core.is_array(value) then return ("%s of shape %s"):format(value.dtype, core.shape_text(value)) end
    return trees.is_node(value) and "a table" or core.describe(value)
end

--- Raises where a tree of entries is not of the form of `like`; entries are told where the arrays of `like` lie. At the
-- top a checkpoint may have more than `like`.
local function compare(name, folder, like, t, path, depth)
    trees.check_depth(name, depth)
    if not (trees.is_node(like) and trees.is_node(t)) then
        local found, expected = form_of(t), form_of(like)
        if found ~= expected then
            raise(name, "'%s' has %s at '%s', where option 'like' has %s", folder, found, path, expected)
        end
        if core.is_array(like) then t.sharding = like.sharding end
        return
    end
    local keys = {}
    for key in pairs(like) do keys[key] = true end
    if depth > 0 then
        for key in pairs(t) do keys[key] = true end
    end
    for _, key in ipairs(trees.keys_of(keys, name)) do
        compare(name, folder, like[key], t[key], trees.inner_path(path, key), depth + 1)
    end
end

local function load_tree(name, reader, o)
    local what = o.shardings ~= nil and "shardings" or "specs"
    local t = tree_of(reader.folder, reader.manifest)
    if o.like ~= nil then compare(name, reader.folder, o.like, t, "", 0) end
    return trees.with_prefix(name, ("option '%s'"):format(what), t, o[what], "the checkpoint",
                             function(entry, item, path)
        if getmetatable(entry) ~= Entry then return entry end
        local sharding = entry.sharding or wanted_sharding(name, o, entry, item, path)
        if sharding then
            return born.read(name, sharding, entry.shape, entry.dtype,
                             function(block) return read_block(reader, entry, block) end)
        end
        local start = {}
        for k = 1, #entry.shape do start[k] = 0 end
        return read_block(reader, entry, { start = start, shape = entry.shape })
    end)
end

--- np.io.load_checkpoint(folder, {mesh=…, specs=…, shardings=…, like=…}) -> table: the tables that
-- np.io.save_checkpoint wrote. Without options their arrays are ordinary ones. With a mesh they lie on it, as `specs`
-- says: a spec, or a tree of specs by the keys of the tables, where what it does not name is replicated. Or
-- `shardings`, a tree of what x.sharding is, where arrays that it does not name are ordinary ones. Mesh and specs need
-- not be those that were saved; each process reads the pieces that its devices need.
--
-- Or `like`, a tree such as {params=params, state=state, seed=0}: what it has must be in the checkpoint, with the same
-- keys, shapes and dtypes, and the same numbers, texts and booleans, else an error says what differs; its arrays lie as
-- those of `like`. What else the checkpoint has at the top is loaded too.
--- mesh: a mesh on which the arrays will lie
--- specs: how they lie on it: a spec, or a tree of specs
--- shardings: a tree of shardings, instead of mesh and specs
--- like: a tree of arrays, as they are to be and to lie, instead of mesh, specs and shardings
--- > np.io.save_checkpoint("checkpoint", {w = np.ones(2)})
--- > np.io.load_checkpoint("checkpoint").w
-- [1. 1.]
function checkpoint.load_checkpoint(folder, given)
    local name = "io.load_checkpoint"
    check_folder(name, folder)
    local o = core.options(name, given, { mesh = true, specs = true, shardings = true, like = true })
    if o.mesh ~= nil and not meshes.is_mesh(o.mesh) then bad_argument(name, nil, "mesh", "a mesh", o.mesh) end
    if o.specs ~= nil and not o.mesh then raise(name, "option 'specs' needs option 'mesh'") end
    if o.shardings ~= nil and o.mesh then raise(name, "options 'mesh' and 'shardings' exclude each other") end
    if o.like ~= nil then
        if not trees.is_node(o.like) then bad_argument(name, nil, "like", "a table of arrays", o.like) end
        if o.mesh or o.shardings ~= nil then
            raise(name, "option 'like' says how arrays lie; it excludes 'mesh' and 'shardings'")
        end
    end
    local reader = reported(name, open_checkpoint, folder)
    local function finish(ok, ...)
        close_all(reader.open)
        if not ok then error((...), 0) end
        return ...
    end
    return finish(pcall(reported, name, load_tree, name, reader, o))
end

for _, f in ipairs { reported, meet, together, own_blocks, add_block, write_own, fill_block, read_block,
                     load_tree, checkpoint.save_checkpoint, checkpoint.load_checkpoint } do
    jit.off(f)
end

return checkpoint
