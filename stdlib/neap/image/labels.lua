--- labels.lua: the regions of a mask, numbered: in one walk over its numbers, or by leaps in a trace, which has none.
local ffi = require "ffi"
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local structures = require "neap.image.structures"

local np = core.np
local shape_of = core.shape_of
local indices = ffi.typeof "int32_t[?]"

-- ---- A walk ---------------------------------------------------------------------------------------------------------

-- Places are visited row by row. Each takes the number of a neighbour that was visited before, or a new number; where
-- neighbours have different numbers, these belong to one region, whose least number stands for all. (A. Rosenfeld and
-- J. L. Pfaltz, Sequential operations in digital picture processing, 1966.) A frame of zeros around the image spares
-- questions about its ends.

--- The number that stands for a region.
local function root_of(parent, label)
    while parent[label] ~= label do
        parent[label] = parent[parent[label]]
        label = parent[label]
    end
    return label
end

--- The frame around an image: its size, the stride of each axis, and the steps to neighbours that come before.
local function frame_of(dims, steps)
    local strides, size = {}, 1
    for k = #dims, 1, -1 do
        strides[k] = size
        size = size * (dims[k] + 2)
    end
    local before = {}
    for _, step in ipairs(steps) do
        local by = 0
        for k, stride in ipairs(strides) do by = by + step[k] * stride end
        if by < 0 then before[#before + 1] = by end
    end
    return size, strides, before
end

--- Where line `line` of an image begins in the frame.
local function line_at(line, dims, strides)
    local at = 1
    for k = #dims - 1, 1, -1 do
        at = at + (line % dims[k] + 1) * strides[k]
        line = math.floor(line / dims[k])
    end
    return at
end

--- Numbers a line of the frame, with `count` numbers given before; returns how many are given then.
local function number_line(mask, from, labels, at, width, before, parent, count)
    for j = 0, width - 1 do
        if mask[from + j] ~= 0 then
            local own = 0
            for b = 0, before.n - 1 do
                local label = labels[at + j + before.steps[b]]
                if label ~= 0 then
                    label = root_of(parent, label)
                    if own ~= 0 and label ~= own then parent[math.max(label, own)] = math.min(label, own) end
                    own = own == 0 and label or math.min(label, own)
                end
            end
            if own == 0 then
                count = count + 1
                own, parent[count] = count, count
            end
            labels[at + j] = own
        end
    end
    return count
end

--- Writes the labels of a mask to out; returns how many regions there are.
local function walk(mask, size, dims, steps, out)
    local framed, strides, list = frame_of(dims, steps)
    local width, count = dims[#dims], 0
    local labels, parent, before = indices(framed), indices(size + 1), { n = #list, steps = indices(#list, list) }
    for line = 0, size / width - 1 do
        local at = line_at(line, dims, strides)
        count = number_line(mask, line * width, labels, at, width, before, parent, count)
    end
    local number, regions = indices(count + 1), 0
    for label = 1, count do
        local root = root_of(parent, label)
        if root == label then regions = regions + 1 end
        number[label] = root == label and regions or number[root]
    end
    for line = 0, size / width - 1 do
        local at, from = line_at(line, dims, strides), line * width
        for j = 0, width - 1 do out[from + j] = number[labels[at + j]] end
    end
    return regions
end

local function walked(inside, dims, steps)
    local count = 0
    local labels = core.read(np.astype(inside, "u8"), function(mask, size)
        local memory = indices(size)
        if size > 0 then count = walk(mask, size, dims, steps, memory) end
        return memory
    end)
    return core.fill(core.dtype_codes.i32, dims, function(out)
        ffi.copy(out, labels, ffi.sizeof(labels))
    end, "int32_t *", "image.label"), np.array(count, { dtype = "i32" })
end

-- ---- Leaps ----------------------------------------------------------------------------------------------------------

-- Each place begins as a region of its own, numbered by its position. A turn gives each the least number among itself
-- and its neighbours, and then the number of the place so numbered, so that numbers run along a region by leaps. In the
-- end a region has the number of its first place.

local function leapt(inside, dims, steps)
    local count = shape.product(dims)
    local places = create.iota(count, core.dtype_codes.i32)
    inside = np.ravel(inside)
    local first = np.where(inside, places, count)
    local roots = np.while_loop(function(state) return state.changed end, function(state)
        local now = state.roots
        local least = structures.moved(np.reshape(now, dims), steps, count, np.minimum)
        local new = np.where(inside, np.minimum(now, np.ravel(least)), count)
        new = np.where(inside, np.take(new, np.minimum(new, count - 1)), count)
        return { roots = new, changed = np.any(np.not_equal(new, now)) }
    end, { roots = first, changed = np.array(true) }).roots
    local number = np.cumsum(np.astype(np.logical_and(inside, np.equal(roots, places)), "i32"))
    local labels = np.where(inside, np.take(number, np.minimum(roots, count - 1)), 0)
    return np.reshape(np.astype(labels, "i32"), dims), np.astype(number[-1], "i32")
end

--- The labels of a mask (i32) and the number of regions, by the steps to neighbours.
return function(inside, steps)
    local dims = shape_of(inside)
    if core.info(inside).traced ~= 0 then return leapt(inside, dims, steps) end
    return walked(inside, dims, steps)
end
