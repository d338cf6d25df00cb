--- globals.lua: what the library's own Lua, that of the prompt and of notebooks included, finds as global variables.
--
-- A user may give any value to any global, `type = "cat"`, and change Lua's tables, `string.rep = f`. None of it
-- reaches code of the library, also not code that is loaded later: all of it runs in the environment `own`, which is
-- taken here, before anything else of the library is loaded:
--
--      user's chunks ──▶ _G      type next … io ──▶ { write … }   package ──▶ { loaded path … }
--                                        │ copied once, tables too
--      library       ──▶ own     type next … io ──▶ { write … }   package ──▶ { loaded }   require np string_rep …
--
-- There `_G` is the user's table, for what is said about the user's variables; `require` finds the library's modules
-- where this one lies, whatever became of the user's `require` and of `package`; and package.loaded has the library's
-- modules alone. What the library puts in place of Lua's functions, such as `print`, goes into both (`shared`).
--
-- Metatables of all numbers, functions and their like, which debug.setmetatable gives, do no harm, but for arithmetic
-- of numbers: Lua asks it first about 1 - x. One for all cdata takes away that of arrays.
--
-- Methods of strings and files are found by metatables that everybody shares. So the build writes calls of them,
-- text:rep(2), as calls of functions that stand in `own`, string_rep(text, 2) (tools/gen/lib/methods.lua).
local _, find_embedded = ... -- the executable's own loader; elsewhere modules are files

local type, next, pairs, setmetatable = type, next, pairs, setmetatable
local require_any, registered = require, package.loaded
local path, searchpath, loadfile = package.path, package.searchpath, loadfile
local getinfo, setfenv = debug.getinfo, setfenv

local own, globals = {}, {}
globals.own = own
globals.package = registered.package -- the user's, of which the search for the user's modules asks
globals.modules = registered         -- all modules by name, the user's and Lua's too

local function copy(t)
    local copied = {}
    for key, value in next, t do copied[key] = value end
    return copied
end

-- ---- Lua's functions and tables -------------------------------------------------------------------------------------

local loaded = {} -- the library's modules, and those of Lua's that it requires
for _, name in next, { "bit", "coroutine", "debug", "io", "jit", "math", "os", "string", "table" } do
    own[name] = copy(registered[name])
    loaded[name] = own[name]
end
for _, name in next, { "ffi", "jit.opt", "jit.util" } do loaded[name] = copy(require_any(name)) end
loaded["table.new"] = require_any "table.new"
for _, name in next, { "assert", "collectgarbage", "dofile", "error", "getfenv", "getmetatable", "ipairs", "load",
                       "loadfile", "loadstring", "newproxy", "next", "pairs", "pcall", "print", "rawequal", "rawget",
                       "rawset", "select", "setfenv", "setmetatable", "tonumber", "tostring", "type", "unpack",
                       "xpcall" } do
    own[name] = registered._G[name]
end
-- LuaJIT of 2022 cuts a pointer of compiled `next` and `pairs` to 32 bits, where registers fall so (its issue 829; the
-- executable's own is mended, tools/luajit-patches). Debian's `luajit` is one, so the library's loops are not compiled
-- there: four crashes in 121 runs of all examples of help, and none in 300 with this.
if not find_embedded and jit.arch == "x64" and jit.version == "LuaJIT 2.1.0-beta3" then
    function own.next(t, key) return next(t, key) end
    function own.pairs(t)
        local _, same = pairs(t)
        return own.next, same
    end
    jit.off(own.next)
    jit.off(copy)
end
own._G = registered._G
own.package = copy(registered.package)
own.package.loaded = loaded

setfenv(1, own)

local methods = copy(debug.getmetatable(io.stdout).__index) -- of files

for name, f in next, own.string do own["string_" .. name] = f end
for name in next, methods do
    -- Other objects than files may have a method of the name.
    own["file_" .. name] = function(object, ...)
        return (type(object) == "userdata" and methods[name] or object[name])(object, ...)
    end
end

-- ---- What the library replaces --------------------------------------------------------------------------------------

--- Reads what the library sees; writes that and what the user sees.
local function pair(mine, users)
    return setmetatable({}, {
        __index = mine,
        __newindex = function(_, name, value) mine[name], users[name] = value, value end,
    })
end

--- To assign to, for the library and the user: shared._G.print, shared.io.write, shared.files.read, …
globals.shared = {
    _G = pair(own, own._G),
    coroutine = pair(own.coroutine, registered.coroutine),
    files = pair(methods, debug.getmetatable(io.stdout).__index),
    io = pair(own.io, registered.io),
    os = pair(own.os, registered.os),
}

-- ---- Modules --------------------------------------------------------------------------------------------------------

--- The chunk of a module of the library; nil, or a text that says where there is none.
local function find(name)
    if find_embedded then return find_embedded(name) end
    local file, problem = searchpath(name, path)
    if not file then return problem end
    local chunk
    chunk, problem = loadfile(file)
    return chunk or error(problem, 0)
end

function own.require(name)
    local module = loaded[name]
    if module ~= nil then return module end
    local chunk = find(name)
    if type(chunk) ~= "function" then error(("module '%s' not found:%s"):format(name, chunk or ""), 2) end
    if getinfo(chunk, "S").what ~= "C" then setfenv(chunk, own) end
    module = chunk(name)
    if module == nil then module = true end
    loaded[name], registered[name] = module, module
    return module
end
globals.require = own.require

--- For the user's require.
local function searcher(name)
    if not name:find "^neap%f[.%z]" then return nil end
    local chunk = find(name)
    if type(chunk) == "function" then return function() return own.require(name) end end
    return find_embedded and chunk -- a text; of files the user's require tells itself
end
table.insert(registered.package.loaders, 2, searcher) -- behind package.preload: no file hides the library

--- The library is loaded; `np` is what it is.
function globals.finish(np)
    own.np, loaded.neap = np, np
end

loaded["neap.core.globals"], registered["neap.core.globals"] = globals, globals

return globals
