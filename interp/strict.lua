--- strict.lua: reading a global variable that has no value is an error, at the prompt and, with --strict, in scripts.
--
-- _G gets an __index, which Lua asks only where there is no value, so variables that are there cost nothing. It looks
-- at who reads: code that was typed at the prompt, or with --strict all code of the user, modules included; to the
-- library, and to other code, such a variable is nil as ever. `rawget(_G, name)` never raises. Here too are the names
-- that only the prompt has: `_`, `_3`, `Out`, `exit`, `quit`.
local core = require "neap.core"
local own = require("neap.core.globals").own
local aliases = require "neap.core.aliases"
local hints = require "neap.core.hints"
local suggest = require "neap.core.suggest"
local source = require "neap.core.source"

local getinfo = debug.getinfo
local strict = {}

local SHORTEST = 3 -- letters of a name that can be a misspelt one

local everywhere = false -- --strict
local scope_of_prompt    -- local variables of earlier commands: near names

--- `exit` and `quit`: the end of the prompt, as by Ctrl-D.
local function leave(status)
    os.exit(status, true)
end

--- The value that a name has at the prompt alone. One of Lua's own names that was given nil is Lua's again.
local function special(name)
    if type(own[name]) ~= "nil" and not name:find "_" then return own[name] end
    if name == "exit" or name == "quit" then return leave end
    if name ~= "Out" and not name:find "^_%d*$" then return nil end
    local results = require "neap.interp.results"
    if name == "Out" then return results.out end
    if name == "_" then return results.last() end
    local number = tonumber(name:sub(2))
    local kept, value = results.get(number)
    if not kept then
        core.fail("%s: command %d gave no value, or it is not kept any more; Out tells which are", name, number)
    end
    return value
end
strict.special = special

--- What is to be written for a name that np has, or Lua's math; nil: neither has it.
local function qualified(name)
    local of_math = type(rawget(math, name)) ~= "nil" and "math." .. name
    local of_np = "np." .. name
    local found = rawget(np, name) ~= nil
    for _, names in ipairs(getmetatable(np).__late) do found = found or names[name] ~= nil end
    if found and of_math then return ("%s, or %s"):format(of_np, of_math) end
    return found and of_np or of_math or nil
end

-- Names under which other languages know what np is, its parts included.
local LIBRARIES = { numpy = true, jnp = true, jax = true, torch = true, tf = true }

--- jax.grad(f), torch.randn(3): what np has for it; nil: nothing is known.
local function of_library(name, line)
    local path = LIBRARIES[name] and line:match("%f[%w_]" .. name .. "%.([%a_][%w_%.]*)")
    if not path then return nil end
    path = path:gsub("^numpy%.", "")
    local value = np
    for part in path:gmatch "[^.]+" do
        local ok, found = pcall(function() return value[part] end)
        value = ok and found or nil
        if value == nil then break end
    end
    local there = value ~= nil and "np." .. path or aliases.of(path)
    return there and "here it is " .. hints.with_shape(there, path) or nil
end

--- "; did you mean …?" or another remedy for a name that is no variable, or nothing. Called for a line of the user's
-- code that is on the stack.
function strict.hint(name)
    local holders, there = { _G }, aliases.variables[name]
    if scope_of_prompt then holders[2] = scope_of_prompt.holders end
    local line = type(name) == "string" and source.current() or ""
    if name == "f" and line:find "%f[%w_]f[\"']" then
        return '; ("%g"):format(n) puts values into a text, and np.printf those of arrays'
    end
    if name == "None" and line:find "[%[,]%s*None%s*[,%]]" then return "; a new axis is np.newaxis" end
    if (name == "r" or name == "b" or name == "u") and line:find("%f[%w_]" .. name .. "[\"']") then
        if name == "r" then return "; [[…]] is a text in which \\ is no escape" end
        return "; a text has bytes: leave the letter out"
    end
    local target, assigned = line:match "^%s*([%a_][%w_]*)%s*<%-%s+(.-)%s*;?%s*$" -- x <- 3 of R
    if target and target == name then return ("; Lua assigns with =: %s = %s"):format(name, assigned) end
    there = of_library(name, line) or there
    if there then return "; " .. there end
    local own_name = require("neap.interp.misuse").own_name(tostring(name))
    if own_name then return "; " .. own_name end
    if core.dtype_codes[name] then return ('; a dtype is a text: "%s"'):format(name) end
    there = qualified(name)
    if there then return ("; did you mean %s?"):format(there) end
    if #name >= SHORTEST and line:find("%f[%w_]" .. name .. "%s*[%({]") then -- a call
        there = aliases.elsewhere(name) or aliases.of(name)
        if there then return "; here it is " .. there end
    end
    return #tostring(name) >= SHORTEST and suggest.hint(name, holders) or ""
end

local function fail(name)
    core.fail("the variable '%s' has no value%s", tostring(name), strict.hint(name))
end

--- What code at the prompt gets for a name that is no variable.
function strict.missing(name)
    if type(name) ~= "string" then return nil end
    local value = special(name)
    if type(value) == "nil" and name ~= "_" then fail(name) end
    return value
end

--- Whether commands are typed, and what runs is no script.
function strict.is_typing() return scope_of_prompt ~= nil end

--- Whether a chunk of this name was typed at the prompt.
local function is_typed(name)
    return name:find "^=%[[%d%.]+%]" ~= nil
end

--- Starts it. `scope`: the prompt's local variables; without it only --strict is meant.
function strict.install(all, scope)
    everywhere = everywhere or all
    scope_of_prompt = scope or scope_of_prompt
    local meta = getmetatable(_G) or {}
    local before = rawget(meta, "__index")
    if before ~= nil and before == strict.index then return end
    function strict.index(globals, name)
        local reader = getinfo(2, "S")
        if reader and reader.what ~= "C" then
            if is_typed(reader.source) then return strict.missing(name) end
            if everywhere and reader.source:sub(1, 6) ~= "@neap/" then return fail(name) end
        end
        if type(before) == "function" then return before(globals, name) end
        return before and before[name]
    end
    meta.__index = strict.index
    setmetatable(_G, meta)
end

--- For C: --strict was given.
function strict.everywhere()
    strict.install(true)
end

return strict
