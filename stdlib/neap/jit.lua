--- jit.lua: np.jit.
--
-- Strings and booleans in the arguments of a jitted function are part of its structure; numbers are run-time inputs.
local core = require "neap.core"
local capture = require "neap.capture"
local staging = require "neap.staging"

local np = core.np
local is_array, raise = core.is_array, core.raise
local array_info = core.info
local pack, check_function, positions_of = staging.pack, staging.check_function, staging.positions_of
local signature, flatten, trace, run = staging.signature, staging.flatten, staging.trace, staging.run
local type = type

local MAX_ENTRIES = 512 -- programs that one jitted function keeps; more forms than that start afresh

--- The name of a static argument in keys: values by value, tables and functions by identity.
local function static_part(value, identities)
    local kind = type(value)
    if kind == "number" then return ("%.17g"):format(value) end
    if kind == "string" then return ("%q"):format(value) end
    if kind == "boolean" or value == nil then return tostring(value) end
    if not identities[value] then
        identities.n = identities.n + 1
        identities[value] = identities.n
    end
    return kind .. identities[value]
end

--- Appends the arrays in the places of an entry to `leaves`; false if one does not fit the entry.
local function read_captures(entry, leaves, n)
    for _, place in ipairs(entry.constructed) do
        local value = capture.read(place)
        if not is_array(value) or value._id ~= place.value._id then return false end
    end
    for k, place in ipairs(entry.captures) do
        local value = capture.read(place)
        if not is_array(value) or signature(value) ~= entry.signatures[k] then return false end
        leaves[n + k] = value
    end
    return true
end

--- Traces a new entry for the arguments `given`.
local function new_entry(user_function, given, is_static)
    local places = capture.places(user_function)
    local captures, constructed = {}, {}
    for _, place in ipairs(capture.arrays(places)) do
        -- What is made of constructors is no input: the program makes it where it is read.
        local list = array_info(place.value).constructed ~= 0 and constructed or captures
        list[#list + 1] = place
    end
    local entry = trace("jit", user_function, given, is_static, places, captures)
    entry.signatures, entry.constructed = {}, constructed
    for k, place in ipairs(captures) do
        entry.signatures[k] = signature(place.value)
        place.value = nil -- the entry must not keep the array alive
    end
    return entry
end

--- np.jit(f, {static={2}}): a function that records f once per form of its arguments and then runs it as one program,
-- without running Lua. The form is: the keys of tables, shapes, dtypes and devices of arrays, strings, booleans, and
-- the values of static arguments (positions from 1). Numbers are inputs: other values run the same program.
--
-- f must depend on its arguments alone, and on arrays in local variables or globals around it, which are read anew at
-- each call. Everything else that f reads is fixed when it is recorded. f may print; it may not look at values (item,
-- tostring) nor assign arrays to variables outside.
function np.jit(f, given_options)
    local user_function = check_function("jit", f)
    local is_static = {}
    for _, position in ipairs(positions_of("jit", "static",
                                           core.options("jit", given_options, { static = true }).static)) do
        is_static[position] = true
    end
    local cache, count, identities = {}, 0, { n = 0 }
    local function jitted(...)
        local given, parts, leaves = pack(...), {}, {}
        for k = 1, given.n do
            if is_static[k] then
                parts[#parts + 1] = static_part(given[k], identities)
            else
                flatten("jit", given[k], parts, leaves, k, 0)
            end
            parts[#parts + 1] = ";"
        end
        local key, n = table.concat(parts), #leaves
        local entries = cache[key]
        if entries then
            for k = 1, #entries do
                if read_captures(entries[k], leaves, n) then return run("jit", entries[k], leaves) end
            end
        end
        if count >= MAX_ENTRIES then
            cache, count, identities, entries = {}, 0, { n = 0 }, nil
        end
        local entry = new_entry(user_function, given, is_static)
        entries = entries or {}
        entries[#entries + 1] = entry
        cache[key], count = entries, count + 1
        if not read_captures(entry, leaves, n) then
            raise("jit", "an array around the function changed while it was recorded")
        end
        return run("jit", entry, leaves)
    end
    jit.off(jitted)
    return jitted
end

jit.off(new_entry)
