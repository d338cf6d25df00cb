--- called.lua: which public function the user's line called, for errors of the rows that the function is made of.
--
-- Loaded at the first such error. A function of the library that ends in a tail call has left no frame. What the line
-- called is known all the same: the frame behind the user's was entered by a call, whose bytecode names the function.
local core = require "neap.core.binding"
local source = require "neap.core.source"

local np = core.np

local called = {}

--- The shortest of the names, without np, of functions that np and the parts of it that are loaded have, for which
-- fits(name, function); nil: there is none.
local function shortest(fits)
    local best
    local function look(name, value)
        local better = not best or #name < #best or #name == #best and name < best
        if better and type(value) == "function" and fits(name, value) then best = name end
    end
    for name, value in next, np do
        look(name, value)
        for inner, member in next, type(value) == "table" and value or {} do
            if type(inner) == "string" then look(name .. "." .. inner, member) end
        end
    end
    return best
end

--- The name of a public function; nil: it is none.
local function name_of(f)
    if type(f) ~= "function" then return nil end
    f = core.behind(f)
    return shortest(function(_, value) return rawequal(core.behind(value), f) end)
end

--- The name of a function of np or of a part, np.sort or fft.fft, that ends so and stands in the line.
local function name_in(line, last)
    return shortest(function(name)
        if name:match "[%w_]+$" ~= last then return false end
        local written = (name == last and "np." or "") .. name
        return (line or ""):find("%f[%w_]" .. written:gsub("%.", "%%.") .. "%f[^%w_]") ~= nil
    end)
end

--- The name, without np, of the public function that the user's line called; nil: it called none, or it is not known.
function called.name()
    local line, level = source.current()
    if not level then return nil end
    for inner = level - 1, 2, -1 do -- the outermost function of the library that has a name
        local name = name_of(debug.getinfo(inner, "f").func)
        if name then return name end
    end
    local call = debug.getinfo(level - 1, "n")
    if not call or not call.name then return nil end
    if call.namewhat == "method" then return name_of(core.methods[call.name]) end
    if call.namewhat == "field" then return name_in(line, call.name) end
    return name_of(source.variable(call.name, level))
end

--- The error of a row as one of the function that the line called. Where that is not known, a row that no function of
-- np is named after is called an op: a derivative may have recorded it.
function called.text(row, text)
    local moves, is_public = text:find "^input %d+ lies as", type(rawget(np, row)) == "function"
    local name = (moves or not is_public) and called.name() or is_public and row
    if not name then return (moves and "the op %s: %s" or "np.%s: %s"):format(row, text) end
    if moves and name:match "[%w_]+$" ~= row then text = text:gsub("^input %d+", "%0 of its op " .. row) end
    return ("np.%s: %s"):format(name, text)
end

for _, f in ipairs { shortest, name_of, name_in, called.name, called.text } do jit.off(f) end

return called
