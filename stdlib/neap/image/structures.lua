--- structures.lua: structures of np.image: small masks whose middle element lies on a place. Each true element moves
-- the image; the moved images are joined by "and", "or" or min, in a single pass.
local core = require "neap.core"

local np = core.np
local bad_argument, type = core.bad_argument, type
local shape_of = core.shape_of

local structures = {}

--- The mask of 3 elements along each axis, true at places of so many steps from the middle.
function structures.mask(rank, connectivity)
    local steps = np.zeros({}, { dtype = "i32" })
    for k = 1, rank do
        local dims = {}
        for j = 1, rank do dims[j] = j == k and 3 or 1 end
        steps = steps + np.reshape(np.array({ 1, 0, 1 }, { dtype = "i32" }), dims)
    end
    return np.less_equal(steps, connectivity)
end

--- The true places of a structure as steps from its middle, a list of lists, and its extents.
function structures.steps(name, structure, rank)
    if structure == nil then structure = structures.mask(rank, 1) end
    if type(structure) == "table" then structure = np.array(structure) end
    if not core.is_array(structure) or core.ndim(structure) ~= rank or structure.size == 0 then
        bad_argument("image." .. name, nil, "structure", ("a mask of %d axes, with elements"):format(rank), structure)
    end
    local dims, list = shape_of(structure), {}
    local flat = np.ravel(np.not_equal(structure, 0)):totable()
    for at, inside in ipairs(flat) do
        if inside then
            local rest, step = at - 1, {}
            for k = #dims, 1, -1 do
                step[k] = rest % dims[k] - math.floor(dims[k] / 2)
                rest = math.floor(rest / dims[k])
            end
            list[#list + 1] = step
        end
    end
    return list, dims
end

--- x moved by each step of a list, joined by `join`; `value` stands beyond the ends.
function structures.moved(x, steps, value, join)
    local dims, widths = shape_of(x), {}
    for k = 1, #dims do
        local low, high = 0, 0
        for _, step in ipairs(steps) do low, high = math.max(low, -step[k]), math.max(high, step[k]) end
        widths[k] = { low, high }
    end
    local wide, result = np.pad(x, widths, { value = value }), nil
    for _, step in ipairs(steps) do
        local key = {}
        for k = 1, #dims do key[k] = { widths[k][1] + step[k], widths[k][1] + step[k] + dims[k] } end
        local part = core.index(wide, key)
        result = result and join(result, part) or part
    end
    return result
end

return structures
