--- born.lua: arrays that are born on a mesh: made of blocks, of which each process makes its own. The whole array is
-- nowhere: np.make_array_from_callback, np.make_array_from_process_local_data, and files that are read by block.
local ffi = require "ffi"
local core = require "neap.core"
local contract = require "neap.mesh.contract"
local shardings = require "neap.mesh.sharding"

local np, C, ctx = core.np, core.C, core.ctx
local raise, describe = core.raise, core.describe

local born = {}

local id_box = ffi.new("int32_t[1]")

-- ---- Blocks ---------------------------------------------------------------------------------------------------------

--- The blocks that this process has of an array of these sizes, each once, in the core's order: a list of { index,
-- device = the first that has it }.
local function own_blocks(name, sharding, dims)
    local list, known, own = {}, {}, C.neap_process_index()
    if sharding.layout.unreduced ~= 0 then
        raise(name, "the sharding is %s, but what is born is no sum that is not done: np.reshard makes one of it",
              tostring(sharding))
    end
    for place, part in ipairs(sharding:devices_indices_map(dims)) do
        local key = {}
        for k, range in ipairs(part.index) do key[k] = range[1] end
        key = table.concat(key, ",")
        if sharding.mesh.processes[place] == own and not known[key] then
            known[key] = true
            list[#list + 1] = part
        end
    end
    return list
end

--- An array of these sizes on a mesh, of blocks that make(index, device) gives, arrays of the block's shape. dtype: of
-- the array.
local function assemble(name, sharding, dims, dtype, blocks)
    local ids, sizes = ffi.new("int32_t[?]", #blocks + 1), ffi.new("int64_t[?]", #dims + 1, dims)
    for k, block in ipairs(blocks) do ids[k - 1] = block._id end
    return core.call_ids(name, id_box, 1, function()
        return C.neap_mesh_assemble(ctx, sharding.number, core.dtype_codes[dtype], #dims, sizes, #blocks, ids, id_box)
    end)[1]
end

--- An array of these sizes on a mesh, of this dtype, of which this process makes its blocks: make(block) gives an array
-- for { start, shape, device }, by axis where the block begins, from 0, and its size.
function born.read(name, sharding, dims, dtype, make)
    local blocks = {}
    dims = shardings.fitting_sizes(name, sharding, dims)
    for n, part in ipairs(own_blocks(name, sharding, dims)) do
        local block = { start = {}, shape = {}, device = part.device }
        for k, range in ipairs(part.index) do block.start[k], block.shape[k] = range[1], range[2] - range[1] end
        blocks[n] = make(block)
    end
    return assemble(name, sharding, dims, dtype, blocks)
end

--- The blocks of an array that is there, such as one that is a mapped file, as memory of their own on a mesh.
function born.copied(name, sharding, x)
    return born.read(name, sharding, core.shape_of(x), x.dtype, function(block)
        local index = {}
        for k, first in ipairs(block.start) do index[k] = { first, first + block.shape[k] } end
        local part = #index > 0 and x[index] or x
        return np.copy(part):wait()
    end)
end

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- The sharding that an argument or option is: one, or a spec for the mesh that is set.
function born.sharding(name, what, item)
    local mesh, spec = contract.resolve(name, what, item)
    return shardings.is_sharding(item) and item or np.NamedSharding(mesh, spec)
end

local function check_closed(name)
    if core.recording() then
        raise(name, "a gradient, a trace or a batch is open: blocks are made now, and would be part of none of them")
    end
end

-- ---- From functions and processes -----------------------------------------------------------------------------------

--- What a function gave for a block, as an array that fits the others.
local function checked_block(name, value, dtype, part)
    local want = {}
    for k, range in ipairs(part.index) do want[k] = range[2] - range[1] end
    local ok, x = true, value
    if not core.is_array(x) then ok, x = pcall(np.array, value, { dtype = dtype }) end
    if not ok then
        raise(name, "the function must return an array for each block, got %s for that on %s", describe(value),
              tostring(part.device))
    end
    if core.info(x).weak ~= 0 then x = x:astype(dtype or x.dtype) end
    local shape = core.shape_of(x)
    if core.shape_text(shape) ~= core.shape_text(want) then
        raise(name, "the block on %s has shape %s, but the function returned one of shape %s", tostring(part.device),
              core.shape_text(want), core.shape_text(shape))
    end
    if dtype and x.dtype ~= dtype then
        raise(name, "the block on %s has dtype %s, but the array has %s", tostring(part.device), x.dtype, dtype)
    end
    if x.sharding then raise(name, "the block on %s lies on a mesh itself", tostring(part.device)) end
    return x
end

--- np.make_array_from_callback(shape, sharding, f, {dtype=…}) -> x: an array of this shape on a mesh, which lies as a
-- sharding says, or as a spec on the mesh of np.set_mesh: of blocks that f(index, device) returns. index has for each
-- axis {from, to}, from 0 and half-open, so that whole[index] is the block; device is the first that has it. f is
-- called once for each block that this process has: the whole array need not fit anywhere. As
-- jax.make_array_from_callback.
--- dtype: of the array; without it that of the first block. A process without a block needs it
--- > sharding = np.NamedSharding(np.mesh({1}, {"i"}), np.P("i"))
--- > np.make_array_from_callback({4}, sharding, function(index) return np.arange(index[1][1], index[1][2]) end)
-- [0 1 2 3]
function np.make_array_from_callback(shape, sharding, f, given)
    local name = "make_array_from_callback"
    local dtype = core.options(name, given, { dtype = true }).dtype
    if dtype ~= nil then dtype = core.dtypes[core.dtype(name, dtype)].name end
    sharding = born.sharding(name, "argument 2 (sharding)", sharding)
    if type(f) ~= "function" then core.bad_argument(name, 3, "f", "a function", f) end
    local dims = shardings.fitting_sizes(name, sharding, shape)
    check_closed(name)
    local blocks = {}
    for k, part in ipairs(own_blocks(name, sharding, dims)) do
        local index = {}
        for axis, range in ipairs(part.index) do index[axis] = { range[1], range[2] } end
        blocks[k] = checked_block(name, f(index, part.device), dtype, part)
        dtype = dtype or blocks[k].dtype
    end
    if not dtype then raise(name, "this process has no block: option 'dtype' must say what the others have") end
    return assemble(name, sharding, dims, dtype, blocks)
end

--- Along axis k (from 1): of how many parts this process has which, { first, n, parts }, which must lie side by side.
local function own_parts(name, sharding, k)
    local own, parts, mesh = C.neap_process_index(), 1, sharding.mesh
    local seen, first, last, n = {}, math.huge, -1, 0
    for place = 1, mesh.size do
        local count, at = shardings.part_of(sharding.layout, k, mesh:coordinates(place - 1))
        parts = count
        if mesh.processes[place] == own and not seen[at] then
            seen[at], n = true, n + 1
            first, last = math.min(first, at), math.max(last, at)
        end
    end
    if n > 0 and last - first + 1 ~= n then
        raise(name, "this process has parts of axis %d that do not lie side by side: np.make_array_from_callback makes "
              .. "each by itself", k - 1)
    end
    return { first = first, n = n, parts = parts }
end

--- np.make_array_from_process_local_data(sharding, data, shape) -> x: an array on a mesh, which lies as a sharding
-- says, or as a spec on the mesh of np.set_mesh: data is what this process has of it, such as its part of a batch.
-- shape: of the whole array; without it axes are as much longer as processes have other parts. With one process data is
-- all of the array. As jax.make_array_from_process_local_data.
--- > sharding = np.NamedSharding(np.mesh({1}, {"i"}), np.P("i"))
--- > np.make_array_from_process_local_data(sharding, np.arange(4)).sharding.spec
-- P("i")
function np.make_array_from_process_local_data(sharding, data, shape)
    local name = "make_array_from_process_local_data"
    sharding = born.sharding(name, "argument 1 (sharding)", sharding)
    local x = core.coerce(name, 2, data)
    if x.sharding then raise(name, "argument 2 (data) lies on a mesh already; np.reshard moves it") end
    check_closed(name)
    local own, dims, parts = core.shape_of(x), {}, {}
    for k = 1, #own do
        parts[k] = own_parts(name, sharding, k)
        dims[k] = parts[k].n > 0 and own[k] * parts[k].parts / parts[k].n or own[k]
    end
    if shape ~= nil then
        local wanted = shardings.fitting_sizes(name, sharding, shape)
        if core.shape_text(wanted) ~= core.shape_text(dims) then
            raise(name, "argument 2 (data) has shape %s, of which this process would have all of an array of shape %s, "
                  .. "but argument 3 (shape) is %s", core.shape_text(own), core.shape_text(dims),
                  core.shape_text(wanted))
        end
    end
    dims = shardings.fitting_sizes(name, sharding, dims)
    return born.read(name, sharding, dims, x.dtype, function(block)
        local index, whole = {}, true
        for k, first in ipairs(block.start) do
            local from = first - parts[k].first * (dims[k] / parts[k].parts)
            index[k] = { from, from + block.shape[k] }
            whole = whole and block.shape[k] == own[k]
        end
        return whole and x or np.copy(x[index])
    end)
end

for _, f in ipairs { own_blocks, assemble, born.read, born.copied, checked_block, np.make_array_from_callback,
                     np.make_array_from_process_local_data } do
    jit.off(f)
end

return born
