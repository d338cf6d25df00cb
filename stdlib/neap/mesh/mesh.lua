--- mesh.lua: np.mesh: devices as a box whose axes have names.
--
-- A mesh lives in the core under a number (mesh/mesh.h), the same for equal meshes; here it is one object. Devices are
-- numbered as np.devices() lists them, from 0; their order in a mesh is row-major.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"

local np, C = core.np, core.C
local raise, bad_argument, describe = core.raise, core.bad_argument, core.describe
local type, tostring, unpack = type, tostring, unpack

local meshes = {}

local MAX_AXES = C.NEAP_MESH_AXES

--- What np.mesh returns. Fields: shape = { i = 4, … }; axis_names; size; devices, a list in row-major order; explicit =
-- { i = true, … }. For the library: number, in the core; sizes, by axis; axis_of, the place of a name among the axes,
-- from 0; processes, by device.
local Mesh = {}
Mesh.__index = Mesh

--- Meshes, specs and shardings get no further fields: equal ones are shared.
function meshes.refuse_change(_, key)
    raise(nil, "meshes, specs and shardings cannot be changed (field %s): make another one", core.describe(key))
end
Mesh.__newindex = meshes.refuse_change

function meshes.is_mesh(value)
    return getmetatable(value) == Mesh
end

function Mesh.__eq(a, b)
    return a.number == b.number
end

--- The axes in a message: "{i=4, j=2}".
function Mesh:axes_text()
    local parts = {}
    for k, name in ipairs(self.axis_names) do parts[k] = ("%s=%d"):format(name, self.sizes[k]) end
    return "{" .. table.concat(parts, ", ") .. "}"
end

--- The coordinates of place `position` (from 0) of the devices, from 0, by axis.
function Mesh:coordinates(position)
    position = core.integer("mesh.coordinates", 1, "position", position)
    local list = {}
    for k = #self.sizes, 1, -1 do
        list[k] = position % self.sizes[k]
        position = math.floor(position / self.sizes[k])
    end
    return list
end

-- ---- As text --------------------------------------------------------------------------------------------------------

