--- divided.lua: elements of an array along an axis that is divided over a mesh, without putting the axis together.
--
-- Each device reads what it has of the elements that are wanted; where it has none it gives the neutral element of
-- addition, and the sum over the devices is the result. A float's neutral element is -0.0, since x + -0.0 is x for all
-- x: so the sum has the bits of the element that one of the devices has. What moves is as large as the result; the
-- gradient of the array is made where its parts are.
local core = require "neap.core"
local shape = require "neap.arrays.shape"

local np = core.np
local shape_of = core.shape_of

local divided = {}

--- The entry of x's spec for an axis (from 0), the names in it as a list, and the mesh; nil if the axis is not divided.
function divided.by(x, axis)
    if core.info(x).sharding == 0 then return nil end
    local sharding = x.sharding
    local entry = sharding.spec[axis + 1]
    if not entry then return nil end
    return entry, type(entry) == "table" and entry or { entry }, sharding.mesh
end

--- Whether axis `axis` of x is divided over devices that do not share memory: of several processes, or with one each.
-- Devices of one CPU read blocks where they are, so a slice of them takes nothing.
function divided.is_apart(x, axis)
    local _, _, mesh = divided.by(x, axis)
    for _, device in ipairs(mesh and mesh.devices or {}) do
        if device.kind ~= "cpu" or device.process ~= mesh.devices[1].process then return true end
    end
    return false
end

local function same_entry(a, b)
    if type(a) ~= type(b) then return false end
    return type(a) == "table" and table.concat(a, " ") == table.concat(b, " ") or a == b
end

--- The axis of the indices that is divided as x's is: the result is divided along it; nil if there is none.
local function common_axis(index, entry)
    if core.info(index).sharding == 0 then return nil end
    local spec = index.sharding.spec
    for k = 0, core.ndim(index) - 1 do
        if spec[k + 1] and same_entry(spec[k + 1], entry) then return k end
    end
end

--- A spec of ndim axes that says how one of them is divided; axis nil: none.
local function spec_of(ndim, axis, entry)
    local entries = {}
    for k = 1, ndim do entries[k] = k - 1 == axis and entry or false end
    return np.P(unpack(entries, 1, ndim))
end

--- What one device has of the elements: `part` begins at `first` along the axis.
local function own_elements(part, places, axis, first, take)
    local dims, own, wide = shape_of(part), shape_of(places), {}
    local size, ndim = dims[axis + 1], core.ndim(part)
    local at = places - first
    local inside = np.logical_and(np.greater_equal(at, 0), np.less(at, size))
    for k = 1, #own do wide[k] = own[k] end
    for _ = axis + 2, ndim do wide[#wide + 1] = 1 end
    local dtype = core.dtype_of(part)
    local neutral = core.number(dtype.inexact and -0.0 or 0, dtype.code)
    return np.where(shape.reshape(inside, wide), take(part, at, axis), neutral)
end

--- x at `places`, integers in 0 … n-1, along an axis of n elements; nil where the axis is not divided, or as much is
-- wanted as the array has. take(x, index, axis) is that of ordinary arrays.
function divided.take(x, places, axis, take)
    local entry, names, mesh = divided.by(x, axis)
    local dims = shape_of(x)
    if not entry or places.size > dims[axis + 1] / 2 then return nil end
    local along, ndim = common_axis(places, entry), core.ndim(places)
    local dtype = core.dtype_of(x)
    local function body(part, own)
        if along then own = np.all_gather(own, names, { axis = along, tiled = true }) end
        local first = np.axis_index(names) * shape_of(part)[axis + 1]
        local found = own_elements(part, own, axis, first, take)
        if dtype.kind == "b" then found = np.astype(found, "u8") end
        if along then
            found = np.psum_scatter(found, names, { scatter_dimension = axis + along, tiled = true })
        else
            found = np.psum(found, names)
        end
        return core.dtype_of(found).code ~= dtype.code and np.astype(found, dtype.name) or found
    end
    return np.shard_map(body, { mesh = mesh, axis_names = names,
                                in_specs = { spec_of(#dims, axis, entry), spec_of(ndim, along, entry) },
                                out_specs = spec_of(#dims - 1 + ndim, along and axis + along, entry) })(x, places)
end

return divided
