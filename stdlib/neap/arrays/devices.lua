--- devices.lua: devices and processes; starting, waiting for and deleting arrays.
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.core.trees"

local np, define, C, ctx = core.np, core.define, core.C, core.ctx
local raise, bad_argument, coerce = core.raise, core.bad_argument, core.coerce

-- ---- Devices --------------------------------------------------------------------------------------------------------

local processes, here = C.neap_process_count(), C.neap_process_index()

--- np.process_index() -> integer: which of the processes that run the script together this one is, from 0.
--- > np.process_index()
-- 0
function np.process_index() return here end

--- np.process_count() -> integer: how many processes run the script together: under mpirun as many as it started, else
-- 1.
--- > np.process_count()
-- 1
function np.process_count() return processes end

local Device = {}
Device.__index = Device

--- "cpu:1"; where there are several processes, the process comes first: "3/cpu:1".
function Device:__tostring()
    local name = self.kind .. ":" .. self.index
    return processes > 1 and self.process .. "/" .. name or name
end

local own, all, others = nil, nil, {}
local text = ffi.new "char[256]"

--- The device that the engine has under a number; `id`: its place in np.devices().
local function device_of(number, id)
    local kind, index = ffi.string(C.neap_device_name(number)):match "^(%w+):(%d+)$"
    return setmetatable({ kind = kind, index = tonumber(index), process = here, id = id, number = number }, Device)
end

--- np.local_devices() -> table: a Lua table of this process's devices, with the fields of np.devices().
--- > np.local_devices()[1].id
-- 0
function np.local_devices()
    if not own then
        own = {}
        local first = ffi.new "int[1]"
        local n = C.neap_session_devices(first)
        for k = 0, n - 1 do own[k + 1] = device_of(first[0] + k, here * n + k) end
    end
    return { unpack(own) }
end

--- A device of this process that np does not compute on by itself, opened by need; nil: there is none of the name, or
-- it cannot work here, with the reason.
local function open_device(name)
    local kind, index = name:match "^(%w+):(%d%d?%d?)$"
    local number = ffi.new "int[1]"
    if not kind and name:match "^%w+$" then kind, index, name = name, 0, name .. ":0" end
    if others[name] then return others[name] end
    local status = kind and C.neap_device_open(kind, tonumber(index), number) or C.NEAP_E_ARGUMENT
    if status == C.NEAP_E_ARGUMENT then return nil end
    if status < 0 then return nil, ffi.string(C.neap_error_text()) end
    others[name] = device_of(number[0])
    local lacks = C.neap_tier_lacks(number[0], text, ffi.sizeof(text))
    if lacks ~= nil then
        core.warn("device_put", "the CPU computes in place of %s, over copies: %s", name, ffi.string(lacks))
    end
    return others[name]
end

