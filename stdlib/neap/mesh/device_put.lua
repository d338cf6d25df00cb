--- device_put.lua: where an array lies: np.device_put, x.sharding, x:addressable_shards(). All arrays have these, so
-- this file is loaded at once; the rest of the folder when a mesh is met or asked for.
local core = require "neap.core"
local trees = require "neap.core.trees"

local C, raise, coerce, find_device = core.C, core.raise, core.coerce, core.find_device
local type = type

--- np.device_put(x, device), x:device_put(device): x, an array, a number or a tree of them, on a device, which is given
-- by name or as an element of np.devices(). It is then *committed* to that device: what is computed from it is
-- computed there, and it cannot meet arrays that are committed to another one. All else (constructors, numbers, new
-- arrays) follows the arrays that it meets, and is on the first device until then. Devices of the CPU share their
-- memory: nothing is copied. Other devices have a memory each: there x is copied, and where the host reads it, it is
-- copied back. Of an array on a mesh it gives all of it to the device; where a gradient or a trace is open, to all of
-- the mesh.
--
-- np.device_put(x, mesh, spec): x on a mesh, as a spec says (np.P), or a prefix tree of specs; np.device_put(x,
-- y.sharding): as y lies; np.device_put(x, spec): on the mesh of np.set_mesh.
--- > np.device_put(np.ones(2), "cpu:0")
-- [1. 1.]
core.define("device_put", function(x, device, spec)
    if type(device) == "string" then device = find_device("device_put", device) end
    if not core.is_device(device) then
        return require("neap.mesh.sharding").put("device_put", x, device, spec)
    end
    if spec ~= nil then core.too_many("device_put", 2, spec) end
    local here = C.neap_process_index()
    if device.process ~= here then
        raise("device_put", "device %s belongs to process %d, and this is process %d: arrays go there by a mesh, as in "
              .. "np.device_put(x, mesh, spec)", tostring(device), device.process, here)
    end
    return trees.rebuild("device_put", x, function(leaf)
        leaf = coerce("device_put", 1, leaf)
        local known = core.info(leaf)
        if known.committed ~= 0 and known.device == device.number and known.sharding == 0 then return leaf end
        if core.transfer_asked then core.transfer_asked(leaf, device) end -- np.transfer_guard
        core.attrs[0] = device.number
        return core.record1(core.ids.device_put, leaf, 1)
    end)
end)

--- f(…), which records ops, for what is to lie as option 'out_sharding' of np.name says; arrays: its operands.
function core.out_sharding(name, item, arrays, f, ...)
    return require("neap.mesh.contract").out(name, item, arrays, f, ...)
end

core.contract = function(...) return require("neap.mesh.contract").wrap(...) end -- for np.jit, which stands below

--- Where a table {shape={…}, sharding=place}, which messages call `where`, says that an array lies: the number of a
-- device; or nil, that of a sharding, and a function of the shape that raises where it does not fit.
function core.place(name, where, place)
    local what = where .. ", field 'sharding'"
    if type(place) == "string" or core.is_device(place) then return core.local_device(name, what, place).number end
    return nil, require("neap.mesh.contract").place(name, where, what, place)
end

--- x.sharding of arrays of ndim axes whose sharding has a number; nil for none.
function core.sharding_numbered(number, ndim)
    return number and require("neap.mesh.sharding").of_number(number, ndim)
end

--- x.sharding -> sharding: the mesh on which x lies, and how; nil: one device holds the whole array.
--- > mesh = np.mesh({1}, {"i"})
--- > np.device_put(np.ones(4), np.NamedSharding(mesh, np.P("i"))).sharding.spec, np.ones(4).sharding
-- P("i")
-- nil
function core.fields.sharding(x) return require("neap.mesh.sharding").of_array(x) end

--- x:addressable_shards() -> table: what each device of this process holds of an array that lies on a mesh: a table of
-- { device, index, data, replica }, in row-major order of the mesh: data, an array, is x[index]; replica counts, from
-- 0, the devices that have the same part.
--- > x = np.device_put(np.ones(4), np.NamedSharding(np.mesh({1}, {"i"}), np.P("i")))
--- > x:addressable_shards()[1].data
-- [1. 1. 1. 1.]
function core.methods.addressable_shards(x) return require("neap.mesh.sharding").addressable_shards(x) end
