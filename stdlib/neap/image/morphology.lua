--- morphology.lua: np.image's morphology: what grows and shrinks, of masks (binary) and of images (grey).

--- {structure}: a mask of as many axes; by default the middle and its neighbours along each axis
--- {iterations}: how often; 0: until nothing changes
--- {border_value}: 1: beyond the ends everything is true, else false

local core = require "neap.core"
local structures = require "neap.image.structures"
local windows = require "neap.image.windows"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument

local morphology = {}

-- ---- Structures -----------------------------------------------------------------------------------------------------

--- np.image.generate_binary_structure(rank, connectivity): the mask of 3 elements along each of `rank` axes, true at
-- places of at most `connectivity` steps from the middle: 1 gives neighbours along the axes, rank all.
--- > np.image.generate_binary_structure(2, 1):astype "i32"
-- [[0 1 0]
--  [1 1 1]
--  [0 1 0]]
function morphology.generate_binary_structure(rank, connectivity)
    rank = core.integer("image.generate_binary_structure", 1, "rank", rank, 1, 8)
    connectivity = core.integer("image.generate_binary_structure", 2, "connectivity", connectivity, 1)
    return structures.mask(rank, connectivity)
end

-- ---- Masks ----------------------------------------------------------------------------------------------------------

local function mask_of(name, x)
    return np.not_equal(windows.image(name, x), 0)
end

local KNOWN = { structure = true, iterations = true, border_value = true, mask = true }

--- The options of a binary function: steps, iterations, the value beyond the ends, a mask or nil.
local function settings_of(name, given, x, known)
    local o = core.options("image." .. name, given, known or KNOWN)
    local border = core.plain(o.border_value == nil and 0 or o.border_value)
    if border ~= 0 and border ~= 1 then bad_argument("image." .. name, nil, "border_value", "0 or 1", border) end
    local count = core.integer("image." .. name, nil, "iterations", o.iterations == nil and 1 or o.iterations, 0)
    local mask
    if o.mask ~= nil then
        mask = mask_of(name, o.mask)
        if not core.is_same(core.ndim(mask), core.ndim(x)) or mask.size ~= x.size then
            raise("image." .. name, "a mask of shape %s for an image of shape %s", core.shape_text(mask),
                  core.shape_text(x))
        end
    end
    return (structures.steps(name, o.structure, core.ndim(x))), count, border == 1, mask
end

--- f applied to x so many times; 0: until nothing changes. Where a mask is false x stays.
local function repeated(x, count, mask, f)
    local function turn(now)
        local new = f(now)
        return mask and np.where(mask, new, x) or new
    end
    if count == 0 then
        return np.while_loop(function(state) return state.changed end, function(state)
            local new = turn(state.x)
            return { x = new, changed = np.any(np.not_equal(new, state.x)) }
        end, { x = x, changed = np.array(true) }).x
    end
    if count == 1 then return turn(x) end
    return np.fori_loop(0, count, function(_, now) return turn(now) end, x)
end

local function eroded(x, steps, count, border, mask)
    return repeated(x, count, mask, function(now) return structures.moved(now, steps, border, np.logical_and) end)
end

--- The steps of a structure that is turned around.
local function turned(steps)
    local list = {}
    for k, step in ipairs(steps) do
        list[k] = {}
        for axis, by in ipairs(step) do list[k][axis] = -by end
    end
    return list
end

local function dilated(x, steps, count, border, mask)
    steps = turned(steps)
    return repeated(x, count, mask, function(now) return structures.moved(now, steps, border, np.logical_or) end)
end

--- np.image.binary_erosion(x, {structure=…, iterations=1, border_value=0, mask=…}), np.image.binary_dilation(x,
-- {structure=…, iterations=1, border_value=0, mask=…}): where all elements under the structure are not 0; and where one
-- is, with the structure turned around. Bools. What is true shrinks or grows. A structure has numbers that can be read.
--- mask: where x may change; elsewhere it stays
--- > np.image.binary_erosion(np.array{0, 1, 1, 1, 1, 0}):astype "i32"
-- [0 0 1 1 0 0]
--- > np.image.binary_dilation(np.array{0, 0, 1, 0, 0}):astype "i32"
-- [0 1 1 1 0]
function morphology.binary_erosion(x, given)
    x = mask_of("binary_erosion", x)
    return eroded(x, settings_of("binary_erosion", given, x))
