--- ruin.lua: what a user may do to the names that are Lua's: gives globals, what is in Lua's tables, and the metatables
-- of values that have no table of their own, wrong values.
--
-- A *place* is { table, key, name }; a *kind* is one of `kinds`, "any" draws one for each place. The code here finds
-- all that it needs where the library finds it, so a test can load this file in the process that it ruins, by dofile.
-- neap must be loaded.
setfenv(1, require("neap.core.globals").own)

local np, debug_setmetatable = np, debug.setmetatable
local users, modules = getfenv(0), debug.getregistry()._LOADED
local ruin = { places = {}, kinds = { "nil", "number", "string", "table", "function", "array", "np.table" } }

local function called() error("a user's function was called", 0) end

local values = {
    number = 7, string = "cnn", table = {}, ["function"] = called, array = np.arange(3),
    ["np.table"] = np.table { a = { 1, 2 } },
}

-- What the library's own operators cannot be without stays: 1 - x asks the metatable of numbers first.
local metatable = { __index = called, __newindex = called, __call = called, __metatable = called }

local function add(holder, key, name)
    ruin.places[#ruin.places + 1] = { holder, key, name }
end

for key in next, users do add(users, key, key) end
for _, name in next, { "string", "table", "math", "io", "os", "debug", "coroutine", "bit", "jit", "package", "ffi",
                       "jit.util", "jit.opt" } do
    for key in next, modules[name] do add(modules[name], key, name .. "." .. key) end
end
local files = debug.getmetatable(io.stdout).__index
for _, key in next, { "close", "flush", "lines", "read", "seek", "setvbuf", "write" } do
    add(files, key, "io.stdout:" .. key)
end
for key in next, modules do add(modules, key, "package.loaded." .. key) end
add(debug.getmetatable "", "__index", "getmetatable('').__index")
table.sort(ruin.places, function(a, b) return a[3] < b[3] end)

local before = {}
for k, place in next, ruin.places do before[k] = rawget(place[1], place[2]) end

--- Gives place k a value of a kind.
function ruin.one(k, kind)
    local place = ruin.places[k]
    if kind == "any" then kind = ruin.kinds[math.random(#ruin.kinds)] end
    rawset(place[1], place[2], values[kind])
end

--- Gives all places values of a kind, and numbers and their like metatables whose functions raise.
function ruin.all(kind)
    for k = 1, #ruin.places do ruin.one(k, kind) end
    for _, value in next, { false, 0, "", called, coroutine.create(called) } do debug_setmetatable(value, metatable) end
    debug_setmetatable(nil, metatable)
end

local string_metatable = debug.getmetatable ""

--- Undoes all of it.
function ruin.restore()
    for k, place in next, ruin.places do rawset(place[1], place[2], before[k]) end
    for _, value in next, { false, 0, called, coroutine.create(called) } do debug_setmetatable(value, nil) end
    debug_setmetatable(nil, nil)
    debug_setmetatable("", string_metatable)
end

return ruin
