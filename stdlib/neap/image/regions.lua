--- regions.lua: np.image's regions: parts of an image that hang together, and what they sum up to.

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local labels_by = require "neap.image.labels"
local structures = require "neap.image.structures"
local windows = require "neap.image.windows"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local shape_of = core.shape_of

local regions = {}

-- ---- np.image.label -------------------------------------------------------------------------------------------------

--- np.image.label(x, {structure=…}) -> labels, count: the regions of what is not 0: each is numbered from 1 on, in the
-- order of their first elements, and 0 lies between. labels is i32, count a 0-d i32 array. Waits; it can be traced,
-- and then takes longer.
--- structure: the mask of 3 elements along each axis that says which neighbours hang together, symmetric; by default
-- those along the axes
--- > np.image.label(np.array{1, 1, 0, 1, 0, 0, 1})
-- [1 1 0 2 0 0 3]
-- 3
function regions.label(x, given)
    local name = "label"
    local o = core.options("image.label", given, { structure = true })
    x = np.not_equal(windows.image(name, x), 0)
    local dims = shape_of(x)
    local steps, extents = structures.steps(name, o.structure, #dims)
    local known = {}
    for _, step in ipairs(steps) do known[table.concat(step, ",")] = true end
    for k, n in ipairs(extents) do
        if n ~= 3 then raise("image.label", "the structure has %d elements along axis %d, expected 3", n, k - 1) end
    end
    for _, step in ipairs(steps) do
        local back = {}
        for k, by in ipairs(step) do back[k] = 0 - by end
        if not known[table.concat(back, ",")] then raise("image.label", "the structure is not symmetric") end
    end
    return labels_by(x, steps)
end

-- ---- What regions are -----------------------------------------------------------------------------------------------

local function labels_of(name, position, labels)
    labels = core.coerce("image." .. name, position, labels)
    if core.dtype_of(labels).inexact then
        raise("image." .. name, "labels must be integers, got dtype %s", core.dtype_of(labels).name)
    end
    return labels
end

--- np.image.find_objects(labels, {max_label=0}): the smallest boxes around regions 1, 2, …: a table with a list {from,
-- to} of slices for each axis, as x[box] takes it, or false where there is no such region. Waits, and raises while
-- tracing.
--- max_label: how many regions are looked for; 0: all
--- > x = np.array{{0, 1, 1}, {0, 1, 0}}
--- > box = np.image.find_objects((np.image.label(x)))[1]
--- > x[box]
-- [[1. 1.]
--  [1. 0.]]
function regions.find_objects(labels, given)
    local o = core.options("image.find_objects", given, { max_label = true })
    local most = core.integer("image.find_objects", nil, "max_label", o.max_label == nil and 0 or o.max_label, 0)
    labels = labels_of("find_objects", 1, windows.image("find_objects", labels))
    local dims = shape_of(labels)
    local flat = np.astype(np.ravel(labels), "f64"):totable()
    local boxes, strides, step = {}, {}, 1
    for k = #dims, 1, -1 do
        strides[k] = step
        step = step * dims[k]
    end
    for at = 0, #flat - 1 do
        local label = flat[at + 1]
        if label > 0 and (most == 0 or label <= most) then
            local box = boxes[label] or {}
            boxes[label] = box
            for k, stride in ipairs(strides) do
                local place = math.floor(at / stride) % dims[k]
                local range = box[k] or { place, place + 1 }
                box[k] = { math.min(range[1], place), math.max(range[2], place + 1) }
            end
        end
    end
    local count = most
    for label in pairs(boxes) do count = math.max(count, label) end
    for label = 1, count do boxes[label] = boxes[label] or false end
    return boxes
end

--- Image and labels as flat arrays of one size, the labels that are asked for (a list, or nil: all that are not 0 are
-- one region), and whether a number alone was asked for.
local function measured(name, x, labels, index)
    x = windows.image(name, x)
    if index ~= nil and labels == nil then raise("image." .. name, "an index needs labels") end
    labels = labels == nil and np.ones(shape_of(x), { dtype = "i32" }) or labels_of(name, 2, labels)
    if not shape.same(shape_of(labels), shape_of(x)) then
        raise("image." .. name, "labels of shape %s for an image of shape %s", core.shape_text(labels),
              core.shape_text(x))
    end
    local single, list = type(core.plain(index)) == "number", nil
    if single then
        list = { core.plain(index) }
    elseif index ~= nil then
        list = np.ravel(operands.meet("image." .. name, 1, index)):totable()
    end
    for _, label in ipairs(list or {}) do
        if type(label) ~= "number" or label % 1 ~= 0 or label < 0 or label >= 2 ^ 31 then
            bad_argument("image." .. name, 3, "index", "a label from 0, or a table of them", index)
        end
    end
    if not list then labels = np.astype(np.not_equal(labels, 0), "i32") end
    return x, np.astype(np.ravel(labels), "i32"), list, single
end

--- The sums of flat values over the regions of a list (nil: over what is not 0): an array, or a 0-d one.
local function sums(values, labels, list, single)
    local most = 1
    for _, label in ipairs(list or {}) do most = math.max(most, label) end
    local all = np.segment_sum(values, labels, most + 1)
    if not list then return all[1] end
    if single then return all[list[1]] end
    return np.take(all, np.array(list, { dtype = "i32" }))
end

--- np.image.sum_labels(x, labels, index), np.image.mean(x, labels, index): the sum and the mean of an image over the
-- regions whose labels are in index, a number or a table; without index over all that is labelled, without labels over
-- the whole image. Of an image of ones the sum is the area.
--- > labels = np.image.label(np.array{1, 1, 0, 1})
--- > np.image.sum_labels(np.array{1, 2, 3, 4}, labels, {1, 2}), np.image.mean(np.array{1, 2, 3, 4}, labels, 1)
-- [3. 4.]
-- 1.5
function regions.sum_labels(x, labels, index)
    local list, single
    x, labels, list, single = measured("sum_labels", x, labels, index)
    return sums(np.ravel(x), labels, list, single)
end

function regions.mean(x, labels, index)
    local list, single, half
    x, labels, list, single = measured("mean", x, labels, index)
    x, half = operands.wide(operands.float(x))
    local values = np.ravel(x)
    return operands.narrow(sums(values, labels, list, single) / sums(np.ones_like(values), labels, list, single), half)
end

--- np.image.center_of_mass(x, labels, index): the mean position of an image's elements, weighted by their values: one
-- coordinate for each axis, as the last axis; of the regions whose labels are in index, a number or a table, of all
-- labelled places without index, of the whole image without labels. NaN where the sum is 0.
--- > np.image.center_of_mass(np.array{{0, 1, 1}, {0, 0, 0}})
-- [0.  1.5]
function regions.center_of_mass(x, labels, index)
    local list, single, half
    x, labels, list, single = measured("center_of_mass", x, labels, index)
    x, half = operands.wide(operands.float(x))
    local total, parts = sums(np.ravel(x), labels, list, single), {}
    for k, n in ipairs(shape_of(x)) do
        local dims = {}
        for j = 1, core.ndim(x) do dims[j] = j == k and n or 1 end
        local place = np.reshape(np.astype(create.iota(n, core.dtype_codes.f64), core.dtype_of(x).part), dims)
        parts[k] = sums(np.ravel(x * place), labels, list, single) / total
    end
    return operands.narrow(np.stack(parts, { axis = -1 }), half)
end

return regions
