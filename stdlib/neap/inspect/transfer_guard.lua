--- transfer_guard.lua: np.transfer_guard: copies between memories that a script did not ask for.
--
-- The core looks at them where they are made (lazy/graph/guard.c); np.device_put asks it here.
local core = require "neap.core"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np, C, ctx = core.np, core.C, core.ctx
local raise, bad_argument = core.raise, core.bad_argument

local NAME = "transfer_guard"
local WAYS = { host_to_device = C.NEAP_TRANSFER_TO_DEVICE, device_to_host = C.NEAP_TRANSFER_TO_HOST,
               device_to_device = C.NEAP_TRANSFER_BETWEEN }
local LEVELS = { allow = C.NEAP_GUARD_ALLOW, log = C.NEAP_GUARD_LOG, disallow = C.NEAP_GUARD_DISALLOW,
                 log_explicit = C.NEAP_GUARD_LOG_EXPLICIT, disallow_explicit = C.NEAP_GUARD_DISALLOW_EXPLICIT }
local LEVEL = '"allow", "log", "disallow", "log_explicit" or "disallow_explicit"'

local names = {} -- by number of a level
for name, level in pairs(LEVELS) do names[level] = name end

--- The levels by way, as numbers, of a level for all ways or a table of some.
local function levels_of(given)
    local levels = {}
    if LEVELS[given] then
        for way in pairs(WAYS) do levels[way] = LEVELS[given] end
        return levels
    end
    if type(given) ~= "table" or getmetatable(given) ~= nil or next(given) == nil then
        bad_argument(NAME, 1, "level", LEVEL .. ", or a table such as {device_to_host=\"log\"}", given)
    end
    for way, level in pairs(given) do
        if not WAYS[way] then
            raise(NAME, "unknown way '%s' (ways: device_to_device, device_to_host, host_to_device)", tostring(way))
        end
        if not LEVELS[level] then bad_argument(NAME, nil, way, LEVEL, level) end
        levels[way] = LEVELS[level]
    end
    return levels
end

--- Before np.device_put moves an array to a device.
local function asked(x, device)
    core.call("device_put", function() return C.neap_transfer_asked(ctx, x._id, device.number) end)
end

--- Sets levels by way, as numbers. Returns those before.
local function set(levels)
    local before, any = {}, false
    for way, number in pairs(WAYS) do
        before[way] = C.neap_transfer_guard(ctx, number, levels[way] or -1)
        any = any or (levels[way] or before[way]) ~= LEVELS.allow
    end
    core.transfer_asked = any and asked or nil
    return before
end

local function named(levels)
    local list = {}
    for way, level in pairs(levels) do list[way] = names[level] end
    return list
end

--- Starts the arrays among results, and in their tables, so that what they need is looked at.
local function start(results)
    local list, left, seen = {}, { results }, {}
    while left[1] do
        local node = table.remove(left)
        for _, value in next, node do
            if core.is_array(value) then
                list[#list + 1] = value
            elseif trees.is_node(value) and not seen[value] then
                seen[value], left[#left + 1] = true, value
            end
        end
    end
    core.start_arrays(nil, list)
end

local function call(f, ...)
    local results = staging.pack(f(...))
    if #core.frame().levels == 0 then start(results) end
    return unpack(results, 1, results.n)
end

--- np.transfer_guard(level, f, …), np.transfer_guard(level), np.transfer_guard() -> results | levels: what is done with
-- data that is copied between the memory of the host and that of a device (a GPU), or between two devices, though
-- np.device_put did not ask for it: an op that meets an array of another memory, or that its device cannot do; item,
-- totable, print and files. np.transfer_guard(level, f, …) is f(…), during which it is so, for what is computed
-- meanwhile; the results of f are started then. np.transfer_guard(level): from now on. Returns the levels before,
-- which it takes as well; np.transfer_guard() only returns them.
--
-- level: "allow", as at first; "log": each copy is told of on stderr; "disallow": it is refused, with the op, its line,
-- the bytes and the devices, and has not begun; "log_explicit" and "disallow_explicit": so are copies that
-- np.device_put asks for, and those of new arrays to the device that the script runs on. Or a table of levels by way:
-- {host_to_device=…, device_to_host=…, device_to_device=…}; ways without one stay as they are. A value that the host
-- has read once is there and is read freely; numbers and constructors such as np.zeros are made where they are wanted.
-- Devices of the CPU share their memory: nothing is copied there. What moves between the blocks of arrays on a mesh is
-- no matter of this: explicit axes (?np.mesh) refuse that. As jax.transfer_guard.
--- > np.transfer_guard("disallow", function(x) return (x * 2):item() end, np.array(3))
-- 6
--- > before = np.transfer_guard({device_to_host="log"})
--- > before.device_to_host, np.transfer_guard(before).device_to_host, np.transfer_guard().device_to_host
-- allow
-- log
-- allow
function np.transfer_guard(level, f, ...)
    if level == nil then
        if f ~= nil then bad_argument(NAME, 1, "level", LEVEL, level) end
        return named(set {})
    end
    local levels = levels_of(level)
    if f == nil then return named(set(levels)) end
    f = staging.check_function(NAME, f, 2, "f")
    local before = set(levels)
    return core.during(function() set(before) end, call, f, ...)
end

for _, f in ipairs { levels_of, set, named, start, call, np.transfer_guard } do jit.off(f) end