--- All devices of a kind that this process has, opened by need.
local function devices_of_kind(kind)
    local list, device, reason = {}, open_device(kind .. ":0")
    if not device then
        raise("devices", "there is no device of the kind '%s'%s", kind, reason and ": " .. reason or "")
    end
    while device do
        list[#list + 1] = device
        device = open_device(kind .. ":" .. #list)
    end
    return list
end

--- np.devices(), np.devices(kind) -> table: a Lua table of the devices of all processes that np computes on (those of
-- the CPU; with neap --device KIND those of another kind), those of process 0 first, with fields kind ("cpu"), index
-- (in its process, from 0), process (from 0) and id (its place in this list, from 0). All processes have equally many.
-- The first call waits until all processes have started. With a kind, such as "cuda": all devices of the kind that
-- this process has, whether np computes on them or not.
--- > np.devices()[1].kind
-- cpu
function np.devices(kind)
    if kind ~= nil then
        if type(kind) ~= "string" or not kind:match "^%w+$" then
            bad_argument("devices", 1, "kind", 'a kind such as "cuda"', kind)
        end
        return kind == np.local_devices()[1].kind and np.local_devices() or devices_of_kind(kind)
    end
    if not all then
        core.call("devices", function() return C.neap_processes_meet(core.waker) end)
        local list, mine = {}, np.local_devices()
        for id = 0, processes * #mine - 1 do
            local process, index = math.floor(id / #mine), id % #mine
            list[id + 1] = process == here and mine[index + 1]
                or setmetatable({ kind = mine[1].kind, index = index, process = process, id = id }, Device)
        end
        all = list
    end
    return { unpack(all) }
end

--- The device of a name, for the function np.`from`: one of this process, or one whose name begins with its process.
local function find_device(from, name)
    local list, names = name:find "/" and np.devices() or np.local_devices(), {}
    for k = 1, #list do
        names[k] = tostring(list[k])
        local short = name:find "/" and names[k] or names[k]:match "[^/]+$"
        if short == name or short == name .. ":0" then return list[k] end
    end
    local device, reason = open_device(name)
    return device or raise(from, "there is no device '%s' (devices: %s)%s", name, table.concat(names, ", "),
                           reason and ": " .. reason or "")
end

core.find_device = find_device

--- The device that the engine has under a number.
function core.device_numbered(number)
    local list = np.local_devices()
    return list[number - list[1].number + 1] or open_device(ffi.string(C.neap_device_name(number)))
end

function core.is_device(value)
    return getmetatable(value) == Device
end

--- np.device(name) -> device: a device of this process by name; "cpu" is "cpu:0". np.device("3/cpu:1"): one of process
-- 3. A device of another kind, such as "cuda:0", is opened when it is first named.
--- > np.device("cpu").index
-- 0
function np.device(name)
    if type(name) ~= "string" then bad_argument("device", 1, "name", 'a name such as "cpu:0"', name) end
    return find_device("device", name)
end

--- The device of this process that np.`from` got as `what`: a name or an element of np.devices().
function core.local_device(from, what, value)
    local device = type(value) == "string" and find_device(from, value) or value
    if not core.is_device(device) then
        raise(from, '%s must be a device such as "cpu:0" or an element of np.devices(), got %s', what,
              core.describe(value))
    end
    if device.process ~= here then
        raise(from, "%s: device %s belongs to process %d, and this is process %d", what, tostring(device),
              device.process, here)
    end
    return device
end

--- What np.`name` made, on the device that its option `device` names: where it is, without one.
function core.placed(name, x, device)
    if device == nil then return x end
    return np.device_put(x, core.local_device(name, "device", device))
end

local before, neap_default_device = ffi.new "int[1]", C.neap_default_device

local function set_default_device(number)
    core.call("default_device", function() return neap_default_device(ctx, number, before) end)
    return before[0]
end

--- The number of the device that np.default_device() tells.
function core.default_device_number()
    neap_default_device(ctx, -1, before) -- asking cannot fail
    return before[0]
end

--- np.default_device(), np.default_device(device, f, …) -> device | results: the device on which everything runs that
-- is committed to none: np.devices()[1] at first. np.default_device("cpu:1"), or with an element of np.devices(), or
-- with a device of another kind, such as "cuda:0": makes it another one. What was recorded before still runs where it
-- was to run. np.default_device(device, f, …): f(…), during which it is that device; returns what f returns.
--- > np.default_device().index
-- 0
--- > np.default_device("cpu:0", function() return np.ones(2) end)
-- [1. 1.]
function np.default_device(device, f, ...)
    if device == nil then return core.device_numbered(core.default_device_number()) end
    device = core.local_device("default_device", "argument 1 (device)", device)
    if #core.frame().levels > 0 then
        raise("default_device", "while a function is traced or differentiated its ops run where its arguments are; "
              .. "np.jit(f, {device=…}) and np.device_put say where")
    end
    if f ~= nil and type(f) ~= "function" then bad_argument("default_device", 2, "f", "a function", f) end
    local number = set_default_device(device.number)
    if f == nil then return end
    return core.during(function() set_default_device(number) end, f, ...)
end
jit.off(np.default_device)

-- ---- When things are computed ---------------------------------------------------------------------------------------

--- The arrays among the arguments, which are arrays, or trees: tables of arrays, and of other things, which are passed
-- over.
local function arrays_of(name, ...)
    local list = {}
    for k = 1, select("#", ...) do
        local value = (select(k, ...))
        if trees.is_node(value) then
            trees.walk(name, value, function(leaf)
                if core.is_array(leaf) then list[#list + 1] = leaf end
            end)
        else
            list[#list + 1] = coerce(name, k, value)
        end
    end
    return list
end

--- x:is_deferred(), np.is_deferred(tree, …) -> boolean: whether x, or any array of trees, is an expression that has not
-- been started.
--- > x = np.ones(3) + 1
--- > x:is_deferred(), x:wait():is_deferred()
-- true
-- false
define("is_deferred", function(x, ...)
    for _, array in ipairs(arrays_of("is_deferred", x, ...)) do
        if core.info(array).deferred ~= 0 then return true end
    end
    return false
end)

--- Starts arrays for np.name; nil: an error says itself whose it is. `awaited`: somebody waits for them.
local function start(name, arrays, awaited)
    local n = #arrays
    local ids = ffi.new("int32_t[?]", n + 1)
    for k = 1, n do ids[k - 1] = arrays[k]._id end
    core.call(name, function() return C.neap_array_start(ctx, n, ids, awaited and 1 or 0) end)
end
core.start_arrays = start

--- np.force(a, tree, …): starts computing arrays, and those of trees, together; does not wait. Returns its arguments.
--- > np.force(np.ones(2) * 3)
-- [3. 3.]
define("force", function(...)
    start("force", arrays_of("force", ...))
    return ...
end)

--- x:wait(), np.wait(a, tree, …): waits until arrays, and those of trees, have their values; several are started
-- together. Returns its arguments. Raises the first failure of a computation, with the op and line.
--- > np.wait(np.ones(2) * 3)
-- [3. 3.]
define("wait", function(x, ...)
    if select("#", ...) == 0 and core.is_array(x) then return core.wait(x) end
    local arrays = arrays_of("wait", x, ...)
    start("force", arrays, true)
    for _, array in ipairs(arrays) do core.wait(array) end
    return x, ...
end)

--- np.wait_all() -> nothing: starts everything pending and waits for it. Raises the first failure that nobody has seen.
--- > np.wait_all()
function np.wait_all()
    core.call("wait_all", function() return C.neap_poll_everything(ctx) end)
end

--- x:delete(), np.delete(x) -> nothing: gives x's memory back now. Any later use of x raises.
--- > x = np.ones(3)
--- > x:delete()
--- > x:is_deleted()
-- true
define("delete", function(x, extra)
    if extra ~= nil then
        raise("delete", "takes 1 argument, and frees it; np.delete_at(x, places) is x without some elements")
    end
    if not core.is_array(x) then bad_argument("delete", 1, "x", "an array", x) end
    core.call("delete", function() return C.neap_array_delete(ctx, x._id) end)
end)

--- x:is_deleted(), np.is_deleted(x) -> boolean: whether x was deleted, by x:delete() or as a donated argument
-- (`?np.jit`).
--- > np.ones(3):is_deleted()
-- false
define("is_deleted", function(x)
    return core.info(coerce("is_deleted", 1, x)).deleted ~= 0
end)

for _, f in ipairs { arrays_of, start, np.is_deferred, np.force, np.wait_all, np.delete } do jit.off(f) end
