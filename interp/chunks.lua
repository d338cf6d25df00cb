--- chunks.lua: every chunk of the user's that is loaded: how it tests arrays (conditions.lua), its text, for messages,
-- and what to write where it does not parse (mistakes.lua).
--
-- That holds for scripts, -e text, the prompt, modules, and for what load and its like get. Of a text that a program
-- gives to load, without the name of a file or one of the form "=name", the message stays LuaJIT's.
local core = require "neap.core"
local conditions = require "neap.interp.conditions"
local globals = require "neap.core.globals"
local source = require "neap.core.source"
local system = require "neap.interp.system"
local chunks = {}

local BYTECODE = 27 -- the first byte of a chunk that is compiled

--- LuaJIT's message about a chunk that does not parse, with what to write instead. `name` is the chunk's source.
local function explain(message, name)
    return require("neap.interp.mistakes").explain(message, name)
end

local function keep_stamp(path)
    source.stamps[path] = system.stamp(path) or false
end

--- Looks at a chunk of the user's that has been loaded: how it tests arrays, and what it is unlikely to mean. `text` is
-- nil for a file, and for a chunk that is not told of.
local function look_at(name, f, text)
    conditions.check(f)
    if name:find "^@" then text = source.text(name) end
    if text and text:byte(1) ~= BYTECODE then
        require("neap.interp.unlikely").tell(text, debug.getinfo(f, "S").short_src)
    end
end

--- Of a chunk that C has loaded: its function, or the message. Returns what takes its place. `text` is nil for a file.
function chunks.loaded(name, result, text)
    if text then source.keep(name, text) else keep_stamp(name:sub(2)) end
    if type(result) ~= "function" then return explain(result, name) end
    look_at(name, result, text)
    return result
end

--- The same of a function that loads: returns what it did.
local function checked(name, f, ...)
    if f then
        look_at(type(name) == "string" and name or "", f)
        return f, ...
    end
    local message = ...
    return nil, type(name) == "string" and name:find "^[=@]" and explain(message, name) or message
end

--- Whether a chunk of this name is the library's own.
local function is_own(name)
    return type(name) == "string" and name:find "^[=@]neap/" ~= nil
end

local function is_text(value)
    return type(value) == "string" or type(value) == "number"
end

--- Arguments that Lua's function refuses are left to it, called in place of this one: its errors name the user's line.
local function load_text(load, text, name, ...)
    local is_good = (is_text(text) or type(text) == "function") and (name == nil or is_text(name))
    if is_own(name) or not is_good then return load(text, name, ...) end
    if type(text) == "string" and type(name) == "string" and name:sub(1, 1) == "=" then source.keep(name, text) end
    return checked(name, load(text, name, ...))
end

--- Replaces Lua's functions that load code, once.
function chunks.install()
    local raw = { load = load, loadstring = loadstring, loadfile = loadfile, dofile = dofile }
    local users = globals.shared._G
    function users.load(...) return load_text(raw.load, ...) end
    function users.loadstring(...) return load_text(raw.loadstring, ...) end
    function users.loadfile(path, ...)
        if path ~= nil and not is_text(path) then return raw.loadfile(path, ...) end
        if type(path) == "string" then keep_stamp(path) end
        return checked(path and "@" .. path, raw.loadfile(path, ...))
    end
    function users.dofile(path)
        if path ~= nil and not is_text(path) then return raw.dofile(path) end
        local f, problem = loadfile(path)
        if not f then error(problem, 0) end
        return f()
    end
    local loaders = globals.package.loaders
    local find_file = loaders[3] -- behind the library's own (core/globals.lua)
    loaders[3] = function(name)
        local path = package.searchpath(name, globals.package.path)
        if not path then return find_file(name) end
        local f, problem = loadfile(path)
        if not f then
            error(("error loading module '%s' from file '%s':\n\t%s"):format(name, path, problem), 0)
        end
        return f
    end
    function core.written_warning(...) return require("neap.interp.excerpt").warning(...) end
    conditions.install()
    require("neap.interp.slips").install()
    require("neap.interp.handlers").install()
end

return chunks
