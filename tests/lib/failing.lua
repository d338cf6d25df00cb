--- failing.lua: what neap says of code that fails, asked in this process: parsing, running, the remedy and the mark.
--
-- A chunk runs with globals of its own. The handler stands where errors.c does, as far above the function that failed.
local excerpt = require "neap.interp.excerpt"
local slips = require "neap.interp.slips"
local source = require "neap.core.source"

local failing = {}

local count = 0

-- It must not be taken for the user's code that has failed, so it has a name of the library's.
local handler = loadstring("local explain = ... return function(m) return explain(m) or m end", "@neap/failing")(
    slips.explain)

local function first_globals()
    local globals = {}
    for name, value in pairs(_G) do globals[name] = value end
    globals._G = globals
    return globals
end

--- Runs a text as a script. Returns nil if that goes well, else the message in one line, its place included; and in any
-- case what was printed, its lines joined by "|".
function failing.run(text)
    count = count + 1
    local name, printed = ("=case%d"):format(count), {}
    local f, problem = load(text, name)
    if not f then return problem, "" end
    local globals = first_globals()
    function globals.print(...)
        local texts = {}
        for k = 1, select("#", ...) do texts[k] = tostring((select(k, ...))) end
        printed[#printed + 1] = table.concat(texts, " ")
    end
    local ok, said = xpcall(setfenv(f, globals), handler)
    if ok then said = nil end
    return said, table.concat(printed, "|")
end

--- Line and column to which a message points, as far as it shows them.
function failing.place(message)
    local name, line = message:match "^(case%d+):(%d+): "
    if not name then return nil end
    local shown = excerpt.of(message, "=" .. name, tonumber(line), false, 0)
    local before = shown:match "\n *| ( *)%^"
    return tonumber(line), before and #before + 1, source.line("=" .. name, tonumber(line))
end

return failing