--- A table of texts, rows of equal length, with its columns aligned.
local function aligned(rows)
    local widths, lines = {}, {}
    for _, row in ipairs(rows) do
        for k, text in ipairs(row) do widths[k] = math.max(widths[k] or 0, #text) end
    end
    for at, row in ipairs(rows) do
        local parts = {}
        for k, text in ipairs(row) do parts[k] = text .. (" "):rep(widths[k] - #text) end
        lines[at] = (table.concat(parts, "  "):gsub("%s+$", ""))
    end
    return table.concat(lines, "\n")
end

--- The rows of the picture of the last two axes, of which the devices stand from place `first` on.
local function plane(mesh, first)
    local n = #mesh.sizes
    local columns, row_count = mesh.sizes[n], n > 1 and mesh.sizes[n - 1] or 1
    local rows = { { "" } }
    for c = 1, columns do rows[1][c + 1] = ("%s=%d"):format(mesh.axis_names[n], c - 1) end
    for r = 1, row_count do
        local row = { n > 1 and ("%s=%d"):format(mesh.axis_names[n - 1], r - 1) or "" }
        for c = 1, columns do row[c + 1] = tostring(mesh.devices[first + (r - 1) * columns + c]) end
        rows[r + 1] = row
    end
    return aligned(rows)
end

--- Which device stands where: a table of the last two axes for each place along the others.
function Mesh:__tostring()
    local n = #self.sizes
    local each = self.sizes[n] * (n > 1 and self.sizes[n - 1] or 1)
    local parts = { ("mesh %s of %d device%s"):format(self:axes_text(), self.size, self.size == 1 and "" or "s") }
    for first = 0, self.size - 1, each do
        local place, at = {}, self:coordinates(first)
        for k = 1, n - 2 do place[k] = ("%s=%d"):format(self.axis_names[k], at[k]) end
        if n > 2 then parts[#parts + 1] = table.concat(place, ", ") end
        parts[#parts + 1] = plane(self, first)
    end
    return table.concat(parts, "\n")
end

-- ---- Making one -----------------------------------------------------------------------------------------------------

--- Checks shape and names; returns the shape in numbers, the number of places, and by name its axis.
local function check_axes(shape, names)
    if type(shape) ~= "table" then bad_argument("mesh", 1, "shape", "a table of sizes such as {4, 2}", shape) end
    if type(names) ~= "table" then bad_argument("mesh", 2, "names", 'a table of names such as {"i", "j"}', names) end
    local sizes = {}
    for k, value in ipairs(core.list("mesh", "the shape", shape)) do sizes[k] = core.plain(value) end
    core.list("mesh", "the table of names", names)
    if #shape ~= #names then
        raise("mesh", "shape %s has %d axes, but there are %d names", core.shape_text(shape), #shape, #names)
    end
    if #shape < 1 or #shape > MAX_AXES then
        raise("mesh", "a mesh has 1 to %d axes, got %d", MAX_AXES, #shape)
    end
    local size, seen = 1, {}
    for k = 1, #shape do
        if not core.is_integer(sizes[k]) or sizes[k] < 1 then
            raise("mesh", "size %d of the shape must be an integer from 1 up, got %s", k, core.describe(shape[k]))
        end
        local name = names[k]
        if type(name) ~= "string" or name == "" or name:find "," then
            raise("mesh", "name %d must be a string without commas, got %s", k, core.describe(name))
        end
        if seen[name] then raise("mesh", "axis name '%s' stands twice, for axes %d and %d", name, seen[name], k - 1) end
        seen[name] = k - 1
        size = size * sizes[k]
    end
    return sizes, size, seen
end

--- Of each device of np.devices() the process that it belongs to.
local function processes_of(n)
    local process, place = ffi.new("int32_t[?]", n), ffi.new("int32_t[?]", n)
    C.neap_mesh_devices(n, process, place)
    return process
end

--- The first `size` of all devices, which stand by process, equally many of each. A process that has none of them could
-- read nothing that lies on the mesh, so such a mesh has to be asked for.
local function first_devices(shape, size, all)
    local count = C.neap_process_count()
    local rank = math.ceil(size * count / #all)
    if rank < count then
        raise("mesh", "a mesh of shape %s has %d place%s, and process %d has none of the first %d of %d devices: "
              .. "choose devices of all processes in option 'devices'", core.shape_text(shape), size,
              size == 1 and "" or "s", rank, size, #all)
    end
    return { unpack(all, 1, math.min(size, #all)) }
end

--- The devices of the option, as elements of np.devices(), and their numbers.
local function choose_devices(given, all)
    local number_of, chosen, numbers, seen = {}, {}, {}, {}
    for k, device in ipairs(all) do number_of[device] = k - 1 end
    if type(given) ~= "table" then
        bad_argument("mesh", nil, "devices", "a table of devices or their names, in row-major order", given)
    end
    for k, device in ipairs(given) do
        if type(device) == "string" then device = core.find_device("mesh", device) end
        if not number_of[device] then
            raise("mesh", "device %d must be one of np.devices(), or its name, got %s", k, core.describe(device))
        end
        if seen[device] then
            raise("mesh", "device %s stands twice, as devices %d and %d", tostring(device), seen[device], k)
        end
        seen[device], chosen[k], numbers[k] = k, device, number_of[device]
    end
    return chosen, numbers
end

local number_box = ffi.new("int32_t[1]")

--- The axes of option 'explicit': a set of their names, and their bits.
local function explicit_axes(given, axis_of)
    local set, bits = {}, 0
    if given == nil or given == false then return set, 0 end
    if given ~= true and type(given) ~= "table" then
        bad_argument("mesh", nil, "explicit", "true, or a table of names of axes", given)
    end
    local names = {}
    for name in pairs(given == true and axis_of or {}) do names[#names + 1] = name end
    for _, name in ipairs(given == true and names or core.list("mesh", "option 'explicit'", given)) do
        if axis_of[name] == nil then
            raise("mesh", "option 'explicit' names %s, which is no axis of the mesh", describe(name))
        end
        set[name], bits = true, bit.bor(bits, bit.lshift(1, axis_of[name]))
    end
    return set, bits
end

--- np.mesh(shape, names, {devices=…, explicit=…}) -> mesh: a mesh of devices: a box of this shape, whose axes have
-- these names, of the first of np.devices(), as many as it has places, or of a table of as many devices or their names,
-- in row-major order. mesh.shape.i is the size of axis i; mesh.axis_names, mesh.size, mesh.devices; tostring(mesh)
-- shows which device stands where. Meshes of the same shape, names, devices and explicit axes are equal.
--
-- Ops move data between devices as they need it. Over axes that are explicit they refuse to, and tell what would move:
-- there only np.reshard and np.device_put move data. As jax.sharding.AxisType.Explicit.
--- devices: a table of devices or their names; the first ones without it
--- explicit: true, or a table of names: all axes, or these, are explicit
--- > np.mesh({1}, {"i"}).shape.i
-- 1
function np.mesh(shape, names, given)
    local o = core.options("mesh", given, { devices = true, explicit = true })
    local size, axis_of
    shape, size, axis_of = check_axes(shape, names)
    local all = np.devices()
    local devices, numbers = choose_devices(o.devices == nil and first_devices(shape, size, all) or o.devices, all)
    if size ~= #devices then
        raise("mesh", "a mesh of shape %s has %d place%s, but there %s %d device%s%s", core.shape_text(shape), size,
              size == 1 and "" or "s", #devices == 1 and "is" or "are", #devices, #devices == 1 and "" or "s",
              o.devices and " in option 'devices'"
              or " (neap --devices N makes N of the CPU; option 'devices' chooses some of them)")
    end
    local n = #shape
    local c_names, c_sizes = ffi.new("const char *[?]", n, names), ffi.new("int64_t[?]", n, shape)
    local c_devices = ffi.new("int32_t[?]", size, numbers)
    core.call("mesh", function() return C.neap_mesh_new(n, c_names, c_sizes, size, c_devices, number_box) end)
    local explicit, bits = explicit_axes(o.explicit, axis_of)
    if bits ~= 0 then
        core.call("mesh", function() return C.neap_mesh_mark(number_box[0], bits, number_box) end)
    end
    local mesh = { shape = {}, axis_names = {}, sizes = {}, size = size, devices = devices, axis_of = axis_of,
                   explicit = explicit, number = number_box[0], processes = {} }
    local process = processes_of(#np.devices())
    for k = 1, size do mesh.processes[k] = process[numbers[k]] end
    for k = 1, n do
        mesh.axis_names[k], mesh.sizes[k], mesh.shape[names[k]] = names[k], shape[k], shape[k]
    end
    return meshes.known(setmetatable(mesh, Mesh))
end

-- ---- By number ------------------------------------------------------------------------------------------------------

local by_number = {} -- meshes live as long as the process

--- The one object of a mesh's number.
function meshes.known(mesh)
    if not by_number[mesh.number] then by_number[mesh.number] = mesh end
    return by_number[mesh.number]
end

--- The mesh of a number, which np.mesh has made.
function meshes.get(number)
    return by_number[number]
end
core.mesh_of = meshes.get -- for folders below

for _, f in ipairs { check_axes, choose_devices, np.mesh } do jit.off(f) end
core.refuse_dots(Mesh, "mesh", "mesh")

return meshes