end

function morphology.binary_dilation(x, given)
    x = mask_of("binary_dilation", x)
    return dilated(x, settings_of("binary_dilation", given, x))
end

local PAIR = { structure = true, iterations = true }

--- np.image.binary_opening(x, {structure=…, iterations=1}), np.image.binary_closing(x, {structure=…, iterations=1}):
-- erosion and then dilation, which takes away what is smaller than the structure; and dilation and then erosion, which
-- closes gaps. Beyond the ends all is false.
--- > np.image.binary_opening(np.array{0, 1, 0, 1, 1, 1, 0}):astype "i32"
-- [0 0 0 1 1 1 0]
--- > np.image.binary_closing(np.array{0, 1, 0, 1, 1, 1, 0}):astype "i32"
-- [0 1 1 1 1 1 0]
function morphology.binary_opening(x, given)
    x = mask_of("binary_opening", x)
    local steps, count = settings_of("binary_opening", given, x, PAIR)
    return dilated(eroded(x, steps, count, false), steps, count, false)
end

function morphology.binary_closing(x, given)
    x = mask_of("binary_closing", x)
    local steps, count = settings_of("binary_closing", given, x, PAIR)
    return eroded(dilated(x, steps, count, false), steps, count, false)
end

--- np.image.binary_fill_holes(x, {structure=…}): x with the holes true: places that no way of steps of the structure
-- over false places joins with the outside.
--- > np.image.binary_fill_holes(np.array{{1, 1, 1}, {1, 0, 1}, {1, 1, 1}}):astype "i32"
-- [[1 1 1]
--  [1 1 1]
--  [1 1 1]]
function morphology.binary_fill_holes(x, given)
    x = mask_of("binary_fill_holes", x)
    local steps = settings_of("binary_fill_holes", given, x, { structure = true })
    return np.logical_not(dilated(np.zeros_like(x), steps, 0, true, np.logical_not(x)))
end

-- ---- Images ---------------------------------------------------------------------------------------------------------

--- np.image.grey_erosion(x, size, {mode="reflect", cval=0}), np.image.grey_dilation(x, size, {mode="reflect", cval=0}):
-- the least and the greatest element of the window around each place, of which np.image.grey_dilation turns the window
-- around. Keeps x's dtype. size is an integer, or a table of one for each axis; 3 by default.
--- mode: as of np.image.minimum_filter
--- cval: the elements beyond the ends with "constant"
--- > np.image.grey_erosion(np.array{3, 1, 2, 5, 4}, 2), np.image.grey_dilation(np.array{3, 1, 2, 5, 4}, 2)
-- [3. 1. 1. 2. 4.]
-- [3. 2. 5. 5. 4.]
function morphology.grey_erosion(x, size, given) return windows.extreme("grey_erosion", x, size, given, "min") end

function morphology.grey_dilation(x, size, given)
    return windows.extreme("grey_dilation", x, size, given, "max", true)
end

--- np.image.grey_opening(x, size, {mode="reflect", cval=0}), np.image.grey_closing(x, size, {mode="reflect", cval=0}):
-- erosion and then dilation, which takes away what is bright and small; and dilation and then erosion.
--- mode: as of np.image.minimum_filter
--- cval: the elements beyond the ends with "constant"
--- > np.image.grey_opening(np.array{1, 5, 1, 4, 4, 4, 1}, 3), np.image.grey_closing(np.array{1, 5, 1, 4, 4, 4, 1}, 3)
-- [1. 1. 1. 4. 4. 4. 1.]
-- [5. 5. 4. 4. 4. 4. 4.]
function morphology.grey_opening(x, size, given)
    local low = windows.extreme("grey_opening", x, size, given, "min")
    return windows.extreme("grey_opening", low, size, given, "max", true)
end

function morphology.grey_closing(x, size, given)
    local high = windows.extreme("grey_closing", x, size, given, "max", true)
    return windows.extreme("grey_closing", high, size, given, "min")
end

return morphology
